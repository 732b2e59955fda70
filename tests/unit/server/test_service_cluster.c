/* Clusters: what a description must look like, what is made of it, and how it is taken down. */
#include "db/intern.h"
#include "server/service/scheduler/scheduler.h"
#include "tests/support/recovery.h"
#include "tests/support/service_world.h"

#define ARRAY(...) ((const char *const[]){__VA_ARGS__, NULL})

/* --- descriptions ---------------------------------------------------------------------------------- */

struct sketch {
    const char *name;
    const char *group[2];
    int64_t count[2];
    const char *provider, *type, *scheduler;
    const char *const *names; /* of the first group */
    enum orchestrator orchestrator;
    int groups;
    bool dry_run;
};

static int create(struct world *world, const struct sketch *sketch, const struct actor *actor,
                  struct cluster *ret_cluster)
{
    struct service_group_spec groups[2] = {0};
    struct service_cluster_spec spec = {.orchestrator = sketch->orchestrator,
                                        .groups = groups,
                                        .group_count = (size_t)sketch->groups,
                                        .dry_run = sketch->dry_run};
    snprintf(spec.name, sizeof(spec.name), "%s", sketch->name);
    snprintf(spec.scheduler, sizeof(spec.scheduler), "%s", sketch->scheduler == NULL ? "" : sketch->scheduler);
    for (int i = 0; i < 2; i++) {
        snprintf(groups[i].name, sizeof(groups[i].name), "%s", sketch->group[i] == NULL ? "" : sketch->group[i]);
        snprintf(groups[i].provider, sizeof(groups[i].provider), "%s",
                 sketch->provider == NULL ? "local" : sketch->provider);
        snprintf(groups[i].instance_type, sizeof(groups[i].instance_type), "%s",
                 sketch->type == NULL ? "" : sketch->type);
        groups[i].instance_count = sketch->count[i];
    }
    char *owned[8] = {0};
    for (size_t i = 0; sketch->names != NULL && sketch->names[i] != NULL; i++)
        owned[i] = own_strdup(sketch->names[i]);
    groups[0].node_names = sketch->names == NULL ? NULL : owned;
    int status = service_cluster_create(&world->service, actor, &spec, ret_cluster, &world->problem);
    for (size_t i = 0; i < ARRAY_LEN(owned); i++)
        free(owned[i]);
    return status;
}

#define LONG_NAME "a23456789-123456789-123456789-123456789-123456789-123456789-123"

static void methods_that_are_not_configured_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        bool has_ssh, has_bmc;
        const char *says; /* NULL: it is taken */
    } table[] = {
        {"{\"rebootMethods\":[\"agent\",\"ssh\"]}", false, true, "instanceGroups[0].rebootMethods names ssh"},
        {"{\"rebootMethods\":[\"bmc\"]}", true, false, "no section \"bmc\""},
        {"{\"rebootMethods\":[\"agent\",\"ssh\",\"bmc\"]}", true, true, NULL},
        {"{\"rebootMethods\":[\"agent\",\"scheduler\",\"provider\"]}", false, false, NULL},
        {"{}", false, false, NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct world world;
        struct cluster cluster;
        const struct service_backends backends = {
            .providers = {"manual"}, .provider_count = 1, .has_ssh = table[i].has_ssh, .has_bmc = table[i].has_bmc};
        AUTO(group_spec) struct group_spec wanted = {0};
        assert_int_equal(group_spec_read(table[i].spec, &wanted), 0);
        struct service_group_spec group = {.name = "a", .provider = "manual", .spec = &wanted};
        const struct service_cluster_spec spec = {
            .name = "ml", .orchestrator = ORCHESTRATOR_NONE, .groups = &group, .group_count = 1};
        world_open(&world, DB_INLINE);
        world.service.backends = &backends;
        int status = service_cluster_create(&world.service, &world_admin, &spec, &cluster, &world.problem);
        assert_int_equal(status, table[i].says == NULL ? 0 : STATUS_INVALID);
        if (table[i].says != NULL)
            assert_non_null(strstr(world.problem.detail, table[i].says));
        world_close(&world);
    }
}

