/*
 * What Kubernetes shows of its nodes. A look is a small request, which proves that the server and its store answer, and a copy of what
 * the watches keep; so it costs the same for five nodes and for five thousand.
 *
 * A node that a person has uncordoned is given back as a whole: our taint, label and annotation go with the next look.
 */
#include "server/scheduler/kubernetes/private.h"

#include "base/clock.h"
#include "base/map.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

#define LIFTED_MAX 16 /* given back in one look */

/* --- what is kept --------------------------------------------------------------------------------------------------- */

static void *read_node(const json_t *object)
{
    struct kube_node node;
    if (kube_node_read(object, &node) != 0)
        return NULL;
    struct kube_node *kept = own_calloc(1, sizeof(*kept));
    *kept = node;
    return kept;
}

static uint64_t node_version(const void *kept)
{
    return ((const struct kube_node *)kept)->version;
}

static void *read_pod(const json_t *object)
{
    struct kube_pod pod;
    if (kube_pod_read(object, &pod) != 0 || !kube_pod_counts(&pod) || pod.node[0] == '\0')
        return NULL;
    const char *job = pod.group[0] != '\0' ? pod.group : pod.owner[0] != '\0' ? pod.owner : pod.name;
    size_t node = strlen(pod.node) + 1, space = strlen(pod.space) + 1;
    struct kube_held *kept = own_calloc(1, sizeof(*kept) + node + space + strlen(job) + 1);
    kept->version = pod.version;
    kept->space = node;
    kept->job = node + space;
    memcpy(kept->node, pod.node, node);
    memcpy(kept->node + kept->space, pod.space, space);
    memcpy(kept->node + kept->job, job, strlen(job) + 1);
    return kept;
}

static uint64_t pod_version(const void *kept)
{
    return ((const struct kube_held *)kept)->version;
}

int kube_caches(struct scheduler *s, struct kube_call *call)
{
    static const struct kube_cache_kind nodes = {
        .path = "/api/v1/nodes", .query = "", .read = read_node, .version = node_version};
    static const struct kube_cache_kind pods = {
        .path = "/api/v1/pods",
        .query = "fieldSelector=spec.nodeName%21%3D%2Cstatus.phase%21%3DSucceeded%2Cstatus.phase%21%3DFailed",
        .read = read_pod,
        .version = pod_version};
    pthread_mutex_lock(&s->lock);
    if (s->nodes == NULL) {
        s->nodes = kube_cache_new(s->client, &nodes);
        s->pods = kube_cache_new(s->client, &pods);
    }
    pthread_mutex_unlock(&s->lock);
    int status = kube_cache_ready(s->nodes, call);
    return status != 0 ? status : kube_cache_ready(s->pods, call);
}

/* --- one node ------------------------------------------------------------------------------------------------------- */

bool kube_node_is_better(const struct kube_node *a, const struct kube_node *b)
{
    if (a->deleting != b->deleting)
        return !a->deleting;
    if (a->ready != b->ready)
        return a->ready;
    return a->created_at != b->created_at ? a->created_at > b->created_at : strcmp(a->object, b->object) > 0;
}

struct search {
    const char *name;
    struct kube_node best;
    bool found;
};

static void find_node(const void *kept, void *arg)
{
    struct search *search = arg;
    const struct kube_node *node = kept;
    if (strcmp(node->name, search->name) != 0 || (search->found && !kube_node_is_better(node, &search->best)))
        return;
    search->best = *node;
    search->found = true;
}

int kube_find(struct scheduler *s, struct kube_call *call, const char *name, struct kube_node *ret_node)
{
    struct search search = {.name = name};
    int status = kube_caches(s, call);
    if (status != 0)
        return status;
    kube_cache_each(s->nodes, find_node, &search);
    if (!search.found)
        return kube_call_fail(call, STATUS_NOT_FOUND, "Kubernetes has no node %s", name);
    *ret_node = search.best;
    return 0;
}

