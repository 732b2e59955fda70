/*
 * Faults of a node in HyperPod's words: labels, the annotation with the last of them, conditions, and a Kubernetes Event with the sentence
 * of the decision. Which conditions are ours stands in an annotation of ours, so that nobody else's is touched. Every step is safe to
 * repeat: an Event has its name from the fault.
 */
#include "server/scheduler/kubernetes/private.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"
#include "model/hyperpod_words.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define TYPES_LABEL KUBE_HYPERPOD "fault-types"
#define REASONS_LABEL KUBE_HYPERPOD "fault-reasons"
#define DETAILS_ANNOTATION KUBE_HYPERPOD "fault-details"
#define OURS_ANNOTATION "holdfast/fault-types" /* the conditions that we set, joined */
#define DETAILS_MAX 20
#define TRIES_MAX 5

/* --- words ---------------------------------------------------------------------------------------------------------- */

void kube_fault_type(const struct scheduler_fault *fault, char ret_type[KUBE_WORD_MAX_BYTES])
{
    _Static_assert(KUBE_WORD_MAX_BYTES == HYPERPOD_WORD_MAX_BYTES, "one word");
    hyperpod_fault_type(fault->code, fault->replaces, ret_type);
}

void kube_fault_reason(const struct scheduler_fault *fault, char ret_reason[KUBE_WORD_MAX_BYTES])
{
    hyperpod_fault_reason(fault->code, ret_reason);
}

typedef void (*word_fn)(const struct scheduler_fault *fault, char ret_word[KUBE_WORD_MAX_BYTES]);

/* Each word once, as long as a label's value has room for it whole: "NvidiaErrorReboot_EfaErrorReboot". */
static void join(const struct scheduler_faults *faults, word_fn fn, char ret_value[KUBE_WORD_MAX_BYTES])
{
    char word[KUBE_WORD_MAX_BYTES], bounded[KUBE_WORD_MAX_BYTES + 2], whole[KUBE_WORD_MAX_BYTES + 2];
    ret_value[0] = '\0';
    for (size_t i = 0; i < faults->count; i++) {
        size_t len = strlen(ret_value);
        fn(&faults->list[i], word);
        snprintf(bounded, sizeof(bounded), "_%s_", word);
        snprintf(whole, sizeof(whole), "_%s_", ret_value);
        if (strstr(whole, bounded) == NULL && len + strlen(word) + 2 <= KUBE_WORD_MAX_BYTES)
            snprintf(ret_value + len, KUBE_WORD_MAX_BYTES - len, "%s%s", len > 0 ? "_" : "", word);
    }
}

/* --- labels and annotations ----------------------------------------------------------------------------------------- */

static bool has_detail(const json_t *details, const json_t *detail)
{
    for (size_t i = 0; i < json_array_size(details); i++)
        if (json_equal(json_array_get(details, i), detail))
            return true;
    return false;
}

static json_t *details_of(const json_t *annotations, const struct scheduler_faults *faults)
{
    char at[CLOCK_TEXT_MAX], type[KUBE_WORD_MAX_BYTES], reason[KUBE_WORD_MAX_BYTES];
    json_t *details = json_loads(kube_text(annotations, DETAILS_ANNOTATION), 0, NULL);
    if (!json_is_array(details)) {
        json_decref(details);
        details = json_array();
    }
    for (size_t i = 0; i < faults->count; i++) {
        kube_fault_type(&faults->list[i], type);
        kube_fault_reason(&faults->list[i], reason);
        json_t *detail = json_object();
        json_put_text(detail, "timestamp", clock_format(faults->list[i].at, at));
        json_put_text(detail, "type", type);
        json_put_text(detail, "reason", reason);
        json_put_text(detail, "message", faults->list[i].message);
        if (has_detail(details, detail))
            json_decref(detail);
        else
            json_array_append_new(details, detail);
    }
    while (json_array_size(details) > DETAILS_MAX)
        json_array_remove(details, 0);
    return details;
}

