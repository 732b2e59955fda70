/*
 * The golden cases' small language: a story, the group, nodes with what was seen and tried, and what the policy has to say.
 * Times are relative to now ("-30s", "-2d"). Only the story, its source and one node are needed; see any of tests/policy/cases.
 *   story: words
 *   source: where it comes from              a thread, an incident, a table, or the peer whose mechanism it is
 *   set: NAME VALUE …                        settings, in milliseconds or as "15m"
 *   modes: gpu=observe gpu-memory=approve    by fault class; act without
 *   hours: not "Mon-Fri 08:00-18:00" only "Sat,Sun" spacing 10m anytime gpu    when repairs begin
 *   budgets: gpu-memory=1 gpu=10%            of a class of fault: so many nodes, or a share of the group
 *   jobs: gpu=signal:B:USR1 fabric=wait gpu-memory=now wait_for=30m signal_for=5m   by fault class; table, 4 h, 10 min without
 *   override: xid.79 watch watch after-jobs type=p4d   what a site says otherwise: first, again, urgency, for one type
 *   group: desired=64 recovery=None in_repair=0 in_repair_of=gpu-memory:1 healthy=60 idle=2 replacing=1 failed=1
 *          last_repair=-5m short=2 short_at=-1m short_until=5m provision_failed=3 provision_failed_at=-5m protected=-5m opened=-20m settled=-5m type=p5 image=ami-1
 *   node gpu-[1-3] state=held heartbeat=-5s scheduler=deaf|down|off|maintenance|reserved|unknown|none drain="words" request=reboot by=alice opted_out paused busy idle resets resumes_elsewhere boot=b2 image=ami-1
 *       zone=a powerDomain=p1 rack=r1 switch=s1 ultraserver=u1 chassis=c1 approval=asked|approved|rejected|expired approves=reboot approval_at=-1h expires=1h
 *       held_for=CODE held_device=0000:4e:00 held_at=-1h      a person's turn, which nobody has ended
 *       approval_device=0000:4e:00           else: of its first verdict
 *       approval_reason="words" ran_out_yes  of the answer; an expired one was an approval
 *     verdict xid.79 0000:b9:00 at=-30s until=-10s due=3d expires=2d count=3 severity=warn boot=… instance=… times=5 every=10m stale
 *       line NVRM: Xid (…): 79, …            of the verdict above; without it one is made up
 *     repair reboot 0000:b9:00 xid.79 at=-2d returned=-47h instance=… cleared=-47h failed not_cleared by_person no_return="why" same_piece of=gpu-7
 *     hardware gpu 0000:b9:00 GPU-1234-5678     one device under several names
 *   explain gpu-1                            shows its explanation too
 *   expect
 *     (written by the runner: UPDATE=1 tests/policy/test_golden)
 */
#ifndef HOLDFAST_TESTS_POLICY_CASE_H
#define HOLDFAST_TESTS_POLICY_CASE_H

#include "base/own.h"
#include "base/text.h"
#include "policy/faults/faults.h"
#include "policy/incident.h"
#include "policy/policy.h"
#include "tests/policy/case_settings.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define CASE_NODES_MAX 256
#define CASE_VERDICTS_MAX 1024 /* of one node */
#define CASE_REPAIRS_MAX 16
#define CASE_HARDWARE_MAX 8

struct case_node {
    char name[NODE_NAME_MAX_BYTES], instance[ID_INSTANCE_MAX], boot[BOOT_ID_MAX_BYTES];
    char reason[REASON_MAX_BYTES], request_by[NAME_MAX_BYTES], approval_device[DEVICE_MAX_BYTES],
        approval_reason[REASON_MAX_BYTES];
    char image[64];
    char domain[TOPOLOGY_LEVEL_COUNT][TOPOLOGY_NAME_MAX_BYTES];
    struct verdict *verdicts; /* owned */
    const struct verdict **refs;
    size_t verdict_count, verdict_group; /* verdict_group: how many the last line made */
    struct policy_repair repairs[CASE_REPAIRS_MAX];
    char repair_texts[CASE_REPAIRS_MAX][6][SENTENCE_MAX_BYTES];
    struct hardware hardware[CASE_HARDWARE_MAX];
    size_t repair_count;
    struct policy_person_hold hold;
    char hold_texts[2][64];
    struct policy_node node;
};

