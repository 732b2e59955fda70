/* Threads for requests that may wait for the store, so that the event loops never do. */
#ifndef HOLDFAST_API_POOL_H
#define HOLDFAST_API_POOL_H

#include <stdbool.h>

#define POOL_QUEUE_MAX 4096 /* requests that wait for a thread; more are told to come back */

struct pool;
struct pool_job {
    struct pool_job *next;
    void (*run)(struct pool_job *job); /* the job's memory may be gone when it returns */
};

struct pool *pool_new(int threads);
/* Runs what is queued, then ends the threads. Accepts NULL. */
void pool_free(struct pool *pool);
/* False when the queue is full. */
bool pool_submit(struct pool *pool, struct pool_job *job);

#endif
