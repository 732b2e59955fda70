/*
 * Every statement of the room, as SQLite means to run it: no list may read a whole table, or sort, unless it is named
 * here with the reason. The functions are called once each; what they prepared is then in the connection's cache.
 */
#include "db/access_key.h"
#include "db/address.h"
#include "db/approval.h"
#include "db/attempt.h"
#include "db/deep.h"
#include "db/hardware.h"
#include "db/history.h"
#include "db/incident.h"
#include "db/job.h"
#include "db/job_command.h"
#include "db/job_run.h"
#include "db/machine.h"
#include "db/node_report.h"
#include "db/report.h"
#include "db_world.h"

static int ignore(const void *row, void *arg)
{
    (void)row;
    (void)arg;
    return 0;
}

static void call_lists_of_machines(struct db_tx *tx)
{
    struct hardware piece = {.kind = HARDWARE_KIND_GPU};
    struct check_state check = {.name = "x"};
    db_hardware_put(tx, 999, &piece, 1);
    db_hardware_gone(tx, 999, 1);
    db_hardware_forget(tx, 999);
    db_hardware_list(tx, 1, ignore, NULL);
    db_hardware_repairs(tx, 1, 0, 1, ignore, NULL);
    db_check_put(tx, 999, &check);
    db_check_drop(tx, 999, "x");
    db_check_list(tx, 1, ignore, NULL);
    db_check_get(tx, 1, "x", &check);
    db_address_ask(tx, 999, "x");
    db_address_tell(tx, 999, "x", "y");
    db_address_drop(tx, 999, "x");
    db_address_leave(tx, 999);
    db_address_list_reported(tx, ignore, NULL);
    db_address_list_former(tx, 1, ignore, NULL);
    bool past;
    db_address_host(tx, 1, &piece);
    db_address_host_is_former(tx, 1, "x", &past);
}

static void call_machines(struct db_tx *tx)
{
    const struct db_machine_filter all = {.state = -1}, spares = {.provider = "rack", .state = MACHINE_STATE_SPARE};
    struct machine machine = {.name = "m", .id = 999};
    struct machine_use use = {.machine_id = 999, .id = 999};
    bool known;
    int64_t count;
    db_machine_get(tx, "m", &machine);
    db_machine_get_row(tx, 999, &machine);
    db_machine_update(tx, &machine);
    db_machine_list(tx, &all, ignore, NULL);
    db_machine_list(tx, &spares, ignore, NULL);
    db_machine_count(tx, &count);
    db_machine_use_update(tx, &use);
    db_machine_use_by_key(tx, "k", &use);
    db_machine_use_by_instance(tx, "i", &use);
    db_machine_use_list(tx, 1, 0, ignore, NULL);
    db_machine_use_before(tx, 1, &use);
    db_machine_use_faults(tx, 1, 0, &count);
    db_machine_demands(tx, "rack", "", ignore, NULL);
    db_instance_count(tx, "rack", &count);
    db_instance_is_known(tx, "i", "ref", &known);
    db_instance_was_let_go(tx, "i", "ref", &known);
}

static void call_attempts(struct db_tx *tx)
{
    struct job_attempt attempt = {.cluster_id = 999, .job = "1"};
    int64_t count;
    bool any;
    db_attempt_get(tx, &attempt, &attempt);
    db_attempt_put(tx, &attempt);
    db_attempt_list(tx, 1, "1", ignore, NULL);
    db_attempt_forget(tx, 1, "1", -1, 0);
    db_attempt_forget_old(tx, 1);
    db_attempt_prune(tx, 1, 100);
    db_attempt_ask_stop(tx, 1, "1", 0, 1, &count);
    db_attempt_any(tx, 1, 0, &any);
    db_attempt_list_within(tx, 1, 0, 1, ignore, NULL);
    struct job_run run = {.cluster_id = 999, .job = "1"};
    db_job_run_put(tx, &run);
    db_job_run_get(tx, 1, "1", 0, &run);
    db_job_run_list(tx, 1, "1", ignore, NULL);
    db_job_run_list(tx, 1, "", ignore, NULL);
    db_job_signalled(tx, 1, "1", ignore, NULL);
    db_job_run_open(tx, "slurm", ignore, NULL);
    db_job_run_running(tx, 1, 100, ignore, NULL);
    db_job_run_forget(tx, 1, "1");
    db_job_run_prune(tx, 1);
    db_job_run_limit(tx, 1, 100);
    struct job_command command = {.scheduler = "x"};
    db_job_command_insert(tx, &command);
    db_job_command_list(tx, "x", ignore, NULL);
    db_job_command_drop(tx, 1);
}

