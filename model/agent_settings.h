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

/* The agent's checks beside the kernel log, in the order in which people read them (agents/checks/checks.h). */
/* clang-format off */
#define AGENT_CHECKS_LIST(X) \
    X(disk) \
    X(mounts) \
    X(memory) \
    X(load) \
    X(clock) \
    X(services) \
    X(edac) \
    X(pcie) \
    X(cpu) \
    X(machine) \
    X(nvidia) \
    X(dcgm) \
    X(violations) \
    X(neuron) \
    X(net) \
    X(infiniband) \
    X(efa)

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
    X(PCIE_CORRECTED, "pcie.corrected", COUNT, 100, 1, 1000000, "corrected errors of a device an hour")
/* clang-format on */

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

/* Whose word it is. A node's own file counts over its group's. */
#define AGENT_SETTING_SOURCE_LIST(X) \
    X(GROUP, "group")                \
    X(FILE, "file")
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
/* Of both what counts; what stands in over counts over what stands in under. */
void agent_settings_merge(const struct agent_settings *under, const struct agent_settings *over,
                          struct agent_settings *ret_settings);

/* "CHECK.WHAT"; prefix is "" or "custom.". settings NULL: nothing is said. standard where nothing is. */
int64_t agent_settings_of(const struct agent_settings *settings, const char *prefix, const char *check,
                          const char *what, int64_t standard);
int64_t agent_settings_limit(const struct agent_settings *settings, enum agent_limit limit);

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
