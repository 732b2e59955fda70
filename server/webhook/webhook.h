/*
 * The sender of webhooks: a thread for each, which reads the timeline from where it stands and sends what the webhook is told of, one
 * event a message, in order, until it is taken. What comes of it is in the store (service/event/webhook.h).
 */
#ifndef HOLDFAST_SERVER_WEBHOOK_H
#define HOLDFAST_SERVER_WEBHOOK_H

#include "base/json.h"
#include "server/service/event/webhook.h"

#define WEBHOOKS_ERROR_MAX 512

struct webhooks;
struct webhooks_options {
    struct service *service; /* with its webhooks; outlives the threads */
    const char *version;     /* of hpd, for User-Agent */
    /* The member "data" of a message; the caller owns it. Any thread. */
    json_t *(*render)(const struct service_webhook_item *item);
    /* "detail-type" and "detail" as HyperPod's events on EventBridge have them; NULL where it has none. May be NULL. Any thread. */
    json_t *(*hyperpod)(struct service *service, const struct event *event);
};

/* INVALID with a sentence when a secret cannot be read; else whatever goes wrong is tried again. */
int webhooks_start(const struct webhooks_options *options, struct webhooks **ret_webhooks,
                   char ret_error[WEBHOOKS_ERROR_MAX]);
/* Ends within two seconds, also in the middle of a message, which goes out again after the next start. Accepts NULL. */
void webhooks_stop(struct webhooks *webhooks);

#endif
