/*
 * Speaking to slurmrestd over a scripted server: what it makes of refusals, garbage, silence and an upgrade, that a token is read anew,
 * what is changed by it and what is left to Slurm's programs. The real thing is in test_slurm_over_rest.c.
 */
#include "base/file.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"
#include "server/scheduler/slurm/slurm.h"
#include "tests/support/fake_server.h"
#include "tests/support/scheduler_owner.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define TIMEOUT_MS 20000
#define FILE_BYTES_MAX (1024 * 1024)
#define OLD "{\"paths\": {\"/slurm/v0.0.38/nodes\": {\"get\": {}}, \"/slurm/v0.0.38/job/{job_id}\": {\"delete\": {}}}}"
#define NEW                                                                                                      \
    "{\"paths\": {\"/slurm/v0.0.40/nodes/\": {\"get\": {}}, \"/slurm/v0.0.40/node/{node_name}\": {\"get\": {}, " \
    "\"post\": "                                                                                                 \
    "{}}, \"/slurm/v0.0.40/job/{job_id}\": {\"delete\": {}}}}"
#define META "\"meta\": {\"slurm\": {\"release\": \"24.05.1\"}}"
#define ONE_NODE \
    "{" META ", \"errors\": [], \"nodes\": [{\"name\": \"gpu-1\", \"state\": [\"IDLE\"], \"address\": \"a\"}]}"

static char dir[] = "/tmp/holdfast-rest-XXXXXX";
static char error[SCHEDULER_ERROR_MAX];

/* What stands behind a beginning of the request's first line; the first that fits. */
struct reply {
    const char *begins;
    int status;
    const char *body; /* NULL: silence */
};

static struct {
    pthread_mutex_t lock;
    const struct reply *replies;
    size_t count;
    struct text seen; /* all requests, whole */
    struct fake_server *server;
} script = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void play(const char *request, size_t len, struct fake_answer *answer, void *arg)
{
    (void)arg;
    pthread_mutex_lock(&script.lock);
    text_add_bytes(&script.seen, request, len);
    text_add(&script.seen, "\n");
    const struct reply *reply = NULL;
    for (size_t i = 0; i < script.count && reply == NULL; i++)
        if (text_starts_with(request, script.replies[i].begins))
            reply = &script.replies[i];
    if (reply == NULL)
        fake_answer_json(answer, script.server, 404, "Unable find requested URL.");
    else if (reply->body == NULL)
        answer->hold = true;
    else
        fake_answer_json(answer, script.server, reply->status, reply->body);
    pthread_mutex_unlock(&script.lock);
}

static void say(const struct reply *replies, size_t count)
{
    pthread_mutex_lock(&script.lock);
    script.replies = replies;
    script.count = count;
    text_free(&script.seen);
    pthread_mutex_unlock(&script.lock);
}

static char *heard(void)
{
    pthread_mutex_lock(&script.lock);
    char *text = own_strdup(text_get(&script.seen));
    pthread_mutex_unlock(&script.lock);
    return text;
}

static void write_token(const char *text, mode_t mode)
{
    autofree char *path = own_printf("%s/token", dir);
    assert_int_equal(file_write(path, text, strlen(text), mode), 0);
    assert_int_equal(chmod(path, mode), 0);
}

static int start(void **state)
{
    (void)state;
    if (mkdtemp(dir) == NULL)
        return -1;
    script.server = fake_server_start(NULL, 0, NULL, NULL, play, NULL);
    write_token("SLURM_JWT=first\n", 0600);
    return 0;
}

static int stop_server(void **state)
{
    (void)state;
    fake_server_stop(script.server);
    text_free(&script.seen);
    return file_remove_tree(dir);
}

static struct scheduler_driver driver(int64_t timeout_ms)
{
    autofree char *token = own_printf("%s/token", dir);
    struct slurm_rest_options rest = {.url = fake_server_url(script.server), .user = "slurm", .token_file = token};
    struct slurm_options options = {.bin_dir = dir, .conf = "/nowhere", .timeout_ms = timeout_ms, .rest = &rest};
    struct scheduler_driver made;
    assert_int_equal(slurm_new(&options, &made), 0);
    error[0] = '\0';
    return made;
}

static int observe(struct scheduler_driver *slurm)
{
    struct scheduler_observation seen = {0};
    int status = slurm->ops->observe(slurm->self, &seen, error);
    scheduler_observation_free(&seen);
    return status;
}

