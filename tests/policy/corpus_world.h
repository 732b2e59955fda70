/*
 * Where the incidents of tests/corpus happen: nodes (corpus_agent.h) on one side, the real policy on the other, and between
 * them as little as is needed, with time that goes on and repairs that take theirs.
 *
 * A repair begins when it is decided: at once, or when the jobs are done. A reset takes a minute, a reboot five, a replacement
 * fifteen; then the node is looked at for two, and is back, or held where its fault is still there.
 */
#ifndef HOLDFAST_TESTS_POLICY_CORPUS_WORLD_H
#define HOLDFAST_TESTS_POLICY_CORPUS_WORLD_H

#include "tests/policy/corpus_agent.h"

#define LIVE_MINUTE_MS INT64_C(60000)
#define LIVE_HOUR_MS (60 * LIVE_MINUTE_MS)

/* --- a machine's lives ------------------------------------------------------------------------------------------ */

static inline void live_name(struct live_node *node)
{
    snprintf(node->instance_id, sizeof(node->instance_id), "i-%d-%d", node->number, (int)node->instance);
    snprintf(node->boot_id, sizeof(node->boot_id), "00000000-0000-4000-8000-%06d%06d", node->number, (int)node->boot);
    windows_init(&node->windows, node->instance_id, node->boot_id);
    standing_clear(&node->standing);
    standing_init(&node->standing, node->instance_id, node->boot_id);
}

static inline bool live_is_over(const struct live_node *node, const struct story_item *item)
{
    int64_t done = item->until == UNTIL_RESET    ? node->resets + node->reboots
                   : item->until == UNTIL_REBOOT ? node->reboots
                                                 : 0;
    return item->until != UNTIL_NEVER &&
           (node->replaces > 0 || (item->until != UNTIL_REPLACE && done >= item->until_count));
}

static inline void live_set_gpu(struct live_node *node, const char *text)
{
    int gpu = text[0] - '0';
    const char *equals = strchr(text, '=');
    if (gpu < 0 || gpu >= LIVE_GPUS || equals == NULL || text[1] != ' ')
        return;
    for (int k = 0; k < 8; k++) {
        char *tag = node->gpu[gpu][k][0];
        size_t len = (size_t)(equals - text - 2);
        if (tag[0] != '\0' && (strlen(tag) != len || strncmp(tag, text + 2, len) != 0))
            continue;
        snprintf(tag, 64, "%.*s", (int)len, text + 2);
        text_copy_cut(node->gpu[gpu][k][1], 64, equals + 1);
        return;
    }
}

static inline void live_set_state(struct live *live, struct live_node *node, const char *text, bool over, bool event)
{
    char copy[320], *words[CASE_WORDS_MAX];
    text_copy_cut(copy, sizeof(copy), text);
    int count = case_words(copy, words);
    if (count < 3)
        return;
    struct live_state state = {.check = ""};
    text_copy_cut(state.check, sizeof(state.check), words[0]);
    text_copy_cut(state.code, sizeof(state.code), words[1]);
    text_copy_cut(state.device, sizeof(state.device), strcmp(words[2], "-") == 0 ? "" : words[2]);
    text_copy_cut(state.text, sizeof(state.text), count > 3 ? text + (words[3] - copy) : words[1]);
    if (event) {
        static const char *const sources[] = {"dcgm", "nvidia", "net",  "infiniband", "efa",   "edac",
                                              "pcie", "cpu",    "disk", "custom",     "neuron"};
        struct check_observation seen = {.is_event = true, .count = 1};
        struct check_report report = {.result = CHECK_RESULT_FOUND, .observations = &seen, .observation_count = 1};
        text_copy_cut(seen.code, sizeof(seen.code), state.code);
        text_copy_cut(seen.device, sizeof(seen.device), state.device);
        text_copy_cut(seen.text, sizeof(seen.text), state.text);
        for (size_t i = 0; i < ARRAY_LEN(sources); i++)
            if (strcmp(sources[i], state.check) == 0)
                live_report(live, node, sources[i], &report);
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(node->states); i++) {
        bool same = strcmp(node->states[i].code, state.code) == 0 && strcmp(node->states[i].device, state.device) == 0;
        if (over && same) {
            node->states[i].code[0] = '\0'; /* its check still runs, and finds nothing */
            return;
        }
        if (!over && (same || node->states[i].check[0] == '\0')) {
            node->states[i] = state;
            return;
        }
    }
}

