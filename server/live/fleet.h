/*
 * The live state: for each node who may speak for it and when it last did. In memory, made from the store at
 * start; heartbeats touch nothing else.
 *
 * Written by two hands: the agents' API (liveness) and the reconcile loop (who fills the slot). Look-ups
 * are by the node's row number, which is what a node's credential carries. Thread-safe.
 */
#ifndef HOLDFAST_SERVER_FLEET_H
#define HOLDFAST_SERVER_FLEET_H

#include "base/clock.h"
#include "model/model.h"
#include "server/live/agent_task.h"

struct fleet;

struct fleet *fleet_new(void);
void fleet_free(struct fleet *fleet);
/* What the instances are asked to do; lives as long as the fleet. */
struct agent_tasks *fleet_agent_tasks(struct fleet *fleet);
/* What agents of which group are told to do otherwise (server/live/agent_registry.h); likewise. */
struct agent_registry *fleet_agent_registry(struct fleet *fleet);
/* The tag of the settings that this node's agent shall have; 0: none. */
uint64_t fleet_settings_tag(struct fleet *fleet, int64_t node_id);
/* Who is tested with whom (server/live/pair_matching.h); likewise. */
struct pair_matching *fleet_pair_matching(struct fleet *fleet);
/* Logs of jobs that people ask for (server/live/job_log.h); likewise. */
struct job_logs *fleet_job_logs(struct fleet *fleet);

/* What the reconcile loop tells the fleet. Adds or replaces the slot; a new instance id or credential forgets the liveness of the
 * earlier one. For the same instance "no credential", "no boot" and "no address" mean "not known here" and keep what an
 * enrolment or a heartbeat brought meanwhile; a boot that was already followed by another is not taken back. */
struct fleet_slot {
    int64_t node_id, cluster_id, group_id;
    char instance_id[ID_INSTANCE_MAX]; /* "" : nobody */
    char boot_id[BOOT_ID_MAX_BYTES];   /* "" : not reported yet */
    uint8_t hash[ID_SHA256_BYTES];     /* of the node's credential */
    bool has_credential;
    char address[PEER_MAX_BYTES]; /* as fleet_set_address; "" in what fleet_get answers */
};
void fleet_put(struct fleet *fleet, const struct fleet_slot *slot);
void fleet_set_credential(struct fleet *fleet, int64_t node_id, const char *instance_id,
                          const uint8_t hash[ID_SHA256_BYTES]);
void fleet_set_boot(struct fleet *fleet, int64_t node_id, const char *instance_id, const char *boot_id);
/* The address that the store has of the instance, "" for none: a heartbeat with another one is news. */
void fleet_set_address(struct fleet *fleet, int64_t node_id, const char *instance_id, const char *address);
void fleet_remove(struct fleet *fleet, int64_t node_id);

#define FLEET_CHECK_KMSG 1u                       /* bits of checks an agent says it is running */
#define FLEET_RUNS_LIFECYCLE 2u                   /* no check: it knows what to do with an agent task */
#define FLEET_TELLS_MACHINE 4u                    /* it reports what it is made of and how its checks stand */
#define FLEET_TAKES_SETTINGS 8u                   /* it can be told what to do otherwise */
#define FLEET_RESETS 16u                          /* it can reset one GPU */
#define FLEET_REBOOTS 32u                         /* it can reboot its machine, and may */
#define FLEET_CHECK_DEEP(check) (256u << (check)) /* and of deep ones it could run: enum deep_check */

struct fleet_heartbeat {
    char instance_id[ID_INSTANCE_MAX];
    char boot_id[BOOT_ID_MAX_BYTES];
    int64_t seq;
    int64_t sent_at; /* the agent's wall clock */
    unsigned checks;
    uint64_t settings_tag;        /* of the settings it has; 0: none */
    int64_t spooled;              /* verdicts waiting at the agent */
    char address[PEER_MAX_BYTES]; /* as it was sent; "": not told */
};

enum fleet_beat {
    FLEET_BEAT_OK,
    FLEET_BEAT_BACK,        /* OK, and the agent had been silent: say so */
    FLEET_BEAT_NEW_BOOT,    /* another boot id: the store must be told before it counts */
    FLEET_BEAT_NEW_ADDRESS, /* likewise, though it may count without */
    FLEET_BEAT_REPLAYED,    /* an old sequence number: nothing changed */
    FLEET_BEAT_STALE,   /* another instance than the one that fills the slot, or a boot that was followed by another */
    FLEET_BEAT_UNKNOWN, /* no such slot */
};
/* Takes a heartbeat from the owner of node_id's credential. now_ms: wall; received counts as the sign of life. */
enum fleet_beat fleet_heartbeat(struct fleet *fleet, int64_t node_id, const struct fleet_heartbeat *beat,
                                int64_t now_ms);
/* Keeps the finding "this node's clock is wrong"; true when it changed. Costs no lock while no clock is wrong. */
bool fleet_set_skewed(struct fleet *fleet, int64_t node_id, bool skewed);

/* Whose boot a report is from. */
enum fleet_boot {
    FLEET_BOOT_CURRENT,
    FLEET_BOOT_EARLIER,        /* of this instance, and a later one was heard of */
    FLEET_BOOT_UNHEARD,        /* of this instance, but no heartbeat or enrolment named it yet */
    FLEET_BOOT_OTHER_INSTANCE, /* or no such slot */
};
/* ret_last_heartbeat_at: of the current boot, 0: none yet. */
enum fleet_boot fleet_boot_of(struct fleet *fleet, int64_t node_id, const char *instance_id, const char *boot_id,
                              int64_t *ret_last_heartbeat_at);

/* Constant-time check of a credential. UNAUTHENTICATED otherwise. */
int fleet_authenticate(struct fleet *fleet, int64_t node_id, const uint8_t hash[ID_SHA256_BYTES]);

struct fleet_view {
    struct fleet_slot slot;
    int64_t last_heartbeat_at, last_seq, skew_ms;
    unsigned checks;
    bool silent, directed; /* directed: a directive waits for it */
};
int fleet_get(struct fleet *fleet, int64_t node_id, struct fleet_view *ret_view); /* NOT_FOUND */

/* Marks as silent every slot with an instance whose last sign of life (or put) is older than silent_after_ms and reports each once. */
/* fn may look into the fleet. */
typedef void (*fleet_silent_fn)(int64_t node_id, int64_t last_heartbeat_at, void *arg);
void fleet_sweep(struct fleet *fleet, int64_t now_ms, int64_t silent_after_ms, fleet_silent_fn fn, void *arg);

/* One directive for an agent's next heartbeat reply (an injected kernel line). CONFLICT while an earlier one waits: none is
 * lost. */
int fleet_direct(struct fleet *fleet, int64_t node_id, const char *line);
/* True and the line (caller's buffer) when one waits; it is handed out once. Cheap when there is none. */
bool fleet_take_directive(struct fleet *fleet, int64_t node_id, char ret_line[RAW_LINE_MAX_BYTES]);

struct fleet_counts {
    int64_t slots, alive, silent;
    uint64_t heartbeats, replayed, stale;
};
void fleet_counts(struct fleet *fleet, struct fleet_counts *ret_counts);
size_t fleet_memory_bytes(struct fleet *fleet);

#endif
