/*
 * Network interfaces of the node: down, flapping, slower than before, errors.
 *
 * Covers physical interfaces and bonds. Virtual interfaces (lo, veth, bridges, tunnels, VLANs) depend on another interface or on a
 * container. infiniband.c covers IPoIB. Only an interface that was up and in use can be reported as down: one without a cable, or
 * switched off by an administrator, is not faulty. The interface to the server is covered, too; its outage is reported afterwards.
 */
#include "agents/checks/net.h"

#include "agents/checks/network_limits.h"
#include "agents/checks/sysfs.h"
#include "base/clock.h"
#include "base/status.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define CLASS "/sys/class/net"
#define BONDS "/proc/net/bonding"
#define TABLE_BYTES_MAX (1024 * 1024)
#define IFF_UP_BIT 1              /* linux/if.h */
#define TYPE_INFINIBAND 32        /* ARPHRD_INFINIBAND */
#define SPEED_MBPS_MAX 10000000   /* drivers that do not know say -1, as a large number too */
#define ROUTE6_DESTINATION "fe80" /* link-local; multicast is ff.. */

/* --- understanding ------------------------------------------------------------------------------------------- */

enum net_state net_parse_state(const char *text)
{
    if (strcmp(text, "up\n") == 0)
        return NET_UP;
    return strcmp(text, "down\n") == 0 || strcmp(text, "lowerlayerdown\n") == 0 ? NET_DOWN : NET_UNKNOWN;
}

bool net_has_route(const char *routes, const char *name)
{
    size_t len = strlen(name);
    for (const char *line = routes; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (len > 0 && strncmp(line, name, len) == 0 && (line[len] == '\t' || line[len] == ' '))
            return true;
    }
    return false;
}

bool net_has_route6(const char *routes, const char *name)
{
    size_t len = strlen(name), line_len;
    for (const char *line = routes; *line != '\0'; line += line_len + (line[line_len] == '\n')) {
        line_len = strcspn(line, "\n");
        bool own = text_starts_with(line, ROUTE6_DESTINATION) || text_starts_with(line, "ff");
        if (!own && len > 0 && line_len > len && line[line_len - len - 1] == ' ' &&
            memcmp(line + line_len - len, name, len) == 0)
            return true;
    }
    return false;
}

size_t net_parse_bond(const char *text, struct net_slave *ret_slaves, size_t count_max)
{
    static const char slave[] = "Slave Interface: ", status[] = "MII Status: ";
    size_t count = 0, len;
    for (; *text != '\0'; text += len + (text[len] == '\n')) {
        struct net_slave found = {.up = true};
        len = strcspn(text, "\n");
        if (text_starts_with(text, slave)) {
            size_t name_len = len - (sizeof(slave) - 1);
            if (count == count_max || name_len == 0 ||
                text_copy_bytes(found.name, sizeof(found.name), text + sizeof(slave) - 1, name_len) != 0)
                return count;
            ret_slaves[count++] = found;
        } else if (count > 0 && text_starts_with(text, status)) { /* before the first slave: the bond's own */
            ret_slaves[count - 1].up = !text_starts_with(text + sizeof(status) - 1, "down");
        }
    }
    return count;
}

/* --- judging ------------------------------------------------------------------------------------------------- */

enum net_memory { MEMORY_UNUSED, MEMORY_UP, MEMORY_WENT_DOWN };

static const char *key_of(const char *name, const char *what, char ret_key[RECALL_KEY_MAX_BYTES])
{
    snprintf(ret_key, RECALL_KEY_MAX_BYTES, "%s/%s", name, what);
    return ret_key;
}

static int64_t next_memory(const struct net_interface *interface, int64_t before)
{
    if (!interface->wanted)
        return MEMORY_UNUSED;
    if (interface->state == NET_UP)
        return interface->used || before != MEMORY_UNUSED ? MEMORY_UP : MEMORY_UNUSED;
    return interface->state == NET_DOWN && before != MEMORY_UNUSED ? MEMORY_WENT_DOWN : before;
}

static void judge_speed(const struct net_interface *interface, bool is_up, struct recall *recall, struct check_out *out)
{
    char key[RECALL_KEY_MAX_BYTES];
    int64_t speed = is_up ? interface->speed_mbps : -1;
    int64_t most = recall_most(recall, key_of(interface->name, "speed", key), speed > 0 ? speed : 0);
    if (recall_lasts(recall, key_of(interface->name, "slow", key), speed > 0 && speed < most, NETWORK_SLOW_FOR_MS))
        check_found(out, "net.link.speed", interface->name, 1,
                    "%s runs at %" PRId64 " Mb/s, and ran at %" PRId64 " Mb/s before", interface->name, speed, most);
}

