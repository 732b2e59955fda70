/* A scenario's numbers: their table, how they are read, and what goes together. */
#include "simulate/simulate.h"

#include "base/clock.h"
#include "base/nearest.h"
#include "base/own.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SECOND MS_PER_S
#define MINUTE MS_PER_MIN
#define HOUR MS_PER_HOUR
#define DAY MS_PER_DAY

ENUM_DEFINE(simulate_effect, SIMULATE_EFFECT_LIST)

const struct simulate_number_row simulate_numbers[SIMULATE_NUMBERS] = {
#define X(SYMBOL, name, unit, standard, min, max, help) {name, SIMULATE_UNIT_##unit, standard, min, max, help},
    SIMULATE_NUMBER_LIST(X)
#undef X
};

void simulate_scenario_default(struct simulate_scenario *ret_scenario)
{
    *ret_scenario = (struct simulate_scenario){.name = "none"};
    for (size_t i = 0; i < SIMULATE_NUMBERS; i++)
        ret_scenario->number[i] = simulate_numbers[i].standard;
}

static const char *write_number(enum simulate_unit unit, int64_t value, char buffer[CLOCK_TEXT_MAX])
{
    if (unit == SIMULATE_UNIT_TIME)
        return clock_write_duration(value, buffer);
    snprintf(buffer, CLOCK_TEXT_MAX, "%" PRId64, value);
    return buffer;
}

static int refuse_value(const struct simulate_number_row *row, char ret_error[SIMULATE_ERROR_MAX])
{
    char min[CLOCK_TEXT_MAX], max[CLOCK_TEXT_MAX];
    snprintf(ret_error, SIMULATE_ERROR_MAX, "%s must be %s from %s to %s: %s", row->name,
             row->unit == SIMULATE_UNIT_TIME ? "a duration such as 30m," : "a whole number",
             write_number(row->unit, row->min, min), write_number(row->unit, row->max, max), row->help);
    return STATUS_INVALID;
}

static const struct simulate_number_row *find_row(const char *name)
{
    for (size_t i = 0; i < SIMULATE_NUMBERS; i++)
        if (strcmp(simulate_numbers[i].name, name) == 0)
            return &simulate_numbers[i];
    return NULL;
}

int simulate_set(struct simulate_scenario *scenario, const char *name, const char *value,
                 char ret_error[SIMULATE_ERROR_MAX])
{
    const struct simulate_number_row *row = find_row(name);
    int64_t parsed = 0;
    if (row == NULL) {
        char hint[NEAREST_HINT_MAX];
        struct nearest nearest = {.word = name};
        for (size_t i = 0; i < SIMULATE_NUMBERS; i++)
            nearest_see(&nearest, simulate_numbers[i].name);
        snprintf(ret_error, SIMULATE_ERROR_MAX, "there is no number %.60s%s; hpctl simulate --list-profiles shows all",
                 name, nearest_hint(&nearest, hint));
        return STATUS_INVALID;
    }
    int status = row->unit == SIMULATE_UNIT_TIME && strcmp(value, "0") != 0
                     ? clock_parse_duration(value, &parsed)
                     : text_parse_i64(value, 0, INT64_MAX, &parsed);
    if (status != 0 || parsed < row->min || parsed > row->max)
        return refuse_value(row, ret_error);
    scenario->number[row - simulate_numbers] = parsed;
    scenario->said[row - simulate_numbers] = true;
    return 0;
}

int64_t simulate_place_nodes(const struct simulate_scenario *scenario, enum topology_level level)
{
    static const enum simulate_number numbers[TOPOLOGY_LEVEL_COUNT] = {
        [TOPOLOGY_LEVEL_CHASSIS] = SIMULATE_CHASSIS_NODES,    [TOPOLOGY_LEVEL_ULTRASERVER] = SIMULATE_ULTRASERVER_NODES,
        [TOPOLOGY_LEVEL_POWER_DOMAIN] = SIMULATE_POWER_NODES, [TOPOLOGY_LEVEL_SWITCH] = SIMULATE_SWITCH_NODES,
        [TOPOLOGY_LEVEL_RACK] = SIMULATE_RACK_NODES,          [TOPOLOGY_LEVEL_ZONE] = SIMULATE_ZONE_NODES};
    return scenario->number[numbers[level]];
}

