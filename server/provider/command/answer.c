/*
 * Answers of a site's executables. The output is read strictly: a member that nobody knows is a misspelt one, and "done" with an
 * answer that cannot be read is a fault of the executable, which is run again once it is fixed.
 */
#include "server/provider/command/answer.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

ENUM_DEFINE(command_action, COMMAND_ACTION_LIST)

#define LISTED_MAX 100000
_Static_assert(LISTED_MAX == PROVIDER_LISTED_MAX && LISTED_MAX == PROVIDER_NOTICES_MAX, "one limit for both");

static int status_of_exit(int exit_code)
{
    switch (exit_code) {
#define X(code, meaning, words) \
    case code:                  \
        return meaning;
        COMMAND_EXIT_LIST(X)
#undef X
    default:
        return STATUS_BACKEND;
    }
}

void command_last_line(const char *text, char *ret_line, size_t size)
{
    size_t end = strlen(text);
    while (end > 0 && strchr(" \t\r\n", text[end - 1]) != NULL)
        end--;
    size_t start = end;
    while (start > 0 && text[start - 1] != '\n')
        start--;
    text_copy_clean(ret_line, size, text + start, end - start);
}

static int check_ref(const char *ref)
{
    for (const char *c = ref; *c != '\0'; c++)
        if (*c <= ' ' || *c > '~')
            return STATUS_INVALID;
    return 0;
}

static int bad_of(const char *name, char *ret_error, const char *why)
{
    snprintf(ret_error, PROVIDER_ERROR_MAX, "the answer of %s cannot be read: %.180s", name, why);
    return STATUS_BACKEND;
}

static int bad(enum command_action action, char *ret_error, const char *why)
{
    return bad_of(command_action_text(action), ret_error, why);
}

/* 0 when it said that it was done. */
static int read_run(enum command_action action, const struct command_run *run, char *ret_error)
{
    const char *name = command_action_text(action);
    ret_error[0] = '\0';
    if (run->status == STATUS_TIMEOUT)
        snprintf(ret_error, PROVIDER_ERROR_MAX, "%s did not end in time", name);
    else if (run->status == STATUS_NOT_FOUND)
        snprintf(ret_error, PROVIDER_ERROR_MAX, "the executable %s is missing", name);
    else if (run->status != 0)
        snprintf(ret_error, PROVIDER_ERROR_MAX, "%s could not be run: %s", name, status_meaning(run->status));
    if (run->status != 0) /* NOT_FOUND is a word about machines */
        return run->status == STATUS_TIMEOUT ? STATUS_TIMEOUT : STATUS_UNAVAILABLE;
    int status = status_of_exit(run->exit_code);
    if (status == STATUS_NOT_FOUND && action == COMMAND_ACTION_LAUNCH)
        status = STATUS_BACKEND;
    if (status != 0)
        command_last_line(run->err, ret_error, PROVIDER_ERROR_MAX);
    if (status == STATUS_BACKEND && ret_error[0] == '\0')
        snprintf(ret_error, PROVIDER_ERROR_MAX, "%s ended with exit code %d and said nothing", name, run->exit_code);
    if (status == 0 && run->out_cut)
        return bad(action, ret_error, "it is too long");
    return status;
}

static bool is_blank(const char *text)
{
    return text[strspn(text, " \t\r\n")] == '\0';
}

struct machine {
    char ref[PROVIDER_REF_MAX_BYTES], address[ADDRESS_MAX_BYTES];
    char trouble[PROVIDER_ERROR_MAX], state[16];
};

#define TEXT(member, ...)                                                                                     \
    {                                                                                                         \
        .name = #member, .type = JSON_FIELD_TEXT, .target = machine->member, .size = sizeof(machine->member), \
        __VA_ARGS__                                                                                           \
    }
#define PLAIN .check = check_ref, .rule = "printable ASCII without blanks"

static int parse_state(enum command_action action, const char *text, enum provider_instance_state *ret_state,
                       char *ret_error)
{
    static const char *const words[] = {"pending", "running", "gone"};
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (text_equal(text, words[i])) {
            *ret_state = (enum provider_instance_state)i;
            return 0;
        }
    return bad(action, ret_error, "state must be pending, running or gone");
}

