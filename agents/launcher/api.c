/*
 * Requests are read by hand and not by json_read: HyperPod's operator may send members that this agent does not know, and its agent takes
 * numbers as texts here and there.
 */
#include "agents/launcher/api.h"

#include "agents/launcher/addresses.h"
#include "agents/launcher/rule_read.h"
#include "agents/launcher/socket.h"
#include "base/file.h"
#include "base/id.h"
#include "base/log.h"
#include "base/status.h"
#include "base/text.h"
#include "base/version.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define TOKEN_BYTES_MAX 4096
#define STOP_SECONDS_MAX 86400

struct request {
    struct launcher *launcher;
    json_t *body;     /* an object; empty where there was none */
    json_t *problems; /* of the body, as FastAPI lists them */
};

/* --- replies ------------------------------------------------------------------------------------------ */

static struct api_reply reply_json(int status, json_t *body)
{
    char *text = json_dumps(body, JSON_COMPACT);
    json_decref(body);
    return (struct api_reply){status, text != NULL ? text : own_strdup("")};
}

static struct api_reply reply_error(int status, const char *message)
{
    json_t *body = json_object();
    json_object_set_new(body, "detail", json_string(message));
    return reply_json(status, body);
}

static struct api_reply reply_empty(void)
{
    return (struct api_reply){200, own_strdup("")};
}

static void problem(struct request *r, const char *type, const char *member, const char *message)
{
    json_t *one = json_object();
    json_object_set_new(one, "type", json_string(type));
    json_object_set_new(one, "loc", json_pack("[s,s]", "body", member));
    json_object_set_new(one, "msg", json_string(message));
    json_array_append_new(r->problems, one);
}

/* --- reading ------------------------------------------------------------------------------------------ */

static bool whole_number(const json_t *value, int64_t min, int64_t max, int64_t *ret_number)
{
    if (json_is_string(value))
        return text_parse_i64(json_string_value(value), min, max, ret_number) == 0;
    if (!json_is_integer(value) || json_integer_value(value) < min || json_integer_value(value) > max)
        return false;
    *ret_number = json_integer_value(value);
    return true;
}

static int64_t required_number(struct request *r, const char *member, int64_t min, int64_t max)
{
    int64_t number = 0;
    const json_t *value = json_object_get(r->body, member);
    if (value == NULL)
        problem(r, "missing", member, "Field required");
    else if (!whole_number(value, min, max, &number))
        problem(r, "int_parsing", member, "Input should be a valid integer in its range");
    return number;
}

static void read_master(struct request *r, struct place *place)
{
    const json_t *addr = json_object_get(r->body, "master_addr"), *port = json_object_get(r->body, "master_port");
    int64_t number = 0;
    if (addr == NULL)
        problem(r, "missing", "master_addr", "Field required");
    else if (!json_is_string(addr) || !text_is_clean(json_string_value(addr)))
        problem(r, "string_type", "master_addr", "Input should be a valid string");
    else if (*json_string_value(addr) == '\0')
        problem(r, "value_error", "master_addr", "Value error, Empty master_addr received from operator");
    else if (text_copy(place->master_addr, sizeof(place->master_addr), json_string_value(addr)) != 0)
        problem(r, "value_error", "master_addr", "Value error, it is too long");
    if (port == NULL)
        problem(r, "missing", "master_port", "Field required");
    else if (!(json_is_string(port) && *json_string_value(port) == '\0') && !whole_number(port, 0, 65535, &number))
        problem(r, "int_parsing", "master_port", "Input should be a valid port");
    place->master_port = (int)number;
}

static struct place read_place(struct request *r)
{
    const struct options *o = r->launcher->options;
    struct place place = {.ranks = o->ranks, .role = o->role, .run_id = o->run_id, .max_restarts = o->max_restarts};
    place.rank = (int)required_number(r, "rank", 0, NODES_MAX);
    place.nodes = (int)required_number(r, "nnodes", 1, NODES_MAX);
    place.restart_count = required_number(r, "faultCount", 0, INT32_MAX);
    read_master(r, &place);
    if (json_array_size(r->problems) == 0 && place.rank >= place.nodes)
        problem(r, "value_error", "rank", "Value error, rank has to be below nnodes");
    return place;
}

/* *ret_given: the request has rules, of which null says none. */
static struct rule_list read_rules(struct request *r, bool *ret_given)
{
    struct rule_list rules = {0};
    char error[RULE_ERROR_MAX];
    json_t *value = json_object_get(r->body, "log_monitoring_configuration");
    *ret_given = value != NULL && !json_is_null(value);
    if (*ret_given && rule_read(value, &rules, error) != 0)
        problem(r, "value_error", "log_monitoring_configuration", error);
    return rules;
}

