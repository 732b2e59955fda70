/* hpctl operation … and hpctl event …: what is being done, and what happened. */
#include "cli/cli.h"

#include "base/clock.h"
#include "cli/term.h"
#include "model/model.h"

#include <string.h>
#include <time.h>

#define APPROVAL_LOOKS_MAX 25     /* after an approval, so often a pause apart, until it was decided what comes of it */
#define FOLLOW_EARLIER 20         /* events shown before those to come */
#define FOLLOW_FAILURES_MAX 10    /* connections in a row that brought nothing, more than a second apart */
#define FOLLOW_PAUSE_NS 200000000 /* and this much more */

void cli_print_operation(FILE *f, const json_t *operation)
{
    static const struct cli_column steps[] = {
        {"STEP", "name"}, {"STATE", "state"}, {"TRIES", "attempts"}, {"STARTED", "startedAt"}, {"DETAIL", "detail"}};
    static const struct cli_column tries[] = {{"REBOOT BY", "method"},
                                              {"OUTCOME", "outcome"},
                                              {"BEGAN", "beganAt"},
                                              {"ENDED", "endedAt"},
                                              {"DETAIL", "detail"}};
    static const struct {
        const char *title, *path;
    } fields[] = {{"Operation", "id"},
                  {"Kind", "kind"},
                  {"Cluster", "cluster"},
                  {"Node", "node"},
                  {"State", "state"},
                  {"By", "actor"},
                  {"Reason", "reason"},
                  {"Why", "why"},
                  {"Urgency", "urgency"},
                  {"Job wait", "jobWait"},
                  {"Job signal", "jobSignal"},
                  {"Fault", "code"},
                  {"Device", "device"},
                  {"Old instance", "oldInstanceId"},
                  {"New instance", "newInstanceId"},
                  {"Cancel asked", "cancelAsked"},
                  {"Created", "createdAt"},
                  {"Finished", "finishedAt"},
                  {"Error", "error"}};
    char buffer[600];
    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        cli_print_field(f, fields[i].title, cli_value(operation, fields[i].path, buffer, sizeof(buffer)));
    cli_print_field(f, "Progress", cli_progress(operation, buffer, sizeof(buffer)));
    if (json_object_get(operation, "progress") != NULL)
        return; /* a change of a whole cluster has no steps */
    fputc('\n', f);
    cli_print_table(f, json_object_get(operation, "steps"), steps, ARRAY_LEN(steps), "no steps");
    if (json_array_size(json_object_get(operation, "rebootTries")) == 0)
        return;
    fputc('\n', f);
    cli_print_table(f, json_object_get(operation, "rebootTries"), tries, ARRAY_LEN(tries), "no tries");
}

/* Names of nodes are unique within a cluster only: --node needs to know which; without it all clusters are meant. */
static int cluster_of_node(struct cli *cli, char **ret_cluster)
{
    if (cli->option[CLI_OPTION_NODE] != NULL)
        return cli_cluster_name(cli, ret_cluster);
    *ret_cluster = own_strdup(cli->option[CLI_OPTION_CLUSTER]);
    return CLI_EXIT_OK;
}

int cli_operation_list(struct cli *cli)
{
    static const struct cli_column columns[] = {{"ID", "id"},          {"KIND", "kind"},     {"CLUSTER", "cluster"},
                                                {"NODE", "node"},      {"STATE", "state"},   {"BY", "actor"},
                                                {"AGE", "~createdAt"}, {"REASON", "reason"}, {"ERROR", "error"}};
    int64_t limit;
    autofree char *cluster = NULL;
    int rc = cli_parse_limit(cli, CLI_LIMIT_DEFAULT, &limit);
    if (rc == CLI_EXIT_OK)
        rc = cluster_of_node(cli, &cluster);
    if (rc != CLI_EXIT_OK)
        return rc;
    struct text path AUTO(text) = {0};
    text_add(&path, "/v1/operations");
    cli_add_query(&path, "cluster", cluster);
    cli_add_query(&path, "node", cli->option[CLI_OPTION_NODE]);
    cli_add_query(&path, "state", cli->option[CLI_OPTION_STATE]);
    cli_add_query(&path, "kind", cli->option[CLI_OPTION_KIND]);
    auto_json json_t *items = NULL;
    rc = cli_ask_list(cli, text_get(&path), limit, &items);
    if (rc == CLI_EXIT_OK && !cli_print_data(cli, items))
        cli_print_table(cli->out, items, columns, ARRAY_LEN(columns), "no operations");
    return rc;
}

