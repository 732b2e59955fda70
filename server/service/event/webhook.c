/*
 * The outbox is the timeline itself: a webhook is a place in it, so nothing is queued twice and nothing is lost with a crash. What
 * was sent and not yet stored as sent goes out again under the same id.
 */
#include "server/service/event/webhook.h"

#include "base/text.h"
#include "db/event.h"
#include "db/webhook.h"
#include "server/service/node/approval.h"
#include "server/service/private.h"

#include <inttypes.h>
#include <stdio.h>

#define LOOK_AHEAD 500 /* events in one read */

/* --- where it stands --------------------------------------------------------------------------------- */

struct standing {
    const struct webhook *webhook;
    struct webhook_progress *progress;
    const struct service_webhook_mark *mark;
    int64_t now_ms;
    bool tells; /* a line in the timeline */
};

static int take_id(const void *row, void *arg)
{
    *(int64_t *)arg = ((const struct event *)row)->id;
    return 0;
}

static int open_write(struct db_tx *tx, void *arg)
{
    const struct standing *standing = arg;
    const struct db_event_filter newest = {.newest_first = true, .limit = 1};
    int status = db_webhook_get(tx, standing->webhook->name, standing->progress);
    if (status == STATUS_NOT_FOUND) {
        *standing->progress = (struct webhook_progress){0};
        status = db_event_list(tx, &newest, take_id, &standing->progress->position);
    }
    if (status < 0)
        return status;
    standing->progress->stopped = false; /* people start hpd anew when they have changed something */
    return db_webhook_put(tx, standing->webhook->name, standing->progress);
}

int service_webhook_open(struct service *s, const struct webhook *webhook, struct webhook_progress *ret_progress)
{
    struct problem problem;
    struct standing standing = {.webhook = webhook, .progress = ret_progress};
    return service_write(s, "webhook-open", open_write, &standing, &problem);
}

/* With several of them, the others are told that this one fails; and the timeline has it in any case. */
static int tell(struct db_tx *tx, const struct standing *standing)
{
    const struct webhook_progress *p = standing->progress;
    bool failing = p->failing_since != 0;
    char since[CLOCK_TEXT_MAX];
    struct event event = {.at = standing->now_ms,
                          .level = failing ? EVENT_LEVEL_ERROR : EVENT_LEVEL_INFO,
                          .kind = failing ? EVENT_KIND_WEBHOOK_FAILING : EVENT_KIND_WEBHOOK_BACK};
    text_copy_cut(event.about.subject, sizeof(event.about.subject), standing->webhook->name);
    text_copy_cut(event.about.state, sizeof(event.about.state), failing ? "failing" : "ok");
    if (failing)
        say_cut(event.message, sizeof(event.message), "The webhook %s has taken nothing since %s: %s. %s",
                standing->webhook->name, clock_format(p->failing_since, since), p->error,
                p->stopped         ? "The receiver says that it is gone, so nothing is sent until hpd starts again."
                : p->failures == 0 ? "What it refuses is left, and the next is tried."
                                   : "What it is told of waits and is tried again.");
    else
        say_cut(event.message, sizeof(event.message),
                "The webhook %s takes messages again; %" PRId64 " were given up or refused so far.",
                standing->webhook->name, p->expired + p->refused);
    return db_event_insert(tx, &event);
}

static int store_left(struct db_tx *tx, const struct standing *standing)
{
    const struct service_webhook_mark *mark = standing->mark;
    struct webhook_failed failed = {.event_id = mark->left, .at = standing->now_ms};
    text_copy_cut(failed.webhook, sizeof(failed.webhook), standing->webhook->name);
    text_copy_cut(failed.why, sizeof(failed.why), mark->why);
    if (mark->left != 0)
        return db_webhook_failed_put(tx, &failed);
    return mark->sent_again == 0 ? 0 : db_webhook_failed_delete(tx, failed.webhook, mark->sent_again);
}

static int store_write(struct db_tx *tx, void *arg)
{
    const struct standing *standing = arg;
    struct webhook_progress p = *standing->progress;
    int status = standing->tells ? tell(tx, standing) : 0;
    p.reported = p.reported != standing->tells;
    if (status == 0 && standing->mark->opened)
        status = db_webhook_alert_open(tx, standing->webhook->name, standing->mark->key, standing->now_ms);
    if (status == 0 && standing->mark->resolved)
        status = db_webhook_alert_close(tx, standing->webhook->name, standing->mark->key);
    if (status == 0)
        status = store_left(tx, standing);
    return status < 0 ? status : db_webhook_put(tx, standing->webhook->name, &p);
}

