/*
 * The HTTP client of people's tools, of slurmrestd and of Kubernetes (libcurl; this file is its only user).
 *
 * One handle, so that a kept connection serves the next request. Redirects are never followed: a token goes
 * where it was meant to go. With a fingerprint the pinned key is the whole proof; without one the usual
 * authorities and names are. Streams are read by curl's multi interface, because only there silence can be timed in
 * milliseconds.
 */
#include "base/http.h"

#include "base/clock.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"
#include "base/url.h"

#include <curl/curl.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define FINGERPRINT_PREFIX "sha256:"
#define STREAM_POLL_MS 250
#define RETRY_AFTER_S_MAX 86400

struct http_client {
    CURL *curl;
    char *base;
    struct url url;
    char *authorization; /* "Authorization: Bearer …" or NULL */
    char *pin;           /* curl's form of the fingerprint, or NULL */
    char *ca_file;
    char *cert_file, *key_file; /* or NULL */
    char *proxy;                /* or NULL */
    char *socket;               /* or NULL */
    int64_t timeout_ms;
    int64_t retry_after_s; /* of the last answer */
    atomic_bool cancelled;
    char curl_error[CURL_ERROR_SIZE];
};

/* Where a reply goes. Only one of body and on_bytes is used. */
struct sink {
    struct text body;
    size_t bytes_max;
    bool too_large, stopped;
    bool (*on_bytes)(const char *bytes, size_t len, void *arg);
    void *arg;
    int64_t last_ms;
    int64_t *retry_after_s;
    struct http_reply *reply; /* NULL: of a stream */
    bool head, good;          /* on_bytes hears of the head of a reply, too, where its status is 2xx */
    const char *header;       /* wanted by who downloads; NULL: none */
    char value[HTTP_HEADER_VALUE_MAX];
};

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void global_init(void)
{
    curl_global_init(CURL_GLOBAL_DEFAULT);
}

static void curl_list_free(struct curl_slist *list)
{
    curl_slist_free_all(list);
}

AUTO_DEFINE(struct curl_slist *, curl_list, curl_list_free)

static void say(char ret_error[HTTP_ERROR_MAX], const char *what, const char *why)
{
    snprintf(ret_error, HTTP_ERROR_MAX, "%.100s: %.140s", what, why);
}

int http_client_new(const struct http_options *options, struct http_client **ret_client, char ret_error[HTTP_ERROR_MAX])
{
    struct url url;
    const char *why;
    if ((options->plain ? url_parse_any : url_parse)(options->url, &url, &why) != 0) {
        say(ret_error, options->url, why);
        return STATUS_INVALID;
    }
    if (options->fingerprint != NULL && !text_starts_with(options->fingerprint, FINGERPRINT_PREFIX)) {
        say(ret_error, options->fingerprint, "a fingerprint starts with " FINGERPRINT_PREFIX);
        return STATUS_INVALID;
    }
    if (options->token != NULL && strpbrk(options->token, "\r\n") != NULL) {
        say(ret_error, "token", "it holds a line break");
        return STATUS_INVALID;
    }
    pthread_once(&once, global_init);
    struct http_client *client = own_calloc(1, sizeof(*client));
    client->curl = curl_easy_init();
    if (client->curl == NULL)
        abort();
    client->url = url;
    client->base = own_printf("%s://%s%s%s:%s", url.tls ? "https" : "http", url.is_ipv6 ? "[" : "", url.host,
                              url.is_ipv6 ? "]" : "", url.port);
    if (options->token != NULL)
        client->authorization = own_printf("Authorization: Bearer %s", options->token);
    if (options->fingerprint != NULL)
        client->pin = own_printf("sha256//%s", options->fingerprint + strlen(FINGERPRINT_PREFIX));
    client->ca_file = own_strdup(options->ca_file);
    client->cert_file = own_strdup(options->cert_file);
    client->key_file = own_strdup(options->key_file);
    client->proxy = own_strdup(options->proxy);
    client->socket = own_strdup(options->socket);
    client->timeout_ms = options->timeout_ms;
    *ret_client = client;
    return 0;
}

void http_client_free(struct http_client *client)
{
    if (client == NULL)
        return;
    curl_easy_cleanup(client->curl);
    free(client->base);
    free(client->authorization);
    free(client->pin);
    free(client->ca_file);
    free(client->cert_file);
    free(client->key_file);
    free(client->proxy);
    free(client->socket);
    free(client);
}

