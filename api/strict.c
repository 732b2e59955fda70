/* A state machine over single bytes; bodies are skipped in one go. */
#include "api/strict.h"

#include <string.h>
#include <strings.h>

static bool is_token(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr("!#$%&'*+-.^_`|~", c) != NULL);
}

/* A byte of a value or of the request line. Beyond ASCII anything goes: it means nothing to a reader of messages. */
static bool is_text(char c)
{
    return (unsigned char)c >= ' ' && c != 0x7f;
}

static void word_add(struct strict *s, char c)
{
    if (s->word_len < STRICT_WORD_MAX)
        s->word[s->word_len++] = c;
    else
        s->word_len = STRICT_WORD_MAX + 1;
}

static bool name_is(const struct strict *s, const char *name)
{
    return s->name_len == strlen(name) && strncasecmp(s->name, name, s->name_len) == 0;
}

static bool take_length(struct strict *s)
{
    if (s->length || s->encoding || s->word_len == 0 || s->word_len > STRICT_WORD_MAX)
        return false;
    s->length = true;
    s->left = 0;
    for (size_t i = 0; i < s->word_len; i++) {
        if (s->word[i] < '0' || s->word[i] > '9' || s->left > (INT64_MAX - 9) / 10)
            return false;
        s->left = s->left * 10 + (s->word[i] - '0');
    }
    return true;
}

static bool take_encoding(struct strict *s)
{
    static const char chunked[] = "chunked";
    if (s->length || s->encoding || s->last == '0') /* HTTP/1.0 has none */
        return false;
    s->encoding = true;
    return s->word_len == strlen(chunked) && strncasecmp(s->word, chunked, s->word_len) == 0;
}

/* A whole field has been read. */
static bool take_field(struct strict *s)
{
    while (s->word_len > 0 && s->word_len <= STRICT_WORD_MAX &&
           (s->word[s->word_len - 1] == ' ' || s->word[s->word_len - 1] == '\t'))
        s->word_len--;
    if (name_is(s, "Content-Length"))
        return !s->trailer && take_length(s);
    if (name_is(s, "Transfer-Encoding"))
        return !s->trailer && take_encoding(s);
    if (!name_is(s, "Host"))
        return true;
    bool first = !s->trailer && !s->host;
    s->host = true;
    return first;
}

static void begin_message(struct strict *s)
{
    s->length = s->encoding = s->host = s->trailer = s->started = false;
    s->left = 0;
    s->state = STRICT_START;
}

/* HTTP/1.0 needs none. libmicrohttpd 0.9.75 writes the head of its refusal twice, as it does of a length that is no number of 64 bits. */
static bool has_host(const struct strict *s)
{
    return s->trailer || s->host || s->last == '0';
}

