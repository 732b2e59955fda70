/* A deep health check against a scripted server and scripted tools: its order, what is said of its tests, and the machine below. */
#ifndef HOLDFAST_TESTS_UNIT_AGENTS_DEEP_WORLD_H
#define HOLDFAST_TESTS_UNIT_AGENTS_DEEP_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agents/deep/deep.h"
#include "base/child.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/own.h"
#include "base/status.h"
#include "tests/support/fake_server.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define INSTANCE "i-0123456789abcdef0"
#define PATIENCE_MS 60000
#define POSTS_MAX 1000

struct world {
    char dir[64];
    const char *test; /* the one that is told of */
    char *state_dir, *tools;
    struct fake_server *server;
    pthread_mutex_t lock;
    const char *key; /* of the order; NULL: nothing is asked for */
    int64_t time_limit_ms;
    const char *more;           /* members of the order */
    int post_status, posts_max; /* so many reports are taken; then they are answered so */
    int posts;
    struct text said; /* "HARDWARE_CHECK=running HARDWARE_CHECK=passed !" */
    char detail[SENTENCE_MAX_BYTES], log[4096];
    int64_t measures;
    struct text marks; /* "GPUs 8 >= 8 ok; " */
};

/* --- the server ---------------------------------------------------------------------------------------------- */

static inline void serve_order(struct world *world, struct fake_answer *answer)
{
    if (world->key == NULL) {
        fake_answer_json(answer, world->server, 404, "{}");
        return;
    }
    autofree char *body = own_printf("{\"key\":\"%s\",\"instanceId\":\"" INSTANCE "\",\"checks\":[\"instance-stress\"],"
                                     "\"profile\":\"quick\",\"dcgmLevel\":2,\"stressSeconds\":1,\"timeLimitMs\":%d%s}",
                                     world->key, (int)world->time_limit_ms, world->more != NULL ? world->more : "");
    fake_answer_json(answer, world->server, 200, body);
}

static inline const char *text_of(json_t *body, const char *name)
{
    const char *text = json_string_value(json_object_get(body, name));
    return text != NULL ? text : "";
}

static inline void take_marks(struct world *world, json_t *measures)
{
    size_t i;
    json_t *measure;
    text_clear(&world->marks);
    json_array_foreach(measures, i, measure)
        text_printf(&world->marks, "%s %s%s%s%s%s; ", text_of(measure, "name"), text_of(measure, "value"),
                    text_of(measure, "limit")[0] != '\0' ? " " : "", text_of(measure, "limit"),
                    text_of(measure, "mark")[0] != '\0' ? " " : "", text_of(measure, "mark"));
}

static inline void serve_report(struct world *world, const char *request, struct fake_answer *answer)
{
    auto_json json_t *body = json_loads(strstr(request, "\r\n\r\n") + 4, JSON_REJECT_DUPLICATES, NULL);
    if (body == NULL)
        abort(); /* an assertion of cmocka belongs to the test's own thread */
    if (world->posts++ >= world->posts_max) {
        fake_answer_json(answer, world->server, world->post_status, "{}");
        return;
    }
    /* The other tests are skipped on a machine without accelerators, or not; they are not told of here. */
    bool final = json_is_true(json_object_get(body, "final"));
    if (final || text_equal(text_of(body, "test"), world->test)) {
        text_printf(&world->said, "%s%s", world->said.len > 0 ? " " : "", final ? "!" : text_of(body, "state"));
        if (!final) {
            text_copy_cut(world->detail, sizeof(world->detail), text_of(body, "detail"));
            text_copy_cut(world->log, sizeof(world->log), text_of(body, "log"));
            world->measures = (int64_t)json_array_size(json_object_get(body, "measures"));
            take_marks(world, json_object_get(body, "measures"));
        }
    }
    fake_answer_json(answer, world->server, 200, "{}");
}

static inline void serve(const char *request, size_t len, struct fake_answer *answer, void *arg)
{
    struct world *world = arg;
    (void)len;
    pthread_mutex_lock(&world->lock);
    if (text_starts_with(request, "GET /v1/agent/check "))
        serve_order(world, answer);
    else if (text_starts_with(request, "POST /v1/agent/check "))
        serve_report(world, request, answer);
    else
        abort();
    pthread_mutex_unlock(&world->lock);
}

/* --- the instance -------------------------------------------------------------------------------------------- */

static inline void write_text(const char *dir, const char *name, const char *text, mode_t mode)
{
    autofree char *path = own_printf("%s/%s", dir, name);
    assert_int_equal(file_write(path, text, strlen(text), mode), 0);
}

