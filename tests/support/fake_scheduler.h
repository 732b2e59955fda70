/*
 * A scheduler that lives in memory: nodes with a mark each, jobs, and people who drain and resume by hand. It keeps the
 * contract of scheduler.h: whoever holds a node with a reason that is not Holdfast's keeps it.
 */
#ifndef HOLDFAST_TESTS_SUPPORT_FAKE_SCHEDULER_H
#define HOLDFAST_TESTS_SUPPORT_FAKE_SCHEDULER_H

#include "server/scheduler/scheduler.h"
#include "tests/support/fake_outcome.h"

#define FAKE_NODES_MAX 128
#define FAKE_JOBS_MAX 8
#define FAKE_PARTITIONS_MAX 4

struct fake_scheduler_node {
    char name[NODE_NAME_MAX_BYTES];
    char reason[REASON_MAX_BYTES], user[NAME_MAX_BYTES];
    int64_t reason_at; /* 0: it does not say */
    char address[ADDRESS_MAX_BYTES], host[ADDRESS_MAX_BYTES];
    char leaf[TOPOLOGY_NAME_MAX_BYTES]; /* the switch it hangs on; "": it is in no topology */
    bool out;                           /* drained or failed */
    bool failed;                        /* of the two, failed */
    bool by_itself;                     /* DOWN, and nobody decided that */
    bool heard;                         /* its daemon answers */
    bool maintenance;                   /* people work on it */
    int jobs;
    bool jobs_are_stuck;                        /* told to go, they stay */
    bool jobs_outlast_silence;                  /* they count as running though it is not heard */
    bool jobs_cannot_be_asked;                  /* a signal to them is refused */
    int signals[FAKE_JOBS_MAX];                 /* what each job was sent */
    enum job_signal signal;                     /* the last of these */
    int marks, annotations, evictions, resumes; /* what the control plane did */
    int evictions_unsure;                       /* of these, whose answer was lost, or nobody lived to hear */
    bool quarantine, theirs;                    /* quarantined; by a person, for ever */
    int quarantines;                            /* how often it was */
    int moves, renames;                         /* addresses it was told, and names */
};

struct fake_partition {
    char name[NODE_NAME_MAX_BYTES];
    int64_t tier;
    int sets; /* what the control plane did */
};

struct fake_scheduler {
    struct fake_scheduler_node nodes[FAKE_NODES_MAX];
    int count;
    struct fake_partition partitions[FAKE_PARTITIONS_MAX];
    int partition_count;
    bool down;                         /* nothing answers */
    bool denies;                       /* nothing may be done to a node, and each refusal names another job */
    int refused;                       /* how often that was said */
    bool refuses;                      /* likewise, and nobody lacks a right */
    bool shows_faults, denies_faults;  /* nodes show their faults, as of the next start of hpd; it may not be done */
    int cleared;                       /* how often a node was to show none */
    char sentence[SENTENCE_MAX_BYTES]; /* beside the faults that were shown last */
    int64_t observed, governed;
    const char *stuck; /* why a former tier is not set again; NULL: it is */
    bool waits;        /* fair shares stay under way */
    struct fake_outcome *outcome;
    const struct clock *clock; /* of reasons; NULL: it does not say when they were given */
};

void fake_scheduler_init(struct fake_scheduler *fake, struct fake_outcome *outcome);
struct scheduler_driver fake_scheduler_driver(struct fake_scheduler *fake);
/* One of another kind, which can only what every scheduler can: no requests in reasons, signals, addresses, governance or quarantine. */
struct scheduler_driver fake_scheduler_plain_driver(struct fake_scheduler *fake);
struct fake_scheduler_node *fake_scheduler_add(struct fake_scheduler *fake, const char *name);
struct fake_scheduler_node *fake_scheduler_find(struct fake_scheduler *fake, const char *name);
/* A person's hand: state=drain or state=fail with a reason; and resume. */
void fake_scheduler_by_hand(struct fake_scheduler *fake, const char *name, bool fail, const char *reason);
/* The scheduler's own finding, of a node that was away: out until somebody says otherwise. */
void fake_scheduler_give_up(struct fake_scheduler *fake, const char *name, const char *reason);
void fake_scheduler_resume_by_hand(struct fake_scheduler *fake, const char *name);

/* fake_govern.c */
struct fake_partition *fake_partition_add(struct fake_scheduler *fake, const char *name, int64_t tier);
struct fake_partition *fake_partition_find(struct fake_scheduler *fake, const char *name);
int fake_govern(struct scheduler *s, struct scheduler_governance *request, char *error); /* of its vtable */

#endif
