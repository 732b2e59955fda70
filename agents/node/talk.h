/*
 * How a runner speaks to the server: it fetches its order at a path and posts reports to the same. It waits as long as it takes,
 * with pauses, because it is a process of its own.
 */
#ifndef HOLDFAST_AGENTS_NODE_TALK_H
#define HOLDFAST_AGENTS_NODE_TALK_H

#include "agents/node/state.h"
#include "base/text.h"

#include <stddef.h>
#include <stdint.h>

struct talk_options {
    const char *url, *fingerprint, *state_dir, *instance_id;
    const char *path; /* of the order and of the reports */
    size_t reply_bytes_max;
    int64_t timeout_ms; /* of one exchange */
    int64_t pause_ms;   /* after a failure; doubled some times */
};

struct talk {
    struct talk_options options;
    struct state state;
    struct wire *wire;
};

/* What is answered beside 0 and the statuses: the server wants no more. */
#define TALK_WITHDRAWN 1

/* Says itself what is wrong. Closed with talk_close in any case. */
int talk_open(struct talk *talk, const struct talk_options *options);
void talk_close(struct talk *talk);
/* One exchange; body NULL: a GET. *ret_body lives until the next one. */
int talk_exchange(struct talk *talk, const struct text *body, int *ret_answer, const char **ret_body, size_t *ret_len);
int talk_say_once(struct talk *talk, const struct text *body);
/* Until the server has heard it, or for so long that the agent is to begin another runner. */
int talk_say(struct talk *talk, const struct text *body);
void talk_pause(int64_t ms);

#endif
