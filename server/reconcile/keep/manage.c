/*
 * The scheduler's nodes and partitions, where its configuration is ours: what the groups of all clusters under it want is put to
 * the backend, when it changes and from time to time, since people edit files. The backend does nothing where all is as wanted.
 *
 * A node is wanted from the moment its slot is there until it is gone; one that the scheduler does not know yet waits for its repair
 * or its launch like one whose daemon does not answer. Controllers and login nodes are none of it, so they can never take jobs.
 * What drifted, and that it is over, is told once in each cluster's timeline; the cluster's description shows it meanwhile.
 */
#include "base/hash.h"
#include "base/json.h"
#include "base/map.h"
#include "base/text.h"
#include "db/cluster.h"
#include "db/node.h"
#include "server/reconcile/base/call.h"
#include "server/reconcile/base/cluster.h"
#include "server/reconcile/base/link.h"
#include "server/reconcile/base/loop.h"
#include "server/reconcile/base/node.h"
#include "server/reconcile/base/record.h"
#include "server/reconcile/keep/keeper.h"
#include "server/service/scheduler/scheduler.h"

#include <string.h>

#define LOOK_FACTOR \
    4 /* looked at again after so many times the interval of observing, and at what changed with the next */

struct manage_keeper {
    struct keeper_pace pace;
    bool dirty;      /* somebody changed what may be wanted … */
    int64_t look_at; /* … or it is looked up all the same */
    int64_t forced_at;
    uint64_t asked;               /* a number for what was asked for last */
    struct map *wanted;           /* node → a number for what was wanted of it when all nodes were read last */
    char drift[DESIRED_SAID_MAX]; /* that was told last; "": none */
    char trouble[SCHEDULER_ERROR_MAX];
    struct map *
        addresses; /* node → what its provider told last, owned; of agents that tell none. The file has the older ones */
};

static void start(struct scheduler_link *link)
{
    link->manage = own_calloc(1, sizeof(*link->manage));
    link->manage->addresses = map_new();
    link->manage->wanted = map_new();
}

static void end(struct scheduler_link *link)
{
    size_t cursor = 0;
    const char *name;
    void *address;
    while (map_next(link->manage->addresses, &cursor, &name, &address))
        free(address);
    map_free(link->manage->addresses);
    map_free(link->manage->wanted);
    free(TAKE(link->manage));
}

/* Where an instance lives. */
static void hear(const struct rcall *call)
{
    struct scheduler_link *link = call->link;
    if (!link->managed || call->node[0] == '\0' || call->instance.address[0] == '\0')
        return;
    const char *known = map_get(link->manage->addresses, call->node);
    if (text_equal(known, call->instance.address))
        return;
    free(map_set(link->manage->addresses, call->node, own_strdup(call->instance.address)));
    link->manage->dirty = true;
}

static int64_t due(const struct scheduler_link *link, int64_t now)
{
    const struct keeper_pace *pace = &link->manage->pace;
    return !link->managed || pace->in_flight ? 0 : pace->due_at == 0 ? now : pace->due_at;
}

/* --- what is wanted ----------------------------------------------------------------------------- */
struct collecting {
    const struct scheduler_link *link;
    struct db_tx *tx;
    struct scheduler_desired *desired;
    size_t capacity; /* of its nodes */
    int64_t cluster_id, group_id;
    bool off;                        /* the group's nodes are none of the scheduler's */
    bool named;                      /* a cluster has named the strategy */
    char unreadable[NAME_MAX_BYTES]; /* whose description that is; "": all can be read */
    char partition[NAME_MAX_BYTES];
    uint64_t number;
    struct map *wanted; /* node → a number for what is wanted of it */
};

