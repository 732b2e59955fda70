/*
 * The SPANK plugin: srun's option --auto-resume. An srun that has it becomes hp-auto-resume (main.c), which runs the same srun
 * again as its child, as often as it takes. So nothing of ours stays inside of srun: what supervises a step is a program of its
 * own with the pid, the terminal and the standard streams that the user's srun had.
 *
 * The child finds RESUME_FD_VARIABLE in its environment: it says there which job and step it became, and goes on as any srun.
 *
 * A job that has such a step is to outlive its nodes: sbatch and salloc get --no-kill where what they are given names the option. Slurm
 * takes that only while a job is submitted (22.05, 24.11), and only from the environment at this point.
 *
 * On a node it says, to the user, which task of such a step ended badly there: only the node knows.
 *
 * In plugstack.conf:  optional holdfast_auto_resume.so helper=/PATH [conf=PATH] [append]
 * append: jobs that are requeued append to their output, unless sbatch is told otherwise.
 */
#include "agents/slurm/handover.h"
#include "agents/slurm/option.h"
#include "agents/slurm/submit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <slurm/spank.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ARGUMENTS_BYTES_MAX (4 * 1024 * 1024) /* of one srun: more than Linux passes on */

extern const char plugin_name[], plugin_type[];
extern const unsigned int plugin_version, spank_plugin_version;
SPANK_PLUGIN(holdfast_auto_resume, 1)

static struct resume_option wanted;
static char wanted_text[RESUME_PATH_MAX + 64];
static int report_fd = -1;

static int take_option(int val, const char *text, int remote)
{
    char error[RESUME_OPTION_ERROR_MAX];
    (void)val;
    (void)remote;
    if (text == NULL || strlen(text) >= sizeof(wanted_text) || !resume_option_parse(text, &wanted, error)) {
        slurm_error("--auto-resume: %s", text == NULL || strlen(text) >= sizeof(wanted_text) ? "no such value" : error);
        return -1;
    }
    snprintf(wanted_text, sizeof(wanted_text), "%s", text);
    return 0;
}

static struct spank_option option = {
    .name = (char[]){"auto-resume"},
    .arginfo = (char[]){"MODE"},
    .usage = (char[]){"run the step again in this job after its broken nodes were replaced: 0, 1; crash:N also after "
                      "N crashes without a fault; attempts:N; progress:PATH"},
    .has_arg = 1,
    .cb = take_option,
};

/* This process's own arguments as the kernel has them, each ending with a zero. */
static char *read_arguments(size_t *ret_len)
{
    char *bytes = malloc(ARGUMENTS_BYTES_MAX);
    size_t len = 0;
    int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    for (ssize_t got = 1; bytes != NULL && fd >= 0 && got > 0; len += (size_t)(got > 0 ? got : 0))
        got = read(fd, bytes + len, ARGUMENTS_BYTES_MAX - 1 - len);
    if (fd >= 0)
        close(fd);
    if (bytes != NULL)
        bytes[len] = '\0';
    *ret_len = len;
    return bytes;
}

/* What the user says in the environment, the script or on the command line stays. */
static const char *const no_kill[] = {"SBATCH_NO_KILL", "SALLOC_NO_KILL"};
static bool no_kill_is_ours[sizeof(no_kill) / sizeof(no_kill[0])];

static void outlive_nodes(void)
{
    size_t len = 0;
    char *words = read_arguments(&len);
    bool wants = words != NULL && resume_is_submitted(words, len);
    for (size_t i = 0; i < sizeof(no_kill) / sizeof(no_kill[0]) && wants; i++)
        if (getenv(no_kill[i]) == NULL)
            no_kill_is_ours[i] = setenv(no_kill[i], "set", 0) == 0;
    free(words);
}

/* It was read by now, and is not for what the job submits itself. */
static void forget_no_kill(void)
{
    for (size_t i = 0; i < sizeof(no_kill) / sizeof(no_kill[0]); i++)
        if (no_kill_is_ours[i])
            unsetenv(no_kill[i]);
}

int slurm_spank_init(spank_t spank, int argc, char *argv[])
{
    enum spank_context context = spank_context();
    for (int i = 0; i < argc && context == S_CTX_ALLOCATOR; i++)
        if (strcmp(argv[i], "append") == 0)
            setenv("SBATCH_OPEN_MODE", "append", 0);
    if (context == S_CTX_ALLOCATOR)
        outlive_nodes();
    return context == S_CTX_LOCAL ? (int)spank_option_register(spank, &option) : 0;
}

