/*
 * DCGM's health watches, where DCGM runs: a second witness beside nvidia-smi and the kernel log, with rates and thresholds
 * of its own. They are polled by dcgmi; the watches themselves are the service's.
 *
 * Watches that nobody has enabled are enabled once, all of them, as `dcgmi health -s a` does: without them there is nothing
 * to ask for. A node without dcgmi, or whose service was never seen to answer, is none that runs DCGM. Its policies are
 * violations.c's.
 */
#include "agents/checks/check.h"
#include "agents/checks/dcgm_health.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"

#include <string.h>

#define HEALTH_TIMEOUT_MS 30000
#define OTHER_TIMEOUT_MS 10000
#define OUTPUT_BYTES_MAX (4 << 20)
#define GRACE_MS 600000 /* services start late */

static const char was_up[] = "up"; /* what a run remembers */

static int ask(const struct check_context *context, const char *const argv[], int64_t timeout_ms, struct text *ret_said)
{
    struct child_result result;
    int r = check_tool(context, argv, timeout_ms, OUTPUT_BYTES_MAX, &result);
    if (r != 0)
        return r;
    if (result.out_cut)
        r = STATUS_TOO_LARGE;
    text_add_bytes(ret_said, result.out, result.out_len);
    if (result.out_len == 0) /* never between the halves of a document */
        text_add(ret_said, result.err);
    child_result_free(&result);
    return r;
}

static void tell_incidents(const struct check_context *context, struct check_out *out, const struct dcgm_health *health)
{
    static const char *const argv[] = {"dcgmi", "discovery", "-l", NULL};
    static struct dcgm_gpu gpus[DCGM_GPUS_MAX];
    AUTO(text) struct text said = {0};
    size_t count = 0;
    if (ask(context, argv, OTHER_TIMEOUT_MS, &said) == 0)
        count = dcgm_discovery_parse(said.data, said.len, gpus);
    for (size_t i = 0; i < health->incident_count; i++) {
        const struct dcgm_incident *incident = &health->incidents[i];
        char code[CODE_MAX_BYTES], name[DEVICE_MAX_BYTES];
        dcgm_incident_code(incident, code);
        dcgm_entity_name(gpus, count, incident->group, incident->entity, name);
        check_found(out, code, name, 1, "DCGM, %s, %s: %s", incident->system,
                    incident->is_failure ? "failure" : "warning", incident->message);
    }
}

static void enable_watches(const struct check_context *context, struct check_out *out)
{
    static const char *const argv[] = {"dcgmi", "health", "-s", "a", NULL};
    AUTO(text) struct text said = {0};
    int r = ask(context, argv, OTHER_TIMEOUT_MS, &said);
    if (r != 0)
        check_unknown(out, "health watches are not enabled, and enabling them: %s", status_meaning(r));
    else
        check_unknown(out, "health watches were not enabled; %.120s", text_get(&said));
}

static void take_answer(const struct check_context *context, struct check_out *out, const struct dcgm_health *health)
{
    bool is_known = context->memory_len == strlen(was_up) && memcmp(context->memory, was_up, context->memory_len) == 0;
    switch (health->answer) {
    case DCGM_HEALTH_REPORT:
        check_value(out, "holdfast_dcgm_healthy", "", strcmp(health->overall, "Healthy") == 0);
        if (health->incident_count > 0)
            tell_incidents(context, out, health);
        else if (strcmp(health->overall, "Healthy") != 0)
            check_unknown(out, "DCGM says %s, and not what of", health->overall);
        break;
    case DCGM_HEALTH_NOT_WATCHED:
        enable_watches(context, out);
        break;
    case DCGM_HEALTH_NO_SERVICE:
        if (!is_known)
            check_not_applicable(out, "%s", dcgm_health_answer_text(health->answer));
        else if (context->uptime_ms < GRACE_MS)
            check_unknown(out, "%s, and the machine has just started", dcgm_health_answer_text(health->answer));
        else
            check_found(out, "dcgm.service.down", "", 1, "%s any more", dcgm_health_answer_text(health->answer));
        return;
    case DCGM_HEALTH_BROKEN:
        check_unknown(out, "dcgmi health: %s", dcgm_health_answer_text(health->answer));
        return;
    }
    check_remember(out, was_up, strlen(was_up));
}

static void dcgm_run(const struct check_context *context, struct check_out *out)
{
    static const char *const argv[] = {"dcgmi", "health", "-c", "-j", NULL};
    AUTO(text) struct text said = {0};
    int r = ask(context, argv, HEALTH_TIMEOUT_MS, &said);
    if (r == STATUS_NOT_FOUND) {
        check_not_applicable(out, "no dcgmi");
        return;
    }
    if (r != 0) {
        check_unknown(out, "dcgmi health: %s", status_meaning(r));
        return;
    }
    autofree struct dcgm_health *health = own_calloc(1, sizeof(*health));
    dcgm_health_parse(said.data, said.len, health);
    take_answer(context, out, health);
}

const struct check check_dcgm = {
    .name = "dcgm",
    .about = "DCGM's health watches, where its service runs",
    CHECK_TIMES(dcgm),
    .run = dcgm_run,
};
