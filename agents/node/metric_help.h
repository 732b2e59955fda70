/* What each measurement of the checks is, for Prometheus' HELP and TYPE lines. */
#ifndef HOLDFAST_AGENTS_NODE_METRIC_HELP_H
#define HOLDFAST_AGENTS_NODE_METRIC_HELP_H

struct metric_help {
    const char *name; /* of a counter of a device's driver, which names it: what its name begins with */
    const char *type; /* "gauge", "counter", "untyped" */
    const char *help; /* one line without a backslash */
};

/* NULL: nobody wrote one. */
const struct metric_help *metric_help(const char *metric);

#endif
