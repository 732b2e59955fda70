/* The nodes of tests/corpus: their agents' real parsers, checks, windows and standing states, on files and tools of a story's. */
#ifndef HOLDFAST_TESTS_POLICY_CORPUS_AGENT_H
#define HOLDFAST_TESTS_POLICY_CORPUS_AGENT_H

#include "agents/checks/checks.h"
#include "agents/checks/kmsg.h"
#include "agents/node/standing.h"
#include "agents/node/window.h"
#include "base/file.h"
#include "base/status.h"
#include "policy/incident.h"
#include "server/scheduler/slurm/parse.h"
#include "tests/policy/corpus_story.h"

#include <sys/stat.h>
#include <unistd.h>

#define LIVE_GPUS 8
#define LIVE_TICK_MS INT64_C(60000)
#define LIVE_CHECK_EVERY_MS INT64_C(1800000) /* while nothing changes: what lasts is told anew each hour */
#define LIVE_SAMPLE "tests/corpus/gpu.xml"

struct live_action {
    int64_t at;
    enum story_word word;
    enum decision_rule rule;
    char sentence[SENTENCE_MAX_BYTES];
};

struct live_state { /* of a check, as the story says it */
    char check[16], code[CODE_MAX_BYTES], device[DEVICE_MAX_BYTES], text[160];
};

struct live_node {
    const struct story_node *of;
    int number;
    int64_t instance, boot, boot_at, resets, reboots, replaces;
    char instance_id[ID_INSTANCE_MAX], boot_id[BOOT_ID_MAX_BYTES];
    char old_ids[STORY_REPAIRS_MAX][3][ID_INSTANCE_MAX];
    enum node_state state;
    struct windows windows;
    struct standing standing;
    struct verdict **verdicts; /* owned, each */
    size_t verdict_count, verdict_room;
    struct policy_repair repairs[STORY_REPAIRS_MAX]; /* newest last; shown newest first */
    size_t repair_count;
    char repair_texts[STORY_REPAIRS_MAX][2][64];
    /* what it is like */
    char gpu[LIVE_GPUS][8][2][64]; /* what differs from the sample: a path's tag, its value */
    const char *says;              /* in place of a report; NULL */
    bool has_smi, changed, silent, dead;
    char root[64], bin[64];
    bool has_root;
    char checks[128];
    struct live_state states[8];
    char *memory[24];
    size_t memory_len[24];
    int64_t looked_at, looks_left;
    int64_t heard_at, failing_at;
    struct slurm_node slurm;
    bool has_slurm;
    /* what is done */
    bool busy, down;
    enum operation_kind kind;
    int64_t begins_at, ends_at, verified_at;
    char op_code[CODE_MAX_BYTES], op_device[DEVICE_MAX_BYTES];
    struct policy_person_hold hold; /* at 0: none; of hold_instance, another one is another machine */
    char hold_code[CODE_MAX_BYTES], hold_device[DEVICE_MAX_BYTES];
    int64_t hold_instance;
    struct policy_incident incident;
    bool has_incident;
    char place[TOPOLOGY_NAME_MAX_BYTES];
    struct live_action *actions;
    size_t action_count, action_room;
    int64_t fired[STORY_ITEMS_MAX];
};

struct live {
    const struct story *story;
    struct clock clock;
    int64_t now, next_id, breaker_opened_at, settled_since, incident_id;
    struct kmsg *kmsg;
    struct live_node *nodes;
    char dir[48];
    int64_t last_repair_at;
};

/* --- verdicts ------------------------------------------------------------------------------------------------ */

struct live_to {
    struct live *live;
    struct live_node *node;
};

static inline void live_tell(const struct verdict *told, const struct reach *reach, void *arg)
{
    (void)reach;
    struct live_to *to = arg;
    struct live_node *node = to->node;
    for (size_t i = 0; i < node->verdict_count; i++) {
        struct verdict *v = node->verdicts[i];
        if (told->over && v->state == VERDICT_STATE_OPEN && strcmp(v->source, told->source) == 0 &&
            strcmp(v->code, told->code) == 0 && strcmp(v->device, told->device) == 0)
            v->state = VERDICT_STATE_RESOLVED;
        if (!told->over && strcmp(v->key, told->key) == 0) {
            v->last_at = told->last_at;
            v->count = told->count;
            return;
        }
    }
    if (told->over)
        return;
    if (node->verdict_count == node->verdict_room) {
        node->verdict_room = node->verdict_room == 0 ? 16 : node->verdict_room * 2;
        node->verdicts = own_realloc(node->verdicts, node->verdict_room, sizeof(struct verdict *));
    }
    struct verdict *v = own_calloc(1, sizeof(*v));
    *v = *told;
    v->id = ++to->live->next_id;
    v->node_id = node->number + 1;
    v->state = VERDICT_STATE_OPEN;
    v->received_at = to->live->now;
    node->verdicts[node->verdict_count++] = v;
    struct fault_scope scope = {.instance_type = to->live->story->type};
    if (policy_is_node_fault(&scope, v))
        node->failing_at = v->received_at;
}