void http_client_limit(struct http_client *client, int64_t timeout_ms)
{
    client->timeout_ms = timeout_ms;
}

int http_client_token(struct http_client *client, const char *token)
{
    if (token != NULL && strpbrk(token, "\r\n") != NULL)
        return STATUS_INVALID;
    free(client->authorization);
    client->authorization = token == NULL ? NULL : own_printf("Authorization: Bearer %s", token);
    return 0;
}

int64_t http_client_retry_after_s(const struct http_client *client)
{
    return client->retry_after_s;
}

void http_client_cancel(struct http_client *client)
{
    atomic_store(&client->cancelled, true);
}

void http_reply_free(struct http_reply *reply)
{
    if (reply != NULL)
        free(TAKE(reply->body));
}

/* --- receiving ----------------------------------------------------------------------------------------------- */

static size_t on_body(char *bytes, size_t size, size_t count, void *arg)
{
    struct sink *sink = arg;
    size_t len = size * count;
    sink->last_ms = clock_mono_ms(clock_system());
    if (sink->on_bytes != NULL) {
        sink->stopped = !sink->on_bytes(bytes, len, sink->arg);
        return sink->stopped ? 0 : len;
    }
    if (len > sink->bytes_max - sink->body.len) {
        sink->too_large = true;
        return 0;
    }
    text_add_bytes(&sink->body, bytes, len);
    return len;
}

/* The value of a header of this name ("ETag:") without blanks around it; false: it is another one. */
static bool header_value(const char *bytes, size_t len, const char *name, const char **ret_value, size_t *ret_len)
{
    size_t at = strlen(name), end = len;
    if (len < at || strncasecmp(bytes, name, at) != 0)
        return false;
    while (at < len && (bytes[at] == ' ' || bytes[at] == '\t'))
        at++;
    while (end > at && strchr(" \t\r\n", bytes[end - 1]) != NULL)
        end--;
    *ret_value = bytes + at;
    *ret_len = end - at;
    return true;
}

/* The head of a stream ends with an empty line. */
static size_t on_stream_header(const char *bytes, size_t len, struct sink *sink)
{
    if (len >= sizeof("HTTP/") && strncmp(bytes, "HTTP/", sizeof("HTTP/") - 1) == 0) {
        const char *code = memchr(bytes, ' ', len);
        sink->good = code != NULL && code + 1 < bytes + len && code[1] == '2';
        return len;
    }
    if (len > 2 || bytes[0] != '\r' || !sink->good)
        return len;
    sink->stopped = !sink->on_bytes("", 0, sink->arg);
    return sink->stopped ? 0 : len;
}

static size_t on_header(char *bytes, size_t size, size_t count, void *arg)
{
    struct sink *sink = arg;
    const char *value;
    size_t len;
    char seconds[8];
    /* One that does not fit is not ours, and half of it would be wrong. */
    if (sink->reply != NULL && header_value(bytes, size * count, "ETag:", &value, &len))
        (void)text_copy_bytes(sink->reply->etag, sizeof(sink->reply->etag), value, len);
    else if (sink->header != NULL && header_value(bytes, size * count, sink->header, &value, &len))
        (void)text_copy_bytes(sink->value, sizeof(sink->value), value, len);
    else if (header_value(bytes, size * count, "Retry-After:", &value, &len) &&
             text_copy_bytes(seconds, sizeof(seconds), value, len) == 0)
        (void)text_parse_i64(seconds, 0, RETRY_AFTER_S_MAX, sink->retry_after_s);
    return sink->head ? on_stream_header(bytes, size * count, sink) : size * count;
}

/* Asked about once a second while nothing moves, too. */
static int on_progress(void *arg, curl_off_t down_total, curl_off_t down, curl_off_t up_total, curl_off_t up)
{
    (void)down_total, (void)down, (void)up_total, (void)up;
    return atomic_load(&((struct http_client *)arg)->cancelled);
}

/* --- asking -------------------------------------------------------------------------------------------------- */

