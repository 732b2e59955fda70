/*
 * Requests to slurmrestd: a token read anew for each, a deadline, a limit on the reply, and its errors put into our words.
 *
 * At most CONNECTIONS_MAX requests are under way at once, each on a connection that is kept for the next; others wait for their
 * turn until their deadline. A reply that says that the version is unknown makes the next call ask again, which
 * is how an upgrade of Slurm is noticed.
 *
 * 22.05 says "Unspecified error" alike when slurmctld is away and when it refuses the token: then the token's own end tells them
 * apart, where it has come.
 */
#include "server/scheduler/slurm/rest.h"
#include "server/scheduler/slurm/rest_read.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/http.h"
#include "base/status.h"
#include "base/text.h"
#include "base/url.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define CONNECTIONS_MAX 4
#define TOKEN_BYTES_MAX 8192
#define REPLY_BYTES_MAX ((size_t)256 * 1024 * 1024) /* some 3,000 bytes a node, 10,000 a job */
#define RELEASE_MAX 32
#define ERROR_AUTH 1007 /* "Protocol authentication error" */

struct slurm_rest {
    char *url, *socket, *name; /* name: as people know it */
    char *user, *token_file, *ca_file;
    pthread_mutex_t lock; /* over what follows */
    pthread_cond_t freed;
    struct http_client *idle[CONNECTIONS_MAX];
    int idle_count, at_work;
    struct slurm_rest_version version, told;
    char release[RELEASE_MAX];
};

static int64_t left_ms(const struct slurm_call *call)
{
    return call->deadline_ms - clock_mono_ms(clock_system());
}

/* --- connections -------------------------------------------------------------------------------------------------- */

static int too_late(struct slurm_call *call, const char *path)
{
    return slurm_call_fail(call, STATUS_TIMEOUT, "slurmrestd at %s did not answer %s within %lld ms; is slurmctld up?",
                           call->s->rest->name, path, (long long)call->s->timeout_ms);
}

static int connect_new(struct slurm_call *call, struct http_client **ret_client)
{
    const struct slurm_rest *rest = call->s->rest;
    struct http_options options = {
        .url = rest->url, .socket = rest->socket, .ca_file = rest->ca_file, .timeout_ms = call->s->timeout_ms};
    char error[HTTP_ERROR_MAX];
    int status = http_client_new(&options, ret_client, error);
    return status == 0 ? 0 : slurm_call_fail(call, status, "%s", error);
}

/* Waits for its turn; ret_client is NULL where a new connection is to be made. */
static int take_turn(struct slurm_call *call, const char *path, struct http_client **ret_client)
{
    struct slurm_rest *rest = call->s->rest;
    int64_t left = left_ms(call);
    struct timespec until = clock_deadline(left < 0 ? 0 : left);
    int rc = 0;
    *ret_client = NULL;
    pthread_mutex_lock(&rest->lock);
    while (rest->at_work == CONNECTIONS_MAX && rc != ETIMEDOUT)
        rc = pthread_cond_timedwait(&rest->freed, &rest->lock, &until);
    bool turn = rest->at_work < CONNECTIONS_MAX;
    if (turn) {
        rest->at_work++;
        if (rest->idle_count > 0)
            *ret_client = rest->idle[--rest->idle_count];
    }
    pthread_mutex_unlock(&rest->lock);
    return turn ? 0 : too_late(call, path);
}

static void end_turn(struct slurm_rest *rest, struct http_client *client)
{
    pthread_mutex_lock(&rest->lock);
    rest->at_work--;
    if (client != NULL)
        rest->idle[rest->idle_count++] = client;
    pthread_cond_signal(&rest->freed);
    pthread_mutex_unlock(&rest->lock);
}

/* --- the token ---------------------------------------------------------------------------------------------------- */

/* The file holds the token alone, or as "scontrol token" prints it: SLURM_JWT=… */
static int read_token(struct slurm_call *call, char **ret_token)
{
    static const char prefix[] = "SLURM_JWT=";
    const char *path = call->s->rest->token_file;
    autofree char *data = NULL;
    struct stat stat_of;
    size_t len;
    if (stat(path, &stat_of) == 0 && (stat_of.st_mode & S_IRWXO) != 0)
        return slurm_call_fail(call, STATUS_BACKEND, "everybody may read %s, which holds a token: chmod o= it", path);
    int status = file_read(path, TOKEN_BYTES_MAX, &data, &len);
    if (status != 0)
        return slurm_call_fail(call, STATUS_UNAVAILABLE, "the token for slurmrestd cannot be read from %s: %s", path,
                               status_meaning(status));
    while (len > 0 && strchr(" \t\r\n", data[len - 1]) != NULL)
        data[--len] = '\0';
    const char *token = text_starts_with(data, prefix) ? data + strlen(prefix) : data;
    if (token[0] == '\0' || strlen(data) != len)
        return slurm_call_fail(call, STATUS_UNAVAILABLE, "%s holds no token", path);
    for (const char *c = token; *c != '\0'; c++)
        if (*c <= ' ' || *c > '~')
            return slurm_call_fail(call, STATUS_UNAVAILABLE, "%s holds more than a token", path);
    *ret_token = own_strdup(token);
    return 0;
}

