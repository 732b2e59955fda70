/*
 *      ┌─► look ──(nothing)──► wait a moment ─┐
 *      │    │                                 │
 *      │   send ──(taken)──► store ───────────┤
 *      │    └────(not)─────► store, wait longer
 *      └──────────────────────────────────────┘
 *
 * What was taken is stored as taken before the next one is sent: a crash between the two sends one message again, under the id that it
 * had, by which the receiver knows it. The secrets are read for each message, so that changing them needs no restart.
 */
#include "server/webhook/webhook.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/http.h"
#include "base/log.h"
#include "base/own.h"
#include "base/text.h"
#include "server/webhook/format.h"
#include "server/webhook/sign.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define LOOK_EVERY_MS 250
#define STORE_ERROR_WAIT_MS MS_PER_S
#define TEST_LOOK_MS 500         /* while it waits before another try */
#define SKIPPED_STORE_EVERY 1000 /* events that it is not told of; so many are looked at again after a crash */
#define REFUSED_TRIES 3
#define SECRET_FILE_BYTES_MAX 4096
#define TOKEN_BYTES_MAX 4096
#define REPLY_BYTES_MAX (64 * 1024)

struct sender {
    struct webhooks *all;
    const struct webhook *webhook;
    struct http_client *client;
    struct webhook_progress progress;
    struct service_webhook_mark mark; /* to be stored with it */
    int64_t stored_position;
    pthread_t thread;
    bool started;
};

struct webhooks {
    struct webhooks_options options;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool stopping;
    struct sender senders[WEBHOOKS_MAX];
    size_t count;
};

/* False when it is time to stop. */
static bool wait_for(struct webhooks *all, int64_t ms)
{
    const struct timespec until = clock_deadline(ms);
    pthread_mutex_lock(&all->lock);
    while (!all->stopping && pthread_cond_timedwait(&all->wake, &all->lock, &until) == 0)
        ;
    bool goes_on = !all->stopping;
    pthread_mutex_unlock(&all->lock);
    return goes_on;
}

static bool is_stopping(struct webhooks *all)
{
    pthread_mutex_lock(&all->lock);
    bool stopping = all->stopping;
    pthread_mutex_unlock(&all->lock);
    return stopping;
}

/* --- one message ------------------------------------------------------------------------------------- */

static int read_secrets(const struct webhook *webhook, struct webhook_secret secrets[WEBHOOK_SECRETS_MAX],
                        size_t *ret_count, char ret_error[WEBHOOKS_ERROR_MAX])
{
    autofree char *text = NULL;
    size_t len;
    const char *why;
    int status = file_read(webhook->secret_file, SECRET_FILE_BYTES_MAX, &text, &len);
    if (status != 0)
        why = status_meaning(status);
    else
        status = webhook_secrets_read(text, secrets, ret_count, &why);
    if (status != 0)
        snprintf(ret_error, WEBHOOKS_ERROR_MAX, "secretFile %.300s: %.150s", webhook->secret_file, why);
    if (text != NULL)
        explicit_bzero(text, len);
    return status;
}

/* "" where there is none. */
static int read_token(const struct webhook *webhook, char **ret_header, char ret_error[WEBHOOKS_ERROR_MAX])
{
    autofree char *text = NULL;
    size_t len = 0;
    if (webhook->token_file[0] == '\0')
        return 0;
    int status = file_read(webhook->token_file, TOKEN_BYTES_MAX, &text, &len);
    if (status == 0) {
        text[strcspn(text, "\r\n")] = '\0';
        status = text[0] != '\0' && text_is_clean(text) ? 0 : STATUS_INVALID;
    }
    if (status != 0)
        snprintf(ret_error, WEBHOOKS_ERROR_MAX, "tokenFile %.300s: %.150s", webhook->token_file,
                 status_meaning(status));
    else
        *ret_header = own_printf("Authorization: Bearer %s", text);
    return status;
}