static void call_lists_of_fleet(struct db_tx *tx)
{
    struct cluster cluster = {0};
    struct instance_group group;
    struct node node = {0};
    struct instance instance = {0};
    struct cluster_counts counts;
    db_cluster_get(tx, "x", &cluster);
    db_cluster_get_row(tx, 1, &cluster);
    db_cluster_list(tx, "a", 1, ignore, NULL);
    db_cluster_count(tx, 1, 0, &counts);
    db_cluster_update(tx, &cluster, 0);
    db_group_get(tx, 1, "x", &group);
    db_group_get_row(tx, 1, &group);
    db_group_list(tx, 1, ignore, NULL);
    db_group_list(tx, 0, ignore, NULL);
    db_group_set_breaker(tx, 1, 0);
    db_node_get(tx, 1, "x", &node);
    db_node_get_row(tx, 1, &node);
    db_node_get_filled(tx, 1, &node, &instance);
    for (int i = 0; i < 16; i++) {
        struct db_node_filter filter = {i & 1, (i >> 1) & 1, NULL, (i & 4) ? 0 : -1, (i & 8) ? 0 : -1, 1, false};
        db_node_list(tx, &filter, ignore, NULL);
    }
    struct db_node_filter unhealthy = {.cluster_id = 1, .state = NODE_STATE_READY, .health = HEALTH_UNHEALTHY};
    db_node_list(tx, &unhealthy, ignore, NULL);
    struct db_node_filter noted = {.cluster_id = 1, .state = -1, .health = -1, .with_reason = true};
    db_node_list(tx, &noted, ignore, NULL);
    for (int i = 0; i < 4; i++) {
        struct db_node_search search = {.cluster_id = 1, .group_contains = "", .by_name = i & 1, .descending = i & 2};
        struct db_cluster_search clusters = {.name_contains = "", .by_name = i & 1, .descending = i & 2};
        db_node_search(tx, &search, ignore, NULL);
        db_cluster_search(tx, &clusters, ignore, NULL);
    }
    int64_t count;
    db_node_count_image(tx, 1, "x", "x", &count);
    char image_id[IMAGE_ID_MAX_BYTES], release[RELEASE_VERSION_MAX_BYTES];
    db_node_main_image(tx, 1, "x", "x", image_id, release);
    db_cluster_by_uid(tx, "x", &cluster);
    db_node_update(tx, &node);
    call_attempts(tx);
    call_lists_of_machines(tx);
    call_machines(tx);
    struct shared_incident incident = {.id = 999};
    struct incident_node member = {.incident_id = 999};
    for (int i = 0; i < 4; i++) {
        const struct db_incident_filter incidents = {.cluster_id = i & 1, .open_only = i & 2, .limit = 1};
        db_incident_list(tx, &incidents, ignore, NULL);
    }
    db_incident_get(tx, 999, &incident);
    db_incident_update(tx, &incident);
    db_incident_prune(tx, 1);
    db_incident_node_put(tx, &member);
    db_incident_node_list(tx, 999, ignore, NULL);
    int64_t returns;
    db_incident_returns(tx, 999, 0, 1, 3, &returns);
    for (int level = 0; level < TOPOLOGY_LEVEL_ZONE; level++)
        db_node_set_topology(tx, 999, (enum topology_level)level, "x");
    db_instance_get(tx, "x", &instance);
    db_instance_get_row(tx, 1, &instance);
    db_instance_by_key(tx, "x", &instance);
    db_instance_list(tx, 1, 1, ignore, NULL);
    db_instance_update(tx, &instance);
    db_credential_drop(tx, 999);
    struct credential credential;
    db_credential_get(tx, 999, &credential);
    db_credential_list(tx, ignore, NULL);
}

