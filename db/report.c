/* Reports on an operation's work: a row for each state of each attempt, so that a repeat is known however much was told meanwhile. */
#include "db/report.h"

#include "db/intern.h"

static const char SQL_ADD[] =
    "INSERT INTO operation_report (operation_id, script, attempt, state, at) VALUES (?, ?, ?, ?, ?) "
    "ON CONFLICT DO NOTHING";
static const char SQL_COUNT[] = "SELECT count(*) FROM operation_report WHERE operation_id = ?";

int db_operation_report_add(struct db_tx *tx, int64_t operation_id, const struct lifecycle_report *report, int64_t at)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_ADD);
    db_bind_i64(&q, operation_id);
    db_bind_text(&q, report->script);
    db_bind_i64(&q, report->attempt);
    db_bind_text(&q, script_state_text(report->state));
    db_bind_i64(&q, at);
    int status = db_query_hit(&q);
    return status == STATUS_NOT_FOUND ? STATUS_EXISTS : status;
}

int db_operation_report_count(struct db_tx *tx, int64_t operation_id, int64_t *ret_count)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_COUNT);
    db_bind_i64(&q, operation_id);
    int status = db_query_one(&q);
    if (status == 0)
        *ret_count = db_get_i64(&q);
    return status;
}
