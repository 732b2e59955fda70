/* The policy document: who has the last word, and what is refused with which line. */
#include "server/config/policy_document.h"
#include "server/config/policy_registry.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/own.h"
#include "base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct policy_document *read_good(const char *text)
{
    struct policy_document *document = NULL;
    char error[POLICY_DOCUMENT_ERROR_MAX] = "";
    int rc = policy_document_parse(text, strlen(text), &document, error);
    if (rc != 0)
        fail_msg("%s", error);
    return document;
}

/* The example that ships is a document that is taken, and says what its comments say. */
static void test_the_example_is_taken(void **state)
{
    (void)state;
    char *text;
    size_t len;
    assert_int_equal(file_read("docs/examples/policy.yaml", 65536, &text, &len), 0);
    struct policy_document *document = read_good(text);
    struct loop_settings s;
    loop_settings_default(&s);
    policy_document_apply(document, &(struct policy_place){"prod", "gpu", "p5"}, &s, NULL);
    assert_int_equal(s.policy.budget_max, 2);
    assert_int_equal(s.policy.min_healthy_percent, 80);
    assert_int_equal(s.policy.modes[FAULT_CLASS_NETWORK], REPAIR_MODE_APPROVE);
    policy_document_free(document);
    free(text);
}

static void test_budgets_of_classes(void **state)
{
    (void)state;
    struct policy_document *document = read_good("version: 1\n"
                                                 "defaults:\n"
                                                 "  recovery: {budgetMax: 4, minHealthyPercent: 80}\n"
                                                 "  class: {budgetMax: 3}\n"
                                                 "classes:\n"
                                                 "  gpu: {budgetPercent: 10, budgetMax: 2}\n"
                                                 "groups:\n"
                                                 "  - match: {cluster: train}\n"
                                                 "    classes: {gpu: {budgetMax: 1}}\n");
    struct loop_settings s;
    loop_settings_default(&s);
    policy_document_apply(document, &(struct policy_place){"train", "gpu", "p5"}, &s, NULL);
    assert_int_equal(s.policy.budget_max, 4);
    assert_int_equal(s.policy.min_healthy_percent, 80);
    assert_int_equal(s.policy.class_budget_max[FAULT_CLASS_GPU], 1);
    assert_int_equal(s.policy.class_budget_percent[FAULT_CLASS_GPU], 10);
    assert_int_equal(s.policy.class_budget_max[FAULT_CLASS_NETWORK], 3);
    assert_int_equal(s.policy.class_budget_percent[FAULT_CLASS_NETWORK], 100);
    policy_document_free(document);
}

static void test_the_last_word_counts(void **state)
{
    (void)state;
    struct policy_document *document = read_good("version: 1\n"
                                                 "defaults:\n"
                                                 "  recovery: {rebootsMax: 5, mode: recommend}\n"
                                                 "  agents: {unreachableAfter: 20m}\n"
                                                 "classes:\n"
                                                 "  gpu: {mode: act}\n"
                                                 "groups:\n"
                                                 "  - match: {cluster: train}\n"
                                                 "    recovery: {rebootsMax: 6, mode: observe}\n"
                                                 "  - match: {group: gpu, instanceType: \"ml.p5*\"}\n"
                                                 "    recovery: {rebootsMax: 7}\n"
                                                 "    classes: {network: {mode: approve}}\n");
    const struct {
        struct policy_place place;
        int reboots;
        enum repair_mode gpu, network, host;
    } told[] = {
        {{"other", "cpu", "ml.c5.large"}, 5, REPAIR_MODE_ACT, REPAIR_MODE_RECOMMEND, REPAIR_MODE_RECOMMEND},
        {{"train", "cpu", "ml.c5.large"}, 6, REPAIR_MODE_OBSERVE, REPAIR_MODE_OBSERVE, REPAIR_MODE_OBSERVE},
        {{"train", "gpu", "ml.p5.48xlarge"}, 7, REPAIR_MODE_OBSERVE, REPAIR_MODE_APPROVE, REPAIR_MODE_OBSERVE},
        {{"train", "gpu", "ml.p4d.24xlarge"}, 6, REPAIR_MODE_OBSERVE, REPAIR_MODE_OBSERVE, REPAIR_MODE_OBSERVE},
        {{"other", "gpu", "ml.p5.48xlarge"}, 7, REPAIR_MODE_ACT, REPAIR_MODE_APPROVE, REPAIR_MODE_RECOMMEND},
    };
    for (size_t i = 0; i < ARRAY_LEN(told); i++) {
        struct loop_settings s;
        loop_settings_default(&s);
        policy_document_apply(document, &told[i].place, &s, NULL);
        assert_int_equal(s.policy.reboots_max, told[i].reboots);
        assert_int_equal(s.policy.modes[FAULT_CLASS_GPU], told[i].gpu);
        assert_int_equal(s.policy.modes[FAULT_CLASS_NETWORK], told[i].network);
        assert_int_equal(s.policy.modes[FAULT_CLASS_HOST], told[i].host);
        assert_int_equal(s.policy.unreachable_after_ms, 20 * MS_PER_MIN);
        assert_int_equal(s.policy.replaces_max, 2); /* of which it says nothing */
    }
    policy_document_free(document);
}

