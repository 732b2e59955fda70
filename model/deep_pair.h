/*
 * The connectivity test as agents and server talk about it: an agent asks for a match, with all that its earlier ones came to; so
 * whoever restarts learns again what there was.
 */
#ifndef HOLDFAST_MODEL_DEEP_PAIR_H
#define HOLDFAST_MODEL_DEEP_PAIR_H

#include "model/deep.h"

#define DEEP_PAIRS_MAX 16 /* matches of one run; more would find out nothing new */
#define DEEP_PAIR_TOOL_MAX_BYTES 24
#define DEEP_PAIR_LIMIT_MAX_MS INT64_C(3600000)

#define DEEP_PAIR_RESULT_LIST(X) \
    X(PASSED, "passed")          \
    X(FAILED, "failed")          \
    X(VOID, "void") /* it came to nothing, for a reason of no meaning */
enum deep_pair_result {
#define X(SYMBOL, text) DEEP_PAIR_RESULT_##SYMBOL,
    DEEP_PAIR_RESULT_LIST(X)
#undef X
};
ENUM_DECLARE(deep_pair_result);

struct deep_pair_said {
    char match[ID_UUID_MAX];
    char partner[NODE_NAME_MAX_BYTES];
    enum deep_pair_result result;
};
struct deep_pair_ask {
    char key[KEY_MAX_BYTES];
    char tool[DEEP_PAIR_TOOL_MAX_BYTES]; /* both of a pair use the same */
    char address[PEER_MAX_BYTES];        /* where the partner finds this machine; "": where the question came from */
    int64_t port;                        /* that nobody uses on it now */
    int64_t limit_ms;                    /* of a match, after which nothing more is to be expected */
    struct deep_pair_said said[DEEP_PAIRS_MAX];
    size_t said_count;
};

#define DEEP_PAIR_WORD_LIST(X) \
    X(WAIT, "wait")            \
    X(MATCH, "match")          \
    X(END, "end")              \
    X(NEXT, "next") /* an end at which nothing was found out, as nothing could be started: with another tool it may */
enum deep_pair_word {
#define X(SYMBOL, text) DEEP_PAIR_WORD_##SYMBOL,
    DEEP_PAIR_WORD_LIST(X)
#undef X
};
ENUM_DECLARE(deep_pair_word);

struct deep_pair_reply {
    enum deep_pair_word word;
    int64_t pause_ms; /* WAIT: then ask again */
    /* MATCH */
    struct deep_pair_said match; /* its id and the partner */
    bool serves;                 /* waits for the partner, at the port that it told; else calls there */
    char address[PEER_MAX_BYTES];
    int64_t port;
    /* END and NEXT: PASSED, FAILED or SKIPPED, and why; of PASSED, what else is to be known */
    enum deep_state state;
    char detail[SENTENCE_MAX_BYTES];
};

#endif
