/*
 * The exchanges of a runner with the server. It fetches its order from a path and posts reports to it. It may wait and retry as
 * long as necessary, because it is a separate process.
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

/* Returned beside 0 and statuses: the server has withdrawn the order. */
#define TALK_WITHDRAWN 1

/* Logs errors. Call talk_close in any case. */
int talk_open(struct talk *talk, const struct talk_options *options);
void talk_close(struct talk *talk);
/* One exchange; body NULL: a GET. *ret_body lives until the next one. */
int talk_exchange(struct talk *talk, const struct text *body, int *ret_answer, const char **ret_body, size_t *ret_len);
int talk_say_once(struct talk *talk, const struct text *body);
/* Retries until the server has it, or until it is time for the agent to start another runner. */
int talk_say(struct talk *talk, const struct text *body);
void talk_pause(int64_t ms);

#endif