struct policy_case {
    char story[256], source[256], type[64], image[64], explain[NODE_NAME_MAX_BYTES], error[256];
    struct policy_snapshot snapshot;
    struct fault_overrides *overrides; /* owned; NULL: none */
    struct policy_incident *incidents; /* owned */
    struct case_node *nodes;
    struct policy_node *plain_nodes;
    size_t node_count;
    size_t group_from; /* nodes of the last node line */
    int64_t next_id;
    size_t expect_at; /* offset of what follows the line "expect" */
};

/* --- lines ----------------------------------------------------------------------------------------------------- */

static inline bool case_override(struct policy_case *c, char **words, int count)
{
    struct fault_override wanted = {.instance_type = "", .why = "our own word"};
    const char *wrong = NULL;
    if (c->overrides == NULL)
        c->overrides = fault_overrides_new("golden");
    c->snapshot.faults.overrides = c->overrides;
    wanted.code = words[1];
    wanted.instance_type = count == 6 && case_value(words[5], "type") != NULL ? case_value(words[5], "type") : "";
    return count >= 5 && count - 5 == (wanted.instance_type[0] != '\0' ? 1 : 0) &&
           action_class_parse(words[2], &wanted.action) == 0 && action_class_parse(words[3], &wanted.again) == 0 &&
           urgency_parse(words[4], &wanted.urgency) == 0 && fault_overrides_add(c->overrides, &wanted, &wrong) == 0;
}

static inline bool case_group(struct policy_case *c, const char *word)
{
    struct policy_group *group = &c->snapshot.group;
    const char *value;
    if ((value = case_value(word, "type")) != NULL)
        return text_copy(c->type, sizeof(c->type), value) == 0;
    if ((value = case_value(word, "image")) != NULL) {
        group->image = c->image;
        return text_copy(c->image, sizeof(c->image), value) == 0;
    }
    struct {
        const char *name;
        int64_t *number;
    } numbers[] = {
        {"desired", &group->desired},
        {"in_repair", &group->in_repair},
        {"healthy", &group->healthy_elsewhere},
        {"idle", &group->idle_elsewhere},
        {"replacing", &group->replacing},
        {"failed", &group->failed_recently},
        {"silent", &group->missed.all},
        {"silent_lately", &group->missed.lately},
        {"short", &group->machine_capacity.short_times},
        {"provision_failed", &group->machine_capacity.failures},
    };
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        if ((value = case_value(word, numbers[i].name)) != NULL)
            return text_parse_i64(value, 0, 1000000, numbers[i].number) == 0;
    if ((value = case_value(word, "in_repair_of")) != NULL) {
        char name[32] = "";
        enum fault_class fault = FAULT_CLASS_NONE;
        const char *colon = strchr(value, ':');
        snprintf(name, sizeof(name), "%.*s", colon == NULL ? 0 : (int)(colon - value), value);
        return fault_class_parse(name, &fault) == 0 &&
               text_parse_i64(colon + 1, 0, 1000000, &group->in_repair_of[fault]) == 0;
    }
    if ((value = case_value(word, "recovery")) != NULL)
        return node_recovery_parse(value, &group->recovery) == 0;
    return case_when(word, "opened", &group->breaker_opened_at) ||
           case_when(word, "closed", &group->breaker_closed_at) ||
           case_when(word, "settled", &group->breaker_settled_since) ||
           case_when(word, "last_repair", &group->last_repair_at) ||
           case_when(word, "short_at", &group->machine_capacity.short_at) ||
           case_when(word, "short_until", &group->machine_capacity.short_until) ||
           case_when(word, "provision_failed_at", &group->machine_capacity.failed_at) ||
           case_when(word, "protected", &group->machine_capacity.protected_at);
}

static inline bool case_scheduler(struct case_node *n, const char *value)
{
    n->node.has_scheduler = strcmp(value, "none") != 0;
    n->node.scheduler_known = n->node.has_scheduler && strcmp(value, "unknown") != 0;
    n->node.scheduler_responding = strcmp(value, "hears") == 0;
    n->node.scheduler_down = strcmp(value, "down") == 0;
    n->node.switched_off = strcmp(value, "off") == 0;
    n->node.maintenance = strcmp(value, "maintenance") == 0;
    n->node.reserved = strcmp(value, "reserved") == 0;
    return true;
}

