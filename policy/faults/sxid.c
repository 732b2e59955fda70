/*
 * NVSwitch faults: the SXid table and the line's own fatal flag.
 *
 * The flag wins over the table's class where the driver had a choice ("potentially fatal" codes come in both
 * kinds); a code nobody knows is watched, unless its line says that it is fatal.
 */
#include "policy/faults/decode.h"

/* What each group asks for: first, again, urgency, severity. */
#define GROUP_NOTICE ACTION_CLASS_WATCH, ACTION_CLASS_WATCH, URGENCY_AFTER_JOBS, SEVERITY_WARN
#define GROUP_MINOR ACTION_CLASS_WATCH, ACTION_CLASS_WATCH, URGENCY_AFTER_JOBS, SEVERITY_WARN
#define GROUP_ADVISED ACTION_CLASS_REBOOT, ACTION_CLASS_SUPPORT, URGENCY_AFTER_JOBS, SEVERITY_WARN
#define GROUP_FATAL ACTION_CLASS_REBOOT, ACTION_CLASS_REPLACE, URGENCY_NOW, SEVERITY_CRITICAL
#define GROUP_ALWAYS ACTION_CLASS_REBOOT, ACTION_CLASS_REPLACE, URGENCY_NOW, SEVERITY_CRITICAL
#define WHO_NOTICE "[V] gpud: warn; NVSentinel: none; [P] watched"
#define WHO_MINOR "[V] gpud: warn; NVSentinel: none; [P] watched"
#define WHO_ADVISED "[V] gpud: reboot; NVSentinel: none; [P] reboot at the end of the jobs, a repeat is for a person"
#define WHO_FATAL "[V] gpud: reboot, then inspect; NVSentinel: support; [P] the jobs are lost: reboot, again replace"
#define WHO_ALWAYS "[V] Fabric Manager guide: always fatal, gpud: restart; [P] reboot at once, again replace"
#define SXID(number, words, group) \
    {number, "", words, "", GROUP_##group, 0, 0, ACTION_CLASS_IGNORE, false, 0, WHO_##group},

static const struct fault_xid rows[] = {
#include "policy/faults/sxid.def"
};

const struct fault_xid *fault_sxid_find(int code)
{
    size_t low = 0, high = sizeof(rows) / sizeof(rows[0]);
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (rows[middle].code == code)
            return &rows[middle];
        if (rows[middle].code < code)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

const struct fault_xid *fault_sxid_all(size_t *ret_count)
{
    *ret_count = sizeof(rows) / sizeof(rows[0]);
    return rows;
}

void decode_sxid(const struct decode_detail *detail, struct fault_judgement *judgement, struct decode_note *note)
{
    bool fatal = decode_has(detail, "Fatal,");
    bool nonfatal = decode_has(detail, "Non-fatal");
    if (nonfatal && judgement->urgency == URGENCY_NOW) {
        judgement->action = judgement->again = ACTION_CLASS_WATCH;
        judgement->urgency = URGENCY_AFTER_JOBS;
        judgement->severity = SEVERITY_WARN;
        decode_note(note, "the line says non-fatal");
    } else if (fatal && judgement->action == ACTION_CLASS_WATCH) {
        judgement->action = ACTION_CLASS_REBOOT;
        judgement->again = ACTION_CLASS_SUPPORT;
        judgement->urgency = URGENCY_NOW;
        judgement->severity = SEVERITY_CRITICAL;
        decode_note(note, "the line says fatal");
    }
}
