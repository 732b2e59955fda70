/* What of the labels and taints of its group a node carries in its scheduler. */
#include "db/node_labels.h"

#include "db/intern.h"

#define VARIANTS_MAX 64 /* of one group: what more nodes differ by is in none of them */

static const char SQL_SET[] = "INSERT INTO node_labels (node_id, current) SELECT id, ?2 FROM node WHERE id = ?1 "
                              "ON CONFLICT (node_id) DO UPDATE SET current = excluded.current";
static const char SQL_REMOVE[] = "DELETE FROM node_labels WHERE node_id = ?";
static const char SQL_GET[] = "SELECT current FROM node_labels WHERE node_id = ?";
static const char SQL_OF_GROUP[] =
    "SELECT DISTINCT coalesce(l.current, '') FROM node n LEFT JOIN node_labels l ON l.node_id = n.id "
    "WHERE n.group_id = ? AND n.instance_row IS NOT NULL LIMIT ?";

int db_node_labels_set(struct db_tx *tx, int64_t node_id, const char *current)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, current[0] == '\0' ? SQL_REMOVE : SQL_SET);
    db_bind_i64(&q, node_id);
    if (current[0] != '\0')
        db_bind_text(&q, current);
    return db_query_run(&q, NULL);
}

static int read_current(struct db_query *q, struct kubernetes_spec *ret_current)
{
    const char *text = db_get_word(q);
    *ret_current = (struct kubernetes_spec){0};
    if (text[0] == '\0')
        return 0;
    return kubernetes_spec_read(text, ret_current) == 0 ? 0 : STATUS_UNREADABLE;
}

int db_node_labels_get(struct db_tx *tx, int64_t node_id, struct kubernetes_spec *ret_current)
{
    auto_query struct db_query q;
    *ret_current = (struct kubernetes_spec){0};
    db_query_open(&q, tx, SQL_GET);
    db_bind_i64(&q, node_id);
    int status = db_query_one(&q);
    return status == STATUS_NOT_FOUND ? 0 : status < 0 ? status : read_current(&q, ret_current);
}

int db_group_labels_get(struct db_tx *tx, int64_t group_id, struct kubernetes_spec *ret_current)
{
    auto_query struct db_query q;
    bool first = true;
    int status, row;
    *ret_current = (struct kubernetes_spec){0};
    db_query_open(&q, tx, SQL_OF_GROUP);
    db_bind_i64(&q, group_id);
    db_bind_limit(&q, VARIANTS_MAX);
    for (status = 0; status == 0 && (row = db_query_next(&q)) != 0; first = false) {
        AUTO(kubernetes_spec) struct kubernetes_spec one = {0};
        status = row < 0 ? row : read_current(&q, first ? ret_current : &one);
        if (status == 0 && !first)
            kubernetes_spec_intersect(ret_current, &one);
    }
    if (status < 0)
        kubernetes_spec_free(ret_current);
    return status;
}