static void set_security(struct http_client *client)
{
    CURL *curl = client->curl;
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, client->url.tls ? "https" : "http");
    curl_easy_setopt(curl, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    if (client->pin != NULL) {
        curl_easy_setopt(curl, CURLOPT_PINNEDPUBLICKEY, client->pin);
        curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, 0L);
        curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, 0L);
    } else if (client->ca_file != NULL) {
        curl_easy_setopt(curl, CURLOPT_CAINFO, client->ca_file);
        curl_easy_setopt(curl, CURLOPT_CA_CACHE_TIMEOUT, 0L); /* the file may be rotated */
    }
    if (client->cert_file != NULL) {
        curl_easy_setopt(curl, CURLOPT_SSLCERT, client->cert_file);
        curl_easy_setopt(curl, CURLOPT_SSLKEY, client->key_file);
    }
    if (client->proxy != NULL)
        curl_easy_setopt(curl, CURLOPT_PROXY, client->proxy);
    else if (!client->url.tls) /* the loopback, or what is reached directly: no proxy belongs in between */
        curl_easy_setopt(curl, CURLOPT_PROXY, "");
}

static void set_request(struct http_client *client, const char *url, struct curl_slist *headers, struct sink *sink)
{
    CURL *curl = client->curl;
    curl_easy_reset(curl); /* keeps the connection */
    client->curl_error[0] = '\0';
    client->retry_after_s = 0;
    sink->retry_after_s = &client->retry_after_s;
    set_security(client);
    curl_easy_setopt(curl, CURLOPT_URL, url);
    if (client->socket != NULL)
        curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, client->socket);
    curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, client->curl_error);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, sink);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(curl, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L); /* a proxy's are none of the server's */
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, sink);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)client->timeout_ms);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_progress);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, client);
}

static void set_method(CURL *curl, const char *method, const void *body, size_t len)
{
    bool with_body = body != NULL || strcmp(method, "POST") == 0 || strcmp(method, "PATCH") == 0;
    if (with_body) {
        curl_easy_setopt(curl, CURLOPT_POST, 1L);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body != NULL ? body : "");
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)len);
    } else if (strcmp(method, "HEAD") == 0) {
        curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
    }
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method);
}

static struct curl_slist *add(struct curl_slist *list, const char *header)
{
    struct curl_slist *longer = curl_slist_append(list, header);
    if (longer == NULL)
        abort();
    return longer;
}

static struct curl_slist *make_headers(const struct http_client *client, const char *content_type,
                                       const char *const *headers)
{
    struct curl_slist *list = add(NULL, "Expect:"); /* no 100-continue */
    if (client->authorization != NULL)
        list = add(list, client->authorization);
    autofree char *type = own_printf("Content-Type:%s%s", content_type != NULL ? " " : "",
                                     content_type != NULL ? content_type : ""); /* empty: curl leaves its own out */
    list = add(list, type);
    for (size_t i = 0; headers != NULL && headers[i] != NULL; i++)
        list = add(list, headers[i]);
    return list;
}

static const char *name_of(const struct http_client *client)
{
    return client->socket != NULL ? client->socket : client->base;
}

static int status_of(struct http_client *client, CURLcode code, const struct sink *sink, char ret_error[HTTP_ERROR_MAX])
{
    if (sink->too_large) {
        say(ret_error, name_of(client), "the reply is larger than what is asked for");
        return STATUS_TOO_LARGE;
    }
    if (code == CURLE_SSL_PINNEDPUBKEYNOTMATCH) {
        say(ret_error, name_of(client), "the server's key does not match the fingerprint");
        return STATUS_DENIED;
    }
    say(ret_error, name_of(client), client->curl_error[0] != '\0' ? client->curl_error : curl_easy_strerror(code));
    switch (code) {
    case CURLE_OPERATION_TIMEDOUT:
        return STATUS_TIMEOUT;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
        return STATUS_DENIED;
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_UNSUPPORTED_PROTOCOL:
        return STATUS_BACKEND;
    default:
        return STATUS_UNAVAILABLE;
    }
}

