/* The vocabulary in the REST API's words. Member names here are the ones of openapi.yaml. */
#include "api/render.h"
#include "base/clock.h"
#include "base/sm.h"
#include "base/text.h"
#include "model/alternatives.h"
#include "model/beside.h"
#include "model/job_command.h"
#include "server/service/cluster/cluster.h"
#include "server/service/node/lemon.h"
#include "server/service/node/node.h"
#include "server/service/scheduler/scheduler.h"

#include <string.h>

/* Nearly every text is UTF-8, and jansson looks itself: a second look is for the others. */
json_t *render_text(const char *text)
{
    size_t len = strlen(text), least = len > 3 ? len - 3 : 0;
    json_t *json = json_stringn(text, len);
    while (json == NULL && len > least)
        json = json_stringn(text, --len);
    return json != NULL ? json : json_string("?");
}

static void put_text(json_t *json, const char *name, const char *value)
{
    if (value != NULL && value[0] != '\0')
        json_put(json, name, render_text(value));
}

static void put_bool(json_t *json, const char *name, bool value)
{
    json_put(json, name, json_boolean(value));
}

/* --- clusters -------------------------------------------------------------------------------------- */

/* Only what is there: {"ready":3,"held":1}. The words are values of the vocabulary and are spelt alike everywhere. */
static void put_counts(json_t *json, const struct cluster_counts *counts)
{
    json_t *states = json_object(), *healths = json_object();
    for (int i = 0; i < NODE_STATE_COUNT; i++)
        if (counts->by_state[i] > 0)
            json_put_i64(states, node_state_text((enum node_state)i), counts->by_state[i]);
    for (size_t i = 0; i < ARRAY_LEN(counts->by_health); i++)
        if (counts->by_health[i] > 0)
            json_put_i64(healths, health_text((enum health)i), counts->by_health[i]);
    json_put(json, "nodesByState", states);
    json_put(json, "nodesByHealth", healths);
}

json_t *render_pause(const struct cluster *cluster)
{
    if (cluster->paused_at == 0)
        return NULL;
    json_t *json = json_object();
    json_put_time(json, "since", cluster->paused_at);
    put_text(json, "by", cluster->paused_by);
    put_text(json, "reason", cluster->pause_reason);
    return json;
}

json_t *render_cluster(const struct cluster *cluster, const struct cluster_counts *counts)
{
    json_t *json = json_object();
    put_text(json, "name", cluster->name);
    put_text(json, "id", cluster->uid);
    put_text(json, "state", cluster_state_text(cluster->state));
    put_text(json, "nodeRecovery", node_recovery_text(cluster->recovery));
    put_text(json, "orchestrator", orchestrator_text(cluster->orchestrator));
    put_text(json, "nodeProvisioningMode", provisioning_text(cluster->provisioning));
    put_text(json, "failureMessage", cluster->failure);
    json_put(json, "pause", render_pause(cluster));
    json_put_time(json, "createdAt", cluster->created_at);
    json_put_time(json, "updatedAt", cluster->updated_at);
    json_put_i64(json, "revision", cluster->revision);
    json_put_i64(json, "nodeCount", counts->nodes);
    put_counts(json, counts);
    return json;
}

static json_t *render_rollout(const struct rollout *rollout)
{
    json_t *json = json_object();
    put_text(json, "state", rollout_state_text(rollout->state));
    put_text(json, "imageId", rollout->image_id);
    put_text(json, "imageReleaseVersion", rollout->release);
    put_text(json, "previousImageId", rollout->previous_image_id);
    put_text(json, "previousImageReleaseVersion", rollout->previous_release);
    json_put_i64(json, "batch", rollout->batch);
    json_put_time(json, "nextBatchAt", rollout->next_batch_at);
    put_text(json, "failureMessage", rollout->failure);
    json_put_time(json, "createdAt", rollout->created_at);
    json_put_time(json, "updatedAt", rollout->updated_at);
    return json;
}

