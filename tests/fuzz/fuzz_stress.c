/* Fuzzing of what stress-ng says: passed over or taken whole, and never a control character for a terminal. */
// ROOMS: agents policy model base
#include "agents/deep/stress.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct stress_report report;
    char *text = fuzz_text(data, size);
    stress_read(text, size, &report);
    REQUIRE(report.metric_count <= STRESS_METRICS_MAX);
    for (size_t i = 0; i < report.metric_count; i++) {
        REQUIRE(memchr(report.metrics[i].stressor, '\0', STRESS_NAME_MAX) != NULL);
        REQUIRE(strspn(report.metrics[i].rate, "0123456789.") == strlen(report.metrics[i].rate));
    }
    for (const char *c = report.complaint; *c != '\0'; c++)
        REQUIRE(*c >= ' ' && *c < 0x7f);
    free(text);
    return 0;
}
