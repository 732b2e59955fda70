/* Base 64 against the vectors of RFC 4648, and what is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/base64.h"
#include "base/own.h"
#include "base/status.h"

#include <string.h>

static void test_rfc4648(void **state)
{
    static const struct {
        const char *data, *text;
    } table[] = {{"", ""},
                 {"f", "Zg=="},
                 {"fo", "Zm8="},
                 {"foo", "Zm9v"},
                 {"foob", "Zm9vYg=="},
                 {"fooba", "Zm9vYmE="},
                 {"foobar", "Zm9vYmFy"}};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        char text[BASE64_TEXT_MAX(6)], data[7] = "";
        size_t len = 99;
        base64_encode(table[i].data, strlen(table[i].data), text);
        assert_string_equal(text, table[i].text);
        assert_int_equal(base64_decode(text, strlen(text), data, 6, &len), 0);
        assert_int_equal(len, strlen(table[i].data));
        assert_memory_equal(data, table[i].data, len);
    }
}

static void test_refuses(void **state)
{
    static const char *const texts[] = {"Z",
                                        "Zg",
                                        "Zg=",
                                        "Zg==Zg==",
                                        "Zm9v\n",
                                        "Zm 9v",
                                        "Zm9v====",
                                        "Zm9-",
                                        "Zm9_",
                                        "====",
                                        "Zh==",
                                        "Zm9v\t",
                                        "\xc3\xbc"
                                        "==",
                                        " Zm9v   "};
    char data[16];
    size_t len;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        if (base64_decode(texts[i], strlen(texts[i]), data, sizeof(data), &len) != STATUS_INVALID)
            fail_msg("\"%s\" was taken", texts[i]);
    assert_int_equal(base64_decode("Zm9v\0Zm9", 8, data, sizeof(data), &len), STATUS_INVALID);
    memset(data, 'x', sizeof(data));
    assert_int_equal(base64_decode("Zm9vYmFy", 8, data, 5, &len), STATUS_TOO_LARGE);
    assert_int_equal(data[0], 'x');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rfc4648),
        cmocka_unit_test(test_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
