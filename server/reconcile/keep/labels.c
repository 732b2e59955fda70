/*
 * Labels and taints of the nodes of all clusters under a scheduler: what their groups want is put to the backend, when it changed and from
 * time to time, since people edit nodes and machines are replaced. The backend looks only at what may have changed; what a node carries
 * then is stored, so that it can be shown beside what is wanted.
 */
#include "base/hash.h"
#include "base/map.h"
#include "base/text.h"
#include "db/cluster.h"
#include "db/deep.h"
#include "db/node.h"
#include "db/node_labels.h"
#include "server/reconcile/base/call.h"
#include "server/reconcile/base/cluster.h"
#include "server/reconcile/base/link.h"
#include "server/reconcile/base/loop.h"
#include "server/reconcile/base/node.h"
#include "server/reconcile/base/record.h"
#include "server/reconcile/keep/keeper.h"

#define LOOK_FACTOR 4 /* all nodes are read again after so many times the interval of observing */

struct labels_keeper {
    struct keeper_pace pace;
    struct map *known;     /* node → the number that the backend answered last, as a pointer */
    struct map *conflicts; /* node → a number for what was told of it */
    char trouble[SCHEDULER_ERROR_MAX];
};

static void start(struct scheduler_link *link)
{
    link->labels = own_calloc(1, sizeof(*link->labels));
    link->labels->known = map_new();
    link->labels->conflicts = map_new();
}

static void end(struct scheduler_link *link)
{
    map_free(link->labels->known);
    map_free(link->labels->conflicts);
    free(TAKE(link->labels));
}

static bool is_able(const struct scheduler_link *link)
{
    return reconcile_link_is_usable(link) && link->driver.ops->labels != NULL;
}

/* Somebody wants something else, or a machine may be another one. */
static void wake(struct reconcile *r, struct scheduler_link *link, enum service_wake what, int64_t id)
{
    (void)r, (void)id;
    if (what == SERVICE_WAKE_ALL || what == SERVICE_WAKE_CLUSTER || what == SERVICE_WAKE_GROUP)
        link->labels->pace.poked = true;
}

static void hear(const struct rcall *call)
{
    if (call->kind == CALL_CORDON || call->kind == CALL_HOLD || call->kind == CALL_UNCORDON)
        call->link->labels->pace.poked = true;
}

static int64_t due(const struct scheduler_link *link, int64_t now)
{
    const struct keeper_pace *pace = &link->labels->pace;
    bool waits = pace->pause_ms > 0; /* the last call failed */
    return !is_able(link) || pace->in_flight ? 0 : pace->poked && !waits ? now : pace->due_at == 0 ? now : pace->due_at;
}

/* --- what is wanted ------------------------------------------------------------------------------------------------- */

struct collecting {
    const struct scheduler_link *link;
    struct db_tx *tx;
    struct scheduler_labels *labels;
    size_t capacity; /* of its nodes */
};

static bool find_group(const struct scheduler_labels *labels, int64_t id, size_t *ret_at)
{
    for (size_t i = labels->group_count; i > 0; i--)
        if (labels->groups[i - 1].id == id) {
            *ret_at = i - 1;
            return true;
        }
    return false;
}

/* UNREADABLE for a description that cannot be read: it takes nothing away. */
static int read_group(struct collecting *c, const struct db_node_row *row, size_t *ret_at)
{
    AUTO(group_spec) struct group_spec spec = {0};
    struct scheduler_labels *labels = c->labels;
    if (find_group(labels, row->node.group_id, ret_at))
        return 0;
    int status = db_group_spec_get(c->tx, row->node.group_id, &spec);
    if (status != 0)
        return status;
    labels->groups = own_realloc(labels->groups, labels->group_count + 1, sizeof(*labels->groups));
    *ret_at = labels->group_count++;
    struct labels_group *group = &labels->groups[*ret_at];
    *group = (struct labels_group){.id = row->node.group_id, .wanted = spec.kubernetes};
    spec.kubernetes = (struct kubernetes_spec){0};
    text_copy_cut(group->cluster, sizeof(group->cluster), row->cluster);
    text_copy_cut(group->name, sizeof(group->name), row->group);
    return 0;
}

