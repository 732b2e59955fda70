/* Prometheus text of what the store knows of clusters, groups, questions to people, and webhooks. */
#ifndef HOLDFAST_SERVER_METRICS_CLUSTERS_H
#define HOLDFAST_SERVER_METRICS_CLUSTERS_H

#include "base/text.h"
#include "server/service/service.h"

/* Adds the text. Reads the store in one transaction; node counts come from those that it remembers (db/counts.c). What cannot be read
 * is left out, as an absent figure is better than a wrong one. */
void metrics_clusters(struct text *t, struct service *s);

#endif