static void test_every_setting_of_a_group_can_be_said(void **state)
{
    (void)state;
    size_t said = 0;
    for (size_t i = 0; i < setting_count; i++) {
        const struct setting *setting = &settings[i];
        char low[CLOCK_TEXT_MAX];
        if (setting->section[0] == '\0' || !setting_is_grouped(setting))
            continue;
        autofree char *value =
            setting->kind == SETTING_KIND_DURATION              ? own_strdup(clock_write_duration(setting->max, low))
            : setting_word(setting->kind, setting->max) != NULL ? own_strdup(setting_word(setting->kind, setting->max))
            : setting->kind == SETTING_KIND_WINDOWS             ? own_strdup("[Mon-Fri 08:00-18:00]")
                                                                : own_printf("%lld", (long long)setting->max);
        autofree char *text =
            own_printf("version: 1\ndefaults: {%s: {%s: %s}}\n", setting->section, setting->name, value);
        struct policy_document *document = read_good(text);
        struct loop_settings s;
        loop_settings_default(&s);
        policy_document_apply(document, NULL, &s, NULL);
        const struct setting_value got = setting_get_in(&s, setting, FAULT_CLASS_UNKNOWN);
        assert_int_equal(got.number, setting->max);
        assert_int_equal(got.windows.count, setting->kind == SETTING_KIND_WINDOWS ? 1 : 0);
        policy_document_free(document);
        said++;
    }
    assert_true(said >= 15);
}

/* What was a number once is said by words, as it is shown, and stays readable; "none" is what no hours are shown as. */
static void test_words_for_what_were_numbers(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "version: 1\ndefaults:\n  recovery: {withoutReplacement: reboot, sameHardware: replace, notDuring: none}\n"
        "classes: {gpu: {anyTime: yes}}\n",
        "version: 1\ndefaults:\n  recovery: {withoutReplacement: 1, sameHardware: 2, notDuring: ''}\n"
        "classes: {gpu: {anyTime: 1}}\n"};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct policy_document *document = read_good(texts[i]);
        struct loop_settings s;
        loop_settings_default(&s);
        s.policy.not_during.count = 1;
        policy_document_apply(document, NULL, &s, NULL);
        assert_int_equal(s.policy.without_replacement, POLICY_WITHOUT_REBOOT);
        assert_int_equal(s.policy.recurring, POLICY_RECURRING_REPLACE);
        assert_int_equal(s.policy.any_time[FAULT_CLASS_GPU], 1);
        assert_int_equal(s.policy.any_time[FAULT_CLASS_HOST], 0);
        assert_int_equal(s.policy.not_during.count, 0);
        policy_document_free(document);
    }
}

