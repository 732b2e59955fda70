/*
 * Serves the measurements of the checks to Prometheus: GET /metrics. Few clients, short requests, no waiting.
 */
#ifndef HOLDFAST_AGENTS_NODE_METRICS_H
#define HOLDFAST_AGENTS_NODE_METRICS_H

#include "agents/checks/report.h"

#include <poll.h>

#define METRICS_CLIENTS_MAX 4
#define METRICS_FDS_MAX (1 + METRICS_CLIENTS_MAX)

struct metrics;

/* address: "127.0.0.1:9101", "[::1]:9101"; port 0: any. INVALID when it is anything else than an IPv4 or IPv6 address and a port,
 * IO when it cannot be listened at. */
int metrics_open(const char *address, struct metrics **ret_metrics);
void metrics_free(struct metrics *metrics);
int metrics_port(const struct metrics *metrics);
/* Replaces the earlier measurements of the check. */
void metrics_note(struct metrics *metrics, const struct check *check, const struct check_report *report);
/* Forgets checks that no longer run. */
void metrics_forget(struct metrics *metrics, bool (*is_run)(const char *name, void *arg), void *arg);
/* The text of the answer. */
void metrics_write(const struct metrics *metrics, struct text *out);
size_t metrics_fds(const struct metrics *metrics, struct pollfd ret_fds[METRICS_FDS_MAX]);
/* When the next client times out, monotonic; INT64_MAX: no client. */
int64_t metrics_due_ms(const struct metrics *metrics);
void metrics_turn(struct metrics *metrics);

#endif
