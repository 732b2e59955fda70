/* Lists of nodes and features: what is read can be said to scontrol again, and means the same. */
// ROOMS: base model server
#include "tests/fuzz/fuzz.h"

#include "base/own.h"
#include "base/text.h"
#include "server/scheduler/slurm/parse.h"
#include "server/scheduler/slurm/quarantine.h"

#include <string.h>

static void require_list(const char *list)
{
    REQUIRE(strcspn(list, " \n\t\"'\\=") == strlen(list));
    autofree char *rest = slurm_list_without(list, SLURM_QUARANTINE_FEATURE);
    autofree char *again = slurm_list_without(rest, SLURM_QUARANTINE_FEATURE);
    REQUIRE(strcmp(rest, again) == 0);
    REQUIRE(strlen(rest) <= strlen(list));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    autofree char *text = fuzz_text(data, size);
    char *rest = text;
    for (const char *line; (line = slurm_next_line(&rest)) != NULL;) {
        struct slurm_features features;
        char **names = NULL;
        size_t count = 0;
        if (slurm_parse_features(line, &features) == 0) {
            REQUIRE(slurm_is_node_name(features.name));
            require_list(features.available);
            require_list(features.active);
        }
        if (slurm_parse_members(line, &names, &count) == 0) {
            REQUIRE(count <= SLURM_QUARANTINE_NODES_MAX);
            for (size_t i = 0; i < count; i++)
                REQUIRE(slurm_is_node_name(names[i]));
            text_list_free(names, count);
        }
    }
    return 0;
}
