/* Tokens from a text, a file or a plugin. A plugin runs without a shell, under a deadline, and one at a time. */
#include "server/scheduler/kubernetes/credential.h"

#include "base/child.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/status.h"
#include "base/text.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TOKEN_BYTES_MAX 65536
#define PLUGIN_BYTES_MAX ((size_t)1024 * 1024)
#define EXPIRES_EARLY_MS (30 * MS_PER_S)
#define PLUGIN_WORDS_MAX 160
#define PAUSE_MS_MIN MS_PER_S /* after a plugin has failed; doubles */
#define PAUSE_MS_MAX (10 * MS_PER_S)
#define REFUSED_MS_MIN (5 * MS_PER_S) /* between two tokens that the server does not want */

struct kube_credential {
    const struct kube_access *access;
    pthread_mutex_t lock; /* over what follows */
    char *token;
    uint64_t number;                  /* of the token: how many there were */
    int64_t expires_at;               /* by the wall clock; 0: it lasts until it is refused */
    int64_t pause_ms, rests_until_ms; /* pause_ms 0: the plugin did not fail; by the monotonic clock */
    int64_t refused_ms;               /* when a token was given up last; 0: never */
    char error[JSON_ERROR_MAX];       /* of the plugin that failed */
};

struct kube_credential *kube_credential_new(const struct kube_access *access)
{
    struct kube_credential *credential = own_calloc(1, sizeof(*credential));
    credential->access = access;
    pthread_mutex_init(&credential->lock, NULL);
    return credential;
}

void kube_credential_free(struct kube_credential *credential)
{
    if (credential == NULL)
        return;
    pthread_mutex_destroy(&credential->lock);
    free(credential->token);
    free(credential);
}

static int read_file(const char *path, char **ret_token, char *ret_error)
{
    autofree char *data = NULL;
    size_t len;
    int status = file_read(path, TOKEN_BYTES_MAX, &data, &len);
    if (status != 0) {
        snprintf(ret_error, JSON_ERROR_MAX, "the token cannot be read from %.120s: %s", path, status_meaning(status));
        return STATUS_UNAVAILABLE;
    }
    while (len > 0 && strchr(" \t\r\n", data[len - 1]) != NULL)
        data[--len] = '\0';
    bool clean = len > 0 && strlen(data) == len;
    for (size_t i = 0; i < len && clean; i++)
        clean = data[i] > ' ' && data[i] <= '~';
    if (!clean) {
        snprintf(ret_error, JSON_ERROR_MAX, "%.150s does not hold a token", path);
        return STATUS_UNAVAILABLE;
    }
    *ret_token = TAKE(data);
    return 0;
}

/* Ours, the file's after it, and what plugins are told. Caller frees the list and its last two texts. */
static char **plugin_env(const struct kube_access *access, char *info)
{
    size_t ours = 0, theirs = 0, count = 0;
    while (environ[ours] != NULL)
        ours++;
    while (access->exec_env[theirs] != NULL)
        theirs++;
    char **env = own_calloc(ours + theirs + 2, sizeof(*env));
    for (size_t i = 0; i < ours; i++) {
        bool replaced = text_starts_with(environ[i], "KUBERNETES_EXEC_INFO=");
        for (size_t j = 0; j < theirs && !replaced; j++)
            replaced = strncmp(environ[i], access->exec_env[j], strcspn(access->exec_env[j], "=") + 1) == 0;
        if (!replaced)
            env[count++] = environ[i];
    }
    for (size_t j = 0; j < theirs; j++)
        env[count++] = access->exec_env[j];
    env[count] = info;
    return env;
}

static int plugin_failed(const struct kube_access *access, const char *why, char *ret_error)
{
    char words[PLUGIN_WORDS_MAX];
    text_copy_clean(words, sizeof(words), why, strlen(why));
    snprintf(ret_error, JSON_ERROR_MAX, "credential plugin %.60s: %s", access->exec[0], words);
    return STATUS_UNAVAILABLE;
}

