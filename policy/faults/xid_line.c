/*
 * Takes one kernel line apart: "NVRM: Xid (PCI:0000:b9:00): 79, …" and "nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 20034, …".
 *
 * Lines come as dmesg, syslog, the journal and /dev/kmsg write them. What stands in front has to look like one of their
 * stamps: a device name or another program's text that merely quotes such a line ("usb 1-1: Product: NVRM: Xid …")
 * must not cost a node. The line may hold any bytes and need not end in zero.
 */
#include "policy/faults/faults.h"

#include "base/text.h"

#include <string.h>

#define CODE_DIGITS_MAX 5
#define PCI_DOMAIN_DIGITS_MAX 8

struct cursor {
    const char *at, *end;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool take(struct cursor *c, const char *word)
{
    size_t len = strlen(word);
    if ((size_t)(c->end - c->at) < len || memcmp(c->at, word, len) != 0)
        return false;
    c->at += len;
    return true;
}

static void skip_blanks(struct cursor *c)
{
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\t'))
        c->at++;
}

/* --- what may stand in front ---------------------------------------------------------------------------------- */

static bool only(const char *from, const char *to, const char *marks, bool letters)
{
    for (; from < to; from++)
        if (!is_digit(*from) && !(letters && is_letter(*from)) && (*from == '\0' || strchr(marks, *from) == NULL))
            return false;
    return true;
}

/* A priority is facility * 8 + level, and no program can write one of facility 0: "<4>", "4,". */
static bool is_kernels(const char *priority, const char *end)
{
    return priority + 1 == end && *priority >= '0' && *priority <= '7';
}

/* "Nov 20 14:03:07 gpu-1 " or "2026-11-20T14:03:07.123456+00:00 gpu-1 " in front of "kernel:": words of which none
 * ends in a colon, as a device's or a program's would. */
static bool is_syslog_head(const char *from, const char *to)
{
    for (const char *c = from; c < to; c++)
        if (*c == ':' && (c + 1 == to || c[1] == ' '))
            return false;
    const char *close = from < to && *from == '<' ? memchr(from, '>', (size_t)(to - from)) : NULL;
    if (close != NULL && !is_kernels(from + 1, close))
        return false;
    return only(from, to, " \t.,:+-_<>", true);
}

/* dmesg --decode: "kern  :warn  : ". What begins with "user" or "daemon" was written by a program. */
static bool is_facility_head(const char *from, const char *to)
{
    static const char head[] = "kern";
    size_t len = sizeof(head) - 1;
    return (size_t)(to - from) > len && memcmp(from, head, len) == 0 && only(from + len, to, " :", true);
}

static bool ends_with(const char *from, const char *to, const char *word)
{
    size_t len = strlen(word);
    return (size_t)(to - from) >= len && memcmp(to - len, word, len) == 0;
}

/* From the right, one piece at a time. */
static bool is_stamp(const char *from, const char *to)
{
    while (to > from) {
        if (to[-1] == ' ' || to[-1] == '\t') {
            to--;
        } else if (to[-1] == ']' || to[-1] == '>') { /* "[  130.456250]", "[ T1946]", "<4>" */
            const char *open = memrchr(from, to[-1] == ']' ? '[' : '<', (size_t)(to - from));
            if (open == NULL || !only(open + 1, to - 1, " .:,+-", true) ||
                (*open == '<' && !is_kernels(open + 1, to - 1)))
                return false;
            to = open;
        } else if (to[-1] == ';') { /* "4,1227,437812449932,-;" */
            const char *comma = memchr(from, ',', (size_t)(to - from));
            return comma != NULL && is_kernels(from, comma) && only(from, to - 1, ",-=", true);
        } else if (ends_with(from, to, "kernel:")) {
            return is_syslog_head(from, to - strlen("kernel:"));
        } else if (to[-1] == ':') {
            return is_facility_head(from, to);
        } else { /* "2026-11-20T14:03:07,470068+00:00" */
            const char *word = to;
            while (word > from && word[-1] != ' ')
                word--;
            if (!is_digit(*word) || !only(word, to, "-:,.+TZ", false))
                return false;
            to = word;
        }
    }
    return true;
}

/* --- the line itself ------------------------------------------------------------------------------------------ */

/* Where the line starts: at "NVRM: Xid" or "nvidia-nvswitchN: SXid"; c then stands behind that. */
static bool find_start(const char *line, size_t len, struct cursor *c, const char **ret_start, bool *ret_sxid)
{
    static const char nvrm[] = "NVRM: Xid", nvswitch[] = "nvidia-nvswitch";
    const char *end = line + len;
    const char *start = memmem(line, len, nvrm, sizeof(nvrm) - 1);
    if (start != NULL) {
        *c = (struct cursor){start + sizeof(nvrm) - 1, end};
        *ret_start = start;
        *ret_sxid = false;
        return true;
    }
    start = memmem(line, len, nvswitch, sizeof(nvswitch) - 1);
    if (start == NULL)
        return false;
    *c = (struct cursor){start + sizeof(nvswitch) - 1, end};
    while (c->at < c->end && is_digit(*c->at))
        c->at++;
    *ret_start = start;
    *ret_sxid = true;
    return take(c, ": SXid");
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool take_hex(struct cursor *c, size_t digits_min, size_t digits_max, char **out)
{
    size_t digits = 0;
    for (; c->at < c->end && is_hex(*c->at); c->at++, digits++) {
        if (digits == digits_max)
            return false;
        *(*out)++ = lower(*c->at);
    }
    return digits >= digits_min;
}

/* "0000:b9:00" with or without ".0", made plain. */
static bool take_address(struct cursor *c, char device[DEVICE_MAX_BYTES])
{
    char plain[PCI_DOMAIN_DIGITS_MAX + sizeof(":00:00")], *out = plain;
    if (!take_hex(c, 1, PCI_DOMAIN_DIGITS_MAX, &out) || !take(c, ":"))
        return false;
    *out++ = ':';
    if (!take_hex(c, 2, 2, &out) || !take(c, ":"))
        return false;
    *out++ = ':';
    if (!take_hex(c, 2, 2, &out))
        return false;
    *out = '\0';
    if (take(c, ".") && !(c->at < c->end && is_digit(*c->at++)))
        return false;
    text_copy_cut(device, DEVICE_MAX_BYTES, plain);
    return true;
}

/* "(PCI:0000:01:00 GPU-I:05)": the part behind the address names a MIG slice; the device is still the GPU. */
static bool take_device(struct cursor *c, char device[DEVICE_MAX_BYTES])
{
    skip_blanks(c);
    bool paren = take(c, "(");
    bool named = take(c, "PCI:");
    if ((!paren && !named) || !take_address(c, device))
        return false;
    while (paren && c->at < c->end && *c->at != ')' && *c->at != '(')
        c->at++;
    if (paren && !take(c, ")"))
        return false;
    return take(c, ":");
}

static bool take_code(struct cursor *c, int *ret_code)
{
    skip_blanks(c);
    int code = 0, digits = 0;
    for (; c->at < c->end && is_digit(*c->at); c->at++, digits++) {
        if (digits == CODE_DIGITS_MAX)
            return false;
        code = code * 10 + (*c->at - '0');
    }
    bool ends = c->at == c->end || strchr(", \t\r\n;(", *c->at) != NULL;
    *ret_code = code;
    return digits > 0 && ends;
}

/* "pid=1234"; the driver also writes pid='<unknown>' and pid=<n/a>. */
static int64_t find_pid(const char *detail, size_t len)
{
    const char *hit = memmem(detail, len, "pid=", 4);
    if (hit == NULL || (hit != detail && hit[-1] != ' ' && hit[-1] != ','))
        return 0;
    int64_t pid = 0;
    for (const char *at = hit + 4; at < detail + len && is_digit(*at); at++) {
        if (pid > INT32_MAX)
            return 0;
        pid = pid * 10 + (*at - '0');
    }
    return pid;
}

int xid_line_parse(const char *line, size_t len, struct xid_line *ret_xid)
{
    struct xid_line xid = {0};
    struct cursor c;
    const char *start = NULL;
    if (len == 0 || !find_start(line, len, &c, &start, &xid.is_sxid) || !is_stamp(line, start))
        return STATUS_NOT_FOUND;
    if (!take_device(&c, xid.device) || !take_code(&c, &xid.code))
        return STATUS_INVALID;
    take(&c, ",");
    skip_blanks(&c);
    xid.detail = c.at;
    xid.detail_len = (size_t)(c.end - c.at);
    while (xid.detail_len > 0 && strchr("\r\n", xid.detail[xid.detail_len - 1]) != NULL)
        xid.detail_len--;
    xid.pid = find_pid(xid.detail, xid.detail_len);
    *ret_xid = xid;
    return 0;
}
