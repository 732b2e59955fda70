/*
 * The simulator against itself (the same seed is the same run, and all time is accounted for), against the policy (what it forbids
 * does not happen), and against published fleets, within ranges that stand here: what does not fit is said, too.
 */
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"
#include "simulate/simulate.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <math.h>

static struct simulate_scenario scenario;
static struct simulate_outcome outcome, other;

/* A profile with numbers of its own, run with the first of some seeds. */
static void prepare(const char *profile, const char *const *words)
{
    char error[SIMULATE_ERROR_MAX], name[64];
    assert_int_equal(simulate_profile_load(profile, &scenario), 0);
    for (; words != NULL && *words != NULL; words++) {
        const char *equals = strchr(*words, '=');
        assert_int_equal(text_copy_bytes(name, sizeof(name), *words, (size_t)(equals - *words)), 0);
        if (simulate_set(&scenario, name, equals + 1, error) != 0)
            fail_msg("%s", error);
    }
    if (simulate_check(&scenario, error) != 0)
        fail_msg("%s", error);
}

static void run(const char *profile, const char *const *words)
{
    prepare(profile, words);
    simulate_run(&scenario, 1, &outcome);
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static bool is_near(double value, double wanted, double percent)
{
    return fabs(value - wanted) <= wanted * percent / 100;
}

/* --- itself -------------------------------------------------------------------------------------------------------- */

static void test_a_seed_is_a_run(void **state)
{
    (void)state;
    prepare("rsc-1", WORDS("rackLossesPerYear=50", "lemons=2"));
    simulate_run(&scenario, 7, &outcome);
    simulate_run(&scenario, 7, &other);
    assert_memory_equal(&outcome, &other, sizeof(outcome));
    simulate_run(&scenario, 8, &other);
    assert_memory_not_equal(&outcome, &other, sizeof(outcome));
    assert_true(outcome.racks_lost > 0);
}

static void test_all_time_is_accounted_for(void **state)
{
    (void)state;
    static const char *const profiles[] = {"llama3", "rsc-1", "rsc-2"};
    for (size_t i = 0; i < ARRAY_LEN(profiles); i++) {
        run(profiles[i], NULL);
        const struct simulate_hours *h = &outcome.hours;
        double sum = h->useful + h->lost + h->checkpoints + h->noticing + h->restarting + h->waiting + h->planned;
        assert_true(is_near(sum, h->all, 0.0001));
        int64_t faults = 0, interruptions = outcome.classes[SIMULATE_FAULTS_MAX].interruptions;
        for (size_t c = 0; c < scenario.fault_count; c++) {
            faults += outcome.classes[c].faults;
            interruptions += outcome.classes[c].interruptions;
        }
        assert_int_equal(faults, outcome.faults);
        assert_int_equal(interruptions, outcome.interruptions);
        assert_int_equal(outcome.sample_count, SIMULATE_SAMPLES);
    }
}

static void test_nothing_fails_without_faults(void **state)
{
    (void)state;
    run("rsc-1", WORDS("faultRate=0", "restart=0", "checkpointCost=0"));
    assert_int_equal(outcome.faults + outcome.interruptions + outcome.decisions + outcome.out_max, 0);
    assert_true(outcome.effective_percent > 99.99);
}

/* --- the policy ------------------------------------------------------------------------------------------------------ */

static void test_more_spares_less_waiting(void **state)
{
    (void)state;
    run("llama3", WORDS("spares=0", "replace=3h"));
    double none = outcome.hours.waiting, effective = outcome.effective_percent;
    run("llama3", WORDS("spares=8", "replace=3h"));
    assert_true(none > 0.2 * outcome.hours.all);
    assert_true(outcome.hours.waiting < 0.01 * outcome.hours.all);
    assert_true(outcome.effective_percent > effective + 20);
}

static void test_a_dark_rack_is_not_replaced_node_by_node(void **state)
{
    (void)state;
    run("rsc-1", WORDS("faultRate=0", "rackLossAt=1d", "rackLossRacks=3", "rackLossFor=6h", "time=3d"));
    assert_int_equal(outcome.racks_lost, 3);
    assert_int_equal(outcome.out_max, 48);
    assert_int_equal(outcome.reboots + outcome.replaces, 0); /* they were held, as one incident each */
    assert_true(outcome.held > 0);
    assert_true(outcome.repair_hours_mean > 6 && outcome.repair_hours_mean < 6.5);
}

/* Hundreds of faults a day among 100 nodes. */
static void test_limits_hold(void **state)
{
    (void)state;
    run("llama3", WORDS("nodes=100", "spares=0", "jobNodes=1", "faultRate=100000", "breakerPercent=1",
                        "budgetPercent=1", "time=12h"));
    assert_true(outcome.breaker_opened > 0);
    bool held = false;
    for (size_t i = 0; i < outcome.rule_count; i++)
        held = held || outcome.rules[i].rule == RULE_BUDGET_HOLD;
    assert_true(held);
    run("llama3", WORDS("nodes=100", "spares=0", "jobNodes=1", "automatic=0", "faultRate=1000", "time=10d"));
    assert_int_equal(outcome.reboots + outcome.replaces, 0);
    assert_true(outcome.people > 0);
}

/* The mix of a profile fits every fleet: a job that is larger than all of it is as large as all of it. */
static void test_jobs_fit_a_small_fleet(void **state)
{
    (void)state;
    run("rsc-1", WORDS("nodes=10", "spares=2", "time=2d"));
    assert_true(outcome.mttf_count > 0);
    for (size_t i = 0; i < outcome.mttf_count; i++)
        assert_true(outcome.mttf[i].nodes <= 10);
    scenario.size_count = 1;
    scenario.sizes[0] = (struct simulate_size){.nodes = 128, .share = 100};
    simulate_run(&scenario, 1, &outcome);
    assert_int_equal(outcome.mttf_count, 1);
    assert_int_equal(outcome.mttf[0].nodes, 10);
}

static void test_policy_settings_count(void **state)
{
    (void)state;
    run("llama3", WORDS("rebootsMax=0"));
    int64_t without = outcome.reboots;
    run("llama3", WORDS("rebootsMax=2"));
    assert_true(outcome.reboots > without);
}

#define SMALL "nodes=200", "faultRate=1000", "time=10d"
static void test_resets_are_tried_before_reboots(void **state)
{
    (void)state;
    run("llama3", WORDS(SMALL, "resetsPercent=0"));
    int64_t without = outcome.reboots;
    assert_int_equal(outcome.resets, 0);
    run("llama3", WORDS(SMALL, "resetsPercent=100"));
    int64_t all = outcome.reboots;
    assert_true(outcome.resets > 0 && all < without);
    run("llama3", WORDS(SMALL, "resetsPercent=50"));
    assert_true(outcome.resets > 0 && outcome.reboots > all);
    run("llama3", WORDS(SMALL, "resetsPercent=100", "resetsMax=0"));
    assert_int_equal(outcome.resets, 0);
    assert_int_equal(outcome.reboots, without);
}

static void test_checkpoints_cost_and_save(void **state)
{
    (void)state;
    run("llama3", WORDS("checkpointEvery=1m", "checkpointCost=30s"));
    double often = outcome.effective_percent, lost = outcome.hours.lost;
    run("llama3", WORDS("checkpointEvery=6h", "checkpointCost=30s"));
    double seldom = outcome.effective_percent;
    assert_true(outcome.hours.lost > 10 * lost);
    run("llama3", WORDS("checkpointEvery=15m", "checkpointCost=30s"));
    assert_true(outcome.effective_percent > often && outcome.effective_percent > seldom);
}

static void run_by(const char *policy, const char *const *words)
{
    struct policy_document *document = NULL;
    char error[SIMULATE_POLICY_ERROR_MAX];
    prepare("rsc-1", words);
    if (simulate_policy_read(policy, strlen(policy), &document, error) != 0)
        fail_msg("%s", error);
    scenario.document = document;
    simulate_run(&scenario, 1, &outcome);
    simulate_policy_free(document);
}

static int64_t count_of(enum decision_rule rule)
{
    for (size_t i = 0; i < outcome.rule_count; i++)
        if (outcome.rules[i].rule == rule)
            return outcome.rules[i].count;
    return 0;
}

/* A healthy fleet loses no machine by the lemon rule, and one with a place that fails over and over loses that. */
static void test_lemons_are_counted(void **state)
{
    (void)state;
    const char *const healthy[] = {"nodes=500", "time=90d", NULL};
    run_by("version: 1\n", healthy);
    assert_int_equal(outcome.lemons, 0);
    const char *const lemons[] = {"nodes=500", "time=90d", "lemons=1", "lemonFactor=400", NULL};
    run_by("version: 1\n", lemons);
    assert_true(outcome.lemons > 0);
    assert_int_equal(outcome.lemons, count_of(RULE_LEMON));
    assert_true(outcome.lemons_sound < outcome.lemons);
}

/* A place that fails over and over: what it was repaired for comes again within hours. */
static void test_probation(void **state)
{
    (void)state;
    const char *const words[] = {"nodes=50", "spares=10", "jobNodes=1", "faultRate=3000", "time=60d", NULL};
    run_by("version: 1\ndefaults: {recovery: {probation: 0s}}\n", words);
    assert_int_equal(count_of(RULE_PROBATION_FAILED), 0);
    run_by("version: 1\ndefaults: {recovery: {probation: 24h}}\n", words);
    assert_true(count_of(RULE_PROBATION_FAILED) > 0);
}

/* What breaks when is the fleet's: it does not depend on what is done about it. */
static void test_two_policies_meet_the_same_faults(void **state)
{
    (void)state;
    run("rsc-1", WORDS("rackLossesPerYear=50"));
    struct simulate_outcome acts = outcome;
    run("rsc-1", WORDS("rackLossesPerYear=50", "automatic=0", "person=30d", "rebootsMax=0"));
    assert_int_equal(outcome.racks_lost, acts.racks_lost);
    for (size_t c = 0; c < scenario.fault_count; c++) { /* what is out of service is hit by nothing: some fewer */
        assert_true(outcome.classes[c].faults <= acts.classes[c].faults + 2);
        assert_true(outcome.classes[c].faults * 10 >= acts.classes[c].faults * 8 - 20);
    }
    run("rsc-1", WORDS("rackLossesPerYear=50", "restart=20m"));
    assert_true(is_near((double)outcome.faults, (double)acts.faults, 1));
}

/* Nobody repairs, and the spares are used up: no machine without a job is left to hide it. */
static void test_without_repairs_jobs_wait(void **state)
{
    (void)state;
    run("rsc-1", NULL);
    double kept = outcome.effective_percent;
    assert_true(is_near(outcome.goodput_possible, 98, 0.2));    /* all but the spares have jobs */
    assert_in_range(outcome.by_people, 1, outcome.faults / 20); /* PCIe faults that last: nothing repairs them */
    run("rsc-1", WORDS("automatic=0", "person=90d"));
    assert_true(outcome.effective_percent < kept - 20);
    assert_true(outcome.out_end > 100 && outcome.by_people == 0);
    run("rsc-1", WORDS("automatic=0", "person=1h"));
    assert_true(outcome.by_people > 100); /* as good as they are quick, and it is said who did it */
}

/* --- machines to be had -------------------------------------------------------------------------------------------- */

static void test_no_capacity(void **state)
{
    (void)state;
    run("rsc-1", NULL);
    double hours = outcome.repair_hours_mean;
    int64_t replaces = outcome.replaces;
    assert_int_equal(outcome.no_capacity + outcome.provision_failed + outcome.protections, 0);
    run("rsc-1", WORDS("noCapacityPercent=90"));
    assert_true(outcome.no_capacity > replaces);
    assert_true(count_of(RULE_CAPACITY_HOLD) > 0);
    assert_true(outcome.repair_hours_mean > hours);
}

static void test_protection(void **state)
{
    (void)state;
    run("rsc-1", WORDS("provisionFailedPercent=100", "faultRate=500", "rebootsMax=0", "time=1d"));
    int64_t provision_failed = outcome.provision_failed, people = outcome.people;
    assert_true(outcome.protections > 0 && count_of(RULE_PROTECTED_HOLD) > 0);
    assert_true(people >= provision_failed); /* each of them is a person's */
    run_by("version: 1\ndefaults: {recovery: {protectAfter: 0}}\n",
           WORDS("provisionFailedPercent=100", "faultRate=500", "rebootsMax=0", "time=1d"));
    assert_int_equal(outcome.protections + count_of(RULE_PROTECTED_HOLD), 0);
    assert_true(outcome.provision_failed > 2 * provision_failed);
}

static void test_spares_are_the_policys(void **state)
{
    (void)state;
    const char *document = "version: 1\ndefaults: {recovery: {sparesMin: 20}}\n";
    run_by(document, WORDS("spares=40"));
    assert_int_equal(count_of(RULE_SPARES_HOLD), 0);
    assert_true(outcome.replaces > 0);
    run_by(document, WORDS("spares=10"));
    assert_true(count_of(RULE_SPARES_HOLD) > 0);
    assert_int_equal(outcome.replaces, 0);
}

static void test_entries_for_others_are_told(void **state)
{
    (void)state;
    struct policy_document *document = NULL;
    char error[SIMULATE_POLICY_ERROR_MAX];
    size_t first = 0;
    const char *text = "version: 1\ngroups: [{match: {group: group-1}, recovery: {rebootsMax: 0}}, "
                       "{match: {cluster: train}, recovery: {rebootsMax: 0}}, "
                       "{match: {cluster: simulated, group: group-3}, recovery: {rebootsMax: 0}}]\n";
    assert_int_equal(simulate_policy_read(text, strlen(text), &document, error), 0);
    prepare("rsc-1", NULL);
    assert_int_equal(simulate_policy_unmatched(&scenario, &first), 0); /* there is none */
    scenario.document = document;
    assert_int_equal(simulate_policy_unmatched(&scenario, &first), 2);
    assert_int_equal(first, 2);
    scenario.number[SIMULATE_GROUP_NODES] = 700; /* three groups */
    assert_int_equal(simulate_policy_unmatched(&scenario, &first), 1);
    simulate_policy_free(document);
}

/* --- a policy document ------------------------------------------------------------------------------------------------ */

static void test_observed_only(void **state)
{
    (void)state;
    run("rsc-1", NULL);
    int64_t interruptions = outcome.interruptions, faults = outcome.faults;
    run_by("version: 1\ndefaults: {recovery: {mode: observe}}\n", NULL);
    assert_int_equal(outcome.reboots + outcome.replaces, 0);
    assert_true(count_of(RULE_MODE_OBSERVE) > 0 && outcome.only_said > 0);
    assert_true(outcome.faults > faults / 2);
    assert_true(outcome.interruptions > 2 * interruptions); /* what nobody fixes ends jobs again and again */
    assert_true(outcome.people >= outcome.only_said);
}

static void test_a_yes_comes_first(void **state)
{
    (void)state;
    const char *document = "version: 1\nclasses: {gpu-memory: {mode: approve}}\n";
    run("rsc-1", NULL);
    double hours = outcome.repair_hours_mean;
    run_by(document, WORDS("approve=9h"));
    assert_true(outcome.approvals_asked > 20);
    assert_true(outcome.approvals_asked >= count_of(RULE_APPROVAL_NEEDED));
    assert_true(outcome.repair_hours_mean > hours + 1);
    run_by("version: 1\ndefaults: {recovery: {approvalExpires: 1h, mode: approve}}\n", WORDS("approve=9h"));
    assert_int_equal(outcome.reboots + outcome.replaces, 0); /* the approval comes too late each time */
    assert_true(count_of(RULE_APPROVAL_EXPIRED) > 0 && outcome.people > 0);
}

static void test_groups_have_policies_of_their_own(void **state)
{
    (void)state;
    const char *document = "version: 1\ngroups: [{match: {instanceType: \"ml.p5*\"}, recovery: {rebootsMax: 0}}]\n";
    run_by(document, NULL);
    int64_t reboots = outcome.reboots;
    assert_true(reboots > 0); /* no group is of that type */
    struct policy_document *read = NULL;
    char error[SIMULATE_POLICY_ERROR_MAX];
    assert_int_equal(simulate_policy_read(document, strlen(document), &read, error), 0);
    prepare("rsc-1", NULL);
    scenario.groups[0] = (struct simulate_group){"a", "ml.p4", 1000};
    scenario.groups[1] = (struct simulate_group){"b", "ml.p5.48xlarge", 1000};
    scenario.group_count = 2;
    scenario.document = read;
    struct simulate_rules rules;
    simulate_rules(&scenario, "a", "ml.p4", &rules);
    assert_int_equal(rules.policy.reboots_max, 2);
    simulate_rules(&scenario, "b", "ml.p5.48xlarge", &rules);
    assert_int_equal(rules.policy.reboots_max, 0);
    simulate_run(&scenario, 1, &outcome);
    assert_true(outcome.reboots > 0 && outcome.reboots < reboots * 3 / 4);
    scenario.number[SIMULATE_REBOOTS_MAX] = 1; /* said by hand it counts more */
    simulate_rules(&scenario, "b", "ml.p5.48xlarge", &rules);
    assert_int_equal(rules.policy.reboots_max, 1);
    simulate_policy_free(read);
}

/* Of a type of machine, at its own rate: half of the fleet has half of them. */
static void test_faults_of_a_type(void **state)
{
    (void)state;
    prepare("rsc-1", WORDS("time=60d"));
    scenario.fault_count = 2;
    scenario.faults[0] = (struct simulate_fault){"all", "xid.79", 2, 0, SIMULATE_EFFECT_FAULT, ""};
    scenario.faults[1] = (struct simulate_fault){"some", "xid.79", 2, 0, SIMULATE_EFFECT_FAULT, "b"};
    scenario.groups[0] = (struct simulate_group){"one", "a", 1000};
    scenario.groups[1] = (struct simulate_group){"two", "b", 1000};
    scenario.group_count = 2;
    simulate_run(&scenario, 1, &outcome);
    assert_true(is_near((double)outcome.classes[0].faults, 2 * 60 * 2, 20));
    assert_true(is_near((double)outcome.classes[1].faults, 2 * 60, 25));
}

/* --- places that go dark ----------------------------------------------------------------------------------------------- */

static void test_what_a_lost_place_does(void **state)
{
    (void)state;
    char error[SIMULATE_ERROR_MAX];
    prepare("rsc-1", WORDS("faultRate=0", "zoneNodes=500", "switchNodes=32", "ultraserverNodes=4", "time=5d"));
    assert_int_equal(simulate_lose(&scenario, "zone=2@1d+2h", error), 0);
    assert_int_equal(simulate_lose(&scenario, "switch=1@3d+2h", error), 0);
    assert_int_equal(simulate_lose(&scenario, "ultraserver=500@4d+1h", error), 0);
    simulate_run(&scenario, 1, &outcome);
    static const struct {
        int64_t nodes;
        double hours;
    } wanted[] = {{500, 2}, {32, 2}, {4, 1}};
    assert_int_equal(outcome.loss_count, ARRAY_LEN(wanted));
    for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
        const struct simulate_loss_outcome *lost = &outcome.losses[i];
        assert_int_equal(lost->nodes, wanted[i].nodes);
        assert_int_equal(lost->repairs + lost->still_out, 0); /* held as one incident */
        assert_true(lost->back_hours >= wanted[i].hours && lost->back_hours < wanted[i].hours + 0.5);
    }
    assert_true(outcome.losses[0].interruptions > 10);
    assert_int_equal(outcome.reboots + outcome.replaces, 0);
    assert_int_equal(outcome.out_max, 500);
    assert_true(count_of(RULE_INCIDENT_HOLD) > 0);
}

