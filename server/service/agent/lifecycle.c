/*
 * Lifecycle scripts, and the agent's side of a reset: which ones a group wants, what their instance is given to read, and what its agent says of them.
 *
 * A report is a line of the timeline, once: whoever repeats one, because its answer was lost or because hpd asks again after a
 * restart, adds nothing. An agent that says more than there can be adds nothing either.
 */
#include "db/report.h"
#include "server/service/agent/agent.h"
#include "server/service/private.h"

#include "base/json.h"
#include "base/text.h"
#include "db/event.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Of an operation. Two scripts of 20 attempts have 82; an agent that has more to say is not to be trusted. */
#define REPORTS_MAX 128

/* --- what a group wants ---------------------------------------------------------------------------- */

const char *service_lifecycle_refusal(const struct lifecycle_job *job, enum lifecycle_part *ret_part)
{
    *ret_part = LIFECYCLE_SOURCE;
    if (job->source[0] == '\0')
        return "there are scripts to run, and nothing says where they are";
    if (!text_starts_with(job->source, "https://") && !text_starts_with(job->source, "s3://") &&
        !text_starts_with(job->source, "file:///"))
        return "it must be https://…, s3://… or file:///…";
    for (int i = 0; i < LIFECYCLE_SCRIPTS_MAX; i++) {
        *ret_part = i == 0 ? LIFECYCLE_ON_CREATE : LIFECYCLE_ON_INIT_COMPLETE;
        if (job->scripts[i][0] != '\0' && !lifecycle_is_script_name(job->scripts[i]))
            return "it must name a file below the source of the scripts";
    }
    return NULL;
}

/* --- the order ------------------------------------------------------------------------------------- */

static int nothing_to_do(struct problem *problem)
{
    return problem_say(problem, STATUS_NOT_FOUND, PROBLEM_NOT_FOUND, "This instance is asked to do nothing.");
}

int service_agent_work(struct service *s, int64_t node_id, const char *peer, struct lifecycle_job *ret_job,
                       char **ret_resources, struct problem *ret_problem)
{
    struct lifecycle_job job;
    struct instance instance;
    autofree char *resources = NULL;
    if (agent_tasks_get(fleet_agent_tasks(s->fleet), node_id, &job) != 0)
        return nothing_to_do(ret_problem);
    int status = resources_read(s, node_id, peer, &instance, &resources, ret_problem);
    if (status < 0)
        return status;
    if (!text_equal(job.instance_id, instance.instance_id))
        return nothing_to_do(ret_problem);
    if (!memory_resources_enter(s->memory, strlen(resources)))
        return problem_say(ret_problem, STATUS_UNAVAILABLE, PROBLEM_UNAVAILABLE,
                           "Many instances fetch their work at once. Try again in a few seconds.");
    *ret_job = job;
    *ret_resources = TAKE(resources);
    return 0;
}

int service_agent_reset(struct service *s, int64_t node_id, struct reset_job *ret_job)
{
    return agent_tasks_get_reset(fleet_agent_tasks(s->fleet), node_id, ret_job);
}

int service_agent_reboot(struct service *s, int64_t node_id, struct reboot_job *ret_job)
{
    return agent_tasks_get_reboot(fleet_agent_tasks(s->fleet), node_id, ret_job);
}

void service_agent_work_sent(struct service *s, size_t resources_bytes)
{
    memory_resources_leave(s->memory, resources_bytes);
}

/* --- reports --------------------------------------------------------------------------------------- */

struct reporting {
    struct service *s;
    int64_t node_id;
    const struct lifecycle_report *report;
    const char *log;
    char message[SENTENCE_MAX_BYTES]; /* of the event, */
    enum event_kind kind;             /* and what it is */
    bool added;
    struct problem *problem;
};

/* The detail, and as much of the log's end as there is room for. */
static void write_failure(const struct reporting *reporting, char *ret_text, size_t size)
{
    const char *log = reporting->log;
    size_t room = size - strlen(reporting->report->detail) - strlen("; last lines: ") - 1;
    if (log[0] == '\0' || room > size) {
        say_cut(ret_text, size, "%s", reporting->report->detail);
        return;
    }
    if (strlen(log) > room) {
        log += strlen(log) - room;
        while ((*log & 0xc0) == 0x80) /* not in the middle of a character */
            log++;
    }
    say_cut(ret_text, size, "%s; last lines: %s", reporting->report->detail, log);
}

static enum event_level level_of(const struct lifecycle_report *report)
{
    if (report->state != SCRIPT_STATE_FAILED)
        return EVENT_LEVEL_INFO;
    return report->final ? EVENT_LEVEL_ERROR : EVENT_LEVEL_WARN;
}

