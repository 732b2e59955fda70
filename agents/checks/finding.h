/*
 * What a check saw, before it is folded into verdicts (agents/node/window.h).
 */
#ifndef HOLDFAST_AGENTS_CHECKS_FINDING_H
#define HOLDFAST_AGENTS_CHECKS_FINDING_H

#include "model/health.h"
#include "model/limits.h"

#include <stddef.h>
#include <stdint.h>

/* Where something stands that may be read again: in the kernel log of this boot, in a file, in the journal, or in what a
 * check has counted. It is the same however often and whenever it is read. */
struct log_place {
    int64_t log;    /* which one; 0: it stands nowhere and cannot be read again */
    int64_t offset; /* grows within a log */
};
enum { LOG_NONE, LOG_DEVICE, LOG_STANDING, LOG_RESERVED }; /* /dev/kmsg; agents/node/standing.h; others are log_id's */
/* The number of the log that is told from others by these bytes: above LOG_RESERVED, and no bit for a sign. */
int64_t log_id(const void *data, size_t len);

struct finding {
    const char *source;            /* static: "kmsg" */
    char code[CODE_MAX_BYTES];     /* "xid.79" */
    char device[DEVICE_MAX_BYTES]; /* "" for the node as a whole */
    char raw_line[RAW_LINE_MAX_BYTES];
    enum severity severity;
    enum action_class action; /* what the line asks for: lines that ask for different things are different evidence */
    struct log_place place;
    int64_t at_ms;   /* wall clock, of the event and not of our reading where that is known; for people */
    int64_t mono_ms; /* the same on the monotonic clock, by which findings are folded */
    int64_t count;
};

typedef void finding_fn(const struct finding *finding, void *arg);

#endif
