/*
 * Stored descriptions of clusters and groups that cannot be read: looked for at the start, as hpd alone writes them. Each is said in the log
 * and in its cluster's timeline. None is changed: what depends on it fails, or waits, with that reason.
 */
#include "server/service/cluster/cluster.h"
#include "server/service/private.h"

#include "base/log.h"
#include "db/cluster.h"

struct looking {
    struct db_tx *tx;
    struct cluster cluster;
    bool any, writes;
};

static int say(struct looking *looking, const char *what, const char *name)
{
    looking->any = true;
    if (looking->writes)
        return cluster_event(looking->tx, &looking->cluster, EVENT_LEVEL_ERROR, EVENT_KIND_UNREADABLE,
                             "the stored description of the %s %s cannot be read: nothing that depends on it is done",
                             what, name);
    log_error("stored description cannot be read cluster=%s %s=%s", looking->cluster.name, what, name);
    return 0;
}

static int check_group(const void *row, void *arg)
{
    const struct instance_group *group = row;
    struct looking *looking = arg;
    AUTO(group_spec) struct group_spec spec = {0};
    int status = db_group_spec_get(looking->tx, group->id, &spec);
    return status == STATUS_UNREADABLE ? say(looking, "group", group->name) : status;
}

static int check_cluster(const void *row, void *arg)
{
    struct looking *looking = arg;
    AUTO(cluster_spec) struct cluster_spec spec = {0};
    looking->cluster = *(const struct cluster *)row;
    int status = db_cluster_spec_get(looking->tx, looking->cluster.id, &spec);
    if (status == STATUS_UNREADABLE)
        status = say(looking, "cluster", looking->cluster.name);
    return status < 0 ? status : db_group_list(looking->tx, looking->cluster.id, check_group, looking);
}

static int look(struct db_tx *tx, void *arg)
{
    struct looking *looking = arg;
    looking->tx = tx;
    return db_cluster_list(tx, "", 0, check_cluster, looking);
}

int service_specs_check(struct service *s, struct problem *ret_problem)
{
    struct looking reading = {.any = false}, writing = {.writes = true};
    int status = service_read(s, look, &reading, ret_problem);
    if (status < 0 || !reading.any)
        return status;
    return service_write(s, "specs-check", look, &writing, ret_problem);
}
