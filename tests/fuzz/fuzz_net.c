/* Tables of routes and bonds, and an interface's state. */
// ROOMS: base model policy agents
#include "tests/fuzz/fuzz.h"

#include "agents/checks/net.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    autofree char *text = fuzz_text(data, size);
    struct net_slave slaves[4];
    size_t count = net_parse_bond(text, slaves, ARRAY_LEN(slaves));
    REQUIRE(count <= ARRAY_LEN(slaves));
    for (size_t i = 0; i < count; i++)
        REQUIRE(slaves[i].name[0] != '\0' && strlen(slaves[i].name) < NET_NAME_MAX_BYTES);
    REQUIRE(!net_has_route(text, "eth0") || strstr(text, "eth0") != NULL);
    REQUIRE(!net_has_route6(text, "eth0") || strstr(text, "eth0") != NULL);
    net_parse_state(text);
    return 0;
}
