/*
 * Reads a kubeconfig: the cluster, the user and the context that hpd goes by, and nothing else of the file.
 *
 * What would weaken the connection is refused: a server whose certificate is not verified, plain HTTP beyond the loopback, passwords.
 * What newer versions of Kubernetes removed (auth-provider) is refused with the thing that replaced it.
 */
#include "server/scheduler/kubernetes/kubeconfig.h"

#include "base/base64.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/status.h"
#include "base/text.h"
#include "base/url.h"
#include "base/yaml.h"

#include <stdio.h>
#include <string.h>

#define EXEC_API "client.authentication.k8s.io/"

static int refuse(char *ret_error, const char *what, const char *why)
{
    snprintf(ret_error, JSON_ERROR_MAX, "%.100s: %.140s", what, why);
    return STATUS_INVALID;
}

static char *take_text(const json_t *object, const char *key)
{
    const char *text = json_member_text(object, key);
    return text[0] == '\0' ? NULL : own_strdup(text);
}

/* The element of a list of {name, value: {…}} that has the name; NULL: there is none. */
static const json_t *find_named(const json_t *root, const char *list, const char *name, const char *value)
{
    const json_t *all = json_object_get(root, list);
    for (size_t i = 0; i < json_array_size(all); i++) {
        const json_t *one = json_array_get(all, i);
        if (strcmp(json_member_text(one, "name"), name) == 0)
            return json_object_get(one, value);
    }
    return NULL;
}

static char *path_in(const char *directory, const char *path)
{
    return path[0] == '/' || directory[0] == '\0' ? own_strdup(path) : own_printf("%s/%s", directory, path);
}

/* Of "name" as a path and "name-data" as base 64; the data wins, as in kubectl. */
static int read_pem(const json_t *object, const char *name, const char *directory, struct kube_pem *pem,
                    char *ret_error)
{
    autofree char *data_key = own_printf("%s-data", name);
    const char *data = json_member_text(object, data_key), *file = json_member_text(object, name);
    if (data[0] != '\0') {
        size_t len = strlen(data), size = len + 1, got;
        char *pem_text = own_calloc(1, size);
        if (base64_decode(data, len, pem_text, size - 1, &got) != 0 || memchr(pem_text, '\0', got) != NULL) {
            free(pem_text);
            return refuse(ret_error, data_key, "it is not base 64 of a PEM text");
        }
        pem->data = pem_text;
    } else if (file[0] != '\0') {
        pem->file = path_in(directory, file);
    }
    return 0;
}

static int read_server(const char *server, struct kube_access *access, char *ret_error)
{
    struct url url;
    const char *why;
    const char *scheme = strstr(server, "://");
    const char *path = scheme == NULL ? NULL : strchr(scheme + 3, '/');
    size_t base_len = path == NULL ? strlen(server) : (size_t)(path - server),
           path_len = path == NULL ? 0 : strlen(path);
    while (path_len > 0 && path[path_len - 1] == '/')
        path_len--;
    access->server = own_printf("%.*s", (int)base_len, server);
    access->prefix = own_printf("%.*s", (int)path_len, path == NULL ? "" : path);
    if (url_parse(access->server, &url, &why) != 0)
        return refuse(ret_error, server, why);
    for (const char *c = access->prefix; *c != '\0'; c++)
        if (*c <= ' ' || *c > '~' || *c == '?' || *c == '#')
            return refuse(ret_error, server, "the path of a server has no such characters");
    return 0;
}

/* Those that kubectl takes. */
static int read_proxy(const json_t *cluster, struct kube_access *access, char *ret_error)
{
    static const char *const schemes[] = {"http://", "https://", "socks5://"};
    const char *proxy = json_member_text(cluster, "proxy-url");
    if (proxy[0] == '\0')
        return 0;
    for (size_t i = 0; i < ARRAY_LEN(schemes); i++)
        if (text_starts_with(proxy, schemes[i]) && proxy[strlen(schemes[i])] != '\0' && text_is_clean(proxy)) {
            access->proxy = own_strdup(proxy);
            return 0;
        }
    return refuse(ret_error, "proxy-url", "it is http://, https:// or socks5:// and a host");
}

static int read_cluster(const json_t *cluster, const char *directory, struct kube_access *access, char *ret_error)
{
    const char *server = json_member_text(cluster, "server");
    if (server[0] == '\0')
        return refuse(ret_error, "cluster", "it has no server");
    if (json_is_true(json_object_get(cluster, "insecure-skip-tls-verify")))
        return refuse(ret_error, "insecure-skip-tls-verify",
                      "hpd always verifies the server; give certificate-authority-data");
    if (json_member_text(cluster, "tls-server-name")[0] != '\0')
        return refuse(ret_error, "tls-server-name", "hpd verifies the name in server, and no other");
    int status = read_server(server, access, ret_error);
    if (status == 0)
        status = read_proxy(cluster, access, ret_error);
    return status != 0 ? status : read_pem(cluster, "certificate-authority", directory, &access->ca, ret_error);
}

