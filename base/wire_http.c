/*
 * A strict reader of HTTP/1.1 replies. It knows the two framings that a correct server uses, Content-Length and
 * chunked, and refuses whatever could be read in two ways: both at once, one of them twice, folded headers,
 * bare line feeds, bytes behind the end.
 */
#include "base/wire_http.h"

#include "base/status.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define CHUNK_DIGITS_MAX 8

void wire_http_start(struct wire_http *http, size_t body_bytes_max)
{
    struct text line = http->line, body = http->body;
    text_clear(&line);
    text_clear(&body);
    *http = (struct wire_http){.line = line, .body = body, .body_bytes_max = body_bytes_max};
}

void wire_http_free(struct wire_http *http)
{
    text_free(&http->line);
    text_free(&http->body);
}

static int refuse(struct wire_http *http, const char *why)
{
    http->why = why;
    return STATUS_BACKEND;
}

static int take_status_line(struct wire_http *http, const char *line, size_t len)
{
    if (len < strlen("HTTP/1.1 200") || memcmp(line, "HTTP/1.", 7) != 0 || (line[7] != '0' && line[7] != '1') ||
        line[8] != ' ' || (len > 12 && line[12] != ' '))
        return refuse(http, "the reply is not HTTP/1.1");
    http->status = 0;
    for (size_t i = 9; i < 12; i++) {
        if (line[i] < '0' || line[i] > '9')
            return refuse(http, "the reply has no status code");
        http->status = http->status * 10 + (line[i] - '0');
    }
    if (http->status < 100 || http->status > 599)
        return refuse(http, "the reply has no valid status code");
    http->close = line[7] == '0';
    http->state = WIRE_HTTP_HEADER;
    return 0;
}

static bool is_token(const char *s, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (s[i] <= ' ' || s[i] >= 0x7f || strchr("\"(),/:;<=>?@[\\]{}", s[i]) != NULL)
            return false;
    return len > 0;
}

static int take_length(struct wire_http *http, const char *value)
{
    int64_t length;
    if (http->has_length || http->chunked)
        return refuse(http, "the reply gives its length twice");
    if (text_parse_i64(value, 0, INT64_MAX, &length) != 0)
        return refuse(http, "Content-Length is not a number");
    if ((uint64_t)length > http->body_bytes_max)
        return refuse(http, "the reply's body is too large");
    http->has_length = true;
    http->left = (size_t)length;
    return 0;
}

static int take_encoding(struct wire_http *http, const char *value)
{
    if (http->has_length || http->chunked)
        return refuse(http, "the reply gives its length twice");
    if (strcasecmp(value, "chunked") != 0)
        return refuse(http, "a transfer encoding other than chunked");
    http->chunked = true;
    return 0;
}

/* "close" among the words of a Connection header. */
static bool says_close(const char *value)
{
    for (const char *at = value; *at != '\0';) {
        at += strspn(at, " \t,");
        size_t len = strcspn(at, " \t,");
        if (len == 5 && strncasecmp(at, "close", len) == 0)
            return true;
        at += len;
    }
    return false;
}

static int take_header(struct wire_http *http, char *line, size_t len)
{
    char *colon = memchr(line, ':', len);
    if (colon == NULL || !is_token(line, (size_t)(colon - line)))
        return refuse(http, "the reply has a broken header");
    *colon = '\0';
    char *value = colon + 1 + strspn(colon + 1, " \t");
    for (char *end = line + len; end > value && (end[-1] == ' ' || end[-1] == '\t'); end--)
        end[-1] = '\0';
    if (strcasecmp(line, "Content-Length") == 0)
        return take_length(http, value);
    if (strcasecmp(line, "Transfer-Encoding") == 0)
        return take_encoding(http, value);
    if (strcasecmp(line, "Connection") == 0 && says_close(value))
        http->close = true;
    return 0;
}

static int end_of_head(struct wire_http *http)
{
    if (http->status < 200) {
        if (http->status == 101 || ++http->interim > WIRE_INTERIM_MAX || http->has_length || http->chunked)
            return refuse(http, "interim replies that were not asked for");
        http->state = WIRE_HTTP_STATUS_LINE;
        return 0;
    }
    bool empty = http->status == 204 || http->status == 304;
    if (!empty && !http->has_length && !http->chunked)
        return refuse(http, "the reply does not say how long it is");
    if (empty || (http->has_length && http->left == 0))
        http->state = WIRE_HTTP_DONE;
    else
        http->state = http->chunked ? WIRE_HTTP_CHUNK_SIZE : WIRE_HTTP_BODY;
    return 0;
}

