/*
 * resource_config.json, which lifecycle scripts read: every instance of every group of the cluster, with its address.
 *
 * It names all of them, so that ten thousand that come up together would each have the store read ten thousand rows. For a
 * moment one text is made for all, by one of those who ask while the others wait for it; the longer it took to make, the longer
 * it is good for. Only the instance's own address is put in for each anew, because scripts find themselves by it: the one its
 * agent has just told, or, of an agent that tells none, where its request came from. Instances whose agents have told no address
 * yet have "".
 */
#include "server/service/private.h"

#include "base/json.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

/* As the AWS API names clusters to a client of no region. */
#define ARN_PREFIX "arn:aws:sagemaker:hp-local-1:000000000000:cluster/"
#define ID_MEMBER "InstanceId"
static const char *const address_members[] = {"AgentIpAddress", "CustomerIpAddress"};

/* An instance's line is written at once: a tree of all would take five times the memory. */
struct group_text {
    char name[NAME_MAX_BYTES], instance_type[NAME_MAX_BYTES];
    struct text instances;
};

struct resources {
    struct service *s;
    int64_t node_id;
    struct place place;
    bool made; /* groups are */
    struct group_text *groups;
    size_t group_count;
};

static void groups_free(struct resources *resources)
{
    for (size_t i = 0; i < resources->group_count; i++)
        text_free(&resources->groups[i].instances);
    free(TAKE(resources->groups));
    resources->group_count = 0;
    resources->made = false;
}

static struct group_text *group_of(struct resources *resources, const struct db_node_row *row)
{
    for (size_t i = 0; i < resources->group_count; i++)
        if (strcmp(resources->groups[i].name, row->group) == 0)
            return &resources->groups[i];
    resources->groups = own_realloc(resources->groups, resources->group_count + 1, sizeof(*resources->groups));
    struct group_text *group = &resources->groups[resources->group_count++];
    *group = (struct group_text){.name = ""};
    text_copy_cut(group->name, sizeof(group->name), row->group);
    text_copy_cut(group->instance_type, sizeof(group->instance_type), row->instance_type);
    return group;
}

static void add_json(struct text *out, json_t *json)
{
    autofree char *text = json_dumps(json, JSON_ENCODE_ANY);
    json_decref(json);
    if (text == NULL)
        abort();
    text_add(out, text);
}

static int add_instance(const void *found, void *arg)
{
    const struct db_node_row *row = found;
    if (row->instance.id == 0)
        return 0;
    struct text *out = &group_of(arg, row)->instances;
    json_t *instance = json_object();
    json_put_text(instance, "InstanceName", row->node.name);
    json_put_text(instance, ID_MEMBER, row->instance.instance_id);
    for (size_t i = 0; i < ARRAY_LEN(address_members); i++)
        json_put(instance, address_members[i], json_string(row->instance.address));
    text_add(out, out->len > 0 ? ",\n" : "\n");
    add_json(out, instance);
    return 0;
}

static void add_group(struct text *out, const struct group_text *group, bool first)
{
    text_add(out, first ? "\n{\"Name\": " : ",\n{\"Name\": ");
    add_json(out, json_string(group->name));
    if (group->instance_type[0] != '\0') {
        text_add(out, ", \"InstanceType\": ");
        add_json(out, json_string(group->instance_type));
    }
    text_add(out, ", \"Instances\": [");
    text_add(out, text_get(&group->instances));
    text_add(out, "]}");
}

/* Caller frees. */
static char *write_whole(const struct resources *resources)
{
    AUTO(text) struct text out = {0};
    const struct cluster *cluster = &resources->place.cluster;
    json_t *config = json_object();
    autofree char *arn = own_printf(ARN_PREFIX "%s", cluster->uid);
    json_put_text(config, "ClusterArn", arn);
    json_put_text(config, "ClusterName", cluster->name);
    text_add(&out, "{\"ClusterConfig\": ");
    add_json(&out, config);
    if (cluster->orchestrator != ORCHESTRATOR_NONE)
        text_printf(&out, ", \"ClusterType\": \"%s\"", orchestrator_title(cluster->orchestrator));
    text_add(&out, ", \"InstanceGroups\": [");
    for (size_t i = 0; i < resources->group_count; i++)
        add_group(&out, &resources->groups[i], i == 0);
    text_add(&out, "]}\n");
    return text_take(&out);
}

/* Where the instance stands in the text; NULL: it does not. */
static const char *find_instance(const char *text, const char *instance_id)
{
    autofree char *mark = own_printf("\"" ID_MEMBER "\": \"%s\"", instance_id);
    return strstr(text, mark);
}

static int read_rows(struct db_tx *tx, void *arg)
{
    struct resources *resources = arg;
    groups_free(resources); /* of a run that was begun anew */
    int status = place_find_row(tx, resources->node_id, &resources->place);
    if (status < 0)
        return status;
    const char *known =
        memory_resources_get(resources->s->memory, resources->place.cluster.id, clock_mono_ms(resources->s->clock));
    if (known != NULL && find_instance(known, resources->place.instance.instance_id) != NULL)
        return 0;
    const struct db_node_filter all = {.cluster_id = resources->place.cluster.id, .state = -1, .health = -1};
    resources->made = true;
    return db_node_list(tx, &all, add_instance, resources);
}

/* The text for everybody, with this instance's address in it. */
static char *with_address(const char *text, const char *instance_id, const char *address)
{
    AUTO(text) struct text out = {0};
    const char *from = text, *at = find_instance(text, instance_id);
    for (size_t i = 0; at != NULL && i < ARRAY_LEN(address_members); i++) {
        autofree char *member = own_printf("\"%s\": \"", address_members[i]);
        at = strstr(at, member);
        if (at == NULL)
            break;
        at += strlen(member);
        text_add_bytes(&out, from, (size_t)(at - from));
        text_add(&out, address);
        at += strcspn(at, "\"");
        from = at;
    }
    text_add(&out, from);
    return text_take(&out);
}

/* The memory is locked: who comes meanwhile finds what is made here. */
static int read_locked(struct resources *resources, const char *peer, char **ret_text, struct problem *problem)
{
    struct service *s = resources->s;
    int64_t begun = clock_mono_ms(s->clock);
    int status = service_read(s, read_rows, resources, problem);
    if (status < 0)
        return status;
    const struct instance *instance = &resources->place.instance;
    autofree char *whole = resources->made ? write_whole(resources) : NULL;
    const char *text = whole != NULL ? whole : memory_resources_get(s->memory, resources->place.cluster.id, begun);
    if (strlen(text) + ARRAY_LEN(address_members) * PEER_MAX_BYTES >= LIFECYCLE_RESOURCES_BYTES_MAX)
        return problem_say(problem, STATUS_TOO_LARGE, PROBLEM_TOO_LARGE,
                           "The cluster has more instances than a resource_config.json may name.");
    *ret_text = with_address(text, instance->instance_id, instance->address[0] != '\0' ? instance->address : peer);
    if (whole != NULL)
        memory_resources_put(s->memory, resources->place.cluster.id, begun, clock_mono_ms(s->clock), TAKE(whole));
    return 0;
}

int resources_read(struct service *s, int64_t node_id, const char *peer, struct instance *ret_instance, char **ret_text,
                   struct problem *problem)
{
    struct resources resources = {.s = s, .node_id = node_id};
    memory_resources_lock(s->memory);
    int status = read_locked(&resources, peer, ret_text, problem);
    memory_resources_unlock(s->memory);
    groups_free(&resources);
    if (status == 0)
        *ret_instance = resources.place.instance;
    return status;
}
