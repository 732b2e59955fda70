/*
 * Which signals of trouble on many nodes are one incident of what they share. Pure like the rest of this room: signals go in with
 * the domains of their nodes as numbers, incidents come out.
 *
 * A signal is a node that nobody hears, or a verdict about its network or its power. Faults of GPUs, memory and disks are not:
 * three of them in one rack are three faults, for no rack breaks a GPU's memory, while switches, cables and supplies
 * take whatever hangs on them.
 *
 * Machines of a domain that restart together, within seconds, are one, too: a chassis or a line did that, and of a chassis two are enough.
 * One that restarts alone is no sign.
 *
 * So many nodes of one domain within the window are an incident of it. The narrowest domain that explains them is blamed: a wider
 * one only when it has so many more of its own, or when two narrower ones failed in it. What comes to a domain that has an
 * incident belongs to it.
 */
#ifndef HOLDFAST_POLICY_INCIDENT_H
#define HOLDFAST_POLICY_INCIDENT_H

#include "policy/policy.h"

struct policy_outage_signal {
    int64_t node_id, at;
    int64_t until; /* INT64_MAX: as long as its verdict is open, or nobody hears the node */
    enum incident_cause cause;
    bool boot; /* a boot that nobody asked for: it counts with others of its domain that booted at the same time */
    uint32_t domain[TOPOLOGY_LEVEL_COUNT]; /* 0: not known */
    int shared;                            /* out: which of the incidents takes it; -1: none */
};

struct policy_shared {
    enum topology_level level;
    uint32_t domain;
    enum incident_cause cause; /* what explains most of its nodes; links and supplies explain silence, too */
    int64_t first_at, last_at;
    size_t count;
};

/* Sorts the signals by node and keeps one of each; the order in which they come does not matter. Caller frees *ret_shared. */
size_t policy_share(const struct policy_settings *settings, struct policy_outage_signal *signals, size_t *count,
                    struct policy_shared **ret_shared);

/* Whether a verdict is an outage signal, of no node yet. What has happened and is never over (a link that flapped) is one for as long as it takes
 * others to join and the place to settle: else no incident of it would end. */
bool policy_outage_signal_of(const struct policy_settings *settings, const struct verdict *verdict,
                             struct policy_outage_signal *ret_signal);

/* Whether the domain is back: fewer of its nodes still show it than make an incident, or not half of them. */
bool policy_incident_is_settled(const struct policy_settings *settings, int64_t nodes, int64_t affected);

#endif
