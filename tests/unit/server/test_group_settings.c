/* The settings of the loop's groups: none keeps those of an older document, whenever a newer one comes. */
#include "server/config/config.h"
#include "server/config/policy_registry.h"
#include "server/reconcile/base/cluster.h"
#include "server/reconcile/base/group.h"
#include "server/reconcile/base/loop.h"
#include "server/reconcile/world/group_settings.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

extern const struct part part_group_settings;

static void put(struct policy_registry *registry, int64_t version, const char *mode)
{
    char error[POLICY_REGISTRY_ERROR_MAX];
    autofree char *text = own_printf("version: 1\ndefaults: {recovery: {mode: %s}}\n", mode);
    assert_int_equal(policy_registry_put(registry, version, text, error), 0);
}

static void assert_group(const struct rgroup *group, int64_t version, enum repair_mode mode)
{
    assert_int_equal(group->policy_version, version);
    assert_int_equal(group->settings.policy.modes[FAULT_CLASS_GPU], mode);
}

/* The document comes after the turn looked for one, and the new group is the first to have it. */
static void test_a_new_group_hides_no_document_from_the_others(void **state)
{
    (void)state;
    static struct config config;
    config_default(&config);
    struct service service = {.registry = policy_registry_new(&config)};
    struct rcluster cluster = {.name = "train"};
    struct rgroup older = {.cluster = &cluster, .name = "older"};
    struct rgroup newer = {.next = &older, .cluster = &cluster, .name = "newer"};
    struct reconcile r = {.service = &service, .deps = {.settings = config.reconcile}, .groups = &older};
    put(service.registry, 1, "act");
    (void)part_group_settings.run(&r, 0);
    assert_group(&older, 1, REPAIR_MODE_ACT);
    put(service.registry, 2, "observe");
    r.groups = &newer;
    reconcile_group_settings(&r, &newer);
    assert_group(&newer, 2, REPAIR_MODE_OBSERVE);
    cluster.dirty = false;
    (void)part_group_settings.run(&r, 0);
    assert_group(&older, 2, REPAIR_MODE_OBSERVE);
    assert_true(cluster.dirty);
    cluster.dirty = false;
    (void)part_group_settings.run(&r, 0);
    assert_false(cluster.dirty);
    policy_registry_free(service.registry);
    config_free(&config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_new_group_hides_no_document_from_the_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
