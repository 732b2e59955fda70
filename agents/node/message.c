/*
 * The messages of the agent's loop; agents/node/shape.h reads and writes JSON.
 */
#include "agents/node/message.h"

#include "agents/checks/kmsg.h"
#include "agents/node/shape.h"
#include "base/sm.h"
#include "base/status.h"

#include <inttypes.h>
#include <string.h>

#define RECORD_OPTIONAL 6 /* members of a record that may be missing */
#define INTERVAL_MIN_MS 100
#define INTERVAL_MAX_MS (10 * MS_PER_MIN)
#define MACHINE_WHY_UNTIL_BYTES (112 * 1024) /* the rest of a report without reasons stays under AGENT_BODY_BYTES_MAX */

/* --- writing ------------------------------------------------------------------------------------------------- */

void message_write_enroll(struct text *out, const char *node, const char *instance_id, const char *boot_id)
{
    text_add_char(out, '{');
    if (node != NULL) {
        shape_put_text(out, "\"node\":", node);
        text_add_char(out, ',');
    }
    shape_put_text(out, "\"instanceId\":", instance_id);
    shape_put_text(out, ",\"bootId\":", boot_id);
    text_add_char(out, '}');
}

void message_write_spare(struct text *out, const char *machine, const char *boot_id, bool checked, const char *trouble)
{
    shape_put_text(out, "{\"machine\":", machine);
    shape_put_text(out, ",\"bootId\":", boot_id);
    text_add(out, checked ? ",\"checked\":true" : ",\"checked\":false");
    if (trouble[0] != '\0')
        shape_put_text(out, ",\"trouble\":", trouble);
    text_add_char(out, '}');
}

void message_write_heartbeat(struct text *out, const struct message_heartbeat *heartbeat)
{
    shape_put_text(out, "{\"instanceId\":", heartbeat->instance_id);
    shape_put_text(out, ",\"bootId\":", heartbeat->boot_id);
    shape_put_i64(out, ",\"seq\":", heartbeat->seq);
    shape_put_i64(out, ",\"sentAtMs\":", heartbeat->sent_at_ms);
    text_printf(out, ",\"checks\":[\"lifecycle\",\"machine\",\"settings:%" PRIx64 "\"", heartbeat->settings_tag);
    for (int i = 0; i < DEEP_CHECK_COUNT; i++)
        if ((heartbeat->deep_checks & SM_BIT(i)) != 0)
            shape_put_text(out, ",", deep_check_text((enum deep_check)i));
    if (heartbeat->resets)
        text_add(out, ",\"reset\"");
    if (heartbeat->reboots)
        text_add(out, ",\"reboot\"");
    if (heartbeat->kmsg_covered)
        text_add(out, ",\"" KMSG_SOURCE "\"");
    text_add_char(out, ']');
    shape_put_i64(out, ",\"spooled\":", heartbeat->spooled);
    if (heartbeat->address != NULL)
        shape_put_text(out, ",\"address\":", heartbeat->address);
    text_add_char(out, '}');
}

static void write_hardware(struct text *out, const struct hardware *hardware)
{
    shape_put_text(out, "{\"kind\":", hardware_kind_text(hardware->kind));
    shape_put_text(out, ",\"identity\":", hardware->identity);
    shape_put_text(out, ",\"serial\":", hardware->serial);
    shape_put_text(out, ",\"location\":", hardware->location);
    shape_put_text(out, ",\"detail\":", hardware->detail);
    text_add_char(out, '}');
}

/* In a body that grows too large the reasons are left out; the log of the node has them. */
static void write_check(struct text *out, const struct check_state *check)
{
    shape_put_text(out, "{\"name\":", check->name);
    if (check->has_run)
        shape_put_text(out, ",\"result\":", check_result_text(check->result));
    if (check->why[0] != '\0' && out->len < MACHINE_WHY_UNTIL_BYTES)
        shape_put_text(out, ",\"why\":", check->why);
    text_add_char(out, '}');
}

