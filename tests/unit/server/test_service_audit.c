/* The audit log: one with the change, beside the refusal, and bounded whoever tries what how often. */
#include "tests/support/service_world.h"

#include "db/intern.h"
#include "server/service/private.h"

#define ROWS_MAX 2048

struct rows {
    int count;
    int64_t sum;
    struct audit rows[ROWS_MAX];
};

static int keep(const void *row, void *arg)
{
    struct rows *rows = arg;
    const struct audit *audit = row;
    assert_true(rows->count < ROWS_MAX);
    rows->rows[rows->count++] = *audit;
    rows->sum += audit->count;
    return 0;
}

/* Newest first. Caller frees. */
static struct rows *list(struct world *world)
{
    struct rows *rows = own_calloc(1, sizeof(*rows));
    const struct db_audit_filter all = {.cluster = "", .actor = "", .operation = "", .resource = "", .outcome = -1};
    assert_int_equal(service_audit_list(&world->service, &all, keep, rows, &world->problem), 0);
    return rows;
}

static struct service_audit request(const char *operation)
{
    struct service_audit audit = {.entry = {.actor = "token:admin", .peer = "192.0.2.7", .request_id = "r-1"}};
    snprintf(audit.entry.operation, sizeof(audit.entry.operation), "%s", operation);
    return audit;
}

static int make_token(struct world *world, const char *name)
{
    struct token token;
    char text[SERVICE_TOKEN_TEXT_MAX];
    return service_token_create_api(&world->service, &world_admin, name, ROLE_VIEWER, 0, &token, text, &world->problem);
}

static void test_a_change_and_its_row_are_one(void **state)
{
    (void)state;
    struct world world;
    world_open(&world, DB_INLINE);
    struct service_audit audit = request("token.create");
    service_audit_begin(&audit);
    assert_int_equal(make_token(&world, "one"), 0);
    service_audit_settle(&world.service); /* it has its row */
    assert_int_equal(make_token(&world, "one"), STATUS_EXISTS);
    service_audit_end();
    assert_int_equal(make_token(&world, "two"), 0); /* nobody's request */
    autofree struct rows *rows = list(&world);
    assert_int_equal(rows->count, 1);
    assert_string_equal(rows->rows[0].operation, "token.create");
    assert_string_equal(rows->rows[0].actor, "token:admin");
    assert_string_equal(rows->rows[0].peer, "192.0.2.7");
    assert_string_equal(rows->rows[0].request_id, "r-1");
    assert_int_equal(rows->rows[0].outcome, AUDIT_OUTCOME_SUCCEEDED);
    assert_int_equal(rows->rows[0].at, WORLD_T0);
    world_close(&world);
}

static int run_sql(struct db_tx *tx, void *arg)
{
    return db_script(tx, arg);
}

/* What cannot be recorded is not done. */
static void test_no_row_no_change(void **state)
{
    static char shut[] = "CREATE TRIGGER shut BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'shut'); END";
    static char open_again[] = "DROP TRIGGER shut";
    (void)state;
    struct world world;
    world_open(&world, DB_INLINE);
    struct service_audit audit = request("token.create");
    assert_int_equal(db_write(world.service.db, "shut", run_sql, shut), 0);
    service_audit_begin(&audit);
    assert_true(make_token(&world, "one") < 0);
    assert_false(audit.recorded);
    assert_int_equal(db_write(world.service.db, "open", run_sql, open_again), 0);
    assert_int_equal(make_token(&world, "one"), 0); /* the name was not taken */
    assert_true(audit.recorded);
    service_audit_end();
    autofree struct rows *rows = list(&world);
    assert_int_equal(rows->count, 1);
    world_close(&world);
}

