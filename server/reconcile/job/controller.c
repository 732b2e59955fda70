/*
 * One pass: a look at all jobs and pods, which costs little, a question to each launcher, the policy's word on each job, and what follows.
 * The record is stored first, naming the version that was looked at; where that has changed nothing is done, and the next pass looks again.
 * All that is done may be done twice, so a crash at any place is an ordinary start.
 *
 * What is remembered here is only when each launcher was last heard, and which rules it has.
 */
#include "server/reconcile/job/controller.h"

#include "base/hash.h"
#include "base/hmac.h"
#include "base/log.h"
#include "base/map.h"
#include "base/status.h"
#include "base/text.h"
#include "server/reconcile/job/launcher.h"
#include "server/reconcile/job/parallel.h"

#include <stdio.h>
#include <string.h>

#define RETRY_MS 2000 /* after something of a job failed */

/* What is remembered of a job between passes; all of it may be forgotten. */
struct memory {
    bool shown;       /* its status is as its record has it */
    uint64_t told;    /* the last trouble that people were told of, as a hash; 0: none */
    int64_t retry_at; /* pods that could not be made are tried again; monotonic */
    uint64_t pass;
};

struct heard {
    int64_t missed_since; /* the first of the looks in a row that it did not answer */
    int missed;           /* so many in a row; 0: it answered the last one */
    bool answered;        /* ever */
    uint64_t rules;       /* that it was told last, as a hash; 0: not known */
    uint64_t pass;
};

struct controller {
    char name[NAME_MAX_BYTES];
    struct scheduler_driver driver;
    const struct clock *clock;
    struct seal_key key;
    struct map *heard;    /* a pod's uid → struct heard */
    struct map *memories; /* a job's uid → struct memory */
    uint64_t pass;
    bool failing;
};

void controller_token(const struct seal_key *key, const char *job_uid, char ret_token[WORKLOAD_TOKEN_MAX])
{
    uint8_t mac[ID_SHA256_BYTES];
    autofree char *text = own_printf("launcher %s", job_uid);
    hmac_sha256(key->bytes, sizeof(key->bytes), text, strlen(text), mac);
    for (size_t i = 0; i < sizeof(mac); i++)
        snprintf(ret_token + 2 * i, 3, "%02x", mac[i]);
}

struct controller *controller_new(const char *name, const struct scheduler_driver *driver, const struct clock *clock,
                                  const struct seal_key *key)
{
    struct controller *controller = own_calloc(1, sizeof(*controller));
    text_copy_cut(controller->name, sizeof(controller->name), name);
    controller->driver = *driver;
    controller->clock = clock;
    controller->key = *key;
    controller->heard = map_new();
    controller->memories = map_new();
    return controller;
}

static void free_all(struct map *map)
{
    size_t cursor = 0;
    const char *uid;
    void *value;
    while (map_next(map, &cursor, &uid, &value))
        free(value);
    map_free(map);
}

void controller_free(struct controller *controller)
{
    if (controller == NULL)
        return;
    free_all(controller->heard);
    free_all(controller->memories);
    free(controller);
}

/* --- launchers ------------------------------------------------------------------------------------- */

struct turn_of_job {
    struct controller *controller;
    struct workload_job *job;
    struct job_plan *plan;
    char token[WORKLOAD_TOKEN_MAX];
    struct memory *memory;
    uint64_t rules; /* the job's, as a hash */
    _Atomic int failures;
    char trouble[SCHEDULER_ERROR_MAX]; /* of the first that failed */
    enum job_act failed;
};

static void look_at_launcher(size_t i, void *arg)
{
    struct turn_of_job *turn = arg;
    struct job_pod *seen = &turn->job->seen[i];
    if (seen->exists && seen->running && !seen->finished)
        launcher_look(turn->job->pods[i].address, turn->token, seen);
}

/* A launcher is silent from the first look on that it missed, and only after several: time in which nobody looked, as the API server was away
 * or another job's launchers took long, is nothing against it. */
#define MISSED_MIN 3

