/* What people say of the machines they own: added, changed, listed, moved to the bench and back. */
#include "server/service/machine/machine.h"

#include "base/address.h"
#include "base/text.h"
#include "db/event.h"
#include "db/machine.h"
#include "server/live/machine_registry.h"
#include "server/service/private.h"

#include <stdio.h>
#include <string.h>

/* --- shared ---------------------------------------------------------------------------------------- */

int machine_event(struct db_tx *tx, const struct machine *machine, enum event_level level, enum event_kind kind,
                  const char *fmt, ...)
{
    struct event event = {.at = clock_wall_ms(db_tx_clock(tx)), .level = level, .kind = kind};
    bool in_use = machine->state == MACHINE_STATE_IN_USE;
    struct place place;
    va_list ap;
    if (in_use && place_find_row(tx, machine->use.node_id, &place) == 0) {
        event.cluster_id = place.cluster.id;
        event.node_id = place.node.id;
        text_copy_cut(event.group, sizeof(event.group), place.group.name);
        text_copy_cut(event.cluster, sizeof(event.cluster), place.cluster.name);
        text_copy_cut(event.node, sizeof(event.node), place.node.name);
        text_copy_cut(event.instance_id, sizeof(event.instance_id), machine->use.instance_id);
    }
    va_start(ap, fmt);
    say_vcut(event.message, sizeof(event.message), fmt, ap);
    va_end(ap);
    return db_event_insert(tx, &event);
}

int machine_move(struct db_tx *tx, struct machine *machine, enum machine_state to, const char *reason,
                 const char *actor, int64_t now_ms)
{
    enum machine_state was = machine->state;
    int state = (int)was;
    sm_move(&machine_state_machine, &state, (int)to);
    machine->state = to;
    machine->changed_at = now_ms;
    text_copy_cut(machine->reason, sizeof(machine->reason), reason);
    int status = db_machine_update(tx, machine);
    return status < 0 ? status
                      : machine_event(tx, machine, to == MACHINE_STATE_BENCH ? EVENT_LEVEL_WARN : EVENT_LEVEL_INFO,
                                      EVENT_KIND_MACHINE_STATE, "machine %s: %s → %s%s%s%s%s", machine->name,
                                      machine_state_text(was), machine_state_text(to), reason[0] != '\0' ? ": " : "",
                                      reason, actor[0] != '\0' ? ", by " : "", actor);
}

int machine_is_lemon(struct db_tx *tx, const struct machine *machine, int64_t now_ms, bool *ret_is_lemon)
{
    int64_t faults = 0;
    int status = db_machine_use_faults(tx, machine->id, now_ms - MACHINE_LEMON_MS, &faults);
    *ret_is_lemon = faults >= MACHINE_LEMON_FAULTS;
    return status;
}

static int collect_waiter(const void *row, void *arg)
{
    struct machine_waiters *waiters = arg;
    const struct machine_demand *demand = row;
    changed_nodes_add(&waiters->groups, demand->group_id);
    changed_nodes_add(&waiters->nodes, demand->node_id);
    return 0;
}

int machine_spare_came(struct db_tx *tx, const char *provider, struct machine_waiters *ret_waiters)
{
    ret_waiters->groups.count = ret_waiters->nodes.count = 0;
    int status = db_machine_demands(tx, provider, "", collect_waiter, ret_waiters);
    for (size_t i = 0; status == 0 && i < ret_waiters->groups.count; i++) {
        struct instance_group group;
        status = db_group_get_row(tx, ret_waiters->groups.ids[i], &group);
        if (status != 0 || group.machine_capacity.short_times == 0)
            continue;
        struct machine_capacity *capacity = &group.machine_capacity;
        capacity->short_at = capacity->short_until = capacity->short_times = 0;
        status = db_group_set_machine_capacity(tx, group.id, capacity);
    }
    return status;
}

void machine_waiters_wake(struct service *s, const struct machine_waiters *waiters)
{
    for (size_t i = 0; i < waiters->groups.count; i++)
        service_wake(s, SERVICE_WAKE_GROUP, waiters->groups.ids[i]);
    changed_nodes_wake(s, &waiters->nodes);
}

void machine_waiters_free(struct machine_waiters *waiters)
{
    free(TAKE(waiters->groups.ids));
    free(TAKE(waiters->nodes.ids));
}

static int find(struct db_tx *tx, const char *name, struct machine *ret_machine, struct problem *problem)
{
    int status = db_machine_get(tx, name, ret_machine);
    if (status == STATUS_NOT_FOUND)
        return problem_say(problem, status, PROBLEM_NOT_FOUND,
                           "There is no machine named \"%s\". hpctl machine list shows them all.", name);
    return status;
}

