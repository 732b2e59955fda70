/* The driver: what each call of a provider means at EC2. */
#include "server/provider/ec2/ec2.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/own.h"
#include "base/status.h"
#include "server/provider/contract.h"
#include "server/provider/ec2/find.h"
#include "server/provider/ec2/reset.h"

#include <stdio.h>
#include <string.h>

#define RUN "RunInstancesResponse"

struct provider {
    struct provider_ops ops; /* its name is the site's */
    char name[NAME_MAX_BYTES];
    char *state_dir;
    struct ec2_shape shape;
    struct ec2_finder finder;
    bool stop_start;
    bool spot_denied; /* it was said that the role lacks a right; one call at a time asks */
};

static int64_t now(void)
{
    return clock_wall_ms(clock_system());
}

static int say_disk(char *ret_error, const struct provider *p, int status)
{
    if (status == STATUS_CONFLICT)
        snprintf(ret_error, PROVIDER_ERROR_MAX, "the same call goes on");
    else
        snprintf(ret_error, PROVIDER_ERROR_MAX, "%.150s/calls: %s", p->state_dir, status_meaning(status));
    return status == STATUS_CONFLICT ? STATUS_UNAVAILABLE : STATUS_IO;
}

static void show(const struct ec2_instance *found, struct provider_instance *ret_instance)
{
    *ret_instance = (struct provider_instance){.state = found->state == EC2_STATE_RUNNING ? PROVIDER_INSTANCE_RUNNING
                                                        : ec2_is_gone(found->state)       ? PROVIDER_INSTANCE_GONE
                                                                                          : PROVIDER_INSTANCE_PENDING};
    text_copy_cut(ret_instance->ref, sizeof(ret_instance->ref), found->id);
    text_copy_cut(ret_instance->address, sizeof(ret_instance->address), found->address);
    if (found->state == EC2_STATE_STOPPED || found->state == EC2_STATE_STOPPING)
        snprintf(ret_instance->trouble, sizeof(ret_instance->trouble), "the instance is %s",
                 ec2_state_text(found->state));
}

/* --- launch ---------------------------------------------------------------------------------------------------- */

struct launching {
    struct provider *p;
    const struct provider_launch *launch;
    struct ec2_entry entry;
    struct ec2_memory memory;
    struct ec2_instance made;
    char *ret_error;
};

static int remember(struct launching *l, enum ec2_step step)
{
    l->memory.step = step;
    l->memory.at = now();
    int status = ec2_memory_write(&l->entry, &l->memory);
    return status == 0 ? 0 : say_disk(l->ret_error, l->p, status);
}

/* The instance is there; that its id is not written down is no reason to say otherwise, as its tag has the key. */
static int made(struct launching *l)
{
    char error[PROVIDER_ERROR_MAX];
    char *said = l->ret_error;
    text_copy_cut(l->memory.ref, sizeof(l->memory.ref), l->made.id);
    l->ret_error = error;
    (void)remember(l, EC2_STEP_DONE);
    l->ret_error = said;
    return 0;
}

/* The client token was used before, with other parameters: a token of the machine is made anew for each try. */
static int find_made(struct launching *l)
{
    char token[EC2_HASH_MAX];
    ec2_client_token(l->launch->key, l->memory.subnet, token);
    int status = ec2_find_made(&l->p->finder, token, &l->made, l->ret_error);
    if (status == STATUS_NOT_FOUND) {
        snprintf(l->ret_error, PROVIDER_ERROR_MAX, "EC2 has made the instance before and does not show it yet");
        return STATUS_UNAVAILABLE;
    }
    return status == 0 ? made(l) : status;
}

static int read_run(struct launching *l, const struct ec2_answer *answer)
{
    struct ec2_instances instances = {.list = NULL};
    int status = ec2_read_instances(RUN, answer->data, answer->len, &instances, l->ret_error);
    if (status == 0 && instances.count != 1) {
        snprintf(l->ret_error, PROVIDER_ERROR_MAX, "EC2 answers a launch of one instance with %zu", instances.count);
        status = STATUS_BACKEND;
    }
    if (status == 0)
        l->made = instances.list[0];
    ec2_instances_free(&instances);
    return status;
}

