/*
 * The inbox through which everything from outside comes: wakes, verdicts, agents that changed, results of calls.
 */
#ifndef HOLDFAST_SERVER_RECONCILE_BASE_INBOX_H
#define HOLDFAST_SERVER_RECONCILE_BASE_INBOX_H

#include "server/reconcile/base/durations.h"
#include "server/reconcile/base/queue.h"
#include "server/service/service.h"

struct rcall;

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
/* When the oldest critical evidence came that was not taken yet; 0: there is none. */
int64_t inbox_oldest_us(struct inbox *inbox);
/* How long each critical fault that an agent saw took from there until it was stored. */
void inbox_detected(struct inbox *inbox, struct durations *ret_detected);

#endif
