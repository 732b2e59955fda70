/*
 * The service's small world with the API in front of it, and clients that speak bytes: what is sent is written out, so
 * that a test can be as rude as it likes.
 *
 * Every read has a deadline, so a server that falls silent fails a test instead of stopping it.
 */
#ifndef HOLDFAST_TESTS_UNIT_API_WORLD_H
#define HOLDFAST_TESTS_UNIT_API_WORLD_H

#include "tests/support/service_world.h"

#include "api/api.h"
#include "base/json.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define REPLY_MAX (4 * 1024 * 1024)
#define REPLY_HEADER_MAX (16 * 1024)
#define REPLY_WAIT_S 120

struct api_world {
    struct world world;
    struct api *api;
    char viewer[SERVICE_TOKEN_TEXT_MAX], operator[SERVICE_TOKEN_TEXT_MAX], admin[SERVICE_TOKEN_TEXT_MAX];
    char agent[SERVICE_TOKEN_TEXT_MAX]; /* of train's gpu-1 */
    int64_t node_id;
};

#define WORLD_INSTANCE "i-0123456789abcdef0"

WORLD_FN void api_world_token(struct api_world *aw, const char *name, enum role role, char *ret_text)
{
    struct token token;
    if (service_token_create_api(&aw->world.service, &world_admin, name, role, MS_PER_DAY, &token, ret_text,
                                 &aw->world.problem) < 0)
        fail_msg("token: %s", aw->world.problem.detail);
}

/* One cluster "train" with gpu-1 … gpu-4, of which gpu-1 is enrolled and ready; three tokens; deadlines by the real clock. */
WORLD_FN void api_world_open(struct api_world *aw, const struct api_options *options)
{
    char error[API_ERROR_MAX] = "";
    struct api_options o = options != NULL ? *options : (struct api_options){0};
    memset(aw, 0, sizeof *aw);
    world_open(&aw->world, 0);
    aw->world.clock = *clock_system(); /* deadlines are looked at by real threads */
    world_cluster(&aw->world, "train", "gpu", 4, ORCHESTRATOR_NONE);
    aw->node_id = world_ready(&aw->world, "train", "gpu-1", WORLD_INSTANCE, aw->agent);
    api_world_token(aw, "view", ROLE_VIEWER, aw->viewer);
    api_world_token(aw, "oper", ROLE_OPERATOR, aw->operator);
    api_world_token(aw, "boss", ROLE_ADMIN, aw->admin);
    if (o.listen == NULL)
        o.listen = "127.0.0.1:0";
    if (o.version == NULL)
        o.version = "1.0.0-test";
    if (o.fault_table_version == NULL)
        o.fault_table_version = "2026-11-20.1";
    o.schema_version = 1;
    aw->world.service.verdicts_stored = NULL;
    aw->world.service.agent_changed = NULL;
    aw->world.service.wake = NULL;
    if (api_start(&o, &aw->world.service, &aw->api, error) < 0)
        fail_msg("api_start: %s", error);
}

WORLD_FN void api_world_close(struct api_world *aw)
{
    api_stop(aw->api);
    world_close(&aw->world);
    api_free(aw->api);
}

/* --- clients ----------------------------------------------------------------------------------------- */

WORLD_FN int client_connect(struct api_world *aw)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(api_port(aw->api))};
    struct timeval wait = {.tv_sec = REPLY_WAIT_S};
    int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_true(fd >= 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(fd, (struct sockaddr *)&to, sizeof to) != 0)
        fail_msg("connect: %s", strerror(errno));
    return fd;
}

/* False when the server has closed: what a refused client may see. */
WORLD_FN bool client_send_bytes(int fd, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t n = send(fd, bytes, len, MSG_NOSIGNAL);
        if (n <= 0)
            return false;
        bytes += n;
        len -= (size_t)n;
    }
    return true;
}

WORLD_FN void client_send(int fd, const char *text)
{
    assert_true(client_send_bytes(fd, text, strlen(text)));
}

struct reply {
    int status; /* 0: the connection ended without one */
    char *text; /* header and body */
    char *body;
    size_t body_len;
    bool closed; /* the server ended the connection after it */
};

WORLD_FN void reply_free(struct reply *reply)
{
    free(reply->text);
    *reply = (struct reply){0};
}