/*
 * In the subnet that memory has. *ret_certain: nothing was made. Of a launch that is repeated as its answer was lost, only the word that there is
 * no capacity says so: EC2 has looked up the client token by then. Any other refusal is of the repeat alone.
 */
static int run_once(struct launching *l, bool *ret_certain)
{
    bool repeats = l->memory.step == EC2_STEP_SENT;
    AUTO(text) struct text form = {0};
    struct ec2_answer answer = {.data = NULL};
    *ret_certain = false;
    int status = remember(l, EC2_STEP_SENT);
    if (status != 0)
        return status;
    ec2_write_launch(&l->p->shape, l->launch, l->memory.subnet, &form);
    status = ec2_call(l->p->finder.client, "RunInstances", form.data, &answer, l->ret_error);
    explicit_bzero(form.data, form.len);
    if (status == 0) {
        status = read_run(l, &answer);
        status = status == 0 ? made(l) : status;
    } else if (answer.refusal.mismatch) {
        status = find_made(l);
    } else if (answer.refusal.certain && (!repeats || status == STATUS_FULL)) {
        int kept = remember(l, EC2_STEP_NONE);
        *ret_certain = kept == 0;
        status = kept != 0 ? kept : status;
    }
    ec2_answer_free(&answer);
    return status;
}

static bool is_in_zone(const struct launching *l, const struct ec2_subnet *subnet)
{
    return l->launch->zone[0] == '\0' || text_equal(subnet->zone, l->launch->zone);
}

/* One subnet after the other, while EC2 says for certain that it has no capacity there. */
static int run_anywhere(struct launching *l)
{
    const struct ec2_shape *shape = &l->p->shape;
    bool certain, tried = false;
    int status = STATUS_INVALID;
    if (shape->subnet_count == 0) {
        l->memory.subnet[0] = '\0';
        return run_once(l, &certain);
    }
    for (size_t i = 0; i < shape->subnet_count; i++) {
        if (!is_in_zone(l, &shape->subnets[i]))
            continue;
        tried = true;
        text_copy_cut(l->memory.subnet, sizeof(l->memory.subnet), shape->subnets[i].id);
        status = run_once(l, &certain);
        if (status != STATUS_FULL || !certain)
            return status;
    }
    if (!tried)
        snprintf(l->ret_error, PROVIDER_ERROR_MAX, "none of the provider's subnets is in zone %s", l->launch->zone);
    return status;
}

/* What an earlier try may have made comes first. NOT_FOUND: none did. */
static int find_earlier(struct launching *l)
{
    char hash[EC2_HASH_MAX];
    if (l->memory.ref[0] != '\0') {
        int status = ec2_find_id(&l->p->finder, l->memory.ref, &l->made, l->ret_error);
        if (status != STATUS_NOT_FOUND)
            return status;
        text_copy_cut(l->made.id, sizeof(l->made.id), l->memory.ref); /* not shown yet, or not any more */
        l->made.state = EC2_STATE_PENDING;
        return 0;
    }
    ec2_key_hash(l->launch->key, hash);
    int status = ec2_find_tagged(&l->p->finder, EC2_TAG_LAUNCH, hash, &l->made, l->ret_error);
    return status == 0 ? made(l) : status;
}

static int launch_open(struct launching *l)
{
    bool certain;
    int status = find_earlier(l);
    if (status != STATUS_NOT_FOUND)
        return status;
    if (l->memory.damaged) {
        snprintf(l->ret_error, PROVIDER_ERROR_MAX,
                 "%.150s cannot be read: EC2 may have made the instance. Remove the file if not", l->entry.path);
        return STATUS_UNAVAILABLE;
    }
    if (l->memory.step ==
        EC2_STEP_SENT) { /* the same again, before any other place: EC2 makes one for its client token */
        status = run_once(l, &certain);
        if (status != STATUS_FULL || !certain)
            return status;
    }
    return run_anywhere(l);
}