static json_t *render_capacity(const struct machine_capacity *machine_capacity)
{
    json_t *json = json_object();
    put_bool(json, "short", machine_capacity->short_times > 0);
    if (machine_capacity->short_times > 0)
        json_put_i64(json, "times", machine_capacity->short_times);
    json_put_time(json, "since", machine_capacity->short_at);
    json_put_time(json, "askedAgainAt", machine_capacity->short_until);
    return json;
}

static json_t *render_protection(const struct machine_capacity *machine_capacity)
{
    json_t *json = json_object();
    put_bool(json, "on", machine_capacity->protected_at > 0);
    json_put_time(json, "since", machine_capacity->protected_at);
    if (machine_capacity->failures > 0)
        json_put_i64(json, "failedInARow", machine_capacity->failures);
    json_put_time(json, "lastFailedAt", machine_capacity->failed_at);
    return json;
}

/* What may hold the repairs of a group. */
static void put_held(json_t *json, const struct instance_group *group)
{
    json_t *breaker = json_object();
    put_bool(breaker, "open", group->breaker_opened_at != 0);
    json_put_time(breaker, "openedAt", group->breaker_opened_at);
    json_put(json, "breaker", breaker);
    json_put(json, "capacity", render_capacity(&group->machine_capacity));
    json_put(json, "protection", render_protection(&group->machine_capacity));
}

json_t *render_group_held(const struct instance_group *group)
{
    json_t *json = json_object();
    put_text(json, "name", group->name);
    put_held(json, group);
    return json;
}

static json_t *render_source(const struct node_source *source)
{
    json_t *json = json_object();
    if (source->partition[0] != '\0')
        put_text(json, "partition", source->partition);
    if (source->feature[0] != '\0')
        put_text(json, "feature", source->feature);
    return json;
}

static json_t *render_group(const struct service_group_view *view)
{
    json_t *json = json_object();
    put_text(json, "name", view->group.name);
    json_put(json, "instanceType", json_string(view->group.instance_type));
    put_text(json, "provider", view->group.provider);
    put_text(json, "state", group_state_text(view->group.state));
    json_put_time(json, "stateSince", view->group.state_since);
    put_text(json, "failureMessage", view->group.failure);
    json_put_i64(json, "instanceCount", view->group.desired);
    if (view->group.min_count > 0)
        json_put_i64(json, "minInstanceCount", view->group.min_count);
    if (node_source_is_given(&view->group.source))
        json_put(json, "nodesFrom", render_source(&view->group.source));
    put_text(json, "imageId", view->group.image_id);
    put_text(json, "imageReleaseVersion", view->group.release);
    put_held(json, &view->group);
    put_counts(json, &view->counts);
    if (view->has_inventory)
        json_put(json, "spares",
                 json_pack("{s:I, s:I}", "total", (json_int_t)view->spares, "ready", (json_int_t)view->spares_ready));
    if (view->rollout.group_id != 0)
        json_put(json, "softwareUpdate", render_rollout(&view->rollout));
    return json;
}

json_t *render_scheduler(const struct service_scheduler_status *scheduler)
{
    json_t *json = json_object();
    put_text(json, "name", scheduler->name);
    put_text(json, "kind", scheduler->kind);
    put_text(json, "state", scheduler_state_text(scheduler->state));
    json_put_time(json, "since", scheduler->since);
    json_put_time(json, "seenAt", scheduler->seen_at);
    put_text(json, "error", scheduler->error);
    put_text(json, "transport", scheduler->transport);
    put_text(json, "configuration", scheduler->managed ? "manage" : "attach");
    if (scheduler->managed)
        put_text(json, "strategy", desired_strategy_text(scheduler->strategy));
    put_text(json, "drift", scheduler->drift);
    return json;
}

/* One that is no longer in hpd's configuration has a name, and nothing is known of it. */
static json_t *render_cluster_scheduler(const struct service_cluster_view *view)
{
    json_t *json = render_scheduler(&view->scheduler);
    put_text(json, "name", view->cluster.scheduler);
    return json;
}

