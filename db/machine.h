/* Machines that a site owns, and what each was. */
#ifndef HOLDFAST_DB_MACHINE_H
#define HOLDFAST_DB_MACHINE_H

#include "db/db.h"
#include "model/machine.h"

int db_machine_insert(struct db_tx *tx, struct machine *machine); /* fills id; EXISTS */
/* What is only in memory (seen_at) is 0. */
int db_machine_get(struct db_tx *tx, const char *name, struct machine *ret_machine);
int db_machine_get_row(struct db_tx *tx, int64_t id, struct machine *ret_machine);
/* All but the name; of its use which one it is. */
int db_machine_update(struct db_tx *tx, const struct machine *machine);

struct db_machine_filter {
    const char *provider;   /* NULL or "": any */
    int state;              /* enum machine_state, or -1 */
    const char *after_name; /* cursor; NULL or "" starts */
    int limit;              /* 0: no limit */
};
/* By name. */
int db_machine_list(struct db_tx *tx, const struct db_machine_filter *filter, db_row_fn fn, void *arg);
int db_machine_count(struct db_tx *tx, int64_t *ret_count);

int db_machine_use_insert(struct db_tx *tx, struct machine_use *use); /* fills id; EXISTS for a used key or instance */
int db_machine_use_update(struct db_tx *tx, const struct machine_use *use);
int db_machine_use_by_key(struct db_tx *tx, const char *launch_key, struct machine_use *ret_use);
int db_machine_use_by_instance(struct db_tx *tx, const char *instance_id, struct machine_use *ret_use);
/* Of a machine, the newest first. */
int db_machine_use_list(struct db_tx *tx, int64_t machine_id, int limit, db_row_fn fn, void *arg);
/* The newest of a slot that has ended; NOT_FOUND. */
int db_machine_use_before(struct db_tx *tx, int64_t node_id, struct machine_use *ret_use);

/* How often it went to the bench for a fault after this time. */
int db_machine_use_faults(struct db_tx *tx, int64_t machine_id, int64_t since, int64_t *ret_count);

/* Launches under way of groups with this provider that have no machine yet; type "": of any. Rows are struct machine_demand. */
int db_machine_demands(struct db_tx *tx, const char *provider, const char *type, db_row_fn fn, void *arg);

#endif
