/*
 * The server's thread: accept, read one request (head and Content-Length), ask the handler, send, again. Everything is
 * blocking; fake_server_stop shuts the sockets down, which wakes it.
 */
#include "tests/support/fake_server.h"

#include "base/own.h"
#include "base/text.h"

#include <arpa/inet.h>
#include <gnutls/gnutls.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define REPLIES_MAX 4096

struct fake_server {
    int listener, port;
    char url[64];
    pthread_t thread;
    pthread_mutex_t lock; /* of connection and stopping */
    int connection;
    bool stopping;
    atomic_int connections;
    fake_handler *handler;
    void *arg;
    gnutls_certificate_credentials_t credentials;
    gnutls_session_t session;
    struct text request;
    char *replies[REPLIES_MAX];
    int reply_count;
};

static ssize_t get(struct fake_server *server, char *bytes, size_t size)
{
    if (server->session == NULL)
        return recv(server->connection, bytes, size, 0);
    ssize_t n;
    do
        n = gnutls_record_recv(server->session, bytes, size);
    while (n == GNUTLS_E_INTERRUPTED || n == GNUTLS_E_AGAIN);
    return n;
}

static bool put(struct fake_server *server, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t n = server->session != NULL ? gnutls_record_send(server->session, bytes, len)
                                            : send(server->connection, bytes, len, MSG_NOSIGNAL);
        if (n <= 0)
            return false;
        bytes += n;
        len -= (size_t)n;
    }
    return true;
}

/* The length of the first whole request in the buffer; 0: not yet. */
static size_t whole(const struct text *request)
{
    const char *end = request->data != NULL ? strstr(request->data, "\r\n\r\n") : NULL;
    if (end == NULL)
        return 0;
    size_t head = (size_t)(end + 4 - request->data);
    const char *length = strcasestr(request->data, "\r\nContent-Length:");
    size_t body = length != NULL && length < end ? strtoul(length + strlen("\r\nContent-Length:"), NULL, 10) : 0;
    return request->len >= head + body ? head + body : 0;
}

static bool read_request(struct fake_server *server)
{
    char bytes[4096];
    text_clear(&server->request);
    while (whole(&server->request) == 0) {
        ssize_t n = get(server, bytes, sizeof(bytes));
        if (n <= 0)
            return false;
        text_add_bytes(&server->request, bytes, (size_t)n);
    }
    return true;
}

static bool answer_request(struct fake_server *server)
{
    struct fake_answer answer = {0};
    char byte;
    server->handler(server->request.data, server->request.len, &answer, server->arg);
    for (int i = 0; i < answer.count; i++)
        if (!put(server, answer.pieces[i], answer.lens[i] > 0 ? answer.lens[i] : strlen(answer.pieces[i])))
            return false;
    while (answer.hold && get(server, &byte, 1) > 0)
        ;
    return !answer.close && !answer.hold;
}

static bool secure(struct fake_server *server)
{
    if (server->credentials == NULL)
        return true;
    gnutls_init(&server->session, GNUTLS_SERVER);
    gnutls_set_default_priority(server->session);
    gnutls_credentials_set(server->session, GNUTLS_CRD_CERTIFICATE, server->credentials);
    gnutls_transport_set_int(server->session, server->connection);
    int rc;
    do
        rc = gnutls_handshake(server->session);
    while (rc < 0 && !gnutls_error_is_fatal(rc));
    return rc == 0;
}

static void serve(struct fake_server *server)
{
    if (secure(server))
        while (read_request(server) && answer_request(server))
            ;
    if (server->session != NULL)
        gnutls_deinit(server->session);
    server->session = NULL;
}

static void *run(void *arg)
{
    struct fake_server *server = arg;
    for (;;) {
        int fd = accept4(server->listener, NULL, NULL, SOCK_CLOEXEC);
        pthread_mutex_lock(&server->lock);
        bool stopping = server->stopping;
        server->connection = fd;
        pthread_mutex_unlock(&server->lock);
        if (fd >= 0 && !stopping) {
            atomic_fetch_add(&server->connections, 1);
            serve(server);
        }
        pthread_mutex_lock(&server->lock);
        if (fd >= 0)
            close(fd);
        server->connection = -1;
        stopping = server->stopping;
        pthread_mutex_unlock(&server->lock);
        if (stopping || fd < 0)
            return NULL;
    }
}

static void listen_on(struct fake_server *server, const char *host, int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    socklen_t len = sizeof(address);
    int one = 1;
    if (inet_pton(AF_INET, host, &address.sin_addr) != 1)
        abort();
    server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(server->listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (bind(server->listener, (struct sockaddr *)&address, len) != 0 || listen(server->listener, 16) != 0 ||
        getsockname(server->listener, (struct sockaddr *)&address, &len) != 0)
        abort();
    server->port = ntohs(address.sin_port);
}

struct fake_server *fake_server_start(const char *host, int port, const char *cert_pem, const char *key_pem,
                                      fake_handler *handler, void *arg)
{
    struct fake_server *server = own_calloc(1, sizeof(*server));
    host = host != NULL ? host : "127.0.0.1";
    listen_on(server, host, port);
    server->handler = handler;
    server->arg = arg;
    server->connection = -1;
    pthread_mutex_init(&server->lock, NULL);
    if (cert_pem != NULL) {
        const gnutls_datum_t cert = {(unsigned char *)own_strdup(cert_pem), (unsigned)strlen(cert_pem)};
        const gnutls_datum_t key = {(unsigned char *)own_strdup(key_pem), (unsigned)strlen(key_pem)};
        gnutls_certificate_allocate_credentials(&server->credentials);
        if (gnutls_certificate_set_x509_key_mem(server->credentials, &cert, &key, GNUTLS_X509_FMT_PEM) < 0)
            abort();
        free(cert.data);
        free(key.data);
    }
    snprintf(server->url, sizeof(server->url), "%s://%s:%d", cert_pem != NULL ? "https" : "http", host, server->port);
    if (pthread_create(&server->thread, NULL, run, server) != 0)
        abort();
    return server;
}

void fake_server_stop(struct fake_server *server)
{
    if (server == NULL)
        return;
    pthread_mutex_lock(&server->lock);
    server->stopping = true;
    shutdown(server->listener, SHUT_RDWR);
    if (server->connection >= 0)
        shutdown(server->connection, SHUT_RDWR);
    pthread_mutex_unlock(&server->lock);
    pthread_join(server->thread, NULL);
    close(server->listener);
    pthread_mutex_destroy(&server->lock);
    if (server->credentials != NULL)
        gnutls_certificate_free_credentials(server->credentials);
    for (int i = 0; i < server->reply_count; i++)
        free(server->replies[i]);
    text_free(&server->request);
    free(server);
}

int fake_server_port(const struct fake_server *server)
{
    return server->port;
}

const char *fake_server_url(const struct fake_server *server)
{
    return server->url;
}

int fake_server_connections(const struct fake_server *server)
{
    return atomic_load(&server->connections);
}

void fake_answer_json(struct fake_answer *answer, struct fake_server *server, int status, const char *body)
{
    if (server->reply_count == REPLIES_MAX || answer->count == FAKE_PIECES_MAX)
        abort();
    char *reply = own_printf("HTTP/1.1 %d Whatever\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                             status, strlen(body), body);
    server->replies[server->reply_count++] = reply;
    answer->pieces[answer->count++] = reply;
}
