/*
 * libmicrohttpd reads heads more kindly than proxies do, and has no place between its sockets and its parser where anybody could look
 * at them (0.9.75; 1.0 is stricter, and not strict in everything). But it receives by recv, or by gnutls_record_recv, and a program's
 * own functions of these names come before the libraries': so they stand here, and hand on all that is not a connection of ours.
 *
 * Bad bytes never reach libmicrohttpd. Requests that were whole before them are answered first; then the connection gets one 400 and
 * ends. Should these functions not be the ones that are called, no request is taken: http.c compares how many heads were seen.
 */
#include "api/guard.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define GUARDS_MAX (1 << 22) /* descriptors; the kernel gives the lowest number that is free */
#define DRAIN_BYTES_MAX (256 * 1024)

#define REFUSAL_BODY                                                                                                \
    "{\"type\":\"urn:holdfast:problem:bad-request\",\"title\":\"The request cannot be understood\",\"status\":400," \
    "\"code\":\"bad-request\",\"detail\":\"The head or the length of the message is not as RFC 9112 wants it.\"}\n"
static const char REFUSAL[] = "HTTP/1.1 400 Bad Request\r\nContent-Type: application/problem+json\r\n"
                              "Content-Length: 199\r\nConnection: close\r\n\r\n" REFUSAL_BODY;
_Static_assert(sizeof(REFUSAL_BODY) - 1 == 199, "the length that the head says");

static _Atomic(struct guard *) *_Atomic guards;
/* Only who begins guards reads connections: the sessions of others (libcurl) have no descriptor that could be asked for here. */
static _Thread_local bool reads_here;

static void guards_init(void)
{
    guards = calloc(GUARDS_MAX, sizeof(*guards)); /* pages that nobody touches cost nothing */
    if (guards == NULL)
        abort();
}

bool guard_begin(struct guard *guard, int fd, bool tls)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, guards_init);
    *guard = (struct guard){.fd = fd, .tls = tls};
    if (fd < 0 || fd >= GUARDS_MAX)
        return false;
    atomic_store(&guards[fd], guard);
    reads_here = true;
    return true;
}

void guard_end(struct guard *guard)
{
    if (guard->fd >= 0 && guard->fd < GUARDS_MAX)
        atomic_store(&guards[guard->fd], NULL);
}

static struct guard *guard_of(int fd)
{
    return guards == NULL || fd < 0 || fd >= GUARDS_MAX ? NULL : atomic_load(&guards[fd]);
}

/* --- receiving -------------------------------------------------------------------------------------------------- */

struct gnutls_session_int;
ssize_t recv(int fd, void *data, size_t len, int flags);
ssize_t gnutls_record_recv(struct gnutls_session_int *session, void *data, size_t len);
ssize_t gnutls_record_send(struct gnutls_session_int *session, const void *data, size_t len);
int gnutls_transport_get_int(struct gnutls_session_int *session);

static ssize_t receive(int fd, void *data, size_t len, int flags)
{
    struct iovec part = {.iov_base = data, .iov_len = len};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    return recvmsg(fd, &message, flags); /* recv by another name, whose order ThreadSanitizer knows */
}

/* What is left unread would have the kernel reset the connection, and the refusal with it. */
static void drain(int fd)
{
    char bytes[4096];
    for (size_t got = 0; got < DRAIN_BYTES_MAX; got += sizeof(bytes))
        if (receive(fd, bytes, sizeof(bytes), MSG_DONTWAIT) <= 0)
            return;
}

/* Once; then it is as if the client had closed. What does not even begin as HTTP gets no answer. */
static ssize_t refuse(struct guard *guard, struct gnutls_session_int *session)
{
    if (guard->refused)
        return 0;
    guard->refused = true;
    if (guard->strict.started || guard->strict.heads > 0) {
        if (session != NULL)
            (void)gnutls_record_send(session, REFUSAL, sizeof(REFUSAL) - 1);
        else
            (void)send(guard->fd, REFUSAL, sizeof(REFUSAL) - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    shutdown(guard->fd, SHUT_WR);
    drain(guard->fd);
    return 0;
}

/* How much of what was received the reader behind gets. */
static ssize_t judge(struct guard *guard, struct gnutls_session_int *session, const char *data, ssize_t len)
{
    size_t whole = 0;
    if (len <= 0 || strict_take(&guard->strict, data, (size_t)len, &whole) == (size_t)len)
        return len;
    if (whole == 0)
        return refuse(guard, session);
    shutdown(guard->fd, SHUT_RD); /* so that the reader is told to come again once it has answered */
    return (ssize_t)whole;
}

ssize_t recv(int fd, void *data, size_t len, int flags)
{
    struct guard *guard = reads_here ? guard_of(fd) : NULL;
    if (guard == NULL || guard->tls || (flags & MSG_PEEK) != 0)
        return receive(fd, data, len, flags);
    if (guard->strict.state == STRICT_BAD)
        return refuse(guard, NULL);
    return judge(guard, NULL, data, receive(fd, data, len, flags));
}

typedef ssize_t (*record_recv_fn)(struct gnutls_session_int *session, void *data, size_t len);

static record_recv_fn record_recv;

static void find_record_recv(void)
{
    void *found = dlsym(RTLD_NEXT, "gnutls_record_recv");
    if (found == NULL)
        abort();
    memcpy(&record_recv, &found, sizeof(record_recv)); /* ISO C has no cast from one to the other */
}

ssize_t gnutls_record_recv(struct gnutls_session_int *session, void *data, size_t len)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_record_recv);
    struct guard *guard = reads_here ? guard_of(gnutls_transport_get_int(session)) : NULL;
    if (guard == NULL || !guard->tls)
        return record_recv(session, data, len);
    if (guard->strict.state == STRICT_BAD)
        return refuse(guard, session);
    return judge(guard, session, data, record_recv(session, data, len));
}