static void test_refuses_with_its_line(void **state)
{
    (void)state;
    static const struct {
        const char *text, *error;
    } told[] = {
        {"", "line 1: the document must be a mapping"},
        {"[]", "line 1: the document must be a mapping"},
        {"defaults: {}", "line 1: version is missing"},
        {"versoin: 1", "\"versoin\" is no key of a policy (the nearest is \"version\")"},
        {"\nversion: 2\n", "line 2: version must be 1"},
        {"version: 1\ncolour: red\n", "line 2: \"colour\" is no key of a policy"},
        {"version: 1\nversion: 1\n", "line 2, column 1: the key \"version\" is there twice"},
        {"version: 1\ndefaults:\n  colours: {}\n", "line 3: \"colours\" is no section"},
        {"version: 1\ndefaults:\n  recovery:\n    rebootMax: 2\n",
         "line 4: recovery.rebootMax is no setting (the nearest is \"rebootsMax\")"},
        {"version: 1\ndefaults:\n  recovery:\n\n    rebootsMax: 101\n", "line 5: rebootsMax must be a whole number"},
        {"version: 1\ndefaults:\n  recovery: {rebootsMax: two}\n", "line 3: rebootsMax must be a whole number"},
        {"version: 1\ndefaults:\n  recovery: {verifyQuiet: 30}\n", "line 3: verifyQuiet must be a duration"},
        {"version: 1\ndefaults:\n  recovery: {verifyQuiet: 2h}\n", "line 3: verifyQuiet must be between 0s and 1h"},
        {"version: 1\ndefaults:\n  recovery: {withoutReplacement: 3}\n",
         "line 3: withoutReplacement must be wait, reboot or replace"},
        {"version: 1\ndefaults:\n  recovery: {mode: 1}\n", "line 3: mode must be observe, recommend, approve or act"},
        {"version: 1\nclasses:\n  gpu: {anyTime: maybe}\n", "line 3: anyTime must be no or yes"},
        {"version: 1\ndefaults:\n  recovery: {notDuring: [Fri 8-18]}\n", "line 3: notDuring must be at most 8 windows"},
        {"version: 1\ndefaults:\n  recovery:\n    onlyDuring: [Fri 08:00-18:00 Europe/Berlin]\n",
         "line 4: onlyDuring must"},
        {"version: 1\ndefaults:\n  recovery: {mode: panic}\n",
         "line 3: mode must be observe, recommend, approve or act"},
        {"version: 1\nclasses: {gpu: {jobs: kill}}\n", "line 2: jobs must be table, wait, signal or now"},
        {"version: 1\nclasses: {gpu: {jobSignal: none}}\n", "line 2: jobSignal must be USR1, USR2, TERM, INT, B:USR1"},
        {"version: 1\nclasses: {gpu: {jobSignal: KILL}}\n", "line 2: jobSignal must be USR1"},
        {"version: 1\nclasses: {gpu: {jobSignal: 10}}\n", "line 2: jobSignal must be USR1"},
        {"version: 1\nclasses: {gpu: {signalDeadline: 0s}}\n", "line 2: signalDeadline must be between 1s and 14d"},
        {"version: 1\ndefaults:\n  agents: {heartbeatInterval: 1s}\n",
         "line 3: agents.heartbeatInterval is one for all groups"},
        {"version: 1\nclasses:\n  gpus: {mode: act}\n", "line 3: \"gpus\" is no class of faults (the nearest is "
                                                        "\"gpu\"); these are: application, gpu, gpu-memory, fabric, "},
        {"version: 1\nclasses:\n  none: {mode: act}\n", "line 3: \"none\" is no class of faults"},
        {"version: 1\nclasses:\n  gpu: {rebootsMax: 1}\n", "line 3: \"rebootsMax\" is nothing that is said by class"},
        {"version: 1\ngroups: {}\n", "line 2: groups must be a list"},
        {"version: 1\ngroups:\n  - recovery: {}\n", "line 3: match is missing"},
        {"version: 1\ngroups:\n  - match: {}\n", "line 3: match must name a cluster"},
        {"version: 1\ngroups:\n  - match: {zone: a}\n", "line 3: \"zone\" is nothing to match by"},
        {"version: 1\ngroups:\n  - match: {cluster: a}\n  - match: {cluster: \"\"}\n",
         "line 4: cluster must be a name"},
        {"version: 1\ngroups:\n  - match: {cluster: a}\n  - match:\n      cluster: a\n",
         "line 4: entry 1 of groups matches the same"},
        {"version: 1\ngroups:\n  - match: {cluster: a}\n    reccovery: {}\n",
         "line 4: \"reccovery\" is no key here (the nearest is \"recovery\"): match"},
        {"version: 1\nclasses: &a {gpu: {mode: act}}\n", "line 2, column"},
    };
    for (size_t i = 0; i < ARRAY_LEN(told); i++) {
        struct policy_document *document = NULL;
        char error[POLICY_DOCUMENT_ERROR_MAX] = "";
        assert_int_equal(policy_document_parse(told[i].text, strlen(told[i].text), &document, error), STATUS_INVALID);
        assert_null(document);
        if (!text_starts_with(error, told[i].error) && strstr(error, told[i].error) == NULL)
            fail_msg("%s: said %s, not %s", told[i].text, error, told[i].error);
    }
}

