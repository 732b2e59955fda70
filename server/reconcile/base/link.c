/*
 * The links to schedulers: one for each that is configured, and one without a driver for each that a cluster names and that is not.
 */
#include "base/map.h"
#include "server/reconcile/keep/address.h"
#include "server/reconcile/keep/govern.h"
#include "server/reconcile/keep/manage.h"
#include "server/reconcile/keep/quarantine.h"

#define LINK_CALLS_MIN 2

static struct scheduler_link *link_add(struct reconcile *r, const char *name)
{
    struct scheduler_link *link = own_calloc(1, sizeof(*link));
    text_copy_cut(link->name, sizeof(link->name), name);
    link->nodes = map_new();
    link->event = link->event_written = -1;
    link->govern = reconcile_govern_new();
    link->quarantine = reconcile_quarantine_new();
    link->addresses = reconcile_addresses_new();
    link->manage = reconcile_manage_new();
    struct scheduler_link **end = &r->links;
    while (*end != NULL)
        end = &(*end)->next;
    *end = link;
    return link;
}

void reconcile_links_make(struct reconcile *r)
{
    struct service *s = r->service;
    for (size_t i = 0; i < r->deps.scheduler_count; i++) {
        const struct reconcile_scheduler *from = &r->deps.schedulers[i];
        struct scheduler_link *link = link_add(r, from->name);
        link->driver = from->driver;
        link->managed = from->managed;
        link->strategy = from->strategy;
        link->shown = service_scheduler_new(from->name, from->driver.ops->name);
        s->schedulers[s->scheduler_count++] = link->shown;
        if (r->deps.settings.job_snapshot_interval_ms == 0)
            service_scheduler_show(
                link->shown, NULL,
                "slurm.surveyInterval of hpd's configuration is 0s, so it is never asked for its nodes and jobs");
    }
}

static void link_free(struct scheduler_link *link)
{
    service_scheduler_free(link->shown);
    job_snapshot_free(link->followed);
    reconcile_govern_free(link->govern);
    reconcile_quarantine_free(link->quarantine);
    reconcile_addresses_free(link->addresses);
    reconcile_manage_free(link->manage);
    idqueue_free(&link->holds);
    map_free(link->nodes);
    free(link);
}

void reconcile_links_free(struct reconcile *r)
{
    struct service *s = r->service;
    if (r->links != NULL && s->scheduler_count > 0 && s->schedulers[0] == r->links->shown)
        s->scheduler_count = 0;
    while (r->links != NULL) {
        struct scheduler_link *link = r->links;
        r->links = link->next;
        link_free(link);
    }
}

struct scheduler_link *reconcile_link_named(struct reconcile *r, const char *name)
{
    for (struct scheduler_link *link = r->links; link != NULL; link = link->next)
        if (name[0] == '\0' || text_equal(link->name, name))
            return link;
    return link_add(r, name);
}

struct scheduler_link *reconcile_link(const struct rnode *node)
{
    return node->group->cluster->link;
}

bool reconcile_link_is_configured(const struct scheduler_link *link)
{
    return link != NULL && link->driver.ops != NULL;
}

bool reconcile_link_is_usable(const struct scheduler_link *link)
{
    return reconcile_link_is_configured(link) && !link->down;
}

const char *reconcile_link_lacks(const struct scheduler_link *link)
{
    return reconcile_link_is_configured(link) ? "waits for the scheduler to answer again"
                                              : "waits: hpd's configuration has no scheduler of the cluster's name";
}

int reconcile_link_room(const struct reconcile *r, const struct scheduler_link *link)
{
    int most = r->deps.settings.steps_in_flight_max, configured = (int)r->deps.scheduler_count;
    int share = configured > 1 ? most / configured : most;
    return (share > LINK_CALLS_MIN ? share : LINK_CALLS_MIN) - link->calls_in_flight;
}
