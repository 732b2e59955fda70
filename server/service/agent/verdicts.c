/*
 * Verdicts: what agents saw, made durable before it is acknowledged. The one hot path that reaches the disk, so a report is
 * one allocation, one job for the writer, and no more rows than it has verdicts in the ordinary case.
 *
 * Whose boot it is from decides what becomes of it:
 *   current boot      open: it counts
 *   earlier           stored as stale: noted, never acted on
 *   not heard of yet  the agent is ahead of its own first heartbeat; it is asked to come again after that, because
 *                     to call fresh evidence stale would lose it. Evidence from before the current boot's last
 *                     heartbeat cannot be fresh, so that is stale at once.
 *
 * A verdict that says that something is over resolves what came before it of that fault. It is stored as resolved itself:
 * it is no evidence of anything.
 *
 * Times: an agent's clock that is off by more than CLOCK_TRUST_MS is corrected by what it said the time was when it sent,
 * in steps of CLOCK_STEP_MS, so that a repeat delivery gets the same times and changes nothing.
 *
 * The timeline gets a line for a new verdict of severity warn or critical, at most one per node and code within a minute:
 * a line that a kernel repeats for eight devices is one piece of news, and each event is one more row on the hot path.
 */
#include "server/service/agent/agent.h"
#include "server/service/private.h"

#include "base/text.h"
#include "model/fault_name.h"
#include "policy/policy.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define CLOCK_TRUST_MS (5 * MS_PER_S)
#define CLOCK_STEP_MS (10 * MS_PER_S)
#define WHAT_STALE "stale"

typedef void (*verdicts_done_fn)(int status, const struct problem *problem, void *arg);

struct job {
    struct service *s;
    int64_t node_id, received_us, now_ms;
    verdicts_done_fn done;
    void *arg;
    uint64_t announced; /* bits of verdicts whose turn in the timeline it is; kept when the write runs again */
    uint64_t news;      /* of those that are open and were added or grew, or took something back */
    uint64_t first;     /* of those that are open and were not known */
    bool told;          /* an event was added */
    size_t count;
    struct verdict verdicts[];
};
_Static_assert(VERDICTS_PER_POST_MAX <= 64, "announced and news have a bit for each");

/* --- checking -------------------------------------------------------------------------------------- */

static bool is_visible(const char *text)
{
    for (; *text != '\0'; text++)
        if (*text <= ' ' || *text > '~')
            return false;
    return true;
}

static int check(const struct verdict *verdict, size_t at, struct problem *problem)
{
    const char *bad = NULL;
    if (verdict->key[0] == '\0' || !is_visible(verdict->key))
        bad = "key must be 1 to 71 visible ASCII characters";
    else if (!agent_word_is_fine(verdict->source, sizeof(verdict->source)))
        bad = "source must be a word like kmsg";
    else if (!fault_name_is_code(verdict->code))
        bad = "code must be " FAULT_CODE_RULE;
    else if (!is_visible(verdict->table_version))
        bad = "tableVersion must be a word";
    else if ((unsigned)verdict->severity > SEVERITY_UNKNOWN)
        bad = "severity must be ok, warn, critical or unknown";
    else if (verdict->over && strcmp(verdict->source, "kmsg") == 0)
        bad = "the kernel log tells what happened, and nothing of that is ever over";
    else if (verdict->count < 1)
        bad = "count must be at least 1";
    else if (verdict->first_at < 0 || verdict->last_at < 0)
        bad = "times must be milliseconds since 1970";
    if (bad == NULL)
        return 0;
    return problem_say(problem, STATUS_INVALID, PROBLEM_INVALID_VALUE, "verdicts[%zu]: %s.", at, bad);
}

/* A line is evidence: kept, but it must not be able to play with a terminal. */
static void clean_line(char *line)
{
    for (; *line != '\0'; line++)
        if ((unsigned char)*line < ' ' || *line == 0x7f)
            *line = ' ';
}

/* --- times ----------------------------------------------------------------------------------------- */

/* What has to be added to the agent's times. */
static int64_t clock_correction(int64_t now_ms, int64_t sent_at)
{
    if (sent_at <= 0)
        return 0;
    int64_t off = now_ms - sent_at, half = CLOCK_STEP_MS / 2;
    if (off <= CLOCK_TRUST_MS && off >= -CLOCK_TRUST_MS)
        return 0;
    return (off + (off < 0 ? -half : half)) / CLOCK_STEP_MS * CLOCK_STEP_MS;
}

static int64_t corrected(int64_t at_ms, int64_t correction, int64_t now_ms)
{
    int64_t result;
    if (__builtin_add_overflow(at_ms, correction, &result) || result > now_ms)
        return now_ms;
    return result < 1 ? 1 : result;
}

int64_t service_agent_time(int64_t at_ms, int64_t sent_at, int64_t now_ms)
{
    return corrected(at_ms, clock_correction(now_ms, sent_at), now_ms);
}

/* --- whose boot ------------------------------------------------------------------------------------ */

