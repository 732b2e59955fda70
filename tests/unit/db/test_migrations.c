/* Migrations: from nothing, step by step, a failing one, a changed one, a newer database. */
#include "migration_world.h"

#include "db/governance.h"
#include "model/governance_spec.h"

#include "db/address.h"
#include "db/agent_settings.h"
#include "db/incident.h"
#include "db/quarantine.h"
#include "db/report.h"
#include "db/webhook.h"

#define MIGRATION(name, text)               \
    {                                       \
        name, text, text + sizeof(text) - 1 \
    }

static const char SQL_ONE[] = "CREATE TABLE one (id INTEGER PRIMARY KEY) STRICT; INSERT INTO one VALUES (1);";
static const char SQL_ONE_EDITED[] = "CREATE TABLE one (id INTEGER PRIMARY KEY) STRICT; INSERT INTO one VALUES (2);";
static const char SQL_TWO[] = "CREATE TABLE two (id INTEGER PRIMARY KEY) STRICT;";
static const char SQL_BROKEN[] = "CREATE TABLE half (id INTEGER PRIMARY KEY) STRICT; INSERT INTO nowhere VALUES (1);";

static const struct db_migration one[] = {MIGRATION("0001_one", SQL_ONE)};
static const struct db_migration two[] = {MIGRATION("0001_one", SQL_ONE), MIGRATION("0002_two", SQL_TWO)};
static const struct db_migration broken[] = {MIGRATION("0001_one", SQL_ONE), MIGRATION("0002_half", SQL_BROKEN)};
static const struct db_migration edited[] = {MIGRATION("0001_one", SQL_ONE_EDITED), MIGRATION("0002_two", SQL_TWO)};
static const struct db_migration renamed[] = {MIGRATION("0001_uno", SQL_ONE)};

static int64_t number(struct db_tx *tx, const char *sql)
{
    sqlite3_stmt *stmt = NULL;
    if (sqlite3_prepare_v2(tx->sqlite, sql, -1, &stmt, NULL) != SQLITE_OK)
        return -1;
    int64_t value = sqlite3_step(stmt) == SQLITE_ROW ? sqlite3_column_int64(stmt, 0) : -2;
    sqlite3_finalize(stmt);
    return value;
}

static void test_this_binarys_schema(void **state)
{
    struct world *w = *state;
    int count = 0;
    const struct db_migration *list = db_migrations(&count);
    char hex[ID_SHA256_HEX_MAX];
    assert_int_equal(db_schema_version(), count);
    MUST(world_open(w, DB_INLINE));
    struct db_tx *tx = w->db->writer;
    assert_int_equal(number(tx, "PRAGMA application_id"), DB_APPLICATION_ID);
    assert_int_equal(number(tx, "SELECT max(version) FROM schema_migrations"), count);
    assert_int_equal(number(tx, "SELECT applied_at FROM schema_migrations WHERE version = 1"), WORLD_NOW);
    for (int i = 0; i < count; i++) {
        char prefix[16];
        snprintf(prefix, sizeof(prefix), "%04d_", i + 1);
        assert_true(text_starts_with(list[i].name, prefix));
        assert_int_equal(list[i].sql[0], '-');
        id_sha256_hex(list[i].sql, (size_t)(list[i].sql_end - list[i].sql), hex);
        autofree char *sql =
            own_printf("SELECT count(*) FROM schema_migrations WHERE version = %d AND sha256 = '%s'", i + 1, hex);
        assert_int_equal(number(tx, sql), 1);
    }
    /* Every table checks the types of what it stores. */
    assert_int_equal(number(tx, "SELECT count(*) FROM pragma_table_list WHERE type = 'table' AND strict = 0 "
                                "AND name NOT LIKE 'sqlite%'"),
                     0);
}

static void test_step_by_step_and_again(void **state)
{
    struct db db;
    struct world *w = *state;
    struct db_tx *tx = bare(w, &db);
    MUST(db_migrate(tx, one, 1, w->error));
    MUST(db_migrate(tx, one, 1, w->error));
    assert_int_equal(number(tx, "SELECT count(*) FROM two"), -1);
    MUST(db_migrate(tx, two, 2, w->error));
    assert_int_equal(number(tx, "SELECT count(*) FROM two"), 0);
    assert_int_equal(number(tx, "SELECT count(*) FROM one"), 1);
    assert_int_equal(number(tx, "SELECT count(*) FROM schema_migrations"), 2);
    db_tx_close(tx);
}

static struct db_tx *upgraded(struct world *w, struct db *db, const char *rows)
{
    return upgraded_from(w, db, 3, rows);
}

static const char SQL_VERDICTS_BEFORE[] =
    "WITH old (id, at, severity, state) AS (VALUES (1, 100, 'critical', 'open'), (2, 200000000, 'critical', 'open'), "
    "(3, 200000001, 'critical', 'resolved'), (4, 200000002, 'critical', 'stale'), (5, 200000003, 'warn', 'open')) "
    "INSERT INTO verdict (id, node_id, digest, first_at, last_at, count, received_at, severity, state, source, code, "
    "device, instance_id, boot_id, key, table_version, raw_line) "
    "SELECT id, 1, CAST(id AS BLOB), at, at, 1, at, severity, state, '', '', '', '', '', '', '', '' FROM old";

/* What the breaker knew before is known after; what is past is left alone. */
static void test_critical_verdicts_become_node_faults(void **state)
{
    struct db db;
    struct db_tx *tx = upgraded(*state, &db, SQL_VERDICTS_BEFORE);
    assert_int_equal(number(tx, "SELECT count(*) FROM verdict WHERE node_fault = 1"), 2);
    assert_int_equal(number(tx, "SELECT count(*) FROM verdict WHERE node_fault = 1 AND id IN (2, 3)"), 2);
    db_tx_close(tx);
}

