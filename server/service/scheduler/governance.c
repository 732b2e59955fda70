/*
 * Scheduler configurations and compute quotas: made, changed, taken away and shown. Each change is one transaction that adds a
 * version.
 *
 * Applied means: the scheduler goes by it. That is not done here but by the reconcile loop (reconcile/keep/govern.c), which is woken
 * and settles the status of the version when it has seen what became of it. Only where there is no scheduler at all is it
 * settled at once: it has failed, but for a quota that is switched off, which holds by itself.
 */
#include "server/service/private.h"

#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct change {
    struct service *s;
    const struct actor *actor;
    enum governance_kind kind;
    const char *cluster;
    const struct service_governance_ref *ref;
    const struct service_governance_spec *spec;
    const char *config; /* the spec's as text; NULL: as it is */
    int64_t if_version, now_ms;
    struct problem *problem;
    struct governance *governance;
};

/* --- status ----------------------------------------------------------------------------------------- */

static void set_status(struct governance *governance, const struct cluster *cluster)
{
    bool off = governance->kind == GOVERNANCE_KIND_COMPUTE_QUOTA && !governance->active;
    enum governance_phase phase = off ? GOVERNANCE_HOLDS : GOVERNANCE_FAILED;
    const char *reason =
        off ? GOVERNANCE_OFF : "Stored, but not applied: the cluster has no scheduler that could go by it.";
    if (cluster->orchestrator != ORCHESTRATOR_NONE) {
        phase = GOVERNANCE_PENDING;
        reason = "Stored, and not applied yet: the scheduler is being told.";
    }
    governance->status = governance_status_of(governance->newest + 1, phase);
    governance->details[0] = '\0';
    governance->applied_at = 0;
    snprintf(governance->reason, sizeof(governance->reason), "%s", reason);
}

/* A version that another one follows before it was brought about never will be. */
static int overtake(struct db_tx *tx, const struct governance *governance)
{
    if (!governance_status_is_pending(governance->status))
        return 0;
    autofree struct governance *old = own_calloc(1, sizeof(*old));
    *old = *governance;
    old->status = governance_status_of(old->version, GOVERNANCE_FAILED);
    snprintf(old->reason, sizeof(old->reason), "Not applied: version %" PRId64 " came before it was.",
             old->version + 1);
    return db_governance_settle(tx, old);
}

/* --- what a change does to it ------------------------------------------------------------------------ */

static void take_spec(const struct change *change)
{
    const struct service_governance_spec *spec = change->spec;
    struct governance *governance = change->governance;
    if (spec->description != NULL)
        say_cut(governance->description, sizeof(governance->description), "%s", spec->description);
    if (change->config != NULL)
        snprintf(governance->config, sizeof(governance->config), "%s", change->config);
    if (spec->team != NULL) {
        snprintf(governance->team, sizeof(governance->team), "%s", spec->team);
        governance->weight = spec->weight;
    }
    if (spec->active >= 0)
        governance->active = spec->active != 0;
    governance->made_at = change->now_ms;
    snprintf(governance->made_by, sizeof(governance->made_by), "%s", change->actor->name);
}

/* Who may ask for what can be; its configuration as text that fits, where NULL stays NULL. */
static int admit(const struct actor *actor, enum role role, enum governance_kind kind,
                 const struct service_governance_spec *spec, char **ret_text, struct problem *problem)
{
    int status = service_require(actor, role, problem);
    if (status == 0)
        status = governance_check(kind, spec, problem);
    if (status < 0)
        return status;
    *ret_text = spec->config == NULL ? NULL : governance_spec_write(spec->config);
    if (*ret_text == NULL || strlen(*ret_text) < GOVERNANCE_CONFIG_MAX_BYTES)
        return 0;
    free(*ret_text);
    *ret_text = NULL;
    return problem_say(problem, STATUS_INVALID, PROBLEM_INVALID_VALUE, "The configuration is longer than %d bytes.",
                       GOVERNANCE_CONFIG_MAX_BYTES - 1);
}

static int team_is_taken(const struct change *change, const struct governance *other)
{
    return problem_say(change->problem, STATUS_CONFLICT, PROBLEM_CONFLICT,
                       "The team \"%s\" has the compute quota \"%s\" in the cluster \"%s\" already: change that one.",
                       other->team, other->name, other->cluster);
}

static int check_team(struct db_tx *tx, const struct change *change)
{
    const struct governance *governance = change->governance;
    autofree struct governance *other = own_calloc(1, sizeof(*other));
    if (governance->kind != GOVERNANCE_KIND_COMPUTE_QUOTA)
        return 0;
    int status = db_governance_of_team(tx, governance->cluster_id, governance->team, other);
    if (status == 0 && other->id != governance->id)
        return team_is_taken(change, other);
    return status == STATUS_NOT_FOUND ? 0 : status;
}

