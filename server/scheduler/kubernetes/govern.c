/*
 * Task governance on Kubernetes, which is Kueue's: what each part of a configuration or quota means there.
 *
 *   PriorityClasses        a WorkloadPriorityClass NAME-priority with the weight.
 *   FairShare              is Kueue's configuration (fairSharing), which its administrator writes: it is said whether it is as asked.
 *   IdleResourceSharing    a ClusterQueue without jobs has what no quota of the cluster has, for the teams that borrow.
 *   ComputeQuotaResources  a ClusterQueue, a namespace with a LocalQueue for it, and a ResourceFlavor for each instance type.
 *   ResourceSharingConfig  limits of lending and borrowing in the cohort of the cluster's teams.
 *   PreemptTeamTasks       withinClusterQueue; what was lent is always won back.
 *   FairShareWeight        the ClusterQueue's weight, which counts where Kueue shares fairly.
 *
 * An object is touched only when it is held in the store and has the label of what it is held for. A namespace is made where it is missing,
 * and stays when its quota goes: people's work is in it.
 */
#include "server/scheduler/governing.h"
#include "server/scheduler/kubernetes/kueue_object.h"
#include "server/scheduler/kubernetes/private.h"

#include "base/own.h"
#include "base/status.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

#define APPLY_PATCH "application/apply-patch+yaml"
#define MANAGER "?fieldManager=" KUBE_FIELD_MANAGER

struct kube_governing {
    struct governing pass;
    struct kube_call *call;
    const char *version;
    json_t *lists[KUEUE_KIND_COUNT], *namespaces;
    struct kueue_instances instances;
    bool shares_fairly, has_queue;
};

/* An object that a rule wants. */
struct target {
    enum kueue_kind kind;
    const char *name, *mark; /* as it is stored; the rule's uid */
    const json_t *wanted;    /* NULL: what is there stays as it is */
};

/* --- what is there -------------------------------------------------------------------------------------------------- */

static void free_lists(struct kube_governing *g)
{
    for (int kind = 0; kind < KUEUE_KIND_COUNT; kind++) {
        json_decref(g->lists[kind]);
        g->lists[kind] = NULL;
    }
    json_decref(g->namespaces);
    g->namespaces = NULL;
}

/* All of it, or an error: an object that a list leaves out would count as missing. */
static int list(struct kube_governing *g, const char *path, json_t **ret_list)
{
    auto_json json_t *json = NULL;
    int status = kube_get(g->call, path, &json);
    if (status != 0)
        return status;
    if (!json_is_array(json_object_get(json, "items")) ||
        kube_text(json_object_get(json, "metadata"), "continue")[0] != '\0')
        return kube_call_fail(g->call, STATUS_BACKEND, "Kubernetes returned an incomplete list of %s", path);
    *ret_list = TAKE(json);
    return 0;
}

static int look(struct kube_governing *g)
{
    free_lists(g);
    int status = list(g, "/api/v1/namespaces", &g->namespaces);
    for (int kind = 0; kind < KUEUE_KIND_COUNT && status == 0; kind++) {
        autofree char *path = own_printf("/apis/" KUEUE_GROUP "/%s/%s", g->version, kueue_kinds[kind].plural);
        status = list(g, path, &g->lists[kind]);
    }
    const json_t *queues = json_object_get(g->lists[KUEUE_CLUSTER_QUEUE], "items");
    g->shares_fairly = false;
    g->has_queue = false;
    for (size_t i = 0; i < json_array_size(queues); i++) {
        const json_t *queue = json_array_get(queues, i);
        const char *ignored;
        g->shares_fairly = g->shares_fairly || json_is_object(kube_at(queue, "status", "fairSharing"));
        g->has_queue = g->has_queue || kueue_is_active(queue, &ignored) >= 0; /* one whose status Kueue has written */
    }
    return status;
}

static const json_t *find(const json_t *list, const char *space, const char *name)
{
    const json_t *items = json_object_get(list, "items");
    for (size_t i = 0; i < json_array_size(items); i++) {
        const json_t *one = json_array_get(items, i), *metadata = json_object_get(one, "metadata");
        if (strcmp(kube_text(metadata, "name"), name) == 0 && strcmp(kube_text(metadata, "namespace"), space) == 0)
            return one;
    }
    return NULL;
}

static char *space_of(enum kueue_kind kind, const char *name)
{
    return kind == KUEUE_LOCAL_QUEUE ? own_printf(KUEUE_NAMESPACE "%s", name) : own_strdup("");
}

