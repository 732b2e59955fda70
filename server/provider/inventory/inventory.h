/*
 * The provider kind "inventory": machines that a site owns, in the store (model/machine.h). A launch takes a spare whose agent is seen
 * and whose checks found nothing wrong; a termination gives the machine back, and one that was broken goes to the bench, where it
 * stays until a person returns it. Nothing is switched on or off here: the agent of a spare runs already, and becomes the agent of the
 * slot.
 */
#ifndef HOLDFAST_SERVER_PROVIDER_INVENTORY_INVENTORY_H
#define HOLDFAST_SERVER_PROVIDER_INVENTORY_INVENTORY_H

#include "model/machine.h"
#include "server/provider/provider.h"

/* Copies what it needs. store->arg must outlive the provider. */
struct provider_driver inventory_new(const char *name, const struct machine_store *store);

/*
 * Which spare a launch gets (choose.c). It has to be ready. One that stood in the same chassis, else on the same switch, else in the same
 * rack as the slot's last machine goes first, for the sake of the topology; among equals the one that has been a spare the longest.
 *
 * Who gets the last spares: while more launches wait than spares are ready, the group that lacks the fewest machines goes first, since
 * one more may let its job run again; then the launch that has waited the longest.
 */
machine_choose_fn inventory_choose;

#endif
