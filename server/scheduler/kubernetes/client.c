/* The client: see client.h. Certificates that came as text are kept in memory files, so no key is ever written to a disk. */
#include "server/scheduler/kubernetes/client.h"

#include "base/clock.h"
#include "base/http.h"
#include "base/status.h"
#include "base/text.h"
#include "server/scheduler/kubernetes/credential.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define CONNECTIONS_MAX 8
#define WATCHES_MAX 4
#define REPLY_BYTES_MAX ((size_t)64 * 1024 * 1024) /* a page of 500 objects */
#define LINE_BYTES_MAX ((size_t)8 * 1024 * 1024)   /* etcd holds objects of 1.5 MiB at most */
#define RETRY_MS_MIN 500                           /* where a 429 does not say when; doubles */
#define RETRY_MS_MAX 8000
#define PATH_SHOWN_MAX 100
#define PEM_FILES 3
#define ASK_ACCEPT "Accept: application/json"

struct kube_client {
    struct kube_access access;
    struct kube_credential *credential;
    int64_t timeout_ms;
    char *files[PEM_FILES]; /* ca, certificate, key; NULL: none */
    int fds[PEM_FILES];
    pthread_mutex_t lock; /* over what follows */
    pthread_cond_t changed;
    struct http_client *idle[CONNECTIONS_MAX], *watches[WATCHES_MAX], *busy[CONNECTIONS_MAX];
    int idle_count, at_work;
    bool stopped;
};

/* --- calls ---------------------------------------------------------------------------------------------------------- */

void kube_call_start(struct kube_call *call, struct kube_client *client, char *error)
{
    *call = (struct kube_call){
        .client = client, .error = error, .deadline_ms = clock_mono_ms(clock_system()) + client->timeout_ms};
    error[0] = '\0';
}

int64_t kube_call_left_ms(const struct kube_call *call)
{
    int64_t left = call->deadline_ms - clock_mono_ms(clock_system());
    return left > 0 ? left : 0;
}

int kube_call_fail(struct kube_call *call, int status, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    autofree char *text = own_vprintf(fmt, ap);
    va_end(ap);
    text_copy_clean(call->error, SCHEDULER_ERROR_MAX, text, strlen(text));
    return status;
}

char *kube_escape(const char *word)
{
    struct text out = {0};
    text_add_escaped(&out, word, "");
    return text_take(&out);
}

/* --- connections ---------------------------------------------------------------------------------------------------- */

static int pem_file(const struct kube_pem *pem, char **ret_file, int *ret_fd)
{
    if (pem->data == NULL) {
        *ret_file = own_strdup(pem->file);
        return 0;
    }
    size_t len = strlen(pem->data);
    int fd = memfd_create("holdfast-kubernetes", MFD_CLOEXEC);
    if (fd < 0 || write(fd, pem->data, len) != (ssize_t)len) {
        if (fd >= 0)
            close(fd);
        return STATUS_IO;
    }
    *ret_fd = fd;
    *ret_file = own_printf("/proc/self/fd/%d", fd);
    return 0;
}

static int connect_new(struct kube_call *call, struct http_client **ret_client)
{
    const struct kube_client *client = call->client;
    const struct http_options options = {.url = client->access.server,
                                         .proxy = client->access.proxy,
                                         .ca_file = client->files[0],
                                         .cert_file = client->files[1],
                                         .key_file = client->files[2],
                                         .timeout_ms = client->timeout_ms};
    char error[HTTP_ERROR_MAX];
    int status = http_client_new(&options, ret_client, error);
    return status == 0 ? 0 : kube_call_fail(call, status, "%s", error);
}

static int too_late(struct kube_call *call, const char *path)
{
    return kube_call_fail(call, STATUS_TIMEOUT, "%s did not answer %.80s within %lld ms", call->client->access.server,
                          path, (long long)call->client->timeout_ms);
}

static int stopped(struct kube_call *call)
{
    return kube_call_fail(call, STATUS_UNAVAILABLE, "hpd is stopping");
}

static void keep_busy(struct http_client **list, int count, struct http_client *from, struct http_client *to)
{
    for (int i = 0; i < count; i++)
        if (list[i] == from) {
            list[i] = to;
            return;
        }
}