static char *node_path(const struct kube_node *node)
{
    autofree char *name = kube_escape(node->object);
    return own_printf("/api/v1/nodes/%s", name);
}

int kube_look(struct scheduler *s, struct kube_call *call, const char *name, json_t **ret_json,
              struct kube_node *ret_node)
{
    auto_json json_t *json = NULL;
    struct kube_node node;
    int status = kube_find(s, call, name, &node);
    if (status != 0)
        return status;
    autofree char *path = node_path(&node);
    status = kube_get(call, path, &json);
    if (status != 0)
        return status;
    if (kube_node_read(json, ret_node) != 0)
        return kube_call_fail(call, STATUS_BACKEND, "Kubernetes shows a node that cannot be read: %s", name);
    kube_cache_put(s->nodes, json);
    *ret_json = TAKE(json);
    return 0;
}

int kube_patch_node(struct scheduler *s, struct kube_call *call, const struct kube_node *node, const char *type,
                    const json_t *patch, struct kube_node *ret_node)
{
    auto_json json_t *json = NULL;
    autofree char *path = node_path(node);
    autofree char *whole = own_printf("%s?fieldManager=" KUBE_FIELD_MANAGER, path);
    int status = kube_ask(
        call, &(struct kube_request){.method = "PATCH", .path = whole, .content_type = type, .body = patch}, &json);
    if (status != 0)
        return status;
    if (kube_node_read(json, ret_node) != 0)
        return kube_call_fail(call, STATUS_BACKEND, "Kubernetes answered a patch of %s with what is no node",
                              node->object);
    kube_cache_put(s->nodes, json);
    return 0;
}

/* --- all nodes ------------------------------------------------------------------------------------------------------ */

struct snapshot {
    struct kube_node *nodes; /* the best one of each name */
    size_t count, capacity;
    struct map *places; /* name → its number in nodes, and 1 */
    struct map *busy;   /* objects */
};

static void take_node(const void *kept, void *arg)
{
    struct snapshot *snapshot = arg;
    const struct kube_node *node = kept;
    if (node->name[0] == '\0')
        return;
    struct kube_node *same = map_get(snapshot->places, node->name);
    if (same != NULL) {
        size_t at = (size_t)(uintptr_t)same - 1;
        if (kube_node_is_better(node, &snapshot->nodes[at]))
            snapshot->nodes[at] = *node;
        return;
    }
    if (snapshot->count == snapshot->capacity) {
        snapshot->capacity = snapshot->capacity == 0 ? 64 : 2 * snapshot->capacity;
        snapshot->nodes = own_realloc(snapshot->nodes, snapshot->capacity, sizeof(*snapshot->nodes));
    }
    snapshot->nodes[snapshot->count++] = *node;
    map_set(snapshot->places, node->name, (void *)(uintptr_t)snapshot->count); /* NOLINT: a number, not an address */
}

static void take_pod(const void *kept, void *arg)
{
    struct snapshot *snapshot = arg;
    map_set(snapshot->busy, ((const struct kube_held *)kept)->node, snapshot);
}

static void take_all(struct scheduler *s, struct snapshot *snapshot)
{
    *snapshot = (struct snapshot){.places = map_new(), .busy = map_new()};
    kube_cache_each(s->nodes, take_node, snapshot);
    kube_cache_each(s->pods, take_pod, snapshot);
}

static void free_all(struct snapshot *snapshot)
{
    map_free(snapshot->places);
    map_free(snapshot->busy);
    free(snapshot->nodes);
}

static size_t add_word(struct text *words, const char *word)
{
    if (word[0] == '\0')
        return 0;
    size_t at = words->len;
    text_add_bytes(words, word, strlen(word) + 1);
    return at;
}

