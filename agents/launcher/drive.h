/*
 * Who decides what follows: HyperPod's operator over HTTP, or this hprun, which starts its workers anew as often as it may.
 */
#ifndef HOLDFAST_AGENTS_LAUNCHER_DRIVE_H
#define HOLDFAST_AGENTS_LAUNCHER_DRIVE_H

#include "agents/launcher/launcher.h"

/* Runs until everything is over; returns the exit code of the program. */
int drive(const struct options *options, char *const env[]);

#endif
