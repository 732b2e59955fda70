/* The agent's part: one runner at a time, in a process of its own; and the list of the tests. */
#include "agents/deep/deep.h"

#include "agents/node/runner.h"
#include "base/own.h"
#include "base/sm.h"

const struct deep_test_ops deep_tests[] = {
    {"HARDWARE_CHECK", DEEP_CHECK_STRESS, deep_hardware_run},
    {"DEVICE_COUNT", DEEP_CHECK_STRESS, deep_devices_run},
    {"DCGM", DEEP_CHECK_STRESS, deep_dcgm_run},
    {"EFA", DEEP_CHECK_STRESS, deep_efa_run},
    {"NEURON", DEEP_CHECK_STRESS, deep_neuron_run},
    {"NCCOM_LOCAL", DEEP_CHECK_STRESS, deep_nccom_local_run},
    {"CONNECTIVITY", DEEP_CHECK_CONNECTIVITY, deep_pair_run},
};
const size_t deep_test_count = ARRAY_LEN(deep_tests);
_Static_assert(ARRAY_LEN(deep_tests) <= DEEP_TESTS_MAX, "more than the server takes");

int64_t deep_offers(void)
{
    int64_t checks = 0;
    for (size_t i = 0; i < deep_test_count; i++)
        checks |= SM_BIT(deep_tests[i].check);
    return checks;
}

int deep_lock(const struct deep_options *options, int *ret_fd)
{
    return runner_lock(options->state_dir, "deep", ret_fd);
}

int deep_begin(const struct deep_options *options, const char *runner, const char *key)
{
    struct runner_arguments arguments = {.argv = {runner}, .count = 1};
    autofree char *log = own_printf("%s/deep.log", options->state_dir);
    runner_add(&arguments, "--deep-check", key);
    runner_add(&arguments, "--server", options->url);
    runner_add(&arguments, "--state-dir", options->state_dir);
    runner_add(&arguments, "--instance-id", options->instance_id);
    runner_add(&arguments, "--fingerprint", options->fingerprint);
    runner_add(&arguments, "--address", options->address);
    runner_add(&arguments, "--boot-id-file", options->boot_id_file);
    return runner_begin(options->state_dir, "deep", log, &arguments);
}
