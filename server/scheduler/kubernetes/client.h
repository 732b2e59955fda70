/*
 * Requests to one API server: connections that are kept, a token for each request, a deadline for each call, limits on replies, and
 * refusals put into our words. A server that answers 429 is asked again when it says so, or after pauses that grow, within the deadline.
 *
 * Every call blocks; any thread may make one.
 */
#ifndef HOLDFAST_SERVER_SCHEDULER_KUBERNETES_CLIENT_H
#define HOLDFAST_SERVER_SCHEDULER_KUBERNETES_CLIENT_H

#include "server/scheduler/kubernetes/kubeconfig.h"
#include "server/scheduler/scheduler.h"

#define KUBE_FIELD_MANAGER "holdfast"
#define KUBE_RIGHT_MISSING "HTTP 403: " /* then who cannot do what */
#define KUBE_MERGE_PATCH "application/merge-patch+json"
#define KUBE_STRATEGIC_PATCH "application/strategic-merge-patch+json"

struct kube_client;

/* Takes what access has, whatever it answers. UNAVAILABLE or INVALID, with ret_error (SCHEDULER_ERROR_MAX). */
int kube_client_new(struct kube_access *access, int64_t timeout_ms, struct kube_client **ret_client, char *ret_error);
/* Every call and every watch ends soon, and none begins. */
void kube_client_stop(struct kube_client *client);
/* After the last call has come back. Accepts NULL. */
void kube_client_free(struct kube_client *client);
/* "https://host:port", for people. */
const char *kube_client_server(const struct kube_client *client);
/* Sleeps; false when the client was stopped. */
bool kube_client_sleep(struct kube_client *client, int64_t ms);

/* One call of the vtable: it may need several requests. */
struct kube_call {
    struct kube_client *client;
    int64_t deadline_ms; /* on the monotonic clock */
    char *error;         /* SCHEDULER_ERROR_MAX */
    int http_status;     /* of the last answer … */
    int64_t pause_ms;    /* … and how long it asks to be left alone; 0: it does not say */
    uint64_t token;      /* which token it was asked with */
};
void kube_call_start(struct kube_call *call, struct kube_client *client, char *error);
/* Writes the sentence and returns status. */
int kube_call_fail(struct kube_call *call, int status, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
int64_t kube_call_left_ms(const struct kube_call *call);

struct kube_request {
    const char *method, *path; /* path: "/api/v1/…", with its query */
    const char *content_type;  /* NULL: application/json */
    const json_t *body;        /* NULL: none */
    bool once;                 /* 429 is an answer, not a pause: it is what a budget says */
};
/* 0 and the object answered. NOT_FOUND (404), CONFLICT (409), STALE (410), FULL (429), DENIED (our user lacks a right), INVALID (400,
 * 422), UNAVAILABLE, TIMEOUT, TOO_LARGE, BACKEND (also 401, and 403 of an admission webhook or a policy), with a sentence. ret_json may
 * be NULL. */
int kube_ask(struct kube_call *call, const struct kube_request *request, json_t **ret_json);
int kube_get(struct kube_call *call, const char *path, json_t **ret_json);
/* The same where the answer is no JSON: any bytes, with a zero behind them. Caller frees. */
int kube_get_text(struct kube_call *call, const char *path, char **ret_text, size_t *ret_len);

/* Calls on_line with an empty line when the server accepts the watch, then with each line (zero-terminated). It ends when on_line answers
 * false, the server ends it, or nothing comes for idle_ms. A line that is too long ends it as TOO_LARGE. 0 when the server ended it in
 * order; STALE for 410. */
int kube_watch(struct kube_call *call, const char *path, bool (*on_line)(const char *line, size_t len, void *arg),
               void *arg, int64_t idle_ms);

/* A word as a part of a path or a query. Caller frees. */
char *kube_escape(const char *word);

#endif
