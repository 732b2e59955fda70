/* A match of the connectivity test, carried out with what this machine has for it. */
#ifndef HOLDFAST_AGENTS_DEEP_PAIR_H
#define HOLDFAST_AGENTS_DEEP_PAIR_H

#include "agents/deep/deep.h"
#include "model/deep_pair.h"

struct pair_tool {
    const char *name; /* both of a pair have the same: "nccl" */
    const char *says; /* what it is, for people */
    int64_t limit_ms; /* of a match */
    bool (*is_here)(struct deep_bench *bench);
    /* 0 with the result, or a status as tests return it. own: this machine's address. */
    int (*run)(struct deep_bench *bench, const struct deep_pair_reply *match, const char *own,
               enum deep_pair_result *ret_result);
};
/* The first that is here behind that one (NULL: of all); NULL. */
const struct pair_tool *pair_tool_find(struct deep_bench *bench, const struct pair_tool *behind);
const struct pair_tool *pair_tool_named(const char *name);

#endif