/* Waits for its turn. */
static int take_turn(struct kube_call *call, const char *path, struct http_client **ret_http)
{
    struct kube_client *client = call->client;
    struct timespec until = clock_deadline(kube_call_left_ms(call));
    int rc = 0;
    *ret_http = NULL;
    pthread_mutex_lock(&client->lock);
    while (!client->stopped && client->at_work == CONNECTIONS_MAX && rc != ETIMEDOUT)
        rc = pthread_cond_timedwait(&client->changed, &client->lock, &until);
    bool ends = client->stopped, turn = !ends && client->at_work < CONNECTIONS_MAX;
    if (turn) {
        client->at_work++;
        if (client->idle_count > 0)
            *ret_http = client->idle[--client->idle_count];
    }
    pthread_mutex_unlock(&client->lock);
    if (!turn)
        return ends ? stopped(call) : too_late(call, path);
    int status = *ret_http == NULL ? connect_new(call, ret_http) : 0;
    pthread_mutex_lock(&client->lock);
    if (status != 0)
        client->at_work--;
    else
        keep_busy(client->busy, CONNECTIONS_MAX, NULL, *ret_http);
    if (client->stopped && status == 0)
        http_client_cancel(*ret_http);
    pthread_mutex_unlock(&client->lock);
    return status;
}

static void end_turn(struct kube_client *client, struct http_client *http)
{
    pthread_mutex_lock(&client->lock);
    keep_busy(client->busy, CONNECTIONS_MAX, http, NULL);
    client->at_work--;
    client->idle[client->idle_count++] = http;
    pthread_cond_broadcast(&client->changed);
    pthread_mutex_unlock(&client->lock);
}

bool kube_client_sleep(struct kube_client *client, int64_t ms)
{
    struct timespec until = clock_deadline(ms);
    int rc = 0;
    pthread_mutex_lock(&client->lock);
    while (!client->stopped && rc != ETIMEDOUT)
        rc = pthread_cond_timedwait(&client->changed, &client->lock, &until);
    bool goes_on = !client->stopped;
    pthread_mutex_unlock(&client->lock);
    return goes_on;
}

/* --- what it answers ------------------------------------------------------------------------------------------------ */

static int status_of_http(int http_status)
{
    switch (http_status) {
    case 400:
    case 405:
    case 415:
    case 422:
        return STATUS_INVALID;
    case 404:
        return STATUS_NOT_FOUND;
    case 409:
        return STATUS_CONFLICT;
    case 410:
        return STATUS_STALE;
    case 429:
        return STATUS_FULL;
    default:
        return http_status >= 500 ? STATUS_UNAVAILABLE : STATUS_BACKEND;
    }
}

/* 'pods "x" is forbidden: User "hpd" cannot create resource "pods/eviction" in …': from the user on, as a name may fill the sentence.
 * NULL: the user has the right. An admission webhook or a policy refuses with 403, too, in words of its own. */
static const char *missing_right(int http_status, const char *said)
{
    static const char forbidden[] = "forbidden: ";
    const char *why = said == NULL || http_status != 403 ? NULL : strstr(said, forbidden);
    if (why == NULL || text_starts_with(said, "admission webhook "))
        return NULL;
    why += strlen(forbidden);
    return text_starts_with(why, "User ") && strstr(why, " cannot ") != NULL ? why : NULL;
}

/* The server's own sentence, which names who may not do what. */
static int refused(struct kube_call *call, const struct kube_request *request, const struct http_reply *reply)
{
    auto_json json_t *json = NULL;
    char error[JSON_ERROR_MAX];
    const char *said = NULL;
    if (json_parse(reply->body, reply->len, REPLY_BYTES_MAX, &json, error) == 0)
        said = json_string_value(json_object_get(json, "message"));
    const char *right = missing_right(reply->status, said);
    if (right != NULL)
        return kube_call_fail(call, STATUS_DENIED, KUBE_RIGHT_MISSING "%.200s", right);
    size_t path = strcspn(request->path, "?");
    return kube_call_fail(call, status_of_http(reply->status), "%s %.*s: HTTP %d: %.180s", request->method,
                          path < PATH_SHOWN_MAX ? (int)path : PATH_SHOWN_MAX, request->path, reply->status,
                          said != NULL ? said : status_meaning(status_of_http(reply->status)));
}

static int send_once(struct kube_call *call, const struct kube_request *request, const char *body,
                     struct http_reply *ret_reply)
{
    static const char *const headers[] = {ASK_ACCEPT, NULL};
    struct kube_client *client = call->client;
    autofree char *path = own_printf("%s%s", client->access.prefix, request->path);
    autofree char *token = NULL;
    char error[HTTP_ERROR_MAX > JSON_ERROR_MAX ? HTTP_ERROR_MAX : JSON_ERROR_MAX];
    struct http_client *http;
    int status = kube_credential_token(client->credential, kube_call_left_ms(call), &token, &call->token, error);
    if (status != 0)
        return kube_call_fail(call, status, "%s", error);
    status = take_turn(call, request->path, &http);
    if (status != 0)
        return status;
    int64_t left = kube_call_left_ms(call);
    http_client_limit(http, left > 0 ? left : 1);
    status = http_client_token(http, token);
    if (status == 0)
        status = http_request(http, request->method, path,
                              body == NULL                    ? NULL
                              : request->content_type != NULL ? request->content_type
                                                              : "application/json",
                              body, body == NULL ? 0 : strlen(body), headers, REPLY_BYTES_MAX, ret_reply, error);
    end_turn(client, http);
    if (status == STATUS_TIMEOUT)
        return too_late(call, request->path);
    return status == 0 ? 0 : kube_call_fail(call, status, "%s", error);
}