json_t *kube_faults_patch(const json_t *json, const struct scheduler_faults *faults)
{
    const json_t *metadata = json_object_get(json, "metadata");
    char types[KUBE_WORD_MAX_BYTES], reasons[KUBE_WORD_MAX_BYTES];
    const char *version = kube_text(metadata, "resourceVersion");
    if (faults->count == 0)
        return json_pack("{s:{s:s, s:{s:n, s:n}, s:{s:n}}}", "metadata", "resourceVersion", version, "labels",
                         TYPES_LABEL, REASONS_LABEL, "annotations", OURS_ANNOTATION);
    auto_json json_t *details = details_of(json_object_get(metadata, "annotations"), faults);
    autofree char *text = json_dumps(details, JSON_COMPACT);
    join(faults, kube_fault_type, types);
    join(faults, kube_fault_reason, reasons);
    return json_pack("{s:{s:s, s:{s:s, s:s}, s:{s:s, s:s}}}", "metadata", "resourceVersion", version, "labels",
                     TYPES_LABEL, types, REASONS_LABEL, reasons, "annotations", DETAILS_ANNOTATION, text,
                     OURS_ANNOTATION, types);
}

/* --- conditions ----------------------------------------------------------------------------------------------------- */

static json_t *condition(const char *type, bool is_on, const char *reason, const char *message)
{
    char now[CLOCK_TEXT_MAX];
    clock_format(clock_wall_ms(clock_system()), now);
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "type", type, "status", is_on ? "True" : "False", "reason",
                     reason, "message", message, "lastHeartbeatTime", now, "lastTransitionTime", now);
}

static const json_t *find_type(const json_t *conditions, const char *type)
{
    for (size_t i = 0; i < json_array_size(conditions); i++)
        if (strcmp(kube_text(json_array_get(conditions, i), "type"), type) == 0)
            return json_array_get(conditions, i);
    return NULL;
}

static bool is_on(const json_t *json, const char *type)
{
    return strcmp(kube_text(find_type(kube_at(json, "status", "conditions"), type), "status"), "True") == 0;
}

json_t *kube_faults_conditions(const json_t *json, const struct scheduler_faults *faults)
{
    char type[KUBE_WORD_MAX_BYTES], reason[KUBE_WORD_MAX_BYTES], now[KUBE_WORD_MAX_BYTES];
    const char *before = kube_text(kube_at(json, "metadata", "annotations"), OURS_ANNOTATION);
    json_t *conditions = json_array();
    join(faults, kube_fault_type, now);
    for (size_t i = 0; i < faults->count; i++) {
        kube_fault_type(&faults->list[i], type);
        kube_fault_reason(&faults->list[i], reason);
        if (!is_on(json, type) && find_type(conditions, type) == NULL)
            json_array_append_new(conditions, condition(type, true, reason, faults->list[i].message));
    }
    for (const char *at = before; *at != '\0';) {
        size_t len = strcspn(at, "_");
        snprintf(type, sizeof(type), "%.*s", (int)len, at);
        if (strstr(now, type) == NULL && is_on(json, type))
            json_array_append_new(conditions, condition(type, false, "Recovered", "the fault is over"));
        at += len + (at[len] == '_');
    }
    if (json_array_size(conditions) > 0)
        return json_pack("{s:{s:o}}", "status", "conditions", conditions);
    json_decref(conditions);
    return NULL;
}

/* --- the Event ------------------------------------------------------------------------------------------------------- */

json_t *kube_fault_event(const struct kube_node *node, const struct scheduler_fault *fault, const char *sentence)
{
    char type[KUBE_WORD_MAX_BYTES], reason[KUBE_WORD_MAX_BYTES], at[CLOCK_TEXT_MAX], now[CLOCK_TEXT_MAX];
    kube_fault_type(fault, type);
    kube_fault_reason(fault, reason);
    clock_format(fault->at, at);
    clock_format(clock_wall_ms(clock_system()), now);
    uint64_t number = hash_text(hash_text(hash_text(hash_text(HASH_BASIS, at), type), fault->code), fault->message);
    /* 16 digits of a name that may have 253 characters */
    autofree char *name = own_printf("%.200s.%016" PRIx64, node->object, number);
    return json_pack("{s:s, s:s, s:{s:s, s:s}, s:{s:s, s:s, s:s, s:s}, s:s, s:s, s:s, s:{s:s}, s:s, s:s, s:i}",
                     "apiVersion", "v1", "kind", "Event", "metadata", "name", name, "namespace", "default",
                     "involvedObject", "apiVersion", "v1", "kind", "Node", "name", node->object, "uid", node->uid,
                     "type", "Warning", "reason", reason, "message", sentence[0] != '\0' ? sentence : fault->message,
                     "source", "component", "holdfast", "firstTimestamp", now, "lastTimestamp", now, "count", 1);
}

