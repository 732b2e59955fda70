/*
 * The job snapshot of Slurm: squeue, sdiag, sshare and reservations in our own samples of 22.05 and in hostile ones, what becomes of them
 * in Prometheus' words, and which programs are run for it. tests/e2e/slurm/metrics.test.mjs has the real thing.
 */
#include "base/file.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"
#include "model/job_command.h"
#include "server/scheduler/slurm/job_snapshot.h"
#include "server/scheduler/slurm/metrics.h"
#include "server/scheduler/slurm/slurm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define SEPARATOR "~5eedf00d"
#define FILE_BYTES_MAX (1024 * 1024)
#define TIMEOUT_MS 10000

static char *sample(const char *name)
{
    char *data = NULL;
    size_t len;
    autofree char *path = own_printf("tests/data/slurm/%s", name);
    assert_int_equal(file_read(path, FILE_BYTES_MAX, &data, &len), 0);
    return data;
}

static void has_line(const char *text, const char *line)
{
    autofree char *whole = own_printf("\n%s\n", line);
    if (strstr(text, whole) == NULL)
        fail_msg("no line %s in:\n%s", line, text);
}

/* --- the queue ---------------------------------------------------------------------------------------------------- */

static void test_queue(void **state)
{
    (void)state;
    AUTO(job_snapshot) struct job_snapshot *snapshot = job_snapshot_new();
    assert_int_equal(slurm_queue_parse(sample("queue-22.05.txt"), SEPARATOR, snapshot), 0);
    assert_int_equal(snapshot->count, 5);
    const struct cluster_job *waits = &snapshot->jobs[0], *runs = &snapshot->jobs[1], *task = &snapshot->jobs[2];
    assert_string_equal(waits->id, "2");
    assert_int_equal(waits->tasks, 199);
    assert_string_equal(waits->partition, "dev,debug");
    assert_string_equal(waits->reason, "JobArrayTaskLimit");
    assert_string_equal(waits->nodes, "");
    assert_int_equal(waits->submitted_at, INT64_C(1795360033000));
    assert_int_equal(waits->started_at, 0);
    assert_int_equal(waits->time_limit_s, 0);
    assert_string_equal(runs->name, "a|b?7~5eedf00e"); /* a separator that is nearly ours, and a line end */
    assert_string_equal(runs->nodes, "gpu-[1-2]");
    assert_string_equal(runs->reason, "");
    assert_int_equal(runs->gpus, 16);
    assert_int_equal(runs->restarts, 3);
    assert_int_equal(runs->time_limit_s, 365 * 86400);
    assert_int_equal(runs->tasks, 1);
    assert_string_equal(task->account, "");
    assert_int_equal(task->cpus, 1000);
    assert_int_equal(task->gpus, 3); /* only by type */
    assert_int_equal(task->time_limit_s, 1800);
    assert_int_equal(snapshot->jobs[3].time_limit_s, 10 * 60);
    assert_int_equal(snapshot->jobs[4].time_limit_s, 36 * 3600);
}

#define F "~5eedf00d"
/* As squeue of Slurm 22.05 shows the job that waited for a node, once that was merged: without nodes, and with an end a year away. */
static void test_a_merged_job_has_ended(void **state)
{
    (void)state;
    AUTO(job_snapshot) struct job_snapshot *snapshot = job_snapshot_new();
    char *text =
        own_strdup("9" F "ann" F "teams" F "dev" F "COMPLETED" F "None" F "" F "4" F "1" F "0" F "364-23:59:00" F
                   "1795360033" F "1795360034" F "1826896034" F "cpu=4" F "0" F "1" F "auto-resume-8.0-1-0" F "\n");
    assert_int_equal(slurm_queue_parse(text, SEPARATOR, snapshot), 0);
    assert_int_equal(snapshot->jobs[0].ends_at, INT64_C(1795360034000));
}

