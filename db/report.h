/* What agents reported of the work of an operation: lifecycle scripts and resets of devices. */
#ifndef HOLDFAST_DB_REPORT_H
#define HOLDFAST_DB_REPORT_H

#include "db/db.h"
#include "model/lifecycle.h"

/* EXISTS: it was reported before. */
int db_operation_report_add(struct db_tx *tx, int64_t operation_id, const struct lifecycle_report *report, int64_t at);
int db_operation_report_count(struct db_tx *tx, int64_t operation_id, int64_t *ret_count);

#endif
