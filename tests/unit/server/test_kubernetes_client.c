/*
 * The client and the cache against a server that is hostile, overloaded or forgetful: credential plugins, rotated tokens, proxies, 429,
 * 410, pages, bookmarks and garbage. The server is scripted; the real thing is in tests/e2e/kubernetes/.
 */
#include "base/clock.h"
#include "base/file.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"
#include "server/scheduler/kubernetes/cache.h"
#include "server/scheduler/kubernetes/client.h"
#include "server/scheduler/kubernetes/credential.h"
#include "server/scheduler/kubernetes/object.h"
#include "tests/support/fake_server.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define TIMEOUT_MS 20000
#define REQUESTS_MAX 64
#define KEPT_MAX 256
#define PATH "/api/v1/nodes"

/* One answer; the connection ends with it. */
struct step {
    int status;
    const char *head; /* more header lines, each with its end; NULL: none */
    const char *body; /* NULL: silence */
    bool watch;       /* a stream that ends with the connection … */
    bool hold;        /* … or stays */
};

static struct {
    pthread_mutex_t lock;
    const struct step *steps;
    size_t count;
    struct step refused; /* its status is not 0: each watch is answered so */
    char *requests[REQUESTS_MAX];
    int64_t times[REQUESTS_MAX]; /* on the monotonic clock */
    size_t seen;
    char *kept[KEPT_MAX]; /* what the server may still be sending, until it has ended */
    size_t kept_count;
    struct fake_server *server;
} script = {.lock = PTHREAD_MUTEX_INITIALIZER};

static char dir[] = "/tmp/holdfast-kubernetes-XXXXXX";
static char error[SCHEDULER_ERROR_MAX];

/* Under the lock, or before there is a server. */
static char *keep_text(char *text)
{
    if (script.kept_count == KEPT_MAX)
        abort();
    return script.kept[script.kept_count++] = text;
}

/* What comes after the last step is silence: a watch in which nothing happens. A small request is answered. */
static void play(const char *request, size_t len, struct fake_answer *answer, void *arg)
{
    static const struct step silence = {.status = 200, .body = "", .watch = true, .hold = true};
    static const struct step empty = {.status = 200, .body = "{}"};
    (void)arg, (void)len;
    pthread_mutex_lock(&script.lock);
    if (script.seen == REQUESTS_MAX)
        abort();
    const struct step *step = script.seen < script.count             ? &script.steps[script.seen]
                              : strstr(request, "?limit=1 ") != NULL ? &empty
                                                                     : &silence;
    if (script.refused.status != 0 && strstr(request, "watch=true") != NULL)
        step = &script.refused;
    const char *body = step->body == NULL ? "" : step->body;
    autofree char *length = own_printf("Content-Length: %zu\r\n", strlen(body));
    char *head =
        keep_text(own_printf("HTTP/1.1 %d X\r\nConnection: close\r\nContent-Type: application/json\r\n%s%s\r\n",
                             step->status, step->watch ? "" : length, step->head == NULL ? "" : step->head));
    script.times[script.seen] = clock_mono_ms(clock_system());
    script.requests[script.seen++] = own_strdup(request);
    *answer = (struct fake_answer){.close = true, .hold = step->hold || step->body == NULL};
    if (step->body != NULL)
        answer->pieces[answer->count++] = head;
    if (body[0] != '\0')
        answer->pieces[answer->count++] = body;
    pthread_mutex_unlock(&script.lock);
}

static void say(const struct step *steps, size_t count)
{
    pthread_mutex_lock(&script.lock);
    for (size_t i = 0; i < script.seen; i++)
        free(TAKE(script.requests[i]));
    script.steps = steps;
    script.count = count;
    script.seen = 0;
    pthread_mutex_unlock(&script.lock);
}
#define SAY(...)                                          \
    do {                                                  \
        static const struct step steps[] = {__VA_ARGS__}; \
        say(steps, ARRAY_LEN(steps));                     \
    } while (0)

static void refuse_watches(int status)
{
    pthread_mutex_lock(&script.lock);
    script.refused = (struct step){.status = status, .body = "{}"};
    pthread_mutex_unlock(&script.lock);
}

static size_t seen(void)
{
    pthread_mutex_lock(&script.lock);
    size_t count = script.seen;
    pthread_mutex_unlock(&script.lock);
    return count;
}

