/*
 * What is made of slurmrestd's JSON: our own captures of 22.05, and replies of the newer form made by hand after those of Slurm 23.02
 * to 25.11, hostile ones, and where they are present the captures of those versions. The real thing is in test_slurm_over_rest.c.
 */
#include "base/file.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"
#include "server/scheduler/slurm/job_snapshot.h"
#include "server/scheduler/slurm/metrics.h"
#include "server/scheduler/slurm/rest.h"
#include "server/scheduler/slurm/rest_read.h"
#include "tests/support/captured.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define FILE_BYTES_MAX (4 * 1024 * 1024)
#define SEPARATOR "~5eedf00d"

static json_t *parse(const char *text)
{
    json_t *json = NULL;
    char error[JSON_ERROR_MAX];
    if (json_parse(text, strlen(text), FILE_BYTES_MAX, &json, error) != 0)
        fail_msg("%s: %.60s", error, text);
    return json;
}

static json_t *parse_file(const char *path)
{
    autofree char *data = NULL;
    size_t len;
    assert_int_equal(file_read(path, FILE_BYTES_MAX, &data, &len), 0);
    return parse(data);
}

/* --- versions ----------------------------------------------------------------------------------------------------- */

static void test_versions(void **state)
{
    (void)state;
    static const struct {
        const char *document;
        int status, number;
        unsigned can;
    } cases[] = {
        {"{\"paths\": {\"/slurm/v0.0.38/nodes\": {\"get\": {}}, \"/slurm/v0.0.37/nodes\": {}}}", 0, 38, 0},
        {"{\"paths\": {\"/slurm/v0.0.39/nodes\": {}, \"/slurm/v0.0.39/node/{node_name}\": {\"get\": {}, \"post\": "
         "{}}}}",
         0, 39, SLURM_REST_UPDATES_NODES},
        {"{\"paths\": {\"/slurm/v0.0.44/nodes/\": {}, \"/slurm/v0.0.45/nodes/\": {}, \"/slurm/v0.0.45/diag/\": "
         "{\"get\": {}}, "
         "\"/slurm/v0.0.44/job/{job_id}\": {\"delete\": {}}, \"/slurm/v0.0.44/reservations/\": {\"get\": {}}}}",
         0, 44, SLURM_REST_CANCELS_JOBS | SLURM_REST_SHOWS_RESERVATIONS},
        {"{\"paths\": {\"/slurm/v0.0.45/nodes/\": {}, \"/slurm/v0.0.46/nodes/\": {}}}", STATUS_NOT_FOUND, 46, 0},
        {"{\"paths\": {\"/slurm/v0.0.35/nodes\": {}}}", STATUS_NOT_FOUND, 35, 0},
        {"{\"paths\": {\"/slurm/v0.0.40/ping\": {}, \"/slurmdb/v0.0.40/nodes\": {}}}", STATUS_NOT_FOUND, 40, 0},
        {"{\"paths\": {\"/slurm/v0.0.99999999999/nodes\": {}, \"/slurm/v0.0.-1/nodes\": {}, \"/slurm/v0.0.38nodes\": "
         "{}}}",
         STATUS_NOT_FOUND, 0, 0},
        {"{\"paths\": {}}", STATUS_NOT_FOUND, 0, 0},
        {"{\"paths\": []}", STATUS_BACKEND, 0, 0},
        {"{}", STATUS_BACKEND, 0, 0},
        {"[]", STATUS_BACKEND, 0, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct slurm_rest_version version = {0};
        auto_json json_t *document = parse(cases[i].document);
        assert_int_equal(slurm_rest_choose(document, &version), cases[i].status);
        assert_int_equal(version.number, cases[i].number);
        assert_int_equal(version.can, cases[i].can);
    }
    struct slurm_rest_version version;
    auto_json json_t *document = parse_file("tests/data/slurm/rest-openapi-22.05.json");
    assert_int_equal(slurm_rest_choose(document, &version), 0);
    assert_int_equal(version.number, 38);
    assert_int_equal(version.can, SLURM_REST_CANCELS_JOBS | SLURM_REST_SHOWS_RESERVATIONS | SLURM_REST_SHOWS_FIGURES);
}

/* --- numbers -------------------------------------------------------------------------------------------------------- */

static void test_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t number;
    } cases[] = {
        {"[3]", 3},
        {"[-1]", -1},
        {"[2.9]", 2},
        {"[1e300]", 0},
        {"[null]", 0},
        {"[\"7\"]", 0},
        {"[true]", 0},
        {"[{\"set\": true, \"infinite\": false, \"number\": 7}]", 7},
        {"[{\"set\": true, \"infinite\": false, \"number\": 7.0}]", 7},
        {"[{\"set\": false, \"infinite\": false, \"number\": 7}]", 0},
        {"[{\"set\": true, \"infinite\": true, \"number\": 7}]", 0},
        {"[{\"number\": 7}]", 0},
        {"[{\"set\": true, \"number\": {\"set\": true, \"number\": 7}}]", 0},
        {"[{}]", 0},
        {"[[5]]", 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        auto_json json_t *json = parse(cases[i].text);
        if (slurm_json_number(json_array_get(json, 0)) != cases[i].number)
            fail_msg("%s", cases[i].text);
    }
    assert_int_equal(slurm_json_number(NULL), 0);
}

