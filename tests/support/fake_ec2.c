/* The calls that the provider makes, and no other. */
#include "tests/support/fake_ec2.h"

#include "base/id.h"
#include "base/own.h"
#include "tests/support/fake_server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SPACE "xmlns=\"http://ec2.amazonaws.com/doc/2016-11-15/\""

/* --- what was asked -------------------------------------------------------------------------------------------- */

/* The value of a parameter, decoded; "" when there is none. */
static void parameter(const char *body, const char *name, char *ret_value, size_t size)
{
    autofree char *wanted = own_printf("&%s=", name);
    const char *at = strstr(body, wanted);
    size_t len = 0;
    ret_value[0] = '\0';
    if (at == NULL)
        return;
    for (at += strlen(wanted); *at != '\0' && *at != '&' && len + 1 < size; at++) {
        char c = *at;
        if (c == '%' && text_hex_digit(at[1]) >= 0 && text_hex_digit(at[2]) >= 0) {
            c = (char)(text_hex_digit(at[1]) << 4 | text_hex_digit(at[2]));
            at += 2;
        }
        ret_value[len++] = c;
    }
    ret_value[len] = '\0';
}

static void tag(const char *body, const char *name, char *ret_value, size_t size)
{
    ret_value[0] = '\0';
    for (int i = 1; i < 50; i++) {
        char key[64], found[128];
        snprintf(key, sizeof(key), "TagSpecification.1.Tag.%d.Key", i);
        parameter(body, key, found, sizeof(found));
        if (!text_equal(found, name))
            continue;
        snprintf(key, sizeof(key), "TagSpecification.1.Tag.%d.Value", i);
        parameter(body, key, ret_value, size);
        return;
    }
}

/* The value of a filter of one value. */
static bool filter(const char *body, const char *name, char *ret_value, size_t size)
{
    for (int i = 1; i < 10; i++) {
        char key[64], found[128];
        snprintf(key, sizeof(key), "Filter.%d.Name", i);
        parameter(body, key, found, sizeof(found));
        if (!text_equal(found, name))
            continue;
        snprintf(key, sizeof(key), "Filter.%d.Value.1", i);
        parameter(body, key, ret_value, size);
        return true;
    }
    return false;
}

/* --- answers --------------------------------------------------------------------------------------------------- */

static void answer(struct fake_ec2 *ec2, int status, const char *body)
{
    text_clear(&ec2->answer);
    text_printf(&ec2->answer,
                "HTTP/1.1 %d Whatever\r\nContent-Type: text/xml\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n%s",
                status, strlen(body), body);
}

static void refuse(struct fake_ec2 *ec2, int status, const char *code, const char *message)
{
    autofree char *body = own_printf("<?xml version=\"1.0\"?><Response><Errors><Error><Code>%s</Code><Message>%s"
                                     "</Message></Error></Errors><RequestID>r-1</RequestID></Response>",
                                     code, message);
    answer(ec2, status, body);
}

static void add_instance(struct text *text, const struct fake_ec2 *ec2, const struct fake_ec2_instance *i)
{
    text_printf(text,
                "<item><instanceId>%s</instanceId><instanceState><code>16</code><name>%s</name></instanceState>"
                "<privateIpAddress>10.0.0.%d</privateIpAddress><launchTime>2026-11-20T15:00:%02d.000Z</launchTime>"
                "<clientToken>%s</clientToken><tagSet>",
                i->id, i->state, 7, i->boots, i->token);
    text_printf(text, "<item><key>holdfast-provider</key><value>%s</value></item>", i->provider);
    text_printf(text, "<item><key>holdfast-instance</key><value>%s</value></item>", i->instance_id);
    text_printf(text, "<item><key>holdfast-launch</key><value>%s</value></item></tagSet>", i->launch);
    text_printf(text, "<networkInterfaceSet>%*s</networkInterfaceSet></item>", ec2->padding, "");
}

static bool is_live(const struct fake_ec2_instance *i)
{
    return !text_equal(i->state, "terminated") && !text_equal(i->state, "shutting-down");
}

