/*
 * What the APIs know of a change: operation, peer and request id at its beginning, names as they are read.
 *
 * A request is a change when it is neither GET nor HEAD and needs more than the role viewer; at the AWS API the role alone
 * says it. What agents and jobs send all the time, heartbeats, verdicts and attempts, reports and changes nothing.
 */
#include "api/audit.h"

#include "api/aws/operation.h"
#include "api/intern.h"
#include "base/own.h"
#include "base/text.h"
#include "server/service/access/access.h"

#include <ctype.h>
#include <string.h>

/* Names joined, as many as fit; of the others how many they are. */
struct names {
    char *text;
    size_t size, left_out;
};

#define MORE_MAX 24 /* " and 4294967295 more" */

static void names_add(struct names *names, const char *name)
{
    size_t len = strlen(names->text);
    if (name == NULL || name[0] == '\0')
        return;
    if (names->left_out > 0 || len + strlen(name) + 2 + MORE_MAX > names->size)
        names->left_out++;
    else
        snprintf(names->text + len, names->size - len, "%s%s", len > 0 ? "," : "", name);
}

static void names_end(const struct names *names)
{
    size_t len = strlen(names->text);
    if (names->left_out > 0)
        snprintf(names->text + len, names->size - len, "%s%zu more", len > 0 ? " and " : "", names->left_out);
}

static const struct aws_operation *aws_target(const struct api_call *call)
{
    const char *target = http_header(call->http, "X-Amz-Target");
    return target != NULL ? aws_operation_of_target(target) : NULL;
}

static bool is_change(const struct api_call *call)
{
    const struct api_route *route = call->route;
    if (route == NULL || route->access == ACCESS_AGENT || route->access == ACCESS_JOB ||
        strcmp(route->method, "GET") == 0)
        return false;
    if (route->access != ACCESS_SIGNED)
        return route->access != ACCESS_VIEWER;
    const struct aws_operation *operation = aws_target(call);
    return operation != NULL && aws_operation_role(operation) > ROLE_VIEWER;
}

/* createAccessKey becomes access-key.create. */
static void say_stem(const char *operation, char ret_stem[AUDIT_WORD_MAX_BYTES])
{
    AUTO(text) struct text stem = {0};
    size_t verb = 0;
    while (islower((unsigned char)operation[verb]))
        verb++;
    for (const char *at = operation + verb; *at != '\0'; at++) {
        if (isupper((unsigned char)*at) && stem.len > 0)
            text_add_char(&stem, '-');
        text_add_char(&stem, (char)tolower((unsigned char)*at));
    }
    text_printf(&stem, ".%.*s", (int)verb, operation);
    text_copy_cut(ret_stem, AUDIT_WORD_MAX_BYTES, text_get(&stem));
}

static void fill(const struct api_call *call, struct audit *ret_entry)
{
    const struct api_route *route = call->route;
    _Static_assert(PEER_MAX_BYTES >= ADDRESS_TEXT_MAX, "an address fits");
    *ret_entry = (struct audit){.outcome = AUDIT_OUTCOME_SUCCEEDED};
    http_peer(call->http, ret_entry->peer);
    if (route->access == ACCESS_SIGNED)
        snprintf(ret_entry->operation, sizeof ret_entry->operation, "AWS %s", aws_target(call)->name);
    else
        say_stem(route->operation, ret_entry->operation);
    struct names names = {.text = ret_entry->resource, .size = sizeof ret_entry->resource};
    size_t i = 0;
    for (const char *at = strchr(route->pattern, '{'); at != NULL; at = strchr(at + 1, '{'), i++) {
        if (text_starts_with(at, "{cluster}"))
            text_copy_cut(ret_entry->cluster, sizeof ret_entry->cluster, call->params[i]);
        else if (!text_starts_with(at, "{signature}")) /* a link is worth an approval */
            names_add(&names, call->params[i]);
    }
}

void audit_begin(struct api_call *call, struct service_audit *audit)
{
    if (!is_change(call))
        return;
    audit->recorded = false;
    fill(call, &audit->entry);
    if (call->route->access == ACCESS_SIGNED)
        id_uuid(NULL, audit->entry.request_id);
    else
        api_request_id(call, audit->entry.request_id);
    call->audit = audit;
    service_audit_begin(audit);
}

void audit_who(struct api_call *call, const struct actor *actor)
{
    if (call->audit == NULL)
        return;
    text_copy_cut(call->audit->entry.actor, sizeof call->audit->entry.actor, actor->name);
    audit_credential(call, actor->credential);
}

void audit_credential(struct api_call *call, const char *credential)
{
    if (call->audit != NULL)
        text_copy_cut(call->audit->entry.credential, sizeof call->audit->entry.credential, credential);
}

/* --- what it is about ----------------------------------------------------------------------------------- */

static void names_add_json(struct names *names, const json_t *json)
{
    size_t i;
    const json_t *item;
    names_add(names, json_string_value(json));
    json_array_foreach(json, i, item) names_add(names, json_string_value(item));
}

