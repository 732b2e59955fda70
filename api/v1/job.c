/* Jobs of a cluster's scheduler: listed, described with what hit their nodes, and answered when a step of theirs has failed. */
#include "server/service/job/job.h"
#include "api/page.h"
#include "api/render.h"
#include "api/v1/v1.h"
#include "base/clock.h"
#include "base/text.h"
#include "model/attempt.h"
#include "model/health.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define PROGRESS_AGO_MAX_MS (365 * MS_PER_DAY)

/* What the figures are made of, and what nobody knows. */
static const char *how_counted(const struct job_goodput *goodput)
{
    if (!goodput->by_runs)
        return "From its attempts: what follows an attempt's last known use is lost, until the next one begins.";
    if (goodput->asked)
        return "From its starts: it tells of no progress, so all of a start that was cut short may be lost, or, where "
               "it was asked "
               "to checkpoint, what followed that, if it did; what checkpoints of its own kept is not known.";
    return "From its starts: it tells of no progress, so all of a start that was cut short may be lost; what "
           "checkpoints of "
           "its own kept is not known.";
}

/* Node-seconds, and the share of them that was productive; of a job that is known by its starts, of the time since the first. */
static json_t *render_goodput(const struct job_goodput *goodput)
{
    json_t *life = json_object();
    int64_t of_ms = goodput->allocated_ms + (goodput->by_runs ? goodput->lost_ms : 0);
    json_put_i64(life, "allocatedNodeSeconds", goodput->allocated_ms / MS_PER_S);
    json_put_i64(life, "productiveNodeSeconds", goodput->productive_ms / MS_PER_S);
    json_put_i64(life, "lostNodeSeconds", goodput->lost_ms / MS_PER_S);
    json_put_i64(life, "lostNodeSecondsAtMost", goodput->lost_max_ms / MS_PER_S);
    if (of_ms > 0)
        json_put(life, "share", json_real((double)(goodput->productive_ms * 1000 / of_ms) / 1000));
    if (goodput->by_runs) {
        json_put_i64(life, "waitedSeconds", goodput->waited_ms / MS_PER_S);
        json_put_i64(life, "startsNotSeen", goodput->starts_unseen);
    }
    json_put_text(life, "method", how_counted(goodput));
    return life;
}

static json_t *render_life(const struct service_job *job)
{
    json_t *json = render_job(job->job);
    if (job->goodput != NULL)
        json_put(json, "goodput", render_goodput(job->goodput));
    return json;
}

static int list_row(const void *row, void *arg)
{
    const struct service_job *job = row;
    struct page *page = arg;
    if (page_wants(page))
        page_add(page, render_life(job), job->job->id);
    return 0;
}

void api_job_list(struct api_call *call)
{
    struct page page;
    struct problem problem;
    page_init(&page, 'j');
    const struct api_query query[] = {PAGE_QUERY(page)};
    if (api_query(call, query, ARRAY_LEN(query)) != 0 || page_begin(call, &page, false) != 0)
        return;
    if (service_job_list(call->service, call->params[0], page.key, page_rows(&page), list_row, &page, &problem) != 0) {
        page_free(&page);
        api_problem(call, &problem);
        return;
    }
    page_reply(call, &page);
}

struct description {
    json_t *job, *faults, *repairs, *runs, *signals, *attempts;
    const char *cluster;
};

static int take_job(const struct service_job *job, void *arg)
{
    struct description *description = arg;
    description->job = render_life(job);
    return 0;
}

static int take_fault(const char *node, const struct verdict *verdict, void *arg)
{
    struct description *description = arg;
    json_t *fault = render_verdict(verdict);
    json_put_text(fault, "node", node);
    json_array_append_new(description->faults, fault);
    return 0;
}

static int take_repair(const char *node, const struct operation *operation, void *arg)
{
    struct description *description = arg;
    json_array_append_new(description->repairs, render_operation(operation, description->cluster, node));
    return 0;
}

