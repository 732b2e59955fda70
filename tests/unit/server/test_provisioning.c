/* provisioning_parameters.json: what it says, what it may not say, and what becomes of the groups of a cluster beside whose scripts it
 * lies. */
#include "change_world.h"

#include "base/file.h"
#include "server/scheduler/slurm/role_file.h"
#include "server/service/cluster/provisioning.h"
#include "server/service/scheduler/scheduler.h"

#include <sys/stat.h>
#include <unistd.h>

#define HEAD "{\"version\":\"1.0.0\",\"workload_manager\":\"slurm\",\"controller_group\":\"head\""
#define SMALL HEAD ",\"worker_groups\":[{\"instance_group_name\":\"gpu\",\"partition_name\":\"train_a\"}]}"

static struct world world;
static char *directory;

/* --- the text ---------------------------------------------------------------------------------------- */

static void test_a_whole_file_is_read(void **state)
{
    (void)state;
    static const char text[] = HEAD
        ",\n\"login_group\":\"API\",\"worker_groups\":[{\"instance_group_name\":\"gpu\",\"partition_name\":"
        "\"train\"},{\"instance_group_name\":\"cpu\",\"partition_name\":\"ml.c5_large-1\"}],\"fsx_dns_name\":\"fs\","
        "\"slurm_configurations\":{\"slurm_sns_arn\":\"x\"},\"a\\u001bb\":1}";
    struct role_file p;
    char why[ROLE_FILE_ERROR_MAX];
    assert_int_equal(slurm_role_file.parse(text, strlen(text), &p, why), 0);
    assert_string_equal(p.controller, "head");
    assert_string_equal(p.login, "API");
    assert_int_equal(p.count, 2);
    assert_string_equal(p.workers[0].group, "gpu");
    assert_string_equal(p.workers[1].partition, "ml.c5_large-1");
    assert_string_equal(p.ignored, "fsx_dns_name, slurm_configurations, one whose name is no clean text");
}

static void test_what_is_wrong_is_named(void **state)
{
    (void)state;
#define WORKER(group, partition) "{\"instance_group_name\":\"" group "\",\"partition_name\":\"" partition "\"}"
    static const struct {
        const char *text, *says;
    } table[] = {
        {"", "line 1"},
        {"[]", "a JSON object"},
        {"{\"version\":\"1.0.0\",\n\"version\":\"1.0.0\"}", "line 2"},
        {"{\"version\":\"2.0.0\",\"workload_manager\":\"slurm\",\"controller_group\":\"h\",\"worker_groups\":[]}",
         "\"version\" is \"2.0.0\": must be \"1.0.0\""},
        {"{\"version\":\"1.0.0\",\"workload_manager\":\"pbs\",\"controller_group\":\"h\",\"worker_groups\":[]}",
         "\"workload_manager\" is \"pbs\""},
        {"{\"version\":\"1.0.0\",\"workload_manager\":\"slurm\",\"worker_groups\":[]}",
         "\"controller_group\" is missing"},
        {HEAD "}", "\"worker_groups\" is missing"},
        {HEAD ",\"worker_groups\":[7]}", "worker_groups[0] must be an object"},
        {HEAD ",\"worker_groups\":[{\"instance_group_name\":\"a\"}]}",
         "worker_groups[0]: \"partition_name\" is missing"},
        {HEAD ",\"worker_groups\":[" WORKER("a", "p") "," WORKER("b", "a b") "]}",
         "worker_groups[1]: \"partition_name\""},
        {HEAD ",\"worker_groups\":[" WORKER("a", "-p") "]}", "partition_name"},
        {HEAD ",\"worker_groups\":[" WORKER("a", "default") "]}", "neither DEFAULT nor ALL"},
        {HEAD ",\"worker_groups\":[" WORKER("a_b", "p") "]}", "worker_groups[0]: \"instance_group_name\""},
        {HEAD ",\"worker_groups\":[" WORKER("a", "p") "," WORKER("a", "q") "]}", "worker_groups[1] is \"a\""},
        {HEAD ",\"worker_groups\":[" WORKER("head", "p") "]}", "worker_groups[0] is \"head\""},
        {HEAD ",\"login_group\":\"head\",\"worker_groups\":[]}", "login_group is \"head\""},
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct role_file p;
        char why[ROLE_FILE_ERROR_MAX] = "";
        assert_int_equal(slurm_role_file.parse(table[i].text, strlen(table[i].text), &p, why), STATUS_INVALID);
        if (strstr(why, table[i].says) == NULL)
            fail_msg("\"%s\" does not say %s", why, table[i].says);
    }
}

