/*
 * Where the scheduler was told that nodes live, and that it is told again when it has forgotten: slurmctld reads slurm.conf again,
 * and a node that another machine stands in for is looked for at the address of a machine before.
 *
 * Only what Holdfast told itself is compared with each snapshot, in memory; the store has it, and the addresses of the slot's
 * earlier machines. An address that is shown and is none of these is people's, and stays: the store is asked once for each that shows
 * up. A node is told at most once in an observation interval, and more and more rarely where it does not last.
 *
 * With an address of ours goes the machine's own name, as soon as its agent has told it: in place of an earlier machine's, of the node's
 * own name, which is what Slurm shows where nobody configured one, and of "localhost", which each machine has.
 */
#include "server/reconcile/keep/address.h"
#include "base/text.h"
#include "db/address.h"
#include "server/reconcile/base/address.h"
#include "server/reconcile/base/call.h"
#include "server/reconcile/base/effect.h"
#include "server/reconcile/base/link.h"
#include "server/reconcile/base/loop.h"
#include "server/reconcile/base/node.h"
#include "server/reconcile/base/queue.h"
#include "server/reconcile/base/record.h"
#include "server/reconcile/base/work.h"
#include "server/reconcile/keep/keeper.h"

#include <string.h>

#define IN_FLIGHT_MAX \
    4                 /* calls at once: after a reconfigure there may be as many as nodes, and none is worth a repair */
#define LOOKS_MAX 256 /* nodes whose past the store is asked for in a turn */
#define PAUSE_MAX_FACTOR 64 /* the longest pause, in observation intervals */
#define NAMELESS_FACTOR \
    4 /* until the second look whether the agent has told its machine's name, and twice as long each time */

struct addresses_keeper {
    struct idqueue waiting; /* nodes that are shown otherwise */
    struct rcall *done;     /* what came of calls, not yet written down */
    int in_flight;          /* those among them */
    int64_t due_at;         /* when the store is tried again; 0: at once */
};

static void start(struct scheduler_link *link)
{
    link->addresses = own_calloc(1, sizeof(*link->addresses));
}

static void drop_done(struct addresses_keeper *loop)
{
    while (loop->done != NULL) {
        struct rcall *call = loop->done;
        loop->done = call->next;
        loop->in_flight--;
        reconcile_call_free(call);
    }
}

static void end(struct scheduler_link *link)
{
    drop_done(link->addresses);
    idqueue_free(&link->addresses->waiting);
    free(TAKE(link->addresses));
}

/* --- what is told, and what is shown --------------------------------------------------------------- */
/* The scheduler was told this of the node; "": its machine is gone. */
static void set(struct reconcile *r, struct rnode *node, const char *told)
{
    reconcile_address_free(TAKE(node->address));
    if (told[0] == '\0')
        return;
    node->address = own_calloc(1, sizeof(*node->address));
    node->address->told = own_strdup(told);
    node->address->told_seq = r->tick;
}

static int load_told(const void *row, void *arg)
{
    struct reconcile *r = arg;
    const struct address_row *told = row;
    struct rnode *node = reconcile_node_find(r, told->node_id);
    if (node != NULL)
        set(r, node, told->address);
    return 0;
}

/* What was told before we started. */
static int load(struct reconcile *r, struct db_tx *tx)
{
    return db_address_list_reported(tx, load_told, r);
}

void reconcile_address_heard(struct rnode *node)
{
    if (node->address != NULL)
        node->address->host_again_at = node->address->nameless_ms = 0;
}

static void shows_what_was_told(struct raddress *address, int64_t now)
{
    free(TAKE(address->shown));
    address->foreign = false;
    if (now >= address->again_at)
        address->pause_ms = 0; /* it lasted */
}

/* True when somebody has to look at it. */
static bool see_address(struct raddress *address, const char *shown, int64_t now)
{
    if (text_equal(shown, address->told)) {
        shows_what_was_told(address, now);
        return false;
    }
    if (address->shown == NULL || !text_equal(shown, address->shown)) {
        free(address->shown);
        address->shown = own_strdup(shown);
        address->foreign = false;
    }
    return !address->foreign && now >= address->again_at;
}

