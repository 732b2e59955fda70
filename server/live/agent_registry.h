/*
 * Which settings the agents of each group shall have, in memory: what a heartbeat is compared with. From the store at start;
 * the use case that changes them puts them here after its commit. Thread-safe.
 */
#ifndef HOLDFAST_SERVER_AGENT_REGISTRY_H
#define HOLDFAST_SERVER_AGENT_REGISTRY_H

#include <stdint.h>

struct agent_registry;

struct agent_registry *agent_registry_new(void);
void agent_registry_free(struct agent_registry *registry); /* accepts NULL */
/* An older revision than the one that is there changes nothing. tag: model/agent_settings.h. */
void agent_registry_put(struct agent_registry *registry, int64_t group_id, int64_t revision, uint64_t tag);
/* 0: nothing is said of the group. Costs no lock where nothing is said of any. */
uint64_t agent_registry_tag(struct agent_registry *registry, int64_t group_id);
int64_t agent_registry_count(const struct agent_registry *registry);

#endif