/* --- what is said of one --------------------------------------------------------------------------- */

struct saying {
    struct service *s;
    const struct service_machine_spec *spec;
    const char *provider;
    struct problem *problem;
    struct machine machine;
};

static int check_text(const char *member, const char *value, size_t size, struct problem *problem)
{
    if (value == NULL || (strlen(value) < size && text_is_line(value)))
        return 0;
    return problem_say(problem, STATUS_INVALID, PROBLEM_INVALID_VALUE, "%s must be one line of at most %zu characters.",
                       member, size - 1);
}

static int check_spec(const struct service_machine_spec *spec, struct problem *problem)
{
    char address[ADDRESS_TEXT_MAX];
    const struct {
        const char *member, *value;
        size_t size;
    } texts[] = {{"type", spec->type, NAME_MAX_BYTES},
                 {"bmc", spec->bmc, MACHINE_BMC_MAX_BYTES},
                 {"rack", spec->rack, MACHINE_PLACE_MAX_BYTES},
                 {"switch", spec->net_switch, MACHINE_PLACE_MAX_BYTES},
                 {"chassis", spec->chassis, MACHINE_PLACE_MAX_BYTES},
                 {"serial", spec->serial, MACHINE_SERIAL_MAX_BYTES}};
    if (!text_is_name(spec->name))
        return problem_say(problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
                           "name is \"%s\"; a machine's name has 1 to 63 letters, digits and inner hyphens.",
                           spec->name);
    if (spec->address != NULL && spec->address[0] != '\0' && address_parse(spec->address, address) != 0)
        return problem_say(problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
                           "address is \"%s\"; it must be an IPv4 or IPv6 address.", spec->address);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        int status = check_text(texts[i].member, texts[i].value, texts[i].size, problem);
        if (status != 0)
            return status;
    }
    return 0;
}

/* The inventory that is meant: the named one, or the only one. */
static int find_inventory(const struct service *s, const char *name, const char **ret_name, struct problem *problem)
{
    const struct service_backends *backends = s->backends;
    size_t count = backends == NULL ? 0 : backends->inventory_count;
    for (size_t i = 0; i < count; i++)
        if (name != NULL ? text_equal(backends->inventories[i], name) : count == 1) {
            *ret_name = backends->inventories[i];
            return 0;
        }
    if (name != NULL)
        return problem_say(problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
                           "provider is \"%s\", which is no inventory of this hpd. Give its configuration "
                           "providers.%s.kind: inventory.",
                           name, name);
    return problem_say(problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
                       count == 0
                           ? "This hpd has no inventory. Give its configuration a provider of the kind inventory."
                           : "provider is missing: this hpd has several inventories.");
}

#define SAY(member, target)                                                        \
    do {                                                                           \
        if (spec->member != NULL)                                                  \
            text_copy_cut(machine->target, sizeof(machine->target), spec->member); \
    } while (0)

static void take_spec(struct machine *machine, const struct service_machine_spec *spec)
{
    SAY(type, type);
    SAY(address, address);
    SAY(bmc, bmc);
    SAY(rack, rack);
    SAY(net_switch, net_switch);
    SAY(chassis, chassis);
    SAY(serial, serial);
}

static int add_write(struct db_tx *tx, void *arg)
{
    struct saying *saying = arg;
    int64_t now = service_now(saying->s), count;
    int status = db_machine_count(tx, &count);
    if (status == 0 && count >= MACHINES_MAX)
        return problem_say(saying->problem, STATUS_FULL, PROBLEM_LIMIT_EXCEEDED,
                           "There are %d machines, and no more may be.", MACHINES_MAX);
    if (status != 0)
        return status;
    saying->machine = (struct machine){.state = MACHINE_STATE_SPARE, .created_at = now, .changed_at = now};
    text_copy_cut(saying->machine.name, sizeof(saying->machine.name), saying->spec->name);
    text_copy_cut(saying->machine.provider, sizeof(saying->machine.provider), saying->provider);
    text_copy_cut(saying->machine.reason, sizeof(saying->machine.reason), "added");
    take_spec(&saying->machine, saying->spec);
    status = db_machine_insert(tx, &saying->machine);
    if (status == STATUS_EXISTS)
        return problem_say(saying->problem, STATUS_EXISTS, PROBLEM_NAME_TAKEN,
                           "A machine named \"%s\" is in the inventory already.", saying->spec->name);
    return status < 0 ? status
                      : machine_event(tx, &saying->machine, EVENT_LEVEL_INFO, EVENT_KIND_MACHINE_STATE,
                                      "machine %s was added to the inventory %s", saying->machine.name,
                                      saying->machine.provider);
}

