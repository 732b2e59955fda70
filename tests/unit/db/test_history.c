/* What is forgotten, and what never is. */
#include "db/approval.h"
#include "db/hardware.h"
#include "db/history.h"

#include "db_world.h"

#define OLD (WORLD_NOW - 100 * MS_PER_DAY)
#define ROWS_MAX 1000

static const struct db_history usual = {.since_at = WORLD_NOW - 90 * MS_PER_DAY,
                                        .verdicts_keep = 5,
                                        .decisions_keep = 3,
                                        .launches_keep = 2,
                                        .rows_max = ROWS_MAX};

static int64_t put(struct world *w, int node, enum verdict_state state, enum severity severity, int64_t received_at)
{
    static int number;
    char key[32];
    enum db_verdict_change change;
    snprintf(key, sizeof(key), "key-%d", ++number);
    struct verdict verdict = a_verdict(w->nodes[node].id, key);
    verdict.state = state;
    verdict.severity = severity;
    verdict.received_at = received_at;
    MUST(db_verdict_put(w->tx, &verdict, &change));
    assert_int_equal(change, DB_VERDICT_NEW);
    return verdict.id;
}

static int64_t decide(struct world *w, int node, int64_t at)
{
    struct decision decision = {.node_id = w->nodes[node].id, .at = at};
    decision.gates[GATE_FRESH].result = GATE_RESULT_PASSED;
    MUST(db_decision_insert(w->tx, &decision));
    return decision.id;
}

static int count_row(const void *row, void *arg)
{
    (void)row;
    ++*(int *)arg;
    return 0;
}

static int verdicts(struct world *w, int node, enum verdict_state state)
{
    int count = 0;
    const struct db_verdict_filter filter = {.node_id = w->nodes[node].id, .state = (int)state};
    MUST(db_verdict_list(w->tx, &filter, count_row, &count));
    return count;
}

static int decisions(struct world *w, int node)
{
    int count = 0;
    MUST(db_decision_list(w->tx, w->nodes[node].id, 0, count_row, &count));
    return count;
}

static int64_t prune(struct world *w, int node, const struct db_history *history)
{
    int64_t rows = -1;
    MUST(db_history_prune(w->tx, w->nodes[node].id, history, &rows));
    return rows;
}

static void test_what_is_new_and_not_too_much_stays(void **state)
{
    struct world *w = *state;
    for (int i = 0; i < 5; i++) {
        put(w, 0, VERDICT_STATE_OPEN, SEVERITY_WARN, WORLD_NOW);
        put(w, 0, VERDICT_STATE_RESOLVED, SEVERITY_WARN, WORLD_NOW);
        put(w, 0, VERDICT_STATE_STALE, SEVERITY_WARN, WORLD_NOW);
    }
    for (int i = 0; i < 3; i++)
        decide(w, 0, WORLD_NOW);
    assert_int_equal(prune(w, 0, &usual), 0);
    assert_int_equal(verdicts(w, 0, VERDICT_STATE_OPEN), 5);
    assert_int_equal(decisions(w, 0), 3);
}

static void test_the_past_goes_by_number_and_by_age(void **state)
{
    struct world *w = *state;
    static const enum verdict_state past[] = {VERDICT_STATE_RESOLVED, VERDICT_STATE_STALE};
    for (size_t i = 0; i < ARRAY_LEN(past); i++) {
        int64_t newest = 0;
        put(w, 0, past[i], SEVERITY_CRITICAL, OLD);
        put(w, 1, past[i], SEVERITY_CRITICAL, OLD);
        for (int n = 0; n < 8; n++)
            newest = put(w, 1, past[i], SEVERITY_CRITICAL, WORLD_NOW);
        assert_int_equal(prune(w, 0, &usual), 1);
        assert_int_equal(verdicts(w, 0, past[i]), 0);
        assert_int_equal(prune(w, 1, &usual), 4);
        assert_int_equal(verdicts(w, 1, past[i]), 5);
        struct verdict verdict;
        MUST(db_verdict_get_row(w->tx, newest, &verdict));
        assert_int_equal(prune(w, 1, &usual), 0);
    }
}

