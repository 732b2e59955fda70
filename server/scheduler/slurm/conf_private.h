/* What reading and writing of the managed files share. */
#ifndef HOLDFAST_SERVER_SCHEDULER_SLURM_CONF_PRIVATE_H
#define HOLDFAST_SERVER_SCHEDULER_SLURM_CONF_PRIVATE_H

#include "server/scheduler/slurm/conf.h"

#define SLURM_CONF_SIGNED "# holdfast "
#define SLURM_CONF_NOBODY "holdfast-none" /* slurmctld does not start without a node; this one is none */
#define SLURM_CONF_OUR_NODES "# nodes of Holdfast: "
#define SLURM_CONF_OUR_PARTITIONS "# partitions of Holdfast: "

/* The next word of a line, quotes and all; NULL at its end. */
const char *slurm_conf_word(const char *at, size_t *ret_len);
/* It is "key=…", in whatever case. */
bool slurm_conf_key_is(const char *word, size_t len, const char *key);
/* Letters, digits, '.', '_', '-', not beginning with '-'. */
bool slurm_conf_is_partition(const char *name);
/* The partitions besides the one of all nodes, each once and in order; they are the desired configuration's own texts. Caller frees the array. */
const char **slurm_conf_partitions(const struct scheduler_desired *desired, size_t *ret_count);

#endif
