/* A bucket for each address, in a table of fixed size: addresses that share a place share its refusals, which costs them nothing else. */
#include "api/refusals.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/own.h"

#include <pthread.h>

#define PLACES 1024

struct bucket {
    int64_t wrong; /* so many at once; one is forgiven each second */
    int64_t at_ms;
};

struct refusals {
    pthread_mutex_t lock;
    int64_t burst, delay_ms;
    bool loopback_too;
    struct bucket buckets[PLACES];
};

struct refusals *refusals_new(int burst, int64_t delay_ms, bool loopback_too)
{
    struct refusals *r = own_calloc(1, sizeof(*r));
    pthread_mutex_init(&r->lock, NULL);
    r->burst = burst > 0 ? burst : REFUSALS_BURST;
    r->delay_ms = delay_ms > 0 ? delay_ms : REFUSALS_DELAY_MS;
    r->loopback_too = loopback_too;
    return r;
}

void refusals_free(struct refusals *r)
{
    if (r == NULL)
        return;
    pthread_mutex_destroy(&r->lock);
    free(r);
}

int64_t refusals_delay_ms(struct refusals *r, const char *peer, bool is_loopback, int64_t now_ms)
{
    if (is_loopback && !r->loopback_too)
        return 0;
    struct bucket *b = &r->buckets[hash_text(HASH_BASIS, peer) % PLACES];
    pthread_mutex_lock(&r->lock);
    int64_t forgiven = (now_ms - b->at_ms) / MS_PER_S;
    if (forgiven >= b->wrong) {
        b->wrong = 0;
        b->at_ms = now_ms;
    } else if (forgiven > 0) {
        b->wrong -= forgiven;
        b->at_ms += forgiven * MS_PER_S;
    }
    if (b->wrong <= r->burst)
        b->wrong++;
    int64_t delay_ms = b->wrong > r->burst ? r->delay_ms : 0;
    pthread_mutex_unlock(&r->lock);
    return delay_ms;
}
