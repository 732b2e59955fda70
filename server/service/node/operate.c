/*
 * What a person asks of a node: reboot it, replace it, or give it back. The request becomes a decision of its own (rule
 * "person-request"), so that the history of a node needs no second place to look at, and an operation that the
 * reconcile loop carries out. A person's request passes no gate but one: nothing else may be at work on the node.
 *
 * The idempotency key is the caller's. A repeat answers the operation of the first time, whatever became of
 * it; the same key for anything else is refused, because one of the two would silently not happen.
 */
#include "server/service/node/node.h"
#include "server/service/private.h"

#include <stdio.h>
#include <string.h>

#define REQUEST_KEY_PREFIX "request/"
#define REQUEST_KEY_MAX (KEY_MAX_BYTES - sizeof(REQUEST_KEY_PREFIX)) /* characters that a caller's key may have */

struct request {
    struct service *s;
    const struct actor *actor;
    const char *cluster, *node;
    enum operation_kind kind;
    enum urgency urgency;
    const char *reason; /* a person's free text, "" for none */
    char key[KEY_MAX_BYTES];
    int64_t now_ms;
    struct problem *problem;
    struct place place;
    struct operation operation;
    bool started;
};

static const char *asked_for(enum operation_kind kind)
{
    switch (kind) {
    case OPERATION_KIND_REBOOT:
        return "A person asked for a reboot";
    case OPERATION_KIND_REPLACE:
        return "A person asked for a replacement";
    default:
        return "A person gave the node back";
    }
}

static const char *kind_verb(enum operation_kind kind)
{
    return kind == OPERATION_KIND_RELEASE ? "give back" : operation_kind_text(kind);
}

static void request_sentence(const struct request *request, char *ret_sentence, size_t size)
{
    bool said = request->reason[0] != '\0';
    say_cut(ret_sentence, size, "%s asked to %s %s (%s)%s%s", request->actor->name, kind_verb(request->kind),
            request->place.node.name, urgency_text(request->urgency), said ? ": " : "", request->reason);
}

/* --- may it be ------------------------------------------------------------------------------------- */

static bool state_allows(enum operation_kind kind, enum node_state state)
{
    if (kind == OPERATION_KIND_RELEASE)
        return state == NODE_STATE_HELD || state == NODE_STATE_FAILED;
    return state == NODE_STATE_READY || state == NODE_STATE_HELD || state == NODE_STATE_FAILED ||
           state == NODE_STATE_VERIFYING;
}

static int check_active(struct db_tx *tx, const struct request *request)
{
    struct operation active;
    int status = db_operation_active(tx, request->place.node.id, &active);
    if (status == STATUS_NOT_FOUND)
        return 0;
    if (status < 0)
        return status;
    return problem_say(request->problem, STATUS_CONFLICT, PROBLEM_OPERATION_ACTIVE,
                       "A %s of %s is under way (operation %s). Wait for it, or cancel it first.",
                       operation_kind_text(active.kind), request->place.node.name, active.uid);
}

static int check_controller(struct db_tx *tx, const struct request *request)
{
    bool is_controller = false;
    int status = request->kind == OPERATION_KIND_REPLACE ? place_is_controller(tx, &request->place, &is_controller) : 0;
    if (status < 0 || !is_controller)
        return status;
    return problem_say(request->problem, STATUS_CONFLICT, PROBLEM_CONFLICT,
                       "%s is a controller of %s, which cannot be replaced under its cluster.",
                       request->place.node.name, orchestrator_title(request->place.cluster.orchestrator));
}

static int check_state(const struct request *request)
{
    const struct place *place = &request->place;
    if (!state_allows(request->kind, place->node.state))
        return problem_say(
            request->problem, STATUS_CONFLICT, PROBLEM_CONFLICT, "%s is %s; a %s is possible when a node is %s.",
            place->node.name, node_state_text(place->node.state), operation_kind_text(request->kind),
            request->kind == OPERATION_KIND_RELEASE ? "held or failed" : "ready, verifying, held or failed");
    if (request->kind != OPERATION_KIND_REPLACE && place->instance.id == 0)
        return problem_say(request->problem, STATUS_CONFLICT, PROBLEM_CONFLICT,
                           "%s has no instance that a %s could work on. Replace it instead.", place->node.name,
                           operation_kind_text(request->kind));
    /* A release is possible: it waits for the machine that is slow to come. */
    if (request->kind == OPERATION_KIND_REBOOT && place->instance.boot_id[0] == '\0')
        return problem_say(request->problem, STATUS_CONFLICT, PROBLEM_CONFLICT,
                           "The machine of %s has never reported, so there is nothing to reboot. Replace it instead.",
                           place->node.name);
    return 0;
}

/* --- what was asked before under this key ---------------------------------------------------------- */

static bool is_same_request(struct db_tx *tx, const struct request *request, const struct operation *earlier)
{
    char sentence[SENTENCE_MAX_BYTES];
    struct decision decision;
    if (earlier->node_id != request->place.node.id || earlier->kind != request->kind ||
        earlier->urgency != request->urgency)
        return false;
    if (db_decision_get_row(tx, earlier->decision_id, &decision) < 0)
        return false;
    request_sentence(request, sentence, sizeof(sentence));
    return strcmp(decision.sentence, sentence) == 0;
}

