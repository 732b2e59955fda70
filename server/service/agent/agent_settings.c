/*
 * What the agents of an instance group do otherwise: kept here, told to them by the reply to a heartbeat, fetched by them, and
 * told back with what counts on the node in the end. A text is judged by the same function as an agent judges its own file.
 */
#include "server/service/private.h"

#include "base/text.h"
#include "db/agent_settings.h"
#include "db/event.h"
#include "server/live/agent_registry.h"
#include "server/live/fleet.h"
#include "server/service/agent/agent_settings.h"

#include <inttypes.h>
#include <string.h>

_Static_assert(AGENT_SETTINGS_ERROR_MAX <= PROBLEM_DETAIL_MAX, "a reason fits into a problem");

/* --- reading -------------------------------------------------------------------------------------- */

struct asking {
    const char *cluster, *group, *node;
    int64_t node_id;
    struct group_agent_settings *ret;
    struct agent_settings_report *ret_told;
    struct problem *problem;
};

/* None is revision 0 and no text. */
static int get(struct db_tx *tx, int64_t group_id, struct group_agent_settings *ret_settings)
{
    int status = db_agent_settings_get(tx, group_id, ret_settings);
    if (status != STATUS_NOT_FOUND)
        return status;
    memset(ret_settings, 0, sizeof(*ret_settings));
    ret_settings->group_id = group_id;
    return 0;
}

static int get_read(struct db_tx *tx, void *arg)
{
    const struct asking *asking = arg;
    struct cluster cluster;
    struct instance_group group;
    int status = place_find_group(tx, asking->cluster, asking->group, &cluster, &group, asking->problem);
    return status < 0 ? status : get(tx, group.id, asking->ret);
}

int service_agent_settings_get(struct service *s, const char *cluster, const char *group,
                               struct group_agent_settings *ret_settings, struct problem *ret_problem)
{
    struct asking asking = {.cluster = cluster, .group = group, .ret = ret_settings, .problem = ret_problem};
    return service_read(s, get_read, &asking, ret_problem);
}

static int node_read(struct db_tx *tx, void *arg)
{
    const struct asking *asking = arg;
    struct place place;
    int status = place_find(tx, asking->cluster, asking->node, &place, asking->problem);
    if (status == 0)
        status = get(tx, place.node.group_id, asking->ret);
    if (status == 0)
        status = db_agent_report_get(tx, place.instance.id, asking->ret_told);
    if (status != STATUS_NOT_FOUND || asking->ret_told == NULL)
        return status;
    memset(asking->ret_told, 0, sizeof(*asking->ret_told));
    return 0;
}

int service_agent_settings_of_node(struct service *s, const char *cluster, const char *node,
                                   struct group_agent_settings *ret_settings, struct agent_settings_report *ret_told,
                                   struct problem *ret_problem)
{
    struct asking asking = {
        .cluster = cluster, .node = node, .ret = ret_settings, .ret_told = ret_told, .problem = ret_problem};
    memset(ret_told, 0, sizeof(*ret_told));
    return service_read(s, node_read, &asking, ret_problem);
}

/* --- changing ------------------------------------------------------------------------------------- */

int service_agent_settings_validate(const char *text, struct problem *ret_problem)
{
    struct agent_settings read;
    char why[AGENT_SETTINGS_ERROR_MAX];
    int status = agent_settings_parse(text, strlen(text), AGENT_SETTING_SOURCE_GROUP, &read, why);
    if (status < 0)
        return problem_say(ret_problem, status, PROBLEM_INVALID_VALUE, "%s", why);
    agent_settings_free(&read);
    return 0;
}

struct changing {
    const struct service_agent_settings_change *wanted;
    const char *text; /* with lines that end as ours do, so that show and apply make nothing new of it */
    const struct actor *actor;
    struct group_agent_settings *ret;
    int64_t now_ms;
    struct problem *problem;
};

