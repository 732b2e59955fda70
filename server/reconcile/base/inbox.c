/*
 * What comes from outside waits here: stored verdicts, agents that changed, people's requests, results of calls.
 * The only part of the loop that other threads touch; they add and go, they never wait for the loop.
 *
 * A flood of verdicts is bounded: beyond INBOX_VERDICTS_MAX only the fact is kept that some came, and the loop asks the
 * store for undecided nodes instead. Nothing is lost by that, since the store had them first.
 */
#include "server/reconcile/base/inbox.h"
#include "policy/faults/faults.h"
#include "server/reconcile/base/call.h"
#include "server/reconcile/base/queue.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

#define INBOX_VERDICTS_MAX 65536 /* beyond: the store is asked which nodes are undecided */

enum sleep { SLEEP_NOT, SLEEP_WAIT, SLEEP_REST };

struct inbox {
    const struct service *service;
    pthread_mutex_t mutex;
    pthread_cond_t came; /* something came, or the inbox was stopped */
    struct inbox_verdict *verdicts;
    size_t verdict_count, verdict_capacity;
    int64_t *agents;
    size_t agent_count, agent_capacity;
    struct rcall *results, **results_end;
    struct rcall *waiting; /* calls that were sent and have not begun */
    int at_work;           /* calls that have begun and are not yet back */
    struct wakes wakes;
    int64_t oldest_us; /* of the critical evidence in it; 0: there is none */
    struct durations detected;
    bool overflow, stopped;
    bool pressing;     /* something came that a rest must not keep waiting */
    enum sleep sleeps; /* what the loop is to be woken for */
};

struct inbox *inbox_new(const struct service *service)
{
    struct inbox *inbox = own_calloc(1, sizeof(*inbox));
    inbox->service = service;
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_mutex_init(&inbox->mutex, NULL);
    pthread_cond_init(&inbox->came, &attr);
    pthread_condattr_destroy(&attr);
    inbox->results_end = &inbox->results;
    return inbox;
}

void inbox_free(struct inbox *inbox)
{
    if (inbox == NULL)
        return;
    if (inbox->at_work > 0)
        abort();                     /* ours: the executor is freed first */
    while (inbox->waiting != NULL) { /* what it dropped */
        struct rcall *call = inbox->waiting;
        inbox->waiting = call->next;
        reconcile_call_free(call);
    }
    struct inbox_mail mail;
    inbox_take(inbox, &mail);
    inbox_mail_free(&mail);
    pthread_cond_destroy(&inbox->came);
    pthread_mutex_destroy(&inbox->mutex);
    free(inbox);
}

/* --- wakes ------------------------------------------------------------------------------------- */
bool wakes_push(struct wakes *wakes, const struct wake *wake)
{
    const struct wake *last = wakes->count == 0 ? NULL : &wakes->items[wakes->head + wakes->count - 1];
    if (last != NULL && last->what == wake->what && last->id == wake->id)
        return true;
    if (wakes->count == WAKES_MAX)
        return false;
    if (wakes->head + wakes->count == wakes->capacity) {
        for (size_t i = 0; i < wakes->count; i++)
            wakes->items[i] = wakes->items[wakes->head + i];
        wakes->head = 0;
    }
    if (wakes->count == wakes->capacity) {
        wakes->capacity = wakes->capacity == 0 ? 16 : wakes->capacity * 2;
        wakes->items = own_realloc(wakes->items, wakes->capacity, sizeof(*wakes->items));
    }
    wakes->items[wakes->head + wakes->count++] = *wake;
    return true;
}

bool wakes_peek(const struct wakes *wakes, struct wake *ret_wake)
{
    if (wakes->count > 0)
        *ret_wake = wakes->items[wakes->head];
    return wakes->count > 0;
}

void wakes_pop(struct wakes *wakes)
{
    wakes->head++;
    wakes->count--;
}

void wakes_free(struct wakes *wakes)
{
    free(wakes->items);
    *wakes = (struct wakes){0};
}

