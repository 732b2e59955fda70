/* What the agent of an operation's node is asked for, and no longer: it hears of it after the commit, when the step is stored as begun. */
#ifndef HOLDFAST_SERVER_RECONCILE_OPERATION_TASK_H
#define HOLDFAST_SERVER_RECONCILE_OPERATION_TASK_H

struct deep_job;
struct lifecycle_job;
struct reboot_job;
struct reset_job;
struct work;

void work_task_scripts(struct work *w, const struct lifecycle_job *job);
void work_task_check(struct work *w, const struct deep_job *job);
void work_task_reset(struct work *w, const struct reset_job *job);
void work_task_reboot(struct work *w, const struct reboot_job *job);
void work_task_drop(struct work *w);

#endif
