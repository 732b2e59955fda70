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

struct made {
    char *cert, *key;
    char fingerprint[TLS_FINGERPRINT_MAX];
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

static int ensure(const struct place *place, const char *host, struct made *made)
{
    *made = (struct made){0};
    return tls_ensure_certificate(place->cert, place->key, host, &made->cert, &made->key, made->fingerprint);
}

static void made_free(struct made *made)
{
    free(made->cert);
    free(made->key);
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
    struct made first, second;
    assert_int_equal(ensure(place, "10.1.2.3", &first), 0);
    assert_int_equal(mode_of(place->key), 0600);
    assert_int_equal(mode_of(place->cert), 0644);
    assert_true(text_starts_with(first.fingerprint, "sha256:"));
    assert_int_equal(strlen(first.fingerprint), strlen("sha256:") + 44);
    assert_int_equal(ensure(place, "another.example", &second), 0);
    assert_string_equal(first.cert, second.cert);
    assert_string_equal(first.key, second.key);
    assert_string_equal(first.fingerprint, second.fingerprint);
    made_free(&first);
    made_free(&second);
}

static void test_renewed_for_the_same_key(void **state)
{
    const struct place *place = *state;
    struct made first, second;
    assert_int_equal(ensure(place, NULL, &first), 0);
    assert_int_equal(unlink(place->cert), 0); /* also where a crash between the two writes leaves us */
    assert_int_equal(ensure(place, NULL, &second), 0);
    assert_string_not_equal(first.cert, second.cert);
    assert_string_equal(first.key, second.key);
    assert_string_equal(first.fingerprint, second.fingerprint);
    made_free(&first);
    made_free(&second);
}

static void test_what_the_certificate_says(void **state)
{
    static const char *const good[] = {"localhost", "127.0.0.1", "hpd.example.org", "::1"};
    const struct place *place = *state;
    struct made made;
    gnutls_x509_crt_t crt;
    assert_int_equal(ensure(place, "hpd.example.org", &made), 0);
    const gnutls_datum_t pem = {(unsigned char *)made.cert, (unsigned)strlen(made.cert)};
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
    made_free(&made);
}

static void test_what_is_refused(void **state)
{
    const struct place *place = *state;
    struct made made;
    assert_int_equal(ensure(place, NULL, &made), 0);
    made_free(&made);
    autofree char *cert = NULL;
    size_t len;
    assert_int_equal(file_read(place->cert, 100000, &cert, &len), 0);
    /* a certificate without its key */
    assert_int_equal(unlink(place->key), 0);
    assert_int_equal(ensure(place, NULL, &made), STATUS_NOT_FOUND);
    /* the certificate of another key */
    assert_int_equal(unlink(place->cert), 0);
    assert_int_equal(ensure(place, NULL, &made), 0);
    made_free(&made);
    assert_int_equal(file_write(place->cert, cert, len, 0644), 0);
    assert_int_equal(ensure(place, NULL, &made), STATUS_CONFLICT);
    /* half files, as a full disk would leave them if they were not written whole */
    for (size_t cut = 0; cut + 30 < len; cut += 97) { /* the last line may lack its line feed */
        assert_int_equal(file_write(place->cert, cert, cut, 0644), 0);
        assert_int_equal(ensure(place, NULL, &made), STATUS_INVALID);
    }
    assert_int_equal(file_write(place->key, "-----BEGIN PRIVATE KEY-----\n", 28, 0600), 0);
    assert_int_equal(ensure(place, NULL, &made), STATUS_INVALID);
    assert_null(made.cert);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_made_and_kept, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_renewed_for_the_same_key, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_what_the_certificate_says, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_what_is_refused, make_place, remove_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