static const char SQL_CLUSTERS_BEFORE[] =
    "INSERT INTO cluster (id, uid, name, state, recovery, orchestrator, created_at, updated_at, revision) VALUES "
    "(1, 'a', 'a', 'creating', 'Automatic', 'none', 7, 7, 1), (2, 'b', 'b', 'in-service', 'Automatic', 'none', 7, 7, "
    "1); "
    "INSERT INTO instance_group (id, cluster_id, name, instance_type, provider, desired, breaker_opened_at, "
    "created_at) "
    "VALUES (1, 1, 'x', '', 'local', 2, 0, 7), (2, 1, 'empty', '', 'local', 0, 0, 7), (3, 2, 'y', '', 'local', 2, 0, "
    "7)";

/* A cluster that was being created goes on being created. */
static void test_groups_get_the_state_of_their_cluster(void **state)
{
    struct db db;
    struct db_tx *tx = upgraded(*state, &db, SQL_CLUSTERS_BEFORE);
    assert_int_equal(number(tx, "SELECT id FROM instance_group WHERE state = 'creating'"), 1);
    assert_int_equal(number(tx, "SELECT count(*) FROM instance_group WHERE state = 'in-service'"), 2);
    db_tx_close(tx);
}

static const char SQL_OPERATIONS_BEFORE[] =
    "INSERT INTO cluster (id, uid, name, state, recovery, orchestrator, created_at, updated_at, revision) VALUES "
    "(1, 'a', 'a', 'in-service', 'Automatic', 'none', 7, 7, 1); "
    "INSERT INTO instance_group (id, cluster_id, name, instance_type, provider, desired, breaker_opened_at, "
    "created_at) VALUES (1, 1, 'x', '', 'local', 1, 0, 7); "
    "INSERT INTO node (id, cluster_id, group_id, name, state, health, reason, state_since, health_since, retry_at, "
    "opted_out, created_at) VALUES (1, 1, 1, 'x-1', 'ready', 'healthy', '', 7, 7, 0, 0, 7); "
    "INSERT INTO operation (id, uid, cluster_id, node_id, kind, state, urgency, key, reason, actor, device, code, "
    "old_instance, new_instance, old_boot, cancel_asked, created_at, started_at, finished_at, error) "
    "SELECT value, 'o' || value, 1, 1, 'reboot', CASE value WHEN 5 THEN 'running' ELSE 'failed' END, 'now', "
    "'k' || value, '', '', '', '', '', '', '', 0, 7, 7, 7, 'e' FROM json_each('[3,5,9]'); "
    "INSERT INTO operation_step (operation_id, ordinal, kind, state, attempts, started_at, finished_at, deadline_at, "
    "retry_at, detail) VALUES (5, 0, 'mark', 'done', 1, 7, 7, 0, 0, ''), (5, 1, 'drain', 'running', 1, 7, 0, 0, 0, "
    "''); "
    "DELETE FROM operation WHERE id = 9";

/* What was at work goes on with its steps, and no id is given a second time. */
static void test_operations_of_nodes_stay_what_they_are(void **state)
{
    struct db db;
    struct db_tx *tx = upgraded(*state, &db, SQL_OPERATIONS_BEFORE);
    struct operation operation = {.cluster_id = 1, .cluster = "a", .uid = "new", .kind = OPERATION_KIND_UPDATE_CLUSTER};
    assert_int_equal(number(tx, "SELECT count(*) FROM operation WHERE node_id = 1 AND cluster_id = 1"), 2);
    assert_int_equal(number(tx, "SELECT count(*) FROM operation_step WHERE operation_id = 5"), 2);
    MUST(db_operation_insert(tx, &operation));
    assert_int_equal(operation.id, 10);
    MUST(db_script(tx, "DELETE FROM node"));
    assert_int_equal(number(tx, "SELECT count(*) FROM operation"), 1);
    assert_int_equal(number(tx, "SELECT count(*) FROM operation_step"), 0);
    db_tx_close(tx);
}

/* x-1 was held, marked, and much was told of it since; x-2 was marked when it was held before; x-3 and x-4 never came up. */
static const char SQL_FACTS_BEFORE[] =
    "INSERT INTO cluster (id, uid, name, state, recovery, orchestrator, created_at, updated_at, revision) VALUES "
    "(1, 'a', 'a', 'in-service', 'Automatic', 'slurm', 7, 7, 1); "
    "INSERT INTO instance_group (id, cluster_id, name, instance_type, provider, desired, breaker_opened_at, "
    "created_at) VALUES (1, 1, 'x', '', 'local', 5, 0, 7); "
    "INSERT INTO node (id, cluster_id, group_id, name, state, health, reason, state_since, health_since, retry_at, "
    "opted_out, created_at) VALUES (1, 1, 1, 'x-1', 'held', 'unhealthy', 'r', 100, 7, 0, 0, 7), "
    "(2, 1, 1, 'x-2', 'held', 'unhealthy', 'r', 200, 7, 0, 0, 7), (3, 1, 1, 'x-3', 'failed', 'unknown', 'r', 7, 7, 0, "
    "0, 7), (4, 1, 1, 'x-4', 'pending', 'unknown', '', 7, 7, 0, 0, 7), (5, 1, 1, 'x-5', 'ready', 'healthy', '', 7, 7, "
    "0, 0, 7); "
    "INSERT INTO event (at, level, kind, cluster_id, node_id, cluster, node, message) VALUES "
    "(150, 'warn', 'scheduler-mark', 1, 1, 'a', 'x-1', 'taken out'), "
    "(150, 'warn', 'scheduler-mark', 1, 2, 'a', 'x-2', 'taken out'), "
    "(160, 'warn', 'near-miss', 1, 1, 'a', 'x-1', 'the scheduler''s reason \"action: replace\" looks like a request "
    "but is not exact: scontrol update'), "
    "(160, 'warn', 'near-miss', 1, 5, 'a', 'x-5', 'the scheduler''s reason \"reboot\" looks like a request but is not "
    "exact: scontrol'), "
    "(170, 'warn', 'near-miss', 1, 5, 'a', 'x-5', 'the scheduler''s reason Action:Replace asks for a repair, and "
    "counts "
    "in the states fail and down only: scontrol'); "
    "INSERT INTO event (at, level, kind, cluster_id, node_id, cluster, node, message) "
    "WITH RECURSIVE later (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM later WHERE i < 250) "
    "SELECT 300, 'info', 'verdict', 1, 1, 'a', 'x-1', 'later' FROM later; "
    "INSERT INTO operation (uid, cluster_id, cluster, node_id, kind, state, urgency, key, reason, actor, device, code, "
    "old_instance, new_instance, old_boot, cancel_asked, created_at, started_at, finished_at, error) "
    "SELECT 'o' || value, 1, 'a', CASE WHEN value < 3 THEN value ELSE 3 END, 'launch', "
    "CASE WHEN value < 3 THEN 'succeeded' WHEN value = 3 THEN 'cancelled' ELSE 'failed' END, 'now', "
    "'k' || value, '', '', '', '', '', '', '', 0, 7, 7, 7, 'e' FROM json_each('[1,2,3,4,5]')";