/* --- documents ---------------------------------------------------------------------------------------------- */

static int refuse(char ret_error[SIMULATE_ERROR_MAX], const char *why)
{
    snprintf(ret_error, SIMULATE_ERROR_MAX, "%s", why);
    return STATUS_INVALID;
}

/* The one of object that is none of names, which end with NULL; NULL: there is none. */
static const char *unknown_in(const json_t *object, const char *const *names)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        size_t i = 0;
        while (names[i] != NULL && strcmp(key, names[i]) != 0)
            i++;
        if (names[i] == NULL)
            return key;
    }
    return NULL;
}

static int check_names(const json_t *object, const char *const *names, const char *rule, char *ret_error)
{
    char hint[NEAREST_HINT_MAX];
    const char *unknown = unknown_in(object, names);
    if (unknown != NULL)
        snprintf(ret_error, SIMULATE_ERROR_MAX, "\"%.40s\" is not known here%s: %s", unknown,
                 nearest_hint_of(unknown, names, hint), rule);
    return unknown == NULL ? 0 : STATUS_INVALID;
}

static int read_fault(const json_t *json, struct simulate_fault *ret_fault, char ret_error[SIMULATE_ERROR_MAX])
{
    static const char *const names[] = {"name",         "code", "per1000NodeDays", "hardPercent", "effect",
                                        "instanceType", NULL};
    const char *type = json_string_value(json_object_get(json, "instanceType"));
    struct simulate_fault fault = {.effect = SIMULATE_EFFECT_FAULT};
    const char *name = json_string_value(json_object_get(json, "name"));
    const char *code = json_string_value(json_object_get(json, "code"));
    const char *effect = json_string_value(json_object_get(json, "effect"));
    const json_t *hard = json_object_get(json, "hardPercent");
    fault.per_1000_node_days = json_number_value(json_object_get(json, "per1000NodeDays"));
    fault.hard_percent = json_integer_value(hard);
    static const char rule[] = "each of faults has name, code, per1000NodeDays, hardPercent, effect and instanceType";
    if (check_names(json, names, rule, ret_error) != 0)
        return STATUS_INVALID;
    if (!json_is_object(json) || name == NULL || text_copy(fault.name, sizeof(fault.name), name) != 0)
        return refuse(ret_error, rule);
    if (text_copy(fault.instance_type, sizeof(fault.instance_type), type != NULL ? type : "") != 0)
        return refuse(ret_error, "instanceType is too long");
    if (effect != NULL && simulate_effect_parse(effect, &fault.effect) != 0)
        return refuse(ret_error, "effect must be fault, notice, vanish or program");
    if (!(fault.per_1000_node_days > 0) || fault.per_1000_node_days > 1e6)
        return refuse(ret_error, "per1000NodeDays must be more than 0 and at most 1000000");
    if ((hard != NULL && !json_is_integer(hard)) || fault.hard_percent < 0 || fault.hard_percent > 100)
        return refuse(ret_error, "hardPercent must be a whole number from 0 to 100");
    bool coded = fault.effect == SIMULATE_EFFECT_FAULT || fault.effect == SIMULATE_EFFECT_NOTICE;
    if (coded && (code == NULL || fault_find(code) == NULL))
        return refuse(ret_error, "code must be one of the fault tables, which hpctl fault list shows");
    text_copy_cut(fault.code, sizeof(fault.code), coded ? code : "");
    *ret_fault = fault;
    return 0;
}