static int launch(struct provider *p, const struct provider_launch *launch, struct provider_instance *ret_instance,
                  char *ret_error)
{
    struct launching l = {.p = p, .launch = launch, .ret_error = ret_error};
    int status = ec2_memory_open(p->state_dir, "launch", launch->key, &l.entry, &l.memory);
    if (status != 0)
        return say_disk(ret_error, p, status);
    status = launch_open(&l);
    ec2_memory_close(&l.entry);
    if (status == 0)
        show(&l.made, ret_instance);
    return status;
}

/* --- describe, list -------------------------------------------------------------------------------------------- */

static void add_trouble(struct provider *p, struct provider_instance *instance)
{
    AUTO(text) struct text form = {0};
    struct ec2_answer answer = {.data = NULL};
    char error[PROVIDER_ERROR_MAX];
    ec2_form_add(&form, "InstanceId.1", instance->ref);
    if (ec2_call(p->finder.client, "DescribeInstanceStatus", form.data, &answer, error) == 0)
        (void)ec2_read_trouble(answer.data, answer.len, instance->trouble, error);
    ec2_answer_free(&answer);
}

static int describe(struct provider *p, const struct provider_target *target, struct provider_instance *ret_instance,
                    char *ret_error)
{
    struct ec2_instance found;
    int status = ec2_find_target(&p->finder, target, &found, ret_error);
    if (status == STATUS_NOT_FOUND) {
        *ret_instance = (struct provider_instance){.state = PROVIDER_INSTANCE_GONE};
        return 0;
    }
    if (status != 0)
        return status;
    show(&found, ret_instance);
    if (ret_instance->state == PROVIDER_INSTANCE_RUNNING)
        add_trouble(p, ret_instance);
    return 0;
}

static int list(struct provider *p, struct provider_listed **ret_list, size_t *ret_count, char *ret_error)
{
    struct ec2_instances instances = {.list = NULL};
    int status = ec2_find_all(&p->finder, &instances, ret_error);
    if (status != 0)
        return status;
    struct provider_listed *listed = own_calloc(instances.count + 1, sizeof(*listed));
    for (size_t i = 0; i < instances.count; i++) {
        text_copy_cut(listed[i].ref, sizeof(listed[i].ref), instances.list[i].id);
        text_copy_cut(listed[i].instance_id, sizeof(listed[i].instance_id), instances.list[i].instance_id);
    }
    *ret_list = listed;
    *ret_count = instances.count;
    ec2_instances_free(&instances);
    return 0;
}

/* A role that lacks this right has all the other notices: it was not asked for by earlier versions. */
static int find_interruptions(struct provider *p, struct ec2_notices *found, char *ret_error)
{
    int status = ec2_find_interruptions(&p->finder, found, ret_error);
    if (status == STATUS_DENIED && !p->spot_denied)
        log_warn("the provider %s does not see which spot instances EC2 takes back: give its role "
                 "ec2:DescribeSpotInstanceRequests (%s)",
                 p->name, ret_error);
    p->spot_denied = status == STATUS_DENIED;
    return status == STATUS_DENIED ? 0 : status;
}

static int notices(struct provider *p, struct provider_notice **ret_notices, size_t *ret_count, char *ret_error)
{
    struct ec2_notices found = {.list = NULL};
    int status = ec2_find_notices(&p->finder, &found, ret_error);
    if (status == 0 && p->shape.market == EC2_MARKET_SPOT)
        status = find_interruptions(p, &found, ret_error);
    if (status != 0) {
        ec2_notices_free(&found);
        return status;
    }
    *ret_notices = found.list;
    *ret_count = found.count;
    return 0;
}

/* --- reboot, terminate ----------------------------------------------------------------------------------------- */

/* Nobody's but ours: an id that somebody wrote into the store, or another's instance, is left alone. */
static int check_ours(const struct provider *p, const struct ec2_instance *found, char *ret_error)
{
    if (text_equal(found->provider, p->shape.tag))
        return 0;
    snprintf(ret_error, PROVIDER_ERROR_MAX, "instance %s has no tag " EC2_TAG_PROVIDER "=%s: hpd leaves it alone",
             found->id, p->shape.tag);
    return STATUS_DENIED;
}

