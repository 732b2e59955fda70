/*
 * One kept HTTP/1.1 connection, moved on step by step; wire_post is the same with a wait around it.
 *
 *     IDLE ──► CONNECTING ──► SECURING ──► SENDING ──► RECEIVING ──► IDLE
 *       └──────────────(kept connection)──────▲
 *
 * Request and reply live in two buffers that are kept, so an exchange on a kept connection allocates nothing.
 * The server may close a kept connection at any time: that is looked for before sending, and once more when no
 * byte of a reply came. base/wire_http.c reads replies, base/wire_tls.c is the TLS.
 */
#include "base/wire.h"

#include "base/address.h"
#include "base/clock.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"
#include "base/url.h"
#include "base/wire_http.h"
#include "base/wire_tls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <nettle/base64.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ADDRESSES_MAX 8
#define RECEIVE_BYTES 4096
#define FINGERPRINT_PREFIX "sha256:"
#define FINGERPRINT_BASE64_LEN 44 /* of 32 bytes */

enum wire_phase { WIRE_IDLE, WIRE_CONNECTING, WIRE_SECURING, WIRE_SENDING, WIRE_RECEIVING };

/* What a phase answers when it has to wait for the descriptor; statuses are negative. */
#define WAIT 1

struct wire {
    struct url url;
    uint8_t pin[ID_SHA256_BYTES];
    bool pinned;
    char *ca_file, *headers;
    int64_t timeout_ms, deadline_ms;
    size_t reply_bytes_max;
    struct sockaddr_storage addresses[ADDRESSES_MAX];
    int address_count, address_at, address_tries;
    int fd;
    char address[ADDRESS_TEXT_MAX]; /* of this end */
    struct wire_tls *tls;
    enum wire_phase phase;
    short events;
    bool kept; /* this exchange runs on a connection that an earlier one left */
    struct text request;
    size_t sent, received;
    struct wire_http http;
};

/* --- made and freed ------------------------------------------------------------------------------------------ */

static int parse_fingerprint(const char *text, uint8_t ret_pin[ID_SHA256_BYTES])
{
    struct base64_decode_ctx context;
    uint8_t digest[BASE64_DECODE_LENGTH(FINGERPRINT_BASE64_LEN)];
    size_t len = sizeof(digest);
    if (!text_starts_with(text, FINGERPRINT_PREFIX))
        return STATUS_INVALID;
    text += strlen(FINGERPRINT_PREFIX);
    base64_decode_init(&context);
    if (strlen(text) != FINGERPRINT_BASE64_LEN ||
        !base64_decode_update(&context, &len, digest, FINGERPRINT_BASE64_LEN, text) || !base64_decode_final(&context) ||
        len != ID_SHA256_BYTES)
        return STATUS_INVALID;
    memcpy(ret_pin, digest, ID_SHA256_BYTES);
    return 0;
}

int wire_new(const struct wire_options *options, struct wire **ret_wire, char ret_error[WIRE_ERROR_MAX])
{
    struct url url;
    const char *why;
    uint8_t pin[ID_SHA256_BYTES] = {0};
    if (url_parse(options->url, &url, &why) != 0) {
        snprintf(ret_error, WIRE_ERROR_MAX, "%.80s: %s", options->url, why);
        return STATUS_INVALID;
    }
    if (options->fingerprint != NULL && parse_fingerprint(options->fingerprint, pin) != 0) {
        snprintf(ret_error, WIRE_ERROR_MAX, "a fingerprint is " FINGERPRINT_PREFIX " and 44 characters of base64");
        return STATUS_INVALID;
    }
    struct wire *wire = own_calloc(1, sizeof(*wire));
    wire->url = url;
    wire->fd = -1;
    wire->timeout_ms = options->timeout_ms;
    wire->reply_bytes_max = options->reply_bytes_max != 0 ? options->reply_bytes_max : WIRE_REPLY_BYTES_MAX;
    wire->pinned = options->fingerprint != NULL;
    memcpy(wire->pin, pin, sizeof(pin));
    wire->ca_file = own_strdup(options->ca_file);
    *ret_wire = wire;
    return 0;
}

static void disconnect(struct wire *wire)
{
    wire_tls_free(TAKE(wire->tls));
    if (wire->fd >= 0)
        close(wire->fd);
    wire->fd = -1;
}