static void show_node(const struct kube_node *node, bool busy, struct text *words, struct scheduler_node *seen)
{
    bool cordoned = kube_node_is_cordoned(node);
    char features[2 * KUBE_WORD_MAX_BYTES + 1];
    *seen = (struct scheduler_node){.responding = node->ready,
                                    .down = !node->ready,
                                    .schedulable = node->ready && !cordoned && !node->deleting &&
                                                   (!node->tainted || kube_node_is_lifted(node)),
                                    .drained = cordoned,
                                    .busy = busy,
                                    .annotated = node->hint[0] != '\0',
                                    .cpus = node->cpus,
                                    .memory_mib = node->memory_mib};
    text_copy_cut(seen->name, sizeof(seen->name), node->name);
    snprintf(seen->state, sizeof(seen->state), "%s%s%s", node->ready ? "Ready" : "NotReady",
             node->unschedulable ? ",SchedulingDisabled" : "", node->deleting ? ",Deleting" : "");
    kube_node_reason(node, seen->reason);
    if (cordoned) {
        seen->request = kube_health_request(node->health);
        seen->ours = node->ours && seen->request == SCHEDULER_REQUEST_NONE && node->external[0] == '\0';
        seen->note = sizeof(KUBE_REASON_OURS) - 1;
        text_copy_cut(seen->reason_user, sizeof(seen->reason_user), node->manager);
        seen->reason_at = node->managed_at;
    }
    snprintf(features, sizeof(features), "%s%s%s", node->type,
             node->type[0] != '\0' && node->zone[0] != '\0' ? "," : "", node->zone);
    seen->partitions = add_word(words, node->group);
    seen->features = add_word(words, features);
    seen->gres = add_word(words, node->gres);
    seen->address = add_word(words, node->address);
    seen->host = add_word(words, node->host);
}

/* A person's uncordon ends ours. What cannot be done now is done by the next look. */
static void give_back(struct scheduler *s, struct kube_call *call, const struct snapshot *snapshot)
{
    char error[SCHEDULER_ERROR_MAX];
    struct kube_call aside = *call;
    aside.error = error;
    int left = LIFTED_MAX;
    for (size_t i = 0; i < snapshot->count && left > 0; i++) {
        auto_json json_t *json = NULL;
        struct kube_node node;
        if (!kube_node_is_lifted(&snapshot->nodes[i]) || left-- == 0 ||
            kube_look(s, &aside, snapshot->nodes[i].name, &json, &node) != 0 || !kube_node_is_lifted(&node))
            continue;
        auto_json json_t *patch = kube_uncordon_patch(json, &node);
        (void)kube_patch_node(s, &aside, &node, KUBE_MERGE_PATCH, patch, &node);
    }
}

/* The server and its store answer; what it is, once. */
static int ping(struct scheduler *s, struct kube_call *call)
{
    auto_json json_t *version = NULL;
    int status = kube_get(call, "/api/v1/nodes?limit=1", NULL);
    pthread_mutex_lock(&s->lock);
    bool known = s->release[0] != '\0';
    pthread_mutex_unlock(&s->lock);
    if (status != 0 || known)
        return status;
    status = kube_get(call, "/version", &version);
    if (status != 0)
        return status;
    pthread_mutex_lock(&s->lock);
    text_copy_cut(s->release, sizeof(s->release), kube_text(version, "gitVersion"));
    pthread_mutex_unlock(&s->lock);
    return 0;
}

int kube_observe(struct scheduler *s, struct scheduler_observation *ret_observation, char *ret_error)
{
    struct kube_call call;
    struct snapshot snapshot;
    struct text words = {0};
    kube_call_start(&call, s->client, ret_error);
    int64_t at_ms = clock_wall_ms(clock_system());
    int status = ping(s, &call);
    if (status == 0)
        status = kube_caches(s, &call);
    if (status != 0)
        return status;
    take_all(s, &snapshot);
    text_add_bytes(&words, "", 1);
    struct scheduler_node *nodes = own_calloc(snapshot.count + 1, sizeof(*nodes));
    for (size_t i = 0; i < snapshot.count; i++)
        show_node(&snapshot.nodes[i], map_get(snapshot.busy, snapshot.nodes[i].object) != NULL, &words, &nodes[i]);
    give_back(s, &call, &snapshot);
    *ret_observation = (struct scheduler_observation){
        .at_ms = at_ms, .nodes = nodes, .count = snapshot.count, .words = text_take(&words)};
    free_all(&snapshot);
    return 0;
}