json_t *render_cluster_view(const struct service_cluster_view *view, const struct service_names *names)
{
    json_t *json = render_cluster(&view->cluster, &view->counts);
    json_t *groups = json_array(), *active = json_array(), *attention = json_array();
    for (size_t i = 0; i < view->group_count; i++)
        json_array_append_new(groups, render_group(&view->groups[i]));
    for (size_t i = 0; i < view->active_count; i++)
        json_array_append_new(active, render_operation(&view->active[i], view->cluster.name, names[i].node));
    for (size_t i = 0; i < view->attention_count; i++)
        json_array_append_new(attention, render_node(&view->attention[i]));
    if (view->cluster.orchestrator != ORCHESTRATOR_NONE)
        json_put(json, "scheduler", render_cluster_scheduler(view));
    json_put(json, "instanceGroups", groups);
    json_put(json, "activeOperations", active);
    json_put(json, "attention", attention);
    json_put_i64(json, "attentionTotal", view->attention_total);
    return json;
}

/* --- nodes ----------------------------------------------------------------------------------------- */

json_t *render_node(const struct db_node_row *row)
{
    json_t *json = json_object();
    put_text(json, "name", row->node.name);
    put_text(json, "cluster", row->cluster);
    put_text(json, "group", row->group);
    put_text(json, "zone", row->node.zone);
    for (int level = 0; level < TOPOLOGY_LEVEL_ZONE; level++)
        put_text(json, topology_level_text((enum topology_level)level), row->node.topology[level]);
    put_text(json, "state", node_state_text(row->node.state));
    put_text(json, "health", health_text(row->node.health));
    put_text(json, "reason", row->node.reason);
    json_put_time(json, "stateSince", row->node.state_since);
    json_put_time(json, "healthSince", row->node.health_since);
    json_put_time(json, "retryAt", row->node.retry_at);
    put_bool(json, "optedOut", row->node.opted_out);
    json_put_text(json, "attention", attention_text(row->node.attention));
    put_bool(json, "waitsForPerson", node_waits_for_person(&row->node, row->recovery, row->is_paused));
    if (row->instance.id == 0)
        return json;
    put_text(json, "instanceId", row->instance.instance_id);
    put_text(json, "providerRef", row->instance.provider_ref);
    put_text(json, "instanceState", instance_state_text(row->instance.state));
    put_text(json, "address", row->instance.address);
    put_text(json, "bootId", row->instance.boot_id);
    json_put_time(json, "bootAt", row->instance.boot_at);
    return json;
}

static json_t *render_live(const struct fleet_view *live)
{
    json_t *json = json_object();
    json_t *checks = json_array();
    if (live->checks & FLEET_CHECK_KMSG)
        json_array_append_new(checks, json_string("kmsg"));
    json_put_time(json, "lastHeartbeatAt", live->last_heartbeat_at);
    put_bool(json, "silent", live->silent);
    json_put_i64(json, "clockSkewMs", live->skew_ms);
    json_put(json, "checks", checks);
    return json;
}

json_t *render_node_view(const struct service_node_view *view, const char *decision_operation)
{
    json_t *json = render_node(&view->row);
    if (view->live.slot.node_id != 0)
        json_put(json, "live", render_live(&view->live));
    json_put_i64(json, "openVerdicts", view->open_verdicts);
    if (view->active.id != 0)
        json_put(json, "activeOperation", render_operation(&view->active, view->row.cluster, view->row.node.name));
    if (view->last_decision.id != 0)
        json_put(json, "lastDecision", render_decision(&view->last_decision, decision_operation));
    return json;
}

json_t *render_lemon(const struct service_lemon *lemon)
{
    json_t *json = json_object();
    put_text(json, "node", lemon->node);
    put_text(json, "group", lemon->group);
    put_text(json, "instanceId", lemon->instance_id);
    json_put_i64(json, "score", lemon->score);
    json_put_i64(json, "slotScore", lemon->slot_score);
    json_put_i64(json, "limit", lemon->limit);
    json_object_set_new(json, "isLemon", json_boolean(lemon->limit > 0 && lemon->score >= lemon->limit));
    put_text(json, "device", lemon->device);
    put_text(json, "deviceIdentity", lemon->identity);
    json_put_i64(json, "deviceScore", lemon->device_score);
    json_put_i64(json, "repairs", lemon->repairs);
    json_put_i64(json, "failedReturns", lemon->not_cleared);
    json_put_time(json, "lastRepairAt", lemon->last_at);
    return json;
}

