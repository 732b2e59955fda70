/* What instances are made of, and how their checks stand. Both go with the instance. */
#ifndef HOLDFAST_DB_HARDWARE_H
#define HOLDFAST_DB_HARDWARE_H

#include "db/db.h"
#include "model/hardware.h"
#include "model/model.h"

/* A piece that was seen at this time: kept since it was first seen in this instance. */
int db_hardware_put(struct db_tx *tx, int64_t instance_row, const struct hardware *hardware, int64_t at);
/* Those of the instance that were last seen before this are not there any more. */
int db_hardware_gone(struct db_tx *tx, int64_t instance_row, int64_t before);
/* Of an instance HARDWARE_STORED_MAX are kept, those that were seen last. */
int db_hardware_forget(struct db_tx *tx, int64_t instance_row);
/* Rows are struct hardware: the chassis first, then by kind and place; what is there before what is gone. */
int db_hardware_list(struct db_tx *tx, int64_t instance_row, db_row_fn fn, void *arg);

/* The keys by which the machines are known that fill a cluster's slots now. Rows are struct host_key, by the node's name, after
 * after_name ("" starts), at most limit (0: all); node "": of all. */
int db_host_key_list(struct db_tx *tx, int64_t cluster_id, const char *node, const char *after_name, int limit,
                     db_row_fn fn, void *arg);

/* A past repair of what is in this instance now, when it was in another one. */
struct db_hardware_repair {
    struct operation operation;     /* device: where the piece is now; "" for the chassis */
    char node[NODE_NAME_MAX_BYTES]; /* the slot of then */
};
/* Reboots and replacements of other instances that were begun since then for a piece that is in this one, or that gave up its
 * chassis without another piece to blame. Rows are struct db_hardware_repair, newest first; the operations have no steps. */
int db_hardware_repairs(struct db_tx *tx, int64_t instance_row, int64_t since_at, int limit, db_row_fn fn, void *arg);

/* at stays when the result does, in the same boot. */
int db_check_put(struct db_tx *tx, int64_t instance_row, const struct check_state *state);
int db_check_drop(struct db_tx *tx, int64_t instance_row, const char *name);
/* Rows are struct check_state, by name. */
int db_check_list(struct db_tx *tx, int64_t instance_row, db_row_fn fn, void *arg);
/* NOT_FOUND: the agent has no such check, or has not told of any. */
int db_check_get(struct db_tx *tx, int64_t instance_row, const char *name, struct check_state *ret_state);

#endif
