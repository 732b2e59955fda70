/*
 * A run of the workers: begun, watched, ended. Only the first thing that goes wrong counts; what follows of it is only written to the log.
 */
#include "agents/launcher/launcher.h"

#include "agents/launcher/logs.h"
#include "agents/launcher/rule_read.h"
#include "agents/launcher/run.h"
#include "agents/launcher/socket.h"
#include "base/file.h"
#include "base/log.h"
#include "base/status.h"
#include "base/text.h"

#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RULES_FILE_LOOK_MS (2 * MS_PER_S)
#define RULES_FILE_BYTES_MAX (1 << 20)

static int64_t now_ms(void)
{
    return clock_mono_ms(clock_system());
}

int launcher_init(struct launcher *launcher, const struct options *options, char *const env[])
{
    *launcher = (struct launcher){.options = options, .env = env, .loop = {-1}, .assigned_rank = -1};
    launcher->heartbeats = own_calloc((size_t)options->ranks, sizeof(*launcher->heartbeats));
    launcher->moved_ms[AGENT_INIT] = clock_wall_ms(clock_system());
    if (loop_open(&launcher->loop) != 0)
        return STATUS_IO;
    console_init(&launcher->consoles[0], &launcher->loop, STDOUT_FILENO);
    console_init(&launcher->consoles[1], &launcher->loop, STDERR_FILENO);
    return logs_open(launcher);
}

static void free_workers(struct launcher *launcher)
{
    for (int i = 0; i < launcher->worker_count; i++)
        free(launcher->workers[i].error_file);
    free(TAKE(launcher->workers));
    launcher->worker_count = 0;
}

void launcher_free(struct launcher *launcher)
{
    free_workers(launcher);
    for (size_t i = 0; i < ARRAY_LEN(launcher->consoles); i++)
        console_close(&launcher->consoles[i], 2 * MS_PER_S);
    watch_free(launcher->watch);
    rule_list_free(&launcher->rules);
    logs_close(launcher);
    free(launcher->heartbeats);
    free(launcher->reason);
    free(launcher->message);
    free(launcher->fault_reason);
    free(launcher->fault_message);
    loop_close(&launcher->loop);
}

/* --- state -------------------------------------------------------------------------------------------- */

bool launcher_may_move(const struct launcher *launcher, enum agent_state to)
{
    return sm_may(&agent_states, (int)launcher->state, (int)to);
}

void launcher_move(struct launcher *launcher, enum agent_state to, const char *reason, const char *message)
{
    int state = (int)launcher->state;
    log_info("state from=%s to=%s%s%s", sm_text(&agent_states, state), sm_text(&agent_states, (int)to),
             reason == NULL ? "" : " reason=", text_or_empty(reason));
    sm_move(&agent_states, &state, (int)to);
    launcher->state = (enum agent_state)state;
    launcher->moved_ms[to] = clock_wall_ms(clock_system());
    char *kept_reason = own_strdup(reason), *kept_message = own_strdup(message);
    free(launcher->reason);
    free(launcher->message);
    launcher->reason = kept_reason;
    launcher->message = kept_message;
}

/* --- rules -------------------------------------------------------------------------------------------- */

/* As many copies as there are starts: the watch takes its list over. */
static struct rule_list copy_rules(const struct rule_list *list)
{
    struct rule_list copy = {own_calloc(list->count + 1, sizeof(struct rule)), list->count};
    for (size_t i = 0; i < list->count; i++) {
        copy.rules[i] = list->rules[i];
        copy.rules[i].name = own_strdup(list->rules[i].name);
        copy.rules[i].pattern = own_strdup(list->rules[i].pattern);
        copy.rules[i].stop_pattern = own_strdup(list->rules[i].stop_pattern);
    }
    return copy;
}

void launcher_set_rules(struct launcher *launcher, struct rule_list *rules)
{
    rule_list_free(&launcher->rules);
    launcher->rules = *rules;
    *rules = (struct rule_list){0};
    if (launcher->watch == NULL)
        return;
    struct rule_list copy = copy_rules(&launcher->rules);
    watch_set_rules(launcher->watch, &copy, now_ms());
}

static void begin_watch(struct launcher *launcher)
{
    bool wanted = launcher->options->backend == BACKEND_HYPERPOD || launcher->options->rules_file != NULL;
    watch_free(TAKE(launcher->watch));
    if (!wanted || launcher->stage != STAGE_TRAIN)
        return;
    launcher->watch = watch_new(launcher->options->ranks);
    struct rule_list copy = copy_rules(&launcher->rules);
    watch_set_rules(launcher->watch, &copy, now_ms());
}

static void look_at_findings(struct launcher *launcher)
{
    struct rule_finding finding;
    const char *off;
    if (launcher->watch == NULL)
        return;
    while (rules_next(watch_rules(launcher->watch), &finding)) {
        autofree char *reason = rules_reason(watch_rules(launcher->watch), &finding);
        autofree char *sentence = rules_sentence(watch_rules(launcher->watch), &finding);
        launcher_fault(launcher, reason, sentence);
    }
    while ((off = watch_next_switched_off(launcher->watch)) != NULL)
        log_warn("rule is off: its pattern costs too much on these lines rule=\"%s\"", off);
}