/* --- all ------------------------------------------------------------------------------------------------------------ */

static int put_conditions(struct kube_call *call, const json_t *json, const struct kube_node *node,
                          const struct scheduler_faults *faults)
{
    auto_json json_t *patch = kube_faults_conditions(json, faults);
    autofree char *name = kube_escape(node->object);
    autofree char *path = own_printf("/api/v1/nodes/%s/status?fieldManager=" KUBE_FIELD_MANAGER, name);
    const struct kube_request request = {
        .method = "PATCH", .path = path, .content_type = KUBE_STRATEGIC_PATCH, .body = patch};
    return patch == NULL ? 0 : kube_ask(call, &request, NULL);
}

static int put_events(struct kube_call *call, const struct kube_node *node, const struct scheduler_faults *faults)
{
    int status = 0;
    for (size_t i = 0; i < faults->count && status == 0; i++) {
        auto_json json_t *event = kube_fault_event(node, &faults->list[i], faults->sentence);
        const struct kube_request request = {.method = "POST",
                                             .path =
                                                 "/api/v1/namespaces/default/events?fieldManager=" KUBE_FIELD_MANAGER,
                                             .body = event};
        status = kube_ask(call, &request, NULL);
        if (status == STATUS_CONFLICT) /* it is there */
            status = 0;
    }
    return status;
}

/* The conditions are over; that changes the node's version, so it is looked at again. */
static int take_back(struct scheduler *s, struct kube_call *call, const char *name, json_t **json,
                     struct kube_node *node)
{
    static const struct scheduler_faults none;
    int status = put_conditions(call, *json, node, &none);
    json_decref(TAKE(*json));
    return status != 0 ? status : kube_look(s, call, name, json, node);
}

/* Our annotation stands there before the first condition is set, and goes after the last is taken back. */
static int show_once(struct scheduler *s, struct kube_call *call, const char *name,
                     const struct scheduler_faults *faults)
{
    auto_json json_t *json = NULL;
    struct kube_node node;
    int status = kube_look(s, call, name, &json, &node);
    if (status != 0)
        return status == STATUS_NOT_FOUND ? 0 : status;
    if (faults->count == 0 && kube_text(kube_at(json, "metadata", "annotations"), OURS_ANNOTATION)[0] == '\0')
        return 0;
    if (faults->count == 0)
        status = take_back(s, call, name, &json, &node);
    if (status != 0)
        return status;
    auto_json json_t *patch = kube_faults_patch(json, faults);
    status = kube_patch_node(s, call, &node, KUBE_MERGE_PATCH, patch, &node);
    if (status == STATUS_CONFLICT)
        return STATUS_STALE;
    if (status != 0)
        return status;
    int conditions =
        faults->count > 0 ? put_conditions(call, json, &node, faults) : 0; /* the Events need no condition */
    status = put_events(call, &node, faults);
    return conditions != 0 ? conditions : status;
}

int kube_show_faults(struct scheduler *s, const char *node, const struct scheduler_faults *faults, char *ret_error)
{
    struct kube_call call;
    kube_call_start(&call, s->client, ret_error);
    for (int tries = 0; tries < TRIES_MAX; tries++) {
        int status = show_once(s, &call, node, faults);
        if (status != STATUS_STALE)
            return status;
    }
    return kube_call_fail(&call, STATUS_UNAVAILABLE, "%s was changed by others at each of %d tries", node, TRIES_MAX);
}