static inline bool case_hold_word(struct case_node *n, const char *word)
{
    const char *value;
    if ((value = case_value(word, "held_for")) != NULL) {
        n->hold.at = n->hold.at == 0 ? CASE_NOW_MS - 3600000 : n->hold.at;
        return text_copy(n->hold_texts[0], sizeof(n->hold_texts[0]), value) == 0;
    }
    if ((value = case_value(word, "held_device")) != NULL)
        return text_copy(n->hold_texts[1], sizeof(n->hold_texts[1]), value) == 0;
    return case_when(word, "held_at", &n->hold.at);
}

static inline bool case_node_word(struct case_node *n, const char *word)
{
    const char *value;
    int state = 0;
    if ((value = case_value(word, "state")) != NULL) {
        bool ok = sm_parse(&node_state_machine, value, &state) == 0;
        n->node.state = (enum node_state)state;
        return ok;
    }
    if ((value = case_value(word, "drain")) != NULL) {
        n->node.external_drain = true;
        return text_copy(n->reason, sizeof(n->reason), value) == 0;
    }
    if ((value = case_value(word, "request")) != NULL) {
        n->node.request = strcmp(value, "reboot") == 0 ? POLICY_REQUEST_REBOOT : POLICY_REQUEST_REPLACE;
        return strcmp(value, "reboot") == 0 || strcmp(value, "replace") == 0;
    }
    if ((value = case_value(word, "scheduler")) != NULL)
        return case_scheduler(n, value);
    if (text_starts_with(word, "held_"))
        return case_hold_word(n, word);
    if ((value = case_value(word, "by")) != NULL)
        return text_copy(n->request_by, sizeof(n->request_by), value) == 0;
    if ((value = case_value(word, "instance")) != NULL)
        return text_copy(n->instance, sizeof(n->instance), value) == 0;
    if ((value = case_value(word, "image")) != NULL)
        return text_copy(n->image, sizeof(n->image), value) == 0;
    if ((value = case_value(word, "boot")) != NULL)
        return text_copy(n->boot, sizeof(n->boot), value) == 0;
    for (int level = 0; level < TOPOLOGY_LEVEL_COUNT; level++)
        if ((value = case_value(word, topology_level_text((enum topology_level)level))) != NULL)
            return text_copy(n->domain[level], sizeof(n->domain[level]), value) == 0;
    if (strcmp(word, "heartbeat=never") == 0)
        return (n->node.last_heartbeat_at = 0) == 0;
    if ((value = case_value(word, "approval")) != NULL) {
        n->node.approval.expires_at = CASE_NOW_MS + 3600000;
        if (approval_state_parse(value, &n->node.approval.state) != 0)
            return false;
        bool answered =
            n->node.approval.state == APPROVAL_STATE_APPROVED || n->node.approval.state == APPROVAL_STATE_REJECTED;
        n->node.approval.by = answered ? "alice" : "";
        return true;
    }
    if ((value = case_value(word, "approves")) != NULL)
        return action_parse(value, &n->node.approval.action) == 0;
    if ((value = case_value(word, "approval_device")) != NULL)
        return text_copy(n->approval_device, sizeof(n->approval_device), value) == 0;
    if ((value = case_value(word, "approval_reason")) != NULL) {
        n->node.approval.reason = n->approval_reason;
        return text_copy(n->approval_reason, sizeof(n->approval_reason), value) == 0;
    }
    if (strcmp(word, "ran_out_yes") == 0)
        return (n->node.approval.by = "alice") != NULL;
    if (strcmp(word, "resets") == 0)
        return n->node.can_reset = true;
    if (strcmp(word, "resumes_elsewhere") == 0)
        return n->node.resumes_elsewhere = true;
    if (strcmp(word, "opted_out") == 0)
        return n->node.opted_out = true;
    if (strcmp(word, "paused") == 0)
        return (n->node.paused_why = "alice paused the cluster: the fabric is recabled") != NULL;
    if (strcmp(word, "idle") == 0)
        return n->node.idle = true;
    if (strcmp(word, "busy") == 0)
        return n->node.has_active_operation = true;
    return case_when(word, "heartbeat", &n->node.last_heartbeat_at) || case_when(word, "boot_at", &n->node.boot_at) ||
           case_when(word, "approval_at", &n->node.approval.at) ||
           case_when(word, "expires", &n->node.approval.expires_at);
}

