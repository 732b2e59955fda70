/* What the store knows of itself (migrations/0057_store_fact.sql). */
#include "db/fact.h"
#include "db/intern.h"

static const char SQL_GET[] = "SELECT value FROM store_fact WHERE name = ?";
static const char SQL_PUT[] = "INSERT INTO store_fact (name, value) VALUES (?, ?) "
                              "ON CONFLICT (name) DO UPDATE SET value = excluded.value";

int db_fact_get(struct db_tx *tx, const char *name, char ret_value[DB_FACT_MAX_BYTES])
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_GET);
    db_bind_text(&q, name);
    int status = db_query_one(&q);
    ret_value[0] = '\0';
    if (status == 0) {
        db_get_text(&q, ret_value, DB_FACT_MAX_BYTES);
        status = db_query_status(&q);
    }
    return status == STATUS_NOT_FOUND ? 0 : status;
}

int db_fact_put(struct db_tx *tx, const char *name, const char *value)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_PUT);
    db_bind_text(&q, name);
    db_bind_text(&q, value);
    return db_query_run(&q, NULL);
}
