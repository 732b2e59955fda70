/*
 * Killed at every point, while a cluster comes up, is taken back, grows, shrinks or is updated: the process dies before the
 * k-th turn of the loop, or at the k-th call to a backend, before or after its effect. In the end it must be as if nothing
 * had happened, and no machine may be left over.
 */
#include "db/cluster.h"
#include "server/service/cluster/cluster.h"
#include "tests/sim/sim_cluster.h"

enum death { DEATH_TURN, DEATH_BEFORE_CALL, DEATH_AFTER_CALL, DEATH_COUNT };

struct story {
    const char *name;
    uint64_t stride;                /* every so many turns, where there are many alike */
    void (*begin)(struct sim *sim); /* nobody dies here; NULL: an empty world */
    void (*tell)(struct sim *sim);  /* dies once */
    void (*check)(struct sim *sim);
};

static void expect(struct sim *sim, const char *name, enum group_state state, int nodes, int ready, int machines)
{
    struct instance_group group;
    bool there = sim_group(sim, name, &group);
    int rows = sim_group_count(sim, name, -1), up = sim_group_count(sim, name, NODE_STATE_READY);
    if (!there || group.state != state || rows != nodes || up != ready || sim_machines(sim) != machines)
        sim_fail(sim, NULL, "%s is %s with %d nodes, %d ready, %d machines", name,
                 there ? group_state_text(group.state) : "gone", rows, up, sim_machines(sim));
}

static void curse(struct sim *sim, const char *node)
{
    snprintf(sim->provider.cursed, sizeof(sim->provider.cursed), "%s", node);
}

/* --- a node cannot be made for a while --------------------------------------------------------- */
static void continuous_tell(struct sim *sim)
{
    struct service_group_spec gpu = sim_spec("gpu", 2, 0);
    curse(sim, "gpu-2");
    sim_ask_cluster(sim, PROVISIONING_CONTINUOUS, &gpu, 1);
    sim_run(sim, MS_PER_MIN);
    curse(sim, "");
    sim_run(sim, 4 * MS_PER_MIN);
}

static void continuous_check(struct sim *sim)
{
    expect(sim, "gpu", GROUP_STATE_IN_SERVICE, 2, 2, 2);
    assert_int_equal(sim_events(sim, "gpu-2", EVENT_KIND_OPERATION_FAILED, NULL), 1);
    assert_int_equal(sim_events(sim, NULL, EVENT_KIND_CLUSTER_UPDATED, "in service"), 1);
}

/* --- a creation is taken back ------------------------------------------------------------------ */
static void creation_tell(struct sim *sim)
{
    struct service_group_spec gpu = sim_spec("gpu", 2, 0);
    curse(sim, "gpu-2");
    sim_ask_cluster(sim, PROVISIONING_ALL_OR_NOTHING, &gpu, 1);
    sim_run(sim, 3 * MS_PER_MIN);
}

static void creation_check(struct sim *sim)
{
    struct cluster cluster;
    expect(sim, "gpu", GROUP_STATE_FAILED, 0, 0, 0);
    assert_true(sim_has_cluster(sim, &cluster));
    assert_int_equal(cluster.state, CLUSTER_STATE_FAILED);
}

/* --- an update is taken back ------------------------------------------------------------------- */
static void whole_begin(struct sim *sim)
{
    struct service_group_spec gpu = sim_spec("gpu", 2, 0);
    sim_ask_cluster(sim, PROVISIONING_ALL_OR_NOTHING, &gpu, 1);
    sim_until_cluster(sim, CLUSTER_STATE_IN_SERVICE, MS_PER_HOUR);
    sim_run(sim, MS_PER_MIN);
}

static void update_tell(struct sim *sim)
{
    curse(sim, "gpu-4");
    assert_int_equal(sim_scale(sim, "gpu", 4, 0), 0);
    sim_run(sim, 3 * MS_PER_MIN);
}

