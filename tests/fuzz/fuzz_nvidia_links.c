/* nvidia-smi's list of NVLinks: counts and names within their limits, whatever the lines. */
// ROOMS: base model agents policy
#include "tests/fuzz/fuzz.h"

#include "agents/checks/nvidia_links.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct nvidia_links links[NVIDIA_GPUS_MAX];
    char *exact = fuzz_text(data, size);
    memset(links, 0xa5, sizeof(links));
    size_t count = nvidia_links_parse(exact, size, links);
    free(exact);
    REQUIRE(count <= NVIDIA_GPUS_MAX);
    for (size_t i = 0; i < count; i++) {
        REQUIRE(memchr(links[i].uuid, '\0', sizeof(links[i].uuid)) != NULL && links[i].uuid[0] != '\0');
        REQUIRE(memchr(links[i].down, '\0', sizeof(links[i].down)) != NULL);
        REQUIRE(links[i].up >= -1 && links[i].up <= 4096);
    }
    return 0;
}
