/*
 * Calls with an effect, once each. The lock of a call goes from hpd over to the process that runs it, without ever being free: so a
 * hpd that was killed and started again finds it held while the executable runs, and its outcome afterwards.
 */
#include "server/provider/command/call.h"

#include "base/child.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/id.h"
#include "base/json.h"
#include "base/log.h"
#include "base/status.h"
#include "base/text.h"
#include "server/provider/command/command.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEPT_BYTES_MAX (1024 * 1024)
#define GRACE_MS 10000                  /* the process ends its executable first, and then itself */
#define PRUNE_AFTER_S (30L * 24 * 3600) /* no operation goes on for so long */

static char *in(const char *dir, const char *name)
{
    return own_printf("%s/%s", dir, name);
}

/* --- the process that runs it ----------------------------------------------------------------------- */

static const char **texts_of(const json_t *list)
{
    const char **texts = own_calloc(json_array_size(list) + 1, sizeof(*texts));
    for (size_t i = 0; i < json_array_size(list); i++)
        texts[i] = json_string_value(json_array_get(list, i));
    return texts;
}

static int keep_outcome(const char *dir, enum command_action action, const struct command_run *run)
{
    struct provider_instance unused;
    char error[PROVIDER_ERROR_MAX];
    char err[PROVIDER_ERROR_MAX];
    command_last_line(run->err, err, sizeof(err));
    auto_json json_t *json = json_object();
    json_put(json, "final", json_boolean(command_answer(action, run, &unused, error) == 0));
    json_put_i64(json, "status", run->status);
    json_put_i64(json, "exitCode", run->exit_code);
    json_put(json, "out", json_string(run->out));
    json_put_text(json, "err", err);
    json_put(json, "outCut", json_boolean(run->out_cut));
    autofree char *text = json_dumps(json, 0), *path = in(dir, "outcome.json");
    return text == NULL ? STATUS_IO : file_write(path, text, strlen(text), 0600);
}

static int run_request(const char *dir, const json_t *request)
{
    const char *input = json_string_value(json_object_get(request, "input"));
    const char *program = json_string_value(json_object_get(request, "program"));
    autofree const char **env = texts_of(json_object_get(request, "environment"));
    enum command_action action;
    if (input == NULL || program == NULL || command_action_parse(json_member_text(request, "action"), &action) != 0)
        return STATUS_INVALID;
    const struct child_options options = {
        .input = input,
        .input_len = strlen(input),
        .timeout_ms = json_integer_value(json_object_get(request, "timeoutMs")),
        .out_bytes_max = COMMAND_ANSWER_BYTES_MAX,
        .env = (char *const *)(uintptr_t)env,
        .directory = "/",
    };
    struct child_result result = {0};
    struct command_run run = {.status = child_run((const char *const[]){program, NULL}, &options, &result)};
    run.exit_code = result.exit_code;
    /* What is no text is no answer; what was done is told by the exit code all the same. */
    bool is_text =
        result.out != NULL && strlen(result.out) == result.out_len && text_is_utf8(result.out, result.out_len);
    run.out = is_text || result.out == NULL ? text_or_empty(result.out) : "no text";
    run.err = text_or_empty(result.err);
    run.out_cut = result.out_cut;
    int status = keep_outcome(dir, action, &run);
    child_result_free(&result);
    return status;
}

int command_call_main(const char *dir)
{
    autofree char *lock = in(dir, "lock"), *path = in(dir, "request.json"), *data = NULL;
    auto_json json_t *request = NULL;
    char error[JSON_ERROR_MAX];
    size_t len;
    if (file_lock_inherited(lock, CHILD_KEPT_FD) != 0) {
        log_error("%s is not the directory of a call; hpd starts calls by itself", dir);
        return 2;
    }
    int status = file_read(path, KEPT_BYTES_MAX, &data, &len);
    if (status == 0)
        status = json_parse(data, len, KEPT_BYTES_MAX, &request, error);
    (void)unlink(path); /* it holds the token */
    if (status == 0)
        status = run_request(dir, request);
    if (status != 0)
        log_error("%s: %s", dir, status_meaning(status));
    return status == 0 ? 0 : 1;
}

/* --- hpd's side --------------------------------------------------------------------------------------- */

/* NOT_FOUND: nothing came of it yet. ret_final: it is not run again. */
static int read_outcome(const struct command_call *call, const char *dir, bool *ret_final, int *ret_status,
                        struct provider_instance *ret_instance, char *ret_error)
{
    autofree char *path = in(dir, "outcome.json"), *data = NULL;
    auto_json json_t *json = NULL;
    char error[JSON_ERROR_MAX];
    size_t len;
    int status = file_read(path, KEPT_BYTES_MAX, &data, &len);
    if (status == 0 && json_parse(data, len, KEPT_BYTES_MAX, &json, error) != 0)
        status = STATUS_NOT_FOUND; /* ours, and damaged: the key makes another run safe */
    if (status != 0)
        return status;
    const struct command_run run = {
        .status = (int)json_integer_value(json_object_get(json, "status")),
        .exit_code = (int)json_integer_value(json_object_get(json, "exitCode")),
        .out = json_member_text(json, "out"),
        .err = json_member_text(json, "err"),
        .out_cut = json_is_true(json_object_get(json, "outCut")),
    };
    *ret_final = json_is_true(json_object_get(json, "final"));
    *ret_status = command_answer(call->action, &run, ret_instance, ret_error);
    return 0;
}