/* What stands between a request and the next try of it. */
struct tries {
    bool refreshed;
    int64_t pause_ms;
};

/* A token that was refused may have been rotated meanwhile: it is fetched anew, once. A server that has too much to do is left alone for
 * as long as it says. */
static bool again(struct kube_call *call, const struct kube_request *request, const struct http_reply *reply,
                  struct tries *tries)
{
    if (reply->status == 401 && !tries->refreshed) {
        tries->refreshed = true;
        kube_credential_refused(call->client->credential, call->token);
        return true;
    }
    if (reply->status != 429 || request->once)
        return false;
    tries->pause_ms = tries->pause_ms == 0 ? RETRY_MS_MIN : 2 * tries->pause_ms;
    if (tries->pause_ms > RETRY_MS_MAX)
        tries->pause_ms = RETRY_MS_MAX;
    int64_t pause = call->pause_ms > 0 ? call->pause_ms : tries->pause_ms;
    return pause < kube_call_left_ms(call) && kube_client_sleep(call->client, pause);
}

/* The answer of a request that was not refused. */
static int ask_reply(struct kube_call *call, const struct kube_request *request, struct http_reply *ret_reply)
{
    autofree char *body = request->body == NULL ? NULL : json_dumps(request->body, JSON_COMPACT);
    struct tries tries = {0};
    for (;;) {
        struct http_reply reply = {0};
        int status = send_once(call, request, body, &reply);
        if (status != 0)
            return status;
        call->http_status = reply.status;
        call->pause_ms = reply.retry_after_s * MS_PER_S;
        if (again(call, request, &reply, &tries)) {
            http_reply_free(&reply);
            continue;
        }
        if (reply.status >= 200 && reply.status <= 299) {
            *ret_reply = reply;
            return 0;
        }
        status = refused(call, request, &reply);
        http_reply_free(&reply);
        return status;
    }
}

int kube_ask(struct kube_call *call, const struct kube_request *request, json_t **ret_json)
{
    struct http_reply reply;
    char error[JSON_ERROR_MAX];
    int status = ask_reply(call, request, &reply);
    if (status != 0)
        return status;
    if (ret_json != NULL && json_parse(reply.body, reply.len, REPLY_BYTES_MAX, ret_json, error) != 0)
        status = kube_call_fail(call, STATUS_BACKEND, "%s answered %.80s with what cannot be read: %.100s",
                                call->client->access.server, request->path, error);
    http_reply_free(&reply);
    return status;
}

int kube_get_text(struct kube_call *call, const char *path, char **ret_text, size_t *ret_len)
{
    struct http_reply reply;
    int status = ask_reply(call, &(struct kube_request){.method = "GET", .path = path}, &reply);
    if (status != 0)
        return status;
    *ret_len = reply.len;
    *ret_text = own_calloc(reply.len + 1, 1);
    if (reply.len > 0)
        memcpy(*ret_text, reply.body, reply.len);
    http_reply_free(&reply);
    return 0;
}

int kube_get(struct kube_call *call, const char *path, json_t **ret_json)
{
    return kube_ask(call, &(struct kube_request){.method = "GET", .path = path}, ret_json);
}

/* --- watches -------------------------------------------------------------------------------------------------------- */

struct lines {
    struct text rest;
    bool (*on_line)(const char *line, size_t len, void *arg);
    void *arg;
    bool too_long, refused;
};

static bool on_bytes(const char *bytes, size_t len, void *arg)
{
    struct lines *lines = arg;
    if (len == 0)
        return lines->on_line("", 0, lines->arg);
    while (len > 0) {
        const char *end = memchr(bytes, '\n', len);
        size_t part = end == NULL ? len : (size_t)(end - bytes);
        if (part > LINE_BYTES_MAX - lines->rest.len) {
            lines->too_long = true;
            return false;
        }
        text_add_bytes(&lines->rest, bytes, part);
        if (end == NULL)
            return true;
        if (lines->rest.len > 0 && !lines->on_line(lines->rest.data, lines->rest.len, lines->arg)) {
            lines->refused = true;
            return false;
        }
        text_clear(&lines->rest);
        bytes += part + 1;
        len -= part + 1;
    }
    return true;
}