/* What was looked for in events and operations stands in the node's row. */
static void test_nodes_get_the_facts_of_their_events_and_operations(void **state)
{
    struct db db;
    struct db_tx *tx = upgraded_from(*state, &db, 39, SQL_FACTS_BEFORE);
    struct node node;
    MUST(db_node_get_row(tx, 1, &node));
    assert_true(node.cordoned && node.served);
    assert_string_equal(node.near_miss, "action: replace");
    MUST(db_node_get_row(tx, 2, &node));
    assert_true(!node.cordoned && node.served);
    MUST(db_node_get_row(tx, 3, &node));
    assert_true(!node.cordoned && !node.served);
    assert_int_equal(node.launch_tries, 3);
    MUST(db_node_get_row(tx, 4, &node));
    assert_true(!node.served && node.launch_tries == 0);
    MUST(db_node_get_row(tx, 5, &node));
    assert_true(!node.cordoned && node.served);
    assert_string_equal(node.near_miss, "Action:Replace");
    db_tx_close(tx);
}

/* What was read back from texts until then. */
static const char SQL_TEXTS_BEFORE[] =
    "INSERT INTO cluster (id, uid, name, state, recovery, orchestrator, created_at, updated_at, revision) VALUES "
    "(1, 'a', 'a', 'in-service', 'Automatic', 'slurm', 7, 7, 1); "
    "INSERT INTO instance_group (id, cluster_id, name, instance_type, provider, desired, breaker_opened_at, "
    "created_at) VALUES (1, 1, 'x', '', 'local', 5, 0, 7); "
    "INSERT INTO node (id, cluster_id, group_id, name, state, health, reason, state_since, health_since, retry_at, "
    "opted_out, created_at) SELECT key + 1, 1, 1, 'x-' || key, CASE key WHEN 6 THEN 'held' ELSE 'ready' END, "
    "'healthy', value, 7, 7, 0, 0, 7 FROM json_each('[\"\", \"held in Slurm by ana: swapping a DIMM\", "
    "\"Slurm took it out by itself (Not responding); a person opted it out\", \"Slurm keeps it out by itself: Low "
    "RealMemory\", \"agent silent since 2026-11-20\", \"recommended: reboot, for xid.79\", \"held in Slurm by "
    "ana\"]'); "
    "INSERT INTO incident (id, cluster_id, level, domain, cause, started_at, calm_since, ended_at, ended_by) VALUES "
    "(1, 1, 'rack', 'r1', 'unreachable', 7, 0, 9, 'it is part of incident 12'), "
    "(2, 1, 'rack', 'r2', 'unreachable', 7, 0, 9, 'ana says so'); "
    "INSERT INTO decision (id, node_id, at, action, urgency, rule, code, device, sentence, refused, refused_why, "
    "evidence_count, newest_verdict, retry_at, table_version, gates) VALUES "
    "(1, 1, 7, 'hold', 'now', 'breaker-hold', 'xid.79', '', '', 'none', '', 0, 0, 0, '', "
    "'owner passed 40 group-budget failed 3 x' || char(10) || 'min-healthy passed 40 60 of 64 healthy, at least 10 "
    "have to be' || char(10) || 'class-budget failed 30 2 in repair for gpu faults, at most 2' || char(10) || "
    "'group-budget passed 31 3 in repair, at most 3 of 64' || char(10) || 'group-breaker failed 65 open: 20 of 64 "
    "nodes "
    "failed within 15 min, the limit is 12' || char(10)), "
    "(2, 1, 7, 'reboot', 'now', 'operator-request', '', '', '', 'none', '', 0, 0, 0, '', 'group-budget not-asked 37 a "
    "person''s request needs no budget' || char(10) || 'group-breaker not-asked 37 a person''s request passes the "
    "breaker' || char(10))";

static void assert_group(struct db_tx *tx, int64_t decision, struct decision_group expected)
{
    autofree char *sql = own_printf(
        "SELECT count(*) FROM decision WHERE id = %lld AND group_desired = %lld AND group_failing = %lld AND "
        "group_healthy = %lld AND group_in_repair = %lld AND group_in_repair_alike = %lld",
        (long long)decision, (long long)expected.desired, (long long)expected.failing, (long long)expected.healthy,
        (long long)expected.in_repair, (long long)expected.in_repair_alike);
    assert_int_equal(number(tx, sql), 1);
}

