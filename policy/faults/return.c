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

static bool covers(const char *words, const char *code)
{
    size_t len = strlen(words);
    return strncmp(words, code, len) == 0 && (code[len] == '\0' || code[len] == '.');
}

const char *fault_return_checks(const char *code)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (covers(rows[i].code, code))
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
        if (covers(bars[i], code))
            return true;
    return false;
}
