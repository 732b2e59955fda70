/* `hp-agent check`: runs the checks once, with the code of the agent's loop, and prints a table or JSON. */
#include "agents/node/by_hand.h"

#include "agents/checks/checks.h"
#include "agents/checks/custom.h"
#include "agents/node/settings.h"
#include "agents/node/shape.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/option.h"
#include "base/own.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define STATE_DIR_DEFAULT "/var/lib/hp-agent" /* as the unit has it */
#define EXIT_OK 0
#define EXIT_FOUND 1
#define EXIT_USAGE 2
#define EXIT_UNKNOWN 3

struct line {
    const struct check *check;
    struct check_report report;
};

struct hand {
    struct checks_options options;
    const char *settings, *state_dir; /* of the agent whose settings are used */
    bool json, checks, help;
    struct line *lines; /* in the order of completion */
    size_t count;
};

#define TEXT(...) OPTION_ROW_TEXT(struct hand, __VA_ARGS__)
#define FLAG(...) OPTION_ROW_FLAG(struct hand, __VA_ARGS__)
static const struct option_row option_rows[] = {
    FLAG("json", json, "print JSON"),
    TEXT("checks-dir", options.dir, "DIR", "a site's own checks (default " CUSTOM_DIR_DEFAULT ")"),
    TEXT("instance-type", options.instance_type, "TYPE", "instance type, for checks that depend on it"),
    TEXT("settings", settings, "FILE", "settings of the checks (default " SETTINGS_FILE_DEFAULT ")"),
    TEXT("state-dir", state_dir, "DIR", "of the agent, for its group's settings (default " STATE_DIR_DEFAULT ")"),
    TEXT("root", options.root, "DIR", NULL), /* for tests */
    FLAG("checks", checks, NULL),            /* what hp-agent itself calls it; not a beginning of --checks-dir */
    FLAG("help", help, "print this"),
};
static const struct option_table option_table = {
    .rows = option_rows, .count = ARRAY_LEN(option_rows), .abbreviated = true};

static void print_help(void)
{
    size_t count;
    const struct check *const *checks = checks_table(&count);
    puts("hp-agent check [NAME...] [options]\n\n"
         "Runs the checks once and prints the results. Exit code: 0 no findings, 1 findings,\n"
         "2 wrong usage, 3 some result is unknown.\n");
    option_print_all(&option_table, stdout);
    puts("");
    for (size_t i = 0; i < count; i++)
        printf("  %-12s %s\n", checks[i]->name, checks[i]->about);
}

/* -1: continue; else the exit code. names: the requested checks, comma-separated. */
static int parse(int argc, char **argv, struct hand *hand, struct text *names)
{
    char error[OPTION_ERROR_MAX];
    autofree const char **words = own_calloc((size_t)argc + 1, sizeof(*words));
    if (option_read(&option_table, argc, argv, hand, words, error) != 0) {
        fprintf(stderr, "hp-agent: %s\nTry hp-agent check --help.\n", error);
        return EXIT_USAGE;
    }
    if (hand->help) {
        print_help();
        return EXIT_OK;
    }
    if (hand->checks) {
        fputs("hp-agent check takes the names of checks as words; --checks-dir DIR is where a site's own are\n",
              stderr);
        return EXIT_USAGE;
    }
    for (size_t i = 0; words[i] != NULL; i++)
        text_printf(names, "%s%s", i > 0 ? "," : "", words[i]);
    hand->options.names = names->len > 0 ? names->data : "all";
    return -1;
}

/* The caller owns the report. Copies the fields that are shown. */
static void on_report(const struct check *check, const struct check_report *report, void *arg)
{
    struct hand *hand = arg;
    hand->lines = own_realloc(hand->lines, hand->count + 1, sizeof(*hand->lines));
    struct line *line = &hand->lines[hand->count++];
    *line = (struct line){.check = check,
                          .report = {.result = report->result, .observation_count = report->observation_count}};
    text_copy_cut(line->report.why, sizeof(line->report.why), report->why);
    line->report.observations = own_calloc(report->observation_count + 1, sizeof(*report->observations));
    memcpy(line->report.observations, report->observations, report->observation_count * sizeof(*report->observations));
}

static void run_all(struct hand *hand, struct checks *checks)
{
    struct pollfd fds[CHECKS_FDS_MAX];
    for (checks_turn(checks, on_report, hand); checks_due_ms(checks) < INT64_MAX;
         checks_turn(checks, on_report, hand)) {
        int64_t wait = checks_due_ms(checks) - clock_mono_ms(clock_system());
        (void)poll(fds, checks_fds(checks, fds), wait < 0 ? 0 : (int)wait);
    }
}

/* --- shown --------------------------------------------------------------------------------------------------- */

static void print_table(const struct line *line)
{
    const struct check_report *report = &line->report;
    const char *result =
        report->result == CHECK_RESULT_NOT_APPLICABLE ? "not applicable" : check_result_text(report->result);
    for (size_t i = 0; i < report->observation_count; i++) {
        const struct check_observation *observation = &report->observations[i];
        printf("%-12s  %-14s  %s%s%s: %s\n", line->check->name, result, observation->code,
               observation->device[0] != '\0' ? " " : "", observation->device, observation->text);
    }
    if (report->observation_count == 0 || report->why[0] != '\0')
        printf("%-12s  %-14s  %s\n", line->check->name, report->observation_count > 0 ? "unknown" : result,
               report->why);
}

