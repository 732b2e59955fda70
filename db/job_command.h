/* What people asked of training jobs, and what is not carried out yet. */
#ifndef HOLDFAST_DB_JOB_COMMAND_H
#define HOLDFAST_DB_JOB_COMMAND_H

#include "db/db.h"
#include "model/job_command.h"

/* Its id is answered. FULL where JOB_COMMANDS_MAX wait. */
int db_job_command_insert(struct db_tx *tx, struct job_command *command);
/* Of one scheduler, oldest first. */
int db_job_command_list(struct db_tx *tx, const char *scheduler, db_row_fn fn, void *arg);
int db_job_command_drop(struct db_tx *tx, int64_t id);

#endif
