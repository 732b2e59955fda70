/*
 * Asking the server: where it is, one request, lists over several pages, waiting for an operation.
 *
 * Problems (RFC 9457) are printed here, once, with what to do; verbs only pass the exit code on.
 */
#include "cli/cli.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/nearest.h"
#include "base/yaml.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define REQUEST_TIMEOUT_MS (60 * MS_PER_S)
#define WAIT_POLL_MS 1000
#define WAIT_AWAY_MS 3000 /* each try says that the server is away */
#define WAIT_DEFAULT_MS MS_PER_HOUR

/* A misspelt key that is silently ignored would look like a missing token. */
static int check_profile(struct cli *cli, const char *path)
{
    static const char *const keys[] = {"url", "token", "fingerprint", "caFile", "cluster", "contexts", "current"};
    const char *name;
    json_t *value;
    if (!json_is_object(cli->profile))
        return cli_usage(cli, "%s must be a mapping with url, token, fingerprint, caFile or cluster", path);
    json_object_foreach(cli->profile, name, value)
    {
        struct nearest nearest = {.word = name};
        bool known = false;
        for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
            known = known || text_equal(keys[i], name);
            nearest_see(&nearest, keys[i]);
        }
        if (!known) {
            autofree char *unknown = nearest_say(&nearest);
            return cli_usage(cli, "%s: %s", path, unknown);
        }
        if (text_equal(name, "contexts") ? !json_is_object(value) : !json_is_string(value))
            return cli_usage(cli, "%s: %s must be a text", path, name);
    }
    struct stat st;
    bool secret = json_object_get(cli->profile, "token") != NULL || json_object_get(cli->profile, "contexts") != NULL;
    if (secret && stat(path, &st) == 0 && (st.st_mode & 077) != 0)
        fprintf(cli->err, "hpctl: others can read the token in %s; chmod 600 it\n", path);
    return CLI_EXIT_OK;
}

char *cli_profile_path(void)
{
    const char *named = getenv("HPCTL_CONFIG"), *home = getenv("HOME");
    return named != NULL ? own_strdup(named) : own_printf("%s/.config/holdfast/hpctl.yaml", home != NULL ? home : "");
}

int cli_profile_load(struct cli *cli)
{
    const char *named = getenv("HPCTL_CONFIG");
    autofree char *path = cli_profile_path();
    autofree char *data = NULL;
    size_t len;
    int rc = file_read(path, CLI_FILE_BYTES_MAX, &data, &len);
    if (rc == STATUS_NOT_FOUND && named == NULL)
        return CLI_EXIT_OK;
    if (rc != 0)
        return cli_usage(cli, "cannot read %s: %s", path, status_meaning(rc));
    char error[JSON_ERROR_MAX];
    if (yaml_parse(data, len, CLI_FILE_BYTES_MAX, &cli->profile, error) != 0)
        return cli_usage(cli, "%s: %s", path, error);
    return check_profile(cli, path);
}

/* NULL: what stands in the file itself. */
static const char *context_name(const struct cli *cli)
{
    const char *named = cli->option[CLI_OPTION_CONTEXT], *env = getenv("HPCTL_CONTEXT");
    if (named == NULL && env != NULL && *env != '\0')
        named = env;
    return named != NULL ? named : json_string_value(json_object_get(cli->profile, "current"));
}

static const json_t *cli_context(const struct cli *cli)
{
    const char *name = context_name(cli);
    return name == NULL ? cli->profile : json_object_get(json_object_get(cli->profile, "contexts"), name);
}

static const char *setting(const struct cli *cli, enum cli_option option, const char *env, const char *member)
{
    if (option < CLI_OPTIONS && cli->option[option] != NULL)
        return cli->option[option];
    bool named = cli->option[CLI_OPTION_CONTEXT] != NULL; /* on the command line: stronger than the environment */
    const char *value = env != NULL && !named ? getenv(env) : NULL;
    return value != NULL && *value != 0 ? value : json_string_value(json_object_get(cli_context(cli), member));
}

/* One that was named has to be there: another server's nodes would be acted on otherwise. */
static int check_context(struct cli *cli)
{
    const char *name = context_name(cli);
    if (name == NULL || json_is_object(json_object_get(json_object_get(cli->profile, "contexts"), name)))
        return CLI_EXIT_OK;
    return cli_usage(cli, "there is no context \"%s\"; hpctl context list shows them", name);
}