/* --- incidents of many nodes ------------------------------------------------------------------------ */

json_t *render_incident(const struct shared_incident *incident)
{
    json_t *json = json_object();
    json_put(json, "id", json_sprintf("%lld", (long long)incident->id));
    put_text(json, "cluster", incident->cluster);
    put_text(json, "level", topology_level_text(incident->level));
    put_text(json, "domain", incident->domain);
    put_text(json, "cause", incident_cause_text(incident->cause));
    put_text(json, "state", incident->ended_at > 0 ? "ended" : "open");
    json_put_time(json, "startedAt", incident->started_at);
    json_put_time(json, "settledSince", incident->settled_since);
    json_put_time(json, "endedAt", incident->ended_at);
    put_text(json, "endedBy", incident->ended_by);
    json_put_i64(json, "nodes", incident->nodes);
    json_put_i64(json, "affected", incident->affected);
    return json;
}

json_t *render_incident_node(const struct incident_node *node)
{
    json_t *json = json_object();
    put_text(json, "node", node->name);
    put_text(json, "cause", incident_cause_text(node->cause));
    json_put_time(json, "since", node->since);
    json_put_time(json, "backAt", node->back_at);
    return json;
}

/* --- operations ------------------------------------------------------------------------------------- */

static json_t *render_step(const struct operation_step *step)
{
    json_t *json = json_object();
    put_text(json, "name", step_kind_text(step->kind));
    put_text(json, "state", step_state_text(step->state));
    json_put_i64(json, "attempts", step->attempts);
    json_put_time(json, "startedAt", step->started_at);
    json_put_time(json, "finishedAt", step->finished_at);
    json_put_time(json, "deadlineAt", step->deadline_at);
    put_text(json, "detail", step->detail);
    return json;
}

static json_t *render_try(const struct reboot_try *one)
{
    json_t *json = json_object();
    json_put_i64(json, "number", one->number);
    put_text(json, "method", reboot_method_text(one->method));
    put_text(json, "outcome", reboot_outcome_text(one->outcome));
    json_put_time(json, "beganAt", one->began_at);
    json_put_time(json, "acceptedAt", one->accepted_at);
    json_put_time(json, "deadlineAt", one->deadline_at);
    json_put_time(json, "endedAt", one->ended_at);
    put_text(json, "detail", one->detail);
    return json;
}

static json_t *render_tries(const struct operation *operation)
{
    json_t *tries = json_array();
    for (int i = 0; i < operation->try_count; i++)
        json_array_append_new(tries, render_try(&operation->tries[i]));
    return tries;
}

static json_t *render_progress(const struct operation_progress *progress)
{
    json_t *json = json_object();
    json_put_i64(json, "nodesWanted", progress->wanted);
    json_put_i64(json, "nodesInService", progress->in_service);
    json_put_i64(json, "nodesFailed", progress->failed);
    json_put_i64(json, "nodesLeft", progress->left);
    return json;
}

/* What its jobs may do: nothing is said of those that go at once, or of an operation as of drainDeadline. */
static void put_jobs(json_t *json, enum job_signal signal, int64_t wait_ms)
{
    char span[CLOCK_TEXT_MAX];
    if (wait_ms > 0)
        json_put_text(json, "jobWait", clock_write_duration(wait_ms, span));
    if (signal != JOB_SIGNAL_NONE)
        json_put_text(json, "jobSignal", job_signal_text(signal));
}

