/*
 * What is broken when a code is seen: its class, by which limits and modes are said (model/health.h has the words).
 *
 * A table's codes are of its class but for the exceptions of class.def; "kernel", "node" and "deep" tell of everything and
 * have none, so that a new row of theirs is told there or a test fails. What a table calls a program's (APP) is one whatever
 * the rest says. Exceptions are whole words of a code: "node.disk" is "node.disk.full", too; the longer stands first.
 */
#include "policy/faults/faults.h"

#include "base/own.h"

#include <string.h>

struct class_rule {
    const char *code;
    size_t len;
    enum fault_class fault;
};

static const struct class_rule exceptions[] = {
#define CLASS(code, SYMBOL) {code, sizeof(code) - 1, FAULT_CLASS_##SYMBOL},
/* clang-format off */
#include "policy/faults/class.def"
/* clang-format on */
#undef CLASS
};

/* Of the rest of a table, and of its codes that no row has. */
static const struct class_rule defaults[] = {
#define REST(table, SYMBOL)                            \
    {                                                  \
        table, sizeof(table) - 1, FAULT_CLASS_##SYMBOL \
    }
    REST("xid", GPU),     REST("sxid", FABRIC),        REST("nvidia", GPU),
    REST("dcgm", GPU),    REST("neuron", ACCELERATOR), REST("efa", NETWORK),
    REST("net", NETWORK), REST("custom", CUSTOM),      REST("provider", HOST),
};

/* Of rows that ask for nothing: a test that could not be run says nothing about the device. */
static const struct class_rule ignored[] = {REST("dcgm", SOFTWARE)};
#undef REST

/* Asked some times for each decision: where the word would end tells nearly all rules apart, without a comparison. */
static enum fault_class find(const struct class_rule *rules, size_t count, const char *code)
{
    const size_t len = strlen(code);
    for (size_t i = 0; i < count; i++)
        if (fault_word_covers(rules[i].code, rules[i].len, code, len))
            return rules[i].fault;
    return FAULT_CLASS_UNKNOWN;
}

enum fault_class fault_class_of(const char *code)
{
    const struct fault_row *row = fault_find(code);
    if (row != NULL && row->action == ACTION_CLASS_APP)
        return FAULT_CLASS_APPLICATION;
    enum fault_class fault = FAULT_CLASS_UNKNOWN;
    if (row != NULL && row->action == ACTION_CLASS_IGNORE)
        fault = find(ignored, ARRAY_LEN(ignored), code);
    if (fault == FAULT_CLASS_UNKNOWN)
        fault = find(exceptions, ARRAY_LEN(exceptions), code);
    return fault != FAULT_CLASS_UNKNOWN ? fault : find(defaults, ARRAY_LEN(defaults), code);
}