static void test_facts_of_texts_become_columns(void **state)
{
    static const enum attention expected[] = {ATTENTION_NONE,     ATTENTION_HELD,    ATTENTION_DOWNED,
                                              ATTENTION_KEPT_OUT, ATTENTION_UNHEARD, ATTENTION_DECIDED,
                                              ATTENTION_NONE};
    struct db db;
    struct node node;
    struct shared_incident incident;
    struct db_tx *tx = upgraded_from(*state, &db, 42, SQL_TEXTS_BEFORE);
    for (size_t i = 0; i < ARRAY_LEN(expected); i++) {
        MUST(db_node_get_row(tx, (int64_t)i + 1, &node));
        assert_int_equal(node.attention, expected[i]);
    }
    MUST(db_incident_get(tx, 1, &incident));
    assert_int_equal(incident.part_of, 12);
    MUST(db_incident_get(tx, 2, &incident));
    assert_int_equal(incident.part_of, 0);
    assert_group(tx, 1, (struct decision_group){64, 20, 60, 3, 2});
    assert_group(tx, 2, DECISION_GROUP_NOT_ASKED);
    db_tx_close(tx);
}

/* A row in each table whose name or columns have other words since. */
static const char SQL_WORDS_BEFORE[] =
    "INSERT INTO cluster (id, uid, name, state, recovery, orchestrator, created_at, updated_at, revision) VALUES "
    "(1, 'a', 'a', 'in-service', 'Automatic', 'slurm', 7, 7, 1); "
    "INSERT INTO instance_group (id, cluster_id, name, instance_type, provider, desired, breaker_opened_at, "
    "created_at, unborn, unborn_at) VALUES (1, 1, 'x', '', 'local', 5, 0, 7, 3, 11); "
    "INSERT INTO node (id, cluster_id, group_id, name, state, health, reason, instance_row, state_since, health_since, "
    "retry_at, opted_out, created_at) VALUES (1, 1, 1, 'x-1', 'ready', 'healthy', '', 1, 7, 7, 0, 0, 7); "
    "INSERT INTO instance (id, node_id, instance_id, state, boot_id, boot_at, launched_at, terminated_at) VALUES "
    "(1, 1, 'i-1', 'running', '', 0, 7, 0); "
    "INSERT INTO apart (node_id, name, wanted, state, had, why, scheduler) VALUES (1, 'x-1', 1, 'held', 5, 'w', 's'); "
    "INSERT INTO agent_settings_told (instance_row, revision, refused, file_refused, settings, at) VALUES (1, 4, 'r', "
    "'f', '', 9); "
    "INSERT INTO scheduler_address (node_id, address, told) VALUES (1, '10.0.0.1', 1), (1, '10.0.0.2', 0); "
    "INSERT INTO webhook VALUES ('hook', 12, 3, 2, 5, 6, 7, 8, 1, 0, 'e'); "
    "INSERT INTO incident (id, cluster_id, level, domain, cause, started_at, calm_since, ended_at, ended_by) VALUES "
    "(1, 1, 'rack', 'r1', 'unreachable', 7, 13, 0, ''); "
    "INSERT INTO operation (id, uid, cluster_id, cluster, node_id, kind, state, urgency, key, reason, actor, device, "
    "code, old_instance, new_instance, old_boot, cancel_asked, created_at, started_at, finished_at, error, mended_at) "
    "VALUES (1, 'o', 1, 'a', 1, 'reset', 'succeeded', 'now', 'k', '', '', '', '', '', '', '', 0, 7, 7, 7, '', 17); "
    "INSERT INTO governance_held (scheduler, thing, name, mark, former, value, previous) VALUES ('s', 'partition', "
    "'p', "
    "'m', 1, 2, 3)";

static int count_row(const void *row, void *arg)
{
    (void)row;
    (*(int *)arg)++;
    return 0;
}

static void test_what_was_renamed_keeps_its_rows(void **state)
{
    struct db db;
    struct webhook_progress progress;
    struct shared_incident incident;
    struct instance_group group;
    struct operation operation;
    struct quarantine quarantine;
    struct agent_settings_report report;
    int addresses = 0;
    struct db_tx *tx = upgraded_from(*state, &db, 43, SQL_WORDS_BEFORE);
    MUST(db_group_get(tx, 1, "x", &group));
    assert_int_equal(group.machine_capacity.failures, 3);
    assert_int_equal(group.machine_capacity.failed_at, 11);
    MUST(db_quarantine_get(tx, 1, &quarantine));
    assert_int_equal(quarantine.had, 5);
    MUST(db_agent_report_get(tx, 1, &report));
    assert_int_equal(report.revision, 4);
    MUST(db_address_list_reported(tx, count_row, &addresses));
    assert_int_equal(addresses, 1);
    MUST(db_webhook_get(tx, "hook", &progress));
    assert_int_equal(progress.expired, 5);
    assert_true(progress.reported);
    MUST(db_incident_get(tx, 1, &incident));
    assert_int_equal(incident.settled_since, 13);
    MUST(db_operation_get(tx, "o", &operation));
    assert_int_equal(operation.cleared_by_reset_at, 17);
    assert_int_equal(number(tx, "SELECT count(*) FROM governance_held WHERE object = 'partition' AND previous = 3"), 1);
    MUST(db_script(tx, "DELETE FROM instance WHERE id = 1"));
    assert_int_equal(number(tx, "SELECT count(*) FROM agent_settings_report"), 0); /* it still goes with its machine */
    db_tx_close(tx);
}

