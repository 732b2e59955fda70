/* What a node's instance is made of and how its agent's checks stand. */
#include "api/call.h"
#include "api/page.h"
#include "api/render.h"
#include "api/v1/v1.h"
#include "server/service/agent/machine.h"

static void put(json_t *json, const char *name, const char *text)
{
    if (text[0] != '\0')
        json_put(json, name, render_text(text));
}

json_t *render_piece(const struct hardware *hardware)
{
    json_t *json = json_object();
    put(json, "kind", hardware_kind_text(hardware->kind));
    put(json, "identity", hardware->identity);
    put(json, "serial", hardware->serial);
    put(json, "location", hardware->location);
    put(json, "detail", hardware->detail);
    json_object_set_new(json, "present", json_boolean(hardware->present));
    json_put_time(json, "firstSeenAt", hardware->first_at);
    json_put_time(json, "lastSeenAt", hardware->last_at);
    return json;
}

json_t *render_check_state(const struct check_state *state, const char *boot_id)
{
    json_t *json = json_object();
    bool has_run = state->has_run && strcmp(state->boot_id, boot_id) == 0;
    put(json, "name", state->name);
    put(json, "result", has_run ? check_result_text(state->result) : "waiting");
    put(json, "why", has_run ? state->why : "");
    json_put_time(json, "since", state->at);
    return json;
}

void api_node_describe_hardware(struct api_call *call)
{
    struct problem problem;
    autofree struct service_machine *machine = own_calloc(1, sizeof *machine);
    if (service_node_hardware(call->service, call->params[0], call->params[1], machine, &problem) != 0) {
        api_problem(call, &problem);
        return;
    }
    json_t *json = json_object(), *hardware = json_array(), *checks = json_array();
    for (size_t i = 0; i < machine->hardware_count; i++)
        json_array_append_new(hardware, render_piece(&machine->hardware[i]));
    for (size_t i = 0; i < machine->check_count; i++)
        json_array_append_new(checks, render_check_state(&machine->checks[i], machine->boot_id));
    put(json, "instanceId", machine->instance_id);
    json_put(json, "hardware", hardware);
    json_put(json, "checks", checks);
    api_reply_json(call, 200, json);
}

static int host_key_row(const void *row, void *arg)
{
    const struct host_key *key = row;
    struct page *page = arg;
    if (!page_wants(page))
        return 0;
    json_t *json = json_object();
    json_put_text(json, "node", key->node);
    json_put_text(json, "address", key->address);
    json_put_text(json, "type", key->key.location);
    json_put_text(json, "key", key->key.detail);
    json_put_time(json, "firstSeenAt", key->key.first_at);
    page_add(page, json, key->node);
    return 0;
}

void api_host_key_list(struct api_call *call)
{
    struct page page;
    struct problem problem;
    char node[NODE_NAME_MAX_BYTES] = "";
    page_init(&page, 'h');
    const struct api_query query[] = {
        PAGE_QUERY(page),
        {.name = "node", .type = API_QUERY_TEXT, .target = node, .size = sizeof node, .rule = "the name of a node"},
    };
    if (api_query(call, query, ARRAY_LEN(query)) != 0 || page_begin(call, &page, false) != 0)
        return;
    if (service_host_key_list(call->service, call->params[0], node, page.key, page_rows(&page), host_key_row, &page,
                              &problem) != 0) {
        page_free(&page);
        api_problem(call, &problem);
        return;
    }
    page_reply(call, &page);
}
