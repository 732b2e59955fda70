/* Folding by itself: freshness, the driver's word, rates, company, and a flood that must stay cheap. */
#include "base/own.h"
#include "base/text.h"
#include "policy/evaluate.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <stdio.h>

#define NOW INT64_C(1795176000000)
#define MANY 20000

struct bench {
    struct verdict *verdicts;
    const struct verdict **refs;
    size_t count;
    struct policy_node node;
    struct policy_snapshot snapshot;
    struct folded folded;
};

static void add(struct bench *b, const char *code, const char *device, int64_t at_s)
{
    struct verdict *v = &b->verdicts[b->count];
    *v = (struct verdict){
        .id = (int64_t)b->count + 1, .count = 1, .first_at = NOW + at_s * 1000, .last_at = NOW + at_s * 1000};
    text_copy_cut(v->code, sizeof(v->code), code);
    text_copy_cut(v->device, sizeof(v->device), device);
    text_copy_cut(v->source, sizeof(v->source), "kmsg");
    text_copy_cut(v->instance_id, sizeof(v->instance_id), "i-1");
    text_copy_cut(v->boot_id, sizeof(v->boot_id), "b-1");
    b->refs[b->count++] = v;
}

static void fold(struct bench *b)
{
    b->node.verdict_count = b->count;
    b->node.verdicts = b->refs;
    policy_folded_free(&b->folded);
    policy_fold(&b->snapshot, &b->node, &b->folded);
}

static int setup(void **state)
{
    struct bench *b = own_calloc(1, sizeof(*b));
    b->verdicts = own_calloc(MANY, sizeof(*b->verdicts));
    b->refs = own_calloc(MANY, sizeof(*b->refs));
    b->node = (struct policy_node){.id = 1, .name = "n", .instance_id = "i-1", .boot_id = "b-1"};
    b->snapshot.now_ms = NOW;
    policy_settings_default(&b->snapshot.settings);
    *state = b;
    return 0;
}

static int teardown(void **state)
{
    struct bench *b = *state;
    policy_folded_free(&b->folded);
    free(b->verdicts);
    free(b->refs);
    free(b);
    return 0;
}

static void only_open_and_fresh(void **state)
{
    struct bench *b = *state;
    add(b, "xid.79", "a", -9);
    add(b, "xid.79", "a", -8);
    add(b, "xid.79", "a", -7);
    add(b, "xid.79", "a", -6);
    text_copy_cut(b->verdicts[0].boot_id, BOOT_ID_MAX_BYTES, "b-0");
    text_copy_cut(b->verdicts[1].instance_id, ID_INSTANCE_MAX, "i-0");
    b->verdicts[2].state = VERDICT_STATE_RESOLVED;
    fold(b);
    assert_int_equal(b->folded.count, 1);
    assert_int_equal(b->folded.incidents[0].evidence_count, 1);
    assert_int_equal(b->folded.incidents[0].evidence[0], 4);
    assert_int_equal(b->folded.stale_count, 2);
    assert_ptr_equal(b->folded.stale, &b->verdicts[1]);
    /* Before the first boot is reported only the instance can tell. */
    b->node.boot_id = "";
    fold(b);
    assert_int_equal(b->folded.stale_count, 1);
    /* An empty slot has no fresh evidence. */
    b->node.instance_id = NULL;
    fold(b);
    assert_int_equal(b->folded.count, 0);
}

static void nothing_at_all(void **state)
{
    struct bench *b = *state;
    fold(b);
    assert_int_equal(b->folded.count, 0);
    assert_null(b->folded.stale);
}

static void devices_are_quarantine(void **state)
{
    struct bench *b = *state;
    add(b, "xid.79", "b", -9);
    add(b, "xid.31", "a", -9);
    add(b, "xid.48", "", -9);
    fold(b);
    assert_int_equal(b->folded.count, 3);
    assert_string_equal(b->folded.incidents[0].device, "");
    assert_string_equal(b->folded.incidents[1].device, "a");
    assert_string_equal(b->folded.incidents[2].device, "b");
}