/* Two nodes of a place are two nodes: they are repaired one by one, without success while it is dark. */
static void test_two_nodes_are_no_incident(void **state)
{
    (void)state;
    char error[SIMULATE_ERROR_MAX];
    prepare("rsc-1", WORDS("faultRate=0", "ultraserverNodes=2", "time=5d"));
    assert_int_equal(simulate_lose(&scenario, "ultraserver=7@1d+6h", error), 0);
    simulate_run(&scenario, 1, &outcome);
    assert_int_equal(outcome.losses[0].nodes, 2);
    assert_true(outcome.losses[0].repairs >= 2);
    assert_int_equal(count_of(RULE_INCIDENT_HOLD), 0);
}

/* --- published fleets -------------------------------------------------------------------------------------------------- */

#define SEEDS 8

/* Llama 3: 419 unexpected interruptions in 54 days, 47 planned, more than 90 % effective time. Ours over some seeds: within 8 % of
 * 419 on average, each within what chance does to such a number (four standard deviations), 47 planned but where one falls into
 * another stop, and more than 90 % each time. */
static void test_llama3(void **state)
{
    (void)state;
    double sum = 0;
    prepare("llama3", NULL);
    for (int64_t seed = 1; seed <= SEEDS; seed++) {
        simulate_run(&scenario, seed, &outcome);
        sum += (double)outcome.interruptions;
        assert_in_range((uintmax_t)outcome.interruptions, 419 - 82, 419 + 82);
        assert_in_range((uintmax_t)outcome.planned, 43, 47);
        assert_true(outcome.effective_percent > 90 && outcome.effective_percent < 97);
    }
    print_message("Llama 3: %.1f interruptions on average, 419 were published\n", sum / SEEDS);
    assert_true(is_near(sum / SEEDS, 419, 8));
}