/* --- one request -------------------------------------------------------------------------------------------------- */

struct request {
    const char *method, *path; /* the whole path */
    const char *body;          /* NULL: none */
};

static int send_request(struct slurm_call *call, struct http_client *client, const struct request *request,
                        struct http_reply *ret_reply)
{
    const struct slurm_rest *rest = call->s->rest;
    autofree char *token = NULL, *token_header = NULL;
    autofree char *user_header = own_printf("X-SLURM-USER-NAME: %s", rest->user);
    int status = rest->token_file[0] == '\0' ? 0 : read_token(call, &token);
    if (status != 0)
        return status;
    if (token != NULL)
        token_header = own_printf("X-SLURM-USER-TOKEN: %s", token);
    const char *const headers[] = {user_header, token_header, NULL};
    char error[HTTP_ERROR_MAX];
    int64_t left = left_ms(call);
    if (left <= 0)
        return too_late(call, request->path);
    http_client_limit(client, left);
    status = http_request(client, request->method, request->path, request->body == NULL ? NULL : "application/json",
                          request->body, request->body == NULL ? 0 : strlen(request->body), headers, REPLY_BYTES_MAX,
                          ret_reply, error);
    if (status == STATUS_TIMEOUT)
        return too_late(call, request->path);
    return status == 0 ? 0 : slurm_call_fail(call, status, "slurmrestd cannot be asked: %s", error);
}

static int ask(struct slurm_call *call, const struct request *request, struct http_reply *ret_reply)
{
    struct http_client *client;
    int status = take_turn(call, request->path, &client);
    if (status != 0)
        return status;
    if (client == NULL)
        status = connect_new(call, &client);
    if (status == 0)
        status = send_request(call, client, request, ret_reply);
    end_turn(call->s->rest, client);
    return status;
}

/* --- what it answers ---------------------------------------------------------------------------------------------- */

static void forget_version(struct slurm_rest *rest)
{
    pthread_mutex_lock(&rest->lock);
    rest->version = (struct slurm_rest_version){0};
    pthread_mutex_unlock(&rest->lock);
}

/* Not JSON: slurmrestd's own refusals, or somebody else in its place. */
static int read_refusal(struct slurm_call *call, const struct request *request, const struct http_reply *reply)
{
    const struct slurm_rest *rest = call->s->rest;
    if (reply->status == 401 && rest->token_file[0] == '\0')
        return slurm_call_fail(call, STATUS_BACKEND,
                               "slurmrestd at %s refuses us (HTTP 401): it wants a token (slurm.rest.tokenFile), or to "
                               "run as our user with rest_auth/local",
                               rest->name);
    if (reply->status == 401)
        return slurm_call_fail(call, STATUS_BACKEND,
                               "slurmrestd at %s refuses the token in %s (HTTP 401): write a new one there, made by "
                               "'scontrol token username=%s lifespan=…'",
                               rest->name, rest->token_file, rest->user);
    if (reply->status == 404) {
        forget_version(call->s->rest);
        return slurm_call_fail(call, STATUS_BACKEND, "slurmrestd at %s knows no %s; it is asked for its versions again",
                               rest->name, request->path);
    }
    slurm_make_printable(reply->body);
    return slurm_call_fail(call, reply->status >= 502 ? STATUS_UNAVAILABLE : STATUS_BACKEND,
                           "what answers at %s for slurmrestd (%s: HTTP %d) says no JSON but: %.80s", rest->name,
                           request->path, reply->status, reply->body);
}

static int parse_reply(struct slurm_call *call, const struct request *request, const struct http_reply *reply,
                       json_t **ret_json)
{
    char error[JSON_ERROR_MAX];
    size_t blank = strspn(reply->body, " \t\r\n");
    if (reply->status == 401 || reply->body[blank] != '{')
        return read_refusal(call, request, reply);
    int status = json_parse(reply->body, reply->len, REPLY_BYTES_MAX, ret_json, error);
    if (status != 0)
        return slurm_call_fail(call, STATUS_BACKEND, "slurmrestd at %s answered %s with what cannot be read: %s",
                               call->s->rest->name, request->path, error);
    return 0;
}