/* A stress-ng that leaves a line in the world's "ran" and then does that. */
static inline void put_stress(const struct world *world, const char *body)
{
    autofree char *text = own_printf("#!/bin/sh\necho \"$*\" >>%s/ran\n%s\n", world->dir, body);
    write_text(world->tools, "stress-ng", text, 0755);
}

static inline int make_world(void **state)
{
    struct world *world = own_calloc(1, sizeof(*world));
    text_copy_cut(world->dir, sizeof(world->dir), "/tmp/holdfast-deep-XXXXXX");
    if (mkdtemp(world->dir) == NULL)
        return -1;
    world->state_dir = own_printf("%s/state", world->dir);
    world->tools = own_printf("%s/tools", world->dir);
    autofree char *deep = own_printf("%s/deep", world->state_dir);
    assert_int_equal(file_make_dirs(deep, 0700) + file_make_dirs(world->tools, 0700), 0);
    write_text(world->state_dir, "credential", "hfn_1.x " INSTANCE " 5000\n", 0600);
    write_text(world->dir, "boot", "boot-1\n", 0600);
    pthread_mutex_init(&world->lock, NULL);
    world->test = "HARDWARE_CHECK";
    world->key = "k1";
    world->time_limit_ms = PATIENCE_MS;
    world->posts_max = POSTS_MAX;
    world->post_status = 409;
    log_set_level(LOG_LEVEL_ERROR + 1);
    pthread_mutex_lock(&world->lock);
    world->server = fake_server_start(NULL, 0, NULL, NULL, serve, world);
    pthread_mutex_unlock(&world->lock);
    *state = world;
    return 0;
}

static inline int remove_world(void **state)
{
    struct world *world = *state;
    fake_server_stop(world->server);
    int status = file_remove_tree(world->dir);
    text_free(&world->said);
    text_free(&world->marks);
    free(world->state_dir);
    free(world->tools);
    free(world);
    return status;
}

/* Without the world's lock: a child that was forked may do it. */
static inline int deep(const struct world *world, const char *path, const char *key, int64_t probe_ms)
{
    autofree char *boot = own_printf("%s/boot", world->dir);
    const struct runner_options options = {
        .url = fake_server_url(world->server),
        .state_dir = world->state_dir,
        .instance_id = INSTANCE,
        .boot_id_file = boot,
        .path = path,
        .root = world->dir,
        .times = {.timeout_ms = PATIENCE_MS, .pause_ms = 1, .grace_ms = 50, .probe_ms = probe_ms}};
    return deep_check_runner.run(&options, key);
}

static inline void set_posts(struct world *world, int max, int status)
{
    pthread_mutex_lock(&world->lock);
    text_clear(&world->said);
    world->posts = 0;
    world->posts_max = max;
    world->post_status = status;
    pthread_mutex_unlock(&world->lock);
}

static inline int run_with(struct world *world, const char *path, const char *key, int64_t probe_ms)
{
    set_posts(world, world->posts_max, world->post_status);
    int status = deep(world, path, key, probe_ms);
    /* What the server's thread wrote before its last answer is this thread's from here on. */
    pthread_mutex_lock(&world->lock);
    pthread_mutex_unlock(&world->lock);
    return status;
}

static inline int run_as(struct world *world, const char *key, int64_t probe_ms)
{
    return run_with(world, world->tools, key, probe_ms);
}

static inline int run(struct world *world)
{
    return run_as(world, "k1", PATIENCE_MS);
}

static inline void assert_said(struct world *world, const char *said)
{
    assert_string_equal(text_get(&world->said), said);
}

static inline int runs(const struct world *world)
{
    autofree char *path = own_printf("%s/ran", world->dir), *ran = NULL;
    int count = 0;
    if (file_read(path, 65536, &ran, NULL) == 0)
        for (const char *at = ran; (at = strchr(at, '\n')) != NULL; at++)
            count++;
    return count;
}

/* Runs it in a process of its own and ends that in the middle of the test. */
static inline void interrupt_by(struct world *world, int number)
{
    int before = runs(world);
    pid_t pid = fork();
    if (pid == 0)
        _exit(deep(world, world->tools, world->key, PATIENCE_MS) == 0 ? 0 : 1);
    for (int i = 0; runs(world) == before && i < PATIENCE_MS / 10; i++)
        (void)poll(NULL, 0, 10);
    kill(pid, number);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(runs(world), before + 1);
}

/* What becomes of one test, beside a stress test that is well. */
static inline void run_one(struct world *world, const char *test, const char *key)
{
    world->test = test;
    world->key = key;
    put_stress(world, "true");
    assert_int_equal(run_as(world, key, PATIENCE_MS), 0);
}

#define DEEP_TEST(f) cmocka_unit_test_setup_teardown(f, make_world, remove_world)

#endif
