/*
 * The runner against a scripted server: what is run, how often, what is said of it, and what is remembered when it comes again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agents/node/lifecycle.h"
#include "base/child.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/own.h"
#include "base/status.h"
#include "tests/support/fake_server.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define INSTANCE "i-0123456789abcdef0"
#define PATIENCE_MS 60000

struct world {
    char dir[64];
    char *state_dir, *source;
    struct fake_server *server;
    pthread_mutex_t lock;
    char key[32]; /* of the order; "": nothing is asked for */
    const char *instance_id, *scripts;
    int64_t time_limit_ms, attempts;
    int post_status, refusals_left; /* so many reports are answered with post_status; -1: all */
    bool spaced;
    int orders;           /* so often the order was asked for; the file that scripts read has it */
    int taken, taken_max; /* and all that come after taken_max; 0: none */
    struct text said;     /* "started/1 failed/1 …", final ones with a "!" */
    char detail[SENTENCE_MAX_BYTES], log[LIFECYCLE_LOG_MAX_BYTES];
};

/* --- the server ---------------------------------------------------------------------------------------------- */

static void serve_order(struct world *world, struct fake_answer *answer)
{
    if (world->key[0] == '\0') {
        fake_answer_json(answer, world->server, 404, "{}");
        return;
    }
    autofree char *body =
        own_printf("{\"key\":\"%s\",\"instanceId\":\"%s\",\"source\":\"file://%s\",\"scripts\":%s,"
                   "\"timeLimitMs\":%d,\"attempts\":%d,\"resourceConfig\":\"{%*s}\"}",
                   world->key, world->instance_id, world->source, world->scripts, (int)world->time_limit_ms,
                   (int)world->attempts, world->spaced ? world->orders++ : 0, "");
    fake_answer_json(answer, world->server, 200, body);
}

static void serve_report(struct world *world, const char *request, struct fake_answer *answer)
{
    auto_json json_t *body = json_loads(strstr(request, "\r\n\r\n") + 4, JSON_REJECT_DUPLICATES, NULL);
    if (body == NULL)
        abort(); /* an assertion of cmocka belongs to the test's own thread */
    bool too_many = world->taken_max != 0 && world->taken++ >= world->taken_max;
    if (world->refusals_left != 0 || too_many) {
        world->refusals_left -= world->refusals_left > 0;
        fake_answer_json(answer, world->server, world->post_status, "{}");
        return;
    }
    const char *detail = json_string_value(json_object_get(body, "detail"));
    const char *log = json_string_value(json_object_get(body, "log"));
    text_printf(&world->said, "%s%s/%d%s", world->said.len > 0 ? " " : "",
                json_string_value(json_object_get(body, "state")),
                (int)json_integer_value(json_object_get(body, "attempt")),
                json_is_true(json_object_get(body, "final")) ? "!" : "");
    text_copy_cut(world->detail, sizeof(world->detail), detail != NULL ? detail : "");
    text_copy_cut(world->log, sizeof(world->log), log != NULL ? log : "");
    fake_answer_json(answer, world->server, 200, "{}");
}

static void serve(const char *request, size_t len, struct fake_answer *answer, void *arg)
{
    struct world *world = arg;
    (void)len;
    pthread_mutex_lock(&world->lock);
    if (text_starts_with(request, "GET /v1/agent/work "))
        serve_order(world, answer);
    else if (text_starts_with(request, "POST /v1/agent/work "))
        serve_report(world, request, answer);
    else
        abort();
    pthread_mutex_unlock(&world->lock);
}

/* --- the instance -------------------------------------------------------------------------------------------- */

static void put(const struct world *world, const char *name, const char *text)
{
    autofree char *path = own_printf("%s/%s", world->source, name);
    assert_int_equal(file_write(path, text, strlen(text), 0644), 0);
}

/* A script that leaves a line in the world's "ran" and then does that. */
static void put_script(const struct world *world, const char *name, const char *body)
{
    autofree char *text = own_printf("#!/bin/sh\necho %s >>%s/ran\n%s\n", name, world->dir, body);
    put(world, name, text);
}

