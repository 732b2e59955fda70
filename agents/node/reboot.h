/*
 * The reboot of this machine, only where hp-agent was started with --allow-reboot (agents/node/single.h).
 *
 * Those who are logged in are told, the runner waits, asks the server whether the order is still wanted, stores that it begins, and runs
 * the command. An order is for one boot: what a runner finds that was begun is never run again, and another boot is what the server
 * waits for.
 */
#ifndef HOLDFAST_AGENTS_NODE_REBOOT_H
#define HOLDFAST_AGENTS_NODE_REBOOT_H

#define REBOOT_COMMAND "systemctl reboot" /* without --reboot-command */
#define REBOOT_COMMAND_MS 60000

#endif
