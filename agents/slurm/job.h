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

/* Of "scontrol show config": Slurm starts no step of a job on a node that came to it later. That takes the prolog that slurmctld has each
 * node run when a job begins (PrologFlags=Alloc, which Contain, X11 and RunInJob imply): since some release after 22.05 (seen with
 * 24.11) slurmd waits there until its time limit, fails the step, and the node is drained for it. */
bool resume_config_bars_newcomers(const char *config);

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
