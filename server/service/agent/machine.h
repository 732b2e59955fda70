/* What agents tell of their machines, as it is shown. */
#ifndef HOLDFAST_SERVER_SERVICE_MACHINE_H
#define HOLDFAST_SERVER_SERVICE_MACHINE_H

#include "model/hardware.h"
#include "server/service/service.h"

/* What the node's instance is made of and how its checks stand; hardware that is gone is in it, too. Large. */
struct service_machine {
    char instance_id[ID_INSTANCE_MAX], boot_id[BOOT_ID_MAX_BYTES]; /* of now; "": none */
    struct hardware hardware[HARDWARE_STORED_MAX];
    size_t hardware_count;
    struct check_state checks[CHECK_STATES_MAX];
    size_t check_count;
};
int service_node_hardware(struct service *s, const char *cluster, const char *node, struct service_machine *ret_machine,
                          struct problem *ret_problem);
/* The keys by which the sshd of each node's machine is known, of one node or of all (""): by name, after after_name. Rows are struct
 * host_key. */
int service_host_key_list(struct service *s, const char *cluster, const char *node, const char *after_name, int limit,
                          db_row_fn fn, void *arg, struct problem *ret_problem);

#endif