/* --- what comes in ----------------------------------------------------------------------------- */
/* Wakes the loop once, not for each of a thousand verdicts of one commit. */
static void signal_and_unlock(struct inbox *inbox)
{
    bool wakes = inbox->sleeps == SLEEP_WAIT || (inbox->sleeps == SLEEP_REST && inbox->pressing);
    if (wakes || inbox->stopped) {
        inbox->sleeps = SLEEP_NOT;
        pthread_cond_signal(&inbox->came);
    }
    pthread_mutex_unlock(&inbox->mutex);
}

/* One too many says nothing of itself: all is read again. */
void inbox_wake(void *arg, enum service_wake what, int64_t id)
{
    struct inbox *inbox = arg;
    const struct wake wake = {what, id}, all = {.what = SERVICE_WAKE_ALL};
    pthread_mutex_lock(&inbox->mutex);
    if (!wakes_push(&inbox->wakes, &wake)) {
        wakes_free(&inbox->wakes);
        (void)wakes_push(&inbox->wakes, &all);
    }
    inbox->pressing = true;
    signal_and_unlock(inbox);
}

/* How soon the most pressing of them wants to be looked at. */
static enum look look_for(const struct inbox *inbox, const struct service_stored *stored)
{
    const struct fault_overrides *overrides = atomic_load(&inbox->service->fault_overrides);
    enum look look = LOOK_NOT;
    for (size_t i = 0; i < VERDICTS_PER_POST_MAX && stored->news >> i != 0; i++) {
        const struct verdict *verdict = &stored->verdicts[i];
        if ((stored->news >> i & 1) == 0)
            continue;
        if (verdict->severity == SEVERITY_CRITICAL)
            return LOOK_FIRST;
        if (!fault_is_inert(verdict->code) || fault_is_overridden(overrides, verdict->code))
            look = LOOK_LATER;
    }
    return look;
}

static void count_detected(struct inbox *inbox, const struct service_stored *stored)
{
    for (size_t i = 0; i < VERDICTS_PER_POST_MAX && stored->first >> i != 0; i++) {
        const struct verdict *verdict = &stored->verdicts[i];
        if ((stored->first >> i & 1) != 0 && verdict->severity == SEVERITY_CRITICAL)
            durations_add(&inbox->detected, verdict->received_at - verdict->first_at);
    }
}

void inbox_verdicts_stored(void *arg, const struct service_stored *stored)
{
    struct inbox *inbox = arg;
    enum look look = look_for(inbox, stored);
    pthread_mutex_lock(&inbox->mutex);
    count_detected(inbox, stored);
    if (inbox->verdict_count >= INBOX_VERDICTS_MAX) {
        inbox->overflow = true;
    } else {
        if (inbox->verdict_count == inbox->verdict_capacity) {
            inbox->verdict_capacity = inbox->verdict_capacity == 0 ? 64 : inbox->verdict_capacity * 2;
            inbox->verdicts = own_realloc(inbox->verdicts, inbox->verdict_capacity, sizeof(*inbox->verdicts));
        }
        inbox->verdicts[inbox->verdict_count++] =
            (struct inbox_verdict){stored->node_id, stored->received_mono_us, look};
    }
    inbox->pressing |= look == LOOK_FIRST;
    if (look == LOOK_FIRST && inbox->oldest_us == 0)
        inbox->oldest_us = stored->received_mono_us;
    signal_and_unlock(inbox);
}

void inbox_agent_changed(void *arg, int64_t node_id)
{
    struct inbox *inbox = arg;
    pthread_mutex_lock(&inbox->mutex);
    if (inbox->agent_count == inbox->agent_capacity) {
        inbox->agent_capacity = inbox->agent_capacity == 0 ? 64 : inbox->agent_capacity * 2;
        inbox->agents = own_realloc(inbox->agents, inbox->agent_capacity, sizeof(*inbox->agents));
    }
    inbox->agents[inbox->agent_count++] = node_id;
    signal_and_unlock(inbox);
}

void inbox_call_sent(struct inbox *inbox, struct rcall *call)
{
    pthread_mutex_lock(&inbox->mutex);
    call->previous = NULL;
    call->next = inbox->waiting;
    if (call->next != NULL)
        call->next->previous = call;
    inbox->waiting = call;
    pthread_mutex_unlock(&inbox->mutex);
}

