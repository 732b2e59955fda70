/*
 * What a scheduler backend can do: a small table that every backend has whole, and extension tables that it has whole or not at all.
 * Which of them are there is what a scheduler is capable of; nothing asks for its kind.
 *
 * Every call has a deadline and may be repeated: the request is "the node is cordoned so", not "cordon the node". A backend
 * touches only what is ours: cordon answers CONFLICT when somebody else holds the node, uncordon answers CONFLICT when the cordon
 * there is no longer ours. Calls block; they run on the executor's threads. A backend that does not answer is UNAVAILABLE or
 * TIMEOUT; one that answers nonsense is BACKEND. DENIED is for a right that our user lacks there, and that a person has to grant: a repair
 * waits for it; any other refusal is BACKEND. error has SCHEDULER_ERROR_MAX bytes and is written on failure.
 */
#ifndef HOLDFAST_SERVER_SCHEDULER_SCHEDULER_H
#define HOLDFAST_SERVER_SCHEDULER_SCHEDULER_H

#include "model/job_command.h"
#include "model/job_log.h"
#include "model/model.h"
#include "model/quarantine.h"
#include "server/scheduler/desired.h"
#include "server/scheduler/governance.h"
#include "server/scheduler/labels.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SCHEDULER_STATE_TEXT_MAX 96
#define SCHEDULER_ERROR_MAX 256
#define SCHEDULER_TRANSPORT_MAX 256
#define SCHEDULER_NOTE_ROOM \
    16 /* a note is so much shorter than a reason: a backend writes a word of its own before it */
#define SCHEDULER_JOB_ID_MAX JOB_ID_MAX_BYTES

/* What a person asked for by hand on the scheduler's side. */
enum scheduler_request {
    SCHEDULER_REQUEST_NONE,
    SCHEDULER_REQUEST_REBOOT,
    SCHEDULER_REQUEST_REPLACE,
    SCHEDULER_REQUEST_NEAR_MISS, /* looks like one of them, but is not exact: warn, never act */
};

/* Whose a cordon is, as each backend writes it in its own way: Slurm as a reason, Kubernetes as a taint, labels and an annotation. */
struct scheduler_owner {
    enum scheduler_request
        request;      /* the repair that is under way: shown as people ask for it; NONE: a hold, or other work */
    const char *note; /* for people, why; borrowed. Not shown beside a request */
    bool
        says_only; /* where nodes have labels: it is said on the node, and nothing is kept off it. Elsewhere it is cordoned */
};

struct scheduler_node {
    char name[NODE_NAME_MAX_BYTES];
    char state[SCHEDULER_STATE_TEXT_MAX]; /* the scheduler's own words: "IDLE+DRAIN" */
    char reason[REASON_MAX_BYTES];        /* without the [user@time] part */
    char reason_user[NAME_MAX_BYTES];
    int64_t reason_at; /* when it was given, by the scheduler's clock; 0: it does not say */
    bool responding;   /* the scheduler hears its node daemon */
    bool down;         /* the scheduler gave it up: jobs on it have ended */
    bool switched_off; /* by the scheduler, which saves power or reboots it: nobody is to hear it until that is over */
    bool maintenance;  /* people work on it: it is in a maintenance of the scheduler's */
    bool reserved; /* somebody has it for a time, or a job is to get it: nobody else is to reboot it for its silence */
    bool schedulable; /* new work may start: up, not drained, failed or reserved for maintenance */
    bool drained;     /* out of scheduling by a decision, whose ever; not by the scheduler's own finding
                       * ("Not responding", "Kill task failed"), which is nobody's to be kept */
    bool busy;        /* work is running or completing on it */
    bool
        downed; /* the scheduler took it out because it was away (it restarted, it did not respond), and hears it again,
                       * but leaves it out until somebody says otherwise */
    bool ours;  /* it is cordoned, and that is a hold of ours … */
    size_t note;    /* … whose note begins at this byte of reason */
    bool annotated; /* the person's request that is a near miss says what an exact one is */
    enum scheduler_request request;
    /* What it has and what jobs have of it; for the job snapshot, 0 and "" where the backend does not say. */
    int64_t cpus, cpus_used, memory_mib, memory_used_mib;
    size_t partitions, features, gres, gres_used; /* scheduler_word */
    size_t address, host; /* likewise: where it looks for the node's daemon, its machine's name; "": it does not say */
};

