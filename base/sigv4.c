/*
 * Makes the canonical request. The rules are those of AWS's documentation of Signature Version 4: the path is
 * normalised and encoded once more than it was sent (not for S3, which takes it as it is), the query is sorted, values of headers lose
 * their outer blanks and keep single ones inside.
 */
#include "base/sigv4.h"

#include "base/hmac.h"
#include "base/status.h"

#include <string.h>

#define QUERY_PARTS_MAX 64

static bool is_unreserved(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.' || c == '~';
}

static void add_encoded(struct text *t, char c)
{
    static const char digits[] = "0123456789ABCDEF";
    unsigned char byte = (unsigned char)c;

    if (is_unreserved(c)) {
        text_add_char(t, c);
        return;
    }
    const char escape[] = {'%', digits[byte >> 4], digits[byte & 15]};
    text_add_bytes(t, escape, sizeof(escape));
}

/* The last segment of what was written goes, for "..". */
static void drop_segment(struct text *t, size_t start)
{
    while (t->len > start && t->data[t->len - 1] != '/')
        t->len--;
    if (t->len > start)
        t->len--;
    t->data[t->len] = '\0';
}

/* Empty segments and "." go, ".." takes the one before with it; a slash at the end stays. */
static void add_path(struct text *t, const char *path)
{
    size_t start = t->len;

    for (const char *at = path; *at != '\0';) {
        size_t len = strcspn(at, "/");
        if (len == 2 && at[0] == '.' && at[1] == '.') {
            drop_segment(t, start);
        } else if (len > 0 && !(len == 1 && at[0] == '.')) {
            text_add_char(t, '/');
            for (size_t i = 0; i < len; i++)
                add_encoded(t, at[i]);
        }
        at += len + (at[len] == '/');
    }
    if (t->len == start || text_ends_with(path, "/"))
        text_add_char(t, '/');
}

static void add_whole_path(struct text *t, const struct sigv4_request *request)
{
    if (request->path_prefix == NULL || request->path_prefix[0] == '\0') {
        add_path(t, request->path);
        return;
    }
    autofree char *whole = own_printf("%s/%s", request->path_prefix, request->path);
    add_path(t, whole);
}

/* Decoded and encoded again, so that %7e, %7E and ~ are one. */
static int add_recoded(struct text *t, const char *from, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (from[i] != '%') {
            add_encoded(t, from[i]);
            continue;
        }
        int high = i + 2 < len ? text_hex_digit(from[i + 1]) : -1;
        int low = i + 2 < len ? text_hex_digit(from[i + 2]) : -1;
        if (high < 0 || low < 0)
            return STATUS_INVALID;
        add_encoded(t, (char)(high << 4 | low));
        i += 2;
    }
    return 0;
}

static int compare_parts(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* "name=value", both encoded. While sorting, a tab stands for the '=': it is below whatever a name is made of, so that
 * names decide first, and values only between equal ones. */
static int canonical_part(const char *part, size_t len, char **ret_part)
{
    AUTO(text) struct text t = {0};
    const char *equals = memchr(part, '=', len);
    size_t name_len = equals != NULL ? (size_t)(equals - part) : len;
    size_t value_len = equals != NULL ? len - name_len - 1 : 0;

    if (add_recoded(&t, part, name_len) < 0)
        return STATUS_INVALID;
    text_add_char(&t, '\t');
    if (value_len > 0 && add_recoded(&t, equals + 1, value_len) < 0)
        return STATUS_INVALID;
    *ret_part = text_take(&t);
    return 0;
}

static int add_query(struct text *t, const char *query)
{
    char *parts[QUERY_PARTS_MAX] = {NULL};
    size_t count = 0;
    int r = 0;

    for (const char *at = query; r == 0 && *at != '\0';) {
        size_t len = strcspn(at, "&");
        if (len > 0 && count == QUERY_PARTS_MAX)
            r = STATUS_TOO_LARGE;
        else if (len > 0)
            r = canonical_part(at, len, &parts[count]);
        count += r == 0 && len > 0;
        at += len + (at[len] == '&');
    }
    qsort(parts, count, sizeof(parts[0]), compare_parts);
    for (size_t i = 0; i < count; i++) {
        parts[i][strcspn(parts[i], "\t")] = '=';
        if (i > 0)
            text_add_char(t, '&');
        text_add(t, parts[i]);
        free(parts[i]);
    }
    return r;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static void add_value(struct text *t, const char *value)
{
    bool pending = false, any = false;

    for (const char *at = value; *at != '\0'; at++) {
        if (is_blank(*at)) {
            pending = any;
            continue;
        }
        if (pending)
            text_add_char(t, ' ');
        text_add_char(t, *at);
        pending = false;
        any = true;
    }
}

static int add_headers(struct text *t, const struct sigv4_request *request, const char *names,
                       char ret_name[SIGV4_NAME_MAX])
{
    for (const char *at = names; *at != '\0';) {
        size_t len = strcspn(at, ";");
        const char *value;
        if (text_copy_bytes(ret_name, SIGV4_NAME_MAX, at, len) < 0 ||
            request->header(request->arg, ret_name, &value) != 1)
            return STATUS_INVALID;
        text_add(t, ret_name);
        text_add_char(t, ':');
        add_value(t, value);
        text_add_char(t, '\n');
        at += len + (at[len] == ';');
    }
    return 0;
}

int sigv4_canonical(const struct sigv4_request *request, const char *signed_headers, const char *body_hash,
                    struct text *ret_text, char ret_name[SIGV4_NAME_MAX])
{
    struct text *t = ret_text;

    ret_name[0] = '\0';
    text_add(t, request->method);
    text_add_char(t, '\n');
    if (request->path_as_sent)
        text_add(t, request->path);
    else
        add_whole_path(t, request);
    text_add_char(t, '\n');
    int r = request->query != NULL ? add_query(t, request->query) : 0;
    text_add_char(t, '\n');
    if (r == 0)
        r = add_headers(t, request, signed_headers, ret_name);
    text_printf(t, "\n%s\n%s", signed_headers, body_hash);
    return r < 0 ? STATUS_INVALID : 0;
}

/* --- the signature ------------------------------------------------------------------------------------------------ */

void sigv4_to_sign(const struct sigv4_scope *scope, const struct text *canonical, struct text *ret_text)
{
    char hash[ID_SHA256_HEX_MAX];
    id_sha256_hex(canonical->data, canonical->len, hash);
    text_printf(ret_text, SIGV4_ALGORITHM "\n%s\n%.*s/%s/%s/" SIGV4_TERMINATOR "\n%s", scope->date, SIGV4_DAY_LENGTH,
                scope->date, scope->region, scope->service, hash);
}

void sigv4_derive_key(const char *seed, const struct sigv4_scope *scope, uint8_t ret_key[ID_SHA256_BYTES])
{
    uint8_t by_day[ID_SHA256_BYTES], by_region[ID_SHA256_BYTES], by_service[ID_SHA256_BYTES];
    hmac_sha256(seed, strlen(seed), scope->date, SIGV4_DAY_LENGTH, by_day);
    hmac_sha256(by_day, sizeof(by_day), scope->region, strlen(scope->region), by_region);
    hmac_sha256(by_region, sizeof(by_region), scope->service, strlen(scope->service), by_service);
    hmac_sha256(by_service, sizeof(by_service), SIGV4_TERMINATOR, strlen(SIGV4_TERMINATOR), ret_key);
    explicit_bzero(by_day, sizeof(by_day));
    explicit_bzero(by_region, sizeof(by_region));
    explicit_bzero(by_service, sizeof(by_service));
}
