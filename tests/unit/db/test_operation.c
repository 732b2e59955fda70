/* Operations: round trip with steps, at most one active, keys used once, lists, the ledger of repairs. */
#include "db_world.h"

static struct operation full_operation(const struct node *node)
{
    struct operation operation = {.cluster_id = node->cluster_id,
                                  .node_id = node->id,
                                  .decision_id = 31,
                                  .kind = OPERATION_KIND_REPLACE,
                                  .cause = OPERATION_CAUSE_ABSENCE,
                                  .retests = 3,
                                  .state = OPERATION_STATE_RUNNING,
                                  .urgency = URGENCY_NOW,
                                  .uid = "5f0c0d5e-0000-4000-8000-000000000001",
                                  .key = "decision-31",
                                  .reason = "Action:Replace xid.79",
                                  .actor = "policy",
                                  .device = "0000:b9:00",
                                  .code = "xid.79",
                                  .old_instance = "i-old",
                                  .new_instance = "i-new",
                                  .old_boot = "0bb2b5a7-0ef0-4e42-b0bb-4b2d6a0e8e01",
                                  .cancel_asked = true,
                                  .created_at = WORLD_NOW,
                                  .started_at = WORLD_NOW + 1,
                                  .finished_at = WORLD_NOW + 2,
                                  .error = "the provider said no",
                                  .step_count = OPERATION_STEPS_MAX};
    for (int i = 0; i < OPERATION_STEPS_MAX; i++) {
        struct operation_step *step = &operation.steps[i];
        *step = (struct operation_step){.ordinal = i,
                                        .kind = (enum step_kind)i,
                                        .state = (enum step_state)(i % 5),
                                        .attempts = i,
                                        .started_at = i + 10,
                                        .finished_at = i + 20,
                                        .deadline_at = i + 30,
                                        .retry_at = i + 40};
        snprintf(step->detail, sizeof(step->detail), "detail %d", i);
    }
    return operation;
}

static void assert_same_step(const struct operation_step *a, const struct operation_step *b)
{
    assert_int_equal(a->ordinal, b->ordinal);
    assert_int_equal(a->kind, b->kind);
    assert_int_equal(a->state, b->state);
    assert_int_equal(a->attempts, b->attempts);
    assert_int_equal(a->started_at, b->started_at);
    assert_int_equal(a->finished_at, b->finished_at);
    assert_int_equal(a->deadline_at, b->deadline_at);
    assert_int_equal(a->retry_at, b->retry_at);
    assert_string_equal(a->detail, b->detail);
}

static void assert_same_operation(const struct operation *a, const struct operation *b)
{
    assert_int_equal(a->id, b->id);
    assert_string_equal(a->uid, b->uid);
    assert_int_equal(a->cluster_id, b->cluster_id);
    assert_int_equal(a->node_id, b->node_id);
    assert_int_equal(a->decision_id, b->decision_id);
    assert_int_equal(a->kind, b->kind);
    assert_int_equal(a->state, b->state);
    assert_int_equal(a->urgency, b->urgency);
    assert_string_equal(a->key, b->key);
    assert_string_equal(a->reason, b->reason);
    assert_string_equal(a->actor, b->actor);
    assert_string_equal(a->device, b->device);
    assert_string_equal(a->code, b->code);
    assert_int_equal(a->cause, b->cause);
    assert_int_equal(a->retests, b->retests);
    assert_string_equal(a->old_instance, b->old_instance);
    assert_string_equal(a->new_instance, b->new_instance);
    assert_string_equal(a->old_boot, b->old_boot);
    assert_int_equal(a->cancel_asked, b->cancel_asked);
    assert_int_equal(a->created_at, b->created_at);
    assert_int_equal(a->started_at, b->started_at);
    assert_int_equal(a->finished_at, b->finished_at);
    assert_string_equal(a->error, b->error);
    assert_int_equal(a->step_count, b->step_count);
    for (int i = 0; i < a->step_count; i++)
        assert_same_step(&a->steps[i], &b->steps[i]);
}

static void test_every_field_comes_back(void **state)
{
    struct world *w = *state;
    struct operation in = full_operation(&w->nodes[0]), out[4];
    memset(out, 0xee, sizeof(out));
    MUST(db_operation_insert(w->tx, &in));
    MUST(db_operation_get(w->tx, in.uid, &out[0]));
    MUST(db_operation_get_row(w->tx, in.id, &out[1]));
    MUST(db_operation_by_key(w->tx, in.key, &out[2]));
    MUST(db_operation_active(w->tx, in.node_id, &out[3]));
    for (size_t i = 0; i < ARRAY_LEN(out); i++)
        assert_same_operation(&in, &out[i]);
}

