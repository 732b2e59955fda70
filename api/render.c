/* The vocabulary, spoken by a spelling. Member names here are the ones of openapi.yaml. */
#include "api/render.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

#define MEMBER_NAME_MAX 48

static void name_rest(const char *word, char *ret_name, size_t size)
{
    snprintf(ret_name, size, "%s", word);
}

const struct spelling spelling_rest = {.name = name_rest, .time = json_put_time};

json_t *render_text(const char *text)
{
    size_t len = strlen(text), least = len > 3 ? len - 3 : 0;
    while (len > least && !text_is_utf8(text, len))
        len--;
    return text_is_utf8(text, len) ? json_stringn(text, len) : json_string("?");
}

/* One object being written. */
struct out {
    const struct spelling *sp;
    json_t *json;
};

static struct out begin(const struct spelling *sp)
{
    return (struct out){.sp = sp, .json = json_object()};
}

static void put(struct out o, const char *word, json_t *value)
{
    char name[MEMBER_NAME_MAX];
    o.sp->name(word, name, sizeof name);
    json_put(o.json, name, value);
}

static void put_text(struct out o, const char *word, const char *value)
{
    if (value != NULL && value[0] != '\0')
        put(o, word, render_text(value));
}

static void put_i64(struct out o, const char *word, int64_t value)
{
    put(o, word, json_integer(value));
}

static void put_bool(struct out o, const char *word, bool value)
{
    put(o, word, json_boolean(value));
}

static void put_time(struct out o, const char *word, int64_t at_ms)
{
    char name[MEMBER_NAME_MAX];
    o.sp->name(word, name, sizeof name);
    o.sp->time(o.json, name, at_ms);
}

/* --- clusters -------------------------------------------------------------------------------------- */

/* Only what is there: {"ready":3,"held":1}. The words are values of the vocabulary and are spelt alike everywhere. */
static void put_counts(struct out o, const struct cluster_counts *counts)
{
    json_t *states = json_object(), *healths = json_object();
    for (int i = 0; i < NODE_STATE_COUNT; i++)
        if (counts->by_state[i] > 0)
            json_put_i64(states, node_state_text((enum node_state)i), counts->by_state[i]);
    for (size_t i = 0; i < ARRAY_LEN(counts->by_health); i++)
        if (counts->by_health[i] > 0)
            json_put_i64(healths, health_text((enum health)i), counts->by_health[i]);
    put(o, "nodesByState", states);
    put(o, "nodesByHealth", healths);
}

json_t *render_cluster(const struct spelling *sp, const struct cluster *cluster, const struct cluster_counts *counts)
{
    struct out o = begin(sp);
    put_text(o, "name", cluster->name);
    put_text(o, "id", cluster->uid);
    put_text(o, "state", cluster_state_text(cluster->state));
    put_text(o, "nodeRecovery", node_recovery_text(cluster->recovery));
    put_text(o, "orchestrator", orchestrator_text(cluster->orchestrator));
    put_text(o, "nodeProvisioningMode", provisioning_text(cluster->provisioning));
    put_text(o, "failureMessage", cluster->failure);
    put_time(o, "createdAt", cluster->created_at);
    put_time(o, "updatedAt", cluster->updated_at);
    put_i64(o, "revision", cluster->revision);
    put_i64(o, "nodeCount", counts->nodes);
    put_counts(o, counts);
    return o.json;
}

static json_t *render_rollout(const struct spelling *sp, const struct rollout *rollout)
{
    struct out o = begin(sp);
    put_text(o, "state", rollout_state_text(rollout->state));
    put_text(o, "imageId", rollout->image_id);
    put_text(o, "imageReleaseVersion", rollout->release);
    put_text(o, "previousImageId", rollout->previous_image_id);
    put_text(o, "previousImageReleaseVersion", rollout->previous_release);
    put_i64(o, "batch", rollout->batch);
    put_time(o, "nextBatchAt", rollout->next_batch_at);
    put_text(o, "failureMessage", rollout->failure);
    put_time(o, "createdAt", rollout->created_at);
    put_time(o, "updatedAt", rollout->updated_at);
    return o.json;
}

static json_t *render_group(const struct spelling *sp, const struct service_group_view *view)
{
    struct out o = begin(sp), breaker = begin(sp);
    put_text(o, "name", view->group.name);
    put(o, "instanceType", json_string(view->group.instance_type));
    put_text(o, "provider", view->group.provider);
    put_text(o, "state", group_state_text(view->group.state));
    put_time(o, "stateSince", view->group.state_since);
    put_text(o, "failureMessage", view->group.failure);
    put_i64(o, "instanceCount", view->group.desired);
    if (view->group.min_count > 0)
        put_i64(o, "minInstanceCount", view->group.min_count);
    put_text(o, "imageId", view->group.image_id);
    put_text(o, "imageReleaseVersion", view->group.release);
    put_bool(breaker, "open", view->group.breaker_opened_at != 0);
    put_time(breaker, "openedAt", view->group.breaker_opened_at);
    put(o, "breaker", breaker.json);
    put_counts(o, &view->counts);
    if (view->rollout.group_id != 0)
        put(o, "softwareUpdate", render_rollout(sp, &view->rollout));
    return o.json;
}