static void wait_for(size_t requests)
{
    int64_t until = clock_mono_ms(clock_system()) + TIMEOUT_MS;
    while (seen() < requests) {
        if (clock_mono_ms(clock_system()) > until)
            fail_msg("%zu requests in place of %zu", seen(), requests);
        usleep(5000);
    }
}

static void assert_request(size_t at, const char *part)
{
    pthread_mutex_lock(&script.lock);
    autofree char *request = own_strdup(at < script.seen ? script.requests[at] : "");
    pthread_mutex_unlock(&script.lock);
    if (strstr(request, part) == NULL)
        fail_msg("request %zu is no \"%s\": %s", at, part, request);
}

/* What a client that has ended had sent last is in no script of the next one. */
static void renew_server(void)
{
    fake_server_stop(script.server);
    script.server = fake_server_start(NULL, 0, NULL, NULL, play, NULL);
}

static int start(void **state)
{
    (void)state;
    if (mkdtemp(dir) == NULL)
        return -1;
    script.server = fake_server_start(NULL, 0, NULL, NULL, play, NULL);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    fake_server_stop(script.server);
    say(NULL, 0);
    while (script.kept_count > 0)
        free(script.kept[--script.kept_count]);
    return file_remove_tree(dir);
}

/* --- the client --------------------------------------------------------------------------------- */

static struct kube_client *client_of(const char *cluster, const char *user, int64_t timeout_ms)
{
    struct kube_access access;
    struct kube_client *client = NULL;
    autofree char *text =
        own_printf("current-context: a\nclusters: [{name: c, cluster: {%s}}]\nusers: [{name: u, user: "
                   "{%s}}]\ncontexts: [{name: a, context: {cluster: c, user: u}}]\n",
                   cluster, user);
    if (kubeconfig_parse(text, strlen(text), dir, NULL, &access, error) != 0)
        fail_msg("%s", error);
    if (kube_client_new(&access, timeout_ms, &client, error) != 0)
        fail_msg("%s", error);
    return client;
}

static struct kube_client *client_as(const char *user, int64_t timeout_ms)
{
    autofree char *cluster = own_printf("server: \"%s\"", fake_server_url(script.server));
    return client_of(cluster, user, timeout_ms);
}

static void end_client(struct kube_client *client)
{
    kube_client_stop(client);
    kube_client_free(client);
    renew_server();
}

static int ask(struct kube_client *client, const char *method, bool once)
{
    struct kube_call call;
    kube_call_start(&call, client, error);
    return kube_ask(&call, &(struct kube_request){.method = method, .path = PATH, .once = once}, NULL);
}

static void test_too_many_requests(void **state)
{
    (void)state;
    struct kube_client *client = client_as("token: t", TIMEOUT_MS);
    int64_t before = clock_mono_ms(clock_system());
    SAY({.status = 429, .head = "Retry-After: 1\r\n", .body = "{}"}, {.status = 429, .body = "{}"},
        {.status = 200, .body = "{}"});
    assert_int_equal(ask(client, "GET", false), 0);
    assert_int_equal(seen(), 3);
    assert_true(clock_mono_ms(clock_system()) - before >= 1500); /* as long as it said, and then by ourselves */
    /* What a budget says is an answer. */
    SAY({.status = 429, .head = "Retry-After: 1\r\n", .body = "{\"message\":\"the budget\"}"});
    assert_int_equal(ask(client, "POST", true), STATUS_FULL);
    assert_non_null(strstr(error, "the budget"));
    assert_int_equal(seen(), 1);
    /* Later than the deadline: nobody waits for that. */
    SAY({.status = 429, .head = "Retry-After: 3600\r\n", .body = "{}"});
    assert_int_equal(ask(client, "GET", false), STATUS_FULL);
    assert_int_equal(seen(), 1);
    end_client(client);
}

#define LONG                                                                                              \
    "a-name-of-a-pod-that-fills-the-whole-sentence-a-name-of-a-pod-that-fills-the-whole-sentence-"        \
    "a-name-of-a-pod-that-fills-the-whole-sentence-a-name-of-a-pod-that-fills-the-whole-sentence-a-name-" \
    "of-a-pod-that-fills-the-whole-sentence"
