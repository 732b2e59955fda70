/* The connectivity test: an agent asks with whom it is tested, and says with each question what came of all its earlier matches. */
#include "api/agent/agent.h"
#include "api/intern.h"
#include "base/status.h"
#include "server/service/node/check.h"

enum {
    P_KEY = 1,
    P_TOOL = 2,
    P_ADDRESS = 4,
    P_PORT = 8,
    P_SAID = 16,
    P_LIMIT = 32,
    P_NEEDED = P_KEY | P_TOOL | P_PORT | P_LIMIT
};
enum { S_MATCH = 1, S_PARTNER = 2, S_RESULT = 4 };

static void read_result(struct pull *p, enum deep_pair_result *ret_result)
{
    char text[16];
    pull_text(p, text, sizeof text);
    if (p->error == 0 && deep_pair_result_parse(text, ret_result) != 0)
        pull_fail(p, "result is not passed, failed or void");
}

static void read_said(struct pull *p, struct deep_pair_said *said)
{
    struct pull_view name;
    unsigned seen = 0;
    const struct agent_text texts[] = {{"match", S_MATCH, said->match, sizeof said->match},
                                       {"partner", S_PARTNER, said->partner, sizeof said->partner}};
    pull_object(p);
    while (pull_member(p, &name))
        if (pull_view_is(name, "result")) {
            agent_once(p, &seen, S_RESULT);
            read_result(p, &said->result);
        } else if (!agent_text(p, name, &seen, texts, ARRAY_LEN(texts))) {
            pull_fail(p, "a member is not one of a match's");
        }
    if (p->error == 0 && seen != (S_MATCH | S_PARTNER | S_RESULT))
        pull_fail(p, "a match has an id, a partner and a result");
}

static void read_all_said(struct pull *p, struct deep_pair_ask *ask)
{
    pull_array(p);
    while (pull_element(p)) {
        if (ask->said_count == DEEP_PAIRS_MAX) {
            pull_fail(p, "too many matches");
            return;
        }
        read_said(p, &ask->said[ask->said_count++]);
    }
}

/* False: it has answered. */
static bool read_ask(struct api_call *call, struct deep_pair_ask *ask)
{
    struct pull p;
    struct pull_view name;
    unsigned seen = 0;
    const struct agent_text texts[] = {{"key", P_KEY, ask->key, sizeof ask->key},
                                       {"tool", P_TOOL, ask->tool, sizeof ask->tool},
                                       {"address", P_ADDRESS, ask->address, sizeof ask->address}};
    pull_start(&p, call->body, call->body_len);
    pull_object(&p);
    while (pull_member(&p, &name))
        if (pull_view_is(name, "port")) {
            agent_once(&p, &seen, P_PORT);
            pull_i64(&p, 1, 65535, &ask->port);
        } else if (pull_view_is(name, "limitMs")) {
            agent_once(&p, &seen, P_LIMIT);
            pull_i64(&p, 1, DEEP_PAIR_LIMIT_MAX_MS, &ask->limit_ms);
        } else if (pull_view_is(name, "matches")) {
            agent_once(&p, &seen, P_SAID);
            read_all_said(&p, ask);
        } else if (!agent_text(&p, name, &seen, texts, ARRAY_LEN(texts))) {
            pull_fail(&p, "a member is not one of this question's");
        }
    return agent_message_end(call, &p, seen, P_NEEDED);
}

static json_t *render(const struct deep_pair_reply *reply)
{
    json_t *json = json_object();
    json_put_text(json, "word", deep_pair_word_text(reply->word));
    switch (reply->word) {
    case DEEP_PAIR_WORD_WAIT:
        json_put_i64(json, "pauseMs", reply->pause_ms);
        break;
    case DEEP_PAIR_WORD_MATCH:
        json_put_text(json, "match", reply->match.match);
        json_put_text(json, "partner", reply->match.partner);
        json_put_text(json, "role", reply->serves ? "serve" : "call");
        json_put_text(json, "address", reply->address);
        json_put_i64(json, "port", reply->port);
        break;
    case DEEP_PAIR_WORD_END:
    case DEEP_PAIR_WORD_NEXT:
        json_put_text(json, "state", deep_state_text(reply->state));
        if (reply->detail[0] != '\0')
            json_put_text(json, "detail", reply->detail);
        break;
    }
    return json;
}

void agent_pair(struct api_call *call)
{
    struct problem problem;
    char peer[ADDRESS_TEXT_MAX];
    autofree struct deep_pair_ask *ask = own_calloc(1, sizeof *ask);
    autofree struct deep_pair_reply *reply = own_calloc(1, sizeof *reply);
    if (api_media_check(call) != 0 || !read_ask(call, ask))
        return;
    http_peer(call->http, peer);
    if (service_agent_pair(call->service, call->node_id, peer, ask, reply, &problem) != 0)
        api_problem(call, &problem);
    else
        api_reply_json(call, 200, render(reply));
}