static void company_is_what_lies_close(void **state)
{
    struct bench *b = *state;
    add(b, "xid.45", "a", -400); /* too early */
    add(b, "xid.45", "a", -220); /* within a minute of the next */
    add(b, "xid.45", "a", -170);
    add(b, "xid.79", "a", -115);
    add(b, "xid.43", "a", -60);
    add(b, "xid.45", "a", 30); /* too late */
    fold(b);
    const struct incident *incident = &b->folded.incidents[0];
    assert_int_equal(b->folded.count, 1);
    assert_string_equal(incident->lead.verdict->code, "xid.79");
    assert_int_equal(incident->evidence_count, 4);
    assert_int_equal(incident->evidence[0], 4); /* the leader first */
    assert_int_equal(incident->first_at, NOW - 220000);
    assert_int_equal(incident->last_at, NOW - 60000);
    assert_string_equal(incident->company, "xid.45, xid.43");
}

static void the_strongest_leads(void **state)
{
    static const struct {
        const char *one, *other, *leader;
    } table[] = {
        {"xid.31", "xid.45", "xid.31"}, {"xid.163", "xid.31", "xid.163"}, {"xid.79", "xid.64", "xid.64"},
        {"xid.78", "xid.79", "xid.79"}, {"xid.78", "xid.163", "xid.78"},  {"xid.94", "xid.31", "xid.94"},
        {"xid.94", "xid.63", "xid.63"}, {"xid.160", "xid.45", "xid.45"},  {"xid.999", "xid.79", "xid.79"},
    };
    struct bench *b = *state;
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        for (int swap = 0; swap < 2; swap++) {
            b->count = 0;
            add(b, swap != 0 ? table[i].other : table[i].one, "a", -9);
            add(b, swap != 0 ? table[i].one : table[i].other, "a", -8);
            fold(b);
            assert_string_equal(b->folded.incidents[0].lead.verdict->code, table[i].leader);
        }
}

static void a_burst_is_not_a_rate(void **state)
{
    struct bench *b = *state;
    for (int i = 0; i < 10; i++)
        add(b, "xid.8", "a", -600 + i * 50);
    fold(b);
    assert_int_equal(b->folded.incidents[0].lead.bursts, 1);
    assert_false(b->folded.incidents[0].lead.rate_exceeded);
    add(b, "xid.8", "a", -5000);
    add(b, "xid.8", "a", -9000);
    fold(b);
    assert_int_equal(b->folded.incidents[0].lead.bursts, 3);
    assert_true(b->folded.incidents[0].lead.rate_exceeded);
    assert_int_equal(b->folded.incidents[0].lead.action, ACTION_CLASS_REBOOT);
    assert_int_equal(b->folded.incidents[0].lead.severity, SEVERITY_CRITICAL);
}

static void a_flood_is_cheap_and_one_incident(void **state)
{
    struct bench *b = *state;
    for (int i = 0; i < MANY; i++)
        add(b, i % 2 == 0 ? "xid.13" : "xid.45", "a", -MANY + i);
    fold(b);
    assert_int_equal(b->folded.count, 1);
    assert_int_equal(b->folded.incidents[0].evidence_count, MANY);
    assert_int_equal(b->folded.incidents[0].lines, MANY);
    assert_int_equal(b->folded.incidents[0].lead.bursts, 1);
}

int main(void)
{
#define FOLD_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        FOLD_TEST(only_open_and_fresh),
        FOLD_TEST(nothing_at_all),
        FOLD_TEST(devices_are_quarantine),
        FOLD_TEST(company_is_what_lies_close),
        FOLD_TEST(the_strongest_leads),
        FOLD_TEST(a_burst_is_not_a_rate),
        FOLD_TEST(a_flood_is_cheap_and_one_incident),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