/* 1: answered by the earlier operation; 0: a new request; else a status. */
static int find_earlier(struct db_tx *tx, struct request *request)
{
    struct operation earlier;
    int status = db_operation_by_key(tx, request->key, &earlier);
    if (status == STATUS_NOT_FOUND)
        return 0;
    if (status < 0)
        return status;
    if (!is_same_request(tx, request, &earlier))
        return problem_say(request->problem, STATUS_CONFLICT, PROBLEM_KEY_REUSED,
                           "The idempotency key \"%s\" belongs to another request (operation %s). Use a fresh key for "
                           "each request.",
                           request->key + strlen(REQUEST_KEY_PREFIX), earlier.uid);
    request->operation = earlier;
    return 1;
}

/* --- do -------------------------------------------------------------------------------------------- */

static void decide(const struct request *request, struct decision *ret_decision)
{
    *ret_decision = (struct decision){.node_id = request->place.node.id,
                                      .at = request->now_ms,
                                      .urgency = request->urgency,
                                      .action = request->kind == OPERATION_KIND_REBOOT    ? ACTION_REBOOT
                                                : request->kind == OPERATION_KIND_REPLACE ? ACTION_REPLACE
                                                                                          : ACTION_NONE};
    ret_decision->rule = RULE_PERSON_REQUEST;
    ret_decision->group = DECISION_GROUP_NOT_ASKED;
    request_sentence(request, ret_decision->sentence, sizeof(ret_decision->sentence));
    ret_decision->gates[GATE_ONE_OPERATION].result = GATE_RESULT_PASSED;
    snprintf(ret_decision->gates[GATE_ONE_OPERATION].detail, sizeof(ret_decision->gates[0].detail),
             "no other operation was at work");
}

static int start(struct db_tx *tx, struct request *request)
{
    struct decision decision;
    struct operation *operation = &request->operation;
    struct place *place = &request->place;
    decide(request, &decision);
    int status = db_decision_insert(tx, &decision);
    if (status < 0)
        return status;
    operation_prepare(request->s, place, request->kind, request->key, asked_for(request->kind), request->actor->name,
                      request->now_ms, operation);
    operation->urgency = request->urgency;
    operation->decision_id = decision.id;
    status = db_operation_insert(tx, operation);
    if (status == 0)
        status = db_decision_set_operation(tx, decision.id, operation->id);
    if (status == 0)
        status =
            place_event(tx, place, operation, EVENT_LEVEL_INFO, EVENT_KIND_OPERATOR_REQUEST, "%s", decision.sentence);
    enum node_state next = request->kind == OPERATION_KIND_RELEASE ? NODE_STATE_VERIFYING : NODE_STATE_REPAIRING;
    if (status == 0)
        status = place_move(tx, place, next, decision.sentence, request->now_ms);
    return status;
}

static int operate_write(struct db_tx *tx, void *arg)
{
    struct request *request = arg;
    request->started = false;
    int status = place_find(tx, request->cluster, request->node, &request->place, request->problem);
    if (status < 0)
        return status;
    status = find_earlier(tx, request);
    if (status != 0)
        return status < 0 ? status : 0;
    status = check_active(tx, request);
    if (status == 0)
        status = check_state(request);
    if (status == 0)
        status = check_controller(tx, request);
    if (status == 0)
        status = start(tx, request);
    request->started = status == 0;
    return status;
}

static bool is_visible(const char *text)
{
    for (; *text != '\0'; text++)
        if (*text <= ' ' || *text > '~')
            return false;
    return true;
}

/* A key is visible ASCII, so that it can stand in a log line. Without one a fresh one is made. */
static int set_key(struct request *request, const char *key)
{
    if (strlen(key) > REQUEST_KEY_MAX || !is_visible(key))
        return problem_say(request->problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
                           "The idempotency key must have 1 to %zu visible ASCII characters; a UUID is a good one.",
                           REQUEST_KEY_MAX);
    char made[ID_UUID_MAX];
    if (key[0] == '\0')
        id_uuid(request->s->ids, made);
    snprintf(request->key, sizeof(request->key), REQUEST_KEY_PREFIX "%s", key[0] == '\0' ? made : key);
    return 0;
}

int service_node_operate(struct service *s, const struct actor *actor, const char *cluster, const char *node,
                         enum operation_kind kind, enum urgency urgency, const char *reason,
                         const char *idempotency_key, struct operation *ret_operation, struct problem *ret_problem)
{
    int status = service_require(actor, ROLE_OPERATOR, ret_problem);
    if (status < 0)
        return status;
    if (kind != OPERATION_KIND_REBOOT && kind != OPERATION_KIND_REPLACE && kind != OPERATION_KIND_RELEASE)
        return problem_say(ret_problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
                           "A person can ask for reboot, replace or release, not for %s.", operation_kind_text(kind));
    struct request request = {.s = s,
                              .actor = actor,
                              .cluster = cluster,
                              .node = node,
                              .kind = kind,
                              .urgency = urgency,
                              .reason = reason == NULL ? "" : reason,
                              .now_ms = service_now(s),
                              .problem = ret_problem};
    status = set_key(&request, idempotency_key == NULL ? "" : idempotency_key);
    if (status == 0)
        status = service_write(s, "node-operate", operate_write, &request, ret_problem);
    if (status < 0)
        return status;
    *ret_operation = request.operation;
    if (request.started) {
        service_wake(s, SERVICE_WAKE_NODE, request.operation.node_id);
        service_events_added(s);
    }
    return 0;
}
