/*
 * scontrol reboot ASAP nextstate=RESUME. Our cordon, which is FAIL, outlives it: tried on 22.05, the node comes back as IDLE+FAIL. Slurm
 * writes what it does behind the reason (" : reboot issued"), which parse.c takes off where the reason is ours.
 *
 * Slurm takes the request also where it can do nothing by it: without a RebootProgram, and for a slurmd that does not answer. So both are
 * looked at first.
 */
#include "server/scheduler/slurm/reboot.h"

#include "base/own.h"
#include "base/status.h"
#include "base/text.h"
#include "server/scheduler/slurm/command.h"
#include "server/scheduler/slurm/nodes.h"
#include "server/scheduler/slurm/parse.h"

#include <string.h>

#define PROGRAM_KEY "RebootProgram"

/* "RebootProgram           = /usr/sbin/reboot"; "(null)" where there is none. */
static bool has_program(char *config)
{
    char *rest = config;
    for (char *line; (line = slurm_next_line(&rest)) != NULL;) {
        if (!text_starts_with(line, PROGRAM_KEY))
            continue;
        const char *value = line + strlen(PROGRAM_KEY);
        value += strspn(value, " =");
        return value[0] != '\0' && !text_starts_with(value, "(null)");
    }
    return false;
}

/* What a look that was too slow has done is nothing. */
static int looked(int status)
{
    return status == STATUS_TIMEOUT ? STATUS_UNAVAILABLE : status;
}

int slurm_reboot(struct scheduler *s, const char *name, char *ret_error)
{
    struct slurm_call call;
    struct slurm_node node;
    autofree char *config = NULL, *out = NULL;
    slurm_call_start(&call, s, ret_error);
    int status = slurm_run(&call, (const char *[]){s->scontrol, "show", "config", NULL}, &config);
    if (status != 0)
        return looked(status);
    if (!has_program(config))
        return slurm_call_fail(&call, STATUS_UNSUPPORTED, "slurm.conf has no RebootProgram");
    status = slurm_look(&call, name, &node);
    if (status != 0)
        return looked(status);
    if (!node.seen.responding)
        return slurm_call_fail(&call, STATUS_UNAVAILABLE, "slurmd on %s does not answer (%s)", name, node.seen.state);
    status = slurm_run(&call, (const char *[]){s->scontrol, "reboot", "ASAP", "nextstate=RESUME", name, NULL}, &out);
    /* A connection that broke may have broken after the command was run. */
    return status == STATUS_UNAVAILABLE || status == STATUS_IO ? STATUS_TIMEOUT : status;
}