void inbox_call_begins(struct inbox *inbox, struct rcall *call)
{
    pthread_mutex_lock(&inbox->mutex);
    if (call->previous != NULL)
        call->previous->next = call->next;
    else
        inbox->waiting = call->next;
    if (call->next != NULL)
        call->next->previous = call->previous;
    inbox->at_work++;
    pthread_mutex_unlock(&inbox->mutex);
}

void inbox_call_done(struct inbox *inbox, struct rcall *call)
{
    call->next = call->previous = NULL;
    pthread_mutex_lock(&inbox->mutex);
    *inbox->results_end = call;
    inbox->results_end = &call->next;
    inbox->at_work--;
    inbox->pressing = true;
    signal_and_unlock(inbox);
}

void inbox_take(struct inbox *inbox, struct inbox_mail *ret_mail)
{
    pthread_mutex_lock(&inbox->mutex);
    *ret_mail = (struct inbox_mail){.verdicts = TAKE(inbox->verdicts),
                                    .verdict_count = inbox->verdict_count,
                                    .agents = TAKE(inbox->agents),
                                    .agent_count = inbox->agent_count,
                                    .results = TAKE(inbox->results),
                                    .wakes = inbox->wakes,
                                    .overflow = inbox->overflow};
    inbox->verdict_count = inbox->verdict_capacity = 0;
    inbox->agent_count = inbox->agent_capacity = 0;
    inbox->oldest_us = 0;
    inbox->results_end = &inbox->results;
    inbox->wakes = (struct wakes){0};
    inbox->overflow = inbox->pressing = false;
    pthread_mutex_unlock(&inbox->mutex);
}

void inbox_mail_free(struct inbox_mail *mail)
{
    free(TAKE(mail->verdicts));
    free(TAKE(mail->agents));
    wakes_free(&mail->wakes);
    while (mail->results != NULL) {
        struct rcall *call = mail->results;
        mail->results = call->next;
        reconcile_call_free(call);
    }
}

static bool has_mail(const struct inbox *inbox)
{
    return inbox->verdict_count > 0 || inbox->agent_count > 0 || inbox->results != NULL || inbox->wakes.count > 0 ||
           inbox->overflow;
}

/* False when the time is over. */
static bool sleep_until(struct inbox *inbox, enum sleep sleep, const struct timespec *until)
{
    inbox->sleeps = sleep;
    int rc = pthread_cond_timedwait(&inbox->came, &inbox->mutex, until);
    inbox->sleeps = SLEEP_NOT;
    return rc != ETIMEDOUT;
}

bool inbox_wait(struct inbox *inbox, int64_t wait_ms)
{
    struct timespec until = clock_deadline(wait_ms > 0 ? wait_ms : 0);
    pthread_mutex_lock(&inbox->mutex);
    while (!inbox->stopped && !has_mail(inbox) && sleep_until(inbox, SLEEP_WAIT, &until))
        continue;
    bool go_on = !inbox->stopped;
    pthread_mutex_unlock(&inbox->mutex);
    return go_on;
}

bool inbox_rest(struct inbox *inbox, int64_t rest_ms, bool busy)
{
    struct timespec until = clock_deadline(rest_ms);
    pthread_mutex_lock(&inbox->mutex);
    bool rests = !busy || has_mail(inbox);
    while (rests && !inbox->stopped && !inbox->pressing && sleep_until(inbox, SLEEP_REST, &until))
        continue;
    bool go_on = !inbox->stopped;
    pthread_mutex_unlock(&inbox->mutex);
    return go_on;
}

void inbox_stop(struct inbox *inbox)
{
    pthread_mutex_lock(&inbox->mutex);
    inbox->stopped = true;
    signal_and_unlock(inbox);
}

void inbox_detected(struct inbox *inbox, struct durations *ret_detected)
{
    pthread_mutex_lock(&inbox->mutex);
    *ret_detected = inbox->detected;
    pthread_mutex_unlock(&inbox->mutex);
}

int64_t inbox_oldest_us(struct inbox *inbox)
{
    pthread_mutex_lock(&inbox->mutex);
    int64_t oldest_us = inbox->oldest_us;
    pthread_mutex_unlock(&inbox->mutex);
    return oldest_us;
}
