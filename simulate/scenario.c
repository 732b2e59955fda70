/* A scenario's numbers: their table, how they are read, and what goes together. */
#include "simulate/simulate.h"

#include "base/clock.h"
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
    policy_settings_default(&ret_scenario->policy);
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
        snprintf(ret_error, SIMULATE_ERROR_MAX, "there is no number %.60s; hpctl simulate --list-profiles shows all",
                 name);
        return STATUS_INVALID;
    }
    int status = row->unit == SIMULATE_UNIT_TIME && strcmp(value, "0") != 0
                     ? clock_parse_duration(value, &parsed)
                     : text_parse_i64(value, 0, INT64_MAX, &parsed);
    if (status != 0 || parsed < row->min || parsed > row->max)
        return refuse_value(row, ret_error);
    scenario->number[row - simulate_numbers] = parsed;
    return 0;
}

/* --- documents ---------------------------------------------------------------------------------------------- */

static int refuse(char ret_error[SIMULATE_ERROR_MAX], const char *why)
{
    snprintf(ret_error, SIMULATE_ERROR_MAX, "%s", why);
    return STATUS_INVALID;
}

static bool only_has(const json_t *object, const char *const *names, size_t count)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        bool known = false;
        for (size_t i = 0; i < count; i++)
            known = known || strcmp(key, names[i]) == 0;
        if (!known)
            return false;
    }
    return true;
}

static int read_fault(const json_t *json, struct simulate_fault *ret_fault, char ret_error[SIMULATE_ERROR_MAX])
{
    static const char *const names[] = {"name", "code", "per1000NodeDays", "hardPercent", "effect"};
    struct simulate_fault fault = {.effect = SIMULATE_EFFECT_FAULT};
    const char *name = json_string_value(json_object_get(json, "name"));
    const char *code = json_string_value(json_object_get(json, "code"));
    const char *effect = json_string_value(json_object_get(json, "effect"));
    const json_t *hard = json_object_get(json, "hardPercent");
    fault.per_1000_node_days = json_number_value(json_object_get(json, "per1000NodeDays"));
    fault.hard_percent = json_integer_value(hard);
    if (!json_is_object(json) || !only_has(json, names, ARRAY_LEN(names)) || name == NULL ||
        text_copy(fault.name, sizeof(fault.name), name) != 0)
        return refuse(ret_error, "each of faults has name, code, per1000NodeDays, hardPercent and effect");
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

static int read_faults(struct simulate_scenario *scenario, const json_t *list, char ret_error[SIMULATE_ERROR_MAX])
{
    size_t count = json_array_size(list);
    if (!json_is_array(list) || count > SIMULATE_FAULTS_MAX)
        return refuse(ret_error, "faults must be a list of at most 32");
    for (size_t i = 0; i < count; i++)
        if (read_fault(json_array_get(list, i), &scenario->faults[i], ret_error) != 0)
            return STATUS_INVALID;
    scenario->fault_count = count;
    return 0;
}

static int read_jobs(struct simulate_scenario *scenario, const json_t *list, char ret_error[SIMULATE_ERROR_MAX])
{
    static const char *const names[] = {"nodes", "share"};
    double shares = 0;
    if (!json_is_array(list) || json_array_size(list) > SIMULATE_SIZES_MAX)
        return refuse(ret_error, "jobs must be a list of at most 16");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *json = json_array_get(list, i);
        struct simulate_size size = {.nodes = json_integer_value(json_object_get(json, "nodes")),
                                     .share = json_number_value(json_object_get(json, "share"))};
        if (!only_has(json, names, ARRAY_LEN(names)) || size.nodes < 1 || size.nodes > 200000 || !(size.share > 0))
            return refuse(ret_error, "each of jobs has nodes, from 1 to 200000, and share, in percent");
        scenario->sizes[i] = size;
        shares += size.share;
    }
    if (shares > 100.0001)
        return refuse(ret_error, "the shares of jobs are more than 100 percent together");
    scenario->size_count = json_array_size(list);
    return 0;
}

int simulate_read(struct simulate_scenario *scenario, const json_t *document, char ret_error[SIMULATE_ERROR_MAX])
{
    const char *key, *profile = json_string_value(json_object_get(document, "profile"));
    json_t *value;
    if (profile != NULL && simulate_profile_load(profile, scenario) != 0)
        return refuse(ret_error, "there is no such profile; hpctl simulate --list-profiles shows those there are");
    json_object_foreach((json_t *)(uintptr_t)document, key, value)
    {
        int status;
        char number[32];
        snprintf(number, sizeof(number), "%" PRId64, (int64_t)json_integer_value(value));
        if (strcmp(key, "profile") == 0)
            status = json_is_string(value) ? 0 : refuse(ret_error, "profile must be a name");
        else if (strcmp(key, "faults") == 0)
            status = read_faults(scenario, value, ret_error);
        else if (strcmp(key, "jobs") == 0)
            status = read_jobs(scenario, value, ret_error);
        else
            status = simulate_set(scenario, key, json_is_string(value) ? json_string_value(value) : number, ret_error);
        if (status != 0)
            return status;
    }
    return 0;
}

/* --- what goes together ----------------------------------------------------------------------------------- */

static void take_policy(struct simulate_scenario *scenario)
{
    const struct {
        enum simulate_number number;
        int *setting;
    } taken[] = {{SIMULATE_REBOOTS_MAX, &scenario->policy.reboots_max},
                 {SIMULATE_REPLACES_MAX, &scenario->policy.replaces_max},
                 {SIMULATE_BUDGET, &scenario->policy.budget_percent},
                 {SIMULATE_BREAKER, &scenario->policy.breaker_percent}};
    for (size_t i = 0; i < ARRAY_LEN(taken); i++)
        if (scenario->number[taken[i].number] >= 0)
            *taken[i].setting = (int)scenario->number[taken[i].number];
}

int simulate_check(struct simulate_scenario *scenario, char ret_error[SIMULATE_ERROR_MAX])
{
    const int64_t *number = scenario->number;
    take_policy(scenario);
    if (number[SIMULATE_JOB_NODES] > number[SIMULATE_NODES])
        return refuse(ret_error, "jobNodes is more than nodes");
    for (size_t i = 0; i < scenario->size_count && number[SIMULATE_JOB_NODES] == 0; i++)
        if (scenario->sizes[i].nodes > number[SIMULATE_NODES])
            return refuse(ret_error, "a job of jobs has more nodes than there are; raise nodes, or say jobNodes");
    return 0;
}
