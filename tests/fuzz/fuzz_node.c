/*
 * The files of /proc, /sys and /etc that the node's checks read: whatever is in them, what is taken from them is sound. Each
 * input goes to every parser.
 */
// ROOMS: base model policy agents
#include "tests/fuzz/fuzz.h"

#include "agents/checks/cpu.h"
#include "agents/checks/load.h"
#include "agents/checks/memory.h"
#include "agents/checks/mountinfo.h"
#include "agents/checks/pcie.h"
#include "base/own.h"

static void parse_files(const char *data, size_t len)
{
    int64_t value, other;
    struct load_task task;
    struct memory_info memory;
    if (load_parse_stat(data, len, &task))
        REQUIRE(task.start >= 0 && memchr(task.name, '\0', sizeof(task.name)) != NULL);
    if (load_parse_average(data, len, &value, &other))
        REQUIRE(value >= 0 && other >= 0);
    if (memory_parse(data, len, &memory))
        REQUIRE(memory.total_kib > 0 && memory.huge_free <= memory.huge_total);
    if (memory_parse_pressure(data, len, &value))
        REQUIRE(value >= 0);
    if (pcie_parse_total(data, len, &value))
        REQUIRE(value >= 0);
    if (pcie_parse_speed(data, len, &value))
        REQUIRE(value > 0);
    if (pcie_parse_width(data, len, &value))
        REQUIRE(value > 0 && value < 255);
    (void)pcie_parse_class(data, len);
    if (cpu_parse_list(data, len, &value))
        REQUIRE(value > 0);
    if (cpu_parse_interrupts(data, len, "MCE:", &value))
        REQUIRE(value >= 0);
}

static void parse_mounts(const char *data, size_t len)
{
    struct lines lines;
    struct word line;
    struct mount mount;
    lines_start(&lines, data, len);
    while (lines_next(&lines, &line)) {
        if (mountinfo_parse(line, &mount))
            REQUIRE(mount.place[0] == '/' && strlen(mount.place) < sizeof(mount.place));
        if (fstab_parse(line, &mount))
            REQUIRE(mount.is_optional || mount.place[0] == '/');
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    autofree char *text = fuzz_text(data, size);
    parse_files(text, size);
    parse_mounts(text, size);
    return 0;
}
