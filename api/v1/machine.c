/* Machines that a site owns: the inventory, who is a spare, and the way to the bench and back. */
#include "server/service/machine/machine.h"
#include "api/choose.h"
#include "api/page.h"
#include "api/render.h"
#include "api/v1/v1.h"
#include "base/status.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

#define USES_SHOWN_MAX 50

CHOOSE(machine_state)

static json_t *render_use(const struct machine_use *use)
{
    json_t *json = json_object();
    json_put_text(json, "cluster", use->cluster);
    json_put_text(json, "node", use->node);
    json_put_text(json, "instanceId", use->instance_id);
    json_put_time(json, "takenAt", use->taken_at);
    json_put_time(json, "givenBackAt", use->given_back_at);
    if (use->given_back_at > 0) {
        json_put(json, "broken", json_boolean(use->broken));
        json_put_text(json, "reason", use->reason);
    }
    return json;
}

static json_t *render_machine(const struct machine *machine, int64_t now_ms)
{
    json_t *json = json_object();
    const char *not_ready = machine_not_ready(machine, now_ms);
    json_put_text(json, "name", machine->name);
    json_put_text(json, "provider", machine->provider);
    json_put_text(json, "type", machine->type);
    json_put_text(json, "state", machine_state_text(machine->state));
    json_put_text(json, "reason", machine->reason);
    json_put_time(json, "changedAt", machine->changed_at);
    if (machine->state == MACHINE_STATE_SPARE) {
        json_put(json, "ready", json_boolean(not_ready == NULL));
        json_put_text(json, "notReady", not_ready);
    }
    json_put_text(json, "trouble", machine->trouble);
    json_put_time(json, "agentSeenAt", machine->seen_at);
    json_put_text(json, "bootId", machine->boot_id);
    json_put_text(json, "address", machine->address);
    json_put_text(json, "bmc", machine->bmc);
    json_put_text(json, "rack", machine->rack);
    json_put_text(json, "switch", machine->net_switch);
    json_put_text(json, "chassis", machine->chassis);
    json_put_text(json, "serial", machine->serial);
    if (machine->state == MACHINE_STATE_IN_USE)
        json_put(json, "use", render_use(&machine->use));
    return json;
}

static int64_t now_of(const struct api_call *call)
{
    return clock_wall_ms(call->service->clock);
}

/* --- list and describe --------------------------------------------------------------------------------- */

struct listing {
    struct page page;
    int64_t now_ms;
};

static int list_row(const void *row, void *arg)
{
    const struct machine *machine = row;
    struct listing *listing = arg;
    if (page_wants(&listing->page))
        page_add(&listing->page, render_machine(machine, listing->now_ms), machine->name);
    return 0;
}

void api_machine_list(struct api_call *call)
{
    struct listing listing = {.now_ms = now_of(call)};
    struct page *page = &listing.page;
    struct problem problem;
    char provider[NAME_MAX_BYTES] = "";
    int state = -1;
    page_init(page, 'm');
    const struct api_query query[] = {
        {.name = "provider",
         .type = API_QUERY_TEXT,
         .target = provider,
         .size = sizeof provider,
         .rule = "an inventory"},
        {.name = "state",
         .type = API_QUERY_CHOICE,
         .target = &state,
         .choose = choose_machine_state,
         .rule = "spare, in-use, bench, burn-in or retired"},
        PAGE_QUERY(*page),
    };
    if (api_query(call, query, ARRAY_LEN(query)) != 0 || page_begin(call, page, false) != 0)
        return;
    if (service_machine_list(call->service, provider, state, page->key, page_rows(page), list_row, &listing,
                             &problem) != 0) {
        page_free(page);
        api_problem(call, &problem);
        return;
    }
    page_reply(call, page);
}

static int add_use(const void *row, void *arg)
{
    json_array_append_new(arg, render_use(row));
    return 0;
}

