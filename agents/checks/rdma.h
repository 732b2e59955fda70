/*
 * The ports below /sys/class/infiniband, of InfiniBand, of RoCE and of Elastic Fabric Adapters alike: read, understood
 * and judged. agents/checks/infiniband.c and efa.c differ in which devices they look at, and in their tables.
 */
#ifndef HOLDFAST_AGENTS_CHECKS_RDMA_H
#define HOLDFAST_AGENTS_CHECKS_RDMA_H

#include "agents/checks/network_limits.h"
#include "agents/checks/recall.h"

#define RDMA_NAME_MAX_BYTES 64 /* IB_DEVICE_NAME_MAX */
#define RDMA_PORTS_MAX 128
#define RDMA_STATE_ACTIVE 4        /* "4: ACTIVE" */
#define RDMA_PHYS_STATE_DISABLED 3 /* "3: Disabled" */

enum rdma_layer { RDMA_LAYER_OTHER, RDMA_LAYER_INFINIBAND, RDMA_LAYER_ETHERNET };

struct rdma_port {
    char device[RDMA_NAME_MAX_BYTES];
    int number;
    int state, phys_state; /* the kernel's numbers; -1: not known */
    int64_t rate_mbps;     /* -1: not known */
    enum rdma_layer layer;
    bool interface_off; /* its network interfaces are there, and all are administratively down */
};

struct rdma_codes {
    const char *down, *flapping;
    const char *slow; /* NULL: the rate is not judged */
    const struct counter_limit *limits;
    size_t limit_count;
    const char *metrics; /* what the names of its measurements begin with */
};

/* --- pure ---------------------------------------------------------------------------------------------------- */

int rdma_parse_state(const char *text);         /* "4: ACTIVE\n" → 4; -1 */
int64_t rdma_parse_rate_mbps(const char *text); /* "2.5 Gb/sec (1X SDR)\n" → 2500; -1 */
enum rdma_layer rdma_parse_layer(const char *text);
/* Whether a port that is not active is so because somebody wants it. */
bool rdma_port_is_off(const struct rdma_port *port);
/* Its state, its changes and its rate against what is remembered. downed: how often the hardware counted the link down;
 * -1 when it does not. */
void rdma_judge_port(const struct rdma_port *port, const struct rdma_codes *codes, int64_t downed, bool settled,
                     struct recall *recall, struct check_out *out);

/* --- reading ------------------------------------------------------------------------------------------------- */

/* The ports of one kind, in the order of their names; not those of virtual functions, which containers are given, nor of
 * software. Caller frees. NOT_FOUND: this kernel knows no such devices. */
int rdma_read_ports(const struct check_context *context, bool efa, struct rdma_port **ret_ports, size_t *ret_count);
/* Ports of one device stand together. */
int rdma_count_devices(const struct rdma_port *ports, size_t count);
/* Elastic Fabric Adapters on the PCI bus, whether a driver has taken them or not; or all other functions of the bus that
 * have a device here, also one that was moved into a container's network and is not to be seen for us. */
int rdma_count_on_bus(const struct check_context *context, bool efa);
/* All that is to be said of one port: its state, the counters of the table, and all there are as measurements. */
void rdma_look_at(const struct check_context *context, const struct rdma_port *port, const struct rdma_codes *codes,
                  struct recall *recall, struct check_out *out);

#endif