static inline void live_slurm(struct live_node *node, const char *text)
{
    char copy[200], *words[CASE_WORDS_MAX];
    text_copy_cut(copy, sizeof(copy), text);
    int count = case_words(copy, words);
    const char *reason = count > 1 ? words[1] : "", *by = count > 3 ? words[3] : "root";
    autofree char *line =
        own_printf("NodeName=%s Arch=x86_64 CPUTot=96 State=%s ThreadsPerCore=2 Partitions=gpu%s%s%s%s%s",
                   node->of->name, words[0], reason[0] != '\0' ? " Reason=" : "", reason, reason[0] != '\0' ? " [" : "",
                   reason[0] != '\0' ? by : "", reason[0] != '\0' ? "@2026-11-20T11:00:00]" : "");
    node->has_slurm = slurm_parse_node(line, NULL, &node->slurm) == 0;
}

static inline void live_boot(struct live *live, struct live_node *node, bool other_machine);

/* What happens to a node. What lasts (all but lines and events) is done again after a boot. */
static inline void live_do(struct live *live, struct live_node *node, const struct story_item *item)
{
    const char *what = item->what;
    bool hears = !node->silent && !node->dead && !node->down;
    if (strcmp(what, "log") == 0 && hears) {
        live_log(live, node, item->text);
    } else if (strcmp(what, "smi") == 0) {
        live_make_gpus(live, node);
        live_set_gpu(node, item->text);
    } else if (strcmp(what, "smi-says") == 0) {
        live_make_gpus(live, node);
        node->says = item->text[0] != '\0' ? item->text : NULL;
    } else if (strcmp(what, "file") == 0 || strcmp(what, "gone") == 0) {
        live_make_root(live, node);
        size_t len = strcspn(item->text, " ");
        autofree char *name = own_printf("%.*s", (int)len, item->text);
        autofree char *path = own_printf("%s%s", node->root, name);
        if (what[0] == 'g')
            file_remove_tree(path);
        else
            live_write(path, item->text[len] != '\0' ? item->text + len + 1 : "");
    } else if (strcmp(what, "tree") == 0) {
        live_make_root(live, node);
        autofree char *path = own_printf("tests/data/%s", item->text), *data = NULL;
        size_t len;
        char *save = NULL;
        if (file_read(path, 262144, &data, &len) == 0)
            for (char *line = strtok_r(data, "\n", &save); line != NULL; line = strtok_r(NULL, "\n", &save)) {
                char *space = strchr(line, ' ');
                if (space != NULL) {
                    *space = '\0';
                    live_file(node, line, space + 1);
                }
            }
    } else if (strcmp(what, "checks") == 0) {
        text_copy_cut(node->checks, sizeof(node->checks), item->text);
    } else if (strcmp(what, "state") == 0 || strcmp(what, "over") == 0) {
        live_set_state(live, node, item->text, what[0] == 'o', false);
    } else if (strcmp(what, "event") == 0 && hears) {
        live_set_state(live, node, item->text, false, true);
    } else if (strcmp(what, "silent") == 0 || strcmp(what, "heard") == 0) {
        node->silent = what[0] == 's';
    } else if (strcmp(what, "dead") == 0) {
        node->dead = true;
    } else if (strcmp(what, "slurm") == 0) {
        live_slurm(node, item->text);
    } else if (strcmp(what, "restarts") == 0) {
        live_boot(live, node, false);
    }
    node->looks_left = node->looks_left > 3 ? node->looks_left : 3;
}

static inline bool live_lasts(const struct story_item *item)
{
    return strcmp(item->what, "log") != 0 && strcmp(item->what, "event") != 0 && strcmp(item->what, "restarts") != 0;
}

