/*
 * Clusters as they are shown: counts, groups, what is under way, and the nodes that need a look. The description is
 * the page an engineer reads at night, so what needs attention comes worst first and is never hidden behind a page.
 */
#include "db/node_labels.h"
#include "server/service/cluster/cluster.h"
#include "server/service/machine/machine.h"
#include "server/service/node/node.h"
#include "server/service/private.h"
#include "server/service/scheduler/scheduler.h"

#include "base/text.h"

/* --- describe -------------------------------------------------------------------------------------- */

struct describe {
    const char *name;
    struct problem *problem;
    struct db_tx *tx;
    struct service_cluster_view *view;
};

/* A list with room for one more: it doubles when it is full, which is at every power of two. */
static void *with_room(void *list, size_t count, size_t size)
{
    bool is_full = (count & (count - 1)) == 0;
    return is_full ? own_realloc(list, count == 0 ? 1 : count * 2, size) : list;
}

static int add_group(const void *row, void *arg)
{
    struct service_cluster_view *view = ((struct describe *)arg)->view;
    view->groups = with_room(view->groups, view->group_count, sizeof(*view->groups));
    struct service_group_view *group = &view->groups[view->group_count++];
    *group = (struct service_group_view){.group = *(const struct instance_group *)row};
    return 0;
}

static int add_active(const void *row, void *arg)
{
    struct service_cluster_view *view = ((struct describe *)arg)->view;
    view->active = with_room(view->active, view->active_count, sizeof(*view->active));
    view->active[view->active_count++] = *(const struct operation *)row;
    return 0;
}

/* Counts all, keeps the first few. */
static int add_attention(const void *row, void *arg)
{
    struct service_cluster_view *view = ((struct describe *)arg)->view;
    if (view->attention_count < SERVICE_CLUSTER_ATTENTION_MAX) {
        view->attention = with_room(view->attention, view->attention_count, sizeof(*view->attention));
        view->attention[view->attention_count++] = *(const struct db_node_row *)row;
    }
    view->attention_total++;
    return 0;
}

/* Only as many rows are read as are shown; how many there are is known from the counts. */
static int describe_state(struct describe *describe, enum node_state state)
{
    struct service_cluster_view *view = describe->view;
    int64_t total = view->attention_total + view->counts.by_state[state];
    int status = 0;
    if (view->counts.by_state[state] > 0 && view->attention_count < SERVICE_CLUSTER_ATTENTION_MAX) {
        struct db_node_filter filter = {.cluster_id = view->cluster.id,
                                        .state = (int)state,
                                        .health = -1,
                                        .limit = SERVICE_CLUSTER_ATTENTION_MAX - (int)view->attention_count};
        status = db_node_list(describe->tx, &filter, add_attention, describe);
    }
    view->attention_total = total;
    return status;
}

static int describe_attention(struct describe *describe)
{
    static const enum node_state worst_first[] = {NODE_STATE_FAILED,    NODE_STATE_HELD,     NODE_STATE_REPAIRING,
                                                  NODE_STATE_VERIFYING, NODE_STATE_STARTING, NODE_STATE_PENDING,
                                                  NODE_STATE_DELETING};
    static const enum health ready_but[] = {HEALTH_UNHEALTHY, HEALTH_DEGRADED, HEALTH_UNKNOWN};
    struct service_cluster_view *view = describe->view;
    int status = 0;
    for (size_t i = 0; status == 0 && i < ARRAY_LEN(worst_first); i++)
        status = describe_state(describe, worst_first[i]);
    for (size_t i = 0; status == 0 && i < ARRAY_LEN(ready_but); i++) {
        if (view->counts.by_health[ready_but[i]] == 0)
            continue;
        struct db_node_filter filter = {
            .cluster_id = view->cluster.id, .state = NODE_STATE_READY, .health = (int)ready_but[i]};
        status = db_node_list(describe->tx, &filter, add_attention, describe);
    }
    struct db_node_filter noted = {
        .cluster_id = view->cluster.id, .state = NODE_STATE_READY, .health = HEALTH_HEALTHY, .with_reason = true};
    return status != 0 ? status : db_node_list(describe->tx, &noted, add_attention, describe);
}