void message_write_machine(struct text *out, const struct machine_report *report, int64_t sent_at_ms)
{
    shape_put_text(out, "{\"instanceId\":", report->instance_id);
    shape_put_text(out, ",\"bootId\":", report->boot_id);
    shape_put_i64(out, ",\"sentAtMs\":", sent_at_ms);
    text_printf(out, ",\"hardwareKnown\":%s,\"hardware\":[", report->hardware_known ? "true" : "false");
    for (size_t i = 0; i < report->hardware_count; i++) {
        text_add(out, i > 0 ? "," : "");
        write_hardware(out, &report->hardware[i]);
    }
    text_add(out, "],\"checks\":[");
    for (size_t i = 0; i < report->check_count; i++) {
        text_add(out, i > 0 ? "," : "");
        write_check(out, &report->checks[i]);
    }
    text_add(out, "]}");
}

void message_open_report(struct text *out, const char *instance_id, const char *boot_id, int64_t sent_at_ms)
{
    shape_put_text(out, "{\"instanceId\":", instance_id);
    shape_put_text(out, ",\"bootId\":", boot_id);
    shape_put_i64(out, ",\"sentAtMs\":", sent_at_ms);
    text_add(out, ",\"verdicts\":[");
}

static void write_verdict_members(struct text *out, const struct verdict *verdict)
{
    shape_put_text(out, "\"key\":", verdict->key);
    shape_put_text(out, ",\"device\":", verdict->device);
    shape_put_text(out, ",\"source\":", verdict->source);
    shape_put_text(out, ",\"code\":", verdict->code);
    shape_put_text(out, ",\"rawLine\":", verdict->raw_line);
    shape_put_i64(out, ",\"firstAtMs\":", verdict->first_at);
    shape_put_i64(out, ",\"lastAtMs\":", verdict->last_at);
    shape_put_i64(out, ",\"count\":", verdict->count);
    shape_put_text(out, ",\"severity\":", severity_text(verdict->severity));
    shape_put_text(out, ",\"tableVersion\":", verdict->table_version);
    if (verdict->over)
        text_add(out, ",\"over\":true");
}

void message_add_verdict(struct text *out, const struct verdict *verdict, bool first)
{
    text_add(out, first ? "{" : ",{");
    write_verdict_members(out, verdict);
    text_add_char(out, '}');
}

void message_close_report(struct text *out)
{
    text_add(out, "]}");
}

void message_write_record(struct text *out, const struct verdict *verdict, const struct reach *reach)
{
    shape_put_text(out, "{\"instanceId\":", verdict->instance_id);
    shape_put_text(out, ",\"bootId\":", verdict->boot_id);
    text_add_char(out, ',');
    write_verdict_members(out, verdict);
    if (reach != NULL) {
        shape_put_i64(out, ",\"log\":", reach->place.log);
        shape_put_i64(out, ",\"offset\":", reach->place.offset);
        shape_put_i64(out, ",\"placeCount\":", reach->place_count);
        shape_put_i64(out, ",\"beganMs\":", reach->began_at);
        shape_put_i64(out, ",\"touchedMs\":", reach->touched_at);
    }
    text_add_char(out, '}');
}

/* --- reading ------------------------------------------------------------------------------------------------- */

/* A credential becomes part of a header line. */
static bool fits_header(const char *credential)
{
    for (const char *at = credential; *at != '\0'; at++)
        if (*at <= ' ' || *at >= 0x7f)
            return false;
    return true;
}

static bool is_instance_id(const char *id)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-";
    return text_starts_with(id, "i-") && strspn(id, letters) == strlen(id);
}

int message_read_spare(const char *body, size_t len, struct message_spare *ret_spare)
{
    struct message_spare spare = {.state = ""};
    struct message_enrolled *enrolled = &spare.enrolled;
    struct shape_slot slots[] = {SHAPE_TEXT("state", spare.state),
                                 SHAPE_I64("waitMs", spare.wait_ms, INTERVAL_MIN_MS),
                                 SHAPE_TEXT("machineCredential", spare.machine_credential),
                                 SHAPE_TEXT("instanceId", spare.instance_id),
                                 SHAPE_TEXT("node", spare.node),
                                 SHAPE_I64("nodeId", enrolled->node_id, 1),
                                 SHAPE_TEXT("credential", enrolled->credential),
                                 SHAPE_I64("heartbeatIntervalMs", enrolled->heartbeat_interval_ms, INTERVAL_MIN_MS)};
    if (shape_read(body, len, slots, ARRAY_LEN(slots)) != 0 || !slots[1].seen || spare.wait_ms > INTERVAL_MAX_MS ||
        !fits_header(spare.machine_credential) || !fits_header(enrolled->credential))
        return STATUS_INVALID;
    bool is_used = spare.instance_id[0] != '\0';
    if (is_used && (!is_instance_id(spare.instance_id) || enrolled->credential[0] == '\0' || !slots[7].seen ||
                    enrolled->heartbeat_interval_ms > INTERVAL_MAX_MS))
        return STATUS_INVALID;
    *ret_spare = spare;
    return 0;
}

