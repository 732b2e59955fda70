/*
 * The local provider behind provider.h: which instances there are, who may touch one at a time, and what each request means.
 *
 * The directories are the truth; the list in memory only spares reading them all to find a key again. Machines do not
 * belong to this process: they run on when it ends, and the next one finds them here.
 */
#include "server/provider/lab/local.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"
#include "server/provider/lab/instance.h"
#include "server/provider/lab/power.h"
#include "server/provider/lab/template.h"

#include <dirent.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define INSTANCES_MAX 1024 /* alive at once on one host; each is some processes */
#define KNOWN_FIRST 16
#define DIR_BYTES_MAX (PATH_MAX - 128) /* leaves room for what is in it */
#define TERMINATED_KEEP_MS (7 * MS_PER_DAY)
#define ADDRESS "127.0.0.1"

struct known {
    char id[ID_INSTANCE_MAX], key[KEY_MAX_BYTES];
    bool terminated;
};

/* An instance that a call is about; others for the same one wait. */
struct claim {
    const char *id;
    struct claim *next;
};

struct provider {
    char *dir, *self_path;
    int64_t boot_delay_ms;
    struct instance_service services[LOCAL_SERVICES_MAX]; /* templates */
    size_t service_count;
    pthread_mutex_t mutex; /* for the claims and the list */
    pthread_cond_t released;
    struct claim *claims;
    pthread_mutex_t launching; /* outside of mutex and of claims: one new instance at a time */
    struct known *known;
    size_t known_count, known_capacity;
};

/* --- claims ------------------------------------------------------------------------------------ */
static bool is_claimed(const struct provider *p, const char *id)
{
    for (const struct claim *claim = p->claims; claim != NULL; claim = claim->next)
        if (text_equal(claim->id, id))
            return true;
    return false;
}

static void claim_take(struct provider *p, struct claim *claim, const char *id)
{
    pthread_mutex_lock(&p->mutex);
    while (is_claimed(p, id))
        pthread_cond_wait(&p->released, &p->mutex);
    *claim = (struct claim){.id = id, .next = p->claims};
    p->claims = claim;
    pthread_mutex_unlock(&p->mutex);
}

static void claim_release(struct provider *p, struct claim *claim)
{
    pthread_mutex_lock(&p->mutex);
    for (struct claim **at = &p->claims; *at != NULL; at = &(*at)->next)
        if (*at == claim) {
            *at = claim->next;
            break;
        }
    pthread_cond_broadcast(&p->released);
    pthread_mutex_unlock(&p->mutex);
}

/* --- the list ---------------------------------------------------------------------------------- */
static void known_add(struct provider *p, const char *id, const char *key, bool terminated)
{
    pthread_mutex_lock(&p->mutex);
    if (p->known_count == p->known_capacity) {
        p->known_capacity = p->known_capacity == 0 ? KNOWN_FIRST : p->known_capacity * 2;
        p->known = own_realloc(p->known, p->known_capacity, sizeof(*p->known));
    }
    struct known *known = &p->known[p->known_count++];
    *known = (struct known){.terminated = terminated};
    text_copy_cut(known->id, sizeof(known->id), id);
    text_copy_cut(known->key, sizeof(known->key), key);
    pthread_mutex_unlock(&p->mutex);
}

static bool known_by_key(struct provider *p, const char *key, char ret_id[ID_INSTANCE_MAX])
{
    bool found = false;
    pthread_mutex_lock(&p->mutex);
    for (size_t i = 0; i < p->known_count && !found; i++) {
        found = text_equal(p->known[i].key, key);
        if (found)
            text_copy_cut(ret_id, ID_INSTANCE_MAX, p->known[i].id);
    }
    pthread_mutex_unlock(&p->mutex);
    return found;
}

static void known_terminated(struct provider *p, const char *id)
{
    pthread_mutex_lock(&p->mutex);
    for (size_t i = 0; i < p->known_count; i++)
        if (text_equal(p->known[i].id, id))
            p->known[i].terminated = true;
    pthread_mutex_unlock(&p->mutex);
}

