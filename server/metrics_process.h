/* Prometheus text of the process itself, under the names that Prometheus' own client libraries use, and of its build. */
#ifndef HOLDFAST_SERVER_METRICS_PROCESS_H
#define HOLDFAST_SERVER_METRICS_PROCESS_H

#include "base/text.h"

/* Adds the text. What the system does not say is left out. */
void metrics_process(struct text *t);

#endif
