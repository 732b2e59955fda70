/* A map under one lock: there are as many agent tasks as instances that are being prepared, and mostly none. */
#include "server/live/agent_task.h"

#include "base/map.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#define NODE_TEXT_MAX 24

struct agent_task {
    enum agent_task_kind kind;
    struct lifecycle_job job;
    struct deep_job check;
    struct reset_job reset;
    struct reboot_job reboot;
    bool reported;
    struct lifecycle_report report;
};

struct agent_tasks {
    pthread_mutex_t lock;
    struct map *map;    /* node's row → struct agent_task */
    atomic_int waiting; /* so that "none" costs no lock */
};

struct node_text {
    char text[NODE_TEXT_MAX];
};

static struct node_text key_of(int64_t node_id)
{
    struct node_text key;
    snprintf(key.text, sizeof(key.text), "%" PRId64, node_id);
    return key;
}

struct agent_tasks *agent_tasks_new(void)
{
    struct agent_tasks *agent_tasks = own_calloc(1, sizeof(*agent_tasks));
    pthread_mutex_init(&agent_tasks->lock, NULL);
    agent_tasks->map = map_new();
    return agent_tasks;
}

void agent_tasks_free(struct agent_tasks *agent_tasks)
{
    size_t cursor = 0;
    const char *key;
    void *agent_task;
    if (agent_tasks == NULL)
        return;
    while (map_next(agent_tasks->map, &cursor, &key, &agent_task))
        free(agent_task);
    map_free(agent_tasks->map);
    pthread_mutex_destroy(&agent_tasks->lock);
    free(agent_tasks);
}

static bool none_waits(struct agent_tasks *agent_tasks)
{
    return atomic_load_explicit(&agent_tasks->waiting, memory_order_relaxed) == 0;
}

static struct agent_task *find_or_add(struct agent_tasks *agent_tasks, int64_t node_id)
{
    struct node_text key = key_of(node_id);
    struct agent_task *agent_task = map_get(agent_tasks->map, key.text);
    if (agent_task != NULL)
        return agent_task;
    agent_task = own_calloc(1, sizeof(*agent_task));
    map_set(agent_tasks->map, key.text, agent_task);
    atomic_fetch_add(&agent_tasks->waiting, 1);
    return agent_task;
}

void agent_tasks_put(struct agent_tasks *agent_tasks, int64_t node_id, const struct lifecycle_job *job)
{
    pthread_mutex_lock(&agent_tasks->lock);
    struct agent_task *agent_task = find_or_add(agent_tasks, node_id);
    agent_task->reported = agent_task->reported && text_equal(agent_task->job.key, job->key);
    agent_task->kind = AGENT_TASK_LIFECYCLE;
    agent_task->job = *job;
    pthread_mutex_unlock(&agent_tasks->lock);
}

void agent_tasks_put_check(struct agent_tasks *agent_tasks, int64_t node_id, const struct deep_job *job)
{
    pthread_mutex_lock(&agent_tasks->lock);
    struct agent_task *agent_task = find_or_add(agent_tasks, node_id);
    *agent_task = (struct agent_task){.kind = AGENT_TASK_CHECK, .check = *job};
    pthread_mutex_unlock(&agent_tasks->lock);
}

void agent_tasks_put_reset(struct agent_tasks *agent_tasks, int64_t node_id, const struct reset_job *job)
{
    pthread_mutex_lock(&agent_tasks->lock);
    struct agent_task *agent_task = find_or_add(agent_tasks, node_id);
    agent_task->reported = agent_task->reported && text_equal(agent_task->reset.key, job->key);
    agent_task->kind = AGENT_TASK_RESET;
    agent_task->reset = *job;
    pthread_mutex_unlock(&agent_tasks->lock);
}

void agent_tasks_put_reboot(struct agent_tasks *agent_tasks, int64_t node_id, const struct reboot_job *job)
{
    pthread_mutex_lock(&agent_tasks->lock);
    struct agent_task *agent_task = find_or_add(agent_tasks, node_id);
    agent_task->reported = agent_task->reported && text_equal(agent_task->reboot.key, job->key);
    agent_task->kind = AGENT_TASK_REBOOT;
    agent_task->reboot = *job;
    pthread_mutex_unlock(&agent_tasks->lock);
}

void agent_tasks_drop(struct agent_tasks *agent_tasks, int64_t node_id)
{
    if (none_waits(agent_tasks))
        return;
    struct node_text key = key_of(node_id);
    pthread_mutex_lock(&agent_tasks->lock);
    autofree struct agent_task *agent_task = map_remove(agent_tasks->map, key.text);
    if (agent_task != NULL)
        atomic_fetch_sub(&agent_tasks->waiting, 1);
    pthread_mutex_unlock(&agent_tasks->lock);
}

/* Locked. NULL when nothing of the kind is asked for. */
static struct agent_task *find(struct agent_tasks *agent_tasks, int64_t node_id, enum agent_task_kind kind)
{
    struct node_text key = key_of(node_id);
    struct agent_task *agent_task = map_get(agent_tasks->map, key.text);
    return agent_task != NULL && agent_task->kind == kind ? agent_task : NULL;
}

/* Locked. NULL when nothing under this key is asked for that is reported here. */
static struct agent_task *find_by_key(struct agent_tasks *agent_tasks, int64_t node_id, const char *key)
{
    struct agent_task *scripts = find(agent_tasks, node_id, AGENT_TASK_LIFECYCLE),
                      *reset = find(agent_tasks, node_id, AGENT_TASK_RESET),
                      *reboot = find(agent_tasks, node_id, AGENT_TASK_REBOOT);
    if (scripts != NULL && text_equal(scripts->job.key, key))
        return scripts;
    if (reboot != NULL && text_equal(reboot->reboot.key, key))
        return reboot;
    return reset != NULL && text_equal(reset->reset.key, key) ? reset : NULL;
}