static void test_a_used_key_answers_with_what_it_made(void **state)
{
    struct world *w = *state;
    struct operation first = full_operation(&w->nodes[0]), second = an_operation(&w->nodes[1], "second", "decision-31");
    MUST(db_operation_insert(w->tx, &first));
    assert_int_equal(db_operation_insert(w->tx, &second), STATUS_EXISTS);
    assert_same_operation(&first, &second);
    /* Also long after it ended, and also for the same node, where being active is the other reason to say no. */
    first.state = OPERATION_STATE_SUCCEEDED;
    MUST(db_operation_update(w->tx, &first));
    struct operation third = an_operation(&w->nodes[0], "third", "decision-31");
    assert_int_equal(db_operation_insert(w->tx, &third), STATUS_EXISTS);
    assert_int_equal(third.id, first.id);
    assert_int_equal(third.state, OPERATION_STATE_SUCCEEDED);
}

static void test_operations_without_a_key_do_not_meet(void **state)
{
    struct world *w = *state;
    struct operation a = an_operation(&w->nodes[0], "a", ""), b = an_operation(&w->nodes[1], "b", ""), out;
    MUST(db_operation_insert(w->tx, &a));
    MUST(db_operation_insert(w->tx, &b));
    assert_int_equal(db_operation_by_key(w->tx, "", &out), STATUS_NOT_FOUND);
}

/* For each state of the one that is there: may another be inserted, and may an ended one be made active again? */
static void test_at_most_one_is_active(void **state)
{
    struct world *w = *state;
    static const struct {
        enum operation_state there;
        int insert;
    } rows[] = {{OPERATION_STATE_PENDING, STATUS_CONFLICT},
                {OPERATION_STATE_RUNNING, STATUS_CONFLICT},
                {OPERATION_STATE_SUCCEEDED, 0},
                {OPERATION_STATE_FAILED, 0},
                {OPERATION_STATE_CANCELLED, 0}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char uid[2][8];
        snprintf(uid[0], sizeof(uid[0]), "a%zu", i);
        snprintf(uid[1], sizeof(uid[1]), "b%zu", i);
        struct operation there = an_operation(&w->nodes[0], uid[0], uid[0]);
        struct operation next = an_operation(&w->nodes[0], uid[1], uid[1]), out;
        there.state = rows[i].there;
        MUST(db_operation_insert(w->tx, &there));
        assert_int_equal(db_operation_insert(w->tx, &next), rows[i].insert);
        if (rows[i].insert == 0) {
            MUST(db_operation_active(w->tx, w->nodes[0].id, &out));
            assert_int_equal(out.id, next.id);
            there.state = OPERATION_STATE_RUNNING;
            assert_int_equal(db_operation_update(w->tx, &there), STATUS_CONFLICT);
            next.state = OPERATION_STATE_FAILED;
            MUST(db_operation_update(w->tx, &next));
        } else {
            assert_int_equal(next.id, 0);
            there.state = OPERATION_STATE_FAILED;
            MUST(db_operation_update(w->tx, &there));
        }
        assert_int_equal(db_operation_active(w->tx, w->nodes[0].id, &out), STATUS_NOT_FOUND);
    }
}

static void test_updates_of_operation_and_step(void **state)
{
    struct world *w = *state;
    struct operation in = full_operation(&w->nodes[0]), out;
    MUST(db_operation_insert(w->tx, &in));
    in.state = OPERATION_STATE_FAILED;
    in.urgency = URGENCY_AFTER_JOBS;
    in.cancel_asked = false;
    in.started_at = in.finished_at = WORLD_NOW + 9;
    SET(in.new_instance, "i-newer");
    SET(in.old_instance, "i-older");
    SET(in.old_boot, "boot");
    SET(in.reason, "reason");
    SET(in.error, "gave up");
    MUST(db_operation_update(w->tx, &in));
    struct operation_step *step = &in.steps[3];
    *step = (struct operation_step){.ordinal = 3,
                                    .kind = step->kind,
                                    .state = STEP_STATE_SKIPPED,
                                    .attempts = 99,
                                    .started_at = 1,
                                    .finished_at = 2,
                                    .deadline_at = 3,
                                    .retry_at = 4,
                                    .detail = "skipped"};
    MUST(db_operation_step_update(w->tx, in.id, step));
    MUST(db_operation_get_row(w->tx, in.id, &out));
    assert_same_operation(&in, &out);
    step->ordinal = 42;
    assert_int_equal(db_operation_step_update(w->tx, in.id, step), STATUS_NOT_FOUND);
    in.id = 999;
    assert_int_equal(db_operation_update(w->tx, &in), STATUS_NOT_FOUND);
}

