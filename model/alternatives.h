/*
 * What a decision did not do, stronger and weaker, each with why not. Made of what was stored with the decision, so that it is
 * the same whenever it is asked for, and old decisions have it, too.
 */
#ifndef HOLDFAST_MODEL_ALTERNATIVES_H
#define HOLDFAST_MODEL_ALTERNATIVES_H

#include "model/model.h"

#define ALTERNATIVES_MAX 5

struct alternative {
    enum action action;
    char why[SENTENCE_MAX_BYTES]; /* completes "it was not rebooted: …" */
};

/* The one that the decision itself names comes first, then the others from the weakest on. Returns how many. */
size_t decision_alternatives(const struct decision *decision, struct alternative ret_alternatives[ALTERNATIVES_MAX]);

#endif
