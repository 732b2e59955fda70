/*
 * The inventory as its provider sees it: a launch takes a machine, a termination gives it back. Each is one transaction, and what it
 * did stands in one row for the launch's key: so a call that is made again, also after hpd was killed, takes and gives nothing twice.
 *
 * Which machine is taken the provider's own function says (choose), which is pure; here it is shown what there is.
 */
#include "server/service/machine/machine.h"

#include "base/text.h"
#include "db/machine.h"
#include "db/node.h"
#include "server/live/machine_registry.h"
#include "server/service/private.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define ERROR_MAX 256 /* PROVIDER_ERROR_MAX */

struct taking {
    struct service *s;
    struct machine_request request;
    machine_choose_fn *choose;
    struct machine *spares;
    struct machine_demand *demands;
    size_t spare_count, demand_count;
    struct machine machine;
    bool news; /* taken now */
    char why[ERROR_MAX];
};

static int say(struct taking *taking, int status, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    say_vcut(taking->why, sizeof(taking->why), fmt, ap);
    va_end(ap);
    return status;
}

/* --- what there is --------------------------------------------------------------------------------- */

static bool fits(const struct machine *machine, const char *type)
{
    return machine->type[0] == '\0' || type[0] == '\0' || text_equal(machine->type, type);
}

static int collect_spare(const void *row, void *arg)
{
    struct taking *taking = arg;
    struct machine machine = *(const struct machine *)row;
    if (!fits(&machine, taking->request.type))
        return 0;
    machine.seen_at = machine_registry_seen_at(taking->s->machines, machine.id);
    taking->spares = own_realloc(taking->spares, taking->spare_count + 1, sizeof(*taking->spares));
    taking->spares[taking->spare_count++] = machine;
    return 0;
}

static int collect_demand(const void *row, void *arg)
{
    struct taking *taking = arg;
    taking->demands = own_realloc(taking->demands, taking->demand_count + 1, sizeof(*taking->demands));
    taking->demands[taking->demand_count++] = *(const struct machine_demand *)row;
    return 0;
}

/* Where the slot's last machine stood: the new one had better stand there too. */
static int find_before(struct db_tx *tx, struct taking *taking)
{
    struct machine_use before;
    int status = db_machine_use_before(tx, taking->request.node_id, &before);
    if (status == 0)
        status = db_machine_get_row(tx, before.machine_id, &taking->request.before);
    return status == STATUS_NOT_FOUND ? 0 : status;
}

static int look(struct db_tx *tx, struct taking *taking)
{
    const struct db_machine_filter filter = {.provider = taking->request.provider, .state = MACHINE_STATE_SPARE};
    int status = db_machine_list(tx, &filter, collect_spare, taking);
    if (status >= 0)
        status = db_machine_demands(tx, taking->request.provider, taking->request.type, collect_demand, taking);
    if (status >= 0)
        status = find_before(tx, taking);
    taking->request.demands = taking->demands;
    taking->request.demand_count = taking->demand_count;
    return status < 0 ? status : 0;
}

/* --- take ------------------------------------------------------------------------------------------ */

static int say_none(struct taking *taking)
{
    if (taking->spare_count == 0)
        return say(taking, STATUS_FULL, "the inventory has no spare of the type \"%s\"", taking->request.type);
    return say(taking, STATUS_FULL, "none of %zu spares is ready: of %s %s", taking->spare_count,
               taking->spares[0].name, machine_not_ready(&taking->spares[0], taking->request.now_ms));
}

static size_t count_ready(const struct taking *taking)
{
    size_t ready = 0;
    for (size_t i = 0; i < taking->spare_count; i++)
        ready += machine_not_ready(&taking->spares[i], taking->request.now_ms) == NULL;
    return ready;
}

static int tell(struct db_tx *tx, const struct taking *taking)
{
    const struct machine *machine = &taking->machine;
    const struct machine *before = &taking->request.before;
    bool near = before->id != 0 && before->rack[0] != '\0' && text_equal(before->rack, machine->rack);
    int status =
        machine_event(tx, machine, EVENT_LEVEL_INFO, EVENT_KIND_MACHINE_TAKEN, "machine %s is %s now%s%s",
                      machine->name, machine->use.node, near ? ", in the same rack as " : "", near ? before->name : "");
    if (status < 0 || count_ready(taking) > 1)
        return status;
    return machine_event(tx, machine, EVENT_LEVEL_WARN, EVENT_KIND_SPARES_EMPTY,
                         "the last spare of the inventory %s is taken: return machines from the bench, or add some",
                         machine->provider);
}

