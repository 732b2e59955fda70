/*
 * What a check found, before it is folded into verdicts (agents/node/window.h).
 */
#ifndef HOLDFAST_AGENTS_CHECKS_FINDING_H
#define HOLDFAST_AGENTS_CHECKS_FINDING_H

#include "model/health.h"
#include "model/limits.h"

#include <stddef.h>
#include <stdint.h>

/* The place of something that can be read again: in the kernel log of this boot, in a file, in the journal, or in the counters of a
 * check. It does not depend on the time of reading. */
struct log_place {
    int64_t log;    /* id of the log; 0: no place, it cannot be read again */
    int64_t offset; /* grows within a log */
};
enum {
    LOG_NONE,
    LOG_DEVICE,
    LOG_STANDING,
    LOG_RESERVED
}; /* /dev/kmsg; agents/node/standing.h; all others are from log_id */
/* The id of the log that these bytes identify: above LOG_RESERVED, without a sign bit. */
int64_t log_id(const void *data, size_t len);

struct finding {
    const char *source;            /* static: "kmsg" */
    char code[CODE_MAX_BYTES];     /* "xid.79" */
    char device[DEVICE_MAX_BYTES]; /* "" for the node as a whole */
    char raw_line[RAW_LINE_MAX_BYTES];
    enum severity severity;
    enum action_class action; /* what the line asks for; lines with different actions are not folded together */
    struct log_place place;
    int64_t at_ms;   /* wall clock, of the event where that is known, else of reading; for people */
    int64_t mono_ms; /* the same by the monotonic clock, for folding */
    int64_t count;
};

typedef void finding_fn(const struct finding *finding, void *arg);

#endif
