/*
 * Nodes that are quarantined in their scheduler while they are tested. What there was is written down before anything there is
 * touched, so that whoever goes on after a crash knows what to take back, and to what.
 *
 *   ASKED ──► NOTED ──► HELD ◄──► REFUSED
 */
#ifndef HOLDFAST_MODEL_QUARANTINE_H
#define HOLDFAST_MODEL_QUARANTINE_H

#include "base/enum.h"
#include "model/limits.h"

#include <stdbool.h>
#include <stdint.h>

#define QUARANTINE_STATE_LIST(X)                                           \
    X(ASKED, "asked")     /* nothing there was touched */                  \
    X(NOTED, "noted")     /* what there was is known: it may be touched */ \
    X(HELD, "held")       /* seen there as requested */                    \
    X(REFUSED, "refused") /* not all of it is: why says what */
enum quarantine_state {
#define X(SYMBOL, text) QUARANTINE_STATE_##SYMBOL,
    QUARANTINE_STATE_LIST(X)
#undef X
};
ENUM_DECLARE(quarantine_state);

/* What there was before us, as bits. The last two are of the scheduler as a whole, and the same in all rows. */
enum quarantine_had {
    QUARANTINE_HAD_FEATURE = 1 << 0,
    QUARANTINE_HAD_MEMBER = 1 << 1, /* the node was in the partition */
    QUARANTINE_HAD_PARTITION = 1 << 2,
    QUARANTINE_HAD_RESERVATION = 1 << 3,
};
#define QUARANTINE_HAD_SHARED (QUARANTINE_HAD_PARTITION | QUARANTINE_HAD_RESERVATION)

struct quarantine {
    int64_t node_id;
    char name[NODE_NAME_MAX_BYTES];
    bool wanted; /* else it is to be as it was, and then the row goes */
    enum quarantine_state state;
    int64_t had;
    char why[SENTENCE_MAX_BYTES];
};

#endif
