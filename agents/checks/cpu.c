/*
 * What the processors say: machine check exceptions, processors that went offline, and marks of the kernel that it ran into
 * a fault.
 *
 * The exceptions are counted by the kernel in /proc/interrupts; what each was stands in the kernel log, which is another
 * check's. Hyper-threads are switched off on purpose: while that switch is off processors are not counted.
 */
#include "agents/checks/cpu.h"

#include "agents/checks/check.h"
#include "agents/checks/lines.h"
#include "agents/checks/recall.h"
#include "base/clock.h"
#include "base/own.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define CPU_DIR "/sys/devices/system/cpu"
#define INTERRUPTS_BYTES_MAX (8 << 20) /* a row is 11 bytes for each of 400 processors, and there are hundreds */
#define FILE_BYTES_MAX 65536
#define CPUS_MAX 65536

/* Bits by the kernel's admin-guide/tainted-kernels. Drivers from outside and warnings are daily bread. */
#define TAINT_MACHINE_CHECK (INT64_C(1) << 4)
#define TAINT_DIED (INT64_C(1) << 7)
#define TAINT_LOCKUP (INT64_C(1) << 14)

bool cpu_parse_interrupts(const char *data, size_t len, const char *name, int64_t *ret_sum)
{
    struct lines lines;
    struct word line, word;
    lines_start(&lines, data, len);
    while (lines_next(&lines, &line)) {
        if (lines_words(line, &word, 1) == 0 || !word_is(word, name))
            continue;
        struct word rest = {word.at + word.len, (size_t)(line.at + line.len - word.at) - word.len};
        int64_t sum = 0, count;
        while (lines_words(rest, &word, 1) > 0 && word_i64(word, &count) && sum <= INT64_MAX - count) {
            sum += count;
            rest.len -= (size_t)(word.at + word.len - rest.at);
            rest.at = word.at + word.len;
        }
        *ret_sum = sum;
        return true;
    }
    return false;
}

bool cpu_parse_list(const char *data, size_t len, int64_t *ret_count)
{
    int64_t total = 0;
    const char *end = memchr(data, '\n', len);
    end = end != NULL ? end : data + len;
    while (data < end) {
        const char *comma = memchr(data, ',', (size_t)(end - data));
        const char *stop = comma != NULL ? comma : end;
        const char *dash = memchr(data, '-', (size_t)(stop - data));
        int64_t from, to;
        if (!word_i64((struct word){data, (size_t)((dash != NULL ? dash : stop) - data)}, &from))
            return false;
        to = from;
        if (dash != NULL && !word_i64((struct word){dash + 1, (size_t)(stop - dash - 1)}, &to))
            return false;
        if (to < from || to >= CPUS_MAX)
            return false;
        total += to - from + 1;
        data = stop + (comma != NULL);
        if (comma != NULL && data == end)
            return false;
    }
    *ret_count = total;
    return total > 0;
}

const char *cpu_taint(int64_t tainted)
{
    if (tainted & TAINT_DIED)
        return "it died in a part of itself (an oops)";
    if (tainted & TAINT_MACHINE_CHECK)
        return "a machine check happened";
    return tainted & TAINT_LOCKUP ? "a processor was locked up" : "";
}

/* The three below: false when there is nothing to read. */
static bool look_at_exceptions(const struct check_context *context, struct check_out *out, struct recall *recall)
{
    const struct {
        const char *name, *words;
        int64_t threshold;
    } kinds[] = {{"MCE:", "machine check exceptions", 1},
                 {"THR:", "interrupts for machine checks that were corrected",
                  agent_settings_limit(context->settings, AGENT_LIMIT_CPU_CORRECTED)}};
    autofree char *data = NULL;
    size_t len;
    if (check_read(context, "/proc/interrupts", INTERRUPTS_BYTES_MAX, &data, &len) != 0)
        return false;
    bool any = false;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        int64_t sum;
        if (!cpu_parse_interrupts(data, len, kinds[i].name, &sum))
            continue;
        any = true;
        int64_t over = recall_growth(recall, kinds[i].name, sum, kinds[i].threshold - 1, MS_PER_HOUR);
        if (over > 0)
            check_event(out, "node.machine-check", "", over, "%" PRId64 " %s", over, kinds[i].words);
    }
    return any;
}

static bool read_list(const struct check_context *context, const char *file, int64_t *ret_count)
{
    autofree char *data = NULL;
    size_t len;
    return check_read(context, file, FILE_BYTES_MAX, &data, &len) == 0 && cpu_parse_list(data, len, ret_count);
}

/* Fewer than there were in this boot: what it began without was left out by somebody (maxcpus=, hyper-threads off). */
static bool look_at_processors(const struct check_context *context, struct check_out *out, struct recall *recall)
{
    autofree char *smt = NULL;
    int64_t online;
    size_t len;
    bool switched = check_read(context, CPU_DIR "/smt/control", FILE_BYTES_MAX, &smt, &len) == 0 &&
                    strncmp(smt, "on\n", 3) != 0 && strncmp(smt, "not", 3) != 0;
    if (switched || !read_list(context, CPU_DIR "/online", &online))
        return switched;
    int64_t most = recall_most(recall, "online", online);
    if (online < most)
        check_found(out, "node.cpu.offline", "", 1, "%" PRId64 " of %" PRId64 " processors have gone offline",
                    most - online, most);
    return true;
}

static bool look_at_taint(const struct check_context *context, struct check_out *out)
{
    autofree char *data = NULL;
    size_t len;
    int64_t tainted;
    if (check_read(context, "/proc/sys/kernel/tainted", FILE_BYTES_MAX, &data, &len) != 0 ||
        !word_i64((struct word){data, strcspn(data, "\n")}, &tainted))
        return false;
    const char *why = cpu_taint(tainted);
    if (why[0] != '\0')
        check_found(out, "node.kernel.taint", "", 1, "the kernel marked itself since boot: %s", why);
    return true;
}

static void run(const struct check_context *context, struct check_out *out)
{
    AUTO(recall) struct recall *recall = recall_new(context->memory, context->memory_len, context->uptime_ms);
    bool any = look_at_exceptions(context, out, recall);
    any |= look_at_processors(context, out, recall);
    any |= look_at_taint(context, out);
    if (!any)
        check_unknown(out, "neither /proc/interrupts nor " CPU_DIR " nor the kernel's taint can be read");
    recall_keep(recall, out);
}

const struct check check_cpu = {.name = "cpu",
                                .about = "machine checks, processors that are offline, faults of the kernel",
                                CHECK_TIMES(cpu),
                                .run = run};
