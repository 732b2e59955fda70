/* What the store knows of itself, by name. */
#ifndef HOLDFAST_DB_FACT_H
#define HOLDFAST_DB_FACT_H

#include "db/db.h"

#define DB_FACT_MAX_BYTES 80
/* "in use" while an hpd works with it, "closed" after its end, "backup" in a copy that db_backup made. */
#define DB_FACT_STATE "state"
#define DB_FACT_STATE_IN_USE "in use"
#define DB_FACT_STATE_CLOSED "closed"
#define DB_FACT_STATE_BACKUP "backup"
/* The fingerprint of the key that seals the secrets in it. */
#define DB_FACT_SEAL_KEY "seal key"

/* "" when there is none of the name. */
int db_fact_get(struct db_tx *tx, const char *name, char ret_value[DB_FACT_MAX_BYTES]);
int db_fact_put(struct db_tx *tx, const char *name, const char *value);

#endif
