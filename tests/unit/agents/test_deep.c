/*
 * The runner of deep health checks against a scripted server and scripted tools: what is run, how often, what is said of it, and
 * what is remembered when it comes again.
 */
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

static void serve_order(struct world *world, struct fake_answer *answer)
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

static const char *text_of(json_t *body, const char *name)
{
    const char *text = json_string_value(json_object_get(body, name));
    return text != NULL ? text : "";
}

static void take_marks(struct world *world, json_t *measures)
{
    size_t i;
    json_t *measure;
    text_clear(&world->marks);
    json_array_foreach(measures, i, measure)
        text_printf(&world->marks, "%s %s%s%s%s%s; ", text_of(measure, "name"), text_of(measure, "value"),
                    text_of(measure, "limit")[0] != '\0' ? " " : "", text_of(measure, "limit"),
                    text_of(measure, "mark")[0] != '\0' ? " " : "", text_of(measure, "mark"));
}

static void serve_report(struct world *world, const char *request, struct fake_answer *answer)
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

static void serve(const char *request, size_t len, struct fake_answer *answer, void *arg)
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

static void write_text(const char *dir, const char *name, const char *text, mode_t mode)
{
    autofree char *path = own_printf("%s/%s", dir, name);
    assert_int_equal(file_write(path, text, strlen(text), mode), 0);
}

/* A stress-ng that leaves a line in the world's "ran" and then does that. */
static void put_stress(const struct world *world, const char *body)
{
    autofree char *text = own_printf("#!/bin/sh\necho \"$*\" >>%s/ran\n%s\n", world->dir, body);
    write_text(world->tools, "stress-ng", text, 0755);
}

static int make_world(void **state)
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

static int remove_world(void **state)
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
static int deep(const struct world *world, const char *path, const char *key, int64_t probe_ms)
{
    autofree char *boot = own_printf("%s/boot", world->dir);
    const struct deep_options options = {.url = fake_server_url(world->server),
                                         .state_dir = world->state_dir,
                                         .instance_id = INSTANCE,
                                         .boot_id_file = boot,
                                         .path = path,
                                         .root = world->dir,
                                         .timeout_ms = PATIENCE_MS,
                                         .pause_ms = 1,
                                         .grace_ms = 50,
                                         .probe_ms = probe_ms};
    return deep_run(&options, key);
}

static void set_posts(struct world *world, int max, int status)
{
    pthread_mutex_lock(&world->lock);
    text_clear(&world->said);
    world->posts = 0;
    world->posts_max = max;
    world->post_status = status;
    pthread_mutex_unlock(&world->lock);
}

static int run_with(struct world *world, const char *path, const char *key, int64_t probe_ms)
{
    set_posts(world, world->posts_max, world->post_status);
    int status = deep(world, path, key, probe_ms);
    /* What the server's thread wrote before its last answer is this thread's from here on. */
    pthread_mutex_lock(&world->lock);
    pthread_mutex_unlock(&world->lock);
    return status;
}

static int run_as(struct world *world, const char *key, int64_t probe_ms)
{
    return run_with(world, world->tools, key, probe_ms);
}

static int run(struct world *world)
{
    return run_as(world, "k1", PATIENCE_MS);
}

static void assert_said(struct world *world, const char *said)
{
    assert_string_equal(text_get(&world->said), said);
}

static int runs(const struct world *world)
{
    autofree char *path = own_printf("%s/ran", world->dir), *ran = NULL;
    int count = 0;
    if (file_read(path, 65536, &ran, NULL) == 0)
        for (const char *at = ran; (at = strchr(at, '\n')) != NULL; at++)
            count++;
    return count;
}

/* --- tests --------------------------------------------------------------------------------------------------- */

