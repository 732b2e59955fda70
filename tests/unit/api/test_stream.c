/* The live stream: from now, from the past without a gap or a repeat, by filter, kept alive, bounded, and dropped when slow. */
#include "api_world.h"

#include "api/stream.h"

static struct api_world aw;

static int setup(void **state)
{
    const struct api_options options = {.keep_alive_ms = 150, .reply_ms = 1000, .tick_ms = 50};
    (void)state;
    raise_descriptor_limit();
    api_world_open(&aw, &options);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    api_world_close(&aw);
    return 0;
}

struct added {
    struct event event;
    int count;
};

static int insert_events(struct db_tx *tx, void *arg)
{
    struct added *added = arg;
    int status = 0;
    for (int i = 0; i < added->count && status == 0; i++)
        status = db_event_insert(tx, &added->event);
    return status;
}

/* More lines of the timeline, in one commit; returns the id of the last. */
static int64_t add_events(const char *cluster, const char *node, const char *message, int count)
{
    struct added added = {.event = {.level = EVENT_LEVEL_INFO, .kind = EVENT_KIND_NODE_STATE}, .count = count};
    snprintf(added.event.cluster, sizeof added.event.cluster, "%s", cluster);
    snprintf(added.event.node, sizeof added.event.node, "%s", node);
    snprintf(added.event.message, sizeof added.event.message, "%s", message);
    world_write(&aw.world, insert_events, &added);
    api_events_added(aw.api);
    return added.event.id;
}

static int64_t add_event(const char *cluster, const char *node, const char *message)
{
    return add_events(cluster, node, message, 1);
}

struct follower {
    int fd;
    struct text seen; /* without the chunk framing */
    size_t raw_at;
    bool ended; /* the last chunk came */
    struct text raw;
};

static struct follower follow(const char *query, const char *more)
{
    struct follower f = {.fd = client_connect(&aw)};
    autofree char *path = own_printf("/v1/events/stream%s", query);
    autofree char *request = client_request("GET", path, aw.viewer, more, NULL);
    client_send(f.fd, request);
    return f;
}

static void follower_close(struct follower *f)
{
    close(f->fd);
    text_free(&f->seen);
    text_free(&f->raw);
}

/* Takes whole chunks out of what came. */
static void unchunk(struct follower *f)
{
    char *end;
    while (f->raw.len > f->raw_at && (end = strstr(f->raw.data + f->raw_at, "\r\n")) != NULL) {
        size_t len = strtoul(f->raw.data + f->raw_at, NULL, 16), start = (size_t)(end + 2 - f->raw.data);
        if (f->raw.len < start + len + 2)
            return;
        text_add_bytes(&f->seen, f->raw.data + start, len);
        f->ended = len == 0;
        f->raw_at = start + len + 2;
    }
}

static bool follower_more(struct follower *f)
{
    char buffer[4096];
    if (f->ended)
        return false;
    ssize_t n = recv(f->fd, buffer, sizeof buffer, 0);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        fail_msg("the stream said nothing for %d s; so far: %s", REPLY_WAIT_S, text_get(&f->seen));
    if (n <= 0)
        return false;
    text_add_bytes(&f->raw, buffer, (size_t)n);
    char *end;
    if (f->raw_at == 0 && (end = strstr(f->raw.data, "\r\n\r\n")) != NULL)
        f->raw_at = (size_t)(end + 4 - f->raw.data);
    if (f->raw_at > 0)
        unchunk(f);
    return true;
}

static void wait_for_text(struct follower *f, const char *text)
{
    while (strstr(text_get(&f->seen), text) == NULL)
        if (!follower_more(f))
            fail_msg("the stream ended before \"%s\": %s", text, text_get(&f->raw));
}

/* The ids in the order in which they came. */
static size_t ids_of(struct follower *f, int64_t *ret_ids, size_t max)
{
    size_t count = 0;
    const char *at = text_get(&f->seen);
    while ((at = strstr(at, "id: ")) != NULL && count < max) {
        if (at == f->seen.data || at[-1] == '\n')
            ret_ids[count++] = strtoll(at + 4, NULL, 10);
        at += 4;
    }
    return count;
}

