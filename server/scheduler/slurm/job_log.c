/*
 * A job's output is a file of its user, whose path the user chose. hpd only says where it is and reads it nowhere: an agent runs as root on the
 * node, and a path such as /etc/shadow would be read with its rights.
 */
#include "server/scheduler/slurm/job_log.h"

#include "base/own.h"
#include "base/status.h"
#include "base/text.h"
#include "server/scheduler/slurm/command.h"
#include "server/scheduler/slurm/rest.h"
#include "server/scheduler/slurm/rest_read.h"

#include <ctype.h>
#include <string.h>

/* "82", "82_3", "82+1": nothing that a path or an option could be made of. */
static bool is_job(const char *id)
{
    for (const char *c = id; *c != '\0'; c++)
        if (!isdigit((unsigned char)*c) && *c != '_' && *c != '+')
            return false;
    return isdigit((unsigned char)id[0]);
}

static void take(char *dst, size_t size, const char *value, size_t len)
{
    if (len < size)
        text_copy_clean(dst, size, value, len);
}

/* Of the first job that is printed. A job's name stands before its files and may hold anything, so the last line counts. */
int slurm_parse_job_log(const char *text, struct job_log *ret_log)
{
    static const char host[] = "   BatchHost=", out[] = "   StdOut=";
    for (const char *line = text; *line != '\0' && *line != '\n';) {
        size_t len = strcspn(line, "\n");
        if (text_starts_with(line, host))
            take(ret_log->node, sizeof(ret_log->node), line + strlen(host), len - strlen(host));
        if (text_starts_with(line, out))
            take(ret_log->path, sizeof(ret_log->path), line + strlen(out), len - strlen(out));
        line += len + (line[len] == '\n');
    }
    return ret_log->path[0] == '/' ? 0 : STATUS_NOT_FOUND;
}

static int by_program(struct slurm_call *call, const char *job, struct job_log *ret_log)
{
    autofree char *out = NULL;
    int status = slurm_run(call, (const char *[]){call->s->scontrol, "show", "job", job, NULL}, &out);
    return status != 0 ? status : slurm_parse_job_log(out, ret_log);
}

static int by_rest(struct slurm_call *call, const char *job, struct job_log *ret_log)
{
    auto_json json_t *reply = NULL;
    autofree char *path = own_printf("job/%s", job);
    int status = slurm_rest_get(call, path, &reply);
    if (status != 0)
        return status;
    const json_t *seen = json_array_get(json_object_get(reply, "jobs"), 0);
    const char *file = slurm_json_text(seen, "standard_output"), *host = slurm_json_text(seen, "batch_host");
    take(ret_log->path, sizeof(ret_log->path), file, strlen(file));
    take(ret_log->node, sizeof(ret_log->node), host, strlen(host));
    return ret_log->path[0] == '/' ? 0 : STATUS_NOT_FOUND;
}

int slurm_job_log(struct scheduler *s, const struct job_log_ask *ask, struct job_log *ret_log, char *ret_error)
{
    struct slurm_call call;
    slurm_call_start(&call, s, ret_error);
    if (!is_job(ask->job))
        return slurm_call_fail(&call, STATUS_NOT_FOUND, "\"%.64s\" is no job of Slurm.", ask->job);
    ret_error[0] = '\0';
    bool plain = strpbrk(ask->job, "_+") == NULL; /* slurmrestd takes numbers alone */
    int status = s->rest != NULL && plain ? by_rest(&call, ask->job, ret_log) : by_program(&call, ask->job, ret_log);
    if (status == STATUS_NOT_FOUND && ret_error[0] == '\0')
        return slurm_call_fail(
            &call, status, "The job %.64s has no file for its output: it writes to the terminal of its srun or salloc.",
            ask->job);
    return status;
}
