/*
 * The manual provider: machines that people, or a tool that Holdfast knows nothing of, start, reboot and take away. Their agents
 * enrol with an enrolment token of the slot.
 *
 * There is nothing to configure and nothing to call, so every hpd has it: the loop says what is to be done and
 * waits for what the agents report (provider.h: by_person).
 */
#ifndef HOLDFAST_SERVER_PROVIDER_MANUAL_MANUAL_H
#define HOLDFAST_SERVER_PROVIDER_MANUAL_MANUAL_H

#include "server/provider/provider.h"

struct provider_driver manual_driver(void);

#endif