json_t *render_operation(const struct operation *operation, const char *cluster, const char *node)
{
    json_t *json = json_object();
    json_t *steps = json_array();
    for (int i = 0; i < operation->step_count; i++)
        json_array_append_new(steps, render_step(&operation->steps[i]));
    put_text(json, "id", operation->uid);
    put_text(json, "cluster", cluster);
    put_text(json, "node", node);
    put_text(json, "kind", operation_kind_text(operation->kind));
    put_text(json, "state", operation_state_text(operation->state));
    put_text(json, "urgency", urgency_text(operation->urgency));
    put_jobs(json, operation->job_signal, operation->job_wait_ms);
    put_text(json, "reason", operation->reason);
    put_text(json, "actor", operation->actor);
    put_text(json, "code", operation->code);
    put_text(json, "device", operation->device);
    put_text(json, "oldInstanceId", operation->old_instance);
    put_text(json, "newInstanceId", operation->new_instance);
    put_bool(json, "cancelAsked", operation->cancel_asked);
    json_put_time(json, "createdAt", operation->created_at);
    json_put_time(json, "startedAt", operation->started_at);
    json_put_time(json, "finishedAt", operation->finished_at);
    put_text(json, "error", operation->error);
    if (operation_is_of_cluster(operation->kind))
        json_put(json, "progress", render_progress(&operation->progress));
    json_put(json, "steps", steps);
    if (operation->try_count > 0)
        json_put(json, "rebootTries", render_tries(operation));
    return json;
}

/* --- decisions and their evidence --------------------------------------------------------------------- */

static json_t *render_gates(const struct decision *decision)
{
    json_t *gates = json_array();
    for (int i = 0; i < GATE_COUNT; i++) {
        json_t *json = json_object();
        put_text(json, "gate", gate_text((enum gate)i));
        put_text(json, "result", gate_result_text(decision->gates[i].result));
        put_text(json, "detail", decision->gates[i].detail);
        json_array_append_new(gates, json);
    }
    return gates;
}

static json_t *render_alternatives(const struct decision *decision)
{
    struct alternative alternatives[ALTERNATIVES_MAX];
    json_t *list = json_array();
    size_t count = decision_alternatives(decision, alternatives);
    for (size_t i = 0; i < count; i++) {
        json_t *json = json_object();
        put_text(json, "action", action_text(alternatives[i].action));
        put_text(json, "why", alternatives[i].why);
        json_array_append_new(list, json);
    }
    return list;
}

static json_t *render_beside(const struct decision *decision)
{
    struct decision_beside beside;
    json_t *list = json_array();
    for (const char *at = decision->beside; decision_beside_next(&at, &beside);) {
        json_t *json = json_object();
        put_text(json, "code", beside.code);
        put_text(json, "device", beside.device);
        put_text(json, "rule", decision_rule_text(beside.rule));
        json_array_append_new(list, json);
    }
    return list;
}

json_t *render_decision(const struct decision *decision, const char *operation)
{
    json_t *json = json_object();
    json_t *evidence = json_array();
    for (int i = 0; i < decision->evidence_count && i < DECISION_EVIDENCE_MAX; i++)
        json_array_append_new(evidence, json_integer(decision->evidence[i]));
    json_put_time(json, "at", decision->at);
    put_text(json, "action", action_text(decision->action));
    put_text(json, "urgency", urgency_text(decision->urgency));
    put_jobs(json, decision->job_signal, decision->job_wait_ms);
    put_text(json, "rule", decision_rule_text(decision->rule));
    put_text(json, "code", decision->code);
    put_text(json, "class", fault_class_text(decision->fault));
    put_text(json, "device", decision->device);
    put_text(json, "sentence", decision->sentence);
    put_text(json, "refused", action_text(decision->refused));
    put_text(json, "refusedWhy", decision->refused_why);
    json_put(json, "alternatives", render_alternatives(decision));
    json_put(json, "gates", render_gates(decision));
    json_put(json, "evidence", evidence);
    json_put_i64(json, "evidenceCount", decision->evidence_count);
    if (decision->beside[0] != '\0')
        json_put(json, "beside", render_beside(decision));
    json_put_time(json, "retryAt", decision->retry_at);
    put_text(json, "operation", operation);
    put_text(json, "tableVersion", decision->table_version);
    if (decision->policy_version != 0)
        json_put_i64(json, "policyVersion", decision->policy_version);
    return json;
}