static void make_credential(const struct world *world, const char *instance_id)
{
    autofree char *path = own_printf("%s/credential", world->state_dir);
    autofree char *text = own_printf("hfn_1.x %s 5000\n", instance_id);
    assert_int_equal(file_write(path, text, strlen(text), 0600), 0);
}

static int make_world(void **state)
{
    struct world *world = own_calloc(1, sizeof(*world));
    text_copy_cut(world->dir, sizeof(world->dir), "/tmp/holdfast-work-XXXXXX");
    if (mkdtemp(world->dir) == NULL)
        return -1;
    world->state_dir = own_printf("%s/state", world->dir);
    world->source = own_printf("%s/source", world->dir);
    autofree char *lifecycle = own_printf("%s/lifecycle", world->state_dir);
    assert_int_equal(file_make_dirs(lifecycle, 0700) + file_make_dirs(world->source, 0700), 0);
    make_credential(world, INSTANCE);
    pthread_mutex_init(&world->lock, NULL);
    world->instance_id = INSTANCE;
    world->scripts = "[\"a.sh\"]";
    world->time_limit_ms = PATIENCE_MS;
    world->attempts = 3;
    text_copy_cut(world->key, sizeof(world->key), "k1");
    log_set_level(LOG_LEVEL_ERROR + 1);
    pthread_mutex_lock(&world->lock);
    world->server = fake_server_start(NULL, 0, NULL, NULL, serve, world);
    pthread_mutex_unlock(&world->lock);
    *state = world;
    return 0;
}

static int remove_world(void **state)
{
    struct world *world = *state;
    fake_server_stop(world->server);
    int status = file_remove_tree(world->dir);
    text_free(&world->said);
    free(world->state_dir);
    free(world->source);
    free(world);
    return status;
}

static struct runner_options options_of(const struct world *world)
{
    return (struct runner_options){
        .url = fake_server_url(world->server),
        .state_dir = world->state_dir,
        .instance_id = world->instance_id,
        .times = {.timeout_ms = PATIENCE_MS, .pause_ms = 1, .grace_ms = 50, .probe_ms = PATIENCE_MS}};
}

static int run(struct world *world)
{
    struct runner_options options = options_of(world);
    text_clear(&world->said);
    return lifecycle_runner.run(&options, world->key[0] == '\0' ? "k1" : world->key);
}

static void assert_said(struct world *world, const char *said)
{
    assert_string_equal(text_get(&world->said), said);
}

static void assert_ran(const struct world *world, const char *wanted)
{
    autofree char *path = own_printf("%s/ran", world->dir), *ran = NULL;
    bool known = file_read(path, 65536, &ran, NULL) == 0;
    for (char *at = known ? ran : NULL; at != NULL && (at = strchr(at, '\n')) != NULL;)
        *at = at[1] == '\0' ? '\0' : ' ';
    assert_string_equal(known ? ran : "", wanted);
}

/* --- tests --------------------------------------------------------------------------------------------------- */

static void test_scripts_run_once(void **state)
{
    struct world *world = *state;
    world->scripts = "[\"a.sh\",\"lib/b.sh\"]";
    autofree char *lib = own_printf("%s/lib", world->source);
    assert_int_equal(mkdir(lib, 0700), 0);
    put_script(world, "a.sh",
               "test \"$1\" = \"$SAGEMAKER_RESOURCE_CONFIG_PATH\" && test \"$(cat $1)\" = {} && . ./data");
    put(world, "data", "true\n");
    autofree char *b = own_printf("echo b >>%s/ran\n", world->dir); /* without "#!" */
    put(world, "lib/b.sh", b);
    assert_int_equal(run(world), 0);
    assert_said(world, "started/1 succeeded/1 started/1 succeeded/1!");
    assert_ran(world, "a.sh b");
    assert_int_equal(run(world), 0); /* asked once more */
    assert_said(world, "succeeded/1!");
    text_copy_cut(world->key, sizeof(world->key), "k2"); /* another order for the same instance */
    assert_int_equal(run(world), 0);
    assert_said(world, "succeeded/0!");
    assert_ran(world, "a.sh b");
    world->instance_id = "i-0000000000000000b"; /* a disk that was copied, or a machine that is another instance now */
    make_credential(world, world->instance_id);
    assert_int_equal(run(world), 0);
    assert_ran(world, "a.sh b a.sh b");
}

