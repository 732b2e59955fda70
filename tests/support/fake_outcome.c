/* Chance and death for the fake backends. */
#include "tests/support/fake_outcome.h"

#include "base/status.h"

#include <stdio.h>

#define ERROR_MAX 256

uint32_t fake_outcome_draw(uint64_t *random, uint32_t below)
{
    *random += UINT64_C(0x9E3779B97F4A7C15); /* splitmix64 */
    uint64_t z = *random;
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return (uint32_t)((z ^ (z >> 31)) % below);
}

static bool happens(struct fake_outcome *outcome, int percent)
{
    return outcome->random != 0 && percent > 0 && fake_outcome_draw(&outcome->random, 100) < (uint32_t)percent;
}

int fake_outcome_begin(struct fake_outcome *outcome, char *error)
{
    outcome->calls++;
    if (outcome->die_before != 0 && outcome->calls >= outcome->die_before)
        outcome->dead = true;
    if (!outcome->dead && outcome->clock != NULL && happens(outcome, outcome->hang_percent)) {
        clock_fake_advance(outcome->clock, outcome->hang_ms);
        snprintf(error, ERROR_MAX, "the fake backend did not answer in time");
        return STATUS_TIMEOUT;
    }
    if (outcome->dead || happens(outcome, outcome->error_percent)) {
        snprintf(error, ERROR_MAX, "the fake backend fails this time");
        return STATUS_UNAVAILABLE;
    }
    return 0;
}

int fake_outcome_end(struct fake_outcome *outcome, int status, char *error)
{
    if (outcome->die_after != 0 && outcome->calls >= outcome->die_after)
        outcome->dead = true;
    if (outcome->dead || happens(outcome, outcome->lost_percent)) {
        snprintf(error, ERROR_MAX, "the fake backend's reply was lost");
        return STATUS_TIMEOUT;
    }
    return status;
}