/* Everything is as the story has left it, but for what this boot has ended. */
static inline void live_boot(struct live *live, struct live_node *node, bool other_machine)
{
    node->boot++;
    node->instance += other_machine;
    node->boot_at = live->now;
    node->looks_left = 15; /* an agent's checks begin when their grace after a boot is over */
    memset(node->gpu, 0, sizeof(node->gpu));
    memset(node->states, 0, sizeof(node->states));
    node->says = NULL;
    node->silent = node->dead = false;
    node->has_slurm = false;
    live_name(node);
    for (size_t i = 0; other_machine && i < ARRAY_LEN(node->memory); i++) {
        free(node->memory[i]);
        node->memory[i] = NULL;
        node->memory_len[i] = 0;
    }
    if (node->has_root) {
        file_remove_tree(node->root);
        node->has_root = false;
        live_make_root(live, node);
        if (node->has_smi) {
            node->has_smi = false;
            live_make_gpus(live, node);
        }
    }
    for (size_t i = 0; i < live->story->item_count; i++) {
        const struct story_item *item = &live->story->items[i];
        if ((item->nodes >> node->number & 1) == 0)
            continue;
        if (item->of_boot)
            node->fired[i] = 0;
        else if (node->fired[i] > 0 && live_lasts(item) && !live_is_over(node, item))
            live_do(live, node, item);
    }
}

static inline void live_happen(struct live *live, struct live_node *node)
{
    for (size_t i = 0; i < live->story->item_count; i++) {
        const struct story_item *item = &live->story->items[i];
        if ((item->nodes >> node->number & 1) == 0 || live_is_over(node, item) || (item->of_boot && node->boot == 1))
            continue;
        int64_t from = item->of_boot ? node->boot_at : CASE_NOW_MS;
        while (node->fired[i] < item->times && from + item->at + node->fired[i] * item->every <= live->now) {
            node->fired[i]++;
            if (item->every == 0 || from + item->at + node->fired[i] * item->every > live->now)
                live_do(live, node, item); /* of what came while nobody looked the last */
            if (item->every == 0)
                break;
        }
    }
}

/* --- repairs ---------------------------------------------------------------------------------------------------- */

static inline void live_remember(struct live *live, struct live_node *node, const struct policy_repair *repair,
                                 const char *device, const char *code)
{
    (void)live;
    if (node->repair_count == STORY_REPAIRS_MAX)
        return;
    size_t at = node->repair_count++;
    char(*ids)[ID_INSTANCE_MAX] = node->old_ids[at];
    node->repairs[at] = *repair;
    text_copy_cut(node->repair_texts[at][0], 64, device);
    text_copy_cut(node->repair_texts[at][1], 64, code);
    text_copy_cut(ids[0], ID_INSTANCE_MAX, text_or_empty(repair->instance_id));
    text_copy_cut(ids[1], ID_INSTANCE_MAX, text_or_empty(repair->new_instance));
    text_copy_cut(ids[2], ID_INSTANCE_MAX, text_or_empty(repair->boot_id));
    node->repairs[at].instance_id = ids[0];
    node->repairs[at].new_instance = ids[1];
    node->repairs[at].boot_id = ids[2];
    node->repairs[at].device = node->repair_texts[at][0];
    node->repairs[at].code = node->repair_texts[at][1];
}

static inline void live_begin(struct live *live, struct live_node *node, const struct decision *d)
{
    node->busy = true;
    node->kind = d->action == ACTION_RESET    ? OPERATION_KIND_RESET
                 : d->action == ACTION_REBOOT ? OPERATION_KIND_REBOOT
                                              : OPERATION_KIND_REPLACE;
    int64_t wait = d->urgency == URGENCY_NOW ? 0 : live->story->jobs_ms;
    int64_t takes = node->kind == OPERATION_KIND_RESET    ? LIVE_MINUTE_MS
                    : node->kind == OPERATION_KIND_REBOOT ? 5 * LIVE_MINUTE_MS
                                                          : 15 * LIVE_MINUTE_MS;
    node->begins_at = live->now + wait;
    node->ends_at = node->begins_at + takes;
    node->verified_at = node->ends_at + 2 * LIVE_MINUTE_MS;
    node->state = NODE_STATE_REPAIRING;
    live->last_repair_at = live->now;
    text_copy_cut(node->op_code, sizeof(node->op_code), d->code);
    text_copy_cut(node->op_device, sizeof(node->op_device), d->device);
    struct policy_repair repair = {.kind = node->kind,
                                   .instance_id = node->instance_id,
                                   .new_instance = "",
                                   .boot_id = node->boot_id,
                                   .at = live->now,
                                   .error = ""};
    live_remember(live, node, &repair, d->device, d->code);
}

