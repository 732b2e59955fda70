/* The list of standing states is short, so it is searched linearly. */
#include "agents/node/standing.h"

#include "agents/node/message.h"
#include "base/clock.h"
#include "base/log.h"
#include "policy/faults/faults.h"

#include <stdio.h>
#include <string.h>

void standing_init(struct standing *standing, const char *instance_id, const char *boot_id)
{
    *standing = (struct standing){.states = NULL};
    text_copy_cut(standing->instance_id, sizeof(standing->instance_id), instance_id);
    text_copy_cut(standing->boot_id, sizeof(standing->boot_id), boot_id);
}

void standing_clear(struct standing *standing)
{
    free(TAKE(standing->states));
    standing->count = 0;
}

void standing_renew(struct standing *standing)
{
    for (size_t i = 0; i < standing->count; i++)
        standing->states[i].reported_at = -STANDING_REPEAT_MS;
}

static struct standing_state *find(struct standing *standing, const char *source, const char *code, const char *device)
{
    for (size_t i = 0; i < standing->count; i++) {
        const struct verdict *v = &standing->states[i].verdict;
        if (strcmp(v->source, source) == 0 && strcmp(v->code, code) == 0 && strcmp(v->device, device) == 0)
            return &standing->states[i];
    }
    return NULL;
}

static struct standing_state *add(struct standing *standing)
{
    if (standing->count == STANDING_MAX)
        return NULL;
    standing->states = own_realloc(standing->states, standing->count + 1, sizeof(*standing->states));
    struct standing_state *state = &standing->states[standing->count++];
    *state = (struct standing_state){.misses = 0};
    return state;
}

static void begin(const struct standing *standing, struct standing_state *state, const char *source,
                  const struct check_observation *observation, int64_t now_ms, int64_t wall_ms)
{
    struct finding finding = check_finding(source, observation, wall_ms);
    finding.place =
        (struct log_place){LOG_STANDING, now_ms}; /* unique in this boot, also after a step of the wall clock */
    state->began_at = now_ms;
    window_make_verdict(&finding, standing->instance_id, standing->boot_id, wall_ms, &state->verdict);
}

/* True when it is to be reported. */
static bool go_on(const struct standing *standing, struct standing_state *state, const char *source,
                  const struct check_observation *observation, int64_t now_ms, int64_t wall_ms)
{
    state->misses = 0;
    if (now_ms - state->began_at >= STANDING_WINDOW_MS) {
        begin(standing, state, source, observation, now_ms, wall_ms);
        return true;
    }
    state->verdict.count++;
    if (wall_ms > state->verdict.last_at)
        state->verdict.last_at = wall_ms;
    return now_ms - state->reported_at >= STANDING_REPEAT_MS;
}

static bool note(struct standing *standing, const char *source, const struct check_observation *observation,
                 int64_t now_ms, int64_t wall_ms)
{
    struct standing_state *state = find(standing, source, observation->code, observation->device);
    if (state != NULL && state->seen)
        return false; /* twice in one run */
    bool is_new = state == NULL;
    if (is_new && (state = add(standing)) == NULL) {
        log_error("too much is wrong at a time; not reported code=%s device=%s", observation->code,
                  observation->device);
        return false;
    }
    if (is_new)
        begin(standing, state, source, observation, now_ms, wall_ms);
    bool due = is_new || go_on(standing, state, source, observation, now_ms, wall_ms);
    state->seen = true;
    state->due = due;
    if (due)
        state->reported_at = now_ms;
    return due;
}

/* Made from the key of the state that ends. An agent that is killed before it stores the list reports the same end again. */
static void make_over_key(struct verdict *over, const struct verdict *begun)
{
    autofree char *text = own_printf("%s|over", begun->key);
    id_sha256_hex(text, strlen(text), over->key);
}

