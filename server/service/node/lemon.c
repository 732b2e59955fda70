/* what the history of nodes weighs: of one that is described or explained, and of all of a cluster, the worst first. policy/lemon.c
 * has the sum. */
#include "server/service/node/lemon.h"
#include "db/hardware.h"
#include "policy/replay.h"
#include "server/config/policy_registry.h"
#include "server/service/private.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

#define PIECES_MAX 256
#define LOOK_BACK_MS (365 * MS_PER_DAY) /* no window is longer */

_Static_assert(PIECES_MAX >= HARDWARE_STORED_MAX, "all that is stored of a machine");

struct history {
    struct operation *operations; /* of the node, newest first */
    struct db_hardware_repair *elsewhere;
    struct policy_repair *repairs; /* of both */
    struct hardware hardware[PIECES_MAX];
    size_t operation_count, elsewhere_count, repair_count, hardware_count;
};

static void history_free(struct history *history)
{
    free(history->operations);
    free(history->elsewhere);
    free(history->repairs);
    free(history);
}

/* A list with room for one more: it doubles when it is full, which is at every power of two. */
static void *with_room(void *list, size_t count, size_t size)
{
    bool is_full = (count & (count - 1)) == 0;
    return is_full ? own_realloc(list, count == 0 ? 1 : count * 2, size) : list;
}

static int take_operation(const void *row, void *arg)
{
    struct history *history = arg;
    const struct operation *operation = row;
    if (operation->state != OPERATION_STATE_SUCCEEDED && operation->state != OPERATION_STATE_FAILED)
        return 0;
    history->operations = with_room(history->operations, history->operation_count, sizeof(*history->operations));
    history->operations[history->operation_count++] = *operation;
    return 0;
}

static int take_elsewhere(const void *row, void *arg)
{
    struct history *history = arg;
    history->elsewhere = with_room(history->elsewhere, history->elsewhere_count, sizeof(*history->elsewhere));
    history->elsewhere[history->elsewhere_count++] = *(const struct db_hardware_repair *)row;
    return 0;
}

static int take_piece(const void *row, void *arg)
{
    struct history *history = arg;
    history->hardware[history->hardware_count++] = *(const struct hardware *)row;
    return history->hardware_count == PIECES_MAX ? 1 : 0;
}

/* A piece that is back in the slot from which it was taken is in the slot's own past already. */
static void put_elsewhere(struct history *history, const struct db_hardware_repair *elsewhere, int64_t node_id)
{
    struct policy_repair *repair = NULL;
    for (size_t i = 0; i < history->operation_count; i++)
        if (history->operations[i].id == elsewhere->operation.id)
            repair = &history->repairs[i];
    if (repair == NULL) {
        repair = &history->repairs[history->repair_count++];
        *repair = policy_replay_repair(&elsewhere->operation);
        repair->node = elsewhere->operation.node_id == node_id ? NULL : elsewhere->node;
    }
    repair->same_piece = true;
    repair->device = elsewhere->operation.device;
}

static int read_history(struct db_tx *tx, const struct place *place, int64_t since, struct history *history)
{
    int status = db_operation_repairs(tx, place->node.id, since, take_operation, history);
    if (status >= 0 && place->instance.id != 0)
        status = db_hardware_repairs(tx, place->instance.id, since, 0, take_elsewhere, history);
    if (status >= 0 && place->instance.id != 0)
        status = db_hardware_list(tx, place->instance.id, take_piece, history);
    if (status < 0)
        return status;
    history->repairs = own_calloc(history->operation_count + history->elsewhere_count + 1, sizeof(*history->repairs));
    for (; history->repair_count < history->operation_count; history->repair_count++)
        history->repairs[history->repair_count] = policy_replay_repair(&history->operations[history->repair_count]);
    for (size_t i = 0; i < history->elsewhere_count; i++)
        put_elsewhere(history, &history->elsewhere[i], place->node.id);
    return 0;
}

static void find_rules(const struct service *s, const struct place *place, struct policy_settings *ret_rules)
{
    if (s->registry != NULL)
        policy_registry_rules(s->registry, place->cluster.name, place->group.name, place->group.instance_type,
                              ret_rules);
    else
        policy_settings_default(ret_rules);
}

static void say_device(const struct history *history, const char *device, struct service_lemon *lemon)
{
    const struct hardware *piece = hardware_find(history->hardware, history->hardware_count, device);
    text_copy_cut(lemon->device, sizeof(lemon->device), device);
    if (piece != NULL)
        text_copy_cut(lemon->identity, sizeof(lemon->identity), piece->identity);
}