static void call_lists_of_work(struct db_tx *tx)
{
    static struct operation operation;
    struct operation_step step = {0};
    db_operation_get(tx, "x", &operation);
    db_operation_get_row(tx, 1, &operation);
    db_operation_by_key(tx, "x", &operation);
    db_operation_active(tx, 1, &operation);
    db_operation_update(tx, &operation);
    db_operation_step_update(tx, 1, &step);
    db_operation_change(tx, 1, OPERATION_KIND_CREATE_CLUSTER, &operation);
    db_operation_prune(tx, 0, 1);
    int64_t reports;
    const struct lifecycle_report report = {.attempt = 1};
    db_operation_report_add(tx, 999, &report, 1);
    db_operation_report_count(tx, 1, &reports);
    for (int i = 0; i < 32; i++) {
        const enum operation_kind kind = OPERATION_KIND_CREATE_CLUSTER;
        struct db_operation_filter filter = {i & 1, (i >> 1) & 1,           (i & 4) ? 0 : -1, (i & 8) != 0, 0,
                                             1,     (i & 16) ? &kind : NULL};
        db_operation_list(tx, &filter, ignore, NULL);
    }
    db_operation_repairs(tx, 1, 0, ignore, NULL);
    db_operation_repaired(tx, 1, 0, ignore, NULL);
}

static void call_lists_of_checks(struct db_tx *tx)
{
    static struct deep_run run;
    const struct db_deep_filter filters[] = {
        {0}, {.cluster_id = 1}, {.cluster_id = 1, .unfinished = true}, {.node_id = 1}};
    for (size_t i = 0; i < ARRAY_LEN(filters); i++)
        db_deep_run_list(tx, &filters[i], ignore, NULL);
    db_deep_run_get(tx, "x", &run);
    db_deep_run_of_operation(tx, 1, &run);
    db_deep_run_update(tx, &run);
    db_deep_run_close(tx, 1, DEEP_STATE_CANCELLED, "", 1);
    db_deep_test_list(tx, 1, ignore, NULL);
}

static void call_lists_of_evidence(struct world *w)
{
    struct verdict verdict = a_verdict(w->nodes[0].id, "k"), stale = a_verdict(w->nodes[0].id, "s");
    struct decision decision = {.node_id = w->nodes[0].id, .evidence_count = 1};
    enum db_verdict_change change;
    int64_t count;
    stale.state = VERDICT_STATE_STALE;
    for (int64_t i = 1; i < 4; i++) {
        verdict.count = stale.count = i;
        db_verdict_put(w->tx, &verdict, &change);
        db_verdict_put(w->tx, &stale, &change);
    }
    db_verdict_get_row(w->tx, 1, &verdict);
    for (int i = 0; i < 8; i++) {
        struct db_verdict_filter filter = {.node_id = i & 1, .state = (i >> 1) - 1, .limit = 1};
        db_verdict_list(w->tx, &filter, ignore, NULL);
        filter.critical_first = true;
        db_verdict_list(w->tx, &filter, ignore, NULL);
    }
    db_verdict_undecided_nodes(w->tx, ignore, NULL);
    int64_t newest;
    db_verdict_newest(w->tx, &newest);
    db_verdict_critical(w->tx, 1, 100, 10, ignore, NULL);
    db_verdict_failed_nodes(w->tx, 0, ignore, NULL);
    db_verdict_resolve(w->tx, 999, 0, NULL);
    const struct verdict over = {.node_id = 999, .id = 1};
    db_verdict_resolve_like(w->tx, &over, NULL);
    db_verdict_set_fault(w->tx, 1);
    const struct node_report like = {.kind = REPORT_KIND_SUSPECTED, .reporter = "x"};
    int64_t same;
    db_node_report_count(w->tx, 999, &like, &newest, &same);
    db_node_report_end_expired(w->tx, 999, 1);
    decision.gates[0].result = GATE_RESULT_PASSED;
    db_decision_insert(w->tx, &decision);
    db_decision_last(w->tx, decision.node_id, &decision);
    db_decision_get_row(w->tx, decision.id, &decision);
    db_decision_list(w->tx, decision.node_id, 1, ignore, NULL);
    db_decision_set_operation(w->tx, decision.id, 1);
    const struct db_history history = {.verdicts_keep = 1, .decisions_keep = 1, .rows_max = 1};
    db_history_prune(w->tx, 999, &history, &count);
}