/* 0 and the state, or UNAVAILABLE when it cannot be said yet. */
static int judge(struct service *s, const struct job *job, const struct verdict *verdict, int64_t raw_last_at,
                 enum verdict_state *ret_state)
{
    int64_t last_heartbeat_at;
    enum fleet_boot boot =
        fleet_boot_of(s->fleet, job->node_id, verdict->instance_id, verdict->boot_id, &last_heartbeat_at);
    *ret_state = boot == FLEET_BOOT_CURRENT ? VERDICT_STATE_OPEN : VERDICT_STATE_STALE;
    /* What claims to be from the future says nothing about the order of boots. */
    bool maybe_fresh = boot == FLEET_BOOT_UNHEARD && verdict->last_at > last_heartbeat_at && raw_last_at <= job->now_ms;
    return maybe_fresh ? STATUS_UNAVAILABLE : 0;
}

static int prepare(struct service *s, struct job *job, const struct verdict *verdicts, int64_t sent_at,
                   struct problem *problem)
{
    int64_t correction = clock_correction(job->now_ms, sent_at);
    for (size_t i = 0; i < job->count; i++) {
        struct verdict *verdict = &job->verdicts[i];
        int status = check(&verdicts[i], i, problem);
        if (status < 0)
            return status;
        *verdict = verdicts[i];
        fault_name_make_device(verdict->device); /* evidence counts, whatever an agent calls the device */
        int64_t raw_last_at;
        if (__builtin_add_overflow(verdict->last_at, correction, &raw_last_at))
            raw_last_at = INT64_MAX;
        verdict->id = 0;
        verdict->node_id = job->node_id;
        verdict->received_at = job->now_ms;
        verdict->last_at = corrected(verdict->last_at, correction, job->now_ms);
        verdict->first_at = corrected(verdict->first_at, correction, verdict->last_at);
        clean_line(verdict->raw_line);
        verdict->node_fault = false; /* that is not the agent's to say */
        verdict->node_fault = !fault_is_overridden(atomic_load(&s->fault_overrides), verdict->code) &&
                              policy_is_node_fault(NULL, verdict); /* else the loop knows, as it has the type */
        if (judge(s, job, verdict, raw_last_at, &verdict->state) < 0)
            return problem_say(problem, STATUS_UNAVAILABLE, PROBLEM_UNAVAILABLE,
                               "The boot %s was not announced yet. Send a heartbeat of it, then the verdicts again.",
                               verdict->boot_id);
        if (verdict->state == VERDICT_STATE_OPEN && verdict->over)
            verdict->state = VERDICT_STATE_RESOLVED;
    }
    return 0;
}

/* --- storing --------------------------------------------------------------------------------------- */

static int tell(struct db_tx *tx, const struct job *job, struct place *place, const struct verdict *verdict)
{
    bool stale = verdict->state == VERDICT_STATE_STALE;
    if (place->node.id == 0) {
        int status = place_find_row(tx, job->node_id, place);
        if (status < 0)
            return status;
    }
    enum event_level level = stale || verdict->over                   ? EVENT_LEVEL_INFO
                             : verdict->severity == SEVERITY_CRITICAL ? EVENT_LEVEL_ERROR
                                                                      : EVENT_LEVEL_WARN;
    const char *where = verdict->device[0] == '\0' ? place->node.name : verdict->device;
    return place_event(tx, place, NULL, level, stale ? EVENT_KIND_VERDICT_STALE : EVENT_KIND_VERDICT,
                       "%s %s (%s)%s%s%s", verdict->code, where,
                       verdict->over ? "over" : severity_text(verdict->severity),
                       stale ? " of an earlier instance or boot, noted only" : "",
                       verdict->raw_line[0] == '\0' ? "" : ": ", verdict->raw_line);
}

static bool is_added(enum db_verdict_change change)
{
    return change == DB_VERDICT_NEW || change == DB_VERDICT_AGAIN;
}

static bool is_news(const struct verdict *verdict, enum db_verdict_change change)
{
    if (!is_added(change))
        return false;
    return verdict->state == VERDICT_STATE_STALE || verdict->severity == SEVERITY_WARN ||
           verdict->severity == SEVERITY_CRITICAL;
}

#define WHAT_MAX_BYTES (CODE_MAX_BYTES + BOOT_ID_MAX_BYTES)

/* A new boot is a new story: what comes back after a repair is always told. */
static void name_announcement(const struct verdict *verdict, char ret_what[WHAT_MAX_BYTES])
{
    snprintf(ret_what, WHAT_MAX_BYTES, "%s %s", verdict->state == VERDICT_STATE_STALE ? WHAT_STALE : verdict->code,
             verdict->state == VERDICT_STATE_STALE ? "" : verdict->boot_id);
}

/* Decided once: a second run of the write must not find its own first announcement in the way. */
static bool is_announced(struct job *job, size_t at)
{
    uint64_t bit = UINT64_C(1) << at;
    char what[WHAT_MAX_BYTES];
    name_announcement(&job->verdicts[at], what);
    if ((job->announced & bit) == 0 && memory_announce(job->s->memory, job->node_id, what, job->now_ms))
        job->announced |= bit;
    return (job->announced & bit) != 0;
}