/* Of this machine: another one in its place has not been tested. */
static int read_test(struct db_tx *tx, const struct db_node_row *row, enum labels_test *ret_test)
{
    enum deep_state state = DEEP_STATE_WAITING;
    int status = 0;
    *ret_test = row->is_tested ? LABELS_TEST_RUNNING : LABELS_TEST_NONE;
    if (!row->is_tested)
        status = db_deep_result(tx, row->node.id, row->instance.instance_id, &state);
    if (status == 0 && !row->is_tested)
        *ret_test = state == DEEP_STATE_PASSED ? LABELS_TEST_PASSED : LABELS_TEST_FAILED;
    return status == STATUS_NOT_FOUND ? 0 : status;
}

static int take_node(const void *found, void *arg)
{
    const struct db_node_row *row = found;
    struct collecting *c = arg;
    struct scheduler_labels *labels = c->labels;
    size_t group = 0;
    if (row->node.state == NODE_STATE_DELETED || row->instance.id == 0)
        return 0;
    int status = read_group(c, row, &group);
    if (status != 0)
        return status == STATUS_UNREADABLE ? 0 : status;
    if (labels->count == c->capacity) {
        c->capacity = c->capacity == 0 ? 64 : 2 * c->capacity;
        labels->nodes = own_realloc(labels->nodes, c->capacity, sizeof(*labels->nodes));
    }
    struct labels_node *node = &labels->nodes[labels->count++];
    *node = (struct labels_node){.id = row->node.id, .group = group};
    text_copy_cut(node->name, sizeof(node->name), row->node.name);
    for (int level = 0; level < TOPOLOGY_LEVEL_COUNT; level++)
        text_copy_cut(node->domains[level], sizeof(node->domains[level]),
                      node_domain(&row->node, (enum topology_level)level));
    node->known = (uint64_t)(uintptr_t)map_get(c->link->labels->known, node->name);
    return read_test(c->tx, row, &node->test);
}

static int take_cluster(const void *found, void *arg)
{
    const struct cluster *cluster = found;
    struct collecting *c = arg;
    if (!cluster_is_under(cluster, c->link->name))
        return 0;
    const struct db_node_filter all = {.cluster_id = cluster->id, .state = -1, .health = -1};
    return db_node_list(c->tx, &all, take_node, c);
}

static int collect(struct reconcile *r, const struct scheduler_link *link, struct scheduler_labels **ret_labels)
{
    struct collecting c = {.link = link, .labels = own_calloc(1, sizeof(struct scheduler_labels))};
    int status = db_read_begin(r->db, &c.tx);
    if (status == 0)
        status = db_cluster_list(c.tx, "", 0, take_cluster, &c);
    db_read_end(r->db, c.tx);
    if (status != 0)
        scheduler_labels_free(c.labels);
    else
        *ret_labels = c.labels;
    return status;
}

static bool run(struct reconcile *r, struct scheduler_link *link, int64_t now)
{
    struct labels_keeper *keeper = link->labels;
    struct scheduler_labels *labels = NULL;
    int64_t at = due(link, now);
    if (at == 0 || at > now)
        return false;
    keeper->pace.poked = false;
    keeper->pace.due_at = now + LOOK_FACTOR * link->observe_interval_ms;
    if (collect(r, link, &labels) != 0)
        return false;
    if (labels->count == 0) {
        scheduler_labels_free(labels);
        return false;
    }
    struct rcall *call = reconcile_call_new(CALL_LABELS, 0, 0);
    reconcile_call_to(call, link);
    call->labels = labels;
    keeper->pace.in_flight = true;
    reconcile_call_send(r, call);
    return true;
}

/* --- what came of it ------------------------------------------------------------------------------------------------ */

struct telling {
    struct turn turn;
    const struct rcall *call;
    const char *trouble; /* of all clusters under it; "": none */
};