static bool matches(const struct fake_ec2_instance *i, const char *body)
{
    char value[128];
    return (!filter(body, "tag:holdfast-provider", value, sizeof(value)) || text_equal(value, i->provider)) &&
           (!filter(body, "tag:holdfast-instance", value, sizeof(value)) || text_equal(value, i->instance_id)) &&
           (!filter(body, "tag:holdfast-launch", value, sizeof(value)) || text_equal(value, i->launch)) &&
           (!filter(body, "client-token", value, sizeof(value)) || text_equal(value, i->token)) &&
           (!filter(body, "instance-state-name", value, sizeof(value)) || is_live(i));
}

/* Pages of what was asked for, or of less. */
static void describe(struct fake_ec2 *ec2, const char *body)
{
    AUTO(text) struct text text = {0};
    char id[32], next[16], most[16];
    int shown = 0;
    int64_t at = 0, page = FAKE_EC2_INSTANCES_MAX;
    parameter(body, "InstanceId.1", id, sizeof(id));
    parameter(body, "NextToken", next, sizeof(next));
    parameter(body, "MaxResults", most, sizeof(most));
    text_add(&text, "<DescribeInstancesResponse " SPACE "><requestId>r-1</requestId><reservationSet>");
    (void)text_parse_i64(next, 0, FAKE_EC2_INSTANCES_MAX, &at);
    (void)text_parse_i64(most, 5, 1000, &page);
    page = most[0] != '\0' && ec2->page_max > 0 && page > ec2->page_max ? ec2->page_max : page;
    for (; at < ec2->count && shown < page; at++) {
        struct fake_ec2_instance *i = &ec2->instances[at];
        if ((id[0] != '\0' && !text_equal(id, i->id)) || !matches(i, body) || i->hidden-- > 0)
            continue;
        text_add(&text, "<item><reservationId>r-1</reservationId><instancesSet>");
        add_instance(&text, ec2, i);
        text_add(&text, "</instancesSet></item>");
        shown++;
    }
    text_add(&text, "</reservationSet>");
    if (at < ec2->count)
        text_printf(&text, "<nextToken>%d</nextToken>", (int)at);
    text_add(&text, "</DescribeInstancesResponse>");
    if (id[0] != '\0' && shown == 0)
        refuse(ec2, 400, "InvalidInstanceID.NotFound", "The instance ID does not exist");
    else
        answer(ec2, 200, text.data);
}

static void run(struct fake_ec2 *ec2, const char *body)
{
    AUTO(text) struct text text = {0};
    struct fake_ec2_instance made = {.state = "running", .boots = 1, .hidden = ec2->hide}, *found = NULL;
    parameter(body, "ClientToken", made.token, sizeof(made.token));
    parameter(body, "SubnetId", made.subnet, sizeof(made.subnet));
    parameter(body, "InstanceType", made.type, sizeof(made.type));
    tag(body, "holdfast-provider", made.provider, sizeof(made.provider));
    tag(body, "holdfast-instance", made.instance_id, sizeof(made.instance_id));
    tag(body, "holdfast-launch", made.launch, sizeof(made.launch));
    id_sha256_hex(body, strlen(body), made.parameters);
    for (int i = 0; i < ec2->count; i++)
        if (made.token[0] != '\0' && text_equal(ec2->instances[i].token, made.token))
            found = &ec2->instances[i];
    if (found != NULL && !text_equal(found->parameters, made.parameters)) {
        refuse(ec2, 400, "IdempotentParameterMismatch", "The client token has been used before");
        return;
    }
    if (found == NULL && (text_has_word(ec2->full, made.subnet) || ec2->count == FAKE_EC2_INSTANCES_MAX)) {
        refuse(ec2, 500, "InsufficientInstanceCapacity", "We currently do not have sufficient capacity");
        return;
    }
    if (found == NULL) {
        snprintf(made.id, sizeof(made.id), "i-%017x", ec2->count + 1);
        ec2->instances[ec2->count] = made;
        found = &ec2->instances[ec2->count++];
    }
    text_add(&text, "<RunInstancesResponse " SPACE "><reservationId>r-1</reservationId><instancesSet>");
    add_instance(&text, ec2, found);
    text_add(&text, "</instancesSet></RunInstancesResponse>");
    answer(ec2, 200, text.data);
}

