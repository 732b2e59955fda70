/* Deep health checks: asked for, shown, carried out by agents and reported (check.c, and agent/check_report.c, agent/check_pair.c). See service.h. */
#ifndef HOLDFAST_SERVER_SERVICE_NODE_CHECK_H
#define HOLDFAST_SERVER_SERVICE_NODE_CHECK_H

#include "db/deep.h"
#include "model/deep_pair.h"
#include "server/service/service.h"

/* Which nodes: of a group (all that are ready when none is named), or, without a group, those that are named. */
struct service_check_request {
    char group[NAME_MAX_BYTES]; /* "": any */
    const char *const *nodes;   /* names, or ids of instances */
    size_t node_count;
    bool by_instance;
    int64_t checks; /* bits by enum deep_check */
};
struct service_check_how {
    enum deep_profile profile;
    enum urgency urgency; /* after-jobs: a node that stays busy is left out; now: its jobs are requeued */
    bool
        needs_spare; /* a node begins only while another one of its group is idle, and not at all where there is none */
};
/* What became of each node that was asked for. */
struct service_check_result {
    struct service_check_node {
        char node[NODE_NAME_MAX_BYTES];
        char uid[ID_UUID_MAX];      /* of the run, and of its operation; "": none */
        char why[REASON_MAX_BYTES]; /* none was begun */
    } * nodes;
    size_t count, capacity;
    struct cluster cluster;
};
/* Starts a CHECK operation on each node. Nodes that are at something else are left out, and said. The result is freed with
 * service_check_result_free in any case. */
int service_cluster_check(struct service *s, const struct actor *actor, const char *cluster,
                          const struct service_check_request *requests, size_t request_count,
                          const struct service_check_how *how, struct service_check_result *ret_result,
                          struct problem *ret_problem);
void service_check_result_free(struct service_check_result *result);
/* Rows are struct deep_run, newest first; cluster and node NULL: all. */
int service_check_list(struct service *s, const char *cluster, const char *node, int64_t before_id, int limit,
                       db_row_fn fn, void *arg, struct problem *ret_problem);
/* One run by its id; fn gets its tests (struct db_deep_test_row), after *ret_run was filled. */
int service_check_describe(struct service *s, const char *uid, struct deep_run *ret_run, db_row_fn fn, void *arg,
                           struct problem *ret_problem);
/* What the node's instance is asked to test. NOT_FOUND when nothing is. */
int service_agent_check(struct service *s, int64_t node_id, struct deep_job *ret_job, struct problem *ret_problem);
/* Durable when it returns; a repeat adds nothing. STALE when this is no longer asked for. */
int service_agent_report_check(struct service *s, int64_t node_id, const struct deep_report *report,
                               struct problem *ret_problem);
/* With whom the node's instance is tested for connectivity, or what came of it; peer: where the question came from. STALE as above. */
int service_agent_pair(struct service *s, int64_t node_id, const char *peer, const struct deep_pair_ask *ask,
                       struct deep_pair_reply *ret_reply, struct problem *ret_problem);

#endif
