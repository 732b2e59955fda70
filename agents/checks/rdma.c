/*
 * What the kernel says of a port, and what follows from it.
 *
 * A port is judged against itself: one that never was active has no cable or is not meant to be used, one that somebody has
 * switched off is off, and neither is a fault. RoCE's "Disabled" says less than it seems to: the mlx5 driver gives it for
 * every Ethernet port without carrier [V: Linux, drivers/infiniband/hw/mlx5/main.c, mlx5_query_port_roce], so there the
 * network interface is asked whether anybody wants it up.
 */
#include "agents/checks/rdma.h"

#include "agents/checks/sysfs.h"
#include "base/text.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CLASS "/sys/class/infiniband"
#define BUS "/sys/bus/pci/devices"
#define IFF_UP_BIT 1 /* linux/if.h */
#define PORT_NUMBER_MAX 255
#define AMAZON \
    "0x1d0f" /* PCI vendor; the adapters are 0xefa0 and up [V: Linux, drivers/infiniband/hw/efa/efa_main.c] */
#define EFA_PREFIX "0xefa"

enum port_memory { PORT_UNUSED, PORT_UP, PORT_WENT_DOWN };

/* --- understanding ------------------------------------------------------------------------------------------- */

/* Decimal digits at text as a number below 10^15; returns behind them, NULL when there are none or too many. */
static const char *take_digits(const char *text, int64_t *ret_number)
{
    int64_t number = 0;
    size_t digits = 0;
    for (; text[digits] >= '0' && text[digits] <= '9'; digits++) {
        if (digits == 15)
            return NULL;
        number = number * 10 + (text[digits] - '0');
    }
    *ret_number = number;
    return digits > 0 ? text + digits : NULL;
}

int rdma_parse_state(const char *text)
{
    int64_t number;
    const char *rest = take_digits(text, &number);
    return rest != NULL && *rest == ':' && number <= 15 ? (int)number : -1;
}

int64_t rdma_parse_rate_mbps(const char *text)
{
    int64_t whole, tenth = 0;
    const char *rest = take_digits(text, &whole);
    if (rest != NULL && *rest == '.')
        rest = rest[1] >= '0' && rest[1] <= '9' && rest[2] == ' ' ? take_digits(rest + 1, &tenth) : NULL;
    return rest != NULL && whole < 1000000 && text_starts_with(rest, " Gb/sec") ? whole * 1000 + tenth * 100 : -1;
}

enum rdma_layer rdma_parse_layer(const char *text)
{
    if (text_starts_with(text, "InfiniBand"))
        return RDMA_LAYER_INFINIBAND;
    return text_starts_with(text, "Ethernet") ? RDMA_LAYER_ETHERNET : RDMA_LAYER_OTHER;
}

bool rdma_port_is_off(const struct rdma_port *port)
{
    if (port->layer == RDMA_LAYER_ETHERNET)
        return port->interface_off;
    return port->phys_state == RDMA_PHYS_STATE_DISABLED;
}

/* --- judging ------------------------------------------------------------------------------------------------- */

static const char *port_name(const struct rdma_port *port, char ret_name[DEVICE_MAX_BYTES])
{
    if (port->number == 1)
        snprintf(ret_name, DEVICE_MAX_BYTES, "%.60s", port->device);
    else
        snprintf(ret_name, DEVICE_MAX_BYTES, "%.56s/%d", port->device, port->number);
    return ret_name;
}

static void port_key(const struct rdma_port *port, const char *what, char ret_key[RECALL_KEY_MAX_BYTES])
{
    snprintf(ret_key, RECALL_KEY_MAX_BYTES, "%.60s/%d/%.6s", port->device, port->number, what);
}

static void judge_rate(const struct rdma_port *port, const struct rdma_codes *codes, struct recall *recall,
                       struct check_out *out)
{
    char key[RECALL_KEY_MAX_BYTES], slow_key[RECALL_KEY_MAX_BYTES], name[DEVICE_MAX_BYTES];
    port_key(port, "rate", key);
    port_key(port, "slow", slow_key);
    int64_t rate = port->state == RDMA_STATE_ACTIVE ? port->rate_mbps : -1; /* of a link that is down it says nothing */
    int64_t most = recall_most(recall, key, rate > 0 ? rate : 0);
    if (recall_lasts(recall, slow_key, rate > 0 && rate < most, NETWORK_SLOW_FOR_MS))
        check_found(out, codes->slow, port_name(port, name), 1,
                    "port %d of %s runs at %" PRId64 " Mb/s, and ran at %" PRId64 " Mb/s before", port->number,
                    port->device, rate, most);
}