void wire_free(struct wire *wire)
{
    if (wire == NULL)
        return;
    disconnect(wire);
    text_free(&wire->request);
    wire_http_free(&wire->http);
    free(wire->ca_file);
    free(wire->headers);
    free(wire);
}

void wire_headers(struct wire *wire, const char *lines)
{
    free(wire->headers);
    wire->headers = own_strdup(lines);
}

void wire_limits(struct wire *wire, int64_t timeout_ms, size_t reply_bytes_max)
{
    wire->timeout_ms = timeout_ms;
    wire->reply_bytes_max = reply_bytes_max;
}

void wire_host(const struct wire *wire, char ret_host[WIRE_HOST_MAX])
{
    const struct url *url = &wire->url;
    bool usual = strcmp(url->port, url->tls ? "443" : "80") == 0;
    snprintf(ret_host, WIRE_HOST_MAX, "%s%s%s%s%s", url->is_ipv6 ? "[" : "", url->host, url->is_ipv6 ? "]" : "",
             usual ? "" : ":", usual ? "" : url->port);
}

void wire_abort(struct wire *wire)
{
    if (wire->phase == WIRE_CONNECTING)
        wire->address_at++; /* this one may be a black hole: begin with the next */
    disconnect(wire);
    wire->phase = WIRE_IDLE;
}

/* --- connecting ---------------------------------------------------------------------------------------------- */

static int say(char ret_error[WIRE_ERROR_MAX], int status, const char *what, const char *why)
{
    snprintf(ret_error, WIRE_ERROR_MAX, "%.70s: %.80s", what, why);
    return status;
}

/* An address as such is taken as it is; getaddrinfo would load libraries for it. */
static bool resolve_literal(struct wire *wire)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(wire->url.port_number)};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = v4.sin_port};
    if (inet_pton(AF_INET, wire->url.host, &v4.sin_addr) == 1)
        memcpy(&wire->addresses[0], &v4, sizeof(v4));
    else if (inet_pton(AF_INET6, wire->url.host, &v6.sin6_addr) == 1)
        memcpy(&wire->addresses[0], &v6, sizeof(v6));
    else
        return false;
    wire->address_count = 1;
    return true;
}

static int resolve(struct wire *wire, char ret_error[WIRE_ERROR_MAX])
{
    if (resolve_literal(wire))
        return 0;
    const struct addrinfo annotations = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG};
    struct addrinfo *list = NULL;
    int rc = getaddrinfo(wire->url.host, wire->url.port, &annotations, &list);
    if (rc != 0)
        return say(ret_error, STATUS_UNAVAILABLE, wire->url.host, gai_strerror(rc));
    wire->address_count = 0;
    for (struct addrinfo *at = list; at != NULL && wire->address_count < ADDRESSES_MAX; at = at->ai_next)
        if (at->ai_addrlen <= sizeof(wire->addresses[0]))
            memcpy(&wire->addresses[wire->address_count++], at->ai_addr, at->ai_addrlen);
    freeaddrinfo(list);
    return wire->address_count > 0 ? 0 : say(ret_error, STATUS_UNAVAILABLE, wire->url.host, "no address");
}

