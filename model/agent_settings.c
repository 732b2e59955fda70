/* Reads the text line by line; it has no need of YAML's other ways to say the same, and the agent no room for a library. */
#include "model/agent_settings.h"

#include "base/duration.h"
#include "base/nearest.h"
#include "base/own.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

ENUM_DEFINE(agent_setting_source, AGENT_SETTING_SOURCE_LIST)

#define CUSTOM "custom."
#define OWN (-1)

static const char *const levels[] = {"debug", "info", "warn", "error"}; /* as base/log.h counts them */

const struct agent_setting_rule agent_setting_rules[] = {
#define X(SYMBOL, name, kind, standard, min, max, help) {name, AGENT_SETTING_KIND_##kind, standard, min, max, help},
    AGENT_LIMITS_LIST(X)
#undef X
        {"*.enabled", AGENT_SETTING_KIND_FLAG, 1, 0, 1, "whether the check is run"},
    {"*.period", AGENT_SETTING_KIND_DURATION, OWN, 5 * MS_PER_S, MS_PER_DAY, "from the end of a run to the next"},
    {"*.deadline", AGENT_SETTING_KIND_DURATION, OWN, MS_PER_S, 10 * MS_PER_MIN, "then a run is killed: unknown"},
    {"custom.*.enabled", AGENT_SETTING_KIND_FLAG, 1, 0, 1, "whether the program of checks.d is run"},
    {"custom.*.period", AGENT_SETTING_KIND_DURATION, OWN, 10 * MS_PER_S, MS_PER_DAY, "in place of the one in its head"},
    {"custom.*.timeout", AGENT_SETTING_KIND_DURATION, OWN, MS_PER_S, 10 * MS_PER_MIN, "likewise"},
    {"log.level", AGENT_SETTING_KIND_LEVEL, 1, 0, ARRAY_LEN(levels) - 1, "debug, info, warn or error"},
};
const size_t agent_setting_rule_count = ARRAY_LEN(agent_setting_rules);

const struct agent_check_times agent_check_times[] = {
#define X(name, period, deadline) {#name, (period)*MS_PER_S, (deadline)*MS_PER_S},
    AGENT_CHECKS_LIST(X)
#undef X
};
const size_t agent_check_count = ARRAY_LEN(agent_check_times);

/* --- names ---------------------------------------------------------------------------------------------------- */

static bool is_check(const char *name, size_t len)
{
    for (size_t i = 0; i < agent_check_count; i++)
        if (strlen(agent_check_times[i].name) == len && memcmp(name, agent_check_times[i].name, len) == 0)
            return true;
    return false;
}

/* A program's, as agents/checks/custom.h has it; whether it is there is known on the node alone. */
static bool is_program(const char *name, size_t len)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    return len > 0 && len < SOURCE_MAX_BYTES && strspn(name, allowed) >= len && strchr("-_.", name[0]) == NULL;
}

static bool is_of(const struct agent_setting_rule *rule, const char *name)
{
    const char *star = strchr(rule->name, '*'), *dot = strrchr(name, '.');
    if (star == NULL)
        return strcmp(rule->name, name) == 0;
    size_t before = (size_t)(star - rule->name);
    if (dot == NULL || strcmp(dot, star + 1) != 0 || (size_t)(dot - name) <= before ||
        strncmp(name, rule->name, before) != 0)
        return false;
    size_t len = (size_t)(dot - name) - before;
    return before > 0 ? is_program(name + before, len) : is_check(name, len);
}

static const struct agent_setting_rule *rule_of(const char *name)
{
    for (size_t i = 0; i < agent_setting_rule_count; i++)
        if (is_of(&agent_setting_rules[i], name))
            return &agent_setting_rules[i];
    return NULL;
}

/* --- values --------------------------------------------------------------------------------------------------- */

static int read_flag(const char *text, int64_t *ret_value)
{
    bool yes = strcmp(text, "true") == 0;
    if (!yes && strcmp(text, "false") != 0)
        return STATUS_INVALID;
    *ret_value = yes;
    return 0;
}

static int read_level(const char *text, int64_t *ret_value)
{
    for (size_t i = 0; i < ARRAY_LEN(levels); i++)
        if (strcmp(levels[i], text) == 0) {
            *ret_value = (int64_t)i;
            return 0;
        }
    return STATUS_INVALID;
}

