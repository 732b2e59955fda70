/*
 * Incidents of many nodes: who shows an outage signal, what the policy makes of all signals together (policy/incident.h), and what is
 * remembered of it. An incident is in the store before anything is decided by it.
 *
 * It goes on while enough of its nodes show it, and ends when the place has been back for a while; who still fails then is judged
 * by itself. Signals that were part of an incident that has ended are spent: they never make another one, also after a restart. For the
 * breaker it counts as long as its beginning does.
 */
#include "server/reconcile/decide/incident.h"
#include "base/text.h"
#include "db/incident.h"
#include "policy/incident.h"
#include "server/reconcile/base/cluster.h"
#include "server/reconcile/base/group.h"
#include "server/reconcile/base/loop.h"
#include "server/reconcile/base/node.h"
#include "server/reconcile/base/queue.h"
#include "server/reconcile/base/record.h"
#include "server/reconcile/base/seen.h"
#include "server/reconcile/world/topology.h"

#include <inttypes.h>
#include <stdio.h>

#define INCIDENT_LOOK_MS 5000 /* open ones are looked at so often */
#define NAMES_TOLD 8          /* nodes named in a line of the timeline */

struct rmember {
    int64_t node_id, since, back_at;
    enum incident_cause cause;
    bool unstored;
};

struct rincident {
    struct rincident *next;
    struct shared_incident row;
    struct rcluster *cluster;
    uint32_t domain;
    struct policy_incident view;
    struct rmember *members;
    size_t count, capacity;
    bool unstored, told;
    bool over; /* ended and stored: kept for what the breaker counts */
};

struct incident_part {
    struct rincident *incidents; /* that go on, and some that are over */
    struct idqueue signals;      /* nodes with signal_at, and some that had it */
    int64_t look_at;             /* 0: there is none */
};

static void start(struct reconcile *r)
{
    r->incident = own_calloc(1, sizeof(*r->incident));
}

/* --- memory ------------------------------------------------------------------------------------ */
static struct rincident *incident_new(struct reconcile *r, struct rcluster *cluster)
{
    struct rincident *incident = own_calloc(1, sizeof(*incident));
    incident->cluster = cluster;
    incident->row.cluster_id = cluster->id;
    incident->next = r->incident->incidents;
    r->incident->incidents = incident;
    return incident;
}

static void incident_drop(struct reconcile *r, struct rincident *incident)
{
    for (struct rincident **at = &r->incident->incidents; *at != NULL; at = &(*at)->next)
        if (*at == incident) {
            *at = incident->next;
            break;
        }
    for (size_t i = 0; i < incident->count; i++) {
        struct rnode *node = reconcile_node_find(r, incident->members[i].node_id);
        if (node != NULL && node->incident == incident)
            node->incident = NULL;
    }
    free(incident->members);
    free(incident);
}

/* Those of a cluster that is gone; NULL: all. */
static void forget(struct reconcile *r, const struct rcluster *cluster)
{
    for (struct rincident *incident = r->incident->incidents, *next; incident != NULL; incident = next) {
        next = incident->next;
        if (cluster == NULL || incident->cluster == cluster)
            incident_drop(r, incident);
    }
}

static struct rmember *add_member(struct rincident *incident, int64_t node_id)
{
    if (incident->count == incident->capacity) {
        incident->capacity = incident->capacity == 0 ? 8 : incident->capacity * 2;
        incident->members = own_realloc(incident->members, incident->capacity, sizeof(*incident->members));
    }
    struct rmember *member = &incident->members[incident->count++];
    *member = (struct rmember){.node_id = node_id, .unstored = true};
    return member;
}

/* --- signals ------------------------------------------------------------------------------------- */
static bool is_accounted_for(const struct reconcile *r, const struct rnode *node)
{
    return reconcile_node_has_scheduler(node) && reconcile_sees(r, node) &&
           (node->responding || node->switched_off || node->maintenance);
}

static bool is_in_service(const struct rnode *node)
{
    return node->op == NULL && (node->state == NODE_STATE_READY || node->state == NODE_STATE_HELD);
}