#define SAY(...) \
    say((const struct reply[]){__VA_ARGS__}, sizeof((const struct reply[]){__VA_ARGS__}) / sizeof(struct reply))

static void test_failures(void **state)
{
    (void)state;
#define FAILED(errors) "{\"errors\": [" errors "], \"nodes\": []}"
    static const struct {
        struct reply version, nodes;
        int status;
        const char *says;
    } cases[] = {
        {{"", 401, "Authentication failure"}, {0}, STATUS_BACKEND, "scontrol token username=slurm"},
        {{"", 200, "<html>hello</html>"}, {0}, STATUS_BACKEND, "says no JSON but: <html>hello"},
        {{"", 502, "<html>502 Bad Gateway</html>"}, {0}, STATUS_UNAVAILABLE, "502"},
        {{"", 200, "{\"paths\": 7}"}, {0}, STATUS_BACKEND, "does not say what it can do"},
        {{"", 200, "{\"paths\": {\"/slurm/v0.0.50/nodes/\": {}}}"},
         {0},
         STATUS_BACKEND,
         "to v0.0.50, Holdfast v0.0.36"},
        {{"", 200, "{\"paths\": {\"/slurm/"}, {0}, STATUS_BACKEND, "cannot be read"},
        {{"GET /openapi", 200, OLD}, {"GET /slurm", 200, ""}, STATUS_BACKEND, "says no JSON"},
        {{"GET /openapi", 200, OLD}, {"GET /slurm", 200, "{}"}, STATUS_BACKEND, "without nodes"},
        {{"GET /openapi", 200, OLD}, {"GET /slurm", 200, "{\"nodes\": [{\"name\": \"x\"}]}"}, STATUS_BACKEND, "x"},
        {{"GET /openapi", 200, OLD}, {"GET /slurm", 500, "{\"errors\": []}"}, STATUS_BACKEND, "HTTP 500"},
        {{"GET /openapi", 200, OLD},
         {"GET /slurm", 500, FAILED("{\"error_number\": 1007, \"error\": \"Protocol authentication error\"}")},
         STATUS_BACKEND,
         "Protocol authentication error"},
        {{"GET /openapi", 200, OLD},
         {"GET /slurm", 500, FAILED("{\"error_number\": 2002, \"error\": \"Access/permission denied\"}")},
         STATUS_DENIED,
         "permission denied"},
        {{"GET /openapi", 200, OLD},
         {"GET /slurm", 500, FAILED("{\"error_number\": 1800, \"error\": \"x\\u001b[31m\"}")},
         STATUS_UNAVAILABLE,
         "x?[31m"},
        {{"GET /openapi", 200, OLD}, {"GET /slurm", 200, FAILED("7")}, STATUS_BACKEND, "no reason given"},
        {{"GET /openapi", 200, OLD},
         {"GET /slurm", 500, FAILED("{\"errno\": -1, \"error\": \"Unspecified error\"}")},
         STATUS_UNAVAILABLE,
         "or it refuses the token in /tmp/holdfast-rest-"},
        {{"GET /openapi", 500, FAILED("{\"errno\": -1, \"error\": \"Unspecified error\"}")},
         {0},
         STATUS_UNAVAILABLE,
         "slurmctld does not answer"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct reply replies[] = {cases[i].version, cases[i].nodes};
        for (size_t n = 1; n < ARRAY_LEN(replies); n++)
            if (replies[n].begins == NULL)
                replies[n] = (struct reply){"none", 200, ""};
        say(replies, ARRAY_LEN(replies));
        struct scheduler_driver slurm = driver(TIMEOUT_MS);
        if (observe(&slurm) != cases[i].status || strstr(error, cases[i].says) == NULL)
            fail_msg("%zu: %s", i, error);
        slurm.ops->free(slurm.self);
    }
}

static void test_token_that_ran_out(void **state)
{
    (void)state;
    SAY({"GET /openapi", 200, OLD}, {"GET /slurm", 500, FAILED("{\"errno\": -1, \"error\": \"Unspecified error\"}")});
    write_token("x.eyJleHAiOjF9.y", 0600);
    struct scheduler_driver slurm = driver(TIMEOUT_MS);
    assert_int_equal(observe(&slurm), STATUS_BACKEND);
    assert_non_null(strstr(error, "ran out at 1970-01-01T00:00:01.000Z"));
    assert_non_null(strstr(error, "scontrol token username=slurm"));
    write_token("SLURM_JWT=first\n", 0600);
    slurm.ops->free(slurm.self);
}

static void test_silence(void **state)
{
    (void)state;
    SAY({"GET /openapi", 200, OLD}, {"GET /slurm", 200, NULL});
    struct scheduler_driver slurm = driver(400);
    assert_int_equal(observe(&slurm), STATUS_TIMEOUT);
    assert_non_null(strstr(error, "400 ms"));
    SAY({"GET /openapi", 200, OLD}, {"GET /slurm", 200, ONE_NODE});
    slurm.ops->free(slurm.self);
    slurm = driver(TIMEOUT_MS);
    assert_int_equal(observe(&slurm), 0); /* another connection */
    slurm.ops->free(slurm.self);
}

static void test_nobody_there(void **state)
{
    (void)state;
    struct scheduler_driver made;
    autofree char *token = own_printf("%s/token", dir), *socket = own_printf("unix:%s/none.socket", dir);
    struct slurm_rest_options rest = {.url = socket, .user = "slurm", .token_file = token};
    struct slurm_options options = {.timeout_ms = TIMEOUT_MS, .rest = &rest};
    assert_int_equal(slurm_new(&options, &made), 0);
    assert_int_equal(observe(&made), STATUS_UNAVAILABLE);
    assert_non_null(strstr(error, "none.socket"));
    made.ops->free(made.self);
    rest.url = "http://example.org:6820";
    assert_int_equal(slurm_new(&options, &made), STATUS_INVALID); /* a token in the clear */
    rest.url = "unix:relative";
    assert_int_equal(slurm_new(&options, &made), STATUS_INVALID);
}

/* One connection, the version asked for once, the token as it is in the file now. */
static void test_token(void **state)
{
    (void)state;
    SAY({"GET /openapi", 200, OLD}, {"GET /slurm/v0.0.38/nodes ", 200, ONE_NODE});
    struct scheduler_driver slurm = driver(TIMEOUT_MS);
    int connections = fake_server_connections(script.server);
    assert_int_equal(observe(&slurm), 0);
    autofree char *first = heard();
    assert_non_null(strstr(first, "X-SLURM-USER-NAME: slurm\r\n"));
    assert_non_null(strstr(first, "X-SLURM-USER-TOKEN: first\r\n"));
    SAY({"GET /slurm/v0.0.38/nodes ", 200, ONE_NODE});
    write_token("second", 0640);
    assert_int_equal(observe(&slurm), 0);
    autofree char *second = heard();
    assert_non_null(strstr(second, "X-SLURM-USER-TOKEN: second\r\n"));
    assert_null(strstr(second, "first"));
    assert_int_equal(fake_server_connections(script.server), connections + 1);
    static const struct {
        const char *text;
        mode_t mode;
        const char *says;
    } bad[] = {{"third", 0644, "everybody may read"},
               {"", 0600, "holds no token"},
               {"SLURM_JWT=\n", 0600, "holds no token"},
               {"a\r\nX-Evil: 1", 0600, "more than a token"},
               {"a b", 0600, "more than a token"}};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        write_token(bad[i].text, bad[i].mode);
        SAY({"GET /slurm/v0.0.38/nodes ", 200, ONE_NODE});
        int status = observe(&slurm);
        assert_true(status != 0 && status != STATUS_DENIED);
        if (strstr(error, bad[i].says) == NULL)
            fail_msg("%s", error);
        autofree char *nothing = heard();
        assert_string_equal(nothing, "");
    }
    autofree char *path = own_printf("%s/token", dir);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(observe(&slurm), STATUS_UNAVAILABLE);
    write_token("SLURM_JWT=first\n", 0600);
    slurm.ops->free(slurm.self);
}