static bool see_host(struct raddress *address, const char *host, int64_t now)
{
    bool settled = host[0] == '\0' || (address->host_settled != NULL && text_equal(host, address->host_settled));
    free(TAKE(address->host));
    if (settled || address->foreign)
        return false;
    address->host = own_strdup(host);
    return now >= address->host_again_at;
}

void reconcile_address_see(struct reconcile *r, struct rnode *node, const char *shown, const char *host, uint64_t seq)
{
    struct raddress *address = node->address;
    int64_t now = reconcile_now(r);
    if (shown[0] == '\0' || address->in_flight || seq <= address->told_seq)
        return;
    bool moved = see_address(address, shown, now), renamed = see_host(address, host, now);
    if ((!moved && !renamed) || address->queued)
        return;
    address->queued = true;
    idqueue_push(&reconcile_link(node)->addresses->waiting, node->id);
}

/* --- telling it again -------------------------------------------------------------------------------- */
static int find_former(const void *row, void *arg)
{
    return text_equal(((const struct address_row *)row)->address, arg) ? 1 : 0;
}

static void send(struct reconcile *r, struct rnode *node, bool moves, const char *host)
{
    struct raddress *address = node->address;
    struct rcall *call = reconcile_call_new(CALL_UPDATE_ADDRESS, node->id, 0);
    reconcile_call_to(call, reconcile_link(node));
    text_copy_cut(call->node, sizeof(call->node), node->name);
    text_copy_cut(call->move.address, sizeof(call->move.address), address->told);
    call->move.was = own_calloc(1, sizeof(*call->move.was));
    call->move.was_count = 1;
    text_copy_cut(call->move.was[0], sizeof(call->move.was[0]), moves ? address->shown : address->told);
    text_copy_cut(call->move.host, sizeof(call->move.host), host);
    text_copy_cut(call->move.host_was, sizeof(call->move.host_was), text_or_empty(address->host));
    address->in_flight = true;
    call->link->addresses->in_flight++;
    reconcile_call_send(r, call);
}

/* Twice the last one; the first is so many observation intervals. */
static int64_t next_pause(const struct scheduler_link *link, int64_t last_ms, int64_t first)
{
    const int64_t every_ms = link->observe_interval_ms;
    int64_t next_ms = last_ms == 0 ? first * every_ms : 2 * last_ms;
    return next_ms < PAUSE_MAX_FACTOR * every_ms ? next_ms : PAUSE_MAX_FACTOR * every_ms;
}

static void settle_host(struct raddress *address, const char *host)
{
    free(address->host_settled);
    address->host_settled = own_strdup(host);
    free(TAKE(address->host));
}

/* What the name that is shown is to become; "": it stays. Negative when the store cannot be read. */
static int look_at_host(struct reconcile *r, struct db_tx *tx, struct rnode *node, struct hardware *ret_own)
{
    struct raddress *address = node->address;
    if (address->host == NULL)
        return 0;
    int status = db_address_host(tx, node->id, ret_own);
    if (status == STATUS_NOT_FOUND || (status == 0 && !hardware_is_host_name(ret_own))) {
        address->nameless_ms = next_pause(reconcile_link(node), address->nameless_ms, NAMELESS_FACTOR);
        address->host_again_at = reconcile_now(r) + address->nameless_ms;
        ret_own->detail[0] = '\0';
        return 0;
    }
    if (status != 0)
        return status;
    bool own = text_equal(address->host, ret_own->detail), former = false;
    bool nobodys = text_equal(address->host, node->name) || text_equal(address->host, "localhost");
    if (!own && !nobodys)
        status = db_address_host_is_former(tx, node->id, address->host, &former);
    if (status != 0)
        return status;
    if (own || (!nobodys && !former)) {
        settle_host(address, address->host);
        ret_own->detail[0] = '\0';
    }
    return 0;
}

