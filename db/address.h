/* Where the scheduler was told that the machines of slots live, and where those before them lived. */
#ifndef HOLDFAST_DB_ADDRESS_H
#define HOLDFAST_DB_ADDRESS_H

#include "db/db.h"
#include "model/hardware.h"
#include "model/model.h"

struct address_row {
    int64_t node_id;
    char address[ADDRESS_MAX_BYTES];
};

/* It is about to be told. EXISTS when that was so before: whether it was told then is not known. */
int db_address_ask(struct db_tx *tx, int64_t node_id, const char *address);
/* It was told; before is what the scheduler showed until then, "" or the same where that is not known. */
int db_address_tell(struct db_tx *tx, int64_t node_id, const char *address, const char *before);
/* It was not told: nothing is known of it but that somebody else may have. */
int db_address_drop(struct db_tx *tx, int64_t node_id, const char *address);
/* The machine is gone: its address is one of those before. */
int db_address_leave(struct db_tx *tx, int64_t node_id);

/* What was told of the machines that fill their slots; rows are struct address_row. */
int db_address_list_reported(struct db_tx *tx, db_row_fn fn, void *arg);
/* Addresses of machines that filled the slot before, whoever said so; rows are struct address_row. */
int db_address_list_former(struct db_tx *tx, int64_t node_id, db_row_fn fn, void *arg);

/* What the agent of the machine in the slot told of its name. NOT_FOUND. */
int db_address_host(struct db_tx *tx, int64_t node_id, struct hardware *ret_name);
/* Whether an earlier machine of the slot had that name. */
int db_address_host_is_former(struct db_tx *tx, int64_t node_id, const char *host, bool *ret_former);

#endif
