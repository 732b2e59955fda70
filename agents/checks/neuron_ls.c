/* A line of the tool's own may stand before the array ("instance-type: …"), and what runs on a device is none of our business. */
#include "agents/checks/neuron_ls.h"

#include "agents/checks/neuron_tree.h"
#include "base/json.h"

#include <string.h>

#define CORES_MAX 64

/* -1: there is none, or it makes no sense. */
static int64_t number_of(const json_t *device, const char *name, int64_t most)
{
    const json_t *value = json_object_get(device, name);
    int64_t number = json_is_integer(value) ? json_integer_value(value) : -1;
    return number >= 0 && number <= most ? number : -1;
}

static bool is_listed(const struct neuron_listed *devices, size_t count, int64_t number)
{
    for (size_t i = 0; i < count; i++)
        if (devices[i].number == number)
            return true;
    return false;
}

size_t neuron_ls_parse(const char *data, size_t len, struct neuron_listed ret_devices[NEURON_DEVICES_MAX])
{
    char error[JSON_ERROR_MAX];
    const char *begin = memchr(data, '[', len);
    json_t *parsed = NULL, *device;
    size_t count = 0, i;
    if (begin == NULL || json_parse(begin, len - (size_t)(begin - data), NEURON_LS_BYTES_MAX, &parsed, error) != 0)
        return 0;
    auto_json json_t *json = parsed;
    json_array_foreach(json, i, device)
    {
        int64_t number = number_of(device, "neuron_device", NEURON_NUMBER_MAX);
        int64_t logical = number_of(device, "nc_count", CORES_MAX);
        int64_t as_one = number_of(device, "logical_neuroncore_config", CORES_MAX);
        if (number < 0 || count == NEURON_DEVICES_MAX || is_listed(ret_devices, count, number))
            continue;
        ret_devices[count++] = (struct neuron_listed){
            .number = number, .logical = logical, .cores = logical > 0 && as_one > 1 ? logical * as_one : logical};
    }
    return count;
}
