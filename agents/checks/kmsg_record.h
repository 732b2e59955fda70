/*
 * Records of /dev/kmsg (Linux: Documentation/ABI/testing/dev-kmsg): "prio,seq,ts_us,flags[,…];text\n" and
 * continuation lines " KEY=value\n".
 */
#ifndef HOLDFAST_AGENTS_CHECKS_KMSG_RECORD_H
#define HOLDFAST_AGENTS_CHECKS_KMSG_RECORD_H

#include <stddef.h>
#include <stdint.h>

struct kmsg_record {
    int priority; /* facility * 8 + level; no program can write a record of facility 0 */
    int64_t seq;
    int64_t at_us;    /* since boot */
    const char *text; /* a view of the first line's text, escapes (\xNN) as they are */
    size_t len;
};

#define KMSG_KERNEL_PRIORITY_MAX 7 /* of facility 0 */

/* len bytes, no zero needed. STATUS_INVALID when it is not a record. */
int kmsg_record_parse(const char *data, size_t len, struct kmsg_record *ret_record);

#endif
