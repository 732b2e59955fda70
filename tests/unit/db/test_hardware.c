/* Hardware and check states: what a repeat changes, what is gone, and what goes with the instance. */
#include "db/hardware.h"
#include "db_world.h"

static int64_t an_instance(struct world *w, const char *id)
{
    struct instance instance = {.node_id = w->nodes[0].id, .state = INSTANCE_STATE_RUNNING};
    snprintf(instance.instance_id, sizeof(instance.instance_id), "%s", id);
    snprintf(instance.launch_key, sizeof(instance.launch_key), "key-%s", id);
    MUST(db_instance_insert(w->tx, &instance));
    return instance.id;
}

static struct hardware a_gpu(const char *location, const char *identity)
{
    struct hardware gpu = {.kind = HARDWARE_KIND_GPU, .serial = "165", .detail = "H100"};
    snprintf(gpu.location, sizeof(gpu.location), "%s", location);
    snprintf(gpu.identity, sizeof(gpu.identity), "%s", identity);
    return gpu;
}

static int take_hardware(const void *row, void *arg)
{
    const struct hardware *h = row;
    text_printf(arg, "%s %s %s %d %d-%d\n", hardware_kind_text(h->kind), h->location, h->identity, h->present,
                (int)h->first_at, (int)h->last_at);
    return 0;
}

static void assert_hardware(struct world *w, int64_t instance_row, const char *wanted)
{
    AUTO(text) struct text out = {0};
    MUST(db_hardware_list(w->tx, instance_row, take_hardware, &out));
    assert_string_equal(text_get(&out), wanted);
}

static void test_pieces(void **state)
{
    struct world *w = *state;
    int64_t row = an_instance(w, "i-1"), other = an_instance(w, "i-2");
    struct hardware chassis = {.kind = HARDWARE_KIND_CHASSIS, .identity = "S1"};
    struct hardware a = a_gpu("0000:b9:00", "GPU-a"), b = a_gpu("0000:c9:00", "GPU-b");
    MUST(db_hardware_put(w->tx, row, &b, 10));
    MUST(db_hardware_put(w->tx, row, &a, 10));
    MUST(db_hardware_put(w->tx, row, &chassis, 10));
    MUST(db_hardware_put(w->tx, other, &a, 10));
    MUST(db_hardware_put(w->tx, row, &a, 20));
    MUST(db_hardware_put(w->tx, row, &chassis, 20));
    MUST(db_hardware_gone(w->tx, row, 20));
    assert_hardware(w, row, "chassis  S1 1 10-20\ngpu 0000:b9:00 GPU-a 1 10-20\ngpu 0000:c9:00 GPU-b 0 10-10\n");
    assert_hardware(w, other, "gpu 0000:b9:00 GPU-a 1 10-10\n");
    struct hardware swapped = a_gpu("0000:b9:00", "GPU-c");
    MUST(db_hardware_put(w->tx, row, &swapped, 30));
    MUST(db_hardware_gone(w->tx, row, 30));
    assert_hardware(w, row,
                    "chassis  S1 0 10-20\ngpu 0000:b9:00 GPU-c 1 30-30\ngpu 0000:b9:00 GPU-a 0 10-20\n"
                    "gpu 0000:c9:00 GPU-b 0 10-10\n");
}

/* An agent that tells of other pieces each time takes no more room than the limit, and none of them needs to be gone. */
static void test_what_is_kept_is_limited(void **state)
{
    struct world *w = *state;
    int64_t row = an_instance(w, "i-1"), count = 0;
    for (int i = 0; i < HARDWARE_STORED_MAX + 10; i++) {
        char identity[32];
        snprintf(identity, sizeof(identity), "GPU-%d", i);
        struct hardware gpu = a_gpu("0000:b9:00", identity);
        MUST(db_hardware_put(w->tx, row, &gpu, i + 1));
        MUST(db_hardware_forget(w->tx, row));
    }
    AUTO(text) struct text out = {0};
    MUST(db_hardware_list(w->tx, row, take_hardware, &out));
    for (const char *at = text_get(&out); *at != '\0'; at++)
        count += *at == '\n';
    assert_int_equal(count, HARDWARE_STORED_MAX);
    assert_null(strstr(text_get(&out), "GPU-9 "));
    assert_non_null(strstr(text_get(&out), "GPU-10 "));
}