static int one_operation(struct cli *cli, const char *method, const char *suffix)
{
    autofree char *id = cli_encode(cli->argument[0]), *path = own_printf("/v1/operations/%s%s", id, suffix);
    auto_json json_t *operation = NULL;
    int rc = cli_ask(cli, method, path, NULL, NULL, &operation);
    if (rc == CLI_EXIT_OK && !cli_print_data(cli, operation))
        cli_print_operation(cli->out, operation);
    return rc;
}

int cli_operation_describe(struct cli *cli)
{
    return one_operation(cli, "GET", "");
}

int cli_operation_cancel(struct cli *cli)
{
    return one_operation(cli, "POST", "/cancel");
}

/* The node is decided on anew within a moment: whether it begins, or what holds it. NULL: nobody knows yet. */
static json_t *after_yes(struct cli *cli, const char *id)
{
    for (int looks = 0; looks < APPROVAL_LOOKS_MAX; looks++) {
        auto_json json_t *items = NULL;
        size_t i;
        json_t *approval;
        char uid[80], state[16];
        if (cli_ask_list(cli, "/v1/approvals", CLI_LIMIT_DEFAULT, &items) != CLI_EXIT_OK)
            return NULL;
        json_array_foreach(items, i, approval)
        {
            if (text_equal(cli_value(approval, "id", uid, sizeof(uid)), id) &&
                (json_object_get(approval, "waitsFor") != NULL ||
                 !text_equal(cli_value(approval, "state", state, sizeof(state)), "approved")))
                return json_incref(approval);
        }
        nanosleep(&(struct timespec){.tv_nsec = FOLLOW_PAUSE_NS}, NULL);
    }
    return NULL;
}

static void print_after_yes(struct cli *cli, const json_t *approval, const json_t *now)
{
    char id[80], node[80], state[16], why[600];
    cli_value(now != NULL ? now : approval, "state", state, sizeof(state));
    if (now == NULL)
        fprintf(cli->out, "It begins once budget, breaker and hours let it; what it waits for: hpctl node explain %s\n",
                cli_value(approval, "node", node, sizeof(node)));
    else if (json_object_get(now, "waitsFor") != NULL)
        fprintf(cli->out, "It waits: %s.\n", cli_value(now, "waitsFor", why, sizeof(why)));
    else if (text_equal(state, "done"))
        fprintf(cli->out, "It has begun: hpctl operation describe %s\n", cli_value(now, "id", id, sizeof(id)));
    else
        fprintf(cli->out, "It is %s since: nothing begins.\n", state);
}

static int answer(struct cli *cli, const char *word)
{
    autofree char *id = cli_encode(cli->argument[0]), *path = own_printf("/v1/operations/%s/%s", id, word);
    auto_json json_t *approval = NULL, *now = NULL, *body = json_object();
    char node[80], action[16], state[16];
    json_put_text(body, "reason", cli->option[CLI_OPTION_REASON]);
    int rc = cli_ask(cli, "POST", path, body, NULL, &approval);
    if (rc != CLI_EXIT_OK)
        return rc;
    bool yes = text_equal(word, "approve");
    if (yes)
        now = after_yes(cli, cli->argument[0]);
    if (cli_print_data(cli, now != NULL ? now : approval))
        return rc;
    fprintf(cli->out, "%s of %s: %s\n", cli_value(approval, "action", action, sizeof(action)),
            cli_value(approval, "node", node, sizeof(node)), cli_value(approval, "state", state, sizeof(state)));
    if (yes)
        print_after_yes(cli, approval, now);
    return rc;
}

int cli_operation_approve(struct cli *cli)
{
    return answer(cli, "approve");
}

int cli_operation_reject(struct cli *cli)
{
    return answer(cli, "reject");
}

int cli_operation_approvals(struct cli *cli)
{
    static const struct cli_column columns[] = {{"ID", "id"},         {"NODE", "node"},    {"ACTION", "action"},
                                                {"STATE", "state"},   {"AGE", "~askedAt"}, {"UNTIL", "expiresAt"},
                                                {"BY", "answeredBy"}, {"WHY", "sentence"}};
    int64_t limit;
    int rc = cli_parse_limit(cli, CLI_LIMIT_DEFAULT, &limit);
    if (rc != CLI_EXIT_OK)
        return rc;
    struct text path AUTO(text) = {0};
    text_add(&path, "/v1/approvals");
    cli_add_query(&path, "state", cli->option[CLI_OPTION_STATE]);
    auto_json json_t *items = NULL;
    rc = cli_ask_list(cli, text_get(&path), limit, &items);
    if (rc == CLI_EXIT_OK && !cli_print_data(cli, items))
        cli_print_table(cli->out, items, columns, ARRAY_LEN(columns), "no approvals");
    return rc;
}

