/*
 * Figures by cluster and group: how many nodes are in which state, what waits for a person, what is paused, and how each webhook stands.
 * A state without a node is not listed. Names of clusters and groups are letters, digits, "-" and "_", so labels need no escape.
 */
#include "server/metrics_clusters.h"

#include "base/own.h"
#include "db/approval.h"
#include "db/cluster.h"
#include "db/incident.h"
#include "db/webhook.h"
#include "model/webhook.h"
#include "server/service/job/job.h"

#include <inttypes.h>

/* name, type, help: each is in this order in the text. */
#define CLUSTER_METRICS_LIST(X)                                                                                      \
    X(JOBS_MEASURED, "holdfast_jobs_measured", "gauge", "Running jobs of which the goodput is known")                \
    X(JOBS_GOODPUT, "holdfast_jobs_goodput_ratio", "gauge", "Productive share of node time of running jobs, 0 to 1") \
    X(JOBS_LOST, "holdfast_jobs_lost_node_seconds", "gauge",                                                         \
      "Node time that running jobs lost to faults and restarts")                                                     \
    X(CLUSTER_PAUSED, "holdfast_cluster_paused", "gauge", "Whether a person paused automatic actions")               \
    X(APPROVALS, "holdfast_approvals_waiting", "gauge", "Repairs that wait for the approval of a person")            \
    X(INCIDENTS, "holdfast_incidents_open", "gauge", "Open incidents of several nodes")                              \
    X(GROUP_NODES, "holdfast_group_nodes", "gauge", "Nodes of an instance group, by state")                          \
    X(GROUP_DESIRED, "holdfast_group_desired_nodes", "gauge", "Nodes that an instance group is to have")             \
    X(GROUP_UNHEALTHY, "holdfast_group_unhealthy_nodes", "gauge", "Nodes of a group with a critical fault")          \
    X(GROUP_BREAKER, "holdfast_group_breaker_open", "gauge", "Whether the breaker holds a group's repairs")          \
    X(WEBHOOK_DELIVERED, "holdfast_webhook_delivered_total", "counter", "Messages that the receiver took")           \
    X(WEBHOOK_DROPPED, "holdfast_webhook_dropped_total", "counter", "Messages refused, or too old to send")          \
    X(WEBHOOK_FAILURES, "holdfast_webhook_failures", "gauge", "Failed tries in a row of the next message, 0: none")
enum figure {
#define X(SYMBOL, name, type, help) SYMBOL,
    CLUSTER_METRICS_LIST(X)
#undef X
        FIGURE_COUNT
};

static const char *const figure_names[] = {
#define X(SYMBOL, name, type, help) name,
    CLUSTER_METRICS_LIST(X)
#undef X
};

struct listed {
    int64_t id;
    char name[NAME_MAX_BYTES];
    int64_t approvals, incidents;
    bool paused;
};

struct gathering {
    struct service *s;
    struct db_tx *tx;
    struct listed *clusters;
    size_t count;
    struct text figures[FIGURE_COUNT];
};

static struct listed *listed_of(struct gathering *g, int64_t id)
{
    for (size_t i = 0; i < g->count; i++)
        if (g->clusters[i].id == id)
            return &g->clusters[i];
    return NULL;
}

static int add_cluster(const void *row, void *arg)
{
    const struct cluster *cluster = row;
    struct gathering *g = arg;
    g->clusters = own_realloc(g->clusters, g->count + 1, sizeof(*g->clusters));
    struct listed *listed = &g->clusters[g->count++];
    *listed = (struct listed){.id = cluster->id, .paused = cluster->paused_at != 0};
    text_copy_cut(listed->name, sizeof(listed->name), cluster->name);
    return 0;
}

static int add_approval(const void *row, void *arg)
{
    struct listed *listed = listed_of(arg, *(const int64_t *)row);
    if (listed != NULL)
        listed->approvals++;
    return 0;
}

static int add_incident(const void *row, void *arg)
{
    struct listed *listed = listed_of(arg, ((const struct shared_incident *)row)->cluster_id);
    if (listed != NULL)
        listed->incidents++;
    return 0;
}

static void put(struct gathering *g, enum figure figure, const char *cluster, const char *group, const char *state,
                int64_t value)
{
    struct text *t = &g->figures[figure];
    text_printf(t, "%s{cluster=\"%s\"", figure_names[figure], cluster);
    if (group != NULL)
        text_printf(t, ",group=\"%s\"", group);
    if (state != NULL)
        text_printf(t, ",state=\"%s\"", state);
    text_printf(t, "} %" PRId64 "\n", value);
}

