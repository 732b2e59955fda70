/*
 * Lifecycle scripts: which ones a group wants, what their instance is given to read, and what its agent says of them.
 *
 * A report is a line of the timeline, once: whoever repeats one, because its answer was lost or because hpd asks again after a
 * restart, adds nothing. An agent that says more than there can be adds nothing either.
 */
#include "server/service/private.h"

#include "base/json.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Of the operation. Two scripts of 20 attempts have 82 lines, its steps a few more; who has more to say is not to be trusted. */
#define EVENTS_MAX 128
/* As the AWS door names clusters to a client of no region. */
#define ARN_PREFIX "arn:aws:sagemaker:hp-local-1:000000000000:cluster/"

/* --- what a group wants ---------------------------------------------------------------------------- */

/* NOT_FOUND when it is absent or empty. */
static int read_text(json_t *config, const char *name, char *dst, size_t size)
{
    const char *text = json_string_value(json_object_get(config, name));
    return text == NULL || text[0] == '\0' ? STATUS_NOT_FOUND : text_copy(dst, size, text);
}

int service_lifecycle_read(const char *group_document, struct lifecycle_job *ret_job)
{
    static const char *const names[LIFECYCLE_SCRIPTS_MAX] = {"OnCreate", "OnInitComplete"};
    struct lifecycle_job job = {0};
    char error[JSON_ERROR_MAX];
    auto_json json_t *document = NULL;
    int wanted = 0;
    int status = json_parse(group_document, strlen(group_document), CLUSTER_DOCUMENT_BYTES_MAX, &document, error);
    if (status != 0)
        return status;
    json_t *config = json_object_get(document, "LifeCycleConfig");
    for (int i = 0; i < LIFECYCLE_SCRIPTS_MAX; i++) {
        status = read_text(config, names[i], job.scripts[i], sizeof(job.scripts[i]));
        if (status < 0 && status != STATUS_NOT_FOUND)
            return status;
        wanted += status == 0;
    }
    if (wanted == 0)
        return STATUS_NOT_FOUND;
    status = read_text(config, "SourceS3Uri", job.source, sizeof(job.source));
    if (status < 0 && status != STATUS_NOT_FOUND)
        return status;
    *ret_job = job;
    return 0;
}

const char *service_lifecycle_refusal(const struct lifecycle_job *job)
{
    if (job->source[0] == '\0')
        return "it has no SourceS3Uri";
    if (text_starts_with(job->source, "s3://"))
        return "hp-agent reads scripts from https:// or from a directory (file:///…), not from s3://; serve the bucket "
               "over "
               "https and name that address";
    if (!text_starts_with(job->source, "https://") && !text_starts_with(job->source, "file:///"))
        return "SourceS3Uri must be https://… or file:///…";
    for (int i = 0; i < LIFECYCLE_SCRIPTS_MAX; i++)
        if (job->scripts[i][0] != '\0' && !lifecycle_is_script_name(job->scripts[i]))
            return "OnCreate and OnInitComplete must name files below SourceS3Uri";
    return NULL;
}

/* --- resource_config.json -------------------------------------------------------------------------- */

/*
 * It names every instance of the cluster, so that ten thousand that come up together would each have the store read ten
 * thousand rows. For a moment, one is made for all of them; only the instance's own address is put in for each anew, because
 * scripts find themselves by it: the one its agent has just told, or, of an agent that tells none, where its request came from.
 */
struct resources {
    struct service *s;
    int64_t node_id;
    struct place place;
    json_t *groups; /* borrowed */
    json_t *root;
    char *text;
};

static json_t *group_named(struct resources *resources, const struct db_node_row *row)
{
    size_t i;
    json_t *group;
    json_array_foreach(resources->groups, i,
                       group) if (strcmp(json_string_value(json_object_get(group, "Name")), row->group) ==
                                  0) return json_object_get(group, "Instances");
    group = json_object();
    json_put_text(group, "Name", row->group);
    json_put_text(group, "InstanceType", row->instance_type);
    json_put(group, "Instances", json_array());
    json_array_append_new(resources->groups, group);
    return json_object_get(group, "Instances");
}

#define ID_MEMBER "InstanceId"
static const char *const address_members[] = {"AgentIpAddress", "CustomerIpAddress"};

