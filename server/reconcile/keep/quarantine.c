/*
 * Nodes that are quarantined in the scheduler while they are tested, beside the mark that keeps work away: all of them in one call,
 * whenever somebody is to be, and from time to time, since a scheduler that was restarted forgets.
 *
 * What there was is written down before anything is touched, so a crash at any point leaves somebody who takes it back. Steps
 * only write their request and look at what came of it; where it cannot be, the drain alone isolates, and that is said once. A node
 * that is out of service after its test is given back when its hold is seen in the scheduler, so that it is never free between.
 */
#include "server/reconcile/keep/quarantine.h"
#include "base/text.h"
#include "db/quarantine.h"
#include "server/reconcile/base/call.h"
#include "server/reconcile/base/claim.h"
#include "server/reconcile/base/effect.h"
#include "server/reconcile/base/link.h"
#include "server/reconcile/base/loop.h"
#include "server/reconcile/base/node.h"
#include "server/reconcile/base/operation.h"
#include "server/reconcile/base/record.h"
#include "server/reconcile/base/seen.h"
#include "server/reconcile/base/work.h"
#include "server/reconcile/keep/keeper.h"

#define LOOK_FACTOR 12                     /* looked at again after so many times the interval of observing */
#define PAST_MS (15 * MS_PER_MIN)          /* Slurm saves within seconds; what it had not saved shows when it is back */
#define QUARANTINE_WAIT_MS (60 * MS_PER_S) /* a step goes on without it after that */

struct quarantine_keeper {
    struct keeper_pace pace;       /* due_at 0: nobody is quarantined */
    char told[SENTENCE_MAX_BYTES]; /* why it cannot be, as it was told last */
    char mark[SCHEDULER_QUARANTINE_MARK_MAX];
    struct released {
        struct quarantine row;
        int64_t until;
    } * released; /* given back lately. Memory: who forgets it leaves a reservation to a person, and nothing else */
    size_t released_count;
};

static void start(struct scheduler_link *link)
{
    link->quarantine = own_calloc(1, sizeof(*link->quarantine));
    link->quarantine->pace.poked = true;
}

static void end(struct scheduler_link *link)
{
    free(link->quarantine->released);
    free(TAKE(link->quarantine));
}

/* Somebody is to be quarantined, or released. */
static void poke(struct reconcile *r, struct rnode *node, const void *data)
{
    (void)r, (void)data;
    reconcile_link(node)->quarantine->pace.poked = true;
}

static int64_t due(const struct scheduler_link *link, int64_t now)
{
    return keeper_due(&link->quarantine->pace, now);
}

/* --- asking -------------------------------------------------------------------------------------- */
/* It failed its test, and its hold is not there yet: the reservation is what keeps work away. */
static bool waits_for_hold(const struct reconcile *r, const struct quarantine *row)
{
    const struct rnode *node = reconcile_node_find(r, row->node_id);
    return node != NULL && reconcile_node_is_out(node) && node->op == NULL &&
           reconcile_claim(r, node, POLICY_ACT_HOLD) == POLICY_CLAIM_NONE && reconcile_node_has_scheduler(node) &&
           !(reconcile_sees(r, node) && (node->drained || node->marked));
}

struct reading {
    const struct reconcile *r;
    struct scheduler_quarantine *quarantine;
    bool kept;
};

static int take_row(const void *row, void *arg)
{
    struct reading *reading = arg;
    struct scheduler_quarantine *quarantine = reading->quarantine;
    quarantine->nodes = own_realloc(quarantine->nodes, quarantine->count + 1, sizeof(*quarantine->nodes));
    struct scheduler_quarantine_node *node = &quarantine->nodes[quarantine->count++];
    *node = (struct scheduler_quarantine_node){.row = *(const struct quarantine *)row};
    if (!node->row.wanted && node->row.state != QUARANTINE_STATE_ASKED && waits_for_hold(reading->r, &node->row))
        node->row.wanted = node->kept = reading->kept = true;
    return 0;
}

