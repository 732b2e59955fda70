/* Certificates: made once, kept, renewed for the same key, and never half. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"
#include "base/tls.h"

#include <gnutls/x509.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct place {
    char dir[64];
    char *cert, *key;
};

static int make_place(void **state)
{
    struct place *place = own_calloc(1, sizeof(*place));
    text_copy_cut(place->dir, sizeof(place->dir), "/tmp/holdfast-tls-XXXXXX");
    if (mkdtemp(place->dir) == NULL)
        return -1;
    place->cert = own_printf("%s/tls.crt", place->dir);
    place->key = own_printf("%s/tls.key", place->dir);
    *state = place;
    return 0;
}

static int remove_place(void **state)
{
    struct place *place = *state;
    int status = file_remove_tree(place->dir);
    free(place->cert);
    free(place->key);
    free(place);
    return status;
}

static int ensure(const struct place *place, const char *host, struct tls_pair *made)
{
    const struct tls_request request = {
        .cert_path = place->cert, .key_path = place->key, .names = &host, .name_count = 1};
    *made = (struct tls_pair){0};
    return tls_ensure_certificate(&request, made);
}

static mode_t mode_of(const char *path)
{
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return st.st_mode & 0777;
}

static void test_made_and_kept(void **state)
{
    const struct place *place = *state;
    struct tls_pair first, second;
    assert_int_equal(ensure(place, "10.1.2.3", &first), 0);
    assert_int_equal(mode_of(place->key), 0600);
    assert_int_equal(mode_of(place->cert), 0644);
    assert_true(text_starts_with(first.fingerprint, "sha256:"));
    assert_int_equal(strlen(first.fingerprint), strlen("sha256:") + 44);
    assert_int_equal(ensure(place, "10.1.2.3", &second), 0);
    assert_true(second.self_made && !second.renewed);
    assert_string_equal(first.cert_pem, second.cert_pem);
    assert_string_equal(first.key_pem, second.key_pem);
    assert_string_equal(first.fingerprint, second.fingerprint);
    tls_pair_free(&first);
    tls_pair_free(&second);
}

static void test_renewed_for_the_same_key(void **state)
{
    const struct place *place = *state;
    struct tls_pair first, second;
    assert_int_equal(ensure(place, NULL, &first), 0);
    assert_int_equal(unlink(place->cert), 0); /* also where a crash between the two writes leaves us */
    assert_int_equal(ensure(place, NULL, &second), 0);
    assert_string_not_equal(first.cert_pem, second.cert_pem);
    assert_string_equal(first.key_pem, second.key_pem);
    assert_string_equal(first.fingerprint, second.fingerprint);
    tls_pair_free(&first);
    tls_pair_free(&second);
}

static void test_what_the_certificate_says(void **state)
{
    static const char *const good[] = {"localhost", "127.0.0.1", "hpd.example.org", "::1"};
    const struct place *place = *state;
    struct tls_pair made;
    gnutls_x509_crt_t crt;
    assert_int_equal(ensure(place, "hpd.example.org", &made), 0);
    const gnutls_datum_t pem = {(unsigned char *)made.cert_pem, (unsigned)strlen(made.cert_pem)};
    assert_int_equal(gnutls_x509_crt_init(&crt), 0);
    assert_int_equal(gnutls_x509_crt_import(crt, &pem, GNUTLS_X509_FMT_PEM), 0);
    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        assert_true(gnutls_x509_crt_check_hostname(crt, good[i]));
    assert_false(gnutls_x509_crt_check_hostname(crt, "evil.example.org"));
    unsigned bits;
    assert_int_equal(gnutls_x509_crt_get_pk_algorithm(crt, &bits), GNUTLS_PK_ECDSA);
    assert_int_equal(bits, 256);
    time_t now = time(NULL), year = 365 * 24 * 3600;
    assert_true(gnutls_x509_crt_get_activation_time(crt) < now);
    assert_true(gnutls_x509_crt_get_expiration_time(crt) > now + 9 * year);
    unsigned critical;
    assert_int_equal(gnutls_x509_crt_get_ca_status(crt, &critical), 0);
    gnutls_x509_crt_deinit(crt);
    tls_pair_free(&made);
}

static bool good_for(const char *pem, const char *name)
{
    gnutls_x509_crt_t crt;
    const gnutls_datum_t datum = {(unsigned char *)(uintptr_t)pem, (unsigned)strlen(pem)};
    assert_int_equal(gnutls_x509_crt_init(&crt), 0);
    assert_int_equal(gnutls_x509_crt_import(crt, &datum, GNUTLS_X509_FMT_PEM), 0);
    bool good = gnutls_x509_crt_check_hostname(crt, name) != 0;
    gnutls_x509_crt_deinit(crt);
    return good;
}

/* An SDK verifies the address that hpd hands out, also after that was changed. */
static void test_renewed_for_another_name(void **state)
{
    static const char *const names[] = {"hpd.example.org", "10.1.2.3", "2001:db8::7"};
    const struct place *place = *state;
    struct tls_pair first, second;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        assert_int_equal(ensure(place, names[i], &first), 0);
        assert_true(good_for(first.cert_pem, names[i]));
        assert_true(first.self_made);
        assert_int_equal(first.renewed, i > 0);
        assert_int_equal(ensure(place, names[i], &second), 0);
        assert_string_equal(first.cert_pem, second.cert_pem);
        assert_string_equal(first.fingerprint, second.fingerprint);
        assert_false(i > 0 && good_for(second.cert_pem, names[i - 1]));
        tls_pair_free(&first);
        tls_pair_free(&second);
    }
}

