/*
 * What others say of a node: an owner's finding, a job that failed, a straggler, the provider's notice. It becomes a verdict of the source
 * "report", so that the policy weighs it as it weighs what agents see; beside it stands who said so, and until when it counts.
 */
#include "base/text.h"
#include "db/node_report.h"
#include "db/verdict.h"
#include "server/service/node/node.h"
#include "server/service/private.h"

#include <stdio.h>
#include <string.h>

#define REPORT_TABLE_VERSION "report"

struct reporting {
    const struct actor *actor;
    const char *cluster, *node, *text;
    char key[ID_UUID_MAX];
    const struct node_report *report;
    int64_t now_ms;
    struct problem *problem;
    struct place place;
    struct verdict verdict;
    bool told;
};

static void make_verdict(struct reporting *reporting)
{
    const struct node_report *report = reporting->report;
    const struct instance *instance = &reporting->place.instance;
    struct verdict *verdict = &reporting->verdict;
    *verdict = (struct verdict){.node_id = reporting->place.node.id,
                                .severity = SEVERITY_WARN,
                                .state = VERDICT_STATE_OPEN,
                                .count = 1,
                                .first_at = reporting->now_ms,
                                .last_at = reporting->now_ms,
                                .received_at = reporting->now_ms,
                                .expires_at = report->expires_at};
    snprintf(verdict->key, sizeof(verdict->key), "report/%s", reporting->key);
    snprintf(verdict->code, sizeof(verdict->code), "report.%s", report_kind_text(report->kind));
    text_copy_cut(verdict->source, sizeof(verdict->source), VERDICT_SOURCE_REPORT);
    text_copy_cut(verdict->device, sizeof(verdict->device), report->subject);
    text_copy_cut(verdict->table_version, sizeof(verdict->table_version), REPORT_TABLE_VERSION);
    memcpy(verdict->instance_id, instance->instance_id, sizeof(verdict->instance_id));
    memcpy(verdict->boot_id, instance->boot_id, sizeof(verdict->boot_id));
    say_cut(verdict->raw_line, sizeof(verdict->raw_line), "%s: %s", reporting->actor->name, reporting->text);
}

static int report_write(struct db_tx *tx, void *arg)
{
    struct reporting *reporting = arg;
    enum db_verdict_change change;
    reporting->told = false;
    int status = place_find(tx, reporting->cluster, reporting->node, &reporting->place, reporting->problem);
    if (status < 0)
        return status;
    if (reporting->place.instance.id == 0 || reporting->place.instance.boot_id[0] == '\0')
        return problem_say(reporting->problem, STATUS_CONFLICT, PROBLEM_CONFLICT,
                           "%s has no machine that has ever reported, so nothing can be said of it.",
                           reporting->place.node.name);
    make_verdict(reporting);
    status = db_verdict_put(tx, &reporting->verdict, &change);
    if (status < 0 || (change != DB_VERDICT_NEW && change != DB_VERDICT_AGAIN))
        return status;
    struct node_report report = *reporting->report;
    report.verdict_id = reporting->verdict.id;
    text_copy_cut(report.reporter, sizeof(report.reporter), reporting->actor->name);
    status = db_node_report_insert(tx, &report);
    if (status < 0)
        return status;
    reporting->told = true;
    const char *about = report.subject[0] != '\0' ? report.subject : reporting->place.node.name;
    return place_event(tx, &reporting->place, NULL, EVENT_LEVEL_WARN, EVENT_KIND_VERDICT, "%s %s: %s",
                       reporting->verdict.code, about, reporting->verdict.raw_line);
}

int service_node_report(struct service *s, const struct actor *actor, const char *cluster, const char *node,
                        const struct node_report *report, const char *text, struct verdict *ret_verdict,
                        struct problem *ret_problem)
{
    int status = service_require(actor, ROLE_OPERATOR, ret_problem);
    if (status < 0)
        return status;
    struct reporting reporting = {.actor = actor,
                                  .cluster = cluster,
                                  .node = node,
                                  .text = text,
                                  .report = report,
                                  .now_ms = clock_wall_ms(s->clock),
                                  .problem = ret_problem};
    id_uuid(s->ids, reporting.key);
    if (report->expires_at != 0 && report->expires_at <= reporting.now_ms)
        return problem_say(ret_problem, STATUS_INVALID, PROBLEM_INVALID_VALUE, "until is not in the future.");
    status = service_write(s, "node-report", report_write, &reporting, ret_problem);
    if (status < 0)
        return status;
    *ret_verdict = reporting.verdict;
    const struct service_stored stored = {reporting.place.node.id, service_mono_us(s), ret_verdict, 1, 0};
    if (reporting.told && s->verdicts_stored != NULL)
        s->verdicts_stored(s->wake_arg, &stored);
    if (reporting.told)
        service_events_added(s);
    return 0;
}