static const json_t *find_object(const struct kube_governing *g, enum kueue_kind kind, const char *name)
{
    autofree char *space = space_of(kind, name), *full = kueue_name(kind, name);
    return find(g->lists[kind], space, full);
}

/* --- holding -------------------------------------------------------------------------------------------------------- */

static const struct governance_held *held_find(const struct kube_governing *g, enum kueue_kind kind, const char *name)
{
    return governing_held(&g->pass, kueue_kinds[kind].object, name);
}

/* NULL, with an answer: it may not be touched, or not yet. Flavors are shared by all quotas. */
static const struct governance_held *claim(struct kube_governing *g, const struct target *target,
                                           struct scheduler_answer *answer)
{
    const struct governance_held *held = held_find(g, target->kind, target->name);
    bool is_shared = target->kind == KUEUE_FLAVOR;
    bool is_taken = governing_is_taken(&g->pass, kueue_kinds[target->kind].object, target->name);
    if (is_taken && !is_shared) {
        scheduler_say(answer, SCHEDULER_OUTCOME_FAILED,
                      "Kueue's %s for %s belongs to another cluster's configuration or quota",
                      kueue_kinds[target->kind].kind, target->name);
        return NULL;
    }
    if (held != NULL) {
        governing_claim(&g->pass, held);
        return held;
    }
    if (!is_taken) {
        struct governance_held next = {.object = kueue_kinds[target->kind].object};
        text_copy_cut(next.name, sizeof(next.name), target->name);
        text_copy_cut(next.mark, sizeof(next.mark), target->mark);
        governing_want(&g->pass, &next);
    }
    scheduler_say(answer, SCHEDULER_OUTCOME_LATER, "Kueue's %s for %s is about to be made",
                  kueue_kinds[target->kind].kind, target->name);
    return NULL;
}

static bool is_ours(const json_t *object, const struct governance_held *held)
{
    const json_t *labels = kube_at(object, "metadata", "labels");
    return held != NULL && strcmp(kube_text(labels, KUEUE_MARK_LABEL), held->mark) == 0;
}

/* --- changing ------------------------------------------------------------------------------------------------------- */

/* Asked again later: the server is away, or somebody else changed it in between. */
static bool passes(int status)
{
    return status == STATUS_UNAVAILABLE || status == STATUS_TIMEOUT || status == STATUS_CONFLICT ||
           status == STATUS_FULL;
}

static void send(struct kube_governing *g, const struct target *target, const struct kube_request *request,
                 struct scheduler_answer *answer)
{
    enum governance_object object = kueue_kinds[target->kind].object;
    if (!governing_may_change(&g->pass, object, target->name, answer))
        return;
    int status = kube_ask(g->call, request, NULL);
    if (status == 0) {
        g->pass.changes++;
        scheduler_say(answer, SCHEDULER_OUTCOME_LATER, "Kueue was updated; waiting for its status");
        return;
    }
    scheduler_say(answer, passes(status) ? SCHEDULER_OUTCOME_LATER : SCHEDULER_OUTCOME_FAILED, "%s", g->call->error);
    governing_refused(&g->pass, object, target->name, answer);
}

static char *path_of(const struct kube_governing *g, enum kueue_kind kind, const char *name, bool is_whole)
{
    autofree char *space = space_of(kind, name), *full = kueue_name(kind, name), *escaped = kube_escape(full);
    return own_printf("/apis/" KUEUE_GROUP "/%s/%s%s%s%s%s%s", g->version, space[0] != '\0' ? "namespaces/" : "", space,
                      space[0] != '\0' ? "/" : "", kueue_kinds[kind].plural, is_whole ? "/" : "",
                      is_whole ? escaped : "");
}

static void make(struct kube_governing *g, const struct target *target, const char *mark,
                 struct scheduler_answer *answer)
{
    autofree char *path = path_of(g, target->kind, target->name, false), *full = own_printf("%s" MANAGER, path);
    auto_json json_t *body = json_deep_copy(target->wanted);
    json_object_set_new(json_object_get(json_object_get(body, "metadata"), "labels"), KUEUE_MARK_LABEL,
                        json_string(mark));
    send(g, target, &(struct kube_request){.method = "POST", .path = full, .body = body}, answer);
}

