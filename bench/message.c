/* Requests, piece by piece. The body is written first, behind the room its header will take, since only then its length is known. */
#include "bench/message.h"

#include "base/clock.h"
#include "tests/support/sign.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BODY_AT 512 /* the longest header is some 250 bytes */

struct pen {
    char *at, *end;
};

static void put_bytes(struct pen *pen, const char *bytes, size_t len)
{
    if (len > (size_t)(pen->end - pen->at)) {
        fputs("load: a request is too long\n", stderr);
        exit(1);
    }
    memcpy(pen->at, bytes, len);
    pen->at += len;
}

static void put(struct pen *pen, const char *text)
{
    put_bytes(pen, text, strlen(text));
}

static void put_number(struct pen *pen, int64_t number)
{
    char digits[24];
    size_t at = sizeof(digits);
    uint64_t left = (uint64_t)number;
    do
        digits[--at] = (char)('0' + left % 10);
    while ((left /= 10) > 0);
    put_bytes(pen, digits + at, sizeof(digits) - at);
}

static void put_hex(struct pen *pen, uint64_t number)
{
    char digits[16];
    for (size_t i = sizeof(digits); i-- > 0; number >>= 4)
        digits[i] = "0123456789abcdef"[number & 15];
    put_bytes(pen, digits, sizeof(digits));
}

static void fill(struct pen *pen, const char *body, int bytes, size_t tail)
{
    static char text[MESSAGE_BYTES_MAX];
    if (text[0] == 0)
        memset(text, 'x', sizeof(text));
    size_t have = (size_t)(pen->at - body) + tail;
    if (bytes > 0 && (size_t)bytes > have)
        put_bytes(pen, text, (size_t)bytes - have);
}

static void put_agent(struct pen *pen, const struct message_node *node)
{
    put(pen, "{\"instanceId\":\"");
    put(pen, node->instance);
    put(pen, "\",\"bootId\":\"");
    put(pen, node->boot);
}

static void body_heartbeat(struct pen *pen, const struct message_node *node, int64_t seq)
{
    put_agent(pen, node);
    put(pen, "\",\"seq\":");
    put_number(pen, seq);
    put(pen, ",\"sentAtMs\":");
    put_number(pen, clock_wall_ms(clock_system()));
    put(pen, ",\"checks\":[\"kmsg\"],\"spooled\":0,\"address\":\"" MESSAGE_ADDRESS "\"}");
}

/* As the fault table has it: the card has gone, or a program is at fault and no node is touched. */
static const char *severity_of(int xid)
{
    return xid == 79 ? "critical" : "warn";
}

/* Each is new: its key is its own. */
static void body_verdict(struct pen *pen, const struct message_options *o, const struct message_node *node, int64_t seq)
{
    const char *body = pen->at;
    int64_t now = clock_wall_ms(clock_system());
    put_agent(pen, node);
    put(pen, "\",\"sentAtMs\":");
    put_number(pen, now);
    put(pen, ",\"verdicts\":[{\"key\":\"");
    put_hex(pen, o->run_id);
    put_hex(pen, 0);
    put_hex(pen, 0);
    put_hex(pen, (uint64_t)seq);
    put(pen, "\",\"device\":\"0000:b9:00\",\"source\":\"kmsg\",\"code\":\"xid.");
    put_number(pen, o->xid);
    put(pen, "\",\"firstAtMs\":");
    put_number(pen, now);
    put(pen, ",\"lastAtMs\":");
    put_number(pen, now);
    put(pen, ",\"count\":1,\"severity\":\"");
    put(pen, severity_of(o->xid));
    put(pen, "\",\"tableVersion\":\"bench\",\"rawLine\":\"NVRM: Xid (PCI:0000:b9:00): ");
    put_number(pen, o->xid);
    put(pen, ", pid=1234, name=python ");
    fill(pen, body, o->body_bytes, sizeof("\"}]}") - 1);
    put(pen, "\"}]}");
}

/* Key and value are base64 to etcd: letters of its alphabet are as good as any. */
static void body_etcd(struct pen *pen, const struct message_options *o, int64_t seq)
{
    const char *body = pen->at;
    put(pen, "{\"key\":\"");
    put_hex(pen, o->run_id);
    put_hex(pen, (uint64_t)seq);
    put(pen, "\",\"value\":\"");
    int frame = (int)(pen->at - body) + 2;
    fill(pen, body, frame + (o->body_bytes - frame) / 4 * 4, 2);
    put(pen, "\"}");
}

static size_t head(const struct message_options *o, const struct message_node *node, size_t body_len, char *request)
{
    static const char *const paths[] = {"POST /v1/agent/heartbeat", "POST /v1/agent/verdicts", "GET ",
                                        "POST /v3/kv/put"};
    struct pen pen = {request, request + BODY_AT};
    put(&pen, paths[o->kind]);
    if (o->kind == MESSAGE_GET)
        put(&pen, o->path);
    put(&pen, " HTTP/1.1\r\nHost: bench\r\n");
    if (o->kind == MESSAGE_GET && o->token != NULL) {
        put(&pen, "Authorization: Bearer ");
        put(&pen, o->token);
        put(&pen, "\r\n");
    }
    if (o->kind == MESSAGE_HEARTBEAT || o->kind == MESSAGE_VERDICT) {
        put(&pen, "Authorization: Bearer hfn_");
        put_number(&pen, node->row);
        put(&pen, ".");
        put(&pen, node->secret);
        put(&pen, "\r\n");
    }
    if (o->kind != MESSAGE_GET) {
        put(&pen, "Content-Type: application/json\r\nContent-Length: ");
        put_number(&pen, (int64_t)body_len);
        put(&pen, "\r\n");
    }
    put(&pen, "\r\n");
    return (size_t)(pen.at - request);
}

/* A signature holds for its second, so one is made each second and not each time: it is the server's work that is measured. */
static size_t write_aws(const struct message_options *o, char *ret_request)
{
    static struct text signed_request;
    static int64_t signed_s;
    const struct sign sign = {o->access_key, o->secret, "us-west-2", "bench"};
    int64_t now_ms = clock_wall_ms(clock_system());
    if (now_ms / MS_PER_S != signed_s) {
        signed_s = now_ms / MS_PER_S;
        text_clear(&signed_request);
        text_add(&signed_request, "POST / HTTP/1.1\r\n");
        sign_headers(&sign, o->target, o->input, strlen(o->input), now_ms, &signed_request);
        text_printf(&signed_request, "\r\n%s", o->input);
    }
    struct pen pen = {ret_request, ret_request + MESSAGE_BYTES_MAX};
    put_bytes(&pen, signed_request.data, signed_request.len);
    return signed_request.len;
}

size_t message_write(const struct message_options *o, const struct message_node *node, int64_t seq, char *ret_request)
{
    char *body = ret_request + BODY_AT;
    struct pen pen = {body, ret_request + MESSAGE_BYTES_MAX};
    if (o->kind == MESSAGE_AWS)
        return write_aws(o, ret_request);
    if (o->kind == MESSAGE_HEARTBEAT)
        body_heartbeat(&pen, node, seq);
    else if (o->kind == MESSAGE_VERDICT)
        body_verdict(&pen, o, node, seq);
    else if (o->kind == MESSAGE_ETCD)
        body_etcd(&pen, o, seq);
    size_t body_len = (size_t)(pen.at - body);
    size_t head_len = head(o, node, body_len, ret_request);
    memmove(ret_request + head_len, body, body_len);
    return head_len + body_len;
}