static int report_event(struct db_tx *tx, const struct reporting *reporting, const struct place *place,
                        const struct operation *operation)
{
    static const char *const states[] = {
        [SCRIPT_STATE_STARTED] = "Started", [SCRIPT_STATE_SUCCEEDED] = "Succeeded", [SCRIPT_STATE_FAILED] = "Failed"};
    const struct lifecycle_report *report = reporting->report;
    struct event event = {.level = level_of(report), .kind = reporting->kind};
    if (reporting->kind != EVENT_KIND_LIFECYCLE_SCRIPT)
        return place_event_add(tx, place, operation, &event, reporting->message);
    say_cut(event.script_state, sizeof(event.script_state), "%s", states[report->state]);
    if (report->state == SCRIPT_STATE_FAILED)
        write_failure(reporting, event.failure, sizeof(event.failure));
    return place_event_add(tx, place, operation, &event, reporting->message);
}

static void write_message(struct reporting *reporting, const struct operation *operation)
{
    const struct lifecycle_report *report = reporting->report;
    char *text = reporting->message;
    const size_t size = sizeof(reporting->message);
    reporting->kind = operation->kind == OPERATION_KIND_RESET ? EVENT_KIND_DEVICE_RESET : EVENT_KIND_LIFECYCLE_SCRIPT;
    if (reporting->kind == EVENT_KIND_DEVICE_RESET)
        say_cut(text, size, "reset of %s %s%s%s", operation->device, script_state_text(report->state),
                report->detail[0] != '\0' ? ": " : "", report->detail);
    else if (report->script[0] == '\0')
        say_cut(text, size, "lifecycle scripts %s", script_state_text(report->state));
    else
        say_cut(text, size, "lifecycle script %s %s, attempt %" PRId64, report->script,
                script_state_text(report->state), report->attempt);
}

/* Whoever reads the timeline sees that it ends here, and why. */
static void say_last(struct reporting *reporting)
{
    autofree char *text = own_printf("%s; this is report %d of the operation, further reports are not written down",
                                     reporting->message, REPORTS_MAX);
    say_cut(reporting->message, sizeof(reporting->message), "%s", text);
}

/* Of a reboot each try has its own. */
static bool is_key_of(const struct operation *operation, const char *key)
{
    size_t len = strlen(operation->uid);
    return strncmp(operation->uid, key, len) == 0 && (key[len] == '\0' || key[len] == '/');
}

static int report_write(struct db_tx *tx, void *arg)
{
    struct reporting *reporting = arg;
    struct operation operation;
    struct place place;
    int64_t reports;
    reporting->added = false;
    int status = place_find_row(tx, reporting->node_id, &place);
    if (status == 0)
        status = db_operation_active(tx, reporting->node_id, &operation);
    if (status == STATUS_NOT_FOUND || (status == 0 && !is_key_of(&operation, reporting->report->key)))
        return problem_say(reporting->problem, STATUS_STALE, PROBLEM_STALE_REPORT,
                           "This instance is no longer asked to do that. Stop.");
    if (status == 0)
        status = db_operation_report_count(tx, operation.id, &reports);
    if (status < 0 || reports >= REPORTS_MAX)
        return status;
    status = db_operation_report_add(tx, operation.id, reporting->report, service_now(reporting->s));
    if (status < 0)
        return status == STATUS_EXISTS ? 0 : status;
    if (operation.kind == OPERATION_KIND_REBOOT)
        return 0; /* the loop says what came of each try */
    write_message(reporting, &operation);
    if (reports == REPORTS_MAX - 1)
        say_last(reporting);
    reporting->added = true;
    return report_event(tx, reporting, &place, &operation);
}

int service_agent_report_work(struct service *s, int64_t node_id, const struct lifecycle_report *report,
                              const char *log, struct problem *ret_problem)
{
    struct problem unused;
    struct reporting reporting = {.s = s,
                                  .node_id = node_id,
                                  .report = report,
                                  .log = log,
                                  .problem = ret_problem != NULL ? ret_problem : &unused};
    int status = service_write(s, "agent-work", report_write, &reporting, ret_problem);
    if (status < 0)
        return status;
    struct lifecycle_report heard = *report;
    int64_t now = service_now(s);
    heard.ended_at = report->ended_at > 0 ? service_agent_time(report->ended_at, report->sent_at, now) : now;
    (void)agent_tasks_report(fleet_agent_tasks(s->fleet), node_id, &heard);
    service_agent_changed(s, node_id);
    if (reporting.added)
        service_events_added(s);
    return 0;
}
