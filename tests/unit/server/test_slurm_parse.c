/*
 * Slurm's records: our own captures of 22.05 (tests/data/slurm), hand-made hostile ones, and, where they are
 * present, the captures of other versions in the shared data.
 */
#include "base/file.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"
#include "server/scheduler/slurm/parse.h"
#include "server/scheduler/slurm/topology.h"
#include "tests/support/captured.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define STAMP "~0badcafe"
#define FILE_BYTES_MAX (4 * 1024 * 1024)

static void test_states(void **state)
{
    (void)state;
    enum {
        UP = SLURM_STATE_UP,
        BUSY = SLURM_STATE_BUSY,
        DOWN = SLURM_STATE_DOWN,
        DRAIN = SLURM_STATE_DRAIN,
        FAIL = SLURM_STATE_FAIL,
        MUTE = SLURM_STATE_MUTE,
        AWAY = SLURM_STATE_AWAY,
        OFF = SLURM_STATE_OFF,
        MAINT = SLURM_STATE_MAINT,
        RESERVED = SLURM_STATE_RESERVED,
        OTHER = SLURM_STATE_OTHER
    };
    static const struct {
        const char *text;
        unsigned bits;
    } cases[] = {
        {"IDLE", UP},
        {"idle", UP},
        {"ALLOCATED", UP | BUSY},
        {"MIXED+CLOUD", UP | BUSY},
        {"IDLE+DRAIN", UP | DRAIN},
        {"MIXED+DRAIN+DYNAMIC_NORM+MAINTENANCE+RESERVED", UP | BUSY | DRAIN | AWAY | MAINT | RESERVED},
        {"IDLE+DYNAMIC_NORM+RESERVED", UP | RESERVED},
        {"MIXED+DYNAMIC_NORM+PLANNED", UP | BUSY | RESERVED},
        {"ALLOCATED+FAIL", UP | BUSY | FAIL},
        {"DOWN+FAIL", DOWN | FAIL},
        {"DOWN+NOT_RESPONDING", DOWN | MUTE},
        {"DOWN*+CLOUD", DOWN | MUTE},
        {"IDLE*", UP | MUTE},
        {"IDLE+COMPLETING", UP | BUSY},
        {"DOWN+COMPLETING", DOWN | BUSY},
        {"drained*", DRAIN | MUTE},
        {"draining", DRAIN | BUSY},
        {"failing", FAIL | BUSY},
        {"failg", FAIL | BUSY},
        {"idle~", UP | MUTE | AWAY | OFF},
        {"allocated#", UP | BUSY | MUTE | AWAY | OFF},
        {"mixed-", UP | BUSY | RESERVED},
        {"maint", AWAY | MAINT},
        {"idle$", UP | AWAY | MAINT},
        {"idle@", UP | AWAY},
        {"down^", DOWN | AWAY | OFF},
        {"DOWN+CLOUD+REBOOT_ISSUED", DOWN | AWAY | OFF},
        {"DOWN+CLOUD+MAINTENANCE+POWERED_DOWN+RESERVED", DOWN | AWAY | MUTE | OFF | MAINT | RESERVED},
        {"IDLE+CLOUD+POWER", UP | MUTE | AWAY | OFF},
        {"IDLE+INVALID_REG", UP | AWAY},
        {"UNKNOWN", MUTE},
        {"FUTURE", MUTE | AWAY},
        {"HOVERING", OTHER},
        {"IDLE+HOVERING", UP},
        {"IDLED", OTHER},
        {"", OTHER},
        {"+", OTHER},
        {"*", OTHER | MUTE},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        unsigned bits = slurm_state_parse(cases[i].text);
        if (bits != cases[i].bits)
            fail_msg("%s: %#x, expected %#x", cases[i].text, bits, cases[i].bits);
    }
}

/* Reads file into *ret_nodes; every line has to parse. */
static size_t read_nodes(const char *path, const char *stamp, struct slurm_node *ret_nodes, size_t max)
{
    autofree char *data = NULL;
    size_t len, count = 0;
    assert_int_equal(file_read(path, FILE_BYTES_MAX, &data, &len), 0);
    char *rest = data;
    for (char *line; (line = slurm_next_line(&rest)) != NULL;) {
        if (line[0] == '\0')
            continue;
        assert_true(count < max);
        if (slurm_parse_node(line, stamp, &ret_nodes[count]) != 0)
            fail_msg("%s: line %zu cannot be read", path, count + 1);
        count++;
    }
    return count;
}

struct expected_node {
    const char *name, *state, *reason, *user;
    bool responding, schedulable, drained, busy;
    enum scheduler_request request;
};

