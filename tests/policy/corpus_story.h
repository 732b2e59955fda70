/*
 * The incidents of tests/corpus: what happened somewhere, as the parsers would have seen it, and what should have been done.
 *
 *   title: words
 *   source: an address                       a thread, a postmortem, a vendor's page
 *   note: words                              why the right action is right; may come again
 *   group: desired=64 jobs=30m resets=no recovery=None type=p5.48xlarge end=24h; and settings by name (case_settings.h)
 *   nodes gpu-[1-4] rack=r1 switch=s1 zone=a ultraserver=u1 chassis=c1 powerDomain=p1      the nodes of the story; the others of the group are well
 *   past gpu-1 reboot 0000:53:00 xid.79 -20d [not_cleared]          a repair before the story began
 *   at 10m [every 1h] [times 5] [until reset|reboot|replace [N]] what follows happens then, …
 *   boot 2m [until reboot|replace [N]]                           … or so long after each boot that the story brings
 *     gpu-1 log: LINE                        a line of the kernel log
 *     gpu-1 smi: 0 gpu_recovery_action=None  a GPU's value in nvidia-smi -q -x (tests/corpus has the sample), by its number
 *     gpu-1 smi-says: TEXT                   in place of a report; "hangs": no answer
 *     gpu-1 tree: infiniband/six.tree        files of tests/data below the node's root
 *     gpu-1 file: /sys/… TEXT                one file; "gone: /sys/…" takes it away
 *     gpu-1 checks: infiniband pcie          checks of the agent that look at these
 *     gpu-1 state: services node.service.down slurmd TEXT    what a check found, by check, code and device ("-": the node)
 *     gpu-1 event: dcgm dcgm.sxid-error - TEXT                … and what happened once
 *     gpu-1 over: services node.service.down slurmd
 *     gpu-1 silent / heard                   the agent
 *     gpu-1 slurm: DOWN* "Not responding" by slurm            the scheduler's words
 *     gpu-1 dead                             as silent, and no reboot brings it back
 *     gpu-1 restarts                         by itself, or by a hand that is not ours
 *   1h [gpu-1]: right=reboot fine=reset,hold never=nothing,replace most=2 said="words" unsaid="words"
 *   end [gpu-1]: …
 *
 * An action is the last of reset, reboot, replace and person that was begun until then; else hold, where something waits, or where
 * the node is reported as one of many with the same; else nothing. never: "nothing", or an action begun at any time until then. What happens stops when its until has come.
 */
#ifndef HOLDFAST_TESTS_POLICY_CORPUS_STORY_H
#define HOLDFAST_TESTS_POLICY_CORPUS_STORY_H

#include "base/own.h"
#include "base/text.h"
#include "tests/policy/case_settings.h"

#define STORY_NODES_MAX 64
#define STORY_ITEMS_MAX 256
#define STORY_WANTS_MAX 12
#define STORY_REPAIRS_MAX 64

enum story_until { UNTIL_NEVER, UNTIL_RESET, UNTIL_REBOOT, UNTIL_REPLACE };

struct story_item {
    int64_t at, every, times;
    bool of_boot;
    enum story_until until;
    int64_t until_count;
    uint64_t nodes; /* a bit each */
    char what[16];
    const char *text;
};

/* Dispositions as bits, so that a list of them is one number. */
#define STORY_WORDS_LIST(X) \
    X(NOTHING, "nothing")   \
    X(HOLD, "hold") X(PERSON, "person") X(RESET, "reset") X(REBOOT, "reboot") X(REPLACE, "replace")
enum story_word {
#define X(SYMBOL, text) STORY_##SYMBOL,
    STORY_WORDS_LIST(X)
#undef X
        STORY_WORD_COUNT
};

struct story_want {
    bool at_end;
    uint64_t nodes;
    unsigned right, fine, never;
    int64_t most;
    const char *said, *unsaid; /* NULL: nothing is asked of the words */
};