static void test_what_is_refused(void **state)
{
    struct world *w = *state;
    struct operation orphan = an_operation(&w->nodes[0], "orphan", "orphan"), out;
    orphan.node_id = 999;
    assert_int_equal(db_operation_insert(w->tx, &orphan), STATUS_NOT_FOUND);
    assert_int_equal(db_operation_get(w->tx, "none", &out), STATUS_NOT_FOUND);
    assert_int_equal(db_operation_get_row(w->tx, 999, &out), STATUS_NOT_FOUND);
    assert_int_equal(db_operation_active(w->tx, w->nodes[0].id, &out), STATUS_NOT_FOUND);
}

/* o1 succeeded and o2 running on gpu-1, o3 failed on gpu-2, o4 pending in another cluster. */
static void four_operations(struct world *w, int64_t ids[4], struct node *ret_far)
{
    struct cluster other = a_cluster("zzzzzzzzzzzz", "other");
    MUST(db_cluster_insert(w->tx, &other));
    struct instance_group group = a_group(other.id, "workers");
    MUST(db_group_insert(w->tx, &group));
    *ret_far = a_node(&group, "far-1");
    MUST(db_node_insert(w->tx, ret_far));
    const struct {
        const struct node *node;
        enum operation_state state;
        enum operation_kind kind;
        int64_t created_at;
    } rows[] = {{&w->nodes[0], OPERATION_STATE_SUCCEEDED, OPERATION_KIND_REBOOT, WORLD_NOW - 100},
                {&w->nodes[0], OPERATION_STATE_RUNNING, OPERATION_KIND_REPLACE, WORLD_NOW},
                {&w->nodes[1], OPERATION_STATE_FAILED, OPERATION_KIND_LAUNCH, WORLD_NOW},
                {ret_far, OPERATION_STATE_PENDING, OPERATION_KIND_REBOOT, WORLD_NOW}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char uid[8];
        snprintf(uid, sizeof(uid), "o%zu", i + 1);
        struct operation operation = an_operation(rows[i].node, uid, uid);
        operation.state = rows[i].state;
        operation.kind = rows[i].kind;
        operation.created_at = rows[i].created_at;
        MUST(db_operation_insert(w->tx, &operation));
        ids[i] = operation.id;
    }
}

