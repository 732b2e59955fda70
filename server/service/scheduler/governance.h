/*
 * Use cases of task governance and tags: scheduler configurations, compute quotas, and the tags of these and of clusters.
 * See service.h for what all use cases have in common.
 *
 * What is asked for is stored, checked and kept in versions. The reconcile loop carries it out where a scheduler can, and the
 * status of a version says whether it is in force, and if not, why.
 */
#ifndef HOLDFAST_SERVER_SERVICE_GOVERNANCE_H
#define HOLDFAST_SERVER_SERVICE_GOVERNANCE_H

#include "base/json.h"
#include "db/governance.h"
#include "db/tag.h"
#include "model/governance_spec.h"
#include "server/service/service.h"

/* A thing by its id, or (uid NULL) by its name in a cluster; a cluster's scheduler configuration is its only one and needs
 * none (name NULL). */
struct service_governance_ref {
    enum governance_kind kind;
    const char *uid;
    const char *cluster, *name;
};

/* What is asked for; what is NULL or negative stays as it is, or is left to its default. */
struct service_governance_spec {
    const char *name; /* of a new one; it does not change */
    const char *description;
    const struct governance_spec *config; /* its numbers and words were checked by the API that took it */
    const char *team;                     /* NULL: the target stays */
    int64_t weight;                       /* of the team, when that is given */
    int active;
    const struct service_tag *tags; /* of a new one */
    size_t tag_count;
};

int service_governance_create(struct service *s, const struct actor *actor, enum governance_kind kind,
                              const char *cluster, const struct service_governance_spec *spec,
                              struct governance *ret_governance, struct problem *ret_problem);
/* Makes a new version. PRECONDITION_FAILED when if_version is not 0 and not the newest. */
int service_governance_update(struct service *s, const struct actor *actor, const struct service_governance_ref *ref,
                              const struct service_governance_spec *spec, int64_t if_version,
                              struct governance *ret_governance, struct problem *ret_problem);
int service_governance_delete(struct service *s, const struct actor *actor, const struct service_governance_ref *ref,
                              struct problem *ret_problem);
/* version 0: the newest. */
int service_governance_describe(struct service *s, const struct service_governance_ref *ref, int64_t version,
                                struct governance *ret_governance, struct problem *ret_problem);
/* Rows are struct governance. cluster (may be NULL) must be there, and is the one that is searched. */
int service_governance_search(struct service *s, struct db_governance_search *search, const char *cluster, db_row_fn fn,
                              void *arg, struct problem *ret_problem);

/* What carries tags: a cluster, or (governance not NULL) that. */
struct service_tagged {
    const char *cluster;
    const struct service_governance_ref *governance;
};

/* Rows are struct tag, by key. */
int service_tag_list(struct service *s, const struct service_tagged *tagged, db_row_fn fn, void *arg,
                     struct problem *ret_problem);
/* Sets them all or none. */
int service_tag_add(struct service *s, const struct actor *actor, const struct service_tagged *tagged,
                    const struct service_tag *tags, size_t count, struct problem *ret_problem);
/* What is not there is passed over; ret_removed counts the others. */
int service_tag_delete(struct service *s, const struct actor *actor, const struct service_tagged *tagged,
                       const char *const *keys, size_t count, size_t *ret_removed, struct problem *ret_problem);

#endif
