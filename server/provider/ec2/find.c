/*
 * EC2 is consistent only in the end: an instance that was launched a moment ago may not be there to be described. So what was launched a
 * few minutes ago, or may have been, is never called gone.
 */
#include "server/provider/ec2/find.h"

#include "base/clock.h"
#include "base/own.h"
#include "base/status.h"

#include <stdio.h>
#include <string.h>

#define PAGES_MAX (EC2_LISTED_MAX / 100)
#define PAGE "100" /* an instance with 32 network interfaces and all its tags is 80 kB */
#define VISIBLE_WITHIN_MS (5 * MS_PER_MIN)
#define DESCRIBED "DescribeInstancesResponse"
#define STATUS "DescribeInstanceStatus"
#define SPOT_REQUESTS "DescribeSpotInstanceRequests"

static int ask(const struct ec2_finder *finder, const char *form, struct ec2_instances *instances, char *ret_error)
{
    struct ec2_answer answer = {.data = NULL};
    int status = ec2_call(finder->client, "DescribeInstances", form, &answer, ret_error);
    if (status == 0)
        status = ec2_read_instances(DESCRIBED, answer.data, answer.len, instances, ret_error);
    ec2_answer_free(&answer);
    return status;
}

/* A list of which a page is missing is none. */
static int ask_pages(const struct ec2_finder *finder, const char *form, struct ec2_instances *instances,
                     char *ret_error)
{
    char next[EC2_NEXT_MAX] = "";
    for (int page = 0; page < PAGES_MAX; page++) {
        AUTO(text) struct text whole = {0};
        text_add(&whole, form);
        if (next[0] != '\0')
            ec2_form_add(&whole, "NextToken", next);
        int status = ask(finder, whole.data, instances, ret_error);
        if (status != 0 || instances->next[0] == '\0')
            return status;
        text_copy_cut(next, sizeof(next), instances->next);
    }
    snprintf(ret_error, PROVIDER_ERROR_MAX, "EC2 answers more than %d pages of instances", PAGES_MAX);
    return STATUS_BACKEND;
}

static void add_filter(struct text *form, int number, const char *name, const char *const *values)
{
    autofree char *key = own_printf("Filter.%d.Name", number);
    ec2_form_add(form, key, name);
    for (int i = 0; values[i] != NULL; i++) {
        autofree char *value = own_printf("Filter.%d.Value.%d", number, i + 1);
        ec2_form_add(form, value, values[i]);
    }
}

static void add_live(const struct ec2_finder *finder, struct text *form)
{
    static const char *const live[] = {"pending", "running", "stopping", "stopped", NULL};
    add_filter(form, 1, "tag:" EC2_TAG_PROVIDER, (const char *const[]){finder->tag, NULL});
    add_filter(form, 2, "instance-state-name", live);
}

/* Whatever a filter did: only ours count, and none that is gone. */
static void keep_live(const struct ec2_finder *finder, struct ec2_instances *instances)
{
    size_t kept = 0;
    for (size_t i = 0; i < instances->count; i++)
        if (!ec2_is_gone(instances->list[i].state) && text_equal(instances->list[i].provider, finder->tag))
            instances->list[kept++] = instances->list[i];
    instances->count = kept;
}

int ec2_find_all(const struct ec2_finder *finder, struct ec2_instances *ret_instances, char *ret_error)
{
    AUTO(text) struct text form = {0};
    struct ec2_instances instances = {.list = NULL};
    add_live(finder, &form);
    ec2_form_add(&form, "MaxResults", PAGE);
    int status = ask_pages(finder, form.data, &instances, ret_error);
    if (status != 0) {
        ec2_instances_free(&instances);
        return status;
    }
    keep_live(finder, &instances);
    *ret_instances = instances;
    return 0;
}

static int read_page(const char *action, const struct ec2_answer *answer, struct ec2_notices *notices, char *ret_error)
{
    return text_equal(action, SPOT_REQUESTS)
               ? ec2_read_interruptions(answer->data, answer->len, notices, ret_error)
               : ec2_read_notices(answer->data, answer->len, clock_true_ms(clock_system()), notices, ret_error);
}

/* A list of which a page is missing is none. */
static int ask_notices(const struct ec2_finder *finder, const char *action, const char *filter,
                       const char *const *values, struct ec2_notices *notices, char *ret_error)
{
    char next[EC2_NEXT_MAX] = "";
    for (int page = 0; page < PAGES_MAX; page++) {
        AUTO(text) struct text form = {0};
        struct ec2_answer answer = {.data = NULL};
        add_filter(&form, 1, filter, values);
        ec2_form_add(&form, "MaxResults", PAGE);
        if (next[0] != '\0')
            ec2_form_add(&form, "NextToken", next);
        int status = ec2_call(finder->client, action, form.data, &answer, ret_error);
        if (status == 0)
            status = read_page(action, &answer, notices, ret_error);
        ec2_answer_free(&answer);
        if (status != 0 || notices->next[0] == '\0')
            return status;
        text_copy_cut(next, sizeof(next), notices->next);
    }
    snprintf(ret_error, PROVIDER_ERROR_MAX, "EC2 answers more than %d pages of %s", PAGES_MAX, action);
    return STATUS_BACKEND;
}

