/*
 * Whose a node is (policy/claim.h), as the loop remembers it, and once more as the store says inside the transaction: a person may have
 * opted the node out or paused the cluster since, and nothing begins after the answer to that person.
 */
#include "server/reconcile/base/claim.h"
#include "db/cluster.h"
#include "server/reconcile/base/cluster.h"
#include "server/reconcile/base/group.h"
#include "server/reconcile/base/node.h"
#include "server/reconcile/base/record.h"
#include "server/reconcile/base/seen.h"

struct policy_claims reconcile_claims(const struct reconcile *r, const struct rnode *node)
{
    return (struct policy_claims){.opted_out = node->opted_out,
                                  .paused = node->group->cluster->paused,
                                  .external_drain = reconcile_node_has_scheduler(node) && reconcile_sees(r, node) &&
                                                    reconcile_external_drain(node),
                                  .at_work = node->op != NULL,
                                  .maintenance = reconcile_node_has_scheduler(node) && node->maintenance};
}

enum policy_claim reconcile_claim(const struct reconcile *r, const struct rnode *node, enum policy_act act)
{
    const struct policy_claims claims = reconcile_claims(r, node);
    return policy_claim(act, &claims);
}

/* Many nodes of one cluster follow each other: its row is read once for all of them. */
int turn_is_paused(struct turn *turn, const struct rcluster *cluster, bool *ret_paused)
{
    struct cluster row;
    if (turn->asked != cluster) {
        int status = db_cluster_get_row(turn->tx, cluster->id, &row);
        if (status != 0)
            return status;
        turn->asked = cluster;
        turn->asked_paused = row.paused_at > 0;
    }
    *ret_paused = turn->asked_paused;
    return 0;
}

int turn_claim(struct turn *turn, const struct rnode *node, const struct node *row, enum policy_act act,
               enum policy_claim *ret_claim)
{
    struct policy_claims claims = reconcile_claims(turn->r, node);
    claims.opted_out = row->opted_out;
    int status = turn_is_paused(turn, node->group->cluster, &claims.paused);
    if (status == 0)
        *ret_claim = policy_claim(act, &claims);
    return status;
}