/* Still seen after its repair, in this boot: the return gate does not let it through. */
static inline bool live_is_sick(struct live *live, const struct live_node *node)
{
    struct fault_scope scope = {.instance_type = live->story->type};
    for (size_t i = 0; i < node->verdict_count; i++) {
        const struct verdict *v = node->verdicts[i];
        if (v->state == VERDICT_STATE_OPEN && strcmp(v->boot_id, node->boot_id) == 0 &&
            (v->first_at >= node->ends_at || v->last_at >= node->ends_at) && policy_is_node_fault(&scope, v))
            return true;
    }
    return false;
}

static inline bool live_person_holds(const struct live_node *node)
{
    return node->hold.at > 0 && node->hold_instance == node->instance;
}

/* As hold_node and work_person_holds of the server: a decision that leaves it to a person stands until that is repaired. */
static inline void live_leave_to_person(struct live *live, struct live_node *node, const struct decision *d)
{
    if (d->rule == RULE_HOLD_STANDS || (d->rule == RULE_SHARED_SINCE && d->evidence_count == 0))
        return;
    int64_t at = live_person_holds(node) ? node->hold.at : live->now;
    text_copy_cut(node->hold_code, sizeof(node->hold_code), d->code);
    text_copy_cut(node->hold_device, sizeof(node->hold_device), d->device);
    node->hold = (struct policy_person_hold){.code = node->hold_code, .device = node->hold_device, .at = at};
    node->hold_instance = node->instance;
}

static inline void live_end_hold(struct live_node *node)
{
    bool cause = strcmp(node->op_code, node->hold_code) == 0 && strcmp(node->op_device, node->hold_device) == 0;
    if (live_person_holds(node) && !cause)
        node->state = NODE_STATE_HELD;
    else
        node->hold.at = 0;
}

static inline void live_carry_on(struct live *live, struct live_node *node)
{
    struct policy_repair *repair = node->repair_count > 0 ? &node->repairs[node->repair_count - 1] : NULL;
    if (!node->busy || repair == NULL)
        return;
    node->down = live->now >= node->begins_at && live->now < node->ends_at && node->kind != OPERATION_KIND_RESET;
    if (live->now >= node->ends_at && repair->finished_at == 0 && node->state == NODE_STATE_REPAIRING) {
        node->state = NODE_STATE_VERIFYING;
        node->resets += node->kind == OPERATION_KIND_RESET;
        node->reboots += node->kind == OPERATION_KIND_REBOOT;
        node->replaces += node->kind == OPERATION_KIND_REPLACE;
        if (node->kind == OPERATION_KIND_RESET) {
            repair->cleared_by_reset_at = live->now;
            int64_t boot = node->boot, at = node->boot_at;
            char id[BOOT_ID_MAX_BYTES];
            text_copy_cut(id, sizeof(id), node->boot_id);
            live_boot(live, node, false); /* what the reset has ended is over, in the same boot */
            node->boot = boot;
            node->boot_at = at;
            live_name(node);
            for (size_t i = 0; i < node->verdict_count; i++)
                if (strcmp(node->verdicts[i]->device, node->op_device) == 0)
                    node->verdicts[i]->state = VERDICT_STATE_RESOLVED;
        } else {
            live_boot(live, node, node->kind == OPERATION_KIND_REPLACE);
            if (node->kind == OPERATION_KIND_REPLACE) {
                text_copy_cut(node->old_ids[node->repair_count - 1][1], ID_INSTANCE_MAX, node->instance_id);
            }
        }
    }
    if (live->now < node->verified_at || node->state != NODE_STATE_VERIFYING)
        return;
    bool gone = node->silent || node->dead, sick = live_is_sick(live, node);
    repair->finished_at = live->now;
    repair->succeeded = !gone && !sick;
    repair->not_cleared = !repair->succeeded;
    repair->no_return = gone && node->kind == OPERATION_KIND_REBOOT;
    node->busy = false;
    node->state = repair->succeeded ? NODE_STATE_READY : NODE_STATE_HELD;
    if (repair->succeeded)
        live_end_hold(node);
}

/* --- what the policy sees ----------------------------------------------------------------------------------------- */

