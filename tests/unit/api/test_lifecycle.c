/* Requests that wait: clients that leave meanwhile, the server that stops meanwhile, and commits that fail. */
#include "api_world.h"

#include <pthread.h>

static struct api_world aw;

static int setup(void **state)
{
    (void)state;
    raise_descriptor_limit();
    api_world_open(&aw, NULL);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    api_world_close(&aw);
    return 0;
}

static int send_verdict(int number)
{
    autofree char *body = agent_verdict_body(number);
    autofree char *request = client_request("POST", "/v1/agent/verdicts", aw.agent, NULL, body);
    int fd = client_connect(&aw);
    client_send(fd, request);
    return fd;
}

static int64_t gauge(struct api_world *world, const char *name)
{
    struct reply reply = client_ask(world, "GET", "/metrics", NULL, NULL, NULL);
    assert_int_equal(reply.status, 200);
    autofree char *start = own_printf("\n%s ", name);
    const char *at = strstr(reply.body, start);
    assert_non_null(at);
    int64_t value = strtoll(at + strlen(start), NULL, 10);
    reply_free(&reply);
    return value;
}

/* The metrics request itself waits for a thread while it reads the gauge. */
static void wait_for_deferred(struct api_world *world, int64_t count)
{
    int64_t waiting = -1;
    for (int i = 0; i < REPLY_WAIT_S * 500 && waiting != count + 1; i++) {
        usleep(2000);
        waiting = gauge(world, "holdfast_http_requests_waiting");
    }
    assert_int_equal(waiting, count + 1);
}

static int count_verdict(const void *row, void *arg)
{
    (void)row;
    (*(int *)arg)++;
    return 0;
}

static int stored_verdicts(void)
{
    int count = 0;
    assert_int_equal(service_verdict_list(&aw.world.service, "train", "gpu-1", -1, 0, 1000, count_verdict, &count,
                                          &aw.world.problem),
                     0);
    return count;
}

