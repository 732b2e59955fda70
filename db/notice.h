/* What a provider says of its machines, beside the verdicts that it is. */
#ifndef HOLDFAST_DB_NOTICE_H
#define HOLDFAST_DB_NOTICE_H

#include "db/db.h"
#include "model/notice.h"

/* One of a machine in one of its boots: a machine that has booted since is looked at anew. */
struct notice {
    int64_t verdict_id;
    char provider[NAME_MAX_BYTES], id[NOTICE_ID_MAX_BYTES];
    char instance_id[ID_INSTANCE_MAX], boot_id[BOOT_ID_MAX_BYTES];
    int64_t due_at; /* 0: it names no date */
};

int db_notice_insert(struct db_tx *tx, const struct notice *notice);
int db_notice_set_due(struct db_tx *tx, int64_t verdict_id, int64_t due_at);
int db_notice_delete(struct db_tx *tx, int64_t verdict_id); /* NOT_FOUND */
/* By all but its verdict and its date, which are filled in. NOT_FOUND. */
int db_notice_find(struct db_tx *tx, struct notice *notice);
/* Those of the provider without the planned reboots (no boot_id) whose verdicts are no longer open: rows are struct notice. */
int db_notice_list_pending(struct db_tx *tx, const char *provider, db_row_fn fn, void *arg);

#endif
