/* An instance on disk. Whatever decides about a second start or a second reboot is written durably before it is acted on. */
#include "server/provider/lab/instance.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/status.h"
#include "base/text.h"
#include "server/provider/lab/template.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FORMAT_VERSION 1
#define ID_HEX_DIGITS 17
#define SPEC_BYTES_MAX (4 * 1024 * 1024) /* every argument at its limit, and each byte of it escaped */
#define REBOOTS_KEPT 16                  /* a key is repeated only while its operation runs */
#define REBOOTED_BYTES_MAX (REBOOTS_KEPT * (KEY_MAX_BYTES + 1))
#define BOOT_DELAY_MS_MAX MS_PER_HOUR
#define TROUBLE_BYTES_MAX 1024

bool instance_id_is_valid(const char *id)
{
    return id != NULL && text_starts_with(id, "i-") && strlen(id) == 2 + ID_HEX_DIGITS &&
           strspn(id + 2, "0123456789abcdef") == ID_HEX_DIGITS;
}

bool instance_key_is_valid(const char *key)
{
    if (key == NULL || key[0] == '\0' || strlen(key) >= KEY_MAX_BYTES)
        return false;
    for (const char *c = key; *c != '\0'; c++)
        if (*c <= ' ' || *c > '~')
            return false;
    return true;
}

char *instance_path(const char *dir, const char *name)
{
    return own_printf("%s/%s", dir, name);
}

static int write_file(const char *dir, const char *name, const char *content, mode_t mode)
{
    autofree char *path = instance_path(dir, name);
    return file_write(path, content, strlen(content), mode);
}

static bool has_file(const char *dir, const char *name)
{
    autofree char *path = instance_path(dir, name);
    return file_exists(path);
}

static int write_json(const char *dir, const char *name, const json_t *json)
{
    autofree char *content = json_dumps(json, JSON_INDENT(2));
    return content == NULL ? STATUS_INVALID : write_file(dir, name, content, 0600);
}

/* --- instance.json ----------------------------------------------------------------------------- */
static json_t *service_to_json(const struct instance_service *service)
{
    json_t *object = json_object(), *command = json_array();
    for (size_t i = 0; service->argv[i] != NULL; i++)
        json_array_append_new(command, json_string(service->argv[i]));
    json_put_text(object, "name", service->name);
    json_put(object, "command", command);
    return object;
}

int instance_spec_write(const char *dir, const struct instance_spec *spec)
{
    auto_json json_t *json = json_object();
    json_t *services = json_array();
    json_put_i64(json, "version", FORMAT_VERSION);
    json_put_text(json, "id", spec->id);
    json_put_text(json, "key", spec->key);
    json_put_text(json, "cluster", spec->cluster);
    json_put_text(json, "group", spec->group);
    json_put_text(json, "node", spec->node);
    json_put_text(json, "instanceType", spec->type);
    json_put_i64(json, "bootDelayMs", spec->boot_delay_ms);
    for (size_t i = 0; i < spec->service_count; i++)
        json_array_append_new(services, service_to_json(&spec->services[i]));
    json_put(json, "services", services);
    return write_json(dir, "instance.json", json);
}

static int check_id(const char *text)
{
    return instance_id_is_valid(text) ? 0 : STATUS_INVALID;
}

static int check_key(const char *text)
{
    return instance_key_is_valid(text) ? 0 : STATUS_INVALID;
}

static int check_name(const char *text)
{
    return text_is_name(text) ? 0 : STATUS_INVALID;
}

