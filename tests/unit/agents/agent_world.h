/*
 * A node and its server for tests of the whole agent: the server is scripted, in a thread of its own; the node is a
 * directory with a log, a boot id and a token. Fields that the server's thread uses are read and written by peek and
 * poke, or under the lock.
 */
#ifndef HOLDFAST_TESTS_UNIT_AGENTS_AGENT_WORLD_H
#define HOLDFAST_TESTS_UNIT_AGENTS_AGENT_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agents/node/agent.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/map.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"
#include "tests/support/fake_server.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_MS 30000 /* a test that waits this long has failed */
#define XID_79 "NVRM: Xid (PCI:0000:b9:00): 79, GPU has fallen off the bus.\n"
#define XID_48 "NVRM: Xid (PCI:0000:3b:00): 48, DBE\n"

/* How the scripted server behaves; answers of 0 mean 200. */
struct world {
    char dir[64];
    char *state_dir, *kmsg, *token, *boot;
    pthread_mutex_t lock;
    struct fake_server *server;
    int port;
    int enroll_status, heartbeat_status, report_status, machine_status;
    const char *problem; /* code of a refusal */
    const char *inject;  /* once */
    const char *poison;  /* a report with this in it is refused */
    int hold_heartbeats, half_reports;
    int enrolled, heartbeats, reports, refused_reports, machines, interval_ms;
    int64_t last_seq;
    int seq_went_back;
    struct map *delivered; /* key → struct delivery */
    char last_credential[64], last_boot[64], last_instance[64];
    int64_t last_spooled;
    int last_checks;
    char last_address[64]; /* "": the last heartbeat had none */
};

struct delivery {
    int times;
    int64_t count;             /* the largest, as the server keeps it */
    char boot[64], fault[128]; /* code and device */
};

static inline int peek(struct world *world, const int *field)
{
    pthread_mutex_lock(&world->lock);
    int value = *field;
    pthread_mutex_unlock(&world->lock);
    return value;
}

static inline void poke(struct world *world, int *field, int value)
{
    pthread_mutex_lock(&world->lock);
    *field = value;
    pthread_mutex_unlock(&world->lock);
}

/* From now on requests of both kinds are refused with this; 0: no longer. */
static inline void refuse_all(struct world *world, int status, const char *problem)
{
    pthread_mutex_lock(&world->lock);
    world->heartbeat_status = world->report_status = status;
    world->problem = problem;
    world->heartbeats = 0;
    pthread_mutex_unlock(&world->lock);
}

/* --- the server ---------------------------------------------------------------------------------------------- */

static inline void refuse(struct world *world, struct fake_answer *answer, int status)
{
    char body[200];
    snprintf(body, sizeof(body), "{\"type\":\"urn:holdfast:problem:%s\",\"title\":\"x\",\"status\":%d,\"code\":\"%s\"}",
             world->problem, status, world->problem);
    fake_answer_json(answer, world->server, status, body);
}

static inline void serve_enroll(struct world *world, json_t *body, struct fake_answer *answer)
{
    char reply[200];
    if (world->enroll_status != 0) {
        refuse(world, answer, world->enroll_status);
        return;
    }
    if (!text_equal(json_string_value(json_object_get(body, "node")), "gpu-1"))
        abort(); /* an assertion of cmocka belongs to the test's own thread */
    world->enrolled++;
    snprintf(reply, sizeof(reply), "{\"nodeId\":17,\"credential\":\"hfn_17.%d\",\"heartbeatIntervalMs\":%d}",
             world->enrolled, world->interval_ms);
    fake_answer_json(answer, world->server, 200, reply);
}

static inline void serve_heartbeat(struct world *world, json_t *body, struct fake_answer *answer)
{
    int64_t seq = json_integer_value(json_object_get(body, "seq"));
    world->heartbeats++;
    world->seq_went_back = world->seq_went_back || seq <= world->last_seq;
    world->last_seq = seq;
    world->last_spooled = json_integer_value(json_object_get(body, "spooled"));
    const char *address = json_string_value(json_object_get(body, "address"));
    snprintf(world->last_address, sizeof(world->last_address), "%s", address != NULL ? address : "");
    world->last_checks = (int)json_array_size(json_object_get(body, "checks"));
    if (world->hold_heartbeats) {
        answer->hold = true;
    } else if (world->heartbeat_status != 0) {
        refuse(world, answer, world->heartbeat_status);
    } else if (world->inject != NULL) {
        autofree char *reply = own_printf("{\"inject\":\"%s\"}", world->inject);
        fake_answer_json(answer, world->server, 200, reply);
        world->inject = NULL;
    } else {
        fake_answer_json(answer, world->server, 200, "{}");
    }
}

