/*
 * What others say of a node: an owner's finding, a job that failed, a straggler, the provider's notice. It becomes a verdict of the source
 * "report", so that the policy weighs it as it weighs what agents see; beside it stands who said so, and until when it counts.
 *
 * A report with a key is the sender's own: said again while it is open it changes nothing, and the sender takes it back under that key.
 * Said again after it was over or answered it is a new one. The key is that of one machine, so what is said again after a replacement is
 * said of the new one. Who may only report suspects; only operators are certain.
 */
#include "server/service/node/report.h"
#include "base/text.h"
#include "db/node_report.h"
#include "db/verdict.h"
#include "model/step_time.h"
#include "server/service/private.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

ENUM_DEFINE(report_outcome, REPORT_OUTCOME_LIST)

#define REPORT_TABLE_VERSION "report"
#define REPORTS_OPEN_MAX 64 /* of one reporter about one node */
#define REPORTS_SAME_MAX 8  /* of these, of one user's failed jobs, or of one slow job */

struct reporting {
    struct service *s;
    const struct actor *actor;
    const char *cluster;
    int64_t now_ms;
    struct service_report *reports;
    size_t count;
    struct verdict *verdicts; /* of each; id 0: none */
    struct problem *problem;
};

static void make_key(const struct reporting *reporting, const struct service_report *said, const struct place *place,
                     char ret_key[VERDICT_KEY_MAX_BYTES])
{
    char uuid[ID_UUID_MAX], hex[ID_SHA256_HEX_MAX];
    id_uuid(reporting->s->ids, uuid);
    snprintf(ret_key, VERDICT_KEY_MAX_BYTES, "report/%s", uuid);
    if (said->key[0] == '\0')
        return;
    autofree char *whole = own_printf("%s\n%s\n%s", reporting->actor->name, said->key, place->instance.instance_id);
    id_sha256_hex(whole, strlen(whole), hex);
    snprintf(ret_key, VERDICT_KEY_MAX_BYTES, "report/%s", hex);
}

static void make_verdict(const struct reporting *reporting, const struct service_report *said,
                         const struct place *place, struct verdict *ret_verdict)
{
    const struct node_report *report = &said->report;
    const struct instance *instance = &place->instance;
    struct verdict *verdict = ret_verdict;
    *verdict = (struct verdict){.node_id = place->node.id,
                                .severity = SEVERITY_WARN,
                                .state = VERDICT_STATE_OPEN,
                                .count = 1,
                                .first_at = reporting->now_ms,
                                .last_at = reporting->now_ms,
                                .received_at = reporting->now_ms,
                                .expires_at = report->expires_at};
    make_key(reporting, said, place, verdict->key);
    snprintf(verdict->code, sizeof(verdict->code), "report.%s", report_kind_text(report->kind));
    text_copy_cut(verdict->source, sizeof(verdict->source), VERDICT_SOURCE_REPORT);
    text_copy_cut(verdict->device, sizeof(verdict->device), report->subject);
    text_copy_cut(verdict->table_version, sizeof(verdict->table_version), REPORT_TABLE_VERSION);
    memcpy(verdict->instance_id, instance->instance_id, sizeof(verdict->instance_id));
    memcpy(verdict->boot_id, instance->boot_id, sizeof(verdict->boot_id));
    say_cut(verdict->raw_line, sizeof(verdict->raw_line), "%s: %s", reporting->actor->name, said->text);
}

static int refuse(struct service_report *said, int status)
{
    said->outcome = REPORT_OUTCOME_REFUSED;
    said->status = status;
    return 0;
}

/* The policy looks at so many: one sender must not push out what others say. */
static int check_room(struct db_tx *tx, const struct reporting *reporting, struct service_report *said,
                      const struct place *place)
{
    int64_t all = 0, same = 0;
    struct node_report like = said->report;
    bool of_jobs = like.kind == REPORT_KIND_JOB_FAILED || like.kind == REPORT_KIND_STRAGGLER;
    text_copy_cut(like.reporter, sizeof(like.reporter), reporting->actor->name);
    int status = db_node_report_end_expired(tx, place->node.id, reporting->now_ms);
    if (status == 0)
        status = db_node_report_count(tx, place->node.id, &like, &all, &same);
    if (status == 0 && of_jobs && same >= REPORTS_SAME_MAX)
        return refuse(said,
                      problem_say(&said->problem, STATUS_CONFLICT, PROBLEM_LIMIT_EXCEEDED,
                                  "%s has %" PRId64 " open reports of kind %s on %s about %s, which are enough.",
                                  like.reporter, same, report_kind_text(like.kind), place->node.name, like.subject));
    if (status == 0 && all >= REPORTS_OPEN_MAX)
        return refuse(said, problem_say(&said->problem, STATUS_CONFLICT, PROBLEM_LIMIT_EXCEEDED,
                                        "%s has %" PRId64 " open reports on %s; %d are allowed. Take back those that "
                                        "are over, or send reports with hours.",
                                        like.reporter, all, place->node.name, REPORTS_OPEN_MAX));
    return status;
}

