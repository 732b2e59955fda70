/*
 * What Slurm shows of itself, as Prometheus text: collected from the observation of its nodes, its queue and what sdiag, sshare and
 * scontrol print, then rendered once. Each (name, labels) is there once, whatever Slurm repeats: Prometheus throws away a whole
 * scrape that has one twice. What cannot be read takes its collector's metrics with it.
 */
#ifndef HOLDFAST_SERVER_SCHEDULER_SLURM_METRICS_H
#define HOLDFAST_SERVER_SCHEDULER_SLURM_METRICS_H

#include "base/text.h"
#include "model/job.h"
#include "server/scheduler/scheduler.h"

enum slurm_metric {
#define X(symbol, name, collector, help) SLURM_METRIC_##symbol,
#include "server/scheduler/slurm/metrics.def"
#undef X
    SLURM_METRIC_COUNT,
};

#define SLURM_COLLECTOR_LIST(X)     \
    X(ACCOUNTS, "accounts")         \
    X(USERS, "users")               \
    X(CPUS, "cpus")                 \
    X(GPUS, "gpus")                 \
    X(INFO, "info")                 \
    X(LICENSES, "licenses")         \
    X(NODE, "node")                 \
    X(NODES, "nodes")               \
    X(DRAIN_REASON, "drain_reason") \
    X(PARTITIONS, "partitions")     \
    X(QUEUE, "queue")               \
    X(RESERVATIONS, "reservations") \
    X(SCHEDULER, "scheduler")       \
    X(FAIRSHARE, "fairshare")

enum slurm_collector {
#define X(symbol, name) SLURM_COLLECTOR_##symbol,
    SLURM_COLLECTOR_LIST(X)
#undef X
        SLURM_COLLECTOR_COUNT,
};

const char *slurm_metric_name(enum slurm_metric metric);

struct slurm_metrics;
struct slurm_metrics *slurm_metrics_new(void);
void slurm_metrics_free(struct slurm_metrics *metrics); /* accepts NULL */
AUTO_DEFINE(struct slurm_metrics *, slurm_metrics, slurm_metrics_free)

/* labels: "" or as from slurm_label. set: what was there stays; add: it is added to. */
void slurm_metrics_set(struct slurm_metrics *metrics, enum slurm_metric metric, const char *labels, double value);
void slurm_metrics_add(struct slurm_metrics *metrics, enum slurm_metric metric, const char *labels, double value);
/* Adds name="value", escaped, behind what t has. */
void slurm_label(struct text *t, const char *name, const char *value);
/* Whether a collector had what it needs; one that was never told of is not there at all. A failure drops its metrics. */
void slurm_metrics_outcome(struct slurm_metrics *metrics, enum slurm_collector collector, bool succeeded);
/* All of it; caller frees. */
char *slurm_metrics_render(const struct slurm_metrics *metrics);

/* --- sources -------------------------------------------------------------------------------------- */

void slurm_metrics_nodes(struct slurm_metrics *metrics, const struct scheduler_observation *seen);
void slurm_metrics_jobs(struct slurm_metrics *metrics, const struct job_snapshot *snapshot);
/* These cut up the text in place. STATUS_BACKEND when it is none of that kind. */
int slurm_metrics_diag(struct slurm_metrics *metrics, char *text);
int slurm_metrics_licenses(struct slurm_metrics *metrics, char *text);
int slurm_metrics_shares(struct slurm_metrics *metrics, char *text);
int slurm_metrics_reservations(struct slurm_metrics *metrics, char *text);

/* The state as sinfo writes it, "drained*", for one as scontrol does: "IDLE+DRAIN+NOT_RESPONDING". */
void slurm_state_label(const char *state, char ret_label[SCHEDULER_STATE_TEXT_MAX]);
/* Takes the next resource off a text such as "gpu:a100:4(S:0-1),gpu:2"; false at the end. What is no resource is passed over. */
bool slurm_gres_next(const char **at, char ret_type[NAME_MAX_BYTES], int64_t *ret_count);

#endif
