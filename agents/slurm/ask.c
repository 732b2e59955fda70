/* POST /v1/clusters/{cluster}/jobs/{job}/diagnosis: how an attempt goes, and whether a node of it is at fault. */
#include "agents/slurm/resume.h"

#include "base/status.h"

#include <string.h>

#define REPLY_BYTES_MAX (4 * 1024 * 1024)

static int connect_once(struct resume *r, int64_t timeout_ms, char ret_error[HTTP_ERROR_MAX])
{
    const struct resume_config *config = &r->config;
    const struct http_options options = {.url = config->url,
                                         .token = config->token,
                                         .fingerprint = config->fingerprint[0] != '\0' ? config->fingerprint : NULL,
                                         .ca_file = config->ca_file[0] != '\0' ? config->ca_file : NULL,
                                         .timeout_ms = timeout_ms};
    return r->http != NULL ? 0 : http_client_new(&options, &r->http, ret_error);
}

static int64_t within(int64_t count)
{
    return count < ATTEMPT_NUMBER_MAX ? count : ATTEMPT_NUMBER_MAX;
}

static char *write_body(const struct resume *r, const struct resume_report *report)
{
    auto_json json_t *body = json_object();
    int64_t ago_ms = resume_progress_ago(r);
    json_put_i64(body, "restart", r->restart);
    if (r->step_known)
        json_put_i64(body, "step", r->step);
    if (ago_ms >= 0)
        json_put_i64(body, "progressAgoMs", ago_ms);
    json_put_i64(body, "attempt", r->attempt);
    json_put_i64(body, "runs", within(r->earlier_runs + r->attempt + 1));
    json_put_i64(body, "futile", within(resume_futile(r)));
    json_put_text(body, "state", report->state);
    json_put_text(body, "nodes", r->nodes);
    if (strcmp(report->state, "running") != 0)
        json_put_i64(body, "exitCode", report->exit_code);
    json_put_text(body, "reason", report->reason);
    return json_dumps(body, JSON_COMPACT);
}

/* Whatever the request was, the same one may be answered in a while: too early, too slow, too many, in the way of another. */
static bool may_pass(int status)
{
    return status >= 500 || status == 408 || status == 409 || status == 425 || status == 429;
}

/* hpd's own sentence where it has one. */
static int refused(const struct http_reply *reply, char ret_error[HTTP_ERROR_MAX])
{
    char error[JSON_ERROR_MAX];
    auto_json json_t *json = NULL;
    const char *detail = NULL;
    if (json_parse(reply->body, reply->len, REPLY_BYTES_MAX, &json, error) == 0)
        detail = json_string_value(json_object_get(json, "detail"));
    snprintf(ret_error, HTTP_ERROR_MAX, "it answered %d", reply->status);
    if (detail != NULL)
        text_copy_clean(ret_error, HTTP_ERROR_MAX, detail, strlen(detail));
    return may_pass(reply->status) ? STATUS_UNAVAILABLE : STATUS_DENIED;
}

int resume_ask(struct resume *r, const struct resume_report *report, struct resume_reply *ret_reply,
               char ret_error[HTTP_ERROR_MAX])
{
    struct http_reply reply = {0};
    int status = connect_once(r, report->timeout_ms, ret_error);
    if (status != 0)
        return status;
    autofree char *path = own_printf("/v1/clusters/%s/jobs/%s/diagnosis", r->config.cluster, r->api_id);
    autofree char *body = write_body(r, report);
    status = http_request(r->http, "POST", path, "application/json", body, strlen(body), NULL, REPLY_BYTES_MAX, &reply,
                          ret_error);
    if (status != 0)
        return status;
    if (reply.status == 200)
        status = resume_reply_parse(reply.body, reply.len, ret_reply, ret_error);
    else
        status = refused(&reply, ret_error);
    http_reply_free(&reply);
    if (status == 0) {
        r->earlier_runs = ret_reply->earlier_runs;
        r->earlier_futile = ret_reply->earlier_futile;
    }
    return status;
}
