/*
 * Who is tested with whom, and who is to blame: the connectivity test takes two nodes, so one failure blames neither. Pure.
 *
 * Round 1 pairs whoever has not been tested; the odd one out goes to a node that has proven good. A node that failed goes on to others,
 * to those that have proven good first, until it passes or is found out:
 *
 *     passed        with somebody. If it failed with another, that was the other, or what lies between the two
 *     blamed        it failed with two different partners that both passed with others, and passed with nobody
 *     inconclusive  it failed, and there is nobody left to try: a pair that failed alone, or a network that carries nothing
 *     alone         there was nobody to be tested with, or it came to nothing with all, or with many
 *
 * A node that passed stays for as long as others may need it as a partner.
 */
#ifndef HOLDFAST_POLICY_PAIRS_H
#define HOLDFAST_POLICY_PAIRS_H

#include <stdbool.h>
#include <stddef.h>

enum pairs_result {
    PAIRS_OPEN,   /* it runs */
    PAIRS_PASSED, /* both ends say so */
    PAIRS_FAILED,
    PAIRS_VOID, /* it came to nothing, for a reason that is neither's: it may be tried once more */
};
struct pairs_match {
    size_t a, b; /* members */
    enum pairs_result result;
};

struct pairs_member {
    bool here; /* it has come and was heard of lately */
    bool busy; /* it is at a match still, whatever that has come to by its partner's word */
    bool left; /* it was told its end, or has gone */
};

struct pairs {
    const struct pairs_member *members;
    size_t member_count;
    const struct pairs_match *matches;
    size_t match_count;
};

/* The matches that begin now; ret_matches has room for half the members. Returns how many. */
size_t pairs_next(const struct pairs *pairs, struct pairs_match *ret_matches);

enum pairs_verdict {
    PAIRS_WAIT, /* for another match, or for the end of the one that runs */
    PAIRS_STAY, /* it passed, and others may need it */
    PAIRS_GOOD,
    PAIRS_BLAMED,
    PAIRS_INCONCLUSIVE,
    PAIRS_ALONE,
};
/* How it stands with one of them. more_may_come: there are others that have not come yet. */
enum pairs_verdict pairs_judge(const struct pairs *pairs, size_t member, bool more_may_come);

#endif
