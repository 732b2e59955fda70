/*
 * Rules over a log: three limits (first line, gap, value) and two lines that decide at once (fault, stop).
 *
 * All a rule remembers is a few numbers a rank and one line, so nothing grows with the log.
 */
#include "policy/job/rules.h"

#include "base/text.h"

#include <math.h>
#include <string.h>

#define VALUE_BYTES_MAX 64

ENUM_DEFINE(rule_operator, RULE_OPERATOR_LIST)
ENUM_DEFINE(rule_kind, RULE_KIND_LIST)

struct rank_state {
    int64_t matched_at, matches, bad_values;
    bool hangs, slow;
};

struct rule_state {
    int64_t began_at, matched_at;
    bool matched, stopped, hangs; /* hangs: as a whole */
    char line[RULE_LINE_MAX];     /* as it came */
    size_t line_len;
    struct rank_state *ranks;
};

struct rules {
    int ranks;
    struct rule_list list;
    struct rule_state *states;
    struct rule_finding *found;
    size_t found_count, found_room;
};

/* --- lists -------------------------------------------------------------------------------------------- */

static void rule_clear(struct rule *rule)
{
    free(rule->name);
    free(rule->pattern);
    free(rule->stop_pattern);
}

void rule_list_free(struct rule_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        rule_clear(&list->rules[i]);
    free(list->rules);
    *list = (struct rule_list){0};
}

static bool same_rule(const struct rule *a, const struct rule *b)
{
    return text_equal(a->name, b->name) && text_equal(a->pattern, b->pattern) &&
           text_equal(a->stop_pattern, b->stop_pattern) && a->start_ms == b->start_ms &&
           a->recurring_ms == b->recurring_ms && a->has_threshold == b->has_threshold &&
           (!a->has_threshold || (!islessgreater(a->threshold, b->threshold) && a->operator== b->operator)) &&
           a->points == b->points && a->fault_on_match == b->fault_on_match;
}

struct rules *rules_new(int ranks)
{
    struct rules *rules = own_calloc(1, sizeof(*rules));
    rules->ranks = ranks < 1 ? 1 : ranks > RULE_RANKS_MAX ? RULE_RANKS_MAX : ranks;
    return rules;
}

static void states_free(struct rule_state *states, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(states[i].ranks);
    free(states);
}

void rules_free(struct rules *rules)
{
    if (rules == NULL)
        return;
    states_free(rules->states, rules->list.count);
    rule_list_free(&rules->list);
    free(rules->found);
    free(rules);
}

/* What the same rule has seen so far, or a beginning. */
static struct rule_state take_over(struct rules *rules, const struct rule *rule, int64_t now_ms)
{
    for (size_t i = 0; i < rules->list.count; i++)
        if (rules->states[i].ranks != NULL && same_rule(&rules->list.rules[i], rule)) {
            struct rule_state state = rules->states[i];
            rules->states[i].ranks = NULL;
            return state;
        }
    return (struct rule_state){.began_at = now_ms,
                               .ranks = own_calloc((size_t)rules->ranks, sizeof(struct rank_state))};
}

void rules_set(struct rules *rules, struct rule_list *list, int64_t now_ms)
{
    struct rule_state *states = own_calloc(list->count + 1, sizeof(*states));
    for (size_t i = 0; i < list->count; i++)
        states[i] = take_over(rules, &list->rules[i], now_ms);
    states_free(rules->states, rules->list.count);
    rule_list_free(&rules->list);
    rules->list = *list;
    rules->states = states;
    rules->found_count = 0; /* they name rules by their old places */
    *list = (struct rule_list){0};
}

const struct rule_list *rules_list(const struct rules *rules)
{
    return &rules->list;
}

/* --- findings ----------------------------------------------------------------------------------------- */

static void add_finding(struct rules *rules, enum rule_kind kind, size_t rule, int rank, int64_t now_ms,
                        int64_t since_ms)
{
    if (rules->found_count == rules->found_room) {
        rules->found_room = rules->found_room == 0 ? 4 : 2 * rules->found_room;
        rules->found = own_realloc(rules->found, rules->found_room, sizeof(*rules->found));
    }
    struct rule_finding *finding = &rules->found[rules->found_count++];
    *finding = (struct rule_finding){.kind = kind, .rule = rule, .rank = rank, .at_ms = now_ms, .since_ms = since_ms};
    text_copy_clean(finding->line, sizeof(finding->line), rules->states[rule].line, rules->states[rule].line_len);
}

