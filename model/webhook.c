/* Who is told what, and how long to wait before the next try. */
#include "model/webhook.h"

#include "base/own.h"
#include "base/text.h"
#include "model/webhook_alert.h"

/* Left out is what only says how things go on: what agents see, steps, scripts, machines that come and go as they were asked to. */
static const enum event_kind usual[] = {
    EVENT_KIND_CLUSTER_PAUSED,  EVENT_KIND_CLUSTER_RESUMED, EVENT_KIND_DECISION,          EVENT_KIND_OPERATION_FAILED,
    EVENT_KIND_APPROVAL,        EVENT_KIND_AGENT_SILENT,    EVENT_KIND_AGENT_BACK,        EVENT_KIND_SCHEDULER_DOWN,
    EVENT_KIND_SCHEDULER_BACK,  EVENT_KIND_SCHEDULER_DRIFT, EVENT_KIND_NEAR_MISS,         EVENT_KIND_BREAKER_OPENED,
    EVENT_KIND_BREAKER_CLOSED,  EVENT_KIND_CAPACITY_SHORT,  EVENT_KIND_CAPACITY_BACK,     EVENT_KIND_GROUP_PROTECTED,
    EVENT_KIND_INCIDENT_OPENED, EVENT_KIND_INCIDENT_ENDED,  EVENT_KIND_GROUP_UNPROTECTED, EVENT_KIND_WEBHOOK_FAILING,
    EVENT_KIND_WEBHOOK_BACK,
};

void webhook_default(struct webhook *ret_webhook)
{
    *ret_webhook = (struct webhook){.min_level = EVENT_LEVEL_INFO,
                                    .timeout_ms = 15 * MS_PER_S,
                                    .retry_max_ms = WEBHOOK_RETRY_MAX_MS,
                                    .give_up_ms = MS_PER_DAY};
    for (size_t i = 0; i < ARRAY_LEN(usual); i++)
        ret_webhook->kinds[usual[i]] = true;
}

ENUM_DEFINE(webhook_format, WEBHOOK_FORMAT_LIST)

bool webhook_has_alerts(const struct webhook *webhook)
{
    return webhook->format == WEBHOOK_FORMAT_PAGERDUTY || webhook->format == WEBHOOK_FORMAT_ALERTMANAGER ||
           webhook->format == WEBHOOK_FORMAT_OPSGENIE;
}

bool webhook_has_key(const struct webhook *webhook)
{
    return webhook->format == WEBHOOK_FORMAT_PAGERDUTY || webhook->format == WEBHOOK_FORMAT_OPSGENIE;
}

/* The kind and the level, where alerts are opened and resolved. */
static bool wants_alert(const struct webhook *webhook, const struct event *event)
{
    struct webhook_alert alert;
    webhook_alert_of(event, &alert);
    bool opener = webhook->kinds[alert.opened_by] ||
                  (alert.opened_by == EVENT_KIND_DECISION && webhook->kinds[EVENT_KIND_OPERATION_FAILED]);
    if (alert.move == WEBHOOK_MOVE_RESOLVE || alert.move == WEBHOOK_MOVE_ACKNOWLEDGE)
        return opener;
    return alert.move == WEBHOOK_MOVE_TRIGGER && webhook->kinds[event->kind] && event->level >= webhook->min_level;
}

bool webhook_wants(const struct webhook *webhook, const struct event *event)
{
    bool of_it = webhook->cluster_count == 0 || event->cluster[0] == '\0';
    if (event->kind == EVENT_KIND_WEBHOOK_TEST)
        return true;
    for (size_t i = 0; i < webhook->cluster_count && !of_it; i++)
        of_it = text_equal(webhook->clusters[i], event->cluster);
    if (webhook_has_alerts(webhook))
        return of_it && wants_alert(webhook, event);
    return of_it && webhook->kinds[event->kind] && event->level >= webhook->min_level;
}

int64_t webhook_retry_ms(const struct webhook *webhook, int64_t failures)
{
    static const int64_t waits[] = {MS_PER_S,       5 * MS_PER_S,   30 * MS_PER_S,
                                    2 * MS_PER_MIN, 5 * MS_PER_MIN, WEBHOOK_RETRY_MAX_MS};
    if (failures < 1)
        return 0;
    int64_t wait = waits[(size_t)failures <= ARRAY_LEN(waits) ? (size_t)failures - 1 : ARRAY_LEN(waits) - 1];
    return wait < webhook->retry_max_ms ? wait : webhook->retry_max_ms;
}
