/* Tokens: made, checked, remembered for a moment, and dead the moment they are deleted. */
#include "tests/support/service_world.h"

#include "base/text.h"

static int make_api(struct world *world, const char *name, enum role role, int64_t ttl_ms, struct token *ret_token,
                    char *ret_text)
{
    return service_token_create_api(&world->service, &world_admin, name, role, ttl_ms, ret_token, ret_text,
                                    &world->problem);
}

static void test_an_api_token_authenticates_as_itself(void **state)
{
    (void)state;
    struct world world;
    struct token token;
    struct actor actor;
    char text[SERVICE_TOKEN_TEXT_MAX];
    world_open(&world, DB_INLINE);
    assert_int_equal(make_api(&world, "ci", ROLE_OPERATOR, 0, &token, text), 0);
    assert_true(text_starts_with(text, "hfa_"));
    assert_int_equal(strlen(text), 4 + 43);
    assert_int_equal(token.expires_at, 0);
    for (int i = 0; i < 2; i++) { /* from the store, and from memory */
        memset(&actor, 0, sizeof(actor));
        assert_int_equal(service_authenticate(&world.service, text, &actor), 0);
        assert_string_equal(actor.name, "token:ci");
        assert_int_equal(actor.role, ROLE_OPERATOR);
        assert_int_equal(actor.token_id, token.id);
    }
    world_close(&world);
}

static void test_bearers_that_open_nothing(void **state)
{
    (void)state;
    struct world world;
    struct token token;
    struct actor actor;
    char api[SERVICE_TOKEN_TEXT_MAX], enrollment[SERVICE_TOKEN_TEXT_MAX], flipped[SERVICE_TOKEN_TEXT_MAX + 8];
    world_open(&world, DB_INLINE);
    world_cluster(&world, "ml", "gpu", 1, ORCHESTRATOR_NONE);
    assert_int_equal(make_api(&world, "ci", ROLE_VIEWER, 0, &token, api), 0);
    assert_int_equal(
        service_token_create_enrollment(&world.service, &world_admin, "ml", "", 0, &token, enrollment, &world.problem),
        0);
    static const char *const bad[] = {
        NULL, "", "hfa_", "hfa_short", "Bearer x", "hfn_1.x", "hfa_0123456789012345678901234567890123456789012"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_int_equal(service_authenticate(&world.service, bad[i], &actor), STATUS_UNAUTHENTICATED);
    assert_int_equal(service_authenticate(&world.service, enrollment, &actor), STATUS_UNAUTHENTICATED);
    snprintf(flipped, sizeof(flipped), "hfa_%s", enrollment + 4); /* the right secret behind the wrong prefix */
    assert_int_equal(service_authenticate(&world.service, flipped, &actor), STATUS_UNAUTHENTICATED);
    snprintf(flipped, sizeof(flipped), "%s", api);
    flipped[10] = flipped[10] == 'a' ? 'b' : 'a';
    assert_int_equal(service_authenticate(&world.service, flipped, &actor), STATUS_UNAUTHENTICATED);
    snprintf(flipped, sizeof(flipped), "%sx", api);
    assert_int_equal(service_authenticate(&world.service, flipped, &actor), STATUS_UNAUTHENTICATED);
    world_close(&world);
}

static void test_a_deleted_token_is_dead_at_once(void **state)
{
    (void)state;
    struct world world;
    struct token token;
    struct actor actor;
    char text[SERVICE_TOKEN_TEXT_MAX];
    world_open(&world, DB_INLINE);
    assert_int_equal(make_api(&world, "ci", ROLE_VIEWER, 0, &token, text), 0);
    assert_int_equal(service_authenticate(&world.service, text, &actor), 0); /* remembered now */
    assert_int_equal(service_token_delete(&world.service, &world_operator, token.uid, &world.problem), STATUS_DENIED);
    assert_int_equal(service_token_delete(&world.service, &world_admin, token.uid, &world.problem), 0);
    assert_int_equal(service_authenticate(&world.service, text, &actor), STATUS_UNAUTHENTICATED);
    assert_int_equal(service_token_delete(&world.service, &world_admin, token.uid, &world.problem), STATUS_NOT_FOUND);
    assert_problem(&world, PROBLEM_NOT_FOUND);
    world_close(&world);
}

static void test_a_token_expires_even_while_remembered(void **state)
{
    (void)state;
    struct world world;
    struct token token;
    struct actor actor;
    char text[SERVICE_TOKEN_TEXT_MAX];
    world_open(&world, DB_INLINE);
    assert_int_equal(make_api(&world, "ci", ROLE_VIEWER, 2000, &token, text), 0);
    assert_int_equal(token.expires_at, WORLD_T0 + 2000);
    clock_fake_advance(&world.clock, 1999);
    assert_int_equal(service_authenticate(&world.service, text, &actor), 0);
    clock_fake_advance(&world.clock, 1);
    assert_int_equal(service_authenticate(&world.service, text, &actor), STATUS_UNAUTHENTICATED);
    world_close(&world);
}

/* The store says when a token was used; a write a minute is enough. */
static int note_used_at(const void *row, void *arg)
{
    *(int64_t *)arg = ((const struct token *)row)->used_at;
    return 0;
}

static void test_use_is_noted_now_and_then(void **state)
{
    (void)state;
    struct world world;
    struct token token;
    struct actor actor;
    char text[SERVICE_TOKEN_TEXT_MAX];
    static const struct {
        int64_t advance_ms, expected;
    } table[] = {{1000, WORLD_T0 + 1000}, {20000, WORLD_T0 + 1000}, {60000, WORLD_T0 + 81000}};
    world_open(&world, DB_INLINE);
    assert_int_equal(make_api(&world, "ci", ROLE_VIEWER, 0, &token, text), 0);
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        int64_t used_at = -1;
        clock_fake_advance(&world.clock, table[i].advance_ms);
        assert_int_equal(service_authenticate(&world.service, text, &actor), 0);
        assert_int_equal(service_token_list(&world.service, note_used_at, &used_at, &world.problem), 0);
        assert_int_equal(used_at, table[i].expected);
    }
    world_close(&world);
}

