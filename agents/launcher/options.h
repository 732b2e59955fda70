/*
 * What hprun is asked for: torchrun's arguments and hyperpodrun's, and a few of its own. Everything from the script on belongs to the
 * script. As with torchrun, underscores and dashes are the same in names, a name may be cut as long as it is unique, and
 * PET_<NAME> in the environment is the default.
 */
#ifndef HOLDFAST_AGENTS_LAUNCHER_OPTIONS_H
#define HOLDFAST_AGENTS_LAUNCHER_OPTIONS_H

#include "agents/launcher/place.h"
#include "base/option.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define STD_OUT 1u
#define STD_ERR 2u

enum backend { BACKEND_STATIC, BACKEND_C10D, BACKEND_HYPERPOD };

/* torchrun's "3" or "0:1,1:3": bits of STD_OUT and STD_ERR for all ranks or for some. */
struct std_choice {
    unsigned char all;
    unsigned char of_rank[LOCAL_RANKS_MAX];
    bool by_rank;
};

struct options {
    /* as given: of the argument vector, the environment or the table */
    const char *nnodes, *nproc, *backend_name, *endpoint, *run_id, *rdzv_conf, *start_method, *role, *log_dir,
        *redirects_text, *tee_text, *filter_text, *master_addr, *local_addr, *monitor_text, *logs_specs, *event_handler,
        *signals, *duplicate;
    const char *server_host, *server_log_level, *token_file, *config_dir, *rules_file;
    const char *shutdown_signal_text, *pre_script, *pre_args, *post_script, *post_args;
    int64_t max_restarts, node_rank, master_port, server_port, server_shutdown_s, shutdown_s, inprocess_s;
    bool standalone, module, no_python, run_path, inprocess_restart, help, version;
    /* what that means */
    enum backend backend;
    int nodes_min, nodes_max, ranks; /* ranks: of this node */
    struct std_choice redirects, tee, shown;
    int shutdown_signal;
    const char **command; /* of a worker, NULL at its end; its elements belong to the argument vector */
};

/* argv as main has it; env as environ. STATUS_INVALID with a message. With help or version set nothing else is. */
int options_read(int argc, char *const argv[], char *const env[], struct options *ret_options,
                 char ret_error[OPTION_ERROR_MAX]);
void options_free(struct options *options);
/* Every option with its default, for --help. */
void options_help(FILE *out);

/* The bits for a local rank. */
unsigned std_of_rank(const struct std_choice *choice, int rank);
int std_parse(const char *text, struct std_choice *ret_choice);

#endif
