/*
 * The step prepare: the instance runs its group's lifecycle scripts before it may take work.
 *
 * The agent is asked through the agent tasks, with every heartbeat, until it has said its last word; what it says stands in the
 * timeline as it comes (service/agent/lifecycle.c). A restart of hpd asks again under the same key, and the agent, which keeps on disk
 * what it did, repeats its word without running anything again.
 *
 * A release has the step for the machine that was launched and never got through its scripts: it has to before it may take
 * work, whoever gives it back. The agent runs what had not succeeded.
 */
#include "base/text.h"
#include "db/cluster.h"
#include "db/node.h"
#include "db/operation.h"
#include "server/reconcile/base/group.h"
#include "server/reconcile/base/loop.h"
#include "server/reconcile/base/node.h"
#include "server/reconcile/base/record.h"
#include "server/reconcile/operation/step.h"
#include "server/reconcile/operation/task.h"
#include "server/service/agent/agent.h"

#include <inttypes.h>

static int64_t prepare_deadline(const struct work *w)
{
    return w->node->group->settings.prepare_deadline_ms;
}

/* NOT_FOUND: the group wants no script. */
static int read_job(struct work *w, struct lifecycle_job *ret_job)
{
    const struct loop_settings *settings = &w->node->group->settings;
    AUTO(group_spec) struct group_spec spec = {0};
    int status = db_group_spec_get(w->turn->tx, w->row.group_id, &spec);
    if (status == 0)
        status = lifecycle_spec_read(&spec.lifecycle, ret_job);
    if (status != 0)
        return status;
    text_copy_cut(ret_job->key, sizeof(ret_job->key), w->op.uid);
    text_copy_cut(ret_job->instance_id, sizeof(ret_job->instance_id), w->instance.instance_id);
    ret_job->time_limit_ms = settings->script_limit_ms;
    ret_job->attempts_max = settings->script_attempts_max;
    return 0;
}

static int take_word(const void *row, void *arg)
{
    enum policy_scripts *word = arg;
    *word = policy_scripts_after(row);
    return *word == POLICY_SCRIPTS_UNKNOWN ? 0 : 1;
}

/* Of what is not remembered any more nothing is held against the machine. */
static bool is_prepared(struct work *w)
{
    enum policy_scripts word = POLICY_SCRIPTS_UNKNOWN;
    const struct db_operation_filter earlier = {.node_id = w->node->id, .state = -1, .before_id = w->op.id};
    int status = db_operation_list(w->turn->tx, &earlier, take_word, &word);
    return work_did(w, status < 0 ? status : 0) && word != POLICY_SCRIPTS_AHEAD;
}

/* A machine takes no work before its scripts, and whether there are any is not known. */
static enum step_result say_unreadable(struct work *w)
{
    work_say(w, "the stored description of the group cannot be read, so its lifecycle scripts are not known");
    return STEP_RETRY;
}

static enum step_result prepare_enter(struct work *w)
{
    if (w->op.kind == OPERATION_KIND_RELEASE && is_prepared(w))
        return STEP_SKIP;
    struct lifecycle_job job;
    int status = read_job(w, &job);
    if (status == STATUS_NOT_FOUND)
        return STEP_SKIP;
    if (status == STATUS_UNREADABLE)
        return say_unreadable(w);
    if (!work_did(w, status))
        return STEP_WAIT;
    static const char *const parts[] = {[LIFECYCLE_SOURCE] = "the source",
                                        [LIFECYCLE_ON_CREATE] = "the first script",
                                        [LIFECYCLE_ON_INIT_COMPLETE] = "the second script"};
    enum lifecycle_part part;
    const char *refusal = service_lifecycle_refusal(&job, &part);
    if (refusal == NULL)
        return STEP_GO_ON;
    work_say(w, "the group's lifecycle scripts cannot be run: %s: %s", parts[part], refusal);
    return STEP_FAIL;
}

static enum step_result ask(struct work *w)
{
    struct lifecycle_job job;
    int status = read_job(w, &job);
    if (status == STATUS_NOT_FOUND) {
        work_say(w, "the group has no lifecycle scripts any more");
        return STEP_SKIP;
    }
    if (status == STATUS_UNREADABLE)
        return say_unreadable(w);
    if (work_did(w, status))
        work_task_scripts(w, &job);
    return STEP_WAIT;
}

static enum step_result judge(struct work *w, const struct lifecycle_report *report)
{
    if (!report->final) {
        work_say(w, "lifecycle script %s: %s, attempt %" PRId64, report->script, script_state_text(report->state),
                 report->attempt);
        return STEP_WAIT;
    }
    work_task_drop(w);
    if (report->state == SCRIPT_STATE_SUCCEEDED) {
        work_say(w, "the lifecycle scripts succeeded");
        return STEP_DONE;
    }
    work_say(w, "lifecycle script failed: %s", report->detail);
    return STEP_FAIL;
}

/* --- where the others are ------------------------------------------------------------------------------ */

