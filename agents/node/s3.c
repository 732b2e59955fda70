/* The file of keys and the signature. Keys are wiped where they were on the stack. */
#include "agents/node/s3.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/hmac.h"
#include "base/id.h"
#include "base/nearest.h"
#include "base/status.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_BYTES_MAX 16384
#define DATE_MAX 17 /* 20261120T150405Z */
#define DAY_LEN 8
#define TERMINATOR "aws4_request"

/* --- the file -------------------------------------------------------------------------------------------------- */

static int say(char ret_error[S3_ERROR_MAX], const char *path, const char *why)
{
    snprintf(ret_error, S3_ERROR_MAX, "%.70s: %.85s", path, why);
    return STATUS_INVALID;
}

static int check_mode(const char *path, char ret_error[S3_ERROR_MAX])
{
    struct stat st;
    if (stat(path, &st) != 0)
        return say(ret_error, path, "it cannot be read");
    if ((st.st_mode & (S_IRWXG | S_IRWXO)) != 0)
        return say(ret_error, path, "others may read or write it: chmod 600");
    return st.st_uid == geteuid() || st.st_uid == 0 ? 0 : say(ret_error, path, "it belongs to another user");
}

static char *trimmed(char *text)
{
    size_t len = strlen(text);
    while (len > 0 && isspace((unsigned char)text[len - 1]))
        text[--len] = '\0';
    while (isspace((unsigned char)*text))
        text++;
    return text;
}

struct key {
    const char *name;
    char *to;
    size_t size;
};

static int take_line(const struct key keys[], size_t count, const char *path, char *line, char ret_error[S3_ERROR_MAX])
{
    struct nearest nearest = {0};
    char *equals = strchr(line, '=');
    if (equals == NULL)
        return say(ret_error, path, "a line is KEY = VALUE");
    *equals = '\0';
    nearest.word = trimmed(line);
    const char *value = trimmed(equals + 1);
    for (size_t i = 0; i < count; i++) {
        nearest_see(&nearest, keys[i].name);
        if (!text_equal(nearest.word, keys[i].name))
            continue;
        bool is_good = value[0] != '\0' && text_is_clean(value) && text_copy(keys[i].to, keys[i].size, value) == 0;
        autofree char *why = own_printf("the value of %s is empty, too long or has control characters", keys[i].name);
        return is_good ? 0 : say(ret_error, path, why);
    }
    autofree char *why = nearest_say(&nearest);
    return say(ret_error, path, why);
}

static int take_file(struct s3_config *config, const char *path, char *data, char ret_error[S3_ERROR_MAX])
{
    const struct key keys[] = {{"aws_access_key_id", config->access_key, sizeof(config->access_key)},
                               {"aws_secret_access_key", config->secret_key, sizeof(config->secret_key)},
                               {"aws_session_token", config->session_token, sizeof(config->session_token)},
                               {"region", config->region, sizeof(config->region)},
                               {"endpoint_url", config->endpoint, sizeof(config->endpoint)}};
    bool in_section = false;
    char *rest, *line = strtok_r(data, "\n", &rest);
    int status = 0;
    for (; line != NULL && status == 0; line = strtok_r(NULL, "\n", &rest)) {
        char *text = trimmed(line);
        if (text[0] == '\0' || text[0] == '#' || text[0] == ';')
            continue;
        if (text[0] == '[' && in_section)
            return say(ret_error, path, "one section, and no other profile");
        in_section = true;
        if (text[0] != '[')
            status = take_line(keys, ARRAY_LEN(keys), path, text, ret_error);
    }
    return status;
}

