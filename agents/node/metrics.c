/*
 * A minimal HTTP server. A request is read up to the empty line and answered once. A slow client or a long request is
 * disconnected. The numbers are those of each check's last run, so a request causes no measurement.
 */
#include "agents/node/metrics.h"

#include "agents/node/metric_help.h"
#include "base/clock.h"
#include "base/status.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define REQUEST_BYTES_MAX 4096
#define CLIENT_MS 5000
#define QUESTION "GET /metrics "

struct client {
    int fd; /* -1: free */
    char request[REQUEST_BYTES_MAX];
    size_t len, sent;
    struct text answer;
    int64_t until;
};

struct row {
    const struct check *check;
    enum check_result result;
    size_t found;
    struct check_measure *measures;
    size_t count;
};

struct metrics {
    int fd;
    struct client clients[METRICS_CLIENTS_MAX];
    struct row *rows;
    size_t count;
};

/* --- made and freed ------------------------------------------------------------------------------------------ */

/* "[::1]". Cuts the bracket off. */
static bool read_v6(char *host, struct in6_addr *ret_address)
{
    size_t len = strlen(host);
    if (len < 2 || host[0] != '[' || host[len - 1] != ']')
        return false;
    host[len - 1] = '\0';
    return inet_pton(AF_INET6, host + 1, ret_address) == 1;
}

/* A host name is refused: where it leads may change under the agent. */
static int parse_address(const char *address, struct sockaddr_storage *ret_address, socklen_t *ret_len)
{
    char host[64];
    int64_t port;
    const char *colon = strrchr(address, ':');
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
    if (colon == NULL || text_parse_i64(colon + 1, 0, UINT16_MAX, &port) != 0 ||
        text_copy_bytes(host, sizeof(host), address, (size_t)(colon - address)) != 0)
        return STATUS_INVALID;
    memset(ret_address, 0, sizeof(*ret_address));
    if (read_v6(host, &v6.sin6_addr)) {
        v6.sin6_port = htons((uint16_t)port);
        memcpy(ret_address, &v6, sizeof(v6));
        *ret_len = sizeof(v6);
        return 0;
    }
    if (inet_pton(AF_INET, host, &v4.sin_addr) != 1)
        return STATUS_INVALID;
    v4.sin_port = htons((uint16_t)port);
    memcpy(ret_address, &v4, sizeof(v4));
    *ret_len = sizeof(v4);
    return 0;
}

int metrics_open(const char *address, struct metrics **ret_metrics)
{
    struct sockaddr_storage at;
    socklen_t len;
    int status = parse_address(address, &at, &len), yes = 1;
    if (status != 0)
        return status;
    int fd = socket(at.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) != 0 ||
        bind(fd, (const struct sockaddr *)&at, len) != 0 || listen(fd, METRICS_CLIENTS_MAX) != 0) {
        if (fd >= 0)
            close(fd);
        return STATUS_IO;
    }
    struct metrics *metrics = own_calloc(1, sizeof(*metrics));
    metrics->fd = fd;
    for (size_t i = 0; i < METRICS_CLIENTS_MAX; i++)
        metrics->clients[i].fd = -1;
    *ret_metrics = metrics;
    return 0;
}

static void hang_up(struct client *client)
{
    if (client->fd >= 0)
        close(client->fd);
    text_free(&client->answer);
    *client = (struct client){.fd = -1};
}

void metrics_free(struct metrics *metrics)
{
    if (metrics == NULL)
        return;
    close(metrics->fd);
    for (size_t i = 0; i < METRICS_CLIENTS_MAX; i++)
        hang_up(&metrics->clients[i]);
    for (size_t i = 0; i < metrics->count; i++)
        free(metrics->rows[i].measures);
    free(metrics->rows);
    free(metrics);
}

int metrics_port(const struct metrics *metrics)
{
    struct sockaddr_storage at = {0};
    socklen_t len = sizeof(at);
    struct sockaddr_in v4;
    if (getsockname(metrics->fd, (struct sockaddr *)&at, &len) != 0)
        return 0;
    memcpy(&v4, &at, sizeof(v4)); /* the port is at the same place in both */
    return ntohs(v4.sin_port);
}

/* --- what there is to tell ----------------------------------------------------------------------------------- */

static int by_metric(const void *left, const void *right)
{
    const struct check_measure *a = left, *b = right;
    int order = strcmp(a->metric, b->metric);
    return order != 0 ? order : strcmp(a->labels, b->labels);
}

void metrics_note(struct metrics *metrics, const struct check *check, const struct check_report *report)
{
    struct row *row = NULL;
    for (size_t i = 0; i < metrics->count; i++)
        if (metrics->rows[i].check == check)
            row = &metrics->rows[i];
    if (row == NULL) {
        metrics->rows = own_realloc(metrics->rows, metrics->count + 1, sizeof(*metrics->rows));
        row = &metrics->rows[metrics->count++];
        *row = (struct row){.check = check};
    }
    free(row->measures);
    row->result = report->result;
    row->found = report->observation_count;
    row->count = report->measure_count;
    row->measures = own_calloc(row->count + 1, sizeof(*row->measures));
    if (row->count > 0)
        memcpy(row->measures, report->measures, row->count * sizeof(*row->measures));
    qsort(row->measures, row->count, sizeof(*row->measures), by_metric);
}

