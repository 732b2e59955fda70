/*
 * What may happen to a call to a fake backend, from a seed or to order: it fails, its reply is lost after the effect, or
 * the whole process is gone before or after it (then nothing has any effect until the outcome is told otherwise).
 */
#ifndef HOLDFAST_TESTS_SUPPORT_FAKE_OUTCOME_H
#define HOLDFAST_TESTS_SUPPORT_FAKE_OUTCOME_H

#include "base/clock.h"

#include <stdbool.h>
#include <stdint.h>

struct fake_outcome {
    uint64_t random;   /* state of the generator; 0: no chance is taken */
    int error_percent; /* calls that fail before they do anything */
    int lost_percent;  /* calls whose reply is lost after they did it */
    int hang_percent;  /* calls that answer nothing until hang_ms later, and had no effect */
    int64_t hang_ms;
    struct clock *clock; /* that goes on meanwhile; NULL: nothing hangs */
    int64_t calls;       /* so far */
    int64_t die_before;  /* the process is gone at the call with this number, before its effect; 0: never */
    int64_t die_after;   /* … after its effect */
    bool dead;
};

/* 0, or the status to answer without doing anything. */
int fake_outcome_begin(struct fake_outcome *outcome, char *error);
/* The status to answer after the effect, given the one that the call would answer. */
int fake_outcome_end(struct fake_outcome *outcome, int status, char *error);
/* 0..below-1, from the outcome's generator. */
uint32_t fake_outcome_draw(uint64_t *random, uint32_t below);

#endif
