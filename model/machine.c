/* The texts and the legal moves of machines that a site owns, and when a spare is ready; the diagram is in machine.h. */
#include "model/machine.h"

ENUM_DEFINE(machine_state, MACHINE_STATE_LIST)

#define TO(SYMBOL) SM_BIT(MACHINE_STATE_##SYMBOL)

static const struct sm_row rows[MACHINE_STATE_COUNT] = {
    [MACHINE_STATE_SPARE] = {"spare", TO(IN_USE) | TO(BENCH) | TO(RETIRED)},
    [MACHINE_STATE_IN_USE] = {"in-use", TO(SPARE) | TO(BENCH)},
    [MACHINE_STATE_BENCH] = {"bench", TO(BURN_IN) | TO(RETIRED)},
    [MACHINE_STATE_BURN_IN] = {"burn-in", TO(SPARE) | TO(BENCH) | TO(RETIRED)},
    [MACHINE_STATE_RETIRED] = {"retired", TO(BURN_IN)},
};

const struct sm machine_state_machine = {"machine", rows, MACHINE_STATE_COUNT};

const char *machine_not_ready(const struct machine *machine, int64_t now_ms)
{
    if (machine->state != MACHINE_STATE_SPARE)
        return "it is no spare";
    if (!machine->has_agent)
        return "no agent has enrolled for it";
    if (machine->seen_at == 0 || now_ms - machine->seen_at > MACHINE_SILENT_MS)
        return "its agent is not seen";
    if (machine->trouble[0] != '\0')
        return "its checks found a fault";
    return machine->checked ? NULL : "its checks have not all run yet";
}
