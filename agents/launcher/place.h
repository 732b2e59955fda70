/*
 * Where this node stands in the job, and what a worker learns of that: torchrun's environment, to the letter.
 */
#ifndef HOLDFAST_AGENTS_LAUNCHER_PLACE_H
#define HOLDFAST_AGENTS_LAUNCHER_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOCAL_RANKS_MAX 1024
#define NODES_MAX 100000 /* HyperPod's own limit of a rank */

struct place {
    int rank, nodes; /* of nodes: GROUP_RANK, GROUP_WORLD_SIZE */
    int ranks;       /* of workers on each node */
    char master_addr[256];
    int master_port;
    int64_t restart_count, max_restarts;
    const char *role, *run_id;
};

struct place_extra {
    const char *error_file, *socket_path;
    bool default_threads; /* OMP_NUM_THREADS=1 where the environment has none */
    bool one_process;     /* a script before or after training: it is alone on its node */
};

/* The environment of a worker: what we have and what place says. Caller frees with place_env_free. */
char **place_env(const struct place *place, int local_rank, const struct place_extra *extra, char *const env[]);
void place_env_free(char **env);

/* "[default0]:" or what TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE says. Caller frees. */
char *place_prefix(const struct place *place, int local_rank, const char *template);
/* Replaces ${name} and $name for the names known; the rest stays. Caller frees. */
char *place_substitute(const char *template, const struct place *place, int local_rank);

/* How many workers "auto", "gpu", "cpu" or a number is; STATUS_INVALID. gpus and cpus are what the machine has. */
int place_ranks(const char *nproc, int gpus, int cpus, int *ret_ranks);
/* GPUs that a worker may use: as CUDA_VISIBLE_DEVICES says, or all of dev ("/dev"). */
int place_gpus(const char *visible, const char *dev);

#endif
