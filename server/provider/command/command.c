/*
 * The driver: requests as JSON, calls, answers. describe has no effect and runs as a child of hpd, under the same limits.
 */
#include "server/provider/command/command.h"

#include "base/child.h"
#include "base/file.h"
#include "base/json.h"
#include "base/status.h"
#include "base/text.h"
#include "server/provider/command/call.h"
#include "server/provider/contract.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PATH_VARIABLE "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define FIXED_VARIABLES 4 /* PATH, LANG, and two about the provider */
#define VERSION 1

struct provider {
    struct provider_ops ops; /* its name is the site's */
    char name[NAME_MAX_BYTES];
    char *directory, *state_dir, *self_path;
    char *environment[COMMAND_VARIABLES_MAX + FIXED_VARIABLES + 1];
    int64_t timeout_ms;
};

static json_t *request_new(const struct provider *p, enum command_action action, const char *key)
{
    json_t *json = json_object();
    json_put_i64(json, "version", VERSION);
    json_put_text(json, "action", command_action_text(action));
    json_put_text(json, "provider", p->name);
    json_put_text(json, "key", key);
    json_put_i64(json, "timeoutSeconds", p->timeout_ms / 1000);
    return json;
}

static char *program_of(const struct provider *p, enum command_action action)
{
    return own_printf("%s/%s", p->directory, command_action_text(action));
}

static int call_once(struct provider *p, enum command_action action, const char *key, const json_t *request,
                     struct provider_instance *ret_instance, char *ret_error)
{
    autofree char *program = program_of(p, action), *input = request == NULL ? NULL : json_dumps(request, 0);
    const struct command_call call = {.action = action,
                                      .key = key,
                                      .state_dir = p->state_dir,
                                      .self_path = p->self_path,
                                      .program = program,
                                      .environment = (const char *const *)p->environment,
                                      .input = input,
                                      .timeout_ms = p->timeout_ms};
    return command_call(&call, ret_instance, ret_error);
}

static int command_launch(struct provider *p, const struct provider_launch *launch,
                          struct provider_instance *ret_instance, char *ret_error)
{
    auto_json json_t *request = request_new(p, COMMAND_ACTION_LAUNCH, launch->key);
    const struct {
        const char *name, *value;
    } members[] = {{"instanceId", launch->instance_id},
                   {"cluster", launch->cluster},
                   {"group", launch->group},
                   {"node", launch->node},
                   {"imageId", launch->image_id},
                   {"release", launch->release},
                   {"zone", launch->zone},
                   {"server", launch->server_url},
                   {"fingerprint", launch->fingerprint},
                   {"token", launch->enrollment_token},
                   {"instanceType", launch->instance_type}};
    for (size_t i = 0; i < ARRAY_LEN(members); i++)
        json_put_text(request, members[i].name, members[i].value);
    return call_once(p, COMMAND_ACTION_LAUNCH, launch->key, request, ret_instance, ret_error);
}

/* The answer to a launch may have been lost, and is still on our disk. UNAVAILABLE while it runs. */
static int find_ref(struct provider *p, const struct provider_target *target, char ret_ref[PROVIDER_REF_MAX_BYTES],
                    char *ret_error)
{
    struct provider_instance launched = {.ref = ""};
    text_copy_cut(ret_ref, PROVIDER_REF_MAX_BYTES, text_or_empty(target->ref));
    if (ret_ref[0] != '\0' || text_or_empty(target->launch_key)[0] == '\0')
        return 0;
    int status = call_once(p, COMMAND_ACTION_LAUNCH, target->launch_key, NULL, &launched, ret_error);
    if (status == 0)
        text_copy_cut(ret_ref, PROVIDER_REF_MAX_BYTES, launched.ref);
    if (status == STATUS_UNAVAILABLE)
        snprintf(ret_error, PROVIDER_ERROR_MAX, "the launch of %s still runs", target->instance_id);
    return status == STATUS_NOT_FOUND ? 0 : status;
}

