/* Settings of a group's agents: who may, what is refused, which revision follows which, and what agents tell of theirs. */
#include "tests/support/service_world.h"

#include "server/live/agent_registry.h"

#define TEXT "disk.lowPercent: 9\n"

static struct group_agent_settings *none(void)
{
    return own_calloc(1, sizeof(struct group_agent_settings));
}

static int apply(struct world *world, enum role role, const char *text, int64_t expected,
                 struct group_agent_settings *ret_settings)
{
    struct actor actor = {.name = "token:ci", .role = role};
    const struct service_agent_settings_change wanted = {
        .cluster = "ml", .group = "workers", .text = text, .comment = "scratch", .expected = expected};
    return service_agent_settings_apply(&world->service, &actor, &wanted, ret_settings, &world->problem);
}

static void test_revisions(void **state)
{
    struct world world;
    (void)state;
    int64_t id = world_open_ready(&world, DB_INLINE, 1);
    autofree struct group_agent_settings *settings = none();
    assert_int_equal(service_agent_settings_get(&world.service, "ml", "workers", settings, &world.problem), 0);
    assert_int_equal(settings->revision, 0);
    assert_int_equal(fleet_settings_tag(world.service.fleet, id), 0);
    assert_int_equal(apply(&world, ROLE_VIEWER, TEXT, -1, settings), STATUS_DENIED);
    assert_int_equal(apply(&world, ROLE_OPERATOR, TEXT, 1, settings), STATUS_CONFLICT);
    assert_int_equal(world.problem.code, PROBLEM_PRECONDITION_FAILED);
    assert_int_equal(apply(&world, ROLE_OPERATOR, TEXT, 0, settings), 0);
    assert_int_equal(settings->revision, 1);
    assert_string_equal(settings->author, "token:ci");
    assert_string_equal(settings->comment, "scratch");
    assert_true(fleet_settings_tag(world.service.fleet, id) == agent_settings_tag(TEXT));
    assert_int_equal(apply(&world, ROLE_OPERATOR, TEXT, -1, settings), 0);
    assert_int_equal(settings->revision, 1); /* the same text is no new revision */
    assert_int_equal(apply(&world, ROLE_OPERATOR, "disk.lowPercent: 99\n", -1, settings), STATUS_INVALID);
    assert_string_equal(world.problem.detail, "line 1: disk.lowPercent must be a whole number from 1 to 50");
    assert_int_equal(apply(&world, ROLE_OPERATOR, "", 1, settings), 0);
    assert_int_equal(settings->revision, 2);
    assert_int_equal(fleet_settings_tag(world.service.fleet, id), 0); /* nothing is said any more */
    assert_int_equal(service_agent_settings_get(&world.service, "ml", "cpu", settings, &world.problem),
                     STATUS_NOT_FOUND);
    assert_int_equal(service_agent_settings_get(&world.service, "no", "workers", settings, &world.problem),
                     STATUS_NOT_FOUND);
    world_close(&world);
}

static void test_a_new_start(void **state)
{
    struct world world;
    (void)state;
    int64_t id = world_open_ready(&world, DB_INLINE, 1);
    autofree struct group_agent_settings *settings = none();
    assert_int_equal(apply(&world, ROLE_ADMIN, TEXT, -1, settings), 0);
    struct agent_registry *registry = fleet_agent_registry(world.service.fleet);
    agent_registry_put(registry, settings->group_id, settings->revision - 1, 5); /* who is late changes nothing */
    assert_true(fleet_settings_tag(world.service.fleet, id) == agent_settings_tag(TEXT));
    struct fleet *other = fleet_new(), *before = world.service.fleet;
    world.service.fleet = other;
    assert_int_equal(service_agent_settings_load(&world.service, &world.problem), 0);
    assert_true(agent_registry_tag(fleet_agent_registry(other), settings->group_id) == agent_settings_tag(TEXT));
    assert_int_equal(agent_registry_tag(fleet_agent_registry(other), settings->group_id + 1), 0);
    world.service.fleet = before;
    fleet_free(other);
    assert_int_equal(service_agent_settings_fetch(&world.service, id, settings, &world.problem), 0);
    assert_string_equal(settings->text, TEXT);
    assert_int_equal(service_agent_settings_fetch(&world.service, 777, settings, &world.problem),
                     STATUS_UNAUTHENTICATED);
    world_close(&world);
}

