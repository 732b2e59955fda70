/*
 * Skips the headers before a kernel message: those of dmesg, syslog and the journal, in any order and number.
 *
 * Headers are parsed from the left, and a pattern has to match at the start of the message. So text of programs in the same file
 * ("… train.py[4711]: BUG: …") and names of devices do not match.
 */
#include "agents/checks/kmsg_pattern.h"

#include <string.h>

#define HEAD_BYTES_MAX 160 /* a date and a host name */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool only(const char *from, const char *to, const char *marks, bool letters)
{
    for (; from < to; from++)
        if (!is_digit(*from) && !(letters && is_letter(*from)) && (*from == '\0' || strchr(marks, *from) == NULL))
            return false;
    return true;
}

static bool has_digit(const char *from, const char *to)
{
    while (from < to && !is_digit(*from))
        from++;
    return from < to;
}

/* "[  130.456250]", "[ T1946]", "[Fri Nov 20 03:12:01 2026]", "<4>": behind it, or NULL. "[Hardware Error]" is none. */
static const char *behind_brackets(const char *at, const char *end)
{
    char wanted = *at == '[' ? ']' : *at == '<' ? '>' : '\0';
    size_t len = (size_t)(end - at) < HEAD_BYTES_MAX ? (size_t)(end - at) : HEAD_BYTES_MAX;
    const char *close = wanted != '\0' ? memchr(at, wanted, len) : NULL;
    bool stamp = close != NULL && only(at + 1, close, " .:,+-", true) && has_digit(at + 1, close);
    if (stamp && wanted == '>') /* a priority: one digit when the facility is the kernel's */
        stamp = close == at + 2 && at[1] <= '7';
    return stamp ? close + 1 : NULL;
}

/* "2026-11-20T14:03:07,470068+00:00 ". */
static const char *behind_date(const char *at, const char *end)
{
    const char *blank = memchr(at, ' ', (size_t)(end - at));
    bool date = blank != NULL && blank - at >= 10 && at[4] == '-' && only(at, blank, "-:,.+TZ", false);
    return date ? blank : NULL;
}

/* dmesg --decode: "kern  :warn  : ". Programs' lines begin with "user" or "daemon", and are no stamp of the kernel's. */
static const char *behind_facility(const char *at, const char *end)
{
    static const char head[] = "kern";
    size_t len = sizeof(head) - 1;
    if ((size_t)(end - at) <= len || memcmp(at, head, len) != 0 || (at[len] != ' ' && at[len] != ':'))
        return NULL;
    const char *first = memchr(at, ':', (size_t)(end - at));
    const char *second = first != NULL ? memchr(first + 1, ':', (size_t)(end - first - 1)) : NULL;
    bool stamp = second != NULL && second - at < 32 && only(at + len, second, " :", true);
    return stamp ? second + 1 : NULL;
}

/* "Nov 20 14:03:07 gpu-1 kernel:": words in front of which none ends in a colon, as a program's or a device's would. */
static const char *behind_syslog(const char *at, const char *end)
{
    static const char name[] = "kernel:";
    size_t len = (size_t)(end - at) < HEAD_BYTES_MAX ? (size_t)(end - at) : HEAD_BYTES_MAX;
    const char *kernel = memmem(at, len, name, sizeof(name) - 1);
    if (kernel == NULL || !only(at, kernel, " \t.,:+-_", true))
        return NULL;
    for (const char *c = at; c < kernel; c++)
        if (*c == ':' && (c + 1 == kernel || c[1] == ' '))
            return NULL;
    return kernel + sizeof(name) - 1;
}

size_t kmsg_text_start(const char *line, size_t len)
{
    const char *at = line, *end = len > 0 ? line + len : line;
    for (;;) {
        while (at < end && (*at == ' ' || *at == '\t'))
            at++;
        if (at == end)
            return len;
        const char *next = behind_brackets(at, end);
        if (next == NULL && is_digit(*at))
            next = behind_date(at, end);
        if (next == NULL && is_letter(*at))
            next = behind_facility(at, end);
        if (next == NULL && (is_letter(*at) || is_digit(*at)))
            next = behind_syslog(at, end);
        if (next == NULL)
            return (size_t)(at - line);
        at = next;
    }
}
