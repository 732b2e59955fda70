/* Reads answers of EC2 (API 2016-11-15) and says what its error codes mean. */
#include "server/provider/ec2/answer.h"

#include "base/own.h"
#include "base/status.h"
#include "base/text.h"
#include "base/xml.h"

#include <stdio.h>
#include <string.h>

static const char *const states[] = {"unknown", "pending",       "running",   "stopping",
                                     "stopped", "shutting-down", "terminated"};

const char *ec2_state_text(enum ec2_state state)
{
    return states[state];
}

bool ec2_is_gone(enum ec2_state state)
{
    return state == EC2_STATE_SHUTTING_DOWN || state == EC2_STATE_TERMINATED;
}

bool ec2_is_id(const char *text)
{
    if (!text_starts_with(text, "i-"))
        return false;
    size_t len = strlen(text + 2);
    return (len == 8 || len == 17) && strspn(text + 2, "0123456789abcdef") == len;
}

static enum ec2_state state_of(const char *text)
{
    for (size_t i = 1; i < ARRAY_LEN(states); i++)
        if (text_equal(text, states[i]))
            return (enum ec2_state)i;
    return EC2_STATE_UNKNOWN;
}

static int bad(char *ret_error, const char *why)
{
    snprintf(ret_error, PROVIDER_ERROR_MAX, "the answer of EC2 cannot be read: %.180s", why);
    return STATUS_BACKEND;
}

/* --- instances ------------------------------------------------------------------------------------------------- */

struct reading {
    const char *document;
    size_t document_len;
    struct ec2_instances *instances;
    size_t before; /* instances of earlier pages */
    bool is_document, has_set;
    const char *wrong;
    char tag[64], value[256];
};

/* The path below the document; NULL for another one's. */
static const char *below(const struct reading *r, const char *path)
{
    if (!r->is_document || strncmp(path, r->document, r->document_len) != 0)
        return NULL;
    return path[r->document_len] == '/' ? path + r->document_len + 1 : path + r->document_len;
}

/* The path below an instance; NULL where it is not one's. */
static const char *in_instance(const char *path)
{
    static const char *const sets[] = {"reservationSet/item/instancesSet/item", "instancesSet/item"};
    for (size_t i = 0; i < ARRAY_LEN(sets); i++) {
        size_t len = strlen(sets[i]);
        if (strncmp(path, sets[i], len) == 0 && (path[len] == '/' || path[len] == '\0'))
            return path[len] == '/' ? path + len + 1 : path + len;
    }
    return NULL;
}

static struct ec2_instance *newest(const struct reading *r)
{
    return r->instances->count > r->before ? &r->instances->list[r->instances->count - 1] : NULL;
}

static void on_open(const char *path, const char *const attributes[], void *arg)
{
    (void)attributes;
    struct reading *r = arg;
    if (strchr(path, '/') == NULL)
        r->is_document = text_equal(path, r->document);
    const char *rest = below(r, path);
    if (rest == NULL)
        return;
    r->has_set |= text_equal(rest, "reservationSet") || text_equal(rest, "instancesSet");
    const char *at = in_instance(rest);
    if (at == NULL || at[0] != '\0')
        return;
    if (r->instances->count == EC2_LISTED_MAX) {
        r->wrong = "it has more than 20000 instances";
        return;
    }
    r->instances->list = own_realloc(r->instances->list, r->instances->count + 1, sizeof(*r->instances->list));
    r->instances->list[r->instances->count++] = (struct ec2_instance){.state = EC2_STATE_UNKNOWN};
}

static void take_plain(struct reading *r, char *into, size_t size, const char *text)
{
    for (const char *c = text; *c != '\0'; c++)
        if (*c <= ' ' || *c > '~')
            r->wrong = "a value has characters that it may not have";
    if (text_copy(into, size, text) != 0)
        r->wrong = "a value is too long";
}

