/*
 * Agents of machines that wait: a machine's agent enrols once, with a token for machines, and gets a secret of the machine's own. From
 * then on it reports what its checks found and asks what the machine is now. When a launch took the machine the answer is the
 * instance that it is, with the credential of its node; the agent goes on as that.
 *
 * Most reports change nothing, so they only read.
 */
#include "server/service/machine/machine.h"

#include "base/text.h"
#include "db/machine.h"
#include "db/token.h"
#include "server/live/machine_registry.h"
#include "server/service/private.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define WAIT_MIN_MS INT64_C(1000) /* between two reports of a spare: how long a launch waits for it */
#define WAIT_MAX_MS INT64_C(10000)
#define WAIT_EACH_MS 5 /* so many milliseconds for each machine: a thousand report 200 times a second */

struct reporting {
    struct service *s;
    const struct service_spare_report *report;
    const char *bearer;
    int64_t machine_id; /* of its own credential; 0: it comes with a token */
    uint8_t hash[ID_SHA256_BYTES];
    uint8_t new_hash[ID_SHA256_BYTES];
    int64_t now_ms;
    struct problem *problem;
    struct machine machine;
    struct machine_waiters waiters;
};

static int refuse(const struct reporting *reporting, const char *what)
{
    return problem_say(reporting->problem, STATUS_UNAUTHENTICATED, PROBLEM_UNAUTHENTICATED, "%s", what);
}

/* "hfm_<row>.<secret>" or a token. */
static int read_bearer(struct reporting *reporting)
{
    const char *bearer = reporting->bearer;
    char row[24];
    if (bearer == NULL)
        return refuse(reporting, "Reporting as a spare needs a token for machines.");
    if (!text_starts_with(bearer, SECRET_PREFIX_MACHINE)) {
        int status = secret_hash_of(SECRET_PREFIX_ENROLLMENT, bearer, reporting->hash);
        return status == 0 ? 0 : refuse(reporting, "Reporting as a spare needs a token for machines.");
    }
    bearer += strlen(SECRET_PREFIX_MACHINE);
    size_t len = strcspn(bearer, ".");
    if (bearer[len] != '.' || text_copy_bytes(row, sizeof(row), bearer, len) != 0 ||
        text_parse_i64(row, 1, INT64_MAX, &reporting->machine_id) != 0 ||
        secret_hash(bearer + len + 1, strlen(bearer + len + 1), reporting->hash) != 0)
        return refuse(reporting, "The credential of the machine is unknown.");
    return 0;
}

static int find_by_credential(struct db_tx *tx, struct reporting *reporting)
{
    struct machine *machine = &reporting->machine;
    int status = db_machine_get_row(tx, reporting->machine_id, machine);
    if (status < 0 && status != STATUS_NOT_FOUND)
        return status;
    if (status == STATUS_NOT_FOUND || !machine->has_agent ||
        !id_equal(machine->agent_hash, reporting->hash, sizeof(machine->agent_hash)))
        return refuse(reporting, "The credential of the machine is unknown: it was removed, or enrolled anew.");
    if (!text_equal(machine->name, reporting->report->machine))
        return problem_say(reporting->problem, STATUS_DENIED, PROBLEM_FORBIDDEN,
                           "The credential is of the machine \"%s\", not of \"%s\".", machine->name,
                           reporting->report->machine);
    return 0;
}

/* The agent of the node that the machine is. */
static bool works_as_node(const struct reporting *reporting, const struct machine *machine)
{
    struct fleet_view live;
    return machine->state == MACHINE_STATE_IN_USE && fleet_get(reporting->s->fleet, machine->use.node_id, &live) == 0 &&
           live.last_heartbeat_at != 0 && !live.silent && text_equal(live.slot.instance_id, machine->use.instance_id);
}

