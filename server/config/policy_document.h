/*
 * The policy document: what a site says of the settings of settings.c, in YAML, for all groups or for some, and by class
 * of fault. Read as a whole or refused with the line; applied on top of what hpd's configuration file says:
 *
 *   version: 1
 *   defaults:                         # of all groups
 *     recovery: {rebootsMax: 2, mode: act}
 *     agents: {unreachableAfter: 10m}
 *   classes:                          # of all groups, one kind of fault each
 *     gpu-memory: {mode: approve}
 *   groups:                           # later ones win
 *     - match: {cluster: train, group: gpu, instanceType: "ml.p5*"}   # all that are named; * stands at an end
 *       recovery: {budgetPercent: 10}
 *       classes: {network: {mode: observe}}
 *
 * Order, the last word counts: built-in, hpd's configuration file, defaults, classes, groups, classes of groups. So what an entry of
 * groups says of all classes stands above what is said of one class for the whole fleet, and only its own classes above that.
 */
#ifndef HOLDFAST_SERVER_POLICY_DOCUMENT_H
#define HOLDFAST_SERVER_POLICY_DOCUMENT_H

#include "server/config/settings.h"

#define POLICY_DOCUMENT_GROUPS_MAX 256
#define POLICY_DOCUMENT_ERROR_MAX 320
#define POLICY_DOCUMENT_FORMAT 1 /* what version: says */

struct policy_document;
/* What the document says, beside what it is: of all classes of fault, and of one. */
struct policy_said {
    bool all[SERVICE_SETTINGS_MAX];
    bool fault[SERVICE_SETTINGS_MAX][FAULT_CLASS_COUNT];
};

/* data ends with a zero behind len bytes. INVALID or TOO_LARGE, with line and what to do in ret_error; the caller frees what it
 * gets. */
int policy_document_parse(const char *data, size_t len, struct policy_document **ret_document,
                          char ret_error[POLICY_DOCUMENT_ERROR_MAX]);
void policy_document_free(struct policy_document *document); /* accepts NULL */

/* Puts over *settings what it says for this group; place NULL: for those that no entry of groups matches. ret_said may be NULL. */
void policy_document_apply(const struct policy_document *document, const struct policy_place *place,
                           struct loop_settings *settings, struct policy_said *ret_said);

/* Entries of groups that the document has, in its order, and whether one is for this place. */
size_t policy_document_entries(const struct policy_document *document); /* NULL: none */
bool policy_document_is_for(const struct policy_document *document, size_t entry, const struct policy_place *place);

#endif
