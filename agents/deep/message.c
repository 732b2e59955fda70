/* Flat shapes by agents/node/shape.h; the order has a list in it, which that does not know. */
#include "agents/deep/message.h"

#include "agents/node/shape.h"
#include "base/own.h"
#include "base/pull.h"
#include "base/sm.h"
#include "base/status.h"

#include <string.h>

#define TIME_LIMIT_MAX_MS INT64_C(86400000)
#define STRESS_MAX_S 3600
#define DCGM_LEVEL_MAX 4

/* --- the order ----------------------------------------------------------------------------------------------- */

static void read_checks(struct pull *p, int64_t *ret_checks)
{
    char name[32];
    enum deep_check check;
    pull_array(p);
    while (pull_element(p)) {
        pull_text(p, name, sizeof(name));
        if (p->error == 0 && deep_check_parse(name, &check) != 0)
            pull_fail(p, "a check that this agent does not know");
        if (p->error == 0)
            *ret_checks |= SM_BIT(check);
    }
    if (*ret_checks == 0)
        pull_fail(p, "no check");
}

static void read_profile(struct pull *p, enum deep_profile *ret_profile)
{
    char name[16];
    pull_text(p, name, sizeof(name));
    if (p->error == 0 && deep_profile_parse(name, ret_profile) != 0)
        pull_fail(p, "a profile that this agent does not know");
}

static void read_limits(struct pull *p, struct deep_job *job)
{
    char text[DEEP_LIMIT_MEASURE_MAX_BYTES + DEEP_LIMIT_TEXT_MAX_BYTES];
    pull_array(p);
    while (pull_element(p)) {
        pull_text(p, text, sizeof(text));
        if (p->error != 0)
            return;
        if (job->limit_count == DEEP_LIMITS_MAX || deep_limit_parse(text, &job->limits[job->limit_count++]) != 0) {
            pull_fail(p, "too many limits, or one that is none");
            return;
        }
    }
}

enum {
    O_KEY = 1,
    O_INSTANCE = 2,
    O_CHECKS = 4,
    O_PROFILE = 8,
    O_LEVEL = 16,
    O_STRESS = 32,
    O_LIMIT = 64,
    O_NEEDED = 127,
    O_TYPE = 128,
    O_LIMITS = 256
};

static unsigned read_member(struct pull *p, struct pull_view name, struct deep_job *job)
{
    if (pull_view_is(name, "key")) {
        pull_text(p, job->key, sizeof(job->key));
        return O_KEY;
    }
    if (pull_view_is(name, "instanceId")) {
        pull_text(p, job->instance_id, sizeof(job->instance_id));
        return O_INSTANCE;
    }
    if (pull_view_is(name, "instanceType")) {
        pull_text(p, job->instance_type, sizeof(job->instance_type));
        return O_TYPE;
    }
    if (pull_view_is(name, "limits")) {
        read_limits(p, job);
        return O_LIMITS;
    }
    if (pull_view_is(name, "checks")) {
        read_checks(p, &job->checks);
        return O_CHECKS;
    }
    if (pull_view_is(name, "profile")) {
        read_profile(p, &job->profile);
        return O_PROFILE;
    }
    if (pull_view_is(name, "dcgmLevel")) {
        pull_i64(p, 1, DCGM_LEVEL_MAX, &job->dcgm_level);
        return O_LEVEL;
    }
    if (pull_view_is(name, "stressSeconds")) {
        pull_i64(p, 1, STRESS_MAX_S, &job->stress_s);
        return O_STRESS;
    }
    if (pull_view_is(name, "timeLimitMs"))
        pull_i64(p, 1, TIME_LIMIT_MAX_MS, &job->time_limit_ms);
    else
        pull_fail(p, "a member is not one of an order's");
    return O_LIMIT;
}

int deep_read_order(const char *body, size_t len, struct deep_job *ret_job)
{
    struct deep_job job = {0};
    struct pull p;
    struct pull_view name;
    unsigned seen = 0;
    pull_start(&p, body, len);
    pull_object(&p);
    while (pull_member(&p, &name)) {
        unsigned bit = read_member(&p, name, &job);
        if (seen & bit)
            pull_fail(&p, "a member is there twice");
        seen |= bit;
    }
    if (pull_end(&p) != 0 || (seen & O_NEEDED) != O_NEEDED)
        return STATUS_INVALID;
    *ret_job = job;
    return 0;
}

/* --- reports ------------------------------------------------------------------------------------------------- */

