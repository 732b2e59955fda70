/*
 * EFA: each adapter sends to itself through libfabric, like HyperPod's loopback test. AWS publishes no threshold, so only limits of
 * the site apply. An adapter without a connection has failed.
 */
#include "agents/checks/fabric.h"
#include "agents/checks/rdma.h"
#include "agents/deep/deep.h"
#include "agents/deep/limits.h"
#include "base/clock.h"
#include "base/own.h"
#include "base/status.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define ADAPTER_LIMIT_MS MS_PER_MIN
#define TOOL "fi_pingpong"
/* The provider locks the buffers of its endpoint, some 100 MiB with its defaults; who may lock these may lock those. */
#define LOCKED_BYTES ((size_t)64 << 20)

static bool judge(struct deep_bench *bench, const char *device, const char *measure, double value)
{
    struct deep_limit limit;
    bool known = limits_find(deep_bench_job(bench), measure, &limit);
    autofree char *name = own_printf("%.20s %s", device, measure + sizeof("EFA"));
    return deep_judged(bench, name, known ? &limit : NULL, value);
}

static void fail(struct deep_bench *bench, const char *device, int *failed, const char *why)
{
    (*failed)++;
    deep_log(bench, "error", "EFA Loopback check failed for device: %s . %s", device, why);
    deep_failed(bench, "%d adapters failed, last %s: %.300s", *failed, device, why);
}

/* 0 when the adapter was tested, well or not. */
static int test_adapter(struct deep_bench *bench, const struct check_context *context, const char *device, int *failed)
{
    char why[SENTENCE_MAX_BYTES];
    struct fabric_speed speed;
    autofree char *domain = own_printf("%s-rdm", device);
    const struct fabric_pingpong test = {
        .provider = "efa", .endpoint = "rdm", .domain = domain, .timeout_ms = ADAPTER_LIMIT_MS};
    int status = fabric_pingpong(context, &test, &speed, why);
    if (status == STATUS_NOT_FOUND || status == STATUS_UNSUPPORTED || status == STATUS_IO)
        return status;
    if (status != 0) {
        fail(bench, device, failed, why);
        return 0;
    }
    bool good = judge(bench, device, MEASURE_EFA_SPEED, speed.max_mb_per_s);
    good = judge(bench, device, MEASURE_EFA_LATENCY, speed.min_latency_us) && good;
    if (!good) {
        snprintf(why, sizeof(why), "MaxBw: %.2f, MinTypicalLat: %.2f, beyond a limit", speed.max_mb_per_s,
                 speed.min_latency_us);
        fail(bench, device, failed, why);
        return 0;
    }
    deep_log(bench, "info",
             "EFA Loopback check passed for device: %s . Output summary is MaxBw: %.6f, MinTypicalLat: %.6f", device,
             speed.max_mb_per_s, speed.min_latency_us);
    return 0;
}

/* Tried, and not asked: a capability does as well as a limit. Without it every adapter would fail, and none be at fault. */
static bool may_lock_memory(void)
{
    void *buffer = mmap(NULL, LOCKED_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_LOCKED, -1, 0);
    bool locked = buffer != MAP_FAILED;
    if (locked)
        (void)munmap(buffer, LOCKED_BYTES);
    return locked;
}

int deep_efa_run(struct deep_bench *bench)
{
    const struct runner_options *options = deep_bench_options(bench);
    autofree char *path = fabric_path(options->path), *tool = check_find_tool(path, TOOL);
    const struct check_context context = {
        .root = options->root != NULL ? options->root : "", .path = path, .instance_type = "", .state_dir = ""};
    autofree struct rdma_port *ports = NULL;
    size_t count = 0;
    int failed = 0, status = 0;
    if (rdma_read_ports(&context, true, &ports, &count) != 0 || count == 0) {
        deep_skipped(bench, "no Elastic Fabric Adapter here");
        return 0;
    }
    if (tool == NULL) {
        deep_skipped(bench, TOOL " is not installed here");
        return 0;
    }
    if (!may_lock_memory()) {
        deep_skipped(bench, "this process may not lock the memory that libfabric needs (LimitMEMLOCK=, ulimit -l)");
        return 0;
    }
    for (size_t i = 0; i < count && status == 0; i++)
        if (i == 0 || strcmp(ports[i].device, ports[i - 1].device) != 0)
            status = test_adapter(bench, &context, ports[i].device, &failed);
    if (failed > 0)
        return 0; /* whatever hindered the rest */
    if (status == 0)
        deep_passed(bench);
    if (status != STATUS_UNSUPPORTED)
        return status;
    deep_skipped(bench, "libfabric does not know the adapters here");
    return 0;
}
