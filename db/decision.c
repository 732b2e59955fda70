/*
 * Decisions with the gates they passed and the verdicts they stand on, so that each can be explained for as long as
 * the node exists.
 */
#include "db/intern.h"
#include "db/verdict.h"

#define DECISION_SELECT                                                                                             \
    "SELECT id, node_id, at, action, urgency, rule, code, device, sentence, refused, refused_why, evidence_count, " \
    "retry_at, operation_id, table_version, fault_class, "                                                          \
    "policy_version, job_signal, job_wait_ms FROM decision "

static const char SQL_INSERT[] =
    "INSERT INTO decision (node_id, at, action, urgency, rule, code, device, sentence, refused, refused_why, "
    "evidence_count, newest_verdict, retry_at, operation_id, table_version, fault_class, policy_version, job_signal, "
    "job_wait_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
static const char SQL_GATE_INSERT[] =
    "INSERT INTO decision_gate (decision_id, gate, result, detail) VALUES (?, ?, ?, ?)";
static const char SQL_EVIDENCE_INSERT[] =
    "INSERT INTO decision_evidence (decision_id, ordinal, verdict_id) VALUES (?, ?, ?)";
static const char SQL_GATES[] = "SELECT gate, result, detail FROM decision_gate WHERE decision_id = ?";
static const char SQL_EVIDENCE[] = "SELECT verdict_id FROM decision_evidence WHERE decision_id = ? ORDER BY ordinal";
static const char SQL_SET_OPERATION[] = "UPDATE decision SET operation_id = ? WHERE id = ?";
static const char SQL_GET_ROW[] = DECISION_SELECT "WHERE id = ?";
static const char SQL_LIST[] = DECISION_SELECT "WHERE node_id = ? ORDER BY id DESC LIMIT ?";

static int listed(const struct decision *decision)
{
    return decision->evidence_count < DECISION_EVIDENCE_MAX ? decision->evidence_count : DECISION_EVIDENCE_MAX;
}

/* What the decision has looked at, for db_verdict_undecided_nodes: at least the newest verdict it stands on. */
static int64_t newest_verdict(const struct decision *decision)
{
    int64_t newest = 0;
    for (int i = 0; i < listed(decision); i++)
        if (decision->evidence[i] > newest)
            newest = decision->evidence[i];
    return newest;
}

/* --- reading ------------------------------------------------------------------------------------- */

static int gates_read(struct db_tx *tx, struct decision *decision)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_GATES);
    db_bind_i64(&q, decision->id);
    memset(decision->gates, 0, sizeof(decision->gates));
    int status;
    while ((status = db_query_next(&q)) == 1) {
        enum gate gate = GATE_FRESH;
        DB_GET_ENUM(&q, gate, &gate);
        DB_GET_ENUM(&q, gate_result, &decision->gates[gate].result);
        DB_GET_TEXT(&q, decision->gates[gate].detail);
    }
    return status;
}

static int evidence_read(struct db_tx *tx, struct decision *decision)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_EVIDENCE);
    db_bind_i64(&q, decision->id);
    memset(decision->evidence, 0, sizeof(decision->evidence));
    int status;
    for (int i = 0; (status = db_query_next(&q)) == 1; i++) {
        if (i == DECISION_EVIDENCE_MAX)
            return STATUS_IO;
        decision->evidence[i] = db_get_i64(&q);
    }
    return status;
}

static void decision_read(struct db_query *q, void *row)
{
    struct decision *decision = row;
    decision->id = db_get_i64(q);
    decision->node_id = db_get_i64(q);
    decision->at = db_get_i64(q);
    DB_GET_ENUM(q, action, &decision->action);
    DB_GET_ENUM(q, urgency, &decision->urgency);
    DB_GET_TEXT(q, decision->rule);
    DB_GET_TEXT(q, decision->code);
    DB_GET_TEXT(q, decision->device);
    DB_GET_TEXT(q, decision->sentence);
    DB_GET_ENUM(q, action, &decision->refused);
    DB_GET_TEXT(q, decision->refused_why);
    decision->evidence_count = (int)db_get_i64(q);
    decision->retry_at = db_get_i64(q);
    decision->operation_id = db_get_i64(q);
    DB_GET_TEXT(q, decision->table_version);
    DB_GET_ENUM(q, fault_class, &decision->fault);
    decision->policy_version = db_get_i64(q);
    DB_GET_ENUM(q, job_signal, &decision->job_signal);
    decision->job_wait_ms = db_get_i64(q);
    int status = gates_read(q->tx, decision);
    if (status == 0)
        status = evidence_read(q->tx, decision);
    if (status < 0)
        db_query_fail(q, status);
}

