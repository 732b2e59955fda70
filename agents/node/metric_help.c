/*
 * One row for each family that a check measures; tests/unit/agents/test_metrics.c finds a measurement without one. Values of GPUs are in
 * NVIDIA_VALUE_LIST. The drivers of network adapters name their counters themselves (sysfs-class-infiniband, "hw_counters"), so those
 * are known by their beginning, and are untyped, as some go down again.
 */
#include "agents/node/metric_help.h"

#include "agents/checks/nvidia_facts.h"
#include "base/own.h"
#include "base/text.h"

#include <string.h>

static const struct metric_help rows[] = {
    {"holdfast_check_result", "gauge", "How the last run of a check ended; 1 for what it was"},
    {"holdfast_check_found", "gauge", "Findings of the last run of a check"},
    {"holdfast_clock_error_seconds", "gauge", "Greatest error of the clock, as the kernel estimates it"},
    {"holdfast_dcgm_healthy", "gauge", "Whether DCGM says that all is healthy"},
    {"holdfast_disk_size_bytes", "gauge", "Size of a file system"},
    {"holdfast_disk_free_bytes", "gauge", "Free space of a file system"},
    {"holdfast_edac_corrected_total", "counter", "Memory errors corrected, of a memory controller"},
    {"holdfast_edac_uncorrected_total", "counter", "Memory errors not corrected, of a memory controller"},
    {"holdfast_efa_adapters", "gauge", "Elastic Fabric Adapters that are here"},
    {"holdfast_gpus", "gauge", "GPUs that the driver lists"},
    {"holdfast_gpu_info", "gauge", "Product, serial number and board of a GPU, as labels; always 1"},
    {"holdfast_load5", "gauge", "Load average of 5 minutes"},
    {"holdfast_memory_available_bytes", "gauge", "Memory that programs can still get"},
    {"holdfast_memory_pressure_ratio", "gauge", "Share of time in which tasks waited for memory"},
    {"holdfast_neuron_devices", "gauge", "Neuron devices that are here"},
    {"holdfast_neuron_hardware_errors_total", "counter", "Hardware errors of a Neuron device"},
    {"holdfast_neuron_memory_corrected_total", "counter", "Memory errors corrected, of a Neuron device"},
    {"holdfast_neuron_memory_uncorrected_total", "counter", "Memory errors not corrected, of a Neuron device"},
    {"holdfast_neuron_sram_corrected_total", "counter", "SRAM errors corrected, of a Neuron device"},
    {"holdfast_neuron_sram_uncorrected_total", "counter", "SRAM errors not corrected, of a Neuron device"},
    {"holdfast_neuron_timeouts_total", "counter", "Timeouts of a Neuron device"},
    {"holdfast_net_receive_errors_total", "counter", "Packets received with an error"},
    {"holdfast_net_receive_dropped_total", "counter", "Packets received and dropped"},
    {"holdfast_net_transmit_errors_total", "counter", "Packets not sent because of an error"},
    {"holdfast_net_transmit_dropped_total", "counter", "Packets dropped before they were sent"},
    {"holdfast_net_carrier_changes_total", "counter", "Times a link went down or came up"},
    {"holdfast_net_up", "gauge", "Whether a network interface is up"},
    {"holdfast_net_speed_bytes", "gauge", "Speed of a link in bytes per second"},
    {"holdfast_tasks_waiting", "gauge", "Tasks in an uninterruptible wait"},
    {"holdfast_zombies", "gauge", "Processes that ended and that no parent waits for"},
};

static const struct metric_help of_drivers[] = {
    {"holdfast_infiniband_port_up", "gauge", "Whether a port of InfiniBand or RoCE is active"},
    {"holdfast_infiniband_rate_bits_per_second", "gauge", "Rate of a port of InfiniBand or RoCE"},
    {"node_amazonefa_port_up", "gauge", "Whether an Elastic Fabric Adapter is active"},
    {"node_amazonefa_rate_bits_per_second", "gauge", "Rate of an Elastic Fabric Adapter"},
    {"holdfast_infiniband_", "untyped", "Counter of a port of InfiniBand or RoCE, as its driver names it"},
    {"node_amazonefa_", "untyped", "Counter of an Elastic Fabric Adapter, as its driver names it"},
};

static const struct metric_help of_gpus[] = {
#define X(SYMBOL, metric, type, help, scale, dcgm) {metric, type, help},
    NVIDIA_VALUE_LIST(X)
#undef X
#define X(SYMBOL, metric, type, help, scale, dcgm) {dcgm, type, help},
        NVIDIA_VALUE_LIST(X)
#undef X
};

const struct metric_help *metric_help(const char *metric)
{
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (strcmp(rows[i].name, metric) == 0)
            return &rows[i];
    for (size_t i = 0; i < ARRAY_LEN(of_gpus); i++)
        if (of_gpus[i].name[0] != '\0' && strcmp(of_gpus[i].name, metric) == 0)
            return &of_gpus[i];
    for (size_t i = 0; i < ARRAY_LEN(of_drivers); i++)
        if (text_starts_with(metric, of_drivers[i].name))
            return &of_drivers[i];
    return NULL;
}
