/* The head of a site's own check: whatever it says, what is taken from it is within bounds and fit to be shown. */
// ROOMS: base model policy agents
#include "tests/fuzz/fuzz.h"

#include "agents/checks/custom.h"

#include "base/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct custom_header header;
    autofree char *text = fuzz_text(data, size);
    int status = custom_parse_header(text, size, &header);
    REQUIRE(status == 0 || header.severity == CUSTOM_AS_SAID);
    REQUIRE(header.period_ms >= 10000 && header.period_ms <= 86400000);
    REQUIRE(header.timeout_ms >= 1000 && header.timeout_ms <= 600000);
    REQUIRE(text_is_utf8(header.reason, strlen(header.reason)));
    for (const char *at = header.reason; *at != '\0'; at++)
        REQUIRE((unsigned char)*at >= ' ' && *at != 0x7f);
    (void)custom_is_name(text);
    return 0;
}
