/*
 * What a scheduler configuration or a compute quota asks for: parsed once by the API that took it, stored as such, and put into its own
 * words by each API that shows it.
 */
#ifndef HOLDFAST_MODEL_GOVERNANCE_SPEC_H
#define HOLDFAST_MODEL_GOVERNANCE_SPEC_H

#include "base/enum.h"
#include "base/record.h"

#define SHARING_STRATEGY_LIST(X) \
    X(DONT_LEND, "dont-lend")    \
    X(LEND, "lend")              \
    X(LEND_AND_BORROW, "lend-and-borrow")
enum sharing_strategy {
#define X(SYMBOL, text) SHARING_STRATEGY_##SYMBOL,
    SHARING_STRATEGY_LIST(X)
#undef X
};
ENUM_DECLARE(sharing_strategy);

struct priority_class_spec {
    char *name;
    struct optional weight;
};
/* A part of an accelerator. */
struct slice_spec {
    bool given;
    char *kind; /* "mig-1g.5gb" */
    struct optional count;
};
/* What is given of one type of instance. */
struct amount_spec {
    char *instance_type;
    struct optional nodes, accelerators;
    struct optional_real cpus, memory_gib;
    struct slice_spec slice;
};
struct sharing_spec {
    bool given;
    struct optional strategy; /* enum sharing_strategy */
    struct optional borrow_percent;
    struct optional_list borrow_at_most; /* struct amount_spec */
};
struct governance_spec {
    /* of a scheduler configuration */
    struct optional_list classes; /* struct priority_class_spec */
    struct optional fair_share, idle_sharing;
    /* of a quota */
    struct optional_list amounts; /* struct amount_spec */
    struct sharing_spec sharing;
    struct optional preempts; /* what has a lower priority in the same team */
};

/* As the store has it. write: owned by the caller. read: INVALID for what write did not write. */
char *governance_spec_write(const struct governance_spec *spec);
int governance_spec_read(const char *text, struct governance_spec *ret_spec);
void governance_spec_free(struct governance_spec *spec); /* the contents */
static inline void auto_governance_spec_cleanup(struct governance_spec *spec)
{
    governance_spec_free(spec);
}

#endif
