/* HMAC-SHA-256 against the vectors of RFC 4231. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/hmac.h"
#include "base/own.h"

#include <stdio.h>
#include <string.h>

static void test_rfc4231(void **state)
{
    uint8_t long_key[131];
    const struct {
        const void *key;
        size_t key_len;
        const char *data, *mac;
    } table[] = {
        {"\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b", 20, "Hi There",
         "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"},
        {"Jefe", 4, "what do ya want for nothing?", "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
        {long_key, sizeof(long_key), "Test Using Larger Than Block-Size Key - Hash Key First",
         "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"},
    };

    (void)state;
    memset(long_key, 0xaa, sizeof(long_key));
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        uint8_t mac[ID_SHA256_BYTES];
        char hex[ID_SHA256_HEX_MAX];
        hmac_sha256(table[i].key, table[i].key_len, table[i].data, strlen(table[i].data), mac);
        for (size_t b = 0; b < sizeof(mac); b++)
            snprintf(hex + 2 * b, 3, "%02x", mac[b]);
        assert_string_equal(hex, table[i].mac);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rfc4231)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
