/*
 * Connections and lines around meet_host.c. The gathering hprun is a member like the others, without a connection; the others know nothing but
 * what they are told. A connection that is gone ends the job on this side: the workers are stopped, and who gathered decides without us.
 */
#include "agents/launcher/meet.h"

#include "agents/launcher/meet_host.h"
#include "base/json.h"
#include "base/log.h"
#include "base/status.h"
#include "base/text.h"

#include <errno.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define LINE_BYTES_MAX 65536
#define C10D_PORT 29400 /* torchrun's */
#define CONNECT_AGAIN_MS 1000
#define CONNECT_S 2
#define LAST_CALL_MS (30 * MS_PER_S) /* torchrun's last_call_timeout */
#define JOIN_MS (600 * MS_PER_S)

struct connection {
    struct meet *meet;
    struct source source;
    struct text bytes;
    struct member member;
    bool joined;
    struct connection *next;
};

struct meet {
    struct launcher *launcher;
    void (*finish)(struct launcher *launcher, int exit_code);
    char host_name[256];
    int port;
    bool hosts;
    struct host host;
    struct member own;
    struct source listener;
    struct connection *connections; /* a host's; or the one to the host */
    int64_t connect_at_ms, give_up_at_ms;
    int master_port;
};

static int64_t now_ms(void)
{
    return clock_mono_ms(clock_system());
}

int meet_free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_ANY)};
    socklen_t len = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), port = 0;
    if (fd >= 0 && bind(fd, (struct sockaddr *)&address, len) == 0 &&
        getsockname(fd, (struct sockaddr *)&address, &len) == 0)
        port = ntohs(address.sin_port);
    if (fd >= 0)
        close(fd);
    return port;
}

/* --- lines -------------------------------------------------------------------------------------------- */

/* Takes body. A connection that takes nothing is found gone by its next event. */
static void send_line(struct connection *connection, const char *word, json_t *body)
{
    json_t *line = json_object();
    json_object_set_new(line, word, body);
    autofree char *text = json_dumps(line, JSON_COMPACT);
    json_decref(line);
    autofree char *whole = own_printf("%s\n", text_or_empty(text));
    size_t len = strlen(whole);
    if (send(connection->source.fd, whole, len, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)len)
        shutdown(connection->source.fd, SHUT_RDWR);
}

static void connection_free(struct connection *connection)
{
    struct connection **at = &connection->meet->connections;
    while (*at != connection)
        at = &(*at)->next;
    *at = connection->next;
    loop_remove(&connection->meet->launcher->loop, &connection->source);
    close(connection->source.fd);
    text_free(&connection->bytes);
    free(connection);
}

static int number_of(const json_t *body, const char *name)
{
    return (int)json_integer_value(json_object_get(body, name));
}

/* --- this node's workers ------------------------------------------------------------------------------ */

static void begin_here(struct meet *meet, int rank, int nodes, const char *master, int port, int64_t restarts)
{
    const struct options *o = meet->launcher->options;
    struct place place = {.rank = rank,
                          .nodes = nodes,
                          .ranks = o->ranks,
                          .master_port = port,
                          .restart_count = restarts,
                          .max_restarts = o->max_restarts,
                          .role = o->role,
                          .run_id = o->run_id};
    text_copy_cut(place.master_addr, sizeof(place.master_addr), master);
    if (meet->launcher->state == AGENT_STOPPING)
        launcher_move(meet->launcher, AGENT_READY, NULL, NULL);
    launcher_move(meet->launcher, AGENT_RUNNING, NULL, NULL);
    launcher_begin(meet->launcher, &place);
}

static void stop_here(struct meet *meet)
{
    struct launcher *launcher = meet->launcher;
    if (launcher_may_move(launcher, AGENT_STOPPING))
        launcher_move(launcher, AGENT_STOPPING, NULL, NULL);
    launcher_stop(launcher, launcher->options->shutdown_signal, launcher->options->shutdown_s * MS_PER_S);
}

static void finish_here(struct meet *meet, bool succeeded, const char *reason, const char *message, int64_t restarts)
{
    if (!succeeded && *reason != '\0')
        fprintf(stderr, "hprun: the job failed after %lld restart%s: %s: %s\n", (long long)restarts,
                text_plural(restarts), reason, message);
    meet->finish(meet->launcher, succeeded ? 0 : 1);
}

/* --- who gathers -------------------------------------------------------------------------------------- */