static size_t known_alive(struct provider *p)
{
    size_t count = 0;
    pthread_mutex_lock(&p->mutex);
    for (size_t i = 0; i < p->known_count; i++)
        count += !p->known[i].terminated;
    pthread_mutex_unlock(&p->mutex);
    return count;
}

static bool is_long_gone(const char *dir)
{
    autofree char *path = instance_path(dir, "terminated.json");
    struct stat st;
    return stat(path, &st) == 0 && clock_wall_ms(clock_system()) - st.st_mtime * MS_PER_S > TERMINATED_KEEP_MS;
}

static void load_one(struct provider *p, const char *id)
{
    autofree char *dir = instance_path(p->dir, id);
    char error[PROVIDER_ERROR_MAX] = "";
    struct instance_spec spec;
    if (is_long_gone(dir)) {
        (void)file_remove_tree(dir);
        return;
    }
    int status = instance_spec_read(dir, &spec, error);
    if (status == STATUS_NOT_FOUND)
        return; /* a launch that got no further; it will be repeated */
    if (status != 0) {
        log_warn("%s: %s", dir, error);
        return;
    }
    known_add(p, id, spec.key, instance_is_terminated(dir));
    instance_spec_free(&spec);
}

static int load(struct provider *p)
{
    DIR *dir = opendir(p->dir);
    const struct dirent *entry;
    if (dir == NULL)
        return STATUS_IO;
    while ((entry = readdir(dir)) != NULL)
        if (instance_id_is_valid(entry->d_name))
            load_one(p, entry->d_name);
    closedir(dir);
    return 0;
}

/* --- launch ------------------------------------------------------------------------------------ */
static int refuse(char *ret_error, int status, const char *sentence)
{
    snprintf(ret_error, PROVIDER_ERROR_MAX, "%s", sentence);
    return status;
}

static const char *or_empty(const char *text)
{
    return text == NULL ? "" : text;
}

/* X(name, value): what a service's command may ask for. */
#define PLACEHOLDERS(X)                           \
    X(node, spec->node)                           \
    X(instance, id)                               \
    X(dir, dir)                                   \
    X(kmsg, kmsg)                                 \
    X(bootIdFile, boot_id)                        \
    X(server, or_empty(launch->server_url))       \
    X(fingerprint, or_empty(launch->fingerprint)) \
    X(tokenFile, token)                           \
    X(group, spec->group)                         \
    X(cluster, spec->cluster)                     \
    X(image, or_empty(launch->image_id))          \
    X(release, or_empty(launch->release))         \
    X(zone, or_empty(launch->zone))

int local_check_command(char *const argv[], char *ret_error)
{
#define VALUE(name, value) {#name, "x"},
    const struct template_value values[] = {PLACEHOLDERS(VALUE)};
#undef VALUE
    char **expanded = NULL;
    int status = template_expand(argv, values, ARRAY_LEN(values), &expanded, ret_error);
    if (status == 0)
        template_free(expanded);
    return status;
}

static int fill_spec(const struct provider *p, const struct provider_launch *launch, const char *id, const char *dir,
                     struct instance_spec *spec, char *ret_error)
{
    autofree char *kmsg = instance_path(dir, "kmsg"), *boot_id = instance_path(dir, "boot_id"),
                  *token = instance_path(dir, "token");
#define VALUE(name, value) {#name, value},
    const struct template_value values[] = {PLACEHOLDERS(VALUE)};
#undef VALUE
    if (text_copy(spec->id, sizeof(spec->id), id) != 0 || text_copy(spec->key, sizeof(spec->key), launch->key) != 0 ||
        text_copy(spec->node, sizeof(spec->node), or_empty(launch->node)) != 0 ||
        text_copy(spec->cluster, sizeof(spec->cluster), or_empty(launch->cluster)) != 0 ||
        text_copy(spec->group, sizeof(spec->group), or_empty(launch->group)) != 0 ||
        text_copy(spec->type, sizeof(spec->type), or_empty(launch->instance_type)) != 0)
        return refuse(ret_error, STATUS_INVALID, "a name of the instance is too long");
    spec->boot_delay_ms = p->boot_delay_ms;
    for (size_t i = 0; i < p->service_count; i++) {
        text_copy_cut(spec->services[i].name, sizeof(spec->services[i].name), p->services[i].name);
        spec->service_count = i + 1;
        int status =
            template_expand(p->services[i].argv, values, ARRAY_LEN(values), &spec->services[i].argv, ret_error);
        if (status == 0 && spec->services[i].argv[0] == NULL)
            status = refuse(ret_error, STATUS_INVALID, "nothing is left of a service's command");
        if (status != 0)
            return status;
    }
    return 0;
}

