/*
 * Heartbeats. An ordinary one touches the fleet and nothing else. Four things are news and reach the store: another boot
 * (which has to be on disk before it counts, so the agent waits), another address (for which it waits, too, because what it
 * fetches next may name it), an agent that is back after silence, and a clock that went wrong or right (both only lines of
 * the timeline, so nobody waits).
 */
#include "server/service/agent/agent.h"
#include "server/service/private.h"

#include "base/address.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define CLOCK_SKEW_MAX_MS (5 * MS_PER_MIN) /* more is said aloud; TLS and Slurm's munge fail at about as much */

/* --- a new boot ------------------------------------------------------------------------------------ */

struct boot {
    int64_t node_id;
    const struct fleet_heartbeat *beat;
    int64_t now_ms;
    struct problem *problem;
    bool changed;
};

static int boot_write(struct db_tx *tx, void *arg)
{
    struct boot *boot = arg;
    struct place place;
    boot->changed = false;
    int status = place_find_row(tx, boot->node_id, &place);
    if (status < 0 && status != STATUS_NOT_FOUND)
        return status;
    bool same_instance =
        status == 0 && place.instance.id != 0 && strcmp(place.instance.instance_id, boot->beat->instance_id) == 0;
    bool boot_changed = same_instance && strcmp(place.instance.boot_id, boot->beat->boot_id) != 0;
    if (!same_instance || instance_spoke(&place.instance, boot_changed) < 0)
        return problem_say(boot->problem, STATUS_STALE, PROBLEM_STALE_REPORT,
                           "The instance %s does not fill this node's slot any more. Stop reporting, or enrol again.",
                           boot->beat->instance_id);
    if (!boot_changed)
        return 0; /* another request was faster */
    snprintf(place.instance.boot_id, sizeof(place.instance.boot_id), "%s", boot->beat->boot_id);
    place.instance.boot_at = boot->now_ms;
    boot->changed = true;
    status = db_instance_update(tx, &place.instance);
    if (status < 0)
        return status;
    return place_event(tx, &place, NULL, EVENT_LEVEL_INFO, EVENT_KIND_AGENT_BOOTED, "%s came up with boot %s",
                       place.node.name, place.instance.boot_id);
}

static int store_boot(struct service *s, int64_t node_id, const struct fleet_heartbeat *beat, int64_t now_ms,
                      struct problem *problem)
{
    if (!agent_word_is_fine(beat->boot_id, sizeof(beat->boot_id)))
        return problem_say(problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
                           "bootId must be 1 to %d letters, digits and hyphens.", BOOT_ID_MAX_BYTES - 1);
    struct boot boot = {.node_id = node_id, .beat = beat, .now_ms = now_ms, .problem = problem};
    int status = service_write(s, "agent-boot", boot_write, &boot, problem);
    if (status < 0)
        return status;
    fleet_set_boot(s->fleet, node_id, beat->instance_id, beat->boot_id);
    if (boot.changed) {
        service_agent_changed(s, node_id);
        service_events_added(s);
    }
    return 0;
}

/* --- a new address --------------------------------------------------------------------------------- */

struct address {
    int64_t node_id;
    const char *instance_id, *text;
};

static int address_write(struct db_tx *tx, void *arg)
{
    const struct address *address = arg;
    struct place place;
    int status = place_find_row(tx, address->node_id, &place);
    if (status < 0)
        return status;
    if (place.instance.id == 0 || strcmp(place.instance.instance_id, address->instance_id) != 0)
        return STATUS_STALE;
    if (strcmp(place.instance.address, address->text) == 0)
        return 0;
    return db_instance_set_address(tx, place.instance.id, address->text);
}

/* INVALID, or done. A store that takes nothing makes no node silent: the address comes again with the next heartbeat. */
static int store_address(struct service *s, int64_t node_id, const struct fleet_heartbeat *beat,
                         struct problem *problem)
{
    char text[ADDRESS_TEXT_MAX];
    if (address_parse(beat->address, text) < 0)
        return problem_say(problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
                           "address must be the IPv4 or IPv6 address of one machine.");
    struct address address = {.node_id = node_id, .instance_id = beat->instance_id, .text = text};
    if (service_write(s, "agent-address", address_write, &address, NULL) == 0)
        fleet_set_address(s->fleet, node_id, beat->instance_id, beat->address);
    return 0;
}

/* --- news that nobody waits for -------------------------------------------------------------------- */

struct news {
    struct service *s;
    int64_t node_id;
    enum event_level level;
    enum event_kind kind;
    char text[SENTENCE_MAX_BYTES];
};

static int news_write(struct db_tx *tx, void *arg)
{
    const struct news *news = arg;
    struct place place;
    int status = place_find_row(tx, news->node_id, &place);
    if (status < 0)
        return status;
    return place_event(tx, &place, NULL, news->level, news->kind, "%s %s", place.node.name, news->text);
}

static void news_done(int status, void *arg)
{
    struct news *news = arg;
    if (status == 0)
        service_events_added(news->s);
    free(news);
}