int s3_config_read(const char *path, struct s3_config *ret_config, char ret_error[S3_ERROR_MAX])
{
    struct s3_config config = {0};
    char *data = NULL;
    size_t len;
    int status = check_mode(path, ret_error);
    if (status != 0)
        return status;
    if (file_read(path, FILE_BYTES_MAX, &data, &len) != 0)
        return say(ret_error, path, "it cannot be read, or has more than 16 KiB");
    status = take_file(&config, path, data, ret_error);
    explicit_bzero(data, len);
    free(data);
    if (status == 0 && (config.access_key[0] == '\0' || config.secret_key[0] == '\0' || config.region[0] == '\0'))
        status = say(ret_error, path, "aws_access_key_id, aws_secret_access_key and region are needed");
    if (config.endpoint[0] == '\0')
        snprintf(config.endpoint, sizeof(config.endpoint), "https://s3.%s.amazonaws.com", config.region);
    if (status == 0)
        *ret_config = config;
    explicit_bzero(&config, sizeof(config));
    return status;
}

/* --- the signature --------------------------------------------------------------------------------------------- */

/* clock_format without what separates, and without the milliseconds. */
static void compact_date(int64_t now_ms, char ret_date[DATE_MAX])
{
    char text[CLOCK_TEXT_MAX];
    size_t len = 0;
    clock_format(now_ms, text);
    for (const char *at = text; *at != '\0' && *at != '.' && *at != 'Z' && len < DATE_MAX - 2; at++)
        if (*at != '-' && *at != ':')
            ret_date[len++] = *at;
    ret_date[len++] = 'Z';
    ret_date[len] = '\0';
}

static void sign_text(const struct s3_config *config, const char *date, const char *to_sign,
                      char ret_hex[ID_SHA256_HEX_MAX])
{
    uint8_t key[ID_SHA256_BYTES];
    char seed[sizeof(config->secret_key) + 4];
    snprintf(seed, sizeof(seed), "AWS4%s", config->secret_key);
    hmac_sha256(seed, strlen(seed), date, DAY_LEN, key);
    hmac_sha256(key, sizeof(key), config->region, strlen(config->region), key);
    hmac_sha256(key, sizeof(key), "s3", 2, key);
    hmac_sha256(key, sizeof(key), TERMINATOR, strlen(TERMINATOR), key);
    hmac_sha256(key, sizeof(key), to_sign, strlen(to_sign), key);
    for (size_t i = 0; i < sizeof(key); i++)
        snprintf(ret_hex + 2 * i, 3, "%02x", key[i]);
    explicit_bzero(seed, sizeof(seed));
    explicit_bzero(key, sizeof(key));
}

void s3_sign(const struct s3_config *config, const char *host, const char *path, const char *query, int64_t now_ms,
             struct text *ret_headers)
{
    const char *token = config->session_token;
    const char *names = token[0] != '\0' ? "host;x-amz-content-sha256;x-amz-date;x-amz-security-token"
                                         : "host;x-amz-content-sha256;x-amz-date";
    char date[DATE_MAX], nothing[ID_SHA256_HEX_MAX], hash[ID_SHA256_HEX_MAX], proof[ID_SHA256_HEX_MAX];
    AUTO(text) struct text canonical = {0};
    compact_date(now_ms, date);
    id_sha256_hex("", 0, nothing);
    text_printf(&canonical, "GET\n%s\n%s\nhost:%s\nx-amz-content-sha256:%s\nx-amz-date:%s\n", path, query, host,
                nothing, date);
    if (token[0] != '\0')
        text_printf(&canonical, "x-amz-security-token:%s\n", token);
    text_printf(&canonical, "\n%s\n%s", names, nothing);
    id_sha256_hex(text_get(&canonical), canonical.len, hash);
    autofree char *scope = own_printf("%.*s/%s/s3/" TERMINATOR, DAY_LEN, date, config->region);
    autofree char *to_sign = own_printf("AWS4-HMAC-SHA256\n%s\n%s\n%s", date, scope, hash);
    sign_text(config, date, to_sign, proof);
    text_printf(ret_headers, "x-amz-content-sha256: %s\r\nx-amz-date: %s\r\n", nothing, date);
    if (token[0] != '\0')
        text_printf(ret_headers, "x-amz-security-token: %s\r\n", token);
    text_printf(ret_headers, "Authorization: AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%s, Signature=%s\r\n",
                config->access_key, scope, names, proof);
}