/* The key of the service's API, the first line of secretFile; "" where its format needs none. */
static int read_key(const struct webhook *webhook, char **ret_key, char ret_error[WEBHOOKS_ERROR_MAX])
{
    size_t len = 0;
    if (!webhook_has_key(webhook)) {
        *ret_key = own_strdup("");
        return 0;
    }
    autofree char *text = NULL;
    int status = file_read(webhook->secret_file, SECRET_FILE_BYTES_MAX, &text, &len);
    if (status == 0) {
        text[strcspn(text, "\r\n")] = '\0';
        status = text[0] != '\0' && text_is_clean(text) ? 0 : STATUS_INVALID;
    }
    if (status != 0)
        snprintf(ret_error, WEBHOOKS_ERROR_MAX, "secretFile %.300s: %.150s", webhook->secret_file,
                 status_meaning(status));
    else
        *ret_key = own_strdup(text);
    return status;
}

/* What a message is sent with; secrets in it are wiped by post(). */
struct letter {
    struct webhook_secret secrets[WEBHOOK_SECRETS_MAX];
    size_t secret_count;
    char *token, *key; /* owned */
    char id[64];
};

static void letter_free(struct letter *letter)
{
    explicit_bzero(letter->secrets, sizeof(letter->secrets));
    free(letter->token);
    free(letter->key);
}

static int letter_read(const struct webhook *webhook, struct letter *letter, char ret_error[WEBHOOKS_ERROR_MAX])
{
    int status = 0;
    if (webhook->secret_file[0] != '\0' && !webhook_has_key(webhook))
        status = read_secrets(webhook, letter->secrets, &letter->secret_count, ret_error);
    if (status == 0)
        status = read_token(webhook, &letter->token, ret_error);
    return status == 0 ? read_key(webhook, &letter->key, ret_error) : status;
}

/* The HTTP status of the reply; negative with a sentence when there was none. */
static int post_one(struct sender *sender, const struct letter *letter, const struct webhook_request *request,
                    char ret_error[WEBHOOKS_ERROR_MAX])
{
    const struct webhook *webhook = sender->webhook;
    const struct webhooks_options *options = &sender->all->options;
    char signature[WEBHOOK_SIGNATURE_MAX], error[HTTP_ERROR_MAX];
    const char *headers[6] = {NULL};
    struct http_reply reply = {0};
    size_t count = 0;
    int64_t at_s = clock_true_ms(options->service->clock) / MS_PER_S;
    autofree char *header_id = own_printf("webhook-id: %s", letter->id);
    autofree char *header_at = own_printf("webhook-timestamp: %" PRId64, at_s);
    autofree char *header_signature = NULL;
    autofree char *agent = own_printf("User-Agent: Holdfast/%s", options->version);
    headers[count++] = agent;
    if (letter->secret_count > 0) {
        webhook_sign(letter->secrets, letter->secret_count, letter->id, at_s, request->body, signature);
        header_signature = own_printf("webhook-signature: %s", signature);
        headers[count++] = header_id;
        headers[count++] = header_at;
        headers[count++] = header_signature;
    }
    if (request->authorization != NULL || letter->token != NULL)
        headers[count++] = request->authorization != NULL ? request->authorization : letter->token;
    int status = http_request(sender->client, "POST", request->path, request->content_type, request->body,
                              strlen(request->body), headers, REPLY_BYTES_MAX, &reply, error);
    if (status == STATUS_TOO_LARGE)
        snprintf(error, sizeof(error), "%s answered with more than 64 KiB", webhook->origin);
    if (status != 0)
        text_copy_cut(ret_error, WEBHOOKS_ERROR_MAX, error);
    http_reply_free(&reply);
    return status != 0 ? status : reply.status;
}

/* Where a person looks. Caller frees. */
static char *console_link(const struct service *service, const struct event *event)
{
    const char *url = service->server_url;
    if (event->kind == EVENT_KIND_APPROVAL)
        return own_printf("%s/console#/approvals", url);
    if (event->kind == EVENT_KIND_INCIDENT_OPENED || event->kind == EVENT_KIND_INCIDENT_ENDED)
        return own_printf("%s/console#/incidents/%s", url, event->about.subject);
    if (event->cluster[0] == '\0')
        return own_printf("%s/console", url);
    if (event->node[0] == '\0')
        return own_printf("%s/console#/clusters/%s", url, event->cluster);
    return own_printf("%s/console#/clusters/%s/nodes/%s", url, event->cluster, event->node);
}

