/*
 * What a scheduler backend must be able to do. Slurm is the first; Kubernetes comes behind the
 * same table.
 *
 * Every call has a deadline and may be repeated: the wish is "the node is marked so", not
 * "mark the node". A backend touches only what it marked itself: mark answers CONFLICT when a
 * person holds the node (drained or failed with a foreign reason), resume answers CONFLICT when the
 * reason there is no longer ours. Calls block; they run on the executor's threads. A backend that
 * does not answer is UNAVAILABLE or TIMEOUT; one that answers nonsense is BACKEND.
 */
#ifndef HOLDFAST_SERVER_SCHEDULER_SCHEDULER_H
#define HOLDFAST_SERVER_SCHEDULER_SCHEDULER_H

#include "model/job.h"
#include "model/model.h"
#include "model/quarantine.h"
#include "server/scheduler/desired.h"
#include "server/scheduler/governance.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SCHEDULER_STATE_TEXT_MAX 96
#define SCHEDULER_ERROR_MAX 256
#define SCHEDULER_TRANSPORT_MAX 256
#define SCHEDULER_ANNOTATE_BEGINNING " (holdfast: " /* of a word of ours behind somebody's reason */
#define SCHEDULER_JOB_ID_MAX JOB_ID_MAX_BYTES

/* What a person asked for by hand on the scheduler's side. */
enum scheduler_request {
    SCHEDULER_REQUEST_NONE,
    SCHEDULER_REQUEST_REBOOT,    /* state fail or down with the exact reason Action:Reboot */
    SCHEDULER_REQUEST_REPLACE,   /* … Action:Replace */
    SCHEDULER_REQUEST_NEAR_MISS, /* looks like one of them, but is not exact: warn, never act */
};

struct scheduler_node {
    char name[NODE_NAME_MAX_BYTES];
    char state[SCHEDULER_STATE_TEXT_MAX]; /* the scheduler's own words: "IDLE+DRAIN" */
    char reason[REASON_MAX_BYTES];        /* without the [user@time] part */
    char reason_user[NAME_MAX_BYTES];
    int64_t reason_at; /* when it was given, by the scheduler's clock; 0: it does not say */
    bool responding;   /* the scheduler hears its node daemon */
    bool switched_off; /* by the scheduler, which saves power or reboots it: nobody is to hear it until that is over */
    bool schedulable;  /* new work may start: up, not drained, failed or reserved for maintenance */
    bool drained;      /* out of scheduling by a decision, whose ever; not by the scheduler's own finding
                       * ("Not responding", "Kill task failed"), which is nobody's to be kept */
    bool busy;         /* work is running or completing on it */
    bool
        downed; /* the scheduler took it out because it was away (it restarted, it did not respond), and hears it again,
                       * but leaves it out until somebody says otherwise */
    enum scheduler_request request;
    /* What it has and what jobs have of it; for the survey, 0 and "" where the backend does not say. */
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

/* A picture of all nodes the backend knows. */
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

/* The nodes that are set apart while they are tested, and those that are to be as they were again: all of them. */
struct scheduler_quarantine_node {
    struct quarantine row; /* state, had and why are answered */
    bool noted;            /* it was ASKED, and what it had is answered: nothing was touched for it yet */
    bool gone;             /* it is not wanted, and as it was */
    bool kept;             /* the caller's: it is asked for as wanted, though nobody wants it any more */
    bool past; /* the caller's: it was given back lately, and is touched only where the scheduler has forgotten that */
};
#define SCHEDULER_QUARANTINE_MARK_MAX 32
struct scheduler_quarantine {
    struct scheduler_quarantine_node *nodes;
    size_t count;
    char mark
        [SCHEDULER_QUARANTINE_MARK_MAX]; /* what tells ours from somebody else's, as it was answered last; "": nothing */
};
void scheduler_quarantine_free(struct scheduler_quarantine *quarantine); /* accepts NULL */

struct scheduler; /* a backend's own state */

struct scheduler_ops {
    const char *name;
    const char *daemon; /* what runs on each node for it, as people know it; NULL: nothing that they could look at */

    /* required */