static inline bool case_add_node(struct policy_case *c, char **words, int count)
{
    char **names = NULL;
    size_t name_count = 0;
    if (count < 2 || text_hostlist_expand(words[1], CASE_NODES_MAX - c->node_count, &names, &name_count) != 0)
        return false;
    c->group_from = c->node_count;
    bool ok = true;
    for (size_t i = 0; i < name_count; i++) {
        struct case_node *n = &c->nodes[c->node_count++];
        text_copy_cut(n->name, sizeof(n->name), names[i]);
        snprintf(n->instance, sizeof(n->instance), "i-%.20s", names[i]);
        snprintf(n->boot, sizeof(n->boot), "boot-%.30s", names[i]);
        n->verdicts = own_calloc(CASE_VERDICTS_MAX, sizeof(*n->verdicts));
        n->refs = own_calloc(CASE_VERDICTS_MAX, sizeof(*n->refs));
        n->node = (struct policy_node){.id = (int64_t)c->node_count,
                                       .state = NODE_STATE_READY,
                                       .boot_at = CASE_NOW_MS - 86400000,
                                       .last_heartbeat_at = CASE_NOW_MS - 2000,
                                       .has_scheduler = true,
                                       .scheduler_known = true,
                                       .scheduler_responding = true};
        for (int k = 2; k < count; k++)
            ok = case_node_word(n, words[k]) && ok;
    }
    text_list_free(names, name_count);
    return ok;
}

static inline bool case_verdict_word(struct verdict *v, const char *word, int64_t *times, int64_t *every)
{
    const char *value;
    if ((value = case_value(word, "count")) != NULL)
        return text_parse_i64(value, 1, 1000000, &v->count) == 0;
    if ((value = case_value(word, "severity")) != NULL)
        return severity_parse(value, &v->severity) == 0;
    if ((value = case_value(word, "boot")) != NULL)
        return text_copy(v->boot_id, sizeof(v->boot_id), value) == 0;
    if ((value = case_value(word, "instance")) != NULL)
        return text_copy(v->instance_id, sizeof(v->instance_id), value) == 0;
    if ((value = case_value(word, "source")) != NULL)
        return text_copy(v->source, sizeof(v->source), value) == 0;
    if ((value = case_value(word, "times")) != NULL)
        return text_parse_i64(value, 1, CASE_VERDICTS_MAX, times) == 0;
    if ((value = case_value(word, "every")) != NULL)
        return case_time(value, every);
    if (strcmp(word, "stale") == 0) {
        v->state = VERDICT_STATE_STALE;
        return true;
    }
    if (case_when(word, "at", &v->first_at)) {
        v->last_at = v->received_at = v->first_at;
        return true;
    }
    return case_when(word, "due", &v->due_at) || case_when(word, "until", &v->last_at) ||
           case_when(word, "expires", &v->expires_at);
}

static inline void case_made_up_line(struct verdict *v)
{
    const char *number = strchr(v->code, '.');
    if (text_starts_with(v->code, "xid."))
        snprintf(v->raw_line, sizeof(v->raw_line), "NVRM: Xid (PCI:%s): %s, pid='<unknown>', name=<unknown>, ...",
                 v->device, number + 1);
    else if (text_starts_with(v->code, "sxid."))
        snprintf(v->raw_line, sizeof(v->raw_line), "nvidia-nvswitch0: SXid (PCI:%s.0): %s, ...", v->device, number + 1);
}