static int read_job(const json_t *json, struct simulate_size *ret_size, char ret_error[SIMULATE_ERROR_MAX])
{
    static const char *const names[] = {"nodes", "share", NULL};
    struct simulate_size size = {.nodes = json_integer_value(json_object_get(json, "nodes")),
                                 .share = json_number_value(json_object_get(json, "share"))};
    static const char rule[] = "each of jobs has nodes, from 1 to 200000, and share, in percent";
    if (check_names(json, names, rule, ret_error) != 0)
        return STATUS_INVALID;
    if (size.nodes < 1 || size.nodes > 200000 || !(size.share > 0))
        return refuse(ret_error, rule);
    *ret_size = size;
    return 0;
}

static int read_group(const json_t *json, struct simulate_group *ret_group, char ret_error[SIMULATE_ERROR_MAX])
{
    static const char *const names[] = {"name", "instanceType", "nodes", NULL};
    struct simulate_group group = {.nodes = json_integer_value(json_object_get(json, "nodes"))};
    const char *name = json_string_value(json_object_get(json, "name"));
    const char *type = json_string_value(json_object_get(json, "instanceType"));
    static const char rule[] = "each of groups has name, nodes, from 1, and instanceType";
    if (check_names(json, names, rule, ret_error) != 0)
        return STATUS_INVALID;
    if (group.nodes < 1 || group.nodes > 400000 || name == NULL ||
        text_copy(group.name, sizeof(group.name), name) != 0 ||
        text_copy(group.instance_type, sizeof(group.instance_type), type != NULL ? type : "") != 0)
        return refuse(ret_error, rule);
    *ret_group = group;
    return 0;
}

static bool read_span(const json_t *json, const char *name, int64_t standard, int64_t *ret_ms)
{
    const json_t *value = json_object_get(json, name);
    *ret_ms = standard;
    return value == NULL ? standard > 0
                         : json_is_string(value) && clock_parse_duration(json_string_value(value), ret_ms) == 0;
}

#define LOSS_RULE                                                                                                      \
    "each of losses has one of chassis, ultraserver, switch, rack, powerDomain and zone with its number, from 1, and " \
    "at "                                                                                                              \
    "and lasts"

static bool is_possible(const struct simulate_loss *loss)
{
    return loss->at <= simulate_numbers[SIMULATE_RACK_LOSS_AT].max && loss->lasts > 0 &&
           loss->lasts <= simulate_numbers[SIMULATE_RACK_LOSS_FOR].max;
}

static int read_loss(const json_t *json, struct simulate_loss *ret_loss, char ret_error[SIMULATE_ERROR_MAX])
{
    struct simulate_loss loss = {.number = 0};
    int levels = 0;
    for (int level = 0; level < TOPOLOGY_LEVEL_COUNT; level++) {
        const json_t *number = json_object_get(json, topology_level_text((enum topology_level)level));
        if (number == NULL)
            continue;
        loss.level = (enum topology_level)level;
        loss.number = json_integer_value(number);
        levels++;
    }
    if (!json_is_object(json) || levels != 1 || loss.number < 1 || loss.number > 200000 ||
        !read_span(json, "at", 0, &loss.at) ||
        !read_span(json, "lasts", simulate_numbers[SIMULATE_RACK_LOSS_FOR].standard, &loss.lasts) ||
        json_object_size(json) != (size_t)(2 + (json_object_get(json, "lasts") != NULL)) || !is_possible(&loss))
        return refuse(ret_error, LOSS_RULE);
    *ret_loss = loss;
    return 0;
}