static void change(struct fake_ec2 *ec2, const char *action, const char *body)
{
    char id[32];
    struct fake_ec2_instance *i = NULL;
    parameter(body, "InstanceId.1", id, sizeof(id));
    for (int k = 0; k < ec2->count; k++)
        if (text_equal(ec2->instances[k].id, id))
            i = &ec2->instances[k];
    if (i == NULL) {
        refuse(ec2, 400, "InvalidInstanceID.NotFound", "The instance ID does not exist");
        return;
    }
    if (text_equal(action, "RebootInstances")) {
        i->reboots++;
        i->boots++;
    } else if (text_equal(action, "StopInstances")) {
        i->stops += text_equal(i->state, "running");
        text_copy_cut(i->state, sizeof(i->state), "stopped");
    } else if (text_equal(action, "StartInstances")) {
        i->starts += text_equal(i->state, "stopped");
        i->boots += text_equal(i->state, "stopped");
        text_copy_cut(i->state, sizeof(i->state), "running");
    } else {
        i->ends += is_live(i);
        text_copy_cut(i->state, sizeof(i->state), "terminated");
    }
    autofree char *text = own_printf("<%sResponse " SPACE "><return>true</return></%sResponse>", action, action);
    answer(ec2, 200, text);
}

static void act(struct fake_ec2 *ec2, const char *action, const char *body)
{
    if (ec2->raw != NULL)
        answer(ec2, ec2->raw_status, ec2->raw);
    else if (ec2->fail_times > 0 && text_equal(ec2->fail_action, action)) {
        ec2->fail_times--;
        refuse(ec2, ec2->fail_status, ec2->fail_code, "as the test wants");
    } else if (text_equal(action, "DescribeInstances"))
        describe(ec2, body);
    else if (text_equal(action, "RunInstances"))
        run(ec2, body);
    else if (text_equal(action, "DescribeInstanceStatus")) {
        autofree char *text =
            own_printf("<DescribeInstanceStatusResponse " SPACE "><instanceStatusSet>%s</instanceStatusSet>"
                       "</DescribeInstanceStatusResponse>",
                       text_or_empty(ec2->status_item));
        answer(ec2, 200, text);
    } else if (text_equal(action, "DescribeSpotInstanceRequests")) {
        autofree char *text = own_printf("<DescribeSpotInstanceRequestsResponse " SPACE "><spotInstanceRequestSet>%s"
                                         "</spotInstanceRequestSet></DescribeSpotInstanceRequestsResponse>",
                                         text_or_empty(ec2->spot_item));
        answer(ec2, 200, text);
    } else
        change(ec2, action, body);
}

static void handle(const char *request, size_t len, struct fake_answer *ret_answer, void *arg)
{
    (void)len;
    struct fake_ec2 *ec2 = arg;
    char action[48];
    const char *body = strstr(request, "\r\n\r\n");
    autofree char *whole = own_printf("&%s", body == NULL ? "" : body + 4);
    pthread_mutex_lock(&ec2->lock);
    ec2->calls++;
    text_printf(&ec2->seen, "%.*s\n", (int)(body == NULL ? 0 : body - request), request);
    text_printf(&ec2->seen, "%s\n", whole);
    parameter(whole, "Action", action, sizeof(action));
    act(ec2, action, whole);
    bool lost = ec2->lose_times > 0 && text_equal(ec2->lose_action, action);
    if (lost)
        ec2->lose_times--;
    else
        ret_answer->pieces[ret_answer->count++] = ec2->answer.data;
    ret_answer->close = true;
    pthread_mutex_unlock(&ec2->lock);
}

void fake_ec2_start(struct fake_ec2 *ec2)
{
    pthread_mutex_init(&ec2->lock, NULL);
    ec2->server = fake_server_start(NULL, 0, NULL, NULL, handle, ec2);
}

void fake_ec2_stop(struct fake_ec2 *ec2)
{
    fake_server_stop(ec2->server);
    text_free(&ec2->seen);
    text_free(&ec2->answer);
    pthread_mutex_destroy(&ec2->lock);
}

const char *fake_ec2_url(const struct fake_ec2 *ec2)
{
    return fake_server_url(ec2->server);
}

int fake_ec2_heard(struct fake_ec2 *ec2, const char *word)
{
    int count = 0;
    pthread_mutex_lock(&ec2->lock);
    for (const char *at = text_get(&ec2->seen); (at = strstr(at, word)) != NULL; at += strlen(word))
        count++;
    pthread_mutex_unlock(&ec2->lock);
    return count;
}

void fake_ec2_forget(struct fake_ec2 *ec2)
{
    pthread_mutex_lock(&ec2->lock);
    text_clear(&ec2->seen);
    pthread_mutex_unlock(&ec2->lock);
}
