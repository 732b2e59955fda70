/*
 * Machines that a site owns: what they are, and where each stands.
 *
 *              ┌─── given back, well ───┐
 *              ▼                        │
 *    ┌────► SPARE ──── taken ───────► IN_USE
 *    │         │                        │
 *  well    bench │                given back, broken
 *    │         ▼                        │
 *  BURN_IN ◄─returned─ BENCH ◄──────────┘
 *    │                   ▲
 *    └── failed ─────────┘        SPARE, BURN_IN, BENCH ──► RETIRED ─returned─► BURN_IN
 *
 * Only a spare is ever taken. A machine that was broken stays at the bench until a person returns it.
 */
#ifndef HOLDFAST_MODEL_MACHINE_H
#define HOLDFAST_MODEL_MACHINE_H

#include "base/enum.h"
#include "base/id.h"
#include "base/sm.h"
#include "model/limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MACHINE_STATE_LIST(X)                                          \
    X(SPARE, "spare")     /* free: the next launch may take it */      \
    X(IN_USE, "in-use")   /* it fills a slot */                        \
    X(BENCH, "bench")     /* broken: waits for a person */             \
    X(BURN_IN, "burn-in") /* repaired: it has to prove itself first */ \
    X(RETIRED, "retired") /* it left for good */
enum machine_state {
#define X(SYMBOL, text) MACHINE_STATE_##SYMBOL,
    MACHINE_STATE_LIST(X)
#undef X
        MACHINE_STATE_COUNT
};
ENUM_DECLARE(machine_state);
extern const struct sm machine_state_machine;

#define MACHINES_MAX 20000
#define MACHINE_PLACE_MAX_BYTES TOPOLOGY_NAME_MAX_BYTES /* a rack, a switch, a chassis */
#define MACHINE_SERIAL_MAX_BYTES 64
#define MACHINE_BMC_MAX_BYTES 256        /* an address, or a URL such as https://10.1.0.7/redfish/v1/Systems/1 */
#define MACHINE_SILENT_MS INT64_C(30000) /* a spare whose agent was not seen for so long is not ready */

/* What a machine was for a while: an instance of a slot. */
struct machine_use {
    int64_t id, machine_id;
    char instance_id[ID_INSTANCE_MAX], launch_key[KEY_MAX_BYTES];
    int64_t node_id;
    char cluster[NAME_MAX_BYTES], node[NODE_NAME_MAX_BYTES];
    int64_t taken_at, given_back_at; /* given_back_at 0: it still is */
    bool broken;                     /* it went to the bench */
    bool fault;                      /* … for a fault that the policy saw; else a person asked for it */
    char reason[REASON_MAX_BYTES];   /* of giving it back */
};

struct machine {
    int64_t id;
    char name[NAME_MAX_BYTES];
    char provider[NAME_MAX_BYTES]; /* whose inventory it is in */
    char type[NAME_MAX_BYTES];     /* an instance type; "": good for any group */
    enum machine_state state;
    char reason[REASON_MAX_BYTES]; /* of the last change */
    int64_t created_at, changed_at;
    char address[ADDRESS_MAX_BYTES], bmc[MACHINE_BMC_MAX_BYTES];
    char rack[MACHINE_PLACE_MAX_BYTES], net_switch[MACHINE_PLACE_MAX_BYTES], chassis[MACHINE_PLACE_MAX_BYTES];
    char serial[MACHINE_SERIAL_MAX_BYTES];
    struct machine_use use;              /* what it is now, or was last; id 0: it never was anything */
    bool has_agent;                      /* an agent enrolled for it, */
    uint8_t agent_hash[ID_SHA256_BYTES]; /* with this secret */
    /* As its agent said while it waited. */
    char boot_id[BOOT_ID_MAX_BYTES];
    bool checked;       /* all checks have run in this boot */
    int64_t well_since; /* they have, and have found nothing since then; 0: not so */
    char trouble[SENTENCE_MAX_BYTES];
    int64_t seen_at; /* in memory: 0: not since hpd started */
};

/* Why a spare cannot be taken now: a static text; NULL: it is ready. */
const char *machine_not_ready(const struct machine *machine, int64_t now_ms);

#define MACHINE_LEMON_FAULTS 3               /* so often at the bench for a fault … */
#define MACHINE_LEMON_MS INT64_C(7776000000) /* … within 90 days: it is a lemon, and no spare any more */

/* A launch that wants a machine, as the store knows it. */
struct machine_demand {
    int64_t node_id, group_id;
    int64_t since;   /* when it was asked for */
    int64_t missing; /* machines that the group waits for, this one included */
};

/* What a launch takes a machine for. */
struct machine_request {
    const char *provider, *type;
    const char *key, *instance_id;
    /* Filled in by the store: the slot, where its last machine stood, and all who want a machine of this inventory. */
    int64_t node_id, now_ms;
    struct machine before; /* id 0: none */
    const struct machine_demand *demands;
    size_t demand_count;
};

/* Which of these is taken: its place, or MACHINE_NONE or MACHINE_FOR_OTHERS. Pure. */
#define MACHINE_NONE (-1)       /* none of them is ready */
#define MACHINE_FOR_OTHERS (-2) /* those that are ready are for others */
typedef long machine_choose_fn(const struct machine_request *request, const struct machine *machines, size_t count);

/* The inventory as its provider sees it: each call is one transaction. ret_error has PROVIDER_ERROR_MAX bytes. */
struct machine_store {
    void *arg;
    /* The machine of the key: the one that was taken then, or one that choose picks now. FULL, CONFLICT (it was given back). */
    int (*take)(void *arg, const struct machine_request *request, machine_choose_fn *choose,
                struct machine *ret_machine, char *ret_error);
    /* The machine that is this instance now; NOT_FOUND. */
    int (*find)(void *arg, const char *instance_id, struct machine *ret_machine);
    /* NOT_FOUND when it is none, or not any more. */
    int (*give_back)(void *arg, const char *instance_id, bool broken, bool fault, const char *reason, char *ret_error);
};

#endif
