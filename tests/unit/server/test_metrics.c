/* The metrics as Prometheus reads them, and the man page against the list. */
#include "base/file.h"
#include "base/text.h"
#include "server/metrics.h"
#include "server/metrics_clusters.h"
#include "server/metrics_merge.h"
#include "server/reconcile/base/durations.h"
#include "server/service/event/webhook.h"
#include "server/service/scheduler/scheduler.h"
#include "tests/support/service_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

/* One line for each cluster, group, webhook, kind or step that there is. */
#define BY_LABEL                                                                                   \
    " holdfast_cluster_paused holdfast_approvals_waiting holdfast_incidents_open"                  \
    " holdfast_group_nodes holdfast_group_desired_nodes holdfast_group_unhealthy_nodes"            \
    " holdfast_group_breaker_open holdfast_webhook_delivered_total holdfast_webhook_dropped_total" \
    " holdfast_webhook_failures holdfast_operation_seconds holdfast_operation_step_seconds"        \
    " holdfast_operations_ended_total holdfast_build_info holdfast_jobs_measured"                  \
    " holdfast_jobs_goodput_ratio holdfast_jobs_lost_node_seconds"                                 \
    " holdfast_fault_to_service_seconds holdfast_repairs_begun_total"                              \
    " holdfast_repairs_repeated_total "

static void test_every_metric_has_help_type_value_and_a_place_in_the_manual(void **state)
{
    (void)state;
    char dir[] = "/tmp/holdfast-metrics.XXXXXX", error[DB_ERROR_MAX];
    struct service service = {.clock = clock_system(), .scheduler_count = 1};
    struct metrics_sources sources = {.fleet = fleet_new(), .service = &service};
    service.schedulers[0] = service_scheduler_new("one", "slurm");
    autofree char *page = NULL;
    size_t len;
    assert_non_null(mkdtemp(dir));
    assert_int_equal(db_open(dir, clock_system(), DB_INLINE, &sources.db, error), 0);
    assert_int_equal(file_read("docs/man/hpd.8", 1 << 20, &page, &len), 0);
    service.db = sources.db;
    struct text text = {0};
    metrics_render(&text, &sources);
    int metrics = 0;
    for (const char *at = text_get(&text); (at = strstr(at, "# TYPE ")) != NULL; metrics++) {
        char name[96];
        at += strlen("# TYPE ");
        assert_int_equal(text_copy_bytes(name, sizeof(name), at, strcspn(at, " ")), 0);
        autofree char *help = own_printf("# HELP %s ", name), *entry = own_printf(".It Ic %s\n", name);
        autofree char *value = own_printf("\n%s ", name), *labelled = own_printf("\n%s{scheduler=\"one\"} ", name);
        autofree char *labels = own_printf(" %s ", name); /* what has a line for each of something has none here */
        autofree char *bucket = own_printf("\n%s_bucket{le=\"+Inf\"} 0\n", name);
        assert_non_null(strstr(text_get(&text), help));
        assert_true(strstr(text_get(&text), value) != NULL || strstr(text_get(&text), labelled) != NULL ||
                    strstr(text_get(&text), bucket) != NULL || strstr(BY_LABEL, labels) != NULL);
        if (strstr(page, entry) == NULL)
            fail_msg("docs/man/hpd.8 does not name %s", name);
    }
    assert_true(metrics > 20);
    assert_non_null(strstr(text_get(&text), "\nholdfast_scheduler_up{scheduler=\"one\"} 0\n"));
    text_free(&text);
    service.scheduler_count = 0;
    metrics_render(&text, &sources);
    assert_null(strstr(text_get(&text), "holdfast_scheduler_"));
    service_scheduler_free(service.schedulers[0]);
    text_free(&text);
    db_close(sources.db);
    fleet_free(sources.fleet);
    assert_int_equal(file_remove_tree(dir), 0);
}