/* squeue's words, and where each leaves the job. */
static void test_states_of_jobs(void **state)
{
    (void)state;
    static const struct {
        const char *word;
        enum cluster_job_state state;
        enum cluster_job_place place;
    } words[] = {{"PENDING", CLUSTER_JOB_PENDING, CLUSTER_JOB_PLACE_QUEUE},
                 {"SPECIAL_EXIT", CLUSTER_JOB_REQUEUED, CLUSTER_JOB_PLACE_QUEUE},
                 {"RESV_DEL_HOLD", CLUSTER_JOB_PENDING, CLUSTER_JOB_PLACE_QUEUE},
                 {"STOPPED", CLUSTER_JOB_SUSPENDED, CLUSTER_JOB_PLACE_NODES},
                 {"SIGNALING", CLUSTER_JOB_RUNNING, CLUSTER_JOB_PLACE_NODES},
                 {"COMPLETING", CLUSTER_JOB_COMPLETING, CLUSTER_JOB_PLACE_NODES},
                 {"NODE_FAIL", CLUSTER_JOB_NODE_FAIL, CLUSTER_JOB_PLACE_OVER},
                 {"LAUNCH_FAILED", CLUSTER_JOB_FAILED, CLUSTER_JOB_PLACE_OVER},
                 {"running", CLUSTER_JOB_UNKNOWN, CLUSTER_JOB_PLACE_OVER},
                 {"SOMETHING_NEW", CLUSTER_JOB_UNKNOWN, CLUSTER_JOB_PLACE_OVER}};
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        AUTO(job_snapshot) struct job_snapshot *snapshot = job_snapshot_new();
        char *text = own_printf("9" F "ann" F "teams" F "dev" F "%s" F "None" F "gpu-1" F "4" F "1" F "0" F "30:00" F
                                "1795360033" F "1795360034" F "1795361834" F "cpu=4" F "1" F "1" F "train" F "\n",
                                words[i].word);
        assert_int_equal(slurm_queue_parse(text, SEPARATOR, snapshot), 0);
        if (snapshot->jobs[0].state != words[i].state || cluster_job_place(words[i].state) != words[i].place)
            fail_msg("%s is %s", words[i].word, cluster_job_state_text(snapshot->jobs[0].state));
    }
}

static void test_which_jobs_take_commands(void **state)
{
    (void)state;
    static const struct {
        const char *id, *batch, *requeue, *state;
        bool takes;
    } jobs[] = {{"9", "1", "1", "RUNNING", true},        {"9", "yes", "yes", "RUNNING", true},
                {"9_3", "1", "1", "PENDING", true},      {"9", "0", "1", "RUNNING", false},
                {"9", "1", "0", "RUNNING", false},       {"9+1", "1", "1", "RUNNING", false},
                {"9_[3]", "1", "1", "PENDING", false},   {"9", "1", "1", "COMPLETED", false},
                {"9_[3-5]", "1", "1", "PENDING", false}, {"9", "1", "1", "COMPLETING", true}};
    for (size_t i = 0; i < ARRAY_LEN(jobs); i++) {
        AUTO(job_snapshot) struct job_snapshot *snapshot = job_snapshot_new();
        char *text = own_printf("%s" F "ann" F "teams" F "dev" F "%s" F "None" F "gpu-1" F "4" F "1" F "0" F "30:00" F
                                "1795360033" F "1795360034" F "1795361834" F "cpu=4" F "%s" F "%s" F "train" F "\n",
                                jobs[i].id, jobs[i].state, jobs[i].batch, jobs[i].requeue);
        assert_int_equal(slurm_queue_parse(text, SEPARATOR, snapshot), 0);
        if (job_takes(&snapshot->jobs[0], JOB_COMMAND_RESTART) != jobs[i].takes ||
            job_takes(&snapshot->jobs[0], JOB_COMMAND_SCALE) != jobs[i].takes ||
            job_takes(&snapshot->jobs[0], JOB_COMMAND_REMAKE))
            fail_msg("case %zu", i);
    }
}

