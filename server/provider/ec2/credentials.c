/* Finds the keys. What others may read is refused, as it is no secret any more. */
#include "server/provider/ec2/credentials.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/http.h"
#include "base/json.h"
#include "base/status.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define FILE_BYTES_MAX (64 * 1024)
#define ROLE_BYTES_MAX (32 * 1024)
#define METADATA_TIMEOUT_MS 5000
#define RENEW_BEFORE_MS (5 * MS_PER_MIN)
#define ROLE_PATH "/latest/meta-data/iam/security-credentials/"

static int say(char *ret_error, int status, const char *why)
{
    snprintf(ret_error, PROVIDER_ERROR_MAX, "credentials for EC2: %.200s", why);
    return status;
}

/* --- a file ---------------------------------------------------------------------------------------------------- */

/* A line "name = value" of the profile, which it takes apart in place. */
static int take_key(char *line, struct aws_credentials *credentials)
{
    char *equals = strchr(line, '=');
    if (equals == NULL)
        return STATUS_INVALID;
    *equals = '\0';
    const char *name = text_trim(line), *value = text_trim(equals + 1);
    const struct {
        const char *name;
        char *into;
        size_t size;
    } keys[] = {{"aws_access_key_id", credentials->access_key, sizeof(credentials->access_key)},
                {"aws_secret_access_key", credentials->secret, sizeof(credentials->secret)},
                {"aws_session_token", credentials->session_token, sizeof(credentials->session_token)}};
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        if (text_equal(name, keys[i].name))
            return text_is_clean(value) ? text_copy(keys[i].into, keys[i].size, value) : STATUS_INVALID;
    return 0; /* such files have other settings, too */
}

/* [default], or [profile x] as the configuration of the command line has it. */
static bool is_profile(char *line, const char *profile)
{
    size_t len = strlen(line);
    if (line[len - 1] != ']')
        return false;
    line[len - 1] = '\0';
    const char *name = text_trim(line + 1);
    return text_equal(name, profile) ||
           (text_starts_with(name, "profile ") && text_equal(name + strlen("profile "), profile));
}

int ec2_credentials_parse(char *text, const char *profile, struct aws_credentials *ret_credentials, char *ret_error)
{
    struct aws_credentials credentials = {.access_key = ""};
    bool inside = false, found = false;
    int status = 0;
    for (char *next, *line = text; status == 0 && line != NULL; line = next) {
        next = strchr(line, '\n');
        if (next != NULL)
            *next++ = '\0';
        line = text_trim(line);
        if (line[0] == '\0' || line[0] == '#' || line[0] == ';')
            continue;
        if (line[0] == '[')
            found |= inside = is_profile(line, profile);
        else if (inside)
            status = take_key(line, &credentials);
    }
    if (status != 0)
        say(ret_error, status, "the profile has a line that is no \"name = value\", or a value that is too long");
    else if (!found)
        status = say(ret_error, STATUS_NOT_FOUND, "the file has no such profile: [default] is the usual one");
    else if (credentials.access_key[0] == '\0' || credentials.secret[0] == '\0')
        status = say(ret_error, STATUS_INVALID,
                     "the profile needs aws_access_key_id and aws_secret_access_key, and no role");
    if (status == 0)
        *ret_credentials = credentials;
    explicit_bzero(&credentials, sizeof(credentials));
    return status;
}

