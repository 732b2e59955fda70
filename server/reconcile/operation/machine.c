/*
 * The steps that change machines: reboot, terminate, launch, forget.
 *
 * Each call goes out under a key that is derived from the operation, and what it is about to do stands in the store before:
 * so a call that is repeated after a crash, or after its answer was lost, has no second effect.
 *
 * Machines in a person's hands are not called for: what is to be done is said once, in the timeline, and stands in the operation
 * while it is waited for.
 */
#include "base/text.h"
#include "db/node.h"
#include "db/verdict.h"
#include "server/reconcile/base/call.h"
#include "server/reconcile/base/cluster.h"
#include "server/reconcile/base/group.h"
#include "server/reconcile/base/link.h"
#include "server/reconcile/base/loop.h"
#include "server/reconcile/base/node.h"
#include "server/reconcile/base/record.h"
#include "server/reconcile/keep/address.h"
#include "server/reconcile/operation/capacity.h"
#include "server/reconcile/operation/reboot.h"
#include "server/reconcile/operation/step.h"
#include "server/service/access/access.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int64_t backend_deadline(const struct work *w)
{
    return w->node->group->settings.backend_deadline_ms;
}

static void instance_move(struct work *w, struct instance *instance, enum instance_state to)
{
    int state = (int)instance->state;
    if (state == (int)to || !sm_may(&instance_state_machine, state, (int)to))
        return; /* the provider and the agent are the ones who know; our word comes second */
    instance->state = to;
    if (to == INSTANCE_STATE_TERMINATED)
        instance->terminated_at = w->now;
    work_did(w, db_instance_update(w->turn->tx, instance));
}

static enum step_result provider_error(struct work *w, const struct rcall *call)
{
    work_say_error(w, call);
    return reconcile_call_is_final(call->status) ? STEP_FAIL : STEP_RETRY;
}

/* --- reboot ------------------------------------------------------------------------------------ */
/* We touch nothing, so the step is none of ours: the operation can be cancelled for as long as join waits. */
static enum step_result ask_reboot(struct work *w)
{
    work_event(w, EVENT_LEVEL_WARN, EVENT_KIND_OPERATION_STEP, ASK_REBOOT);
    work_say(w, "a person was asked to reboot the machine");
    return STEP_SKIP;
}

static enum step_result reboot_enter(struct work *w)
{
    if (w->instance.id == 0) {
        work_say(w, "the node has no instance to reboot");
        return STEP_FAIL;
    }
    /* The boot that has to be another one afterwards. */
    text_copy_cut(w->op.old_instance, sizeof(w->op.old_instance), w->instance.instance_id);
    text_copy_cut(w->op.old_boot, sizeof(w->op.old_boot), w->instance.boot_id);
    work_operation_store(w);
    bool methods = work_reboots_by_methods(w);
    if (methods)
        w->step->deadline_at = 0; /* each method has its own */
    else if (work_by_person(w))
        return ask_reboot(w);
    instance_move(w, &w->instance, INSTANCE_STATE_REBOOTING);
    return STEP_GO_ON;
}

static enum step_result reboot_run(struct work *w)
{
    struct instance target;
    if (work_reboots_by_methods(w))
        return work_methods_run(w);
    if (!work_did(w, db_instance_get(w->turn->tx, w->op.old_instance, &target)))
        return STEP_WAIT;
    w->call = work_provider_call(w, CALL_REBOOT, &target);
    if (w->call == NULL)
        return STEP_FAIL;
    snprintf(w->call->key, sizeof(w->call->key), "reboot/%s", w->op.uid);
    return STEP_CALL;
}

static enum step_result reboot_answer(struct work *w, const struct rcall *call)
{
    if (w->op.try_count > 0)
        return work_methods_answer(w, call);
    if (call->status == 0)
        return STEP_DONE;
    if (call->status != STATUS_NOT_FOUND)
        return provider_error(w, call);
    instance_move(w, &w->instance, INSTANCE_STATE_LOST);
    work_say(w, "the provider does not know the instance %s", call->instance_id);
    return STEP_FAIL;
}

const struct step_ops step_reboot = {
    .enter = reboot_enter,
    .run = reboot_run,
    .answer = reboot_answer,
    .deadline_ms = backend_deadline,
};

/* --- terminate --------------------------------------------------------------------------------- */
static int take_first_alive(const void *row, void *arg)
{
    struct instance *first = arg;
    const struct instance *instance = row;
    if (instance->state == INSTANCE_STATE_TERMINATED || instance->id == first->id)
        return 0;
    *first = *instance;
    return 1;
}

