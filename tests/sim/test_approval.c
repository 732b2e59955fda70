/* Stories of the modes: what is observed, and repairs that wait for a person's word, with crashes on both sides of it. */
#include "server/service/cluster/pause.h"
#include "server/service/node/approval.h"
#include "server/service/node/node.h"
#include "tests/sim/sim_world.h"

#define OFF_THE_BUS 79
#define UNCONTAINED 95 /* the table asks for a reset of the device, which not every agent offers */

static void begin_with(struct sim *sim, uint64_t seed, enum repair_mode mode, int xid)
{
    sim_open(sim, seed, true);
    sim->settings.policy.modes[FAULT_CLASS_GPU] = sim->settings.policy.modes[FAULT_CLASS_GPU_MEMORY] = mode;
    sim_crash(sim); /* it comes up with these */
    sim_create(sim, 4, NODE_RECOVERY_AUTOMATIC);
    sim_verdict(sim, "gpu-1", xid, SEVERITY_CRITICAL);
    sim_settle(sim);
}

static void begin(struct sim *sim, uint64_t seed, enum repair_mode mode)
{
    begin_with(sim, seed, mode, OFF_THE_BUS);
}

static int take(const void *row, void *arg)
{
    *(struct approval *)arg = *(const struct approval *)row;
    return 1;
}

/* The newest question; id 0: none. */
static struct approval newest(struct sim *sim)
{
    struct approval approval = {0};
    struct problem problem;
    assert_true(service_approval_list(&sim->service, -1, 0, 1, take, &approval, &problem) >= 0);
    return approval;
}

static int answer(struct sim *sim, bool yes)
{
    struct approval asked = newest(sim), answered;
    struct problem problem;
    return service_approval_answer(&sim->service, &sim_admin, asked.uid, yes, yes ? "" : "not now", &answered,
                                   &problem);
}

static void what_is_observed_is_not_done(void **state)
{
    static const enum repair_mode modes[] = {REPAIR_MODE_OBSERVE, REPAIR_MODE_RECOMMEND};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
        struct sim sim;
        begin(&sim, 71, modes[i]);
        sim_run(&sim, MS_PER_DAY);
        assert_int_equal(sim_state(&sim, "gpu-1"), NODE_STATE_READY);
        assert_int_equal(sim_read(&sim, "gpu-1").row.health, HEALTH_UNHEALTHY);
        assert_false(fake_scheduler_find(&sim.scheduler, "gpu-1")->out);
        assert_int_equal(sim.provider.reboots + sim.provider.terminations, 0);
        assert_int_equal(newest(&sim).id, 0);
        const char *reason = modes[i] == REPAIR_MODE_RECOMMEND ? "recommended: reboot, for xid.79" : "";
        assert_true(text_starts_with(sim_read(&sim, "gpu-1").row.reason, reason));
        assert_int_equal(sim_read(&sim, "gpu-1").row.reason[0] != '\0', modes[i] == REPAIR_MODE_RECOMMEND);
        sim_close(&sim);
    }
}

/* A crash before the approval, between it and the repair, or none. */
static void a_yes_repairs_once(void **state)
{
    (void)state;
    for (int crash = 0; crash < 3; crash++) {
        struct sim sim;
        begin(&sim, 72, REPAIR_MODE_APPROVE);
        sim_run(&sim, MS_PER_HOUR);
        assert_int_equal(sim_state(&sim, "gpu-1"), NODE_STATE_HELD);
        assert_true(fake_scheduler_find(&sim.scheduler, "gpu-1")->out);
        assert_int_equal(sim.provider.reboots, 0);
        if (crash == 1)
            sim_crash(&sim);
        struct approval asked = newest(&sim);
        assert_int_equal(asked.state, APPROVAL_STATE_ASKED);
        assert_string_equal(asked.code, "xid.79");
        assert_string_equal(asked.device, "0000:b9:00"); /* the approval is for this one */
        assert_int_equal(answer(&sim, true), 0);
        if (crash == 2)
            sim_crash(&sim);
        sim_until(&sim, "gpu-1", NODE_STATE_READY, 10 * MS_PER_MIN);
        assert_int_equal(sim.provider.reboots, 1);
        assert_string_equal(sim_read(&sim, "gpu-1").operation.uid, asked.uid);
        assert_int_equal(newest(&sim).state, APPROVAL_STATE_DONE);
        sim_run(&sim, MS_PER_DAY);
        assert_int_equal(sim.provider.reboots, 1);
        sim_close(&sim);
    }
}

