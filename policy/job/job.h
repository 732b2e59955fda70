/*
 * What becomes of a training job: a gang of pods, in each of which a launcher starts and stops the workers.
 *
 *   CREATED ──► GATHERING ──► LAUNCHING ──► RUNNING ──► COMPLETED
 *      ▲            ▲  ▲          │            │
 *      │            │  └─ fault ──┴─── fault ──┘        FAILED may follow each state but the two ends,
 *      └────── SUSPENDED                                SUSPENDED each of those, too
 *
 * GATHERING makes pods, ends those that may not stay, and stops workers until a launcher stands ready for each rank. LAUNCHING
 * starts all ranks together. After a fault the same way is gone again, on the level that is needed:
 *
 *   1. the processes: all workers are stopped and started, pods and containers stay
 *   2. the pod: the one that failed is made anew in place, the others as above
 *   3. the job: all pods are made anew
 *
 * A fault of a node excludes the node until it is well again, and counts against no limit of the job: the job did nothing wrong. A
 * fault of the application never excludes a node, but for repeat offenders, which the job's own policy names, and for this job alone.
 * Faults that no progress lies between climb these levels one by one; when the third restart brings none the job fails and says why.
 *
 * Pure: what is seen comes in with the time, what is to be done goes out. The record is what has to be known later; the caller stores
 * it before it does anything.
 */
#ifndef HOLDFAST_POLICY_JOB_JOB_H
#define HOLDFAST_POLICY_JOB_JOB_H

#include "base/enum.h"
#include "base/own.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JOB_PODS_MAX 4096
#define JOB_SETS_MAX 16
#define JOB_SET_NAME_MAX 64
#define JOB_NODE_MAX 254
#define JOB_REASON_MAX 192 /* "LogHang_" and the name of a rule */
#define JOB_MESSAGE_MAX 512
#define JOB_ASKED_MAX 96
#define JOB_EXCLUDED_MAX 64  /* the oldest goes first */
#define JOB_OFFENDERS_MAX 64 /* nodes with faults of the application that are counted */
#define JOB_FRUITLESS_MAX 3  /* restarts without progress */
#define JOB_OFFENCES_MIN 2   /* faults of one node's ranks that make it a repeat offender */

#define JOB_STATE_LIST(X)         \
    X(JOB_CREATED, "Created")     \
    X(JOB_SUSPENDED, "Suspended") \
    X(JOB_GATHERING, "Gathering") \
    X(JOB_LAUNCHING, "Launching") \
    X(JOB_RUNNING, "Running")     \
    X(JOB_COMPLETED, "Completed") \
    X(JOB_FAILED, "Failed")
enum job_state {
#define X(SYMBOL, text) SYMBOL,
    JOB_STATE_LIST(X)
#undef X
};
ENUM_DECLARE(job_state);
bool job_is_over(enum job_state state);

#define JOB_CLEAN_LIST(X)                      \
    X(JOB_CLEAN_ALL, "All")                    \
    X(JOB_CLEAN_ONLY_COMPLETE, "OnlyComplete") \
    X(JOB_CLEAN_NONE, "None")
enum job_clean {
#define X(SYMBOL, text) SYMBOL,
    JOB_CLEAN_LIST(X)
#undef X
};
ENUM_DECLARE(job_clean);

/* Whose fault it was. */
#define JOB_CAUSE_LIST(X)                                                                       \
    X(JOB_CAUSE_NONE, "none")                                                                   \
    X(JOB_CAUSE_NODE, "node")               /* the node is not well, or gone */                 \
    X(JOB_CAUSE_EVICTED, "evicted")         /* Kubernetes or a person took the pod away */      \
    X(JOB_CAUSE_POD, "pod")                 /* the pod or its launcher ended or is not heard */ \
    X(JOB_CAUSE_APPLICATION, "application") /* the launcher reported it */
enum job_cause {
#define X(SYMBOL, text) SYMBOL,
    JOB_CAUSE_LIST(X)
#undef X
};
ENUM_DECLARE(job_cause);

#define JOB_LEVEL_LIST(X)           \
    X(JOB_LEVEL_PROCESS, "process") \
    X(JOB_LEVEL_POD, "pod")         \
    X(JOB_LEVEL_JOB, "job")
enum job_level {
#define X(SYMBOL, text) SYMBOL,
    JOB_LEVEL_LIST(X)
#undef X
};
ENUM_DECLARE(job_level);

