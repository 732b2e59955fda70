/*
 * The audit log: added to at its end, read from its end. By cluster and by actor it is found through an index; what else
 * a reader asks for is looked for along the way.
 */
#include "db/audit.h"

#include "db/intern.h"

#define AUDIT_SELECT                                                                                               \
    "SELECT id, at, operation, actor, credential, peer, cluster, resource, request_id, outcome, code, count FROM " \
    "audit "
/* ?1 cluster, ?2 actor, ?3 operation, ?4 a part of the resource, ?5 outcome ("" each: any), ?6 and ?7 the window,
 * ?8 the cursor, ?9 limit. */
#define AUDIT_REST                                                              \
    "AND (?3 = '' OR operation = ?3) AND (?4 = '' OR instr(resource, ?4) > 0) " \
    "AND (?5 = '' OR outcome = ?5) AND at > ?6 AND at < ?7 AND id < ?8 ORDER BY id DESC LIMIT ?9"

static const char SQL_INSERT[] =
    "INSERT INTO audit (at, operation, actor, credential, peer, cluster, resource, request_id, outcome, code, count) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
static const char SQL_ALL[] = AUDIT_SELECT "WHERE ?1 = '' AND ?2 = '' " AUDIT_REST;
static const char SQL_OF_CLUSTER[] = AUDIT_SELECT "WHERE cluster = ?1 AND (?2 = '' OR actor = ?2) " AUDIT_REST;
static const char SQL_OF_ACTOR[] = AUDIT_SELECT "WHERE actor = ?2 AND ?1 = '' " AUDIT_REST;

static void audit_read(struct db_query *q, void *row)
{
    struct audit *audit = row;
    audit->id = db_get_i64(q);
    audit->at = db_get_i64(q);
    DB_GET_TEXT(q, audit->operation);
    DB_GET_TEXT(q, audit->actor);
    DB_GET_TEXT(q, audit->credential);
    DB_GET_TEXT(q, audit->peer);
    DB_GET_TEXT(q, audit->cluster);
    DB_GET_TEXT(q, audit->resource);
    DB_GET_TEXT(q, audit->request_id);
    DB_GET_ENUM(q, audit_outcome, &audit->outcome);
    DB_GET_TEXT(q, audit->code);
    audit->count = db_get_i64(q);
}

int db_audit_insert(struct db_tx *tx, struct audit *audit)
{
    if (audit->at == 0)
        audit->at = clock_wall_ms(db_tx_clock(tx));
    if (audit->count == 0)
        audit->count = 1;
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_INSERT);
    db_bind_i64(&q, audit->at);
    db_bind_text(&q, audit->operation);
    db_bind_text(&q, audit->actor);
    db_bind_text(&q, audit->credential);
    db_bind_text(&q, audit->peer);
    db_bind_text(&q, audit->cluster);
    db_bind_text(&q, audit->resource);
    db_bind_text(&q, audit->request_id);
    db_bind_text(&q, audit_outcome_text(audit->outcome));
    db_bind_text(&q, audit->code);
    db_bind_i64(&q, audit->count);
    return db_query_insert(&q, &audit->id);
}

int db_audit_list(struct db_tx *tx, const struct db_audit_filter *filter, db_row_fn fn, void *arg)
{
    struct audit audit;
    const char *sql = filter->cluster[0] != '\0' ? SQL_OF_CLUSTER : filter->actor[0] != '\0' ? SQL_OF_ACTOR : SQL_ALL;
    auto_query struct db_query q;
    db_query_open(&q, tx, sql);
    db_bind_text(&q, filter->cluster);
    db_bind_text(&q, filter->actor);
    db_bind_text(&q, filter->operation);
    db_bind_text(&q, filter->resource);
    db_bind_text(&q, filter->outcome < 0 ? "" : audit_outcome_text((enum audit_outcome)filter->outcome));
    db_bind_i64(&q, filter->after_at > 0 ? filter->after_at : -1);
    db_bind_i64(&q, filter->before_at > 0 ? filter->before_at : INT64_MAX);
    db_bind_i64(&q, filter->before_id > 0 ? filter->before_id : INT64_MAX);
    db_bind_limit(&q, filter->limit);
    return db_query_walk(&q, audit_read, &audit, fn, arg);
}
