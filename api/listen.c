/*
 * Addresses and listening sockets. The kernel spreads connections over the sockets of one port, so that each
 * worker accepts for itself and no descriptor ever changes hands.
 */
#include "api/listen.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define HOST_MAX_BYTES 256

/* "host:port" and "[v6]:port" in two; a bare port is refused: who listens should have said where. */
static int split_address(const char *address, char host[HOST_MAX_BYTES], const char **ret_port)
{
    const char *colon = strrchr(address, ':');
    int64_t port;
    if (colon == NULL || text_parse_i64(colon + 1, 0, 65535, &port) != 0)
        return STATUS_INVALID;
    size_t len = (size_t)(colon - address);
    if (len >= 2 && address[0] == '[' && address[len - 1] == ']') {
        address++;
        len -= 2;
    } else if (memchr(address, ':', len) != NULL) {
        return STATUS_INVALID;
    }
    if (len == 0 || text_copy_bytes(host, HOST_MAX_BYTES, address, len) != 0)
        return STATUS_INVALID;
    *ret_port = colon + 1;
    return 0;
}

static int resolve(const char *address, struct addrinfo **ret_info)
{
    char host[HOST_MAX_BYTES];
    const char *port;
    if (split_address(address, host, &port) != 0)
        return STATUS_INVALID;
    struct addrinfo annotations = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    return getaddrinfo(host, port, &annotations, ret_info) == 0 ? 0 : STATUS_INVALID;
}

bool listen_peer_is_loopback(const struct sockaddr *sa)
{
    if (sa->sa_family == AF_INET) {
        struct sockaddr_in in;
        memcpy(&in, sa, sizeof in);
        return (ntohl(in.sin_addr.s_addr) >> 24) == 127;
    }
    if (sa->sa_family != AF_INET6)
        return false;
    struct sockaddr_in6 in6;
    memcpy(&in6, sa, sizeof in6);
    if (IN6_IS_ADDR_V4MAPPED(&in6.sin6_addr))
        return in6.sin6_addr.s6_addr[12] == 127;
    return IN6_IS_ADDR_LOOPBACK(&in6.sin6_addr);
}

bool listen_is_loopback(const char *address)
{
    struct addrinfo *info;
    if (resolve(address, &info) != 0)
        return false;
    bool loopback = true;
    for (struct addrinfo *i = info; i != NULL; i = i->ai_next)
        loopback = loopback && listen_peer_is_loopback(i->ai_addr);
    freeaddrinfo(info);
    return loopback;
}

static int listen_one(const struct addrinfo *info, bool shared)
{
    int fd = socket(info->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    int on = 1;
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
        (!shared || setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) == 0) &&
        bind(fd, info->ai_addr, info->ai_addrlen) == 0 && listen(fd, LISTEN_BACKLOG) == 0)
        return fd;
    int saved = errno;
    close(fd);
    errno = saved;
    return -1;
}

/* The port a socket got, put into info so that the next sockets join it. */
static int take_port(int fd, struct addrinfo *info, uint16_t *ret_port)
{
    struct sockaddr_storage bound;
    socklen_t len = sizeof bound;
    if (getsockname(fd, (struct sockaddr *)&bound, &len) != 0)
        return STATUS_IO;
    in_port_t port;
    if (bound.ss_family == AF_INET) {
        struct sockaddr_in in;
        memcpy(&in, &bound, sizeof in);
        port = in.sin_port;
    } else {
        struct sockaddr_in6 in6;
        memcpy(&in6, &bound, sizeof in6);
        port = in6.sin6_port;
    }
    memcpy(info->ai_addr, &bound, info->ai_addrlen);
    *ret_port = ntohs(port);
    return 0;
}

/* A socket that does not share: fails when anybody listens there. */
static int probe(const struct addrinfo *info)
{
    int fd = listen_one(info, false);
    if (fd < 0)
        return errno == EADDRINUSE ? STATUS_UNAVAILABLE : STATUS_IO;
    close(fd);
    return 0;
}

int listen_open(const char *address, int count, int *ret_fds, uint16_t *ret_port, char *ret_error, size_t error_size)
{
    struct addrinfo *info;
    if (resolve(address, &info) != 0) {
        snprintf(ret_error, error_size, "cannot listen on \"%s\": not an address of the form HOST:PORT", address);
        return STATUS_INVALID;
    }
    int rc = probe(info);
    int opened = 0;
    while (rc == 0 && opened < count) {
        ret_fds[opened] = listen_one(info, true);
        rc = ret_fds[opened] < 0 ? STATUS_IO : 0;
        if (rc == 0 && opened++ == 0)
            rc = take_port(ret_fds[0], info, ret_port);
    }
    if (rc != 0) {
        if (rc == STATUS_UNAVAILABLE)
            snprintf(ret_error, error_size,
                     "cannot listen on %s: another process does. End it, or give --listen another port", address);
        else
            snprintf(ret_error, error_size, "cannot listen on %s: %s", address, strerror(errno));
        while (opened > 0)
            close(ret_fds[--opened]);
    }
    freeaddrinfo(info);
    return rc;
}