static void test_tokens_that_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int64_t ttl_ms;
        int status;
        enum problem_code code;
    } table[] = {
        {"", 0, STATUS_INVALID, PROBLEM_INVALID_VALUE},
        {"with space", 0, STATUS_INVALID, PROBLEM_INVALID_VALUE},
        {"a23456789-123456789-123456789-123456789-123456789-123456789", 0, STATUS_INVALID, PROBLEM_INVALID_VALUE},
        {"fine", -1, STATUS_INVALID, PROBLEM_INVALID_VALUE},
        {"fine", 3651 * MS_PER_DAY, STATUS_INVALID, PROBLEM_INVALID_VALUE},
        {"taken", 0, STATUS_EXISTS, PROBLEM_NAME_TAKEN},
    };
    struct world world;
    struct token token;
    char text[SERVICE_TOKEN_TEXT_MAX];
    world_open(&world, DB_INLINE);
    assert_int_equal(make_api(&world, "taken", ROLE_VIEWER, 0, &token, text), 0);
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        assert_int_equal(make_api(&world, table[i].name, ROLE_VIEWER, table[i].ttl_ms, &token, text), table[i].status);
        assert_problem(&world, table[i].code);
    }
    assert_int_equal(
        service_token_create_api(&world.service, &world_operator, "x", ROLE_VIEWER, 0, &token, text, &world.problem),
        STATUS_DENIED);
    world_close(&world);
}

static void test_enrolment_tokens_are_short_lived_and_bound(void **state)
{
    (void)state;
    static const struct {
        const char *cluster, *node;
        int64_t ttl_ms;
        int status;
        enum problem_code code;
    } table[] = {
        {"ml", "", 0, 0, 0},
        {"ml", "gpu-1", 60000, 0, 0},
        {"ml", NULL, MS_PER_DAY, 0, 0},
        {"ml", "", MS_PER_DAY + 1, STATUS_INVALID, PROBLEM_INVALID_VALUE},
        {"ml", "", -5, STATUS_INVALID, PROBLEM_INVALID_VALUE},
        {"no", "", 0, STATUS_NOT_FOUND, PROBLEM_NOT_FOUND},
        {"ml", "no", 0, STATUS_NOT_FOUND, PROBLEM_NOT_FOUND},
    };
    struct world world;
    struct cluster cluster;
    world_open(&world, DB_INLINE);
    world_cluster(&world, "ml", "gpu", 1, ORCHESTRATOR_NONE);
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct token token;
        char text[SERVICE_TOKEN_TEXT_MAX];
        assert_int_equal(service_token_create_enrollment(&world.service, &world_admin, table[i].cluster, table[i].node,
                                                         table[i].ttl_ms, &token, text, &world.problem),
                         table[i].status);
        if (table[i].status < 0) {
            assert_problem(&world, table[i].code);
            continue;
        }
        assert_true(text_starts_with(text, "hfe_"));
        assert_int_equal(token.expires_at, WORLD_T0 + (table[i].ttl_ms == 0 ? MS_PER_HOUR : table[i].ttl_ms));
        assert_int_equal(token.node_id != 0, table[i].node != NULL && table[i].node[0] != '\0');
    }
    assert_int_equal(service_cluster_delete(&world.service, &world_admin, "ml", &cluster, &world.problem), 0);
    struct token token;
    char text[SERVICE_TOKEN_TEXT_MAX];
    assert_int_equal(
        service_token_create_enrollment(&world.service, &world_admin, "ml", "", 0, &token, text, &world.problem),
        STATUS_CONFLICT);
    world_close(&world);
}

