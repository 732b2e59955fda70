/* The life of clusters and groups, by the rules that stand in provision.h and the tables of model/cluster_state.h. */
#include "policy/provision.h"

#include "base/own.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define SECOND_MS INT64_C(1000)
#define MINUTE_MS (60 * SECOND_MS)
#define HOUR_MS (60 * MINUTE_MS)

void provision_settings_default(struct provision_settings *ret_settings)
{
    *ret_settings = (struct provision_settings){
        .min_count_deadline_ms = 3 * HOUR_MS,
        .launch_pause_min_ms = MINUTE_MS,
        .launch_pause_max_ms = 30 * MINUTE_MS,
    };
}

int64_t policy_launch_pause(const struct provision_settings *settings, int tries)
{
    int64_t pause = settings->launch_pause_min_ms;
    for (int i = 1; i < tries && pause < settings->launch_pause_max_ms; i++)
        pause *= 2;
    return pause < settings->launch_pause_max_ms ? pause : settings->launch_pause_max_ms;
}

static int by_worth(const void *left, const void *right)
{
    const struct victim *a = left, *b = right;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return a->node_id > b->node_id ? -1 : a->node_id < b->node_id;
}

void policy_order_victims(struct victim *victims, size_t count)
{
    qsort(victims, count, sizeof(*victims), by_worth);
}

/* --- what a group is --------------------------------------------------------------------------- */
static int64_t alive(const struct provision_group *g)
{
    return g->slots[SLOT_SERVING] + g->slots[SLOT_STARTING] + g->slots[SLOT_UNPROVISIONED] + g->slots[SLOT_BROKEN];
}

/* Those that have been in service: what becomes of them later is the repairs' business. */
static int64_t came_up(const struct provision_group *g)
{
    return g->slots[SLOT_SERVING] + g->slots[SLOT_BROKEN];
}

static bool has_min(const struct provision_group *g)
{
    return g->min_count > 0 && g->min_count < g->desired;
}

/* In service from here on. */
static bool is_fulfilled(const struct provision_group *g)
{
    return alive(g) >= g->desired && came_up(g) >= (has_min(g) ? g->min_count : g->desired);
}

static bool is_troubled(const struct provision_group *g)
{
    return g->slots[SLOT_UNPROVISIONED] + g->slots[SLOT_BROKEN] > 0;
}

/* Nodes come or go. */
static bool is_scaling(const struct provision_group *g)
{
    return g->slots[SLOT_STARTING] + g->slots[SLOT_UNPROVISIONED] + g->slots[SLOT_LEAVING] > 0 || alive(g) > g->desired;
}

static bool is_under_way(enum group_state state)
{
    return state == GROUP_STATE_CREATING || state == GROUP_STATE_UPDATING;
}

/* Nothing of it has still to go. */
static bool is_trimmed(const struct provision_group *g, const struct provision_group_plan *p)
{
    return alive(g) <= p->desired && g->slots[SLOT_LEAVING] == 0;
}

static int64_t deadline_of(const struct provision_snapshot *s, const struct provision_group *g)
{
    return g->state_since + s->settings.min_count_deadline_ms;
}

static bool waits_for_min(const struct provision_group *g)
{
    return is_under_way(g->state) && g->min_count > 0 && came_up(g) < (has_min(g) ? g->min_count : g->desired);
}