static void nobody_answers_and_it_is_asked_again_on_news(void **state)
{
    struct sim sim;
    (void)state;
    begin(&sim, 73, REPAIR_MODE_APPROVE);
    int64_t first = newest(&sim).id;
    sim_run(&sim, 2 * MS_PER_DAY);
    assert_int_equal(newest(&sim).state, APPROVAL_STATE_EXPIRED);
    assert_int_equal(answer(&sim, true), STATUS_CONFLICT);
    assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_DECISION, "approval-expired"), 1);
    sim_crash(&sim);
    sim_run(&sim, 2 * MS_PER_DAY);
    assert_int_equal(newest(&sim).id, first);
    assert_int_equal(sim.provider.reboots, 0);
    sim_verdict(&sim, "gpu-1", 119, SEVERITY_CRITICAL);
    sim_settle(&sim);
    sim_run(&sim, MS_PER_MIN);
    assert_true(newest(&sim).id != first);
    assert_int_equal(newest(&sim).state, APPROVAL_STATE_ASKED);
    assert_int_equal(answer(&sim, true), 0);
    sim_until(&sim, "gpu-1", NODE_STATE_READY, 10 * MS_PER_MIN);
    sim_close(&sim);
}

/* An approval that the hours of the week held until it had run out: told, and said again it is no approval. */
static void a_yes_that_runs_out_says_so(void **state)
{
    struct sim sim;
    (void)state;
    begin(&sim, 79, REPAIR_MODE_APPROVE);
    sim.settings.policy.spacing_ms = 7 * MS_PER_DAY;
    sim_crash(&sim); /* it comes up with this */
    sim_verdict(&sim, "gpu-2", OFF_THE_BUS, SEVERITY_CRITICAL);
    sim_settle(&sim);
    assert_int_equal(answer(&sim, true), 0); /* gpu-2's, which begins at once */
    sim_until(&sim, "gpu-2", NODE_STATE_READY, 10 * MS_PER_MIN);
    sim_verdict(&sim, "gpu-3", OFF_THE_BUS, SEVERITY_CRITICAL);
    sim_settle(&sim);
    assert_int_equal(answer(&sim, true), 0);
    assert_int_equal(answer(&sim, true), 0); /* said again */
    sim_run(&sim, MS_PER_HOUR);
    assert_int_equal(newest(&sim).state, APPROVAL_STATE_APPROVED);
    sim_run(&sim, 2 * MS_PER_DAY);
    assert_int_equal(newest(&sim).state, APPROVAL_STATE_EXPIRED);
    assert_int_equal(answer(&sim, true), STATUS_CONFLICT);
    assert_int_equal(sim_events(&sim, "gpu-3", EVENT_KIND_APPROVAL, "expired before it could begin"), 1);
    assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_APPROVAL, "expired without an answer"), 1);
    assert_non_null(strstr(sim_read(&sim, "gpu-3").row.reason, "ran out"));
    assert_int_equal(sim.provider.reboots, 1);
    sim_close(&sim);
}

static const char *signature_of(struct sim *sim, const struct approval *asked, char url[APPROVAL_URL_MAX])
{
    service_approval_url(&sim->service, asked, url);
    return strrchr(url, '/') + 1;
}