static void test_the_first_token_is_made_once(void **state)
{
    (void)state;
    struct world world;
    struct actor actor;
    struct token token;
    char first[SERVICE_TOKEN_TEXT_MAX], again[SERVICE_TOKEN_TEXT_MAX], lesser[SERVICE_TOKEN_TEXT_MAX];
    world_open(&world, DB_INLINE);
    assert_int_equal(make_api(&world, "admin", ROLE_VIEWER, 0, &token, lesser), 0); /* the name says nothing */
    assert_int_equal(service_ensure_admin_token(&world.service, false, first), 0);
    assert_int_equal(service_authenticate(&world.service, first, &actor), 0);
    assert_int_equal(actor.role, ROLE_ADMIN);
    assert_string_equal(actor.name, "token:admin-2");
    assert_int_equal(service_ensure_admin_token(&world.service, false, again), 0);
    assert_string_equal(again, "");
    world_close(&world);
}

static void test_an_expired_administrator_does_not_count(void **state)
{
    (void)state;
    struct world world;
    struct token token;
    char text[SERVICE_TOKEN_TEXT_MAX];
    world_open(&world, DB_INLINE);
    assert_int_equal(make_api(&world, "boss", ROLE_ADMIN, 1000, &token, text), 0);
    clock_fake_advance(&world.clock, 1000);
    assert_int_equal(service_ensure_admin_token(&world.service, false, text), 0);
    assert_true(text_starts_with(text, "hfa_"));
    world_close(&world);
}

/* Whoever lost the first one gets another, whatever other administrators there are; and the lost one is worth nothing. */
static void test_the_first_token_can_be_made_anew(void **state)
{
    (void)state;
    struct world world;
    struct actor actor;
    struct token token;
    char lost[SERVICE_TOKEN_TEXT_MAX], found[SERVICE_TOKEN_TEXT_MAX], other[SERVICE_TOKEN_TEXT_MAX];
    world_open(&world, DB_INLINE);
    assert_int_equal(service_ensure_admin_token(&world.service, false, lost), 0);
    assert_int_equal(service_authenticate(&world.service, lost, &actor), 0); /* and is remembered */
    assert_int_equal(make_api(&world, "boss", ROLE_ADMIN, 0, &token, other), 0);
    assert_int_equal(service_ensure_admin_token(&world.service, true, found), 0);
    assert_int_equal(service_authenticate(&world.service, found, &actor), 0);
    assert_int_equal(actor.role, ROLE_ADMIN);
    assert_string_equal(actor.name, "token:admin");
    assert_int_equal(service_authenticate(&world.service, lost, &actor), STATUS_UNAUTHENTICATED);
    assert_int_equal(service_authenticate(&world.service, other, &actor), 0);
    world_close(&world);
}

/* Without memory every look asks the store; nothing else differs. */
static void test_nothing_needs_the_memory(void **state)
{
    (void)state;
    struct world world;
    struct token token;
    struct actor actor;
    char text[SERVICE_TOKEN_TEXT_MAX];
    world_open(&world, DB_INLINE);
    service_memory_free(TAKE(world.service.memory));
    assert_int_equal(make_api(&world, "ci", ROLE_VIEWER, 0, &token, text), 0);
    assert_int_equal(service_authenticate(&world.service, text, &actor), 0);
    assert_int_equal(service_token_delete(&world.service, &world_admin, token.uid, &world.problem), 0);
    assert_int_equal(service_authenticate(&world.service, text, &actor), STATUS_UNAUTHENTICATED);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_api_token_authenticates_as_itself),
        cmocka_unit_test(test_bearers_that_open_nothing),
        cmocka_unit_test(test_a_deleted_token_is_dead_at_once),
        cmocka_unit_test(test_a_token_expires_even_while_remembered),
        cmocka_unit_test(test_use_is_noted_now_and_then),
        cmocka_unit_test(test_tokens_that_are_refused),
        cmocka_unit_test(test_enrolment_tokens_are_short_lived_and_bound),
        cmocka_unit_test(test_the_first_token_is_made_once),
        cmocka_unit_test(test_an_expired_administrator_does_not_count),
        cmocka_unit_test(test_the_first_token_can_be_made_anew),
        cmocka_unit_test(test_nothing_needs_the_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
