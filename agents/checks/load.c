/*
 * Finds processes that make no progress.
 *
 * A process that stays in state D without context switches waits for a device or a file server that does not answer. After five
 * minutes it counts as stuck. Kernel threads normally wait in this state and are ignored. High load is normal for jobs; only what no
 * job causes on purpose is reported.
 */
#include "agents/checks/load.h"

#include "agents/checks/check.h"
#include "agents/checks/lines.h"
#include "base/clock.h"
#include "base/own.h"
#include "base/text.h"

#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FILE_BYTES_MAX (1 << 16)
#define TASKS_MAX 100000                 /* stat files read in one run: half a second */
#define WAITING_MAX 200                  /* tasks in state D that are remembered */
#define KTHREAD_FLAG INT64_C(0x00200000) /* PF_KTHREAD of include/linux/sched.h */
#define STAT_FLAGS 6                     /* words behind the state in /proc/PID/stat: flags are field 9, … */
#define STAT_START 19                    /* … starttime is field 22, and the state is field 3 */

/* Thresholds: judgement, as are those that the settings may say otherwise. The kernel itself complains of a hung task after 120 s,
 * also of slow disks. */
#define NEARLY_PERCENT 90 /* of a limit */

/* --- parse --------------------------------------------------------------------------------------------------- */

bool load_parse_stat(const char *data, size_t len, struct load_task *ret_task)
{
    struct load_task task = {.state = 0};
    struct word words[STAT_START + 1];
    int64_t flags;
    const char *open = len > 0 ? memchr(data, '(', len) : NULL, *close = len > 0 ? memrchr(data, ')', len) : NULL;
    if (open == NULL || close == NULL || close < open)
        return false;
    size_t name = (size_t)(close - open - 1);
    text_copy_clean(task.name, sizeof(task.name), open + 1, name);
    size_t count = lines_words((struct word){close + 1, (size_t)(data + len - close - 1)}, words, STAT_START + 1);
    if (count <= STAT_START || words[0].len != 1 || !word_i64(words[STAT_FLAGS], &flags) ||
        !word_i64(words[STAT_START], &task.start))
        return false;
    task.state = words[0].at[0];
    task.is_kernel = (flags & KTHREAD_FLAG) != 0;
    *ret_task = task;
    return true;
}

bool load_parse_average(const char *data, size_t len, int64_t *ret_load_milli, int64_t *ret_tasks)
{
    struct word words[4];
    const char *feed = len > 0 ? memchr(data, '\n', len) : NULL;
    if (lines_words((struct word){data, feed != NULL ? (size_t)(feed - data) : len}, words, 4) < 4)
        return false;
    const char *slash = memchr(words[3].at, '/', words[3].len);
    return slash != NULL && word_milli(words[1], ret_load_milli) &&
           word_i64((struct word){slash + 1, (size_t)(words[3].at + words[3].len - slash - 1)}, ret_tasks);
}

/* --- tasks that wait ----------------------------------------------------------------------------------------- */

struct waiting {
    int64_t id, start, switches, since;
    char name[16];
};

struct look {
    const struct check_context *context;
    struct waiting waiting[WAITING_MAX];
    size_t count;
    int64_t zombies, tasks;
};

/* Since when it waits: what the run before remembered of the very same task, if it was not run since. */
static int64_t waits_since(const struct check_context *context, const struct waiting *task)
{
    struct lines lines;
    struct word line, words[4];
    int64_t id, start, switches, since;
    lines_start(&lines, context->memory, context->memory_len);
    while (lines_next(&lines, &line))
        if (lines_words(line, words, 4) == 4 && word_i64(words[0], &id) && word_i64(words[1], &start) &&
            word_i64(words[2], &switches) && word_i64(words[3], &since) && id == task->id && start == task->start &&
            switches == task->switches && since <= context->uptime_ms)
            return since;
    return context->uptime_ms;
}

static void note_waiting(struct look *look, int64_t id, const char *dir, const struct load_task *task)
{
    autofree char *name = own_printf("%s/status", dir), *data = NULL;
    size_t len;
    struct waiting waiting = {.id = id, .start = task->start};
    memcpy(waiting.name, task->name, sizeof(waiting.name));
    if (look->count == WAITING_MAX || check_read(look->context, name, FILE_BYTES_MAX, &data, &len) != 0 ||
        !lines_find_i64(data, len, "voluntary_ctxt_switches:", &waiting.switches))
        return;
    waiting.since = waits_since(look->context, &waiting);
    look->waiting[look->count++] = waiting;
}

static void look_at_task(struct look *look, const char *dir, const char *id)
{
    autofree char *name = own_printf("%s/stat", dir), *data = NULL;
    size_t len;
    int64_t number;
    struct load_task task;
    look->tasks++;
    if (!word_i64((struct word){id, strlen(id)}, &number) ||
        check_read(look->context, name, FILE_BYTES_MAX, &data, &len) != 0 || !load_parse_stat(data, len, &task))
        return; /* it has ended meanwhile */
    look->zombies += task.state == 'Z';
    if (task.state == 'D' && !task.is_kernel)
        note_waiting(look, number, dir, &task);
}