static inline void live_found(const struct finding *finding, void *arg)
{
    struct live_to *to = arg;
    windows_add(&to->node->windows, finding, to->live->now, live_tell, to);
}

static inline void live_log(struct live *live, struct live_node *node, const char *line)
{
    struct live_to to = {live, node};
    kmsg_take_line(live->kmsg, line, strlen(line), live_found, &to);
    windows_flush(&node->windows, live->now, true, live_tell, &to);
}

static inline void live_keep(void *arg)
{
    (void)arg; /* no agent is killed here */
}

static inline void live_report(struct live *live, struct live_node *node, const char *source,
                               const struct check_report *report)
{
    struct live_to to = {live, node};
    const struct standing_to standing_to = {live_tell, live_keep, &to};
    standing_take(&node->standing, source, report, live->now, live->now, &standing_to);
    for (size_t i = 0; i < report->observation_count; i++)
        if (report->observations[i].is_event) {
            struct finding finding = check_finding(source, &report->observations[i], live->now);
            finding.mono_ms = live->now;
            live_found(&finding, &to);
        }
    windows_flush(&node->windows, live->now, true, live_tell, &to);
}

/* --- checks -------------------------------------------------------------------------------------------------- */

static inline void live_write(const char *path, const char *text)
{
    char dir[512];
    text_copy_cut(dir, sizeof(dir), path);
    *strrchr(dir, '/') = '\0';
    file_make_dirs(dir, 0755);
    FILE *file = fopen(path, "w");
    if (file != NULL) {
        fprintf(file, "%s\n", text);
        fclose(file);
    }
}

static inline void live_file(struct live_node *node, const char *name, const char *text)
{
    autofree char *path = own_printf("%s%s", node->root, name);
    live_write(path, text);
}

static inline void live_make_root(struct live *live, struct live_node *node)
{
    if (node->has_root)
        return;
    node->has_root = true;
    snprintf(node->root, sizeof(node->root), "%s/r%d", live->dir, node->number);
    snprintf(node->bin, sizeof(node->bin), "%s/b%d", live->dir, node->number);
    file_make_dirs(node->root, 0755);
    file_make_dirs(node->bin, 0755);
    live_file(node, "/proc/sys/kernel/random/boot_id", node->boot_id);
}

static inline const char *live_gpu_name(int gpu)
{
    static const char *const names[LIVE_GPUS] = {"53:00", "64:00", "75:00", "86:00",
                                                 "97:00", "a8:00", "b9:00", "ca:00"};
    return names[gpu];
}

/* The sample's GPU as often as the machine has one, with what the story says of each. */
static inline void live_say_gpus(struct live_node *node)
{
    AUTO(text) struct text out = {0};
    autofree char *sample = NULL;
    size_t len = 0;
    if (file_read(LIVE_SAMPLE, 65536, &sample, &len) != 0)
        return;
    int count = 0;
    AUTO(text) struct text gpus = {0};
    for (int g = 0; g < LIVE_GPUS; g++) {
        autofree char *one = own_strdup(sample);
        bool gone = false;
        for (int k = 0; k < 8 && node->gpu[g][k][0][0] != '\0'; k++) {
            const char *tag = node->gpu[g][k][0], *value = node->gpu[g][k][1];
            gone |= strcmp(tag, "gone") == 0 && strcmp(value, "yes") == 0;
            autofree char *open = own_printf("<%s>", tag);
            char *at = strstr(one, open);
            char *end = at != NULL ? strstr(at, "</") : NULL;
            if (end == NULL)
                continue;
            char *altered = own_printf("%.*s%s%s", (int)(at - one + (int)strlen(open)), one, value, end);
            free(one);
            one = altered;
        }
        if (gone)
            continue;
        count++;
        for (const char *at = one; *at != '\0'; at++)
            if (strncmp(at, "@BUS@", 5) == 0) {
                text_printf(&gpus, "%s", live_gpu_name(g));
                at += 4;
            } else if (strncmp(at, "@N@", 3) == 0) {
                text_printf(&gpus, "%d", g);
                at += 2;
            } else {
                text_add_bytes(&gpus, at, 1);
            }
    }
    text_printf(&out,
                "<?xml version=\"1.0\" ?>\n<nvidia_smi_log>\n<driver_version>580.10</driver_version>\n"
                "<attached_gpus>%d</attached_gpus>\n%s</nvidia_smi_log>",
                count, text_get(&gpus));
    autofree char *path = own_printf("%s/nvidia-smi.out", node->bin);
    live_write(path, count > 0 ? text_get(&out) : "No devices were found");
}