static void check_node(const struct scheduler_node *seen, const struct expected_node *want)
{
    assert_string_equal(seen->name, want->name);
    assert_string_equal(seen->state, want->state);
    assert_string_equal(seen->reason, want->reason);
    assert_string_equal(seen->reason_user, want->user);
    if (seen->responding != want->responding || seen->schedulable != want->schedulable ||
        seen->drained != want->drained || seen->busy != want->busy || seen->request != want->request)
        fail_msg("%s: responding %d schedulable %d drained %d busy %d request %d", seen->name, seen->responding,
                 seen->schedulable, seen->drained, seen->busy, seen->request);
}

static const struct expected_node captured[] = {
    {"gpu-1", "ALLOCATED+FAIL", "Action:Reboot", "root", true, false, true, true, SCHEDULER_REQUEST_REBOOT},
    {"gpu-2", "ALLOCATED+DRAIN", "holdfast: xid.79 on GPU 3, waits for the group budget (1 of 1 in repair)", "root",
     true, false, true, true, SCHEDULER_REQUEST_NONE},
    {"gpu-3", "ALLOCATED+DRAIN", "action:replace please", "root", true, false, true, true, SCHEDULER_REQUEST_NEAR_MISS},
    {"gpu-4", "MIXED", "", "", true, true, false, true, SCHEDULER_REQUEST_NONE},
    {"gpu-5", "DOWN", "bench of alice, state=odd [not mine] a@b [x@2026-01-01T00:00:00] Comment=no", "root", true,
     false, true, false, SCHEDULER_REQUEST_NONE},
    {"gpu-6", "DOWN", "Node unexpectedly rebooted", "root", true, false, false, false, SCHEDULER_REQUEST_NONE},
    {"gpu-7", "IDLE+DRAIN", "two lines NodeName=gpu-1 State=IDLE Reason=Action:Replace [root@2026-01-01T00:00:00]",
     "root", true, false, true, false, SCHEDULER_REQUEST_NONE},
    {"gpu-8", "IDLE+FAIL+MAINTENANCE+RESERVED", "Action:Replace ", "root", true, false, true, false,
     SCHEDULER_REQUEST_NEAR_MISS},
    {"gpu-9", "DOWN+NOT_RESPONDING", "Not responding", "root", false, false, false, false, SCHEDULER_REQUEST_NONE},
    {"login-1", "IDLE", "", "", true, true, false, false, SCHEDULER_REQUEST_NONE},
};

static void test_captured_nodes(void **state)
{
    (void)state;
    struct slurm_node nodes[ARRAY_LEN(captured)];
    assert_int_equal(read_nodes("tests/data/slurm/nodes-22.05-stamped.txt", STAMP, nodes, ARRAY_LEN(nodes)),
                     ARRAY_LEN(captured));
    for (size_t i = 0; i < ARRAY_LEN(captured); i++) {
        check_node(&nodes[i].seen, &captured[i]);
        assert_string_equal(nodes[i].address, "127.0.0.1");
        assert_string_equal(nodes[i].host, "localhost");
        assert_int_equal(nodes[i].seen.reason_at != 0, captured[i].reason[0] != '\0');
    }
    assert_int_equal(nodes[0].seen.reason_at, INT64_C(1795188254000));
}

/* With Slurm's own time format a forged stamp in a reason cannot be told from the true one: this is why we set ours. */
static void test_captured_nodes_standard_time(void **state)
{
    (void)state;
    struct slurm_node nodes[ARRAY_LEN(captured)];
    assert_int_equal(read_nodes("tests/data/slurm/nodes-22.05.txt", NULL, nodes, ARRAY_LEN(nodes)),
                     ARRAY_LEN(captured));
    for (size_t i = 0; i < ARRAY_LEN(captured); i++) {
        struct expected_node want = captured[i];
        if (strcmp(want.name, "gpu-5") == 0) {
            want.reason = "bench of alice, state=odd [not mine] a@b";
            want.user = "x";
        }
        check_node(&nodes[i].seen, &want);
        assert_int_equal(nodes[i].seen.reason_at, 0); /* nobody knows of which zone that is */
    }
}

/* A cell of a line of a table, cut off it: without its blanks and backquotes. */
static char *take_cell(char **line)
{
    char *cell = *line + strspn(*line, " ");
    char *end = strchr(cell, '|');
    assert_non_null(end);
    *end = '\0';
    *line = end + 1;
    for (size_t len = strlen(cell); len > 0 && cell[len - 1] == ' ';)
        cell[--len] = '\0';
    cell += cell[0] == '`';
    cell[strcspn(cell, "`")] = '\0';
    return cell;
}

