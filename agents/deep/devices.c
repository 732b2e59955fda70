/*
 * DEVICE_COUNT: compares the GPUs of nvidia-smi and of the PCI bus, active NVLinks, fabric adapters and Neuron devices with the
 * instance type. For an unknown type the counts are only reported.
 *
 * While a driver loads or a GPU is reset, devices are missing for a short time. So the count is repeated for a while before a device is
 * reported as missing.
 */
#include "agents/checks/neuron_tree.h"
#include "agents/checks/nvidia_links.h"
#include "agents/checks/nvidia_smi.h"
#include "agents/checks/rdma.h"
#include "agents/checks/sysfs.h"
#include "agents/deep/deep.h"
#include "agents/deep/limits.h"
#include "base/clock.h"
#include "base/own.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define TOOL_LIMIT_MS (2 * MS_PER_MIN)
#define LOOKS_MAX 6
#define PAUSES 5 /* between two counts: 10 s with the agent's pause */
#define PCI_DEVICES "/sys/bus/pci/devices"

struct counts {
    int gpus, gpus_on_bus, nvlinks, efa, infiniband, neuron; /* -1: cannot be counted here */
};

/* --- counted ------------------------------------------------------------------------------------------------- */

/* Vendor 0x10de is NVIDIA's, class 0x03 display and 3D controllers (pci.ids). */
static int count_gpus_on_bus(const struct check_context *context)
{
    char **names = NULL;
    size_t count = 0;
    int gpus = 0;
    if (sysfs_list(context, PCI_DEVICES, &names, &count) != 0)
        return -1;
    for (size_t i = 0; i < count; i++) {
        autofree char *vendor = sysfs_read(context, PCI_DEVICES "/%s/vendor", names[i]);
        autofree char *class = sysfs_read(context, PCI_DEVICES "/%s/class", names[i]);
        gpus +=
            vendor != NULL && class != NULL && text_starts_with(vendor, "0x10de") && text_starts_with(class, "0x03");
    }
    sysfs_list_free(names, count);
    return gpus;
}

static int count_neuron(const struct check_context *context)
{
    char **names = NULL;
    size_t count = 0;
    int devices = 0;
    if (sysfs_list(context, NEURON_TREE, &names, &count) != 0)
        return 0;
    for (size_t i = 0; i < count; i++)
        devices += text_starts_with(names[i], "neuron") && names[i][6] >= '0' && names[i][6] <= '9';
    sysfs_list_free(names, count);
    return devices;
}

static int count_adapters(const struct check_context *context, bool efa)
{
    autofree struct rdma_port *ports = NULL;
    size_t count = 0;
    return rdma_read_ports(context, efa, &ports, &count) == 0 ? rdma_count_devices(ports, count) : 0;
}

static int count_gpus(struct deep_bench *bench, int *ret_gpus)
{
    static const char *const argv[] = {"nvidia-smi", "-q", "-x", NULL};
    struct deep_tool tool;
    autofree struct nvidia_report *report = own_calloc(1, sizeof(*report));
    int status = deep_tool_run(bench, argv, TOOL_LIMIT_MS, &tool);
    *ret_gpus = -1;
    if (status == 0 && tool.found) {
        nvidia_smi_parse(tool.output, tool.output_len, report);
        *ret_gpus = report->answer == NVIDIA_ANSWER_REPORT ? (int)report->gpu_count : 0;
        if (report->answer != NVIDIA_ANSWER_REPORT && report->answer != NVIDIA_ANSWER_NO_DEVICES)
            deep_log(bench, "warn", "nvidia-smi: %s", report->why);
    }
    deep_tool_free(&tool);
    return status;
}

static int count_links(struct deep_bench *bench, int *ret_links)
{
    static const char *const argv[] = {"nvidia-smi", "nvlink", "--status", NULL};
    struct deep_tool tool;
    autofree struct nvidia_links *links = own_calloc(NVIDIA_GPUS_MAX, sizeof(*links));
    int status = deep_tool_run(bench, argv, TOOL_LIMIT_MS, &tool);
    size_t gpus = status == 0 && tool.found ? nvidia_links_parse(tool.output, tool.output_len, links) : 0;
    *ret_links = -1;
    for (size_t i = 0; i < gpus; i++)
        if (links[i].up >= 0)
            *ret_links = (*ret_links < 0 ? 0 : *ret_links) + links[i].up;
    deep_tool_free(&tool);
    return status;
}

