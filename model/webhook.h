/*
 * Webhooks: where hpd tells events to, and how far it has come. What is sent is in the manner of Standard Webhooks 1.0
 * (standardwebhooks.com): one event a message, signed with HMAC-SHA-256, sent until it is taken.
 */
#ifndef HOLDFAST_MODEL_WEBHOOK_H
#define HOLDFAST_MODEL_WEBHOOK_H

#include "base/duration.h"
#include "model/model.h"

#include <limits.h>

#define WEBHOOKS_MAX 8
#define WEBHOOK_CLUSTERS_MAX 16
#define WEBHOOK_PATH_MAX 1024
#define WEBHOOK_RETRY_MAX_MS (10 * MS_PER_MIN)

/* Whose words a message has. */
#define WEBHOOK_FORMAT_LIST(X)      \
    X(STANDARD, "standard")         \
    X(CLOUDEVENTS, "cloudevents")   \
    X(SLACK, "slack")               \
    X(PAGERDUTY, "pagerduty")       \
    X(ALERTMANAGER, "alertmanager") \
    X(OPSGENIE, "opsgenie")
enum webhook_format {
#define X(SYMBOL, text) WEBHOOK_FORMAT_##SYMBOL,
    WEBHOOK_FORMAT_LIST(X)
#undef X
};
ENUM_DECLARE(webhook_format);

/* As it is configured. */
struct webhook {
    enum webhook_format format;
    char name[NAME_MAX_BYTES];
    char origin[ADDRESS_MAX_BYTES]; /* "https://host:port"; the path is often a secret and is never shown */
    char path[WEBHOOK_PATH_MAX];    /* from the slash on, with the query */
    /* "": none. secret_file signs messages; of PagerDuty and Opsgenie it has the key of their API. */
    char secret_file[PATH_MAX], ca_file[PATH_MAX], token_file[PATH_MAX];
    bool kinds[EVENT_KIND_COUNT];
    enum event_level min_level;
    char clusters[WEBHOOK_CLUSTERS_MAX][NAME_MAX_BYTES];
    size_t cluster_count; /* 0: all */
    bool approval_links;  /* questions go out with links that answer them */
    int64_t timeout_ms, retry_max_ms, give_up_ms;
};

/* All that a person on call is woken for, and what says that it is over. */
void webhook_default(struct webhook *ret_webhook);
/* Its service has alerts that are opened and resolved (webhook_alert.h). */
bool webhook_has_alerts(const struct webhook *webhook);
/* secretFile has the key of the service's API, and not what messages are signed with. */
bool webhook_has_key(const struct webhook *webhook);
/* Whether it is told of the event. A test always is; what ends an alert is where that which opens it is, whatever its level. */
bool webhook_wants(const struct webhook *webhook, const struct event *event);

/* How long to wait after so many failures in a row, from 1, in ms: 1 s, 5 s, 30 s, 2 min, 5 min, then 10 min; never longer than
 * retry_max_ms. */
int64_t webhook_retry_ms(const struct webhook *webhook, int64_t failures);

/* How far one has come. The store has it, by name. */
struct webhook_progress {
    int64_t position;  /* id of the last event that is dealt with */
    int64_t delivered; /* messages that were taken */
    int64_t refused;   /* messages that the receiver can do nothing with, as it said several times */
    int64_t expired;   /* messages that were too old before anybody took them */
    int64_t delivered_at;
    int64_t failing_since; /* 0: the last message was taken */
    int64_t failures;      /* in a row, of the message after position */
    bool reported;         /* that it fails, in the timeline */
    bool stopped;          /* the receiver said that it is gone (410); until hpd starts again */
    char error[SENTENCE_MAX_BYTES];
};

#endif
