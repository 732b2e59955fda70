/*
 * Renders metrics; one list names each with its type and help. Names follow the Prometheus conventions: base units
 * (seconds, bytes), _total for counters.
 */
#include "server/metrics.h"

#include "base/clock.h"
#include "base/own.h"
#include "server/metrics_clusters.h"
#include "server/metrics_machines.h"
#include "server/metrics_merge.h"
#include "server/metrics_process.h"
#include "server/service/scheduler/scheduler.h"

#include <inttypes.h>

/* name, type, help, value of (db, fleet, reconcile statistics) */
#define METRICS_LIST(X)                                                                                               \
    X("holdfast_nodes", "gauge", "Node slots known to the server", (double)fleet.slots)                               \
    X("holdfast_agents_alive", "gauge", "Slots whose agent was heard lately", (double)fleet.alive)                    \
    X("holdfast_agents_silent", "gauge", "Slots whose agent is silent: no verdict", (double)fleet.silent)             \
    X("holdfast_heartbeats_total", "counter", "Heartbeats taken", (double)fleet.heartbeats)                           \
    X("holdfast_heartbeats_replayed_total", "counter", "Heartbeats refused as replayed", (double)fleet.replayed)      \
    X("holdfast_heartbeats_stale_total", "counter", "Heartbeats of an instance that no longer fills its slot",        \
      (double)fleet.stale)                                                                                            \
    X("holdfast_store_commits_total", "counter", "Commits of the store", (double)store.commits)                       \
    X("holdfast_store_writes_total", "counter", "Writes in those commits", (double)store.writes)                      \
    X("holdfast_store_write_errors_total", "counter", "Writes that failed", (double)store.write_errors)               \
    X("holdfast_store_batch_max", "gauge", "Most writes in one commit", (double)store.batch_max)                      \
    X("holdfast_store_commit_seconds_total", "counter", "Time spent in commits", (double)store.commit_us_total / 1e6) \
    X("holdfast_store_commit_seconds_max", "gauge", "Longest commit", (double)store.commit_us_max / 1e6)              \
    X("holdfast_store_queue", "gauge", "Writes that wait", (double)store.queue_now)                                   \
    X("holdfast_reconcile_turns_total", "counter", "Turns of the reconcile loop", (double)loop.turns)                 \
    X("holdfast_decisions_total", "counter", "Decisions recorded", (double)loop.decisions)                            \
    X("holdfast_operations_started_total", "counter", "Operations started", (double)loop.operations_started)          \
    X("holdfast_operations_succeeded_total", "counter", "Operations that succeeded",                                  \
      (double)loop.operations_succeeded)                                                                              \
    X("holdfast_operations_failed_total", "counter", "Operations that failed", (double)loop.operations_failed)        \
    X("holdfast_operations_active", "gauge", "Operations at work", (double)loop.active_operations)                    \
    X("holdfast_nodes_held", "gauge", "Nodes out of scheduling that wait for a gate or a person",                     \
      (double)loop.held_nodes)                                                                                        \
    X("holdfast_breakers_open", "gauge", "Instance groups whose repairs are held", (double)loop.open_breakers)        \
    X("holdfast_groups_without_capacity", "gauge", "Instance groups for which the provider had no machine",           \
      (double)loop.short_groups)                                                                                      \
    X("holdfast_groups_protected", "gauge", "Instance groups whose new machines do not come up: nothing is replaced", \
      (double)loop.protected_groups)                                                                                  \
    X("holdfast_verdict_undecided_seconds", "gauge",                                                                  \
      "Age of the oldest critical verdict that no decision has looked at, 0: there is none",                          \
      loop.undecided_since_us == 0 ? 0.0 : (double)(clock_stopwatch_us() - loop.undecided_since_us) / 1e6)            \
    X("holdfast_verdicts_forgotten_total", "counter",                                                                 \
      "Critical verdicts that no decision had looked at within 30 s, found in the store",                             \
      (double)loop.verdicts_forgotten)                                                                                \
    X("holdfast_evidence_left_out_total", "counter",                                                                  \
      "Looks at a node that had more evidence or past repairs than a decision is shown",                              \
      (double)loop.evidence_left_out)                                                                                 \
    X("holdfast_provider_errors_total", "counter", "Failed calls to providers", (double)loop.provider_errors)

/* The same of each scheduler: name, type, help, value of its status and of what it was last seen to be (NULL: nothing that is so now). */
#define SCHEDULER_METRICS_LIST(X)                                                                                   \
    X("holdfast_scheduler_up", "gauge", "Whether the scheduler's figures are there, and fresh",                     \
      snapshot != NULL ? 1.0 : 0.0)                                                                                 \
    X("holdfast_scheduler_errors_total", "counter", "Failed calls to the scheduler", (double)status->errors)        \
    X("holdfast_scheduler_observed_timestamp_seconds", "gauge", "When the scheduler was last seen whole, 0: never", \
      (double)status->seen_at / 1e3)                                                                                \
    X("holdfast_scheduler_job_snapshot_timestamp_seconds", "gauge",                                                 \
      "When these figures were taken, 0: there are none", snapshot != NULL ? (double)snapshot->at / 1e3 : 0.0)