/* Its time is after all reports of the state. */
static void end(const struct standing_state *state, const char *why, int64_t now_ms, int64_t wall_ms,
                verdict_fn *on_verdict, void *arg)
{
    struct verdict over = state->verdict;
    over.over = true;
    over.severity = SEVERITY_OK;
    over.first_at = over.last_at = wall_ms > state->verdict.last_at ? wall_ms : state->verdict.last_at + 1;
    over.count = 1;
    char duration[CLOCK_TEXT_MAX];
    clock_format_duration(now_ms - state->began_at, duration);
    snprintf(over.raw_line, sizeof(over.raw_line), "over after %s%s", duration, why);
    make_over_key(&over, &state->verdict);
    on_verdict(&over, NULL, arg);
}

static bool end_missing(struct standing *standing, const char *source, int64_t now_ms, int64_t wall_ms,
                        verdict_fn *on_verdict, void *arg)
{
    size_t kept = 0;
    for (size_t i = 0; i < standing->count; i++) {
        struct standing_state *state = &standing->states[i];
        bool missing = !state->seen && strcmp(state->verdict.source, source) == 0;
        if (missing && ++state->misses >= STANDING_CLEAR_RUNS)
            end(state, "", now_ms, wall_ms, on_verdict, arg);
        else
            standing->states[kept++] = *state;
    }
    bool changed = kept != standing->count;
    standing->count = kept;
    return changed;
}

void standing_take(struct standing *standing, const char *source, const struct check_report *report, int64_t now_ms,
                   int64_t wall_ms, const struct standing_to *to)
{
    bool changed = false;
    for (size_t i = 0; i < standing->count; i++)
        standing->states[i].seen = standing->states[i].due = false;
    for (size_t i = 0; i < report->observation_count; i++)
        if (!report->observations[i].is_event)
            changed |= note(standing, source, &report->observations[i], now_ms, wall_ms);
    if (report->whole)
        changed |= end_missing(standing, source, now_ms, wall_ms, to->on_verdict, to->arg);
    if (changed)
        to->save(to->arg);
    for (size_t i = 0; i < standing->count; i++)
        if (standing->states[i].due)
            to->on_verdict(&standing->states[i].verdict, NULL, to->arg);
}

bool standing_end_others(struct standing *standing, standing_runs_fn *runs, int64_t now_ms, int64_t wall_ms,
                         verdict_fn *on_verdict, void *arg)
{
    size_t kept = 0, before = standing->count;
    for (size_t i = 0; i < before; i++) {
        struct standing_state *state = &standing->states[i];
        if (runs(state->verdict.source, arg))
            standing->states[kept++] = *state;
        else
            end(state, ": its check is not run any more", now_ms, wall_ms, on_verdict, arg);
    }
    standing->count = kept;
    return kept != before;
}

/* --- kept ---------------------------------------------------------------------------------------------------- */

void standing_write(const struct standing *standing, struct text *out)
{
    for (size_t i = 0; i < standing->count; i++) {
        const struct reach reach = {.began_at = standing->states[i].began_at};
        message_write_record(out, &standing->states[i].verdict, &reach);
        text_add_char(out, '\n');
    }
}

void standing_read(struct standing *standing, const char *data, size_t len, int64_t now_ms)
{
    for (const char *end = data + len; data < end;) {
        const char *feed = memchr(data, '\n', (size_t)(end - data));
        size_t line = (size_t)((feed != NULL ? feed : end) - data);
        struct verdict verdict;
        struct reach reach;
        if (message_read_record(data, line, &verdict, &reach) == 0 && strcmp(verdict.boot_id, standing->boot_id) == 0 &&
            strcmp(verdict.instance_id, standing->instance_id) == 0 &&
            find(standing, verdict.source, verdict.code, verdict.device) == NULL) {
            struct standing_state *state = add(standing);
            if (state == NULL)
                return;
            state->verdict = verdict;
            state->began_at = reach.began_at > 0 ? reach.began_at : now_ms; /* 0 in files of older versions */
            state->reported_at = now_ms - STANDING_REPEAT_MS;               /* it may not have been reported */
        }
        data += line + (feed != NULL);
    }
}
