/*
 * The training jobs of one scheduler: looks at them and their launchers, asks the policy, stores what it says, and then does it.
 */
#ifndef HOLDFAST_SERVER_RECONCILE_JOB_CONTROLLER_H
#define HOLDFAST_SERVER_RECONCILE_JOB_CONTROLLER_H

#include "base/clock.h"
#include "base/seal.h"
#include "server/scheduler/workload.h"

struct controller;

struct controller *controller_new(const char *name, const struct scheduler_driver *driver, const struct clock *clock,
                                  const struct seal_key *key);
void controller_free(struct controller *controller); /* accepts NULL */
/* One pass over all jobs. True: something is under way, so another one shall follow soon. */
bool controller_pass(struct controller *controller);
/* The token of a job's launchers: it follows from the job and hpd's own key, so it is kept nowhere else. */
void controller_token(const struct seal_key *key, const char *job_uid, char ret_token[WORKLOAD_TOKEN_MAX]);

#endif
