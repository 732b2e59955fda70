/*
 * Labels and taints of a group's nodes: those that people want, and HyperPod's labels by which jobs choose nodes. What we set stands in an
 * annotation of the node, in the same patch, with the value that we gave it; so only that is ever changed or taken away again.
 *
 * A label that somebody else has set stays as it is. Of ours, one that people want is set again when it was changed; one that only we
 * want is given up to whoever changed it.
 */
#include "server/scheduler/kubernetes/private.h"

#include "base/hash.h"
#include "base/map.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define CHANGES_MAX 32 /* looks at single nodes in one call */
#define COMPUTE_TYPE "hyperpod"

/* --- what we want --------------------------------------------------------------------------------------------------- */

/* What a label's value cannot have becomes a hyphen. */
static void legal(const char *word, char ret_value[KUBE_WORD_MAX_BYTES])
{
    size_t len = 0;
    while (*word != '\0' && !(isascii((unsigned char)*word) && isalnum((unsigned char)*word)))
        word++;
    for (; *word != '\0' && len + 1 < KUBE_WORD_MAX_BYTES; word++)
        ret_value[len++] =
            (isascii((unsigned char)*word) && isalnum((unsigned char)*word)) || strchr("-_.", *word) != NULL ? *word
                                                                                                             : '-';
    while (len > 0 && !isalnum((unsigned char)ret_value[len - 1]))
        len--;
    ret_value[len] = '\0';
}

static void put_label(json_t *labels, const char *key, const char *word)
{
    char value[KUBE_WORD_MAX_BYTES];
    legal(word, value);
    if (value[0] != '\0')
        json_object_set_new(labels, key, json_string(value));
}

/* The layers of AWS's network, the third next to the node: here its zone, its rack and its switch. */
json_t *kube_labels_ours(const struct labels_group *group, const struct labels_node *node)
{
    static const struct {
        enum topology_level level;
        const char *key;
    } places[] = {{TOPOLOGY_LEVEL_ZONE, "topology.k8s.aws/network-node-layer-1"},
                  {TOPOLOGY_LEVEL_RACK, "topology.k8s.aws/network-node-layer-2"},
                  {TOPOLOGY_LEVEL_SWITCH, "topology.k8s.aws/network-node-layer-3"},
                  {TOPOLOGY_LEVEL_ULTRASERVER, "topology.k8s.aws/ultraserver-id"}};
    static const char *const tests[] = {
        [LABELS_TEST_RUNNING] = "InProgress", [LABELS_TEST_PASSED] = "Passed", [LABELS_TEST_FAILED] = "Failed"};
    json_t *labels = json_object();
    put_label(labels, KUBE_HYPERPOD "compute-type", COMPUTE_TYPE);
    put_label(labels, KUBE_HYPERPOD "cluster-name", group->cluster);
    put_label(labels, KUBE_GROUP_LABEL, group->name);
    if (node->test != LABELS_TEST_NONE)
        put_label(labels, KUBE_HYPERPOD "deep-health-check-status", tests[node->test]);
    for (size_t i = 0; i < ARRAY_LEN(places); i++)
        put_label(labels, places[i].key, node->domains[places[i].level]);
    return json_pack("{s:o}", "labels", labels);
}

/* --- one node ------------------------------------------------------------------------------------------------------- */

struct work {
    const json_t *before;         /* what we had set */
    const json_t *labels;         /* the node's */
    json_t *changes, *set, *kept; /* of labels; what is ours from now on; the node's taints from now on */
    json_t *set_taints;
    bool taints_changed;
    struct kube_carried *carried;
};

static void conflict(struct work *work, const char *what, const char *key, const char *value)
{
    autofree char *text = own_printf("%s %s is set to \"%s\" by somebody else", what, key, value);
    if (work->carried->conflict[0] == '\0')
        text_copy_clean(work->carried->conflict, sizeof(work->carried->conflict), text, strlen(text));
}

