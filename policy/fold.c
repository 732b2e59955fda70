/*
 * Folding: many lines, many codes, one incident per device.
 *
 * Order: evidence of this boot and instance only (rates count that of earlier boots of the instance, too, and what is for a person
 * stays so whatever boots), and none that a reset of its device has answered since → the driver's own word supersedes what came before it → codes that take
 * others back → rates → the finding that asks for most leads, and what lies within a minute of it is its company. So 672
 * cleanup lines are one incident, and an ECC error with its five companions is one too.
 *
 * Times are compared among the verdicts of one agent, never with the server's clock, which may differ from it.
 */
#include "policy/evaluate.h"

#include "base/own.h"
#include "base/text.h"

#include <stdio.h>

/* --- which evidence counts ------------------------------------------------------------------------------------ */

static bool is_fresh(const struct policy_node *node, const struct verdict *verdict)
{
    const char *boot_id = text_or_empty(node->boot_id);
    if (text_equal(verdict->source, VERDICT_SOURCE_REPORT)) /* of the machine, whatever boots */
        return text_equal(verdict->instance_id, text_or_empty(node->instance_id));
    /* Until the first boot is reported only the instance can be compared. */
    return text_equal(verdict->instance_id, text_or_empty(node->instance_id)) &&
           (boot_id[0] == '\0' || text_equal(verdict->boot_id, boot_id));
}

/* Both times are the agent's. What comes late, or again, is no older for that, and what goes on after the reset is newer. */
const struct policy_repair *policy_cleared_by_reset_by(const struct policy_node *node, const struct verdict *verdict)
{
    for (size_t i = 0; i < node->repair_count && verdict->device[0] != '\0'; i++) {
        const struct policy_repair *repair = &node->repairs[i];
        if (repair->cleared_by_reset_at >= verdict->last_at && repair->cleared_by_reset_at > 0 &&
            text_equal(verdict->instance_id, text_or_empty(repair->instance_id)) &&
            text_equal(verdict->boot_id, text_or_empty(repair->boot_id)) &&
            policy_same_device(node, text_or_empty(repair->device), verdict->device))
            return repair;
    }
    return NULL;
}

static const struct verdict *newer_of(const struct verdict *a, const struct verdict *b)
{
    bool newer = a == NULL || b->last_at > a->last_at || (b->last_at == a->last_at && b->id > a->id);
    return newer ? b : a;
}

static struct finding look(const struct policy_snapshot *snapshot, const struct verdict *verdict)
{
    struct fault_judgement judgement;
    fault_judge_in(&snapshot->faults, verdict->source, verdict->code, verdict->raw_line, &judgement);
    return (struct finding){
        .verdict = verdict,
        .row = judgement.row,
        .action = judgement.action,
        .again = judgement.again,
        .urgency = judgement.urgency,
        .severity = judgement.severity,
        .driver_word = judgement.driver_word,
        .undecided = judgement.undecided,
    };
}

/* By device, then time; code and row number make the order total, so that the order of the input never matters. */
static int by_device_and_time(const void *left, const void *right)
{
    const struct verdict *a = ((const struct finding *)left)->verdict, *b = ((const struct finding *)right)->verdict;
    int order = strcmp(a->device, b->device);
    if (order == 0)
        order = a->first_at < b->first_at ? -1 : a->first_at > b->first_at;
    if (order == 0)
        order = strcmp(a->code, b->code);
    if (order == 0)
        order = a->id < b->id ? -1 : a->id > b->id;
    return order;
}

/* Of an earlier boot of this machine: no evidence of what is wrong now, but it was the same part. */
static bool is_of_an_earlier_boot(const struct policy_node *node, const struct verdict *verdict)
{
    return text_equal(verdict->instance_id, text_or_empty(node->instance_id)) &&
           !text_equal(verdict->boot_id, text_or_empty(node->boot_id));
}

