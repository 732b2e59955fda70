/*
 * Fuzzing of the file of fault overrides: it is taken as a whole or refused with words, and what is taken answers for its
 * codes.
 */
// ROOMS: base model policy server
#include "server/config/fault_file.h"

#include "base/own.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fault_overrides *overrides = NULL;
    char error[FAULT_FILE_ERROR_MAX] = "";
    autofree char *text = own_calloc(size + 1, 1);
    memcpy(text, data, size);
    if (fault_file_parse("seed", text, size, &overrides, error) != 0) {
        assert(overrides == NULL && error[0] != '\0');
        return 0;
    }
    assert(fault_overrides_count(overrides) <= FAULT_OVERRIDES_MAX);
    const struct fault_scope scope = {overrides, "ml.p5.48xlarge"};
    struct fault_judgement judgement;
    fault_judge_in(&scope, "kmsg", "xid.119", "", &judgement);
    assert(judgement.row != NULL && (!judgement.by_site || fault_is_overridden(overrides, "xid.119")));
    assert(strlen(fault_version_in(&scope)) < TABLE_VERSION_MAX_BYTES);
    fault_overrides_free(overrides);
    return 0;
}