/* Nothing of it is in the timeline; when the agent sends it again, it is to be told. */
static void forget_announcements(const struct job *job)
{
    char what[WHAT_MAX_BYTES];
    for (size_t i = 0; i < job->count && job->announced >> i != 0; i++) {
        if ((job->announced >> i & 1) == 0)
            continue;
        name_announcement(&job->verdicts[i], what);
        memory_announce_not(job->s->memory, job->node_id, what);
    }
}

/* What is over was worth a line only if it was worth one when it began. */
static int take_back(struct db_tx *tx, struct job *job, size_t at, struct place *place)
{
    int64_t count = 0;
    int status = db_verdict_resolve_like(tx, &job->verdicts[at], &count);
    if (status < 0 || count == 0)
        return status;
    job->news |= UINT64_C(1) << at;
    job->told = true;
    return tell(tx, job, place, &job->verdicts[at]);
}

/* An agent judges by the tables. Where the site has a word of its own, that is stored and told, so that no list shows as
 * critical what the site says is nothing. */
static int judge_by_site(struct db_tx *tx, const struct job *job, struct place *place, struct verdict *verdict)
{
    const struct fault_overrides *overrides = atomic_load(&job->s->fault_overrides);
    struct fault_judgement judgement;
    if (verdict->over || !fault_is_overridden(overrides, verdict->code))
        return 0;
    int status = place->node.id == 0 ? place_find_row(tx, job->node_id, place) : 0;
    if (status < 0)
        return status;
    const struct fault_scope scope = {overrides, place->group.instance_type};
    fault_judge_in(&scope, verdict->source, verdict->code, verdict->raw_line, &judgement);
    if (judgement.by_site)
        verdict->severity = judgement.severity;
    return 0;
}

static int job_write(struct db_tx *tx, void *arg)
{
    struct job *job = arg;
    struct place place;
    place.node.id = 0;
    job->news = job->first = 0;
    job->told = false;
    for (size_t i = 0; i < job->count; i++) {
        struct verdict *verdict = &job->verdicts[i];
        enum db_verdict_change change;
        int status = judge_by_site(tx, job, &place, verdict);
        if (status == 0)
            status = db_verdict_put(tx, verdict, &change);
        if (status == 0 && is_news(verdict, change) && is_announced(job, i)) {
            status = tell(tx, job, &place, verdict);
            job->told = true;
        }
        if (status == 0 && is_added(change) && verdict->state == VERDICT_STATE_RESOLVED)
            status = take_back(tx, job, i, &place);
        if (status < 0)
            return status;
        if (change != DB_VERDICT_SAME && verdict->state == VERDICT_STATE_OPEN)
            job->news |= UINT64_C(1) << i;
        if (change == DB_VERDICT_NEW && verdict->state == VERDICT_STATE_OPEN)
            job->first |= UINT64_C(1) << i;
    }
    return 0;
}

static void job_done(int status, void *arg)
{
    autofree struct job *job = arg;
    struct service *s = job->s;
    struct problem problem;
    memory_verdicts_leave(s->memory, job->count);
    const struct service_stored stored = {job->node_id, job->received_us, job->verdicts, job->news, job->first};
    if (status == 0 && job->news != 0 && s->verdicts_stored != NULL)
        s->verdicts_stored(s->wake_arg, &stored);
    if (status == 0 && job->told)
        service_events_added(s);
    if (status < 0) {
        forget_announcements(job);
        problem_of_store(&problem, status);
    }
    job->done(status, status < 0 ? &problem : NULL, job->arg);
}

int service_agent_verdicts(struct service *s, int64_t node_id, const struct verdict *verdicts, size_t count,
                           int64_t sent_at, void (*done)(int status, const struct problem *problem, void *arg),
                           void *arg, struct problem *ret_problem)
{
    if (count < 1 || count > VERDICTS_PER_POST_MAX)
        return problem_say(ret_problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
                           "verdicts has %zu elements; a report has 1 to %d.", count, VERDICTS_PER_POST_MAX);
    int64_t received_us = service_mono_us(s);
    autofree struct job *job = malloc(sizeof(*job) + count * sizeof(*verdicts)); /* filled whole: no need of zeros */
    if (job == NULL)
        abort();
    *job = (struct job){.s = s,
                        .node_id = node_id,
                        .received_us = received_us,
                        .now_ms = service_now(s),
                        .done = done,
                        .arg = arg,
                        .count = count};
    int status = prepare(s, job, verdicts, sent_at, ret_problem);
    if (status < 0)
        return status;
    status = memory_verdicts_enter(s->memory, count) ? 0 : STATUS_FULL;
    if (status == 0) {
        status = db_write_async(s->db, "verdicts", job_write, job_done, job);
        if (status < 0)
            memory_verdicts_leave(s->memory, count);
    }
    if (status == STATUS_FULL)
        return problem_say(ret_problem, STATUS_UNAVAILABLE, PROBLEM_UNAVAILABLE,
                           "Too many verdicts wait for the disk. Keep them and try again later.");
    if (status < 0)
        return problem_of_store(ret_problem, status);
    (void)TAKE(job);
    return 0;
}