static void on_start(void *arg, struct member *member, int rank, int nodes)
{
    struct meet *meet = arg;
    const struct options *o = meet->launcher->options;
    bool given = o->backend == BACKEND_STATIC;
    if (!given && rank == 0)
        meet->master_port = meet_free_port(); /* we are the first: nobody joined before us */
    const char *master = given && *o->endpoint == '\0' ? o->master_addr : meet->host_name;
    int port = given ? meet->master_port : meet->master_port;
    if (member == &meet->own) {
        begin_here(meet, rank, nodes, master, port, meet->host.restart_count);
        return;
    }
    json_t *body = json_object();
    json_put_i64(body, "rank", rank);
    json_put_i64(body, "nodes", nodes);
    json_put_i64(body, "restarts", meet->host.restart_count);
    json_put_i64(body, "port", port);
    json_put_text(body, "master", master);
    send_line(member->connection, "start", body);
}

static void on_stop(void *arg, struct member *member)
{
    struct meet *meet = arg;
    if (member == &meet->own)
        stop_here(meet);
    else
        send_line(member->connection, "stop", json_object());
}

static void on_end(void *arg, struct member *member, bool succeeded)
{
    struct meet *meet = arg;
    const struct host *host = &meet->host;
    if (member == &meet->own) {
        finish_here(meet, succeeded, host->reason, host->message, host->restart_count);
        return;
    }
    json_t *body = json_object();
    json_object_set_new(body, "succeeded", json_boolean(succeeded));
    json_put_i64(body, "restarts", host->restart_count);
    json_put_text(body, "reason", host->reason);
    json_put_text(body, "message", host->message);
    send_line(member->connection, "end", body);
}

static bool take_join(struct connection *connection, const json_t *body)
{
    struct meet *meet = connection->meet;
    const struct options *o = meet->launcher->options;
    const char *why = NULL;
    connection->member.node_rank = number_of(body, "node_rank");
    connection->member.connection = connection;
    if (strcmp(json_member_text(body, "job"), o->run_id) != 0)
        why = "another job (--rdzv-id) gathers here";
    else if (number_of(body, "ranks") != o->ranks)
        why = "--nproc-per-node differs from that of the other nodes";
    else if (host_join(&meet->host, &connection->member, now_ms(), &why) == 0)
        connection->joined = true;
    if (why == NULL)
        return true;
    log_warn("node refused: %s", why);
    json_t *refusal = json_object();
    json_put_text(refusal, "reason", "Refused");
    json_put_text(refusal, "message", why);
    send_line(connection, "end", refusal);
    return false;
}

/* A line of another node. False when its connection is no good. */
static bool take_of_member(struct connection *connection, const json_t *line)
{
    struct host *host = &connection->meet->host;
    const json_t *join = json_object_get(line, "join"), *over = json_object_get(line, "over");
    if (join != NULL && !connection->joined)
        return take_join(connection, join);
    if (over == NULL || !connection->joined)
        return false;
    const char *how = json_member_text(over, "how");
    if (strcmp(how, "fault") == 0)
        host_fault(host, json_member_text(over, "reason"), json_member_text(over, "message"));
    else if (strcmp(how, "success") == 0)
        host_succeeded(host, &connection->member);
    else
        host_stopped(host, &connection->member, now_ms());
    return true;
}

/* --- who was gathered --------------------------------------------------------------------------------- */

static bool take_of_host(struct connection *connection, const json_t *line)
{
    struct meet *meet = connection->meet;
    const json_t *start = json_object_get(line, "start"), *end = json_object_get(line, "end");
    if (start != NULL)
        begin_here(meet, number_of(start, "rank"), number_of(start, "nodes"), json_member_text(start, "master"),
                   number_of(start, "port"), number_of(start, "restarts"));
    else if (end != NULL)
        finish_here(meet, json_is_true(json_object_get(end, "succeeded")), json_member_text(end, "reason"),
                    json_member_text(end, "message"), number_of(end, "restarts"));
    else if (json_object_get(line, "stop") != NULL)
        stop_here(meet);
    else
        return false;
    return true;
}

static void tell_host(struct meet *meet, const char *how)
{
    json_t *body = json_object();
    json_put_text(body, "how", how);
    json_put_text(body, "reason", meet->launcher->fault_reason);
    json_put_text(body, "message", meet->launcher->fault_message);
    if (meet->connections != NULL)
        send_line(meet->connections, "over", body);
    else
        json_decref(body);
}

