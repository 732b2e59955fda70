/*
 * How fast hprun reads what workers write: its own path from bytes to findings on a log of our making, and the scan in it alone.
 *
 *   joblog make BYTES LOG RULES     writes a log as of a training, one line in twenty of which matches a rule, and the rules as JSON
 *   joblog read LOG RULES           prints how long a pass took, with everything and of the scan alone, and how many lines matched each rule
 *
 * The rules are the six kinds that HyperPod's guide shows, in its own words; bench/joblog.py does the same work as HyperPod's agent does.
 */
#include "agents/launcher/rule_read.h"
#include "agents/launcher/watch.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/own.h"
#include "base/scan.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define LOG_BYTES_MAX ((size_t)1 << 30)
#define PIECE 65536 /* what a pipe gives at most */
#define MEASURE_US 500000
#define US_PER_S 1000000.0
#define MATCH_EVERY 20

static const char rules_text[] =
    "[{\"name\":\"JobStart\",\"logPattern\":\".*Experiment configuration.*\",\"expectedStartCutOffInSeconds\":120},"
    "{\"name\":\"JobHangingDetection\",\"logPattern\":\".*\\\\[Epoch 0 Batch \\\\d+.*'training_loss_step': "
    "(\\\\d+(\\\\.\\\\d+)?).*\","
    "\"expectedRecurringFrequencyInSeconds\":300,\"expectedStartCutOffInSeconds\":600},"
    "{\"name\":\"NoS3CheckpointingDetection\",\"logPattern\":\".*The checkpoint is finalized. All shards is "
    "written.*\","
    "\"expectedRecurringFrequencyInSeconds\":600,\"expectedStartCutOffInSeconds\":1800},"
    "{\"name\":\"LowThroughputDetection\",\"logPattern\":\".*\\\\[Epoch 0 Batch \\\\d+.*'samples\\\\/sec': "
    "(\\\\d+(\\\\.\\\\d+)?).*\","
    "\"metricThreshold\":80,\"operator\":\"lteq\",\"metricEvaluationDataPoints\":25},"
    "{\"name\":\"LossSpikeDetection\",\"logPattern\":\".*training_loss_step (\\\\d+(?:\\\\.\\\\d+)?).*\","
    "\"metricThreshold\":2.0,\"operator\":\"gt\",\"metricEvaluationDataPoints\":5},"
    "{\"name\":\"TFLOPs\",\"logPattern\":\".* (.+)TFLOPs.*\",\"expectedRecurringFrequencyInSeconds\":500,"
    "\"metricThreshold\":100,\"operator\":\"lt\",\"metricEvaluationDataPoints\":5}]";

static void add_line(struct text *log, int64_t i)
{
    int64_t step = i / MATCH_EVERY;
    text_printf(log, "2026-01-02 03:%02d:%02d,%03d INFO ", (int)(i / 60000 % 60), (int)(i / 1000 % 60),
                (int)(i % 1000));
    if (i == 0)
        text_add(log, "train.py:88 Experiment configuration: {'lr': 3e-4}\n");
    else if (i % 200000 == 0)
        text_add(log, "checkpoint.py:301 The checkpoint is finalized. All shards is written.\n");
    else if (i % MATCH_EVERY == 7)
        text_printf(log,
                    "loop.py:412 [Epoch 0 Batch %" PRId64
                    "] {'training_loss_step': 1.%03d, 'samples/sec': %d.5, 'lr': 0.0003}\n",
                    step, (int)(step % 1000), (int)(90 + step % 20));
    else
        text_printf(log,
                    "data.py:%d [rank %d] prefetch queue %d/64, shard-%05d.tar at offset %" PRId64
                    ", worker pid %d, 0.%03d s a batch\n",
                    (int)(i % 700), (int)(i % 8), (int)(i % 64), (int)(i % 99999), i * 4096, (int)(2000 + i % 64),
                    (int)(i % 997));
}

