/*
 * The tools for a test between two nodes, the best first: the all-reduce of NCCL for GPUs, or of Neuron; else fi_pingpong over the
 * fabric or TCP; else MPI. The last two are substitutes: their reports say so, and they do not test accelerators.
 *
 * mpirun and nccom-test start processes on the other machine by SSH. Only one node runs them; the other one waits. If the launcher
 * cannot start its process there, the result is unknown for both, and they try the next tool.
 */
#include "agents/checks/fabric.h"
#include "agents/checks/neuron_tree.h"
#include "agents/checks/rdma.h"
#include "agents/checks/sysfs.h"
#include "agents/deep/bench.h"
#include "agents/deep/collective.h"
#include "agents/deep/limits.h"
#include "agents/deep/pair.h"
#include "base/clock.h"
#include "base/own.h"
#include "base/status.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define COLLECTIVE_LIMIT_MS (20 * MS_PER_MIN) /* up to 2 GiB takes 5 to 15 min (AWS guide, "Deep health checks") */
#define PINGPONG_LIMIT_MS (45 * MS_PER_S)     /* both come within ten seconds, and a table takes some */
#define MPI_LIMIT_MS (2 * MS_PER_MIN)         /* seconds, and its daemons have to be started by SSH */
#define MB_PER_GB 1000.0
#define NUMBER_TEXT 24
#define ENV "/usr/bin/env"

static struct check_context context_of(const struct deep_bench *bench)
{
    const struct runner_options *options = bench->options;
    return (struct check_context){.root = options->root != NULL ? options->root : "",
                                  .path = options->path,
                                  .instance_type = bench->job.instance_type,
                                  .state_dir = ""};
}

static int count_entries(const struct deep_bench *bench, const char *directory, const char *prefix)
{
    const struct check_context context = context_of(bench);
    char **names = NULL;
    size_t count = 0;
    int found = 0;
    if (sysfs_list(&context, directory, &names, &count) != 0)
        return 0;
    for (size_t i = 0; i < count; i++)
        found += text_starts_with(names[i], prefix);
    sysfs_list_free(names, count);
    return found;
}

/* The first line that says something, for people. */
static void say_first(const struct deep_tool *tool, char *ret_line, size_t size)
{
    const char *at = tool->output != NULL ? tool->output : "";
    at += strspn(at, "\n\r \t-");
    text_copy_clean(ret_line, size, at, strcspn(at, "\n"));
}

/* Where a colon follows: an IPv6 address has some of its own. Caller frees. */
static char *host_of(const char *address)
{
    return strchr(address, ':') != NULL ? own_printf("[%s]", address) : own_strdup(address);
}

/* "gpu-2 busbw GB/s", by the limit of its kind. */
static bool judge(struct deep_bench *bench, const char *partner, const char *measure, const char *unit, double value)
{
    struct deep_limit limit;
    bool known = limits_find(&bench->job, measure, &limit);
    autofree char *name = own_printf("%.24s %s", partner, unit);
    return deep_judged(bench, name, known ? &limit : NULL, value);
}

/* --- collectives --------------------------------------------------------------------------------------------- */

static bool judge_collective(struct deep_bench *bench, const struct deep_pair_reply *match, const char *measure,
                             const struct collective_report *report, int devices)
{
    struct deep_limit limit = {.value = 0};
    bool known = limits_find(&bench->job, measure, &limit);
    bool fast = judge(bench, match->match.partner, measure, "busbw GB/s", report->max_busbw);
    deep_log(bench, fast && !report->wrong ? "info" : "error",
             "Nccl test %s. Summary: NcclMaxAlgoBw: %.6f, NcclAvgAlgoBw: %.6f, NcclThresholdBusBw: %s%.6f, "
             "NcclOutOfBoundError: %s, NcclOperations: all_reduce_perf, NcclTotalDevices: %d, NcclNodes: 2, "
             "NcclClusterMessage:",
             fast && !report->wrong ? "successful" : "failed", report->max_algbw, report->avg_busbw,
             known ? "" : "none ", known ? limit.value : 0, report->wrong ? "FAILED" : "OK", devices);
    return fast && !report->wrong;
}