static int run_plugin(const struct kube_access *access, int64_t timeout_ms, char **ret_token, int64_t *ret_expires_at,
                      char *ret_error)
{
    autofree char *info = own_printf("KUBERNETES_EXEC_INFO={\"apiVersion\":\"%s\",\"kind\":\"ExecCredential\","
                                     "\"spec\":{\"interactive\":false}}",
                                     access->exec_version);
    autofree char **env = plugin_env(access, info);
    const struct child_options options = {
        .timeout_ms = timeout_ms, .out_bytes_max = PLUGIN_BYTES_MAX, .env = env, .in_our_group = true};
    struct child_result result;
    char error[JSON_ERROR_MAX];
    int status = child_run((const char *const *)access->exec, &options, &result);
    if (status == STATUS_NOT_FOUND)
        return plugin_failed(access, "there is no such program", ret_error);
    if (status != 0)
        return plugin_failed(access, status_meaning(status), ret_error);
    if (result.exit_code != 0)
        status = plugin_failed(access, result.err[0] != '\0' ? result.err : "it failed without a word", ret_error);
    else if (result.out_cut)
        status = plugin_failed(access, "it printed more than 1 MiB", ret_error);
    else if (kube_exec_credential(result.out, result.out_len, ret_token, ret_expires_at, error) != 0)
        status = plugin_failed(access, error, ret_error);
    child_result_free(&result);
    return status;
}

/* A failure of a moment ago is answered again: many requests wait for one token, and each of them would run the plugin. */
static int renew(struct kube_credential *credential, int64_t timeout_ms, char *ret_error)
{
    int64_t expires_at = 0;
    char *token = NULL;
    if (credential->pause_ms > 0 && clock_mono_ms(clock_system()) < credential->rests_until_ms) {
        text_copy_cut(ret_error, JSON_ERROR_MAX, credential->error);
        return STATUS_UNAVAILABLE;
    }
    int status = run_plugin(credential->access, timeout_ms, &token, &expires_at, ret_error);
    if (status != 0) {
        int64_t pause = credential->pause_ms == 0 ? PAUSE_MS_MIN : 2 * credential->pause_ms;
        credential->pause_ms = pause < PAUSE_MS_MAX ? pause : PAUSE_MS_MAX;
        credential->rests_until_ms = clock_mono_ms(clock_system()) + credential->pause_ms;
        text_copy_cut(credential->error, sizeof(credential->error), ret_error);
        return status;
    }
    free(credential->token);
    credential->token = token;
    credential->number++;
    credential->expires_at = expires_at;
    credential->pause_ms = 0;
    return 0;
}

static int token_of_plugin(struct kube_credential *credential, int64_t timeout_ms, char **ret_token,
                           uint64_t *ret_number, char *ret_error)
{
    int status = 0;
    pthread_mutex_lock(&credential->lock);
    bool expires =
        credential->expires_at != 0 && credential->expires_at - EXPIRES_EARLY_MS <= clock_wall_ms(clock_system());
    if (credential->token == NULL || expires)
        status = renew(credential, timeout_ms, ret_error);
    if (status == 0) {
        *ret_token = own_strdup(credential->token);
        *ret_number = credential->number;
    }
    pthread_mutex_unlock(&credential->lock);
    return status;
}

int kube_credential_token(struct kube_credential *credential, int64_t timeout_ms, char **ret_token,
                          uint64_t *ret_number, char ret_error[JSON_ERROR_MAX])
{
    const struct kube_access *access = credential->access;
    *ret_token = NULL;
    *ret_number = 0;
    if (access->exec != NULL)
        return token_of_plugin(credential, timeout_ms, ret_token, ret_number, ret_error);
    if (access->token_file != NULL)
        return read_file(access->token_file, ret_token, ret_error);
    *ret_token = own_strdup(access->token);
    return 0;
}

/* Of several requests that carried it only the first one counts. A server that wants none of them is not a reason to run the plugin for
 * each request. */
void kube_credential_refused(struct kube_credential *credential, uint64_t number)
{
    int64_t now = clock_mono_ms(clock_system());
    pthread_mutex_lock(&credential->lock);
    if (number == credential->number &&
        (credential->refused_ms == 0 || now - credential->refused_ms >= REFUSED_MS_MIN)) {
        free(TAKE(credential->token));
        credential->refused_ms = now;
    }
    pthread_mutex_unlock(&credential->lock);
}