/* Its agent is silent, and the scheduler neither hears it nor says that it switched it off itself. */
static bool is_gone(const struct reconcile *r, const struct rnode *node)
{
    return is_in_service(node) && node->lost && node->silent_since > 0 && !is_accounted_for(r, node);
}

void reconcile_node_signal(struct reconcile *r, struct rnode *node, const struct policy_outage_signal *signal)
{
    node->signal_until = signal->until;
    node->signal_boot = signal->boot;
    if (node->signal_at == signal->at && (signal->at == 0 || node->signal_cause == (uint8_t)signal->cause))
        return;
    if (node->signal_at == 0)
        idqueue_push(&r->incident->signals, node->id);
    node->signal_at = signal->at;
    node->signal_cause = (uint8_t)signal->cause;
    r->signals_changed = true;
}

struct collected {
    struct policy_outage_signal *signals;
    size_t count, capacity;
};

static void collect(struct collected *all, const struct rnode *node, int64_t at, enum incident_cause cause, bool boot)
{
    if (at <= node->spent_at)
        return;
    if (all->count == all->capacity) {
        all->capacity = all->capacity == 0 ? 64 : all->capacity * 2;
        all->signals = own_realloc(all->signals, all->capacity, sizeof(*all->signals));
    }
    struct policy_outage_signal *signal = &all->signals[all->count++];
    *signal = (struct policy_outage_signal){.node_id = node->id, .at = at, .cause = cause, .boot = boot};
    memcpy(signal->domain, node->domain, sizeof(signal->domain));
}

static void collect_all(struct reconcile *r, struct collected *all, int64_t now)
{
    int64_t id;
    for (const struct rgroup *group = r->groups; group != NULL; group = group->next)
        for (size_t i = 0; i < group->silent.count; i++) {
            const struct rnode *node =
                reconcile_node_find(r, group->silent.ids[(group->silent.head + i) % group->silent.capacity]);
            if (node != NULL && is_gone(r, node))
                collect(all, node, node->silent_since, INCIDENT_CAUSE_UNREACHABLE, false);
        }
    for (size_t left = r->incident->signals.count; left > 0 && idqueue_pop(&r->incident->signals, &id); left--) {
        struct rnode *node = reconcile_node_find(r, id);
        if (node == NULL || node->signal_at == 0)
            continue;
        if (node->signal_until <= now) {
            node->signal_at = 0;
            continue;
        }
        idqueue_push(&r->incident->signals, id);
        if (is_in_service(node))
            collect(all, node, node->signal_at, (enum incident_cause)node->signal_cause, node->signal_boot);
    }
}

/* --- joining ----------------------------------------------------------------------------------- */
static void join(struct reconcile *r, struct rincident *incident, const struct policy_outage_signal *signal)
{
    struct rnode *node = reconcile_node_find(r, signal->node_id);
    if (node->incident == incident)
        return;
    struct rmember *member = add_member(incident, node->id);
    member->since = signal->at;
    member->cause = signal->cause;
    node->incident = incident;
    reconcile_node_dirty(r, node);
}

/* Two that are found to be one: the nodes of the later one wait for the earlier. */
static void take_over(struct reconcile *r, struct rincident *from, struct rincident *to, int64_t now)
{
    for (size_t i = 0; i < from->count; i++) {
        struct rnode *node = reconcile_node_find(r, from->members[i].node_id);
        struct rmember *member = &from->members[i];
        if (node != NULL && node->incident == from) {
            *add_member(to, node->id) = *member;
            to->members[to->count - 1].unstored = true;
            node->incident = to;
        }
        member->back_at = member->back_at > 0 ? member->back_at : now;
        member->unstored = true;
    }
    from->row.ended_at = now;
    from->row.part_of = to->row.id;
    snprintf(from->row.ended_by, sizeof(from->row.ended_by), "it is part of incident %" PRId64, to->row.id);
    from->unstored = true;
}

static struct rincident *open_one(struct reconcile *r, const struct policy_outage_signal *signal, int64_t started_at)
{
    const struct rnode *node = reconcile_node_find(r, signal->node_id);
    struct rincident *incident = incident_new(r, node->group->cluster);
    incident->row.started_at = started_at;
    return incident;
}

