/*
 * Is the clock kept right? The kernel says so itself: what disciplines it (chrony, ntpd, systemd-timesyncd) tells it with
 * each correction, and without one its own estimate of the error grows until it calls itself unsynchronised.
 *
 * How far the clock is off, the server sees from the heartbeats, and tells.
 */
#include "base/clock.h"
#include "agents/checks/check.h"
#include "agents/checks/recall.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/timex.h>

#define GRACE_MS (15 * MS_PER_MIN) /* after boot, until the first correction: judgement */

static void run(const struct check_context *context, struct check_out *out)
{
    struct timex clock = {.modes = 0};
    int state = adjtimex(&clock);
    if (state < 0) {
        check_unknown(out, "the kernel does not tell: %s", strerror(errno));
        return;
    }
    int64_t offset_us = (clock.status & STA_NANO) != 0 ? clock.offset / 1000 : clock.offset;
    /* A second, unless the settings say otherwise: judgement, what TLS and Slurm begin to mind. */
    int64_t most_us = 1000 * agent_settings_limit(context->settings, AGENT_LIMIT_CLOCK_OFFSET);
    bool alone = state == TIME_ERROR && (clock.status & STA_UNSYNC) != 0 && context->uptime_ms >= GRACE_MS;
    AUTO(recall) struct recall *recall = recall_new(context->memory, context->memory_len, context->uptime_ms);
    check_value(out, "holdfast_clock_error_seconds", "", (double)clock.maxerror / 1e6);
    if (recall_lasts(recall, "alone", alone, 1))
        check_found(out, "node.clock.unsynchronised", "", 1,
                    "nothing has corrected the clock for long; it may be off by %ld s", clock.maxerror / 1000000);
    if (offset_us >= most_us || offset_us <= -most_us)
        check_found(out, "node.clock.offset", "", 1, "the clock is off by %" PRId64 " ms and is being corrected",
                    offset_us / 1000);
    recall_keep(recall, out);
}

const struct check check_clock = {
    .name = "clock", .about = "whether something keeps the clock right", CHECK_TIMES(clock), .run = run};
