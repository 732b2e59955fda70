/*
 * Scheduler configurations and quotas into the scheduler: all that is wanted is asked for in one call, whenever something of it
 * changed and from time to time, since a scheduler that was restarted forgets what it was told.
 *
 * What is to be touched there is written down before it is (governance_held), so that a crash at any point leaves somebody who
 * knows what to take back. The status of a version says what was seen in the scheduler, never what was sent. While nothing
 * can be seen a version that was never in force is pending, for a while; what was settled before stays as it was seen last.
 */
#include "base/hash.h"
#include "base/text.h"
#include "db/governance.h"
#include "server/reconcile/base/call.h"
#include "server/reconcile/base/cluster.h"
#include "server/reconcile/base/link.h"
#include "server/reconcile/base/loop.h"
#include "server/reconcile/base/record.h"
#include "server/reconcile/keep/govern_rule.h"
#include "server/reconcile/keep/keeper.h"

#include <inttypes.h>
#include <string.h>

#define LOOK_FACTOR 12 /* looked at again after so many times the interval of observing */

struct govern_keeper {
    struct keeper_pace pace;
    int64_t *versions; /* of the rules that are being asked for */
    uint64_t asked;    /* a number for what was asked for last */
    char *stuck;       /* what was reported last of what cannot be taken back; NULL: nothing */
};

/* One reading of what is wanted. */
struct wanted {
    struct scheduler_governance *governance;
    int64_t *versions;
    uint64_t number;
};

static void start(struct scheduler_link *link)
{
    link->govern = own_calloc(1, sizeof(*link->govern));
}

static void end(struct scheduler_link *link)
{
    free(link->govern->versions);
    free(link->govern->stuck);
    free(TAKE(link->govern));
}

/* Somebody may have asked for something else. */
static void wake(struct reconcile *r, struct scheduler_link *link, enum service_wake what, int64_t id)
{
    (void)r;
    (void)id;
    if (what == SERVICE_WAKE_ALL || what == SERVICE_WAKE_CLUSTER || what == SERVICE_WAKE_GOVERNANCE)
        link->govern->pace.poked = true;
}

static int64_t due(const struct scheduler_link *link, int64_t now)
{
    return keeper_due(&link->govern->pace, now);
}

/* --- what is wanted ----------------------------------------------------------------------------- */
static int take_wanted(const void *row, void *arg)
{
    const struct governance *governance = row;
    struct wanted *wanted = arg;
    struct scheduler_rule *rule = scheduler_governance_add(wanted->governance);
    if (govern_rule_make(governance, rule) != 0)
        wanted->governance->count--; /* cannot be: it was checked when it was stored */
    wanted->versions = own_realloc(wanted->versions, wanted->governance->count + 1, sizeof(*wanted->versions));
    if (wanted->governance->count > 0)
        wanted->versions[wanted->governance->count - 1] = governance->version;
    wanted->number = hash_number(hash_text(wanted->number, governance->uid), (uint64_t)governance->version);
    return 0;
}

static int take_held(const void *row, void *arg)
{
    struct scheduler_governance *governance = ((struct wanted *)arg)->governance;
    governance->held = own_realloc(governance->held, governance->held_count + 1, sizeof(*governance->held));
    governance->held[governance->held_count++] = *(const struct governance_held *)row;
    return 0;
}

static int read_wanted(struct reconcile *r, const struct scheduler_link *link, struct wanted *wanted)
{
    struct db_tx *tx = NULL;
    *wanted = (struct wanted){.governance = scheduler_governance_new()};
    int status = db_read_begin(r->db, &tx);
    if (status == 0)
        status = db_governance_wanted(tx, link->name, take_wanted, wanted);
    if (status == 0)
        status = db_governance_held(tx, link->name, take_held, wanted);
    db_read_end(r->db, tx);
    return status;
}

/* --- what became of it -------------------------------------------------------------------------- */
struct settling {
    struct turn turn; /* for the timeline only */
    const struct scheduler_link *link;
    const struct scheduler_governance *governance;
    const int64_t *versions;
    int status; /* of asking */
    const char *error;
    bool pending; /* something is not decided yet */
};

