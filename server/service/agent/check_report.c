/*
 * What agents say of deep health checks. Each test is a row and, with its last word, one line of the timeline; whoever repeats a
 * report, because its answer was lost or because hpd asks again after a restart, adds nothing.
 *
 * The last report of all sums the run up, in the same transaction that makes each failed test a verdict of the node: from there
 * on it is evidence like any other, and what follows is the policy's to say.
 */
#include "server/service/node/check.h"
#include "server/service/private.h"

#include "base/text.h"
#include "db/verdict.h"
#include "policy/policy.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SOURCE_DEEP "deep"
#define CODE_PREFIX "deep."

struct reporting {
    const struct deep_report *report;
    const struct fault_overrides *overrides;
    int64_t node_id, now_ms;
    bool told;
    struct problem *problem;
    struct place place;
    struct operation operation;
    struct deep_run run;
};

int service_agent_check(struct service *s, int64_t node_id, struct deep_job *ret_job, struct problem *ret_problem)
{
    if (agent_tasks_get_check(fleet_agent_tasks(s->fleet), node_id, ret_job) == 0)
        return 0;
    return problem_say(ret_problem, STATUS_NOT_FOUND, PROBLEM_NOT_FOUND, "This instance is asked to test nothing.");
}

/* --- a test ---------------------------------------------------------------------------------------- */

/* It is no fault of this node, and worth a look: something was beyond a limit, or there is a word about what passed. */
static bool is_worth_a_look(const struct deep_test *test)
{
    bool beyond = test->state == DEEP_STATE_PASSED && test->detail[0] != '\0';
    for (int64_t i = 0; i < test->measure_count; i++)
        beyond = beyond || test->measures[i].mark == DEEP_MARK_FAILED;
    return beyond;
}

static int tell_test(struct db_tx *tx, const struct reporting *reporting)
{
    const struct deep_test *test = &reporting->report->test;
    char span[CLOCK_TEXT_MAX];
    clock_format_duration(test->duration_ms, span);
    struct event event = {.level = test->state == DEEP_STATE_FAILED ? EVENT_LEVEL_ERROR
                                   : is_worth_a_look(test)          ? EVENT_LEVEL_WARN
                                                                    : EVENT_LEVEL_INFO,
                          .kind = EVENT_KIND_DEEP_CHECK};
    autofree char *message = own_printf(
        "%s %s%s%s%s%s", test->name, deep_state_text(test->state), test->state == DEEP_STATE_SKIPPED ? "" : " after ",
        test->state == DEEP_STATE_SKIPPED ? "" : span, test->detail[0] != '\0' ? ": " : "", test->detail);
    if (test->state == DEEP_STATE_FAILED)
        say_cut(event.failure, sizeof(event.failure), "%s", test->detail);
    return place_event_add(tx, &reporting->place, &reporting->operation, &event, message);
}

static int store_test(struct db_tx *tx, struct reporting *reporting)
{
    bool changed = false;
    const struct deep_report *report = reporting->report;
    int status = db_deep_test_put(tx, reporting->run.id, &report->test, report->log, &changed);
    if (status < 0 || !changed || report->test.state == DEEP_STATE_RUNNING)
        return status;
    reporting->told = true;
    return tell_test(tx, reporting);
}

/* --- the end --------------------------------------------------------------------------------------- */

struct summing {
    struct reporting *reporting;
    struct db_tx *tx;
    struct text failed; /* "HARDWARE_CHECK: why; …" */
    char first_skipped[SENTENCE_MAX_BYTES];
    int status;
};

static void make_verdict(const struct summing *summing, const struct deep_test *test, struct verdict *ret_verdict)
{
    const struct reporting *reporting = summing->reporting;
    struct verdict *verdict = ret_verdict;
    *verdict = (struct verdict){.node_id = reporting->node_id,
                                .severity = SEVERITY_CRITICAL,
                                .state = VERDICT_STATE_OPEN,
                                .first_at = reporting->now_ms,
                                .last_at = reporting->now_ms,
                                .received_at = reporting->now_ms,
                                .count = 1};
    autofree char *key = own_printf("%s/%s", reporting->operation.uid, test->name);
    id_sha256_hex(key, strlen(key), verdict->key);
    text_copy_cut(verdict->source, sizeof(verdict->source), SOURCE_DEEP);
    snprintf(verdict->code, sizeof(verdict->code), CODE_PREFIX "%s", test->name);
    for (char *c = verdict->code; *c != '\0'; c++)
        *c = *c == '_' ? '-' : *c >= 'A' && *c <= 'Z' ? (char)(*c - 'A' + 'a') : *c;
    say_cut(verdict->raw_line, sizeof(verdict->raw_line), "deep health check %s failed: %s", test->name, test->detail);
    memcpy(verdict->instance_id, reporting->place.instance.instance_id, sizeof(verdict->instance_id));
    memcpy(verdict->boot_id, reporting->place.instance.boot_id, sizeof(verdict->boot_id));
    verdict->node_fault = !fault_is_overridden(reporting->overrides, verdict->code) &&
                          policy_is_node_fault(NULL, verdict); /* else the loop knows, as it has the type */
}