static void show_live(struct service *s, struct machine *machine)
{
    machine->seen_at = machine_registry_seen_at(s->machines, machine->id);
}

static int say(struct service *s, const struct actor *actor, const char *name, db_write_fn fn, struct saying *saying,
               struct machine *ret_machine)
{
    int status = service_require(actor, ROLE_OPERATOR, saying->problem);
    if (status == 0)
        status = check_spec(saying->spec, saying->problem);
    if (status == 0 && (saying->spec->provider != NULL || fn == add_write))
        status = find_inventory(s, saying->spec->provider, &saying->provider, saying->problem);
    if (status == 0)
        status = service_write(s, name, fn, saying, saying->problem);
    if (status != 0)
        return status;
    *ret_machine = saying->machine;
    show_live(s, ret_machine);
    service_events_added(s);
    return 0;
}

int service_machine_add(struct service *s, const struct actor *actor, const struct service_machine_spec *spec,
                        struct machine *ret_machine, struct problem *ret_problem)
{
    struct saying saying = {.s = s, .spec = spec, .problem = ret_problem};
    return say(s, actor, "machine-add", add_write, &saying, ret_machine);
}

static int update_write(struct db_tx *tx, void *arg)
{
    struct saying *saying = arg;
    struct machine *machine = &saying->machine;
    int status = find(tx, saying->spec->name, machine, saying->problem);
    if (status != 0)
        return status;
    if (saying->provider != NULL && machine->state == MACHINE_STATE_IN_USE &&
        !text_equal(saying->provider, machine->provider))
        return problem_say(saying->problem, STATUS_CONFLICT, PROBLEM_CONFLICT,
                           "The machine \"%s\" is in use; replace %s first, then move it to another inventory.",
                           machine->name, machine->use.node);
    if (saying->provider != NULL)
        text_copy_cut(machine->provider, sizeof(machine->provider), saying->provider);
    take_spec(machine, saying->spec);
    return db_machine_update(tx, machine);
}

int service_machine_update(struct service *s, const struct actor *actor, const struct service_machine_spec *spec,
                           struct machine *ret_machine, struct problem *ret_problem)
{
    struct saying saying = {.s = s, .spec = spec, .problem = ret_problem};
    return say(s, actor, "machine-update", update_write, &saying, ret_machine);
}

/* --- read ------------------------------------------------------------------------------------------ */

struct reading {
    struct service *s;
    const char *name, *provider, *type;
    struct problem *problem;
    struct machine machine;
    struct db_machine_filter filter;
    db_row_fn fn;
    void *arg;
    int limit;
    struct service_machine_counts counts;
};

static int get_read(struct db_tx *tx, void *arg)
{
    struct reading *reading = arg;
    return find(tx, reading->name, &reading->machine, reading->problem);
}

int service_machine_get(struct service *s, const char *name, struct machine *ret_machine, struct problem *ret_problem)
{
    struct reading reading = {.s = s, .name = name, .problem = ret_problem};
    int status = service_read(s, get_read, &reading, ret_problem);
    if (status != 0)
        return status;
    *ret_machine = reading.machine;
    show_live(s, ret_machine);
    return 0;
}

static int list_row(const void *row, void *arg)
{
    struct reading *reading = arg;
    struct machine machine = *(const struct machine *)row;
    show_live(reading->s, &machine);
    return reading->fn(&machine, reading->arg);
}

static int list_read(struct db_tx *tx, void *arg)
{
    struct reading *reading = arg;
    return db_machine_list(tx, &reading->filter, list_row, reading);
}

int service_machine_list(struct service *s, const char *provider, int state, const char *after_name, int limit,
                         db_row_fn fn, void *arg, struct problem *ret_problem)
{
    struct reading reading = {
        .s = s,
        .filter = {.provider = provider, .state = state, .after_name = after_name, .limit = limit},
        .fn = fn,
        .arg = arg};
    return service_read(s, list_read, &reading, ret_problem);
}

static int uses_read(struct db_tx *tx, void *arg)
{
    struct reading *reading = arg;
    int status = find(tx, reading->name, &reading->machine, reading->problem);
    return status < 0 ? status
                      : db_machine_use_list(tx, reading->machine.id, reading->limit, reading->fn, reading->arg);
}

