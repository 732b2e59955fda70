/* The fake provider's side of provider.h. */
#include "tests/support/fake_provider.h"

#include "base/own.h"
#include "base/status.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

static struct fake_provider *of(struct provider *p)
{
    return (struct fake_provider *)(void *)p;
}

void fake_provider_init(struct fake_provider *fake, struct clock *clock, struct id_source *ids,
                        struct fake_outcome *outcome)
{
    memset(fake, 0, sizeof(*fake));
    fake->clock = clock;
    fake->ids = ids;
    fake->outcome = outcome;
    fake->boot_ms = 1000;
}

struct fake_instance *fake_provider_find(struct fake_provider *fake, const char *instance_id)
{
    for (int i = 0; i < fake->count; i++)
        if (strcmp(fake->instances[i].id, instance_id) == 0)
            return &fake->instances[i];
    return NULL;
}

/* By the id that it was given here, and by no other; a machine whose launch was never answered is known by the launch. */
static struct fake_instance *find_target(struct fake_provider *fake, const struct provider_target *target)
{
    for (int i = 0; i < fake->count; i++) {
        const struct fake_instance *instance = &fake->instances[i];
        if (strcmp(instance->ref[0] != '\0' ? instance->ref : instance->id, provider_target_ref(target)) == 0 ||
            (target->ref[0] == '\0' && strcmp(instance->key, target->launch_key) == 0))
            return &fake->instances[i];
    }
    return NULL;
}

struct fake_instance *fake_provider_of(struct fake_provider *fake, const char *cluster, const char *node)
{
    for (int i = fake->count - 1; i >= 0; i--)
        if (!fake->instances[i].gone && strcmp(fake->instances[i].node, node) == 0 &&
            (cluster[0] == '\0' || strcmp(fake->instances[i].cluster, cluster) == 0))
            return &fake->instances[i];
    return NULL;
}

struct fake_instance *fake_provider_of_node(struct fake_provider *fake, const char *node)
{
    return fake_provider_of(fake, fake->home, node);
}

bool fake_instance_is_up(const struct fake_provider *fake, const struct fake_instance *instance)
{
    return !instance->gone && clock_wall_ms(fake->clock) >= instance->up_at;
}

/* True the first time a key is seen. */
static bool is_first(struct fake_provider *fake, const char *key)
{
    for (int i = 0; i < fake->key_count; i++)
        if (strcmp(fake->keys[i], key) == 0)
            return false;
    if (fake->key_count == FAKE_KEYS_MAX)
        abort();
    snprintf(fake->keys[fake->key_count++], KEY_MAX_BYTES, "%s", key);
    return true;
}

static void boot(struct fake_provider *fake, struct fake_instance *instance, bool comes_up)
{
    id_uuid(fake->ids, instance->boot_id);
    instance->up_at = comes_up ? clock_wall_ms(fake->clock) + fake->boot_ms : INT64_MAX;
    instance->boots++;
    instance->seq = 0;
}

void fake_instance_boot(struct fake_provider *fake, struct fake_instance *instance)
{
    boot(fake, instance, !instance->hangs);
}

static void describe_to(const struct fake_provider *fake, const struct fake_instance *instance,
                        struct provider_instance *ret_instance)
{
    *ret_instance = (struct provider_instance){
        .state = fake_instance_is_up(fake, instance) ? PROVIDER_INSTANCE_RUNNING : PROVIDER_INSTANCE_PENDING};
    snprintf(ret_instance->ref, sizeof(ret_instance->ref), "%s",
             instance->ref[0] != '\0' ? instance->ref : instance->id);
    snprintf(ret_instance->address, sizeof(ret_instance->address), "%s.fake:6818", instance->id);
    if (strcmp(fake->no_daemon, instance->node) == 0)
        snprintf(ret_instance->trouble, sizeof(ret_instance->trouble),
                 "its service slurmd ended with exit code 1: Unable to initialize cgroup plugin");
}

static int launch(struct provider *p, const struct provider_launch *request, struct provider_instance *ret_instance,
                  char *error)
{
    struct fake_provider *fake = of(p);
    int status = fake_outcome_begin(fake->outcome, error);
    if (status != 0)
        return status;
    if (fake->full) {
        snprintf(error, PROVIDER_ERROR_MAX, "no capacity");
        return fake_outcome_end(fake->outcome, STATUS_FULL, error);
    }
    if (fake->cursed[0] != '\0' && strcmp(fake->cursed, request->node) == 0) {
        snprintf(error, PROVIDER_ERROR_MAX, "no machine fits");
        return fake_outcome_end(fake->outcome, STATUS_DENIED, error);
    }
    struct fake_instance *instance = NULL;
    if (is_first(fake, request->key)) {
        if (fake->count == FAKE_INSTANCES_MAX)
            abort();
        instance = &fake->instances[fake->count++];
        *instance = (struct fake_instance){0};
        snprintf(instance->id, sizeof(instance->id), "%s", request->instance_id);
        snprintf(instance->key, sizeof(instance->key), "%s", request->key);
        if (fake->own_ids)
            snprintf(instance->ref, sizeof(instance->ref), "machine/%d.example", fake->count);
        snprintf(instance->cluster, sizeof(instance->cluster), "%s", request->cluster);
        snprintf(instance->node, sizeof(instance->node), "%s", request->node);
        snprintf(instance->token, sizeof(instance->token), "%s", request->enrollment_token);
        snprintf(instance->release, sizeof(instance->release), "%s", request->release == NULL ? "" : request->release);
        snprintf(instance->zone, sizeof(instance->zone), "%s", request->zone == NULL ? "" : request->zone);
        bool broken = fake->broken_release[0] != '\0' && strcmp(fake->broken_release, instance->release) == 0;
        boot(fake, instance, !fake->failed_to_provision && !broken);
        fake->launches++;
    } else {
        instance = fake_provider_find(fake, request->instance_id);
        if (instance == NULL) {
            snprintf(error, PROVIDER_ERROR_MAX, "the key was used for another instance");
            return STATUS_CONFLICT;
        }
    }
    describe_to(fake, instance, ret_instance);
    return fake_outcome_end(fake->outcome, 0, error);
}

