/* What a simulated world is made of: its life and death, and how a test looks at it. sim_world.h says the rest. */
#ifndef HOLDFAST_TESTS_SIM_SIM_BASE_H
#define HOLDFAST_TESTS_SIM_SIM_BASE_H

#include "base/file.h"
#include "base/log.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"
#include "db/cluster.h"
#include "db/event.h"
#include "db/node.h"
#include "db/operation.h"
#include "db/verdict.h"
#include "server/provider/manual/manual.h"
#include "server/reconcile/reconcile.h"
#include "tests/support/fake_provider.h"
#include "tests/support/fake_scheduler.h"
#include "tests/support/fresh_store.h"
#include "tests/support/specs.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define SIM_FN static __attribute__((unused))
#define SIM_T0 INT64_C(1795186800000) /* 2026-11-20 15:00:00 UTC */
#define SIM_CLUSTER "west"
#define SIM_OTHER "other"         /* the second scheduler, and its cluster */
#define SIM_BEAT_MS INT64_C(5000) /* how often agents speak, unless the test says otherwise */
#define SIM_TURNS_MAX 20000       /* turns without time passing: more means the loop spins */
#define SIM_SPOOL_MAX 64
#define SIM_SCRIPT "{\"lifecycle\":{\"source\":\"file:///srv/lifecycle\",\"onCreate\":\"on_create.sh\"}}"
#define SIM_ACTIVE_MAX 1024 /* operations at once */

/* A verdict an agent holds until the server has it. */
struct sim_verdict {
    bool acked;
    char node[NODE_NAME_MAX_BYTES];
    struct verdict verdict;
    bool was_acked; /* the agent may have missed the answer */
};

/* The way between agents and hpd. */
struct sim_wire {
    int lost_percent, doubled_percent, late_percent;
};

/* What becomes of the one test of every deep health check. */
enum sim_deep { SIM_DEEP_NOT_OFFERED, SIM_DEEP_PASSES, SIM_DEEP_FAILS, SIM_DEEP_SKIPS, SIM_DEEP_STALLS };

/* What becomes of the resets that agents are asked for. */
enum sim_resets { SIM_RESETS_NOT_OFFERED, SIM_RESETS_SUCCEED, SIM_RESETS_FAIL, SIM_RESETS_STALL, SIM_RESETS_TOLD_LATE };

/* What the laws of each step have seen so far (sim_steps.h). */
struct sim_step_node {
    int acked;
    int evictions, unsure, crashes;                      /* so far … */
    int evictions_before, unsure_before, crashes_before; /* … and before the operation that they were last for */
    int64_t operation;
    int signals[FAKE_JOBS_MAX];
    int64_t signalled_for[FAKE_JOBS_MAX];
    int64_t maintenance_since; /* by the monotonic clock: hpd could have seen it all that time; 0: it is in none */
    int64_t maintenance_op;    /* its newest operation when it was in it for long; 0: it is not yet */
    bool released;             /* by a person, which hpd may not have seen yet */
    int64_t person_row;        /* the instance that is held for a person, who has not released it; 0: none is */
    int64_t left_since;        /* by the monotonic clock: our mark is on a node in service; 0: it is not */
};
struct sim_steps {
    int crashes, resets;
    struct sim_step_node nodes[FAKE_NODES_MAX];
};
#define SIM_RESETS_MAX 256

struct sim {
    struct sim_steps steps;
    char reset_keys[SIM_RESETS_MAX][KEY_MAX_BYTES]; /* of the operations that a device was reset for, as it was */
    int reset_count;
    char dir[64];
    uint64_t seed, random;
    struct clock clock;
    struct id_source ids;
    struct fake_outcome outcome;
    struct fake_scheduler scheduler;
    struct fake_provider provider;
    struct fake_scheduler other; /* the second one, of another kind, which has a cluster of its own */
    int other_nodes;             /* of that; 0: there is none */
    struct service service;
    struct executor *executor;
    struct reconcile *reconcile;
    struct loop_settings settings;
    bool has_scheduler;
    int nodes;
    int64_t beat_ms, beat_at, next_ms;
    struct sim_verdict *spool;
    int spooled, spool_capacity;
    uint64_t turns;
    uint64_t die_before_turn; /* the process is gone before this turn; 0: never */
    int crashes;
    struct sim_wire wire;
    int64_t storm_ends;                                   /* of a random world */
    void (*before_boot)(void);                            /* what a restart puts right; may be NULL */
    void (*more_laws)(struct sim *sim, struct db_tx *tx); /* of this world; may be NULL */
    int64_t repairs_checked;                              /* the newest operation seen, by sim_law_repairs */
    int keys_checked;                                     /* of the provider's effects, by sim_law_acts */
    bool check;                                           /* sim_check after every turn */
    uint64_t verdict_number;
    const char *spec;         /* of the group that is made next, in the words of the store; NULL: none */
    int scripts_fail;         /* so many runs of an instance's scripts fail */
    bool daemons_stay_away;   /* no scheduler hears any node */
    bool scripts_stall;       /* they begin, and nothing more is heard of them */
    bool agents_tell_machine; /* how the check nvidia stands, and a GPU with that identity ("": none) */
    bool nvidia_has_run;
    enum check_result nvidia;
    const char *gpu;
    bool agents_know_nothing; /* of work: they are of an earlier version */
    enum sim_deep deep;
    enum sim_resets resets;
    bool agents_reboot;     /* when asked to … */
    bool agents_warn_first; /* … a beat later, if the order is still there */
    int agent_reboots;
    struct reboot_drivers reboots;
};