/* By server-side apply, of the very object that was looked at. */
static void alter(struct kube_governing *g, const struct target *target, const json_t *there, const char *mark,
                  struct scheduler_answer *answer)
{
    autofree char *path = path_of(g, target->kind, target->name, true),
                  *full = own_printf("%s" MANAGER "&force=true", path);
    auto_json json_t *body = json_deep_copy(target->wanted);
    json_t *metadata = json_object_get(body, "metadata");
    json_object_set_new(json_object_get(metadata, "labels"), KUEUE_MARK_LABEL, json_string(mark));
    json_put_text(metadata, "uid", kube_text(json_object_get(there, "metadata"), "uid"));
    send(g, target, &(struct kube_request){.method = "PATCH", .path = full, .content_type = APPLY_PATCH, .body = body},
         answer);
}

static bool is_usable_flavor(const struct target *target, const json_t *there)
{
    const json_t *wanted = json_object_get(target->wanted, "spec");
    return target->kind == KUEUE_FLAVOR && wanted != NULL &&
           json_equal(kube_at(there, "spec", "nodeLabels"), json_object_get(wanted, "nodeLabels"));
}

static bool is_as_wanted(const json_t *there, const struct target *target, const char *mark)
{
    auto_json json_t *wanted = json_deep_copy(target->wanted);
    json_object_set_new(json_object_get(json_object_get(wanted, "metadata"), "labels"), KUEUE_MARK_LABEL,
                        json_string(mark));
    return kueue_holds(there, wanted);
}

/* Brings one object about, or says why it is not so. */
static void bring(struct kube_governing *g, const struct target *target, struct scheduler_answer *answer)
{
    const char *kind = kueue_kinds[target->kind].kind;
    const json_t *there = find_object(g, target->kind, target->name);
    autofree char *full = kueue_name(target->kind, target->name);
    if (there != NULL && !is_ours(there, held_find(g, target->kind, target->name))) {
        if (is_usable_flavor(target, there))
            answer->outcome = SCHEDULER_OUTCOME_HOLDS;
        else
            scheduler_say(answer, SCHEDULER_OUTCOME_FAILED,
                          "Kubernetes has a %s named %s that this server did not make", kind, full);
        return;
    }
    const struct governance_held *held = claim(g, target, answer);
    if (held == NULL)
        return;
    if (there != NULL && kube_text(json_object_get(there, "metadata"), "deletionTimestamp")[0] != '\0')
        scheduler_say(answer, SCHEDULER_OUTCOME_LATER, "Kubernetes is still deleting the %s %s", kind, full);
    else if (target->wanted == NULL || (there != NULL && is_as_wanted(there, target, held->mark)))
        answer->outcome = SCHEDULER_OUTCOME_HOLDS;
    else if (there != NULL)
        alter(g, target, there, held->mark, answer);
    else
        make(g, target, held->mark, answer);
}

static bool has_namespace(struct kube_governing *g, const char *team, const char *mark, struct scheduler_answer *answer)
{
    autofree char *name = own_printf(KUEUE_NAMESPACE "%s", team);
    if (find(g->namespaces, "", name) != NULL)
        return true;
    const struct target target = {.kind = KUEUE_LOCAL_QUEUE, .name = team, .mark = mark};
    auto_json json_t *body = json_pack("{s:s, s:s, s:{s:s, s:{s:s}}}", "apiVersion", "v1", "kind", "Namespace",
                                       "metadata", "name", name, "labels", "app.kubernetes.io/managed-by", "holdfast");
    size_t before = g->pass.changes;
    send(g, &target, &(struct kube_request){.method = "POST", .path = "/api/v1/namespaces" MANAGER, .body = body},
         answer);
    return g->pass.changes > before;
}

/* --- scheduler configurations --------------------------------------------------------------------------------------- */

static void bring_classes(struct kube_governing *g, const struct scheduler_rule *rule, struct scheduler_answer *answer)
{
    answer->outcome = SCHEDULER_OUTCOME_HOLDS; /* of no class, all do */
    for (size_t i = 0; i < rule->class_count; i++) {
        struct scheduler_answer one = {.outcome = SCHEDULER_OUTCOME_UNASKED};
        auto_json json_t *wanted = kueue_class(g->version, &rule->classes[i], rule->uid);
        bring(g, &(struct target){KUEUE_CLASS, rule->classes[i].name, rule->uid, wanted}, &one);
        scheduler_join(answer, &one);
    }
}