static void want_label(struct work *work, const char *key, const char *value, bool of_people)
{
    const char *now = json_string_value(json_object_get(work->labels, key));
    const char *set = json_string_value(json_object_get(json_object_get(work->before, "labels"), key));
    bool is_others = now != NULL && strcmp(now, value) != 0 && (set == NULL || (!of_people && strcmp(now, set) != 0));
    if (is_others) {
        if (of_people)
            conflict(work, "label", key, now);
        return;
    }
    if (now == NULL || strcmp(now, value) != 0)
        json_object_set_new(work->changes, key, json_string(value));
    else if (set == NULL)
        return; /* it was there */
    json_object_set_new(work->set, key, json_string(value));
}

static void want_labels(struct work *work, const struct kube_wanted *wanted)
{
    const char *key;
    json_t *value;
    const json_t *people = json_object_get(wanted->people, "labels");
    json_object_foreach((json_t *)(uintptr_t)people, key, value) want_label(work, key, json_string_value(value), true);
    json_object_foreach(json_object_get(wanted->ours, "labels"), key, value) if (json_object_get(people, key) == NULL)
        want_label(work, key, json_string_value(value), false);
    /* Ours that nobody wants any more, unless somebody has changed it meanwhile. */
    json_object_foreach(json_object_get(work->before, "labels"), key, value)
    {
        const json_t *now = json_object_get(work->labels, key);
        if (json_object_get(people, key) == NULL &&
            json_object_get(json_object_get(wanted->ours, "labels"), key) == NULL && now != NULL &&
            json_equal(now, value))
            json_object_set_new(work->changes, key, json_null());
    }
}

static const json_t *find_taint(const json_t *taints, const json_t *like)
{
    for (size_t i = 0; i < json_array_size(taints); i++) {
        const json_t *one = json_array_get(taints, i);
        if (strcmp(kube_text(one, "key"), kube_text(like, "key")) == 0 &&
            strcmp(kube_text(one, "effect"), kube_text(like, "effect")) == 0)
            return one;
    }
    return NULL;
}

static bool is_same_value(const json_t *a, const json_t *b)
{
    return strcmp(kube_text(a, "value"), kube_text(b, "value")) == 0;
}

static void append(json_t *list, const json_t *item)
{
    json_array_append(list, (json_t *)(uintptr_t)item);
}

/* A taint that the node has: of others, of ours, or of ours and wanted no more. */
static void sort_taint(struct work *work, const json_t *taint, const json_t *wanted)
{
    const json_t *want = find_taint(wanted, taint), *set = find_taint(json_object_get(work->before, "taints"), taint);
    if (want == NULL && set != NULL && is_same_value(taint, set)) {
        work->taints_changed = true;
        return;
    }
    bool is_replaced = want != NULL && set != NULL && !is_same_value(taint, want);
    append(work->kept, is_replaced ? want : taint);
    work->taints_changed = work->taints_changed || is_replaced;
    if (want != NULL && set != NULL)
        append(work->set_taints, want);
    else if (want != NULL && !is_same_value(taint, want))
        conflict(work, "taint", kube_text(taint, "key"), kube_text(taint, "value"));
}

static void want_taints(struct work *work, const json_t *there, const json_t *wanted)
{
    for (size_t i = 0; i < json_array_size(there); i++)
        sort_taint(work, json_array_get(there, i), wanted);
    for (size_t i = 0; i < json_array_size(wanted); i++) {
        const json_t *want = json_array_get(wanted, i);
        if (find_taint(there, want) != NULL)
            continue;
        append(work->kept, want);
        append(work->set_taints, want);
        work->taints_changed = true;
    }
}

/* Of what people want, what the node has now. */
static char *current_of(const struct work *work, const json_t *people)
{
    const char *key;
    json_t *value;
    auto_json json_t *labels = json_object(), *taints = json_array();
    const json_t *wanted = json_object_get(people, "taints");
    json_object_foreach(json_object_get(people, "labels"), key, value)
    {
        json_t *now = json_object_get(work->changes, key);
        now = now != NULL ? now : json_object_get(work->labels, key);
        if (json_is_string(now))
            json_object_set(labels, key, now);
    }
    for (size_t i = 0; i < json_array_size(wanted); i++) {
        const json_t *now = find_taint(work->kept, json_array_get(wanted, i));
        json_t *shown = json_object();
        json_put_text(shown, "key", kube_text(now, "key"));
        json_put_text(shown, "value", kube_text(now, "value"));
        json_put_text(shown, "effect", kube_text(now, "effect"));
        json_array_append_new(taints, shown);
    }
    if (json_object_size(labels) == 0 && json_array_size(taints) == 0)
        return own_strdup("");
    auto_json json_t *current = json_pack("{s:O, s:O}", "labels", labels, "taints", taints);
    return json_dumps(current, JSON_COMPACT);
}

