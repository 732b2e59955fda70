/* What came of a simulation, as JSON for notebooks: the scenario with every number, the means, and each run by its seed. */
#include "cli/simulate.h"

#include "base/clock.h"
#include "base/own.h"

#include <inttypes.h>
#include <math.h>

const char *simulation_value(enum simulate_number number, int64_t value, char *ret_text, size_t size)
{
    char duration[CLOCK_TEXT_MAX];
    if (value < 0)
        snprintf(ret_text, size, "policy's");
    else if (simulate_numbers[number].unit == SIMULATE_UNIT_TIME && value != 0)
        snprintf(ret_text, size, "%s", clock_write_duration(value, duration));
    else
        snprintf(ret_text, size, "%" PRId64, value);
    return ret_text;
}

static json_t *fault_json(const struct simulate_fault *fault)
{
    json_t *json =
        json_pack("{s:s, s:f, s:s, s:I}", "name", fault->name, "per1000NodeDays", fault->per_1000_node_days, "effect",
                  simulate_effect_text(fault->effect), "hardPercent", (json_int_t)fault->hard_percent);
    if (fault->code[0] != '\0')
        json_put_text(json, "code", fault->code);
    if (fault->instance_type[0] != '\0')
        json_put_text(json, "instanceType", fault->instance_type);
    return json;
}

static json_t *groups_json(const struct simulate_scenario *scenario)
{
    json_t *list = json_array();
    for (size_t i = 0; i < scenario->group_count; i++) {
        const struct simulate_group *group = &scenario->groups[i];
        json_array_append_new(list, json_pack("{s:s, s:s, s:I}", "name", group->name, "instanceType",
                                              group->instance_type, "nodes", (json_int_t)group->nodes));
    }
    return list;
}

static json_t *loss_json(const struct simulate_loss *loss)
{
    char at[CLOCK_TEXT_MAX], lasts[CLOCK_TEXT_MAX];
    return json_pack("{s:I, s:s, s:s}", topology_level_text(loss->level), (json_int_t)loss->number, "at",
                     clock_write_duration(loss->at, at), "lasts", clock_write_duration(loss->lasts, lasts));
}

static json_t *losses_json(const struct simulate_scenario *scenario)
{
    json_t *list = json_array();
    for (size_t i = 0; i < scenario->loss_count; i++)
        json_array_append_new(list, loss_json(&scenario->losses[i]));
    return list;
}

/* What came of the places that went dark. */
static json_t *lost_json(const struct simulate_outcome *outcome)
{
    json_t *list = json_array();
    for (size_t i = 0; i < outcome->loss_count; i++) {
        const struct simulate_loss_outcome *lost = &outcome->losses[i];
        if (lost->nodes == 0)
            continue;
        json_t *json = loss_json(&lost->loss);
        json_object_set_new(json, "nodes", json_integer(lost->nodes));
        json_object_set_new(json, "interruptions", json_integer(lost->interruptions));
        json_object_set_new(json, "repairs", json_integer(lost->repairs));
        json_object_set_new(json, "stillOut", json_integer(lost->still_out));
        json_object_set_new(json, "backHours", json_real(lost->back_hours));
        json_array_append_new(list, json);
    }
    return list;
}

static json_t *sizes_json(const struct simulate_size *sizes, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list,
                              json_pack("{s:I, s:f}", "nodes", (json_int_t)sizes[i].nodes, "share", sizes[i].share));
    return list;
}

/* As a file of -f has it, so that it can be run again. */
static json_t *scenario_json(const struct simulate_scenario *scenario)
{
    json_t *json = json_object(), *faults = json_array();
    char text[CLOCK_TEXT_MAX];
    json_put_text(json, "profile", scenario->name);
    for (size_t i = 0; i < SIMULATE_NUMBERS; i++) {
        int64_t value = scenario->number[i];
        if (i == SIMULATE_DRAIN && !scenario->said[i])
            continue; /* a policy's may be another */
        if (simulate_numbers[i].unit == SIMULATE_UNIT_TIME)
            json_put_text(json, simulate_numbers[i].name,
                          simulation_value((enum simulate_number)i, value, text, sizeof(text)));
        else if (value >= 0)
            json_object_set_new(json, simulate_numbers[i].name, json_integer(value));
    }
    for (size_t i = 0; i < scenario->fault_count; i++)
        json_array_append_new(faults, fault_json(&scenario->faults[i]));
    json_object_set_new(json, "faults", faults);
    if (scenario->size_count > 0)
        json_object_set_new(json, "jobs", sizes_json(scenario->sizes, scenario->size_count));
    if (scenario->group_count > 0)
        json_object_set_new(json, "groups", groups_json(scenario));
    if (scenario->loss_count > 0)
        json_object_set_new(json, "losses", losses_json(scenario));
    return json;
}

static json_t *hours_json(const struct simulate_hours *hours)
{
    return json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "useful", hours->useful, "lost", hours->lost,
                     "checkpoints", hours->checkpoints, "noticing", hours->noticing, "restarting", hours->restarting,
                     "waiting", hours->waiting, "planned", hours->planned, "all", hours->all);
}

static json_t *classes_json(const struct simulate_scenario *scenario, const struct simulate_outcome *outcome)
{
    json_t *list = json_array();
    for (size_t i = 0; i < scenario->fault_count; i++)
        json_array_append_new(list, json_pack("{s:s, s:I, s:I, s:I}", "name", scenario->faults[i].name, "faults",
                                              (json_int_t)outcome->classes[i].faults, "interruptions",
                                              (json_int_t)outcome->classes[i].interruptions, "repairs",
                                              (json_int_t)outcome->classes[i].repairs));
    return list;
}

