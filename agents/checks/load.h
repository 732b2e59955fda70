/* What the load check makes of files of /proc. */
#ifndef HOLDFAST_AGENTS_CHECKS_LOAD_H
#define HOLDFAST_AGENTS_CHECKS_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct load_task {
    char name[16];  /* as the kernel has it: 15 bytes */
    char state;     /* 'D': waits without being interruptible */
    bool is_kernel; /* a thread of the kernel's own */
    int64_t start;  /* ticks since boot */
};

/* /proc/PID/stat; false when it is not such a line. */
bool load_parse_stat(const char *data, size_t len, struct load_task *ret_task);
/* Load over five minutes in thousandths, and how many tasks there are, from /proc/loadavg. */
bool load_parse_average(const char *data, size_t len, int64_t *ret_load_milli, int64_t *ret_tasks);

#endif
