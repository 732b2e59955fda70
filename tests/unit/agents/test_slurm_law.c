/*
 * The law of hp-auto-resume, in random worlds: jobs on a Slurm that stands in for the real one and refuses what the real one was seen to
 * refuse. Whatever fails when a job is to change its nodes, the job is requeued where it allows that, soon and with one line that says so;
 * and no job of ours is left, ever, also where it is killed itself at any point.
 *
 * HOLDFAST_SEED=N runs one world and prints what was said.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agents/slurm/resume.h"
#include "base/status.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORLDS 1000
#define NODES 8
#define JOB_NODES 4
#define SOON_MS (4 * MS_PER_MIN) /* a minute for the fence, half a one for each thing that is tried again */
#define TERM_EXIT 137

enum fake_state { GONE, PENDING, RUNNING, MERGED, STUCK };

static struct world {
    uint64_t random;
    struct clock clock;
    /* what Slurm is like */
    bool gres_types, database, old, merges_never, shrinks_never, loses_answers, step_stays, begins_never;
    unsigned flaky; /* of 100 calls so many fail for now */
    bool grants;    /* nodes for the job that waits */
    /* the job */
    bool batch, requeueable, exclusive, array;
    unsigned nodes, broken, fenced; /* bits */
    enum fake_state state, helper;
    unsigned helper_nodes;
    bool index_lost, index_of_helper_lost, others_harmed, cancelled;
    char helper_name[128];
    int faults; /* that come yet */
    int steps;
    int64_t failed_at, requeued_at;
    unsigned kill_in;       /* so many calls of Slurm's programs later we are killed; 0: never */
    bool killed, guards_on; /* what we still do then changes nothing, but for the guard */
    void (*guard)(void *arg);
    void *guard_arg;
    char said[64 * 1024];
} w;

static unsigned chance(unsigned of)
{
    w.random = w.random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(w.random >> 33) % of;
}

static const char *job_id(void)
{
    return w.array ? "13_2" : "13";
}

static void list_nodes(unsigned nodes, char ret_list[256])
{
    size_t len = 0;
    ret_list[0] = '\0';
    for (unsigned i = 0; i < NODES; i++)
        if ((nodes & (1U << i)) != 0)
            len += (size_t)snprintf(ret_list + len, 256 - len, "%sn-%u", len > 0 ? "," : "", i);
}

static unsigned read_nodes(const char *list)
{
    unsigned nodes = 0;
    for (const char *at = list; (at = strstr(at, "n-")) != NULL; at += 2)
        nodes |= 1U << (unsigned)strtoul(at + 2, NULL, 10);
    return nodes;
}

static int count_nodes(unsigned nodes)
{
    return __builtin_popcount(nodes);
}

static int refuse(const char *why, char ret_said[RESUME_WORD_MAX])
{
    snprintf(ret_said, RESUME_WORD_MAX, "%s", why);
    return STATUS_BACKEND;
}

