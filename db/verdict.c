/*
 * Verdicts: what agents saw. The one table that is written at the rate of the fleet, so a new verdict is one statement
 * that touches the end of the table and one random leaf of one index.
 *
 * Repeats are told by the digest of the key, not by the key: an index of 16 bytes an entry has half as many pages
 * to write at random as one of 64, and two keys with one digest would take 2^64 verdicts of one node. Open and past
 * verdicts have an index each; that a key is in one of them only is this file's doing.
 */
#include "db/verdict.h"

#include "base/clock.h"
#include "db/intern.h"

#define DIGEST_BYTES 16

#define VERDICT_COLUMNS                                                                                       \
    "v.id, v.node_id, v.first_at, v.last_at, v.count, v.received_at, v.severity, v.state, v.source, v.code, " \
    "v.device, v.instance_id, v.boot_id, v.key, v.table_version, v.raw_line, v.node_fault, "                  \
    "CASE v.source WHEN 'provider' THEN (SELECT due_at FROM provider_notice WHERE verdict_id = v.id) END"
#define VERDICT_SELECT "SELECT " VERDICT_COLUMNS " FROM verdict v "

static const char SQL_INSERT[] =
    "INSERT INTO verdict (id, node_id, digest, first_at, last_at, count, received_at, severity, state, source, code, "
    "device, instance_id, boot_id, key, table_version, raw_line, node_fault) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING";
static const char SQL_LAST_ID[] =
    "SELECT (SELECT max(id) FROM verdict), (SELECT last_id FROM verdict_sequence WHERE one = 1)";
static const char SQL_KEEP_SEQUENCE[] = "INSERT INTO verdict_sequence (one, last_id) VALUES (1, ?) "
                                        "ON CONFLICT (one) DO UPDATE SET last_id = excluded.last_id";
#define VERDICT_SAME "SELECT id, count, last_at, resolved_at FROM verdict WHERE node_id = ? AND digest = ? AND "
static const char SQL_SAME_OPEN[] = VERDICT_SAME "state = 'open'";
static const char SQL_SAME_PAST[] = VERDICT_SAME "state <> 'open'";
static const char SQL_NODE_EXISTS[] = "SELECT 1 FROM node WHERE id = ?";
#define OF_NODE "node_id = ?"
#define OF_CLUSTER "node_id IN (SELECT id FROM node WHERE cluster_id = ?)"
static const char SQL_DROP_NODE_OPEN[] = "DELETE FROM verdict WHERE state = 'open' AND " OF_NODE;
static const char SQL_DROP_NODE_PAST[] = "DELETE FROM verdict WHERE state <> 'open' AND " OF_NODE;
static const char SQL_DROP_CLUSTER_OPEN[] = "DELETE FROM verdict WHERE state = 'open' AND " OF_CLUSTER;
static const char SQL_DROP_CLUSTER_PAST[] = "DELETE FROM verdict WHERE state <> 'open' AND " OF_CLUSTER;
static const char SQL_GROW[] = "UPDATE verdict SET count = ?, last_at = ? WHERE id = ?";
static const char SQL_SET_FAULT[] = "UPDATE verdict SET node_fault = 1 WHERE id = ? AND node_fault = 0";
static const char SQL_GET_ROW[] = VERDICT_SELECT "WHERE v.id = ?";
/* What gives its key up keeps its row: no repeat is ever told of it again. */
static const char SQL_GIVE_UP_KEY[] = "UPDATE verdict SET digest = randomblob(16) WHERE id = ?";
#define VERDICT_RESOLVE \
    "UPDATE verdict SET state = 'resolved', resolved_at = ? WHERE node_id = ? AND state = 'open' AND "
static const char SQL_RESOLVE[] = VERDICT_RESOLVE "id <= ?";
static const char SQL_RESOLVE_BETWEEN[] = VERDICT_RESOLVE "id > ? AND id <= ?";
static const char SQL_RESOLVE_LIKE[] = VERDICT_RESOLVE "id < ? AND source = ? AND code = ? AND device = ?";
/* A verdict that grew keeps its row number, and nothing says whether a decision saw it grow: its node is looked at once more than needed. */
static const char SQL_UNDECIDED[] =
    "SELECT DISTINCT v.node_id FROM verdict v WHERE v.state = 'open' AND (v.count > 1 OR v.last_at > v.first_at OR "
    "v.id > coalesce((SELECT d.newest_verdict FROM decision d WHERE d.node_id = v.node_id ORDER BY d.id DESC LIMIT 1), "
    "0)) ORDER BY v.node_id";
