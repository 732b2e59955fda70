/*
 * Training jobs: a thread of its own for each scheduler that carries them out, so that whatever they wait for, nothing of the loop waits.
 * The jobs are in the scheduler's own store, and so is what is known of them; the loop and its transactions have no part in it.
 */
#include "base/log.h"
#include "server/reconcile/base/link.h"
#include "server/reconcile/base/loop.h"
#include "server/reconcile/job/controller.h"

#define PASS_MS_BUSY 200
#define PASS_MS 500

struct worker {
    struct worker *next;
    struct controller *controller;
    pthread_t thread;
    pthread_mutex_t lock; /* over what follows */
    pthread_cond_t changed;
    bool stopped;
};

struct training_part {
    struct worker *workers;
};

static bool rest(struct worker *worker, int64_t ms)
{
    struct timespec until = clock_deadline(ms);
    int rc = 0;
    pthread_mutex_lock(&worker->lock);
    while (!worker->stopped && rc == 0)
        rc = pthread_cond_timedwait(&worker->changed, &worker->lock, &until);
    bool goes_on = !worker->stopped;
    pthread_mutex_unlock(&worker->lock);
    return goes_on;
}

static void *run(void *arg)
{
    struct worker *worker = arg;
    int64_t pause = 0;
    while (rest(worker, pause))
        pause = controller_pass(worker->controller) ? PASS_MS_BUSY : PASS_MS;
    return NULL;
}

static void worker_free(struct worker *worker)
{
    controller_free(worker->controller);
    pthread_cond_destroy(&worker->changed);
    pthread_mutex_destroy(&worker->lock);
    free(worker);
}

static void begin(struct reconcile *r, const struct scheduler_link *link)
{
    struct worker *worker = own_calloc(1, sizeof(*worker));
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_mutex_init(&worker->lock, NULL);
    pthread_cond_init(&worker->changed, &attr);
    pthread_condattr_destroy(&attr);
    worker->controller = controller_new(link->name, &link->driver, r->service->clock, &r->service->seal_key);
    if (pthread_create(&worker->thread, NULL, run, worker) != 0) {
        log_error("training jobs are not carried out, there is no thread for them scheduler=%s", link->name);
        worker_free(worker);
        return;
    }
    worker->next = r->training->workers;
    r->training->workers = worker;
}

static void start(struct reconcile *r)
{
    r->training = own_calloc(1, sizeof(*r->training));
    for (const struct scheduler_link *link = r->links; link != NULL; link = link->next)
        if (link->driver.ops != NULL && link->driver.ops->training != NULL)
            begin(r, link);
}

static void end(struct reconcile *r)
{
    if (r->training == NULL)
        return;
    while (r->training->workers != NULL) {
        struct worker *worker = r->training->workers;
        r->training->workers = worker->next;
        pthread_mutex_lock(&worker->lock);
        worker->stopped = true;
        pthread_cond_broadcast(&worker->changed);
        pthread_mutex_unlock(&worker->lock);
        pthread_join(worker->thread, NULL);
        worker_free(worker);
    }
    free(TAKE(r->training));
}

const struct part part_training = {.start = start, .end = end};
