/* A short list behind one lock: providers are few, and their calls take long. */
#include "server/live/provider_registry.h"

#include "base/own.h"
#include "base/status.h"
#include "base/text.h"

#include <pthread.h>

ENUM_DEFINE(provider_state, PROVIDER_STATE_LIST)

#define PROVIDERS_MAX 8

struct provider_registry {
    pthread_mutex_t mutex;
    struct provider_status list[PROVIDERS_MAX];
    size_t count;
};

struct provider_registry *provider_registry_new(void)
{
    struct provider_registry *registry = own_calloc(1, sizeof(*registry));
    pthread_mutex_init(&registry->mutex, NULL);
    return registry;
}

void provider_registry_free(struct provider_registry *registry)
{
    if (registry == NULL)
        return;
    pthread_mutex_destroy(&registry->mutex);
    free(registry);
}

void provider_registry_add(struct provider_registry *registry, const char *name, const char *kind, bool by_person,
                           bool can_test)
{
    if (registry == NULL || registry->count == PROVIDERS_MAX)
        return;
    struct provider_status *status = &registry->list[registry->count++];
    *status = (struct provider_status){.can_test = can_test,
                                       .state = by_person ? PROVIDER_STATE_BY_PERSON : PROVIDER_STATE_UNKNOWN};
    text_copy_cut(status->name, sizeof(status->name), name);
    text_copy_cut(status->kind, sizeof(status->kind), kind);
}

/* With the lock held; NULL: unknown. */
static struct provider_status *find(struct provider_registry *registry, const char *name)
{
    for (size_t i = 0; i < registry->count; i++)
        if (text_equal(registry->list[i].name, name))
            return &registry->list[i];
    return NULL;
}

/* An answer that there is no such machine, or no capacity, is an answer. */
static bool is_failure(int status)
{
    return status < 0 && status != STATUS_NOT_FOUND && status != STATUS_FULL && status != STATUS_UNSUPPORTED;
}

void provider_registry_called(struct provider_registry *registry, const char *name, int status, const char *error,
                              int64_t at)
{
    if (registry == NULL)
        return;
    pthread_mutex_lock(&registry->mutex);
    struct provider_status *of = find(registry, name);
    if (of != NULL) {
        of->calls++;
        if (is_failure(status)) {
            of->failures++;
            of->failed_at = at;
            text_copy_cut(of->error, sizeof(of->error), error[0] != '\0' ? error : status_meaning(status));
        } else {
            of->succeeded_at = at;
        }
        of->state = is_failure(status)      ? PROVIDER_STATE_FAILING
                    : status == STATUS_FULL ? PROVIDER_STATE_NO_CAPACITY
                                            : PROVIDER_STATE_OK;
    }
    pthread_mutex_unlock(&registry->mutex);
}

bool provider_registry_launches(struct provider_registry *registry, const char *name)
{
    if (registry == NULL)
        return false;
    pthread_mutex_lock(&registry->mutex);
    const struct provider_status *of = find(registry, name);
    bool launches = of != NULL && of->state != PROVIDER_STATE_BY_PERSON;
    pthread_mutex_unlock(&registry->mutex);
    return launches;
}

bool provider_registry_get(struct provider_registry *registry, size_t at, struct provider_status *ret_status)
{
    if (registry == NULL || at >= registry->count)
        return false;
    pthread_mutex_lock(&registry->mutex);
    *ret_status = registry->list[at];
    pthread_mutex_unlock(&registry->mutex);
    return true;
}

/* --- tests ----------------------------------------------------------------------------------------- */

bool provider_registry_test_begins(struct provider_registry *registry, const char *name, bool launches, int64_t at)
{
    if (registry == NULL)
        return false;
    pthread_mutex_lock(&registry->mutex);
    struct provider_status *of = find(registry, name);
    bool begins = of != NULL && (of->test_started_at == 0 || of->test_ended_at != 0);
    if (begins) {
        of->test_started_at = at;
        of->test_ended_at = 0;
        of->test_launched = launches;
        of->finding_count = 0;
    }
    pthread_mutex_unlock(&registry->mutex);
    return begins;
}

void provider_registry_found(struct provider_registry *registry, const char *name, const char *check, bool passed,
                             const char *detail)
{
    if (registry == NULL)
        return;
    pthread_mutex_lock(&registry->mutex);
    struct provider_status *of = find(registry, name);
    if (of != NULL && of->finding_count < PROVIDER_FINDINGS_MAX) {
        struct provider_finding *finding = &of->findings[of->finding_count++];
        finding->passed = passed;
        text_copy_cut(finding->check, sizeof(finding->check), check);
        text_copy_cut(finding->detail, sizeof(finding->detail), detail);
    }
    pthread_mutex_unlock(&registry->mutex);
}

void provider_registry_test_ended(struct provider_registry *registry, const char *name, int64_t at)
{
    if (registry == NULL)
        return;
    pthread_mutex_lock(&registry->mutex);
    struct provider_status *of = find(registry, name);
    if (of != NULL)
        of->test_ended_at = at;
    pthread_mutex_unlock(&registry->mutex);
}