/* A replacement ends the old instance; a deletion all that the slot ever had. id 0: none is left. */
static void find_target(struct work *w, struct instance *ret_instance)
{
    *ret_instance = (struct instance){0};
    if (w->op.kind == OPERATION_KIND_DELETE) {
        int status = db_instance_list(w->turn->tx, w->node->id, 0, take_first_alive, ret_instance);
        work_did(w, status < 0 ? status : 0);
        return;
    }
    int status = w->op.old_instance[0] == '\0' ? STATUS_NOT_FOUND
                                               : db_instance_get(w->turn->tx, w->op.old_instance, ret_instance);
    if (status == STATUS_NOT_FOUND || ret_instance->state == INSTANCE_STATE_TERMINATED)
        *ret_instance = (struct instance){0};
    work_did(w, status == STATUS_NOT_FOUND ? 0 : status);
}

static bool replaces(const struct work *w)
{
    return w->op.kind == OPERATION_KIND_REPLACE || w->op.kind == OPERATION_KIND_UPDATE;
}

static enum step_result terminate_enter(struct work *w)
{
    if (replaces(w) && w->instance.id != 0)
        text_copy_cut(w->op.old_instance, sizeof(w->op.old_instance), w->instance.instance_id);
    work_operation_store(w);
    return STEP_GO_ON;
}

/* Nobody fills the slot any more, and nobody may speak for it. */
static void vacate(struct work *w)
{
    w->row.instance_row = 0;
    w->instance = (struct instance){0};
    work_did(w, turn_node_write(w->turn, w->node, &w->row));
    int status = db_credential_drop(w->turn->tx, w->node->id);
    work_did(w, status == STATUS_NOT_FOUND ? 0 : status);
    work_address_leave(w);
    work_fleet(w, NULL);
}

static enum step_result terminated(struct work *w, struct instance *gone)
{
    instance_move(w, gone, INSTANCE_STATE_TERMINATING);
    instance_move(w, gone, INSTANCE_STATE_TERMINATED);
    if (w->row.instance_row == gone->id)
        vacate(w);
    return w->op.kind == OPERATION_KIND_DELETE ? STEP_GO_ON : STEP_DONE;
}

/* Its machine may well run on; nothing it reports counts from here on, and its id does not come back. */
static enum step_result ask_removal(struct work *w, struct instance *target)
{
    bool replaced = replaces(w);
    work_event(w, replaced ? EVENT_LEVEL_WARN : EVENT_LEVEL_INFO, EVENT_KIND_INSTANCE_TERMINATED,
               "instance %s was let go: %s", target->instance_id,
               replaced ? "take this machine out of use now" : "its machine and its agent may be stopped");
    if (replaced)
        work_say(w, "a person was asked to take the machine of %s out of use", target->instance_id);
    return terminated(w, target);
}

/* A node there that stands for the machine goes with it. */
static void tell_scheduler(struct work *w)
{
    const struct scheduler_link *link = work_has_scheduler(w) ? reconcile_link(w->node) : NULL;
    if (link != NULL && reconcile_link_is_usable(link) && link->driver.ops->machines != NULL)
        reconcile_call_to(w->call, reconcile_link(w->node));
}

/* What a provider that keeps its machines is told of one: whether it may be used again as it is. */
static struct rcall *let_go(struct work *w, const struct instance *target, bool broken, const char *why)
{
    struct rcall *call = work_provider_call(w, CALL_TERMINATE, target);
    if (call == NULL)
        return NULL;
    call->broken = broken;
    call->fault = broken && w->op.cause == OPERATION_CAUSE_FAULT;
    text_copy_cut(call->why, sizeof(call->why), why);
    snprintf(call->key, sizeof(call->key), "terminate/%s", target->instance_id);
    return call;
}

/* A machine that is replaced counts as broken, whoever asked for it; any other only with an open fault. */
static bool is_broken(struct work *w)
{
    return w->op.kind == OPERATION_KIND_REPLACE || work_open_critical(w, false) > 0;
}

static enum step_result terminate_run(struct work *w)
{
    struct instance target;
    find_target(w, &target);
    if (target.id == 0)
        return STEP_DONE;
    if (work_by_person(w))
        return ask_removal(w, &target);
    instance_move(w, &target, INSTANCE_STATE_TERMINATING);
    w->call = let_go(w, &target, is_broken(w), w->op.reason);
    if (w->call == NULL)
        return STEP_FAIL;
    tell_scheduler(w);
    return STEP_CALL;
}

static enum step_result terminate_answer(struct work *w, const struct rcall *call)
{
    struct instance gone;
    if (call->status != 0 && call->status != STATUS_NOT_FOUND)
        return provider_error(w, call);
    if (!work_did(w, db_instance_get(w->turn->tx, call->instance_id, &gone)))
        return STEP_WAIT;
    work_event(w, EVENT_LEVEL_INFO, EVENT_KIND_INSTANCE_TERMINATED, "instance %s was terminated", gone.instance_id);
    return terminated(w, &gone);
}