static const char SQL_REPORTS_BEFORE[] =
    "INSERT INTO cluster (id, uid, name, state, recovery, orchestrator, created_at, updated_at, revision) VALUES "
    "(1, 'a', 'a', 'in-service', 'Automatic', 'slurm', 7, 7, 1); "
    "INSERT INTO operation (id, uid, cluster_id, cluster, kind, state, urgency, key, reason, actor, device, code, "
    "old_instance, new_instance, old_boot, cancel_asked, created_at, started_at, finished_at, error) "
    "SELECT value, 'o' || value, 1, 'a', 'launch', CASE value WHEN 1 THEN 'running' ELSE 'failed' END, 'now', "
    "'k' || value, '', '', '', '', '', '', '', 0, 7, 7, 7, '' FROM json_each('[1,2]'); "
    "INSERT INTO event (at, level, kind, cluster_id, operation_id, cluster, message, script_state) VALUES "
    "(9, 'info', 'lifecycle-script', 1, 1, 'a', 'lifecycle script setup/on create.sh started, attempt 2', 'Started'), "
    "(9, 'info', 'lifecycle-script', 1, 1, 'a', 'lifecycle scripts failed', 'Failed'), "
    "(9, 'info', 'operation-step', 1, 1, 'a', 'launch done', ''), "
    "(9, 'info', 'lifecycle-script', 1, 2, 'a', 'lifecycle script x started, attempt 1', 'Started')";

/* A report that was told before the upgrade is not told again after it. */
static void test_reports_of_what_is_at_work_are_known(void **state)
{
    struct db db;
    int64_t count;
    struct lifecycle_report report = {.script = "setup/on create.sh", .state = SCRIPT_STATE_STARTED, .attempt = 2};
    struct db_tx *tx = upgraded_from(*state, &db, 45, SQL_REPORTS_BEFORE);
    MUST(db_operation_report_count(tx, 1, &count));
    assert_int_equal(count, 2);
    MUST(db_operation_report_count(tx, 2, &count));
    assert_int_equal(count, 0);
    assert_int_equal(db_operation_report_add(tx, 1, &report, 10), STATUS_EXISTS);
    report.attempt = 3;
    MUST(db_operation_report_add(tx, 1, &report, 10));
    db_tx_close(tx);
}

static const char SQL_DECISIONS_BEFORE[] =
    "INSERT INTO cluster (id, uid, name, state, recovery, orchestrator, created_at, updated_at, revision) VALUES "
    "(1, 'a', 'a', 'in-service', 'Automatic', 'none', 7, 7, 1); "
    "INSERT INTO instance_group (id, cluster_id, name, instance_type, provider, desired, breaker_opened_at, "
    "created_at) VALUES (1, 1, 'x', '', 'local', 1, 0, 7); "
    "INSERT INTO node (id, cluster_id, group_id, name, state, health, reason, state_since, health_since, retry_at, "
    "opted_out, created_at) VALUES (1, 1, 1, 'x-1', 'ready', 'healthy', '', 7, 7, 0, 0, 7); "
    "INSERT INTO decision (id, node_id, at, action, urgency, rule, code, device, sentence, refused, refused_why, "
    "evidence_count, newest_verdict, retry_at, table_version) VALUES (1, 1, 7, 'hold', 'now', 'r', 'xid.79', '', '', "
    "'none', '', 2, 12, 0, ''), (2, 1, 7, 'none', 'now', 'r', '', '', '', 'none', '', 0, 0, 0, ''); "
    "INSERT INTO decision_gate (decision_id, gate, result, detail) VALUES (1, 'fresh-evidence', 'passed', ''), "
    "(1, 'owner', 'failed', 'drainé by' || char(10) || 'owner passed 3 x'), (1, 'group-budget', 'not-asked', 'no "
    "need'); "
    "INSERT INTO decision_evidence (decision_id, ordinal, verdict_id) VALUES (1, 1, 3), (1, 0, 12)";

/* What was decided before is explained as before, whatever a detail says. */
static void test_decisions_keep_their_gates_and_evidence(void **state)
{
    struct db db;
    struct decision decision;
    struct db_tx *tx = upgraded(*state, &db, SQL_DECISIONS_BEFORE);
    MUST(db_decision_get_row(tx, 1, &decision));
    assert_int_equal(decision.gates[GATE_FRESH].result, GATE_RESULT_PASSED);
    assert_int_equal(decision.gates[GATE_OWNER].result, GATE_RESULT_FAILED);
    assert_string_equal(decision.gates[GATE_OWNER].detail, "drainé by\nowner passed 3 x");
    assert_int_equal(decision.gates[GATE_BUDGET].result, GATE_RESULT_NOT_ASKED);
    assert_string_equal(decision.gates[GATE_BUDGET].detail, "no need");
    assert_int_equal(decision.evidence[0], 12);
    assert_int_equal(decision.evidence[1], 3);
    assert_int_equal(decision.evidence[2], 0);
    MUST(db_decision_get_row(tx, 2, &decision));
    for (int gate = 0; gate < GATE_COUNT; gate++)
        assert_int_equal(decision.gates[gate].result, GATE_RESULT_NOT_ASKED);
    db_tx_close(tx);
}

static void test_a_failing_migration_leaves_the_one_before(void **state)
{
    struct db db;
    struct world *w = *state;
    struct db_tx *tx = bare(w, &db);
    assert_true(db_migrate(tx, broken, 2, w->error) < 0);
    assert_non_null(strstr(w->error, "0002_half"));
    assert_int_equal(number(tx, "SELECT count(*) FROM one"), 1);
    assert_int_equal(number(tx, "SELECT count(*) FROM half"), -1);
    assert_int_equal(number(tx, "SELECT max(version) FROM schema_migrations"), 1);
    MUST(db_migrate(tx, two, 2, w->error)); /* a repaired binary goes on from there */
    db_tx_close(tx);
}

