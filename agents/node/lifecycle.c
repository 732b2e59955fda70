/* The agent's part: one runner at a time, in a process of its own. The lock goes over to it without ever being free. */
#include "agents/node/lifecycle.h"

#include "base/child.h"
#include "base/file.h"
#include "base/status.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define ARGUMENTS_MAX 24

char *lifecycle_log_path(const struct lifecycle_options *options)
{
    return options->log != NULL ? own_strdup(options->log) : own_printf("%s/lifecycle.log", options->state_dir);
}

static char *lock_path(const struct lifecycle_options *options)
{
    return own_printf("%s/lifecycle/lock", options->state_dir);
}

int lifecycle_lock(const struct lifecycle_options *options, int *ret_fd)
{
    autofree char *path = lock_path(options);
    if (file_lock_inherited(path, CHILD_KEPT_FD) == 0) {
        *ret_fd = CHILD_KEPT_FD;
        return 0;
    }
    return file_lock(path, ret_fd);
}

static void put_aside(const char *log)
{
    struct stat st;
    autofree char *aside = own_printf("%s.1", log);
    if (stat(log, &st) == 0 && st.st_size > LIFECYCLE_LOG_KEPT_MAX)
        (void)rename(log, aside);
}

static void add(const char *argv[ARGUMENTS_MAX], size_t *at, const char *name, const char *value)
{
    if (value == NULL)
        return;
    argv[(*at)++] = name;
    argv[(*at)++] = value;
}

static int spawn(const struct lifecycle_options *options, const char *runner, const char *key, int lock)
{
    const char *argv[ARGUMENTS_MAX] = {runner};
    size_t at = 1;
    pid_t pid;
    autofree char *log = lifecycle_log_path(options);
    add(argv, &at, "--lifecycle", key);
    add(argv, &at, "--server", options->url);
    add(argv, &at, "--state-dir", options->state_dir);
    add(argv, &at, "--instance-id", options->instance_id);
    add(argv, &at, "--fingerprint", options->fingerprint);
    add(argv, &at, "--lifecycle-log", options->log);
    add(argv, &at, "--ca-file", options->ca_file);
    if (options->refused)
        argv[at++] = "--no-lifecycle";
    put_aside(log);
    return child_spawn_detached(argv, NULL, NULL, log, lock, &pid);
}

int lifecycle_begin(const struct lifecycle_options *options, const char *runner, const char *key)
{
    autofree char *directory = own_printf("%s/lifecycle", options->state_dir);
    autofree char *path = lock_path(options);
    int lock;
    int status = file_make_dirs(directory, 0755);
    if (status == 0)
        status = file_lock(path, &lock);
    if (status != 0)
        return status;
    status = spawn(options, runner, key, lock);
    close(lock); /* the runner has it, too */
    return status;
}
