/* Scheduler configurations and compute quotas in the REST API: their words are read once, and put into words again when they are shown. */
#include "api/v1/governance.h"

#include "api/v1/governance_words.h"
#include "api/v1/spec.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* --- in ---------------------------------------------------------------------------------------------- */

/* ret_spec and *ret_tags borrow from words. Caller frees *ret_tags. */
static void take(const struct governance_body *words, struct service_governance_spec *ret_spec,
                 struct service_tag **ret_tags)
{
    const struct tag_words *tags = words->tags.items;
    *ret_tags = own_calloc(words->tags.count + 1, sizeof(**ret_tags));
    for (size_t i = 0; i < words->tags.count; i++)
        (*ret_tags)[i] = (struct service_tag){tags[i].key, tags[i].value};
    *ret_spec = (struct service_governance_spec){.name = words->name,
                                                 .description = words->description,
                                                 .config = words->config.given ? &words->config.spec : NULL,
                                                 .team = words->target.team,
                                                 .weight = words->target.weight.value,
                                                 .active = words->active.given ? (int)words->active.value : -1,
                                                 .tags = *ret_tags,
                                                 .tag_count = words->tags.count};
}

/* --- out --------------------------------------------------------------------------------------------- */

/* Who that was here; there are no identities of IAM. */
static json_t *render_actor(const char *name)
{
    return json_pack("{s:{s:s}}", "iamIdentity", "principalId", name);
}

/* The status of each part that is asked for: its own when something is known of it, else that of the whole. */
static json_t *render_details(const json_t *config, const struct governance *governance)
{
    auto_json json_t *known = NULL;
    json_t *details = json_object(), *value;
    char error[JSON_ERROR_MAX];
    const char *member;
    (void)json_parse(governance->details, strlen(governance->details), sizeof governance->details, &known, error);
    json_object_foreach((json_t *)(uintptr_t)config, member, value)
    {
        autofree char *part = own_strdup(member); /* as the store has it */
        part[0] = (char)toupper((unsigned char)part[0]);
        const char *why = json_string_value(json_object_get(known, part));
        enum governance_phase phase = text_equal(why, "") ? GOVERNANCE_HOLDS : GOVERNANCE_FAILED;
        json_put_text(details, part,
                      governance_status_text(why == NULL ? governance->status
                                                         : governance_status_of(governance->version, phase)));
    }
    return details;
}

static void put_scheduler(json_t *json, const struct governance *governance, json_t *config)
{
    json_put_text(json, "clusterSchedulerConfigId", governance->uid);
    json_put_i64(json, "clusterSchedulerConfigVersion", governance->version);
    json_put(json, "statusDetails", render_details(config, governance));
    json_put(json, "schedulerConfig", config);
}

static void put_quota(json_t *json, const struct governance *governance, json_t *config)
{
    json_put_text(json, "computeQuotaId", governance->uid);
    json_put_i64(json, "computeQuotaVersion", governance->version);
    json_put(json, "computeQuotaTarget",
             json_pack("{s:s, s:I}", "teamName", governance->team, "fairShareWeight", (json_int_t)governance->weight));
    json_put_text(json, "activationState", governance->active ? "Enabled" : "Disabled");
    json_put(json, "computeQuotaConfig", config);
}

json_t *governance_render(const struct governance *governance)
{
    AUTO(governance_spec) struct governance_spec spec;
    json_t *json = json_object();
    (void)governance_spec_read(governance->config, &spec); /* which was written by governance_spec_write */
    json_t *config = governance_show_config(governance->kind, &spec);
    json_put_text(json, "name", governance->name);
    json_put_text(json, "cluster", governance->cluster);
    if (governance->kind == GOVERNANCE_KIND_SCHEDULER_CONFIG)
        put_scheduler(json, governance, config);
    else
        put_quota(json, governance, config);
    json_put_text(json, "description", governance->description);
    json_put_text(json, "status", governance_status_text(governance->status));
    if (governance->status == governance_status_of(governance->version, GOVERNANCE_FAILED))
        json_put_text(json, "failureReason", governance->reason);
    json_put_time(json, "creationTime", governance->created_at);
    json_put(json, "createdBy", render_actor(governance->created_by));
    json_put_time(json, "lastModifiedTime", governance->made_at);
    json_put(json, "lastModifiedBy", render_actor(governance->made_by));
    json_put(json, "applied", json_boolean(governance_status_is_good(governance->status) && governance->active));
    json_put_text(json, "appliedReason", governance->reason);
    json_put_time(json, "appliedAt", governance->applied_at);
    return json;
}

static void reply(struct api_call *call, unsigned status, const struct governance *governance, const char *location)
{
    api_reply_resource(call, status, governance_render(governance), location, governance->version);
}

/* --- use cases ---------------------------------------------------------------------------------------- */

void governance_create(struct api_call *call, enum governance_kind kind)
{
    struct problem problem;
    autofree struct governance *governance = own_calloc(1, sizeof *governance);
    AUTO(governance_body) struct governance_body words = {.name = NULL};
    struct service_governance_spec spec;
    autofree struct service_tag *tags = NULL;
    char location[256];

    if (!api_record(call, governance_record(kind, false), &words))
        return;
    take(&words, &spec, &tags);
    if (service_governance_create(call->service, &call->actor, kind, call->params[0], &spec, governance, &problem) <
        0) {
        api_problem(call, &problem);
        return;
    }
    if (kind == GOVERNANCE_KIND_COMPUTE_QUOTA)
        snprintf(location, sizeof location, "/v1/clusters/%s/quotas/%s", governance->cluster, governance->name);
    else
        snprintf(location, sizeof location, "/v1/clusters/%s/scheduler-config", governance->cluster);
    reply(call, 201, governance, location);
}

void governance_describe(struct api_call *call, const struct service_governance_ref *ref)
{
    struct problem problem;
    int64_t version = 0;
    autofree struct governance *governance = own_calloc(1, sizeof *governance);
    const struct api_query query[] = {
        {.name = "version", .type = API_QUERY_I64, .target = &version, .min = 1, .max = INT32_MAX}};

    if (api_query(call, query, ARRAY_LEN(query)) != 0)
        return;
    if (service_governance_describe(call->service, ref, version, governance, &problem) < 0)
        api_problem(call, &problem);
    else
        reply(call, 200, governance, NULL);
}

void governance_update(struct api_call *call, const struct service_governance_ref *ref)
{
    struct problem problem;
    int64_t version;
    autofree struct governance *governance = own_calloc(1, sizeof *governance);
    AUTO(governance_body) struct governance_body words = {.name = NULL};
    struct service_governance_spec spec;
    autofree struct service_tag *tags = NULL;

    if (!api_record(call, governance_record(ref->kind, true), &words) || api_if_match(call, &version) != 0)
        return;
    take(&words, &spec, &tags);
    if (service_governance_update(call->service, &call->actor, ref, &spec, version, governance, &problem) < 0)
        api_problem(call, &problem);
    else
        reply(call, 200, governance, NULL);
}

void governance_delete(struct api_call *call, const struct service_governance_ref *ref)
{
    struct problem problem;

    if (service_governance_delete(call->service, &call->actor, ref, &problem) < 0)
        api_problem(call, &problem);
    else
        api_reply_empty(call, 204);
}