#define SAID(text) .body = "{\"message\":\"" text "\"}"
#define NO_RIGHT "forbidden: User 'h' cannot create resource 'pods/eviction'"

static void test_answers(void **state)
{
    (void)state;
    static const struct {
        struct step step;
        int status;
        const char *says;
    } cases[] = {
        {{.status = 200, .body = "<html>"}, STATUS_BACKEND, "cannot be read"},
        {{.status = 200, .body = ""}, STATUS_BACKEND, "cannot be read"},
        {{.status = 302, .head = "Location: http://127.0.0.1:1/\r\n", .body = ""}, STATUS_BACKEND, "HTTP 302"},
        {{.status = 403, SAID("u cannot list\\nnodes")}, STATUS_BACKEND, "u cannot list"},
        {{.status = 403, SAID("pods '" LONG "' is " NO_RIGHT)}, STATUS_DENIED, "HTTP 403: User 'h' cannot"},
        {{.status = 403, SAID(NO_RIGHT)}, STATUS_DENIED, "HTTP 403: User 'h' cannot create"},
        {{.status = 403, SAID("node is under attack")}, STATUS_BACKEND, "under attack"},
        {{.status = 403, SAID("admission webhook 'a' denied it: p is " NO_RIGHT)}, STATUS_BACKEND, "denied it"},
        {{.status = 403, SAID("p is forbidden: Policy 'a' denied: User h cannot")}, STATUS_BACKEND, "Policy"},
        {{.status = 404, .body = "{\"message\":7}"}, STATUS_NOT_FOUND, "HTTP 404"},
        {{.status = 409, .body = "{}"}, STATUS_CONFLICT, "HTTP 409"},
        {{.status = 410, .body = "{}"}, STATUS_STALE, "HTTP 410"},
        {{.status = 422, .body = "{}"}, STATUS_INVALID, "HTTP 422"},
        {{.status = 503, .head = "Retry-After: 1\r\n", .body = "no"}, STATUS_UNAVAILABLE, "HTTP 503"},
        {{.status = 200, .head = "Content-Encoding: gzip\r\n", .body = "x"}, STATUS_BACKEND, "cannot be read"},
    };
    struct kube_client *client = client_as("token: t", TIMEOUT_MS);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct kube_call call;
        auto_json json_t *json = NULL;
        say(&cases[i].step, 1);
        kube_call_start(&call, client, error);
        assert_int_equal(kube_get(&call, PATH, &json), cases[i].status);
        if (strstr(error, cases[i].says) == NULL)
            fail_msg("case %zu: %s", i, error);
        assert_true(text_is_clean(error));
        assert_int_equal(seen(), 1);
    }
    end_client(client);
    /* Silence is a time-out, and the call's own. */
    client = client_as("token: t", 200);
    SAY({.body = NULL});
    assert_int_equal(ask(client, "GET", false), STATUS_TIMEOUT);
    assert_non_null(strstr(error, "did not answer"));
    end_client(client);
}

/* --- tokens ------------------------------------------------------------------------------------- */

static void write_file(const char *name, const char *text, mode_t mode)
{
    autofree char *path = own_printf("%s/%s", dir, name);
    assert_int_equal(file_write(path, text, strlen(text), mode), 0);
    assert_int_equal(chmod(path, mode), 0);
}

static char *read_file(const char *name)
{
    autofree char *path = own_printf("%s/%s", dir, name);
    char *text = NULL;
    size_t len;
    return file_read(path, 1 << 20, &text, &len) == 0 ? text : own_strdup("");
}

static void test_a_rotated_token_counts_at_once(void **state)
{
    (void)state;
    struct kube_client *client = client_as("tokenFile: token", TIMEOUT_MS);
    SAY({.status = 200, .body = "{}"}, {.status = 401, .body = "{}"}, {.status = 200, .body = "{}"},
        {.status = 401, .body = "{}"}, {.status = 401, .body = "{\"message\":\"Unauthorized\"}"});
    write_file("token", "one\n", 0600);
    assert_int_equal(ask(client, "GET", false), 0);
    write_file("token", "two", 0600);
    assert_int_equal(ask(client, "GET", false), 0);
    assert_request(0, "\r\nAuthorization: Bearer one\r\n");
    assert_request(2, "\r\nAuthorization: Bearer two\r\n");
    assert_int_equal(ask(client, "GET", false), STATUS_BACKEND);
    assert_int_equal(seen(), 5);
    write_file("token", "a\nb", 0600);
    assert_int_equal(ask(client, "GET", false), STATUS_UNAVAILABLE);
    assert_non_null(strstr(error, "does not hold a token"));
    assert_int_equal(seen(), 5);
    end_client(client);
}