static void test_a_check_is_run_once(void **state)
{
    struct world *world = *state;
    put_stress(world, "echo 'stress-ng: metrc: [1] cpu 10 1.0 1.0 0.1 9.98'\ntest -d ../scratch && touch left");
    assert_int_equal(run(world), 0);
    assert_said(world, "running passed !");
    assert_int_equal(world->measures, 1);
    assert_non_null(strstr(world->log, "Z info Executing Hardware stress check with command: stress-ng, and args: "
                                       "[--cpu 32 --vm 2 --hdd 1 --fork 8 --switch 4 --timeout 1 --metrics]\n"));
    assert_non_null(strstr(world->log, "Z info stress-ng success\n"));
    autofree char *ran_path = own_printf("%s/ran", world->dir), *ran = NULL;
    assert_int_equal(file_read(ran_path, 4096, &ran, NULL), 0);
    assert_string_equal(ran, "--cpu 32 --vm 2 --hdd 1 --fork 8 --switch 4 --timeout 1 --metrics\n");
    autofree char *scratch = own_printf("%s/deep/scratch", world->state_dir);
    assert_false(file_exists(scratch));
    autofree char *log = own_printf("%s/sagemaker-deep-health-check.log", world->state_dir);
    assert_true(file_exists(log));
    assert_int_equal(run(world), 0); /* asked once more: only the last word is repeated */
    assert_non_null(strstr(text_get(&world->said), "!"));
    assert_null(strstr(text_get(&world->said), "running"));
    assert_int_equal(runs(world), 1);
    world->key = "k2"; /* another check is run again */
    assert_int_equal(run_as(world, "k2", PATIENCE_MS), 0);
    assert_int_equal(runs(world), 2);
}

static void test_what_fails_says_why(void **state)
{
    static const struct {
        const char *body, *says;
    } cases[] = {
        {"echo 'stress-ng: fail:  [2] vm: detected 3 bit errors'; exit 2", "stress-ng: vm: detected 3 bit errors"},
        {"exit 7", "ended with exit code 7"},
        {"kill -KILL $$", "was ended by signal 9"},
        {"yes | head -c 3000000; sleep 1000", "wrote more than 1 MiB"},
        {"printf 'stress-ng: fail: [1] \\033[2J\\n'; exit 2", "stress-ng: ?[2J"},
    };
    struct world *world = *state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autofree char *key = own_printf("k%zu", i);
        world->key = key;
        put_stress(world, cases[i].body);
        assert_int_equal(run_as(world, key, PATIENCE_MS), 0);
        assert_said(world, "running failed !");
        if (strstr(world->detail, cases[i].says) == NULL)
            fail_msg("%s: %s", cases[i].body, world->detail);
    }
}

/* stress-ng's own words for it: no memory, no room, no such stressor. */
static void test_want_is_no_fault(void **state)
{
    static const char *const bodies[] = {
        "echo 'stress-ng: error: [2] out of memory'; exit 1",
        "echo 'stress-ng: error: [2] hdd: no room'; exit 3",
        "exit 4",
    };
    struct world *world = *state;
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
        autofree char *key = own_printf("k%zu", i);
        world->key = key;
        put_stress(world, bodies[i]);
        assert_int_equal(run_as(world, key, PATIENCE_MS), 0);
        assert_said(world, "running skipped !");
        assert_non_null(strstr(world->detail, "stress-ng: "));
    }
}

/* The time of the whole run, which a site sets: that it is short is no fault of the machine. */
static void test_time_is_limited(void **state)
{
    struct world *world = *state;
    put_stress(world, "sleep 1000");
    world->time_limit_ms = 600;
    assert_int_equal(run(world), 0);
    assert_said(world, "running skipped !");
    assert_string_equal(world->detail, "could not be carried out: the deadline passed");
}

static void test_no_room_is_no_fault(void **state)
{
    struct world *world = *state;
    autofree char *output = own_printf("%s/deep/output", world->state_dir);
    put_stress(world, "true");
    assert_int_equal(file_make_dirs(output, 0700), 0); /* a directory is in the way of the file */
    assert_int_equal(run(world), 0);
    assert_said(world, "running skipped !");
    assert_int_equal(runs(world), 0);
}

static void test_what_is_not_there_is_skipped(void **state)
{
    struct world *world = *state;
    assert_int_equal(run_with(world, world->dir, "k1", PATIENCE_MS), 0);
    assert_said(world, "running skipped !");
    assert_string_equal(world->detail, "stress-ng is not installed here");
}

