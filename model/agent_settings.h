/*
 * What a site says of its agents' checks: the same text for one node, in a file there, and for all nodes of an instance group, at
 * the server. Lines of "name: value", which is also YAML:
 *
 *     # this group's disks are scratch
 *     disk.lowPercent: 10
 *     load.enabled: false
 *     dcgm.period: 5m
 *     custom.lustre.timeout: 30s       a program of checks.d
 *     log.level: debug
 *
 * One word that is not known, or one value out of bounds, and the whole text is refused with its line: whoever has an older one
 * keeps that.
 */
#ifndef HOLDFAST_MODEL_AGENT_SETTINGS_H
#define HOLDFAST_MODEL_AGENT_SETTINGS_H

#include "base/enum.h"
#include "base/id.h"
#include "base/text.h"
#include "model/limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The agent's checks beside the kernel log, in the order in which people read them (agents/checks/checks.h), with how many seconds
 * lie between two runs and how many a run may take. X(name, period, deadline) */
/* clang-format off */
#define AGENT_CHECKS_LIST(X) \
    X(disk, 60, 20) \
    X(mounts, 120, 30) \
    X(memory, 60, 30) \
    X(load, 120, 60) \
    X(clock, 300, 10) \
    X(services, 60, 20) \
    X(edac, 60, 20) \
    X(pcie, 60, 30) \
    X(cpu, 60, 20) \
    X(machine, 600, 20) \
    X(nvidia, 60, 55) \
    X(dcgm, 60, 55) \
    X(violations, 30, 30) \
    X(neuron, 60, 45) \
    X(net, 30, 20) \
    X(infiniband, 30, 20) \
    X(efa, 60, 50)

