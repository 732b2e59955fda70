/* Fuzzing of what collective tests print, and of the connectivity test's messages: what is taken is sound, what is written reads back. */
// ROOMS: agents policy model base
#include "agents/deep/collective.h"
#include "agents/deep/pair_message.h"
#include "tests/fuzz/fuzz.h"

#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct collective_report report;
    struct deep_pair_reply reply;
    struct deep_pair_ask ask, again;
    struct text out = {0};
    char *text = fuzz_text(data, size);
    collective_read(text, size, &report);
    REQUIRE(report.rows >= 0 && isfinite(report.max_algbw) && isfinite(report.max_busbw) && isfinite(report.avg_busbw));
    if (pair_read_reply(text, size, &reply) == 0 && reply.word == DEEP_PAIR_WORD_MATCH)
        REQUIRE(reply.port > 0 && reply.port <= 65535 && reply.address[0] != '-' && strchr(reply.address, ' ') == NULL);
    if (pair_read_memory(text, size, &ask) == 0) {
        pair_write_memory(&out, &ask);
        REQUIRE(pair_read_memory(out.data, out.len, &again) == 0);
        REQUIRE(again.said_count == ask.said_count && strcmp(again.key, ask.key) == 0);
    }
    text_free(&out);
    free(text);
    return 0;
}