static const char *request_text(enum scheduler_request request)
{
    static const char *const texts[] = {"", "reboot", "replace", "near miss"};
    return texts[request];
}

static void check_row(char *line)
{
    char *shown = take_cell(&line), *reason = take_cell(&line);
    struct slurm_node node;
    autofree char *record =
        own_printf("NodeName=gpu-1 State=%s NodeAddr=gpu-1 %s%s%s", shown, reason[0] == '\0' ? "" : "Reason=", reason,
                   reason[0] == '\0' ? "" : " [ann@1795187407" STAMP "]");
    assert_int_equal(slurm_parse_node(record, STAMP, &node), 0);
    const bool is[] = {node.seen.responding, node.seen.schedulable, node.seen.drained};
    for (size_t i = 0; i < ARRAY_LEN(is); i++)
        if (strcmp(take_cell(&line), is[i] ? "yes" : "no") != 0)
            fail_msg("%s \"%s\": column %zu says otherwise than the program", node.seen.state, node.seen.reason, i + 3);
    assert_string_equal(take_cell(&line), request_text(node.seen.request));
    assert_string_not_equal(take_cell(&line), ""); /* each has a rule */
}

static void test_states_as_documented(void **state)
{
    (void)state;
    char *page = NULL;
    size_t len, rows = 0;
    assert_int_equal(file_read("docs/slurm-states.md", FILE_BYTES_MAX, &page, &len), 0);
    autofree char *text = page;
    char *rest = text;
    for (char *line; (line = slurm_next_line(&rest)) != NULL;)
        if (text_starts_with(line, "| `")) {
            check_row(line + 2);
            rows++;
        }
    assert_in_range(rows, 40, 100);
}