/* devices 0: there are none, and what is measured is the way between the two. */
static int run_collective(struct deep_bench *bench, const struct deep_pair_reply *match, const char *const argv[],
                          const char *measure, int devices, enum deep_pair_result *ret_result)
{
    struct deep_tool tool;
    struct collective_report report;
    char said[200];
    *ret_result = DEEP_PAIR_RESULT_PASSED;
    if (!match->serves)
        return 0; /* the other measures, and says what came of it */
    int status = deep_tool_run(bench, argv, COLLECTIVE_LIMIT_MS, &tool);
    if (status == 0) {
        collective_read(tool.output, tool.output_len, &report);
        if (tool.output_len > 0)
            deep_log_raw(bench, tool.output);
        say_first(&tool, said, sizeof(said));
        if (report.rows == 0 && !tool.end.timed_out && !tool.end.succeeded) {
            deep_log(bench, "warn", "it could not be started: %s %s", tool.end.why, said);
            *ret_result = DEEP_PAIR_RESULT_VOID;
        } else if (report.rows == 0 || !tool.end.succeeded) {
            deep_log(bench, "error", "it %s: %s", tool.end.why, said);
            *ret_result = DEEP_PAIR_RESULT_FAILED;
        } else if (devices > 0 ? !judge_collective(bench, match, measure, &report, devices)
                               : !judge(bench, match->match.partner, measure, "MB/s", report.max_busbw * MB_PER_GB)) {
            *ret_result = DEEP_PAIR_RESULT_FAILED;
        }
    }
    deep_tool_free(&tool);
    return status;
}

static int count_gpus(const struct deep_bench *bench)
{
    return count_entries(bench, "/proc/driver/nvidia/gpus", "");
}

static bool nccl_is_here(struct deep_bench *bench)
{
    return count_gpus(bench) > 0 && deep_tool_find(bench, "all_reduce_perf") && deep_tool_find(bench, "mpirun");
}

static int nccl_run(struct deep_bench *bench, const struct deep_pair_reply *match, const char *own,
                    enum deep_pair_result *ret_result)
{
    char ranks[NUMBER_TEXT];
    int gpus = count_gpus(bench);
    autofree char *one = host_of(own), *other = host_of(match->address);
    autofree char *hosts = own_printf("%s:%d,%s:%d", one, gpus, other, gpus);
    snprintf(ranks, sizeof(ranks), "%d", 2 * gpus);
    const char *const argv[] = {"mpirun",
                                "--allow-run-as-root",
                                "--host",
                                hosts,
                                "-np",
                                ranks,
                                "all_reduce_perf",
                                "-b",
                                "8",
                                "-e",
                                "2G",
                                "-f",
                                "2",
                                "-g",
                                "1",
                                "-c",
                                "1",
                                NULL};
    return run_collective(bench, match, argv, MEASURE_NCCL, 2 * gpus, ret_result);
}

/* Cores of all devices together. */
static int count_cores(const struct deep_bench *bench)
{
    const struct check_context context = context_of(bench);
    int cores = 0, devices = count_entries(bench, NEURON_TREE, "neuron");
    for (int i = 0; i < devices; i++) {
        int64_t count = sysfs_read_count(&context, NEURON_TREE "/neuron%d/core_count", i);
        cores += count > 0 && count < 64 ? (int)count : 0;
    }
    return cores;
}

static bool nccom_is_here(struct deep_bench *bench)
{
    autofree char *path = neuron_path(bench->options->path), *tool = check_find_tool(path, "nccom-test");
    return count_cores(bench) > 0 && tool != NULL;
}

static int nccom_run(struct deep_bench *bench, const struct deep_pair_reply *match, const char *own,
                     enum deep_pair_result *ret_result)
{
    char ranks[NUMBER_TEXT];
    autofree char *path = neuron_path(bench->options->path), *tool = check_find_tool(path, "nccom-test");
    autofree char *host = host_of(own), *root = own_printf("NEURON_RT_ROOT_COMM_ID=%s:%" PRId64, host, match->port);
    snprintf(ranks, sizeof(ranks), "%d", 2 * count_cores(bench));
    const char *const argv[] = {ENV,  root, tool, "-r",   ranks,  "-N",      "2", "-b",           "8", "-e", "1G",
                                "-f", "2",  "-d", "fp32", "allr", "--hosts", own, match->address, NULL};
    return run_collective(bench, match, argv, MEASURE_NCCOM, 2 * count_cores(bench), ret_result);
}

/* --- fi_pingpong --------------------------------------------------------------------------------------------- */

static bool pingpong_is_here(struct deep_bench *bench)
{
    autofree char *path = fabric_path(bench->options->path), *tool = check_find_tool(path, "fi_pingpong");
    return tool != NULL;
}

static bool efa_is_here(struct deep_bench *bench)
{
    const struct check_context context = context_of(bench);
    autofree struct rdma_port *ports = NULL;
    size_t count = 0;
    return rdma_read_ports(&context, true, &ports, &count) == 0 && count > 0 && pingpong_is_here(bench);
}

/* The one that calls tries again for as long as nobody listens yet. */
static int run_end(struct deep_bench *bench, const char *const argv[], bool serves, struct deep_tool *ret_tool)
{
    int64_t until = bench_mono_ms() + PINGPONG_LIMIT_MS;
    for (;;) {
        int status = deep_tool_run(bench, argv, PINGPONG_LIMIT_MS, ret_tool);
        if (status != 0 || serves || ret_tool->end.exit_code != ECONNREFUSED || bench_mono_ms() >= until)
            return status;
        deep_tool_free(ret_tool);
        status = deep_pause(bench, bench->options->times.pause_ms);
        if (status != 0)
            return status;
    }
}

