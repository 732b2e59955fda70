/*
 * The page of a cluster on a bad day: what it says, and that it fits terminals of three widths and is whole in a pipe.
 */
#include "base/own.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/term.h"
#include "tests/support/fake_server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#define UNHEARD 30

struct world {
    struct fake_server *server;
    char *view;
    const char *approvals, *incidents;
};

static const char APPROVALS[] =
    "{\"items\":[{\"id\":\"7f3a91bc-2b6e-4e1d-9a31-0f0e0d0c0b0a\",\"cluster\":\"demo\",\"node\":\"gpu-40\",\"action\":"
    "\"reboot\",\"code\":\"xid.79\",\"device\":\"0000:b9:00\",\"state\":\"asked\",\"sentence\":\"s\",\"askedAt\":"
    "\"2026-11-20T15:02:11.612Z\",\"expiresAt\":\"2026-11-21T15:02:11.612Z\"},"
    "{\"id\":\"80000000-2b6e-4e1d-9a31-0f0e0d0c0b0a\",\"cluster\":\"other\",\"node\":\"gpu-1\",\"action\":\"reboot\","
    "\"state\":\"asked\",\"sentence\":\"s\",\"askedAt\":\"2026-11-20T15:02:11.612Z\",\"expiresAt\":"
    "\"2026-11-21T15:02:11.612Z\"}]}";
static const char INCIDENTS[] =
    "{\"items\":[{\"id\":\"3\",\"cluster\":\"demo\",\"level\":\"rack\",\"domain\":\"r7\",\"cause\":\"unreachable\","
    "\"state\":\"open\",\"startedAt\":\"2026-11-20T15:02:11.612Z\",\"nodes\":8,\"affected\":7}]}";
static const char EVENTS[] =
    "{\"items\":[{\"id\":\"9\",\"at\":\"2026-11-20T15:02:11.612Z\",\"level\":\"error\",\"kind\":\"decision\",\"node\":"
    "\"gpu-50\",\"message\":\"xid.79 on 0000:b9:00 asks for a reboot, and this is said at such length that no terminal "
    "of eighty columns can show it on one line\"}]}";

static void add_node(struct text *nodes, const char *name, const char *state, const char *attention, bool waits,
                     const char *reason)
{
    text_printf(nodes,
                "%s{\"name\":\"%s\",\"state\":\"%s\",\"health\":\"unknown\",\"attention\":\"%s\",\"waitsForPerson\":%s,"
                "\"optedOut\":false,\"stateSince\":\"2026-11-20T14:00:00.000Z\",\"healthSince\":"
                "\"2026-11-20T18:06:0%d.000Z\",\"reason\":\"%s\"}",
                nodes->len > 0 ? "," : "", name, state, attention, waits ? "true" : "false", (int)(nodes->len % 9),
                reason);
}

/* 30 agents that are not seen, a repair that gave up, one that is asked for, two that heal by themselves. */
static char *bad_day(bool paused)
{
    struct text nodes AUTO(text) = {0};
    for (int i = 1; i <= UNHEARD; i++) {
        autofree char *name = own_printf("gpu-%d", i);
        add_node(&nodes, name, "ready", "unheard", true, "agent not seen since 2026-11-20T18:06:00.000Z");
    }
    add_node(&nodes, "gpu-50", "failed", "", true, "the machine did not come back within 20m after its reboot");
    add_node(&nodes, "gpu-60", "ready", "decided", !paused, "recommended: reboot, for xid.79 on 0000:b9:00");
    add_node(&nodes, "gpu-40", "held", "", false, "a person has to approve the reboot");
    add_node(&nodes, "gpu-41", "held", "", false, "xid.79 on 0000:b9:00: budget, 1 of 1 in repair");
    add_node(&nodes, "gpu-42", "held", "", false, "xid.79 on 0000:4e:00: budget, 1 of 1 in repair");
    return own_printf(
        "{\"name\":\"demo\",\"state\":\"in-service\",\"nodeRecovery\":\"Automatic\",\"orchestrator\":\"slurm\","
        "\"createdAt\":\"2026-11-20T14:00:00.000Z\",\"nodeCount\":8,\"nodesByState\":{\"ready\":4,\"held\":4},%s"
        "\"nodesByHealth\":{\"healthy\":4,\"unknown\":4},\"instanceGroups\":[{\"name\":\"h100\",\"instanceType\":"
        "\"ml.p5.48xlarge\",\"provider\":\"local\",\"state\":\"degraded\",\"instanceCount\":8,\"breaker\":{\"open\":"
        "true,\"openedAt\":\"2026-11-20T15:02:11.612Z\"},\"capacity\":{\"short\":false},\"protection\":{\"on\":false},"
        "\"nodesByState\":{\"ready\":4,\"held\":4},\"nodesByHealth\":{\"healthy\":4}}],\"activeOperations\":[{\"id\":"
        "\"0a1b2c3d-2b6e-4e1d-9a31-0f0e0d0c0b0a\",\"kind\":\"replace\",\"node\":\"gpu-43\",\"actor\":\"policy\","
        "\"createdAt\":\"2026-11-20T15:02:11.612Z\",\"reason\":\"xid.79 on 0000:b9:00\",\"steps\":[{\"name\":\"drain\","
        "\"state\":\"running\"}]}],\"attention\":[%s],\"attentionTotal\":%d,\"scheduler\":{\"name\":\"slurm\","
        "\"state\":\"up\",\"transport\":\"Slurm's programs, run here\"}}",
        paused ? "\"pause\":{\"by\":\"token:ana\",\"since\":\"2026-11-20T15:02:11.612Z\",\"reason\":\"network "
                 "maintenance\"},"
               : "",
        text_get(&nodes), UNHEARD + 5);
}