static int tell_change(struct db_tx *tx, const struct cluster *cluster, const struct instance_group *group,
                       const struct group_agent_settings *settings)
{
    struct event event = {.level = EVENT_LEVEL_INFO, .kind = EVENT_KIND_AGENT_SETTINGS, .cluster_id = cluster->id};
    text_copy_cut(event.cluster, sizeof(event.cluster), cluster->name);
    text_copy_cut(event.group, sizeof(event.group), group->name);
    say_cut(event.message, sizeof(event.message), "%s %s the agents of group %s (revision %" PRId64 ")%s%s",
            settings->author, settings->text[0] != '\0' ? "gave settings to" : "took all settings from", group->name,
            settings->revision, settings->comment[0] != '\0' ? ": " : "", settings->comment);
    return db_event_insert(tx, &event);
}

static int change_write(struct db_tx *tx, void *arg)
{
    const struct changing *changing = arg;
    const struct service_agent_settings_change *wanted = changing->wanted;
    struct group_agent_settings *settings = changing->ret;
    struct cluster cluster;
    struct instance_group group;
    int status = place_find_group(tx, wanted->cluster, wanted->group, &cluster, &group, changing->problem);
    if (status == 0)
        status = get(tx, group.id, settings);
    if (status < 0)
        return status;
    if (wanted->expected >= 0 && wanted->expected != settings->revision)
        return problem_say(changing->problem, STATUS_CONFLICT, PROBLEM_PRECONDITION_FAILED,
                           "The settings are at revision %" PRId64 ", not %" PRId64 ". Read them again and repeat.",
                           settings->revision, wanted->expected);
    if (strcmp(settings->text, changing->text) == 0)
        return NOTHING_DONE;
    settings->revision++;
    settings->updated_at = changing->now_ms;
    (void)text_copy(settings->text, sizeof(settings->text), changing->text); /* it was read: it is not too long */
    say_cut(settings->comment, sizeof(settings->comment), "%s", wanted->comment);
    say_cut(settings->author, sizeof(settings->author), "%s", changing->actor->name);
    status = db_agent_settings_put(tx, settings);
    return status != 0 ? status : tell_change(tx, &cluster, &group, settings);
}

int service_agent_settings_apply(struct service *s, const struct actor *actor,
                                 const struct service_agent_settings_change *wanted,
                                 struct group_agent_settings *ret_settings, struct problem *ret_problem)
{
    autofree char *text = agent_settings_plain(wanted->text);
    struct changing changing = {.wanted = wanted,
                                .text = text,
                                .actor = actor,
                                .ret = ret_settings,
                                .now_ms = service_now(s),
                                .problem = ret_problem};
    int status = service_require(actor, ROLE_OPERATOR, ret_problem);
    if (status == 0)
        status = service_agent_settings_validate(wanted->text, ret_problem);
    if (status == 0)
        status = service_write(s, "agent-settings", change_write, &changing, ret_problem);
    if (status == 0) {
        agent_registry_put(fleet_agent_registry(s->fleet), ret_settings->group_id, ret_settings->revision,
                           agent_settings_tag(ret_settings->text));
        service_events_added(s);
    }
    return status;
}

/* --- the agents ----------------------------------------------------------------------------------- */

static int agent_read(struct db_tx *tx, void *arg)
{
    const struct asking *asking = arg;
    struct place place;
    int status = place_find_row(tx, asking->node_id, &place);
    if (status == STATUS_NOT_FOUND)
        return problem_say(asking->problem, STATUS_UNAUTHENTICATED, PROBLEM_UNAUTHENTICATED,
                           "This node is not known here any more. Enrol again.");
    return status < 0 ? status : get(tx, place.node.group_id, asking->ret);
}

int service_agent_settings_fetch(struct service *s, int64_t node_id, struct group_agent_settings *ret_settings,
                                 struct problem *ret_problem)
{
    struct asking asking = {.node_id = node_id, .ret = ret_settings, .problem = ret_problem};
    return service_read(s, agent_read, &asking, ret_problem);
}

