/* What a person may ask of a job, kept until it is carried out. */
#ifndef HOLDFAST_MODEL_JOB_COMMAND_H
#define HOLDFAST_MODEL_JOB_COMMAND_H

#include "model/job.h"

#define JOB_COMMAND_LIST(X)                                                                  \
    X(RESTART, "restart") /* its processes end and begin anew; pods stay, where there are */ \
    X(REMAKE, "remake")   /* its pods are made anew */                                       \
    X(SUSPEND, "suspend") /* it gives its nodes back until it is resumed */                  \
    X(RESUME, "resume")                                                                      \
    X(SCALE, "scale") /* it has this size, or the next one below that it may have */
enum job_command_kind {
#define X(SYMBOL, text) JOB_COMMAND_##SYMBOL,
    JOB_COMMAND_LIST(X)
#undef X
};
ENUM_DECLARE(job_command_kind);
#define JOB_COMMAND_BIT(SYMBOL) (1U << JOB_COMMAND_##SYMBOL)
bool job_takes(const struct cluster_job *job, enum job_command_kind kind); /* as long as it is not over */

#define JOB_REPLICAS_MAX 4096
#define JOB_COMMANDS_MAX 1000 /* that wait at one scheduler */

struct job_command {
    int64_t id;
    char scheduler[NAME_MAX_BYTES], job[JOB_ID_MAX_BYTES];
    enum job_command_kind kind;
    int64_t size;                 /* of SCALE, in replicas, or in nodes where it has none */
    char cluster[NAME_MAX_BYTES]; /* where it was asked for */
    int64_t restarts;             /* of the job then: it is carried out on that start, and on no later one */
    char actor[NAME_MAX_BYTES];
    int64_t asked_at;
};

#endif
