/*
 * Processes by /proc. One pass reads pid, parent and start time of all that lives here, marks those that are ours and
 * sends the signals; who forks meanwhile is found by the next pass, so callers repeat until a pass finds nothing.
 */
#include "server/provider/lab/processes.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"

#include <dirent.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

#define STAT_BYTES_MAX 1024
#define STAT_PARENT_AT 2      /* blanks between the name's parenthesis and the parent; proc(5) field 4 */
#define STAT_START_TIME_AT 20 /* and field 22 */
#define ENVIRONMENT_BYTES_MAX (2 * 1024 * 1024)
#define RECORD_BYTES_MAX (256 * 1024)
#define LIST_FIRST 256
#define PASS_PAUSE_MS 20
#define HOST_BOOT_ID "/proc/sys/kernel/random/boot_id"
#define HOST_BOOT_ID_BYTES_MAX 64

struct process {
    pid_t pid, parent;
    uint64_t ticks;
    bool ours;
};

struct list {
    struct process *items;
    size_t count, capacity;
};

static void list_free(struct list list)
{
    free(list.items);
}
AUTO_DEFINE(struct list, list, list_free)

/* The blank number n after at, then the text behind it; NULL when the line is shorter. */
static const char *after_blanks(const char *at, int n)
{
    for (; n > 0 && at != NULL; n--) {
        at = strchr(at, ' ');
        at = at == NULL ? NULL : at + 1;
    }
    return at;
}

/* False for what is dead, gone or not to be understood. The name may hold anything, so it is skipped from the right. */
static bool read_process(pid_t pid, struct process *ret_process)
{
    char path[64];
    autofree char *line = NULL;
    snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
    if (file_read(path, STAT_BYTES_MAX, &line, NULL) != 0)
        return false;
    const char *name_end = strrchr(line, ')');
    if (name_end == NULL || name_end[1] != ' ' || name_end[2] == 'Z' || name_end[2] == 'X')
        return false;
    const char *parent = after_blanks(name_end, STAT_PARENT_AT), *ticks = after_blanks(name_end, STAT_START_TIME_AT);
    if (parent == NULL || ticks == NULL)
        return false;
    *ret_process = (struct process){.pid = pid, .parent = (pid_t)strtol(parent, NULL, 10)};
    ret_process->ticks = strtoull(ticks, NULL, 10);
    return true;
}

static int by_pid(const void *a, const void *b)
{
    pid_t left = ((const struct process *)a)->pid, right = ((const struct process *)b)->pid;
    return (left > right) - (left < right);
}

static void list_read(struct list *list)
{
    DIR *dir = opendir("/proc");
    const struct dirent *entry;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        int64_t pid;
        struct process process;
        if (text_parse_i64(entry->d_name, 1, INT32_MAX, &pid) != 0 || !read_process((pid_t)pid, &process))
            continue;
        if (list->count == list->capacity) {
            list->capacity = list->capacity == 0 ? LIST_FIRST : list->capacity * 2;
            list->items = own_realloc(list->items, list->capacity, sizeof(*list->items));
        }
        list->items[list->count++] = process;
    }
    if (dir != NULL)
        closedir(dir);
    if (list->count > 0)
        qsort(list->items, list->count, sizeof(*list->items), by_pid);
}

static struct process *list_find(const struct list *list, pid_t pid)
{
    const struct process wanted = {.pid = pid};
    return list->count == 0 ? NULL : bsearch(&wanted, list->items, list->count, sizeof(wanted), by_pid);
}

/* What descends from root, or from anything that is already marked. */
static void mark_descendants(struct list *list, pid_t root)
{
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < list->count; i++) {
            struct process *process = &list->items[i];
            const struct process *parent = process->ours ? NULL : list_find(list, process->parent);
            if (process->ours || (process->parent != root && (parent == NULL || !parent->ours)))
                continue;
            process->ours = more = true;
        }
    }
}

static bool environment_has(pid_t pid, const char *assignment)
{
    char path[64];
    autofree char *data = NULL;
    size_t len = 0;
    snprintf(path, sizeof(path), "/proc/%ld/environ", (long)pid);
    if (file_read(path, ENVIRONMENT_BYTES_MAX, &data, &len) != 0)
        return false; /* somebody else's, or gone */
    for (const char *at = data; at < data + len; at += strlen(at) + 1)
        if (strcmp(at, assignment) == 0)
            return true;
    return false;
}