/* The launcher's state, by the words of its /status. */
#define JOB_AGENT_LIST(X)               \
    X(JOB_AGENT_UNKNOWN, "unknown")     \
    X(JOB_AGENT_INIT, "init")           \
    X(JOB_AGENT_READY, "ready")         \
    X(JOB_AGENT_RUNNING, "running")     \
    X(JOB_AGENT_COMPLETED, "completed") \
    X(JOB_AGENT_FAULTED, "faulted")     \
    X(JOB_AGENT_STOPPING, "stopping")   \
    X(JOB_AGENT_SHUTDOWN, "shutdown")
enum job_agent {
#define X(SYMBOL, text) SYMBOL,
    JOB_AGENT_LIST(X)
#undef X
};
ENUM_DECLARE(job_agent);

/* --- what was asked for ---------------------------------------------------------------------------- */

struct job_set {
    char name[JOB_SET_NAME_MAX];
    int replicas, spares;
};

/* The sizes that a job of one set may have. Its replicas are the most then. */
#define JOB_SIZES_MAX 256
struct job_elastic {
    bool on;
    int least, step; /* least, least + step, … up to the replicas; 0: only these: */
    int sizes[JOB_SIZES_MAX];
    size_t size_count;
    int most; /* the size that a person asked for: it does not grow beyond; 0: all replicas */
    int64_t
        scaling_ms; /* how long more pods are waited for at a start, and how long a size is kept before the next growth */
    int64_t fault_ms;    /* how long a lost pod is waited for */
    int64_t graceful_ms; /* how long workers may take to save a checkpoint and end before the job grows */
    int64_t snooze_ms;   /* no growth for so long after a restart */
};

#define JOB_NO_LIMIT (-1)
struct job_spec {
    struct job_set sets[JOB_SETS_MAX];
    size_t set_count;
    struct job_elastic elastic;
    bool suspend;
    char asked[JOB_ASKED_MAX]; /* by which words a person asked last that it begins anew; others are another time … */
    bool remakes;              /* … and its pods with it, not its workers alone */
    enum job_clean clean;
    int64_t retries_max; /* JOB_NO_LIMIT, as with the next ones */
    int64_t eval_ms, restarts_before_full, full_restarts_max;
    int64_t offenders_max; /* nodes that a restart of all pods may leave out */
    int64_t active_deadline_ms, startup_deadline_ms, fault_deadline_ms; /* 0: none */
    int64_t ttl_ms;                                                     /* JOB_NO_LIMIT: it is kept */
};
/* Pods of all sets, and ranks. */
int job_pod_count(const struct job_spec *spec);
int job_rank_count(const struct job_spec *spec);
/* The largest size that so many pods are enough for; 0: none. Of a job that is not elastic all ranks. */
int job_size_for(const struct job_spec *spec, int pods);
/* Whether it may have so many ranks at all, whatever a person asked for. */
bool job_is_size(const struct job_spec *spec, int ranks);
/* The largest size that it may have: all replicas, or, of an elastic job, the one nearest below what a person asked for. */
int job_size_most(const struct job_spec *spec);
/* Whether the size leaves work for this pod, as a rank or a spare. */
bool job_wants_pod(const struct job_spec *spec, int pod);
/* The set of a pod, and its number there. */
const struct job_set *job_pod_set(const struct job_spec *spec, int pod, int *ret_number);

/* --- what was seen --------------------------------------------------------------------------------- */

struct job_pod {
    bool exists, deleting;
    bool finished, succeeded;      /* its containers ended for good, and well */
    bool disrupted;                /* Kubernetes says that it takes it away */
    bool running;                  /* its containers run, and it has an address */
    int64_t incarnation;           /* as it was made */
    char node[JOB_NODE_MAX];       /* "": none yet */
    char ended_as[JOB_REASON_MAX]; /* of one that is finished: "OOMKilled" */
    enum job_agent agent;
    int64_t agent_since;     /* when it became that, by its own clock; 0: it does not say */
    bool agent_heard;        /* it has answered before */
    int64_t agent_silent_ms; /* how long it does not answer, though its pod runs */
    int64_t progress;        /* the newest step or count that it knows of; -1: it does not know */
    char agent_reason[JOB_REASON_MAX], agent_message[JOB_MESSAGE_MAX];
};

enum job_node_state {
    JOB_NODE_WELL,
    JOB_NODE_HELD,   /* it takes no new pods, for a reason that is no fault */
    JOB_NODE_LOST,   /* it is not heard: faulty where the launcher on it is not, either */
    JOB_NODE_FAULTY, /* it waits for a repair */
    JOB_NODE_GONE,
};

struct job_seen {
    int64_t now;
    struct job_pod *pods; /* job_pod_count of them: each at its number */
    /* How a node is, and why, for people. */
    enum job_node_state (*node)(const char *name, const void *arg, const char **ret_why);
    const void *arg;
};

