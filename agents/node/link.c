/*
 * Decides what is sent when, and what an answer means:
 *
 *     200        done                          409 stale      the instance was replaced: enrol again or stop reporting
 *     401, 403   credential or token invalid   409 replayed   an earlier try succeeded: same as 200
 *     400…       the server refuses the body. Reports continue with single verdicts. A verdict that is
 *                refused alone is dropped with an error in the log; else it would block all later ones
 *     else       try again later, with jitter, after twice the time
 *
 * A state is logged once, not at every try.
 */
#include "agents/node/link.h"

#include "agents/node/rest.h"
#include "base/address.h"
#include "base/log.h"
#include "base/own.h"
#include "base/status.h"

#include <inttypes.h>
#include <string.h>

#define BACKOFF_DOUBLINGS_MAX 16
#define TOKEN_MAX_BYTES 256

static int64_t now_ms(const struct link *link)
{
    return clock_mono_ms(link->clock);
}

void link_init(struct link *link, const struct link_options *options, const struct clock *clock, struct wire *wire,
               struct spool *spool, const struct state *state, const char *instance_id, const char *boot_id)
{
    *link = (struct link){.options = *options,
                          .clock = clock,
                          .wire = wire,
                          .spool = spool,
                          .state = state,
                          .batch_max = VERDICTS_PER_POST_MAX};
    text_copy_cut(link->instance_id, sizeof(link->instance_id), instance_id);
    text_copy_cut(link->boot_id, sizeof(link->boot_id), boot_id);
    if (options->machine != NULL)
        state_load_machine(state, link->machine_credential);
    if (state_load_credential(state, instance_id, &link->enrolled) == 0)
        link->standing = LINK_KNOWN;
    else
        link->enrolled.heartbeat_interval_ms = options->heartbeat_interval_ms;
}

void link_clear(struct link *link)
{
    text_free(&link->body);
    text_free(&link->record);
}

int64_t link_next_seq(struct link *link)
{
    int64_t seq = clock_boot_ms();
    link->last_seq = seq > link->last_seq ? seq : link->last_seq + 1;
    return link->last_seq;
}

/* --- after an answer ----------------------------------------------------------------------------------------- */

/* A random time from delay / 2 to delay, so that a fleet does not reconnect in step. */
static int64_t jittered(int64_t delay_ms)
{
    uint32_t random;
    id_bytes(NULL, &random, sizeof(random));
    return delay_ms / 2 + (int64_t)(random % (uint64_t)(delay_ms - delay_ms / 2 + 1));
}

static void back_off(struct link *link, const char *why)
{
    int64_t delay = link->options.backoff_min_ms;
    for (int i = 0; i < link->failures && i < BACKOFF_DOUBLINGS_MAX && delay < link->options.backoff_max_ms; i++)
        delay *= 2;
    if (delay > link->options.backoff_max_ms)
        delay = link->options.backoff_max_ms;
    link->failures++;
    link->waits = false;
    link->rested = false; /* a new connection brings a new handshake */
    link->not_before = now_ms(link) + jittered(delay);
    if (!link->away)
        log_warn("server does not take our messages; trying again: %s waiting=%zu", why, spool_count(link->spool));
    else
        log_debug("server still away: %s", why);
    link->away = true;
}

/* The machine report is not stored: it has to be written again. */
static void try_again(struct link *link, enum link_ask ask, const char *why)
{
    if (ask == LINK_MACHINE) {
        link->machine_changed = true;
        link->machine_at = 0;
    }
    link->settings_changed |= ask == LINK_SETTINGS_SAID; /* the next heartbeat announces the settings to fetch again */
    back_off(link, why);
}

static void came_through(struct link *link)
{
    if (link->away)
        log_info("server is back waiting=%zu", spool_count(link->spool));
    link->away = false;
    link->failures = 0;
    link->not_before = 0;
}

static void lose_standing(struct link *link, enum link_standing standing, const char *why)
{
    if (link->standing != standing)
        log_warn("%s; %s", why,
                 link->options.machine != NULL      ? "asking what this machine is"
                 : link->options.token_file != NULL ? "enrolling again"
                                                    : "no token to enrol with");
    if (link->standing == LINK_KNOWN) {
        link->not_before = now_ms(link); /* the first enrolment is tried at once */
        link->heartbeat_at = now_ms(link) + link->options.probe_ms;
    }
    link->standing = standing;
}

