/*
 * The load generator: many kept connections from one thread, each in lock step (one request at a time), speaking
 * the agents' real protocol, or a plain GET or an etcd put for comparison.
 *
 *   load --port P --mode heartbeat|verdict|get|etcd|aws [--connections C] [--seconds S] [--nodes FILE [--walk]] [--rate R]
 *        [--bytes B] [--xid 43|79] [--path / [--token TOKEN]] [--pid PID] [--target NAME --input JSON --key ID --secret S]
 *
 * FILE has a line per node: row, secret, instance id, boot id. A connection is one node's agent; with --walk each request
 * is another node's, scattered over all of them, so that few connections speak for a large fleet. With --rate the requests are spread evenly and
 * latency counts from the moment a request was due, so a stalled server cannot hide behind a waiting client. --pid
 * measures the server's processor time as well. Prints one JSON line.
 */
#include "bench/message.h"

#include "base/clock.h"
#include "base/own.h"
#include "base/text.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define REPLY_BYTES_MAX 2048
#define LATENCY_US_MAX 4000000 /* longer ones count as this */
#define EVENTS_PER_WAIT 256
#define US_PER_S 1000000

struct connection {
    int fd;
    bool busy;
    const struct message_node *node;
    int64_t due_us; /* when the request in flight was due */
    size_t sent, len, got;
    char request[MESSAGE_BYTES_MAX], reply[REPLY_BYTES_MAX];
};

struct load {
    struct message_options message;
    int port, connections, pid;
    bool walk;
    double seconds, rate;
    const char *nodes_path;
    struct message_node *nodes;
    size_t node_count, next_node, stride;
    struct connection *all;
    int epoll;
    int64_t seq;
    uint64_t done, errors;
    size_t body_bytes; /* of the last reply */
    uint32_t *latency; /* by microsecond */
};

static _Noreturn void die(const char *what)
{
    fprintf(stderr, "load: %s: %s\n", what, strerror(errno));
    exit(1);
}

/* --- agents ---------------------------------------------------------------------------------------- */

static void read_nodes(struct load *load)
{
    FILE *f = fopen(load->nodes_path, "re");
    if (f == NULL)
        die(load->nodes_path);
    struct message_node node;
    size_t room = 0;
    while (fscanf(f, "%" SCNd64 " %63s %31s %47s", &node.row, node.secret, node.instance, node.boot) == 4) {
        if (load->node_count == room) {
            room = room == 0 ? 1024 : room * 2;
            load->nodes = own_realloc(load->nodes, room, sizeof(*load->nodes));
        }
        load->nodes[load->node_count++] = node;
    }
    fclose(f);
}

/* A step by which all nodes are visited once before any comes again, in no order that an index would like. */
static size_t stride_of(size_t count)
{
    size_t stride = count * 618 / 1000 + 1;
    for (;; stride++) {
        size_t a = stride, b = count;
        while (b != 0) {
            size_t rest = a % b;
            a = b;
            b = rest;
        }
        if (a == 1)
            return stride;
    }
}

/* --- one request ----------------------------------------------------------------------------------- */

static void push(struct connection *c)
{
    while (c->sent < c->len) {
        ssize_t n = send(c->fd, c->request + c->sent, c->len - c->sent, MSG_NOSIGNAL);
        if (n < 0 && errno == EAGAIN)
            return;
        if (n <= 0)
            die("send");
        c->sent += (size_t)n;
    }
}

static void begin(struct load *load, struct connection *c, int64_t due_us)
{
    const struct message_node *node = load->walk ? &load->nodes[load->next_node] : c->node;
    if (load->walk)
        load->next_node = (load->next_node + load->stride) % load->node_count;
    c->len = message_write(&load->message, node, ++load->seq, c->request);
    c->sent = c->got = 0;
    c->busy = true;
    c->due_us = due_us;
    push(c);
}

/* The bytes of the body that the header announces. Content-Length only: that is all that the servers here send. */
static size_t content_length(const char *head, const char *end)
{
    static const char name[] = "\r\ncontent-length:";
    for (const char *line = head; line < end; line = memchr(line + 2, '\r', (size_t)(end - line)))
        if ((line[2] | 0x20) == 'c' && strncasecmp(line, name, sizeof(name) - 1) == 0)
            return (size_t)strtoul(line + sizeof(name) - 1, NULL, 10);
    return 0;
}

/* 0 while bytes are missing, else the status. */
static int status_of(struct load *load, const struct connection *c)
{
    size_t kept = c->got < sizeof(c->reply) - 1 ? c->got : sizeof(c->reply) - 1;
    const char *end = memmem(c->reply, kept, "\r\n\r\n", 4);
    const char *head = end == NULL ? NULL : memchr(c->reply, '\r', kept);
    if (head != NULL)
        load->body_bytes = content_length(head, end);
    if (head == NULL || c->got < (size_t)(end - c->reply) + 4 + load->body_bytes)
        return 0;
    return (int)strtol(c->reply + sizeof("HTTP/1.1"), NULL, 10);
}