void net_judge(const struct net_interface *interface, bool settled, struct recall *recall, struct check_out *out)
{
    char key[RECALL_KEY_MAX_BYTES];
    const char *name = interface->name;
    int64_t before = recall_get(recall, key_of(name, "state", key), MEMORY_UNUSED);
    int64_t now = next_memory(interface, before), downs = 0;
    recall_set(recall, key, now);
    if (interface->downs >= 0)
        downs = recall_growth(recall, key_of(name, "downs", key), interface->downs, 0, 1);
    if (downs == 0 && before == MEMORY_UP && now == MEMORY_WENT_DOWN)
        downs = 1;
    if (downs > 0 && settled && before != MEMORY_UNUSED && now != MEMORY_UNUSED)
        check_event(out, "net.link.flapping", name, downs, "%s lost its link %" PRId64 " times", name, downs);
    if (recall_lasts(recall, key_of(name, "down", key), now == MEMORY_WENT_DOWN, NETWORK_DOWN_FOR_MS) && settled)
        check_found(out, "net.link.down", name, 1, "%s was up and is down%s%s", name,
                    interface->bond[0] != '\0' ? ", as a part of " : "", interface->bond);
    if (now != MEMORY_UNUSED)
        judge_speed(interface, now == MEMORY_UP, recall, out);
}

/* --- reading ------------------------------------------------------------------------------------------------- */

struct slave {
    struct net_slave seen;
    char bond[NET_NAME_MAX_BYTES];
};

struct view {
    const struct check_context *context;
    struct recall *recall;
    struct check_out *out;
    const char *routes, *routes6; /* "" when they cannot be read */
    struct slave slaves[NET_SLAVES_MAX];
    size_t slave_count;
    bool settled;
};

static const struct slave *find_slave(const struct view *view, const char *name)
{
    for (size_t i = 0; i < view->slave_count; i++)
        if (strcmp(view->slaves[i].seen.name, name) == 0)
            return &view->slaves[i];
    return NULL;
}

static int64_t read_number(const struct view *view, const char *name, const char *file)
{
    return sysfs_read_count(view->context, CLASS "/%s/%s", name, file);
}

static int64_t read_downs(const struct view *view, const char *name)
{
    int64_t downs = read_number(view, name, "carrier_down_count");
    if (downs >= 0)
        return downs;
    int64_t changes = read_number(view, name, "carrier_changes"); /* kernels before 4.16: both ways together */
    return changes >= 0 ? changes / 2 : -1;
}

static struct net_interface read_interface(const struct view *view, const char *name)
{
    const struct check_context *context = view->context;
    struct net_interface interface = {.speed_mbps = -1};
    autofree char *state = sysfs_read(context, CLASS "/%s/operstate", name);
    autofree char *flags = sysfs_read(context, CLASS "/%s/flags", name);
    const struct slave *slave = find_slave(view, name);
    text_copy_cut(interface.name, sizeof(interface.name), name);
    interface.state = state != NULL ? net_parse_state(state) : NET_UNKNOWN;
    if (flags == NULL || !text_starts_with(flags, "0x"))
        check_unknown(view->out, "the flags of %s cannot be read", name);
    interface.wanted = flags != NULL && (strtoul(flags, NULL, 16) & IFF_UP_BIT) != 0;
    interface.used = slave != NULL || net_has_route(view->routes, name) || net_has_route6(view->routes6, name);
    interface.downs = read_downs(view, name);
    if (slave != NULL)
        text_copy_cut(interface.bond, sizeof(interface.bond), slave->bond);
    if (slave != NULL && !slave->seen.up)
        interface.state = NET_DOWN;
    if (!sysfs_exists(context, CLASS "/%s/bonding", name)) /* a bond's speed is how many of it are there */
        interface.speed_mbps = read_number(view, name, "speed");
    if (interface.speed_mbps > SPEED_MBPS_MAX)
        interface.speed_mbps = -1;
    return interface;
}

static void judge_counters(const struct view *view, const char *name)
{
    char key[RECALL_KEY_MAX_BYTES];
    for (size_t i = 0; i < LINK_LIMITS; i++) {
        const struct counter_limit *limit = &link_limits[i];
        int64_t value = read_number(view, name, limit->file);
        if (value < 0)
            continue;
        int64_t most = agent_settings_limit(view->context->settings, limit->limit);
        int64_t growth = recall_growth(view->recall, key_of(name, limit->brief, key), value, most, limit->window_ms);
        if (growth > 0 && view->settled)
            check_event(view->out, limit->code, name, growth,
                        "%s of %s grew by %" PRId64 "; %" PRId64 " in %" PRId64 " s are too many",
                        strchr(limit->file, '/') + 1, name, growth, most + 1, limit->window_ms / MS_PER_S);
    }
}

