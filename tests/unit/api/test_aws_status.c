/* The words of the AWS API for our states: the diagram in status.h is the table, and every word is the model's. */
#include "api/aws/status.h"

#include "api/aws/model.h"
#include "base/file.h"
#include "base/own.h"
#include "base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define COLUMNS (1 + INSTANCE_STATE_COUNT)

static const char *status_of(enum node_state state, int column)
{
    const struct db_node_row row = {
        .node = {.state = state},
        .instance = {.id = column, .state = column > 0 ? (enum instance_state)(column - 1) : 0}};
    return aws_instance_status(&row);
}

/* A machine that runs, with an operation at work on it. */
static const char *status_under(enum node_state state, enum operation_kind kind)
{
    const struct db_node_row row = {.node = {.state = state},
                                    .instance = {.id = 1, .state = INSTANCE_STATE_RUNNING},
                                    .is_busy = true,
                                    .busy_with = kind};
    return aws_instance_status(&row);
}

/* The words of the diagram's line for a state; "in every case" repeats the one. */
static void check_line(const char *header, enum node_state state)
{
    autofree char *start = own_printf(" *      %s ", node_state_text(state));
    const char *line = strstr(header, start);
    assert_non_null(line);
    autofree char *words = own_printf("%.*s", (int)strcspn(line + strlen(start), "\n"), line + strlen(start));
    bool every = strstr(words, "in every case") != NULL;
    char *save = NULL, *word = strtok_r(words, " ", &save);
    for (int column = 0; column < COLUMNS; column++) {
        assert_non_null(word);
        if (strcmp(word, status_of(state, column)) != 0)
            fail_msg("%s in column %d: %s, and the diagram says %s", node_state_text(state), column,
                     status_of(state, column), word);
        if (!every)
            word = strtok_r(NULL, " ", &save);
    }
}

static void test_the_snapshot_is_the_table(void **state)
{
    (void)state;
    char *header = NULL;
    size_t len = 0;
    assert_int_equal(file_read("api/aws/status.h", 65536, &header, &len), 0);
    for (int s = 0; s < NODE_STATE_COUNT; s++)
        check_line(header, (enum node_state)s);
    free(header);
}

static void test_every_word_is_the_models(void **state)
{
    (void)state;
    const struct aws_shape *instance = aws_shape(AWS_SHAPE_ClusterInstanceStatus);
    const struct aws_shape *group = aws_shape(AWS_SHAPE_InstanceGroupStatus);
    const struct aws_shape *cluster = aws_shape(AWS_SHAPE_ClusterStatus);
    struct cluster_counts well = {.nodes = 2}, ill = {.nodes = 2}, failed = {.nodes = 2};
    ill.by_health[HEALTH_UNHEALTHY] = 1;
    failed.by_state[NODE_STATE_FAILED] = 1;
    for (int s = 0; s < NODE_STATE_COUNT; s++)
        for (int column = 0; column < COLUMNS; column++)
            assert_true(aws_shape_has_value(instance, status_of((enum node_state)s, column)));
    for (int s = 0; s < CLUSTER_STATE_COUNT; s++)
        assert_true(aws_shape_has_value(cluster, aws_cluster_status((enum cluster_state)s)));
    for (int s = 0; s < GROUP_STATE_COUNT; s++) {
        struct instance_group row = {.state = (enum group_state)s};
        const char *word = aws_group_status(&row, &well);
        assert_true(aws_shape_has_value(group, word));
        const char *impaired = s == GROUP_STATE_IN_SERVICE ? "Degraded" : word;
        assert_string_equal(aws_group_status(&row, &ill), impaired);
        assert_string_equal(aws_group_status(&row, &failed), impaired);
    }
    const struct instance_group in_service = {.state = GROUP_STATE_IN_SERVICE};
    assert_string_equal(aws_group_status(&in_service, &well), "InService");
}

static void test_updates_and_checks_are_said(void **state)
{
    (void)state;
    for (int s = 0; s < NODE_STATE_COUNT; s++) {
        bool over = s == NODE_STATE_FAILED || s == NODE_STATE_DELETING || s == NODE_STATE_DELETED;
        const char *plain = status_of((enum node_state)s, 1 + INSTANCE_STATE_RUNNING);
        assert_string_equal(status_under((enum node_state)s, OPERATION_KIND_UPDATE), over ? plain : "SystemUpdating");
        assert_string_equal(status_under((enum node_state)s, OPERATION_KIND_CHECK),
                            over ? plain : "DeepHealthCheckInProgress");
        assert_string_equal(status_under((enum node_state)s, OPERATION_KIND_REPLACE), plain);
    }
}

static void test_only_what_is_not_ready_gives_a_reason(void **state)
{
    (void)state;
    struct node node = {.state = NODE_STATE_READY, .reason = "all is well"};
    assert_string_equal(aws_instance_message(&node), "");
    node.state = NODE_STATE_HELD;
    assert_string_equal(aws_instance_message(&node), "all is well");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_snapshot_is_the_table),
        cmocka_unit_test(test_every_word_is_the_models),
        cmocka_unit_test(test_updates_and_checks_are_said),
        cmocka_unit_test(test_only_what_is_not_ready_gives_a_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