static const char SQL_NEWEST[] = "SELECT coalesce(max(id), 0) FROM verdict";
static const char SQL_CRITICAL[] = "SELECT id, node_id FROM verdict WHERE id > ? AND id <= ? AND severity = 'critical' "
                                   "AND state = 'open' ORDER BY id LIMIT ?";
static const char SQL_FAILED[] =
    "SELECT node_id, max(received_at) AS last_received FROM verdict "
    "WHERE node_fault = 1 AND state <> 'stale' AND received_at > ? GROUP BY node_id ORDER BY last_received";

/* ?1 node, ?2 the cursor, ?3 limit, ?4 state. Words that are spelt out are those of the partial indexes. */
#define VERDICT_OPEN VERDICT_SELECT "WHERE v.node_id = ?1 AND v.state = 'open' AND v.id < ?2 "
#define VERDICT_PAST(word) \
    VERDICT_SELECT "WHERE v.node_id = ?1 AND v.state <> 'open' AND v.state = " word " AND v.id < ?2 "
#define VERDICT_NEWEST "ORDER BY id DESC LIMIT ?3"
static const char SQL_NODE_ALL[] =
    VERDICT_OPEN "UNION ALL " VERDICT_PAST("'resolved'") "UNION ALL " VERDICT_PAST("'stale'") VERDICT_NEWEST;
static const char SQL_NODE_OPEN[] = VERDICT_OPEN VERDICT_NEWEST;
static const char SQL_NODE_OPEN_AS_THEY_COME[] = VERDICT_OPEN "LIMIT 2";
static const char SQL_NODE_CRITICAL_FIRST[] =
    VERDICT_OPEN "ORDER BY (v.severity = 'critical') DESC, (v.source = 'report'), v.id DESC LIMIT ?3";
static const char SQL_NODE_PAST[] = VERDICT_PAST("?4") VERDICT_NEWEST;
static const char SQL_ALL[] = VERDICT_SELECT "WHERE ?1 = 0 AND v.id < ?2 " VERDICT_NEWEST;
static const char SQL_ALL_OPEN[] =
    VERDICT_SELECT "WHERE ?1 = 0 AND v.state = 'open' AND v.node_id > 0 AND +v.id < ?2 ORDER BY +v.id DESC LIMIT ?3";
static const char SQL_ALL_PAST[] = VERDICT_SELECT "WHERE ?1 = 0 AND v.state = ?4 AND v.id < ?2 " VERDICT_NEWEST;

static void verdict_read(struct db_query *q, void *row)
{
    struct verdict *verdict = row;
    verdict->id = db_get_i64(q);
    verdict->node_id = db_get_i64(q);
    verdict->first_at = db_get_i64(q);
    verdict->last_at = db_get_i64(q);
    verdict->count = db_get_i64(q);
    verdict->received_at = db_get_i64(q);
    DB_GET_ENUM(q, severity, &verdict->severity);
    DB_GET_ENUM(q, verdict_state, &verdict->state);
    DB_GET_TEXT(q, verdict->source);
    DB_GET_TEXT(q, verdict->code);
    DB_GET_TEXT(q, verdict->device);
    DB_GET_TEXT(q, verdict->instance_id);
    DB_GET_TEXT(q, verdict->boot_id);
    DB_GET_TEXT(q, verdict->key);
    DB_GET_TEXT(q, verdict->table_version);
    DB_GET_TEXT(q, verdict->raw_line);
    verdict->node_fault = db_get_i64(q) != 0;
    verdict->expires_at = 0;         /* of a report, which has it in a row of its own (node_report.c) */
    verdict->due_at = db_get_i64(q); /* of a provider's notice (notice.c), for as long as the provider announces it */
}

/* --- ids ------------------------------------------------------------------------------------------ */

/* SQLite's own way never to give an id twice (AUTOINCREMENT) writes one more row for each insert: a tenth of what a
 * verdict costs the writer. */
int db_verdict_read_sequence(struct db_tx *tx)
{
    if (tx->db->verdict_last_id > 0)
        return 0;
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_LAST_ID);
    int status = db_query_one(&q);
    if (status < 0)
        return status;
    int64_t newest = db_get_i64(&q), dropped = db_get_i64(&q);
    tx->db->verdict_last_id = newest > dropped ? newest : dropped;
    return 0;
}

int db_verdict_keep_sequence(struct db_tx *tx)
{
    if (tx->db->verdict_last_id == 0)
        return 0;
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_KEEP_SEQUENCE);
    db_bind_i64(&q, tx->db->verdict_last_id);
    return db_query_run(&q, NULL);
}