/* The decision latency as a Prometheus histogram; bucket i of the source counts values below 2^i microseconds. */
static void render_latency(struct text *t, const struct reconcile_stats *loop)
{
    const char *name = "holdfast_verdict_to_decision_seconds";
    uint64_t sum = 0;
    double seconds = 0;
    text_printf(t, "# HELP %s Critical verdict received to decision on disk\n# TYPE %s histogram\n", name, name);
    for (size_t i = 0; i < ARRAY_LEN(loop->decision_us); i++) {
        double upper = (double)(UINT64_C(1) << i) / 1e6;
        sum += loop->decision_us[i];
        seconds += (double)loop->decision_us[i] * upper;
        if (i >= 6 && i <= 26) /* 64 us … 67 s; the rest would be noise */
            text_printf(t, "%s_bucket{le=\"%g\"} %" PRIu64 "\n", name, upper, sum);
    }
    text_printf(t, "%s_bucket{le=\"+Inf\"} %" PRIu64 "\n", name, sum);
    text_printf(t, "%s_sum %g\n%s_count %" PRIu64 "\n", name, seconds, name, sum);
}

/* One with a line for each bound. labels: "", or like kind="reboot". */
static void render_histogram(struct text *t, const char *name, const char *labels, const struct durations *durations)
{
    static const int64_t bounds_s[] = DURATION_BOUNDS_S;
    const char *comma = labels[0] != '\0' ? "," : "", *open = labels[0] != '\0' ? "{" : "";
    const char *close = labels[0] != '\0' ? "}" : "";
    uint64_t sum = 0;
    for (size_t i = 0; i < ARRAY_LEN(bounds_s); i++)
        text_printf(t, "%s_bucket{%s%sle=\"%" PRId64 "\"} %" PRIu64 "\n", name, labels, comma, bounds_s[i],
                    sum += durations->count[i]);
    sum += durations->count[DURATION_BUCKETS - 1];
    text_printf(t, "%s_bucket{%s%sle=\"+Inf\"} %" PRIu64 "\n", name, labels, comma, sum);
    text_printf(t, "%s_sum%s%s%s %.15g\n", name, open, labels, close, (double)durations->sum_ms / 1e3);
    text_printf(t, "%s_count%s%s%s %" PRIu64 "\n", name, open, labels, close, sum);
}

/* A family of histograms: one for each value of the label that has counted anything. */
static void render_durations(struct text *t, const char *name, const char *label, const char *value,
                             const struct durations *durations)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < DURATION_BUCKETS; i++)
        sum += durations->count[i];
    if (sum == 0)
        return;
    autofree char *labels = own_printf("%s=\"%s\"", label, value);
    render_histogram(t, name, labels, durations);
}

static void render_operations(struct text *t, const struct operation_durations *durations)
{
    text_add(t, "# HELP holdfast_operation_seconds Operation stored to succeeded, by kind\n"
                "# TYPE holdfast_operation_seconds histogram\n");
    for (size_t kind = 0; kind < OPERATION_KIND_COUNT; kind++)
        render_durations(t, "holdfast_operation_seconds", "kind", operation_kind_text((enum operation_kind)kind),
                         &durations->operations[kind]);
    text_add(t, "# HELP holdfast_operation_step_seconds Step of an operation begun to done, by step\n"
                "# TYPE holdfast_operation_step_seconds histogram\n");
    for (size_t step = 0; step < STEP_KIND_COUNT; step++)
        render_durations(t, "holdfast_operation_step_seconds", "step", step_kind_text((enum step_kind)step),
                         &durations->steps[step]);
    text_add(t, "# HELP holdfast_operations_ended_total Operations of nodes that ended, by kind and state\n"
                "# TYPE holdfast_operations_ended_total counter\n");
    /* Zeros as well: the first failure is a growth that an alert sees. */
    for (size_t kind = 0; kind < OPERATION_KIND_FIRST_OF_CLUSTER; kind++)
        for (size_t state = OPERATION_STATE_SUCCEEDED; state < OPERATION_STATE_COUNT; state++)
            text_printf(t, "holdfast_operations_ended_total{kind=\"%s\",state=\"%s\"} %" PRIu64 "\n",
                        operation_kind_text((enum operation_kind)kind),
                        operation_state_text((enum operation_state)state), durations->ended[kind][state]);
}

