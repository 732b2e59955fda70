/* What the agent reads of the server, of its own files and of /dev/kmsg: replies, orders, records that it spooled. What it
 * remembers reads back the same. */
// ROOMS: agents policy model base
#include "agents/checks/kmsg_record.h"
#include "agents/checks/lines.h"
#include "agents/node/message.h"
#include "agents/node/work.h"
#include "base/text.h"
#include "tests/fuzz/fuzz.h"

static void replies(const char *text, size_t size)
{
    struct message_enrolled enrolled;
    struct message_orders orders;
    struct message_problem problem;
    struct message_spare spare;
    if (message_read_spare(text, size, &spare) == 0)
        REQUIRE(spare.wait_ms > 0 && (spare.instance_id[0] == '\0' || spare.enrolled.credential[0] != '\0'));
    if (message_read_enrolled(text, size, &enrolled) == 0)
        REQUIRE(enrolled.credential[0] != '\0' && enrolled.heartbeat_interval_ms > 0);
    if (message_read_orders(text, size, &orders) == 0)
        REQUIRE(orders.heartbeat_interval_ms >= 0 && text_is_utf8(orders.runners[0], strlen(orders.runners[0])));
    message_read_problem(text, size, &problem);
    REQUIRE(strlen(problem.code) < sizeof(problem.code) && text_is_utf8(problem.detail, strlen(problem.detail)));
}

static void record(const char *text, size_t size)
{
    struct verdict verdict, again;
    struct reach reach, reach_again;
    struct text out AUTO(text) = {0};
    if (message_read_record(text, size, &verdict, &reach) != 0)
        return;
    message_write_record(&out, &verdict, &reach);
    REQUIRE(message_read_record(out.data, out.len, &again, &reach_again) == 0);
    REQUIRE(strcmp(verdict.key, again.key) == 0 && strcmp(verdict.raw_line, again.raw_line) == 0);
    REQUIRE(memcmp(&reach, &reach_again, sizeof(reach)) == 0);
    REQUIRE(verdict.severity == again.severity && verdict.count == again.count && verdict.last_at == again.last_at);
}

static void work(const char *text, size_t size)
{
    struct lifecycle_job job;
    struct reset_job reset;
    struct reboot_job reboot;
    struct work_state state, again;
    char *resources = NULL;
    struct text out AUTO(text) = {0};
    if (work_read_order(text, size, &job, &resources) == 0) {
        REQUIRE(job.key[0] != '\0' && job.time_limit_ms > 0 && job.attempts_max > 0);
        for (size_t i = 0; i < LIFECYCLE_SCRIPTS_MAX; i++)
            REQUIRE(job.scripts[i][0] == '\0' || lifecycle_is_script_name(job.scripts[i]));
    }
    free(resources);
    if (work_read_reboot(text, size, &reboot) == 0)
        REQUIRE(reboot.key[0] != '\0' && reboot.boot_id[0] != '\0' && reboot.delay_ms >= 0);
    if (work_read_reset(text, size, &reset) == 0)
        REQUIRE(reset.key[0] != '\0' && reset.time_limit_ms > 0);
    if (work_read_state(text, size, &state) != 0)
        return;
    work_write_state(&out, &state);
    REQUIRE(work_read_state(out.data, out.len, &again) == 0);
    REQUIRE(strcmp(state.detail, again.detail) == 0 && state.exit_code == again.exit_code);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct kmsg_record kernel;
    int64_t value;
    char *text = fuzz_text(data, size);
    replies(text, size);
    record(text, size);
    work(text, size);
    if (kmsg_record_parse(text, size, &kernel) == 0)
        REQUIRE(kernel.text >= text && kernel.text + kernel.len <= text + size && kernel.seq >= 0);
    (void)lines_find_i64(text, size, "MemTotal:", &value);
    free(text);
    return 0;
}