/* Negative when the store cannot be read. */
static int look_at(struct reconcile *r, struct db_tx *tx, struct rnode *node)
{
    struct raddress *address = node->address;
    struct hardware own = {.detail = ""};
    int found = 0;
    address->queued = false;
    if (address->in_flight)
        return 0;
    bool moves = address->shown != NULL && reconcile_now(r) >= address->again_at;
    if (moves) {
        found = db_address_list_former(tx, node->id, find_former, address->shown);
        address->foreign = found == 0;
        moves = found > 0;
    }
    /* An address of somebody's is on a machine of theirs. */
    int status = found < 0 || address->foreign ? found : look_at_host(r, tx, node, &own);
    if (status >= 0 && (moves || own.detail[0] != '\0'))
        send(r, node, moves, own.detail);
    return status < 0 ? status : 0;
}

static bool has_room(const struct scheduler_link *link, int64_t now)
{
    return link->addresses->waiting.count > 0 && link->addresses->due_at <= now &&
           link->addresses->in_flight < IN_FLIGHT_MAX && reconcile_link_is_configured(link) &&
           link->driver.ops->addresses != NULL;
}

static void look_at_waiting(struct reconcile *r, struct scheduler_link *link, int64_t now)
{
    struct db_tx *tx = NULL;
    int64_t id;
    int status = db_read_begin(r->db, &tx);
    for (int left = LOOKS_MAX;
         status == 0 && left > 0 && has_room(link, now) && idqueue_pop(&link->addresses->waiting, &id); left--) {
        struct rnode *node = reconcile_node_find(r, id);
        if (node != NULL && node->address != NULL)
            status = look_at(r, tx, node); /* what could not be read is in the next snapshot as well */
    }
    db_read_end(r->db, tx);
    if (status != 0)
        link->addresses->due_at = now + r->deps.settings.retry_max_ms;
}

/* --- what came of it ----------------------------------------------------------------------------------- */
static enum part_take take(struct reconcile *r, struct rcall *call)
{
    struct rnode *node = reconcile_node_find(r, call->node_id);
    struct scheduler_link *link = call->link;
    call->next = link->addresses->done;
    link->addresses->done = call;
    if (node == NULL || node->address == NULL || !node->address->in_flight)
        return PART_TAKE_KEPT;
    struct raddress *address = node->address;
    address->in_flight = false;
    address->told_seq = r->tick;
    address->pause_ms = next_pause(link, address->pause_ms, 1);
    address->again_at = address->host_again_at = reconcile_now(r) + address->pause_ms;
    if (call->move.renamed)
        settle_host(address, call->move.host);
    return PART_TAKE_KEPT;
}

static int tell_failure(struct turn *turn, struct rnode *node, const struct rcall *call)
{
    const struct scheduler_move *move = &call->move;
    const char *why = call->error[0] != '\0' ? call->error : status_meaning(call->status);
    if (text_equal(move->was[0], move->address))
        return turn_event(turn, EVENT_LEVEL_WARN, EVENT_KIND_SCHEDULER_ADDRESS, node, NULL,
                          "the scheduler could not be told that the node's machine is called %s: %s", move->host, why);
    return turn_event(turn, EVENT_LEVEL_WARN, EVENT_KIND_SCHEDULER_ADDRESS, node, NULL,
                      "the scheduler shows %s, where an earlier machine was, and could not be told %s again: %s",
                      move->was[0], move->address, why);
}

static int tell(struct turn *turn, const struct rcall *call)
{
    struct rnode *node = reconcile_node_find(turn->r, call->node_id);
    const struct scheduler_move *move = &call->move;
    if (node == NULL)
        return 0;
    if (call->status != 0)
        return tell_failure(turn, node, call);
    int status = 0;
    if (move->holds && !text_equal(move->before, move->address)) /* else somebody else was quicker */
        status = turn_event(turn, EVENT_LEVEL_INFO, EVENT_KIND_SCHEDULER_ADDRESS, node, NULL,
                            "the scheduler showed %s, where an earlier machine was: it was told %s again", move->before,
                            move->address);
    if (status == 0 && move->renamed)
        status = turn_event(turn, EVENT_LEVEL_INFO, EVENT_KIND_SCHEDULER_ADDRESS, node, NULL,
                            "the scheduler was told that the node's machine is called %s; it showed %s", move->host,
                            move->host_was);
    return status;
}

