/* The fleet: who may speak for a slot, when it counts as silent, and that the hash under it keeps its promises. */
#include "server/live/fleet.h"

#include "base/own.h"
#include "base/status.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define T0 INT64_C(1763650000000)
#define SILENT_AFTER_MS 60000

static const uint8_t hash_a[ID_SHA256_BYTES] = {1, 2, 3};
static const uint8_t hash_b[ID_SHA256_BYTES] = {1, 2, 4};

static struct fleet_slot slot_of(int64_t node_id, const char *instance_id, const char *boot_id, const uint8_t *hash)
{
    struct fleet_slot slot = {.node_id = node_id, .cluster_id = 1, .group_id = 2, .has_credential = hash != NULL};
    snprintf(slot.instance_id, sizeof(slot.instance_id), "%s", instance_id);
    snprintf(slot.boot_id, sizeof(slot.boot_id), "%s", boot_id);
    if (hash != NULL)
        memcpy(slot.hash, hash, sizeof(slot.hash));
    return slot;
}

static void put(struct fleet *fleet, int64_t node_id, const char *instance_id, const char *boot_id, const uint8_t *hash)
{
    struct fleet_slot slot = slot_of(node_id, instance_id, boot_id, hash);
    fleet_put(fleet, &slot);
}

static enum fleet_beat beat(struct fleet *fleet, int64_t node_id, const char *instance_id, const char *boot_id,
                            int64_t seq, int64_t now_ms)
{
    struct fleet_heartbeat heartbeat = {.seq = seq, .sent_at = now_ms - 7, .checks = FLEET_CHECK_KMSG};
    snprintf(heartbeat.instance_id, sizeof(heartbeat.instance_id), "%s", instance_id);
    snprintf(heartbeat.boot_id, sizeof(heartbeat.boot_id), "%s", boot_id);
    return fleet_heartbeat(fleet, node_id, &heartbeat, now_ms);
}

static struct fleet_view view_of(struct fleet *fleet, int64_t node_id)
{
    struct fleet_view view;
    assert_int_equal(fleet_get(fleet, node_id, &view), 0);
    return view;
}

/* One after another on the same slot: what each heartbeat is taken for. */
static void test_what_a_heartbeat_is_taken_for(void **state)
{
    (void)state;
    static const struct {
        int64_t node_id;
        const char *instance_id, *boot_id;
        int64_t seq;
        enum fleet_beat expected;
    } table[] = {{7, "i-1", "boot-1", 5, FLEET_BEAT_OK},        {7, "i-1", "boot-1", 5, FLEET_BEAT_REPLAYED},
                 {7, "i-1", "boot-1", 4, FLEET_BEAT_REPLAYED},  {7, "i-1", "boot-1", 6, FLEET_BEAT_OK},
                 {7, "i-0", "boot-1", 7, FLEET_BEAT_STALE},     {7, "i-11", "boot-1", 7, FLEET_BEAT_STALE},
                 {7, "", "boot-1", 7, FLEET_BEAT_STALE},        {7, "i-1", "boot-2", 1, FLEET_BEAT_NEW_BOOT},
                 {7, "i-1", "boot-2", 1, FLEET_BEAT_NEW_BOOT},  {8, "i-1", "boot-1", 9, FLEET_BEAT_UNKNOWN},
                 {-7, "i-1", "boot-1", 9, FLEET_BEAT_UNKNOWN},  {0, "i-1", "boot-1", 9, FLEET_BEAT_UNKNOWN},
                 {71, "i-1", "boot-1", 9, FLEET_BEAT_UNKNOWN},  {7, "i-1", "boot-1", 8, FLEET_BEAT_OK},
                 {INT64_MAX, "i-1", "b", 9, FLEET_BEAT_UNKNOWN}};
    struct fleet *fleet = fleet_new();
    put(fleet, 7, "i-1", "boot-1", hash_a);
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        assert_int_equal(
            beat(fleet, table[i].node_id, table[i].instance_id, table[i].boot_id, table[i].seq, T0 + (int64_t)i),
            table[i].expected);
    struct fleet_view view = view_of(fleet, 7);
    assert_int_equal(view.last_heartbeat_at, T0 + 13);
    assert_int_equal(view.last_seq, 8);
    assert_int_equal(view.skew_ms, -7);
    assert_int_equal(view.checks, FLEET_CHECK_KMSG);
    struct fleet_counts counts;
    fleet_counts(fleet, &counts);
    assert_int_equal(counts.heartbeats, 3);
    assert_int_equal(counts.replayed, 2);
    assert_int_equal(counts.stale, 3);
    assert_int_equal(counts.alive, 1);
    fleet_free(fleet);
}