/* The file is read again when it changes. A bad one changes nothing. */
static void look_at_rules_file(struct launcher *launcher, int64_t now)
{
    const char *path = launcher->options->rules_file;
    struct stat info;
    char error[RULE_ERROR_MAX] = "cannot be read";
    struct rule_list rules;
    if (path == NULL || now < launcher->rules_file_checked_ms + RULES_FILE_LOOK_MS || stat(path, &info) != 0)
        return;
    int64_t stamp = info.st_mtim.tv_sec * MS_PER_S * 1000 + info.st_mtim.tv_nsec / 1000 + info.st_size;
    launcher->rules_file_checked_ms = now;
    if (stamp == launcher->rules_file_stamp)
        return;
    bool first = launcher->rules_file_stamp == 0;
    launcher->rules_file_stamp = stamp;
    autofree char *data = NULL;
    size_t len;
    if (file_read(path, RULES_FILE_BYTES_MAX, &data, &len) != 0 || rule_read_text(data, len, &rules, error) != 0) {
        log_error("rules are not changed: %s path=%s", error, path);
        return;
    }
    launcher_set_rules(launcher, &rules);
    if (!first)
        log_info("rules changed path=%s rules=%zu", path, launcher->rules.count);
}

/* --- a run -------------------------------------------------------------------------------------------- */

static void on_bytes(void *arg, int rank, int number, const char *bytes, size_t len)
{
    struct launcher *launcher = arg;
    if (launcher->watch == NULL || launcher->stopping)
        return;
    watch_feed(launcher->watch, rank, number, bytes, len, now_ms());
    look_at_findings(launcher);
}

static void on_stream_end(void *arg, int rank, int number)
{
    struct launcher *launcher = arg;
    if (launcher->watch == NULL || launcher->stopping)
        return;
    watch_end(launcher->watch, rank, number, now_ms());
    look_at_findings(launcher);
}

static void begin_stage(struct launcher *launcher, enum stage stage);

/* No worker is left. */
static void stage_over(struct launcher *launcher)
{
    launcher->kill_at_ms = 0;
    watch_free(TAKE(launcher->watch));
    if (launcher->stopping) {
        launcher->stopping = false;
        launcher->stage = STAGE_NONE;
        launcher->is_stopped = true;
    } else if (launcher->faulted) {
        launcher->stage = STAGE_NONE;
    } else if (launcher->stage == STAGE_PRE) {
        begin_stage(launcher, STAGE_TRAIN);
    } else if (launcher->stage == STAGE_TRAIN && launcher->options->post_script != NULL) {
        begin_stage(launcher, STAGE_POST);
    } else {
        launcher->stage = STAGE_NONE;
        launcher->has_succeeded = true;
    }
}

static char *how_it_ended(const struct launcher *launcher, const struct worker *worker)
{
    autofree char *error = logs_error(launcher, worker->rank);
    long rank = (long)launcher->place.rank * launcher->place.ranks + worker->rank;
    autofree char *end = worker->death != 0
                             ? own_printf("was ended by %s%s", strsignal(worker->death),
                                          worker->death == SIGKILL ? " (not ours: out of memory, or a person)" : "")
                             : own_printf("exited with code %d", worker->exit_code);
    return own_printf("Rank %ld (local rank %d, pid %d) %s%s%s", rank, worker->rank, (int)worker->pid, end,
                      error == NULL ? "." : ": ", text_or_empty(error));
}

static void end_others(struct launcher *launcher, int signal, int64_t timeout_ms)
{
    for (int i = 0; i < launcher->worker_count; i++)
        if (signal == SIGKILL)
            worker_kill(&launcher->workers[i]);
        else
            worker_signal(&launcher->workers[i], signal);
    int64_t at = now_ms() + timeout_ms;
    if (signal != SIGKILL && (launcher->kill_at_ms == 0 || at < launcher->kill_at_ms))
        launcher->kill_at_ms = at;
}

static void worker_failed(struct launcher *launcher, const struct worker *worker)
{
    autofree char *message = how_it_ended(launcher, worker);
    if (launcher->faulted) {
        log_info("another worker ended, too: %s", message);
        return;
    }
    end_others(launcher, launcher->options->shutdown_signal, launcher->options->shutdown_s * MS_PER_S);
    launcher_fault(launcher, launcher->stage == STAGE_TRAIN ? "WorkerCrash" : "WorkerFault", message);
}

static void on_worker_end(void *arg, struct worker *worker)
{
    struct launcher *launcher = arg;
    launcher->running--;
    if (worker->exit_code != 0 && !launcher->stopping)
        worker_failed(launcher, worker);
    if (launcher->running == 0)
        stage_over(launcher);
}

