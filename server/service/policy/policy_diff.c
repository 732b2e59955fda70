/*
 * What would have been decided under another policy document: the recorded decisions of a cluster's nodes, each looked at again with
 * what was stored of it. Some nodes at a time, on a reader's connection: nothing waits for it, and who has seen enough does
 * not ask for the next part.
 *
 * The numbers of then are those of the document's version that the decision names, over the configuration of today.
 */
#include "server/service/private.h"

#include "base/text.h"
#include "db/verdict.h"
#include "policy/replay.h"
#include "server/config/policy_registry.h"
#include "server/service/policy/policy.h"

#include <stdatomic.h>
#include <string.h>

#define NODES_MAX 100     /* of one part */
#define DECISIONS_MAX 100 /* of one node, the newest */
#define REPAIRS_MAX 64

_Static_assert(POLICY_REGISTRY_ERROR_MAX <= PROBLEM_DETAIL_MAX, "an error fits into a problem");

struct diff {
    struct service *s;
    const struct service_policy_trial *trial;
    db_row_fn fn;
    void *arg;
    struct problem *problem;
    struct service_policy_counts counts;
    struct policy_registry *other, *then; /* owned */
    int64_t then_version;                 /* -1: of none yet */
    struct db_node_row *nodes;
    size_t node_count;
    struct decision *decisions; /* of one node */
    size_t decision_count;
    struct operation *operations;
    struct policy_repair *repairs;
    size_t repair_count;
};

static void diff_free(struct diff *diff)
{
    policy_registry_free(diff->other);
    policy_registry_free(diff->then);
    free(diff->nodes);
    free(diff->decisions);
    free(diff->operations);
    free(diff->repairs);
}

/* --- what is stored ----------------------------------------------------------------------------------------------- */

static int take_node(const void *row, void *arg)
{
    struct diff *diff = arg;
    diff->nodes[diff->node_count++] = *(const struct db_node_row *)row;
    return diff->node_count == NODES_MAX;
}

static int take_decision(const void *row, void *arg)
{
    struct diff *diff = arg;
    const struct decision *decision = row;
    if (decision->at < diff->trial->since)
        return 1;
    if (diff->decision_count == DECISIONS_MAX) {
        diff->counts.left++;
        return 1;
    }
    diff->decisions[diff->decision_count++] = *decision;
    return 0;
}

static int take_repair(const void *row, void *arg)
{
    struct diff *diff = arg;
    const struct operation *op = row;
    if (op->state != OPERATION_STATE_SUCCEEDED && op->state != OPERATION_STATE_FAILED)
        return 0;
    if (diff->repair_count == REPAIRS_MAX)
        return 1;
    struct operation *kept = &diff->operations[diff->repair_count];
    *kept = *op;
    diff->repairs[diff->repair_count++] = policy_replay_repair(kept);
    return 0;
}

/* Of the version that the decision was made by. */
static int open_then(struct db_tx *tx, struct diff *diff, int64_t version)
{
    char error[POLICY_REGISTRY_ERROR_MAX];
    if (diff->then_version == version)
        return 0;
    autofree struct policy_version *stored = own_calloc(1, sizeof(*stored));
    int status = version > 0 ? db_policy_get(tx, version, stored) : 0;
    policy_registry_free(TAKE(diff->then));
    diff->then_version = -1;
    if (status == 0)
        status = policy_registry_trial(diff->s->registry, version > 0 ? stored->text : NULL, &diff->then, error);
    diff->then_version = status == 0 ? version : -1;
    return status;
}

static int read_evidence(struct db_tx *tx, const struct decision *decision, struct verdict *verdicts, size_t *ret_count)
{
    int status = 0;
    *ret_count = 0;
    for (int i = 0; i < decision->evidence_count && i < DECISION_EVIDENCE_MAX && status == 0; i++) {
        status = db_verdict_get_row(tx, decision->evidence[i], &verdicts[*ret_count]);
        *ret_count += status == 0 ? 1 : 0;
        status = status == STATUS_NOT_FOUND ? 0 : status; /* old evidence may have been dropped */
    }
    return status;
}

/* --- one decision again --------------------------------------------------------------------------------------------- */

