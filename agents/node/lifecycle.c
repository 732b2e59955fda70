/* The agent's part: one runner at a time, in a process of its own. */
#include "agents/node/lifecycle.h"

#include "agents/node/runner.h"
#include "base/own.h"

char *lifecycle_log_path(const struct lifecycle_options *options)
{
    return options->log != NULL ? own_strdup(options->log) : own_printf("%s/lifecycle.log", options->state_dir);
}

int lifecycle_lock(const struct lifecycle_options *options, int *ret_fd)
{
    return runner_lock(options->state_dir, "lifecycle", ret_fd);
}

int lifecycle_begin(const struct lifecycle_options *options, const char *runner, const char *key)
{
    struct runner_arguments arguments = {.argv = {runner}, .count = 1};
    autofree char *log = lifecycle_log_path(options);
    runner_add(&arguments, "--lifecycle", key);
    runner_add(&arguments, "--server", options->url);
    runner_add(&arguments, "--state-dir", options->state_dir);
    runner_add(&arguments, "--instance-id", options->instance_id);
    runner_add(&arguments, "--fingerprint", options->fingerprint);
    runner_add(&arguments, "--lifecycle-log", options->log);
    runner_add(&arguments, "--ca-file", options->ca_file);
    if (options->refused)
        arguments.argv[arguments.count++] = "--no-lifecycle";
    return runner_begin(options->state_dir, "lifecycle", log, &arguments);
}
