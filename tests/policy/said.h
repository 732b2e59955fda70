/*
 * What the policy says in words, once for each rule and once for each fault, so that a golden case has to keep only what is decided
 * and the values in it.
 *
 *   tests/policy/said/rules    the rule, its sentence, and under numbers the texts that it may say: {seen} stands for what was
 *                              seen, {n}, {span} and {time} for values, which each case has behind "with"
 *   tests/policy/said/faults   what the fault tables say of each code that leads a case
 *
 * A text that is not in these files fails its case, and a line that no case says any more fails as well. UPDATE=1 writes both
 * files anew: numbers that are in use stay, so that cases need not be touched.
 */
#ifndef HOLDFAST_TESTS_POLICY_SAID_H
#define HOLDFAST_TESTS_POLICY_SAID_H

#include "base/own.h"
#include "base/text.h"
#include "model/model.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAID_TEXTS_MAX 2048

struct said_text {
    enum decision_rule rule;
    int number; /* under the rule, from 1; of a fault 0 */
    char *text; /* owned */
    bool is_fault, is_new, is_used;
};

struct said {
    struct said_text texts[SAID_TEXTS_MAX];
    size_t count;
    bool may_add;
    char *wrong[RULE_COUNT]; /* the sentence of a rule, where the file has another than the list; owned */
    bool has[RULE_COUNT];
};

static inline void said_put(struct said *said, struct said_text text)
{
    if (said->count == SAID_TEXTS_MAX) {
        fprintf(stderr, "tests/policy/said.h: SAID_TEXTS_MAX is too small\n");
        abort();
    }
    said->texts[said->count++] = text;
}

static inline void said_free(struct said *said)
{
    for (size_t i = 0; i < said->count; i++)
        free(said->texts[i].text);
    for (int rule = 0; rule < RULE_COUNT; rule++)
        free(said->wrong[rule]);
}

/* --- reading and writing -------------------------------------------------------------------------------------- */

/* False where the file is not understood. */
static inline bool said_read_rules(struct said *said, char *source)
{
    enum decision_rule rule = RULE_NONE;
    for (char *rest = source, *line; (line = strtok_r(rest, "\n", &rest)) != NULL;) {
        char *colon = strstr(line, ": "), *end;
        long number = strtol(line, &end, 10);
        if (line[0] == '#')
            continue;
        if (isdigit((unsigned char)line[0]) && *end == ' ' && rule != RULE_NONE) {
            said_put(said, (struct said_text){.rule = rule, .number = (int)number, .text = own_strdup(end + 1)});
            continue;
        }
        if (colon == NULL)
            return false;
        *colon = '\0';
        if (decision_rule_parse(line, &rule) != 0 || said->has[rule])
            return false;
        autofree char *sentence = own_printf("%s.", decision_rule_sentence(rule));
        said->has[rule] = true;
        said->wrong[rule] = text_equal(colon + 2, sentence) ? NULL : own_strdup(colon + 2);
    }
    return true;
}

static inline void said_read_faults(struct said *said, char *source)
{
    for (char *rest = source, *line; (line = strtok_r(rest, "\n", &rest)) != NULL;)
        if (line[0] != '#')
            said_put(said, (struct said_text){.is_fault = true, .text = own_strdup(line)});
}

static inline int said_by_order(const void *left, const void *right)
{
    const struct said_text *a = left, *b = right;
    if (a->rule != b->rule)
        return a->rule < b->rule ? -1 : 1;
    return a->number != b->number ? (a->number < b->number ? -1 : 1) : strcmp(a->text, b->text);
}

/* What is used, in order; caller frees. */
static inline char *said_render(struct said *said, bool faults)
{
    struct text out = {0};
    enum decision_rule rule = RULE_NONE;
    text_add(&out, faults ? "# What the fault tables say of the codes that lead a golden case (tests/policy/said.h).\n"
                          : "# What each rule says in the golden cases (tests/policy/said.h).\n");
    qsort(said->texts, said->count, sizeof(said->texts[0]), said_by_order);
    for (size_t i = 0; i < said->count; i++) {
        const struct said_text *text = &said->texts[i];
        if (!text->is_used || text->is_fault != faults)
            continue;
        if (!faults && text->rule != rule)
            text_printf(&out, "%s: %s.\n", decision_rule_text(text->rule), decision_rule_sentence(text->rule));
        rule = text->rule;
        if (faults)
            text_printf(&out, "%s\n", text->text);
        else
            text_printf(&out, "%d %s\n", text->number, text->text);
    }
    return text_take(&out);
}

/* --- one text ------------------------------------------------------------------------------------------------- */

/* Its number; 0: it is new and must not be. */
static inline int said_number(struct said *said, enum decision_rule rule, const char *words)
{
    int next = 1;
    for (size_t i = 0; i < said->count; i++) {
        struct said_text *text = &said->texts[i];
        if (text->is_fault || text->rule != rule)
            continue;
        if (text_equal(text->text, words)) {
            text->is_used = text->is_used || !text->is_new;
            return text->is_used ? text->number : 0;
        }
        next = text->number >= next ? text->number + 1 : next;
    }
    said_put(said,
             (struct said_text){
                 .rule = rule, .number = next, .text = own_strdup(words), .is_new = true, .is_used = said->may_add});
    return said->may_add ? next : 0;
}

static inline bool said_has_fault(struct said *said, const char *words)
{
    for (size_t i = 0; i < said->count; i++)
        if (said->texts[i].is_fault && text_equal(said->texts[i].text, words))
            return said->texts[i].is_used = true;
    said_put(said,
             (struct said_text){.is_fault = true, .text = own_strdup(words), .is_new = true, .is_used = said->may_add});
    return said->may_add;
}

/* The length of a time such as "2026-11-20 14:03:07 UTC" at the start of text; 0: none is there. */
static inline size_t said_time(const char *text)
{
    static const char shape[] = "dddd-dd-dd dd:dd:dd UTC";
    for (size_t i = 0; i < sizeof(shape) - 1; i++)
        if (shape[i] == 'd' ? !isdigit((unsigned char)text[i]) : shape[i] != text[i])
            return 0;
    return sizeof(shape) - 1;
}

/* The length of a unit of time behind a number, with its space; 0: none is there. */
static inline size_t said_unit(const char *text)
{
    static const char *const units[] = {" d", " h", " min", " ms", " s"};
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (text_starts_with(text, units[i]) && !isalnum((unsigned char)text[strlen(units[i])]))
            return strlen(units[i]);
    return 0;
}

/* The text with its values taken out, and these in a list. A number within a word, as in a name, is part of it. */
static inline void said_split(const char *text, struct text *words, struct text *values)
{
    for (const char *at = text; *at != '\0';) {
        size_t len = strspn(at, "0123456789"), time = said_time(at), unit = said_unit(at + len);
        bool starts = at == text || at[-1] == ' ' || at[-1] == '(';
        bool ends = strchr(" ,.;:)", at[len]) != NULL &&
                    !(ispunct((unsigned char)at[len]) && isalnum((unsigned char)at[len + 1]));
        if (len == 0 || !starts || (!ends && time == 0)) {
            text_add_char(words, *at++);
            continue;
        }
        size_t taken = time > 0 ? time : len + unit;
        text_add(words, time > 0 ? "{time}" : unit > 0 ? "{span}" : "{n}");
        text_printf(values, "%s%.*s", values->len > 0 ? ", " : "", (int)taken, at);
        at += taken;
    }
}

#endif