/* --- what is kept ---------------------------------------------------------------------------------- */

struct job_excluded {
    char node[JOB_NODE_MAX], why[JOB_REASON_MAX];
    int64_t at;
    bool offender; /* for the application's faults on it, and until the job ends */
};
struct job_offender {
    char node[JOB_NODE_MAX];
    int64_t faults;
};

struct job_fault {
    enum job_cause cause; /* NONE: there is no fault under way */
    enum job_level level;
    bool counted;  /* against the limits */
    int64_t at;    /* when it happened */
    int pod, rank; /* -1: none */
    char node[JOB_NODE_MAX], reason[JOB_REASON_MAX], message[JOB_MESSAGE_MAX];
};

struct job_record {
    enum job_state state;
    int64_t since; /* in this state */
    int64_t started_at, completed_at;
    int64_t attempt;                                           /* starts of all ranks so far */
    int64_t restarts;                                          /* that count against retries_max */
    int64_t node_restarts;                                     /* after faults of nodes and evictions */
    int64_t window, window_at, window_restarts, full_restarts; /* window_at 0: none is open */
    int64_t first_ran_at;                                      /* 0: it never ran */
    int64_t ran_at;                                            /* since when the attempt runs; 0: it does not */
    int64_t progress;          /* the most that any attempt reached; -1: none is known */
    int64_t fruitless;         /* faults in a row that no progress lies between */
    struct job_fault fault;    /* under way, or the last one */
    char asked[JOB_ASKED_MAX]; /* as far as it is carried out */
    bool growing;              /* its workers save a checkpoint and end, so that it starts with another size */
    bool faulty;               /* it is under way */
    char reason[JOB_REASON_MAX], message[JOB_MESSAGE_MAX]; /* why it is over, suspended, or what it waits for */
    struct job_excluded excluded[JOB_EXCLUDED_MAX];
    size_t excluded_count;
    struct job_offender offenders[JOB_OFFENDERS_MAX];
    size_t offender_count;
    int64_t *incarnations; /* of each pod, as it shall be */
    int pod_count;
    int *ranks;        /* the pod of each rank */
    char **rank_nodes; /* and its node when the ranks were started */
    int rank_count;
};
/* A record of a job that nothing is known of. It is freed by job_record_free, which accepts an empty one. */
struct job_record *job_record_new(const struct job_spec *spec);
void job_record_free(struct job_record *record);
AUTO_DEFINE(struct job_record *, job_record, job_record_free)
/* Makes room for the pods and ranks of spec; what is new is empty. */
void job_record_fit(struct job_record *record, const struct job_spec *spec);
/* Gives the ranks anew: takes ranks over, and forgets the nodes. */
void job_record_rank(struct job_record *record, int *ranks, int count);
bool job_is_excluded(const struct job_record *record, const char *node);
/* The rank of a pod; -1: it has none. */
int job_rank_of(const struct job_record *record, int pod);

/* --- what is to be done ---------------------------------------------------------------------------- */

#define JOB_ACT_LIST(X)         \
    X(JOB_ACT_NONE, "none")     \
    X(JOB_ACT_CREATE, "create") \
    X(JOB_ACT_DELETE, "delete") \
    X(JOB_ACT_START, "start")   \
    X(JOB_ACT_STOP, "stop")     \
    X(JOB_ACT_SHUTDOWN, "shutdown")
/* DELETE of a pod that is being deleted already: at once, as its node is gone. */
enum job_act {
#define X(SYMBOL, text) SYMBOL,
    JOB_ACT_LIST(X)
#undef X
};
ENUM_DECLARE(job_act);

struct job_note { /* for the timeline of the job */
    bool warning;
    char reason[JOB_REASON_MAX], message[JOB_MESSAGE_MAX];
};
#define JOB_NOTES_MAX 8

struct job_plan {
    bool changed;       /* the record was: it is stored before anything is done */
    enum job_act *acts; /* of each pod */
    struct job_note notes[JOB_NOTES_MAX];
    size_t note_count;
    int64_t graceful_ms; /* of STOP: workers are asked to save a checkpoint first; 0: they are stopped */
    bool expired;        /* the job has been over for so long that it goes */
};
struct job_plan *job_plan_new(const struct job_spec *spec);
void job_plan_free(struct job_plan *plan);
AUTO_DEFINE(struct job_plan *, job_plan, job_plan_free)

/* The next step. */
void job_next(const struct job_spec *spec, const struct job_seen *seen, struct job_record *record,
              struct job_plan *plan);

#endif