/* News until it is said to be stored; an agent that tells none, and a slot that is put again, change nothing. */
static void test_an_address_is_news_once(void **state)
{
    (void)state;
    struct fleet *fleet = fleet_new();
    struct fleet_slot slot = slot_of(1, "i-1", "boot-1", hash_a);
    struct fleet_heartbeat heartbeat = {.instance_id = "i-1", .boot_id = "boot-1", .seq = 5, .address = "10.0.0.1"};
    fleet_put(fleet, &slot);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(fleet_heartbeat(fleet, 1, &heartbeat, T0), FLEET_BEAT_NEW_ADDRESS);
        assert_int_equal(view_of(fleet, 1).last_heartbeat_at, 0);
    }
    fleet_set_address(fleet, 1, "i-0", "10.0.0.1"); /* about another instance: ignored */
    fleet_set_address(fleet, 9, "i-1", "10.0.0.1");
    assert_int_equal(fleet_heartbeat(fleet, 1, &heartbeat, T0), FLEET_BEAT_NEW_ADDRESS);
    fleet_set_address(fleet, 1, "i-1", "10.0.0.1");
    assert_int_equal(fleet_heartbeat(fleet, 1, &heartbeat, T0), FLEET_BEAT_OK);
    assert_int_equal(beat(fleet, 1, "i-1", "boot-1", 6, T0), FLEET_BEAT_OK);
    fleet_put(fleet, &slot);
    heartbeat.seq = 7;
    assert_int_equal(fleet_heartbeat(fleet, 1, &heartbeat, T0), FLEET_BEAT_OK);
    snprintf(heartbeat.address, sizeof(heartbeat.address), "10.0.0.2");
    assert_int_equal(fleet_heartbeat(fleet, 1, &heartbeat, T0), FLEET_BEAT_REPLAYED);
    heartbeat.seq = 8;
    assert_int_equal(fleet_heartbeat(fleet, 1, &heartbeat, T0), FLEET_BEAT_NEW_ADDRESS);
    snprintf(slot.address, sizeof(slot.address), "10.0.0.2"); /* as after a restart, from the store */
    fleet_put(fleet, &slot);
    assert_int_equal(fleet_heartbeat(fleet, 1, &heartbeat, T0), FLEET_BEAT_OK);
    put(fleet, 1, "i-2", "boot-1", hash_a);
    snprintf(heartbeat.instance_id, sizeof(heartbeat.instance_id), "i-2");
    assert_int_equal(fleet_heartbeat(fleet, 1, &heartbeat, T0), FLEET_BEAT_NEW_ADDRESS);
    fleet_free(fleet);
}

static void test_an_empty_slot_hears_nobody(void **state)
{
    (void)state;
    struct fleet *fleet = fleet_new();
    put(fleet, 1, "", "", NULL);
    assert_int_equal(beat(fleet, 1, "", "", 1, T0), FLEET_BEAT_STALE);
    assert_int_equal(fleet_authenticate(fleet, 1, (const uint8_t[ID_SHA256_BYTES]){0}), STATUS_UNAUTHENTICATED);
    fleet_free(fleet);
}