static void test_descriptions_that_are_refused(void **state)
{
    (void)state;
    const struct {
        struct sketch sketch;
        const char *names_it; /* what the detail must name */
    } table[] = {
        {{.name = "", .group = {"g"}, .groups = 1}, "name"},
        {{.name = "-a", .group = {"g"}, .groups = 1}, "-a"},
        {{.name = "a-", .group = {"g"}, .groups = 1}, "a-"},
        {{.name = "a_b", .group = {"g"}, .groups = 1}, "a_b"},
        {{.name = "a"}, "instanceGroups"},
        {{.name = "a", .group = {"g.g"}, .groups = 1}, "g.g"},
        {{.name = "a", .group = {"g", "g"}, .groups = 2}, "comes twice"},
        {{.name = "a", .group = {"g"}, .count = {-1}, .groups = 1}, "-1"},
        {{.name = "a", .group = {"g"}, .count = {6759}, .groups = 1}, "6759"},
        {{.name = "a", .group = {"g"}, .count = {100001}, .groups = 1, .orchestrator = ORCHESTRATOR_NONE}, "100001"},
        {{.name = "a", .group = {"g", "h"}, .count = {60000, 60000}, .groups = 2, .orchestrator = ORCHESTRATOR_NONE},
         "120000"},
        {{.name = "a", .group = {"g"}, .groups = 1, .provider = "a b"}, "provider"},
        {{.name = "a", .group = {"g"}, .groups = 1, .type = "p5 48xlarge"}, "instanceType"},
        {{.name = "a", .group = {"g"}, .count = {1}, .groups = 1, .names = ARRAY("no.dots")}, "no.dots"},
        {{.name = "a", .group = {"g"}, .count = {1}, .groups = 1, .names = ARRAY("")}, "host name"},
        {{.name = "a", .group = {"g"}, .count = {2}, .groups = 1, .names = ARRAY("x", "x")}, "\"x\""},
        {{.name = "a", .group = {"g", "h"}, .count = {1, 1}, .groups = 2, .names = ARRAY("h-1")}, "h-1"},
        {{.name = "a", .group = {LONG_NAME}, .count = {1}, .groups = 1}, "host name"},
    };
    struct world world;
    struct cluster cluster;
    world_open(&world, DB_INLINE);
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        assert_int_equal(create(&world, &table[i].sketch, &world_admin, &cluster), STATUS_INVALID);
        assert_problem(&world, PROBLEM_INVALID_VALUE);
        if (strstr(world.problem.detail, table[i].names_it) == NULL)
            fail_msg("\"%s\" does not name %s", world.problem.detail, table[i].names_it);
    }
    assert_int_equal(world.wakes, 0);
    world_close(&world);
}

/* What this hpd cannot drive is refused before anything is made of it. */
static void test_backends_that_are_not_there_are_refused(void **state)
{
    (void)state;
    static const struct service_backends bare = {.providers = {"manual"}, .provider_count = 1};
    static const struct service_backends full = {
        .providers = {"manual", "local"}, .provider_count = 2, .kinds = {ORCHESTRATOR_SLURM}, .kind_count = 1};
    const struct {
        const struct service_backends *backends;
        enum orchestrator orchestrator;
        const char *provider;
        const char *says[3]; /* nothing: it is taken */
    } table[] = {
        {&bare, ORCHESTRATOR_SLURM, "manual", {"orchestrator", "slurm section", "\"none\""}},
        {&bare,
         ORCHESTRATOR_NONE,
         "local",
         {"instanceGroups[1].provider is \"local\"", "only: \"manual\".", "providers"}},
        {&full, ORCHESTRATOR_SLURM, "loca", {"\"loca\"", "only: \"manual\", \"local\".", "section"}},
        {&full, ORCHESTRATOR_NONE, "LOCAL", {"\"LOCAL\""}},
        {&bare, ORCHESTRATOR_NONE, "manual", {0}},
        {&full, ORCHESTRATOR_SLURM, "local", {0}},
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct world world;
        struct cluster cluster;
        struct service_group_spec groups[2] = {{.name = "a", .provider = "manual"}, {.name = "b"}};
        struct service_cluster_spec spec = {
            .name = "ml", .orchestrator = table[i].orchestrator, .groups = groups, .group_count = 2};
        snprintf(groups[1].provider, sizeof(groups[1].provider), "%s", table[i].provider);
        world_open(&world, DB_INLINE);
        world.service.backends = table[i].backends;
        int status = service_cluster_create(&world.service, &world_admin, &spec, &cluster, &world.problem);
        assert_int_equal(status, table[i].says[0] == NULL ? 0 : STATUS_INVALID);
        for (size_t k = 0; k < ARRAY_LEN(table[i].says) && table[i].says[k] != NULL; k++)
            if (strstr(world.problem.detail, table[i].says[k]) == NULL)
                fail_msg("\"%s\" does not say %s", world.problem.detail, table[i].says[k]);
        if (status != 0)
            assert_problem(&world, PROBLEM_INVALID_VALUE);
        assert_int_equal(world.wakes, status == 0);
        world_close(&world);
    }
}

