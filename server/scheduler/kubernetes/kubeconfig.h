/*
 * How an API server is reached and as whom: one context of a kubeconfig file, or the service account of the pod that hpd runs in.
 */
#ifndef HOLDFAST_SERVER_SCHEDULER_KUBERNETES_KUBECONFIG_H
#define HOLDFAST_SERVER_SCHEDULER_KUBERNETES_KUBECONFIG_H

#include "base/json.h"

#define KUBECONFIG_BYTES_MAX ((size_t)4 * 1024 * 1024)
#define KUBECONFIG_ARGS_MAX 64

/* A PEM text, or the file that has it; both NULL: none. */
struct kube_pem {
    char *data, *file;
};

struct kube_access {
    char *server; /* "https://host:port", without a path */
    char *prefix; /* the path before /api; "": none */
    char *proxy;  /* NULL: as the environment says */
    char *context;
    struct kube_pem ca, certificate, key;
    char *token, *token_file; /* at most one; the file is read again when it changes */
    char **exec;              /* the credential plugin and its arguments, ended by NULL; NULL: none */
    char **exec_env;          /* "NAME=value", ended by NULL */
    char *exec_version;       /* of client.authentication.k8s.io */
};

/* Paths in it are relative to directory; context NULL or "": its current one. INVALID, with the reason in ret_error. */
int kubeconfig_parse(const char *text, size_t len, const char *directory, const char *context,
                     struct kube_access *ret_access, char ret_error[JSON_ERROR_MAX]);
int kubeconfig_read(const char *path, const char *context, struct kube_access *ret_access,
                    char ret_error[JSON_ERROR_MAX]);
/* directory has token and ca.crt; host and port are those of the environment. */
int kubeconfig_in_cluster(const char *directory, const char *host, const char *port, struct kube_access *ret_access,
                          char ret_error[JSON_ERROR_MAX]);
void kube_access_free(struct kube_access *access); /* the contents */

/* What a credential plugin printed. INVALID for anything but an ExecCredential with a token. expires_at 0: it does not say. */
int kube_exec_credential(const char *text, size_t len, char **ret_token, int64_t *ret_expires_at,
                         char ret_error[JSON_ERROR_MAX]);

#endif
