/* The file of keys; a key is wiped from the stack. base/aws.c signs. */
#include "agents/node/s3.h"

#include "base/file.h"
#include "base/nearest.h"
#include "base/status.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_BYTES_MAX 16384

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
    nearest.word = text_trim(line);
    const char *value = text_trim(equals + 1);
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
    struct aws_credentials *own = &config->credentials;
    const struct key keys[] = {{"aws_access_key_id", own->access_key, sizeof(own->access_key)},
                               {"aws_secret_access_key", own->secret, sizeof(own->secret)},
                               {"aws_session_token", own->session_token, sizeof(own->session_token)},
                               {"region", config->region, sizeof(config->region)},
                               {"endpoint_url", config->endpoint, sizeof(config->endpoint)}};
    bool in_section = false;
    char *rest, *line = strtok_r(data, "\n", &rest);
    int status = 0;
    for (; line != NULL && status == 0; line = strtok_r(NULL, "\n", &rest)) {
        char *text = text_trim(line);
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
    if (status == 0 &&
        (config.credentials.access_key[0] == '\0' || config.credentials.secret[0] == '\0' || config.region[0] == '\0'))
        status = say(ret_error, path, "aws_access_key_id, aws_secret_access_key and region are needed");
    if (config.endpoint[0] == '\0')
        snprintf(config.endpoint, sizeof(config.endpoint), "https://s3.%s.amazonaws.com", config.region);
    if (status == 0)
        *ret_config = config;
    explicit_bzero(&config, sizeof(config));
    return status;
}

/* --- the signature --------------------------------------------------------------------------------------------- */

int s3_sign(const struct s3_config *config, const char *host, const char *path, const char *query, int64_t now_ms,
            struct text *ret_headers)
{
    const struct aws_request request = {.method = "GET",
                                        .host = host,
                                        .path = path,
                                        .query = query,
                                        .content_type = "",
                                        .region = config->region,
                                        .service = "s3",
                                        .now_ms = now_ms};
    struct aws_headers headers;
    int status = aws_sign(&request, &config->credentials, &headers);
    if (status != 0)
        return status;
    for (size_t i = 0; headers.list[i] != NULL; i++)
        text_printf(ret_headers, "%s\r\n", headers.list[i]);
    aws_headers_free(&headers);
    return 0;
}
