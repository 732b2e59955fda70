/* The checks of the agent that a return waits for, by the code of what was repaired (return.def). */
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

const char *fault_return_checks(const char *code)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        size_t len = strlen(rows[i].code);
        if (strncmp(rows[i].code, code, len) == 0 && (code[len] == '\0' || code[len] == '.'))
            return rows[i].checks;
    }
    return "";
}
