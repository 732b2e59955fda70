/*
 * One way through all that governance asks a backend for (server/scheduler/governance.h): what is claimed, which changes may still be
 * made, and what was refused. Each backend has it as its base and adds what it looked at.
 *
 * Its word that a change was taken is not enough: after the changes a backend looks once more (settled), and only what is seen then is
 * said to hold.
 */
#ifndef HOLDFAST_SERVER_SCHEDULER_GOVERNING_H
#define HOLDFAST_SERVER_SCHEDULER_GOVERNING_H

#include "server/scheduler/governance.h"

#include <stdbool.h>

/* A change that the backend did not take. */
struct governing_refusal {
    enum governance_object object;
    char name[NODE_NAME_MAX_BYTES];
    struct scheduler_answer answer;
};

struct governing {
    struct scheduler_governance *request;
    const char *backend; /* "Slurm", as people read it */
    bool *claimed;       /* of request->held: a rule of this pass wants it */
    bool settled;        /* all changes have been made: only looked at */
    int64_t stop_ms;     /* no more changes after that, on the monotonic clock */
    size_t changes;      /* that the backend took */
    struct governing_refusal *refusals;
    size_t refusal_count;
};

/* time_ms: of the whole call; half of it is for changes, the rest for looking again. */
void governing_begin(struct governing *g, struct scheduler_governance *request, const char *backend, int64_t time_ms);
void governing_end(struct governing *g);
/* Before each pass over the rules. */
void governing_begin_pass(struct governing *g);

const struct governance_held *governing_held(const struct governing *g, enum governance_object object,
                                             const char *name);
/* held, or wanted, by a rule of this pass. */
bool governing_is_taken(const struct governing *g, enum governance_object object, const char *name);
void governing_claim(struct governing *g, const struct governance_held *held);
/* Held, and no rule of this pass wants it. */
bool governing_is_left(const struct governing *g, const struct governance_held *held);
/* To be written down before it is touched. */
void governing_want(struct governing *g, const struct governance_held *wanted);

/* False, with an answer: all was looked at once more, and why it is not so; or there is no time now. */
bool governing_may_change(struct governing *g, enum governance_object object, const char *name,
                          struct scheduler_answer *answer);
void governing_refused(struct governing *g, enum governance_object object, const char *name,
                       const struct scheduler_answer *answer);

/* Of a change of it in this call; NULL: none was refused. */
const struct scheduler_answer *governing_refusal(const struct governing *g, enum governance_object object,
                                                 const char *name);

void scheduler_say(struct scheduler_answer *answer, enum scheduler_outcome outcome, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* What failed outweighs what is undecided, which no waiting makes whole; either outweighs what holds. */
void scheduler_join(struct scheduler_answer *into, const struct scheduler_answer *other);
/* The answers to parts that were not asked for are dropped. */
void scheduler_drop_unasked(struct scheduler_rule *rule);

#endif