static void on_over(struct launcher *launcher, enum over over)
{
    struct meet *meet = launcher->meet;
    static const char *const words[] = {"success", "fault", "stopped"};
    if (over == OVER_STOPPED && launcher->ended_by != 0) {
        meet->finish(launcher, 1);
        return;
    }
    if (over == OVER_SUCCESS)
        launcher_move(launcher, AGENT_COMPLETED, NULL, NULL);
    if (!meet->hosts)
        tell_host(meet, words[over]);
    else if (over == OVER_FAULT)
        host_fault(&meet->host, text_or_empty(launcher->fault_reason), text_or_empty(launcher->fault_message));
    else if (over == OVER_SUCCESS)
        host_succeeded(&meet->host, &meet->own);
    else
        host_stopped(&meet->host, &meet->own, now_ms());
    if (over == OVER_STOPPED && !meet->hosts && meet->connections == NULL)
        meet->finish(launcher, 1);
}

/* --- connections -------------------------------------------------------------------------------------- */

static void lost(struct connection *connection)
{
    struct meet *meet = connection->meet;
    struct member *member = connection->joined && meet->hosts ? &connection->member : NULL;
    bool over = meet->launcher->done;
    if (member != NULL)
        host_leave(&meet->host, member, now_ms());
    connection_free(connection);
    if (meet->hosts || over)
        return;
    log_error("the connection to the hprun that gathers is gone host=%s port=%d", meet->host_name, meet->port);
    stop_here(meet);
}

static bool take_lines(struct connection *connection)
{
    size_t at = 0;
    const char *newline;
    bool good = true;
    while (good && connection->bytes.len > at &&
           (newline = memchr(connection->bytes.data + at, '\n', connection->bytes.len - at)) != NULL) {
        char error[JSON_ERROR_MAX];
        AUTO(json) json_t *line = NULL;
        size_t len = (size_t)(newline - (connection->bytes.data + at));
        good = json_parse(connection->bytes.data + at, len, LINE_BYTES_MAX, &line, error) == 0 &&
               (connection->meet->hosts ? take_of_member(connection, line) : take_of_host(connection, line));
        at += len + 1;
    }
    connection->bytes.len -= at;
    memmove(connection->bytes.data, connection->bytes.data + at, connection->bytes.len);
    return good && connection->bytes.len < LINE_BYTES_MAX;
}

static void on_bytes(void *arg, uint32_t events)
{
    struct connection *connection = arg;
    char bytes[4096];
    (void)events;
    ssize_t n = recv(connection->source.fd, bytes, sizeof(bytes), MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n > 0)
        text_add_bytes(&connection->bytes, bytes, (size_t)n);
    if (n <= 0 || !take_lines(connection))
        lost(connection);
}

/* A node that is gone without a word is found within half a minute. */
static void watch_peer(int fd)
{
    static const struct {
        int level, name, value;
    } options[] = {{SOL_SOCKET, SO_KEEPALIVE, 1},
                   {IPPROTO_TCP, TCP_KEEPIDLE, 10},
                   {IPPROTO_TCP, TCP_KEEPINTVL, 5},
                   {IPPROTO_TCP, TCP_KEEPCNT, 3},
                   {IPPROTO_TCP, TCP_NODELAY, 1}};
    for (size_t i = 0; i < ARRAY_LEN(options); i++)
        setsockopt(fd, options[i].level, options[i].name, &options[i].value, sizeof(options[i].value));
}

static struct connection *add_connection(struct meet *meet, int fd)
{
    struct connection *connection = own_calloc(1, sizeof(*connection));
    connection->meet = meet;
    connection->source = (struct source){fd, on_bytes, connection};
    connection->next = meet->connections;
    meet->connections = connection;
    watch_peer(fd);
    if (loop_add(&meet->launcher->loop, &connection->source, EPOLLIN) == 0)
        return connection;
    connection_free(connection);
    return NULL;
}

static void on_listener(void *arg, uint32_t events)
{
    struct meet *meet = arg;
    (void)events;
    int fd = accept4(meet->listener.fd, NULL, NULL, SOCK_CLOEXEC);
    if (fd >= 0)
        (void)add_connection(meet, fd);
}