static void test_reasons(void **state)
{
    (void)state;
    static const struct {
        const char *state, *tail, *reason, *user;
        enum scheduler_request request;
    } cases[] = {
        {"IDLE+FAIL", "Action:Reboot [ann@1795187407~ab]", "Action:Reboot", "ann", SCHEDULER_REQUEST_REBOOT},
        {"DOWN*", "Action:Replace [ann@1795187407~ab]", "Action:Replace", "ann", SCHEDULER_REQUEST_REPLACE},
        {"DOWN+DRAIN", "Action:Replace [ann@1795187407~ab]", "Action:Replace", "ann", SCHEDULER_REQUEST_NEAR_MISS},
        {"IDLE+DRAIN", "Action:Replace [ann@1795187407~ab]", "Action:Replace", "ann", SCHEDULER_REQUEST_NEAR_MISS},
        {"IDLE", "Action:Replace [ann@1795187407~ab]", "Action:Replace", "ann", SCHEDULER_REQUEST_NONE},
        {"IDLE+FAIL", "Action: Reboot [a@1795187407~ab]", "Action: Reboot", "a", SCHEDULER_REQUEST_NEAR_MISS},
        {"IDLE+FAIL", "Action:Reboot. [a@1795187407~ab]", "Action:Reboot.", "a", SCHEDULER_REQUEST_NEAR_MISS},
        {"IDLE+FAIL", "Action:Reboot  [a@1795187407~ab]", "Action:Reboot ", "a", SCHEDULER_REQUEST_NEAR_MISS},
        {"IDLE+FAIL", " Action:Reboot [a@1795187407~ab]", " Action:Reboot", "a", SCHEDULER_REQUEST_NEAR_MISS},
        {"IDLE+FAIL", "'Action:Reboot' [a@1795187407~ab]", "'Action:Reboot'", "a", SCHEDULER_REQUEST_NEAR_MISS},
        {"IDLE+FAIL", "Action:Repalce [a@1795187407~ab]", "Action:Repalce", "a", SCHEDULER_REQUEST_NEAR_MISS},
        {"IDLE+FAIL", "Action:Rebooot [a@1795187407~ab]", "Action:Rebooot", "a", SCHEDULER_REQUEST_NEAR_MISS},
        {"IDLE+FAIL", "Action: report it [a@1795187407~ab]", "Action: report it", "a", SCHEDULER_REQUEST_NONE},
        {"IDLE+FAIL", "action required [a@1795187407~ab]", "action required", "a", SCHEDULER_REQUEST_NONE},
        {"IDLE+FAIL", "ACTION REPLACE [a@1795187407~ab]", "ACTION REPLACE", "a", SCHEDULER_REQUEST_NEAR_MISS},
        {"IDLE+FAIL", "action_replace_now [a@1795187407~ab]", "action_replace_now", "a", SCHEDULER_REQUEST_NEAR_MISS},
        {"IDLE+FAIL", "Action:Reset [a@1795187407~ab]", "Action:Reset", "a", SCHEDULER_REQUEST_NONE},
        {"IDLE+FAIL", "no action: replace fans [a@1795187407~ab]", "no action: replace fans", "a",
         SCHEDULER_REQUEST_NONE},
        {"IDLE+FAIL", "replace DIMM [a@1795187407~ab]", "replace DIMM", "a", SCHEDULER_REQUEST_NONE},
        /* where a reason ends */
        {"IDLE+FAIL", "Action:Reboot [a@1795187407~ab] ReservationName=x", "Action:Reboot", "a",
         SCHEDULER_REQUEST_REBOOT},
        {"IDLE+FAIL", "Action:Reboot [a@1795187407~ab] Comment=y [b@1795187407~ab]", "Action:Reboot", "a",
         SCHEDULER_REQUEST_REBOOT},
        {"IDLE+FAIL", "Action:Reboot [a@1795187407~ab]        of GPU 3", "Action:Reboot of GPU 3", "a",
         SCHEDULER_REQUEST_NEAR_MISS},
        {"IDLE+FAIL", "Action:Reboot [a@2026-01-01T00:00:00] [b@1795187407~ab]",
         "Action:Reboot [a@2026-01-01T00:00:00]", "b", SCHEDULER_REQUEST_NEAR_MISS},
        {"IDLE+FAIL", "Action:Reboot [a@1795187407~ac] [b@1795187407~ab]", "Action:Reboot [a@1795187407~ac]", "b",
         SCHEDULER_REQUEST_NEAR_MISS},
        {"IDLE+DRAIN", "k=v [x] [y@z] end [DOM\\al b@x.org@1795187407~ab]", "k=v [x] [y@z] end", "DOM\\al b@x.org",
         SCHEDULER_REQUEST_NONE},
        {"IDLE+DRAIN", "odd [bracket [a@1795187407~ab]", "odd [bracket", "a", SCHEDULER_REQUEST_NONE},
        {"IDLE+DRAIN", "odd ]bracket [a@1795187407~ab]", "odd ]bracket", "a", SCHEDULER_REQUEST_NONE},
        {"IDLE+DRAIN", "State=IDLE Reason=Action:Reboot [a@1795187407~ab]", "State=IDLE Reason=Action:Reboot", "a",
         SCHEDULER_REQUEST_NONE},
        {"IDLE+DRAIN", "some reason with key=value entries ", "some reason with key=value entries", "",
         SCHEDULER_REQUEST_NONE},
        {"IDLE+DRAIN", "unstamped Comment=x ReservationName=y", "unstamped", "", SCHEDULER_REQUEST_NONE},
        {"IDLE+DRAIN", "tab\there\x1b[31m [a@1795187407~ab]", "tab?here?[31m", "a", SCHEDULER_REQUEST_NONE},
        {"IDLE+DRAIN", "latin \xe9t\xe9 [a@1795187407~ab]", "latin ?t?", "a", SCHEDULER_REQUEST_NONE},
        {"IDLE+DRAIN", "utf8 \xc3\xa9t\xc3\xa9 [a@1795187407~ab]", "utf8 \xc3\xa9t\xc3\xa9", "a",
         SCHEDULER_REQUEST_NONE},
        {"IDLE+DRAIN", " [a@1795187407~ab]", "", "a", SCHEDULER_REQUEST_NONE},
        {"IDLE+DRAIN", "", "", "", SCHEDULER_REQUEST_NONE},
        {"IDLE+DRAIN", " [", "", "", SCHEDULER_REQUEST_NONE},
        {"IDLE+DRAIN", "x [@]", "x [@]", "", SCHEDULER_REQUEST_NONE},
        {"IDLE+DRAIN", "x [@1795187407~ab]", "x", "", SCHEDULER_REQUEST_NONE},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autofree char *line =
            own_printf("NodeName=n1 NodeAddr=n1 OS=Linux State=%s Weight=1 Reason=%s", cases[i].state, cases[i].tail);
        struct slurm_node node;
        assert_int_equal(slurm_parse_node(line, "~ab", &node), 0);
        const char *reason = strcmp(cases[i].tail, " [") == 0 ? " [" : cases[i].reason;
        if (strcmp(node.seen.reason, reason) != 0 || strcmp(node.seen.reason_user, cases[i].user) != 0 ||
            node.seen.request != cases[i].request)
            fail_msg("%s %s: reason '%s' of '%s', request %d", cases[i].state, cases[i].tail, node.seen.reason,
                     node.seen.reason_user, node.seen.request);
    }
}