static void call_the_rest(struct world *w)
{
    struct event event = {0};
    struct token token = {.kind = TOKEN_KIND_API};
    db_event_insert(w->tx, &event);
    for (int i = 0; i < 16; i++) {
        struct db_event_filter filter = {.cluster = (i & 1) ? "c" : NULL,
                                         .node = (i & 2) ? "n" : NULL,
                                         .operation_id = (i & 4) ? 1 : 0,
                                         .newest_first = i & 8,
                                         .limit = 1};
        db_event_list(w->tx, &filter, ignore, NULL);
    }
    for (int i = 0; i < 2; i++) {
        const struct db_event_search search = {
            .cluster = &w->cluster, .group = "", .instance_id = "", .scope = -1, .descending = i == 1, .limit = 1};
        db_event_search(w->tx, &search, ignore, NULL);
    }
    db_event_get(w->tx, 1, &event);
    int64_t newest_at;
    db_event_newest_at(w->tx, &newest_at);
    db_event_prune(w->tx, 5);
    db_approval_asked_clusters(w->tx, ignore, NULL);
    db_token_insert(w->tx, &token);
    db_token_find(w->tx, token.hash, &token);
    db_token_list(w->tx, ignore, NULL);
    db_token_used(w->tx, 1, 1);
    db_token_prune(w->tx, 0);
    db_token_delete(w->tx, "x");
    struct access_key key = {.name = "x"};
    db_access_key_insert(w->tx, &key);
    db_access_key_get(w->tx, "x", &key);
    db_access_key_list(w->tx, ignore, NULL);
    db_access_key_used(w->tx, 1, 1);
    db_access_key_delete(w->tx, "x");
    db_node_delete(w->tx, 999);
    db_cluster_delete(w->tx, 999);
}

/* A part of the statement, and why it may do what the others may not. */
static const struct {
    const char *sql, *why;
} exceptions[] = {
    {"WHERE ?1 = 0 AND ?2 = '' AND (?3 = '' OR n.state", "all nodes are read at start"},
    {"ORDER BY n.id LIMIT", "a whole group in the order it was made: read at start"},
    {"FROM instance_group ORDER BY id", "all groups are read at start"},
    {"FROM credential ORDER BY node_id", "all credentials are read at start"},
    {"FROM scheduler_address WHERE reported = 1", "so is what was reported to the scheduler of addresses"},
    {"FROM scheduler_address WHERE node_id = ?1 AND reported = 0 UNION", "a slot's few addresses, each once"},
    {"SELECT DISTINCT v.node_id FROM verdict", "reads the index of the open verdicts, once at start"},
    {"FROM token ORDER BY id", "tokens are few"},
    {"FROM access_key ORDER BY id", "so are access keys"},
    {"FROM cluster WHERE instr(name", "and clusters"},
    {"DELETE FROM token WHERE expires_at", "tokens are few"},
    {"ORDER BY +id DESC", "active operations are few"},
    {"ORDER BY +v.id DESC", "open verdicts are few beside the past ones"},
    {"v.state = ?4", "past verdicts of all nodes: nearly all rows fit"},
    {"FROM verdict v WHERE v.node_id = ?1 AND v.state = 'open'", "the open verdicts of one node are few"},
    {"GROUP BY node_id ORDER BY last_received", "sorts what the index of critical verdicts holds of the last minutes"},
    {"GROUP BY i.image_id, i.release", "counts one group's images, once for each software update"},
    {"FROM hardware mine CROSS JOIN hardware theirs", "past repairs of one machine's pieces are few"},
    {"SELECT o.node_id FROM operation o WHERE o.cluster_id", "repairs of one cluster, for people who ask for lemons"},
    {"FROM hardware WHERE instance_row", "so are the pieces of one machine"},
    {"SELECT count(*) FROM machine", "machines of a site's own, counted when one is added"},
    {"count(*) OVER (PARTITION BY g.id)", "sorts the launches that wait for a machine"},
    {"FROM instance_group g JOIN node n", "people who ask how providers stand; groups are few"},
    {"FROM schema_migrations", "migrations are few"},
    {"FROM sqlite_master", "so are tables"},
};