/* As HyperPod has it: the partition that is named, else one that is called as the instance type. */
static int read_group(struct collecting *c, int64_t group_id, const char *group, const char *instance_type)
{
    AUTO(group_spec) struct group_spec spec = {0};
    if (c->group_id == group_id)
        return 0;
    int status = db_group_spec_get(c->tx, group_id, &spec);
    if (status == STATUS_UNREADABLE)
        text_copy_cut(c->unreadable, sizeof(c->unreadable), group);
    if (status < 0)
        return status;
    const char *partition = group_spec_partition(&spec);
    c->group_id = group_id;
    c->off = group_spec_role(&spec) != SLURM_ROLE_COMPUTE;
    if (partition == NULL || text_copy(c->partition, sizeof(c->partition), partition) != 0)
        text_copy_cut(c->partition, sizeof(c->partition), instance_type[0] != '\0' ? instance_type : group);
    return 0;
}

static int take_node(const void *found, void *arg)
{
    const struct db_node_row *row = found;
    struct collecting *c = arg;
    int status = read_group(c, row->node.group_id, row->group, row->instance_type);
    if (status != 0 || c->off || row->node.state == NODE_STATE_DELETED)
        return status;
    struct scheduler_desired *desired = c->desired;
    if (desired->count == c->capacity) {
        c->capacity = c->capacity == 0 ? 64 : 2 * c->capacity;
        desired->nodes = own_realloc(desired->nodes, c->capacity, sizeof(*desired->nodes));
    }
    struct desired_node *node = &desired->nodes[desired->count++];
    *node = (struct desired_node){0};
    text_copy_cut(node->name, sizeof(node->name), row->node.name);
    const char *told = map_get(c->link->manage->addresses, row->node.name);
    text_copy_cut(node->address, sizeof(node->address),
                  row->instance.address[0] != '\0' || told == NULL ? row->instance.address : told);
    text_copy_cut(node->instance_type, sizeof(node->instance_type), row->instance_type);
    text_copy_cut(node->partition, sizeof(node->partition), c->partition);
    text_copy_cut(node->leaf, sizeof(node->leaf), node_domain(&row->node, TOPOLOGY_LEVEL_SWITCH));
    uint64_t number = hash_text(0, node->name);
    number = hash_text(number, node->address);
    number = hash_text(number, node->instance_type);
    number = hash_text(number, node->partition);
    number = hash_text(number, node->leaf);
    c->number = hash_number(c->number, number);
    map_set(c->wanted, node->name, (void *)(uintptr_t)(number | 1));
    return 0;
}

/* One file has one strategy: of those that clusters name, the one by which least is lost counts. */
static void take_strategy(struct collecting *c, enum desired_strategy named)
{
    static const int care[] = {
        [DESIRED_STRATEGY_OVERWRITE] = 0, [DESIRED_STRATEGY_MERGE] = 1, [DESIRED_STRATEGY_MANAGED] = 2};
    if (c->named && care[named] <= care[c->desired->strategy])
        return;
    c->desired->strategy = named;
    c->named = true;
}

static int read_strategy(struct collecting *c, int64_t cluster_id, const char *cluster)
{
    AUTO(cluster_spec) struct cluster_spec spec = {0};
    int status = db_cluster_spec_get(c->tx, cluster_id, &spec);
    if (status == 0 && spec.strategy.given)
        take_strategy(c, (enum desired_strategy)spec.strategy.value);
    if (status == STATUS_UNREADABLE)
        text_copy_cut(c->unreadable, sizeof(c->unreadable), cluster);
    return status;
}

static int take_cluster(const void *found, void *arg)
{
    const struct cluster *cluster = found;
    struct collecting *c = arg;
    if (!cluster_is_under(cluster, c->link->name))
        return 0;
    const struct db_node_filter all = {.cluster_id = cluster->id, .state = -1, .health = -1};
    int status = read_strategy(c, cluster->id, cluster->name);
    return status != 0 ? status : db_node_list(c->tx, &all, take_node, c);
}

static int collect(struct reconcile *r, const struct scheduler_link *link, struct collecting *c)
{
    *c = (struct collecting){
        .link = link, .desired = own_calloc(1, sizeof(struct scheduler_desired)), .wanted = map_new()};
    c->desired->strategy = link->strategy;
    int status = db_read_begin(r->db, &c->tx);
    if (status == 0)
        status = db_cluster_list(c->tx, "", 0, take_cluster, c);
    db_read_end(r->db, c->tx);
    c->number = hash_text(c->number, desired_strategy_text(c->desired->strategy));
    return status;
}