/* --- putting -------------------------------------------------------------------------------------- */

static int verdict_insert(struct db_tx *tx, const struct verdict *verdict, const uint8_t *digest, int64_t *ret_id,
                          int64_t *ret_new)
{
    int status = db_verdict_read_sequence(tx);
    if (status < 0)
        return status;
    int64_t id = tx->db->verdict_last_id + 1;
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_INSERT);
    db_bind_i64(&q, id);
    db_bind_i64(&q, verdict->node_id);
    db_bind_blob(&q, digest, DIGEST_BYTES);
    db_bind_i64(&q, verdict->first_at);
    db_bind_i64(&q, verdict->last_at);
    db_bind_i64(&q, verdict->count);
    db_bind_i64(&q, verdict->received_at);
    db_bind_text(&q, severity_text(verdict->severity));
    db_bind_text(&q, verdict_state_text(verdict->state));
    db_bind_text(&q, verdict->source);
    db_bind_text(&q, verdict->code);
    db_bind_text(&q, verdict->device);
    db_bind_text(&q, verdict->instance_id);
    db_bind_text(&q, verdict->boot_id);
    db_bind_text(&q, verdict->key);
    db_bind_text(&q, verdict->table_version);
    db_bind_text(&q, verdict->raw_line);
    db_bind_i64(&q, verdict->node_fault);
    status = db_query_run(&q, ret_new);
    /* Also when the transaction is undone: an id that was given to nobody is no loss. */
    if (status == 0 && *ret_new > 0)
        *ret_id = tx->db->verdict_last_id = id;
    return status;
}

struct same {
    int64_t id, count, last_at, resolved_at;
};

static int same_find(struct db_tx *tx, const char *sql, int64_t node_id, const uint8_t *digest, struct same *ret_same)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, sql);
    db_bind_i64(&q, node_id);
    db_bind_blob(&q, digest, DIGEST_BYTES);
    int status = db_query_one(&q);
    if (status < 0)
        return status;
    ret_same->id = db_get_i64(&q);
    ret_same->count = db_get_i64(&q);
    ret_same->last_at = db_get_i64(&q);
    ret_same->resolved_at = db_get_i64(&q);
    return 0;
}

/* Counts and times only grow: a delivery that was overtaken by a later one must not take anything back. */
static int verdict_grow(struct db_tx *tx, struct verdict *verdict, const struct same *same,
                        enum db_verdict_change *ret_change)
{
    verdict->id = same->id;
    *ret_change = DB_VERDICT_SAME;
    if (verdict->count <= same->count && verdict->last_at <= same->last_at)
        return 0;
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_GROW);
    db_bind_i64(&q, verdict->count > same->count ? verdict->count : same->count);
    db_bind_i64(&q, verdict->last_at > same->last_at ? verdict->last_at : same->last_at);
    db_bind_i64(&q, same->id);
    int status = db_query_hit(&q);
    if (status == 0)
        *ret_change = DB_VERDICT_GREW;
    return status;
}

/* An agent counts a fault under one key for a minute, and knows nothing of a release or of a verdict that took it back: what
 * was seen after that is a fault anew, of which the count of the old row would tell nobody. */
static bool is_seen_anew(const struct verdict *verdict, const struct same *same)
{
    return same->resolved_at > 0 && verdict->count > same->count && verdict->last_at > same->resolved_at;
}

int db_verdict_give_up_key(struct db_tx *tx, int64_t id)
{
    return db_hit_i64(tx, SQL_GIVE_UP_KEY, id);
}

#define KNOWN_NODES_MAX (INT64_C(1) << 24) /* 2 MiB of bits; rows with higher numbers are asked for each time */
#define KNOWN_WORD_BITS 64

void db_verdict_forget_nodes(struct db *db)
{
    if (db->known_words > 0)
        memset(db->known_nodes, 0, db->known_words * sizeof(*db->known_nodes));
}

static void remember_node(struct db *db, int64_t node_id)
{
    size_t word = (size_t)node_id / KNOWN_WORD_BITS;
    if (word >= db->known_words) {
        size_t words = (word + 1) * 2;
        db->known_nodes = own_realloc(db->known_nodes, words, sizeof(*db->known_nodes));
        memset(db->known_nodes + db->known_words, 0, (words - db->known_words) * sizeof(*db->known_nodes));
        db->known_words = words;
    }
    db->known_nodes[word] |= UINT64_C(1) << (node_id % KNOWN_WORD_BITS);
}

