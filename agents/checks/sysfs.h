/*
 * Directories and small files of /sys, below a check's root: what several checks read by the hundred.
 */
#ifndef HOLDFAST_AGENTS_CHECKS_SYSFS_H
#define HOLDFAST_AGENTS_CHECKS_SYSFS_H

#include "agents/checks/check.h"

/* The text of a file named by the format. Caller frees; NULL when it is not there or cannot be read. */
char *sysfs_read(const struct check_context *context, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A file that holds one count; -1 when it is not there, cannot be read, or holds something else. */
int64_t sysfs_read_count(const struct check_context *context, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
bool sysfs_exists(const struct check_context *context, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The names in a directory, in order ("eth2" before "eth10"), of letters, digits and -_.: alone: what else there may be
 * fits no label. Free with sysfs_list_free. NOT_FOUND, IO. */
int sysfs_list(const struct check_context *context, const char *directory, char ***ret_names, size_t *ret_count);
void sysfs_list_free(char **names, size_t count);
/* "17\n" → 17; -1 for what is no count that fits. */
int64_t sysfs_parse_count(const char *text);

#endif