/* Lost when the store is full: the next change will be told. */
static void tell(struct service *s, int64_t node_id, enum event_level level, enum event_kind kind, const char *text)
{
    struct news *news = own_calloc(1, sizeof(*news));
    *news = (struct news){.s = s, .node_id = node_id, .level = level, .kind = kind};
    snprintf(news->text, sizeof(news->text), "%s", text);
    if (db_write_async(s->db, "agent-news", news_write, news_done, news) < 0)
        free(news);
}

static void tell_skew(struct service *s, int64_t node_id, bool skewed, int64_t skew_ms)
{
    char text[SENTENCE_MAX_BYTES], by[CLOCK_TEXT_MAX];
    snprintf(text, sizeof(text), "has a clock that is %s %s; its times are corrected",
             clock_format_duration(skew_ms < 0 ? -skew_ms : skew_ms, by), skew_ms < 0 ? "behind" : "ahead");
    tell(s, node_id, skewed ? EVENT_LEVEL_WARN : EVENT_LEVEL_INFO, EVENT_KIND_CLOCK_SKEW,
         skewed ? text : "has its clock right again");
}

/* --- the API -------------------------------------------------------------------------------------- */

static int refuse(enum fleet_beat result, const struct fleet_heartbeat *beat, struct problem *problem)
{
    if (result == FLEET_BEAT_REPLAYED)
        return problem_say(problem, STATUS_STALE, PROBLEM_REPLAYED,
                           "The sequence number %" PRId64 " is not above the last one of this boot. Send a higher one.",
                           beat->seq);
    if (result == FLEET_BEAT_UNKNOWN)
        return problem_say(problem, STATUS_UNAUTHENTICATED, PROBLEM_UNAUTHENTICATED,
                           "This node is not known here any more. Enrol again.");
    return problem_say(problem, STATUS_STALE, PROBLEM_STALE_REPORT,
                       "The instance %s with the boot %s was followed by another. Stop reporting, or enrol again.",
                       beat->instance_id, beat->boot_id);
}

/* What follows from a heartbeat; nothing here waits. */
static int follow(struct service *s, int64_t node_id, const struct fleet_heartbeat *beat, enum fleet_beat result,
                  int64_t now_ms, struct problem *ret_problem)
{
    if (result != FLEET_BEAT_OK && result != FLEET_BEAT_BACK)
        return refuse(result, beat, ret_problem);
    if (result == FLEET_BEAT_BACK) {
        tell(s, node_id, EVENT_LEVEL_INFO, EVENT_KIND_AGENT_BACK, "agent reconnected");
        service_agent_changed(s, node_id);
    }
    int64_t skew_ms = beat->sent_at - now_ms;
    bool skewed = skew_ms > CLOCK_SKEW_MAX_MS || skew_ms < -CLOCK_SKEW_MAX_MS;
    if (fleet_set_skewed(s->fleet, node_id, skewed))
        tell_skew(s, node_id, skewed, skew_ms);
    return 0;
}

static int check_time(const struct fleet_heartbeat *beat, struct problem *problem)
{
    if (beat->sent_at >= 0)
        return 0;
    return problem_say(problem, STATUS_INVALID, PROBLEM_INVALID_VALUE, "sentAtMs must be milliseconds since 1970.");
}

int service_agent_heartbeat_now(struct service *s, int64_t node_id, const struct fleet_heartbeat *beat, bool *ret_waits,
                                struct problem *ret_problem)
{
    *ret_waits = false;
    int status = check_time(beat, ret_problem);
    if (status < 0)
        return status;
    int64_t now_ms = service_now(s);
    enum fleet_beat result = fleet_heartbeat(s->fleet, node_id, beat, now_ms);
    *ret_waits = result == FLEET_BEAT_NEW_BOOT || result == FLEET_BEAT_NEW_ADDRESS;
    return *ret_waits ? 0 : follow(s, node_id, beat, result, now_ms, ret_problem);
}

int service_agent_heartbeat(struct service *s, int64_t node_id, const struct fleet_heartbeat *beat,
                            struct problem *ret_problem)
{
    struct fleet_heartbeat taken = *beat;
    int64_t now_ms = service_now(s);
    int status = check_time(beat, ret_problem);
    if (status < 0)
        return status;
    enum fleet_beat result = fleet_heartbeat(s->fleet, node_id, &taken, now_ms);
    if (result == FLEET_BEAT_NEW_BOOT) {
        status = store_boot(s, node_id, &taken, now_ms, ret_problem);
        if (status < 0)
            return status;
        result = fleet_heartbeat(s->fleet, node_id, &taken, now_ms);
    }
    if (result == FLEET_BEAT_NEW_ADDRESS) {
        status = store_address(s, node_id, &taken, ret_problem);
        if (status < 0)
            return status;
        taken.address[0] = '\0';
        result = fleet_heartbeat(s->fleet, node_id, &taken, now_ms);
    }
    return follow(s, node_id, &taken, result, now_ms, ret_problem);
}