static void place(struct reconcile *r, struct rincident *incident, const struct policy_shared *shared)
{
    struct shared_incident *row = &incident->row;
    if (incident->count > 0 && (row->level > shared->level || incident->domain == shared->domain))
        return;
    incident->domain = shared->domain;
    incident->unstored = true;
    row->level = shared->level;
    row->cause = shared->cause;
    text_copy_cut(row->domain, sizeof(row->domain), reconcile_domain_name(r, shared->domain));
}

/* The open ones that any of its nodes is in become one; NULL: there is none, and it is too long ago for a new one. */
static struct rincident *find(struct reconcile *r, const struct policy_outage_signal *signals, size_t count, int index,
                              const struct policy_shared *shared, int64_t now)
{
    const struct policy_settings *settings = &r->deps.settings.policy;
    struct rincident *found = NULL;
    size_t first = count;
    for (size_t i = 0; i < count; i++) {
        if (signals[i].shared != index)
            continue;
        first = first == count ? i : first;
        struct rincident *other = reconcile_node_find(r, signals[i].node_id)->incident;
        if (other == NULL || other == found || other->row.ended_at > 0)
            continue;
        struct rincident *older = found == NULL || other->row.id < found->row.id ? other : found;
        if (found != NULL)
            take_over(r, older == found ? other : found, older, now);
        found = older;
    }
    bool fresh = shared->last_at >= now - settings->incident_window_ms - settings->unreachable_after_ms;
    return found != NULL || !fresh ? found : open_one(r, &signals[first], shared->first_at);
}

static void join_shared(struct reconcile *r, const struct collected *all, int64_t now)
{
    autofree struct policy_shared *shared = NULL;
    size_t count = all->count;
    size_t shared_count = policy_share(&r->deps.settings.policy, all->signals, &count, &shared);
    for (size_t k = 0; k < shared_count; k++) {
        struct rincident *incident = find(r, all->signals, count, (int)k, &shared[k], now);
        if (incident == NULL)
            continue;
        place(r, incident, &shared[k]);
        for (size_t i = 0; i < count; i++)
            if (all->signals[i].shared == (int)k)
                join(r, incident, &all->signals[i]);
    }
    for (size_t i = 0; i < count; i++)
        for (struct rincident *incident = r->incident->incidents; incident != NULL; incident = incident->next)
            if (all->signals[i].shared < 0 && incident->row.ended_at == 0 &&
                all->signals[i].domain[incident->row.level] == incident->domain &&
                reconcile_node_find(r, all->signals[i].node_id)->incident == NULL)
                join(r, incident, &all->signals[i]);
}

/* --- going on, and ending ---------------------------------------------------------------------- */
/* After a restart a node that was not heard yet still waits. */
static bool is_back(const struct reconcile *r, const struct rnode *node, int64_t now)
{
    struct fleet_view live;
    if (node == NULL || !is_in_service(node))
        return true;
    if (node->signal_at > node->spent_at && node->signal_until > now)
        return false;
    bool heard = fleet_get(r->service->fleet, node->id, &live) != 0 || (!live.silent && live.last_heartbeat_at > 0);
    return heard || is_accounted_for(r, node) || node->incident == NULL;
}

static void count_members(struct reconcile *r, struct rincident *incident, int64_t now)
{
    incident->row.nodes = (int64_t)incident->count;
    incident->row.affected = 0;
    for (size_t i = 0; i < incident->count; i++) {
        struct rmember *member = &incident->members[i];
        bool back = is_back(r, reconcile_node_find(r, member->node_id), now);
        incident->row.affected += back ? 0 : 1;
        if (back == (member->back_at > 0))
            continue;
        member->back_at = back ? now : 0;
        member->unstored = true;
    }
    incident->view = (struct policy_incident){.id = incident->row.id,
                                              .level = incident->row.level,
                                              .domain = incident->row.domain,
                                              .cause = incident->row.cause,
                                              .started_at = incident->row.started_at,
                                              .nodes = incident->row.affected};
}