static void test_a_new_boot_counts_once_it_is_stored(void **state)
{
    (void)state;
    struct fleet *fleet = fleet_new();
    put(fleet, 1, "i-1", "boot-1", hash_a);
    assert_int_equal(beat(fleet, 1, "i-1", "boot-1", 900, T0), FLEET_BEAT_OK);
    fleet_set_boot(fleet, 1, "i-0", "boot-9"); /* about another instance: ignored */
    assert_string_equal(view_of(fleet, 1).slot.boot_id, "boot-1");
    fleet_set_boot(fleet, 1, "i-1", "boot-2");
    assert_int_equal(view_of(fleet, 1).last_heartbeat_at, 0);
    assert_int_equal(beat(fleet, 1, "i-1", "boot-2", 3, T0 + 1), FLEET_BEAT_OK); /* counted anew */
    assert_int_equal(beat(fleet, 1, "i-1", "boot-1", 901, T0 + 2), FLEET_BEAT_STALE);
    /* Whoever read the store before the boot was written must not turn time back. */
    put(fleet, 1, "i-1", "boot-1", hash_a);
    assert_string_equal(view_of(fleet, 1).slot.boot_id, "boot-2");
    assert_int_equal(beat(fleet, 1, "i-1", "boot-2", 4, T0 + 3), FLEET_BEAT_OK);
    fleet_set_boot(fleet, 99, "i-1", "boot-2"); /* nobody */
    fleet_free(fleet);
}

static void test_whose_boot_a_report_is_from(void **state)
{
    (void)state;
    struct fleet *fleet = fleet_new();
    int64_t last = -1;
    put(fleet, 1, "i-1", "boot-1", hash_a);
    fleet_set_boot(fleet, 1, "i-1", "boot-2");
    assert_int_equal(beat(fleet, 1, "i-1", "boot-2", 3, T0), FLEET_BEAT_OK);
    assert_int_equal(fleet_boot_of(fleet, 1, "i-1", "boot-2", &last), FLEET_BOOT_CURRENT);
    assert_int_equal(last, T0);
    assert_int_equal(fleet_boot_of(fleet, 1, "i-1", "boot-1", &last), FLEET_BOOT_EARLIER);
    assert_int_equal(fleet_boot_of(fleet, 1, "i-1", "boot-3", &last), FLEET_BOOT_UNHEARD);
    assert_int_equal(fleet_boot_of(fleet, 1, "i-2", "boot-2", &last), FLEET_BOOT_OTHER_INSTANCE);
    assert_int_equal(fleet_boot_of(fleet, 2, "i-1", "boot-2", &last), FLEET_BOOT_OTHER_INSTANCE);
    assert_int_equal(last, 0);
    fleet_free(fleet);
}

static void test_another_owner_forgets_the_liveness_of_the_earlier(void **state)
{
    (void)state;
    struct fleet *fleet = fleet_new();
    put(fleet, 1, "i-1", "boot-1", hash_a);
    assert_int_equal(beat(fleet, 1, "i-1", "boot-1", 10, T0), FLEET_BEAT_OK);
    put(fleet, 1, "i-1", "boot-1", hash_a); /* the same again: nothing is forgotten */
    assert_int_equal(view_of(fleet, 1).last_seq, 10);
    put(fleet, 1, "i-1", "", NULL); /* not known there: kept */
    assert_string_equal(view_of(fleet, 1).slot.boot_id, "boot-1");
    assert_int_equal(fleet_authenticate(fleet, 1, hash_a), 0);

    fleet_set_credential(fleet, 1, "i-1", hash_b);
    assert_int_equal(view_of(fleet, 1).last_heartbeat_at, 0);
    assert_int_equal(fleet_authenticate(fleet, 1, hash_a), STATUS_UNAUTHENTICATED);
    assert_int_equal(fleet_authenticate(fleet, 1, hash_b), 0);
    assert_int_equal(beat(fleet, 1, "i-1", "boot-1", 1, T0), FLEET_BEAT_OK);

    assert_int_equal(fleet_direct(fleet, 1, "for i-1 only"), 0);
    put(fleet, 1, "i-2", "", NULL);
    char line[RAW_LINE_MAX_BYTES];
    assert_false(fleet_take_directive(fleet, 1, line));
    assert_int_equal(fleet_authenticate(fleet, 1, hash_b), STATUS_UNAUTHENTICATED);
    assert_int_equal(view_of(fleet, 1).last_seq, 0);
    assert_int_equal(beat(fleet, 1, "i-1", "boot-1", 99, T0), FLEET_BEAT_STALE);
    fleet_set_credential(fleet, 1, "i-3", hash_a); /* a bare node that registered itself */
    assert_string_equal(view_of(fleet, 1).slot.instance_id, "i-3");
    fleet_free(fleet);
}