static void test_queue_that_is_none(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "slurm_load_jobs error: Invalid user\n",
        "1~5eedf00dann~5eedf00d\n",
        "\n",
        "<html>",
        /* one column too many, and a line that is no record behind a good one */
        "1~5eedf00d2~5eedf00d3~5eedf00d4~5eedf00d5~5eedf00d6~5eedf00d7~5eedf00d8~5eedf00d9~5eedf00d10~5eedf00d11~"
        "5eedf00d12~"
        "5eedf00d13~5eedf00d14~5eedf00d15~5eedf00d16~5eedf00d17~5eedf00d18~5eedf00d19~5eedf00d\n",
        /* no id */
        "x~5eedf00d2~5eedf00d3~5eedf00d4~5eedf00d5~5eedf00d6~5eedf00d7~5eedf00d8~5eedf00d9~5eedf00d10~5eedf00d11~"
        "5eedf00d12~"
        "5eedf00d13~5eedf00d14~5eedf00d15~5eedf00d16~5eedf00d17~5eedf00d18~5eedf00d\n",
    };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        AUTO(job_snapshot) struct job_snapshot *snapshot = job_snapshot_new();
        if (slurm_queue_parse(own_strdup(texts[i]), SEPARATOR, snapshot) != STATUS_BACKEND)
            fail_msg("taken: %s", texts[i]);
    }
    AUTO(job_snapshot) struct job_snapshot *none = job_snapshot_new();
    assert_int_equal(slurm_queue_parse(own_strdup(""), SEPARATOR, none), 0);
    assert_int_equal(none->count, 0);
}

static void test_metrics_of_the_queue(void **state)
{
    (void)state;
    AUTO(job_snapshot) struct job_snapshot *snapshot = job_snapshot_new();
    AUTO(slurm_metrics) struct slurm_metrics *metrics = slurm_metrics_new();
    assert_int_equal(slurm_queue_parse(sample("queue-22.05.txt"), SEPARATOR, snapshot), 0);
    slurm_metrics_jobs(metrics, snapshot);
    autofree char *text = slurm_metrics_render(metrics);
    /* an array that waits is one job in the queue and 199 of its owner; in two partitions it waits in each */
    has_line(text, "slurm_queue_pending{user=\"ann\",partition=\"dev\",reason=\"JobArrayTaskLimit\"} 1");
    has_line(text, "slurm_queue_pending{user=\"ann\",partition=\"debug\",reason=\"JobArrayTaskLimit\"} 1");
    has_line(text, "slurm_jobs_pending 1");
    has_line(text, "slurm_user_jobs_pending{user=\"ann\"} 199");
    has_line(text, "slurm_account_jobs_pending{account=\"teams\"} 199");
    has_line(text, "slurm_partition_jobs_pending{partition=\"debug\"} 199");
    has_line(text, "slurm_queue_running{user=\"ben\",partition=\"dev\"} 1");
    has_line(text, "slurm_cores_running{user=\"ann\",partition=\"dev\"} 8");
    has_line(text, "slurm_account_cpus_running{account=\"\"} 1000");
    has_line(text, "slurm_account_gpus_running{account=\"teams\"} 16");
    has_line(text, "slurm_user_gpus_running{user=\"ben\"} 3");
    has_line(text, "slurm_jobs_cores_running 1008");
    has_line(text, "slurm_queue_node_fail{user=\"ben\",partition=\"dev\"} 1");
    has_line(text, "slurm_jobs_node_fail 1");
    has_line(text, "slurm_jobs_failed 0");
    has_line(text, "slurm_exporter_collector_success{collector=\"queue\"} 1");
    assert_null(strstr(text, "scheduler")); /* nobody said anything of it */
}

/* --- the other programs ------------------------------------------------------------------------------------------- */