static void test_has_its_limits(void **state)
{
    (void)state;
    struct policy_document *document = NULL;
    char error[POLICY_DOCUMENT_ERROR_MAX] = "";
    struct text text AUTO(text) = {0};
    text_add(&text, "version: 1\n#");
    while (text.len < POLICY_TEXT_MAX_BYTES - 1)
        text_add_char(&text, 'x');
    assert_int_equal(policy_document_parse(text_get(&text), text.len, &document, error), 0);
    policy_document_free(document);
    document = NULL;
    text_add_char(&text, 'x');
    assert_int_equal(policy_document_parse(text_get(&text), text.len, &document, error), STATUS_TOO_LARGE);
    assert_non_null(strstr(error, "32767 at most"));
    text_clear(&text);
    text_add(&text, "version: 1\ngroups:\n");
    for (int i = 0; i < POLICY_DOCUMENT_GROUPS_MAX; i++)
        text_printf(&text, "  - match: {group: g%d}\n", i);
    assert_int_equal(policy_document_parse(text_get(&text), text.len, &document, error), 0);
    policy_document_free(document);
    text_add(&text, "  - match: {group: more}\n");
    assert_int_equal(policy_document_parse(text_get(&text), text.len, &document, error), STATUS_INVALID);
    assert_non_null(strstr(error, "line 2: groups must be a list of at most 256 entries"));
}

/* A younger version stays, and what cannot be read changes nothing. */
static void test_the_registry_holds_the_newest(void **state)
{
    (void)state;
    static struct config config;
    static struct service_policy shown;
    char error[POLICY_REGISTRY_ERROR_MAX] = "";
    struct loop_settings s;
    config_default(&config);
    config.reconcile.policy.reboots_max = 4;
    struct policy_registry *registry = policy_registry_new(&config);
    assert_int_equal(policy_registry_resolve(registry, "train", "gpu", "", &s), 0);
    assert_int_equal(s.policy.reboots_max, 4);
    assert_int_equal(policy_registry_put(registry, 2, "version: 1\ndefaults: {recovery: {rebootsMax: 6}}\n", error), 0);
    assert_int_equal(policy_registry_put(registry, 1, "version: 1\ndefaults: {recovery: {rebootsMax: 5}}\n", error), 0);
    assert_int_equal(policy_registry_put(registry, 3, "version: 1\ndefaults: {recovery: {rebootsMax: no}}\n", error),
                     STATUS_INVALID);
    assert_int_equal(policy_registry_resolve(registry, "train", "gpu", "", &s), 2);
    assert_int_equal(s.policy.reboots_max, 6);
    assert_int_equal(policy_registry_put(registry, 4, "version: 1\nclasses: {gpu: {mode: observe}}\n", error), 0);
    assert_int_equal(policy_registry_show(registry, NULL, NULL, NULL, &shown), 4);
    assert_int_equal(shown.count, setting_count + 1);
    const struct service_setting *last = &shown.settings[setting_count];
    assert_true(last->fault == FAULT_CLASS_GPU && last->value == REPAIR_MODE_OBSERVE &&
                last->source == SETTING_SOURCE_DOCUMENT);
    policy_registry_free(registry);
    policy_registry_free(NULL);
    config_free(&config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_last_word_counts),
        cmocka_unit_test(test_the_example_is_taken),
        cmocka_unit_test(test_budgets_of_classes),
        cmocka_unit_test(test_every_setting_of_a_group_can_be_said),
        cmocka_unit_test(test_words_for_what_were_numbers),
        cmocka_unit_test(test_refuses_with_its_line),
        cmocka_unit_test(test_has_its_limits),
        cmocka_unit_test(test_the_registry_holds_the_newest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