int cli_operation_wait(struct cli *cli)
{
    int64_t timeout_ms;
    int rc = cli_parse_timeout(cli, &timeout_ms);
    return rc != CLI_EXIT_OK ? rc : cli_wait_operation(cli, cli->argument[0], timeout_ms);
}

/* --- events ---------------------------------------------------------------------------------------------- */

static void add_flat(struct text *out, const char *words)
{
    size_t len = strlen(words);
    while (len > 0 && words[len - 1] == '\n')
        len--;
    for (size_t i = 0; i < len; i++)
        text_add_char(out, words[i] == '\n' ? ' ' : words[i]);
}

void cli_event_words(json_t *event)
{
    struct text words AUTO(text) = {0};
    const char *group = json_string_value(json_object_get(event, "group"));
    const char *message = json_string_value(json_object_get(event, "message"));
    const char *why = json_string_value(json_object_get(event, "failureMessage"));
    if (group != NULL && json_object_get(event, "node") == NULL)
        text_printf(&words, "group %s: ", group);
    add_flat(&words, message != NULL ? message : "");
    if (why != NULL && (message == NULL || strstr(message, why) == NULL) && *why != 0) {
        text_add(&words, ": ");
        add_flat(&words, why);
    }
    json_object_set_new(event, "_what", json_string(text_get(&words)));
}

static void print_event(struct cli *cli, json_t *event)
{
    char at[64], node[80], level[16], kind[40], message[1600];
    if (cli->format == CLI_FORMAT_JSON) { /* a line each, for jq and friends */
        autofree char *line = json_dumps(event, JSON_COMPACT);
        fprintf(cli->out, "%s\n", line);
    } else if (cli->format == CLI_FORMAT_YAML) {
        fputs("---\n", cli->out);
        cli_print_data(cli, event);
    } else {
        cli_event_words(event);
        cli_value(event, "level", level, sizeof(level));
        autofree char *when = cli_local_times(cli_value(event, "at", at, sizeof(at)));
        autofree char *what = cli_local_times(cli_value(event, "_what", message, sizeof(message)));
        enum cli_colour colour = cli_colour_of(level);
        fprintf(cli->out, "%s  %s%-5s%s  %-10s  %-20s  %s\n", when, colour != CLI_PLAIN ? cli_paint(colour) : "", level,
                colour != CLI_PLAIN ? cli_paint(CLI_PLAIN) : "", cli_value(event, "node", node, sizeof(node)),
                cli_value(event, "kind", kind, sizeof(kind)), what);
    }
    fflush(cli->out);
}

static int level_of(const char *word)
{
    enum event_level level = EVENT_LEVEL_INFO;
    (void)event_level_parse(word, &level);
    return (int)level;
}

/* What the list asks the server for, of the stream, which has all. */
static bool is_wanted(const struct cli *cli, const json_t *event)
{
    const char *kind = cli->option[CLI_OPTION_KIND], *level = cli->option[CLI_OPTION_LEVEL];
    char text[40];
    if (kind != NULL && !text_equal(cli_value(event, "kind", text, sizeof(text)), kind))
        return false;
    return level == NULL || level_of(cli_value(event, "level", text, sizeof(text))) >= level_of(level);
}

struct follower {
    struct cli *cli;
    struct text line;
    char next_id[32]; /* of the event that is coming in */
    char last_id[32]; /* of the last one that was printed: where to go on after a cut */
};

/* Takes the stream apart: "data:" lines carry events; "id:" lines, in front of them, say which. */
static bool on_stream(const char *bytes, size_t len, void *arg)
{
    struct follower *f = arg;
    for (size_t i = 0; i < len; i++) {
        if (bytes[i] != '\n') {
            if (f->line.len < CLI_FILE_BYTES_MAX)
                text_add_char(&f->line, bytes[i]);
            continue;
        }
        const char *line = text_get(&f->line);
        auto_json json_t *event = NULL;
        char error[JSON_ERROR_MAX];
        if (text_starts_with(line, "id: "))
            text_copy_cut(f->next_id, sizeof(f->next_id), line + 4);
        else if (text_starts_with(line, "data: ")) {
            if (json_parse(line + 6, strlen(line + 6), CLI_FILE_BYTES_MAX, &event, error) == 0 &&
                is_wanted(f->cli, event))
                print_event(f->cli, event);
            if (f->next_id[0] != '\0')
                memcpy(f->last_id, f->next_id, sizeof(f->last_id));
        }
        text_clear(&f->line);
    }
    return ferror(f->cli->out) == 0;
}

