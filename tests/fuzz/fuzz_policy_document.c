/*
 * Fuzzing of the policy document: it is taken as a whole or refused with words and a line, and what is taken puts nothing but
 * values within their bounds.
 */
// ROOMS: base model policy db server
#include "server/config/policy_document.h"

#include "base/own.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct policy_document *document = NULL;
    char error[POLICY_DOCUMENT_ERROR_MAX] = "";
    autofree char *text = own_calloc(size + 1, 1);
    memcpy(text, data, size);
    if (policy_document_parse(text, size, &document, error) != 0) {
        assert(document == NULL && error[0] != '\0');
        return 0;
    }
    const struct policy_place places[] = {{"train", "gpu", "ml.p5.48xlarge"}, {"", "", ""}};
    for (size_t p = 0; p < 2; p++) {
        struct loop_settings s;
        loop_settings_default(&s);
        policy_document_apply(document, &places[p], &s, NULL);
        for (size_t i = 0; i < setting_count; i++)
            for (int fault = 0; setting_is_grouped(&settings[i]) && fault < FAULT_CLASS_COUNT; fault++) {
                int64_t value = setting_get_in(&s, &settings[i], (enum fault_class)fault).number;
                assert(settings[i].section[0] == '\0' || value >= settings[i].min);
                assert(settings[i].section[0] == '\0' || value <= settings[i].max);
            }
    }
    policy_document_free(document);
    return 0;
}
