/*
 * Reads a file such as
 *
 *   overrides:
 *     - code: xid.119
 *       instanceTypes: [ml.p5.48xlarge]           # absent: all
 *       action: watch
 *       again: watch                              # absent: as action
 *       urgency: after-jobs                       # or now; absent: after-jobs
 *       rate: { count: 3, withinHours: 24, action: support }
 *       why: firmware 96.00 does that without harm
 */
#include "server/config/fault_file.h"

#include "base/file.h"
#include "base/id.h"
#include "base/json.h"
#include "base/nearest.h"
#include "base/text.h"
#include "base/yaml.h"
#include "model/health.h"

#include <stdio.h>
#include <string.h>

#define RATE_COUNT_MAX 1000
#define RATE_HOURS_MAX 720
#define HOUR_MS INT64_C(3600000)
#define WHY_MAX_BYTES 200
#define TYPES_MAX 64

struct reading {
    const char *path, *data;
    struct fault_overrides *overrides;
    size_t item;
    char *error;
};

/* Of item number n of the list, counted from 0; 0: it is not written as a list of lines. */
static int line_of(const char *data, size_t n)
{
    int line = 0;
    size_t indent = SIZE_MAX, seen = 0;
    for (const char *at = data; at != NULL && *at != '\0';) {
        size_t blanks = strspn(at, " ");
        line++;
        if (at[blanks] == '-' && (at[blanks + 1] == ' ' || at[blanks + 1] == '\n')) {
            indent = indent == SIZE_MAX ? blanks : indent;
            if (blanks == indent && seen++ == n)
                return line;
        }
        at = strchr(at, '\n');
        at = at != NULL ? at + 1 : NULL;
    }
    return 0;
}

static int refuse(struct reading *reading, const char *what, const char *why)
{
    int line = line_of(reading->data, reading->item);
    char where[32] = "";
    if (line > 0)
        snprintf(where, sizeof(where), "line %d: ", line);
    snprintf(reading->error, FAULT_FILE_ERROR_MAX, "%.120s: %soverride %zu: %.80s %.200s", reading->path, where,
             reading->item + 1, what, why);
    return STATUS_INVALID;
}

static int check_members(struct reading *reading, const json_t *object, const char *const *known, const char *what)
{
    const char *name;
    json_t *value;
    if (!json_is_object(object))
        return refuse(reading, what, "must be a mapping of keys to values");
    json_object_foreach((json_t *)(uintptr_t)object, name, value)
    {
        size_t i = 0;
        while (known[i] != NULL && !text_equal(known[i], name))
            i++;
        if (known[i] != NULL)
            continue;
        char hint[NEAREST_HINT_MAX];
        autofree char *why =
            own_printf("is not a key of this file%s; see hpd(8) for the list", nearest_hint_of(name, known, hint));
        return refuse(reading, name, why);
    }
    return 0;
}

static int read_action(struct reading *reading, const json_t *object, const char *name, enum action_class *action)
{
    const json_t *value = json_object_get(object, name);
    const char *text = json_string_value(value);
    if (value != NULL && (text == NULL || action_class_parse(text, action) != 0))
        return refuse(reading, name, "must be ignore, app, watch, reset, reboot, replace or support");
    return 0;
}

static int read_rate(struct reading *reading, const json_t *item, struct fault_override *wanted)
{
    static const char *const known[] = {"count", "withinHours", "action", NULL};
    const json_t *rate = json_object_get(item, "rate");
    if (rate == NULL)
        return 0;
    int rc = check_members(reading, rate, known, "rate");
    if (rc != 0)
        return rc;
    json_int_t count = json_integer_value(json_object_get(rate, "count"));
    json_int_t hours = json_integer_value(json_object_get(rate, "withinHours"));
    if (count < 2 || count > RATE_COUNT_MAX)
        return refuse(reading, "rate.count", "must be a number from 2 to 1000");
    if (hours < 1 || hours > RATE_HOURS_MAX)
        return refuse(reading, "rate.withinHours", "must be a number from 1 to 720");
    if (json_object_get(rate, "action") == NULL)
        return refuse(reading, "rate.action", "is missing");
    wanted->rate_count = (int)count;
    wanted->rate_window_ms = hours * HOUR_MS;
    return read_action(reading, rate, "action", &wanted->rate_action);
}

