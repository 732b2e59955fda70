/* Rendering where it is not plain: texts that were cut, and what is left out. */
#include "api_world.h"

#include "api/render.h"

static void test_texts_that_were_cut(void **state)
{
    static const struct {
        const char *text, *want;
    } cases[] = {{"", ""},         {"plain", "plain"},     {"caf\xc3\xa9", "caf\xc3\xa9"}, {"caf\xc3", "caf"},
                 {"\xe2\x86", ""}, {"a\xf0\x9f\x98", "a"}, {"\xff-in-front", "?"}};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        auto_json json_t *json = render_text(cases[i].text);
        assert_string_equal(json_string_value(json), cases[i].want);
    }
}

static void test_what_is_not_there_is_left_out(void **state)
{
    struct db_node_row row = {.cluster = "c", .group = "g"};
    (void)state;
    snprintf(row.node.name, sizeof row.node.name, "n");
    row.node.state_since = 1795186800123;
    auto_json json_t *json = render_node(&row);
    assert_string_equal(json_string_value(json_object_get(json, "stateSince")), "2026-11-20T15:00:00.123Z");
    assert_null(json_object_get(json, "instanceId")); /* nobody fills the slot */
    assert_null(json_object_get(json, "retryAt"));    /* never */
}

/* What heals by itself, and what a person has in hand already, waits for nobody. */
static void test_what_waits_for_a_person(void **state)
{
    static const struct {
        struct node node;
        bool waits;
        const char *attention;
    } cases[] = {
        {{.state = NODE_STATE_READY}, false, NULL},
        {{.state = NODE_STATE_FAILED}, true, NULL},
        {{.state = NODE_STATE_FAILED, .opted_out = true}, false, NULL},
        {{.state = NODE_STATE_REPAIRING, .person_hold = 7}, false, NULL},
        {{.state = NODE_STATE_HELD}, false, NULL}, /* by a budget, or hours */
        {{.state = NODE_STATE_HELD, .person_hold = 7, .person_hold_row = 3, .instance_row = 3}, true, NULL},
        {{.state = NODE_STATE_HELD, .person_hold = 7, .person_hold_row = 3, .instance_row = 4}, false, NULL},
        {{.state = NODE_STATE_HELD, .attention = ATTENTION_DECIDED}, true, "decided"}, /* its image */
        {{.state = NODE_STATE_HELD, .attention = ATTENTION_DECIDED, .opted_out = true}, false, "decided"},
        {{.state = NODE_STATE_READY, .attention = ATTENTION_HELD}, false, "held"},
        {{.state = NODE_STATE_READY, .attention = ATTENTION_UNHEARD}, true, "unheard"},
        {{.state = NODE_STATE_READY, .attention = ATTENTION_DECIDED}, true, "decided"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct db_node_row row = {.node = cases[i].node};
        auto_json json_t *json = render_node(&row);
        assert_int_equal(json_is_true(json_object_get(json, "waitsForPerson")), cases[i].waits);
        const char *attention = json_string_value(json_object_get(json, "attention"));
        assert_true(text_equal(attention, cases[i].attention));
    }
}

/* What its cluster says counts, too: marked under NodeRecovery None nothing follows, and a pause's end decides on what was seen. */
static void test_what_waits_for_a_person_by_its_cluster(void **state)
{
    static const struct {
        struct db_node_row row;
        bool waits;
    } cases[] = {
        {{.node.state = NODE_STATE_HELD, .recovery = NODE_RECOVERY_NONE}, true},
        {{.node.state = NODE_STATE_HELD, .node.opted_out = true, .recovery = NODE_RECOVERY_NONE}, false},
        {{.node.state = NODE_STATE_READY, .recovery = NODE_RECOVERY_NONE}, false},
        {{.node.state = NODE_STATE_READY, .node.attention = ATTENTION_DECIDED, .is_paused = true}, false},
        {{.node.state = NODE_STATE_READY, .node.attention = ATTENTION_DOWNED, .is_paused = true}, false},
        {{.node.state = NODE_STATE_READY, .node.attention = ATTENTION_UNHEARD, .is_paused = true}, true},
        {{.node.state = NODE_STATE_FAILED, .is_paused = true}, true},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        auto_json json_t *json = render_node(&cases[i].row);
        assert_int_equal(json_is_true(json_object_get(json, "waitsForPerson")), cases[i].waits);
    }
}

static void test_a_scheduler_is_shown_where_there_is_one(void **state)
{
    struct service_cluster_view view = {
        .cluster.orchestrator = ORCHESTRATOR_SLURM,
        .scheduler = {.state = SCHEDULER_STATE_DOWN, .since = 1795186800123, .error = "no answer"}};
    (void)state;
    auto_json json_t *with = render_cluster_view(&view, NULL);
    const json_t *scheduler = json_object_get(with, "scheduler");
    assert_string_equal(json_string_value(json_object_get(scheduler, "state")), "down");
    assert_string_equal(json_string_value(json_object_get(scheduler, "since")), "2026-11-20T15:00:00.123Z");
    assert_string_equal(json_string_value(json_object_get(scheduler, "error")), "no answer");
    view.cluster.orchestrator = ORCHESTRATOR_NONE;
    auto_json json_t *without = render_cluster_view(&view, NULL);
    assert_null(json_object_get(without, "scheduler"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts_that_were_cut),
        cmocka_unit_test(test_what_is_not_there_is_left_out),
        cmocka_unit_test(test_what_waits_for_a_person),
        cmocka_unit_test(test_what_waits_for_a_person_by_its_cluster),
        cmocka_unit_test(test_a_scheduler_is_shown_where_there_is_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