static void read_addresses(struct request *r, const struct place *place)
{
    const json_t *version = json_object_get(r->body, "ipVersion");
    json_t *addresses = json_object_get(r->body, "rankIps");
    if (!json_is_string(version) || !json_is_array(addresses) || json_array_size(r->problems) > 0)
        return;
    if (addresses_write(r->launcher->options->config_dir, place, json_string_value(version), addresses) != 0)
        log_error("pod_resourceconfig.json is not written directory=%s", r->launcher->options->config_dir);
    else
        text_copy_cut(r->launcher->address_version, sizeof(r->launcher->address_version), json_string_value(version));
}

/* --- commands ----------------------------------------------------------------------------------------- */

static struct api_reply refuse_body(struct request *r)
{
    json_t *body = json_object();
    json_object_set(body, "detail", r->problems);
    autofree char *text = json_dumps(r->problems, JSON_COMPACT);
    log_error("request refused problems=%s", text);
    return reply_json(422, body);
}

static struct api_reply refuse_move(const struct launcher *launcher, const char *command)
{
    autofree char *message =
        own_printf("%s is not possible in state %s", command, sm_text(&agent_states, (int)launcher->state));
    log_warn("request refused %s", message);
    return reply_error(409, message);
}

static bool same_place(const struct place *a, const struct place *b)
{
    return a->rank == b->rank && a->nodes == b->nodes && a->restart_count == b->restart_count &&
           strcmp(a->master_addr, b->master_addr) == 0 && a->master_port == b->master_port;
}

static struct api_reply start(struct request *r)
{
    struct launcher *launcher = r->launcher;
    struct place place = read_place(r);
    bool given;
    __attribute__((cleanup(auto_rule_list_cleanup))) struct rule_list rules = read_rules(r, &given);
    if (json_array_size(r->problems) > 0)
        return refuse_body(r);
    if (launcher->state == AGENT_RUNNING && same_place(&place, &launcher->place))
        return reply_empty(); /* the same request again */
    if (!launcher_may_move(launcher, AGENT_RUNNING))
        return refuse_move(launcher, "/start");
    read_addresses(r, &place);
    launcher_set_rules(launcher, &rules);
    socket_forget(launcher->socket);
    socket_set_progress(launcher->socket, json_object_get(r->body, "progress"));
    launcher->assigned_rank = place.rank;
    launcher_move(launcher, AGENT_RUNNING, "Running", NULL);
    launcher_begin(launcher, &place);
    return reply_empty();
}

static struct api_reply status(struct request *r);

static struct api_reply update(struct request *r)
{
    struct place place = read_place(r);
    bool given;
    __attribute__((cleanup(auto_rule_list_cleanup))) struct rule_list rules = read_rules(r, &given);
    if (json_array_size(r->problems) > 0)
        return refuse_body(r);
    read_addresses(r, &place);
    if (given)
        launcher_set_rules(r->launcher, &rules);
    return status(r);
}

static struct api_reply stop(struct request *r)
{
    struct launcher *launcher = r->launcher;
    const struct options *o = launcher->options;
    const json_t *timeout = json_object_get(r->body, "timeout"), *graceful = json_object_get(r->body, "is_graceful");
    int64_t seconds = o->shutdown_s;
    if (timeout != NULL && !json_is_null(timeout) && !whole_number(timeout, 0, STOP_SECONDS_MAX, &seconds))
        problem(r, "int_parsing", "timeout", "Input should be a valid integer");
    if (graceful != NULL && !json_is_null(graceful) && !json_is_boolean(graceful))
        problem(r, "bool_parsing", "is_graceful", "Input should be a valid boolean");
    if (json_array_size(r->problems) > 0)
        return refuse_body(r);
    if (launcher->state == AGENT_STOPPING || launcher->state == AGENT_READY)
        return reply_empty(); /* it is stopped, or will be */
    if (!launcher_may_move(launcher, AGENT_STOPPING))
        return refuse_move(launcher, "/stop");
    launcher_move(launcher, AGENT_STOPPING, NULL, NULL);
    launcher_stop(launcher, json_is_true(graceful) ? SIGUSR1 : o->shutdown_signal, seconds * MS_PER_S);
    return reply_empty();
}

static struct api_reply shut_down(struct request *r)
{
    struct launcher *launcher = r->launcher;
    if (launcher->state == AGENT_SHUTDOWN)
        return reply_empty();
    launcher->exit_code = launcher->state == AGENT_FAULTED ? 1 : 0;
    launcher_move(launcher, AGENT_SHUTDOWN, NULL, NULL);
    launcher_stop(launcher, SIGTERM, launcher->options->shutdown_s * MS_PER_S);
    return reply_empty();
}

/* --- status ------------------------------------------------------------------------------------------- */