int service_webhook_store(struct service *s, const struct webhook *webhook, struct webhook_progress *progress,
                          const struct service_webhook_mark *mark)
{
    struct problem problem;
    struct standing standing = {.webhook = webhook, .progress = progress, .mark = mark, .now_ms = service_now(s)};
    bool left = progress->failing_since != 0 && progress->failures == 0; /* a message was, and the next is tried */
    standing.tells = progress->reported ? progress->failing_since == 0
                                        : left || progress->stopped || progress->failures >= WEBHOOK_TELL_FAILURES;
    int status = service_write(s, "webhook-store", store_write, &standing, &problem);
    if (status < 0)
        return status;
    progress->reported = progress->reported != standing.tells;
    if (standing.tells)
        service_events_added(s);
    return 0;
}

struct asking {
    const char *webhook, *key;
    bool open;
};

static int is_open_read(struct db_tx *tx, void *arg)
{
    struct asking *asking = arg;
    return db_webhook_alert_is_open(tx, asking->webhook, asking->key, &asking->open);
}

bool service_webhook_is_open(struct service *s, const struct webhook *webhook, const char *key)
{
    struct problem problem;
    struct asking asking = {.webhook = webhook->name, .key = key};
    return service_read(s, is_open_read, &asking, &problem) < 0 || asking.open;
}

/* --- what comes next --------------------------------------------------------------------------------- */

struct search {
    const struct webhook *webhook;
    int64_t position;
    struct service_webhook_item *item;
    size_t seen;
    bool found;
};

static int search_row(const void *row, void *arg)
{
    const struct event *event = row;
    struct search *search = arg;
    search->seen++;
    if (webhook_wants(search->webhook, event)) {
        search->item->event = *event;
        search->found = true;
        return STATUS_EXISTS; /* ends the walk */
    }
    search->position = event->id;
    return 0;
}

/* The question of this event, and not a later one of the same node. */
static int read_question(struct db_tx *tx, struct service_webhook_item *item)
{
    const struct event *event = &item->event;
    if (event->kind != EVENT_KIND_APPROVAL || event->node_id == 0)
        return 0;
    int status = db_approval_last(tx, event->node_id, &item->approval);
    bool is_it = status == 0 && item->approval.state == APPROVAL_STATE_ASKED && event->at >= item->approval.asked_at;
    if (!is_it)
        item->approval = (struct approval){0};
    return status == STATUS_NOT_FOUND ? 0 : status;
}

static int search_read(struct db_tx *tx, void *arg)
{
    struct search *search = arg;
    int status;
    do {
        const struct db_event_filter after = {.after_id = search->position, .limit = LOOK_AHEAD};
        search->seen = 0;
        status = db_event_list(tx, &after, search_row, search);
    } while (status == 0 && search->seen == LOOK_AHEAD);
    if (!search->found)
        return status;
    return read_question(tx, search->item);
}

int service_webhook_next(struct service *s, const struct webhook *webhook, int64_t *position,
                         struct service_webhook_item *ret_item)
{
    struct problem problem;
    struct search search = {.webhook = webhook, .position = *position, .item = ret_item};
    *ret_item = (struct service_webhook_item){0};
    int status = service_read(s, search_read, &search, &problem);
    if (status < 0)
        return status;
    *position = search.position;
    if (webhook->approval_links && ret_item->approval.id != 0)
        service_approval_url(s, &ret_item->approval, ret_item->approval_url);
    return search.found ? 0 : STATUS_NOT_FOUND;
}

struct again {
    const char *webhook;
    struct service_webhook_item *item;
};

static int again_read(struct db_tx *tx, void *arg)
{
    const struct again *again = arg;
    int64_t id;
    int status = db_webhook_failed_next(tx, again->webhook, &id);
    return status < 0 ? status : db_event_get(tx, id, &again->item->event);
}

int service_webhook_again(struct service *s, const struct webhook *webhook, struct service_webhook_item *ret_item)
{
    struct problem problem;
    struct again again = {webhook->name, ret_item};
    *ret_item = (struct service_webhook_item){0};
    return service_read(s, again_read, &again, &problem);
}

/* --- for the APIs ----------------------------------------------------------------------------------- */

struct listing {
    struct service_webhook_row *rows;
    size_t count;
};

static int count_wanted(const void *row, void *arg)
{
    struct service_webhook_row *webhook = arg;
    webhook->waiting += webhook_wants(webhook->webhook, row);
    return 0;
}