static void test_open_evidence_is_retired_the_least_telling_first(void **state)
{
    struct world *w = *state;
    struct verdict verdict;
    int64_t critical = put(w, 0, VERDICT_STATE_OPEN, SEVERITY_CRITICAL, OLD);
    int64_t plain_old = put(w, 0, VERDICT_STATE_OPEN, SEVERITY_WARN, OLD);
    for (int i = 0; i < 10; i++)
        put(w, 0, VERDICT_STATE_OPEN, SEVERITY_WARN, WORLD_NOW);
    assert_int_equal(prune(w, 0, &usual), 7); /* 12 open ones, 5 stay */
    assert_int_equal(verdicts(w, 0, VERDICT_STATE_OPEN), 5);
    MUST(db_verdict_get_row(w->tx, critical, &verdict));
    assert_int_equal(verdict.state, VERDICT_STATE_OPEN); /* however old */
    MUST(db_verdict_get_row(w->tx, plain_old, &verdict));
    assert_int_equal(verdict.state, VERDICT_STATE_RESOLVED);
    prune(w, 0, &usual);
    assert_int_equal(db_verdict_get_row(w->tx, plain_old, &verdict), STATUS_NOT_FOUND);
    assert_int_equal(verdicts(w, 0, VERDICT_STATE_RESOLVED), 5);
}

static void test_old_open_evidence_goes_unless_it_is_critical(void **state)
{
    struct world *w = *state;
    put(w, 0, VERDICT_STATE_OPEN, SEVERITY_CRITICAL, OLD);
    put(w, 0, VERDICT_STATE_OPEN, SEVERITY_UNKNOWN, OLD);
    assert_int_equal(prune(w, 0, &usual), 1);
    assert_int_equal(verdicts(w, 0, VERDICT_STATE_OPEN), 1);
}

static void test_the_newest_decision_always_stays(void **state)
{
    struct world *w = *state;
    struct decision last;
    const struct db_history nothing = {.since_at = WORLD_NOW + 1, .rows_max = ROWS_MAX};
    for (int i = 0; i < 6; i++)
        decide(w, 0, WORLD_NOW);
    int64_t other = decide(w, 1, OLD), newest = decide(w, 0, OLD);
    assert_int_equal(prune(w, 0, &usual), 4);
    assert_int_equal(decisions(w, 0), 3);
    assert_int_equal(prune(w, 0, &nothing), 2);
    MUST(db_decision_last(w->tx, w->nodes[0].id, &last));
    assert_int_equal(last.id, newest);
    MUST(db_decision_last(w->tx, w->nodes[1].id, &last));
    assert_int_equal(last.id, other);
}

static void test_a_call_does_only_so_much(void **state)
{
    struct world *w = *state;
    struct db_history little = usual;
    little.rows_max = 2;
    for (int i = 0; i < 12; i++)
        put(w, 0, VERDICT_STATE_STALE, SEVERITY_WARN, WORLD_NOW);
    int calls = 0;
    while (prune(w, 0, &little) > 0)
        assert_true(++calls < 10);
    assert_int_equal(verdicts(w, 0, VERDICT_STATE_STALE), 5);
    assert_int_equal(calls, 4);
}

/* Decisions remember numbers of verdicts: a number is never another verdict's. */
static void test_no_verdict_gets_the_number_of_one_that_went(void **state)
{
    struct world *w = *state;
    const struct db_history nothing = {.since_at = WORLD_NOW + 1, .rows_max = ROWS_MAX};
    int64_t gone = put(w, 0, VERDICT_STATE_STALE, SEVERITY_WARN, WORLD_NOW);
    prune(w, 0, &nothing);
    assert_int_equal(verdicts(w, 0, VERDICT_STATE_STALE), 0);
    assert_true(put(w, 0, VERDICT_STATE_OPEN, SEVERITY_WARN, WORLD_NOW) > gone);
}

