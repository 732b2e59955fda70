/* Commands for training jobs: which jobs take one, who may ask, and that it waits for whoever carries it out. */
#include "tests/support/service_world.h"

#include "db/event.h"
#include "db/job.h"
#include "server/service/event/event.h"
#include "server/service/job/job.h"
#include "server/service/scheduler/scheduler.h"

#define NOW WORLD_T0

#define JOB(ID, NAME, STATE, REASON, NODES)                                                                   \
    .id = ID, .name = NAME, .user = "ml", .account = "ml", .partition = "", .state = STATE, .reason = REASON, \
    .nodes = NODES, .tasks = 1

static struct job_snapshot *snapshot_new(void)
{
    static const struct cluster_job jobs[] = {
        {JOB("ml/a", "a", CLUSTER_JOB_RUNNING, "", "gpu-1"),
         .commands =
             JOB_COMMAND_BIT(RESTART) | JOB_COMMAND_BIT(REMAKE) | JOB_COMMAND_BIT(SUSPEND) | JOB_COMMAND_BIT(RESUME)},
        {JOB("ml/elastic", "elastic", CLUSTER_JOB_RUNNING, "", "gpu-1"),
         .commands = JOB_COMMAND_BIT(RESTART) | JOB_COMMAND_BIT(REMAKE) | JOB_COMMAND_BIT(SUSPEND) |
                     JOB_COMMAND_BIT(RESUME) | JOB_COMMAND_BIT(SCALE),
         .size = 4, .size_least = 2, .size_most = 8},
        {JOB("ml/over", "over", CLUSTER_JOB_FAILED, "NoProgress", "gpu-1"),
         .commands =
             JOB_COMMAND_BIT(RESTART) | JOB_COMMAND_BIT(REMAKE) | JOB_COMMAND_BIT(SUSPEND) | JOB_COMMAND_BIT(RESUME)},
        {JOB("82", "batch", CLUSTER_JOB_RUNNING, "", "gpu-1"), .restarts = 3,
         .commands = JOB_COMMAND_BIT(RESTART) | JOB_COMMAND_BIT(SCALE)},
        {JOB("ml/web", "web", CLUSTER_JOB_RUNNING, "", "gpu-2")},
    };
    struct job_snapshot *snapshot = job_snapshot_new();
    snapshot->jobs = own_calloc(ARRAY_LEN(jobs), sizeof(*snapshot->jobs));
    memcpy(snapshot->jobs, jobs, sizeof(jobs));
    snapshot->count = ARRAY_LEN(jobs);
    snapshot->nodes = own_calloc(1, sizeof(*snapshot->nodes));
    snapshot->metrics = own_strdup("");
    snapshot->at = NOW;
    snapshot->stale_at = INT64_MAX;
    return snapshot;
}

static void open_kubernetes(struct world *world)
{
    world_open(world, DB_INLINE);
    world_cluster(world, "ml", "gpu", 2, ORCHESTRATOR_KUBERNETES);
    world->service.schedulers[world->service.scheduler_count++] = service_scheduler_new("", "kubernetes");
    const struct service_scheduler_status up = {.state = SCHEDULER_STATE_UP};
    service_scheduler_set(world->service.schedulers[0], &up);
    service_scheduler_show(world->service.schedulers[0], snapshot_new(), "");
}

static void close_kubernetes(struct world *world)
{
    service_scheduler_free(world->service.schedulers[--world->service.scheduler_count]);
    world_close(world);
}

static int scale(struct world *world, const char *job, enum job_command_kind kind, int64_t size)
{
    const struct actor actor = {.name = "token:ann", .role = ROLE_OPERATOR};
    struct job_command command;
    return service_job_command(&world->service, &actor, "ml", job, kind, size, &command, &world->problem);
}

static int ask(struct world *world, enum role role, const char *job, enum job_command_kind kind)
{
    const struct actor actor = {.name = "token:ann", .role = role};
    struct job_command command;
    return service_job_command(&world->service, &actor, "ml", job, kind, 0, &command, &world->problem);
}

static int add(const void *row, void *arg)
{
    const struct job_command *command = row;
    text_printf(arg, "%lld %s %s by %s\n", (long long)command->id, job_command_kind_text(command->kind), command->job,
                command->actor);
    return 0;
}

static void waits(struct world *world, const char *commands)
{
    AUTO(text) struct text text = {0};
    assert_int_equal(service_job_commands(&world->service, "", add, &text), 0);
    assert_string_equal(text_get(&text), commands);
}

static void test_waits_until_it_is_done(void **state)
{
    (void)state;
    struct world world;
    open_kubernetes(&world);
    assert_int_equal(ask(&world, ROLE_OPERATOR, "ml/a", JOB_COMMAND_SUSPEND), 0);
    assert_int_equal(ask(&world, ROLE_OPERATOR, "ml/a", JOB_COMMAND_RESUME), 0);
    waits(&world, "1 suspend ml/a by token:ann\n2 resume ml/a by token:ann\n");
    const struct job_command first = {.id = 1, .cluster = "ml"};
    assert_int_equal(service_job_command_end(&world.service, &first, NULL), 0);
    assert_int_equal(service_job_command_end(&world.service, &first, NULL), 0);
    waits(&world, "2 resume ml/a by token:ann\n");
    close_kubernetes(&world);
}