const struct step_ops step_terminate = {
    .enter = terminate_enter,
    .run = terminate_run,
    .answer = terminate_answer,
    .deadline_ms = backend_deadline,
};

/* --- launch ------------------------------------------------------------------------------------ */
#define ASK_MACHINE                                                                           \
    "waits for a machine: start hp-agent on one, under a new instance id, with the token of " \
    "\"hpctl token create --cluster %s --enrollment --node %s\""

static bool has_new_machine(const struct work *w)
{
    return w->instance.id != 0 && !text_equal(w->instance.instance_id, w->op.old_instance);
}

static enum step_result launch_enter(struct work *w)
{
    if (!work_by_person(w)) {
        work_move(w, NODE_STATE_STARTING, "a new instance was asked for");
        return STEP_GO_ON;
    }
    work_move(w, NODE_STATE_STARTING, "a person was asked for a machine");
    if (!has_new_machine(w))
        work_event(w, EVENT_LEVEL_WARN, EVENT_KIND_OPERATION_STEP, ASK_MACHINE, w->node->group->cluster->name,
                   w->node->name);
    return STEP_GO_ON;
}

/* What the group wants now: a repair in the middle of a software update gets the new image. */
static void take_image(const struct work *w, struct instance *instance)
{
    const struct instance_group *wanted = &w->node->group->row;
    text_copy_cut(instance->image_id, sizeof(instance->image_id), wanted->image_id);
    text_copy_cut(instance->release, sizeof(instance->release), wanted->release);
}

/* Whoever enrolled for the slot is the instance. */
static enum step_result launch_by_person(struct work *w)
{
    if (!has_new_machine(w)) {
        work_say(w, ASK_MACHINE, w->node->group->cluster->name, w->node->name);
        return STEP_WAIT;
    }
    text_copy_cut(w->op.new_instance, sizeof(w->op.new_instance), w->instance.instance_id);
    work_operation_store(w);
    take_image(w, &w->instance); /* it was asked for, and people are believed */
    work_did(w, db_instance_update(w->turn->tx, &w->instance));
    work_fleet(w, &w->instance);
    work_event(w, EVENT_LEVEL_INFO, EVENT_KIND_INSTANCE_LAUNCHED, "instance %s enrolled and fills the slot",
               w->instance.instance_id);
    return STEP_DONE;
}

/* People take the time they need. */
static int64_t launch_deadline(const struct work *w)
{
    return work_by_person(w) ? 0 : backend_deadline(w);
}

/* The instance of this operation: made once, found again on every repeat. */
static void ensure_instance(struct work *w)
{
    char key[KEY_MAX_BYTES];
    struct instance instance;
    snprintf(key, sizeof(key), "launch/%s", w->op.uid);
    int status = db_instance_by_key(w->turn->tx, key, &instance);
    if (status == STATUS_NOT_FOUND) {
        instance = (struct instance){.node_id = w->node->id, .state = INSTANCE_STATE_LAUNCHING, .launched_at = w->now};
        take_image(w, &instance);
        id_instance(w->r->service->ids, instance.instance_id);
        text_copy_cut(instance.launch_key, sizeof(instance.launch_key), key);
        status = db_instance_insert(w->turn->tx, &instance);
    }
    if (!work_did(w, status))
        return;
    w->instance = instance;
    if (w->row.instance_row == instance.id)
        return;
    status = db_credential_drop(w->turn->tx, w->node->id);
    work_did(w, status == STATUS_NOT_FOUND ? 0 : status);
    w->row.instance_row = instance.id;
    work_did(w, turn_node_write(w->turn, w->node, &w->row));
    text_copy_cut(w->op.new_instance, sizeof(w->op.new_instance), instance.instance_id);
    work_operation_store(w);
    work_fleet(w, &instance);
}

/* A token for this one instance. Only its hash is kept, so every attempt makes another; all of them soon expire. */
static void make_token(struct work *w, char ret_text[SERVICE_TOKEN_TEXT_MAX])
{
    char secret[ID_SECRET_MAX];
    struct token token = {.kind = TOKEN_KIND_ENROLLMENT,
                          .cluster_id = w->row.cluster_id,
                          .node_id = w->node->id,
                          .created_at = w->now,
                          .expires_at = w->now + w->node->group->settings.enrollment_ttl_ms};
    id_uuid(w->r->service->ids, token.uid);
    id_secret(w->r->service->ids, secret);
    id_sha256(secret, strlen(secret), token.hash);
    text_copy_cut(token.name, sizeof(token.name), w->instance.instance_id);
    text_copy_cut(token.instance_id, sizeof(token.instance_id), w->instance.instance_id);
    snprintf(ret_text, SERVICE_TOKEN_TEXT_MAX, "hfe_%s", secret);
    work_did(w, db_token_insert(w->turn->tx, &token));
}

