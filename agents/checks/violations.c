/*
 * Policies of DCGM: limits that a site has set (`dcgmi policy --set`), whose violations DCGM tells to whoever listens at the time.
 * Where none is set there is nothing to listen for, and that is asked every five minutes.
 *
 * It listens a third of the time, and what it hears names no GPU: the kernel log, nvidia-smi and DCGM's own health watches say
 * what happened where, and miss nothing. That a policy was violated is told beside them.
 */
#include "agents/checks/check.h"
#include "agents/checks/dcgm_violations.h"
#include "agents/checks/recall.h"
#include "base/clock.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"

#include <inttypes.h>
#include <string.h>

#define ASK_EVERY_MS (5 * MS_PER_MIN)
#define ASK_TIMEOUT_MS (8 * MS_PER_S)
#define LISTEN_SECONDS "15"
#define LISTEN_TIMEOUT_MS (20 * MS_PER_S)
#define OUTPUT_BYTES_MAX (1 << 20)
#define ENDED_BY_TIMEOUT 124
#define ENDED_BY_SIGINT 130
#define FIRST_LINE_MAX 120

static int ask(const struct check_context *context, enum dcgm_policy *ret_policy)
{
    static const char *const argv[] = {"dcgmi", "policy", "--get", "-j", NULL};
    struct child_result result;
    int status = check_tool(context, argv, ASK_TIMEOUT_MS, OUTPUT_BYTES_MAX, &result);
    if (status != 0)
        return status;
    *ret_policy = result.out_len > 0 ? dcgm_policy_parse(result.out, result.out_len)
                                     : dcgm_policy_parse(result.err, strlen(result.err));
    status = result.out_cut ? STATUS_TOO_LARGE : 0;
    child_result_free(&result);
    return status;
}

static void tell(const struct dcgm_violations *violations, struct check_out *out)
{
    AUTO(text) struct text said = {0};
    for (size_t i = 0; i < DCGM_VIOLATION_COUNT; i++) {
        if (violations->counts[i] == 0)
            continue;
        text_printf(&said, "%s%s %" PRId64 " times", said.len > 0 ? "; " : "",
                    dcgm_violation_text((enum dcgm_violation)i), violations->counts[i]);
        if (violations->last[i] >= 0)
            text_printf(&said, ", last %" PRId64, violations->last[i]);
    }
    if (violations->sum > 0)
        check_event(out, "dcgm.policy.violation", "", violations->sum, "%s", text_get(&said));
}

/* Its listening has no end of its own: it is interrupted, in our process group. */
static void listen_for_a_while(const struct check_context *context, struct check_out *out)
{
    static const char *const argv[] = {"timeout",      "--foreground", "-s",     "INT",   "-k", "3",
                                       LISTEN_SECONDS, "dcgmi",        "policy", "--reg", NULL};
    autofree char *dcgmi = check_find_tool(context->path, "dcgmi");
    const char *words[ARRAY_LEN(argv)];
    struct dcgm_violations violations;
    struct child_result result;
    memcpy(words, argv, sizeof(argv));
    words[7] = dcgmi != NULL ? dcgmi : argv[7];
    int status = check_tool(context, words, LISTEN_TIMEOUT_MS, OUTPUT_BYTES_MAX, &result);
    if (status != 0) {
        check_unknown(out, "dcgmi policy --reg: %s", status_meaning(status));
        return;
    }
    dcgm_violations_parse(result.out, result.out_len, &violations);
    tell(&violations, out);
    bool listened = result.exit_code == ENDED_BY_TIMEOUT || result.exit_code == ENDED_BY_SIGINT;
    if (result.out_cut)
        check_unknown(out, "dcgmi policy --reg: %s", status_meaning(STATUS_TOO_LARGE));
    else if (!listened)
        check_unknown(out, "dcgmi policy --reg does not listen: %.*s", FIRST_LINE_MAX,
                      result.out_len > 0 ? result.out : result.err);
    child_result_free(&result);
}

/* Remembered: "policy", as it was asked last. */
static void violations_run(const struct check_context *context, struct check_out *out)
{
    AUTO(recall) struct recall *recall = recall_new(context->memory, context->memory_len, context->uptime_ms);
    enum dcgm_policy policy = (enum dcgm_policy)recall_get(recall, "policy", DCGM_POLICY_BROKEN);
    bool is_known = policy == DCGM_POLICY_SET || policy == DCGM_POLICY_NONE || policy == DCGM_POLICY_NO_SERVICE;
    int status = 0;
    if (!is_known || recall_age_ms(recall, "policy") >= ASK_EVERY_MS) {
        policy = DCGM_POLICY_BROKEN;
        status = ask(context, &policy);
        if (status == 0)
            recall_set(recall, "policy", policy);
    }
    recall_keep(recall, out);
    if (status == STATUS_NOT_FOUND)
        check_not_applicable(out, "no dcgmi");
    else if (status != 0)
        check_unknown(out, "dcgmi policy --get: %s", status_meaning(status));
    else if (policy == DCGM_POLICY_BROKEN)
        check_unknown(out, "dcgmi policy --get: %s", dcgm_policy_text(policy));
    else if (policy == DCGM_POLICY_SET)
        listen_for_a_while(context, out);
    else /* that its service is down is told by the check of its watches */
        check_not_applicable(out, "%s", dcgm_policy_text(policy));
}

const struct check check_violations = {
    .name = "violations",
    .about = "violations of the policies that were set in DCGM",
    CHECK_TIMES(violations),
    .run = violations_run,
};
