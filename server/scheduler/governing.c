/* What the passes of all backends have in common (see governing.h). */
#include "server/scheduler/governing.h"

#include "base/clock.h"
#include "base/own.h"
#include "base/text.h"

#include <string.h>

#define CHANGE_TIME_PERCENT 50

void governing_begin(struct governing *g, struct scheduler_governance *request, const char *backend, int64_t time_ms)
{
    *g = (struct governing){.request = request,
                            .backend = backend,
                            .claimed = own_calloc(request->held_count + 1, sizeof(*g->claimed)),
                            .stop_ms = clock_mono_ms(clock_system()) + time_ms * CHANGE_TIME_PERCENT / 100};
    free(request->gone);
    request->gone = own_calloc(request->held_count + 1, sizeof(*request->gone));
    request->more = false;
    request->stuck[0] = '\0';
}

/* What nobody wants any more has no rule that could say it. */
static void say_stuck(struct governing *g)
{
    for (size_t i = 0; i < g->refusal_count; i++) {
        const struct governing_refusal *refusal = &g->refusals[i];
        const struct governance_held *held = governing_held(g, refusal->object, refusal->name);
        if (refusal->answer.outcome != SCHEDULER_OUTCOME_FAILED || held == NULL || !governing_is_left(g, held))
            continue;
        text_copy_cut(g->request->stuck, sizeof(g->request->stuck), refusal->answer.why);
        return;
    }
}

void governing_end(struct governing *g)
{
    say_stuck(g);
    free(g->claimed);
    free(g->refusals);
}

void governing_begin_pass(struct governing *g)
{
    memset(g->claimed, 0, (g->request->held_count + 1) * sizeof(*g->claimed));
    g->request->wanted_count = 0;
}

/* --- holding ------------------------------------------------------------------------------------------------------ */

static const struct governance_held *find(const struct governance_held *list, size_t count,
                                          enum governance_object object, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (list[i].object == object && strcmp(list[i].name, name) == 0)
            return &list[i];
    return NULL;
}

const struct governance_held *governing_held(const struct governing *g, enum governance_object object, const char *name)
{
    return find(g->request->held, g->request->held_count, object, name);
}

bool governing_is_taken(const struct governing *g, enum governance_object object, const char *name)
{
    const struct governance_held *held = governing_held(g, object, name);
    return held != NULL ? g->claimed[held - g->request->held]
                        : find(g->request->wanted, g->request->wanted_count, object, name) != NULL;
}

void governing_claim(struct governing *g, const struct governance_held *held)
{
    g->claimed[held - g->request->held] = true;
}

bool governing_is_left(const struct governing *g, const struct governance_held *held)
{
    return !g->claimed[held - g->request->held];
}

void governing_want(struct governing *g, const struct governance_held *wanted)
{
    struct scheduler_governance *request = g->request;
    request->wanted = own_realloc(request->wanted, request->wanted_count + 1, sizeof(*request->wanted));
    request->wanted[request->wanted_count++] = *wanted;
}

/* --- changing ----------------------------------------------------------------------------------------------------- */

const struct scheduler_answer *governing_refusal(const struct governing *g, enum governance_object object,
                                                 const char *name)
{
    for (size_t i = 0; i < g->refusal_count; i++)
        if (g->refusals[i].object == object && strcmp(g->refusals[i].name, name) == 0)
            return &g->refusals[i].answer;
    return NULL;
}

static void say_settled(const struct governing *g, enum governance_object object, const char *name,
                        struct scheduler_answer *answer)
{
    const struct scheduler_answer *refusal = governing_refusal(g, object, name);
    if (refusal != NULL) {
        *answer = *refusal;
        return;
    }
    scheduler_say(answer, SCHEDULER_OUTCOME_FAILED, "%s took the change of its %s %s and does not show it", g->backend,
                  governance_object_text(object), name);
}

bool governing_may_change(struct governing *g, enum governance_object object, const char *name,
                          struct scheduler_answer *answer)
{
    if (g->settled) {
        say_settled(g, object, name, answer);
        return false;
    }
    if (clock_mono_ms(clock_system()) < g->stop_ms)
        return true;
    g->request->more = true;
    scheduler_say(answer, SCHEDULER_OUTCOME_LATER, "other changes in %s go first", g->backend);
    return false;
}

void governing_refused(struct governing *g, enum governance_object object, const char *name,
                       const struct scheduler_answer *answer)
{
    g->refusals = own_realloc(g->refusals, g->refusal_count + 1, sizeof(*g->refusals));
    struct governing_refusal *refusal = &g->refusals[g->refusal_count++];
    *refusal = (struct governing_refusal){.object = object, .answer = *answer};
    text_copy_cut(refusal->name, sizeof(refusal->name), name);
}

/* --- answers ------------------------------------------------------------------------------------------------------ */

void scheduler_say(struct scheduler_answer *answer, enum scheduler_outcome outcome, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    autofree char *why = own_vprintf(fmt, ap);
    va_end(ap);
    answer->outcome = outcome;
    text_copy_cut(answer->why, sizeof(answer->why), why);
}

void scheduler_join(struct scheduler_answer *into, const struct scheduler_answer *other)
{
    static const int weight[] = {[SCHEDULER_OUTCOME_UNASKED] = 0,
                                 [SCHEDULER_OUTCOME_HOLDS] = 1,
                                 [SCHEDULER_OUTCOME_LATER] = 2,
                                 [SCHEDULER_OUTCOME_FAILED] = 3};
    if (weight[other->outcome] > weight[into->outcome])
        *into = *other;
}

void scheduler_drop_unasked(struct scheduler_rule *rule)
{
    for (int part = 0; part < SCHEDULER_PART_COUNT; part++)
        if (!rule->asked[part])
            rule->answers[part].outcome = SCHEDULER_OUTCOME_UNASKED;
}
