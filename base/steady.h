/*
 * Wall time that does not jump.
 *
 * What has been waited for is told by the difference of two times. When somebody sets the machine's clock, an hour has passed for whoever
 * asks the wall clock and none for the machines that are waited for. Steady time goes on by the machine's own count, sleep included, and
 * follows the wall clock slowly (an eighth faster or slower) until both agree. It never goes back.
 */
#ifndef HOLDFAST_BASE_STEADY_H
#define HOLDFAST_BASE_STEADY_H

#include <stdbool.h>
#include <stdint.h>

struct steady {
    int64_t now_ms;
    int64_t boot_ms, offset_ms; /* when it was read last: the machine's count, and how far the wall clock was from it */
    int64_t credit_ms;          /* passed since it last came closer to the wall clock */
    int64_t stepped_ms;         /* how far the wall clock was set since that was asked; 0: not */
};

/* Begins at the wall clock's time, or at not_before_ms where that is later. */
void steady_begin(struct steady *steady, int64_t boot_ms, int64_t wall_ms, int64_t not_before_ms);
/* boot_ms never goes back. */
int64_t steady_read(struct steady *steady, int64_t boot_ms, int64_t wall_ms);
/* How far the wall clock was set since the last call, in ms; 0: it was not. */
int64_t steady_take_step(struct steady *steady);

#endif