static void test_refused(void **state)
{
    (void)state;
    struct world world;
    open_kubernetes(&world);
    assert_int_equal(ask(&world, ROLE_VIEWER, "ml/a", JOB_COMMAND_RESTART), STATUS_DENIED);
    assert_int_equal(ask(&world, ROLE_OPERATOR, "ml/none", JOB_COMMAND_RESTART), STATUS_NOT_FOUND);
    assert_int_equal(ask(&world, ROLE_OPERATOR, "ml/web", JOB_COMMAND_RESTART), STATUS_CONFLICT);
    assert_int_equal(ask(&world, ROLE_OPERATOR, "ml/over", JOB_COMMAND_RESTART), STATUS_CONFLICT);
    assert_non_null(strstr(world.problem.detail, "it is FAILED"));
    waits(&world, "");
    close_kubernetes(&world);
}

static int started(const void *row, void *arg)
{
    const struct job_command *command = row;
    text_printf(arg, "%s start %lld\n", command->cluster, (long long)command->restarts);
    return 0;
}

static int said(const void *row, void *arg)
{
    const struct event *event = row;
    if (event->kind == EVENT_KIND_OPERATOR_REQUEST)
        text_printf(arg, "%s: %s\n", event->cluster, event->message);
    return 0;
}

static void test_a_batch_job_takes_what_its_scheduler_can(void **state)
{
    (void)state;
    struct world world;
    AUTO(text) struct text rows = {0}, events = {0};
    open_kubernetes(&world);
    assert_int_equal(ask(&world, ROLE_OPERATOR, "82", JOB_COMMAND_REMAKE), STATUS_CONFLICT);
    assert_non_null(strstr(world.problem.detail, "has no pods"));
    assert_int_equal(ask(&world, ROLE_OPERATOR, "82", JOB_COMMAND_RESTART), 0);
    assert_int_equal(scale(&world, "82", JOB_COMMAND_SCALE, 900), 0); /* its scheduler says what is too much */
    assert_int_equal(service_job_commands(&world.service, "", started, &rows), 0);
    assert_string_equal(text_get(&rows), "ml start 3\nml start 3\n");
    const struct job_command second = {
        .id = 2, .kind = JOB_COMMAND_SCALE, .job = "82", .cluster = "ml", .actor = "token:ann"};
    assert_int_equal(service_job_command_end(&world.service, &second, "Node count specification invalid"), 0);
    waits(&world, "1 restart 82 by token:ann\n");
    struct problem problem;
    const struct db_event_filter filter = {.cluster = "ml", .limit = 100};
    assert_int_equal(service_event_list(&world.service, &filter, said, &events, &problem), 0);
    assert_string_equal(
        text_get(&events),
        "ml: \"scale\" of job 82, requested by token:ann, was refused: Node count specification invalid\n");
    close_kubernetes(&world);
}

static int sized(const void *row, void *arg)
{
    *(int64_t *)arg = ((const struct job_command *)row)->size;
    return 0;
}

static void test_a_size_within_the_bounds(void **state)
{
    (void)state;
    struct world world;
    int64_t size = 0;
    open_kubernetes(&world);
    assert_int_equal(scale(&world, "ml/a", JOB_COMMAND_SCALE, 4), STATUS_CONFLICT);
    assert_non_null(strstr(world.problem.detail, "has no elasticPolicy"));
    assert_int_equal(scale(&world, "ml/elastic", JOB_COMMAND_SCALE, 1), STATUS_INVALID);
    assert_int_equal(scale(&world, "ml/elastic", JOB_COMMAND_SCALE, 9), STATUS_INVALID);
    assert_non_null(strstr(world.problem.detail, "may have 2 to 8 replicas"));
    waits(&world, "");
    assert_int_equal(scale(&world, "ml/elastic", JOB_COMMAND_SCALE, 8), 0);
    waits(&world, "1 scale ml/elastic by token:ann\n");
    assert_int_equal(service_job_commands(&world.service, "", sized, &size), 0);
    assert_int_equal(size, 8);
    close_kubernetes(&world);
}

static void test_no_more_than_there_may_be(void **state)
{
    (void)state;
    struct world world;
    open_kubernetes(&world);
    for (int i = 0; i < JOB_COMMANDS_MAX; i++)
        assert_int_equal(ask(&world, ROLE_OPERATOR, "ml/a", JOB_COMMAND_RESTART), 0);
    assert_int_equal(ask(&world, ROLE_OPERATOR, "ml/a", JOB_COMMAND_RESTART), STATUS_CONFLICT);
    assert_int_equal(world.problem.code, PROBLEM_LIMIT_EXCEEDED);
    close_kubernetes(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_waits_until_it_is_done),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_a_size_within_the_bounds),
        cmocka_unit_test(test_a_batch_job_takes_what_its_scheduler_can),
        cmocka_unit_test(test_no_more_than_there_may_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