/* All requests of a message, in order, until one is not taken: each may be sent again. */
static int post(struct sender *sender, const struct service_webhook_item *item, const struct webhook_alert *alert,
                char ret_error[WEBHOOKS_ERROR_MAX])
{
    const struct webhooks_options *options = &sender->all->options;
    struct letter letter = {0};
    struct webhook_request requests[WEBHOOK_REQUESTS_MAX];
    int status = letter_read(sender->webhook, &letter, ret_error);
    if (status != 0) {
        letter_free(&letter);
        return status;
    }
    /* A timeline that was begun anew counts from 1 again: the time keeps its ids apart. */
    snprintf(letter.id, sizeof(letter.id), "evt_%" PRId64 "_%" PRId64, item->event.id, item->event.at);
    autofree char *console = console_link(options->service, &item->event);
    auto_json json_t *data = options->render(item);
    auto_json json_t *hyperpod = sender->webhook->format == WEBHOOK_FORMAT_CLOUDEVENTS && options->hyperpod != NULL
                                     ? options->hyperpod(options->service, &item->event)
                                     : NULL;
    const struct webhook_facts facts = {.webhook = sender->webhook,
                                        .item = item,
                                        .alert = alert,
                                        .data = data,
                                        .hyperpod = hyperpod,
                                        .id = letter.id,
                                        .key = letter.key,
                                        .console = console};
    size_t count = webhook_requests_make(&facts, requests);
    status = 200;
    for (size_t i = 0; i < count && status >= 200 && status < 300; i++)
        status = post_one(sender, &letter, &requests[i], ret_error);
    webhook_requests_free(requests, count);
    letter_free(&letter);
    return status;
}

/* --- what came of it ----------------------------------------------------------------------------------- */

static bool is_of_the_message(int http_status)
{
    return http_status == 400 || http_status == 413 || http_status == 415 || http_status == 422;
}

/* What the store has to know of the alert that was sent. */
static void note_alert(struct sender *sender, const struct webhook_alert *alert)
{
    struct service_webhook_mark *mark = &sender->mark;
    if (!webhook_has_alerts(sender->webhook))
        return;
    mark->opened = alert->move == WEBHOOK_MOVE_TRIGGER;
    mark->resolved = alert->move == WEBHOOK_MOVE_RESOLVE;
    text_copy_cut(mark->key, sizeof(mark->key), alert->key);
}

static void pass(struct sender *sender, const struct service_webhook_item *item, int64_t *counter)
{
    struct webhook_progress *p = &sender->progress;
    (*counter)++;
    p->position = item->event.id;
    p->failures = 0;
}

static void note_left(struct sender *sender, const struct service_webhook_item *item, const char *why)
{
    sender->mark.left = item->event.id;
    text_copy_cut(sender->mark.why, sizeof(sender->mark.why), why);
}

static void note_reply(struct sender *sender, const struct service_webhook_item *item, int result,
                       const char error[WEBHOOKS_ERROR_MAX])
{
    struct webhook_progress *p = &sender->progress;
    int64_t now = clock_wall_ms(sender->all->options.service->clock);
    if (result >= 200 && result < 300) {
        pass(sender, item, &p->delivered);
        p->delivered_at = now;
        p->failing_since = 0;
        p->error[0] = '\0';
        return;
    }
    p->failures++;
    if (p->failing_since == 0)
        p->failing_since = now;
    p->stopped = result == 410;
    if (result > 0)
        snprintf(p->error, sizeof(p->error), "%.200s answered with HTTP status %d%s", sender->webhook->origin, result,
                 result >= 300 && result < 400 ? "; redirects are not followed" : "");
    else
        text_copy_cut(p->error, sizeof(p->error), error);
    log_warn("webhook %s: %s event=%" PRId64 " failures=%" PRId64, sender->webhook->name, p->error, item->event.id,
             p->failures);
    if (is_of_the_message(result) && p->failures >= REFUSED_TRIES) {
        /* It hears, and can do nothing with this one: the next is tried at once. That one was left is told until one is taken. */
        pass(sender, item, &p->refused);
        note_left(sender, item, p->error);
    }
}

/* False when the store takes nothing now: then it is not known, after a crash, what was sent. */
static bool store(struct sender *sender)
{
    if (service_webhook_store(sender->all->options.service, sender->webhook, &sender->progress, &sender->mark) < 0)
        return false;
    sender->mark = (struct service_webhook_mark){0};
    sender->stored_position = sender->progress.position;
    return true;
}

/* --- the thread ------------------------------------------------------------------------------------------ */