static json_t *render_scheduler(const struct spelling *sp, const struct service_scheduler_status *scheduler)
{
    struct out o = begin(sp);
    put_text(o, "state", scheduler_state_text(scheduler->state));
    put_time(o, "since", scheduler->since);
    put_text(o, "error", scheduler->error);
    return o.json;
}

json_t *render_cluster_view(const struct spelling *sp, const struct service_cluster_view *view,
                            const struct service_names *names)
{
    struct out o = {.sp = sp, .json = render_cluster(sp, &view->cluster, &view->counts)};
    json_t *groups = json_array(), *active = json_array(), *attention = json_array();
    for (size_t i = 0; i < view->group_count; i++)
        json_array_append_new(groups, render_group(sp, &view->groups[i]));
    for (size_t i = 0; i < view->active_count; i++)
        json_array_append_new(active, render_operation(sp, &view->active[i], view->cluster.name, names[i].node));
    for (size_t i = 0; i < view->attention_count; i++)
        json_array_append_new(attention, render_node(sp, &view->attention[i]));
    if (view->cluster.orchestrator == ORCHESTRATOR_SLURM)
        put(o, "scheduler", render_scheduler(sp, &view->scheduler));
    put(o, "instanceGroups", groups);
    put(o, "activeOperations", active);
    put(o, "attention", attention);
    put_i64(o, "attentionTotal", view->attention_total);
    return o.json;
}

/* --- nodes ----------------------------------------------------------------------------------------- */

json_t *render_node(const struct spelling *sp, const struct db_node_row *row)
{
    struct out o = begin(sp);
    put_text(o, "name", row->node.name);
    put_text(o, "cluster", row->cluster);
    put_text(o, "group", row->group);
    put_text(o, "zone", row->node.zone);
    put_text(o, "state", node_state_text(row->node.state));
    put_text(o, "health", health_text(row->node.health));
    put_text(o, "reason", row->node.reason);
    put_time(o, "stateSince", row->node.state_since);
    put_time(o, "healthSince", row->node.health_since);
    put_time(o, "retryAt", row->node.retry_at);
    put_bool(o, "optedOut", row->node.opted_out);
    if (row->instance.id == 0)
        return o.json;
    put_text(o, "instanceId", row->instance.instance_id);
    put_text(o, "instanceState", instance_state_text(row->instance.state));
    put_text(o, "bootId", row->instance.boot_id);
    put_time(o, "bootAt", row->instance.boot_at);
    return o.json;
}

static json_t *render_live(const struct spelling *sp, const struct fleet_view *live)
{
    struct out o = begin(sp);
    json_t *checks = json_array();
    if (live->checks & FLEET_CHECK_KMSG)
        json_array_append_new(checks, json_string("kmsg"));
    put_time(o, "lastHeartbeatAt", live->last_heartbeat_at);
    put_bool(o, "silent", live->silent);
    put_i64(o, "clockSkewMs", live->skew_ms);
    put(o, "checks", checks);
    return o.json;
}

json_t *render_node_view(const struct spelling *sp, const struct service_node_view *view,
                         const char *decision_operation)
{
    struct out o = {.sp = sp, .json = render_node(sp, &view->row)};
    if (view->live.slot.node_id != 0)
        put(o, "live", render_live(sp, &view->live));
    put_i64(o, "openVerdicts", view->open_verdicts);
    if (view->active.id != 0)
        put(o, "activeOperation", render_operation(sp, &view->active, view->row.cluster, view->row.node.name));
    if (view->last_decision.id != 0)
        put(o, "lastDecision", render_decision(sp, &view->last_decision, decision_operation));
    return o.json;
}

/* --- operations ------------------------------------------------------------------------------------- */

static json_t *render_step(const struct spelling *sp, const struct operation_step *step)
{
    struct out o = begin(sp);
    put_text(o, "name", step_kind_text(step->kind));
    put_text(o, "state", step_state_text(step->state));
    put_i64(o, "attempts", step->attempts);
    put_time(o, "startedAt", step->started_at);
    put_time(o, "finishedAt", step->finished_at);
    put_time(o, "deadlineAt", step->deadline_at);
    put_text(o, "detail", step->detail);
    return o.json;
}

json_t *render_operation(const struct spelling *sp, const struct operation *operation, const char *cluster,
                         const char *node)
{
    struct out o = begin(sp);
    json_t *steps = json_array();
    for (int i = 0; i < operation->step_count; i++)
        json_array_append_new(steps, render_step(sp, &operation->steps[i]));
    put_text(o, "id", operation->uid);
    put_text(o, "cluster", cluster);
    put_text(o, "node", node);
    put_text(o, "kind", operation_kind_text(operation->kind));
    put_text(o, "state", operation_state_text(operation->state));
    put_text(o, "urgency", urgency_text(operation->urgency));
    put_text(o, "reason", operation->reason);
    put_text(o, "actor", operation->actor);
    put_text(o, "code", operation->code);
    put_text(o, "device", operation->device);
    put_text(o, "oldInstanceId", operation->old_instance);
    put_text(o, "newInstanceId", operation->new_instance);
    put_bool(o, "cancelAsked", operation->cancel_asked);
    put_time(o, "createdAt", operation->created_at);
    put_time(o, "startedAt", operation->started_at);
    put_time(o, "finishedAt", operation->finished_at);
    put_text(o, "error", operation->error);
    put(o, "steps", steps);
    return o.json;
}