struct story_node {
    char name[NODE_NAME_MAX_BYTES];
    char place[TOPOLOGY_LEVEL_COUNT][TOPOLOGY_NAME_MAX_BYTES];
    struct policy_repair history[8];
    char history_texts[8][2][64];
    size_t history_count;
};

struct story {
    char *text; /* owned; the rest points into it */
    const char *title, *source;
    int64_t desired, jobs_ms, end_ms;
    bool no_resets;
    enum node_recovery recovery;
    const char *type;
    struct policy_settings settings;
    struct story_node nodes[STORY_NODES_MAX];
    size_t node_count;
    struct story_item items[STORY_ITEMS_MAX];
    size_t item_count;
    struct story_want wants[STORY_WANTS_MAX];
    size_t want_count;
    struct story_item head; /* of the items that come */
    char error[200];
};

static inline const char *story_word_text(enum story_word word)
{
    static const char *const texts[] = {
#define X(SYMBOL, text) text,
        STORY_WORDS_LIST(X)
#undef X
    };
    return texts[word];
}

static inline bool story_words(const char *list, unsigned *ret_bits)
{
    char copy[128];
    if (text_copy(copy, sizeof(copy), list) != 0)
        return false;
    for (char *save = NULL, *at = strtok_r(copy, ",", &save); at != NULL; at = strtok_r(NULL, ",", &save)) {
        unsigned bit = 0;
        for (int i = 0; i < STORY_WORD_COUNT; i++)
            if (strcmp(at, story_word_text((enum story_word)i)) == 0)
                bit = 1u << i;
        if (bit == 0)
            return false;
        *ret_bits |= bit;
    }
    return true;
}

static inline bool story_nodes_of(struct story *s, const char *list, bool make, uint64_t *ret_nodes)
{
    char **names = NULL;
    size_t count = 0;
    bool ok = text_hostlist_expand(list, STORY_NODES_MAX, &names, &count) == 0;
    *ret_nodes = 0;
    for (size_t i = 0; ok && i < count; i++) {
        size_t at = 0;
        while (at < s->node_count && strcmp(s->nodes[at].name, names[i]) != 0)
            at++;
        ok = at < s->node_count || (make && s->node_count < STORY_NODES_MAX);
        if (ok && at == s->node_count)
            text_copy_cut(s->nodes[s->node_count++].name, sizeof(s->nodes[at].name), names[i]);
        *ret_nodes |= ok ? UINT64_C(1) << at : 0;
    }
    if (names != NULL)
        text_list_free(names, count);
    return ok;
}

static inline bool story_group(struct story *s, char **words, int count)
{
    for (int i = 1; i < count; i++) {
        const char *value;
        char *equals = strchr(words[i], '=');
        if (equals == NULL)
            return false;
        if ((value = case_value(words[i], "desired")) != NULL) {
            if (text_parse_i64(value, 1, 100000, &s->desired) != 0)
                return false;
        } else if ((value = case_value(words[i], "jobs")) != NULL || (value = case_value(words[i], "end")) != NULL) {
            if (!case_time(value, words[i][0] == 'j' ? &s->jobs_ms : &s->end_ms))
                return false;
        } else if ((value = case_value(words[i], "resets")) != NULL) {
            s->no_resets = strcmp(value, "no") == 0;
        } else if ((value = case_value(words[i], "recovery")) != NULL) {
            if (node_recovery_parse(value, &s->recovery) != 0)
                return false;
        } else if ((value = case_value(words[i], "type")) != NULL) {
            s->type = value;
        } else {
            *equals = '\0';
            if (!case_set(&s->settings, words[i], equals + 1))
                return false;
        }
    }
    return true;
}