static void remember(struct controller *controller, const struct workload_pod *pod, struct job_pod *seen)
{
    int64_t now = clock_mono_ms(controller->clock);
    struct heard *heard = map_get(controller->heard, pod->uid);
    if (!seen->exists || !seen->running)
        return;
    if (heard == NULL) {
        heard = own_calloc(1, sizeof(*heard));
        map_set(controller->heard, pod->uid, heard);
    }
    heard->pass = controller->pass;
    if (seen->agent != JOB_AGENT_UNKNOWN) {
        heard->missed = 0;
        heard->answered = true;
    } else if (heard->missed++ == 0) {
        heard->missed_since = now;
    }
    seen->agent_heard = heard->answered;
    seen->agent_silent_ms = heard->missed >= MISSED_MIN ? now - heard->missed_since : 0;
}

/* The names are the map's own, so each is copied before it goes. */
static void forget(struct map *map, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        autofree char *name = own_strdup(names[i]);
        free(map_remove(map, name));
    }
}

static void forget_gone(struct controller *controller)
{
    size_t cursor = 0, count = 0;
    const char *uid;
    void *value;
    autofree const char **gone = own_calloc(map_count(controller->heard) + 1, sizeof(*gone));
    while (map_next(controller->heard, &cursor, &uid, &value))
        if (((struct heard *)value)->pass != controller->pass)
            gone[count++] = uid;
    forget(controller->heard, gone, count);
    autofree const char **jobs = own_calloc(map_count(controller->memories) + 1, sizeof(*jobs));
    for (cursor = count = 0; map_next(controller->memories, &cursor, &uid, &value);)
        if (((struct memory *)value)->pass != controller->pass)
            jobs[count++] = uid;
    forget(controller->memories, jobs, count);
}

/* --- acts ------------------------------------------------------------------------------------------ */

static int do_act(struct turn_of_job *turn, int pod, char *error)
{
    const struct workload_ops *ops = turn->controller->driver.ops->training;
    struct scheduler *self = turn->controller->driver.self;
    const struct workload_job *job = turn->job;
    enum job_act act = turn->plan->acts[pod];
    if (act == JOB_ACT_CREATE)
        return ops->create(self, job, pod, error);
    if (act == JOB_ACT_DELETE)
        return ops->remove(self, job, pod, error);
    int rank = job_rank_of(job->record, pod);
    auto_json json_t *body = act == JOB_ACT_START && rank >= 0 ? launcher_start_body(job, rank)
                             : act == JOB_ACT_STOP && turn->plan->graceful_ms > 0
                                 ? launcher_graceful_body(turn->plan->graceful_ms)
                                 : NULL;
    return launcher_order(job->pods[pod].address, turn->token, act, body, error);
}

static void act_on_pod(size_t i, void *arg)
{
    struct turn_of_job *turn = arg;
    char error[SCHEDULER_ERROR_MAX] = "";
    if (turn->plan->acts[i] == JOB_ACT_NONE)
        return;
    if (do_act(turn, (int)i, error) == 0) {
        struct heard *heard = map_get(turn->controller->heard, turn->job->pods[i].uid);
        if (turn->plan->acts[i] == JOB_ACT_START && heard != NULL)
            heard->rules = turn->rules;
        return;
    }
    if (turn->failures++ == 0) {
        turn->failed = turn->plan->acts[i];
        text_copy_cut(turn->trouble, sizeof(turn->trouble), error);
    }
}

static void tell(struct turn_of_job *turn)
{
    const struct workload_ops *ops = turn->controller->driver.ops->training;
    char error[SCHEDULER_ERROR_MAX];
    for (size_t i = 0; i < turn->plan->note_count; i++) {
        const struct job_note *note = &turn->plan->notes[i];
        log_info("training job job=%s/%s reason=%s: %s", turn->job->space, turn->job->name, note->reason,
                 note->message);
        if (ops->tell(turn->controller->driver.self, turn->job, note, error) != 0)
            log_warn("an event of a training job is not written job=%s/%s: %s", turn->job->space, turn->job->name,
                     error);
    }
}