static void count(struct load *load, struct connection *c, int status)
{
    int64_t took = clock_stopwatch_us() - c->due_us;
    load->latency[took < 0 ? 0 : took > LATENCY_US_MAX ? LATENCY_US_MAX : took]++;
    load->done++;
    c->busy = false;
    if (status != 200 && load->errors++ == 0)
        fprintf(stderr, "load: first error: %s\n", c->reply);
}

/* Of a long reply only the beginning is kept. */
static ssize_t receive(struct connection *c)
{
    static char rest[64 * 1024];
    size_t room = sizeof(c->reply) - 1;
    if (c->got >= room)
        return recv(c->fd, rest, sizeof(rest), 0);
    struct iovec parts[] = {{c->reply + c->got, room - c->got}, {rest, sizeof(rest)}};
    return readv(c->fd, parts, 2);
}

static void pull(struct load *load, struct connection *c)
{
    while (c->busy) {
        ssize_t n = receive(c);
        if (n < 0 && errno == EAGAIN)
            return;
        if (n == 0)
            errno = ECONNRESET;
        if (n <= 0)
            die("recv");
        c->got += (size_t)n;
        c->reply[c->got < sizeof(c->reply) - 1 ? c->got : sizeof(c->reply) - 1] = '\0';
        int status = status_of(load, c);
        if (status != 0)
            count(load, c, status);
    }
}

/* --- the run --------------------------------------------------------------------------------------- */

static void connect_all(struct load *load)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)load->port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    load->epoll = epoll_create1(EPOLL_CLOEXEC);
    load->all = own_calloc((size_t)load->connections, sizeof(*load->all));
    for (int i = 0; i < load->connections; i++) {
        struct connection *c = &load->all[i];
        int on = 1;
        c->node = load->node_count > 0 ? &load->nodes[(size_t)i % load->node_count] : NULL;
        c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&to, sizeof(to)) != 0)
            die("connect");
        setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        fcntl(c->fd, F_SETFL, O_NONBLOCK);
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
        epoll_ctl(load->epoll, EPOLL_CTL_ADD, c->fd, &event);
    }
}

/* With a rate: starts what is due on connections that are free. Returns when the next one is due. */
static int64_t start_due(struct load *load, int64_t start_us, uint64_t *started, int *at)
{
    double interval_us = US_PER_S / load->rate;
    int64_t now = clock_stopwatch_us();
    for (int tried = 0; tried < load->connections;) {
        int64_t due = start_us + (int64_t)((double)*started * interval_us);
        if (due > now)
            return due;
        struct connection *c = &load->all[(*at)++ % load->connections];
        tried++;
        if (!c->busy) {
            begin(load, c, due);
            (*started)++;
            tried = 0;
        }
    }
    return now + 1000; /* all busy */
}

static int wait_for(struct load *load, struct epoll_event *events, int64_t until_us)
{
    int64_t us = until_us - clock_stopwatch_us();
    struct timespec wait = {.tv_sec = us > 0 ? us / US_PER_S : 0, .tv_nsec = us > 0 ? us % US_PER_S * 1000 : 0};
    return epoll_pwait2(load->epoll, events, EVENTS_PER_WAIT, &wait, NULL);
}

static void run(struct load *load)
{
    struct epoll_event events[EVENTS_PER_WAIT];
    int64_t start = clock_stopwatch_us(), end = start + (int64_t)(load->seconds * US_PER_S);
    uint64_t started = 0;
    int at = 0;
    for (int i = 0; load->rate <= 0 && i < load->connections; i++)
        begin(load, &load->all[i], clock_stopwatch_us());
    for (int64_t now = start; now < end; now = clock_stopwatch_us()) {
        int64_t next = load->rate > 0 ? start_due(load, start, &started, &at) : end;
        int n = wait_for(load, events, next < end ? next : end);
        for (int i = 0; i < n; i++) {
            struct connection *c = events[i].data.ptr;
            pull(load, c);
            if (!c->busy && load->rate <= 0)
                begin(load, c, clock_stopwatch_us());
            else if (c->busy)
                push(c);
        }
    }
    load->seconds = (double)(clock_stopwatch_us() - start) / US_PER_S;
}

/* --- what came of it ------------------------------------------------------------------------------- */

static double percentile_ms(const struct load *load, double p)
{
    uint64_t want = (uint64_t)((double)load->done * p), seen = 0;
    for (int us = 0; us <= LATENCY_US_MAX; us++) {
        seen += load->latency[us];
        if (seen > want)
            return us / 1e3;
    }
    return 0;
}

/* Processor time of the server so far, in ticks of 10 ms. */
static double server_cpu_us(const struct load *load)
{
    char path[64], line[1024];
    unsigned long user, system;
    if (load->pid == 0)
        return 0;
    snprintf(path, sizeof(path), "/proc/%d/stat", load->pid);
    FILE *f = fopen(path, "re");
    const char *rest = f != NULL && fgets(line, sizeof(line), f) != NULL ? strrchr(line, ')') : NULL;
    if (rest == NULL || sscanf(rest, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system) != 2)
        die(path);
    fclose(f);
    return (double)(user + system) * US_PER_S / (double)sysconf(_SC_CLK_TCK);
}

