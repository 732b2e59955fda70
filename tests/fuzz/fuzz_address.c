/* Addresses: what is taken is written in one form, which is taken again as the same, and is what inet_pton says. */
// ROOMS: base
#include "tests/fuzz/fuzz.h"

#include "base/address.h"
#include "base/own.h"

#include <arpa/inet.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    autofree char *text = fuzz_text(data, size);
    char address[ADDRESS_TEXT_MAX], again[ADDRESS_TEXT_MAX];
    struct in6_addr bits, bits_again;

    (void)address_is_only_here(text);
    if (address_parse(text, address) != 0)
        return 0;
    REQUIRE(address_parse(address, again) == 0);
    REQUIRE(strcmp(address, again) == 0);
    REQUIRE(address_is_only_here(address) == address_is_only_here(again));
    int family = address_is_ipv6(address) ? AF_INET6 : AF_INET;
    REQUIRE(inet_pton(family, address, &bits) == 1);
    if (inet_pton(family, text, &bits_again) == 1)
        REQUIRE(memcmp(&bits, &bits_again, family == AF_INET6 ? 16 : 4) == 0);
    else
        REQUIRE(family == AF_INET && strchr(text, ':') != NULL); /* the one in an IPv6 address */
    return 0;
}