/* Nodes go rarely, and their verdicts come often: what was there once is not asked for again until one goes. */
static int node_exists(struct db_tx *tx, int64_t node_id)
{
    struct db *db = tx->db;
    bool small = node_id > 0 && node_id < KNOWN_NODES_MAX;
    size_t word = small ? (size_t)node_id / KNOWN_WORD_BITS : 0;
    if (small && word < db->known_words && (db->known_nodes[word] >> (node_id % KNOWN_WORD_BITS) & 1) != 0)
        return 0;
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_NODE_EXISTS);
    db_bind_i64(&q, node_id);
    int status = db_query_one(&q);
    if (status == 0 && small)
        remember_node(db, node_id);
    return status;
}

/* In the order of what is likely: a repeat is most often of an open one, and that the insert itself finds out. */
int db_verdict_put(struct db_tx *tx, struct verdict *verdict, enum db_verdict_change *ret_change)
{
    uint8_t digest[ID_SHA256_BYTES];
    id_sha256(verdict->key, strlen(verdict->key), digest);
    bool open = verdict->state == VERDICT_STATE_OPEN;
    struct same same;
    int status = same_find(tx, open ? SQL_SAME_PAST : SQL_SAME_OPEN, verdict->node_id, digest, &same);
    bool again = status == 0 && open && is_seen_anew(verdict, &same);
    if (again) {
        status = db_verdict_give_up_key(tx, same.id);
        if (status == 0)
            status = STATUS_NOT_FOUND;
    }
    if (status == STATUS_NOT_FOUND) {
        int64_t fresh = 0;
        status = node_exists(tx, verdict->node_id);
        if (status == 0)
            status = verdict_insert(tx, verdict, digest, &verdict->id, &fresh);
        if (status == 0 && fresh > 0) {
            *ret_change = again ? DB_VERDICT_AGAIN : DB_VERDICT_NEW;
            return 0;
        }
        if (status == 0)
            status = same_find(tx, open ? SQL_SAME_OPEN : SQL_SAME_PAST, verdict->node_id, digest, &same);
    }
    return status < 0 ? status : verdict_grow(tx, verdict, &same, ret_change);
}

int db_verdict_find(struct db_tx *tx, int64_t node_id, const char *key, int64_t *ret_id, bool *ret_is_open)
{
    uint8_t digest[ID_SHA256_BYTES];
    struct same same;
    id_sha256(key, strlen(key), digest);
    int status = same_find(tx, SQL_SAME_OPEN, node_id, digest, &same);
    bool is_open = status == 0;
    if (status == STATUS_NOT_FOUND)
        status = same_find(tx, SQL_SAME_PAST, node_id, digest, &same);
    if (status < 0)
        return status;
    *ret_id = same.id;
    *ret_is_open = is_open;
    return 0;
}

static int drop(struct db_tx *tx, const char *sql, int64_t row)
{
    return db_run_i64(tx, sql, row, NULL);
}

static int drop_all(struct db_tx *tx, const char *open, const char *closed, int64_t row)
{
    db_verdict_forget_nodes(tx->db);
    int status = db_verdict_read_sequence(tx);
    if (status == 0)
        status = db_verdict_keep_sequence(tx);
    if (status == 0)
        status = drop(tx, open, row);
    return status < 0 ? status : drop(tx, closed, row);
}

int db_verdict_drop_node(struct db_tx *tx, int64_t node_id)
{
    return drop_all(tx, SQL_DROP_NODE_OPEN, SQL_DROP_NODE_PAST, node_id);
}

int db_verdict_drop_cluster(struct db_tx *tx, int64_t cluster_id)
{
    return drop_all(tx, SQL_DROP_CLUSTER_OPEN, SQL_DROP_CLUSTER_PAST, cluster_id);
}

int db_verdict_set_fault(struct db_tx *tx, int64_t id)
{
    return db_run_i64(tx, SQL_SET_FAULT, id, NULL);
}

int db_verdict_get_row(struct db_tx *tx, int64_t id, struct verdict *ret_verdict)
{
    return db_take_i64(tx, SQL_GET_ROW, id, verdict_read, ret_verdict);
}

/* One alone is in order: most nodes of a burst have one, and sorting it costs more than reading it. True: it was all there is, and fn's word
 * is in *ret_status. */
static bool list_only_one(struct db_tx *tx, const struct db_verdict_filter *filter, db_row_fn fn, void *arg,
                          int *ret_status)
{
    struct verdict verdict;
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_NODE_OPEN_AS_THEY_COME);
    db_bind_i64(&q, filter->node_id);
    db_bind_i64(&q, filter->before_id > 0 ? filter->before_id : INT64_MAX);
    int status = db_query_next(&q);
    if (status == 1) {
        verdict_read(&q, &verdict);
        status = db_query_next(&q);
        if (status == 1)
            return false;
        if (status == 0)
            status = fn(&verdict, arg);
    }
    *ret_status = status;
    return true;
}