struct silents {
    struct fleet *fleet;
    int count;
    int64_t last_node, last_at;
};

static void note_silent(int64_t node_id, int64_t last_heartbeat_at, void *arg)
{
    struct silents *silents = arg;
    struct fleet_view view;
    silents->count++;
    silents->last_node = node_id;
    silents->last_at = last_heartbeat_at;
    assert_int_equal(fleet_get(silents->fleet, node_id, &view), 0); /* looking from inside is allowed */
    assert_true(view.silent);
}

static int sweep(struct fleet *fleet, int64_t now_ms, struct silents *ret_silents)
{
    *ret_silents = (struct silents){.fleet = fleet};
    fleet_sweep(fleet, now_ms, SILENT_AFTER_MS, note_silent, ret_silents);
    return ret_silents->count;
}

static void test_silence_is_reported_once_and_ends_with_back(void **state)
{
    (void)state;
    struct fleet *fleet = fleet_new();
    struct silents silents;
    put(fleet, 1, "i-1", "boot-1", hash_a);
    put(fleet, 2, "i-2", "", NULL); /* launched, never heard */
    put(fleet, 3, "", "", NULL);    /* empty: cannot be silent */
    assert_int_equal(beat(fleet, 1, "i-1", "boot-1", 1, T0), FLEET_BEAT_OK);
    assert_int_equal(sweep(fleet, T0, &silents), 0); /* the time of node 2 begins */
    assert_int_equal(sweep(fleet, T0 + SILENT_AFTER_MS, &silents), 0);
    assert_int_equal(beat(fleet, 1, "i-1", "boot-1", 2, T0 + SILENT_AFTER_MS), FLEET_BEAT_OK);
    assert_int_equal(sweep(fleet, T0 + SILENT_AFTER_MS + 1, &silents), 1);
    assert_int_equal(silents.last_node, 2);
    assert_int_equal(silents.last_at, 0);
    assert_int_equal(sweep(fleet, T0 + 2 * SILENT_AFTER_MS, &silents), 0);
    assert_int_equal(sweep(fleet, T0 + 2 * SILENT_AFTER_MS + 1, &silents), 1);
    assert_int_equal(silents.last_node, 1);
    assert_int_equal(silents.last_at, T0 + SILENT_AFTER_MS);
    struct fleet_counts counts;
    fleet_counts(fleet, &counts);
    assert_int_equal(counts.slots, 3);
    assert_int_equal(counts.silent, 2);
    assert_int_equal(counts.alive, 0);
    /* A replay is no sign of life. */
    assert_int_equal(beat(fleet, 1, "i-1", "boot-1", 2, T0 + 200000), FLEET_BEAT_REPLAYED);
    assert_true(view_of(fleet, 1).silent);
    assert_int_equal(beat(fleet, 1, "i-1", "boot-1", 3, T0 + 200000), FLEET_BEAT_BACK);
    assert_int_equal(beat(fleet, 1, "i-1", "boot-1", 4, T0 + 200001), FLEET_BEAT_OK);
    fleet_free(fleet);
}

static void test_sweep_reports_all_of_a_large_outage(void **state)
{
    (void)state;
    struct fleet *fleet = fleet_new();
    struct silents silents;
    for (int64_t id = 1; id <= 20000; id++)
        put(fleet, id, "i-1", "boot-1", hash_a);
    sweep(fleet, T0, &silents);
    assert_int_equal(sweep(fleet, T0 + SILENT_AFTER_MS + 1, &silents), 20000);
    assert_int_equal(sweep(fleet, T0 + SILENT_AFTER_MS + 2, &silents), 0);
    fleet_free(fleet);
}