/* Both ids: an executable may know a machine by ours, which it had at the launch. */
static int request_about(struct provider *p, enum command_action action, const char *key,
                         const struct provider_target *target, json_t **ret_request, char *ret_error)
{
    char ref[PROVIDER_REF_MAX_BYTES];
    int status = find_ref(p, target, ref, ret_error);
    if (status != 0)
        return status;
    json_t *request = request_new(p, action, key);
    json_put_text(request, "instanceId", target->instance_id);
    json_put_text(request, "ref", ref);
    json_put_text(request, "launchKey", target->launch_key);
    *ret_request = request;
    return 0;
}

/* An executable without an effect. */
static int run_now(struct provider *p, enum command_action action, const json_t *request,
                   struct child_result *ret_result)
{
    autofree char *program = program_of(p, action), *input = json_dumps(request, 0);
    if (input == NULL)
        return STATUS_INVALID;
    const struct child_options options = {.input = input,
                                          .input_len = strlen(input),
                                          .timeout_ms = p->timeout_ms,
                                          .out_bytes_max = COMMAND_ANSWER_BYTES_MAX,
                                          .env = p->environment,
                                          .directory = "/"};
    return child_run((const char *const[]){program, NULL}, &options, ret_result);
}

static struct command_run run_of(int status, const struct child_result *result)
{
    return (struct command_run){.status = status,
                                .exit_code = result->exit_code,
                                .out = text_or_empty(result->out),
                                .err = text_or_empty(result->err),
                                .out_cut = result->out_cut};
}

static int command_describe(struct provider *p, const struct provider_target *target,
                            struct provider_instance *ret_instance, char *ret_error)
{
    auto_json json_t *request = NULL;
    struct child_result result = {0};
    int status = request_about(p, COMMAND_ACTION_DESCRIBE, "", target, &request, ret_error);
    if (status != 0)
        return status;
    status = run_now(p, COMMAND_ACTION_DESCRIBE, request, &result);
    const struct command_run run = run_of(status, &result);
    status = command_answer(COMMAND_ACTION_DESCRIBE, &run, ret_instance, ret_error);
    child_result_free(&result);
    return status;
}

static int change(struct provider *p, enum command_action action, const struct provider_target *target, const char *key,
                  char *ret_error)
{
    auto_json json_t *request = NULL;
    struct provider_instance unused;
    int status = request_about(p, action, key, target, &request, ret_error);
    return status != 0 ? status : call_once(p, action, key, request, &unused, ret_error);
}

static int command_reboot(struct provider *p, const struct provider_target *target, const char *key, char *ret_error)
{
    return change(p, COMMAND_ACTION_REBOOT, target, key, ret_error);
}

static int command_terminate(struct provider *p, const struct provider_target *target, const char *key, char *ret_error)
{
    return change(p, COMMAND_ACTION_TERMINATE, target, key, ret_error);
}

/* An executable that a site may leave out: it is asked about all machines. */
static int run_listing(struct provider *p, const char *action, struct child_result *ret_result)
{
    autofree char *program = own_printf("%s/%s", p->directory, action);
    auto_json json_t *request = json_object();
    json_put_i64(request, "version", VERSION);
    json_put_text(request, "action", action);
    json_put_text(request, "provider", p->name);
    json_put_i64(request, "timeoutSeconds", p->timeout_ms / 1000);
    autofree char *input = json_dumps(request, 0);
    const struct child_options options = {.input = input,
                                          .input_len = strlen(input),
                                          .timeout_ms = p->timeout_ms,
                                          .out_bytes_max = COMMAND_LIST_BYTES_MAX,
                                          .env = p->environment,
                                          .directory = "/"};
    return child_run((const char *const[]){program, NULL}, &options, ret_result);
}

