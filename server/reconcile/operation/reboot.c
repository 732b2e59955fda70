/*
 * A reboot by the methods of a group (model/reboot.h): the policy says which is next (policy/reboot.h), and each try is a row that is
 * stored before anything is asked for.
 *
 * What proves a reboot is the new boot id, and nothing else: a method that was accepted and brought none in time gives way to the next.
 * A try that was sent before a crash is not sent again, as its answer may have been lost: it is waited for as if it had been accepted.
 * Only the agent and the provider are asked again, under the same key: they do nothing twice under one.
 */
#include "server/reconcile/operation/reboot.h"
#include "base/text.h"
#include "db/cluster.h"
#include "db/machine.h"
#include "db/reboot.h"
#include "policy/reboot.h"
#include "server/reconcile/base/call.h"
#include "server/reconcile/base/cluster.h"
#include "server/reconcile/base/group.h"
#include "server/reconcile/base/link.h"
#include "server/reconcile/base/loop.h"
#include "server/reconcile/base/node.h"
#include "server/reconcile/base/record.h"
#include "server/reconcile/operation/task.h"

#include <stdio.h>

static void read_order(struct work *w, struct reboot_order *ret_order)
{
    AUTO(group_spec) struct group_spec spec = {0};
    int status = db_group_spec_get(w->turn->tx, w->row.group_id, &spec);
    work_did(w, status == STATUS_NOT_FOUND ? 0 : status);
    reboot_order_read(&spec.reboot_methods, ret_order);
}

bool work_reboots_by_methods(struct work *w)
{
    struct reboot_order order;
    if (w->op.try_count > 0)
        return true;
    if (w->step->attempts > 0)
        return false; /* the provider was asked before the group named any */
    read_order(w, &order);
    return order.count > 0;
}

static struct reboot_try *running(struct work *w)
{
    struct reboot_try *last = w->op.try_count > 0 ? &w->op.tries[w->op.try_count - 1] : NULL;
    return last != NULL && last->outcome == REBOOT_OUTCOME_RUNNING ? last : NULL;
}

static void store(struct work *w, const struct reboot_try *one)
{
    work_did(w, db_reboot_try_write(w->turn->tx, w->op.id, one));
}

static bool is_rebooted(const struct work *w)
{
    return w->instance.boot_id[0] != '\0' && (!text_equal(w->instance.boot_id, w->op.old_boot) ||
                                              !text_equal(w->instance.instance_id, w->op.old_instance));
}

/* --- the end of a try ------------------------------------------------------------------------------------------ */
static void close_try(struct work *w, struct reboot_try *one, enum reboot_outcome outcome, const char *detail)
{
    static const char *const words[] = {
        [REBOOT_OUTCOME_RUNNING] = "",
        [REBOOT_OUTCOME_REBOOTED] = "rebooted the machine",
        [REBOOT_OUTCOME_REFUSED] = "failed",
        [REBOOT_OUTCOME_UNREACHABLE] = "could not be asked",
        [REBOOT_OUTCOME_NO_BOOT] = "was accepted and brought no new boot",
        [REBOOT_OUTCOME_LOST] = "gave no answer and brought no new boot",
    };
    one->outcome = outcome;
    one->ended_at = w->now;
    if (detail[0] != '\0')
        text_copy_cut(one->detail, sizeof(one->detail), detail);
    store(w, one);
    if (one->method == REBOOT_METHOD_AGENT)
        work_task_drop(w);
    if (outcome != REBOOT_OUTCOME_REBOOTED)
        work_event(w, EVENT_LEVEL_WARN, EVENT_KIND_OPERATION_STEP, "reboot by %s (try %d) %s%s%s",
                   reboot_method_words(one->method), one->number, words[outcome], one->detail[0] != '\0' ? ": " : "",
                   one->detail);
}

static enum step_result rebooted(struct work *w)
{
    struct reboot_try *one = running(w);
    if (one == NULL) {
        work_say(w, "the machine was booted meanwhile: boot %s", w->instance.boot_id);
        return STEP_DONE;
    }
    close_try(w, one, REBOOT_OUTCOME_REBOOTED, "");
    work_say(w, "by %s (try %d): boot %s", reboot_method_words(one->method), one->number, w->instance.boot_id);
    return STEP_DONE;
}

