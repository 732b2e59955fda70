/* Reads /etc/holdfast/auto-resume.conf. */
#include "agents/slurm/config.h"

#include "base/duration.h"
#include "base/file.h"
#include "base/status.h"
#include "base/text.h"
#include "base/yaml.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define CONFIG_BYTES_MAX (64 * 1024)
#define DURATION_BYTES 24
#define DURATION_MIN_MS 100
#define DURATION_MAX_MS (30 * MS_PER_DAY)
#define POLL_MAX_MS MS_PER_MIN

static int check_clean(const char *text)
{
    return text[0] != '\0' && text_is_clean(text) ? 0 : STATUS_INVALID;
}

static int check_name(const char *text)
{
    return text_is_name(text) ? 0 : STATUS_INVALID;
}

static int check_duration(const char *text)
{
    int64_t ms;
    return clock_parse_duration(text, &ms) == 0 && ms >= DURATION_MIN_MS && ms <= DURATION_MAX_MS ? 0 : STATUS_INVALID;
}

#define TEXT_FIELD(key, member)                                                                       \
    {                                                                                                 \
        .name = key, .type = JSON_FIELD_TEXT, .target = config.member, .size = sizeof(config.member), \
        .check = check_clean, .rule = "one line"                                                      \
    }
#define DURATION_FIELD(key, text)                                                                            \
    {                                                                                                        \
        .name = key, .type = JSON_FIELD_TEXT, .target = text, .size = sizeof(text), .check = check_duration, \
        .rule = "a duration from 100ms to 30d, like \"90s\" or \"2h\""                                       \
    }

int resume_config_parse(const char *data, size_t len, struct resume_config *ret_config, char ret_error[JSON_ERROR_MAX])
{
    struct resume_config config = {
        .scontrol = "scontrol", .salloc = "salloc", .scancel = "scancel", .squeue = "squeue", .attempts_max = 10};
    char poll[DURATION_BYTES] = "5s", diagnosis[DURATION_BYTES] = "10m", replacement[DURATION_BYTES] = "2h",
         progress[DURATION_BYTES] = "60s", stop[DURATION_BYTES] = "30s";
    const struct json_field fields[] = {
        TEXT_FIELD("url", url),
        {.name = "cluster",
         .type = JSON_FIELD_TEXT,
         .required = true,
         .target = config.cluster,
         .size = sizeof(config.cluster),
         .check = check_name,
         .rule = "a cluster's name"},
        TEXT_FIELD("token", token),
        TEXT_FIELD("tokenFile", token_file),
        TEXT_FIELD("fingerprint", fingerprint),
        TEXT_FIELD("caFile", ca_file),
        TEXT_FIELD("scontrol", scontrol),
        TEXT_FIELD("salloc", salloc),
        TEXT_FIELD("scancel", scancel),
        TEXT_FIELD("squeue", squeue),
        DURATION_FIELD("pollInterval", poll),
        DURATION_FIELD("diagnosisTimeout", diagnosis),
        DURATION_FIELD("replacementTimeout", replacement),
        DURATION_FIELD("progressAfter", progress),
        DURATION_FIELD("stopTimeout", stop),
        {.name = "maxAttempts", .type = JSON_FIELD_I64, .target = &config.attempts_max, .min = 1, .max = 100},
    };
    auto_json json_t *json = NULL;
    int status = yaml_parse(data, len, CONFIG_BYTES_MAX, &json, ret_error);
    if (status == 0 && !json_is_object(json)) {
        snprintf(ret_error, JSON_ERROR_MAX, "it must be a mapping");
        status = STATUS_INVALID;
    }
    if (status == 0)
        status = json_read(json, fields, ARRAY_LEN(fields), ret_error);
    if (status != 0)
        return status;
    if (config.url[0] == '\0' || (config.token[0] == '\0') == (config.token_file[0] == '\0')) {
        snprintf(ret_error, JSON_ERROR_MAX, "it needs url, and one of token and tokenFile");
        return STATUS_INVALID;
    }
    (void)clock_parse_duration(poll, &config.poll_ms); /* checked above */
    if (config.poll_ms > POLL_MAX_MS) {
        snprintf(ret_error, JSON_ERROR_MAX,
                 "pollInterval: a minute at most, or hpd takes the step for one nobody watches");
        return STATUS_INVALID;
    }
    (void)clock_parse_duration(diagnosis, &config.diagnosis_ms);
    (void)clock_parse_duration(replacement, &config.replacement_ms);
    (void)clock_parse_duration(progress, &config.progress_ms);
    (void)clock_parse_duration(stop, &config.stop_ms);
    *ret_config = config;
    return 0;
}

static int read_token(struct resume_config *config, char ret_error[JSON_ERROR_MAX])
{
    autofree char *data = NULL;
    size_t len = 0;
    if (config->token[0] != '\0')
        return 0;
    int status = file_read(config->token_file, sizeof(config->token) - 1, &data, &len);
    if (status == 0) {
        data[strcspn(data, "\r\n")] = '\0';
        status = check_clean(data);
    }
    if (status == 0)
        text_copy_cut(config->token, sizeof(config->token), data);
    else
        snprintf(ret_error, JSON_ERROR_MAX, "the token in %.150s cannot be read", config->token_file);
    return status;
}

int resume_config_read(const char *path, struct resume_config *ret_config, char ret_error[JSON_ERROR_MAX])
{
    autofree char *data = NULL;
    size_t len = 0;
    struct resume_config config;
    errno = 0;
    int status = file_read(path, CONFIG_BYTES_MAX, &data, &len);
    if (status != 0) {
        snprintf(ret_error, JSON_ERROR_MAX, "%s", errno != 0 ? strerror(errno) : status_meaning(status));
        return status;
    }
    status = resume_config_parse(data, len, &config, ret_error);
    if (status == 0)
        status = read_token(&config, ret_error);
    if (status == 0)
        *ret_config = config;
    return status;
}