static inline void deliver(struct world *world, json_t *body)
{
    json_t *verdicts = json_object_get(body, "verdicts");
    if (json_array_size(verdicts) < 1 || json_array_size(verdicts) > 64)
        abort();
    for (size_t i = 0; i < json_array_size(verdicts); i++) {
        json_t *verdict = json_array_get(verdicts, i);
        const char *key = json_string_value(json_object_get(verdict, "key"));
        struct delivery *delivery = map_get(world->delivered, key);
        if (delivery == NULL) {
            delivery = own_calloc(1, sizeof(*delivery));
            map_set(world->delivered, key, delivery);
        }
        delivery->times++;
        int64_t count = json_integer_value(json_object_get(verdict, "count"));
        delivery->count = count > delivery->count ? count : delivery->count;
        snprintf(delivery->fault, sizeof(delivery->fault), "%s %s", json_string_value(json_object_get(verdict, "code")),
                 json_string_value(json_object_get(verdict, "device")));
        text_copy_cut(delivery->boot, sizeof(delivery->boot), json_string_value(json_object_get(body, "bootId")));
    }
}

static inline void serve_report(struct world *world, const char *request, json_t *body, struct fake_answer *answer)
{
    world->reports++;
    bool poisoned = world->poison != NULL && strstr(request, world->poison) != NULL;
    if (poisoned || world->report_status != 0) {
        world->refused_reports++;
        refuse(world, answer, poisoned ? 400 : world->report_status);
    } else {
        deliver(world, body);
        fake_answer_json(answer, world->server, 200, "{}");
        if (world->half_reports) { /* stored, and the answer is lost on its way */
            answer->lens[0] = 20;
            answer->close = true;
        }
    }
}

static inline void serve_machine(struct world *world, struct fake_answer *answer)
{
    world->machines++;
    if (world->machine_status != 0)
        refuse(world, answer, world->machine_status);
    else
        fake_answer_json(answer, world->server, 200, "{}");
}

static inline void serve(const char *request, size_t len, struct fake_answer *answer, void *arg)
{
    struct world *world = arg;
    const char *body_text = strstr(request, "\r\n\r\n") + 4, *bearer = strstr(request, "Bearer ") + 7;
    auto_json json_t *body = json_loads(body_text, JSON_REJECT_DUPLICATES, NULL);
    (void)len;
    pthread_mutex_lock(&world->lock);
    if (body == NULL)
        abort();
    text_copy_bytes(world->last_credential, sizeof(world->last_credential), bearer, strcspn(bearer, "\r"));
    text_copy_cut(world->last_boot, sizeof(world->last_boot), json_string_value(json_object_get(body, "bootId")));
    text_copy_cut(world->last_instance, sizeof(world->last_instance),
                  json_string_value(json_object_get(body, "instanceId")));
    if (text_starts_with(request, "POST /v1/agent/enroll "))
        serve_enroll(world, body, answer);
    else if (text_starts_with(request, "POST /v1/agent/heartbeat "))
        serve_heartbeat(world, body, answer);
    else if (text_starts_with(request, "POST /v1/agent/verdicts "))
        serve_report(world, request, body, answer);
    else if (text_starts_with(request, "POST /v1/agent/machine "))
        serve_machine(world, answer);
    else
        abort();
    pthread_mutex_unlock(&world->lock);
}

static inline void server_up(struct world *world)
{
    /* The lock is held so that no handler runs before world->server is set. */
    pthread_mutex_lock(&world->lock);
    world->server = fake_server_start(NULL, world->port, NULL, NULL, serve, world);
    world->port = fake_server_port(world->server);
    pthread_mutex_unlock(&world->lock);
}

static inline void server_down(struct world *world)
{
    fake_server_stop(world->server); /* its thread may use the field until it has ended */
    world->server = NULL;
}

/* --- the node ------------------------------------------------------------------------------------------------ */

static inline void put(const char *path, const char *data)
{
    assert_int_equal(file_write(path, data, strlen(data), 0600), 0);
}

