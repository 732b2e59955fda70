/* Reads a mapping of hpd's configuration by a list of its keys. */
#include "server/config/section.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/status.h"
#include "base/text.h"
#include "server/config/config.h"

#include <stdio.h>
#include <string.h>

static int key_error(char *ret_error, const char *section, const struct key *key, const char *rule)
{
    snprintf(ret_error, CONFIG_ERROR_MAX, "%s%s%s must be %s", section, *section ? "." : "", key->name, rule);
    return STATUS_INVALID;
}

static int read_duration(const struct key *key, const json_t *value, const char *section, char *ret_error)
{
    int64_t ms;
    if (!json_is_string(value) || clock_parse_duration(json_string_value(value), &ms) != 0)
        return key_error(ret_error, section, key, "a duration with a unit, such as 250ms, 30s, 5m, 2h or 7d");
    if (ms < key->min || ms > key->max) {
        char low[CLOCK_TEXT_MAX], high[CLOCK_TEXT_MAX], rule[128];
        snprintf(rule, sizeof(rule), "between %s and %s", clock_format_duration(key->min, low),
                 clock_format_duration(key->max, high));
        return key_error(ret_error, section, key, rule);
    }
    *(int64_t *)key->target = ms;
    return 0;
}

static int read_int(const struct key *key, const json_t *value, const char *section, char *ret_error)
{
    if (!json_is_integer(value) || json_integer_value(value) < key->min || json_integer_value(value) > key->max) {
        char rule[128];
        snprintf(rule, sizeof(rule), "a whole number from %lld to %lld", (long long)key->min, (long long)key->max);
        return key_error(ret_error, section, key, rule);
    }
    if (key->size == sizeof(int))
        *(int *)key->target = (int)json_integer_value(value);
    else
        *(int64_t *)key->target = json_integer_value(value);
    return 0;
}

static int read_key(const struct key *key, const json_t *value, const char *section, char *ret_error)
{
    const char *text = json_string_value(value);
    switch (key->type) {
    case KEY_DURATION:
        return read_duration(key, value, section, ret_error);
    case KEY_INT:
        return read_int(key, value, section, ret_error);
    case KEY_BOOL:
        if (!json_is_boolean(value))
            return key_error(ret_error, section, key, "true or false");
        *(bool *)key->target = json_is_true(value);
        return 0;
    case KEY_TEXT:
        if (text == NULL || *text == 0 || text_copy(key->target, key->size, text) != 0)
            return key_error(ret_error, section, key, "a non-empty text that is not too long");
        return 0;
    case KEY_PATH:
        if (text == NULL || text[0] != '/' || strpbrk(text, " ?#") != NULL ||
            text_copy(key->target, key->size, text) != 0)
            return key_error(ret_error, section, key, "a path that begins with a slash, such as /hyperpod");
        return 0;
    case KEY_LOG_LEVEL:
        if (text == NULL || log_level_parse(text, key->target) != 0)
            return key_error(ret_error, section, key, "debug, info, warn or error");
        return 0;
    case KEY_LISTEN:
        if (text == NULL || config_parse_listen(key->target, text) != 0)
            return key_error(ret_error, section, key, "an IP address and a port, such as 127.0.0.1:8700");
        return 0;
    }
    return STATUS_INVALID;
}

int section_unknown(const char *section, const struct nearest *nearest, char *ret_error)
{
    char hint[NEAREST_HINT_MAX];
    snprintf(ret_error, CONFIG_ERROR_MAX, "%s%s%s is not a key of this file%s; see hpd(8) for the list", section,
             *section ? "." : "", nearest->word, nearest_hint(nearest, hint));
    return STATUS_INVALID;
}

int section_read(json_t *object, const char *section, const struct key *keys, size_t count, const char *const *skip,
                 char *ret_error)
{
    if (!json_is_object(object)) {
        snprintf(ret_error, CONFIG_ERROR_MAX, "%s must be a mapping of keys to values",
                 *section ? section : "the file");
        return STATUS_INVALID;
    }
    const char *name;
    json_t *value;
    json_object_foreach(object, name, value)
    {
        struct nearest nearest = {.word = name};
        size_t i = 0;
        for (; i < count && !text_equal(keys[i].name, name); i++)
            nearest_see(&nearest, keys[i].name);
        bool skipped = false;
        for (size_t k = 0; skip != NULL && skip[k] != NULL; k++) {
            nearest_see(&nearest, skip[k]);
            skipped = skipped || text_equal(skip[k], name);
        }
        if (skipped)
            continue;
        if (i == count)
            return section_unknown(section, &nearest, ret_error);
        int rc = read_key(&keys[i], value, section, ret_error);
        if (rc != 0)
            return rc;
    }
    return 0;
}