static int parse_machine(enum command_action action, json_t *json, struct machine *machine,
                         struct provider_instance *ret_instance, char *ret_error)
{
    char error[JSON_ERROR_MAX];
    const struct json_field fields[] = {TEXT(ref, PLAIN), TEXT(address, PLAIN), TEXT(state, .min = 1), TEXT(trouble)};
    if (json_read(json, fields, ARRAY_LEN(fields), error) != 0)
        return bad(action, ret_error, error);
    struct provider_instance instance = {.state = PROVIDER_INSTANCE_PENDING};
    if (machine->state[0] == '\0' && action == COMMAND_ACTION_DESCRIBE)
        return bad(action, ret_error, "state is missing");
    int status = machine->state[0] == '\0' ? 0 : parse_state(action, machine->state, &instance.state, ret_error);
    if (status != 0)
        return status;
    text_copy_cut(instance.ref, sizeof(instance.ref), machine->ref);
    text_copy_cut(instance.address, sizeof(instance.address), machine->address);
    text_copy_clean(instance.trouble, sizeof(instance.trouble), machine->trouble, strlen(machine->trouble));
    *ret_instance = instance;
    return 0;
}

int command_answer(enum command_action action, const struct command_run *run, struct provider_instance *ret_instance,
                   char *ret_error)
{
    auto_json json_t *json = NULL;
    struct machine machine = {.ref = ""};
    char error[JSON_ERROR_MAX];
    int status = read_run(action, run, ret_error);
    if (status == STATUS_NOT_FOUND && action == COMMAND_ACTION_DESCRIBE) {
        *ret_instance = (struct provider_instance){.state = PROVIDER_INSTANCE_GONE};
        return 0;
    }
    if (status == STATUS_NOT_FOUND && action == COMMAND_ACTION_TERMINATE)
        return 0;
    bool answers = action == COMMAND_ACTION_LAUNCH || action == COMMAND_ACTION_DESCRIBE;
    if (status != 0 || !answers)
        return status;
    if (action == COMMAND_ACTION_LAUNCH && is_blank(run->out)) {
        *ret_instance = (struct provider_instance){.state = PROVIDER_INSTANCE_PENDING};
        return 0;
    }
    if (json_parse(run->out, strlen(run->out), COMMAND_ANSWER_BYTES_MAX, &json, error) != 0)
        return bad(action, ret_error, error);
    return parse_machine(action, json, &machine, ret_instance, ret_error);
}

/* --- list ---------------------------------------------------------------------------------------------- */

static int parse_listed(json_t *json, struct provider_listed *ret_listed, char error[JSON_ERROR_MAX])
{
    struct provider_listed listed = {.ref = ""};
    const struct json_field fields[] = {
        {.name = "ref", .type = JSON_FIELD_TEXT, .target = listed.ref, .size = sizeof(listed.ref), PLAIN},
        {.name = "instanceId",
         .type = JSON_FIELD_TEXT,
         .target = listed.instance_id,
         .size = sizeof(listed.instance_id),
         PLAIN}};
    int status = json_read(json, fields, ARRAY_LEN(fields), error);
    if (status == 0 && listed.ref[0] == '\0' && listed.instance_id[0] == '\0') {
        snprintf(error, JSON_ERROR_MAX, "a machine has neither ref nor instanceId");
        return STATUS_INVALID;
    }
    *ret_listed = listed;
    return status;
}

/* The one member of the answer, which is a list. */
static int read_listing(const char *name, const char *member, const struct command_run *run, json_t **ret_json,
                        const json_t **ret_array, char *ret_error)
{
    auto_json json_t *json = NULL;
    char error[JSON_ERROR_MAX];
    if (run->status != 0 || run->exit_code != 0 || run->out_cut) {
        snprintf(ret_error, PROVIDER_ERROR_MAX, "%s failed: %s", name,
                 run->status != 0 ? status_meaning(run->status)
                 : run->out_cut   ? "its answer is too long"
                                  : "it ended with an exit code that is not 0");
        return run->status == STATUS_TIMEOUT ? STATUS_TIMEOUT : STATUS_BACKEND;
    }
    if (json_parse(run->out, strlen(run->out), COMMAND_LIST_BYTES_MAX, &json, error) != 0)
        return bad_of(name, ret_error, error);
    const json_t *array = json_object_get(json, member);
    if (!json_is_array(array) || json_object_size(json) != 1 || json_array_size(array) > LISTED_MAX) {
        snprintf(error, sizeof(error), "it must have a list \"%s\" of at most %d entries, and nothing else", member,
                 LISTED_MAX);
        return bad_of(name, ret_error, error);
    }
    *ret_array = array;
    *ret_json = TAKE(json);
    return 0;
}

