/*
 * What all scheduler backends share: what they are handed and hand out is made and freed in one place.
 */
#include "server/scheduler/scheduler.h"
#include "server/scheduler/desired.h"
#include "server/scheduler/workload.h"

#include "base/hash.h"
#include "base/own.h"
#include "base/text.h"
#include "model/role_file.h"

#include <stdlib.h>
#include <string.h>

struct scheduler_driver scheduler_driver_make(const struct scheduler_ops *ops, struct scheduler *self)
{
    bool required = ops->name != NULL && ops->observe != NULL && ops->cordon != NULL && ops->uncordon != NULL &&
                    ops->workloads != NULL && ops->evict != NULL;
    bool requests = ops->requests == NULL || (ops->requests->explain != NULL && ops->requests->annotate != NULL);
    bool jobs = ops->jobs == NULL || ops->jobs->snapshot != NULL;
    bool others =
        (ops->signals == NULL || ops->signals->signal != NULL) &&
        (ops->addresses == NULL || ops->addresses->update != NULL) &&
        (ops->topology == NULL || ops->topology->places != NULL) &&
        (ops->governance == NULL || ops->governance->govern != NULL) &&
        (ops->quarantine == NULL || ops->quarantine->set != NULL) &&
        (ops->configuration == NULL || ops->configuration->apply != NULL) &&
        (ops->budgets == NULL || ops->budgets->end != NULL) && (ops->machines == NULL || ops->machines->gone != NULL) &&
        (ops->faults == NULL || ops->faults->show != NULL) && (ops->reboots == NULL || ops->reboots->reboot != NULL) &&
        (ops->labels == NULL || ops->labels->keep != NULL) &&
        (ops->roles == NULL || (ops->roles->name != NULL && ops->roles->parse != NULL)) &&
        (ops->training == NULL || workload_ops_are_whole(ops->training));
    if (!required || !requests || !jobs || !others)
        abort(); /* ours: a backend with a part missing */
    return (struct scheduler_driver){.ops = ops, .self = self};
}

void scheduler_observation_free(struct scheduler_observation *observation)
{
    if (observation == NULL)
        return;
    free(TAKE(observation->nodes));
    free(TAKE(observation->words));
    observation->count = 0;
}

/* Adds a word with its zero byte. */
static const char *keep_word(struct text *words, const char *word)
{
    text_add_bytes(words, word, strlen(word) + 1);
    return word;
}

static const char *next_word(const char **at)
{
    const char *word = *at;
    *at += strlen(word) + 1;
    return word;
}

/* What people choose nodes by, in memory of the snapshot's own. */
void scheduler_snapshot_nodes(struct job_snapshot *snapshot, const struct scheduler_observation *seen)
{
    AUTO(text) struct text words = {0};
    uint64_t sum = HASH_BASIS;
    for (size_t i = 0; i < seen->count; i++) {
        const struct scheduler_node *node = &seen->nodes[i];
        sum = hash_text(sum, keep_word(&words, node->name));
        keep_word(&words, node->state);
        sum = hash_text(sum, keep_word(&words, scheduler_word(seen, node->partitions)));
        sum = hash_text(sum, keep_word(&words, scheduler_word(seen, node->features)));
        keep_word(&words, scheduler_word(seen, node->gres));
    }
    snapshot->node_digest = sum;
    snapshot->nodes = own_calloc(seen->count == 0 ? 1 : seen->count, sizeof(*snapshot->nodes));
    snapshot->node_count = seen->count;
    const char *at = job_snapshot_keep(snapshot, text_take(&words));
    for (size_t i = 0; i < seen->count; i++) {
        struct job_node *node = &snapshot->nodes[i];
        node->name = next_word(&at);
        node->state = next_word(&at);
        node->partitions = next_word(&at);
        node->features = next_word(&at);
        node->gres = next_word(&at);
        node->down = seen->nodes[i].down;
        node->unheard = !seen->nodes[i].responding && !seen->nodes[i].switched_off;
    }
}

void scheduler_quarantine_free(struct scheduler_quarantine *quarantine)
{
    if (quarantine == NULL)
        return;
    free(quarantine->nodes);
    free(quarantine);
}

ENUM_DEFINE(scheduler_part, SCHEDULER_PART_LIST)

struct scheduler_governance *scheduler_governance_new(void)
{
    return own_calloc(1, sizeof(struct scheduler_governance));
}

void scheduler_governance_free(struct scheduler_governance *governance)
{
    if (governance == NULL)
        return;
    free(governance->rules);
    free(governance->held);
    free(governance->wanted);
    free(governance->gone);
    free(governance);
}

struct scheduler_rule *scheduler_governance_add(struct scheduler_governance *governance)
{
    governance->rules = own_realloc(governance->rules, governance->count + 1, sizeof(*governance->rules));
    struct scheduler_rule *rule = &governance->rules[governance->count++];
    *rule = (struct scheduler_rule){0};
    return rule;
}

void scheduler_desired_free(struct scheduler_desired *desired)
{
    if (desired == NULL)
        return;
    free(desired->nodes);
    free(desired);
}

void scheduler_labels_free(struct scheduler_labels *labels)
{
    if (labels == NULL)
        return;
    for (size_t i = 0; i < labels->group_count; i++)
        kubernetes_spec_free(&labels->groups[i].wanted);
    for (size_t i = 0; i < labels->count; i++)
        free(labels->nodes[i].current);
    free(labels->groups);
    free(labels->nodes);
    free(labels);
}