/* --- topology ------------------------------------------------------------------------------------------------------- */

static void add_place(struct scheduler_place *places, size_t *count, const struct kube_node *node,
                      enum topology_level level, const char *domain)
{
    if (domain[0] == '\0')
        return;
    struct scheduler_place *place = &places[(*count)++];
    *place = (struct scheduler_place){.level = level};
    text_copy_cut(place->node, sizeof(place->node), node->name);
    text_copy_cut(place->domain, sizeof(place->domain), domain);
}

/* The network layer next to the node is its switch: the third of AWS's, where there are three. */
int kube_places(struct scheduler *s, struct scheduler_place **ret_places, size_t *ret_count, char *ret_error)
{
    struct kube_call call;
    struct snapshot snapshot;
    size_t count = 0;
    kube_call_start(&call, s->client, ret_error);
    int status = kube_caches(s, &call);
    if (status != 0)
        return status;
    take_all(s, &snapshot);
    struct scheduler_place *places = own_calloc(2 * snapshot.count + 1, sizeof(*places));
    for (size_t i = 0; i < snapshot.count; i++) {
        const struct kube_node *node = &snapshot.nodes[i];
        add_place(places, &count, node, TOPOLOGY_LEVEL_SWITCH, node->layers[2]);
        add_place(places, &count, node, TOPOLOGY_LEVEL_ULTRASERVER, node->ultraserver);
    }
    free_all(&snapshot);
    *ret_places = places;
    *ret_count = count;
    return 0;
}

/* --- machines that are gone ------------------------------------------------------------------------------------------ */

struct instance_search {
    const char *name, *instance_id;
    struct kube_node node;
    bool found;
};

/* The node of this machine: by its provider id, or named after it. A node that is named after the slot stays for the next machine. */
static void find_instance(const void *kept, void *arg)
{
    struct instance_search *search = arg;
    const struct kube_node *node = kept;
    bool named_after = strcmp(node->name, search->name) == 0 && text_ends_with(node->object, search->instance_id);
    if (strcmp(node->instance, search->instance_id) != 0 && !named_after)
        return;
    search->node = *node;
    search->found = true;
}

static int out_of_service(struct scheduler *s, struct kube_call *call, const struct kube_node *node)
{
    auto_json json_t *json = NULL;
    struct kube_node after;
    autofree char *path = node_path(node);
    int status = kube_get(call, path, &json);
    if (status != 0)
        return status;
    auto_json json_t *patch = kube_out_of_service_patch(json);
    return patch == NULL ? 0 : kube_patch_node(s, call, node, KUBE_MERGE_PATCH, patch, &after);
}

/* The taint first: it stands there if hpd dies before the node is deleted. A change of others in between is tried again by the caller. */
int kube_machine_gone(struct scheduler *s, const char *node, const char *instance_id, char *ret_error)
{
    struct kube_call call;
    struct instance_search search = {.name = node, .instance_id = instance_id};
    kube_call_start(&call, s->client, ret_error);
    int status = kube_caches(s, &call);
    if (status != 0)
        return status;
    kube_cache_each(s->nodes, find_instance, &search);
    if (!search.found)
        return 0;
    status = out_of_service(s, &call, &search.node);
    auto_json json_t *body = json_pack("{s:s, s:s, s:{s:s}}", "apiVersion", "v1", "kind", "DeleteOptions",
                                       "preconditions", "uid", search.node.uid);
    autofree char *path = node_path(&search.node);
    if (status == 0)
        status = kube_ask(&call, &(struct kube_request){.method = "DELETE", .path = path, .body = body}, NULL);
    return status == STATUS_NOT_FOUND ? 0 : status == STATUS_CONFLICT ? STATUS_UNAVAILABLE : status;
}