/* Where nobody listens yet, a connection within one machine may get that very port for its own end. */
static bool is_connected_to_itself(int fd)
{
    struct sockaddr_storage here = {0}, there = {0};
    socklen_t here_len = sizeof(here), there_len = sizeof(there);
    return getsockname(fd, (struct sockaddr *)&here, &here_len) == 0 &&
           getpeername(fd, (struct sockaddr *)&there, &there_len) == 0 && here_len == there_len &&
           memcmp(&here, &there, here_len) == 0;
}

static int try_address(const struct addrinfo *at)
{
    const struct timeval limit = {.tv_sec = CONNECT_S};
    int fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    if (connect(fd, at->ai_addr, at->ai_addrlen) == 0 && !is_connected_to_itself(fd))
        return fd;
    close(fd);
    return -1;
}

static struct addrinfo *look_up(const char *host, int port, int flags)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV | flags}, *found = NULL;
    char service[16];
    snprintf(service, sizeof(service), "%d", port);
    return getaddrinfo(host, service, &hints, &found) == 0 ? found : NULL;
}

static void try_connect(struct meet *meet)
{
    struct addrinfo *found = look_up(meet->host_name, meet->port, 0);
    int fd = -1;
    for (const struct addrinfo *at = found; at != NULL && fd < 0; at = at->ai_next)
        fd = try_address(at);
    if (found != NULL)
        freeaddrinfo(found);
    struct connection *connection = fd >= 0 ? add_connection(meet, fd) : NULL;
    meet->connect_at_ms = connection == NULL ? now_ms() + CONNECT_AGAIN_MS : 0;
    if (connection == NULL)
        return;
    const struct options *o = meet->launcher->options;
    json_t *body = json_object();
    json_put_text(body, "job", o->run_id);
    json_put_i64(body, "ranks", o->ranks);
    json_put_i64(body, "node_rank", o->backend == BACKEND_STATIC ? o->node_rank : -1);
    send_line(connection, "join", body);
}

static int open_listener(struct meet *meet)
{
    struct addrinfo *found = look_up(NULL, meet->port, AI_PASSIVE);
    int yes = 1, no = 0, fd = -1;
    for (const struct addrinfo *at = found; at != NULL && fd < 0; at = at->ai_next) {
        fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0)
            continue;
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
        if (at->ai_family == AF_INET6)
            setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no));
        if (bind(fd, at->ai_addr, at->ai_addrlen) != 0 || listen(fd, SOMAXCONN) != 0) {
            close(fd);
            fd = -1;
        }
    }
    if (found != NULL)
        freeaddrinfo(found);
    meet->listener = (struct source){fd, on_listener, meet};
    if (fd >= 0 && loop_add(&meet->launcher->loop, &meet->listener, EPOLLIN) == 0)
        return 0;
    log_error("cannot listen for the other nodes port=%d error=\"%s\"", meet->port, strerrordesc_np(errno));
    return STATUS_IO;
}

/* --- options ------------------------------------------------------------------------------------------ */

/* The value of KEY in "a=1,key=2"; NULL. Caller frees. */
static char *conf_of(const struct options *o, const char *key)
{
    for (const char *at = o->rdzv_conf; *at != '\0';) {
        size_t len = strcspn(at, ","), name = strcspn(at, "=");
        if (name < len && name == strlen(key) && strncmp(at, key, name) == 0)
            return own_printf("%.*s", (int)(len - name - 1), at + name + 1);
        at += len + (at[len] == ',' ? 1 : 0);
    }
    return NULL;
}

static bool is_own_address(const char *host, int port)
{
    struct addrinfo *found = look_up(host, port, 0);
    struct ifaddrs *all = NULL;
    bool own = false;
    (void)getifaddrs(&all);
    for (const struct addrinfo *at = found; at != NULL; at = at->ai_next)
        for (const struct ifaddrs *one = all; one != NULL && !own; one = one->ifa_next) {
            if (one->ifa_addr == NULL || one->ifa_addr->sa_family != at->ai_family)
                continue;
            if (at->ai_family == AF_INET)
                own = memcmp(&((const struct sockaddr_in *)(const void *)one->ifa_addr)->sin_addr,
                             &((const struct sockaddr_in *)(const void *)at->ai_addr)->sin_addr,
                             sizeof(struct in_addr)) == 0;
            else if (at->ai_family == AF_INET6)
                own = memcmp(&((const struct sockaddr_in6 *)(const void *)one->ifa_addr)->sin6_addr,
                             &((const struct sockaddr_in6 *)(const void *)at->ai_addr)->sin6_addr,
                             sizeof(struct in6_addr)) == 0;
        }
    if (found != NULL)
        freeaddrinfo(found);
    freeifaddrs(all);
    return own;
}