static void measure(const struct view *view, const struct net_interface *interface)
{
    static const struct {
        const char *file, *metric;
    } counters[] = {
        {"statistics/rx_errors", "holdfast_net_receive_errors_total"},
        {"statistics/rx_dropped", "holdfast_net_receive_dropped_total"},
        {"statistics/tx_errors", "holdfast_net_transmit_errors_total"},
        {"statistics/tx_dropped", "holdfast_net_transmit_dropped_total"},
        {"carrier_changes", "holdfast_net_carrier_changes_total"},
    };
    char labels[CHECK_LABELS_MAX_BYTES];
    snprintf(labels, sizeof(labels), "device=\"%s\"", interface->name);
    for (size_t i = 0; i < ARRAY_LEN(counters); i++) {
        int64_t value = read_number(view, interface->name, counters[i].file);
        if (value >= 0)
            check_value(view->out, counters[i].metric, labels, (double)value);
    }
    check_value(view->out, "holdfast_net_up", labels, interface->state == NET_UP);
    if (interface->speed_mbps > 0)
        check_value(view->out, "holdfast_net_speed_bytes", labels, (double)interface->speed_mbps * 1e6 / 8);
}

/* Not those of USB either, which is how a management controller shows itself, nor functions that a device lends out. */
static bool is_looked_at(const struct check_context *context, const char *name)
{
    return strlen(name) < NET_NAME_MAX_BYTES &&
           (sysfs_exists(context, CLASS "/%s/device", name) || sysfs_exists(context, CLASS "/%s/bonding", name)) &&
           !sysfs_exists(context, CLASS "/%s/device/bInterfaceNumber", name) &&
           !sysfs_exists(context, CLASS "/%s/device/physfn", name) &&
           sysfs_read_count(context, CLASS "/%s/type", name) != TYPE_INFINIBAND;
}

static void read_bonds(struct view *view)
{
    struct net_slave slaves[NET_SLAVES_MAX];
    char **names;
    size_t name_count;
    if (sysfs_list(view->context, BONDS, &names, &name_count) != 0)
        return;
    for (size_t i = 0; i < name_count; i++) {
        autofree char *path = own_printf(BONDS "/%s", names[i]);
        autofree char *text = NULL;
        size_t len, count = 0;
        if (check_read(view->context, path, TABLE_BYTES_MAX, &text, &len) == 0)
            count = net_parse_bond(text, slaves, NET_SLAVES_MAX);
        for (size_t k = 0; k < count && view->slave_count < NET_SLAVES_MAX; k++) {
            struct slave *slave = &view->slaves[view->slave_count++];
            slave->seen = slaves[k];
            text_copy_cut(slave->bond, sizeof(slave->bond), names[i]);
        }
    }
    sysfs_list_free(names, name_count);
}

static void run(const struct check_context *context, struct check_out *out)
{
    AUTO(recall) struct recall *recall = recall_new(context->memory, context->memory_len, context->uptime_ms);
    autofree char *routes = NULL, *routes6 = NULL;
    struct view view = {
        .context = context, .recall = recall, .out = out, .settled = context->uptime_ms >= NETWORK_BOOT_GRACE_MS};
    char **names;
    size_t len, count, looked_at = 0;
    int status = sysfs_list(context, CLASS, &names, &count);
    if (status != 0) {
        check_unknown(out, "the interfaces cannot be listed: %s", status_meaning(status));
        return;
    }
    view.routes = check_read(context, "/proc/net/route", TABLE_BYTES_MAX, &routes, &len) == 0 ? routes : "";
    view.routes6 = check_read(context, "/proc/net/ipv6_route", TABLE_BYTES_MAX, &routes6, &len) == 0 ? routes6 : "";
    read_bonds(&view);
    for (size_t i = 0; i < count; i++) {
        if (!is_looked_at(context, names[i]))
            continue;
        const struct net_interface interface = read_interface(&view, names[i]);
        net_judge(&interface, view.settled, recall, out);
        if (interface.wanted)
            judge_counters(&view, names[i]);
        measure(&view, &interface);
        looked_at++;
    }
    sysfs_list_free(names, count);
    recall_keep(recall, out);
    if (looked_at == 0)
        check_not_applicable(out, "there is no interface of a device");
}

const struct check check_net = {.name = "net",
                                .about = "interfaces and bonds: down, flapping, slower than before, errors",
                                CHECK_TIMES(net),
                                .run = run};
