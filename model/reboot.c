/* The words of reboots, and the list of a group as the methods that it stands for. */
#include "model/reboot.h"

#include "base/record.h"
#include "base/text.h"

#include <stdio.h>

ENUM_DEFINE(reboot_method, REBOOT_METHOD_LIST)
ENUM_DEFINE(reboot_outcome, REBOOT_OUTCOME_LIST)

const char *reboot_method_words(enum reboot_method method)
{
    static const char *const words[] = {
#define X(SYMBOL, text, in_words) in_words,
        REBOOT_METHOD_LIST(X)
#undef X
    };
    return words[method];
}

static void add(struct reboot_order *order, enum reboot_method method)
{
    for (int i = 0; i < order->count; i++)
        if (order->list[i] == method)
            return;
    order->list[order->count++] = method;
}

void reboot_order_read(const struct optional_list *words, struct reboot_order *ret_order)
{
    const char *const *texts = words->items;
    enum reboot_method method;
    *ret_order = (struct reboot_order){.count = 0};
    for (size_t i = 0; words->given && i < words->count; i++) {
        if (reboot_method_parse(texts[i], &method) == 0)
            add(ret_order, method);
        if (!text_equal(texts[i], REBOOT_METHOD_BMC))
            continue;
        add(ret_order, REBOOT_METHOD_BMC_GRACEFUL);
        add(ret_order, REBOOT_METHOD_BMC_FORCE);
        add(ret_order, REBOOT_METHOD_BMC_CYCLE);
    }
}

void reboot_key(const char *operation_uid, int number, char ret_key[KEY_MAX_BYTES])
{
    snprintf(ret_key, KEY_MAX_BYTES, "%.64s/%d", operation_uid, number);
}