/* Numbers that a check judges by; the sources of the defaults stand in the checks. X(SYMBOL, name, kind, default, min, max, help) */
#define AGENT_LIMITS_LIST(X) \
    X(DISK_LOW, "disk.lowPercent", COUNT, 5, 1, 50, "less is left than this: node.disk.low") \
    X(DISK_FULL, "disk.fullPercent", COUNT, 1, 1, 50, "less is left than this: node.disk.full, node.disk.inodes") \
    X(MEMORY_PRESSURE, "memory.pressurePercent", COUNT, 30, 1, 100, "of five minutes in which all tasks waited: node.memory.pressure") \
    X(LOAD_PER_CPU, "load.perCpu", COUNT, 10, 1, 1000, "of load over five minutes: node.load.high") \
    X(LOAD_ZOMBIES, "load.zombies", COUNT, 1000, 1, 1000000, "processes that ended and nobody asked about: node.process.zombies") \
    X(LOAD_STUCK, "load.stuck", DURATION, 300000, 60000, 86400000, "in uninterruptible sleep: node.process.stuck") \
    X(MOUNTS_ANSWER, "mounts.answer", DURATION, 10000, 1000, 25000, "until a file server has answered: node.mount.hung") \
    X(CLOCK_OFFSET, "clock.offset", DURATION, 1000, 10, 3600000, "that is still to be corrected: node.clock.offset") \
    X(EDAC_CORRECTED, "edac.corrected", COUNT, 100, 1, 1000000, "corrected memory errors an hour") \
    X(PCIE_CORRECTED, "pcie.corrected", COUNT, 100, 1, 1000000, "corrected errors of a device an hour") \
    X(CPU_CORRECTED, "cpu.corrected", COUNT, 100, 1, 1000000, "interrupts for corrected machine checks an hour: node.machine-check") \
    X(SERVICES_GRACE, "services.grace", DURATION, 300000, 0, 3600000, "after a boot until a daemon is missed: node.service.down") \
    X(SERVICES_SLURMD, "services.slurmd", FLAG, 1, 0, 1, "whether slurmd is missed") \
    X(SERVICES_MUNGE, "services.munge", FLAG, 1, 0, 1, "whether munged is missed") \
    X(SERVICES_KUBELET, "services.kubelet", FLAG, 1, 0, 1, "whether the kubelet is missed") \
    X(SERVICES_CONTAINERD, "services.containerd", FLAG, 1, 0, 1, "whether containerd is missed") \
    X(SERVICES_NVIDIA, "services.nvidia", FLAG, 1, 0, 1, "whether NVIDIA's daemons are missed") \
    X(SERVICES_CHRONY, "services.chrony", FLAG, 1, 0, 1, "whether chronyd is missed") \
    X(NVIDIA_TEMPERATURE, "nvidia.temperature", COUNT, 0, 0, 150, "degrees C of a GPU, beside where it slows down (0: none): nvidia.temperature.high") \
    X(NVIDIA_MEMORY_TEMPERATURE, "nvidia.memoryTemperature", COUNT, 0, 0, 150, "likewise of its memory, beside what it says is the most") \
    X(NVIDIA_RETIRED_PAGES, "nvidia.retiredPages", COUNT, 60, 1, 1000000, "of a GPU: nvidia.retired-pages.limit") \
    X(NVIDIA_REPLAYS, "nvidia.replays", COUNT, 8, 0, 1000000, "more of PCIe in a minute: nvidia.pcie.replays") \
    X(NET_CRC, "net.crcErrors", COUNT, 60, 0, 1000000000, "more in a minute: net.errors") \
    X(NET_ERRORS, "net.errors", COUNT, 600, 0, 1000000000, "more received or sent in a minute: net.errors") \
    X(NET_DROPS, "net.drops", COUNT, 60000, 0, 1000000000, "more received or sent in a minute: net.drops") \
    X(IB_SYMBOL, "infiniband.symbolErrors", COUNT, 120, 0, 1000000000, "more in an hour: net.ib.errors") \
    X(IB_RECOVERY, "infiniband.recoveries", COUNT, 5, 0, 1000000000, "more of a link in a minute: net.ib.errors") \
    X(IB_RECEIVE, "infiniband.receiveErrors", COUNT, 600, 0, 1000000000, "more in a minute: net.ib.errors") \
    X(IB_INTEGRITY, "infiniband.integrityErrors", COUNT, 0, 0, 1000000000, "more of a link in a minute: net.ib.errors") \
    X(IB_OVERRUN, "infiniband.overruns", COUNT, 60, 0, 1000000000, "more of a buffer in an hour: net.ib.errors") \
    X(EFA_DROPS, "efa.drops", COUNT, 160, 0, 1000000000, "more received in a minute: efa.drops") \
    X(EFA_ERRORS, "efa.errors", COUNT, 160, 0, 1000000000, "more reads or writes that failed in a minute: efa.errors") \
    X(EFA_COMMANDS, "efa.commands", COUNT, 0, 0, 1000000000, "more that the device did not answer in a minute: efa.errors") \
    X(EFA_UNRESPONSIVE, "efa.unresponsive", COUNT, 160, 0, 1000000000, "more remote ends in a minute: efa.unresponsive") \
    X(EFA_TIMEOUTS, "efa.timeouts", COUNT, 160, 0, 1000000000, "more until packets were sent again in a minute: efa.retransmits") \
    X(EFA_RETRANSMITS, "efa.retransmits", COUNT, 1060, 0, 1000000000, "more packets sent again in a minute: efa.retransmits")
/* clang-format on */

/* Of AGENT_CHECKS_LIST. */
struct agent_check_times {
    const char *name;
    int64_t period_ms, deadline_ms;
};
extern const struct agent_check_times agent_check_times[];
extern const size_t agent_check_count;

enum agent_check_seconds {
#define X(name, period, deadline) AGENT_PERIOD_S_##name = (period), AGENT_DEADLINE_S_##name = (deadline),
    AGENT_CHECKS_LIST(X)
#undef X
};

enum agent_setting_kind {
    AGENT_SETTING_KIND_COUNT,
    AGENT_SETTING_KIND_DURATION, /* in milliseconds */
    AGENT_SETTING_KIND_FLAG,
    AGENT_SETTING_KIND_LEVEL, /* of base/log.h, by its name */
};

enum agent_limit {
#define X(SYMBOL, name, kind, standard, min, max, help) AGENT_LIMIT_##SYMBOL,
    AGENT_LIMITS_LIST(X)
#undef X
        AGENT_LIMIT_COUNT
};