static int status_of_error(int64_t number, const char *description)
{
    enum { COMMUNICATION = 1800, COMMUNICATION_END = 1899, DENIED = 2002, NO_SUCH_JOB = 2017 };
    enum { NO_SUCH_NODE = 2018, DONE_BEFORE = 2021, TIMED_OUT = 5004 };
    if (number == NO_SUCH_JOB || number == NO_SUCH_NODE || number == DONE_BEFORE ||
        text_starts_with(description, "Failure to query node"))
        return STATUS_NOT_FOUND;
    if (number == DENIED)
        return STATUS_DENIED;
    if (number == TIMED_OUT || (number >= COMMUNICATION && number <= COMMUNICATION_END))
        return STATUS_UNAVAILABLE;
    return STATUS_BACKEND;
}

/* "Unspecified error": slurmctld is away, or it refuses the token. Of that, at least, the token says itself how long it lasts. */
static int tell_quarantine(struct slurm_call *call, int status, const char *said)
{
    const struct slurm_rest *rest = call->s->rest;
    autofree char *token = NULL;
    char ended[CLOCK_TEXT_MAX];
    if (rest->token_file[0] == '\0' || read_token(call, &token) != 0)
        return slurm_call_fail(call, status, "slurmctld does not answer slurmrestd at %s (%s)", rest->name, said);
    int64_t end_ms = slurm_token_end(token);
    if (end_ms != 0 && end_ms <= clock_wall_ms(clock_system()))
        return slurm_call_fail(call, STATUS_BACKEND,
                               "the token in %s ran out at %s; write a new one there, made by 'scontrol token "
                               "username=%s lifespan=…'",
                               rest->token_file, clock_format(end_ms, ended), rest->user);
    return slurm_call_fail(call, status,
                           "slurmctld does not answer slurmrestd at %s, or it refuses the token in %s (%s)", rest->name,
                           rest->token_file, said);
}

/* The errors of a reply; 0 where there are none. */
static int read_errors(struct slurm_call *call, const struct request *request, const json_t *json, int http_status)
{
    const json_t *errors = json_object_get(json, "errors");
    const json_t *first = json_is_array(errors) ? json_array_get(errors, 0) : NULL;
    if (first == NULL && http_status < 400)
        return 0;
    int64_t number = slurm_json_number(json_object_get(first, "error_number"));
    if (number == 0)
        number = slurm_json_number(json_object_get(first, "errno"));
    const char *error = slurm_json_text(first, "error"), *description = slurm_json_text(first, "description");
    autofree char *said =
        own_printf("%.100s%s%.100s", error, error[0] != '\0' && description[0] != '\0' ? ": " : "", description);
    slurm_make_printable(said);
    if (number < 0 || number == ERROR_AUTH)
        return tell_quarantine(call, number < 0 ? STATUS_UNAVAILABLE : STATUS_BACKEND, said);
    return slurm_call_fail(call, status_of_error(number, description), "slurmrestd at %s, %s: HTTP %d, %s",
                           call->s->rest->name, request->path, http_status, said[0] != '\0' ? said : "no reason given");
}

static void keep_release(struct slurm_rest *rest, const json_t *json)
{
    const json_t *meta = json_object_get(json, "meta");
    const json_t *slurm = json_object_get(meta, "Slurm"); /* to 23.02 */
    if (slurm == NULL)
        slurm = json_object_get(meta, "slurm");
    pthread_mutex_lock(&rest->lock);
    text_copy_cut(rest->release, sizeof(rest->release), slurm_json_text(slurm, "release"));
    slurm_make_printable(rest->release);
    pthread_mutex_unlock(&rest->lock);
}

static int converse(struct slurm_call *call, const struct request *request, json_t **ret_json)
{
    struct http_reply reply = {0};
    auto_json json_t *json = NULL;
    int status = ask(call, request, &reply);
    if (status == 0)
        status = parse_reply(call, request, &reply, &json);
    if (status == 0)
        status = read_errors(call, request, json, reply.status);
    http_reply_free(&reply);
    if (status == 0)
        *ret_json = TAKE(json);
    return status;
}

/* --- versions ----------------------------------------------------------------------------------------------------- */