/* The node stands where its machine does: incidents of a rack, a switch or a chassis are found by that. */
static int place_node(struct db_tx *tx, const struct machine *machine)
{
    int status = 0;
    if (machine->rack[0] != '\0')
        status = db_node_set_topology(tx, machine->use.node_id, TOPOLOGY_LEVEL_RACK, machine->rack);
    if (status == 0 && machine->net_switch[0] != '\0')
        status = db_node_set_topology(tx, machine->use.node_id, TOPOLOGY_LEVEL_SWITCH, machine->net_switch);
    if (status == 0 && machine->chassis[0] != '\0')
        status = db_node_set_topology(tx, machine->use.node_id, TOPOLOGY_LEVEL_CHASSIS, machine->chassis);
    return status;
}

static int take_this(struct db_tx *tx, struct taking *taking, const struct place *place, const struct machine *chosen)
{
    struct machine *machine = &taking->machine;
    *machine = *chosen;
    machine->use =
        (struct machine_use){.machine_id = machine->id, .node_id = place->node.id, .taken_at = taking->request.now_ms};
    text_copy_cut(machine->use.instance_id, sizeof(machine->use.instance_id), taking->request.instance_id);
    text_copy_cut(machine->use.launch_key, sizeof(machine->use.launch_key), taking->request.key);
    text_copy_cut(machine->use.cluster, sizeof(machine->use.cluster), place->cluster.name);
    text_copy_cut(machine->use.node, sizeof(machine->use.node), place->node.name);
    int state = (int)machine->state;
    sm_move(&machine_state_machine, &state, MACHINE_STATE_IN_USE);
    machine->state = MACHINE_STATE_IN_USE;
    machine->changed_at = taking->request.now_ms;
    say_cut(machine->reason, sizeof(machine->reason), "taken for %s", place->node.name);
    int status = db_machine_use_insert(tx, &machine->use);
    if (status == 0)
        status = db_machine_update(tx, machine);
    if (status == 0)
        status = place_node(tx, machine);
    if (status == 0)
        status = tell(tx, taking);
    taking->news = status == 0;
    return status;
}

/* A launch that arrives after its slot moved on must not take a machine that nobody would give back. */
static int find_slot(struct db_tx *tx, struct taking *taking, struct place *ret_place)
{
    struct instance instance;
    int status = db_instance_get(tx, taking->request.instance_id, &instance);
    if (status == 0)
        status = place_find_row(tx, instance.node_id, ret_place);
    if (status == STATUS_NOT_FOUND ||
        (status == 0 && (instance.state != INSTANCE_STATE_LAUNCHING || ret_place->instance.id != instance.id)))
        return say(taking, STATUS_CONFLICT, "the instance %s is not waited for any more", taking->request.instance_id);
    taking->request.node_id = instance.node_id;
    return status;
}

static int take_again(struct db_tx *tx, struct taking *taking, const struct machine_use *use)
{
    if (use->given_back_at > 0)
        return say(taking, STATUS_CONFLICT, "its machine was given back before");
    return db_machine_get_row(tx, use->machine_id, &taking->machine);
}

static int take_write(struct db_tx *tx, void *arg)
{
    struct taking *taking = arg;
    struct machine_use use;
    struct place place;
    taking->spare_count = taking->demand_count = 0;
    taking->request.before.id = 0;
    taking->why[0] = '\0';
    taking->news = false;
    int status = db_machine_use_by_key(tx, taking->request.key, &use);
    if (status == 0)
        return take_again(tx, taking, &use);
    if (status != STATUS_NOT_FOUND)
        return status;
    status = find_slot(tx, taking, &place);
    if (status == 0)
        status = look(tx, taking);
    if (status != 0)
        return status;
    long at = taking->choose(&taking->request, taking->spares, taking->spare_count);
    if (at == MACHINE_FOR_OTHERS)
        return say(taking, STATUS_FULL, "the spares that are left are for groups that lack fewer nodes");
    return at < 0 ? say_none(taking) : take_this(tx, taking, &place, &taking->spares[at]);
}

