/*
 * The step reset: the agent resets one device, which the operation names, while no job is on the node.
 *
 * The agent is asked through the agent tasks, with every heartbeat, until it has said its last word. It keeps on disk that it began and
 * what came of it: a restart of hpd, of the agent or of both asks again under the same key, and nothing is reset twice.
 *
 * A reset changes neither boot nor instance, so what was seen of the device before is told apart by what is in the store: when it
 * has succeeded, the device's open verdicts are resolved that were last seen before it ended, and when that was is kept, as such evidence may
 * come later, or again. What is seen of it after that counts, also what was in store before the agent's last word came, and takes the
 * node to the policy again.
 */
#include "model/reset.h"
#include "base/text.h"
#include "db/hardware.h"
#include "db/verdict.h"
#include "server/reconcile/base/group.h"
#include "server/reconcile/base/loop.h"
#include "server/reconcile/base/node.h"
#include "server/reconcile/base/record.h"
#include "server/reconcile/operation/step.h"
#include "server/reconcile/operation/task.h"

#define LAST_WORD_MS (2 * MS_PER_MIN) /* beyond the limit that the agent keeps, to hear from it what became of it */

static int64_t reset_deadline(const struct work *w)
{
    return w->node->group->settings.reset_limit_ms + LAST_WORD_MS;
}

static bool is_same_boot(const struct work *w)
{
    return text_equal(w->instance.instance_id, w->op.old_instance) && text_equal(w->instance.boot_id, w->op.old_boot);
}

static enum step_result reset_enter(struct work *w)
{
    if (w->instance.id != 0 && w->op.device[0] != '\0')
        return STEP_GO_ON;
    work_say(w, "%s", w->instance.id == 0 ? "the node has no instance" : "no device is named that could be reset");
    return STEP_FAIL;
}

/* --- what it cleared ------------------------------------------------------------------------------------------- */

struct cleared_by_reset {
    struct work *w;
    struct hardware *pieces; /* owned */
    size_t piece_count;
    struct verdict *verdicts; /* owned */
    size_t count;
};

static int take_piece(const void *row, void *arg)
{
    struct cleared_by_reset *cleared_by_reset = arg;
    cleared_by_reset->pieces =
        own_realloc(cleared_by_reset->pieces, cleared_by_reset->piece_count + 1, sizeof(*cleared_by_reset->pieces));
    cleared_by_reset->pieces[cleared_by_reset->piece_count++] = *(const struct hardware *)row;
    return 0;
}

static bool is_of_device(const struct cleared_by_reset *cleared_by_reset, const char *device)
{
    const struct hardware *piece =
        hardware_find(cleared_by_reset->pieces, cleared_by_reset->piece_count, cleared_by_reset->w->op.device);
    return text_equal(device, cleared_by_reset->w->op.device) ||
           (piece != NULL && hardware_find(cleared_by_reset->pieces, cleared_by_reset->piece_count, device) == piece);
}

static int take_verdict(const void *row, void *arg)
{
    struct cleared_by_reset *cleared_by_reset = arg;
    const struct verdict *verdict = row;
    if (verdict->last_at > cleared_by_reset->w->op.cleared_by_reset_at ||
        !is_of_device(cleared_by_reset, verdict->device))
        return 0;
    cleared_by_reset->verdicts =
        own_realloc(cleared_by_reset->verdicts, cleared_by_reset->count + 1, sizeof(*cleared_by_reset->verdicts));
    cleared_by_reset->verdicts[cleared_by_reset->count++] = *verdict;
    return 0;
}

/* What other devices have stays open. */
void work_resolve_cleared_by_reset(struct work *w)
{
    const struct db_verdict_filter open = {.node_id = w->node->id, .state = VERDICT_STATE_OPEN};
    struct cleared_by_reset cleared_by_reset = {.w = w};
    if (w->op.cleared_by_reset_at == 0 || !is_same_boot(w))
        return;
    int status = db_hardware_list(w->turn->tx, w->instance.id, take_piece, &cleared_by_reset);
    if (status >= 0)
        status = db_verdict_list(w->turn->tx, &open, take_verdict, &cleared_by_reset);
    work_did(w, status < 0 ? status : 0);
    for (size_t i = 0; i < cleared_by_reset.count && w->status == 0; i++) {
        cleared_by_reset.verdicts[i].id++; /* what is older than that */
        work_did(w, db_verdict_resolve_like(w->turn->tx, &cleared_by_reset.verdicts[i], NULL));
    }
    free(cleared_by_reset.pieces);
    free(cleared_by_reset.verdicts);
}

/* --- the order ------------------------------------------------------------------------------------------------ */

static enum step_result ask(struct work *w)
{
    struct fleet_view live;
    work_due(w, w->now + w->node->group->settings.retry_min_ms);
    if (fleet_get(w->r->service->fleet, w->node->id, &live) != 0 || live.last_heartbeat_at == 0) {
        work_say(w, "waits for the agent's first heartbeat");
        return STEP_WAIT;
    }
    if ((live.checks & FLEET_RESETS) == 0) {
        work_say(w, "the node's agent offers no reset");
        return STEP_FAIL;
    }
    struct reset_job job = {.time_limit_ms = w->node->group->settings.reset_limit_ms};
    text_copy_cut(job.key, sizeof(job.key), w->op.uid);
    text_copy_cut(job.instance_id, sizeof(job.instance_id), w->instance.instance_id);
    text_copy_cut(job.boot_id, sizeof(job.boot_id), w->instance.boot_id);
    text_copy_cut(job.device, sizeof(job.device), w->op.device);
    work_task_reset(w, &job);
    work_say(w, "waits for the agent to reset %s", w->op.device);
    work_due(w, w->now + w->node->group->settings.retry_max_ms);
    return STEP_WAIT;
}

static enum step_result judge(struct work *w, const struct lifecycle_report *report)
{
    if (!report->final) {
        work_say(w, "the agent resets %s", w->op.device);
        work_due(w, w->now + w->node->group->settings.retry_max_ms);
        return STEP_WAIT;
    }
    work_task_drop(w);
    if (report->state != SCRIPT_STATE_SUCCEEDED) {
        work_say(w, "%s", report->detail);
        return STEP_FAIL;
    }
    w->op.cleared_by_reset_at = report->ended_at;
    work_operation_store(w);
    work_resolve_cleared_by_reset(w);
    work_say(w, "%s was reset", w->op.device);
    return STEP_DONE;
}

static enum step_result reset_run(struct work *w)
{
    struct lifecycle_report report;
    bool asked;
    if (!is_same_boot(w)) {
        work_task_drop(w);
        work_say(w, "the machine was booted meanwhile, and its devices with it");
        return STEP_DONE;
    }
    if (agent_tasks_last(fleet_agent_tasks(w->r->service->fleet), w->node->id, w->op.uid, &report, &asked))
        return judge(w, &report);
    if (!asked)
        return ask(w);
    work_due(w, w->now + w->node->group->settings.retry_max_ms);
    return STEP_WAIT;
}

static enum step_result reset_answer(struct work *w, const struct rcall *call)
{
    (void)w, (void)call;
    return STEP_GO_ON;
}

const struct step_ops step_reset = {
    .enter = reset_enter,
    .run = reset_run,
    .answer = reset_answer,
    .deadline_ms = reset_deadline,
};
