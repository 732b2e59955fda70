/* The local provider's promises: a key counts once, an instance is found again, its end leaves nothing, no id is a path. */
#include "tests/unit/server/test_local.h"

#include "server/provider/lab/instance.h"

#include <pthread.h>

#define ID_A "i-0123456789abcdef0"
#define ID_B "i-0123456789abcdef1"

static void test_launch_counts_once_for_a_key(void **state)
{
    struct local_world *w = *state;
    struct provider_instance instance;
    world_open(w, SCRIPT_BOOTS);
    world_launch(w, "launch/1", ID_A);
    world_launch(w, "launch/1", ID_A);
    world_wait_boots(w, ID_A, 1);
    /* The instance that was made then, whatever is asked for now; also after hpd's restart. */
    struct provider_launch request = world_request("launch/1", ID_B);
    assert_int_equal(w->driver.ops->launch(w->driver.self, &request, &instance, w->error), 0);
    assert_string_equal(instance.ref, ID_A);
    world_close(w);
    world_open(w, SCRIPT_BOOTS);
    assert_int_equal(w->driver.ops->launch(w->driver.self, &request, &instance, w->error), 0);
    assert_string_equal(instance.ref, ID_A);
    world_launch(w, "launch/1", ID_A);
    assert_int_equal(world_lines(w, ID_A, "boots"), 1);
    assert_false(world_has(w, ID_B, ""));
    /* Another key is another instance, and cannot have a name that is taken. */
    request = world_request("launch/2", ID_A);
    assert_int_equal(w->driver.ops->launch(w->driver.self, &request, &instance, w->error), STATUS_CONFLICT);
    world_launch(w, "launch/2", ID_B);
    world_wait_boots(w, ID_B, 1);
}

static void test_provider_chooses_an_id(void **state)
{
    struct local_world *w = *state;
    struct provider_instance first, again;
    const struct provider_launch request = world_request("launch/1", NULL);
    world_open(w, SCRIPT_BOOTS);
    assert_int_equal(w->driver.ops->launch(w->driver.self, &request, &first, w->error), 0);
    assert_true(instance_id_is_valid(first.ref));
    assert_int_equal(w->driver.ops->launch(w->driver.self, &request, &again, w->error), 0);
    assert_string_equal(first.ref, again.ref);
    world_wait_boots(w, first.ref, 1);
}

static void test_describe(void **state)
{
    struct local_world *w = *state;
    world_open(w, SCRIPT_BOOTS);
    assert_int_equal(world_describe(w, ID_A), PROVIDER_INSTANCE_GONE);
    world_launch(w, "launch/1", ID_A);
    assert_int_equal(world_describe(w, ID_A), PROVIDER_INSTANCE_RUNNING);
    world_terminate(w, ID_A, "terminate/1");
    assert_int_equal(world_describe(w, ID_A), PROVIDER_INSTANCE_GONE);
}

static void test_secrets_stay_in_one_file(void **state)
{
    struct local_world *w = *state;
    struct stat st;
    setenv("HPCTL_TOKEN", "hfa_secret", 1);
    world_open(w, "env >{dir}/env.new; mv {dir}/env.new {dir}/env; " SCRIPT_BOOTS);
    world_launch(w, "launch/1", ID_A);
    world_wait_boots(w, ID_A, 1);
    unsetenv("HPCTL_TOKEN");
    autofree char *token = world_read(w, ID_A, "token"), *spec = world_read(w, ID_A, "instance.json"),
                  *env = world_read(w, ID_A, "env"), *path = world_path(w, ID_A, "token");
    assert_string_equal(token, "hfe_secret\n");
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_non_null(strstr(spec, "gpu-1"));
    assert_null(strstr(spec, "secret"));
    autofree char *named = own_printf("HOLDFAST_INSTANCE_DIR=%s/" ID_A "\n", w->dir);
    assert_non_null(strstr(env, named));
    assert_null(strstr(env, "hfa_secret")); /* a machine may have the word alone in its name */
    assert_null(strstr(env, "hfe_secret"));
    /* A repeat brings a token that lives longer, and one without leaves it. */
    struct provider_instance instance;
    struct provider_launch request = world_request("launch/1", ID_A);
    request.enrollment_token = "hfe_newer";
    assert_int_equal(w->driver.ops->launch(w->driver.self, &request, &instance, w->error), 0);
    request.enrollment_token = NULL;
    assert_int_equal(w->driver.ops->launch(w->driver.self, &request, &instance, w->error), 0);
    autofree char *newer = world_read(w, ID_A, "token");
    assert_string_equal(newer, "hfe_newer\n");
}