/* A link is to one question until that runs out: not to the next one of the same fault, nor under another hpd's key. */
static void a_link_is_for_one_question(void **state)
{
    struct sim sim;
    struct problem problem;
    char url[APPROVAL_URL_MAX], later[APPROVAL_URL_MAX];
    struct approval seen;
    (void)state;
    begin(&sim, 80, REPAIR_MODE_APPROVE);
    struct approval first = newest(&sim);
    const char *signature = signature_of(&sim, &first, url);
    assert_int_equal(service_approval_by_link(&sim.service, first.uid, signature, &seen, &problem), 0);
    assert_int_equal(seen.state, APPROVAL_STATE_ASKED);
    sim_run(&sim, 2 * MS_PER_DAY);
    assert_int_equal(service_approval_by_link(&sim.service, first.uid, signature, &seen, &problem), 0);
    assert_int_equal(seen.state, APPROVAL_STATE_EXPIRED);
    assert_int_equal(
        service_approval_answer_by_link(&sim.service, &sim_admin, first.uid, signature, true, &seen, &problem),
        STATUS_CONFLICT);
    sim_verdict(&sim, "gpu-1", 119, SEVERITY_CRITICAL);
    sim_settle(&sim);
    sim_run(&sim, MS_PER_MIN);
    struct approval second = newest(&sim);
    assert_true(second.id != first.id);
    assert_int_equal(
        service_approval_answer_by_link(&sim.service, &sim_admin, second.uid, signature, true, &seen, &problem),
        STATUS_NOT_FOUND);
    signature = signature_of(&sim, &second, later);
    sim.service.seal_key.bytes[0] ^= 1;
    assert_int_equal(
        service_approval_answer_by_link(&sim.service, &sim_admin, second.uid, signature, true, &seen, &problem),
        STATUS_NOT_FOUND);
    sim.service.seal_key.bytes[0] ^= 1;
    assert_int_equal(newest(&sim).state, APPROVAL_STATE_ASKED);
    assert_int_equal(
        service_approval_answer_by_link(&sim.service, &sim_admin, second.uid, signature, true, &seen, &problem), 0);
    assert_int_equal(
        service_approval_answer_by_link(&sim.service, &sim_admin, second.uid, signature, true, &seen, &problem),
        STATUS_CONFLICT);
    sim_until(&sim, "gpu-1", NODE_STATE_READY, 10 * MS_PER_MIN);
    assert_int_equal(sim.provider.reboots, 1);
    service_approval_url(&sim.service, &first, later);
    first.state = APPROVAL_STATE_EXPIRED;
    service_approval_url(&sim.service, &first, later);
    assert_string_equal(later, "");
    sim_close(&sim);
}

static void a_no_stands_and_a_person_repairs_it(void **state)
{
    struct sim sim;
    struct operation op;
    struct problem problem;
    (void)state;
    begin(&sim, 74, REPAIR_MODE_APPROVE);
    assert_int_equal(answer(&sim, false), 0);
    assert_int_equal(answer(&sim, false), 0); /* said again */
    struct approval refused = newest(&sim), other;
    assert_int_equal(
        service_approval_answer(&sim.service, &sim_admin, refused.uid, false, "another reason", &other, &problem),
        STATUS_CONFLICT); /* which would be lost */
    assert_int_equal(answer(&sim, true), STATUS_CONFLICT);
    sim_run(&sim, MS_PER_DAY);
    struct reconcile_stats stats;
    reconcile_stats(sim.reconcile, &stats);
    assert_int_equal(stats.durations.refused, 1);
    assert_int_equal(stats.durations.begun[OPERATION_KIND_REBOOT], 0);
    assert_int_equal(sim_state(&sim, "gpu-1"), NODE_STATE_HELD);
    assert_int_equal(sim.provider.reboots, 0);
    assert_int_equal(service_node_operate(&sim.service, &sim_admin, SIM_CLUSTER, "gpu-1", OPERATION_KIND_REBOOT,
                                          URGENCY_NOW, "", "", &op, &problem),
                     0);
    sim_until(&sim, "gpu-1", NODE_STATE_READY, 10 * MS_PER_MIN);
    assert_int_equal(sim.provider.reboots, 1);
    sim_close(&sim);
}

