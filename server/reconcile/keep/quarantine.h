/*
 * Nodes that are quarantined in the scheduler while they are tested: what the loop and an operation's steps know of
 * reconcile/keep/quarantine.c.
 */
#ifndef HOLDFAST_SERVER_RECONCILE_KEEP_QUARANTINE_H
#define HOLDFAST_SERVER_RECONCILE_KEEP_QUARANTINE_H

#include <stdbool.h>
#include <stdint.h>

struct work;

/* Beside the mark, the node is quarantined for as long as it is tested, and given back before it is
 * resumed. True when that is so, or cannot be and was told. False: work_due says when to look again. */
bool work_is_quarantine(struct work *w);
bool work_is_back(struct work *w, int64_t since);
/* It is to be quarantined from now on; it is to be given back. Nothing where the scheduler has no such thing. */
void work_quarantine_ask(struct work *w);
void work_quarantine_leave(struct work *w);

#endif
