/*
 * What a provider says of its machines: that one goes away or is interrupted on a date, that its hardware is not well. It becomes a verdict of
 * the source "provider", so that the policy weighs it as it weighs what agents see; beside it stands the date.
 *
 * A provider answers with all its notices each time. So a notice that an answer lacks is over: its verdict is resolved, and the repair
 * that was begun for it ends while it has touched nothing. Its row is deleted, so that the same is new when it is said again: an
 * impaired host of EC2 always has the same id. Only the row of a planned reboot that was answered stays, because a provider may see
 * the boot late. What is said of a machine that fills no slot is left alone.
 *
 * A retirement that is missing at its date was not withdrawn: the machine was taken. Its verdict and its repair stay; another machine
 * or another boot in the slot ends them.
 */
#include "server/service/provider/notice.h"

#include "base/text.h"
#include "db/node.h"
#include "db/notice.h"
#include "db/operation.h"
#include "db/verdict.h"
#include "policy/policy.h"
#include "server/service/private.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define TAKEN_EARLY_MS (2 * MS_PER_MIN) /* how long before its date a provider may take a machine */

struct taking {
    struct service *service;
    const char *provider;
    const struct provider_notice *notices;
    size_t count;
    int64_t now_ms;
    bool writes; /* else it is only asked whether there is something to write */
    bool needed;
    int64_t *standing; /* verdicts of what is said still */
    size_t standing_count;
    struct verdict *changed; /* owned: the loop looks at their nodes */
    size_t changed_count;
};

static void say_code(enum provider_notice_kind kind, char ret_code[CODE_MAX_BYTES])
{
    snprintf(ret_code, CODE_MAX_BYTES, VERDICT_SOURCE_PROVIDER ".%s", provider_notice_kind_text(kind));
}

/* " at 2026-12-05T10:00:00.000Z" */
static const char *say_date(int64_t due_at, char text[CLOCK_TEXT_MAX + 8])
{
    char date[CLOCK_TEXT_MAX] = "";
    if (due_at > 0)
        clock_format(due_at, date);
    snprintf(text, CLOCK_TEXT_MAX + 8, "%s%s", due_at > 0 ? " at " : "", date);
    return text;
}

struct change {
    struct place place;
    struct verdict verdict;
};