void api_machine_describe(struct api_call *call)
{
    struct problem problem;
    struct machine machine;
    auto_json json_t *uses = json_array();
    if (service_machine_get(call->service, call->params[0], &machine, &problem) != 0 ||
        service_machine_uses(call->service, call->params[0], USES_SHOWN_MAX, add_use, uses, &problem) != 0) {
        api_problem(call, &problem);
        return;
    }
    json_t *json = render_machine(&machine, now_of(call));
    json_put(json, "uses", json_incref(uses));
    api_reply_json(call, 200, json);
}

/* --- evidence ------------------------------------------------------------------------------------------ */

struct bundle {
    json_t *machine, *uses;
    json_t *use; /* the one whose rows come now; borrowed */
    int64_t now_ms;
};

static void bundle_machine(const struct machine *machine, void *arg)
{
    struct bundle *bundle = arg;
    bundle->machine = render_machine(machine, bundle->now_ms);
}

static void bundle_use(const struct machine_use *use, void *arg)
{
    static const char *const lists[] = {"verdicts", "repairs", "decisions", "tests", "hardware", "checks"};
    struct bundle *bundle = arg;
    bundle->use = render_use(use);
    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        json_put(bundle->use, lists[i], json_array());
    json_array_append_new(bundle->uses, bundle->use);
}

static void bundle_add(struct bundle *bundle, const char *list, json_t *item)
{
    json_array_append_new(json_object_get(bundle->use, list), item);
}

static void bundle_verdict(const struct verdict *verdict, void *arg)
{
    bundle_add(arg, "verdicts", render_verdict(verdict));
}

static void bundle_repair(const struct operation *operation, void *arg)
{
    const struct bundle *bundle = arg;
    const char *cluster = json_string_value(json_object_get(bundle->use, "cluster"));
    const char *node = json_string_value(json_object_get(bundle->use, "node"));
    bundle_add(arg, "repairs", render_operation(operation, text_or_empty(cluster), text_or_empty(node)));
}

static void bundle_decision(const struct decision *decision, const char *operation, void *arg)
{
    bundle_add(arg, "decisions", render_decision(decision, operation));
}

static void bundle_test(const struct deep_run *run, void *arg)
{
    bundle_add(arg, "tests", render_deep_run(run));
}

static void bundle_piece(const struct hardware *hardware, void *arg)
{
    bundle_add(arg, "hardware", render_piece(hardware));
}

static void bundle_check(const struct check_state *check, const char *boot_id, void *arg)
{
    bundle_add(arg, "checks", render_check_state(check, boot_id));
}

void api_machine_describe_evidence(struct api_call *call)
{
    struct problem problem;
    struct bundle bundle = {.uses = json_array(), .now_ms = now_of(call)};
    const struct service_evidence_sink sink = {.machine = bundle_machine,
                                               .use = bundle_use,
                                               .verdict = bundle_verdict,
                                               .repair = bundle_repair,
                                               .decision = bundle_decision,
                                               .test = bundle_test,
                                               .piece = bundle_piece,
                                               .check = bundle_check,
                                               .arg = &bundle};
    if (service_machine_evidence(call->service, call->params[0], &sink, &problem) != 0) {
        json_decref(bundle.machine);
        json_decref(bundle.uses);
        api_problem(call, &problem);
        return;
    }
    json_t *json = json_object();
    json_put_time(json, "madeAt", bundle.now_ms);
    json_put(json, "machine", bundle.machine);
    json_put(json, "uses", bundle.uses);
    api_reply_json(call, 200, json);
}

/* --- what is said of one ------------------------------------------------------------------------------- */

struct machine_body {
    char name[2 * NAME_MAX_BYTES], provider[NAME_MAX_BYTES], type[2 * NAME_MAX_BYTES];
    char address[ADDRESS_MAX_BYTES], bmc[2 * MACHINE_BMC_MAX_BYTES];
    char rack[2 * MACHINE_PLACE_MAX_BYTES], net_switch[2 * MACHINE_PLACE_MAX_BYTES],
        chassis[2 * MACHINE_PLACE_MAX_BYTES];
    char serial[2 * MACHINE_SERIAL_MAX_BYTES];
    bool has_provider, has_type, has_address, has_bmc, has_rack, has_switch, has_chassis, has_serial;
};

