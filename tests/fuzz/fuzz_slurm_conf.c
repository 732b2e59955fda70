/* The managed file of nodes and partitions: whatever somebody made of it, what is written over it can be read, is signed and stays. */
// ROOMS: base model server
#include "tests/fuzz/fuzz.h"

#include "base/own.h"
#include "server/scheduler/slurm/conf.h"

#include <string.h>

static char *merge(const struct scheduler_desired *desired, const char *text, size_t len)
{
    static const struct slurm_conf_site site = {.types = {{"t", "CPUs=4 Gres=gpu:2"}}, .type_count = 1};
    struct slurm_conf conf;
    char error[SLURM_CONF_ERROR_MAX], said[DESIRED_SAID_MAX];
    if (slurm_conf_parse(text, len, &conf, error) != 0)
        return NULL;
    (void)slurm_conf_drift(desired, &conf, said);
    char *made = slurm_conf_text(desired, &site, &conf);
    slurm_conf_free(&conf);
    return made;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct desired_node nodes[] = {
        {.name = "gpu-1", .address = "10.0.0.1", .instance_type = "t", .partition = "train"},
        {.name = "gpu-2", .instance_type = "t"},
    };
    struct scheduler_desired desired = {.nodes = nodes, .count = 2};
    autofree char *input = fuzz_text(data, size);
    autofree char *first = merge(&desired, input, strlen(input));
    if (first == NULL)
        return 0;
    struct slurm_conf conf;
    char error[SLURM_CONF_ERROR_MAX];
    REQUIRE(slurm_conf_parse(first, strlen(first), &conf, error) == 0);
    REQUIRE(conf.signed_by_us && conf.node_count == 2);
    slurm_conf_free(&conf);
    autofree char *second = merge(&desired, first, strlen(first));
    REQUIRE(second != NULL && strcmp(first, second) == 0);
    struct slurm_conf given;
    char said[DESIRED_SAID_MAX];
    REQUIRE(slurm_conf_parse(first, strlen(first), &conf, error) == 0);
    (void)slurm_conf_edited(&conf, &conf, said); /* what is said twice may differ from itself */
    if (slurm_conf_parse(input, strlen(input), &given, error) == 0) {
        (void)slurm_conf_edited(&conf, &given, said);
        slurm_conf_free(&given);
    }
    slurm_conf_free(&conf);
    return 0;
}
