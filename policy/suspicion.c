/*
 * When what others say of a node is a suspicion: somebody said so, the jobs of several users failed there without a code, or several jobs
 * were slowed down by it. One user's job that fails everywhere is not the nodes'. A suspicion is tested first, between jobs.
 */
#include "policy/policy.h"

#include "base/text.h"

#define WITHIN_MS INT64_C(86400000)
#define USERS_MIN 3
#define JOBS_MIN 2

static bool counts(const struct policy_node *node, const struct verdict *verdict, int64_t now_ms)
{
    return verdict->state == VERDICT_STATE_OPEN && text_equal(verdict->source, VERDICT_SOURCE_REPORT) &&
           text_equal(verdict->instance_id, text_or_empty(node->instance_id)) &&
           (verdict->expires_at == 0 || verdict->expires_at > now_ms);
}

/* Another report of the same about the same user or job. */
static bool is_first(const struct policy_node *node, size_t at, int64_t now_ms)
{
    const struct verdict *verdict = node->verdicts[at];
    for (size_t i = 0; i < at; i++)
        if (counts(node, node->verdicts[i], now_ms) && text_equal(node->verdicts[i]->code, verdict->code) &&
            text_equal(node->verdicts[i]->device, verdict->device) &&
            now_ms - node->verdicts[i]->received_at < WITHIN_MS)
            return false;
    return true;
}

int64_t policy_suspected_at(const struct policy_node *node, int64_t now_ms)
{
    int64_t said_at = 0, users_at = 0, jobs_at = 0;
    int users = 0, jobs = 0;
    for (size_t i = 0; i < node->verdict_count; i++) {
        const struct verdict *verdict = node->verdicts[i];
        if (!counts(node, verdict, now_ms))
            continue;
        bool lately = now_ms - verdict->received_at < WITHIN_MS;
        if (fault_has_trait(verdict->code, FAULT_TRAIT_SUSPECTED) && verdict->received_at > said_at)
            said_at = verdict->received_at;
        if (fault_has_trait(verdict->code, FAULT_TRAIT_JOB_FAILED) && lately) {
            users += is_first(node, i, now_ms);
            users_at = verdict->received_at > users_at ? verdict->received_at : users_at;
        }
        if (fault_has_trait(verdict->code, FAULT_TRAIT_STRAGGLER) && lately) {
            jobs += is_first(node, i, now_ms);
            jobs_at = verdict->received_at > jobs_at ? verdict->received_at : jobs_at;
        }
    }
    if (users >= USERS_MIN && users_at > said_at)
        said_at = users_at;
    return jobs >= JOBS_MIN && jobs_at > said_at ? jobs_at : said_at;
}
