/* The keys of a Kubernetes cluster in hpd's configuration. */
#ifndef HOLDFAST_SERVER_CONFIG_KUBERNETES_H
#define HOLDFAST_SERVER_CONFIG_KUBERNETES_H

#include "server/config/scheduler.h"

extern const struct config_scheduler_kind config_kubernetes_kind;

#endif