static void see_fair_share(const struct kube_governing *g, bool wanted, struct scheduler_answer *answer)
{
    answer->outcome = SCHEDULER_OUTCOME_HOLDS;
    if (!g->has_queue)
        scheduler_say(answer, SCHEDULER_OUTCOME_LATER, "Kueue shows whether it shares fairly when there is a quota");
    else if (wanted && !g->shares_fairly)
        scheduler_say(answer, SCHEDULER_OUTCOME_FAILED,
                      "fairSharing is off in Kueue's configuration; its administrator has to set it");
    else if (!wanted && g->shares_fairly)
        scheduler_say(answer, SCHEDULER_OUTCOME_FAILED,
                      "Kueue shares fairly; its administrator removes fairSharing from Kueue's configuration");
}

static void see_queue(const struct kube_governing *g, const char *team, struct scheduler_answer *answer)
{
    const char *message;
    const json_t *there = find_object(g, KUEUE_CLUSTER_QUEUE, team);
    if (there == NULL || answer->outcome != SCHEDULER_OUTCOME_HOLDS)
        return;
    autofree char *full = kueue_name(KUEUE_CLUSTER_QUEUE, team);
    int active = kueue_is_active(there, &message);
    if (active < 0)
        scheduler_say(answer, SCHEDULER_OUTCOME_LATER,
                      "Kueue has set no condition on the ClusterQueue %s; check that its manager runs", full);
    else if (active == 0)
        scheduler_say(answer, SCHEDULER_OUTCOME_LATER, "the ClusterQueue %s is not active: %.120s", full, message);
}

static char *cohort_of(const struct scheduler_rule *rule)
{
    return own_printf("hyperpod-%s", rule->cluster_uid);
}

/* What the quotas of the same cluster leave. */
static void bring_idle(struct kube_governing *g, const struct scheduler_rule *rule, struct scheduler_answer *answer)
{
    autofree struct kueue_quota *left = own_calloc(1, sizeof(*left)), *quota = own_calloc(1, sizeof(*quota));
    char ignored[SCHEDULER_WHY_MAX];
    answer->outcome = SCHEDULER_OUTCOME_HOLDS;
    if (!rule->idle_sharing)
        return;
    for (size_t i = 0; i < g->pass.request->count; i++) {
        const struct scheduler_rule *other = &g->pass.request->rules[i];
        if (other->kind != GOVERNANCE_KIND_COMPUTE_QUOTA || other->off ||
            strcmp(other->cluster_uid, rule->cluster_uid) != 0)
            continue;
        kueue_quota_make(other, &g->instances, quota, ignored);
        kueue_quota_leave(left, quota, &g->instances);
    }
    if (left->count == 0)
        return; /* nobody could borrow it */
    autofree char *cohort = cohort_of(rule);
    const struct kueue_queue queue = {.team = KUEUE_IDLE, .cohort = cohort, .quota = left, .lends = true, .weight = -1};
    auto_json json_t *wanted = kueue_cluster_queue(g->version, &queue, rule->uid);
    bring(g, &(struct target){KUEUE_CLUSTER_QUEUE, KUEUE_IDLE, rule->uid, wanted}, answer);
    see_queue(g, KUEUE_IDLE, answer);
}

/* --- quotas --------------------------------------------------------------------------------------------------------- */

/* keeps: an amount has no number now, so what is there stays. */
static void bring_queues(struct kube_governing *g, const struct scheduler_rule *rule, const struct kueue_quota *quota,
                         bool keeps, struct scheduler_answer *answer)
{
    autofree char *cohort = cohort_of(rule);
    bool is_default = !rule->asked[SCHEDULER_PART_LENDING];
    const struct kueue_queue queue = {.team = rule->team,
                                      .cohort = cohort,
                                      .quota = quota,
                                      .lends = rule->lends || is_default,
                                      .preempts = rule->preempts || !rule->asked[SCHEDULER_PART_PREEMPTION],
                                      .weight = rule->weight};
    struct scheduler_answer one = {.outcome = SCHEDULER_OUTCOME_UNASKED};
    auto_json json_t *wanted = keeps ? NULL : kueue_cluster_queue(g->version, &queue, rule->uid),
                     *local = keeps ? NULL : kueue_local_queue(g->version, rule->team, rule->uid);
    bring(g, &(struct target){KUEUE_CLUSTER_QUEUE, rule->team, rule->uid, wanted}, answer);
    see_queue(g, rule->team, answer);
    bool is_held = held_find(g, KUEUE_LOCAL_QUEUE, rule->team) != NULL;
    bool failed = answer->outcome == SCHEDULER_OUTCOME_FAILED;
    if (failed && !is_held)
        return;   /* no queue to nowhere */
    if (failed) { /* the team's queue stays as it is */
        bring(g, &(struct target){KUEUE_LOCAL_QUEUE, rule->team, rule->uid, NULL}, &one);
        return;
    }
    if (keeps || !is_held || has_namespace(g, rule->team, rule->uid, &one))
        bring(g, &(struct target){KUEUE_LOCAL_QUEUE, rule->team, rule->uid, local}, &one);
    scheduler_join(answer, &one);
}

