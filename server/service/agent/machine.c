/*
 * What agents tell of their machines: what they are made of, and how their checks stand. All of it comes each time; a repeat
 * changes nothing but when each piece was seen last.
 *
 * It counts only from the instance that fills the slot, in the boot that is known: what a machine says of itself decides which
 * past is charged to it, and which checks have looked since the repair.
 */
#include "server/service/agent/agent.h"
#include "server/service/private.h"

#include "base/text.h"
#include "db/hardware.h"
#include "model/fault_name.h"

#include <string.h>

struct telling {
    const struct machine_report *report;
    int64_t node_id, now_ms;
    struct problem *problem;
    struct place place;
};

/* --- what is stored -------------------------------------------------------------------------------- */

static int take_hardware(const void *row, void *arg)
{
    struct service_machine *machine = arg;
    if (machine->hardware_count < ARRAY_LEN(machine->hardware))
        machine->hardware[machine->hardware_count++] = *(const struct hardware *)row;
    return 0;
}

static int take_check(const void *row, void *arg)
{
    struct service_machine *machine = arg;
    if (machine->check_count < ARRAY_LEN(machine->checks))
        machine->checks[machine->check_count++] = *(const struct check_state *)row;
    return 0;
}

int machine_read(struct db_tx *tx, int64_t instance_row, struct service_machine *ret_machine)
{
    ret_machine->hardware_count = ret_machine->check_count = 0;
    int status = db_hardware_list(tx, instance_row, take_hardware, ret_machine);
    return status < 0 ? status : db_check_list(tx, instance_row, take_check, ret_machine);
}

struct showing {
    const char *cluster, *node;
    struct problem *problem;
    struct service_machine *machine;
};

static int show_read(struct db_tx *tx, void *arg)
{
    struct showing *showing = arg;
    struct place place;
    int status = place_find(tx, showing->cluster, showing->node, &place, showing->problem);
    if (status < 0)
        return status;
    memcpy(showing->machine->instance_id, place.instance.instance_id, sizeof(showing->machine->instance_id));
    memcpy(showing->machine->boot_id, place.instance.boot_id, sizeof(showing->machine->boot_id));
    return machine_read(tx, place.instance.id, showing->machine);
}

int service_node_hardware(struct service *s, const char *cluster, const char *node, struct service_machine *ret_machine,
                          struct problem *ret_problem)
{
    struct showing showing = {.cluster = cluster, .node = node, .problem = ret_problem, .machine = ret_machine};
    memset(ret_machine, 0, sizeof(*ret_machine));
    return service_read(s, show_read, &showing, ret_problem);
}

struct host_keys {
    const char *cluster, *node, *after_name;
    int limit;
    db_row_fn fn;
    void *arg;
    struct problem *problem;
};

/* What would be no line of a file of known hosts is left out: it is an agent's word. */
static int show_host_key(const void *row, void *arg)
{
    const struct host_key *key = row;
    const struct host_keys *keys = arg;
    return hardware_is_host_key(&key->key) ? keys->fn(row, keys->arg) : 0;
}

static int read_host_keys(struct db_tx *tx, void *arg)
{
    struct host_keys *keys = arg;
    struct cluster cluster;
    int status = place_find_cluster(tx, keys->cluster, &cluster, keys->problem);
    return status < 0
               ? status
               : db_host_key_list(tx, cluster.id, keys->node, keys->after_name, keys->limit, show_host_key, keys);
}

int service_host_key_list(struct service *s, const char *cluster, const char *node, const char *after_name, int limit,
                          db_row_fn fn, void *arg, struct problem *ret_problem)
{
    struct host_keys keys = {.cluster = cluster,
                             .node = node,
                             .after_name = after_name,
                             .limit = limit,
                             .fn = fn,
                             .arg = arg,
                             .problem = ret_problem};
    return service_read(s, read_host_keys, &keys, ret_problem);
}

/* --- what is told ---------------------------------------------------------------------------------- */