static void test_what_is_wanted_no_more_is_ended(void **state)
{
    struct world *world = *state;
    autofree char *body = own_printf("echo $$ >%s/pid; sleep 1000", world->dir);
    put_stress(world, body);
    world->posts_max = 1; /* "running"; the next probe hears that it is stale */
    assert_int_equal(run_as(world, "k1", 100), 0);
    assert_said(world, "running");
    autofree char *path = own_printf("%s/pid", world->dir), *pid = NULL;
    assert_int_equal(file_read(path, 64, &pid, NULL), 0);
    int64_t number;
    pid[strcspn(pid, "\n")] = '\0';
    assert_int_equal(text_parse_i64(pid, 2, INT32_MAX, &number), 0);
    assert_int_equal(kill((pid_t)number, 0), -1);
    world->key = NULL; /* and nothing is asked for: it goes quietly */
    assert_int_equal(run(world), 0);
    assert_said(world, "");
    assert_int_equal(runs(world), 1);
}

/* Runs it in a process of its own and ends that in the middle of the test. */
static void interrupt_by(struct world *world, int number)
{
    int before = runs(world);
    pid_t pid = fork();
    if (pid == 0)
        _exit(deep(world, world->tools, "k1", PATIENCE_MS) == 0 ? 0 : 1);
    for (int i = 0; runs(world) == before && i < PATIENCE_MS / 10; i++)
        (void)poll(NULL, 0, 10);
    kill(pid, number);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(runs(world), before + 1);
}

static void interrupt(struct world *world)
{
    interrupt_by(world, SIGKILL);
}

static void test_what_was_interrupted_is_run_once_more(void **state)
{
    struct world *world = *state;
    autofree char *body = own_printf("test -e %s/go || sleep 1000", world->dir);
    put_stress(world, body);
    interrupt(world);
    write_text(world->dir, "go", "", 0600);
    assert_int_equal(run(world), 0);
    assert_said(world, "running passed !");
    assert_int_equal(runs(world), 2);
}

static void test_interrupted_twice_it_is_skipped(void **state)
{
    struct world *world = *state;
    put_stress(world, "sleep 1000");
    interrupt(world);
    interrupt(world);
    assert_int_equal(run(world), 0);
    assert_said(world, "skipped !");
    assert_string_equal(world->detail, "was interrupted 2 times");
    assert_int_equal(runs(world), 2);
}

static void test_a_machine_that_came_up_anew_has_failed(void **state)
{
    struct world *world = *state;
    autofree char *body = own_printf("echo $$ >%s/tool\nexec sleep 1000", world->dir);
    autofree char *path = own_printf("%s/tool", world->dir), *pid = NULL;
    put_stress(world, body);
    interrupt(world);
    write_text(world->dir, "boot", "boot-2\n", 0600);
    assert_int_equal(run(world), 0);
    assert_said(world, "failed !");
    assert_string_equal(world->detail, "the machine came up anew while this test ran");
    assert_int_equal(runs(world), 1);
    /* A real restart would have ended it; nothing here may, for its number could be another's by now. */
    for (int i = 0; i < PATIENCE_MS / 10 && (file_read(path, 32, &pid, NULL) != 0 || strchr(pid, '\n') == NULL); i++) {
        free(TAKE(pid));
        (void)poll(NULL, 0, 10);
    }
    assert_non_null(pid);
    int64_t number;
    pid[strcspn(pid, "\n")] = '\0';
    assert_int_equal(text_parse_i64(pid, 2, INT32_MAX, &number), 0);
    assert_int_equal(kill((pid_t)number, SIGKILL), 0);
}

/* What it found stands on its disk before anybody hears it. */
/* Somebody shut it down: that is no finding. But the test has no result either. */
static void test_a_machine_that_was_told_to_go_down_has_not_failed(void **state)
{
    struct world *world = *state;
#ifdef __SANITIZE_THREAD__
    skip(); /* runs no handler of a signal in the child of a process with threads (seen with five lines of C); the run of the
               other sanitizers has this story */
#endif
    autofree char *body = own_printf("echo $$ >%s/tool\ntest -e %s/go || exec sleep 1000", world->dir, world->dir);
    autofree char *path = own_printf("%s/tool", world->dir), *pid = NULL;
    put_stress(world, body);
    interrupt_by(world, SIGTERM);
    assert_int_equal(file_read(path, 64, &pid, NULL), 0);
    (void)kill((pid_t)strtol(pid, NULL, 10), SIGKILL); /* no other boot ends it here */
    write_text(world->dir, "boot", "boot-2\n", 0600);
    write_text(world->dir, "go", "", 0600);
    assert_int_equal(run(world), 0);
    assert_said(world, "running passed !");
    assert_int_equal(runs(world), 2);
}

