/*
 * hpctl as a whole against a scripted server: what a verb asks, prints and ends with, above all when things go wrong half-way.
 */
#include "base/own.h"
#include "cli/cli.h"
#include "tests/support/fake_server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#define ARGS_MAX 14

static int run(const char *url, char **ret_text, const char *const *words)
{
    char *argv[ARGS_MAX + 5] = {(char *)(uintptr_t) "hpctl", (char *)(uintptr_t) "--server", (char *)(uintptr_t)url,
                                (char *)(uintptr_t) "--token", (char *)(uintptr_t) "hfa_x"};
    int argc = 5;
    for (; words[argc - 5] != NULL; argc++)
        argv[argc] = (char *)(uintptr_t)words[argc - 5];
    size_t len;
    FILE *f = open_memstream(ret_text, &len);
    int rc = cli_main(argc, argv, f, f);
    fclose(f);
    return rc;
}

#define REQUESTS_MAX 16

struct script {
    struct fake_server *server;
    int requests;
    char seen[REQUESTS_MAX][128]; /* first lines */
    const char *const *streams;   /* of the event stream, one a connection; a number: that status */
    const char *const *states;    /* of the operation, one a request; a number: that status */
};

/* What a change of a whole cluster has come to; a cluster that shrinks has more in service than it wants. */
static void test_progress_in_words(void **state)
{
    static const struct {
        const char *progress, *expected;
    } rows[] = {
        {"{\"nodesInService\":5,\"nodesWanted\":0,\"nodesFailed\":0,\"nodesLeft\":8}",
         "5 nodes in service, 0 wanted, 8 to go"},
        {"{\"nodesInService\":1,\"nodesWanted\":0,\"nodesFailed\":0,\"nodesLeft\":1}",
         "1 node in service, 0 wanted, 1 to go"},
        {"{\"nodesInService\":0,\"nodesWanted\":1,\"nodesFailed\":1,\"nodesLeft\":0}",
         "0 of 1 node in service, 1 failed"},
        {"{\"nodesInService\":3,\"nodesWanted\":4,\"nodesFailed\":0,\"nodesLeft\":1}",
         "3 of 4 nodes in service, 1 to go"},
        {"{\"nodesInService\":0,\"nodesWanted\":0,\"nodesFailed\":0,\"nodesLeft\":0}", ""},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char text[128];
        auto_json json_t *operation = json_pack("{s:o}", "progress", json_loads(rows[i].progress, 0, NULL));
        assert_string_equal(cli_progress(operation, text, sizeof(text)), rows[i].expected);
    }
}

static void play(const char *request, size_t len, struct fake_answer *answer, void *arg)
{
    struct script *script = arg;
    (void)len;
    if (script->requests < REQUESTS_MAX)
        snprintf(script->seen[script->requests], sizeof(script->seen[0]), "%.*s", (int)strcspn(request, "\r\n"),
                 request);
    script->requests++;
    answer->close = true;
    int64_t status;
    if (script->states != NULL) {
        const char *state = *script->states++;
        autofree char *body =
            own_printf("{\"id\":\"x\",\"state\":\"%s\",\"steps\":[],\"operation\":{\"id\":\"op-1\"},\"progress\":"
                       "{\"nodesInService\":2,\"nodesWanted\":4,\"nodesFailed\":1,\"nodesLeft\":2}}",
                       state);
        bool bad = text_parse_i64(state, 100, 599, &status) == 0;
        fake_answer_json(answer, script->server, bad ? (int)status : 200, bad ? "{}" : body);
        return;
    }
    if (strstr(request, "/v1/events/stream") == NULL) {
        fake_answer_json(answer, script->server, 200, "{\"items\":[]}");
        return;
    }
    const char *stream = *script->streams++;
    if (text_parse_i64(stream, 100, 599, &status) == 0) {
        fake_answer_json(answer, script->server, (int)status, "{}");
        return;
    }
    answer->pieces[answer->count++] = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
    answer->pieces[answer->count++] = stream;
}

static int setup(void **state)
{
    struct script *script = own_calloc(1, sizeof(*script));
    script->server = fake_server_start(NULL, 0, NULL, NULL, play, script);
    *state = script;
    return script->server == NULL ? -1 : 0;
}

