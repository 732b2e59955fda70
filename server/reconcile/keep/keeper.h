/*
 * What a scheduler is kept at: one engine with a table of keepers. Each keeper compares what is wanted with what the scheduler
 * shows, asks for the difference in calls of one kind, and writes down what came of it; the engine has their pace, their turn of
 * the loop, the answers of their calls and the way into the store.
 */
#ifndef HOLDFAST_SERVER_RECONCILE_KEEP_KEEPER_H
#define HOLDFAST_SERVER_RECONCILE_KEEP_KEEPER_H

#include "db/db.h"
#include "server/reconcile/base/call.h"

struct name;
struct reconcile;
struct scheduler_link;
struct turn;

/* The keepers, by the name of their state in a link: keep/NAME.c has reconcile_NAME_new, _free, _due, _run and _take. */
#define KEEPER_LIST(X)                \
    X(govern, CALL_GOVERN)            \
    X(quarantine, CALL_QUARANTINE)    \
    X(addresses, CALL_UPDATE_ADDRESS) \
    X(manage, CALL_CONFIGURE)
#define X(name, call)                                                                           \
    struct name##_keeper *reconcile_##name##_new(void);                                         \
    void reconcile_##name##_free(struct name##_keeper *keeper); /* accepts NULL */              \
    /* When it has something to do; 0: when an answer comes, or somebody pokes it. */           \
    int64_t reconcile_##name##_due(const struct scheduler_link *link, int64_t now);             \
    /* Asks, or writes down, what is due; true when it did something. */                        \
    bool reconcile_##name##_run(struct reconcile *r, struct scheduler_link *link, int64_t now); \
    /* The answer of its call; true when it keeps the call, which is freed else. */             \
    bool reconcile_##name##_take(struct reconcile *r, struct rcall *call);
KEEPER_LIST(X)
#undef X
void keepers_new(struct scheduler_link *link);
void keepers_free(struct scheduler_link *link);
bool keepers_run(struct reconcile *r, int64_t now);
int64_t keepers_due(const struct scheduler_link *link, int64_t now); /* INT64_MAX: when something happens */
/* True when the answer was for a keeper, which took it. */
bool keepers_take(struct reconcile *r, struct rcall *call);

struct keeper_pace {
    bool in_flight, poked;
    int64_t due_at, pause_ms; /* pause_ms 0: the last one went well */
};

/* When it asks again: after a pause that grows while it fails or is undecided, else after look_ms. */
void keeper_pause(struct reconcile *r, struct keeper_pace *pace, bool failed, int64_t look_ms);
int64_t keeper_due(const struct keeper_pace *pace, int64_t now);
/* Writes what came of a call, and its events, in one transaction; begin of arg is the turn. lost is the line of the log when the store
 * refuses; NULL: none. Returns the store's status. */
int keeper_record(struct turn *turn, const char *name, db_write_fn fn, void *arg, const char *lost);

#endif