/* --- the credential plugin ------------------------------------------------------------------------------------------ */

static int read_args(const json_t *exec, const char *directory, struct kube_access *access, char *ret_error)
{
    const json_t *args = json_object_get(exec, "args");
    const char *command = json_member_text(exec, "command");
    size_t count = json_array_size(args);
    if (command[0] == '\0' || count > KUBECONFIG_ARGS_MAX)
        return refuse(ret_error, "exec", "it needs a command, and at most 64 args");
    access->exec = own_calloc(count + 2, sizeof(*access->exec));
    /* As kubectl: a name is found in PATH, a path with a slash is relative to the file. */
    access->exec[0] = strchr(command, '/') != NULL ? path_in(directory, command) : own_strdup(command);
    for (size_t i = 0; i < count; i++) {
        const char *arg = json_string_value(json_array_get(args, i));
        if (arg == NULL)
            return refuse(ret_error, "exec.args", "each of them is a text");
        access->exec[i + 1] = own_strdup(arg);
    }
    return 0;
}

static int read_exec(const json_t *exec, const char *directory, struct kube_access *access, char *ret_error)
{
    const json_t *env = json_object_get(exec, "env");
    const char *version = json_member_text(exec, "apiVersion");
    if (strcmp(version, EXEC_API "v1") != 0 && strcmp(version, EXEC_API "v1beta1") != 0)
        return refuse(ret_error, "exec.apiVersion", "it must be " EXEC_API "v1 or v1beta1");
    if (strcmp(json_member_text(exec, "interactiveMode"), "Always") == 0)
        return refuse(ret_error, "exec.interactiveMode", "nobody is there to be asked");
    if (json_array_size(env) > KUBECONFIG_ARGS_MAX)
        return refuse(ret_error, "exec.env", "it has at most 64 variables");
    access->exec_version = own_strdup(version);
    access->exec_env = own_calloc(json_array_size(env) + 1, sizeof(*access->exec_env));
    for (size_t i = 0; i < json_array_size(env); i++) {
        const json_t *one = json_array_get(env, i);
        const char *name = json_member_text(one, "name");
        if (name[0] == '\0' || strchr(name, '=') != NULL)
            return refuse(ret_error, "exec.env", "each variable has a name without =");
        access->exec_env[i] = own_printf("%s=%s", name, json_member_text(one, "value"));
    }
    return read_args(exec, directory, access, ret_error);
}

int kube_exec_credential(const char *text, size_t len, char **ret_token, int64_t *ret_expires_at,
                         char ret_error[JSON_ERROR_MAX])
{
    auto_json json_t *json = NULL;
    int status = json_parse(text, len, KUBECONFIG_BYTES_MAX, &json, ret_error);
    if (status != 0)
        return STATUS_INVALID;
    const json_t *said = json_object_get(json, "status");
    const char *token = json_member_text(said, "token"), *until = json_member_text(said, "expirationTimestamp");
    int64_t expires_at = 0;
    if (strcmp(json_member_text(json, "kind"), "ExecCredential") != 0)
        return refuse(ret_error, "kind", "it must be ExecCredential");
    if (token[0] == '\0')
        return refuse(ret_error, "status.token", "it is missing; certificates of plugins are not taken");
    for (const char *c = token; *c != '\0'; c++)
        if (*c <= ' ' || *c > '~')
            return refuse(ret_error, "status.token", "it holds more than a token");
    if (until[0] != '\0' && clock_parse(until, &expires_at) != 0)
        return refuse(ret_error, "status.expirationTimestamp", "it is no time of RFC 3339");
    *ret_token = own_strdup(token);
    *ret_expires_at = expires_at;
    return 0;
}

/* --- the user ------------------------------------------------------------------------------------------------------- */

static int read_user(const json_t *user, const char *directory, struct kube_access *access, char *ret_error)
{
    const json_t *exec = json_object_get(user, "exec");
    const char *file = json_member_text(user, "tokenFile");
    if (json_object_get(user, "auth-provider") != NULL)
        return refuse(ret_error, "auth-provider", "Kubernetes 1.26 removed it: use an exec plugin");
    if (json_object_get(user, "username") != NULL || json_object_get(user, "password") != NULL)
        return refuse(ret_error, "username",
                      "Kubernetes 1.19 removed passwords: use a certificate, a token or an exec plugin");
    int status = read_pem(user, "client-certificate", directory, &access->certificate, ret_error);
    if (status == 0)
        status = read_pem(user, "client-key", directory, &access->key, ret_error);
    if (status != 0)
        return status;
    bool certificate = access->certificate.data != NULL || access->certificate.file != NULL;
    bool key = access->key.data != NULL || access->key.file != NULL;
    if (certificate != key)
        return refuse(ret_error, "client-certificate", "a certificate and its key go together");
    access->token_file = file[0] == '\0' ? NULL : path_in(directory, file);
    access->token = access->token_file != NULL ? NULL : take_text(user, "token");
    if (access->token != NULL && strpbrk(access->token, "\r\n") != NULL)
        return refuse(ret_error, "token", "it holds a line break");
    return json_is_object(exec) ? read_exec(exec, directory, access, ret_error) : 0;
}

