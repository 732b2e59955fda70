/* Wall time that does not jump: see steady.h. Pure; base/clock.c locks it and reads the machine's clocks. */
#include "base/steady.h"

#include "base/clock.h"

#define STEP_MS (2 * MS_PER_S)          /* less is how clocks are kept, and no step */
#define FOLLOW_MAX_MS (30 * MS_PER_DAY) /* who started before the clock was set takes what it says then at once */
#define FOLLOW_SHARE 8

static int64_t between(int64_t value, int64_t least, int64_t most)
{
    return value < least ? least : value > most ? most : value;
}

void steady_begin(struct steady *steady, int64_t boot_ms, int64_t wall_ms, int64_t not_before_ms)
{
    *steady = (struct steady){.now_ms = wall_ms > not_before_ms ? wall_ms : not_before_ms,
                              .boot_ms = boot_ms,
                              .offset_ms = wall_ms - boot_ms};
    steady->stepped_ms = steady->now_ms - wall_ms >= STEP_MS ? wall_ms - steady->now_ms : 0;
}

int64_t steady_read(struct steady *steady, int64_t boot_ms, int64_t wall_ms)
{
    const int64_t passed = boot_ms - steady->boot_ms, step = wall_ms - boot_ms - steady->offset_ms;
    steady->boot_ms = boot_ms;
    steady->offset_ms = wall_ms - boot_ms;
    if (step >= STEP_MS || step <= -STEP_MS)
        steady->stepped_ms += step;
    steady->now_ms += passed;
    steady->credit_ms += passed;
    const int64_t behind = wall_ms - steady->now_ms, most = steady->credit_ms / FOLLOW_SHARE;
    if (behind > FOLLOW_MAX_MS) {
        steady->now_ms = wall_ms;
        steady->credit_ms = 0;
        return steady->now_ms;
    }
    const int64_t follow = between(behind, -(most < passed ? most : passed), most);
    steady->now_ms += follow;
    steady->credit_ms -= (follow < 0 ? -follow : follow) * FOLLOW_SHARE;
    if (behind == follow)
        steady->credit_ms = 0;
    return steady->now_ms;
}

int64_t steady_take_step(struct steady *steady)
{
    const int64_t by = steady->stepped_ms;
    steady->stepped_ms = 0;
    return by;
}
