/*
 * A bounded queue and the threads that empty it.
 *
 * The bound is what keeps a backend that hangs from eating memory: the caller is told FULL and tries
 * again at its own pace. Workers take no signals; those belong to the main thread. Who drops a job
 * with executor_free still owns its argument.
 */
#include "server/reconcile/base/executor.h"

#include "base/own.h"
#include "base/status.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>

struct job {
    executor_job_fn fn;
    void *arg;
};

struct executor {
    bool is_inline;
    pthread_mutex_t lock;
    pthread_cond_t work; /* a job came, or it is time to stop */
    struct job *queue;   /* a ring of queue_max */
    size_t queue_max, first, waiting;
    pthread_t *threads;
    int thread_count;
    bool stopping;
};

/* False when it is time to stop. */
static bool next_job(struct executor *executor, struct job *ret_job)
{
    pthread_mutex_lock(&executor->lock);
    while (executor->waiting == 0 && !executor->stopping)
        pthread_cond_wait(&executor->work, &executor->lock);
    bool found = !executor->stopping;
    if (found) {
        *ret_job = executor->queue[executor->first];
        executor->first = (executor->first + 1) % executor->queue_max;
        executor->waiting--;
    }
    pthread_mutex_unlock(&executor->lock);
    return found;
}

static void *worker(void *arg)
{
    struct executor *executor = arg;
    struct job job;
    while (next_job(executor, &job))
        job.fn(job.arg);
    return NULL;
}

static void start_threads(struct executor *executor, int threads)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (int i = 0; i < threads; i++) {
        if (pthread_create(&executor->threads[executor->thread_count], NULL, worker, executor) != 0)
            break; /* fewer threads are slower, not wrong */
        executor->thread_count++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static struct executor *executor_new(void)
{
    struct executor *executor = own_calloc(1, sizeof(*executor));
    pthread_mutex_init(&executor->lock, NULL);
    pthread_cond_init(&executor->work, NULL);
    return executor;
}

struct executor *executor_threads_new(int threads, size_t queue_max)
{
    if (threads <= 0 || queue_max == 0)
        abort(); /* ours: an executor that could never run anything */
    struct executor *executor = executor_new();
    executor->queue_max = queue_max;
    executor->queue = own_calloc(queue_max, sizeof(*executor->queue));
    executor->threads = own_calloc((size_t)threads, sizeof(*executor->threads));
    start_threads(executor, threads);
    if (executor->thread_count == 0) {
        executor_free(executor);
        return NULL;
    }
    return executor;
}

struct executor *executor_inline_new(void)
{
    struct executor *executor = executor_new();
    executor->is_inline = true;
    return executor;
}

void executor_free(struct executor *executor)
{
    if (executor == NULL)
        return;
    pthread_mutex_lock(&executor->lock);
    executor->stopping = true;
    pthread_cond_broadcast(&executor->work);
    pthread_mutex_unlock(&executor->lock);
    for (int i = 0; i < executor->thread_count; i++)
        pthread_join(executor->threads[i], NULL);
    pthread_cond_destroy(&executor->work);
    pthread_mutex_destroy(&executor->lock);
    free(executor->threads);
    free(executor->queue);
    free(executor);
}

int executor_submit(struct executor *executor, executor_job_fn fn, void *arg)
{
    if (executor->is_inline) {
        fn(arg);
        return 0;
    }
    int status = STATUS_FULL;
    pthread_mutex_lock(&executor->lock);
    if (executor->waiting < executor->queue_max) {
        executor->queue[(executor->first + executor->waiting) % executor->queue_max] = (struct job){fn, arg};
        executor->waiting++;
        pthread_cond_signal(&executor->work);
        status = 0;
    }
    pthread_mutex_unlock(&executor->lock);
    return status;
}