static int follow(struct cli *cli, const char *cluster, const char *node, const char *after)
{
    struct follower f = {.cli = cli};
    text_copy_cut(f.last_id, sizeof(f.last_id), after);
    int rc = CLI_EXIT_OK, failures = 0;
    while (rc == CLI_EXIT_OK && ferror(cli->out) == 0) {
        struct text path AUTO(text) = {0};
        text_add(&path, "/v1/events/stream");
        cli_add_query(&path, "cluster", cluster);
        cli_add_query(&path, "node", node);
        cli_add_query(&path, "after", f.last_id);
        char error[HTTP_ERROR_MAX] = "";
        int status = 0;
        text_clear(&f.line); /* half a line of a connection that was cut belongs to no other */
        int got = http_stream(cli->client, text_get(&path), on_stream, &f, MS_PER_MIN, &status, error);
        failures = got == 0 && status == 200 ? 0 : failures + 1;
        if (status >= 400 && cli_http_exit(status) != CLI_EXIT_UNREACHABLE) {
            fprintf(cli->err, "hpctl: the server answered HTTP %d to the event stream\n", status);
            rc = cli_http_exit(status);
        } else if (failures >= FOLLOW_FAILURES_MAX) {
            fprintf(cli->err, "hpctl: %s\n", *error ? error : "the stream keeps ending");
            rc = CLI_EXIT_UNREACHABLE;
        } else if (ferror(cli->out) == 0) {
            struct timespec pause = {.tv_sec = failures > 0 ? 1 : 0, .tv_nsec = FOLLOW_PAUSE_NS};
            nanosleep(&pause, NULL); /* the server went away: it may be back soon, and nothing is lost by the id */
        }
    }
    text_free(&f.line);
    return rc;
}

int cli_event_list(struct cli *cli)
{
    int64_t limit;
    autofree char *cluster = NULL;
    int rc = cli_parse_limit(cli, CLI_LIMIT_DEFAULT, &limit);
    if (rc == CLI_EXIT_OK)
        rc = cluster_of_node(cli, &cluster);
    if (rc != CLI_EXIT_OK)
        return rc;
    const char *node = cli->option[CLI_OPTION_NODE];
    const char *after = cli->option[CLI_OPTION_AFTER];
    struct text path AUTO(text) = {0};
    text_add(&path, "/v1/events");
    cli_add_query(&path, "cluster", cluster);
    cli_add_query(&path, "node", node);
    cli_add_query(&path, "after", after);
    cli_add_query(&path, "kind", cli->option[CLI_OPTION_KIND]);
    cli_add_query(&path, "minLevel", cli->option[CLI_OPTION_LEVEL]);
    rc = cli_add_time(cli, &path, CLI_OPTION_SINCE, "since");
    if (rc != CLI_EXIT_OK)
        return rc;
    bool following = cli->option[CLI_OPTION_FOLLOW] != NULL;
    auto_json json_t *items = NULL;
    rc = cli_ask_list(cli, text_get(&path),
                      following && after == NULL && cli->option[CLI_OPTION_LIMIT] == NULL ? FOLLOW_EARLIER : limit,
                      &items);
    if (rc != CLI_EXIT_OK)
        return rc;
    if (!following && cli->format != CLI_FORMAT_TABLE) {
        cli_print_data(cli, items);
        return CLI_EXIT_OK;
    }
    size_t count = json_array_size(items); /* without --after the newest come first: people read downwards */
    char last[32] = "";
    for (size_t i = 0; i < count; i++) {
        json_t *event = json_array_get(items, after == NULL ? count - 1 - i : i);
        print_event(cli, event);
        cli_value(event, "id", last, sizeof(last));
    }
    if (count == 0 && !following)
        fputs("no events\n", cli->out);
    return following ? follow(cli, cluster, node, *last != 0 ? last : after != NULL ? after : "0") : CLI_EXIT_OK;
}