/* --- the agent ------------------------------------------------------------------------------------------------- */
/* NULL: it can be asked. */
static const char *agent_lacks(const struct work *w, const struct fleet_view *live, bool *ret_wait)
{
    *ret_wait = live->last_heartbeat_at == 0;
    if (live->last_heartbeat_at == 0)
        return "the agent was not seen since this server started";
    if (live->silent || w->now - live->last_heartbeat_at > w->node->group->settings.policy.silent_after_ms)
        return "the agent is not seen";
    return (live->checks & FLEET_REBOOTS) == 0 ? "hp-agent runs there without --allow-reboot" : NULL;
}

static enum step_result ask_agent(struct work *w, struct reboot_try *one, const char *key)
{
    struct fleet_view live = {.last_heartbeat_at = 0};
    bool wait;
    (void)fleet_get(w->r->service->fleet, w->node->id, &live);
    const char *lacks = agent_lacks(w, &live, &wait);
    wait = wait && w->now < one->began_at + w->node->group->settings.policy.silent_after_ms;
    if (lacks != NULL && !wait && one->accepted_at == 0) {
        bool may = (live.checks & FLEET_REBOOTS) != 0 || live.last_heartbeat_at == 0;
        close_try(w, one, may ? REBOOT_OUTCOME_UNREACHABLE : REBOOT_OUTCOME_REFUSED, lacks);
        return STEP_GO_ON;
    }
    work_due(w, w->now + w->node->group->settings.retry_min_ms);
    if (lacks != NULL)
        return STEP_WAIT;
    struct reboot_job job = {.delay_ms = w->node->group->settings.reboot_delay_ms, .attempt = one->number};
    text_copy_cut(job.key, sizeof(job.key), key);
    text_copy_cut(job.instance_id, sizeof(job.instance_id), w->instance.instance_id);
    text_copy_cut(job.boot_id, sizeof(job.boot_id), w->instance.boot_id);
    text_copy_cut(job.reason, sizeof(job.reason), w->op.reason);
    work_task_reboot(w, &job);
    return STEP_WAIT;
}

/* What the agent said meanwhile. GO_ON: the try is over. */
static enum step_result hear_agent(struct work *w, struct reboot_try *one)
{
    char key[KEY_MAX_BYTES];
    struct lifecycle_report report;
    bool asked;
    reboot_key(w->op.uid, one->number, key);
    if (!agent_tasks_last(fleet_agent_tasks(w->r->service->fleet), w->node->id, key, &report, &asked))
        return asked ? STEP_WAIT
                     : ask_agent(w, one, key); /* after a start again: it does nothing twice under one key */
    if (report.state == SCRIPT_STATE_FAILED && report.final) {
        close_try(w, one, REBOOT_OUTCOME_REFUSED, report.detail);
        return STEP_GO_ON;
    }
    if (one->accepted_at == 0) {
        one->accepted_at = w->now;
        store(w, one);
    }
    return STEP_WAIT;
}

/* --- a try begins ---------------------------------------------------------------------------------------------- */
static int64_t deadline_of(const struct work *w, enum reboot_method method)
{
    const struct loop_settings *settings = &w->node->group->settings;
    switch (method) {
    case REBOOT_METHOD_AGENT:
        return settings->reboot_agent_ms;
    case REBOOT_METHOD_SCHEDULER:
        return settings->reboot_scheduler_ms;
    case REBOOT_METHOD_SSH:
        return settings->reboot_ssh_ms;
    case REBOOT_METHOD_PROVIDER:
        return settings->reboot_provider_ms;
    default:
        return settings->reboot_bmc_ms;
    }
}

/* Where the machine is, if it is one of an inventory's. */
static void find_machine(struct work *w, struct rcall *call)
{
    struct machine_use use;
    autofree struct machine *machine = own_calloc(1, sizeof(*machine));
    int status = db_machine_use_by_instance(w->turn->tx, w->instance.instance_id, &use);
    if (status == 0)
        status = db_machine_get_row(w->turn->tx, use.machine_id, machine);
    if (status != 0) {
        work_did(w, status == STATUS_NOT_FOUND ? 0 : status);
        return;
    }
    text_copy_cut(call->bmc, sizeof(call->bmc), machine->bmc);
    if (call->address[0] == '\0')
        text_copy_cut(call->address, sizeof(call->address), machine->address);
}

