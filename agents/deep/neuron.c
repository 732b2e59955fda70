/*
 * Trainium and Inferentia, as HyperPod has it in three parts (AWS guide, "Deep health checks"): the counters of the driver's tree, a hardware
 * check that "runs a workload and compares its results", and the local test of collectives. HyperPod's workload is not public. Ours
 * is an all-reduce over all cores whose sums nccom-test compares (--check): it moves data through every core, their memory and the
 * links between them, and while it runs no device may count an error that was not corrected.
 *
 *     NEURON       counters, workload, counters again
 *     NCCOM_LOCAL  the same collective without the comparison, from 8 bytes to 1 GB: how fast
 *
 * A tool that did not come to its first row says nothing of the hardware, unless it says that it found errors.
 */
#include "agents/checks/neuron_ls.h"
#include "agents/checks/neuron_tree.h"
#include "agents/deep/collective.h"
#include "agents/deep/deep.h"
#include "agents/deep/limits.h"
#include "base/clock.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>

#define LS_LIMIT_MS MS_PER_MIN
#define WORKLOAD_LIMIT_MS (5 * MS_PER_MIN) /* sizes take milliseconds each; the program is compiled first */
#define LOCAL_LIMIT_MS (10 * MS_PER_MIN)
#define TOOL "nccom-test"
#define RANKS_TEXT 24
#define SAID_MAX 200

struct neuron_bench {
    struct deep_bench *bench;
    struct check_context context;
    char *path, *tool; /* tool NULL: it is not installed */
    struct neuron_device devices[NEURON_DEVICES_MAX];
    int count;
    int64_t cores; /* as programs see them, of all devices together */
};

/* --- what is here --------------------------------------------------------------------------------------------- */

/* As neuron-ls counts them: from Trainium 2 on two may be used as one. The tree's number where there is no neuron-ls. */
static int count_cores(struct neuron_bench *neuron)
{
    static const char name[] = "neuron-ls";
    autofree char *path = check_find_tool(neuron->path, name);
    const char *const argv[] = {path, "--json-output", NULL};
    struct neuron_listed listed[NEURON_DEVICES_MAX];
    struct deep_tool tool = {.found = false};
    int status = path != NULL ? deep_tool_run(neuron->bench, argv, LS_LIMIT_MS, &tool) : 0;
    size_t count = tool.found && status == 0 ? neuron_ls_parse(tool.output, tool.output_len, listed) : 0;
    deep_tool_free(&tool);
    for (size_t i = 0; i < count; i++)
        neuron->cores += listed[i].logical > 0 ? listed[i].logical : 0;
    for (int i = 0; count == 0 && i < neuron->count; i++)
        neuron->cores += neuron->devices[i].cores > 0 ? neuron->devices[i].cores : 0;
    return status;
}

/* False when there is nothing to test, or nothing to test it with, and that has been said. */
static bool is_ready(struct neuron_bench *neuron, int *ret_status)
{
    neuron->count = neuron_tree_read(&neuron->context, neuron->devices);
    *ret_status = 0;
    if (neuron->count <= 0) {
        deep_skipped(neuron->bench, "no Neuron device here");
        return false;
    }
    if (neuron->tool == NULL) {
        deep_skipped(neuron->bench, TOOL " is not installed here");
        return false;
    }
    *ret_status = count_cores(neuron);
    if (*ret_status == 0 && neuron->cores < 2)
        deep_skipped(neuron->bench, "a collective takes two cores, and %" PRId64 " are known here", neuron->cores);
    return *ret_status == 0 && neuron->cores >= 2;
}

static void neuron_open(struct deep_bench *bench, struct neuron_bench *ret_neuron)
{
    const struct runner_options *options = deep_bench_options(bench);
    *ret_neuron = (struct neuron_bench){.bench = bench, .path = neuron_path(options->path)};
    ret_neuron->tool = check_find_tool(ret_neuron->path, TOOL);
    ret_neuron->context = (struct check_context){.root = options->root != NULL ? options->root : "",
                                                 .path = ret_neuron->path,
                                                 .instance_type = "",
                                                 .state_dir = ""};
}

static void neuron_close(struct neuron_bench *neuron)
{
    free(neuron->path);
    free(neuron->tool);
}

/* --- the collective ------------------------------------------------------------------------------------------- */

struct collective_run {
    struct collective_report report;
    bool succeeded, timed_out;
    char said[SAID_MAX]; /* its first line that says something */
};

/* The order of nccom-test's options is its guide's. */
static int run_collective(struct neuron_bench *neuron, const char *const options[], int64_t limit_ms,
                          struct collective_run *ret_run)
{
    char ranks[RANKS_TEXT];
    const char *argv[16] = {neuron->tool, "-r", ranks};
    struct deep_tool tool;
    size_t words = 3;
    snprintf(ranks, sizeof(ranks), "%" PRId64, neuron->cores);
    for (size_t i = 0; options[i] != NULL && words + 1 < ARRAY_LEN(argv); i++)
        argv[words++] = options[i];
    *ret_run = (struct collective_run){.succeeded = false};
    int status = deep_tool_run(neuron->bench, argv, limit_ms, &tool);
    if (status == 0) {
        collective_read(tool.output, tool.output_len, &ret_run->report);
        ret_run->succeeded = tool.end.succeeded;
        ret_run->timed_out = tool.end.timed_out;
        const char *at = tool.output != NULL ? tool.output : "";
        at += strspn(at, "\n\r \t");
        text_copy_clean(ret_run->said, sizeof(ret_run->said), at, strcspn(at, "\n"));
        if (tool.output_len > 0)
            deep_log_raw(neuron->bench, tool.output);
    }
    deep_tool_free(&tool);
    return status;
}