static int read_endpoint(struct meet *meet)
{
    const struct options *o = meet->launcher->options;
    bool given = o->backend == BACKEND_STATIC;
    const char *colon = strrchr(o->endpoint, ':');
    int64_t port = given ? o->master_port : C10D_PORT;
    size_t len = colon != NULL ? (size_t)(colon - o->endpoint) : strlen(o->endpoint);
    if (*o->endpoint == '\0' && !given) {
        log_error("--rdzv-backend c10d on several nodes needs --rdzv-endpoint HOST:PORT");
        return STATUS_INVALID;
    }
    if (colon != NULL && text_parse_i64(colon + 1, 1, 65534, &port) != 0) {
        log_error("--rdzv-endpoint has to be HOST:PORT endpoint=%s", o->endpoint);
        return STATUS_INVALID;
    }
    autofree char *agent_port = conf_of(o, "agent_port"), *is_host = conf_of(o, "is_host");
    meet->master_port = (int)port;
    meet->port = (int)port + (given ? 1 : 0);
    if (agent_port != NULL && text_parse_i64(agent_port, 1, 65535, &port) == 0)
        meet->port = (int)port;
    if (*o->endpoint == '\0')
        text_copy_cut(meet->host_name, sizeof(meet->host_name), o->master_addr);
    else if (text_copy_bytes(meet->host_name, sizeof(meet->host_name), o->endpoint, len) != 0)
        return STATUS_INVALID;
    meet->hosts = given             ? o->node_rank == 0
                  : is_host != NULL ? strcmp(is_host, "1") == 0 || strcmp(is_host, "true") == 0
                                    : is_own_address(meet->host_name, meet->port);
    return 0;
}

int meet_open(struct launcher *launcher, void (*finish)(struct launcher *launcher, int exit_code),
              struct meet **ret_meet)
{
    const struct options *o = launcher->options;
    struct meet *meet = own_calloc(1, sizeof(*meet));
    const char *why;
    meet->launcher = launcher;
    meet->finish = finish;
    meet->listener.fd = -1;
    launcher->on_over = on_over;
    int rc = read_endpoint(meet);
    autofree char *call = conf_of(o, "last_call_timeout");
    int64_t seconds = LAST_CALL_MS / MS_PER_S;
    if (call != NULL)
        (void)text_parse_i64(call, 0, 86400, &seconds);
    meet->host = (struct host){.nodes_min = o->nodes_min,
                               .nodes_max = o->nodes_max,
                               .ranked = o->backend == BACKEND_STATIC,
                               .max_restarts = o->max_restarts,
                               .last_call_ms = seconds * MS_PER_S,
                               .start = on_start,
                               .stop = on_stop,
                               .end = on_end,
                               .arg = meet};
    *ret_meet = launcher->meet = meet;
    if (rc == 0 && meet->hosts) {
        rc = open_listener(meet);
        meet->own.node_rank = 0;
        if (rc == 0)
            rc = host_join(&meet->host, &meet->own, now_ms(), &why);
    } else if (rc == 0) {
        meet->give_up_at_ms = now_ms() + JOIN_MS;
        meet->connect_at_ms = now_ms();
    }
    return rc;
}

void meet_close(struct meet *meet)
{
    if (meet == NULL)
        return;
    while (meet->connections != NULL)
        connection_free(meet->connections);
    loop_remove(&meet->launcher->loop, &meet->listener);
    if (meet->listener.fd >= 0)
        close(meet->listener.fd);
    free(meet);
}

int64_t meet_due_ms(const struct meet *meet)
{
    if (meet->hosts)
        return host_due_ms(&meet->host);
    return meet->connect_at_ms != 0 ? meet->connect_at_ms : INT64_MAX;
}

void meet_tick(struct meet *meet, int64_t now)
{
    if (meet->hosts) {
        host_tick(&meet->host, now);
    } else if (meet->connect_at_ms != 0 && now >= meet->connect_at_ms) {
        try_connect(meet);
        if (meet->connect_at_ms != 0 && now >= meet->give_up_at_ms)
            finish_here(meet, false, "NodesMissing", "The hprun that gathers the nodes is not reached.", 0);
    }
}
