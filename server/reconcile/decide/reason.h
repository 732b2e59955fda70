/* What a node says to people of its state. */
#ifndef HOLDFAST_SERVER_RECONCILE_DECIDE_REASON_H
#define HOLDFAST_SERVER_RECONCILE_DECIDE_REASON_H

#include "model/model.h"

struct decide_item;
struct fleet_view;
struct reconcile;

struct ready_reason {
    enum attention attention; /* NONE: the text is "" */
    char text[REASON_MAX_BYTES];
};

/* A node in service has a reason only when people have to know something about it. True when it is not the row's. */
bool reconcile_ready_reason(const struct reconcile *r, const struct decide_item *item, const struct node *row,
                            struct ready_reason *ret_reason);
/* Nothing is done, and a person has to know. */
bool reconcile_is_for_people(const struct decision *d);
/* Nothing was heard since we started, and that is not long ago: what was known before still stands. */
bool reconcile_is_unheard(const struct node *row, const struct fleet_view *live);

#endif
