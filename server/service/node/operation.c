/*
 * Operations as people see and stop them. What carries them out is the reconcile loop; here one is prepared, looked
 * up, and asked to stop as long as stopping leaves the node better off than going on.
 */
#include "base/text.h"
#include "db/approval.h"
#include "server/service/node/node.h"
#include "server/service/private.h"

#include <stdio.h>
#include <string.h>

void operation_prepare(struct service *s, const struct place *place, enum operation_kind kind, const char *key,
                       const char *reason, const char *actor, int64_t now_ms, struct operation *ret_operation)
{
    struct operation *operation = ret_operation;
    *operation = (struct operation){.cluster_id = place->cluster.id,
                                    .node_id = place->node.id,
                                    .kind = kind,
                                    .state = OPERATION_STATE_PENDING,
                                    .urgency = URGENCY_NOW,
                                    .created_at = now_ms};
    id_uuid(s->ids, operation->uid);
    snprintf(operation->key, sizeof(operation->key), "%s", key);
    snprintf(operation->reason, sizeof(operation->reason), "%s", reason);
    snprintf(operation->actor, sizeof(operation->actor), "%s", actor);
    snprintf(operation->old_instance, sizeof(operation->old_instance), "%s", place->instance.instance_id);
    snprintf(operation->old_boot, sizeof(operation->old_boot), "%s", place->instance.boot_id);
    const enum step_kind *steps = operation_steps(kind, &operation->step_count);
    for (int i = 0; i < operation->step_count; i++)
        operation->steps[i] = (struct operation_step){.ordinal = i, .kind = steps[i], .state = STEP_STATE_WAITING};
}

bool operation_is_past_return(const struct operation *operation)
{
    for (int i = 0; i < operation->step_count; i++) {
        const struct operation_step *step = &operation->steps[i];
        if (step_is_point_of_no_return(step->kind) &&
            (step->state == STEP_STATE_RUNNING || step->state == STEP_STATE_DONE))
            return true;
    }
    return false;
}

/* --- get and list ---------------------------------------------------------------------------------- */

struct lookup {
    const char *uid;
    struct problem *problem;
    struct operation operation;
};

/* The id of a question is that of the operation to come. */
static int say_question(const struct approval *approval, struct problem *problem)
{
    char until[CLOCK_TEXT_MAX];
    if (approval->state == APPROVAL_STATE_ASKED)
        return problem_say(
            problem, STATUS_NOT_FOUND, PROBLEM_NOT_FOUND,
            "There is no such operation yet: a %s waits for approval until %s. hpctl operation approve %s "
            "lets it begin, hpctl operation reject %s does not.",
            action_text(approval->action), clock_format(approval->expires_at, until), approval->uid, approval->uid);
    return problem_say(problem, STATUS_NOT_FOUND, PROBLEM_NOT_FOUND,
                       "There is no such operation: the %s that it was to be needed approval, and was %s%s%s.",
                       action_text(approval->action), approval_state_text(approval->state),
                       approval->answered_by[0] != '\0' ? " by " : "", approval->answered_by);
}

static int find_operation(struct db_tx *tx, const char *uid, struct operation *ret_operation, struct problem *problem)
{
    struct approval approval;
    int status = db_operation_get(tx, uid, ret_operation);
    if (status == STATUS_NOT_FOUND && db_approval_get(tx, uid, &approval) == 0)
        return say_question(&approval, problem);
    if (status == STATUS_NOT_FOUND)
        return problem_say(problem, status, PROBLEM_NOT_FOUND, "There is no operation \"%s\".", uid);
    return status;
}

static int get_read(struct db_tx *tx, void *arg)
{
    struct lookup *lookup = arg;
    return find_operation(tx, lookup->uid, &lookup->operation, lookup->problem);
}

int service_operation_get(struct service *s, const char *uid, struct operation *ret_operation,
                          struct problem *ret_problem)
{
    struct lookup lookup = {.uid = uid, .problem = ret_problem};
    int status = service_read(s, get_read, &lookup, ret_problem);
    if (status == 0)
        *ret_operation = lookup.operation;
    return status;
}

struct asking {
    int64_t decision_id;
    struct decision decision;
};

static int why_read(struct db_tx *tx, void *arg)
{
    struct asking *asking = arg;
    int status = db_decision_get_row(tx, asking->decision_id, &asking->decision);
    return status == STATUS_NOT_FOUND ? 0 : status;
}