struct telling {
    int64_t node_id, now_ms;
    const struct agent_settings_report *report;
    struct problem *problem;
};

/* A text that a node refuses leaves it with the older one, which nobody sees who looks at the group. */
static int tell_refusal(struct db_tx *tx, const struct place *place, const char *before, const char *now,
                        const char *whose)
{
    if (strcmp(before, now) == 0)
        return 0;
    if (now[0] == '\0')
        return place_event(tx, place, NULL, EVENT_LEVEL_INFO, EVENT_KIND_AGENT_SETTINGS,
                           "its agent no longer refuses %s", whose);
    return place_event(tx, place, NULL, EVENT_LEVEL_WARN, EVENT_KIND_AGENT_SETTINGS,
                       "its agent refuses %s, what counted before goes on: %s", whose, now);
}

static int tell_write(struct db_tx *tx, void *arg)
{
    const struct telling *telling = arg;
    struct place place;
    autofree struct agent_settings_report *before = own_calloc(1, sizeof(*before));
    int status = place_find_row(tx, telling->node_id, &place);
    if (status < 0 && status != STATUS_NOT_FOUND)
        return status;
    if (status == STATUS_NOT_FOUND || place.instance.id == 0 ||
        strcmp(place.instance.instance_id, telling->report->instance_id) != 0)
        return problem_say(telling->problem, STATUS_STALE, PROBLEM_STALE_REPORT,
                           "The instance %s does not fill this node's slot any more. Stop reporting, or enrol again.",
                           telling->report->instance_id);
    struct agent_settings_report report = *telling->report;
    report.at = telling->now_ms;
    status = db_agent_report_get(tx, place.instance.id, before);
    if (status == 0 || status == STATUS_NOT_FOUND)
        status = tell_refusal(tx, &place, before->refused, report.refused, "the settings of its group");
    if (status == 0)
        status = tell_refusal(tx, &place, before->file_refused, report.file_refused, "the node's own settings");
    return status != 0 ? status : db_agent_report_put(tx, place.instance.id, &report);
}

static const char *wrong(const struct agent_settings_report *report)
{
    if (!agent_word_is_fine(report->instance_id, sizeof(report->instance_id)))
        return "instanceId is letters, digits and hyphens";
    if (!text_is_clean(report->refused) || !text_is_clean(report->file_refused))
        return "a reason has a control character in it";
    for (size_t i = 0; i < report->count; i++)
        if (!agent_settings_line_is_fine(report->lines[i]))
            return "a setting is no \"name value source\" that is known here";
    return NULL;
}

int service_agent_settings_report(struct service *s, int64_t node_id, const struct agent_settings_report *report,
                                  struct problem *ret_problem)
{
    struct telling telling = {.node_id = node_id, .now_ms = service_now(s), .report = report, .problem = ret_problem};
    const char *why = wrong(report);
    if (why != NULL)
        return problem_say(ret_problem, STATUS_INVALID, PROBLEM_INVALID_VALUE, "The report is refused: %s.", why);
    int status = service_write(s, "agent-settings-told", tell_write, &telling, ret_problem);
    if (status == 0)
        service_events_added(s);
    return status;
}

/* --- the start ------------------------------------------------------------------------------------ */

static int load_row(const void *row, void *arg)
{
    const struct group_agent_settings *settings = row;
    agent_registry_put(arg, settings->group_id, settings->revision, agent_settings_tag(settings->text));
    return 0;
}

static int load_read(struct db_tx *tx, void *arg)
{
    return db_agent_settings_list(tx, load_row, arg);
}

int service_agent_settings_load(struct service *s, struct problem *ret_problem)
{
    return service_read(s, load_read, fleet_agent_registry(s->fleet), ret_problem);
}