#define PLUGIN_HEAD                                                                                     \
    "#!/bin/sh\nprintf '%s|' \"$@\" >\"$AT/args\"\nprintf %s \"$KUBERNETES_EXEC_INFO\" >\"$AT/info\"\n" \
    "echo run >>\"$AT/runs\"\n"

static struct kube_client *client_by_plugin(const char *rest, int64_t timeout_ms)
{
    autofree char *user =
        own_printf("exec: {apiVersion: client.authentication.k8s.io/v1, command: ./plugin, args: [eks, "
                   "\"$(touch hacked)\", \"a; b\", \"\"], env: [{name: AT, value: \"%s\"}]}",
                   dir);
    autofree char *text = own_printf("%s%s\n", PLUGIN_HEAD, rest);
    autofree char *runs = own_printf("%s/runs", dir);
    write_file("plugin", text, 0700);
    (void)unlink(runs);
    return client_as(user, timeout_ms);
}

static void assert_runs(size_t count)
{
    autofree char *runs = read_file("runs");
    assert_int_equal(strlen(runs), count * strlen("run\n"));
}

#define ANSWER(token, until)                                                                 \
    "echo '{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\"," \
    "\"status\":{\"token\":\"" token "\"" until "}}'"

static void test_a_plugin_is_run_without_a_shell(void **state)
{
    (void)state;
    struct kube_client *client =
        client_by_plugin(ANSWER("one", ",\"expirationTimestamp\":\"2999-01-01T00:00:00Z\""), TIMEOUT_MS);
    SAY({.status = 200, .body = "{}"}, {.status = 200, .body = "{}"});
    assert_int_equal(ask(client, "GET", false), 0);
    assert_int_equal(ask(client, "GET", false), 0);
    assert_request(1, "\r\nAuthorization: Bearer one\r\n");
    assert_runs(1);
    autofree char *args = read_file("args"), *info = read_file("info");
    assert_string_equal(args, "eks|$(touch hacked)|a; b||");
    assert_string_equal(info,
                        "{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\",\"spec\":{"
                        "\"interactive\":false}}");
    end_client(client);
}

static void test_a_token_that_expires_is_fetched_again(void **state)
{
    (void)state;
    struct kube_client *client =
        client_by_plugin(ANSWER("old", ",\"expirationTimestamp\":\"2001-01-01T00:00:00Z\""), TIMEOUT_MS);
    SAY({.status = 200, .body = "{}"}, {.status = 200, .body = "{}"});
    assert_int_equal(ask(client, "GET", false), 0);
    assert_int_equal(ask(client, "GET", false), 0);
    assert_runs(2);
    end_client(client);
}

/* The first refusal fetches another token, the next ones do not: each would run the plugin. */
static void test_a_token_that_is_refused_is_fetched_again_once(void **state)
{
    (void)state;
    struct kube_client *client = client_by_plugin(ANSWER("no", ""), TIMEOUT_MS);
    SAY({.status = 401, .body = "{}"}, {.status = 401, .body = "{}"}, {.status = 401, .body = "{}"},
        {.status = 401, .body = "{}"});
    assert_int_equal(ask(client, "GET", false), STATUS_BACKEND);
    assert_int_equal(ask(client, "GET", false), STATUS_BACKEND);
    assert_int_equal(seen(), 4);
    assert_runs(2);
    end_client(client);
}