static void test_another_history_is_refused(void **state)
{
    struct db db;
    struct world *w = *state;
    struct db_tx *tx = bare(w, &db);
    MUST(db_migrate(tx, one, 1, w->error));
    const struct {
        const struct db_migration *list;
        int count;
        const char *words;
    } rows[] = {{edited, 2, "migration 1"}, {renamed, 1, "migration 1"}, {one, 0, "knows only 0"}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_int_equal(db_migrate(tx, rows[i].list, rows[i].count, w->error), STATUS_VERSION);
        if (strstr(w->error, rows[i].words) == NULL)
            fail_msg("'%s' does not say '%s'", w->error, rows[i].words);
        assert_int_equal(number(tx, "SELECT count(*) FROM two"), -1);
    }
    assert_int_equal(sqlite3_exec(tx->sqlite, "UPDATE schema_migrations SET version = 3", NULL, NULL, NULL), SQLITE_OK);
    MUST(sqlite3_exec(tx->sqlite, "INSERT INTO schema_migrations VALUES (2, '0002_two', 0, '')", NULL, NULL, NULL));
    assert_int_equal(db_migrate(tx, two, 2, w->error), STATUS_VERSION); /* a gap where the first should be */
    db_tx_close(tx);
}

static void test_a_database_of_a_newer_holdfast_is_refused_in_words(void **state)
{
    struct world *w = *state;
    MUST(world_open(w, DB_INLINE));
    MUST(sqlite3_exec(w->db->writer->sqlite, "INSERT INTO schema_migrations VALUES (99, '0099_future', 0, '')", NULL,
                      NULL, NULL));
    world_close(w);
    for (unsigned flags = 0; flags <= DB_INLINE; flags++) {
        assert_int_equal(world_open(w, flags), STATUS_VERSION);
        assert_non_null(strstr(w->error, "99"));
        assert_non_null(strstr(w->error, "newer Holdfast"));
    }
}

#define DOCUMENT_OF_ALL                                                                                                \
    "{\"LifeCycleConfig\":{\"SourceS3Uri\":\"file:///x\",\"OnCreate\":\"a.sh\",\"OnInitComplete\":\"b.sh\"},"          \
    "\"SlurmConfig\":{\"NodeType\":\"Compute\",\"PartitionNames\":[\"p\"]},\"OverrideVpcConfig\":{\"Subnets\":"        \
    "[\"s-1\",\"s-2\"],\"SecurityGroupIds\":[\"g\"]},\"OnStartDeepHealthChecks\":[\"InstanceConnectivity\","           \
    "\"InstanceStress\"],\"InstanceRequirements\":{\"InstanceTypes\":[\"ml.x\"]},\"ExecutionRole\":\"it''s\","         \
    "\"ThreadsPerCore\":2,\"InstanceStorageConfigs\":[{\"EbsVolumeConfig\":{\"VolumeSizeInGB\":5,\"VolumeKmsKeyId\":"  \
    "\"k\",\"RootVolume\":false}},{\"FsxLustreConfig\":{\"DnsName\":\"d\",\"MountName\":\"m\",\"MountPath\":\"/m\"}}," \
    "{\"FsxOpenZfsConfig\":{\"DnsName\":\"z\"}}],\"NetworkInterface\":{\"InterfaceType\":\"efa-only\"},"               \
    "\"CapacityRequirements\":{\"OnDemand\":{}}}"
#define SPEC_OF_ALL                                                                                                    \
    "{\"lifecycle\":{\"source\":\"file:///x\",\"onCreate\":\"a.sh\",\"onInitComplete\":\"b.sh\"},\"slurm\":{\"role\":" \
    "\"compute\",\"partitions\":[\"p\"]},\"network\":{\"subnets\":[\"s-1\",\"s-2\"],\"securityGroups\":[\"g\"]},"      \
    "\"checksOnStart\":[\"instance-stress\",\"instance-connectivity\"],\"requirements\":{\"instanceTypes\":"           \
    "[\"ml.x\"]},\"executionRole\":\"it's\",\"threadsPerCore\":2,\"storage\":[{\"volume\":{\"sizeGb\":5,"              \
    "\"key\":\"k\",\"root\":false}},{\"lustre\":{\"address\":\"d\",\"name\":\"m\",\"path\":\"/"                        \
    "m\"}},{\"zfs\":{\"address\":"                                                                                     \
    "\"z\"}}],\"interface\":{\"kind\":\"efa-only\"},\"capacity\":{\"onDemand\":{}}}"
static const char SQL_DOCUMENTS_BEFORE[] =
    "INSERT INTO cluster (id, uid, name, state, recovery, orchestrator, created_at, updated_at, revision) VALUES "
    "(1, 'a', 'a', 'in-service', 'Automatic', 'slurm', 7, 7, 1), (2, 'b', 'b', 'in-service', 'Automatic', 'slurm', 7, "
    "7, 1); "
    "INSERT INTO instance_group (id, cluster_id, name, instance_type, provider, desired, breaker_opened_at, "
    "created_at) SELECT value, 1, 'g' || value, '', 'local', 1, 0, 7 FROM json_each('[1,2,3,4,5]'); "
    "INSERT INTO group_document (group_id, document) VALUES (1, '" DOCUMENT_OF_ALL "'), "
    "(2, '{\"ProvisioningParameters\":{\"NodeType\":\"Controller\"},\"SlurmConfig\":{\"NodeType\":\"Login\"}}'), "
    "(3, '{\"ProvisioningParameters\":null,\"CapacityRequirements\":{}}'), (4, '{\"LifeCycleConfig\":'); "
    "INSERT INTO cluster_document (cluster_id, document) VALUES (1, '{\"VpcConfig\":{\"Subnets\":[\"s\"],"
    "\"SecurityGroupIds\":[\"g\"]},\"ClusterRole\":\"r\",\"Orchestrator\":{\"Slurm\":{\"SlurmConfigStrategy\":"
    "\"Overwrite\"}},\"TieredStorageConfig\":{\"Mode\":\"Disable\",\"InstanceMemoryAllocationPercentage\":0},"
    "\"AutoScaling\":{\"Mode\":\"Disable\",\"AutoScalerType\":\"Karpenter\"},\"Invocation\":\"k\"}'), "
    "(2, '{\"Orchestrator\":{\"Slurm\":{}}}')";