static void test_what_agents_tell(void **state)
{
    struct world world;
    (void)state;
    int64_t id = world_open_ready(&world, DB_INLINE, 1);
    autofree struct group_agent_settings *settings = none();
    autofree struct agent_settings_report *report = own_calloc(1, sizeof(*report));
    autofree struct agent_settings_report *told = own_calloc(1, sizeof(*told));
    assert_int_equal(service_agent_settings_of_node(&world.service, "ml", "gpu-1", settings, told, &world.problem), 0);
    assert_int_equal(told->at, 0);
    snprintf(report->instance_id, sizeof(report->instance_id), "i-1");
    snprintf(report->refused, sizeof(report->refused), "line 1: no");
    snprintf(report->lines[0], sizeof(report->lines[0]), "disk.period 5m file");
    snprintf(report->lines[1], sizeof(report->lines[1]), "load.enabled false group");
    report->count = 2;
    report->revision = 4;
    assert_int_equal(service_agent_settings_report(&world.service, id, report, &world.problem), 0);
    assert_int_equal(service_agent_settings_of_node(&world.service, "ml", "gpu-1", settings, told, &world.problem), 0);
    assert_int_equal(told->revision, 4);
    assert_string_equal(told->refused, "line 1: no");
    assert_int_equal(told->count, 2);
    assert_string_equal(told->lines[1], "load.enabled false group");
    assert_int_equal(told->at, WORLD_T0);
    report->count = 0;
    report->refused[0] = '\0';
    assert_int_equal(service_agent_settings_report(&world.service, id, report, &world.problem), 0);
    assert_int_equal(service_agent_settings_of_node(&world.service, "ml", "gpu-1", settings, told, &world.problem), 0);
    assert_int_equal(told->count, 0);
    /* whom it counts from, and what goes onto no terminal */
    snprintf(report->instance_id, sizeof(report->instance_id), "i-9");
    assert_int_equal(service_agent_settings_report(&world.service, id, report, &world.problem), STATUS_STALE);
    snprintf(report->instance_id, sizeof(report->instance_id), "i-1");
    snprintf(report->file_refused, sizeof(report->file_refused), "\x1b[2J");
    assert_int_equal(service_agent_settings_report(&world.service, id, report, &world.problem), STATUS_INVALID);
    report->file_refused[0] = '\0';
    snprintf(report->lines[0], sizeof(report->lines[0]), "warp.factor 9 file");
    report->count = 1;
    assert_int_equal(service_agent_settings_report(&world.service, id, report, &world.problem), STATUS_INVALID);
    world_close(&world);
}

static int count_row(const void *row, void *arg)
{
    const struct event *event = row;
    (void)arg;
    if (event->kind == EVENT_KIND_AGENT_SETTINGS)
        text_printf(arg, "%s%s: %s\n", event->node, event_level_text(event->level), event->message);
    return 0;
}

/* What the timeline says of settings, oldest first. */
static void assert_told(struct world *world, const char *expected)
{
    AUTO(text) struct text all = {0};
    const struct db_event_filter filter = {.limit = 100};
    struct db_tx *tx;
    assert_int_equal(db_read_begin(world->service.db, &tx), 0);
    assert_int_equal(db_event_list(tx, &filter, count_row, &all), 0);
    db_read_end(world->service.db, tx);
    assert_string_equal(text_get(&all), expected);
}

static void test_the_timeline(void **state)
{
    struct world world;
    (void)state;
    int64_t id = world_open_ready(&world, DB_INLINE, 1);
    autofree struct group_agent_settings *settings = none();
    autofree struct agent_settings_report *report = own_calloc(1, sizeof(*report));
    snprintf(report->instance_id, sizeof(report->instance_id), "i-1");
    assert_int_equal(apply(&world, ROLE_OPERATOR, "disk.lowPercent: 9\r\n", -1, settings), 0);
    assert_string_equal(settings->text, TEXT); /* what is shown is what can be applied again */
    assert_int_equal(apply(&world, ROLE_OPERATOR, TEXT, -1, settings), 0);
    assert_int_equal(settings->revision, 1);
    snprintf(report->refused, sizeof(report->refused), "line 1: no");
    assert_int_equal(service_agent_settings_report(&world.service, id, report, &world.problem), 0);
    assert_int_equal(service_agent_settings_report(&world.service, id, report, &world.problem), 0); /* said once */
    report->refused[0] = '\0';
    snprintf(report->file_refused, sizeof(report->file_refused), "line 2: no");
    assert_int_equal(service_agent_settings_report(&world.service, id, report, &world.problem), 0);
    assert_int_equal(apply(&world, ROLE_OPERATOR, "", -1, settings), 0);
    assert_told(&world,
                "info: token:ci gave settings to the agents of group workers (revision 1): scratch\n"
                "gpu-1warn: its agent refuses the settings of its group, what counted before goes on: line 1: no\n"
                "gpu-1info: its agent no longer refuses the settings of its group\n"
                "gpu-1warn: its agent refuses the node's own settings, what counted before goes on: line 2: no\n"
                "info: token:ci took all settings from the agents of group workers (revision 2): scratch\n");
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_revisions),
        cmocka_unit_test(test_a_new_start),
        cmocka_unit_test(test_what_agents_tell),
        cmocka_unit_test(test_the_timeline),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
