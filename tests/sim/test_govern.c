/*
 * Scheduler configurations and quotas carried out by the loop: what their status says while they are and after, a scheduler that
 * forgets or is away, and a process that dies at every point: in the end a partition has the tier that is asked for, or its old
 * one, and nothing is remembered that is not needed.
 */
#include "server/service/cluster/cluster.h"
#include "server/service/scheduler/governance.h"
#include "tests/sim/sim_world.h"

#define CONFIG GOVERNANCE_KIND_SCHEDULER_CONFIG
#define QUOTA GOVERNANCE_KIND_COMPUTE_QUOTA
#define DEV_70 "{\"classes\":[{\"name\":\"dev\",\"weight\":70}]}"
#define DEV_30 "{\"classes\":[{\"name\":\"dev\",\"weight\":30}]}"
#define WITH_PROD "{\"classes\":[{\"name\":\"dev\",\"weight\":70},{\"name\":\"prod\",\"weight\":90}]}"
#define WITH_PROD_SHARED \
    "{\"classes\":[{\"name\":\"dev\",\"weight\":70},{\"name\":\"prod\",\"weight\":90}],\"fairShare\":true}"
#define FORMER_TIER 3
#define STORY_REST_MS (15 * MS_PER_S) /* one that was killed goes on at once */

static void open_world(struct sim *sim)
{
    sim_open(sim, 61, true);
    fake_partition_add(&sim->scheduler, "dev", FORMER_TIER);
    fake_partition_add(&sim->scheduler, "batch", 1);
    sim_create(sim, 2, NODE_RECOVERY_AUTOMATIC);
    sim_run(sim, MS_PER_MIN);
}

static struct governance look(struct sim *sim, enum governance_kind kind)
{
    const struct service_governance_ref ref = {
        .kind = kind, .cluster = SIM_CLUSTER, .name = kind == QUOTA ? "vision" : NULL};
    static struct governance governance;
    struct problem problem;
    assert_int_equal(service_governance_describe(&sim->service, &ref, 0, &governance, &problem), 0);
    return governance;
}

static int ask(struct sim *sim, enum governance_kind kind, const char *config, bool new, int active)
{
    AUTO(governance_spec) struct governance_spec read = {0};
    static struct governance governance;
    struct problem problem;
    const struct service_governance_ref ref = {
        .kind = kind, .cluster = SIM_CLUSTER, .name = kind == QUOTA ? "vision" : NULL};
    assert_int_equal(governance_spec_read(config, &read), 0);
    const struct service_governance_spec spec = {.name = kind == QUOTA ? "vision" : "main",
                                                 .team = kind == QUOTA ? "vision" : NULL,
                                                 .config = &read,
                                                 .active = active};
    return new ? service_governance_create(&sim->service, &sim_admin, kind, SIM_CLUSTER, &spec, &governance, &problem)
               : service_governance_update(&sim->service, &sim_admin, &ref, &spec, 0, &governance, &problem);
}

static void forget(struct sim *sim)
{
    const struct service_governance_ref ref = {.kind = CONFIG, .cluster = SIM_CLUSTER};
    struct problem problem;
    assert_int_equal(service_governance_delete(&sim->service, &sim_admin, &ref, &problem), 0);
}

static int count_held(const void *row, void *arg)
{
    (void)row;
    ++*(int *)arg;
    return 0;
}

static int held(struct sim *sim)
{
    struct db_tx *tx = NULL;
    int count = 0;
    assert_int_equal(db_read_begin(sim->service.db, &tx), 0);
    assert_int_equal(db_governance_held(tx, "slurm", count_held, &count), 0);
    db_read_end(sim->service.db, tx);
    return count;
}

static int64_t tier(struct sim *sim, const char *name)
{
    return fake_partition_find(&sim->scheduler, name)->tier;
}

static void a_tier_comes_changes_and_goes(void **state)
{
    struct sim sim;
    (void)state;
    open_world(&sim);
    int64_t governed = sim.scheduler.governed;
    assert_int_equal(governed, 0); /* nothing was asked for, and nobody was asked */
    assert_int_equal(ask(&sim, CONFIG, DEV_70, true, -1), 0);
    assert_int_equal(look(&sim, CONFIG).status, GOVERNANCE_STATUS_CREATING);
    assert_int_equal(tier(&sim, "dev"), FORMER_TIER); /* the API talks to no backend */
    sim_settle(&sim);
    struct governance governance = look(&sim, CONFIG);
    assert_int_equal(governance.status, GOVERNANCE_STATUS_CREATED);
    assert_string_equal(governance.details, "{\"PriorityClasses\":\"\"}");
    assert_int_equal(governance.applied_at, clock_wall_ms(&sim.clock));
    assert_int_equal(tier(&sim, "dev"), 70);
    assert_int_equal(held(&sim), 1);
    sim_run(&sim, 5 * MS_PER_MIN);
    assert_int_equal(look(&sim, CONFIG).applied_at, governance.applied_at);
    assert_int_equal(fake_partition_find(&sim.scheduler, "dev")->sets, 1);

    assert_int_equal(ask(&sim, CONFIG, DEV_30, false, -1), 0);
    sim_settle(&sim);
    assert_int_equal(look(&sim, CONFIG).status, GOVERNANCE_STATUS_UPDATED);
    assert_int_equal(tier(&sim, "dev"), 30);
    forget(&sim);
    sim_settle(&sim);
    assert_int_equal(tier(&sim, "dev"), FORMER_TIER);
    assert_int_equal(tier(&sim, "batch"), 1);
    assert_int_equal(held(&sim), 0);
    governed = sim.scheduler.governed;
    sim_run(&sim, MS_PER_HOUR);
    assert_int_equal(sim.scheduler.governed, governed);
    sim_close(&sim);
}