int service_operation_why(struct service *s, const struct operation *operation, char ret_why[SENTENCE_MAX_BYTES],
                          struct problem *ret_problem)
{
    struct asking asking = {.decision_id = operation->decision_id};
    int status = asking.decision_id == 0 ? 0 : service_read(s, why_read, &asking, ret_problem);
    text_copy_cut(ret_why, SENTENCE_MAX_BYTES, asking.decision.sentence);
    return status;
}

struct listing {
    const char *cluster, *node;
    struct db_operation_filter filter;
    db_row_fn fn;
    void *arg;
    struct problem *problem;
};

static int list_read(struct db_tx *tx, void *arg)
{
    struct listing *listing = arg;
    int status = place_narrow(tx, listing->cluster, listing->node, &listing->filter.cluster_id,
                              &listing->filter.node_id, listing->problem);
    return status < 0 ? status : db_operation_list(tx, &listing->filter, listing->fn, listing->arg);
}

int service_operation_list(struct service *s, const char *cluster, const char *node,
                           const struct db_operation_filter *filter, db_row_fn fn, void *arg,
                           struct problem *ret_problem)
{
    struct listing listing = {
        .cluster = cluster, .node = node, .filter = *filter, .fn = fn, .arg = arg, .problem = ret_problem};
    return service_read(s, list_read, &listing, ret_problem);
}

/* --- cancel ---------------------------------------------------------------------------------------- */

struct cancel {
    const struct actor *actor;
    const char *uid;
    struct problem *problem;
    struct operation operation;
    bool asked_now;
};

static int refuse_cancel(const struct operation *operation, struct problem *problem)
{
    if (operation->state != OPERATION_STATE_PENDING && operation->state != OPERATION_STATE_RUNNING)
        return problem_say(problem, STATUS_CONFLICT, PROBLEM_CONFLICT,
                           "The operation has %s already; there is nothing to cancel.",
                           operation_state_text(operation->state));
    if (operation_is_of_cluster(operation->kind))
        return problem_say(problem, STATUS_CONFLICT, PROBLEM_CONFLICT,
                           "A change of a whole cluster cannot be cancelled. Ask for what shall be instead; that "
                           "supersedes it.");
    if (operation->kind == OPERATION_KIND_DELETE)
        return problem_say(problem, STATUS_CONFLICT, PROBLEM_CONFLICT,
                           "The node's cluster is being deleted; that cannot be cancelled.");
    if (operation_is_past_return(operation))
        return problem_say(problem, STATUS_CONFLICT, PROBLEM_CONFLICT,
                           "The %s has passed the point of no return: the machine was touched already. Let it end; it "
                           "leaves the node failed when it cannot succeed.",
                           operation_kind_text(operation->kind));
    return 0;
}

static int cancel_write(struct db_tx *tx, void *arg)
{
    struct cancel *cancel = arg;
    struct operation *operation = &cancel->operation;
    struct place place;
    cancel->asked_now = false;
    int status = find_operation(tx, cancel->uid, operation, cancel->problem);
    if (status < 0 || operation->state == OPERATION_STATE_CANCELLED)
        return status;
    status = refuse_cancel(operation, cancel->problem);
    if (status < 0 || (operation->cancel_asked && !operation_is_outweighed(operation)))
        return status;
    operation->cancel_asked = true; /* where the policy asked for it, too: what a person stopped is not begun again */
    text_copy_cut(operation->cancelled_by, sizeof(operation->cancelled_by), cancel->actor->name);
    status = db_operation_update(tx, operation);
    if (status == 0)
        status = place_find_row(tx, operation->node_id, &place);
    if (status < 0)
        return status;
    cancel->asked_now = true;
    return place_event(tx, &place, operation, EVENT_LEVEL_INFO, EVENT_KIND_OPERATOR_REQUEST,
                       "%s asked to cancel the %s of %s", cancel->actor->name, operation_kind_text(operation->kind),
                       place.node.name);
}

int service_operation_cancel(struct service *s, const struct actor *actor, const char *uid,
                             struct operation *ret_operation, struct problem *ret_problem)
{
    int status = service_require(actor, ROLE_OPERATOR, ret_problem);
    if (status < 0)
        return status;
    struct cancel cancel = {.actor = actor, .uid = uid, .problem = ret_problem};
    status = service_write(s, "operation-cancel", cancel_write, &cancel, ret_problem);
    if (status < 0)
        return status;
    *ret_operation = cancel.operation;
    if (cancel.asked_now) {
        service_wake(s, SERVICE_WAKE_NODE, ret_operation->node_id);
        service_events_added(s);
    }
    return 0;
}
