/* Identities: their shapes, their sources, and SHA-256 by its published vectors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/id.h"
#include "base/own.h"

#include <string.h>

static bool is_made_of(const char *text, size_t len, const char *alphabet)
{
    return strlen(text) == len && strspn(text, alphabet) == len;
}

static void test_shapes(void **state)
{
    char instance[ID_INSTANCE_MAX], cluster[ID_CLUSTER_MAX], uuid[ID_UUID_MAX], secret[ID_SECRET_MAX];

    (void)state;
    for (int i = 0; i < 500; i++) {
        id_instance(NULL, instance);
        assert_memory_equal(instance, "i-", 2);
        assert_true(is_made_of(instance + 2, 17, "0123456789abcdef"));
        id_cluster(NULL, cluster);
        assert_true(is_made_of(cluster, 12, "abcdefghijklmnopqrstuvwxyz0123456789"));
        id_uuid(NULL, uuid);
        assert_true(is_made_of(uuid, 36, "0123456789abcdef-"));
        assert_true(uuid[8] == '-' && uuid[13] == '-' && uuid[18] == '-' && uuid[23] == '-');
        assert_int_equal(uuid[14], '4');
        assert_non_null(strchr("89ab", uuid[19]));
        id_secret(NULL, secret);
        assert_true(is_made_of(secret, 43, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"));
        /* The last character carries four bits. */
        assert_non_null(strchr("AEIMQUYcgkosw048", secret[42]));
    }
}

/* Each character must turn up at each place; a stuck bit would hide one. */
static void test_all_characters_come(void **state)
{
    char seen[256] = {0}, cluster[ID_CLUSTER_MAX], secret[ID_SECRET_MAX];
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";

    (void)state;
    for (int i = 0; i < 5000; i++) {
        id_cluster(NULL, cluster);
        seen[(unsigned char)cluster[0]] |= 1;
        id_secret(NULL, secret);
        seen[(unsigned char)secret[0]] |= 2;
    }
    for (const char *c = letters; *c != '\0'; c++)
        assert_int_equal(seen[(unsigned char)*c], 3);
}

static void test_kernel_never_repeats(void **state)
{
    char a[ID_SECRET_MAX], b[ID_SECRET_MAX];
    struct id_source unseeded = {0};

    (void)state;
    id_secret(NULL, a);
    id_secret(NULL, b);
    assert_string_not_equal(a, b);
    id_secret(&unseeded, a);
    id_secret(&unseeded, b);
    assert_string_not_equal(a, b);
}

static void test_seeded_repeats(void **state)
{
    struct id_source a, b, c;
    char one[ID_UUID_MAX], two[ID_UUID_MAX], three[ID_UUID_MAX];

    (void)state;
    id_source_seed(&a, 42);
    id_source_seed(&b, 42);
    id_source_seed(&c, 43);
    for (int i = 0; i < 100; i++) {
        id_uuid(&a, one);
        id_uuid(&b, two);
        id_uuid(&c, three);
        assert_string_equal(one, two);
        assert_string_not_equal(one, three);
    }
}

static void test_bytes_of_any_length(void **state)
{
    struct id_source source;

    (void)state;
    id_source_seed(&source, 1);
    for (size_t len = 0; len < 70; len++) {
        autofree uint8_t *bytes = own_calloc(len + 1, 1);
        bytes[len] = 0xa5;
        id_bytes(&source, bytes, len);
        assert_int_equal(bytes[len], 0xa5);
        id_bytes(NULL, bytes, len);
        assert_int_equal(bytes[len], 0xa5);
    }
}

/* FIPS 180-4 examples, and the empty message. */
static void test_sha256(void **state)
{
    char hex[ID_SHA256_HEX_MAX];
    autofree char *million = own_calloc(1000000, 1);

    (void)state;
    id_sha256_hex("", 0, hex);
    assert_string_equal(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    id_sha256_hex(NULL, 0, hex);
    assert_string_equal(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    id_sha256_hex("abc", 3, hex);
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    memset(million, 'a', 1000000);
    id_sha256_hex(million, 1000000, hex);
    assert_string_equal(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

static void test_equal(void **state)
{
    const char a[] = "hfa_0123456789", b[] = "hfa_0123456780";

    (void)state;
    assert_true(id_equal(a, b, 0));
    assert_true(id_equal(a, a, sizeof(a)));
    assert_false(id_equal(a, b, sizeof(a)));
    assert_true(id_equal(a, b, 13));
    for (int bit = 0; bit < 8; bit++) {
        uint8_t x = 0, y = (uint8_t)(1 << bit);
        assert_false(id_equal(&x, &y, 1));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_all_characters_come),
        cmocka_unit_test(test_kernel_never_repeats),
        cmocka_unit_test(test_seeded_repeats),
        cmocka_unit_test(test_bytes_of_any_length),
        cmocka_unit_test(test_sha256),
        cmocka_unit_test(test_equal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