/* One that cannot be read hides nothing else. */
static int spec_shown(int status, char failure[SENTENCE_MAX_BYTES])
{
    if (status != STATUS_UNREADABLE)
        return status;
    say_cut(failure, SENTENCE_MAX_BYTES, "Its stored description cannot be read: it is left as it is, and not shown.");
    return 0;
}

/* What was asked for, and what rolls. */
static int describe_group(struct db_tx *tx, struct service_group_view *view)
{
    int status = db_cluster_count(tx, view->group.cluster_id, view->group.id, &view->counts);
    if (status == 0 && view->counts.by_state[NODE_STATE_VERIFYING] > 0)
        status = db_node_count_unproven(tx, view->group.id, &view->unproven);
    if (status == 0)
        status = spec_shown(db_group_spec_get(tx, view->group.id, &view->spec), view->group.failure);
    if (status == 0)
        status = spec_shown(db_group_labels_get(tx, view->group.id, &view->carried), view->group.failure);
    if (status == 0)
        status = db_rollout_get(tx, view->group.id, &view->rollout);
    if (status == 0)
        status =
            db_node_count_image(tx, view->group.id, view->rollout.image_id, view->rollout.release, &view->on_image);
    return status == STATUS_NOT_FOUND ? 0 : status;
}

static int in_order_given(const void *left, const void *right)
{
    const struct service_group_view *a = left, *b = right;
    return (a->group.id > b->group.id) - (a->group.id < b->group.id);
}

static int describe_groups(struct describe *describe)
{
    struct service_cluster_view *view = describe->view;
    int status = spec_shown(db_cluster_spec_get(describe->tx, view->cluster.id, &view->spec), view->cluster.failure);
    if (status == 0)
        status = db_group_list(describe->tx, view->cluster.id, add_group, describe);
    if (status == 0 && view->group_count > 1)
        qsort(view->groups, view->group_count, sizeof(*view->groups), in_order_given);
    for (size_t i = 0; status == 0 && i < view->group_count; i++)
        status = describe_group(describe->tx, &view->groups[i]);
    return status;
}

static int describe_read(struct db_tx *tx, void *arg)
{
    struct describe *describe = arg;
    struct service_cluster_view *view = describe->view;
    describe->tx = tx;
    int status = place_find_cluster(tx, describe->name, &view->cluster, describe->problem);
    if (status == 0)
        status = db_cluster_count(tx, view->cluster.id, 0, &view->counts);
    if (status == 0)
        status = describe_groups(describe);
    if (status < 0)
        return status;
    struct db_operation_filter filter = {
        .cluster_id = view->cluster.id, .state = -1, .active_only = true, .limit = SERVICE_CLUSTER_ACTIVE_MAX};
    status = db_operation_list(tx, &filter, add_active, describe);
    return status < 0 ? status : describe_attention(describe);
}

void service_cluster_view_free(struct service_cluster_view *view)
{
    if (view == NULL)
        return;
    for (size_t i = 0; i < view->group_count; i++) {
        group_spec_free(&view->groups[i].spec);
        kubernetes_spec_free(&view->groups[i].carried);
    }
    cluster_spec_free(&view->spec);
    free(view->groups);
    free(view->active);
    free(view->attention);
    *view = (struct service_cluster_view){0};
}

static void count_spares(struct service *s, struct service_group_view *view)
{
    struct service_machine_counts counts;
    for (size_t i = 0; s->backends != NULL && i < s->backends->inventory_count; i++)
        view->has_inventory |= text_equal(s->backends->inventories[i], view->group.provider);
    if (!view->has_inventory || service_machine_count(s, view->group.provider, view->group.instance_type, &counts) != 0)
        return;
    view->spares = counts.of[MACHINE_STATE_SPARE];
    view->spares_ready = counts.ready;
}

