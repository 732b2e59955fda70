/* Runs the tools of a test as processes with limits on time and output. They end when the order is withdrawn. */
#include "agents/deep/bench.h"

#include "agents/checks/check.h"
#include "base/file.h"
#include "base/own.h"
#include "base/status.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TOOL_WORDS_MAX 40

bool deep_tool_find(const struct deep_bench *bench, const char *name)
{
    autofree char *path = check_find_tool(bench->options->path, name);
    return path != NULL;
}

static int on_begin(pid_t pid, uint64_t ticks, void *arg)
{
    struct deep_bench *bench = arg;
    bench->memory.pid = pid;
    bench->memory.ticks = (int64_t)ticks;
    return bench_save(bench);
}

static bool on_probe(void *arg)
{
    return bench_is_wanted(arg);
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The beginning of it, when a tool wrote more in no time. */
static void read_output(int fd, struct deep_tool *tool)
{
    tool->output = own_calloc(1, DEEP_OUTPUT_BYTES_MAX + 1);
    while (tool->output_len < DEEP_OUTPUT_BYTES_MAX) {
        ssize_t n = pread(fd, tool->output + tool->output_len, DEEP_OUTPUT_BYTES_MAX - tool->output_len,
                          (off_t)tool->output_len);
        if (n <= 0)
            return;
        tool->output_len += (size_t)n;
    }
}

int deep_tool_run(struct deep_bench *bench, const char *const argv[], int64_t limit_ms, struct deep_tool *ret_tool)
{
    const char *words[TOOL_WORDS_MAX] = {NULL};
    autofree char *path =
        strchr(argv[0], '/') != NULL ? own_strdup(argv[0]) : check_find_tool(bench->options->path, argv[0]);
    *ret_tool = (struct deep_tool){.found = path != NULL};
    if (path == NULL)
        return 0;
    words[0] = path;
    for (size_t i = 1; argv[i] != NULL && i < TOOL_WORDS_MAX - 1; i++)
        words[i] = argv[i];
    (void)file_remove_tree(bench->scratch);
    int status = file_make_dirs(bench->scratch, 0700);
    int fd = open(bench->output_path, O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
    if (status != 0 || fd < 0) {
        if (fd >= 0)
            close(fd);
        return STATUS_IO;
    }
    const struct attempt attempt = {.argv = words,
                                    .directory = bench->scratch,
                                    .log_fd = fd,
                                    .log_bytes_max = DEEP_OUTPUT_BYTES_MAX,
                                    .time_limit_ms = least(limit_ms, bench_time_left_ms(bench)),
                                    .grace_ms = bench->options->times.grace_ms,
                                    .probe_ms = bench->options->times.probe_ms,
                                    .on_begin = on_begin,
                                    .on_probe = on_probe,
                                    .arg = bench};
    status = attempt_run(&attempt, &ret_tool->end);
    read_output(fd, ret_tool);
    close(fd);
    bench->memory.pid = 0;
    (void)file_remove_tree(bench->scratch);
    if (status == 0 && ret_tool->end.timed_out && attempt.time_limit_ms < limit_ms)
        return STATUS_TIMEOUT; /* the time of the whole run is over, which says nothing about the tool */
    return status == 0 && ret_tool->end.withdrawn ? TALK_WITHDRAWN : status;
}

void deep_tool_free(struct deep_tool *tool)
{
    free(TAKE(tool->output));
}

int deep_pause(struct deep_bench *bench, int64_t ms)
{
    if (bench_time_left_ms(bench) <= ms)
        return STATUS_TIMEOUT;
    talk_pause(ms);
    return bench_is_wanted(bench) ? 0 : TALK_WITHDRAWN;
}
