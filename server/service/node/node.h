/* Nodes: shown, explained, operated, changed; their operations, verdicts and incidents. See service.h. */
#ifndef HOLDFAST_SERVER_SERVICE_NODE_NODE_H
#define HOLDFAST_SERVER_SERVICE_NODE_NODE_H

#include "db/node.h"
#include "db/operation.h"
#include "db/verdict.h"
#include "model/group_spec.h"
#include "policy/explanation.h"
#include "server/live/fleet.h"
#include "server/live/node_commands.h"
#include "server/service/service.h"

struct service_node_view {
    struct db_node_row row;
    struct fleet_view live;        /* zero when the fleet does not know it */
    struct operation active;       /* id 0: none */
    struct decision last_decision; /* id 0: none */
    int64_t open_verdicts;
};
int service_node_describe(struct service *s, const char *cluster, const char *node, struct service_node_view *ret_view,
                          struct problem *ret_problem);
/* cluster NULL: of all clusters, in one reading, without a group. */
int service_node_list(struct service *s, const char *cluster, const char *group, int state, int health,
                      const char *after_name, int limit, db_row_fn fn, void *arg, struct problem *ret_problem);
/* search->cluster_id is filled in; *ret_cluster (may be NULL) says which that was, before the first row. */
int service_node_search(struct service *s, const char *cluster, struct db_node_search *search,
                        struct cluster *ret_cluster, db_row_fn fn, void *arg, struct problem *ret_problem);
/* kind is REBOOT, REPLACE or RELEASE. idempotency_key may be "" (then one is made). A repeat with the same key answers
 * the same operation. */
int service_node_operate(struct service *s, const struct actor *actor, const char *cluster, const char *node,
                         enum operation_kind kind, enum urgency urgency, const char *reason,
                         const char *idempotency_key, struct operation *ret_operation, struct problem *ret_problem);
/* Of what a person can change of a node, which is whether it is opted out; its state and health change all the time. */
int64_t service_node_revision(const struct node *node);
/* What a person says of a node, in one transaction. if_revision: PRECONDITION_FAILED when the node is at another; 0: whatever it is. */
struct service_node_change {
    bool says_out, opted_out;
    const char *domain
        [TOPOLOGY_LEVEL_ZONE]; /* which it shares with others; NULL: as it is, "": none. What Slurm knows of, it says anew itself. */
};
int service_node_update(struct service *s, const struct actor *actor, const char *cluster, const char *node,
                        const struct service_node_change *change, int64_t if_revision, struct node *ret_node,
                        struct problem *ret_problem);
/* A command on the node, by the shell of the user that hpd is configured with. It is written into the timeline before it runs; the answer is
 * the command as it waits, and service_node_command_get has it from then on. For admins. CONFLICT: there is no key for nodes, no address or
 * host key of this one, or too many run. */
int service_node_command_run(struct service *s, const struct actor *actor, const char *cluster, const char *node,
                             const char *text, int64_t timeout_ms, struct node_command *ret_command,
                             struct problem *ret_problem);
/* Released with node_command_release. NOT_FOUND also for one that was forgotten. */
int service_node_command_get(struct service *s, const char *id, struct node_command *ret_command,
                             struct problem *ret_problem);

/* Why the node is as it is, and why nothing has happened; the last decision with its evidence. Freed with
 * service_explanation_free. decision.id 0: none yet. */
struct service_explanation {
    struct node node;
    struct policy_explanation current;
    struct decision decision;
    struct verdict *evidence;
    size_t evidence_count;
    struct operation operation; /* what it started; id 0: nothing */
    char *text;
};
int service_node_explain(struct service *s, const char *cluster, const char *node,
                         struct service_explanation *ret_explanation, struct problem *ret_problem);
void service_explanation_free(struct service_explanation *explanation);
int service_verdict_list(struct service *s, const char *cluster, const char *node, int state, int64_t before_id,
                         int limit, db_row_fn fn, void *arg, struct problem *ret_problem);
/* A genuine kernel line for a test: goes to the node's agent with its next heartbeat reply, which writes it to its kernel
 * log if it was started with --allow-inject. */
int service_node_inject_xid(struct service *s, const struct actor *actor, const char *cluster, const char *node,
                            int code, const char *pci, char ret_line[RAW_LINE_MAX_BYTES], struct problem *ret_problem);

/* What was asked for of a node's group, and of its labels and taints what the node carries. Caller frees their contents. */
int service_node_spec(struct service *s, const struct node *node, struct group_spec *ret_spec,
                      struct kubernetes_spec *ret_carried, struct problem *ret_problem);

/* --- incidents of many nodes ------------------------------------------------------------------ */
/* Rows are struct shared_incident, newest first; cluster may be NULL. */
int service_incident_list(struct service *s, const char *cluster, bool open_only, int64_t before_id, int limit,
                          db_row_fn fn, void *arg, struct problem *ret_problem);
/* fn gets its nodes, struct incident_node. */
int service_incident_get(struct service *s, int64_t id, struct shared_incident *ret_incident, db_row_fn fn, void *arg,
                         struct problem *ret_problem);
/* A person says that it is over: its nodes are judged by themselves from now on. CONFLICT when it is already. */
int service_incident_end(struct service *s, const struct actor *actor, int64_t id, struct shared_incident *ret_incident,
                         struct problem *ret_problem);

/* --- operations --------------------------------------------------------------------------------- */
int service_operation_get(struct service *s, const char *uid, struct operation *ret_operation,
                          struct problem *ret_problem);
/* The sentence of the decision it was made for, in which a person's own words stand; "" when there is none, or it is forgotten. */
int service_operation_why(struct service *s, const struct operation *operation, char ret_why[SENTENCE_MAX_BYTES],
                          struct problem *ret_problem);
/* cluster and node may be NULL; which rows they are is filled into the filter here. */
int service_operation_list(struct service *s, const char *cluster, const char *node,
                           const struct db_operation_filter *filter, db_row_fn fn, void *arg,
                           struct problem *ret_problem);
/* Asks; the reconcile loop stops it before its next step. CONFLICT past the point of no return, and for what concerns a whole
 * cluster. */
int service_operation_cancel(struct service *s, const struct actor *actor, const char *uid,
                             struct operation *ret_operation, struct problem *ret_problem);

#endif