/* The findings that count: *ret_history of the earlier boots of this machine stand in history, for rates alone. */
static size_t gather(const struct policy_snapshot *snapshot, const struct policy_node *node, struct finding *findings,
                     struct finding *history, size_t *ret_history, struct folded *folded)
{
    size_t count = 0, history_count = 0;
    for (size_t i = 0; i < node->verdict_count; i++) {
        const struct verdict *verdict = node->verdicts[i];
        if (verdict->state != VERDICT_STATE_OPEN ||
            (verdict->expires_at > 0 && verdict->expires_at <= snapshot->now_ms))
            continue;
        bool earlier = !is_fresh(node, verdict) && is_of_an_earlier_boot(node, verdict);
        struct finding finding = earlier ? look(snapshot, verdict) : (struct finding){0};
        if (earlier && finding.action == ACTION_CLASS_SUPPORT) {
            finding.of_earlier_boot = true;
            findings[count++] = finding;
        } else if (!is_fresh(node, verdict)) {
            if (earlier)
                history[history_count++] = finding;
            folded->stale_count++;
            folded->stale = newer_of(folded->stale, verdict);
        } else if (policy_cleared_by_reset_by(node, verdict) != NULL) {
            folded->cleared_by_reset_count++;
            folded->cleared_by_reset = newer_of(folded->cleared_by_reset, verdict);
        } else {
            findings[count++] = look(snapshot, verdict);
        }
    }
    qsort(findings, count, sizeof(findings[0]), by_device_and_time);
    qsort(history, history_count, sizeof(history[0]), by_device_and_time);
    *ret_history = history_count;
    return count;
}

/* --- what other findings say about one --------------------------------------------------------------------------- */

/* A word that asks for a repair covers what it repairs, however long that goes on. A word that asks for none speaks for
 * what was seen until then: a fault that goes on after "None" is there, whatever was said. */
static bool is_superseded(const struct finding *finding, const struct finding *word)
{
    int64_t seen_at = word->action < ACTION_CLASS_RESET ? finding->verdict->last_at : finding->verdict->first_at;
    return !finding->of_earlier_boot && (finding->driver_word || seen_at <= word->verdict->last_at);
}

/* The newest Xid 154 of the device replaces all that was seen until then, earlier ones included. */
static void obey_driver(struct finding *findings, size_t count)
{
    struct finding *word = NULL;
    for (size_t i = 0; i < count; i++)
        if (findings[i].driver_word && (word == NULL || findings[i].verdict->last_at >= word->verdict->last_at))
            word = &findings[i];
    for (size_t i = 0; word != NULL && i < count; i++)
        if (&findings[i] != word && is_superseded(&findings[i], word))
            findings[i].dropped = true;
}

static void take_back(struct finding *findings, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (findings[i].row == NULL || findings[i].row->cancels[0] == '\0')
            continue;
        for (size_t k = 0; k < count; k++)
            if (!findings[k].of_earlier_boot && text_equal(findings[k].verdict->code, findings[i].row->cancels) &&
                findings[k].verdict->last_at <= findings[i].verdict->last_at)
                findings[k].dropped = true;
    }
}

/* "The device was recovered" names the port above it: what came within a fold window before is meant, on whatever device. */
static void end_lasting(struct finding *findings, size_t count, int64_t fold_ms)
{
    for (size_t i = 0; i < count; i++) {
        const struct fault_row *row = findings[i].row;
        const struct verdict *end = findings[i].verdict;
        for (size_t k = 0; row != NULL && row->ends[0] != '\0' && k < count; k++) {
            const struct verdict *verdict = findings[k].verdict;
            if (text_starts_with(verdict->code, row->ends) && text_equal(verdict->boot_id, end->boot_id) &&
                verdict->last_at <= end->last_at && end->first_at - verdict->last_at <= fold_ms)
                findings[k].ended = true;
        }
    }
}

static bool same_fault(const struct finding *a, const struct finding *b)
{
    return !b->dropped && text_equal(a->verdict->code, b->verdict->code) &&
           fault_same_unit(a->verdict->code, a->verdict->raw_line, b->verdict->raw_line);
}

/* Rates look at no more than this many findings of a device: a flood must cost a glance, not a square. */
#define RATE_FINDINGS_MAX 256

/* Findings of a node's earlier boots: what a repair of ours has answered since does not count against its device again. */
struct history {
    const struct policy_node *node;
    const struct finding *findings;
    size_t count;
};

/* A repair that came after the newest finding and left it open has not answered the older ones either. */
static int64_t repaired_at(const struct policy_node *node, const struct verdict *newest)
{
    int64_t at = 0;
    for (size_t i = 0; i < node->repair_count; i++) {
        const struct policy_repair *repair = &node->repairs[i];
        if (!repair->by_person && repair->at > at && repair->at <= newest->received_at &&
            policy_same_device(node, text_or_empty(repair->device), newest->device))
            at = repair->at;
    }
    return at;
}