/* What the row is to say; false when nothing is known that it does not say. */
static bool judge(struct settling *s, const struct scheduler_rule *rule, struct governance *row)
{
    const struct reconcile *r = s->turn.r;
    bool was_pending = governance_status_is_pending(row->status), held = governance_status_is_good(row->status);
    enum scheduler_outcome outcome = SCHEDULER_OUTCOME_LATER;
    if (s->status == 0) {
        outcome = govern_rule_judge(rule, row->reason, row->details);
    } else {
        autofree char *reason = own_printf("Stored, but not applied yet: %s.", s->error);
        text_copy_cut(row->reason, sizeof(row->reason), reason);
        text_copy_cut(row->details, sizeof(row->details), "{}");
        if (s->status == STATUS_UNSUPPORTED)
            outcome = rule->off ? SCHEDULER_OUTCOME_HOLDS : SCHEDULER_OUTCOME_FAILED;
    }
    bool undecided = outcome == SCHEDULER_OUTCOME_LATER || (s->status == 0 && govern_rule_is_undecided(rule));
    s->pending = s->pending || undecided;
    if (undecided && (s->governance->wanted_count > 0 || s->governance->more))
        outcome = SCHEDULER_OUTCOME_LATER; /* it is asked again at once, and says the rest then */
    if (outcome == SCHEDULER_OUTCOME_LATER && !was_pending)
        return false; /* as it was seen last */
    if (rule->off && outcome == SCHEDULER_OUTCOME_HOLDS)
        text_copy_cut(row->reason, sizeof(row->reason), GOVERNANCE_OFF);
    if (outcome == SCHEDULER_OUTCOME_LATER && s->turn.now - row->made_at >= r->deps.settings.backend_deadline_ms)
        outcome = SCHEDULER_OUTCOME_FAILED; /* who waits for it is not to wait for ever; it is still tried */
    row->status = governance_status_of(row->version, outcome == SCHEDULER_OUTCOME_LATER   ? GOVERNANCE_PENDING
                                                     : outcome == SCHEDULER_OUTCOME_HOLDS ? GOVERNANCE_HOLDS
                                                                                          : GOVERNANCE_FAILED);
    if (outcome != SCHEDULER_OUTCOME_HOLDS || rule->off)
        row->applied_at = 0;
    else if (!held || row->applied_at == 0)
        row->applied_at = s->turn.now;
    return true;
}

static int tell(struct settling *s, const struct governance *row)
{
    bool quota = row->kind == GOVERNANCE_KIND_COMPUTE_QUOTA, good = governance_status_is_good(row->status);
    struct rcluster cluster = {.id = row->cluster_id};
    text_copy_cut(cluster.name, sizeof(cluster.name), row->cluster);
    return turn_cluster_event(&s->turn, good ? EVENT_LEVEL_INFO : EVENT_LEVEL_WARN,
                              quota ? EVENT_KIND_COMPUTE_QUOTA : EVENT_KIND_SCHEDULER_CONFIG, &cluster,
                              good ? "" : row->reason, "%s \"%s\"%s%s (version %" PRId64 "): %s",
                              quota ? "compute quota" : "scheduler configuration", row->name,
                              quota ? " of the team " : "", row->team, row->version, row->reason);
}

static int settle(struct settling *s, const struct scheduler_rule *rule, int64_t version)
{
    autofree struct governance *row = own_calloc(2, sizeof(*row));
    int status = db_governance_get(s->turn.tx, rule->kind, rule->uid, 0, row);
    if (status == STATUS_NOT_FOUND || (status == 0 && row->version != version))
        return 0; /* it was changed meanwhile, and is asked for anew */
    if (status != 0)
        return status;
    struct governance *before = row + 1;
    *before = *row;
    if (!judge(s, rule, row))
        return 0;
    bool same = row->status == before->status && strcmp(row->reason, before->reason) == 0;
    if (same && strcmp(row->details, before->details) == 0 && row->applied_at == before->applied_at)
        return 0;
    status = db_governance_settle(s->turn.tx, row);
    if (status != 0 || same || governance_status_is_pending(row->status))
        return status;
    return tell(s, row);
}

static int write_settling(struct db_tx *tx, void *arg)
{
    struct settling *s = arg;
    const struct scheduler_governance *governance = s->governance;
    int status = 0;
    turn_reset(&s->turn);
    s->turn.tx = tx;
    s->pending = false;
    for (size_t i = 0; i < governance->wanted_count && status == 0 && s->status == 0; i++)
        status = db_governance_hold(tx, s->link->name, &governance->wanted[i]);
    for (size_t i = 0; i < governance->held_count && status == 0 && s->status == 0; i++)
        if (governance->gone[i])
            status = db_governance_let_go(tx, s->link->name, &governance->held[i]);
    for (size_t i = 0; i < governance->count && status == 0; i++)
        status = settle(s, &governance->rules[i], s->versions[i]);
    return status;
}

