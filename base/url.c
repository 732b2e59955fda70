/*
 * Strict parsing of a server's address. What a URL may have besides (user, path, query) would be ignored or
 * misunderstood somewhere, so it is refused here.
 */
#include "base/url.h"

#include "base/status.h"
#include "base/text.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static int refuse(const char *why, const char **ret_why)
{
    *ret_why = why;
    return STATUS_INVALID;
}

static bool is_loopback(const struct url *url)
{
    struct in_addr v4;
    struct in6_addr v6;
    if (url->is_ipv6)
        return inet_pton(AF_INET6, url->host, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
    if (inet_pton(AF_INET, url->host, &v4) == 1)
        return ntohl(v4.s_addr) >> 24 == 127;
    return strcasecmp(url->host, "localhost") == 0;
}

static int parse_ipv6(const char *at, struct url *url, const char **ret_rest, const char **ret_why)
{
    const char *end = strchr(at, ']');
    struct in6_addr ignored;
    if (end == NULL || text_copy_bytes(url->host, sizeof(url->host), at + 1, (size_t)(end - at - 1)) != 0 ||
        inet_pton(AF_INET6, url->host, &ignored) != 1)
        return refuse("between [ and ] must stand an IPv6 address", ret_why);
    url->is_ipv6 = true;
    *ret_rest = end + 1;
    return 0;
}

static int parse_name(const char *at, struct url *url, const char **ret_rest, const char **ret_why)
{
    size_t len = 0;
    while (isalnum((unsigned char)at[len]) || (at[len] != '\0' && strchr(".-_", at[len]) != NULL))
        len++;
    if (len == 0 || text_copy_bytes(url->host, sizeof(url->host), at, len) != 0)
        return refuse("the host must be a name or an address", ret_why);
    *ret_rest = at + len;
    return 0;
}

static int parse_port(const char *at, struct url *url, const char **ret_rest, const char **ret_why)
{
    size_t len = strspn(at + 1, "0123456789");
    char digits[URL_PORT_MAX];
    int64_t port;
    if (text_copy_bytes(digits, sizeof(digits), at + 1, len) != 0 || text_parse_i64(digits, 1, 65535, &port) != 0)
        return refuse("the port must be a number from 1 to 65535", ret_why);
    snprintf(url->port, sizeof(url->port), "%d", (int)port);
    url->port_number = (uint16_t)port;
    *ret_rest = at + 1 + len;
    return 0;
}

int url_parse_any(const char *text, struct url *ret_url, const char **ret_why)
{
    struct url url = {.port = "80", .port_number = 80};
    const char *at = text;
    if (text_starts_with(text, "https://")) {
        url.tls = true;
        text_copy_cut(url.port, sizeof(url.port), "443");
        url.port_number = 443;
        at += strlen("https://");
    } else if (text_starts_with(text, "http://")) {
        at += strlen("http://");
    } else {
        return refuse("an address starts with http:// or https://", ret_why);
    }
    int status = *at == '[' ? parse_ipv6(at, &url, &at, ret_why) : parse_name(at, &url, &at, ret_why);
    if (status == 0 && *at == ':')
        status = parse_port(at, &url, &at, ret_why);
    if (status != 0)
        return status;
    if (*at == '/')
        at++;
    if (*at != '\0')
        return refuse("an address is scheme, host and port, without a path", ret_why);
    *ret_url = url;
    return 0;
}

int url_parse(const char *text, struct url *ret_url, const char **ret_why)
{
    struct url url;
    int status = url_parse_any(text, &url, ret_why);
    if (status != 0)
        return status;
    if (!url.tls && !is_loopback(&url))
        return refuse("plain http is for the loopback only; use https", ret_why);
    *ret_url = url;
    return 0;
}