int cli_connect(struct cli *cli)
{
    int rc = cli->option[CLI_OPTION_SERVER] == NULL ? check_context(cli) : CLI_EXIT_OK;
    if (rc != CLI_EXIT_OK)
        return rc;
    const char *url = setting(cli, CLI_OPTION_SERVER, "HPCTL_URL", "url");
    struct http_options options = {
        .url = url != NULL ? url : "http://127.0.0.1:8700",
        .token = setting(cli, CLI_OPTION_TOKEN, "HPCTL_TOKEN", "token"),
        .fingerprint = setting(cli, CLI_OPTION_FINGERPRINT, "HPCTL_FINGERPRINT", "fingerprint"),
        .ca_file = setting(cli, CLI_OPTION_CA_FILE, NULL, "caFile"),
        .timeout_ms = REQUEST_TIMEOUT_MS,
    };
    char error[HTTP_ERROR_MAX];
    if (options.token == NULL) {
        cli_usage(cli, "no token: set HPCTL_TOKEN (the first one is in the server's state directory, admin.token), "
                       "or sign in with: hpctl login URL");
        return CLI_EXIT_AUTH;
    }
    rc = http_client_new(&options, &cli->client, error);
    if (rc != 0)
        return cli_usage(cli, "%s", error);
    return CLI_EXIT_OK;
}

int cli_http_exit(int http_status)
{
    switch (http_status) {
    case 400:
    case 413:
        return CLI_EXIT_USAGE; /* the server is only the one who noticed */
    case 401:
    case 403:
        return CLI_EXIT_AUTH;
    case 404:
        return CLI_EXIT_NOT_FOUND;
    case 409:
    case 412:
        return CLI_EXIT_CONFLICT;
    case 502:
    case 503:
    case 504:
        return CLI_EXIT_UNREACHABLE;
    default:
        return http_status >= 200 && http_status < 300 ? CLI_EXIT_OK : CLI_EXIT_REFUSED;
    }
}

static void print_problem(struct cli *cli, const struct http_reply *reply, const json_t *problem)
{
    const char *title = json_string_value(json_object_get(problem, "title"));
    const char *detail = json_string_value(json_object_get(problem, "detail"));
    const char *code = json_string_value(json_object_get(problem, "code"));
    if (title == NULL)
        fprintf(cli->err, "hpctl: the server answered HTTP %d without an explanation\n", reply->status);
    else
        cli_say(cli->err, "hpctl: %s (%s)\n", detail != NULL ? detail : title, code != NULL ? code : "?");
}

int cli_refused(struct cli *cli, int http_status, const char *body, size_t len)
{
    auto_json json_t *problem = NULL;
    char why[JSON_ERROR_MAX];
    const struct http_reply reply = {.status = http_status};
    (void)json_parse(body, len, CLI_REPLY_BYTES_MAX, &problem, why);
    print_problem(cli, &reply, problem);
    return cli_http_exit(http_status);
}

int cli_ask(struct cli *cli, const char *method, const char *path, const json_t *body, const char *const *headers,
            json_t **ret_json)
{
    autofree char *text = body != NULL ? json_dumps(body, JSON_COMPACT) : NULL;
    struct http_reply reply = {0};
    char error[HTTP_ERROR_MAX] = "";
    int rc = http_request(cli->client, method, path, text != NULL ? "application/json" : NULL, text,
                          text != NULL ? strlen(text) : 0, headers, CLI_REPLY_BYTES_MAX, &reply, error);
    if (rc != 0) {
        fprintf(cli->err, "hpctl: %s\n", *error ? error : status_meaning(rc));
        return rc == STATUS_TIMEOUT ? CLI_EXIT_TIMEOUT : CLI_EXIT_UNREACHABLE;
    }
    auto_json json_t *json = NULL;
    char why[JSON_ERROR_MAX];
    if (reply.len > 0 && json_parse(reply.body, reply.len, CLI_REPLY_BYTES_MAX, &json, why) != 0 &&
        reply.status < 300) {
        fprintf(cli->err, "hpctl: the server's answer is not JSON (%s); is this really hpd?\n", why);
        http_reply_free(&reply);
        return CLI_EXIT_REFUSED;
    }
    int code = cli_http_exit(reply.status);
    if (code != CLI_EXIT_OK)
        print_problem(cli, &reply, json);
    else if (ret_json != NULL)
        *ret_json = TAKE(json);
    http_reply_free(&reply);
    return code;
}

