/*
 * What EC2 says of instances in DescribeInstanceStatus: events that it has scheduled, with their dates, and hosts whose own status is impaired. An
 * instance whose status is impaired while its host's is not is left to its agent, which is nearer. Of spot instances DescribeSpotInstanceRequests
 * says which EC2 takes back, two minutes before. Pure.
 */
#include "server/provider/ec2/answer.h"

#include "base/clock.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"
#include "base/xml.h"

#include <stdio.h>
#include <string.h>

#define DOCUMENT "DescribeInstanceStatusResponse"
#define SET DOCUMENT "/instanceStatusSet"
#define ITEM SET "/item"
#define EVENT ITEM "/eventsSet/item"
#define SYSTEM ITEM "/systemStatus"
#define EVENTS_MAX 16 /* of one instance */
#define SPOT_DOCUMENT "DescribeSpotInstanceRequestsResponse"
#define SPOT_SET SPOT_DOCUMENT "/spotInstanceRequestSet"
#define SPOT_ITEM SPOT_SET "/item"
#define SPOT_WARNING_MS INT64_C(120000) /* "Spot Instance interruption notices": so long before */

/* The source: "Scheduled events for Amazon EC2 instances". */
static const struct {
    const char *code;
    enum provider_notice_kind kind;
} kinds[] = {{"instance-retirement", PROVIDER_NOTICE_RETIREMENT},
             {"instance-stop", PROVIDER_NOTICE_RETIREMENT},
             {"system-maintenance", PROVIDER_NOTICE_MAINTENANCE},
             {"system-reboot", PROVIDER_NOTICE_MAINTENANCE},
             {"instance-reboot", PROVIDER_NOTICE_REBOOT}};

struct scheduled {
    char id[NOTICE_ID_MAX_BYTES], code[48], description[128], not_before[EC2_TIME_MAX];
};

struct reading {
    struct ec2_notices *notices;
    int64_t now_ms;
    bool has_set;
    const char *wrong;
    char instance[EC2_ID_MAX];
    struct scheduled events[EVENTS_MAX], event;
    size_t event_count;
    bool impaired;
    char since[EC2_TIME_MAX];
    char request[NOTICE_ID_MAX_BYTES]; /* of a spot instance */
};

static void on_open(const char *path, const char *const attributes[], void *arg)
{
    (void)attributes;
    struct reading *r = arg;
    r->has_set |= text_equal(path, SET);
}

static struct provider_notice *add(struct reading *r)
{
    if (r->notices->count == EC2_LISTED_MAX) {
        r->wrong = "it has more than 20000 events";
        return NULL;
    }
    r->notices->list = own_realloc(r->notices->list, r->notices->count + 1, sizeof(*r->notices->list));
    struct provider_notice *notice = &r->notices->list[r->notices->count++];
    *notice = (struct provider_notice){.id = ""};
    text_copy_cut(notice->ref, sizeof(notice->ref), r->instance);
    return notice;
}

static bool is_over(const struct scheduled *event)
{
    return text_starts_with(event->description, "[Completed]") || text_starts_with(event->description, "[Canceled]");
}

/* An unknown code is shown by describe, and nothing is done for it. */
static void add_event(struct reading *r, const struct scheduled *event)
{
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        if (!text_equal(event->code, kinds[i].code))
            continue;
        struct provider_notice *notice = add(r);
        if (notice == NULL)
            return;
        notice->kind = kinds[i].kind;
        text_copy_cut(notice->id, sizeof(notice->id), event->id[0] != '\0' ? event->id : event->code);
        if (event->not_before[0] != '\0' && clock_parse(event->not_before, &notice->due_at) != 0)
            r->wrong = "the date of an event is none";
        snprintf(notice->words, sizeof(notice->words), "EC2 has scheduled %s%s%s", event->code,
                 event->description[0] != '\0' ? ": " : "", event->description);
    }
}

static void end_instance(struct reading *r)
{
    int64_t since = 0;
    bool events = r->event_count > 0;
    if ((events || r->impaired) && !ec2_is_id(r->instance)) {
        r->wrong = "an instance has no id of EC2";
        return;
    }
    for (size_t i = 0; i < r->event_count; i++)
        add_event(r, &r->events[i]);
    if (r->impaired && r->since[0] != '\0' && clock_parse(r->since, &since) != 0)
        since = 0;
    struct provider_notice *notice = r->impaired && r->now_ms - since >= EC2_IMPAIRED_MS ? add(r) : NULL;
    if (notice == NULL)
        return;
    notice->kind = PROVIDER_NOTICE_DEGRADED;
    text_copy_cut(notice->id, sizeof(notice->id), "system-status");
    snprintf(notice->words, sizeof(notice->words), "EC2 says: system status impaired%s%s", since > 0 ? " since " : "",
             since > 0 ? r->since : "");
}