/* What slurmctld writes behind a reason when it reboots a node is none of the reason that is ours. */
static void test_reasons_of_a_reboot(void **state)
{
    (void)state;
    static const struct {
        const char *state, *tail, *reason;
        enum scheduler_request request;
    } cases[] = {
        {"DOWN+DRAIN+FAIL+REBOOT_ISSUED", "Action:Reboot : reboot issued", "Action:Reboot", SCHEDULER_REQUEST_REBOOT},
        {"IDLE+FAIL", "Action:Reboot : reboot issued : reboot complete", "Action:Reboot", SCHEDULER_REQUEST_REBOOT},
        {"IDLE+DRAIN", "holdfast: checks : reboot issued", "holdfast: checks", SCHEDULER_REQUEST_NONE},
        {"IDLE+DRAIN", "new DIMM : reboot issued", "new DIMM : reboot issued", SCHEDULER_REQUEST_NONE},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autofree char *line =
            own_printf("NodeName=n1 NodeAddr=n1 OS=Linux State=%s Weight=1 Reason=%s [a@1795187407~ab]", cases[i].state,
                       cases[i].tail);
        struct slurm_node node;
        assert_int_equal(slurm_parse_node(line, "~ab", &node), 0);
        assert_string_equal(node.seen.reason, cases[i].reason);
        assert_int_equal(node.seen.request, cases[i].request);
    }
}

/* What is behind the prefix is for people: whose a cordon is does not depend on it. */
static void test_a_cordon_is_ours_by_its_prefix_alone(void **state)
{
    (void)state;
    static const struct {
        const char *reason;
        bool ours;
    } cases[] = {
        {"holdfast: deep health checks", true},
        {"holdfast:the node is being deleted", true}, /* somebody wrote it again by hand */
        {"holdfast:", true},
        {"deep health checks", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autofree char *line = own_printf(
            "NodeName=n1 NodeAddr=n1 OS=Linux State=IDLE+DRAIN Weight=1 Reason=%s [a@1795187407~ab]", cases[i].reason);
        struct slurm_node node;
        assert_int_equal(slurm_parse_node(line, "~ab", &node), 0);
        assert_int_equal(node.seen.ours, cases[i].ours);
    }
}

static void test_downed(void **state)
{
    (void)state;
    static const struct {
        const char *state, *reason;
        bool downed;
    } cases[] = {
        {"DOWN", "Node unexpectedly rebooted", true},
        {"DOWN", "Not responding", true}, /* and it responds again */
        {"DOWN+COMPLETING", "Node unexpectedly rebooted", true},
        {"DOWN*", "Not responding", false},
        {"DOWN+NOT_RESPONDING", "Node unexpectedly rebooted", false},
        {"DOWN+DRAIN", "Node unexpectedly rebooted", false},
        {"DOWN+MAINTENANCE", "Node unexpectedly rebooted", false},
        {"DOWN+REBOOT_ISSUED", "Not responding", false},
        {"DOWN+POWERED_DOWN", "Not responding", false},
        {"DOWN+SOMETHING_NEW", "Not responding", true},
        {"IDLE", "Not responding", false},
        {"IDLE+DRAIN", "Not responding", false},
        {"DOWN", "Kill task failed", false},
        {"DOWN", "Low RealMemory (reported:100 < 100.00% of configured:2048)", false},
        {"DOWN", "the node unexpectedly rebooted", false},
        {"DOWN", "", false},
        {"DOWN", "fan broken", false},
        {"DOWN", SLURM_REASON_BLANK, true}, /* Slurm keeps the blank that a resume left */
        {"DOWN+NOT_RESPONDING", SLURM_REASON_BLANK, false},
        {"IDLE", SLURM_REASON_BLANK, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autofree char *line =
            own_printf("NodeName=n1 State=%s Reason=%s [root@1795187407~ab]", cases[i].state, cases[i].reason);
        struct slurm_node node;
        assert_int_equal(slurm_parse_node(line, "~ab", &node), 0);
        if (node.seen.downed != cases[i].downed)
            fail_msg("%s \"%s\"", cases[i].state, cases[i].reason);
        if (strcmp(cases[i].reason, SLURM_REASON_BLANK) == 0)
            assert_true(node.seen.reason[0] == '\0' && node.seen.reason_at == 0 && !node.seen.drained);
    }
}

static void test_long_reason_is_cut_but_judged_whole(void **state)
{
    (void)state;
    struct text line = {0};
    text_add(&line, "NodeName=n1 State=IDLE+FAIL Reason=");
    for (int i = 0; i < 5000; i++)
        text_add_char(&line, 'x');
    text_add(&line, " [u@1795187407~ab]");
    struct slurm_node node;
    assert_int_equal(slurm_parse_node(line.data, "~ab", &node), 0);
    assert_int_equal(strlen(node.seen.reason), REASON_MAX_BYTES - 1);
    assert_string_equal(node.seen.reason_user, "u");
    assert_true(node.seen.drained);
    text_free(&line);
}

static void test_lines_that_are_no_nodes(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "",
        " ",
        "NodeName=",
        "NodeName= State=IDLE",
        "NodeName=gpu-1",
        "NodeName=gpu-1 State=",
        "NodeName=gpu-1 State= Reason=x",
        "NodeName=gpu-1 XState=IDLE",
        "nodename=gpu-1 State=IDLE",
        " NodeName=gpu-1 State=IDLE",
        "NodeName=-gpu State=IDLE",
        "NodeName=gpu-1;reboot State=IDLE",
        "NodeName=gpu-[1-4] State=IDLE",
        "NodeName=../gpu State=IDLE",
        "NodeName=abcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabcd State=IDLE",
        "slurm_load_node error: Unable to contact slurm controller (connect failure)",
        "{\"nodes\": []}",
        "<html>502</html>",
    };
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        autofree char *line = own_strdup(lines[i]);
        struct slurm_node node;
        if (slurm_parse_node(line, NULL, &node) != STATUS_BACKEND)
            fail_msg("accepted: %s", lines[i]);
    }
}

