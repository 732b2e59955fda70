/*
 * pod_resourceconfig.json: which address each rank of nodes has, for programs in the pod. An update may bring some ranks only.
 */
#ifndef HOLDFAST_AGENTS_LAUNCHER_ADDRESSES_H
#define HOLDFAST_AGENTS_LAUNCHER_ADDRESSES_H

#include "agents/launcher/place.h"
#include "base/json.h"

/* addresses: [{rank, ip}]. Written whole or not at all. STATUS_INVALID, STATUS_IO. */
int addresses_write(const char *directory, const struct place *place, const char *version, const json_t *addresses);

#endif
