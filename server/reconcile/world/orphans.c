/*
 * Machines that a provider has and that are nobody's: a launch whose answer was lost for good, a termination that was not one, a machine
 * that somebody else made. A provider that can list its machines is asked from time to time. What no slot knows in two lists running
 * is reported once (machine-orphan).
 *
 * It is ended only where the site says so of its provider, and only when the store says that it was launched here and let go: what the
 * store does not know, as after the restore of an older backup, may be another's. That it will be ended is stored before; it is ended
 * when a later list, which was whole, still has it. Few are ended at a time, and one that cannot be ended later and later again. That it was
 * ended is said when a list has it no more: the provider's word that it ends one is not yet its end.
 */
#include "base/log.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"
#include "db/event.h"
#include "db/node.h"
#include "server/reconcile/base/call.h"
#include "server/reconcile/base/loop.h"
#include "server/reconcile/base/record.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define LOOK_EVERY_MS (5 * MS_PER_MIN)
#define ENDED_AT_ONCE_MAX 4
#define END_PAUSE_MAX_MS (6 * MS_PER_HOUR)
#define ENDS_MAX 3      /* that a provider says it has done, with the machine listed all the same: then it is said */
#define ORPHANS_MAX 256 /* of one provider that are remembered: more are a provider that holds others' machines */

struct orphan {
    char provider[NAME_MAX_BYTES], ref[PROVIDER_REF_MAX_BYTES], instance_id[ID_INSTANCE_MAX];
    bool seen, told;     /* in the newest list of its provider; its event is stored */
    int lists;           /* running, that it was unknown in */
    bool let_go;         /* the store says so, as of the newest list */
    bool ending;         /* a call goes on */
    int tries, accepted; /* ends that were asked for, and those that the provider says it has done */
    int64_t end_after;   /* the next try */
    /* What became of it and is not stored yet. */
    bool ended, failed, failed_told;
    char error[PROVIDER_ERROR_MAX];
};

/* Machines of a provider's newest list that there was no room for; it is said once, until there are none. */
struct crowd {
    int left_out;
    bool told;
};

struct orphans_part {
    struct orphan *list;
    size_t count;
    int under_way;        /* calls */
    bool looked;          /* a list, or the answer of an end, came that no turn has written yet */
    struct crowd *crowds; /* of each provider, in the loop's order */
};

static void start(struct reconcile *r)
{
    r->orphans = own_calloc(1, sizeof(*r->orphans));
    r->orphans->crowds = own_calloc(r->deps.provider_count + 1, sizeof(*r->orphans->crowds));
}