static void test_a_wrong_clock_is_news_once(void **state)
{
    (void)state;
    struct fleet *fleet = fleet_new();
    put(fleet, 1, "i-1", "boot-1", hash_a);
    put(fleet, 2, "i-2", "boot-1", hash_a);
    assert_false(fleet_set_skewed(fleet, 1, false));
    assert_true(fleet_set_skewed(fleet, 1, true));
    assert_false(fleet_set_skewed(fleet, 1, true));
    assert_false(fleet_set_skewed(fleet, 2, false));
    assert_true(fleet_set_skewed(fleet, 1, false));
    assert_true(fleet_set_skewed(fleet, 1, true));
    fleet_remove(fleet, 1);
    assert_false(fleet_set_skewed(fleet, 1, true));
    assert_false(fleet_set_skewed(fleet, 2, false));
    fleet_free(fleet);
}

static void test_a_directive_is_handed_out_once(void **state)
{
    (void)state;
    struct fleet *fleet = fleet_new();
    char line[RAW_LINE_MAX_BYTES];
    autofree char *long_line = own_calloc(RAW_LINE_MAX_BYTES + 1, 1);
    memset(long_line, 'x', RAW_LINE_MAX_BYTES);
    put(fleet, 1, "i-1", "boot-1", hash_a);
    put(fleet, 2, "i-2", "boot-1", hash_a);
    assert_int_equal(fleet_direct(fleet, 9, "x"), STATUS_NOT_FOUND);
    assert_int_equal(fleet_direct(fleet, 1, long_line), STATUS_TOO_LARGE);
    assert_false(fleet_take_directive(fleet, 1, line));
    assert_int_equal(fleet_direct(fleet, 1, "first"), 0);
    assert_int_equal(fleet_direct(fleet, 1, "second"), STATUS_CONFLICT);
    assert_false(fleet_take_directive(fleet, 2, line));
    assert_true(fleet_take_directive(fleet, 1, line));
    assert_string_equal(line, "first");
    assert_false(fleet_take_directive(fleet, 1, line));
    assert_int_equal(fleet_direct(fleet, 2, "of a node that goes"), 0);
    fleet_remove(fleet, 2);
    assert_false(fleet_take_directive(fleet, 2, line));
    assert_int_equal(fleet_direct(fleet, 1, "never fetched"), 0); /* freed with the fleet */
    fleet_free(fleet);
}

/* Sparse and colliding row numbers, added and removed at random, against a plain array. */
static void test_the_hash_keeps_its_promises(void **state)
{
    (void)state;
    enum { IDS = 3000, ROUNDS = 60000 };
    struct fleet *fleet = fleet_new();
    autofree bool *present = own_calloc(IDS, sizeof(*present));
    uint64_t random = 88172645463325252;
    int64_t live = 0;
    for (int i = 0; i < ROUNDS; i++) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        size_t n = (size_t)(random % IDS);
        int64_t id = (int64_t)(n + 1) * 64 + (int64_t)(n % 2); /* all in two shards, with holes */
        struct fleet_view view;
        bool known = fleet_get(fleet, id, &view) == 0;
        assert_int_equal(known, present[n]);
        if (known)
            fleet_remove(fleet, id);
        else
            put(fleet, id, "i-1", "boot-1", hash_a);
        present[n] = !known;
        live += known ? -1 : 1;
    }
    struct fleet_counts counts;
    fleet_counts(fleet, &counts);
    assert_int_equal(counts.slots, live);
    fleet_free(fleet);
}

static void test_a_hundred_thousand_slots_fit_in_30_mb(void **state)
{
    (void)state;
    struct fleet *fleet = fleet_new();
    for (int64_t id = 1; id <= 100000; id++)
        put(fleet, id * 3, "i-0123456789abcdef0", "6f9619ff-8b86-d011-b42d-00cf4fc964ff", hash_a);
    assert_true(fleet_memory_bytes(fleet) < 30u * 1000 * 1000);
    assert_int_equal(view_of(fleet, 300000).slot.node_id, 300000);
    fleet_free(fleet);
}

