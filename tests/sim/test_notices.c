/* What a provider says of its machines: drained, and replaced or rebooted before its date, by the policy. */
#include "tests/sim/sim_world.h"

#define LEAD_MS MS_PER_HOUR

static struct provider_notice *say(struct sim *sim, const char *node, enum provider_notice_kind kind, int64_t due_at)
{
    struct provider_notice *notice = &sim->provider.notices[sim->provider.notice_count++];
    *notice = (struct provider_notice){.kind = kind, .due_at = due_at};
    snprintf(notice->id, sizeof(notice->id), "event-%d", sim->provider.notice_count);
    snprintf(notice->instance_id, sizeof(notice->instance_id), "%s", fake_provider_of_node(&sim->provider, node)->id);
    snprintf(notice->words, sizeof(notice->words), "planned work");
    return notice;
}

static void open_with(struct sim *sim, uint64_t seed, int nodes, enum node_recovery recovery)
{
    sim_open(sim, seed, true);
    sim->provider.says = true;
    sim_crash(sim); /* the next hpd has a provider that says what it plans */
    sim_create(sim, nodes, recovery);
}

static void open_saying(struct sim *sim, uint64_t seed, int nodes)
{
    open_with(sim, seed, nodes, NODE_RECOVERY_AUTOMATIC);
}

static void a_machine_that_goes_on_a_date_is_replaced_before(void **state)
{
    struct sim sim;
    (void)state;
    open_saying(&sim, 321, 3);
    struct fake_scheduler_node *there = fake_scheduler_find(&sim.scheduler, "gpu-1");
    const struct fake_instance *old = fake_provider_of_node(&sim.provider, "gpu-1");
    int64_t due_at = clock_wall_ms(sim.provider.clock) + 30 * MS_PER_HOUR;
    there->jobs = 1;
    say(&sim, "gpu-1", PROVIDER_NOTICE_RETIREMENT, due_at);
    sim_run(&sim, 5 * MS_PER_HOUR); /* longer than drainDeadline */
    assert_true(there->out);
    assert_int_equal(there->evictions, 0);
    assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_VERDICT, "provider.retirement gpu-1: fake: planned work at"),
                     1);
    sim_run(&sim, due_at - LEAD_MS - clock_wall_ms(sim.provider.clock) - 10 * MS_PER_MIN);
    assert_int_equal(there->evictions, 0);
    assert_false(old->gone);
    sim_run(&sim, 20 * MS_PER_MIN);
    assert_int_equal(there->evictions, 1);
    sim_until(&sim, "gpu-1", NODE_STATE_READY, 30 * MS_PER_MIN);
    assert_true(old->gone);
    assert_true(clock_wall_ms(sim.provider.clock) < due_at);
    sim.provider.notice_count = 0;
    sim_run(&sim, MS_PER_HOUR);
    assert_int_equal(sim.provider.launches, 4);
    assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_VERDICT, NULL),
                     1); /* of a machine that is gone nothing is withdrawn */
    sim_close(&sim);
}

static void one_that_is_idle_is_replaced_at_once(void **state)
{
    struct sim sim;
    (void)state;
    open_saying(&sim, 322, 3);
    say(&sim, "gpu-2", PROVIDER_NOTICE_MAINTENANCE, clock_wall_ms(sim.provider.clock) + 9 * MS_PER_DAY);
    say(&sim, "gpu-3", PROVIDER_NOTICE_DEGRADED, 0);
    sim_run(&sim, MS_PER_HOUR);
    assert_int_equal(sim.provider.launches, 5);
    assert_int_equal(sim.provider.reboots, 0);
    sim_until(&sim, "gpu-2", NODE_STATE_READY, MS_PER_MIN);
    sim_until(&sim, "gpu-3", NODE_STATE_READY, MS_PER_MIN);
    sim_close(&sim);
}

/* Its words stay after the boot, as a provider may see it late. */
static void a_planned_reboot_is_done_once_and_before(void **state)
{
    struct sim sim;
    (void)state;
    open_saying(&sim, 323, 3);
    say(&sim, "gpu-1", PROVIDER_NOTICE_REBOOT, clock_wall_ms(sim.provider.clock) + 2 * MS_PER_DAY);
    sim_run(&sim, 6 * MS_PER_HOUR);
    sim_crash(&sim);
    sim_run(&sim, 6 * MS_PER_HOUR);
    assert_int_equal(sim.provider.reboots, 1);
    assert_int_equal(sim.provider.launches, 3);
    sim_until(&sim, "gpu-1", NODE_STATE_READY, MS_PER_MIN);
    sim_close(&sim);
}