/* After the empty line; true when the message is over. */
static bool end_head(struct strict *s)
{
    if (!s->trailer)
        s->heads++;
    if (!s->trailer && s->encoding) {
        s->word_len = 0;
        s->state = STRICT_SIZE;
        return false;
    }
    if (!s->trailer && s->left > 0) {
        s->state = STRICT_BODY;
        return false;
    }
    begin_message(s);
    return true;
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static enum strict_state at_size(struct strict *s, char c)
{
    int digit = hex_digit(c);
    if (digit >= 0) {
        if (s->word_len == 0)
            s->left = 0;
        if (s->word_len++ >= 15) /* of 64 bits, without the sign */
            return STRICT_BAD;
        s->left = s->left * 16 + digit;
        return STRICT_SIZE;
    }
    if (s->word_len == 0)
        return STRICT_BAD;
    return c == '\r' ? STRICT_SIZE_LF : c == ';' ? STRICT_EXTENSION : STRICT_BAD;
}

static enum strict_state at_size_end(struct strict *s)
{
    if (s->left > 0)
        return STRICT_CHUNK;
    s->trailer = true;
    return STRICT_FIELD;
}

static enum strict_state at_start(struct strict *s, char c)
{
    if (c == '\r')
        return STRICT_START_LF;
    s->started = is_token(c); /* else it is not HTTP at all */
    return s->started ? STRICT_LINE : STRICT_BAD;
}

static enum strict_state at_line(struct strict *s, char c)
{
    if (c == '\r')
        return STRICT_LINE_LF;
    s->last = c;
    return is_text(c) ? STRICT_LINE : STRICT_BAD;
}

static enum strict_state at_name(struct strict *s, char c)
{
    if (is_token(c)) {
        word_add(s, c);
        return STRICT_NAME;
    }
    if (c != ':' || s->word_len == 0)
        return STRICT_BAD;
    memcpy(s->name, s->word, sizeof(s->name));
    s->name_len = s->word_len;
    s->word_len = 0;
    return STRICT_VALUE;
}

static enum strict_state at_value(struct strict *s, char c)
{
    if (c == '\r')
        return STRICT_VALUE_LF;
    if (!is_text(c) && c != '\t')
        return STRICT_BAD;
    if (s->word_len > 0 || (c != ' ' && c != '\t'))
        word_add(s, c);
    return STRICT_VALUE;
}

/* A byte outside bodies. *ret_over: it ended a message. */
static enum strict_state step(struct strict *s, char c, bool *ret_over)
{
    switch (s->state) {
    case STRICT_START:
        return at_start(s, c);
    case STRICT_START_LF:
        return c == '\n' ? STRICT_START : STRICT_BAD;
    case STRICT_LINE:
        return at_line(s, c);
    case STRICT_LINE_LF:
        return c == '\n' ? STRICT_FIELD : STRICT_BAD;
    case STRICT_FIELD:
        s->word_len = 0;
        return c == '\r' ? STRICT_END_LF : at_name(s, c);
    case STRICT_NAME:
        return at_name(s, c);
    case STRICT_VALUE:
        return at_value(s, c);
    case STRICT_VALUE_LF:
        return c == '\n' && take_field(s) ? STRICT_FIELD : STRICT_BAD;
    case STRICT_END_LF:
        if (c != '\n' || !has_host(s))
            return STRICT_BAD;
        *ret_over = end_head(s);
        return s->state;
    case STRICT_SIZE:
        return at_size(s, c);
    case STRICT_EXTENSION:
        return c == '\r' ? STRICT_SIZE_LF : is_text(c) || c == '\t' ? STRICT_EXTENSION : STRICT_BAD;
    case STRICT_SIZE_LF:
        return c == '\n' ? at_size_end(s) : STRICT_BAD;
    case STRICT_CHUNK_CR:
        return c == '\r' ? STRICT_CHUNK_LF : STRICT_BAD;
    case STRICT_CHUNK_LF:
        s->word_len = 0;
        return c == '\n' ? STRICT_SIZE : STRICT_BAD;
    case STRICT_BODY:
    case STRICT_CHUNK:
    case STRICT_BAD:
        break;
    }
    return STRICT_BAD;
}

static size_t skip(struct strict *s, size_t len, bool *ret_over)
{
    size_t n = s->left < (int64_t)len ? (size_t)s->left : len;
    s->left -= (int64_t)n;
    if (s->left == 0 && s->state == STRICT_CHUNK) {
        s->state = STRICT_CHUNK_CR;
    } else if (s->left == 0) {
        begin_message(s);
        *ret_over = true;
    }
    return n;
}

size_t strict_take(struct strict *s, const char *bytes, size_t len, size_t *ret_whole)
{
    size_t at = 0;
    *ret_whole = 0;
    while (at < len && s->state != STRICT_BAD) {
        bool over = false;
        if (s->state == STRICT_BODY || s->state == STRICT_CHUNK) {
            at += skip(s, len - at, &over);
        } else {
            s->state = step(s, bytes[at], &over);
            at += s->state != STRICT_BAD;
        }
        if (over)
            *ret_whole = at;
    }
    return at;
}