static int read_value(const struct agent_setting_rule *rule, const char *text, int64_t *ret_value)
{
    int64_t value = 0;
    int status = STATUS_INVALID;
    switch (rule->kind) {
    case AGENT_SETTING_KIND_COUNT:
        status = text_parse_i64(text, rule->min, rule->max, &value);
        break;
    case AGENT_SETTING_KIND_DURATION:
        status = clock_parse_duration(text, &value);
        break;
    case AGENT_SETTING_KIND_FLAG:
        status = read_flag(text, &value);
        break;
    case AGENT_SETTING_KIND_LEVEL:
        status = read_level(text, &value);
        break;
    }
    if (status != 0 || value < rule->min || value > rule->max)
        return STATUS_INVALID;
    *ret_value = value;
    return 0;
}

const char *agent_setting_value(const struct agent_setting *setting, char ret_value[AGENT_SETTING_VALUE_MAX_BYTES])
{
    char duration[CLOCK_TEXT_MAX];
    const char *text = duration;
    if (setting->kind == AGENT_SETTING_KIND_DURATION)
        (void)clock_write_duration(setting->value, duration);
    else if (setting->kind == AGENT_SETTING_KIND_FLAG)
        text = setting->value != 0 ? "true" : "false";
    else if (setting->kind == AGENT_SETTING_KIND_LEVEL)
        text = levels[setting->value];
    else
        snprintf(duration, sizeof(duration), "%" PRId64, setting->value);
    text_copy_cut(ret_value, AGENT_SETTING_VALUE_MAX_BYTES, text);
    return ret_value;
}

/* "whole numbers from 1 to 50". */
static void say_rule(const struct agent_setting_rule *rule, char *ret_text, size_t size)
{
    char min[CLOCK_TEXT_MAX], max[CLOCK_TEXT_MAX];
    if (rule->kind == AGENT_SETTING_KIND_DURATION)
        snprintf(ret_text, size, "a duration from %s to %s", clock_write_duration(rule->min, min),
                 clock_write_duration(rule->max, max));
    else if (rule->kind == AGENT_SETTING_KIND_COUNT)
        snprintf(ret_text, size, "a whole number from %" PRId64 " to %" PRId64, rule->min, rule->max);
    else
        snprintf(ret_text, size, "%s", rule->kind == AGENT_SETTING_KIND_FLAG ? "true or false" : rule->help);
}

/* --- the text ------------------------------------------------------------------------------------------------- */

struct reading {
    struct agent_settings settings;
    enum agent_setting_source source;
    size_t line, disk_line; /* where the room on disks was spoken of last; 0: nowhere */
    char *error;
};

