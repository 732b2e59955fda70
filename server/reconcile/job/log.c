/*
 * Logs of jobs that people ask for: a thread of its own for each scheduler that has them, so that one that does not answer holds up nothing
 * but these.
 */
#include "base/log.h"
#include "base/clock.h"
#include "server/live/fleet.h"
#include "server/live/job_log.h"
#include "server/reconcile/base/link.h"
#include "server/reconcile/base/loop.h"
#include "server/service/service.h"

#include <pthread.h>

struct reader {
    struct reader *next;
    struct job_logs *logs;
    const struct clock *clock;
    const struct scheduler_link *link; /* its name and driver, which do not change */
    pthread_t thread;
};

struct job_log_part {
    struct reader *readers;
};

static void *run(void *arg)
{
    const struct reader *reader = arg;
    struct job_log_ask ask;
    while (job_logs_next(reader->logs, reader->link->name, &ask)) {
        struct job_log log = {0};
        char error[SCHEDULER_ERROR_MAX] = "";
        int status = reader->link->driver.ops->jobs->log(reader->link->driver.self, &ask, &log, error);
        log.read_at = clock_wall_ms(reader->clock);
        job_logs_answer(reader->logs, &ask, status, &log, error, clock_mono_ms(reader->clock));
    }
    return NULL;
}

static void begin(struct reconcile *r, const struct scheduler_link *link)
{
    struct reader *reader = own_calloc(1, sizeof(*reader));
    *reader = (struct reader){.next = r->job_log->readers,
                              .logs = fleet_job_logs(r->service->fleet),
                              .clock = r->service->clock,
                              .link = link};
    if (pthread_create(&reader->thread, NULL, run, reader) != 0) {
        log_error("logs of jobs are not read, there is no thread for them scheduler=%s", link->name);
        free(reader);
        return;
    }
    job_logs_serve(reader->logs, link->name);
    r->job_log->readers = reader;
}

static void start(struct reconcile *r)
{
    r->job_log = own_calloc(1, sizeof(*r->job_log));
    for (const struct scheduler_link *link = r->links; link != NULL; link = link->next)
        if (link->driver.ops != NULL && link->driver.ops->jobs != NULL && link->driver.ops->jobs->log != NULL)
            begin(r, link);
}

static void end(struct reconcile *r)
{
    if (r->job_log == NULL)
        return;
    job_logs_stop(fleet_job_logs(r->service->fleet));
    while (r->job_log->readers != NULL) {
        struct reader *reader = r->job_log->readers;
        r->job_log->readers = reader->next;
        pthread_join(reader->thread, NULL);
        free(reader);
    }
    free(TAKE(r->job_log));
}

const struct part part_job_log = {.start = start, .end = end};