/* A name in the PATH, as execvp(3) would find it. */
static bool is_in_path(const char *name)
{
    const char *at = getenv("PATH");
    while (at != NULL && *at != '\0') {
        size_t len = strcspn(at, ":");
        autofree char *path = own_printf("%.*s/%s", (int)len, len > 0 ? at : ".", name);
        if (access(path, X_OK) == 0)
            return true;
        at += len + (at[len] == ':' ? 1 : 0);
    }
    return false;
}

/* A machine whose agent cannot be started would keep everybody waiting for it until the join deadline, and say why only in
 * a log of its own. */
static int check_programs(const struct instance_spec *spec, char *ret_error)
{
    for (size_t i = 0; i < spec->service_count; i++) {
        const char *program = spec->services[i].argv[0];
        bool relative = strchr(program, '/') != NULL && program[0] != '/'; /* to where the machine runs */
        if (relative || (program[0] == '/' ? access(program, X_OK) == 0 : is_in_path(program)))
            continue;
        snprintf(ret_error, PROVIDER_ERROR_MAX, "the service %s cannot be started: there is no program %.128s%s",
                 spec->services[i].name, program, program[0] == '/' ? "" : " in hpd's PATH");
        return STATUS_INVALID;
    }
    return 0;
}

static int write_new(struct provider *p, const struct provider_launch *launch, const char *id, char *ret_error)
{
    autofree char *dir = instance_path(p->dir, id);
    autofree char *log = instance_path(dir, "log");
    struct instance_spec spec = {0};
    int status = fill_spec(p, launch, id, dir, &spec, ret_error);
    if (status == 0)
        status = check_programs(&spec, ret_error);
    if (status == 0) {
        status = file_make_dirs(log, 0700);
        if (status == 0)
            status = instance_token_write(dir, or_empty(launch->enrollment_token));
        if (status == 0)
            status = instance_spec_write(dir, &spec);
        if (status != 0)
            snprintf(ret_error, PROVIDER_ERROR_MAX, "the instance cannot be written: %s", status_meaning(status));
    }
    instance_spec_free(&spec);
    return status;
}

static int check_launch(const struct provider_launch *launch, char *ret_error)
{
    if (!instance_key_is_valid(launch->key))
        return refuse(ret_error, STATUS_INVALID, "the launch has no usable idempotency key");
    if (launch->instance_id != NULL && launch->instance_id[0] != '\0' && !instance_id_is_valid(launch->instance_id))
        return refuse(ret_error, STATUS_INVALID, "an instance id is \"i-\" and 17 hex digits");
    return 0;
}

/* The instance of this key: the one that was made then, or a new one. */
static int find_or_make(struct provider *p, const struct provider_launch *launch, char ret_id[ID_INSTANCE_MAX],
                        char *ret_error)
{
    if (known_by_key(p, launch->key, ret_id))
        return 0;
    char id[ID_INSTANCE_MAX];
    if (launch->instance_id == NULL || launch->instance_id[0] == '\0')
        id_instance(NULL, id);
    else
        text_copy_cut(id, sizeof(id), launch->instance_id);
    autofree char *dir = instance_path(p->dir, id);
    autofree char *json = instance_path(dir, "instance.json");
    if (file_exists(json) || instance_is_ending(dir))
        return refuse(ret_error, STATUS_CONFLICT, "the instance id belongs to another launch");
    if (known_alive(p) >= INSTANCES_MAX)
        return refuse(ret_error, STATUS_FULL, "this host has as many instances as it may");
    struct claim claim;
    claim_take(p, &claim, id);
    int status = write_new(p, launch, id, ret_error);
    claim_release(p, &claim);
    if (status != 0)
        return status;
    known_add(p, id, launch->key, false);
    text_copy_cut(ret_id, ID_INSTANCE_MAX, id);
    return 0;
}