static void test_captured_jobs(void **state)
{
    (void)state;
    static const struct {
        const char *id, *target;
        bool requeueable;
    } want[] = {
        {"1", "1", true},     {"2", "2", false},  {"3_4", "3_4", true},
        {"3_5", "3_5", true}, {"4+0", "4", true}, {"4+1", "4", true},
    };
    autofree char *data = NULL;
    size_t len, count = 0, pending = 0;
    assert_int_equal(file_read("tests/data/slurm/jobs-22.05.txt", FILE_BYTES_MAX, &data, &len), 0);
    char *rest = data;
    for (char *line; (line = slurm_next_line(&rest)) != NULL;) {
        struct slurm_job job;
        int status = slurm_parse_job(line, &job);
        if (status == STATUS_NOT_FOUND) {
            pending++;
            continue;
        }
        assert_int_equal(status, 0);
        assert_true(count < ARRAY_LEN(want));
        assert_string_equal(job.seen.id, want[count].id);
        assert_string_equal(job.target, want[count].target);
        assert_string_equal(job.seen.user, "root");
        assert_string_equal(job.seen.state, "RUNNING");
        assert_int_equal(job.seen.requeueable, want[count].requeueable);
        assert_false(job.ending);
        count++;
    }
    assert_int_equal(count, ARRAY_LEN(want));
    assert_int_equal(pending, 2);
}

/* A line in the shape of SLURM_JOB_FORMAT. */
static char *job_line(const char *id, const char *het, const char *batch, const char *requeue, const char *job_state,
                      const char *user)
{
    return own_printf("%-40s%-16s%-8s%-8s%-24s%-64s", id, het, batch, requeue, job_state, user);
}