/* --- many hands at once ---------------------------------------------------------------------------- */

#define HANDS_NODES 200
#define HANDS_ROUNDS 4000

static void *hand_beats(void *arg)
{
    struct fleet *fleet = arg;
    char line[RAW_LINE_MAX_BYTES];
    for (int64_t i = 0; i < HANDS_ROUNDS; i++) {
        int64_t node_id = 1 + i % HANDS_NODES;
        if (beat(fleet, node_id, "i-1", "boot-2", i, T0 + i) == FLEET_BEAT_NEW_BOOT)
            fleet_set_boot(fleet, node_id, "i-1", "boot-2");
        (void)fleet_authenticate(fleet, node_id, hash_a);
        (void)fleet_take_directive(fleet, node_id, line);
        (void)fleet_set_skewed(fleet, node_id, i % 5 == 0);
    }
    return NULL;
}

static void *hand_fills(void *arg)
{
    struct fleet *fleet = arg;
    for (int64_t i = 0; i < HANDS_ROUNDS; i++) {
        int64_t node_id = 1 + i % HANDS_NODES;
        if (i % 7 == 0)
            fleet_remove(fleet, node_id);
        put(fleet, node_id, "i-1", "boot-1", hash_a);
        (void)fleet_direct(fleet, node_id, "line");
    }
    return NULL;
}

static void ignore_silent(int64_t node_id, int64_t last_heartbeat_at, void *arg)
{
    (void)node_id, (void)last_heartbeat_at;
    atomic_fetch_add((atomic_int *)arg, 1);
}

static atomic_int hands_misled; /* what a thread saw that cannot be; checked by the test's own thread */

static void *hand_looks(void *arg)
{
    struct fleet *fleet = arg;
    atomic_int silent = 0;
    struct fleet_counts counts;
    for (int64_t i = 0; i < 50; i++) {
        fleet_sweep(fleet, T0 + i * 1000, 100, ignore_silent, &silent);
        fleet_counts(fleet, &counts);
        if (counts.slots > HANDS_NODES || counts.silent + counts.alive > counts.slots)
            atomic_fetch_add(&hands_misled, 1);
    }
    return NULL;
}

static void test_many_hands_at_once(void **state)
{
    (void)state;
    void *(*const hands[])(void *) = {hand_beats, hand_beats, hand_fills, hand_looks};
    pthread_t threads[ARRAY_LEN(hands)];
    struct fleet *fleet = fleet_new();
    for (size_t i = 0; i < ARRAY_LEN(hands); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, hands[i], fleet), 0);
    for (size_t i = 0; i < ARRAY_LEN(hands); i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(hands_misled, 0);
    struct fleet_counts counts;
    fleet_counts(fleet, &counts);
    assert_int_equal(counts.slots, HANDS_NODES);
    for (int64_t id = 1; id <= HANDS_NODES; id++)
        assert_string_equal(view_of(fleet, id).slot.instance_id, "i-1");
    fleet_free(fleet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_a_heartbeat_is_taken_for),
        cmocka_unit_test(test_an_address_is_news_once),
        cmocka_unit_test(test_an_empty_slot_hears_nobody),
        cmocka_unit_test(test_a_new_boot_counts_once_it_is_stored),
        cmocka_unit_test(test_whose_boot_a_report_is_from),
        cmocka_unit_test(test_another_owner_forgets_the_liveness_of_the_earlier),
        cmocka_unit_test(test_silence_is_reported_once_and_ends_with_back),
        cmocka_unit_test(test_sweep_reports_all_of_a_large_outage),
        cmocka_unit_test(test_a_wrong_clock_is_news_once),
        cmocka_unit_test(test_a_directive_is_handed_out_once),
        cmocka_unit_test(test_the_hash_keeps_its_promises),
        cmocka_unit_test(test_a_hundred_thousand_slots_fit_in_30_mb),
        cmocka_unit_test(test_many_hands_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
