/*
 * provisioning_parameters.json, HyperPod's older way to say what the groups of a cluster are to Slurm, as its own scripts read it: version
 * 1.0.0, Slurm, one controller group, at most one login group, worker groups with a partition each. File systems and several controllers
 * are none of Holdfast's; those members, and any that it does not know, are named for the event.
 */
#include "server/scheduler/slurm/role_file.h"

#include "base/json.h"
#include "base/status.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define VERSION "1.0.0"
#define MANAGER "slurm"
#define SHOWN_BYTES_MAX 40 /* of the name of a member */
#define PARTITION_RULE "a partition's name: 1 to 63 letters, digits, '.', '_' and '-', neither DEFAULT nor ALL"

__attribute__((format(printf, 2, 3))) static int refuse(char *ret_error, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(ret_error, ROLE_FILE_ERROR_MAX, fmt, ap);
    va_end(ap);
    return STATUS_INVALID;
}

static int check_version(const char *text)
{
    return text_equal(text, VERSION) ? 0 : STATUS_INVALID;
}

static int check_manager(const char *text)
{
    return text_equal(text, MANAGER) ? 0 : STATUS_INVALID;
}

static int check_group(const char *text)
{
    return text_is_name(text) ? 0 : STATUS_INVALID;
}

static int check_partition(const char *text)
{
    static const char word[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    bool fine = text[0] != '\0' && text[0] != '-' && text[strspn(text, word)] == '\0';
    return fine && strcasecmp(text, "DEFAULT") != 0 && strcasecmp(text, "ALL") != 0 ? 0 : STATUS_INVALID;
}

/* Takes the members that say nothing to us out of it, and notes their names. */
static void set_aside(json_t *object, const struct json_field *fields, size_t count, char *ignored)
{
    AUTO(text) struct text names = {0};
    const char *name;
    json_t *value;
    void *next;
    json_object_foreach_safe(object, next, name, value)
    {
        bool known = false;
        for (size_t i = 0; i < count; i++)
            known = known || text_equal(fields[i].name, name);
        if (known)
            continue;
        char shown[SHOWN_BYTES_MAX + 1];
        text_copy_cut(shown, sizeof(shown), text_is_clean(name) ? name : "one whose name is no clean text");
        text_printf(&names, "%s%s", names.len > 0 ? ", " : "", shown);
        json_object_del(object, name);
    }
    text_copy_cut(ignored, ROLE_FILE_IGNORED_MAX, text_get(&names));
}

static int read_worker(json_t *json, size_t at, struct role_file_worker *worker, char *ret_error)
{
    char error[JSON_ERROR_MAX];
    const struct json_field fields[] = {
        {.name = "instance_group_name",
         .type = JSON_FIELD_TEXT,
         .required = true,
         .target = worker->group,
         .size = sizeof(worker->group),
         .check = check_group,
         .rule = "a group's name"},
        {.name = "partition_name",
         .type = JSON_FIELD_TEXT,
         .required = true,
         .target = worker->partition,
         .size = sizeof(worker->partition),
         .check = check_partition,
         .rule = PARTITION_RULE},
    };
    if (!json_is_object(json))
        return refuse(ret_error, "worker_groups[%zu] must be an object", at);
    if (json_read(json, fields, ARRAY_LEN(fields), error) != 0)
        return refuse(ret_error, "worker_groups[%zu]: %s", at, error);
    return 0;
}

/* A group is one thing, once. */
static int check_once(const struct role_file *p, char *ret_error)
{
    if (text_equal(p->login, p->controller))
        return refuse(ret_error, "login_group is \"%s\", which is the controller_group", p->login);
    for (size_t i = 0; i < p->count; i++) {
        const char *group = p->workers[i].group;
        bool again = text_equal(group, p->controller) || text_equal(group, p->login);
        for (size_t k = 0; k < i; k++)
            again = again || text_equal(group, p->workers[k].group);
        if (again)
            return refuse(ret_error, "worker_groups[%zu] is \"%s\", a group that the file has already", i, group);
    }
    return 0;
}

static int read_file(json_t *json, struct role_file *p, char *ret_error)
{
    char version[NAME_MAX_BYTES], manager[NAME_MAX_BYTES], error[JSON_ERROR_MAX];
    json_t *workers = NULL;
    const struct json_field fields[] = {
        {.name = "version",
         .type = JSON_FIELD_TEXT,
         .required = true,
         .target = version,
         .size = sizeof(version),
         .check = check_version,
         .rule = "\"" VERSION "\""},
        {.name = "workload_manager",
         .type = JSON_FIELD_TEXT,
         .required = true,
         .target = manager,
         .size = sizeof(manager),
         .check = check_manager,
         .rule = "\"" MANAGER "\""},
        {.name = "controller_group",
         .type = JSON_FIELD_TEXT,
         .required = true,
         .target = p->controller,
         .size = sizeof(p->controller),
         .check = check_group,
         .rule = "a group's name"},
        {.name = "login_group",
         .type = JSON_FIELD_TEXT,
         .target = p->login,
         .size = sizeof(p->login),
         .check = check_group,
         .rule = "a group's name"},
        {.name = "worker_groups",
         .type = JSON_FIELD_ARRAY,
         .required = true,
         .target = &workers,
         .min = 0,
         .max = ROLE_FILE_WORKERS_MAX},
    };
    if (!json_is_object(json))
        return refuse(ret_error, "it must be a JSON object");
    set_aside(json, fields, ARRAY_LEN(fields), p->ignored);
    if (json_read(json, fields, ARRAY_LEN(fields), error) != 0)
        return refuse(ret_error, "%s", error);
    for (int status; p->count < json_array_size(workers); p->count++) {
        status = read_worker(json_array_get(workers, p->count), p->count, &p->workers[p->count], ret_error);
        if (status != 0)
            return status;
    }
    return check_once(p, ret_error);
}

static int parse(const char *data, size_t len, struct role_file *ret_file, char ret_error[ROLE_FILE_ERROR_MAX])
{
    struct role_file file = {0};
    char error[JSON_ERROR_MAX];
    auto_json json_t *json = NULL;
    int status = json_parse(data, len, ROLE_FILE_BYTES_MAX, &json, error);
    if (status != 0) {
        refuse(ret_error, "%s", error);
        return status;
    }
    status = read_file(json, &file, ret_error);
    if (status == 0)
        *ret_file = file;
    return status;
}

const struct role_file_format slurm_role_file = {
    .name = "provisioning_parameters.json",
    .both =
        "The LifeCycleConfig cannot include both a SLURM Orchestrator Config and a provisioning_parameters.json file "
        "simultaneously.",
    .absent = "where hpd writes Slurm's nodes, all groups compute, each in a partition called as its instance type",
    .other = "SlurmConfig says what groups are to Slurm",
    .parse = parse};