static inline bool story_places(struct story *s, char **words, int count)
{
    uint64_t nodes;
    if (count < 2 || !story_nodes_of(s, words[1], true, &nodes))
        return false;
    for (int i = 2; i < count; i++)
        for (int level = 0; level < TOPOLOGY_LEVEL_COUNT; level++) {
            const char *value = case_value(words[i], topology_level_text((enum topology_level)level));
            for (size_t n = 0; value != NULL && n < s->node_count; n++)
                if ((nodes >> n & 1) != 0)
                    text_copy_cut(s->nodes[n].place[level], TOPOLOGY_NAME_MAX_BYTES, value);
        }
    return true;
}

/* past gpu-1 reboot 0000:53:00 xid.79 -20d */
static inline bool story_past(struct story *s, char **words, int count)
{
    uint64_t nodes;
    int64_t at = 0;
    if (count < 6 || !story_nodes_of(s, words[1], true, &nodes) || !case_time(words[5], &at))
        return false;
    for (size_t n = 0; n < s->node_count; n++) {
        struct story_node *node = &s->nodes[n];
        if ((nodes >> n & 1) == 0 || node->history_count == 8)
            continue;
        char(*texts)[64] = node->history_texts[node->history_count];
        text_copy_cut(texts[0], 64, strcmp(words[3], "-") == 0 ? "" : words[3]);
        text_copy_cut(texts[1], 64, words[4]);
        bool not_cleared = count > 6 && strcmp(words[6], "not_cleared") == 0;
        node->history[node->history_count++] =
            (struct policy_repair){.kind = strcmp(words[2], "reset") == 0     ? OPERATION_KIND_RESET
                                           : strcmp(words[2], "replace") == 0 ? OPERATION_KIND_REPLACE
                                                                              : OPERATION_KIND_REBOOT,
                                   .device = texts[0],
                                   .code = texts[1],
                                   .new_instance = "",
                                   .at = CASE_NOW_MS + at,
                                   .finished_at = CASE_NOW_MS + at + 600000,
                                   .boot_id = "",
                                   .succeeded = !not_cleared,
                                   .not_cleared = not_cleared,
                                   .error = ""};
    }
    return true;
}

static inline bool story_head(struct story *s, char **words, int count)
{
    s->head = (struct story_item){.of_boot = strcmp(words[0], "boot") == 0, .times = 1};
    if (count < 2 || !case_time(words[1], &s->head.at))
        return false;
    for (int i = 2; i < count; i++) {
        if (strcmp(words[i], "every") == 0 && i + 1 < count) {
            if (!case_time(words[++i], &s->head.every))
                return false;
            s->head.times = s->head.times == 1 ? 100000 : s->head.times;
        } else if (strcmp(words[i], "times") == 0 && i + 1 < count) {
            if (text_parse_i64(words[++i], 1, 100000, &s->head.times) != 0)
                return false;
        } else if (strcmp(words[i], "until") == 0 && i + 1 < count) {
            const char *what = words[++i];
            s->head.until = strcmp(what, "reset") == 0    ? UNTIL_RESET
                            : strcmp(what, "reboot") == 0 ? UNTIL_REBOOT
                                                          : UNTIL_REPLACE;
            s->head.until_count = 1;
            if (i + 1 < count && isdigit((unsigned char)words[i + 1][0]) &&
                text_parse_i64(words[++i], 1, 100, &s->head.until_count) != 0)
                return false;
        } else {
            return false;
        }
    }
    return true;
}

static inline bool story_item(struct story *s, char *line)
{
    struct story_item item = s->head;
    char *space = strchr(line, ' ');
    if (space == NULL || s->item_count == STORY_ITEMS_MAX)
        return false;
    *space = '\0';
    char *what = space + 1, *colon = strchr(what, ':');
    if (!story_nodes_of(s, line, true, &item.nodes))
        return false;
    if (colon != NULL && strcspn(what, " ") > (size_t)(colon - what)) {
        *colon = '\0';
        item.text = colon + 1 + strspn(colon + 1, " ");
    } else {
        item.text = "";
    }
    static const char *const known[] = {"log",   "smi",  "smi-says", "tree",  "file",  "gone", "checks",  "state",
                                        "event", "over", "silent",   "heard", "slurm", "dead", "restarts"};
    bool is_known = false;
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        is_known |= strcmp(known[i], what) == 0;
    s->items[s->item_count++] = item;
    return is_known && text_copy(s->items[s->item_count - 1].what, sizeof(item.what), what) == 0;
}

