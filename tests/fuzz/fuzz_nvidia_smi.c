/* nvidia-smi's output: what is taken of it is whole, clean and within limits; what is not a report names no healthy GPU. */
// ROOMS: base model agents policy
#include "tests/fuzz/fuzz.h"

#include "agents/checks/nvidia_smi.h"
#include "base/text.h"

#include <math.h>

static void require_clean(const char *text)
{
    REQUIRE(text_is_utf8(text, strlen(text)));
    for (; *text != '\0'; text++)
        REQUIRE((unsigned char)*text >= 0x20 && *text != 0x7f);
}

static void require_gpu(const struct nvidia_gpu *gpu)
{
    char name[DEVICE_MAX_BYTES];
    REQUIRE(nvidia_pci_name(gpu->name, strlen(gpu->name), name) && strcmp(name, gpu->name) == 0);
    const char *const texts[] = {
        gpu->uuid,         gpu->serial,        gpu->board_part,    gpu->product,        gpu->performance_state,
        gpu->fabric_state, gpu->fabric_status, gpu->fabric_health, gpu->recovery_action};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        require_clean(texts[i]);
    for (size_t i = 0; i < NVIDIA_VALUE_COUNT; i++)
        REQUIRE(isnan(gpu->values[i]) || fabs(gpu->values[i]) < 1e21);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct nvidia_report report;
    char *exact = fuzz_text(data, size);
    nvidia_smi_parse(exact, size, &report);
    free(exact);
    require_clean(report.why);
    REQUIRE(report.gpu_count <= NVIDIA_GPUS_MAX);
    REQUIRE(report.answer == NVIDIA_ANSWER_REPORT ? report.gpu_count > 0 : report.why[0] != '\0');
    for (size_t i = 0; i < report.gpu_count; i++) {
        require_gpu(&report.gpus[i]);
        if (report.answer == NVIDIA_ANSWER_BROKEN)
            REQUIRE(isnan(report.gpus[i].values[NVIDIA_TEMPERATURE]));
        for (size_t j = 0; j < i; j++)
            REQUIRE(strcmp(report.gpus[i].name, report.gpus[j].name) != 0);
    }
    return 0;
}