static int add_group(const void *row, void *arg)
{
    const struct instance_group *group = row;
    struct gathering *g = arg;
    const struct listed *listed = listed_of(g, group->cluster_id);
    struct cluster_counts counts = {0};
    int status = listed == NULL ? 0 : db_cluster_count(g->tx, group->cluster_id, group->id, &counts);
    if (status != 0 || listed == NULL)
        return status;
    for (size_t state = 0; state < NODE_STATE_COUNT; state++)
        if (counts.by_state[state] > 0)
            put(g, GROUP_NODES, listed->name, group->name, node_state_text((enum node_state)state),
                counts.by_state[state]);
    put(g, GROUP_DESIRED, listed->name, group->name, NULL, group->desired);
    put(g, GROUP_UNHEALTHY, listed->name, group->name, NULL, counts.by_health[HEALTH_UNHEALTHY]);
    put(g, GROUP_BREAKER, listed->name, group->name, NULL, group->breaker_opened_at != 0);
    return 0;
}

static int add_webhook(struct gathering *g, const char *name)
{
    struct webhook_progress progress;
    int status = db_webhook_get(g->tx, name, &progress);
    if (status != 0)
        return status == STATUS_NOT_FOUND ? 0 : status;
    const int64_t values[] = {progress.delivered, progress.refused + progress.expired, progress.failures};
    for (size_t i = 0; i < ARRAY_LEN(values); i++)
        text_printf(&g->figures[WEBHOOK_DELIVERED + i], "%s{webhook=\"%s\"} %" PRId64 "\n",
                    figure_names[WEBHOOK_DELIVERED + i], name, values[i]);
    return 0;
}

static int gather(struct gathering *g)
{
    const struct db_incident_filter open = {.open_only = true};
    int status = db_cluster_list(g->tx, "", 0, add_cluster, g);
    if (status == 0)
        status = db_approval_asked_clusters(g->tx, add_approval, g);
    if (status == 0)
        status = db_incident_list(g->tx, &open, add_incident, g);
    for (size_t i = 0; i < g->count && status == 0; i++) {
        const struct listed *listed = &g->clusters[i];
        put(g, CLUSTER_PAUSED, listed->name, NULL, NULL, listed->paused);
        put(g, APPROVALS, listed->name, NULL, NULL, listed->approvals);
        put(g, INCIDENTS, listed->name, NULL, NULL, listed->incidents);
    }
    if (status == 0)
        status = db_group_list(g->tx, 0, add_group, g);
    for (size_t i = 0; i < g->s->webhook_count && status == 0; i++)
        status = add_webhook(g, g->s->webhooks[i].name);
    return status;
}

/* In a read of its own for each cluster. A ratio of nothing is not shown. */
static void gather_goodput(struct gathering *g, const char *cluster)
{
    struct job_goodput goodput;
    struct problem problem;
    int64_t jobs;
    if (service_job_goodput(g->s, cluster, &goodput, &jobs, &problem) < 0)
        return; /* the cluster went meanwhile, or the store cannot be read, which other metrics say */
    put(g, JOBS_MEASURED, cluster, NULL, NULL, jobs);
    if (goodput.allocated_ms > 0)
        text_printf(&g->figures[JOBS_GOODPUT], "%s{cluster=\"%s\"} %.4g\n", figure_names[JOBS_GOODPUT], cluster,
                    (double)goodput.productive_ms / (double)goodput.allocated_ms);
    if (jobs > 0)
        put(g, JOBS_LOST, cluster, NULL, NULL, goodput.lost_ms / MS_PER_S);
}

void metrics_clusters(struct text *t, struct service *s)
{
    struct gathering g = {.s = s};
    int status = db_read_begin(s->db, &g.tx);
    if (status == 0)
        status = gather(&g);
    db_read_end(s->db, g.tx);
    for (size_t i = 0; i < g.count && status == 0; i++)
        gather_goodput(&g, g.clusters[i].name);
#define X(SYMBOL, name, type, help) \
    if (status == 0)                \
        text_printf(t, "# HELP %s %s\n# TYPE %s %s\n%s", name, help, name, type, text_get(&g.figures[SYMBOL]));
    CLUSTER_METRICS_LIST(X)
#undef X
    for (size_t i = 0; i < FIGURE_COUNT; i++)
        text_free(&g.figures[i]);
    free(g.clusters);
}