static void test_jobs(void **state)
{
    (void)state;
    static const struct {
        const char *id, *het, *batch, *requeue, *state, *user;
        int status;
        bool requeueable, ending;
        const char *target;
    } cases[] = {
        {"7", "N/A", "0", "1", "RUNNING", "ann", 0, false, false, "7"},
        {"7", "0", "1", "1", "COMPLETING", "ann", 0, true, true, "7"},
        {"8+1", "8", "0", "1", "SUSPENDED", "ann", 0, false, false, "8"},
        {"9_12", "N/A", "yes", "yes", "CONFIGURING", "dom\\ann b", 0, true, false, "9_12"},
        {"7", "N/A", "1", "1", "PENDING", "ann", STATUS_NOT_FOUND, false, false, ""},
        {"12_[3-9%2]", "N/A", "1", "1", "PENDING", "ann", STATUS_NOT_FOUND, false, false, ""},
        {"12_[3-9%2]", "N/A", "1", "1", "RUNNING", "ann", STATUS_BACKEND, false, false, ""},
        {"", "N/A", "1", "1", "RUNNING", "ann", STATUS_BACKEND, false, false, ""},
        {"-1", "N/A", "1", "1", "RUNNING", "ann", STATUS_BACKEND, false, false, ""},
        {"7;x", "N/A", "1", "1", "RUNNING", "ann", STATUS_BACKEND, false, false, ""},
        {"7", "N/A", "1", "1", "", "ann", STATUS_BACKEND, false, false, ""},
        {"--all", "N/A", "1", "1", "RUNNING", "ann", STATUS_BACKEND, false, false, ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autofree char *line =
            job_line(cases[i].id, cases[i].het, cases[i].batch, cases[i].requeue, cases[i].state, cases[i].user);
        struct slurm_job job;
        int status = slurm_parse_job(line, &job);
        if (status != cases[i].status)
            fail_msg("%s %s: %d", cases[i].id, cases[i].state, status);
        if (status != 0)
            continue;
        assert_string_equal(job.target, cases[i].target);
        assert_string_equal(job.seen.user, cases[i].user);
        assert_int_equal(job.seen.requeueable, cases[i].requeueable);
        assert_int_equal(job.ending, cases[i].ending);
    }
}

/* Every prefix of a good line is either read or refused; a short one is refused. */
static void test_cut_jobs(void **state)
{
    (void)state;
    autofree char *whole = job_line("7", "N/A", "1", "1", "RUNNING", "ann");
    for (size_t len = 0; len < strlen(whole); len++) {
        autofree char *line = own_strdup(whole);
        line[len] = '\0';
        struct slurm_job job;
        int status = slurm_parse_job(line, &job);
        if (len < 40 + 16 + 8 + 8 + 24)
            assert_int_equal(status, STATUS_BACKEND);
        else
            assert_int_equal(status, 0);
    }
}

static void test_names_and_reasons(void **state)
{
    (void)state;
    assert_true(slurm_is_node_name("gpu-1"));
    assert_true(slurm_is_node_name("ip-10-1-57-141.eu_x"));
    static const char *const names[] = {"", "-w", "a b", "a,b", "gpu-[1-2]", "a\nb", "a;b", "a=b", "\xc3\xa9"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        assert_false(slurm_is_node_name(names[i]));
    assert_true(slurm_is_reason("holdfast: a=b, [c] 'd' \"e\" f \xc3\xa9 100%"));
    static const char *const reasons[] = {"", "a\nb", "a\tb", "\xff", "a\x7f"};
    for (size_t i = 0; i < ARRAY_LEN(reasons); i++)
        assert_false(slurm_is_reason(reasons[i]));
    assert_true(slurm_reason_is_automatic("Low RealMemory (reported:900 < 100.00% of configured:1024)"));
    assert_true(slurm_reason_is_automatic("gres/gpu count reported lower than configured (7 < 8)"));
    assert_false(slurm_reason_is_cured("gres/gpu count reported lower than configured (7 < 8)"));
    assert_true(slurm_reason_is_cured("Kill task failed"));
    assert_false(slurm_reason_is_automatic("not responding"));
    assert_false(slurm_reason_is_automatic(""));
}

static void test_shared_captures(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        size_t at_least;
    } files[] = {
        {"slurm/SckyzO/scontrol_nodes.txt", 5}, /* 25.11 */
        {"slurm/SckyzO/slurm-24.11.7/scontrol_nodes.txt", 15},
        {"slurm/SckyzO/slurm-26.05.2/scontrol_nodes.txt", 15},
    };
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        autofree char *path = captured_path(files[i].path);
        if (path == NULL)
            skip();
        struct slurm_node nodes[64];
        size_t count = read_nodes(path, NULL, nodes, ARRAY_LEN(nodes));
        assert_true(count >= files[i].at_least);
        for (size_t j = 0; j < count; j++) {
            assert_true((nodes[j].state & SLURM_STATE_OTHER) == 0);
            assert_true(nodes[j].seen.responding);
            assert_true(nodes[j].address[0] != '\0');
            bool held = strcmp(nodes[j].seen.reason, "planned_maintenance") == 0;
            assert_int_equal(nodes[j].seen.drained, held);
            if (held)
                assert_string_equal(nodes[j].seen.reason_user, "root");
        }
    }
}