static void take_tag(const struct reading *r, struct ec2_instance *instance)
{
    const struct {
        const char *name;
        char *into;
        size_t size;
    } tags[] = {{EC2_TAG_PROVIDER, instance->provider, sizeof(instance->provider)},
                {EC2_TAG_INSTANCE, instance->instance_id, sizeof(instance->instance_id)},
                {EC2_TAG_LAUNCH, instance->launch, sizeof(instance->launch)}};
    for (size_t i = 0; i < ARRAY_LEN(tags); i++)
        if (text_equal(r->tag, tags[i].name) && text_is_clean(r->value))
            (void)text_copy(tags[i].into, tags[i].size, r->value); /* what does not fit is none of ours */
}

static void take_member(struct reading *r, struct ec2_instance *instance, const char *at, const char *text)
{
    if (text_equal(at, "instanceId"))
        take_plain(r, instance->id, sizeof(instance->id), text);
    else if (text_equal(at, "instanceState/name"))
        instance->state = state_of(text);
    else if (text_equal(at, "privateIpAddress"))
        take_plain(r, instance->address, sizeof(instance->address), text);
    else if (text_equal(at, "launchTime"))
        take_plain(r, instance->launched_at, sizeof(instance->launched_at), text);
    else if (text_equal(at, "tagSet/item/key"))
        text_copy_cut(r->tag, sizeof(r->tag), text);
    else if (text_equal(at, "tagSet/item/value"))
        text_copy_cut(r->value, sizeof(r->value), text);
    else if (text_equal(at, "tagSet/item")) {
        take_tag(r, instance);
        r->tag[0] = r->value[0] = '\0';
    } else if (at[0] == '\0' && !ec2_is_id(instance->id)) {
        r->wrong = "an instance has no id of EC2";
    }
}

static void on_close(const char *path, const char *text, void *arg)
{
    struct reading *r = arg;
    const char *rest = below(r, path);
    if (rest == NULL)
        return;
    if (text_equal(rest, "nextToken"))
        take_plain(r, r->instances->next, sizeof(r->instances->next), text);
    const char *at = in_instance(rest);
    struct ec2_instance *instance = newest(r);
    if (at != NULL && instance != NULL && r->wrong == NULL)
        take_member(r, instance, at, text);
}

int ec2_read_instances(const char *document, const char *data, size_t len, struct ec2_instances *instances,
                       char *ret_error)
{
    static const struct xml_reader reader = {.open = on_open, .close = on_close};
    struct reading r = {
        .document = document, .document_len = strlen(document), .instances = instances, .before = instances->count};
    char error[XML_ERROR_MAX];
    instances->next[0] = '\0';
    if (xml_read(data, len, EC2_BYTES_MAX, &reader, &r, error) != 0)
        return bad(ret_error, error);
    if (r.wrong != NULL)
        return bad(ret_error, r.wrong);
    return r.is_document && r.has_set ? 0 : bad(ret_error, "it is another document than was asked for");
}

void ec2_instances_free(struct ec2_instances *instances)
{
    free(TAKE(instances->list));
    instances->count = 0;
}

/* --- what answers nothing else --------------------------------------------------------------------------------- */

static void on_root(const char *path, const char *const attributes[], void *arg)
{
    (void)attributes;
    struct reading *r = arg;
    if (strchr(path, '/') == NULL)
        r->is_document = text_equal(path, r->document);
}

static void on_nothing(const char *path, const char *text, void *arg)
{
    (void)path, (void)text, (void)arg;
}

int ec2_read_done(const char *document, const char *data, size_t len, char *ret_error)
{
    static const struct xml_reader reader = {.open = on_root, .close = on_nothing};
    struct reading r = {.document = document};
    char error[XML_ERROR_MAX];
    if (xml_read(data, len, EC2_BYTES_MAX, &reader, &r, error) != 0)
        return bad(ret_error, error);
    return r.is_document ? 0 : bad(ret_error, "it is another document than was asked for");
}

/* --- status ---------------------------------------------------------------------------------------------------- */

