/*
 * The API process part: both APIs over one HTTP server. It checks, calls one use case, answers; it never talks
 * to a backend or to the store.
 */
#ifndef HOLDFAST_API_API_H
#define HOLDFAST_API_API_H

#include "base/text.h"
#include "server/service/service.h"

struct api;

#define API_ERROR_MAX 256
#define API_WHY_MAX 128

struct api_options {
    const char *listen;             /* "127.0.0.1:8700"; port 0: the kernel chooses, api_port tells */
    int workers;                    /* event-loop threads; 0: API_WORKERS_DEFAULT */
    int request_threads;            /* for what may wait for the store; 0: API_REQUEST_THREADS_DEFAULT */
    const char *cert_pem, *key_pem; /* must be given unless api_is_loopback(listen); TLS whenever they are */
    const char *aws_path_prefix;    /* what a proxy cuts off the path of signed requests; "" or NULL: nothing */
    const char *version;            /* texts live as long as the api */
    const char *fault_table_version;
    int schema_version;
    /* More lines for /metrics, and whether to take traffic (false: why for /readyz). Any thread; both may be NULL. */
    void (*metrics)(struct text *out, void *arg);
    bool (*ready)(char ret_why[API_WHY_MAX], void *arg);
    void *arg;
    /* Called once the port is known and before the first request is taken; may be NULL. */
    void (*bound)(uint16_t port, void *arg);
    /* For tests: 0 means the constants of api/http.h. */
    int64_t first_request_ms, idle_ms, body_ms, reply_ms, tick_ms, keep_alive_ms, refusal_delay_ms;
    int refusals_burst;
    bool slow_loopback; /* wrong tokens from there, too */
};

#define API_WORKERS_DEFAULT 2
#define API_REQUEST_THREADS_DEFAULT 4

/* Plain HTTP is for addresses that only this machine can reach. */
bool api_is_loopback(const char *listen);

/* Listens and serves until api_stop, and sets the service's ear for new events. INVALID (address, or no certificate where
 * one must be), UNAVAILABLE (in use), IO. */
int api_start(const struct api_options *options, struct service *service, struct api **ret_api,
              char ret_error[API_ERROR_MAX]);
uint16_t api_port(const struct api *api);
/* There are new events: for service->events_added. Any thread, never blocks long. */
void api_events_added(struct api *api);
/* Answers what was taken, then closes everything. The store must still run: replies wait for its commits. Accepts NULL. */
void api_stop(struct api *api);
/* After the store was closed, whose writer may tell of events to the last. Accepts NULL. */
void api_free(struct api *api);

#endif