static bool is_too_old(const struct sender *sender, const struct service_webhook_item *item)
{
    return clock_wall_ms(sender->all->options.service->clock) - item->event.at > sender->webhook->give_up_ms;
}

/* It would acknowledge or resolve what was never opened there. */
static bool is_not_open(const struct sender *sender, const struct webhook_alert *alert)
{
    return webhook_has_alerts(sender->webhook) &&
           (alert->move == WEBHOOK_MOVE_RESOLVE || alert->move == WEBHOOK_MOVE_ACKNOWLEDGE) &&
           !service_webhook_is_open(sender->all->options.service, sender->webhook, alert->key);
}

/* One that was left, as a person has asked for. It is tried once: what comes of it is listed. */
static bool send_again(struct sender *sender, struct service_webhook_item *item)
{
    struct webhooks *all = sender->all;
    char error[WEBHOOKS_ERROR_MAX] = "";
    struct webhook_alert alert;
    if (service_webhook_again(all->options.service, sender->webhook, item) < 0)
        return false;
    webhook_alert_of(&item->event, &alert);
    int result = post(sender, item, &alert, error);
    if (is_stopping(all) && result < 0)
        return true; /* cut off by us */
    if (result >= 200 && result < 300) {
        sender->mark.sent_again = item->event.id;
        sender->progress.delivered++;
        note_alert(sender, &alert);
    } else {
        if (result > 0)
            snprintf(error, sizeof(error), "%.200s answered with HTTP status %d", sender->webhook->origin, result);
        note_left(sender, item, error);
    }
    while (!store(sender) && wait_for(all, STORE_ERROR_WAIT_MS))
        ;
    return true;
}

/* Deals with one message. How long to wait before the next, in ms. */
static int64_t turn(struct sender *sender)
{
    struct webhooks *all = sender->all;
    struct webhook_progress *p = &sender->progress;
    autofree struct service_webhook_item *item = own_calloc(1, sizeof(*item));
    char error[WEBHOOKS_ERROR_MAX] = "";
    struct webhook_alert alert;
    int status = service_webhook_next(all->options.service, sender->webhook, &p->position, item);
    if (status == STATUS_NOT_FOUND && send_again(sender, item))
        return 0;
    if (status == STATUS_NOT_FOUND) {
        if (p->position - sender->stored_position >= SKIPPED_STORE_EVERY)
            (void)store(sender);
        return LOOK_EVERY_MS;
    }
    if (status < 0)
        return STORE_ERROR_WAIT_MS;
    webhook_alert_of(&item->event, &alert);
    if (is_not_open(sender, &alert)) {
        p->position = item->event.id;
        return p->position - sender->stored_position >= SKIPPED_STORE_EVERY && !store(sender) ? STORE_ERROR_WAIT_MS : 0;
    }
    if (is_too_old(sender, item)) {
        pass(sender, item, &p->expired);
        note_left(sender, item, "nobody took it within giveUpAfter");
    } else {
        int result = post(sender, item, &alert, error);
        if (is_stopping(all) && result < 0)
            return 0; /* cut off by us */
        note_reply(sender, item, result, error);
        if (result >= 200 && result < 300)
            note_alert(sender, &alert);
    }
    while (!store(sender) && wait_for(all, STORE_ERROR_WAIT_MS))
        ; /* or the same message would go out again and again while the disk is full */
    return webhook_retry_ms(sender->webhook, p->failures);
}

/* Until the next try is due, or a person asks for a test, as after the receiver was fixed. False when it is time to stop. */
static bool wait_for_turn(struct sender *sender, int64_t ms, uint64_t tests)
{
    struct webhooks *all = sender->all;
    for (; ms > TEST_LOOK_MS && atomic_load(&all->options.service->webhook_tests) == tests; ms -= TEST_LOOK_MS)
        if (!wait_for(all, TEST_LOOK_MS))
            return false;
    return wait_for(all, ms <= TEST_LOOK_MS ? ms : 0);
}

static void *run(void *arg)
{
    struct sender *sender = arg;
    struct webhooks *all = sender->all;
    int64_t wait_ms = 0;
    uint64_t tests;
    while (service_webhook_open(all->options.service, sender->webhook, &sender->progress) < 0)
        if (!wait_for(all, STORE_ERROR_WAIT_MS))
            return NULL;
    sender->stored_position = sender->progress.position;
    do {
        tests = atomic_load(&all->options.service->webhook_tests);
        wait_ms = turn(sender);
    } while (!sender->progress.stopped && wait_for_turn(sender, wait_ms, tests));
    if (!sender->progress.stopped && sender->stored_position != sender->progress.position)
        (void)store(sender);
    return NULL;
}