static void follow(struct reconcile *r, struct rincident *incident, int64_t now)
{
    const struct policy_settings *settings = &r->deps.settings.policy;
    struct shared_incident *row = &incident->row;
    count_members(r, incident, now);
    bool settled = policy_incident_is_settled(settings, row->nodes, row->affected);
    if (settled != (row->settled_since > 0)) {
        row->settled_since = settled ? now : 0;
        incident->unstored = true;
    }
    if (!settled || now - row->settled_since < settings->incident_settle_ms)
        return;
    row->ended_at = now;
    snprintf(row->ended_by, sizeof(row->ended_by), "%" PRId64 " of its %" PRId64 " nodes are back",
             row->nodes - row->affected, row->nodes);
    incident->unstored = true;
}

/* Its signals are spent, and its nodes are judged by themselves from now on. */
static void release(struct reconcile *r, struct rincident *incident)
{
    for (size_t i = 0; i < incident->count; i++) {
        struct rnode *node = reconcile_node_find(r, incident->members[i].node_id);
        if (node == NULL || node->incident != incident)
            continue;
        node->spent_at = node->signal_at > node->silent_since ? node->signal_at : node->silent_since;
        node->incident = NULL;
        reconcile_node_dirty(r, node);
    }
    incident->over = true;
}

static int64_t longest_window(const struct reconcile *r)
{
    int64_t longest = r->deps.settings.policy.breaker_window_ms;
    for (const struct rgroup *group = r->groups; group != NULL; group = group->next)
        if (group->settings.policy.breaker_window_ms > longest)
            longest = group->settings.policy.breaker_window_ms;
    return longest;
}

static void drop_old(struct reconcile *r, int64_t now)
{
    int64_t since = now - longest_window(r);
    for (struct rincident *incident = r->incident->incidents, *next; incident != NULL; incident = next) {
        next = incident->next;
        if (incident->over && incident->row.started_at < since)
            incident_drop(r, incident);
    }
}

/* --- the store --------------------------------------------------------------------------------- */
static void name_nodes(const struct reconcile *r, const struct rincident *incident, struct text *out)
{
    for (size_t i = 0; i < incident->count && i < NAMES_TOLD; i++) {
        const struct rnode *node = reconcile_node_find(r, incident->members[i].node_id);
        text_printf(out, "%s%s", i > 0 ? ", " : "", node != NULL ? node->name : "?");
    }
    if (incident->count > NAMES_TOLD)
        text_printf(out, " and %zu more", incident->count - NAMES_TOLD);
}

static int tell(struct turn *turn, const struct rincident *incident)
{
    const struct shared_incident *row = &incident->row;
    const char *title = topology_level_title(row->level);
    struct text names AUTO(text) = {0};
    char id[32];
    name_nodes(turn->r, incident, &names);
    snprintf(id, sizeof(id), "%" PRId64, row->id);
    turn_about(turn, id, row->ended_at > 0 ? "ended" : "open", "");
    if (row->ended_at > 0)
        return turn_cluster_event(turn, EVENT_LEVEL_INFO, EVENT_KIND_INCIDENT_ENDED, incident->cluster, "",
                                  "incident %" PRId64 " of the %s %s is over: %s", row->id, title, row->domain,
                                  row->ended_by);
    return turn_cluster_event(
        turn, EVENT_LEVEL_ERROR, EVENT_KIND_INCIDENT_OPENED, incident->cluster, incident_cause_text(row->cause),
        "incident %" PRId64 " of the %s %s (%s): %zu nodes failed together and wait for it: %s", row->id, title,
        row->domain, incident_cause_text(row->cause), incident->count, text_get(&names));
}

static int write_one(struct turn *turn, struct rincident *incident)
{
    struct shared_incident row = incident->row;
    row.id = incident->told ? row.id : 0; /* the transaction may run again, and what it gave then is gone */
    int status = incident->told ? 0 : db_incident_insert(turn->tx, &row);
    if (status == 0 && incident->told && incident->unstored)
        status = db_incident_update(turn->tx, &row);
    if (status == STATUS_NOT_FOUND)
        return 0; /* a person has ended it meanwhile: the resync that this woke drops it */
    incident->row.id = status == 0 ? row.id : incident->row.id;
    for (size_t i = 0; i < incident->count && status == 0; i++) {
        const struct rmember *member = &incident->members[i];
        const struct rnode *node = reconcile_node_find(turn->r, member->node_id);
        struct incident_node stored = {.incident_id = row.id,
                                       .node_id = member->node_id,
                                       .cause = member->cause,
                                       .since = member->since,
                                       .back_at = member->back_at};
        text_copy_cut(stored.name, sizeof(stored.name), node != NULL ? node->name : "");
        if (member->unstored)
            status = db_incident_node_put(turn->tx, &stored);
    }
    if (status == 0 && (!incident->told || row.ended_at > 0))
        status = tell(turn, incident);
    return status;
}

