/*
 * The rules by which a job's log shows that it hangs, is slow or has failed: HyperPod's logMonitoringConfiguration.
 *
 * Pure: lines that match come in with the time and the rank that wrote them; findings come out. Who matches, and what a finding
 * leads to, is the launcher's. Every rank is watched:
 *
 *   - A rule's first line has to come from any rank of this node within start_ms after the rule began.
 *   - From then on the time between two lines, of whatever rank, must not pass recurring_ms. A rank that has written a second line is
 *     watched by itself, too: one line alone may have been the only one that it writes.
 *   - Values are counted rank by rank. So many in a row that the operator holds for make the rank slow; one that is fine begins again.
 *     A value that is no finite number is a bad one. A text that is no number is progress and no value.
 *   - A line that stops the rule, of whatever rank, ends it for good.
 *
 * A finding is reported once, when it begins; it ends with the next line (hang) or the next fine value (slow).
 */
#ifndef HOLDFAST_POLICY_JOB_RULES_H
#define HOLDFAST_POLICY_JOB_RULES_H

#include "base/enum.h"
#include "base/own.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RULES_MAX 64
#define RULE_NAME_MAX 128
#define RULE_PATTERN_MAX 4096
#define RULE_LINE_MAX 512 /* of a line that a finding quotes */
#define RULE_RANKS_MAX 1024

#define RULE_OPERATOR_LIST(X) \
    X(RULE_GT, "gt")          \
    X(RULE_GTEQ, "gteq")      \
    X(RULE_LT, "lt")          \
    X(RULE_LTEQ, "lteq")      \
    X(RULE_EQ, "eq")

enum rule_operator {
#define RULE_OPERATOR_ENUM(SYMBOL, text) SYMBOL,
    RULE_OPERATOR_LIST(RULE_OPERATOR_ENUM)
#undef RULE_OPERATOR_ENUM
};
ENUM_DECLARE(rule_operator);

struct rule {
    char *name;
    char *pattern;                  /* of a line that shows progress; its first group is the value */
    char *stop_pattern;             /* NULL: none */
    int64_t start_ms, recurring_ms; /* 0: no limit */
    bool has_threshold;             /* and an operator */
    double threshold;
    enum rule_operator operator;
    int64_t points; /* so many bad values in a row, 1 or more */
    bool fault_on_match;
};

struct rule_list {
    struct rule *rules;
    size_t count;
};

void rule_list_free(struct rule_list *list);
static inline void auto_rule_list_cleanup(struct rule_list *list)
{
    rule_list_free(list);
}

/* What is worse comes first. The text is the first part of the reason that HyperPod's operator reads: "LogHang_" and the rule. */
#define RULE_KIND_LIST(X)     \
    X(RULE_FAULT, "LogFault") \
    X(RULE_HANG, "LogHang")   \
    X(RULE_SLOW, "LogSlow")

enum rule_kind {
#define RULE_KIND_ENUM(SYMBOL, text) SYMBOL,
    RULE_KIND_LIST(RULE_KIND_ENUM)
#undef RULE_KIND_ENUM
};
ENUM_DECLARE(rule_kind);

struct rule_finding {
    enum rule_kind kind;
    size_t rule; /* in the list that rules_set was given last */
    int rank;    /* local; of a hang the one that stopped first; -1: no rank has written a line of this rule */
    int64_t at_ms;
    int64_t since_ms;         /* of a hang: the last line, or when the rule began */
    char line[RULE_LINE_MAX]; /* the last one that matched; "" for none */
};

struct rules;

/* ranks: how many workers write. Caller frees. */
struct rules *rules_new(int ranks);
void rules_free(struct rules *rules); /* accepts NULL */
AUTO_DEFINE(struct rules *, rules, rules_free)

/* Takes over the list (left empty). A rule that stood before with the same definition goes on; any other begins now. */
void rules_set(struct rules *rules, struct rule_list *list, int64_t now_ms);
const struct rule_list *rules_list(const struct rules *rules);

/* A line that matches the rule's pattern; value is its first group, of which NULL says there is none. */
void rules_match(struct rules *rules, size_t rule, int rank, int64_t now_ms, const char *line, size_t len,
                 const char *value, size_t value_len);
/* A line that matches its stop pattern; after rules_match where a line matches both. */
void rules_stop(struct rules *rules, size_t rule);
bool rules_is_stopped(const struct rules *rules, size_t rule);
/* How many lines have matched its pattern so far, on all ranks. */
int64_t rules_matches(const struct rules *rules, size_t rule);
/* Looks at the times. */
void rules_tick(struct rules *rules, int64_t now_ms);
/* When rules_tick would say something new; INT64_MAX when never. */
int64_t rules_due_ms(const struct rules *rules);

/* The next finding, the worst first, then by the order of rules; false when there is none. */
bool rules_next(struct rules *rules, struct rule_finding *ret_finding);
/* "LogHang_JobHangingDetection". Caller frees. */
char *rules_reason(const struct rules *rules, const struct rule_finding *finding);
/* One sentence for people. Caller frees. */
char *rules_sentence(const struct rules *rules, const struct rule_finding *finding);

/* The value of a text with blanks around it, as Python's float reads it; false when it is none. */
bool rule_value(const char *text, size_t len, double *ret_value);

#endif
