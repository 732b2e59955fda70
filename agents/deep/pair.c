/*
 * CONNECTIVITY: this node and another one of the same type run an all-reduce, or a substitute, together. The server chooses the
 * partners and judges the results (server/live/pair_matching.h). The agent asks for a match, runs it and reports it, until the server
 * ends the test.
 *
 * A match is stored before it starts, as one without result. So an interrupted match is reported as such.
 */
#include "agents/deep/pair.h"

#include "agents/checks/fabric.h"
#include "agents/deep/bench.h"
#include "agents/deep/pair_message.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/own.h"
#include "base/status.h"
#include "base/wire.h"

#include <stdio.h>

#define PATH "/v1/agent/pair"
#define REPLY_BYTES_MAX 4096
#define MEMORY_BYTES_MAX 8192
#define LATE_MS (30 * MS_PER_S) /* to end a tool and to report its result */

struct pair_matching {
    struct deep_bench *bench;
    struct talk talk;
    const struct pair_tool *tool;
    char *memory_path;
    struct deep_pair_ask ask;
};

/* --- what is remembered -------------------------------------------------------------------------------------- */

static int save(const struct pair_matching *pair_matching)
{
    AUTO(text) struct text out = {0};
    pair_write_memory(&out, &pair_matching->ask);
    return file_write(pair_matching->memory_path, out.data, out.len, 0600);
}

static void load(struct pair_matching *pair_matching)
{
    autofree char *data = NULL;
    size_t len;
    const char *key = pair_matching->bench->memory.key;
    if (file_read(pair_matching->memory_path, MEMORY_BYTES_MAX, &data, &len) != 0 ||
        pair_read_memory(data, len, &pair_matching->ask) != 0 || !text_equal(pair_matching->ask.key, key))
        pair_matching->ask = (struct deep_pair_ask){.said_count = 0};
    text_copy_cut(pair_matching->ask.key, sizeof(pair_matching->ask.key), key);
}

/* --- asked --------------------------------------------------------------------------------------------------- */

static const char *own_address(const struct pair_matching *pair_matching)
{
    const char *told = pair_matching->bench->options->address, *seen = wire_address(pair_matching->talk.wire);
    return told != NULL ? told : seen;
}

/* Tries for as long as the run has time. */
static int ask_server(struct pair_matching *pair_matching, struct deep_pair_reply *ret_reply)
{
    for (;;) {
        AUTO(text) struct text body = {0};
        const char *reply;
        size_t len;
        int answer;
        pair_matching->ask.port = fabric_free_port();
        pair_write_ask(&body, &pair_matching->ask);
        int status = talk_exchange(&pair_matching->talk, &body, &answer, &reply, &len);
        if (status == 0 && (answer == 404 || answer == 409))
            return TALK_WITHDRAWN;
        if (status == 0 && answer == 200)
            return pair_read_reply(reply, len, ret_reply);
        if (status == 0)
            log_warn("deep check: no match: the server answered %d", answer);
        status = deep_pause(pair_matching->bench, pair_matching->bench->options->times.pause_ms);
        if (status != 0)
            return status;
    }
}

/* --- carried out --------------------------------------------------------------------------------------------- */

static int run_match(struct pair_matching *pair_matching, const struct deep_pair_reply *match)
{
    struct deep_bench *bench = pair_matching->bench;
    struct deep_pair_ask *ask = &pair_matching->ask;
    struct deep_pair_said *said = &ask->said[ask->said_count++];
    *said = match->match;
    said->result = DEEP_PAIR_RESULT_VOID;
    int status = save(pair_matching);
    if (status != 0)
        return status;
    deep_log(bench, "info", "%s with %s (%s)", pair_matching->tool->says, match->match.partner, match->address);
    status = pair_matching->tool->run(bench, match, own_address(pair_matching), &said->result);
    if (status != 0)
        return status;
    deep_log(bench, said->result == DEEP_PAIR_RESULT_PASSED ? "info" : "error", "with %s: %s", match->match.partner,
             deep_pair_result_text(said->result));
    return save(pair_matching);
}

