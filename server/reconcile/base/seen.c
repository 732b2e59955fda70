/* What is asked of a node's last snapshot: observe/observe.c takes it. */
#include "server/reconcile/base/seen.h"
#include "server/reconcile/base/cluster.h"
#include "server/reconcile/base/group.h"
#include "server/reconcile/base/link.h"
#include "server/reconcile/base/loop.h"
#include "server/reconcile/base/node.h"

bool reconcile_sees(const struct reconcile *r, const struct rnode *node)
{
    const struct scheduler_link *link = reconcile_link(node);
    return link != NULL && node->seen_seq > node->touched_seq && node->seen_seq == link->observed_seq &&
           reconcile_now(r) - link->observed_at <= reconcile_link_age_max(link);
}

bool reconcile_unknown_there(const struct rnode *node)
{
    const struct scheduler_link *link = reconcile_link(node);
    return link != NULL && link->observed_seq > node->touched_seq && node->seen_seq != link->observed_seq;
}

bool reconcile_reason_is_ours(const struct rnode *node)
{
    return node->reason != NULL && node->note_at > 0;
}

bool reconcile_external_drain(const struct rnode *node)
{
    return node->drained && !reconcile_reason_is_ours(node) && node->request != SCHEDULER_REQUEST_REBOOT &&
           node->request != SCHEDULER_REQUEST_REPLACE;
}