static int teardown(void **state)
{
    struct script *script = *state;
    fake_server_stop(script->server);
    free(script);
    return 0;
}

/* --- the event stream --------------------------------------------------------------------------------------- */

/* Cut between an event's id and its words, cut within its words, and a server that is just starting: nothing is lost and
 * nothing comes twice. */
static void a_cut_stream_loses_nothing(void **state)
{
    static const char *const streams[] = {
        "id: 5\nevent: jobs\ndata: {\"id\":\"5\",\"message\":\"five\"}\n\nid: 6\nevent: jobs\n",
        "id: 6\nevent: jobs\ndata: {\"id\":\"6\",\"mess",
        "503",
        "id: 6\nevent: jobs\ndata: {\"id\":\"6\",\"message\":\"six\"}\n\n: keep-alive\n\n",
        "403",
    };
    static const char *const expected[] = {"after=0 ", "after=5 ", "after=5 ", "after=5 ", "after=6 "};
    struct script *script = *state;
    script->streams = streams;
    autofree char *text = NULL;
    int rc =
        run(fake_server_url(script->server), &text, (const char *[]){"event", "list", "--follow", "-o", "json", NULL});
    assert_int_equal(rc, CLI_EXIT_AUTH);
    assert_int_equal(script->requests, 1 + (int)ARRAY_LEN(expected));
    for (size_t i = 0; i < ARRAY_LEN(expected); i++)
        if (strstr(script->seen[i + 1], expected[i]) == NULL)
            fail_msg("stream %zu: \"%s\" instead of %s", i, script->seen[i + 1], expected[i]);
    const char *five = "{\"id\":\"5\",\"message\":\"five\"}\n{\"id\":\"6\",\"message\":\"six\"}\nhpctl: ";
    if (!text_starts_with(text, five))
        fail_msg("%s", text);
}

/* --- what is asked for -------------------------------------------------------------------------------------- */

/* The verb must not have been done when its command line turns out to be wrong. */
static void a_bad_timeout_touches_no_node(void **state)
{
    static const char *const verbs[][6] = {{"node", "reboot", "gpu-1", "-cdemo"},
                                           {"node", "replace", "gpu-1", "-cdemo"},
                                           {"operation", "wait", "x"},
                                           {"cluster", "create", "-f/dev/null"},
                                           {"cluster", "delete", "x", "--yes"},
                                           {"cluster", "update-software", "x"},
                                           {"node", "add", "-cdemo", "-ggpu"},
                                           {"apply", "-f/dev/null", "--yes"}};
    struct script *script = *state;
    for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
        autofree char *text = NULL;
        const char *words[ARGS_MAX] = {"--timeout", "soon"};
        memcpy(words + 2, verbs[i], sizeof(verbs[i]));
        assert_int_equal(run(fake_server_url(script->server), &text, words), CLI_EXIT_USAGE);
        assert_non_null(strstr(text, "--timeout is a duration"));
    }
    assert_int_equal(script->requests, 0);
}

/* hpd that is started again in the middle of a repair ends no wait; one that was never there does. */
static void waiting_survives_a_restart(void **state)
{
    static const struct {
        const char *states[4];
        int code, requests;
    } cases[] = {
        {{"running", "503", "succeeded"}, CLI_EXIT_OK, 3},
        {{"running", "404"}, CLI_EXIT_NOT_FOUND, 2},
        {{"503"}, CLI_EXIT_UNREACHABLE, 1},
    };
    struct script *script = *state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autofree char *text = NULL;
        script->states = cases[i].states;
        script->requests = 0;
        assert_int_equal(run(fake_server_url(script->server), &text, (const char *[]){"operation", "wait", "x", NULL}),
                         cases[i].code);
        assert_int_equal(script->requests, cases[i].requests);
    }
}

