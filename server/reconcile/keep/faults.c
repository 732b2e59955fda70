/*
 * What a scheduler shows of the faults of its nodes: those that are open and were judged, with the sentence of the decision. They are
 * looked up for nodes that are not healthy, and for those of which something is shown; the backend does nothing where all is shown.
 *
 * What is shown is known again after a start by the backend alone, so nodes with a fault in the window of their group are asked for once.
 */
#include "base/hash.h"
#include "base/log.h"
#include "base/map.h"
#include "base/text.h"
#include "db/verdict.h"
#include "policy/policy.h"
#include "server/reconcile/base/call.h"
#include "server/reconcile/base/link.h"
#include "server/reconcile/base/loop.h"
#include "server/reconcile/base/node.h"
#include "server/reconcile/base/record.h"
#include "server/reconcile/keep/keeper.h"

#include <stdio.h>

#define ROWS_MAX 256 /* open verdicts of one node, critical ones first */

struct faults_keeper {
    struct keeper_pace pace;
    struct map *shown;                 /* node → a number for what is shown, as a pointer */
    size_t at;                         /* where the next look goes on */
    uint64_t asked;                    /* the number of the call that is under way */
    char trouble[SCHEDULER_ERROR_MAX]; /* the right that is missing, as it was told; "": none */
};

#define NOTHING_SHOWN 1

static uint64_t shown_of(const struct scheduler_link *link, const char *node)
{
    return (uint64_t)(uintptr_t)map_get(link->faults->shown, node);
}

static void start(struct scheduler_link *link)
{
    link->faults = own_calloc(1, sizeof(*link->faults));
    link->faults->shown = map_new();
}

static void end(struct scheduler_link *link)
{
    map_free(link->faults->shown);
    free(TAKE(link->faults));
}

static bool is_able(const struct scheduler_link *link)
{
    return reconcile_link_is_usable(link) && link->driver.ops->faults != NULL;
}

/* A node is taken out of service, or given back: its faults may be others. */
static void hear(const struct rcall *call)
{
    if (call->kind == CALL_CORDON || call->kind == CALL_HOLD || call->kind == CALL_UNCORDON)
        call->link->faults->pace.poked = true;
}

static int64_t due(const struct scheduler_link *link, int64_t now)
{
    const struct keeper_pace *pace = &link->faults->pace;
    return !is_able(link) || pace->in_flight ? 0 : pace->poked || pace->due_at == 0 ? now : pace->due_at;
}

/* --- what is to be shown -------------------------------------------------------------------------------------------- */

struct collecting {
    const char *node;
    struct scheduler_faults *faults;
    int64_t first_at; /* when the first of them was received */
    bool left_out;    /* faults beyond those that there is room for */
    uint64_t number;
};

static int take_verdict(const void *found, void *arg)
{
    const struct verdict *row = found;
    struct collecting *c = arg;
    if (!row->node_fault)
        return 0;
    c->left_out = c->faults->count == SCHEDULER_FAULTS_MAX;
    if (c->left_out)
        return 0;
    const struct fault_row *table = fault_find(row->code);
    struct scheduler_fault *fault = &c->faults->list[c->faults->count++];
    fault->at = row->first_at;
    fault->replaces = table != NULL && table->action == ACTION_CLASS_REPLACE;
    text_copy_cut(fault->code, sizeof(fault->code), row->code);
    text_copy_cut(fault->message, sizeof(fault->message), row->raw_line[0] != '\0' ? row->raw_line : row->code);
    if (c->first_at == 0 || row->received_at < c->first_at)
        c->first_at = row->received_at;
    c->number = hash_number(c->number, (uint64_t)row->id);
    return 0;
}

static void say_sentence(struct collecting *c, const char *sentence)
{
    autofree char *more = own_printf(" (More faults than shown here: hpctl node explain %s.)", c->node);
    char *said = c->faults->sentence;
    const size_t size = sizeof(c->faults->sentence);
    text_copy_cut(said, size, sentence);
    if (c->left_out)
        snprintf(said, size, "%.*s%s", TEXT_FIT(sentence, size - 1 - strlen(more)), more);
}

/* NOT_FOUND: a fault that no decision has seen yet. */
static int read_faults(struct db_tx *tx, int64_t node_id, struct collecting *c)
{
    struct decision decision;
    const struct db_verdict_filter open = {
        .node_id = node_id, .state = VERDICT_STATE_OPEN, .limit = ROWS_MAX, .critical_first = true};
    int status = db_verdict_list(tx, &open, take_verdict, c);
    if (status != 0 || c->faults->count == 0)
        return status;
    status = db_decision_last(tx, node_id, &decision);
    if (status != 0)
        return status;
    if (decision.at < c->first_at)
        return STATUS_NOT_FOUND;
    say_sentence(c, decision.sentence);
    enum action wanted = action_is_repair(decision.action) ? decision.action : decision.refused;
    for (size_t i = 0; wanted == ACTION_REPLACE && i < c->faults->count; i++)
        c->faults->list[i].replaces = true;
    c->number = hash_number(c->number, wanted == ACTION_REPLACE);
    return 0;
}

