/* The configuration with the newest document over it, under a lock. */
#include "server/config/policy_registry.h"

#include "base/own.h"
#include "server/config/policy_document.h"

#include <pthread.h>
#include <string.h>

_Static_assert(POLICY_REGISTRY_ERROR_MAX == POLICY_DOCUMENT_ERROR_MAX, "one error");

struct policy_registry {
    const struct config *config;
    struct service_policy configured; /* the same for people */
    pthread_mutex_t mutex;
    int64_t version;
    struct policy_document *document; /* NULL: none */
};

struct policy_registry *policy_registry_new(const struct config *config)
{
    struct policy_registry *registry = own_calloc(1, sizeof(*registry));
    registry->config = config;
    settings_show(config, &registry->configured);
    pthread_mutex_init(&registry->mutex, NULL);
    return registry;
}

void policy_registry_free(struct policy_registry *registry)
{
    if (registry == NULL)
        return;
    policy_document_free(registry->document);
    pthread_mutex_destroy(&registry->mutex);
    free(registry);
}

int policy_registry_check(const char *text, char ret_error[POLICY_REGISTRY_ERROR_MAX])
{
    struct policy_document *document = NULL;
    int rc = policy_document_parse(text, strlen(text), &document, ret_error);
    policy_document_free(document);
    return rc;
}

/* --- what is hardly meant ----------------------------------------------------------------------------------------- */

struct warning {
    const struct policy_registry *registry;
    const struct policy_document *document;
    const struct policy_registry_group *groups; /* that there are */
    size_t count;
    int64_t now_ms;
    policy_warning_fn fn;
    void *arg;
};

static const char *const never[] = {
    "notDuring and onlyDuring leave no hour of the week, so only classes with anyTime are repaired",
    "minHealthyPercent 100 lets no node be missing",
    "as many nodes have to be healthy (minHealthyCount, minHealthyPercent) as it shall have",
};

/* group NULL: one that no entry is for, of any size. */
static bool is_never(const struct warning *w, size_t why, const struct policy_registry_group *group)
{
    autofree struct loop_settings *in = own_calloc(1, sizeof(*in));
    *in = w->registry->config->reconcile;
    policy_document_apply(w->document, group != NULL ? &group->place : NULL, in, NULL);
    const struct policy_settings *rules = &in->policy;
    if (why == 0)
        return policy_windows_open_at(&rules->not_during, &rules->only_during, w->now_ms) == 0;
    if (why == 1 || rules->min_healthy_percent >= 100)
        return why == 1 && rules->min_healthy_percent >= 100;
    return group != NULL && group->desired > 0 && policy_least_healthy(rules, group->desired) >= group->desired;
}

/* Of all groups that no entry is for at once, else the first of those that it is true of, and how many more there are. */
static void warn_never(const struct warning *w, size_t why)
{
    bool everywhere = is_never(w, why, NULL);
    const struct policy_registry_group *first = NULL;
    size_t more = 0;
    for (size_t i = 0; i < w->count && !everywhere; i++) {
        if (!is_never(w, why, &w->groups[i]))
            continue;
        more += first != NULL;
        first = first != NULL ? first : &w->groups[i];
    }
    if (!everywhere && first == NULL)
        return;
    autofree char *others = more > 0 ? own_printf(" and %zu more", more) : own_strdup("");
    autofree char *where = everywhere
                               ? own_strdup("any group that no entry of groups is for")
                               : own_printf("the group %s of %s%s", first->place.group, first->place.cluster, others);
    autofree char *sentence = own_printf("no repair ever begins by itself in %s: %s", where, never[why]);
    w->fn(sentence, w->arg);
}

static void warn_unmatched(const struct warning *w, size_t entry)
{
    for (size_t i = 0; i < w->count; i++)
        if (policy_document_is_for(w->document, entry, &w->groups[i].place))
            return;
    autofree char *sentence = own_printf("entry %zu of groups is for no group that there is now", entry + 1);
    w->fn(sentence, w->arg);
}

void policy_registry_warn(const struct policy_registry *registry, const char *text,
                          const struct policy_registry_group *groups, size_t count, int64_t now_ms,
                          policy_warning_fn fn, void *arg)
{
    struct policy_document *document = NULL;
    char error[POLICY_REGISTRY_ERROR_MAX];
    if (policy_document_parse(text, strlen(text), &document, error) != 0)
        return;
    const struct warning w = {registry, document, groups, count, now_ms, fn, arg};
    for (size_t why = 0; why < ARRAY_LEN(never); why++)
        warn_never(&w, why);
    for (size_t entry = 0; entry < policy_document_entries(document); entry++)
        warn_unmatched(&w, entry);
    policy_document_free(document);
}