static const char *list_sql(const struct db_verdict_filter *filter)
{
    bool node = filter->node_id > 0;
    if (filter->state < 0)
        return node ? SQL_NODE_ALL : SQL_ALL;
    if (filter->state == VERDICT_STATE_OPEN && node && filter->critical_first)
        return SQL_NODE_CRITICAL_FIRST;
    if (filter->state == VERDICT_STATE_OPEN)
        return node ? SQL_NODE_OPEN : SQL_ALL_OPEN;
    return node ? SQL_NODE_PAST : SQL_ALL_PAST;
}

int db_verdict_list(struct db_tx *tx, const struct db_verdict_filter *filter, db_row_fn fn, void *arg)
{
    struct verdict verdict;
    int status;
    const char *sql = list_sql(filter);
    if (sql == SQL_NODE_CRITICAL_FIRST && list_only_one(tx, filter, fn, arg, &status))
        return status;
    auto_query struct db_query q;
    db_query_open(&q, tx, sql);
    db_bind_i64(&q, filter->node_id);
    db_bind_i64(&q, filter->before_id > 0 ? filter->before_id : INT64_MAX);
    db_bind_limit(&q, filter->limit);
    if (filter->state > VERDICT_STATE_OPEN)
        db_bind_text(&q, verdict_state_text((enum verdict_state)filter->state));
    return db_query_walk(&q, verdict_read, &verdict, fn, arg);
}

int db_verdict_resolve(struct db_tx *tx, int64_t node_id, int64_t up_to_id, int64_t *ret_count)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_RESOLVE);
    db_bind_i64(&q, clock_wall_ms(db_tx_clock(tx)));
    db_bind_i64(&q, node_id);
    db_bind_i64(&q, up_to_id > 0 ? up_to_id : INT64_MAX);
    return db_query_run(&q, ret_count);
}

int db_verdict_resolve_between(struct db_tx *tx, int64_t node_id, int64_t after_id, int64_t up_to_id)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_RESOLVE_BETWEEN);
    db_bind_i64(&q, clock_wall_ms(db_tx_clock(tx)));
    db_bind_i64(&q, node_id);
    db_bind_i64(&q, after_id);
    db_bind_i64(&q, up_to_id);
    return db_query_run(&q, NULL);
}

int db_verdict_resolve_like(struct db_tx *tx, const struct verdict *verdict, int64_t *ret_count)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_RESOLVE_LIKE);
    db_bind_i64(&q, verdict->last_at);
    db_bind_i64(&q, verdict->node_id);
    db_bind_i64(&q, verdict->id);
    db_bind_text(&q, verdict->source);
    db_bind_text(&q, verdict->code);
    db_bind_text(&q, verdict->device);
    return db_query_run(&q, ret_count);
}

static void row_id_read(struct db_query *q, void *row)
{
    *(int64_t *)row = db_get_i64(q);
}

int db_verdict_undecided_nodes(struct db_tx *tx, db_row_fn fn, void *arg)
{
    int64_t node_id;
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_UNDECIDED);
    return db_query_walk(&q, row_id_read, &node_id, fn, arg);
}

int db_verdict_newest(struct db_tx *tx, int64_t *ret_id)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_NEWEST);
    return db_query_take(&q, row_id_read, ret_id);
}

static void place_read(struct db_query *q, void *row)
{
    struct db_verdict_place *place = row;
    place->id = db_get_i64(q);
    place->node_id = db_get_i64(q);
}

int db_verdict_critical(struct db_tx *tx, int64_t after_id, int64_t up_to_id, int limit, db_row_fn fn, void *arg)
{
    struct db_verdict_place place;
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_CRITICAL);
    db_bind_i64(&q, after_id);
    db_bind_i64(&q, up_to_id);
    db_bind_i64(&q, limit);
    return db_query_walk(&q, place_read, &place, fn, arg);
}

static void failed_read(struct db_query *q, void *row)
{
    struct db_verdict_failed *failed = row;
    failed->node_id = db_get_i64(q);
    failed->received_at = db_get_i64(q);
}

int db_verdict_failed_nodes(struct db_tx *tx, int64_t since_at, db_row_fn fn, void *arg)
{
    struct db_verdict_failed failed;
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_FAILED);
    db_bind_i64(&q, since_at);
    return db_query_walk(&q, failed_read, &failed, fn, arg);
}
