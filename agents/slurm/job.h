/* A job as "scontrol -o show job" prints it: what resuming a step in it needs to know. */
#ifndef HOLDFAST_AGENTS_SLURM_JOB_H
#define HOLDFAST_AGENTS_SLURM_JOB_H

#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RESUME_NODES_MAX 10000 /* of one job */
#define RESUME_WORD_MAX 256    /* a partition, a node, … */
#define RESUME_JOB_BYTES_MAX (1024 * 1024)

struct resume_job {
    bool running, batch, requeueable, gres, exclusive;
    bool ends;                                /* it has ended, or does so now */
    char nodes[RESUME_JOB_BYTES_MAX / 64];    /* host list */
    char excluded[RESUME_JOB_BYTES_MAX / 64]; /* host list that it is not to get; "": none */
    char batch_host[RESUME_WORD_MAX];         /* "": it has none */
    char partition[RESUME_WORD_MAX], account[RESUME_WORD_MAX], qos[RESUME_WORD_MAX];
    char reservation[RESUME_WORD_MAX], features[RESUME_WORD_MAX]; /* "": none */
    char memory[RESUME_WORD_MAX], memory_per_cpu[RESUME_WORD_MAX];
    int64_t node_count, cpus;
};

/* INVALID when it is no such line. */
int resume_job_parse(const char *line, struct resume_job *ret_job);

/* What "scontrol show config" means for a job that is to change its nodes. */
struct resume_site {
    /* Slurm starts no step of a job on a node that came to it later. That takes the prolog that slurmctld has each node run when a job
     * begins (PrologFlags=Alloc, which Contain, X11 and RunInJob imply): since some release after 22.05 (seen with 24.11) slurmd waits
     * there until its time limit, fails the step, and the node is drained for it. */
    bool bars_newcomers;
    /* GresTypes is set. Then Slurm does not merge jobs that have their nodes to themselves (seen with 22.05 and 24.11, whether the nodes
     * have GRES or not): it says "Unspecified error", and the job that was to be merged stays until slurmctld starts anew. */
    bool has_gres;
    /* There is a slurmdbd. Without one Slurm 22.05 changes a job once: from then on it waits for an index that nobody gives. */
    bool has_database;
};
void resume_site_parse(const char *config, struct resume_site *ret_site);

/* Names of nodes, sorted as they came; freed with resume_names_free, which accepts an empty one. */
struct resume_names {
    char **names;
    size_t count;
};
int resume_names_expand(const char *list, struct resume_names *ret_names);
void resume_names_free(struct resume_names *names);
static inline void auto_resume_names_cleanup(struct resume_names *names)
{
    resume_names_free(names);
}
bool resume_names_has(const struct resume_names *names, const char *name);
/* Those of all that are not in without, with commas; the caller frees. */
char *resume_names_without(const struct resume_names *all, const struct resume_names *without, size_t *ret_count);

#endif
