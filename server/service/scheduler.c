/*
 * How the scheduler is: the reconcile loop knows and says so here, the doors read it. One short lock; both sides hold it
 * only to copy.
 */
#include "server/service/private.h"

#include <pthread.h>

struct service_scheduler {
    pthread_mutex_t mutex;
    struct service_scheduler_status status;
};

struct service_scheduler *service_scheduler_new(void)
{
    struct service_scheduler *scheduler = own_calloc(1, sizeof(*scheduler));
    pthread_mutex_init(&scheduler->mutex, NULL);
    return scheduler;
}

void service_scheduler_free(struct service_scheduler *scheduler)
{
    if (scheduler == NULL)
        return;
    pthread_mutex_destroy(&scheduler->mutex);
    free(scheduler);
}

void service_scheduler_set(struct service_scheduler *scheduler, const struct service_scheduler_status *status)
{
    pthread_mutex_lock(&scheduler->mutex);
    scheduler->status = *status;
    pthread_mutex_unlock(&scheduler->mutex);
}

void service_scheduler_get(struct service_scheduler *scheduler, struct service_scheduler_status *ret_status)
{
    *ret_status = (struct service_scheduler_status){.state = SCHEDULER_STATE_UNKNOWN};
    if (scheduler == NULL)
        return;
    pthread_mutex_lock(&scheduler->mutex);
    *ret_status = scheduler->status;
    pthread_mutex_unlock(&scheduler->mutex);
}