static inline void live_make_gpus(struct live *live, struct live_node *node)
{
    if (node->has_smi)
        return;
    live_make_root(live, node);
    node->has_smi = true;
    autofree char *tool = own_printf("%s/nvidia-smi", node->bin);
    live_write(tool, "#!/bin/sh\ncase $1 in nvlink) exit 0;; *) cat \"$0.out\";; esac");
    chmod(tool, 0755);
    for (int g = 0; g < LIVE_GPUS; g++) {
        autofree char *dir = own_printf("/sys/bus/pci/devices/0000:%s.0", live_gpu_name(g));
        autofree char *vendor = own_printf("%s/vendor", dir), *class = own_printf("%s/class", dir);
        autofree char *link = own_printf("%s%s/driver", node->root, dir);
        live_file(node, vendor, "0x10de");
        live_file(node, class, "0x030200");
        if (symlink("../../../../bus/pci/drivers/nvidia", link) != 0)
            continue;
    }
}

static inline void live_run_check(struct live *live, struct live_node *node, const struct check *check, size_t slot)
{
    struct check_report report;
    const struct check_context context = {.root = node->root,
                                          .path = node->bin,
                                          .instance_type = live->story->type,
                                          .state_dir = "",
                                          .uptime_ms = live->now - node->boot_at,
                                          .memory = node->memory[slot] != NULL ? node->memory[slot] : "",
                                          .memory_len = node->memory_len[slot]};
    report_of(check, &context, &report);
    if (report.memory != NULL) {
        free(node->memory[slot]);
        node->memory[slot] = TAKE(report.memory);
        node->memory_len[slot] = report.memory_len;
    }
    live_report(live, node, check->name, &report);
    report_free(&report);
}

static inline void live_tell_states(struct live *live, struct live_node *node)
{
    for (size_t i = 0; i < ARRAY_LEN(node->states); i++) {
        bool first = node->states[i].check[0] != '\0';
        for (size_t k = 0; k < i; k++)
            first = first && strcmp(node->states[k].check, node->states[i].check) != 0;
        if (!first)
            continue;
        struct check_report report = {.result = CHECK_RESULT_FOUND, .whole = true};
        struct check_observation seen[ARRAY_LEN(node->states)] = {0};
        for (size_t k = i; k < ARRAY_LEN(node->states); k++) {
            const struct live_state *state = &node->states[k];
            if (strcmp(state->check, node->states[i].check) != 0 || state->code[0] == '\0')
                continue;
            struct check_observation *s = &seen[report.observation_count++];
            s->count = 1;
            text_copy_cut(s->code, sizeof(s->code), state->code);
            text_copy_cut(s->device, sizeof(s->device), state->device);
            text_copy_cut(s->text, sizeof(s->text), state->text);
        }
        report.observations = seen;
        static char names[64][16]; /* a finding's source is static */
        static size_t name_count;
        size_t n = 0;
        while (n < name_count && strcmp(names[n], node->states[i].check) != 0)
            n++;
        if (n == name_count)
            text_copy_cut(names[name_count++], sizeof(names[0]), node->states[i].check);
        live_report(live, node, names[n], &report);
    }
}

static inline void live_look(struct live *live, struct live_node *node)
{
    if (node->silent || node->dead || node->down)
        return;
    bool due = node->looks_left > 0 || live->now - node->looked_at >= LIVE_CHECK_EVERY_MS;
    if (!due)
        return;
    node->looks_left -= node->looks_left > 0;
    node->looked_at = live->now;
    live_tell_states(live, node);
    size_t count;
    const struct check *const *table = checks_table(&count);
    if (node->has_smi) {
        if (node->says == NULL) {
            live_say_gpus(node);
        } else {
            autofree char *path = own_printf("%s/nvidia-smi.out", node->bin);
            live_write(path, node->says);
        }
    }
    for (size_t i = 0; i < count; i++) {
        bool meant =
            strstr(node->checks, table[i]->name) != NULL || (node->has_smi && strcmp(table[i]->name, "nvidia") == 0);
        if (meant && node->has_root)
            live_run_check(live, node, table[i], i);
    }
}

#endif