static void test_sdiag(void **state)
{
    (void)state;
    AUTO(slurm_metrics) struct slurm_metrics *metrics = slurm_metrics_new();
    autofree char *said = sample("sdiag-22.05.txt");
    assert_int_equal(slurm_metrics_diag(metrics, said), 0);
    autofree char *text = slurm_metrics_render(metrics);
    static const char *const lines[] = {
        "slurm_scheduler_threads 3",
        "slurm_scheduler_queue_size 1",
        "slurm_scheduler_dbd_queue_size 2",
        "slurm_scheduler_jobs_submitted 202",
        "slurm_scheduler_jobs_canceled 6",
        "slurm_scheduler_last_cycle 17",
        "slurm_scheduler_mean_cycle 18",
        "slurm_scheduler_cycle_per_minute 31",
        "slurm_scheduler_backfill_last_cycle 1229",
        "slurm_scheduler_backfill_mean_cycle 1230",
        "slurm_scheduler_backfill_depth_mean 4",
        "slurm_scheduler_backfilled_jobs_since_start_total 30",
        "slurm_scheduler_backfilled_jobs_since_cycle_total 31",
        "slurm_scheduler_backfilled_heterogeneous_total 32",
        "slurm_rpc_stats{operation=\"REQUEST_PING\"} 5",
        "slurm_rpc_stats_avg_time{operation=\"REQUEST_PING\"} 148",
        "slurm_rpc_stats_total_time{operation=\"REQUEST_PARTITION_INFO\"} 5252",
        "slurm_user_rpc_stats{user=\"ann\"} 25",
        "slurm_user_rpc_stats_total_time{user=\"ann\"} 14826",
    };
    for (size_t i = 0; i < ARRAY_LEN(lines); i++)
        has_line(text, lines[i]);
    char other[] = "slurm_get_statistics: Access denied";
    assert_int_equal(slurm_metrics_diag(metrics, other), STATUS_BACKEND);
}

static void test_sshare(void **state)
{
    (void)state;
    AUTO(slurm_metrics) struct slurm_metrics *metrics = slurm_metrics_new();
    autofree char *said = sample("sshare-22.05.txt");
    assert_int_equal(slurm_metrics_shares(metrics, said), 0);
    autofree char *text = slurm_metrics_render(metrics);
    has_line(text, "slurm_account_fairshare{account=\"teams\"} 0.6");
    has_line(text, "slurm_account_fairshare_raw_usage_cpu_seconds{account=\"root\"} 500000");
    has_line(text, "slurm_user_fairshare{account=\"teams\",user=\"ben\"} 0.8");
    has_line(text, "slurm_user_fairshare_raw_shares{account=\"teams\",user=\"ben\"} 2");
    assert_null(strstr(text, "fairshare{account=\"root\"}")); /* Slurm says nothing of it: no number is made up */
    assert_null(strstr(text, "user=\"bot\""));
    /* What is no such line takes all of it away. */
    char other[] = "root|||0.0|1||\nroot|ann|1\n";
    assert_int_equal(slurm_metrics_shares(metrics, other), STATUS_BACKEND);
    autofree char *after = slurm_metrics_render(metrics);
    has_line(after, "slurm_exporter_collector_success{collector=\"fairshare\"} 0");
    assert_null(strstr(after, "slurm_account_fairshare"));
}

static void test_reservations(void **state)
{
    (void)state;
    AUTO(slurm_metrics) struct slurm_metrics *metrics = slurm_metrics_new();
    autofree char *said = sample("reservations-22.05.txt");
    assert_int_equal(slurm_metrics_reservations(metrics, said), 0);
    autofree char *text = slurm_metrics_render(metrics);
    has_line(
        text,
        "slurm_reservation_info{reservation_name=\"theirs\",state=\"INACTIVE\",users=\"root,ann\",nodes=\"gpu-[3-4]\","
        "partition=\"dev\",flags=\"SPEC_NODES\"} 1");
    has_line(text, "slurm_reservation_start_time_seconds{reservation_name=\"theirs\"} 1795364319");
    has_line(text, "slurm_reservation_end_time_seconds{reservation_name=\"theirs\"} 1795367919");
    has_line(text, "slurm_reservation_node_count{reservation_name=\"theirs\"} 2");
    has_line(text, "slurm_reservation_core_count{reservation_name=\"theirs\"} 8");
    char none[] = "No reservations in the system\n", other[] = "garbage\n";
    assert_int_equal(slurm_metrics_reservations(metrics, none), 0);
    assert_int_equal(slurm_metrics_reservations(metrics, other), STATUS_BACKEND);
}