static void answer(struct provider_instance *ret_instance, const char *id, enum provider_instance_state state)
{
    *ret_instance = (struct provider_instance){.state = state};
    text_copy_cut(ret_instance->ref, sizeof(ret_instance->ref), id);
    text_copy_cut(ret_instance->address, sizeof(ret_instance->address), state == PROVIDER_INSTANCE_GONE ? "" : ADDRESS);
}

/* The last token handed out is the one with the longest life, so each repeat brings its own. */
static int bring_up(struct provider *p, const struct provider_launch *launch, const char *id,
                    struct provider_instance *ret_instance, char *ret_error)
{
    autofree char *dir = instance_path(p->dir, id);
    const char *token = or_empty(launch->enrollment_token);
    if (instance_is_ending(dir)) {
        answer(ret_instance, id, PROVIDER_INSTANCE_GONE);
        return 0;
    }
    int status = token[0] == '\0' ? 0 : instance_token_write(dir, token);
    if (status != 0) {
        snprintf(ret_error, PROVIDER_ERROR_MAX, "the enrolment token cannot be written: %s", status_meaning(status));
        return status;
    }
    status = power_on(p->self_path, dir, ret_error);
    if (status == 0)
        answer(ret_instance, id, PROVIDER_INSTANCE_RUNNING);
    return status;
}

static int local_launch(struct provider *p, const struct provider_launch *launch,
                        struct provider_instance *ret_instance, char *ret_error)
{
    char id[ID_INSTANCE_MAX];
    struct claim claim;
    int status = check_launch(launch, ret_error);
    if (status != 0)
        return status;
    pthread_mutex_lock(&p->launching);
    status = find_or_make(p, launch, id, ret_error);
    pthread_mutex_unlock(&p->launching);
    if (status != 0)
        return status;
    claim_take(p, &claim, id);
    status = bring_up(p, launch, id, ret_instance, ret_error);
    claim_release(p, &claim);
    return status;
}

/* --- the other requests -------------------------------------------------------------------------- */
static bool was_made(const char *dir)
{
    autofree char *json = instance_path(dir, "instance.json");
    return file_exists(json);
}

/* A machine without a supervisor lost its power, or was never plugged in: it is switched on again. */
static int local_describe(struct provider *p, const struct provider_target *target,
                          struct provider_instance *ret_instance, char *ret_error)
{
    const char *instance_id = provider_target_ref(target);
    struct claim claim;
    (void)ret_error;
    if (!instance_id_is_valid(instance_id)) {
        answer(ret_instance, "", PROVIDER_INSTANCE_GONE);
        return 0;
    }
    autofree char *dir = instance_path(p->dir, instance_id);
    char why_not[PROVIDER_ERROR_MAX];
    claim_take(p, &claim, instance_id);
    enum provider_instance_state state = PROVIDER_INSTANCE_GONE;
    if (was_made(dir) && !instance_is_terminated(dir)) {
        if (!instance_is_ending(dir))
            (void)power_on(p->self_path, dir, why_not);
        state = power_is_on(dir) ? PROVIDER_INSTANCE_RUNNING : PROVIDER_INSTANCE_PENDING;
    }
    claim_release(p, &claim);
    answer(ret_instance, instance_id, state);
    if (state != PROVIDER_INSTANCE_GONE)
        instance_trouble_read(dir, ret_instance->trouble, sizeof(ret_instance->trouble));
    return 0;
}

static int local_reboot(struct provider *p, const struct provider_target *target, const char *key, char *ret_error)
{
    const char *instance_id = provider_target_ref(target);
    struct claim claim;
    if (!instance_key_is_valid(key))
        return refuse(ret_error, STATUS_INVALID, "the reboot has no usable idempotency key");
    if (!instance_id_is_valid(instance_id))
        return refuse(ret_error, STATUS_NOT_FOUND, "there is no such instance");
    autofree char *dir = instance_path(p->dir, instance_id);
    claim_take(p, &claim, instance_id);
    int status = was_made(dir) && !instance_is_ending(dir)
                     ? power_cycle(p->self_path, dir, key, ret_error)
                     : refuse(ret_error, STATUS_NOT_FOUND, "there is no such instance");
    claim_release(p, &claim);
    return status;
}

