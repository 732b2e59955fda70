/*
 * The links to schedulers: one for each that is configured, and one without a driver for each that a cluster names and that is not.
 */
#include "server/reconcile/base/link.h"
#include "base/log.h"
#include "base/map.h"
#include "base/text.h"
#include "server/reconcile/base/call.h"
#include "server/reconcile/base/cluster.h"
#include "server/reconcile/base/group.h"
#include "server/reconcile/base/loop.h"
#include "server/reconcile/base/node.h"
#include "server/reconcile/base/queue.h"
#include "server/reconcile/reconcile.h"
#include "server/service/scheduler/scheduler.h"

#define SNAPSHOT_AGE_FACTOR 4 /* a snapshot older than so many observe intervals is no snapshot */
#define LINK_CALLS_MIN 4      /* of each scheduler, however many there are */

static struct scheduler_link *link_add(struct reconcile *r, const char *name)
{
    struct scheduler_link *link = own_calloc(1, sizeof(*link));
    text_copy_cut(link->name, sizeof(link->name), name);
    link->nodes = map_new();
    link->event = link->event_written = -1;
    link->calls_end = &link->calls;
    link->observe_interval_ms = r->deps.settings.observe_interval_ms;
    link->job_snapshot_interval_ms = r->deps.settings.job_snapshot_interval_ms;
    reconcile_link_keepers_start(link);
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
        link->topology_managed = from->topology_managed;
        link->strategy = from->strategy;
        if (from->observe_interval_ms > 0)
            link->observe_interval_ms = from->observe_interval_ms;
        if (from->job_snapshot_interval_ms != 0)
            link->job_snapshot_interval_ms = from->job_snapshot_interval_ms > 0 ? from->job_snapshot_interval_ms : 0;
        link->shown = service_scheduler_new(from->name, from->driver.ops->name);
        service_scheduler_set_arn(link->shown, from->arn);
        service_scheduler_set_labels(link->shown, from->driver.ops->labels != NULL);
        service_scheduler_set_role_file(link->shown, from->driver.ops->roles);
        service_scheduler_set_resume_command(link->shown, from->driver.ops->resume_command);
        s->schedulers[s->scheduler_count++] = link->shown;
        if (link->job_snapshot_interval_ms == 0)
            service_scheduler_show(
                link->shown, NULL,
                "its jobSnapshotInterval in hpd's configuration is 0s, so it is never asked for its nodes and jobs");
    }
}

static void link_free(struct scheduler_link *link)
{
    service_scheduler_free(link->shown);
    job_snapshot_free(link->followed);
    reconcile_link_keepers_end(link);
    while (link->calls != NULL) {
        struct rcall *call = link->calls;
        link->calls = call->next;
        reconcile_call_free(call);
    }
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
    log_error("a cluster names a scheduler that is not configured, its steps wait scheduler=\"%s\"", name);
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

static int calls_max(const struct loop_settings *settings, size_t scheduler_count)
{
    int most = settings->steps_in_flight_max;
    int share = scheduler_count > 1 ? most / (int)scheduler_count : most;
    return share > LINK_CALLS_MIN || share == most ? share : LINK_CALLS_MIN;
}

int reconcile_threads(const struct loop_settings *settings, size_t scheduler_count)
{
    if (scheduler_count <= 1)
        return settings->steps_in_flight_max;
    return settings->steps_in_flight_max + (int)scheduler_count * calls_max(settings, scheduler_count);
}

int reconcile_link_share(const struct reconcile *r)
{
    return calls_max(&r->deps.settings, r->deps.scheduler_count);
}

int reconcile_link_room(const struct reconcile *r, const struct scheduler_link *link)
{
    return reconcile_link_share(r) - link->calls_in_flight;
}

int64_t reconcile_link_age_max(const struct scheduler_link *link)
{
    return link->observe_interval_ms * SNAPSHOT_AGE_FACTOR;
}

int64_t reconcile_group_observe_interval(const struct rgroup *group)
{
    const struct scheduler_link *link = group->cluster->link;
    return link != NULL ? link->observe_interval_ms : group->settings.observe_interval_ms;
}