/* Records of several lines (scontrol without -o, and of a wrapper that separates them with hashes), joined. */
static void test_shared_multiline(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        size_t count;
        const char *last_reason;
    } files[] = {
        {"slurm/aws-parallelcluster-node/scontrol.97.txt", 2, ""},
        {"slurm/aws-parallelcluster-node/scontrol.175.txt", 1, "some reason   SlurmdStartTime=None"},
        {"slurm/aws-parallelcluster-node/scontrol.197.txt", 1,
         "some reason containing key=value entries  SlurmdStartTime=None"},
        {"slurm/aws-parallelcluster-node/scontrol.132.txt", 2, "test"},
        {"slurm/aws-parallelcluster-node/scontrol.1110.txt", 3, ""},
        {"slurm/aws-parallelcluster-node/scontrol.1050.txt", 3, ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        autofree char *path = captured_path(files[i].path);
        if (path == NULL)
            skip();
        autofree char *data = NULL;
        size_t len, count = 0;
        struct slurm_node node = {0};
        assert_int_equal(file_read(path, FILE_BYTES_MAX, &data, &len), 0);
        for (char *at = data; (at = strstr(at, "NodeName=")) != NULL;) {
            char *next = strstr(at + 1, "NodeName=");
            autofree char *record = own_strdup(at);
            record[next == NULL ? strlen(at) : (size_t)(next - at)] = '\0';
            char *hashes = strstr(record, "\n######");
            if (hashes != NULL)
                *hashes = '\0';
            for (char *c = record; *c != '\0'; c++)
                if (*c == '\n')
                    *c = ' ';
            assert_int_equal(slurm_parse_node(record, NULL, &node), 0);
            assert_true((node.state & SLURM_STATE_OTHER) == 0);
            count++;
            at = next == NULL ? at + strlen(at) : next;
        }
        assert_int_equal(count, files[i].count);
        assert_string_equal(node.seen.reason, files[i].last_reason);
    }
}

static void test_topology(void **state)
{
    (void)state;
    autofree struct scheduler_place *places = NULL;
    size_t count = 0;
    autofree char *text = NULL;
    size_t len = 0;
    assert_int_equal(file_read("tests/data/slurm/topology-22.05.txt", FILE_BYTES_MAX, &text, &len), 0);
    char *rest = text;
    for (char *line; (line = slurm_next_line(&rest)) != NULL;)
        assert_int_equal(slurm_parse_places(line, &places, &count), 0);
    assert_int_equal(count, 5); /* of the switch above both nobody hangs directly */
    assert_string_equal(places[3].node, "gpu-4");
    assert_string_equal(places[3].domain, "s1");
    assert_int_equal(places[3].level, TOPOLOGY_LEVEL_SWITCH);
    assert_int_equal(slurm_parse_places("BlockName=b1 BlockIndex=0 Nodes=gpu-[7-8] BlockSize=2", &places, &count), 0);
    assert_int_equal(count, 7);
    assert_int_equal(places[6].level, TOPOLOGY_LEVEL_ULTRASERVER);
    static const char *const nothing[] = {"", "AggregatedBlock=b[1-2] Nodes=gpu-[1-8]",
                                          "SwitchName=s9 Level=0 Nodes=(null)", "SwitchName=s9 Level=0",
                                          "SwitchName=s9 Level=2 Nodes=gpu-9"};
    for (size_t i = 0; i < ARRAY_LEN(nothing); i++)
        assert_int_equal(slurm_parse_places(nothing[i], &places, &count), 0);
    static const char *const broken[] = {"scontrol: error", "SwitchName= Level=0 Nodes=a",
                                         "SwitchName=a;b Level=0 Nodes=a", "SwitchName=s Level=0 Nodes=a[1-",
                                         "SwitchName=s Level=0 Nodes=a[0-999999999]"};
    for (size_t i = 0; i < ARRAY_LEN(broken); i++)
        assert_int_equal(slurm_parse_places(broken[i], &places, &count), STATUS_BACKEND);
    assert_int_equal(count, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_states),
        cmocka_unit_test(test_topology),
        cmocka_unit_test(test_captured_nodes),
        cmocka_unit_test(test_captured_nodes_standard_time),
        cmocka_unit_test(test_states_as_documented),
        cmocka_unit_test(test_reasons),
        cmocka_unit_test(test_reasons_of_a_reboot),
        cmocka_unit_test(test_a_cordon_is_ours_by_its_prefix_alone),
        cmocka_unit_test(test_downed),
        cmocka_unit_test(test_long_reason_is_cut_but_judged_whole),
        cmocka_unit_test(test_lines_that_are_no_nodes),
        cmocka_unit_test(test_captured_jobs),
        cmocka_unit_test(test_jobs),
        cmocka_unit_test(test_cut_jobs),
        cmocka_unit_test(test_names_and_reasons),
        cmocka_unit_test(test_shared_captures),
        cmocka_unit_test(test_shared_multiline),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