static void bring_quota(struct kube_governing *g, const struct scheduler_rule *rule, struct scheduler_answer *answer)
{
    autofree struct kueue_quota *quota = own_calloc(1, sizeof(*quota));
    char why[SCHEDULER_WHY_MAX];
    bool keeps = kueue_quota_make(rule, &g->instances, quota, why) != 0;
    struct scheduler_answer flavors = {.outcome = SCHEDULER_OUTCOME_UNASKED};
    if (keeps && held_find(g, KUEUE_CLUSTER_QUEUE, rule->team) == NULL) {
        scheduler_say(answer, SCHEDULER_OUTCOME_FAILED, "%s", why);
        return;
    }
    for (size_t i = 0; i < quota->count; i++) {
        struct scheduler_answer one = {.outcome = SCHEDULER_OUTCOME_UNASKED};
        const char *type = quota->flavors[i].type;
        auto_json json_t *wanted = keeps ? NULL : kueue_flavor(g->version, type, rule->uid);
        bring(g, &(struct target){KUEUE_FLAVOR, type, rule->uid, wanted}, &one);
        scheduler_join(&flavors, &one);
    }
    bring_queues(g, rule, quota, keeps, answer);
    scheduler_join(answer, &flavors);
    if (keeps)
        scheduler_say(answer, SCHEDULER_OUTCOME_FAILED, "%s; the team's queue stays as it is", why);
}

static void bring_rule(struct kube_governing *g, struct scheduler_rule *rule)
{
    struct scheduler_answer *answers = rule->answers;
    memset(rule->answers, 0, sizeof(rule->answers));
    if (rule->off)
        return;
    if (rule->kind == GOVERNANCE_KIND_SCHEDULER_CONFIG) {
        bring_classes(g, rule, &answers[SCHEDULER_PART_PRIORITY_CLASSES]);
        see_fair_share(g, rule->fair_share, &answers[SCHEDULER_PART_FAIR_SHARE]);
        bring_idle(g, rule, &answers[SCHEDULER_PART_IDLE_SHARING]);
    } else {
        bring_quota(g, rule, &answers[SCHEDULER_PART_RESOURCES]);
        /* The same object says them. */
        answers[SCHEDULER_PART_LENDING] = answers[SCHEDULER_PART_RESOURCES];
        answers[SCHEDULER_PART_PREEMPTION] = answers[SCHEDULER_PART_RESOURCES];
        answers[SCHEDULER_PART_WEIGHT] = answers[SCHEDULER_PART_RESOURCES];
        if (answers[SCHEDULER_PART_WEIGHT].outcome == SCHEDULER_OUTCOME_HOLDS)
            see_fair_share(g, true, &answers[SCHEDULER_PART_WEIGHT]);
    }
    scheduler_drop_unasked(rule);
}

/* --- taking back ---------------------------------------------------------------------------------------------------- */

/* True when it is there no more, or is somebody else's. Kueue keeps a queue until the last job in it has ended. */
static bool release(struct kube_governing *g, const struct governance_held *held, enum kueue_kind kind)
{
    struct scheduler_answer ignored;
    const json_t *there = find_object(g, kind, held->name);
    if (there == NULL || !is_ours(there, held))
        return true;
    const json_t *metadata = json_object_get(there, "metadata");
    if (kube_text(metadata, "deletionTimestamp")[0] != '\0')
        return false;
    autofree char *path = path_of(g, kind, held->name, true);
    auto_json json_t *body = json_pack("{s:s, s:s, s:{s:s}}", "apiVersion", "v1", "kind", "DeleteOptions",
                                       "preconditions", "uid", kube_text(metadata, "uid"));
    send(g, &(struct target){.kind = kind, .name = held->name},
         &(struct kube_request){.method = "DELETE", .path = path, .body = body}, &ignored);
    return false;
}