static void on_close(const char *path, const char *text, void *arg)
{
    struct reading *r = arg;
    const struct {
        const char *path;
        char *into;
        size_t size;
    } members[] = {{DOCUMENT "/nextToken", r->notices->next, sizeof(r->notices->next)},
                   {ITEM "/instanceId", r->instance, sizeof(r->instance)},
                   {SYSTEM "/details/item/impairedSince", r->since, sizeof(r->since)},
                   {EVENT "/instanceEventId", r->event.id, sizeof(r->event.id)},
                   {EVENT "/code", r->event.code, sizeof(r->event.code)},
                   {EVENT "/description", r->event.description, sizeof(r->event.description)},
                   {EVENT "/notBefore", r->event.not_before, sizeof(r->event.not_before)}};
    for (size_t i = 0; i < ARRAY_LEN(members); i++)
        if (text_equal(path, members[i].path))
            text_copy_clean(members[i].into, members[i].size, text, strlen(text));
    if (text_equal(path, SYSTEM "/status"))
        r->impaired = text_equal(text, "impaired");
    if (text_equal(path, EVENT)) {
        if (!is_over(&r->event) && r->event_count == EVENTS_MAX)
            r->wrong = "an instance has more than 16 events";
        else if (!is_over(&r->event))
            r->events[r->event_count++] = r->event;
        r->event = (struct scheduled){.id = ""};
    }
    if (text_equal(path, ITEM)) {
        end_instance(r);
        r->instance[0] = r->since[0] = '\0';
        r->event_count = 0;
        r->impaired = false;
    }
}

static int finish(int status, const struct reading *r, const char *error, char *ret_error)
{
    const char *why = status != 0 ? error : r->wrong != NULL ? r->wrong : r->has_set ? NULL : "it is another document";
    if (why == NULL)
        return 0;
    snprintf(ret_error, PROVIDER_ERROR_MAX, "the answer of EC2 cannot be read: %.180s", why);
    return STATUS_BACKEND;
}

int ec2_read_notices(const char *data, size_t len, int64_t now_ms, struct ec2_notices *notices, char *ret_error)
{
    static const struct xml_reader reader = {.open = on_open, .close = on_close};
    struct reading r = {.notices = notices, .now_ms = now_ms};
    char error[XML_ERROR_MAX] = "";
    notices->next[0] = '\0';
    int status = xml_read(data, len, EC2_BYTES_MAX, &reader, &r, error);
    return finish(status, &r, error, ret_error);
}

/* --- spot instances --------------------------------------------------------------------------------------------- */

static void on_spot_open(const char *path, const char *const attributes[], void *arg)
{
    (void)attributes;
    struct reading *r = arg;
    r->has_set |= text_equal(path, SPOT_SET);
}

/* Whatever a filter did: of other requests nothing is announced. */
static void end_request(struct reading *r)
{
    int64_t at = 0;
    if (!text_equal(r->event.code, "marked-for-termination") && !text_equal(r->event.code, "marked-for-stop"))
        return;
    if (!ec2_is_id(r->instance) || r->request[0] == '\0' || clock_parse(r->event.not_before, &at) != 0) {
        r->wrong = "a spot request that is marked has no id, no instance or no date";
        return;
    }
    struct provider_notice *notice = add(r);
    if (notice == NULL)
        return;
    notice->kind = PROVIDER_NOTICE_RETIREMENT;
    notice->due_at = at + SPOT_WARNING_MS;
    text_copy_cut(notice->id, sizeof(notice->id), r->request);
    snprintf(notice->words, sizeof(notice->words), "EC2 takes the spot instance back: %s", r->event.code);
}

static void on_spot_close(const char *path, const char *text, void *arg)
{
    struct reading *r = arg;
    const struct {
        const char *path;
        char *into;
        size_t size;
    } members[] = {{SPOT_DOCUMENT "/nextToken", r->notices->next, sizeof(r->notices->next)},
                   {SPOT_ITEM "/spotInstanceRequestId", r->request, sizeof(r->request)},
                   {SPOT_ITEM "/instanceId", r->instance, sizeof(r->instance)},
                   {SPOT_ITEM "/status/code", r->event.code, sizeof(r->event.code)},
                   {SPOT_ITEM "/status/updateTime", r->event.not_before, sizeof(r->event.not_before)}};
    for (size_t i = 0; i < ARRAY_LEN(members); i++)
        if (text_equal(path, members[i].path))
            text_copy_clean(members[i].into, members[i].size, text, strlen(text));
    if (!text_equal(path, SPOT_ITEM))
        return;
    end_request(r);
    r->instance[0] = r->request[0] = '\0';
    r->event = (struct scheduled){.id = ""};
}

int ec2_read_interruptions(const char *data, size_t len, struct ec2_notices *notices, char *ret_error)
{
    static const struct xml_reader reader = {.open = on_spot_open, .close = on_spot_close};
    struct reading r = {.notices = notices};
    char error[XML_ERROR_MAX] = "";
    notices->next[0] = '\0';
    int status = xml_read(data, len, EC2_BYTES_MAX, &reader, &r, error);
    return finish(status, &r, error, ret_error);
}

void ec2_notices_free(struct ec2_notices *notices)
{
    free(TAKE(notices->list));
    notices->count = 0;
}
