/*
 * The listening socket is ours, so that a name, IPv6 and port 0 work, and libmicrohttpd's epoll descriptor is a source of the loop.
 * MHD_run never waits, so what ARCHITECTURE.md says of its own thread does not matter here.
 */
#include "agents/launcher/http.h"

#include "agents/launcher/api.h"
#include "base/log.h"
#include "base/status.h"
#include "base/text.h"

#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define TRIES 5
#define TRY_AGAIN_S 5
#define CONNECTIONS_MAX 64
#define IDLE_S 30

struct http_server {
    struct launcher *launcher;
    struct MHD_Daemon *daemon;
    struct source source;
    int port;
};

struct exchange {
    struct text body;
    bool too_large;
};

static enum MHD_Result send_reply(struct MHD_Connection *connection, struct api_reply reply)
{
    struct MHD_Response *response =
        MHD_create_response_from_buffer(strlen(reply.body), reply.body, MHD_RESPMEM_MUST_FREE);
    if (response == NULL) {
        free(reply.body);
        return MHD_NO;
    }
    MHD_add_response_header(response, "Content-Type", "application/json");
    if (reply.status == MHD_HTTP_UNAUTHORIZED)
        MHD_add_response_header(response, "WWW-Authenticate", "Bearer");
    enum MHD_Result rc = MHD_queue_response(connection, (unsigned)reply.status, response);
    MHD_destroy_response(response);
    return rc;
}

static enum MHD_Result on_request(void *arg, struct MHD_Connection *connection, const char *url, const char *method,
                                  const char *version, const char *data, size_t *len, void **own)
{
    struct http_server *server = arg;
    struct exchange *exchange = *own;
    (void)version;
    if (exchange == NULL) {
        *own = own_calloc(1, sizeof(*exchange));
        return MHD_YES;
    }
    if (*len > 0) {
        exchange->too_large = exchange->too_large || exchange->body.len + *len > API_BODY_BYTES_MAX;
        if (!exchange->too_large)
            text_add_bytes(&exchange->body, data, *len);
        *len = 0;
        return MHD_YES;
    }
    if (exchange->too_large)
        return send_reply(connection, (struct api_reply){413, own_strdup("{\"detail\":\"the body is too large\"}")});
    const char *authorization = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Authorization");
    return send_reply(connection, api_handle(server->launcher, method, url, authorization, text_get(&exchange->body),
                                             exchange->body.len));
}

static void on_completed(void *arg, struct MHD_Connection *connection, void **own, enum MHD_RequestTerminationCode why)
{
    struct exchange *exchange = *own;
    (void)arg;
    (void)connection;
    (void)why;
    if (exchange != NULL)
        text_free(&exchange->body);
    free(exchange);
    *own = NULL;
}

/* --- listening ---------------------------------------------------------------------------------------- */

static int listen_at(const struct addrinfo *address)
{
    int yes = 1, fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    if (bind(fd, address->ai_addr, address->ai_addrlen) == 0 && listen(fd, SOMAXCONN) == 0)
        return fd;
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

static int listen_once(const struct options *o)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV}, *found = NULL;
    char port[16];
    int fd = -1;
    snprintf(port, sizeof(port), "%lld", (long long)o->server_port);
    if (getaddrinfo(o->server_host, port, &hints, &found) != 0) {
        errno = EADDRNOTAVAIL;
        return -1;
    }
    for (const struct addrinfo *at = found; at != NULL && fd < 0; at = at->ai_next)
        fd = listen_at(at);
    freeaddrinfo(found);
    return fd;
}

/* A pod that is made anew may find the port still taken by the one before. */
static int listen_patiently(const struct options *o)
{
    int fd = -1;
    for (int i = 0; i < TRIES && fd < 0; i++) {
        const struct timespec wait = {.tv_sec = i == 0 ? 0 : TRY_AGAIN_S};
        nanosleep(&wait, NULL);
        fd = listen_once(o);
        if (fd < 0)
            log_error("cannot listen address=%s port=%lld error=\"%s\" try=%d of=%d", o->server_host,
                      (long long)o->server_port, strerrordesc_np(errno), i + 1, TRIES);
        if (fd < 0 && errno != EADDRINUSE)
            break;
    }
    return fd;
}

static int port_of(int fd)
{
    struct sockaddr_storage address;
    socklen_t len = sizeof(address);
    char port[16] = "0";
    int64_t number = 0;
    if (getsockname(fd, (struct sockaddr *)&address, &len) == 0 &&
        getnameinfo((struct sockaddr *)&address, len, NULL, 0, port, sizeof(port), NI_NUMERICSERV) == 0)
        (void)text_parse_i64(port, 0, 65535, &number);
    return (int)number;
}

static void on_ready(void *arg, uint32_t events)
{
    struct http_server *server = arg;
    (void)events;
    MHD_run(server->daemon);
}

int http_open(struct launcher *launcher, struct http_server **ret_server)
{
    int fd = listen_patiently(launcher->options);
    if (fd < 0)
        return STATUS_IO;
    struct http_server *server = own_calloc(1, sizeof(*server));
    server->launcher = launcher;
    server->port = port_of(fd);
    server->daemon =
        MHD_start_daemon(MHD_USE_EPOLL, 0, NULL, NULL, on_request, server, MHD_OPTION_LISTEN_SOCKET, fd,
                         MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS_MAX, MHD_OPTION_CONNECTION_TIMEOUT,
                         (unsigned)IDLE_S, MHD_OPTION_NOTIFY_COMPLETED, on_completed, server, MHD_OPTION_END);
    const union MHD_DaemonInfo *info =
        server->daemon != NULL ? MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD) : NULL;
    server->source = (struct source){info != NULL ? info->epoll_fd : -1, on_ready, server};
    if (info == NULL || loop_add(&launcher->loop, &server->source, EPOLLIN) != 0) {
        log_error("cannot start the HTTP server");
        http_close(server);
        return STATUS_IO;
    }
    *ret_server = server;
    return 0;
}

void http_close(struct http_server *server)
{
    if (server == NULL)
        return;
    loop_remove(&server->launcher->loop, &server->source);
    if (server->daemon != NULL)
        MHD_stop_daemon(server->daemon); /* closes the listening socket, too */
    free(server);
}

int http_port(const struct http_server *server)
{
    return server->port;
}

int64_t http_run(struct http_server *server)
{
    MHD_UNSIGNED_LONG_LONG timeout;
    MHD_run(server->daemon);
    return MHD_get_timeout(server->daemon, &timeout) == MHD_YES ? (int64_t)timeout : -1;
}