int http_request(struct http_client *client, const char *method, const char *path_and_query, const char *content_type,
                 const void *body, size_t len, const char *const *headers, size_t bytes_max,
                 struct http_reply *ret_reply, char ret_error[HTTP_ERROR_MAX])
{
    struct http_reply reply = {0};
    struct sink sink = {.bytes_max = bytes_max, .reply = &reply};
    struct curl_slist *list AUTO(curl_list) = make_headers(client, content_type, headers);
    autofree char *url = own_printf("%s%s", client->base, path_and_query);
    set_request(client, url, list, &sink);
    set_method(client->curl, method, body, len);
    curl_easy_setopt(client->curl, CURLOPT_TIMEOUT_MS, (long)client->timeout_ms);
    CURLcode code = curl_easy_perform(client->curl);
    if (code != CURLE_OK) {
        text_free(&sink.body);
        return status_of(client, code, &sink, ret_error);
    }
    long status = 0;
    char *type = NULL;
    curl_easy_getinfo(client->curl, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(client->curl, CURLINFO_CONTENT_TYPE, &type);
    reply.status = (int)status;
    reply.retry_after_s = client->retry_after_s;
    if (type != NULL)
        (void)text_copy(reply.content_type, sizeof(reply.content_type), type);
    reply.len = sink.body.len;
    reply.body = text_take(&sink.body);
    *ret_reply = reply;
    return 0;
}

/* --- streaming ----------------------------------------------------------------------------------------------- */

/* Runs until curl is done (*ret_code), or silence lasts too long. */
static int pump(CURLM *multi, struct sink *sink, int64_t idle_timeout_ms, CURLcode *ret_code)
{
    int running = 1, queued;
    while (curl_multi_perform(multi, &running) == CURLM_OK && running > 0) {
        int64_t left = sink->last_ms + idle_timeout_ms - clock_mono_ms(clock_system());
        if (left <= 0)
            return STATUS_TIMEOUT;
        (void)curl_multi_poll(multi, NULL, 0, left < STREAM_POLL_MS ? (int)left : STREAM_POLL_MS, NULL);
    }
    CURLMsg *message = curl_multi_info_read(multi, &queued);
    *ret_code = message != NULL && message->msg == CURLMSG_DONE ? message->data.result : CURLE_RECV_ERROR;
    return 0;
}

int http_stream(struct http_client *client, const char *path_and_query,
                bool (*on_bytes)(const char *bytes, size_t len, void *arg), void *arg, int64_t idle_timeout_ms,
                int *ret_status, char ret_error[HTTP_ERROR_MAX])
{
    struct sink sink = {.on_bytes = on_bytes, .arg = arg, .head = true};
    struct curl_slist *list AUTO(curl_list) = make_headers(client, NULL, NULL);
    autofree char *url = own_printf("%s%s", client->base, path_and_query);
    set_request(client, url, list, &sink);
    sink.last_ms = clock_mono_ms(clock_system());
    CURLM *multi = curl_multi_init();
    if (multi == NULL || curl_multi_add_handle(multi, client->curl) != CURLM_OK)
        abort();
    CURLcode code = CURLE_OK;
    int status = pump(multi, &sink, idle_timeout_ms, &code);
    long http_status = 0;
    curl_easy_getinfo(client->curl, CURLINFO_RESPONSE_CODE, &http_status);
    curl_multi_remove_handle(multi, client->curl);
    curl_multi_cleanup(multi);
    if (status != 0)
        say(ret_error, name_of(client), "silent for too long");
    else if (code != CURLE_OK && !sink.stopped)
        status = status_of(client, code, &sink, ret_error);
    if (status == 0)
        *ret_status = (int)http_status;
    return status;
}

/* --- into a file ---------------------------------------------------------------------------------------------- */

struct into_file {
    int fd, status;
};

static bool write_bytes(const char *bytes, size_t len, void *arg)
{
    struct into_file *into = arg;
    for (size_t at = 0; at < len;) {
        ssize_t n = write(into->fd, bytes + at, len - at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            into->status = status_of_write(errno);
            return false;
        }
        at += (size_t)n;
    }
    return true;
}

int http_download(struct http_client *client, const struct http_download *download, int *ret_status,
                  char ret_value[HTTP_HEADER_VALUE_MAX], char ret_error[HTTP_ERROR_MAX])
{
    struct into_file into = {.fd = download->fd};
    struct sink sink = {.on_bytes = write_bytes, .arg = &into, .header = download->header};
    struct curl_slist *list AUTO(curl_list) = make_headers(client, NULL, NULL);
    autofree char *url = own_printf("%s%s", client->base, download->path_and_query);
    set_request(client, url, list, &sink);
    set_method(client->curl, download->method, NULL, 0);
    curl_easy_setopt(client->curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(client->curl, CURLOPT_LOW_SPEED_TIME, (long)(download->idle_timeout_ms / MS_PER_S));
    CURLcode code = curl_easy_perform(client->curl);
    if (into.status != 0) {
        say(ret_error, name_of(client), "the reply cannot be written into its file");
        return into.status;
    }
    if (code != CURLE_OK)
        return status_of(client, code, &sink, ret_error);
    long status = 0;
    curl_easy_getinfo(client->curl, CURLINFO_RESPONSE_CODE, &status);
    *ret_status = (int)status;
    memcpy(ret_value, sink.value, HTTP_HEADER_VALUE_MAX);
    return 0;
}