int message_read_enrolled(const char *body, size_t len, struct message_enrolled *ret_enrolled)
{
    struct message_enrolled enrolled = {0};
    struct shape_slot slots[] = {SHAPE_I64("nodeId", enrolled.node_id, 1),
                                 SHAPE_TEXT("credential", enrolled.credential),
                                 SHAPE_I64("heartbeatIntervalMs", enrolled.heartbeat_interval_ms, INTERVAL_MIN_MS)};
    if (shape_read(body, len, slots, ARRAY_LEN(slots)) != 0 || !shape_all_seen(slots, ARRAY_LEN(slots)))
        return STATUS_INVALID;
    if (enrolled.credential[0] == '\0' || !fits_header(enrolled.credential) ||
        enrolled.heartbeat_interval_ms > INTERVAL_MAX_MS)
        return STATUS_INVALID;
    *ret_enrolled = enrolled;
    return 0;
}

int message_read_orders(const char *body, size_t len, struct message_orders *ret_orders)
{
    struct message_orders orders = {0};
    struct shape_slot slots[] = {SHAPE_TEXT("inject", orders.inject),
#define X(id, kind, member) SHAPE_TEXT(member, orders.runners[RUNNER_##id]),
                                 RUNNER_LIST(X)
#undef X
                                     SHAPE_TEXT("settings", orders.settings),
                                 SHAPE_I64("heartbeatIntervalMs", orders.heartbeat_interval_ms, INTERVAL_MIN_MS)};
    if (shape_read(body, len, slots, ARRAY_LEN(slots)) != 0 || orders.heartbeat_interval_ms > INTERVAL_MAX_MS)
        return STATUS_INVALID;
    *ret_orders = orders;
    return 0;
}

void message_read_problem(const char *body, size_t len, struct message_problem *ret_problem)
{
    struct message_problem problem = {0};
    char type[256] = "", title[256] = "", request_id[256] = "";
    int64_t status = 0;
    struct shape_slot slots[] = {
        SHAPE_TEXT("type", type),         SHAPE_TEXT("title", title),           SHAPE_I64("status", status, 0),
        SHAPE_TEXT("code", problem.code), SHAPE_TEXT("detail", problem.detail), SHAPE_TEXT("requestId", request_id)};
    if (shape_read(body, len, slots, ARRAY_LEN(slots)) != 0)
        problem = (struct message_problem){0};
    *ret_problem = problem;
}

int message_read_record(const char *data, size_t len, struct verdict *ret_verdict, struct reach *ret_reach)
{
    struct verdict v = {0};
    struct reach reach = {.place = {0, 0}};
    char severity[16];
    struct shape_slot slots[] = {
        SHAPE_TEXT("instanceId", v.instance_id),
        SHAPE_TEXT("bootId", v.boot_id),
        SHAPE_TEXT("key", v.key),
        SHAPE_TEXT("device", v.device),
        SHAPE_TEXT("source", v.source),
        SHAPE_TEXT("code", v.code),
        SHAPE_TEXT("rawLine", v.raw_line),
        SHAPE_I64("firstAtMs", v.first_at, 0),
        SHAPE_I64("lastAtMs", v.last_at, 0),
        SHAPE_I64("count", v.count, 1),
        SHAPE_TEXT("severity", severity),
        SHAPE_TEXT("tableVersion", v.table_version),
        SHAPE_BOOL("over", v.over), /* optional, like the rest */
        SHAPE_I64("log", reach.place.log, 0),
        SHAPE_I64("offset", reach.place.offset, 0),
        SHAPE_I64("placeCount", reach.place_count, 0),
        SHAPE_I64("beganMs", reach.began_at, 0),
        SHAPE_I64("touchedMs", reach.touched_at, 0),
    };
    if (shape_read(data, len, slots, ARRAY_LEN(slots)) != 0 ||
        !shape_all_seen(slots, ARRAY_LEN(slots) - RECORD_OPTIONAL) || severity_parse(severity, &v.severity) != 0)
        return STATUS_INVALID;
    *ret_verdict = v;
    *ret_reach = reach;
    return 0;
}