static void mark_by_environment(struct list *list, const char *instance_dir)
{
    autofree char *assignment = own_printf(PROCESSES_VARIABLE "=%s", instance_dir);
    for (size_t i = 0; i < list->count; i++)
        if (!list->items[i].ours && environment_has(list->items[i].pid, assignment))
            list->items[i].ours = true;
}

static char *host_boot_id(void)
{
    char *data = NULL;
    if (file_read(HOST_BOOT_ID, HOST_BOOT_ID_BYTES_MAX, &data, NULL) != 0)
        return own_strdup("?");
    data[strcspn(data, "\n")] = '\0';
    return data;
}

/* A record of before the host's last boot says nothing: its numbers belong to others now. */
static void mark_recorded(struct list *list, const char *record_path)
{
    autofree char *data = NULL;
    autofree char *boot_id = host_boot_id();
    if (file_read(record_path, RECORD_BYTES_MAX, &data, NULL) != 0)
        return;
    char *rest = data;
    const char *line = strsep(&rest, "\n");
    if (!text_equal(line, boot_id))
        return;
    while ((line = strsep(&rest, "\n")) != NULL) {
        long pid;
        uint64_t ticks;
        if (sscanf(line, "%ld %" SCNu64, &pid, &ticks) != 2)
            continue;
        struct process *process = list_find(list, (pid_t)pid);
        if (process != NULL && process->ticks == ticks)
            process->ours = true;
    }
}

static void spare_own_line(struct list *list)
{
    for (struct process *at = list_find(list, getpid()); at != NULL; at = list_find(list, at->parent)) {
        at->ours = false;
        if (at->parent <= 1)
            break;
    }
    struct process *init = list_find(list, 1);
    if (init != NULL)
        init->ours = false;
}

/* The descriptor pins the process, so that checking it and signalling it are about the same one. */
int processes_signal(pid_t pid, uint64_t ticks, int signal_number)
{
    struct process now;
    int fd = pidfd_open(pid, 0);
    if (fd < 0)
        return STATUS_NOT_FOUND;
    bool same = read_process(pid, &now) && now.ticks == ticks;
    int status = same && pidfd_send_signal(fd, signal_number, NULL, 0) == 0 ? 0 : STATUS_NOT_FOUND;
    close(fd);
    return status;
}

static size_t kill_marked(const struct list *list)
{
    size_t count = 0;
    for (size_t i = 0; i < list->count; i++) {
        if (!list->items[i].ours)
            continue;
        count++;
        (void)processes_signal(list->items[i].pid, list->items[i].ticks, SIGKILL);
    }
    return count;
}

size_t processes_kill_descendants(void)
{
    AUTO(list) struct list list = {0};
    list_read(&list);
    mark_descendants(&list, getpid());
    spare_own_line(&list);
    return kill_marked(&list);
}

char *processes_record(void)
{
    AUTO(list) struct list list = {0};
    AUTO(text) struct text out = {0};
    autofree char *boot_id = host_boot_id();
    list_read(&list);
    mark_descendants(&list, getpid());
    text_printf(&out, "%s\n", boot_id);
    for (size_t i = 0; i < list.count; i++)
        if (list.items[i].ours)
            text_printf(&out, "%ld %" PRIu64 "\n", (long)list.items[i].pid, list.items[i].ticks);
    return text_take(&out);
}

int processes_kill_leftovers(const char *record_path, const char *instance_dir, int64_t timeout_ms)
{
    int64_t until = clock_mono_ms(clock_system()) + timeout_ms;
    for (;;) {
        AUTO(list) struct list list = {0};
        list_read(&list);
        mark_recorded(&list, record_path);
        mark_by_environment(&list, instance_dir);
        mark_descendants(&list, -1);
        spare_own_line(&list);
        if (kill_marked(&list) == 0)
            return 0;
        if (clock_mono_ms(clock_system()) >= until)
            return STATUS_TIMEOUT;
        poll(NULL, 0, PASS_PAUSE_MS);
    }
}
