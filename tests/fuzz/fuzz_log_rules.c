/* A pattern and a log of others: any pieces of the log say the same, and no pattern takes for ever. The first line is the pattern. */
// ROOMS: base model policy agents
#include "tests/fuzz/fuzz.h"

#include "agents/launcher/rule_read.h"
#include "agents/launcher/watch.h"
#include "base/clock.h"

#define PIECE 7
#define TIME_US_MAX 8000000

struct outcome {
    size_t count;
    enum rule_kind kinds[16];
    char lines[16][RULE_LINE_MAX];
};

static struct rule_list rules_of(const char *regex, size_t len)
{
    char error[RULE_ERROR_MAX];
    struct rule_list list = {0};
    AUTO(json) json_t *rules = json_array();
    json_t *value = json_object(), *fault = json_object();
    json_object_set_new(value, "name", json_string("value"));
    json_object_set_new(value, "logPattern", json_stringn(regex, len));
    json_object_set_new(value, "metricThreshold", json_real(1.5));
    json_object_set_new(value, "operator", json_string("gt"));
    json_object_set_new(value, "expectedStartCutOffInSeconds", json_integer(1));
    json_object_set_new(fault, "name", json_string("fault"));
    json_object_set_new(fault, "logPattern", json_string("#"));
    json_object_set_new(fault, "stopPattern", json_stringn(regex, len));
    json_object_set_new(fault, "faultOnMatch", json_true());
    json_array_append_new(rules, value);
    json_array_append_new(rules, fault);
    if (rule_read(rules, &list, error) != 0)
        list = (struct rule_list){0};
    return list;
}

static void collect(struct watch *watch, struct outcome *outcome)
{
    struct rule_finding finding;
    rules_tick(watch_rules(watch), 2000);
    while (rules_next(watch_rules(watch), &finding)) {
        free(rules_sentence(watch_rules(watch), &finding));
        if (outcome->count == 16)
            continue;
        outcome->kinds[outcome->count] = finding.kind;
        memcpy(outcome->lines[outcome->count++], finding.line, RULE_LINE_MAX);
    }
}

static struct outcome live(const char *regex, size_t regex_len, const char *log, size_t len, size_t piece)
{
    struct outcome outcome = {0};
    AUTO(watch) struct watch *watch = watch_new(1);
    struct rule_list list = rules_of(regex, regex_len);
    watch_set_rules(watch, &list, 0);
    for (size_t at = 0; at < len; at += piece)
        watch_feed(watch, 0, 0, log + at, at + piece < len ? piece : len - at, 1);
    watch_end(watch, 0, 0, 1);
    collect(watch, &outcome);
    return outcome;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data, *newline = memchr(data, '\n', size);
    size_t regex_len = newline == NULL ? size : (size_t)(newline - text);
    size_t len = newline == NULL ? 0 : size - regex_len - 1;
    int64_t begin = clock_stopwatch_us();
    if (regex_len > 200 || len > 4000)
        return 0;
    autofree char *log = fuzz_text(data + size - len, len);
    struct outcome whole = live(text, regex_len, log, len, len + 1), pieces = live(text, regex_len, log, len, PIECE);
    REQUIRE(clock_stopwatch_us() - begin < TIME_US_MAX);
    REQUIRE(whole.count == pieces.count);
    for (size_t i = 0; i < whole.count; i++) {
        REQUIRE(whole.kinds[i] == pieces.kinds[i]);
        REQUIRE(strcmp(whole.lines[i], pieces.lines[i]) == 0);
    }
    return 0;
}