static int find_ours(struct provider *p, const struct provider_target *target, struct ec2_instance *ret_found,
                     char *ret_error)
{
    int status = ec2_find_target(&p->finder, target, ret_found, ret_error);
    if (status == 0 && ec2_is_gone(ret_found->state))
        status = STATUS_NOT_FOUND;
    if (status == STATUS_NOT_FOUND && ret_error[0] == '\0')
        snprintf(ret_error, PROVIDER_ERROR_MAX, "EC2 has no instance %s any more", provider_target_ref(target));
    return status == 0 ? check_ours(p, ret_found, ret_error) : status;
}

static int reboot(struct provider *p, const struct provider_target *target, const char *key, char *ret_error)
{
    struct ec2_instance found;
    struct ec2_reset reset = {.finder = &p->finder, .ret_error = ret_error};
    int status = find_ours(p, target, &found, ret_error);
    if (status != 0)
        return status;
    status = ec2_memory_open(p->state_dir, "reboot", key, &reset.entry, &reset.memory);
    if (status != 0)
        return say_disk(ret_error, p, status);
    status = p->stop_start ? ec2_stop_start(&reset, &found) : ec2_reboot(&reset, &found);
    ec2_memory_close(&reset.entry);
    return status;
}

static int terminate(struct provider *p, const struct provider_target *target, const char *key, char *ret_error)
{
    (void)key; /* an instance is ended once, however often EC2 is asked */
    AUTO(text) struct text form = {0};
    struct ec2_answer answer = {.data = NULL};
    struct ec2_instance found;
    int status = find_ours(p, target, &found, ret_error);
    if (status != 0)
        return status == STATUS_NOT_FOUND ? 0 : status;
    ec2_form_add(&form, "InstanceId.1", found.id);
    status = ec2_call(p->finder.client, "TerminateInstances", form.data, &answer, ret_error);
    if (status == 0)
        status = ec2_read_done("TerminateInstancesResponse", answer.data, answer.len, ret_error);
    ec2_answer_free(&answer);
    return status == STATUS_NOT_FOUND ? 0 : status;
}

static void test(struct provider *p, const struct provider_test *test)
{
    provider_contract((struct provider_driver){.ops = &p->ops, .self = p}, test);
}

/* --- making one ------------------------------------------------------------------------------------------------ */

static void ec2_free(struct provider *p)
{
    if (p == NULL)
        return;
    ec2_client_free(p->finder.client);
    free(p->state_dir);
    free(p);
}

int ec2_new(const struct ec2_options *options, struct provider_driver *ret_driver, char *ret_error)
{
    struct provider *p = own_calloc(1, sizeof(*p));
    p->ops = (struct provider_ops){.name = p->name,
                                   .kind = "ec2",
                                   .ends_orphans = options->end_orphans,
                                   .launch = launch,
                                   .describe = describe,
                                   .reboot = reboot,
                                   .terminate = terminate,
                                   .list = list,
                                   .notices = notices,
                                   .test = test,
                                   .free = ec2_free};
    text_copy_cut(p->name, sizeof(p->name), options->name);
    p->shape = *options->shape;
    p->stop_start = options->stop_start;
    p->state_dir = own_strdup(options->state_dir);
    if (p->shape.tag[0] == '\0')
        text_copy_cut(p->shape.tag, sizeof(p->shape.tag), options->name);
    p->finder = (struct ec2_finder){.tag = p->shape.tag, .state_dir = p->state_dir};
    int status = ec2_client_new(&options->client, &p->finder.client, ret_error);
    if (status == 0 && (status = file_make_dirs(p->state_dir, 0700)) != 0)
        snprintf(ret_error, PROVIDER_ERROR_MAX, "%.200s: %s", p->state_dir, status_meaning(status));
    if (status != 0) {
        ec2_free(p);
        return status;
    }
    ec2_memory_prune(p->state_dir);
    *ret_driver = (struct provider_driver){.ops = &p->ops, .self = p};
    return 0;
}