/* Who has a token takes no machine from an agent that is connected, as a spare's or as a node's. */
static int find_by_token(struct db_tx *tx, struct reporting *reporting)
{
    struct machine *machine = &reporting->machine;
    struct token token;
    int status = db_token_find(tx, reporting->hash, &token);
    if (status < 0 && status != STATUS_NOT_FOUND)
        return status;
    if (status == STATUS_NOT_FOUND || token.kind != TOKEN_KIND_MACHINES ||
        (token.expires_at != 0 && token.expires_at <= reporting->now_ms))
        return refuse(reporting, "The token is not one for machines, or has expired: hpctl token create --machines.");
    status = db_machine_get(tx, reporting->report->machine, machine);
    if (status == STATUS_NOT_FOUND)
        return problem_say(reporting->problem, status, PROBLEM_NOT_FOUND,
                           "No inventory has a machine \"%s\": hpctl machine add %s.", reporting->report->machine,
                           reporting->report->machine);
    int64_t seen_at = status == 0 ? machine_registry_seen_at(reporting->s->machines, machine->id) : 0;
    bool spare = status == 0 && seen_at != 0 && reporting->now_ms - seen_at < MACHINE_SILENT_MS;
    if (status == 0 && machine->has_agent && (spare || works_as_node(reporting, machine)))
        return problem_say(reporting->problem, STATUS_CONFLICT, PROBLEM_CONFLICT,
                           "Another agent is connected as machine \"%s\". Check the name, or stop that agent.",
                           machine->name);
    return status;
}

static int find(struct db_tx *tx, struct reporting *reporting)
{
    return reporting->machine_id != 0 ? find_by_credential(tx, reporting) : find_by_token(tx, reporting);
}

static int read_machine(struct db_tx *tx, void *arg)
{
    return find(tx, arg);
}

static void audit_machine(const struct machine *machine)
{
    struct service_audit *audit = audit_current();
    if (audit == NULL)
        return;
    say_cut(audit->entry.actor, sizeof(audit->entry.actor), "machine:%s", machine->name);
    say_cut(audit->entry.resource, sizeof(audit->entry.resource), "%s", machine->name);
}

/* --- what changed ---------------------------------------------------------------------------------- */

static bool is_well(const struct service_spare_report *report)
{
    return report->checked && report->trouble[0] == '\0';
}

static int64_t burn_in_of(const struct service *s, const struct machine *machine)
{
    const struct service_backends *backends = s->backends;
    for (size_t i = 0; backends != NULL && i < backends->inventory_count; i++)
        if (text_equal(backends->inventories[i], machine->provider))
            return backends->burn_in_ms[i];
    return 0;
}

/* It has found nothing wrong for as long as the site wants. */
static bool has_proved_itself(const struct reporting *reporting)
{
    const struct machine *machine = &reporting->machine;
    int64_t since = machine->well_since > machine->changed_at ? machine->well_since : machine->changed_at;
    return machine->state == MACHINE_STATE_BURN_IN && machine->well_since != 0 && is_well(reporting->report) &&
           text_equal(machine->boot_id, reporting->report->boot_id) &&
           reporting->now_ms - since >= burn_in_of(reporting->s, machine);
}

/* A spare that was not heard for a while, as after a start of hpd: launches that found none ready wait for it. */
static bool is_back(const struct reporting *reporting)
{
    int64_t seen_at = machine_registry_seen_at(reporting->s->machines, reporting->machine.id);
    bool silent = seen_at == 0 || reporting->now_ms - seen_at > MACHINE_SILENT_MS;
    return silent && reporting->machine.state == MACHINE_STATE_SPARE && is_well(reporting->report);
}

static bool is_news(const struct reporting *reporting)
{
    const struct machine *machine = &reporting->machine;
    const struct service_spare_report *report = reporting->report;
    return reporting->machine_id == 0 || !text_equal(machine->boot_id, report->boot_id) ||
           machine->checked != report->checked || !text_equal(machine->trouble, report->trouble) ||
           (machine->well_since != 0) != is_well(report) || has_proved_itself(reporting) || is_back(reporting);
}

static int tell_trouble(struct db_tx *tx, const struct machine *was, const struct machine *is)
{
    if (text_equal(was->trouble, is->trouble) || is->state == MACHINE_STATE_IN_USE)
        return 0;
    bool over = is->trouble[0] == '\0';
    return machine_event(tx, is, over ? EVENT_LEVEL_INFO : EVENT_LEVEL_WARN, EVENT_KIND_MACHINE_TROUBLE,
                         "machine %s (%s): %s", is->name, machine_state_text(is->state),
                         over ? "its checks find nothing wrong any more" : is->trouble);
}

/* A lemon becomes no spare, however well it looks. */
static int pass_burn_in(struct db_tx *tx, struct reporting *reporting)
{
    struct machine *machine = &reporting->machine;
    bool lemon = false;
    int status = machine_is_lemon(tx, machine, reporting->now_ms, &lemon);
    if (status != 0)
        return status;
    return machine_move(tx, machine, lemon ? MACHINE_STATE_BENCH : MACHINE_STATE_SPARE,
                        lemon ? "a lemon: it was here for a fault too often" : "its burn-in found nothing wrong", "",
                        reporting->now_ms);
}

