/* Settings of agents, as people write them, as a server hands them out, and as agents tell of them: what is taken is within bounds
 * and reads the same again. */
// ROOMS: base model
#include "tests/fuzz/fuzz.h"

#include "model/agent_settings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct agent_settings settings, again;
    char why[AGENT_SETTINGS_ERROR_MAX] = "", value[AGENT_SETTING_VALUE_MAX_BYTES];
    AUTO(text) struct text text = {0};
    uint64_t tag;
    autofree char *input = fuzz_text(data, size);
    (void)agent_settings_tag_parse(input, &tag);
    if (agent_settings_parse(input, size, AGENT_SETTING_SOURCE_GROUP, &settings, why) != 0) {
        REQUIRE(strncmp(why, "line ", 5) == 0 && text_is_utf8(why, strlen(why)));
        return 0;
    }
    REQUIRE(settings.count <= AGENT_SETTINGS_MAX);
    for (size_t i = 0; i < settings.count; i++) {
        autofree char *line =
            own_printf("%s %s group", settings.rows[i].name, agent_setting_value(&settings.rows[i], value));
        REQUIRE(agent_settings_line_is_fine(line));
        text_printf(&text, "%s: %s\n", settings.rows[i].name, value);
    }
    if (text.len < AGENT_SETTINGS_TEXT_MAX_BYTES) {
        REQUIRE(agent_settings_parse(text_get(&text), text.len, AGENT_SETTING_SOURCE_FILE, &again, why) == 0);
        REQUIRE(again.count == settings.count);
        for (size_t i = 0; i < again.count; i++)
            REQUIRE(again.rows[i].value == settings.rows[i].value);
        agent_settings_free(&again);
    }
    agent_settings_free(&settings);
    return 0;
}
