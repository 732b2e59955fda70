/*
 * What the use cases share, and nobody else includes: saying no with a sentence, running a read or a write,
 * finding a place in the fleet, and the rows that several of them add.
 *
 * A use case reads
 *
 *     struct change work = {…};                       what goes in, and what comes out
 *     status = service_write(s, "node-opt-out", change_write, &work, ret_problem);
 *
 * The function may run twice, so it starts from what was put in and only touches the store and its own results. It
 * refuses with problem_say; any other negative status becomes the store's problem.
 */
#ifndef HOLDFAST_SERVER_SERVICE_PRIVATE_H
#define HOLDFAST_SERVER_SERVICE_PRIVATE_H

#include "model/machine.h"
#include "server/service/access/access.h"
#include "server/service/agent/machine.h"
#include "server/service/cluster/cluster.h"
#include "server/service/node/lemon.h"
#include "server/service/scheduler/governance.h"
#include "server/service/service.h"

#include "base/json.h"
#include "base/own.h"
#include "base/status.h"

#include <stdarg.h>
#include <stdbool.h>

/* --- saying no (problem.c) ------------------------------------------------------------------------- */

/* Fills the problem and returns status, so that a refusal is one line. */
int problem_say(struct problem *problem, int status, enum problem_code code, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* What a failing store means to who asked. Returns status. */
int problem_of_store(struct problem *problem, int status);

/* printf into a text of limited size, cut between characters: what people wrote may be longer than what is kept. */
void say_cut(char *dst, size_t size, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void say_vcut(char *dst, size_t size, const char *fmt, va_list ap) __attribute__((format(printf, 3, 0)));

/* --- running (run.c) ------------------------------------------------------------------------------- */

/* Both return fn's status or the store's, with a problem when it is negative. A write's fn may answer NOTHING_DONE, which comes
 * out as 0: all that was asked for was refused, item by item, so the audit log gets no row of a change. Or ONLY_TRIED, which comes
 * out as 0 too: it would have been done, and is taken back. */
#define NOTHING_DONE 1000
#define ONLY_TRIED (-1000)
int service_write(struct service *s, const char *name, db_write_fn fn, void *arg, struct problem *problem);
int service_read(struct service *s, db_write_fn fn, void *arg, struct problem *problem);
/* DENIED unless the actor's role is at least this. */
int service_require(const struct actor *actor, enum role role, struct problem *problem);

int64_t service_now(const struct service *s); /* wall, ms */
/* Monotonic microseconds; of a fake clock as exact as that is. */
int64_t service_mono_us(const struct service *s);
/* After the commit: the loop reads again what changed. */
void service_wake(struct service *s, enum service_wake what, int64_t id);
/* The nodes that a transaction changed, for the wakes after it. It is emptied where the transaction begins. */
struct changed_nodes {
    int64_t *ids;
    size_t count, capacity;
};
void changed_nodes_add(struct changed_nodes *nodes, int64_t id);
void changed_nodes_wake(struct service *s, const struct changed_nodes *nodes);
void service_agent_changed(struct service *s, int64_t node_id);
void service_events_added(struct service *s);

/* --- a place in the fleet (place.c) ---------------------------------------------------------------- */

/* A node with all it belongs to. instance.id 0: nobody fills the slot. */
struct place {
    struct cluster cluster;
    struct instance_group group;
    struct node node;
    struct instance instance;
};
int place_find_cluster(struct db_tx *tx, const char *name, struct cluster *ret_cluster, struct problem *problem);
int place_find_group(struct db_tx *tx, const char *cluster_name, const char *name, struct cluster *ret_cluster,
                     struct instance_group *ret_group, struct problem *problem);
int place_find(struct db_tx *tx, const char *cluster, const char *node, struct place *ret_place,
               struct problem *problem);
/* What a list is narrowed to, by row: of the node, or of the cluster, or 0 of both (NULL: neither is named). A node without its
 * cluster is INVALID. */
int place_narrow(struct db_tx *tx, const char *cluster, const char *node, int64_t *ret_cluster_id, int64_t *ret_node_id,
                 struct problem *problem);
/* NOT_FOUND when the node is gone. */
int lemon_read(struct db_tx *tx, const struct service *s, const struct place *place, struct service_lemon *ret_lemon);
int place_find_row(struct db_tx *tx, int64_t node_id, struct place *ret_place);
/* True of the nodes of a group that is described as Slurm's controllers. */
int place_is_controller(struct db_tx *tx, const struct place *place, bool *ret_is_controller);
/* Adds a line to the timeline; operation may be NULL. */
int place_event(struct db_tx *tx, const struct place *place, const struct operation *operation, enum event_level level,
                enum event_kind kind, const char *fmt, ...) __attribute__((format(printf, 6, 7)));
/* The same with more to say: event has level, kind and what those carry; the place is filled in. */
int place_event_add(struct db_tx *tx, const struct place *place, const struct operation *operation, struct event *event,
                    const char *message);
int cluster_event(struct db_tx *tx, const struct cluster *cluster, enum event_level level, enum event_kind kind,
                  const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* What was asked for and has no effect here; notice NULL: nothing. */
int cluster_notice(struct db_tx *tx, const struct cluster *cluster, const char *notice);
/* Moves the node by the table, stores it and says so in the timeline. */
int place_move(struct db_tx *tx, struct place *place, enum node_state state, const char *reason, int64_t now_ms);

/* --- machines (machine.c) -------------------------------------------------------------------------- */

/* What an instance is made of and how its checks stand; its ids are left alone. */
int machine_read(struct db_tx *tx, int64_t instance_row, struct service_machine *ret_machine);

/* --- machines that a site owns (machine/) ---------------------------------------------------------- */

/* Moves it by the table, stores it and says so in the timeline. */
int machine_move(struct db_tx *tx, struct machine *machine, enum machine_state to, const char *reason,
                 const char *actor, int64_t now_ms);
int machine_event(struct db_tx *tx, const struct machine *machine, enum event_level level, enum event_kind kind,
                  const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* Whether it was at the bench for a fault too often to be a spare again. */
int machine_is_lemon(struct db_tx *tx, const struct machine *machine, int64_t now_ms, bool *ret_is_lemon);
/* Launches that wait for a machine of this inventory may ask again at once, and are woken after the commit. */
struct machine_waiters {
    struct changed_nodes groups, nodes;
};
int machine_spare_came(struct db_tx *tx, const char *provider, struct machine_waiters *ret_waiters);
void machine_waiters_wake(struct service *s, const struct machine_waiters *waiters);
void machine_waiters_free(struct machine_waiters *waiters);

/* --- slots (slot.c) -------------------------------------------------------------------------------- */

/* What making slots needs, within one transaction. All but the competing clusters is the caller's. */
struct slots {
    struct service *s;
    struct db_tx *tx;
    const struct cluster *cluster;
    const char *actor;
    int64_t now_ms;
    struct problem *problem;
    struct cluster *competing; /* other clusters that command the same Slurm */
    size_t competing_count;
};
int slots_open(struct slots *slots); /* then slots_close in any case */
void slots_close(struct slots *slots);

struct slots_growth {
    const struct instance_group *group;
    int64_t count;
    char **names;             /* count of them; NULL: as the group's slots are called */
    const char *const *zones; /* only in these; zone_count 0: any of the group's */
    size_t zone_count;
    void (*fn)(const struct place *place, void *arg); /* told of each new slot; may be NULL */
    void *arg;
};
/* Each slot with the launch that fills it. The group's row says already how many it shall have: refused when that, or
 * the cluster with it, is more than may be. */
int slots_grow(const struct slots *slots, const struct slots_growth *growth);
/* A new group with its slots. */
int slots_add_group(const struct slots *slots, const struct service_group_spec *spec, int64_t previous_desired,
                    struct instance_group *ret_group);
/* *ret_missing: one of the wanted zones that the group is not in; NULL: none. */
int slots_check_zones(const struct slots *slots, const struct instance_group *group, const char *const *wanted,
                      size_t count, const char **ret_missing);

struct slot_removal {
    struct service *s;
    const char *actor, *reason;
    enum urgency urgency;
    int64_t now_ms;
};
/* Takes a node away for good. What is at work on it is asked to stop; its deletion follows when that has ended.
 * *ret_operation: the deletion, or what is asked to stop; id 0 when the node is gone already. */
int slot_remove(struct db_tx *tx, const struct slot_removal *removal, struct place *place,
                struct operation *ret_operation);

/* --- operations (operation.c) ---------------------------------------------------------------------- */

/* A pending operation with its steps on the place's node; key and reason are cut to their limits. */
void operation_prepare(struct service *s, const struct place *place, enum operation_kind kind, const char *key,
                       const char *reason, const char *actor, int64_t now_ms, struct operation *ret_operation);
/* True once a step has begun that cannot be taken back. */
bool operation_is_past_return(const struct operation *operation);

/* --- changes of a whole cluster (cluster_operation.c) ------------------------------------------------ */

/* The change that this transaction writes can be watched from now on, under cluster->operation. The open one of this kind is
 * superseded; by a deletion every open one. */
int cluster_operation_begin(struct db_tx *tx, struct service *s, struct cluster *cluster, enum operation_kind kind,
                            const char *actor, const char *reason);
/* The open one of this kind becomes cluster->operation; NOT_FOUND when there is none. */
int cluster_operation_find(struct db_tx *tx, struct cluster *cluster, enum operation_kind kind);
/* cluster->operation has succeeded: there was nothing that the loop would have to do. */
int cluster_operation_end(struct db_tx *tx, struct service *s, const struct cluster *cluster);

/* --- a cluster's description (spec.c) -------------------------------------------------------------- */

/* Checks everything that can be known without the store. */
int spec_check(const struct service_cluster_spec *spec, struct problem *problem);
int spec_check_source(enum orchestrator orchestrator, const struct service_group_spec *group, struct problem *problem);
/* What groups are to Slurm, one by one and all of a cluster together (slurm_config.c). */
struct slurm_config_check {
    struct problem *problem;
    size_t controllers, logins;
};
int slurm_config_add(struct slurm_config_check *check, const char *group, const struct group_spec *spec /* or NULL */);
int slurm_config_end(const struct slurm_config_check *check);
int slurm_config_check_stored(struct db_tx *tx, int64_t cluster_id, struct problem *problem);
/* Labels and taints of a group under that scheduler (kubernetes_config.c); spec may be NULL. */
int kubernetes_config_check(const struct service *s, const char *scheduler, const char *group,
                            const struct group_spec *spec, struct problem *problem);
/* That there is a scheduler and a provider for it; backends NULL: any. */
int spec_check_backends(const struct service_cluster_spec *spec, const struct service_backends *backends,
                        struct problem *problem);
int spec_check_change(const struct service_cluster_change *change, const struct service_backends *backends,
                      struct problem *problem);
/* The one it names, or what a group gets that names none. */
const char *spec_provider(const struct service_group_spec *group, const struct service_backends *backends);
/* The release of the image that new instances get; "" when nobody said. */
const char *spec_default_release(const struct service_backends *backends);
/* How large a group may be. */
int64_t spec_group_nodes_max(enum orchestrator orchestrator);
int64_t spec_node_count(const struct service_cluster_spec *spec);
/* The name of the group's node number at, from 0. ret_name has NODE_NAME_MAX_BYTES. TOO_LARGE. */
int spec_node_name(const struct service_group_spec *group, int64_t at, char *ret_name);

/* --- tags (tag.c) ---------------------------------------------------------------------------------- */

/* What the shape of a tag does not say: no key twice, and none that AWS keeps for itself. */
int tags_check(const struct service_tag *tags, size_t count, struct problem *problem);
/* Sets them on what is there, in the caller's transaction. They were checked. */
int tags_put(struct db_tx *tx, enum tag_owner owner, int64_t owner_id, const struct service_tag *tags, size_t count,
             struct problem *problem);

/* --- task governance (governance_check.c) ---------------------------------------------------------- */

/* What the shapes do not say: that what is asked for has a meaning. */
int governance_check(enum governance_kind kind, const struct service_governance_spec *spec, struct problem *problem);
int governance_find(struct db_tx *tx, const struct service_governance_ref *ref, int64_t version,
                    struct governance *ret_governance, struct problem *problem);
/* "scheduler configuration", "compute quota". */
const char *governance_noun(enum governance_kind kind);

/* --- secrets (secret.c) ---------------------------------------------------------------------------- */

#define SECRET_PREFIX_API "hfa_"
#define SECRET_PREFIX_ENROLLMENT "hfe_"
#define SECRET_PREFIX_NODE "hfn_"
#define SECRET_PREFIX_MACHINE "hfm_"
#define SECRET_CHARACTERS 43 /* base64url of 32 bytes */

/* Makes prefix + secret and the hash that is stored for it. */
void secret_make(struct service *s, const char *prefix, char ret_text[SERVICE_TOKEN_TEXT_MAX],
                 uint8_t ret_hash[ID_SHA256_BYTES]);
/* The hash of a secret of the right shape; UNAUTHENTICATED for anything else. */
int secret_hash(const char *text, size_t len, uint8_t ret_hash[ID_SHA256_BYTES]);
/* The same for prefix + secret. */
int secret_hash_of(const char *prefix, const char *text, uint8_t ret_hash[ID_SHA256_BYTES]);

/* --- memory (memory.c); all accept NULL ------------------------------------------------------------ */

/* A number to be read before the store is asked: what was asked before a token was deleted is not kept. */
uint64_t memory_actors_generation(struct service_memory *memory);
bool memory_actor_get(struct service_memory *memory, const uint8_t hash[ID_SHA256_BYTES], int64_t mono_ms,
                      struct actor *ret_actor);
void memory_actor_put(struct service_memory *memory, const uint8_t hash[ID_SHA256_BYTES], const struct actor *actor,
                      int64_t until_mono_ms, uint64_t generation);
void memory_actors_forget(struct service_memory *memory);
/* True when nothing like it was announced within VERDICT_EVENT_EVERY_MS; then it counts as announced now. */
bool memory_announce(struct service_memory *memory, int64_t node_id, const char *what, int64_t now_ms);
/* It was not announced after all. */
void memory_announce_not(struct service_memory *memory, int64_t node_id, const char *what);
/* Bounds the verdicts that wait for the store: false when there is no room. */
bool memory_verdicts_enter(struct service_memory *memory, size_t count);
void memory_verdicts_leave(struct service_memory *memory, size_t count);

#define VERDICT_EVENT_EVERY_MS MS_PER_MIN /* the window of a verdict, too */

/* A time by an agent's clock, in a message that was sent at sent_at by it, as verdicts of that agent get it: by ours, never after now. */
int64_t service_agent_time(int64_t at_ms, int64_t sent_at, int64_t now_ms);

/* --- the audit log (audit.c, audit_flood.c) --------------------------------------------------------- */

struct service_audit *audit_current(void); /* of the request that this thread works on; NULL: none */
/* In the writer's transaction. */
int audit_record(struct db_tx *tx, const struct audit *entry);

/* Refusals under a bound: what an attacker sends must not fill the disk. All accept NULL. */
struct audit_flood;
struct audit_flood *audit_flood_new(void);
void audit_flood_free(struct audit_flood *flood);
/* True when the refusal has a row of its own; else it was counted. */
bool audit_flood_admit(struct audit_flood *flood, const struct audit *entry, int64_t mono_ms);
/* The next count that is to be written. */
bool audit_flood_take(struct audit_flood *flood, int64_t mono_ms, bool all, struct audit *ret_entry);
struct audit_flood *memory_audit_flood(struct service_memory *memory);

/* --- resource_config.json (resources.c) -------------------------------------------------------------- */

/* As the node's instance reads it; peer: where its request comes from. Caller frees *ret_text. TOO_LARGE. */
int resources_read(struct service *s, int64_t node_id, const char *peer, struct instance *ret_instance, char **ret_text,
                   struct problem *problem);
/* Around get and put, and whatever is done between them. */
void memory_resources_lock(struct service_memory *memory);
void memory_resources_unlock(struct service_memory *memory);
/* What one of the cluster said a moment ago, until the next put; NULL: nothing is remembered. */
const char *memory_resources_get(const struct service_memory *memory, int64_t cluster_id, int64_t mono_ms);
/* Takes text, which was made from begun_mono_ms until now. */
void memory_resources_put(struct service_memory *memory, int64_t cluster_id, int64_t begun_mono_ms, int64_t mono_ms,
                          char *text);
/* Bounds what waits for instances to take it: false when there is no room. */
bool memory_resources_enter(struct service_memory *memory, size_t bytes);
void memory_resources_leave(struct service_memory *memory, size_t bytes);

/* --- agents (agent.c) ------------------------------------------------------------------------------ */

/* What an agent may call itself and its boot. */
bool agent_word_is_fine(const char *text, size_t size);
/* The agent of a machine that a provider put into a slot enrols there without a token: it has shown the machine's credential. STALE when
 * the instance does not fill the slot any more. boot_at: since when that boot is known to be well; 0: from now on. ret_credential is "hfn_<row>.<secret>". */
int agent_enroll_machine(struct service *s, int64_t node_id, const char *instance_id, const char *boot_id,
                         int64_t boot_at, char ret_credential[SERVICE_TOKEN_TEXT_MAX], struct problem *problem);
/* An instance that spoke is running, unless it was ended. STALE then. boot_changed: it came up anew. */
int instance_spoke(struct instance *instance, bool boot_changed);

#endif
