/*
 * Inside the simulator: what its files share. All times are milliseconds since the beginning, plus WORLD_T0.
 *
 *   queue.c   what comes next, and chance
 *   fleet.c   machines: faults, silence, who is out
 *   decide.c  a snapshot for the policy, and what its decisions lead to
 *   repair.c  operations, step by step
 *   job.c     jobs: who runs where, and what their time is worth
 *   run.c     the loop, and the sums
 */
#ifndef HOLDFAST_SIMULATE_WORLD_H
#define HOLDFAST_SIMULATE_WORLD_H

#include "simulate/simulate.h"

#include "base/clock.h"
#include "policy/incident.h"

#define WORLD_T0 INT64_C(1795186800000) /* the policy's times are of a calendar */
#define NONE (-1)
#define NOTES_MAX 8
#define REPAIRS_MAX 8

enum happening {
    HAPPENS_FAULT,   /* who: class */
    HAPPENS_VERDICT, /* who: node */
    HAPPENS_UNHEARD, /* the scheduler gives the node up */
    HAPPENS_LOOK,    /* the policy is asked about the node again */
    HAPPENS_STEP,    /* a step of the node's operation ends */
    HAPPENS_PERSON,  /* a person has dealt with the node */
    HAPPENS_NOTICED, /* the job's end was noticed */
    HAPPENS_RESTARTED,
    HAPPENS_ANSWER, /* a person answers a question of approval */
    HAPPENS_RACK,   /* some rack goes dark */
    HAPPENS_LOSS,   /* who: of the world's losses */
    HAPPENS_LOSS_BACK,
    HAPPENS_PLANNED,
    HAPPENS_PLANNED_END,
    HAPPENS_SAMPLE,
};

struct event_at {
    int64_t at;
    uint64_t order; /* of two at the same time, the one that was put in first comes first */
    enum happening what;
    int32_t who;
    uint32_t ticket; /* of what it is about, then: an older one is void */
};

struct queue {
    struct event_at *events;
    size_t count, capacity;
    uint64_t order;
};

/* What an agent said, and the policy may still weigh. */
struct note {
    int class;
    int64_t id, at, boot, machine;
};

struct repair_done {
    enum operation_kind kind;
    int64_t machine, successor; /* of a replacement: the one that came */
    int64_t at, finished_at;
    int class;
    int device;
    bool succeeded, by_person, no_return;
};

/* Of a node that ever had any. */
struct trouble {
    int64_t broken_since; /* the first fault since it was last in service; 0 */
    int64_t machine, boot, boot_at, silent_since, failing_at;
    int device; /* that fails */
    int hard;   /* class of a fault that only another machine cures; NONE */
    int said;   /* class whose verdict is on its way; NONE */
    int sick;   /* class of a fault that no boot has cured yet, into which each job on it runs; NONE */
    int shared; /* the incident that has taken it, of the world's; NONE */
    int loss;   /* of the world's, that it is out for; NONE */
    struct policy_approval approval;
    char approval_code[CODE_MAX_BYTES], approval_device[16]; /* of it */
    struct note notes[NOTES_MAX];
    int note_count;
    struct repair_done repairs[REPAIRS_MAX]; /* newest first */
    int repair_count;
    bool has_op, waits_for_job, waits_for_person;
    bool asks;             /* its launch waits for the provider to have a machine */
    bool provision_failed; /* the machine that was launched does not come up */
    enum operation_kind op;
    size_t silent_at; /* place in the group's list */
    int step, op_class;
    int64_t op_at, op_machine; /* when it began, and on which machine */
    int64_t drain_ms;          /* its jobs may go on for so long; 0: they go at once */
    uint32_t look_ticket, step_ticket, answer_ticket;
};

struct machine {
    int32_t job, next;   /* NONE; the next of the job's leaving nodes */
    int32_t pool_at;     /* NONE: not free */
    unsigned char state; /* enum node_state */
    unsigned char dark;  /* so many places that it is in are */
    bool silent, unheard, leaving, out, dirty, asked, sick;
    struct trouble *trouble;
};

enum job_state { JOB_WAITING, JOB_RESTARTING, JOB_TRAINING, JOB_NOTICING, JOB_PLANNED };

struct job {
    int64_t need, have, sick, since;
    int sick_class;
    int size; /* of the outcome's mttf */
    enum job_state state;
    uint32_t ticket;
    int32_t leaving; /* head of the nodes that go when it stops; NONE */
    bool queued;
};

struct failing {
    int64_t at;
    int32_t node;
};

struct group {
    char name[NAME_MAX_BYTES], instance_type[NAME_MAX_BYTES];
    struct simulate_rules rules;
    int64_t last_repair_at; /* when the newest began; 0: there was none */
    int64_t idle, replacing;
    struct machine_capacity machine_capacity;
    int64_t desired, out, in_repair, in_repair_of[FAULT_CLASS_COUNT], breaker_opened_at, settled_since, failed_recently;
    struct failing *failing; /* a ring of those within the breaker's window */
    size_t head, count, capacity;
    int32_t *silent; /* nodes that nobody hears */
    size_t silent_count, silent_capacity;
};