static int add(struct reading *reading, const json_t *types, struct fault_override *wanted)
{
    const char *wrong = NULL;
    size_t count = types != NULL ? json_array_size(types) : 1;
    if (types != NULL && (!json_is_array(types) || count == 0 || count > TYPES_MAX))
        return refuse(reading, "instanceTypes", "must be a list of names, or be left out");
    for (size_t i = 0; i < count; i++) {
        wanted->instance_type = types != NULL ? json_string_value(json_array_get(types, i)) : "";
        if (wanted->instance_type == NULL || (types != NULL && wanted->instance_type[0] == '\0'))
            return refuse(reading, "instanceTypes", "must be a list of names, or be left out");
        if (fault_overrides_add(reading->overrides, wanted, &wrong) != 0)
            return refuse(reading, wanted->code, wrong);
    }
    return 0;
}

static int read_item(struct reading *reading, const json_t *item)
{
    static const char *const known[] = {"code", "instanceTypes", "action", "again", "urgency", "rate", "why", NULL};
    struct fault_override wanted = {.urgency = URGENCY_AFTER_JOBS};
    int rc = check_members(reading, item, known, "an override");
    if (rc != 0)
        return rc;
    wanted.code = json_string_value(json_object_get(item, "code"));
    wanted.why = json_string_value(json_object_get(item, "why"));
    const json_t *urgency = json_object_get(item, "urgency");
    if (wanted.code == NULL || wanted.code[0] == '\0' || strlen(wanted.code) >= CODE_MAX_BYTES)
        return refuse(reading, "code", "must be a fault code, such as xid.79");
    if (wanted.why == NULL || wanted.why[0] == '\0' || strlen(wanted.why) > WHY_MAX_BYTES || !text_is_clean(wanted.why))
        return refuse(reading, "why", "must say on one line, in at most 200 bytes, why the table is not right here");
    if (json_object_get(item, "action") == NULL)
        return refuse(reading, "action", "is missing");
    if (urgency != NULL &&
        (!json_is_string(urgency) || urgency_parse(json_string_value(urgency), &wanted.urgency) != 0))
        return refuse(reading, "urgency", "must be now or after-jobs");
    rc = read_action(reading, item, "action", &wanted.action);
    wanted.again = wanted.action;
    if (rc == 0)
        rc = read_action(reading, item, "again", &wanted.again);
    if (rc == 0)
        rc = read_rate(reading, item, &wanted);
    return rc != 0 ? rc : add(reading, json_object_get(item, "instanceTypes"), &wanted);
}

static int read_root(struct reading *reading, const json_t *root)
{
    size_t i;
    const json_t *item, *list = json_object_get(root, "overrides");
    if (json_is_null(root))
        return 0; /* an empty file says nothing otherwise */
    if (!json_is_object(root) || json_object_size(root) != 1 || !json_is_array(list)) {
        snprintf(reading->error, FAULT_FILE_ERROR_MAX, "%.120s: must hold one key, overrides, with a list",
                 reading->path);
        return STATUS_INVALID;
    }
    json_array_foreach(list, i, item)
    {
        reading->item = i;
        int rc = read_item(reading, item);
        if (rc != 0)
            return rc;
    }
    return 0;
}

int fault_file_parse(const char *name, const char *data, size_t len, struct fault_overrides **ret_overrides,
                     char ret_error[FAULT_FILE_ERROR_MAX])
{
    auto_json json_t *root = NULL;
    char error[JSON_ERROR_MAX], tag[ID_SHA256_HEX_MAX];
    int rc = yaml_parse(data, len, FAULT_FILE_BYTES_MAX, &root, error);
    if (rc != 0) {
        snprintf(ret_error, FAULT_FILE_ERROR_MAX, "%.120s: %.300s", name, error);
        return rc;
    }
    id_sha256_hex(data, len, tag);
    struct reading reading = {.path = name, .data = data, .overrides = fault_overrides_new(tag), .error = ret_error};
    rc = read_root(&reading, root);
    if (rc != 0)
        fault_overrides_free(reading.overrides);
    else
        *ret_overrides = reading.overrides;
    return rc;
}

int fault_file_read(const char *path, struct fault_overrides **ret_overrides, char ret_error[FAULT_FILE_ERROR_MAX])
{
    autofree char *data = NULL;
    size_t len;
    int rc = file_read(path, FAULT_FILE_BYTES_MAX, &data, &len);
    if (rc == 0)
        return fault_file_parse(path, data, len, ret_overrides, ret_error);
    snprintf(ret_error, FAULT_FILE_ERROR_MAX, "%.120s: %s", path, status_meaning(rc));
    return rc;
}