/* --- what was given back lately ------------------------------------------------------------------- */
/* A row of the node says all there is to say, but while nothing was looked at for it. */
static bool has_row(const struct scheduler_quarantine *quarantine, size_t count, int64_t node_id)
{
    for (size_t i = 0; i < count; i++)
        if (quarantine->nodes[i].row.node_id == node_id && quarantine->nodes[i].row.state != QUARANTINE_STATE_ASKED)
            return true;
    return false;
}

static void add_released(const struct quarantine_keeper *loop, struct scheduler_quarantine *quarantine)
{
    size_t rows = quarantine->count;
    memcpy(quarantine->mark, loop->mark, sizeof(quarantine->mark));
    for (size_t i = 0; i < loop->released_count; i++) {
        if (has_row(quarantine, rows, loop->released[i].row.node_id))
            continue;
        quarantine->nodes = own_realloc(quarantine->nodes, quarantine->count + 1, sizeof(*quarantine->nodes));
        quarantine->nodes[quarantine->count++] =
            (struct scheduler_quarantine_node){.row = loop->released[i].row, .released = true};
    }
}

static void remember(struct quarantine_keeper *loop, const struct quarantine *row, int64_t until)
{
    size_t at = 0;
    while (at < loop->released_count && loop->released[at].row.node_id != row->node_id)
        at++;
    if (at == loop->released_count)
        loop->released = own_realloc(loop->released, ++loop->released_count, sizeof(*loop->released));
    loop->released[at] = (struct released){.row = *row, .until = until};
    loop->released[at].row.wanted = false;
}

/* Only where the scheduler was just seen: one that is away for hours may come back as it was before. */
static void keep_released(struct quarantine_keeper *loop, const struct scheduler_quarantine *seen, int64_t now)
{
    size_t kept = 0;
    for (size_t i = 0; i < loop->released_count; i++)
        if (loop->released[i].until > now)
            loop->released[kept++] = loop->released[i];
    loop->released_count = kept;
    memcpy(loop->mark, seen->mark, sizeof(loop->mark));
    for (size_t i = 0; i < seen->count; i++)
        if (seen->nodes[i].gone && seen->nodes[i].row.state != QUARANTINE_STATE_ASKED)
            remember(loop, &seen->nodes[i].row, now + PAST_MS);
}

static void pause(struct reconcile *r, struct scheduler_link *link, bool undecided, bool kept)
{
    int64_t look_ms = (kept ? 1 : LOOK_FACTOR) * link->observe_interval_ms;
    keeper_pause(r, &link->quarantine->pace, undecided, look_ms);
}

static int read_rows(struct reconcile *r, const struct scheduler_link *link, struct reading *reading)
{
    struct db_tx *tx = NULL;
    int status = db_read_begin(r->db, &tx);
    if (status == 0)
        status = db_quarantine_list(tx, link->name, take_row, reading);
    db_read_end(r->db, tx);
    return status;
}

static bool run(struct reconcile *r, struct scheduler_link *link, int64_t now)
{
    struct quarantine_keeper *loop = link->quarantine;
    const struct scheduler_ops *ops = link->driver.ops;
    if (loop->pace.in_flight || !(loop->pace.poked || (loop->pace.due_at > 0 && loop->pace.due_at <= now)))
        return false;
    loop->pace.poked = false;
    struct reading reading = {.r = r, .quarantine = own_calloc(1, sizeof(*reading.quarantine))};
    int status = read_rows(r, link, &reading);
    if (status == 0)
        add_released(loop, reading.quarantine);
    if (status != 0 || reading.quarantine->count == 0 || ops == NULL || ops->quarantine == NULL) {
        pause(r, link, status != 0, false);
        if (status == 0)
            loop->pace.due_at = 0;
        scheduler_quarantine_free(reading.quarantine);
        return false;
    }
    pause(r, link, false, reading.kept);
    struct rcall *call = reconcile_call_new(CALL_QUARANTINE, 0, 0);
    reconcile_call_to(call, link);
    call->quarantine = reading.quarantine;
    loop->pace.in_flight = true;
    reconcile_call_send(r, call);
    return true;
}

