/*
 * webhooks: where events are told to. The whole address is here, and nowhere else: its path is often as good as a password.
 */
#include "server/config/webhook.h"

#include "base/clock.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"
#include "base/url.h"

#include <stdio.h>
#include <string.h>

#define TIMEOUT_MIN_MS MS_PER_S
#define TIMEOUT_MAX_MS MS_PER_MIN
#define GIVE_UP_MIN_MS MS_PER_MIN
#define GIVE_UP_MAX_MS (30 * MS_PER_DAY)

/* One entry while it is read. */
struct entry {
    struct webhook *webhook;
    size_t number; /* from 1 */
    char *error;
};

__attribute__((format(printf, 2, 3))) static int refuse(const struct entry *entry, const char *fmt, ...)
{
    char rule[CONFIG_ERROR_MAX - 64];
    va_list args;
    va_start(args, fmt);
    vsnprintf(rule, sizeof(rule), fmt, args);
    va_end(args);
    snprintf(entry->error, CONFIG_ERROR_MAX, "webhooks, entry %zu: %s", entry->number, rule);
    return STATUS_INVALID;
}

static bool is_path(const char *text)
{
    for (; *text != '\0'; text++)
        if (*text <= ' ' || *text > '~' || *text == '#')
            return false;
    return true;
}

static int read_url(const struct entry *entry, const char *text)
{
    struct webhook *webhook = entry->webhook;
    struct url url;
    const char *why = "it has no host", *host = strstr(text, "://");
    if (host == NULL)
        return refuse(entry, "url must begin with https://, or with http:// for this machine");
    size_t len = strcspn(host + 3, "/?#") + (size_t)(host + 3 - text);
    if (memchr(host + 3, '@', len - (size_t)(host + 3 - text)) != NULL)
        return refuse(entry, "url: a user and a password in it are not taken; tokenFile may name a bearer token");
    if (text_copy_bytes(webhook->origin, sizeof(webhook->origin), text, len) != 0 ||
        url_parse(webhook->origin, &url, &why) != 0)
        return refuse(entry, "url: %s", why);
    if (!is_path(text + len) ||
        text_copy(webhook->path, sizeof(webhook->path), text[len] == '/' ? text + len : "/") != 0 || text[len] == '?')
        return refuse(entry,
                      "url: after the host comes a path of at most %d characters, which begins with a slash and has "
                      "no space and no #",
                      WEBHOOK_PATH_MAX - 1);
    return 0;
}

static int read_kinds(const struct entry *entry, const json_t *kinds)
{
    struct webhook *webhook = entry->webhook;
    memset(webhook->kinds, 0, sizeof(webhook->kinds));
    for (size_t i = 0; i < json_array_size(kinds); i++) {
        const char *text = json_string_value(json_array_get(kinds, i));
        enum event_kind kind;
        bool all = text != NULL && text_equal(text, "all");
        if (!all && event_kind_parse(text, &kind) != 0)
            return refuse(entry, "kinds has \"%.40s\", which is no kind of event; hpd(8) lists them",
                          text != NULL ? text : "something that is no text");
        if (all)
            memset(webhook->kinds, 1, sizeof(webhook->kinds));
        else
            webhook->kinds[kind] = true;
    }
    return 0;
}

static int read_clusters(const struct entry *entry, const json_t *clusters)
{
    struct webhook *webhook = entry->webhook;
    for (size_t i = 0; i < json_array_size(clusters); i++) {
        const char *name = json_string_value(json_array_get(clusters, i));
        if (name == NULL || !text_is_name(name) ||
            text_copy(webhook->clusters[i], sizeof(webhook->clusters[i]), name) != 0)
            return refuse(entry, "clusters must be a list of names of clusters");
    }
    webhook->cluster_count = json_array_size(clusters);
    return 0;
}

static int read_duration(const struct entry *entry, const char *name, const char *text, int64_t min, int64_t max,
                         int64_t *ret_ms)
{
    char low[CLOCK_TEXT_MAX], high[CLOCK_TEXT_MAX];
    int64_t ms;
    if (text[0] == '\0')
        return 0;
    if (clock_parse_duration(text, &ms) != 0 || ms < min || ms > max)
        return refuse(entry, "%s must be a duration with a unit, from %s to %s", name, clock_format_duration(min, low),
                      clock_format_duration(max, high));
    *ret_ms = ms;
    return 0;
}

