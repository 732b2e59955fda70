/* Reads the two texts again when they change, validates and merges them. */
#include "agents/node/settings.h"

#include "agents/checks/checks.h"
#include "agents/node/shape.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/own.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define LOOK_MS (5 * MS_PER_S) /* a look is one stat */
#define KEPT_HEAD_BYTES 128

/* --- what counts ---------------------------------------------------------------------------------------------- */

/* A setting for a check that does not run is reported, so that an administrator sees why it stays off. */
static void leave_out(struct settings *settings)
{
    for (size_t i = 0, count = settings->both.count; i < count && settings->names != NULL; i++) {
        struct agent_setting off = {.kind = AGENT_SETTING_KIND_FLAG, .source = AGENT_SETTING_SOURCE_COMMAND_LINE};
        char check[SOURCE_MAX_BYTES];
        bool own;
        if (!agent_setting_check(&settings->both.rows[i], check, &own) || checks_are_meant(settings->names, check))
            continue;
        snprintf(off.name, sizeof(off.name), "%s%s.enabled", own ? "custom." : "", check);
        agent_settings_put(&settings->both, &off);
    }
}

static void merge(struct settings *settings)
{
    agent_settings_free(&settings->both);
    agent_settings_merge(&settings->group, &settings->own, &settings->both);
    leave_out(settings);
}

/* Replaces *target by the text. ret_why: why it was refused; "" when it is in force. */
static bool take_text(struct settings *settings, const char *text, size_t len, struct agent_settings *target,
                      char ret_why[AGENT_SETTINGS_ERROR_MAX])
{
    struct agent_settings read;
    enum agent_setting_source source =
        target == &settings->own ? AGENT_SETTING_SOURCE_FILE : AGENT_SETTING_SOURCE_GROUP;
    ret_why[0] = '\0';
    if (agent_settings_parse(text, len, source, &read, ret_why) != 0)
        return false;
    agent_settings_free(target);
    *target = read;
    merge(settings);
    return true;
}

/* --- the group's ---------------------------------------------------------------------------------------------- */

/* One line with source and tag, then the text. */
static void load_kept(struct settings *settings)
{
    autofree char *data = NULL;
    char instance[ID_INSTANCE_MAX], why[AGENT_SETTINGS_ERROR_MAX];
    int64_t revision;
    size_t len;
    int head = 0;
    if (settings->kept == NULL ||
        file_read(settings->kept, AGENT_SETTINGS_TEXT_MAX_BYTES + KEPT_HEAD_BYTES, &data, &len) != 0)
        return;
    if (sscanf(data, "%23s %19" SCNd64 "%n", instance, &revision, &head) != 2 || data[head] != '\n' || revision < 1 ||
        (settings->instance_id[0] != '\0' && strcmp(instance, settings->instance_id) != 0) || strlen(data) != len)
        return;
    const char *text = data + head + 1;
    if (!take_text(settings, text, strlen(text), &settings->group, why)) {
        log_warn("the kept settings of this node's group are of no use: %s", why);
        return;
    }
    settings->revision = revision;
    settings->tag = agent_settings_tag(text);
}

static void keep(const struct settings *settings, const char *text)
{
    autofree char *data = own_printf("%s %" PRId64 "\n%s", settings->instance_id, settings->revision, text);
    if (settings->kept != NULL && file_write(settings->kept, data, strlen(data), 0600) != 0)
        log_warn("the settings of this node's group cannot be kept; they are lost when the agent ends");
}

bool settings_is_news(const struct settings *settings, uint64_t tag)
{
    return tag != settings->tag && (tag == 0 || tag != settings->refused_tag);
}

int settings_take(struct settings *settings, const char *body, size_t len)
{
    autofree char *text = own_calloc(AGENT_SETTINGS_TEXT_MAX_BYTES, 1);
    int64_t revision = 0;
    struct shape_slot slots[] = {
        SHAPE_I64("revision", revision, 0),
        {.name = "document", .text = text, .size = AGENT_SETTINGS_TEXT_MAX_BYTES},
    };
    if (shape_read(body, len, slots, ARRAY_LEN(slots)) != 0 || !shape_all_seen(slots, ARRAY_LEN(slots)))
        return STATUS_INVALID;
    uint64_t tag = agent_settings_tag(text);
    if (!take_text(settings, text, strlen(text), &settings->group, settings->refused)) {
        settings->refused_tag = tag;
        log_error("the group's settings are refused, the older ones go on counting revision=%" PRId64 ": %s", revision,
                  settings->refused);
        return 0;
    }
    settings->revision = revision;
    settings->tag = tag;
    settings->refused_tag = 0;
    keep(settings, text);
    log_info("the group's settings count revision=%" PRId64 " settings=%zu", revision, settings->group.count);
    return 0;
}

/* --- the node's own ------------------------------------------------------------------------------------------- */

static bool is_same_file(const struct settings *settings, const struct stat *st)
{
    return settings->file_known && st->st_size == settings->file_bytes &&
           st->st_mtim.tv_sec == settings->file_at.tv_sec && st->st_mtim.tv_nsec == settings->file_at.tv_nsec;
}

/* A removed file sets nothing. */
static bool forget_own(struct settings *settings)
{
    if (!settings->file_known)
        return false;
    settings->file_known = false;
    settings->own_refused[0] = '\0';
    agent_settings_free(&settings->own);
    merge(settings);
    log_info("the node's own settings are gone path=%s", settings->file);
    return true;
}

