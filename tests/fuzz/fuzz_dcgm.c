/* DCGM's outputs: texts and counts within their limits, every code one of a table, and no report without a verdict. */
// ROOMS: base model agents policy
#include "tests/fuzz/fuzz.h"

#include "agents/checks/dcgm_diag.h"
#include "agents/checks/dcgm_health.h"
#include "agents/checks/nvidia_smi.h"
#include "policy/faults/faults.h"

#define REQUIRE_ENDS(text) REQUIRE(memchr(text, '\0', sizeof(text)) != NULL)

static void require_health(const char *data, size_t size)
{
    static struct dcgm_health health;
    memset(&health, 0xa5, sizeof(health));
    dcgm_health_parse(data, size, &health);
    REQUIRE(health.incident_count <= DCGM_INCIDENTS_MAX);
    REQUIRE(health.answer == DCGM_HEALTH_REPORT || health.incident_count == 0);
    REQUIRE_ENDS(health.overall);
    REQUIRE((health.answer == DCGM_HEALTH_REPORT) ==
            (strcmp(health.overall, "Healthy") == 0 || strcmp(health.overall, "Warning") == 0 ||
             strcmp(health.overall, "Failure") == 0));
    for (size_t i = 0; i < health.incident_count; i++) {
        char code[CODE_MAX_BYTES];
        REQUIRE_ENDS(health.incidents[i].group);
        REQUIRE_ENDS(health.incidents[i].system);
        REQUIRE_ENDS(health.incidents[i].message);
        REQUIRE(health.incidents[i].entity >= 0);
        dcgm_incident_code(&health.incidents[i], code);
        REQUIRE(fault_find(code) != NULL);
    }
}

static void require_diag(const char *data, size_t size)
{
    static struct dcgm_diag diag;
    if (dcgm_diag_parse(data, size, &diag) != 0)
        return;
    int sum = 0;
    for (size_t i = 0; i < DCGM_STATUS_COUNT; i++)
        sum += diag.counts[i];
    REQUIRE(sum > 0 || diag.runtime_error[0] != '\0');
    REQUIRE(diag.result_count <= DCGM_DIAG_RESULTS_MAX &&
            (int)diag.result_count <= sum - diag.counts[DCGM_STATUS_PASS]);
    for (size_t i = 0; i < diag.result_count; i++) {
        char code[CODE_MAX_BYTES];
        REQUIRE(diag.results[i].status != DCGM_STATUS_PASS && diag.results[i].entity >= -1);
        REQUIRE_ENDS(diag.results[i].message);
        dcgm_diag_code(&diag.results[i], code);
        REQUIRE(fault_find(code) != NULL);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dcgm_gpu gpus[DCGM_GPUS_MAX];
    char *exact = fuzz_text(data, size);
    require_health(exact, size);
    require_diag(exact, size);
    size_t count = dcgm_discovery_parse(exact, size, gpus);
    REQUIRE(count <= DCGM_GPUS_MAX);
    for (size_t i = 0; i < count; i++) {
        char name[DEVICE_MAX_BYTES];
        REQUIRE(nvidia_pci_name(gpus[i].name, strlen(gpus[i].name), name) && strcmp(name, gpus[i].name) == 0);
        REQUIRE_ENDS(gpus[i].uuid);
    }
    free(exact);
    return 0;
}
