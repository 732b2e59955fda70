/*
 * Log lines. A line is built on the stack and leaves in one write(2), so that lines of
 * several threads and processes do not mix. Control characters of the message are
 * escaped: evidence and names come from outside and must not forge lines or drive a terminal.
 */
#include "base/log.h"

#include "base/clock.h"
#include "base/status.h"
#include "base/text.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#define LOG_MESSAGE_MAX 2048                    /* the rest of a message is cut */
#define LOG_LINE_MAX (LOG_MESSAGE_MAX * 4 + 64) /* every byte escaped, and the head */

static atomic_int threshold = LOG_LEVEL_INFO;

static const char *const level_texts[] = {"debug", "info", "warn", "error"};

void log_set_level(enum log_level level)
{
    atomic_store_explicit(&threshold, (int)level, memory_order_relaxed);
}

int log_level_parse(const char *text, enum log_level *ret_level)
{
    for (size_t i = 0; i < ARRAY_LEN(level_texts); i++)
        if (text_equal(text, level_texts[i])) {
            *ret_level = (enum log_level)i;
            return 0;
        }
    return STATUS_INVALID;
}

/* Appends message to line from at on; returns the new end. line has four bytes for each of message's. */
static size_t add_escaped(char *line, size_t at, const char *message)
{
    static const char hex[] = "0123456789abcdef";
    bool in_c1 = false; /* U+0080 to U+009F: to a terminal U+009B is an escape and a bracket */

    for (; *message != '\0'; message++) {
        unsigned char c = (unsigned char)message[0], next = (unsigned char)message[1];
        bool ends_c1 = in_c1;
        in_c1 = c == 0xc2 && next >= 0x80 && next < 0xa0;
        if (c >= 0x20 && c != 0x7f && !in_c1 && !ends_c1) {
            line[at++] = *message;
            continue;
        }
        line[at++] = '\\';
        if (c == '\n' || c == '\t') {
            line[at++] = c == '\n' ? 'n' : 't';
            continue;
        }
        line[at++] = 'x';
        line[at++] = hex[c >> 4];
        line[at++] = hex[c & 15];
    }
    return at;
}

void log_line(enum log_level level, const char *fmt, ...)
{
    char message[LOG_MESSAGE_MAX], line[LOG_LINE_MAX], when[CLOCK_TEXT_MAX];
    va_list ap;

    if ((int)level < atomic_load_explicit(&threshold, memory_order_relaxed) || (size_t)level >= ARRAY_LEN(level_texts))
        return;
    int saved_errno = errno;
    va_start(ap, fmt);
    vsnprintf(message, sizeof(message), fmt, ap);
    va_end(ap);
    clock_format(clock_true_ms(clock_system()), when);
    int head = snprintf(line, sizeof(line), "%s %s ", when, level_texts[level]);
    size_t len = add_escaped(line, (size_t)head, message);
    line[len++] = '\n';
    ssize_t n;
    do /* a log that cannot be written has nowhere to be reported */
        n = write(STDERR_FILENO, line, len);
    while (n < 0 && errno == EINTR);
    errno = saved_errno;
}
