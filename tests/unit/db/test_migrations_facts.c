/* Facts that rows of an older form have only in their texts: migrations read them off once, into columns. */
#include "migration_world.h"

#include "db/event.h"
#include "model/deep.h"

/* Rows as they were: the actor and the code said why. */
static const char SQL_CAUSES_BEFORE[] =
    "INSERT INTO cluster (id, uid, name, state, recovery, orchestrator, created_at, updated_at, revision) VALUES "
    "(1, 'a', 'a', 'in-service', 'Automatic', 'slurm', 7, 7, 1); "
    "INSERT INTO operation (id, uid, cluster_id, cluster, kind, state, urgency, key, reason, actor, device, code, "
    "old_instance, new_instance, old_boot, cancel_asked, created_at, started_at, finished_at, error) "
    "SELECT key + 1, 'o' || key, 1, 'a', json_extract(value, '$[0]'), 'failed', 'now', 'k' || key, '', "
    "json_extract(value, '$[1]'), '', json_extract(value, '$[2]'), '', '', '', 0, 7, 7, 7, '' FROM json_each('["
    "[\"reboot\", \"policy\", \"xid.79\"], [\"replace\", \"policy\", \"deep.dcgm\"], "
    "[\"reboot\", \"policy\", \"deep.connectivity\"], [\"release\", \"policy\", \"node.reboot.unexpected\"], "
    "[\"launch\", \"policy\", \"\"], [\"reboot\", \"slurm:ana\", \"operator\"], "
    "[\"check\", \"token:ana\", \"InstanceStress\"], [\"reset\", \"policy\", \"deep.dcgm\"]]')";

static void test_operations_get_their_cause(void **state)
{
    static const struct {
        enum operation_cause cause;
        int64_t retests;
    } expected[] = {{OPERATION_CAUSE_FAULT, 0},  {OPERATION_CAUSE_FAULT, SM_BIT(DEEP_CHECK_STRESS)},
                    {OPERATION_CAUSE_FAULT, 0},  {OPERATION_CAUSE_ABSENCE, 0},
                    {OPERATION_CAUSE_UPKEEP, 0}, {OPERATION_CAUSE_PERSON, 0},
                    {OPERATION_CAUSE_PERSON, 0}, {OPERATION_CAUSE_FAULT, 0}};
    struct db db;
    struct operation operation;
    struct db_tx *tx = upgraded_from(*state, &db, 63, SQL_CAUSES_BEFORE);
    for (size_t i = 0; i < ARRAY_LEN(expected); i++) {
        MUST(db_operation_get_row(tx, (int64_t)i + 1, &operation));
        assert_int_equal(operation.cause, expected[i].cause);
        assert_int_equal(operation.retests, expected[i].retests);
    }
    db_tx_close(tx);
}

static const char SQL_MOVES_BEFORE[] = "INSERT INTO event (at, level, kind, cluster, node, message, state) VALUES "
                                       "(9, 'info', 'node-state', 'a', 'n', 'ready -> held: ECC -> more: of it', ''), "
                                       "(9, 'info', 'node-state', 'a', 'n', 'pending -> ready', 'ready'), "
                                       "(9, 'info', 'node-health', 'a', 'n', 'healthy -> unhealthy', ''), "
                                       "(9, 'info', 'node-state', 'a', 'n', 'ready', ''), "
                                       "(9, 'info', 'decision', 'a', 'n', 'a -> b', 'reboot')";

/* What a node was before it moved stood in the message alone. */
static void test_moves_get_what_was(void **state)
{
    static const struct {
        const char *was, *is;
    } expected[] = {{"ready", "held"}, {"pending", "ready"}, {"healthy", "unhealthy"}, {"", ""}, {"", "reboot"}};
    struct db db;
    struct event event;
    struct db_tx *tx = upgraded_from(*state, &db, 65, SQL_MOVES_BEFORE);
    for (size_t i = 0; i < ARRAY_LEN(expected); i++) {
        MUST(db_event_get(tx, (int64_t)i + 1, &event));
        assert_string_equal(event.about.was, expected[i].was);
        assert_string_equal(event.about.state, expected[i].is);
    }
    db_tx_close(tx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        EMPTY_TEST(test_operations_get_their_cause),
        EMPTY_TEST(test_moves_get_what_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