/* --- a cluster beside it ------------------------------------------------------------------------------ */

static int open_world(void **state)
{
    (void)state;
    char name[] = "/tmp/provisioning-XXXXXX";
    directory = own_strdup(mkdtemp(name));
    world_open(&world, DB_INLINE);
    world.service.schedulers[world.service.scheduler_count++] = service_scheduler_new("", "slurm");
    service_scheduler_set_role_file(world.service.schedulers[0], &slurm_role_file);
    return 0;
}

static int close_world(void **state)
{
    (void)state;
    service_scheduler_free(world.service.schedulers[0]);
    world_close(&world);
    assert_int_equal(file_remove_tree(directory), 0);
    free(TAKE(directory));
    return 0;
}

static void put_file(const char *text)
{
    autofree char *path = own_printf("%s/%s", directory, slurm_role_file.name);
    if (text == NULL)
        assert_int_equal(unlink(path), 0);
    else
        assert_int_equal(file_write(path, text, strlen(text), 0600), 0);
}

/* A spec with the directory as lifecycle path, and more members. Caller frees. */
static char *spec_text(const char *more)
{
    return own_printf("{\"lifecycle\":{\"source\":\"file://%s/\",\"onCreate\":\"x\"}%s}", directory, more);
}

static int create_groups(const char *head, const char *gpu)
{
    struct cluster cluster;
    struct service_group_spec groups[] = {a_spec("head", 0), a_spec("gpu", 1)};
    groups[0].spec = group_spec_of(head);
    groups[1].spec = group_spec_of(gpu);
    const struct service_cluster_spec spec = {
        .name = "ml", .orchestrator = ORCHESTRATOR_SLURM, .groups = groups, .group_count = 2};
    return service_cluster_create(&world.service, &world_admin, &spec, &cluster, &world.problem);
}

static int create_beside(const char *more)
{
    autofree char *head = spec_text(more), *gpu = spec_text("");
    return create_groups(head, gpu);
}

static int change_one(const char *name, const char *with)
{
    struct cluster cluster;
    struct service_group_spec spec = a_spec(name, text_equal(name, "gpu"));
    spec.spec = group_spec_of(with);
    return service_cluster_update(&world.service, &world_operator, "ml",
                                  &(struct service_cluster_change){.groups = &spec, .group_count = 1}, &cluster,
                                  &world.problem);
}

static void assert_group(const char *name, enum slurm_role role, const char *partition)
{
    struct service_cluster_view view = change_world_view(&world);
    char named[NAME_MAX_BYTES] = "";
    for (size_t i = 0; i < view.group_count; i++)
        if (text_equal(view.groups[i].group.name, name)) {
            assert_int_equal(group_spec_role(&view.groups[i].spec), role);
            text_copy_cut(named, sizeof(named), text_or_empty(group_spec_partition(&view.groups[i].spec)));
        }
    service_cluster_view_free(&view);
    assert_string_equal(named, partition);
}

static void assert_says(const char *part)
{
    if (strstr(world.problem.detail, part) == NULL)
        fail_msg("\"%s\" does not say %s", world.problem.detail, part);
}

static void assert_told(const char *part)
{
    struct event last;
    (void)world_events(&world, EVENT_KIND_SCHEDULER_DESIRED, &last);
    if (strstr(last.message, part) == NULL)
        fail_msg("\"%s\" does not say %s", last.message, part);
}

