/* Clusters and their instance groups. Statuses: NOT_FOUND, EXISTS, CONFLICT (revision), IO. */
#ifndef HOLDFAST_DB_CLUSTER_H
#define HOLDFAST_DB_CLUSTER_H

#include "db/db.h"
#include "model/group_spec.h"

/* Fills id, revision. EXISTS when the name is taken by a cluster that is not deleted. */
int db_cluster_insert(struct db_tx *tx, struct cluster *cluster);
int db_cluster_get(struct db_tx *tx, const char *name, struct cluster *ret_cluster);
int db_cluster_by_uid(struct db_tx *tx, const char *uid, struct cluster *ret_cluster);
int db_cluster_get_row(struct db_tx *tx, int64_t id, struct cluster *ret_cluster);
/* By name ascending, after after_name ("" starts), at most limit. */
int db_cluster_list(struct db_tx *tx, const char *after_name, int limit, db_row_fn fn, void *arg);
/* A page of those that match, in one of four orders; the cursor is the last row that was seen. */
struct db_cluster_search {
    const char *name_contains;             /* "": any */
    int64_t created_after, created_before; /* both exclusive; 0: any */
    bool by_name, descending;              /* not by_name: by time, then by row */
    bool has_cursor;
    char cursor_name[NAME_MAX_BYTES];
    int64_t cursor_at, cursor_id;
    int limit;
};
int db_cluster_search(struct db_tx *tx, const struct db_cluster_search *search, db_row_fn fn, void *arg);
/* Writes state, recovery, provisioning, failure, updated_at and counts revision up. CONFLICT when if_revision > 0 differs. */
int db_cluster_update(struct db_tx *tx, struct cluster *cluster, int64_t if_revision);
/* Who holds it and why; counts the revision up. */
int db_cluster_set_pause(struct db_tx *tx, struct cluster *cluster);
/* Removes the cluster with all that hangs on it but its events. */
int db_cluster_delete(struct db_tx *tx, int64_t id);

int db_group_insert(struct db_tx *tx, struct instance_group *group);
int db_group_get(struct db_tx *tx, int64_t cluster_id, const char *name, struct instance_group *ret_group);
int db_group_get_row(struct db_tx *tx, int64_t id, struct instance_group *ret_group);
int db_group_list(struct db_tx *tx, int64_t cluster_id /* 0: all */, db_row_fn fn, void *arg);
/* Writes all but the names, the provider and the breaker. */
int db_group_update(struct db_tx *tx, const struct instance_group *group);
/* Its nodes must be gone before. */
int db_group_delete(struct db_tx *tx, int64_t id);
int db_group_set_breaker(struct db_tx *tx, int64_t id, int64_t opened_at);
/* A person says so: what failed until then counts no more. */
int db_group_close_breaker(struct db_tx *tx, int64_t id, int64_t at);
int db_group_set_machine_capacity(struct db_tx *tx, int64_t id, const struct machine_capacity *machine_capacity);

/* What was asked for of a cluster or a group, but for what has a column of its own. get: an empty one when nothing was; the caller
 * frees its contents, UNREADABLE when that cannot be read. put: replaces the earlier one. */
int db_cluster_spec_get(struct db_tx *tx, int64_t cluster_id, struct cluster_spec *ret_spec);
int db_cluster_spec_put(struct db_tx *tx, int64_t cluster_id, const struct cluster_spec *spec);
int db_group_spec_get(struct db_tx *tx, int64_t group_id, struct group_spec *ret_spec);
int db_group_spec_put(struct db_tx *tx, int64_t group_id, const struct group_spec *spec);

/* The rolling update of a group; a new one replaces the one that ended before. */
int db_rollout_get(struct db_tx *tx, int64_t group_id, struct rollout *ret_rollout);
int db_rollout_put(struct db_tx *tx, const struct rollout *rollout);
/* Those that are under way. Rows are struct rollout. */
int db_rollout_list_active(struct db_tx *tx, db_row_fn fn, void *arg);

/* What an addition of nodes under a client's token made, so that the same request finds it again. */
struct db_addition {
    int64_t cluster_id;
    const char *token;
    unsigned char digest[32]; /* of the request: the same token with another one is refused */
    int64_t created_at;
};
int db_addition_insert(struct db_tx *tx, const struct db_addition *addition, const char *document);
/* Fills digest and created_at of *addition. NOT_FOUND. Caller frees *ret_document. */
int db_addition_get(struct db_tx *tx, struct db_addition *addition, char **ret_document);
int db_addition_prune(struct db_tx *tx, int64_t created_before);

/* What cluster list shows, counted from an index: 0.1 us a node. Nodes that are gone are not in it. */
struct cluster_counts {
    int64_t nodes;
    int64_t by_state[NODE_STATE_COUNT];
    int64_t by_health[4];
};
int db_cluster_count(struct db_tx *tx, int64_t cluster_id, int64_t group_id /* 0: all */,
                     struct cluster_counts *ret_counts);

/* All that names no scheduler is this one's from now on. */
int db_cluster_adopt_scheduler(struct db_tx *tx, const char *scheduler);

#endif
