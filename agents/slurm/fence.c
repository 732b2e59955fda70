/*
 * What is to be apart. A node that hpd calls broken may not be taken out of scheduling yet, and a job that begins anew, or waits for
 * another node, would be given it again. And two steps of one job that lost the same node would both replace it.
 *
 * The lock is a socket's name, without a file: it goes with the process, however that ends. It is one of this machine; the steps of a
 * batch script have that in common.
 */
#include "agents/slurm/resume.h"

#include "base/clock.h"
#include "base/status.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define FENCE_MS MS_PER_MIN
#define FENCE_PAUSE_MS MS_PER_S

static bool is_fenced(const char *line)
{
    static const char *const words[] = {"DRAIN", "DOWN", "FAIL", "NOT_RESPONDING", "REBOOT", "POWERED_DOWN"};
    const char *state = strstr(line, " State=");
    size_t len = state == NULL ? 0 : strcspn(state + 1, " \n") + 1;
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (state != NULL && memmem(state, len, words[i], strlen(words[i])) != NULL)
            return true;
    return false;
}

/* "a,b": those of them that Slurm would give to somebody; NULL: none, or what Slurm says is not known. */
static char *list_unfenced(const struct resume *r, const struct resume_names *broken)
{
    char said[RESUME_WORD_MAX];
    AUTO(text) struct text open = {0};
    for (size_t i = 0; i < broken->count; i++) {
        autofree char *line = NULL;
        if (resume_tool(r, (const char *[]){r->config.scontrol, "-o", "show", "node", broken->names[i], NULL}, &line,
                        said) == 0 &&
            !is_fenced(line))
            text_printf(&open, "%s%s", open.len > 0 ? "," : "", broken->names[i]);
    }
    return open.len > 0 ? own_strdup(text_get(&open)) : NULL;
}

char *resume_await_fence(struct resume *r, const struct resume_names *broken, bool *told)
{
    const struct clock *clock = r->world->clock;
    int64_t end = clock_mono_ms(clock) + FENCE_MS;
    char *open = list_unfenced(r, broken);
    while (open != NULL && !*told && clock_mono_ms(clock) < end) {
        free(open);
        *told = r->world->told_within(FENCE_PAUSE_MS);
        open = list_unfenced(r, broken);
    }
    if (open != NULL && !*told)
        resume_error(r, "Slurm still gives %s to jobs, though it is broken", open);
    return open;
}

int resume_lock(struct resume *r, bool *ret_waited, bool *told)
{
    const struct clock *clock = r->world->clock;
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int64_t end = clock_mono_ms(clock) + r->config.replacement_ms, tell_at = 0;
    int len = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "holdfast-auto-resume-%u-%s", (unsigned)getuid(),
                       r->job_id);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len);
    *ret_waited = false;
    while (fd >= 0 && bind(fd, (const struct sockaddr *)(const void *)&name, size) != 0) {
        if (errno != EADDRINUSE) { /* no waiting makes this one ours */
            close(fd);
            return -1;
        }
        int64_t now = clock_mono_ms(clock);
        if (now >= tell_at)
            resume_tell_waiting(r);
        tell_at = now >= tell_at ? now + r->config.poll_ms : tell_at;
        *ret_waited = true;
        *told = r->world->told_within(FENCE_PAUSE_MS);
        if (*told || now >= end) {
            close(fd);
            return -1;
        }
    }
    return fd;
}
