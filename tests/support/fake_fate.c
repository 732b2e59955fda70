/* Chance and death for the fake backends. */
#include "tests/support/fake_fate.h"

#include "base/status.h"

#include <stdio.h>

#define ERROR_MAX 256

uint32_t fake_fate_draw(uint64_t *random, uint32_t below)
{
    *random += UINT64_C(0x9E3779B97F4A7C15); /* splitmix64 */
    uint64_t z = *random;
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return (uint32_t)((z ^ (z >> 31)) % below);
}

static bool happens(struct fake_fate *fate, int percent)
{
    return fate->random != 0 && percent > 0 && fake_fate_draw(&fate->random, 100) < (uint32_t)percent;
}

int fake_fate_begin(struct fake_fate *fate, char *error)
{
    fate->calls++;
    if (fate->die_before != 0 && fate->calls >= fate->die_before)
        fate->dead = true;
    if (!fate->dead && fate->clock != NULL && happens(fate, fate->hang_percent)) {
        clock_fake_advance(fate->clock, fate->hang_ms);
        snprintf(error, ERROR_MAX, "the fake backend did not answer in time");
        return STATUS_TIMEOUT;
    }
    if (fate->dead || happens(fate, fate->error_percent)) {
        snprintf(error, ERROR_MAX, "the fake backend fails this time");
        return STATUS_UNAVAILABLE;
    }
    return 0;
}

int fake_fate_end(struct fake_fate *fate, int status, char *error)
{
    if (fate->die_after != 0 && fate->calls >= fate->die_after)
        fate->dead = true;
    if (fate->dead || happens(fate, fate->lost_percent)) {
        snprintf(error, ERROR_MAX, "the fake backend's reply was lost");
        return STATUS_TIMEOUT;
    }
    return status;
}
