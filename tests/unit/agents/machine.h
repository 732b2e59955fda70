/* A machine for a check: files below a root, tools in a directory, and the memory that goes from one run to the next. */
#ifndef HOLDFAST_TESTS_UNIT_AGENTS_MACHINE_H
#define HOLDFAST_TESTS_UNIT_AGENTS_MACHINE_H

#include "agents/checks/report.h"
#include "base/file.h"
#include "base/own.h"
#include "tests/unit/agents/place.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MACHINE_OLD_MS INT64_C(86400000) /* up since a day */

struct machine {
    struct place *place;
    char *root, *bin;
    const char *instance_type;
    const struct agent_settings *settings; /* NULL: nothing is said otherwise */
    int64_t uptime_ms;
    char *memory;
    size_t memory_len;
};

static inline struct machine machine_new(struct place *place, const char *instance_type)
{
    struct machine machine = {.place = place,
                              .root = own_printf("%s/root", place->dir),
                              .bin = own_printf("%s/bin", place->dir),
                              .instance_type = instance_type,
                              .uptime_ms = MACHINE_OLD_MS};
    assert_int_equal(file_make_dirs(machine.root, 0755), 0);
    assert_int_equal(file_make_dirs(machine.bin, 0755), 0);
    return machine;
}

static inline void machine_free(struct machine *machine)
{
    free(machine->root);
    free(machine->bin);
    free(machine->memory);
}

/* Below the root, directories and all. */
static inline void machine_file(const struct machine *machine, const char *name, const char *text)
{
    autofree char *path = own_printf("%s%s", machine->root, name);
    autofree char *dir = own_strdup(path);
    *strrchr(dir, '/') = '\0';
    assert_int_equal(file_make_dirs(dir, 0755), 0);
    assert_int_equal(file_write(path, text, strlen(text), 0644), 0);
}

/* A shell script under that name. In it $0 is its path. */
static inline void machine_tool(const struct machine *machine, const char *name, const char *script)
{
    autofree char *path = own_printf("%s/%s", machine->bin, name);
    autofree char *text = own_printf("#!/bin/sh\n%s\n", script);
    assert_int_equal(file_write(path, text, strlen(text), 0755), 0);
}

/* What a tool prints: a file beside it, "$0.out" in its script. */
static inline void machine_says(const struct machine *machine, const char *name, const char *data, size_t len)
{
    autofree char *path = own_printf("%s/%s.out", machine->bin, name);
    assert_int_equal(file_write(path, data, len, 0644), 0);
}

/* A minute passes; what the run leaves is the next one's memory. The report is freed with report_free. */
static inline struct check_report machine_run(struct machine *machine, const struct check *check)
{
    struct check_report report;
    const struct check_context context = {.root = machine->root,
                                          .path = machine->bin,
                                          .instance_type = machine->instance_type,
                                          .state_dir = "",
                                          .uptime_ms = machine->uptime_ms,
                                          .settings = machine->settings,
                                          .memory = machine->memory != NULL ? machine->memory : "",
                                          .memory_len = machine->memory_len};
    report_of(check, &context, &report);
    if (report.memory != NULL) {
        free(machine->memory);
        machine->memory = TAKE(report.memory);
        machine->memory_len = report.memory_len;
    }
    machine->uptime_ms += 60000;
    return report;
}

/* The site says so from now on. */
static inline void machine_said(struct machine *machine, struct agent_settings *settings, const char *text)
{
    char why[AGENT_SETTINGS_ERROR_MAX];
    assert_int_equal(agent_settings_parse(text, strlen(text), AGENT_SETTING_SOURCE_FILE, settings, why), 0);
    machine->settings = settings;
}

/* The observation of that code and device (NULL: any), or NULL. */
static inline const struct check_observation *machine_sees(const struct check_report *report, const char *code,
                                                           const char *device)
{
    for (size_t i = 0; i < report->observation_count; i++)
        if (strcmp(report->observations[i].code, code) == 0 &&
            (device == NULL || strcmp(report->observations[i].device, device) == 0))
            return &report->observations[i];
    return NULL;
}

#endif