static bool is_worse(const struct rule_finding *a, const struct rule_finding *b)
{
    return a->kind != b->kind ? a->kind < b->kind : a->rule < b->rule;
}

bool rules_next(struct rules *rules, struct rule_finding *ret_finding)
{
    size_t worst = 0;
    if (rules->found_count == 0)
        return false;
    for (size_t i = 1; i < rules->found_count; i++)
        if (is_worse(&rules->found[i], &rules->found[worst]))
            worst = i;
    *ret_finding = rules->found[worst];
    rules->found_count--;
    memmove(&rules->found[worst], &rules->found[worst + 1], (rules->found_count - worst) * sizeof(*rules->found));
    return true;
}

/* --- lines -------------------------------------------------------------------------------------------- */

bool rule_value(const char *text, size_t len, double *ret_value)
{
    char copy[VALUE_BYTES_MAX];
    while (len > 0 && strchr(" \t\r\n\v\f", *text) != NULL && *text != '\0')
        text++, len--;
    while (len > 0 && strchr(" \t\r\n\v\f", text[len - 1]) != NULL && text[len - 1] != '\0')
        len--;
    if (len == 0 || len >= sizeof(copy))
        return false;
    memcpy(copy, text, len);
    copy[len] = '\0';
    if (strlen(copy) != len || strpbrk(copy, "xX(") != NULL) /* C's own: 0x10, nan(…) */
        return false;
    char *end;
    double value = strtod(copy, &end);
    if (*end != '\0')
        return false;
    *ret_value = value;
    return true;
}

static bool is_bad(const struct rule *rule, double value)
{
    if (!isfinite(value))
        return true;
    switch (rule->operator) {
    case RULE_GT:
        return value > rule->threshold;
    case RULE_GTEQ:
        return value >= rule->threshold;
    case RULE_LT:
        return value < rule->threshold;
    case RULE_LTEQ:
        return value <= rule->threshold;
    case RULE_EQ:
        return !islessgreater(value, rule->threshold);
    }
    return false;
}

static void take_value(struct rules *rules, size_t at, int rank, int64_t now_ms, double value)
{
    const struct rule *rule = &rules->list.rules[at];
    struct rank_state *state = &rules->states[at].ranks[rank];
    if (!is_bad(rule, value)) {
        state->bad_values = 0;
        state->slow = false;
        return;
    }
    if (state->bad_values < rule->points)
        state->bad_values++;
    if (state->bad_values < rule->points || state->slow)
        return;
    state->slow = true;
    add_finding(rules, RULE_SLOW, at, rank, now_ms, now_ms);
}

void rules_match(struct rules *rules, size_t rule, int rank, int64_t now_ms, const char *line, size_t len,
                 const char *value, size_t value_len)
{
    double number;
    if (rule >= rules->list.count || rank < 0 || rank >= rules->ranks || rules->states[rule].stopped)
        return;
    struct rule_state *state = &rules->states[rule];
    struct rank_state *own = &state->ranks[rank];
    own->matches++;
    own->matched_at = now_ms;
    own->hangs = false;
    state->matched = true;
    state->matched_at = now_ms;
    state->hangs = false;
    state->line_len = len < sizeof(state->line) ? len : sizeof(state->line);
    memcpy(state->line, line, state->line_len);
    if (rules->list.rules[rule].fault_on_match)
        add_finding(rules, RULE_FAULT, rule, rank, now_ms, now_ms);
    if (rules->list.rules[rule].has_threshold && value != NULL && rule_value(value, value_len, &number))
        take_value(rules, rule, rank, now_ms, number);
}

void rules_stop(struct rules *rules, size_t rule)
{
    if (rule < rules->list.count)
        rules->states[rule].stopped = true;
}

bool rules_is_stopped(const struct rules *rules, size_t rule)
{
    return rule >= rules->list.count || rules->states[rule].stopped;
}

int64_t rules_matches(const struct rules *rules, size_t rule)
{
    int64_t count = 0;
    for (int i = 0; i < rules->ranks; i++)
        count += rules->states[rule].ranks[i].matches;
    return count;
}