/* What is wanted of this node is not what it was when all nodes were read last. One row is read for it. */
static bool has_changed(struct reconcile *r, const struct scheduler_link *link, int64_t id)
{
    const struct rnode *node = reconcile_node_find(r, id);
    struct collecting c = {
        .link = link, .desired = own_calloc(1, sizeof(struct scheduler_desired)), .wanted = map_new()};
    int status = db_read_begin(r->db, &c.tx);
    if (status == 0)
        status = db_node_list_one(c.tx, id, take_node, &c);
    db_read_end(r->db, c.tx);
    bool changed =
        node == NULL || status != 0 || map_get(c.wanted, node->name) != map_get(link->manage->wanted, node->name);
    map_free(c.wanted);
    scheduler_desired_free(c.desired);
    return changed;
}

static void wake(struct reconcile *r, struct scheduler_link *link, enum service_wake what, int64_t id)
{
    if (!link->managed || link->manage->dirty)
        return;
    link->manage->dirty = what == SERVICE_WAKE_ALL || what == SERVICE_WAKE_CLUSTER || what == SERVICE_WAKE_GROUP ||
                          (what == SERVICE_WAKE_NODE && has_changed(r, link, id));
}

/* --- what came of it ---------------------------------------------------------------------------- */
struct telling {
    struct turn turn;
    const struct scheduler_link *link;
    enum event_level level;
    enum event_kind kind;
    const char *text;
};

static int write_telling(struct db_tx *tx, void *arg)
{
    struct telling *t = arg;
    turn_reset(&t->turn);
    t->turn.tx = tx;
    int status = 0;
    for (const struct rcluster *cluster = t->turn.r->clusters; cluster != NULL && status == 0; cluster = cluster->next)
        if (cluster->link == t->link)
            status = turn_cluster_event(&t->turn, t->level, t->kind, cluster, "", "%s", t->text);
    return status;
}

static bool tell(struct reconcile *r, struct scheduler_link *link, enum event_level level, enum event_kind kind,
                 const char *text)
{
    struct telling t = {
        .turn = {.r = r, .now = reconcile_now(r)}, .link = link, .level = level, .kind = kind, .text = text};
    return keeper_record(&t.turn, "manage", write_telling, &t, NULL) == 0;
}

static const char *advice(enum desired_strategy strategy)
{
    switch (strategy) {
    case DESIRED_STRATEGY_MERGE:
        return "it is kept, and ours is written beside it";
    case DESIRED_STRATEGY_MANAGED:
        return "nothing is written, and no group is changed, until the file is as it was (FILE.old has the last one) "
               "or the "
               "strategy is Merge or Overwrite";
    case DESIRED_STRATEGY_OVERWRITE:
        return "it is overwritten";
    }
    return "";
}

static void tell_drift(struct reconcile *r, struct scheduler_link *link, const struct scheduler_desired *desired)
{
    struct manage_keeper *manage = link->manage;
    if (text_equal(manage->drift, desired->drift))
        return;
    autofree char *text =
        desired->drift[0] == '\0'
            ? own_printf("nodes and partitions of the scheduler %s are as they were written again", link->name)
            : own_printf("%s; %s", desired->drift, advice(desired->strategy));
    if (tell(r, link, desired->drift[0] == '\0' ? EVENT_LEVEL_INFO : EVENT_LEVEL_WARN, EVENT_KIND_SCHEDULER_DRIFT,
             text))
        text_copy_cut(manage->drift, sizeof(manage->drift), desired->drift);
}