/* --- sentences --------------------------------------------------------------------------------- */
static void set(char *dst, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void set(char *dst, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    autofree char *text = own_vprintf(fmt, ap);
    va_end(ap);
    text_copy_cut(dst, SENTENCE_MAX_BYTES, text);
}

static void say_trouble(const struct provision_group *g, char *ret_failure)
{
    int64_t unprovisioned = g->slots[SLOT_UNPROVISIONED], broken = g->slots[SLOT_BROKEN];
    const char *why = g->unprovisioned_why != NULL ? g->unprovisioned_why : "its launch failed";
    char more[48] = "";
    if (unprovisioned + broken > 1)
        snprintf(more, sizeof(more), "; %" PRId64 " more need attention", unprovisioned + broken - 1);
    if (unprovisioned > 0)
        set(ret_failure, "%s could not be provisioned: %.*s%s", g->unprovisioned != NULL ? g->unprovisioned : "a node",
            TEXT_FIT(why, 380), more);
    else
        set(ret_failure, "%s needs a person: its repair gave up%s", g->broken != NULL ? g->broken : "a node", more);
}

static void say_min(const struct provision_snapshot *s, const struct provision_group *g, char *ret_text)
{
    char last[SENTENCE_MAX_BYTES] = "";
    if (g->slots[SLOT_UNPROVISIONED] > 0)
        say_trouble(g, last);
    set(ret_text, "%" PRId64 " of at least %" PRId64 " nodes came into service within %" PRId64 " minutes%s%.*s",
        came_up(g), g->min_count, s->settings.min_count_deadline_ms / MINUTE_MS, last[0] != '\0' ? "; " : "",
        TEXT_FIT(last, 300));
}

/* --- moves ------------------------------------------------------------------------------------- */
static void group_move(struct provision_group_plan *p, enum group_state to, const char *rule)
{
    p->state = to;
    p->rule = rule;
}

void policy_group_rest(const struct provision_group *g, struct provision_group_plan *p, const char *rule)
{
    bool troubled = is_troubled(g);
    group_move(p, troubled ? GROUP_STATE_DEGRADED : GROUP_STATE_IN_SERVICE, rule);
    p->previous_desired = -1;
    p->failure[0] = '\0';
    if (troubled)
        say_trouble(g, p->failure);
}

/* The minimum did not come in time: a new group goes to nothing, an old one to what it was. */
static void group_take_back(const struct provision_snapshot *s, const struct provision_group *g,
                            struct provision_group_plan *p)
{
    char why[SENTENCE_MAX_BYTES];
    int64_t before = g->previous_desired < 0 ? came_up(g) : g->previous_desired;
    say_min(s, g, why);
    bool is_new = g->state == GROUP_STATE_CREATING;
    p->desired = is_new ? 0 : before < alive(g) ? before : alive(g);
    p->min_count = 0;
    p->previous_desired = -1;
    p->gave_up = true;
    group_move(p, is_new ? GROUP_STATE_FAILED : GROUP_STATE_IN_SERVICE, "min-count-expired");
    set(p->failure, "%.*s: the group was taken back to %" PRId64 " nodes", TEXT_FIT(why, 380), p->desired);
    set(p->scaling, "the minimum was not reached in time: %" PRId64 " nodes go back to %" PRId64, g->desired,
        p->desired);
}

/* --- one group of a continuous cluster --------------------------------------------------------- */
static void group_arrives(const struct provision_group *g, struct provision_group_plan *p)
{
    bool shrinks = g->state == GROUP_STATE_UPDATING && !is_trimmed(g, p);
    bool all = came_up(g) >= g->desired;
    bool tried = g->min_count == 0 && g->slots[SLOT_STARTING] == 0;
    if (alive(g) < g->desired || shrinks || !(all || tried || is_fulfilled(g)))
        return;
    policy_group_rest(g, p, all ? "all-ready" : tried ? "all-tried" : "min-count-reached");
    if (!all && !tried)
        set(p->scaling, "the minimum is in service: %" PRId64, g->min_count);
    else if (g->desired == 0)
        set(p->scaling, "the group has no nodes");
    else if (all)
        set(p->scaling, "all nodes are in service: %" PRId64, g->desired);
    else
        set(p->scaling, "%" PRId64 " of %" PRId64 " in service, the others are tried again", came_up(g), g->desired);
}

/* A node more or less at a time moves no state; that it is over is told. */
static void tell_scaled(const struct provision_group *g, struct provision_group_plan *p)
{
    if (!g->was_scaling || is_scaling(g) || p->scaling[0] != '\0')
        return;
    p->rule = "scaled";
    set(p->scaling, "the group has all its nodes: %" PRId64, g->desired);
}

static void group_in_service(const struct provision_group *g, struct provision_group_plan *p)
{
    bool troubled = is_troubled(g);
    tell_scaled(g, p);
    if (troubled != (g->state == GROUP_STATE_DEGRADED)) {
        policy_group_rest(g, p, troubled ? "some-failed" : "all-well");
        return;
    }
    if (!troubled)
        return;
    char failure[SENTENCE_MAX_BYTES];
    say_trouble(g, failure);
    if (text_equal(failure, g->failure))
        return;
    text_copy_cut(p->failure, sizeof(p->failure), failure);
    p->rule = "other-cause";
}

static void group_step(const struct provision_snapshot *s, const struct provision_group *g,
                       struct provision_group_plan *p)
{
    switch (g->state) {
    case GROUP_STATE_CREATING:
    case GROUP_STATE_UPDATING:
        if (waits_for_min(g) && s->now_ms >= deadline_of(s, g))
            group_take_back(s, g, p);
        else
            group_arrives(g, p);
        break;
    case GROUP_STATE_IN_SERVICE:
    case GROUP_STATE_DEGRADED:
        group_in_service(g, p);
        break;
    default:
        break;
    }
}

/* --- all or nothing ---------------------------------------------------------------------------- */
/* The group for which the whole cannot succeed any more; NULL: there is none. */
static const struct provision_group *find_failed(const struct provision_snapshot *s)
{
    for (size_t i = 0; i < s->group_count; i++) {
        const struct provision_group *g = &s->groups[i];
        if (!is_under_way(g->state) || is_fulfilled(g))
            continue;
        if (g->slots[SLOT_UNPROVISIONED] > 0 || (waits_for_min(g) && s->now_ms >= deadline_of(s, g)))
            return g;
    }
    return NULL;
}

static bool all_fulfilled(const struct provision_snapshot *s)
{
    for (size_t i = 0; i < s->group_count; i++)
        if (is_under_way(s->groups[i].state) && !is_fulfilled(&s->groups[i]))
            return false;
    return true;
}

static bool all_trimmed(const struct provision_snapshot *s, const struct provision_plan *plan)
{
    for (size_t i = 0; i < s->group_count; i++)
        if (s->groups[i].state == GROUP_STATE_DELETING || !is_trimmed(&s->groups[i], &plan->groups[i]))
            return false;
    return true;
}

static void cluster_move(struct provision_plan *plan, enum cluster_state to, const char *rule, const char *said)
{
    plan->state = to;
    plan->rule = rule;
    text_copy_cut(plan->said, sizeof(plan->said), said);
}

/* A creation leaves nothing; of an update what is new goes, and what was there becomes what it was. */
static void group_undo(const struct provision_snapshot *s, const struct provision_group *g,
                       struct provision_group_plan *p, const char *why)
{
    bool creation = s->state == CLUSTER_STATE_CREATING;
    bool was_to_go = g->state == GROUP_STATE_DELETING && g->previous_desired >= 0 && !creation;
    if (g->state == GROUP_STATE_DELETING ? !was_to_go : !creation && !is_under_way(g->state))
        return;
    p->previous_desired = -1;
    p->rule = "taken-back";
    text_copy_cut(p->failure, sizeof(p->failure), why);
    if (creation)
        p->state = GROUP_STATE_FAILED;
    else if (g->state == GROUP_STATE_CREATING)
        p->state = GROUP_STATE_DELETING;
    else if (was_to_go)
        p->state = GROUP_STATE_UPDATING;
    if (creation || g->state == GROUP_STATE_CREATING)
        p->desired = p->min_count = 0;
    else if (g->previous_desired >= 0) /* what went meanwhile does not come back */
        p->desired = g->previous_desired < came_up(g) ? g->previous_desired : came_up(g);
    if (p->min_count > p->desired)
        p->min_count = 0;
    if (g->desired != p->desired)
        set(p->scaling, "taken back from %" PRId64 " to %" PRId64 " nodes", g->desired, p->desired);
}

static void take_back(const struct provision_snapshot *s, const struct provision_group *failed,
                      struct provision_plan *plan)
{
    bool creation = s->state == CLUSTER_STATE_CREATING;
    char why[SENTENCE_MAX_BYTES];
    if (failed->slots[SLOT_UNPROVISIONED] > 0)
        say_trouble(failed, why);
    else
        say_min(s, failed, why);
    set(plan->failure, "The %s failed in group %s: %.*s", creation ? "creation" : "update", failed->name,
        TEXT_FIT(why, 400));
    cluster_move(plan, CLUSTER_STATE_ROLLING_BACK, creation ? "creation-failed" : "update-failed",
                 creation ? "the creation failed: what was made of the cluster is taken down"
                          : "the update failed: the cluster goes back to what it was");
    for (size_t i = 0; i < s->group_count; i++)
        group_undo(s, &s->groups[i], &plan->groups[i], plan->failure);
}

static void groups_rest(const struct provision_snapshot *s, struct provision_plan *plan, bool keep_failure)
{
    for (size_t i = 0; i < s->group_count; i++) {
        const struct provision_group *g = &s->groups[i];
        struct provision_group_plan *p = &plan->groups[i];
        if (!is_under_way(g->state))
            continue;
        policy_group_rest(g, p, keep_failure ? "as-before" : "all-ready");
        if (keep_failure && p->state == GROUP_STATE_IN_SERVICE)
            text_copy_cut(p->failure, sizeof(p->failure), g->failure);
    }
}

static void settle_whole(const struct provision_snapshot *s, struct provision_plan *plan)
{
    const struct provision_group *failed = find_failed(s);
    if (failed != NULL) {
        take_back(s, failed, plan);
    } else if (all_fulfilled(s) && all_trimmed(s, plan)) {
        bool creation = s->state == CLUSTER_STATE_CREATING;
        groups_rest(s, plan, false);
        plan->failure[0] = '\0';
        cluster_move(plan, CLUSTER_STATE_IN_SERVICE, "all-ready",
                     creation ? "the cluster is in service" : "the update is done");
    }
}

/* --- the cluster ------------------------------------------------------------------------------- */
static int64_t count_left(const struct provision_snapshot *s)
{
    int64_t left = 0;
    for (size_t i = 0; i < s->group_count; i++)
        left += alive(&s->groups[i]) + s->groups[i].slots[SLOT_LEAVING];
    return left;
}

static bool all_failed(const struct provision_snapshot *s, const struct provision_plan *plan)
{
    for (size_t i = 0; i < s->group_count; i++)
        if (plan->groups[i].state != GROUP_STATE_FAILED)
            return false;
    return s->group_count > 0;
}

static void roll_back(const struct provision_snapshot *s, struct provision_plan *plan)
{
    if (all_failed(s, plan)) {
        if (count_left(s) == 0)
            cluster_move(plan, CLUSTER_STATE_FAILED, "taken-down",
                         "the creation failed, nothing of it is left running");
    } else if (all_trimmed(s, plan)) {
        groups_rest(s, plan, true);
        cluster_move(plan, CLUSTER_STATE_IN_SERVICE, "taken-back",
                     "the update was taken back, the cluster is in service as before");
    }
}

static const char *first_failure(const struct provision_plan *plan)
{
    for (size_t i = 0; i < plan->group_count; i++)
        if (plan->groups[i].state == GROUP_STATE_FAILED)
            return plan->groups[i].failure;
    return "";
}

/* A continuous cluster is in service when each of its groups has arrived somewhere. */
static void settle_continuous(const struct provision_snapshot *s, struct provision_plan *plan)
{
    for (size_t i = 0; i < plan->group_count; i++)
        if (is_under_way(plan->groups[i].state) ||
            (plan->groups[i].state == GROUP_STATE_DELETING && s->state == CLUSTER_STATE_UPDATING))
            return;
    text_copy_cut(plan->failure, sizeof(plan->failure), first_failure(plan));
    if (s->state == CLUSTER_STATE_CREATING && all_failed(s, plan))
        cluster_move(plan, CLUSTER_STATE_ROLLING_BACK, "no-group-came-up", "none of its groups came up");
    else
        cluster_move(plan, CLUSTER_STATE_IN_SERVICE, "all-settled",
                     s->state == CLUSTER_STATE_CREATING ? "the cluster is in service" : "the update is done");
}

/* A software update of any group is one of the cluster. */
static void follow_rollouts(struct provision_plan *plan)
{
    bool runs = false;
    for (size_t i = 0; i < plan->group_count; i++)
        runs = runs || plan->groups[i].state == GROUP_STATE_SYSTEM_UPDATING;
    if (runs && plan->state == CLUSTER_STATE_IN_SERVICE)
        cluster_move(plan, CLUSTER_STATE_SYSTEM_UPDATING, "software-update", "the software is being updated");
    else if (!runs && plan->state == CLUSTER_STATE_SYSTEM_UPDATING)
        cluster_move(plan, CLUSTER_STATE_IN_SERVICE, "software-update", "the software update is over");
}

static void settle(const struct provision_snapshot *s, struct provision_plan *plan)
{
    bool whole = s->provisioning == PROVISIONING_ALL_OR_NOTHING;
    switch (s->state) {
    case CLUSTER_STATE_CREATING:
    case CLUSTER_STATE_UPDATING:
        whole ? settle_whole(s, plan) : settle_continuous(s, plan);
        break;
    case CLUSTER_STATE_ROLLING_BACK:
        roll_back(s, plan);
        break;
    case CLUSTER_STATE_IN_SERVICE:
    case CLUSTER_STATE_SYSTEM_UPDATING:
        follow_rollouts(plan);
        break;
    case CLUSTER_STATE_DELETING:
        plan->gone = count_left(s) == 0;
        break;
    default:
        break;
    }
}

/* --- what goes --------------------------------------------------------------------------------- */
static bool may_shrink(const struct provision_snapshot *s)
{
    bool whole = s->provisioning == PROVISIONING_ALL_OR_NOTHING && s->state == CLUSTER_STATE_UPDATING;
    return !whole || all_fulfilled(s);
}

static void remove_surplus(const struct provision_snapshot *s, const struct provision_group *g, bool may,
                           struct provision_group_plan *p)
{
    bool goes = p->state == GROUP_STATE_DELETING;
    int64_t surplus = alive(g) - (goes ? 0 : p->desired);
    if (s->state == CLUSTER_STATE_DELETING)
        return; /* its nodes go by themselves */
    p->remove = surplus > 0 && may ? surplus : 0;
    p->forget = goes && alive(g) + g->slots[SLOT_LEAVING] + g->slots[SLOT_GONE] == 0;
}

static void note_deadlines(const struct provision_snapshot *s, struct provision_plan *plan)
{
    for (size_t i = 0; i < s->group_count; i++) {
        int64_t at = waits_for_min(&s->groups[i]) ? deadline_of(s, &s->groups[i]) : 0;
        if (at > s->now_ms && (plan->look_at == 0 || at < plan->look_at))
            plan->look_at = at;
    }
}

/* --- all of it --------------------------------------------------------------------------------- */
static void begin(const struct provision_snapshot *s, struct provision_plan *plan)
{
    *plan = (struct provision_plan){.state = s->state, .group_count = s->group_count};
    text_copy_cut(plan->failure, sizeof(plan->failure), s->failure);
    plan->groups = own_calloc(s->group_count + 1, sizeof(*plan->groups));
    for (size_t i = 0; i < s->group_count; i++) {
        const struct provision_group *g = &s->groups[i];
        struct provision_group_plan *p = &plan->groups[i];
        p->state = g->state;
        p->desired = g->desired;
        p->min_count = g->min_count;
        p->previous_desired = g->previous_desired;
        text_copy_cut(p->failure, sizeof(p->failure), g->failure);
        p->is_scaling = is_scaling(g);
    }
}

void policy_provision(const struct provision_snapshot *s, struct provision_plan *ret_plan)
{
    struct provision_plan plan;
    bool undoes = s->state == CLUSTER_STATE_ROLLING_BACK || s->state == CLUSTER_STATE_FAILED ||
                  s->state == CLUSTER_STATE_DELETING;
    bool whole = s->provisioning == PROVISIONING_ALL_OR_NOTHING &&
                 (s->state == CLUSTER_STATE_CREATING || s->state == CLUSTER_STATE_UPDATING);
    bool at_rest = s->state == CLUSTER_STATE_IN_SERVICE || s->state == CLUSTER_STATE_SYSTEM_UPDATING;
    begin(s, &plan);
    for (size_t i = 0; i < s->group_count; i++) {
        const struct provision_group *g = &s->groups[i];
        if (undoes)
            continue;
        if (!whole || !is_under_way(g->state))
            group_step(s, g, &plan.groups[i]);
        policy_rollout(s, g, at_rest && !is_under_way(g->state), &plan.groups[i], &plan.look_at);
    }
    settle(s, &plan);
    bool may = plan.state == CLUSTER_STATE_ROLLING_BACK || may_shrink(s);
    for (size_t i = 0; i < s->group_count; i++)
        remove_surplus(s, &s->groups[i], may, &plan.groups[i]);
    note_deadlines(s, &plan);
    *ret_plan = plan;
}

void policy_provision_free(struct provision_plan *plan)
{
    if (plan == NULL)
        return;
    free(plan->groups);
    *plan = (struct provision_plan){0};
}
