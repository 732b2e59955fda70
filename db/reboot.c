/* The rows of a reboot: a try is written when it begins, and again under its number with what became of it. */
#include "db/reboot.h"

#include "db/intern.h"

static const char SQL_WRITE[] =
    "INSERT INTO reboot_try (operation_id, number, method, outcome, began_at, accepted_at, deadline_at, ended_at, "
    "detail) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET outcome = excluded.outcome, "
    "accepted_at = excluded.accepted_at, deadline_at = excluded.deadline_at, ended_at = excluded.ended_at, "
    "detail = excluded.detail";
static const char SQL_LIST[] = "SELECT number, method, outcome, began_at, accepted_at, deadline_at, ended_at, detail "
                               "FROM reboot_try WHERE operation_id = ? ORDER BY number";

int db_reboot_try_write(struct db_tx *tx, int64_t operation_id, const struct reboot_try *one)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_WRITE);
    db_bind_i64(&q, operation_id);
    db_bind_i64(&q, one->number);
    db_bind_text(&q, reboot_method_text(one->method));
    db_bind_text(&q, reboot_outcome_text(one->outcome));
    db_bind_i64(&q, one->began_at);
    db_bind_i64(&q, one->accepted_at);
    db_bind_i64(&q, one->deadline_at);
    db_bind_i64(&q, one->ended_at);
    db_bind_text(&q, one->detail);
    return db_query_hit(&q);
}

static void try_read(struct db_query *q, struct reboot_try *one)
{
    one->number = (int)db_get_i64(q);
    DB_GET_ENUM(q, reboot_method, &one->method);
    DB_GET_ENUM(q, reboot_outcome, &one->outcome);
    one->began_at = db_get_i64(q);
    one->accepted_at = db_get_i64(q);
    one->deadline_at = db_get_i64(q);
    one->ended_at = db_get_i64(q);
    DB_GET_TEXT(q, one->detail);
}

int db_reboot_tries_read(struct db_tx *tx, int64_t operation_id, struct reboot_try ret_tries[REBOOT_TRIES_MAX],
                         int *ret_count)
{
    auto_query struct db_query q;
    int count = 0, status;
    db_query_open(&q, tx, SQL_LIST);
    db_bind_i64(&q, operation_id);
    while ((status = db_query_next(&q)) == 1) {
        if (count == REBOOT_TRIES_MAX)
            return STATUS_IO;
        try_read(&q, &ret_tries[count++]);
    }
    if (status == 0)
        status = db_query_status(&q);
    if (status == 0)
        *ret_count = count;
    return status;
}