void launcher_fault(struct launcher *launcher, const char *reason, const char *message)
{
    if (launcher->faulted || launcher->stopping || launcher->stage == STAGE_NONE)
        return;
    launcher->faulted = true;
    free(launcher->fault_reason);
    free(launcher->fault_message);
    launcher->fault_reason = own_strdup(reason);
    launcher->fault_message = own_strdup(message);
    log_error("fault: %s reason=%s", message, reason);
    launcher_move(launcher, AGENT_FAULTED, reason, message);
    launcher->has_faulted = true;
}

/* What follows is begun here and not where it happened, which may be deep inside of what it would change. */
void launcher_tell(struct launcher *launcher)
{
    static const enum over order[] = {OVER_FAULT, OVER_SUCCESS, OVER_STOPPED};
    bool *const flags[] = {&launcher->has_faulted, &launcher->has_succeeded, &launcher->is_stopped};
    for (size_t i = 0; i < ARRAY_LEN(order); i++)
        if (*flags[i]) {
            *flags[i] = false;
            launcher->on_over(launcher, order[i]);
            i = (size_t)-1; /* that may have made others */
        }
}

static void begin_stage(struct launcher *launcher, enum stage stage)
{
    launcher->stage = stage;
    free_workers(launcher);
    begin_watch(launcher);
    launcher->worker_count = stage == STAGE_TRAIN ? launcher->options->ranks : 1;
    launcher->workers = own_calloc((size_t)launcher->worker_count, sizeof(*launcher->workers));
    launcher->running = 0;
    int rc = logs_begin(launcher, launcher->worker_count);
    for (int i = 0; i < launcher->worker_count && rc == 0; i++) {
        struct worker *worker = &launcher->workers[i];
        *worker = (struct worker){.rank = i, .end = {-1, NULL, NULL}, .on_end = on_worker_end, .arg = launcher};
        rc = run_worker(launcher, worker, on_bytes, on_stream_end);
        launcher->running += rc == 0 ? 1 : 0;
    }
    if (rc == 0)
        return;
    end_others(launcher, SIGKILL, 0);
    launcher_fault(launcher, "WorkerFault",
                   "The workers cannot be started: no process, descriptor or log file could be had.");
    if (launcher->running == 0)
        stage_over(launcher);
}

void launcher_begin(struct launcher *launcher, const struct place *place)
{
    launcher->place = *place;
    launcher->faulted = launcher->stopping = false;
    memset(launcher->heartbeats, 0, (size_t)launcher->options->ranks * sizeof(*launcher->heartbeats));
    log_info("start rank=%d nodes=%d workers=%d master=%s:%d restarts=%lld", place->rank, place->nodes, place->ranks,
             place->master_addr, place->master_port, (long long)place->restart_count);
    begin_stage(launcher, launcher->options->pre_script != NULL ? STAGE_PRE : STAGE_TRAIN);
}

void launcher_stop(struct launcher *launcher, int signal, int64_t timeout_ms)
{
    launcher->stopping = true;
    end_others(launcher, signal, timeout_ms);
    if (launcher->running > 0)
        return;
    launcher->stage = STAGE_NONE;
    stage_over(launcher);
}

/* --- time and signals --------------------------------------------------------------------------------- */

int64_t launcher_due_ms(const struct launcher *launcher)
{
    int64_t due = launcher->kill_at_ms != 0 ? launcher->kill_at_ms : INT64_MAX;
    if (launcher->options->rules_file != NULL && launcher->rules_file_checked_ms + RULES_FILE_LOOK_MS < due)
        due = launcher->rules_file_checked_ms + RULES_FILE_LOOK_MS;
    if (launcher->watch != NULL && !launcher->faulted && !launcher->stopping) {
        int64_t rules = rules_due_ms(watch_rules(launcher->watch));
        due = rules < due ? rules : due;
    }
    return due;
}

void launcher_tick(struct launcher *launcher, int64_t now)
{
    look_at_rules_file(launcher, now);
    if (launcher->watch != NULL && !launcher->faulted && !launcher->stopping) {
        rules_tick(watch_rules(launcher->watch), now);
        look_at_findings(launcher);
    }
    if (launcher->kill_at_ms == 0 || now < launcher->kill_at_ms)
        return;
    launcher->kill_at_ms = 0;
    log_warn("workers did not end in time and are killed workers=%d", launcher->running);
    for (int i = 0; i < launcher->worker_count; i++)
        worker_kill(&launcher->workers[i]);
}

/* Signals that ask for the end are handed on, and what does not follow is killed; all others are only handed on. */
void launcher_take_signal(struct launcher *launcher, int signal)
{
    bool ends = signal == SIGTERM || signal == SIGINT || signal == SIGHUP || signal == SIGQUIT;
    if (!ends) {
        for (int i = 0; i < launcher->worker_count; i++)
            worker_signal(&launcher->workers[i], signal);
        return;
    }
    log_info("signal signal=\"%s\"", strsignal(signal));
    bool again = launcher->ended_by != 0;
    launcher->ended_by = signal;
    if (again && signal == SIGINT) /* a person who means it */
        launcher_stop(launcher, SIGKILL, 0);
    else
        launcher_stop(launcher, signal, launcher->options->shutdown_s * MS_PER_S);
}
