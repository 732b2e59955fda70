/* The audit log: round trip, each filter, and that nothing but adding is possible, whoever tries. */
#include "db_world.h"

#include "db/audit.h"

static int64_t add(struct world *w, const char *cluster, const char *actor, enum audit_outcome outcome, int64_t at)
{
    struct audit audit = {.at = at, .outcome = outcome};
    SET(audit.operation, outcome == AUDIT_OUTCOME_FAILED ? "node.reboot" : "cluster.create");
    SET(audit.cluster, cluster);
    SET(audit.actor, actor);
    snprintf(audit.resource, sizeof(audit.resource), "gpu-%d,gpu-x", (int)(at % 10));
    MUST(db_audit_insert(w->tx, &audit));
    return audit.id;
}

static void test_every_field_comes_back(void **state)
{
    struct world *w = *state;
    struct audit in = {.at = WORLD_NOW - 7,
                       .operation = "AWS BatchRebootClusterNodes",
                       .actor = "key:sdk",
                       .credential = "HFAKAAAAAAAAAAAAAAAA",
                       .peer = "2001:db8::1",
                       .cluster = "train",
                       .resource = "i-1,i-2 and 3 more",
                       .request_id = "0d9f1c52-6c1e-4c0f-9a3b-2f5f8e1b7a64",
                       .outcome = AUDIT_OUTCOME_FAILED,
                       .code = "store-full",
                       .count = 12},
                 bare = {0};
    MUST(db_audit_insert(w->tx, &in));
    MUST(db_audit_insert(w->tx, &bare));
    assert_int_equal(bare.at, WORLD_NOW); /* 0 is now */
    assert_int_equal(bare.count, 1);
    struct rows rows = ROWS(struct audit);
    const struct db_audit_filter all = {.cluster = "", .actor = "", .operation = "", .resource = "", .outcome = -1};
    MUST(db_audit_list(w->tx, &all, rows_add, &rows));
    assert_int_equal(rows.count, 2);
    const struct audit *out = ROW(rows, struct audit, 1);
    assert_int_equal(out->id, in.id);
    assert_int_equal(out->at, in.at);
    assert_string_equal(out->operation, in.operation);
    assert_string_equal(out->actor, in.actor);
    assert_string_equal(out->credential, in.credential);
    assert_string_equal(out->peer, in.peer);
    assert_string_equal(out->cluster, in.cluster);
    assert_string_equal(out->resource, in.resource);
    assert_string_equal(out->request_id, in.request_id);
    assert_int_equal(out->outcome, AUDIT_OUTCOME_FAILED);
    assert_string_equal(out->code, in.code);
    assert_int_equal(out->count, 12);
}

static void test_each_filter(void **state)
{
    struct world *w = *state;
    add(w, "main", "token:a", AUDIT_OUTCOME_SUCCEEDED, 101);
    add(w, "main", "key:b", AUDIT_OUTCOME_REFUSED, 102);
    int64_t third = add(w, "other", "token:a", AUDIT_OUTCOME_FAILED, 103);
    add(w, "", "", AUDIT_OUTCOME_REFUSED, 104);
    const struct {
        struct db_audit_filter filter; /* cluster, actor, operation, resource, outcome, after, before, cursor, limit */
        const char *found;             /* the last digits of the times */
    } rows[] = {
        {{"", "", "", "", -1, 0, 0, 0, 0}, "4321"},
        {{"", "", "", "", -1, 0, 0, 0, 2}, "43"},
        {{"", "", "", "", -1, 0, 0, third, 0}, "21"},
        {{"main", "", "", "", -1, 0, 0, 0, 0}, "21"},
        {{"mai", "", "", "", -1, 0, 0, 0, 0}, ""},
        {{"", "token:a", "", "", -1, 0, 0, 0, 0}, "31"},
        {{"main", "token:a", "", "", -1, 0, 0, 0, 0}, "1"},
        {{"", "", "node.reboot", "", -1, 0, 0, 0, 0}, "3"},
        {{"", "", "", "gpu-2", -1, 0, 0, 0, 0}, "2"},
        {{"", "", "", "gpu-x", -1, 0, 0, 0, 0}, "4321"},
        {{"", "", "", "", AUDIT_OUTCOME_REFUSED, 0, 0, 0, 0}, "42"},
        {{"", "", "", "", AUDIT_OUTCOME_SUCCEEDED, 0, 0, 0, 0}, "1"},
        {{"", "", "", "", -1, 101, 104, 0, 0}, "32"},
        {{"main", "", "", "", AUDIT_OUTCOME_REFUSED, 101, 0, 0, 0}, "2"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct rows got = ROWS(struct audit);
        char found[8] = "";
        MUST(db_audit_list(w->tx, &rows[i].filter, rows_add, &got));
        for (int n = 0; n < got.count; n++)
            found[n] = (char)('0' + ROW(got, struct audit, n)->at % 10);
        assert_string_equal(found, rows[i].found);
    }
}

static void test_rows_are_added_and_nothing_else(void **state)
{
    static const char *const tries[] = {
        "UPDATE audit SET outcome = 'succeeded'",
        "UPDATE audit SET id = id + 100",
        "UPDATE OR REPLACE audit SET actor = ''",
        "DELETE FROM audit",
        "DELETE FROM audit WHERE id = 1",
        "INSERT OR REPLACE INTO audit SELECT * FROM audit",
        "REPLACE INTO audit SELECT id, 0, '', '', '', '', '', '', '', 'succeeded', '', 1 FROM audit",
        "INSERT INTO audit SELECT id, 0, '', '', '', '', '', '', '', 'succeeded', '', 1 FROM audit WHERE true "
        "ON CONFLICT (id) DO UPDATE SET actor = ''",
    };
    struct world *w = *state;
    add(w, "main", "token:a", AUDIT_OUTCOME_SUCCEEDED, 101);
    for (size_t i = 0; i < ARRAY_LEN(tries); i++) {
        assert_true(db_script(w->tx, tries[i]) < 0);
        assert_non_null(strstr(sqlite3_errmsg(w->tx->sqlite), "append-only"));
    }
    struct rows rows = ROWS(struct audit);
    const struct db_audit_filter all = {.cluster = "", .actor = "", .operation = "", .resource = "", .outcome = -1};
    MUST(db_audit_list(w->tx, &all, rows_add, &rows));
    assert_int_equal(rows.count, 1);
    assert_string_equal(ROW(rows, struct audit, 0)->actor, "token:a");
    assert_int_equal(ROW(rows, struct audit, 0)->at, 101);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(test_every_field_comes_back),
        WORLD_TEST(test_each_filter),
        WORLD_TEST(test_rows_are_added_and_nothing_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
