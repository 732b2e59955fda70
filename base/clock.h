/*
 * Time as a thing that is handed in.
 *
 * Nothing above base/ reads the system's clock: it asks the struct clock it was
 * given, so that a test can own time. wall_ms is milliseconds since 1970 (UTC),
 * mono_ms never goes back. Texts are RFC 3339 in UTC with milliseconds.
 */
#ifndef HOLDFAST_BASE_CLOCK_H
#define HOLDFAST_BASE_CLOCK_H

#include "base/duration.h"

#include <stddef.h>
#include <stdint.h>
#include <time.h>

struct steady;

struct clock {
    int64_t (*wall_ms)(const struct clock *clock);
    int64_t (*mono_ms)(const struct clock *clock);
    int64_t fake_ms, fake_skew_ms; /* used by the fake clock only */
    struct steady *steady;         /* the same; NULL: its wall clock jumps */
};

/* The system's clocks. Static; never freed. */
const struct clock *clock_system(void);
/* Makes *clock a fake that stands at start_ms until clock_fake_advance. */
void clock_fake_init(struct clock *clock, int64_t start_ms);
void clock_fake_advance(struct clock *clock, int64_t by_ms);
/* Only the wall clock moves, forward or back, as when somebody sets it. */
void clock_fake_jump(struct clock *clock, int64_t by_ms);

/* From now on the system's wall clock is steady in this process (base/steady.h), and not before the newest time that was stored. */
void clock_keep_steady(int64_t not_before_ms);
/* How far the wall clock was set since the last call; 0: it was not, or it is not kept steady. */
int64_t clock_take_step(const struct clock *clock);
/* What the machine's wall clock says, whatever is kept steady: for signatures and certificates, which others judge by theirs. */
int64_t clock_true_ms(const struct clock *clock);
/* How far steady time is ahead of that: for times that others told. */
int64_t clock_ahead_ms(const struct clock *clock);

int64_t clock_wall_ms(const struct clock *clock);
int64_t clock_mono_ms(const struct clock *clock);

/* The uses of the machine's own clocks that no test needs to own: how long our own work took, to be
 * shown and never to decide by, and the instant in_ms (>= 0) from now for a wait on a CLOCK_MONOTONIC condition. */
int64_t clock_stopwatch_us(void);
/* Milliseconds since the machine's boot, time asleep included: grows over every restart of a process within a boot. */
int64_t clock_boot_ms(void);
struct timespec clock_deadline(int64_t in_ms);

/* Writes RFC 3339 into ret_text (at least CLOCK_TEXT_MAX bytes); returns ret_text. Empty text for at_ms <= 0. */
const char *clock_format(int64_t at_ms, char *ret_text);
/* Strict RFC 3339 with Z or offset. STATUS_INVALID when it is anything else. */
int clock_parse(const char *text, int64_t *ret_ms);

#endif
