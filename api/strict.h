/*
 * Where messages begin and end in the bytes of a connection, by the strictest reading of RFC 9112, so that no proxy in front can
 * read the same bytes as other requests. What two readers could take differently is bad: a line feed alone, white space before a
 * colon, a second or a wrong Content-Length, one beside Transfer-Encoding, any coding but chunked, a second Host, a control character.
 *
 * Pure; what it does not judge (methods, versions, sizes) the server behind it does.
 */
#ifndef HOLDFAST_API_STRICT_H
#define HOLDFAST_API_STRICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STRICT_WORD_MAX 20 /* "Transfer-Encoding", and a Content-Length that can be counted */

enum strict_state {
    STRICT_START, /* before a head: empty lines are skipped */
    STRICT_START_LF,
    STRICT_LINE,
    STRICT_LINE_LF,
    STRICT_FIELD, /* at the beginning of a line of the head, or of a trailer */
    STRICT_NAME,
    STRICT_VALUE,
    STRICT_VALUE_LF,
    STRICT_END_LF,
    STRICT_BODY,
    STRICT_SIZE, /* of a chunk */
    STRICT_EXTENSION,
    STRICT_SIZE_LF,
    STRICT_CHUNK,
    STRICT_CHUNK_CR,
    STRICT_CHUNK_LF,
    STRICT_BAD,
};

struct strict {
    enum strict_state state;
    char word[STRICT_WORD_MAX + 1], name[STRICT_WORD_MAX + 1];
    uint8_t word_len, name_len; /* one more than there is room for: too long to be one that counts */
    char last;                  /* of the request line: the minor version */
    bool length, encoding, host, trailer, started;
    int64_t left; /* of the body, or of a chunk */
    uint64_t heads;
};

/* Reads on. Returns len, or where what is bad begins; the state is then STRICT_BAD for good. *ret_whole: where the last message ended within
 * these bytes, 0: none did. A zeroed struct is at the start of a connection. */
size_t strict_take(struct strict *strict, const char *bytes, size_t len, size_t *ret_whole);

#endif