static void test_terminate(void **state)
{
    struct local_world *w = *state;
    struct provider_instance instance;
    world_open(w, SCRIPT_DAEMON);
    world_launch(w, "launch/1", ID_A);
    world_wait_boots(w, ID_A, 1);
    pid_t daemon = world_wait_daemon(w, ID_A), supervisor = world_pid(w, ID_A, "machine.pid"),
          service = world_pid(w, ID_A, "boots");
    world_terminate(w, ID_A, "terminate/1");
    assert_false(process_lives(daemon));
    assert_false(process_lives(supervisor));
    assert_false(process_lives(service));
    static const char *const gone[] = {"token", "agent", "machine.pid", "processes", "terminating"};
    for (size_t i = 0; i < ARRAY_LEN(gone); i++)
        assert_false(world_has(w, ID_A, gone[i]));
    assert_true(world_has(w, ID_A, "log/boots.log"));
    assert_true(world_has(w, ID_A, "terminated.json"));
    /* Again, under the same key and another, and by a provider that has just started. */
    world_terminate(w, ID_A, "terminate/1");
    world_close(w);
    world_open(w, SCRIPT_BOOTS);
    world_terminate(w, ID_A, "terminate/2");
    const struct provider_launch request = world_request("launch/1", ID_A);
    assert_int_equal(w->driver.ops->launch(w->driver.self, &request, &instance, w->error), 0);
    assert_int_equal(instance.state, PROVIDER_INSTANCE_GONE);
    assert_int_equal(
        w->driver.ops->reboot(w->driver.self, &(struct provider_target){.instance_id = ID_A}, "reboot/1", w->error),
        STATUS_NOT_FOUND);
    assert_int_equal(world_lines(w, ID_A, "boots"), 1);
    world_terminate(w, ID_B, "terminate/3"); /* never heard of */
    assert_false(world_has(w, ID_B, ""));
}

/* instance.json is there and nothing ever ran, as after a crash between the two. */
static void launch_without_start(struct local_world *w, const char *id)
{
    struct provider_instance instance;
    const struct provider_launch request = world_request("launch/1", id);
    world_open_with(w, "/nonexistent/hpd", SCRIPT_BOOTS);
    assert_int_equal(w->driver.ops->launch(w->driver.self, &request, &instance, w->error), STATUS_UNAVAILABLE);
    assert_int_equal(world_describe(w, id), PROVIDER_INSTANCE_PENDING);
    world_close(w);
    assert_true(world_has(w, id, "instance.json"));
    assert_false(world_has(w, id, "machine.pid"));
    world_open(w, SCRIPT_BOOTS);
}

static void test_launch_completes_what_a_crash_left(void **state)
{
    struct local_world *w = *state;
    launch_without_start(w, ID_A);
    world_launch(w, "launch/1", ID_A);
    world_wait_boots(w, ID_A, 1);
    assert_int_equal(world_lines(w, ID_A, "boots"), 1);
}

static void test_describe_completes_what_a_crash_left(void **state)
{
    struct local_world *w = *state;
    launch_without_start(w, ID_A);
    world_wait_running(w, ID_A);
    world_wait_boots(w, ID_A, 1);
}

static void test_terminate_of_what_never_ran(void **state)
{
    struct local_world *w = *state;
    launch_without_start(w, ID_A);
    world_terminate(w, ID_A, "terminate/1");
    assert_int_equal(world_describe(w, ID_A), PROVIDER_INSTANCE_GONE);
}

static void test_directory_without_anything_in_it(void **state)
{
    struct local_world *w = *state;
    autofree char *dir = world_path(w, ID_A, "log"), *other = world_path(w, ID_B, "log");
    assert_int_equal(file_make_dirs(dir, 0700), 0);
    assert_int_equal(file_make_dirs(other, 0700), 0);
    world_open(w, SCRIPT_BOOTS);
    assert_int_equal(world_describe(w, ID_A), PROVIDER_INSTANCE_GONE);
    world_launch(w, "launch/1", ID_A);
    world_wait_boots(w, ID_A, 1);
    world_terminate(w, ID_B, "terminate/1");
    assert_true(world_has(w, ID_B, "terminated.json"));
}

