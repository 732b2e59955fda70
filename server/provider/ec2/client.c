/* Sends calls. Every request has a connection of its own: calls are few, and far between. */
#include "server/provider/ec2/client.h"

#include "base/clock.h"
#include "base/http.h"
#include "base/id.h"
#include "base/own.h"
#include "base/status.h"
#include "base/url.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define VERSION "2016-11-15"
#define CONTENT_TYPE "application/x-www-form-urlencoded; charset=utf-8"
#define PAUSE_FIRST_MS 500
#define PAUSE_MAX_MS 20000
#define LOOK_MS 100

struct ec2_client {
    char *endpoint, *region, *file, *profile, *metadata_url;
    char host[URL_HOST_MAX + URL_PORT_MAX + 4];
    int64_t timeout_ms;
    pthread_mutex_t mutex; /* guards what follows */
    struct aws_credentials credentials;
    int64_t not_before; /* steady: EC2 throttles until then */
};

static int find_host(struct ec2_client *client, char *ret_error)
{
    struct url url;
    const char *why;
    if (url_parse(client->endpoint, &url, &why) != 0) {
        snprintf(ret_error, PROVIDER_ERROR_MAX, "endpoint %.100s: %.100s", client->endpoint, why);
        return STATUS_INVALID;
    }
    bool usual = url.port_number == (url.tls ? 443 : 80);
    snprintf(client->host, sizeof(client->host), "%s%s%s%s%s", url.is_ipv6 ? "[" : "", url.host, url.is_ipv6 ? "]" : "",
             usual ? "" : ":", usual ? "" : url.port);
    return 0;
}

int ec2_client_new(const struct ec2_client_options *options, struct ec2_client **ret_client, char *ret_error)
{
    struct ec2_client *client = own_calloc(1, sizeof(*client));
    char endpoint[AWS_ENDPOINT_MAX];
    pthread_mutex_init(&client->mutex, NULL);
    int status = aws_endpoint("ec2", options->region, endpoint);
    if (status != 0)
        snprintf(ret_error, PROVIDER_ERROR_MAX, "region must be a region of EC2, as us-west-2");
    client->endpoint = own_strdup(options->endpoint[0] != '\0' ? options->endpoint : status == 0 ? endpoint : "");
    client->region = own_strdup(options->region);
    client->file = own_strdup(options->credentials.file);
    client->profile = own_strdup(options->credentials.profile);
    client->metadata_url = own_strdup(options->credentials.metadata_url);
    client->timeout_ms = options->timeout_ms;
    if (status == 0)
        status = find_host(client, ret_error);
    if (status != 0) {
        ec2_client_free(client);
        return status;
    }
    *ret_client = client;
    return 0;
}

void ec2_client_free(struct ec2_client *client)
{
    if (client == NULL)
        return;
    pthread_mutex_destroy(&client->mutex);
    free(client->endpoint);
    free(client->region);
    free(client->file);
    free(client->profile);
    free(client->metadata_url);
    explicit_bzero(client, sizeof(*client));
    free(client);
}

void ec2_form_add(struct text *form, const char *name, const char *value)
{
    text_printf(form, "&%s=", name);
    text_add_escaped(form, value, "");
}

void ec2_answer_free(struct ec2_answer *answer)
{
    free(TAKE(answer->data));
}

/* --- keys, and when EC2 wants to be asked ---------------------------------------------------------------------- */

static int find_credentials(struct ec2_client *client, struct aws_credentials *ret_credentials, char *ret_error)
{
    const struct ec2_credentials_source source = {
        .file = client->file, .profile = client->profile, .metadata_url = client->metadata_url};
    pthread_mutex_lock(&client->mutex);
    int status = 0;
    if (ec2_credentials_are_old(&client->credentials, clock_true_ms(clock_system())))
        status = ec2_credentials_find(&source, &client->credentials, ret_error);
    if (status == 0)
        *ret_credentials = client->credentials;
    pthread_mutex_unlock(&client->mutex);
    return status;
}

static void forget_credentials(struct ec2_client *client)
{
    pthread_mutex_lock(&client->mutex);
    client->credentials.expires_at = 0;
    pthread_mutex_unlock(&client->mutex);
}

static int64_t not_before(struct ec2_client *client)
{
    pthread_mutex_lock(&client->mutex);
    int64_t at = client->not_before;
    pthread_mutex_unlock(&client->mutex);
    return at;
}

static void hold_off(struct ec2_client *client, int64_t until)
{
    pthread_mutex_lock(&client->mutex);
    if (until > client->not_before)
        client->not_before = until;
    pthread_mutex_unlock(&client->mutex);
}

/* TIMEOUT: EC2 throttles for longer than the call may take. */
static int wait_turn(struct ec2_client *client, int64_t deadline)
{
    const struct timespec pause = {.tv_nsec = LOOK_MS * 1000000L};
    for (int64_t now; (now = clock_mono_ms(clock_system())) < not_before(client);) {
        if (now >= deadline)
            return STATUS_TIMEOUT;
        (void)nanosleep(&pause, NULL);
    }
    return 0;
}

/* --- one request ------------------------------------------------------------------------------------------------ */