struct scheduler_job {
    char id[SCHEDULER_JOB_ID_MAX];
    char user[NAME_MAX_BYTES];
    char state[32];
    bool requeueable;
    bool may_be_asked; /* it runs, so that a signal finds somebody */
    int answer;        /* of signal: 0 it was sent, else why not */
};

/* What a node shares with others, as the scheduler has been told. */
struct scheduler_place {
    char node[NODE_NAME_MAX_BYTES];
    enum topology_level level; /* SWITCH or ULTRASERVER */
    char domain[TOPOLOGY_NAME_MAX_BYTES];
};

/* The node's daemon lives at another address now, on another machine. */
struct scheduler_move {
    char address[ADDRESS_MAX_BYTES]; /* a host, perhaps with a port; answered: as the scheduler shows it */
    char (*was)[ADDRESS_MAX_BYTES];  /* told only where one of these is shown. NULL: whatever is shown */
    size_t was_count;
    char before[ADDRESS_MAX_BYTES]; /* answered: what was shown when it was asked */
    bool holds;                     /* answered: the address is what is shown now */
    /* The machine's own name goes with its address, in place of this one alone; "": whatever is shown stays. */
    char host[ADDRESS_MAX_BYTES], host_was[ADDRESS_MAX_BYTES];
    bool renamed; /* answered: it was told, and is shown */
};

/* A snapshot of all nodes the backend knows. */
struct scheduler_observation {
    int64_t at_ms;
    struct scheduler_node *nodes;
    size_t count;
    char *words; /* what nodes share much of; the first is "". NULL: there is none */
};
void scheduler_observation_free(struct scheduler_observation *observation); /* the contents, not the struct */
static inline const char *scheduler_word(const struct scheduler_observation *observation, size_t word)
{
    return observation->words == NULL ? "" : observation->words + word;
}

/* The nodes that are quarantined while they are tested, and those that are to be as they were again: all of them. */
struct scheduler_quarantine_node {
    struct quarantine row; /* state, had and why are answered */
    bool noted;            /* it was ASKED, and what it had is answered: nothing was touched for it yet */
    bool gone;             /* it is not wanted, and as it was */
    bool kept;             /* the caller's: it is asked for as wanted, though nobody wants it any more */
    bool
        released; /* the caller's: it was given back lately, and is touched only where the scheduler has forgotten that */
};
#define SCHEDULER_QUARANTINE_MARK_MAX 32
struct scheduler_quarantine {
    struct scheduler_quarantine_node *nodes;
    size_t count;
    char mark
        [SCHEDULER_QUARANTINE_MARK_MAX]; /* what tells ours from somebody else's, as it was answered last; "": nothing */
};
void scheduler_quarantine_free(struct scheduler_quarantine *quarantine); /* accepts NULL */

/* The nodes of a job snapshot: what people choose them by, in memory of its own. */
void scheduler_snapshot_nodes(struct job_snapshot *snapshot, const struct scheduler_observation *seen);

struct scheduler; /* a backend's own state */

/* People's requests by hand that are nearly right. Absent where people cannot ask in the scheduler. */
struct scheduler_requests_ops {
    /* A sentence on why the reason is no request, with the command that is one. Any thread. */
    void (*explain)(const char *node, const char *reason, char ret_sentence[SENTENCE_MAX_BYTES]);
    /* Says the same, shortly, behind the reason that user gave, whose text stays as it is, and so does the node. CONFLICT when that
     * is no longer its reason; TOO_LARGE when both together would have to be cut. */
    int (*annotate)(struct scheduler *s, const char *node, const char *reason, const char *user, char *ret_error);
};

