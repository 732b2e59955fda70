/*
 * NVSwitch faults: the line's own fatal flag (the rows are sxid.def's).
 *
 * The flag wins over the table's class where the driver had a choice ("potentially fatal" codes come in both
 * kinds); a code nobody knows is watched, unless its line says that it is fatal.
 */
#include "policy/faults/decode.h"

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