/* A change of a whole cluster is answered with the cluster and what carries it out; the latter is waited for. */
static void a_change_is_followed_to_its_end(void **state)
{
    static const struct {
        const char *words[8];
        const char *states[3], *shown;
        int code, requests;
    } cases[] = {
        {{"cluster", "delete", "x", "--yes"}, {"running"}, "hpctl operation wait op-1", CLI_EXIT_OK, 1},
        {{"cluster", "delete", "x", "--yes", "--wait"}, {"x", "running", "succeeded"}, "Progress", CLI_EXIT_OK, 3},
        {{"cluster", "delete", "x", "--yes", "--wait"}, {"x", "failed"}, "2 of 4 nodes", CLI_EXIT_REFUSED, 2},
        {{"cluster", "update-software", "x", "--wait"}, {"x", "succeeded"}, "1 failed, 2 to go", CLI_EXIT_OK, 2},
        {{"node", "add", "-cx", "-ggpu", "--wait"}, {"x", "cancelled"}, "cancelled", CLI_EXIT_REFUSED, 2},
        {{"node", "add", "-cx", "-ggpu", "-ojson"}, {"x"}, "\"operation\"", CLI_EXIT_OK, 1},
    };
    struct script *script = *state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autofree char *text = NULL;
        script->states = cases[i].states;
        script->requests = 0;
        assert_int_equal(run(fake_server_url(script->server), &text, cases[i].words), cases[i].code);
        assert_int_equal(script->requests, cases[i].requests);
        if (strstr(text, cases[i].shown) == NULL)
            fail_msg("\"%s\" is not in: %s", cases[i].shown, text);
    }
    assert_true(text_starts_with(script->seen[0], "POST /v1/clusters/x/nodes "));
}

static void a_limit_is_asked_for(void **state)
{
    static const struct {
        const char *words[8];
        const char *asks;
    } cases[] = {
        {{"cluster", "list", "--limit", "3"}, "GET /v1/clusters?limit=3 "},
        {{"cluster", "list"}, "GET /v1/clusters?limit=1000 "},
        {{"node", "list", "-cdemo"}, "GET /v1/clusters/demo/nodes?limit=1000 "},
        {{"node", "list", "-cdemo", "--limit=7"}, "GET /v1/clusters/demo/nodes?limit=7 "},
        {{"operation", "list"}, "GET /v1/operations?limit=100 "},
        {{"event", "list", "--kind", "decision", "--level", "warn"},
         "GET /v1/events?kind=decision&minLevel=warn&limit=100 "},
        {{"operation", "list", "--kind", "create-cluster"}, "GET /v1/operations?kind=create-cluster&limit=100 "},
        {{"quota", "list", "-cdemo"}, "GET /v1/clusters/demo/quotas?limit=1000 "},
        {{"scheduler", "list"}, "GET /v1/schedulers HTTP"},
        {{"scheduler", "nodes"}, "GET /v1/scheduler/nodes?limit=1000 "},
        {{"scheduler", "nodes", "--scheduler", "east"}, "GET /v1/schedulers/east/nodes?limit=1000 "},
        {{"policy", "show"}, "GET /v1/policies HTTP"},
        {{"policy", "show", "-ca b"}, "GET /v1/clusters/a%20b/policies HTTP"},
        {{"token", "list"}, "GET /v1/tokens HTTP"}, /* has no pages, and its path refuses a limit */
    };
    struct script *script = *state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autofree char *text = NULL;
        assert_int_equal(run(fake_server_url(script->server), &text, cases[i].words), CLI_EXIT_OK);
        if (!text_starts_with(script->seen[i], cases[i].asks))
            fail_msg("\"%s\" instead of \"%s\"", script->seen[i], cases[i].asks);
    }
}

