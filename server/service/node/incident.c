/* Incidents of many nodes, and what nodes share: shown, said by people, and declared over by them. */
#include "db/incident.h"
#include "base/text.h"
#include "db/event.h"
#include "server/service/node/node.h"
#include "server/service/private.h"

#include <stdio.h>
#include <string.h>

/* --- shown ----------------------------------------------------------------------------------------- */

struct listing {
    const char *cluster;
    struct db_incident_filter filter;
    db_row_fn fn;
    void *arg;
    struct problem *problem;
};

static int list_read(struct db_tx *tx, void *arg)
{
    struct listing *listing = arg;
    int64_t none;
    int status = place_narrow(tx, listing->cluster, NULL, &listing->filter.cluster_id, &none, listing->problem);
    return status < 0 ? status : db_incident_list(tx, &listing->filter, listing->fn, listing->arg);
}

int service_incident_list(struct service *s, const char *cluster, bool open_only, int64_t before_id, int limit,
                          db_row_fn fn, void *arg, struct problem *ret_problem)
{
    struct listing listing = {.cluster = cluster,
                              .filter = {.before_id = before_id, .open_only = open_only, .limit = limit},
                              .fn = fn,
                              .arg = arg,
                              .problem = ret_problem};
    return service_read(s, list_read, &listing, ret_problem);
}

static int find_incident(struct db_tx *tx, int64_t id, struct shared_incident *ret_incident, struct problem *problem)
{
    int status = db_incident_get(tx, id, ret_incident);
    if (status == STATUS_NOT_FOUND)
        return problem_say(problem, status, PROBLEM_NOT_FOUND, "There is no incident %lld.", (long long)id);
    return status;
}

struct lookup {
    int64_t id;
    struct shared_incident incident;
    db_row_fn fn;
    void *arg;
    struct problem *problem;
};

static int get_read(struct db_tx *tx, void *arg)
{
    struct lookup *lookup = arg;
    int status = find_incident(tx, lookup->id, &lookup->incident, lookup->problem);
    return status < 0 ? status : db_incident_node_list(tx, lookup->id, lookup->fn, lookup->arg);
}

int service_incident_get(struct service *s, int64_t id, struct shared_incident *ret_incident, db_row_fn fn, void *arg,
                         struct problem *ret_problem)
{
    struct lookup lookup = {.id = id, .fn = fn, .arg = arg, .problem = ret_problem};
    int status = service_read(s, get_read, &lookup, ret_problem);
    if (status == 0)
        *ret_incident = lookup.incident;
    return status;
}

/* --- over ------------------------------------------------------------------------------------------ */

struct ending {
    const struct actor *actor;
    int64_t id, now_ms;
    struct shared_incident incident;
    struct problem *problem;
};

static int end_write(struct db_tx *tx, void *arg)
{
    struct ending *ending = arg;
    struct shared_incident *incident = &ending->incident;
    int status = find_incident(tx, ending->id, incident, ending->problem);
    if (status < 0)
        return status;
    if (incident->ended_at > 0)
        return problem_say(ending->problem, STATUS_CONFLICT, PROBLEM_CONFLICT, "The incident is over already: %s.",
                           incident->ended_by);
    incident->ended_at = ending->now_ms;
    snprintf(incident->ended_by, sizeof(incident->ended_by), "%s says so", ending->actor->name);
    status = db_incident_update(tx, incident);
    if (status < 0)
        return status;
    struct event event = {.at = ending->now_ms,
                          .level = EVENT_LEVEL_INFO,
                          .kind = EVENT_KIND_INCIDENT_ENDED,
                          .cluster_id = incident->cluster_id};
    snprintf(event.cluster, sizeof(event.cluster), "%s", incident->cluster);
    snprintf(event.about.subject, sizeof(event.about.subject), "%lld", (long long)incident->id);
    text_copy_cut(event.about.state, sizeof(event.about.state), "ended");
    text_copy_cut(event.about.actor, sizeof(event.about.actor), ending->actor->name);
    say_cut(event.message, sizeof(event.message),
            "incident %lld of the %s %s is over: %s; what still fails is repaired node by node",
            (long long)incident->id, topology_level_title(incident->level), incident->domain, incident->ended_by);
    return db_event_insert(tx, &event);
}

int service_incident_end(struct service *s, const struct actor *actor, int64_t id, struct shared_incident *ret_incident,
                         struct problem *ret_problem)
{
    int status = service_require(actor, ROLE_OPERATOR, ret_problem);
    if (status < 0)
        return status;
    struct ending ending = {.actor = actor, .id = id, .now_ms = service_now(s), .problem = ret_problem};
    status = service_write(s, "incident-end", end_write, &ending, ret_problem);
    if (status < 0)
        return status;
    *ret_incident = ending.incident;
    service_wake(s, SERVICE_WAKE_INCIDENT, id);
    service_events_added(s);
    return 0;
}
