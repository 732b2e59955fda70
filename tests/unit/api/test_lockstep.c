/*
 * Many clients in lock-step: all send, all wait, all are answered at once. When exactly 128, 256 or 384 connections become ready together
 * libmicrohttpd's own epoll thread sleeps for ever (its inner loop asks epoll again, without a timeout, before it looks at
 * what it has); the loop in api/http.c must not.
 */
#include "api_world.h"

#define ROUNDS 12

static struct api_world aw;

static int setup(void **state)
{
    const struct api_options options = {.workers = 1}; /* one loop, so that all of them are its */
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

static void open_clients(int *fds, int count)
{
    for (int i = 0; i < count; i++)
        fds[i] = client_connect(&aw);
}

static void close_clients(int *fds, int count)
{
    for (int i = 0; i < count; i++)
        close(fds[i]);
}

static void read_all_ok(int *fds, int count)
{
    for (int i = 0; i < count; i++) {
        struct reply reply = client_read_reply(fds[i], false);
        if (reply.status != 200)
            fail_msg("client %d of %d: %s", i, count, reply.text);
        reply_free(&reply);
    }
}

/* All are node gpu-1, whose sequence numbers grow: sent in order over many connections they may overtake each other, so each
 * round's only winner is not known, and 200 or 409 are both right. What counts is that everybody is answered. */
static void beat_rounds(int count)
{
    static int64_t seq = 1;
    autofree int *fds = own_calloc((size_t)count, sizeof *fds);
    open_clients(fds, count);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < count; i++) {
            autofree char *body = agent_beat_body(seq++);
            autofree char *request = client_request("POST", "/v1/agent/heartbeat", aw.agent, NULL, body);
            client_send(fds[i], request);
        }
        for (int i = 0; i < count; i++) {
            struct reply reply = client_read_reply(fds[i], false);
            if (reply.status != 200 && reply.status != 409)
                fail_msg("client %d of %d: %s", i, count, reply.text);
            reply_free(&reply);
        }
    }
    close_clients(fds, count);
}

/* The writer is held until all wait, so that one commit answers all of them. */
static void verdict_rounds(int count)
{
    static int number;
    autofree int *fds = own_calloc((size_t)count, sizeof *fds);
    open_clients(fds, count);
    for (int round = 0; round < ROUNDS / 2; round++) {
        struct writer_hold hold;
        writer_hold_begin(&aw, &hold);
        for (int i = 0; i < count; i++) {
            autofree char *body = agent_verdict_body(number++);
            autofree char *request = client_request("POST", "/v1/agent/verdicts", aw.agent, NULL, body);
            client_send(fds[i], request);
        }
        writer_hold_end(&hold);
        read_all_ok(fds, count);
    }
    close_clients(fds, count);
}

static const int counts[] = {127, 128, 129, 256, 384};

static void test_heartbeats_in_lock_step(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(counts); i++)
        beat_rounds(counts[i]);
}

static void test_durable_verdicts_in_lock_step(void **state)
{
    (void)state;
    struct fleet_heartbeat beat = world_heartbeat(&aw.world, WORLD_INSTANCE, WORLD_BOOT, INT64_MAX);
    (void)service_agent_heartbeat(&aw.world.service, aw.node_id, &beat, &aw.world.problem);
    for (size_t i = 0; i < ARRAY_LEN(counts); i++)
        verdict_rounds(counts[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_heartbeats_in_lock_step),
        cmocka_unit_test(test_durable_verdicts_in_lock_step),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
