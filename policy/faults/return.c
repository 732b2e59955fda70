/* The checks of the agent that a return waits for, by the code of what was repaired (return.def), and that a new machine waits for (launch.def). */
#include "policy/faults/faults.h"

#include <string.h>

static const struct {
    const char *code, *checks;
} rows[] = {
#define RETURNS(code, checks) {code, checks},
/* clang-format off */
#include "policy/faults/return.def"
/* clang-format on */
#undef RETURNS
};

static const char *const bars[] = {
#define BARS(code) (code),
/* clang-format off */
#include "policy/faults/launch.def"
/* clang-format on */
#undef BARS
};

const char *fault_return_checks(const char *code)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (fault_word_covers(rows[i].code, strlen(rows[i].code), code, strlen(code)))
            return rows[i].checks;
    return "";
}

const char *fault_launch_checks(void)
{
    return "nvidia neuron efa infiniband net";
}

bool fault_bars_launch(const char *code)
{
    for (size_t i = 0; i < sizeof(bars) / sizeof(bars[0]); i++)
        if (fault_word_covers(bars[i], strlen(bars[i]), code, strlen(code)))
            return true;
    return false;
}