static void test_only_an_administrator_makes_and_deletes(void **state)
{
    (void)state;
    struct world world;
    struct cluster cluster;
    const struct sketch sketch = {.name = "a", .group = {"g"}, .groups = 1};
    world_open(&world, DB_INLINE);
    assert_int_equal(create(&world, &sketch, &world_operator, &cluster), STATUS_DENIED);
    assert_problem(&world, PROBLEM_FORBIDDEN);
    assert_int_equal(service_cluster_delete(&world.service, &world_operator, "a", &cluster, &world.problem),
                     STATUS_DENIED);
    assert_int_equal(
        change_recovery(&world.service, &world_viewer, "a", NODE_RECOVERY_NONE, 0, &cluster, &world.problem),
        STATUS_DENIED);
    world_close(&world);
}

/* --- create ---------------------------------------------------------------------------------------- */

static const struct db_operation_filter of_nodes = {.state = -1};

static int note_operation(const void *row, void *arg)
{
    struct operation *operations = arg;
    const struct operation *operation = row;
    for (int i = 0; i < 8; i++)
        if (operations[i].id == 0 && !operation_is_of_cluster(operation->kind)) {
            operations[i] = *operation;
            break;
        }
    return 0;
}

static void test_create_leaves_a_launch_for_every_node(void **state)
{
    (void)state;
    struct world world;
    struct cluster cluster;
    struct operation operations[8] = {0};
    const struct sketch sketch = {.name = "ml",
                                  .group = {"gpu", "cpu"},
                                  .count = {2, 1},
                                  .groups = 2,
                                  .names = ARRAY("gpu-a", "gpu-b"),
                                  .type = "ml.p5.48xlarge"};
    world_open(&world, DB_INLINE);
    assert_int_equal(create(&world, &sketch, &world_admin, &cluster), 0);
    assert_int_equal(cluster.state, CLUSTER_STATE_CREATING);
    assert_int_equal(cluster.revision, 1);
    assert_int_equal(strlen(cluster.uid), 12);
    assert_int_equal(world.wakes, 1);
    assert_int_equal(world.events_heard, 1);

    struct node node = world_node_get(&world, "ml", "gpu-a");
    assert_int_equal(node.state, NODE_STATE_PENDING);
    assert_int_equal(node.health, HEALTH_UNKNOWN);
    (void)world_node_get(&world, "ml", "cpu-1");
    assert_int_equal(
        service_operation_list(&world.service, "ml", NULL, &of_nodes, note_operation, operations, &world.problem), 0);
    char key[KEY_MAX_BYTES];
    snprintf(key, sizeof(key), "launch/%s/gpu-a/1", cluster.uid);
    assert_int_equal(operations[3].id, 0);
    assert_string_equal(operations[2].key, key); /* newest first */
    assert_int_equal(operations[2].kind, OPERATION_KIND_LAUNCH);
    assert_int_equal(operations[2].state, OPERATION_STATE_PENDING);
    assert_int_equal(operations[2].step_count, 6);
    assert_int_equal(operations[2].steps[0].kind, STEP_KIND_LAUNCH);
    assert_string_equal(operations[2].actor, "token:admin");

    struct event event;
    assert_int_equal(world_events(&world, EVENT_KIND_CLUSTER_CREATED, &event), 1);
    assert_string_equal(event.cluster, "ml");

    assert_int_equal(create(&world, &sketch, &world_admin, &cluster), STATUS_EXISTS);
    assert_problem(&world, PROBLEM_NAME_TAKEN);
    world_close(&world);
}

