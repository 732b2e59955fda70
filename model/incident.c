/* The texts of what nodes share. */
#include "model/incident.h"

#include "base/status.h"

#include <string.h>

ENUM_DEFINE(topology_level, TOPOLOGY_LEVEL_LIST)
ENUM_DEFINE(incident_cause, INCIDENT_CAUSE_LIST)

static const char *const titles[] = {[TOPOLOGY_LEVEL_CHASSIS] = "chassis",
                                     [TOPOLOGY_LEVEL_ULTRASERVER] = "UltraServer",
                                     [TOPOLOGY_LEVEL_SWITCH] = "switch",
                                     [TOPOLOGY_LEVEL_RACK] = "rack",
                                     [TOPOLOGY_LEVEL_POWER_DOMAIN] = "power domain",
                                     [TOPOLOGY_LEVEL_ZONE] = "zone"};

/* What HyperPod and Kubernetes put on nodes. The third layer is the switch that the node hangs on. */
static const struct {
    const char *label;
    enum topology_level level;
} labels[] = {
    {"topology.k8s.aws/ultraserver-id", TOPOLOGY_LEVEL_ULTRASERVER},
    {"topology.k8s.aws/network-node-layer-3", TOPOLOGY_LEVEL_SWITCH},
    {"topology.kubernetes.io/zone", TOPOLOGY_LEVEL_ZONE},
};

const char *topology_level_title(enum topology_level level)
{
    return titles[level];
}

int topology_label_parse(const char *label, enum topology_level *ret_level)
{
    for (size_t i = 0; i < sizeof(labels) / sizeof(labels[0]); i++)
        if (strcmp(labels[i].label, label) == 0) {
            *ret_level = labels[i].level;
            return 0;
        }
    return topology_level_parse(label, ret_level);
}