static double mttf(const char *profile, const char *nodes, const char *job, const char *time)
{
    double hours = 0, interruptions = 0;
    prepare(profile, WORDS(nodes, job, time));
    scenario.size_count = 0;
    for (int64_t seed = 1; seed <= 4; seed++) {
        simulate_run(&scenario, seed, &outcome);
        hours += outcome.mttf[0].job_hours;
        interruptions += (double)outcome.mttf[0].interruptions;
    }
    return hours / interruptions;
}

/* RSC-1: 6.50 failures per 1,000 node-days, from which its authors project 1.8 h between failures at 16,384 GPUs and 0.23 h at
 * 131,072: within 8 %. The 7.9 h that they saw at 1,024 GPUs do not follow from that rate (it gives 28.8 h), and so not from the
 * simulator: it says 3.6 times as much. */
static void test_rsc(void **state)
{
    (void)state;
    assert_true(is_near(mttf("rsc-1", "nodes=2048", "jobNodes=2048", "time=30d"), 1.80, 8));
    assert_true(is_near(mttf("rsc-1", "nodes=16384", "jobNodes=16384", "time=5d"), 0.23, 8));
    double small = mttf("rsc-1", "nodes=2048", "jobNodes=128", "time=60d");
    print_message("RSC-1 at 1,024 GPUs: %.1f h, 7.9 h were published\n", small);
    assert_true(is_near(small, 28.8, 8));
    assert_true(is_near(small / 7.9, 3.6, 8));
    double days = 0, faults = 0;
    prepare("rsc-2", NULL);
    for (int64_t seed = 1; seed <= 2 * SEEDS; seed++) {
        simulate_run(&scenario, seed, &outcome);
        faults += (double)outcome.faults;
        days += 30 * (1000 - outcome.out_mean);
    }
    assert_true(is_near(1000 * faults / days, 2.34, 8));
}