/* How often the fault came in earlier boots of this machine, since that time and the last repair of its device. */
static int count_history(const struct history *history, const struct finding *newest, int64_t since, int64_t fold_ms)
{
    int bursts = 0;
    int64_t burst_end = 0, repaired = -1;
    for (size_t i = history->count < RATE_FINDINGS_MAX ? 0 : history->count - RATE_FINDINGS_MAX; i < history->count;
         i++) {
        const struct verdict *verdict = history->findings[i].verdict;
        if (verdict->last_at <= since || !text_equal(verdict->device, newest->verdict->device) ||
            !same_fault(newest, &history->findings[i]))
            continue;
        if (repaired < 0)
            repaired = repaired_at(history->node, newest->verdict);
        if (verdict->received_at <= repaired)
            continue;
        bursts += bursts == 0 || verdict->first_at > burst_end + fold_ms;
        burst_end = verdict->last_at > burst_end ? verdict->last_at : burst_end;
    }
    return bursts;
}

/* How often the fault of `at` came in the window that ends with it; findings within a fold window are one burst, for as long as
 * that is short. */
static int count_bursts(const struct finding *findings, size_t at, const struct history *history, int64_t fold_ms)
{
    const struct finding *newest = &findings[at];
    int64_t since = newest->verdict->last_at - newest->row->rate_window_ms;
    int64_t part_ms = newest->row->rate_window_ms / newest->row->rate_count;
    int bursts = 0;
    int64_t burst_at = 0, burst_end = 0;
    for (size_t i = at < RATE_FINDINGS_MAX ? 0 : at - RATE_FINDINGS_MAX; i <= at; i++) {
        const struct verdict *verdict = findings[i].verdict;
        if (verdict->last_at <= since || !same_fault(newest, &findings[i]))
            continue;
        if (bursts == 0 || verdict->first_at > burst_end + fold_ms) {
            bursts++;
            burst_at = verdict->first_at > since ? verdict->first_at : since;
        }
        burst_end = verdict->last_at > burst_end ? verdict->last_at : burst_end;
        /* What goes on without a pause is no single event: it counts again with each part of the window. */
        for (; burst_end - burst_at >= part_ms; burst_at += part_ms)
            bursts++;
    }
    return bursts + count_history(history, newest, since, fold_ms);
}

/* Programs cause what the table calls theirs, however often: it may earn a reboot, but a repeat after that is for a person,
 * as a crashing program that is started again would eat one machine after the other. */
static void raise_by_rate(struct finding *finding)
{
    bool for_person = finding->action == ACTION_CLASS_APP || finding->row->again == ACTION_CLASS_SUPPORT;
    enum action_class after_reboot = for_person ? ACTION_CLASS_SUPPORT : ACTION_CLASS_REPLACE;
    finding->rate_exceeded = true;
    finding->action = finding->row->rate_action;
    finding->again = finding->action == ACTION_CLASS_REBOOT ? after_reboot : finding->action;
    if (finding->action >= ACTION_CLASS_RESET)
        finding->severity = SEVERITY_CRITICAL;
}

static void apply_rates(struct finding *findings, size_t count, const struct history *history, int64_t fold_ms)
{
    for (size_t i = count < RATE_FINDINGS_MAX ? 0 : count - RATE_FINDINGS_MAX; i < count; i++) {
        struct finding *finding = &findings[i];
        bool counted = finding->row != NULL && finding->row->rate_count > 0 && !finding->dropped &&
                       (finding->action == ACTION_CLASS_APP || finding->action == ACTION_CLASS_WATCH);
        finding->bursts = counted ? count_bursts(findings, i, history, fold_ms) : 0;
    }
    /* Only now, as counting looks at the findings themselves. */
    for (size_t i = 0; i < count; i++)
        if (findings[i].bursts > 0 && findings[i].bursts >= findings[i].row->rate_count)
            raise_by_rate(&findings[i]);
}

/* --- one incident --------------------------------------------------------------------------------------------- */

/* What a finding asks for, as weight. SUPPORT stands below the repairs: a machine that can be helped is helped, and what
 * needs a person is still there afterwards. A companion alone weighs least. */
static int weight(const struct finding *finding)
{
    static const int weights[] = {
        [ACTION_CLASS_IGNORE] = 0, [ACTION_CLASS_APP] = 2,    [ACTION_CLASS_WATCH] = 3,   [ACTION_CLASS_SUPPORT] = 5,
        [ACTION_CLASS_RESET] = 6,  [ACTION_CLASS_REBOOT] = 7, [ACTION_CLASS_REPLACE] = 8,
    };
    if (finding->dropped)
        return -1;
    if (finding->driver_word && finding->action == ACTION_CLASS_IGNORE)
        return 1; /* "None" is a statement, not an absence */
    if (finding->row != NULL && finding->row->sympathetic && finding->action == ACTION_CLASS_WATCH)
        return 1;
    bool asks = finding->rate_exceeded || finding->row == NULL; /* what nobody knows needs somebody's word */
    return asks && finding->action == ACTION_CLASS_WATCH ? 4 : weights[finding->action];
}

