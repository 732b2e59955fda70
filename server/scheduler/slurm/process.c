/*
 * A slurmctld that does not answer has ended over what it read, or is busy: with its state, with names that it resolves, with a machine
 * that is. Only its process tells the two apart.
 *
 * It is the one that its PidFile names; without such a file, as under systemd, one called slurmctld that has this slurm.conf.
 */
#include "server/scheduler/slurm/process.h"

#include "base/own.h"
#include "base/text.h"

#include <string.h>

#define DEFAULT_CONF "/etc/slurm/slurm.conf"
#define LOOK_MS 5000

/* $1: slurm.conf; $2: the default one, which a slurmctld has that says no other. */
static const char script[] =
    "file=$(sed -n 's/^[[:space:]]*[Ss]lurmctld[Pp]id[Ff]ile[[:space:]]*=[[:space:]]*\\([^#[:space:]]*\\).*/\\1/p' "
    "\"$1\" "
    "2>/dev/null | tail -n 1); file=${file:-/var/run/slurmctld.pid}; named=; pid=; conf=$1 default=$2; "
    "if [ -s \"$file\" ]; then read -r pid _ <\"$file\"; named=yes; set -- \"/proc/$pid\"; else set -- /proc/[0-9]*; "
    "fi; "
    "for p; do read -r name 2>/dev/null <\"$p/comm\" && [ \"$name\" = slurmctld ] || continue; "
    "! grep -q '^State:[[:space:]]*Z' \"$p/status\" 2>/dev/null || continue; "
    "if [ -z \"$named\" ]; then its=$(tr '\\0' '\\n' 2>/dev/null <\"$p/environ\" | sed -n 's/^SLURM_CONF=//p'); "
    "[ \"${its:-$default}\" = \"$conf\" ] || continue; fi; echo yes; exit 0; done";

const char *slurm_conf_there(const struct slurm_call *call)
{
    const char *conf = DEFAULT_CONF;
    for (char *const *entry = call->s->env; *entry != NULL; entry++)
        if (text_starts_with(*entry, "SLURM_CONF="))
            conf = *entry + strlen("SLURM_CONF=");
    return conf;
}

bool slurm_controller_runs(const struct slurm_call *call)
{
    char error[SCHEDULER_ERROR_MAX] = "";
    autofree char *out = NULL;
    struct slurm_call aside = slurm_call_aside(call, LOOK_MS, error);
    const char *const argv[] = {"sh", "-c", script, "sh", slurm_conf_there(call), DEFAULT_CONF, NULL};
    return slurm_run(&aside, argv, &out) == 0 && out[0] != '\0';
}