int simulate_lose(struct simulate_scenario *scenario, const char *text, char ret_error[SIMULATE_ERROR_MAX])
{
    char level[16], number[16], at[32];
    const char *equals = strchr(text, '='), *sign = strchr(text, '@');
    const char *plus = sign != NULL ? strchr(sign, '+') : NULL;
    struct simulate_loss loss = {.lasts = scenario->number[SIMULATE_RACK_LOSS_FOR]};
    if (scenario->loss_count == SIMULATE_LOSSES_MAX)
        return refuse(ret_error, "that are too many losses: at most 64 may be");
    if (equals == NULL || sign == NULL || sign < equals ||
        text_copy_bytes(level, sizeof(level), text, (size_t)(equals - text)) != 0 ||
        text_copy_bytes(number, sizeof(number), equals + 1, (size_t)(sign - equals - 1)) != 0 ||
        text_copy_bytes(at, sizeof(at), sign + 1, plus != NULL ? (size_t)(plus - sign - 1) : strlen(sign + 1)) != 0 ||
        topology_level_parse(level, &loss.level) != 0 || text_parse_i64(number, 1, 200000, &loss.number) != 0 ||
        clock_parse_duration(at, &loss.at) != 0 || (plus != NULL && clock_parse_duration(plus + 1, &loss.lasts) != 0) ||
        !is_possible(&loss))
        return refuse(ret_error, "a loss is LEVEL=NUMBER@WHEN or LEVEL=NUMBER@WHEN+HOW-LONG, as in rack=3@2d+4h; the "
                                 "levels are chassis, ultraserver, switch, rack, powerDomain and zone");
    scenario->losses[scenario->loss_count++] = loss;
    return 0;
}

/* --- lists of a document */

static int read_element(struct simulate_scenario *s, const char *key, size_t i, const json_t *json,
                        char ret_error[SIMULATE_ERROR_MAX])
{
    return strcmp(key, "faults") == 0   ? read_fault(json, &s->faults[i], ret_error)
           : strcmp(key, "jobs") == 0   ? read_job(json, &s->sizes[i], ret_error)
           : strcmp(key, "groups") == 0 ? read_group(json, &s->groups[i], ret_error)
                                        : read_loss(json, &s->losses[i], ret_error);
}

static int check_shares(const struct simulate_scenario *s, char ret_error[SIMULATE_ERROR_MAX])
{
    double shares = 0;
    for (size_t i = 0; i < s->size_count; i++)
        shares += s->sizes[i].share;
    return shares > 100.0001 ? refuse(ret_error, "the shares of jobs are more than 100 percent together") : 0;
}

/* NOT_FOUND: the key is none of a list's. */
static int read_list(struct simulate_scenario *s, const char *key, const json_t *list,
                     char ret_error[SIMULATE_ERROR_MAX], struct simulate_place *ret_place)
{
    const struct {
        const char *key;
        size_t max, *count;
    } lists[] = {{"faults", SIMULATE_FAULTS_MAX, &s->fault_count},
                 {"jobs", SIMULATE_SIZES_MAX, &s->size_count},
                 {"groups", SIMULATE_GROUPS_MAX, &s->group_count},
                 {"losses", SIMULATE_LOSSES_MAX, &s->loss_count}};
    size_t l = 0, count = json_array_size(list);
    while (l < ARRAY_LEN(lists) && strcmp(lists[l].key, key) != 0)
        l++;
    if (l == ARRAY_LEN(lists))
        return STATUS_NOT_FOUND;
    if (!json_is_array(list) || count > lists[l].max) {
        snprintf(ret_error, SIMULATE_ERROR_MAX, "%s must be a list of at most %zu", key, lists[l].max);
        return STATUS_INVALID;
    }
    for (size_t i = 0; i < count; i++)
        if (read_element(s, key, i, json_array_get(list, i), ret_error) != 0) {
            snprintf(ret_place->element, sizeof(ret_place->element), "%zu", i);
            return STATUS_INVALID;
        }
    *lists[l].count = count;
    return strcmp(key, "jobs") == 0 ? check_shares(s, ret_error) : 0;
}

