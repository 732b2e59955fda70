/*
 * Connectivity tests under way: who is there to be tested with whom, and what came of it (policy/pairs.h says what follows). In
 * memory; each question brings the answers to all earlier ones, so a restart loses nothing. Thread-safe.
 *
 * Whoever is tested with the same tool, is of the same type of instance and belongs to the same cluster is in one session.
 */
#ifndef HOLDFAST_SERVER_PAIR_MATCHING_H
#define HOLDFAST_SERVER_PAIR_MATCHING_H

#include "base/id.h"
#include "model/deep_pair.h"

struct pair_matching;
struct pair_matching *pair_matching_new(void);
void pair_matching_free(struct pair_matching *pair_matching);

/* Who asks. */
struct pair_matching_node {
    const char *session, *name;
    int64_t settle_ms; /* it waits at least so long for others to come */
};
/* Whether pair_matching_expect has not been called for the session in a while. */
bool pair_matching_asks_who(struct pair_matching *pair_matching, const char *session, int64_t now_ms);
/* The nodes whose runs have not ended: those that may come, and, of those that came, those that may still be there. */
void pair_matching_expect(struct pair_matching *pair_matching, const char *session, const char *const *names,
                          size_t count, int64_t now_ms);
void pair_matching_answer(struct pair_matching *pair_matching, const struct pair_matching_node *node,
                          const struct deep_pair_ask *ask, struct id_source *ids, int64_t now_ms,
                          struct deep_pair_reply *ret_reply);

#endif