static void end(struct reconcile *r)
{
    free(r->orphans->list);
    free(r->orphans->crowds);
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

static struct orphan *find(struct orphans_part *part, const char *provider, const char *ref, const char *instance_id)
{
    for (size_t i = 0; i < part->count; i++)
        if (text_equal(part->list[i].provider, provider) && text_equal(part->list[i].ref, ref) &&
            text_equal(part->list[i].instance_id, instance_id))
            return &part->list[i];
    return NULL;
}

static struct crowd *crowd_of(const struct reconcile *r, const char *provider)
{
    size_t at = 0;
    while (at < r->deps.provider_count && !text_equal(r->deps.providers[at].ops->name, provider))
        at++;
    return &r->orphans->crowds[at];
}

static bool has_room(const struct orphans_part *part, const char *provider)
{
    size_t count = 0;
    for (size_t i = 0; i < part->count; i++)
        count += text_equal(part->list[i].provider, provider);
    return count < ORPHANS_MAX;
}

static void note(struct reconcile *r, const char *provider, const struct provider_listed *listed, bool let_go)
{
    struct orphans_part *part = r->orphans;
    struct orphan *orphan = find(part, provider, listed->ref, listed->instance_id);
    if (orphan == NULL && !has_room(part, provider)) {
        crowd_of(r, provider)->left_out++;
        return;
    }
    if (orphan == NULL) {
        part->list = own_realloc(part->list, part->count + 1, sizeof(*part->list));
        orphan = &part->list[part->count++];
        *orphan = (struct orphan){.seen = true};
        text_copy_cut(orphan->provider, sizeof(orphan->provider), provider);
        text_copy_cut(orphan->ref, sizeof(orphan->ref), listed->ref);
        text_copy_cut(orphan->instance_id, sizeof(orphan->instance_id), listed->instance_id);
    }
    orphan->seen = true;
    orphan->let_go = let_go;
    orphan->lists++;
}

/* What the list has no more is forgotten; what was to be ended has ended, which is said first. */
static void forget_unseen(struct orphans_part *part, const char *provider)
{
    size_t kept = 0;
    for (size_t i = 0; i < part->count; i++) {
        struct orphan *orphan = &part->list[i];
        bool unseen = !orphan->seen && text_equal(orphan->provider, provider);
        orphan->ended |= unseen && orphan->accepted > 0;
        if (!unseen || orphan->ended)
            part->list[kept++] = *orphan;
    }
    part->count = kept;
}

struct comparing {
    struct reconcile *r;
    const struct rcall *call;
};

/* Only what no slot knows is kept. */
static int compare(struct db_tx *tx, void *arg)
{
    const struct comparing *comparing = arg;
    for (size_t i = 0; i < comparing->call->listed_count; i++) {
        const struct provider_listed *listed = &comparing->call->listed[i];
        bool known = false, let_go = false;
        int status = db_instance_is_known(tx, listed->instance_id, listed->ref, &known);
        if (status == 0 && !known && comparing->call->provider.ops->ends_orphans)
            status = db_instance_was_let_go(tx, listed->instance_id, listed->ref, &let_go);
        if (status != 0)
            return status;
        if (!known)
            note(comparing->r, comparing->call->provider.ops->name, listed, let_go);
    }
    return 0;
}

/* Told and stored by an earlier turn, and still there in this list. */
static bool is_to_be_ended(const struct orphan *orphan, const char *provider, int64_t now)
{
    return text_equal(orphan->provider, provider) && orphan->seen && orphan->told && orphan->let_go &&
           !orphan->ending && orphan->lists > 2 && now >= orphan->end_after;
}

static void end_orphans(struct reconcile *r, const struct rcall *list)
{
    struct orphans_part *part = r->orphans;
    int sent = 0;
    for (size_t i = 0; i < part->count && sent < ENDED_AT_ONCE_MAX; i++) {
        struct orphan *orphan = &part->list[i];
        if (!is_to_be_ended(orphan, list->provider.ops->name, reconcile_now(r)))
            continue;
        struct rcall *call = reconcile_call_new(CALL_END_ORPHAN, 0, 0);
        call->provider = list->provider;
        text_copy_cut(call->instance_id, sizeof(call->instance_id), orphan->instance_id);
        text_copy_cut(call->provider_ref, sizeof(call->provider_ref), orphan->ref);
        text_copy_cut(call->why, sizeof(call->why), "it fills no slot");
        /* No key of an earlier hpd: what was done under it would not be done again. */
        snprintf(call->key, sizeof(call->key), "orphan/%s/%" PRId64, orphan->instance_id, reconcile_now(r));
        orphan->tries++;
        orphan->ending = true;
        sent++;
        reconcile_call_send(r, call);
    }
}

static void take_end(struct reconcile *r, const struct rcall *call)
{
    struct orphans_part *part = r->orphans;
    struct orphan *orphan = find(part, call->provider.ops->name, call->provider_ref, call->instance_id);
    if (orphan == NULL)
        return;
    orphan->ending = false;
    int64_t pause = LOOK_EVERY_MS << (orphan->tries < 8 ? orphan->tries : 8);
    orphan->end_after = reconcile_now(r) + (pause < END_PAUSE_MAX_MS ? pause : END_PAUSE_MAX_MS);
    bool accepted = call->status == 0 || call->status == STATUS_NOT_FOUND;
    orphan->accepted += accepted;
    orphan->failed = (!accepted || orphan->accepted > ENDS_MAX) && !orphan->failed_told;
    text_copy_cut(orphan->error, sizeof(orphan->error),
                  accepted                 ? "the provider says that it did, and lists it all the same"
                  : call->error[0] != '\0' ? call->error
                                           : status_meaning(call->status));
    part->looked |= orphan->failed;
}

static void take_list(struct reconcile *r, const struct rcall *call)
{
    struct orphans_part *part = r->orphans;
    const char *provider = call->provider.ops->name;
    struct comparing comparing = {r, call};
    struct crowd *crowd = crowd_of(r, provider);
    struct db_tx *tx = NULL;
    for (size_t i = 0; i < part->count; i++)
        part->list[i].seen = part->list[i].seen && !text_equal(part->list[i].provider, provider);
    crowd->left_out = 0;
    int status = db_read_begin(r->db, &tx);
    if (status == 0)
        status = compare(tx, &comparing);
    db_read_end(r->db, tx);
    if (status != 0)
        return; /* the next list is compared */
    forget_unseen(part, provider);
    crowd->told = crowd->told && crowd->left_out > 0;
    part->looked |= part->count > 0;
    if (call->provider.ops->ends_orphans)
        end_orphans(r, call);
}

static enum part_take take(struct reconcile *r, struct rcall *call)
{
    if (call->kind == CALL_END_ORPHAN) {
        take_end(r, call);
        return PART_TAKE_DONE;
    }
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

static int tell(struct turn *turn, enum event_level level, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

static int tell(struct turn *turn, enum event_level level, const char *fmt, ...)
{
    struct event event = {.at = turn->now, .level = level, .kind = EVENT_KIND_MACHINE_ORPHAN};
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(event.message, sizeof(event.message), fmt, ap);
    va_end(ap);
    turn->event_count++;
    return db_event_insert(turn->tx, &event);
}

static int tell_found(struct turn *turn, const struct orphan *orphan)
{
    const char *ref = orphan->ref[0] != '\0' ? orphan->ref : orphan->instance_id;
    return tell(turn, EVENT_LEVEL_WARN, "provider %s lists machine %s, which fills no slot. %s", orphan->provider, ref,
                orphan->let_go ? "hpd will end it, as endOrphans says." : "End it there if nobody uses it.");
}

static int tell_end(struct turn *turn, const struct orphan *orphan)
{
    const char *ref = orphan->ref[0] != '\0' ? orphan->ref : orphan->instance_id;
    if (orphan->ended)
        return tell(turn, EVENT_LEVEL_INFO, "machine %s of provider %s, which filled no slot, was ended", ref,
                    orphan->provider);
    return tell(turn, EVENT_LEVEL_WARN, "machine %s of provider %s fills no slot and cannot be ended: %.150s", ref,
                orphan->provider, orphan->error);
}

static int tell_left_out(struct turn *turn, size_t at)
{
    const struct crowd *crowd = &turn->r->orphans->crowds[at];
    if (crowd->left_out == 0 || crowd->told)
        return 0;
    return tell(
        turn, EVENT_LEVEL_WARN,
        "provider %s lists %d machines that fill no slot beyond the %d that hpd keeps apart. End those that nobody "
        "uses, or give hpd an account of its own.",
        turn->r->deps.providers[at].ops->name, crowd->left_out, ORPHANS_MAX);
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
            status = tell_found(turn, &part->list[i]);
    for (size_t i = 0; part->looked && status == 0 && i < part->count; i++)
        if (part->list[i].ended || part->list[i].failed)
            status = tell_end(turn, &part->list[i]);
    for (size_t i = 0; part->looked && status == 0 && i < turn->r->deps.provider_count; i++)
        status = tell_left_out(turn, i);
    return status;
}

static void done(struct turn *turn)
{
    struct orphans_part *part = turn->r->orphans;
    size_t kept = 0;
    for (size_t i = 0; part->looked && i < part->count; i++) {
        struct orphan *orphan = &part->list[i];
        orphan->told |= is_to_be_told(orphan);
        orphan->failed_told |= orphan->failed;
        orphan->failed = false;
        if (!orphan->ended)
            part->list[kept++] = *orphan;
    }
    part->count = part->looked ? kept : part->count;
    for (size_t i = 0; part->looked && i < turn->r->deps.provider_count; i++)
        part->crowds[i].told |= part->crowds[i].left_out > 0;
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
