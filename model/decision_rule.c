/* The texts and sentences of the policy's rules. */
#include "model/decision_rule.h"

#include "base/own.h"

#include <string.h>

static const struct {
    const char *text, *sentence;
} rules[] = {
#define X(SYMBOL, text, sentence) {text, sentence},
    RULE_LIST(X)
#undef X
};

const char *decision_rule_text(enum decision_rule rule)
{
    return (size_t)rule < RULE_COUNT ? rules[rule].text : "?";
}

const char *decision_rule_sentence(enum decision_rule rule)
{
    return (size_t)rule < RULE_COUNT ? rules[rule].sentence : "?";
}

int decision_rule_parse(const char *text, enum decision_rule *ret_rule)
{
    for (size_t i = 0; text != NULL && i < RULE_COUNT; i++)
        if (strcmp(rules[i].text, text) == 0) {
            *ret_rule = (enum decision_rule)i;
            return 0;
        }
    return STATUS_INVALID;
}