/* What became of faults and of the policy's repairs. Zeros as well, as above. */
static void render_recovery(struct text *t, const struct reconcile_stats *loop)
{
    static const enum operation_kind kinds[] = {OPERATION_KIND_RESET, OPERATION_KIND_REBOOT, OPERATION_KIND_REPLACE};
    const struct operation_durations *durations = &loop->durations;
    text_add(t, "# HELP holdfast_fault_detection_seconds Critical fault first seen by an agent to its verdict stored\n"
                "# TYPE holdfast_fault_detection_seconds histogram\n");
    render_histogram(t, "holdfast_fault_detection_seconds", "", &loop->detected);
    text_add(t, "# HELP holdfast_fault_to_service_seconds Fault first seen to its node back in service, by repair\n"
                "# TYPE holdfast_fault_to_service_seconds histogram\n");
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        render_durations(t, "holdfast_fault_to_service_seconds", "kind", operation_kind_text(kinds[i]),
                         &durations->to_service[kinds[i]]);
    text_add(t, "# HELP holdfast_repairs_begun_total Repairs that the policy began, by kind\n"
                "# TYPE holdfast_repairs_begun_total counter\n");
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        text_printf(t, "holdfast_repairs_begun_total{kind=\"%s\"} %" PRIu64 "\n", operation_kind_text(kinds[i]),
                    durations->begun[kinds[i]]);
    text_add(t, "# HELP holdfast_repairs_repeated_total "
                "Repairs of the policy on a node that another repair gave back within repeatWindow, by kind\n"
                "# TYPE holdfast_repairs_repeated_total counter\n");
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        text_printf(t, "holdfast_repairs_repeated_total{kind=\"%s\"} %" PRIu64 "\n", operation_kind_text(kinds[i]),
                    durations->repeated[kinds[i]]);
    text_printf(t,
                "# HELP holdfast_repairs_refused_total Repairs of the policy that a person rejected or cancelled\n"
                "# TYPE holdfast_repairs_refused_total counter\nholdfast_repairs_refused_total %" PRIu64 "\n",
                durations->refused);
}

struct shown {
    struct service_scheduler_status status;
    struct job_snapshot *snapshot; /* in use once; NULL: nothing that could be shown as being so now */
};

static void render_scheduler_metrics(struct text *t, const struct shown *shown, size_t count)
{
#define X(metric, type, help, value)                                                   \
    text_printf(t, "# HELP %s %s\n# TYPE %s %s\n", metric, help, metric, type);        \
    for (size_t i = 0; i < count; i++) {                                               \
        const struct service_scheduler_status *status = &shown[i].status;              \
        const struct job_snapshot *snapshot = shown[i].snapshot;                       \
        (void)status, (void)snapshot;                                                  \
        text_printf(t, "%s{scheduler=\"%s\"} %.15g\n", metric, status->name, (value)); \
    }
    SCHEDULER_METRICS_LIST(X)
#undef X
}

/* A single scheduler's own figures are shown as they are, so that dashboards made for them work. */
static void render_figures(struct text *t, const struct shown *shown, size_t count)
{
    autofree struct metrics_part *parts = own_calloc(count + 1, sizeof(*parts));
    size_t fresh = 0;
    for (size_t i = 0; i < count; i++)
        if (shown[i].snapshot != NULL)
            parts[fresh++] =
                (struct metrics_part){.scheduler = shown[i].status.name, .text = shown[i].snapshot->metrics};
    if (count == 1 && fresh == 1)
        text_add(t, parts[0].text);
    else
        metrics_merge(t, parts, fresh);
}

static void render_schedulers(struct text *t, const struct service *s)
{
    char why[SERVICE_SCHEDULER_ERROR_MAX];
    size_t count = s->scheduler_count;
    autofree struct shown *shown = own_calloc(count + 1, sizeof(*shown));
    if (count == 0)
        return;
    for (size_t i = 0; i < count; i++) {
        service_scheduler_get(s->schedulers[i], &shown[i].status);
        shown[i].snapshot = service_scheduler_snapshot(s->schedulers[i], clock_wall_ms(s->clock), why);
    }
    render_scheduler_metrics(t, shown, count);
    render_figures(t, shown, count);
    for (size_t i = 0; i < count; i++)
        job_snapshot_free(shown[i].snapshot);
}

void metrics_render(struct text *t, void *arg)
{
    const struct metrics_sources *sources = arg;
    struct fleet_counts fleet = {0};
    struct db_stats store = {0};
    struct reconcile_stats loop = {0};
    fleet_counts(sources->fleet, &fleet);
    db_stats(sources->db, &store);
    if (sources->reconcile != NULL)
        reconcile_stats(sources->reconcile, &loop);
#define X(name, type, help, value) \
    text_printf(t, "# HELP %s %s\n# TYPE %s %s\n%s %.15g\n", name, help, name, type, name, value);
    METRICS_LIST(X)
#undef X
    render_latency(t, &loop);
    render_operations(t, &loop.durations);
    render_recovery(t, &loop);
    metrics_process(t);
    if (sources->service != NULL && sources->service->db != NULL)
        metrics_clusters(t, sources->service);
    if (sources->service != NULL && sources->service->db != NULL)
        metrics_machines(t, sources->service);
    if (sources->service != NULL)
        render_schedulers(t, sources->service);
}