void rdma_judge_port(const struct rdma_port *port, const struct rdma_codes *codes, int64_t downed, bool settled,
                     struct recall *recall, struct check_out *out)
{
    char key[RECALL_KEY_MAX_BYTES], down_key[RECALL_KEY_MAX_BYTES], name[DEVICE_MAX_BYTES];
    port_key(port, "state", key);
    int64_t before = recall_get(recall, key, PORT_UNUSED), now = PORT_UNUSED, downs = 0;
    bool off = port->state != RDMA_STATE_ACTIVE && rdma_port_is_off(port);
    if (port->state < 0)
        now = before; /* it would not say: nothing changes by that */
    else if (port->state == RDMA_STATE_ACTIVE)
        now = PORT_UP;
    else if (before != PORT_UNUSED && !off)
        now = PORT_WENT_DOWN;
    recall_set(recall, key, now);
    port_key(port, "ld", down_key);
    if (downed >= 0)
        downs = recall_growth(recall, down_key, downed, 0, 1);
    if (downs == 0 && before == PORT_UP && now == PORT_WENT_DOWN)
        downs = 1;
    if (downs > 0 && settled && !off && before != PORT_UNUSED)
        check_event(out, codes->flapping, port_name(port, name), downs, "port %d of %s went down %" PRId64 " times",
                    port->number, port->device, downs);
    port_key(port, "down", down_key);
    if (recall_lasts(recall, down_key, now == PORT_WENT_DOWN, NETWORK_DOWN_FOR_MS) && settled)
        check_found(out, codes->down, port_name(port, name), 1,
                    "port %d of %s was active and is not: state %d, physical state %d", port->number, port->device,
                    port->state, port->phys_state);
    if (codes->slow != NULL && !off)
        judge_rate(port, codes, recall, out);
}

/* --- reading ------------------------------------------------------------------------------------------------- */

static int64_t read_counter(const struct check_context *context, const struct rdma_port *port, const char *file)
{
    return sysfs_read_count(context, CLASS "/%s/ports/%d/%s", port->device, port->number, file);
}

static char *read_of_port(const struct check_context *context, const struct rdma_port *port, const char *file)
{
    return sysfs_read(context, CLASS "/%s/ports/%d/%s", port->device, port->number, file);
}

static bool is_adapter(const struct check_context *context, const char *directory)
{
    autofree char *vendor = sysfs_read(context, "%s/vendor", directory);
    autofree char *id = sysfs_read(context, "%s/device", directory);
    return vendor != NULL && id != NULL && text_starts_with(vendor, AMAZON) && text_starts_with(id, EFA_PREFIX);
}

/* The interfaces of a device: true when there are some, and all are administratively down. */
static bool interfaces_off(const struct check_context *context, const char *device)
{
    autofree char *directory = own_printf(CLASS "/%s/device/net", device);
    char **names;
    size_t count;
    if (sysfs_list(context, directory, &names, &count) != 0)
        return false;
    bool off = count > 0;
    for (size_t i = 0; i < count && off; i++) {
        autofree char *flags = sysfs_read(context, "%s/%s/flags", directory, names[i]);
        off = flags != NULL && (strtoul(flags, NULL, 16) & IFF_UP_BIT) == 0;
    }
    sysfs_list_free(names, count);
    return off;
}

static void read_port(const struct check_context *context, struct rdma_port *port)
{
    autofree char *state = read_of_port(context, port, "state");
    autofree char *phys_state = read_of_port(context, port, "phys_state");
    autofree char *rate = read_of_port(context, port, "rate");
    autofree char *layer = read_of_port(context, port, "link_layer");
    port->state = state != NULL ? rdma_parse_state(state) : -1;
    port->phys_state = phys_state != NULL ? rdma_parse_state(phys_state) : -1;
    port->rate_mbps = rate != NULL ? rdma_parse_rate_mbps(rate) : -1;
    port->layer = layer != NULL ? rdma_parse_layer(layer) : RDMA_LAYER_OTHER;
    port->interface_off = port->layer == RDMA_LAYER_ETHERNET && interfaces_off(context, port->device);
}

static void read_device(const struct check_context *context, const char *device, struct rdma_port *ports, size_t *count)
{
    autofree char *directory = own_printf(CLASS "/%s/ports", device);
    char **names;
    size_t name_count;
    int64_t number;
    if (sysfs_list(context, directory, &names, &name_count) != 0)
        return;
    for (size_t i = 0; i < name_count && *count < RDMA_PORTS_MAX; i++) {
        struct rdma_port port = {.number = 0};
        if (text_parse_i64(names[i], 1, PORT_NUMBER_MAX, &number) != 0 ||
            text_copy(port.device, sizeof(port.device), device) != 0)
            continue;
        port.number = (int)number;
        read_port(context, &port);
        ports[(*count)++] = port;
    }
    sysfs_list_free(names, name_count);
}

/* Made of software (rxe, siw), by whoever wants one: /sys/class/infiniband/rxe0 → ../../devices/virtual/infiniband/rxe0 */
static bool is_software(const struct check_context *context, const char *device)
{
    autofree char *name = own_printf(CLASS "/%s", device), *path = check_path(context, name);
    char target[PATH_MAX];
    ssize_t len = readlink(path, target, sizeof(target) - 1);
    target[len > 0 ? len : 0] = '\0';
    return strstr(target, "/devices/virtual/") != NULL;
}