static void test_each_filter_finds_its_operations_newest_first(void **state)
{
    struct world *w = *state;
    int64_t id[4];
    struct node far;
    four_operations(w, id, &far);
    const int64_t c = w->cluster.id, n = w->nodes[0].id;
    const struct {
        struct db_operation_filter filter;
        const char *uids;
    } rows[] = {
        {{0, 0, -1, false, 0, 0, NULL}, "o4 o3 o2 o1 "},
        {{0, 0, -1, false, id[2], 1, NULL}, "o2 "},
        {{c, 0, -1, false, 0, 0, NULL}, "o3 o2 o1 "},
        {{c, 0, OPERATION_STATE_FAILED, false, 0, 0, NULL}, "o3 "},
        {{c, n, -1, false, 0, 0, NULL}, "o2 o1 "},
        {{0, n, OPERATION_STATE_SUCCEEDED, false, 0, 0, NULL}, "o1 "},
        {{0, 0, OPERATION_STATE_PENDING, false, 0, 0, NULL}, "o4 "},
        {{0, 0, -1, true, 0, 0, NULL}, "o4 o2 "},
        {{0, 0, -1, true, id[3], 0, NULL}, "o2 "},
        {{c, 0, -1, true, 0, 0, NULL}, "o2 "},
        {{0, n, -1, true, 0, 0, NULL}, "o2 "},
        {{0, far.id, OPERATION_STATE_RUNNING, true, 0, 0, NULL}, ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct rows found = ROWS(struct operation);
        char uids[64] = "";
        MUST(db_operation_list(w->tx, &rows[i].filter, rows_add, &found));
        for (int k = 0; k < found.count; k++) {
            ADD(uids, ROW(found, struct operation, k)->uid);
            ADD(uids, " ");
            assert_int_equal(ROW(found, struct operation, k)->step_count, 2);
        }
        assert_string_equal(uids, rows[i].uids);
    }
}

static struct operation a_change(const struct world *w, const char *uid, enum operation_kind kind)
{
    struct operation operation = {.cluster_id = w->cluster.id, .kind = kind, .created_at = WORLD_NOW};
    snprintf(operation.uid, sizeof(operation.uid), "%s", uid);
    snprintf(operation.cluster, sizeof(operation.cluster), "%s", w->cluster.name);
    return operation;
}

/* One of a kind that is open; it outlives its cluster, and is forgotten when it is old. */
static void test_a_change_of_a_cluster(void **state)
{
    struct world *w = *state;
    struct operation first = a_change(w, "c1", OPERATION_KIND_UPDATE_CLUSTER), read;
    struct operation second = a_change(w, "c2", OPERATION_KIND_UPDATE_CLUSTER);
    struct operation other = a_change(w, "c3", OPERATION_KIND_UPDATE_SOFTWARE);
    struct operation node = an_operation(&w->nodes[0], "n1", "n1");
    MUST(db_operation_insert(w->tx, &first));
    assert_int_equal(db_operation_insert(w->tx, &second), STATUS_CONFLICT);
    MUST(db_operation_insert(w->tx, &other));
    MUST(db_operation_insert(w->tx, &node));
    MUST(db_operation_change(w->tx, w->cluster.id, OPERATION_KIND_UPDATE_CLUSTER, &read));
    assert_int_equal(read.id, first.id);
    first.state = OPERATION_STATE_SUCCEEDED;
    first.finished_at = WORLD_NOW + 5;
    first.progress = (struct operation_progress){4, 3, 2, 1};
    MUST(db_operation_update(w->tx, &first));
    assert_int_equal(db_operation_change(w->tx, w->cluster.id, OPERATION_KIND_UPDATE_CLUSTER, &read), STATUS_NOT_FOUND);
    MUST(db_operation_insert(w->tx, &second));
    const enum operation_kind kind = OPERATION_KIND_UPDATE_CLUSTER;
    const struct db_operation_filter filter = {.cluster_id = w->cluster.id, .state = -1, .kind = &kind};
    struct rows found = ROWS(struct operation);
    MUST(db_operation_list(w->tx, &filter, rows_add, &found));
    assert_int_equal(found.count, 2);
    assert_string_equal(ROW(found, struct operation, 0)->uid, "c2");

    MUST(db_cluster_delete(w->tx, w->cluster.id));
    MUST(db_operation_get(w->tx, "c1", &read));
    assert_int_equal(read.cluster_id, 0);
    assert_string_equal(read.cluster, w->cluster.name);
    assert_memory_equal(&read.progress, &first.progress, sizeof(read.progress));
    assert_int_equal(db_operation_get(w->tx, "n1", &read), STATUS_NOT_FOUND);
    MUST(db_operation_prune(w->tx, WORLD_NOW + 5, 10));
    MUST(db_operation_get(w->tx, "c1", &read));
    MUST(db_operation_prune(w->tx, WORLD_NOW + 6, 10));
    assert_int_equal(db_operation_get(w->tx, "c1", &read), STATUS_NOT_FOUND);
    MUST(db_operation_get(w->tx, "c2", &read)); /* it has not ended */
}

static void test_the_ledger_holds_repairs_since_a_time(void **state)
{
    struct world *w = *state;
    int64_t id[4];
    struct node far;
    four_operations(w, id, &far);
    const struct {
        int64_t node_id, since_at;
        int count;
    } rows[] = {{w->nodes[0].id, 0, 2}, {w->nodes[0].id, WORLD_NOW - 99, 1}, {w->nodes[1].id, 0, 0}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct rows found = ROWS(struct operation);
        MUST(db_operation_repairs(w->tx, rows[i].node_id, rows[i].since_at, rows_add, &found));
        assert_int_equal(found.count, rows[i].count);
        if (found.count > 0)
            assert_int_equal(ROW(found, struct operation, 0)->id, id[1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(test_every_field_comes_back),
        WORLD_TEST(test_a_used_key_answers_with_what_it_made),
        WORLD_TEST(test_operations_without_a_key_do_not_meet),
        WORLD_TEST(test_at_most_one_is_active),
        WORLD_TEST(test_updates_of_operation_and_step),
        WORLD_TEST(test_what_is_refused),
        WORLD_TEST(test_each_filter_finds_its_operations_newest_first),
        WORLD_TEST(test_a_change_of_a_cluster),
        WORLD_TEST(test_the_ledger_holds_repairs_since_a_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
