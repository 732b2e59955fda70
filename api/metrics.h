/* Counts of the APIs: requests by operation and status class, how long they took, connections and streams. */
#ifndef HOLDFAST_API_METRICS_H
#define HOLDFAST_API_METRICS_H

#include "base/text.h"

#include <stdint.h>

struct metrics;

struct metrics *api_metrics_new(int workers);
void api_metrics_free(struct metrics *metrics); /* accepts NULL */
/* route: its place in the table, or -1 when no route was found. status 0: the client went away before the reply. On the
 * worker's thread; no locks, no shared cache lines. */
void api_metrics_count(struct metrics *metrics, int worker, int route, unsigned status, int64_t took_ms);
void api_metrics_render(struct metrics *metrics, struct text *out);

#endif
