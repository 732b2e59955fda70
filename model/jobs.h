/* The jobs on a node that is to be repaired: what the policy lets them do before it is, and what each was told. */
#ifndef HOLDFAST_MODEL_JOBS_H
#define HOLDFAST_MODEL_JOBS_H

#include "model/limits.h"

#include "base/enum.h"
#include "base/id.h"

#include <stdint.h>

#define JOBS_RULE_LIST(X)                                                                           \
    X(TABLE, "table")   /* as the code's row says: after-jobs waits, now acts */                    \
    X(WAIT, "wait")     /* for their end, drainDeadline at most; then they are requeued or ended */ \
    X(SIGNAL, "signal") /* they are asked to checkpoint, and have signalDeadline from then on */    \
    X(NOW, "now")       /* they are requeued or ended at once */
enum jobs_rule {
#define X(SYMBOL, text) JOBS_RULE_##SYMBOL,
    JOBS_RULE_LIST(X)
#undef X
        JOBS_RULE_COUNT
};
ENUM_DECLARE(jobs_rule);

/* As sbatch writes them: to the job's steps, with B: to its batch script alone. */
#define JOB_SIGNAL_LIST(X) \
    X(NONE, "none")        \
    X(USR1, "USR1")        \
    X(USR2, "USR2")        \
    X(TERM, "TERM")        \
    X(INT, "INT")          \
    X(B_USR1, "B:USR1")    \
    X(B_USR2, "B:USR2")    \
    X(B_TERM, "B:TERM")    \
    X(B_INT, "B:INT")
enum job_signal {
#define X(SYMBOL, text) JOB_SIGNAL_##SYMBOL,
    JOB_SIGNAL_LIST(X)
#undef X
        JOB_SIGNAL_COUNT
};
ENUM_DECLARE(job_signal);

/*
 * What became of a job's signal. It is written as SENDING before it is sent, and never sent again from there, as a program may
 * take the second one for an order to end; so after a crash in between nobody knows.
 *
 *      SENDING ──► SENT
 *         ├──────► FAILED    the scheduler did not take it
 *         └──────► UNKNOWN   hpd stopped before the answer came
 */
#define JOB_ASKED_LIST(X) \
    X(SENDING, "sending") \
    X(SENT, "sent")       \
    X(FAILED, "failed")   \
    X(UNKNOWN, "unknown")
enum job_asked {
#define X(SYMBOL, text) JOB_ASKED_##SYMBOL,
    JOB_ASKED_LIST(X)
#undef X
};
ENUM_DECLARE(job_asked);

struct operation_job {
    char job[JOB_ID_MAX_BYTES];
    char user[NAME_MAX_BYTES];
    int64_t asked_at;
    enum job_asked asked;
};

/* One of a job's signals, beside whose repair it was sent for. */
struct job_signalled {
    enum job_signal signal;
    enum job_asked asked;
    int64_t asked_at;
    char node[NODE_NAME_MAX_BYTES], operation[ID_UUID_MAX];
};

#endif