static void test_licenses(void **state)
{
    (void)state;
    AUTO(slurm_metrics) struct slurm_metrics *metrics = slurm_metrics_new();
    autofree char *said = sample("licenses-22.05.txt");
    assert_int_equal(slurm_metrics_licenses(metrics, said), 0);
    autofree char *text = slurm_metrics_render(metrics);
    has_line(text, "slurm_exporter_collector_success{collector=\"licenses\"} 1");
    has_line(text, "slurm_license_total{license=\"fluid@vendor\"} 40");
    has_line(text, "slurm_license_used{license=\"fluid@vendor\"} 12");
    has_line(text, "slurm_license_free{license=\"fluid@vendor\"} 28");
    has_line(text, "slurm_license_reserved{license=\"fluid@vendor\"} 4");
    has_line(text, "slurm_license_total{license=\"solver\"} 3");
    assert_null(strstr(text, "slurm_license_reserved{license=\"solver\"}")); /* 20.11 does not say */
    char none[] = "No licenses configured in Slurm.\n", other[] = "garbage\n", nameless[] = "LicenseName= Total=1\n";
    assert_int_equal(slurm_metrics_licenses(metrics, none), 0);
    assert_int_equal(slurm_metrics_licenses(metrics, other), STATUS_BACKEND);
    assert_int_equal(slurm_metrics_licenses(metrics, nameless), STATUS_BACKEND);
}

/* --- nodes -------------------------------------------------------------------------------------------------------- */

/* As "scontrol -d -o show node" has it; the figures are below. */
#define FORGED_REASON "Partitions=x CPUTot=99 Gres=gpu:9 [root@1795188254~0badcafe]"
#define FORGED "Reason=" FORGED_REASON
static const char node_lines[] =
    "NodeName=n1 Arch=x86_64 CPUAlloc=8 CPUTot=32 AvailableFeatures=b,a,c ActiveFeatures=b,a Gres=gpu:h100:8(S:0-1) "
    "GresDrain=N/A "
    "GresUsed=gpu:h100:2(IDX:0,3) NodeAddr=n1 RealMemory=2048 AllocMem=512 State=MIXED Partitions=dev,gpu \n"
    "NodeName=n2 CPUAlloc=0 CPUTot=32 ActiveFeatures=a,b Gres=gpu:h100:8(S:0-1) GresUsed=gpu:h100:0(IDX:N/A) "
    "NodeAddr=n2 "
    "RealMemory=2048 AllocMem=0 State=IDLE+DRAIN+NOT_RESPONDING Partitions=gpu " FORGED "\n"
    "NodeName=n3 CPUAlloc=0 CPUTot=16 ActiveFeatures=(null) Gres=(null) GresUsed=gpu:0 NodeAddr=n3 RealMemory=1024 "
    "AllocMem=0 "
    "State=IDLE Partitions=gpu \n"
    "NodeName=n4 CPUTot=16 NodeAddr=n4 State=DOWN " FORGED "\n";

static char *scripts;

static void script(const char *name, const char *body)
{
    autofree char *path = own_printf("%s/%s", scripts, name);
    autofree char *text =
        own_printf("#!/bin/sh\nD=%s\nprintf '%%s\\n' \"%s $*\" >>$D/calls\n%s\n", scripts, name, body);
    assert_int_equal(file_write(path, text, strlen(text), 0700), 0);
}

static struct scheduler_driver driver(void)
{
    struct slurm_options options = {.bin_dir = scripts, .conf = "/nowhere/slurm.conf", .timeout_ms = TIMEOUT_MS};
    struct scheduler_driver made;
    autofree char *nodes = own_printf("%s/nodes", scripts), *calls = own_printf("%s/calls", scripts);
    assert_int_equal(file_write(nodes, node_lines, strlen(node_lines), 0600), 0);
    assert_int_equal(file_write(calls, "", 0, 0600), 0);
    assert_int_equal(slurm_new(&options, &made), 0);
    script("scontrol", "case \"$*\" in *reservation) cat tests/data/slurm/reservations-22.05.txt;; *licenses) cat "
                       "tests/data/slurm/licenses-22.05.txt;; --version) echo slurm 22.05.8;; "
                       "*) cat $D/nodes;; esac");
    script("squeue", "sep=${5#JobArrayID:}; sed s/~5eedf00d/${sep%%,*}/g tests/data/slurm/queue-22.05.txt");
    script("sdiag", "cat tests/data/slurm/sdiag-22.05.txt");
    script("sshare", "cat tests/data/slurm/sshare-22.05.txt");
    return made;
}

