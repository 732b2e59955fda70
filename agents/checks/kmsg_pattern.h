/*
 * Knows the lines of a kernel log that say something about the node: the table kmsg_patterns.def.
 */
#ifndef HOLDFAST_AGENTS_CHECKS_KMSG_PATTERN_H
#define HOLDFAST_AGENTS_CHECKS_KMSG_PATTERN_H

#include "model/limits.h"

#include <stdbool.h>
#include <stddef.h>

/* "kernel.disk.io-error" and what the line names: "nvme1n1"; "" for the node. */
struct kmsg_hit {
    const char *code; /* static; KMSG_XID: an Xid or SXid line, which xid_line_parse reads */
    char device[DEVICE_MAX_BYTES];
};
#define KMSG_XID "xid"

struct kmsg_patterns;

struct kmsg_patterns *kmsg_patterns_new(void);
void kmsg_patterns_free(struct kmsg_patterns *patterns);
/* line: with or without the stamps of dmesg and syslog; any bytes. False: says nothing, or is known to be harmless. */
bool kmsg_patterns_find(const struct kmsg_patterns *patterns, const char *line, size_t len, struct kmsg_hit *ret_hit);

/* Where the kernel's own text begins in a line, behind "[  1.5]", "<3>", "Nov 20 14:03:07 gpu-1 kernel:" and the like. */
size_t kmsg_text_start(const char *line, size_t len);

/* Row number i of the table, for tests: false behind the last one. code is NULL for what is harmless. */
bool kmsg_patterns_row(size_t i, const char **ret_code, const char **ret_pattern);
/* One pattern against a text, for tests. */
bool kmsg_pattern_matches(const char *pattern, const char *text, size_t len, char ret_device[DEVICE_MAX_BYTES]);

#endif