static const char *argument(int argc, char *argv[], const char *name, const char *otherwise)
{
    size_t len = strlen(name);
    for (int i = 0; i < argc; i++)
        if (strncmp(argv[i], name, len) == 0)
            return argv[i] + len;
    return otherwise;
}

/* Returns only when it cannot: then the step runs once, which is said. */
static void hand_over(const char *helper, const char *conf)
{
    static char self[4096];
    size_t len = 0, count = 0;
    ssize_t self_len = readlink("/proc/self/exe", self, sizeof(self) - 1);
    char *bytes = read_arguments(&len);
    for (size_t i = 0; i < len; i++)
        count += bytes[i] == '\0';
    const char **argv = calloc(count + RESUME_HANDOVER_ARGUMENTS + 1, sizeof(*argv));
    if (self_len > 0 && bytes != NULL && argv != NULL && count > 0) {
        size_t at = 0;
        argv[at++] = helper;
        argv[at++] = conf;
        argv[at++] = wanted_text;
        argv[at++] = self;
        for (const char *word = bytes; word < bytes + len; word += strlen(word) + 1)
            argv[at++] = word;
        execv(helper, (char *const *)(void *)argv);
    }
    slurm_error("--auto-resume: %s cannot be run (%s): the step runs once", helper, strerror(errno));
    free(argv);
    free(bytes);
}

int slurm_spank_init_post_opt(spank_t spank, int argc, char *argv[])
{
    (void)spank;
    if (spank_context() == S_CTX_ALLOCATOR)
        forget_no_kill();
    if (spank_context() != S_CTX_LOCAL)
        return 0;
    const char *told = getenv(RESUME_FD_VARIABLE);
    if (told != NULL) {
        report_fd = (int)strtol(told, NULL, 10);
        unsetenv(RESUME_FD_VARIABLE); /* an srun inside of the step is another one */
        if (report_fd <= STDERR_FILENO || fcntl(report_fd, F_SETFD, FD_CLOEXEC) != 0)
            report_fd = -1;
    } else if (wanted.on) {
        /* a name without its directory would be looked for where the user happens to be */
        const char *helper = argument(argc, argv, "helper=", "");
        if (helper[0] == '/')
            hand_over(helper, argument(argc, argv, "conf=", "/etc/holdfast/auto-resume.conf"));
        else
            slurm_error("--auto-resume: plugstack.conf says no helper=/PATH: the step runs once");
    }
    return 0;
}

int slurm_spank_local_user_init(spank_t spank, int argc, char *argv[])
{
    uint32_t job = 0, step = 0;
    (void)argc;
    (void)argv;
    if (report_fd < 0 || spank_get_item(spank, S_JOB_ID, &job) != ESPANK_SUCCESS ||
        spank_get_item(spank, S_JOB_STEPID, &step) != ESPANK_SUCCESS)
        return 0;
    dprintf(report_fd, "%u %u\n", job, step);
    close(report_fd);
    report_fd = -1;
    return 0;
}

/*
 * In slurmstepd: what is logged so goes to srun's standard error. Once on each node, as a step may have thousands of tasks; who was told
 * to end did not fail.
 */
int slurm_spank_task_exit(spank_t spank, int argc, char *argv[])
{
    static bool said;
    char attempt[32], node[256] = "";
    uint32_t job = 0, step = 0, task = 0;
    int status = 0;
    (void)argc;
    (void)argv;
    if (said || spank_getenv(spank, RESUME_ATTEMPT_VARIABLE, attempt, sizeof(attempt)) != ESPANK_SUCCESS ||
        spank_get_item(spank, S_TASK_EXIT_STATUS, &status) != ESPANK_SUCCESS || status == 0 ||
        (WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM) ||
        spank_get_item(spank, S_JOB_ID, &job) != ESPANK_SUCCESS ||
        spank_get_item(spank, S_JOB_STEPID, &step) != ESPANK_SUCCESS ||
        spank_get_item(spank, S_TASK_GLOBAL_ID, &task) != ESPANK_SUCCESS)
        return 0;
    if (spank_getenv(spank, "SLURMD_NODENAME", node, sizeof(node)) != ESPANK_SUCCESS || node[0] == '\0')
        return 0;
    said = true;
    slurm_spank_log("[Auto Resume] Error: JobID: %u StepID: %u TaskID: %u Task failed on node %s", job, step, task,
                    node);
    return 0;
}