struct world {
    const struct simulate_scenario *scenario;
    struct simulate_outcome *out;
    uint64_t random;
    uint64_t chances[SIMULATE_FAULTS_MAX +
                     1]; /* of each class of faults, and of racks: what breaks when is no policy's doing */
    int64_t now, end;
    struct queue queue;
    struct machine *machines;
    int32_t nodes;
    int32_t *pool; /* nodes that are free */
    int32_t pool_count;
    int32_t *dirty; /* nodes that the policy is asked about before time goes on */
    int32_t dirty_count;
    struct job *jobs;
    int32_t job_count;
    int32_t *waiting; /* a ring of jobs that lack nodes */
    int32_t waiting_head, waiting_count;
    struct group *groups;
    int32_t group_count;
    int32_t *group_of; /* of each node */
    int32_t rack_count;
    struct policy_shared *shared; /* incidents of those that nobody hears now */
    size_t shared_count;
    bool shared_is_old; /* somebody fell silent or came back since */
    struct simulate_loss *losses;
    int32_t *loss_out; /* so many nodes of each are still out */
    int32_t loss_count, loss_capacity;
    int32_t *lemons;
    int32_t lemon_count;
    int64_t out_count, out_since;
    int64_t *out_ms; /* for how long so many nodes were out */
    int64_t verdict_id, machine_number, training_nodes;
    double repair_ms;
};

/* --- queue.c */
uint64_t chance_draw(uint64_t *chance, uint64_t below);
int64_t chance_wait(uint64_t *chance, double mean_ms); /* until the next of what comes by chance */
void world_chances(struct world *w, int64_t seed);     /* a stream of its own for each */
bool world_happens(struct world *w, int64_t percent);  /* draws nothing where it never does */
int64_t world_about(struct world *w, int64_t ms);      /* within a quarter of it */
void world_at(struct world *w, int64_t at, enum happening what, int32_t who, uint32_t ticket);
bool world_next(struct world *w, struct event_at *ret_event);
static inline int64_t world_number(const struct world *w, enum simulate_number number)
{
    return w->scenario->number[number];
}

/* --- fleet.c */
struct trouble *fleet_trouble(struct world *w, int32_t node);
void fleet_fault(struct world *w, int32_t class);
void fleet_verdict(struct world *w, int32_t node, int class);
void fleet_unheard(struct world *w, int32_t node);
void fleet_lose(struct world *w, const struct simulate_loss *loss);
void fleet_loss(struct world *w, int32_t loss);
void fleet_loss_back(struct world *w, int32_t loss);
void fleet_hear(struct world *w, int32_t node, bool heard);
/* Another machine fills the slot, or the same one came up again. */
void fleet_boot(struct world *w, int32_t node, bool new_machine);
void fleet_state(struct world *w, int32_t node, enum node_state state);
void fleet_dirty(struct world *w, int32_t node);
void fleet_count_out(struct world *w);                     /* up to now */
void fleet_sick(struct world *w, int32_t node, int class); /* NONE: it is cured */
/* The incident that the node is of, or NONE. */
int fleet_shared(struct world *w, int32_t node);
struct group *fleet_group(const struct world *w, int32_t node);

/* --- decide.c */
void decide_dirty(struct world *w);
void decide_person(struct world *w, int32_t node);
void decide_call_person(struct world *w, int32_t node);
void decide_answer(struct world *w, int32_t node);

/* --- repair.c */
void repair_begin(struct world *w, int32_t node, enum operation_kind kind, int64_t drain_ms, int class);
void repair_step(struct world *w, int32_t node);
void repair_freed(struct world *w, int32_t node); /* the job that the drain waited for has let it go */
void repair_remember(struct trouble *trouble, const struct repair_done *done);

/* --- job.c */
void jobs_make(struct world *w);
/* The job that runs on the node ends, noticed after so long. class: of the outcome's. */
void job_interrupt(struct world *w, int32_t job, int class, int64_t notice_after);
void job_noticed(struct world *w, int32_t job);
void job_restarted(struct world *w, int32_t job);
void jobs_planned(struct world *w);
void job_planned_end(struct world *w, int32_t job);
void job_close(struct world *w, int32_t job); /* at the end: what it has is kept */
bool job_runs(const struct world *w, int32_t job);
void node_take(struct world *w, int32_t node);  /* out of the pool, or of a job that does not run */
void node_give(struct world *w, int32_t node);  /* to a job that waits, or into the pool */
void node_leave(struct world *w, int32_t node); /* at once if nothing runs on it, else when its job stops */

#endif