static void test_names_too_long_for_a_key_still_get_their_own(void **state)
{
    (void)state;
    struct world world;
    struct cluster cluster;
    struct operation operations[8] = {0};
    const struct sketch sketch = {
        .name = "ml",
        .group = {"gpu"},
        .count = {2},
        .groups = 1,
        .names = ARRAY(LONG_NAME, "b23456789-123456789-123456789-123456789-123456789-123456789-123")};
    world_open(&world, DB_INLINE);
    assert_int_equal(create(&world, &sketch, &world_admin, &cluster), 0);
    assert_int_equal(
        service_operation_list(&world.service, "ml", NULL, &of_nodes, note_operation, operations, &world.problem), 0);
    assert_non_null(strstr(operations[0].key, "/#"));
    assert_string_not_equal(operations[0].key, operations[1].key);
    world_close(&world);
}

static void test_two_clusters_may_not_command_one_slurm_node(void **state)
{
    (void)state;
    struct world world;
    struct cluster cluster;
    struct sketch sketch = {.name = "one", .group = {"gpu"}, .count = {2}, .groups = 1};
    world_open(&world, DB_INLINE);
    assert_int_equal(create(&world, &sketch, &world_admin, &cluster), 0);
    sketch.name = "two";
    assert_int_equal(create(&world, &sketch, &world_admin, &cluster), STATUS_CONFLICT);
    assert_problem(&world, PROBLEM_CONFLICT);
    assert_non_null(strstr(world.problem.detail, "gpu-1"));
    sketch.orchestrator = ORCHESTRATOR_NONE; /* no scheduler, no quarrel */
    assert_int_equal(create(&world, &sketch, &world_admin, &cluster), 0);
    sketch.name = "three";
    sketch.orchestrator = ORCHESTRATOR_SLURM;
    sketch.group[0] = "other";
    assert_int_equal(create(&world, &sketch, &world_admin, &cluster), 0);
    world_close(&world);
}

/* Of several, the only one of the kind that is asked for needs no name. */
static void test_the_only_scheduler_of_a_kind_is_chosen(void **state)
{
    (void)state;
    struct world world;
    struct cluster cluster;
    struct sketch sketch = {.name = "one", .group = {"gpu"}, .count = {1}, .groups = 1};
    world_open(&world, DB_INLINE);
    struct service *s = &world.service;
    s->schedulers[s->scheduler_count++] = service_scheduler_new("east", "another");
    s->schedulers[s->scheduler_count++] = service_scheduler_new("west", "slurm");
    assert_int_equal(service_cluster_orchestrator(s, "west"), ORCHESTRATOR_SLURM);
    assert_int_equal(create(&world, &sketch, &world_admin, &cluster), 0);
    assert_string_equal(cluster.scheduler, "west");
    s->schedulers[s->scheduler_count++] = service_scheduler_new("south", "slurm");
    sketch.name = "two";
    sketch.group[0] = "cpu";
    assert_int_equal(create(&world, &sketch, &world_admin, &cluster), STATUS_INVALID);
    assert_non_null(strstr(world.problem.detail, "name one of east, west, south"));
    sketch.scheduler = "east"; /* of a kind that nobody knows */
    assert_int_equal(create(&world, &sketch, &world_admin, &cluster), STATUS_INVALID);
    assert_non_null(strstr(world.problem.detail, "the scheduler \"east\" is of the kind \"another\""));
    for (size_t i = 0; i < s->scheduler_count; i++)
        service_scheduler_free(s->schedulers[i]);
    s->scheduler_count = 0;
    world_close(&world);
}

static int spoil_specs(struct db_tx *tx, void *arg)
{
    (void)arg;
    int status =
        db_exec(tx, "INSERT OR REPLACE INTO group_spec (group_id, spec) SELECT id, '{\"role\":' FROM instance_group");
    return status < 0
               ? status
               : db_exec(tx, "INSERT OR REPLACE INTO cluster_spec (cluster_id, spec) SELECT id, 'x' FROM cluster");
}