static bool leads(const struct finding *a, const struct finding *b)
{
    if (weight(a) != weight(b))
        return weight(a) > weight(b);
    bool a_companion = a->row != NULL && a->row->sympathetic, b_companion = b->row != NULL && b->row->sympathetic;
    if (a_companion != b_companion)
        return b_companion;
    if (a->bursts != b->bursts)
        return a->bursts > b->bursts; /* the one that ends the longest row shows the rate */
    /* Of equals the more urgent; of those the findings are in order of time, and the first is nearer the cause. */
    return a->urgency == URGENCY_NOW && b->urgency != URGENCY_NOW;
}

/* The other codes of the incident, each once, as far as there is room. */
static void note_company(struct incident *incident, const char *code)
{
    size_t len = strlen(incident->company);
    if (text_equal(code, incident->lead.verdict->code) || strstr(incident->company, code) != NULL ||
        len + strlen(code) + sizeof(", ") > sizeof(incident->company))
        return;
    snprintf(incident->company + len, sizeof(incident->company) - len, "%s%s", len > 0 ? ", " : "", code);
}

static void add_evidence(struct incident *incident, const struct verdict *verdict)
{
    note_company(incident, verdict->code);
    if (incident->evidence_count < DECISION_EVIDENCE_MAX)
        incident->evidence[incident->evidence_count] = verdict->id;
    incident->evidence_count++;
    incident->lines += verdict->count > 0 ? verdict->count : 1;
    if (verdict->first_at < incident->first_at)
        incident->first_at = verdict->first_at;
    if (verdict->last_at > incident->last_at)
        incident->last_at = verdict->last_at;
}

/* The run of findings around the leader without a gap longer than the fold window: [*ret_from, *ret_to). */
static void find_company(const struct finding *findings, size_t count, size_t lead, int64_t fold_ms, size_t *ret_from,
                         size_t *ret_to)
{
    size_t from = lead, to = lead + 1;
    int64_t first_at = findings[lead].verdict->first_at, last_at = findings[lead].verdict->last_at;
    for (; from > 0 && findings[from - 1].verdict->last_at + fold_ms >= first_at; from--)
        first_at = findings[from - 1].verdict->first_at;
    for (; to < count && findings[to].verdict->first_at <= last_at + fold_ms; to++)
        if (findings[to].verdict->last_at > last_at)
            last_at = findings[to].verdict->last_at;
    *ret_from = from;
    *ret_to = to;
}

/* Double-bit ECC: with a remapped or contained row the jobs may finish, unless something was not contained. */
static void soften_by_company(const struct finding *findings, size_t from, size_t to, struct incident *incident)
{
    if (!fault_has_trait(incident->lead.verdict->code, FAULT_TRAIT_DOUBLE_BIT))
        return;
    bool contained = false;
    for (size_t i = from; i < to; i++) {
        const char *code = findings[i].verdict->code;
        if (fault_has_trait(code, FAULT_TRAIT_UNCONTAINED))
            return;
        contained |= fault_has_trait(code, FAULT_TRAIT_CONTAINED);
    }
    if (contained)
        incident->lead.urgency = URGENCY_AFTER_JOBS;
}

static int64_t last_watched(const struct finding *findings, size_t count)
{
    int64_t at = 0;
    for (size_t i = 0; i < count; i++)
        if (!findings[i].dropped && findings[i].action >= ACTION_CLASS_WATCH && findings[i].verdict->last_at > at)
            at = findings[i].verdict->last_at;
    return at;
}

static int64_t first_due(const struct finding *findings, size_t count)
{
    int64_t at = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t due_at = findings[i].verdict->due_at;
        if (!findings[i].dropped && findings[i].action >= ACTION_CLASS_RESET && due_at > 0 && (at == 0 || due_at < at))
            at = due_at;
    }
    return at;
}

static int64_t last_repair(const struct finding *findings, size_t count)
{
    int64_t at = 0;
    for (size_t i = 0; i < count; i++)
        if (!findings[i].dropped && findings[i].action >= ACTION_CLASS_RESET && findings[i].verdict->received_at > at)
            at = findings[i].verdict->received_at;
    return at;
}