static int make_scripts(void **state)
{
    (void)state;
    scripts = own_strdup("/tmp/holdfast-snapshot-XXXXXX");
    return mkdtemp(scripts) == NULL ? -1 : 0;
}

static int remove_scripts(void **state)
{
    (void)state;
    int status = file_remove_tree(scripts);
    free(TAKE(scripts));
    return status;
}

static int job_snapshot(struct scheduler_driver *slurm, struct job_snapshot **ret_snapshot, char *ret_error)
{
    struct scheduler_observation seen = {0};
    assert_int_equal(slurm->ops->observe(slurm->self, &seen, ret_error), 0);
    int status = slurm->ops->jobs->snapshot(slurm->self, &seen, ret_snapshot, ret_error);
    scheduler_observation_free(&seen);
    return status;
}

static void test_metrics_of_nodes(void **state)
{
    (void)state;
    char error[SCHEDULER_ERROR_MAX] = "";
    struct scheduler_driver slurm = driver();
    AUTO(job_snapshot) struct job_snapshot *snapshot = NULL;
    assert_int_equal(job_snapshot(&slurm, &snapshot, error), 0);
    static const char *const lines[] = {
        "slurm_cpus_alloc 8",
        "slurm_cpus_idle 40",
        "slurm_cpus_other 48",
        "slurm_cpus_total 96",
        "slurm_gpus_alloc 2",
        "slurm_gpus_idle 6",
        "slurm_gpus_other 8",
        "slurm_gpus_total 16",
        "slurm_gpus_utilization 0.125",
        "slurm_nodes_total 4",
        "slurm_node_cpu_idle{node=\"n1\",status=\"mixed\",partition=\"dev\"} 24",
        "slurm_node_mem_alloc{node=\"n1\",status=\"mixed\",partition=\"gpu\"} 512",
        "slurm_node_cpu_other{node=\"n2\",status=\"drained*\",partition=\"gpu\"} 32",
        "slurm_node_gres_total{node=\"n1\",status=\"mixed\",partition=\"gpu\",gres_type=\"gpu:h100\"} 8",
        "slurm_node_gres_used{node=\"n1\",status=\"mixed\",partition=\"gpu\",gres_type=\"gpu:h100\"} 2",
        "slurm_node_drain_reason_info{node=\"n2\",reason=\"" FORGED_REASON "\"} 1",
        "slurm_license_free{license=\"solver\"} 3",
        "slurm_nodes_mix{partition=\"gpu\",active_feature_set=\"a,b\"} 1",
        "slurm_nodes_drain{partition=\"gpu\",active_feature_set=\"a,b\"} 1",
        "slurm_nodes_idle{partition=\"gpu\",active_feature_set=\"null\"} 1",
        "slurm_nodes_drain{partition=\"gpu\",active_feature_set=\"null\"} 0",
        "slurm_partition_cpus_total{partition=\"gpu\"} 80",
        "slurm_partition_gpus_idle{partition=\"gpu\"} 6",
        "slurm_info{type=\"general\",binary=\"\",version=\"22.05.8\"} 1",
    };
    for (size_t i = 0; i < ARRAY_LEN(lines); i++)
        has_line(snapshot->metrics, lines[i]);
    assert_null(strstr(snapshot->metrics, "partition=\"x\"")); /* what a reason says is not so */
    assert_int_equal(snapshot->node_count, 4);
    assert_string_equal(snapshot->nodes[0].partitions, "dev,gpu");
    assert_string_equal(snapshot->nodes[0].features, "b,a");
    assert_string_equal(snapshot->nodes[0].gres, "gpu:h100:8(S:0-1)");
    assert_string_equal(snapshot->nodes[2].features, "");
    assert_string_equal(snapshot->nodes[2].gres, "");
    assert_string_equal(snapshot->nodes[3].name, "n4");
    assert_string_equal(snapshot->nodes[3].partitions, "");
    slurm.ops->free(slurm.self);
}