/* The rate of RSC-1 is not Llama 3's: by it the run would have been stopped 72 % more often. */
static void test_llama3_by_the_rate_of_rsc(void **state)
{
    (void)state;
    double hours = mttf("rsc-1", "nodes=2048", "jobNodes=2048", "time=54d");
    assert_true(is_near(54 * 24 / hours, 419 * 1.72, 8));
}

/* A job of N nodes whose faults come by chance at rate r keeps, for small r, 1 - N r (checkpoint / 2 + restart + detect). */
static void test_effective_time_by_formula(void **state)
{
    (void)state;
    prepare("rsc-1", WORDS("nodes=512", "jobNodes=512", "spares=32", "checkpointEvery=1h", "checkpointCost=0",
                           "restart=5m", "time=300d"));
    scenario.size_count = 0;
    simulate_run(&scenario, 3, &outcome);
    double a_day = 512 * 6.5 / 1000, lost_h = 0.5 + 5 / 60.0 + 30 / 3600.0;
    double wanted = 100 * (1 - a_day * lost_h / 24);
    assert_true(fabs(outcome.effective_percent - wanted) < 1);
}

/* --- what is wanted ------------------------------------------------------------------------------------------------------ */

static void test_profiles_are_whole(void **state)
{
    (void)state;
    size_t count = 0;
    const struct simulate_profile *profiles = simulate_profiles(&count);
    for (size_t p = 0; p < count; p++) {
        prepare(profiles[p].name, NULL);
        assert_true(strlen(scenario.source) > 100 && strlen(scenario.source) < sizeof(scenario.source) - 1);
        assert_true(scenario.fault_count > 4);
        for (size_t i = 0; i < scenario.fault_count; i++) {
            const struct simulate_fault *fault = &scenario.faults[i];
            bool coded = fault->effect == SIMULATE_EFFECT_FAULT || fault->effect == SIMULATE_EFFECT_NOTICE;
            assert_true(coded == (fault->code[0] != '\0'));
            if (coded && fault_find(fault->code) == NULL)
                fail_msg("%s: no table has %s", profiles[p].name, fault->code);
        }
        char words[512] = "";
        for (const char *w = profiles[p].numbers; *w != '\0'; w++) /* each is a number, and one that is taken */
            assert_true(strspn(w, "=") <= 1);
        snprintf(words, sizeof(words), "%s", profiles[p].numbers);
        char *save = NULL, error[SIMULATE_ERROR_MAX];
        for (char *word = strtok_r(words, " ", &save); word != NULL; word = strtok_r(NULL, " ", &save)) {
            char *value = strchr(word, '=');
            *value = '\0';
            if (simulate_set(&scenario, word, value + 1, error) != 0)
                fail_msg("%s: %s", profiles[p].name, error);
        }
    }
    assert_int_equal(simulate_profile_load("none", &scenario), STATUS_NOT_FOUND);
}

