/*
 * Which event opens an alert at a service that pages, which one acknowledges it and which one resolves it, and the key that they share.
 */
#ifndef HOLDFAST_MODEL_WEBHOOK_ALERT_H
#define HOLDFAST_MODEL_WEBHOOK_ALERT_H

#include "model/webhook.h"

#define WEBHOOK_ALERT_KEY_MAX 255 /* PagerDuty takes 255 characters, Opsgenie 512 */

enum webhook_move {
    WEBHOOK_MOVE_TELL,        /* it opens and ends nothing */
    WEBHOOK_MOVE_TRIGGER,     /* something is wrong */
    WEBHOOK_MOVE_ACKNOWLEDGE, /* somebody, or Holdfast, is at work on it */
    WEBHOOK_MOVE_RESOLVE,     /* it is over */
    WEBHOOK_MOVE_TEST         /* triggered, and resolved again */
};

struct webhook_alert {
    enum webhook_move move;
    enum event_kind opened_by; /* what opens an alert with this key */
    char key[WEBHOOK_ALERT_KEY_MAX + 1];
};

void webhook_alert_of(const struct event *event, struct webhook_alert *ret_alert);

#endif
