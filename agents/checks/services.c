/*
 * Checks that the daemons of a cluster node run.
 *
 * Only expected daemons are checked: those that systemd starts at boot, and those that ran before without a systemd unit. A daemon
 * is reported when two runs in a row do not see it, because a restart is not an outage. Processes are identified by /proc/PID/comm,
 * which needs no bus, no rights and no systemd.
 */
#include "agents/checks/check.h"
#include "agents/checks/recall.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/own.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define COMM_BYTES_MAX 16 /* TASK_COMM_LEN */
#define PROCESSES_MAX 65536

static const struct service {
    const char *unit, *comm;
    enum agent_limit missed; /* whether it is, where it ought to run */
} services[] = {
    {"slurmd", "slurmd", AGENT_LIMIT_SERVICES_SLURMD},
    {"munge", "munged", AGENT_LIMIT_SERVICES_MUNGE},
    {"kubelet", "kubelet", AGENT_LIMIT_SERVICES_KUBELET},
    {"containerd", "containerd", AGENT_LIMIT_SERVICES_CONTAINERD},
    {"nvidia-fabricmanager", "nv-fabricmanage", AGENT_LIMIT_SERVICES_NVIDIA}, /* cut by the kernel */
    {"nvidia-persistenced", "nvidia-persiste", AGENT_LIMIT_SERVICES_NVIDIA},
    {"nvidia-dcgm", "nv-hostengine", AGENT_LIMIT_SERVICES_NVIDIA},
    {"chrony", "chronyd", AGENT_LIMIT_SERVICES_CHRONY},
    {"chronyd", "chronyd", AGENT_LIMIT_SERVICES_CHRONY}, /* by another name */
};

/* --- what ought to run --------------------------------------------------------------------------------------- */

static bool is_there(const struct check_context *context, const char *dir, const char *unit)
{
    autofree char *name = own_printf("%s/%s.service", dir, unit);
    autofree char *path = check_path(context, name);
    return file_exists(path);
}

/* A unit that is masked is a link to /dev/null. */
static bool is_masked(const struct check_context *context, const char *unit)
{
    autofree char *name = own_printf("/etc/systemd/system/%s.service", unit);
    autofree char *path = check_path(context, name);
    struct stat st;
    return stat(path, &st) == 0 && S_ISCHR(st.st_mode);
}

/* In a container systemd did not start the machine, so its units mean nothing. */
static bool is_enabled(const struct check_context *context, const char *unit)
{
    autofree char *booted = check_path(context, "/run/systemd/system"); /* sd_booted(3) */
    return file_exists(booted) && !is_masked(context, unit) &&
           is_there(context, "/etc/systemd/system/multi-user.target.wants", unit);
}

static bool has_unit(const struct check_context *context, const char *unit)
{
    return is_there(context, "/etc/systemd/system", unit) || is_there(context, "/lib/systemd/system", unit) ||
           is_there(context, "/usr/lib/systemd/system", unit);
}

/* --- what runs ----------------------------------------------------------------------------------------------- */

static void note_process(const struct check_context *context, const char *pid, bool running[ARRAY_LEN(services)])
{
    autofree char *name = own_printf("/proc/%s/comm", pid), *comm = NULL;
    size_t len;
    if (check_read(context, name, COMM_BYTES_MAX * 4, &comm, &len) != 0)
        return;
    comm[strcspn(comm, "\n")] = '\0';
    for (size_t i = 0; i < ARRAY_LEN(services); i++)
        running[i] |= strcmp(comm, services[i].comm) == 0;
}

static bool note_processes(const struct check_context *context, bool running[ARRAY_LEN(services)])
{
    autofree char *proc = check_path(context, "/proc");
    DIR *dir = opendir(proc);
    int seen = 0;
    if (dir == NULL)
        return false;
    for (struct dirent *entry; seen < PROCESSES_MAX && (entry = readdir(dir)) != NULL;) {
        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        seen++;
        note_process(context, entry->d_name, running);
    }
    closedir(dir);
    return seen > 0;
}

/* --- both ---------------------------------------------------------------------------------------------------- */

/* Remembered: "seen-NAME" once it ran, "down-NAME" while it does not. */
static bool look_at(const struct check_context *context, struct check_out *out, struct recall *recall,
                    const struct service *service, bool running)
{
    char seen[RECALL_KEY_MAX_BYTES], down[RECALL_KEY_MAX_BYTES];
    snprintf(seen, sizeof(seen), "seen-%s", service->unit);
    snprintf(down, sizeof(down), "down-%s", service->unit);
    bool enabled = is_enabled(context, service->unit);
    bool was_seen = recall_get(recall, seen, 0) > 0 && !has_unit(context, service->unit);
    if (running)
        recall_set(recall, seen, 1);
    bool expected = (enabled || was_seen) && agent_settings_limit(context->settings, service->missed) != 0;
    /* daemons wait for each other and for the network */
    bool settled = context->uptime_ms >= agent_settings_limit(context->settings, AGENT_LIMIT_SERVICES_GRACE);
    if (recall_lasts(recall, down, expected && !running, 1) && settled)
        check_found(out, "node.service.down", service->unit, 1, "%s does not run, and %s", service->comm,
                    enabled ? "systemd is to start it at boot" : "it did before");
    return expected || running;
}

static void run(const struct check_context *context, struct check_out *out)
{
    bool running[ARRAY_LEN(services)] = {false}, any = false;
    if (!note_processes(context, running)) {
        check_unknown(out, "/proc cannot be read");
        return;
    }
    AUTO(recall) struct recall *recall = recall_new(context->memory, context->memory_len, context->uptime_ms);
    for (size_t i = 0; i < ARRAY_LEN(services); i++)
        any |= look_at(context, out, recall, &services[i], running[i]);
    recall_keep(recall, out);
    if (!any)
        check_not_applicable(out, "none of the daemons that are known ought to run here");
}

const struct check check_services = {.name = "services",
                                     .about = "slurmd, munge, kubelet, NVIDIA's and other daemons that ought to run do",
                                     CHECK_TIMES(services),
                                     .run = run};