/* Names and keys as they stand in paths and queries. */
static void governance_and_tags_are_asked_for(void **state)
{
    static const struct {
        const char *words[6];
        const char *asks;
    } cases[] = {
        {{"scheduler-config", "describe", "-cdemo"}, "GET /v1/clusters/demo/scheduler-config HTTP"},
        {{"scheduler-config", "describe", "-cdemo", "--at-version", "2"},
         "GET /v1/clusters/demo/scheduler-config?version=2 "},
        {{"scheduler-config", "delete", "-cdemo"}, "DELETE /v1/clusters/demo/scheduler-config "},
        {{"quota", "describe", "a b", "-cdemo"}, "GET /v1/clusters/demo/quotas/a%20b "},
        {{"quota", "delete", "a", "-cdemo"}, "DELETE /v1/clusters/demo/quotas/a "},
        {{"tag", "list", "-cdemo"}, "GET /v1/clusters/demo/tags "},
        {{"tag", "list", "-cdemo", "--quota", "a"}, "GET /v1/clusters/demo/quotas/a/tags "},
        {{"tag", "add", "k=v=w", "-cdemo", "--scheduler-config"}, "POST /v1/clusters/demo/scheduler-config/tags "},
        {{"tag", "delete", "a/ä&b", "-cdemo"}, "DELETE /v1/clusters/demo/tags?key=a%2F%C3%A4%26b "},
    };
    static const char *const wrong[][8] = {
        {"tag", "add", "k", "-cdemo"},      {"tag", "add", "=v", "-cdemo"},
        {"tag", "add", "\xff=v", "-cdemo"}, {"tag", "list", "-cdemo", "--quota", "a", "--scheduler-config"},
        {"quota", "create", "-cdemo"},      {"quota", "update", "a", "-cdemo", "-f", "/dev/null", "--at-version", "x"},
    };
    struct script *script = *state;
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        autofree char *text = NULL;
        const char *words[ARGS_MAX] = {NULL};
        memcpy(words, wrong[i], sizeof(wrong[i]));
        assert_int_equal(run(fake_server_url(script->server), &text, words), CLI_EXIT_USAGE);
    }
    assert_int_equal(script->requests, 0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autofree char *text = NULL;
        assert_int_equal(run(fake_server_url(script->server), &text, cases[i].words), CLI_EXIT_OK);
        if (!text_starts_with(script->seen[i], cases[i].asks))
            fail_msg("\"%s\" instead of \"%s\"", script->seen[i], cases[i].asks);
    }
}

/* The fault tables answer without a server: nobody listens at this address. */
static void test_faults_need_no_server(void **state)
{
    (void)state;
    static const struct {
        const char *words[6];
        int rc;
        const char *says[3];
    } cases[] = {
        {{"fault", "list"}, 0, {"xid.79", "node.disk.full", "5 in 24 h: support"}},
        {{"fault", "list", "--table", "efa"}, 0, {"efa.device.gone", "reboot", "replace"}},
        {{"fault", "list", "--table", "nothing"}, 2, {"there is no table nothing", "custom", ""}},
        {{"fault", "describe", "79"}, 0, {"xid.79: GPU has fallen off the bus", "RESTART_BM", "give way now"}},
        {{"fault", "describe", "node.disk.full"}, 0, {"has no room left", "it is recorded and counted", "[V] GKE"}},
        {{"fault", "describe", "DCGM_FR_FALLEN_OFF_BUS"}, 0, {"dcgm.fallen-off-bus", "[P] again: replace", ""}},
        {{"fault", "describe", "xid.162"}, 0, {"Takes back", "xid.163", ""}},
        {{"fault", "describe", "9999"}, 5, {"no table has \"9999\"", "recorded and watched", ""}},
        {{"fault", "describe", ""}, 5, {"no table has \"\"", "", ""}},
        {{"fault", "describe"}, 2, {"needs CODE", "", ""}},
        {{"fault", "describe", "63", "-o", "json"}, 0, {"\"code\": \"xid.63\"", "\"tableVersion\"", "\"number\": 63"}},
        {{"fault", "describe", "kernel.oops", "-o", "yaml"}, 0, {"withinHours: 24", "action: support", "- '[V] EKS"}},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autofree char *text = NULL;
        int rc = run("http://127.0.0.1:1", &text, cases[i].words);
        if (rc != cases[i].rc)
            fail_msg("case %zu ends with %d: %s", i, rc, text);
        for (size_t k = 0; k < ARRAY_LEN(cases[i].says); k++)
            if (strstr(text, cases[i].says[k]) == NULL)
                fail_msg("case %zu does not say \"%s\": %s", i, cases[i].says[k], text);
    }
}

/* --- how it is printed --------------------------------------------------------------------------------------- */

static void items(const char *request, size_t len, struct fake_answer *answer, void *arg)
{
    struct script *script = arg;
    (void)len;
    if (script->requests < REQUESTS_MAX)
        snprintf(script->seen[script->requests], sizeof(script->seen[0]), "%.*s", (int)strcspn(request, "\r\n"),
                 request);
    script->requests++;
    answer->close = true;
    if (script->states != NULL && *script->states != NULL) { /* one reply a request */
        const char *body = *script->states++;
        fake_answer_json(answer, script->server, *body == '4' ? 403 : 200, *body == '4' ? "{}" : body);
        return;
    }
    fake_answer_json(
        answer, script->server, 200,
        "{\"items\":[{\"name\":\"gpu-10\",\"id\":\"7f3a91bc-2b6e-4e1d-9a31-0f0e0d0c0b0a\",\"state\":\"held\",\"live\":{"
        "\"silent\":true}},{\"name\":\"gpu-9\",\"id\":\"7f3a91bd-2b6e-4e1d-9a31-0f0e0d0c0b0a\",\"state\":\"ready\","
        "\"live\":{\"silent\":false}}]}");
}

