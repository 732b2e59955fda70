/* The connectivity test's messages, and what is remembered of its matches. Pure. */
#ifndef HOLDFAST_AGENTS_DEEP_PAIR_MESSAGE_H
#define HOLDFAST_AGENTS_DEEP_PAIR_MESSAGE_H

#include "base/text.h"
#include "model/deep_pair.h"

void pair_write_ask(struct text *out, const struct deep_pair_ask *ask);
/* INVALID when it is something else than an answer. */
int pair_read_reply(const char *body, size_t len, struct deep_pair_reply *ret_reply);

/* Key and matches of an ask; the rest of it is of the moment. */
void pair_write_memory(struct text *out, const struct deep_pair_ask *ask);
int pair_read_memory(const char *data, size_t len, struct deep_pair_ask *ret_ask);

#endif