static int read_context(const json_t *root, const char *directory, const char *name, struct kube_access *access,
                        char *ret_error)
{
    const char *current = name != NULL && name[0] != '\0' ? name : json_member_text(root, "current-context");
    if (current[0] == '\0')
        return refuse(ret_error, "current-context", "it is empty; name a context");
    const json_t *context = find_named(root, "contexts", current, "context");
    if (context == NULL)
        return refuse(ret_error, current, "the file has no such context");
    const json_t *cluster = find_named(root, "clusters", json_member_text(context, "cluster"), "cluster");
    if (cluster == NULL)
        return refuse(ret_error, current, "the cluster of this context is not in the file");
    const json_t *user = find_named(root, "users", json_member_text(context, "user"), "user");
    if (user == NULL)
        return refuse(ret_error, current, "the user of this context is not in the file");
    access->context = own_strdup(current);
    int status = read_cluster(cluster, directory, access, ret_error);
    return status != 0 ? status : read_user(user, directory, access, ret_error);
}

int kubeconfig_parse(const char *text, size_t len, const char *directory, const char *context,
                     struct kube_access *ret_access, char ret_error[JSON_ERROR_MAX])
{
    auto_json json_t *root = NULL;
    struct kube_access access = {0};
    int status = yaml_parse(text, len, KUBECONFIG_BYTES_MAX, &root, ret_error);
    if (status != 0)
        return STATUS_INVALID;
    if (!json_is_object(root))
        return refuse(ret_error, "kubeconfig", "it is no mapping");
    status = read_context(root, directory, context, &access, ret_error);
    if (status != 0) {
        kube_access_free(&access);
        return status;
    }
    *ret_access = access;
    return 0;
}

int kubeconfig_read(const char *path, const char *context, struct kube_access *ret_access,
                    char ret_error[JSON_ERROR_MAX])
{
    autofree char *text = NULL;
    size_t len;
    const char *slash = strrchr(path, '/');
    autofree char *directory = own_printf("%.*s", slash == NULL ? 0 : (int)(slash - path), path);
    int status = file_read(path, KUBECONFIG_BYTES_MAX, &text, &len);
    if (status != 0) {
        snprintf(ret_error, JSON_ERROR_MAX, "%.150s cannot be read: %s", path, status_meaning(status));
        return status;
    }
    return kubeconfig_parse(text, len, directory, context, ret_access, ret_error);
}

int kubeconfig_in_cluster(const char *directory, const char *host, const char *port, struct kube_access *ret_access,
                          char ret_error[JSON_ERROR_MAX])
{
    if (host == NULL || host[0] == '\0' || port == NULL || port[0] == '\0')
        return refuse(ret_error, "KUBERNETES_SERVICE_HOST",
                      "it is not set: hpd does not run in a pod; give kubeconfig");
    const bool ipv6 = strchr(host, ':') != NULL;
    autofree char *server = own_printf("https://%s%s%s:%s", ipv6 ? "[" : "", host, ipv6 ? "]" : "", port);
    struct kube_access access = {0};
    int status = read_server(server, &access, ret_error);
    if (status != 0) {
        kube_access_free(&access);
        return status;
    }
    access.context = own_strdup("in-cluster");
    access.token_file = own_printf("%s/token", directory);
    access.ca.file = own_printf("%s/ca.crt", directory);
    *ret_access = access;
    return 0;
}

static void free_list(char **list)
{
    for (size_t i = 0; list != NULL && list[i] != NULL; i++)
        free(list[i]);
    free(list);
}

static void free_secret(char *text)
{
    if (text != NULL)
        explicit_bzero(text, strlen(text));
    free(text);
}

static void free_pem(struct kube_pem *pem)
{
    free_secret(pem->data);
    free(pem->file);
}

void kube_access_free(struct kube_access *access)
{
    free(access->server);
    free(access->prefix);
    free(access->proxy);
    free(access->context);
    free_pem(&access->ca);
    free_pem(&access->certificate);
    free_pem(&access->key);
    free_secret(access->token);
    free(access->token_file);
    free_list(access->exec);
    free_list(access->exec_env);
    free(access->exec_version);
    *access = (struct kube_access){0};
}