enum agent_task_kind agent_tasks_key(struct agent_tasks *agent_tasks, int64_t node_id, const char *instance_id,
                                     char ret_key[KEY_MAX_BYTES])
{
    if (none_waits(agent_tasks))
        return AGENT_TASK_NONE;
    enum agent_task_kind kind = AGENT_TASK_NONE;
    pthread_mutex_lock(&agent_tasks->lock);
    const struct agent_task *scripts = find(agent_tasks, node_id, AGENT_TASK_LIFECYCLE);
    const struct agent_task *check = find(agent_tasks, node_id, AGENT_TASK_CHECK);
    const struct agent_task *reset = find(agent_tasks, node_id, AGENT_TASK_RESET);
    const struct agent_task *reboot = find(agent_tasks, node_id, AGENT_TASK_REBOOT);
    if (check != NULL && text_equal(check->check.instance_id, instance_id)) {
        kind = AGENT_TASK_CHECK;
        text_copy_cut(ret_key, KEY_MAX_BYTES, check->check.key);
    } else if (scripts != NULL && text_equal(scripts->job.instance_id, instance_id) &&
               !(scripts->reported && scripts->report.final)) {
        kind = AGENT_TASK_LIFECYCLE;
        text_copy_cut(ret_key, KEY_MAX_BYTES, scripts->job.key);
    } else if (reset != NULL && text_equal(reset->reset.instance_id, instance_id) &&
               !(reset->reported && reset->report.final)) {
        kind = AGENT_TASK_RESET;
        text_copy_cut(ret_key, KEY_MAX_BYTES, reset->reset.key);
    } else if (reboot != NULL && text_equal(reboot->reboot.instance_id, instance_id) &&
               !(reboot->reported && reboot->report.final)) {
        kind = AGENT_TASK_REBOOT;
        text_copy_cut(ret_key, KEY_MAX_BYTES, reboot->reboot.key);
    }
    pthread_mutex_unlock(&agent_tasks->lock);
    return kind;
}

int agent_tasks_get(struct agent_tasks *agent_tasks, int64_t node_id, struct lifecycle_job *ret_job)
{
    pthread_mutex_lock(&agent_tasks->lock);
    const struct agent_task *agent_task = find(agent_tasks, node_id, AGENT_TASK_LIFECYCLE);
    if (agent_task != NULL)
        *ret_job = agent_task->job;
    pthread_mutex_unlock(&agent_tasks->lock);
    return agent_task == NULL ? STATUS_NOT_FOUND : 0;
}

int agent_tasks_get_check(struct agent_tasks *agent_tasks, int64_t node_id, struct deep_job *ret_job)
{
    pthread_mutex_lock(&agent_tasks->lock);
    const struct agent_task *agent_task = find(agent_tasks, node_id, AGENT_TASK_CHECK);
    if (agent_task != NULL)
        *ret_job = agent_task->check;
    pthread_mutex_unlock(&agent_tasks->lock);
    return agent_task == NULL ? STATUS_NOT_FOUND : 0;
}

int agent_tasks_get_reset(struct agent_tasks *agent_tasks, int64_t node_id, struct reset_job *ret_job)
{
    pthread_mutex_lock(&agent_tasks->lock);
    const struct agent_task *agent_task = find(agent_tasks, node_id, AGENT_TASK_RESET);
    if (agent_task != NULL)
        *ret_job = agent_task->reset;
    pthread_mutex_unlock(&agent_tasks->lock);
    return agent_task == NULL ? STATUS_NOT_FOUND : 0;
}

int agent_tasks_get_reboot(struct agent_tasks *agent_tasks, int64_t node_id, struct reboot_job *ret_job)
{
    pthread_mutex_lock(&agent_tasks->lock);
    const struct agent_task *agent_task = find(agent_tasks, node_id, AGENT_TASK_REBOOT);
    if (agent_task != NULL)
        *ret_job = agent_task->reboot;
    pthread_mutex_unlock(&agent_tasks->lock);
    return agent_task == NULL ? STATUS_NOT_FOUND : 0;
}

int agent_tasks_report(struct agent_tasks *agent_tasks, int64_t node_id, const struct lifecycle_report *report)
{
    pthread_mutex_lock(&agent_tasks->lock);
    struct agent_task *agent_task = find_by_key(agent_tasks, node_id, report->key);
    bool asked = agent_task != NULL;
    if (asked && !(agent_task->reported && agent_task->report.final)) {
        agent_task->report = *report;
        agent_task->reported = true;
    }
    pthread_mutex_unlock(&agent_tasks->lock);
    return asked ? 0 : STATUS_STALE;
}

bool agent_tasks_last(struct agent_tasks *agent_tasks, int64_t node_id, const char *key,
                      struct lifecycle_report *ret_report, bool *ret_asked)
{
    pthread_mutex_lock(&agent_tasks->lock);
    const struct agent_task *agent_task = find_by_key(agent_tasks, node_id, key);
    *ret_asked = agent_task != NULL;
    bool reported = *ret_asked && agent_task->reported;
    if (reported)
        *ret_report = agent_task->report;
    pthread_mutex_unlock(&agent_tasks->lock);
    return reported;
}
