/* Whether a job that resumes by itself had a node when it broke. */
#ifndef HOLDFAST_SERVER_RECONCILE_DECIDE_AUTO_RESUME_H
#define HOLDFAST_SERVER_RECONCILE_DECIDE_AUTO_RESUME_H

#include "policy/faults/faults.h"

struct db_tx;
struct decide_item;

int reconcile_read_auto_resume(struct db_tx *tx, struct decide_item *item, const struct fault_scope *faults);

#endif
