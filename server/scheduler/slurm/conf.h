/*
 * The texts of Slurm's configuration that are Holdfast's where it manages a Slurm: a file of nodes and partitions that slurm.conf
 * includes, gres.conf and topology.conf. Pure: made from what is wanted, and read back to be compared.
 *
 * What we write begins with a line that has the sum of the rest, so an edit by hand shows whoever wrote the file last, and lines
 * that name our nodes and partitions, so that what is ours can be taken away again from among what is not.
 */
#ifndef HOLDFAST_SERVER_SCHEDULER_SLURM_CONF_H
#define HOLDFAST_SERVER_SCHEDULER_SLURM_CONF_H

#include "server/scheduler/desired.h"

#include <stdbool.h>
#include <stddef.h>

#define SLURM_CONF_BYTES_MAX ((size_t)16 * 1024 * 1024)
#define SLURM_CONF_LINES_MAX 200000
#define SLURM_CONF_ERROR_MAX 160
#define SLURM_CONF_HARDWARE_MAX 256
#define SLURM_CONF_TYPES_MAX 64
#define SLURM_CONF_DEVICE_MAX 128
#define SLURM_PARTITION_ALL "dev" /* HyperPod's: the default one, with every node in it */

/* What an instance type is made of, in Slurm's words: "CPUs=192 RealMemory=2000000 Gres=gpu:h100:8". */
struct slurm_conf_type {
    char name[NAME_MAX_BYTES];
    char hardware[SLURM_CONF_HARDWARE_MAX];
};
struct slurm_conf_site {
    struct slurm_conf_type types[SLURM_CONF_TYPES_MAX];
    size_t type_count;
    char gpu_device[SLURM_CONF_DEVICE_MAX]; /* what the number of a GPU stands behind: "/dev/nvidia" */
    int port_base; /* the port of a node is this and the number at the end of its name; 0: slurm.conf's */
};
/* An absolute path that Slurm takes as it is. */
bool slurm_conf_is_device(const char *text);
/* "Key=Value Key=Value": nothing that would be another line, or another node. */
bool slurm_conf_is_hardware(const char *text);

enum slurm_conf_kind { SLURM_CONF_NODE, SLURM_CONF_PARTITION, SLURM_CONF_OTHER };
struct slurm_conf_line {
    enum slurm_conf_kind kind;
    char *text;   /* as it stands there, continuations joined, without comment */
    char **names; /* of nodes: which; of a partition: its nodes, NULL where it says ALL or nothing */
    size_t name_count;
    char *partition; /* its name */
    char *rest;      /* the other words: "CPUs=4 State=UNKNOWN" */
};
struct slurm_conf {
    struct slurm_conf_line *lines;
    size_t count;
    char **nodes, **partitions; /* that were ours, by our own word */
    size_t node_count, partition_count;
    bool signed_by_us; /* it has our sum, and it is right: nobody touched it */
};
/* INVALID and a sentence when it is nothing that Slurm would read, or too much. */
int slurm_conf_parse(const char *text, size_t len, struct slurm_conf *ret_conf, char ret_error[SLURM_CONF_ERROR_MAX]);
void slurm_conf_free(struct slurm_conf *conf);

/* The file of nodes and partitions; what is in present and not ours stays in it (Merge). present: NULL for none. Caller frees. */
char *slurm_conf_text(const struct scheduler_desired *desired, const struct slurm_conf_site *site,
                      const struct slurm_conf *present);
/* "" where there is nothing to say: no GPUs; nodes of which it is not known behind which switch they are, as of those in present
 * (NULL: none) that are not ours. Caller frees. */
char *slurm_conf_gres(const struct scheduler_desired *desired, const struct slurm_conf_site *site);
char *slurm_conf_topology(const struct scheduler_desired *desired, const struct slurm_conf *present);

/* False when the file says of nodes and partitions what is wanted; else HyperPod's message and what it is about. For a file that
 * is not signed by us: one of ours that is merely old has not drifted. */
bool slurm_conf_drift(const struct scheduler_desired *desired, const struct slurm_conf *present,
                      char ret_said[DESIRED_SAID_MAX]);
/* Which word of a node or a partition is not as it was written last, the first of them: "the node a-1 has CPUs=5 and was …". */
bool slurm_conf_edited(const struct slurm_conf *was, const struct slurm_conf *present, char ret_said[DESIRED_SAID_MAX]);

#endif