/* What may be said: "*" stands for a check's name ("disk"), "custom.*" for a program's in checks.d. */
struct agent_setting_rule {
    const char *name;
    enum agent_setting_kind kind;
    int64_t standard, min, max; /* standard -1: the check's own */
    const char *help;
};
extern const struct agent_setting_rule agent_setting_rules[];
extern const size_t agent_setting_rule_count;

#define AGENT_SETTINGS_TEXT_MAX_BYTES (8 * 1024) /* some hundred lines with comments */
#define AGENT_SETTINGS_MAX 128                   /* every check with all it can be told is less */
#define AGENT_SETTING_NAME_MAX_BYTES 56          /* "custom.", a name, ".timeout" */
#define AGENT_SETTING_VALUE_MAX_BYTES 24
#define AGENT_SETTINGS_ERROR_MAX 160

/* Whose word it is. A node's own file counts over its group's, and what its agent was started with over both. */
#define AGENT_SETTING_SOURCE_LIST(X) \
    X(GROUP, "group")                \
    X(FILE, "file")                  \
    X(COMMAND_LINE, "command-line")
enum agent_setting_source {
#define X(SYMBOL, text) AGENT_SETTING_SOURCE_##SYMBOL,
    AGENT_SETTING_SOURCE_LIST(X)
#undef X
};
ENUM_DECLARE(agent_setting_source);

struct agent_setting {
    char name[AGENT_SETTING_NAME_MAX_BYTES];
    enum agent_setting_kind kind;
    enum agent_setting_source source;
    int64_t value;
};

struct agent_settings {
    struct agent_setting *rows;
    size_t count;
};

/* INVALID or TOO_LARGE with a sentence that begins with the line. All rows are of that source. */
int agent_settings_parse(const char *text, size_t len, enum agent_setting_source source,
                         struct agent_settings *ret_settings, char ret_error[AGENT_SETTINGS_ERROR_MAX]);
void agent_settings_free(struct agent_settings *settings);
/* The text with lines that end as ours do, and not as those of other systems. Caller frees. */
char *agent_settings_plain(const char *text);
/* Of both what counts; what stands in over counts over what stands in under. */
void agent_settings_merge(const struct agent_settings *under, const struct agent_settings *over,
                          struct agent_settings *ret_settings);

/* "CHECK.WHAT"; prefix is "" or "custom.". settings NULL: nothing is said. standard where nothing is. */
int64_t agent_settings_of(const struct agent_settings *settings, const char *prefix, const char *check,
                          const char *what, int64_t standard);
int64_t agent_settings_limit(const struct agent_settings *settings, enum agent_limit limit);

/* Puts one more in, or in the place of the one that has its name. */
void agent_settings_put(struct agent_settings *settings, const struct agent_setting *setting);
/* Which check of the agent, or with *ret_is_own of checks.d, it is about; false: it is about none. */
bool agent_setting_check(const struct agent_setting *setting, char ret_check[SOURCE_MAX_BYTES], bool *ret_is_own);

/* As the text says it: "5m", "false". Returns ret_value. */
const char *agent_setting_value(const struct agent_setting *setting, char ret_value[AGENT_SETTING_VALUE_MAX_BYTES]);

/* What tells one text from another where a number would not, over restored servers and groups that come again; "" has tag 0. */
uint64_t agent_settings_tag(const char *text);
#define AGENT_SETTINGS_TAG_MAX_BYTES 17
/* Hexadecimal, no more than 16 digits. */
int agent_settings_tag_parse(const char *text, uint64_t *ret_tag);

/* What an agent tells of what it goes by. */
struct agent_settings_report {
    char instance_id[ID_INSTANCE_MAX];
    int64_t revision;                            /* of its group's text; 0: none */
    char refused[AGENT_SETTINGS_ERROR_MAX];      /* why a newer text of the group does not count; "": it does */
    char file_refused[AGENT_SETTINGS_ERROR_MAX]; /* likewise of the node's own file */
    char lines[AGENT_SETTINGS_MAX][AGENT_SETTING_NAME_MAX_BYTES + AGENT_SETTING_VALUE_MAX_BYTES + 8];
    size_t count; /* of lines: "disk.period 5m file" */
    int64_t at;   /* as stored */
};
/* "NAME VALUE SOURCE" of words as above. */
bool agent_settings_line_is_fine(const char *line);

#endif