static int say_change(struct db_tx *tx, struct taking *taking, const struct change *change, enum event_level level,
                      const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* "provider.retirement gpu-1 …" */
static int say_change(struct db_tx *tx, struct taking *taking, const struct change *change, enum event_level level,
                      const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    autofree char *message = own_vprintf(fmt, ap);
    va_end(ap);
    taking->changed = own_realloc(taking->changed, taking->changed_count + 1, sizeof(*taking->changed));
    taking->changed[taking->changed_count++] = change->verdict;
    return place_event(tx, &change->place, NULL, level, EVENT_KIND_VERDICT, "%s %s%s", change->verdict.code,
                       change->place.node.name, message);
}

/* The repair that is at work for a fault and may still be cancelled. NOT_FOUND. */
static int find_repair(struct db_tx *tx, const struct place *place, struct operation *ret_operation)
{
    int status = db_operation_active(tx, place->node.id, ret_operation);
    if (status != 0)
        return status;
    bool open = ret_operation->cause == OPERATION_CAUSE_FAULT && !ret_operation->cancel_asked &&
                !operation_is_past_return(ret_operation);
    return open ? 0 : STATUS_NOT_FOUND;
}

/* by: ACTOR_POLICY where the node is decided on anew and stays out of service until then; "" where what it was for is over. */
static int cancel(struct db_tx *tx, struct operation *operation, const char *by, const char *why)
{
    operation->cancel_asked = true;
    text_copy_cut(operation->cancelled_by, sizeof(operation->cancelled_by), by);
    text_copy_cut(operation->error, sizeof(operation->error), why);
    return db_operation_update(tx, operation);
}

/* Nobody stopped it: what else is against the node is weighed anew. */
static int cancel_repair(struct db_tx *tx, const struct place *place, const char *code, const char *by, const char *why)
{
    struct operation operation;
    int status = find_repair(tx, place, &operation);
    if (status != 0)
        return status == STATUS_NOT_FOUND ? 0 : status;
    return text_equal(operation.code, code) ? cancel(tx, &operation, by, why) : 0;
}

/* The jobs of a machine that was sound have until its date. What is announced beside it may give them less. */
static int cancel_later_repair(struct db_tx *tx, const struct place *place, const struct provider_notice *notice)
{
    struct operation operation;
    int status = find_repair(tx, place, &operation);
    if (status != 0)
        return status == STATUS_NOT_FOUND ? 0 : status;
    bool later = notice->due_at == 0 || notice->due_at < operation.created_at + operation.job_wait_ms;
    if (!later || operation.job_wait_ms == 0 || !text_starts_with(operation.code, VERDICT_SOURCE_PROVIDER "."))
        return 0;
    return cancel(tx, &operation, ACTOR_POLICY, "the provider announces more of the machine");
}

/* --- what it says -------------------------------------------------------------------------------------------- */

/* The slot that the machine fills, with an agent that has been heard. NOT_FOUND. */
static int find_place(struct db_tx *tx, const struct taking *taking, const struct provider_notice *notice,
                      struct place *ret_place)
{
    struct instance instance;
    int status = notice->instance_id[0] != '\0' ? db_instance_get(tx, notice->instance_id, &instance)
                                                : db_instance_by_ref(tx, taking->provider, notice->ref, &instance);
    if (status == 0 && notice->ref[0] != '\0' && instance.provider_ref[0] != '\0' &&
        !text_equal(instance.provider_ref, notice->ref))
        status = STATUS_NOT_FOUND;
    if (status == 0)
        status = place_find_row(tx, instance.node_id, ret_place);
    if (status != 0)
        return status;
    bool fills = ret_place->instance.id == instance.id && instance.boot_id[0] != '\0' &&
                 text_equal(ret_place->group.provider, taking->provider);
    return fills ? 0 : STATUS_NOT_FOUND;
}

static void make_verdict(const struct taking *taking, const struct place *place, const struct provider_notice *notice,
                         const struct notice *row, struct verdict *ret_verdict)
{
    struct verdict verdict = {.node_id = place->node.id,
                              .severity = SEVERITY_WARN,
                              .state = VERDICT_STATE_OPEN,
                              .count = 1,
                              .first_at = taking->now_ms,
                              .last_at = taking->now_ms,
                              .received_at = taking->now_ms};
    autofree char *key = own_printf("%s/%s/%s/%s/%" PRId64, row->provider, row->id, row->instance_id, row->boot_id,
                                    verdict.first_at); /* when it is said again, it is another verdict */
    id_sha256_hex(key, strlen(key), verdict.key);
    say_code(notice->kind, verdict.code);
    text_copy_cut(verdict.source, sizeof(verdict.source), VERDICT_SOURCE_PROVIDER);
    text_copy_cut(verdict.table_version, sizeof(verdict.table_version), fault_table_version());
    memcpy(verdict.instance_id, row->instance_id, sizeof(verdict.instance_id));
    memcpy(verdict.boot_id, place->instance.boot_id, sizeof(verdict.boot_id));
    say_cut(verdict.raw_line, sizeof(verdict.raw_line), "%s: %s", taking->provider,
            notice->words[0] != '\0' ? notice->words : provider_notice_kind_text(notice->kind));
    const struct fault_overrides *overrides = atomic_load(&taking->service->fault_overrides);
    verdict.node_fault = !fault_is_overridden(overrides, verdict.code) &&
                         !fault_has_trait(verdict.code, FAULT_TRAIT_PLANNED) && policy_is_node_fault(NULL, &verdict);
    *ret_verdict = verdict;
}

static int add_new(struct db_tx *tx, struct taking *taking, struct change *change, const struct provider_notice *notice,
                   struct notice *row)
{
    enum db_verdict_change what;
    char date[CLOCK_TEXT_MAX + 8];
    make_verdict(taking, &change->place, notice, row, &change->verdict);
    int status = db_verdict_put(tx, &change->verdict, &what);
    if (status < 0)
        return status;
    row->verdict_id = change->verdict.id;
    row->due_at = notice->due_at;
    status = db_notice_insert(tx, row);
    if (status == 0)
        status = cancel_later_repair(tx, &change->place, notice);
    return status < 0 ? status
                      : say_change(tx, taking, change, EVENT_LEVEL_WARN, ": %s%s", change->verdict.raw_line,
                                   say_date(notice->due_at, date));
}

static int move_date(struct db_tx *tx, struct taking *taking, struct change *change,
                     const struct provider_notice *notice, const struct notice *row)
{
    char date[CLOCK_TEXT_MAX + 8];
    int status = db_verdict_get_row(tx, row->verdict_id, &change->verdict);
    if (status == 0)
        status = db_notice_set_due(tx, row->verdict_id, notice->due_at);
    if (status == 0) /* how long its jobs have was decided with the old one */
        status = cancel_repair(tx, &change->place, change->verdict.code, ACTOR_POLICY, "the provider has another date");
    return status != 0 ? status
                       : say_change(tx, taking, change, EVENT_LEVEL_WARN, ": %s has another date now:%s",
                                    taking->provider, notice->due_at > 0 ? say_date(notice->due_at, date) : " none");
}

static bool is_standing(const struct taking *taking, int64_t verdict_id)
{
    for (size_t i = 0; i < taking->standing_count; i++)
        if (taking->standing[i] == verdict_id)
            return true;
    return false;
}

static int take_one(struct db_tx *tx, struct taking *taking, const struct provider_notice *notice)
{
    struct change change;
    const struct place *place = &change.place;
    int status = find_place(tx, taking, notice, &change.place);
    if (status != 0)
        return status == STATUS_NOT_FOUND ? 0 : status;
    struct notice row = {.verdict_id = 0};
    text_copy_cut(row.provider, sizeof(row.provider), taking->provider);
    text_copy_cut(row.id, sizeof(row.id), notice->id);
    memcpy(row.instance_id, place->instance.instance_id, sizeof(row.instance_id));
    if (notice->kind != PROVIDER_NOTICE_REBOOT) /* any boot answers that, and some providers see it late */
        memcpy(row.boot_id, place->instance.boot_id, sizeof(row.boot_id));
    status = db_notice_find(tx, &row);
    if (status != 0 && status != STATUS_NOT_FOUND)
        return status;
    bool is_new = status == STATUS_NOT_FOUND, again = !is_new && is_standing(taking, row.verdict_id);
    bool moved = !is_new && !again && row.due_at != notice->due_at;
    taking->needed |= is_new || moved;
    status = 0;
    if (taking->writes && is_new)
        status = add_new(tx, taking, &change, notice, &row);
    else if (taking->writes && moved)
        status = move_date(tx, taking, &change, notice, &row);
    if (row.verdict_id != 0 && !again)
        taking->standing[taking->standing_count++] = row.verdict_id;
    return status;
}

/* --- what it announces no longer ------------------------------------------------------------------------------------ */

struct over {
    const struct taking *taking;
    struct notice *list;
    size_t count;
};

static int take_over(const void *row, void *arg)
{
    struct over *over = arg;
    const struct notice *notice = row;
    if (is_standing(over->taking, notice->verdict_id))
        return 0;
    over->list = own_realloc(over->list, over->count + 1, sizeof(*over->list));
    over->list[over->count++] = *notice;
    return 0;
}

/* EC2 has no notice of an instance that it has taken. */
static bool was_carried_out(const struct taking *taking, const struct notice *notice, const struct verdict *verdict)
{
    char retirement[CODE_MAX_BYTES];
    say_code(PROVIDER_NOTICE_RETIREMENT, retirement);
    return text_equal(verdict->code, retirement) && notice->due_at != 0 &&
           notice->due_at - TAKEN_EARLY_MS <= taking->now_ms;
}

static int end_one(struct db_tx *tx, struct taking *taking, const struct notice *notice)
{
    struct change change;
    const struct verdict *verdict = &change.verdict;
    int status = db_verdict_get_row(tx, notice->verdict_id, &change.verdict);
    bool open = status == 0 && verdict->state == VERDICT_STATE_OPEN;
    if (open)
        status = place_find_row(tx, verdict->node_id, &change.place);
    /* A machine that was let go, or has booted since, is none of whom anything was withdrawn. */
    bool here = open && status == 0 && text_equal(change.place.instance.instance_id, verdict->instance_id) &&
                text_equal(change.place.instance.boot_id, verdict->boot_id);
    if (status != 0 || (here && was_carried_out(taking, notice, verdict)))
        return status;
    taking->needed = true;
    if (!taking->writes)
        return 0;
    status = db_notice_delete(tx, verdict->id);
    if (status == 0 && open)
        status = db_verdict_resolve_between(tx, verdict->node_id, verdict->id - 1, verdict->id);
    if (status == 0 && here)
        status = cancel_repair(tx, &change.place, verdict->code, "", "the provider announces it no longer");
    return status != 0 || !here ? status
                                : say_change(tx, taking, &change, EVENT_LEVEL_INFO,
                                             " is over: %s announces it no longer", taking->provider);
}

static int end_others(struct db_tx *tx, struct taking *taking)
{
    struct over over = {.taking = taking};
    int status = db_notice_list_pending(tx, taking->provider, take_over, &over);
    autofree struct notice *list = over.list;
    for (size_t i = 0; status == 0 && i < over.count; i++)
        status = end_one(tx, taking, &list[i]);
    return status;
}

/* --- all of it ------------------------------------------------------------------------------------------------ */

static int take(struct db_tx *tx, void *arg)
{
    struct taking *taking = arg;
    int status = 0;
    taking->standing_count = 0;
    taking->changed_count = 0;
    taking->needed = false;
    for (size_t i = 0; status == 0 && i < taking->count; i++)
        status = take_one(tx, taking, &taking->notices[i]);
    return status == 0 ? end_others(tx, taking) : status;
}

static void wake(struct service *s, const struct taking *taking)
{
    for (size_t i = 0; i < taking->changed_count; i++) {
        const struct verdict *verdict = &taking->changed[i];
        const struct service_stored stored = {verdict->node_id, service_mono_us(s), verdict, 1, 0};
        service_wake(s, SERVICE_WAKE_NODE, verdict->node_id);
        if (s->verdicts_stored != NULL)
            s->verdicts_stored(s->wake_arg, &stored);
    }
    if (taking->changed_count > 0)
        service_events_added(s);
}

int service_provider_notices(struct service *s, const char *provider, const struct provider_notice *notices,
                             size_t count, struct problem *ret_problem)
{
    struct taking taking = {
        .service = s, .provider = provider, .notices = notices, .count = count, .now_ms = service_now(s)};
    taking.standing = own_calloc(count + 1, sizeof(*taking.standing));
    int status = service_read(s, take, &taking, ret_problem);
    if (status == 0 && taking.needed) {
        taking.writes = true;
        status = service_write(s, "provider-notices", take, &taking, ret_problem);
    }
    if (status == 0)
        wake(s, &taking);
    free(taking.standing);
    free(taking.changed);
    return status;
}