static void test_a_change_that_wrote_nothing_has_a_row(void **state)
{
    (void)state;
    struct world world;
    world_open(&world, DB_INLINE);
    struct service_audit audit = request("cluster.update");
    service_audit_settle(&world.service); /* no request: nothing */
    service_audit_begin(&audit);
    service_audit_settle(&world.service);
    service_audit_settle(&world.service);
    service_audit_end();
    autofree struct rows *rows = list(&world);
    assert_int_equal(rows->count, 1);
    world_close(&world);
}

static void test_a_cluster_is_found_by_its_name(void **state)
{
    (void)state;
    struct world world;
    struct cluster cluster;
    struct service_cluster_view view = {0};
    world_open(&world, DB_INLINE);
    world_cluster(&world, "train", "gpu", 1, ORCHESTRATOR_NONE);
    assert_int_equal(service_cluster_describe(&world.service, "train", &view, &world.problem), 0);
    struct service_audit audit = request("AWS DeleteCluster");
    service_audit_begin(&audit);
    autofree char *by_id = own_printf(SERVICE_CLUSTER_ID_PREFIX "%s", view.cluster.uid);
    service_audit_about(by_id, SERVICE_INSTANCE_PREFIX "i-1");
    assert_int_equal(service_cluster_delete(&world.service, &world_admin, by_id, &cluster, &world.problem), 0);
    service_audit_about("id:unknown", "gpu-1");
    struct audit refused = audit.entry;
    refused.outcome = AUDIT_OUTCOME_REFUSED;
    service_audit_refused(&world.service, &refused);
    service_audit_end();
    service_cluster_view_free(&view);
    autofree struct rows *rows = list(&world);
    assert_int_equal(rows->count, 2);
    assert_string_equal(rows->rows[1].cluster, "train");
    assert_string_equal(rows->rows[1].resource, "i-1");
    assert_string_equal(rows->rows[0].cluster, "id:unknown");
    assert_string_equal(rows->rows[0].resource, "gpu-1");
    world_close(&world);
}

static void test_an_enrolment_says_whose_it_is(void **state)
{
    (void)state;
    struct world world;
    struct service_enrollment e = {.node = "gpu-1", .instance_id = "i-0123456789abcdef0", .boot_id = WORLD_BOOT};
    struct token token;
    char text[SERVICE_TOKEN_TEXT_MAX], credential[SERVICE_TOKEN_TEXT_MAX];
    int64_t node_id;
    world_open(&world, DB_INLINE);
    world_cluster(&world, "train", "gpu", 2, ORCHESTRATOR_NONE);
    assert_int_equal(service_token_create_enrollment(&world.service, &world_admin, "train", "gpu-2", 0, &token, text,
                                                     &world.problem),
                     0);
    struct service_audit audit = {.entry = {.operation = "agent.enroll"}};
    service_audit_begin(&audit);
    assert_int_equal(service_agent_enroll(&world.service, text, &e, &node_id, credential, &world.problem),
                     STATUS_DENIED);
    assert_string_equal(audit.entry.actor, "enrollment:gpu-2");
    snprintf(e.node, sizeof(e.node), "gpu-2");
    assert_int_equal(service_agent_enroll(&world.service, text, &e, &node_id, credential, &world.problem), 0);
    service_audit_end();
    autofree struct rows *rows = list(&world);
    assert_int_equal(rows->count, 1);
    assert_string_equal(rows->rows[0].actor, "enrollment:gpu-2");
    assert_string_equal(rows->rows[0].credential, token.uid);
    assert_string_equal(rows->rows[0].cluster, "train");
    assert_string_equal(rows->rows[0].resource, "gpu-2");
    assert_null(strstr(rows->rows[0].resource, text));
    world_close(&world);
}

/* --- floods ------------------------------------------------------------------------------------------ */

static void refuse(struct world *world, const char *peer, const char *operation, const char *code)
{
    struct audit entry = {.outcome = AUDIT_OUTCOME_REFUSED, .actor = "token:ci", .resource = "x"};
    snprintf(entry.peer, sizeof(entry.peer), "%s", peer);
    snprintf(entry.operation, sizeof(entry.operation), "%s", operation);
    snprintf(entry.code, sizeof(entry.code), "%s", code);
    service_audit_refused(&world->service, &entry);
}