static void a_repair(struct world *w, int node, const char *uid, enum operation_kind kind, const char *instance,
                     const char *device, int64_t at)
{
    struct operation op = an_operation(&w->nodes[node], uid, uid);
    op.kind = kind;
    op.state = OPERATION_STATE_SUCCEEDED;
    op.created_at = at;
    snprintf(op.old_instance, sizeof(op.old_instance), "%s", instance);
    snprintf(op.device, sizeof(op.device), "%s", device);
    MUST(db_operation_insert(w->tx, &op));
}

static int take_past(const void *row, void *arg)
{
    const struct db_hardware_repair *former = row;
    text_printf(arg, "%s %s %s %s\n", operation_kind_text(former->operation.kind), former->operation.device,
                former->operation.old_instance, former->node);
    return 0;
}

static void assert_past(struct world *w, int64_t row, int64_t since, const char *wanted)
{
    AUTO(text) struct text out = {0};
    MUST(db_hardware_repairs(w->tx, row, since, 10, take_past, &out));
    assert_string_equal(text_get(&out), wanted);
}

/* What was blamed goes with the piece that was, wherever it is now; what was not blamed does not. */
static void test_a_past_goes_with_its_piece(void **state)
{
    struct world *w = *state;
    int64_t old = an_instance(w, "i-1"), new = an_instance(w, "i-2");
    struct hardware blamed = a_gpu("0000:b9:00", "GPU-a"), beside = a_gpu("0000:c9:00", "GPU-b");
    struct hardware moved = a_gpu("0000:19:00", "GPU-a"),
                    chassis = {.kind = HARDWARE_KIND_CHASSIS, .identity = "S-1234"};
    blamed.serial[0] = beside.serial[0] = moved.serial[0] = '\0';
    MUST(db_hardware_put(w->tx, old, &blamed, 10));
    MUST(db_hardware_put(w->tx, old, &beside, 10));
    MUST(db_hardware_put(w->tx, old, &chassis, 10));
    MUST(db_hardware_put(w->tx, new, &beside, 20));
    a_repair(w, 0, "zero", OPERATION_KIND_RESET, "i-1", "GPU-a", 500);
    a_repair(w, 0, "one", OPERATION_KIND_REBOOT, "i-1", "0000:b9:00", 1000);
    a_repair(w, 0, "two", OPERATION_KIND_REPLACE, "i-1", "GPU-a", 2000);
    assert_past(w, new, 0, "");
    MUST(db_hardware_put(w->tx, new, &moved, 20));
    const char *name = w->nodes[0].name;
    autofree char *all =
        own_printf("replace 0000:19:00 i-1 %s\nreboot 0000:19:00 i-1 %s\nreset 0000:19:00 i-1 %s\n", name, name, name);
    autofree char *later = own_printf("replace 0000:19:00 i-1 %s\n", name);
    assert_past(w, new, 0, all);
    assert_past(w, new, 1500, later);
    assert_past(w, old, 0, ""); /* its own is the slot's ledger */
    MUST(db_hardware_gone(w->tx, new, 30));
    assert_past(w, new, 0, "");
}

/* A chassis whose bad GPU was taken out is not the machine that was given up. */
static void test_a_chassis_comes_back(void **state)
{
    struct world *w = *state;
    int64_t old = an_instance(w, "i-1"), new = an_instance(w, "i-2");
    struct hardware gpu = a_gpu("0000:b9:00", "GPU-a"), chassis = {.kind = HARDWARE_KIND_CHASSIS, .identity = "S-1234"};
    MUST(db_hardware_put(w->tx, old, &gpu, 10));
    MUST(db_hardware_put(w->tx, old, &chassis, 10));
    MUST(db_hardware_put(w->tx, new, &chassis, 20));
    a_repair(w, 0, "one", OPERATION_KIND_REPLACE, "i-1", "0000:b9:00", 1000);
    a_repair(w, 0, "two", OPERATION_KIND_REBOOT, "i-1", "mlx5_0", 1000);
    assert_past(w, new, 0, "");
    a_repair(w, 0, "three", OPERATION_KIND_REPLACE, "i-1", "mlx5_0", 2000);
    autofree char *wanted = own_printf("replace  i-1 %s\n", w->nodes[0].name);
    assert_past(w, new, 0, wanted);
}

