/* Logs read by rules: the rules that HyperPod publishes, streams in any pieces, hostile patterns and lines of any length. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agents/launcher/rule_read.h"
#include "agents/launcher/watch.h"
#include "base/clock.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

#define S INT64_C(1000)

/* As HyperPod's guide has them. */
static const char published[] =
    "spec:\n"
    "  runPolicy:\n"
    "    logMonitoringConfiguration:\n"
    "      - name: JobStart\n"
    "        logPattern: '.*Experiment configuration.*'\n"
    "        expectedStartCutOffInSeconds: 120\n"
    "      - name: JobHangingDetection\n"
    "        logPattern: \".*\\\\[Epoch 0 Batch \\\\d+.*'training_loss_step': (\\\\d+(\\\\.\\\\d+)?).*\"\n"
    "        expectedRecurringFrequencyInSeconds: 300\n"
    "        expectedStartCutOffInSeconds: 600\n"
    "      - name: NoS3CheckpointingDetection\n"
    "        logPattern: '.*The checkpoint is finalized. All shards is written.*'\n"
    "        expectedRecurringFrequencyInSeconds: 600\n"
    "        expectedStartCutOffInSeconds: 1800\n"
    "      - name: LowThroughputDetection\n"
    "        logPattern: \".*\\\\[Epoch 0 Batch \\\\d+.*'samples\\\\/sec': (\\\\d+(\\\\.\\\\d+)?).*\"\n"
    "        metricThreshold: 80\n"
    "        operator: lteq\n"
    "        metricEvaluationDataPoints: 25\n"
    "      - name: JobStartGracePeriod\n"
    "        logPattern: '.*Train Epoch.*'\n"
    "        expectedStartCutOffInSeconds: 60\n"
    "      - name: LossSpikeDetection\n"
    "        logPattern: '.*training_loss_step (\\d+(?:\\.\\d+)?).*'\n"
    "        metricThreshold: 2.0\n"
    "        operator: gt\n"
    "        metricEvaluationDataPoints: 5\n"
    "      - name: TFLOPs\n"
    "        logPattern: '.* (.+)TFLOPs.*'\n"
    "        expectedRecurringFrequencyInSeconds: 5\n"
    "        metricThreshold: 100\n"
    "        operator: lt\n"
    "        metricEvaluationDataPoints: 5\n"
    "      - name: GPU Error\n"
    "        logPattern: '.*RuntimeError: .*out of memory.*'\n"
    "        faultOnMatch: true\n";

static struct watch *watch_of(const char *yaml, int ranks)
{
    struct rule_list list;
    char error[RULE_ERROR_MAX] = "";
    struct watch *watch = watch_new(ranks);
    int rc = rule_read_text(yaml, strlen(yaml), &list, error);
    if (rc != 0)
        fail_msg("%s", error);
    watch_set_rules(watch, &list, 0);
    return watch;
}

__attribute__((format(printf, 4, 5))) static void say(struct watch *watch, int rank, int64_t at_ms, const char *format,
                                                      ...)
{
    va_list ap;
    va_start(ap, format);
    autofree char *text = own_vprintf(format, ap);
    va_end(ap);
    watch_feed(watch, rank, 0, text, strlen(text), at_ms);
}

static void must_find(struct watch *watch, int64_t at_ms, const char *reason)
{
    struct rule_finding finding;
    rules_tick(watch_rules(watch), at_ms);
    if (!rules_next(watch_rules(watch), &finding))
        fail_msg("no finding, wanted %s", reason);
    autofree char *got = rules_reason(watch_rules(watch), &finding);
    assert_string_equal(got, reason);
}

static void must_be_quiet(struct watch *watch, int64_t at_ms)
{
    struct rule_finding finding;
    rules_tick(watch_rules(watch), at_ms);
    if (rules_next(watch_rules(watch), &finding)) {
        autofree char *got = rules_sentence(watch_rules(watch), &finding);
        fail_msg("finding: %s", got);
    }
}

/* Begins as a healthy job does, so that the limits of first lines are met. */
static void begin(struct watch *watch)
{
    say(watch, 0, S, "2026-01-01 Experiment configuration: {}\nTrain Epoch 0\n");
    say(watch, 0, S, "x [Epoch 0 Batch 1] {'training_loss_step': 1.5, 'samples/sec': 100.5}\n");
    say(watch, 0, S, "The checkpoint is finalized. All shards is written.\n");
    must_be_quiet(watch, S);
}

