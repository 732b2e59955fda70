/* Uses agents/node/shape.h, except for the order: it has a list, which shape.h does not read. */
#include "agents/node/work.h"

#include "agents/node/shape.h"
#include "base/pull.h"
#include "base/status.h"

#include <string.h>

#define TIME_LIMIT_MAX_MS INT64_C(86400000)
#define ATTEMPTS_MAX 100
#define REBOOT_DELAY_MAX_MS INT64_C(600000)

/* --- the order ----------------------------------------------------------------------------------------------- */

static void read_scripts(struct pull *p, struct lifecycle_job *job)
{
    int count = 0;
    pull_array(p);
    while (pull_element(p)) {
        if (count == LIFECYCLE_SCRIPTS_MAX) {
            pull_fail(p, "too many scripts");
            return;
        }
        pull_text(p, job->scripts[count], sizeof(job->scripts[count]));
        if (p->error == 0 && !lifecycle_is_script_name(job->scripts[count]))
            pull_fail(p, "the name of a script leads out of its source");
        count++;
    }
    if (count == 0)
        pull_fail(p, "no script");
}

enum { W_KEY = 1, W_INSTANCE = 2, W_SOURCE = 4, W_SCRIPTS = 8, W_LIMIT = 16, W_ATTEMPTS = 32, W_RESOURCES = 64 };
#define W_ALL 127u

static unsigned read_member(struct pull *p, struct pull_view name, struct lifecycle_job *job, char *resources,
                            size_t resources_size)
{
    const struct {
        const char *name;
        unsigned bit;
        char *target;
        size_t size;
    } texts[] = {{"key", W_KEY, job->key, sizeof(job->key)},
                 {"instanceId", W_INSTANCE, job->instance_id, sizeof(job->instance_id)},
                 {"source", W_SOURCE, job->source, sizeof(job->source)},
                 {"resourceConfig", W_RESOURCES, resources, resources_size}};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        if (!pull_view_is(name, texts[i].name))
            continue;
        pull_text(p, texts[i].target, texts[i].size);
        return texts[i].bit;
    }
    if (pull_view_is(name, "scripts")) {
        read_scripts(p, job);
        return W_SCRIPTS;
    }
    bool limit = pull_view_is(name, "timeLimitMs");
    if (limit)
        pull_i64(p, 1, TIME_LIMIT_MAX_MS, &job->time_limit_ms);
    else if (pull_view_is(name, "attempts"))
        pull_i64(p, 1, ATTEMPTS_MAX, &job->attempts_max);
    else
        pull_fail(p, "a member is not one of an order's");
    return limit ? W_LIMIT : W_ATTEMPTS;
}

int work_read_order(const char *body, size_t len, struct lifecycle_job *ret_job, char **ret_resources)
{
    struct lifecycle_job job = {0};
    struct pull p;
    struct pull_view name;
    unsigned seen = 0;
    autofree char *resources = own_calloc(1, len + 1); /* decoding never makes it longer */
    pull_start(&p, body, len);
    pull_object(&p);
    while (pull_member(&p, &name)) {
        unsigned bit = read_member(&p, name, &job, resources, len + 1);
        if (seen & bit)
            pull_fail(&p, "a member is there twice");
        seen |= bit;
    }
    if (pull_end(&p) != 0 || seen != W_ALL || job.key[0] == '\0')
        return STATUS_INVALID; /* without a key two orders could not be distinguished */
    *ret_job = job;
    *ret_resources = TAKE(resources);
    return 0;
}

int work_read_reset(const char *body, size_t len, struct reset_job *ret_job)
{
    struct reset_job job = {.key = ""};
    struct shape_slot slots[] = {SHAPE_TEXT("key", job.key), SHAPE_TEXT("instanceId", job.instance_id),
                                 SHAPE_TEXT("bootId", job.boot_id), SHAPE_TEXT("device", job.device),
                                 SHAPE_I64("timeLimitMs", job.time_limit_ms, 1)};
    if (shape_read(body, len, slots, ARRAY_LEN(slots)) != 0 || !shape_all_seen(slots, ARRAY_LEN(slots)) ||
        job.key[0] == '\0' || job.time_limit_ms > TIME_LIMIT_MAX_MS)
        return STATUS_INVALID;
    *ret_job = job;
    return 0;
}

int work_read_reboot(const char *body, size_t len, struct reboot_job *ret_job)
{
    struct reboot_job job = {.key = ""};
    struct shape_slot slots[] = {SHAPE_TEXT("key", job.key),
                                 SHAPE_TEXT("instanceId", job.instance_id),
                                 SHAPE_TEXT("bootId", job.boot_id),
                                 SHAPE_TEXT("reason", job.reason),
                                 SHAPE_I64("delayMs", job.delay_ms, 0),
                                 SHAPE_I64("attempt", job.attempt, 1)};
    if (shape_read(body, len, slots, ARRAY_LEN(slots)) != 0 || !shape_all_seen(slots, ARRAY_LEN(slots)) ||
        job.key[0] == '\0' || job.boot_id[0] == '\0' || job.delay_ms > REBOOT_DELAY_MAX_MS)
        return STATUS_INVALID;
    *ret_job = job;
    return 0;
}

