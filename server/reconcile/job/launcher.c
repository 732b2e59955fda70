/* Requests to launchers. A reply is checked like anything from outside: the workers' own code may sit behind that port. */
#include "server/reconcile/job/launcher.h"

#include "base/clock.h"
#include "base/http.h"
#include "base/json.h"
#include "base/status.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

#define TIMEOUT_MS 3000
#define REPLY_BYTES_MAX ((size_t)1024 * 1024)
#define MASTER_PORT 29500

static int ask(const char *address, const char *token, const char *method, const char *path, const char *body,
               struct http_reply *ret_reply, char *ret_error)
{
    bool v6 = strchr(address, ':') != NULL;
    autofree char *url = own_printf("http://%s%s%s:%d", v6 ? "[" : "", address, v6 ? "]" : "", LAUNCHER_PORT);
    const struct http_options options = {.url = url, .token = token, .plain = true, .timeout_ms = TIMEOUT_MS};
    struct http_client *client;
    int status = http_client_new(&options, &client, ret_error);
    if (status != 0)
        return status;
    status = http_request(client, method, path, body == NULL ? NULL : "application/json", body,
                          body == NULL ? 0 : strlen(body), NULL, REPLY_BYTES_MAX, ret_reply, ret_error);
    http_client_free(client);
    return status;
}

/* --- status ---------------------------------------------------------------------------------------- */

static void copy(char *dst, size_t size, const char *src)
{
    text_copy_clean(dst, size, src, strlen(src));
}

static int64_t further(int64_t most, const json_t *value)
{
    return json_is_integer(value) && json_integer_value(value) > most ? json_integer_value(value) : most;
}

/* The newest step that a worker told, and the newest checkpoint that all of them have. */
static int64_t read_progress(json_t *json)
{
    const json_t *workers = json_object_get(json, "workers");
    int64_t most = -1;
    const char *prefix;
    json_t *one;
    for (size_t i = 0; i < json_array_size(workers); i++)
        most = further(most, json_object_get(json_array_get(workers, i), "step"));
    json_object_foreach(json_object_get(json, "progress"), prefix, one) most =
        further(most, json_object_get(one, "progressCount"));
    return most;
}

void launcher_read(const char *text, size_t len, struct job_pod *seen)
{
    auto_json json_t *json = NULL;
    char error[JSON_ERROR_MAX];
    seen->agent = JOB_AGENT_UNKNOWN;
    if (json_parse(text, len, REPLY_BYTES_MAX, &json, error) != 0 ||
        job_agent_parse(json_member_text(json, "status"), &seen->agent) != 0)
        return;
    const json_t *moves = json_object_get(json, "transitions");
    copy(seen->agent_reason, sizeof(seen->agent_reason), json_member_text(json, "reason"));
    copy(seen->agent_message, sizeof(seen->agent_message), json_member_text(json, "message"));
    if (seen->agent == JOB_AGENT_FAULTED && clock_parse(json_member_text(moves, "FAULTED"), &seen->agent_since) != 0)
        seen->agent_since = 0;
    seen->progress = read_progress(json);
}

void launcher_look(const char *address, const char *token, struct job_pod *seen)
{
    struct http_reply reply = {0};
    char error[HTTP_ERROR_MAX];
    seen->agent = JOB_AGENT_UNKNOWN;
    if (ask(address, token, "GET", "/status", NULL, &reply, error) != 0)
        return;
    if (reply.status == 200)
        launcher_read(reply.body, reply.len, seen);
    http_reply_free(&reply);
}

/* --- orders ---------------------------------------------------------------------------------------- */

json_t *launcher_start_body(const struct workload_job *job, int rank)
{
    const struct job_record *record = job->record;
    json_t *addresses = json_array();
    autofree char *version = own_printf("%lld", (long long)record->attempt);
    for (int i = 0; i < record->rank_count; i++)
        json_array_append_new(addresses, json_pack("{s:i, s:s}", "rank", i, "ip", job->pods[record->ranks[i]].address));
    return json_pack("{s:i, s:i, s:I, s:s, s:i, s:s, s:o, s:O*}", "rank", rank, "nnodes", record->rank_count,
                     "faultCount", (json_int_t)(record->attempt > 0 ? record->attempt - 1 : 0), "master_addr",
                     job->pods[record->ranks[0]].address, "master_port", MASTER_PORT, "ipVersion", version, "rankIps",
                     addresses, "log_monitoring_configuration", job->rules);
}

json_t *launcher_graceful_body(int64_t graceful_ms)
{
    return json_pack("{s:b, s:I}", "is_graceful", 1, "timeout", (json_int_t)(graceful_ms / MS_PER_S));
}

static int send_order(const char *address, const char *token, const char *path, const json_t *body, char *ret_error)
{
    struct http_reply reply = {0};
    autofree char *text = body == NULL ? own_strdup("{}") : json_dumps(body, JSON_COMPACT);
    int status = ask(address, token, "POST", path, text, &reply, ret_error);
    if (status != 0)
        return status;
    if (reply.status != 200) {
        snprintf(ret_error, SCHEDULER_ERROR_MAX, "%s answered %s with HTTP %d: %.*s", address, path, reply.status,
                 TEXT_FIT(reply.body, 120));
        status = STATUS_BACKEND;
    }
    http_reply_free(&reply);
    return status;
}

int launcher_order(const char *address, const char *token, enum job_act act, const json_t *body, char *ret_error)
{
    const char *path = act == JOB_ACT_START ? "/start" : act == JOB_ACT_STOP ? "/stop" : "/shutdown";
    return send_order(address, token, path, body, ret_error);
}

int launcher_update(const char *address, const char *token, const json_t *body, char *ret_error)
{
    return send_order(address, token, "/update", body, ret_error);
}
