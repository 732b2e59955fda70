/*
 * From a verdict's code and raw line to what it asks for: the row of the table, then what the line itself adds.
 *
 * The line is trusted for details only when it parses and carries the same code as the verdict.
 */
#include "policy/faults/decode.h"

#include "base/text.h"

#include <stdio.h>
#include <string.h>

static bool code_number(const char *code, const char *prefix, int *ret_number)
{
    int64_t number = 0;
    if (!text_starts_with(code, prefix) || text_parse_i64(code + strlen(prefix), 0, 99999, &number) != 0)
        return false;
    *ret_number = (int)number;
    return true;
}

bool fault_is_inert(const char *code)
{
    int number = 0;
    const struct fault_xid *row = code_number(code, "xid.", &number) ? fault_xid_find(number) : NULL;
    return row != NULL && row->action <= ACTION_CLASS_APP && row->again <= ACTION_CLASS_APP && row->rate_count == 0 &&
           row->cancels == 0;
}

static struct decode_detail detail_of(const char *raw_line, int number, bool is_sxid)
{
    struct xid_line line;
    if (xid_line_parse(raw_line, strlen(raw_line), &line) != 0 || line.code != number || line.is_sxid != is_sxid)
        return (struct decode_detail){"", 0};
    return (struct decode_detail){line.detail, line.detail_len};
}

static void take_row(const struct fault_xid *row, struct fault_judgement *judgement)
{
    judgement->row = row;
    judgement->action = row->action;
    judgement->again = row->again;
    judgement->urgency = row->urgency;
    judgement->severity = row->severity;
}

static void say(const char *kind, int number, const struct decode_note *note, struct fault_judgement *judgement)
{
    const struct fault_xid *row = judgement->row;
    char table[80] = "";
    if (note->text[0] == '\0' && row->nvidia[0] != '\0')
        snprintf(table, sizeof(table), "NVIDIA asks for %s", row->nvidia);
    else if (note->text[0] == '\0')
        snprintf(table, sizeof(table), "NVIDIA names no action");
    snprintf(judgement->why, sizeof(judgement->why), "%s %d (%s): %s%s", kind, number, row->meaning, table, note->text);
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

void fault_judge(const char *source, const char *code, const char *raw_line, struct fault_judgement *ret_judgement)
{
    struct fault_judgement judgement = {.action = ACTION_CLASS_WATCH,
                                        .again = ACTION_CLASS_WATCH,
                                        .urgency = URGENCY_AFTER_JOBS,
                                        .severity = SEVERITY_WARN};
    struct decode_note note = {""};
    int number = 0;
    bool is_xid = code_number(code, "xid.", &number);
    bool is_sxid = !is_xid && code_number(code, "sxid.", &number);
    const struct fault_xid *row = is_xid ? fault_xid_find(number) : is_sxid ? fault_sxid_find(number) : NULL;
    if (row != NULL)
        take_row(row, &judgement);
    if (is_xid && row != NULL)
        decode_xid(number, raw_line, &judgement, &note);
    if (is_sxid) {
        struct decode_detail detail = detail_of(raw_line, number, true);
        decode_sxid(&detail, &judgement, &note);
    }
    if (row != NULL && is_xid)
        say("Xid", number, &note, &judgement);
    else if (row != NULL)
        snprintf(judgement.why, sizeof(judgement.why), "SXid %d (%s)%s%s", number, row->meaning,
                 note.text[0] != '\0' ? ": " : "", note.text);
    else
        snprintf(judgement.why, sizeof(judgement.why), "%.40s from %.24s is in no table%s%s", code, source,
                 note.text[0] != '\0' ? ": " : ", so it is only watched", note.text);
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