static struct rcall *device_call(struct work *w, const struct reboot_driver *driver, const char *section)
{
    if (driver->ops == NULL) {
        work_say(w, "hpd's configuration has no section %s", section);
        return NULL;
    }
    struct rcall *call = reconcile_call_new(CALL_REBOOT, w->node->id, w->op.id);
    call->reboot = *driver;
    text_copy_cut(call->node, sizeof(call->node), w->node->name);
    text_copy_cut(call->instance_id, sizeof(call->instance_id), w->instance.instance_id);
    text_copy_cut(call->provider_ref, sizeof(call->provider_ref), w->instance.provider_ref);
    text_copy_cut(call->address, sizeof(call->address), w->instance.address);
    text_copy_cut(call->boot_id, sizeof(call->boot_id), w->op.old_boot);
    find_machine(w, call);
    return call;
}

static struct rcall *scheduler_reboot_call(struct work *w)
{
    const struct scheduler_link *link = work_has_scheduler(w) ? reconcile_link(w->node) : NULL;
    if (link == NULL || link->driver.ops->reboots == NULL) {
        work_say(w, "%s", link == NULL ? "the cluster has no scheduler" : "this scheduler reboots no nodes");
        return NULL;
    }
    return work_scheduler_call(w, CALL_REBOOT);
}

/* NULL, with the reason in w->detail. */
static struct rcall *call_for(struct work *w, enum reboot_method method)
{
    if (method == REBOOT_METHOD_SSH)
        return device_call(w, &w->r->deps.reboots.ssh, "ssh");
    if (method == REBOOT_METHOD_SCHEDULER)
        return scheduler_reboot_call(w);
    if (method == REBOOT_METHOD_PROVIDER)
        return work_provider_call(w, CALL_REBOOT, &w->instance);
    return device_call(w, &w->r->deps.reboots.bmc, "bmc");
}

static struct reboot_try *open_try(struct work *w, enum reboot_method method)
{
    struct reboot_try *one = &w->op.tries[w->op.try_count++];
    *one = (struct reboot_try){.number = w->op.try_count,
                               .method = method,
                               .outcome = REBOOT_OUTCOME_RUNNING,
                               .began_at = w->now,
                               .deadline_at = w->now + deadline_of(w, method)};
    store(w, one);
    return one;
}

static void tell_begin(struct work *w, const struct reboot_try *one)
{
    work_event(w, EVENT_LEVEL_INFO, EVENT_KIND_OPERATION_STEP, "reboot by %s is asked for (try %d)",
               reboot_method_words(one->method), one->number);
}

/* As a backend knows it. */
static void write_key(const struct work *w, const struct reboot_try *one, char ret_key[KEY_MAX_BYTES])
{
    char key[KEY_MAX_BYTES];
    reboot_key(w->op.uid, one->number, key);
    snprintf(ret_key, KEY_MAX_BYTES, "reboot/%.72s", key);
}

static enum step_result send(struct work *w, struct rcall *call, const struct reboot_try *one)
{
    call->method = one->method;
    write_key(w, one, call->key);
    w->scratch.reboot_sent = one->number;
    w->call = call;
    return STEP_CALL;
}

static enum step_result begin(struct work *w, enum reboot_method method)
{
    if (method == REBOOT_METHOD_AGENT) {
        tell_begin(w, open_try(w, method));
        return STEP_GO_ON;
    }
    struct rcall *call = call_for(w, method);
    if (call == NULL) {
        char why[REBOOT_DETAIL_MAX_BYTES];
        text_copy_cut(why, sizeof(why), w->detail);
        close_try(w, open_try(w, method), REBOOT_OUTCOME_REFUSED, why);
        return STEP_GO_ON;
    }
    w->call = call;
    if (!work_may_call(w))
        return STEP_CALL; /* it waits for room, and nothing has begun */
    const struct reboot_try *one = open_try(w, method);
    tell_begin(w, one);
    return send(w, call, one);
}

/* A provider does nothing twice under one key. */
static bool is_sent_again(const struct work *w, const struct reboot_try *one)
{
    return one->method == REBOOT_METHOD_PROVIDER && one->accepted_at == 0 && one->detail[0] == '\0' &&
           w->scratch.reboot_sent != one->number;
}

/* --- the step -------------------------------------------------------------------------------------------------- */
static enum step_result ask_person(struct work *w)
{
    work_event(w, EVENT_LEVEL_WARN, EVENT_KIND_OPERATION_STEP, ASK_REBOOT);
    work_say(w, "a person was asked to reboot the machine");
    return STEP_SKIP;
}

