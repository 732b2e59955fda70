/*
 * Refusals under a bound. The audit log is never shortened, so what anybody at all can add to it is limited: at most
 * PEER_ROWS_MAX rows of their own in a minute from one address, and HOUR_ROWS_MAX in an hour from everywhere. What goes
 * beyond is counted, and the count becomes a row when its minute is over; beyond the hour's rows all counts become one.
 *
 *      a minute's slot for each address ──count──► a row, while the hour has one left
 *                     └── no slot, or no row left ──► the crowd's count ──► a row an hour
 */
#include "server/service/private.h"

#include "base/text.h"

#include <pthread.h>
#include <string.h>

#define PEERS_MAX 128     /* addresses that are refused within one minute; more are the crowd */
#define PEER_ROWS_MAX 20  /* a person who tries what they may not, and a script with a wrong token, stay below */
#define HOUR_ROWS_MAX 600 /* about 4 MB a day while an attack lasts */
#define WINDOW_MS MS_PER_MIN
#define HOUR_MS MS_PER_HOUR

struct count {
    struct audit entry; /* of those that were counted: what they have in common */
    int64_t since, rows;
    bool used;
};

struct audit_flood {
    pthread_mutex_t lock;
    struct count peers[PEERS_MAX], crowd;
    int64_t hour_since, hour_rows;
};

struct audit_flood *audit_flood_new(void)
{
    struct audit_flood *flood = own_calloc(1, sizeof(*flood));
    pthread_mutex_init(&flood->lock, NULL);
    return flood;
}

void audit_flood_free(struct audit_flood *flood)
{
    if (flood == NULL)
        return;
    pthread_mutex_destroy(&flood->lock);
    free(flood);
}

/* What they do not have in common is said as several, a letter or none. */
static void keep_common(char *common, const char *text, char several)
{
    if (strcmp(common, text) == 0)
        return;
    common[0] = several;
    common[1] = '\0';
}

static void add(struct count *count, const struct audit *entry, int64_t n, int64_t mono_ms)
{
    struct audit *sum = &count->entry;
    if (!count->used) {
        count->used = true;
        count->since = mono_ms;
    }
    if (sum->count == 0) {
        *sum = *entry;
        sum->cluster[0] = sum->resource[0] = sum->request_id[0] = '\0';
        sum->at = sum->count = 0;
    }
    keep_common(sum->operation, entry->operation, '*');
    keep_common(sum->actor, entry->actor, '\0');
    keep_common(sum->credential, entry->credential, '\0');
    keep_common(sum->peer, entry->peer, '\0');
    keep_common(sum->code, entry->code, '\0');
    sum->outcome = AUDIT_OUTCOME_REFUSED;
    sum->count += n;
}

static bool is_over(const struct count *count, int64_t mono_ms, int64_t window_ms)
{
    return mono_ms - count->since >= window_ms;
}

/* The address's own slot, or a free one; NULL: all are in use. */
static struct count *find_slot(struct audit_flood *flood, const char *peer, int64_t mono_ms)
{
    struct count *free_slot = NULL;
    for (size_t i = 0; i < PEERS_MAX; i++) {
        struct count *slot = &flood->peers[i];
        bool idle = !slot->used || (is_over(slot, mono_ms, WINDOW_MS) && slot->entry.count == 0);
        if (idle && free_slot == NULL)
            free_slot = slot;
        if (!idle && strcmp(slot->entry.peer, peer) == 0)
            return slot;
    }
    if (free_slot != NULL) {
        *free_slot = (struct count){.used = true, .since = mono_ms};
        (void)text_copy(free_slot->entry.peer, sizeof(free_slot->entry.peer), peer); /* both are the same size */
    }
    return free_slot;
}

static bool hour_has_row(struct audit_flood *flood, int64_t mono_ms)
{
    if (flood->hour_since == 0 || mono_ms - flood->hour_since >= HOUR_MS) {
        flood->hour_since = mono_ms;
        flood->hour_rows = 0;
    }
    return flood->hour_rows < HOUR_ROWS_MAX;
}

bool audit_flood_admit(struct audit_flood *flood, const struct audit *entry, int64_t mono_ms)
{
    if (flood == NULL)
        return true;
    pthread_mutex_lock(&flood->lock);
    struct count *slot = find_slot(flood, entry->peer, mono_ms);
    bool admitted = slot != NULL && slot->rows < PEER_ROWS_MAX && hour_has_row(flood, mono_ms);
    if (admitted) {
        slot->rows++;
        flood->hour_rows++;
    } else {
        add(slot != NULL ? slot : &flood->crowd, entry, 1, mono_ms);
    }
    pthread_mutex_unlock(&flood->lock);
    return admitted;
}

/* The count of an address whose minute is over; what the hour has no row for joins the crowd. */
static bool take_peer(struct audit_flood *flood, int64_t mono_ms, bool all, struct audit *ret_entry)
{
    for (size_t i = 0; i < PEERS_MAX; i++) {
        struct count *slot = &flood->peers[i];
        if (slot->entry.count == 0 || !(all || is_over(slot, mono_ms, WINDOW_MS)))
            continue;
        struct audit entry = slot->entry;
        *slot = (struct count){0};
        if (all || hour_has_row(flood, mono_ms)) {
            flood->hour_rows++;
            *ret_entry = entry;
            return true;
        }
        add(&flood->crowd, &entry, entry.count, mono_ms);
    }
    return false;
}

bool audit_flood_take(struct audit_flood *flood, int64_t mono_ms, bool all, struct audit *ret_entry)
{
    if (flood == NULL)
        return false;
    pthread_mutex_lock(&flood->lock);
    bool taken = take_peer(flood, mono_ms, all, ret_entry);
    struct count *crowd = &flood->crowd;
    if (!taken && crowd->entry.count > 0 && (all || is_over(crowd, mono_ms, HOUR_MS))) {
        *ret_entry = crowd->entry;
        *crowd = (struct count){0};
        taken = true;
    }
    pthread_mutex_unlock(&flood->lock);
    return taken;
}
