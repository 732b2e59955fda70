/*
 * Decisions with the gates they passed and the verdicts they stand on, so that each can be explained for as long as
 * the node exists.
 *
 * A decision is one row: nobody asks for a gate or a verdict without its decision, and rows of their own for them were most of what a
 * decision cost. Gates are lines of "GATE RESULT BYTES DETAIL", the count because a detail may be any text; evidence is numbers.
 */
#include "base/text.h"
#include "db/intern.h"
#include "db/verdict.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define WORD_MAX_BYTES 32   /* the name of a gate or of a result */
#define NUMBER_MAX_BYTES 22 /* a number, a space and a zero */
#define GATES_MAX_BYTES (GATE_COUNT * (2 * WORD_MAX_BYTES + NUMBER_MAX_BYTES + REASON_MAX_BYTES + 1))
#define EVIDENCE_MAX_BYTES (DECISION_EVIDENCE_MAX * NUMBER_MAX_BYTES)

#define DECISION_SELECT                                                                                             \
    "SELECT id, node_id, at, action, urgency, rule, code, device, sentence, refused, refused_why, evidence_count, " \
    "retry_at, operation_id, table_version, fault_class, "                                                          \
    "policy_version, job_signal, job_wait_ms, group_desired, group_failing, group_healthy, group_in_repair, "       \
    "group_in_repair_alike, gates, evidence, beside FROM decision "

static const char SQL_INSERT[] =
    "INSERT INTO decision (node_id, at, action, urgency, rule, code, device, sentence, refused, refused_why, "
    "evidence_count, newest_verdict, retry_at, operation_id, table_version, fault_class, policy_version, job_signal, "
    "job_wait_ms, group_desired, group_failing, group_healthy, group_in_repair, group_in_repair_alike, gates, "
    "evidence, beside) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
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

/* The word up to the next space of what is left; NULL when there is none. */
static const char *take_word(const char **at, const char *end, char ret_word[WORD_MAX_BYTES])
{
    const char *space = memchr(*at, ' ', (size_t)(end - *at));
    if (space == NULL || text_copy_bytes(ret_word, WORD_MAX_BYTES, *at, (size_t)(space - *at)) != 0)
        return NULL;
    *at = space + 1;
    return ret_word;
}

static bool gate_read(const char **at, const char *end, struct decision *decision)
{
    char name[WORD_MAX_BYTES], result[WORD_MAX_BYTES], bytes[WORD_MAX_BYTES];
    enum gate gate;
    int64_t len;
    if (take_word(at, end, name) == NULL || take_word(at, end, result) == NULL || take_word(at, end, bytes) == NULL ||
        gate_parse(name, &gate) != 0 || gate_result_parse(result, &decision->gates[gate].result) != 0 ||
        text_parse_i64(bytes, 0, REASON_MAX_BYTES - 1, &len) != 0 || len >= end - *at || (*at)[len] != '\n')
        return false;
    memcpy(decision->gates[gate].detail, *at, (size_t)len);
    decision->gates[gate].detail[len] = '\0';
    *at += len + 1;
    return true;
}

static void gates_read(struct db_query *q, struct decision *decision)
{
    memset(decision->gates, 0, sizeof(decision->gates));
    size_t len;
    const char *at = db_get_bytes(q, &len), *end = at + len;
    while (at < end)
        if (!gate_read(&at, end, decision)) {
            db_query_fail(q, STATUS_IO);
            return;
        }
}

static void evidence_read(struct db_query *q, struct decision *decision)
{
    memset(decision->evidence, 0, sizeof(decision->evidence));
    char *at = NULL;
    const char *text = db_get_word(q);
    for (int i = 0; *text != '\0'; i++, text = at) {
        int64_t id = strtoll(text, &at, 10);
        if (i == DECISION_EVIDENCE_MAX || at == text) {
            db_query_fail(q, STATUS_IO);
            return;
        }
        decision->evidence[i] = id;
    }
}

static void decision_read(struct db_query *q, void *row)
{
    struct decision *decision = row;
    decision->id = db_get_i64(q);
    decision->node_id = db_get_i64(q);
    decision->at = db_get_i64(q);
    DB_GET_ENUM(q, action, &decision->action);
    DB_GET_ENUM(q, urgency, &decision->urgency);
    if (decision_rule_parse(db_get_word(q), &decision->rule) < 0)
        decision->rule = RULE_FORMER;
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
    decision->group.desired = db_get_i64(q);
    decision->group.failing = db_get_i64(q);
    decision->group.healthy = db_get_i64(q);
    decision->group.in_repair = db_get_i64(q);
    decision->group.in_repair_alike = db_get_i64(q);
    gates_read(q, decision);
    evidence_read(q, decision);
    DB_GET_TEXT(q, decision->beside);
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
    return db_take_i64(tx, SQL_GET_ROW, id, decision_read, ret_decision);
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

static char *add(char *at, const char *text, size_t len, char last)
{
    memcpy(at, text, len);
    at[len] = last;
    return at + len + 1;
}

static void gates_write(const struct decision *decision, char ret_text[GATES_MAX_BYTES])
{
    char *at = ret_text, bytes[NUMBER_MAX_BYTES];
    for (int gate = 0; gate < GATE_COUNT; gate++) {
        const enum gate_result result = decision->gates[gate].result;
        const char *name = gate_text((enum gate)gate), *detail = decision->gates[gate].detail;
        /* A gate that was not asked has nothing to say and no line. */
        if (result == GATE_RESULT_NOT_ASKED && detail[0] == '\0')
            continue;
        size_t len = strlen(detail);
        at = add(at, name, strlen(name), ' ');
        at = add(at, gate_result_text(result), strlen(gate_result_text(result)), ' ');
        at = add(at, bytes, (size_t)snprintf(bytes, sizeof(bytes), "%zu", len), ' ');
        at = add(at, detail, len, '\n');
    }
    *at = '\0';
}

static void evidence_write(const struct decision *decision, char ret_text[EVIDENCE_MAX_BYTES])
{
    char *at = ret_text;
    ret_text[0] = '\0';
    for (int i = 0; i < listed(decision); i++)
        at += snprintf(at, NUMBER_MAX_BYTES, i == 0 ? "%" PRId64 : " %" PRId64, decision->evidence[i]);
}

int db_decision_insert(struct db_tx *tx, struct decision *decision)
{
    char gates[GATES_MAX_BYTES], evidence[EVIDENCE_MAX_BYTES];
    gates_write(decision, gates);
    evidence_write(decision, evidence);
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_INSERT);
    db_bind_i64(&q, decision->node_id);
    db_bind_i64(&q, decision->at);
    db_bind_text(&q, action_text(decision->action));
    db_bind_text(&q, urgency_text(decision->urgency));
    db_bind_text(&q, decision_rule_text(decision->rule));
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
    db_bind_i64(&q, decision->group.desired);
    db_bind_i64(&q, decision->group.failing);
    db_bind_i64(&q, decision->group.healthy);
    db_bind_i64(&q, decision->group.in_repair);
    db_bind_i64(&q, decision->group.in_repair_alike);
    db_bind_text(&q, gates);
    db_bind_text(&q, evidence);
    db_bind_text(&q, decision->beside);
    return db_query_insert(&q, &decision->id);
}

int db_decision_set_operation(struct db_tx *tx, int64_t decision_id, int64_t operation_id)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_SET_OPERATION);
    db_bind_row(&q, operation_id);
    db_bind_i64(&q, decision_id);
    return db_query_hit(&q);
}