static int items_setup(void **state)
{
    struct script *script = own_calloc(1, sizeof(*script));
    script->server = fake_server_start(NULL, 0, NULL, NULL, items, script);
    *state = script;
    return script->server == NULL ? -1 : 0;
}

/* The server's words may be a machine's or another person's: on a terminal they turn nothing around. */
static void a_refusal_is_shown_harmless(void **state)
{
    static const char body[] = "{\"title\":\"No\",\"code\":\"conflict\",\"detail\":\"held: \\u202eready\\u001b[2J\"}";
    char *text = NULL;
    size_t len;
    struct cli cli = {.err = open_memstream(&text, &len)};
    (void)state;
    assert_int_equal(cli_refused(&cli, 422, body, strlen(body)), CLI_EXIT_REFUSED);
    fclose(cli.err);
    assert_string_equal(text, "hpctl: held: ?ready?[2J (conflict)\n");
    free(text);
}

static void every_way_to_print(void **state)
{
    static const struct {
        const char *words[8], *text;
    } cases[] = {
        {{"node", "list", "-cx", "-oname"}, "gpu-10\ngpu-9\n"},
        {{"node", "list", "-cx", "-ohosts"}, "gpu-[9-10]\n"},
        {{"node", "list", "-cx", "-oname", "--sort-by", "name"}, "gpu-9\ngpu-10\n"},
        {{"node", "list", "-cx", "-oname", "--sort-by", ".state"}, "gpu-10\ngpu-9\n"},
        {{"node", "list", "-cx", "-ojsonpath={.items[*].name}"}, "gpu-10\ngpu-9\n"},
        {{"node", "list", "-cx", "-ojsonpath=[1].live.silent"}, "false\n"},
        {{"node", "list", "-cx", "-ojsonpath=[0].live"}, "{\"silent\":true}\n"},
        {{"node", "list", "-cx", "-ojsonpath={.nothing}"}, "hpctl: nothing is at {.nothing}\n"},
        {{"node", "list", "-cx", "-ocustom-columns=N:.name,SILENT:live.silent"},
         "N       SILENT\ngpu-10  yes\ngpu-9   no\n"},
        {{"node", "list", "-cx", "--no-headers", "-ocustom-columns=N:.name"}, "gpu-10\ngpu-9\n"},
        {{"node", "list", "-cx", "-oname", "--sort-by=stat"},
         "hpctl: no item has \"stat\" (the nearest is \"state\"), so they are not sorted\ngpu-10\ngpu-9\n"},
    };
    struct script *script = *state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autofree char *text = NULL;
        assert_int_equal(run(fake_server_url(script->server), &text, cases[i].words), CLI_EXIT_OK);
        assert_string_equal(text, cases[i].text);
    }
}

static void a_wrong_word_is_an_error_before_anything_is_asked(void **state)
{
    static const struct {
        const char *words[8], *says;
    } cases[] = {
        {{"event", "list", "--kind", "decisions"}, "--kind cannot be \"decisions\" (the nearest is \"decision\")"},
        {{"event", "list", "--level", "fatal"}, "it is one of info, warn, error"},
        {{"event", "list", "--since", "soon"}, "--since is a time"},
        {{"node", "list", "-cx", "--state", "redy"}, "(the nearest is \"ready\")"},
        {{"operation", "list", "--kind", "bogus"}, "--kind cannot be \"bogus\""},
        {{"node", "list", "-cx", "-o", "jsn"}, "(the nearest is \"json\")"},
        {{"node", "list", "-cx", "-o", "jsonpath="}, "--output is table"},
        {{"node", "reboot", "gpu-[1-", "-cx"}, "is no list of at most 1000 nodes"},
        {{"node", "reboot", "gpu-[1-2]", "-cx", "--idempotency-key", "k"}, "is for one node, not for 2"},
        {{"node", "report", "gpu-1", "-cx", "-f", "x"}, "-f FILE takes no NODE, --device"},
        {{"node", "report", "-cx", "-f", "x", "--hours", "2"}, "-f FILE takes no NODE, --device"},
        {{"node", "report", "-cx", "-f", "x", "--device", "a"}, "-f FILE takes no NODE, --device"},
        {{"node", "report", "-cx", "-f", "x", "--idempotency-key", "k"}, "--idempotency-key: the file has them"},
    };
    struct script *script = *state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autofree char *text = NULL;
        assert_int_equal(run(fake_server_url(script->server), &text, cases[i].words), CLI_EXIT_USAGE);
        if (strstr(text, cases[i].says) == NULL)
            fail_msg("\"%s\" is not in: %s", cases[i].says, text);
    }
    assert_int_equal(script->requests, 0);
}

