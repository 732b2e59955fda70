/*
 * InfiniBand and RoCE: ports that are down, flap, are slower than before or count errors, and missing devices. Elastic Fabric
 * Adapters are in the same directory of sysfs and have their own check (efa.c).
 *
 * Reads sysfs directly, as ibstat and ibv_devinfo do.
 */
#include "agents/checks/rdma.h"
#include "base/clock.h"
#include "base/status.h"

#include <string.h>

static const struct rdma_codes codes = {.down = "net.ib.port-down",
                                        .flapping = "net.ib.flapping",
                                        .slow = "net.ib.rate-degraded",
                                        .limits = infiniband_limits,
                                        .limit_count = INFINIBAND_LIMITS,
                                        .metrics = "holdfast_infiniband_"};

static void run(const struct check_context *context, struct check_out *out)
{
    AUTO(recall) struct recall *recall = recall_new(context->memory, context->memory_len, context->uptime_ms);
    autofree struct rdma_port *ports = NULL;
    size_t count = 0;
    int status = rdma_read_ports(context, false, &ports, &count);
    if (status != 0 && status != STATUS_NOT_FOUND) {
        check_unknown(out, "the devices cannot be listed: %s", status_meaning(status));
        return;
    }
    int devices = rdma_count_devices(ports, count), on_bus = rdma_count_on_bus(context, false);
    if (on_bus > devices)
        devices = on_bus;
    int64_t most = recall_most(recall, "devices", devices);
    if (most == 0) {
        check_not_applicable(out, "there is no InfiniBand device");
        return;
    }
    if (recall_lasts(recall, "missing", devices < most, NETWORK_GONE_FOR_MS))
        check_found(out, "net.ib.missing", "", most - devices, "%d InfiniBand devices are there, and %d were", devices,
                    (int)most);
    for (size_t i = 0; i < count; i++)
        rdma_look_at(context, &ports[i], &codes, recall, out);
    recall_keep(recall, out);
}

const struct check check_infiniband = {.name = "infiniband",
                                       .about = "ports and devices of InfiniBand and RoCE: state, flaps, rate, errors",
                                       CHECK_TIMES(infiniband),
                                       .run = run};
