/* A runner is spawned in a session of its own, with its output in a log. */
#include "agents/node/runner.h"

#include "base/child.h"
#include "base/file.h"
#include "base/own.h"
#include "base/status.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static char *lock_path(const char *state_dir, const char *name)
{
    return own_printf("%s/%s/lock", state_dir, name);
}

int runner_lock(const char *state_dir, const char *name, int *ret_fd)
{
    autofree char *path = lock_path(state_dir, name);
    if (file_lock_inherited(path, CHILD_KEPT_FD) == 0) {
        *ret_fd = CHILD_KEPT_FD;
        return 0;
    }
    return file_lock(path, ret_fd);
}

static void park(const char *log)
{
    struct stat st;
    autofree char *aside = own_printf("%s.1", log);
    if (stat(log, &st) == 0 && st.st_size > RUNNER_LOG_KEPT_MAX)
        (void)rename(log, aside);
}

void runner_add(struct runner_arguments *arguments, const char *name, const char *value)
{
    if (value == NULL)
        return;
    arguments->argv[arguments->count++] = name;
    arguments->argv[arguments->count++] = value;
}

int runner_begin(const char *state_dir, const char *name, const char *log, const struct runner_arguments *arguments)
{
    autofree char *directory = own_printf("%s/%s", state_dir, name);
    autofree char *path = lock_path(state_dir, name);
    int lock;
    pid_t pid;
    int status = file_make_dirs(directory, 0755);
    if (status == 0)
        status = file_lock(path, &lock);
    if (status != 0)
        return status;
    park(log);
    status = child_spawn_detached(arguments->argv, NULL, NULL, log, lock, &pid);
    close(lock); /* the runner has it, too */
    return status;
}