static enum deep_pair_result judge_pingpong(struct deep_bench *bench, const struct deep_pair_reply *match,
                                            const struct deep_tool *tool)
{
    struct fabric_speed speed;
    char said[200];
    if (tool->output_len > 0)
        deep_log_raw(bench, tool->output);
    if (!tool->end.succeeded || fabric_parse_pingpong(tool->output, &speed) != 0) {
        say_first(tool, said, sizeof(said));
        deep_log(bench, "error", "fi_pingpong %s: %s", tool->end.why, said);
        return tool->end.exit_code == ENODATA ? DEEP_PAIR_RESULT_VOID : DEEP_PAIR_RESULT_FAILED;
    }
    bool fast = judge(bench, match->match.partner, MEASURE_PAIR_SPEED, "MB/s", speed.max_mb_per_s);
    return fast ? DEEP_PAIR_RESULT_PASSED : DEEP_PAIR_RESULT_FAILED;
}

static int pingpong(struct deep_bench *bench, const struct deep_pair_reply *match, const char *provider,
                    const char *endpoint, enum deep_pair_result *ret_result)
{
    char port[NUMBER_TEXT];
    struct deep_tool tool = {.found = false};
    autofree char *path = fabric_path(bench->options->path), *program = check_find_tool(path, "fi_pingpong");
    snprintf(port, sizeof(port), "%" PRId64, match->port);
    const char *const argv[] = {program,  "-p",
                                provider, "-e",
                                endpoint, match->serves ? "-B" : "-P",
                                port,     match->serves ? NULL : match->address,
                                NULL};
    if (program == NULL)
        return STATUS_NOT_FOUND;
    int status = run_end(bench, argv, match->serves, &tool);
    if (status == 0)
        *ret_result = judge_pingpong(bench, match, &tool);
    deep_tool_free(&tool);
    return status;
}

static int efa_run(struct deep_bench *bench, const struct deep_pair_reply *match, const char *own,
                   enum deep_pair_result *ret_result)
{
    (void)own;
    return pingpong(bench, match, "efa", "rdm", ret_result);
}

static int tcp_run(struct deep_bench *bench, const struct deep_pair_reply *match, const char *own,
                   enum deep_pair_result *ret_result)
{
    (void)own;
    return pingpong(bench, match, "tcp", "msg", ret_result);
}

/* --- MPI ----------------------------------------------------------------------------------------------------- */

static bool mpi_is_here(struct deep_bench *bench)
{
    return deep_tool_find(bench, "mpirun") && deep_tool_find(bench, "NPopenmpi");
}

/* Messages of 64 KiB to 4 MiB, each some times: seconds. A rank that waits gives way: the node may have more to do than to wait. */
static int mpi_run(struct deep_bench *bench, const struct deep_pair_reply *match, const char *own,
                   enum deep_pair_result *ret_result)
{
    autofree char *one = host_of(own), *other = host_of(match->address), *hosts = own_printf("%s:1,%s:1", one, other);
    const char *const argv[] = {"mpirun", "--allow-run-as-root",
                                "--mca",  "mpi_yield_when_idle",
                                "1",      "--host",
                                hosts,    "-np",
                                "2",      "NPopenmpi",
                                "-l",     "65536",
                                "-u",     "4194304",
                                "-p",     "0",
                                "-n",     "20",
                                "-o",     "/dev/null",
                                NULL};
    return run_collective(bench, match, argv, MEASURE_PAIR_SPEED, 0, ret_result);
}

static const struct pair_tool tools[] = {
    {"nccl", "all_reduce_perf of nccl-tests", COLLECTIVE_LIMIT_MS, nccl_is_here, nccl_run},
    {"nccom", "nccom-test", COLLECTIVE_LIMIT_MS, nccom_is_here, nccom_run},
    {"fi-pingpong-efa", "fi_pingpong over EFA, a stand-in for an all-reduce: it says nothing of accelerators",
     2 * PINGPONG_LIMIT_MS, efa_is_here, efa_run},
    {"fi-pingpong-tcp", "fi_pingpong over TCP, a stand-in for an all-reduce: it says nothing of accelerators or fabric",
     2 * PINGPONG_LIMIT_MS, pingpong_is_here, tcp_run},
    {"mpi-netpipe", "NetPIPE over MPI, a stand-in for an all-reduce: it says nothing of accelerators", MPI_LIMIT_MS,
     mpi_is_here, mpi_run},
};

const struct pair_tool *pair_tool_find(struct deep_bench *bench, const struct pair_tool *behind)
{
    for (size_t i = behind != NULL ? (size_t)(behind - tools) + 1 : 0; i < ARRAY_LEN(tools); i++)
        if (tools[i].is_here(bench))
            return &tools[i];
    return NULL;
}

const struct pair_tool *pair_tool_named(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(tools); i++)
        if (strcmp(tools[i].name, name) == 0)
            return &tools[i];
    return NULL;
}
