/* Figures of the machines that a site owns, by inventory. */
#ifndef HOLDFAST_SERVER_METRICS_MACHINES_H
#define HOLDFAST_SERVER_METRICS_MACHINES_H

#include "base/text.h"
#include "server/service/service.h"

/* Nothing where hpd has no inventory. */
void metrics_machines(struct text *t, struct service *s);

#endif