/* --- reports ------------------------------------------------------------------------------------------------- */

/* Length of the UTF-8 character at, 0 when it is none or does not fit in len. */
static size_t character(const char *at, size_t len)
{
    for (size_t n = 1; n <= 4 && n <= len; n++)
        if (text_is_utf8(at, n))
            return n;
    return 0;
}

/* The end of a log as text; unprintable bytes become "?". */
static void clean(const char *log, size_t log_len, char ret_text[LIFECYCLE_LOG_MAX_BYTES])
{
    size_t room = LIFECYCLE_LOG_MAX_BYTES - 1, used = 0;
    if (log_len > room) {
        log += log_len - room;
        log_len = room;
    }
    for (size_t at = 0; at < log_len;) {
        size_t n = character(log + at, log_len - at);
        bool shown = n > 1 || (n == 1 && (log[at] == '\n' || log[at] == '\t' || (unsigned char)log[at] >= ' '));
        if (shown)
            memcpy(ret_text + used, log + at, n);
        else
            ret_text[used] = '?';
        used += shown ? n : 1;
        at += n == 0 ? 1 : n;
    }
    ret_text[used] = '\0';
}

void work_write_report(struct text *out, const struct lifecycle_report *report, const char *log, size_t log_len)
{
    char shown[LIFECYCLE_LOG_MAX_BYTES];
    clean(log, log_len, shown);
    shape_put_text(out, "{\"key\":", report->key);
    shape_put_text(out, ",\"state\":", script_state_text(report->state));
    text_add(out, report->final ? ",\"final\":true" : ",\"final\":false");
    shape_put_i64(out, ",\"attempt\":", report->attempt);
    if (report->script[0] != '\0')
        shape_put_text(out, ",\"script\":", report->script);
    if (report->exit_code >= 0)
        shape_put_i64(out, ",\"exitCode\":", report->exit_code);
    if (report->detail[0] != '\0')
        shape_put_text(out, ",\"detail\":", report->detail);
    if (shown[0] != '\0')
        shape_put_text(out, ",\"log\":", shown);
    if (report->ended_at > 0) {
        shape_put_i64(out, ",\"endedAtMs\":", report->ended_at);
        shape_put_i64(out, ",\"sentAtMs\":", report->sent_at);
    }
    text_add_char(out, '}');
}

/* --- what is remembered -------------------------------------------------------------------------------------- */

void work_write_state(struct text *out, const struct work_state *state)
{
    shape_put_text(out, "{\"instanceId\":", state->instance_id);
    shape_put_text(out, ",\"key\":", state->key);
    shape_put_text(out, ",\"done1\":", state->done[0]);
    shape_put_text(out, ",\"done2\":", state->done[1]);
    shape_put_text(out, ",\"script\":", state->script);
    shape_put_i64(out, ",\"attempts\":", state->attempts);
    shape_put_i64(out, ",\"pid\":", state->pid);
    shape_put_i64(out, ",\"ticks\":", state->ticks);
    shape_put_i64(out, ",\"logFrom\":", state->log_from);
    shape_put_i64(out, ",\"logTo\":", state->log_to);
    shape_put_i64(out, ",\"over\":", state->over);
    shape_put_i64(out, ",\"exitCode\":", state->exit_code);
    shape_put_text(out, ",\"detail\":", state->detail);
    shape_put_i64(out, ",\"endedAt\":", state->ended_at);
    text_add_char(out, '}');
}

int work_read_state(const char *data, size_t len, struct work_state *ret_state)
{
    struct work_state s = {0};
    struct shape_slot slots[] = {
        SHAPE_TEXT("instanceId", s.instance_id),
        SHAPE_TEXT("key", s.key),
        SHAPE_TEXT("done1", s.done[0]),
        SHAPE_TEXT("done2", s.done[1]),
        SHAPE_TEXT("script", s.script),
        SHAPE_I64("attempts", s.attempts, 0),
        SHAPE_I64("pid", s.pid, 0),
        SHAPE_I64("ticks", s.ticks, 0),
        SHAPE_I64("logFrom", s.log_from, 0),
        SHAPE_I64("logTo", s.log_to, 0),
        SHAPE_I64("over", s.over, 0),
        SHAPE_I64("exitCode", s.exit_code, -1),
        SHAPE_TEXT("detail", s.detail),
        SHAPE_I64("endedAt", s.ended_at, 0), /* older versions did not write it */
    };
    if (shape_read(data, len, slots, ARRAY_LEN(slots)) != 0 || !shape_all_seen(slots, ARRAY_LEN(slots) - 1))
        return STATUS_INVALID;
    *ret_state = s;
    return 0;
}