/* Published scripts look at /opt/ml/config and not at their argument. */
static void test_files_where_scripts_look(void **state)
{
    struct world *world = *state;
    autofree char *config = own_printf("%s/opt/ml/config", world->dir);
    autofree char *body =
        own_printf("test \"$(cat %s/resource_config.json)\" = {} && grep -q slurm %s/provisioning_parameters.json",
                   config, config);
    put_script(world, "a.sh", body);
    put(world, "provisioning_parameters.json", "{\"workload_manager\": \"slurm\"}\n");
    struct runner_options options = options_of(world);
    options.config_dir = config;
    text_clear(&world->said);
    assert_int_equal(lifecycle_runner.run(&options, "k1"), 0);
    assert_said(world, "started/1 succeeded/1!");
    /* Where it may not write, or there are no parameters, the scripts run all the same. */
    text_copy_cut(world->key, sizeof(world->key), "k2");
    world->instance_id = "i-0000000000000000b";
    make_credential(world, world->instance_id);
    put_script(world, "a.sh", "true");
    options = options_of(world);
    options.config_dir = "/proc/nowhere";
    text_clear(&world->said);
    assert_int_equal(lifecycle_runner.run(&options, "k2"), 0);
    assert_said(world, "started/1 succeeded/1!");
}

static void test_attempts(void **state)
{
    struct world *world = *state;
    put_script(world, "a.sh", "test $(wc -l <\"$(dirname $0)/../../../ran\") -ge 3 || { echo not yet; exit 7; }");
    assert_int_equal(run(world), 0);
    assert_said(world, "started/1 failed/1 started/2 failed/2 started/3 succeeded/3!");
}

/* Addresses become known while others come up: each attempt, and the second script, reads the newest file, at both places. */
static void test_the_file_is_new_for_each_attempt(void **state)
{
    struct world *world = *state;
    world->spaced = true;
    world->scripts = "[\"a.sh\",\"b.sh\"]";
    autofree char *config = own_printf("%s/ml", world->dir);
    autofree char *body = own_printf("cmp \"$1\" %s/resource_config.json && wc -c <\"$1\" >>%s/sizes; "
                                     "test $(wc -l <%s/sizes) -ge 2",
                                     config, world->dir, world->dir);
    put_script(world, "a.sh", body);
    put_script(world, "b.sh", body);
    struct runner_options options = options_of(world);
    options.config_dir = config;
    text_clear(&world->said);
    assert_int_equal(lifecycle_runner.run(&options, "k1"), 0);
    assert_said(world, "started/1 failed/1 started/2 succeeded/2 started/1 succeeded/1!");
    autofree char *path = own_printf("%s/sizes", world->dir), *sizes = NULL;
    assert_int_equal(file_read(path, 64, &sizes, NULL), 0);
    assert_string_equal(sizes, "2\n3\n4\n");
}

static void test_a_failure_for_good(void **state)
{
    struct world *world = *state;
    put_script(world, "a.sh", "echo no such device; exit 3");
    world->attempts = 2;
    for (int again = 0; again < 2; again++) {
        assert_int_equal(run(world), 0);
        assert_said(world, again ? "failed/2!" : "started/1 failed/1 started/2 failed/2!");
        assert_non_null(strstr(world->detail, "a.sh ended with exit code 3 in attempt 2 of 2; log "));
        assert_string_equal(world->log, "no such device\n");
        assert_ran(world, "a.sh a.sh");
    }
    put_script(world, "a.sh", "exit 0"); /* it was repaired, and asked for anew */
    text_copy_cut(world->key, sizeof(world->key), "k2");
    assert_int_equal(run(world), 0);
    assert_said(world, "started/1 succeeded/1!");
}