static void tell_trouble(struct reconcile *r, struct scheduler_link *link, const char *trouble)
{
    struct manage_keeper *manage = link->manage;
    if (text_equal(manage->trouble, trouble))
        return;
    autofree char *text = own_printf(
        "nodes and partitions of the scheduler %s could not be written, it is tried again: %s", link->name, trouble);
    if (trouble[0] == '\0' || tell(r, link, EVENT_LEVEL_ERROR, EVENT_KIND_SCHEDULER_DESIRED, text))
        text_copy_cut(manage->trouble, sizeof(manage->trouble), trouble);
}

/* Without their number: it is said once, also where nodes come and go. */
static void tell_size(struct reconcile *r, struct scheduler_link *link)
{
    char trouble[SCHEDULER_ERROR_MAX];
    snprintf(trouble, sizeof(trouble), "its clusters have more nodes than the %d that can be written",
             DESIRED_NODES_MAX);
    tell_trouble(r, link, trouble);
}

static void tell_unreadable(struct reconcile *r, struct scheduler_link *link, const char *name)
{
    char trouble[SCHEDULER_ERROR_MAX];
    snprintf(trouble, sizeof(trouble), "the stored description of %s cannot be read", name);
    tell_trouble(r, link, trouble);
}

/* --- one look ----------------------------------------------------------------------------------- */
static bool run(struct reconcile *r, struct scheduler_link *link, int64_t now)
{
    struct manage_keeper *manage = link->manage;
    int64_t interval_ms = link->observe_interval_ms;
    struct collecting c;
    if (!link->managed || manage->pace.in_flight || manage->pace.due_at > now)
        return false;
    manage->pace.due_at = now + interval_ms;
    if (!manage->dirty && manage->look_at > now)
        return false; /* all nodes are read, which is not done for nothing */
    int status = collect(r, link, &c);
    if (status == 0 || status == STATUS_UNREADABLE) {
        manage->dirty = false;
        manage->look_at = now + LOOK_FACTOR * interval_ms;
        struct map *earlier = manage->wanted;
        manage->wanted = TAKE(c.wanted);
        map_free(earlier);
    }
    map_free(c.wanted);
    bool too_large = status == 0 && c.desired->count > DESIRED_NODES_MAX;
    if (too_large)
        tell_size(r, link);
    if (status == STATUS_UNREADABLE)
        tell_unreadable(r, link, c.unreadable);
    if (status != 0 || too_large || (c.number == manage->asked && manage->forced_at > now)) {
        scheduler_desired_free(c.desired);
        return false;
    }
    manage->asked = c.number;
    manage->forced_at = now + LOOK_FACTOR * interval_ms;
    struct rcall *call = reconcile_call_new(CALL_CONFIGURE, 0, 0);
    reconcile_call_to(call, link);
    call->desired = c.desired;
    manage->pace.in_flight = true;
    reconcile_call_send(r, call);
    return true;
}

static enum part_take take(struct reconcile *r, struct rcall *call)
{
    const struct scheduler_desired *desired = call->desired;
    struct scheduler_link *link = call->link;
    link->manage->pace.in_flight = false;
    keeper_pause(r, &link->manage->pace, call->status != 0, link->observe_interval_ms);
    if (call->status != 0) {
        link->manage->asked = 0;
        link->manage->dirty = true;
    } else if (desired->done[0] != '\0') {
        autofree char *text =
            own_printf("nodes and partitions of the scheduler %s were written: %s", link->name, desired->done);
        (void)tell(r, link, EVENT_LEVEL_INFO, EVENT_KIND_SCHEDULER_DESIRED, text);
    }
    tell_trouble(r, link, call->status == 0 ? "" : call->error[0] != '\0' ? call->error : status_meaning(call->status));
    if (call->status == 0 || desired->drift[0] != '\0') /* what was found is told, whatever came of the rest */
        tell_drift(r, link, desired);
    service_scheduler_manage(link->shown, desired->strategy, link->manage->drift);
    return PART_TAKE_DONE;
}

const struct keeper keeper_manage = {
    .call = CALL_CONFIGURE,
    .start = start,
    .end = end,
    .hear = hear,
    .wake = wake,
    .due = due,
    .run = run,
    .take = take,
};
