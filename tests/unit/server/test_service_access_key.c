/* Access keys: made by administrators, the secret given once and sealed at rest, worthless when deleted. */
#include "tests/support/service_world.h"

#include "base/text.h"

static int make(struct world *world, const struct actor *actor, const char *name, enum role role,
                struct access_key *ret_key, char *ret_secret)
{
    return service_access_key_create(&world->service, actor, name, role, ret_key, ret_secret, &world->problem);
}

static void test_a_key_stands_for_its_role(void **state)
{
    (void)state;
    struct world world;
    struct access_key key, found;
    struct actor actor;
    char secret[SERVICE_SECRET_MAX], read[SERVICE_SECRET_MAX];
    world_open(&world, DB_INLINE);
    assert_int_equal(make(&world, &world_admin, "ci", ROLE_OPERATOR, &key, secret), 0);
    assert_int_equal(strlen(key.access_key), 20);
    assert_true(text_starts_with(key.access_key, "HFAK"));
    assert_int_equal(strlen(secret), ACCESS_KEY_SECRET_CHARACTERS);
    assert_null(memmem(key.sealed, sizeof(key.sealed), secret, 8));
    assert_int_equal(service_access_key_secret(&world.service, key.access_key, read, &found, &actor), 0);
    assert_string_equal(read, secret);
    assert_string_equal(actor.name, "key:ci");
    assert_int_equal(actor.role, ROLE_OPERATOR);
    service_access_key_used(&world.service, &found);
    assert_int_equal(service_access_key_secret(&world.service, key.access_key, read, &found, &actor), 0);
    assert_int_equal(found.used_at, WORLD_T0);
    world_close(&world);
}

static int count(const void *row, void *arg)
{
    (void)row;
    ++*(int *)arg;
    return 0;
}

static void test_who_may_and_what_is_a_name(void **state)
{
    (void)state;
    struct world world;
    struct access_key key;
    char secret[SERVICE_SECRET_MAX];
    int keys = 0;
    world_open(&world, DB_INLINE);
    assert_int_equal(make(&world, &world_operator, "ci", ROLE_VIEWER, &key, secret), STATUS_DENIED);
    static const char *const bad[] = {"", "a b", "-a", "a:b",
                                      "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_int_equal(make(&world, &world_admin, bad[i], ROLE_VIEWER, &key, secret), STATUS_INVALID);
    assert_int_equal(make(&world, &world_admin, "ci", ROLE_VIEWER, &key, secret), 0);
    assert_int_equal(make(&world, &world_admin, "ci", ROLE_ADMIN, &key, secret), STATUS_EXISTS);
    assert_int_equal(world.problem.code, PROBLEM_NAME_TAKEN);
    assert_int_equal(service_access_key_list(&world.service, count, &keys, &world.problem), 0);
    assert_int_equal(keys, 1);
    world_close(&world);
}

static void test_a_deleted_key_and_a_lost_seal_open_nothing(void **state)
{
    (void)state;
    struct world world;
    struct access_key key, found;
    struct actor actor;
    char secret[SERVICE_SECRET_MAX], read[SERVICE_SECRET_MAX];
    world_open(&world, DB_INLINE);
    struct service *s = &world.service;
    assert_int_equal(service_access_key_secret(s, "HFAKAAAAAAAAAAAAAAAA", read, &found, &actor),
                     STATUS_UNAUTHENTICATED);
    assert_int_equal(make(&world, &world_admin, "ci", ROLE_VIEWER, &key, secret), 0);
    s->seal_key.bytes[0] ^= 1; /* another secret.key than the one it was made under */
    assert_int_equal(service_access_key_secret(s, key.access_key, read, &found, &actor), STATUS_UNAUTHENTICATED);
    s->seal_key.bytes[0] ^= 1;
    assert_int_equal(service_access_key_secret(s, key.access_key, read, &found, &actor), 0);
    assert_int_equal(service_access_key_delete(s, &world_operator, key.access_key, &world.problem), STATUS_DENIED);
    assert_int_equal(service_access_key_delete(s, &world_admin, key.access_key, &world.problem), 0);
    assert_int_equal(service_access_key_delete(s, &world_admin, key.access_key, &world.problem), STATUS_NOT_FOUND);
    assert_int_equal(service_access_key_secret(s, key.access_key, read, &found, &actor), STATUS_UNAUTHENTICATED);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_key_stands_for_its_role),
        cmocka_unit_test(test_who_may_and_what_is_a_name),
        cmocka_unit_test(test_a_deleted_key_and_a_lost_seal_open_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
