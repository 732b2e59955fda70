/*
 * Xid 154, the driver's own verdict on a GPU: "GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)".
 *
 * The number and the text are NVML's enum and its words [V]; either may be missing, but when both are there they
 * have to agree. A value that we do not know is for a person; a line that breaks off before the value says nothing.
 */
#include "policy/faults/decode.h"

#include <string.h>
#include <strings.h>

static const struct word {
    uint32_t value;
    const char *text; /* NULL: only newer NVML headers know it, no line was seen yet */
    const char *says;
    enum action_class action, again;
    enum urgency urgency;
    enum severity severity;
} words[] = {
    {0, "None", "nothing", ACTION_CLASS_IGNORE, ACTION_CLASS_IGNORE, URGENCY_AFTER_JOBS, SEVERITY_OK},
    {1, "GPU Reset Required", "a GPU reset", ACTION_CLASS_RESET, ACTION_CLASS_REPLACE, URGENCY_NOW, SEVERITY_CRITICAL},
    {2, "Node Reboot Required", "a reboot of the node", ACTION_CLASS_REBOOT, ACTION_CLASS_REPLACE, URGENCY_NOW,
     SEVERITY_CRITICAL},
    /* Only a warning to Azure's agent; the driver raises the word when more is needed. */
    {3, "Drain P2P", "an end of peer-to-peer traffic", ACTION_CLASS_WATCH, ACTION_CLASS_WATCH, URGENCY_AFTER_JOBS,
     SEVERITY_WARN},
    {4, "Drain and Reset", "a GPU reset once its jobs are done", ACTION_CLASS_RESET, ACTION_CLASS_REPLACE,
     URGENCY_AFTER_JOBS, SEVERITY_CRITICAL},
    {5, NULL, "a recovery of the IMEX domain", ACTION_CLASS_SUPPORT, ACTION_CLASS_SUPPORT, URGENCY_AFTER_JOBS,
     SEVERITY_CRITICAL},
    {6, NULL, "a bus reset", ACTION_CLASS_REBOOT, ACTION_CLASS_REPLACE, URGENCY_NOW, SEVERITY_CRITICAL},
    {7, NULL, "a reboot of the system", ACTION_CLASS_REBOOT, ACTION_CLASS_REPLACE, URGENCY_NOW, SEVERITY_CRITICAL},
};

/* How newer drivers and nvidia-smi name them. */
static const struct {
    uint32_t value;
    const char *text;
} names[] = {{1, "GPU Reset"}, {1, "Reset"},     {2, "Node Reboot"},   {2, "OS Reboot"},
             {2, "Reboot"},    {6, "Bus Reset"}, {7, "System Reboot"}, {5, "Recover IMEX Domain"}};

static const struct word *by_value(uint32_t value)
{
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (words[i].value == value)
            return &words[i];
    return NULL;
}

static const struct word *by_text(const char *text, size_t len)
{
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (words[i].text != NULL && strlen(words[i].text) == len && strncasecmp(words[i].text, text, len) == 0)
            return &words[i];
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strlen(names[i].text) == len && strncasecmp(names[i].text, text, len) == 0)
            return by_value(names[i].value);
    return NULL;
}

/* What stands behind " to ": *ret_said is true when there is a whole value, known or not. */
static const struct word *read_value(const struct decode_detail *detail, size_t at, bool *ret_said)
{
    uint32_t number = 0;
    bool has_number = decode_hex(detail, &at, &number);
    while (at < detail->len && detail->text[at] == ' ')
        at++;
    bool paren = at < detail->len && detail->text[at] == '(';
    size_t start = at + (paren ? 1 : 0);
    size_t end = paren ? decode_find(detail, start, ")") : detail->len;
    bool has_text = paren ? end < detail->len : !has_number && start < end;
    while (!paren && end > start && strchr(" .\r\n", detail->text[end - 1]) != NULL)
        end--;

    const struct word *number_word = has_number ? by_value(number) : NULL;
    const struct word *text_word = has_text ? by_text(detail->text + start, end - start) : NULL;
    /* Bare words without number or brackets count only when they are known: they may be a cut line. */
    *ret_said = has_number || (has_text && (paren || text_word != NULL));
    if (!has_number)
        return text_word;
    bool known = number_word != NULL && (number_word->text != NULL || text_word != NULL);
    bool texts_differ = has_text && known && text_word != number_word;
    return texts_differ ? NULL : number_word;
}

void decode_recovery(const struct decode_detail *detail, struct fault_judgement *judgement, struct decode_note *note)
{
    static const char to[] = " to ";
    size_t at = decode_find(detail, 0, to);
    judgement->driver_word = false; /* the row's, as long as the line shows none */
    if (at == detail->len)
        return;
    bool said = false;
    const struct word *word = read_value(detail, at + sizeof(to) - 1, &said);
    if (!said)
        return;
    judgement->driver_word = true;
    if (word == NULL) {
        judgement->action = judgement->again = ACTION_CLASS_SUPPORT;
        judgement->severity = SEVERITY_CRITICAL;
        decode_note(note, "the driver asks for something this table does not know");
        return;
    }
    judgement->action = word->action;
    judgement->again = word->again;
    judgement->urgency = word->urgency;
    judgement->severity = word->severity;
    decode_note(note, "the driver asks for %s%s%s%s", word->says, word->text != NULL ? " (" : "",
                word->text != NULL ? word->text : "", word->text != NULL ? ")" : "");
}