/* Somebody repaired it without having been asked: nobody needs to answer any more. */
static void a_question_that_is_over_is_withdrawn(void **state)
{
    struct sim sim;
    struct operation op;
    struct problem problem;
    (void)state;
    begin(&sim, 75, REPAIR_MODE_APPROVE);
    assert_int_equal(newest(&sim).state, APPROVAL_STATE_ASKED);
    assert_int_equal(service_node_operate(&sim.service, &sim_admin, SIM_CLUSTER, "gpu-1", OPERATION_KIND_REBOOT,
                                          URGENCY_NOW, "", "", &op, &problem),
                     0);
    sim_until(&sim, "gpu-1", NODE_STATE_READY, 10 * MS_PER_MIN);
    sim_run(&sim, MS_PER_MIN);
    assert_int_equal(newest(&sim).state, APPROVAL_STATE_WITHDRAWN);
    assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_APPROVAL, "withdrawn"), 1);
    sim_close(&sim);
}

static int count_questions(const void *row, void *arg)
{
    (void)row;
    ++*(int *)arg;
    return 0;
}

static void pause_cluster(struct sim *sim, bool paused)
{
    struct cluster cluster;
    struct problem problem;
    int status = paused ? service_cluster_pause(&sim->service, &sim_admin, SIM_CLUSTER, "recabling", &cluster, &problem)
                        : service_cluster_resume(&sim->service, &sim_admin, SIM_CLUSTER, "", &cluster, &problem);
    assert_int_equal(status, 0);
    sim_run(sim, 5 * MS_PER_MIN);
}

/* After a restart nobody knows what the agents offer until they are heard: the question stays what it was. */
static void a_question_outlasts_a_restart(void **state)
{
    (void)state;
    for (int answered_first = 0; answered_first < 2; answered_first++) {
        struct sim sim;
        begin_with(&sim, 81, REPAIR_MODE_APPROVE, UNCONTAINED);
        struct approval asked = newest(&sim);
        assert_int_equal(asked.state, APPROVAL_STATE_ASKED);
        assert_int_equal(asked.action, ACTION_REBOOT);
        if (answered_first) {
            sim.scheduler.down = true; /* the approval waits */
            sim_run(&sim, MS_PER_HOUR);
        }
        sim_crash(&sim);
        sim_settle(&sim);
        assert_string_equal(newest(&sim).uid, asked.uid);
        assert_int_equal(newest(&sim).state, APPROVAL_STATE_ASKED);
        if (answered_first)
            assert_int_equal(answer(&sim, true), 0);
        sim_settle(&sim);
        sim.scheduler.down = false;
        sim_run(&sim, MS_PER_HOUR);
        assert_string_equal(newest(&sim).uid, asked.uid);
        if (!answered_first)
            assert_int_equal(answer(&sim, true), 0);
        sim_until(&sim, "gpu-1", NODE_STATE_READY, 10 * MS_PER_MIN);
        assert_int_equal(sim.provider.reboots, 1);
        assert_int_equal(newest(&sim).state, APPROVAL_STATE_DONE);
        sim_close(&sim);
    }
}

/* Another repair is another question; and what is needed again is asked again. */
static void a_question_that_was_withdrawn_is_asked_again(void **state)
{
    struct sim sim;
    (void)state;
    begin_with(&sim, 82, REPAIR_MODE_APPROVE, UNCONTAINED);
    struct approval first = newest(&sim);
    assert_int_equal(first.action, ACTION_REBOOT);
    sim.resets = SIM_RESETS_SUCCEED; /* its agent was updated */
    sim_crash(&sim);
    sim_run(&sim, MS_PER_HOUR);
    struct approval second = newest(&sim);
    assert_true(second.id != first.id);
    assert_int_equal(second.action, ACTION_RESET);
    assert_int_equal(second.state, APPROVAL_STATE_ASKED);
    sim.resets = SIM_RESETS_NOT_OFFERED;
    sim_crash(&sim);
    sim_run(&sim, MS_PER_HOUR);
    struct approval third = newest(&sim);
    assert_true(third.id != second.id);
    assert_int_equal(third.action, ACTION_REBOOT);
    assert_int_equal(answer(&sim, true), 0);
    sim_until(&sim, "gpu-1", NODE_STATE_READY, 10 * MS_PER_MIN);
    assert_int_equal(sim.provider.reboots, 1);
    sim_close(&sim);
}

