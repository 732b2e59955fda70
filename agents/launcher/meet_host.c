/* Members, ranks and phases. A start has everybody who is there, up to the most; a stop waits for all of them. */
#include "agents/launcher/meet_host.h"

#include "base/own.h"
#include "base/status.h"
#include "base/text.h"

#include <stddef.h>

#define GATHER_MS (600 * INT64_C(1000)) /* torchrun's join_timeout */

static int count(const struct host *host, enum member_state state, bool all)
{
    int n = 0;
    for (const struct member *m = host->members; m != NULL; m = m->next)
        n += all || (m->rank >= 0 && m->state == state) ? 1 : 0;
    return n;
}

static int members(const struct host *host)
{
    return count(host, MEMBER_WAITS, true);
}

/* --- ranks -------------------------------------------------------------------------------------------- */

static bool comes_before(const struct host *host, const struct member *a, const struct member *b)
{
    return host->ranked ? a->node_rank < b->node_rank : a->order < b->order;
}

static void rank_members(struct host *host)
{
    for (struct member *m = host->members; m != NULL; m = m->next) {
        int before = 0;
        for (const struct member *other = host->members; other != NULL; other = other->next)
            before += other != m && comes_before(host, other, m) ? 1 : 0;
        m->rank = before < host->nodes_max ? before : -1;
    }
}

/* Rank 0 first: with it the port is chosen that all others are told. */
static void begin(struct host *host)
{
    int nodes = members(host) < host->nodes_max ? members(host) : host->nodes_max;
    host->phase = PHASE_RUN;
    host->gather_until_ms = host->last_call_at_ms = 0;
    rank_members(host);
    for (int rank = 0; rank < nodes; rank++)
        for (struct member *m = host->members; m != NULL; m = m->next)
            if (m->rank == rank) {
                m->state = MEMBER_RUNS;
                host->start(host->arg, m, rank, nodes);
                break;
            }
}

static void end_all(struct host *host, bool succeeded)
{
    host->phase = PHASE_END;
    for (struct member *m = host->members; m != NULL; m = m->next)
        host->end(host->arg, m, succeeded);
}

/* --- phases ------------------------------------------------------------------------------------------- */

static void gather(struct host *host, int64_t now_ms)
{
    host->phase = PHASE_GATHER;
    if (host->gather_until_ms == 0)
        host->gather_until_ms = now_ms + GATHER_MS;
    if (members(host) >= host->nodes_max)
        begin(host);
    else if (members(host) < host->nodes_min)
        host->last_call_at_ms = 0;
    else if (host->last_call_at_ms == 0)
        host->last_call_at_ms = now_ms + host->last_call_ms;
}

static void stop_all(struct host *host, bool counts)
{
    if (host->phase != PHASE_RUN)
        return;
    host->phase = PHASE_STOP;
    host->counts = counts;
    for (struct member *m = host->members; m != NULL; m = m->next)
        if (m->rank >= 0 && (m->state == MEMBER_RUNS || m->state == MEMBER_SUCCEEDED))
            host->stop(host->arg, m);
}

/* All have stopped: once more, or never again. */
static void go_on(struct host *host, int64_t now_ms)
{
    if (host->phase != PHASE_STOP || count(host, MEMBER_RUNS, false) > 0 || count(host, MEMBER_SUCCEEDED, false) > 0)
        return;
    if (host->counts && host->restart_count >= host->max_restarts) {
        end_all(host, false);
        return;
    }
    host->restart_count += host->counts ? 1 : 0;
    for (struct member *m = host->members; m != NULL; m = m->next)
        m->state = MEMBER_WAITS;
    gather(host, now_ms);
}

/* --- what happens ------------------------------------------------------------------------------------- */

int host_join(struct host *host, struct member *member, int64_t now_ms, const char **ret_why)
{
    for (const struct member *m = host->members; m != NULL && host->ranked; m = m->next)
        if (m->node_rank == member->node_rank) {
            *ret_why = "another node has this --node-rank";
            return STATUS_CONFLICT;
        }
    if (host->phase == PHASE_END || (host->ranked && (member->node_rank < 0 || member->node_rank >= host->nodes_max))) {
        *ret_why = host->phase == PHASE_END ? "the job is over" : "--node-rank is not below --nnodes";
        return STATUS_CONFLICT;
    }
    member->state = MEMBER_WAITS;
    member->rank = -1;
    member->order = host->joined++;
    member->next = host->members;
    host->members = member;
    if (host->phase == PHASE_GATHER)
        gather(host, now_ms);
    else if (host->phase == PHASE_RUN && members(host) <= host->nodes_max)
        stop_all(host, false); /* there is room for one more */
    return 0;
}

void host_leave(struct host *host, struct member *member, int64_t now_ms)
{
    struct member **at = &host->members;
    while (*at != NULL && *at != member)
        at = &(*at)->next;
    if (*at == NULL)
        return;
    *at = member->next;
    if (host->phase == PHASE_RUN && member->rank >= 0)
        host_fault(host, "NodeLost", "The connection to the hprun of a node is gone.");
    if (host->phase == PHASE_STOP)
        go_on(host, now_ms);
    else if (host->phase == PHASE_GATHER)
        gather(host, now_ms);
}

void host_fault(struct host *host, const char *reason, const char *message)
{
    if (host->phase != PHASE_RUN)
        return; /* what follows of the first one */
    text_copy_cut(host->reason, sizeof(host->reason), reason);
    text_copy_cut(host->message, sizeof(host->message), message);
    stop_all(host, true);
}

void host_succeeded(struct host *host, struct member *member)
{
    if (member->state == MEMBER_RUNS)
        member->state = MEMBER_SUCCEEDED;
    if (host->phase == PHASE_RUN && count(host, MEMBER_RUNS, false) == 0)
        end_all(host, true);
}

void host_stopped(struct host *host, struct member *member, int64_t now_ms)
{
    member->state = MEMBER_STOPPED;
    go_on(host, now_ms);
}

void host_tick(struct host *host, int64_t now_ms)
{
    if (host->phase != PHASE_GATHER)
        return;
    if (host->last_call_at_ms != 0 && now_ms >= host->last_call_at_ms) {
        begin(host);
    } else if (host->gather_until_ms != 0 && now_ms >= host->gather_until_ms) {
        text_copy_cut(host->reason, sizeof(host->reason), "NodesMissing");
        text_copy_cut(host->message, sizeof(host->message), "Not as many nodes as --nnodes asks for came in time.");
        end_all(host, false);
    }
}

int64_t host_due_ms(const struct host *host)
{
    int64_t due = INT64_MAX;
    if (host->phase != PHASE_GATHER)
        return due;
    if (host->last_call_at_ms != 0)
        due = host->last_call_at_ms;
    if (host->gather_until_ms != 0 && host->gather_until_ms < due)
        due = host->gather_until_ms;
    return due;
}
