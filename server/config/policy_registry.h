/*
 * The policy that is in force: what hpd was configured with, and over it the newest document that could be read. The use cases
 * put documents in and show what follows; the loop asks for each group's settings when the version has changed. Any thread.
 */
#ifndef HOLDFAST_SERVER_POLICY_REGISTRY_H
#define HOLDFAST_SERVER_POLICY_REGISTRY_H

#include "server/config/setting.h"

#include <stddef.h>
#include <stdint.h>

struct config;
struct policy_registry;
struct policy_settings;
struct loop_settings;
struct service_policy;

#define POLICY_REGISTRY_ERROR_MAX 320

/* config stays the caller's, and as it is. */
struct policy_registry *policy_registry_new(const struct config *config);
void policy_registry_free(struct policy_registry *registry); /* accepts NULL */

/* Another registry over the same configuration, with this document (NULL: none), which counts for nobody: to try it. */
int policy_registry_trial(const struct policy_registry *registry, const char *text, struct policy_registry **ret_trial,
                          char ret_error[POLICY_REGISTRY_ERROR_MAX]);
/* What decisions about this group go by. */
void policy_registry_rules(struct policy_registry *registry, const char *cluster, const char *group,
                           const char *instance_type, struct policy_settings *ret_rules);

/* Whether it could be put. INVALID or TOO_LARGE with the line and what to do. */
int policy_registry_check(const char *text, char ret_error[POLICY_REGISTRY_ERROR_MAX]);
struct policy_registry_group {
    struct policy_place place;
    int64_t desired;
};
/* What of a document that can be read is hardly meant: entries of groups that are for none of these groups, and limits under which
 * no repair ever begins by itself, also for their size. A sentence each. */
typedef void (*policy_warning_fn)(const char *sentence, void *arg);
void policy_registry_warn(const struct policy_registry *registry, const char *text,
                          const struct policy_registry_group *groups, size_t count, int64_t now_ms,
                          policy_warning_fn fn, void *arg);
/* Takes the place of an older version; a younger one stays. What cannot be read changes nothing. */
int policy_registry_put(struct policy_registry *registry, int64_t version, const char *text,
                        char ret_error[POLICY_REGISTRY_ERROR_MAX]);
/* 0: no document. */
int64_t policy_registry_version(struct policy_registry *registry);

/* What counts for this group, and by which version. */
int64_t policy_registry_resolve(struct policy_registry *registry, const char *cluster, const char *group,
                                const char *instance_type, struct loop_settings *ret_settings);
/* The same for people; cluster NULL: what counts for groups that no entry of the document matches. */
int64_t policy_registry_show(struct policy_registry *registry, const char *cluster, const char *group,
                             const char *instance_type, struct service_policy *ret_policy);

#endif