/* A beginning is enough where only one id has it; of two nothing is guessed. */
static void short_ids_and_lists_of_nodes(void **state)
{
    struct script *script = *state;
    autofree char *text = NULL, *twice = NULL, *each = NULL;
    assert_int_equal(
        run(fake_server_url(script->server), &text, (const char *[]){"operation", "describe", "7f3a91bc", NULL}),
        CLI_EXIT_OK);
    assert_true(text_starts_with(script->seen[2], "GET /v1/operations/7f3a91bc-2b6e-4e1d-9a31-0f0e0d0c0b0a "));
    script->requests = 0;
    assert_int_equal(
        run(fake_server_url(script->server), &twice, (const char *[]){"operation", "cancel", "7f3a", NULL}),
        CLI_EXIT_USAGE);
    assert_non_null(strstr(twice, "several ids begin with 7f3a"));
    script->requests = 0;
    assert_int_equal(run(fake_server_url(script->server), &each,
                         (const char *[]){"node", "opt-out", "gpu-[1-2],login", "-cx", NULL}),
                     CLI_EXIT_OK);
    assert_int_equal(script->requests, 3);
    assert_true(text_starts_with(script->seen[1], "PATCH /v1/clusters/x/nodes/gpu-2 "));
    assert_true(text_starts_with(script->seen[2], "PATCH /v1/clusters/x/nodes/login "));
}

static void a_watch_prints_what_has_changed(void **state)
{
    static const char *const bodies[] = {"{\"items\":[{\"name\":\"a\"}]}", "{\"items\":[{\"name\":\"a\"}]}",
                                         "{\"items\":[{\"name\":\"b\"}]}", "403", NULL};
    struct script *script = *state;
    script->states = bodies;
    autofree char *text = NULL;
    assert_int_equal(
        run(fake_server_url(script->server), &text, (const char *[]){"node", "list", "-cx", "-oname", "--watch", NULL}),
        CLI_EXIT_AUTH);
    assert_true(text_starts_with(text, "a\n\nb\nhpctl: "));
    assert_int_equal(script->requests, 4);
}

int main(void)
{
    setenv("HOME", "/nonexistent", 1);
    unsetenv("HPCTL_CONFIG");
    unsetenv("HPCTL_FINGERPRINT");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_progress_in_words),
        cmocka_unit_test(test_faults_need_no_server),
        cmocka_unit_test_setup_teardown(a_cut_stream_loses_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(a_bad_timeout_touches_no_node, setup, teardown),
        cmocka_unit_test_setup_teardown(waiting_survives_a_restart, setup, teardown),
        cmocka_unit_test_setup_teardown(a_change_is_followed_to_its_end, setup, teardown),
        cmocka_unit_test_setup_teardown(a_limit_is_asked_for, setup, teardown),
        cmocka_unit_test(a_refusal_is_shown_harmless),
        cmocka_unit_test_setup_teardown(every_way_to_print, items_setup, teardown),
        cmocka_unit_test_setup_teardown(a_wrong_word_is_an_error_before_anything_is_asked, items_setup, teardown),
        cmocka_unit_test_setup_teardown(short_ids_and_lists_of_nodes, items_setup, teardown),
        cmocka_unit_test_setup_teardown(a_watch_prints_what_has_changed, items_setup, teardown),
        cmocka_unit_test_setup_teardown(governance_and_tags_are_asked_for, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
