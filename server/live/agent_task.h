/*
 * Agent tasks: what instances are asked to do before they may take work, for their agents to fetch and to report on: lifecycle
 * scripts, the reset of a device, a reboot, or deep health checks, whose reports are stored (service/agent/check_report.c). Kept in memory: the reconcile loop asks
 * again for as long as the step that waits for it runs, and an agent repeats its last word for as long as it is asked, so a
 * restart of either loses nothing. Thread-safe.
 */
#ifndef HOLDFAST_SERVER_AGENT_TASK_H
#define HOLDFAST_SERVER_AGENT_TASK_H

#include "model/deep.h"
#include "model/lifecycle.h"
#include "model/reboot.h"
#include "model/reset.h"

struct agent_tasks;

struct agent_tasks *agent_tasks_new(void);
void agent_tasks_free(struct agent_tasks *agent_tasks);

/* Asks the instance that fills this slot, for this and nothing else. What was reported for the same key stays. */
void agent_tasks_put(struct agent_tasks *agent_tasks, int64_t node_id, const struct lifecycle_job *job);
void agent_tasks_put_reset(struct agent_tasks *agent_tasks, int64_t node_id, const struct reset_job *job);
void agent_tasks_put_check(struct agent_tasks *agent_tasks, int64_t node_id, const struct deep_job *job);
void agent_tasks_put_reboot(struct agent_tasks *agent_tasks, int64_t node_id, const struct reboot_job *job);
void agent_tasks_drop(struct agent_tasks *agent_tasks, int64_t node_id);
/* What the instance is asked to do, and under which key. For every heartbeat: costs no lock while nobody is asked for anything. */
enum agent_task_kind { AGENT_TASK_NONE, AGENT_TASK_LIFECYCLE, AGENT_TASK_CHECK, AGENT_TASK_RESET, AGENT_TASK_REBOOT };
enum agent_task_kind agent_tasks_key(struct agent_tasks *agent_tasks, int64_t node_id, const char *instance_id,
                                     char ret_key[KEY_MAX_BYTES]);
int agent_tasks_get(struct agent_tasks *agent_tasks, int64_t node_id, struct lifecycle_job *ret_job);   /* NOT_FOUND */
int agent_tasks_get_check(struct agent_tasks *agent_tasks, int64_t node_id, struct deep_job *ret_job);  /* NOT_FOUND */
int agent_tasks_get_reset(struct agent_tasks *agent_tasks, int64_t node_id, struct reset_job *ret_job); /* NOT_FOUND */
int agent_tasks_get_reboot(struct agent_tasks *agent_tasks, int64_t node_id,
                           struct reboot_job *ret_job); /* NOT_FOUND */
/* STALE when something else, or nothing, is asked for. The last word stands: what follows it is passed over. */
int agent_tasks_report(struct agent_tasks *agent_tasks, int64_t node_id, const struct lifecycle_report *report);
/* The last report under this key; false when there is none, or when it is not asked for. *ret_asked tells the two apart. */
bool agent_tasks_last(struct agent_tasks *agent_tasks, int64_t node_id, const char *key,
                      struct lifecycle_report *ret_report, bool *ret_asked);

#endif
