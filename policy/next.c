/*
 * One answer from what is known of a node and of what it belongs to. What is deleted comes first, then what is empty, then a person's
 * word, then what comes back by itself. An operation at work goes first of all: the node is looked at when that has ended.
 */
#include "policy/next.h"

/* At once, or when it is time. */
static enum policy_next not_before(const struct policy_standing *s, int64_t at, enum policy_next next,
                                   int64_t *ret_look_at)
{
    if (at <= s->now_ms)
        return next;
    *ret_look_at = at;
    return POLICY_NEXT_NOTHING;
}

/* A slot that was deleted is gone after a while, in which people see what became of it; with its group at once. */
static enum policy_next forget(const struct policy_standing *s, int64_t *ret_look_at)
{
    if (s->cluster == CLUSTER_STATE_DELETING)
        return POLICY_NEXT_NOTHING; /* the cluster goes as a whole */
    int64_t at = s->group == GROUP_STATE_DELETING ? 0 : s->state_since + s->linger_ms;
    return not_before(s, at, POLICY_NEXT_FORGET, ret_look_at);
}

/* A deletion that failed is tried again for as long as it takes, but rests as long as one try may last. */
static enum policy_next empty(const struct policy_standing *s, int64_t *ret_look_at)
{
    bool failed = s->last.known && s->last.kind == OPERATION_KIND_DELETE && s->last.state == OPERATION_STATE_FAILED;
    return not_before(s, failed ? s->last.finished_at + s->deletion_pause_ms : 0, POLICY_NEXT_EMPTY, ret_look_at);
}

/* A launch that a person cancelled is not begun again by itself. */
static enum policy_next fill(const struct policy_standing *s)
{
    bool cancelled = s->last.known && s->last.state == OPERATION_STATE_CANCELLED;
    return cancelled ? POLICY_NEXT_NOTHING : POLICY_NEXT_FILL;
}

/* Continuous: a slot that could not be filled is tried again for as long as it is wanted, at a growing pace. */
static enum policy_next retry(const struct policy_standing *s, int64_t *ret_look_at)
{
    bool wanted = s->cluster != CLUSTER_STATE_ROLLING_BACK && s->cluster != CLUSTER_STATE_FAILED &&
                  s->group != GROUP_STATE_DELETING && s->group != GROUP_STATE_FAILED;
    bool failed = s->last.known && s->last.state == OPERATION_STATE_FAILED;
    if (!wanted || !failed || s->was_ready || s->provisioning != PROVISIONING_CONTINUOUS || s->provision == NULL ||
        policy_claim(POLICY_ACT_LAUNCH, &s->claims) != POLICY_CLAIM_NONE)
        return POLICY_NEXT_NOTHING;
    int64_t at = s->last.finished_at + policy_launch_pause(s->provision, s->launch_tries);
    return not_before(s, at, POLICY_NEXT_RETRY, ret_look_at);
}

static bool comes_back(const struct policy_standing *s)
{
    return s->clear && s->seen && s->heard && policy_claim(POLICY_ACT_RETURN, &s->claims) == POLICY_CLAIM_NONE;
}

static bool is_returned(const struct policy_standing *s)
{
    return s->clear && s->downed && s->returns == POLICY_RETURN_TO_SERVICE_NOW;
}

enum policy_next policy_next(const struct policy_standing *s, int64_t *ret_look_at)
{
    *ret_look_at = 0;
    if (s->claims.at_work)
        return POLICY_NEXT_NOTHING;
    if (s->state == NODE_STATE_DELETED)
        return forget(s, ret_look_at);
    if (s->cluster == CLUSTER_STATE_DELETING || s->state == NODE_STATE_DELETING)
        return empty(s, ret_look_at);
    if (s->state == NODE_STATE_PENDING)
        return fill(s);
    bool out = s->state == NODE_STATE_HELD || s->state == NODE_STATE_FAILED;
    if (s->lifted && out)
        return POLICY_NEXT_GIVE_BACK;
    if (s->state == NODE_STATE_FAILED)
        return retry(s, ret_look_at);
    if (s->state == NODE_STATE_HELD)
        return comes_back(s) ? POLICY_NEXT_BRING_BACK : POLICY_NEXT_NOTHING;
    return s->state == NODE_STATE_READY && is_returned(s) ? POLICY_NEXT_RETURN : POLICY_NEXT_NOTHING;
}