/* hpd died between the mark and the end: nobody may start the machine again, and the repeat ends it. */
static void test_end_that_was_interrupted(void **state)
{
    struct local_world *w = *state;
    world_open(w, SCRIPT_BOOTS);
    world_launch(w, "launch/1", ID_A);
    world_wait_boots(w, ID_A, 1);
    autofree char *dir = own_printf("%s/%s", w->dir, ID_A);
    assert_int_equal(instance_end_begin(dir, "terminate/1"), 0);
    world_kill_supervisor(w, ID_A);
    assert_int_equal(world_describe(w, ID_A), PROVIDER_INSTANCE_PENDING);
    assert_int_equal(
        w->driver.ops->reboot(w->driver.self, &(struct provider_target){.instance_id = ID_A}, "reboot/1", w->error),
        STATUS_NOT_FOUND);
    const char *const argv[] = {w->self, "machine", dir, NULL};
    const struct child_options options = {.timeout_ms = WAIT_MS, .out_bytes_max = 4096};
    struct child_result result;
    assert_int_equal(child_run(argv, &options, &result), 0);
    assert_int_equal(result.exit_code, 0);
    child_result_free(&result);
    world_terminate(w, ID_A, "terminate/1");
    assert_int_equal(world_describe(w, ID_A), PROVIDER_INSTANCE_GONE);
    assert_int_equal(world_lines(w, ID_A, "boots"), 1);
}

/* --- many at once ------------------------------------------------------------------------------ */
#define THREADS 6
#define INSTANCES 3

struct launcher {
    struct local_world *w;
    char key[32], id[ID_INSTANCE_MAX];
    int status;
};

static void *launch_one(void *arg)
{
    struct launcher *l = arg;
    char error[PROVIDER_ERROR_MAX];
    struct provider_instance instance;
    l->status = world_try_launch(l->w, l->key, l->id, &instance, error);
    if (l->status == 0)
        l->status = text_equal(instance.ref, l->id) && instance.state == PROVIDER_INSTANCE_RUNNING ? 0 : -100;
    return NULL;
}

static void *reboot_one(void *arg)
{
    struct launcher *l = arg;
    char error[PROVIDER_ERROR_MAX];
    l->status = world_try_reboot(l->w, l->id, "reboot/1", error);
    return NULL;
}

static void *terminate_one(void *arg)
{
    struct launcher *l = arg;
    char error[PROVIDER_ERROR_MAX];
    l->status = world_try_terminate(l->w, l->id, "terminate/1", error);
    return NULL;
}

static void run_together(struct launcher *launchers, void *(*body)(void *))
{
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, body, &launchers[i]), 0);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(launchers[i].status, 0);
}

static void test_many_threads(void **state)
{
    struct local_world *w = *state;
    struct launcher launchers[THREADS];
    world_open(w, SCRIPT_BOOTS);
    for (size_t i = 0; i < THREADS; i++) {
        launchers[i] = (struct launcher){.w = w};
        snprintf(launchers[i].key, sizeof(launchers[i].key), "launch/%zu", i % INSTANCES);
        snprintf(launchers[i].id, sizeof(launchers[i].id), "i-%017zx", i % INSTANCES);
    }
    run_together(launchers, launch_one);
    for (size_t i = 0; i < INSTANCES; i++)
        world_wait_boots(w, launchers[i].id, 1);
    run_together(launchers, reboot_one);
    for (size_t i = 0; i < INSTANCES; i++)
        world_wait_boots(w, launchers[i].id, 2);
    run_together(launchers, terminate_one);
    for (size_t i = 0; i < INSTANCES; i++)
        assert_int_equal(world_describe(w, launchers[i].id), PROVIDER_INSTANCE_GONE);
}

/* --- slow and dying starts --------------------------------------------------------------------- */
#define SECOND_START_MS 500 /* enough for one that should not be; more of it proves more, and never fails */

/* A supervisor that stays on its way until it is let go. It writes down each start of it. */
static char *write_slow_supervisor(const struct local_world *w)
{
    autofree char *path = own_printf("%s/slow", w->dir);
    autofree char *script = own_printf("#!/bin/sh\necho $$ >>%s/starts\nwhile [ ! -e %s/go ]; do sleep 0.02; done\n"
                                       "exec %s \"$@\"\n",
                                       w->dir, w->dir, w->self);
    assert_int_equal(file_write(path, script, strlen(script), 0700), 0);
    return TAKE(path);
}

static void let_go(const struct local_world *w)
{
    autofree char *path = own_printf("%s/go", w->dir);
    assert_int_equal(file_write(path, "", 0, 0600), 0);
}