static int count_spoiled(struct db_tx *tx, void *arg)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, "SELECT count(*) FROM group_spec WHERE spec = '{\"role\":'");
    int status = db_query_one(&q);
    *(int64_t *)arg = db_get_i64(&q);
    return status;
}

/* A description that cannot be read is no empty one: it is said, shown, and what was stored stays. */
static void test_a_description_that_cannot_be_read_is_said_and_kept(void **state)
{
    (void)state;
    struct world world;
    struct cluster cluster;
    struct service_cluster_view view;
    struct event last;
    int64_t spoiled = 0;
    struct sketch sketch = {.name = "ml", .group = {"gpu"}, .count = {2}, .groups = 1};
    world_open(&world, DB_INLINE);
    assert_int_equal(create(&world, &sketch, &world_admin, &cluster), 0);
    assert_int_equal(service_specs_check(&world.service, &world.problem), 0);
    assert_int_equal(world_events(&world, EVENT_KIND_UNREADABLE, NULL), 0);
    assert_int_equal(db_write(world.service.db, "test", spoil_specs, NULL), 0);
    assert_int_equal(service_specs_check(&world.service, &world.problem), 0);
    assert_int_equal(world_events(&world, EVENT_KIND_UNREADABLE, &last), 2);
    assert_int_equal(last.level, EVENT_LEVEL_ERROR);
    assert_non_null(strstr(last.message, "the group gpu cannot be read"));
    assert_int_equal(service_cluster_describe(&world.service, "ml", &view, &world.problem), 0);
    assert_non_null(strstr(view.cluster.failure, "cannot be read"));
    assert_non_null(strstr(view.groups[0].group.failure, "cannot be read"));
    assert_int_equal(view.counts.nodes, 2);
    service_cluster_view_free(&view);
    struct group_spec spec = {.threads_per_core = {true, 1}};
    struct service_group_spec group = {.name = "gpu", .instance_count = 3, .min_count = -1, .spec = &spec};
    const struct service_cluster_change change = {.groups = &group, .group_count = 1, .merge = true};
    assert_int_equal(service_cluster_update(&world.service, &world_admin, "ml", &change, &cluster, &world.problem),
                     STATUS_UNREADABLE);
    assert_problem(&world, PROBLEM_INTERNAL);
    assert_non_null(strstr(world.problem.detail, "cannot be read"));
    assert_int_equal(db_write(world.service.db, "test", count_spoiled, &spoiled), 0);
    assert_int_equal(spoiled, 1);
    world_close(&world);
}

static int none_expected(const void *row, void *arg)
{
    (void)arg;
    fail_msg("%s is there", ((const struct audit *)row)->operation);
    return STATUS_INVALID;
}

/* Refused as the request itself would be; what would be done leaves nothing, not even an entry of the audit log. */
static void test_a_dry_run_only_tells(void **state)
{
    (void)state;
    struct sketch sketch = {.name = "a", .group = {"g"}, .count = {2}, .groups = 1, .dry_run = true};
    struct world world;
    struct cluster cluster;
    struct service_cluster_view view;
    const struct db_audit_filter all = {.cluster = "", .actor = "", .operation = "", .resource = "", .outcome = -1};
    world_open(&world, DB_INLINE);
    struct service_audit audit = {.entry = {.actor = "token:admin", .operation = "cluster.create"}};
    service_audit_begin(&audit);
    assert_int_equal(create(&world, &sketch, &world_admin, &cluster), 0);
    assert_true(audit.recorded);
    service_audit_end();
    assert_int_equal(service_cluster_describe(&world.service, "a", &view, &world.problem), STATUS_NOT_FOUND);
    assert_int_equal(world_events(&world, EVENT_KIND_CLUSTER_CREATED, NULL), 0);
    assert_int_equal(service_audit_list(&world.service, &all, none_expected, NULL, &world.problem), 0);
    sketch.dry_run = false;
    assert_int_equal(create(&world, &sketch, &world_admin, &cluster), 0);
    struct service_cluster_change change = {.has_recovery = true, .recovery = NODE_RECOVERY_NONE, .dry_run = true};
    assert_int_equal(service_cluster_update(&world.service, &world_admin, "a", &change, &cluster, &world.problem), 0);
    change.if_revision = 77;
    assert_int_equal(service_cluster_update(&world.service, &world_admin, "a", &change, &cluster, &world.problem),
                     STATUS_CONFLICT);
    assert_int_equal(service_cluster_describe(&world.service, "a", &view, &world.problem), 0);
    assert_int_equal(view.cluster.recovery, NODE_RECOVERY_AUTOMATIC);
    service_cluster_view_free(&view);
    assert_int_equal(world_events(&world, EVENT_KIND_CLUSTER_UPDATED, NULL), 0);
    sketch.dry_run = true;
    assert_int_equal(create(&world, &sketch, &world_admin, &cluster), STATUS_EXISTS);
    assert_problem(&world, PROBLEM_NAME_TAKEN);
    world_close(&world);
}