static int collect(struct reconcile *r, const struct rnode *node, struct collecting *c)
{
    struct db_tx *tx = NULL;
    *c = (struct collecting){
        .node = node->name, .faults = own_calloc(1, sizeof(struct scheduler_faults)), .number = HASH_BASIS};
    int status = db_read_begin(r->db, &tx);
    if (status == 0)
        status = read_faults(tx, node->id, c);
    db_read_end(r->db, tx);
    c->number = c->faults->count == 0 ? NOTHING_SHOWN : c->number | 2;
    return status;
}

static bool may_have_changed(const struct scheduler_link *link, const struct rnode *node)
{
    uint64_t shown = shown_of(link, node->name);
    return node->health == HEALTH_DEGRADED || node->health == HEALTH_UNHEALTHY ||
           (shown == 0 ? node->failing_at != 0 : shown != NOTHING_SHOWN);
}

/* --- one look ------------------------------------------------------------------------------------------------------- */

static bool look_at(struct reconcile *r, struct scheduler_link *link, const struct rnode *node)
{
    struct collecting c;
    if (!may_have_changed(link, node))
        return false;
    int status = collect(r, node, &c);
    if (status != 0 || c.number == shown_of(link, node->name)) {
        free(c.faults);
        return false;
    }
    struct rcall *call = reconcile_call_new(CALL_FAULTS, node->id, 0);
    reconcile_call_to(call, link);
    text_copy_cut(call->node, sizeof(call->node), node->name);
    call->faults = c.faults;
    link->faults->asked = c.number;
    link->faults->pace.in_flight = true;
    reconcile_call_send(r, call);
    return true;
}

/* One node at a time; the look goes on after it. */
static bool run(struct reconcile *r, struct scheduler_link *link, int64_t now)
{
    struct faults_keeper *keeper = link->faults;
    const char *name;
    void *node;
    if (!is_able(link) || keeper->pace.in_flight || (!keeper->pace.poked && keeper->pace.due_at > now))
        return false;
    while (map_next(link->nodes, &keeper->at, &name, &node))
        if (look_at(r, link, node))
            return true;
    keeper->at = 0;
    keeper->pace.poked = false;
    keeper->pace.due_at = now + link->observe_interval_ms;
    return false;
}

struct telling {
    struct turn turn;
    const struct rcall *call;
};

static int write_trouble(struct db_tx *tx, void *arg)
{
    struct telling *t = arg;
    turn_reset(&t->turn);
    t->turn.tx = tx;
    return turn_event(&t->turn, EVENT_LEVEL_ERROR, EVENT_KIND_SCHEDULER_DESIRED,
                      reconcile_node_find(t->turn.r, t->call->node_id), NULL,
                      "faults cannot be shown in the scheduler, it is tried again: %s", t->call->error);
}

/* A missing right is reported once, for all nodes; what passes without a person is logged. It is there again when a fault was shown: a node
 * that shows none may need no right. */
static void tell_trouble(struct reconcile *r, struct faults_keeper *keeper, const struct rcall *call)
{
    struct telling t = {.turn = {.r = r, .now = reconcile_now(r)}, .call = call};
    if (call->status != 0)
        log_warn("the faults of %s are not shown in the scheduler %s: %s", call->node, call->link->name, call->error);
    else if (call->faults->count > 0)
        keeper->trouble[0] = '\0';
    if (call->status != STATUS_DENIED || text_equal(call->error, keeper->trouble) ||
        reconcile_node_find(r, call->node_id) == NULL)
        return;
    if (keeper_record(&t.turn, "faults", write_trouble, &t, NULL) == 0)
        text_copy_cut(keeper->trouble, sizeof(keeper->trouble), call->error);
}

static enum part_take take(struct reconcile *r, struct rcall *call)
{
    struct faults_keeper *keeper = call->link->faults;
    tell_trouble(r, keeper, call);
    keeper->pace.in_flight = false;
    keeper->pace.poked = call->status == 0;
    keeper_pause(r, &keeper->pace, call->status != 0, 0);
    if (call->status == 0)
        map_set(keeper->shown, call->node, (void *)(uintptr_t)keeper->asked); /* NOLINT: a number, not an address */
    return PART_TAKE_DONE;
}

const struct keeper keeper_faults = {
    .call = CALL_FAULTS, .start = start, .end = end, .hear = hear, .due = due, .run = run, .take = take};
