/* Names for row numbers: what is stored refers by row, what people read says names. */
#include "server/service/private.h"

#include <stdio.h>

struct names_work {
    int64_t cluster_id, node_id, operation_id;
    struct service_names names;
};

static int find_cluster(struct db_tx *tx, int64_t id, struct service_names *names)
{
    struct cluster cluster;
    int status = id == 0 ? STATUS_NOT_FOUND : db_cluster_get_row(tx, id, &cluster);
    if (status == 0)
        snprintf(names->cluster, sizeof names->cluster, "%s", cluster.name);
    return status;
}

/* With its cluster, where nothing else says which. */
static int find_node(struct db_tx *tx, int64_t id, struct service_names *names)
{
    struct node node;
    int status = id == 0 ? STATUS_NOT_FOUND : db_node_get_row(tx, id, &node);
    if (status != 0)
        return status;
    snprintf(names->node, sizeof names->node, "%s", node.name);
    return names->cluster[0] != '\0' ? 0 : find_cluster(tx, node.cluster_id, names);
}

static int find_operation(struct db_tx *tx, int64_t id, struct service_names *names)
{
    struct operation operation;
    int status = id == 0 ? STATUS_NOT_FOUND : db_operation_get_row(tx, id, &operation);
    if (status == 0)
        snprintf(names->operation, sizeof names->operation, "%s", operation.uid);
    return status;
}

/* What is gone has no name; that is an answer, not an error. */
static int found(int status)
{
    return status == STATUS_NOT_FOUND ? 0 : status;
}

static int names_read(struct db_tx *tx, void *arg)
{
    struct names_work *work = arg;
    int status = found(find_cluster(tx, work->cluster_id, &work->names));
    if (status == 0)
        status = found(find_node(tx, work->node_id, &work->names));
    if (status == 0)
        status = found(find_operation(tx, work->operation_id, &work->names));
    return status;
}

int service_names(struct service *s, int64_t cluster_id, int64_t node_id, int64_t operation_id,
                  struct service_names *ret_names)
{
    struct names_work work = {.cluster_id = cluster_id, .node_id = node_id, .operation_id = operation_id};
    int status = service_read(s, names_read, &work, NULL);
    if (status == 0)
        *ret_names = work.names;
    return status;
}
