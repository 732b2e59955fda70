/*
 * One tree in two dresses: as JSON every node has "value", "overflow" (lines of text) and "children"; as a table a node
 * is a row whose depth shows by its indentation, and its overflow are rows without a label. Both are told to one listener,
 * node by node (dcgmi/DcgmiOutput.cpp, dcgmi/Health.cpp [V]):
 *
 *   Overall Health = Failure;  GPU → 1 = Failure → Errors → Memory system = Failure, overflow: what is wrong
 */
#include "agents/checks/dcgm_health.h"

#include "base/own.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

enum { DEPTH_SECTION, DEPTH_ENTITY, DEPTH_SYSTEM, DEPTH_MAX }; /* "Errors" stands between the last two, or not */

const char *dcgm_health_answer_text(enum dcgm_health_answer answer)
{
    static const char *const texts[] = {
#define X(SYMBOL, text) text,
        DCGM_HEALTH_ANSWER_LIST(X)
#undef X
    };
    return texts[answer];
}

struct listener {
    struct dcgm_health *health;
    char group[DCGM_TEXT_BYTES_MAX];
    int entity;
    struct dcgm_incident *incident; /* whose overflow comes; NULL */
};

static bool is_bad(const char *value)
{
    return strcmp(value, "Warning") == 0 || strcmp(value, "Failure") == 0;
}

static void hear_node(struct listener *listener, int depth, const char *label, const char *value)
{
    struct dcgm_health *health = listener->health;
    int64_t id = 0;
    listener->incident = NULL;
    if (depth == DEPTH_SECTION && strcmp(label, "Overall Health") == 0) {
        text_copy_cut(health->overall, sizeof(health->overall), value);
    } else if (depth == DEPTH_SECTION) {
        text_copy_cut(listener->group, sizeof(listener->group), label);
        listener->entity = -1;
    } else if (depth == DEPTH_ENTITY) {
        listener->entity = text_parse_i64(label, 0, 1 << 20, &id) == 0 ? (int)id : -1;
    } else if (depth >= DEPTH_SYSTEM && listener->entity >= 0 && is_bad(value) &&
               health->incident_count < DCGM_INCIDENTS_MAX) {
        listener->incident = &health->incidents[health->incident_count++];
        *listener->incident =
            (struct dcgm_incident){.entity = listener->entity, .is_failure = strcmp(value, "Failure") == 0};
        text_copy_cut(listener->incident->group, sizeof(listener->incident->group), listener->group);
        text_copy_cut(listener->incident->system, sizeof(listener->incident->system), label);
    }
}

static void hear_overflow(struct listener *listener, const char *line)
{
    if (listener->incident == NULL)
        return;
    char *message = listener->incident->message;
    size_t used = strlen(message);
    if (used > 0 && used + 1 < DCGM_MESSAGE_BYTES_MAX)
        message[used++] = ' ';
    text_copy_cut(message + used, DCGM_MESSAGE_BYTES_MAX - used, line);
}

/* --- JSON ---------------------------------------------------------------------------------------------------------- */

static void walk(struct listener *listener, int depth, json_t *children)
{
    const char *label;
    json_t *node, *line;
    size_t i;
    json_object_foreach(children, label, node)
    {
        const char *value = json_string_value(json_object_get(node, "value"));
        hear_node(listener, depth, label, value != NULL ? value : "");
        json_array_foreach(json_object_get(node, "overflow"), i, line)
        {
            if (json_is_string(line))
                hear_overflow(listener, json_string_value(line));
        }
        if (depth < DEPTH_MAX)
            walk(listener, depth + 1, json_object_get(node, "children"));
    }
}

/* --- the table ----------------------------------------------------------------------------------------------------- */

/* Text between two bars, without the blanks around it. */
static void take_cell(const char *from, const char *to, char *dst, size_t size)
{
    char cut[DCGM_MESSAGE_BYTES_MAX];
    while (from < to && *from == ' ')
        from++;
    while (to > from && to[-1] == ' ')
        to--;
    if (text_copy_bytes(cut, sizeof(cut), from, (size_t)(to - from)) == 0)
        text_copy_cut(dst, size, cut);
    else
        dst[0] = '\0';
}