static inline bool case_add_verdict(struct policy_case *c, char **words, int count)
{
    for (size_t i = c->group_from; i < c->node_count; i++) {
        struct case_node *n = &c->nodes[i];
        struct verdict model = {.node_id = n->node.id,
                                .state = VERDICT_STATE_OPEN,
                                .severity = SEVERITY_CRITICAL,
                                .count = 1,
                                .first_at = CASE_NOW_MS - 5000,
                                .last_at = CASE_NOW_MS - 5000,
                                .received_at = CASE_NOW_MS - 5000};
        int64_t times = 1, every = 0;
        if (count < 3 || text_copy(model.code, sizeof(model.code), words[1]) != 0)
            return false;
        text_copy_cut(model.device, sizeof(model.device), strcmp(words[2], "-") == 0 ? "" : words[2]);
        text_copy_cut(model.source, sizeof(model.source), "kmsg");
        text_copy_cut(model.instance_id, sizeof(model.instance_id), n->instance);
        text_copy_cut(model.boot_id, sizeof(model.boot_id), n->boot);
        case_made_up_line(&model);
        for (int k = 3; k < count; k++)
            if (!case_verdict_word(&model, words[k], &times, &every))
                return false;
        if (n->verdict_count + (size_t)times > CASE_VERDICTS_MAX)
            return false;
        for (int64_t k = 0; k < times; k++) {
            struct verdict *v = &n->verdicts[n->verdict_count];
            *v = model;
            v->id = c->next_id++;
            v->first_at += k * every;
            v->last_at += k * every;
            v->received_at += k * every;
            n->refs[n->verdict_count++] = v;
        }
        n->verdict_group = (size_t)times;
        n->node.approval.code = n->verdicts[0].code; /* what the question was about, unless it says otherwise */
        n->node.approval.device = n->approval_device[0] != '\0' ? n->approval_device : n->verdicts[0].device;
    }
    return true;
}

static inline bool case_add_line(struct policy_case *c, const char *line)
{
    for (size_t i = c->group_from; i < c->node_count; i++) {
        struct case_node *n = &c->nodes[i];
        for (size_t k = n->verdict_count - n->verdict_group; k < n->verdict_count; k++)
            text_copy_cut(n->verdicts[k].raw_line, sizeof(n->verdicts[k].raw_line), line);
    }
    return c->node_count > 0;
}

static inline bool case_repair_word(struct policy_repair *r, char (*texts)[SENTENCE_MAX_BYTES], const char *word)
{
    const char *value;
    if ((value = case_value(word, "instance")) != NULL)
        return text_copy(texts[0], sizeof(texts[0]), value) == 0;
    if (strcmp(word, "not_cleared") == 0)
        return r->not_cleared = true;
    if (strcmp(word, "failed") == 0)
        return !(r->succeeded = false);
    if (strcmp(word, "by_person") == 0)
        return r->by_person = true;
    if (strcmp(word, "same_piece") == 0)
        return r->same_piece = true;
    if ((value = case_value(word, "of")) != NULL) {
        r->node = texts[5];
        return text_copy(texts[5], sizeof(texts[5]), value) == 0;
    }
    if ((value = case_value(word, "no_return")) != NULL) {
        r->succeeded = false;
        r->no_return = true;
        return text_copy(texts[3], sizeof(texts[3]), value) == 0;
    }
    if (case_when(word, "returned", &r->finished_at) || case_when(word, "cleared", &r->cleared_by_reset_at))
        return true;
    bool ok = case_when(word, "at", &r->at);
    r->finished_at = r->finished_at == 0 ? r->at : r->finished_at;
    return ok;
}

static inline bool case_add_hardware(struct policy_case *c, char **words, int count)
{
    for (size_t i = c->group_from; i < c->node_count; i++) {
        struct case_node *n = &c->nodes[i];
        if (count != 4 || n->node.hardware_count == CASE_HARDWARE_MAX)
            return false;
        struct hardware *hardware = &n->hardware[n->node.hardware_count++];
        *hardware = (struct hardware){.present = true};
        text_copy_cut(hardware->location, sizeof(hardware->location), strcmp(words[2], "-") == 0 ? "" : words[2]);
        text_copy_cut(hardware->identity, sizeof(hardware->identity), words[3]);
        if (hardware_kind_parse(words[1], &hardware->kind) != 0)
            return false;
    }
    return c->node_count > 0;
}