static int put(struct db_tx *tx, const struct reporting *reporting, struct service_report *said,
               const struct place *place, struct verdict *verdict)
{
    enum db_verdict_change change;
    int status = check_room(tx, reporting, said, place);
    if (status < 0 || said->outcome == REPORT_OUTCOME_REFUSED)
        return status;
    status = db_verdict_put(tx, verdict, &change);
    if (status < 0)
        return status;
    bool fresh = change == DB_VERDICT_NEW || change == DB_VERDICT_AGAIN;
    said->outcome = fresh ? REPORT_OUTCOME_STORED : REPORT_OUTCOME_KNOWN;
    if (!fresh)
        return 0;
    struct node_report report = said->report;
    said->verdict_id = report.verdict_id = verdict->id;
    text_copy_cut(report.reporter, sizeof(report.reporter), reporting->actor->name);
    status = db_node_report_insert(tx, &report);
    if (status < 0)
        return status;
    const char *about = report.subject[0] != '\0' ? report.subject : place->node.name;
    return place_event(tx, place, NULL, EVENT_LEVEL_WARN, EVENT_KIND_VERDICT, "%s %s: %s", verdict->code, about,
                       verdict->raw_line);
}

static int end(struct db_tx *tx, const struct reporting *reporting, struct service_report *said,
               const struct place *place, struct verdict *verdict)
{
    const int64_t id = said->verdict_id;
    int status = db_verdict_get_row(tx, id, verdict);
    if (status == 0)
        status = db_verdict_resolve_between(tx, verdict->node_id, id - 1, id);
    if (status < 0)
        return status;
    said->outcome = REPORT_OUTCOME_OVER;
    const char *about = verdict->device[0] != '\0' ? verdict->device : place->node.name;
    return place_event(tx, place, NULL, EVENT_LEVEL_INFO, EVENT_KIND_VERDICT, "%s %s resolved by %s", verdict->code,
                       about, reporting->actor->name);
}

/* What is over, answered or expired and is said again is a finding of its own. NOT_FOUND: nothing is known under the key from now on. */
static int begin_anew(struct db_tx *tx, const struct reporting *reporting, int64_t node_id, int64_t id, bool is_open)
{
    struct node_report known = {0};
    int status = is_open ? db_node_report_get(tx, id, &known) : 0;
    if (status == STATUS_NOT_FOUND)
        return 0;
    if (status == 0 && is_open) {
        if (known.expires_at == 0 || known.expires_at > reporting->now_ms)
            return 0;
        status = db_verdict_resolve_between(tx, node_id, id - 1, id);
    }
    if (status == 0)
        status = db_verdict_give_up_key(tx, id);
    return status < 0 ? status : STATUS_NOT_FOUND;
}

/* A refusal is the report's alone; what the store says is everybody's. */
static int take(struct db_tx *tx, const struct reporting *reporting, struct service_report *said,
                struct verdict *verdict)
{
    bool is_certain = said->report.kind == REPORT_KIND_CERTAIN || said->report.kind == REPORT_KIND_PROVIDER_NOTICE;
    bool is_open = false;
    struct place place;
    if (is_certain && reporting->actor->role < ROLE_OPERATOR)
        return refuse(
            said,
            problem_say(&said->problem, STATUS_DENIED, PROBLEM_FORBIDDEN,
                        "A token with the role reporter cannot send the kind \"%s\": that needs the role operator.",
                        report_kind_text(said->report.kind)));
    int status = place_find(tx, reporting->cluster, said->node, &place, &said->problem);
    if (status == STATUS_NOT_FOUND)
        return refuse(said, status);
    if (status < 0)
        return status;
    if (place.instance.id == 0 || place.instance.boot_id[0] == '\0')
        return refuse(said, problem_say(&said->problem, STATUS_CONFLICT, PROBLEM_CONFLICT,
                                        "%s has no machine that has ever reported, so nothing can be said of it.",
                                        place.node.name));
    make_verdict(reporting, said, &place, verdict);
    if (said->key[0] == '\0')
        return put(tx, reporting, said, &place, verdict);
    status = db_verdict_find(tx, place.node.id, verdict->key, &said->verdict_id, &is_open);
    if (status == 0 && said->over && is_open)
        return end(tx, reporting, said, &place, verdict);
    if (status == 0 && !said->over)
        status = begin_anew(tx, reporting, place.node.id, said->verdict_id, is_open);
    said->outcome = REPORT_OUTCOME_KNOWN;
    return status == STATUS_NOT_FOUND && !said->over ? put(tx, reporting, said, &place, verdict)
           : status == STATUS_NOT_FOUND              ? 0
                                                     : status;
}

