/*
 * Checks that the mounts of /etc/fstab exist and respond.
 *
 * Access to a mount of a dead file server blocks for ever. So a separate process with a time limit probes each remote mount, all in
 * parallel. While such a process hangs, no other one is started for the same mount.
 */
#include "agents/checks/check.h"
#include "agents/checks/mountinfo.h"
#include "base/clock.h"
#include "base/own.h"
#include "base/text.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOUNTS_MAX 1024
#define REMOTE_MAX 32
#define FILE_BYTES_MAX (1 << 20)
#define LOOK_MS 20

struct probe {
    const struct mount *mount;
    pid_t pid;
    uint64_t ticks;
    bool over, old; /* old: an earlier run's, that hangs still */
};

struct mounted {
    struct mount *mounts;
    size_t count;
};

static void read_mounted(struct mounted *mounted, const char *data, size_t len)
{
    struct lines lines;
    struct word line;
    lines_start(&lines, data, len);
    mounted->mounts = own_calloc(MOUNTS_MAX, sizeof(*mounted->mounts));
    while (mounted->count < MOUNTS_MAX && lines_next(&lines, &line))
        if (mountinfo_parse(line, &mounted->mounts[mounted->count]))
            mounted->count++;
}

static bool is_mounted(const struct mounted *mounted, const char *place)
{
    for (size_t i = 0; i < mounted->count; i++)
        if (strcmp(mounted->mounts[i].place, place) == 0)
            return true;
    return false;
}

static void look_for_missing(const struct check_context *context, struct check_out *out, const struct mounted *mounted)
{
    autofree char *data = NULL;
    size_t len;
    struct lines lines;
    struct word line;
    struct mount wanted;
    if (check_read(context, "/etc/fstab", FILE_BYTES_MAX, &data, &len) != 0)
        return; /* images without one mount by other means */
    lines_start(&lines, data, len);
    while (lines_next(&lines, &line))
        if (fstab_parse(line, &wanted) && !wanted.is_optional && !is_mounted(mounted, wanted.place))
            check_found(out, "node.mount.missing", wanted.place, 1, "%s (%s, %s) is in /etc/fstab and is not mounted",
                        wanted.place, wanted.source, wanted.type);
}

/* --- does it answer ------------------------------------------------------------------------------------------ */

/* The process that an earlier run left hanging at this mount: a line "pid ticks place". */
static bool hangs_still(const struct check_context *context, struct probe *probe)
{
    struct lines lines;
    struct word line, words[2];
    lines_start(&lines, context->memory, context->memory_len);
    while (lines_next(&lines, &line)) {
        int64_t pid, ticks;
        size_t place = strlen(probe->mount->place);
        if (lines_words(line, words, 2) < 3 || !word_i64(words[0], &pid) || !word_i64(words[1], &ticks) ||
            line.len <= place || line.at[line.len - place - 1] != ' ' ||
            memcmp(line.at + line.len - place, probe->mount->place, place) != 0)
            continue;
        probe->pid = (pid_t)pid;
        probe->ticks = (uint64_t)ticks;
        return child_alive(probe->pid, probe->ticks);
    }
    return false;
}

static void begin(const struct check_context *context, struct probe *probe)
{
    probe->old = hangs_still(context, probe);
    if (probe->old)
        return;
    autofree char *path = check_path(context, probe->mount->place);
    probe->pid = fork();
    if (probe->pid == 0) {
        struct statvfs fs;
        (void)statvfs(path, &fs);
        _exit(0);
    }
    probe->over = probe->pid < 0 || child_start_time(probe->pid, &probe->ticks) != 0;
}

/* There is nobody left to wait for. */
static bool all_over(struct probe *probes, size_t count)
{
    bool over = true;
    for (size_t i = 0; i < count; i++) {
        struct probe *probe = &probes[i];
        if (probe->old)
            continue;
        if (!probe->over) {
            (void)waitpid(probe->pid, NULL, WNOHANG);
            probe->over = !child_alive(probe->pid, probe->ticks);
        }
        over &= probe->over;
    }
    return over;
}

static void tell_hanging(struct check_out *out, const struct probe *probes, size_t count, int64_t answer_ms)
{
    AUTO(text) struct text memory = {0};
    for (size_t i = 0; i < count; i++) {
        const struct probe *probe = &probes[i];
        if (probe->over)
            continue;
        check_found(out, "node.mount.hung", probe->mount->place, 1, "%s (%s, %s) did not answer within %" PRId64 " s",
                    probe->mount->place, probe->mount->source, probe->mount->type, answer_ms / MS_PER_S);
        text_printf(&memory, "%d %" PRIu64 " %s\n", (int)probe->pid, probe->ticks, probe->mount->place);
    }
    check_remember(out, text_get(&memory), memory.len);
}

static void look_for_hanging(const struct check_context *context, struct check_out *out, const struct mounted *mounted)
{
    struct probe probes[REMOTE_MAX];
    size_t count = 0;
    for (size_t i = 0; i < mounted->count && count < REMOTE_MAX; i++)
        if (mount_is_remote(&mounted->mounts[i]))
            probes[count++] = (struct probe){.mount = &mounted->mounts[i]};
    for (size_t i = 0; i < count; i++)
        begin(context, &probes[i]);
    /* 10 s, unless the settings say otherwise: judgement, a busy file server answers within seconds. */
    int64_t answer_ms = agent_settings_limit(context->settings, AGENT_LIMIT_MOUNTS_ANSWER);
    int64_t until = clock_mono_ms(clock_system()) + answer_ms;
    while (!all_over(probes, count) && clock_mono_ms(clock_system()) < until)
        (void)poll(NULL, 0, LOOK_MS);
    tell_hanging(out, probes, count, answer_ms);
}

static void run(const struct check_context *context, struct check_out *out)
{
    autofree char *data = NULL;
    size_t len;
    struct mounted mounted = {.count = 0};
    if (check_read(context, "/proc/self/mountinfo", FILE_BYTES_MAX, &data, &len) != 0) {
        check_unknown(out, "/proc/self/mountinfo cannot be read");
        return;
    }
    read_mounted(&mounted, data, len);
    if (mounted.count == 0) { /* there is a root, always */
        check_unknown(out, "/proc/self/mountinfo names no mount");
        free(mounted.mounts);
        return;
    }
    look_for_missing(context, out, &mounted);
    look_for_hanging(context, out, &mounted);
    free(mounted.mounts);
}

const struct check check_mounts = {.name = "mounts",
                                   .about = "what /etc/fstab wants mounted is, and remote file systems answer",
                                   CHECK_TIMES(mounts),
                                   .run = run};