static void test_time_is_limited(void **state)
{
    struct world *world = *state;
    put_script(world, "a.sh", "trap '' TERM; while :; do sleep 0.05; done");
    world->attempts = 1;
    world->time_limit_ms = 100;
    assert_int_equal(run(world), 0);
    assert_said(world, "started/1 failed/1!");
    assert_non_null(strstr(world->detail, "did not end within"));
}

static void test_a_signal(void **state)
{
    struct world *world = *state;
    put_script(world, "a.sh", "kill -SEGV $$");
    world->attempts = 1;
    assert_int_equal(run(world), 0);
    assert_non_null(strstr(world->detail, "was ended by signal 11"));
}

/* Away, or it does not know us for a while: an enrolment may bring another credential. */
static void test_a_server_that_is_away_for_a_while(void **state)
{
    static const int answers[] = {503, 500, 507, 401, 429};
    struct world *world = *state;
    put_script(world, "a.sh", "exit 0");
    for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
        snprintf(world->key, sizeof(world->key), "k%zu", i);
        world->post_status = answers[i];
        world->refusals_left = 3;
        assert_int_equal(run(world), 0);
        assert_said(world, i == 0 ? "started/1 succeeded/1!" : "succeeded/0!");
        assert_int_equal(world->refusals_left, 0);
    }
    assert_ran(world, "a.sh");
}

static void test_what_is_wanted_no_more(void **state)
{
    struct world *world = *state;
    put_script(world, "a.sh", "exit 0");
    world->post_status = 409;
    world->refusals_left = -1;
    assert_int_equal(run(world), 0);
    assert_ran(world, "");
    world->refusals_left = 0;
    world->key[0] = '\0'; /* 404 */
    assert_int_equal(run(world), 0);
    assert_said(world, "");
    assert_ran(world, "");
}

/* The first report is taken; the next, which asks whether it is still wanted, is not. */
static void test_a_run_that_is_taken_back(void **state)
{
    struct world *world = *state;
    struct runner_options options = options_of(world);
    options.times.probe_ms = 1;
    world->post_status = 409;
    world->taken_max = 1;
    put_script(world, "a.sh", "while :; do sleep 0.05; done");
    assert_int_equal(lifecycle_runner.run(&options, "k1"), 0);
    assert_said(world, "started/1");
}

static void test_an_agent_that_runs_none(void **state)
{
    struct world *world = *state;
    struct runner_options options = options_of(world);
    options.refused = true;
    put_script(world, "a.sh", "exit 0");
    assert_int_equal(lifecycle_runner.run(&options, "k1"), 0);
    assert_said(world, "failed/0!");
    assert_non_null(strstr(world->detail, "--no-lifecycle"));
    assert_ran(world, "");
}