/* Of one that takes what it is told the place in the store may lie behind what it was not to be told of. */
static int count_waiting(struct db_tx *tx, struct service_webhook_row *row)
{
    const struct db_event_filter behind = {.after_id = row->progress.position, .limit = WEBHOOK_WAITING_MAX};
    bool waits = row->progress.failing_since != 0 || row->progress.stopped;
    return waits ? db_event_list(tx, &behind, count_wanted, row) : 0;
}

static int list_read(struct db_tx *tx, void *arg)
{
    const struct listing *listing = arg;
    for (size_t i = 0; i < listing->count; i++) {
        struct service_webhook_row *row = &listing->rows[i];
        int status = db_webhook_get(tx, row->webhook->name, &row->progress);
        if (status == 0)
            status = count_waiting(tx, row);
        if (status < 0 && status != STATUS_NOT_FOUND)
            return status;
    }
    return 0;
}

int service_webhook_list(struct service *s, struct service_webhook_row ret_rows[WEBHOOKS_MAX], size_t *ret_count,
                         struct problem *ret_problem)
{
    struct listing listing = {ret_rows, s->webhook_count};
    for (size_t i = 0; i < s->webhook_count; i++)
        ret_rows[i] = (struct service_webhook_row){.webhook = &s->webhooks[i]};
    *ret_count = s->webhook_count;
    return service_read(s, list_read, &listing, ret_problem);
}

static int test_write(struct db_tx *tx, void *arg)
{
    return db_event_insert(tx, arg);
}

int service_webhook_test(struct service *s, const struct actor *actor, struct event *ret_event,
                         struct problem *ret_problem)
{
    int status = service_require(actor, ROLE_OPERATOR, ret_problem);
    if (status < 0)
        return status;
    if (s->webhook_count == 0)
        return problem_say(ret_problem, STATUS_CONFLICT, PROBLEM_CONFLICT,
                           "No webhook is configured: hpd(8) says how, under webhooks.");
    *ret_event = (struct event){.at = service_now(s), .level = EVENT_LEVEL_INFO, .kind = EVENT_KIND_WEBHOOK_TEST};
    say_cut(ret_event->message, sizeof(ret_event->message),
            "A test of the webhooks, which %s asked for: nothing has happened, and nothing is to be done.",
            actor->name);
    status = service_write(s, "webhook-test", test_write, ret_event, ret_problem);
    if (status == 0) {
        atomic_fetch_add(&s->webhook_tests, 1);
        service_events_added(s);
    }
    return status;
}

/* --- messages that were left ------------------------------------------------------------------------------- */

struct leaving {
    struct db_tx *tx;
    db_row_fn fn;
    void *arg;
};

static int left_row(const void *row, void *arg)
{
    const struct leaving *leaving = arg;
    autofree struct service_webhook_left *left = own_calloc(1, sizeof(*left));
    left->failed = *(const struct webhook_failed *)row;
    int status = db_event_get(leaving->tx, left->failed.event_id, &left->event);
    if (status == STATUS_NOT_FOUND)
        left->event = (struct event){0};
    return status < 0 && status != STATUS_NOT_FOUND ? status : leaving->fn(left, leaving->arg);
}

static int left_read(struct db_tx *tx, void *arg)
{
    struct leaving *leaving = arg;
    leaving->tx = tx;
    return db_webhook_failed_list(tx, SERVICE_WEBHOOK_FAILED_MAX, left_row, leaving);
}

int service_webhook_failed(struct service *s, db_row_fn fn, void *arg, struct problem *ret_problem)
{
    struct leaving leaving = {.fn = fn, .arg = arg};
    return service_read(s, left_read, &leaving, ret_problem);
}

struct resending {
    const char *name;
    int64_t count;
};

static int resend_write(struct db_tx *tx, void *arg)
{
    struct resending *resending = arg;
    return db_webhook_failed_again(tx, resending->name, &resending->count);
}

int service_webhook_resend(struct service *s, const struct actor *actor, const char *name, int64_t *ret_count,
                           struct problem *ret_problem)
{
    bool known = name[0] == '\0';
    int status = service_require(actor, ROLE_OPERATOR, ret_problem);
    if (status < 0)
        return status;
    for (size_t i = 0; i < s->webhook_count && !known; i++)
        known = text_equal(s->webhooks[i].name, name);
    if (!known)
        return problem_say(ret_problem, STATUS_NOT_FOUND, PROBLEM_NOT_FOUND, "No webhook with the name \"%s\".", name);
    struct resending resending = {.name = name};
    status = service_write(s, "webhook-resend", resend_write, &resending, ret_problem);
    if (status == 0)
        *ret_count = resending.count;
    return status;
}