static void play(const char *request, size_t len, struct fake_answer *answer, void *arg)
{
    struct world *world = arg;
    (void)len;
    const char *body = strstr(request, "/v1/approvals") != NULL   ? world->approvals
                       : strstr(request, "/v1/incidents") != NULL ? world->incidents
                       : strstr(request, "/v1/events") != NULL    ? EVENTS
                                                                  : world->view;
    answer->close = true;
    fake_answer_json(answer, world->server, 200, body);
}

static int setup(void **state)
{
    struct world *world = own_calloc(1, sizeof(*world));
    world->approvals = APPROVALS;
    world->incidents = INCIDENTS;
    world->view = bad_day(false);
    world->server = fake_server_start(NULL, 0, NULL, NULL, play, world);
    *state = world;
    return world->server == NULL ? -1 : 0;
}

static int teardown(void **state)
{
    struct world *world = *state;
    fake_server_stop(world->server);
    free(world->view);
    free(world);
    return 0;
}

/* columns NULL: a pipe. */
static char *page_of(struct world *world, const char *columns)
{
    char *argv[] = {(char *)(uintptr_t) "hpctl",
                    (char *)(uintptr_t) "--server",
                    (char *)(uintptr_t)fake_server_url(world->server),
                    (char *)(uintptr_t) "--token",
                    (char *)(uintptr_t) "hfa_x",
                    (char *)(uintptr_t) "cluster",
                    (char *)(uintptr_t) "describe",
                    (char *)(uintptr_t) "demo",
                    NULL};
    char *text = NULL;
    size_t len;
    if (columns != NULL)
        setenv("HPCTL_COLUMNS", columns, 1);
    else
        unsetenv("HPCTL_COLUMNS");
    FILE *f = open_memstream(&text, &len);
    assert_int_equal(cli_main((int)ARRAY_LEN(argv) - 1, argv, f, f), CLI_EXIT_OK);
    fclose(f);
    return text;
}

static void assert_says(const char *text, const char *words)
{
    if (strstr(text, words) == NULL)
        fail_msg("\"%s\" is not in:\n%s", words, text);
}

static void assert_order(const char *text, const char *const *words, size_t count)
{
    const char *at = text;
    for (size_t i = 0; i < count; i++) {
        const char *found = strstr(at, words[i]);
        if (found == NULL)
            fail_msg("\"%s\" is not there, or too early:\n%s", words[i], text);
        else
            at = found;
    }
}

static void every_line_fits(void **state)
{
    static const struct {
        const char *columns;
        int width;
    } cases[] = {{"60", 60}, {"80", 80}, {"120", 120}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autofree char *text = page_of(*state, cases[i].columns);
        for (const char *at = text; *at != '\0'; at += at[strcspn(at, "\n")] == '\n') {
            autofree char *line = own_printf("%.*s", (int)strcspn(at, "\n"), at);
            if (cli_width(line) > cases[i].width)
                fail_msg("%d columns of %d: %s", cli_width(line), cases[i].width, line);
            at += strlen(line);
        }
    }
}

static void a_pipe_has_it_whole(void **state)
{
    static const char *const order[] = {
        "demo: 4 of 8 nodes in service · 1 approval waiting · breaker open in h100 · rack r7 down\n",
        "Waiting for you\n",
        "Going on\n",
        "Instance groups\n",
        "Incidents\n",
        "Nodes that need nothing from you\n",
        "Last events",
        "About the cluster"};
    autofree char *text = page_of(*state, NULL);
    assert_order(text, order, ARRAY_LEN(order));
    assert_says(text, "hpctl operation approve 7f3a91bc-2b6e-4e1d-9a31-0f0e0d0c0b0a\n");
    assert_says(text,
                "  30 nodes: agent not seen since 2026-11-20T18:06:00.000Z: gpu-[1-30]  systemctl status hp-agent");
    assert_says(text, "  gpu-50: failed: the machine did not come back within 20m after its reboot  hpctl node explain "
                      "gpu-50\n");
    assert_says(text, "can show it on one line\n");
    assert_null(strchr(text, '\033'));
}