/* Written anew it is the same, so that nothing of it was left out; members may come in another order. */
static void assert_group_spec(struct db_tx *tx, int64_t group, const char *expected)
{
    AUTO(group_spec) struct group_spec spec = {0};
    MUST(db_group_spec_get(tx, group, &spec));
    autofree char *text = group_spec_write(&spec);
    assert_string_equal(text, expected);
}

static void assert_cluster_spec(struct db_tx *tx, int64_t cluster, const char *expected)
{
    AUTO(cluster_spec) struct cluster_spec spec = {0};
    MUST(db_cluster_spec_get(tx, cluster, &spec));
    autofree char *text = cluster_spec_write(&spec);
    assert_string_equal(text, expected);
}

/* What was asked for in the AWS model's words is asked for in ours. What could not be read before asks for nothing, as before. */
static void test_documents_become_specs(void **state)
{
    struct db db;
    struct db_tx *tx = upgraded_from(*state, &db, 41, SQL_DOCUMENTS_BEFORE);
    assert_group_spec(tx, 1, SPEC_OF_ALL);
    assert_group_spec(tx, 2, "{\"slurm\":{\"role\":\"login\"},\"slurmByFile\":{\"role\":\"controller\"}}");
    assert_group_spec(tx, 3, "{\"capacity\":{}}");
    assert_group_spec(tx, 4, "{}");
    assert_group_spec(tx, 5, "{}");
    assert_cluster_spec(tx, 1,
                        "{\"network\":{\"subnets\":[\"s\"],\"securityGroups\":[\"g\"]},\"role\":\"r\",\"strategy\":"
                        "\"Overwrite\",\"tieredStorage\":{\"mode\":\"off\",\"memoryPercent\":0},\"autoScaling\":{"
                        "\"mode\":\"off\",\"scaler\":\"karpenter\"},\"madeBy\":\"k\"}");
    assert_cluster_spec(tx, 2, "{}");
    MUST(db_script(tx, "DELETE FROM instance_group WHERE id = 1"));
    assert_int_equal(number(tx, "SELECT count(*) FROM group_spec WHERE group_id = 1"), 0);
    db_tx_close(tx);
}

static const char SQL_GOVERNANCE_BEFORE[] =
    "INSERT INTO cluster (id, uid, name, state, recovery, orchestrator, created_at, updated_at, revision) VALUES "
    "(1, 'a', 'a', 'in-service', 'Automatic', 'slurm', 7, 7, 1); "
    "INSERT INTO governance (id, uid, cluster_id, kind, name, team, version, created_at, created_by) VALUES "
    "(1, 'u', 1, 'compute-quota', 'q', 't', 3, 7, ''); "
    "INSERT INTO governance_version (governance_id, version, status, reason, description, config, team, weight, "
    "active, "
    "made_at, made_by) VALUES "
    "(1, 1, 'Created', '', '', '{\"PriorityClasses\":[{\"Name\":\"prod\",\"Weight\":100}],\"FairShare\":\"Enabled\","
    "\"IdleResourceSharing\":\"Disabled\"}', 't', 1, 1, 7, ''), "
    "(1, 2, 'Updated', '', '', '{\"ComputeQuotaResources\":[{\"InstanceType\":\"a\",\"Count\":4,\"Accelerators\":8,"
    "\"VCpu\":2.3,\"MemoryInGiB\":0.5},{\"InstanceType\":\"b\",\"AcceleratorPartition\":{\"Type\":\"mig-1g.5gb\","
    "\"Count\":7}}],\"ResourceSharingConfig\":{\"Strategy\":\"LendAndBorrow\",\"BorrowLimit\":50,"
    "\"AbsoluteBorrowLimits\":[{\"InstanceType\":\"a\",\"Count\":1}]},\"PreemptTeamTasks\":\"LowerPriority\"}', 't', "
    "1, "
    "1, 7, ''), (1, 3, 'Updated', '', '', '{\"ResourceSharingConfig\":{\"Strategy\":\"DontLend\"},"
    "\"PreemptTeamTasks\":\"Never\"}', 't', 1, 1, 7, '')";

/* Quotas and scheduler configurations ask for the same, in every version, in our words. */
static void test_governance_is_asked_for_in_our_words(void **state)
{
    static const char *const expected[] = {
        "{\"classes\":[{\"name\":\"prod\",\"weight\":100}],\"fairShare\":true,\"idleSharing\":false}",
        "{\"amounts\":[{\"instanceType\":\"a\",\"nodes\":4,\"accelerators\":8,\"cpus\":2.3,\"memoryGib\":0.5},"
        "{\"instanceType\":\"b\",\"slice\":{\"kind\":\"mig-1g.5gb\",\"count\":7}}],\"sharing\":{\"strategy\":"
        "\"lend-and-borrow\",\"borrowPercent\":50,\"borrowAtMost\":[{\"instanceType\":\"a\",\"nodes\":1}]},"
        "\"preempts\":"
        "true}",
        "{\"sharing\":{\"strategy\":\"dont-lend\"},\"preempts\":false}"};
    struct db db;
    struct db_tx *tx = upgraded_from(*state, &db, 44, SQL_GOVERNANCE_BEFORE);
    static struct governance governance;
    for (size_t i = 0; i < ARRAY_LEN(expected); i++) {
        MUST(db_governance_get(tx, GOVERNANCE_KIND_COMPUTE_QUOTA, "u", (int64_t)i + 1, &governance));
        AUTO(governance_spec) struct governance_spec spec = {0};
        MUST(governance_spec_read(governance.config, &spec));
        autofree char *text = governance_spec_write(&spec);
        assert_string_equal(text, expected[i]);
    }
    db_tx_close(tx);
}