/* Slurm is upgraded under us: its old version is gone, so that it is asked again, and can change nodes now. */
static void test_upgrade(void **state)
{
    (void)state;
    char way[SCHEDULER_TRANSPORT_MAX];
    SAY({"GET /openapi", 200, OLD}, {"GET /slurm/v0.0.38/nodes ", 200, ONE_NODE});
    struct scheduler_driver slurm = driver(TIMEOUT_MS);
    assert_int_equal(observe(&slurm), 0);
    slurm.ops->transport(slurm.self, way);
    assert_non_null(strstr(way, "slurmrestd v0.0.38 of Slurm 24.05.1 at http://127.0.0.1"));
    assert_non_null(strstr(way, "by Slurm's programs: changes of nodes"));
    SAY({"GET /openapi", 200, NEW}, {"GET /slurm/v0.0.40/nodes ", 200, ONE_NODE});
    assert_int_equal(observe(&slurm), STATUS_BACKEND);
    assert_non_null(strstr(error, "asked for its versions again"));
    assert_int_equal(observe(&slurm), 0);
    slurm.ops->transport(slurm.self, way);
    assert_non_null(strstr(way, "v0.0.40"));
    assert_null(strstr(way, "changes of nodes"));
    slurm.ops->free(slurm.self);
}

static void put_program(const char *name, const char *body)
{
    autofree char *path = own_printf("%s/%s", dir, name);
    autofree char *text = own_printf("#!/bin/sh\nprintf '%%s ' \"$@\" >>%s/calls\n%s\n", dir, body);
    assert_int_equal(file_write(path, text, strlen(text), 0700), 0);
}

