/* Which nodes of a group go, and which are updated next. */
#ifndef HOLDFAST_SERVER_RECONCILE_CLUSTER_BATCH_H
#define HOLDFAST_SERVER_RECONCILE_CLUSTER_BATCH_H

#include "model/model.h"

struct db_tx;
struct provision;
struct reconcile;
struct rgroup;
struct rnode;

/* Which nodes are members of batches that were under way when we went down. */
int reconcile_members_load(struct reconcile *r, struct db_tx *tx);
/* How many nodes could begin an update now. */
int64_t reconcile_batch_room(struct reconcile *r, struct rgroup *group);
void reconcile_choose_victims(struct reconcile *r, struct provision *p, size_t at);
/* Nothing came of it: they are chosen again. */
void reconcile_victims_put_back(struct provision *p);
void reconcile_choose_members(struct reconcile *r, struct provision *p, size_t at);
/* The key of a node's part in a batch: it is how its members are found again. */
void reconcile_member_key(const struct rnode *node, const struct rollout *rollout, char ret_key[KEY_MAX_BYTES]);
/* A member of the batch that went wrong, with what is known of it. */
const struct rnode *reconcile_bad_member(const struct rgroup *group);

#endif
