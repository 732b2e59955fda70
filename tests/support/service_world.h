/*
 * A small world for tests of the use cases: a store in a directory of its own, a fleet, a clock that the test owns, and ears
 * that count what they hear. Only functions in a header, so that tests of other rooms need not link the service.
 *
 * What the reconcile loop would do (launch an instance, finish an operation) is done here by hand, so that a
 * test can put a node into any state.
 */
#ifndef HOLDFAST_TESTS_SUPPORT_SERVICE_WORLD_H
#define HOLDFAST_TESTS_SUPPORT_SERVICE_WORLD_H

#include "base/file.h"
#include "base/own.h"
#include "base/status.h"
#include "model/job.h"
#include "server/service/access/access.h"
#include "server/service/agent/agent.h"
#include "server/service/agent/agent_settings.h"
#include "server/service/cluster/cluster.h"
#include "server/service/event/event.h"
#include "server/service/node/approval.h"
#include "server/service/node/check.h"
#include "server/service/node/lemon.h"
#include "server/service/node/node.h"
#include "server/service/policy/policy.h"
#include "server/service/service.h"
#include "tests/support/fresh_store.h"
#include "tests/support/specs.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define WORLD_T0 INT64_C(1795186800000) /* 2026-11-20 15:00:00 UTC */
#define WORLD_BOOT "8c2f9a52-0f5e-4d0c-9a53-6c3a5e0b7d11"
#define WORLD_BOOT_2 "11111111-0f5e-4d0c-9a53-6c3a5e0b7d11"
#define WORLD_FN static __attribute__((unused))

struct world {
    char dir[64];
    struct clock clock;
    struct service service;
    struct problem problem;
    atomic_int wakes, stored, agent_changes, events_heard;
    atomic_llong stored_node, stored_us;
    atomic_ullong stored_news;
};

static const struct actor world_admin = {.name = "token:admin", .role = ROLE_ADMIN, .token_id = 1};
static const struct actor world_operator = {.name = "token:oper", .role = ROLE_OPERATOR, .token_id = 2};
static const struct actor world_viewer = {.name = "token:view", .role = ROLE_VIEWER, .token_id = 3};

/* --- ears ------------------------------------------------------------------------------------------ */

WORLD_FN void world_on_wake(void *arg, enum service_wake what, int64_t id)
{
    (void)what;
    (void)id;
    atomic_fetch_add(&((struct world *)arg)->wakes, 1);
}

WORLD_FN void world_on_stored(void *arg, const struct service_stored *stored)
{
    struct world *world = arg;
    atomic_store(&world->stored_node, stored->node_id);
    atomic_store(&world->stored_us, stored->received_mono_us);
    atomic_store(&world->stored_news, stored->news);
    atomic_fetch_add(&world->stored, 1);
}

WORLD_FN void world_on_agent(void *arg, int64_t node_id)
{
    (void)node_id;
    atomic_fetch_add(&((struct world *)arg)->agent_changes, 1);
}

WORLD_FN void world_on_events(void *arg)
{
    atomic_fetch_add(&((struct world *)arg)->events_heard, 1);
}

/* --- opening --------------------------------------------------------------------------------------- */

/* flags are db_open's. The clock is a fake one that stands still; the store's threads may read it. */
WORLD_FN void world_open(struct world *world, unsigned flags)
{
    char error[DB_ERROR_MAX] = "";
    memset(world, 0, sizeof(*world));
    snprintf(world->dir, sizeof(world->dir), "/tmp/holdfast-world-XXXXXX");
    assert_non_null(mkdtemp(world->dir));
    clock_fake_init(&world->clock, WORLD_T0);
    struct service *s = &world->service;
    if (fresh_store_open(world->dir, &world->clock, flags, &s->db, error) < 0)
        fail_msg("db_open: %s", error);
    s->fleet = fleet_new();
    s->clock = &world->clock;
    s->memory = service_memory_new();
    s->heartbeat_interval_ms = 5000;
    s->wake = world_on_wake;
    s->verdicts_stored = world_on_stored;
    s->agent_changed = world_on_agent;
    s->events_added = world_on_events;
    s->wake_arg = world;
    s->events_arg = world;
    snprintf(s->server_url, sizeof(s->server_url), "http://127.0.0.1:8700");
}

