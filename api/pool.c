/* A bounded queue and the threads that empty it. */
#include "api/pool.h"
#include "base/own.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>

struct pool {
    pthread_mutex_t lock;
    pthread_cond_t more;
    struct pool_job *head, **tail;
    int waiting, threads;
    bool stopping;
    pthread_t thread[];
};

static struct pool_job *take(struct pool *p)
{
    pthread_mutex_lock(&p->lock);
    while (p->head == NULL && !p->stopping)
        pthread_cond_wait(&p->more, &p->lock);
    struct pool_job *job = p->head;
    if (job != NULL) {
        p->head = job->next;
        if (p->head == NULL)
            p->tail = &p->head;
        p->waiting--;
    }
    pthread_mutex_unlock(&p->lock);
    return job;
}

static void *run(void *arg)
{
    struct pool_job *job;
    while ((job = take(arg)) != NULL)
        job->run(job);
    return NULL;
}

struct pool *pool_new(int threads)
{
    struct pool *p = own_calloc(1, sizeof *p + (size_t)threads * sizeof p->thread[0]);
    sigset_t all, before;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->more, NULL);
    p->tail = &p->head;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (p->threads < threads && pthread_create(&p->thread[p->threads], NULL, run, p) == 0)
        p->threads++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (p->threads == 0)
        abort();
    return p;
}

void pool_free(struct pool *p)
{
    if (p == NULL)
        return;
    pthread_mutex_lock(&p->lock);
    p->stopping = true;
    pthread_cond_broadcast(&p->more);
    pthread_mutex_unlock(&p->lock);
    for (int i = 0; i < p->threads; i++)
        pthread_join(p->thread[i], NULL);
    pthread_cond_destroy(&p->more);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

bool pool_submit(struct pool *p, struct pool_job *job)
{
    pthread_mutex_lock(&p->lock);
    bool taken = p->waiting < POOL_QUEUE_MAX;
    if (taken) {
        job->next = NULL;
        *p->tail = job;
        p->tail = &job->next;
        p->waiting++;
        pthread_cond_signal(&p->more);
    }
    pthread_mutex_unlock(&p->lock);
    return taken;
}