static int take_run(const struct job_run *run, const struct run_cost *cost, void *arg)
{
    struct description *description = arg;
    json_t *json = json_object();
    json_put_i64(json, "restart", run->restart);
    json_put_text(json, "state", job_run_state_text(run));
    json_put_text(json, "nodes", run->nodes);
    json_put_i64(json, "nodeCount", run->node_count);
    json_put_time(json, "startedAt", run->started_at);
    json_put_time(json, "endedAt", run->ended_at);
    if (run->ended_at != 0)
        json_put_text(json, "why", run->why);
    if (cost->cut) {
        json_put_i64(json, "lostSecondsAtMost", cost->lost_max_ms / MS_PER_S);
        json_put_i64(json, "waitedSeconds", cost->waited_ms / MS_PER_S);
    }
    json_array_append_new(description->runs, json);
    return 0;
}

static int take_signal(const struct job_signalled *signalled, void *arg)
{
    struct description *description = arg;
    json_t *json = json_object();
    json_put_text(json, "signal", job_signal_text(signalled->signal));
    json_put_text(json, "outcome", job_asked_text(signalled->asked));
    json_put_time(json, "at", signalled->asked_at);
    json_put_text(json, "node", signalled->node);
    json_put_text(json, "operation", signalled->operation);
    json_array_append_new(description->signals, json);
    return 0;
}

static int take_attempt(const struct job_attempt *attempt, const struct attempt_cost *cost, void *arg)
{
    struct description *description = arg;
    bool runs = cost->state == ATTEMPT_STATE_RUNNING;
    json_t *json = json_object();
    json_put_i64(json, "restart", attempt->restart);
    if (attempt->step != ATTEMPT_STEP_NONE)
        json_put_i64(json, "step", attempt->step);
    json_put_i64(json, "attempt", attempt->attempt);
    json_put_text(json, "state", attempt_state_text(cost->state));
    json_put_text(json, "nodes", attempt->nodes);
    json_put_i64(json, "nodeCount", attempt->node_count);
    if (!runs) {
        json_put_i64(json, "exitCode", attempt->exit_code);
        json_put_text(json, "resumeAction", resume_action_text(attempt->action));
    }
    json_put_text(json, "reason", attempt->reason);
    json_put_time(json, "startedAt", attempt->started_at);
    json_put_time(json, "progressAt", attempt->progress_at);
    json_put_time(json, "faultAt", attempt->fault_at);
    json_put_time(json, "endedAt", attempt->ended_at);
    json_put_time(json, "waitsSince", attempt->waits_since);
    json_put_i64(json, "productiveMs", cost->productive_ms);
    if (!runs)
        json_put_i64(json, "lostMs", cost->lost_ms);
    if (!runs)
        json_put_i64(json, "lostNodeSeconds", cost->lost_ms * attempt->node_count / MS_PER_S);
    json_array_append_new(description->attempts, json);
    return 0;
}

static void drop_lists(struct description *description)
{
    json_decref(description->job);
    json_decref(description->faults);
    json_decref(description->repairs);
    json_decref(description->runs);
    json_decref(description->signals);
    json_decref(description->attempts);
}

void api_job_describe(struct api_call *call)
{
    struct problem problem;
    struct description description = {.faults = json_array(),
                                      .repairs = json_array(),
                                      .runs = json_array(),
                                      .signals = json_array(),
                                      .attempts = json_array(),
                                      .cluster = call->params[0]};
    const struct service_job_readers readers = {.job = take_job,
                                                .fault = take_fault,
                                                .repair = take_repair,
                                                .run = take_run,
                                                .signal = take_signal,
                                                .attempt = take_attempt,
                                                .arg = &description};
    int status = service_job_get(call->service, call->params[0], call->params[1], &readers, &problem);
    if (status != 0) {
        drop_lists(&description);
        api_problem(call, &problem);
        return;
    }
    json_put(description.job, "faults", description.faults);
    json_put(description.job, "repairs", description.repairs);
    json_put(description.job, "runs", description.runs);
    json_put(description.job, "signals", description.signals);
    json_put(description.job, "attempts", description.attempts);
    api_reply_json(call, 200, description.job);
}

/* --- what people ask of jobs -------------------------------------------------------------------- */

static int check_command(const char *text)
{
    enum job_command_kind kind;
    return job_command_kind_parse(text, &kind);
}

