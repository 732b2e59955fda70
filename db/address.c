/*
 * Where the scheduler looks for the machines of slots. A slot has one row that was reported to it, the present machine's, and one for
 * each address that it had before; what agents reported of machines before is in their own rows.
 */
#include "db/address.h"

#include "db/intern.h"

static const char SQL_ASK[] =
    "INSERT INTO scheduler_address (node_id, address, reported) VALUES (?, ?, 0) ON CONFLICT DO NOTHING";
static const char SQL_REPORTED[] = "INSERT INTO scheduler_address (node_id, address, reported) VALUES (?, ?, 1) "
                                   "ON CONFLICT DO UPDATE SET reported = 1";
static const char SQL_DROP[] = "DELETE FROM scheduler_address WHERE node_id = ? AND address = ? AND reported = 0";
static const char SQL_LEAVE[] = "UPDATE scheduler_address SET reported = 0 WHERE node_id = ? AND reported = 1";
static const char SQL_LIST_REPORTED[] = "SELECT node_id, address FROM scheduler_address WHERE reported = 1";
static const char SQL_LIST_PAST[] =
    "SELECT node_id, address FROM scheduler_address WHERE node_id = ?1 AND reported = 0 "
    "UNION SELECT i.node_id, i.address FROM instance i JOIN node n ON n.id = i.node_id "
    "WHERE i.node_id = ?1 AND i.address != '' AND i.id IS NOT n.instance_row";

static const char SQL_HOST[] = "SELECT h.kind, h.detail FROM node n JOIN hardware h ON h.instance_row = n.instance_row "
                               "AND h.kind = 'host-name' AND h.present = 1 WHERE n.id = ?";
static const char SQL_HOST_IS_PAST[] =
    "SELECT EXISTS (SELECT 1 FROM node n JOIN instance i ON i.node_id = n.id AND i.id IS NOT n.instance_row "
    "JOIN hardware h ON h.instance_row = i.id AND h.kind = 'host-name' AND h.detail = ?2 WHERE n.id = ?1)";

static int put(struct db_tx *tx, const char *sql, int64_t node_id, const char *address, int64_t *ret_changed)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, sql);
    db_bind_i64(&q, node_id);
    db_bind_text(&q, address);
    return db_query_run(&q, ret_changed);
}

int db_address_ask(struct db_tx *tx, int64_t node_id, const char *address)
{
    int64_t changed = 0;
    int status = put(tx, SQL_ASK, node_id, address, &changed);
    return status == 0 && changed == 0 ? STATUS_EXISTS : status;
}

int db_address_tell(struct db_tx *tx, int64_t node_id, const char *address, const char *before)
{
    int status = db_address_leave(tx, node_id);
    if (status == 0 && before[0] != '\0')
        status = put(tx, SQL_ASK, node_id, before, NULL);
    return status != 0 ? status : put(tx, SQL_REPORTED, node_id, address, NULL);
}

int db_address_drop(struct db_tx *tx, int64_t node_id, const char *address)
{
    return put(tx, SQL_DROP, node_id, address, NULL);
}

int db_address_leave(struct db_tx *tx, int64_t node_id)
{
    return db_run_i64(tx, SQL_LEAVE, node_id, NULL);
}

static void address_read(struct db_query *q, void *row)
{
    struct address_row *address = row;
    address->node_id = db_get_i64(q);
    DB_GET_TEXT(q, address->address);
}

int db_address_list_reported(struct db_tx *tx, db_row_fn fn, void *arg)
{
    struct address_row row;
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_LIST_REPORTED);
    return db_query_walk(&q, address_read, &row, fn, arg);
}

int db_address_list_former(struct db_tx *tx, int64_t node_id, db_row_fn fn, void *arg)
{
    struct address_row row;
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_LIST_PAST);
    db_bind_i64(&q, node_id);
    return db_query_walk(&q, address_read, &row, fn, arg);
}

static void host_read(struct db_query *q, void *row)
{
    struct hardware *name = row;
    DB_GET_ENUM(q, hardware_kind, &name->kind);
    DB_GET_TEXT(q, name->detail);
}

int db_address_host(struct db_tx *tx, int64_t node_id, struct hardware *ret_name)
{
    return db_take_i64(tx, SQL_HOST, node_id, host_read, ret_name);
}

static void bool_read(struct db_query *q, void *row)
{
    *(bool *)row = db_get_i64(q) != 0;
}

int db_address_host_is_former(struct db_tx *tx, int64_t node_id, const char *host, bool *ret_former)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_HOST_IS_PAST);
    db_bind_i64(&q, node_id);
    db_bind_text(&q, host);
    return db_query_take(&q, bool_read, ret_former);
}