/* Nor after a new start, whether they went one by one, with their node or with all of their cluster. */
static int64_t last_number(struct world *w, int node)
{
    return put(w, node, VERDICT_STATE_STALE, SEVERITY_WARN, WORLD_NOW);
}

static void start_again(struct world *w)
{
    MUST(db_exec(w->tx, "COMMIT"));
    world_close(w);
    MUST(world_open(w, DB_INLINE));
    w->tx = w->db->writer;
    MUST(db_exec(w->tx, "BEGIN IMMEDIATE"));
}

static void test_nor_after_a_new_start(void **state)
{
    struct world *w = *state;
    const struct db_history nothing = {.since_at = WORLD_NOW + 1, .rows_max = ROWS_MAX};
    int64_t gone = last_number(w, 0);
    prune(w, 0, &nothing);
    start_again(w);
    int64_t next = last_number(w, 1);
    assert_int_equal(next, gone + 1);
    MUST(db_node_delete(w->tx, w->nodes[1].id));
    start_again(w);
    gone = next;
    next = last_number(w, 2);
    assert_int_equal(next, gone + 1);
    start_again(w);
    /* Without a number read in this life, before anything is dropped. */
    MUST(db_cluster_delete(w->tx, w->cluster.id));
    start_again(w);
    MUST(db_cluster_insert(w->tx, &w->cluster));
    w->group.cluster_id = w->cluster.id;
    MUST(db_group_insert(w->tx, &w->group));
    w->nodes[3] = a_node(&w->group, "again");
    MUST(db_node_insert(w->tx, &w->nodes[3]));
    assert_int_equal(last_number(w, 3), next + 1);
}

/* A launch that is tried for ever leaves its last failures only; what succeeded, and other kinds, stay. */
static void test_failed_launches_are_few(void **state)
{
    struct world *w = *state;
    static const struct {
        enum operation_kind kind;
        enum operation_state state;
    } rows[] = {
        {OPERATION_KIND_LAUNCH, OPERATION_STATE_SUCCEEDED}, {OPERATION_KIND_LAUNCH, OPERATION_STATE_FAILED},
        {OPERATION_KIND_REBOOT, OPERATION_STATE_FAILED},    {OPERATION_KIND_LAUNCH, OPERATION_STATE_FAILED},
        {OPERATION_KIND_LAUNCH, OPERATION_STATE_FAILED},    {OPERATION_KIND_LAUNCH, OPERATION_STATE_RUNNING},
    };
    static const bool stays[] = {true, false, true, true, true, true};
    int64_t ids[ARRAY_LEN(rows)];
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char uid[16];
        snprintf(uid, sizeof(uid), "op-%zu", i);
        struct operation operation = an_operation(&w->nodes[0], uid, uid);
        operation.kind = rows[i].kind;
        operation.state = rows[i].state;
        MUST(db_operation_insert(w->tx, &operation));
        ids[i] = operation.id;
    }
    assert_int_equal(prune(w, 0, &usual), 1);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct operation found;
        assert_int_equal(db_operation_get_row(w->tx, ids[i], &found), stays[i] ? 0 : STATUS_NOT_FOUND);
    }
    assert_int_equal(prune(w, 0, &usual), 0);
}

static int64_t ask(struct world *w, int node, enum approval_state state, int64_t at)
{
    static int number;
    struct approval approval = {.node_id = w->nodes[node].id,
                                .action = ACTION_REBOOT,
                                .state = state,
                                .asked_at = at,
                                .expires_at = at + MS_PER_DAY};
    snprintf(approval.uid, sizeof(approval.uid), "question-%d", ++number);
    MUST(db_approval_insert(w->tx, &approval));
    return approval.id;
}

static int approvals(struct world *w)
{
    int count = 0;
    MUST(db_approval_list(w->tx, -1, 0, 0, count_row, &count));
    return count;
}

