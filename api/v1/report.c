/*
 * What others say of nodes: of one node by people and scripts, of many by epilogs and training jobs, and as the alerts that an Alertmanager sends.
 *
 * An alert has labels of the site's own choice. Those that begin with holdfast_ say it plainly; without them the node is read from the label that
 * exporters of nodes and GPUs have, and an alert is a suspicion.
 */
#include "server/service/node/report.h"
#include "api/audit.h"
#include "api/render.h"
#include "api/v1/v1.h"
#include "base/status.h"
#include "base/text.h"
#include "model/fault_name.h"

#include <stdio.h>
#include <string.h>

#define REPORT_HOURS_MAX (90 * 24)
#define STEP_MS_MAX INT64_C(86400000)
#define RANKS_MAX 4096

/* --- one report ------------------------------------------------------------------------------------------ */

struct report_body {
    char kind[24], text[REASON_MAX_BYTES], device[DEVICE_MAX_BYTES], user[DEVICE_MAX_BYTES], job[DEVICE_MAX_BYTES];
    int64_t hours;
    char node[NODE_NAME_MAX_BYTES], key[NAME_MAX_BYTES];
    bool over;
};

static int check_kind(const char *text)
{
    enum report_kind kind;
    return report_kind_parse(text, &kind);
}

static int check_device(const char *text)
{
    return text[0] == '\0' || fault_name_is_device(text) ? 0 : STATUS_INVALID;
}

#define KIND_RULE "suspected, certain, job-failed, straggler or provider-notice"
#define REPORT_FIELDS(b)                                                                                   \
    {.name = "kind",                                                                                       \
     .type = JSON_FIELD_TEXT,                                                                              \
     .required = true,                                                                                     \
     .target = (b)->kind,                                                                                  \
     .size = sizeof(b)->kind,                                                                              \
     .check = check_kind,                                                                                  \
     .rule = KIND_RULE},                                                                                   \
        {.name = "text",                                                                                   \
         .type = JSON_FIELD_TEXT,                                                                          \
         .required = true,                                                                                 \
         .target = (b)->text,                                                                              \
         .size = sizeof(b)->text,                                                                          \
         .min = 1,                                                                                         \
         API_LINE},                                                                                        \
        {.name = "device",                                                                                 \
         .type = JSON_FIELD_TEXT,                                                                          \
         .target = (b)->device,                                                                            \
         .size = sizeof(b)->device,                                                                        \
         .check = check_device,                                                                            \
         .rule = FAULT_DEVICE_RULE},                                                                       \
        {.name = "user", .type = JSON_FIELD_TEXT, .target = (b)->user, .size = sizeof(b)->user, API_LINE}, \
        {.name = "job", .type = JSON_FIELD_TEXT, .target = (b)->job, .size = sizeof(b)->job, API_LINE},    \
    {                                                                                                      \
        .name = "hours", .type = JSON_FIELD_I64, .target = &(b)->hours, .min = 1, .max = REPORT_HOURS_MAX  \
    }

/* Which members go together. False: ret_error says what is missing. */
static bool take(const struct report_body *body, int64_t now_ms, struct node_report *ret_report,
                 char ret_error[JSON_ERROR_MAX])
{
    struct node_report report = {.expires_at = 0};
    if (report_kind_parse(body->kind, &report.kind) != 0) {
        snprintf(ret_error, JSON_ERROR_MAX, "The kind \"%s\" is none of " KIND_RULE ".", body->kind);
        return false;
    }
    bool of_user = report.kind == REPORT_KIND_JOB_FAILED, of_job = report.kind == REPORT_KIND_STRAGGLER;
    const char *subject = of_user ? body->user : of_job ? body->job : body->device;
    if ((of_user || of_job) && subject[0] == '\0') {
        snprintf(ret_error, JSON_ERROR_MAX, "A report of kind %s needs %s.", body->kind,
                 of_user ? "user, whose job it was" : "job, which it slowed");
        return false;
    }
    memcpy(report.subject, subject, sizeof(report.subject));
    if (body->hours > 0)
        report.expires_at = now_ms + body->hours * MS_PER_HOUR;
    *ret_report = report;
    return true;
}