static json_t *rules_json(const struct simulate_outcome *outcome)
{
    json_t *list = json_array();
    for (size_t i = 0; i < outcome->rule_count; i++)
        json_array_append_new(list, json_pack("{s:s, s:s, s:I}", "rule", decision_rule_text(outcome->rules[i].rule),
                                              "action", action_text(outcome->rules[i].action), "count",
                                              (json_int_t)outcome->rules[i].count));
    return list;
}

static json_t *mttf_json(const struct simulate_outcome *outcome)
{
    json_t *list = json_array();
    for (size_t i = 0; i < outcome->mttf_count; i++) {
        const struct simulate_mttf *mttf = &outcome->mttf[i];
        json_t *json = json_pack("{s:I, s:I, s:f}", "nodes", (json_int_t)mttf->nodes, "interruptions",
                                 (json_int_t)mttf->interruptions, "jobHours", mttf->job_hours);
        if (mttf->interruptions > 0)
            json_object_set_new(json, "mttfHours", json_real(mttf->job_hours / (double)mttf->interruptions));
        json_array_append_new(list, json);
    }
    return list;
}

static json_t *samples_json(const struct simulate_outcome *outcome)
{
    json_t *list = json_array();
    for (size_t i = 0; i < outcome->sample_count; i++) {
        const struct simulate_sample *sample = &outcome->samples[i];
        json_t *json =
            json_pack("{s:f, s:f, s:f}", "days", sample->days, "working", sample->working, "out", sample->out);
        if (isfinite(sample->effective))
            json_object_set_new(json, "effectivePercent", json_real(sample->effective));
        json_array_append_new(list, json);
    }
    return list;
}

static json_t *run_json(const struct simulate_scenario *scenario, const struct simulate_outcome *o, int64_t seed)
{
    json_t *json = json_object();
    const struct {
        const char *name;
        int64_t value;
    } counts[] = {
        {"seed", seed},
        {"faults", o->faults},
        {"interruptions", o->interruptions},
        {"plannedInterruptions", o->planned},
        {"verdicts", o->verdicts},
        {"decisions", o->decisions},
        {"resets", o->resets},
        {"reboots", o->reboots},
        {"replacements", o->replaces},
        {"failedRepairs", o->ops_failed},
        {"forPeople", o->people},
        {"byPeople", o->by_people},
        {"noCapacity", o->no_capacity},
        {"provision_failed", o->provision_failed},
        {"protections", o->protections},
        {"held", o->held},
        {"drains", o->drains},
        {"breakerOpened", o->breaker_opened},
        {"placesLost", o->racks_lost},
        {"approvalsAsked", o->approvals_asked},
        {"onlySaid", o->only_said},
        {"lemons", o->lemons},
        {"lemonsSound", o->lemons_sound},
        {"outMax", o->out_max},
        {"outAtEnd", o->out_end},
        {"outP50", o->out_p50},
        {"outP99", o->out_p99},
        {"outP999", o->out_p999},
        {"events", o->events},
    };
    for (size_t i = 0; i < ARRAY_LEN(counts); i++)
        json_object_set_new(json, counts[i].name, json_integer(counts[i].value));
    json_object_set_new(json, "effectivePercent", json_real(o->effective_percent));
    json_object_set_new(json, "goodputPercent", json_real(o->goodput_percent));
    json_object_set_new(json, "goodputPossiblePercent", json_real(o->goodput_possible));
    json_object_set_new(json, "outMean", json_real(o->out_mean));
    json_object_set_new(json, "repairHoursMean", json_real(o->repair_hours_mean));
    json_object_set_new(json, "nodeHours", hours_json(&o->hours));
    json_object_set_new(json, "classes", classes_json(scenario, o));
    json_object_set_new(json, "rules", rules_json(o));
    json_object_set_new(json, "mttf", mttf_json(o));
    json_object_set_new(json, "losses", lost_json(o));
    json_object_set_new(json, "samples", samples_json(o));
    return json;
}

static json_t *mean_json(const struct simulation *simulation)
{
    return json_pack("{s:f, s:f, s:f, s:f, s:f}", "effectivePercent", SIMULATION_MEAN(simulation, effective_percent),
                     "goodputPercent", SIMULATION_MEAN(simulation, goodput_percent), "interruptions",
                     SIMULATION_MEAN(simulation, interruptions), "outMean", SIMULATION_MEAN(simulation, out_mean),
                     "forPeople", SIMULATION_MEAN(simulation, people));
}

json_t *simulation_json(const struct simulation *simulation)
{
    json_t *json = json_object(), *runs = json_array();
    for (int64_t i = 0; i < simulation->runs; i++)
        json_array_append_new(runs, run_json(&simulation->scenario, &simulation->outcomes[i],
                                             simulation->scenario.number[SIMULATE_SEED] + i));
    json_object_set_new(json, "scenario", scenario_json(&simulation->scenario));
    json_object_set_new(json, "mean", mean_json(simulation));
    if (simulation->policy != NULL)
        json_put_text(json, "policy", simulation->policy);
    if (simulation->by_defaults != NULL) {
        const struct simulation plain = {.outcomes = simulation->by_defaults, .runs = simulation->runs};
        json_object_set_new(json, "meanByDefaults", mean_json(&plain));
    }
    json_object_set_new(json, "runs", runs);
    return json;
}

json_t *simulation_profiles_json(void)
{
    size_t count = 0;
    const struct simulate_profile *profiles = simulate_profiles(&count);
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) {
        struct simulate_scenario scenario;
        simulate_profile_load(profiles[i].name, &scenario);
        json_array_append_new(list,
                              json_pack("{s:s, s:s, s:s, s:o}", "name", profiles[i].name, "about", profiles[i].about,
                                        "source", profiles[i].source, "scenario", scenario_json(&scenario)));
    }
    return list;
}