static void take_orders(struct link *link, const char *body, size_t len)
{
    struct message_orders orders;
    if (message_read_orders(body, len, &orders) != 0) {
        log_warn("the server answered a heartbeat with something unknown; ignored bytes=%zu", len);
        return;
    }
    if (orders.heartbeat_interval_ms > 0)
        link->enrolled.heartbeat_interval_ms = orders.heartbeat_interval_ms;
    if (orders.inject[0] != '\0' && link->on_inject != NULL)
        (void)link->on_inject(orders.inject, link->arg);
    uint64_t tag;
    if (link->is_settings_news != NULL && agent_settings_tag_parse(orders.settings, &tag) == 0)
        link->settings_wanted = link->is_settings_news(tag, link->arg);
    for (int i = 0; i < RUNNER_COUNT && link->on_order != NULL; i++)
        link->on_order((enum runner_id)i, orders.runners[i], link->arg);
}

static void enrolled(struct link *link, const char *body, size_t len)
{
    struct message_enrolled enrolled;
    if (message_read_enrolled(body, len, &enrolled) != 0) {
        back_off(link, "the answer to the enrolment makes no sense");
        return;
    }
    if (state_save_credential(link->state, link->instance_id, &enrolled) != 0)
        log_error("the credential cannot be stored; it is lost when the agent ends"); /* it is valid until then */
    log_info("enrolled nodeId=%" PRId64 " heartbeatIntervalMs=%" PRId64, enrolled.node_id,
             enrolled.heartbeat_interval_ms);
    link->enrolled = enrolled;
    link->standing = LINK_KNOWN;
    link->told_no_token = false;
    link->heartbeat_at = 0;
    came_through(link);
}

/* The server says what this machine is: nothing yet, the instance that it was, or another one. */
static void spare_answered(struct link *link, const char *body, size_t len)
{
    struct message_spare spare;
    if (message_read_spare(body, len, &spare) != 0) {
        back_off(link, "the answer to a spare makes no sense");
        return;
    }
    came_through(link);
    if (spare.machine_credential[0] != '\0') {
        text_copy_cut(link->machine_credential, sizeof(link->machine_credential), spare.machine_credential);
        if (state_save_machine(link->state, spare.machine_credential) != 0)
            log_error("the machine's credential cannot be stored; it is lost when the agent ends");
        log_info("enrolled as the machine %s", link->options.machine);
    }
    if (spare.instance_id[0] == '\0') {
        if (!link->waits)
            log_info("waiting to be used state=%s", spare.state);
        link->waits = true;
        link->not_before = now_ms(link) + spare.wait_ms;
        return;
    }
    link->waits = false;
    if (state_save_credential(link->state, spare.instance_id, &spare.enrolled) != 0)
        log_error("the credential cannot be stored; it is lost when the agent ends");
    log_info("this machine is %s now instanceId=%s", spare.node, spare.instance_id);
    if (strcmp(spare.instance_id, link->instance_id) != 0) {
        text_copy_cut(link->becomes, sizeof(link->becomes), spare.instance_id);
        return;
    }
    link->enrolled = spare.enrolled;
    link->standing = LINK_KNOWN;
    link->heartbeat_at = 0;
}

static void report_taken(struct link *link)
{
    for (size_t i = 0; i < link->batch_len; i++)
        spool_done(link->spool, link->batch[i]);
    link->batch_max = VERDICTS_PER_POST_MAX;
    link->standing = LINK_KNOWN;
    came_through(link);
}

static void report_refused(struct link *link, int status, const struct message_problem *problem)
{
    if (link->batch_len > 1) {
        link->batch_max = 1;
        return;
    }
    log_error("the server refuses a verdict; dropped status=%d code=%s detail=%s", status, problem->code,
              problem->detail);
    link->refused++;
    spool_done(link->spool, link->batch[0]);
    came_through(link);
}

/* The server refuses this body, also when it is sent again. */
static bool is_final(int status)
{
    return status >= 400 && status < 500 && status != 404 && status != 408 && status != 409 && status != 425 &&
           status != 429;
}

/* An older server does not know this report. It is sent again at the next change; the server may be newer by then. */
static void aside_refused(struct link *link, enum link_ask ask, const char *why)
{
    log_warn("the server does not %s of this machine: %s",
             ask == LINK_SETTINGS ? "hand out the settings" : "take what is told", why);
    came_through(link);
}

static void answered_badly(struct link *link, enum link_ask ask, int status, const char *body, size_t len)
{
    struct message_problem problem;
    autofree char *why = NULL;
    message_read_problem(body, len, &problem);
    why = own_printf("status=%d code=%s detail=%s", status, problem.code, problem.detail);
    if (ask == LINK_SPARE && status == 401)
        link->machine_credential[0] = '\0'; /* the token may be good */
    if (ask == LINK_ENROLL || ask == LINK_SPARE)
        back_off(link, why);
    else if (status == 401 || status == 403)
        lose_standing(link, LINK_REJECTED, "the server does not accept our credential");
    else if (status == 409 && strcmp(problem.code, "stale-report") == 0)
        lose_standing(link, LINK_STALE, "this instance was replaced and may not speak for the node");
    else if (status == 409 && strcmp(problem.code, "replayed") == 0)
        came_through(link);
    else if (ask == LINK_REPORT && is_final(status))
        report_refused(link, status, &problem);
    else if (ask >= LINK_MACHINE && (status == 404 || is_final(status)))
        aside_refused(link, ask, why);
    else
        try_again(link, ask, why);
}