static int begin_watch(struct kube_call *call, struct http_client **ret_http)
{
    struct kube_client *client = call->client;
    autofree char *token = NULL;
    char error[JSON_ERROR_MAX];
    int status = kube_credential_token(client->credential, client->timeout_ms, &token, &call->token, error);
    if (status != 0)
        return kube_call_fail(call, status, "%s", error);
    status = connect_new(call, ret_http);
    if (status == 0 && http_client_token(*ret_http, token) != 0)
        status = kube_call_fail(call, STATUS_INVALID, "the token holds a line break");
    if (status != 0)
        return status;
    pthread_mutex_lock(&client->lock);
    keep_busy(client->watches, WATCHES_MAX, NULL, *ret_http);
    if (client->stopped)
        http_client_cancel(*ret_http);
    pthread_mutex_unlock(&client->lock);
    return 0;
}

static void end_watch(struct kube_client *client, struct http_client *http)
{
    pthread_mutex_lock(&client->lock);
    keep_busy(client->watches, WATCHES_MAX, http, NULL);
    pthread_mutex_unlock(&client->lock);
    http_client_free(http);
}

static int watch_refused(struct kube_call *call, const char *path)
{
    autofree char *plain = own_printf("%.*s", (int)strcspn(path, "?"), path);
    const char *resource = strrchr(plain, '/') + 1;
    if (call->http_status == 403)
        return kube_call_fail(call, STATUS_DENIED, KUBE_RIGHT_MISSING "hpd cannot watch resource \"%s\"", resource);
    return kube_call_fail(call, status_of_http(call->http_status), "the watch of %s: HTTP %d", plain,
                          call->http_status);
}

int kube_watch(struct kube_call *call, const char *path, bool (*on_line)(const char *line, size_t len, void *arg),
               void *arg, int64_t idle_ms)
{
    struct lines lines = {.on_line = on_line, .arg = arg};
    struct http_client *http = NULL;
    char error[HTTP_ERROR_MAX];
    autofree char *whole = own_printf("%s%s", call->client->access.prefix, path);
    int status = begin_watch(call, &http);
    if (status != 0) {
        http_client_free(http);
        return status;
    }
    status = http_stream(http, whole, on_bytes, &lines, idle_ms, &call->http_status, error);
    call->pause_ms = http_client_retry_after_s(http) * MS_PER_S;
    end_watch(call->client, http);
    text_free(&lines.rest);
    if (lines.too_long)
        return kube_call_fail(call, STATUS_TOO_LARGE, "a line of a watch is longer than %zu bytes", LINE_BYTES_MAX);
    if (status != 0)
        return kube_call_fail(call, status, "%s", error);
    if (call->http_status == 401)
        kube_credential_refused(call->client->credential, call->token);
    return call->http_status == 200 ? 0 : watch_refused(call, path);
}

/* --- life ----------------------------------------------------------------------------------------------------------- */

int kube_client_new(struct kube_access *access, int64_t timeout_ms, struct kube_client **ret_client, char *ret_error)
{
    struct kube_client *client = own_calloc(1, sizeof(*client));
    pthread_condattr_t attr;
    client->access = *access;
    *access = (struct kube_access){0};
    client->timeout_ms = timeout_ms;
    client->credential = kube_credential_new(&client->access);
    for (int i = 0; i < PEM_FILES; i++)
        client->fds[i] = -1;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_mutex_init(&client->lock, NULL);
    pthread_cond_init(&client->changed, &attr);
    pthread_condattr_destroy(&attr);
    const struct kube_pem *pems[PEM_FILES] = {&client->access.ca, &client->access.certificate, &client->access.key};
    for (int i = 0; i < PEM_FILES; i++)
        if (pem_file(pems[i], &client->files[i], &client->fds[i]) != 0) {
            snprintf(ret_error, SCHEDULER_ERROR_MAX, "certificates cannot be kept in memory: %s", strerror(errno));
            kube_client_free(client);
            return STATUS_IO;
        }
    *ret_client = client;
    return 0;
}

void kube_client_stop(struct kube_client *client)
{
    pthread_mutex_lock(&client->lock);
    client->stopped = true;
    for (int i = 0; i < WATCHES_MAX; i++)
        if (client->watches[i] != NULL)
            http_client_cancel(client->watches[i]);
    for (int i = 0; i < CONNECTIONS_MAX; i++)
        if (client->busy[i] != NULL)
            http_client_cancel(client->busy[i]);
    pthread_cond_broadcast(&client->changed);
    pthread_mutex_unlock(&client->lock);
}

void kube_client_free(struct kube_client *client)
{
    if (client == NULL)
        return;
    while (client->idle_count > 0)
        http_client_free(client->idle[--client->idle_count]);
    for (int i = 0; i < PEM_FILES; i++) {
        free(client->files[i]);
        if (client->fds[i] >= 0)
            close(client->fds[i]);
    }
    kube_credential_free(client->credential);
    kube_access_free(&client->access);
    pthread_cond_destroy(&client->changed);
    pthread_mutex_destroy(&client->lock);
    free(client);
}

const char *kube_client_server(const struct kube_client *client)
{
    return client->access.server;
}