static inline bool case_add_repair(struct policy_case *c, char **words, int count)
{
    for (size_t i = c->group_from; i < c->node_count; i++) {
        struct case_node *n = &c->nodes[i];
        if (count < 4 || n->repair_count == CASE_REPAIRS_MAX)
            return false;
        struct policy_repair *r = &n->repairs[n->repair_count];
        char(*texts)[SENTENCE_MAX_BYTES] = n->repair_texts[n->repair_count++];
        text_copy_cut(texts[0], sizeof(texts[0]), n->instance);
        text_copy_cut(texts[1], sizeof(texts[1]), strcmp(words[2], "-") == 0 ? "" : words[2]);
        text_copy_cut(texts[2], sizeof(texts[2]), words[3]);
        text_copy_cut(texts[4], sizeof(texts[4]), n->instance);
        *r = (struct policy_repair){.instance_id = texts[0],
                                    .device = texts[1],
                                    .code = texts[2],
                                    .error = texts[3],
                                    .new_instance = texts[4],
                                    .boot_id = n->boot,
                                    .succeeded = true};
        if (operation_kind_parse(words[1], &r->kind) != 0)
            return false;
        for (int k = 4; k < count; k++)
            if (!case_repair_word(r, texts, words[k]))
                return false;
    }
    return c->node_count > 0;
}

static inline bool case_line(struct policy_case *c, char *line)
{
    while (*line == ' ')
        line++;
    if (*line == '\0' || *line == '#')
        return true;
    if (text_starts_with(line, "story: "))
        return text_copy(c->story, sizeof(c->story), line + 7) == 0;
    if (text_starts_with(line, "source: "))
        return text_copy(c->source, sizeof(c->source), line + 8) == 0;
    if (text_starts_with(line, "line "))
        return case_add_line(c, line + 5);
    char *words[CASE_WORDS_MAX];
    int count = case_words(line, words);
    bool ok = true;
    if (strcmp(words[0], "set:") == 0)
        for (int i = 1; i < count; i += 2)
            ok = i + 1 < count && case_set(&c->snapshot.settings, words[i], words[i + 1]) && ok;
    else if (strcmp(words[0], "modes:") == 0)
        ok = case_modes(&c->snapshot.settings, words, count);
    else if (strcmp(words[0], "hours:") == 0)
        ok = case_hours(&c->snapshot.settings, words, count);
    else if (strcmp(words[0], "budgets:") == 0)
        ok = case_budgets(&c->snapshot.settings, words, count);
    else if (strcmp(words[0], "jobs:") == 0)
        ok = case_jobs(&c->snapshot.settings, words, count);
    else if (strcmp(words[0], "override:") == 0)
        ok = case_override(c, words, count);
    else if (strcmp(words[0], "group:") == 0)
        for (int i = 1; i < count; i++)
            ok = case_group(c, words[i]) && ok;
    else if (strcmp(words[0], "node") == 0)
        ok = case_add_node(c, words, count);
    else if (strcmp(words[0], "verdict") == 0)
        ok = case_add_verdict(c, words, count);
    else if (strcmp(words[0], "hardware") == 0)
        ok = case_add_hardware(c, words, count);
    else if (strcmp(words[0], "repair") == 0)
        ok = case_add_repair(c, words, count);
    else if (strcmp(words[0], "explain") == 0)
        ok = count == 2 && text_copy(c->explain, sizeof(c->explain), words[1]) == 0;
    else
        ok = false;
    return ok;
}

static inline void case_free(struct policy_case *c)
{
    for (size_t i = 0; i < c->node_count; i++) {
        free(c->nodes[i].verdicts);
        free(c->nodes[i].refs);
    }
    free(c->nodes);
    free(c->plain_nodes);
    free(c->incidents);
    fault_overrides_free(c->overrides);
}

static inline uint32_t case_domain(const struct policy_case *c, size_t at, int level)
{
    uint32_t first = 0;
    while (strcmp(c->nodes[first].domain[level], c->nodes[at].domain[level]) != 0)
        first++;
    return c->nodes[at].domain[level][0] == '\0' ? 0 : first + 1;
}

static inline size_t case_signals(const struct policy_case *c, size_t at, struct policy_outage_signal *signals)
{
    const struct case_node *n = &c->nodes[at];
    int64_t silent_ms = CASE_NOW_MS - n->node.last_heartbeat_at;
    size_t count = n->node.last_heartbeat_at > 0 && !n->node.scheduler_responding && !n->node.switched_off &&
                   !n->node.maintenance && silent_ms >= c->snapshot.settings.silent_after_ms;
    signals[0] = (struct policy_outage_signal){.at = n->node.last_heartbeat_at};
    for (size_t i = 0; i < n->verdict_count && count < 4; i++)
        if (policy_outage_signal_of(&c->snapshot.settings, &n->verdicts[i], &signals[count]) &&
            signals[count].until > CASE_NOW_MS)
            count++;
    for (size_t i = 0; i < count; i++) {
        signals[i].node_id = n->node.id;
        for (int level = 0; level < TOPOLOGY_LEVEL_COUNT; level++)
            signals[i].domain[level] = case_domain(c, at, level);
    }
    return count;
}