static void update_check(struct sim *sim)
{
    struct cluster cluster;
    expect(sim, "gpu", GROUP_STATE_IN_SERVICE, 2, 2, 2);
    assert_true(sim_has_cluster(sim, &cluster));
    assert_int_equal(cluster.state, CLUSTER_STATE_IN_SERVICE);
    assert_int_equal(sim_events(sim, NULL, EVENT_KIND_CLUSTER_UPDATED, "taken back"), 1);
}

/* --- a minimum does not come ------------------------------------------------------------------- */
static void small_begin(struct sim *sim)
{
    sim_create(sim, 1, NODE_RECOVERY_AUTOMATIC);
    sim_schedule(sim, "gpu", 8);
    sim_run(sim, MS_PER_MIN);
}

static void minimum_tell(struct sim *sim)
{
    curse(sim, "gpu-2");
    assert_int_equal(sim_scale(sim, "gpu", 2, 2), 0);
    sim_run(sim, 5 * MS_PER_MIN);
}

static void minimum_check(struct sim *sim)
{
    expect(sim, "gpu", GROUP_STATE_IN_SERVICE, 1, 1, 1);
    assert_int_equal(sim_events(sim, NULL, EVENT_KIND_GROUP_SCALING, "not reached in time"), 1);
}

/* --- it shrinks, and a group goes -------------------------------------------------------------- */
static void two_groups_begin(struct sim *sim)
{
    struct service_group_spec groups[] = {sim_spec("cpu", 1, 0), sim_spec("gpu", 3, 0)};
    sim_ask_cluster(sim, PROVISIONING_CONTINUOUS, groups, 2);
    sim_until_cluster(sim, CLUSTER_STATE_IN_SERVICE, MS_PER_HOUR);
    sim_run(sim, MS_PER_MIN);
    fake_scheduler_find(&sim->scheduler, "gpu-3")->jobs = 1;
    sim_run(sim, MS_PER_MIN);
}

static void shrink_tell(struct sim *sim)
{
    struct service_group_spec gpu = sim_spec("gpu", 1, 0);
    assert_int_equal(sim_change(sim, &gpu, 1, "cpu"), 0);
    sim_run(sim, 2 * MS_PER_MIN);
}

static void shrink_check(struct sim *sim)
{
    struct instance_group cpu;
    expect(sim, "gpu", GROUP_STATE_IN_SERVICE, 1, 1, 1);
    assert_true(sim_has_node(sim, "gpu-3"));
    assert_int_equal(fake_scheduler_find(&sim->scheduler, "gpu-3")->jobs, 1);
    assert_false(sim_group(sim, "cpu", &cpu));
}

/* --- software updates -------------------------------------------------------------------------- */
static void release_begin(struct sim *sim)
{
    struct service_group_spec gpu = sim_spec("gpu", 2, 0);
    snprintf(gpu.release, sizeof(gpu.release), "v1");
    sim_ask_cluster(sim, PROVISIONING_CONTINUOUS, &gpu, 1);
    sim_until_cluster(sim, CLUSTER_STATE_IN_SERVICE, MS_PER_HOUR);
    sim_run(sim, MS_PER_MIN);
}

static void roll(struct sim *sim)
{
    const struct rollout how = {.release = "v2", .batch_value = 1, .rollback_batch_value = 1, .wait_ms = 20 * MS_PER_S};
    struct cluster cluster;
    struct problem problem;
    assert_int_equal(
        service_cluster_update_software(&sim->service, &sim_admin, SIM_CLUSTER, &how, NULL, 0, &cluster, &problem), 0);
}

static void rollout_tell(struct sim *sim)
{
    roll(sim);
    sim_run(sim, 5 * MS_PER_MIN);
}

static void check_release(struct sim *sim, const char *release, enum rollout_state state)
{
    struct rollout rollout;
    struct instance_group group;
    struct db_tx *tx = NULL;
    expect(sim, "gpu", GROUP_STATE_IN_SERVICE, 2, 2, 2);
    for (int i = 0; i < sim->provider.count; i++)
        if (!sim->provider.instances[i].gone)
            assert_string_equal(sim->provider.instances[i].release, release);
    assert_true(sim_group(sim, "gpu", &group));
    assert_int_equal(db_read_begin(sim->service.db, &tx), 0);
    assert_int_equal(db_rollout_get(tx, group.id, &rollout), 0);
    db_read_end(sim->service.db, tx);
    if (rollout.state != state)
        sim_fail(sim, NULL, "the rollout %s", rollout_state_text(rollout.state));
}

