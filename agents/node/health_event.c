/* See health_event.h. The agent decides nothing: whether a fault asks for another machine is what its table says, the first time. */
#include "agents/node/health_event.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/own.h"
#include "model/hyperpod_words.h"
#include "policy/faults/faults.h"

char *health_event_line(const struct verdict *verdict, int64_t now_ms)
{
    const struct fault_row *row = fault_find(verdict->code);
    char type[HYPERPOD_WORD_MAX_BYTES], reason[HYPERPOD_WORD_MAX_BYTES], now[CLOCK_TEXT_MAX], seen[CLOCK_TEXT_MAX];
    if (verdict->severity != SEVERITY_CRITICAL)
        return NULL;
    hyperpod_fault_type(verdict->code, row != NULL && row->action == ACTION_CLASS_REPLACE, type);
    hyperpod_fault_reason(verdict->code, reason);
    autofree char *message = own_printf("Node condition %s is now: True, reason: %s, message: \"%s\"", type, reason,
                                        verdict->raw_line[0] != '\0' ? verdict->raw_line : verdict->code);
    auto_json json_t *details = json_object(), *line = json_object();
    json_put_text(details, "severity", "warn");
    json_put_text(details, "timestamp", clock_format(verdict->first_at, seen));
    json_put_text(details, "reason", reason);
    json_put_text(details, "message", message);
    json_put_text(line, "level", "info");
    json_put_text(line, "ts", clock_format(now_ms, now));
    json_put_text(line, "msg", "NPD caught event: %v");
    json_object_set(line, "details", details);
    json_put_text(line, "HealthMonitoringAgentDetectionEvent", "HealthEvent");
    return json_dumps(line, JSON_COMPACT);
}
