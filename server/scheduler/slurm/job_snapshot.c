/*
 * The commands of a job snapshot. Its queue is asked for first and has to be there; what is for graphs alone has seconds each, and where it
 * cannot be had its metrics are missing and slurm_exporter_collector_success says so.
 */
#include "server/scheduler/slurm/job_snapshot.h"

#include "base/clock.h"
#include "base/id.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"
#include "server/scheduler/slurm/command.h"
#include "server/scheduler/slurm/metrics.h"
#include "server/scheduler/slurm/parse.h"
#include "server/scheduler/slurm/rest.h"
#include "server/scheduler/slurm/rest_read.h"

#include <stdio.h>
#include <string.h>

#define ASIDE_MS_MAX 5000
#define SHARE_FORMAT "Account,User,RawShares,NormShares,RawUsage,NormUsage,FairShare"

/* What waits of an array is one record; SLURM_BITSTR_LEN of the environment keeps squeue from cutting its task ids. */
static int queue_by_program(struct slurm_call *call, const char *separator, char **ret_text)
{
    autofree char *format = slurm_queue_format(separator);
    return slurm_run(call, (const char *[]){call->s->squeue, "-h", "-a", "--states=all", "-O", format, NULL}, ret_text);
}

static int queue_by_rest(struct slurm_call *call, const char *separator, char **ret_text)
{
    auto_json json_t *reply = NULL;
    int status = slurm_rest_get(call, "jobs", &reply);
    if (status != 0)
        return status;
    return slurm_json_queue(json_object_get(reply, "jobs"), separator, ret_text) == 0
               ? 0
               : slurm_call_fail(call, STATUS_BACKEND, "slurmrestd answered without jobs");
}

static int ask_queue(struct slurm_call *call, struct job_snapshot *snapshot)
{
    char separator[SLURM_STAMP_MAX];
    uint32_t secret;
    char *out = NULL;
    id_bytes(NULL, &secret, sizeof(secret));
    snprintf(separator, sizeof(separator), "~%08x", secret);
    int status = call->s->rest != NULL ? queue_by_rest(call, separator, &out) : STATUS_TOO_LARGE;
    if (status == STATUS_TOO_LARGE) /* squeue says a job in fewer bytes */
        status = queue_by_program(call, separator, &out);
    if (status != 0)
        return status;
    status = slurm_queue_parse(out, separator, snapshot);
    if (status == STATUS_TOO_LARGE)
        return slurm_call_fail(call, status, "there are more jobs than are looked at");
    return status == 0 ? 0 : slurm_call_fail(call, status, "Slurm shows a job that cannot be read");
}

struct aside {
    enum slurm_collector collector;
    const char *const *argv;
    int (*read)(struct slurm_metrics *metrics, char *text);
    enum slurm_rest_ability ability; /* where slurmrestd can say it; 0: it never can */
};

static int aside_by_rest(struct slurm_call *call, const struct aside *aside, char **ret_text)
{
    auto_json json_t *reply = NULL;
    bool figures = aside->ability == SLURM_REST_SHOWS_FIGURES;
    int status = slurm_rest_get(call, figures ? "diag" : "reservations", &reply);
    if (status != 0)
        return status;
    *ret_text = figures
                    ? slurm_json_diag(json_object_get(reply, "statistics"))
                    : slurm_json_reservations(json_object_get(reply, "reservations"), clock_wall_ms(clock_system()));
    return 0;
}

/* What is for graphs alone. */
static void ask_aside(const struct slurm_call *call, struct slurm_metrics *metrics, const struct aside *aside)
{
    char error[SCHEDULER_ERROR_MAX] = "";
    autofree char *out = NULL;
    struct slurm_call part = slurm_call_aside(call, ASIDE_MS_MAX, error);
    bool rest = aside->ability != 0 && slurm_rest_can(&part, aside->ability);
    int status = rest ? aside_by_rest(&part, aside, &out) : slurm_run(&part, aside->argv, &out);
    if (status != 0 || aside->read(metrics, out) != 0)
        slurm_metrics_outcome(metrics, aside->collector, false);
}

/* "slurm-wlm 22.05.8" */
static int read_version(struct slurm_metrics *metrics, char *text)
{
    char *version = strchr(text, ' ');
    AUTO(text) struct text labels = {0};
    if (version == NULL)
        return STATUS_BACKEND;
    version++;
    version[strcspn(version, "\n")] = '\0';
    slurm_make_printable(version);
    slurm_label(&labels, "type", "general");
    slurm_label(&labels, "binary", "");
    slurm_label(&labels, "version", version);
    slurm_metrics_set(metrics, SLURM_METRIC_INFO, text_get(&labels), 1);
    slurm_metrics_outcome(metrics, SLURM_COLLECTOR_INFO, true);
    return 0;
}

int slurm_job_snapshot(struct scheduler *s, const struct scheduler_observation *seen,
                       struct job_snapshot **ret_snapshot, char *ret_error)
{
    struct slurm_call call;
    slurm_call_start(&call, s, ret_error);
    AUTO(job_snapshot) struct job_snapshot *snapshot = job_snapshot_new();
    AUTO(slurm_metrics) struct slurm_metrics *metrics = slurm_metrics_new();
    snapshot->at = seen->at_ms;
    int status = ask_queue(&call, snapshot);
    if (status != 0)
        return status;
    slurm_metrics_nodes(metrics, seen);
    slurm_metrics_jobs(metrics, snapshot);
    const struct aside asides[] = {
        {SLURM_COLLECTOR_SCHEDULER, (const char *[]){s->sdiag, NULL}, slurm_metrics_diag, SLURM_REST_SHOWS_FIGURES},
        {SLURM_COLLECTOR_RESERVATIONS, (const char *[]){s->scontrol, "-a", "-o", "show", "reservation", NULL},
         slurm_metrics_reservations, SLURM_REST_SHOWS_RESERVATIONS},
        {SLURM_COLLECTOR_FAIRSHARE, (const char *[]){s->sshare, "-a", "-P", "-n", "-o", SHARE_FORMAT, NULL},
         slurm_metrics_shares, 0},
        {SLURM_COLLECTOR_LICENSES, (const char *[]){s->scontrol, "-o", "show", "licenses", NULL},
         slurm_metrics_licenses, 0},
        {SLURM_COLLECTOR_INFO, (const char *[]){s->scontrol, "--version", NULL}, read_version, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(asides); i++)
        ask_aside(&call, metrics, &asides[i]);
    scheduler_snapshot_nodes(snapshot, seen);
    snapshot->metrics = slurm_metrics_render(metrics);
    *ret_snapshot = TAKE(snapshot);
    return 0;
}