static void release_all(struct kube_governing *g)
{
    static const enum kueue_kind order[] = {KUEUE_LOCAL_QUEUE, KUEUE_CLUSTER_QUEUE, KUEUE_CLASS, KUEUE_FLAVOR};
    for (size_t o = 0; o < ARRAY_LEN(order); o++)
        for (size_t i = 0; i < g->pass.request->held_count; i++)
            if (g->pass.request->held[i].object == kueue_kinds[order[o]].object)
                g->pass.request->gone[i] = governing_is_left(&g->pass, &g->pass.request->held[i]) &&
                                           release(g, &g->pass.request->held[i], order[o]);
}

static const char *kind_of(enum governance_object object)
{
    for (int kind = 0; kind < KUEUE_KIND_COUNT; kind++)
        if (kueue_kinds[kind].object == object)
            return kueue_kinds[kind].kind;
    return governance_object_text(object);
}

/* A quota that is switched off is so when all that was made for it has gone. */
static void see_off(const struct kube_governing *g, struct scheduler_rule *rule)
{
    const struct scheduler_governance *request = g->pass.request;
    for (size_t i = 0; rule->off && i < request->held_count; i++) {
        const struct governance_held *held = &request->held[i];
        struct scheduler_answer one;
        if (strcmp(held->mark, rule->uid) != 0 || !governing_is_left(&g->pass, held) || request->gone[i])
            continue;
        const struct scheduler_answer *refusal = governing_refusal(&g->pass, held->object, held->name);
        if (refusal != NULL)
            one = *refusal;
        else
            scheduler_say(&one, SCHEDULER_OUTCOME_LATER,
                          "Kueue's %s for %s is to go; a queue stays until the last job in it has ended",
                          kind_of(held->object), held->name);
        scheduler_join(&rule->answers[SCHEDULER_PART_RESOURCES], &one);
    }
}

/* --- all of it ------------------------------------------------------------------------------------------------------ */

static void pass(struct kube_governing *g)
{
    governing_begin_pass(&g->pass);
    for (size_t i = 0; i < g->pass.request->count; i++)
        bring_rule(g, &g->pass.request->rules[i]);
    release_all(g);
    for (size_t i = 0; i < g->pass.request->count; i++)
        see_off(g, &g->pass.request->rules[i]);
}

static int find_version(struct kube_governing *g)
{
    auto_json json_t *group = NULL;
    int status = kube_get(g->call, "/apis/" KUEUE_GROUP, &group);
    if (status == STATUS_NOT_FOUND)
        return kube_call_fail(g->call, STATUS_UNSUPPORTED,
                              "Kubernetes has no Kueue (" KUEUE_GROUP
                              "), which carries out quotas and priorities; install it");
    if (status == 0 && (g->version = kueue_version(group)) == NULL)
        return kube_call_fail(g->call, STATUS_UNSUPPORTED,
                              "Kueue serves neither " KUEUE_GROUP "/v1beta2 nor v1beta1; install Kueue 0.12 or later");
    return status;
}

static void count_node(const void *kept, void *arg)
{
    kueue_instances_add(arg, kept);
}

/* A missing right is no matter of waiting: each rule says it. */
static void say_denied(struct kube_governing *g)
{
    for (size_t i = 0; i < g->pass.request->count; i++) {
        struct scheduler_rule *rule = &g->pass.request->rules[i];
        memset(rule->answers, 0, sizeof(rule->answers));
        for (int part = 0; part < SCHEDULER_PART_COUNT; part++)
            if (rule->asked[part])
                scheduler_say(&rule->answers[part], SCHEDULER_OUTCOME_FAILED, "%s", g->call->error);
    }
    g->pass.request->wanted_count = 0;
}

int kube_govern(struct scheduler *s, struct scheduler_governance *governance, char *ret_error)
{
    struct kube_call call;
    kube_call_start(&call, s->client, ret_error);
    struct kube_governing g = {.call = &call};
    governing_begin(&g.pass, governance, "Kueue", kube_call_left_ms(&call));
    int status = find_version(&g);
    if (status == 0)
        status = kube_caches(s, &call);
    if (status == 0)
        kube_cache_each(s->nodes, count_node, &g.instances);
    if (status == 0 && (status = look(&g)) == 0)
        pass(&g);
    if (status == 0 && g.pass.changes > 0) {
        g.pass.settled = !governance->more;
        status = look(&g);
        if (status == 0)
            pass(&g);
    }
    if (status == STATUS_DENIED) {
        say_denied(&g);
        status = 0;
    }
    free_lists(&g);
    free(g.instances.list);
    governing_end(&g.pass);
    return status;
}