void api_job_command(struct api_call *call)
{
    struct problem problem;
    struct job_command command;
    char word[16];
    enum job_command_kind kind;
    int64_t size = 0;
    bool has_size = false;
    auto_json json_t *body = NULL;
    const struct json_field fields[] = {{.name = "command",
                                         .type = JSON_FIELD_TEXT,
                                         .required = true,
                                         .target = word,
                                         .size = sizeof word,
                                         .check = check_command,
                                         .rule = "restart, remake, suspend, resume or scale"},
                                        {.name = "size",
                                         .type = JSON_FIELD_I64,
                                         .target = &size,
                                         .min = 1,
                                         .max = JOB_REPLICAS_MAX,
                                         .ret_present = &has_size}};
    if (api_body(call, fields, ARRAY_LEN(fields), &body) != 0)
        return;
    (void)job_command_kind_parse(word, &kind); /* checked above */
    if ((kind == JOB_COMMAND_SCALE) != has_size) {
        api_problem_printf(call, PROBLEM_INVALID_VALUE, "size: %s",
                           has_size ? "only the command scale has one." : "missing. The command scale needs it.");
        return;
    }
    if (service_job_command(call->service, &call->actor, call->params[0], call->params[1], kind, size, &command,
                            &problem) != 0) {
        api_problem(call, &problem);
        return;
    }
    json_t *json = json_object();
    json_put_text(json, "job", command.job);
    json_put_text(json, "command", word);
    if (has_size)
        json_put_i64(json, "size", size);
    json_put_time(json, "askedAt", command.asked_at);
    api_reply_json(call, 202, json);
}

/* --- what a job has written ---------------------------------------------------------------------------- */

static int choose_previous(const char *text, int *ret_choice)
{
    *ret_choice = strcmp(text, "true") == 0;
    return *ret_choice || strcmp(text, "false") == 0 ? 0 : STATUS_INVALID;
}

static json_t *log_json(const struct api_call *call, int64_t rank, bool is_read, const struct job_log *log)
{
    json_t *json = json_object();
    json_put_text(json, "job", call->params[1]);
    json_put_text(json, "state", is_read ? "read" : "asked");
    json_put_i64(json, "rank", rank);
    if (!is_read)
        return json;
    json_put_text(json, "source", log->source);
    json_put_text(json, "node", log->node);
    json_put_text(json, "path", log->path);
    json_put_text(json, "lastAt", log->last);
    if (log->text != NULL)
        json_put(json, "log", json_string(log->text));
    if (log->cut)
        json_put(json, "cut", json_true());
    json_put_time(json, "readAt", log->read_at);
    return json;
}

void api_job_read_logs(struct api_call *call)
{
    struct problem problem;
    struct job_log log;
    int previous = 0;
    int64_t ms;
    bool is_read;
    struct service_job_log_ask ask = {.lines = JOB_LOG_LINES};
    const struct api_query query[] = {
        {.name = "rank", .type = API_QUERY_I64, .target = &ask.rank, .max = JOB_LOG_RANK_MAX},
        {.name = "lines", .type = API_QUERY_I64, .target = &ask.lines, .min = 1, .max = JOB_LOG_LINES_MAX},
        {.name = "previous",
         .type = API_QUERY_CHOICE,
         .target = &previous,
         .choose = choose_previous,
         .rule = "true or false"},
        {.name = "after",
         .type = API_QUERY_TEXT,
         .target = ask.after,
         .size = sizeof ask.after,
         .rule = "lastAt of an earlier reply"}};
    if (api_query(call, query, ARRAY_LEN(query)) != 0)
        return;
    if (!api_v1_time(call, "after", ask.after, &ms))
        return;
    ask.previous = previous != 0;
    if (service_job_log(call->service, &call->actor, call->params[0], call->params[1], &ask, &is_read, &log,
                        &problem) != 0) {
        api_problem(call, &problem);
        return;
    }
    json_t *json = log_json(call, ask.rank, is_read, &log);
    free(log.text);
    api_reply_json(call, is_read ? 200 : 202, json);
}

/* --- what srun's --auto-resume asks --------------------------------------------------------------------- */

