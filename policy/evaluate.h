/*
 * Inside the policy: the pieces that the order of evaluation hands from one file to the next.
 *
 *   fold.c    a node's open verdicts → one incident per device
 *   image.c   the same lack on several machines of one image → they are held, with its name
 *   lasting.c weak findings that last, or that come together → a repair or a person
 *   ledger.c  past repairs → what may still be tried
 *   probation.c, recurring.c, lemon.c less tolerance after a return, and for hardware with a past
 *   escalate.c what an incident asks for, raised by the ledger
 *   jobs.c    what becomes of the jobs
 *   gates.c   whether the node may have it
 *   decide.c  incident, silence or request → a decision for the node, limits left out
 *   limits.c  breaker and what follows over all nodes of the group → some decisions become HOLD
 *   machine_capacity.c  whether a machine that is replaced would get a successor
 *   pace.c    the hours in which repairs may begin, and the time between two
 *   budget.c  how many may be in repair, and how many have to be healthy
 *   health.c  the same reading, shown as health
 *   explain.c a stored decision → sentences
 */
#ifndef HOLDFAST_POLICY_EVALUATE_H
#define HOLDFAST_POLICY_EVALUATE_H

#include "policy/faults/faults.h"
#include "policy/policy.h"

/* A HOLD is looked at again after this long even when nothing seems to change. */
#define POLICY_HOLD_RETRY_MS INT64_C(60000)
/* A watched code colours the node's health for a day. */
#define POLICY_WATCH_MEMORY_MS INT64_C(86400000)

/* How far back repairs are remembered: those older than the repeat window weigh less and less. */
#define POLICY_MEMORY_MS (30 * INT64_C(86400000))

/* --- say.c: text -------------------------------------------------------------------------------------------- */

