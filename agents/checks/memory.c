/*
 * Checks free memory, swapping and memory pressure.
 *
 * Jobs cause most of this, so it is only reported, never repaired. It explains a slow node or dying daemons. Unmapped huge pages are
 * left over from a crashed program, and stay lost until their file is removed.
 */
#include "agents/checks/memory.h"

#include "agents/checks/check.h"
#include "agents/checks/lines.h"
#include "agents/checks/recall.h"
#include "base/clock.h"
#include "base/own.h"

#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define FILE_BYTES_MAX (1 << 18)
#define PROCESSES_MAX 65536

/* Thresholds. kubelet evicts below 100 MiB (documented default); the rest is judgement. */
#define LOW_KIB (INT64_C(1) << 20)       /* 1 GiB, on machines … */
#define LOW_PERCENT 1                    /* … of which it is less than this */
#define LOWEST_KIB (INT64_C(100) << 10)  /* and always */
#define SWAP_PAGES_PER_S 2500            /* in and out: 10 MiB a second each way, for a whole period, is a storm */
#define AGAIN_MS 1                       /* in the run before, too */
#define HUGE_LEAK_KIB (INT64_C(1) << 20) /* 1 GiB */

bool memory_parse(const char *data, size_t len, struct memory_info *ret_info)
{
    struct memory_info info = {.total_kib = 0};
    if (!lines_find_i64(data, len, "MemTotal:", &info.total_kib) ||
        !lines_find_i64(data, len, "MemAvailable:", &info.available_kib) || info.total_kib == 0)
        return false;
    (void)lines_find_i64(data, len, "HugePages_Total:", &info.huge_total);
    (void)lines_find_i64(data, len, "HugePages_Free:", &info.huge_free);
    (void)lines_find_i64(data, len, "Hugepagesize:", &info.huge_kib);
    if (info.huge_free > info.huge_total || info.huge_kib > INT32_MAX || info.huge_total > INT32_MAX)
        return false;
    *ret_info = info;
    return true;
}

bool memory_is_low(const struct memory_info *info)
{
    return info->available_kib < LOWEST_KIB ||
           (info->available_kib < LOW_KIB && info->available_kib < info->total_kib / 100 * LOW_PERCENT);
}

bool memory_parse_pressure(const char *data, size_t len, int64_t *ret_milli)
{
    struct lines lines;
    struct word line, words[4];
    lines_start(&lines, data, len);
    while (lines_next(&lines, &line))
        if (lines_words(line, words, 4) >= 4 && word_is(words[0], "full") && word_starts_with(words[3], "avg300="))
            return word_milli((struct word){words[3].at + 7, words[3].len - 7}, ret_milli);
    return false;
}

/* KiB of huge pages that processes have mapped; what is shared counts for each, so it is rather too much. */
static int64_t mapped_huge_kib(const struct check_context *context)
{
    autofree char *proc = check_path(context, "/proc");
    DIR *dir = opendir(proc);
    int64_t sum = 0;
    int seen = 0;
    for (struct dirent *entry; dir != NULL && seen < PROCESSES_MAX && (entry = readdir(dir)) != NULL;) {
        autofree char *data = NULL;
        size_t len;
        int64_t kib;
        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        seen++;
        autofree char *name = own_printf("/proc/%s/status", entry->d_name);
        if (check_read(context, name, FILE_BYTES_MAX, &data, &len) == 0 &&
            lines_find_i64(data, len, "HugetlbPages:", &kib) && kib < INT64_MAX / PROCESSES_MAX)
            sum += kib;
    }
    if (dir != NULL)
        closedir(dir);
    return sum;
}

/* Found only when it was so in the run before, too: a program that starts has pages before they show as its own. */
static void look_for_leak(const struct check_context *context, struct check_out *out, struct recall *recall,
                          const struct memory_info *info)
{
    int64_t used_kib = (info->huge_total - info->huge_free) * info->huge_kib, leaked = 0;
    if (used_kib >= HUGE_LEAK_KIB)
        leaked = used_kib - mapped_huge_kib(context);
    if (recall_lasts(recall, "huge-leak", leaked >= HUGE_LEAK_KIB, AGAIN_MS))
        check_found(out, "node.memory.hugepages", "", 1,
                    "%" PRId64 " MiB of huge pages are in use and mapped by no process: files in /dev/hugepages",
                    leaked / 1024);
}

/* Since the run before; 0 when there was none. */
static int64_t pages_per_second(struct recall *recall, const char *key, int64_t pages)
{
    int64_t before = recall_get(recall, key, pages), age_ms = recall_age_ms(recall, key);
    recall_set(recall, key, pages);
    return age_ms > 0 && pages > before ? (int64_t)((double)(pages - before) * 1000 / (double)age_ms) : 0;
}

static void look_at_swap(const struct check_context *context, struct check_out *out, struct recall *recall)
{
    autofree char *data = NULL;
    size_t len;
    int64_t in, out_pages;
    if (check_read(context, "/proc/vmstat", FILE_BYTES_MAX, &data, &len) != 0 ||
        !lines_find_i64(data, len, "pswpin", &in) || !lines_find_i64(data, len, "pswpout", &out_pages))
        return; /* a kernel without swap */
    int64_t in_rate = pages_per_second(recall, "pswpin", in);
    int64_t out_rate = pages_per_second(recall, "pswpout", out_pages);
    if (in_rate >= SWAP_PAGES_PER_S && out_rate >= SWAP_PAGES_PER_S)
        check_found(out, "node.swap.storm", "", 1,
                    "%" PRId64 " pages a second came from swap and %" PRId64 " went there", in_rate, out_rate);
}

static void look_at_pressure(const struct check_context *context, struct check_out *out)
{
    autofree char *data = NULL;
    size_t len;
    int64_t milli;
    if (check_read(context, "/proc/pressure/memory", FILE_BYTES_MAX, &data, &len) != 0 ||
        !memory_parse_pressure(data, len, &milli))
        return; /* not in every kernel, and off in some */
    check_value(out, "holdfast_memory_pressure_ratio", "", (double)milli / 100000);
    if (milli >= 1000 * agent_settings_limit(context->settings, AGENT_LIMIT_MEMORY_PRESSURE))
        check_found(out, "node.memory.pressure", "", 1, "all tasks waited for memory in %" PRId64 " %% of five minutes",
                    milli / 1000);
}

static void run(const struct check_context *context, struct check_out *out)
{
    autofree char *data = NULL;
    size_t len;
    struct memory_info info;
    if (check_read(context, "/proc/meminfo", FILE_BYTES_MAX, &data, &len) != 0 || !memory_parse(data, len, &info)) {
        check_unknown(out, "/proc/meminfo cannot be read");
        return;
    }
    AUTO(recall) struct recall *recall = recall_new(context->memory, context->memory_len, context->uptime_ms);
    check_value(out, "holdfast_memory_available_bytes", "", (double)info.available_kib * 1024);
    if (recall_lasts(recall, "low", memory_is_low(&info), AGAIN_MS))
        check_found(out, "node.memory.low", "", 1, "%" PRId64 " of %" PRId64 " MiB are available",
                    info.available_kib / 1024, info.total_kib / 1024);
    look_for_leak(context, out, recall, &info);
    look_at_swap(context, out, recall);
    look_at_pressure(context, out);
    recall_keep(recall, out);
}

const struct check check_memory = {.name = "memory",
                                   .about = "memory that is left, swap storms, pressure, huge pages nobody has mapped",
                                   CHECK_TIMES(memory),
                                   .run = run};
