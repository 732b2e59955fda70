/* The small readers of decode.h. Details come from kernel logs: any byte, any length, no zero at the end. */
#include "policy/faults/decode.h"

#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void decode_note(struct decode_note *note, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(note->text, sizeof(note->text), fmt, ap);
    va_end(ap);
}

size_t decode_find(const struct decode_detail *detail, size_t from, const char *word)
{
    if (from >= detail->len)
        return detail->len;
    const char *hit = memmem(detail->text + from, detail->len - from, word, strlen(word));
    return hit == NULL ? detail->len : (size_t)(hit - detail->text);
}

bool decode_has(const struct decode_detail *detail, const char *word)
{
    return decode_find(detail, 0, word) < detail->len;
}

bool decode_hex(const struct decode_detail *detail, size_t *at, uint32_t *ret_value)
{
    size_t i = *at;
    while (i < detail->len && (detail->text[i] == ' ' || detail->text[i] == ','))
        i++;
    if (i + 2 >= detail->len || detail->text[i] != '0' || detail->text[i + 1] != 'x')
        return false;
    i += 2;
    uint32_t value = 0;
    int digits = 0;
    for (; i < detail->len && text_hex_digit(detail->text[i]) >= 0; i++, digits++) {
        if (digits == 8)
            return false;
        value = (value << 4) | (uint32_t)text_hex_digit(detail->text[i]);
    }
    if (digits == 0)
        return false;
    *at = i;
    *ret_value = value;
    return true;
}

bool decode_decimal(const struct decode_detail *detail, size_t *at, uint32_t *ret_value)
{
    size_t i = *at;
    uint32_t value = 0;
    int digits = 0;
    for (; i < detail->len && detail->text[i] >= '0' && detail->text[i] <= '9'; i++, digits++) {
        if (digits == 9)
            return false;
        value = value * 10 + (uint32_t)(detail->text[i] - '0');
    }
    if (digits == 0)
        return false;
    *at = i;
    *ret_value = value;
    return true;
}

const char *decode_bucket(const char *bucket)
{
    static const struct {
        const char *name, *words;
    } buckets[] = {
        {"IGNORE", "for nothing"},
        {"RESTART_APP", "to restart the program"},
        {"RESET_GPU", "to reset the GPU"},
        {"RESTART_VM", "to restart the virtual machine"},
        {"RESTART_BM", "to restart the machine"},
        {"CONTACT_SUPPORT", "to contact its support"},
        {"CHECK_MECHANICALS", "to check its seat and its cables"},
        {"UPDATE_SWFW", "to update software or firmware"},
        {"CHECK_UVM", "to reset the GPU where unified memory is in use"},
        {"WORKFLOW_XID_45", "to follow the error it goes with"},
        {"WORKFLOW_XID_48", "to reset the GPU"},
        {"WORKFLOW_NVLINK_ERR", "to read its registers, which this line does not show"},
        {"WORKFLOW_NVLINK5_ERR", "to read its registers, which this line does not show"},
        {"XID_154", "to read its value, which this line does not show"},
        {"XID_154_EVAL", "to do what an Xid 154 beside it says"},
        {"CHECK_NVLINK_FAILURE_FLOW", "to look for a link that has just gone down"},
        {"SYMPATHETIC_REPORT_SOLO", "to treat what it goes with"},
        {"REPORT_ISSUE (if seen >1 per day)", "to report it when it comes more than once a day"},
        {"INVESTIGATE_LINK_SI", "to check the link's signal"},
        {"INVESTIGATE_LINK_SI_AND_CABLES", "to check the link's signal and cables"},
        {"INVESTIGATE_SW_USER", "to look for the software or the person that did it"},
        {"INVESTIGATE_SW_USER_LINK_SI", "to look for who did it, and at the link's signal"},
        {"INVESTIGATE_PEER_DEVICE", "to look at the link's other end"},
        {"INVESTIGATE_HOST", "to look for a cause in the host"},
    };
    for (size_t i = 0; i < sizeof(buckets) / sizeof(buckets[0]); i++)
        if (strcmp(buckets[i].name, bucket) == 0)
            return buckets[i].words;
    return bucket;
}
