/*
 * A running job loses nodes and gets others, in three steps that Slurm has for it: its list of nodes is cut to the good ones; a
 * second job of the same shape waits for as many others (helper.c); and that one's nodes are merged into the first. Needs
 * SchedulerParameters=permit_job_expansion.
 *
 * Where one of the steps fails, the whole job is requeued, which resume_requeue does.
 */
#include "agents/slurm/resume.h"

#include "base/status.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REQUEUE_MS (10 * MS_PER_MIN) /* while slurmctld is away */

/* An answer that was lost is no refusal: what counts is which nodes the job has. */
static int shrink(struct resume *r, const char *good, size_t good_count, bool *told, char ret_why[RESUME_WHY_MAX])
{
    char said[RESUME_WORD_MAX];
    autofree char *job = own_printf("jobid=%s", r->api_id), *nodes = own_printf("nodelist=%s", good);
    resume_info(r, "Job failed - Droping unhealthy nodes");
    int status = resume_insist(r, (const char *[]){r->config.scontrol, "update", job, nodes, NULL}, RESUME_INSIST_MS,
                               told, said);
    if (resume_look(r, told) == 0 && r->job.node_count == (int64_t)good_count) {
        resume_info(r, "Succesfully shrink job to retain healthy nodes %s", r->job.nodes);
        return 0;
    }
    snprintf(ret_why, RESUME_WHY_MAX, "the job cannot be shrunk: %.200s",
             status != 0 ? said : "Slurm left its nodes as they were");
    return STATUS_BACKEND;
}

/* What the batch script's environment says of the job is of its beginning. */
static void renew_environment(const struct resume *r)
{
    autofree char *count = own_printf("%" PRId64, r->job.node_count);
    autofree char *cpus = own_printf("%" PRId64 "(x%" PRId64 ")", r->cpus_per_node, r->job.node_count);
    setenv("SLURM_JOB_NODELIST", r->job.nodes, 1);
    setenv("SLURM_NODELIST", r->job.nodes, 1);
    setenv("SLURM_JOB_NUM_NODES", count, 1);
    setenv("SLURM_NNODES", count, 1);
    setenv("SLURM_JOB_CPUS_PER_NODE", cpus, 1);
    /* A node that lost its power never says that its tasks are over: Slurm 22.05 keeps the step for it, and its processors on all nodes. */
    if (resume_step_stays(r))
        setenv("SLURM_OVERLAP", "1", 1);
}

/* Beside what its user excluded. */
static void exclude(struct resume *r, const char *open)
{
    autofree char *all = own_printf("%s%s%s", r->job.excluded, r->job.excluded[0] != '\0' ? "," : "", open);
    if (text_copy(r->job.excluded, sizeof(r->job.excluded), all) != 0)
        resume_error(r, "the job cannot be kept off %s: more nodes are excluded than can be", open);
}

/* What another step of the job did meanwhile is not done again: then there may be nothing left to do. */
static int swap(struct resume *r, const struct resume_names *broken, bool waited, bool *told,
                char ret_why[RESUME_WHY_MAX])
{
    struct resume_names AUTO(resume_names) now = {0};
    size_t good_count = 0;
    int status = waited ? resume_look(r, told) : 0;
    if (status == 0)
        status = resume_names_expand(r->job.nodes, &now);
    if (status != 0 || (waited && (int64_t)now.count >= r->nodes_wanted))
        return status;
    autofree char *good = resume_names_without(&now, broken, &good_count);
    if (good_count < now.count)
        status = shrink(r, good, good_count, told, ret_why);
    autofree char *open = status == 0 ? resume_await_fence(r, broken, told) : NULL;
    if (open != NULL)
        exclude(r, open);
    if (status == 0 && (int64_t)good_count < r->nodes_wanted && !*told)
        status = resume_expand(r, r->nodes_wanted - (int64_t)good_count, told, ret_why);
    return status;
}

int resume_swap(struct resume *r, const struct resume_names *broken, bool *ret_told, char ret_why[RESUME_WHY_MAX])
{
    bool waited = false;
    snprintf(ret_why, RESUME_WHY_MAX, "%s", "what nodes the job has is not known");
    resume_info(r, "Job failed - replacing nodes");
    int lock = resume_lock(r, &waited, ret_told);
    int status = *ret_told ? 0 : swap(r, broken, waited, ret_told, ret_why);
    if (lock >= 0)
        close(lock);
    if (status != 0 || *ret_told)
        return status;
    renew_environment(r);
    resume_info(r, "Updating to new node list %s", r->job.nodes);
    return 0;
}

/* Slurm takes the exclusion of a job only once that waits again, which this one does while its processes, us with them, are ended. */
int resume_requeue(struct resume *r, const struct resume_names *broken, bool *told)
{
    char said[RESUME_WORD_MAX];
    autofree char *open = resume_await_fence(r, broken, told), *job = own_printf("jobid=%s", r->api_id);
    if (*told)
        return STATUS_BACKEND;
    int status =
        resume_insist(r, (const char *[]){r->config.scontrol, "requeue", r->api_id, NULL}, REQUEUE_MS, told, said);
    if (status != 0)
        resume_info(r, "The step is not run again: the job cannot be requeued: %s", said);
    if (status != 0 || open == NULL)
        return status;
    exclude(r, open);
    autofree char *excluded = own_printf("excnodelist=%s", r->job.excluded);
    if (resume_insist(r, (const char *[]){r->config.scontrol, "update", job, excluded, NULL}, RESUME_INSIST_MS, told,
                      said) != 0)
        resume_error(r, "the job cannot be kept off %s: %s", open, said);
    return 0;
}