/* The node for which approval is asked is said once; what a budget holds heals by itself. */
static void only_what_a_person_must_do_waits(void **state)
{
    autofree char *text = page_of(*state, "80");
    char *rest = strstr(text, "\nGoing on\n");
    assert_non_null(rest);
    *rest = '\0';
    assert_says(text, "reboot of gpu-40 for xid.79 on 0000:b9:00");
    assert_says(text, "hpctl operation approve 7f3a91bc\n");
    assert_says(text, "gpu-60: recommended: reboot");
    assert_null(strstr(text, "gpu-41"));
    assert_null(strstr(text, "gpu-1:"));
    assert_null(strstr(text, "node explain gpu-40"));
    assert_says(rest + 1, "gpu-[41-42]");
    assert_null(strstr(rest + 1, "a person has to approve")); /* gpu-40 needs the answer above */
}

static void a_pause_says_what_it_holds(void **state)
{
    struct world *world = *state;
    free(world->view);
    world->view = bad_day(true);
    autofree char *text = page_of(world, "120");
    assert_says(text, "paused by ana: network\nmaintenance\n");
    assert_says(text, "begins after the pause");
    assert_says(text, "hpctl cluster resume demo\n");
    char *rest = strstr(text, "\nGoing on\n");
    assert_non_null(rest);
    assert_says(rest, "gpu-60"); /* is decided on when the pause ends */
}

static void a_good_day_is_short(void **state)
{
    struct world *world = *state;
    free(world->view);
    world->view = own_strdup(
        "{\"name\":\"demo\",\"state\":\"in-service\",\"nodeRecovery\":\"Automatic\",\"nodesByState\":{\"ready\":1},"
        "\"instanceGroups\":[{\"name\":\"gpu\",\"instanceCount\":1,\"nodesByState\":{\"ready\":1}}],"
        "\"activeOperations\":[],\"attention\":[],\"attentionTotal\":0}");
    world->approvals = world->incidents = "{\"items\":[]}";
    autofree char *text = page_of(world, NULL);
    assert_true(text_starts_with(text, "demo: 1 of 1 node in service\n\nWaiting for you\n  nothing\n"));
    assert_null(strstr(text, "Incidents"));
    assert_null(strstr(text, "Nodes that need"));
}

static void colours_are_asked_for(void **state)
{
    setenv("CLICOLOR_FORCE", "1", 1);
    autofree char *coloured = page_of(*state, NULL);
    setenv("NO_COLOR", "1", 1);
    autofree char *plain = page_of(*state, NULL);
    unsetenv("CLICOLOR_FORCE");
    unsetenv("NO_COLOR");
    assert_says(coloured, "\033[1mWaiting for you\033[0m\n");
    assert_null(strchr(plain, '\033'));
}

static void times_are_local_for_people(void **state)
{
    (void)state;
    setenv("HPCTL_COLUMNS", "80", 1);
    cli_term_open(stderr);
    autofree char *local = cli_local_times("since 2026-11-20T15:02:11.620Z, and 2026-11-20Tx, 12026-11-20T15:02:11Z.");
    assert_string_equal(local, "since 2026-11-20 17:02:11 EET, and 2026-11-20Tx, 12026-11-20T15:02:11Z.");
    unsetenv("HPCTL_COLUMNS");
    cli_term_open(stderr);
    autofree char *wrapped = cli_wrap("no limit  is   kept", 0);
    assert_string_equal(wrapped, "no limit  is   kept");
}

int main(void)
{
    setenv("HOME", "/nonexistent", 1);
    setenv("TZ", "EET-2", 1);
    unsetenv("HPCTL_CONFIG");
    unsetenv("HPCTL_FINGERPRINT");
    unsetenv("NO_COLOR");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_line_fits, setup, teardown),
        cmocka_unit_test_setup_teardown(a_pipe_has_it_whole, setup, teardown),
        cmocka_unit_test_setup_teardown(only_what_a_person_must_do_waits, setup, teardown),
        cmocka_unit_test_setup_teardown(a_pause_says_what_it_holds, setup, teardown),
        cmocka_unit_test_setup_teardown(a_good_day_is_short, setup, teardown),
        cmocka_unit_test_setup_teardown(colours_are_asked_for, setup, teardown),
        cmocka_unit_test(times_are_local_for_people),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