static int store_take(void *arg, const struct machine_request *request, machine_choose_fn *choose,
                      struct machine *ret_machine, char *ret_error)
{
    struct service *s = arg;
    struct problem problem;
    struct taking taking = {.s = s, .request = *request, .choose = choose};
    taking.request.now_ms = service_now(s);
    int status = service_write(s, "machine-take", take_write, &taking, &problem);
    if (status == 0)
        *ret_machine = taking.machine;
    else
        text_copy_cut(ret_error, ERROR_MAX, taking.why[0] != '\0' ? taking.why : problem.detail);
    if (status == 0 && taking.news) {
        service_wake(s, SERVICE_WAKE_NODE, taking.machine.use.node_id);
        service_events_added(s);
    }
    free(taking.spares);
    free(taking.demands);
    return status;
}

/* --- find ------------------------------------------------------------------------------------------ */

struct finding_one {
    const char *instance_id;
    struct machine machine;
};

static int find_use(struct db_tx *tx, const char *instance_id, struct machine *ret_machine)
{
    struct machine_use use;
    int status = db_machine_use_by_instance(tx, instance_id, &use);
    if (status == 0 && use.given_back_at > 0)
        status = STATUS_NOT_FOUND;
    return status == 0 ? db_machine_get_row(tx, use.machine_id, ret_machine) : status;
}

static int find_read(struct db_tx *tx, void *arg)
{
    struct finding_one *one = arg;
    return find_use(tx, one->instance_id, &one->machine);
}

static int store_find(void *arg, const char *instance_id, struct machine *ret_machine)
{
    struct problem unused;
    struct finding_one one = {.instance_id = instance_id};
    int status = service_read(arg, find_read, &one, &unused);
    if (status == 0)
        *ret_machine = one.machine;
    return status;
}

/* --- give back --------------------------------------------------------------------------------------- */

struct giving {
    struct service *s;
    const char *instance_id, *reason;
    bool broken, fault;
    struct machine_waiters waiters;
};

static int give_write(struct db_tx *tx, void *arg)
{
    struct giving *giving = arg;
    struct machine machine;
    giving->waiters.groups.count = giving->waiters.nodes.count = 0;
    int status = find_use(tx, giving->instance_id, &machine);
    if (status != 0)
        return status;
    int64_t now = service_now(giving->s);
    enum machine_state to = giving->broken ? MACHINE_STATE_BENCH : MACHINE_STATE_SPARE;
    struct machine_use use = machine.use;
    use.given_back_at = now;
    use.broken = giving->broken;
    use.fault = giving->fault;
    text_copy_cut(use.reason, sizeof(use.reason), giving->reason);
    machine.checked = false; /* its agent says it anew */
    machine.trouble[0] = '\0';
    machine.well_since = 0;
    status = db_machine_use_update(tx, &use);
    if (status == 0)
        status = machine_move(tx, &machine, to, giving->reason, "", now);
    if (status == 0 && !giving->broken)
        status = machine_spare_came(tx, machine.provider, &giving->waiters);
    return status;
}

static int store_give_back(void *arg, const char *instance_id, bool broken, bool fault, const char *reason,
                           char *ret_error)
{
    struct service *s = arg;
    struct problem problem;
    struct giving giving = {.s = s, .instance_id = instance_id, .broken = broken, .fault = fault, .reason = reason};
    int status = service_write(s, "machine-give-back", give_write, &giving, &problem);
    if (status == 0)
        machine_waiters_wake(s, &giving.waiters);
    machine_waiters_free(&giving.waiters);
    if (status == 0)
        service_events_added(s);
    else
        text_copy_cut(ret_error, ERROR_MAX, problem.detail);
    return status;
}

struct machine_store service_machine_store(struct service *s)
{
    return (struct machine_store){.arg = s, .take = store_take, .find = store_find, .give_back = store_give_back};
}