/* --- times -------------------------------------------------------------------------------------------- */

/* The rank whose last line is the oldest. */
static int stopped_first(const struct rules *rules, const struct rule_state *state)
{
    int first = -1;
    for (int i = 0; i < rules->ranks; i++)
        if (state->ranks[i].matches > 0 && (first < 0 || state->ranks[i].matched_at < state->ranks[first].matched_at))
            first = i;
    return first;
}

/* As a whole: when its next line is too late. */
static int64_t whole_due(const struct rule *rule, const struct rule_state *state)
{
    int64_t limit = state->matched ? rule->recurring_ms : rule->start_ms;
    if (state->stopped || state->hangs || limit == 0)
        return INT64_MAX;
    return (state->matched ? state->matched_at : state->began_at) + limit + 1;
}

static int64_t rank_due(const struct rule *rule, const struct rule_state *state, int rank)
{
    const struct rank_state *own = &state->ranks[rank];
    if (state->stopped || state->hangs || own->hangs || own->matches < 2 || rule->recurring_ms == 0)
        return INT64_MAX;
    return own->matched_at + rule->recurring_ms + 1;
}

static void tick_rule(struct rules *rules, size_t at, int64_t now_ms)
{
    const struct rule *rule = &rules->list.rules[at];
    struct rule_state *state = &rules->states[at];
    if (now_ms >= whole_due(rule, state)) {
        int first = stopped_first(rules, state);
        state->hangs = true;
        add_finding(rules, RULE_HANG, at, first, now_ms, first < 0 ? state->began_at : state->ranks[first].matched_at);
        return;
    }
    for (int i = 0; i < rules->ranks; i++)
        if (now_ms >= rank_due(rule, state, i)) {
            state->ranks[i].hangs = true;
            add_finding(rules, RULE_HANG, at, i, now_ms, state->ranks[i].matched_at);
        }
}

void rules_tick(struct rules *rules, int64_t now_ms)
{
    for (size_t i = 0; i < rules->list.count; i++)
        tick_rule(rules, i, now_ms);
}

int64_t rules_due_ms(const struct rules *rules)
{
    int64_t due = INT64_MAX;
    for (size_t i = 0; i < rules->list.count; i++) {
        const struct rule *rule = &rules->list.rules[i];
        const struct rule_state *state = &rules->states[i];
        int64_t whole = whole_due(rule, state);
        due = whole < due ? whole : due;
        for (int rank = 0; rank < rules->ranks; rank++) {
            int64_t own = rank_due(rule, state, rank);
            due = own < due ? own : due;
        }
    }
    return due;
}

/* --- words -------------------------------------------------------------------------------------------- */

char *rules_reason(const struct rules *rules, const struct rule_finding *finding)
{
    return own_printf("%s_%s", rule_kind_text(finding->kind), rules->list.rules[finding->rule].name);
}

static void say_hang(struct text *text, const struct rule *rule, const struct rule_finding *finding)
{
    int64_t waited_s = (finding->at_ms - finding->since_ms) / 1000;
    if (finding->rank < 0)
        text_printf(text, "No line of rule %s within %lld s", rule->name, (long long)(rule->start_ms / 1000));
    else
        text_printf(text, "No line of rule %s for %lld s (limit %lld s); local rank %d stopped first", rule->name,
                    (long long)waited_s, (long long)(rule->recurring_ms / 1000), finding->rank);
}

char *rules_sentence(const struct rules *rules, const struct rule_finding *finding)
{
    const struct rule *rule = &rules->list.rules[finding->rule];
    struct text text = {0};
    if (finding->kind == RULE_HANG)
        say_hang(&text, rule, finding);
    else if (finding->kind == RULE_SLOW)
        text_printf(&text, "%lld bad value%s of rule %s in a row (%s %g) on local rank %d", (long long)rule->points,
                    text_plural(rule->points), rule->name, rule_operator_text(rule->operator), rule->threshold,
                    finding->rank);
    else
        text_printf(&text, "A line of rule %s on local rank %d", rule->name, finding->rank);
    if (finding->line[0] != '\0')
        text_printf(&text, ": %s", finding->line);
    else
        text_add(&text, ".");
    return text_take(&text);
}
