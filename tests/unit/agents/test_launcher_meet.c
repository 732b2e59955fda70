/* Who gathers the nodes of a job: ranks, phases, what counts as a restart, and times. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agents/launcher/meet_host.h"
#include "base/own.h"
#include "base/status.h"

#include <stdio.h>
#include <string.h>

#define S INT64_C(1000)
#define NODES 4

static struct member nodes[NODES];
static char told[1024]; /* what was said to whom, the newest node first; starts by rank */

static void say(const char *word, const struct member *member, int rank, int count)
{
    size_t len = strlen(told);
    snprintf(told + len, sizeof(told) - len, "%s%s %d", len > 0 ? ", " : "", word, (int)(member - nodes));
    len = strlen(told);
    if (count > 0)
        snprintf(told + len, sizeof(told) - len, " as %d of %d", rank, count);
}

static void on_start(void *arg, struct member *member, int rank, int count)
{
    (void)arg;
    say("start", member, rank, count);
}

static void on_stop(void *arg, struct member *member)
{
    (void)arg;
    say("stop", member, 0, 0);
}

static void on_end(void *arg, struct member *member, bool succeeded)
{
    (void)arg;
    say(succeeded ? "good" : "bad", member, 0, 0);
}

static struct host new_host(int min, int max, bool ranked)
{
    memset(nodes, 0, sizeof(nodes));
    told[0] = '\0';
    return (struct host){.nodes_min = min,
                         .nodes_max = max,
                         .ranked = ranked,
                         .max_restarts = 1,
                         .last_call_ms = 30 * S,
                         .start = on_start,
                         .stop = on_stop,
                         .end = on_end};
}

static int join(struct host *host, int node, int node_rank, int64_t now_ms)
{
    const char *why = "";
    nodes[node].node_rank = node_rank;
    return host_join(host, &nodes[node], now_ms, &why);
}

static void expect(const char *wanted)
{
    assert_string_equal(told, wanted);
    told[0] = '\0';
}

static void stop_these(struct host *host, int count, int64_t now_ms)
{
    for (int i = 0; i < count; i++)
        host_stopped(host, &nodes[i], now_ms);
}

static void test_static_ranks(void **state)
{
    (void)state;
    struct host host = new_host(3, 3, true);
    assert_int_equal(join(&host, 0, 2, 0), 0);
    assert_int_equal(join(&host, 1, 0, 0), 0);
    assert_int_equal(join(&host, 3, 2, 0), STATUS_CONFLICT);
    assert_int_equal(join(&host, 3, 3, 0), STATUS_CONFLICT);
    expect("");
    assert_int_equal(join(&host, 2, 1, 0), 0);
    expect("start 1 as 0 of 3, start 2 as 1 of 3, start 0 as 2 of 3");
    host_succeeded(&host, &nodes[0]);
    host_succeeded(&host, &nodes[1]);
    expect("");
    host_succeeded(&host, &nodes[2]);
    expect("good 2, good 1, good 0");
}

static void test_restarts_are_counted(void **state)
{
    (void)state;
    struct host host = new_host(2, 2, true);
    join(&host, 0, 0, 0);
    join(&host, 1, 1, 0);
    expect("start 0 as 0 of 2, start 1 as 1 of 2");
    host_succeeded(&host, &nodes[0]); /* it ended early, and begins anew with the others */
    host_fault(&host, "WorkerCrash", "first");
    host_fault(&host, "WorkerCrash", "what follows");
    expect("stop 1, stop 0");
    assert_string_equal(host.message, "first");
    host_stopped(&host, &nodes[1], 0);
    expect("");
    host_stopped(&host, &nodes[0], 0);
    expect("start 0 as 0 of 2, start 1 as 1 of 2");
    assert_int_equal(host.restart_count, 1);
    host_fault(&host, "WorkerCrash", "again");
    expect("stop 1, stop 0");
    stop_these(&host, 2, 0);
    expect("bad 1, bad 0");
    assert_int_equal(join(&host, 2, 1, 0), STATUS_CONFLICT); /* it is over */
}

static void test_sizes_change(void **state)
{
    (void)state;
    struct host host = new_host(2, 3, false);
    join(&host, 0, -1, 0);
    join(&host, 1, -1, 5 * S);
    expect("");
    assert_int_equal(host_due_ms(&host), 35 * S); /* perhaps there is a third */
    host_tick(&host, 35 * S);
    expect("start 0 as 0 of 2, start 1 as 1 of 2");
    assert_int_equal(host_due_ms(&host), INT64_MAX);
    join(&host, 2, -1, 40 * S);
    expect("stop 1, stop 0");
    stop_these(&host, 2, 41 * S);
    expect("start 0 as 0 of 3, start 1 as 1 of 3, start 2 as 2 of 3");
    assert_int_equal(host.restart_count, 0); /* no fault */
    join(&host, 3, -1, 50 * S);              /* a fourth waits for a place */
    expect("");
    host_leave(&host, &nodes[1], 60 * S);
    expect("stop 2, stop 0");
    host_stopped(&host, &nodes[0], 61 * S);
    host_stopped(&host, &nodes[2], 61 * S);
    expect("start 0 as 0 of 3, start 2 as 1 of 3, start 3 as 2 of 3");
    assert_int_equal(host.restart_count, 1);
}

static void test_too_few(void **state)
{
    (void)state;
    struct host host = new_host(2, 2, false);
    join(&host, 0, -1, 0);
    join(&host, 1, -1, 0);
    told[0] = '\0';
    host_leave(&host, &nodes[1], 100 * S);
    expect("stop 0");
    host_stopped(&host, &nodes[0], 101 * S);
    expect(""); /* it waits for another one */
    assert_int_equal(host_due_ms(&host), 701 * S);
    host_tick(&host, 701 * S);
    expect("bad 0");
    assert_string_equal(host.reason, "NodesMissing");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_static_ranks),
        cmocka_unit_test(test_restarts_are_counted),
        cmocka_unit_test(test_sizes_change),
        cmocka_unit_test(test_too_few),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