static void test_published_start_rules(void **state)
{
    (void)state;
    AUTO(watch) struct watch *watch = watch_of(published, 1);
    must_be_quiet(watch, 60 * S);
    must_find(watch, 60 * S + 1, "LogHang_JobStartGracePeriod");
    must_find(watch, 120 * S + 1, "LogHang_JobStart");
    must_find(watch, 600 * S + 1, "LogHang_JobHangingDetection");
    must_find(watch, 1800 * S + 1, "LogHang_NoS3CheckpointingDetection");
    must_be_quiet(watch, 100000 * S); /* the others have no limit for their first line */
}

static void test_published_hanging(void **state)
{
    (void)state;
    AUTO(watch) struct watch *watch = watch_of(published, 1);
    begin(watch);
    say(watch, 0, 200 * S, "[Epoch 0 Batch 2] 'training_loss_step': 2\n");
    say(watch, 0, 400 * S, "[Epoch 0 Batch x] 'training_loss_step': 2\n[Epoch 1 Batch 3] 'training_loss_step': 2\n");
    must_be_quiet(watch, 500 * S);
    must_find(watch, 500 * S + 1, "LogHang_JobHangingDetection");
    must_find(watch, 601 * S + 1, "LogHang_NoS3CheckpointingDetection");
}

static void test_published_throughput(void **state)
{
    (void)state;
    AUTO(watch) struct watch *watch = watch_of(published, 1);
    begin(watch);
    for (int i = 0; i < 24; i++)
        say(watch, 0, 2 * S, "[Epoch 0 Batch %d] 'samples/sec': 80\n", i);
    say(watch, 0, 2 * S, "[Epoch 0 Batch 24] 'samples/sec': 80.1\n");
    for (int i = 0; i < 24; i++)
        say(watch, 0, 2 * S, "[Epoch 0 Batch %d] 'samples/sec': 79.9\n", i);
    must_be_quiet(watch, 3 * S);
    say(watch, 0, 2 * S, "[Epoch 0 Batch 49] 'samples/sec': 12\n");
    must_find(watch, 3 * S, "LogSlow_LowThroughputDetection");
}

static void test_published_loss_and_flops(void **state)
{
    (void)state;
    AUTO(watch) struct watch *watch = watch_of(published, 2);
    begin(watch);
    say(watch, 1, 2 * S,
        "a training_loss_step 2.1 b\nx training_loss_step 3\ntraining_loss_step 3\ntraining_loss_step 9\n");
    must_be_quiet(watch, 2 * S);
    say(watch, 1, 2 * S, "training_loss_step 2.01\n");
    must_find(watch, 2 * S, "LogSlow_LossSpikeDetection");
    say(watch, 0, 2 * S, "step 1:  99.5 TFLOPs/GPU\nstep 2: nan TFLOPs\nstep 3: inf TFLOPs\nstep 4: 99 TFLOPs\n");
    must_be_quiet(watch, 3 * S);
    say(watch, 0, 3 * S, "step 5: 1 TFLOPs\n");
    must_find(watch, 3 * S, "LogSlow_TFLOPs");
    must_be_quiet(watch, 8 * S);
    must_find(watch, 8 * S + 1, "LogHang_TFLOPs");
}

static void test_published_memory_error(void **state)
{
    (void)state;
    AUTO(watch) struct watch *watch = watch_of(published, 4);
    begin(watch);
    watch_feed(watch, 3, 1, "RuntimeError: CUDA out of mem", 29, 5);
    must_be_quiet(watch, 2 * S);
    watch_feed(watch, 3, 1, "ory. Tried to", 13, 5);
    watch_end(watch, 3, 1, 5); /* the last line has no end */
    must_find(watch, 2 * S, "LogFault_GPU Error");
}

/* --- streams ------------------------------------------------------------------------------------------ */

static const char counting[] =
    "- {name: N, logPattern: '(?:.* )?loss=(\\S+)', metricThreshold: 1, operator: gt, metricEvaluationDataPoints: 3}\n"
    "- {name: F, logPattern: 'FATAL$', faultOnMatch: true, stopPattern: '.*training over.*'}\n"
    "- {name: U, logPattern: '^│ \\d+ │ bad', faultOnMatch: true}\n";