static void test_it_says_what_groups_are_and_stays_when_it_goes(void **state)
{
    (void)state;
    put_file(SMALL);
    assert_int_equal(create_beside(""), 0);
    assert_group("head", SLURM_ROLE_CONTROLLER, "");
    assert_group("gpu", SLURM_ROLE_COMPUTE, "train_a");
    assert_told("the lifecycle path of the controller group head: 1 worker group");
    change_world_state_set(&world, CLUSTER_STATE_IN_SERVICE);
    put_file(NULL);
    autofree char *again = spec_text(",\"threadsPerCore\":1");
    assert_int_equal(change_one("head", again), 0);
    assert_int_equal(change_one("gpu", NULL), 0);
    assert_told("not in the lifecycle path of the controller group any more");
    assert_group("head", SLURM_ROLE_CONTROLLER, "");
    assert_group("gpu", SLURM_ROLE_COMPUTE, "train_a");
    /* HyperPod's way over: the file is gone, and SlurmConfig says it. */
    change_world_state_set(&world, CLUSTER_STATE_IN_SERVICE);
    autofree char *by_api = spec_text(",\"slurm\":{\"role\":\"compute\",\"partitions\":[\"test\"]}");
    assert_int_equal(change_one("gpu", by_api), 0);
    assert_group("gpu", SLURM_ROLE_COMPUTE, "test");
}

static void test_a_changed_file_counts_at_the_next_change(void **state)
{
    (void)state;
    put_file(SMALL);
    assert_int_equal(create_beside(""), 0);
    change_world_state_set(&world, CLUSTER_STATE_IN_SERVICE);
    put_file(HEAD ",\"worker_groups\":[{\"instance_group_name\":\"gpu\",\"partition_name\":\"other\"}]}");
    assert_int_equal(change_one("gpu", NULL), 0);
    assert_group("gpu", SLURM_ROLE_COMPUTE, "other");
    put_file(HEAD ",\"worker_groups\":[]}"); /* it names the group no more */
    assert_int_equal(change_one("gpu", NULL), 0);
    assert_group("gpu", SLURM_ROLE_COMPUTE, "");
}

static void test_both_ways_at_once_are_refused(void **state)
{
    (void)state;
    put_file(SMALL);
    assert_int_equal(create_beside(",\"slurm\":{\"role\":\"controller\"}"), STATUS_INVALID);
    assert_string_equal(world.problem.detail,
                        "The LifeCycleConfig cannot include both a SLURM Orchestrator Config and a "
                        "provisioning_parameters.json file simultaneously.");
}

static void test_groups_that_are_not_there_are_named(void **state)
{
    (void)state;
    put_file(HEAD ",\"worker_groups\":[{\"instance_group_name\":\"cpu\",\"partition_name\":\"p\"}]}");
    assert_int_equal(create_beside(""), STATUS_INVALID);
    assert_says("worker_groups[0].instance_group_name is \"cpu\", and the cluster has no such group");
    put_file(HEAD ",\"login_group\":\"API\",\"worker_groups\":[]}");
    assert_int_equal(create_beside(""), STATUS_INVALID);
    assert_says("login_group is \"API\"");
    put_file("{\"version\":\"1.0.0\",\"workload_manager\":\"slurm\",\"controller_group\":\"x\",\"worker_groups\":[]}");
    assert_int_equal(create_beside(""), STATUS_INVALID);
    assert_says("controller_group is \"x\"");
}

static void test_a_wrong_file_is_refused_and_told(void **state)
{
    (void)state;
    put_file(SMALL);
    assert_int_equal(create_beside(""), 0);
    change_world_state_set(&world, CLUSTER_STATE_IN_SERVICE);
    put_file("{\n\"version\" \"1.0.0\"}");
    int before = world_events(&world, EVENT_KIND_SCHEDULER_DESIRED, NULL);
    assert_int_equal(change_one("gpu", NULL), STATUS_INVALID);
    assert_says("line 2");
    assert_int_equal(world_events(&world, EVENT_KIND_SCHEDULER_DESIRED, NULL), before + 1);
    assert_told("line 2");
    assert_group("gpu", SLURM_ROLE_COMPUTE, "train_a");
}

