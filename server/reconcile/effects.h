/* What a turn's transaction changes in memory. */
#ifndef HOLDFAST_SERVER_RECONCILE_EFFECTS_H
#define HOLDFAST_SERVER_RECONCILE_EFFECTS_H

struct turn;

/* After the commit: all that was noted (base/effect.h), in its order. */
void turn_effects_do(struct turn *turn);

#endif