static int write_request(const struct command_call *call, const char *dir)
{
    auto_json json_t *json = json_object();
    json_t *environment = json_array();
    for (size_t i = 0; call->environment[i] != NULL; i++)
        json_array_append_new(environment, json_string(call->environment[i]));
    json_put_text(json, "action", command_action_text(call->action));
    json_put_text(json, "program", call->program);
    json_put(json, "environment", environment);
    json_put_text(json, "input", call->input);
    json_put_i64(json, "timeoutMs", call->timeout_ms);
    autofree char *text = json_dumps(json, 0), *path = in(dir, "request.json");
    return text == NULL ? STATUS_INVALID : file_write(path, text, strlen(text), 0600);
}

/* Waits until the process that has the lock has ended. TIMEOUT; 0 with the lock. */
static int wait_lock(const char *lock, int64_t until, int *ret_fd)
{
    int status = file_lock_within(lock, until - clock_mono_ms(clock_system()), ret_fd);
    return status == STATUS_CONFLICT ? STATUS_TIMEOUT : status;
}

/* The lock is ours. It comes back free, or with a run that goes on. */
static int start(const struct command_call *call, const char *dir, int lock)
{
    pid_t pid;
    autofree char *outcome = in(dir, "outcome.json"), *log = in(dir, "log");
    const char *const argv[] = {call->self_path, "provider-call", dir, NULL};
    if (unlink(outcome) != 0 && errno != ENOENT)
        return STATUS_IO;
    int status = write_request(call, dir);
    return status != 0 ? status : child_spawn_detached(argv, NULL, "/", log, lock, &pid);
}

static int refuse(char *ret_error, int status, const char *why)
{
    snprintf(ret_error, PROVIDER_ERROR_MAX, "%s: %s", why, status_meaning(status));
    return status;
}

static char *call_dir(const struct command_call *call)
{
    char hash[ID_SHA256_HEX_MAX];
    autofree char *name = own_printf("%s %s", command_action_text(call->action), call->key);
    id_sha256_hex(name, strlen(name), hash);
    return own_printf("%s/calls/%s", call->state_dir, hash);
}

/* What is on disk, with nobody who runs it. */
static int look(const struct command_call *call, const char *dir, struct provider_instance *ret_instance,
                char *ret_error)
{
    bool final;
    int fd, answer = 0;
    autofree char *lock = in(dir, "lock");
    if (!file_exists(dir))
        return STATUS_NOT_FOUND;
    int status = file_lock(lock, &fd);
    if (status != 0)
        return status == STATUS_CONFLICT ? STATUS_UNAVAILABLE : status;
    status = read_outcome(call, dir, &final, &answer, ret_instance, ret_error);
    close(fd);
    return status != 0 ? status : final ? answer : STATUS_NOT_FOUND;
}

int command_call(const struct command_call *call, struct provider_instance *ret_instance, char *ret_error)
{
    autofree char *dir = call_dir(call), *lock = in(dir, "lock");
    int64_t until = clock_mono_ms(clock_system()) + call->timeout_ms + GRACE_MS;
    bool final = false;
    int fd = -1, answer = 0;
    if (call->input == NULL)
        return look(call, dir, ret_instance, ret_error);
    int status = file_make_dirs(dir, 0700);
    if (status == 0)
        status = wait_lock(lock, until, &fd);
    if (status != 0)
        return refuse(ret_error, status, status == STATUS_TIMEOUT ? "an earlier run goes on" : dir);
    status = read_outcome(call, dir, &final, &answer, ret_instance, ret_error);
    if (status == 0 && final) {
        close(fd);
        return answer;
    }
    status = start(call, dir, fd);
    close(fd);
    if (status != 0)
        return refuse(ret_error, status, "the call could not be started");
    status = wait_lock(lock, until, &fd);
    if (status == 0) {
        status = read_outcome(call, dir, &final, &answer, ret_instance, ret_error);
        close(fd);
    }
    if (status != 0)
        return refuse(ret_error, status == STATUS_TIMEOUT ? STATUS_TIMEOUT : STATUS_UNAVAILABLE,
                      "the call ended without an outcome");
    return answer;
}

void command_calls_prune(const char *state_dir)
{
    autofree char *calls = in(state_dir, "calls");
    DIR *list = opendir(calls);
    time_t before = (time_t)(clock_wall_ms(clock_system()) / 1000) - PRUNE_AFTER_S;
    for (const struct dirent *entry; list != NULL && (entry = readdir(list)) != NULL;) {
        struct stat found;
        autofree char *dir = in(calls, entry->d_name);
        if (strlen(entry->d_name) == ID_SHA256_HEX_MAX - 1 && stat(dir, &found) == 0 && found.st_mtime < before)
            (void)file_remove_tree(dir);
    }
    if (list != NULL)
        closedir(list);
}
