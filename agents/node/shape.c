/* Readers are base/pull.h: strict, one pass, without allocation. */
#include "agents/node/shape.h"

#include "base/pull.h"

#include <inttypes.h>
#include <string.h>

static void write_text(struct text *out, const char *s)
{
    text_add_char(out, '"');
    for (const char *from = s;; s++) {
        unsigned char c = (unsigned char)*s;
        if (c >= 0x20 && c != '"' && c != '\\')
            continue;
        text_add_bytes(out, from, (size_t)(s - from));
        if (c == '\0')
            break;
        if (c == '"' || c == '\\')
            text_printf(out, "\\%c", c);
        else
            text_printf(out, "\\u%04x", c);
        from = s + 1;
    }
    text_add_char(out, '"');
}

void shape_put_text(struct text *out, const char *before, const char *value)
{
    text_add(out, before);
    write_text(out, value);
}

void shape_put_i64(struct text *out, const char *before, int64_t value)
{
    text_printf(out, "%s%" PRId64, before, value);
}

int shape_read(const char *data, size_t len, struct shape_slot *slots, size_t count)
{
    struct pull p;
    struct pull_view name;
    pull_start(&p, data, len);
    pull_object(&p);
    while (pull_member(&p, &name)) {
        struct shape_slot *slot = NULL;
        for (size_t i = 0; i < count && slot == NULL; i++)
            if (pull_view_is(name, slots[i].name))
                slot = &slots[i];
        if (slot == NULL || slot->seen) {
            pull_fail(&p, "an unknown or repeated member");
            break;
        }
        slot->seen = true;
        if (slot->text != NULL)
            pull_text(&p, slot->text, slot->size);
        else if (slot->flag != NULL)
            pull_bool(&p, slot->flag);
        else
            pull_i64(&p, slot->min, INT64_MAX, slot->number);
    }
    return pull_end(&p);
}

bool shape_all_seen(const struct shape_slot *slots, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!slots[i].seen)
            return false;
    return true;
}