WORLD_FN void world_close(struct world *world)
{
    db_close(world->service.db);
    service_memory_free(world->service.memory);
    fleet_free(world->service.fleet);
    assert_int_equal(file_remove_tree(world->dir), 0);
}

/* --- writing by hand ------------------------------------------------------------------------------- */

WORLD_FN void world_write(struct world *world, db_write_fn fn, void *arg)
{
    assert_int_equal(db_write(world->service.db, "test", fn, arg), 0);
}

struct world_node {
    const char *cluster, *node;
    struct cluster found_cluster;
    struct node found;
};

WORLD_FN int world_find_read(struct db_tx *tx, void *arg)
{
    struct world_node *at = arg;
    int status = db_cluster_get(tx, at->cluster, &at->found_cluster);
    return status < 0 ? status : db_node_get(tx, at->found_cluster.id, at->node, &at->found);
}

WORLD_FN struct node world_node_get(struct world *world, const char *cluster, const char *node)
{
    struct world_node at = {.cluster = cluster, .node = node};
    struct db_tx *tx = NULL;
    assert_int_equal(db_read_begin(world->service.db, &tx), 0);
    assert_int_equal(world_find_read(tx, &at), 0);
    db_read_end(world->service.db, tx);
    return at.found;
}

WORLD_FN int world_node_write(struct db_tx *tx, void *arg)
{
    return db_node_update(tx, arg);
}

/* Any state, without asking the table. */
WORLD_FN void world_node_set(struct world *world, const char *cluster, const char *name, enum node_state state,
                             enum health health)
{
    struct node node = world_node_get(world, cluster, name);
    node.state = state;
    node.health = health;
    if (state == NODE_STATE_READY)
        node.reason[0] = '\0';
    world_write(world, world_node_write, &node);
}

struct world_end {
    int64_t node_id;
    enum operation_state state;
};

WORLD_FN int world_end_write(struct db_tx *tx, void *arg)
{
    const struct world_end *end = arg;
    struct operation operation;
    int status = db_operation_active(tx, end->node_id, &operation);
    if (status == STATUS_NOT_FOUND)
        return 0;
    operation.state = end->state;
    return status < 0 ? status : db_operation_update(tx, &operation);
}

/* The node's active operation ends, if there is one. */
WORLD_FN void world_operation_end(struct world *world, const char *cluster, const char *node,
                                  enum operation_state state)
{
    struct world_end end = {world_node_get(world, cluster, node).id, state};
    world_write(world, world_end_write, &end);
}

struct world_launch {
    struct node node;
    struct instance instance;
    struct token token;
};

WORLD_FN int world_launch_write(struct db_tx *tx, void *arg)
{
    struct world_launch *launch = arg;
    int status = db_instance_insert(tx, &launch->instance);
    launch->node.instance_row = launch->instance.id;
    if (status == 0)
        status = db_node_update(tx, &launch->node);
    return status < 0 ? status : db_token_insert(tx, &launch->token);
}

/* A provider's instance fills the slot; ret_token is made for it alone. */
WORLD_FN void world_launch(struct world *world, const char *cluster, const char *node, const char *instance_id,
                           char ret_token[SERVICE_TOKEN_TEXT_MAX])
{
    struct world_launch launch = {.node = world_node_get(world, cluster, node)};
    char secret[ID_SECRET_MAX];
    launch.node.state = NODE_STATE_STARTING;
    launch.instance = (struct instance){
        .node_id = launch.node.id, .state = INSTANCE_STATE_LAUNCHING, .launched_at = clock_wall_ms(&world->clock)};
    snprintf(launch.instance.instance_id, sizeof(launch.instance.instance_id), "%s", instance_id);
    snprintf(launch.instance.launch_key, sizeof(launch.instance.launch_key), "launch/%s", instance_id);
    launch.token = (struct token){.kind = TOKEN_KIND_ENROLLMENT,
                                  .cluster_id = launch.node.cluster_id,
                                  .node_id = launch.node.id,
                                  .created_at = clock_wall_ms(&world->clock),
                                  .expires_at = clock_wall_ms(&world->clock) + MS_PER_HOUR};
    snprintf(launch.token.instance_id, sizeof(launch.token.instance_id), "%s", instance_id);
    id_uuid(NULL, launch.token.uid);
    id_secret(NULL, secret);
    id_sha256(secret, strlen(secret), launch.token.hash);
    snprintf(ret_token, SERVICE_TOKEN_TEXT_MAX, "hfe_%.43s", secret);
    world_write(world, world_launch_write, &launch);
    struct fleet_slot slot = {
        .node_id = launch.node.id, .cluster_id = launch.node.cluster_id, .group_id = launch.node.group_id};
    snprintf(slot.instance_id, sizeof(slot.instance_id), "%s", instance_id);
    fleet_put(world->service.fleet, &slot);
}