static int find_version(struct slurm_call *call, struct slurm_rest_version *ret_version)
{
    struct slurm_rest *rest = call->s->rest;
    pthread_mutex_lock(&rest->lock);
    struct slurm_rest_version version = rest->version;
    pthread_mutex_unlock(&rest->lock);
    if (version.number == 0) {
        auto_json json_t *document = NULL;
        int status = converse(call, &(struct request){.method = "GET", .path = "/openapi/v3"}, &document);
        if (status != 0)
            return status;
        status = slurm_rest_choose(document, &version);
        if (status == STATUS_BACKEND)
            return slurm_call_fail(call, status, "slurmrestd at %s does not say what it can do", rest->name);
        if (status != 0)
            return slurm_call_fail(call, STATUS_BACKEND,
                                   "slurmrestd at %s speaks versions to v0.0.%d, Holdfast v0.0.%d to v0.0.%d",
                                   rest->name, version.number, SLURM_REST_VERSION_MIN, SLURM_REST_VERSION_MAX);
        pthread_mutex_lock(&rest->lock);
        rest->version = rest->told = version;
        pthread_mutex_unlock(&rest->lock);
    }
    *ret_version = version;
    return 0;
}

static int ask_version(struct slurm_call *call, const char *method, const char *path, const char *body,
                       json_t **ret_json)
{
    struct slurm_rest_version version;
    int status = find_version(call, &version);
    if (status != 0)
        return status;
    autofree char *whole = own_printf("/slurm/v0.0.%d/%s", version.number, path);
    return converse(call, &(struct request){.method = method, .path = whole, .body = body}, ret_json);
}

bool slurm_rest_can(struct slurm_call *call, enum slurm_rest_ability ability)
{
    struct slurm_rest_version version;
    return call->s->rest != NULL && find_version(call, &version) == 0 && (version.can & (unsigned)ability) != 0;
}

int slurm_rest_get(struct slurm_call *call, const char *path, json_t **ret_reply)
{
    auto_json json_t *json = NULL;
    int status = ask_version(call, "GET", path, NULL, &json);
    if (status != 0)
        return status;
    keep_release(call->s->rest, json);
    *ret_reply = TAKE(json);
    return 0;
}

int slurm_rest_change(struct slurm_call *call, const char *path, const json_t *body)
{
    auto_json json_t *json = NULL;
    autofree char *text = body == NULL ? NULL : json_dumps(body, JSON_COMPACT);
    return ask_version(call, body == NULL ? "DELETE" : "POST", path, text, &json);
}

void slurm_rest_tell(struct slurm_rest *rest, char ret_transport[SCHEDULER_TRANSPORT_MAX])
{
    pthread_mutex_lock(&rest->lock);
    struct slurm_rest_version told = rest->told;
    if (told.number == 0)
        snprintf(ret_transport, SCHEDULER_TRANSPORT_MAX, "slurmrestd at %.100s", rest->name);
    else
        snprintf(ret_transport, SCHEDULER_TRANSPORT_MAX,
                 "slurmrestd v0.0.%d of Slurm %s at %.100s; by Slurm's programs: %s%s", told.number,
                 rest->release[0] != '\0' ? rest->release : "(unknown)", rest->name,
                 (told.can & SLURM_REST_UPDATES_NODES) != 0 ? "" : "changes of nodes, ", "requeues, signals, the rest");
    pthread_mutex_unlock(&rest->lock);
}

/* --- life --------------------------------------------------------------------------------------------------------- */

bool slurm_rest_is_url(const char *url, const char **ret_why)
{
    struct url parsed;
    if (!text_starts_with(url, "unix:"))
        return url_parse(url, &parsed, ret_why) == 0;
    *ret_why = "behind unix: stands the path of a socket, which begins with /";
    return url[strlen("unix:")] == '/';
}

int slurm_rest_new(const struct slurm_rest_options *options, struct slurm_rest **ret_rest)
{
    const char *why;
    if (!slurm_rest_is_url(options->url, &why))
        return STATUS_INVALID;
    bool socket = text_starts_with(options->url, "unix:");
    struct slurm_rest *rest = own_calloc(1, sizeof(*rest));
    rest->name = own_strdup(options->url);
    rest->url = own_strdup(socket ? "http://localhost" : options->url);
    rest->socket = socket ? own_strdup(options->url + strlen("unix:")) : NULL;
    rest->user = own_strdup(options->user);
    rest->token_file = own_strdup(options->token_file == NULL ? "" : options->token_file);
    rest->ca_file = options->ca_file == NULL || options->ca_file[0] == '\0' ? NULL : own_strdup(options->ca_file);
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_mutex_init(&rest->lock, NULL);
    pthread_cond_init(&rest->freed, &attr);
    pthread_condattr_destroy(&attr);
    *ret_rest = rest;
    return 0;
}

void slurm_rest_free(struct slurm_rest *rest)
{
    if (rest == NULL)
        return;
    while (rest->idle_count > 0)
        http_client_free(rest->idle[--rest->idle_count]);
    pthread_cond_destroy(&rest->freed);
    pthread_mutex_destroy(&rest->lock);
    free(rest->name);
    free(rest->url);
    free(rest->socket);
    free(rest->user);
    free(rest->token_file);
    free(rest->ca_file);
    free(rest);
}