static int take_date(const void *row, void *arg)
{
    *(int64_t *)arg = ((const struct verdict *)row)->due_at;
    return 0;
}

/* The date that stands beside the newest verdict of gpu-1, as all who list it see it. */
static int64_t date_of(struct sim *sim)
{
    struct db_tx *tx = NULL;
    int64_t due_at = -1;
    const struct db_verdict_filter newest = {.node_id = sim_read(sim, "gpu-1").row.id, .state = -1, .limit = 1};
    assert_int_equal(db_read_begin(sim->service.db, &tx), 0);
    assert_int_equal(db_verdict_list(tx, &newest, take_date, &due_at), 0);
    db_read_end(sim->service.db, tx);
    return due_at;
}

static void what_is_withdrawn_is_over(void **state)
{
    struct sim sim;
    (void)state;
    open_saying(&sim, 324, 3);
    struct fake_scheduler_node *there = fake_scheduler_find(&sim.scheduler, "gpu-1");
    there->jobs = 1;
    struct provider_notice *notice =
        say(&sim, "gpu-1", PROVIDER_NOTICE_RETIREMENT, clock_wall_ms(sim.provider.clock) + 9 * MS_PER_DAY);
    sim_run(&sim, MS_PER_HOUR);
    assert_true(there->out);
    sim_crash(&sim);
    notice->due_at += 5 * MS_PER_DAY;
    sim_run(&sim, MS_PER_HOUR);
    assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_VERDICT, "has another date"), 1);
    assert_int_equal(date_of(&sim), notice->due_at);
    sim.provider.notice_count = 0;
    sim_until(&sim, "gpu-1", NODE_STATE_READY, 10 * MS_PER_MIN);
    assert_false(there->out);
    assert_int_equal(there->evictions, 0);
    assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_VERDICT, "is over: fake announces it no longer"), 1);
    assert_int_equal(date_of(&sim), 0);
    /* the same again, under its id and its date, is new: nobody stopped anything */
    sim.provider.notice_count = 1;
    assert_string_equal(notice->id, "event-1");
    sim_run(&sim, 30 * MS_PER_MIN);
    assert_true(there->out);
    assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_VERDICT, "provider.retirement gpu-1: fake: planned work at"),
                     2);
    there->jobs = 0;
    sim_run(&sim, 30 * MS_PER_MIN);
    assert_int_equal(sim.provider.launches, 4);
    sim_close(&sim);
}

/* EC2 has no notice of an instance that it has taken: the machine is gone, and nobody withdrew anything. */
static void gone_at_its_date_while_draining(void **state)
{
    struct sim sim;
    (void)state;
    open_saying(&sim, 330, 3);
    struct fake_scheduler_node *there = fake_scheduler_find(&sim.scheduler, "gpu-1");
    struct fake_instance *old = fake_provider_of_node(&sim.provider, "gpu-1");
    there->jobs = 1;
    there->jobs_are_stuck = there->jobs_outlast_silence = true;
    int64_t due_at = clock_wall_ms(sim.provider.clock) + 2 * MS_PER_MIN;
    say(&sim, "gpu-1", PROVIDER_NOTICE_RETIREMENT, due_at);
    sim_until(&sim, "gpu-1", NODE_STATE_REPAIRING, 2 * MS_PER_MIN);
    sim_run(&sim, due_at - clock_wall_ms(sim.provider.clock));
    old->muted = true;
    sim.provider.notice_count = 0;
    for (int i = 0; i < 5 * 60 && !old->gone; i++) {
        sim_run(&sim, MS_PER_S);
        assert_true(old->gone || there->out);
    }
    assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_OPERATION_CANCELLED, NULL), 0);
    assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_VERDICT, "is over"), 0);
    there->jobs = 0;
    sim_until(&sim, "gpu-1", NODE_STATE_READY, MS_PER_HOUR);
    assert_true(old->gone);
    assert_int_equal(sim.provider.launches, 4);
    sim_run(&sim, MS_PER_HOUR);
    assert_int_equal(sim.provider.launches, 4);
    assert_int_equal(sim_state(&sim, "gpu-1"), NODE_STATE_READY);
    sim_close(&sim);
}

