/* What Slurm has: its nodes chosen, paged and owned, its partitions and features, and groups that are made of them. */
#include "tests/support/service_world.h"

#include "server/service/scheduler/discovery.h"

#define NOW WORLD_T0

static const struct job_node six[] = {
    {.name = "gpu-10", .state = "IDLE", .partitions = "dev,big", .features = "h100", .gres = "gpu:8"},
    {.name = "gpu-2", .state = "IDLE+DRAIN", .partitions = "dev,big", .features = "h100,ib", .gres = "gpu:8"},
    {.name = "gpu-1", .state = "ALLOCATED", .partitions = "dev,big", .features = "h100,ib", .gres = "gpu:8"},
    {.name = "cpu-1", .state = "DOWN*", .partitions = "dev", .features = "", .gres = ""},
    {.name = "big-1", .state = "IDLE", .partitions = "bigger", .features = "h1000", .gres = ""},
    {.name = "odd-1", .state = "UNKNOWN", .partitions = "", .features = "", .gres = ""},
};

static void show(struct world *world, const struct job_node *nodes, size_t count, uint64_t digest, int64_t stale_at)
{
    struct job_snapshot *snapshot = job_snapshot_new();
    snapshot->nodes = own_calloc(count + 1, sizeof(*snapshot->nodes));
    memcpy(snapshot->nodes, nodes, count * sizeof(*nodes));
    snapshot->node_count = count;
    snapshot->node_digest = digest;
    snapshot->metrics = own_strdup("");
    snapshot->at = NOW;
    snapshot->stale_at = stale_at;
    service_scheduler_show(world->service.schedulers[0], snapshot, "");
}

/* ml has gpu-1 and gpu-2; what is on no Slurm owns nothing there. */
static void open_slurm(struct world *world)
{
    world_open(world, DB_INLINE);
    world_cluster(world, "ml", "gpu", 2, ORCHESTRATOR_SLURM);
    world_cluster(world, "bare", "cpu", 1, ORCHESTRATOR_NONE);
    world->service.schedulers[world->service.scheduler_count++] = service_scheduler_new("", "slurm");
    const struct service_scheduler_status up = {.state = SCHEDULER_STATE_UP};
    service_scheduler_set(world->service.schedulers[0], &up);
    show(world, six, ARRAY_LEN(six), 1, NOW);
}

static void close_slurm(struct world *world)
{
    service_scheduler_free(world->service.schedulers[--world->service.scheduler_count]);
    world_close(world);
}

static int add_node(const void *row, void *arg)
{
    const struct discovered_node *seen = row;
    text_printf(arg, "%s=%s ", seen->node->name, seen->group);
    return 0;
}

static void lists(struct world *world, const char *partition, const char *feature, const char *after, int limit,
                  bool unassigned, const char *expected)
{
    AUTO(text) struct text text = {0};
    struct discovery_filter filter = {.unassigned = unassigned, .after_name = after, .limit = limit};
    text_copy_cut(filter.source.partition, sizeof(filter.source.partition), partition);
    text_copy_cut(filter.source.feature, sizeof(filter.source.feature), feature);
    assert_int_equal(service_discovery_nodes(&world->service, "", &filter, add_node, &text, &world->problem), 0);
    assert_string_equal(text_get(&text), expected);
}

static void test_nodes_are_chosen_and_paged_by_name(void **state)
{
    (void)state;
    struct world world;
    open_slurm(&world);
    lists(&world, "", "", "", 0, false, "big-1= cpu-1= gpu-1=workers gpu-2=workers gpu-10= odd-1= ");
    lists(&world, "", "", "", 3, false, "big-1= cpu-1= gpu-1=workers ");
    lists(&world, "", "", "gpu-2", 3, false, "gpu-10= odd-1= ");
    lists(&world, "big", "", "", 0, false, "gpu-1=workers gpu-2=workers gpu-10= "); /* not what begins so */
    lists(&world, "", "h100", "", 0, false, "gpu-1=workers gpu-2=workers gpu-10= ");
    lists(&world, "big", "ib", "", 0, false, "gpu-1=workers gpu-2=workers ");
    lists(&world, "big", "", "", 0, true, "gpu-10= ");
    lists(&world, "big", "", "", 1, true, "gpu-10= "); /* those that are somebody's fill no page */
    lists(&world, "nobody", "", "", 0, false, "");
    close_slurm(&world);
}

