/*
 * Idempotency keys: a write that comes again with its key is answered as it was the first time, and done once.
 *
 * Kept in memory, for an hour: what a client repeats, it repeats soon; an answer may hold a secret, which is not for the
 * disk; and what was made has a unique name or a state, so that after a restart a repeat is refused in words at worst. The
 * operations of nodes keep their key with the operation instead. Only what succeeded is remembered: what was refused may
 * be tried again under its key.
 */
#ifndef HOLDFAST_API_REPEAT_H
#define HOLDFAST_API_REPEAT_H

#include "base/clock.h"
#include "base/id.h"

#include <stddef.h>
#include <stdint.h>

#define REPEATS_MAX 1024
#define REPEATS_BYTES_MAX (8L << 20) /* of answers */
#define REPEATS_MS (60 * 60 * 1000)

struct repeats;
struct repeat; /* a request under way that has a key */

struct repeat_reply {
    unsigned status;
    const char *text; /* "" for none */
    const char *location;
    int64_t revision; /* its ETag; 0: none */
};
void repeat_reply_free(struct repeat_reply *reply); /* a copy */

enum repeat_found {
    REPEAT_FIRST, /* it is new: do it, then repeat_end */
    REPEAT_SAME,  /* it was done: the answer is a copy, for the caller to free */
    REPEAT_OTHER, /* the key belongs to another request */
    REPEAT_BUSY,  /* the first one is still under way */
};

struct repeats *repeats_new(const struct clock *clock);
void repeats_free(struct repeats *all); /* accepts NULL */
/* who: the token. digest: of what is asked for. */
enum repeat_found repeat_begin(struct repeats *all, int64_t who, const char *key, const uint8_t digest[ID_SHA256_BYTES],
                               struct repeat **ret_mine, struct repeat_reply *ret_reply);
/* reply NULL: it failed, forget it. */
void repeat_end(struct repeats *all, struct repeat *mine, const struct repeat_reply *reply);

#endif
