/*
 * Xid 144–150 (NVLink 5, Blackwell): "SAW_MVB Nonfatal XC0 i0 Link 00 (<IntrInfo> <ErrorStatus> …)".
 *
 * Sub-component, IntrInfo and ErrorStatus pick a line of nvlink5.def. The line does not say which driver wrote it,
 * so both layouts of IntrInfo are tried; the name in the line keeps them apart. Where nothing matches, the word
 * "Fatal" decides: by NVIDIA's definition all links of the GPU are down then.
 */
#include "policy/faults/decode.h"

#include <stdio.h>
#include <string.h>

enum asks { IGNORE, XID_154_EVAL, RESET_GPU }; /* ascending */
enum weight { NONFATAL, NONFATAL_PROMOTABLE, LINK_FATAL, LINK_FATAL_UNCERTAIN, FATAL_USUALLY, FATAL };

#define ANY_STATUS UINT64_MAX
#define ANY ANY_STATUS
#define NVLINK5(xid, name, v1, v2, status, immediate, investigate, weight) \
    {xid, name, {v1, v2}, status, immediate, #immediate, investigate, weight},
#define PROMOTED(xid, name, v1, v2, status, immediate, investigate) \
    {xid, name, {v1, v2}, status, immediate, #immediate, investigate, FATAL},

static const struct row {
    int xid;
    const char *name; /* alternatives are parted by '/' */
    const char *masks[2];
    uint64_t status;
    enum asks asks;
    const char *asks_text, *investigate;
    enum weight weight;
} rows[] = {
#include "policy/faults/nvlink5.def"
};

struct nvlink5_line {
    const char *name;
    size_t name_len;
    bool fatal, has_registers;
    uint32_t intrinfo, status;
};

static bool mask_matches(const char *mask, uint32_t value)
{
    for (int i = 0; i < 32; i++) {
        char wanted = mask[i];
        if (wanted != '-' && (wanted == '1') != ((value >> (31 - i)) & 1u))
            return false;
    }
    return true;
}

static bool word_in(const char *list, const char *word, size_t len)
{
    for (const char *at = list; *at != '\0';) {
        size_t part = strcspn(at, "/ ");
        if (part == len && memcmp(at, word, len) == 0)
            return true;
        at += part + (at[part] != '\0' ? 1 : 0);
    }
    return false;
}

/* The line may name both ("TLW_RX/TLW_RX_PIPE0"): its last part is the exact one. */
static bool name_matches(const char *row_name, const struct nvlink5_line *line)
{
    const char *slash = memrchr(line->name, '/', line->name_len);
    const char *last = slash == NULL ? line->name : slash + 1;
    return word_in(row_name, last, line->name_len - (size_t)(last - line->name));
}

/* The sub-component is the last word in front of Fatal or Nonfatal. */
static bool read_line(const struct decode_detail *detail, struct nvlink5_line *line)
{
    size_t at = decode_find(detail, 0, "Nonfatal");
    line->fatal = at == detail->len;
    if (line->fatal)
        at = decode_find(detail, 0, "Fatal");
    if (at == detail->len)
        return false;
    size_t end = at;
    while (end > 0 && detail->text[end - 1] == ' ')
        end--;
    size_t start = end;
    while (start > 0 && detail->text[start - 1] != ' ')
        start--;
    line->name = detail->text + start;
    line->name_len = end - start;
    size_t open = decode_find(detail, at, "(");
    open += open < detail->len ? 1 : 0;
    line->has_registers = decode_hex(detail, &open, &line->intrinfo) && decode_hex(detail, &open, &line->status);
    return line->name_len > 0;
}

static bool row_fits(const struct row *row, int xid, const struct nvlink5_line *line, uint32_t status)
{
    return row->xid == xid && name_matches(row->name, line) &&
           (mask_matches(row->masks[0], line->intrinfo) || mask_matches(row->masks[1], line->intrinfo)) &&
           (row->status == ANY_STATUS || row->status == status);
}

static const struct row *strongest(int xid, const struct nvlink5_line *line, uint32_t status)
{
    const struct row *found = NULL;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (row_fits(&rows[i], xid, line, status) && (found == NULL || rows[i].asks > found->asks))
            found = &rows[i];
    return found;
}

/* The status of 144–148 is a set of bits: one that has several is as bad as the worst of them. */
static const struct row *find_row(int xid, const struct nvlink5_line *line)
{
    const struct row *found = strongest(xid, line, line->status);
    if (found != NULL || xid > 148)
        return found;
    for (int bit = 0; bit < 32; bit++) {
        if (((line->status >> bit) & 1u) == 0)
            continue;
        const struct row *part = strongest(xid, line, UINT32_C(1) << bit);
        if (part != NULL && (found == NULL || part->asks > found->asks))
            found = part;
    }
    return found;
}

/* Of a part whose events NVIDIA leaves to a 154 an event that the sheet does not have is no clearer. */
static bool may_be_undecided(int xid, const struct nvlink5_line *line)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (rows[i].xid == xid && rows[i].asks == XID_154_EVAL && name_matches(rows[i].name, line))
            return true;
    return false;
}

static void ask_reset(struct fault_judgement *judgement, bool all_links_down)
{
    judgement->action = ACTION_CLASS_RESET;
    judgement->again = ACTION_CLASS_REPLACE;
    judgement->urgency = all_links_down ? URGENCY_NOW : URGENCY_AFTER_JOBS;
    judgement->severity = SEVERITY_CRITICAL;
}

void decode_nvlink5(const struct decode_detail *detail, struct fault_judgement *judgement, struct decode_note *note)
{
    struct nvlink5_line line = {0};
    if (!read_line(detail, &line))
        return;
    int name_len = line.name_len > 40 ? 40 : (int)line.name_len;
    const struct row *row = line.has_registers ? find_row(judgement->row->number, &line) : NULL;
    if (row == NULL) {
        decode_note(note, "%.*s is not in the decode sheet, the line says %s", name_len, line.name,
                    line.fatal ? "fatal" : "non-fatal");
        if (line.fatal)
            ask_reset(judgement, true);
        else
            judgement->undecided = may_be_undecided(judgement->row->number, &line);
        return;
    }
    const char *asks = decode_bucket(row->asks_text), *then = decode_bucket(row->investigate);
    bool more = strcmp(asks, then) != 0;
    decode_note(note, "%.*s, status 0x%08x: NVIDIA asks %s%s%s", name_len, line.name, line.status, asks,
                more ? ", then " : "", more ? then : "");
    if (row->asks == RESET_GPU)
        ask_reset(judgement, row->weight >= FATAL_USUALLY);
    else if (row->asks == XID_154_EVAL) /* a 154 beside it is put first by folding; without one nobody has decided */
        judgement->undecided = true;
}
