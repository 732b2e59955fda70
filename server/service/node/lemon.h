/* Lemons: machines, devices and slots with a past. Part of service.h. */
#ifndef HOLDFAST_SERVER_SERVICE_LEMON_H
#define HOLDFAST_SERVER_SERVICE_LEMON_H

#include "model/hardware.h"
#include "model/model.h"

struct problem;
struct service;

/* What a node's past weighs (policy/lemon.c): that of its machine, of the machine's worst device, and of the slot. */
struct service_lemon {
    char node[NODE_NAME_MAX_BYTES], group[NAME_MAX_BYTES];
    char instance_id[ID_INSTANCE_MAX];
    char device[DEVICE_MAX_BYTES], identity[HARDWARE_IDENTITY_MAX_BYTES]; /* of the worst; "": no repair named one */
    int64_t score, device_score, slot_score;
    int64_t repairs, not_cleared, last_at; /* of the machine, within the window */
    int64_t limit, window_ms;              /* of its group's policy; limit 0: none */
};
int service_lemon_get(struct service *s, const char *cluster, const char *node, struct service_lemon *ret_lemon,
                      struct problem *ret_problem);
/* The nodes of a cluster whose past weighs anything, the worst first. The list is the caller's. */
int service_lemon_list(struct service *s, const char *cluster, struct service_lemon **ret_lemons, size_t *ret_count,
                       struct problem *ret_problem);

#endif