/* What an earlier try left is ended first: a slot has one machine. */
static enum step_result end_leftover(struct work *w)
{
    struct instance left = {.id = w->instance.id};
    int status = db_instance_list(w->turn->tx, w->node->id, 0, take_first_alive, &left);
    if (!work_did(w, status < 0 ? status : 0))
        return STEP_WAIT;
    if (left.id == w->instance.id)
        return STEP_GO_ON;
    w->call = let_go(w, &left, true, "it was launched and did not come up");
    if (w->call == NULL)
        return STEP_FAIL;
    w->call->fault = false; /* an image or a script may be why: no fault of the machine was seen */
    instance_move(w, &left, INSTANCE_STATE_TERMINATING);
    return STEP_CALL;
}

static enum step_result launch_run(struct work *w)
{
    if (work_by_person(w))
        return launch_by_person(w);
    if (work_machine_capacity_waits(w))
        return STEP_WAIT;
    ensure_instance(w);
    enum step_result result = w->status != 0 ? STEP_WAIT : end_leftover(w);
    if (result != STEP_GO_ON)
        return result;
    w->call = work_provider_call(w, CALL_LAUNCH, &w->instance);
    if (w->call == NULL)
        return STEP_FAIL;
    make_token(w, w->call->token);
    text_copy_cut(w->call->key, sizeof(w->call->key), w->instance.launch_key);
    text_copy_cut(w->call->image_id, sizeof(w->call->image_id), w->instance.image_id);
    text_copy_cut(w->call->release, sizeof(w->call->release), w->instance.release);
    text_copy_cut(w->call->zone, sizeof(w->call->zone), w->row.zone);
    w->call->update_address = true;
    if (work_has_scheduler(w))
        reconcile_call_to(w->call, reconcile_link(w->node));
    return STEP_CALL;
}

static enum step_result leftover_ended(struct work *w, const struct rcall *call)
{
    struct instance gone;
    if (call->status != 0 && call->status != STATUS_NOT_FOUND)
        return provider_error(w, call);
    if (!work_did(w, db_instance_get(w->turn->tx, call->instance_id, &gone)))
        return STEP_WAIT;
    instance_move(w, &gone, INSTANCE_STATE_TERMINATING);
    instance_move(w, &gone, INSTANCE_STATE_TERMINATED);
    work_event(w, EVENT_LEVEL_INFO, EVENT_KIND_INSTANCE_TERMINATED, "instance %s was terminated", gone.instance_id);
    return STEP_GO_ON;
}

/* A provider may name its machine itself. */
static void keep_ref(struct work *w, const struct rcall *call)
{
    const char *made = call->instance.ref;
    if (made[0] == '\0' || text_equal(made, call->instance_id) || text_equal(made, w->instance.provider_ref) ||
        !text_equal(w->instance.instance_id, call->instance_id))
        return;
    text_copy_cut(w->instance.provider_ref, sizeof(w->instance.provider_ref), made);
    work_did(w, db_instance_update(w->turn->tx, &w->instance));
}

static enum step_result launch_answer(struct work *w, const struct rcall *call)
{
    if (call->kind == CALL_TERMINATE)
        return leftover_ended(w, call);
    if (call->status == STATUS_FULL)
        work_machine_capacity_short(w, call->error[0] != '\0' ? call->error : status_meaning(call->status));
    if (call->status != 0)
        return provider_error(w, call);
    work_machine_capacity_launched(w);
    keep_ref(w, call);
    w->scratch.addressed = call->addressed;
    work_address_told(w, call);
    work_event(w, EVENT_LEVEL_INFO, EVENT_KIND_INSTANCE_LAUNCHED, "instance %s was launched%s%s", call->instance_id,
               w->instance.provider_ref[0] != '\0' ? ": " : "", w->instance.provider_ref);
    return STEP_DONE;
}

const struct step_ops step_launch = {
    .enter = launch_enter,
    .run = launch_run,
    .answer = launch_answer,
    .deadline_ms = launch_deadline,
};

/* --- forget ------------------------------------------------------------------------------------ */
static enum step_result forget_run(struct work *w)
{
    work_did(w, db_verdict_resolve(w->turn->tx, w->node->id, 0, NULL));
    vacate(w);
    work_move(w, NODE_STATE_DELETED, "");
    return STEP_DONE;
}

static enum step_result forget_answer(struct work *w, const struct rcall *call)
{
    (void)w, (void)call;
    return STEP_GO_ON;
}

const struct step_ops step_forget = {.run = forget_run, .answer = forget_answer};
