/* One table: what an event does to an alert, and what the alert is about. */
#include "model/webhook_alert.h"

#include "base/own.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>

enum scope { SCOPE_SUBJECT, SCOPE_NODE, SCOPE_GROUP, SCOPE_CLUSTER };

/*
 * A node has one alert, opened by a decision or by its agent's silence, and resolved when the node is healthy, ready or deleted: the word of
 * the agent that was silent may never come, as another machine took its place. What is wrong with the cluster as a whole is opened by the
 * failed operation. What nothing ends (a request that nearly is one, drift) only informs.
 */
static const struct alert_row {
    enum event_kind kind;
    enum webhook_move move;
    enum event_kind opened_by;
    enum scope scope;
    const char *state; /* only of this state; NULL: of any */
} rows[] = {
    {EVENT_KIND_INCIDENT_OPENED, WEBHOOK_MOVE_TRIGGER, EVENT_KIND_INCIDENT_OPENED, SCOPE_SUBJECT, NULL},
    {EVENT_KIND_INCIDENT_ENDED, WEBHOOK_MOVE_RESOLVE, EVENT_KIND_INCIDENT_OPENED, SCOPE_SUBJECT, NULL},
    {EVENT_KIND_APPROVAL, WEBHOOK_MOVE_TRIGGER, EVENT_KIND_APPROVAL, SCOPE_SUBJECT, "asked"},
    {EVENT_KIND_APPROVAL, WEBHOOK_MOVE_RESOLVE, EVENT_KIND_APPROVAL, SCOPE_SUBJECT, NULL},
    {EVENT_KIND_BREAKER_OPENED, WEBHOOK_MOVE_TRIGGER, EVENT_KIND_BREAKER_OPENED, SCOPE_GROUP, NULL},
    {EVENT_KIND_BREAKER_CLOSED, WEBHOOK_MOVE_RESOLVE, EVENT_KIND_BREAKER_OPENED, SCOPE_GROUP, NULL},
    {EVENT_KIND_CAPACITY_SHORT, WEBHOOK_MOVE_TRIGGER, EVENT_KIND_CAPACITY_SHORT, SCOPE_GROUP, NULL},
    {EVENT_KIND_CAPACITY_BACK, WEBHOOK_MOVE_RESOLVE, EVENT_KIND_CAPACITY_SHORT, SCOPE_GROUP, NULL},
    {EVENT_KIND_GROUP_PROTECTED, WEBHOOK_MOVE_TRIGGER, EVENT_KIND_GROUP_PROTECTED, SCOPE_GROUP, NULL},
    {EVENT_KIND_GROUP_UNPROTECTED, WEBHOOK_MOVE_RESOLVE, EVENT_KIND_GROUP_PROTECTED, SCOPE_GROUP, NULL},
    {EVENT_KIND_SCHEDULER_DOWN, WEBHOOK_MOVE_TRIGGER, EVENT_KIND_SCHEDULER_DOWN, SCOPE_CLUSTER, NULL},
    {EVENT_KIND_SCHEDULER_BACK, WEBHOOK_MOVE_RESOLVE, EVENT_KIND_SCHEDULER_DOWN, SCOPE_CLUSTER, NULL},
    {EVENT_KIND_CLUSTER_PAUSED, WEBHOOK_MOVE_TRIGGER, EVENT_KIND_CLUSTER_PAUSED, SCOPE_CLUSTER, NULL},
    {EVENT_KIND_CLUSTER_RESUMED, WEBHOOK_MOVE_RESOLVE, EVENT_KIND_CLUSTER_PAUSED, SCOPE_CLUSTER, NULL},
    {EVENT_KIND_AGENT_SILENT, WEBHOOK_MOVE_TRIGGER, EVENT_KIND_DECISION, SCOPE_NODE, NULL},
    {EVENT_KIND_WEBHOOK_FAILING, WEBHOOK_MOVE_TRIGGER, EVENT_KIND_WEBHOOK_FAILING, SCOPE_SUBJECT, NULL},
    {EVENT_KIND_WEBHOOK_BACK, WEBHOOK_MOVE_RESOLVE, EVENT_KIND_WEBHOOK_FAILING, SCOPE_SUBJECT, NULL},
    {EVENT_KIND_OPERATION_STARTED, WEBHOOK_MOVE_ACKNOWLEDGE, EVENT_KIND_DECISION, SCOPE_NODE, NULL},
    {EVENT_KIND_OPERATION_FAILED, WEBHOOK_MOVE_TRIGGER, EVENT_KIND_DECISION, SCOPE_NODE, NULL},
    {EVENT_KIND_NODE_STATE, WEBHOOK_MOVE_RESOLVE, EVENT_KIND_DECISION, SCOPE_NODE, "ready"},
    {EVENT_KIND_NODE_STATE, WEBHOOK_MOVE_RESOLVE, EVENT_KIND_DECISION, SCOPE_NODE, "deleted"},
    {EVENT_KIND_NODE_HEALTH, WEBHOOK_MOVE_RESOLVE, EVENT_KIND_DECISION, SCOPE_NODE, "healthy"},
    {EVENT_KIND_NEAR_MISS, WEBHOOK_MOVE_TELL, EVENT_KIND_NEAR_MISS, SCOPE_NODE, NULL},
    {EVENT_KIND_SCHEDULER_DRIFT, WEBHOOK_MOVE_TELL, EVENT_KIND_SCHEDULER_DRIFT, SCOPE_CLUSTER, NULL},
    {EVENT_KIND_WEBHOOK_TEST, WEBHOOK_MOVE_TEST, EVENT_KIND_WEBHOOK_TEST, SCOPE_SUBJECT, NULL},
};

static const struct alert_row *find(const struct event *event)
{
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (rows[i].kind == event->kind && (rows[i].state == NULL || text_equal(rows[i].state, event->about.state)) &&
            (rows[i].scope != SCOPE_NODE || event->node[0] != '\0'))
            return &rows[i];
    return NULL;
}

static enum scope scope_of(const struct event *event)
{
    if (event->node[0] != '\0')
        return SCOPE_NODE;
    return event->group[0] != '\0' ? SCOPE_GROUP : SCOPE_CLUSTER;
}

/* What the key ends with. A test is about itself. */
static const char *name_of(const struct event *event, enum scope scope, const char *number)
{
    switch (scope) {
    case SCOPE_NODE:
        return event->node;
    case SCOPE_GROUP:
        return event->group;
    case SCOPE_SUBJECT:
        return event->about.subject[0] != '\0' ? event->about.subject : number;
    case SCOPE_CLUSTER:
        break;
    }
    return "";
}

void webhook_alert_of(const struct event *event, struct webhook_alert *ret_alert)
{
    const struct alert_row *row = find(event);
    enum event_kind opened_by = row != NULL ? row->opened_by : event->kind;
    enum scope scope = row != NULL ? row->scope : scope_of(event);
    char number[32];
    snprintf(number, sizeof(number), "%" PRId64, event->id);
    *ret_alert = (struct webhook_alert){.opened_by = opened_by};
    if (row != NULL)
        ret_alert->move = row->move;
    else
        ret_alert->move = event->level > EVENT_LEVEL_INFO ? WEBHOOK_MOVE_TRIGGER : WEBHOOK_MOVE_TELL;
    snprintf(ret_alert->key, sizeof(ret_alert->key), "holdfast:%s:%s:%s", event_kind_text(opened_by), event->cluster,
             name_of(event, scope, number));
}