static bool is_unstored(const struct rincident *incident)
{
    bool unstored = incident->unstored;
    for (size_t i = 0; i < incident->count && !unstored; i++)
        unstored = incident->members[i].unstored;
    return unstored;
}

static int write_all(struct db_tx *tx, void *arg)
{
    struct turn *turn = arg;
    turn_reset(turn);
    turn->tx = tx;
    for (struct rincident *incident = turn->r->incident->incidents; incident != NULL; incident = incident->next) {
        int status = is_unstored(incident) ? write_one(turn, incident) : 0;
        if (status != 0)
            return status;
    }
    return 0;
}

static void stored(struct reconcile *r, struct turn *turn)
{
    if (turn->event_count > 0 && r->service->events_added != NULL)
        r->service->events_added(r->service->events_arg);
    turn_log_write(turn);
    for (struct rincident *incident = r->incident->incidents, *next; incident != NULL; incident = next) {
        next = incident->next;
        incident->unstored = false;
        incident->told = true;
        incident->view.id = incident->row.id;
        for (size_t i = 0; i < incident->count; i++)
            incident->members[i].unstored = false;
        if (incident->row.ended_at > 0 && !incident->over)
            release(r, incident);
    }
}

static int store(struct reconcile *r, int64_t now)
{
    struct turn turn = {.r = r, .now = now};
    bool any = false;
    for (const struct rincident *incident = r->incident->incidents; incident != NULL && !any; incident = incident->next)
        any = is_unstored(incident);
    if (!any)
        return 0;
    /* Numbers that a transaction gave which failed in the end are given anew. */
    int status = db_write(r->db, "incident", write_all, &turn);
    if (status == 0) {
        stored(r, &turn);
        return 0;
    }
    for (struct rincident *incident = r->incident->incidents; incident != NULL; incident = incident->next)
        incident->row.id = incident->told ? incident->row.id : 0;
    log_warn("an incident could not be stored, nothing is decided until it is status=%s", status_text(status));
    return status;
}

/* --- all of it --------------------------------------------------------------------------------- */
bool reconcile_incidents_due(const struct reconcile *r, int64_t now)
{
    return r->signals_changed || (r->incident->look_at > 0 && r->incident->look_at <= now);
}

int reconcile_incidents(struct reconcile *r, int64_t now)
{
    struct collected all = {0};
    if (!reconcile_incidents_due(r, now))
        return 0;
    r->signals_changed = false;
    drop_old(r, now);
    collect_all(r, &all, now);
    join_shared(r, &all, now);
    free(all.signals);
    for (struct rincident *incident = r->incident->incidents; incident != NULL; incident = incident->next)
        if (incident->row.ended_at == 0)
            follow(r, incident, now);
    int status = store(r, now);
    r->signals_changed = r->signals_changed || status != 0; /* before anything is decided again */
    r->incident->look_at = r->incident->incidents != NULL ? now + INCIDENT_LOOK_MS : 0;
    return status;
}

const struct policy_incident *reconcile_incident_of(const struct rnode *node)
{
    return node->incident != NULL ? &node->incident->view : NULL;
}

int64_t reconcile_incidents_count(const struct reconcile *r, const struct rgroup *group, int64_t since)
{
    int64_t count = 0;
    for (const struct rincident *incident = r->incident->incidents; incident != NULL; incident = incident->next) {
        bool here = false;
        if (incident->row.part_of != 0)
            continue; /* it counts with the other one */
        for (size_t i = 0; i < incident->count && !here && incident->row.started_at >= since; i++) {
            const struct rnode *node = reconcile_node_find(r, incident->members[i].node_id);
            here = node != NULL && node->group == group;
        }
        count += here ? 1 : 0;
    }
    return count;
}

