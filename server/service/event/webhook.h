/* Webhooks: what each is to be told next, how far it has come, and a test. The sender is server/webhook/webhook.c. */
#ifndef HOLDFAST_SERVER_SERVICE_WEBHOOK_H
#define HOLDFAST_SERVER_SERVICE_WEBHOOK_H

#include "db/webhook.h"
#include "model/webhook_alert.h"
#include "server/service/node/approval.h"
#include "server/service/service.h"

/* What one message is about. */
struct service_webhook_item {
    struct event event;
    struct approval approval;            /* the question that it asks, while nobody has answered; id 0: none */
    char approval_url[APPROVAL_URL_MAX]; /* "" where links are not for this webhook */
};

/* Where a webhook stands. One that has never been used begins at the end of the timeline: the past is nobody's news. */
int service_webhook_open(struct service *s, const struct webhook *webhook, struct webhook_progress *ret_progress);
/* The first event after *position that it is told of. *position moves over what it is not told of; NOT_FOUND when there is nothing (more)
 * now. */
int service_webhook_next(struct service *s, const struct webhook *webhook, int64_t *position,
                         struct service_webhook_item *ret_item);
/* Stores how far it has come, with a line in the timeline when it has failed for long (WEBHOOK_TELL_FAILURES), or is back after that:
 * progress->reported is set. */
#define WEBHOOK_TELL_FAILURES 3
/* What became of the message before position at a service with alerts. */
struct service_webhook_mark {
    bool opened, resolved; /* the alert with this key */
    char key[WEBHOOK_ALERT_KEY_MAX + 1];
    int64_t left;       /* the event of a message that was refused or given up; 0: none */
    int64_t sent_again; /* that of one which was left before, and is taken now; 0: none */
    char why[SENTENCE_MAX_BYTES];
};
int service_webhook_store(struct service *s, const struct webhook *webhook, struct webhook_progress *progress,
                          const struct service_webhook_mark *mark);
/* The alert was opened there, and not resolved. True also where that cannot be read: an alert too many is resolved again. */
bool service_webhook_is_open(struct service *s, const struct webhook *webhook, const char *key);

/* A message that was left, and which a person wants to be sent again; NOT_FOUND. */
int service_webhook_again(struct service *s, const struct webhook *webhook, struct service_webhook_item *ret_item);

/* For the APIs: messages that were left, newest first, at most SERVICE_WEBHOOK_FAILED_MAX; fn gets struct service_webhook_left. */
#define SERVICE_WEBHOOK_FAILED_MAX 1000
struct service_webhook_left {
    struct webhook_failed failed;
    struct event event; /* id 0: the timeline has it no more */
};
int service_webhook_failed(struct service *s, db_row_fn fn, void *arg, struct problem *ret_problem);
/* Sends those of one again, or of all with name "". */
int service_webhook_resend(struct service *s, const struct actor *actor, const char *name, int64_t *ret_count,
                           struct problem *ret_problem);

/* For the APIs: those that are configured, in that order. */
#define WEBHOOK_WAITING_MAX 10000 /* events that are looked through for it */
struct service_webhook_row {
    const struct webhook *webhook;
    struct webhook_progress progress;
    int64_t waiting; /* messages that it has not taken, while it fails */
};
int service_webhook_list(struct service *s, struct service_webhook_row ret_rows[WEBHOOKS_MAX], size_t *ret_count,
                         struct problem *ret_problem);
/* An event that every webhook is told of; one that waits before it tries again does so now. CONFLICT when there is none. */
int service_webhook_test(struct service *s, const struct actor *actor, struct event *ret_event,
                         struct problem *ret_problem);

#endif