static bool excepted(const char *sql)
{
    for (size_t i = 0; i < ARRAY_LEN(exceptions); i++)
        if (strstr(sql, exceptions[i].sql) != NULL)
            return true;
    return false;
}

static bool step_is_costly(const char *step)
{
    return (strstr(step, "SCAN") != NULL && strstr(step, "CONSTANT") == NULL) || strstr(step, "TEMP B-TREE") != NULL;
}

/* A node's past is found from its own pieces; all operations of a state are as many as the fleet has had, and all runs of a cluster as
 * many as its nodes keep. */
static bool begins_at_the_wrong_end(const char *sql, const char *step)
{
    /* What only the nodes that are not in order can be, their index is for. */
    static const char *const of_few[][2] = {{"n.state <> 'ready'", "node_by_state"},
                                            {"n.health <> 'healthy'", "node_by_health"},
                                            {"n.reason <> ''", "node_with_reason"},
                                            {"(state <> 'ready' OR", "node_counts"}};
    for (size_t i = 0; i < ARRAY_LEN(of_few); i++)
        if (strstr(sql, of_few[i][0]) != NULL &&
            (strncmp(step, "SEARCH n ", 9) == 0 || strncmp(step, "SEARCH node ", 12) == 0) &&
            strstr(step, of_few[i][1]) == NULL)
            return true;
    bool of_a_state = strstr(sql, "WHERE ?1 = 0 AND state = ?2") != NULL || strstr(sql, "state IN ('pending'") != NULL;
    return (!of_a_state && strstr(step, "operation_by_state") != NULL) ||
           (strstr(sql, "r.finished_at = 0") != NULL && strstr(step, "deep_run_of_cluster") != NULL);
}

static void assert_plan(sqlite3 *sqlite, const char *sql)
{
    autofree char *explain = own_printf("EXPLAIN QUERY PLAN %s", sql);
    sqlite3_stmt *stmt = NULL;
    assert_int_equal(sqlite3_prepare_v2(sqlite, explain, -1, &stmt, NULL), SQLITE_OK);
    while (sqlite3_step(stmt) == SQLITE_ROW) {
        const char *step = (const char *)sqlite3_column_text(stmt, 3);
        if ((step_is_costly(step) && !excepted(sql)) || begins_at_the_wrong_end(sql, step))
            fail_msg("%s\n    in %s", step, sql);
    }
    sqlite3_finalize(stmt);
}

static void test_no_statement_reads_a_whole_table(void **state)
{
    struct world *w = *state;
    call_lists_of_fleet(w->tx);
    call_lists_of_work(w->tx);
    call_lists_of_checks(w->tx);
    call_lists_of_evidence(w);
    call_the_rest(w);
    int seen = 0;
    for (size_t i = 0; i < DB_STATEMENTS_MAX; i++) {
        const char *sql = w->tx->statements[i].sql;
        if (sql == NULL || strncmp(sql, "PRAGMA", 6) == 0)
            continue;
        assert_plan(w->tx->sqlite, sql);
        seen++;
    }
    assert_true(seen > 80);
    assert_true(w->tx->statement_count < DB_STATEMENTS_MAX * 3 / 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {WORLD_TEST(test_no_statement_reads_a_whole_table)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
