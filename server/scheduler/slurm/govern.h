/*
 * Task governance in Slurm: govern.c says what each part of a configuration or quota means there, managed_objects.c brings partitions,
 * QOS and accounts about, and takes away what is wanted no more.
 */
#ifndef HOLDFAST_SERVER_SCHEDULER_SLURM_GOVERN_H
#define HOLDFAST_SERVER_SCHEDULER_SLURM_GOVERN_H

#include "base/text.h"
#include "server/scheduler/governing.h"
#include "server/scheduler/slurm/snapshot.h"

#define SLURM_CLASS_PREFIX "holdfast-class-" /* a QOS for each priority class … */
#define SLURM_TEAM_PREFIX "holdfast-team-"   /* … and for each quota, with an account of the same name */

struct slurm_governing {
    struct governing pass;
    struct slurm_call *call;
    struct slurm_snapshot snapshot;
    struct text classes; /* the QOS of classes that are there, "a,b": teams' accounts may use them */
};

struct slurm_team {
    char name[NODE_NAME_MAX_BYTES]; /* of its QOS and its account */
    const char *mark;
    int64_t share;
    struct slurm_limits limits;
};

/* Make one thing be so, or say why it is not; mark is the uid of the rule that asks. */
void slurm_bring_partition(struct slurm_governing *g, const struct slurm_partition *there, int64_t tier,
                           const char *mark, struct scheduler_answer *answer);
void slurm_bring_qos(struct slurm_governing *g, const char *name, int64_t priority, const struct slurm_limits *limits,
                     const char *mark, struct scheduler_answer *answer);
void slurm_bring_account(struct slurm_governing *g, const struct slurm_team *team, struct scheduler_answer *answer);
/* What is held and nobody claimed goes, or goes back to what it was. */
void slurm_release(struct slurm_governing *g);
/* Something of that name is still to be taken away. */
bool slurm_still_holds(const struct slurm_governing *g, const char *name);

/* The member of the vtable. */
int slurm_govern(struct scheduler *s, struct scheduler_governance *governance, char *ret_error);

#endif