/* --- what came of it ----------------------------------------------------------------------------- */
struct settling {
    struct turn turn; /* for the timeline only */
    const struct scheduler_link *link;
    const struct scheduler_quarantine *quarantine;
    bool again, refused;
    char told[SENTENCE_MAX_BYTES];
};

static int tell(struct settling *s, const struct quarantine *before, const struct scheduler_quarantine_node *node)
{
    struct rnode *there = reconcile_node_find(s->turn.r, node->row.node_id);
    if (there == NULL)
        return 0;
    if (node->gone && before->state != QUARANTINE_STATE_ASKED)
        return turn_event(&s->turn, EVENT_LEVEL_INFO, EVENT_KIND_SCHEDULER_RESUME, there, NULL,
                          "released from quarantine in the scheduler");
    if (!node->gone && node->row.state == QUARANTINE_STATE_HELD && before->state != QUARANTINE_STATE_HELD)
        return turn_event(&s->turn, EVENT_LEVEL_INFO, EVENT_KIND_SCHEDULER_MARK, there, NULL,
                          "in quarantine in the scheduler while it is tested");
    if (node->row.why[0] == '\0' || text_equal(node->row.why, s->told))
        return 0;
    memcpy(s->told, node->row.why, sizeof(s->told));
    return turn_event(&s->turn, EVENT_LEVEL_WARN, EVENT_KIND_SCHEDULER_MARK, there, NULL,
                      node->row.wanted ? "only drained while it is tested: %s" : "still in quarantine: %s",
                      node->row.why);
}

/* Who was given back and was seen in the scheduler once more. */
static int report_reappeared(struct settling *s, const struct scheduler_quarantine_node *node)
{
    struct rnode *there = reconcile_node_find(s->turn.r, node->row.node_id);
    if (there == NULL || !node->gone)
        return 0;
    return turn_event(&s->turn, EVENT_LEVEL_WARN, EVENT_KIND_SCHEDULER_RESUME, there, NULL,
                      "the scheduler restored its quarantine after a restart; it was released again");
}

static int settle(struct settling *s, const struct scheduler_quarantine_node *node)
{
    struct quarantine before;
    struct db_tx *tx = s->turn.tx;
    if (node->released)
        return 0; /* it was looked at, and nothing was found */
    int status = db_quarantine_get(tx, node->row.node_id, &before);
    if (status == STATUS_NOT_FOUND)
        return report_reappeared(s, node);
    if (status != 0)
        return status;
    /* Once it is held it is looked at again at once: only then is known what tells ours from somebody else's. */
    bool new = node->row.state == QUARANTINE_STATE_HELD &&before.state != QUARANTINE_STATE_HELD;
    s->again = s->again || node->noted || new || before.wanted != (node->row.wanted && !node->kept);
    s->refused = s->refused || node->row.why[0] != '\0';
    status = node->gone ? db_quarantine_gone(tx, node->row.node_id) : db_quarantine_update(tx, &node->row);
    return status != 0 ? status : tell(s, &before, node);
}

static int write_settling(struct db_tx *tx, void *arg)
{
    struct settling *s = arg;
    int status = 0;
    turn_reset(&s->turn);
    s->turn.tx = tx;
    s->again = s->refused = false;
    memcpy(s->told, s->link->quarantine->told, sizeof(s->told));
    for (size_t i = 0; i < s->quarantine->count && status == 0; i++)
        status = settle(s, &s->quarantine->nodes[i]);
    return status;
}

