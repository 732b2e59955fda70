/*
 * Ordinary network interfaces and bonds: the pure half of agents/checks/net.c.
 */
#ifndef HOLDFAST_AGENTS_CHECKS_NET_H
#define HOLDFAST_AGENTS_CHECKS_NET_H

#include "agents/checks/recall.h"

#define NET_NAME_MAX_BYTES 16 /* IFNAMSIZ */
#define NET_SLAVES_MAX 32

enum net_state { NET_UNKNOWN, NET_UP, NET_DOWN };

struct net_interface {
    char name[NET_NAME_MAX_BYTES];
    enum net_state state;
    bool wanted; /* administratively up */
    bool used;   /* it has a route, or is part of a bond */
    char bond[NET_NAME_MAX_BYTES];
    int64_t downs;      /* how often it lost its carrier; -1: not known */
    int64_t speed_mbps; /* -1: not known */
};

struct net_slave {
    char name[NET_NAME_MAX_BYTES];
    bool up;
};

enum net_state net_parse_state(const char *text); /* "up\n", "down\n", "lowerlayerdown\n" */
/* Whether a table of routes as /proc/net/route has it, or as /proc/net/ipv6_route, names the interface. Routes that every
 * interface has that is up (fe80::/64, ff00::/8) do not count. */
bool net_has_route(const char *routes, const char *name);
bool net_has_route6(const char *routes, const char *name);
/* /proc/net/bonding/NAME: the parts of a bond and how the bond's own watch sees them. Returns how many. */
size_t net_parse_bond(const char *text, struct net_slave *ret_slaves, size_t count_max);
/* Its state, flaps and speed against what is remembered. */
void net_judge(const struct net_interface *interface, bool settled, struct recall *recall, struct check_out *out);

#endif
