/*
 * Fuzzing of the line parser and the decoders behind it (libFuzzer: clang -fsanitize=fuzzer,address).
 * The line is handed over without a zero at its end; what parses is judged as a verdict would be.
 */
#include "policy/faults/faults.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct xid_line xid;
    const char *line = (const char *)data;
    char raw[RAW_LINE_MAX_BYTES], code[CODE_MAX_BYTES];
    struct fault_judgement judgement;

    if (xid_line_parse(line, size, &xid) == 0) {
        assert(xid.detail >= line && xid.detail + xid.detail_len <= line + size);
        assert(memchr(xid.device, '\0', sizeof(xid.device)) != NULL && xid.device[0] != '\0');
        assert(xid.code >= 0 && xid.pid >= 0);
    }
    size_t len = size < sizeof(raw) - 1 ? size : sizeof(raw) - 1;
    memcpy(raw, data, len);
    raw[len] = '\0';
    for (int number = 0; number <= 175; number++) {
        snprintf(code, sizeof(code), "%s.%d", (number & 1) != 0 && number > 170 ? "sxid" : "xid", number);
        if (number == 13 || number == 48 || number == 74 || number >= 144)
            fault_judge("kmsg", code, raw, &judgement);
    }
    fault_same_unit("xid.13", raw, raw);
    return 0;
}
