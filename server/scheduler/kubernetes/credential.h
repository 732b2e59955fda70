/*
 * The token that a request carries: a text, a file that is read for each request (so a rotated one counts at once), or what a credential
 * plugin printed, kept until shortly before it expires. A plugin that fails is left alone for a while. Thread-safe.
 */
#ifndef HOLDFAST_SERVER_SCHEDULER_KUBERNETES_CREDENTIAL_H
#define HOLDFAST_SERVER_SCHEDULER_KUBERNETES_CREDENTIAL_H

#include "server/scheduler/kubernetes/kubeconfig.h"

struct kube_credential;

/* access has to live as long. */
struct kube_credential *kube_credential_new(const struct kube_access *access);
void kube_credential_free(struct kube_credential *credential); /* accepts NULL */
/* *ret_token is NULL where there is none: a client certificate, or nothing. Caller frees. *ret_number says which of the plugin's it is.
 * UNAVAILABLE, TIMEOUT or INVALID. */
int kube_credential_token(struct kube_credential *credential, int64_t timeout_ms, char **ret_token,
                          uint64_t *ret_number, char ret_error[JSON_ERROR_MAX]);
/* The server refused the token of that number: the plugin is asked for another one, but not again and again. */
void kube_credential_refused(struct kube_credential *credential, uint64_t number);

#endif