SIM_FN bool sim_chance(struct sim *sim, int percent)
{
    return percent > 0 && fake_outcome_draw(&sim->random, 100) < (uint32_t)percent;
}

static const struct actor sim_admin = {.name = "token:admin", .role = ROLE_ADMIN, .token_id = 1};

/* --- life and death ---------------------------------------------------------------------------- */

SIM_FN void sim_boot(struct sim *sim)
{
    char error[DB_ERROR_MAX] = "";
    struct service *s = &sim->service;
    if (sim->before_boot != NULL)
        sim->before_boot();
    memset(s, 0, sizeof(*s));
    if (fresh_store_open(sim->dir, &sim->clock, DB_INLINE, &s->db, error) < 0)
        fail_msg("seed %" PRIu64 ": db_open: %s", sim->seed, error);
    s->fleet = fleet_new();
    s->clock = &sim->clock;
    s->ids = &sim->ids;
    s->memory = service_memory_new();
    s->heartbeat_interval_ms = SIM_BEAT_MS;
    snprintf(s->server_url, sizeof(s->server_url), "http://127.0.0.1:8700");
    sim->executor = executor_inline_new();
    sim->outcome.dead = false;
    struct reconcile_deps deps = {.service = s, .executor = sim->executor, .settings = sim->settings};
    if (sim->has_scheduler)
        deps.schedulers[deps.scheduler_count++] =
            (struct reconcile_scheduler){.name = "slurm", .driver = fake_scheduler_driver(&sim->scheduler)};
    if (sim->other_nodes > 0)
        deps.schedulers[deps.scheduler_count++] =
            (struct reconcile_scheduler){.name = SIM_OTHER, .driver = fake_scheduler_plain_driver(&sim->other)};
    deps.reboots = sim->reboots;
    deps.providers[deps.provider_count++] = fake_provider_driver(&sim->provider);
    deps.providers[deps.provider_count++] = manual_driver();
    if (reconcile_new(&deps, &sim->reconcile) != 0)
        fail_msg("seed %" PRIu64 ": reconcile_new", sim->seed);
}

SIM_FN void sim_kill(struct sim *sim)
{
    executor_free(TAKE(sim->executor));
    reconcile_free(TAKE(sim->reconcile));
    db_close(TAKE(sim->service.db));
    service_memory_free(TAKE(sim->service.memory));
    fleet_free(TAKE(sim->service.fleet));
}

SIM_FN void sim_crash(struct sim *sim)
{
    sim_kill(sim);
    sim->crashes++;
    sim->outcome.die_before = sim->outcome.die_after = 0;
    sim->die_before_turn = 0;
    sim_boot(sim);
}