static int refuse(const struct reading *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static int refuse(const struct reading *r, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    autofree char *why = own_vprintf(fmt, ap);
    va_end(ap);
    snprintf(r->error, AGENT_SETTINGS_ERROR_MAX, "line %zu: %s", r->line, why);
    return STATUS_INVALID;
}

static const struct agent_setting *find(const struct agent_settings *settings, const char *name)
{
    for (size_t i = 0; settings != NULL && i < settings->count; i++)
        if (strcmp(settings->rows[i].name, name) == 0)
            return &settings->rows[i];
    return NULL;
}

static bool is_limit(const struct agent_setting *setting, enum agent_limit limit)
{
    return strcmp(setting->name, agent_setting_rules[limit].name) == 0;
}

static void add(struct agent_settings *settings, const struct agent_setting *setting)
{
    settings->rows = own_realloc(settings->rows, settings->count + 1, sizeof(*settings->rows));
    settings->rows[settings->count++] = *setting;
}

/* A rule for every check is guessed at as one for the check that is named. */
static int refuse_unknown(const struct reading *r, const char *name, const char *shown)
{
    char hint[NEAREST_HINT_MAX];
    struct nearest nearest = {.word = name};
    for (size_t i = 0; i < agent_setting_rule_count; i++) {
        const char *rule = agent_setting_rules[i].name, *star = strchr(rule, '*');
        autofree char *known = star == NULL ? own_strdup(rule)
                                            : own_printf("%.*s%.*s%s", (int)(star - rule), rule,
                                                         (int)strcspn(name + strnlen(name, (size_t)(star - rule)), "."),
                                                         name + strnlen(name, (size_t)(star - rule)), star + 1);
        if (is_of(&agent_setting_rules[i], known))
            nearest_see(&nearest, known);
    }
    return refuse(r, "\"%s\" is no setting of agents%s", shown, nearest_hint(&nearest, hint));
}

static int read_setting(struct reading *r, const char *name, const char *value)
{
    const struct agent_setting_rule *rule = rule_of(name);
    struct agent_setting setting = {.source = r->source};
    char rule_text[80], shown[AGENT_SETTING_NAME_MAX_BYTES];
    text_copy_cut(shown, sizeof(shown), name); /* between characters: it goes into replies */
    if (rule == NULL || text_copy(setting.name, sizeof(setting.name), name) != 0)
        return refuse_unknown(r, name, shown);
    if (find(&r->settings, name) != NULL)
        return refuse(r, "%s is there twice", shown);
    if (r->settings.count == AGENT_SETTINGS_MAX)
        return refuse(r, "more than %d settings", AGENT_SETTINGS_MAX);
    setting.kind = rule->kind;
    if (read_value(rule, value, &setting.value) != 0) {
        say_rule(rule, rule_text, sizeof(rule_text));
        return refuse(r, "%s must be %s", shown, rule_text);
    }
    add(&r->settings, &setting);
    if (is_limit(&setting, AGENT_LIMIT_DISK_LOW) || is_limit(&setting, AGENT_LIMIT_DISK_FULL))
        r->disk_line = r->line;
    return 0;
}

/* What is full is low: the other way round nothing would ever be low. What a node's file leaves out its group may have said. */
static int check_order(struct reading *r)
{
    int64_t low = agent_settings_limit(&r->settings, AGENT_LIMIT_DISK_LOW),
            full = agent_settings_limit(&r->settings, AGENT_LIMIT_DISK_FULL);
    bool both = find(&r->settings, agent_setting_rules[AGENT_LIMIT_DISK_LOW].name) != NULL &&
                find(&r->settings, agent_setting_rules[AGENT_LIMIT_DISK_FULL].name) != NULL;
    if (r->disk_line == 0 || full <= low || (r->source == AGENT_SETTING_SOURCE_FILE && !both))
        return 0;
    r->line = r->disk_line;
    return refuse(r, "disk.fullPercent is %" PRId64 " and more than disk.lowPercent, which is %" PRId64, full, low);
}

/* Without blanks at its ends, and without what stands behind " #". */
static void trim(char **text)
{
    char *at = *text + strspn(*text, " \t");
    size_t len = 0;
    while (at[len] != '\0' && !(at[len] == '#' && (len == 0 || at[len - 1] == ' ' || at[len - 1] == '\t')))
        len++;
    at[len] = '\0';
    while (len > 0 && (at[len - 1] == ' ' || at[len - 1] == '\t' || at[len - 1] == '\r'))
        at[--len] = '\0';
    *text = at;
}

static int read_line(struct reading *r, char *line)
{
    trim(&line);
    char *colon = strchr(line, ':');
    if (line[0] == '\0' || strcmp(line, "---") == 0)
        return 0;
    if (colon == NULL || (colon[1] != ' ' && colon[1] != '\t'))
        return refuse(r, "it must be \"name: value\"");
    *colon = '\0';
    char *value = colon + 1;
    trim(&line);
    trim(&value);
    return read_setting(r, line, value);
}

static bool is_text(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (((unsigned char)text[i] < ' ' && strchr("\t\r\n", text[i]) == NULL) || text[i] == 0x7f || text[i] == '\0' ||
            (text[i] == '\r' && i + 1 < len && text[i + 1] != '\n'))
            return false;
    return text_is_utf8(text, len);
}

int agent_settings_parse(const char *text, size_t len, enum agent_setting_source source,
                         struct agent_settings *ret_settings, char ret_error[AGENT_SETTINGS_ERROR_MAX])
{
    struct reading r = {.source = source, .line = 1, .error = ret_error};
    if (len >= AGENT_SETTINGS_TEXT_MAX_BYTES) {
        snprintf(ret_error, AGENT_SETTINGS_ERROR_MAX, "line 1: the text has more than %d bytes",
                 AGENT_SETTINGS_TEXT_MAX_BYTES - 1);
        return STATUS_TOO_LARGE;
    }
    if (!is_text(text, len))
        return refuse(&r, "it is no text in UTF-8, or has control characters");
    autofree char *copy = own_calloc(len + 1, 1);
    memcpy(copy, text, len);
    int status = 0;
    for (char *line = copy, *end; status == 0 && line != NULL; line = end, r.line++) {
        end = strchr(line, '\n');
        if (end != NULL)
            *end++ = '\0';
        status = read_line(&r, line);
    }
    if (status == 0)
        status = check_order(&r);
    if (status != 0)
        agent_settings_free(&r.settings);
    else
        *ret_settings = r.settings;
    return status;
}

char *agent_settings_plain(const char *text)
{
    struct text plain AUTO(text) = {0};
    for (const char *at = text; *at != '\0'; at++)
        if (at[0] != '\r' || (at[1] != '\n' && at[1] != '\0'))
            text_add_char(&plain, *at);
    return text_take(&plain);
}

void agent_settings_free(struct agent_settings *settings)
{
    free(TAKE(settings->rows));
    settings->count = 0;
}

void agent_settings_merge(const struct agent_settings *under, const struct agent_settings *over,
                          struct agent_settings *ret_settings)
{
    struct agent_settings both = {.count = 0};
    for (size_t i = 0; i < over->count; i++)
        add(&both, &over->rows[i]);
    for (size_t i = 0; i < under->count; i++)
        if (find(over, under->rows[i].name) == NULL)
            add(&both, &under->rows[i]);
    *ret_settings = both;
}

void agent_settings_put(struct agent_settings *settings, const struct agent_setting *setting)
{
    for (size_t i = 0; i < settings->count; i++)
        if (strcmp(settings->rows[i].name, setting->name) == 0) {
            settings->rows[i] = *setting;
            return;
        }
    add(settings, setting);
}

bool agent_setting_check(const struct agent_setting *setting, char ret_check[SOURCE_MAX_BYTES], bool *ret_is_own)
{
    bool own = text_starts_with(setting->name, CUSTOM);
    const char *name = setting->name + (own ? strlen(CUSTOM) : 0), *dot = strrchr(name, '.');
    if (dot == NULL || (!own && !is_check(name, (size_t)(dot - name))))
        return false;
    *ret_is_own = own;
    return text_copy_bytes(ret_check, SOURCE_MAX_BYTES, name, (size_t)(dot - name)) == 0;
}

/* --- asking --------------------------------------------------------------------------------------------------- */

int64_t agent_settings_of(const struct agent_settings *settings, const char *prefix, const char *check,
                          const char *what, int64_t standard)
{
    char name[AGENT_SETTING_NAME_MAX_BYTES];
    snprintf(name, sizeof(name), "%s%s.%s", prefix, check, what);
    const struct agent_setting *setting = find(settings, name);
    return setting != NULL ? setting->value : standard;
}

int64_t agent_settings_limit(const struct agent_settings *settings, enum agent_limit limit)
{
    const struct agent_setting_rule *rule = &agent_setting_rules[limit]; /* they stand first */
    const struct agent_setting *setting = find(settings, rule->name);
    return setting != NULL ? setting->value : rule->standard;
}

/* --- tags and reports ----------------------------------------------------------------------------------------- */

uint64_t agent_settings_tag(const char *text)
{
    uint8_t digest[ID_SHA256_BYTES];
    uint64_t tag = 0;
    if (text[0] == '\0')
        return 0;
    id_sha256(text, strlen(text), digest);
    for (size_t i = 0; i < sizeof(tag); i++)
        tag = tag << 8 | digest[i];
    return tag != 0 ? tag : 1;
}

int agent_settings_tag_parse(const char *text, uint64_t *ret_tag)
{
    uint64_t tag = 0;
    size_t len = strlen(text);
    if (len == 0 || len >= AGENT_SETTINGS_TAG_MAX_BYTES)
        return STATUS_INVALID;
    for (; *text != '\0'; text++) {
        int digit = text_hex_digit(*text);
        if (digit < 0)
            return STATUS_INVALID;
        tag = tag << 4 | (uint64_t)digit;
    }
    *ret_tag = tag;
    return 0;
}

bool agent_settings_line_is_fine(const char *line)
{
    char name[AGENT_SETTING_NAME_MAX_BYTES], value[AGENT_SETTING_VALUE_MAX_BYTES];
    enum agent_setting_source source;
    int64_t number;
    const char *blank = strchr(line, ' '), *last = strrchr(line, ' ');
    if (blank == last || text_copy_bytes(name, sizeof(name), line, (size_t)(blank - line)) != 0 ||
        text_copy_bytes(value, sizeof(value), blank + 1, (size_t)(last - blank - 1)) != 0)
        return false;
    const struct agent_setting_rule *rule = rule_of(name);
    return rule != NULL && agent_setting_source_parse(last + 1, &source) == 0 && read_value(rule, value, &number) == 0;
}