static void test_partitions_and_features(void **state)
{
    (void)state;
    struct world world;
    struct discovery seen;
    open_slurm(&world);
    assert_int_equal(service_discovery(&world.service, "", &seen, &world.problem), 0);
    assert_int_equal(seen.node_count, 6);
    assert_int_equal(seen.unassigned_count, 4);
    assert_int_equal(seen.partition_count, 3);
    assert_string_equal(seen.partitions[0].name, "big");
    assert_string_equal(seen.partitions[0].nodes, "gpu-[1-2],gpu-10");
    assert_string_equal(seen.partitions[0].unassigned, "gpu-10");
    assert_int_equal(seen.partitions[0].other_count, 2);
    assert_string_equal(seen.partitions[0].others[1], "ib");
    assert_string_equal(seen.partitions[2].name, "dev");
    assert_int_equal(seen.partitions[2].count, 4);
    assert_int_equal(seen.partitions[2].unassigned_count, 2);
    assert_int_equal(seen.feature_count, 3);
    assert_string_equal(seen.features[1].name, "h1000");
    assert_string_equal(seen.features[1].others[0], "bigger");
    service_discovery_free(&seen);
    close_slurm(&world);
}

static void refuses(struct world *world, const char *partition, int status, const char *why)
{
    char **names = NULL;
    size_t count = 0;
    struct node_source source = {.partition = ""};
    text_copy_cut(source.partition, sizeof(source.partition), partition);
    assert_int_equal(service_discovery_take(&world->service, "", &source, &names, &count, &world->problem), status);
    assert_non_null(strstr(world->problem.detail, why));
}

static void test_names_of_a_source(void **state)
{
    (void)state;
    struct world world;
    char **names = NULL;
    size_t count = 0;
    const struct node_source big = {.partition = "big", .feature = "h100"};
    open_slurm(&world);
    assert_int_equal(service_discovery_take(&world.service, "", &big, &names, &count, &world.problem), 0);
    assert_int_equal(count, 3);
    assert_string_equal(names[2], "gpu-10");
    text_list_free(names, count);
    refuses(&world, "nobody", STATUS_INVALID, "no node in the partition nobody");

    show(&world, six, ARRAY_LEN(six), 1, NOW - 1);
    refuses(&world, "big", STATUS_UNAVAILABLE, "not answered lately");
    service_scheduler_show(world.service.schedulers[0], NULL, "squeue failed");
    refuses(&world, "big", STATUS_UNAVAILABLE, "squeue failed");
    show(&world, six, ARRAY_LEN(six), 1, NOW);
    service_scheduler_manage(world.service.schedulers[0], DESIRED_STRATEGY_MERGE, "");
    refuses(&world, "big", STATUS_INVALID, "(manage)");
    close_slurm(&world);
}

static void test_no_slurm_is_said(void **state)
{
    (void)state;
    struct world world;
    struct discovery seen;
    static const struct service_backends none = {.providers = {"local"}, .provider_count = 1};
    world_open(&world, DB_INLINE);
    world.service.backends = &none;
    assert_int_equal(service_discovery(&world.service, "", &seen, &world.problem), STATUS_NOT_FOUND);
    assert_non_null(strstr(world.problem.detail, "drives no scheduler"));
    world_close(&world);
}

static void make(struct world *world, const char *feature)
{
    char *names[] = {own_strdup("gpu-1"), own_strdup("gpu-2"), own_strdup("gpu-10")};
    struct service_group_spec group = {.name = "g", .provider = "local", .instance_count = 3, .node_names = names};
    struct service_cluster_spec spec = {.name = "made", .groups = &group, .group_count = 1};
    struct cluster cluster;
    text_copy_cut(group.source.partition, sizeof(group.source.partition), "big");
    text_copy_cut(group.source.feature, sizeof(group.source.feature), feature);
    assert_int_equal(service_cluster_create(&world->service, &world_admin, &spec, &cluster, &world->problem), 0);
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        free(names[i]);
}

static void follow(struct world *world)
{
    char why[SERVICE_SCHEDULER_ERROR_MAX];
    AUTO(job_snapshot)
    struct job_snapshot *snapshot = service_scheduler_snapshot(world->service.schedulers[0], NOW, why);
    assert_int_equal(service_discovery_follow(&world->service, world->service.schedulers[0], snapshot), 0);
}

/* Told once for what is seen, and again when that is another thing. The group stays. */
static void test_what_differs_is_told_once(void **state)
{
    (void)state;
    struct world world;
    struct event event;
    struct job_node other[ARRAY_LEN(six)];
    world_open(&world, DB_INLINE);
    world.service.schedulers[world.service.scheduler_count++] = service_scheduler_new("", "slurm");
    make(&world, "");
    show(&world, six, ARRAY_LEN(six), 1, NOW);
    follow(&world);
    assert_int_equal(world_events(&world, EVENT_KIND_SCHEDULER_DRIFT, NULL), 0);
    memcpy(other, six, sizeof(six));
    other[1].partitions = "dev";
    other[3].partitions = "dev,big";
    other[4].partitions = "big";
    show(&world, other, ARRAY_LEN(other), 2, NOW);
    for (int i = 0; i < 3; i++)
        follow(&world);
    assert_int_equal(world_events(&world, EVENT_KIND_SCHEDULER_DRIFT, &event), 1);
    assert_non_null(strstr(event.message, "the scheduler has there also big-1,cpu-1, and no longer gpu-2. It stays"));
    show(&world, other, 1, 3, NOW); /* all but gpu-10 are gone */
    follow(&world);
    assert_int_equal(world_events(&world, EVENT_KIND_SCHEDULER_DRIFT, &event), 2);
    assert_non_null(strstr(event.message, "the scheduler no longer has there gpu-[1-2]. It stays"));
    close_slurm(&world);
}

