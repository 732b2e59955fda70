/*
 * Nodes that broke under a job that resumes by itself (srun --auto-resume), in a group that has such nodes always replaced
 * (autoResumeReplaces). The job gets another node whatever becomes of this one, so the quicker repair gains it nothing.
 *
 * The job loses the node long before the decision may come, and may be over by then: what counts is that an attempt at a step had the
 * node when the fault was seen. Attempts are kept (db/attempt.c), so the answer stays the same however late it is asked for.
 */
#include "server/reconcile/decide/auto_resume.h"
#include "base/text.h"
#include "db/attempt.h"
#include "db/cluster.h"
#include "server/reconcile/base/group.h"
#include "server/reconcile/base/node.h"
#include "server/reconcile/decide/decide.h"

#define AROUND_MS \
    MS_PER_MIN /* a step may end some seconds before its fault is seen, and the clocks of both may differ */
#define ATTEMPT_NODES_MAX 10000

struct search {
    const char *node;
    bool any, found;
};

static int see_any(const void *row, void *arg)
{
    struct search *search = arg;
    (void)row;
    search->any = true;
    return 1;
}

static int see_node(const void *row, void *arg)
{
    struct search *search = arg;
    char **names = NULL;
    size_t count = 0;
    if (text_hostlist_expand(((const struct job_attempt *)row)->nodes, ATTEMPT_NODES_MAX, &names, &count) != 0)
        return 0;
    for (size_t i = 0; i < count && !search->found; i++)
        search->found = text_equal(names[i], search->node);
    text_list_free(names, count);
    return search->found;
}

struct span {
    int64_t since, until; /* since 0: nothing was seen */
};

static void widen(struct span *span, int64_t from, int64_t to)
{
    if (from > 0 && (span->since == 0 || from < span->since))
        span->since = from;
    if (to > span->until)
        span->until = to;
}

/* When what is against the node was seen: its faults, and the last that was heard of it where that is all. */
static struct span seen_within(const struct decide_item *item, const struct fault_scope *faults)
{
    struct span span = {0};
    for (size_t i = 0; i < item->verdict_count; i++) {
        const struct verdict *verdict = &item->verdicts[i];
        if (text_equal(verdict->instance_id, item->instance.instance_id) && policy_is_node_fault(faults, verdict))
            widen(&span, verdict->first_at, verdict->last_at);
    }
    if (item->live.silent && item->live.last_heartbeat_at > 0)
        widen(&span, item->live.last_heartbeat_at, item->live.last_heartbeat_at);
    return span;
}

/* Most nodes end at the first question, as their cluster has no such jobs. */
int reconcile_read_auto_resume(struct db_tx *tx, struct decide_item *item, const struct fault_scope *faults)
{
    struct search search = {.node = item->node->name};
    AUTO(group_spec) struct group_spec spec = {0};
    const struct span seen = seen_within(item, faults);
    const int64_t cluster = item->row.cluster_id, since = seen.since - AROUND_MS, until = seen.until + AROUND_MS;
    if (seen.since == 0)
        return 0;
    int status = db_attempt_list_within(tx, cluster, since, until, see_any, &search);
    if (status >= 0 && search.any)
        status = db_group_spec_get(tx, item->row.group_id, &spec);
    if (status == STATUS_UNREADABLE) /* which was said at the start */
        return 0;
    if (status >= 0 && spec.auto_resume_replaces.given && spec.auto_resume_replaces.value != 0)
        status = db_attempt_list_within(tx, cluster, since, until, see_node, &search);
    item->resumes_elsewhere = search.found;
    return status < 0 ? status : 0;
}
