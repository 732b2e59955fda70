/*
 * Makes a store that holds a fleet already in service: N nodes in groups of at most 1,000, each with a running instance and a
 * credential whose secret goes into a file for the load generator. hpd then starts on it as on any store of its own.
 *
 *   seed STATE_DIR N NODES_FILE [M [ORCHESTRATOR]]
 *                                     in clusters of M nodes: bench, bench-1, …; without M all in one
 */
#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "bench/message.h"
#include "db/cluster.h"
#include "db/node.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NODES_PER_GROUP 1000

struct seed {
    int64_t count, per_cluster;
    FILE *out;
    int64_t now;
    enum orchestrator orchestrator;
};

static int seed_node(struct db_tx *tx, struct seed *seed, int64_t cluster_id, int64_t group_id, int64_t i)
{
    struct node node = {.cluster_id = cluster_id,
                        .group_id = group_id,
                        .state = NODE_STATE_READY,
                        .health = HEALTH_HEALTHY,
                        .state_since = seed->now,
                        .health_since = seed->now,
                        .created_at = seed->now};
    snprintf(node.name, sizeof(node.name), "bench-%06" PRId64, i);
    int rc = db_node_insert(tx, &node);
    if (rc != 0)
        return rc;
    struct instance instance = {
        .node_id = node.id, .state = INSTANCE_STATE_RUNNING, .boot_at = seed->now, .launched_at = seed->now};
    id_instance(NULL, instance.instance_id);
    id_uuid(NULL, instance.boot_id);
    snprintf(instance.launch_key, sizeof(instance.launch_key), "bench/%" PRId64, i);
    rc = db_instance_insert(tx, &instance);
    if (rc != 0)
        return rc;
    node.instance_row = instance.id;
    rc = db_instance_set_address(tx, instance.id, MESSAGE_ADDRESS);
    if (rc != 0)
        return rc;
    struct credential credential = {.node_id = node.id, .created_at = seed->now};
    char secret[ID_SECRET_MAX];
    id_secret(NULL, secret);
    text_copy(credential.instance_id, sizeof(credential.instance_id), instance.instance_id);
    id_sha256(secret, strlen(secret), credential.hash);
    rc = db_node_update(tx, &node);
    if (rc == 0)
        rc = db_credential_set(tx, &credential);
    if (rc == 0)
        fprintf(seed->out, "%" PRId64 " %s %s %s\n", node.id, secret, instance.instance_id, instance.boot_id);
    return rc;
}

static int seed_cluster(struct db_tx *tx, struct seed *seed, int64_t first, int64_t *ret_id)
{
    struct cluster cluster = {.state = CLUSTER_STATE_IN_SERVICE,
                              .recovery = NODE_RECOVERY_AUTOMATIC,
                              .orchestrator = seed->orchestrator,
                              .created_at = seed->now,
                              .updated_at = seed->now};
    int64_t number = first / seed->per_cluster;
    text_copy(cluster.name, sizeof(cluster.name), "bench");
    if (number > 0)
        snprintf(cluster.name, sizeof(cluster.name), "bench-%" PRId64, number);
    snprintf(cluster.uid, sizeof(cluster.uid), "benchbench%02" PRId64, number % 100);
    int rc = db_cluster_insert(tx, &cluster);
    *ret_id = cluster.id;
    return rc;
}

static int seed_group(struct db_tx *tx, struct seed *seed, int64_t cluster_id, int64_t first, int64_t *ret_id)
{
    int64_t left = seed->per_cluster - first % seed->per_cluster;
    left = seed->count - first < left ? seed->count - first : left;
    struct instance_group group = {.cluster_id = cluster_id,
                                   .provider = "none",
                                   .instance_type = "bench",
                                   .desired = left < NODES_PER_GROUP ? left : NODES_PER_GROUP,
                                   .created_at = seed->now};
    snprintf(group.name, sizeof(group.name), "g%" PRId64, first / NODES_PER_GROUP);
    int rc = db_group_insert(tx, &group);
    *ret_id = group.id;
    return rc;
}

static int seed_all(struct db_tx *tx, void *arg)
{
    struct seed *seed = arg;
    int64_t cluster_id = 0, group_id = 0;
    int rc = 0;
    for (int64_t i = 0; rc == 0 && i < seed->count; i++) {
        int64_t at = i % seed->per_cluster;
        if (at == 0)
            rc = seed_cluster(tx, seed, i, &cluster_id);
        if (rc == 0 && at % NODES_PER_GROUP == 0)
            rc = seed_group(tx, seed, cluster_id, i, &group_id);
        if (rc == 0)
            rc = seed_node(tx, seed, cluster_id, group_id, i);
    }
    return rc;
}

int main(int argc, char **argv)
{
    struct seed seed = {.now = clock_wall_ms(clock_system())};
    bool is_fine = argc >= 4 && argc <= 6 && text_parse_i64(argv[2], 1, 1000000, &seed.count) == 0;
    seed.per_cluster = seed.count;
    seed.orchestrator = ORCHESTRATOR_NONE;
    if (!is_fine || (argc >= 5 && text_parse_i64(argv[4], 1, 1000000, &seed.per_cluster) != 0) ||
        (argc == 6 && orchestrator_parse(argv[5], &seed.orchestrator) != 0)) {
        fprintf(stderr, "usage: seed STATE_DIR N NODES_FILE [M [ORCHESTRATOR]]\n");
        return 2;
    }
    char error[DB_ERROR_MAX] = "";
    struct db *db = NULL;
    int rc = file_make_dirs(argv[1], 0700);
    if (rc == 0)
        rc = db_open(argv[1], clock_system(), DB_INLINE, &db, error);
    seed.out = fopen(argv[3], "we");
    if (rc == 0 && seed.out != NULL)
        rc = db_write(db, "seed", seed_all, &seed);
    db_close(db);
    if (seed.out == NULL || fclose(seed.out) != 0 || rc != 0) {
        fprintf(stderr, "seed: %s %s\n", status_meaning(rc), error);
        return 1;
    }
    return 0;
}