/* Hexadecimal digits, then perhaps an extension, which means nothing to us. */
static int take_chunk_size(struct wire_http *http, const char *line)
{
    size_t digits = strspn(line, "0123456789abcdefABCDEF");
    const char *rest = line + digits + strspn(line + digits, " \t");
    if (digits == 0 || digits > CHUNK_DIGITS_MAX || (*rest != '\0' && *rest != ';'))
        return refuse(http, "the reply has a broken chunk");
    unsigned long size = strtoul(line, NULL, 16);
    if (size > http->body_bytes_max - http->body.len)
        return refuse(http, "the reply's body is too large");
    http->left = size;
    http->state = size == 0 ? WIRE_HTTP_TRAILER : WIRE_HTTP_CHUNK_DATA;
    return 0;
}

static int take_line(struct wire_http *http)
{
    size_t len = http->line.len;
    char *line = http->line.data;
    switch (http->state) {
    case WIRE_HTTP_STATUS_LINE:
        return take_status_line(http, line, len);
    case WIRE_HTTP_HEADER:
        return len == 0 ? end_of_head(http) : take_header(http, line, len);
    case WIRE_HTTP_CHUNK_SIZE:
        return len == 0 ? refuse(http, "the reply has a broken chunk") : take_chunk_size(http, line);
    case WIRE_HTTP_CHUNK_END:
        http->state = WIRE_HTTP_CHUNK_SIZE;
        return len == 0 ? 0 : refuse(http, "the reply has a broken chunk");
    default: /* TRAILER: nothing in it concerns us */
        http->state = len == 0 ? WIRE_HTTP_DONE : WIRE_HTTP_TRAILER;
        return 0;
    }
}

/* Adds to the current line up to its end; the number of bytes used, or negative. */
static int64_t feed_line(struct wire_http *http, const char *bytes, size_t len)
{
    const char *newline = memchr(bytes, '\n', len);
    size_t take = newline != NULL ? (size_t)(newline - bytes) + 1 : len;
    http->head_bytes += take;
    if (http->head_bytes > WIRE_HEAD_BYTES_MAX && !http->chunked)
        return refuse(http, "the reply's head is too large");
    if (http->line.len + take > WIRE_HEAD_BYTES_MAX || http->head_bytes > WIRE_HEAD_BYTES_MAX + http->body_bytes_max)
        return refuse(http, "the reply's head is too large");
    text_add_bytes(&http->line, bytes, take);
    if (newline == NULL)
        return (int64_t)take;
    if (http->line.len < 2 || http->line.data[http->line.len - 2] != '\r')
        return refuse(http, "a line of the reply does not end in CR LF");
    if (memchr(http->line.data, '\0', http->line.len) != NULL)
        return refuse(http, "the reply has a zero byte in its head");
    http->line.len -= 2;
    http->line.data[http->line.len] = '\0';
    int status = take_line(http);
    text_clear(&http->line);
    return status != 0 ? status : (int64_t)take;
}

static size_t feed_body(struct wire_http *http, const char *bytes, size_t len)
{
    size_t take = len < http->left ? len : http->left;
    text_add_bytes(&http->body, bytes, take);
    http->left -= take;
    if (http->left == 0)
        http->state = http->chunked ? WIRE_HTTP_CHUNK_END : WIRE_HTTP_DONE;
    return take;
}

int wire_http_feed(struct wire_http *http, const char *bytes, size_t len)
{
    while (len > 0) {
        int64_t used;
        if (http->state == WIRE_HTTP_DONE)
            return refuse(http, "bytes behind the end of the reply");
        if (http->state == WIRE_HTTP_BODY || http->state == WIRE_HTTP_CHUNK_DATA)
            used = (int64_t)feed_body(http, bytes, len);
        else
            used = feed_line(http, bytes, len);
        if (used < 0)
            return (int)used;
        bytes += used;
        len -= (size_t)used;
    }
    return 0;
}