static void test_from_now_on(void **state)
{
    (void)state;
    struct follower f = follow("", NULL);
    wait_for_text(&f, ": the timeline follows\n\n");
    usleep(100000); /* it begins with what is newest when it is looked at; not a race the test is about */
    autofree char *want =
        own_printf("id: %" PRId64 "\nevent: node-state\ndata: {\"id\":", add_event("train", "gpu-1", "first"));
    wait_for_text(&f, want);
    wait_for_text(&f, "\"message\":\"first\"}\n\n");
    assert_non_null(strstr(text_get(&f.raw), "Content-Type: text/event-stream"));
    int64_t ids[8];
    assert_int_equal(ids_of(&f, ids, 8), 1); /* nothing of the past */
    follower_close(&f);
}

static void test_keep_alive_in_silence(void **state)
{
    (void)state;
    struct follower f = follow("", NULL);
    wait_for_text(&f, ": keep-alive\n\n: keep-alive\n\n");
    follower_close(&f);
}

/* More than a page of past, while new ones come in: every id once, in order. */
static void past_and_present(const char *query, const char *more, int64_t first, int count, const char *end)
{
    enum { MAX = 2000 };
    static int64_t ids[MAX];
    struct follower f = follow(query, more);
    for (int i = 0; i < 50; i++)
        add_event("train", "gpu-1", "during");
    add_event("train", "gpu-1", end);
    wait_for_text(&f, end);
    size_t got = ids_of(&f, ids, MAX);
    assert_int_equal(got, count + 51);
    assert_int_equal(ids[0], first);
    for (size_t i = 1; i < got; i++)
        assert_int_equal(ids[i], ids[i - 1] + 1);
    follower_close(&f);
}

static void test_from_the_past_without_gap_or_repeat(void **state)
{
    enum { PAST = 700 };
    (void)state;
    int64_t first = add_event("train", "gpu-1", "past");
    for (int i = 1; i < PAST; i++)
        add_event("train", "gpu-1", "past");
    autofree char *query = own_printf("?after=%" PRId64, first - 1);
    past_and_present(query, NULL, first, PAST, "the last one");
    /* What a browser remembers goes before what the address says. */
    autofree char *more = own_printf("Last-Event-ID: %" PRId64 "\r\n", first + PAST - 2);
    past_and_present("?after=0", more, first + PAST - 1, 1 + 51, "the very last one");
}

static void test_filters(void **state)
{
    (void)state;
    int64_t start = add_event("train", "gpu-1", "before");
    autofree char *query = own_printf("?cluster=train&node=gpu-2&after=%" PRId64, start);
    struct follower f = follow(query, NULL);
    add_event("train", "gpu-1", "no: another node");
    add_event("other", "gpu-2", "no: another cluster");
    int64_t wanted = add_event("train", "gpu-2", "yes one");
    wait_for_text(&f, "yes one");
    add_event("other", "gpu-2", "no: another cluster");
    int64_t also = add_event("train", "gpu-2", "yes two");
    wait_for_text(&f, "yes two");
    int64_t ids[8];
    assert_int_equal(ids_of(&f, ids, 8), 2);
    assert_int_equal(ids[0], wanted);
    assert_int_equal(ids[1], also);
    assert_null(strstr(text_get(&f.seen), "no:"));
    follower_close(&f);
}

static void test_bad_last_event_id(void **state)
{
    (void)state;
    struct reply reply = client_ask(&aw, "GET", "/v1/events/stream", aw.viewer, "Last-Event-ID: yesterday\r\n", NULL);
    assert_reply_problem(&reply, 400, "invalid-value");
    reply_free(&reply);
}

static int64_t open_streams(void)
{
    struct reply reply = client_ask(&aw, "GET", "/metrics", NULL, NULL, NULL);
    const char *at = strstr(reply.body, "\nholdfast_http_streams ");
    assert_non_null(at);
    int64_t count = strtoll(at + strlen("\nholdfast_http_streams "), NULL, 10);
    reply_free(&reply);
    return count;
}

static void wait_for_streams(int64_t count)
{
    for (int i = 0; i < 3000 && open_streams() != count; i++)
        usleep(2000);
    assert_int_equal(open_streams(), count);
}

static void test_streams_are_bounded_and_forgotten(void **state)
{
    static struct follower all[STREAMS_MAX];
    (void)state;
    wait_for_streams(0); /* those of the other tests: noticed at the next keep-alive */
    for (int i = 0; i < STREAMS_MAX; i++) {
        all[i] = follow("", NULL);
        wait_for_text(&all[i], ": the timeline follows");
    }
    struct reply reply = client_ask(&aw, "GET", "/v1/events/stream", aw.viewer, NULL, NULL);
    assert_reply_problem(&reply, 503, "unavailable");
    reply_free(&reply);
    add_event("train", "gpu-1", "to everybody");
    for (int i = 0; i < STREAMS_MAX; i++) {
        wait_for_text(&all[i], "to everybody");
        follower_close(&all[i]);
    }
    wait_for_streams(0);
}