static void write_measures(struct text *out, const struct deep_test *test)
{
    text_add(out, ",\"measures\":[");
    for (int64_t i = 0; i < test->measure_count; i++) {
        const struct deep_measure *measure = &test->measures[i];
        shape_put_text(out, i > 0 ? ",{\"name\":" : "{\"name\":", measure->name);
        shape_put_text(out, ",\"value\":", measure->value);
        if (measure->limit[0] != '\0')
            shape_put_text(out, ",\"limit\":", measure->limit);
        if (measure->mark != DEEP_MARK_NONE)
            shape_put_text(out, ",\"mark\":", deep_mark_text(measure->mark));
        text_add_char(out, '}');
    }
    text_add_char(out, ']');
}

/* The end of it that fits, from the beginning of a line; what is no text becomes "?". */
static void write_log(struct text *out, const char *log)
{
    AUTO(text) struct text shown = {0};
    size_t len = strlen(log), room = DEEP_LOG_MAX_BYTES - 1;
    if (len > room) {
        const char *from = strchr(log + len - room, '\n');
        log = from != NULL ? from + 1 : log + len - room;
    }
    bool utf8 = text_is_utf8(log, strlen(log));
    for (; *log != '\0'; log++) {
        unsigned char c = (unsigned char)*log;
        bool fine = c == '\n' || c == '\t' || (c >= ' ' && c < 0x7f) || (utf8 && c >= 0x80);
        text_add_char(&shown, fine ? *log : '?');
    }
    shape_put_text(out, ",\"log\":", text_get(&shown));
}

void deep_write_report(struct text *out, const char *key, int64_t total, const struct deep_test *test, const char *log)
{
    shape_put_text(out, "{\"key\":", key);
    shape_put_i64(out, ",\"final\":false,\"total\":", total);
    shape_put_i64(out, ",\"ordinal\":", test->ordinal);
    shape_put_text(out, ",\"test\":", test->name);
    shape_put_text(out, ",\"check\":", deep_check_text(test->check));
    shape_put_text(out, ",\"state\":", deep_state_text(test->state));
    shape_put_i64(out, ",\"startedAtMs\":", test->started_at);
    shape_put_i64(out, ",\"durationMs\":", test->duration_ms);
    if (test->detail[0] != '\0')
        shape_put_text(out, ",\"detail\":", test->detail);
    if (test->measure_count > 0)
        write_measures(out, test);
    if (log[0] != '\0')
        write_log(out, log);
    text_add_char(out, '}');
}

void deep_write_final(struct text *out, const char *key, int64_t total)
{
    shape_put_text(out, "{\"key\":", key);
    shape_put_i64(out, ",\"final\":true,\"total\":", total);
    text_add_char(out, '}');
}

/* --- what is remembered -------------------------------------------------------------------------------------- */

void deep_write_memory(struct text *out, const struct deep_memory *memory)
{
    shape_put_text(out, "{\"instanceId\":", memory->instance_id);
    shape_put_text(out, ",\"key\":", memory->key);
    shape_put_text(out, ",\"bootId\":", memory->boot_id);
    shape_put_i64(out, ",\"beganAt\":", memory->began_at);
    shape_put_i64(out, ",\"at\":", memory->at);
    shape_put_i64(out, ",\"begun\":", memory->begun);
    shape_put_i64(out, ",\"testAt\":", memory->test_at);
    shape_put_i64(out, ",\"pid\":", memory->pid);
    shape_put_i64(out, ",\"ticks\":", memory->ticks);
    shape_put_i64(out, ",\"over\":", memory->over);
    shape_put_i64(out, ",\"usedMs\":", memory->used_ms);
    shape_put_i64(out, ",\"clockMs\":", memory->clock_ms);
    shape_put_text(out, ",\"clockBootId\":", memory->clock_boot_id);
    text_add_char(out, '}');
}

int deep_read_memory(const char *data, size_t len, struct deep_memory *ret_memory)
{
    struct deep_memory m = {0};
    struct shape_slot slots[] = {
        SHAPE_TEXT("instanceId", m.instance_id),
        SHAPE_TEXT("key", m.key),
        SHAPE_TEXT("bootId", m.boot_id),
        SHAPE_I64("beganAt", m.began_at, 0),
        SHAPE_I64("at", m.at, 0),
        SHAPE_I64("begun", m.begun, 0),
        SHAPE_I64("testAt", m.test_at, 0),
        SHAPE_I64("pid", m.pid, 0),
        SHAPE_I64("ticks", m.ticks, 0),
        SHAPE_I64("over", m.over, 0),
        SHAPE_I64("usedMs", m.used_ms, 0), /* older versions did not write these three */
        SHAPE_I64("clockMs", m.clock_ms, 0),
        SHAPE_TEXT("clockBootId", m.clock_boot_id),
    };
    if (shape_read(data, len, slots, ARRAY_LEN(slots)) != 0 || !shape_all_seen(slots, ARRAY_LEN(slots) - 3))
        return STATUS_INVALID;
    *ret_memory = m;
    return 0;
}
