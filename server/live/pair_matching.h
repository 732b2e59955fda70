/*
 * Connectivity tests under way: who is there to be tested with whom, and what came of it (policy/pairs.h says what follows). In
 * memory; each question brings the answers to all earlier ones, so a restart loses nothing. Thread-safe.
 *
 * Whoever is tested with the same tool, is of the same type of instance and belongs to the same cluster is in one session.
 */
#ifndef HOLDFAST_SERVER_PAIRING_H
#define HOLDFAST_SERVER_PAIRING_H

#include "base/id.h"
#include "model/deep_pair.h"

struct pairing;
struct pairing *pairing_new(void);
void pairing_free(struct pairing *pairing);

/* Who asks. */
struct pairing_node {
    const char *session, *name;
    int64_t settle_ms; /* it waits at least so long for others to come */
};
/* Whether pairing_expect has not been called for the session in a while. */
bool pairing_asks_who(struct pairing *pairing, const char *session, int64_t now_ms);
/* The nodes whose runs have not ended: those that may come, and, of those that came, those that may still be there. */
void pairing_expect(struct pairing *pairing, const char *session, const char *const *names, size_t count,
                    int64_t now_ms);
void pairing_answer(struct pairing *pairing, const struct pairing_node *node, const struct deep_pair_ask *ask,
                    struct id_source *ids, int64_t now_ms, struct deep_pair_reply *ret_reply);

#endif