int db_decision_last(struct db_tx *tx, int64_t node_id, struct decision *ret_decision)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_LIST);
    db_bind_i64(&q, node_id);
    db_bind_limit(&q, 1);
    return db_query_take(&q, decision_read, ret_decision);
}

int db_decision_get_row(struct db_tx *tx, int64_t id, struct decision *ret_decision)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_GET_ROW);
    db_bind_i64(&q, id);
    return db_query_take(&q, decision_read, ret_decision);
}

int db_decision_list(struct db_tx *tx, int64_t node_id, int limit, db_row_fn fn, void *arg)
{
    struct decision decision;
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_LIST);
    db_bind_i64(&q, node_id);
    db_bind_limit(&q, limit);
    return db_query_walk(&q, decision_read, &decision, fn, arg);
}

/* --- writing ------------------------------------------------------------------------------------- */

static int row_insert(struct db_tx *tx, const struct decision *decision, int64_t *ret_id)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_INSERT);
    db_bind_i64(&q, decision->node_id);
    db_bind_i64(&q, decision->at);
    db_bind_text(&q, action_text(decision->action));
    db_bind_text(&q, urgency_text(decision->urgency));
    db_bind_text(&q, decision->rule);
    db_bind_text(&q, decision->code);
    db_bind_text(&q, decision->device);
    db_bind_text(&q, decision->sentence);
    db_bind_text(&q, action_text(decision->refused));
    db_bind_text(&q, decision->refused_why);
    db_bind_i64(&q, decision->evidence_count);
    db_bind_i64(&q, newest_verdict(decision));
    db_bind_i64(&q, decision->retry_at);
    db_bind_row(&q, decision->operation_id);
    db_bind_text(&q, decision->table_version);
    db_bind_text(&q, fault_class_text(decision->fault));
    db_bind_i64(&q, decision->policy_version);
    db_bind_text(&q, job_signal_text(decision->job_signal));
    db_bind_i64(&q, decision->job_wait_ms);
    return db_query_insert(&q, ret_id);
}

static int gate_insert(struct db_tx *tx, int64_t id, const struct decision *decision, enum gate gate)
{
    /* A gate that was not asked has nothing to say and no row. */
    if (decision->gates[gate].result == GATE_RESULT_NOT_ASKED && decision->gates[gate].detail[0] == '\0')
        return 0;
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_GATE_INSERT);
    db_bind_i64(&q, id);
    db_bind_text(&q, gate_text(gate));
    db_bind_text(&q, gate_result_text(decision->gates[gate].result));
    db_bind_text(&q, decision->gates[gate].detail);
    return db_query_run(&q, NULL);
}

static int evidence_insert(struct db_tx *tx, int64_t id, int ordinal, int64_t verdict_id)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_EVIDENCE_INSERT);
    db_bind_i64(&q, id);
    db_bind_i64(&q, ordinal);
    db_bind_i64(&q, verdict_id);
    return db_query_run(&q, NULL);
}

int db_decision_insert(struct db_tx *tx, struct decision *decision)
{
    int64_t id = 0;
    int status = row_insert(tx, decision, &id);
    for (int gate = 0; gate < GATE_COUNT && status == 0; gate++)
        status = gate_insert(tx, id, decision, (enum gate)gate);
    for (int i = 0; i < listed(decision) && status == 0; i++)
        status = evidence_insert(tx, id, i, decision->evidence[i]);
    if (status == 0)
        decision->id = id;
    return status;
}

int db_decision_set_operation(struct db_tx *tx, int64_t decision_id, int64_t operation_id)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_SET_OPERATION);
    db_bind_row(&q, operation_id);
    db_bind_i64(&q, decision_id);
    return db_query_hit(&q);
}