/* hpd begins a launch, is started anew and repeats it, while the machine is still on its way. */
static void test_slow_start_is_one_start(void **state)
{
    struct local_world *w = *state, again = *w;
    autofree char *slow = write_slow_supervisor(w);
    struct launcher launchers[] = {{.w = w, .key = "launch/1", .id = ID_A},
                                   {.w = &again, .key = "launch/1", .id = ID_A}};
    pthread_t threads[ARRAY_LEN(launchers)];
    world_open_with(w, slow, SCRIPT_BOOTS);
    assert_int_equal(pthread_create(&threads[0], NULL, launch_one, &launchers[0]), 0);
    world_wait_lines(w, ".", "starts", 1);
    world_open_with(&again, slow, SCRIPT_BOOTS);
    assert_int_equal(pthread_create(&threads[1], NULL, launch_one, &launchers[1]), 0);
    for (int64_t until = world_now() + SECOND_START_MS; world_lines(w, ".", "starts") < 2 && world_now() < until;)
        poll(NULL, 0, 10);
    let_go(w);
    for (size_t i = 0; i < ARRAY_LEN(threads); i++)
        pthread_join(threads[i], NULL);
    world_close(&again);
    for (size_t i = 0; i < ARRAY_LEN(threads); i++)
        assert_int_equal(launchers[i].status, 0);
    world_wait_boots(w, ID_A, 1);
    assert_int_equal(world_lines(w, ".", "starts"), 1);
}

static void test_start_that_dies_is_made_again(void **state)
{
    struct local_world *w = *state;
    autofree char *slow = write_slow_supervisor(w);
    struct launcher launcher = {.w = w, .key = "launch/1", .id = ID_A};
    pthread_t thread;
    world_open_with(w, slow, SCRIPT_BOOTS);
    assert_int_equal(pthread_create(&thread, NULL, launch_one, &launcher), 0);
    world_wait_lines(w, ".", "starts", 1);
    assert_int_equal(kill(world_pid(w, ".", "starts"), SIGKILL), 0);
    let_go(w);
    pthread_join(thread, NULL);
    assert_int_equal(launcher.status, 0);
    world_wait_boots(w, ID_A, 1);
    assert_int_equal(world_lines(w, ".", "starts"), 2);
}

/* --- what is refused --------------------------------------------------------------------------- */
static void test_hostile_ids(void **state)
{
    static const char *const ids[] = {"..",
                                      "/",
                                      ".",
                                      "../victim",
                                      "i-0123456789abcdef",
                                      "i-0123456789abcdef00",
                                      "i-0123456789ABCDEF0",
                                      "i-0123456789abcde/0",
                                      "i-../../../../../.",
                                      "I-0123456789abcdef0",
                                      "i-0123456789abcdef0\n",
                                      "victim"};
    struct local_world *w = *state;
    autofree char *victim = own_printf("%s/victim", w->dir);
    assert_int_equal(file_make_dirs(victim, 0700), 0);
    world_open(w, SCRIPT_BOOTS);
    for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
        struct provider_instance instance;
        const struct provider_launch request = world_request("launch/1", ids[i]);
        assert_int_equal(w->driver.ops->launch(w->driver.self, &request, &instance, w->error), STATUS_INVALID);
        assert_int_equal(world_describe(w, ids[i]), PROVIDER_INSTANCE_GONE);
        assert_int_equal(w->driver.ops->reboot(w->driver.self, &(struct provider_target){.instance_id = ids[i]},
                                               "reboot/1", w->error),
                         STATUS_NOT_FOUND);
        world_terminate(w, ids[i], "terminate/1");
    }
    autofree char *mark = own_printf("%s/terminated.json", victim);
    assert_true(file_exists(victim));
    assert_false(file_exists(mark));
}

/* Where nothing can start there is no machine, and the reason is said at once. */
static void test_missing_programs(void **state)
{
    char absolute[] = "/nonexistent/service", in_path[] = "no-such-program-of-anybody";
    char *const programs[] = {absolute, in_path};
    struct local_world *w = *state;
    for (size_t i = 0; i < ARRAY_LEN(programs); i++) {
        struct provider_instance instance;
        const struct local_service service = {.name = "agent", .argv = {programs[i]}};
        const struct local_options options = {
            .dir = w->dir, .self_path = w->self, .services = &service, .service_count = 1, .boot_delay_ms = 0};
        const struct provider_launch request = world_request("launch/1", ID_A);
        assert_int_equal(local_new(&options, &w->driver), 0);
        assert_int_equal(w->driver.ops->launch(w->driver.self, &request, &instance, w->error), STATUS_INVALID);
        assert_non_null(strstr(w->error, "the service agent cannot be started"));
        assert_non_null(strstr(w->error, programs[i]));
        assert_int_equal(world_describe(w, ID_A), PROVIDER_INSTANCE_GONE);
        world_close(w);
    }
}

