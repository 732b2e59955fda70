/* Jobs of a cluster's scheduler: listed, described with what hit their nodes, and answered when a step of theirs has failed. */
#include "api/page.h"
#include "api/render.h"
#include "api/v1/v1.h"
#include "base/clock.h"
#include "base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static int list_row(const void *row, void *arg)
{
    const struct cluster_job *job = row;
    struct page *page = arg;
    if (page_wants(page))
        page_add(page, render_job(job), job->id);
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
    json_t *job, *faults, *repairs, *attempts;
    const char *cluster;
};

static int take_job(const struct cluster_job *job, void *arg)
{
    struct description *description = arg;
    description->job = render_job(job);
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

static void render_lost(json_t *attempts, int64_t next_started_at)
{
    json_t *last = json_array_get(attempts, json_array_size(attempts) - 1);
    int64_t ended_at = 0;
    if (last != NULL && clock_parse(json_string_value(json_object_get(last, "endedAt")), &ended_at) == 0)
        json_put_i64(last, "lostMs", next_started_at - ended_at);
}

/* What stands between the end of one and the beginning of the next is lost to the job. */
static int take_attempt(const struct job_attempt *attempt, void *arg)
{
    struct description *description = arg;
    json_t *json = json_object();
    render_lost(description->attempts, attempt->started_at);
    json_put_i64(json, "restart", attempt->restart);
    json_put_i64(json, "attempt", attempt->attempt);
    json_put_text(json, "state", attempt_state_text(attempt->state));
    json_put_text(json, "nodes", attempt->nodes);
    if (attempt->state != ATTEMPT_STATE_RUNNING) {
        json_put_i64(json, "exitCode", attempt->exit_code);
        json_put_text(json, "resumeAction", resume_action_text(attempt->action));
    }
    json_put_text(json, "reason", attempt->reason);
    json_put_time(json, "startedAt", attempt->started_at);
    json_put_time(json, "endedAt", attempt->ended_at);
    json_array_append_new(description->attempts, json);
    return 0;
}

void api_job_describe(struct api_call *call)
{
    struct problem problem;
    struct description description = {
        .faults = json_array(), .repairs = json_array(), .attempts = json_array(), .cluster = call->params[0]};
    const struct service_job_readers readers = {
        .job = take_job, .fault = take_fault, .repair = take_repair, .attempt = take_attempt, .arg = &description};
    int status = service_job_get(call->service, call->params[0], call->params[1], &readers, &problem);
    if (status != 0) {
        json_decref(description.job);
        json_decref(description.faults);
        json_decref(description.repairs);
        json_decref(description.attempts);
        api_problem(call, &problem);
        return;
    }
    json_put(description.job, "faults", description.faults);
    json_put(description.job, "repairs", description.repairs);
    json_put(description.job, "attempts", description.attempts);
    api_reply_json(call, 200, description.job);
}

/* --- what srun's --auto-resume asks --------------------------------------------------------------------- */

static int check_state(const char *text)
{
    enum attempt_state state;
    return attempt_state_parse(text, &state);
}

static int check_line(const char *text)
{
    return text_is_clean(text) ? 0 : STATUS_INVALID;
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
    struct job_attempt attempt = {0};
    char state[16];
    enum resume_action action;
    auto_json json_t *body = NULL;
    const struct json_field fields[] = {
        {.name = "attempt",
         .type = JSON_FIELD_I64,
         .required = true,
         .target = &attempt.attempt,
         .max = ATTEMPT_NUMBER_MAX},
        {.name = "restart", .type = JSON_FIELD_I64, .target = &attempt.restart, .max = ATTEMPT_NUMBER_MAX},
        {.name = "state",
         .type = JSON_FIELD_TEXT,
         .required = true,
         .target = state,
         .size = sizeof state,
         .check = check_state,
         .rule = "running, failed or ended"},
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
        api_problem_printf(call, PROBLEM_INVALID_VALUE, "The job must be a number of Slurm's, like 82 or 82_3.");
        return;
    }
    (void)attempt_state_parse(state, &attempt.state); /* checked above */
    json_t *nodes = json_array(), *json = json_object();
    json_put(json, "nodes", nodes);
    if (service_job_diagnose(call->service, call->params[0], &attempt, add_broken, nodes, &action, &problem) != 0) {
        json_decref(json);
        api_problem(call, &problem);
        return;
    }
    json_put_text(json, "jobId", attempt.job);
    json_put_text(json, "resumeAction", resume_action_text(action));
    api_reply_json(call, 200, json);
}
