/*
 * What a scheduler is kept at: one engine with a table of keepers. Each keeper compares what is wanted with what the scheduler
 * shows, asks for the difference in calls of one kind, and writes down what came of it; the engine has their pace, their turn of
 * the loop, the answers of their calls and the way into the store.
 */
#ifndef HOLDFAST_SERVER_RECONCILE_KEEP_KEEPER_H
#define HOLDFAST_SERVER_RECONCILE_KEEP_KEEPER_H

#include "db/db.h"
#include "server/reconcile/base/call.h"
#include "server/reconcile/base/part.h"

struct reconcile;
struct scheduler_link;
struct turn;

/* A keeper NAME of KEEPER_LIST (base/link.h) is defined as keeper_NAME in keep/NAME.c, and its state in a link is link->NAME. What is
 * NULL it has not. */
struct keeper {
    enum call_kind call;
    void (*start)(struct scheduler_link *link);
    void (*end)(struct scheduler_link *link);
    int (*load)(struct reconcile *r, struct db_tx *tx);
    /* When it has something to do; 0: when an answer comes, or somebody pokes it. */
    int64_t (*due)(const struct scheduler_link *link, int64_t now);
    /* Asks, or writes down, what is due; true when it did something. */
    bool (*run)(struct reconcile *r, struct scheduler_link *link, int64_t now);
    /* The answer of its call. */
    enum part_take (*take)(struct reconcile *r, struct rcall *call);
    /* Of every call to the scheduler, whoever's it is. */
    void (*hear)(const struct rcall *call);
    /* Somebody changed this in the store, of a cluster under this scheduler or of one that memory does not know yet. */
    void (*wake)(struct reconcile *r, struct scheduler_link *link, enum service_wake what, int64_t id);
};

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