WORLD_FN const char *reply_header(const struct reply *reply, const char *name, char *ret_value, size_t size)
{
    autofree char *start = own_printf("\r\n%s: ", name);
    const char *at = strcasestr(reply->text, start);
    ret_value[0] = '\0';
    if (at == NULL || at > reply->body)
        return NULL;
    at += strlen(start);
    snprintf(ret_value, size, "%.*s", (int)strcspn(at, "\r"), at);
    return ret_value;
}

WORLD_FN ssize_t reply_more(int fd, struct reply *reply, size_t *len)
{
    ssize_t n = *len + 1 < REPLY_MAX ? recv(fd, reply->text + *len, REPLY_MAX - *len - 1, 0) : 0;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        fail_msg("the server said nothing for %d s; so far: %s", REPLY_WAIT_S, reply->text);
    if (n <= 0)
        reply->closed = true;
    else
        reply->text[ *len += (size_t)n] = '\0';
    return n;
}

/* One reply with a Content-Length, and nothing of the next. head: it was asked for with HEAD. */
WORLD_FN struct reply client_read_reply(int fd, bool head)
{
    struct reply reply = {.text = own_calloc(1, REPLY_HEADER_MAX)};
    char value[32];
    size_t len = 0;
    char *end;
    /* One byte at a time up to the end of the header, so that a pipelined reply is left for the next call. */
    while ((end = strstr(reply.text + (len > 4 ? len - 4 : 0), "\r\n\r\n")) == NULL) {
        ssize_t n = len + 1 < REPLY_HEADER_MAX ? recv(fd, reply.text + len, 1, 0) : 0;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            fail_msg("the server said nothing for %d s; so far: %s", REPLY_WAIT_S, reply.text);
        if (n <= 0) {
            reply.closed = true;
            return reply;
        }
        reply.text[++len] = '\0';
    }
    reply.body = end + 4;
    reply.status = (int)strtol(reply.text + sizeof("HTTP/1.1 ") - 1, NULL, 10);
    size_t wanted = 0;
    if (!head && reply_header(&reply, "Content-Length", value, sizeof value) != NULL)
        wanted = strtoul(value, NULL, 10);
    reply.text = own_realloc(reply.text, len + wanted + 1, 1);
    reply.body = reply.text + len;
    while (reply.body_len < wanted) {
        ssize_t n = recv(fd, reply.body + reply.body_len, wanted - reply.body_len, 0);
        if (n <= 0) {
            reply.closed = true;
            break;
        }
        reply.body_len += (size_t)n;
    }
    reply.body[reply.body_len] = '\0';
    return reply;
}

/* All until the server closes. */
WORLD_FN struct reply client_read_all(int fd)
{
    struct reply reply = {.text = own_calloc(1, REPLY_MAX)};
    size_t len = 0;
    while (reply_more(fd, &reply, &len) > 0)
        ;
    char *end = strstr(reply.text, "\r\n\r\n");
    reply.body = end != NULL ? end + 4 : reply.text + len;
    reply.body_len = strlen(reply.body);
    reply.status =
        strncmp(reply.text, "HTTP/1.", 7) == 0 ? (int)strtol(reply.text + sizeof("HTTP/1.1 ") - 1, NULL, 10) : 0;
    return reply;
}

/* A well-formed request as text. token, body and more (whole header lines) may be NULL. Caller frees. */
WORLD_FN char *client_request(const char *method, const char *path, const char *token, const char *more,
                              const char *body)
{
    struct text t = {0};
    text_printf(&t, "%s %s HTTP/1.1\r\nHost: holdfast\r\n", method, path);
    if (token != NULL)
        text_printf(&t, "Authorization: Bearer %s\r\n", token);
    if (more != NULL)
        text_add(&t, more);
    if (body != NULL)
        text_printf(&t, "%sContent-Length: %zu\r\n",
                    more == NULL || strcasestr(more, "Content-Type") == NULL ? "Content-Type: application/json\r\n"
                                                                             : "",
                    strlen(body));
    text_add(&t, "\r\n");
    if (body != NULL)
        text_add(&t, body);
    return text_take(&t);
}

/* One exchange on a connection of its own. */
WORLD_FN struct reply client_ask(struct api_world *aw, const char *method, const char *path, const char *token,
                                 const char *more, const char *body)
{
    autofree char *request = client_request(method, path, token, more, body);
    int fd = client_connect(aw);
    client_send(fd, request);
    struct reply reply = client_read_reply(fd, strcmp(method, "HEAD") == 0);
    close(fd);
    return reply;
}