SIM_FN void sim_make_dir(struct sim *sim)
{
    snprintf(sim->dir, sizeof(sim->dir), "%s/holdfast-sim-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    assert_non_null(mkdtemp(sim->dir));
}

SIM_FN void sim_open(struct sim *sim, uint64_t seed, bool has_scheduler)
{
    memset(sim, 0, sizeof(*sim));
    log_set_level(LOG_LEVEL_ERROR + 1); /* what happens stands in the timeline; a test of the log says so */
    sim->seed = seed;
    sim->random = seed * 7919 + 1;
    sim->has_scheduler = has_scheduler;
    sim_make_dir(sim);
    clock_fake_init(&sim->clock, SIM_T0);
    id_source_seed(&sim->ids, seed + 1);
    sim->outcome.clock = &sim->clock;
    fake_scheduler_init(&sim->scheduler, &sim->outcome);
    sim->scheduler.clock = &sim->clock;
    fake_scheduler_init(&sim->other, &sim->outcome);
    fake_provider_init(&sim->provider, &sim->clock, &sim->ids, &sim->outcome);
    loop_settings_default(&sim->settings);
    sim->beat_at = SIM_T0;
    sim->beat_ms = SIM_BEAT_MS;
    sim->check = true;
    sim_boot(sim);
}

SIM_FN void sim_close(struct sim *sim)
{
    sim_kill(sim);
    free(sim->spool);
    assert_int_equal(file_remove_tree(sim->dir), 0);
}

#define SIM_STORE_BYTES_MAX (64 * 1024 * 1024)

/* A world like one that was stopped with sim_kill; it goes its own way from there. */
SIM_FN void sim_fork(const struct sim *from, struct sim *sim)
{
    *sim = *from;
    sim_make_dir(sim);
    autofree char *store = NULL;
    autofree char *source = own_printf("%s/holdfast.db", from->dir), *copy = own_printf("%s/holdfast.db", sim->dir);
    size_t len;
    assert_int_equal(file_read(source, SIM_STORE_BYTES_MAX, &store, &len), 0);
    assert_int_equal(file_write(copy, store, len, 0600), 0);
    sim->provider.clock = &sim->clock;
    sim->provider.ids = &sim->ids;
    sim->provider.outcome = sim->scheduler.outcome = sim->other.outcome = &sim->outcome;
    sim->outcome.clock = &sim->clock;
    sim->spool = own_calloc((size_t)from->spool_capacity + 1, sizeof(*sim->spool));
    for (int i = 0; i < from->spooled; i++)
        sim->spool[i] = from->spool[i];
    sim_boot(sim);
}

/* --- looking ----------------------------------------------------------------------------------- */

struct sim_reading {
    struct sim *sim;
    const char *node;
    struct node row;
    struct cluster cluster;
    struct instance instance;
    struct decision decision;
    struct operation operation;
};

SIM_FN int sim_take_operation(const void *row, void *arg)
{
    *(struct operation *)arg = *(const struct operation *)row;
    return 1;
}

SIM_FN struct sim_reading sim_read(struct sim *sim, const char *node)
{
    struct sim_reading reading = {.sim = sim, .node = node};
    struct db_tx *tx = NULL;
    assert_int_equal(db_read_begin(sim->service.db, &tx), 0);
    assert_int_equal(db_cluster_get(tx, SIM_CLUSTER, &reading.cluster), 0);
    assert_int_equal(db_node_get(tx, reading.cluster.id, node, &reading.row), 0);
    if (reading.row.instance_row != 0)
        assert_int_equal(db_instance_get_row(tx, reading.row.instance_row, &reading.instance), 0);
    (void)db_decision_last(tx, reading.row.id, &reading.decision);
    const struct db_operation_filter newest = {.node_id = reading.row.id, .state = -1, .limit = 1};
    assert_true(db_operation_list(tx, &newest, sim_take_operation, &reading.operation) >= 0);
    db_read_end(sim->service.db, tx);
    return reading;
}

SIM_FN enum node_state sim_state(struct sim *sim, const char *node)
{
    return sim_read(sim, node).row.state;
}

struct sim_events {
    int kind; /* or -1 */
    const char *contains;
    int count;
    struct event last;
};

SIM_FN int sim_match_event(const void *row, void *arg)
{
    struct sim_events *events = arg;
    const struct event *event = row;
    if (events->kind >= 0 && (int)event->kind != events->kind)
        return 0;
    if (events->contains != NULL && strstr(event->message, events->contains) == NULL)
        return 0;
    events->count++;
    events->last = *event;
    return 0;
}

/* How many events of a kind (or -1) a node (or NULL) has whose message contains a text (or NULL). */
SIM_FN int sim_events(struct sim *sim, const char *node, int kind, const char *contains)
{
    struct sim_events events = {.kind = kind, .contains = contains};
    struct db_tx *tx = NULL;
    const struct db_event_filter filter = {.node = node, .limit = 100000};
    assert_int_equal(db_read_begin(sim->service.db, &tx), 0);
    assert_int_equal(db_event_list(tx, &filter, sim_match_event, &events), 0);
    db_read_end(sim->service.db, tx);
    return events.count;
}

SIM_FN int sim_print_event(const void *row, void *arg)
{
    const struct event *event = row;
    char at[CLOCK_TEXT_MAX];
    (void)arg;
    fprintf(stderr, "  %s %-8s %-20s %s\n", clock_format(event->at, at), event->node, event_kind_text(event->kind),
            event->message);
    return 0;
}

SIM_FN void sim_print(struct sim *sim, const char *node)
{
    struct db_tx *tx = NULL;
    const struct db_event_filter filter = {.node = node, .limit = 100000};
    fprintf(stderr, "seed %" PRIu64 ", %d crashes, %" PRIu64 " turns, timeline:\n", sim->seed, sim->crashes,
            sim->turns);
    assert_int_equal(db_read_begin(sim->service.db, &tx), 0);
    assert_int_equal(db_event_list(tx, &filter, sim_print_event, NULL), 0);
    db_read_end(sim->service.db, tx);
}

#define sim_fail(sim, node, ...)                            \
    do {                                                    \
        sim_print(sim, node);                               \
        fprintf(stderr, "seed %" PRIu64 ": ", (sim)->seed); \
        fprintf(stderr, __VA_ARGS__);                       \
        fprintf(stderr, "\n");                              \
        fail();                                             \
    } while (0)

#endif