static int make_client(struct sender *sender, char ret_error[WEBHOOKS_ERROR_MAX])
{
    const struct webhook *webhook = sender->webhook;
    const struct http_options options = {.url = webhook->origin,
                                         .ca_file = webhook->ca_file[0] != '\0' ? webhook->ca_file : NULL,
                                         .timeout_ms = webhook->timeout_ms};
    char error[HTTP_ERROR_MAX];
    int status = http_client_new(&options, &sender->client, error);
    if (status != 0)
        text_copy_cut(ret_error, WEBHOOKS_ERROR_MAX, error);
    return status;
}

/* Whoever reads it can send messages in our name. */
static void warn_of_readers(const struct webhook *webhook)
{
    struct stat st;
    if (webhook->secret_file[0] != '\0' && stat(webhook->secret_file, &st) == 0 &&
        (st.st_mode & (S_IRWXG | S_IRWXO)) != 0)
        log_warn("webhook %s: others than its owner may read or change secretFile %s (mode %03o): chmod 600",
                 webhook->name, webhook->secret_file, (unsigned)st.st_mode & 0777U);
}

/* What cannot ever work is said at the start, and not when the first node fails. */
static int prepare(struct sender *sender, char ret_error[WEBHOOKS_ERROR_MAX])
{
    struct letter letter = {0};
    char why[WEBHOOKS_ERROR_MAX] = "";
    int status = letter_read(sender->webhook, &letter, why);
    letter_free(&letter);
    if (status == 0 && sender->webhook->ca_file[0] != '\0' && !file_exists(sender->webhook->ca_file)) {
        snprintf(why, sizeof(why), "caFile %.300s: there is no such file", sender->webhook->ca_file);
        status = STATUS_NOT_FOUND;
    }
    if (status == 0)
        status = make_client(sender, why);
    if (status == 0)
        warn_of_readers(sender->webhook);
    if (status != 0)
        snprintf(ret_error, WEBHOOKS_ERROR_MAX, "webhook %.63s: %.430s", sender->webhook->name, why);
    return status != 0 ? STATUS_INVALID : 0;
}

int webhooks_start(const struct webhooks_options *options, struct webhooks **ret_webhooks,
                   char ret_error[WEBHOOKS_ERROR_MAX])
{
    struct webhooks *all = own_calloc(1, sizeof(*all));
    pthread_condattr_t attributes;
    sigset_t signals, before;
    int status = 0;
    all->options = *options;
    pthread_mutex_init(&all->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&all->wake, &attributes);
    pthread_condattr_destroy(&attributes);
    for (; status == 0 && all->count < options->service->webhook_count; all->count++) {
        struct sender *sender = &all->senders[all->count];
        sender->all = all;
        sender->webhook = &options->service->webhooks[all->count];
        status = prepare(sender, ret_error);
    }
    sigfillset(&signals);
    pthread_sigmask(SIG_SETMASK, &signals, &before);
    for (size_t i = 0; status == 0 && i < all->count; i++) {
        if (pthread_create(&all->senders[i].thread, NULL, run, &all->senders[i]) != 0)
            abort();
        all->senders[i].started = true;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (status != 0)
        webhooks_stop(all);
    else
        *ret_webhooks = all;
    return status;
}

void webhooks_stop(struct webhooks *webhooks)
{
    if (webhooks == NULL)
        return;
    pthread_mutex_lock(&webhooks->lock);
    webhooks->stopping = true;
    pthread_cond_broadcast(&webhooks->wake);
    pthread_mutex_unlock(&webhooks->lock);
    for (size_t i = 0; i < webhooks->count; i++)
        if (webhooks->senders[i].started)
            http_client_cancel(webhooks->senders[i].client);
    for (size_t i = 0; i < webhooks->count; i++) {
        if (webhooks->senders[i].started)
            pthread_join(webhooks->senders[i].thread, NULL);
        http_client_free(webhooks->senders[i].client);
    }
    pthread_cond_destroy(&webhooks->wake);
    pthread_mutex_destroy(&webhooks->lock);
    free(webhooks);
}