static void test_an_empty_cluster_is_in_service_and_goes_at_once(void **state)
{
    (void)state;
    struct world world;
    struct cluster cluster;
    struct service_cluster_view view;
    const struct sketch sketch = {.name = "empty", .group = {"g"}, .groups = 1};
    world_open(&world, DB_INLINE);
    assert_int_equal(create(&world, &sketch, &world_admin, &cluster), 0);
    assert_int_equal(cluster.state, CLUSTER_STATE_IN_SERVICE);
    assert_int_equal(service_cluster_delete(&world.service, &world_admin, "empty", &cluster, &world.problem), 0);
    assert_int_equal(cluster.state, CLUSTER_STATE_DELETING);
    assert_int_equal(service_cluster_describe(&world.service, "empty", &view, &world.problem), STATUS_NOT_FOUND);
    assert_problem(&world, PROBLEM_NOT_FOUND);
    assert_int_equal(world_events(&world, EVENT_KIND_CLUSTER_DELETED, NULL), 1);
    assert_int_equal(create(&world, &sketch, &world_admin, &cluster), 0); /* the name is free again */
    world_close(&world);
}

/* --- describe and list ----------------------------------------------------------------------------- */

static void test_describe_shows_the_worst_first(void **state)
{
    (void)state;
    struct world world;
    struct service_cluster_view view;
    world_open(&world, DB_INLINE);
    world_cluster(&world, "ml", "gpu", 6, ORCHESTRATOR_NONE);
    world_node_set(&world, "ml", "gpu-1", NODE_STATE_READY, HEALTH_HEALTHY);
    world_node_set(&world, "ml", "gpu-2", NODE_STATE_READY, HEALTH_UNKNOWN);
    world_node_set(&world, "ml", "gpu-3", NODE_STATE_FAILED, HEALTH_UNHEALTHY);
    world_node_set(&world, "ml", "gpu-4", NODE_STATE_HELD, HEALTH_UNHEALTHY);
    world_node_set(&world, "ml", "gpu-5", NODE_STATE_READY, HEALTH_DEGRADED);
    assert_int_equal(service_cluster_describe(&world.service, "ml", &view, &world.problem), 0);
    assert_int_equal(view.counts.nodes, 6);
    assert_int_equal(view.counts.by_state[NODE_STATE_READY], 3);
    assert_int_equal(view.group_count, 1);
    assert_string_equal(view.groups[0].group.name, "workers");
    assert_int_equal(view.groups[0].counts.by_health[HEALTH_UNHEALTHY], 2);
    assert_int_equal(view.active_count, 7); /* with the creation */
    assert_int_equal(view.attention_total, 5);
    assert_int_equal(view.attention_count, 5);
    static const char *const order[] = {"gpu-3", "gpu-4", "gpu-6", "gpu-5", "gpu-2"};
    for (size_t i = 0; i < ARRAY_LEN(order); i++)
        assert_string_equal(view.attention[i].node.name, order[i]);
    service_cluster_view_free(&view);
    service_cluster_view_free(NULL);
    world_close(&world);
}