static void report(const struct load *load, double cpu_us)
{
    printf("{\"requests\":%" PRIu64 ",\"seconds\":%.3f,\"perSecond\":%.0f,\"errors\":%" PRIu64
           ",\"p50Ms\":%.3f,\"p99Ms\":%.3f,\"maxMs\":%.3f,\"serverUs\":%.2f,\"bodyBytes\":%zu}\n",
           load->done, load->seconds, (double)load->done / load->seconds, load->errors, percentile_ms(load, 0.5),
           percentile_ms(load, 0.99), percentile_ms(load, 0.999999), load->done > 0 ? cpu_us / (double)load->done : 0,
           load->body_bytes);
}

/* --- options --------------------------------------------------------------------------------------- */

static int number(const char *text)
{
    int64_t value;
    if (text_parse_i64(text, 1, 10000000, &value) != 0) {
        fprintf(stderr, "load: not a number: %s\n", text);
        exit(2);
    }
    return (int)value;
}

static enum message_kind mode(const char *text)
{
    static const char *const modes[] = {"heartbeat", "verdict", "get", "etcd", "aws"};
    for (size_t i = 0; i < ARRAY_LEN(modes); i++)
        if (text_equal(modes[i], text))
            return (enum message_kind)i;
    fprintf(stderr, "load: no such mode: %s\n", text);
    exit(2);
}

static const char **text_option(struct load *load, int o)
{
    switch (o) {
    case 'u':
        return &load->message.path;
    case 't':
        return &load->message.token;
    case 'a':
        return &load->message.target;
    case 'd':
        return &load->message.input;
    case 'k':
        return &load->message.access_key;
    case 'e':
        return &load->message.secret;
    default:
        return NULL;
    }
}

static void options(struct load *load, int argc, char **argv)
{
    static const struct option list[] = {
        {"port", 1, NULL, 'p'},   {"mode", 1, NULL, 'm'},  {"connections", 1, NULL, 'c'}, {"seconds", 1, NULL, 's'},
        {"nodes", 1, NULL, 'n'},  {"walk", 0, NULL, 'w'},  {"rate", 1, NULL, 'r'},        {"bytes", 1, NULL, 'b'},
        {"path", 1, NULL, 'u'},   {"xid", 1, NULL, 'x'},   {"pid", 1, NULL, 'i'},         {"token", 1, NULL, 't'},
        {"target", 1, NULL, 'a'}, {"input", 1, NULL, 'd'}, {"key", 1, NULL, 'k'},         {"secret", 1, NULL, 'e'},
        {NULL, 0, NULL, 0}};
    for (int o; (o = getopt_long(argc, argv, "", list, NULL)) != -1;) {
        if (o == 'p')
            load->port = number(optarg);
        else if (o == 'm')
            load->message.kind = mode(optarg);
        else if (o == 'c')
            load->connections = number(optarg);
        else if (o == 's')
            load->seconds = strtod(optarg, NULL);
        else if (o == 'n')
            load->nodes_path = optarg;
        else if (o == 'w')
            load->walk = true;
        else if (o == 'r')
            load->rate = strtod(optarg, NULL);
        else if (o == 'b')
            load->message.body_bytes = number(optarg);
        else if (o == 'x')
            load->message.xid = number(optarg);
        else if (o == 'i')
            load->pid = number(optarg);
        else if (text_option(load, o) != NULL)
            *text_option(load, o) = optarg;
        else
            exit(2);
    }
}

/* A connection for each agent: as many as the system lets us have. */
static void raise_limit(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0)
        return;
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
}

int main(int argc, char **argv)
{
    int64_t now_ms = clock_wall_ms(clock_system());
    struct load load = {.connections = 64,
                        .seconds = 5,
                        .message = {.body_bytes = 1000, .xid = 43, .path = "/", .run_id = (uint64_t)now_ms << 20},
                        .seq = now_ms * 1000}; /* above what an earlier run sent: nobody sends 1,000 in a millisecond */
    options(&load, argc, argv);
    load.message.run_id |= (uint64_t)getpid() & 0xfffff;
    if (load.nodes_path != NULL)
        read_nodes(&load);
    load.stride = load.node_count > 0 ? stride_of(load.node_count) : 0;
    bool agents = load.message.kind == MESSAGE_HEARTBEAT || load.message.kind == MESSAGE_VERDICT;
    if (load.port == 0 || ((agents || load.walk) && load.node_count == 0)) {
        fprintf(stderr, "load: --port and, for agents' messages, --nodes are needed\n");
        return 2;
    }
    raise_limit();
    load.latency = own_calloc(LATENCY_US_MAX + 1, sizeof(*load.latency));
    connect_all(&load);
    double cpu_us = server_cpu_us(&load);
    run(&load);
    report(&load, server_cpu_us(&load) - cpu_us);
    free(load.nodes);
    free(load.latency);
    free(load.all);
    return load.errors == 0 ? 0 : 1;
}
