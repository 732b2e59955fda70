/*
 * The audit log: who asked for which change, from where, and what became of it.
 *
 * A change that succeeds has its row in its own transaction (run.c), whichever use case it is: so that none can be
 * forgotten, the API says once which request its thread works on, and not each use case what to record. What was refused
 * changed nothing and is recorded beside the reply: it may be lost with a crash, and never holds up who was refused.
 */
#include "server/service/access/access.h"
#include "server/service/private.h"

#include "base/log.h"
#include "base/text.h"

static _Thread_local struct service_audit *current;

void service_audit_begin(struct service_audit *audit)
{
    current = audit;
}

void service_audit_end(void)
{
    current = NULL;
}

struct service_audit *audit_current(void)
{
    return current;
}

/* As the client named it, without the mark of a reference. */
static const char *bare(const char *ref)
{
    static const char mark[] = SERVICE_INSTANCE_PREFIX;
    return text_starts_with(ref, mark) ? ref + sizeof(mark) - 1 : ref;
}

void service_audit_about(const char *cluster, const char *resource)
{
    if (current == NULL)
        return;
    say_cut(current->entry.cluster, sizeof(current->entry.cluster), "%s", cluster);
    say_cut(current->entry.resource, sizeof(current->entry.resource), "%s", bare(resource));
}

/* People look for a cluster by its name, whichever way the request named it. */
int audit_record(struct db_tx *tx, const struct audit *entry)
{
    struct audit row = *entry;
    struct cluster cluster;
    if (text_starts_with(row.cluster, SERVICE_CLUSTER_ID_PREFIX) &&
        place_find_cluster(tx, row.cluster, &cluster, NULL) == 0)
        memcpy(row.cluster, cluster.name, sizeof(row.cluster));
    return db_audit_insert(tx, &row);
}

static int nothing(struct db_tx *tx, void *arg)
{
    (void)tx;
    (void)arg;
    return 0;
}

void service_audit_settle(struct service *s)
{
    if (current == NULL || current->recorded)
        return;
    int status = service_write(s, "audit", nothing, NULL, NULL);
    if (status < 0)
        log_warn("an entry of the audit log was not stored: operation=%s actor=%s status=%s", current->entry.operation,
                 current->entry.actor, status_text(status));
}

/* --- refusals ---------------------------------------------------------------------------------------- */

static int refused_write(struct db_tx *tx, void *arg)
{
    return audit_record(tx, arg);
}

/* What the store does not take is at least in the server's log. */
static void refused_done(int status, void *arg)
{
    const struct audit *entry = arg;
    if (status < 0)
        log_warn("an entry of the audit log was not stored: operation=%s actor=%s peer=%s code=%s count=%lld status=%s",
                 entry->operation, entry->actor, entry->peer, entry->code, (long long)entry->count,
                 status_text(status));
    free(arg);
}

static void write_refused(struct service *s, const struct audit *entry)
{
    struct audit *copy = own_calloc(1, sizeof(*copy));
    *copy = *entry;
    int status = db_write_async(s->db, "audit-refused", refused_write, refused_done, copy);
    if (status < 0)
        refused_done(status, copy);
}

void service_audit_refused(struct service *s, const struct audit *entry)
{
    struct audit_flood *flood = memory_audit_flood(s->memory);
    if (current != NULL)
        current->recorded = true;
    bool admitted = audit_flood_admit(flood, entry, clock_mono_ms(s->clock));
    service_audit_flush(s, false);
    if (admitted)
        write_refused(s, entry);
}

void service_audit_flush(struct service *s, bool all)
{
    struct audit entry;
    while (audit_flood_take(memory_audit_flood(s->memory), clock_mono_ms(s->clock), all, &entry))
        write_refused(s, &entry);
}

/* --- reading ------------------------------------------------------------------------------------------ */

struct listing {
    const struct db_audit_filter *filter;
    db_row_fn fn;
    void *arg;
};

static int list_read(struct db_tx *tx, void *arg)
{
    const struct listing *listing = arg;
    return db_audit_list(tx, listing->filter, listing->fn, listing->arg);
}

int service_audit_list(struct service *s, const struct db_audit_filter *filter, db_row_fn fn, void *arg,
                       struct problem *ret_problem)
{
    struct listing listing = {filter, fn, arg};
    service_audit_flush(s, false);
    return service_read(s, list_read, &listing, ret_problem);
}