static inline bool live_hears(const struct live_node *node)
{
    return !node->silent && !node->dead && !node->down;
}

static inline bool live_scheduler_hears(const struct live_node *node)
{
    return node->has_slurm ? node->slurm.seen.responding : live_hears(node) || (node->silent && !node->dead);
}

static inline struct policy_node live_see(struct live *live, struct live_node *node, struct policy_repair *repairs)
{
    const struct scheduler_node *seen = &node->slurm.seen;
    bool asked =
        node->has_slurm && (seen->request == SCHEDULER_REQUEST_REBOOT || seen->request == SCHEDULER_REQUEST_REPLACE);
    for (size_t i = 0; i < node->repair_count; i++)
        repairs[i] = node->repairs[node->repair_count - 1 - i];
    return (struct policy_node){
        .id = node->number + 1,
        .name = node->of->name,
        .state = node->state,
        .instance_id = node->instance_id,
        .boot_id = node->boot_id,
        .boot_at = node->boot_at,
        .can_reset = !live->story->no_resets,
        .has_active_operation = node->busy,
        .last_heartbeat_at = node->heard_at,
        .has_scheduler = true,
        .scheduler_known = true,
        .scheduler_responding = live_scheduler_hears(node),
        .switched_off = node->has_slurm && seen->switched_off,
        .maintenance = node->has_slurm && seen->maintenance,
        .reserved = node->has_slurm && seen->reserved,
        .person_hold = live_person_holds(node) ? &node->hold : NULL,
        .external_drain = node->has_slurm && seen->drained && !asked && !text_starts_with(seen->reason, "holdfast:"),
        .scheduler_reason = node->has_slurm ? seen->reason : "",
        .incident = node->has_incident ? &node->incident : NULL,
        .request = !asked || node->busy                        ? POLICY_REQUEST_NONE
                   : seen->request == SCHEDULER_REQUEST_REBOOT ? POLICY_REQUEST_REBOOT
                                                               : POLICY_REQUEST_REPLACE,
        .request_by = node->has_slurm ? seen->reason_user : "",
        .verdicts = (const struct verdict *const *)node->verdicts,
        .verdict_count = node->verdict_count,
        .repairs = repairs,
        .repair_count = node->repair_count,
    };
}

static inline uint32_t live_domain(const struct live *live, const struct live_node *node, int level)
{
    const char *place = node->of->place[level];
    for (size_t i = 0; place[0] != '\0' && i < live->story->node_count; i++)
        if (strcmp(live->story->nodes[i].place[level], place) == 0)
            return (uint32_t)i + 1;
    return 0;
}

/* As reconcile_incident.c keeps them: shared by policy_share, for as long as the signals stand. */
static inline int64_t live_share(struct live *live)
{
    const struct policy_settings *settings = &live->story->settings;
    autofree struct policy_outage_signal *signals = own_calloc(live->story->node_count * 16 + 1, sizeof(*signals));
    autofree struct policy_shared *shared = NULL;
    size_t count = 0;
    for (size_t n = 0; n < live->story->node_count; n++) {
        struct live_node *node = &live->nodes[n];
        struct policy_outage_signal signal = {
            .at = node->heard_at, .until = INT64_MAX, .cause = INCIDENT_CAUSE_UNREACHABLE};
        size_t from = count;
        bool away = node->has_slurm && (node->slurm.seen.switched_off || node->slurm.seen.maintenance);
        if (live->now - node->heard_at >= settings->silent_after_ms && !live_scheduler_hears(node) && !away &&
            !node->busy)
            signals[count++] = signal;
        for (size_t i = 0; i < node->verdict_count && count < from + 15; i++)
            if (node->verdicts[i]->state == VERDICT_STATE_OPEN &&
                strcmp(node->verdicts[i]->boot_id, node->boot_id) == 0 &&
                policy_outage_signal_of(settings, node->verdicts[i], &signal) && signal.until > live->now)
                signals[count++] = signal;
        for (size_t i = from; i < count; i++) {
            signals[i].node_id = (int64_t)n + 1;
            for (int level = 0; level < TOPOLOGY_LEVEL_COUNT; level++)
                signals[i].domain[level] = live_domain(live, node, level);
        }
        node->has_incident = false;
    }
    size_t found = policy_share(settings, signals, &count, &shared);
    for (size_t i = 0; i < count; i++) {
        if (signals[i].shared < 0)
            continue;
        struct live_node *node = &live->nodes[signals[i].node_id - 1];
        const struct policy_shared *of = &shared[signals[i].shared];
        text_copy_cut(node->place, sizeof(node->place), node->of->place[of->level]);
        node->has_incident = true;
        node->incident = (struct policy_incident){.id = signals[i].shared + 1,
                                                  .level = of->level,
                                                  .domain = node->place,
                                                  .cause = of->cause,
                                                  .started_at = of->first_at,
                                                  .nodes = (int64_t)of->count};
    }
    int64_t fresh = 0;
    for (size_t i = 0; i < found; i++)
        fresh += live->now - shared[i].first_at < settings->breaker_window_ms;
    return fresh;
}