static void test_a_result_that_nobody_heard_is_said_again(void **state)
{
    struct world *world = *state;
    put_stress(world, "true");
    set_posts(world, 1, 503);
    pid_t pid = fork();
    if (pid == 0)
        _exit(deep(world, world->tools, "k1", PATIENCE_MS) == 0 ? 0 : 1);
    autofree char *memory = own_printf("%s/deep/memory", world->state_dir);
    bool remembered = false;
    for (int i = 0; !remembered && i < PATIENCE_MS / 10; i++) {
        autofree char *data = NULL;
        (void)poll(NULL, 0, 10);
        remembered = file_read(memory, 4096, &data, NULL) == 0 && strstr(data, "\"at\":1") != NULL;
    }
    assert_true(remembered);
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    set_posts(world, POSTS_MAX, 409);
    assert_int_equal(run(world), 0);
    assert_non_null(strstr(text_get(&world->said), "passed"));
    assert_non_null(strstr(text_get(&world->said), "!"));
    assert_int_equal(runs(world), 1);
}

/* --- tests of accelerators ----------------------------------------------------------------------------------- */

static void run_one(struct world *world, const char *test, const char *key)
{
    world->test = test;
    world->key = key;
    put_stress(world, "true");
    assert_int_equal(run_as(world, key, PATIENCE_MS), 0);
}

static void put_dcgmi(const struct world *world, const char *sample, int exit_code)
{
    char here[512];
    assert_non_null(getcwd(here, sizeof(here)));
    autofree char *text =
        own_printf("#!/bin/sh\ntest \"$*\" = \"diag -r 2 -j\" || exit 99\n/bin/cat %s/tests/data/dcgm/%s\n"
                   "exit %d\n",
                   here, sample, exit_code);
    write_text(world->tools, "dcgmi", text, 0755);
}

static void test_dcgm(void **state)
{
    struct world *world = *state;
    run_one(world, "DCGM", "k1");
    assert_said(world, "running skipped !");
    assert_string_equal(world->detail, "no NVIDIA GPU here");
    autofree char *gpu = own_printf("%s/proc/driver/nvidia/gpus/0000:b9:00.0", world->dir);
    assert_int_equal(file_make_dirs(gpu, 0700), 0);
    run_one(world, "DCGM", "k2");
    assert_said(world, "running skipped !");
    assert_string_equal(world->detail, "dcgmi is not installed here");
    put_dcgmi(world, "diag-4.json", 226);
    run_one(world, "DCGM", "k3");
    assert_said(world, "running failed !");
    assert_non_null(strstr(world->detail, "row remapping failed")); /* not that persistence mode is off */
    assert_non_null(strstr(world->log, "error DCGM diagnostic health summary: dcgmCheckLevel: 2 dcgmVersion: "));
    assert_non_null(strstr(world->log, "replacementRequired: true"));
    put_dcgmi(world, "health-well.json", 0); /* no diagnosis */
    run_one(world, "DCGM", "k4");
    assert_said(world, "running skipped !");
    assert_non_null(strstr(world->detail, "made no diagnosis"));
}

/* What nvidia-smi says with so many GPUs, of which each has so many links. */
static void put_gpus(const struct world *world, int gpus, int links)
{
    AUTO(text) struct text script = {0};
    text_add(&script, "#!/bin/sh\nif [ $1 = -q ]; then\necho '<?xml version=\"1.0\"?><nvidia_smi_log>");
    text_printf(&script, "<attached_gpus>%d</attached_gpus>'\n", gpus);
    for (int i = 0; i < gpus; i++)
        text_printf(&script, "echo '<gpu id=\"00000000:%02X:00.0\"><uuid>GPU-%d</uuid></gpu>'\n", i + 1, i);
    text_add(&script, "echo '</nvidia_smi_log>'\nelse\n");
    for (int i = 0; i < gpus; i++) {
        text_printf(&script, "echo 'GPU %d: NVIDIA A100-SXM4-80GB (UUID: GPU-%d)'\n", i, i);
        for (int k = 0; k < links; k++)
            text_printf(&script, "echo '\t Link %d: 25 GB/s'\n", k);
    }
    text_add(&script, "fi\n");
    write_text(world->tools, "nvidia-smi", text_get(&script), 0755);
}

