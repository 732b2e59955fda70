/*
 * What this machine is made of and how its checks stand, as their runs say it: gathered for the server, which is told all of it
 * when something of it has changed. In memory alone: after a start of the agent the checks say it anew.
 */
#ifndef HOLDFAST_AGENTS_NODE_INVENTORY_H
#define HOLDFAST_AGENTS_NODE_INVENTORY_H

#include "agents/checks/report.h"

#define INVENTORY_REPORTERS 2

struct inventory {
    struct machine_report report;
    const char *reporters[HARDWARE_MAX]; /* the check that reported each piece; static */
    bool looked[INVENTORY_REPORTERS];    /* those that report hardware, and have had a whole run */
    bool changed;
};

void inventory_init(struct inventory *inventory, const char *instance_id, const char *boot_id);
/* A check that is to run and has not; one that is known already stays as it is. */
void inventory_expect(struct inventory *inventory, const char *name);
/* A check that is not run any more. */
/* No check has looked since now. */
void inventory_renew(struct inventory *inventory);
void inventory_forget(struct inventory *inventory, bool (*is_run)(const char *name, void *arg), void *arg);
/* The same of what is no check of checks.h: the kernel log. */
void inventory_note(struct inventory *inventory, const char *name, bool is_covered);
void inventory_take(struct inventory *inventory, const char *name, const struct check_report *report);

#endif