/* The reply's body as JSON, checked to be what its status promises. Caller frees. */
WORLD_FN json_t *reply_json(const struct reply *reply)
{
    char type[64], error[JSON_ERROR_MAX];
    json_t *json = NULL;
    if (json_parse(reply->body, reply->body_len, REPLY_MAX, &json, error) != 0)
        fail_msg("not JSON (%s): %s", error, reply->text);
    reply_header(reply, "Content-Type", type, sizeof type);
    assert_string_equal(type, reply->status < 400 ? "application/json" : "application/problem+json");
    return json;
}

/* A problem with this status and code, complete, with a sentence, and with the same id in header and body. */
WORLD_FN void assert_reply_problem(const struct reply *reply, int status, const char *code)
{
    char id[64];
    if (reply->status != status)
        fail_msg("wanted %d %s, got: %s", status, code, reply->text);
    auto_json json_t *json = reply_json(reply);
    assert_string_equal(json_string_value(json_object_get(json, "code")), code);
    assert_int_equal(json_integer_value(json_object_get(json, "status")), status);
    assert_non_null(json_string_value(json_object_get(json, "title")));
    assert_non_null(json_string_value(json_object_get(json, "type")));
    assert_true(strlen(json_string_value(json_object_get(json, "detail"))) > 10);
    assert_non_null(reply_header(reply, "X-Request-Id", id, sizeof id));
    assert_string_equal(json_string_value(json_object_get(json, "requestId")), id);
}

/* --- agents' messages --------------------------------------------------------------------------------- */

WORLD_FN char *agent_beat_body(int64_t seq)
{
    return own_printf("{\"instanceId\":\"" WORLD_INSTANCE "\",\"bootId\":\"" WORLD_BOOT "\",\"seq\":%" PRId64
                      ",\"sentAtMs\":%" PRId64 ",\"checks\":[\"kmsg\"],\"spooled\":0}",
                      seq, clock_wall_ms(clock_system()));
}

WORLD_FN char *agent_verdict_body(int number)
{
    int64_t now = clock_wall_ms(clock_system());
    return own_printf(
        "{\"instanceId\":\"" WORLD_INSTANCE "\",\"bootId\":\"" WORLD_BOOT "\",\"sentAtMs\":%" PRId64
        ",\"verdicts\":[{\"key\":\"key-%d\",\"device\":\"0000:b9:00\",\"source\":\"kmsg\",\"code\":\"xid.79\","
        "\"rawLine\":\"NVRM: Xid (PCI:0000:b9:00): 79, GPU has fallen off the bus.\",\"firstAtMs\":%" PRId64
        ",\"lastAtMs\":%" PRId64 ",\"count\":1,\"severity\":\"critical\",\"tableVersion\":\"2026-11-20.1\"}]}",
        now, number, now, now);
}

/* --- the store, held up --------------------------------------------------------------------------------- */

/* While it is held the store's writer stands still, so that verdicts stay unanswered for as long as a test likes. */
struct writer_hold {
    atomic_bool running, released;
    atomic_int done;
};

WORLD_FN int writer_hold_run(struct db_tx *tx, void *arg)
{
    struct writer_hold *hold = arg;
    (void)tx;
    atomic_store(&hold->running, true);
    while (!atomic_load(&hold->released))
        usleep(200);
    return 0;
}

WORLD_FN void writer_hold_done(int status, void *arg)
{
    (void)status;
    atomic_fetch_add(&((struct writer_hold *)arg)->done, 1);
}

WORLD_FN void writer_hold_begin(struct api_world *aw, struct writer_hold *hold)
{
    memset(hold, 0, sizeof *hold);
    assert_int_equal(db_write_async(aw->world.service.db, "hold", writer_hold_run, writer_hold_done, hold), 0);
    while (!atomic_load(&hold->running))
        usleep(200);
}

WORLD_FN void writer_hold_end(struct writer_hold *hold)
{
    atomic_store(&hold->released, true);
    while (atomic_load(&hold->done) == 0)
        usleep(200);
}

WORLD_FN void raise_descriptor_limit(void)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = limit.rlim_max < 8192 ? limit.rlim_max : 8192;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

#endif