static inline struct policy_group live_group(struct live *live, int64_t incidents)
{
    const struct policy_settings *settings = &live->story->settings;
    struct policy_group group = {.cluster = "story",
                                 .name = "gpu",
                                 .recovery = live->story->recovery,
                                 .desired = live->story->desired,
                                 .healthy_elsewhere = live->story->desired - (int64_t)live->story->node_count,
                                 .breaker_opened_at = live->breaker_opened_at,
                                 .last_repair_at = live->last_repair_at,
                                 .incidents = incidents};
    int64_t since = policy_breaker_since(settings, live->now, 0);
    for (size_t n = 0; n < live->story->node_count; n++) {
        const struct live_node *node = &live->nodes[n];
        group.failed_recently += node->failing_at > since && !node->has_incident;
        if (!node->busy)
            continue;
        group.in_repair++;
        group.replacing += node->kind == OPERATION_KIND_REPLACE;
        group.in_repair_of[policy_repair_class(node->op_code)]++;
    }
    group.idle_elsewhere = group.healthy_elsewhere;
    if (group.failed_recently > policy_breaker_limit(settings, group.desired))
        live->settled_since = 0;
    else if (live->settled_since == 0)
        live->settled_since = live->now;
    group.breaker_settled_since = live->settled_since;
    return group;
}

/* --- what follows ---------------------------------------------------------------------------------------------------- */

/* A node in service that is known as one of many waits with them: people are told of one case, and nothing is done to it. */
static inline enum story_word live_word(const struct live_node *node, const struct decision *d)
{
    if (d->action == ACTION_WATCH && (d->rule == RULE_SHARED_BY_MANY || (d->rule == RULE_WATCH && node->has_incident)))
        return STORY_HOLD;
    switch (d->action) {
    case ACTION_RESET:
        return STORY_RESET;
    case ACTION_REBOOT:
        return STORY_REBOOT;
    case ACTION_REPLACE:
        return STORY_REPLACE;
    case ACTION_SUPPORT:
        return STORY_PERSON;
    case ACTION_HOLD:
    case ACTION_MARK:
        return STORY_HOLD;
    default:
        return STORY_NOTHING;
    }
}

static inline void live_note(struct live *live, struct live_node *node, const struct decision *d)
{
    const struct live_action *last = node->action_count > 0 ? &node->actions[node->action_count - 1] : NULL;
    enum story_word word = live_word(node, d);
    bool begins = word >= STORY_RESET;
    if (!begins && last != NULL && last->word == word && last->rule == d->rule &&
        strncmp(last->sentence, d->sentence, 60) == 0)
        return;
    if (node->action_count == node->action_room) {
        node->action_room = node->action_room == 0 ? 8 : node->action_room * 2;
        node->actions = own_realloc(node->actions, node->action_room, sizeof(*node->actions));
    }
    struct live_action *action = &node->actions[node->action_count++];
    *action = (struct live_action){.at = live->now, .word = word};
    action->rule = d->rule;
    text_copy_cut(action->sentence, sizeof(action->sentence), d->sentence);
}