static int check_cluster(const struct change *change, const struct cluster *cluster)
{
    if (cluster->state != CLUSTER_STATE_DELETING)
        return 0;
    return problem_say(change->problem, STATUS_CONFLICT, PROBLEM_CONFLICT,
                       "The cluster \"%s\" is being deleted and cannot be changed any more.", cluster->name);
}

static int event(struct db_tx *tx, const struct change *change, const struct cluster *cluster, const char *did)
{
    const struct governance *governance = change->governance;
    bool quota = governance->kind == GOVERNANCE_KIND_COMPUTE_QUOTA;
    enum governance_status failed = governance_status_of(governance->version, GOVERNANCE_FAILED);
    return cluster_event(tx, cluster, governance->status == failed ? EVENT_LEVEL_WARN : EVENT_LEVEL_INFO,
                         quota ? EVENT_KIND_COMPUTE_QUOTA : EVENT_KIND_SCHEDULER_CONFIG,
                         "%s %s the %s \"%s\"%s%s (version %" PRId64 "). %s", change->actor->name, did,
                         governance_noun(governance->kind), governance->name, quota ? " of the team " : "",
                         governance->team, governance->version, governance->reason);
}

/* After the commit: who watches hears of it, and the loop. */
static int told(struct service *s, int status)
{
    if (status == 0) {
        service_events_added(s);
        service_wake(s, SERVICE_WAKE_GOVERNANCE, 0);
    }
    return status;
}

/* --- create ----------------------------------------------------------------------------------------- */

/* Room for another of the kind in the cluster, and under that name. */
static int check_room(struct db_tx *tx, const struct change *change, const struct cluster *cluster)
{
    const struct governance *governance = change->governance;
    autofree struct governance *other = own_calloc(1, sizeof(*other));
    int64_t count = 0, count_max = governance->kind == GOVERNANCE_KIND_COMPUTE_QUOTA ? CLUSTER_QUOTAS_MAX : 1;
    int status = db_governance_by_name(tx, governance->kind, governance->name, 0, other);
    if (status == 0)
        return problem_say(change->problem, STATUS_EXISTS, PROBLEM_NAME_TAKEN,
                           "A %s named \"%s\" exists, in the cluster \"%s\". Choose another name.",
                           governance_noun(governance->kind), governance->name, other->cluster);
    if (status == STATUS_NOT_FOUND)
        status = db_governance_count(tx, governance->kind, cluster->id, &count);
    if (status < 0 || count < count_max)
        return status;
    if (count_max > 1)
        return problem_say(change->problem, STATUS_CONFLICT, PROBLEM_LIMIT_EXCEEDED,
                           "The cluster \"%s\" has %" PRId64 " compute quotas, which is as many as it may have.",
                           cluster->name, count);
    return problem_say(
        change->problem, STATUS_CONFLICT, PROBLEM_CONFLICT,
        "The cluster \"%s\" has a scheduler configuration, and can have one: change it, or delete it first.",
        cluster->name);
}

static int create_write(struct db_tx *tx, void *arg)
{
    struct change *change = arg;
    struct governance *governance = change->governance;
    struct cluster cluster;
    governance->newest = 0;
    int status = place_find_cluster(tx, change->cluster, &cluster, change->problem);
    if (status == 0)
        status = check_cluster(change, &cluster);
    if (status < 0)
        return status;
    governance->cluster_id = cluster.id;
    snprintf(governance->cluster, sizeof(governance->cluster), "%s", cluster.name);
    snprintf(governance->cluster_uid, sizeof(governance->cluster_uid), "%s", cluster.uid);
    set_status(governance, &cluster);
    status = check_room(tx, change, &cluster);
    if (status == 0)
        status = check_team(tx, change);
    if (status == 0)
        status = db_governance_insert(tx, governance);
    if (status == 0)
        status = tags_put(tx, TAG_OWNER_GOVERNANCE, governance->id, change->spec->tags, change->spec->tag_count,
                          change->problem);
    return status < 0 ? status : event(tx, change, &cluster, "created");
}

int service_governance_create(struct service *s, const struct actor *actor, enum governance_kind kind,
                              const char *cluster, const struct service_governance_spec *spec,
                              struct governance *ret_governance, struct problem *ret_problem)
{
    autofree char *config = NULL;
    int status = admit(actor, ROLE_ADMIN, kind, spec, &config, ret_problem);
    if (status < 0)
        return status;
    *ret_governance = (struct governance){.kind = kind, .active = true, .created_at = service_now(s)};
    struct change change = {.s = s,
                            .actor = actor,
                            .kind = kind,
                            .cluster = cluster,
                            .spec = spec,
                            .config = config,
                            .now_ms = ret_governance->created_at,
                            .problem = ret_problem,
                            .governance = ret_governance};
    snprintf(ret_governance->name, sizeof(ret_governance->name), "%s", spec->name);
    snprintf(ret_governance->created_by, sizeof(ret_governance->created_by), "%s", actor->name);
    id_cluster(s->ids, ret_governance->uid);
    take_spec(&change);
    status = service_write(s, "governance-create", create_write, &change, ret_problem);
    return told(s, status);
}