static int look_again(struct db_tx *tx, struct diff *diff, const struct db_node_row *row,
                      const struct decision *decision)
{
    autofree struct verdict *verdicts = own_calloc(DECISION_EVIDENCE_MAX, sizeof(*verdicts));
    struct policy_settings then, other;
    struct service_policy_difference difference = {.recorded = *decision};
    struct policy_replay replay = {.decision = decision,
                                   .cluster = row->cluster,
                                   .group = row->group,
                                   .node = row->node.name,
                                   .faults = {atomic_load(&diff->s->fault_overrides), row->instance_type},
                                   .then = &then,
                                   .other = &other,
                                   .verdicts = verdicts,
                                   .repairs = diff->repairs,
                                   .repair_count = diff->repair_count,
                                   .desired = 1};
    int status = read_evidence(tx, decision, verdicts, &replay.verdict_count);
    if (status < 0)
        return status;
    diff->counts.decisions++;
    status = open_then(tx, diff, decision->policy_version);
    if (status == STATUS_NOT_FOUND || status == STATUS_INVALID) {
        diff->counts.unknown++;
        return 0;
    }
    if (status < 0)
        return status;
    policy_registry_rules(diff->then, row->cluster, row->group, row->instance_type, &then);
    policy_registry_rules(diff->other, row->cluster, row->group, row->instance_type, &other);
    enum replay_result result = policy_replay(&replay, &difference.other);
    diff->counts.same += result == REPLAY_RESULT_SAME;
    diff->counts.unknown += result == REPLAY_RESULT_UNKNOWN;
    if (result != REPLAY_RESULT_DIFFERS)
        return 0;
    diff->counts.different++;
    memcpy(difference.node, row->node.name, sizeof(difference.node));
    memcpy(difference.group, row->group, sizeof(difference.group));
    return diff->fn(&difference, diff->arg);
}

static int look_at_node(struct db_tx *tx, struct diff *diff, const struct db_node_row *row)
{
    diff->decision_count = diff->repair_count = 0;
    int status = db_decision_list(tx, row->node.id, DECISIONS_MAX + 1, take_decision, diff);
    if (status >= 0 && diff->decision_count > 0)
        status = db_operation_repairs(tx, row->node.id, 0, take_repair, diff);
    for (size_t i = 0; i < diff->decision_count && status >= 0; i++)
        status = look_again(tx, diff, row, &diff->decisions[i]);
    diff->counts.nodes++;
    return status < 0 ? status : 0;
}

static int diff_read(struct db_tx *tx, void *arg)
{
    struct diff *diff = arg;
    struct cluster cluster;
    diff->counts = (struct service_policy_counts){0};
    diff->node_count = 0;
    int status = place_find_cluster(tx, diff->trial->cluster, &cluster, diff->problem);
    if (status < 0)
        return status;
    const struct db_node_filter filter = {
        .cluster_id = cluster.id, .after_name = diff->trial->after, .state = -1, .health = -1, .limit = NODES_MAX};
    status = db_node_list(tx, &filter, take_node, diff);
    for (size_t i = 0; i < diff->node_count && status >= 0; i++)
        status = look_at_node(tx, diff, &diff->nodes[i]);
    if (status >= 0 && diff->node_count == NODES_MAX)
        memcpy(diff->counts.next, diff->nodes[NODES_MAX - 1].node.name, sizeof(diff->counts.next));
    return status < 0 ? status : 0;
}

int service_policy_diff(struct service *s, const struct service_policy_trial *trial, db_row_fn fn, void *arg,
                        struct service_policy_counts *ret_counts, struct problem *ret_problem)
{
    char error[POLICY_REGISTRY_ERROR_MAX];
    struct diff diff = {.s = s, .trial = trial, .fn = fn, .arg = arg, .problem = ret_problem, .then_version = -1};
    if (s->registry == NULL)
        return problem_say(ret_problem, STATUS_INVALID, PROBLEM_INVALID_VALUE, "Nothing is known of the policy here.");
    if (policy_registry_trial(s->registry, trial->text, &diff.other, error) != 0)
        return problem_say(ret_problem, STATUS_INVALID, PROBLEM_INVALID_VALUE, "%s", error);
    diff.nodes = own_calloc(NODES_MAX, sizeof(*diff.nodes));
    diff.decisions = own_calloc(DECISIONS_MAX, sizeof(*diff.decisions));
    diff.operations = own_calloc(REPAIRS_MAX, sizeof(*diff.operations));
    diff.repairs = own_calloc(REPAIRS_MAX, sizeof(*diff.repairs));
    int status = service_read(s, diff_read, &diff, ret_problem);
    if (status >= 0)
        *ret_counts = diff.counts;
    diff_free(&diff);
    return status < 0 ? status : 0;
}