#define FIELD(member, place, given)                                                                                    \
    {                                                                                                                  \
        .name = member, .type = JSON_FIELD_TEXT, .target = b->place, .size = sizeof b->place, .ret_present = &b->given \
    }
#define SAID(place, given) (b->given ? b->place : NULL)

/* With a name in the body (add) or in the path. False: it has answered. */
static bool read_body(struct api_call *call, bool named, struct machine_body *b, struct service_machine_spec *ret_spec)
{
    auto_json json_t *json = NULL;
    const struct json_field fields[] = {
        {.name = "name",
         .type = JSON_FIELD_TEXT,
         .required = true,
         .target = b->name,
         .size = sizeof b->name,
         .min = 1},
        FIELD("provider", provider, has_provider),
        FIELD("type", type, has_type),
        FIELD("address", address, has_address),
        FIELD("bmc", bmc, has_bmc),
        FIELD("rack", rack, has_rack),
        FIELD("switch", net_switch, has_switch),
        FIELD("chassis", chassis, has_chassis),
        FIELD("serial", serial, has_serial),
    };
    size_t skip = named ? 0 : 1;
    if (api_body(call, fields + skip, ARRAY_LEN(fields) - skip, &json) != 0)
        return false;
    *ret_spec = (struct service_machine_spec){.name = named ? b->name : call->params[0],
                                              .provider = SAID(provider, has_provider),
                                              .type = SAID(type, has_type),
                                              .address = SAID(address, has_address),
                                              .bmc = SAID(bmc, has_bmc),
                                              .rack = SAID(rack, has_rack),
                                              .net_switch = SAID(net_switch, has_switch),
                                              .chassis = SAID(chassis, has_chassis),
                                              .serial = SAID(serial, has_serial)};
    return true;
}

static void say(struct api_call *call, bool is_new)
{
    struct machine_body body = {.name = ""};
    struct service_machine_spec spec;
    struct problem problem;
    struct machine machine;
    if (!read_body(call, is_new, &body, &spec))
        return;
    int rc = is_new ? service_machine_add(call->service, &call->actor, &spec, &machine, &problem)
                    : service_machine_update(call->service, &call->actor, &spec, &machine, &problem);
    if (rc != 0)
        api_problem(call, &problem);
    else
        api_reply_json(call, is_new ? 201 : 200, render_machine(&machine, now_of(call)));
}

void api_machine_add(struct api_call *call)
{
    say(call, true);
}

void api_machine_update(struct api_call *call)
{
    say(call, false);
}

/* --- moves --------------------------------------------------------------------------------------------- */

static void move(struct api_call *call, enum machine_state to)
{
    char reason[REASON_MAX_BYTES] = "";
    auto_json json_t *json = NULL;
    const struct json_field fields[] = {
        {.name = "reason", .type = JSON_FIELD_TEXT, .target = reason, .size = sizeof reason, API_LINE},
    };
    struct problem problem;
    struct machine machine;
    if (api_body(call, fields, ARRAY_LEN(fields), &json) != 0)
        return;
    if (service_machine_move(call->service, &call->actor, call->params[0], to, reason, &machine, &problem) != 0)
        api_problem(call, &problem);
    else
        api_reply_json(call, 200, render_machine(&machine, now_of(call)));
}

void api_machine_retire(struct api_call *call)
{
    move(call, MACHINE_STATE_RETIRED);
}

void api_machine_bench(struct api_call *call)
{
    move(call, MACHINE_STATE_BENCH);
}

void api_machine_return(struct api_call *call)
{
    move(call, MACHINE_STATE_BURN_IN);
}

void api_machine_release(struct api_call *call)
{
    move(call, MACHINE_STATE_SPARE);
}