#define STATUS_SET "DescribeInstanceStatusResponse/instanceStatusSet"
#define STATUS_ITEM STATUS_SET "/item"

struct status_reading {
    bool has_set;
    char event[64], description[128], not_before[EC2_TIME_MAX];
    char *trouble;
};

static void on_status_open(const char *path, const char *const attributes[], void *arg)
{
    (void)attributes;
    struct status_reading *r = arg;
    r->has_set |= text_equal(path, STATUS_SET);
}

/* The first event that is not over counts more than an impaired status, as it has a date. */
static void on_status_close(const char *path, const char *text, void *arg)
{
    struct status_reading *r = arg;
    bool system = text_equal(path, STATUS_ITEM "/systemStatus/status");
    if (text_equal(path, STATUS_ITEM "/eventsSet/item/code"))
        text_copy_clean(r->event, sizeof(r->event), text, strlen(text));
    else if (text_equal(path, STATUS_ITEM "/eventsSet/item/description"))
        text_copy_clean(r->description, sizeof(r->description), text, strlen(text));
    else if (text_equal(path, STATUS_ITEM "/eventsSet/item/notBefore"))
        text_copy_clean(r->not_before, sizeof(r->not_before), text, strlen(text));
    else if (text_equal(path, STATUS_ITEM "/eventsSet/item")) {
        bool over = text_starts_with(r->description, "[Completed]") || text_starts_with(r->description, "[Canceled]");
        if (!over && r->event[0] != '\0' && r->trouble[0] == '\0')
            snprintf(r->trouble, PROVIDER_ERROR_MAX, "EC2 has scheduled %s at %s", r->event,
                     r->not_before[0] != '\0' ? r->not_before : "a time that it does not say");
        r->event[0] = r->description[0] = r->not_before[0] = '\0';
    } else if ((system || text_equal(path, STATUS_ITEM "/instanceStatus/status")) && text_equal(text, "impaired") &&
               r->trouble[0] == '\0') {
        snprintf(r->trouble, PROVIDER_ERROR_MAX, "EC2 says: %s status impaired", system ? "system" : "instance");
    }
}

int ec2_read_trouble(const char *data, size_t len, char ret_trouble[PROVIDER_ERROR_MAX], char *ret_error)
{
    static const struct xml_reader reader = {.open = on_status_open, .close = on_status_close};
    char error[XML_ERROR_MAX], trouble[PROVIDER_ERROR_MAX] = "";
    struct status_reading r = {.trouble = trouble};
    if (xml_read(data, len, EC2_BYTES_MAX, &reader, &r, error) != 0)
        return bad(ret_error, error);
    if (!r.has_set)
        return bad(ret_error, "it is another document than was asked for");
    text_copy_cut(ret_trouble, PROVIDER_ERROR_MAX, trouble);
    return 0;
}

/* --- errors ---------------------------------------------------------------------------------------------------- */

static void on_error_close(const char *path, const char *text, void *arg)
{
    struct ec2_error *error = arg;
    if (text_equal(path, "Response/Errors/Error/Code") && error->code[0] == '\0')
        text_copy_clean(error->code, sizeof(error->code), text, strlen(text));
    else if (text_equal(path, "Response/Errors/Error/Message") && error->message[0] == '\0')
        text_copy_clean(error->message, sizeof(error->message), text, strlen(text));
}

int ec2_read_error(const char *data, size_t len, struct ec2_error *ret_error)
{
    static const struct xml_reader reader = {.close = on_error_close};
    struct ec2_error error = {.code = ""};
    char why[XML_ERROR_MAX];
    if (xml_read(data, len, EC2_BYTES_MAX, &reader, &error, why) != 0 || error.code[0] == '\0')
        return STATUS_BACKEND;
    *ret_error = error;
    return 0;
}

