/*
 * What a job's controller says to the launcher in each pod (hprun, or HyperPod's agent), over HTTP: see hprun(1). Each call is short, and may
 * be repeated.
 */
#ifndef HOLDFAST_SERVER_RECONCILE_JOB_LAUNCHER_H
#define HOLDFAST_SERVER_RECONCILE_JOB_LAUNCHER_H

#include "server/scheduler/workload.h"

#define LAUNCHER_PORT 8080

/* What a launcher says of itself, into what is seen of its pod. What is no status is UNKNOWN. */
void launcher_read(const char *text, size_t len, struct job_pod *seen);
/* Asks it. agent is UNKNOWN where it does not answer. */
void launcher_look(const char *address, const char *token, struct job_pod *seen);
/* The body of /start for a rank. Caller frees. */
json_t *launcher_start_body(const struct workload_job *job, int rank);
/* The body of /stop: workers are asked by SIGUSR1 to save a checkpoint and end. Caller frees. */
json_t *launcher_graceful_body(int64_t graceful_ms);
/* START, STOP or SHUTDOWN. body: NULL for none. */
int launcher_order(const char *address, const char *token, enum job_act act, const json_t *body, char *ret_error);
/* The body of a start again, for a launcher that runs: its rules are these from now on. */
int launcher_update(const char *address, const char *token, const json_t *body, char *ret_error);

#endif
