/* Tokens: round trip, the names of live ones, use, end and pruning. */
#include "db_world.h"

static struct token a_token(const char *uid, const char *name, enum token_kind kind, int64_t expires_at)
{
    struct token token = {.kind = kind, .role = ROLE_OPERATOR, .created_at = WORLD_NOW, .expires_at = expires_at};
    SET(token.uid, uid);
    SET(token.name, name);
    id_sha256(uid, strlen(uid), token.hash);
    return token;
}

static void test_every_field_comes_back(void **state)
{
    struct world *w = *state;
    struct token in = a_token("uid", "name", TOKEN_KIND_ENROLLMENT, WORLD_NOW + 9), out;
    in.role = ROLE_ADMIN;
    in.cluster_id = w->cluster.id;
    in.node_id = w->nodes[0].id;
    SET(in.instance_id, "i-1");
    in.used_at = WORLD_NOW + 3;
    MUST(db_token_insert(w->tx, &in));
    memset(&out, 0xee, sizeof(out));
    MUST(db_token_find(w->tx, in.hash, &out));
    assert_int_equal(out.id, in.id);
    assert_string_equal(out.uid, "uid");
    assert_int_equal(out.kind, TOKEN_KIND_ENROLLMENT);
    assert_string_equal(out.name, "name");
    assert_int_equal(out.role, ROLE_ADMIN);
    assert_int_equal(out.cluster_id, in.cluster_id);
    assert_int_equal(out.node_id, in.node_id);
    assert_string_equal(out.instance_id, "i-1");
    assert_memory_equal(out.hash, in.hash, sizeof(in.hash));
    assert_int_equal(out.created_at, WORLD_NOW);
    assert_int_equal(out.expires_at, WORLD_NOW + 9);
    assert_int_equal(out.used_at, WORLD_NOW + 3);
}

static void test_a_name_belongs_to_the_live_token_that_has_it(void **state)
{
    struct world *w = *state;
    struct token expired = a_token("1", "ci", TOKEN_KIND_API, WORLD_NOW), live = a_token("2", "ci", TOKEN_KIND_API, 0),
                 third = a_token("3", "ci", TOKEN_KIND_API, WORLD_NOW + 1), out;
    MUST(db_token_insert(w->tx, &expired));
    MUST(db_token_insert(w->tx, &live));
    assert_int_equal(db_token_find(w->tx, expired.hash, &out), STATUS_NOT_FOUND);
    assert_int_equal(db_token_insert(w->tx, &third), STATUS_EXISTS);
    MUST(db_token_delete(w->tx, "2"));
    MUST(db_token_insert(w->tx, &third));
    /* Enrolment tokens are many and may be named alike. */
    struct token a = a_token("4", "ci", TOKEN_KIND_ENROLLMENT, 0), b = a_token("5", "ci", TOKEN_KIND_ENROLLMENT, 0);
    a.cluster_id = b.cluster_id = w->cluster.id;
    MUST(db_token_insert(w->tx, &a));
    MUST(db_token_insert(w->tx, &b));
}

static void test_what_is_refused(void **state)
{
    struct world *w = *state;
    struct token first = a_token("1", "a", TOKEN_KIND_API, 0), same_secret = a_token("2", "b", TOKEN_KIND_API, 0), out;
    struct token orphan = a_token("3", "c", TOKEN_KIND_ENROLLMENT, 0);
    MUST(db_token_insert(w->tx, &first));
    memcpy(same_secret.hash, first.hash, sizeof(first.hash));
    assert_int_equal(db_token_insert(w->tx, &same_secret), STATUS_EXISTS);
    orphan.cluster_id = 999;
    assert_int_equal(db_token_insert(w->tx, &orphan), STATUS_NOT_FOUND);
    assert_int_equal(db_token_find(w->tx, orphan.hash, &out), STATUS_NOT_FOUND);
    assert_int_equal(db_token_used(w->tx, 999, WORLD_NOW), STATUS_NOT_FOUND);
    assert_int_equal(db_token_delete(w->tx, "none"), STATUS_NOT_FOUND);
}

static void test_use_and_pruning(void **state)
{
    struct world *w = *state;
    static const int64_t ends[] = {0, WORLD_NOW - 1, WORLD_NOW, WORLD_NOW + 1};
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        char uid[8];
        snprintf(uid, sizeof(uid), "t%zu", i);
        struct token token = a_token(uid, uid, TOKEN_KIND_API, ends[i]);
        MUST(db_token_insert(w->tx, &token));
        MUST(db_token_used(w->tx, token.id, WORLD_NOW + (int64_t)i));
    }
    MUST(db_token_prune(w->tx, WORLD_NOW));
    struct rows rows = ROWS(struct token);
    MUST(db_token_list(w->tx, rows_add, &rows));
    static const char *const left[] = {"t0", "t2", "t3"};
    assert_int_equal(rows.count, 3);
    for (int i = 0; i < 3; i++)
        assert_string_equal(ROW(rows, struct token, i)->uid, left[i]);
    assert_int_equal(ROW(rows, struct token, 1)->used_at, WORLD_NOW + 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(test_every_field_comes_back),
        WORLD_TEST(test_a_name_belongs_to_the_live_token_that_has_it),
        WORLD_TEST(test_what_is_refused),
        WORLD_TEST(test_use_and_pruning),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