/* The UUID of a card changes when its infoROM is written anew; the serial of its board does not. */
static void test_a_board_comes_back(void **state)
{
    struct world *w = *state;
    int64_t old = an_instance(w, "i-1"), new = an_instance(w, "i-2");
    struct hardware before = a_gpu("0000:b9:00", "GPU-a"), after = a_gpu("0000:19:00", "GPU-c");
    MUST(db_hardware_put(w->tx, old, &before, 10));
    MUST(db_hardware_put(w->tx, new, &after, 20));
    a_repair(w, 0, "one", OPERATION_KIND_REPLACE, "i-1", "0000:b9:00", 1000);
    autofree char *wanted = own_printf("replace 0000:19:00 i-1 %s\n", w->nodes[0].name);
    assert_past(w, new, 0, wanted);
}

static struct check_state a_state(const char *name, const char *boot_id, enum check_result result, int64_t at)
{
    struct check_state check = {.has_run = true, .result = result, .at = at};
    snprintf(check.name, sizeof(check.name), "%s", name);
    snprintf(check.boot_id, sizeof(check.boot_id), "%s", boot_id);
    return check;
}

static void test_checks(void **state)
{
    struct world *w = *state;
    int64_t row = an_instance(w, "i-1");
    struct check_state out, waiting = {.name = "disk", .boot_id = "b1", .at = 5};
    MUST(db_check_put(w->tx, row, &waiting));
    MUST(db_check_get(w->tx, row, "disk", &out));
    assert_false(out.has_run);
    static const struct {
        const char *boot_id;
        enum check_result result;
        int64_t at, since;
    } rows[] = {{"b1", CHECK_RESULT_OK, 10, 10},
                {"b1", CHECK_RESULT_OK, 20, 10},
                {"b1", CHECK_RESULT_UNKNOWN, 30, 30},
                {"b2", CHECK_RESULT_UNKNOWN, 40, 40}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct check_state check = a_state("disk", rows[i].boot_id, rows[i].result, rows[i].at);
        MUST(db_check_put(w->tx, row, &check));
        MUST(db_check_get(w->tx, row, "disk", &out));
        assert_true(out.has_run);
        assert_int_equal(out.result, rows[i].result);
        assert_int_equal(out.at, rows[i].since);
    }
    assert_int_equal(db_check_get(w->tx, row, "nvidia", &out), STATUS_NOT_FOUND);
    MUST(db_check_drop(w->tx, row, "disk"));
    assert_int_equal(db_check_get(w->tx, row, "disk", &out), STATUS_NOT_FOUND);
}

static void test_they_go_with_their_node(void **state)
{
    struct world *w = *state;
    int64_t row = an_instance(w, "i-1");
    struct hardware gpu = a_gpu("0000:b9:00", "GPU-a");
    struct check_state check = a_state("disk", "b1", CHECK_RESULT_OK, 1), out;
    MUST(db_hardware_put(w->tx, row, &gpu, 1));
    MUST(db_check_put(w->tx, row, &check));
    MUST(db_node_delete(w->tx, w->nodes[0].id));
    assert_hardware(w, row, "");
    assert_int_equal(db_check_get(w->tx, row, "disk", &out), STATUS_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(test_pieces),
        WORLD_TEST(test_what_is_kept_is_limited),
        WORLD_TEST(test_a_past_goes_with_its_piece),
        WORLD_TEST(test_a_chassis_comes_back),
        WORLD_TEST(test_a_board_comes_back),
        WORLD_TEST(test_checks),
        WORLD_TEST(test_they_go_with_their_node),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