int rdma_read_ports(const struct check_context *context, bool efa, struct rdma_port **ret_ports, size_t *ret_count)
{
    char **names;
    size_t name_count, count = 0;
    int status = sysfs_list(context, CLASS, &names, &name_count);
    if (status != 0)
        return status;
    struct rdma_port *ports = own_calloc(RDMA_PORTS_MAX, sizeof(*ports));
    for (size_t i = 0; i < name_count; i++) {
        autofree char *directory = own_printf(CLASS "/%s/device", names[i]);
        if (is_adapter(context, directory) == efa && !sysfs_exists(context, "%s/physfn", directory) &&
            !is_software(context, names[i]))
            read_device(context, names[i], ports, &count);
    }
    sysfs_list_free(names, name_count);
    *ret_ports = ports;
    *ret_count = count;
    return 0;
}

int rdma_count_devices(const struct rdma_port *ports, size_t count)
{
    int devices = 0;
    for (size_t i = 0; i < count; i++)
        devices += i == 0 || strcmp(ports[i].device, ports[i - 1].device) != 0;
    return devices;
}

int rdma_count_on_bus(const struct check_context *context, bool efa)
{
    char **names;
    size_t count;
    int found = 0;
    if (sysfs_list(context, BUS, &names, &count) != 0)
        return 0;
    for (size_t i = 0; i < count; i++) {
        autofree char *directory = own_printf(BUS "/%s", names[i]);
        bool adapter = is_adapter(context, directory);
        found += efa ? adapter
                     : !adapter && sysfs_exists(context, "%s/infiniband", directory) &&
                           !sysfs_exists(context, "%s/physfn", directory);
    }
    sysfs_list_free(names, count);
    return found;
}

/* --- all of one port ----------------------------------------------------------------------------------------- */

static void judge_counters(const struct check_context *context, const struct rdma_port *port,
                           const struct rdma_codes *codes, struct recall *recall, struct check_out *out)
{
    char key[RECALL_KEY_MAX_BYTES], name[DEVICE_MAX_BYTES];
    for (size_t i = 0; i < codes->limit_count; i++) {
        const struct counter_limit *limit = &codes->limits[i];
        int64_t value = read_counter(context, port, limit->file);
        if (value < 0)
            continue;
        port_key(port, limit->brief, key);
        int64_t most = agent_settings_limit(context->settings, limit->limit);
        int64_t growth = recall_growth(recall, key, value, most, limit->window_ms);
        if (growth > 0)
            check_event(out, limit->code, port_name(port, name), growth,
                        "%s of port %d of %s grew by %" PRId64 "; %" PRId64 " in %" PRId64 " s are too many",
                        strchr(limit->file, '/') + 1, port->number, port->device, growth, most + 1,
                        limit->window_ms / MS_PER_S);
    }
}

static void measure_counters(const struct check_context *context, const struct rdma_port *port, const char *group,
                             const char *prefix, struct check_out *out)
{
    char labels[CHECK_LABELS_MAX_BYTES], metric[CHECK_METRIC_MAX_BYTES];
    autofree char *directory = own_printf(CLASS "/%s/ports/%d/%s", port->device, port->number, group);
    char **names;
    size_t count;
    if (sysfs_list(context, directory, &names, &count) != 0)
        return;
    snprintf(labels, sizeof(labels), "device=\"%s\",port=\"%d\"", port->device, port->number);
    for (size_t i = 0; i < count; i++) {
        int64_t value = sysfs_read_count(context, "%s/%s", directory, names[i]);
        snprintf(metric, sizeof(metric), "%s%.40s", prefix, names[i]);
        if (value >= 0)
            check_value(out, metric, labels, (double)value);
    }
    sysfs_list_free(names, count);
}

static void measure_port(const struct rdma_port *port, const char *prefix, struct check_out *out)
{
    char labels[CHECK_LABELS_MAX_BYTES], metric[CHECK_METRIC_MAX_BYTES];
    snprintf(labels, sizeof(labels), "device=\"%s\",port=\"%d\"", port->device, port->number);
    snprintf(metric, sizeof(metric), "%sport_up", prefix);
    if (port->state >= 0)
        check_value(out, metric, labels, port->state == RDMA_STATE_ACTIVE);
    snprintf(metric, sizeof(metric), "%srate_bits_per_second", prefix);
    if (port->rate_mbps >= 0)
        check_value(out, metric, labels, (double)port->rate_mbps * 1e6);
}

void rdma_look_at(const struct check_context *context, const struct rdma_port *port, const struct rdma_codes *codes,
                  struct recall *recall, struct check_out *out)
{
    bool settled = context->uptime_ms >= NETWORK_BOOT_GRACE_MS;
    if (port->state < 0)
        check_unknown(out, "the state of port %d of %s cannot be read", port->number, port->device);
    rdma_judge_port(port, codes, read_counter(context, port, "counters/link_downed"), settled, recall, out);
    if (settled)
        judge_counters(context, port, codes, recall, out);
    measure_counters(context, port, "counters", codes->metrics, out);
    measure_counters(context, port, "hw_counters", codes->metrics, out);
    measure_port(port, codes->metrics, out);
}
