/*
 * The Kubernetes backend: one cluster by its API server. Its nodes carry HyperPod's labels and taint, pods leave by the eviction API.
 */
#ifndef HOLDFAST_SERVER_SCHEDULER_KUBERNETES_KUBERNETES_H
#define HOLDFAST_SERVER_SCHEDULER_KUBERNETES_KUBERNETES_H

#include "server/scheduler/scheduler.h"

#define KUBERNETES_SERVICE_ACCOUNT "/var/run/secrets/kubernetes.io/serviceaccount"

struct kubernetes_options {
    const char *kubeconfig;      /* NULL: the service account of the pod that hpd runs in */
    const char *context;         /* NULL: the current one of the file */
    const char *service_account; /* the directory of token and ca.crt */
    int64_t timeout_ms;          /* a call's deadline */
    bool training_jobs;          /* HyperPodPyTorchJobs are carried out */
};

/* Reads the kubeconfig; the first call connects. INVALID, NOT_FOUND, IO or UNAVAILABLE with the reason. The driver is freed with
 * driver.ops->free. */
int kubernetes_new(const struct kubernetes_options *options, struct scheduler_driver *ret_driver,
                   char ret_error[SCHEDULER_ERROR_MAX]);

/* They reach one API server; false where either cannot be read. */
bool kubernetes_options_are_alike(const struct kubernetes_options *a, const struct kubernetes_options *b);
/* Logs what keeps it from working now; path: of its keys in the configuration. */
void kubernetes_options_warn(const struct kubernetes_options *options, const char *path);

#endif