static int sum_test(const void *row, void *arg)
{
    struct summing *summing = arg;
    struct deep_run *run = &summing->reporting->run;
    const struct deep_test *test = &((const struct db_deep_test_row *)row)->test;
    run->passed += test->state == DEEP_STATE_PASSED;
    run->skipped += test->state == DEEP_STATE_SKIPPED;
    if (test->state == DEEP_STATE_SKIPPED && summing->first_skipped[0] == '\0')
        say_cut(summing->first_skipped, sizeof(summing->first_skipped), "%s", test->detail);
    if (test->state != DEEP_STATE_FAILED)
        return 0;
    struct verdict verdict;
    enum db_verdict_change change;
    run->failed++;
    text_printf(&summing->failed, "%s%s: %s", summing->failed.len > 0 ? "; " : "", test->name, test->detail);
    make_verdict(summing, test, &verdict);
    summing->status = db_verdict_put(summing->tx, &verdict, &change);
    return summing->status;
}

static int tell_end(struct db_tx *tx, const struct reporting *reporting)
{
    const struct deep_run *run = &reporting->run;
    struct event event = {.level = run->state == DEEP_STATE_FAILED ? EVENT_LEVEL_ERROR : EVENT_LEVEL_INFO,
                          .kind = EVENT_KIND_DEEP_CHECK};
    if (run->state == DEEP_STATE_FAILED)
        say_cut(event.failure, sizeof(event.failure), "%s", run->detail);
    autofree char *message =
        own_printf("deep health check %s: %" PRId64 " tests passed, %" PRId64 " failed, %" PRId64 " skipped",
                   deep_state_text(run->state), run->passed, run->failed, run->skipped);
    return place_event_add(tx, &reporting->place, &reporting->operation, &event, message);
}

struct answering {
    int64_t *ids;
    size_t count, room;
};

static int take_suspicion(const void *row, void *arg)
{
    struct answering *answering = arg;
    const struct verdict *verdict = row;
    if (!fault_has_trait(verdict->code, FAULT_TRAIT_ANSWERED_BY_TEST))
        return 0;
    if (answering->count == answering->room) {
        answering->room = answering->room == 0 ? 64 : 2 * answering->room;
        answering->ids = own_realloc(answering->ids, answering->room, sizeof(*answering->ids));
    }
    answering->ids[answering->count++] = verdict->id;
    return 0;
}

/* A test that passed is the answer to what others suspected when it began. */
static int answer_suspicions(struct db_tx *tx, const struct reporting *reporting)
{
    struct answering answering = {0};
    const struct db_verdict_filter open = {.node_id = reporting->node_id, .state = VERDICT_STATE_OPEN};
    int status = db_verdict_list(tx, &open, take_suspicion, &answering);
    autofree int64_t *ids = answering.ids;
    for (size_t i = 0; status >= 0 && i < answering.count; i++)
        status = db_verdict_resolve_between(tx, reporting->node_id, ids[i] - 1, ids[i]);
    if (status < 0 || answering.count == 0)
        return status;
    return place_event(tx, &reporting->place, &reporting->operation, EVENT_LEVEL_INFO, EVENT_KIND_DEEP_CHECK,
                       "the health check passed: %zu %s of the node %s answered", answering.count,
                       answering.count == 1 ? "suspicion" : "suspicions", answering.count == 1 ? "is" : "are");
}

