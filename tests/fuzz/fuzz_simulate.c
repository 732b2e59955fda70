/*
 * Fuzzing of scenarios and of --lose: each is taken with numbers within their bounds, or refused with words; what is taken and goes
 * together can be lived through.
 */
// ROOMS: base model policy db server simulate
#include "simulate/simulate.h"

#include "base/clock.h"
#include "base/own.h"
#include "base/yaml.h"

#include <assert.h>
#include <string.h>

#define NODES_RUN 64 /* so small a fleet is lived through, for an hour, by each input that asks for no more */
#define RATE_RUN 100.0

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_numbers(const struct simulate_scenario *s)
{
    for (size_t i = 0; i < SIMULATE_NUMBERS; i++)
        assert(!s->said[i] || (s->number[i] >= simulate_numbers[i].min && s->number[i] <= simulate_numbers[i].max));
    assert(s->fault_count <= SIMULATE_FAULTS_MAX && s->size_count <= SIMULATE_SIZES_MAX);
    assert(s->group_count <= SIMULATE_GROUPS_MAX && s->loss_count <= SIMULATE_LOSSES_MAX);
}

static bool is_small(const struct simulate_scenario *s)
{
    bool small = s->number[SIMULATE_NODES] + s->number[SIMULATE_SPARES] <= NODES_RUN &&
                 s->number[SIMULATE_FAULTS] <= 100 && s->number[SIMULATE_LEMON_FACTOR] <= 10;
    for (size_t i = 0; i < s->fault_count; i++)
        small = small && s->faults[i].per_1000_node_days <= RATE_RUN;
    return small;
}

static void live(struct simulate_scenario *s)
{
    autofree struct simulate_outcome *outcome = own_calloc(1, sizeof(*outcome));
    char error[SIMULATE_ERROR_MAX] = "";
    s->number[SIMULATE_TIME] = MS_PER_HOUR;
    s->number[SIMULATE_RACK_LOSSES] = 0;
    if (!is_small(s) || simulate_check(s, error) != 0)
        return;
    simulate_run(s, 1, outcome);
    assert(outcome->effective_percent >= 0 && outcome->effective_percent <= 100.001);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    autofree struct simulate_scenario *s = own_calloc(1, sizeof(*s));
    autofree char *text = own_calloc(size + 1, 1);
    auto_json json_t *root = NULL;
    char wrong[JSON_ERROR_MAX], error[SIMULATE_ERROR_MAX] = "";
    struct simulate_place place;
    memcpy(text, data, size);
    simulate_scenario_default(s);
    if (simulate_lose(s, text, error) != 0)
        assert(error[0] != '\0');
    else
        assert(s->loss_count == 1 && s->losses[0].number >= 1 && s->losses[0].lasts > 0);
    if (yaml_parse(text, size, 65536, &root, wrong) != 0 || !json_is_object(root))
        return 0;
    error[0] = '\0';
    if (simulate_read(s, root, error, &place) != 0) {
        assert(error[0] != '\0');
        return 0;
    }
    check_numbers(s);
    live(s);
    return 0;
}
