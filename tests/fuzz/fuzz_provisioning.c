/* provisioning_parameters.json: what is taken is whole and clean, what is refused is refused in one sentence that can be shown. */
// ROOMS: base model policy db server
#include "tests/fuzz/fuzz.h"

#include "server/scheduler/slurm/role_file.h"

#include "base/status.h"
#include "base/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct role_file p;
    char why[ROLE_FILE_ERROR_MAX] = "";
    autofree char *input = fuzz_text(data, size);
    int status = slurm_role_file.parse(input, size, &p, why);
    if (status != 0) {
        REQUIRE(status == STATUS_INVALID || status == STATUS_TOO_LARGE);
        REQUIRE(why[0] != '\0' && text_is_utf8(why, strlen(why)) && strchr(why, '\n') == NULL);
        return 0;
    }
    REQUIRE(text_is_name(p.controller) && (p.login[0] == '\0' || text_is_name(p.login)));
    REQUIRE(!text_equal(p.controller, p.login) && text_is_utf8(p.ignored, strlen(p.ignored)));
    REQUIRE(p.count <= ROLE_FILE_WORKERS_MAX);
    for (size_t i = 0; i < p.count; i++) {
        REQUIRE(text_is_name(p.workers[i].group) && p.workers[i].partition[0] != '\0');
        REQUIRE(strpbrk(p.workers[i].partition, " \t\n=\"#,\\") == NULL);
    }
    return 0;
}