int service_machine_uses(struct service *s, const char *name, int limit, db_row_fn fn, void *arg,
                         struct problem *ret_problem)
{
    struct reading reading = {.s = s, .name = name, .limit = limit, .fn = fn, .arg = arg, .problem = ret_problem};
    return service_read(s, uses_read, &reading, ret_problem);
}

static int count_row(const void *row, void *arg)
{
    struct reading *reading = arg;
    const struct machine *machine = row;
    if (reading->type[0] != '\0' && machine->type[0] != '\0' && !text_equal(machine->type, reading->type))
        return 0;
    reading->counts.of[machine->state]++;
    reading->counts.ready += machine_not_ready(machine, service_now(reading->s)) == NULL;
    return 0;
}

int service_machine_count(struct service *s, const char *provider, const char *type,
                          struct service_machine_counts *ret_counts)
{
    struct problem unused;
    struct reading reading = {.s = s, .type = type, .filter = {.provider = provider, .state = -1}};
    reading.fn = count_row;
    reading.arg = &reading;
    int status = service_read(s, list_read, &reading, &unused);
    if (status == 0)
        *ret_counts = reading.counts;
    return status;
}

/* --- moves ----------------------------------------------------------------------------------------- */

struct moving {
    struct service *s;
    const struct actor *actor;
    const char *name, *reason;
    enum machine_state to;
    struct problem *problem;
    struct machine machine;
    struct machine_waiters waiters;
};

/* Says what to do instead. */
static int refuse_move(const struct moving *moving)
{
    const struct machine *machine = &moving->machine;
    if (machine->state == MACHINE_STATE_IN_USE)
        return problem_say(moving->problem, STATUS_CONFLICT, PROBLEM_CONFLICT,
                           "The machine \"%s\" is in use as %s; hpctl node replace %s puts it to the bench.",
                           machine->name, machine->use.node, machine->use.node);
    return problem_say(moving->problem, STATUS_CONFLICT, PROBLEM_CONFLICT,
                       "The machine \"%s\" is in the state %s, from which it cannot go to %s.", machine->name,
                       machine_state_text(machine->state), machine_state_text(moving->to));
}

static int move_write(struct db_tx *tx, void *arg)
{
    struct moving *moving = arg;
    struct machine *machine = &moving->machine;
    bool lemon = false;
    moving->waiters.groups.count = moving->waiters.nodes.count = 0;
    int status = find(tx, moving->name, machine, moving->problem);
    if (status != 0)
        return status;
    if (machine->state == moving->to)
        return 0; /* asked for twice */
    if (machine->state == MACHINE_STATE_IN_USE || moving->to == MACHINE_STATE_IN_USE ||
        !sm_may(&machine_state_machine, (int)machine->state, (int)moving->to))
        return refuse_move(moving);
    status = moving->to == MACHINE_STATE_SPARE ? machine_is_lemon(tx, machine, service_now(moving->s), &lemon) : 0;
    if (status != 0)
        return status;
    if (lemon)
        return problem_say(moving->problem, STATUS_CONFLICT, PROBLEM_CONFLICT,
                           "The machine \"%s\" was at the bench for a fault %d times within 90 days: it is a lemon and "
                           "becomes no spare. Retire it; what its maker sends back is added under a new name.",
                           machine->name, MACHINE_LEMON_FAULTS);
    if (moving->to == MACHINE_STATE_BURN_IN) { /* what was found before the repair counts no more */
        machine->checked = false;
        machine->trouble[0] = '\0';
        machine->well_since = 0;
    }
    status = machine_move(tx, machine, moving->to, moving->reason, moving->actor->name, service_now(moving->s));
    if (status == 0 && moving->to == MACHINE_STATE_SPARE)
        status = machine_spare_came(tx, machine->provider, &moving->waiters);
    return status;
}

int service_machine_move(struct service *s, const struct actor *actor, const char *name, enum machine_state to,
                         const char *reason, struct machine *ret_machine, struct problem *ret_problem)
{
    struct moving moving = {.s = s, .actor = actor, .name = name, .to = to, .reason = reason, .problem = ret_problem};
    int status = service_require(actor, ROLE_OPERATOR, ret_problem);
    if (status == 0)
        status = service_write(s, "machine-move", move_write, &moving, ret_problem);
    if (status == 0)
        machine_waiters_wake(s, &moving.waiters);
    machine_waiters_free(&moving.waiters);
    if (status != 0)
        return status;
    *ret_machine = moving.machine;
    show_live(s, ret_machine);
    service_events_added(s);
    return 0;
}