/* One that EC2 stopped and somebody started again is another boot: nothing is against that. */
static void a_boot_after_its_date_ends_it(void **state)
{
    struct sim sim;
    (void)state;
    open_with(&sim, 331, 3, NODE_RECOVERY_NONE);
    struct provider_notice *notice =
        say(&sim, "gpu-1", PROVIDER_NOTICE_RETIREMENT, clock_wall_ms(sim.provider.clock) + 10 * MS_PER_MIN);
    int64_t due_at = notice->due_at;
    sim_until(&sim, "gpu-1", NODE_STATE_HELD, 5 * MS_PER_MIN);
    sim_run(&sim, due_at - clock_wall_ms(sim.provider.clock));
    sim.provider.notice_count = 0;
    sim_run(&sim, 10 * MS_PER_MIN);
    assert_int_equal(sim_state(&sim, "gpu-1"), NODE_STATE_HELD);
    assert_int_equal(date_of(&sim), due_at);
    fake_instance_boot(&sim.provider, fake_provider_of_node(&sim.provider, "gpu-1"));
    sim_run(&sim, 10 * MS_PER_MIN);
    assert_int_equal(date_of(&sim), 0);
    assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_VERDICT, "is over"), 0);
    sim_close(&sim);
}

/* EC2 has one id for it, however often the host is impaired; and so it is after one answer that says that all is fine. */
static void a_host_that_is_impaired_again_is_replaced(void **state)
{
    struct sim sim;
    (void)state;
    open_saying(&sim, 327, 3);
    struct fake_scheduler_node *there = fake_scheduler_find(&sim.scheduler, "gpu-1");
    there->jobs = 1;
    struct provider_notice *notice = say(&sim, "gpu-1", PROVIDER_NOTICE_DEGRADED, 0);
    snprintf(notice->id, sizeof(notice->id), "system-status");
    for (int i = 1; i <= 3; i++) {
        sim.provider.notice_count = 1;
        sim_run(&sim, 10 * MS_PER_MIN);
        assert_true(there->out);
        assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_VERDICT, "provider.degraded gpu-1: fake: planned work"),
                         i);
        sim.provider.notice_count = 0;
        sim_until(&sim, "gpu-1", NODE_STATE_READY, 10 * MS_PER_MIN);
        assert_false(there->out);
    }
    assert_int_equal(there->evictions, 0);
    assert_int_equal(sim.provider.launches, 3);
    sim.provider.notice_count = 1;
    there->jobs = 0;
    sim_run(&sim, MS_PER_HOUR);
    assert_int_equal(sim.provider.launches, 4);
    sim_until(&sim, "gpu-1", NODE_STATE_READY, MS_PER_MIN);
    sim_close(&sim);
}

/* A person's word stands for as long as the provider says the same; what it says again after it was over is new. */
static void what_a_person_gave_back_counts_when_it_comes_again(void **state)
{
    struct sim sim;
    (void)state;
    open_with(&sim, 328, 3, NODE_RECOVERY_NONE);
    struct fake_scheduler_node *there = fake_scheduler_find(&sim.scheduler, "gpu-1");
    say(&sim, "gpu-1", PROVIDER_NOTICE_DEGRADED, 0);
    sim_until(&sim, "gpu-1", NODE_STATE_HELD, 10 * MS_PER_MIN);
    fake_scheduler_resume_by_hand(&sim.scheduler, "gpu-1");
    sim_until(&sim, "gpu-1", NODE_STATE_READY, 10 * MS_PER_MIN);
    sim_run(&sim, MS_PER_HOUR);
    assert_false(there->out);
    sim.provider.notice_count = 0;
    sim_run(&sim, 10 * MS_PER_MIN);
    assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_VERDICT, "is over"), 0);
    sim.provider.notice_count = 1;
    sim_until(&sim, "gpu-1", NODE_STATE_HELD, 10 * MS_PER_MIN);
    sim_close(&sim);
}

