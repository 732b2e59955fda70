/* The timeline. Rows are only added, and the oldest are dropped beyond a limit. */
#ifndef HOLDFAST_DB_EVENT_H
#define HOLDFAST_DB_EVENT_H

#include "db/db.h"

/* Fills id; texts of cluster, group and node are stored with it, so they outlive those rows. at 0: now. */
int db_event_insert(struct db_tx *tx, struct event *event);

struct db_event_filter {
    const char *cluster, *node; /* NULL: all */
    int64_t operation_id;       /* 0: all */
    int64_t after_id;           /* ascending from here; for streams */
    int64_t before_id;          /* descending from here when after_id is 0 and newest_first */
    bool newest_first;
    int limit;
    const char *kind; /* NULL: all */
    enum event_level min_level;
    int64_t since; /* not before; 0: all */
};
int db_event_list(struct db_tx *tx, const struct db_event_filter *filter, db_row_fn fn, void *arg);
/* A page of one cluster's timeline, with what a person searches by. */
struct db_event_search {
    const struct cluster *cluster;
    const char *group, *instance_id; /* "": any */
    int64_t after_at, before_at;     /* both exclusive; 0: any */
    int scope;                       /* enum event_scope, or -1 */
    bool descending;
    int64_t cursor_id; /* 0: from the start */
    int limit;
};
/* What an event is about: the innermost thing it names. */
enum event_scope { EVENT_SCOPE_CLUSTER, EVENT_SCOPE_GROUP, EVENT_SCOPE_NODE };
enum event_scope event_scope(const struct event *event);
int db_event_search(struct db_tx *tx, const struct db_event_search *search, db_row_fn fn, void *arg);
int db_event_get(struct db_tx *tx, int64_t id, struct event *ret_event);
/* When the newest was told; 0: there is none. */
int db_event_newest_at(struct db_tx *tx, int64_t *ret_at);
/* Drops the oldest beyond keep, at most 20,000 in one call; the newest always stays. */
int db_event_prune(struct db_tx *tx, int64_t keep);

#endif
