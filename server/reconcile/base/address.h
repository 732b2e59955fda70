/* What the loop remembers of where a scheduler was told that a node lives: keep/address.c goes by it. */
#ifndef HOLDFAST_SERVER_RECONCILE_BASE_ADDRESS_H
#define HOLDFAST_SERVER_RECONCILE_BASE_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

struct raddress {
    char *told;
    char *shown;       /* otherwise, in the last snapshot; NULL: it shows what was told */
    uint64_t told_seq; /* older snapshots say nothing */
    int64_t again_at, pause_ms;
    bool queued, in_flight;
    bool foreign;       /* what is shown is no earlier machine's */
    char *host;         /* the machine's name in the last snapshot, if it has to be looked at */
    char *host_settled; /* nothing is to be done where this one is shown: it is the machine's own, or somebody's */
    int64_t host_again_at, nameless_ms;
};

void reconcile_address_free(struct raddress *address); /* accepts NULL */

#endif