static int check_state(const char *text)
{
    enum attempt_state state;
    return attempt_state_parse(text, &state);
}

static int check_line(const char *text)
{
    return text_is_line(text) ? 0 : STATUS_INVALID;
}

/* Whatever a scheduler numbers its jobs by: "82", "82_3", "82+1". */
static bool is_job_id(const char *text)
{
    for (const char *c = text; *c != '\0'; c++)
        if (!isalnum((unsigned char)*c) && strchr("_+-", *c) == NULL)
            return false;
    return text[0] != '\0';
}

static void add_broken(const char *node, const char *state, const char *why, void *arg)
{
    json_t *json = json_object();
    json_put_text(json, "node", node);
    json_put_text(json, "state", state);
    json_put_text(json, "reason", why);
    json_array_append_new(arg, json);
}

void api_job_diagnose(struct api_call *call)
{
    struct problem problem;
    struct job_attempt attempt = {.step = ATTEMPT_STEP_NONE};
    int64_t progress_ago_ms = -1;
    char state[16];
    enum resume_action action;
    auto_json json_t *body = NULL;
    const struct json_field fields[] = {
        {.name = "attempt",
         .type = JSON_FIELD_I64,
         .required = true,
         .target = &attempt.attempt,
         .max = ATTEMPT_NUMBER_MAX},
        {.name = "step", .type = JSON_FIELD_I64, .target = &attempt.step, .max = ATTEMPT_STEP_MAX},
        {.name = "progressAgoMs", .type = JSON_FIELD_I64, .target = &progress_ago_ms, .max = PROGRESS_AGO_MAX_MS},
        {.name = "restart", .type = JSON_FIELD_I64, .target = &attempt.restart, .max = ATTEMPT_NUMBER_MAX},
        {.name = "runs", .type = JSON_FIELD_I64, .target = &attempt.runs, .max = ATTEMPT_NUMBER_MAX},
        {.name = "futile", .type = JSON_FIELD_I64, .target = &attempt.futile, .max = ATTEMPT_NUMBER_MAX},
        {.name = "state",
         .type = JSON_FIELD_TEXT,
         .required = true,
         .target = state,
         .size = sizeof state,
         .check = check_state,
         .rule = "running, failed, waiting or ended"},
        {.name = "nodes",
         .type = JSON_FIELD_TEXT,
         .required = true,
         .target = attempt.nodes,
         .size = sizeof attempt.nodes,
         .check = check_line,
         .rule = "a host list"},
        {.name = "exitCode", .type = JSON_FIELD_I64, .target = &attempt.exit_code, .max = ATTEMPT_EXIT_MAX},
        {.name = "reason",
         .type = JSON_FIELD_TEXT,
         .target = attempt.reason,
         .size = sizeof attempt.reason,
         .check = check_line,
         .rule = "one line"},
    };
    if (api_body(call, fields, ARRAY_LEN(fields), &body) != 0)
        return;
    if (!is_job_id(call->params[1]) || text_copy(attempt.job, sizeof attempt.job, call->params[1]) != 0) {
        api_problem_printf(call, PROBLEM_INVALID_VALUE,
                           "The job must be the scheduler's number of one, such as 82 or 82_3.");
        return;
    }
    (void)attempt_state_parse(state, &attempt.state); /* checked above */
    if (progress_ago_ms >= 0)
        attempt.progress_at = clock_wall_ms(call->service->clock) - progress_ago_ms;
    json_t *nodes = json_array(), *json = json_object();
    json_put(json, "nodes", nodes);
    struct job_attempt earlier;
    if (service_job_diagnose(call->service, call->params[0], &attempt, add_broken, nodes, &action, &problem) != 0 ||
        service_job_earlier(call->service, call->params[0], &attempt, &earlier, &problem) != 0) {
        json_decref(json);
        api_problem(call, &problem);
        return;
    }
    json_put_text(json, "jobId", attempt.job);
    json_put_text(json, "resumeAction", resume_action_text(action));
    json_put_i64(json, "earlierRuns", earlier.runs);
    json_put_i64(json, "earlierFutile", earlier.futile);
    api_reply_json(call, 200, json);
}
