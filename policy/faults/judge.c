/*
 * From a verdict's code and raw line to what it asks for: the row of the table, then what the line itself adds.
 *
 * The line is trusted for details only when it parses and carries the same code as the verdict.
 */
#include "policy/faults/decode.h"

#include <stdio.h>
#include <string.h>

bool fault_is_inert(const char *code)
{
    const struct fault_row *row = fault_find(code);
    return row != NULL && row->action <= ACTION_CLASS_APP && row->again <= ACTION_CLASS_APP && row->rate_count == 0 &&
           row->cancels[0] == '\0' && row->ends[0] == '\0';
}

static struct decode_detail detail_of(const char *raw_line, int number, bool is_sxid)
{
    struct xid_line line;
    if (xid_line_parse(raw_line, strlen(raw_line), &line) != 0 || line.code != number || line.is_sxid != is_sxid)
        return (struct decode_detail){"", 0};
    return (struct decode_detail){line.detail, line.detail_len};
}

static void take_row(const struct fault_row *row, struct fault_judgement *judgement)
{
    judgement->row = row;
    judgement->action = row->action;
    judgement->again = row->again;
    judgement->urgency = row->urgency;
    judgement->severity = row->severity;
    judgement->driver_word = row->driver_word;
}

static void decode_xid(int number, const char *raw_line, struct fault_judgement *judgement, struct decode_note *note)
{
    struct decode_detail detail = detail_of(raw_line, number, false);
    if (number == 154)
        decode_recovery(&detail, judgement, note);
    else if (number == 74)
        decode_nvlink4(&detail, judgement, note);
    else if (number >= 144 && number <= 150)
        decode_nvlink5(&detail, judgement, note);
}

/* Where a row asks for something else than NVIDIA's catalog: why. */
static const struct {
    int number;
    const char *why;
} deviations[] = {
    {32, "it is mostly the path to the GPU, and one finding does not tell"},
    {54, "nobody reaches the cables of a rented machine, so another one is due"},
    {63, "only a reset remaps the row"},
    {64, "its spare rows are used up, so another machine is due"},
    {71, "AWS shows it as a code that it reboots for"},
    {94, "the error was contained, and only a reset remaps the row"},
    {119, "the firmware that would carry out the reset does not answer, so the node is rebooted"},
    {120, "the firmware that would carry out the reset has failed, so the node is rebooted"},
    {142, "only GB200 uses it, so that one finding is counted"},
    {143, "a GPU that did not come up takes no reset, so the node is rebooted"},
};

static const char *why_otherwise(int number)
{
    for (size_t i = 0; i < sizeof(deviations) / sizeof(deviations[0]); i++)
        if (deviations[i].number == number)
            return deviations[i].why;
    return NULL;
}

static void judge_xid(int number, const char *raw_line, struct fault_judgement *judgement)
{
    const struct fault_row *row = judgement->row;
    struct decode_note note = {""};
    char table[200] = "";
    const char *otherwise = why_otherwise(number);
    decode_xid(number, raw_line, judgement, &note);
    if (note.text[0] == '\0' && row->nvidia[0] != '\0')
        snprintf(table, sizeof(table), "NVIDIA asks %s%s%s", decode_bucket(row->nvidia),
                 otherwise != NULL ? "; here otherwise, as " : "", otherwise != NULL ? otherwise : "");
    else if (note.text[0] == '\0')
        snprintf(table, sizeof(table), "NVIDIA names no action");
    snprintf(judgement->why, sizeof(judgement->why), "Xid %d (%s): %s%s", number, row->meaning, table, note.text);
}

/* Also a code that no table has: its line may say that it is fatal. */
static void judge_sxid(int number, const char *raw_line, struct fault_judgement *judgement)
{
    struct decode_note note = {""};
    struct decode_detail detail = detail_of(raw_line, number, true);
    decode_sxid(&detail, judgement, &note);
    const char *colon = note.text[0] != '\0' ? ": " : "";
    if (judgement->row != NULL)
        snprintf(judgement->why, sizeof(judgement->why), "SXid %d (%s)%s%s", number, judgement->row->meaning, colon,
                 note.text);
    else if (note.text[0] != '\0')
        snprintf(judgement->why, sizeof(judgement->why), "sxid.%d is in no table: %s", number, note.text);
}

void fault_judge(const char *source, const char *code, const char *raw_line, struct fault_judgement *ret_judgement)
{
    fault_judge_in(NULL, source, code, raw_line, ret_judgement);
}

void fault_judge_in(const struct fault_scope *scope, const char *source, const char *code, const char *raw_line,
                    struct fault_judgement *ret_judgement)
{
    struct fault_judgement judgement = {.action = ACTION_CLASS_WATCH,
                                        .again = ACTION_CLASS_WATCH,
                                        .urgency = URGENCY_AFTER_JOBS,
                                        .severity = SEVERITY_WARN};
    const struct fault_row *site = fault_override_find(scope, code), *row = site != NULL ? site : fault_find(code);
    int number = 0;
    if (row != NULL)
        take_row(row, &judgement);
    if (fault_code_number(code, "sxid.", &number))
        judge_sxid(number, raw_line, &judgement);
    else if (row != NULL && fault_code_number(code, "xid.", &number))
        judge_xid(number, raw_line, &judgement);
    else if (row != NULL)
        snprintf(judgement.why, sizeof(judgement.why), "%s (%s)", row->code, row->meaning);
    if (judgement.why[0] == '\0')
        snprintf(judgement.why, sizeof(judgement.why), "%.40s from %.24s is in no table", code, source);
    if (site != NULL) { /* also above what the line adds; its words stay, as they say what happened */
        take_row(site, &judgement);
        judgement.by_site = true;
        size_t len = strlen(judgement.why);
        snprintf(judgement.why + len, sizeof(judgement.why) - len, ", the site's own rule says %s",
                 action_class_text(site->action));
    }
    *ret_judgement = judgement;
}

/* The number behind a word, as in "GPC 1" or "on link 6(". */
static bool part_number(const char *raw_line, const char *word, uint32_t *ret_number)
{
    struct decode_detail line = {raw_line, strlen(raw_line)};
    size_t at = decode_find(&line, 0, word);
    if (at == line.len)
        return false;
    at += strlen(word);
    return decode_decimal(&line, &at, ret_number);
}

bool fault_same_unit(const char *code, const char *line_a, const char *line_b)
{
    static const struct {
        const char *code, *word;
    } parts[] = {{"xid.13", "(GPC "}, {"xid.13", "TPC "}, {"xid.74", "on link "}};
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        uint32_t a = 0, b = 0;
        if (strcmp(parts[i].code, code) == 0 && part_number(line_a, parts[i].word, &a) &&
            part_number(line_b, parts[i].word, &b) && a != b)
            return false;
    }
    return true;
}