int cli_ask_list(struct cli *cli, const char *path, int64_t limit, json_t **ret_items)
{
    auto_json json_t *items = json_array();
    autofree char *cursor = NULL;
    for (;;) {
        int64_t page = limit > 0 && limit - (int64_t)json_array_size(items) < 1000
                           ? limit - (int64_t)json_array_size(items)
                           : 1000;
        struct text full AUTO(text) = {0};
        text_printf(&full, "%s%climit=%lld", path, strchr(path, '?') != NULL ? '&' : '?', (long long)page);
        cli_add_query(&full, "cursor", cursor);
        auto_json json_t *reply = NULL;
        int rc = cli_ask(cli, "GET", text_get(&full), NULL, NULL, &reply);
        if (rc != CLI_EXIT_OK)
            return rc;
        json_array_extend(items, json_object_get(reply, "items"));
        const char *next = json_string_value(json_object_get(reply, "nextCursor"));
        free(cursor);
        cursor = own_strdup(next);
        if (next == NULL || (limit > 0 && (int64_t)json_array_size(items) >= limit))
            break;
    }
    *ret_items = TAKE(items);
    return CLI_EXIT_OK;
}

char *cli_encode(const char *text)
{
    struct text out = {0};
    text_add_escaped(&out, text, "");
    return text_take(&out);
}

void cli_add_query(struct text *path, const char *name, const char *value)
{
    if (value == NULL || *value == 0)
        return;
    autofree char *encoded = cli_encode(value);
    text_printf(path, "%c%s=%s", strchr(text_get(path), '?') != NULL ? '&' : '?', name, encoded);
}

int cli_cluster_name(struct cli *cli, char **ret_name)
{
    const char *named = cli->option[CLI_OPTION_CLUSTER];
    if (named == NULL)
        named = json_string_value(json_object_get(cli_context(cli), "cluster"));
    if (named != NULL) {
        *ret_name = own_strdup(named);
        return CLI_EXIT_OK;
    }
    auto_json json_t *items = NULL;
    int rc = cli_ask_list(cli, "/v1/clusters", 2, &items);
    if (rc != CLI_EXIT_OK)
        return rc;
    if (json_array_size(items) == 0) {
        fprintf(cli->err, "hpctl: there is no cluster yet; make one with: hpctl cluster create -f FILE\n");
        return CLI_EXIT_NOT_FOUND;
    }
    if (json_array_size(items) > 1)
        return cli_usage(cli, "there are several clusters; name one with --cluster (hpctl cluster list shows them)");
    *ret_name = own_strdup(json_string_value(json_object_get(json_array_get(items, 0), "name")));
    return CLI_EXIT_OK;
}

/* What was said of a change of a whole cluster last, so that only news are said. */
struct shown {
    size_t steps;
    char progress[200];
};

static void show_new_steps(struct cli *cli, const json_t *operation, struct shown *shown)
{
    const json_t *steps = json_object_get(operation, "steps");
    for (; shown->steps < json_array_size(steps); shown->steps++) {
        const json_t *step = json_array_get(steps, shown->steps);
        const char *state = json_string_value(json_object_get(step, "state"));
        if (text_equal(state, "waiting") || text_equal(state, "running"))
            return;
        const char *detail = json_string_value(json_object_get(step, "detail"));
        cli_say(cli->err, "  %-10s %-8s %s\n", json_string_value(json_object_get(step, "name")), state,
                detail != NULL ? detail : "");
    }
}

static void show_news(struct cli *cli, const json_t *operation, struct shown *shown)
{
    char progress[sizeof(shown->progress)];
    show_new_steps(cli, operation, shown);
    cli_progress(operation, progress, sizeof(progress));
    if (*progress != 0 && !text_equal(progress, shown->progress))
        fprintf(cli->err, "  %s\n", progress);
    memcpy(shown->progress, progress, sizeof(progress));
}