static inline void log_lines(const struct world *world, const char *lines)
{
    int fd = open(world->kmsg, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, lines, strlen(lines)), strlen(lines));
    close(fd);
}

static inline struct agent_options options_of(const struct world *world, char url[64])
{
    struct agent_options options;
    agent_options_init(&options);
    snprintf(url, 64, "http://127.0.0.1:%d", world->port);
    options.url = url;
    options.state_dir = world->state_dir;
    options.node = "gpu-1";
    options.instance_id = "i-0123456789abcdef0";
    options.token_file = world->token;
    options.kmsg = world->kmsg;
    options.boot_id_file = world->boot;
    options.checks = "none"; /* of this machine */
    options.backoff_min_ms = 10;
    options.backoff_max_ms = 50;
    options.probe_ms = 100;
    options.token_ms = 20;
    options.allow_inject = true;
    return options;
}

static inline struct agent *start_with(const struct agent_options *options)
{
    struct agent *agent = NULL;
    char error[AGENT_ERROR_MAX] = "";
    if (agent_new(options, &agent, error) != 0)
        fail_msg("%s", error);
    return agent;
}

static inline struct agent *start(const struct world *world)
{
    char url[64];
    struct agent_options options = options_of(world, url);
    return start_with(&options);
}

typedef bool condition_fn(struct world *world, struct agent *agent);

static inline void turn_until(struct world *world, struct agent *agent, condition_fn *condition)
{
    int64_t until = clock_mono_ms(clock_system()) + PATIENCE_MS;
    for (;;) {
        pthread_mutex_lock(&world->lock);
        bool met = condition(world, agent);
        pthread_mutex_unlock(&world->lock);
        if (met)
            return;
        if (clock_mono_ms(clock_system()) > until)
            fail_msg("timed out");
        assert_true(agent_turn(agent, -1, 20));
    }
}

static inline bool has_beaten(struct world *world, struct agent *agent)
{
    (void)agent;
    return world->heartbeats >= 3;
}

static inline bool has_beaten_once(struct world *world, struct agent *agent)
{
    (void)agent;
    return world->heartbeats > 0;
}

static inline bool has_delivered_one(struct world *world, struct agent *agent)
{
    return map_count(world->delivered) >= 1 && agent_figures(agent).spooled == 0;
}

static inline bool has_delivered_two(struct world *world, struct agent *agent)
{
    return map_count(world->delivered) >= 2 && agent_figures(agent).spooled == 0;
}

static inline bool has_spooled(struct world *world, struct agent *agent)
{
    (void)world;
    return agent_figures(agent).spooled > 0;
}

static inline struct delivery only_delivery(struct world *world)
{
    size_t cursor = 0;
    const char *key;
    void *delivery = NULL;
    pthread_mutex_lock(&world->lock);
    assert_int_equal(map_count(world->delivered), 1);
    assert_true(map_next(world->delivered, &cursor, &key, &delivery));
    struct delivery copy = *(struct delivery *)delivery;
    pthread_mutex_unlock(&world->lock);
    return copy;
}

static inline int make_world(void **state)
{
    struct world *world = own_calloc(1, sizeof(*world));
    text_copy_cut(world->dir, sizeof(world->dir), "/tmp/holdfast-agent-XXXXXX");
    if (mkdtemp(world->dir) == NULL)
        return -1;
    world->state_dir = own_printf("%s/state", world->dir);
    world->kmsg = own_printf("%s/kmsg", world->dir);
    world->token = own_printf("%s/token", world->dir);
    world->boot = own_printf("%s/boot", world->dir);
    world->delivered = map_new();
    world->problem = "none";
    world->interval_ms = 100;
    pthread_mutex_init(&world->lock, NULL);
    put(world->token, "hfe_token\n");
    put(world->boot, "boot-1\n");
    put(world->kmsg, "a harmless line\n");
    log_set_level(LOG_LEVEL_ERROR);
    *state = world;
    server_up(world);
    return 0;
}

static inline int remove_world(void **state)
{
    struct world *world = *state;
    size_t cursor = 0;
    const char *key;
    void *delivery;
    server_down(world);
    while (map_next(world->delivered, &cursor, &key, &delivery))
        free(delivery);
    map_free(world->delivered);
    int status = file_remove_tree(world->dir);
    free(world->state_dir);
    free(world->kmsg);
    free(world->token);
    free(world->boot);
    free(world);
    return status;
}

#endif