static int answer(char **ret_out, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int answer(char **ret_out, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    if (ret_out != NULL)
        *ret_out = own_vprintf(format, ap);
    va_end(ap);
    return 0;
}

/* --- scontrol ------------------------------------------------------------------------------------------------ */

static int show_config(char **ret_out)
{
    return answer(ret_out, "GresTypes = %s\nAccountingStorageType = accounting_storage/%s\nSLURM_VERSION = %s\n",
                  w.gres_types ? "gpu" : "(null)", w.database ? "slurmdbd" : "none", w.old ? "22.05.8" : "24.11.5");
}

static int show_job(char **ret_out)
{
    static const char *const states[] = {"COMPLETED", "PENDING", "RUNNING", "COMPLETED", "COMPLETING"};
    char nodes[256];
    list_nodes(w.state == RUNNING ? w.nodes : 0, nodes);
    return answer(ret_out,
                  "JobId=13 JobName=x UserId=ann(1000) JobState=%s Requeue=%d BatchFlag=%d Partition=dev NodeList=%s "
                  "BatchHost=n-0 NumNodes=%d NumCPUs=%d OverSubscribe=%s ",
                  states[w.state], w.requeueable, w.batch, nodes[0] != '\0' ? nodes : "(null)", count_nodes(w.nodes),
                  4 * count_nodes(w.nodes), w.exclusive ? "NO" : "OK");
}

static int show_node(const char *name, char **ret_out)
{
    return answer(ret_out, "NodeName=%s State=%s ", name, (w.fenced & read_nodes(name)) != 0 ? "IDLE+DRAIN" : "IDLE");
}

/* After a change Slurm 22.05 waits for an index that only a database gives. */
static int lose_index(bool *index, char said[RESUME_WORD_MAX])
{
    clock_fake_advance(&w.clock, 5 * MS_PER_S);
    *index = !w.database;
    return refuse(chance(2) == 0
                      ? "Job update not available right now, the DB index is being set, try again in a bit for job 13"
                      : "Unexpected message received for job 13",
                  said);
}

static int shrink(const char *list, char said[RESUME_WORD_MAX])
{
    if (w.index_lost)
        return lose_index(&w.index_lost, said);
    if (w.shrinks_never)
        return refuse("Update of this parameter is not supported: nodelist", said);
    w.nodes &= read_nodes(list);
    w.index_lost = w.old;
    return w.loses_answers ? refuse("Socket timed out on send/recv operation", said) : 0;
}

static int merge(char said[RESUME_WORD_MAX])
{
    if (w.helper != RUNNING)
        return refuse("Invalid job id specified", said);
    if (w.index_of_helper_lost)
        return lose_index(&w.index_of_helper_lost, said);
    if (w.gres_types && w.exclusive) {
        w.helper = STUCK;
        return refuse("Unspecified error for job 20", said);
    }
    if (w.merges_never)
        return refuse("Requested operation not supported on this system", said);
    w.nodes |= w.helper_nodes;
    w.helper = MERGED;
    w.index_lost = w.old;
    return w.loses_answers ? refuse("Socket timed out on send/recv operation", said) : 0;
}

static int update(const char *job, const char *what, char said[RESUME_WORD_MAX])
{
    const char *id = job + strlen("jobid=");
    if (strcmp(id, "20") == 0 && strcmp(what, "timelimit=5") == 0)
        return w.helper == PENDING || w.helper == RUNNING ? 0 : refuse("Invalid job id specified", said);
    if (strcmp(id, "20") == 0)
        return strcmp(what, "numnodes=0") == 0 ? merge(said) : refuse("Invalid", said);
    w.others_harmed = w.others_harmed || strcmp(id, job_id()) != 0;
    if (text_starts_with(what, "nodelist="))
        return w.state == RUNNING ? shrink(what, said) : refuse("Job/step already completing or completed", said);
    return w.state == PENDING ? 0 : refuse("Requested operation is presently disabled", said);
}

static int requeue(const char *id, char said[RESUME_WORD_MAX])
{
    w.others_harmed = w.others_harmed || strcmp(id, job_id()) != 0;
    if (w.state != RUNNING || !w.batch || !w.requeueable)
        return refuse("Requested operation is presently disabled", said);
    w.state = PENDING;
    w.requeued_at = clock_mono_ms(&w.clock);
    return 0;
}

static int run_scontrol(const char *const argv[], char **ret_out, char said[RESUME_WORD_MAX])
{
    size_t at = 1;
    while (argv[at][0] == '-')
        at++;
    if (strcmp(argv[at], "update") == 0)
        return update(argv[at + 1], argv[at + 2], said);
    if (strcmp(argv[at], "requeue") == 0)
        return requeue(argv[at + 1], said);
    if (strcmp(argv[at + 1], "config") == 0)
        return show_config(ret_out);
    return strcmp(argv[at + 1], "job") == 0 ? show_job(ret_out) : show_node(argv[at + 2], ret_out);
}

/* --- the other programs ---------------------------------------------------------------------------------------- */

static int run_squeue(const char *const argv[], char **ret_out)
{
    for (size_t i = 1; argv[i] != NULL; i++)
        if (text_starts_with(argv[i], "--steps"))
            return answer(ret_out, "%s", w.step_stays && argv[i][strlen("--steps")] == '=' ? "13.0\n" : "");
    return answer(ret_out, "%s", w.helper == PENDING || w.helper == RUNNING ? "20\n" : "");
}

static int run_scancel(const char *id, char said[RESUME_WORD_MAX])
{
    if (strcmp(id, "20") != 0)
        return 0; /* a step */
    if (w.helper != PENDING && w.helper != RUNNING)
        return refuse("Invalid job id specified", said);
    w.helper = GONE;
    return 0;
}

static bool is_dead(void)
{
    return w.killed && !w.guards_on;
}

static int run_slurm(const char *const argv[], char **ret_out, char said[RESUME_WORD_MAX])
{
    clock_fake_advance(&w.clock, 20);
    if (chance(100) < w.flaky)
        return refuse("Unable to contact slurm controller (connect failure)", said);
    if (chance(6) == 0)
        w.fenced = w.broken;
    if (strcmp(argv[0], "scontrol") == 0)
        return run_scontrol(argv, ret_out, said);
    return strcmp(argv[0], "squeue") == 0 ? run_squeue(argv, ret_out) : run_scancel(argv[1], said);
}

/* A process that is killed has done it, or has not. */
static int run_tool(const char *const argv[], char **ret_out, char said[RESUME_WORD_MAX])
{
    bool dies = !w.killed && w.kill_in > 0 && --w.kill_in == 0;
    if (is_dead() || (dies && chance(2) == 0)) {
        w.killed = true;
        return refuse("killed", said);
    }
    int status = run_slurm(argv, ret_out, said);
    w.killed = w.killed || dies;
    return status;
}

static int guard_begin(void (*then)(void *arg), void *arg, struct run_guard *ret_guard)
{
    *ret_guard = (struct run_guard){.fd = -1};
    w.guard = is_dead() ? NULL : then;
    w.guard_arg = arg;
    return 0;
}

static void guard_end(struct run_guard *guard)
{
    (void)guard;
    if (w.guard != NULL && w.killed) {
        w.guards_on = true;
        w.guard(w.guard_arg);
        w.guards_on = false;
    }
    w.guard = NULL;
}

/* Who was requeued is ended by Slurm, some seconds later. */
static bool told_within(int64_t in_ms)
{
    clock_fake_advance(&w.clock, in_ms);
    if (w.killed)
        return is_dead();
    return w.state != RUNNING && chance(3) == 0;
}

/* salloc, whose job waits, is given nodes, or is ended with its caller. */
static void run_salloc(char *const argv[], const struct run_watch *watch, struct run_ended *ended)
{
    int64_t granted_at = w.grants ? clock_mono_ms(&w.clock) + (int64_t)chance(600) * MS_PER_S : INT64_MAX;
    unsigned wanted = 0, free = ~(w.nodes | w.broken) & ((1U << NODES) - 1);
    for (size_t i = 1; argv[i] != NULL; i++) {
        if (text_starts_with(argv[i], "--nodes="))
            wanted = (unsigned)strtoul(argv[i] + strlen("--nodes="), NULL, 10);
        w.others_harmed = w.others_harmed || (text_starts_with(argv[i], "--dependency=") &&
                                              strcmp(argv[i], "--dependency=expand:13") != 0);
    }
    ended->exit_code = 1;
    if (chance(100) < w.flaky)
        return;
    w.helper = PENDING;
    while (w.helper == PENDING && !w.killed) {
        clock_fake_advance(&w.clock, watch->interval_ms);
        if (chance(400) == 0)
            w.state = GONE, w.cancelled = true;
        ended->told = w.cancelled && chance(2) == 0;
        ended->stopped = !watch->on_tick(watch->arg);
        if (ended->told || ended->stopped)
            break;
        if (clock_mono_ms(&w.clock) >= granted_at && (unsigned)count_nodes(free) >= wanted) {
            for (w.helper_nodes = 0; (unsigned)count_nodes(w.helper_nodes) < wanted; free &= free - 1)
                w.helper_nodes |= free & -free;
            w.helper = RUNNING;
        }
        if (chance(3000) == 0) /* it is killed, and its job stays */
            return;
    }
    if (w.killed) /* it is sent SIGTERM, at which it ends its job, unless that has just got its nodes */
        w.helper = chance(2) == 0 ? GONE : RUNNING;
    else if (w.helper == RUNNING)
        ended->exit_code = 0;
    else if (chance(4) != 0)
        w.helper = GONE;
}

static void break_a_node(void)
{
    unsigned node;
    do
        node = chance(NODES);
    while ((w.nodes & (1U << node)) == 0);
    w.broken |= 1U << node;
    if (chance(4) == 0) { /* Slurm notices, and takes it out of the job */
        w.nodes &= ~w.broken;
        w.index_lost = w.old;
    }
    w.failed_at = clock_mono_ms(&w.clock);
}

static int run_child_here(char *const argv[], int kept_fd, bool quiet, const struct run_watch *watch,
                          struct run_ended *ret_ended)
{
    struct run_ended ended = {0};
    char begun[32];
    (void)quiet;
    *ret_ended = ended;
    if (is_dead()) {
        ret_ended->told = true;
        return 0;
    }
    if (strcmp(argv[0], "salloc") == 0) {
        w.helper = GONE;
        run_salloc(argv, watch, ret_ended);
        return 0;
    }
    if (w.begins_never && w.steps > 0) {
        w.failed_at = clock_mono_ms(&w.clock);
        do
            clock_fake_advance(&w.clock, watch->interval_ms);
        while (watch->on_tick(watch->arg));
        *ret_ended = (struct run_ended){.exit_code = TERM_EXIT, .stopped = true};
        return 0;
    }
    assert_true(write(kept_fd, begun, (size_t)snprintf(begun, sizeof(begun), "13 %d\n", w.steps++)) > 0);
    clock_fake_advance(&w.clock, MS_PER_MIN);
    (void)watch->on_tick(watch->arg);
    if (w.faults-- > 0) {
        break_a_node();
        ret_ended->exit_code = TERM_EXIT;
    }
    return 0;
}

static int ask(struct resume *r, const struct resume_report *report, struct resume_reply *ret_reply,
               char ret_error[HTTP_ERROR_MAX])
{
    char list[256];
    (void)r;
    clock_fake_advance(&w.clock, 20);
    snprintf(ret_error, HTTP_ERROR_MAX, "no answer");
    if (is_dead() || chance(100) < w.flaky)
        return STATUS_UNAVAILABLE;
    struct resume_reply reply = {.action = RESUME_ACTION_NONE};
    if (strcmp(report->state, "failed") == 0 && chance(4) == 0)
        reply.action = RESUME_ACTION_WAIT;
    else if (strcmp(report->state, "failed") == 0 && (w.broken & w.nodes) != 0) {
        reply.action = RESUME_ACTION_RETRYSTEP;
        list_nodes(w.broken & w.nodes, list);
        assert_int_equal(resume_names_expand(list, &reply.broken), 0);
    }
    *ret_reply = reply;
    return 0;
}

static void say(const char *line)
{
    size_t len = strlen(w.said);
    if (is_dead())
        return;
    snprintf(w.said + len, sizeof(w.said) - len, "%s", line);
}

/* --- the worlds -------------------------------------------------------------------------------------------------- */

static bool often(unsigned percent)
{
    return chance(100) < percent;
}

static void make_world(uint64_t seed)
{
    w = (struct world){.random = seed * UINT64_C(0x9E3779B97F4A7C15) + 1};
    clock_fake_init(&w.clock, MS_PER_DAY);
    w.gres_types = often(30);
    w.database = often(50);
    w.old = often(60);
    w.merges_never = often(10);
    w.shrinks_never = often(10);
    w.loses_answers = often(15);
    w.step_stays = often(20);
    w.begins_never = often(8);
    w.flaky = often(50) ? chance(30) : 0;
    w.grants = often(85);
    w.batch = often(90);
    w.requeueable = often(85);
    w.exclusive = often(60);
    w.array = often(30);
    w.nodes = (1U << JOB_NODES) - 1;
    w.state = RUNNING;
    w.faults = 1 + (int)chance(4);
    w.kill_in = often(30) ? 1 + chance(60) : 0;
}

static int count_lines(const char *with)
{
    int count = 0;
    for (const char *at = w.said; (at = strstr(at, with)) != NULL; at++)
        count++;
    return count;
}

static void broke(uint64_t seed, const char *law)
{
    fail_msg("world %" PRIu64 ": %s\n%s", seed, law, w.said);
}

static void hold_to_the_law(uint64_t seed, const struct run_ended *ended)
{
    bool may = w.batch && w.requeueable && !w.cancelled;
    if (w.helper == PENDING || w.helper == RUNNING || w.helper == STUCK)
        broke(seed, "a job that waits for nodes is left");
    if (w.others_harmed)
        broke(seed, "another task of the array was taken for this one");
    if (w.killed)
        return; /* the step ends with it, as any srun that is killed */
    if (ended->exit_code == 0 && w.state == RUNNING)
        return; /* it was run again until it was well */
    if (may && w.state != PENDING)
        broke(seed, "the job is lost");
    if (w.state == PENDING && count_lines(": the job is requeued") != 1)
        broke(seed, "one line says that it is requeued");
    if (w.state != PENDING && count_lines("The step is not run again: ") != 1)
        broke(seed, "one line says why the step ends");
    if (w.state == PENDING && w.grants && w.requeued_at - w.failed_at > SOON_MS + 10 * MS_PER_MIN)
        broke(seed, "the requeue came late");
    if (w.state == PENDING && count_lines("Job failed - replacing nodes") == 0 && w.requeued_at - w.failed_at > SOON_MS)
        broke(seed, "the requeue came late, though nothing was waited for");
}

static void live(uint64_t seed)
{
    static struct resume r;
    struct run_ended ended;
    char *const argv[] = {(char[]){"srun"}, NULL};
    const struct resume_world world = {.clock = &w.clock,
                                       .run_tool = run_tool,
                                       .run_child = run_child_here,
                                       .told_within = told_within,
                                       .guard_begin = guard_begin,
                                       .guard_end = guard_end,
                                       .ask = ask,
                                       .say = say};
    make_world(seed);
    r = (struct resume){.world = &world, .option.on = true, .nodes_wanted = JOB_NODES, .cpus_per_node = 4};
    r.config = (struct resume_config){.poll_ms = 5000,
                                      .diagnosis_ms = 10 * MS_PER_MIN,
                                      .replacement_ms = 30 * MS_PER_MIN,
                                      .progress_ms = 1000,
                                      .stop_ms = 30000,
                                      .attempts_max = 100};
    snprintf(r.config.scontrol, sizeof(r.config.scontrol), "scontrol");
    snprintf(r.config.salloc, sizeof(r.config.salloc), "salloc");
    snprintf(r.config.scancel, sizeof(r.config.scancel), "scancel");
    snprintf(r.config.squeue, sizeof(r.config.squeue), "squeue");
    snprintf(r.job_id, sizeof(r.job_id), "13");
    snprintf(r.api_id, sizeof(r.api_id), "%s", job_id());
    snprintf(r.own_node, sizeof(r.own_node), "n-%u", chance(JOB_NODES));
    bool told = false;
    unsigned flaky = w.flaky, kill_in = w.kill_in;
    w.flaky = w.kill_in = 0;
    assert_int_equal(resume_look(&r, &told), 0);
    w.flaky = flaky;
    w.kill_in = kill_in;
    resume_live_on(&r, argv, &ended);
    free(r.nodes);
    hold_to_the_law(seed, &ended);
}

static void test_the_law(void **state)
{
    (void)state;
    const char *one = getenv("HOLDFAST_SEED");
    if (one != NULL) {
        live(strtoull(one, NULL, 10));
        print_message("%s", w.said);
        return;
    }
    for (uint64_t seed = 1; seed <= WORLDS; seed++)
        live(seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_the_law)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