static int report_write(struct db_tx *tx, void *arg)
{
    struct reporting *reporting = arg;
    struct cluster cluster;
    int status = place_find_cluster(tx, reporting->cluster, &cluster, reporting->problem);
    bool changed = false;
    for (size_t i = 0; status == 0 && i < reporting->count; i++) {
        struct service_report *said = &reporting->reports[i];
        said->outcome = REPORT_OUTCOME_UNDECIDED;
        said->verdict_id = 0;
        status = take(tx, reporting, said, &reporting->verdicts[i]);
        changed = changed || said->outcome == REPORT_OUTCOME_STORED || said->outcome == REPORT_OUTCOME_OVER;
    }
    return status == 0 && !changed ? NOTHING_DONE : status;
}

static void wake(struct service *s, const struct reporting *reporting)
{
    bool changed = false;
    for (size_t i = 0; i < reporting->count; i++) {
        const struct verdict *verdict = &reporting->verdicts[i];
        enum report_outcome outcome = reporting->reports[i].outcome;
        const struct service_stored stored = {verdict->node_id, service_mono_us(s), verdict, 1, 0};
        if (outcome != REPORT_OUTCOME_STORED && outcome != REPORT_OUTCOME_OVER)
            continue;
        changed = true;
        if (s->verdicts_stored != NULL)
            s->verdicts_stored(s->wake_arg, &stored);
    }
    if (changed)
        service_events_added(s);
}

static int run(struct service *s, struct reporting *reporting)
{
    const struct actor *actor = reporting->actor;
    if (actor == NULL || actor->role != ROLE_REPORTER) {
        int status = service_require(actor, ROLE_OPERATOR, reporting->problem);
        if (status < 0)
            return status;
    }
    reporting->s = s;
    reporting->now_ms = service_now(s);
    int status = service_write(s, "node-report", report_write, reporting, reporting->problem);
    if (status == 0)
        wake(s, reporting);
    return status;
}

int service_node_report(struct service *s, const struct actor *actor, const char *cluster, const char *node,
                        const struct node_report *report, const char *text, struct verdict *ret_verdict,
                        struct problem *ret_problem)
{
    struct service_report said = {.node = node, .report = *report};
    struct verdict verdict = {0};
    struct reporting reporting = {
        .actor = actor, .cluster = cluster, .reports = &said, .count = 1, .verdicts = &verdict, .problem = ret_problem};
    text_copy_cut(said.text, sizeof(said.text), text);
    int status = run(s, &reporting);
    if (status < 0)
        return status;
    if (said.outcome == REPORT_OUTCOME_REFUSED) {
        *ret_problem = said.problem;
        return said.status;
    }
    *ret_verdict = verdict;
    return 0;
}

int service_node_report_many(struct service *s, const struct actor *actor, const char *cluster,
                             struct service_report *reports, size_t count, struct problem *ret_problem)
{
    autofree struct verdict *verdicts = own_calloc(count + 1, sizeof(*verdicts));
    struct reporting reporting = {.actor = actor,
                                  .cluster = cluster,
                                  .reports = reports,
                                  .count = count,
                                  .verdicts = verdicts,
                                  .problem = ret_problem};
    return run(s, &reporting);
}

int service_node_report_step_times(struct service *s, const struct actor *actor, const char *cluster, const char *job,
                                   const struct service_step_time *times, size_t count,
                                   struct service_report **ret_reports, size_t *ret_count, struct problem *ret_problem)
{
    autofree struct step_time *steps = own_calloc(count + 1, sizeof(*steps));
    int64_t median = 0;
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        steps[i] = (struct step_time){.node = times[i].node, .ms = times[i].ms};
    size_t slow = step_times_find_slow(steps, count, &median);
    struct service_report *reports = own_calloc(slow + 1, sizeof(*reports));
    for (size_t i = 0; i < count && found < slow; i++) {
        struct service_report *said = &reports[found];
        if (!steps[i].is_slow)
            continue;
        said->node = steps[i].node;
        said->report.kind = REPORT_KIND_STRAGGLER;
        text_copy_cut(said->report.subject, sizeof(said->report.subject), job);
        snprintf(said->key, sizeof(said->key), "step-times/%s", job);
        snprintf(said->text, sizeof(said->text),
                 "a step takes %" PRId64 " ms here; the median of the job's nodes is %" PRId64 " ms", steps[i].ms,
                 median);
        found++;
    }
    int status = service_node_report_many(s, actor, cluster, reports, found, ret_problem);
    if (status < 0) {
        free(reports);
        return status;
    }
    *ret_reports = reports;
    *ret_count = found;
    return 0;
}