static int describe(struct provider *p, const struct provider_target *target, struct provider_instance *ret_instance,
                    char *error)
{
    struct fake_provider *fake = of(p);
    int status = fake_outcome_begin(fake->outcome, error);
    if (status != 0)
        return status;
    const struct fake_instance *instance = find_target(fake, target);
    if (instance != NULL && !instance->gone)
        describe_to(fake, instance, ret_instance);
    else
        *ret_instance = (struct provider_instance){.state = PROVIDER_INSTANCE_GONE};
    return fake_outcome_end(fake->outcome, 0, error);
}

static int reboot(struct provider *p, const struct provider_target *target, const char *key, char *error)
{
    struct fake_provider *fake = of(p);
    int status = fake_outcome_begin(fake->outcome, error);
    if (status != 0)
        return status;
    struct fake_instance *instance = find_target(fake, target);
    if (instance == NULL || instance->gone) {
        snprintf(error, PROVIDER_ERROR_MAX, "there is no instance %s", provider_target_ref(target));
        return fake_outcome_end(fake->outcome, STATUS_NOT_FOUND, error);
    }
    if (is_first(fake, key)) {
        boot(fake, instance, !instance->hangs);
        fake->reboots++;
    }
    return fake_outcome_end(fake->outcome, 0, error);
}

static int terminate(struct provider *p, const struct provider_target *target, const char *key, char *error)
{
    struct fake_provider *fake = of(p);
    int status = fake_outcome_begin(fake->outcome, error);
    if (status != 0)
        return status;
    struct fake_instance *instance = find_target(fake, target);
    if (instance != NULL && !instance->gone && is_first(fake, key)) {
        instance->gone = fake->ends_in_vain == 0;
        fake->terminations += instance->gone;
        fake->ends_in_vain -= !instance->gone;
    }
    return fake_outcome_end(fake->outcome, 0, error);
}

static int list(struct provider *p, struct provider_listed **ret_list, size_t *ret_count, char *ret_error)
{
    struct fake_provider *fake = (struct fake_provider *)(void *)p;
    struct provider_listed *listed = own_calloc((size_t)fake->count + 1, sizeof(*listed));
    size_t count = 0;
    (void)ret_error;
    for (int i = 0; i < fake->count; i++) {
        if (fake->instances[i].gone)
            continue;
        text_copy_cut(listed[count].instance_id, sizeof(listed[count].instance_id), fake->instances[i].id);
        text_copy_cut(listed[count].ref, sizeof(listed[count].ref), fake->instances[i].ref);
        count++;
    }
    *ret_list = listed;
    *ret_count = count;
    return 0;
}

static int say_notices(struct provider *p, struct provider_notice **ret_notices, size_t *ret_count, char *error)
{
    struct fake_provider *fake = of(p);
    int status = fake_outcome_begin(fake->outcome, error);
    if (status != 0)
        return status;
    *ret_notices = own_calloc(ARRAY_LEN(fake->notices), sizeof(**ret_notices));
    memcpy(*ret_notices, fake->notices, sizeof(fake->notices));
    *ret_count = (size_t)fake->notice_count;
    return fake_outcome_end(fake->outcome, 0, error);
}

struct provider_driver fake_provider_driver(struct fake_provider *fake)
{
    static const struct provider_ops listing = {
        .name = "fake",
        .launch = launch,
        .describe = describe,
        .reboot = reboot,
        .terminate = terminate,
        .list = list,
    };
    static const struct provider_ops ending = {
        .name = "fake",
        .ends_orphans = true,
        .launch = launch,
        .describe = describe,
        .reboot = reboot,
        .terminate = terminate,
        .list = list,
    };
    static const struct provider_ops saying = {
        .name = "fake",
        .launch = launch,
        .describe = describe,
        .reboot = reboot,
        .terminate = terminate,
        .notices = say_notices,
    };
    static const struct provider_ops ops = {
        .name = "fake",
        .launch = launch,
        .describe = describe,
        .reboot = reboot,
        .terminate = terminate,
    };
    return (struct provider_driver){fake->ends_orphans ? &ending
                                    : fake->lists      ? &listing
                                    : fake->says       ? &saying
                                                       : &ops,
                                    (struct provider *)(void *)fake};
}