static void take_report(struct reporting *reporting)
{
    struct machine *machine = &reporting->machine;
    const struct service_spare_report *report = reporting->report;
    bool same = machine->well_since != 0 && text_equal(machine->boot_id, report->boot_id);
    machine->checked = report->checked;
    machine->well_since = !is_well(report) ? 0 : same ? machine->well_since : reporting->now_ms;
    text_copy_cut(machine->boot_id, sizeof(machine->boot_id), report->boot_id);
    text_copy_cut(machine->trouble, sizeof(machine->trouble), report->trouble);
    if (reporting->machine_id == 0) {
        machine->has_agent = true;
        memcpy(machine->agent_hash, reporting->new_hash, sizeof(machine->agent_hash));
    }
}

static int store_news(struct db_tx *tx, void *arg)
{
    struct reporting *reporting = arg;
    struct machine *machine = &reporting->machine;
    reporting->waiters.groups.count = reporting->waiters.nodes.count = 0;
    int status = find(tx, reporting);
    if (status != 0)
        return status;
    const struct machine was = *machine;
    bool passes = has_proved_itself(reporting);
    take_report(reporting);
    status = db_machine_update(tx, machine);
    if (status == 0)
        status = tell_trouble(tx, &was, machine);
    if (status == 0 && passes)
        status = pass_burn_in(tx, reporting);
    if (status == 0 && machine->state == MACHINE_STATE_SPARE && machine->well_since != 0)
        status = machine_spare_came(tx, machine->provider, &reporting->waiters);
    return status;
}

/* --- the answer ------------------------------------------------------------------------------------ */

static int64_t wait_of(const struct service *s)
{
    int64_t wait = (int64_t)machine_registry_count(s->machines) * WAIT_EACH_MS;
    return wait < WAIT_MIN_MS ? WAIT_MIN_MS : wait > WAIT_MAX_MS ? WAIT_MAX_MS : wait;
}

static int answer(struct reporting *reporting, struct service_spare_answer *ret_answer)
{
    const struct machine *machine = &reporting->machine;
    ret_answer->state = machine->state;
    ret_answer->wait_ms = wait_of(reporting->s);
    if (machine->state != MACHINE_STATE_IN_USE)
        return 0;
    int status =
        agent_enroll_machine(reporting->s, machine->use.node_id, machine->use.instance_id, reporting->report->boot_id,
                             machine->well_since, ret_answer->credential, reporting->problem);
    if (status == STATUS_STALE || status == STATUS_NOT_FOUND)
        return 0; /* it is being given back: it waits */
    if (status != 0)
        return status;
    ret_answer->node_id = machine->use.node_id;
    text_copy_cut(ret_answer->instance_id, sizeof(ret_answer->instance_id), machine->use.instance_id);
    text_copy_cut(ret_answer->node, sizeof(ret_answer->node), machine->use.node);
    return 0;
}

int service_spare_report(struct service *s, const char *bearer, const struct service_spare_report *report,
                         struct service_spare_answer *ret_answer, struct problem *ret_problem)
{
    struct reporting reporting = {
        .s = s, .report = report, .bearer = bearer, .now_ms = service_now(s), .problem = ret_problem};
    struct service_spare_answer reply = {.wait_ms = 0};
    char secret[SERVICE_TOKEN_TEXT_MAX] = "";
    if (!agent_word_is_fine(report->boot_id, sizeof(report->boot_id)))
        return problem_say(ret_problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
                           "bootId must be 1 to %d letters, digits and hyphens.", BOOT_ID_MAX_BYTES - 1);
    int status = read_bearer(&reporting);
    if (status == 0)
        status = service_read(s, read_machine, &reporting, ret_problem);
    if (status == 0 && reporting.machine_id == 0)
        secret_make(s, "", secret, reporting.new_hash);
    if (status == 0)
        audit_machine(&reporting.machine);
    if (status == 0 && is_news(&reporting))
        status = service_write(s, "spare-report", store_news, &reporting, ret_problem);
    if (status == 0) {
        machine_registry_seen(s->machines, reporting.machine.id, reporting.now_ms);
        machine_waiters_wake(s, &reporting.waiters);
        status = answer(&reporting, &reply);
    }
    machine_waiters_free(&reporting.waiters);
    if (status != 0)
        return status;
    if (secret[0] != '\0')
        say_cut(reply.secret, sizeof(reply.secret), SECRET_PREFIX_MACHINE "%" PRId64 ".%s", reporting.machine.id,
                secret);
    *ret_answer = reply;
    return 0;
}
