/* Counters of one writer each (the worker), added up when somebody looks. */
#include "api/metrics.h"
#include "api/routes.h"

#include <stdatomic.h>

#define CLASSES 6 /* 0: no reply was sent; 1xx … 5xx */

/* Upper bounds of the latency histogram, ms. */
static const int64_t bounds_ms[] = {1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000};
#define BOUNDS (sizeof bounds_ms / sizeof bounds_ms[0])

struct counts {
    _Alignas(64) _Atomic uint64_t requests[ROUTES_MAX + 1][CLASSES]; /* the last row: no route */
    _Atomic uint64_t took[BOUNDS + 1];
    _Atomic uint64_t took_ms;
};

struct metrics {
    int workers;
    struct counts *counts;
};

struct metrics *api_metrics_new(int workers)
{
    struct metrics *m = own_calloc(1, sizeof *m);
    m->workers = workers;
    m->counts = aligned_alloc(64, (size_t)workers * sizeof *m->counts);
    if (m->counts == NULL)
        abort();
    for (int i = 0; i < workers; i++)
        m->counts[i] = (struct counts){0};
    return m;
}

void api_metrics_free(struct metrics *m)
{
    if (m == NULL)
        return;
    free(m->counts);
    free(m);
}

/* One writer: no locked instruction is needed. */
static void add(_Atomic uint64_t *counter, uint64_t n)
{
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n, memory_order_relaxed);
}

void api_metrics_count(struct metrics *m, int worker, int route, unsigned status, int64_t took_ms)
{
    struct counts *c = &m->counts[worker];
    unsigned class = status / 100 < CLASSES ? status / 100 : 0;
    size_t bucket = 0;
    while (bucket < BOUNDS && took_ms > bounds_ms[bucket])
        bucket++;
    add(&c->requests[route < 0 ? ROUTES_MAX : route][class], 1);
    add(&c->took[bucket], 1);
    add(&c->took_ms, took_ms > 0 ? (uint64_t)took_ms : 0);
}

static void render_requests(struct metrics *m, struct text *out)
{
    static const char *const classes[CLASSES] = {"none", "1xx", "2xx", "3xx", "4xx", "5xx"};
    text_add(out, "# HELP holdfast_http_requests_total Requests by operation and class of their status.\n"
                  "# TYPE holdfast_http_requests_total counter\n");
    for (size_t route = 0; route <= ROUTES_MAX; route++)
        for (int class = 0; class < CLASSES; class ++) {
            uint64_t sum = 0;
            for (int w = 0; w < m->workers; w++)
                sum += atomic_load_explicit(&m->counts[w].requests[route][class], memory_order_relaxed);
            if (sum > 0)
                text_printf(out, "holdfast_http_requests_total{operation=\"%s\",status=\"%s\"} %llu\n",
                            route < api_route_count ? api_routes[route].operation : "none", classes[class],
                            (unsigned long long)sum);
        }
}

static void render_latency(struct metrics *m, struct text *out)
{
    uint64_t sum = 0, took_ms = 0;
    text_add(out, "# HELP holdfast_http_request_seconds From the end of the header to the end of the reply.\n"
                  "# TYPE holdfast_http_request_seconds histogram\n");
    for (size_t bucket = 0; bucket <= BOUNDS; bucket++) {
        for (int w = 0; w < m->workers; w++)
            sum += atomic_load_explicit(&m->counts[w].took[bucket], memory_order_relaxed);
        if (bucket < BOUNDS)
            text_printf(out, "holdfast_http_request_seconds_bucket{le=\"%g\"} %llu\n", (double)bounds_ms[bucket] / 1000,
                        (unsigned long long)sum);
    }
    for (int w = 0; w < m->workers; w++)
        took_ms += atomic_load_explicit(&m->counts[w].took_ms, memory_order_relaxed);
    text_printf(out,
                "holdfast_http_request_seconds_bucket{le=\"+Inf\"} %llu\n"
                "holdfast_http_request_seconds_sum %.3f\nholdfast_http_request_seconds_count %llu\n",
                (unsigned long long)sum, (double)took_ms / 1000, (unsigned long long)sum);
}

void api_metrics_render(struct metrics *m, struct text *out)
{
    render_requests(m, out);
    render_latency(m, out);
}