static void put_pci(const struct world *world, int number)
{
    autofree char *device = own_printf("%s/sys/bus/pci/devices/0000:%02x:00.0", world->dir, number);
    assert_int_equal(file_make_dirs(device, 0700), 0);
    write_text(device, "vendor", "0x10de\n", 0600);
    write_text(device, "class", "0x030200\n", 0600);
}

static void test_devices_are_counted(void **state)
{
    struct world *world = *state;
    run_one(world, "DEVICE_COUNT", "k1");
    assert_said(world, "running skipped !");
    assert_string_equal(world->detail, "what should be here is not known: the type of this instance is not");
    world->more = ",\"instanceType\":\"x9.huge\"";
    put_gpus(world, 2, 4);
    run_one(world, "DEVICE_COUNT", "k2");
    assert_said(world, "running skipped !"); /* counted all the same */
    assert_non_null(strstr(world->detail, "what should be in a x9.huge is not known"));
    assert_string_equal(text_get(&world->marks), "GPUs 2; NVLinks 8; ");

    world->more = ",\"instanceType\":\"ml.g5.12xlarge\"";
    put_gpus(world, 4, 0);
    for (int i = 1; i <= 3; i++)
        put_pci(world, i);
    run_one(world, "DEVICE_COUNT", "k3");
    assert_true(text_ends_with(text_get(&world->said), "running failed !")); /* it looked some times */
    assert_non_null(strstr(world->detail, "3 GPUs on PCI, and there should be >= 4"));
    assert_non_null(strstr(text_get(&world->marks), "GPUs 4 >= 4 ok; GPUs on PCI 3 >= 4 failed; "));
    assert_non_null(strstr(world->log, "error GpuPci Count check failed: 3 GPUs on PCI"));

    put_pci(world, 4);
    world->more = ",\"instanceType\":\"ml.g5.12xlarge\",\"limits\":[\"EFA adapters >= 0\"]"; /* the site knows better */
    run_one(world, "DEVICE_COUNT", "k4");
    assert_said(world, "running passed !");
    assert_non_null(strstr(world->log, "info GpuPci Count check success"));

    world->more = ",\"instanceType\":\"p4d.24xlarge\",\"limits\":[\"EFA adapters >= 0\",\"GPUs on PCI >= 4\"]";
    put_gpus(world, 8, 11); /* a link of each is down */
    run_one(world, "DEVICE_COUNT", "k5");
    assert_true(text_ends_with(text_get(&world->said), "running failed !"));
    assert_string_equal(world->detail, "88 NVLinks, and there should be >= 96");
}

static void test_efa(void **state)
{
    struct world *world = *state;
    run_one(world, "EFA", "k1");
    assert_said(world, "running skipped !");
    assert_string_equal(world->detail, "no Elastic Fabric Adapter here");
    autofree char *device = own_printf("%s/sys/class/infiniband/rdmap0s6/device", world->dir);
    autofree char *port = own_printf("%s/sys/class/infiniband/rdmap0s6/ports/1", world->dir);
    assert_int_equal(file_make_dirs(device, 0700) + file_make_dirs(port, 0700), 0);
    write_text(device, "vendor", "0x1d0f\n", 0600);
    write_text(device, "device", "0xefa1\n", 0600);
    write_text(world->tools, "fi_pingpong", "#!/bin/sh\necho no provider >&2; exit 61\n", 0755);
    run_one(world, "EFA", "k2"); /* a libfabric that was built without it */
    assert_said(world, "running skipped !");
    assert_string_equal(world->detail, "libfabric does not know the adapters here");
    write_text(world->tools, "fi_pingpong", "#!/bin/sh\necho broken >&2; exit 5\n", 0755);
    run_one(world, "EFA", "k3");
    assert_said(world, "running failed !");
    assert_non_null(strstr(world->detail, "1 adapters failed, last rdmap0s6: "));
}

/* --- Neuron --------------------------------------------------------------------------------------------------- */

#define NEURON_TREE "sys/devices/virtual/neuron_device"

static void put_neuron(const struct world *world, int devices)
{
    for (int i = 0; i < devices; i++) {
        autofree char *device = own_printf("%s/" NEURON_TREE "/neuron%d", world->dir, i);
        autofree char *stats = own_printf("%s/stats/hardware", device);
        assert_int_equal(file_make_dirs(stats, 0700), 0);
        write_text(device, "core_count", "2\n", 0600);
        write_text(stats, "mem_ecc_uncorrected", "3\n", 0600); /* of long ago */
        write_text(stats, "sram_ecc_uncorrected", "0\n", 0600);
    }
}