static void test_state_labels(void **state)
{
    (void)state;
    static const struct {
        const char *state, *label;
    } cases[] = {
        /* seen with sinfo of 22.05 */
        {"IDLE", "idle"},
        {"MIXED", "mixed"},
        {"IDLE+FAIL", "fail"},
        {"MIXED+FAIL", "fail"},
        {"IDLE+DRAIN", "drained"},
        {"MIXED+DRAIN", "draining"},
        {"IDLE+MAINTENANCE+RESERVED", "maint"},
        {"IDLE+RESERVED", "reserved"},
        {"DOWN", "down"},
        /* as Slurm's manual has them */
        {"ALLOCATED", "allocated"},
        {"ALLOCATED+FAIL", "failing"},
        {"ALLOCATED+MAINTENANCE", "allocated$"},
        {"DOWN+NOT_RESPONDING", "down*"},
        {"DOWN*", "down*"},
        {"IDLE+CLOUD+POWERED_DOWN", "idle~"},
        {"IDLE+PLANNED", "planned"},
        {"IDLE+COMPLETING", "completing"},
        {"IDLE+INVALID_REG", "inval"},
        {"MIXED+REBOOT_REQUESTED", "mixed@"},
        {"IDLE+DRAIN+REBOOT_ISSUED", "drained^"},
        {"DOWN+DRAIN+NOT_RESPONDING", "drained*"},
        {"SOMETHING+NEW", "something"},
        {"", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char label[SCHEDULER_STATE_TEXT_MAX];
        slurm_state_label(cases[i].state, label);
        if (strcmp(label, cases[i].label) != 0)
            fail_msg("%s: %s, not %s", cases[i].state, label, cases[i].label);
    }
}

static void test_gres(void **state)
{
    (void)state;
    static const struct {
        const char *text, *type;
        int64_t count;
    } cases[] = {
        {"gpu:4", "gpu", 4},
        {"gpu:h100:8(S:0-1)", "gpu:h100", 8},
        {"gpu:(null):3(IDX:0-2)", "gpu", 3},
        {"gpu:nvidia_a100_1g.5gb:21(S:0-1)", "gpu:nvidia_a100_1g.5gb", 21},
        {"gpu:NVlink_A100:2(IDX:0,3)", "gpu:NVlink_A100", 2},
        {"(null)", NULL, 0},
        {"gpu", NULL, 0},
        {"gpu:h10", NULL, 0},
        {"gpu:(", NULL, 0},
        {",,:4,gpu:-1,gpu:1", "gpu", 1},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char type[NAME_MAX_BYTES];
        int64_t count;
        const char *at = cases[i].text;
        bool found = slurm_gres_next(&at, type, &count);
        if (found != (cases[i].type != NULL) ||
            (found && (strcmp(type, cases[i].type) != 0 || count != cases[i].count)))
            fail_msg("%s", cases[i].text);
    }
}

/* --- all of it ---------------------------------------------------------------------------------------------------- */

static size_t lines_of(const char *text, const char *beginning)
{
    size_t count = 0;
    for (const char *at = text; *at != '\0'; at = strchr(at, '\n') + 1)
        count += text_starts_with(at, beginning);
    return count;
}

static void test_what_is_run(void **state)
{
    (void)state;
    char error[SCHEDULER_ERROR_MAX] = "";
    struct scheduler_driver slurm = driver();
    AUTO(job_snapshot) struct job_snapshot *snapshot = NULL;
    autofree char *path = own_printf("%s/calls", scripts), *calls = NULL;
    size_t len;
    assert_int_equal(job_snapshot(&slurm, &snapshot, error), 0);
    assert_int_equal(file_read(path, FILE_BYTES_MAX, &calls, &len), 0);
    assert_int_equal(lines_of(calls, "squeue -h -a --states=all -O JobArrayID:~"), 1);
    assert_int_equal(lines_of(calls, "sdiag "), 1);
    assert_int_equal(lines_of(calls, "sshare -a -P -n"), 1);
    assert_int_equal(lines_of(calls, "scontrol -a -o show reservation"), 1);
    assert_int_equal(lines_of(calls, "scontrol -o show licenses"), 1);
    assert_int_equal(lines_of(calls, "scontrol --version"), 1);
    assert_int_equal(lines_of(calls, "scontrol -a -d -o show node"), 1); /* the observation's */
    assert_int_equal(lines_of(calls, ""), 7);
    slurm.ops->free(slurm.self);
}

static void test_parts_that_are_missing(void **state)
{
    (void)state;
    char error[SCHEDULER_ERROR_MAX] = "";
    struct scheduler_driver slurm = driver();
    AUTO(job_snapshot) struct job_snapshot *snapshot = NULL, *none = NULL;
    script("sdiag", "echo 'sdiag: error: Access denied' >&2; exit 1");
    script("sshare", ":");
    assert_int_equal(job_snapshot(&slurm, &snapshot, error), 0);
    has_line(snapshot->metrics, "slurm_exporter_collector_success{collector=\"scheduler\"} 0");
    has_line(snapshot->metrics, "slurm_exporter_collector_success{collector=\"queue\"} 1");
    assert_null(strstr(snapshot->metrics, "slurm_scheduler_"));
    assert_null(strstr(snapshot->metrics, "fairshare")); /* there is no accounting: nothing is missing */
    script("squeue", "echo 'slurm_load_jobs error: Unable to contact slurm controller (connect failure)' >&2; exit 1");
    assert_int_equal(job_snapshot(&slurm, &none, error), STATUS_UNAVAILABLE);
    assert_null(none);
    script("squeue", "echo nonsense");
    assert_int_equal(job_snapshot(&slurm, &none, error), STATUS_BACKEND);
    slurm.ops->free(slurm.self);
}

static void test_text_is_prometheus(void **state)
{
    (void)state;
    AUTO(slurm_metrics) struct slurm_metrics *metrics = slurm_metrics_new();
    AUTO(text) struct text labels = {0};
    slurm_label(&labels, "reason", "a \"b\" c\\d\ne");
    slurm_metrics_set(metrics, SLURM_METRIC_QUEUE_PENDING, text_get(&labels), 1);
    slurm_metrics_set(metrics, SLURM_METRIC_QUEUE_PENDING, text_get(&labels), 2);
    slurm_metrics_add(metrics, SLURM_METRIC_CPUS_TOTAL, "", 1);
    slurm_metrics_add(metrics, SLURM_METRIC_CPUS_TOTAL, "", 2.5);
    autofree char *text = slurm_metrics_render(metrics);
    has_line(text, "# TYPE slurm_queue_pending gauge");
    has_line(text, "slurm_queue_pending{reason=\"a \\\"b\\\" c\\\\d e\"} 1"); /* once */
    assert_int_equal(lines_of(text, "slurm_queue_pending"), 1);
    has_line(text, "slurm_cpus_total 3.5");
}

static void test_every_metric_is_documented(void **state)
{
    (void)state;
    char *page = NULL;
    size_t len;
    assert_int_equal(file_read("docs/slurm-metrics.md", FILE_BYTES_MAX, &page, &len), 0);
    autofree char *text = page;
    for (unsigned i = 0; i < SLURM_METRIC_COUNT; i++) {
        autofree char *name = own_printf("`%s`", slurm_metric_name(i));
        if (strstr(text, name) == NULL)
            fail_msg("docs/slurm-metrics.md does not name %s", name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_queue),
        cmocka_unit_test(test_a_merged_job_has_ended),
        cmocka_unit_test(test_states_of_jobs),
        cmocka_unit_test(test_which_jobs_take_commands),
        cmocka_unit_test(test_queue_that_is_none),
        cmocka_unit_test(test_metrics_of_the_queue),
        cmocka_unit_test(test_sdiag),
        cmocka_unit_test(test_sshare),
        cmocka_unit_test(test_reservations),
        cmocka_unit_test(test_licenses),
        cmocka_unit_test(test_metrics_of_nodes),
        cmocka_unit_test(test_state_labels),
        cmocka_unit_test(test_gres),
        cmocka_unit_test(test_what_is_run),
        cmocka_unit_test(test_parts_that_are_missing),
        cmocka_unit_test(test_text_is_prometheus),
        cmocka_unit_test(test_every_metric_is_documented),
    };
    return cmocka_run_group_tests(tests, make_scripts, remove_scripts);
}