static int tell_conflict(struct telling *t, const struct labels_node *seen)
{
    const struct labels_keeper *keeper = t->call->link->labels;
    struct rnode *node = reconcile_node_find(t->turn.r, seen->id);
    uint64_t number = hash_text(HASH_BASIS, seen->conflict) | 1;
    if (seen->conflict[0] == '\0' || node == NULL ||
        (uint64_t)(uintptr_t)map_get(keeper->conflicts, seen->name) == number)
        return 0;
    return turn_event(&t->turn, EVENT_LEVEL_WARN, EVENT_KIND_SCHEDULER_DRIFT, node, NULL,
                      "%s; it stays. Remove it there, or from kubernetesConfig of the group", seen->conflict);
}

static int write_seen(struct db_tx *tx, void *arg)
{
    struct telling *t = arg;
    const struct scheduler_labels *labels = t->call->labels;
    int status = 0;
    turn_reset(&t->turn);
    t->turn.tx = tx;
    for (size_t i = 0; i < labels->count && status == 0; i++) {
        const struct labels_node *node = &labels->nodes[i];
        if (node->looked)
            status = db_node_labels_set(tx, node->id, node->current == NULL ? "" : node->current);
        if (status == 0 && node->looked)
            status = tell_conflict(t, node);
    }
    for (const struct rcluster *cluster = t->turn.r->clusters; cluster != NULL && status == 0 && t->trouble[0] != '\0';
         cluster = cluster->next)
        if (cluster->link == t->call->link)
            status = turn_cluster_event(&t->turn, EVENT_LEVEL_ERROR, EVENT_KIND_SCHEDULER_DESIRED, cluster, "",
                                        "labels of the nodes could not be written, it is tried again: %s", t->trouble);
    return status;
}

/* What is stored is known from now on; what could not be stored is looked at again. */
static void remember(struct labels_keeper *keeper, const struct scheduler_labels *labels)
{
    for (size_t i = 0; i < labels->count; i++) {
        const struct labels_node *node = &labels->nodes[i];
        if (!node->looked)
            continue;
        map_set(keeper->known, node->name, (void *)(uintptr_t)node->number); /* NOLINT: a number, not an address */
        if (node->conflict[0] != '\0')
            map_set(keeper->conflicts, node->name,
                    (void *)(uintptr_t)(hash_text(HASH_BASIS, node->conflict) | 1)); /* NOLINT: likewise */
        else
            (void)map_remove(keeper->conflicts, node->name);
    }
}

static bool has_news(const struct scheduler_labels *labels)
{
    for (size_t i = 0; i < labels->count; i++)
        if (labels->nodes[i].looked)
            return true;
    return false;
}

static enum part_take take(struct reconcile *r, struct rcall *call)
{
    struct labels_keeper *keeper = call->link->labels;
    const char *trouble = call->status == 0 ? "" : call->error[0] != '\0' ? call->error : status_meaning(call->status);
    const char *news = text_equal(trouble, keeper->trouble) ? "" : trouble;
    struct telling t = {.turn = {.r = r, .now = reconcile_now(r)}, .call = call, .trouble = news};
    bool stored = true;
    keeper->pace.in_flight = false;
    if (has_news(call->labels) || news[0] != '\0')
        stored = keeper_record(&t.turn, "labels", write_seen, &t, "labels could not be stored") == 0;
    if (stored) {
        remember(keeper, call->labels);
        text_copy_cut(keeper->trouble, sizeof(keeper->trouble), trouble);
    }
    keeper_pause(r, &keeper->pace, call->status != 0 || !stored, LOOK_FACTOR * call->link->observe_interval_ms);
    keeper->pace.poked = keeper->pace.poked || call->labels->left > 0;
    return PART_TAKE_DONE;
}

const struct keeper keeper_labels = {
    .call = CALL_LABELS, .start = start, .end = end, .hear = hear, .wake = wake, .due = due, .run = run, .take = take};