/* A nccom-test that leaves its words in "ran", prints the sample and does more. */
static void put_nccom(const struct world *world, const char *sample, const char *more)
{
    char here[512];
    assert_non_null(getcwd(here, sizeof(here)));
    autofree char *text = own_printf("#!/bin/sh\necho \"$*\" >>%s/nccom\n/bin/cat %s/tests/data/neuron/%s\n%s\n",
                                     world->dir, here, sample, more);
    write_text(world->tools, "nccom-test", text, 0755);
}

static void expect_words(const struct world *world, const char *words)
{
    autofree char *path = own_printf("%s/nccom", world->dir), *ran = NULL;
    assert_int_equal(file_read(path, 4096, &ran, NULL), 0);
    assert_non_null(strstr(ran, words));
}

static void test_neuron_where_there_is_none(void **state)
{
    static const char *const tests[] = {"NEURON", "NCCOM_LOCAL"};
    struct world *world = *state;
    for (size_t i = 0; i < ARRAY_LEN(tests); i++) {
        autofree char *before = own_printf("a%zu", i), *after = own_printf("b%zu", i);
        autofree char *tree = own_printf("%s/" NEURON_TREE, world->dir);
        assert_int_equal(file_remove_tree(tree), 0);
        run_one(world, tests[i], before);
        assert_said(world, "running skipped !");
        assert_string_equal(world->detail, "no Neuron device here");
        put_neuron(world, 1);
        run_one(world, tests[i], after);
        assert_said(world, "running skipped !");
        assert_string_equal(world->detail, "nccom-test is not installed here");
    }
}

static void test_neuron_hardware(void **state)
{
    struct world *world = *state;
    put_neuron(world, 2);
    put_nccom(world, "nccom-checked.txt", "");
    run_one(world, "NEURON", "k1");
    assert_said(world, "running passed !");
    assert_string_equal(text_get(&world->marks), "Neuron errors 0 <= 0 ok; ");
    expect_words(world, "-r 4 -b 1M -e 64M -f 4 -d fp32 --check allr\n");
    assert_non_null(strstr(world->log, "98.84\n")); /* its table */
    assert_non_null(strstr(world->log, "info Neuron hardware check success. Devices: 2, cores: 4, new errors: 0"));

    put_nccom(world, "../nccl/local-failed.txt", "exit 1");
    run_one(world, "NEURON", "k2");
    assert_said(world, "running failed !");
    assert_string_equal(world->detail, "nccom-test found errors");

    put_nccom(world, "nccom-checked.txt", "exit 1"); /* it broke off */
    run_one(world, "NEURON", "k3");
    assert_said(world, "running failed !");

    put_nccom(world, "nccom-no-driver.txt", "exit 1");
    run_one(world, "NEURON", "k4");
    assert_said(world, "running skipped !");
    assert_non_null(strstr(world->detail, "nccom-test came to nothing: Neuron DKMS Driver is not running!"));

    /* The sums were right, and yet a device has counted. */
    autofree char *counts =
        own_printf("echo 5 >%s/" NEURON_TREE "/neuron1/stats/hardware/mem_ecc_uncorrected", world->dir);
    put_nccom(world, "nccom-checked.txt", counts);
    run_one(world, "NEURON", "k5");
    assert_said(world, "running failed !");
    assert_string_equal(world->detail, "2 errors were not corrected meanwhile, most of them of neuron1");
    assert_string_equal(text_get(&world->marks), "Neuron errors 2 <= 0 failed; ");

    autofree char *gone = own_printf("/bin/rm -r %s/" NEURON_TREE "/neuron0", world->dir);
    put_nccom(world, "nccom-checked.txt", gone);
    run_one(world, "NEURON", "k6");
    assert_said(world, "running failed !");
    assert_string_equal(world->detail, "1 of 2 Neuron devices are left");
}