json_t *render_job(const struct cluster_job *job)
{
    json_t *json = json_object();
    bool waits = job->state == CLUSTER_JOB_PENDING, over = job->ends_at > 0 && !job_is_on(job);
    put_text(json, "id", job->id);
    put_text(json, "name", job->name);
    put_text(json, "user", job->user);
    put_text(json, "account", job->account);
    put_text(json, "partition", job->partition);
    put_text(json, "state", cluster_job_state_text(job->state));
    put_text(json, "reason", job->reason);
    put_text(json, "nodes", job->nodes);
    json_put_i64(json, "nodeCount", job->node_count);
    json_put_i64(json, "tasks", job->tasks);
    json_put_i64(json, "cpus", job->cpus);
    json_put_i64(json, "gpus", job->gpus);
    json_put_i64(json, "restarts", job->restarts);
    json_put_time(json, "submittedAt", job->submitted_at);
    json_put_time(json, "startedAt",
                  waits ? 0 : job->started_at); /* before that the scheduler says when it may start */
    json_put_time(json, "endsBy", over || waits ? 0 : job->ends_at);
    json_put_time(json, "endedAt", over ? job->ends_at : 0);
    if (job->time_limit_s > 0)
        json_put_i64(json, "timeLimitSeconds", job->time_limit_s);
    json_t *commands = json_array();
    for (enum job_command_kind kind = 0; kind <= JOB_COMMAND_SCALE; kind++)
        if (job_takes(job, kind))
            json_array_append_new(commands, json_string(job_command_kind_text(kind)));
    json_put(json, "commands", commands);
    if (job->size_most > 0) {
        json_t *elastic = json_object();
        json_put_i64(elastic, "replicas", job->size);
        json_put_i64(elastic, "minReplicas", job->size_least);
        json_put_i64(elastic, "maxReplicas", job->size_most);
        if (job->size_asked > 0)
            json_put_i64(elastic, "askedReplicas", job->size_asked);
        json_put(json, "elastic", elastic);
    }
    return json;
}

json_t *render_verdict(const struct verdict *verdict)
{
    json_t *json = json_object();
    json_put_i64(json, "id", verdict->id);
    put_text(json, "instanceId", verdict->instance_id);
    put_text(json, "bootId", verdict->boot_id);
    put_text(json, "device", verdict->device);
    put_text(json, "source", verdict->source);
    put_text(json, "code", verdict->code);
    put_text(json, "rawLine", verdict->raw_line);
    json_put_time(json, "firstAt", verdict->first_at);
    json_put_time(json, "lastAt", verdict->last_at);
    json_put_i64(json, "count", verdict->count);
    put_text(json, "severity", severity_text(verdict->severity));
    put_text(json, "state", verdict_state_text(verdict->state));
    put_text(json, "tableVersion", verdict->table_version);
    json_put_time(json, "receivedAt", verdict->received_at);
    json_put_time(json, "dueAt", verdict->due_at);
    return json;
}

static json_t *render_next_steps(const struct policy_explanation *explanation)
{
    json_t *steps = json_array();
    for (int i = 0; i < explanation->step_count; i++) {
        json_t *json = json_object();
        put_text(json, "command", explanation->steps[i].command);
        put_text(json, "why", explanation->steps[i].why);
        json_array_append_new(steps, json);
    }
    return steps;
}

json_t *render_explanation(const struct service_explanation *explanation, const struct db_node_row *row)
{
    json_t *json = json_object();
    json_t *evidence = json_array();
    for (size_t i = 0; i < explanation->evidence_count; i++)
        json_array_append_new(evidence, render_verdict(&explanation->evidence[i]));
    json_put(json, "node", render_node(row));
    put_text(json, "explanation", explanation_text(explanation->current.kind));
    put_text(json, "why", explanation->current.sentence);
    json_put(json, "nextSteps", render_next_steps(&explanation->current));
    if (explanation->decision.id != 0)
        json_put(json, "decision", render_decision(&explanation->decision, explanation->operation.uid));
    json_put(json, "evidence", evidence);
    if (explanation->operation.id != 0)
        json_put(json, "operation", render_operation(&explanation->operation, row->cluster, row->node.name));
    put_text(json, "text", explanation->text);
    return json;
}

