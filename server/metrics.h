/*
 * Prometheus text of everything behind the APIs: store, fleet, reconcile loop, scheduler. The HTTP counters are api's own.
 * The list of metrics in hpd(8) is compared with what this renders by a test.
 */
#ifndef HOLDFAST_SERVER_METRICS_H
#define HOLDFAST_SERVER_METRICS_H

#include "base/text.h"
#include "server/reconcile/reconcile.h"

struct metrics_sources {
    struct db *db;
    struct fleet *fleet;
    struct reconcile *reconcile; /* may be NULL */
    struct service *service;     /* whose scheduler is shown; may be NULL */
};

/* Adds the text; arg is a struct metrics_sources. Cheap: counters, one statement, and a text that is ready. */
void metrics_render(struct text *t, void *arg);

#endif
