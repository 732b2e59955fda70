/*
 * What several nodes share, and the incident that takes them all.
 *
 * Levels from the narrowest to the widest. Which of them a node has comes from its slot (the zone), from Slurm's topology (switch,
 * UltraServer), from the inventory (chassis, rack, switch) and from people. An incident is of one domain of one cluster: its nodes wait for it, and are not repaired one by one.
 */
#ifndef HOLDFAST_MODEL_INCIDENT_H
#define HOLDFAST_MODEL_INCIDENT_H

#include "base/enum.h"
#include "model/limits.h"

#include <stdint.h>

#define TOPOLOGY_LEVEL_LIST(X)     \
    X(CHASSIS, "chassis")          \
    X(ULTRASERVER, "ultraserver")  \
    X(SWITCH, "switch")            \
    X(RACK, "rack")                \
    X(POWER_DOMAIN, "powerDomain") \
    X(ZONE, "zone")
enum topology_level {
#define X(SYMBOL, text) TOPOLOGY_LEVEL_##SYMBOL,
    TOPOLOGY_LEVEL_LIST(X)
#undef X
        TOPOLOGY_LEVEL_COUNT
};
ENUM_DECLARE(topology_level);
/* How people name it: "UltraServer". */
const char *topology_level_title(enum topology_level level);
/* A level by its name, or by the label that Kubernetes has for it on a node. 0, or INVALID. */
int topology_label_parse(const char *label, enum topology_level *ret_level);

/* What the nodes of an incident show. */
#define INCIDENT_CAUSE_LIST(X)                                        \
    X(UNREACHABLE, "unreachable") /* nobody hears them */             \
    X(NETWORK, "network")         /* their links are down, or flap */ \
    X(POWER, "power")             /* supplies fail, or it gets too hot */
enum incident_cause {
#define X(SYMBOL, text) INCIDENT_CAUSE_##SYMBOL,
    INCIDENT_CAUSE_LIST(X)
#undef X
        INCIDENT_CAUSE_COUNT
};
ENUM_DECLARE(incident_cause);

struct shared_incident {
    int64_t id, cluster_id;
    char cluster[NAME_MAX_BYTES]; /* filled in by who reads it */
    enum topology_level level;
    char domain[TOPOLOGY_NAME_MAX_BYTES];
    enum incident_cause cause;
    int64_t started_at, settled_since; /* settled_since: its nodes are back since then; 0: they are not */
    int64_t ended_at;                  /* 0: it goes on */
    char ended_by[SENTENCE_MAX_BYTES];
    int64_t part_of;         /* the incident that took its nodes over, and counts for both; 0: none */
    int64_t nodes, affected; /* all it ever took, and those that still wait for it */
};

struct incident_node {
    int64_t incident_id, node_id;
    char name[NODE_NAME_MAX_BYTES];
    enum incident_cause cause;
    int64_t since, back_at; /* back_at 0: it still shows it */
};

#endif