/* Of one link: what is to be written, and the turn for the timeline. */
struct done {
    struct turn turn;
    const struct rcall *first;
};

static int write_done(struct db_tx *tx, void *arg)
{
    struct done *done = arg;
    struct turn *turn = &done->turn;
    int status = 0;
    turn_reset(turn);
    turn->tx = tx;
    for (const struct rcall *call = done->first; call != NULL && status == 0; call = call->next)
        status = tell(turn, call);
    return status;
}

static void record(struct reconcile *r, struct scheduler_link *link, int64_t now)
{
    struct done done = {.turn = {.r = r, .now = now}, .first = link->addresses->done};
    int status = keeper_record(&done.turn, "addresses", write_done, &done,
                               "that the scheduler was told addresses again could not be stored, it is tried again");
    link->addresses->due_at = status == 0 ? 0 : now + r->deps.settings.retry_max_ms;
    if (status == 0)
        drop_done(link->addresses);
}

static bool run(struct reconcile *r, struct scheduler_link *link, int64_t now)
{
    struct addresses_keeper *loop = link->addresses;
    bool records = loop->done != NULL && loop->due_at <= now, looks = has_room(link, now);
    if (records)
        record(r, link, now);
    if (looks)
        look_at_waiting(r, link, now);
    return records || looks;
}

static int64_t due(const struct scheduler_link *link, int64_t now)
{
    const struct addresses_keeper *loop = link->addresses;
    if (has_room(link, now))
        return now;
    return loop->done == NULL ? 0 : loop->due_at > now ? loop->due_at : now;
}

/* --- for the steps ------------------------------------------------------------------------------------- */
static int add_former(const void *row, void *arg)
{
    struct scheduler_move *move = arg;
    const struct address_row *former = row;
    if (text_equal(former->address, move->address))
        return 0;
    move->was = own_realloc(move->was, move->was_count + 1, sizeof(*move->was));
    memcpy(move->was[move->was_count++], former->address, sizeof(former->address));
    return 0;
}

bool work_address_ask(struct work *w, struct rcall *call)
{
    if (!work_did(w, db_address_list_former(w->turn->tx, w->node->id, add_former, &call->move)) ||
        call->move.was_count == 0)
        return false;
    int status = db_address_ask(w->turn->tx, w->node->id, call->move.address);
    call->asked_before = status == STATUS_EXISTS;
    return work_did(w, call->asked_before ? 0 : status);
}

static void told(struct reconcile *r, struct rnode *node, const void *address)
{
    set(r, node, address);
}

void work_address_told(struct work *w, const struct rcall *call)
{
    const struct scheduler_move *move = &call->move;
    bool asks = call->kind == CALL_UPDATE_ADDRESS;
    /* What people's machines are found at without a word of ours the site has told. */
    bool ours = move->holds && (!asks || call->asked_before || !text_equal(move->before, move->address));
    if (ours && work_did(w, db_address_tell(w->turn->tx, w->node->id, move->address, move->before)))
        turn_after(w->turn, w->node, told, move->address, strlen(move->address) + 1);
    else if (!ours && asks && !call->asked_before)
        work_did(w, db_address_drop(w->turn->tx, w->node->id, move->address));
}

void work_address_leave(struct work *w)
{
    if (work_did(w, db_address_leave(w->turn->tx, w->node->id)))
        turn_after(w->turn, w->node, told, "", 1);
}

const struct keeper keeper_addresses = {
    .call = CALL_UPDATE_ADDRESS,
    .start = start,
    .end = end,
    .load = load,
    .due = due,
    .run = run,
    .take = take,
};
