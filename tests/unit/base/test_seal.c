/* Seals open where and with what they were closed, and nowhere else; the key's file is private and kept. */
#include "base/seal.h"

#include "base/file.h"
#include "base/own.h"
#include "base/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#define SECRET "nobody shall read this"
#define LEN (sizeof(SECRET) - 1)

static const struct seal_key key = {{1, 2, 3}}, other = {{1, 2, 4}};

static void test_it_opens_where_it_was_closed(void **state)
{
    (void)state;
    uint8_t seal[LEN + SEAL_EXTRA_BYTES], again[LEN + SEAL_EXTRA_BYTES];
    char out[LEN + 1] = "";
    seal_close(&key, NULL, "here", SECRET, LEN, seal);
    seal_close(&key, NULL, "here", SECRET, LEN, again);
    assert_memory_not_equal(seal, again, sizeof(seal)); /* a nonce of its own each time */
    assert_null(memmem(seal, sizeof(seal), SECRET, 8));
    assert_int_equal(seal_open(&key, "here", seal, sizeof(seal), out), 0);
    assert_string_equal(out, SECRET);
}

static void test_anything_else_does_not_open(void **state)
{
    (void)state;
    uint8_t seal[LEN + SEAL_EXTRA_BYTES];
    char out[LEN + 1] = "untouched";
    seal_close(&key, NULL, "here", SECRET, LEN, seal);
    assert_int_equal(seal_open(&other, "here", seal, sizeof(seal), out), STATUS_INVALID);
    assert_int_equal(seal_open(&key, "there", seal, sizeof(seal), out), STATUS_INVALID);
    for (size_t i = 0; i < sizeof(seal); i++) {
        seal[i] ^= 0x10;
        assert_int_equal(seal_open(&key, "here", seal, sizeof(seal), out), STATUS_INVALID);
        seal[i] ^= 0x10;
        assert_int_equal(seal_open(&key, "here", seal, i, out), STATUS_INVALID);
    }
    assert_string_equal(out, "untouched");
}

static void test_the_key_has_a_private_file(void **state)
{
    (void)state;
    char dir[] = "/tmp/holdfast-seal-XXXXXX";
    struct seal_key first, second;
    struct stat st;
    assert_non_null(mkdtemp(dir));
    autofree char *path = own_printf("%s/secret.key", dir);
    assert_int_equal(seal_key_file(path, &first), 0);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(seal_key_file(path, &second), 0);
    assert_memory_equal(&first, &second, sizeof(first));
    static const char *const bad[] = {"",
                                      "00",
                                      "zz",
                                      "\n",
                                      "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20",
                                      "000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_int_equal(file_write(path, bad[i], strlen(bad[i]), 0600), 0);
        assert_int_equal(seal_key_file(path, &second), STATUS_INVALID);
    }
    assert_memory_equal(&first, &second, sizeof(first));
    assert_int_equal(file_remove_tree(dir), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_opens_where_it_was_closed),
        cmocka_unit_test(test_anything_else_does_not_open),
        cmocka_unit_test(test_the_key_has_a_private_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