int service_cluster_describe(struct service *s, const char *name, struct service_cluster_view *ret_view,
                             struct problem *ret_problem)
{
    struct service_cluster_view view = {0};
    struct describe describe = {.name = name, .problem = ret_problem, .view = &view};
    int status = service_read(s, describe_read, &describe, ret_problem);
    if (status < 0) {
        service_cluster_view_free(&view);
        return status;
    }
    for (size_t i = 0; i < view.group_count; i++)
        count_spares(s, &view.groups[i]);
    service_scheduler_get(service_scheduler_of(s, &view.cluster), &view.scheduler);
    if (service_scheduler_is_missing(s, &view.cluster, view.scheduler.error))
        view.scheduler.state = SCHEDULER_STATE_DOWN;
    *ret_view = view;
    return 0;
}

/* --- list ------------------------------------------------------------------------------------------ */

struct listing {
    const char *after_name;
    int limit;
    int (*fn)(const struct cluster *cluster, const struct cluster_counts *counts, void *arg);
    void *arg;
    struct db_tx *tx;
};

static int list_row(const void *row, void *arg)
{
    const struct cluster *cluster = row;
    struct listing *listing = arg;
    struct cluster_counts counts;
    int status = db_cluster_count(listing->tx, cluster->id, 0, &counts);
    return status < 0 ? status : listing->fn(cluster, &counts, listing->arg);
}

static int list_read(struct db_tx *tx, void *arg)
{
    struct listing *listing = arg;
    listing->tx = tx;
    return db_cluster_list(tx, listing->after_name, listing->limit, list_row, listing);
}

int service_cluster_list(struct service *s, const char *after_name, int limit,
                         int (*fn)(const struct cluster *cluster, const struct cluster_counts *counts, void *arg),
                         void *arg, struct problem *ret_problem)
{
    struct listing listing = {.after_name = after_name == NULL ? "" : after_name, .limit = limit, .fn = fn, .arg = arg};
    return service_read(s, list_read, &listing, ret_problem);
}

struct search {
    const struct db_cluster_search *search;
    db_row_fn fn;
    void *arg;
};

static int search_read(struct db_tx *tx, void *arg)
{
    struct search *search = arg;
    return db_cluster_search(tx, search->search, search->fn, search->arg);
}

int service_cluster_search(struct service *s, const struct db_cluster_search *search, db_row_fn fn, void *arg,
                           struct problem *ret_problem)
{
    struct search work = {search, fn, arg};
    return service_read(s, search_read, &work, ret_problem);
}

/* --- what was asked for ----------------------------------------------------------------------------- */

struct spec_reading {
    const struct node *node;
    struct group_spec *spec;
    struct kubernetes_spec *carried;
};

static int spec_read(struct db_tx *tx, void *arg)
{
    struct spec_reading *reading = arg;
    group_spec_free(reading->spec); /* of a run that was begun anew */
    kubernetes_spec_free(reading->carried);
    int status = db_group_spec_get(tx, reading->node->group_id, reading->spec);
    return status != 0 ? status : db_node_labels_get(tx, reading->node->id, reading->carried);
}

int service_node_spec(struct service *s, const struct node *node, struct group_spec *ret_spec,
                      struct kubernetes_spec *ret_carried, struct problem *ret_problem)
{
    struct spec_reading reading = {.node = node, .spec = ret_spec, .carried = ret_carried};
    *ret_spec = (struct group_spec){0};
    *ret_carried = (struct kubernetes_spec){0};
    int status = service_read(s, spec_read, &reading, ret_problem);
    if (status < 0) {
        group_spec_free(ret_spec);
        kubernetes_spec_free(ret_carried);
    }
    return status;
}