/* What is ours from now on, as the annotation has it; NULL: nothing is. */
static char *annotation_of(const struct work *work)
{
    if (json_object_size(work->set) == 0 && json_array_size(work->set_taints) == 0)
        return NULL;
    auto_json json_t *set = json_object();
    if (json_object_size(work->set) > 0)
        json_object_set(set, "labels", work->set);
    if (json_array_size(work->set_taints) > 0)
        json_object_set(set, "taints", work->set_taints);
    return json_dumps(set, JSON_COMPACT | JSON_SORT_KEYS);
}

static json_t *patch_of(struct work *work, const json_t *json)
{
    const json_t *metadata = json_object_get(json, "metadata");
    const char *before = kube_text(json_object_get(metadata, "annotations"), KUBE_GROUP_ANNOTATION);
    autofree char *after = annotation_of(work);
    if (json_object_size(work->changes) == 0 && !work->taints_changed && text_equal(before, after == NULL ? "" : after))
        return NULL;
    json_t *patch = json_pack("{s:{s:s, s:O, s:{s:o}}}", "metadata", "resourceVersion",
                              kube_text(metadata, "resourceVersion"), "labels", work->changes, "annotations",
                              KUBE_GROUP_ANNOTATION, after == NULL ? json_null() : json_string(after));
    if (work->taints_changed)
        json_object_set_new(
            patch, "spec",
            json_pack("{s:o}", "taints", json_array_size(work->kept) == 0 ? json_null() : json_incref(work->kept)));
    return patch;
}

json_t *kube_labels_patch(const json_t *json, const struct kube_wanted *wanted, struct kube_carried *ret_carried)
{
    const json_t *metadata = json_object_get(json, "metadata");
    auto_json json_t *before =
        json_loads(kube_text(json_object_get(metadata, "annotations"), KUBE_GROUP_ANNOTATION), 0, NULL);
    auto_json json_t *changes = json_object(), *set = json_object(), *kept = json_array(), *set_taints = json_array();
    struct work work = {.before = before,
                        .labels = json_object_get(metadata, "labels"),
                        .changes = changes,
                        .set = set,
                        .kept = kept,
                        .set_taints = set_taints,
                        .carried = ret_carried};
    *ret_carried = (struct kube_carried){0};
    want_labels(&work, wanted);
    want_taints(&work, kube_at(json, "spec", "taints"), json_object_get(wanted->people, "taints"));
    ret_carried->current = current_of(&work, wanted->people);
    return patch_of(&work, json);
}

/* --- all nodes ------------------------------------------------------------------------------------------------------ */

/* The best node of each name, as far as it counts here. */
struct found {
    struct kube_node best;
    bool is_there;
};
struct finding {
    const struct scheduler_labels *labels;
    struct map *places; /* name → its number in labels, and 1 */
    struct found *found;
};

static void find_node(const void *kept, void *arg)
{
    struct finding *finding = arg;
    const struct kube_node *node = kept;
    size_t at = (size_t)(uintptr_t)map_get(finding->places, node->name);
    if (at == 0 || node->deleting)
        return;
    struct found *found = &finding->found[at - 1];
    if (found->is_there && !kube_node_is_better(node, &found->best))
        return;
    found->best = *node;
    found->is_there = true;
}

static uint64_t number_of(const struct kube_node *node, const struct labels_node *wanted, uint64_t group)
{
    uint64_t number = hash_number(group, node->marks);
    for (int level = 0; level < TOPOLOGY_LEVEL_COUNT; level++)
        number = hash_text(number, wanted->domains[level]);
    number = hash_number(hash_text(number, node->uid), (uint64_t)wanted->test);
    return number == 0 ? 1 : number;
}