static void test_tokens(void **state)
{
    (void)state;
    static const struct {
        const char *token;
        int64_t end_ms;
    } cases[] = {
        {"eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJleHAiOjE3OTUzNzQwMjEsImlhdCI6MTc5NTM3NDAyMCwic3VuIjoicm9vdCJ9.iI",
         1795374021000},
        {"x.eyJleHAiOjF9", 1000},  /* {"exp":1} */
        {"x.eyJleHAiOi0xfQ.y", 0}, /* {"exp":-1} */
        {"x.eyJleHAiOjk5OTk5OTk5OTk5OTk5fQ.y", 0},
        {"x.eyJleHAiOiJzb29uIn0.y", 0}, /* {"exp":"soon"} */
        {"x.e30.y", 0},                 /* {} */
        {"x.W10.y", 0},                 /* [] */
        {"x.!!!.y", 0},
        {"x..y", 0},
        {"none", 0},
        {"", 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (slurm_token_end(cases[i].token) != cases[i].end_ms)
            fail_msg("%s: %lld", cases[i].token, (long long)slurm_token_end(cases[i].token));
}

/* --- nodes ---------------------------------------------------------------------------------------------------------- */

struct expected_node {
    const char *name, *state, *reason, *user;
    bool schedulable, responding, drained, busy;
    enum scheduler_request request;
};

static void check_nodes(const char *path, const struct expected_node *expected, size_t count)
{
    auto_json json_t *reply = parse_file(path);
    const json_t *nodes = json_object_get(reply, "nodes");
    assert_int_equal(json_array_size(nodes), count);
    for (size_t i = 0; i < count; i++) {
        struct slurm_node node;
        struct slurm_has has;
        assert_int_equal(slurm_json_node(json_array_get(nodes, i), &node, &has), 0);
        assert_string_equal(node.seen.name, expected[i].name);
        assert_string_equal(node.seen.state, expected[i].state);
        assert_string_equal(node.seen.reason, expected[i].reason);
        assert_string_equal(node.seen.reason_user, expected[i].user);
        if (node.seen.schedulable != expected[i].schedulable || node.seen.responding != expected[i].responding ||
            node.seen.drained != expected[i].drained || node.seen.busy != expected[i].busy ||
            node.seen.request != expected[i].request)
            fail_msg("%s %s: %d %d %d %d %d", node.seen.name, node.seen.state, node.seen.schedulable,
                     node.seen.responding, node.seen.drained, node.seen.busy, (int)node.seen.request);
    }
}

static void test_nodes(void **state)
{
    (void)state;
    static const struct expected_node old[] = {
        {"gpu-1", "IDLE", "", "", true, true, false, false, SCHEDULER_REQUEST_NONE},
        {"gpu-2", "IDLE+DRAIN", "a \"quoted\" [root@2026-01-01T00:00:00] ü", "root", false, true, true, false,
         SCHEDULER_REQUEST_NONE},
        {"gpu-3", "IDLE+FAIL", "Action:Reboot bla", "root", false, true, true, false, SCHEDULER_REQUEST_NEAR_MISS},
        {"gpu-4", "MIXED+FAIL", "Action:Reboot", "root", false, true, true, true, SCHEDULER_REQUEST_REBOOT},
        {"gpu-5", "DOWN+NOT_RESPONDING", "Not responding", "slurm", false, false, false, false, SCHEDULER_REQUEST_NONE},
        {"gpu-6", "UNKNOWN+NOT_RESPONDING", "", "", false, false, false, false, SCHEDULER_REQUEST_NONE},
        {"gpu-7", "INVALID", "", "", false, false, false, false, SCHEDULER_REQUEST_NONE},
    };
    static const struct expected_node newer[] = {
        {"n1", "IDLE", "", "", true, true, false, false, SCHEDULER_REQUEST_NONE},
        {"n2", "IDLE+DRAIN", "holdfast: xid.79", "slurm", false, true, true, false, SCHEDULER_REQUEST_NONE},
        {"n3", "MIXED+DRAIN", "ECC", "root", false, true, true, true, SCHEDULER_REQUEST_NONE},
        {"n4", "ALLOCATED", "", "", true, true, false, true, SCHEDULER_REQUEST_NONE},
        {"n5", "DOWN", "Action:Replace", "alice", false, true, true, false, SCHEDULER_REQUEST_REPLACE},
        {"n6", "IDLE+CLOUD+POWERED_DOWN", "", "", false, false, false, false, SCHEDULER_REQUEST_NONE},
        {"n7", "DOWN+NOT_RESPONDING", "Not responding", "slurm", false, false, false, false, SCHEDULER_REQUEST_NONE},
        {"n8", "IDLE+PLANNED", "", "", true, true, false, false, SCHEDULER_REQUEST_NONE},
    };
    check_nodes("tests/data/slurm/rest-nodes-22.05.json", old, ARRAY_LEN(old));
    check_nodes("tests/data/slurm/rest-nodes-newer.json", newer, ARRAY_LEN(newer));
}

static void test_what_nodes_have(void **state)
{
    (void)state;
    struct slurm_node node;
    struct slurm_has has;
    auto_json json_t *old = parse_file("tests/data/slurm/rest-nodes-22.05.json");
    assert_int_equal(slurm_json_node(json_array_get(json_object_get(old, "nodes"), 3), &node, &has), 0);
    assert_string_equal(node.address, "127.0.0.1");
    assert_string_equal(node.host, "localhost");
    assert_int_equal(has.cpus, 4);
    assert_int_equal(has.cpus_used, 1);
    assert_int_equal(has.memory_mib, 1024);
    assert_int_equal(has.memory_used_mib, 512);
    static const char *const words[] = {"dev,gpu", "x,y", "gpu:a100:4", "gpu:a100:1(IDX:0)"};
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        assert_string_equal(has.words[i], words[i]);
    auto_json json_t *newer = parse_file("tests/data/slurm/rest-nodes-newer.json");
    assert_int_equal(slurm_json_node(json_array_get(json_object_get(newer, "nodes"), 3), &node, &has), 0);
    assert_int_equal(has.cpus_used, 64);
    assert_string_equal(has.words[1], "gpu,hot");
    assert_string_equal(has.words[3], "gpu:h100:8(IDX:0-7)");
}

static void test_hostile_nodes(void **state)
{
    (void)state;
    static const char *const refused[] = {
        "{}",
        "{\"name\": \"n1\"}",
        "{\"name\": \"n1\", \"state\": []}",
        "{\"name\": \"n1\", \"state\": [7, null, {}]}",
        "{\"name\": \"n1\", \"state\": 7}",
        "{\"name\": \"\", \"state\": \"idle\"}",
        "{\"name\": [\"n1\"], \"state\": \"idle\"}",
        "{\"name\": \"n1 State=IDLE\", \"state\": \"idle\"}",
        "{\"name\": \"-n1\", \"state\": \"idle\"}",
        "{\"name\": \"../jobs\", \"state\": \"idle\"}",
        "{\"name\": \"n1\\u0007\", \"state\": \"idle\"}",
    };
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        struct slurm_node node;
        struct slurm_has has;
        auto_json json_t *json = parse(refused[i]);
        if (slurm_json_node(json, &node, &has) != STATUS_BACKEND)
            fail_msg("%s is taken", refused[i]);
    }
    struct slurm_node node;
    struct slurm_has has;
    assert_int_equal(slurm_json_node(NULL, &node, &has), STATUS_BACKEND);
    auto_json json_t *odd =
        parse("{\"name\": \"n1\", \"state\": [\"IDLE\", \"\\u001b[31m\", \"NEW_FLAG\"], \"cpus\": -4, "
              "\"reason\": \"Action:Reboot\\u001b\", \"reason_set_by_user\": \"a\\nb\", "
              "\"address\": {}, \"hostname\": [1], \"reason_changed_at\": 1795188254, \"partitions\": \"p\\u0001\", "
              "\"active_features\": 7}");
    assert_int_equal(slurm_json_node(odd, &node, &has), 0);
    assert_string_equal(node.seen.state, "IDLE+?[31M+NEW_FLAG");
    assert_string_equal(node.seen.reason, "Action:Reboot?");
    assert_string_equal(node.seen.reason_user, "a?b");
    assert_int_equal(node.seen.reason_at, INT64_C(1795188254000));
    assert_string_equal(node.address, "");
    assert_string_equal(node.host, "");
    assert_int_equal(has.cpus, 0);
    assert_string_equal(has.words[0], "p?");
    assert_string_equal(has.words[1], "");
}

/* --- jobs ----------------------------------------------------------------------------------------------------------- */

struct expected_job {
    const char *id, *target, *state, *user;
    bool requeueable, may_be_asked, ending;
};

static void check_jobs(const char *path, const char *node, const struct expected_job *expected, size_t count)
{
    auto_json json_t *reply = parse_file(path);
    const json_t *jobs = json_object_get(reply, "jobs");
    size_t found = 0;
    for (size_t i = 0; i < json_array_size(jobs); i++) {
        struct slurm_job job;
        int status = slurm_json_job_on(json_array_get(jobs, i), node, &job);
        if (status == STATUS_NOT_FOUND)
            continue;
        assert_int_equal(status, 0);
        assert_true(found < count);
        assert_string_equal(job.seen.id, expected[found].id);
        assert_string_equal(job.target, expected[found].target);
        assert_string_equal(job.seen.state, expected[found].state);
        assert_string_equal(job.seen.user, expected[found].user);
        assert_int_equal(job.seen.requeueable, expected[found].requeueable);
        assert_int_equal(job.seen.may_be_asked, expected[found].may_be_asked);
        assert_int_equal(job.ending, expected[found].ending);
        found++;
    }
    assert_int_equal(found, count);
}

static void test_jobs_of_a_node(void **state)
{
    (void)state;
    static const struct expected_job gpu_1[] = {{"1_7", "1_7", "RUNNING", "root", true, true, false},
                                                {"2+0", "2", "RUNNING", "root", true, true, false},
                                                {"1_8", "1_8", "RUNNING", "root", true, true, false}};
    static const struct expected_job gpu_2[] = {{"2+1", "2", "RUNNING", "root", true, true, false}};
    static const struct expected_job gpu_3[] = {{"5", "5", "RUNNING", "root", false, true, false},
                                                {"5", "5", "COMPLETING", "root", false, false, true}};
    static const struct expected_job n1[] = {{"100", "100", "RUNNING", "alice", true, true, false},
                                             {"101", "101", "CONFIGURING", "alice", true, false, false},
                                             {"102", "102", "COMPLETING", "alice", true, false, true},
                                             {"90_7", "90_7", "RUNNING", "alice", true, true, false},
                                             {"95+1", "95", "RUNNING", "alice", false, true, false},
                                             {"108", "108", "SUSPENDED", "1000", true, false, false}};
    static const struct expected_job n3[] = {{"100", "100", "RUNNING", "alice", true, true, false}};
    check_jobs("tests/data/slurm/rest-jobs-22.05.json", "gpu-1", gpu_1, ARRAY_LEN(gpu_1));
    check_jobs("tests/data/slurm/rest-jobs-22.05.json", "gpu-2", gpu_2, ARRAY_LEN(gpu_2));
    check_jobs("tests/data/slurm/rest-jobs-22.05.json", "gpu-3", gpu_3, ARRAY_LEN(gpu_3));
    check_jobs("tests/data/slurm/rest-jobs-newer.json", "n1", n1, ARRAY_LEN(n1));
    check_jobs("tests/data/slurm/rest-jobs-newer.json", "n3", n3, ARRAY_LEN(n3));
    check_jobs("tests/data/slurm/rest-jobs-newer.json", "n4", NULL, 0);
}

/* A job that may be on the node and cannot be read is never taken for none. */
static void test_hostile_jobs(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int status;
    } cases[] = {
        {"{\"job_id\": 5, \"job_state\": \"RUNNING\", \"nodes\": \"n[1-\"}", STATUS_BACKEND},
        {"{\"job_id\": 5, \"job_state\": \"RUNNING\", \"nodes\": \"n[1-99999999]\"}", STATUS_BACKEND},
        {"{\"job_id\": -5, \"job_state\": \"RUNNING\", \"nodes\": \"n1\"}", STATUS_BACKEND},
        {"{\"job_id\": 5, \"nodes\": \"n1\"}", STATUS_BACKEND},
        {"{\"job_id\": 5, \"job_state\": [], \"nodes\": \"n1\"}", STATUS_BACKEND},
        {"[]", STATUS_BACKEND},
        {"{\"job_id\": 5, \"job_state\": \"RUNNING\", \"nodes\": \"n10\"}", STATUS_NOT_FOUND},
        {"{\"job_id\": 5, \"job_state\": [\"A_NEW_STATE\"], \"nodes\": \"n1\"}", 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct slurm_job job;
        auto_json json_t *json = parse(cases[i].text);
        if (slurm_json_job_on(json, "n1", &job) != cases[i].status)
            fail_msg("%s", cases[i].text);
    }
}

static const struct cluster_job *find_job(const struct job_snapshot *snapshot, const char *id)
{
    for (size_t i = 0; i < snapshot->count; i++)
        if (strcmp(snapshot->jobs[i].id, id) == 0)
            return &snapshot->jobs[i];
    fail_msg("no job %s", id);
    return NULL;
}

static struct job_snapshot *read_queue(const char *path)
{
    struct job_snapshot *snapshot = job_snapshot_new();
    char *text = NULL;
    auto_json json_t *reply = parse_file(path);
    assert_int_equal(slurm_json_queue(json_object_get(reply, "jobs"), SEPARATOR, &text), 0);
    assert_int_equal(slurm_queue_parse(text, SEPARATOR, snapshot), 0);
    return snapshot;
}

static void test_queue(void **state)
{
    (void)state;
    AUTO(job_snapshot) struct job_snapshot *old = read_queue("tests/data/slurm/rest-jobs-22.05.json");
    const struct cluster_job *array = find_job(old, "4");
    assert_int_equal(array->tasks, 7); /* 1-19:3 */
    assert_string_equal(array->name, "we\"ird?name");
    assert_string_equal(array->reason, "JobHeldUser");
    assert_string_equal(array->nodes, "");
    assert_int_equal(array->time_limit_s, 0);
    assert_string_equal(find_job(old, "2+1")->nodes, "gpu-2");
    assert_int_equal(array->commands, 0); /* of many */
    assert_int_equal(find_job(old, "2+1")->commands, 0);
    AUTO(job_snapshot) struct job_snapshot *newer = read_queue("tests/data/slurm/rest-jobs-newer.json");
    const struct cluster_job *job = find_job(newer, "100");
    assert_string_equal(job->user, "alice");
    assert_string_equal(job->account, "bio");
    assert_string_equal(job->partition, "batch");
    assert_int_equal(job->state, CLUSTER_JOB_RUNNING);
    assert_string_equal(job->reason, "");
    assert_string_equal(job->nodes, "n[1-3]");
    assert_int_equal(job->node_count, 3);
    assert_int_equal(job->cpus, 2);
    assert_int_equal(job->gpus, 4);
    assert_int_equal(job->restarts, 1);
    assert_int_not_equal(job->commands, 0);
    assert_int_equal(job->time_limit_s, 3600);
    assert_int_equal(job->submitted_at, 1731483270000);
    assert_int_equal(job->started_at, 1732037400000);
    assert_int_equal(job->ends_at, 1732041000000);
    assert_int_equal(find_job(newer, "108")->time_limit_s, 0);
    assert_int_equal(find_job(newer, "110")->tasks, 4);
    char *text = NULL;
    assert_int_equal(slurm_json_queue(NULL, SEPARATOR, &text), STATUS_BACKEND);
    auto_json json_t *odd = parse("[7]");
    assert_int_equal(slurm_json_queue(odd, SEPARATOR, &text), STATUS_BACKEND);
}

/* --- what graphs are made of ----------------------------------------------------------------------------------------- */

static void has_line(const char *text, const char *line)
{
    if (strstr(text, line) == NULL)
        fail_msg("no %s in:\n%s", line, text);
}

static void test_figures(void **state)
{
    (void)state;
    AUTO(slurm_metrics) struct slurm_metrics *metrics = slurm_metrics_new();
    auto_json json_t *reservations = parse(
        "[{\"name\": \"a b\", \"start_time\": {\"set\": true, \"infinite\": false, \"number\": 100}, \"end_time\": "
        "300, "
        "\"node_list\": \"n[1-2]\", \"node_count\": 2, \"core_count\": 8, \"users\": \"root,ann\", \"partition\": "
        "\"\", "
        "\"flags\": [\"MAINT\", \"SPEC_NODES\"]}, {\"name\": \"later\", \"start_time\": 900, \"end_time\": 950}]");
    autofree char *shown = slurm_json_reservations(reservations, 200000);
    assert_int_equal(slurm_metrics_reservations(metrics, shown), 0);
    auto_json json_t *statistics = parse(
        "{\"server_thread_count\": 3, \"jobs_submitted\": 13, \"schedule_cycle_mean\": 22, \"bf_cycle_mean\": 89, "
        "\"rpcs_by_message_type\": [{\"message_type\": \"REQUEST_PING\", \"count\": 4, \"average_time\": {\"set\": "
        "true, "
        "\"infinite\": false, \"number\": 84}, \"total_time\": 336}], \"rpcs_by_user\": [{\"user\": \"root\", "
        "\"count\": "
        "85, \"average_time\": 375, \"total_time\": 31892}]}");
    autofree char *diag = slurm_json_diag(statistics);
    assert_int_equal(slurm_metrics_diag(metrics, diag), 0);
    autofree char *text = slurm_metrics_render(metrics);
    has_line(text,
             "slurm_reservation_info{reservation_name=\"a?b\",state=\"ACTIVE\",users=\"root,ann\",nodes=\"n[1-2]\","
             "partition=\"\",flags=\"MAINT,SPEC_NODES\"} 1\n");
    has_line(text, "reservation_name=\"later\",state=\"INACTIVE\"");
    has_line(text, "slurm_reservation_core_count{reservation_name=\"a?b\"} 8\n");
    has_line(text, "slurm_scheduler_threads 3\n");
    has_line(text, "slurm_scheduler_mean_cycle 22\n");
    has_line(text, "slurm_scheduler_backfill_mean_cycle 89\n");
    has_line(text, "slurm_rpc_stats{operation=\"REQUEST_PING\"} 4\n");
    has_line(text, "slurm_user_rpc_stats_avg_time{user=\"root\"} 375\n");
    autofree char *none = slurm_json_diag(NULL);
    assert_int_equal(slurm_metrics_diag(metrics, none), STATUS_BACKEND);
}

/* --- captures of other versions --------------------------------------------------------------------------------------- */

static void test_captured(void **state)
{
    (void)state;
    static const char *const versions[] = {"23.02",        "23.11",        "24.05/0.0.41", "24.11/0.0.41",
                                           "24.11/0.0.42", "25.05/0.0.41", "25.05/0.0.42", "25.05/0.0.43",
                                           "25.11/0.0.41", "25.11/0.0.42", "25.11/0.0.43", "25.11/0.0.44"};
    for (size_t v = 0; v < ARRAY_LEN(versions); v++) {
        autofree char *nodes_name = own_printf("slurm/slurmrestd/%s/slurm-nodes.json", versions[v]);
        autofree char *jobs_name = own_printf("slurm/slurmrestd/%s/slurm-jobs.json", versions[v]);
        autofree char *nodes_path = captured_path(nodes_name), *jobs_path = captured_path(jobs_name);
        if (nodes_path == NULL || jobs_path == NULL)
            continue;
        auto_json json_t *reply = parse_file(nodes_path);
        const json_t *nodes = json_object_get(reply, "nodes");
        assert_true(json_array_size(nodes) > 0);
        for (size_t i = 0; i < json_array_size(nodes); i++) {
            struct slurm_node node;
            struct slurm_has has;
            assert_int_equal(slurm_json_node(json_array_get(nodes, i), &node, &has), 0);
            assert_int_equal(node.state & SLURM_STATE_OTHER, 0);
            assert_true(has.cpus > 0 && has.memory_mib > 0 && has.words[0][0] != '\0');
        }
        AUTO(job_snapshot) struct job_snapshot *snapshot = read_queue(jobs_path);
        assert_true(snapshot->count > 0);
        auto_json json_t *jobs = parse_file(jobs_path);
        for (size_t i = 0; i < snapshot->count; i++) {
            struct slurm_job job;
            int status = slurm_json_job_on(json_array_get(json_object_get(jobs, "jobs"), i), "cn1", &job);
            assert_true(status == 0 || status == STATUS_NOT_FOUND);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_versions),      cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_nodes),         cmocka_unit_test(test_what_nodes_have),
        cmocka_unit_test(test_hostile_nodes), cmocka_unit_test(test_jobs_of_a_node),
        cmocka_unit_test(test_hostile_jobs),  cmocka_unit_test(test_queue),
        cmocka_unit_test(test_figures),       cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_captured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