/* The server may have been restored without this report, or it may have refused the report itself. */
static void note_standing(struct link *link, enum link_standing before)
{
    if (before == LINK_KNOWN || link->standing != LINK_KNOWN)
        return;
    link->machine_changed = true;
    link->settings_changed = link->settings_said;
}

static void answered(struct link *link, enum link_ask ask)
{
    enum link_standing before = link->standing;
    int status;
    const char *body;
    size_t len;
    wire_reply(link->wire, &status, &body, &len);
    if (status != 200)
        answered_badly(link, ask, status, body, len);
    else if (ask == LINK_ENROLL)
        enrolled(link, body, len);
    else if (ask == LINK_SPARE)
        spare_answered(link, body, len);
    else if (ask == LINK_REPORT)
        report_taken(link);
    else if (ask >= LINK_MACHINE) {
        came_through(link);
        if (ask == LINK_SETTINGS)
            link->on_settings(body, len, link->arg);
    } else {
        link->standing = LINK_KNOWN;
        came_through(link);
        take_orders(link, body, len);
        if (!link->rested)
            rest();
        link->rested = true;
    }
    note_standing(link, before);
}

/* --- asking -------------------------------------------------------------------------------------------------- */

static bool ask(struct link *link, enum link_ask what, const char *path, const char *credential)
{
    char why[WIRE_ERROR_MAX];
    link->ask = what;
    link->reported_last = what == LINK_REPORT;
    const void *body = what == LINK_SETTINGS ? NULL : link->body.data;
    if (wire_start(link->wire, path, credential, body, link->body.len, why) == 0)
        return true;
    link->ask = LINK_NOTHING;
    try_again(link, what, why);
    return false;
}

static bool read_token(const struct link *link, char token[TOKEN_MAX_BYTES])
{
    return link->options.token_file != NULL && state_read_line(link->options.token_file, token, TOKEN_MAX_BYTES) == 0;
}

static bool ask_to_enroll(struct link *link, const char *token)
{
    text_clear(&link->body);
    message_write_enroll(&link->body, link->options.node, link->instance_id, link->boot_id);
    return ask(link, LINK_ENROLL, "/v1/agent/enroll", token);
}

/* Sent with every heartbeat; the server stores changes. The first heartbeat of a process has no connection yet. */
static const char *own_address(const struct link *link)
{
    if (link->options.address != NULL)
        return link->options.address;
    return address_is_only_here(wire_address(link->wire)) ? NULL : wire_address(link->wire);
}

static bool ask_heartbeat(struct link *link)
{
    const struct message_heartbeat heartbeat = {.instance_id = link->instance_id,
                                                .boot_id = link->boot_id,
                                                .seq = link_next_seq(link),
                                                .sent_at_ms = clock_wall_ms(link->clock),
                                                .kmsg_covered = link->kmsg_covered,
                                                .resets = link->resets,
                                                .reboots = link->reboots,
                                                .deep_checks = link->deep_checks,
                                                .settings_tag = link->settings_tag,
                                                .spooled = (int64_t)spool_count(link->spool),
                                                .address = own_address(link)};
    text_clear(&link->body);
    message_write_heartbeat(&link->body, &heartbeat);
    link->heartbeat_at = now_ms(link) + link->enrolled.heartbeat_interval_ms;
    return ask(link, LINK_HEARTBEAT, "/v1/agent/heartbeat", link->enrolled.credential);
}

/* Reads the next record into link->verdict. A record that cannot be read is dropped. */
static bool next_record(struct link *link, uint64_t *serial)
{
    struct reach reach;
    while (spool_next(link->spool, *serial, serial)) {
        if (spool_read(link->spool, *serial, &link->record) != 0)
            continue;
        if (message_read_record(link->record.data, link->record.len, &link->verdict, &reach) == 0) {
            if (link->options.machine == NULL || strcmp(link->verdict.instance_id, link->instance_id) == 0)
                return true;
            spool_done(link->spool, *serial); /* of what the machine was before: nobody takes it any more */
            continue;
        }
        log_error("dropped an invalid spooled record");
        spool_done(link->spool, *serial);
    }
    return false;
}

