/*
 * What providers say of their machines: all that can say it are asked once a minute, and not again before all have answered. What they say is
 * stored as evidence (service/provider/notice.h), which the loop then weighs as any other.
 */
#include "base/log.h"
#include "base/own.h"
#include "server/reconcile/base/call.h"
#include "server/reconcile/base/loop.h"
#include "server/service/provider/notice.h"

#define LOOK_EVERY_MS MS_PER_MIN

struct notices_part {
    int under_way; /* calls */
    bool *failing; /* by provider: its last answer was none, which is logged once */
};

static void start(struct reconcile *r)
{
    r->notices = own_calloc(1, sizeof(*r->notices));
    r->notices->failing = own_calloc(r->deps.provider_count + 1, sizeof(*r->notices->failing));
}

static void end(struct reconcile *r)
{
    free(r->notices->failing);
    free(TAKE(r->notices));
}

static bool ask(struct reconcile *r, int64_t now)
{
    (void)now;
    if (r->notices->under_way > 0)
        return false;
    for (size_t i = 0; i < r->deps.provider_count; i++) {
        const struct provider_driver *provider = &r->deps.providers[i];
        if (provider->ops->notices == NULL)
            continue;
        struct rcall *call = reconcile_call_new(CALL_NOTICES, 0, 0);
        call->provider = *provider;
        r->notices->under_way++;
        reconcile_call_send(r, call);
    }
    return false;
}

/* Whether it is news that the provider fails, or does no more. */
static bool is_news(struct reconcile *r, const struct rcall *call)
{
    for (size_t i = 0; i < r->deps.provider_count; i++) {
        bool *failing = &r->notices->failing[i];
        if (r->deps.providers[i].ops != call->provider.ops || *failing == (call->status != 0))
            continue;
        *failing = call->status != 0;
        return true;
    }
    return false;
}

static enum part_take take(struct reconcile *r, struct rcall *call)
{
    struct problem problem;
    if (call->kind != CALL_NOTICES)
        return PART_TAKE_NOT_MINE; /* it may have no provider */
    const char *name = call->provider.ops->name;
    r->notices->under_way--;
    bool news = is_news(r, call);
    if (call->status != 0 && news)
        log_warn("the provider %s cannot say what it plans for its machines: %s", name, call->error);
    else if (news)
        log_info("the provider %s says again what it plans for its machines", name);
    if (call->status != 0)
        return PART_TAKE_DONE;
    int status = service_provider_notices(r->service, name, call->notices, call->notice_count, &problem);
    if (status < 0)
        log_warn("what the provider %s says of its machines is not stored yet: %s", name, problem.detail);
    return PART_TAKE_DONE;
}

const struct part part_notices = {
    .start = start,
    .end = end,
    .run = ask,
    .take = take,
    .every_ms = LOOK_EVERY_MS,
};
