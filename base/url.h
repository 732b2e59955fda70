/*
 * The address of a server as people write it: http://host:port or https://host:port, no more.
 *
 * Credentials travel with every request, so plain HTTP is for the loopback only and url_parse refuses
 * it elsewhere. url_parse_any is for servers that cannot do better, and whose credentials open nothing else.
 */
#ifndef HOLDFAST_BASE_URL_H
#define HOLDFAST_BASE_URL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define URL_HOST_MAX 256 /* a DNS name has 253 characters */
#define URL_PORT_MAX 6

struct url {
    bool tls;
    bool is_ipv6;
    char host[URL_HOST_MAX]; /* without the brackets of an IPv6 address */
    char port[URL_PORT_MAX]; /* 80 and 443 when it was left out */
    uint16_t port_number;
};

/* INVALID with a static sentence in *ret_why. A single slash at the end is fine, any other path is not. */
int url_parse(const char *text, struct url *ret_url, const char **ret_why);
int url_parse_any(const char *text, struct url *ret_url, const char **ret_why);

#endif
