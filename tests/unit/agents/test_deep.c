/*
 * The runner of deep health checks against a scripted server and scripted tools: what is run, how often, what is said of it, and
 * what is remembered when it comes again.
 */
#include "tests/unit/agents/deep_world.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        DEEP_TEST(test_a_check_is_run_once),
        DEEP_TEST(test_what_fails_says_why),
        DEEP_TEST(test_want_is_no_fault),
        DEEP_TEST(test_time_is_limited),
        DEEP_TEST(test_no_room_is_no_fault),
        DEEP_TEST(test_what_is_not_there_is_skipped),
        DEEP_TEST(test_what_is_wanted_no_more_is_ended),
        DEEP_TEST(test_what_was_interrupted_is_run_once_more),
        DEEP_TEST(test_interrupted_twice_it_is_skipped),
        DEEP_TEST(test_a_machine_that_came_up_anew_has_failed),
        DEEP_TEST(test_a_machine_that_was_told_to_go_down_has_not_failed),
        DEEP_TEST(test_a_result_that_nobody_heard_is_said_again),
        cmocka_unit_test(test_orders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