static void test_describe_shows_healthy_nodes_with_a_reason_last(void **state)
{
    (void)state;
    struct world world;
    struct service_cluster_view view;
    world_open(&world, DB_INLINE);
    world_cluster(&world, "ml", "gpu", 3, ORCHESTRATOR_NONE);
    for (int i = 1; i <= 3; i++) {
        char name[NODE_NAME_MAX_BYTES];
        snprintf(name, sizeof(name), "gpu-%d", i);
        world_node_set(&world, "ml", name, NODE_STATE_READY, i == 3 ? HEALTH_DEGRADED : HEALTH_HEALTHY);
    }
    struct node node = world_node_get(&world, "ml", "gpu-2");
    snprintf(node.reason, sizeof(node.reason), "held in Slurm by ann");
    world_write(&world, world_node_write, &node);
    assert_int_equal(service_cluster_describe(&world.service, "ml", &view, &world.problem), 0);
    assert_int_equal(view.attention_total, 2);
    assert_string_equal(view.attention[0].node.name, "gpu-3");
    assert_string_equal(view.attention[1].node.name, "gpu-2");
    service_cluster_view_free(&view);
    world_close(&world);
}

static void test_describe_counts_more_than_it_lists(void **state)
{
    (void)state;
    struct world world;
    struct service_cluster_view view;
    world_open(&world, DB_INLINE);
    world_cluster(&world, "ml", "gpu", 70, ORCHESTRATOR_NONE);
    world_node_set(&world, "ml", "gpu-1", NODE_STATE_READY, HEALTH_UNHEALTHY);
    world_node_set(&world, "ml", "gpu-2", NODE_STATE_FAILED, HEALTH_UNHEALTHY);
    assert_int_equal(service_cluster_describe(&world.service, "ml", &view, &world.problem), 0);
    assert_int_equal(view.attention_count, SERVICE_CLUSTER_ATTENTION_MAX);
    assert_int_equal(view.attention_total, 70);
    assert_int_equal(view.active_count, SERVICE_CLUSTER_ACTIVE_MAX);
    service_cluster_view_free(&view);
    world_close(&world);
}

struct names {
    char text[256];
    int64_t nodes;
    int stop_after;
};

static int note_cluster(const struct cluster *cluster, const struct cluster_counts *counts, void *arg)
{
    struct names *names = arg;
    strncat(names->text, cluster->name, sizeof(names->text) - strlen(names->text) - 1);
    names->nodes += counts->nodes;
    return --names->stop_after == 0 ? 1 : 0;
}

static void test_list_pages_by_name(void **state)
{
    (void)state;
    struct world world;
    struct names names = {.stop_after = -1};
    world_open(&world, DB_INLINE);
    world_cluster(&world, "c", "c", 1, ORCHESTRATOR_NONE);
    world_cluster(&world, "a", "a", 2, ORCHESTRATOR_NONE);
    world_cluster(&world, "b", "b", 3, ORCHESTRATOR_NONE);
    assert_int_equal(service_cluster_list(&world.service, NULL, 2, note_cluster, &names, &world.problem), 0);
    assert_string_equal(names.text, "ab");
    assert_int_equal(names.nodes, 5);
    assert_int_equal(service_cluster_list(&world.service, "b", 2, note_cluster, &names, &world.problem), 0);
    assert_string_equal(names.text, "abc");
    names = (struct names){.stop_after = 1};
    assert_int_equal(service_cluster_list(&world.service, "", 0, note_cluster, &names, &world.problem), 1);
    assert_string_equal(names.text, "a");
    world_close(&world);
}

/* --- change ---------------------------------------------------------------------------------------- */

static int set_recovery(struct world *world, enum node_recovery recovery, int64_t if_revision,
                        struct cluster *ret_cluster)
{
    return change_recovery(&world->service, &world_operator, "ml", recovery, if_revision, ret_cluster, &world->problem);
}