static void test_nccom_local(void **state)
{
    struct world *world = *state;
    char here[512];
    assert_non_null(getcwd(here, sizeof(here)));
    put_neuron(world, 16);
    autofree char *ls = own_printf("#!/bin/sh\nexec /bin/cat %s/tests/data/neuron/ls-trn2.48xlarge.json\n", here);
    write_text(world->tools, "neuron-ls", ls, 0755);
    put_nccom(world, "nccom-checked.txt", "");
    run_one(world, "NCCOM_LOCAL", "k1");
    assert_said(world, "running passed !");
    assert_string_equal(text_get(&world->marks), "NCCOM local busbw GB/s 98.84; "); /* nobody knows a limit: told */
    expect_words(world, "-r 64 -b 8 -e 1G -f 2 -d fp32 allr\n"); /* two cores of eight are used as one */
    assert_non_null(strstr(world->log, "info Nccom local test successful. Summary: MaxAlgoBw: 53.910000, MaxBusBw: "
                                       "98.840000, ThresholdBusBw: none, TotalCores: 64"));

    world->more = ",\"limits\":[\"NCCOM local busbw GB/s >= 98.84\"]";
    run_one(world, "NCCOM_LOCAL", "k2");
    assert_said(world, "running passed !");
    world->more = ",\"limits\":[\"NCCOM local busbw GB/s >= 98.85\"]";
    run_one(world, "NCCOM_LOCAL", "k3");
    assert_said(world, "running failed !");
    assert_string_equal(world->detail, "98.84 GB/s of bus bandwidth, and there should be >= 98.85");
    assert_string_equal(text_get(&world->marks), "NCCOM local busbw GB/s 98.84 >= 98.85 failed; ");
}

static void test_orders(void **state)
{
    static const char good[] =
        "{\"key\":\"k\",\"instanceId\":\"i\",\"checks\":[\"instance-stress\"],\"profile\":\"deep\","
        "\"dcgmLevel\":4,\"stressSeconds\":60,\"timeLimitMs\":1000,\"instanceType\":\"ml.g5.xlarge\","
        "\"limits\":[\"EFA MB/s >= 9000.5\",\"EFA latency us <= 40\"]}";
    static const struct {
        const char *part, *instead;
    } cases[] = {{"[\"instance-stress\"]", "[]"},
                 {"[\"instance-stress\"]", "[\"x\"]"},
                 {"\"deep\"", "\"slow\""},
                 {"4,", "5,"},
                 {"60,", "0,"},
                 {":1000", ":0"},
                 {"\"key\":\"k\",", ""},
                 {"\"key\":\"k\",", "\"key\":\"k\",\"key\":\"k\","},
                 {"9000.5", "1.2.3"},
                 {"9000.5", "-1"},
                 {"9000.5", "1e9"},
                 {"9000.5", ""},
                 {" >= ", " > "},
                 {"EFA MB/s >=", ">="},
                 {"\"key\"", "\"colour\""}};
    struct deep_job job;
    (void)state;
    assert_int_equal(deep_read_order(good, strlen(good), &job), 0);
    assert_int_equal(job.dcgm_level, 4);
    assert_int_equal(job.profile, DEEP_PROFILE_DEEP);
    assert_int_equal(job.limit_count, 2);
    assert_string_equal(job.limits[1].measure, "EFA latency us");
    assert_true(job.limits[1].at_most);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *at = strstr(good, cases[i].part);
        autofree char *bad =
            own_printf("%.*s%s%s", (int)(at - good), good, cases[i].instead, at + strlen(cases[i].part));
        if (deep_read_order(bad, strlen(bad), &job) == 0)
            fail_msg("%s", bad);
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_world, remove_world)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_check_is_run_once),
        TEST(test_what_fails_says_why),
        TEST(test_want_is_no_fault),
        TEST(test_time_is_limited),
        TEST(test_no_room_is_no_fault),
        TEST(test_what_is_not_there_is_skipped),
        TEST(test_what_is_wanted_no_more_is_ended),
        TEST(test_what_was_interrupted_is_run_once_more),
        TEST(test_interrupted_twice_it_is_skipped),
        TEST(test_a_machine_that_came_up_anew_has_failed),
        TEST(test_a_machine_that_was_told_to_go_down_has_not_failed),
        TEST(test_devices_are_counted),
        TEST(test_a_result_that_nobody_heard_is_said_again),
        TEST(test_dcgm),
        TEST(test_efa),
        TEST(test_neuron_where_there_is_none),
        TEST(test_neuron_hardware),
        TEST(test_nccom_local),
        cmocka_unit_test(test_orders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
