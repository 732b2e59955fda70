/* Nodes, their instances and the agents' credentials. */
#ifndef HOLDFAST_DB_NODE_H
#define HOLDFAST_DB_NODE_H

#include "db/db.h"

int db_node_insert(struct db_tx *tx, struct node *node); /* fills id; EXISTS */
int db_node_get(struct db_tx *tx, int64_t cluster_id, const char *name, struct node *ret_node);
int db_node_get_row(struct db_tx *tx, int64_t id, struct node *ret_node);
/* With the instance that fills it; id 0: none. */
int db_node_get_filled(struct db_tx *tx, int64_t id, struct node *ret_node, struct instance *ret_instance);

/* What a reader sees of nodes, for a write that follows: as long as that finds them as they were read, it need not read them again. To be
 * asked before the write changes any. */
uint64_t db_nodes_stamp(const struct db_tx *tx);
bool db_nodes_are_as_read(const struct db_tx *tx, uint64_t stamp);

struct db_node_filter {
    int64_t cluster_id, group_id; /* 0: all */
    const char *after_name;       /* cursor within one cluster; NULL or "" starts */
    int state;                    /* enum node_state, or -1 */
    int health;                   /* enum health, or -1 */
    int limit;                    /* 0: no limit */
    bool with_reason;             /* only those in service that have one; needs cluster_id */
};
/* Rows are struct db_node_row, by cluster then natural order of insertion when cluster_id is 0, else by name. */
struct db_node_row {
    struct node node;
    struct instance instance; /* id 0: none */
    char group[NAME_MAX_BYTES], cluster[NAME_MAX_BYTES];
    char instance_type[NAME_MAX_BYTES], provider[NAME_MAX_BYTES];          /* the group's */
    char image_id[IMAGE_ID_MAX_BYTES], release[RELEASE_VERSION_MAX_BYTES]; /* that the group wants */
    enum node_recovery recovery;                                           /* the cluster's … */
    bool is_paused;                                                        /* … and whether a person holds it */
    bool is_busy;                                                          /* an operation is active */
    enum operation_kind busy_with;
    bool is_tested; /* deep health checks of that operation have begun, and not ended */
};
int db_node_list(struct db_tx *tx, const struct db_node_filter *filter, db_row_fn fn, void *arg);
/* The same of one node; and of those that were made after after_id, in the order in which they were made. */
int db_node_list_one(struct db_tx *tx, int64_t id, db_row_fn fn, void *arg); /* NOT_FOUND */
int db_node_list_new(struct db_tx *tx, int64_t after_id, int limit, db_row_fn fn, void *arg);

/* A page of one cluster's nodes, by name or in the order in which the slots were made; the cursor is the last that was
 * seen. Nodes that are gone are not in it. Rows are struct db_node_row. */
struct db_node_search {
    int64_t cluster_id;
    const char *group_contains;            /* "": any */
    int64_t created_after, created_before; /* both exclusive; 0: any */
    bool filled_only;                      /* only slots with an instance that has an id */
    bool by_name, descending;
    bool has_cursor;
    char cursor_name[NODE_NAME_MAX_BYTES];
    int64_t cursor_id;
    int limit;
};
int db_node_search(struct db_tx *tx, const struct db_node_search *search, db_row_fn fn, void *arg);

/* The group's slots that work, or are held, on an instance launched from that image. */
int db_node_count_image(struct db_tx *tx, int64_t group_id, const char *image_id, const char *release,
                        int64_t *ret_count);

/* The group's slots whose first machine is tested and was never in service. */
int db_node_count_unproven(struct db_tx *tx, int64_t group_id, int64_t *ret_count);

/* What most of the group's nodes run that do not run that image; NOT_FOUND: all do. */
int db_node_main_image(struct db_tx *tx, int64_t group_id, const char *image_id, const char *release,
                       char ret_image_id[IMAGE_ID_MAX_BYTES], char ret_release[RELEASE_VERSION_MAX_BYTES]);

/* Writes all but names, places and created_at. The caller moved the states by the table. */
int db_node_update(struct db_tx *tx, const struct node *node);
/* Which domain of that level it is in; the zone is chosen with the slot. */
int db_node_set_topology(struct db_tx *tx, int64_t id, enum topology_level level, const char *domain);
int db_node_delete(struct db_tx *tx, int64_t id);

int db_instance_insert(struct db_tx *tx, struct instance *instance); /* fills id; EXISTS for a used launch_key */
int db_instance_get(struct db_tx *tx, const char *instance_id, struct instance *ret_instance);
int db_instance_get_row(struct db_tx *tx, int64_t id, struct instance *ret_instance);
int db_instance_by_key(struct db_tx *tx, const char *launch_key, struct instance *ret_instance);
/* That of the slot which it fills, by its id at the provider. */
int db_instance_by_ref(struct db_tx *tx, const char *provider, const char *ref, struct instance *ret_instance);
int db_instance_list(struct db_tx *tx, int64_t node_id, int limit, db_row_fn fn, void *arg); /* newest first */
/* All but the address, which is the agent's to say: who updates what the provider says has not heard of it. */
int db_instance_update(struct db_tx *tx, const struct instance *instance);
int db_instance_set_address(struct db_tx *tx, int64_t id, const char *address);

/* Whether one that was not ended has this id, or this id of its provider ("": none). */
int db_instance_is_known(struct db_tx *tx, const char *instance_id, const char *ref, bool *ret_known);
/* Whether it was launched here and let go, and nothing of it is in use: it fills no slot, no agent of it is enrolled, no machine is it. */
int db_instance_was_let_go(struct db_tx *tx, const char *instance_id, const char *ref, bool *ret_let_go);
/* How many of that provider fill a slot. */
int db_instance_count(struct db_tx *tx, const char *provider, int64_t *ret_count);

int db_credential_set(struct db_tx *tx, const struct credential *credential); /* replaces the node's earlier one */
int db_credential_drop(struct db_tx *tx, int64_t node_id);
/* NOT_FOUND when the node has none. */
int db_credential_get(struct db_tx *tx, int64_t node_id, struct credential *ret_credential);
int db_credential_list(struct db_tx *tx, db_row_fn fn, void *arg);

#endif
