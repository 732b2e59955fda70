/* hpctl doctor, login, context, completion and top against a scripted server. */
#include "base/file.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/cli.h"
#include "tests/support/fake_server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ARGS_MAX 12

struct world {
    struct fake_server *server;
    bool sick;
    char token[64]; /* of the last request */
};

static char directory[] = "/tmp/test_tools.XXXXXX";

static const char *body_of(const struct world *world, const char *request)
{
    static const struct {
        const char *path, *well, *sick;
    } bodies[] = {
        {"/v1/version", "{\"version\":\"1\",\"role\":\"operator\"}", NULL},
        {"/v1/audit?operation=backup.create", "{\"items\":[{\"at\":\"2999-01-01T00:00:00.000Z\"}]}",
         "{\"items\":[{\"at\":\"2020-01-01T00:00:00.000Z\"}]}"},
        {"/v1/schedulers", "{\"items\":[{\"name\":\"slurm\",\"state\":\"up\"}]}",
         "{\"items\":[{\"name\":\"slurm\",\"state\":\"down\",\"error\":\"refused\"}]}"},
        {"/v1/certificate", "{\"source\":\"none\"}",
         "{\"source\":\"configured\",\"expiresAt\":\"2020-01-01T00:00:00.000Z\"}"},
        {"/v1/webhooks", "{\"items\":[{\"name\":\"a\",\"state\":\"ok\"}]}", "{\"items\":[]}"},
        {"/v1/machines", "{\"items\":[]}", "{\"items\":[{\"name\":\"m\",\"ready\":false}]}"},
        {"/v1/clusters/demo/nodes", "{\"items\":[{\"name\":\"gpu-1\"},{\"name\":\"gpu-2\"},{\"name\":\"login\"}]}",
         "{\"items\":[{\"name\":\"gpu-1\",\"attention\":\"unheard\"},{\"name\":\"gpu-2\",\"attention\":\"unheard\"}]}"},
        {"/v1/clusters/demo/policies",
         "{\"items\":[{\"name\":\"recovery\",\"settings\":[{\"name\":\"recovery.mode\",\"value\":\"act\"}]}]}",
         "{\"items\":[{\"name\":\"recovery\",\"settings\":[{\"name\":\"recovery.mode\",\"value\":\"observe\"}]}]}"},
        {"/v1/events", "{\"items\":[]}",
         "{\"items\":[{\"node\":\"gpu-2\",\"level\":\"info\",\"message\":\"has its clock right again\"},{\"node\":"
         "\"gpu-1\",\"level\":\"warn\",\"message\":\"has a clock that is 9m behind\"},{\"node\":\"gpu-2\",\"level\":"
         "\"warn\",\"message\":\"has a clock that is 9m ahead\"}]}"},
        {"/v1/clusters/demo",
         "{\"name\":\"demo\",\"nodeRecovery\":\"Automatic\",\"instanceGroups\":[{\"name\":\"g\","
         "\"instanceCount\":2}],\"nodesByState\":{\"ready\":2},\"attention\":[]}",
         "{\"name\":\"demo\",\"nodeRecovery\":\"None\",\"pause\":{\"by\":\"token:ana\",\"since\":"
         "\"2026-11-20T15:02:11.612Z\"},\"instanceGroups\":[{\"name\":\"g\",\"protection\":{\"on\":true}}]}"},
        {"/v1/approvals", "{\"items\":[{\"id\":\"7\",\"approvalUrl\":\"https://h/answer\"}]}", NULL},
        {"/v1/clusters", "{\"items\":[{\"name\":\"demo\"}]}", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++)
        if (strstr(request, bodies[i].path) != NULL)
            return world->sick && bodies[i].sick != NULL ? bodies[i].sick : bodies[i].well;
    return "{\"items\":[]}";
}

static void play(const char *request, size_t len, struct fake_answer *answer, void *arg)
{
    struct world *world = arg;
    const char *token = strstr(request, "Bearer ");
    (void)len;
    if (token != NULL)
        snprintf(world->token, sizeof(world->token), "%.*s", (int)strcspn(token + 7, "\r\n"), token + 7);
    answer->close = true;
    bool refused = text_equal(world->token, "wrong");
    fake_answer_json(answer, world->server, refused ? 401 : 200, refused ? "{}" : body_of(world, request));
}

static int setup(void **state)
{
    struct world *world = own_calloc(1, sizeof(*world));
    world->server = fake_server_start(NULL, 0, NULL, NULL, play, world);
    *state = world;
    return world->server == NULL ? -1 : 0;
}

static int teardown(void **state)
{
    struct world *world = *state;
    fake_server_stop(world->server);
    free(world);
    return 0;
}

static int run(char **ret_text, const char *const *words)
{
    char *argv[ARGS_MAX + 2] = {(char *)(uintptr_t) "hpctl"};
    int argc = 1;
    for (; words[argc - 1] != NULL; argc++)
        argv[argc] = (char *)(uintptr_t)words[argc - 1];
    size_t len;
    FILE *f = open_memstream(ret_text, &len);
    int rc = cli_main(argc, argv, f, f);
    fclose(f);
    return rc;
}

static void says(int code, const char *expected, const char *const *words)
{
    autofree char *text = NULL;
    int rc = run(&text, words);
    if (rc != code || strstr(text, expected) == NULL)
        fail_msg("exit code %d: \"%s\" is not in: %s", rc, expected, text);
}
#define SAYS(code, expected, ...) says(code, expected, (const char *[]){__VA_ARGS__, NULL})

static void point_at(const struct world *world)
{
    setenv("HPCTL_URL", fake_server_url(world->server), 1);
    setenv("HPCTL_TOKEN", "hfa_x", 1);
}

static void point_at_nothing(void)
{
    unsetenv("HPCTL_URL");
    unsetenv("HPCTL_TOKEN");
}

/* Each with its command; errors end with 1, warnings alone with 0. */
static void the_doctor_finds_what_is_wrong(void **state)
{
    static const char *const found[] = {
        "scheduler slurm is not reached: refused",
        "hpctl scheduler describe slurm",
        "the server's certificate has ended",
        "no webhook is configured",
        "the last backup was made ",
        "no machine of the inventory is a ready spare",
        "demo: the agents of 2 nodes are not seen: gpu-[1-2]",
        "demo: gpu-1 has a clock that is 9m behind",
        "demo: the policy acts on nothing",
        "demo: token:ana paused the cluster",
        "hpctl cluster resume demo",
        "demo: NodeRecovery is None",
        "demo: replacing in group g is stopped",
    };
    struct world *world = *state;
    point_at(world);
    SAYS(CLI_EXIT_OK, "nothing is wrong\n", "doctor");
    world->sick = true;
    autofree char *text = NULL, *json = NULL;
    assert_int_equal(run(&text, (const char *[]){"doctor", NULL}), CLI_EXIT_REFUSED);
    for (size_t i = 0; i < ARRAY_LEN(found); i++)
        if (strstr(text, found[i]) == NULL)
            fail_msg("\"%s\" is not in: %s", found[i], text);
    assert_null(strstr(text, "gpu-2 has a clock")); /* it is right again */
    assert_int_equal(run(&json, (const char *[]){"doctor", "-ojson", NULL}), CLI_EXIT_REFUSED);
    auto_json json_t *findings = json_loads(json, 0, NULL);
    assert_int_equal(json_array_size(findings), 11);
    assert_string_equal(json_string_value(json_object_get(json_array_get(findings, 0), "level")), "error");
    point_at_nothing();
}

static void a_login_is_kept_for_its_owner_alone(void **state)
{
    struct world *world = *state;
    struct stat st;
    const char *url = fake_server_url(world->server);
    autofree char *file = own_printf("%s/deep/hpctl.yaml", directory);
    setenv("HPCTL_CONFIG", file, 1);
    point_at_nothing();
    FILE *f = fopen(file, "r");
    assert_null(f);
    /* A file that is named has to be there. */
    autofree char *deep = own_printf("%s/deep", directory);
    assert_int_equal(mkdir(deep, 0700), 0);
    assert_int_equal(file_write(file, "{}\n", 3, 0644), 0);
    SAYS(CLI_EXIT_AUTH, "", "login", url, "--token", "wrong", "--name", "lab");
    SAYS(CLI_EXIT_OK, "no contexts", "context", "list");
    SAYS(CLI_EXIT_OK, "context lab: signed in at http://127.0.0.1", "login", url, "--token", "hfa_lab", "--name",
         "lab");
    assert_int_equal(stat(file, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    SAYS(CLI_EXIT_OK, "context 127.0.0.1: signed in", "login", url, "--token", "hfa_other");
    SAYS(CLI_EXIT_OK, "demo", "cluster", "list");
    assert_string_equal(world->token, "hfa_other"); /* the last is current */
    SAYS(CLI_EXIT_OK, "demo", "cluster", "list", "--context", "lab");
    assert_string_equal(world->token, "hfa_lab");
    SAYS(CLI_EXIT_OK, "context lab is current", "context", "use", "lab");
    SAYS(CLI_EXIT_OK, "demo", "cluster", "list");
    assert_string_equal(world->token, "hfa_lab");
    SAYS(CLI_EXIT_NOT_FOUND, "there is no context \"labb\"", "context", "use", "labb");
    SAYS(CLI_EXIT_USAGE, "there is no context \"labb\"", "cluster", "list", "--context", "labb");
    SAYS(CLI_EXIT_OK, "127.0.0.1\nlab\n", "context", "list", "-oname", "--sort-by", "name");
    SAYS(CLI_EXIT_OK, "is deleted", "context", "delete", "lab");
    SAYS(CLI_EXIT_AUTH, "hpctl login URL", "cluster", "list");
    unsetenv("HPCTL_CONFIG");
}

static void completion_offers_what_may_come(void **state)
{
    static const struct {
        const char *line, *offers;
    } cases[] = {
        {"hpctl clu", "cluster\n"},
        {"hpctl node reb", "reboot\n"},
        {"hpctl node list --state rea", "ready\n"},
        {"hpctl event list --level ", "info\nwarn\nerror\n"},
        {"hpctl node list --no-h", "--no-headers\n"},
        {"hpctl node reboot gpu-", "gpu-1\ngpu-2\n"},
        {"hpctl node explain -c demo l", "login\n"},
        {"hpctl cluster describe d", "demo\n"},
        {"hpctl event list -n gpu-2", "gpu-2\n"},
        {"hpctl nonsense x", ""},
        {"hpctl", NULL}, /* every noun */
    };
    struct world *world = *state;
    point_at(world);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autofree char *text = NULL;
        assert_int_equal(run(&text, (const char *[]){"completion", "words", cases[i].line, NULL}), CLI_EXIT_OK);
        if (cases[i].offers != NULL && !text_equal(text, cases[i].offers))
            fail_msg("%s: %s instead of %s", cases[i].line, text, cases[i].offers);
    }
    point_at_nothing();
    SAYS(CLI_EXIT_OK, "complete -o default -F _hpctl hpctl", "completion", "bash");
    SAYS(CLI_EXIT_OK, "compdef _hpctl hpctl", "completion", "zsh");
    SAYS(CLI_EXIT_OK, "complete -c hpctl", "completion", "fish");
    /* Without a server, names are missing and nothing else. */
    setenv("HPCTL_URL", "http://127.0.0.1:1", 1);
    setenv("HPCTL_TOKEN", "x", 1);
    autofree char *text = NULL;
    assert_int_equal(run(&text, (const char *[]){"completion", "words", "hpctl node reboot gpu", NULL}), CLI_EXIT_OK);
    assert_string_equal(text, "");
    point_at_nothing();
}

/* What opens anything is not in it, and nobody else may read it. */
static void a_bundle_has_no_secrets(void **state)
{
    struct stat st;
    autofree char *file = own_printf("%s/bundle.json", directory), *data = NULL;
    size_t len;
    point_at(*state);
    SAYS(CLI_EXIT_OK, "tokens and secrets are not", "support-bundle", file);
    assert_int_equal(stat(file, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(file_read(file, 1 << 20, &data, &len), 0);
    auto_json json_t *bundle = json_loads(data, 0, NULL);
    assert_non_null(json_object_get(json_object_get(bundle, "clusters"), "demo"));
    assert_int_equal(json_array_size(json_object_get(bundle, "approvals")), 1);
    assert_null(strstr(data, "https://h/answer"));
    assert_null(strstr(data, "hfa_x"));
    SAYS(CLI_EXIT_USAGE, "cannot write", "support-bundle", "/nonexistent/bundle.json");
    point_at_nothing();
}

static void top_shows_each_cluster(void **state)
{
    point_at(*state);
    SAYS(CLI_EXIT_OK, "demo: 2 of 2 nodes in service\n", "top");
    point_at_nothing();
}

int main(void)
{
    setenv("HOME", "/nonexistent", 1);
    unsetenv("HPCTL_CONFIG");
    unsetenv("HPCTL_CONTEXT");
    unsetenv("HPCTL_FINGERPRINT");
    if (mkdtemp(directory) == NULL)
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_doctor_finds_what_is_wrong, setup, teardown),
        cmocka_unit_test_setup_teardown(a_login_is_kept_for_its_owner_alone, setup, teardown),
        cmocka_unit_test_setup_teardown(completion_offers_what_may_come, setup, teardown),
        cmocka_unit_test_setup_teardown(a_bundle_has_no_secrets, setup, teardown),
        cmocka_unit_test_setup_teardown(top_shows_each_cluster, setup, teardown),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    (void)file_remove_tree(directory);
    return failed;
}