WORLD_FN struct instance world_instance(struct world *world, const char *instance_id)
{
    struct instance instance;
    struct db_tx *tx = NULL;
    assert_int_equal(db_read_begin(world->service.db, &tx), 0);
    assert_int_equal(db_instance_get(tx, instance_id, &instance), 0);
    db_read_end(world->service.db, tx);
    return instance;
}

WORLD_FN int world_instance_write(struct db_tx *tx, void *arg)
{
    return db_instance_update(tx, arg);
}

WORLD_FN void world_instance_set(struct world *world, const char *instance_id, enum instance_state state)
{
    struct instance instance = world_instance(world, instance_id);
    instance.state = state;
    world_write(world, world_instance_write, &instance);
}

/* --- the usual things ------------------------------------------------------------------------------ */

/* A cluster with the group "workers" and the nodes PREFIX-1 … PREFIX-count, without a scheduler unless told. */
WORLD_FN void world_cluster(struct world *world, const char *name, const char *prefix, int64_t count,
                            enum orchestrator orchestrator)
{
    struct service_group_spec group = {.instance_count = count};
    struct service_cluster_spec spec = {.orchestrator = orchestrator, .groups = &group, .group_count = 1};
    struct cluster cluster;
    autofree char **names = own_calloc((size_t)count + 1, sizeof(*names));
    for (int64_t i = 0; i < count; i++)
        names[i] = own_printf("%s-%" PRId64, prefix, i + 1);
    group.node_names = names;
    snprintf(group.name, sizeof(group.name), "workers");
    snprintf(group.provider, sizeof(group.provider), "local");
    snprintf(spec.name, sizeof(spec.name), "%s", name);
    int status = service_cluster_create(&world->service, &world_admin, &spec, &cluster, &world->problem);
    for (int64_t i = 0; i < count; i++)
        free(names[i]);
    if (status < 0)
        fail_msg("cluster create: %s", world->problem.detail);
}

/* Launched, enrolled, ready, and nothing at work on it. Returns the node's row; ret_credential may be NULL. */
WORLD_FN int64_t world_ready(struct world *world, const char *cluster, const char *node, const char *instance_id,
                             char *ret_credential)
{
    char token[SERVICE_TOKEN_TEXT_MAX], credential[SERVICE_TOKEN_TEXT_MAX];
    struct service_enrollment enrollment = {.boot_id = WORLD_BOOT};
    int64_t node_id = 0;
    snprintf(enrollment.node, sizeof(enrollment.node), "%s", node);
    snprintf(enrollment.instance_id, sizeof(enrollment.instance_id), "%s", instance_id);
    world_launch(world, cluster, node, instance_id, token);
    if (service_agent_enroll(&world->service, token, &enrollment, &node_id, credential, &world->problem) < 0)
        fail_msg("enroll: %s", world->problem.detail);
    world_operation_end(world, cluster, node, OPERATION_STATE_SUCCEEDED);
    world_node_set(world, cluster, node, NODE_STATE_READY, HEALTH_HEALTHY);
    if (ret_credential != NULL)
        memcpy(ret_credential, credential, sizeof(credential));
    return node_id;
}

/* Opens, with the cluster "ml" of gpu-1 … gpu-count, of which gpu-1 is ready as the instance "i-1". Returns its row. */
WORLD_FN int64_t world_open_ready(struct world *world, unsigned flags, int64_t count)
{
    world_open(world, flags);
    world_cluster(world, "ml", "gpu", count, ORCHESTRATOR_NONE);
    return world_ready(world, "ml", "gpu-1", "i-1", NULL);
}