static void test_documents(void **state)
{
    (void)state;
    static const struct {
        const char *document, *error; /* NULL: it is taken */
    } cases[] = {
        {"{\"profile\":\"llama3\",\"nodes\":100,\"time\":\"2d\",\"jobs\":[{\"nodes\":10,\"share\":50}]}", NULL},
        {"{\"faults\":[{\"name\":\"x\",\"code\":\"xid.79\",\"per1000NodeDays\":5,\"hardPercent\":10}]}", NULL},
        {"{\"faults\":[{\"name\":\"x\",\"effect\":\"vanish\",\"per1000NodeDays\":0.5}]}", NULL},
        {"{\"profile\":\"x\"}", "no such profile"},
        {"{\"profile\":3}", "profile must be a name"},
        {"{\"nodes\":0}", "nodes must be a whole number"},
        {"{\"nodes\":200001}", "from 1 to 200000"},
        {"{\"nodes\":200000}", NULL},
        {"{\"time\":\"soon\"}", "time must be a duration"},
        {"{\"tyme\":3}", "there is no number tyme"},
        {"{\"faults\":{}}", "a list"},
        {"{\"faults\":[3]}", "each of faults has"},
        {"{\"faults\":[{\"name\":\"x\",\"per1000NodeDays\":5}]}", "code must be one of the fault tables"},
        {"{\"faults\":[{\"name\":\"x\",\"code\":\"xid.99999\",\"per1000NodeDays\":5}]}", "code must be"},
        {"{\"faults\":[{\"name\":\"x\",\"code\":\"xid.79\",\"per1000NodeDays\":0}]}", "more than 0"},
        {"{\"faults\":[{\"name\":\"x\",\"code\":\"xid.79\",\"per1000NodeDays\":1,\"hardPercent\":101}]}", "0 to 100"},
        {"{\"faults\":[{\"name\":\"x\",\"code\":\"xid.79\",\"per1000NodeDays\":1,\"effect\":\"y\"}]}",
         "effect must be"},
        {"{\"faults\":[{\"name\":\"x\",\"code\":\"xid.79\",\"per1000NodeDays\":1,\"hard\":1}]}", "each of faults has"},
        {"{\"jobs\":[{\"nodes\":10,\"share\":60},{\"nodes\":1,\"share\":50}]}", "more than 100"},
        {"{\"jobs\":[{\"nodes\":0,\"share\":60}]}", "each of jobs has"},
        {"{\"jobs\":3}", "a list"},
        {"{\"nodes\":[3]}", "must be a number"},
        {"{\"nodes\":3.5}", "must be a number"},
        {"{\"groups\":[{\"name\":\"a\",\"instanceType\":\"t\",\"nodes\":5}]}", NULL},
        {"{\"groups\":[{\"name\":\"a\",\"nodes\":0}]}", "each of groups has"},
        {"{\"groups\":[{\"nodes\":1}]}", "each of groups has"},
        {"{\"groups\":[{\"name\":\"a\",\"nodes\":1,\"x\":1}]}", "each of groups has"},
        {"{\"losses\":[{\"rack\":1,\"at\":\"2d\"}]}", NULL},
        {"{\"losses\":[{\"zone\":1,\"at\":\"2d\",\"lasts\":\"1h\"}]}", NULL},
        {"{\"losses\":[{\"rack\":1}]}", "each of losses has"},
        {"{\"losses\":[{\"rack\":0,\"at\":\"2d\"}]}", "each of losses has"},
        {"{\"losses\":[{\"rack\":1,\"zone\":1,\"at\":\"2d\"}]}", "each of losses has"},
        {"{\"losses\":[{\"rack\":1,\"at\":\"soon\"}]}", "each of losses has"},
        {"{\"losses\":[{\"rack\":1,\"at\":\"2d\",\"x\":1}]}", "each of losses has"},
    };
    char error[SIMULATE_ERROR_MAX];
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        auto_json json_t *json = NULL;
        char wrong[JSON_ERROR_MAX];
        assert_int_equal(json_parse(cases[i].document, strlen(cases[i].document), 4096, &json, wrong), 0);
        simulate_profile_load("rsc-1", &scenario);
        struct simulate_place place;
        int status = simulate_read(&scenario, json, error, &place);
        if (cases[i].error == NULL ? status != 0 : status != STATUS_INVALID || strstr(error, cases[i].error) == NULL)
            fail_msg("%s: %s", cases[i].document, status == 0 ? "was taken" : error);
    }
}