static const char SQL_CANCELS_BEFORE[] =
    "INSERT INTO cluster (id, uid, name, state, recovery, orchestrator, created_at, updated_at, revision) VALUES "
    "(1, 'a', 'a', 'in-service', 'Automatic', 'slurm', 7, 7, 1); "
    "INSERT INTO instance_group (id, cluster_id, name, instance_type, provider, desired, breaker_opened_at, "
    "created_at) VALUES (1, 1, 'x', '', 'local', 5, 0, 7); "
    "INSERT INTO node (id, cluster_id, group_id, name, state, health, reason, state_since, health_since, retry_at, "
    "opted_out, created_at) VALUES (1, 1, 1, 'x-1', 'ready', 'healthy', '', 7, 7, 0, 0, 7); "
    "INSERT INTO instance (node_id, instance_id, state, boot_id, boot_at, launched_at, terminated_at, launch_key, "
    "image_id, release) VALUES (1, 'i-own', 'running', '', 0, 7, 0, 'enroll/1/i-own', '', ''), "
    "(1, 'i-ours', 'terminated', '', 0, 7, 7, 'a/x-1/launch', '', ''); "
    "INSERT INTO operation (uid, cluster_id, node_id, kind, state, urgency, key, reason, actor, device, code, "
    "old_instance, new_instance, old_boot, cancel_asked, created_at, started_at, finished_at, error, cluster) "
    "SELECT column1, 1, 1, 'check', 'cancelled', 'now', column1, '', 'policy', '', '', '', '', '', column2, 7, 7, 7, "
    "column3, '' FROM (VALUES ('asked', 1, ''), ('busy', 1, 'the node was still busy'), ('not', 0, ''))";

/* Who cancelled, and who registered itself, is a fact of its own. */
static void test_who_cancelled_and_who_registered(void **state)
{
    struct db db;
    struct db_tx *tx = upgraded_from(*state, &db, 49, SQL_CANCELS_BEFORE);
    assert_int_equal(number(tx, "SELECT count(*) FROM operation WHERE cancelled_by <> ''"), 1);
    assert_int_equal(number(tx, "SELECT count(*) FROM operation WHERE cancelled_by = 'a person' AND uid = 'asked'"), 1);
    struct instance instance;
    MUST(db_instance_get(tx, "i-own", &instance));
    assert_true(instance.self_registered);
    MUST(db_instance_get(tx, "i-ours", &instance));
    assert_false(instance.self_registered);
    db_tx_close(tx);
}

static const char SQL_RULES_BEFORE[] =
    "INSERT INTO cluster (id, uid, name, state, recovery, orchestrator, created_at, updated_at, revision) VALUES "
    "(1, 'a', 'a', 'in-service', 'Automatic', 'none', 7, 7, 1); "
    "INSERT INTO instance_group (id, cluster_id, name, instance_type, provider, desired, breaker_opened_at, "
    "created_at) VALUES (1, 1, 'x', '', 'local', 1, 0, 7); "
    "INSERT INTO node (id, cluster_id, group_id, name, state, health, reason, state_since, health_since, retry_at, "
    "opted_out, created_at) VALUES (1, 1, 1, 'x-1', 'ready', 'healthy', '', 7, 7, 0, 0, 7); "
    "INSERT INTO decision (id, node_id, at, action, urgency, rule, code, device, sentence, refused, refused_why, "
    "evidence_count, newest_verdict, retry_at, table_version) "
    "SELECT column1, 1, 7, 'watch', 'none', column2, '', '', '', 'none', '', 0, 0, 0, '' FROM (VALUES "
    "(1, 'same-hardware-came-back'), (2, 'weak-signs-together'), (3, 'foreign-drain'), (4, 'before-the-reset'), "
    "(5, 'watch'))";

/* A decision that was stored under a rule's former name is found under today's, and not as one of another version. */
static void test_rules_keep_their_decisions(void **state)
{
    static const enum decision_rule expected[] = {RULE_RECURRING_HARDWARE, RULE_WEAK_FINDINGS_TOGETHER,
                                                  RULE_EXTERNAL_DRAIN, RULE_CLEARED_BY_RESET, RULE_WATCH};
    struct db db;
    struct db_tx *tx = upgraded_from(*state, &db, 46, SQL_RULES_BEFORE);
    for (size_t i = 0; i < ARRAY_LEN(expected); i++) {
        autofree char *sql = own_printf("SELECT count(*) FROM decision WHERE id = %zu AND rule = '%s'", i + 1,
                                        decision_rule_text(expected[i]));
        assert_int_equal(number(tx, sql), 1);
    }
    db_tx_close(tx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        EMPTY_TEST(test_this_binarys_schema),
        EMPTY_TEST(test_step_by_step_and_again),
        EMPTY_TEST(test_critical_verdicts_become_node_faults),
        EMPTY_TEST(test_groups_get_the_state_of_their_cluster),
        EMPTY_TEST(test_operations_of_nodes_stay_what_they_are),
        EMPTY_TEST(test_documents_become_specs),
        EMPTY_TEST(test_governance_is_asked_for_in_our_words),
        EMPTY_TEST(test_decisions_keep_their_gates_and_evidence),
        EMPTY_TEST(test_nodes_get_the_facts_of_their_events_and_operations),
        EMPTY_TEST(test_facts_of_texts_become_columns),
        EMPTY_TEST(test_what_was_renamed_keeps_its_rows),
        EMPTY_TEST(test_reports_of_what_is_at_work_are_known),
        EMPTY_TEST(test_rules_keep_their_decisions),
        EMPTY_TEST(test_who_cancelled_and_who_registered),
        EMPTY_TEST(test_a_failing_migration_leaves_the_one_before),
        EMPTY_TEST(test_another_history_is_refused),
        EMPTY_TEST(test_a_database_of_a_newer_holdfast_is_refused_in_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
