/* The timeline. See service.h. */
#ifndef HOLDFAST_SERVER_SERVICE_EVENT_EVENT_H
#define HOLDFAST_SERVER_SERVICE_EVENT_EVENT_H

#include "db/event.h"
#include "server/service/service.h"

int service_event_list(struct service *s, const struct db_event_filter *filter, db_row_fn fn, void *arg,
                       struct problem *ret_problem);

/* search->cluster is filled in with ret_cluster. */
int service_event_search(struct service *s, const char *cluster, struct db_event_search *search,
                         struct cluster *ret_cluster, db_row_fn fn, void *arg, struct problem *ret_problem);
/* One event of that cluster. */
int service_event_get(struct service *s, const char *cluster, int64_t id, struct cluster *ret_cluster,
                      struct event *ret_event, struct problem *ret_problem);

/* The time of the newest event; 0: there is none. */
int service_event_newest_at(struct service *s, int64_t *ret_at);

#endif
