/* What the parts of bench/decide share. */
#ifndef HOLDFAST_BENCH_DECIDE_H
#define HOLDFAST_BENCH_DECIDE_H

#include "model/model.h"

#include <stdint.h>

#define OFF_THE_BUS "xid.79"

_Noreturn void die(const char *what);
double cpu_seconds(void);
struct verdict off_the_bus(const char *instance, const char *boot, int64_t number, int64_t now);

void decide_policy(void);
void decide_simulate(const char *nodes);

#endif
