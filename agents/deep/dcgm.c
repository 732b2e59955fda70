/*
 * DCGM: NVIDIA's diagnostics at the level of the order. The fault tables judge failures; for example, disabled persistence mode is a
 * configuration issue, not a fault. A diagnosis without result is skipped, with DCGM's message.
 */
#include "agents/checks/dcgm_diag.h"
#include "agents/deep/deep.h"
#include "base/clock.h"
#include "base/own.h"
#include "policy/faults/faults.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define LIMIT_MS \
    (3 * MS_PER_HOUR) /* level 4 takes up to 2 h 15 min (awsome-distributed-training, its GPU health check) */
#define LEVEL_MAX 24
#define GPUS_DIR "/proc/driver/nvidia/gpus"

static bool has_gpu(const struct deep_bench *bench)
{
    const char *root = deep_bench_options(bench)->root;
    autofree char *path = own_printf("%s" GPUS_DIR, root != NULL ? root : "");
    DIR *dir = opendir(path);
    bool found = false;
    for (struct dirent *entry; dir != NULL && !found && (entry = readdir(dir)) != NULL;)
        found = entry->d_name[0] != '.';
    if (dir != NULL)
        closedir(dir);
    return found;
}

struct finding_sum {
    int counted;
    bool reboot, replace;
    const struct dcgm_diag_result *first;
};

/* The failure for which the fault tables ask an action. */
static struct finding_sum sum_up(const struct dcgm_diag *diag)
{
    struct finding_sum sum = {0};
    for (size_t i = 0; i < diag->result_count; i++) {
        char code[CODE_MAX_BYTES];
        if (diag->results[i].status != DCGM_STATUS_FAIL)
            continue;
        dcgm_diag_code(&diag->results[i], code);
        const struct fault_row *row = fault_find(code);
        if (row != NULL && row->action <= ACTION_CLASS_WATCH)
            continue;
        sum.counted++;
        sum.replace = sum.replace || (row != NULL && row->action == ACTION_CLASS_REPLACE);
        sum.reboot =
            sum.reboot || (row != NULL && (row->action == ACTION_CLASS_REBOOT || row->action == ACTION_CLASS_RESET));
        if (sum.first == NULL)
            sum.first = &diag->results[i];
    }
    return sum;
}

static void judge_diag(struct deep_bench *bench, const struct dcgm_diag *diag)
{
    static const struct deep_limit none = {.measure = "failed", .at_most = true, .value = 0};
    const struct finding_sum sum = sum_up(diag);
    deep_measured(bench, "passed", "%d", diag->counts[DCGM_STATUS_PASS]);
    deep_judged(bench, "failed", &none, sum.counted);
    deep_measured(bench, "warned", "%d", diag->counts[DCGM_STATUS_WARN]);
    deep_measured(bench, "skipped", "%d", diag->counts[DCGM_STATUS_SKIP]);
    deep_log(bench, sum.counted > 0 ? "error" : "info",
             "DCGM diagnostic health summary: dcgmCheckLevel: %" PRId64
             " dcgmVersion: %s gpuDriverVersion: %s, gpuDeviceIds: [] replacementRequired: %s rebootRequired:%s",
             deep_bench_job(bench)->dcgm_level, diag->version, diag->driver, sum.replace ? "true" : "false",
             sum.reboot ? "true" : "false");
    if (sum.counted > 0)
        deep_failed(bench, "%d failed, first %.60s of %.20s %d: %.300s", sum.counted, sum.first->test,
                    sum.first->group[0] != '\0' ? sum.first->group : "the node", sum.first->entity, sum.first->message);
    else if (diag->counts[DCGM_STATUS_PASS] > 0)
        deep_passed(bench);
    else
        deep_skipped(bench, "DCGM ran no test: %.300s",
                     diag->runtime_error[0] != '\0' ? diag->runtime_error : "it skipped all of them");
}

static void judge(struct deep_bench *bench, const struct deep_tool *tool)
{
    autofree struct dcgm_diag *diag = own_calloc(1, sizeof(*diag));
    if (tool->end.timed_out)
        deep_failed(bench, "dcgmi diag %.200s", tool->end.why);
    else if (dcgm_diag_parse(tool->output, tool->output_len, diag) != 0)
        deep_skipped(bench, "dcgmi made no diagnosis: %.*s", (int)strcspn(tool->output, "\n"), tool->output);
    else
        judge_diag(bench, diag);
}

int deep_dcgm_run(struct deep_bench *bench)
{
    char level[LEVEL_MAX];
    struct deep_tool tool;
    snprintf(level, sizeof(level), "%" PRId64, deep_bench_job(bench)->dcgm_level);
    const char *const argv[] = {"dcgmi", "diag", "-r", level, "-j", NULL};
    if (!has_gpu(bench)) {
        deep_skipped(bench, "no NVIDIA GPU here");
        return 0;
    }
    if (!deep_tool_find(bench, argv[0])) {
        deep_skipped(bench, "dcgmi is not installed here");
        return 0;
    }
    int status = deep_tool_run(bench, argv, LIMIT_MS, &tool);
    if (status == 0)
        judge(bench, &tool);
    deep_tool_free(&tool);
    return status;
}
