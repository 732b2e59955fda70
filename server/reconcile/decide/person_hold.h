/* The hold of a node for a person that stands, into item->hold. */
#ifndef HOLDFAST_SERVER_RECONCILE_DECIDE_PERSON_HOLD_H
#define HOLDFAST_SERVER_RECONCILE_DECIDE_PERSON_HOLD_H

struct db_tx;
struct decide_item;

int reconcile_read_person_hold(struct db_tx *tx, struct decide_item *item);

#endif