/* What an earlier runner left: a process that lives, and an attempt that counts. */
static void test_what_was_interrupted(void **state)
{
    struct world *world = *state;
    uint64_t ticks;
    put_script(world, "a.sh", "exit 0");
    pid_t left = fork();
    if (left == 0) {
        (void)setsid();
        for (;;)
            (void)poll(NULL, 0, PATIENCE_MS);
    }
    while (getpgid(left) != left)
        (void)poll(NULL, 0, 1);
    assert_int_equal(child_start_time(left, &ticks), 0);
    struct work_state work = {
        .instance_id = INSTANCE, .key = "k1", .script = "a.sh", .attempts = 1, .pid = left, .ticks = (int64_t)ticks};
    AUTO(text) struct text out = {0};
    autofree char *path = own_printf("%s/lifecycle/state", world->state_dir);
    work_write_state(&out, &work);
    assert_int_equal(file_write(path, out.data, out.len, 0600), 0);
    assert_int_equal(run(world), 0);
    assert_said(world, "failed/1 started/2 succeeded/2!");
    int status;
    assert_int_equal(waitpid(left, &status, 0), left);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void test_hostile_sources(void **state)
{
    struct world *world = *state;
    static const struct {
        const char *make, *says;
    } cases[] = {
        {"ln -s /bin/true a.sh", "symbolic links are not followed"},
        {"mkdir lib; ln -s /etc lib/etc; echo true >a.sh", "symbolic links are not followed"},
        {"mkfifo pipe; echo true >a.sh", "neither a file nor a directory"},
        {"echo true >b.sh", "the source has no such file"},
        {"mkdir a.sh", "the source has no such file"},
        {"truncate -s 65M image; echo true >a.sh", "more than 64 MiB"},
        {"mkdir -p 1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/18; echo true >a.sh", "more than 16 deep"},
        {"for i in $(seq 5000); do echo >$i; done; echo true >a.sh", "more than 4096 files"},
        {"rmdir \"$PWD\"", "No such file or directory"},
    };
    world->attempts = 1;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct child_result result;
        const struct child_options options = {
            .timeout_ms = PATIENCE_MS, .out_bytes_max = 4096, .directory = world->source};
        const char *const argv[] = {"/bin/sh", "-c", cases[i].make, NULL};
        assert_int_equal(child_run(argv, &options, &result), 0);
        child_result_free(&result);
        snprintf(world->key, sizeof(world->key), "k%zu", i);
        assert_int_equal(run(world), 0);
        assert_said(world, "failed/0!");
        if (strstr(world->detail, cases[i].says) == NULL)
            fail_msg("%s: %s", cases[i].make, world->detail);
        assert_int_equal(file_remove_tree(world->source) + file_make_dirs(world->source, 0700), 0);
    }
}

/* --- the agent's part ---------------------------------------------------------------------------------------- */

static void test_one_runner_at_a_time(void **state)
{
    struct world *world = *state;
    struct runner_options options = options_of(world);
    autofree char *runner = own_printf("%s/runner", world->dir), *told = own_printf("%s/told", world->dir);
    autofree char *go = own_printf("%s/go", world->dir);
    autofree char *text = own_printf(
        "#!/bin/sh\nuntil test -e %s; do sleep 0.02; done\necho \"$*\" >%s.new; mv %s.new %s\n", go, told, told, told);
    options.fingerprint = "sha256:x";
    assert_int_equal(file_write(runner, text, strlen(text), 0700), 0);
    assert_int_equal(runner_begin(&lifecycle_runner, &options, runner, "k1"), 0);
    assert_int_equal(runner_begin(&lifecycle_runner, &options, runner, "k1"), STATUS_CONFLICT);
    assert_int_equal(file_write(go, "", 0, 0600), 0);
    int status = STATUS_CONFLICT, lock;
    for (int i = 0; i < PATIENCE_MS / 10 && status == STATUS_CONFLICT; i++) {
        status = runner_lock(&lifecycle_runner, &options, &lock);
        (void)poll(NULL, 0, status == STATUS_CONFLICT ? 10 : 0);
    }
    assert_int_equal(status, 0);
    close(lock);
    autofree char *arguments = NULL;
    assert_int_equal(file_read(told, 4096, &arguments, NULL), 0);
    autofree char *wanted =
        own_printf("--lifecycle k1 --server %s --state-dir %s --instance-id " INSTANCE " --fingerprint sha256:x\n",
                   options.url, options.state_dir);
    assert_string_equal(arguments, wanted);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_world, remove_world)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_scripts_run_once),
        TEST(test_attempts),
        TEST(test_the_file_is_new_for_each_attempt),
        TEST(test_files_where_scripts_look),
        TEST(test_a_failure_for_good),
        TEST(test_time_is_limited),
        TEST(test_a_signal),
        TEST(test_a_server_that_is_away_for_a_while),
        TEST(test_what_is_wanted_no_more),
        TEST(test_a_run_that_is_taken_back),
        TEST(test_an_agent_that_runs_none),
        TEST(test_what_was_interrupted),
        TEST(test_hostile_sources),
        TEST(test_one_runner_at_a_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