static int store_hardware(struct db_tx *tx, const struct telling *telling)
{
    const struct machine_report *report = telling->report;
    const int64_t instance_row = telling->place.instance.id;
    for (size_t i = 0; i < report->hardware_count; i++) {
        struct hardware hardware = report->hardware[i];
        fault_name_make_device(hardware.location);
        bool of_host = hardware_is_of_host(hardware.kind);
        if (of_host || !hardware_identifies(hardware.identity))
            hardware.identity[0] = '\0';
        if (of_host || !hardware_identifies(hardware.serial))
            hardware.serial[0] = '\0';
        int status = db_hardware_put(tx, instance_row, &hardware, telling->now_ms);
        if (status < 0)
            return status;
    }
    int status = report->hardware_known ? db_hardware_gone(tx, instance_row, telling->now_ms) : 0;
    return status < 0 ? status : db_hardware_forget(tx, instance_row); /* whatever an agent says of itself */
}

struct dropping {
    const struct telling *telling;
    struct db_tx *tx;
};

/* What the agent has not any more says nothing about this machine. */
static int drop_check(const void *row, void *arg)
{
    const struct dropping *dropping = arg;
    const struct machine_report *report = dropping->telling->report;
    const struct check_state *known = row;
    for (size_t i = 0; i < report->check_count; i++)
        if (text_equal(report->checks[i].name, known->name))
            return 0;
    return db_check_drop(dropping->tx, dropping->telling->place.instance.id, known->name);
}

static int store_checks(struct db_tx *tx, const struct telling *telling)
{
    const struct machine_report *report = telling->report;
    struct dropping dropping = {.telling = telling, .tx = tx};
    int status = db_check_list(tx, telling->place.instance.id, drop_check, &dropping);
    for (size_t i = 0; status == 0 && i < report->check_count; i++) {
        struct check_state state = report->checks[i];
        state.at = telling->now_ms;
        text_copy_cut(state.boot_id, sizeof(state.boot_id), report->boot_id);
        status = db_check_put(tx, telling->place.instance.id, &state);
    }
    return status;
}

static int tell_write(struct db_tx *tx, void *arg)
{
    struct telling *telling = arg;
    const struct machine_report *report = telling->report;
    const struct instance *instance = &telling->place.instance;
    int status = place_find_row(tx, telling->node_id, &telling->place);
    if (status < 0 && status != STATUS_NOT_FOUND)
        return status;
    if (status == STATUS_NOT_FOUND || instance->id == 0 || !text_equal(instance->instance_id, report->instance_id))
        return problem_say(telling->problem, STATUS_STALE, PROBLEM_STALE_REPORT,
                           "The instance %s does not fill this node's slot any more. Stop reporting, or enrol again.",
                           report->instance_id);
    if (!text_equal(instance->boot_id, report->boot_id))
        return problem_say(telling->problem, STATUS_CONFLICT, PROBLEM_CONFLICT,
                           "The boot %s is not the one that heartbeats tell of. Say it again after the next.",
                           report->boot_id);
    status = store_hardware(tx, telling);
    return status < 0 ? status : store_checks(tx, telling);
}

static const char *wrong(const struct machine_report *report)
{
    for (size_t i = 0; i < report->hardware_count; i++) {
        const struct hardware *hardware = &report->hardware[i];
        if (!text_is_clean(hardware->identity) || !text_is_clean(hardware->serial) || !text_is_clean(hardware->detail))
            return "a piece of hardware has a control character in it";
    }
    for (size_t i = 0; i < report->check_count; i++) {
        const struct check_state *state = &report->checks[i];
        if (!agent_word_is_fine(state->name, sizeof(state->name)))
            return "the name of a check is not letters, digits, hyphens, dots and underscores";
        if (!text_is_clean(state->why))
            return "why of a check has a control character in it";
    }
    if (!agent_word_is_fine(report->instance_id, sizeof(report->instance_id)) ||
        !agent_word_is_fine(report->boot_id, sizeof(report->boot_id)))
        return "instanceId and bootId are letters, digits and hyphens";
    return NULL;
}

int service_agent_machine(struct service *s, int64_t node_id, const struct machine_report *report,
                          struct problem *ret_problem)
{
    struct telling telling = {.report = report, .node_id = node_id, .now_ms = service_now(s), .problem = ret_problem};
    const char *why = wrong(report);
    if (why != NULL)
        return problem_say(ret_problem, STATUS_INVALID, PROBLEM_INVALID_VALUE, "The report is refused: %s.", why);
    int status = service_write(s, "agent-machine", tell_write, &telling, ret_problem);
    if (status == 0)
        service_agent_changed(s, node_id);
    return status;
}