static void a_date_that_comes_nearer_counts(void **state)
{
    struct sim sim;
    (void)state;
    open_saying(&sim, 326, 3);
    struct fake_scheduler_node *there = fake_scheduler_find(&sim.scheduler, "gpu-1");
    there->jobs = 1;
    struct provider_notice *notice =
        say(&sim, "gpu-1", PROVIDER_NOTICE_RETIREMENT, clock_wall_ms(sim.provider.clock) + 9 * MS_PER_DAY);
    sim_run(&sim, MS_PER_HOUR);
    assert_int_equal(there->evictions, 0);
    notice->due_at = clock_wall_ms(sim.provider.clock) + 2 * MS_PER_HOUR;
    sim_run(&sim, 50 * MS_PER_MIN);
    assert_true(there->out);
    assert_int_equal(there->evictions, 0);
    sim_run(&sim, 50 * MS_PER_MIN);
    assert_int_equal(there->evictions, 1);
    assert_int_equal(sim.provider.launches, 4);
    sim_close(&sim);
}

/* Jobs were given the time until the date of a machine that was sound. It is not any more. */
static void a_machine_that_is_impaired_before_its_date_is_drained_sooner(void **state)
{
    struct sim sim;
    (void)state;
    open_saying(&sim, 329, 3);
    struct fake_scheduler_node *there = fake_scheduler_find(&sim.scheduler, "gpu-1");
    there->jobs = 1;
    say(&sim, "gpu-1", PROVIDER_NOTICE_RETIREMENT, clock_wall_ms(sim.provider.clock) + 14 * MS_PER_DAY);
    sim_run(&sim, MS_PER_HOUR);
    say(&sim, "gpu-1", PROVIDER_NOTICE_MAINTENANCE, clock_wall_ms(sim.provider.clock) + 20 * MS_PER_DAY);
    sim_run(&sim, MS_PER_HOUR);
    assert_true(there->out);
    assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_OPERATION_CANCELLED, NULL), 0);
    say(&sim, "gpu-1", PROVIDER_NOTICE_DEGRADED, 0);
    for (int i = 0; i < 30 * 60;
         i++) { /* the repair is weighed anew, and the node is never back in service meanwhile */
        sim_run(&sim, MS_PER_S);
        assert_true(there->out);
    }
    assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_OPERATION_CANCELLED, NULL), 1);
    sim_run(&sim, 150 * MS_PER_MIN);
    assert_true(there->out);
    assert_int_equal(there->evictions, 0);
    sim_run(&sim, 90 * MS_PER_MIN);
    assert_int_equal(there->evictions, 1);
    assert_int_equal(sim.provider.launches, 4);
    sim_until(&sim, "gpu-1", NODE_STATE_READY, 10 * MS_PER_MIN);
    sim_close(&sim);
}

/* Planned work on most of a group says nothing about its nodes: the budget paces it, and a fault is repaired beside it. */
static void planned_work_opens_no_breaker(void **state)
{
    struct sim sim;
    (void)state;
    open_saying(&sim, 325, 8);
    for (int i = 1; i <= 7; i++) {
        char node[NODE_NAME_MAX_BYTES];
        snprintf(node, sizeof(node), "gpu-%d", i);
        say(&sim, node, PROVIDER_NOTICE_MAINTENANCE, clock_wall_ms(sim.provider.clock) + 9 * MS_PER_DAY);
    }
    sim_run(&sim, 6 * MS_PER_HOUR);
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_BREAKER_OPENED, NULL), 0);
    assert_int_equal(sim.provider.launches, 8 + 7);
    sim_close(&sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_machine_that_goes_on_a_date_is_replaced_before),
        cmocka_unit_test(one_that_is_idle_is_replaced_at_once),
        cmocka_unit_test(a_planned_reboot_is_done_once_and_before),
        cmocka_unit_test(what_is_withdrawn_is_over),
        cmocka_unit_test(gone_at_its_date_while_draining),
        cmocka_unit_test(a_boot_after_its_date_ends_it),
        cmocka_unit_test(a_host_that_is_impaired_again_is_replaced),
        cmocka_unit_test(what_a_person_gave_back_counts_when_it_comes_again),
        cmocka_unit_test(a_date_that_comes_nearer_counts),
        cmocka_unit_test(a_machine_that_is_impaired_before_its_date_is_drained_sooner),
        cmocka_unit_test(planned_work_opens_no_breaker),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