static int sum_up(struct db_tx *tx, struct reporting *reporting)
{
    struct deep_run *run = &reporting->run;
    struct summing summing = {.reporting = reporting, .tx = tx};
    run->passed = run->failed = run->skipped = 0;
    int status = db_deep_test_list(tx, run->id, sum_test, &summing);
    run->state = run->failed > 0 ? DEEP_STATE_FAILED : run->passed > 0 ? DEEP_STATE_PASSED : DEEP_STATE_SKIPPED;
    say_cut(run->detail, sizeof(run->detail), "%s",
            run->state == DEEP_STATE_FAILED    ? text_get(&summing.failed)
            : run->state == DEEP_STATE_SKIPPED ? summing.first_skipped
                                               : "");
    run->finished_at = reporting->now_ms;
    text_free(&summing.failed);
    reporting->told = true;
    if (status >= 0 && run->state == DEEP_STATE_PASSED)
        status = answer_suspicions(tx, reporting);
    return status < 0 ? status : tell_end(tx, reporting);
}

/* --- reports --------------------------------------------------------------------------------------- */

static int find(struct db_tx *tx, struct reporting *reporting)
{
    int status = place_find_row(tx, reporting->node_id, &reporting->place);
    if (status == 0)
        status = db_operation_active(tx, reporting->node_id, &reporting->operation);
    if (status == 0 && !text_equal(reporting->operation.uid, reporting->report->key))
        status = STATUS_NOT_FOUND;
    if (status == 0)
        status = db_deep_run_of_operation(tx, reporting->operation.id, &reporting->run);
    if (status == STATUS_NOT_FOUND)
        return problem_say(reporting->problem, STATUS_STALE, PROBLEM_STALE_REPORT,
                           "This instance is no longer asked to test that. Stop.");
    return status;
}

static int report_write(struct db_tx *tx, void *arg)
{
    struct reporting *reporting = arg;
    struct deep_run *run = &reporting->run;
    reporting->told = false;
    int status = find(tx, reporting);
    if (status < 0 || deep_state_is_final(run->state))
        return status;
    if (run->started_at == 0)
        run->started_at = reporting->now_ms;
    memcpy(run->instance_id, reporting->place.instance.instance_id, sizeof(run->instance_id));
    run->state = DEEP_STATE_RUNNING;
    run->total = reporting->report->total;
    status = reporting->report->final ? sum_up(tx, reporting) : store_test(tx, reporting);
    return status < 0 ? status : db_deep_run_update(tx, run);
}

/* What it says goes into logs and onto terminals; only the log itself has lines. */
static const char *wrong(const struct deep_report *report)
{
    const struct deep_test *test = &report->test;
    if (report->final)
        return NULL;
    if (test->ordinal < 1 || test->ordinal > DEEP_TESTS_MAX || report->total > DEEP_TESTS_MAX)
        return "there are at most 16 tests";
    if (test->name[0] == '\0' || strspn(test->name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") != strlen(test->name))
        return "the name of a test has capital letters, digits and underscores";
    if (test->state == DEEP_STATE_WAITING || test->state == DEEP_STATE_CANCELLED)
        return "a test is running, passed, failed or skipped";
    if (test->state >= DEEP_STATE_FAILED && test->detail[0] == '\0')
        return "what failed or was skipped has a reason";
    bool clean = text_is_clean(test->detail);
    for (int64_t i = 0; i < test->measure_count; i++)
        clean = clean && text_is_clean(test->measures[i].name) && text_is_clean(test->measures[i].value) &&
                text_is_clean(test->measures[i].limit);
    return clean ? NULL : "there are control characters in it";
}

int service_agent_report_check(struct service *s, int64_t node_id, const struct deep_report *report,
                               struct problem *ret_problem)
{
    struct problem unused;
    struct problem *problem = ret_problem != NULL ? ret_problem : &unused;
    autofree struct reporting *reporting = own_calloc(1, sizeof(*reporting));
    const char *refusal = wrong(report);
    if (refusal != NULL)
        return problem_say(problem, STATUS_INVALID, PROBLEM_INVALID_VALUE, "The report is refused: %s.", refusal);
    *reporting = (struct reporting){.report = report,
                                    .overrides = atomic_load(&s->fault_overrides),
                                    .node_id = node_id,
                                    .now_ms = service_now(s),
                                    .told = false,
                                    .problem = problem};
    int status = service_write(s, "agent-check", report_write, reporting, problem);
    if (status < 0)
        return status;
    service_agent_changed(s, node_id);
    if (reporting->told)
        service_events_added(s);
    return 0;
}
