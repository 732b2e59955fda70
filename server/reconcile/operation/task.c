/*
 * Agent tasks of steps (server/live/agent_task.h). They are memory that agents are answered from, so they change after the commit: before it
 * an agent could begin what is not on disk.
 */
#include "server/reconcile/operation/task.h"
#include "server/live/agent_task.h"
#include "server/reconcile/base/effect.h"
#include "server/reconcile/base/loop.h"
#include "server/reconcile/base/node.h"
#include "server/reconcile/operation/step.h"

static struct agent_tasks *tasks_of(const struct reconcile *r)
{
    return fleet_agent_tasks(r->service->fleet);
}

static void put_scripts(struct reconcile *r, struct rnode *node, const void *job)
{
    agent_tasks_put(tasks_of(r), node->id, job);
}

static void put_check(struct reconcile *r, struct rnode *node, const void *job)
{
    agent_tasks_put_check(tasks_of(r), node->id, job);
}

static void put_reset(struct reconcile *r, struct rnode *node, const void *job)
{
    agent_tasks_put_reset(tasks_of(r), node->id, job);
}

static void put_reboot(struct reconcile *r, struct rnode *node, const void *job)
{
    agent_tasks_put_reboot(tasks_of(r), node->id, job);
}

static void drop(struct reconcile *r, struct rnode *node, const void *data)
{
    (void)data;
    agent_tasks_drop(tasks_of(r), node->id);
}

void work_task_scripts(struct work *w, const struct lifecycle_job *job)
{
    turn_after(w->turn, w->node, put_scripts, job, sizeof(*job));
}

void work_task_check(struct work *w, const struct deep_job *job)
{
    turn_after(w->turn, w->node, put_check, job, sizeof(*job));
}

void work_task_reset(struct work *w, const struct reset_job *job)
{
    turn_after(w->turn, w->node, put_reset, job, sizeof(*job));
}

void work_task_reboot(struct work *w, const struct reboot_job *job)
{
    turn_after(w->turn, w->node, put_reboot, job, sizeof(*job));
}

void work_task_drop(struct work *w)
{
    turn_after(w->turn, w->node, drop, NULL, 0);
}