static int read_member(struct simulate_scenario *scenario, const char *key, const json_t *value,
                       char ret_error[SIMULATE_ERROR_MAX], struct simulate_place *ret_place)
{
    char number[32];
    if (strcmp(key, "profile") == 0)
        return json_is_string(value) ? 0 : refuse(ret_error, "profile must be a name");
    int status = read_list(scenario, key, value, ret_error, ret_place);
    if (status != STATUS_NOT_FOUND)
        return status;
    if (!json_is_string(value) && !json_is_integer(value)) {
        snprintf(ret_error, SIMULATE_ERROR_MAX, "%.60s must be a number or a duration", key);
        return find_row(key) != NULL ? STATUS_INVALID : simulate_set(scenario, key, "", ret_error);
    }
    snprintf(number, sizeof(number), "%" PRId64, (int64_t)json_integer_value(value));
    return simulate_set(scenario, key, json_is_string(value) ? json_string_value(value) : number, ret_error);
}

int simulate_read(struct simulate_scenario *scenario, const json_t *document, char ret_error[SIMULATE_ERROR_MAX],
                  struct simulate_place *ret_place)
{
    const char *key, *profile = json_string_value(json_object_get(document, "profile"));
    json_t *value;
    *ret_place = (struct simulate_place){.key = "profile"};
    if (profile != NULL && simulate_profile_load(profile, scenario) != 0)
        return refuse(ret_error, "there is no such profile; hpctl simulate --list-profiles shows those there are");
    json_object_foreach((json_t *)(uintptr_t)document, key, value)
    {
        text_copy_cut(ret_place->key, sizeof(ret_place->key), key);
        int status = read_member(scenario, key, value, ret_error, ret_place);
        if (status != 0)
            return status;
    }
    return 0;
}

/* --- what goes together ----------------------------------------------------------------------------------- */

static int check_losses(const struct simulate_scenario *scenario, char ret_error[SIMULATE_ERROR_MAX])
{
    int64_t nodes = scenario->number[SIMULATE_NODES] + scenario->number[SIMULATE_SPARES];
    for (size_t i = 0; i < scenario->loss_count; i++) {
        const struct simulate_loss *loss = &scenario->losses[i];
        if (loss->at >= scenario->number[SIMULATE_TIME])
            return refuse(ret_error, "a place is lost only after the end; raise time, or lose it earlier");
        int64_t size = simulate_place_nodes(scenario, loss->level);
        const char *level = topology_level_text(loss->level);
        if (size == 0) {
            snprintf(ret_error, SIMULATE_ERROR_MAX, "no %s can be lost: say %sNodes, how many nodes one has", level,
                     level);
            return STATUS_INVALID;
        }
        if ((loss->number - 1) * size >= nodes) {
            snprintf(ret_error, SIMULATE_ERROR_MAX,
                     "there is no %s %" PRId64 ": %" PRId64 " nodes of %" PRId64 " each make %" PRId64, level,
                     loss->number, nodes, size, (nodes + size - 1) / size);
            return STATUS_INVALID;
        }
    }
    return 0;
}

static int check_racks(const int64_t *number, char ret_error[SIMULATE_ERROR_MAX])
{
    int64_t racks = (number[SIMULATE_NODES] + number[SIMULATE_SPARES] - 1) / number[SIMULATE_RACK_NODES] + 1;
    if (number[SIMULATE_RACK_LOSS_AT] == 0)
        return 0;
    if (number[SIMULATE_RACK_LOSS_AT] >= number[SIMULATE_TIME])
        return refuse(ret_error, "rackLossAt is after the end; raise time, or say less");
    if (number[SIMULATE_RACK_LOSS_RACKS] > racks)
        return refuse(ret_error, "rackLossRacks is more than there are racks; rackNodes says how large they are");
    return 0;
}

int simulate_check(const struct simulate_scenario *scenario, char ret_error[SIMULATE_ERROR_MAX])
{
    const int64_t *number = scenario->number;
    if (check_racks(number, ret_error) != 0)
        return STATUS_INVALID;
    if (number[SIMULATE_JOB_NODES] > number[SIMULATE_NODES])
        return refuse(ret_error, "jobNodes is more than nodes");
    return check_losses(scenario, ret_error);
}