const char *cli_progress(const json_t *operation, char *ret_text, size_t size)
{
    static const struct {
        const char *member, *words;
    } rest[] = {{"nodesFailed", "failed"}, {"nodesLeft", "to go"}};
    const json_t *progress = json_object_get(operation, "progress");
    *ret_text = '\0';
    if (json_integer_value(json_object_get(progress, "nodesWanted")) == 0 &&
        json_integer_value(json_object_get(progress, "nodesLeft")) == 0)
        return ret_text; /* none; or not counted yet, or all are gone */
    long long in_service = (long long)json_integer_value(json_object_get(progress, "nodesInService"));
    long long wanted = (long long)json_integer_value(json_object_get(progress, "nodesWanted"));
    int at = in_service > wanted
                 ? snprintf(ret_text, size, "%lld node%s in service, %lld wanted", in_service, text_plural(in_service),
                            wanted)
                 : snprintf(ret_text, size, "%lld of %lld node%s in service", in_service, wanted, text_plural(wanted));
    for (size_t i = 0; i < ARRAY_LEN(rest) && (size_t)at < size; i++) {
        long long count = (long long)json_integer_value(json_object_get(progress, rest[i].member));
        if (count > 0)
            at += snprintf(ret_text + at, size - (size_t)at, ", %lld %s", count, rest[i].words);
    }
    return ret_text;
}

int cli_parse_timeout(struct cli *cli, int64_t *ret_timeout_ms)
{
    const char *given = cli->option[CLI_OPTION_TIMEOUT];
    *ret_timeout_ms = WAIT_DEFAULT_MS;
    if (given != NULL && clock_parse_duration(given, ret_timeout_ms) != 0)
        return cli_usage(cli, "--timeout is a duration such as 90s, 10m or 2h, not \"%s\"", given);
    return CLI_EXIT_OK;
}

int cli_ask_again(struct cli *cli, const char *path, int64_t until_ms, json_t **ret_json)
{
    for (;;) {
        int rc = cli_ask(cli, "GET", path, NULL, NULL, ret_json);
        bool away = rc == CLI_EXIT_UNREACHABLE || rc == CLI_EXIT_TIMEOUT;
        if (!away || clock_mono_ms(clock_system()) >= until_ms)
            return rc;
        usleep(WAIT_AWAY_MS * 1000);
    }
}

int cli_wait_operation(struct cli *cli, const char *id, int64_t timeout_ms)
{
    int64_t until = clock_mono_ms(clock_system()) + timeout_ms;
    autofree char *encoded = cli_encode(id);
    autofree char *path = own_printf("/v1/operations/%s", encoded);
    struct shown shown = {0};
    for (bool known = false;;) {
        auto_json json_t *operation = NULL;
        int rc = cli_ask_again(cli, path, known ? until : 0, &operation);
        if (rc != CLI_EXIT_OK)
            return rc;
        known = true;
        if (cli->format == CLI_FORMAT_TABLE)
            show_news(cli, operation, &shown);
        const char *state = json_string_value(json_object_get(operation, "state"));
        if (!text_equal(state, "pending") && !text_equal(state, "running")) {
            if (!cli_print_data(cli, operation))
                cli_print_operation(cli->out, operation);
            return text_equal(state, "succeeded") ? CLI_EXIT_OK : CLI_EXIT_REFUSED;
        }
        if (clock_mono_ms(clock_system()) >= until) {
            fprintf(cli->err, "hpctl: operation %s is still %s; it goes on without us\n", id, state);
            return CLI_EXIT_TIMEOUT;
        }
        usleep(WAIT_POLL_MS * 1000);
    }
}

int cli_follow_change(struct cli *cli, json_t *reply, const char *said, int64_t timeout_ms)
{
    char id[80];
    cli_value(reply, "operation.id", id, sizeof(id));
    if (cli->option[CLI_OPTION_WAIT] != NULL && *id != 0)
        return cli_wait_operation(cli, id, timeout_ms);
    if (cli_print_data(cli, reply))
        return CLI_EXIT_OK;
    if (*id != 0)
        fprintf(cli->out, "%s; operation %s, follow it with: hpctl operation wait %s\n", said, id, id);
    else
        fprintf(cli->out, "%s\n", said);
    return CLI_EXIT_OK;
}
