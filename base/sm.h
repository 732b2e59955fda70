/*
 * State machines as tables: for each state the set of states that may follow.
 *
 * The diagram stands above the table in model/. A move that the table does not hold is
 * our bug when we make it and theirs when they ask for it: sm_may asks, sm_move asserts.
 */
#ifndef HOLDFAST_BASE_SM_H
#define HOLDFAST_BASE_SM_H

#include <stdbool.h>
#include <stdint.h>

#define SM_BIT(state) (UINT32_C(1) << (unsigned)(state))

struct sm_row {
    const char *name;
    uint32_t next; /* bits of the states that may follow */
};

struct sm {
    const char *name;
    const struct sm_row *rows;
    int count;
};

bool sm_may(const struct sm *sm, int from, int to);
/* Aborts with both names when the move is not in the table. */
void sm_move(const struct sm *sm, int *state, int to);
/* STATUS_INVALID when text names no state. */
int sm_parse(const struct sm *sm, const char *text, int *ret_state);
const char *sm_text(const struct sm *sm, int state);

#endif