static void test_recovery_changes_once_and_only_from_what_was_read(void **state)
{
    (void)state;
    struct world world;
    struct cluster cluster;
    world_open(&world, DB_INLINE);
    assert_int_equal(set_recovery(&world, NODE_RECOVERY_NONE, 0, &cluster), STATUS_NOT_FOUND);
    world_cluster(&world, "ml", "gpu", 1, ORCHESTRATOR_NONE);
    world.wakes = 0;
    assert_int_equal(set_recovery(&world, NODE_RECOVERY_NONE, 7, &cluster), STATUS_CONFLICT);
    assert_problem(&world, PROBLEM_PRECONDITION_FAILED);
    assert_int_equal(set_recovery(&world, NODE_RECOVERY_NONE, 1, &cluster), 0);
    assert_int_equal(cluster.recovery, NODE_RECOVERY_NONE);
    assert_int_equal(cluster.revision, 2);
    assert_int_equal(set_recovery(&world, NODE_RECOVERY_NONE, 0, &cluster), 0); /* nothing to change */
    assert_int_equal(cluster.revision, 2);
    assert_int_equal(set_recovery(&world, NODE_RECOVERY_AUTOMATIC, 1, &cluster), STATUS_CONFLICT);
    assert_int_equal(world_events(&world, EVENT_KIND_CLUSTER_UPDATED, NULL), 1);
    assert_int_equal(world.wakes, 1);
    world_close(&world);
}

/* --- delete ---------------------------------------------------------------------------------------- */

/* Its nodes are the loop's, which takes them because of the cluster's state: see tests/sim/test_operations.c. */
static void test_delete_says_what_is_wanted_once(void **state)
{
    (void)state;
    struct world world;
    struct cluster cluster;
    struct operation operations[8] = {0};
    world_open(&world, DB_INLINE);
    world_cluster(&world, "ml", "gpu", 2, ORCHESTRATOR_NONE);
    world_ready(&world, "ml", "gpu-1", "i-1", NULL); /* gpu-2 is still being launched */
    for (int i = 0; i < 2; i++) {
        assert_int_equal(service_cluster_delete(&world.service, &world_admin, "ml", &cluster, &world.problem), 0);
        assert_int_equal(cluster.state, CLUSTER_STATE_DELETING);
    }
    assert_int_equal(world_events(&world, EVENT_KIND_CLUSTER_UPDATED, NULL), 1);
    assert_int_equal(world_node_get(&world, "ml", "gpu-1").state, NODE_STATE_READY);
    assert_int_equal(
        service_operation_list(&world.service, "ml", NULL, &of_nodes, note_operation, operations, &world.problem), 0);
    assert_int_equal(operations[0].kind, OPERATION_KIND_LAUNCH);
    assert_false(operations[0].cancel_asked);

    assert_int_equal(set_recovery(&world, NODE_RECOVERY_NONE, 0, &cluster), STATUS_CONFLICT);
    assert_problem(&world, PROBLEM_CONFLICT);
    assert_int_equal(service_cluster_delete(&world.service, &world_admin, "none", &cluster, &world.problem),
                     STATUS_NOT_FOUND);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_descriptions_that_are_refused),
        cmocka_unit_test(test_backends_that_are_not_there_are_refused),
        cmocka_unit_test(test_the_only_scheduler_of_a_kind_is_chosen),
        cmocka_unit_test(test_a_description_that_cannot_be_read_is_said_and_kept),
        cmocka_unit_test(test_only_an_administrator_makes_and_deletes),
        cmocka_unit_test(test_create_leaves_a_launch_for_every_node),
        cmocka_unit_test(test_names_too_long_for_a_key_still_get_their_own),
        cmocka_unit_test(test_two_clusters_may_not_command_one_slurm_node),
        cmocka_unit_test(test_a_dry_run_only_tells),
        cmocka_unit_test(test_an_empty_cluster_is_in_service_and_goes_at_once),
        cmocka_unit_test(test_describe_shows_the_worst_first),
        cmocka_unit_test(test_describe_shows_healthy_nodes_with_a_reason_last),
        cmocka_unit_test(test_describe_counts_more_than_it_lists),
        cmocka_unit_test(test_list_pages_by_name),
        cmocka_unit_test(test_recovery_changes_once_and_only_from_what_was_read),
        cmocka_unit_test(methods_that_are_not_configured_are_refused),
        cmocka_unit_test(test_delete_says_what_is_wanted_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