/* Its addresses are "" until its agent has told one: scripts look for the members. */
static int add_instance(const void *found, void *arg)
{
    struct resources *resources = arg;
    const struct db_node_row *row = found;
    if (row->instance.id == 0)
        return 0;
    json_t *instance = json_object();
    json_put_text(instance, "InstanceName", row->node.name);
    json_put_text(instance, ID_MEMBER, row->instance.instance_id);
    for (size_t i = 0; i < ARRAY_LEN(address_members); i++)
        json_put(instance, address_members[i], json_string(row->instance.address));
    json_array_append_new(group_named(resources, row), instance);
    return 0;
}

static int make_anew(struct db_tx *tx, struct resources *resources)
{
    char arn[128];
    const struct cluster *cluster = &resources->place.cluster;
    snprintf(arn, sizeof(arn), ARN_PREFIX "%s", cluster->uid);
    json_decref(resources->root); /* of a run that was begun anew */
    resources->root = json_object();
    json_t *config = json_object();
    json_put_text(config, "ClusterArn", arn);
    json_put_text(config, "ClusterName", cluster->name);
    json_put(resources->root, "ClusterConfig", config);
    if (cluster->orchestrator == ORCHESTRATOR_SLURM)
        json_put_text(resources->root, "ClusterType", "Slurm");
    resources->groups = json_array();
    json_put(resources->root, "InstanceGroups", resources->groups);
    const struct db_node_filter all = {.cluster_id = cluster->id, .state = -1, .health = -1};
    return db_node_list(tx, &all, add_instance, resources);
}

/* Where the instance stands in the text; NULL: it does not. */
static const char *find_instance(const char *text, const char *instance_id)
{
    autofree char *mark = own_printf("\"" ID_MEMBER "\": \"%s\"", instance_id);
    return strstr(text, mark);
}

