/*
 * The hardware of this machine and the state of its checks, as their runs report them. All of it is sent to the server when any of
 * it changes. It is kept in memory only: after a restart of the agent the checks report it again.
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
/* A check that will run. A known one keeps its state. */
void inventory_expect(struct inventory *inventory, const char *name);
/* Forgets checks that no longer run. */
/* Forgets all results: every check has to report again. */
void inventory_renew(struct inventory *inventory);
void inventory_forget(struct inventory *inventory, bool (*is_run)(const char *name, void *arg), void *arg);
/* The state of a check that is not in checks.h: the kernel log. */
void inventory_note(struct inventory *inventory, const char *name, bool is_covered);
void inventory_take(struct inventory *inventory, const char *name, const struct check_report *report);

#endif