/* --- decisions and their evidence --------------------------------------------------------------------- */

static json_t *render_gates(const struct spelling *sp, const struct decision *decision)
{
    json_t *gates = json_array();
    for (int i = 0; i < GATE_COUNT; i++) {
        struct out o = begin(sp);
        put_text(o, "gate", gate_text((enum gate)i));
        put_text(o, "result", gate_result_text(decision->gates[i].result));
        put_text(o, "detail", decision->gates[i].detail);
        json_array_append_new(gates, o.json);
    }
    return gates;
}

json_t *render_decision(const struct spelling *sp, const struct decision *decision, const char *operation)
{
    struct out o = begin(sp);
    json_t *evidence = json_array();
    for (int i = 0; i < decision->evidence_count && i < DECISION_EVIDENCE_MAX; i++)
        json_array_append_new(evidence, json_integer(decision->evidence[i]));
    put_time(o, "at", decision->at);
    put_text(o, "action", action_text(decision->action));
    put_text(o, "urgency", urgency_text(decision->urgency));
    put_text(o, "rule", decision->rule);
    put_text(o, "code", decision->code);
    put_text(o, "device", decision->device);
    put_text(o, "sentence", decision->sentence);
    put_text(o, "refused", action_text(decision->refused));
    put_text(o, "refusedWhy", decision->refused_why);
    put(o, "gates", render_gates(sp, decision));
    put(o, "evidence", evidence);
    put_i64(o, "evidenceCount", decision->evidence_count);
    put_time(o, "retryAt", decision->retry_at);
    put_text(o, "operation", operation);
    put_text(o, "tableVersion", decision->table_version);
    return o.json;
}

json_t *render_verdict(const struct spelling *sp, const struct verdict *verdict)
{
    struct out o = begin(sp);
    put_i64(o, "id", verdict->id);
    put_text(o, "instanceId", verdict->instance_id);
    put_text(o, "bootId", verdict->boot_id);
    put_text(o, "device", verdict->device);
    put_text(o, "source", verdict->source);
    put_text(o, "code", verdict->code);
    put_text(o, "rawLine", verdict->raw_line);
    put_time(o, "firstAt", verdict->first_at);
    put_time(o, "lastAt", verdict->last_at);
    put_i64(o, "count", verdict->count);
    put_text(o, "severity", severity_text(verdict->severity));
    put_text(o, "state", verdict_state_text(verdict->state));
    put_text(o, "tableVersion", verdict->table_version);
    put_time(o, "receivedAt", verdict->received_at);
    return o.json;
}

json_t *render_explanation(const struct spelling *sp, const struct service_explanation *explanation,
                           const struct db_node_row *row)
{
    struct out o = begin(sp);
    json_t *evidence = json_array();
    for (size_t i = 0; i < explanation->evidence_count; i++)
        json_array_append_new(evidence, render_verdict(sp, &explanation->evidence[i]));
    put(o, "node", render_node(sp, row));
    if (explanation->decision.id != 0)
        put(o, "decision", render_decision(sp, &explanation->decision, explanation->operation.uid));
    put(o, "evidence", evidence);
    if (explanation->operation.id != 0)
        put(o, "operation", render_operation(sp, &explanation->operation, row->cluster, row->node.name));
    put_text(o, "text", explanation->text);
    return o.json;
}

/* --- events and tokens -------------------------------------------------------------------------------- */

json_t *render_event(const struct spelling *sp, const struct event *event)
{
    struct out o = begin(sp);
    put_i64(o, "id", event->id);
    put_time(o, "at", event->at);
    put_text(o, "level", event_level_text(event->level));
    put_text(o, "kind", event_kind_text(event->kind));
    put_text(o, "cluster", event->cluster);
    put_text(o, "group", event->group);
    put_text(o, "node", event->node);
    put_text(o, "instanceId", event->instance_id);
    put_text(o, "operation", event->operation);
    put_text(o, "message", event->message);
    put_text(o, "failureMessage", event->failure);
    put_text(o, "scriptState", event->script_state);
    return o.json;
}

json_t *render_token(const struct spelling *sp, const struct token *token, const char *cluster, const char *node)
{
    struct out o = begin(sp);
    put_text(o, "id", token->uid);
    put_text(o, "kind", token_kind_text(token->kind));
    put_text(o, "name", token->name);
    if (token->kind == TOKEN_KIND_API)
        put_text(o, "role", role_text(token->role));
    put_text(o, "cluster", cluster);
    put_text(o, "node", node);
    put_time(o, "createdAt", token->created_at);
    put_time(o, "expiresAt", token->expires_at);
    put_time(o, "usedAt", token->used_at);
    return o.json;
}
