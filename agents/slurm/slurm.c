/*
 * Slurm's programs, as the user who runs the job. What Slurm refuses for now is tried again for a while: it refuses to change a job for as
 * long as something of the step before is still completing. What it refuses for good is known by its words.
 */
#include "agents/slurm/resume.h"

#include "base/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRY_PAUSE_MS MS_PER_S

int resume_tool(const struct resume *r, const char *const argv[], char **ret_out, char ret_said[RESUME_WORD_MAX])
{
    return r->world->run_tool(argv, ret_out, ret_said);
}

static bool has_one(const char *said, const char *const words[], size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strstr(said, words[i]) != NULL)
            return true;
    return false;
}

/* Without slurmdbd the index of a job that was changed never comes: slurmctld waits 5 s for it, or until its client's time is up. */
static bool is_final(const struct resume *r, const char *said)
{
    static const char *const final[] = {"Unspecified error", "not supported", "nvalid", "denied", "disabled"};
    static const char *const index[] = {"DB index", "Unexpected message", "timed out"};
    return has_one(said, final, ARRAY_LEN(final)) || (!r->site.has_database && has_one(said, index, ARRAY_LEN(index)));
}

static int insist(const struct resume *r, const char *const argv[], int64_t for_ms, char **ret_out, bool *told,
                  char ret_said[RESUME_WORD_MAX])
{
    int64_t end = clock_mono_ms(r->world->clock) + for_ms;
    int status = resume_tool(r, argv, ret_out, ret_said);
    while (status != 0 && !*told && !is_final(r, ret_said) && clock_mono_ms(r->world->clock) < end) {
        *told = r->world->told_within(TRY_PAUSE_MS);
        status = resume_tool(r, argv, ret_out, ret_said);
    }
    return status;
}

int resume_insist(const struct resume *r, const char *const argv[], int64_t for_ms, bool *told,
                  char ret_said[RESUME_WORD_MAX])
{
    return insist(r, argv, for_ms, NULL, told, ret_said);
}

bool resume_peek(const struct resume *r, struct resume_job *ret_job)
{
    char said[RESUME_WORD_MAX];
    autofree char *out = NULL;
    return resume_tool(r, (const char *[]){r->config.scontrol, "-o", "show", "job", r->api_id, NULL}, &out, said) ==
               0 &&
           resume_job_parse(out, ret_job) == 0;
}

/* With the details, which may be very long, and else without them. */
int resume_look(struct resume *r, bool *told)
{
    char said[RESUME_WORD_MAX];
    autofree char *out = NULL;
    int status =
        resume_tool(r, (const char *[]){r->config.scontrol, "-d", "-o", "show", "job", r->api_id, NULL}, &out, said);
    if (status != 0)
        status = insist(r, (const char *[]){r->config.scontrol, "-o", "show", "job", r->api_id, NULL}, RESUME_INSIST_MS,
                        &out, told, said);
    if (status != 0)
        resume_error(r, "Slurm does not show the job: %s", said);
    else if (resume_job_parse(out, &r->job) != 0) {
        resume_error(r, "what Slurm shows of the job cannot be read");
        status = STATUS_BACKEND;
    }
    return status;
}

/* Where it is not known whether Slurm has GRES, it may have: a merge that it cannot do leaves a job that nobody can end. */
void resume_look_at_site(struct resume *r, bool *told)
{
    char said[RESUME_WORD_MAX];
    autofree char *out = NULL;
    int status =
        insist(r, (const char *[]){r->config.scontrol, "show", "config", NULL}, RESUME_INSIST_MS, &out, told, said);
    if (status == 0)
        resume_site_parse(out, &r->site);
    else
        r->site = (struct resume_site){.has_gres = true};
}

bool resume_step_stays(const struct resume *r)
{
    char said[RESUME_WORD_MAX];
    autofree char *out = NULL, *step = own_printf("--steps=%s.%u", r->job_id, r->step_now);
    return r->begun &&
           resume_tool(r, (const char *[]){r->config.squeue, "-h", step, "-o", "%i", NULL}, &out, said) == 0 &&
           out[0] != '\0';
}

bool resume_others_run(const struct resume *r)
{
    char said[RESUME_WORD_MAX];
    autofree char *out = NULL;
    if (resume_tool(r, (const char *[]){r->config.squeue, "-h", "--steps", "-j", r->job_id, "-o", "%i", NULL}, &out,
                    said) != 0)
        return false;
    char *rest = out, *line;
    while ((line = strsep(&rest, "\n")) != NULL) {
        const char *step = strchr(line, '.');
        char *end;
        unsigned long number = step == NULL ? 0 : strtoul(step + 1, &end, 10);
        if (step != NULL && end != step + 1 && *end == '\0' && number != r->step_now)
            return true;
    }
    return false;
}