/* --- what the store says ----------------------------------------------------------------------- */
struct loading {
    struct reconcile *r;
    struct rincident *incident;
};

static int load_node(const void *row, void *arg)
{
    struct loading *loading = arg;
    const struct incident_node *from = row;
    struct rmember *member = add_member(loading->incident, from->node_id);
    struct rnode *node = reconcile_node_find(loading->r, from->node_id);
    *member = (struct rmember){
        .node_id = from->node_id, .since = from->since, .back_at = from->back_at, .cause = from->cause};
    if (node == NULL)
        return 0;
    if (loading->incident->over && node->incident == NULL && node->spent_at < loading->incident->row.ended_at)
        node->spent_at = loading->incident->row.ended_at;
    if (loading->incident->over)
        return 0;
    node->incident = loading->incident;
    reconcile_node_dirty(loading->r, node); /* what its verdicts show is known when it was looked at */
    return 0;
}

static int load_incident(const void *row, void *arg)
{
    struct loading *loading = arg;
    const struct shared_incident *from = row;
    struct rcluster *cluster = reconcile_cluster_find(loading->r, from->cluster_id);
    if (cluster == NULL)
        return 0;
    struct rincident *incident = incident_new(loading->r, cluster);
    incident->row = *from;
    incident->domain = reconcile_domain(loading->r, cluster, from->level, from->domain);
    incident->told = true;
    incident->over = from->ended_at > 0;
    return 0;
}

/* For as long as it counts, and as its signals could make another one (find). */
static int64_t remembered_ms(const struct reconcile *r)
{
    const struct policy_settings *settings = &r->deps.settings.policy;
    int64_t counts = longest_window(r), fresh = settings->incident_window_ms + settings->unreachable_after_ms;
    return counts > fresh ? counts : fresh;
}

/* The open ones first: what is in one of them is not spent. */
static int load_nodes(struct loading *loading, struct db_tx *tx, bool over)
{
    int status = 0;
    for (loading->incident = loading->r->incident->incidents; loading->incident != NULL && status == 0;
         loading->incident = loading->incident->next)
        if (loading->incident->over == over)
            status = db_incident_node_list(tx, loading->incident->row.id, load_node, loading);
    return status;
}

static int load(struct reconcile *r, struct db_tx *tx)
{
    struct loading loading = {.r = r};
    const struct db_incident_filter open = {.open_only = true};
    int status = db_incident_list(tx, &open, load_incident, &loading);
    const struct db_incident_filter ended = {.ended_after = reconcile_now(r) - remembered_ms(r)};
    if (status == 0)
        status = db_incident_list(tx, &ended, load_incident, &loading);
    if (status == 0)
        status = load_nodes(&loading, tx, false);
    if (status == 0)
        status = load_nodes(&loading, tx, true);
    r->signals_changed = r->incident->incidents != NULL;
    return status;
}

/* A person may have ended one: then it is over, whatever its nodes show. */
static int resync(struct reconcile *r, struct db_tx *tx)
{
    for (struct rincident *incident = r->incident->incidents, *next; incident != NULL; incident = next) {
        struct shared_incident row;
        next = incident->next;
        int status = incident->row.id == 0 ? STATUS_NOT_FOUND : db_incident_get(tx, incident->row.id, &row);
        if (status != 0 && status != STATUS_NOT_FOUND)
            return status;
        if (status == 0 && row.ended_at > 0 && !incident->over) {
            incident->row = row;
            release(r, incident);
        }
    }
    return 0;
}

static int tidy(struct turn *turn)
{
    return db_incident_prune(turn->tx, turn->now - turn->r->deps.settings.history_ms);
}

static int64_t due(const struct reconcile *r, int64_t now)
{
    return r->signals_changed ? now : r->incident->look_at > 0 ? r->incident->look_at : INT64_MAX;
}

static void end(struct reconcile *r)
{
    forget(r, NULL);
    idqueue_free(&r->incident->signals);
    free(TAKE(r->incident));
}

const struct part part_incident = {
    .start = start,
    .load = load,
    .end = end,
    .resync = resync,
    .gone = forget,
    .due = due,
    .tidy = tidy,
};