static int resources_read(struct db_tx *tx, void *arg)
{
    struct resources *resources = arg;
    int status = place_find_row(tx, resources->node_id, &resources->place);
    if (status < 0)
        return status;
    free(resources->text);
    resources->text =
        memory_resources_get(resources->s->memory, resources->place.cluster.id, clock_mono_ms(resources->s->clock));
    if (resources->text != NULL && find_instance(resources->text, resources->place.instance.instance_id) != NULL)
        return 0;
    free(TAKE(resources->text));
    return make_anew(tx, resources);
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

static int nothing_to_do(struct problem *problem)
{
    return problem_say(problem, STATUS_NOT_FOUND, PROBLEM_NOT_FOUND, "This instance is asked to do nothing.");
}

/* Caller frees *ret_text. */
static int read_resources(struct resources *resources, char **ret_text, struct problem *problem)
{
    int status = service_read(resources->s, resources_read, resources, problem);
    auto_json json_t *root = resources->root;
    autofree char *text = resources->text;
    if (status < 0)
        return status;
    if (text == NULL) {
        text = json_dumps(root, JSON_INDENT(1));
        if (text == NULL || strlen(text) + 2 * PEER_MAX_BYTES >= LIFECYCLE_RESOURCES_BYTES_MAX)
            return problem_say(problem, STATUS_TOO_LARGE, PROBLEM_TOO_LARGE,
                               "The cluster has more instances than a resource_config.json may name.");
        memory_resources_put(resources->s->memory, resources->place.cluster.id, clock_mono_ms(resources->s->clock),
                             text);
    }
    *ret_text = TAKE(text);
    return 0;
}

int service_agent_work(struct service *s, int64_t node_id, const char *peer, struct lifecycle_job *ret_job,
                       char **ret_resources, struct problem *ret_problem)
{
    struct resources resources = {.s = s, .node_id = node_id};
    struct lifecycle_job job;
    autofree char *text = NULL;
    if (errands_get(fleet_errands(s->fleet), node_id, &job) != 0)
        return nothing_to_do(ret_problem);
    int status = read_resources(&resources, &text, ret_problem);
    if (status < 0)
        return status;
    if (!text_equal(job.instance_id, resources.place.instance.instance_id))
        return nothing_to_do(ret_problem);
    const char *told = resources.place.instance.address;
    *ret_job = job;
    *ret_resources = with_address(text, job.instance_id, told[0] != '\0' ? told : peer);
    return 0;
}

/* --- reports --------------------------------------------------------------------------------------- */

struct reporting {
    int64_t node_id;
    const struct lifecycle_report *report;
    const char *log;
    const char *message; /* of the event */
    bool known, added;
    int events; /* of the operation */
    struct problem *problem;
};

static int find_same(const void *row, void *arg)
{
    struct reporting *reporting = arg;
    const struct event *event = row;
    reporting->events++;
    reporting->known = reporting->known ||
                       (event->kind == EVENT_KIND_LIFECYCLE_SCRIPT && text_equal(event->message, reporting->message));
    return 0;
}

/* The detail, and as much of the log's end as there is room for. */
static void write_failure(const struct reporting *reporting, char *ret_text, size_t size)
{
    const char *log = reporting->log;
    size_t room = size - strlen(reporting->report->detail) - strlen("; last lines: ") - 1;
    if (log[0] == '\0' || room > size) {
        say_cut(ret_text, size, "%s", reporting->report->detail);
        return;
    }
    if (strlen(log) > room) {
        log += strlen(log) - room;
        while ((*log & 0xc0) == 0x80) /* not in the middle of a character */
            log++;
    }
    say_cut(ret_text, size, "%s; last lines: %s", reporting->report->detail, log);
}

static enum event_level level_of(const struct lifecycle_report *report)
{
    if (report->state != SCRIPT_STATE_FAILED)
        return EVENT_LEVEL_INFO;
    return report->final ? EVENT_LEVEL_ERROR : EVENT_LEVEL_WARN;
}

static int report_event(struct db_tx *tx, const struct reporting *reporting, const struct place *place,
                        const struct operation *operation)
{
    static const char *const states[] = {
        [SCRIPT_STATE_STARTED] = "Started", [SCRIPT_STATE_SUCCEEDED] = "Succeeded", [SCRIPT_STATE_FAILED] = "Failed"};
    const struct lifecycle_report *report = reporting->report;
    struct event event = {.level = level_of(report), .kind = EVENT_KIND_LIFECYCLE_SCRIPT};
    say_cut(event.script_state, sizeof(event.script_state), "%s", states[report->state]);
    if (report->state == SCRIPT_STATE_FAILED)
        write_failure(reporting, event.failure, sizeof(event.failure));
    return place_event_add(tx, place, operation, &event, reporting->message);
}

static int report_write(struct db_tx *tx, void *arg)
{
    struct reporting *reporting = arg;
    struct operation operation;
    struct place place;
    reporting->known = reporting->added = false;
    reporting->events = 0;
    int status = place_find_row(tx, reporting->node_id, &place);
    if (status == 0)
        status = db_operation_active(tx, reporting->node_id, &operation);
    if (status == STATUS_NOT_FOUND || (status == 0 && !text_equal(operation.uid, reporting->report->key)))
        return problem_say(reporting->problem, STATUS_STALE, PROBLEM_STALE_REPORT,
                           "This instance is no longer asked to do that. Stop.");
    const struct db_event_filter filter = {.operation_id = operation.id, .newest_first = true, .limit = EVENTS_MAX};
    if (status == 0)
        status = db_event_list(tx, &filter, find_same, reporting);
    if (status < 0 || reporting->known || reporting->events >= EVENTS_MAX)
        return status < 0 ? status : 0;
    reporting->added = true;
    return report_event(tx, reporting, &place, &operation);
}

static void write_message(const struct lifecycle_report *report, char *ret_text, size_t size)
{
    if (report->script[0] == '\0')
        say_cut(ret_text, size, "lifecycle scripts %s", script_state_text(report->state));
    else
        say_cut(ret_text, size, "lifecycle script %s %s, attempt %" PRId64, report->script,
                script_state_text(report->state), report->attempt);
}

int service_agent_report_work(struct service *s, int64_t node_id, const struct lifecycle_report *report,
                              const char *log, struct problem *ret_problem)
{
    char message[SENTENCE_MAX_BYTES];
    struct problem unused;
    struct reporting reporting = {.node_id = node_id,
                                  .report = report,
                                  .log = log,
                                  .message = message,
                                  .problem = ret_problem != NULL ? ret_problem : &unused};
    write_message(report, message, sizeof(message));
    int status = service_write(s, "agent-work", report_write, &reporting, ret_problem);
    if (status < 0)
        return status;
    (void)errands_report(fleet_errands(s->fleet), node_id, report);
    service_agent_changed(s, node_id);
    if (reporting.added)
        service_events_added(s);
    return 0;
}