/* --- events and tokens -------------------------------------------------------------------------------- */

json_t *render_event(const struct event *event)
{
    json_t *json = json_object();
    json_put_i64(json, "id", event->id);
    json_put_time(json, "at", event->at);
    put_text(json, "level", event_level_text(event->level));
    put_text(json, "kind", event_kind_text(event->kind));
    put_text(json, "cluster", event->cluster);
    put_text(json, "group", event->group);
    put_text(json, "node", event->node);
    put_text(json, "instanceId", event->instance_id);
    put_text(json, "operation", event->operation);
    put_text(json, "message", event->message);
    put_text(json, "failureMessage", event->failure);
    put_text(json, "scriptState", event->script_state);
    put_text(json, "subject", event->about.subject);
    put_text(json, "state", event->about.state);
    put_text(json, "was", event->about.was);
    put_text(json, "actor", event->about.actor);
    return json;
}

json_t *render_token(const struct token *token, const char *cluster, const char *node)
{
    json_t *json = json_object();
    put_text(json, "id", token->uid);
    put_text(json, "kind", token_kind_text(token->kind));
    put_text(json, "name", token->name);
    if (token->kind == TOKEN_KIND_API)
        put_text(json, "role", role_text(token->role));
    put_text(json, "cluster", cluster);
    put_text(json, "node", node);
    json_put_time(json, "createdAt", token->created_at);
    json_put_time(json, "expiresAt", token->expires_at);
    json_put_time(json, "usedAt", token->used_at);
    return json;
}

/* --- deep health checks ----------------------------------------------------------------------------- */

json_t *render_deep_run(const struct deep_run *run)
{
    json_t *json = json_object();
    json_t *checks = json_array();
    for (int i = 0; i < DEEP_CHECK_COUNT; i++)
        if ((run->checks & SM_BIT(i)) != 0)
            json_array_append_new(checks, json_string(deep_check_text((enum deep_check)i)));
    put_text(json, "id", run->uid);
    put_text(json, "cluster", run->cluster);
    put_text(json, "group", run->group);
    put_text(json, "node", run->node);
    put_text(json, "instanceType", run->instance_type);
    put_text(json, "instanceId", run->instance_id);
    put_text(json, "profile", deep_profile_text(run->profile));
    json_put(json, "checks", checks);
    put_text(json, "state", deep_state_text(run->state));
    put_text(json, "detail", run->detail);
    put_text(json, "actor", run->actor);
    json_put_i64(json, "total", run->total);
    json_put_i64(json, "passed", run->passed);
    json_put_i64(json, "failed", run->failed);
    json_put_i64(json, "skipped", run->skipped);
    json_put_time(json, "createdAt", run->created_at);
    json_put_time(json, "startedAt", run->started_at);
    json_put_time(json, "finishedAt", run->finished_at);
    return json;
}

static json_t *render_measure(const struct deep_measure *measure)
{
    json_t *json = json_object();
    put_text(json, "name", measure->name);
    put_text(json, "value", measure->value);
    put_text(json, "limit", measure->limit);
    if (measure->mark != DEEP_MARK_NONE)
        put_text(json, "mark", deep_mark_text(measure->mark));
    return json;
}

json_t *render_deep_test(const struct deep_test *test)
{
    json_t *json = json_object();
    json_t *measures = json_array();
    for (int64_t i = 0; i < test->measure_count; i++)
        json_array_append_new(measures, render_measure(&test->measures[i]));
    json_put_i64(json, "ordinal", test->ordinal);
    put_text(json, "name", test->name);
    put_text(json, "check", deep_check_text(test->check));
    put_text(json, "state", deep_state_text(test->state));
    put_text(json, "detail", test->detail);
    json_put_time(json, "startedAt", test->started_at);
    json_put_i64(json, "durationMs", test->duration_ms);
    json_put(json, "measures", measures);
    return json;
}
