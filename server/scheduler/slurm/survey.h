/*
 * A survey: the queue with one squeue, and sdiag, sshare and reservations beside it, at most once each. Nodes are not asked for:
 * the observation has them.
 */
#ifndef HOLDFAST_SERVER_SCHEDULER_SLURM_SURVEY_H
#define HOLDFAST_SERVER_SCHEDULER_SLURM_SURVEY_H

#include "server/scheduler/scheduler.h"

/* The vtable's. */
int slurm_survey(struct scheduler *s, const struct scheduler_observation *seen, struct job_picture **ret_picture,
                 char *ret_error);

/* What squeue is asked for: "JobArrayID:SEP,…,Name:SEP". Caller frees. */
char *slurm_queue_format(const char *separator);
/* Reads what it printed so into picture, which keeps text (heap) whatever comes of it. STATUS_BACKEND for anything else,
 * STATUS_TOO_LARGE for more jobs than anybody will look at. */
int slurm_queue_parse(char *text, const char *separator, struct job_picture *picture);

#endif