/* Abrupt (RST), orderly, and half closes while the commit is pending. What was sent is stored all the same. */
static void test_clients_that_leave_before_the_commit(void **state)
{
    enum { CLIENTS = 60 };
    struct writer_hold hold;
    int fds[CLIENTS];
    (void)state;
    int before = stored_verdicts();
    writer_hold_begin(&aw, &hold);
    for (int i = 0; i < CLIENTS; i++)
        fds[i] = send_verdict(i);
    wait_for_deferred(&aw, CLIENTS);
    for (int i = 0; i < CLIENTS; i++) {
        struct linger reset = {.l_onoff = 1, .l_linger = 0};
        if (i % 3 == 0)
            setsockopt(fds[i], SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
        if (i % 3 == 2)
            shutdown(fds[i], SHUT_WR);
        else
            close(fds[i]);
    }
    writer_hold_end(&hold);
    for (int i = 2; i < CLIENTS; i += 3) { /* those that only stopped talking hear the answer, or see the end */
        struct reply reply = client_read_all(fds[i]);
        assert_true(reply.status == 200 || reply.status == 0);
        reply_free(&reply);
        close(fds[i]);
    }
    wait_for_deferred(&aw, 0);
    assert_int_equal(stored_verdicts(), before + CLIENTS);
}

/* An answer only ever comes after the commit. */
static void test_no_answer_before_the_commit(void **state)
{
    struct writer_hold hold;
    char c;
    (void)state;
    writer_hold_begin(&aw, &hold);
    int fd = send_verdict(1000);
    wait_for_deferred(&aw, 1);
    assert_int_equal(recv(fd, &c, 1, MSG_DONTWAIT | MSG_PEEK), -1);
    assert_int_equal(errno, EAGAIN);
    writer_hold_end(&hold);
    struct reply reply = client_read_reply(fd, false);
    assert_int_equal(reply.status, 200);
    assert_string_equal(reply.body, "{}");
    reply_free(&reply);
    close(fd);
}

/* Pipelined behind a request that waits: answered in order. */
static void test_pipelined_behind_a_pending_commit(void **state)
{
    struct writer_hold hold;
    (void)state;
    writer_hold_begin(&aw, &hold);
    int fd = send_verdict(2000);
    client_send(fd, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\nGET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n");
    wait_for_deferred(&aw, 1);
    writer_hold_end(&hold);
    static const int wanted[] = {200, 200, 404};
    for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
        struct reply reply = client_read_reply(fd, false);
        assert_int_equal(reply.status, wanted[i]);
        reply_free(&reply);
    }
    close(fd);
}

/* While the store stands still the event loops do not. */
static void test_the_loops_never_wait_for_the_store(void **state)
{
    enum { CLIENTS = 40 };
    struct writer_hold hold;
    int fds[CLIENTS];
    (void)state;
    writer_hold_begin(&aw, &hold);
    for (int i = 0; i < CLIENTS; i++) { /* every request thread waits for the writer */
        autofree char *body = own_printf("{\"kind\":\"api\",\"name\":\"waiting-%d\",\"role\":\"viewer\"}", i);
        autofree char *request = client_request("POST", "/v1/tokens", aw.admin, NULL, body);
        fds[i] = client_connect(&aw);
        client_send(fds[i], request);
    }
    int beat = client_connect(&aw);
    for (int i = 0; i < 100; i++) {
        struct reply reply = client_ask(&aw, "GET", "/healthz", NULL, NULL, NULL);
        assert_int_equal(reply.status, 200);
        reply_free(&reply);
    }
    close(beat);
    writer_hold_end(&hold);
    for (int i = 0; i < CLIENTS; i++) {
        struct reply reply = client_read_reply(fds[i], false);
        assert_int_equal(reply.status, 201);
        reply_free(&reply);
        close(fds[i]);
    }
}

/* As many verdicts as a report may have. */
static int send_full_report(int number)
{
    struct text t = {0};
    text_add(&t, "{\"instanceId\":\"" WORLD_INSTANCE "\",\"bootId\":\"" WORLD_BOOT "\",\"sentAtMs\":5,\"verdicts\":[");
    for (int v = 0; v < VERDICTS_PER_POST_MAX; v++)
        text_printf(
            &t,
            "%s{\"key\":\"behind-%d-%d\",\"source\":\"kmsg\",\"code\":\"xid.13\",\"firstAtMs\":1,\"lastAtMs\":2,"
            "\"count\":1,\"severity\":\"ok\"}",
            v > 0 ? "," : "", number, v);
    text_add(&t, "]}");
    autofree char *request = client_request("POST", "/v1/agent/verdicts", aw.agent, NULL, text_get(&t));
    text_free(&t);
    int fd = client_connect(&aw);
    client_send(fd, request);
    return fd;
}

/* Until so many of them have something to read, whichever they are. */
static void wait_for_answers(const int *fds, int count, int wanted)
{
    autofree struct pollfd *polled = own_calloc((size_t)count, sizeof *polled);
    int answered = 0;
    for (int i = 0; i < count; i++)
        polled[i] = (struct pollfd){.fd = fds[i], .events = POLLIN};
    for (int tries = 0; tries < REPLY_WAIT_S * 100 && answered < wanted; tries++) {
        answered = poll(polled, (nfds_t)count, 0);
        usleep(10000);
    }
    assert_int_equal(answered, wanted);
}

/* While the disk is slow only so much is kept in memory; the rest is told to come back, at once. Several threads take
 * the reports, each in its own order, so nobody knows which will be the ones too many. */
static void test_a_store_that_is_behind(void **state)
{
    enum { CLIENTS = 300, KEPT = 16384 / VERDICTS_PER_POST_MAX };
    struct writer_hold hold;
    int fds[CLIENTS], refused = 0, kept = 0;
    (void)state;
    writer_hold_begin(&aw, &hold);
    for (int i = 0; i < CLIENTS; i++)
        fds[i] = send_full_report(i);
    wait_for_answers(fds, CLIENTS, CLIENTS - KEPT); /* refused while the writer stands still */
    writer_hold_end(&hold);
    for (int i = 0; i < CLIENTS; i++) {
        char value[16];
        struct reply reply = client_read_reply(fds[i], false);
        if (reply.status == 200) {
            kept++;
        } else {
            assert_true(reply.status == 503 || reply.status == 507);
            assert_reply_problem(&reply, reply.status, reply.status == 503 ? "unavailable" : "store-full");
            assert_non_null(reply_header(&reply, "Retry-After", value, sizeof value));
            refused++;
        }
        reply_free(&reply);
        close(fds[i]);
    }
    assert_int_equal(kept, KEPT);
    assert_int_equal(refused, CLIENTS - KEPT);
}

static void *stop_server(void *arg)
{
    api_world_close(arg);
    return NULL;
}

/* Stopping waits for what was taken: every client that waited is answered. */
static void test_stopping_answers_what_was_taken(void **state)
{
    enum { CLIENTS = 30 };
    static struct api_world other;
    struct writer_hold hold;
    pthread_t stopper;
    int fds[CLIENTS];
    (void)state;
    api_world_open(&other, NULL);
    writer_hold_begin(&other, &hold);
    for (int i = 0; i < CLIENTS; i++) {
        autofree char *body = agent_verdict_body(i);
        autofree char *request = client_request("POST", "/v1/agent/verdicts", other.agent, NULL, body);
        fds[i] = client_connect(&other);
        client_send(fds[i], request);
    }
    int idle = client_connect(&other), half = client_connect(&other);
    client_send(half, "POST /v1/agent/verdicts HTTP/1.1\r\nHost: x\r\nContent-");
    wait_for_deferred(&other, CLIENTS); /* a connection that no loop has read is not "taken" */
    assert_int_equal(pthread_create(&stopper, NULL, stop_server, &other), 0);
    usleep(20000);
    writer_hold_end(&hold);
    assert_int_equal(pthread_join(stopper, NULL), 0);
    for (int i = 0; i < CLIENTS; i++) {
        struct reply reply = client_read_all(fds[i]);
        assert_int_equal(reply.status, 200);
        reply_free(&reply);
        close(fds[i]);
    }
    close(idle);
    close(half);
}

static void test_start_and_stop_many_times(void **state)
{
    struct service *s = &aw.world.service;
    (void)state;
    for (int i = 0; i < 20; i++) {
        const struct api_options options = {
            .listen = "127.0.0.1:0", .version = "1", .fault_table_version = "1", .workers = 1 + i % 4};
        struct api *api = NULL;
        char error[API_ERROR_MAX];
        if (api_start(&options, s, &api, error) != 0)
            fail_msg("%s", error);
        api_events_added(api);
        api_stop(api);
        api_events_added(api); /* the store's writer may tell of events to the last */
        api_free(api);
        s->events_added = NULL;
    }
    api_stop(NULL);
    api_free(NULL);
}

static void test_a_port_in_use_is_an_error(void **state)
{
    char address[32], error[API_ERROR_MAX];
    struct api *api = NULL;
    (void)state;
    snprintf(address, sizeof address, "127.0.0.1:%d", api_port(aw.api));
    const struct api_options options = {.listen = address, .version = "1"};
    assert_int_equal(api_start(&options, &aw.world.service, &api, error), STATUS_UNAVAILABLE);
    assert_null(api);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clients_that_leave_before_the_commit),
        cmocka_unit_test(test_no_answer_before_the_commit),
        cmocka_unit_test(test_pipelined_behind_a_pending_commit),
        cmocka_unit_test(test_the_loops_never_wait_for_the_store),
        cmocka_unit_test(test_a_store_that_is_behind),
        cmocka_unit_test(test_stopping_answers_what_was_taken),
        cmocka_unit_test(test_start_and_stop_many_times),
        cmocka_unit_test(test_a_port_in_use_is_an_error),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
