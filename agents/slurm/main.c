/*
 * hp-auto-resume: what srun becomes when it is given --auto-resume. Not for people: the plugin (spank.c) starts it.
 *
 *     hp-auto-resume CONF OPTION SRUN ARGV0 ARGV…
 *
 * Whatever is wrong with our side, the user's step is run at least once, as without us; and its end is always srun's end: the same
 * exit code, the same signal.
 */
#include "agents/slurm/handover.h"
#include "agents/slurm/resume.h"

#include "base/child.h"
#include "base/status.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TOOL_MS (30 * MS_PER_S)
/* scontrol leaves two scripts for people, slurm_job_82_resize.sh, wherever it changes a job's size: here nobody can write. */
#define TOOL_DIRECTORY "/proc"

/* --- the machine ------------------------------------------------------------------------------------------ */

static int run_tool(const char *const argv[], char **ret_out, char ret_said[RESUME_WORD_MAX])
{
    struct child_result result;
    const struct child_options options = {
        .timeout_ms = TOOL_MS, .out_bytes_max = RESUME_JOB_BYTES_MAX, .directory = TOOL_DIRECTORY};
    int status = child_run(argv, &options, &result);
    snprintf(ret_said, RESUME_WORD_MAX, "%s: %s", argv[0], status_meaning(status));
    if (status != 0)
        return status;
    if (result.exit_code != 0 || result.out_cut) {
        size_t len = strcspn(result.err, "\n");
        text_copy_clean(ret_said, RESUME_WORD_MAX, result.err, len);
        status = STATUS_BACKEND;
    } else if (ret_out != NULL) {
        *ret_out = TAKE(result.out);
    }
    child_result_free(&result);
    return status;
}

static void say_line(const char *line)
{
    fputs(line, stderr);
}

/* --- the beginning -------------------------------------------------------------------------------------- */

static void run_once(char *argv[], const char *why)
{
    fprintf(stderr, "[Auto Resume] Error: %s: the step runs once\n", why);
    setenv(RESUME_FD_VARIABLE, "0", 1); /* it is not watched, and does not hand over again */
    execv(argv[0], argv);
    fprintf(stderr, "[Auto Resume] Error: %s: %s\n", argv[0], strerror(errno));
    _exit(127);
}

/* False, with a sentence, where there is nothing that could be resumed. */
static bool begin(struct resume *r, const char *conf, const char *option, char ret_why[2 * JSON_ERROR_MAX])
{
    char error[JSON_ERROR_MAX];
    bool told = false;
    const char *job = getenv("SLURM_JOB_ID"), *array = getenv("SLURM_ARRAY_JOB_ID");
    const char *index = getenv("SLURM_ARRAY_TASK_ID"), *restart = getenv("SLURM_RESTART_COUNT");
    const char *own_node = getenv("SLURMD_NODENAME");
    if (!resume_option_parse(option, &r->option, error)) {
        snprintf(ret_why, 2 * JSON_ERROR_MAX, "%s", error);
        return false;
    }
    if (resume_config_read(conf, &r->config, error) != 0) {
        snprintf(ret_why, 2 * JSON_ERROR_MAX, "%.200s: %s", conf, error);
        return false;
    }
    if (job == NULL || text_copy(r->job_id, sizeof(r->job_id), job) != 0 || getenv("SLURM_HET_SIZE") != NULL) {
        snprintf(ret_why, 2 * JSON_ERROR_MAX, "it takes an allocation of sbatch or salloc that is not heterogeneous");
        return false;
    }
    if (array != NULL && index != NULL)
        snprintf(r->api_id, sizeof(r->api_id), "%.20s_%.20s", array, index);
    else
        snprintf(r->api_id, sizeof(r->api_id), "%s", r->job_id);
    if (resume_look(r, &told) != 0 || r->job.node_count == 0) {
        snprintf(ret_why, 2 * JSON_ERROR_MAX, "what nodes job %s has is not known", r->job_id);
        return false;
    }
    if (own_node != NULL && text_copy(r->own_node, sizeof(r->own_node), own_node) != 0)
        r->own_node[0] = '\0';
    if (restart != NULL)
        (void)text_parse_i64(restart, 0, ATTEMPT_NUMBER_MAX, &r->restart); /* else the first start */
    r->nodes_wanted = r->job.node_count;
    r->cpus_per_node = r->job.cpus / r->job.node_count > 0 ? r->job.cpus / r->job.node_count : 1;
    return true;
}

static const struct resume_world *real_world(void)
{
    static struct resume_world world = {.run_tool = run_tool,
                                        .run_child = run_child,
                                        .told_within = run_told_within,
                                        .guard_begin = run_guard_begin,
                                        .guard_end = run_guard_end,
                                        .ask = resume_ask,
                                        .say = say_line};
    world.clock = clock_system();
    return &world;
}

int main(int argc, char *argv[])
{
    static struct resume r;
    struct run_ended ended;
    char why[2 * JSON_ERROR_MAX] = "";
    if (argc <= RESUME_HANDOVER_ARGUMENTS) {
        fputs("hp-auto-resume is run by srun --auto-resume=1, and by nobody else\n", stderr);
        return 2;
    }
    r.world = real_world();
    char **srun = argv + RESUME_HANDOVER_ARGUMENTS;
    srun[0] = argv[RESUME_HANDOVER_ARGUMENTS - 1];
    if (!begin(&r, argv[1], argv[2], why))
        run_once(srun, why);
    run_prepare();
    resume_live_on(&r, srun, &ended);
    run_end_like(&ended);
}