/* A person began a repair and stopped it: what is seen after that is asked about. */
static void what_is_seen_after_a_cancel_is_asked_about(void **state)
{
    struct sim sim;
    struct operation op;
    struct problem problem;
    (void)state;
    begin(&sim, 83, REPAIR_MODE_APPROVE);
    struct approval first = newest(&sim);
    fake_scheduler_find(&sim.scheduler, "gpu-1")->jobs = 2;
    assert_int_equal(service_node_operate(&sim.service, &sim_admin, SIM_CLUSTER, "gpu-1", OPERATION_KIND_REBOOT,
                                          URGENCY_AFTER_JOBS, "", "", &op, &problem),
                     0);
    sim_settle(&sim);
    assert_int_equal(service_operation_cancel(&sim.service, &sim_admin, op.uid, &op, &problem), 0);
    sim_run(&sim, MS_PER_HOUR);
    sim_verdict(&sim, "gpu-1", OFF_THE_BUS, SEVERITY_CRITICAL);
    sim_run(&sim, MS_PER_HOUR);
    struct approval now = newest(&sim);
    assert_int_equal(now.state, APPROVAL_STATE_ASKED);
    assert_int_equal(now.action, ACTION_REBOOT);
    assert_true(now.id >= first.id);
    sim_close(&sim);
}

/* Nobody is called twice for one question; an approval that comes meanwhile waits for the end of the pause. */
static void a_question_outlasts_a_pause(void **state)
{
    struct sim sim;
    struct problem problem;
    int questions = 0;
    (void)state;
    begin(&sim, 79, REPAIR_MODE_APPROVE);
    struct approval asked = newest(&sim);
    pause_cluster(&sim, true);
    assert_int_equal(newest(&sim).state, APPROVAL_STATE_ASKED);
    sim_crash(&sim);
    pause_cluster(&sim, false);
    assert_string_equal(newest(&sim).uid, asked.uid);
    assert_int_equal(newest(&sim).state, APPROVAL_STATE_ASKED);
    pause_cluster(&sim, true);
    assert_int_equal(answer(&sim, true), 0);
    sim_run(&sim, 5 * MS_PER_MIN);
    assert_int_equal(sim.provider.reboots, 0);
    pause_cluster(&sim, false);
    sim_until(&sim, "gpu-1", NODE_STATE_READY, 10 * MS_PER_MIN);
    assert_int_equal(sim.provider.reboots, 1);
    assert_true(service_approval_list(&sim.service, -1, 0, 10, count_questions, &questions, &problem) >= 0);
    assert_int_equal(questions, 1);
    assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_APPROVAL, "waits for approval"), 1);
    assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_APPROVAL, "withdrawn"), 0);
    sim_close(&sim);
}

/* Nothing speaks for a repair while a witness is missing; the question, and the approval to it, outlast that. */
enum witness { WITNESS_AGENTS, WITNESS_SCHEDULER };

static void begin_unheard(struct sim *sim, uint64_t seed)
{
    sim_open(sim, seed, true);
    sim->settings.policy.modes[FAULT_CLASS_UNREACHABLE] = REPAIR_MODE_APPROVE;
    sim_crash(sim); /* it comes up with these */
    sim_create(sim, 4, NODE_RECOVERY_AUTOMATIC);
    fake_provider_of_node(&sim->provider, "gpu-1")->muted = true;
    sim_run(sim, 20 * MS_PER_MIN);
    assert_string_equal(newest(sim).code, "unreachable");
    assert_int_equal(newest(sim).state, APPROVAL_STATE_ASKED);
}

