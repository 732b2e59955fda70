/*
 * The replying half of HTTP/1.1, byte by byte. Part of base/wire.c; not for others.
 */
#ifndef HOLDFAST_BASE_WIRE_HTTP_H
#define HOLDFAST_BASE_WIRE_HTTP_H

#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WIRE_HEAD_BYTES_MAX 8192 /* of status line and headers together; servers here send some 300 */
#define WIRE_INTERIM_MAX 4       /* 1xx replies before the real one */

enum wire_http_state {
    WIRE_HTTP_STATUS_LINE,
    WIRE_HTTP_HEADER,
    WIRE_HTTP_BODY,
    WIRE_HTTP_CHUNK_SIZE,
    WIRE_HTTP_CHUNK_DATA,
    WIRE_HTTP_CHUNK_END,
    WIRE_HTTP_TRAILER,
    WIRE_HTTP_DONE,
};

struct wire_http {
    enum wire_http_state state;
    struct text line, body; /* memory is kept between replies */
    size_t head_bytes;      /* lines outside the body so far */
    size_t left;            /* of the body or of this chunk */
    size_t body_bytes_max;
    int interim;
    int status;
    bool has_length, chunked, close;
    const char *why; /* static: what was wrong */
};

void wire_http_start(struct wire_http *http, size_t body_bytes_max);
/* Takes bytes. 0, or STATUS_BACKEND with http->why; bytes after the end of the reply are an error too. */
int wire_http_feed(struct wire_http *http, const char *bytes, size_t len);
void wire_http_free(struct wire_http *http);

#endif