static void write_observation(struct text *out, const struct check *check, const struct check_observation *observation,
                              bool first)
{
    const struct finding finding = check_finding(check->name, observation, 0);
    text_add(out, first ? "{" : ",{");
    shape_put_text(out, "\"code\":", observation->code);
    shape_put_text(out, ",\"device\":", observation->device);
    shape_put_text(out, ",\"severity\":", severity_text(finding.severity));
    shape_put_i64(out, ",\"count\":", observation->count);
    text_add(out, observation->is_event ? ",\"kind\":\"event\"" : ",\"kind\":\"state\"");
    shape_put_text(out, ",\"text\":", observation->text);
    text_add_char(out, '}');
}

static void write_json(struct text *out, const struct line *line, bool first)
{
    const struct check_report *report = &line->report;
    text_add(out, first ? "{" : ",\n {");
    shape_put_text(out, "\"check\":", line->check->name);
    shape_put_text(out, ",\"result\":", check_result_text(report->result));
    if (report->why[0] != '\0')
        shape_put_text(out, ",\"why\":", report->why);
    text_add(out, ",\"found\":[");
    for (size_t i = 0; i < report->observation_count; i++)
        write_observation(out, line->check, &report->observations[i], i == 0);
    text_add(out, "]}");
}

/* In the order of the table. */
static int by_table(const void *left, const void *right)
{
    size_t count;
    const struct check *a = ((const struct line *)left)->check, *b = ((const struct line *)right)->check;
    const struct check *const *table = checks_table(&count);
    for (size_t i = 0; i < count; i++)
        if (table[i] == a || table[i] == b)
            return table[i] == a ? -1 : 1;
    return strcmp(a->name, b->name);
}

static int show(struct hand *hand)
{
    int code = EXIT_OK;
    AUTO(text) struct text json = {0};
    if (hand->count > 1)
        qsort(hand->lines, hand->count, sizeof(*hand->lines), by_table);
    for (size_t i = 0; i < hand->count; i++) {
        enum check_result result = hand->lines[i].report.result;
        if (result == CHECK_RESULT_FOUND)
            code = EXIT_FOUND;
        else if (result == CHECK_RESULT_UNKNOWN && code == EXIT_OK)
            code = EXIT_UNKNOWN;
        if (hand->json)
            write_json(&json, &hand->lines[i], i == 0);
        else
            print_table(&hand->lines[i]);
    }
    if (hand->json)
        printf("[%s]\n", text_get(&json));
    return code;
}

/* The settings of this machine's agent. Refusals are logged. False when a named file does not exist. */
static bool read_settings(const struct hand *hand, struct settings *settings)
{
    log_set_level(LOG_LEVEL_WARN);
    if (!text_equal(hand->settings, SETTINGS_FILE_DEFAULT) && access(hand->settings, F_OK) != 0) {
        fprintf(stderr, "hp-agent: %s: %s\n", hand->settings, strerror(errno));
        return false;
    }
    settings_open(settings, hand->settings, hand->state_dir, NULL);
    return true;
}

int by_hand(int argc, char **argv)
{
    struct hand hand = {.options = {.root = "",
                                    .instance_type = "",
                                    .dir = CUSTOM_DIR_DEFAULT,
                                    .state_dir = "",
                                    .boot_id = "",
                                    .instance_id = "",
                                    .once = true},
                        .settings = SETTINGS_FILE_DEFAULT,
                        .state_dir = STATE_DIR_DEFAULT};
    AUTO(text) struct text names = {0};
    struct settings settings;
    struct checks *checks = NULL;
    char error[CHECKS_ERROR_MAX];
    int code = parse(argc, argv, &hand, &names);
    if (code >= 0)
        return code;
    if (!read_settings(&hand, &settings))
        return EXIT_USAGE;
    if (settings.own_refused[0] != '\0') {
        fprintf(stderr,
                "hp-agent: nothing was checked: %s is refused; fix it, or check without it: --settings /dev/null\n",
                hand.settings);
        settings_close(&settings);
        return EXIT_USAGE;
    }
    hand.options.settings = &settings.both;
    if (checks_new(&hand.options, &checks, error) != 0) {
        fprintf(stderr, "hp-agent: %s\nTry hp-agent check --help.\n", error);
        settings_close(&settings);
        return EXIT_USAGE;
    }
    run_all(&hand, checks);
    code = show(&hand);
    for (size_t i = 0; i < hand.count; i++)
        report_free(&hand.lines[i].report);
    free(hand.lines);
    checks_free(checks);
    settings_close(&settings);
    return code;
}

int by_hand_settings(int argc, char **argv)
{
    struct hand hand = {.settings = SETTINGS_FILE_DEFAULT, .state_dir = STATE_DIR_DEFAULT};
    AUTO(text) struct text names = {0};
    struct settings settings;
    int code = parse(argc, argv, &hand, &names);
    if (code >= 0)
        return code;
    if (!read_settings(&hand, &settings))
        return EXIT_USAGE;
    settings_print(&settings, hand.json);
    code = settings.own_refused[0] != '\0' ? EXIT_FOUND : EXIT_OK;
    settings_close(&settings);
    return code;
}