static void test_a_source_needs_slurm(void **state)
{
    (void)state;
    struct world world;
    char name[] = "n-1", *names[] = {name};
    struct service_group_spec group = {
        .name = "g", .provider = "local", .instance_count = 1, .node_names = names, .source = {.partition = "big"}};
    struct service_cluster_spec spec = {
        .name = "bare", .orchestrator = ORCHESTRATOR_NONE, .groups = &group, .group_count = 1};
    struct cluster cluster;
    world_open(&world, DB_INLINE);
    assert_int_equal(service_cluster_create(&world.service, &world_admin, &spec, &cluster, &world.problem),
                     STATUS_INVALID);
    assert_non_null(strstr(world.problem.detail, "orchestrator none"));
    world_close(&world);
}

/* Node names are unique within a scheduler: each has its own gpu-1, and each counts its own. */
static void test_two_schedulers(void **state)
{
    (void)state;
    struct world world;
    struct service_scheduler_view *views = NULL;
    struct discovery seen;
    struct cluster cluster;
    char name[NAME_MAX_BYTES];
    size_t count = 0;
    world_open(&world, DB_INLINE);
    struct service *s = &world.service;
    s->schedulers[s->scheduler_count++] = service_scheduler_new("east", "slurm");
    s->schedulers[s->scheduler_count++] = service_scheduler_new("west", "slurm");
    show(&world, six, ARRAY_LEN(six), 1, NOW);
    const struct actor actor = {.name = "token:admin", .role = ROLE_ADMIN, .token_id = 1};
    struct service_group_spec group = {.name = "gpu", .instance_type = "test", .provider = "manual"};
    group.instance_count = 2;
    struct service_cluster_spec spec = {.name = "one", .groups = &group, .group_count = 1};
    spec.orchestrator = ORCHESTRATOR_SLURM;
    assert_int_equal(service_cluster_create(s, &actor, &spec, &cluster, &world.problem), STATUS_INVALID);
    assert_non_null(strstr(world.problem.detail, "name one of east, west"));
    text_copy_cut(spec.scheduler, sizeof(spec.scheduler), "north");
    assert_int_equal(service_cluster_create(s, &actor, &spec, &cluster, &world.problem), STATUS_INVALID);
    assert_non_null(strstr(world.problem.detail, "\"north\""));
    for (int i = 0; i < 2; i++) {
        text_copy_cut(spec.scheduler, sizeof(spec.scheduler), i == 0 ? "east" : "west");
        text_copy_cut(spec.name, sizeof(spec.name), i == 0 ? "one" : "two");
        assert_int_equal(service_cluster_create(s, &actor, &spec, &cluster, &world.problem), 0);
        assert_int_equal(service_cluster_scheduler(s, spec.name, name, &world.problem), 0);
        assert_string_equal(name, spec.scheduler);
    }
    const struct service_cluster_change change = {.scheduler = "east"};
    assert_int_equal(service_cluster_update(s, &actor, "two", &change, &cluster, &world.problem), STATUS_INVALID);
    assert_non_null(strstr(world.problem.detail, "has \"west\". It cannot be changed"));
    assert_int_equal(service_cluster_update(s, &actor, "one", &change, &cluster, &world.problem), 0);
    assert_int_equal(service_scheduler_list(s, &views, &count, &world.problem), 0);
    assert_int_equal(count, 2);
    assert_string_equal(views[0].clusters[0], "one");
    assert_true(views[0].counted && views[0].node_count == ARRAY_LEN(six));
    assert_int_equal(views[0].unassigned_count, ARRAY_LEN(six) - 2);
    assert_string_equal(views[1].clusters[0], "two");
    assert_false(views[1].counted);
    service_scheduler_views_free(views, count);
    assert_int_equal(service_discovery(s, "", &seen, &world.problem), STATUS_INVALID);
    while (s->scheduler_count > 0)
        service_scheduler_free(s->schedulers[--s->scheduler_count]);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_schedulers),          cmocka_unit_test(test_nodes_are_chosen_and_paged_by_name),
        cmocka_unit_test(test_partitions_and_features), cmocka_unit_test(test_names_of_a_source),
        cmocka_unit_test(test_no_slurm_is_said),        cmocka_unit_test(test_what_differs_is_told_once),
        cmocka_unit_test(test_a_source_needs_slurm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
