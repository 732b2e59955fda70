/*
 * Deadlines of many connections for nothing: each phase has one duration, so its connections expire in the
 * order in which they entered it, and the list's head is all there is to look at.
 */
#ifndef HOLDFAST_API_DEADLINE_H
#define HOLDFAST_API_DEADLINE_H

#include <stddef.h>
#include <stdint.h>

enum deadline_phase {
    DEADLINE_NONE, /* the server's turn, or a stream: nobody to hurry */
    DEADLINE_FIRST,
    DEADLINE_IDLE,
    DEADLINE_BODY,
    DEADLINE_REPLY,
    DEADLINE_PHASES
};

struct deadline {
    struct deadline *prev, *next;
    int64_t since_ms;
    enum deadline_phase phase;
};

struct deadlines {
    struct deadline *head[DEADLINE_PHASES], *tail[DEADLINE_PHASES];
    int64_t after_ms[DEADLINE_PHASES];
};

/* Moves d (zeroed at first) into phase, from now on. */
void deadline_enter(struct deadlines *all, struct deadline *d, enum deadline_phase phase, int64_t now_ms);
/* Takes the next one that is due out of its phase; NULL when none is. */
struct deadline *deadline_next_due(struct deadlines *all, int64_t now_ms);

#endif