static void test_a_plugin_that_fails_is_left_alone(void **state)
{
    (void)state;
    static const struct {
        const char *plugin;
        int64_t timeout_ms;
        const char *says;
    } cases[] = {
        {"echo 'expired SSO session' >&2; exit 3", TIMEOUT_MS, "expired SSO session"},
        {"exit 1", TIMEOUT_MS, "failed without a word"},
        {"head -c 1100000 /dev/zero | tr '\\0' x", TIMEOUT_MS, "more than 1 MiB"},
        {"echo '{\"kind\":\"ExecCredential\",\"status\":{}}'", TIMEOUT_MS, "status.token"},
        {ANSWER("a b", ""), TIMEOUT_MS, "more than a token"},
        {"exec sleep 60", 300, "credential plugin"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct kube_client *client = client_by_plugin(cases[i].plugin, cases[i].timeout_ms);
        SAY({.status = 200, .body = "{}"});
        for (int tries = 0; tries < 3; tries++) {
            assert_int_equal(ask(client, "GET", false), STATUS_UNAVAILABLE);
            if (strstr(error, cases[i].says) == NULL)
                fail_msg("case %zu: %s", i, error);
        }
        assert_runs(1);
        assert_int_equal(seen(), 0);
        end_client(client);
    }
}

/* --- proxies ------------------------------------------------------------------------------------ */

static void test_proxies(void **state)
{
    (void)state;
    autofree char *by_url =
        own_printf("server: \"https://k8s.invalid:6443\", proxy-url: \"%s\"", fake_server_url(script.server));
    struct kube_client *client = client_of(by_url, "token: t", TIMEOUT_MS);
    SAY({.status = 403, .body = ""});
    assert_int_equal(ask(client, "GET", false), STATUS_UNAVAILABLE);
    assert_request(0, "CONNECT k8s.invalid:6443 HTTP/1.1\r\n");
    pthread_mutex_lock(&script.lock);
    assert_null(strstr(script.requests[0], "Bearer")); /* the token is for the server alone */
    pthread_mutex_unlock(&script.lock);
    end_client(client);
    /* As the environment says, and not where it says so. */
    setenv("HTTPS_PROXY", fake_server_url(script.server), 1);
    client = client_of("server: \"https://k8s.invalid:6443\"", "token: t", TIMEOUT_MS);
    SAY({.status = 403, .body = ""});
    assert_int_equal(ask(client, "GET", false), STATUS_UNAVAILABLE);
    assert_request(0, "CONNECT k8s.invalid:6443 HTTP/1.1\r\n");
    setenv("NO_PROXY", "10.0.0.0/8,.invalid", 1);
    SAY({.status = 403, .body = ""});
    assert_int_equal(ask(client, "GET", false), STATUS_UNAVAILABLE);
    assert_int_equal(seen(), 0);
    end_client(client);
    unsetenv("HTTPS_PROXY");
    unsetenv("NO_PROXY");
}

/* --- lists and watches -------------------------------------------------------------------------- */

static void *keep(const json_t *object)
{
    struct kube_node *node = own_calloc(1, sizeof(*node));
    if (kube_node_read(object, node) == 0)
        return node;
    free(node);
    return NULL;
}

static uint64_t version_of(const void *kept)
{
    return ((const struct kube_node *)kept)->version;
}

static void add_name(const void *kept, void *arg)
{
    char(*names)[8] = arg;
    const struct kube_node *node = kept;
    (*names)[node->object[0] - 'a'] = node->object[0];
}

/* Each test's own: a client, and what it keeps. */
static struct kube_client *cache_client;
static struct kube_cache *cache;

static void start_cache(void)
{
    static const struct kube_cache_kind kind = {.path = PATH, .query = "", .read = keep, .version = version_of};
    cache_client = client_as("token: t", TIMEOUT_MS);
    cache = kube_cache_new(cache_client, &kind);
}

static void end_cache(void)
{
    kube_client_stop(cache_client);
    kube_cache_free(cache);
    kube_client_free(cache_client);
    renew_server();
}

static void assert_kept(const char *names)
{
    struct kube_call call;
    char kept[8] = "", found[8] = "";
    kube_call_start(&call, cache_client, error);
    if (kube_cache_ready(cache, &call) != 0)
        fail_msg("%s", error);
    kube_cache_each(cache, add_name, &kept);
    for (size_t i = 0, n = 0; i < sizeof(kept); i++)
        if (kept[i] != '\0')
            found[n++] = kept[i];
    assert_string_equal(found, names);
}

#define OBJECT(name, version) \
    "{\"metadata\":{\"name\":\"" name "\",\"uid\":\"u" name "\",\"resourceVersion\":\"" version "\"}}"
#define LIST(version, more, items)                                                                                  \
    {                                                                                                               \
        .status = 200, .body = "{\"metadata\":{\"resourceVersion\":\"" version "\"" more "},\"items\":[" items "]}" \
    }
#define EVENT(type, object) "{\"type\":\"" type "\",\"object\":" object "}\n"
#define BOOKMARK(version) EVENT("BOOKMARK", "{\"kind\":\"Node\",\"metadata\":{\"resourceVersion\":\"" version "\"}}")
#define WATCH(lines)                                \
    {                                               \
        .status = 200, .watch = true, .body = lines \
    }
#define GONE "{\"kind\":\"Status\",\"code\":410,\"reason\":\"Expired\",\"message\":\"too old\"}"

static void test_pages_and_bookmarks(void **state)
{
    (void)state;
    SAY(LIST("10", ",\"continue\":\"a+/=&b\"", OBJECT("a", "1")), LIST("10", "", OBJECT("b", "2")),
        WATCH(EVENT("ADDED", OBJECT("c", "11")) EVENT("DELETED", OBJECT("a", "12")) BOOKMARK("17")), WATCH(""));
    start_cache();
    wait_for(5);
    assert_kept("bc");
    assert_request(0, "GET " PATH "?limit=500 HTTP");
    assert_request(1, "GET " PATH "?limit=500&continue=a%2B%2F%3D%26b HTTP");
    assert_request(2, "watch=true&allowWatchBookmarks=true&timeoutSeconds=300&resourceVersion=10 HTTP");
    assert_request(3, "&resourceVersion=17 HTTP"); /* it goes on where the bookmark was */
    assert_request(4, "&resourceVersion=17 HTTP");
    end_cache();
}

/* In the middle of the pages, as an answer to the watch, and within it: it lists again, and shows what it had meanwhile. */
static void test_a_place_that_is_forgotten(void **state)
{
    (void)state;
    SAY(LIST("10", ",\"continue\":\"x\"", OBJECT("a", "1")), {.status = 410, .body = GONE},
        LIST("20", "", OBJECT("a", "1") "," OBJECT("b", "2")), {.status = 410, .body = GONE},
        LIST("30", "", OBJECT("b", "2")), WATCH(EVENT("ERROR", GONE)),
        LIST("40", "", OBJECT("b", "2") "," OBJECT("d", "3")));
    start_cache();
    wait_for(8);
    assert_kept("bd");
    assert_request(2, "GET " PATH "?limit=500 HTTP");
    assert_request(6, "GET " PATH "?limit=500 HTTP");
    assert_request(7, "&resourceVersion=40 HTTP");
    end_cache();
}

/* A server that has forgotten every place is not followed, and that is said. */
static void test_a_server_that_forgets_always(void **state)
{
    (void)state;
    struct kube_call call;
    SAY({.status = 410, .body = GONE}, {.status = 410, .body = GONE});
    start_cache();
    kube_call_start(&call, cache_client, error);
    assert_int_equal(kube_cache_ready(cache, &call), STATUS_STALE);
    assert_non_null(strstr(error, "too old"));
    end_cache();
}

static void test_what_cannot_be_read_is_listed_again(void **state)
{
    (void)state;
    SAY({.status = 200, .body = "{\"metadata\":{}}"}, LIST("10", "", OBJECT("a", "1")), WATCH("garbage\n"),
        LIST("11", "", OBJECT("b", "1")), WATCH(EVENT("ADDED", "{\"metadata\":{}}")), LIST("12", "", OBJECT("c", "1")));
    start_cache();
    wait_for(7);
    assert_kept("c");
    assert_request(6, "&resourceVersion=12 HTTP");
    end_cache();
}

/* A watch that is refused for a while goes on where it was, after the pause that was asked for and a small request. */
static void test_a_watch_of_an_overloaded_server(void **state)
{
    (void)state;
    SAY(LIST("10", "", OBJECT("a", "1")), {.status = 429, .head = "Retry-After: 1\r\n", .body = "{}"},
        {.status = 200, .body = "{}"});
    start_cache();
    wait_for(4);
    pthread_mutex_lock(&script.lock);
    int64_t pause = script.times[2] - script.times[1];
    pthread_mutex_unlock(&script.lock);
    assert_true(pause >= 900);
    assert_request(2, "GET " PATH "?limit=1 HTTP");
    assert_request(3, "&resourceVersion=10 HTTP");
    assert_kept("a");
    end_cache();
}

static int ready_now(void)
{
    struct kube_call call;
    kube_call_start(&call, cache_client, error);
    return kube_cache_ready(cache, &call);
}

static void wait_until_ready_is(int status)
{
    int64_t until = clock_mono_ms(clock_system()) + 3 * TIMEOUT_MS;
    while (ready_now() != status) {
        if (clock_mono_ms(clock_system()) > until)
            fail_msg("it is never %s: %s", status_text(status), error);
        usleep(5000);
    }
}

/* A right to list without the right to watch is an outage that lasts, whatever is listed meanwhile. */
static void test_a_watch_that_is_denied(void **state)
{
    (void)state;
    SAY(LIST("10", "", OBJECT("a", "1")));
    refuse_watches(403);
    start_cache();
    wait_until_ready_is(STATUS_DENIED);
    for (size_t from = seen(); seen() < from + 4;) {
        assert_int_equal(ready_now(), STATUS_DENIED);
        assert_non_null(strstr(error, "cannot watch resource \"nodes\""));
        usleep(1000);
    }
    refuse_watches(0);
    wait_until_ready_is(0);
    assert_kept("a");
    end_cache();
}

/* A connection that breaks is no outage, whatever follows it; nor is a server that refuses a watch a few times. One that always does is. */
static void test_a_watch_that_breaks_is_no_outage(void **state)
{
    (void)state;
    SAY(LIST("10", "", OBJECT("a", "1")),
        {.status = 200, .head = "Content-Length: 999\r\n", .watch = true, .body = BOOKMARK("11")});
    start_cache();
    assert_kept("a");
    wait_for(2);
    refuse_watches(429);
    wait_until_ready_is(STATUS_FULL);
    assert_true(seen() >= 2 + 6 * 2); /* each refusal, and the small request before it */
    assert_non_null(strstr(error, "HTTP 429"));
    end_cache();
    refuse_watches(0);
}

static bool ignore_line(const char *line, size_t len, void *arg)
{
    (void)line;
    *(size_t *)arg += len;
    return true;
}

/* A connection that is dead without a word, and a line without an end. */
static void test_watches_that_never_end(void **state)
{
    (void)state;
    struct kube_client *client = client_as("token: t", TIMEOUT_MS);
    struct kube_call call;
    size_t got = 0;
    pthread_mutex_lock(&script.lock);
    char *endless = keep_text(own_calloc(1, (9 << 20) + 1));
    pthread_mutex_unlock(&script.lock);
    memset(endless, 'x', 9 << 20);
    const struct step steps[] = {{.status = 200, .watch = true, .hold = true, .body = "{}\n"},
                                 {.status = 200, .watch = true, .body = endless}};
    say(steps, ARRAY_LEN(steps));
    kube_call_start(&call, client, error);
    assert_int_equal(kube_watch(&call, PATH "?watch=true", ignore_line, &got, 200), STATUS_TIMEOUT);
    assert_int_equal(got, 2);
    kube_call_start(&call, client, error);
    assert_int_equal(kube_watch(&call, PATH "?watch=true", ignore_line, &got, TIMEOUT_MS), STATUS_TOO_LARGE);
    end_client(client);
    say(NULL, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_too_many_requests),
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_a_rotated_token_counts_at_once),
        cmocka_unit_test(test_a_plugin_is_run_without_a_shell),
        cmocka_unit_test(test_a_token_that_expires_is_fetched_again),
        cmocka_unit_test(test_a_token_that_is_refused_is_fetched_again_once),
        cmocka_unit_test(test_a_plugin_that_fails_is_left_alone),
        cmocka_unit_test(test_proxies),
        cmocka_unit_test(test_pages_and_bookmarks),
        cmocka_unit_test(test_a_place_that_is_forgotten),
        cmocka_unit_test(test_a_server_that_forgets_always),
        cmocka_unit_test(test_what_cannot_be_read_is_listed_again),
        cmocka_unit_test(test_a_watch_of_an_overloaded_server),
        cmocka_unit_test(test_a_watch_that_is_denied),
        cmocka_unit_test(test_a_watch_that_breaks_is_no_outage),
        cmocka_unit_test(test_watches_that_never_end),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
