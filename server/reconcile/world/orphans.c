/*
 * Machines that a provider has and that are nobody's: a launch whose answer was lost for good, a termination that was not one, a machine
 * that somebody else made. A provider that can list its machines is asked from time to time. What no slot knows in two lists running
 * is reported once (machine-orphan). It is never ended here: it may be another's.
 */
#include "base/log.h"
#include "base/own.h"
#include "base/text.h"
#include "db/event.h"
#include "db/node.h"
#include "server/reconcile/base/call.h"
#include "server/reconcile/base/loop.h"
#include "server/reconcile/base/record.h"

#include <stdio.h>
#include <string.h>

#define LOOK_EVERY_MS (5 * MS_PER_MIN)
#define ORPHANS_MAX 256 /* that are remembered: more are a provider that holds others' machines */

struct orphan {
    char provider[NAME_MAX_BYTES], ref[PROVIDER_REF_MAX_BYTES], instance_id[ID_INSTANCE_MAX];
    bool seen, told; /* in the newest list of its provider; its event is stored */
    int lists;       /* running, that it was unknown in */
};

struct orphans_part {
    struct orphan *list;
    size_t count;
    int under_way; /* calls */
    bool looked;   /* a list came that no turn has compared yet */
};

static void start(struct reconcile *r)
{
    r->orphans = own_calloc(1, sizeof(*r->orphans));
}

static void end(struct reconcile *r)
{
    free(r->orphans->list);
    free(TAKE(r->orphans));
}

static bool ask(struct reconcile *r, int64_t now)
{
    (void)now;
    if (r->orphans->under_way > 0)
        return false;
    for (size_t i = 0; i < r->deps.provider_count; i++) {
        const struct provider_driver *provider = &r->deps.providers[i];
        if (provider->ops->list == NULL)
            continue;
        struct rcall *call = reconcile_call_new(CALL_LIST, 0, 0);
        call->provider = *provider;
        r->orphans->under_way++;
        reconcile_call_send(r, call);
    }
    return false;
}

static void note(struct orphans_part *part, const char *provider, const struct provider_listed *listed)
{
    struct orphan *orphan = NULL;
    for (size_t i = 0; i < part->count && orphan == NULL; i++)
        if (text_equal(part->list[i].provider, provider) && text_equal(part->list[i].ref, listed->ref) &&
            text_equal(part->list[i].instance_id, listed->instance_id))
            orphan = &part->list[i];
    if (orphan == NULL && part->count == ORPHANS_MAX)
        return;
    if (orphan == NULL) {
        part->list = own_realloc(part->list, part->count + 1, sizeof(*part->list));
        orphan = &part->list[part->count++];
        *orphan = (struct orphan){.seen = true};
        text_copy_cut(orphan->provider, sizeof(orphan->provider), provider);
        text_copy_cut(orphan->ref, sizeof(orphan->ref), listed->ref);
        text_copy_cut(orphan->instance_id, sizeof(orphan->instance_id), listed->instance_id);
    }
    orphan->seen = true;
    orphan->lists++;
}

/* What the list has no more is forgotten. */
static void forget_unseen(struct orphans_part *part, const char *provider)
{
    size_t kept = 0;
    for (size_t i = 0; i < part->count; i++)
        if (part->list[i].seen || !text_equal(part->list[i].provider, provider))
            part->list[kept++] = part->list[i];
    part->count = kept;
}

struct comparing {
    struct orphans_part *part;
    const struct rcall *call;
};

/* Only what no slot knows is kept. */
static int compare(struct db_tx *tx, void *arg)
{
    const struct comparing *comparing = arg;
    for (size_t i = 0; i < comparing->call->listed_count; i++) {
        const struct provider_listed *listed = &comparing->call->listed[i];
        bool known = false;
        int status = db_instance_is_known(tx, listed->instance_id, listed->ref, &known);
        if (status != 0)
            return status;
        if (!known)
            note(comparing->part, comparing->call->provider.ops->name, listed);
    }
    return 0;
}

static void take_list(struct reconcile *r, const struct rcall *call)
{
    struct orphans_part *part = r->orphans;
    const char *provider = call->provider.ops->name;
    struct comparing comparing = {part, call};
    struct db_tx *tx = NULL;
    for (size_t i = 0; i < part->count; i++)
        part->list[i].seen = part->list[i].seen && !text_equal(part->list[i].provider, provider);
    int status = db_read_begin(r->db, &tx);
    if (status == 0)
        status = compare(tx, &comparing);
    db_read_end(r->db, tx);
    if (status != 0)
        return; /* the next list is compared */
    forget_unseen(part, provider);
    part->looked = part->count > 0;
}

static enum part_take take(struct reconcile *r, struct rcall *call)
{
    if (call->kind != CALL_LIST)
        return PART_TAKE_NOT_MINE;
    r->orphans->under_way--;
    if (call->status == 0)
        take_list(r, call);
    else
        log_warn("the provider %s cannot list its machines: %s", call->provider.ops->name, call->error);
    return PART_TAKE_DONE;
}

static int plan(struct turn *turn)
{
    return turn->r->orphans->looked ? PART_PLAN_STORE : PART_PLAN_NOTHING;
}

static int tell(struct turn *turn, const struct orphan *orphan)
{
    struct event event = {.at = turn->now, .level = EVENT_LEVEL_WARN, .kind = EVENT_KIND_MACHINE_ORPHAN};
    const char *ref = orphan->ref[0] != '\0' ? orphan->ref : orphan->instance_id;
    snprintf(event.message, sizeof(event.message),
             "provider %s lists machine %s, which fills no slot. End it there if nobody uses it.", orphan->provider,
             ref);
    turn->event_count++;
    return db_event_insert(turn->tx, &event);
}

static bool is_to_be_told(const struct orphan *orphan)
{
    return orphan->lists >= 2 && !orphan->told;
}

static int write(struct turn *turn)
{
    const struct orphans_part *part = turn->r->orphans;
    int status = 0;
    for (size_t i = 0; part->looked && status == 0 && i < part->count; i++)
        if (is_to_be_told(&part->list[i]))
            status = tell(turn, &part->list[i]);
    return status;
}

static void done(struct turn *turn)
{
    struct orphans_part *part = turn->r->orphans;
    for (size_t i = 0; part->looked && i < part->count; i++)
        part->list[i].told |= is_to_be_told(&part->list[i]);
    part->looked = false;
}

const struct part part_orphans = {
    .start = start,
    .end = end,
    .run = ask,
    .take = take,
    .plan = plan,
    .write = write,
    .done = done,
    .every_ms = LOOK_EVERY_MS,
};