static char *programs_called(void)
{
    autofree char *path = own_printf("%s/calls", dir);
    char *data = NULL;
    size_t len;
    if (file_read(path, FILE_BYTES_MAX, &data, &len) != 0)
        return own_strdup("");
    unlink(path);
    return data;
}

#define MARKED                                                                                                    \
    "{" META                                                                                                      \
    ", \"nodes\": [{\"name\": \"gpu-1\", \"state\": [\"IDLE\", \"DRAIN\"], \"reason\": \"holdfast: \\\"x\\\"\", " \
    "\"reason_set_by_user\": \"slurm\", \"address\": \"10.0.0.1\"}]}"

static void test_changes_of_nodes(void **state)
{
    (void)state;
    put_program("scontrol", "");
    SAY({"GET /openapi", 200, NEW}, {"GET /slurm/v0.0.40/node/gpu-1 ", 200, ONE_NODE},
        {"POST /slurm/v0.0.40/node/gpu-1 ", 200, "{\"errors\": []}"});
    struct scheduler_driver slurm = driver(TIMEOUT_MS);
    /* what is shown afterwards counts, not that it was taken */
    assert_int_equal(cordon_as(&slurm, "gpu-1", "holdfast: \"x\"", NULL, error), STATUS_BACKEND);
    autofree char *posted = heard(), *called = programs_called();
    assert_non_null(strstr(posted, "\r\nContent-Type: application/json\r\n"));
    assert_non_null(strstr(posted, "\r\n\r\n{\"state\":[\"DRAIN\"],\"reason\":\"holdfast: \\\"x\\\"\"}"));
    assert_string_equal(called, "");
    struct scheduler_move move = {.address = "10.0.0.1", .host = "ip-10-0-0-1"}; /* "": as it is shown here */
    assert_int_equal(slurm.ops->addresses->update(slurm.self, "gpu-1", &move, error), STATUS_BACKEND);
    autofree char *moved = heard();
    assert_non_null(strstr(moved, "\r\n\r\n{\"address\":[\"10.0.0.1\"],\"hostname\":[\"ip-10-0-0-1\"]}"));
    slurm.ops->free(slurm.self);

    /* 22.05 cannot: the program does it, with the quotes that it takes off */
    SAY({"GET /openapi", 200, OLD}, {"GET /slurm/v0.0.38/node/gpu-1 ", 200, ONE_NODE});
    slurm = driver(TIMEOUT_MS);
    assert_int_equal(cordon_as(&slurm, "gpu-1", "holdfast: \"x\"", NULL, error), STATUS_BACKEND);
    autofree char *old_called = programs_called();
    assert_string_equal(old_called, "update NodeName=gpu-1 State=DRAIN Reason=\"holdfast: \"x\"\" ");
    SAY({"GET /slurm/v0.0.38/node/gpu-1 ", 200, MARKED});
    assert_int_equal(cordon_as(&slurm, "gpu-1", "holdfast: \"x\"", NULL, error), 0);
    assert_int_equal(uncordon_as(&slurm, "gpu-1", "holdfast: y", error), STATUS_CONFLICT);
    autofree char *none = programs_called();
    assert_string_equal(none, "");
    slurm.ops->free(slurm.self);
}