void metrics_forget(struct metrics *metrics, bool (*is_run)(const char *name, void *arg), void *arg)
{
    size_t kept = 0;
    for (size_t i = 0; i < metrics->count; i++) {
        if (is_run(metrics->rows[i].check->name, arg))
            metrics->rows[kept++] = metrics->rows[i];
        else
            free(metrics->rows[i].measures);
    }
    metrics->count = kept;
}

static void write_head(struct text *out, const char *metric)
{
    const struct metric_help *help = metric_help(metric);
    text_printf(out, "# HELP %s %s\n# TYPE %s %s\n", metric, help != NULL ? help->help : "Measured by a check", metric,
                help != NULL ? help->type : "untyped");
}

void metrics_write(const struct metrics *metrics, struct text *out)
{
    if (metrics->count > 0)
        write_head(out, "holdfast_check_result");
    for (size_t i = 0; i < metrics->count; i++)
        text_printf(out, "holdfast_check_result{check=\"%s\",result=\"%s\"} 1\n", metrics->rows[i].check->name,
                    check_result_text(metrics->rows[i].result));
    if (metrics->count > 0)
        write_head(out, "holdfast_check_found");
    for (size_t i = 0; i < metrics->count; i++)
        text_printf(out, "holdfast_check_found{check=\"%s\"} %zu\n", metrics->rows[i].check->name,
                    metrics->rows[i].found);
    for (size_t i = 0; i < metrics->count; i++)
        for (size_t k = 0; k < metrics->rows[i].count; k++) {
            const struct check_measure *measure = &metrics->rows[i].measures[k];
            if (k == 0 || strcmp(measure[-1].metric, measure->metric) != 0)
                write_head(out, measure->metric);
            bool labels = measure->labels[0] != '\0';
            text_printf(out, "%s%s%s%s %.17g\n", measure->metric, labels ? "{" : "", measure->labels, labels ? "}" : "",
                        measure->value);
        }
}

/* --- clients ------------------------------------------------------------------------------------------------- */

static void answer(const struct metrics *metrics, struct client *client)
{
    AUTO(text) struct text body = {0};
    bool asked = text_starts_with(client->request, QUESTION);
    if (asked)
        metrics_write(metrics, &body);
    else
        text_add(&body, "There is /metrics, and nothing else.\n");
    text_printf(&client->answer,
                "HTTP/1.1 %s\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nContent-Length: %zu\r\n"
                "Connection: close\r\n\r\n%s",
                asked ? "200 OK" : "404 Not Found", body.len, text_get(&body));
}

static void hear(const struct metrics *metrics, struct client *client)
{
    ssize_t n = read(client->fd, client->request + client->len, sizeof(client->request) - 1 - client->len);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        hang_up(client);
        return;
    }
    client->len += (size_t)n;
    client->request[client->len] = '\0';
    if (strstr(client->request, "\r\n\r\n") != NULL)
        answer(metrics, client);
    else if (client->len + 1 == sizeof(client->request))
        hang_up(client);
}

static void tell(struct client *client)
{
    ssize_t n = send(client->fd, client->answer.data + client->sent, client->answer.len - client->sent, MSG_NOSIGNAL);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    client->sent += n > 0 ? (size_t)n : 0;
    if (n <= 0 || client->sent == client->answer.len)
        hang_up(client);
}

static struct client *free_client(struct metrics *metrics)
{
    for (size_t i = 0; i < METRICS_CLIENTS_MAX; i++)
        if (metrics->clients[i].fd < 0)
            return &metrics->clients[i];
    return NULL;
}

void metrics_turn(struct metrics *metrics)
{
    int64_t now = clock_mono_ms(clock_system());
    struct client *client;
    while ((client = free_client(metrics)) != NULL) {
        int fd = accept4(metrics->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0)
            break;
        *client = (struct client){.fd = fd, .until = now + CLIENT_MS};
    }
    for (size_t i = 0; i < METRICS_CLIENTS_MAX; i++) {
        client = &metrics->clients[i];
        if (client->fd >= 0 && client->answer.len == 0)
            hear(metrics, client);
        if (client->fd >= 0 && client->answer.len > 0)
            tell(client);
        if (client->fd >= 0 && now >= client->until)
            hang_up(client);
    }
}

size_t metrics_fds(const struct metrics *metrics, struct pollfd ret_fds[METRICS_FDS_MAX])
{
    size_t count = 0;
    for (size_t i = 0; i < METRICS_CLIENTS_MAX; i++)
        if (metrics->clients[i].fd >= 0)
            ret_fds[count++] = (struct pollfd){.fd = metrics->clients[i].fd,
                                               .events = metrics->clients[i].answer.len > 0 ? POLLOUT : POLLIN};
    if (count < METRICS_CLIENTS_MAX) /* further clients wait in the backlog of the kernel */
        ret_fds[count++] = (struct pollfd){.fd = metrics->fd, .events = POLLIN};
    return count;
}

int64_t metrics_due_ms(const struct metrics *metrics)
{
    int64_t due = INT64_MAX;
    for (size_t i = 0; i < METRICS_CLIENTS_MAX; i++)
        if (metrics->clients[i].fd >= 0 && metrics->clients[i].until < due)
            due = metrics->clients[i].until;
    return due;
}