static void test_any_pieces_give_the_same(void **state)
{
    (void)state;
    static const char log[] =
        "a loss=5\r\nb loss=6\rc loss=0.5\nloss=7\n\n\xff\xfe loss=8 \xc3\xa9\nprogress 1%\rloss=9\r\nnot FATAL\n"
        "│ 12 │ bad\nFATAL\ntraining over\nFATAL\n";
    for (size_t piece = 1; piece < sizeof(log); piece++) {
        AUTO(watch) struct watch *watch = watch_of(counting, 1);
        for (size_t at = 0; at < sizeof(log) - 1; at += piece)
            watch_feed(watch, 0, 0, log + at, at + piece < sizeof(log) - 1 ? piece : sizeof(log) - 1 - at, S);
        must_find(watch, S, "LogFault_F");
        must_find(watch, S, "LogFault_U");
        must_find(watch, S, "LogSlow_N");
        must_be_quiet(watch, S);
    }
}

static void test_streams_do_not_mix(void **state)
{
    (void)state;
    AUTO(watch) struct watch *watch = watch_of(counting, 2);
    watch_feed(watch, 0, 0, "FA", 2, S);
    watch_feed(watch, 1, 0, "TAL\n", 4, S);
    watch_feed(watch, 0, 1, "TAL\n", 4, S);
    must_be_quiet(watch, S);
    watch_feed(watch, 0, 0, "TAL\n", 4, S);
    must_find(watch, S, "LogFault_F");
}

static void test_lines_of_any_length(void **state)
{
    (void)state;
    AUTO(watch) struct watch *watch = watch_of(counting, 1);
    size_t len = 8 << 20;
    autofree char *line = malloc(len);
    memset(line, 'x', len);
    int64_t begin_us = clock_stopwatch_us();
    for (int i = 0; i < 4; i++)
        watch_feed(watch, 0, 0, line, len, S);
    watch_feed(watch, 0, 0, " loss=5\nloss=5\nloss=5\n", 22, S); /* the first of them is too far in its line */
    must_be_quiet(watch, S);
    watch_feed(watch, 0, 0, "loss=5\n", 7, S);
    must_find(watch, S, "LogSlow_N");
    line[len - 1] = '\n'; /* whole in one piece */
    watch_feed(watch, 0, 0, line, len, S);
    must_be_quiet(watch, S);
    assert_true(clock_stopwatch_us() - begin_us < 5000000);
}

static void test_hostile_patterns_are_switched_off(void **state)
{
    (void)state;
    AUTO(watch)
    struct watch *watch = watch_of(
        "- {name: evil, logPattern: '(x+x+)+y\\1'}\n- {name: F, logPattern: 'FATAL', faultOnMatch: true}\n", 1);
    char line[201];
    memset(line, 'x', sizeof(line));
    line[sizeof(line) - 1] = '\n';
    int64_t begin_us = clock_stopwatch_us();
    for (int i = 0; i < 2000; i++)
        watch_feed(watch, 0, 0, line, sizeof(line), S);
    assert_true(clock_stopwatch_us() - begin_us < 5000000);
    say(watch, 0, S, "FATAL\n");
    must_find(watch, S, "LogFault_F");
    const char *off = watch_next_switched_off(watch);
    if (off != NULL) { /* where the scan cannot tell that no line has a y */
        assert_string_equal(off, "evil");
        assert_null(watch_next_switched_off(watch));
    }
}

/* Of this rule the scan takes the first pattern and leaves the second one. */
static void test_a_rule_sees_its_lines_in_order(void **state)
{
    (void)state;
    static const char yaml[] = "[{name: F, logPattern: 'FATAL', stopPattern: '(?i)OVER', faultOnMatch: true}]";
    AUTO(watch) struct watch *watch = watch_of(yaml, 1);
    say(watch, 0, S, "over\nFATAL\n");
    must_be_quiet(watch, S);
}