static int send_signed(struct ec2_client *client, const struct text *body, int64_t timeout_ms,
                       struct http_reply *ret_reply, bool *ret_sent, char *ret_error)
{
    struct aws_credentials credentials;
    struct aws_headers headers = {.list = {NULL}};
    struct http_client *http = NULL;
    char why[HTTP_ERROR_MAX] = "";
    *ret_sent = false;
    int status = find_credentials(client, &credentials, ret_error);
    if (status != 0)
        return status;
    const struct aws_request request = {.method = "POST",
                                        .host = client->host,
                                        .path = "/",
                                        .query = "",
                                        .content_type = CONTENT_TYPE,
                                        .body = body->data,
                                        .body_len = body->len,
                                        .region = client->region,
                                        .service = "ec2",
                                        .now_ms = clock_true_ms(clock_system())};
    status = aws_sign(&request, &credentials, &headers);
    explicit_bzero(&credentials, sizeof(credentials));
    if (status != 0) {
        snprintf(ret_error, PROVIDER_ERROR_MAX, "credentials for EC2: the keys have characters that no key has");
        return STATUS_DENIED;
    }
    const struct http_options options = {.url = client->endpoint, .timeout_ms = timeout_ms};
    status = http_client_new(&options, &http, why);
    if (status == 0) {
        *ret_sent = true;
        status = http_request(http, "POST", "/", CONTENT_TYPE, body->data, body->len, (const char *const *)headers.list,
                              EC2_BYTES_MAX, ret_reply, why);
    }
    if (status != 0)
        snprintf(ret_error, PROVIDER_ERROR_MAX, "EC2: %.200s", why);
    http_client_free(http);
    aws_headers_free(&headers);
    return status;
}

static void say_refusal(const struct ec2_answer *answer, int http_status, const struct ec2_error *error,
                        char *ret_error)
{
    if (error->code[0] == '\0')
        snprintf(ret_error, PROVIDER_ERROR_MAX, "EC2 answers %d and no error that can be read", http_status);
    else if (answer->refusal.auth)
        snprintf(ret_error, PROVIDER_ERROR_MAX, "EC2 refuses the credentials: %s: %.100s", error->code, error->message);
    else
        snprintf(ret_error, PROVIDER_ERROR_MAX, "EC2: %s: %.150s", error->code, error->message);
}

/* What the reply is. */
static int judge(struct ec2_client *client, struct http_reply *reply, struct ec2_answer *ret_answer, char *ret_error)
{
    struct ec2_error error = {.code = ""};
    if (reply->status == 200) {
        ret_answer->data = TAKE(reply->body);
        ret_answer->len = reply->len;
        return 0;
    }
    (void)ec2_read_error(reply->body, reply->len, &error);
    ret_answer->refusal = ec2_refusal_of(reply->status, error.code);
    text_copy_cut(ret_answer->code, sizeof(ret_answer->code), error.code);
    say_refusal(ret_answer, reply->status, &error, ret_error);
    if (text_starts_with(error.code, "ExpiredToken") || ret_answer->refusal.auth)
        forget_credentials(client);
    return ret_answer->refusal.status;
}

/* By up to a half longer, so that many that were throttled together do not come back together. */
static int64_t pause_of(int tries, int64_t retry_after_s)
{
    uint8_t random;
    id_bytes(NULL, &random, sizeof(random));
    int64_t pause = PAUSE_FIRST_MS << (tries < 6 ? tries : 6);
    pause = pause > PAUSE_MAX_MS ? PAUSE_MAX_MS : pause;
    int64_t asked = retry_after_s > 60 ? 60 : retry_after_s;
    return pause + pause * random / 512 + asked * MS_PER_S;
}

int ec2_call(struct ec2_client *client, const char *action, const char *form, struct ec2_answer *ret_answer,
             char *ret_error)
{
    AUTO(text) struct text body = {0};
    int64_t deadline = clock_mono_ms(clock_system()) + client->timeout_ms;
    int status = 0;
    text_printf(&body, "Action=%s&Version=" VERSION "%s", action, form);
    ret_error[0] = '\0';
    for (int tries = 0;; tries++) {
        struct http_reply reply = {0};
        bool sent = false;
        *ret_answer = (struct ec2_answer){.data = NULL};
        if (wait_turn(client, deadline) != 0) {
            ret_answer->refusal = (struct ec2_refusal){.status = STATUS_UNAVAILABLE, .certain = true};
            if (ret_error[0] == '\0')
                snprintf(ret_error, PROVIDER_ERROR_MAX, "EC2 throttles this provider's calls");
            status = STATUS_UNAVAILABLE;
            break;
        }
        int64_t left = deadline - clock_mono_ms(clock_system());
        status = send_signed(client, &body, left > MS_PER_S ? left : MS_PER_S, &reply, &sent, ret_error);
        if (status != 0)
            ret_answer->refusal = (struct ec2_refusal){.status = status, .certain = !sent};
        else
            status = judge(client, &reply, ret_answer, ret_error);
        int64_t retry_after_s = reply.retry_after_s;
        http_reply_free(&reply);
        if (status == 0 || !ret_answer->refusal.throttled)
            break;
        hold_off(client, clock_mono_ms(clock_system()) + pause_of(tries, retry_after_s));
    }
    if (body.data != NULL)
        explicit_bzero(body.data, body.len); /* it may have the token of a machine */
    return status;
}