/* As many waiting verdicts as fit into one report; all of one boot, because a report has one boot id. */
static void fill_report(struct link *link)
{
    char boot_id[BOOT_ID_MAX_BYTES], instance_id[ID_INSTANCE_MAX];
    uint64_t serial = 0;
    text_clear(&link->body);
    link->batch_len = 0;
    while (link->batch_len < link->batch_max && link->body.len < LINK_REPORT_BYTES_MAX && next_record(link, &serial)) {
        if (link->batch_len == 0) {
            memcpy(boot_id, link->verdict.boot_id, sizeof(boot_id));
            memcpy(instance_id, link->verdict.instance_id, sizeof(instance_id));
            message_open_report(&link->body, instance_id, boot_id, clock_wall_ms(link->clock));
        } else if (strcmp(boot_id, link->verdict.boot_id) != 0 || strcmp(instance_id, link->verdict.instance_id) != 0) {
            break;
        }
        message_add_verdict(&link->body, &link->verdict, link->batch_len == 0);
        link->batch[link->batch_len++] = serial;
    }
    message_close_report(&link->body);
}

static bool ask_report(struct link *link)
{
    fill_report(link);
    return link->batch_len > 0 && ask(link, LINK_REPORT, "/v1/agent/verdicts", link->enrolled.credential);
}

static bool may_report_machine(const struct link *link)
{
    return link->machine_changed && link->write_machine != NULL;
}

static bool ask_machine(struct link *link)
{
    text_clear(&link->body);
    link->write_machine(&link->body, link->arg);
    link->machine_changed = false;
    link->machine_at = now_ms(link) + LINK_MACHINE_MS;
    return ask(link, LINK_MACHINE, "/v1/agent/machine", link->enrolled.credential);
}

static void wait_for_token(struct link *link)
{
    if (!link->told_no_token)
        log_warn("not enrolled and no token to enrol with; what is seen is spooled waiting=%zu",
                 spool_count(link->spool));
    link->told_no_token = true;
    link->not_before = now_ms(link) + jittered(link->options.token_ms);
}

static bool ask_settings(struct link *link)
{
    link->settings_wanted = false;
    return ask(link, LINK_SETTINGS, "/v1/agent/settings", link->enrolled.credential);
}

static bool report_settings(struct link *link)
{
    text_clear(&link->body);
    link->write_settings(&link->body, link->arg);
    link->settings_changed = false;
    return ask(link, LINK_SETTINGS_SAID, "/v1/agent/settings", link->enrolled.credential);
}

static bool ask_what_it_is(struct link *link)
{
    char token[TOKEN_MAX_BYTES];
    bool has_own = link->machine_credential[0] != '\0';
    if (!has_own && !read_token(link, token)) {
        wait_for_token(link);
        return false;
    }
    text_clear(&link->body);
    link->write_spare(&link->body, link->arg);
    return ask(link, LINK_SPARE, "/v1/agent/spare", has_own ? link->machine_credential : token);
}

/* The server does not know this instance. Tries the old credential now and then (a restored server may not have it yet), enrols, or
 * waits for a token. */
static bool ask_for_standing(struct link *link)
{
    char token[TOKEN_MAX_BYTES];
    if (link->options.machine != NULL)
        return ask_what_it_is(link);
    if (link->standing == LINK_REJECTED && now_ms(link) >= link->heartbeat_at) {
        bool asked = ask_heartbeat(link);
        link->heartbeat_at = now_ms(link) + link->options.probe_ms;
        return asked;
    }
    if (read_token(link, token))
        return ask_to_enroll(link, token);
    wait_for_token(link);
    return false;
}

static bool ask_next(struct link *link)
{
    int64_t now = now_ms(link);
    if (now < link->not_before || link->becomes[0] != '\0')
        return false;
    if (link->standing != LINK_KNOWN)
        return ask_for_standing(link);
    bool beat = now >= link->heartbeat_at;
    bool report = spool_count(link->spool) > 0;
    if (report && !(beat && link->reported_last))
        return ask_report(link);
    if (beat)
        return ask_heartbeat(link);
    if (link->settings_wanted)
        return ask_settings(link);
    if (link->settings_changed)
        return report_settings(link);
    return may_report_machine(link) && now >= link->machine_at && ask_machine(link);
}

void link_turn(struct link *link)
{
    char why[WIRE_ERROR_MAX];
    while (link->ask != LINK_NOTHING || ask_next(link)) {
        bool done = false;
        int status = wire_step(link->wire, &done, why);
        if (status == 0 && !done)
            return;
        enum link_ask asked = link->ask;
        link->ask = LINK_NOTHING;
        if (status != 0)
            try_again(link, asked, why);
        else
            answered(link, asked);
    }
}

int64_t link_due_ms(const struct link *link)
{
    if (link->ask != LINK_NOTHING)
        return wire_deadline_ms(link->wire);
    if (link->standing != LINK_KNOWN)
        return link->not_before;
    bool now = spool_count(link->spool) > 0 || link->settings_wanted || link->settings_changed;
    int64_t due = now ? 0 : link->heartbeat_at;
    if (may_report_machine(link) && link->machine_at < due)
        due = link->machine_at;
    return due > link->not_before ? due : link->not_before;
}