/* 22.05 has an error for a node that it does not know, later ones a sentence only. */
static void test_unknown_node(void **state)
{
    (void)state;
    static const char *const bodies[] = {
        "{\"errors\": [{\"error\": \"Invalid node name specified\", \"errno\": 2018}], \"nodes\": []}",
        "{\"errors\": [{\"description\": \"Failure to query node gpu-9\", \"error_number\": 0, \"error\": \"No "
        "error\"}]}"};
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
        SAY({"GET /openapi", 200, OLD}, {"GET /slurm/v0.0.38/node/gpu-9 ", 500, bodies[i]});
        struct scheduler_driver slurm = driver(TIMEOUT_MS);
        autofree struct scheduler_job *jobs = NULL;
        size_t count;
        assert_int_equal(cordon_as(&slurm, "gpu-9", "holdfast: x", NULL, error), STATUS_NOT_FOUND);
        assert_int_equal(slurm.ops->workloads(slurm.self, "gpu-9", &jobs, &count, error), STATUS_NOT_FOUND);
        slurm.ops->free(slurm.self);
    }
}

static void test_end_of_jobs(void **state)
{
    (void)state;
#define JOB(id, requeue) \
    "{\"job_id\": " id   \
    ", \"job_state\": [\"RUNNING\"], \"nodes\": \"gpu-[1-2]\", \"batch_flag\": true, \"requeue\": " requeue "}"
    put_program("scontrol", "");
    SAY({"GET /openapi", 200, OLD}, {"GET /slurm/v0.0.38/node/gpu-1 ", 200, ONE_NODE},
        {"GET /slurm/v0.0.38/jobs ", 200,
         "{\"jobs\": [" JOB("7", "true") "," JOB("8", "false") "," JOB("9", "false") "]}"},
        {"DELETE /slurm/v0.0.38/job/8 ", 200, "{\"errors\": []}"},
        {"DELETE /slurm/v0.0.38/job/9 ", 500,
         "{\"errors\": [{\"error_number\": 2021, \"error\": \"Job already finishing\"}]}"});
    struct scheduler_driver slurm = driver(TIMEOUT_MS);
    int status = evict_as(&slurm, "gpu-1", "Action:Reboot", error);
    if (status != 0)
        fail_msg("%s", error);
    autofree char *called = programs_called(), *asked = heard();
    assert_non_null(strstr(called, "requeue 7 "));
    assert_null(strstr(called, "requeue 8"));
    assert_non_null(strstr(asked, "DELETE /slurm/v0.0.38/job/8 "));
    assert_null(strstr(asked, "DELETE /slurm/v0.0.38/job/7 "));
    slurm.ops->free(slurm.self);
}

/* One who asks while all connections are busy waits for a turn, and not beyond its time. */
static void *ask_in_vain(void *arg)
{
    struct scheduler_driver *slurm = arg;
    char why[SCHEDULER_ERROR_MAX];
    struct scheduler_observation seen = {0};
    int status = slurm->ops->observe(slurm->self, &seen, why);
    return status == STATUS_TIMEOUT ? NULL : slurm;
}

static void test_crowd(void **state)
{
    (void)state;
    pthread_t threads[8];
    SAY({"GET /openapi", 200, OLD}, {"GET /slurm", 200, NULL});
    struct scheduler_driver slurm = driver(500);
    for (size_t i = 0; i < ARRAY_LEN(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, ask_in_vain, &slurm), 0);
    for (size_t i = 0; i < ARRAY_LEN(threads); i++) {
        void *odd;
        assert_int_equal(pthread_join(threads[i], &odd), 0);
        assert_null(odd);
    }
    slurm.ops->free(slurm.self);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_token_that_ran_out),
        cmocka_unit_test(test_silence),
        cmocka_unit_test(test_nobody_there),
        cmocka_unit_test(test_token),
        cmocka_unit_test(test_upgrade),
        cmocka_unit_test(test_changes_of_nodes),
        cmocka_unit_test(test_unknown_node),
        cmocka_unit_test(test_end_of_jobs),
        cmocka_unit_test(test_crowd),
    };
    return cmocka_run_group_tests(tests, start, stop_server);
}