static enum step_result take_next(struct work *w)
{
    struct reboot_order order;
    read_order(w, &order);
    struct policy_reboot next = policy_reboot_next(&order, w->op.tries, w->op.try_count);
    if (!next.found) {
        work_say(w, "no method rebooted the machine (%d tries)", w->op.try_count);
        return STEP_FAIL;
    }
    if (next.at > w->now) {
        work_say(w, "tries %s again soon", reboot_method_words(next.method));
        work_due(w, next.at);
        return STEP_WAIT;
    }
    if (next.method == REBOOT_METHOD_PROVIDER && work_by_person(w))
        return ask_person(w);
    return begin(w, next.method);
}

/* The last sign of life of the boot that is to end. */
static int64_t last_heard(const struct work *w)
{
    struct fleet_view live;
    bool known = fleet_get(w->r->service->fleet, w->node->id, &live) == 0;
    return known && text_equal(live.slot.boot_id, w->op.old_boot) ? live.last_heartbeat_at : 0;
}

static enum step_result watch(struct work *w, struct reboot_try *one)
{
    if (one->method == REBOOT_METHOD_AGENT && hear_agent(w, one) == STEP_GO_ON)
        return STEP_GO_ON;
    const struct loop_settings *settings = &w->node->group->settings;
    int64_t stuck_ms = settings->reboot_stuck_ms; /* an agent lives on while it waits */
    if (one->method == REBOOT_METHOD_AGENT)
        stuck_ms += settings->reboot_delay_ms;
    enum reboot_outcome outcome = policy_reboot_judge(one, w->now, last_heard(w), stuck_ms);
    if (outcome != REBOOT_OUTCOME_RUNNING) {
        bool stuck = w->now < one->deadline_at;
        close_try(w, one, outcome, stuck ? "the machine does not go down" : "");
        return STEP_GO_ON;
    }
    if (is_sent_again(w, one)) {
        struct rcall *call = call_for(w, one->method);
        w->call = call;
        if (call != NULL)
            return work_may_call(w) ? send(w, call, one) : STEP_CALL;
    }
    work_say(w, "%s %s (try %d); waits for a new boot", one->accepted_at > 0 ? "accepted by" : "asked",
             reboot_method_words(one->method), one->number);
    work_due(w, one->deadline_at);
    work_due(w, w->now + settings->retry_max_ms);
    return STEP_WAIT;
}

/* While hpd was away nobody could tell of another boot: a machine that has rebooted is not to be rebooted again before its agent was heard. */
void work_methods_came_up(struct work *w)
{
    struct reboot_try *one = running(w);
    int64_t at_least = w->now + w->node->group->settings.backend_deadline_ms;
    if (one == NULL || one->deadline_at >= at_least)
        return;
    one->deadline_at = at_least;
    store(w, one);
}

enum step_result work_methods_run(struct work *w)
{
    struct reboot_try *one = running(w);
    if (is_rebooted(w))
        return rebooted(w);
    return one != NULL ? watch(w, one) : take_next(w);
}

static enum reboot_outcome outcome_of(int status)
{
    return status == STATUS_UNAVAILABLE ? REBOOT_OUTCOME_UNREACHABLE : REBOOT_OUTCOME_REFUSED;
}

enum step_result work_methods_answer(struct work *w, const struct rcall *call)
{
    char key[KEY_MAX_BYTES] = "";
    struct reboot_try *one = running(w);
    if (one != NULL)
        write_key(w, one, key);
    if (one == NULL || call->kind != CALL_REBOOT || !text_equal(call->key, key))
        return STEP_GO_ON;
    if (call->status == STATUS_TIMEOUT) {
        work_say_error(w, call); /* it may have been accepted: the new boot is waited for */
        text_copy_cut(one->detail, sizeof(one->detail), w->detail);
    } else if (call->status != 0) {
        work_say_error(w, call);
        char why[REBOOT_DETAIL_MAX_BYTES];
        text_copy_cut(why, sizeof(why), w->detail);
        close_try(w, one, outcome_of(call->status), why);
        return STEP_GO_ON;
    } else {
        one->accepted_at = w->now;
        text_copy_cut(one->detail, sizeof(one->detail), call->error);
    }
    store(w, one);
    return STEP_GO_ON;
}