void api_node_report(struct api_call *call)
{
    struct problem problem;
    struct report_body said = {0};
    struct node_report report;
    struct verdict verdict;
    char error[JSON_ERROR_MAX];
    auto_json json_t *body = NULL;
    const struct json_field fields[] = {REPORT_FIELDS(&said)};
    if (api_body(call, fields, ARRAY_LEN(fields), &body) != 0)
        return;
    if (!take(&said, clock_wall_ms(call->service->clock), &report, error))
        api_problem_printf(call, PROBLEM_INVALID_VALUE, "%s", error);
    else if (service_node_report(call->service, &call->actor, call->params[0], call->params[1], &report, said.text,
                                 &verdict, &problem) != 0)
        api_problem(call, &problem);
    else
        api_reply_json(call, 200, render_verdict(&verdict));
}

/* --- what came of many ----------------------------------------------------------------------------------- */

static void reply(struct api_call *call, const struct service_report *reports, size_t count)
{
    json_t *taken = json_array(), *refused = json_array();
    for (size_t i = 0; i < count; i++) {
        const struct service_report *said = &reports[i];
        json_t *item = json_object();
        json_put_text(item, "node", said->node);
        if (said->outcome == REPORT_OUTCOME_REFUSED) {
            json_put_text(item, "code", problem_code_text(said->problem.code));
            json_put_text(item, "detail", said->problem.detail);
        } else {
            json_put_text(item, "outcome", report_outcome_text(said->outcome));
            if (said->verdict_id != 0)
                json_put_i64(item, "verdict", said->verdict_id);
        }
        json_array_append_new(said->outcome == REPORT_OUTCOME_REFUSED ? refused : taken, item);
    }
    audit_failures(call, refused);
    api_reply_json(call, 200, json_pack("{s:o, s:o}", "taken", taken, "refused", refused));
}

static void store(struct api_call *call, struct service_report *reports, size_t count)
{
    struct problem problem;
    if (service_node_report_many(call->service, &call->actor, call->params[0], reports, count, &problem) != 0)
        api_problem(call, &problem);
    else
        reply(call, reports, count);
}

#define NODE_FIELD(b)                                                                                            \
    {                                                                                                            \
        .name = "node", .type = JSON_FIELD_TEXT, .required = true, .target = (b)->node, .size = sizeof(b)->node, \
        .min = 1                                                                                                 \
    }

/* --- a document ------------------------------------------------------------------------------------------ */

static bool read_report(struct api_call *call, json_t *json, size_t at, struct report_body *body,
                        struct service_report *ret_report)
{
    char error[JSON_ERROR_MAX];
    const struct json_field fields[] = {
        NODE_FIELD(body),
        {.name = "key", .type = JSON_FIELD_TEXT, .target = body->key, .size = sizeof body->key, .min = 1, API_LINE},
        {.name = "over", .type = JSON_FIELD_BOOL, .target = &body->over},
        REPORT_FIELDS(body),
    };
    if (!json_is_object(json) || json_read(json, fields, ARRAY_LEN(fields), error) != 0) {
        api_problem_printf(call, PROBLEM_INVALID_VALUE, "reports[%zu]: %s", at,
                           json_is_object(json) ? error : "it must be an object.");
        return false;
    }
    if (!take(body, clock_wall_ms(call->service->clock), &ret_report->report, error)) {
        api_problem_printf(call, PROBLEM_INVALID_VALUE, "reports[%zu]: %s", at, error);
        return false;
    }
    if (body->over && body->key[0] == '\0') {
        api_problem_printf(call, PROBLEM_INVALID_VALUE, "reports[%zu]: over needs the key of what is over.", at);
        return false;
    }
    ret_report->node = body->node;
    ret_report->over = body->over;
    text_copy_cut(ret_report->text, sizeof(ret_report->text), body->text);
    text_copy_cut(ret_report->key, sizeof(ret_report->key), body->key);
    return true;
}

static void receive_reports(struct api_call *call, json_t *list)
{
    size_t count = json_array_size(list);
    autofree struct report_body *bodies = own_calloc(count + 1, sizeof(*bodies));
    autofree struct service_report *reports = own_calloc(count + 1, sizeof(*reports));
    for (size_t i = 0; i < count; i++)
        if (!read_report(call, json_array_get(list, i), i, &bodies[i], &reports[i]))
            return;
    store(call, reports, count);
}

struct rank_body {
    char node[NODE_NAME_MAX_BYTES];
    int64_t ms;
};

