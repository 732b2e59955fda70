/* What the processors' check makes of files of /proc and /sys. */
#ifndef HOLDFAST_AGENTS_CHECKS_CPU_H
#define HOLDFAST_AGENTS_CHECKS_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The sum over all processors of a line of /proc/interrupts, such as "MCE:". */
bool cpu_parse_interrupts(const char *data, size_t len, const char *name, int64_t *ret_sum);
/* How many numbers a list such as "0-63,128-191" has. */
bool cpu_parse_list(const char *data, size_t len, int64_t *ret_count);
/* The marks of /proc/sys/kernel/tainted that say that the kernel is no longer sound, as words; "" for the others. */
const char *cpu_taint(int64_t tainted);

#endif