static void test_figures_of_clusters(void **state)
{
    (void)state;
    struct world world;
    AUTO(text) struct text text = {0};
    const struct webhook webhooks[] = {{.name = "oncall"}, {.name = "unused"}};
    world_open(&world, DB_INLINE);
    world_cluster(&world, "ml", "gpu", 3, ORCHESTRATOR_NONE);
    world_cluster(&world, "idle", "cpu", 1, ORCHESTRATOR_NONE);
    world.service.webhooks = webhooks;
    world.service.webhook_count = ARRAY_LEN(webhooks);
    struct webhook_progress progress;
    assert_int_equal(service_webhook_open(&world.service, &webhooks[0], &progress), 0);
    progress.delivered = 7, progress.failures = 2, progress.refused = 1, progress.expired = 3;
    assert_int_equal(service_webhook_store(&world.service, &webhooks[0], &progress, &(struct service_webhook_mark){0}),
                     0);
    metrics_clusters(&text, &world.service);
    static const char *const lines[] = {
        "holdfast_cluster_paused{cluster=\"ml\"} 0",
        "holdfast_approvals_waiting{cluster=\"idle\"} 0",
        "holdfast_incidents_open{cluster=\"ml\"} 0",
        "holdfast_group_nodes{cluster=\"ml\",group=\"workers\",state=\"pending\"} 3",
        "holdfast_group_desired_nodes{cluster=\"idle\",group=\"workers\"} 1",
        "holdfast_group_unhealthy_nodes{cluster=\"ml\",group=\"workers\"} 0",
        "holdfast_group_breaker_open{cluster=\"ml\",group=\"workers\"} 0",
        "holdfast_webhook_delivered_total{webhook=\"oncall\"} 7",
        "holdfast_webhook_dropped_total{webhook=\"oncall\"} 4",
        "holdfast_webhook_failures{webhook=\"oncall\"} 2",
    };
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        autofree char *line = own_printf("\n%s\n", lines[i]);
        if (strstr(text_get(&text), line) == NULL)
            fail_msg("no line %s in:\n%s", lines[i], text_get(&text));
    }
    assert_null(strstr(text_get(&text), "state=\"ready\"")); /* no node is */
    assert_null(strstr(text_get(&text), "unused"));
    world_close(&world);
}

static void test_durations(void **state)
{
    (void)state;
    struct durations durations = {0};
    durations_add(&durations, -5);
    durations_add(&durations, 1000);
    durations_add(&durations, 1001);
    durations_add(&durations, INT64_C(99) * 86400 * 1000);
    assert_int_equal(durations.count[0], 2);
    assert_int_equal(durations.count[1], 1);
    assert_int_equal(durations.count[DURATION_BUCKETS - 1], 1);
    assert_int_equal(durations.sum_ms, 2001 + INT64_C(99) * 86400 * 1000);
}

static void test_families_of_several_schedulers_are_one(void **state)
{
    (void)state;
    static const struct metrics_part parts[] = {
        {"east",
         "# HELP a Help { of a\n# TYPE a gauge\na 1\n# HELP b B\n# TYPE b gauge\nb{node=\"x y\"} 2\nb{node=\"z\"} 3\n"},
        {"west", "# HELP c C\n# TYPE c gauge\nc 4\n# HELP b B\n# TYPE b gauge\nb{node=\"z\"} 5\n"},
    };
    AUTO(text) struct text text = {0};
    metrics_merge(&text, parts, ARRAY_LEN(parts));
    assert_string_equal(text_get(&text), "# HELP a Help { of a\n# TYPE a gauge\na{scheduler=\"east\"} 1\n"
                                         "# HELP b B\n# TYPE b gauge\nb{scheduler=\"east\",node=\"x y\"} 2\n"
                                         "b{scheduler=\"east\",node=\"z\"} 3\nb{scheduler=\"west\",node=\"z\"} 5\n"
                                         "# HELP c C\n# TYPE c gauge\nc{scheduler=\"west\"} 4\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_figures_of_clusters),
        cmocka_unit_test(test_durations),
        cmocka_unit_test(test_families_of_several_schedulers_are_one),
        cmocka_unit_test(test_every_metric_has_help_type_value_and_a_place_in_the_manual),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
