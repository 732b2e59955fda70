/* Measures as agents say them: a number is finite and not negative, and a limit lies within what was measured. */
// ROOMS: base model cli
#include "tests/fuzz/fuzz.h"

#include "base/own.h"
#include "cli/baseline.h"

#include <math.h>
#include <string.h>

#define VALUES_MAX 256

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    double values[VALUES_MAX];
    size_t count = 0;
    char measure[BASELINE_NAME_MAX];
    autofree char *text = fuzz_text(data, size);
    char *rest = text;
    for (char *line; count < VALUES_MAX && (line = strsep(&rest, "\n")) != NULL;) {
        double value;
        baseline_measure("EFA", line, measure);
        REQUIRE(strlen(measure) < BASELINE_NAME_MAX);
        if (!baseline_number(line, &value))
            continue;
        REQUIRE(isfinite(value) && value >= 0);
        values[count++] = value;
    }
    for (int at_most = 0; count > 0 && at_most <= 1; at_most++) {
        struct baseline b;
        baseline_recount(values, count, at_most != 0, &b);
        REQUIRE(isfinite(b.limit) && b.limit >= 0);
        REQUIRE(b.median >= values[0] && b.median <= values[count - 1]);
        REQUIRE(!baseline_is_outlier(&b, b.median));
    }
    return 0;
}