static void look_at_all(struct look *look, const char *dir_name, bool threads)
{
    autofree char *path = check_path(look->context, dir_name);
    DIR *dir = opendir(path);
    for (struct dirent *entry; dir != NULL && look->tasks < TASKS_MAX && (entry = readdir(dir)) != NULL;) {
        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        autofree char *one = own_printf("%s/%s", dir_name, entry->d_name);
        if (threads) {
            look_at_task(look, one, entry->d_name);
            continue;
        }
        autofree char *tasks = own_printf("%s/task", one);
        look_at_all(look, tasks, true);
    }
    if (dir != NULL)
        closedir(dir);
}

static void look_at_tasks(const struct check_context *context, struct check_out *out)
{
    struct look look = {.context = context};
    AUTO(text) struct text memory = {0};
    const struct waiting *oldest = NULL;
    int64_t stuck = 0, stuck_ms = agent_settings_limit(context->settings, AGENT_LIMIT_LOAD_STUCK);
    look_at_all(&look, "/proc", false);
    for (size_t i = 0; i < look.count; i++) {
        const struct waiting *task = &look.waiting[i];
        text_printf(&memory, "%" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 "\n", task->id, task->start, task->switches,
                    task->since);
        stuck += context->uptime_ms - task->since >= stuck_ms;
        if (oldest == NULL || task->since < oldest->since)
            oldest = task;
    }
    check_remember(out, text_get(&memory), memory.len);
    check_value(out, "holdfast_tasks_waiting", "", (double)look.count);
    check_value(out, "holdfast_zombies", "", (double)look.zombies);
    if (stuck > 0)
        check_found(out, "node.process.stuck", "", 1,
                    "%" PRId64 " tasks wait for over %" PRId64 " min, %s (%" PRId64 ") among them", stuck,
                    stuck_ms / MS_PER_MIN, oldest->name, oldest->id);
    if (look.zombies >= agent_settings_limit(context->settings, AGENT_LIMIT_LOAD_ZOMBIES))
        check_found(out, "node.process.zombies", "", 1, "%" PRId64 " processes have ended and nobody collects them",
                    look.zombies);
}

/* --- load and limits ----------------------------------------------------------------------------------------- */

/* The first number of a file. */
static bool read_number(const struct check_context *context, const char *name, size_t which, int64_t *ret_number)
{
    autofree char *data = NULL;
    size_t len;
    struct word words[3];
    if (check_read(context, name, FILE_BYTES_MAX, &data, &len) != 0)
        return false;
    const char *feed = memchr(data, '\n', len);
    size_t count = lines_words((struct word){data, feed != NULL ? (size_t)(feed - data) : len}, words, 3);
    return count > which && word_i64(words[which], ret_number);
}

static void look_at_limits(const struct check_context *context, struct check_out *out, int64_t tasks)
{
    int64_t files, files_max, limit, pids;
    if (read_number(context, "/proc/sys/kernel/threads-max", 0, &limit) &&
        read_number(context, "/proc/sys/kernel/pid_max", 0, &pids)) {
        limit = pids < limit ? pids : limit;
        if (tasks >= limit / 100 * NEARLY_PERCENT)
            check_found(out, "node.process.limit", "tasks", 1, "%" PRId64 " of %" PRId64 " tasks", tasks, limit);
    }
    if (read_number(context, "/proc/sys/fs/file-nr", 0, &files) &&
        read_number(context, "/proc/sys/fs/file-nr", 2, &files_max) && files >= files_max / 100 * NEARLY_PERCENT)
        check_found(out, "node.process.limit", "files", 1, "%" PRId64 " of %" PRId64 " files are open", files,
                    files_max);
}

static void run(const struct check_context *context, struct check_out *out)
{
    autofree char *data = NULL;
    size_t len;
    int64_t load_milli, tasks;
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    if (check_read(context, "/proc/loadavg", FILE_BYTES_MAX, &data, &len) != 0 ||
        !load_parse_average(data, len, &load_milli, &tasks)) {
        check_unknown(out, "/proc/loadavg cannot be read");
        return;
    }
    check_value(out, "holdfast_load5", "", (double)load_milli / 1000);
    if (cpus > 0 && load_milli / 1000 >= cpus * agent_settings_limit(context->settings, AGENT_LIMIT_LOAD_PER_CPU))
        check_found(out, "node.load.high", "", 1, "load %" PRId64 " over five minutes on %ld processors",
                    load_milli / 1000, cpus);
    look_at_limits(context, out, tasks);
    look_at_tasks(context, out);
}

const struct check check_load = {.name = "load",
                                 .about = "tasks that are stuck, zombies, load, and limits that are nearly reached",
                                 CHECK_TIMES(load),
                                 .run = run};
