/* /proc/self, as proc(5) describes it, under the names of Prometheus' client libraries ("Writing client libraries", process metrics). */
#include "server/metrics_process.h"

#include "base/clock.h"
#include "base/own.h"
#include "base/version.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static void put(struct text *t, const char *name, const char *type, const char *help, double value)
{
    text_printf(t, "# HELP %s %s\n# TYPE %s %s\n%s %.15g\n", name, help, name, type, name, value);
}

/* Fields 22 to 24 of /proc/self/stat: start in ticks since boot, virtual memory in bytes, resident pages. The name in field 2 may hold
 * blanks and brackets, so they are counted from its last bracket. */
static bool read_stat(uint64_t *ret_start_ticks, uint64_t *ret_virtual, uint64_t *ret_pages)
{
    char line[1024];
    FILE *file = fopen("/proc/self/stat", "re");
    size_t len = file == NULL ? 0 : fread(line, 1, sizeof(line) - 1, file);
    if (file != NULL)
        fclose(file);
    line[len] = '\0';
    const char *at = strrchr(line, ')');
    for (int field = 2; at != NULL && field < 22; field++)
        at = strchr(at + 1, ' ');
    return at != NULL && sscanf(at, "%" SCNu64 " %" SCNu64 " %" SCNu64, ret_start_ticks, ret_virtual, ret_pages) == 3;
}

static size_t count_files(void)
{
    size_t count = 0;
    DIR *dir = opendir("/proc/self/fd");
    while (dir != NULL && readdir(dir) != NULL)
        count++;
    if (dir == NULL)
        return 0;
    closedir(dir);
    return count > 3 ? count - 3 : 0; /* ".", "..", and the directory itself */
}

static double start_seconds(uint64_t start_ticks)
{
    double booted = (double)(clock_true_ms(clock_system()) - clock_boot_ms()) / 1e3;
    return booted + (double)start_ticks / (double)sysconf(_SC_CLK_TCK);
}

void metrics_process(struct text *t)
{
    uint64_t start_ticks, virtual_bytes, pages;
    struct rusage usage;
    struct rlimit files;
    text_printf(t, "# HELP holdfast_build_info The version of hpd; always 1\n# TYPE holdfast_build_info gauge\n"
                   "holdfast_build_info{version=\"" HOLDFAST_VERSION "\"} 1\n");
    if (getrusage(RUSAGE_SELF, &usage) == 0)
        put(t, "process_cpu_seconds_total", "counter", "User and system CPU time",
            (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6);
    if (read_stat(&start_ticks, &virtual_bytes, &pages)) {
        put(t, "process_resident_memory_bytes", "gauge", "Resident memory",
            (double)pages * (double)sysconf(_SC_PAGESIZE));
        put(t, "process_virtual_memory_bytes", "gauge", "Virtual memory", (double)virtual_bytes);
        put(t, "process_start_time_seconds", "gauge", "When the process started, since the Unix epoch",
            start_seconds(start_ticks));
    }
    put(t, "process_open_fds", "gauge", "Open file descriptors", (double)count_files());
    if (getrlimit(RLIMIT_NOFILE, &files) == 0)
        put(t, "process_max_fds", "gauge", "File descriptors that may be open", (double)files.rlim_cur);
}
