/* HARDWARE_CHECK: HyperPod's stress-ng run (AWS guide, "Deep health checks"), with its arguments and its lines in the log. */
#include "agents/deep/deep.h"
#include "agents/deep/stress.h"
#include "base/clock.h"
#include "base/own.h"

#include <inttypes.h>
#include <stdio.h>

#define GRACE_MS (2 * MS_PER_MIN) /* beyond its own time: it ends its many processes one by one */
#define SECONDS_MAX 24

/* stress-ng(1), EXIT STATUS: wrong options or no memory to begin with; no memory, room or call for a stressor; no such
 * stressor on this machine. None is a fault of the hardware. */
static bool is_for_want(int64_t exit_code)
{
    return exit_code == 1 || exit_code == 3 || exit_code == 4;
}

static void judge(struct deep_bench *bench, const struct deep_tool *tool)
{
    struct stress_report report;
    stress_read(tool->output, tool->output_len, &report);
    for (size_t i = 0; i < report.metric_count; i++) {
        autofree char *name = own_printf("%s bogo ops/s", report.metrics[i].stressor);
        deep_measured(bench, name, "%s", report.metrics[i].rate);
    }
    if (tool->end.succeeded) {
        deep_log(bench, "info", "stress-ng success");
        deep_passed(bench);
        return;
    }
    const char *why = report.complaint[0] != '\0' ? report.complaint : tool->end.why;
    if (is_for_want(tool->end.exit_code)) {
        deep_skipped(bench, "stress-ng: %s", why);
        return;
    }
    deep_log(bench, "error", "stress-ng failed: %s", why);
    deep_failed(bench, "stress-ng: %s", why);
}

int deep_hardware_run(struct deep_bench *bench)
{
    char seconds[SECONDS_MAX];
    struct deep_tool tool;
    int64_t stress_s = deep_bench_job(bench)->stress_s;
    snprintf(seconds, sizeof(seconds), "%" PRId64, stress_s);
    const char *const argv[] = {"stress-ng", "--cpu",    "32", "--vm",      "2",     "--hdd",     "1", "--fork",
                                "8",         "--switch", "4",  "--timeout", seconds, "--metrics", NULL};
    if (!deep_tool_find(bench, argv[0])) {
        deep_skipped(bench, "stress-ng is not installed here");
        return 0;
    }
    deep_log(bench, "info",
             "Executing Hardware stress check with command: stress-ng, and args: [--cpu 32 --vm 2 --hdd 1 --fork 8 "
             "--switch 4 --timeout %s --metrics]",
             seconds);
    int status = deep_tool_run(bench, argv, stress_s * MS_PER_S + GRACE_MS, &tool);
    if (status == 0)
        judge(bench, &tool);
    deep_tool_free(&tool);
    return status;
}