static void test_rules_change_while_lines_come(void **state)
{
    (void)state;
    AUTO(watch) struct watch *watch = watch_of(counting, 1);
    struct rule_list list;
    char error[RULE_ERROR_MAX];
    static const char later[] = "[{name: late, logPattern: x, expectedStartCutOffInSeconds: 1.5}]";
    say(watch, 0, S, "loss=9\nloss=9\nFAT");
    assert_int_equal(rule_read_text(later, strlen(later), &list, error), 0);
    watch_set_rules(watch, &list, 10 * S);
    say(watch, 0, 10 * S, "AL\nloss=9\n");
    must_be_quiet(watch, 11500);
    must_find(watch, 11501, "LogHang_late");
}

/* --- reading rules ------------------------------------------------------------------------------------ */

static void test_bad_rules_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *yaml, *message;
    } table[] = {
        {"{}", "no list of rules, no logMonitoringConfiguration and no HyperPodPyTorchJob with one"},
        {"[{name: a}]", "logMonitoringConfiguration[0] a: logPattern is missing"},
        {"[{logPattern: a}]", "logMonitoringConfiguration[0]: name is missing"},
        {"[{name: a, logPattern: a}, {name: a, logPattern: b}]",
         "logMonitoringConfiguration[1] a: another rule has this name"},
        {"[{name: a, logPattern: '(a'}]", "logMonitoringConfiguration[0] a: logPattern is no regular expression: "
                                          "missing closing parenthesis (at character 3)"},
        {"[{name: a, logPattern: a, metricThreshold: x, operator: gt}]",
         "logMonitoringConfiguration[0] a: metricThreshold has to be a number"},
        {"[{name: a, logPattern: a, metricThreshold: 1}]",
         "logMonitoringConfiguration[0] a: metricThreshold and operator belong together"},
        {"[{name: a, logPattern: a, metricThreshold: 1, operator: ge}]",
         "logMonitoringConfiguration[0] a: operator has to be gt, gteq, lt, lteq or eq"},
        {"[{name: a, logPattern: a, metricEvaluationDataPoints: 0}]",
         "logMonitoringConfiguration[0] a: metricEvaluationDataPoints has to be a whole number, 1 or more"},
        {"[{name: a, logPattern: a, expectedStartCutOffInSeconds: -1}]",
         "logMonitoringConfiguration[0] a: expectedStartCutOffInSeconds has to be a number of seconds above 0"},
        {"[{name: a, logPattern: a, faultOnMatch: 1}]",
         "logMonitoringConfiguration[0] a: faultOnMatch has to be true or false"},
        {"[{name: a, logPattern: a, threshold: 1}]", "logMonitoringConfiguration[0] a: unknown member threshold"},
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct rule_list list;
        char error[RULE_ERROR_MAX] = "";
        assert_int_not_equal(rule_read_text(table[i].yaml, strlen(table[i].yaml), &list, error), 0);
        assert_string_equal(error, table[i].message);
    }
}

static void test_numbers_may_be_texts(void **state)
{
    (void)state;
    static const char yaml[] =
        "logMonitoringConfiguration: [{name: a, logPattern: a, metricThreshold: '2.5', operator: gt, "
        "expectedStartCutOffInSeconds: '60', stopPattern: null}]";
    __attribute__((cleanup(auto_rule_list_cleanup))) struct rule_list list = {0};
    char error[RULE_ERROR_MAX] = "";
    assert_int_equal(rule_read_text(yaml, strlen(yaml), &list, error), 0);
    assert_int_equal(list.rules[0].start_ms, 60 * S);
    assert_true(list.rules[0].threshold > 2.49 && list.rules[0].threshold < 2.51);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published_start_rules),
        cmocka_unit_test(test_published_hanging),
        cmocka_unit_test(test_published_throughput),
        cmocka_unit_test(test_published_loss_and_flops),
        cmocka_unit_test(test_published_memory_error),
        cmocka_unit_test(test_any_pieces_give_the_same),
        cmocka_unit_test(test_streams_do_not_mix),
        cmocka_unit_test(test_lines_of_any_length),
        cmocka_unit_test(test_hostile_patterns_are_switched_off),
        cmocka_unit_test(test_a_rule_sees_its_lines_in_order),
        cmocka_unit_test(test_rules_change_while_lines_come),
        cmocka_unit_test(test_bad_rules_are_named),
        cmocka_unit_test(test_numbers_may_be_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
