/* The same thing for many numbers, on a few threads that end with it. */
#ifndef HOLDFAST_SERVER_RECONCILE_JOB_PARALLEL_H
#define HOLDFAST_SERVER_RECONCILE_JOB_PARALLEL_H

#include <stddef.h>

#define PARALLEL_THREADS 16

/* Calls each for 0 … count - 1, in no order, and comes back when all are done. Where there is no thread to be had it goes on with fewer. */
void parallel(size_t count, void (*each)(size_t i, void *arg), void *arg);

#endif