/* "|       -> Memory system    | Failure …  |": three blanks less than the depth are before the arrow. */
static void hear_row(struct listener *listener, const char *row, size_t len)
{
    char label[DCGM_TEXT_BYTES_MAX], value[DCGM_MESSAGE_BYTES_MAX];
    const char *bar = len > 2 ? memchr(row + 1, '|', len - 1) : NULL;
    const char *last = bar != NULL ? memchr(bar + 1, '|', len - (size_t)(bar + 1 - row)) : NULL;
    if (last == NULL || row[0] != '|' || memchr(row, '\0', len) != NULL)
        return;
    const char *arrow = memmem(row, (size_t)(bar - row), "-> ", 3);
    int depth = arrow != NULL ? (int)((arrow - row - 2) / 3) + 1 : DEPTH_SECTION;
    take_cell(arrow != NULL ? arrow + 3 : row + 1, bar, label, sizeof(label));
    take_cell(bar + 1, last, value, sizeof(value));
    if (label[0] == '\0')
        hear_overflow(listener, value);
    else
        hear_node(listener, depth, label, value);
}

static void hear_table(struct listener *listener, const char *data, size_t len)
{
    while (len > 0) {
        const char *end = memchr(data, '\n', len);
        size_t row_len = end != NULL ? (size_t)(end - data) : len;
        hear_row(listener, data, row_len);
        data += row_len + (end != NULL);
        len -= row_len + (end != NULL);
    }
}

/* --- both ---------------------------------------------------------------------------------------------------------- */

static bool has(const char *data, size_t len, const char *words)
{
    return len > 0 && memmem(data, len, words, strlen(words)) != NULL;
}

void dcgm_health_parse(const char *data, size_t len, struct dcgm_health *ret_health)
{
    struct listener listener = {.health = ret_health, .entity = -1};
    auto_json json_t *json = dcgm_json(data, len);
    ret_health->answer = DCGM_HEALTH_BROKEN;
    ret_health->overall[0] = '\0';
    ret_health->incident_count = 0;
    if (json != NULL)
        walk(&listener, DEPTH_SECTION, json_object_get(json, "body"));
    else
        hear_table(&listener, data, len);
    if (strcmp(ret_health->overall, "Healthy") == 0 || is_bad(ret_health->overall))
        ret_health->answer = DCGM_HEALTH_REPORT;
    else if (has(data, len, "watches not enabled"))
        ret_health->answer = DCGM_HEALTH_NOT_WATCHED;
    else if (has(data, len, "establish a connection") || has(data, len, "connect to host engine"))
        ret_health->answer = DCGM_HEALTH_NO_SERVICE;
    if (ret_health->answer != DCGM_HEALTH_REPORT)
        ret_health->incident_count = 0;
}

void dcgm_incident_code(const struct dcgm_incident *incident, char code[CODE_MAX_BYTES])
{
    static const struct {
        const char *word, *code;
    } systems[] = {
        {"NvSwitch N", "dcgm.health.nvswitch-nonfatal"}, /* "NF", "Nonfatal", "non-fatal" */
        {"NvSwitch", "dcgm.health.nvswitch-fatal"},
        {"NVLINK", "dcgm.health.nvlink"},
        {"PCIe", "dcgm.health.pcie"},
        {"PMU", "dcgm.health.pmu"},
        {"MCU", "dcgm.health.mcu"},
        {"Memory", "dcgm.health.memory"},
        {"SM ", "dcgm.health.sm"},
        {"InfoROM", "dcgm.health.inforom"},
        {"Thermal", "dcgm.health.thermal"},
        {"Power", "dcgm.health.power"},
        {"Driver", "dcgm.health.driver"},
        {"ConnectX", "dcgm.health.connectx"},
    };
    const char *of_system = "dcgm.unknown";
    for (size_t i = ARRAY_LEN(systems); i-- > 0;)
        if (strcasestr(incident->system, systems[i].word) != NULL)
            of_system = systems[i].code;
    dcgm_code(0, incident->message, of_system, code);
}
