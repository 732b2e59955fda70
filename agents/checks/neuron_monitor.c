/*
 * "system_data" → "neuron_hw_counters" → "neuron_devices" since Neuron 1.16; before, each runtime's "report" had them as
 * "hw_counters" (AWS, neuron-monitor user guide, both versions).
 */
#include "agents/checks/neuron_monitor.h"

#include "base/json.h"

#include <string.h>

#define LINE_BYTES_MAX (1 << 20)

static int64_t count_of(const json_t *device, const char *name)
{
    const json_t *value = json_object_get(device, name);
    return json_is_integer(value) && json_integer_value(value) >= 0 ? json_integer_value(value) : -1;
}

static size_t take_devices(json_t *counters, size_t count, struct neuron_ecc devices[NEURON_DEVICES_MAX])
{
    json_t *device;
    size_t i;
    json_array_foreach(json_object_get(counters, "neuron_devices"), i, device)
    {
        int64_t number = count_of(device, "neuron_device_index");
        if (number < 0 || count == NEURON_DEVICES_MAX)
            continue;
        devices[count++] = (struct neuron_ecc){
            .device = number,
            .memory_uncorrected = count_of(device, "mem_ecc_uncorrected"),
            .memory_corrected = count_of(device, "mem_ecc_corrected"),
            .sram_uncorrected = count_of(device, "sram_ecc_uncorrected"),
            .sram_corrected = count_of(device, "sram_ecc_corrected"),
        };
    }
    return count;
}

static size_t take_line(const char *line, size_t len, struct neuron_ecc devices[NEURON_DEVICES_MAX])
{
    char error[JSON_ERROR_MAX];
    json_t *parsed = NULL, *runtime;
    size_t i, count;
    if (json_parse(line, len, LINE_BYTES_MAX, &parsed, error) != 0)
        return 0;
    auto_json json_t *json = parsed;
    count = take_devices(json_object_get(json_object_get(json, "system_data"), "neuron_hw_counters"), 0, devices);
    json_array_foreach(json_object_get(json, "neuron_runtime_data"), i, runtime)
    {
        count = take_devices(json_object_get(json_object_get(runtime, "report"), "hw_counters"), count, devices);
    }
    return count;
}

size_t neuron_monitor_parse(const char *data, size_t len, struct neuron_ecc ret_devices[NEURON_DEVICES_MAX])
{
    size_t count = 0;
    while (len > 0 && count == 0) {
        const char *before = memrchr(data, '\n', len);
        const char *line = before != NULL ? before + 1 : data;
        count = take_line(line, len - (size_t)(line - data), ret_devices);
        len = before != NULL ? (size_t)(before - data) : 0;
    }
    return count;
}