static void lose(struct sim *sim, enum witness witness)
{
    if (witness == WITNESS_AGENTS)
        sim_crash(sim);
    sim->scheduler.down = witness == WITNESS_SCHEDULER;
    sim_run(sim, MS_PER_HOUR);
    sim->scheduler.down = false;
    sim_run(sim, MS_PER_MIN);
}

static void a_question_about_a_silent_node_outlasts_a_witness(void **state)
{
    (void)state;
    for (int witness = WITNESS_AGENTS; witness <= WITNESS_SCHEDULER; witness++) {
        struct sim sim;
        begin_unheard(&sim, 76);
        int64_t first = newest(&sim).id;
        lose(&sim, (enum witness)witness);
        assert_int_equal(newest(&sim).state, APPROVAL_STATE_ASKED);
        sim_run(&sim, 2 * MS_PER_DAY);
        assert_int_equal(newest(&sim).state, APPROVAL_STATE_EXPIRED);
        assert_int_equal(newest(&sim).id, first);
        sim_close(&sim);
    }
}

static void a_yes_for_a_silent_node_outlasts_the_scheduler(void **state)
{
    struct sim sim;
    (void)state;
    begin_unheard(&sim, 77);
    sim.scheduler.down = true;
    sim_run(&sim, 20 * MS_PER_MIN);
    assert_int_equal(answer(&sim, true), 0);
    sim_run(&sim, 20 * MS_PER_MIN);
    assert_int_equal(newest(&sim).state, APPROVAL_STATE_APPROVED);
    assert_int_equal(sim.provider.reboots, 0);
    sim.scheduler.down = false;
    for (int minutes = 0; minutes < 30 && newest(&sim).state == APPROVAL_STATE_APPROVED; minutes++)
        sim_run(&sim, MS_PER_MIN);
    assert_int_equal(newest(&sim).state, APPROVAL_STATE_DONE);
    sim_run(&sim, MS_PER_MIN);
    assert_int_equal(sim.provider.reboots, 1);
    sim_close(&sim);
}

static void a_silent_node_that_is_heard_again_needs_no_answer(void **state)
{
    struct sim sim;
    (void)state;
    begin_unheard(&sim, 78);
    lose(&sim, WITNESS_AGENTS);
    fake_provider_of_node(&sim.provider, "gpu-1")->muted = false;
    sim_until(&sim, "gpu-1", NODE_STATE_READY, 5 * MS_PER_MIN);
    sim_run(&sim, MS_PER_MIN);
    assert_int_equal(newest(&sim).state, APPROVAL_STATE_WITHDRAWN);
    assert_int_equal(sim.provider.reboots, 0);
    sim_close(&sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_observed_is_not_done),
        cmocka_unit_test(a_yes_repairs_once),
        cmocka_unit_test(nobody_answers_and_it_is_asked_again_on_news),
        cmocka_unit_test(a_yes_that_runs_out_says_so),
        cmocka_unit_test(a_link_is_for_one_question),
        cmocka_unit_test(a_no_stands_and_a_person_repairs_it),
        cmocka_unit_test(a_question_that_is_over_is_withdrawn),
        cmocka_unit_test(a_question_outlasts_a_pause),
        cmocka_unit_test(a_question_outlasts_a_restart),
        cmocka_unit_test(a_question_that_was_withdrawn_is_asked_again),
        cmocka_unit_test(what_is_seen_after_a_cancel_is_asked_about),
        cmocka_unit_test(a_question_about_a_silent_node_outlasts_a_witness),
        cmocka_unit_test(a_yes_for_a_silent_node_outlasts_the_scheduler),
        cmocka_unit_test(a_silent_node_that_is_heard_again_needs_no_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