static void record(struct reconcile *r, struct scheduler_link *link, const struct scheduler_quarantine *quarantine)
{
    struct settling s = {.turn = {.r = r, .now = reconcile_now(r)}, .link = link, .quarantine = quarantine};
    int written = keeper_record(&s.turn, "quarantine", write_settling, &s,
                                "what was quarantined in the scheduler could not be stored, it is asked again");
    if (written != 0) {
        pause(r, link, true, false);
        return;
    }
    keep_released(link->quarantine, quarantine, s.turn.now);
    memcpy(link->quarantine->told, s.refused ? s.told : "", s.refused ? sizeof(s.told) : 1);
    link->quarantine->pace.poked = link->quarantine->pace.poked || s.again;
    for (size_t i = 0; i < quarantine->count; i++) {
        struct rnode *node = reconcile_node_find(r, quarantine->nodes[i].row.node_id);
        if (node != NULL && node->op != NULL && !node->op->in_flight)
            reconcile_operation_poke(r, node); /* its step may go on */
    }
}

static enum part_take take(struct reconcile *r, struct rcall *call)
{
    struct scheduler_link *link = call->link;
    link->quarantine->pace.in_flight = false;
    if (call->status == 0) {
        record(r, link, call->quarantine);
        return PART_TAKE_DONE;
    }
    memcpy(link->quarantine->mark, call->quarantine->mark, sizeof(link->quarantine->mark)); /* what it saw holds */
    pause(r, link, true, false);
    return PART_TAKE_DONE;
}

/* --- for the steps ------------------------------------------------------------------------------- */
static bool has_way(const struct work *w)
{
    const struct scheduler_link *link = reconcile_link(w->node);
    return reconcile_link_is_configured(link) && link->driver.ops->quarantine != NULL && work_has_scheduler(w);
}

void work_quarantine_ask(struct work *w)
{
    if (!has_way(w) ||
        !work_did(w, db_quarantine_ask(w->turn->tx, reconcile_link(w->node)->name, w->node->id, w->node->name)))
        return;
    turn_after(w->turn, w->node, poke, NULL, 0);
}

void work_quarantine_leave(struct work *w)
{
    if (has_way(w) && work_did(w, db_quarantine_leave(w->turn->tx, w->node->id)))
        turn_after(w->turn, w->node, poke, NULL, 0);
}

/* Nobody waits for ever for what only says to people what the drain does. */
static bool wait_a_while(struct work *w, int64_t since, const char *what)
{
    int64_t until = since + QUARANTINE_WAIT_MS;
    if (w->now >= until)
        return true;
    work_say(w, "%s", what);
    work_due(w, until);
    return false;
}

bool work_is_quarantine(struct work *w)
{
    struct quarantine row;
    int status = has_way(w) ? db_quarantine_get(w->turn->tx, w->node->id, &row) : STATUS_NOT_FOUND;
    if (status == STATUS_NOT_FOUND && !has_way(w))
        return true;
    if (status == STATUS_NOT_FOUND || (status == 0 && !row.wanted)) {
        work_quarantine_ask(w);
        return wait_a_while(w, w->step->started_at, "waits for the scheduler to quarantine the node");
    }
    if (!work_did(w, status))
        return false;
    return row.state == QUARANTINE_STATE_HELD || row.state == QUARANTINE_STATE_REFUSED ||
           wait_a_while(w, w->step->started_at, "waits for the scheduler to quarantine the node");
}

bool work_is_back(struct work *w, int64_t since)
{
    struct quarantine row;
    int status = has_way(w) ? db_quarantine_get(w->turn->tx, w->node->id, &row) : STATUS_NOT_FOUND;
    if (status == STATUS_NOT_FOUND)
        return true;
    if (!work_did(w, status))
        return false;
    if (row.wanted)
        work_quarantine_leave(w);
    return wait_a_while(w, since, "waits for the scheduler to have the node as it was");
}

const struct keeper keeper_quarantine = {
    .call = CALL_QUARANTINE,
    .start = start,
    .end = end,
    .due = due,
    .run = run,
    .take = take,
};