static inline bool story_want(struct story *s, char **words, int count)
{
    struct story_want want = {.at_end = strncmp(words[0], "end", 3) == 0, .most = 100};
    int i = 1;
    if (strchr(words[0], ':') == NULL) {
        char *colon = count > 1 ? strchr(words[1], ':') : NULL;
        if (colon == NULL)
            return false;
        *colon = '\0';
        if (!story_nodes_of(s, words[i++], false, &want.nodes))
            return false;
    }
    for (; i < count; i++) {
        const char *value;
        bool ok = true;
        if ((value = case_value(words[i], "right")) != NULL)
            ok = story_words(value, &want.right);
        else if ((value = case_value(words[i], "fine")) != NULL)
            ok = story_words(value, &want.fine);
        else if ((value = case_value(words[i], "never")) != NULL)
            ok = story_words(value, &want.never);
        else if ((value = case_value(words[i], "most")) != NULL)
            ok = text_parse_i64(value, 0, 100, &want.most) == 0;
        else if ((value = case_value(words[i], "said")) != NULL)
            want.said = value;
        else if ((value = case_value(words[i], "unsaid")) != NULL)
            want.unsaid = value;
        else
            ok = false;
        if (!ok)
            return false;
    }
    if (s->want_count == STORY_WANTS_MAX || want.right == 0)
        return false;
    s->wants[s->want_count++] = want;
    return true;
}

static inline bool story_line(struct story *s, char *line)
{
    char *words[CASE_WORDS_MAX];
    if (line[0] == ' ')
        return story_item(s, line + strspn(line, " "));
    if (text_starts_with(line, "title: "))
        return (s->title = line + 7) != NULL;
    if (text_starts_with(line, "source: "))
        return (s->source = line + 8) != NULL;
    if (text_starts_with(line, "note: ") || line[0] == '#' || line[0] == '\0')
        return true;
    int count = case_words(line, words);
    if (strcmp(words[0], "group:") == 0)
        return story_group(s, words, count);
    if (strcmp(words[0], "nodes") == 0)
        return story_places(s, words, count);
    if (strcmp(words[0], "past") == 0)
        return story_past(s, words, count);
    if (strcmp(words[0], "at") == 0 || strcmp(words[0], "boot") == 0)
        return story_head(s, words, count);
    if (text_starts_with(words[0], "1h") || text_starts_with(words[0], "end"))
        return story_want(s, words, count);
    return false;
}

/* Takes text over. False: error says why. */
static inline bool story_read(char *text, struct story *ret_story)
{
    struct story *s = ret_story;
    *s = (struct story){
        .text = text, .desired = 16, .jobs_ms = 1800000, .end_ms = 86400000, .type = "", .title = "", .source = ""};
    s->head.times = 1;
    policy_settings_default(&s->settings);
    int number = 0;
    for (char *save = NULL, *line = strtok_r(text, "\n", &save); line != NULL; line = strtok_r(NULL, "\n", &save)) {
        number++;
        char copy[80];
        text_copy_cut(copy, sizeof(copy), line);
        if (!story_line(s, line)) {
            snprintf(s->error, sizeof(s->error), "line %d is not understood: %s", number, copy);
            return false;
        }
    }
    bool at_both = false, at_end = false;
    for (size_t i = 0; i < s->want_count; i++) {
        at_both |= !s->wants[i].at_end;
        at_end |= s->wants[i].at_end;
    }
    if (s->title[0] == '\0' || !text_starts_with(s->source, "http") || !at_both || !at_end || s->node_count == 0) {
        snprintf(s->error, sizeof(s->error),
                 "it needs a title, a source, nodes, and what is right at 1h and at the end");
        return false;
    }
    return true;
}

#endif