/* One question after the other: what has an event, and which hosts are impaired. */
int ec2_find_notices(const struct ec2_finder *finder, struct ec2_notices *notices, char *ret_error)
{
    static const char *const codes[] = {"instance-retirement", "instance-stop",   "system-maintenance",
                                        "system-reboot",       "instance-reboot", NULL};
    static const char *const impaired[] = {"impaired", NULL};
    int status = ask_notices(finder, STATUS, "event.code", codes, notices, ret_error);
    return status == 0 ? ask_notices(finder, STATUS, "system-status.status", impaired, notices, ret_error) : status;
}

int ec2_find_interruptions(const struct ec2_finder *finder, struct ec2_notices *notices, char *ret_error)
{
    static const char *const marked[] = {"marked-for-termination", "marked-for-stop", NULL};
    return ask_notices(finder, SPOT_REQUESTS, "status-code", marked, notices, ret_error);
}

static int take_one(struct ec2_instances *instances, struct ec2_instance *ret_instance, char *ret_error)
{
    int status = instances->count == 1 ? 0 : instances->count == 0 ? STATUS_NOT_FOUND : STATUS_CONFLICT;
    if (status == 0)
        *ret_instance = instances->list[0];
    else if (status == STATUS_CONFLICT)
        snprintf(ret_error, PROVIDER_ERROR_MAX,
                 "%zu instances have the tags of one machine, among them %s and %s: end those that are too many",
                 instances->count, instances->list[0].id, instances->list[1].id);
    ec2_instances_free(instances);
    return status;
}

int ec2_find_tagged(const struct ec2_finder *finder, const char *tag, const char *value,
                    struct ec2_instance *ret_instance, char *ret_error)
{
    AUTO(text) struct text form = {0};
    struct ec2_instances instances = {.list = NULL};
    autofree char *name = own_printf("tag:%s", tag);
    add_live(finder, &form);
    add_filter(&form, 3, name, (const char *const[]){value, NULL});
    int status = ask_pages(finder, form.data, &instances, ret_error);
    if (status != 0) {
        ec2_instances_free(&instances);
        return status;
    }
    keep_live(finder, &instances);
    size_t kept = 0;
    for (size_t i = 0; i < instances.count; i++)
        if (text_equal(text_equal(tag, EC2_TAG_LAUNCH) ? instances.list[i].launch : instances.list[i].instance_id,
                       value))
            instances.list[kept++] = instances.list[i];
    instances.count = kept;
    return take_one(&instances, ret_instance, ret_error);
}

int ec2_find_made(const struct ec2_finder *finder, const char *token, struct ec2_instance *ret_instance,
                  char *ret_error)
{
    AUTO(text) struct text form = {0};
    struct ec2_instances instances = {.list = NULL};
    add_filter(&form, 1, "client-token", (const char *const[]){token, NULL});
    int status = ask_pages(finder, form.data, &instances, ret_error);
    if (status != 0) {
        ec2_instances_free(&instances);
        return status;
    }
    return take_one(&instances, ret_instance, ret_error);
}

int ec2_find_id(const struct ec2_finder *finder, const char *id, struct ec2_instance *ret_instance, char *ret_error)
{
    AUTO(text) struct text form = {0};
    struct ec2_instances instances = {.list = NULL};
    if (!ec2_is_id(id)) {
        snprintf(ret_error, PROVIDER_ERROR_MAX, "\"%.80s\" is no id of EC2", id);
        return STATUS_NOT_FOUND;
    }
    ec2_form_add(&form, "InstanceId.1", id);
    int status = ask(finder, form.data, &instances, ret_error);
    if (status == 0 && instances.count > 0 && !text_equal(instances.list[0].id, id)) {
        snprintf(ret_error, PROVIDER_ERROR_MAX, "EC2 answers for %s with another instance", id);
        status = STATUS_BACKEND;
    }
    if (status != 0) {
        ec2_instances_free(&instances);
        return status;
    }
    return take_one(&instances, ret_instance, ret_error);
}

/* Whether a launch of a few minutes ago made it, or may have. */
static bool may_be_hidden(const struct ec2_memory *launch, const char *id)
{
    bool asked = launch->step == EC2_STEP_SENT || launch->step == EC2_STEP_DONE;
    bool this_one = id[0] == '\0' || launch->ref[0] == '\0' || text_equal(id, launch->ref);
    return asked && this_one && clock_wall_ms(clock_system()) - launch->at < VISIBLE_WITHIN_MS;
}

int ec2_find_target(const struct ec2_finder *finder, const struct provider_target *target,
                    struct ec2_instance *ret_instance, char *ret_error)
{
    struct ec2_memory launch = {.step = EC2_STEP_NONE};
    char id[EC2_ID_MAX] = "";
    ret_error[0] = '\0';
    const char *ref = text_or_empty(target->ref), *key = text_or_empty(target->launch_key);
    if (key[0] != '\0')
        ec2_memory_look(finder->state_dir, "launch", key, &launch);
    text_copy_cut(id, sizeof(id), ref[0] != '\0' ? ref : launch.ref);
    int status = id[0] != '\0'
                     ? ec2_find_id(finder, id, ret_instance, ret_error)
                     : ec2_find_tagged(finder, EC2_TAG_INSTANCE, target->instance_id, ret_instance, ret_error);
    if (status != STATUS_NOT_FOUND || !may_be_hidden(&launch, id))
        return status;
    snprintf(ret_error, PROVIDER_ERROR_MAX, "EC2 does not show the instance yet that the launch of %s asked for",
             target->instance_id);
    return STATUS_UNAVAILABLE;
}