static int find_in_file(const struct ec2_credentials_source *source, struct aws_credentials *ret_credentials,
                        char *ret_error)
{
    struct stat st;
    char *text = NULL;
    size_t len;
    int status = file_read(source->file, FILE_BYTES_MAX, &text, &len);
    if (status != 0) {
        snprintf(ret_error, PROVIDER_ERROR_MAX, "credentialsFile %.150s: %s", source->file, status_meaning(status));
        return STATUS_DENIED;
    }
    if (stat(source->file, &st) != 0 || (st.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
        snprintf(ret_error, PROVIDER_ERROR_MAX, "credentialsFile %.150s: others may read it: chmod 600", source->file);
        status = STATUS_DENIED;
    } else {
        status = ec2_credentials_parse(text, source->profile, ret_credentials, ret_error) == 0 ? 0 : STATUS_DENIED;
    }
    explicit_bzero(text, len);
    free(text);
    return status;
}

/* --- a role ---------------------------------------------------------------------------------------------------- */

int ec2_credentials_parse_role(const char *data, size_t len, struct aws_credentials *ret_credentials, char *ret_error)
{
    auto_json json_t *json = NULL;
    char error[JSON_ERROR_MAX];
    struct aws_credentials credentials = {.access_key = ""};
    if (json_parse(data, len, ROLE_BYTES_MAX, &json, error) != 0)
        return say(ret_error, STATUS_BACKEND, "the instance metadata answers no JSON");
    const char *key = json_string_value(json_object_get(json, "AccessKeyId"));
    const char *secret = json_string_value(json_object_get(json, "SecretAccessKey"));
    const char *token = json_string_value(json_object_get(json, "Token"));
    const char *until = json_string_value(json_object_get(json, "Expiration"));
    if (key == NULL || secret == NULL || token == NULL || until == NULL || key[0] == '\0' || secret[0] == '\0' ||
        !text_is_clean(key) || !text_is_clean(token) ||
        text_copy(credentials.access_key, sizeof(credentials.access_key), key) != 0 ||
        text_copy(credentials.secret, sizeof(credentials.secret), secret) != 0 ||
        text_copy(credentials.session_token, sizeof(credentials.session_token), token) != 0 ||
        clock_parse(until, &credentials.expires_at) != 0)
        return say(ret_error, STATUS_BACKEND, "the instance metadata has no usable keys of a role");
    *ret_credentials = credentials;
    explicit_bzero(&credentials, sizeof(credentials));
    return 0;
}

static int ask(struct http_client *client, const char *method, const char *path, const char *header,
               struct http_reply *ret_reply, char *ret_error)
{
    char why[HTTP_ERROR_MAX] = "";
    const char *const headers[] = {header, NULL};
    int status = http_request(client, method, path, NULL, NULL, 0, headers, ROLE_BYTES_MAX, ret_reply, why);
    if (status != 0)
        return say(ret_error, STATUS_UNAVAILABLE, why);
    if (ret_reply->status == 200)
        return 0;
    snprintf(why, sizeof(why), "the instance metadata answers %d to %.100s", ret_reply->status, path);
    http_reply_free(ret_reply);
    *ret_reply = (struct http_reply){0};
    return say(ret_error, STATUS_UNAVAILABLE, why);
}

static int ask_role(struct http_client *client, const char *header, struct aws_credentials *ret_credentials,
                    char *ret_error)
{
    struct http_reply role = {0}, keys = {0};
    int status = ask(client, "GET", ROLE_PATH, header, &role, ret_error);
    if (status != 0)
        return status;
    role.body[strcspn(role.body, "\r\n")] = '\0';
    if (role.body[0] == '\0' || strlen(role.body) > 128 || strpbrk(role.body, "/?#% \t") != NULL)
        status = say(ret_error, STATUS_BACKEND, "the instance metadata names no role");
    if (status == 0) {
        autofree char *path = own_printf(ROLE_PATH "%s", role.body);
        status = ask(client, "GET", path, header, &keys, ret_error);
    }
    if (status == 0)
        status = ec2_credentials_parse_role(keys.body, keys.len, ret_credentials, ret_error);
    if (keys.body != NULL)
        explicit_bzero(keys.body, keys.len);
    http_reply_free(&keys);
    http_reply_free(&role);
    return status;
}

static int find_role(const struct ec2_credentials_source *source, struct aws_credentials *ret_credentials,
                     char *ret_error)
{
    char why[HTTP_ERROR_MAX] = "";
    struct http_client *client = NULL;
    struct http_reply token = {0};
    const struct http_options options = {
        .url = source->metadata_url, .plain = true, .proxy = "", .timeout_ms = METADATA_TIMEOUT_MS};
    if (http_client_new(&options, &client, why) != 0)
        return say(ret_error, STATUS_INVALID, why);
    int status =
        ask(client, "PUT", "/latest/api/token", "X-aws-ec2-metadata-token-ttl-seconds: 300", &token, ret_error);
    if (status == 0 && !text_is_clean(token.body))
        status = say(ret_error, STATUS_BACKEND, "the instance metadata gives no token");
    if (status == 0) {
        char *header = own_printf("X-aws-ec2-metadata-token: %s", token.body);
        status = ask_role(client, header, ret_credentials, ret_error);
        explicit_bzero(header, strlen(header));
        free(header);
    }
    http_reply_free(&token);
    http_client_free(client);
    return status;
}

/* --- all of them ----------------------------------------------------------------------------------------------- */

static bool find_in_environment(struct aws_credentials *ret_credentials)
{
    const char *key = getenv("AWS_ACCESS_KEY_ID"), *secret = getenv("AWS_SECRET_ACCESS_KEY");
    *ret_credentials = (struct aws_credentials){.access_key = ""};
    return key != NULL && secret != NULL && key[0] != '\0' && secret[0] != '\0' && text_is_clean(key) &&
           text_copy(ret_credentials->access_key, sizeof(ret_credentials->access_key), key) == 0 &&
           text_copy(ret_credentials->secret, sizeof(ret_credentials->secret), secret) == 0 &&
           text_copy(ret_credentials->session_token, sizeof(ret_credentials->session_token),
                     text_or_empty(getenv("AWS_SESSION_TOKEN"))) == 0;
}

int ec2_credentials_find(const struct ec2_credentials_source *source, struct aws_credentials *ret_credentials,
                         char *ret_error)
{
    if (source->file[0] != '\0')
        return find_in_file(source, ret_credentials, ret_error);
    return find_in_environment(ret_credentials) ? 0 : find_role(source, ret_credentials, ret_error);
}

bool ec2_credentials_are_old(const struct aws_credentials *credentials, int64_t now_ms)
{
    return credentials->expires_at == 0 || now_ms > credentials->expires_at - RENEW_BEFORE_MS;
}
