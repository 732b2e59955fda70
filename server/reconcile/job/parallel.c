/* The threads are made for each call: it comes a few times a second at most, and nothing is left between. */
#include "server/reconcile/job/parallel.h"

#include <pthread.h>

struct crew {
    size_t count;
    _Atomic size_t next;
    void (*each)(size_t i, void *arg);
    void *arg;
};

static void *work(void *arg)
{
    struct crew *crew = arg;
    for (size_t i = crew->next++; i < crew->count; i = crew->next++)
        crew->each(i, crew->arg);
    return NULL;
}

void parallel(size_t count, void (*each)(size_t i, void *arg), void *arg)
{
    struct crew crew = {.count = count, .each = each, .arg = arg};
    pthread_t threads[PARALLEL_THREADS];
    size_t started = 0;
    while (started + 1 < count && started < PARALLEL_THREADS &&
           pthread_create(&threads[started], NULL, work, &crew) == 0)
        started++;
    work(&crew);
    for (size_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
}
