/* What the files of a job's policy share. */
#ifndef HOLDFAST_POLICY_JOB_PRIVATE_H
#define HOLDFAST_POLICY_JOB_PRIVATE_H

#include "policy/job/job.h"

struct job_turn {
    const struct job_spec *spec;
    const struct job_seen *seen;
    struct job_record *record;
    struct job_plan *plan;
};

void job_note(struct job_turn *turn, bool warning, const char *reason, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void job_move(struct job_turn *turn, enum job_state state);
void job_fail(struct job_turn *turn, const char *reason, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The node of this name is the fault of what happens to a pod on it; agent: what its launcher says. */
bool job_node_failed(const struct job_turn *turn, const char *node, enum job_agent agent, const char **ret_why);
/* Of a pod that is there. */
bool job_pod_node_failed(const struct job_turn *turn, const struct job_pod *pod);

/* restart.c: what follows a fault that is in *fault but for its level. */
void job_restart(struct job_turn *turn, const struct job_fault *fault);
/* Nodes that are not well are excluded, and those that are well again are not. */
void job_exclude(struct job_turn *turn);

#endif