static bool read_rank(struct api_call *call, json_t *json, size_t at, struct rank_body *body)
{
    char error[JSON_ERROR_MAX];
    const struct json_field fields[] = {
        NODE_FIELD(body),
        {.name = "milliseconds",
         .type = JSON_FIELD_I64,
         .required = true,
         .target = &body->ms,
         .min = 1,
         .max = STEP_MS_MAX},
    };
    if (json_is_object(json) && json_read(json, fields, ARRAY_LEN(fields), error) == 0)
        return true;
    api_problem_printf(call, PROBLEM_INVALID_VALUE, "stepTimes.ranks[%zu]: %s", at,
                       json_is_object(json) ? error : "it must be an object.");
    return false;
}

static void receive_step_times(struct api_call *call, json_t *step_times)
{
    struct problem problem;
    char error[JSON_ERROR_MAX], job[DEVICE_MAX_BYTES] = "";
    json_t *ranks = NULL;
    size_t slow = 0;
    const struct json_field fields[] = {
        {.name = "job",
         .type = JSON_FIELD_TEXT,
         .required = true,
         .target = job,
         .size = sizeof job,
         .min = 1,
         API_LINE},
        {.name = "ranks", .type = JSON_FIELD_ARRAY, .required = true, .target = &ranks, .min = 1, .max = RANKS_MAX},
    };
    if (json_read(step_times, fields, ARRAY_LEN(fields), error) != 0) {
        api_problem_printf(call, PROBLEM_INVALID_VALUE, "stepTimes: %s", error);
        return;
    }
    size_t count = json_array_size(ranks);
    autofree struct rank_body *bodies = own_calloc(count + 1, sizeof(*bodies));
    autofree struct service_step_time *times = own_calloc(count + 1, sizeof(*times));
    autofree struct service_report *reports = NULL;
    for (size_t i = 0; i < count; i++) {
        if (!read_rank(call, json_array_get(ranks, i), i, &bodies[i]))
            return;
        times[i] = (struct service_step_time){.node = bodies[i].node, .ms = bodies[i].ms};
    }
    if (service_node_report_step_times(call->service, &call->actor, call->params[0], job, times, count, &reports, &slow,
                                       &problem) != 0)
        api_problem(call, &problem);
    else
        reply(call, reports, slow);
}

void api_report_receive(struct api_call *call)
{
    json_t *reports = NULL, *step_times = NULL;
    auto_json json_t *body = NULL;
    const struct json_field fields[] = {
        {.name = "reports", .type = JSON_FIELD_ARRAY, .target = &reports, .min = 1, .max = REPORTS_MAX},
        {.name = "stepTimes", .type = JSON_FIELD_OBJECT, .target = &step_times},
    };
    if (api_body(call, fields, ARRAY_LEN(fields), &body) != 0)
        return;
    if ((reports == NULL) == (step_times == NULL))
        api_problem_printf(call, PROBLEM_INVALID_VALUE, "The body has either reports or stepTimes.");
    else if (reports != NULL)
        receive_reports(call, reports);
    else
        receive_step_times(call, step_times);
}

/* --- alerts ---------------------------------------------------------------------------------------------- */

/* The first of these members that is a text with something in it; "" without one. */
static const char *first_of(const json_t *object, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *value = json_string_value(json_object_get(object, names[i]));
        if (value != NULL && value[0] != '\0')
            return value;
    }
    return "";
}

/* One line, however an alert's template wraps it. */
static void copy_line(char *dst, size_t size, const char *text)
{
    text_copy_clean(dst, size, text, strlen(text));
}

#define FIRST_OF(object, ...) \
    first_of((object), (const char *const[]){__VA_ARGS__}, ARRAY_LEN(((const char *const[]){__VA_ARGS__})))

static void refuse(struct service_report *report, const char *why)
{
    report->outcome = REPORT_OUTCOME_REFUSED;
    report->problem.code = PROBLEM_INVALID_VALUE;
    text_copy_cut(report->problem.detail, sizeof(report->problem.detail), why);
}

/* "gpu-7:9400" is the node's exporter. */
static void read_node(const json_t *labels, struct report_body *body)
{
    const char *node = FIRST_OF(labels, "holdfast_node", "node", "nodename", "Hostname", "hostname", "instance");
    const char *port = strrchr(node, ':');
    size_t len =
        port != NULL && port[1 + strspn(port + 1, "0123456789")] == '\0' ? (size_t)(port - node) : strlen(node);
    snprintf(body->node, sizeof(body->node), "%.*s", (int)(len < sizeof(body->node) ? len : 0), node);
}