    /* The whole picture. ret_error (SCHEDULER_ERROR_MAX bytes) is written on failure, for all calls. */
    int (*observe)(struct scheduler *s, struct scheduler_observation *ret_observation, char *ret_error);
    /* No new work, state "fail", reason exactly as given ("Action:Reboot", or "holdfast: …" which is a
     * drain). Running work goes on. ours says that reason already there may be replaced by ours (it is one
     * we wrote, or the operator's request that we are carrying out). */
    int (*mark)(struct scheduler *s, const char *node, const char *reason, const char *replaceable_reason,
                char *ret_error);
    /* Jobs that run or complete on the node; caller frees *ret_jobs. */
    int (*jobs)(struct scheduler *s, const char *node, struct scheduler_job **ret_jobs, size_t *ret_count,
                char *ret_error);
    /* Ends the node's jobs now: requeues those that allow it, ends the rest. Returns before they are gone. */
    int (*evict)(struct scheduler *s, const char *node, const char *reason, char *ret_error);
    /* Back in service if the reason there is still our_reason (NULL: any "holdfast:" or Action: reason of ours). */
    int (*resume)(struct scheduler *s, const char *node, const char *our_reason, char *ret_error);

    /* optional (NULL when the backend has nothing to do) */

    /* Adds a word of ours behind the reason that somebody gave, whose text stays as it is, and so does the node. CONFLICT when
     * that is no longer its reason; TOO_LARGE when both together would have to be cut. */
    int (*annotate)(struct scheduler *s, const char *node, const char *reason, const char *annotate, char *ret_error);

    /* The narrowest domain of each node; none when it knows of no topology. Caller frees *ret_places. */
    int (*places)(struct scheduler *s, struct scheduler_place **ret_places, size_t *ret_count, char *ret_error);
    /* Sends a signal to these jobs of the node, whole jobs also where they run on other nodes, too, and answers into each. It
     * fails only when nothing was sent to any of them. */
    int (*signal)(struct scheduler *s, const char *node, enum job_signal signal, struct scheduler_job *jobs,
                  size_t count, char *ret_error);
    /* Ends a job, as long as it has that name; one that is gone is fine. */
    int (*cancel)(struct scheduler *s, const char *job, const char *name, char *ret_error);
    /* The node's daemon lives at another address now (a replaced instance); what is none of move's earlier addresses stays. */
    int (*update_address)(struct scheduler *s, const char *node, struct scheduler_move *move, char *ret_error);
    /* Makes priorities, shares and limits be as asked, as far as it can, and answers into governance what holds and why the
     * rest does not; see governance.h. On failure the answers say nothing. */
    int (*govern)(struct scheduler *s, struct scheduler_governance *governance, char *ret_error);
    /* Sets nodes apart beside their mark, in whatever way people of this scheduler know to mean "under test", and gives others
     * back. A node that is ASKED is looked at only, and touched when it is asked for again with what it had written down. What
     * was there before, and what others made, stays. On failure the answers say nothing. */
    int (*quarantine)(struct scheduler *s, struct scheduler_quarantine *quarantine, char *ret_error);
    /* Makes nodes and partitions be as wanted where the scheduler's configuration is ours, and answers into layout; see layout.h.
     * Jobs on nodes that stay run on. On failure it is as it was before. UNSUPPORTED: its configuration is the site's. */
    int (*configure)(struct scheduler *s, struct scheduler_desired *layout, char *ret_error);
    /* The jobs, and what the scheduler says of itself as Prometheus text, beside what was just seen of its nodes. A part that cannot
     * be had is missing from the text, which says so; without the jobs it fails. */
    int (*job_snapshot)(struct scheduler *s, const struct scheduler_observation *seen,
                        struct job_snapshot **ret_snapshot, char *ret_error);
    /* By what it is spoken to, for people; of any thread. */
    void (*transport)(struct scheduler *s, char ret_transport[SCHEDULER_TRANSPORT_MAX]);
    void (*free)(struct scheduler *s);
};

struct scheduler_driver {
    const struct scheduler_ops *ops;
    struct scheduler *self;
};

#endif