/* A client that takes nothing is not waited for and costs a bounded amount of memory. */
static void test_a_slow_client_is_dropped(void **state)
{
    (void)state;
    int small = 128 * 1024; /* less than a segment of the loopback would make TCP itself stall */
    struct follower f = {.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(api_port(aw.api))};
    struct timeval wait = {.tv_sec = REPLY_WAIT_S};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(f.fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    setsockopt(f.fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
    assert_int_equal(connect(f.fd, (struct sockaddr *)&to, sizeof to), 0);
    autofree char *request = client_request("GET", "/v1/events/stream", aw.viewer, NULL, NULL);
    client_send(f.fd, request);
    wait_for_text(&f, ": the timeline follows");
    char message[500];
    memset(message, 'm', sizeof message - 1);
    message[sizeof message - 1] = '\0';
    /* Some 8 MB: more than sockets and the limit hold together. Another follower shows that the server has sent them
     * before the slow one reads anything; else a busy server and a slow reader could keep pace with each other. */
    struct follower quick = follow("", NULL);
    wait_for_text(&quick, ": the timeline follows");
    for (int i = 0; i < 60; i++) {
        char mark[32];
        snprintf(mark, sizeof mark, "batch %d is over", i);
        add_events("train", "gpu-1", message, 199);
        add_event("train", "gpu-1", mark);
        wait_for_text(&quick, mark);
        text_clear(&quick.seen);
    }
    follower_close(&quick);
    while (follower_more(&f)) /* it ends, and not because all was read */
        ;
    static int64_t ids[20000];
    size_t got = ids_of(&f, ids, ARRAY_LEN(ids));
    assert_true(got < 12000);
    for (size_t i = 1; i < got; i++)
        assert_int_equal(ids[i], ids[i - 1] + 1);
    follower_close(&f);
    wait_for_streams(0);
}

static void test_stopping_ends_streams(void **state)
{
    static struct api_world other;
    (void)state;
    api_world_open(&other, NULL);
    struct follower f = {.fd = client_connect(&other)};
    autofree char *request = client_request("GET", "/v1/events/stream?after=0", other.viewer, NULL, NULL);
    client_send(f.fd, request);
    wait_for_text(&f, "cluster-created");
    api_world_close(&other);
    while (follower_more(&f))
        ;
    assert_true(f.ended); /* an orderly end, not a cut */
    follower_close(&f);
}

/* Long before its token is looked at again by itself. */
static void test_a_deleted_token_ends_its_stream(void **state)
{
    (void)state;
    struct reply made = client_ask(&aw, "POST", "/v1/tokens", aw.admin, NULL,
                                   "{\"kind\":\"api\",\"name\":\"eve\",\"role\":\"viewer\"}");
    assert_int_equal(made.status, 201);
    auto_json json_t *token = json_loads(made.body, 0, NULL);
    struct follower f = {.fd = client_connect(&aw)}, other = follow("", NULL);
    autofree char *request =
        client_request("GET", "/v1/events/stream", json_string_value(json_object_get(token, "secret")), NULL, NULL);
    client_send(f.fd, request);
    wait_for_text(&f, ": the timeline follows\n\n");
    int64_t began_us = clock_stopwatch_us();
    autofree char *path = own_printf("/v1/tokens/%s", json_string_value(json_object_get(token, "id")));
    struct reply gone = client_ask(&aw, "DELETE", path, aw.admin, NULL, NULL);
    assert_int_equal(gone.status, 204);
    while (follower_more(&f))
        assert_true(clock_stopwatch_us() - began_us < STREAM_RECHECK_MS * 1000 / 2);
    assert_true(f.ended);
    wait_for_text(&other, ": keep-alive\n\n"); /* somebody else's goes on */
    reply_free(&made);
    reply_free(&gone);
    follower_close(&f);
    follower_close(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_from_now_on),
        cmocka_unit_test(test_keep_alive_in_silence),
        cmocka_unit_test(test_from_the_past_without_gap_or_repeat),
        cmocka_unit_test(test_filters),
        cmocka_unit_test(test_bad_last_event_id),
        cmocka_unit_test(test_streams_are_bounded_and_forgotten),
        cmocka_unit_test(test_a_slow_client_is_dropped),
        cmocka_unit_test(test_a_deleted_token_ends_its_stream),
        cmocka_unit_test(test_stopping_ends_streams),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
