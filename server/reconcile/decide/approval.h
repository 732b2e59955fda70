/* Repairs that are a question first. */
#ifndef HOLDFAST_SERVER_RECONCILE_DECIDE_APPROVAL_H
#define HOLDFAST_SERVER_RECONCILE_DECIDE_APPROVAL_H

#include <stdbool.h>
#include <stdint.h>

struct approval;
struct decide_item;
struct decision;
struct rnode;
struct turn;

bool reconcile_approval_is_open(const struct approval *approval, int64_t now);
/* A question that is new is looked at again when nobody has answered. */
void reconcile_approval_set_expiry(const struct rnode *node, struct decision *decision, int64_t now);
/* Inside the transaction: what the item's decision does to the question; stored: it was stored now; NULL: it was not. */
int reconcile_approval(struct turn *turn, const struct decide_item *item, const struct decision *stored);

#endif
