/* What the memory check makes of /proc/meminfo. */
#ifndef HOLDFAST_AGENTS_CHECKS_MEMORY_H
#define HOLDFAST_AGENTS_CHECKS_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct memory_info {
    int64_t total_kib, available_kib;
    int64_t huge_total, huge_free, huge_kib; /* pages, and the size of one; 0 where the kernel has none */
};

/* False when it is not such a file. */
bool memory_parse(const char *data, size_t len, struct memory_info *ret_info);
bool memory_is_low(const struct memory_info *info);
/* "full" of /proc/pressure/memory over five minutes, in thousandths of a percent. */
bool memory_parse_pressure(const char *data, size_t len, int64_t *ret_milli);

#endif
