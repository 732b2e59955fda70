/* A map of what was asked for under which key, and a list by age, from whose old end it is forgotten. */
#include "api/repeat.h"
#include "base/map.h"
#include "base/own.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define NAME_BYTES 96 /* token and key */

struct repeat {
    struct repeat *older, *newer;
    char name[NAME_BYTES];
    uint8_t digest[ID_SHA256_BYTES];
    int64_t since_ms;
    bool done;
    struct repeat_reply reply;
};

struct repeats {
    pthread_mutex_t lock;
    const struct clock *clock;
    struct map *by_name;
    struct repeat *oldest, *newest;
    size_t count, bytes;
};

void repeat_reply_free(struct repeat_reply *reply)
{
    char *text = (char *)(uintptr_t)TAKE(reply->text);
    if (text != NULL)
        explicit_bzero(text, strlen(text)); /* a new token's secret, perhaps */
    free(text);
    free((char *)(uintptr_t)TAKE(reply->location));
}

static struct repeat_reply reply_copy(const struct repeat_reply *reply)
{
    struct repeat_reply copy = *reply;
    copy.text = own_strdup(reply->text);
    copy.location = own_strdup(reply->location);
    return copy;
}

static void forget(struct repeats *all, struct repeat *one)
{
    map_remove(all->by_name, one->name);
    *(one->older != NULL ? &one->older->newer : &all->oldest) = one->newer;
    *(one->newer != NULL ? &one->newer->older : &all->newest) = one->older;
    all->count--;
    if (one->done)
        all->bytes -= strlen(one->reply.text);
    repeat_reply_free(&one->reply);
    free(one);
}

/* What is under way stays: its thread holds it, and there are no more of those than threads. */
static void forget_old(struct repeats *all, int64_t now_ms)
{
    struct repeat *next;
    for (struct repeat *one = all->oldest; one != NULL; one = next) {
        next = one->newer;
        if (all->count <= REPEATS_MAX && all->bytes <= REPEATS_BYTES_MAX && now_ms - one->since_ms < REPEATS_MS)
            return;
        if (one->done)
            forget(all, one);
    }
}

static struct repeat *remember(struct repeats *all, const char *name, const uint8_t digest[ID_SHA256_BYTES],
                               int64_t now_ms)
{
    struct repeat *one = own_calloc(1, sizeof *one);
    snprintf(one->name, sizeof one->name, "%s", name);
    memcpy(one->digest, digest, ID_SHA256_BYTES);
    one->since_ms = now_ms;
    one->older = all->newest;
    *(all->newest != NULL ? &all->newest->newer : &all->oldest) = one;
    all->newest = one;
    all->count++;
    map_set(all->by_name, name, one);
    return one;
}

enum repeat_found repeat_begin(struct repeats *all, int64_t who, const char *key, const uint8_t digest[ID_SHA256_BYTES],
                               struct repeat **ret_mine, struct repeat_reply *ret_reply)
{
    char name[NAME_BYTES];
    enum repeat_found found = REPEAT_FIRST;
    int64_t now_ms = clock_mono_ms(all->clock);
    snprintf(name, sizeof name, "%" PRId64 " %s", who, key);
    pthread_mutex_lock(&all->lock);
    forget_old(all, now_ms);
    struct repeat *one = map_get(all->by_name, name);
    if (one == NULL) {
        *ret_mine = remember(all, name, digest, now_ms);
    } else if (memcmp(one->digest, digest, ID_SHA256_BYTES) != 0) {
        found = REPEAT_OTHER;
    } else if (one->done) {
        found = REPEAT_SAME;
        *ret_reply = reply_copy(&one->reply);
    } else {
        found = REPEAT_BUSY;
    }
    pthread_mutex_unlock(&all->lock);
    return found;
}

void repeat_end(struct repeats *all, struct repeat *mine, const struct repeat_reply *reply)
{
    pthread_mutex_lock(&all->lock);
    if (reply != NULL) {
        mine->reply = reply_copy(reply);
        mine->done = true;
        all->bytes += strlen(reply->text);
        forget_old(all, clock_mono_ms(all->clock));
    } else {
        forget(all, mine);
    }
    pthread_mutex_unlock(&all->lock);
}

struct repeats *repeats_new(const struct clock *clock)
{
    struct repeats *all = own_calloc(1, sizeof *all);
    pthread_mutex_init(&all->lock, NULL);
    all->clock = clock;
    all->by_name = map_new();
    return all;
}

void repeats_free(struct repeats *all)
{
    if (all == NULL)
        return;
    while (all->oldest != NULL)
        forget(all, all->oldest);
    map_free(all->by_name);
    pthread_mutex_destroy(&all->lock);
    free(all);
}
