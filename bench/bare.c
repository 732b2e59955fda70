/*
 * The yardstick: libmicrohttpd answering a fixed reply to whatever is asked, driven by the same kind of loop as hpd's workers (one daemon
 * and one thread each, MHD_run), and nothing behind it. What hpd adds is the difference.
 *
 *   bare PORT WORKERS [BYTES]     of the reply's body; "{}" without
 */
#include "base/own.h"
#include "base/text.h"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

static struct MHD_Response *reply;

static enum MHD_Result handle(void *arg, struct MHD_Connection *connection, const char *url, const char *method,
                              const char *version, const char *data, size_t *len, void **state)
{
    (void)arg, (void)url, (void)method, (void)version, (void)data;
    static int seen;
    if (*state == NULL) {
        *state = &seen;
        return MHD_YES;
    }
    if (*len > 0) {
        *len = 0;
        return MHD_YES;
    }
    return MHD_queue_response(connection, MHD_HTTP_OK, reply);
}

static int listen_on(uint16_t port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port)};
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on));
    if (bind(fd, (struct sockaddr *)&at, sizeof(at)) != 0 || listen(fd, 4096) != 0)
        exit(1);
    return fd;
}

static void *worker(void *arg)
{
    struct MHD_Daemon *daemon = MHD_start_daemon(MHD_USE_EPOLL, 0, NULL, NULL, handle, NULL, MHD_OPTION_LISTEN_SOCKET,
                                                 listen_on(*(uint16_t *)arg), MHD_OPTION_CONNECTION_LIMIT, 20000u,
                                                 MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)8192, MHD_OPTION_END);
    if (daemon == NULL)
        exit(1);
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD);
    struct pollfd fd = {.fd = info->epoll_fd, .events = POLLIN};
    for (;;) {
        MHD_UNSIGNED_LONG_LONG timeout;
        int wait_ms = MHD_get_timeout(daemon, &timeout) == MHD_YES ? (int)timeout : -1;
        poll(&fd, 1, wait_ms);
        MHD_run(daemon);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int64_t port, workers, bytes = 2;
    if (argc < 3 || argc > 4 || text_parse_i64(argv[1], 1, 65535, &port) != 0 ||
        text_parse_i64(argv[2], 1, 64, &workers) != 0 ||
        (argc == 4 && text_parse_i64(argv[3], 2, 1 << 24, &bytes) != 0))
        return 2;
    char *body = own_calloc((size_t)bytes + 1, 1);
    memset(body, ' ', (size_t)bytes);
    body[0] = '{';
    body[bytes - 1] = '}';
    uint16_t at = (uint16_t)port;
    reply = MHD_create_response_from_buffer((size_t)bytes, body, MHD_RESPMEM_PERSISTENT);
    MHD_add_response_header(reply, "Content-Type", "application/json");
    pthread_t thread;
    for (int64_t i = 1; i < workers; i++)
        pthread_create(&thread, NULL, worker, &at);
    worker(&at);
    return 0;
}