/* Who waits for which incident, as the loop would have found it. */
static inline void case_share(struct policy_case *c)
{
    autofree struct policy_outage_signal *signals = own_calloc(c->node_count * 4 + 4, sizeof(*signals));
    autofree struct policy_shared *shared = NULL;
    size_t count = 0;
    for (size_t i = 0; i < c->node_count; i++)
        count += case_signals(c, i, &signals[count]);
    size_t found = policy_share(&c->snapshot.settings, signals, &count, &shared);
    c->incidents = own_calloc(found + 1, sizeof(*c->incidents));
    for (size_t i = 0; i < found; i++) {
        c->incidents[i] = (struct policy_incident){.id = (int64_t)i + 1,
                                                   .level = shared[i].level,
                                                   .domain = c->nodes[shared[i].domain - 1].domain[shared[i].level],
                                                   .cause = shared[i].cause,
                                                   .started_at = shared[i].first_at,
                                                   .nodes = (int64_t)shared[i].count};
        c->snapshot.group.incidents +=
            shared[i].first_at >= CASE_NOW_MS - c->snapshot.settings.breaker_window_ms ? 1 : 0;
    }
    for (size_t i = 0; i < count; i++)
        if (signals[i].shared >= 0)
            c->nodes[signals[i].node_id - 1].node.incident = &c->incidents[signals[i].shared];
}

/* The pointers of the snapshot; only once nothing moves any more. */
static inline void case_wire(struct policy_case *c)
{
    case_share(c);
    c->plain_nodes = own_calloc(c->node_count, sizeof(*c->plain_nodes));
    for (size_t i = 0; i < c->node_count; i++) {
        struct case_node *n = &c->nodes[i];
        n->node.name = n->name;
        n->hold.code = n->hold_texts[0];
        n->hold.device = n->hold_texts[1];
        n->node.person_hold = n->hold_texts[0][0] != '\0' ? &n->hold : NULL;
        n->node.instance_id = n->instance;
        n->node.boot_id = n->boot;
        n->node.image = n->image;
        n->node.scheduler_reason = n->reason;
        n->node.request_by = n->request_by;
        n->node.verdicts = n->refs;
        n->node.verdict_count = n->verdict_count;
        n->node.repairs = n->repairs;
        n->node.hardware = n->hardware;
        n->node.repair_count = n->repair_count;
        c->plain_nodes[i] = n->node;
    }
    c->snapshot.faults.instance_type = c->type;
    c->snapshot.nodes = c->plain_nodes;
    c->snapshot.node_count = c->node_count;
}

/* False with error set when the file is not understood. The text stays the caller's. */
static inline bool case_read(const char *source, struct policy_case *ret_case)
{
    struct policy_case *c = ret_case;
    *c = (struct policy_case){.next_id = 1};
    c->snapshot.now_ms = CASE_NOW_MS;
    policy_settings_default(&c->snapshot.settings);
    c->snapshot.group = (struct policy_group){.cluster = "demo", .name = "gpu", .desired = 64};
    c->nodes = own_calloc(CASE_NODES_MAX, sizeof(*c->nodes));
    int number = 0;
    for (const char *at = source; *at != '\0';) {
        size_t len = strcspn(at, "\n");
        const char *next = at + len + (at[len] == '\n' ? 1 : 0);
        number++;
        if (len == 6 && memcmp(at, "expect", 6) == 0) {
            c->expect_at = (size_t)(next - source);
            break;
        }
        autofree char *line = own_printf("%.*s", (int)len, at);
        autofree char *shown = own_strdup(line);
        if (!case_line(c, line)) {
            snprintf(c->error, sizeof(c->error), "line %d is not understood: %.200s", number, shown);
            return false;
        }
        at = next;
    }
    case_wire(c);
    if (c->story[0] == '\0' || c->source[0] == '\0' || c->node_count == 0 || c->expect_at == 0)
        snprintf(c->error, sizeof(c->error), "a case needs a story, its source, a node and an \"expect\" line");
    return c->error[0] == '\0';
}

#endif