int lemon_read(struct db_tx *tx, const struct service *s, const struct place *place, struct service_lemon *ret_lemon)
{
    const int64_t now_ms = service_now(s);
    struct policy_settings rules;
    struct policy_lemon weighed;
    find_rules(s, place, &rules);
    struct history *history = own_calloc(1, sizeof(*history));
    int status = read_history(tx, place, now_ms - rules.lemon_window_ms, history);
    if (status < 0) {
        history_free(history);
        return status;
    }
    const struct policy_node node = {.instance_id = place->instance.instance_id,
                                     .repairs = history->repairs,
                                     .repair_count = history->repair_count,
                                     .hardware = history->hardware,
                                     .hardware_count = history->hardware_count};
    policy_lemon(&rules, &node, now_ms, &weighed);
    *ret_lemon = (struct service_lemon){.score = weighed.machine,
                                        .device_score = weighed.device_score,
                                        .slot_score = weighed.slot,
                                        .repairs = weighed.repairs,
                                        .not_cleared = weighed.not_cleared,
                                        .last_at = weighed.last_at,
                                        .limit = rules.lemon_score,
                                        .window_ms = rules.lemon_window_ms};
    text_copy_cut(ret_lemon->node, sizeof(ret_lemon->node), place->node.name);
    text_copy_cut(ret_lemon->group, sizeof(ret_lemon->group), place->group.name);
    text_copy_cut(ret_lemon->instance_id, sizeof(ret_lemon->instance_id), place->instance.instance_id);
    if (weighed.device[0] != '\0')
        say_device(history, weighed.device, ret_lemon);
    history_free(history);
    return 0;
}

/* --- one ----------------------------------------------------------------------------------------------------- */

struct lookup {
    const struct service *s;
    const char *cluster, *node;
    struct problem *problem;
    struct service_lemon lemon;
};

static int get_read(struct db_tx *tx, void *arg)
{
    struct lookup *lookup = arg;
    struct place place;
    int status = place_find(tx, lookup->cluster, lookup->node, &place, lookup->problem);
    return status < 0 ? status : lemon_read(tx, lookup->s, &place, &lookup->lemon);
}

int service_lemon_get(struct service *s, const char *cluster, const char *node, struct service_lemon *ret_lemon,
                      struct problem *ret_problem)
{
    struct lookup lookup = {.s = s, .cluster = cluster, .node = node, .problem = ret_problem};
    int status = service_read(s, get_read, &lookup, ret_problem);
    if (status == 0)
        *ret_lemon = lookup.lemon;
    return status;
}

/* --- all ----------------------------------------------------------------------------------------------------- */

struct listing {
    const struct service *s;
    const char *cluster;
    struct problem *problem;
    int64_t *ids;
    size_t id_count;
    struct service_lemon *lemons;
    size_t count;
};

static int take_id(const void *row, void *arg)
{
    struct listing *listing = arg;
    if (listing->id_count % 64 == 0)
        listing->ids = own_realloc(listing->ids, listing->id_count + 64, sizeof(*listing->ids));
    listing->ids[listing->id_count++] = *(const int64_t *)row;
    return 0;
}

static int64_t worst_of(const struct service_lemon *lemon)
{
    return lemon->score > lemon->slot_score ? lemon->score : lemon->slot_score;
}

static int list_read(struct db_tx *tx, void *arg)
{
    struct listing *listing = arg;
    struct cluster cluster;
    listing->id_count = listing->count = 0;
    int status = place_find_cluster(tx, listing->cluster, &cluster, listing->problem);
    if (status == 0)
        status = db_operation_repaired(tx, cluster.id, service_now(listing->s) - LOOK_BACK_MS, take_id, listing);
    if (status < 0)
        return status;
    listing->lemons = own_realloc(listing->lemons, listing->id_count + 1, sizeof(*listing->lemons));
    for (size_t i = 0; i < listing->id_count; i++) {
        struct place place;
        struct service_lemon *lemon = &listing->lemons[listing->count];
        status = place_find_row(tx, listing->ids[i], &place);
        if (status == STATUS_NOT_FOUND || (status == 0 && place.cluster.id != cluster.id))
            continue;
        if (status == 0)
            status = lemon_read(tx, listing->s, &place, lemon);
        if (status < 0)
            return status;
        listing->count += worst_of(lemon) > 0 ? 1 : 0;
    }
    return 0;
}

/* By the machine, then the slot, then the name. */
static int worst_first(const void *left, const void *right)
{
    const struct service_lemon *a = left, *b = right;
    if (a->score != b->score)
        return a->score > b->score ? -1 : 1;
    if (a->slot_score != b->slot_score)
        return a->slot_score > b->slot_score ? -1 : 1;
    return strcmp(a->node, b->node);
}

int service_lemon_list(struct service *s, const char *cluster, struct service_lemon **ret_lemons, size_t *ret_count,
                       struct problem *ret_problem)
{
    struct listing listing = {.s = s, .cluster = cluster, .problem = ret_problem};
    int status = service_read(s, list_read, &listing, ret_problem);
    free(listing.ids);
    if (status < 0) {
        free(listing.lemons);
        return status;
    }
    qsort(listing.lemons, listing.count, sizeof(*listing.lemons), worst_first);
    *ret_lemons = listing.lemons;
    *ret_count = listing.count;
    return 0;
}