static int end_instance(const char *dir, const char *key, char *ret_error)
{
    int status = instance_end_begin(dir, key);
    if (status == 0) {
        status = power_off(dir, ret_error);
        if (status != 0)
            return status;
        status = instance_end_finish(dir, key);
    }
    if (status != 0)
        snprintf(ret_error, PROVIDER_ERROR_MAX, "the instance's end cannot be written: %s", status_meaning(status));
    return status;
}

static int local_terminate(struct provider *p, const struct provider_target *target, const char *key, char *ret_error)
{
    const char *instance_id = provider_target_ref(target);
    struct claim claim;
    if (!instance_key_is_valid(key))
        return refuse(ret_error, STATUS_INVALID, "the termination has no usable idempotency key");
    if (!instance_id_is_valid(instance_id))
        return 0;
    autofree char *dir = instance_path(p->dir, instance_id);
    claim_take(p, &claim, instance_id);
    int status = 0;
    if (file_exists(dir) && !instance_is_terminated(dir))
        status = end_instance(dir, key, ret_error);
    if (status == 0)
        known_terminated(p, instance_id);
    claim_release(p, &claim);
    return status;
}

/* --- the provider ------------------------------------------------------------------------------ */
static void local_free(struct provider *p)
{
    if (p == NULL)
        return;
    for (size_t i = 0; i < p->service_count; i++)
        template_free(p->services[i].argv);
    pthread_mutex_destroy(&p->mutex);
    pthread_mutex_destroy(&p->launching);
    pthread_cond_destroy(&p->released);
    free(p->known);
    free(p->dir);
    free(p->self_path);
    free(p);
}

static char **copy_argv(char *const argv[])
{
    char **copy = own_calloc(LOCAL_ARGS_MAX + 1, sizeof(*copy));
    for (size_t i = 0; i < LOCAL_ARGS_MAX && argv[i] != NULL; i++)
        copy[i] = own_strdup(argv[i]);
    return copy;
}

static int take_services(struct provider *p, const struct local_options *options)
{
    if (options->service_count > LOCAL_SERVICES_MAX)
        return STATUS_TOO_LARGE;
    for (size_t i = 0; i < options->service_count; i++) {
        const struct local_service *service = &options->services[i];
        if (!text_is_name(service->name) || service->argv[0] == NULL)
            return STATUS_INVALID;
        text_copy_cut(p->services[i].name, sizeof(p->services[i].name), service->name);
        p->services[i].argv = copy_argv(service->argv);
        p->service_count = i + 1;
    }
    return 0;
}

static int take_dir(struct provider *p, const char *dir)
{
    if (dir == NULL || strlen(dir) >= DIR_BYTES_MAX)
        return STATUS_INVALID;
    int status = file_make_dirs(dir, 0700);
    if (status != 0)
        return status;
    p->dir = realpath(dir, NULL);
    return p->dir == NULL ? STATUS_IO : strlen(p->dir) >= DIR_BYTES_MAX ? STATUS_TOO_LARGE : 0;
}

int local_new(const struct local_options *options, struct provider_driver *ret_driver)
{
    static const struct provider_ops ops = {
        .name = "local",
        .launch = local_launch,
        .describe = local_describe,
        .reboot = local_reboot,
        .terminate = local_terminate,
        .free = local_free,
    };
    struct provider *p = own_calloc(1, sizeof(*p));
    pthread_mutex_init(&p->mutex, NULL);
    pthread_mutex_init(&p->launching, NULL);
    pthread_cond_init(&p->released, NULL);
    p->self_path = own_strdup(options->self_path);
    p->boot_delay_ms = options->boot_delay_ms;
    int status = p->self_path == NULL || p->boot_delay_ms < 0 ? STATUS_INVALID : 0;
    if (status == 0)
        status = take_services(p, options);
    if (status == 0)
        status = take_dir(p, options->dir);
    if (status == 0)
        status = load(p);
    if (status != 0) {
        local_free(p);
        return status;
    }
    *ret_driver = (struct provider_driver){.ops = &ops, .self = p};
    return 0;
}