WORLD_FN struct fleet_heartbeat world_heartbeat(struct world *world, const char *instance_id, const char *boot_id,
                                                int64_t seq)
{
    struct fleet_heartbeat beat = {.seq = seq, .sent_at = clock_wall_ms(&world->clock), .checks = FLEET_CHECK_KMSG};
    snprintf(beat.instance_id, sizeof(beat.instance_id), "%s", instance_id);
    snprintf(beat.boot_id, sizeof(beat.boot_id), "%s", boot_id);
    return beat;
}

WORLD_FN int world_beat(struct world *world, int64_t node_id, const char *instance_id, const char *boot_id, int64_t seq)
{
    struct fleet_heartbeat beat = world_heartbeat(world, instance_id, boot_id, seq);
    return service_agent_heartbeat(&world->service, node_id, &beat, &world->problem);
}

WORLD_FN void world_ignore_silent(int64_t node_id, int64_t last_heartbeat_at, void *arg)
{
    (void)node_id, (void)last_heartbeat_at, (void)arg;
}

/* Who has not spoken for a minute is silent from now on. */
WORLD_FN void world_sweep(struct world *world)
{
    fleet_sweep(world->service.fleet, clock_wall_ms(&world->clock), MS_PER_MIN, world_ignore_silent, NULL);
}

/* Critical, just now, of the world's boot. */
WORLD_FN struct verdict world_verdict(struct world *world, const char *instance_id, const char *key, const char *code)
{
    struct verdict verdict = {.severity = SEVERITY_CRITICAL, .count = 1};
    verdict.first_at = verdict.last_at = clock_wall_ms(&world->clock);
    snprintf(verdict.instance_id, sizeof(verdict.instance_id), "%s", instance_id);
    snprintf(verdict.boot_id, sizeof(verdict.boot_id), "%s", WORLD_BOOT);
    snprintf(verdict.key, sizeof(verdict.key), "%s", key);
    snprintf(verdict.code, sizeof(verdict.code), "%s", code);
    snprintf(verdict.source, sizeof(verdict.source), "kmsg");
    snprintf(verdict.device, sizeof(verdict.device), "0000:b9:00");
    snprintf(verdict.table_version, sizeof(verdict.table_version), "2026-11-20.1");
    snprintf(verdict.raw_line, sizeof(verdict.raw_line), "NVRM: Xid (PCI:0000:b9:00): 79, GPU has fallen off the bus.");
    return verdict;
}

/* --- counting -------------------------------------------------------------------------------------- */

struct world_events {
    enum event_kind kind;
    int count;
    struct event last;
};

WORLD_FN int world_count_event(const void *row, void *arg)
{
    const struct event *event = row;
    struct world_events *events = arg;
    if (event->kind == events->kind) {
        events->count++;
        events->last = *event;
    }
    return 0;
}

/* How many lines of the kind the timeline has, and the newest of them (may be NULL). */
WORLD_FN int world_events(struct world *world, enum event_kind kind, struct event *ret_last)
{
    struct world_events events = {.kind = kind};
    struct db_event_filter filter = {.limit = 0};
    assert_int_equal(service_event_list(&world->service, &filter, world_count_event, &events, &world->problem), 0);
    if (ret_last != NULL)
        *ret_last = events.last;
    return events.count;
}

#define assert_problem(world, expected)                                                                     \
    do {                                                                                                    \
        assert_string_equal(problem_code_text((world)->problem.code), problem_code_text(expected));         \
        assert_true((world)->problem.detail[0] != '\0' && strlen((world)->problem.detail) > sizeof("no.")); \
    } while (0)

/* A word of the list in model/job.h; "" is UNKNOWN. */
WORLD_FN enum cluster_job_state state_of_job(const char *word)
{
    enum cluster_job_state state = CLUSTER_JOB_UNKNOWN;
    if (word[0] != '\0')
        assert_int_equal(cluster_job_state_parse(word, &state), 0);
    return state;
}

#endif