static struct memory *memory_of(struct controller *controller, const struct workload_job *job)
{
    struct memory *memory = map_get(controller->memories, job->uid);
    if (memory == NULL) {
        memory = own_calloc(1, sizeof(*memory));
        map_set(controller->memories, job->uid, memory);
    }
    memory->pass = controller->pass;
    return memory;
}

/* The same trouble is told once, in the log and on the job. */
static void tell_trouble(struct turn_of_job *turn, const char *reason, const char *what)
{
    const struct workload_ops *ops = turn->controller->driver.ops->training;
    struct job_note note = {.warning = true};
    char error[SCHEDULER_ERROR_MAX];
    uint64_t hash = hash_text(hash_text(HASH_BASIS, reason), what);
    if (turn->memory->told == hash)
        return;
    turn->memory->told = hash;
    text_copy_cut(note.reason, sizeof(note.reason), reason);
    text_copy_cut(note.message, sizeof(note.message), what);
    log_warn("training job job=%s/%s reason=%s: %s", turn->job->space, turn->job->name, reason, what);
    (void)ops->tell(turn->controller->driver.self, turn->job, &note, error);
}

/* --- rules that change while it runs --------------------------------------------------------------- */

static uint64_t hash_rules(const json_t *rules)
{
    autofree char *text = rules == NULL ? NULL : json_dumps(rules, JSON_COMPACT | JSON_SORT_KEYS);
    return hash_text(HASH_BASIS, text != NULL ? text : "") | 1;
}

/* What /start said, or nobody knows after hpd's start: the same rules twice change nothing. */
static void update_pod(size_t i, void *arg)
{
    struct turn_of_job *turn = arg;
    const struct workload_job *job = turn->job;
    struct heard *heard = map_get(turn->controller->heard, job->pods[i].uid);
    char error[SCHEDULER_ERROR_MAX] = "";
    int rank = job_rank_of(job->record, (int)i);
    if (heard == NULL || heard->rules == turn->rules || rank < 0 || turn->plan->acts[i] != JOB_ACT_NONE ||
        job->seen[i].agent != JOB_AGENT_RUNNING)
        return;
    auto_json json_t *body = launcher_start_body(job, rank);
    if (job->rules == NULL)
        json_object_set_new(body, "log_monitoring_configuration", json_array());
    if (launcher_update(job->pods[i].address, turn->token, body, error) == 0)
        heard->rules = turn->rules;
    else if (turn->failures++ == 0)
        text_copy_cut(turn->trouble, sizeof(turn->trouble), error);
}

static void update_rules(struct turn_of_job *turn)
{
    int64_t now = clock_mono_ms(turn->controller->clock);
    if (turn->job->record->state != JOB_RUNNING || now < turn->memory->retry_at)
        return;
    parallel((size_t)job_pod_count(&turn->job->spec), update_pod, turn);
    if (turn->failures == 0)
        return;
    turn->memory->retry_at = now + RETRY_MS;
    tell_trouble(turn, "RulesNotChanged", turn->trouble);
}

static const char *trouble_of(enum job_act act)
{
    return act == JOB_ACT_CREATE ? "PodNotCreated" : act == JOB_ACT_DELETE ? "PodNotDeleted" : "LauncherRefused";
}

static bool wants(const struct job_plan *plan, int count, enum job_act act)
{
    for (int i = 0; i < count; i++)
        if (plan->acts[i] == act)
            return true;
    return false;
}

/* --- one job --------------------------------------------------------------------------------------- */

static void know_token(struct turn_of_job *turn)
{
    char digest[ID_SHA256_HEX_MAX];
    controller_token(&turn->controller->key, turn->job->uid, turn->token);
    id_sha256_hex(turn->token, strlen(turn->token), digest);
    text_copy_bytes(turn->job->key, sizeof(turn->job->key), digest, WORKLOAD_KEY_MAX - 4);
}

/* False: what was to be stored is not, and nothing was done. */
static bool store(struct turn_of_job *turn)
{
    char error[SCHEDULER_ERROR_MAX];
    struct controller *controller = turn->controller;
    if (!turn->plan->changed)
        return true;
    int status = controller->driver.ops->training->save(controller->driver.self, turn->job, error);
    if (status != 0 && status != STATUS_STALE)
        log_warn("a training job is not stored, it waits job=%s/%s: %s", turn->job->space, turn->job->name, error);
    turn->memory->shown = turn->memory->shown && status != 0;
    return status == 0;
}