/* --- the document in force ---------------------------------------------------------------------------------------- */

int policy_registry_put(struct policy_registry *registry, int64_t version, const char *text,
                        char ret_error[POLICY_REGISTRY_ERROR_MAX])
{
    struct policy_document *document = NULL;
    int rc = policy_document_parse(text, strlen(text), &document, ret_error);
    if (rc != 0)
        return rc;
    pthread_mutex_lock(&registry->mutex);
    if (version > registry->version) {
        struct policy_document *older = registry->document;
        registry->document = document;
        registry->version = version;
        document = older;
    }
    pthread_mutex_unlock(&registry->mutex);
    policy_document_free(document);
    return 0;
}

int64_t policy_registry_version(struct policy_registry *registry)
{
    pthread_mutex_lock(&registry->mutex);
    int64_t version = registry->version;
    pthread_mutex_unlock(&registry->mutex);
    return version;
}

static int64_t resolve(struct policy_registry *registry, const struct policy_place *place,
                       struct loop_settings *ret_settings, struct policy_said *ret_said)
{
    *ret_settings = registry->config->reconcile;
    pthread_mutex_lock(&registry->mutex);
    policy_document_apply(registry->document, place, ret_settings, ret_said);
    int64_t version = registry->version;
    pthread_mutex_unlock(&registry->mutex);
    return version;
}

int64_t policy_registry_resolve(struct policy_registry *registry, const char *cluster, const char *group,
                                const char *instance_type, struct loop_settings *ret_settings)
{
    return resolve(registry, &(struct policy_place){cluster, group, instance_type}, ret_settings, NULL);
}

int policy_registry_trial(const struct policy_registry *registry, const char *text, struct policy_registry **ret_trial,
                          char ret_error[POLICY_REGISTRY_ERROR_MAX])
{
    struct policy_registry *trial = policy_registry_new(registry->config);
    int rc = text == NULL ? 0 : policy_registry_put(trial, 1, text, ret_error);
    if (rc == 0)
        *ret_trial = trial;
    else
        policy_registry_free(trial);
    return rc;
}

void policy_registry_rules(struct policy_registry *registry, const char *cluster, const char *group,
                           const char *instance_type, struct policy_settings *ret_rules)
{
    autofree struct loop_settings *in = own_calloc(1, sizeof(*in));
    (void)policy_registry_resolve(registry, cluster, group, instance_type, in);
    *ret_rules = in->policy;
}

/* What the document says of one class stands behind the setting itself, a row each. */
static void show_classes(const struct loop_settings *in, const struct policy_said *said, size_t at,
                         struct service_policy *policy)
{
    for (int fault = 0; fault < FAULT_CLASS_COUNT && policy->count < SERVICE_SETTINGS_MAX; fault++) {
        if (!said->fault[at][fault])
            continue;
        struct service_setting *row = &policy->settings[policy->count++];
        *row = policy->settings[at];
        row->fault = (enum fault_class)fault;
        row->value = setting_get_in(in, &settings[at], (enum fault_class)fault).number;
        row->source = SETTING_SOURCE_DOCUMENT;
    }
}

int64_t policy_registry_show(struct policy_registry *registry, const char *cluster, const char *group,
                             const char *instance_type, struct service_policy *ret_policy)
{
    autofree struct loop_settings *in = own_calloc(1, sizeof(*in));
    autofree struct policy_said *said = own_calloc(1, sizeof(*said));
    const struct policy_place place = {cluster, group, instance_type};
    int64_t version = resolve(registry, cluster == NULL ? NULL : &place, in, said);
    *ret_policy = registry->configured;
    for (size_t i = 0; i < setting_count; i++) {
        if (!said->all[i])
            continue;
        /* Of a setting with classes that of faults of no class, which no entry can say. */
        const struct setting_value value = setting_get_in(in, &settings[i], FAULT_CLASS_NONE);
        ret_policy->settings[i].value = value.number;
        ret_policy->settings[i].windows = value.windows;
        ret_policy->settings[i].source = SETTING_SOURCE_DOCUMENT;
    }
    for (size_t i = 0; i < setting_count; i++)
        show_classes(in, said, i, ret_policy);
    return version;
}
