/* Scheduler configurations and compute quotas with their versions. Statuses: NOT_FOUND, EXISTS, IO. */
#ifndef HOLDFAST_DB_GOVERNANCE_H
#define HOLDFAST_DB_GOVERNANCE_H

#include "db/db.h"
#include "model/governance.h"

/* Stores it as version 1 and fills id, version, newest. EXISTS: the name, the cluster's only one, or the team is taken; the
 * functions below tell which. NOT_FOUND when the cluster is not there. */
int db_governance_insert(struct db_tx *tx, struct governance *governance);
/* version 0: the newest. */
int db_governance_get(struct db_tx *tx, enum governance_kind kind, const char *uid, int64_t version,
                      struct governance *ret_governance);
int db_governance_by_name(struct db_tx *tx, enum governance_kind kind, const char *name, int64_t version,
                          struct governance *ret_governance);
/* The first of the cluster: of scheduler configurations the only one. */
int db_governance_of_cluster(struct db_tx *tx, enum governance_kind kind, int64_t cluster_id, int64_t version,
                             struct governance *ret_governance);
int db_governance_of_team(struct db_tx *tx, int64_t cluster_id, const char *team, struct governance *ret_governance);
int db_governance_count(struct db_tx *tx, enum governance_kind kind, int64_t cluster_id, int64_t *ret_count);
/* Stores it as the version after the newest, fills both, and drops what is older than is kept. EXISTS: the team is taken. */
int db_governance_add_version(struct db_tx *tx, struct governance *governance);
/* With its versions and tags. */
int db_governance_delete(struct db_tx *tx, int64_t id);

/* The newest versions in clusters of the scheduler that are not being deleted; rows are struct governance, scheduler
 * configurations first. */
int db_governance_wanted(struct db_tx *tx, const char *scheduler, db_row_fn fn, void *arg);
/* Writes what has become of its version: status, reason, details, applied_at. NOT_FOUND when it is there no more. */
int db_governance_settle(struct db_tx *tx, const struct governance *governance);
/* What is touched in a scheduler. */
int db_governance_held(struct db_tx *tx, const char *scheduler, db_row_fn fn, void *arg);
/* Made, or changed. */
int db_governance_hold(struct db_tx *tx, const char *scheduler, const struct governance_held *held);
int db_governance_let_go(struct db_tx *tx, const char *scheduler, const struct governance_held *held);

/* A page of those that match, as their newest version is; the cursor is the last row that was seen. */
enum governance_order {
    GOVERNANCE_BY_TIME,
    GOVERNANCE_BY_NAME,
    GOVERNANCE_BY_STATUS,
    GOVERNANCE_BY_CLUSTER, /* its uid: the changing part of its ARN */
    GOVERNANCE_ORDER_COUNT
};
struct db_governance_search {
    enum governance_kind kind;
    const char *name_contains, *cluster_uid, *status; /* "": any */
    int64_t created_after, created_before;            /* both exclusive; 0: any */
    enum governance_order order;
    bool descending;
    int64_t cursor_id; /* 0: from the start */
    int64_t cursor_at; /* BY_TIME */
    char cursor_text[NAME_MAX_BYTES];
    int limit;
};
int db_governance_search(struct db_tx *tx, const struct db_governance_search *search, db_row_fn fn, void *arg);

#endif