static int read_service(json_t *object, struct instance_service *ret_service, char *ret_error)
{
    json_t *command = NULL;
    const struct json_field fields[] = {
        {.name = "name",
         .type = JSON_FIELD_TEXT,
         .required = true,
         .target = ret_service->name,
         .size = sizeof(ret_service->name),
         .check = check_name,
         .rule = "a name"},
        {.name = "command",
         .type = JSON_FIELD_ARRAY,
         .required = true,
         .target = &command,
         .min = 1,
         .max = LOCAL_ARGS_MAX},
    };
    int status = json_read(object, fields, ARRAY_LEN(fields), ret_error);
    if (status != 0)
        return status;
    ret_service->argv = own_calloc(LOCAL_ARGS_MAX + 1, sizeof(*ret_service->argv));
    for (size_t i = 0; i < json_array_size(command); i++) {
        const char *arg = json_string_value(json_array_get(command, i));
        if (arg == NULL) {
            snprintf(ret_error, JSON_ERROR_MAX, "command has something that is no text");
            return STATUS_INVALID;
        }
        ret_service->argv[i] = own_strdup(arg);
    }
    return 0;
}

static int read_spec(json_t *json, struct instance_spec *spec, char *ret_error)
{
    json_t *services = NULL;
    int64_t version = 0;
#define TEXT_FIELD(json_name, member, must, check_fn, words)                                      \
    {                                                                                             \
        .name = (json_name), .type = JSON_FIELD_TEXT, .required = (must), .target = spec->member, \
        .size = sizeof(spec->member), .check = (check_fn), .rule = (words)                        \
    }
    const struct json_field fields[] = {
        {.name = "version",
         .type = JSON_FIELD_I64,
         .required = true,
         .target = &version,
         .min = 1,
         .max = FORMAT_VERSION},
        TEXT_FIELD("id", id, true, check_id, "i- and 17 hex digits"),
        TEXT_FIELD("key", key, true, check_key, "an idempotency key"),
        TEXT_FIELD("cluster", cluster, false, NULL, NULL),
        TEXT_FIELD("group", group, false, NULL, NULL),
        TEXT_FIELD("node", node, false, NULL, NULL),
        TEXT_FIELD("instanceType", type, false, NULL, NULL),
        {.name = "bootDelayMs",
         .type = JSON_FIELD_I64,
         .required = true,
         .target = &spec->boot_delay_ms,
         .min = 0,
         .max = BOOT_DELAY_MS_MAX},
        {.name = "services",
         .type = JSON_FIELD_ARRAY,
         .required = true,
         .target = &services,
         .min = 0,
         .max = LOCAL_SERVICES_MAX},
    };
#undef TEXT_FIELD
    int status = json_read(json, fields, ARRAY_LEN(fields), ret_error);
    for (size_t i = 0; status == 0 && i < json_array_size(services); i++) {
        spec->service_count = i + 1;
        status = read_service(json_array_get(services, i), &spec->services[i], ret_error);
    }
    return status;
}

int instance_spec_read(const char *dir, struct instance_spec *ret_spec, char *ret_error)
{
    autofree char *path = instance_path(dir, "instance.json");
    autofree char *data = NULL;
    auto_json json_t *json = NULL;
    char error[JSON_ERROR_MAX] = "";
    size_t len = 0;
    struct instance_spec spec = {0};
    int status = file_read(path, SPEC_BYTES_MAX, &data, &len);
    if (status == STATUS_NOT_FOUND)
        return status;
    if (status == 0)
        status = json_parse(data, len, SPEC_BYTES_MAX, &json, error);
    if (status == 0)
        status = read_spec(json, &spec, error);
    if (status != 0) {
        instance_spec_free(&spec);
        snprintf(ret_error, PROVIDER_ERROR_MAX, "instance.json cannot be used: %.200s",
                 error[0] != '\0' ? error : status_meaning(status));
        return status;
    }
    *ret_spec = spec;
    return 0;
}

void instance_spec_free(struct instance_spec *spec)
{
    for (size_t i = 0; i < LOCAL_SERVICES_MAX; i++)
        template_free(TAKE(spec->services[i].argv));
    spec->service_count = 0;
}

int instance_token_write(const char *dir, const char *token)
{
    autofree char *line = own_printf("%s\n", token);
    return write_file(dir, "token", line, 0600);
}

/* --- reboots ----------------------------------------------------------------------------------- */
int instance_reboot_ask(const char *dir, const char *key)
{
    autofree char *line = own_printf("%s\n", key);
    return write_file(dir, "reboot", line, 0600);
}

