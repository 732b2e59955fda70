/*
 * All objects of one kind, kept by a list and a watch: a thread of its own lists page by page, follows the changes, goes on where the
 * watch ended, and lists again where the server has forgotten that place.
 */
#ifndef HOLDFAST_SERVER_SCHEDULER_KUBERNETES_CACHE_H
#define HOLDFAST_SERVER_SCHEDULER_KUBERNETES_CACHE_H

#include "server/scheduler/kubernetes/client.h"

struct kube_cache;

/* What is kept of an object: made from its JSON, NULL for one that is not kept. The key is its uid. */
struct kube_cache_kind {
    const char *path;  /* "/api/v1/nodes" */
    const char *query; /* "" or "fieldSelector=…", escaped */
    void *(*read)(const json_t *object);
    uint64_t (*version)(const void *kept);
};

/* Starts its thread. client outlives it. */
struct kube_cache *kube_cache_new(struct kube_client *client, const struct kube_cache_kind *kind);
/* After kube_client_stop. Accepts NULL. What was kept is freed with free(). */
void kube_cache_free(struct kube_cache *cache);
/* Waits until it has all there is. UNAVAILABLE and others with the reason while its list or watch fails. */
int kube_cache_ready(struct kube_cache *cache, struct kube_call *call);
/* An object as we have just seen it, in the answer to a change of ours: what is shown from now on is not older. */
void kube_cache_put(struct kube_cache *cache, const json_t *object);
/* Calls for each that is kept, in no order, under the cache's lock. */
void kube_cache_each(struct kube_cache *cache, void (*each)(const void *kept, void *arg), void *arg);
/* One line of a watch, as if it had come; for the fuzzer and the tests. 0, STALE where it has to list again, or BACKEND. */
int kube_cache_line(struct kube_cache *cache, const char *line, size_t len);
/* The same cache without a thread: what is kept comes from kube_cache_line and kube_cache_put alone. */
struct kube_cache *kube_cache_new_still(const struct kube_cache_kind *kind);

#endif
