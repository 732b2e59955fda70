/*
 * Rolling software updates: which batch is next, when, and whether all goes well.
 *
 * A batch is over when each of its members is back in service. It stays under watch until the next one begins: a member
 * that did not come up, or that was taken out of service meanwhile, turns the update back to the image that was before.
 * Going back is the same walk with its own batch size; when that fails too a person is needed. What does not run the wanted
 * image is found anew for every batch, so slots that came, went or were repaired meanwhile are no special case.
 */
#include "policy/provision.h"

#include "base/own.h"
#include "base/text.h"

#include <inttypes.h>

bool policy_rollout_runs(enum rollout_state state)
{
    return state == ROLLOUT_STATE_IN_PROGRESS || state == ROLLOUT_STATE_ROLLING_BACK;
}

static void say(struct provision_group_plan *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void say(struct provision_group_plan *p, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    autofree char *text = own_vprintf(fmt, ap);
    va_end(ap);
    text_copy_cut(p->rollout_said, sizeof(p->rollout_said), text);
    p->rollout_moves = true;
}

static bool goes_back(const struct rollout *r)
{
    return r->state == ROLLOUT_STATE_ROLLING_BACK;
}

static const char *image_of(const struct rollout *r)
{
    const char *image = goes_back(r) ? r->previous_image_id : r->image_id;
    const char *release = goes_back(r) ? r->previous_release : r->release;
    if (release[0] != '\0')
        return release;
    return image[0] != '\0' ? image : "the provider's own image";
}

static int64_t batch_size(const struct provision_group *g, const struct rollout *r)
{
    int64_t value = goes_back(r) ? r->rollback_batch_value : r->batch_value;
    bool percent = goes_back(r) ? r->rollback_is_percent : r->batch_is_percent;
    int64_t size = value == 0 ? g->updatable : percent ? g->desired * value / 100 : value;
    size = size < 1 ? 1 : size;
    return size < g->updatable ? size : g->updatable;
}

static void move(struct provision_group_plan *p, enum rollout_state to)
{
    int state = (int)p->rollout.state;
    sm_move(&rollout_state_machine, &state, (int)to);
    p->rollout.state = to;
    p->rollout_moves = true;
}

static void choose_batch(const struct provision_group *g, struct provision_group_plan *p)
{
    struct rollout *r = &p->rollout;
    if (g->updatable == 0)
        return; /* all that is left is at something else, and is looked at again when that ends */
    p->batch_size = batch_size(g, r);
    r->batch++;
    r->next_batch_at = 0;
    say(p, "batch %" PRId64 " takes %" PRId64 " of the %" PRId64 " nodes that are left to %s", r->batch, p->batch_size,
        g->outdated, image_of(r));
}

/* Nothing is left to be done. */
static void finish(const struct provision_group *g, struct provision_group_plan *p)
{
    bool back = goes_back(&p->rollout);
    if (back)
        say(p, "the software update was taken back, every node runs %s", image_of(&p->rollout));
    else
        say(p, "the software update is done, every node runs %s", image_of(&p->rollout));
    move(p, back ? ROLLOUT_STATE_ROLLED_BACK : ROLLOUT_STATE_SUCCEEDED);
    policy_group_rest(g, p, back ? "rolled-back" : "updated");
    if (back && p->failure[0] == '\0')
        text_copy_cut(p->failure, sizeof(p->failure), p->rollout.failure);
}

static void say_bad(const struct provision_group *g, struct rollout *r)
{
    const char *member_why = g->bad_member_why != NULL ? g->bad_member_why : "did not come back into service";
    autofree char *why = own_printf("batch %" PRId64 ": %s %.*s", r->batch,
                                    g->bad_member != NULL ? g->bad_member : "a node", TEXT_FIT(member_why, 380));
    text_copy_cut(r->failure, sizeof(r->failure), why);
}

static void turn_back(const struct provision_group *g, struct provision_group_plan *p)
{
    struct rollout *r = &p->rollout;
    say_bad(g, r);
    move(p, ROLLOUT_STATE_ROLLING_BACK);
    p->takes_image = true;
    r->batch = r->next_batch_at = 0; /* the members of the batch that failed are nobody's any more */
    p->rule = "rollout-failed";
    say(p, "the software update goes back to %s", image_of(r));
}

static void give_up(const struct provision_group *g, struct provision_group_plan *p)
{
    struct rollout *r = &p->rollout;
    autofree char *before = own_strdup(r->failure);
    say_bad(g, r);
    autofree char *why =
        own_printf("%.*s; then the roll-back failed, too: %.*s", TEXT_FIT(before, 220), TEXT_FIT(r->failure, 220));
    text_copy_cut(r->failure, sizeof(r->failure), why);
    move(p, ROLLOUT_STATE_FAILED);
    say(p, "the roll-back of the software update failed; look at its nodes, then update again");
    policy_group_rest(g, p, "rollback-failed");
    if (p->failure[0] == '\0')
        text_copy_cut(p->failure, sizeof(p->failure), r->failure);
}

/* A batch that is over waits; the last one does not. */
static void batch_done(const struct provision_snapshot *s, const struct provision_group *g,
                       struct provision_group_plan *p)
{
    struct rollout *r = &p->rollout;
    r->next_batch_at = s->now_ms + (r->wait_ms > 0 ? r->wait_ms : 0);
    say(p, "batch %" PRId64 " is done, %" PRId64 " node%s left", r->batch, g->outdated, text_plural(g->outdated));
}

static void go_on(const struct provision_snapshot *s, const struct provision_group *g, struct provision_group_plan *p,
                  int64_t *look_at)
{
    struct rollout *r = &p->rollout;
    if (g->members_bad > 0) {
        goes_back(r) ? give_up(g, p) : turn_back(g, p);
        return;
    }
    if (g->members_done < g->members)
        return;
    if (g->outdated == 0) {
        finish(g, p);
        return;
    }
    if (r->batch > 0 && r->next_batch_at == 0) {
        batch_done(s, g, p);
        if (r->wait_ms > 0 && (*look_at == 0 || r->next_batch_at < *look_at))
            *look_at = r->next_batch_at;
        return;
    }
    if (s->now_ms >= r->next_batch_at)
        choose_batch(g, p);
    else if (*look_at == 0 || r->next_batch_at < *look_at)
        *look_at = r->next_batch_at;
}

static void begin(struct provision_group_plan *p)
{
    struct rollout *r = &p->rollout;
    move(p, ROLLOUT_STATE_IN_PROGRESS);
    p->takes_image = true;
    p->state = GROUP_STATE_SYSTEM_UPDATING;
    p->rule = "rollout-begins";
    if (r->batch_value == 0)
        say(p, "the software update to %s begins, with all nodes at once", image_of(r));
    else
        say(p, "the software update to %s begins, in batches of %" PRId64 "%s", image_of(r), r->batch_value,
            r->batch_is_percent ? " percent" : "");
}

void policy_rollout(const struct provision_snapshot *s, const struct provision_group *g, bool may_begin,
                    struct provision_group_plan *p, int64_t *look_at)
{
    if (g->rollout == NULL || g->state == GROUP_STATE_DELETING || g->state == GROUP_STATE_FAILED)
        return;
    p->rollout = *g->rollout;
    if (g->rollout->state == ROLLOUT_STATE_PENDING && may_begin)
        begin(p);
    else if (policy_rollout_runs(g->rollout->state) && g->state == GROUP_STATE_SYSTEM_UPDATING)
        go_on(s, g, p, look_at);
}
