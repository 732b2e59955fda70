/*
 * What the loop keeps its things in: nodes by row number, queues of row numbers, the inbox through which everything from
 * outside comes, and what is due when.
 */
#ifndef HOLDFAST_SERVER_RECONCILE_PARTS_H
#define HOLDFAST_SERVER_RECONCILE_PARTS_H

#include "server/service/service.h"

struct rcall;
struct rnode;

/* How soon a node is looked at. What can wait does so only while there is more pressing work. */
enum look {
    LOOK_NOT,
    LOOK_LATER, /* evidence that by itself costs no node */
    LOOK_SOON,
    LOOK_FIRST, /* critical evidence */
    LOOK_COUNT
};

/* --- by row number ------------------------------------------------------------------------------ */
struct idmap {
    struct rnode **slots;
    size_t capacity, count, used; /* used counts removed ones too */
};
struct rnode *idmap_get(const struct idmap *map, int64_t id);
void idmap_put(struct idmap *map, struct rnode *node);
void idmap_remove(struct idmap *map, int64_t id);
void idmap_free(struct idmap *map); /* the map, not the nodes */

struct idqueue {
    int64_t *ids;
    size_t head, count, capacity;
};
void idqueue_push(struct idqueue *queue, int64_t id);
void idqueue_push_front(struct idqueue *queue, int64_t id);
bool idqueue_pop(struct idqueue *queue, int64_t *ret_id);
void idqueue_free(struct idqueue *queue);

/* --- wakes: what somebody else changed ----------------------------------------------------------- */
#define WAKES_MAX 4096
struct wake {
    enum service_wake what;
    int64_t id;
};
struct wakes {
    struct wake *items;
    size_t count, head, capacity; /* those before head were popped */
};
/* False when there is no room. One that is the same as the last is kept once. */
bool wakes_push(struct wakes *wakes, const struct wake *wake);
/* The first one; false when there is none. */
bool wakes_peek(const struct wakes *wakes, struct wake *ret_wake);
void wakes_pop(struct wakes *wakes);
void wakes_free(struct wakes *wakes);

/* --- inbox ------------------------------------------------------------------------------------- */
struct inbox_verdict {
    int64_t node_id, received_us;
    enum look look; /* NOT: it can change nothing where something was decided already */
};
struct inbox_mail {
    struct inbox_verdict *verdicts;
    size_t verdict_count;
    int64_t *agents;
    size_t agent_count;
    struct rcall *results; /* in the order they came */
    struct wakes wakes;
    bool overflow;
};
struct inbox;
/* service outlives it: what the site says of faults. */
struct inbox *inbox_new(const struct service *service);
/* After the executor: calls that it dropped are freed here. Accepts NULL. */
void inbox_free(struct inbox *inbox);
/* The service's callbacks; arg is the inbox. */
void inbox_wake(void *arg, enum service_wake what, int64_t id);
void inbox_verdicts_stored(void *arg, const struct service_stored *stored);
void inbox_agent_changed(void *arg, int64_t node_id);
/* A call goes out, begins, and comes back. */
void inbox_call_sent(struct inbox *inbox, struct rcall *call);
void inbox_call_begins(struct inbox *inbox, struct rcall *call);
void inbox_call_done(struct inbox *inbox, struct rcall *call);
/* Takes all that came; freed with inbox_mail_free. */
void inbox_take(struct inbox *inbox, struct inbox_mail *ret_mail);
void inbox_mail_free(struct inbox_mail *mail);
/* Sleeps until something comes, wait_ms pass, or the inbox is stopped; false when stopped. */
bool inbox_wait(struct inbox *inbox, int64_t wait_ms);
/* Leaves the machine to others for so long, unless something pressing comes; the loop that has work of its own (busy)
 * rests only when more waits, which shows that others are at work. False when stopped. */
bool inbox_rest(struct inbox *inbox, int64_t rest_ms, bool busy);
void inbox_stop(struct inbox *inbox);

/* --- what is due ------------------------------------------------------------------------------- */
enum due_kind { DUE_NODE, DUE_OPERATION };
struct due_entry {
    int64_t at, node_id;
    enum due_kind kind;
};
struct due {
    struct due_entry *entries; /* a heap; an entry whose time is no longer the object's own is old and dropped */
    size_t count, capacity;
};
void due_push(struct due *due, int64_t at, enum due_kind kind, int64_t node_id);
/* The first entry; false when there is none. */
bool due_peek(const struct due *due, struct due_entry *ret_entry);
void due_pop(struct due *due);
void due_free(struct due *due);

#endif