/* Whole codes, or the beginnings of codes (they end with a star). The source of each: "Error codes for the Amazon EC2 API". */
static const struct {
    const char *code;
    struct ec2_refusal refusal;
} refusals[] = {
#define NO_CAPACITY                            \
    {                                          \
        .status = STATUS_FULL, .certain = true \
    }
#define THROTTLED                                                        \
    {                                                                    \
        .status = STATUS_UNAVAILABLE, .certain = true, .throttled = true \
    }
#define AUTH                                                   \
    {                                                          \
        .status = STATUS_DENIED, .certain = true, .auth = true \
    }
#define LATER                                         \
    {                                                 \
        .status = STATUS_UNAVAILABLE, .certain = true \
    }
    {"InsufficientInstanceCapacity", NO_CAPACITY},
    {"InsufficientHostCapacity", NO_CAPACITY},
    {"InsufficientCapacity*", NO_CAPACITY},
    {"InsufficientReservedInstanceCapacity", NO_CAPACITY},
    {"InsufficientFreeAddressesInSubnet", NO_CAPACITY},
    {"ReservationCapacityExceeded", NO_CAPACITY},
    {"InstanceLimitExceeded", NO_CAPACITY},
    {"VcpuLimitExceeded", NO_CAPACITY},
    {"MaxSpotInstanceCountExceeded", NO_CAPACITY},
    {"SpotMaxPriceTooLow", NO_CAPACITY},
    /* This type is not to be had in this zone, as EC2 says: another subnet may have it, and EC2 may later. */
    {"Unsupported", NO_CAPACITY},
    {"RequestLimitExceeded", THROTTLED},
    {"Throttling*", THROTTLED},
    {"SlowDown", THROTTLED},
    {"AuthFailure", AUTH},
    {"UnauthorizedOperation", AUTH},
    {"InvalidClientTokenId", AUTH},
    {"SignatureDoesNotMatch", AUTH},
    {"MissingAuthenticationToken", AUTH},
    {"IncompleteSignature", AUTH},
    {"OptInRequired", AUTH},
    {"Blocked", AUTH},
    {"PendingVerification", AUTH},
    /* The keys of a role end and are replaced; the clock may be corrected. */
    {"ExpiredToken*", LATER},
    {"RequestExpired", LATER},
    {"IncorrectInstanceState", LATER},
    {"IncorrectState", LATER},
    {"IdempotentParameterMismatch", {.status = STATUS_UNAVAILABLE, .mismatch = true}},
    {"IdempotentInstanceTerminated", {.status = STATUS_UNAVAILABLE, .mismatch = true}},
    {"InvalidInstanceID.NotFound", {.status = STATUS_NOT_FOUND, .certain = true}},
    {"InvalidInstanceID.Malformed", {.status = STATUS_NOT_FOUND, .certain = true}},
    /* What was asked for can never be done: the configuration, or the group, has to change. */
    {"Invalid*", {.status = STATUS_INVALID, .certain = true}},
    {"Missing*", {.status = STATUS_INVALID, .certain = true}},
    {"Unsupported*", {.status = STATUS_INVALID, .certain = true}},
    {"UnknownParameter", {.status = STATUS_INVALID, .certain = true}},
    {"OperationNotPermitted", {.status = STATUS_DENIED, .certain = true}},
#undef NO_CAPACITY
#undef THROTTLED
#undef AUTH
#undef LATER
};

/* A code that nobody knows is certain where EC2 blames the request. */
struct ec2_refusal ec2_refusal_of(int http_status, const char *code)
{
    for (size_t i = 0; i < ARRAY_LEN(refusals); i++) {
        size_t len = strlen(refusals[i].code);
        bool begins = refusals[i].code[len - 1] == '*';
        if (begins ? strncmp(code, refusals[i].code, len - 1) == 0 : text_equal(code, refusals[i].code))
            return refusals[i].refusal;
    }
    if (http_status >= 400 && http_status < 500 && code[0] != '\0')
        return (struct ec2_refusal){.status = STATUS_BACKEND, .certain = true};
    return (struct ec2_refusal){.status = http_status >= 500 ? STATUS_UNAVAILABLE : STATUS_BACKEND};
}