/* printf that cuts between characters. */
void policy_say(char *dst, size_t size, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
#define POLICY_SPAN_MAX 32
/* "7 d", "90 s": the largest unit that divides it. */
const char *policy_span(int64_t ms, char buffer[POLICY_SPAN_MAX]);
#define POLICY_TIME_MAX 40
/* "2026-11-20 14:03:07 UTC". */
const char *policy_time(int64_t ms, char buffer[POLICY_TIME_MAX]);

/* Adds another sentence to the decision's. */
void policy_add(struct decision *decision, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void policy_gate(struct decision *decision, enum gate gate, enum gate_result result, const char *detail);
void policy_rule(struct decision *decision, enum action action, enum decision_rule rule);
void policy_refuse(struct decision *decision, enum action action, const char *why);

/* --- fold.c ------------------------------------------------------------------------------------------------- */

/* A verdict as the policy's own table reads it. */
struct finding {
    const struct verdict *verdict;
    const struct fault_row *row; /* NULL: in no table */
    enum action_class action, again;
    enum urgency urgency;
    enum severity severity;
    bool driver_word;
    bool undecided; /* NVIDIA leaves it to the driver's word, which has not come */
    bool of_fabric; /* … and several GPUs of the node said it at once */
    bool rate_exceeded;
    int bursts;           /* how often within the rate's window, when the row has one */
    int64_t lasted_ms;    /* how long it has lasted, when that made it ask for more; 0: it did not */
    bool from_boot;       /* … from the boot on */
    bool of_earlier_boot; /* of this machine: it is for a person, and no boot answers that */
    bool dropped;         /* superseded by the driver's word, or taken back by another code: shown, not weighed */
    bool ended;           /* another line said that it is over: it counts for its rate, and does not last */
    bool told;            /* what its device's incident says speaks of it */
};

/* What happened on one device, led by the finding that asks for most. */
struct incident {
    const char *device;
    struct finding lead;
    int64_t first_at, last_at;
    int64_t watched_at; /* when the device last showed anything that is at least watched */
    int64_t repair_at;  /* when the newest came of what asks for a repair; 0: nothing does */
    int64_t lines;      /* of all its evidence */
    int64_t due_at;     /* the earliest date that its provider names; 0: none */
    char company[64];   /* the codes beside the leading one: "xid.63, xid.94" */
    int64_t evidence[DECISION_EVIDENCE_MAX];
    int evidence_count;
};

struct folded {
    struct incident *incidents; /* by device; owned */
    size_t count;
    struct finding *findings; /* all that count, by device and time; owned */
    size_t finding_count;
    int64_t weak_permille; /* what the weak findings of the node weigh together (lasting.c) */
    int weak_codes;        /* of so many codes */
    char weak[128];        /* which */
    int64_t weak_at; /* when time alone will make one of them, or all together, ask for more, or ends one; 0: never */
    size_t stale_count;                     /* open verdicts of another boot or instance */
    const struct verdict *stale;            /* the newest of those */
    size_t cleared_by_reset_count;          /* open ones that a reset has answered */
    const struct verdict *cleared_by_reset; /* the newest of those */
};
void policy_fold(const struct policy_snapshot *snapshot, const struct policy_node *node, struct folded *ret_folded);
void policy_folded_free(struct folded *folded);
/* The codes that fall to a person when they come too often although each time the node was rebooted. */
bool policy_is_gsp_like(const struct fault_row *row);

/* --- lasting.c ----------------------------------------------------------------------------------------------- */

/* Findings that have lasted as long as their rows say ask for what these say. */
void policy_apply_lasting(const struct policy_snapshot *snapshot, const struct policy_node *node,
                          struct finding *findings, size_t count);
/* What is left of them, taken together. */
void policy_weigh_lasting(const struct policy_snapshot *snapshot, const struct finding *findings, size_t count,
                          struct folded *folded);
struct policy_outcome policy_after_weak_findings(const struct folded *folded);
/* Whether what was seen then was there as soon as drivers and services may be up. */
bool policy_is_from_boot(const struct policy_node *node, int64_t since);
struct candidate;
/* What has lasted on too many nodes to be theirs asks for no repair of each. */
void policy_share_lasting(const struct policy_snapshot *snapshot, struct candidate *candidates, size_t count);
/* What at least half of a group's nodes, and at least recovery.incidentNodes, began to show at once is reported as one case after a while, long
 * before it has lasted. */
void policy_tell_shared(const struct policy_snapshot *snapshot, struct candidate *candidates, size_t count);
/* A finding that many nodes show at once is theirs together, and of what only lasts no more than the breaker's limit go to a person. */
void policy_limit_lasting(const struct policy_snapshot *snapshot, struct candidate *candidates, size_t count);

/* --- image.c --------------------------------------------------------------------------------------------------- */

/* Holds the machines of an image that is at fault. *ret_image: it is what new machines of the group would have; NULL: none is. */
void policy_hold_image(const struct policy_snapshot *snapshot, struct candidate *candidates, size_t count,
                       const char **ret_image);

/* --- ledger.c ----------------------------------------------------------------------------------------------- */

struct ledger {
    int resets_weighed, reboots_weighed,
        replaces_weighed;                            /* those of POLICY_MEMORY_MS, each by its age, as so many of now */
    int64_t recurred;                                /* in permille: reboots after which the device came back */
    int known_resets, known_reboots, known_replaces; /* of POLICY_MEMORY_MS, so many in all */
    int resets;                                      /* attempts on this device within the window, wherever it was */
    const struct policy_repair *reset;               /* the newest of these; NULL: none */
    const char *no_reset;                            /* why none is possible; NULL: one is */
    int reboots;                                     /* attempts on this device of this instance within the window */
    int replaces;                                    /* attempts on the slot within the window, any instance */
    int gsp_reboots;
    int by_people, elsewhere;              /* shown, not counted: people's repairs; reboots of earlier instances */
    const struct policy_repair *reboot;    /* the newest after which the device came back; NULL: none */
    const struct policy_repair *no_return; /* the reboot the held machine has not come back from; NULL: none */
    const struct policy_repair *recurring; /* the replacement that took this very device away before; NULL: none */
    int64_t lemon;                         /* the machine's score where one matters, policy_lemon */
    const struct policy_node *node;        /* whose it is … */
    const char *device;                    /* … and for what */
};
/* What a provider planned says nothing of a machine, nor of its slot: a replacement for it counts only for what it plans again. */
void policy_ledger(const struct policy_snapshot *snapshot, const struct policy_node *node, const char *device,
                   struct ledger *ret_ledger);
void policy_ledger_planned(const struct policy_snapshot *snapshot, const struct policy_node *node, const char *device,
                           struct ledger *ret_ledger);
bool policy_is_planned(const struct policy_repair *repair);

/* --- escalate.c ------------------------------------------------------------------------------------------------ */

struct policy_outcome {
    enum action action;
    enum decision_rule rule;
    bool attempts_used;             /* the ledger allows no further repair of this kind */
    bool slot_used;                 /* … and none of the slot at all */
    enum action refused;            /* what was considered and not taken */
    char because[REASON_MAX_BYTES]; /* completes "…: " of the sentence */
    char refused_why[REASON_MAX_BYTES];
};

#define POLICY_ERROR_MAX 100 /* the sentence around it has to fit beside it */
/* " (join: nothing was heard)"; "" when nobody said why it failed. */
const char *policy_error(const struct policy_repair *repair, char buffer[POLICY_ERROR_MAX]);
/* Within the slot's limit; beyond it a person. */
struct policy_outcome policy_replace_or_person(const struct policy_snapshot *snapshot, const struct ledger *ledger,
                                               enum decision_rule rule, const char *because);
struct policy_outcome policy_person(enum decision_rule rule, const char *because, const char *refused_why);
struct policy_outcome policy_escalate(const struct policy_snapshot *snapshot, const struct finding *lead,
                                      const struct ledger *ledger);

/* --- probation.c, recurring.c, lemon.c -------------------------------------------------------------------------------- */

/* The repair whose probation this fails: one for the same class of fault, or for the same device; same_device: both, and by a
 * rate. Of several the one that did most, then the newest. NULL: none. */
const struct policy_repair *policy_failed_probation(const struct policy_snapshot *snapshot, const struct finding *lead,
                                                    const struct ledger *ledger, bool same_device);
struct policy_outcome policy_after_probation(const struct policy_snapshot *snapshot, const struct finding *lead,
                                             const struct ledger *ledger, const struct policy_repair *failed);
struct policy_outcome policy_after_recurring(const struct policy_snapshot *snapshot, const struct ledger *ledger);
/* Whether the machine's past weighs so much that no more reboots are tried on it; and what is done instead. */
bool policy_is_lemon(const struct policy_settings *settings, const struct ledger *ledger);
/* Where the site wants a person for it: then nothing is repaired or replaced any more. */
bool policy_is_lemon_for_person(const struct policy_settings *settings, const struct ledger *ledger);
struct policy_outcome policy_lemon_for_person(const struct policy_snapshot *snapshot, const struct ledger *ledger);
struct policy_outcome policy_after_lemon(const struct policy_snapshot *snapshot, const struct finding *lead,
                                         const struct ledger *ledger);
/* "the replacement of 2026-… (xid.79 on 0000:b9:00 of gpu-7)" */
const char *policy_text_repair(const struct policy_repair *repair, char *buffer, size_t size);
/* One device under two of its names. */
bool policy_same_device(const struct policy_node *node, const char *a, const char *b);

/* --- beside.c --- */

/* What is open beside what the decision speaks of; chosen: the incident that leads it, NULL: it is no incident's. */
void policy_tell_beside(const struct folded *folded, const struct incident *chosen, struct decision *decision);

/* --- jobs.c -------------------------------------------------------------------------------------------------- */

struct policy_jobs {
    enum urgency urgency;
    enum job_signal signal;
    int64_t wait_ms; /* 0: at once */
};
/* For a fault of this class whose row asks for that urgency. */
struct policy_jobs policy_jobs(const struct policy_settings *settings, enum fault_class fault, enum urgency urgency);
/* The same with a date of the provider; due_at 0: there is none. sound: nothing else asks for a repair, so the date may also give jobs longer. */
struct policy_jobs policy_jobs_until(const struct policy_settings *settings, struct policy_jobs jobs, int64_t due_at,
                                     bool sound, int64_t now_ms);
/* Of several faults the shortest wait counts. */
bool policy_jobs_are_shorter(const struct policy_jobs *a, const struct policy_jobs *b);
void policy_jobs_put(const struct policy_jobs *jobs, struct decision *decision);

/* --- gates.c ------------------------------------------------------------------------------------------------  */

struct candidate;
void policy_tell_fresh(const struct policy_node *node, const struct folded *folded, struct decision *decision);
void policy_pass_gates(const struct policy_snapshot *snapshot, const struct policy_outcome *outcome,
                       const struct ledger *ledger, struct candidate *candidate);

/* --- decide.c ----------------------------------------------------------------------------------------------- */

/* A decision before the limits. */
struct candidate {
    const struct policy_node *node;
    struct decision decision;
    bool present;    /* false: nothing to say */
    bool limited;    /* a repair that needs breaker and budget */
    bool requested;  /* a person's repair: takes room in the budget, needs none */
    bool may_reboot; /* where it is to be replaced: its reboots are not used up */
    bool shared;     /* what it is about may be the fault of what many nodes share */
    bool silent;     /* neither agent nor scheduler sees it, and the decision relies on that */
    bool weak;       /* it asks for a person by a rate, or because it has lasted */
    bool lasting;    /* by time alone */
    bool held;       /* it was left to a person, and nothing else asks for anything */
    bool watched;    /* it will ask for more when it has lasted, and has not yet */
    bool lacking;    /* since its boot it lacks software that an image has */
    bool unproven;   /* … and since its boot it lacks what a machine needs to take work at all */
    enum severity severity;
    int64_t since;    /* oldest evidence */
    int64_t shown_at; /* weak: since when it lasts, or when it came last */
};
void policy_evaluate(const struct policy_snapshot *snapshot, const struct policy_node *node,
                     struct candidate *ret_candidate);

/* --- silence.c ---------------------------------------------------------------------------------------------- */

enum silence {
    SILENCE_NONE,
    SILENCE_NO_VERDICT,  /* the agent is silent: nobody looks */
    SILENCE_UNREACHABLE, /* for long, and the scheduler does not hear the node either */
};
/* False: it is a repair for silence alone, which is held as too many are silent. *missed is counted once. */
bool policy_silence_lets(const struct policy_snapshot *snapshot, struct policy_missed *missed,
                         struct candidate *candidate);
enum silence policy_silence(const struct policy_snapshot *snapshot, const struct policy_node *node);

/* --- budget.c ----------------------------------------------------------------------------------------------- */

/* What the group has room for; it shrinks as repairs are granted. */
struct room {
    int64_t in_repair, in_repair_of[FAULT_CLASS_COUNT];
    int64_t healthy, idle; /* none of those that this plan takes out of service */
    int64_t replacing;
    int64_t last_repair_at;
    const char *bad_image;       /* that a new machine would have; NULL: none */
    struct policy_missed missed; /* all -1: not counted yet */
};
void policy_room(const struct policy_snapshot *snapshot, const struct candidate *candidates, size_t count,
                 struct room *ret_room);
/* Whether there is room for the decision's repair, which it then takes; if not, the decision is held. */
bool policy_room_lets(const struct policy_snapshot *snapshot, struct room *room, struct decision *decision);

/* --- machine_capacity.c ----------------------------------------------------------------------------------------------- */

/* Why a node is not replaced now. */
struct lack {
    enum decision_rule rule; /* NONE: nothing is in the way */
    char why[REASON_MAX_BYTES];
    int64_t retry_at;
};
void policy_lack(const struct policy_snapshot *snapshot, const struct room *room, struct decision *decision,
                 struct lack *ret_lack);

/* --- pace.c ------------------------------------------------------------------------------------------------- */

/* Whether a repair may begin at this hour, and so soon after the last one; if not, the decision is held. */
bool policy_pace_lets(const struct policy_snapshot *snapshot, const struct room *room, struct decision *decision);

/* --- limits.c ----------------------------------------------------------------------------------------------- */

/* The repair waits, for why; it is looked at again at retry_at. */
void policy_hold(struct decision *decision, enum decision_rule rule, const char *why, int64_t retry_at);
int64_t policy_at_least(int64_t floor, int64_t value);
void policy_limit(const struct policy_snapshot *snapshot, struct candidate *candidates, size_t count,
                  struct policy_plan *plan);

#endif