static int ensure_also(const struct place *place, const char *also, int64_t after_days, struct tls_pair *made)
{
    struct clock clock;
    clock_fake_init(&clock, clock_true_ms(clock_system()) + after_days * MS_PER_DAY);
    const struct tls_request request = {
        .cert_path = place->cert, .key_path = place->key, .clock = &clock, .also = &also, .also_count = 1};
    *made = (struct tls_pair){0};
    return tls_ensure_certificate(&request, made);
}

/* A year before its end, and not because an address of the machine came. */
static void test_renewed_near_its_end(void **state)
{
    static const struct {
        const char *also;
        int after_days;
        bool renewed;
    } cases[] = {{"10.0.0.1", 0, false},
                 {"10.0.0.2", 9 * 365 - 2, false},
                 {"10.0.0.3", 9 * 365 + 1, true},
                 {"10.0.0.4", 9 * 365 + 1, false}};
    const struct place *place = *state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct tls_pair made;
        assert_int_equal(ensure_also(place, cases[i].also, cases[i].after_days, &made), 0);
        assert_int_equal(made.renewed, cases[i].renewed);
        assert_int_equal(good_for(made.cert_pem, cases[i].also), i == 0 || cases[i].renewed);
        tls_pair_free(&made);
    }
}

/* One of the site, for the same key. */
static void write_foreign(const struct place *place, const char *key_pem)
{
    gnutls_x509_crt_t crt;
    gnutls_x509_privkey_t key;
    gnutls_datum_t pem;
    const unsigned char serial = 1;
    const gnutls_datum_t datum = {(unsigned char *)(uintptr_t)key_pem, (unsigned)strlen(key_pem)};
    assert_int_equal(gnutls_x509_privkey_init(&key), 0);
    assert_int_equal(gnutls_x509_privkey_import2(key, &datum, GNUTLS_X509_FMT_PEM, NULL, 0), 0);
    assert_int_equal(gnutls_x509_crt_init(&crt), 0);
    assert_int_equal(gnutls_x509_crt_set_version(crt, 3), 0);
    assert_int_equal(gnutls_x509_crt_set_serial(crt, &serial, 1), 0);
    assert_int_equal(gnutls_x509_crt_set_activation_time(crt, time(NULL)), 0);
    assert_int_equal(gnutls_x509_crt_set_expiration_time(crt, time(NULL) + 86400), 0);
    assert_int_equal(gnutls_x509_crt_set_dn(crt, "CN=hpd.example.org", NULL), 0);
    assert_int_equal(gnutls_x509_crt_set_key(crt, key), 0);
    assert_int_equal(gnutls_x509_crt_sign2(crt, crt, key, GNUTLS_DIG_SHA256, 0), 0);
    assert_int_equal(gnutls_x509_crt_export2(crt, GNUTLS_X509_FMT_PEM, &pem), 0);
    assert_int_equal(file_write(place->cert, (char *)pem.data, pem.size, 0644), 0);
    gnutls_free(pem.data);
    gnutls_x509_crt_deinit(crt);
    gnutls_x509_privkey_deinit(key);
}

static void test_another_authority_is_left_alone(void **state)
{
    const struct place *place = *state;
    struct tls_pair made;
    assert_int_equal(ensure(place, NULL, &made), 0);
    write_foreign(place, made.key_pem);
    tls_pair_free(&made);
    assert_int_equal(ensure(place, "other.example.org", &made), 0);
    assert_false(made.renewed || made.self_made);
    assert_false(good_for(made.cert_pem, "other.example.org"));
    tls_pair_free(&made);
}

static void test_what_is_refused(void **state)
{
    const struct place *place = *state;
    struct tls_pair made;
    assert_int_equal(ensure(place, NULL, &made), 0);
    tls_pair_free(&made);
    autofree char *cert = NULL;
    size_t len;
    assert_int_equal(file_read(place->cert, 100000, &cert, &len), 0);
    /* a certificate without its key */
    assert_int_equal(unlink(place->key), 0);
    assert_int_equal(ensure(place, NULL, &made), STATUS_NOT_FOUND);
    /* the certificate of another key */
    assert_int_equal(unlink(place->cert), 0);
    assert_int_equal(ensure(place, NULL, &made), 0);
    tls_pair_free(&made);
    assert_int_equal(file_write(place->cert, cert, len, 0644), 0);
    assert_int_equal(ensure(place, NULL, &made), STATUS_CONFLICT);
    /* half files, as a full disk would leave them if they were not written whole */
    for (size_t cut = 0; cut + 30 < len; cut += 97) { /* the last line may lack its line feed */
        assert_int_equal(file_write(place->cert, cert, cut, 0644), 0);
        assert_int_equal(ensure(place, NULL, &made), STATUS_INVALID);
    }
    assert_int_equal(file_write(place->key, "-----BEGIN PRIVATE KEY-----\n", 28, 0600), 0);
    assert_int_equal(ensure(place, NULL, &made), STATUS_INVALID);
    assert_null(made.cert_pem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_made_and_kept, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_renewed_for_the_same_key, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_what_the_certificate_says, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_renewed_for_another_name, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_renewed_near_its_end, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_another_authority_is_left_alone, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_what_is_refused, make_place, remove_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