static int make(size_t bytes, const char *log_path, const char *rules_path)
{
    __attribute__((cleanup(auto_text_cleanup))) struct text log = {0};
    for (int64_t i = 0; log.len < bytes; i++)
        add_line(&log, i);
    return file_write(log_path, log.data, log.len, 0644) != 0 ||
           file_write(rules_path, rules_text, strlen(rules_text), 0644) != 0;
}

static void count_line(void *arg, size_t pattern, const char *line, size_t len)
{
    (void)pattern;
    (void)line;
    (void)len;
    ++*(int64_t *)arg;
}

/* The longest beginning of at most PIECE bytes that ends with a line. */
static size_t piece_of(const char *bytes, size_t len)
{
    size_t most = len < PIECE ? len : PIECE;
    const char *newline = memrchr(bytes, '\n', most);
    return newline != NULL ? (size_t)(newline - bytes) + 1 : most;
}

static double scan_alone(const char *log, size_t len, const struct rule_list *list)
{
    const char *regexes[RULES_MAX];
    bool found[RULES_MAX];
    for (size_t i = 0; i < list->count; i++)
        regexes[i] = list->rules[i].pattern;
    AUTO(scan) struct scan *scan = scan_new(regexes, list->count, found);
    int64_t begin = clock_stopwatch_us(), passes = 0, lines = 0;
    for (; clock_stopwatch_us() - begin < MEASURE_US; passes++)
        for (size_t at = 0; at < len;) {
            size_t piece = piece_of(log + at, len - at);
            scan_block(scan, log + at, piece, count_line, &lines);
            at += piece;
        }
    return (double)len * (double)passes / (double)(clock_stopwatch_us() - begin);
}

static double read_all(const char *log, size_t len, struct rule_list *list)
{
    AUTO(watch) struct watch *watch = watch_new(1);
    struct rule_finding finding;
    watch_set_rules(watch, list, 0);
    int64_t begin = clock_stopwatch_us(), passes = 0;
    for (; clock_stopwatch_us() - begin < MEASURE_US; passes++)
        for (size_t at = 0; at < len; at += PIECE)
            watch_feed(watch, 0, 0, log + at, len - at < PIECE ? len - at : PIECE, 1);
    double speed = (double)len * (double)passes / (double)(clock_stopwatch_us() - begin);
    while (rules_next(watch_rules(watch), &finding))
        ;
    const struct rule_list *rules = rules_list(watch_rules(watch));
    printf("\"matches\":{");
    for (size_t i = 0; i < rules->count; i++)
        printf("%s\"%s\":%" PRId64, i > 0 ? "," : "", rules->rules[i].name,
               rules_matches(watch_rules(watch), i) / passes);
    printf("},");
    return speed;
}

static int read_log(const char *log_path, const char *rules_path)
{
    autofree char *log = NULL, *rules = NULL;
    size_t len, rules_len;
    char error[RULE_ERROR_MAX];
    struct rule_list list;
    if (file_read(log_path, LOG_BYTES_MAX, &log, &len) != 0 ||
        file_read(rules_path, LOG_BYTES_MAX, &rules, &rules_len) != 0 ||
        rule_read_text(rules, rules_len, &list, error) != 0)
        return 1;
    double alone = scan_alone(log, len, &list);
    printf("{");
    double all = read_all(log, len, &list);
    printf("\"mbPerSecond\":%.1f,\"scanMbPerSecond\":%.1f}\n", all, alone);
    return 0;
}

int main(int argc, char **argv)
{
    int64_t bytes;
    if (argc == 5 && strcmp(argv[1], "make") == 0 && text_parse_i64(argv[2], 1, (int64_t)LOG_BYTES_MAX, &bytes) == 0)
        return make((size_t)bytes, argv[3], argv[4]);
    if (argc == 4 && strcmp(argv[1], "read") == 0)
        return read_log(argv[2], argv[3]);
    fprintf(stderr, "usage: joblog make BYTES LOG RULES | joblog read LOG RULES\n");
    return 2;
}