static void tell_end(struct deep_bench *bench, const struct deep_pair_reply *reply)
{
    if (reply->state == DEEP_STATE_FAILED) {
        deep_log(bench, "error", "connectivity: %s", reply->detail);
        deep_failed(bench, "%s", reply->detail);
    } else if (reply->state == DEEP_STATE_SKIPPED) {
        deep_skipped(bench, "%s", reply->detail);
    } else {
        deep_passed_but(bench, reply->detail);
    }
}

/* From now on this machine is tested with that; what came of matches with another is forgotten. */
static int take_tool(struct pair_matching *pair_matching, const struct pair_tool *tool)
{
    struct deep_pair_ask *ask = &pair_matching->ask;
    bool another = pair_matching->tool != NULL;
    pair_matching->tool = tool;
    ask->limit_ms = tool->limit_ms + LATE_MS;
    deep_measured(pair_matching->bench, another ? "then with" : "tested with", "%s", tool->name);
    if (text_equal(ask->tool, tool->name))
        return 0;
    text_copy_cut(ask->tool, sizeof(ask->tool), tool->name);
    ask->said_count = 0;
    return save(pair_matching);
}

/* Nothing was found out, as nothing could be started: what is next in the table may say more. */
static int take_next(struct pair_matching *pair_matching, const struct deep_pair_reply *reply, bool *ret_over)
{
    const struct pair_tool *next = pair_tool_find(pair_matching->bench, pair_matching->tool);
    *ret_over = next == NULL;
    if (next == NULL) {
        tell_end(pair_matching->bench, reply);
        return 0;
    }
    deep_log(pair_matching->bench, "warn", "%s: %s; %s is tried instead", pair_matching->tool->name, reply->detail,
             next->name);
    return take_tool(pair_matching, next);
}

static int play(struct pair_matching *pair_matching)
{
    bool over = false;
    struct deep_pair_reply reply;
    for (;;) {
        int status = ask_server(pair_matching, &reply);
        if (status == 0 && reply.word == DEEP_PAIR_WORD_END) {
            tell_end(pair_matching->bench, &reply);
            return 0;
        }
        if (status == 0 && reply.word == DEEP_PAIR_WORD_NEXT) {
            status = take_next(pair_matching, &reply, &over);
            if (status == 0 && !over)
                continue;
            return status;
        }
        if (status == 0 && reply.word == DEEP_PAIR_WORD_WAIT)
            status = deep_pause(pair_matching->bench, reply.pause_ms);
        else if (status == 0 && pair_matching->ask.said_count == DEEP_PAIRS_MAX)
            break;
        else if (status == 0)
            status = run_match(pair_matching, &reply);
        if (status != 0)
            return status;
    }
    deep_skipped(pair_matching->bench, "inconclusive: after %d matches nobody is found out", DEEP_PAIRS_MAX);
    return 0;
}

int deep_pair_run(struct deep_bench *bench)
{
    struct pair_matching pair_matching = {.bench = bench};
    const struct pair_tool *tool = pair_tool_find(bench, NULL);
    const struct talk_options talk = {.url = bench->options->url,
                                      .fingerprint = bench->options->fingerprint,
                                      .state_dir = bench->options->state_dir,
                                      .instance_id = bench->options->instance_id,
                                      .path = PATH,
                                      .reply_bytes_max = REPLY_BYTES_MAX,
                                      .timeout_ms = bench->options->times.timeout_ms,
                                      .pause_ms = bench->options->times.pause_ms};
    if (tool == NULL) {
        deep_skipped(
            bench,
            "none of all_reduce_perf with mpirun, nccom-test, fi_pingpong and NPopenmpi with mpirun is installed here");
        return 0;
    }
    int status = talk_open(&pair_matching.talk, &talk);
    pair_matching.memory_path = own_printf("%s/pairs", bench->runner.directory);
    if (status == 0) {
        load(&pair_matching);
        const struct pair_tool *last = pair_tool_named(pair_matching.ask.tool); /* it may have been come to already */
        if (bench->options->address != NULL)
            text_copy_cut(pair_matching.ask.address, sizeof(pair_matching.ask.address), bench->options->address);
        status = take_tool(&pair_matching, last != NULL && last->is_here(bench) ? last : tool);
        if (status == 0)
            status = play(&pair_matching);
    }
    talk_close(&pair_matching.talk);
    free(pair_matching.memory_path);
    return status;
}