/* Scripts of workers start Slurm's daemon with the controller's address; without it they go on with none, and "succeed". */
#define CONTROLLER_WAIT_MS (10 * MS_PER_MIN)
/* What scripts read of other groups, such as who serves logins or files: a group without capacity must not hold up the rest for long. */
#define OTHERS_WAIT_MS (2 * MS_PER_MIN)
/* An agent that has been heard for so long and told no address will not tell one: it knows only one that is good on its machine. */
#define ADDRESS_UNTOLD_MS (15 * MS_PER_S)
#define ADDRESS_LOOK_MS (2 * MS_PER_S)

struct missing {
    struct work *w;
    char group
        [NAME_MAX_BYTES]; /* of which no address is known; of several the one that is waited for longest; "": none */
    bool group_heard;     /* an agent of it is */
    int64_t wait_ms;      /* for that group */
    bool has_address, has_machine, heard; /* of the group that is looked at */
};

static int see_node(const void *found, void *arg)
{
    const struct db_node_row *row = found;
    struct missing *missing = arg;
    struct fleet_view live;
    if (row->instance.id == 0)
        return 0;
    missing->has_machine = true;
    missing->has_address = missing->has_address || row->instance.address[0] != '\0';
    missing->heard = missing->heard ||
                     (fleet_get(missing->w->r->service->fleet, row->node.id, &live) == 0 && live.last_heartbeat_at > 0);
    return 0;
}

static int see_group(const void *found, void *arg)
{
    const struct instance_group *group = found;
    struct missing *missing = arg;
    struct db_tx *tx = missing->w->turn->tx;
    AUTO(group_spec) struct group_spec spec = {0};
    if (group->id == missing->w->row.group_id || group->desired == 0)
        return 0;
    int status = db_group_spec_get(tx, group->id, &spec);
    if (status == STATUS_UNREADABLE)
        return 0;
    bool is_controller = status == 0 && group_spec_role(&spec) == SLURM_ROLE_CONTROLLER;
    const struct db_node_filter filter = {
        .cluster_id = group->cluster_id, .group_id = group->id, .state = -1, .health = -1};
    missing->has_address = missing->has_machine = missing->heard = false;
    status = status == 0 ? db_node_list(tx, &filter, see_node, missing) : status;
    if (status != 0 || missing->has_address || (!is_controller && !missing->has_machine))
        return status;
    int64_t wait_ms = missing->heard ? ADDRESS_UNTOLD_MS : is_controller ? CONTROLLER_WAIT_MS : OTHERS_WAIT_MS;
    if (wait_ms > missing->wait_ms) { /* the group that is waited for longest is named */
        text_copy_cut(missing->group, sizeof(missing->group), group->name);
        missing->wait_ms = wait_ms;
        missing->group_heard = missing->heard;
    }
    return 0;
}

/* False: later. What is not known in time is told, once. */
static bool may_begin(struct work *w)
{
    struct missing missing = {.w = w};
    if (!work_did(w, db_group_list(w->turn->tx, w->row.cluster_id, see_group, &missing)))
        return false;
    if (missing.group[0] == '\0')
        return true;
    const int64_t half_ms = prepare_deadline(w) / 2;
    if (w->now - w->step->started_at < (half_ms < missing.wait_ms ? half_ms : missing.wait_ms)) {
        work_say(w, "waits for an address of the group %s, which resource_config.json has to have", missing.group);
        return false;
    }
    if (missing.group_heard)
        work_event(
            w, EVENT_LEVEL_WARN, EVENT_KIND_LIFECYCLE_SCRIPT,
            "Agents of the group %s report no address: resource_config.json has none. Set hp-agent --address there.",
            missing.group);
    else
        work_event(w, EVENT_LEVEL_WARN, EVENT_KIND_LIFECYCLE_SCRIPT,
                   "No address of the group %s is known: resource_config.json has none. No agent of it is connected.",
                   missing.group);
    return true;
}

static void say_what_lacks(struct work *w)
{
    struct fleet_view live;
    bool able = fleet_get(w->r->service->fleet, w->node->id, &live) == 0 && live.last_heartbeat_at > 0 &&
                (live.checks & FLEET_RUNS_LIFECYCLE) != 0;
    work_say(w, "%s", able ? "waits for the agent to begin" : "waits for an agent that knows lifecycle scripts");
}

static enum step_result prepare_run(struct work *w)
{
    struct lifecycle_report report;
    bool asked;
    enum step_result result = STEP_WAIT;
    if (agent_tasks_last(fleet_agent_tasks(w->r->service->fleet), w->node->id, w->op.uid, &report, &asked))
        return judge(w, &report);
    if (!asked && !may_begin(w)) {
        work_due(w, w->now + ADDRESS_LOOK_MS);
        return STEP_WAIT;
    }
    if (!asked)
        result = ask(w);
    if (result == STEP_WAIT)
        say_what_lacks(w);
    work_due(w, w->now + w->node->group->settings.retry_max_ms);
    return result;
}

static enum step_result prepare_answer(struct work *w, const struct rcall *call)
{
    (void)w, (void)call;
    return STEP_GO_ON;
}

const struct step_ops step_prepare = {
    .enter = prepare_enter,
    .run = prepare_run,
    .answer = prepare_answer,
    .deadline_ms = prepare_deadline,
};