/* True when it came to something that can be judged; else that it did not is said. */
static bool came_to_something(struct neuron_bench *neuron, const struct collective_run *run)
{
    if (run->report.wrong)
        deep_failed(neuron->bench, TOOL " found errors");
    else if (run->timed_out)
        deep_failed(neuron->bench, TOOL " did not end in time");
    else if (run->report.rows == 0)
        deep_skipped(neuron->bench, TOOL " came to nothing: %s", run->said);
    else if (!run->succeeded)
        deep_failed(neuron->bench, TOOL " broke off after %d sizes", run->report.rows);
    else
        return true;
    return false;
}

/* --- NEURON ---------------------------------------------------------------------------------------------------- */

/* Of errors that were not corrected, what the devices have counted since; *ret_worst: the one that counted most. A counter that
 * was set back says nothing. */
static int64_t count_new_errors(const struct neuron_bench *before, const struct neuron_bench *after,
                                const char **ret_worst)
{
    static const enum neuron_counter bad[] = {NEURON_COUNTER_MEMORY, NEURON_COUNTER_SRAM, NEURON_COUNTER_HARDWARE};
    int64_t sum = 0, most = 0;
    for (int i = 0; i < after->count; i++) {
        int64_t grown = 0;
        for (int k = 0; k < before->count; k++)
            for (size_t n = 0; before->devices[k].number == after->devices[i].number && n < ARRAY_LEN(bad); n++) {
                int64_t was = before->devices[k].counts[bad[n]], is = after->devices[i].counts[bad[n]];
                grown += is > was && was >= 0 && is - was < INT32_MAX ? is - was : 0;
            }
        if (grown > most) {
            most = grown;
            *ret_worst = after->devices[i].name;
        }
        sum += grown;
    }
    return sum;
}

static void judge_errors(struct neuron_bench *before, const struct collective_run *run)
{
    autofree struct neuron_bench *after = own_calloc(1, sizeof(*after));
    struct deep_bench *bench = before->bench;
    struct deep_limit limit = {.measure = MEASURE_NEURON_ERRORS, .at_most = true, .value = 0};
    const char *worst = "";
    after->count = neuron_tree_read(&before->context, after->devices);
    (void)limits_find(deep_bench_job(bench), MEASURE_NEURON_ERRORS, &limit);
    int64_t errors = count_new_errors(before, after, &worst);
    bool is_whole = after->count >= before->count, holds = deep_judged(bench, limit.measure, &limit, (double)errors);
    bool went_well = came_to_something(before, run);
    if (!holds)
        deep_failed(bench, "%" PRId64 " errors were not corrected meanwhile, most of them of %s", errors, worst);
    else if (!is_whole)
        deep_failed(bench, "%d of %d Neuron devices are left", after->count < 0 ? 0 : after->count, before->count);
    else if (went_well)
        deep_passed(bench);
    bool failed = !holds || !is_whole || run->report.wrong;
    deep_log(bench, failed ? "error" : "info",
             "Neuron hardware check %s. Devices: %d, cores: %" PRId64 ", new errors: %" PRId64,
             failed      ? "failed"
             : went_well ? "success"
                         : "came to nothing",
             before->count, before->cores, errors);
}

int deep_neuron_run(struct deep_bench *bench)
{
    static const char *const options[] = {"-b", "1M", "-e", "64M", "-f", "4", "-d", "fp32", "--check", "allr", NULL};
    autofree struct neuron_bench *neuron = own_calloc(1, sizeof(*neuron));
    struct collective_run run;
    int status;
    neuron_open(bench, neuron);
    if (is_ready(neuron, &status)) {
        status = run_collective(neuron, options, WORKLOAD_LIMIT_MS, &run);
        if (status == 0)
            judge_errors(neuron, &run);
    }
    neuron_close(neuron);
    return status;
}

/* --- NCCOM_LOCAL ------------------------------------------------------------------------------------------------ */

static void judge_speed(struct neuron_bench *neuron, const struct collective_run *run)
{
    struct deep_bench *bench = neuron->bench;
    struct deep_limit limit = {.value = 0};
    char wanted[DEEP_LIMIT_TEXT_MAX_BYTES] = "none";
    if (!came_to_something(neuron, run))
        return;
    bool known = limits_find(deep_bench_job(bench), MEASURE_NCCOM_LOCAL, &limit);
    bool fast = deep_judged(bench, MEASURE_NCCOM_LOCAL, known ? &limit : NULL, run->report.max_busbw);
    if (known)
        deep_limit_text(&limit, wanted);
    deep_log(bench, fast ? "info" : "error",
             "Nccom local test %s. Summary: MaxAlgoBw: %.6f, MaxBusBw: %.6f, ThresholdBusBw: %s, TotalCores: %" PRId64,
             fast ? "successful" : "failed", run->report.max_algbw, run->report.max_busbw, wanted, neuron->cores);
    if (fast)
        deep_passed(bench);
    else
        deep_failed(bench, "%.2f GB/s of bus bandwidth, and there should be %s", run->report.max_busbw, wanted);
}

int deep_nccom_local_run(struct deep_bench *bench)
{
    static const char *const options[] = {"-b", "8", "-e", "1G", "-f", "2", "-d", "fp32", "allr", NULL};
    autofree struct neuron_bench *neuron = own_calloc(1, sizeof(*neuron));
    struct collective_run run;
    int status;
    neuron_open(bench, neuron);
    if (is_ready(neuron, &status)) {
        status = run_collective(neuron, options, LOCAL_LIMIT_MS, &run);
        if (status == 0)
            judge_speed(neuron, &run);
    }
    neuron_close(neuron);
    return status;
}