/* Its jobs, beyond those of one node. */
struct scheduler_jobs_ops {
    /* All jobs, and what the scheduler says of itself as Prometheus text, beside what was just seen of its nodes. A part that cannot be
     * had is missing from the text, which says so; without the jobs it fails. */
    int (*snapshot)(struct scheduler *s, const struct scheduler_observation *seen, struct job_snapshot **ret_snapshot,
                    char *ret_error);
    /* Ends a job, as long as it has that name; one that is gone is fine. NULL: no job of it ever waits for another one. */
    int (*cancel)(struct scheduler *s, const char *job, const char *name, char *ret_error);
    /* The last lines that a job wrote, or where the file with them lies. NOT_FOUND: there is no such job, rank or log. Caller frees
     * ret_log->text. NULL: what jobs write is not to be had here. */
    int (*log)(struct scheduler *s, const struct job_log_ask *ask, struct job_log *ret_log, char *ret_error);
    /* What a person asked of a job. CONFLICT: not yet, it is asked for again soon. INVALID, NOT_FOUND, DENIED: never. NULL: no job takes
     * commands. */
    int (*command)(struct scheduler *s, const struct job_command *command, char *ret_error);
};

/* Asking jobs to write a checkpoint. */
struct scheduler_signals_ops {
    /* Sends a signal to these jobs of the node, whole jobs also where they run on other nodes, too, and answers into each. It fails only
     * when nothing was sent to any of them. */
    int (*signal)(struct scheduler *s, const char *node, enum job_signal signal, struct scheduler_job *jobs,
                  size_t count, char *ret_error);
};

/* Where the machines of its nodes are: the scheduler is told. */
struct scheduler_addresses_ops {
    /* The node's daemon lives at another address now (a replaced instance); what is none of move's earlier addresses stays. */
    int (*update)(struct scheduler *s, const char *node, struct scheduler_move *move, char *ret_error);
};

struct scheduler_topology_ops {
    /* The narrowest domain of each node; none when it knows of no topology. Caller frees *ret_places. */
    int (*places)(struct scheduler *s, struct scheduler_place **ret_places, size_t *ret_count, char *ret_error);
};

struct scheduler_governance_ops {
    /* Makes priorities, shares and limits be as asked, as far as it can, and answers into governance what holds and why the
     * rest does not; see governance.h. On failure the answers say nothing. */
    int (*govern)(struct scheduler *s, struct scheduler_governance *governance, char *ret_error);
};

struct scheduler_quarantine_ops {
    /* Quarantines nodes beside their cordon, in whatever way people of this scheduler know to mean "under test", and gives others back. A
     * node that is ASKED is looked at only, and touched when it is asked for again with what it had written down. What was there
     * before, and what others made, stays. On failure the answers say nothing. */
    int (*set)(struct scheduler *s, struct scheduler_quarantine *quarantine, char *ret_error);
};

struct scheduler_configuration_ops {
    /* Makes nodes and partitions be as wanted where the scheduler's configuration is ours, and answers into desired; see desired.h.
     * Jobs on nodes that stay run on. On failure it is as it was before. UNSUPPORTED: its configuration is the site's. */
    int (*apply)(struct scheduler *s, struct scheduler_desired *desired, char *ret_error);
};

/* Where something may protect a job from evict: it is asked for again and again then, and after its time this ends what is left. */
struct scheduler_budgets_ops {
    int (*end)(struct scheduler *s, const char *node, char *ret_error);
};

/* Where a node of the scheduler stands for a machine: what the provider has ended is taken out. */
struct scheduler_machines_ops {
    /* The machine that the provider knows by this id is gone for good. One that the scheduler does not know is fine. */
    int (*gone)(struct scheduler *s, const char *node, const char *instance_id, char *ret_error);
};

/* Where the scheduler can reboot a node itself, as soon as no job is on it. */
struct scheduler_reboots_ops {
    /* Once: a second call reboots the node again. UNSUPPORTED with a sentence where it is not set up to. */
    int (*reboot)(struct scheduler *s, const char *node, char *ret_error);
};

