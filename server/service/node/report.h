/* What others say of nodes: people, epilogs and monitors; see report.c. */
#ifndef HOLDFAST_SERVER_SERVICE_NODE_REPORT_H
#define HOLDFAST_SERVER_SERVICE_NODE_REPORT_H

#include "server/service/service.h"

#include <stddef.h>

#define REPORTS_MAX 512 /* of one document */

/* report has its kind, its subject and until when it counts. */
int service_node_report(struct service *s, const struct actor *actor, const char *cluster, const char *node,
                        const struct node_report *report, const char *text, struct verdict *ret_verdict,
                        struct problem *ret_problem);

#define REPORT_OUTCOME_LIST(X)                                                          \
    X(UNDECIDED, "undecided") /* not yet looked at */                                   \
    X(REFUSED, "refused")                                                               \
    X(STORED, "stored")                                                                 \
    X(KNOWN, "known") /* under its key, about this machine; nothing is changed by it */ \
    X(OVER, "over")   /* it counts no more */
enum report_outcome {
#define X(SYMBOL, text) REPORT_OUTCOME_##SYMBOL,
    REPORT_OUTCOME_LIST(X)
#undef X
};
ENUM_DECLARE(report_outcome);

/* One of a document, and what came of it. */
struct service_report {
    const char *node;
    struct node_report report;
    char text[REASON_MAX_BYTES];
    char key[NAME_MAX_BYTES * 2]; /* the sender's own name of the finding; "": it has none */
    bool over;                    /* what was said under the key is true no more */
    enum report_outcome outcome;
    int64_t verdict_id; /* 0: it is refused, or nothing was known under its key */
    int status;         /* where it is refused, with the problem */
    struct problem problem;
};
/* In one transaction. What is refused keeps none of the others from being stored. NOT_FOUND: there is no such cluster. */
int service_node_report_many(struct service *s, const struct actor *actor, const char *cluster,
                             struct service_report *reports, size_t count, struct problem *ret_problem);

/* What a job's ranks need for a step, each on a node. Each node that slows the job down is reported as its straggler, once for the job.
 * Returns the reports (at most count; caller frees) in *ret_reports. */
struct service_step_time {
    const char *node;
    int64_t ms;
};
int service_node_report_step_times(struct service *s, const struct actor *actor, const char *cluster, const char *job,
                                   const struct service_step_time *times, size_t count,
                                   struct service_report **ret_reports, size_t *ret_count, struct problem *ret_problem);

#endif
