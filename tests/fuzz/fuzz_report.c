/* What a check's process says: whatever it is, what is taken from it is fit to be told. */
// ROOMS: base model policy agents
#include "tests/fuzz/fuzz.h"

#include "agents/checks/report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct check_report report;
    report_read((const char *)data, size, &report);
    REQUIRE(report.whole || report.why[0] != '\0' || report.result != CHECK_RESULT_OK);
    REQUIRE(report.result != CHECK_RESULT_FOUND || report.observation_count > 0);
    for (size_t i = 0; i < report.observation_count; i++) {
        const struct check_observation *observation = &report.observations[i];
        REQUIRE(observation->code[0] != '\0' && observation->count > 0);
        REQUIRE(text_is_utf8(observation->text, strlen(observation->text)));
    }
    for (size_t i = 0; i < report.hardware_count; i++)
        REQUIRE(text_is_utf8(report.hardware[i].detail, strlen(report.hardware[i].detail)));
    report_free(&report);
    return 0;
}