/* A fault of a node that was judged, and is not over. */
#define SCHEDULER_FAULTS_MAX 20
struct scheduler_fault {
    char code[CODE_MAX_BYTES];
    bool replaces; /* another machine is what it asks for, and not a reboot */
    int64_t at;    /* when it was first seen */
    char message[RAW_LINE_MAX_BYTES];
};
struct scheduler_faults {
    struct scheduler_fault list[SCHEDULER_FAULTS_MAX];
    size_t count;
    char sentence[SENTENCE_MAX_BYTES]; /* of the decision */
};

/* Where people look for a node's faults in the scheduler. */
struct scheduler_faults_ops {
    /* The node has these, and no others. A node that the scheduler does not know is fine. */
    int (*show)(struct scheduler *s, const char *node, const struct scheduler_faults *faults, char *ret_error);
};

/* Where nodes are objects that carry labels and taints. */
struct scheduler_labels_ops {
    /* Makes the nodes carry what is wanted and nothing more of what was set here before, and answers into labels. What others set stays.
     * On failure what was answered of nodes that were looked at holds. */
    int (*keep)(struct scheduler *s, struct scheduler_labels *labels, char *ret_error);
};

struct workload_ops;     /* workload.h */
struct role_file_format; /* model/role_file.h */

struct scheduler_ops {
    const char *name;   /* its kind: "slurm" */
    const char *daemon; /* what runs on each node for it, as people know it; NULL: nothing that they could look at */
    const char *resume_command; /* by which people give a node back, with NODE for its name; for people */

    /* The snapshot of all nodes. */
    int (*observe)(struct scheduler *s, struct scheduler_observation *ret_observation, char *ret_error);
    /* No new work; running work goes on. seen is the reason that may give way to ours, as an observation showed it (NULL: only what is
     * ours). ret_shown (REASON_MAX_BYTES) is how it stands there. */
    int (*cordon)(struct scheduler *s, const char *node, const struct scheduler_owner *owner, const char *seen,
                  char *ret_shown, char *ret_error);
    /* Back in service if the cordon there is still this owner's (NULL: any of ours). */
    int (*uncordon)(struct scheduler *s, const char *node, const struct scheduler_owner *owner, char *ret_error);
    /* Jobs that run or complete on the node; caller frees *ret_jobs. */
    int (*workloads)(struct scheduler *s, const char *node, struct scheduler_job **ret_jobs, size_t *ret_count,
                     char *ret_error);
    /* Ends the node's jobs now: requeues those that allow it, ends the rest, but for those that budgets protect. Returns before they are
     * gone. */
    int (*evict)(struct scheduler *s, const char *node, const struct scheduler_owner *owner, char *ret_error);

    /* By what it is reached, for people; any thread. May be NULL. */
    void (*transport)(struct scheduler *s, char ret_transport[SCHEDULER_TRANSPORT_MAX]);
    /* Calls under way end soon, whatever the backend does, and later ones at once: hpd ends. Any thread; may be NULL. */
    void (*stop)(struct scheduler *s);
    void (*free)(struct scheduler *s); /* may be NULL */

    /* NULL: it has no such thing */
    const struct scheduler_requests_ops *requests;
    const struct scheduler_jobs_ops *jobs;
    const struct scheduler_signals_ops *signals;
    const struct scheduler_addresses_ops *addresses;
    const struct scheduler_topology_ops *topology;
    const struct scheduler_governance_ops *governance;
    const struct scheduler_quarantine_ops *quarantine;
    const struct scheduler_configuration_ops *configuration;
    const struct scheduler_budgets_ops *budgets;
    const struct scheduler_machines_ops *machines;
    const struct scheduler_faults_ops *faults;
    const struct scheduler_reboots_ops *reboots;
    const struct scheduler_labels_ops *labels;
    const struct role_file_format *roles; /* groups have roles there, and this file says them */
    const struct workload_ops *training;  /* its training jobs; a table of its own */
};

struct scheduler_driver {
    const struct scheduler_ops *ops;
    struct scheduler *self;
};
/* Asserts that what must be there is, and that each extension is whole. */
struct scheduler_driver scheduler_driver_make(const struct scheduler_ops *ops, struct scheduler *self);

#endif