/* Of the findings of this boot, or of those of earlier ones, that which asks for most. */
static size_t find_lead(const struct finding *findings, size_t count, bool of_earlier_boot)
{
    size_t lead = count;
    for (size_t i = 0; i < count; i++)
        if (findings[i].of_earlier_boot == of_earlier_boot && (lead == count || leads(&findings[i], &findings[lead])))
            lead = i;
    return lead;
}

static struct incident make_incident(struct finding *findings, size_t count, size_t lead, int64_t fold_ms)
{
    const struct verdict *verdict = findings[lead].verdict;
    struct incident incident = {.device = verdict->device,
                                .lead = findings[lead],
                                .first_at = verdict->first_at,
                                .last_at = verdict->last_at,
                                .watched_at = last_watched(findings, count),
                                .repair_at = last_repair(findings, count),
                                .due_at = first_due(findings, count)};
    size_t from, to;
    find_company(findings, count, lead, fold_ms, &from, &to);
    add_evidence(&incident, verdict);
    findings[lead].told = true;
    for (size_t i = 0; i < count; i++) {
        bool counted = findings[lead].bursts > 1 && i < lead && same_fault(&findings[lead], &findings[i]);
        bool same_boot = findings[i].of_earlier_boot == findings[lead].of_earlier_boot;
        if (i == lead || !same_boot || ((i < from || i >= to) && !counted))
            continue;
        add_evidence(&incident, findings[i].verdict);
        findings[i].told = true;
    }
    soften_by_company(findings, from, to, &incident);
    return incident;
}

/* What an earlier boot left to a person is an incident of its own: what the device shows now, of which perhaps is only said what would be
 * done, does not cover it. */
static void make_incidents(struct finding *findings, size_t count, int64_t fold_ms, struct folded *folded)
{
    for (int of_earlier_boot = 0; of_earlier_boot <= 1; of_earlier_boot++) {
        size_t lead = find_lead(findings, count, of_earlier_boot != 0);
        if (lead < count)
            folded->incidents[folded->count++] = make_incident(findings, count, lead, fold_ms);
    }
}

/* One GPU's is what its program may have done; of two at once it is what is between them, and a reboot sets up the fabric anew. */
static void join_undecided(struct folded *folded, int64_t fold_ms)
{
    for (size_t i = 0; i < folded->count; i++)
        for (size_t k = 0; k < folded->count; k++) {
            const struct incident *a = &folded->incidents[i], *b = &folded->incidents[k];
            bool at_once = a->first_at <= b->last_at + fold_ms && b->first_at <= a->last_at + fold_ms;
            if (i != k && a->lead.undecided && b->lead.undecided && at_once)
                folded->incidents[i].lead.of_fabric = true;
        }
    for (size_t i = 0; i < folded->count; i++) {
        struct finding *lead = &folded->incidents[i].lead;
        if (!lead->of_fabric)
            continue;
        lead->action = ACTION_CLASS_REBOOT;
        lead->again = ACTION_CLASS_SUPPORT; /* the far end may be at fault */
        lead->severity = SEVERITY_CRITICAL;
        folded->incidents[i].repair_at = lead->verdict->received_at;
    }
}

void policy_fold(const struct policy_snapshot *snapshot, const struct policy_node *node, struct folded *ret_folded)
{
    struct folded folded = {0};
    struct finding *findings = own_calloc(node->verdict_count + 1, sizeof(*findings));
    autofree struct finding *of_history = own_calloc(node->verdict_count + 1, sizeof(*of_history));
    struct history history = {.node = node, .findings = of_history};
    size_t count = gather(snapshot, node, findings, of_history, &history.count, &folded);
    end_lasting(findings, count, snapshot->settings.fold_window_ms);
    folded.incidents = own_calloc(count + 1, sizeof(*folded.incidents));
    for (size_t from = 0, to; from < count; from = to) {
        for (to = from + 1; to < count && text_equal(findings[to].verdict->device, findings[from].verdict->device);)
            to++;
        obey_driver(findings + from, to - from);
        take_back(findings + from, to - from);
        apply_rates(findings + from, to - from, &history, snapshot->settings.fold_window_ms);
        policy_apply_lasting(snapshot, node, findings + from, to - from);
        make_incidents(findings + from, to - from, snapshot->settings.fold_window_ms, &folded);
    }
    join_undecided(&folded, snapshot->settings.fold_window_ms);
    policy_weigh_lasting(snapshot, findings, count, &folded);
    folded.findings = findings;
    folded.finding_count = count;
    *ret_folded = folded;
}

void policy_folded_free(struct folded *folded)
{
    free(folded->incidents);
    free(folded->findings);
    *folded = (struct folded){0};
}