/* --- update and delete -------------------------------------------------------------------------------- */

static int find_both(struct db_tx *tx, const struct change *change, struct cluster *ret_cluster)
{
    int status = governance_find(tx, change->ref, 0, change->governance, change->problem);
    return status < 0 ? status : db_cluster_get_row(tx, change->governance->cluster_id, ret_cluster);
}

static int update_write(struct db_tx *tx, void *arg)
{
    struct change *change = arg;
    struct governance *governance = change->governance;
    struct cluster cluster;
    int status = find_both(tx, change, &cluster);
    if (status == 0)
        status = check_cluster(change, &cluster);
    if (status < 0)
        return status;
    if (change->if_version != 0 && change->if_version != governance->newest)
        return problem_say(change->problem, STATUS_CONFLICT, PROBLEM_PRECONDITION_FAILED,
                           "The %s \"%s\" is at version %" PRId64 ". Read it again and repeat.",
                           governance_noun(governance->kind), governance->name, governance->newest);
    status = overtake(tx, governance);
    if (status < 0)
        return status;
    take_spec(change);
    set_status(governance, &cluster);
    status = check_team(tx, change);
    if (status == 0)
        status = db_governance_add_version(tx, governance);
    return status < 0 ? status : event(tx, change, &cluster, "changed");
}

int service_governance_update(struct service *s, const struct actor *actor, const struct service_governance_ref *ref,
                              const struct service_governance_spec *spec, int64_t if_version,
                              struct governance *ret_governance, struct problem *ret_problem)
{
    autofree char *config = NULL;
    int status = admit(actor, ROLE_OPERATOR, ref->kind, spec, &config, ret_problem);
    if (status < 0)
        return status;
    struct change change = {.s = s,
                            .actor = actor,
                            .ref = ref,
                            .spec = spec,
                            .config = config,
                            .if_version = if_version,
                            .now_ms = service_now(s),
                            .problem = ret_problem,
                            .governance = ret_governance};
    status = service_write(s, "governance-update", update_write, &change, ret_problem);
    return told(s, status);
}

static int delete_write(struct db_tx *tx, void *arg)
{
    struct change *change = arg;
    const struct governance *governance = change->governance;
    struct cluster cluster;
    int status = find_both(tx, change, &cluster);
    if (status == 0)
        status = db_governance_delete(tx, governance->id);
    if (status < 0)
        return status;
    bool quota = governance->kind == GOVERNANCE_KIND_COMPUTE_QUOTA;
    return cluster_event(tx, &cluster, EVENT_LEVEL_INFO, quota ? EVENT_KIND_COMPUTE_QUOTA : EVENT_KIND_SCHEDULER_CONFIG,
                         "%s deleted the %s \"%s\"", change->actor->name, governance_noun(governance->kind),
                         governance->name);
}

int service_governance_delete(struct service *s, const struct actor *actor, const struct service_governance_ref *ref,
                              struct problem *ret_problem)
{
    autofree struct governance *governance = own_calloc(1, sizeof(*governance));
    int status = service_require(actor, ROLE_ADMIN, ret_problem);
    if (status < 0)
        return status;
    struct change change = {.s = s, .actor = actor, .ref = ref, .problem = ret_problem, .governance = governance};
    status = service_write(s, "governance-delete", delete_write, &change, ret_problem);
    return told(s, status);
}

/* --- show ------------------------------------------------------------------------------------------- */

struct looking {
    const struct service_governance_ref *ref;
    int64_t version;
    struct governance *governance;
    struct db_governance_search *search;
    const char *cluster;
    db_row_fn fn;
    void *arg;
    struct problem *problem;
};

static int describe_read(struct db_tx *tx, void *arg)
{
    struct looking *looking = arg;
    return governance_find(tx, looking->ref, looking->version, looking->governance, looking->problem);
}

int service_governance_describe(struct service *s, const struct service_governance_ref *ref, int64_t version,
                                struct governance *ret_governance, struct problem *ret_problem)
{
    struct looking looking = {.ref = ref, .version = version, .governance = ret_governance, .problem = ret_problem};
    return service_read(s, describe_read, &looking, ret_problem);
}

static int search_read(struct db_tx *tx, void *arg)
{
    struct looking *looking = arg;
    struct cluster cluster;
    if (looking->cluster != NULL) {
        int status = place_find_cluster(tx, looking->cluster, &cluster, looking->problem);
        if (status < 0)
            return status;
        looking->search->cluster_uid = cluster.uid;
    }
    return db_governance_search(tx, looking->search, looking->fn, looking->arg);
}

int service_governance_search(struct service *s, struct db_governance_search *search, const char *cluster, db_row_fn fn,
                              void *arg, struct problem *ret_problem)
{
    struct looking looking = {.search = search, .cluster = cluster, .fn = fn, .arg = arg, .problem = ret_problem};
    return service_read(s, search_read, &looking, ret_problem);
}
