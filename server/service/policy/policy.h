/* The policy document: what is in force, its versions, and what another one would have led to. See service.h. */
#ifndef HOLDFAST_SERVER_SERVICE_POLICY_POLICY_H
#define HOLDFAST_SERVER_SERVICE_POLICY_POLICY_H

#include "db/policy.h"
#include "policy/policy.h"
#include "server/config/setting.h"
#include "server/service/service.h"

/* Of the fault tables and of what the site puts before them. Lives as long as the service. */
const char *service_fault_version(struct service *s);
/* What hpd decides by; of a cluster what counts for its groups where nothing is said of one, and *ret_cluster (cluster NULL:
 * ret_cluster may be, too); of a group what counts there. *ret_version: of the document. */
int service_policy_list(struct service *s, const char *cluster, const char *group, struct service_policy *ret_policy,
                        int64_t *ret_version, struct cluster *ret_cluster, struct problem *ret_problem);
/* Version 0: the newest; where there is none at all, it is version 0 without a text. */
int service_policy_get(struct service *s, int64_t version, struct policy_version *ret_version,
                       struct problem *ret_problem);
/* Rows are struct policy_version without text, newest first, from before a version (0: the newest) on. */
int service_policy_versions(struct service *s, int64_t before, int limit, db_row_fn fn, void *arg,
                            struct problem *ret_problem);
/* INVALID_VALUE with the line and what to do. */
int service_policy_validate(const char *text, struct problem *ret_problem);
/* What of such a document is hardly meant, a sentence each, by the groups that there are now. */
void service_policy_warn(struct service *s, const char *text, void (*fn)(const char *sentence, void *arg), void *arg);
/* What is wanted of a new version. */
struct service_policy_change {
    const char *text;    /* NULL: that of the version restores */
    const char *comment; /* "": none */
    int64_t restores;
    int64_t expected; /* the newest version must be this; -1: whichever */
};
/* Stored, and in force at once. The text that is in force already makes no new version. */
int service_policy_apply(struct service *s, const struct actor *actor, const struct service_policy_change *change,
                         struct policy_version *ret_version, struct problem *ret_problem);

/* The recorded decisions of a cluster under another document, some nodes at a time. */
struct service_policy_trial {
    const char *cluster, *text;
    int64_t since;
    const char *after; /* name of the last node that was looked at; "": none */
};
struct service_policy_difference {
    char node[NODE_NAME_MAX_BYTES], group[NAME_MAX_BYTES];
    struct decision recorded, other;
};
struct service_policy_counts {
    int64_t nodes, decisions, same, different;
    int64_t unknown;                /* what is stored does not lead to the decision again */
    int64_t left;                   /* older ones of nodes with very many */
    char next[NODE_NAME_MAX_BYTES]; /* after which the next part begins; "": that was all */
};
/* Rows are struct service_policy_difference, by node, newest first. */
int service_policy_diff(struct service *s, const struct service_policy_trial *trial, db_row_fn fn, void *arg,
                        struct service_policy_counts *ret_counts, struct problem *ret_problem);
/* At the start: the newest version that can be read is put in force; *ret_version is that (0: none). What the newer ones
 * have is said in ret_problem, as INVALID; the start goes on. */
int service_policy_load(struct service *s, int64_t *ret_version, struct problem *ret_problem);

#endif
