/* The tests of deep health checks, in the order in which they run: what is cheap and tells most comes first. */
#include "agents/deep/deep.h"

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