/* The last keys, a line each; "" when there were none. */
static char *read_done(const char *dir)
{
    autofree char *path = instance_path(dir, "rebooted");
    char *data = NULL;
    return file_read(path, REBOOTED_BYTES_MAX, &data, NULL) == 0 ? data : own_strdup("");
}

bool instance_reboot_is_done(const char *dir, const char *key)
{
    autofree char *done = read_done(dir);
    size_t len = strlen(key);
    for (const char *line = done; *line != '\0';) {
        size_t end = strcspn(line, "\n");
        if (end == len && memcmp(line, key, len) == 0)
            return true;
        line += end + (line[end] == '\n');
    }
    return false;
}

int instance_reboot_pending(const char *dir, char ret_key[KEY_MAX_BYTES])
{
    autofree char *path = instance_path(dir, "reboot");
    autofree char *data = NULL;
    int status = file_read(path, KEY_MAX_BYTES, &data, NULL);
    if (status != 0)
        return status;
    data[strcspn(data, "\n")] = '\0';
    if (!instance_key_is_valid(data) || instance_reboot_is_done(dir, data))
        return STATUS_NOT_FOUND;
    return text_copy(ret_key, KEY_MAX_BYTES, data);
}

int instance_reboot_done(const char *dir, const char *key)
{
    autofree char *done = read_done(dir);
    const char *from = done;
    size_t lines = 0;
    for (const char *c = done; *c != '\0'; c++)
        lines += *c == '\n';
    for (; lines >= REBOOTS_KEPT; lines--)
        from += strcspn(from, "\n") + 1;
    autofree char *content = own_printf("%s%s\n", from, key);
    return write_file(dir, "rebooted", content, 0600);
}

/* --- trouble ----------------------------------------------------------------------------------- */

int instance_trouble_write(const char *dir, const char *what, const char *last_words)
{
    autofree char *path = instance_path(dir, "trouble");
    autofree char *line = own_printf("%s%s%s", what, last_words[0] != '\0' ? ": " : "", last_words);
    for (char *c = line; *c != '\0'; c++)
        if (*c < ' ' || *c > '~')
            *c = *c == '\t' ? ' ' : '?';
    return file_write(path, line, strlen(line), 0644);
}

void instance_trouble_clear(const char *dir)
{
    autofree char *path = instance_path(dir, "trouble");
    (void)unlink(path);
}

void instance_trouble_read(const char *dir, char *ret_trouble, size_t size)
{
    autofree char *path = instance_path(dir, "trouble"), *line = NULL;
    size_t len;
    ret_trouble[0] = '\0';
    if (file_read(path, TROUBLE_BYTES_MAX, &line, &len) == 0)
        text_copy_cut(ret_trouble, size, line);
}

/* --- the end ----------------------------------------------------------------------------------- */
bool instance_is_terminated(const char *dir)
{
    return has_file(dir, "terminated.json");
}

bool instance_is_ending(const char *dir)
{
    return has_file(dir, "terminating") || instance_is_terminated(dir);
}

int instance_end_begin(const char *dir, const char *key)
{
    autofree char *line = own_printf("%s\n", key);
    return write_file(dir, "terminating", line, 0600);
}

static int remove_file(const char *dir, const char *name)
{
    autofree char *path = instance_path(dir, name);
    return unlink(path) == 0 || errno == ENOENT ? 0 : STATUS_IO;
}

int instance_end_finish(const char *dir, const char *key)
{
    static const char *const files[] = {"token", "machine.pid", "processes", "reboot", "rebooted"};
    autofree char *agent = instance_path(dir, "agent");
    int status = file_remove_tree(agent);
    for (size_t i = 0; status == 0 && i < ARRAY_LEN(files); i++)
        status = remove_file(dir, files[i]);
    if (status != 0)
        return status;
    auto_json json_t *json = json_object();
    json_put_text(json, "key", key);
    json_put_time(json, "at", clock_wall_ms(clock_system()));
    status = write_json(dir, "terminated.json", json);
    return status != 0 ? status : remove_file(dir, "terminating");
}
