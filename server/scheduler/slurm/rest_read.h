/*
 * slurmrestd's JSON in the words of the commands: the same structs, and the same texts where a reader of texts is there already.
 * Members have had several forms over the versions: a number is 3, or {"set": true, "infinite": false, "number": 3}; a state is
 * "idle" with "state_flags": ["DRAIN"], or ["IDLE", "DRAIN"]; features are "a,b" or ["a", "b"].
 */
#ifndef HOLDFAST_SERVER_SCHEDULER_SLURM_REST_READ_H
#define HOLDFAST_SERVER_SCHEDULER_SLURM_REST_READ_H

#include "base/json.h"
#include "server/scheduler/slurm/parse.h"

/* A whole number in any of its forms; 0 for what is unset, infinite, too large or none. */
int64_t slurm_json_number(const json_t *value);
/* "" for what is not there or no text. */
const char *slurm_json_text(const json_t *object, const char *member);

/* When a JSON Web Token runs out, in milliseconds since 1970, by what it says itself; 0 when it does not, or is no such token. */
int64_t slurm_token_end(const char *token);

/* One of "nodes". STATUS_BACKEND when it cannot be read. */
int slurm_json_node(const json_t *json, struct slurm_node *ret_node, struct slurm_has *ret_has);
/* One of "jobs", where it has work on the node; STATUS_NOT_FOUND where it has none, STATUS_BACKEND likewise. */
int slurm_json_job_on(const json_t *json, const char *node, struct slurm_job *ret_job);
/* What squeue shows of a job: caller frees. */
char *slurm_json_job_state(const json_t *job);
char *slurm_json_job_id(const json_t *job);
char *slurm_json_job_user(const json_t *job);

/* "jobs" as squeue prints them by slurm_queue_format(separator); caller frees. STATUS_BACKEND likewise. */
int slurm_json_queue(const json_t *jobs, const char *separator, char **ret_text);
/* "reservations" as "scontrol -o show reservation" prints them, as far as metrics go; caller frees. */
char *slurm_json_reservations(const json_t *reservations, int64_t now_ms);
/* "statistics" as sdiag prints them, likewise. */
char *slurm_json_diag(const json_t *statistics);

#endif