/* Only a name: whatever else somebody put there by mistake must not get into the log. */
static const char *name_of(const json_t *object, const char *member)
{
    const char *name = json_string_value(json_object_get(object, member));
    return name != NULL && text_is_name(name) ? name : "";
}

void audit_body(struct api_call *call, const json_t *body)
{
    if (call->audit == NULL)
        return;
    struct audit *entry = &call->audit->entry;
    const char *name = name_of(body, "name"), *cluster = name_of(body, "cluster"), *node = name_of(body, "node");
    bool of_clusters = strcmp(call->route->operation, "createCluster") == 0;
    if (entry->cluster[0] == '\0')
        text_copy_cut(entry->cluster, sizeof entry->cluster, of_clusters ? name : cluster);
    if (entry->resource[0] == '\0' && !of_clusters)
        text_copy_cut(entry->resource, sizeof entry->resource, name[0] != '\0' ? name : node);
    struct names names = {.text = entry->resource, .size = sizeof entry->resource};
    size_t i;
    const json_t *request;
    json_array_foreach(json_object_get(body, "nodesToAdd"), i, request) names_add(&names, name_of(request, "group"));
    names_end(&names);
}

void audit_input(struct api_call *call, const json_t *input)
{
    static const char *const clusters[] = {"ClusterName", "ClusterArn"};
    static const char *const others[] = {"Name",        "NodeIds",  "NodeLogicalIds",           "NodeId",
                                         "ResourceArn", "VolumeId", "ClusterSchedulerConfigId", "ComputeQuotaId"};
    if (call->audit == NULL)
        return;
    struct audit *entry = &call->audit->entry;
    struct names names = {.text = entry->resource, .size = sizeof entry->resource};
    for (size_t i = 0; i < ARRAY_LEN(clusters); i++) {
        const char *named = json_string_value(json_object_get(input, clusters[i]));
        const char *id = named != NULL && strchr(named, ':') != NULL ? strrchr(named, '/') : NULL;
        if (named != NULL)
            snprintf(entry->cluster, sizeof entry->cluster, "%s%s", id != NULL ? SERVICE_CLUSTER_ID_PREFIX : "",
                     id != NULL ? id + 1 : named);
    }
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        names_add_json(&names, json_object_get(input, others[i]));
    size_t i;
    const json_t *request;
    json_array_foreach(json_object_get(input, "NodesToAdd"), i, request)
        names_add(&names, json_string_value(json_object_get(request, "InstanceGroupName")));
    names_end(&names);
}

/* --- how it was answered --------------------------------------------------------------------------------- */

void audit_granted(struct api_call *call)
{
    if (call->audit != NULL)
        service_audit_settle(call->service);
}

void audit_refused(struct api_call *call, const char *code, const char *request_id, bool failed)
{
    struct audit entry;
    if (call->audit != NULL)
        entry = call->audit->entry;
    else if (is_change(call))
        fill(call, &entry);
    else
        return;
    entry.outcome = failed ? AUDIT_OUTCOME_FAILED : AUDIT_OUTCOME_REFUSED;
    text_copy_cut(entry.code, sizeof entry.code, code);
    text_copy_cut(entry.request_id, sizeof entry.request_id, request_id);
    service_audit_refused(call->service, &entry);
}

static const char *failed_code(const json_t *item)
{
    static const char *const members[] = {"ErrorCode", "Code", "code"}; /* HyperPod's batches do not agree on one */
    const char *code = NULL;
    for (size_t i = 0; code == NULL && i < ARRAY_LEN(members); i++)
        code = json_string_value(json_object_get(item, members[i]));
    return code != NULL ? code : "";
}

/* One row for all items from at on that were refused with the code of that one. */
static void refuse_items(struct api_call *call, const json_t *failed, size_t at)
{
    static const char *const members[] = {"NodeId", "NodeLogicalId", "InstanceGroupName", "group"};
    const char *code = failed_code(json_array_get(failed, at));
    struct audit entry = call->audit->entry;
    struct names names = {.text = entry.resource, .size = sizeof entry.resource};
    entry.resource[0] = '\0';
    for (size_t i = at; i < json_array_size(failed); i++)
        for (size_t m = 0; m < ARRAY_LEN(members) && strcmp(failed_code(json_array_get(failed, i)), code) == 0; m++)
            names_add(&names, json_string_value(json_object_get(json_array_get(failed, i), members[m])));
    names_end(&names);
    entry.outcome = AUDIT_OUTCOME_REFUSED;
    text_copy_cut(entry.code, sizeof entry.code, code);
    service_audit_refused(call->service, &entry);
}

void audit_failures(struct api_call *call, const json_t *failed)
{
    if (call->audit == NULL)
        return;
    for (size_t i = 0; i < json_array_size(failed); i++) {
        size_t before = 0;
        while (before < i &&
               strcmp(failed_code(json_array_get(failed, before)), failed_code(json_array_get(failed, i))) != 0)
            before++;
        if (before == i)
            refuse_items(call, failed, i);
    }
}