static void test_what_is_no_file_is_not_read(void **state)
{
    (void)state;
    autofree char *path = own_printf("%s/%s", directory, slurm_role_file.name),
                  *big = own_calloc(ROLE_FILE_BYTES_MAX + 2, 1);
    assert_int_equal(symlink("/etc/hostname", path), 0);
    assert_int_equal(create_beside(""), STATUS_INVALID);
    assert_says("it is a link, or no file");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0); /* nobody writes: it is not waited for */
    assert_int_equal(create_beside(""), STATUS_INVALID);
    assert_says("it is a link, or no file");
    assert_int_equal(unlink(path), 0);
    memset(big, ' ', ROLE_FILE_BYTES_MAX + 1);
    put_file(big);
    assert_int_equal(create_beside(""), STATUS_INVALID);
    assert_says("it has more than 65536 bytes");
}

/* It lies beside the scripts of a group that it does not call the controller. */
static void test_it_counts_in_the_controller_groups_path_alone(void **state)
{
    (void)state;
    put_file(SMALL);
    autofree char *gpu = spec_text("");
    assert_int_equal(create_groups("{}", gpu), 0);
    assert_told("was not found in");
    assert_group("head", SLURM_ROLE_COMPUTE, "");
    assert_group("gpu", SLURM_ROLE_COMPUTE, "");
}

static void test_an_address_is_not_looked_at(void **state)
{
    (void)state;
    assert_int_equal(create_groups("{\"lifecycle\":{\"source\":\"https://x/y\"}}", "{}"), 0);
    assert_told("was not looked for");
}

static void test_what_has_no_effect_is_told(void **state)
{
    (void)state;
    put_file(HEAD ",\"worker_groups\":[],\"fsx_dns_name\":\"fs\"}");
    assert_int_equal(create_beside(""), 0);
    assert_told("fsx_dns_name");
}

/* Whose scheduler's driver has no such file. */
static void test_without_such_a_file_none_is_looked_for(void **state)
{
    (void)state;
    service_scheduler_set_role_file(world.service.schedulers[0], NULL);
    put_file("what is no file of roles");
    assert_int_equal(create_beside(""), 0);
    assert_int_equal(world_events(&world, EVENT_KIND_SCHEDULER_DESIRED, NULL), 0);
    assert_group("head", SLURM_ROLE_COMPUTE, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_whole_file_is_read),
        cmocka_unit_test(test_what_is_wrong_is_named),
        cmocka_unit_test_setup_teardown(test_it_says_what_groups_are_and_stays_when_it_goes, open_world, close_world),
        cmocka_unit_test_setup_teardown(test_a_changed_file_counts_at_the_next_change, open_world, close_world),
        cmocka_unit_test_setup_teardown(test_both_ways_at_once_are_refused, open_world, close_world),
        cmocka_unit_test_setup_teardown(test_groups_that_are_not_there_are_named, open_world, close_world),
        cmocka_unit_test_setup_teardown(test_a_wrong_file_is_refused_and_told, open_world, close_world),
        cmocka_unit_test_setup_teardown(test_what_is_no_file_is_not_read, open_world, close_world),
        cmocka_unit_test_setup_teardown(test_it_counts_in_the_controller_groups_path_alone, open_world, close_world),
        cmocka_unit_test_setup_teardown(test_an_address_is_not_looked_at, open_world, close_world),
        cmocka_unit_test_setup_teardown(test_what_has_no_effect_is_told, open_world, close_world),
        cmocka_unit_test_setup_teardown(test_without_such_a_file_none_is_looked_for, open_world, close_world),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