static inline void live_decide(struct live *live)
{
    size_t count = live->story->node_count;
    autofree struct policy_node *seen = own_calloc(count, sizeof(*seen));
    autofree struct policy_repair *repairs = own_calloc(count * STORY_REPAIRS_MAX, sizeof(*repairs));
    int64_t incidents = live_share(live);
    for (size_t n = 0; n < count; n++)
        seen[n] = live_see(live, &live->nodes[n], &repairs[n * STORY_REPAIRS_MAX]);
    struct policy_snapshot snapshot = {.now_ms = live->now,
                                       .faults = {.instance_type = live->story->type},
                                       .settings = live->story->settings,
                                       .group = live_group(live, incidents),
                                       .nodes = seen,
                                       .node_count = count};
    struct policy_plan plan;
    policy_decide(&snapshot, &plan);
    if (plan.breaker_opens)
        live->breaker_opened_at = live->now;
    if (plan.breaker_closes)
        live->breaker_opened_at = 0;
    if (plan.breaker_over)
        live->settled_since = 0;
    bool said[STORY_NODES_MAX] = {false};
    for (size_t i = 0; i < plan.count; i++) {
        const struct decision *d = &plan.decisions[i];
        struct live_node *node = &live->nodes[d->node_id - 1];
        said[d->node_id - 1] = d->action > ACTION_WATCH;
        live_note(live, node, d);
        if (node->busy)
            continue;
        if (action_is_repair(d->action))
            live_begin(live, node, d);
        else if (d->action == ACTION_SUPPORT || d->action == ACTION_HOLD || d->action == ACTION_MARK)
            node->state = NODE_STATE_HELD;
        if (d->action == ACTION_SUPPORT && !node->busy)
            live_leave_to_person(live, node, d);
    }
    for (size_t n = 0; n < count; n++) {
        struct live_node *node = &live->nodes[n];
        bool person = node->action_count > 0 && node->actions[node->action_count - 1].word == STORY_PERSON;
        if (node->state == NODE_STATE_HELD && !node->busy && !said[n] && !person && live_hears(node))
            node->state = NODE_STATE_READY;
    }
    policy_plan_free(&plan);
}

static inline void live_turn(struct live *live)
{
    for (size_t n = 0; n < live->story->node_count; n++) {
        struct live_node *node = &live->nodes[n];
        live_carry_on(live, node);
        live_happen(live, node);
        if (live_hears(node))
            node->heard_at = live->now;
        live_look(live, node);
    }
    live_decide(live);
}

/* --- begin and end ----------------------------------------------------------------------------------------------------- */

static inline void live_start(struct live *live, const struct story *story, const char *dir)
{
    *live = (struct live){.story = story, .now = CASE_NOW_MS};
    text_copy_cut(live->dir, sizeof(live->dir), dir);
    clock_fake_init(&live->clock, live->now);
    live->kmsg = kmsg_new("/nonexistent/kmsg", NULL, &live->clock);
    live->nodes = own_calloc(story->node_count, sizeof(*live->nodes));
    for (size_t n = 0; n < story->node_count; n++) {
        struct live_node *node = &live->nodes[n];
        node->of = &story->nodes[n];
        node->number = (int)n;
        node->instance = node->boot = 1;
        node->boot_at = live->now - 5 * 24 * LIVE_HOUR_MS;
        node->heard_at = live->now;
        node->state = NODE_STATE_READY;
        live_name(node);
        for (size_t i = 0; i < node->of->history_count; i++) {
            struct policy_repair history = node->of->history[i];
            history.instance_id = node->instance_id;
            live_remember(live, node, &history, history.device, history.code);
        }
    }
}

static inline void live_to(struct live *live, int64_t until)
{
    while (live->now < CASE_NOW_MS + until) {
        int64_t tick = live->now < CASE_NOW_MS + 2 * LIVE_HOUR_MS ? LIVE_TICK_MS : 5 * LIVE_TICK_MS;
        live_turn(live);
        live->now += tick;
        clock_fake_advance(&live->clock, tick);
    }
}

static inline void live_end(struct live *live)
{
    for (size_t n = 0; n < live->story->node_count; n++) {
        struct live_node *node = &live->nodes[n];
        for (size_t i = 0; i < node->verdict_count; i++)
            free(node->verdicts[i]);
        for (size_t i = 0; i < ARRAY_LEN(node->memory); i++)
            free(node->memory[i]);
        free(node->verdicts);
        free(node->actions);
        standing_clear(&node->standing);
    }
    free(live->nodes);
    kmsg_free(live->kmsg);
}

#endif