static void test_what_does_not_go_together(void **state)
{
    (void)state;
    char error[SIMULATE_ERROR_MAX];
    simulate_profile_load("rsc-1", &scenario);
    assert_int_equal(simulate_set(&scenario, "nodes", "10", error), 0);
    assert_int_equal(simulate_check(&scenario, error), 0);
    assert_int_equal(simulate_set(&scenario, "jobNodes", "11", error), 0);
    assert_int_equal(simulate_check(&scenario, error), STATUS_INVALID);
    assert_int_equal(simulate_set(&scenario, "budgetPercent", "-1", error), STATUS_INVALID);
    static const struct {
        const char *racks, *at;
        int status;
    } losses[] = {{"125", "29d", 0}, {"126", "29d", STATUS_INVALID}, {"125", "30d", STATUS_INVALID}};
    for (size_t i = 0; i < ARRAY_LEN(losses); i++) {
        simulate_profile_load("rsc-1", &scenario);
        assert_int_equal(simulate_set(&scenario, "rackLossRacks", losses[i].racks, error), 0);
        assert_int_equal(simulate_set(&scenario, "rackLossAt", losses[i].at, error), 0);
        assert_int_equal(simulate_check(&scenario, error), losses[i].status);
    }
}

static void test_losses_that_cannot_be(void **state)
{
    (void)state;
    static const struct {
        const char *text, *error; /* of the text; NULL: of simulate_check with it, below */
        const char *later;
    } cases[] = {
        {"rack=3@2d", NULL, NULL},
        {"rack=125@2d+90m", NULL, NULL}, /* the last: 2,000 nodes of 16 each */
        {"rack=126@2d", NULL, "there is no rack 126: 2000 nodes of 16 each make 125"},
        {"switch=1@2d", NULL, "say switchNodes"},
        {"ultraserver=1@2d", NULL, "say ultraserverNodes"},
        {"zone=1@2d", NULL, "say zoneNodes"},
        {"rack=0@2d", "a loss is LEVEL=NUMBER@WHEN", NULL},
        {"rack=3", "a loss is", NULL},
        {"rack@2d", "a loss is", NULL},
        {"row=1@2d", "a loss is", NULL},
        {"rack=1@2d+", "a loss is", NULL},
        {"rack=1@x", "a loss is", NULL},
        {"rack=1@2d+0s", "a loss is", NULL},
        {"rack=1@9999999d", "a loss is", NULL},
        {"rack=1@29d", NULL, NULL},
        {"rack=1@30d", NULL, "only after the end"}, /* of 30 days */
    };
    char error[SIMULATE_ERROR_MAX];
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        simulate_profile_load("rsc-1", &scenario);
        int status = simulate_lose(&scenario, cases[i].text, error);
        if (status == 0)
            status = simulate_check(&scenario, error);
        const char *wanted = cases[i].error != NULL ? cases[i].error : cases[i].later;
        if (wanted == NULL ? status != 0 : status != STATUS_INVALID || strstr(error, wanted) == NULL)
            fail_msg("%s: %s", cases[i].text, status == 0 ? "was taken" : error);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_seed_is_a_run),
        cmocka_unit_test(test_all_time_is_accounted_for),
        cmocka_unit_test(test_nothing_fails_without_faults),
        cmocka_unit_test(test_more_spares_less_waiting),
        cmocka_unit_test(test_a_dark_rack_is_not_replaced_node_by_node),
        cmocka_unit_test(test_limits_hold),
        cmocka_unit_test(test_jobs_fit_a_small_fleet),
        cmocka_unit_test(test_policy_settings_count),
        cmocka_unit_test(test_resets_are_tried_before_reboots),
        cmocka_unit_test(test_checkpoints_cost_and_save),
        cmocka_unit_test(test_lemons_are_counted),
        cmocka_unit_test(test_probation),
        cmocka_unit_test(test_two_policies_meet_the_same_faults),
        cmocka_unit_test(test_without_repairs_jobs_wait),
        cmocka_unit_test(test_no_capacity),
        cmocka_unit_test(test_protection),
        cmocka_unit_test(test_spares_are_the_policys),
        cmocka_unit_test(test_entries_for_others_are_told),
        cmocka_unit_test(test_observed_only),
        cmocka_unit_test(test_a_yes_comes_first),
        cmocka_unit_test(test_groups_have_policies_of_their_own),
        cmocka_unit_test(test_faults_of_a_type),
        cmocka_unit_test(test_what_a_lost_place_does),
        cmocka_unit_test(test_two_nodes_are_no_incident),
        cmocka_unit_test(test_llama3),
        cmocka_unit_test(test_rsc),
        cmocka_unit_test(test_llama3_by_the_rate_of_rsc),
        cmocka_unit_test(test_effective_time_by_formula),
        cmocka_unit_test(test_profiles_are_whole),
        cmocka_unit_test(test_documents),
        cmocka_unit_test(test_what_does_not_go_together),
        cmocka_unit_test(test_losses_that_cannot_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