/* Starts a connection to the address at hand. */
static int dial(struct wire *wire)
{
    const struct sockaddr_storage *address = &wire->addresses[wire->address_at % wire->address_count];
    socklen_t len = address->ss_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
    int one = 1;
    wire->fd = socket(address->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (wire->fd < 0)
        return -1;
    (void)setsockopt(wire->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    if (connect(wire->fd, (const struct sockaddr *)address, len) == 0 || errno == EINPROGRESS)
        return 0;
    return -1;
}

static int dial_next(struct wire *wire, int error, char ret_error[WIRE_ERROR_MAX])
{
    while (wire->address_tries < wire->address_count) {
        wire->address_tries++;
        disconnect(wire);
        if (dial(wire) == 0) {
            wire->phase = WIRE_CONNECTING;
            wire->events = POLLOUT;
            return WAIT;
        }
        error = errno;
        wire->address_at++;
    }
    char where[URL_HOST_MAX + URL_PORT_MAX + 1];
    snprintf(where, sizeof(where), "%s:%s", wire->url.host, wire->url.port);
    return say(ret_error, STATUS_UNAVAILABLE, where, strerror(error));
}

static int begin(struct wire *wire, char ret_error[WIRE_ERROR_MAX])
{
    disconnect(wire);
    wire->kept = false;
    wire->address_tries = 0;
    int status = resolve(wire, ret_error);
    return status != 0 ? status : dial_next(wire, 0, ret_error);
}

static void note_address(struct wire *wire)
{
    struct sockaddr_storage here;
    socklen_t len = sizeof(here);
    if (getsockname(wire->fd, (struct sockaddr *)&here, &len) == 0)
        address_of((const struct sockaddr *)&here, wire->address);
}

static int step_connecting(struct wire *wire, char ret_error[WIRE_ERROR_MAX])
{
    struct pollfd ready = {.fd = wire->fd, .events = POLLOUT};
    if (poll(&ready, 1, 0) <= 0)
        return WAIT;
    int error = 0;
    socklen_t len = sizeof(error);
    if (getsockopt(wire->fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0)
        error = errno;
    if (error != 0) {
        wire->address_at++;
        return dial_next(wire, error, ret_error);
    }
    note_address(wire);
    wire->phase = WIRE_SENDING;
    if (!wire->url.tls)
        return 0;
    const struct wire_tls_options options = {
        .host = wire->url.host, .pin = wire->pinned ? wire->pin : NULL, .ca_file = wire->ca_file};
    wire->phase = WIRE_SECURING;
    return wire_tls_new(wire->fd, &options, &wire->tls, ret_error, WIRE_ERROR_MAX);
}

static int step_securing(struct wire *wire, char ret_error[WIRE_ERROR_MAX])
{
    int status = wire_tls_handshake(wire->tls, &wire->events, ret_error, WIRE_ERROR_MAX);
    if (status == 0)
        wire->phase = WIRE_SENDING;
    return status;
}

/* --- bytes --------------------------------------------------------------------------------------------------- */

static int again(struct wire *wire, short events)
{
    wire->events = events;
    return WAIT;
}

static int put(struct wire *wire, const char *data, size_t len, size_t *ret_len)
{
    if (wire->tls != NULL)
        return wire_tls_send(wire->tls, data, len, ret_len, &wire->events);
    ssize_t n;
    do
        n = send(wire->fd, data, len, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return errno == EAGAIN ? again(wire, POLLOUT) : STATUS_UNAVAILABLE;
    *ret_len = (size_t)n;
    return 0;
}

static int get(struct wire *wire, char *data, size_t size, size_t *ret_len)
{
    if (wire->tls != NULL)
        return wire_tls_receive(wire->tls, data, size, ret_len, &wire->events);
    ssize_t n;
    do
        n = recv(wire->fd, data, size, 0);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return errno == EAGAIN ? again(wire, POLLIN) : STATUS_UNAVAILABLE;
    *ret_len = (size_t)n;
    return 0;
}

/* A kept connection on which anything can be read, its end too, is no longer in step. */
static bool is_usable(struct wire *wire)
{
    char byte;
    size_t len;
    return wire->fd >= 0 && get(wire, &byte, 1, &len) == WAIT;
}

/* The connection broke. When it was a kept one that had not answered yet, the request goes out once more. */
static int broken(struct wire *wire, const char *why, char ret_error[WIRE_ERROR_MAX])
{
    if (!wire->kept || wire->received > 0)
        return say(ret_error, STATUS_UNAVAILABLE, wire->url.host, why);
    wire->sent = 0;
    return begin(wire, ret_error);
}

static int step_sending(struct wire *wire, char ret_error[WIRE_ERROR_MAX])
{
    size_t n;
    int status = put(wire, wire->request.data + wire->sent, wire->request.len - wire->sent, &n);
    if (status == WAIT)
        return WAIT;
    if (status != 0)
        return broken(wire, "the connection broke", ret_error);
    wire->sent += n;
    if (wire->sent == wire->request.len)
        wire->phase = WIRE_RECEIVING;
    return 0;
}

static int step_receiving(struct wire *wire, char ret_error[WIRE_ERROR_MAX])
{
    char bytes[RECEIVE_BYTES];
    size_t n;
    int status = get(wire, bytes, sizeof(bytes), &n);
    if (status == WAIT)
        return WAIT;
    if (status != 0 || n == 0)
        return broken(wire, wire->received > 0 ? "closed in the middle of a reply" : "closed without a reply",
                      ret_error);
    wire->received += n;
    if (wire_http_feed(&wire->http, bytes, n) != 0)
        return say(ret_error, STATUS_BACKEND, wire->url.host, wire->http.why);
    if (wire->http.state != WIRE_HTTP_DONE)
        return 0;
    wire->phase = WIRE_IDLE;
    if (wire->http.close)
        disconnect(wire);
    return 0;
}

/* --- an exchange --------------------------------------------------------------------------------------------- */

static void render(struct wire *wire, const char *path, const char *token, const void *body, size_t len)
{
    char host[WIRE_HOST_MAX];
    struct text *out = &wire->request;
    wire_host(wire, host);
    text_clear(out);
    text_printf(out, "%s %s HTTP/1.1\r\nHost: %s\r\n", body == NULL ? "GET" : "POST", path, host);
    if (wire->headers != NULL)
        text_add(out, wire->headers);
    if (token != NULL)
        text_printf(out, "Authorization: Bearer %s\r\n", token);
    if (body == NULL) {
        text_add(out, "\r\n");
        return;
    }
    text_printf(out, "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n", len);
    text_add_bytes(out, body, len);
}

int wire_start(struct wire *wire, const char *path, const char *token, const void *body, size_t len,
               char ret_error[WIRE_ERROR_MAX])
{
    if (wire->phase != WIRE_IDLE)
        wire_abort(wire);
    render(wire, path, token, body, len);
    wire_http_start(&wire->http, wire->reply_bytes_max);
    wire->sent = wire->received = 0;
    wire->deadline_ms = clock_mono_ms(clock_system()) + wire->timeout_ms;
    wire->kept = is_usable(wire);
    wire->events = POLLOUT;
    wire->phase = WIRE_SENDING;
    int status = wire->kept ? 0 : begin(wire, ret_error);
    if (status >= 0)
        return 0;
    wire_abort(wire);
    return status;
}

int wire_step(struct wire *wire, bool *ret_done, char ret_error[WIRE_ERROR_MAX])
{
    int status = 0;
    while (status == 0 && wire->phase != WIRE_IDLE) {
        if (wire->phase == WIRE_CONNECTING)
            status = step_connecting(wire, ret_error);
        else if (wire->phase == WIRE_SECURING)
            status = step_securing(wire, ret_error);
        else if (wire->phase == WIRE_SENDING)
            status = step_sending(wire, ret_error);
        else
            status = step_receiving(wire, ret_error);
    }
    *ret_done = status == 0;
    if (status == WAIT && clock_mono_ms(clock_system()) >= wire->deadline_ms)
        status = say(ret_error, STATUS_TIMEOUT, wire->url.host, "no answer in time");
    if (status >= 0)
        return 0;
    wire_abort(wire);
    return status;
}

const char *wire_address(const struct wire *wire)
{
    return wire->address;
}

void wire_reply(const struct wire *wire, int *ret_status, const char **ret_body, size_t *ret_len)
{
    *ret_status = wire->http.status;
    *ret_body = text_get(&wire->http.body);
    *ret_len = wire->http.body.len;
}

bool wire_is_busy(const struct wire *wire)
{
    return wire->phase != WIRE_IDLE;
}

int wire_fd(const struct wire *wire)
{
    return wire->fd;
}

short wire_events(const struct wire *wire)
{
    return wire->events;
}

int64_t wire_deadline_ms(const struct wire *wire)
{
    return wire->deadline_ms;
}

int wire_post(struct wire *wire, const char *path, const char *token, const void *body, size_t len, int *ret_status,
              const char **ret_body, size_t *ret_len, char ret_error[WIRE_ERROR_MAX])
{
    bool done = false;
    int status = wire_start(wire, path, token, body, len, ret_error);
    while (status == 0 && (status = wire_step(wire, &done, ret_error)) == 0 && !done) {
        struct pollfd ready = {.fd = wire->fd, .events = wire->events};
        int64_t left = wire->deadline_ms - clock_mono_ms(clock_system());
        (void)poll(&ready, 1, left < 0 ? 0 : (int)left);
    }
    if (status == 0)
        wire_reply(wire, ret_status, ret_body, ret_len);
    return status;
}

int wire_get(struct wire *wire, const char *path, const char *token, int *ret_status, const char **ret_body,
             size_t *ret_len, char ret_error[WIRE_ERROR_MAX])
{
    return wire_post(wire, path, token, NULL, 0, ret_status, ret_body, ret_len, ret_error);
}
