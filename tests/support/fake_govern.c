/*
 * The fake scheduler's partitions: a class's partition has its weight for tier, quotas fail for want of accounting. It keeps the
 * contract of governance.h: nothing is touched that is not held, with the value that it shall have.
 */
#include "tests/support/fake_scheduler.h"

#include "base/own.h"
#include "base/status.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct fake_partition *fake_partition_add(struct fake_scheduler *fake, const char *name, int64_t tier)
{
    if (fake->partition_count == FAKE_PARTITIONS_MAX)
        abort();
    struct fake_partition *partition = &fake->partitions[fake->partition_count++];
    *partition = (struct fake_partition){.tier = tier};
    snprintf(partition->name, sizeof(partition->name), "%s", name);
    return partition;
}

struct fake_partition *fake_partition_find(struct fake_scheduler *fake, const char *name)
{
    for (int i = 0; i < fake->partition_count; i++)
        if (strcmp(fake->partitions[i].name, name) == 0)
            return &fake->partitions[i];
    return NULL;
}

static void say(struct scheduler_answer *answer, enum scheduler_outcome outcome, const char *why, const char *what)
{
    answer->outcome = outcome;
    snprintf(answer->why, sizeof(answer->why), "%s%s", why, what);
}

static const struct governance_held *held_find(const struct scheduler_governance *request, const char *name,
                                               bool *claimed)
{
    for (size_t i = 0; i < request->held_count; i++)
        if (strcmp(request->held[i].name, name) == 0) {
            claimed[i] = true;
            return &request->held[i];
        }
    return NULL;
}

static void want(struct scheduler_governance *request, const struct governance_held *held)
{
    request->wanted = own_realloc(request->wanted, request->wanted_count + 1, sizeof(*request->wanted));
    request->wanted[request->wanted_count++] = *held;
}

static void bring(struct fake_scheduler *fake, struct scheduler_governance *request,
                  const struct scheduler_class *class, struct scheduler_answer *answer, bool *claimed)
{
    struct fake_partition *partition = fake_partition_find(fake, class->name);
    const struct governance_held *held = held_find(request, class->name, claimed);
    struct governance_held next = {.object = GOVERNANCE_OBJECT_PARTITION, .value = class->weight};
    if (partition == NULL) {
        say(answer, SCHEDULER_OUTCOME_FAILED, "no partition named ", class->name);
        return;
    }
    if (held != NULL && held->value == class->weight) {
        if (partition->tier != class->weight)
            partition->sets++;
        partition->tier = class->weight;
        if (answer->outcome == SCHEDULER_OUTCOME_UNASKED)
            answer->outcome = SCHEDULER_OUTCOME_HOLDS;
        return;
    }
    next.former = held != NULL ? held->former : partition->tier;
    next.previous = partition->tier;
    snprintf(next.name, sizeof(next.name), "%s", class->name);
    snprintf(next.mark, sizeof(next.mark), "fake");
    want(request, &next);
    say(answer, SCHEDULER_OUTCOME_LATER, "about to be set: ", class->name);
}

static void release(struct fake_scheduler *fake, struct scheduler_governance *request, const bool *claimed)
{
    for (size_t i = 0; i < request->held_count; i++) {
        struct fake_partition *partition = fake_partition_find(fake, request->held[i].name);
        if (!claimed[i] && fake->stuck != NULL) {
            snprintf(request->stuck, sizeof(request->stuck), "%s", fake->stuck);
            continue;
        }
        request->gone[i] = !claimed[i] && (partition == NULL || partition->tier == request->held[i].former);
        if (!claimed[i] && partition != NULL)
            partition->tier = request->held[i].former;
        request->more = request->more || (!claimed[i] && !request->gone[i]);
    }
}

int fake_govern(struct scheduler *s, struct scheduler_governance *request, char *error)
{
    struct fake_scheduler *fake = (struct fake_scheduler *)(void *)s;
    autofree bool *claimed = own_calloc(request->held_count + 1, sizeof(*claimed));
    int status = fake_outcome_begin(fake->outcome, error);
    if (status == 0 && fake->down)
        status = STATUS_UNAVAILABLE;
    if (status != 0)
        return status;
    fake->governed++;
    request->gone = own_calloc(request->held_count + 1, sizeof(*request->gone));
    for (size_t i = 0; i < request->count; i++) {
        struct scheduler_rule *rule = &request->rules[i];
        struct scheduler_answer *classes = &rule->answers[SCHEDULER_PART_PRIORITY_CLASSES];
        if (rule->kind == GOVERNANCE_KIND_COMPUTE_QUOTA && !rule->off)
            say(&rule->answers[SCHEDULER_PART_RESOURCES], SCHEDULER_OUTCOME_FAILED, "no accounting", "");
        if (fake->waits && rule->asked[SCHEDULER_PART_FAIR_SHARE])
            say(&rule->answers[SCHEDULER_PART_FAIR_SHARE], SCHEDULER_OUTCOME_LATER, "under way", "");
        for (size_t k = 0; k < rule->class_count; k++)
            bring(fake, request, &rule->classes[k], classes, claimed);
    }
    release(fake, request, claimed);
    return fake_outcome_end(fake->outcome, 0, error);
}