static int count_all(struct deep_bench *bench, struct counts *ret_counts)
{
    const struct runner_options *options = deep_bench_options(bench);
    const struct check_context context = {.root = options->root != NULL ? options->root : "",
                                          .path = options->path,
                                          .instance_type = deep_bench_job(bench)->instance_type,
                                          .state_dir = ""};
    *ret_counts = (struct counts){.gpus = -1,
                                  .gpus_on_bus = count_gpus_on_bus(&context),
                                  .nvlinks = -1,
                                  .efa = count_adapters(&context, true),
                                  .infiniband = count_adapters(&context, false),
                                  .neuron = count_neuron(&context)};
    int status = count_gpus(bench, &ret_counts->gpus);
    return status == 0 && ret_counts->gpus > 0 ? count_links(bench, &ret_counts->nvlinks) : status;
}

/* --- judged -------------------------------------------------------------------------------------------------- */

struct judgement {
    int judged;
    char missing[SENTENCE_MAX_BYTES];
};

/* A count of zero that nobody expects is not reported. */
static void judge_count(struct deep_bench *bench, const char *measure, int count, bool tell,
                        struct judgement *judgement)
{
    struct deep_limit limit;
    char wanted[DEEP_LIMIT_TEXT_MAX_BYTES];
    bool known = limits_find(deep_bench_job(bench), measure, &limit);
    if (count < 0 || (!known && count == 0))
        return;
    if (tell)
        deep_judged(bench, measure, known ? &limit : NULL, count);
    if (!known)
        return;
    judgement->judged++;
    if (deep_limit_holds(&limit, count))
        return;
    size_t used = strlen(judgement->missing);
    deep_limit_text(&limit, wanted);
    snprintf(judgement->missing + used, sizeof(judgement->missing) - used, "%s%d %s, and there should be %s",
             used > 0 ? "; " : "", count, measure, wanted);
}

static void judge(struct deep_bench *bench, const struct counts *counts, bool tell, struct judgement *ret_judgement)
{
    *ret_judgement = (struct judgement){.judged = 0};
    judge_count(bench, MEASURE_GPUS, counts->gpus, tell, ret_judgement);
    judge_count(bench, MEASURE_GPUS_ON_BUS, counts->gpus_on_bus, tell, ret_judgement);
    judge_count(bench, MEASURE_NVLINKS, counts->nvlinks, tell, ret_judgement);
    judge_count(bench, MEASURE_EFA, counts->efa, tell, ret_judgement);
    judge_count(bench, MEASURE_INFINIBAND, counts->infiniband, tell, ret_judgement);
    judge_count(bench, MEASURE_NEURON, counts->neuron, tell, ret_judgement);
}

int deep_devices_run(struct deep_bench *bench)
{
    struct counts counts;
    struct judgement judgement;
    const char *type = deep_bench_job(bench)->instance_type;
    for (int look = 1;; look++) {
        int status = count_all(bench, &counts);
        if (status != 0)
            return status;
        judge(bench, &counts, false, &judgement);
        if (judgement.missing[0] == '\0' || look == LOOKS_MAX)
            break;
        status = deep_pause(bench, PAUSES * deep_bench_options(bench)->times.pause_ms);
        if (status != 0)
            return status;
    }
    judge(bench, &counts, true, &judgement);
    if (judgement.missing[0] != '\0') {
        deep_log(bench, "error", "GpuPci Count check failed: %s", judgement.missing);
        deep_failed(bench, "%s", judgement.missing);
    } else if (judgement.judged > 0) {
        deep_log(bench, "info", "GpuPci Count check success");
        deep_passed(bench);
    } else if (type[0] == '\0') {
        deep_skipped(bench, "what should be here is not known: the type of this instance is not");
    } else {
        deep_skipped(bench, "what should be in a %s is not known: it was counted and not judged", type);
    }
    return 0;
}