/* A no counts as long as it is the newest word, and an open question always is the newest. */
static void test_questions_go_but_for_the_newest(void **state)
{
    struct world *w = *state;
    struct approval last;
    int64_t no = ask(w, 0, APPROVAL_STATE_REJECTED, OLD);
    assert_int_equal(prune(w, 0, &usual), 0);
    MUST(db_approval_last(w->tx, w->nodes[0].id, &last));
    assert_int_equal(last.id, no);
    ask(w, 0, APPROVAL_STATE_WITHDRAWN, WORLD_NOW);
    assert_int_equal(prune(w, 0, &usual), 1);
    for (int i = 0; i < 3; i++)
        ask(w, 0, APPROVAL_STATE_DONE, WORLD_NOW);
    int64_t open = ask(w, 0, APPROVAL_STATE_ASKED, WORLD_NOW);
    assert_int_equal(prune(w, 0, &usual), 2);
    assert_int_equal(approvals(w), 3);
    MUST(db_approval_last(w->tx, w->nodes[0].id, &last));
    assert_int_equal(last.id, open);
}

static int64_t a_machine(struct world *w, const char *id, int64_t terminated_at)
{
    struct instance machine = {
        .node_id = w->nodes[0].id, .state = INSTANCE_STATE_RUNNING, .terminated_at = terminated_at};
    struct hardware gpu = {.kind = HARDWARE_KIND_GPU};
    struct check_state check = {.name = "kmsg", .has_run = true};
    snprintf(machine.instance_id, sizeof(machine.instance_id), "%s", id);
    MUST(db_instance_insert(w->tx, &machine));
    for (int i = 0; i < 3; i++) {
        snprintf(gpu.location, sizeof(gpu.location), "gpu-%d", i);
        MUST(db_hardware_put(w->tx, machine.id, &gpu, WORLD_NOW));
    }
    MUST(db_check_put(w->tx, machine.id, &check));
    return machine.id;
}

static int pieces(struct world *w, int64_t machine)
{
    int count = 0;
    MUST(db_hardware_list(w->tx, machine, count_row, &count));
    MUST(db_check_list(w->tx, machine, count_row, &count));
    return count;
}

/* By when the machine was given up; the one that fills the slot is never one of them, and who was there stays known. */
static void test_what_was_in_a_machine_goes_long_after_it(void **state)
{
    struct world *w = *state;
    struct instance known;
    struct db_history little = usual;
    little.hardware_since_at = WORLD_NOW - 180 * MS_PER_DAY;
    const int64_t since = little.hardware_since_at;
    int64_t before = a_machine(w, "i-1", since - 1), at = a_machine(w, "i-2", since);
    int64_t running = a_machine(w, "i-3", 0), fills = a_machine(w, "i-4", since - 1);
    w->nodes[0].instance_row = fills;
    MUST(db_node_update(w->tx, &w->nodes[0]));
    little.rows_max = 2;
    assert_int_equal(prune(w, 1, &little), 0); /* another node's */
    assert_int_equal(prune(w, 0, &little), 3); /* few by few: of each kind so many */
    assert_int_equal(pieces(w, before), 1);
    assert_int_equal(prune(w, 0, &little), 1);
    assert_int_equal(prune(w, 0, &little), 0);
    assert_int_equal(pieces(w, before), 0);
    assert_int_equal(pieces(w, at), 4);
    assert_int_equal(pieces(w, running), 4);
    assert_int_equal(pieces(w, fills), 4);
    MUST(db_instance_get(w->tx, "i-1", &known));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(test_what_is_new_and_not_too_much_stays),
        WORLD_TEST(test_the_past_goes_by_number_and_by_age),
        WORLD_TEST(test_open_evidence_is_retired_the_least_telling_first),
        WORLD_TEST(test_old_open_evidence_goes_unless_it_is_critical),
        WORLD_TEST(test_the_newest_decision_always_stays),
        WORLD_TEST(test_questions_go_but_for_the_newest),
        WORLD_TEST(test_a_call_does_only_so_much),
        WORLD_TEST(test_no_verdict_gets_the_number_of_one_that_went),
        WORLD_TEST(test_nor_after_a_new_start),
        WORLD_TEST(test_failed_launches_are_few),
        WORLD_TEST(test_what_was_in_a_machine_goes_long_after_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