#define NODE_LABELS "holdfast_node, node, nodename, Hostname, hostname or instance"

static void read_alert(const struct api_call *call, const json_t *alert, struct report_body *body,
                       struct service_report *report)
{
    const json_t *labels = json_object_get(alert, "labels"), *annotations = json_object_get(alert, "annotations");
    const char *summary = FIRST_OF(annotations, "summary", "description", "message");
    const char *name = FIRST_OF(labels, "alertname");
    char error[JSON_ERROR_MAX];
    autofree char *text = own_printf("%s%s%s", name, name[0] != '\0' && summary[0] != '\0' ? ": " : "", summary);
    autofree char *key = own_printf("%s/%s", FIRST_OF(alert, "fingerprint"), FIRST_OF(alert, "startsAt"));
    report->over = text_equal(FIRST_OF(alert, "status"), "resolved");
    copy_line(report->text, sizeof(report->text), text[0] != '\0' ? text : "an alert without a name");
    copy_line(body->kind, sizeof(body->kind), FIRST_OF(labels, "holdfast_kind"));
    copy_line(body->device, sizeof(body->device), FIRST_OF(labels, "holdfast_device", "device", "pci_bus_id"));
    if (check_device(body->device) != 0)
        body->device[0] = '\0';
    copy_line(body->user, sizeof(body->user), FIRST_OF(labels, "holdfast_user", "user"));
    copy_line(body->job, sizeof(body->job), FIRST_OF(labels, "holdfast_job"));
    if (body->kind[0] == '\0')
        text_copy_cut(body->kind, sizeof(body->kind), report_kind_text(REPORT_KIND_SUSPECTED));
    read_node(labels, body);
    report->node = body->node;
    if (key[0] == '/') {
        refuse(report, "The alert has no fingerprint, by which it is known again.");
    } else if (strlen(key) >= sizeof(report->key)) {
        snprintf(error, sizeof(error),
                 "The fingerprint of the alert is too long: with startsAt it may have at most %zu characters.",
                 sizeof(report->key) - 2);
        refuse(report, error);
    } else if (body->node[0] == '\0') {
        refuse(report, "The alert has no label that names a node: " NODE_LABELS ".");
    } else if (!take(body, clock_wall_ms(call->service->clock), &report->report, error)) {
        refuse(report, error);
    }
    text_copy_cut(report->key, sizeof(report->key), key);
}

/* What cannot be read goes to the end of the list, and is refused beside what is stored. Where nothing is taken, the sender learns it by the
 * status: an Alertmanager counts that as failed, and tells nobody what a reply says. */
static void receive_alerts(struct api_call *call, const json_t *alerts)
{
    struct problem problem;
    size_t count = json_array_size(alerts), good = 0, bad = count;
    bool taken = false;
    autofree struct report_body *bodies = own_calloc(count, sizeof(*bodies));
    autofree struct service_report *reports = own_calloc(count, sizeof(*reports));
    for (size_t i = 0; i < count; i++) {
        struct service_report report = {.node = bodies[i].node};
        read_alert(call, json_array_get(alerts, i), &bodies[i], &report);
        reports[report.outcome == REPORT_OUTCOME_REFUSED ? --bad : good++] = report;
    }
    if (service_node_report_many(call->service, &call->actor, call->params[0], reports, good, &problem) != 0) {
        api_problem(call, &problem);
        return;
    }
    for (size_t i = 0; i < count; i++)
        taken = taken || reports[i].outcome != REPORT_OUTCOME_REFUSED;
    if (taken)
        reply(call, reports, count);
    else
        api_problem(call, &reports[0].problem);
}

void api_alert_receive(struct api_call *call)
{
    auto_json json_t *body = NULL;
    if (api_json(call, &body) != 0)
        return;
    const json_t *alerts = json_object_get(body, "alerts");
    size_t count = json_array_size(alerts);
    if (count > 0 && count <= REPORTS_MAX)
        receive_alerts(call, alerts);
    else
        api_problem_printf(call, PROBLEM_INVALID_VALUE, "alerts must be a list of 1 to %d alerts of an Alertmanager.",
                           REPORTS_MAX);
}