static int check_files(const struct entry *entry)
{
    const struct webhook *webhook = entry->webhook;
    const char *const files[] = {webhook->secret_file, webhook->ca_file, webhook->token_file};
    for (size_t i = 0; i < ARRAY_LEN(files); i++)
        if (files[i][0] != '\0' && files[i][0] != '/')
            return refuse(entry, "secretFile, caFile and tokenFile must be absolute paths");
    return 0;
}

static int read_entry(const struct entry *entry, json_t *json)
{
    struct webhook *webhook = entry->webhook;
    char url[sizeof(webhook->origin) + sizeof(webhook->path)] = "", level[NAME_MAX_BYTES] = "info",
                                       format[NAME_MAX_BYTES] = "standard";
    char timeout[CLOCK_TEXT_MAX] = "", retry_max[CLOCK_TEXT_MAX] = "", give_up[CLOCK_TEXT_MAX] = "",
         error[JSON_ERROR_MAX];
    json_t *kinds = NULL, *clusters = NULL;
#define TEXT(key, array) .name = key, .type = JSON_FIELD_TEXT, .target = array, .size = sizeof(array), .min = 1
    const struct json_field fields[] = {
        {TEXT("name", webhook->name), .required = true},
        {TEXT("url", url), .required = true},
        {TEXT("secretFile", webhook->secret_file)},
        {TEXT("format", format)},
        {TEXT("caFile", webhook->ca_file)},
        {TEXT("tokenFile", webhook->token_file)},
        {.name = "kinds", .type = JSON_FIELD_ARRAY, .target = &kinds, .min = 1, .max = EVENT_KIND_COUNT + 1},
        {TEXT("minLevel", level)},
        {.name = "clusters", .type = JSON_FIELD_ARRAY, .target = &clusters, .min = 1, .max = WEBHOOK_CLUSTERS_MAX},
        {.name = "approvalLinks", .type = JSON_FIELD_BOOL, .target = &webhook->approval_links},
        {TEXT("timeout", timeout)},
        {TEXT("retryMax", retry_max)},
        {TEXT("giveUpAfter", give_up)},
    };
#undef TEXT
    webhook_default(webhook);
    if (json_read(json, fields, ARRAY_LEN(fields), error) != 0)
        return refuse(entry, "%s", error);
    if (!text_is_name(webhook->name))
        return refuse(entry, "name must be letters, digits and hyphens");
    if (event_level_parse(level, &webhook->min_level) != 0)
        return refuse(entry, "minLevel must be info, warn or error");
    if (webhook_format_parse(format, &webhook->format) != 0)
        return refuse(entry, "format must be standard, cloudevents, slack, pagerduty, alertmanager or opsgenie");
    if (webhook->secret_file[0] == '\0' && (webhook->format == WEBHOOK_FORMAT_STANDARD || webhook_has_key(webhook)))
        return refuse(entry, "secretFile is needed: %s",
                      webhook_has_key(webhook) ? "it has the key of the service's API"
                                               : "it has what messages are signed with");
    int status = read_url(entry, url);
    if (status == 0 && kinds != NULL)
        status = read_kinds(entry, kinds);
    if (status == 0 && clusters != NULL)
        status = read_clusters(entry, clusters);
    if (status == 0)
        status = read_duration(entry, "timeout", timeout, TIMEOUT_MIN_MS, TIMEOUT_MAX_MS, &webhook->timeout_ms);
    if (status == 0)
        status = read_duration(entry, "retryMax", retry_max, MS_PER_S, WEBHOOK_RETRY_MAX_MS, &webhook->retry_max_ms);
    if (status == 0)
        status = read_duration(entry, "giveUpAfter", give_up, GIVE_UP_MIN_MS, GIVE_UP_MAX_MS, &webhook->give_up_ms);
    return status == 0 ? check_files(entry) : status;
}

int config_webhooks_read(struct config_webhooks *webhooks, const json_t *json, char *ret_error)
{
    size_t count = json_array_size(json);
    if (!json_is_array(json) || count > WEBHOOKS_MAX) {
        snprintf(ret_error, CONFIG_ERROR_MAX, "webhooks must be a list of at most %d webhooks", WEBHOOKS_MAX);
        return STATUS_INVALID;
    }
    for (size_t i = 0; i < count; i++) {
        const struct entry entry = {&webhooks->list[i], i + 1, ret_error};
        int status = read_entry(&entry, json_array_get(json, i));
        for (size_t k = 0; status == 0 && k < i; k++)
            if (text_equal(webhooks->list[k].name, webhooks->list[i].name))
                status = refuse(&entry, "entry %zu has the same name", k + 1);
        if (status != 0)
            return status;
    }
    webhooks->count = count;
    return 0;
}
