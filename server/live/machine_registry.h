/*
 * When the agent of each machine of an inventory was last heard while it waited, in memory: a spare is ready only while its agent
 * is seen. Nothing of it is stored, so after a start of hpd each counts again once it has reported. Thread-safe.
 */
#ifndef HOLDFAST_SERVER_MACHINE_REGISTRY_H
#define HOLDFAST_SERVER_MACHINE_REGISTRY_H

#include <stddef.h>
#include <stdint.h>

struct machine_registry;

struct machine_registry *machine_registry_new(void);
void machine_registry_free(struct machine_registry *registry); /* accepts NULL */
void machine_registry_seen(struct machine_registry *registry, int64_t machine_id, int64_t at);
/* 0: not since the start; also for a registry that is NULL. */
int64_t machine_registry_seen_at(struct machine_registry *registry, int64_t machine_id);
/* How many were heard since the start. */
size_t machine_registry_count(struct machine_registry *registry);

#endif