static int command_list(struct provider *p, struct provider_listed **ret_list, size_t *ret_count, char *ret_error)
{
    struct child_result result = {0};
    int status = run_listing(p, "list", &result);
    const struct command_run run = run_of(status, &result);
    status = command_list_answer(&run, ret_list, ret_count, ret_error);
    child_result_free(&result);
    return status;
}

static int command_events(struct provider *p, struct provider_notice **ret_notices, size_t *ret_count, char *ret_error)
{
    struct child_result result = {0};
    int status = run_listing(p, "events", &result);
    const struct command_run run = run_of(status, &result);
    status = command_events_answer(&run, ret_notices, ret_count, ret_error);
    child_result_free(&result);
    return status;
}

static bool has(const struct provider *p, const char *action)
{
    autofree char *program = own_printf("%s/%s", p->directory, action);
    return access(program, X_OK) == 0;
}

static void command_test(struct provider *p, const struct provider_test *test)
{
    struct provider_test mine = *test;
    mine.directory = p->directory;
    provider_contract((struct provider_driver){.ops = &p->ops, .self = p}, &mine);
}

static void command_free(struct provider *p)
{
    if (p == NULL)
        return;
    for (size_t i = 0; i < ARRAY_LEN(p->environment); i++)
        free(p->environment[i]);
    free(p->directory);
    free(p->state_dir);
    free(p->self_path);
    free(p);
}

/* --- making one ------------------------------------------------------------------------------------- */

static void make_environment(struct provider *p, const char *const *variables)
{
    size_t count = 0;
    p->environment[count++] = own_strdup(PATH_VARIABLE);
    p->environment[count++] = own_strdup("LANG=C.UTF-8");
    p->environment[count++] = own_printf("HOLDFAST_PROVIDER=%s", p->name);
    p->environment[count++] = own_printf("HOLDFAST_DIRECTORY=%s", p->directory);
    for (size_t i = 0; variables != NULL && variables[i] != NULL && i < COMMAND_VARIABLES_MAX; i++)
        p->environment[count++] = own_strdup(variables[i]);
}

static int check_programs(const struct provider *p, char *ret_error)
{
    for (int action = 0; action < COMMAND_ACTION_COUNT; action++) {
        autofree char *program = program_of(p, (enum command_action)action);
        if (access(program, X_OK) != 0) {
            snprintf(ret_error, PROVIDER_ERROR_MAX, "%.200s is missing, or may not be executed", program);
            return STATUS_INVALID;
        }
    }
    return 0;
}

int command_new(const struct command_options *options, struct provider_driver *ret_driver, char *ret_error)
{
    struct provider *p = own_calloc(1, sizeof(*p));
    p->ops = (struct provider_ops){.name = p->name,
                                   .kind = "command",
                                   .test = command_test,
                                   .launch = command_launch,
                                   .describe = command_describe,
                                   .reboot = command_reboot,
                                   .terminate = command_terminate,
                                   .free = command_free};
    text_copy_cut(p->name, sizeof(p->name), options->name);
    p->directory = own_strdup(options->directory);
    p->state_dir = own_strdup(options->state_dir);
    p->self_path = own_strdup(options->self_path);
    p->timeout_ms = options->timeout_ms;
    make_environment(p, options->variables);
    if (has(p, "list"))
        p->ops.list = command_list;
    if (has(p, "events"))
        p->ops.notices = command_events;
    p->ops.ends_orphans = options->end_orphans;
    int status = check_programs(p, ret_error);
    if (status == 0) {
        status = file_make_dirs(p->state_dir, 0700);
        if (status != 0)
            snprintf(ret_error, PROVIDER_ERROR_MAX, "%.200s: %s", p->state_dir, status_meaning(status));
    }
    if (status != 0) {
        command_free(p);
        return status;
    }
    command_calls_prune(p->state_dir);
    *ret_driver = (struct provider_driver){.ops = &p->ops, .self = p};
    return 0;
}