static void what_does_not_hold_is_said_and_tried_on(void **state)
{
    struct sim sim;
    (void)state;
    open_world(&sim);
    assert_int_equal(ask(&sim, CONFIG, WITH_PROD, true, -1), 0);
    assert_int_equal(ask(&sim, QUOTA, "{}", true, -1), 0);
    sim_settle(&sim);
    struct governance governance = look(&sim, CONFIG);
    assert_int_equal(governance.status, GOVERNANCE_STATUS_CREATE_FAILED);
    assert_non_null(strstr(governance.reason, "PriorityClasses: no partition named prod."));
    assert_int_equal(governance.applied_at, 0);
    assert_int_equal(tier(&sim, "dev"), 70); /* what can be done is done */
    governance = look(&sim, QUOTA);
    assert_int_equal(governance.status, GOVERNANCE_STATUS_CREATE_FAILED);
    assert_non_null(strstr(governance.reason, "no accounting"));
    fake_partition_add(&sim.scheduler, "prod", 1);
    sim_run(&sim, 2 * MS_PER_MIN);
    assert_int_equal(look(&sim, CONFIG).status, GOVERNANCE_STATUS_CREATED);
    assert_int_equal(tier(&sim, "prod"), 90);
    assert_int_equal(ask(&sim, QUOTA, "{}", false, 0), 0);
    sim_settle(&sim);
    governance = look(&sim, QUOTA);
    assert_int_equal(governance.status, GOVERNANCE_STATUS_UPDATED);
    assert_string_equal(governance.reason, GOVERNANCE_OFF);
    assert_int_equal(governance.applied_at, 0);
    sim_close(&sim);
}

/* What never ends does not hide what will not be, and that is said once. */
static void what_failed_is_said_while_the_rest_is_under_way(void **state)
{
    struct sim sim;
    (void)state;
    open_world(&sim);
    sim.scheduler.waits = true;
    assert_int_equal(ask(&sim, CONFIG, WITH_PROD_SHARED, true, -1), 0);
    sim_run(&sim, MS_PER_MIN);
    struct governance governance = look(&sim, CONFIG);
    assert_int_equal(governance.status, GOVERNANCE_STATUS_CREATE_FAILED);
    assert_string_equal(governance.reason,
                        "Stored, but not applied in full. PriorityClasses: no partition named prod.");
    assert_int_equal(tier(&sim, "dev"), 70);
    sim_run(&sim, MS_PER_HOUR);
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_SCHEDULER_CONFIG, "no partition named prod"), 1);
    fake_partition_add(&sim.scheduler, "prod", 1);
    sim.scheduler.waits = false;
    sim_run(&sim, 20 * MS_PER_MIN);
    assert_int_equal(look(&sim, CONFIG).status, GOVERNANCE_STATUS_CREATED);
    sim_close(&sim);
}

/* No rule is left that could say it. */
static void what_cannot_be_taken_back_is_said_once_and_tried_on(void **state)
{
    struct sim sim;
    (void)state;
    open_world(&sim);
    assert_int_equal(ask(&sim, CONFIG, DEV_70, true, -1), 0);
    sim_settle(&sim);
    sim.scheduler.stuck = "User hpd cannot delete it";
    forget(&sim);
    sim_run(&sim, 2 * MS_PER_HOUR);
    assert_int_equal(
        sim_events(
            &sim, NULL, EVENT_KIND_SCHEDULER_DESIRED,
            "cannot remove from the scheduler slurm what a former quota or scheduler configuration made: User hpd"),
        1);
    assert_int_equal(held(&sim), 1);
    sim.scheduler.stuck = NULL;
    sim_run(&sim, 2 * MS_PER_MIN);
    assert_int_equal(tier(&sim, "dev"), FORMER_TIER);
    assert_int_equal(held(&sim), 0);
    sim_close(&sim);
}

static void a_scheduler_that_forgot_is_told_again(void **state)
{
    struct sim sim;
    (void)state;
    open_world(&sim);
    assert_int_equal(ask(&sim, CONFIG, DEV_70, true, -1), 0);
    sim_settle(&sim);
    fake_partition_find(&sim.scheduler, "dev")->tier = FORMER_TIER; /* as after its restart */
    sim_run(&sim, 2 * MS_PER_MIN);
    assert_int_equal(tier(&sim, "dev"), 70);
    assert_int_equal(look(&sim, CONFIG).status, GOVERNANCE_STATUS_CREATED);
    sim_close(&sim);
}

