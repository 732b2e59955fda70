/*
 * Refusals of wrong tokens, agent credentials and signatures are delayed. Each address may be wrong some times at once and then once a second;
 * beyond that its refusals wait. What is
 * right is never slowed, so that nobody behind the same address is locked out. Loopback is exempt: there it is a proxy, or this machine.
 */
#ifndef HOLDFAST_API_REFUSALS_H
#define HOLDFAST_API_REFUSALS_H

#include <stdbool.h>
#include <stdint.h>

#define REFUSALS_BURST 20
#define REFUSALS_DELAY_MS 1000

struct refusals;

/* 0: the constants. */
struct refusals *refusals_new(int burst, int64_t delay_ms, bool loopback_too);
void refusals_free(struct refusals *refusals); /* accepts NULL */
/* A wrong one came from there: how long its answer waits. Any thread. */
int64_t refusals_delay_ms(struct refusals *refusals, const char *peer, bool is_loopback, int64_t now_ms);

#endif