static void rollout_check(struct sim *sim)
{
    check_release(sim, "v2", ROLLOUT_STATE_SUCCEEDED);
    assert_int_equal(sim->provider.launches, 4);
}

static void rollback_tell(struct sim *sim)
{
    snprintf(sim->provider.broken_release, sizeof(sim->provider.broken_release), "v2");
    roll(sim);
    sim_run(sim, 24 * MS_PER_MIN); /* whoever was killed gives a step the time of one call again */
}

static void rollback_check(struct sim *sim)
{
    check_release(sim, "v1", ROLLOUT_STATE_ROLLED_BACK);
    assert_int_equal(sim->provider.launches, 4);
}

/* --- all of them ------------------------------------------------------------------------------- */

static const struct story stories[] = {
    {"continuous", 5, NULL, continuous_tell, continuous_check},
    {"creation", 3, NULL, creation_tell, creation_check},
    {"update", 3, whole_begin, update_tell, update_check},
    {"minimum", 24, small_begin, minimum_tell, minimum_check},
    {"shrink", 2, two_groups_begin, shrink_tell, shrink_check},
    {"rollout", 7, release_begin, rollout_tell, rollout_check},
    {"rollback", 7, release_begin, rollback_tell, rollback_check},
};

#define POINTS_MAX 400 /* of one story and one kind of death; a story that goes on and on has been seen by then */

/* False when the story ended before its k-th point. */
static bool tell_with_death(const struct sim *start, const struct story *story, enum death death, uint64_t k)
{
    struct sim sim;
    sim_fork(start, &sim);
    if (death == DEATH_TURN)
        sim.die_before_turn = sim.turns + k;
    else if (death == DEATH_BEFORE_CALL)
        sim.outcome.die_before = sim.outcome.calls + (int64_t)k;
    else
        sim.outcome.die_after = sim.outcome.calls + (int64_t)k;
    story->tell(&sim);
    bool died = sim.crashes > 0;
    sim.outcome.die_before = sim.outcome.die_after = 0;
    sim.die_before_turn = 0;
    sim_run(&sim, MS_PER_MIN);
    story->check(&sim);
    sim_close(&sim);
    return died;
}

static void at_every_point(const struct story *story)
{
    static struct sim start;
    sim_open(&start, 7, true);
    start.settings.join_deadline_ms = start.settings.provision.min_count_deadline_ms = 3 * MS_PER_MIN;
    start.settings.provision.launch_pause_min_ms = 20 * MS_PER_S;
    start.settings.provision.launch_pause_max_ms = MS_PER_MIN;
    start.beat_ms = 10 * MS_PER_S;
    sim_crash(&start);
    start.crashes = 0;
    if (story->begin != NULL)
        story->begin(&start);
    sim_kill(&start);
    for (enum death death = DEATH_TURN; death < DEATH_COUNT; death++) {
        uint64_t k = 1, points = 0;
        while (points < POINTS_MAX && tell_with_death(&start, story, death, k)) {
            k += death == DEATH_TURN ? story->stride : story->stride > 2 ? story->stride / 2 : 1;
            points++;
        }
        assert_true(points > 5);
    }
    free(start.spool);
    assert_int_equal(file_remove_tree(start.dir), 0);
}

static void run_story(void **state)
{
    at_every_point(*state);
}

int main(void)
{
    struct CMUnitTest tests[ARRAY_LEN(stories)];
    for (size_t i = 0; i < ARRAY_LEN(stories); i++)
        tests[i] = (struct CMUnitTest){stories[i].name, run_story, NULL, NULL, (void *)(uintptr_t)&stories[i]};
    return _cmocka_run_group_tests("killed at every point", tests, ARRAY_LEN(stories), NULL, NULL);
}
