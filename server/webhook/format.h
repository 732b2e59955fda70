/*
 * What a service wants to be told, in its own words: Standard Webhooks, CloudEvents, Slack, PagerDuty's Events API v2, Alertmanager's API v2
 * and Opsgenie's Alert API. Pure: facts in, requests out.
 *
 * Services that page have alerts with a key: what opened one is acknowledged and resolved under the same key, so that one incident
 * pages once (model/webhook_alert.h says which event does what).
 */
#ifndef HOLDFAST_SERVER_WEBHOOK_FORMAT_H
#define HOLDFAST_SERVER_WEBHOOK_FORMAT_H

#include "base/json.h"
#include "model/webhook_alert.h"
#include "server/service/event/webhook.h"

#define WEBHOOK_REQUESTS_MAX 2 /* a test is triggered and resolved */

struct webhook_facts {
    const struct webhook *webhook;
    const struct service_webhook_item *item;
    const struct webhook_alert *alert;
    const json_t *data; /* what the plain format has as "data" */
    const json_t
        *hyperpod;   /* detail-type and detail, as HyperPod's events on EventBridge have them; NULL: it has none */
    const char *id;  /* of the message, the same when it is sent again */
    const char *key; /* of the service, where its format needs one: PagerDuty's routing key, Opsgenie's API key; "" */
    const char *console; /* a link to where a person looks; "" */
};

struct webhook_request {
    char *path;         /* with the query */
    char *content_type; /* static */
    char *body;
    char *authorization; /* a whole header; NULL: none */
};

/* At least one request. To be freed. */
size_t webhook_requests_make(const struct webhook_facts *facts,
                             struct webhook_request ret_requests[WEBHOOK_REQUESTS_MAX]);
void webhook_requests_free(struct webhook_request *requests, size_t count);

#endif