static void flood_open(struct world *world)
{
    world_open(world, DB_INLINE);
    clock_fake_advance(&world->clock, 1);
}

static void test_a_flood_of_one_address_is_a_count(void **state)
{
    (void)state;
    struct world world;
    flood_open(&world);
    for (int i = 0; i < 1000; i++)
        refuse(&world, "192.0.2.1", "token.create", "unauthenticated");
    refuse(&world, "192.0.2.2", "token.create", "forbidden"); /* is not hidden by the other's */
    autofree struct rows *now = list(&world);
    assert_int_equal(now->count, 21);
    clock_fake_advance(&world.clock, MS_PER_MIN);
    autofree struct rows *later = list(&world);
    assert_int_equal(later->count, 22);
    assert_int_equal(later->sum, 1001);
    const struct audit *sum = &later->rows[0];
    assert_int_equal(sum->count, 980);
    assert_string_equal(sum->peer, "192.0.2.1");
    assert_string_equal(sum->operation, "token.create");
    assert_string_equal(sum->actor, "token:ci");
    assert_string_equal(sum->code, "unauthenticated");
    assert_string_equal(sum->resource, "");
    refuse(&world, "192.0.2.1", "token.create", "unauthenticated"); /* another minute */
    autofree struct rows *again = list(&world);
    assert_int_equal(again->count, 23);
    world_close(&world);
}

static void test_a_count_says_only_what_is_true_of_all(void **state)
{
    (void)state;
    struct world world;
    flood_open(&world);
    for (int i = 0; i < 30; i++)
        refuse(&world, "192.0.2.1", i % 2 == 0 ? "token.create" : "cluster.delete", i % 3 == 0 ? "a" : "b");
    service_audit_flush(&world.service, true);
    autofree struct rows *rows = list(&world);
    assert_int_equal(rows->count, 21);
    assert_int_equal(rows->sum, 30);
    assert_string_equal(rows->rows[0].operation, "*");
    assert_string_equal(rows->rows[0].code, "");
    assert_string_equal(rows->rows[0].actor, "token:ci");
    world_close(&world);
}

/* Many addresses, for hours: no hour has more than its rows, and none of the tries is forgotten. */
static void test_the_whole_world_is_bounded(void **state)
{
    (void)state;
    struct audit_flood *flood = audit_flood_new();
    struct audit entry = {.operation = "token.create", .code = "unauthenticated"}, sum;
    int64_t now = 1, tries = 0, counted = 0, rows = 0;
    for (int minute = 0; minute < 150; minute++, now += MS_PER_MIN) {
        for (int i = 0; i < 200; i++, tries++) {
            snprintf(entry.peer, sizeof(entry.peer), "2001:db8::%x", (minute * 97 + i) % 5000);
            bool admitted = audit_flood_admit(flood, &entry, now);
            rows += admitted;
            counted += admitted;
        }
        for (; audit_flood_take(flood, now, false, &sum); rows++)
            counted += sum.count;
        assert_in_range(rows, 1, (uintmax_t)(minute / 60 + 1) * 601);
    }
    while (audit_flood_take(flood, now, true, &sum))
        counted += sum.count;
    assert_int_equal(counted, tries);
    audit_flood_free(flood);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_change_and_its_row_are_one),
        cmocka_unit_test(test_no_row_no_change),
        cmocka_unit_test(test_a_change_that_wrote_nothing_has_a_row),
        cmocka_unit_test(test_a_cluster_is_found_by_its_name),
        cmocka_unit_test(test_an_enrolment_says_whose_it_is),
        cmocka_unit_test(test_a_flood_of_one_address_is_a_count),
        cmocka_unit_test(test_a_count_says_only_what_is_true_of_all),
        cmocka_unit_test(test_the_whole_world_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
