/*
 * Connections are accepted and read in the loop; memory of each is bounded. A message that cannot be read closes its connection; one
 * that is unknown, or comes from a rank that cannot be, is left out.
 */
#include "agents/launcher/socket.h"

#include "agents/launcher/checkpoint.h"
#include "base/json.h"
#include "base/log.h"
#include "base/status.h"
#include "base/text.h"

#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define MESSAGE_BYTES_MAX (1 << 20)
#define CLIENTS_A_RANK 8
#define PREFIX_BYTES 4
#define READ_BYTES 16384

struct client {
    struct socket_server *server;
    struct source source;
    struct text bytes;
    struct client *next;
};

struct socket_server {
    struct launcher *launcher;
    struct source source;
    char path[sizeof(((struct sockaddr_un *)NULL)->sun_path)];
    struct client *clients;
    int client_count;
    struct checkpoints checkpoints;
    json_t *progress, *labels, *data; /* data: by local rank */
};

/* --- replies ------------------------------------------------------------------------------------------ */

static void reply(struct client *client, const char *type, const char *id, json_t *body)
{
    json_object_set_new(body, "type", json_string(type));
    json_object_set_new(body, "client_id", json_string(id));
    autofree char *text = json_dumps(body, JSON_COMPACT);
    json_decref(body);
    size_t len = text != NULL ? strlen(text) : 0;
    uint32_t prefix = htonl((uint32_t)len);
    /* Both fit into an empty socket; a worker that reads none of its replies loses them. */
    if (text != NULL && send(client->source.fd, &prefix, sizeof(prefix), MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof(prefix))
        (void)!send(client->source.fd, text, len, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* --- messages ----------------------------------------------------------------------------------------- */

struct message {
    struct client *client;
    struct socket_server *server;
    json_t *body;
    const char *id;
    int rank; /* local */
};

static void take_announcement(struct message *m)
{
    struct socket_server *server = m->server;
    const char *prefix = json_member_text(m->body, "prefix"), *name;
    int64_t wanted[CHECKPOINT_TYPES];
    bool same = strcmp(server->checkpoints.prefix, prefix) == 0;
    json_t *types = json_object_get(m->body, "checkpoint_types"), *count;
    for (int i = 0; i < CHECKPOINT_TYPES; i++)
        wanted[i] = same ? server->checkpoints.wanted[i] : -1;
    json_object_foreach(types, name, count)
    {
        int type;
        if (checkpoint_type_parse(name, &type) == 0 && json_is_integer(count))
            wanted[type] = json_integer_value(count);
    }
    checkpoints_announce(&server->checkpoints, prefix, wanted);
    json_t *agreed = json_object_get(server->progress, prefix);
    json_t *step = json_object_get(agreed, "progressCount");
    if (agreed == NULL || server->checkpoints.has_complete)
        return;
    server->checkpoints.has_complete = true;
    server->checkpoints.complete_step =
        json_is_string(step) ? strtoll(json_string_value(step), NULL, 10) : json_integer_value(step);
    text_copy_cut(server->checkpoints.complete_path, sizeof(server->checkpoints.complete_path),
                  json_member_text(agreed, "progressData"));
}

static void take_checkpoint(struct message *m)
{
    int type;
    json_t *step = json_object_get(m->body, "step");
    if (checkpoint_type_parse(json_member_text(m->body, "checkpoint_type"), &type) == 0 && json_is_integer(step))
        (void)checkpoints_written(&m->server->checkpoints, json_integer_value(step), json_member_text(m->body, "path"),
                                  type, m->rank);
}

static void take_question(struct message *m)
{
    const struct checkpoints *checkpoints = &m->server->checkpoints;
    json_t *body = json_object();
    json_object_set_new(body, "path",
                        checkpoints->has_complete ? json_string(checkpoints->complete_path) : json_null());
    reply(m->client, "ckpt_info_get", m->id, body);
}

static void take_heartbeat(struct message *m)
{
    struct heartbeat *heartbeat = &m->server->launcher->heartbeats[m->rank];
    json_t *step = json_object_get(m->body, "step"), *loss = json_object_get(m->body, "loss");
    heartbeat->at_ms = clock_wall_ms(clock_system());
    if (json_is_integer(step)) {
        heartbeat->has_step = true;
        heartbeat->step = json_integer_value(step);
    }
    if (json_is_number(loss)) {
        heartbeat->has_loss = true;
        heartbeat->loss = json_number_value(loss);
    } else if (json_is_string(loss)) { /* JSON has no NaN */
        heartbeat->has_loss = rule_value(json_string_value(loss), json_string_length(loss), &heartbeat->loss);
    }
    if (*json_member_text(m->body, "checkpoint") != '\0')
        text_copy_cut(heartbeat->checkpoint, sizeof(heartbeat->checkpoint), json_member_text(m->body, "checkpoint"));
}

static void take_fault(struct message *m)
{
    const char *reason = json_member_text(m->body, "reason"), *message = json_member_text(m->body, "message");
    char clean[256], said[1024];
    text_copy_clean(clean, sizeof(clean), reason, strlen(reason));
    text_copy_clean(said, sizeof(said), message, strlen(message));
    autofree char *sentence =
        own_printf("Local rank %d reported a fault%s%s", m->rank, *said == '\0' ? "." : ": ", said);
    launcher_fault(m->server->launcher, *clean == '\0' ? "WorkerReportedFault" : clean, sentence);
}

static void take_data(struct message *m)
{
    json_t *rank = json_object_get(m->body, "rank"), *data = json_object_get(m->body, "data");
    const struct place *place = &m->server->launcher->place;
    char key[16];
    if (data == NULL || !json_is_integer(rank))
        return;
    json_t *entry = json_object();
    json_object_set(entry, "rank", rank);
    json_object_set_new(entry, "group_rank", json_integer(place->rank));
    json_object_set_new(entry, "local_rank", json_integer(m->rank));
    json_object_set_new(entry, "failed", json_false());
    json_object_set(entry, "data", data);
    snprintf(key, sizeof(key), "%d", m->rank);
    if (m->server->data == NULL)
        m->server->data = json_object();
    json_object_set_new(m->server->data, key, entry);
}

static void take_labels(struct message *m)
{
    json_t *labels = json_object_get(m->body, "labels");
    if (!json_is_object(labels))
        return;
    json_decref(m->server->labels);
    m->server->labels = json_incref(labels);
}

static const struct {
    const char *type;
    void (*take)(struct message *m);
} messages[] = {
    {"ckpt_init", take_announcement}, {"ckpt_info_update", take_checkpoint},
    {"ckpt_info_get", take_question}, {"heartbeat", take_heartbeat},
    {"job_fault", take_fault},        {"job_data", take_data},
    {"rank_labels", take_labels},
};

static bool take_message(struct client *client, const char *bytes, size_t len)
{
    char error[JSON_ERROR_MAX];
    AUTO(json) json_t *body = NULL;
    if (json_parse(bytes, len, MESSAGE_BYTES_MAX, &body, error) != 0 || !json_is_object(body))
        return false;
    json_t *rank = json_object_get(body, "local_rank");
    int64_t number = json_is_integer(rank) ? json_integer_value(rank) : -1;
    struct message message = {client, client->server, body, json_member_text(body, "client_id"), (int)number};
    if (number < 0 || number >= client->server->launcher->options->ranks)
        return true;
    for (size_t i = 0; i < ARRAY_LEN(messages); i++)
        if (strcmp(messages[i].type, json_member_text(body, "type")) == 0)
            messages[i].take(&message);
    return true;
}

/* False when the connection is no good. */
static bool take_messages(struct client *client)
{
    size_t at = 0;
    while (client->bytes.len - at >= PREFIX_BYTES) {
        uint32_t prefix;
        memcpy(&prefix, client->bytes.data + at, sizeof(prefix));
        size_t len = ntohl(prefix);
        if (len > MESSAGE_BYTES_MAX)
            return false;
        if (client->bytes.len - at - PREFIX_BYTES < len)
            break;
        if (!take_message(client, client->bytes.data + at + PREFIX_BYTES, len))
            return false;
        at += PREFIX_BYTES + len;
    }
    if (at > 0) {
        client->bytes.len -= at;
        memmove(client->bytes.data, client->bytes.data + at, client->bytes.len);
    }
    return true;
}

/* --- connections -------------------------------------------------------------------------------------- */

static void client_free(struct client *client)
{
    struct socket_server *server = client->server;
    struct client **at = &server->clients;
    while (*at != client)
        at = &(*at)->next;
    *at = client->next;
    server->client_count--;
    loop_remove(&server->launcher->loop, &client->source);
    close(client->source.fd);
    text_free(&client->bytes);
    free(client);
}

static void on_client(void *arg, uint32_t events)
{
    struct client *client = arg;
    char bytes[READ_BYTES];
    (void)events;
    ssize_t n = recv(client->source.fd, bytes, sizeof(bytes), MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n > 0)
        text_add_bytes(&client->bytes, bytes, (size_t)n);
    if (n <= 0 || !take_messages(client))
        client_free(client);
}

static void on_connection(void *arg, uint32_t events)
{
    struct socket_server *server = arg;
    (void)events;
    int fd = accept4(server->source.fd, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0)
        return;
    if (server->client_count >= server->launcher->options->ranks * CLIENTS_A_RANK) {
        close(fd);
        return;
    }
    struct client *client = own_calloc(1, sizeof(*client));
    client->server = server;
    client->source = (struct source){fd, on_client, client};
    client->next = server->clients;
    server->clients = client;
    server->client_count++;
    if (loop_add(&server->launcher->loop, &client->source, EPOLLIN) != 0)
        client_free(client);
}

static int bind_to(struct socket_server *server)
{
    const char *tmp = getenv("TMPDIR");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int len = snprintf(server->path, sizeof(server->path), "%s/hyperpod_elastic_agent_%d.sock",
                       tmp != NULL && *tmp != '\0' ? tmp : "/tmp", (int)getpid());
    if (len < 0 || (size_t)len >= sizeof(server->path)) {
        errno = ENAMETOOLONG;
        return STATUS_IO;
    }
    memcpy(address.sun_path, server->path, sizeof(address.sun_path));
    server->source.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    unlink(server->path);
    mode_t before = umask(S_IRWXG | S_IRWXO);
    int rc = bind(server->source.fd, (const struct sockaddr *)&address, sizeof(address));
    umask(before);
    return rc == 0 && listen(server->source.fd, SOMAXCONN) == 0 ? 0 : STATUS_IO;
}

int socket_open(struct launcher *launcher, struct socket_server **ret_server)
{
    struct socket_server *server = own_calloc(1, sizeof(*server));
    server->launcher = launcher;
    server->source = (struct source){-1, on_connection, server};
    if (bind_to(server) != 0 || loop_add(&launcher->loop, &server->source, EPOLLIN) != 0) {
        log_error("cannot open the workers' socket path=%s error=\"%s\"", server->path, strerrordesc_np(errno));
        if (server->source.fd >= 0)
            close(server->source.fd);
        free(server);
        return STATUS_IO;
    }
    *ret_server = server;
    return 0;
}

void socket_close(struct socket_server *server)
{
    if (server == NULL)
        return;
    while (server->clients != NULL)
        client_free(server->clients);
    loop_remove(&server->launcher->loop, &server->source);
    close(server->source.fd);
    unlink(server->path);
    checkpoints_free(&server->checkpoints);
    json_decref(server->progress);
    json_decref(server->labels);
    json_decref(server->data);
    free(server);
}

const char *socket_path(const struct socket_server *server)
{
    return server->path;
}

/* --- for the operator --------------------------------------------------------------------------------- */

void socket_forget(struct socket_server *server)
{
    json_decref(TAKE(server->labels));
    json_decref(TAKE(server->data));
}

void socket_set_progress(struct socket_server *server, const json_t *progress)
{
    json_decref(server->progress);
    server->progress = json_deep_copy(progress);
    server->checkpoints.has_complete = false;
}

void socket_describe(const struct socket_server *server, json_t *status)
{
    const struct checkpoints *checkpoints = &server->checkpoints;
    const char *rank;
    json_t *entry;
    if (checkpoints->has_complete) {
        json_t *progress = json_object(), *one = json_object();
        json_object_set_new(one, "progressData", json_string(checkpoints->complete_path));
        json_object_set_new(one, "progressCount", json_integer(checkpoints->complete_step));
        json_object_set_new(progress, checkpoints->prefix, one);
        json_object_set_new(status, "progress", progress);
    }
    if (server->labels != NULL)
        json_object_set(status, "rank_labels", server->labels);
    if (server->data == NULL)
        return;
    json_t *list = json_array();
    json_object_foreach(server->data, rank, entry) json_array_append(list, entry);
    json_object_set_new(status, "worker_data", list);
}