int command_list_answer(const struct command_run *run, struct provider_listed **ret_list, size_t *ret_count,
                        char *ret_error)
{
    auto_json json_t *json = NULL;
    const json_t *machines;
    char error[JSON_ERROR_MAX];
    int status = read_listing("list", "machines", run, &json, &machines, ret_error);
    if (status != 0)
        return status;
    size_t count = json_array_size(machines);
    autofree struct provider_listed *list = own_calloc(count + 1, sizeof(*list));
    for (size_t i = 0; i < count; i++)
        if (parse_listed(json_array_get(machines, i), &list[i], error) != 0)
            return bad_of("list", ret_error, error);
    *ret_list = TAKE(list);
    *ret_count = count;
    return 0;
}

/* --- events -------------------------------------------------------------------------------------------- */

static int parse_notice(json_t *json, struct provider_notice *ret_notice, char error[JSON_ERROR_MAX])
{
    struct provider_notice notice = {.id = ""};
    char kind[16] = "", at[CLOCK_TEXT_MAX] = "", detail[PROVIDER_ERROR_MAX] = "";
    const struct json_field fields[] = {
        {.name = "id",
         .type = JSON_FIELD_TEXT,
         .required = true,
         .target = notice.id,
         .size = sizeof(notice.id),
         .min = 1,
         PLAIN},
        {.name = "ref", .type = JSON_FIELD_TEXT, .target = notice.ref, .size = sizeof(notice.ref), PLAIN},
        {.name = "instanceId",
         .type = JSON_FIELD_TEXT,
         .target = notice.instance_id,
         .size = sizeof(notice.instance_id),
         PLAIN},
        {.name = "kind", .type = JSON_FIELD_TEXT, .required = true, .target = kind, .size = sizeof(kind)},
        {.name = "at", .type = JSON_FIELD_TEXT, .target = at, .size = sizeof(at)},
        {.name = "detail", .type = JSON_FIELD_TEXT, .target = detail, .size = sizeof(detail)}};
    int status = json_read(json, fields, ARRAY_LEN(fields), error);
    const char *why = NULL;
    if (status == 0 && notice.ref[0] == '\0' && notice.instance_id[0] == '\0')
        why = "an event has neither ref nor instanceId";
    else if (status == 0 && provider_notice_kind_parse(kind, &notice.kind) != 0)
        why = "kind must be retirement, maintenance, reboot or degraded";
    else if (status == 0 && at[0] != '\0' && clock_parse(at, &notice.due_at) != 0)
        why = "at must be a time, as 2026-12-05T10:00:00Z";
    text_copy_clean(notice.words, sizeof(notice.words), detail, strlen(detail));
    *ret_notice = notice;
    if (why != NULL)
        snprintf(error, JSON_ERROR_MAX, "%s", why);
    return why != NULL ? STATUS_INVALID : status;
}

int command_events_answer(const struct command_run *run, struct provider_notice **ret_notices, size_t *ret_count,
                          char *ret_error)
{
    auto_json json_t *json = NULL;
    const json_t *events;
    char error[JSON_ERROR_MAX];
    int status = read_listing("events", "events", run, &json, &events, ret_error);
    if (status != 0)
        return status;
    size_t count = json_array_size(events);
    autofree struct provider_notice *notices = own_calloc(count + 1, sizeof(*notices));
    for (size_t i = 0; i < count; i++)
        if (parse_notice(json_array_get(events, i), &notices[i], error) != 0)
            return bad_of("events", ret_error, error);
    *ret_notices = TAKE(notices);
    *ret_count = count;
    return 0;
}