static int write_stuck(struct db_tx *tx, void *arg)
{
    struct settling *s = arg;
    int status = 0;
    turn_reset(&s->turn);
    s->turn.tx = tx;
    for (const struct rcluster *c = s->turn.r->clusters; c != NULL && status == 0; c = c->next)
        if (c->link == s->link)
            status = turn_cluster_event(
                &s->turn, EVENT_LEVEL_WARN, EVENT_KIND_SCHEDULER_DESIRED, c, s->governance->stuck,
                "cannot remove from the scheduler %s what a former quota or scheduler configuration made: %s",
                s->link->name, s->governance->stuck);
    return status;
}

/* Once for each reason. What is tried with every look is not reported with every look. */
static void tell_stuck(struct settling *s, struct govern_keeper *govern)
{
    const char *stuck = s->governance->stuck;
    if (s->status != 0 || strcmp(stuck, text_or_empty(govern->stuck)) == 0)
        return;
    if (stuck[0] != '\0' && keeper_record(&s->turn, "govern", write_stuck, s, NULL) != 0)
        return;
    free(govern->stuck);
    govern->stuck = own_strdup(stuck);
}

/* When it is asked for again. */
static void pause(struct reconcile *r, struct scheduler_link *link, bool undecided)
{
    keeper_pause(r, &link->govern->pace, undecided, LOOK_FACTOR * link->observe_interval_ms);
}

static void record(struct reconcile *r, struct scheduler_link *link, const struct scheduler_governance *governance,
                   int status, const char *error)
{
    struct settling s = {.turn = {.r = r, .now = reconcile_now(r)},
                         .link = link,
                         .governance = governance,
                         .versions = link->govern->versions,
                         .status = status,
                         .error = error};
    int written = keeper_record(&s.turn, "govern", write_settling, &s,
                                "what became of quotas and priorities could not be stored, it is asked again");
    if (written == 0)
        tell_stuck(&s, link->govern);
    pause(r, link, written != 0 || s.pending || (status != 0 && status != STATUS_UNSUPPORTED));
    if (written == 0 && status == 0 && (governance->wanted_count > 0 || governance->more))
        link->govern->pace.due_at = s.turn.now; /* what was written down may be touched now */
}

/* --- asking ------------------------------------------------------------------------------------- */
static void send(struct reconcile *r, struct scheduler_link *link, struct scheduler_governance *governance)
{
    struct rcall *call = reconcile_call_new(CALL_GOVERN, 0, 0);
    reconcile_call_to(call, link);
    call->governance = governance;
    link->govern->pace.in_flight = true;
    reconcile_call_send(r, call);
}

/* False when there is nothing to ask, or nothing new. */
static bool ask(struct reconcile *r, struct scheduler_link *link, struct wanted *wanted, bool due)
{
    struct govern_keeper *govern = link->govern;
    const struct scheduler_ops *ops = link->driver.ops;
    bool nothing = wanted->governance->count == 0 && wanted->governance->held_count == 0;
    bool known = wanted->number == govern->asked;
    govern->asked = wanted->number;
    if (nothing)
        pause(r, link, false);
    if (nothing || (known && !due))
        return false;
    free(govern->versions);
    govern->versions = TAKE(wanted->versions);
    if (ops == NULL) /* it may come back with the next configuration */
        record(r, link, wanted->governance, STATUS_UNAVAILABLE,
               "hpd's configuration has no scheduler of the cluster's name");
    else if (ops->governance == NULL)
        record(r, link, wanted->governance, STATUS_UNSUPPORTED, "its scheduler is not capable of it");
    else
        send(r, link, TAKE(wanted->governance));
    return true;
}

static bool run(struct reconcile *r, struct scheduler_link *link, int64_t now)
{
    struct govern_keeper *govern = link->govern;
    struct wanted wanted;
    bool due = govern->pace.due_at <= now;
    if (govern->pace.in_flight || !(due || govern->pace.poked))
        return false;
    govern->pace.poked = false;
    bool asked = false;
    if (read_wanted(r, link, &wanted) != 0)
        pause(r, link, true);
    else
        asked = ask(r, link, &wanted, due);
    scheduler_governance_free(wanted.governance);
    free(wanted.versions);
    return asked;
}

static enum part_take take(struct reconcile *r, struct rcall *call)
{
    struct scheduler_link *link = call->link;
    link->govern->pace.in_flight = false;
    record(r, link, call->governance, call->status,
           call->error[0] != '\0' ? call->error : status_meaning(call->status));
    return PART_TAKE_DONE;
}

const struct keeper keeper_govern = {
    .call = CALL_GOVERN,
    .start = start,
    .end = end,
    .wake = wake,
    .due = due,
    .run = run,
    .take = take,
};
