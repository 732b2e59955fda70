/* Incidents of many nodes, and the nodes of each. Statuses: NOT_FOUND, IO. */
#ifndef HOLDFAST_DB_INCIDENT_H
#define HOLDFAST_DB_INCIDENT_H

#include "db/db.h"

int db_incident_insert(struct db_tx *tx, struct shared_incident *incident); /* fills id */
/* Level, domain, cause, settled_since and how it ended; the rest is as it began. NOT_FOUND: it has ended, and stays as it is. */
int db_incident_update(struct db_tx *tx, const struct shared_incident *incident);
int db_incident_get(struct db_tx *tx, int64_t id, struct shared_incident *ret_incident);
struct db_incident_filter {
    int64_t cluster_id; /* 0: all */
    int64_t before_id;  /* cursor, newest first; 0: from the newest */
    bool open_only;
    int limit;           /* 0: no limit */
    int64_t ended_after; /* those of all clusters that ended since then; 0: not asked */
};
/* Rows are struct shared_incident, newest first. */
int db_incident_list(struct db_tx *tx, const struct db_incident_filter *filter, db_row_fn fn, void *arg);
/* Those that ended before; what goes on is kept. */
int db_incident_prune(struct db_tx *tx, int64_t ended_before);

int db_incident_node_put(struct db_tx *tx, const struct incident_node *node); /* adds it, or says anew how it is */
/* Rows are struct incident_node, by name. */
int db_incident_node_list(struct db_tx *tx, int64_t incident_id, db_row_fn fn, void *arg);
/* What one node was in since then, newest first. */
int db_incident_of_node(struct db_tx *tx, int64_t node_id, int64_t since, db_row_fn fn, void *arg);
/* How many nodes of it were given back after an absence between these times, counted up to most. */
int db_incident_returns(struct db_tx *tx, int64_t incident_id, int64_t from, int64_t until, int64_t most,
                        int64_t *ret_nodes);

#endif