static bool read_own(struct settings *settings)
{
    struct stat st;
    autofree char *text = NULL;
    size_t len = 0;
    if (settings->file == NULL)
        return false;
    if (stat(settings->file, &st) != 0)
        return forget_own(settings);
    if (is_same_file(settings, &st))
        return false;
    settings->file_known = true;
    settings->file_at = st.st_mtim;
    settings->file_bytes = st.st_size;
    int status = file_read(settings->file, AGENT_SETTINGS_TEXT_MAX_BYTES, &text, &len);
    if (status != 0)
        snprintf(settings->own_refused, sizeof(settings->own_refused), "it cannot be read: %s", status_meaning(status));
    bool counts = status == 0 && take_text(settings, text, len, &settings->own, settings->own_refused);
    if (counts)
        log_info("the node's own settings count path=%s settings=%zu", settings->file, settings->own.count);
    else
        log_error("the node's own settings are refused, what was there before goes on counting path=%s: %s",
                  settings->file, settings->own_refused);
    return true;
}

bool settings_scan(struct settings *settings, int64_t now_ms)
{
    if (now_ms < settings->look_at)
        return false;
    settings->look_at = now_ms + LOOK_MS;
    return read_own(settings);
}

/* --- made and freed ------------------------------------------------------------------------------------------- */

void settings_open(struct settings *settings, const char *file, const char *state_dir, const char *instance_id)
{
    *settings = (struct settings){.file = file};
    settings->kept = state_dir != NULL ? own_printf("%s/" SETTINGS_KEPT, state_dir) : NULL;
    text_copy_cut(settings->instance_id, sizeof(settings->instance_id), instance_id != NULL ? instance_id : "");
    load_kept(settings);
    (void)read_own(settings);
}

void settings_leave_out(struct settings *settings, const char *names)
{
    settings->names = names;
    merge(settings);
}

void settings_close(struct settings *settings)
{
    agent_settings_free(&settings->group);
    agent_settings_free(&settings->own);
    agent_settings_free(&settings->both);
    free(TAKE(settings->kept));
}

bool settings_are_said(const struct settings *settings)
{
    return settings->revision > 0 || settings->both.count > 0 || settings->refused[0] != '\0' ||
           settings->own_refused[0] != '\0';
}

/* --- told ----------------------------------------------------------------------------------------------------- */

void settings_write_report(const struct settings *settings, struct text *out)
{
    char value[AGENT_SETTING_VALUE_MAX_BYTES];
    shape_put_text(out, "{\"instanceId\":", settings->instance_id);
    shape_put_i64(out, ",\"revision\":", settings->revision);
    shape_put_text(out, ",\"refused\":", settings->refused);
    shape_put_text(out, ",\"fileRefused\":", settings->own_refused);
    text_add(out, ",\"settings\":[");
    for (size_t i = 0; i < settings->both.count && i < AGENT_SETTINGS_MAX; i++) {
        const struct agent_setting *row = &settings->both.rows[i];
        autofree char *line =
            own_printf("%s %s %s", row->name, agent_setting_value(row, value), agent_setting_source_text(row->source));
        shape_put_text(out, i > 0 ? "," : "", line);
    }
    text_add(out, "]}");
}

static void print_row(const char *name, const char *value, const char *source, bool json, bool first)
{
    AUTO(text) struct text out = {0};
    if (!json) {
        printf("%-28s  %-8s  %s\n", name, value, source);
        return;
    }
    shape_put_text(&out, first ? "{\"name\":" : ",\n {\"name\":", name);
    shape_put_text(&out, ",\"value\":", value);
    shape_put_text(&out, ",\"source\":", source);
    printf("%s}", text_get(&out));
}

static bool print_built_in(const struct settings *settings, const char *name, const char *value, bool json, bool first)
{
    for (size_t i = 0; i < settings->both.count; i++)
        if (strcmp(settings->both.rows[i].name, name) == 0)
            return first;
    print_row(name, value, "built-in", json, first);
    return false;
}

static bool print_times(const struct settings *settings, const struct agent_check_times *times, bool json, bool first)
{
    const struct agent_setting rows[] = {
        {.kind = AGENT_SETTING_KIND_FLAG, .value = 1, .name = "enabled"},
        {.kind = AGENT_SETTING_KIND_DURATION, .value = times->period_ms, .name = "period"},
        {.kind = AGENT_SETTING_KIND_DURATION, .value = times->deadline_ms, .name = "deadline"},
    };
    char value[AGENT_SETTING_VALUE_MAX_BYTES];
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        autofree char *name = own_printf("%s.%s", times->name, rows[i].name);
        first = print_built_in(settings, name, agent_setting_value(&rows[i], value), json, first);
    }
    return first;
}

/* Set values first, then built-in ones. */
void settings_print(const struct settings *settings, bool json)
{
    char value[AGENT_SETTING_VALUE_MAX_BYTES], source[64];
    bool first = true;
    fputs(json ? "[" : "", stdout);
    for (size_t i = 0; i < settings->both.count; i++, first = false) {
        const struct agent_setting *row = &settings->both.rows[i];
        if (row->source == AGENT_SETTING_SOURCE_GROUP)
            snprintf(source, sizeof(source), "group, revision %" PRId64, settings->revision);
        else
            snprintf(source, sizeof(source), "%s", agent_setting_source_text(row->source));
        print_row(row->name, agent_setting_value(row, value), source, json, first);
    }
    for (size_t i = 0; i < AGENT_LIMIT_COUNT; i++) {
        const struct agent_setting_rule *rule = &agent_setting_rules[i];
        const struct agent_setting standard = {.kind = rule->kind, .value = rule->standard};
        first = print_built_in(settings, rule->name, agent_setting_value(&standard, value), json, first);
    }
    for (size_t i = 0; i < agent_check_count; i++)
        first = print_times(settings, &agent_check_times[i], json, first);
    fputs(json ? "]\n" : "", stdout);
}
