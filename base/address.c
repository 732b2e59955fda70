/* Strict: inet_pton takes neither the short forms of inet_aton nor anything around an address. */
#include "base/address.h"

#include "base/status.h"
#include "base/text.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#define V4_LINK_LOCAL 0xa9fe /* 169.254.0.0/16, RFC 3927 */

/* The last four bytes of an IPv4 address that is written as an IPv6 one. */
static struct in_addr mapped_part(const struct in6_addr *v6)
{
    struct in_addr v4;
    memcpy(&v4, &v6->s6_addr[12], sizeof(v4));
    return v4;
}

static void write_v4(const struct in_addr *v4, char ret_address[ADDRESS_TEXT_MAX])
{
    (void)inet_ntop(AF_INET, v4, ret_address, ADDRESS_TEXT_MAX);
}

static void write_v6(const struct in6_addr *v6, char ret_address[ADDRESS_TEXT_MAX])
{
    struct in_addr v4 = mapped_part(v6);
    if (IN6_IS_ADDR_V4MAPPED(v6))
        write_v4(&v4, ret_address);
    else
        (void)inet_ntop(AF_INET6, v6, ret_address, ADDRESS_TEXT_MAX);
}

static bool is_one_machine_v4(const struct in_addr *v4)
{
    uint32_t bits = ntohl(v4->s_addr);
    return bits >> 24 != 0 && !IN_MULTICAST(bits) && bits != INADDR_BROADCAST;
}

int address_parse(const char *text, char ret_address[ADDRESS_TEXT_MAX])
{
    struct in_addr v4;
    struct in6_addr v6;
    if (inet_pton(AF_INET, text, &v4) == 1) {
        if (!is_one_machine_v4(&v4))
            return STATUS_INVALID;
        write_v4(&v4, ret_address);
        return 0;
    }
    if (inet_pton(AF_INET6, text, &v6) != 1 || IN6_IS_ADDR_UNSPECIFIED(&v6) || IN6_IS_ADDR_MULTICAST(&v6))
        return STATUS_INVALID;
    v4 = mapped_part(&v6);
    if (IN6_IS_ADDR_V4MAPPED(&v6) && !is_one_machine_v4(&v4))
        return STATUS_INVALID;
    write_v6(&v6, ret_address);
    return 0;
}

void address_of(const struct sockaddr *from, char ret_address[ADDRESS_TEXT_MAX])
{
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
    ret_address[0] = '\0';
    if (from->sa_family == AF_INET) {
        memcpy(&in, from, sizeof(in));
        write_v4(&in.sin_addr, ret_address);
    } else if (from->sa_family == AF_INET6) {
        memcpy(&in6, from, sizeof(in6));
        write_v6(&in6.sin6_addr, ret_address);
    }
}

bool address_is_ipv6(const char *address)
{
    return strchr(address, ':') != NULL;
}

bool address_is_only_here(const char *address)
{
    struct in_addr v4;
    struct in6_addr v6;
    if (inet_pton(AF_INET, address, &v4) == 1)
        return ntohl(v4.s_addr) >> 24 == IN_LOOPBACKNET || ntohl(v4.s_addr) >> 16 == V4_LINK_LOCAL;
    return inet_pton(AF_INET6, address, &v6) != 1 || IN6_IS_ADDR_LOOPBACK(&v6) || IN6_IS_ADDR_LINKLOCAL(&v6);
}
