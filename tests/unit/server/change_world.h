/* A cluster "ml" whose groups and nodes tests of its changes set into any state. */
#ifndef HOLDFAST_TESTS_UNIT_SERVER_CHANGE_WORLD_H
#define HOLDFAST_TESTS_UNIT_SERVER_CHANGE_WORLD_H

#include "tests/support/service_world.h"

#include "base/sm.h"
#include "base/text.h"

WORLD_FN struct service_group_spec a_spec(const char *name, int64_t count)
{
    struct service_group_spec spec = {.instance_count = count};
    snprintf(spec.name, sizeof(spec.name), "%s", name);
    return spec;
}

WORLD_FN void change_world_create(struct world *world, enum provisioning provisioning,
                                  struct service_group_spec *groups, size_t count)
{
    const struct service_cluster_spec spec = {.name = "ml",
                                              .orchestrator = ORCHESTRATOR_NONE,
                                              .provisioning = provisioning,
                                              .groups = groups,
                                              .group_count = count};
    struct cluster cluster;
    if (service_cluster_create(&world->service, &world_admin, &spec, &cluster, &world->problem) < 0)
        fail_msg("create: %s", world->problem.detail);
}

/* The view, which the caller frees. */
WORLD_FN struct service_cluster_view change_world_view(struct world *world)
{
    struct service_cluster_view view;
    if (service_cluster_describe(&world->service, "ml", &view, &world->problem) < 0)
        fail_msg("describe: %s", world->problem.detail);
    return view;
}

WORLD_FN struct instance_group change_world_group(struct world *world, const char *name)
{
    struct service_cluster_view view = change_world_view(world);
    struct instance_group found = {.id = 0};
    for (size_t i = 0; i < view.group_count; i++)
        if (text_equal(view.groups[i].group.name, name))
            found = view.groups[i].group;
    service_cluster_view_free(&view);
    return found;
}

WORLD_FN int change_world_group_write(struct db_tx *tx, void *arg)
{
    return db_group_update(tx, arg);
}

WORLD_FN void change_world_group_set(struct world *world, const char *name, enum group_state state)
{
    struct instance_group group = change_world_group(world, name);
    assert_true(group.id != 0);
    group.state = state;
    world_write(world, change_world_group_write, &group);
}

WORLD_FN int change_world_state_write(struct db_tx *tx, void *arg)
{
    struct cluster cluster;
    int status = db_cluster_get(tx, "ml", &cluster);
    cluster.state = *(const enum cluster_state *)arg;
    return status < 0 ? status : db_cluster_update(tx, &cluster, 0);
}

WORLD_FN void change_world_state_set(struct world *world, enum cluster_state state)
{
    world_write(world, change_world_state_write, &state);
}

WORLD_FN int change_world_add_name(const void *row, void *arg)
{
    const struct db_node_row *node = row;
    struct text *names = arg;
    if (node->node.state == NODE_STATE_DELETING || node->node.state == NODE_STATE_DELETED)
        return 0;
    text_printf(names, "%s%s", names->len > 0 ? " " : "", node->node.name);
    return 0;
}

/* The slots that are not on their way out, by name. */
WORLD_FN void assert_nodes(struct world *world, const char *expected)
{
    AUTO(text) struct text names = {0};
    assert_int_equal(
        service_node_list(&world->service, "ml", NULL, -1, -1, "", 0, change_world_add_name, &names, &world->problem),
        0);
    assert_string_equal(text_get(&names), expected);
}

#endif