static void while_it_is_away_nothing_is_claimed_and_nothing_denied(void **state)
{
    struct sim sim;
    (void)state;
    open_world(&sim);
    assert_int_equal(ask(&sim, CONFIG, DEV_70, true, -1), 0);
    sim_settle(&sim);
    sim.scheduler.down = true;
    sim_run(&sim, 30 * MS_PER_MIN);
    assert_int_equal(look(&sim, CONFIG).status, GOVERNANCE_STATUS_CREATED); /* as it was seen last */
    assert_int_equal(ask(&sim, CONFIG, DEV_30, false, -1), 0);
    sim_run(&sim, 5 * MS_PER_MIN);
    struct governance governance = look(&sim, CONFIG);
    assert_int_equal(governance.status, GOVERNANCE_STATUS_UPDATING);
    assert_non_null(strstr(governance.reason, "not applied yet"));
    sim_run(&sim, 30 * MS_PER_MIN); /* nobody is to wait for it for ever */
    assert_int_equal(look(&sim, CONFIG).status, GOVERNANCE_STATUS_UPDATE_FAILED);
    sim.scheduler.down = false;
    sim_run(&sim, 2 * MS_PER_MIN);
    assert_int_equal(look(&sim, CONFIG).status, GOVERNANCE_STATUS_UPDATED);
    assert_int_equal(tier(&sim, "dev"), 30);
    sim_close(&sim);
}

static void a_cluster_takes_its_configuration_along(void **state)
{
    struct sim sim;
    struct cluster cluster;
    struct problem problem;
    (void)state;
    open_world(&sim);
    assert_int_equal(ask(&sim, CONFIG, DEV_70, true, -1), 0);
    sim_settle(&sim);
    sim.check = false; /* its laws are about a cluster that is there */
    assert_int_equal(service_cluster_delete(&sim.service, &sim_admin, SIM_CLUSTER, &cluster, &problem), 0);
    sim_run(&sim, MS_PER_MIN);
    assert_int_equal(tier(&sim, "dev"), FORMER_TIER);
    assert_int_equal(held(&sim), 0);
    sim_close(&sim);
}

/* --- killed at every point --- */

enum death { DEATH_TURN, DEATH_BEFORE_CALL, DEATH_AFTER_CALL, DEATH_COUNT };

/* Whatever is said to be in force is. */
static void check_claim(struct sim *sim, int64_t wanted)
{
    struct governance governance = look(sim, CONFIG);
    if (governance_status_is_good(governance.status) && tier(sim, "dev") != wanted)
        sim_fail(sim, NULL, "%s is claimed of a tier of %" PRId64, governance_status_text(governance.status),
                 tier(sim, "dev"));
}

static void run_story(struct sim *sim)
{
    assert_int_equal(ask(sim, CONFIG, DEV_70, true, -1), 0);
    sim_settle(sim);
    check_claim(sim, 70);
    sim_run(sim, STORY_REST_MS);
    assert_int_equal(ask(sim, CONFIG, DEV_30, false, -1), 0);
    sim_settle(sim);
    check_claim(sim, 30);
    sim_run(sim, STORY_REST_MS);
    assert_int_equal(look(sim, CONFIG).status, GOVERNANCE_STATUS_UPDATED);
    assert_int_equal(tier(sim, "dev"), 30);
    assert_int_equal(held(sim), 1);
    forget(sim);
    sim_run(sim, STORY_REST_MS);
    assert_int_equal(tier(sim, "dev"), FORMER_TIER);
    assert_int_equal(held(sim), 0);
}

static void killed_at_every_point(void **state)
{
    static struct sim start, sim;
    (void)state;
    open_world(&start);
    sim_kill(&start);
    for (enum death death = DEATH_TURN; death < DEATH_COUNT; death++)
        for (int64_t k = 1, died = 1; died != 0; k++) {
            sim_fork(&start, &sim);
            sim_run(&sim, 30 * MS_PER_S);
            if (death == DEATH_TURN)
                sim.die_before_turn = sim.turns + (uint64_t)k;
            else if (death == DEATH_BEFORE_CALL)
                sim.outcome.die_before = sim.outcome.calls + k;
            else
                sim.outcome.die_after = sim.outcome.calls + k;
            run_story(&sim);
            died = sim.crashes;
            sim_close(&sim);
        }
    sim_boot(&start);
    sim_close(&start);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tier_comes_changes_and_goes),
        cmocka_unit_test(what_does_not_hold_is_said_and_tried_on),
        cmocka_unit_test(what_failed_is_said_while_the_rest_is_under_way),
        cmocka_unit_test(what_cannot_be_taken_back_is_said_once_and_tried_on),
        cmocka_unit_test(a_scheduler_that_forgot_is_told_again),
        cmocka_unit_test(while_it_is_away_nothing_is_claimed_and_nothing_denied),
        cmocka_unit_test(a_cluster_takes_its_configuration_along),
        cmocka_unit_test(killed_at_every_point),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