/* After a record was stored, and once after hpd's start: it may have been killed in between. */
static void show(const struct turn_of_job *turn)
{
    char error[SCHEDULER_ERROR_MAX];
    const struct controller *controller = turn->controller;
    if (turn->memory->shown || turn->job->record->state == JOB_CREATED)
        return;
    int status = controller->driver.ops->training->show(controller->driver.self, turn->job, error);
    turn->memory->shown = status == 0;
    if (status != 0 && status != STATUS_STALE)
        log_warn("the status of a training job is not written, it is tried again job=%s/%s: %s", turn->job->space,
                 turn->job->name, error);
}

static void carry_out(struct turn_of_job *turn)
{
    const struct workload_ops *ops = turn->controller->driver.ops->training;
    struct scheduler *self = turn->controller->driver.self;
    const struct workload_job *job = turn->job;
    char error[SCHEDULER_ERROR_MAX];
    int count = job_pod_count(&job->spec);
    show(turn);
    tell(turn);
    if (turn->plan->expired) {
        if (ops->forget(self, job, error) != 0)
            log_warn("a training job is not deleted, it is tried again job=%s/%s: %s", job->space, job->name, error);
        return;
    }
    int64_t now = clock_mono_ms(turn->controller->clock);
    if (now < turn->memory->retry_at)
        return;
    if (wants(turn->plan, count, JOB_ACT_CREATE) && ops->grant(self, job, turn->token, error) != 0) {
        turn->memory->retry_at = now + RETRY_MS;
        tell_trouble(turn, "TokenNotWritten", error);
        return;
    }
    parallel((size_t)count, act_on_pod, turn);
    if (turn->failures == 0)
        return;
    turn->memory->retry_at = now + RETRY_MS;
    tell_trouble(turn, trouble_of(turn->failed), turn->trouble);
}

static bool one_job(struct controller *controller, const struct workload_jobs *jobs, struct workload_job *job)
{
    AUTO(job_plan) struct job_plan *plan = job_plan_new(&job->spec);
    struct turn_of_job turn = {
        .controller = controller, .job = job, .plan = plan, .memory = memory_of(controller, job)};
    int count = job_pod_count(&job->spec);
    if (job->refused[0] != '\0') {
        tell_trouble(&turn, "Refused", job->refused);
        return false;
    }
    know_token(&turn);
    turn.rules = hash_rules(job->rules);
    parallel((size_t)count, look_at_launcher, &turn);
    for (int i = 0; i < count; i++)
        remember(controller, &job->pods[i], &job->seen[i]);
    const struct job_seen seen = {
        .now = clock_wall_ms(controller->clock), .pods = job->seen, .node = jobs->node, .arg = jobs->nodes};
    job_next(&job->spec, &seen, job->record, plan);
    if (!store(&turn))
        return true;
    carry_out(&turn);
    update_rules(&turn);
    return job->record->state != JOB_RUNNING && job->record->state != JOB_SUSPENDED && !job_is_over(job->record->state);
}

bool controller_pass(struct controller *controller)
{
    struct workload_jobs jobs = {0};
    char error[SCHEDULER_ERROR_MAX] = "";
    bool busy = false;
    int status = controller->driver.ops->training->look(controller->driver.self, &jobs, error);
    if (status != 0 && !controller->failing)
        log_warn("training jobs are not seen, they wait scheduler=%s: %s", controller->name, error);
    if (status == 0 && controller->failing)
        log_info("training jobs are seen again scheduler=%s", controller->name);
    controller->failing = status != 0;
    if (status != 0)
        return false;
    controller->pass++;
    for (size_t i = 0; i < jobs.count; i++)
        busy = one_job(controller, &jobs, jobs.list[i]) || busy;
    forget_gone(controller);
    workload_jobs_free(&jobs);
    return busy;
}
