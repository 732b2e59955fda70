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

static void say(struct scheduler_answer *answer, enum scheduler_fate fate, const char *why, const char *what)
{
    answer->fate = fate;
    snprintf(answer->why, sizeof(answer->why), "%s%s", why, what);
}

static const struct governance_held *held_find(const struct scheduler_governance *wish, const char *name, bool *claimed)
{
    for (size_t i = 0; i < wish->held_count; i++)
        if (strcmp(wish->held[i].name, name) == 0) {
            claimed[i] = true;
            return &wish->held[i];
        }
    return NULL;
}

static void want(struct scheduler_governance *wish, const struct governance_held *held)
{
    wish->wanted = own_realloc(wish->wanted, wish->wanted_count + 1, sizeof(*wish->wanted));
    wish->wanted[wish->wanted_count++] = *held;
}

static void bring(struct fake_scheduler *fake, struct scheduler_governance *wish, const struct scheduler_class *class,
                  struct scheduler_answer *answer, bool *claimed)
{
    struct fake_partition *partition = fake_partition_find(fake, class->name);
    const struct governance_held *held = held_find(wish, class->name, claimed);
    struct governance_held next = {.thing = GOVERNANCE_THING_PARTITION, .value = class->weight};
    if (partition == NULL) {
        say(answer, SCHEDULER_FATE_FAILED, "no partition named ", class->name);
        return;
    }
    if (held != NULL && held->value == class->weight) {
        if (partition->tier != class->weight)
            partition->sets++;
        partition->tier = class->weight;
        if (answer->fate == SCHEDULER_FATE_UNASKED)
            answer->fate = SCHEDULER_FATE_HOLDS;
        return;
    }
    next.former = held != NULL ? held->former : partition->tier;
    next.previous = partition->tier;
    snprintf(next.name, sizeof(next.name), "%s", class->name);
    snprintf(next.mark, sizeof(next.mark), "fake");
    want(wish, &next);
    say(answer, SCHEDULER_FATE_LATER, "about to be set: ", class->name);
}

static void release(struct fake_scheduler *fake, struct scheduler_governance *wish, const bool *claimed)
{
    for (size_t i = 0; i < wish->held_count; i++) {
        struct fake_partition *partition = fake_partition_find(fake, wish->held[i].name);
        wish->gone[i] = !claimed[i] && (partition == NULL || partition->tier == wish->held[i].former);
        if (!claimed[i] && partition != NULL)
            partition->tier = wish->held[i].former;
        wish->more = wish->more || (!claimed[i] && !wish->gone[i]);
    }
}

int fake_govern(struct scheduler *s, struct scheduler_governance *wish, char *error)
{
    struct fake_scheduler *fake = (struct fake_scheduler *)(void *)s;
    autofree bool *claimed = own_calloc(wish->held_count + 1, sizeof(*claimed));
    int status = fake_fate_begin(fake->fate, error);
    if (status == 0 && fake->down)
        status = STATUS_UNAVAILABLE;
    if (status != 0)
        return status;
    fake->governed++;
    wish->gone = own_calloc(wish->held_count + 1, sizeof(*wish->gone));
    for (size_t i = 0; i < wish->count; i++) {
        struct scheduler_rule *rule = &wish->rules[i];
        struct scheduler_answer *classes = &rule->answers[SCHEDULER_PART_PRIORITY_CLASSES];
        if (rule->kind == GOVERNANCE_KIND_COMPUTE_QUOTA && !rule->off)
            say(&rule->answers[SCHEDULER_PART_RESOURCES], SCHEDULER_FATE_FAILED, "no accounting", "");
        for (size_t k = 0; k < rule->class_count; k++)
            bring(fake, wish, &rule->classes[k], classes, claimed);
    }
    release(fake, wish, claimed);
    return fake_fate_end(fake->fate, 0, error);
}
