/* What somebody else changed in the store, into memory. */
#ifndef HOLDFAST_SERVER_RECONCILE_WORLD_RESYNC_H
#define HOLDFAST_SERVER_RECONCILE_WORLD_RESYNC_H

#include "server/service/service.h"

struct reconcile;

#define RESYNC_ROWS_MAX 500 /* rows read again in a turn after a wake */

/* Something that was changed is not read yet. */
bool reconcile_is_behind(const struct reconcile *r);
/* Reads what changed, piece by piece. True while there is more. */
bool reconcile_resync(struct reconcile *r);

#endif
