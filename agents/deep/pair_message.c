/* Written by hand and read by the pull parser, as all that agents say. */
#include "agents/deep/pair_message.h"

#include "agents/node/shape.h"
#include "base/own.h"
#include "base/pull.h"
#include "base/status.h"

#include <string.h>

#define PAUSE_MAX_MS 600000

static void write_matches(struct text *out, const struct deep_pair_ask *ask)
{
    text_add(out, ",\"matches\":[");
    for (size_t i = 0; i < ask->said_count; i++) {
        shape_put_text(out, i > 0 ? ",{\"match\":" : "{\"match\":", ask->said[i].match);
        shape_put_text(out, ",\"partner\":", ask->said[i].partner);
        shape_put_text(out, ",\"result\":", deep_pair_result_text(ask->said[i].result));
        text_add_char(out, '}');
    }
    text_add_char(out, ']');
}

void pair_write_ask(struct text *out, const struct deep_pair_ask *ask)
{
    shape_put_text(out, "{\"key\":", ask->key);
    shape_put_text(out, ",\"tool\":", ask->tool);
    if (ask->address[0] != '\0')
        shape_put_text(out, ",\"address\":", ask->address);
    shape_put_i64(out, ",\"port\":", ask->port);
    shape_put_i64(out, ",\"limitMs\":", ask->limit_ms);
    write_matches(out, ask);
    text_add_char(out, '}');
}

void pair_write_memory(struct text *out, const struct deep_pair_ask *ask)
{
    shape_put_text(out, "{\"key\":", ask->key);
    shape_put_text(out, ",\"tool\":", ask->tool);
    write_matches(out, ask);
    text_add_char(out, '}');
}

/* --- read ---------------------------------------------------------------------------------------------------- */

static void read_result(struct pull *p, enum deep_pair_result *ret_result)
{
    char text[16];
    pull_text(p, text, sizeof(text));
    if (p->error == 0 && deep_pair_result_parse(text, ret_result) != 0)
        pull_fail(p, "no result");
}

static void read_said(struct pull *p, struct deep_pair_said *said)
{
    struct pull_view name;
    int seen = 0;
    pull_object(p);
    while (pull_member(p, &name)) {
        seen++;
        if (pull_view_is(name, "match"))
            pull_text(p, said->match, sizeof(said->match));
        else if (pull_view_is(name, "partner"))
            pull_text(p, said->partner, sizeof(said->partner));
        else if (pull_view_is(name, "result"))
            read_result(p, &said->result);
        else
            pull_fail(p, "not of a match");
    }
    if (p->error == 0 && (seen != 3 || said->match[0] == '\0' || said->partner[0] == '\0'))
        pull_fail(p, "half a match");
}

int pair_read_memory(const char *data, size_t len, struct deep_pair_ask *ret_ask)
{
    struct deep_pair_ask ask = {.said_count = 0};
    struct pull p;
    struct pull_view name;
    pull_start(&p, data, len);
    pull_object(&p);
    while (pull_member(&p, &name)) {
        if (pull_view_is(name, "key")) {
            pull_text(&p, ask.key, sizeof(ask.key));
            continue;
        }
        if (pull_view_is(name, "tool")) {
            pull_text(&p, ask.tool, sizeof(ask.tool));
            continue;
        }
        if (!pull_view_is(name, "matches") || ask.said_count > 0)
            pull_fail(&p, "not of what is remembered");
        pull_array(&p);
        while (pull_element(&p)) {
            if (ask.said_count == DEEP_PAIRS_MAX)
                pull_fail(&p, "too many");
            else
                read_said(&p, &ask.said[ask.said_count++]);
        }
    }
    if (pull_end(&p) != 0)
        return STATUS_INVALID;
    *ret_ask = ask;
    return 0;
}

static bool make_sense(const struct deep_pair_reply *reply)
{
    if (reply->word == DEEP_PAIR_WORD_MATCH)
        return reply->match.match[0] != '\0' && reply->match.partner[0] != '\0' && reply->address[0] != '\0' &&
               reply->port > 0;
    if (reply->word == DEEP_PAIR_WORD_NEXT)
        return reply->state == DEEP_STATE_SKIPPED && reply->detail[0] != '\0';
    if (reply->word == DEEP_PAIR_WORD_END)
        return reply->state == DEEP_STATE_PASSED ||
               ((reply->state == DEEP_STATE_FAILED || reply->state == DEEP_STATE_SKIPPED) && reply->detail[0] != '\0');
    return true;
}

/* A partner's name and address go onto a command line: never an option, and nothing that a shell would read. */
static bool is_plain(const char *text)
{
    return text[0] != '-' &&
           text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:%")] == '\0';
}

int pair_read_reply(const char *body, size_t len, struct deep_pair_reply *ret_reply)
{
    struct deep_pair_reply reply = {.pause_ms = 0};
    char word[16] = "", role[16] = "", state[16] = "";
    struct shape_slot slots[] = {
        SHAPE_TEXT("word", word),
        SHAPE_I64("pauseMs", reply.pause_ms, 0),
        SHAPE_TEXT("match", reply.match.match),
        SHAPE_TEXT("partner", reply.match.partner),
        SHAPE_TEXT("role", role),
        SHAPE_TEXT("address", reply.address),
        SHAPE_I64("port", reply.port, 1),
        SHAPE_TEXT("state", state),
        SHAPE_TEXT("detail", reply.detail),
    };
    if (shape_read(body, len, slots, ARRAY_LEN(slots)) != 0 || deep_pair_word_parse(word, &reply.word) != 0 ||
        reply.pause_ms > PAUSE_MAX_MS || reply.port > 65535 || !is_plain(reply.address) ||
        !is_plain(reply.match.partner) ||
        ((reply.word == DEEP_PAIR_WORD_END || reply.word == DEEP_PAIR_WORD_NEXT) &&
         deep_state_parse(state, &reply.state) != 0) ||
        (reply.word == DEEP_PAIR_WORD_MATCH && !text_equal(role, "serve") && !text_equal(role, "call")) ||
        !make_sense(&reply))
        return STATUS_INVALID;
    reply.serves = text_equal(role, "serve");
    *ret_reply = reply;
    return 0;
}
