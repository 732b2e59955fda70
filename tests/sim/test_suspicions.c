/* What others suspect of a node, and what answers it. */
#include "base/sm.h"
#include "db/verdict.h"
#include "server/service/node/check.h"
#include "server/service/node/report.h"
#include "tests/sim/sim_cluster.h"

#define SUSPICIONS 70

struct said {
    const struct fake_instance *machine;
    int64_t at_ms;
};

static int put(struct db_tx *tx, const struct said *said, int number, const char *source, const char *code)
{
    enum db_verdict_change change;
    struct verdict verdict = {.node_id = said->machine->node_row,
                              .severity = SEVERITY_WARN,
                              .count = 1,
                              .first_at = said->at_ms,
                              .last_at = said->at_ms,
                              .received_at = said->at_ms};
    snprintf(verdict.key, sizeof(verdict.key), "suspicion-%d", number);
    snprintf(verdict.instance_id, sizeof(verdict.instance_id), "%s", said->machine->id);
    snprintf(verdict.boot_id, sizeof(verdict.boot_id), "%s", said->machine->boot_id);
    snprintf(verdict.source, sizeof(verdict.source), "%s", source);
    snprintf(verdict.code, sizeof(verdict.code), "%s", code);
    return db_verdict_put(tx, &verdict, &change);
}

static int put_suspicions(struct db_tx *tx, void *arg)
{
    int status = 0;
    for (int i = 0; i < SUSPICIONS && status >= 0; i++)
        status = put(tx, arg, i, "report", "report.suspected");
    return status;
}

static int count_row(const void *row, void *arg)
{
    (void)row;
    (*(int *)arg)++;
    return 0;
}

/* However many suspected it, a test that passed answers all of them. */
static void a_test_answers_every_suspicion(void **state)
{
    static const char *const nodes[] = {"gpu-1"};
    const struct service_check_request request = {.nodes = nodes, .node_count = 1, .checks = SM_BIT(DEEP_CHECK_STRESS)};
    const struct service_check_how how = {.profile = DEEP_PROFILE_DEEP, .urgency = URGENCY_AFTER_JOBS};
    struct sim sim;
    struct db_tx *tx = NULL;
    struct problem problem = {0};
    struct service_check_result result;
    int open = 0;
    (void)state;
    sim_open(&sim, 640, true);
    sim.deep = SIM_DEEP_PASSES;
    sim_create(&sim, 2, NODE_RECOVERY_AUTOMATIC);
    struct fake_instance *machine = fake_provider_of_node(&sim.provider, "gpu-1");
    struct said said = {.machine = machine};
    assert_int_equal(db_write(sim.service.db, "test", put_suspicions, &said), 0);
    assert_int_equal(service_cluster_check(&sim.service, &sim_admin, SIM_CLUSTER, &request, 1, &how, &result, &problem),
                     0);
    service_check_result_free(&result);
    for (int i = 0; i < 60 && sim_events(&sim, "gpu-1", EVENT_KIND_DEEP_CHECK, "suspicions") == 0; i++)
        sim_run(&sim, MS_PER_MIN);
    assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_DEEP_CHECK, "70 suspicions"), 1);
    const struct db_verdict_filter left = {.node_id = machine->node_row, .state = VERDICT_STATE_OPEN};
    assert_int_equal(db_read_begin(sim.service.db, &tx), 0);
    assert_int_equal(db_verdict_list(tx, &left, count_row, &open), 0);
    db_read_end(sim.service.db, tx);
    assert_int_equal(open, 0);
    sim_close(&sim);
}

/* --- how much one sender may say ------------------------------------------------------------------------------ */

#define MANY 512

/* Each of a document for gpu-1, with a key of its own. How many were stored; the others are refused, and the last says why. */
static int say_many(struct sim *sim, const char *who, const struct node_report *report, struct problem *ret_refusal)
{
    struct service_report *reports = own_calloc(MANY, sizeof(*reports));
    struct actor actor = {.role = ROLE_REPORTER};
    struct problem problem = {0};
    int stored = 0;
    snprintf(actor.name, sizeof(actor.name), "%s", who);
    for (int i = 0; i < MANY; i++) {
        reports[i] = (struct service_report){.node = "gpu-1", .report = *report};
        snprintf(reports[i].key, sizeof(reports[i].key), "key-%d", i);
        snprintf(reports[i].text, sizeof(reports[i].text), "it is slow");
    }
    assert_int_equal(service_node_report_many(&sim->service, &actor, SIM_CLUSTER, reports, MANY, &problem), 0);
    for (int i = 0; i < MANY; i++) {
        stored += reports[i].outcome == REPORT_OUTCOME_STORED;
        if (reports[i].outcome == REPORT_OUTCOME_REFUSED)
            *ret_refusal = reports[i].problem;
    }
    free(reports);
    sim_settle(sim);
    return stored;
}

static void one_sender_has_few_open_reports_of_a_node(void **state)
{
    const struct node_report suspected = {.kind = REPORT_KIND_SUSPECTED};
    struct node_report failed = {.kind = REPORT_KIND_JOB_FAILED, .subject = "alice"};
    struct problem refusal = {0};
    struct sim sim;
    (void)state;
    sim_open(&sim, 641, true);
    sim_create(&sim, 2, NODE_RECOVERY_NONE);
    assert_int_equal(say_many(&sim, "token:monitor", &suspected, &refusal), 64);
    assert_int_equal(refusal.code, PROBLEM_LIMIT_EXCEEDED);
    assert_string_equal(refusal.detail, "token:monitor has 64 open reports on gpu-1; 64 are allowed. Take back those "
                                        "that are over, or send reports with hours.");
    failed.expires_at = clock_wall_ms(sim.provider.clock) + MS_PER_HOUR;
    assert_int_equal(say_many(&sim, "token:epilog", &failed, &refusal), 8);
    assert_string_equal(refusal.detail,
                        "token:epilog has 8 open reports of kind job-failed on gpu-1 about alice, which are enough.");
    snprintf(failed.subject, sizeof(failed.subject), "bob");
    assert_int_equal(say_many(&sim, "token:other", &failed, &refusal), 8);
    sim_run(&sim, 2 * MS_PER_HOUR);
    failed.expires_at = clock_wall_ms(sim.provider.clock) + MS_PER_HOUR;
    assert_int_equal(say_many(&sim, "token:third", &failed, &refusal), 8);
    sim_close(&sim);
}

static int put_a_notice_and_suspicions(struct db_tx *tx, void *arg)
{
    int status = put(tx, arg, MANY, "provider", "provider.degraded");
    for (int i = 0; i < MANY && status >= 0; i++)
        status = put(tx, arg, i, "report", "report.suspected");
    return status;
}

/* Whatever several senders suspect, it hides nothing that was seen before. */
static void suspicions_push_out_no_evidence(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 642, true);
    sim_create(&sim, 2, NODE_RECOVERY_NONE);
    struct said said = {fake_provider_of_node(&sim.provider, "gpu-1"), clock_wall_ms(sim.provider.clock)};
    assert_int_equal(db_write(sim.service.db, "test", put_a_notice_and_suspicions, &said), 0);
    sim_crash(&sim); /* the next hpd looks at all that was not decided on */
    sim_until(&sim, "gpu-1", NODE_STATE_HELD, 10 * MS_PER_MIN);
    sim_close(&sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_test_answers_every_suspicion),
        cmocka_unit_test(one_sender_has_few_open_reports_of_a_node),
        cmocka_unit_test(suspicions_push_out_no_evidence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