static json_t *describe_worker(const struct launcher *launcher, int rank)
{
    const struct worker *worker = rank < launcher->worker_count ? &launcher->workers[rank] : NULL;
    const struct heartbeat *heartbeat = &launcher->heartbeats[rank];
    json_t *object = json_object();
    json_put_i64(object, "local_rank", rank);
    json_put_i64(object, "rank", (int64_t)launcher->place.rank * launcher->place.ranks + rank);
    if (worker != NULL && launcher->stage == STAGE_TRAIN) {
        json_put_i64(object, "pid", worker->pid);
        json_object_set_new(object, "running", json_boolean(worker->running));
    }
    if (heartbeat->at_ms == 0)
        return object;
    json_put_time(object, "heartbeat", heartbeat->at_ms);
    if (heartbeat->has_step)
        json_put_i64(object, "step", heartbeat->step);
    if (heartbeat->has_loss)
        json_object_set_new(object, "loss",
                            isfinite(heartbeat->loss) ? json_real(heartbeat->loss) : json_string("nan"));
    json_put_text(object, "checkpoint", heartbeat->checkpoint);
    return object;
}

static struct api_reply status(struct request *r)
{
    const struct launcher *launcher = r->launcher;
    json_t *body = json_object(), *transitions = json_object(), *workers = json_array();
    autofree char *state = own_strdup(sm_text(&agent_states, (int)launcher->state));
    for (char *c = state; *c != '\0'; c++)
        *c = *c >= 'A' && *c <= 'Z' ? (char)(*c - 'A' + 'a') : *c;
    json_put_text(body, "status", state);
    for (int i = 0; i < AGENT_STATES; i++)
        json_put_time(transitions, sm_text(&agent_states, i), launcher->moved_ms[i]);
    json_object_set_new(body, "transitions", transitions);
    json_put_text(body, "reason", launcher->reason);
    json_put_text(body, "message", launcher->message);
    json_put_text(body, "restartMode", "process_level_restart");
    json_put_text(body, "ipversion", launcher->address_version);
    json_put_text(body, "agent_version", API_VERSION);
    json_put_text(body, "hprun_version", HOLDFAST_VERSION);
    json_put_text(body, "spare", launcher->assigned_rank < 0 ? "True" : "False");
    socket_describe(launcher->socket, body);
    if (launcher->assigned_rank >= 0) {
        autofree char *rank = own_printf("%d", launcher->assigned_rank);
        json_put_text(body, "assigned_rank", rank);
        for (int i = 0; i < launcher->options->ranks; i++)
            json_array_append_new(workers, describe_worker(launcher, i));
    }
    json_object_set_new(body, "workers", workers);
    return reply_json(200, body);
}

/* --- routes ------------------------------------------------------------------------------------------- */

static const struct route {
    const char *method, *path;
    struct api_reply (*handle)(struct request *r);
} routes[] = {
    {"POST", "/start", start},        {"POST", "/update", update}, {"POST", "/stop", stop},
    {"POST", "/shutdown", shut_down}, {"GET", "/status", status},
};

/* The file is read for each request, so that a token can be changed. */
static bool is_allowed(const struct launcher *launcher, const char *authorization)
{
    static const char scheme[] = "Bearer ";
    const char *path = launcher->options->token_file;
    autofree char *token = NULL;
    size_t len;
    if (path == NULL)
        return true;
    if (authorization == NULL || !text_starts_with(authorization, scheme) ||
        file_read(path, TOKEN_BYTES_MAX, &token, &len) != 0)
        return false;
    len = strcspn(token, "\r\n");
    const char *given = authorization + strlen(scheme);
    return len > 0 && strlen(given) == len && id_equal(given, token, len);
}

static struct api_reply run_route(struct launcher *launcher, const struct route *route, const char *body, size_t len)
{
    char error[JSON_ERROR_MAX];
    AUTO(json) json_t *document = NULL;
    AUTO(json) json_t *problems = json_array();
    if (len > 0 && json_parse(body, len, API_BODY_BYTES_MAX, &document, error) != 0)
        return reply_error(422, error);
    if (document == NULL || json_is_null(document)) {
        json_decref(document);
        document = json_object();
    }
    if (!json_is_object(document))
        return reply_error(422, "the body has to be a JSON object");
    struct request request = {launcher, document, problems};
    return route->handle(&request);
}

struct api_reply api_handle(struct launcher *launcher, const char *method, const char *path, const char *authorization,
                            const char *body, size_t len)
{
    bool known = false;
    if (!is_allowed(launcher, authorization))
        return reply_error(401, "the token is missing or wrong");
    for (size_t i = 0; i < ARRAY_LEN(routes); i++) {
        if (strcmp(routes[i].path, path) != 0)
            continue;
        known = true;
        if (strcmp(routes[i].method, method) == 0)
            return run_route(launcher, &routes[i], body, len);
    }
    return known ? reply_error(405, "Method Not Allowed") : reply_error(404, "Not Found");
}