struct keeping {
    struct scheduler *s;
    struct kube_call *call;
    struct scheduler_labels *labels;
    json_t **people;  /* of each group */
    uint64_t *groups; /* a number for each */
    int changes_left;
};

/* CONFLICT: somebody else changed it in between. The next call tries again. */
static int keep_one(struct keeping *keeping, struct labels_node *wanted, const char *object)
{
    auto_json json_t *json = NULL;
    struct kube_node node;
    struct kube_carried carried;
    autofree char *name = kube_escape(object);
    autofree char *path = own_printf("/api/v1/nodes/%s", name);
    int status = kube_get(keeping->call, path, &json);
    if (status != 0)
        return status;
    if (kube_node_read(json, &node) != 0)
        return kube_call_fail(keeping->call, STATUS_BACKEND, "Kubernetes shows a node that cannot be read: %s", object);
    auto_json json_t *ours = kube_labels_ours(&keeping->labels->groups[wanted->group], wanted);
    const struct kube_wanted all = {.people = keeping->people[wanted->group], .ours = ours};
    auto_json json_t *patch = kube_labels_patch(json, &all, &carried);
    status = patch == NULL ? 0 : kube_patch_node(keeping->s, keeping->call, &node, KUBE_MERGE_PATCH, patch, &node);
    if (status == 0) {
        wanted->looked = true;
        wanted->number = number_of(&node, wanted, keeping->groups[wanted->group]);
        wanted->current = TAKE(carried.current);
        memcpy(wanted->conflict, carried.conflict, sizeof(wanted->conflict));
    }
    free(carried.current);
    return status;
}

static int keep_all(struct keeping *keeping, const struct found *found)
{
    struct scheduler_labels *labels = keeping->labels;
    for (size_t i = 0; i < labels->count; i++) {
        struct labels_node *wanted = &labels->nodes[i];
        if (!found[i].is_there)
            continue;
        wanted->number = number_of(&found[i].best, wanted, keeping->groups[wanted->group]);
        if (wanted->number == wanted->known)
            continue;
        wanted->number = 0;
        if (keeping->changes_left == 0 || kube_call_left_ms(keeping->call) == 0) {
            labels->left++;
            continue;
        }
        keeping->changes_left--;
        int status = keep_one(keeping, wanted, found[i].best.object);
        labels->left += status == STATUS_CONFLICT;
        if (status != 0 && status != STATUS_CONFLICT && status != STATUS_NOT_FOUND)
            return status;
    }
    return 0;
}

static void read_groups(struct keeping *keeping)
{
    const struct scheduler_labels *labels = keeping->labels;
    keeping->people = own_calloc(labels->group_count + 1, sizeof(*keeping->people));
    keeping->groups = own_calloc(labels->group_count + 1, sizeof(*keeping->groups));
    for (size_t i = 0; i < labels->group_count; i++) {
        const struct labels_group *group = &labels->groups[i];
        autofree char *text = kubernetes_spec_write(&group->wanted);
        keeping->people[i] = json_loads(text, 0, NULL);
        keeping->groups[i] = hash_text(hash_text(hash_text(HASH_BASIS, text), group->cluster), group->name);
    }
}

int kube_keep_labels(struct scheduler *s, struct scheduler_labels *labels, char *ret_error)
{
    struct kube_call call;
    kube_call_start(&call, s->client, ret_error);
    int status = kube_caches(s, &call);
    if (status != 0)
        return status;
    struct keeping keeping = {.s = s, .call = &call, .labels = labels, .changes_left = CHANGES_MAX};
    struct finding finding = {.labels = labels, .places = map_new()};
    finding.found = own_calloc(labels->count + 1, sizeof(*finding.found));
    for (size_t i = 0; i < labels->count; i++)
        map_set(finding.places, labels->nodes[i].name, (void *)(uintptr_t)(i + 1)); /* NOLINT: a number */
    kube_cache_each(s->nodes, find_node, &finding);
    read_groups(&keeping);
    status = keep_all(&keeping, finding.found);
    for (size_t i = 0; i < labels->group_count; i++)
        json_decref(keeping.people[i]);
    free(keeping.people);
    free(keeping.groups);
    free(finding.found);
    map_free(finding.places);
    return status;
}
