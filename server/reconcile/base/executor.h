/*
 * Where blocking calls to backends run. Two kinds behind one face: threads (the server) and inline (simulation:
 * the job runs at once in the caller, so a test needs no waiting).
 */
#ifndef HOLDFAST_SERVER_EXECUTOR_H
#define HOLDFAST_SERVER_EXECUTOR_H

#include <stddef.h>

struct executor;

typedef void (*executor_job_fn)(void *arg);

/* NULL when the system gives not even one thread. */
struct executor *executor_threads_new(int threads, size_t queue_max);
struct executor *executor_inline_new(void);
/* Waits for running jobs, drops queued ones (their arguments stay with whoever submitted them). Accepts NULL. */
void executor_free(struct executor *executor);
/* FULL when queue_max jobs wait. */
int executor_submit(struct executor *executor, executor_job_fn fn, void *arg);

#endif
