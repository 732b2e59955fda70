/* Labels and taints of nodes in one line, as people write them for kubectl. */
#include "cli/cli.h"

#include "base/json.h"
#include "base/own.h"
#include "base/text.h"

char *cli_labels(const json_t *config)
{
    struct text text = {0};
    const char *key;
    json_t *value;
    const json_t *taints = json_object_get(config, "taints");
    json_object_foreach(json_object_get(config, "labels"), key, value)
        text_printf(&text, "%s%s=%s", text.len > 0 ? ", " : "", key, json_string_value(value));
    for (size_t i = 0; i < json_array_size(taints); i++) {
        const json_t *taint = json_array_get(taints, i);
        const char *word = json_string_value(json_object_get(taint, "value"));
        text_printf(&text, "%s%s%s%s:%s", text.len > 0 ? ", " : "", json_member_text(taint, "key"),
                    text_or_empty(word)[0] != '\0' ? "=" : "", text_or_empty(word), json_member_text(taint, "effect"));
    }
    return text_take(&text);
}