static void test_hostile_requests(void **state)
{
    struct local_world *w = *state;
    struct provider_instance instance;
    char key[KEY_MAX_BYTES + 1], name[300];
    memset(key, 'k', sizeof(key));
    memset(name, 'n', sizeof(name));
    key[sizeof(key) - 1] = name[sizeof(name) - 1] = '\0';
    const char *const keys[] = {"", NULL, "two lines\n", "a b", "a\nb", "\x7f", key};
    world_open(w, SCRIPT_BOOTS);
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        const struct provider_launch request = world_request(keys[i], ID_A);
        assert_int_equal(w->driver.ops->launch(w->driver.self, &request, &instance, w->error), STATUS_INVALID);
        assert_int_equal(
            w->driver.ops->reboot(w->driver.self, &(struct provider_target){.instance_id = ID_A}, keys[i], w->error),
            STATUS_INVALID);
        assert_int_equal(
            w->driver.ops->terminate(w->driver.self, &(struct provider_target){.instance_id = ID_A}, keys[i], w->error),
            STATUS_INVALID);
    }
    struct provider_launch request = world_request("launch/1", ID_A);
    request.node = name;
    assert_int_equal(w->driver.ops->launch(w->driver.self, &request, &instance, w->error), STATUS_INVALID);
    world_close(w);
    world_open(w, "echo {nodename}");
    request = world_request("launch/1", ID_A);
    assert_int_equal(w->driver.ops->launch(w->driver.self, &request, &instance, w->error), STATUS_INVALID);
    assert_non_null(strstr(w->error, "{nodename}"));
    assert_false(world_has(w, ID_A, ""));
}

static void test_options_are_checked(void **state)
{
    const struct local_world *w = *state;
    char sh[] = "sh";
    char long_dir[PATH_MAX + 1];
    memset(long_dir, 'a', sizeof(long_dir));
    long_dir[0] = '/';
    long_dir[PATH_MAX] = '\0';
    const struct local_service named = {.name = "../../etc", .argv = {sh}}, empty = {.name = "empty"};
    const struct local_options wrong[] = {
        {.dir = w->dir, .self_path = NULL},
        {.dir = NULL, .self_path = w->self},
        {.dir = long_dir, .self_path = w->self},
        {.dir = "/dev/null/instances", .self_path = w->self},
        {.dir = w->dir, .self_path = w->self, .boot_delay_ms = -1},
        {.dir = w->dir, .self_path = w->self, .services = &named, .service_count = 1},
        {.dir = w->dir, .self_path = w->self, .services = &empty, .service_count = 1},
        {.dir = w->dir, .self_path = w->self, .services = &named, .service_count = LOCAL_SERVICES_MAX + 1},
    };
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        struct provider_driver driver = {0};
        assert_int_not_equal(local_new(&wrong[i], &driver), 0);
        assert_null(driver.self);
    }
}

static void test_broken_instance_is_left_alone(void **state)
{
    struct local_world *w = *state;
    autofree char *dir = world_path(w, ID_A, "log"), *json = world_path(w, ID_A, "instance.json");
    assert_int_equal(file_make_dirs(dir, 0700), 0);
    assert_int_equal(file_write(json, "{\"version\": 1", 13, 0600), 0);
    world_open(w, SCRIPT_BOOTS);
    struct provider_instance instance;
    const struct provider_launch request = world_request("launch/1", ID_A);
    assert_int_equal(w->driver.ops->launch(w->driver.self, &request, &instance, w->error), STATUS_CONFLICT);
    world_launch(w, "launch/2", ID_B);
    world_wait_boots(w, ID_B, 1);
    world_terminate(w, ID_A, "terminate/1");
}

int main(int argc, char **argv)
{
    if (argc == 3 && text_equal(argv[1], "machine"))
        return local_machine_main(argv[2]);
    const struct CMUnitTest tests[] = {
        WORLD_TEST(test_launch_counts_once_for_a_key),
        WORLD_TEST(test_provider_chooses_an_id),
        WORLD_TEST(test_describe),
        WORLD_TEST(test_secrets_stay_in_one_file),
        WORLD_TEST(test_terminate),
        WORLD_TEST(test_launch_completes_what_a_crash_left),
        WORLD_TEST(test_describe_completes_what_a_crash_left),
        WORLD_TEST(test_terminate_of_what_never_ran),
        WORLD_TEST(test_directory_without_anything_in_it),
        WORLD_TEST(test_end_that_was_interrupted),
        WORLD_TEST(test_many_threads),
        WORLD_TEST(test_slow_start_is_one_start),
        WORLD_TEST(test_start_that_dies_is_made_again),
        WORLD_TEST(test_hostile_ids),
        WORLD_TEST(test_missing_programs),
        WORLD_TEST(test_hostile_requests),
        WORLD_TEST(test_options_are_checked),
        WORLD_TEST(test_broken_instance_is_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
