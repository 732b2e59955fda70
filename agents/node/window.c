/*
 * The table of open windows. A window is reported again under the same key when it has grown. The latest report is complete; an
 * earlier one may be lost.
 *
 * Lines of one code that ask for different actions get separate windows. Example: Xid 154 carries the action that the driver
 * requests, and "reboot" after "none" must not disappear in a count.
 */
#include "agents/node/window.h"

#include "base/text.h"
#include "policy/faults/faults.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define KEY_TEXT_MAX (BOOT_ID_MAX_BYTES + SOURCE_MAX_BYTES + CODE_MAX_BYTES + DEVICE_MAX_BYTES + 64)

void verdict_make_key(struct verdict *verdict, const struct log_place *place)
{
    char text[KEY_TEXT_MAX];
    int len =
        snprintf(text, sizeof(text), "%s|%s|%s|%s|", verdict->boot_id, verdict->source, verdict->code, verdict->device);
    if (place->log != 0)
        len += snprintf(text + len, sizeof(text) - (size_t)len, "%" PRId64 ":%" PRId64, place->log, place->offset);
    else
        len += snprintf(text + len, sizeof(text) - (size_t)len, "%" PRId64, verdict->first_at);
    id_sha256_hex(text, (size_t)len, verdict->key);
}

void windows_init(struct windows *windows, const char *instance_id, const char *boot_id)
{
    memset(windows, 0, sizeof(*windows));
    text_copy_cut(windows->instance_id, sizeof(windows->instance_id), instance_id);
    text_copy_cut(windows->boot_id, sizeof(windows->boot_id), boot_id);
}

static bool is_same_fault(const struct window *window, const struct finding *finding)
{
    return window->used && strcmp(window->verdict.code, finding->code) == 0 &&
           strcmp(window->verdict.device, finding->device) == 0 && strcmp(window->verdict.source, finding->source) == 0;
}

static struct window *find(struct windows *windows, const struct finding *finding)
{
    for (size_t i = 0; i < WINDOW_COUNT_MAX; i++) {
        struct window *window = &windows->slots[i];
        if (is_same_fault(window, finding) && window->action == finding->action &&
            finding->mono_ms >= window->reach.began_at && finding->mono_ms < window->reach.began_at + WINDOW_MS)
            return window;
    }
    return NULL;
}

/* The window that has counted this finding already, in an earlier process of the agent. */
static struct window *find_counted(struct windows *windows, const struct finding *finding)
{
    for (size_t i = 0; i < WINDOW_COUNT_MAX && finding->place.log != 0; i++) {
        struct window *window = &windows->slots[i];
        if (is_same_fault(window, finding) && window->action == finding->action &&
            window->reach.place.log == finding->place.log && finding->place.offset <= window->reach.place.offset)
            return window;
    }
    return NULL;
}

static void report_one(struct windows *windows, struct window *window, int64_t now_ms, verdict_fn *on_verdict,
                       void *arg)
{
    on_verdict(&window->verdict, &window->reach, arg);
    window->reported = true;
    window->grew = false;
    window->reported_at = now_ms;
    windows->changed = true;
}

/* A free slot, or the least recently used one. */
static struct window *take_slot(struct windows *windows, int64_t now_ms, verdict_fn *on_verdict, void *arg)
{
    struct window *oldest = &windows->slots[0];
    for (size_t i = 0; i < WINDOW_COUNT_MAX; i++) {
        struct window *window = &windows->slots[i];
        if (!window->used)
            return window;
        if (window->reach.touched_at < oldest->reach.touched_at)
            oldest = window;
    }
    if (!oldest->reported || oldest->grew)
        report_one(windows, oldest, now_ms, on_verdict, arg);
    return oldest;
}

/* Without a place, two windows of one fault that begin in the same millisecond would share a key. */
static int64_t free_start(const struct windows *windows, const struct finding *finding)
{
    int64_t start = finding->at_ms;
    for (size_t i = 0; i < WINDOW_COUNT_MAX && finding->place.log == 0; i++)
        if (is_same_fault(&windows->slots[i], finding) && windows->slots[i].verdict.first_at == start) {
            start++;
            i = (size_t)-1;
        }
    return start;
}

void window_make_verdict(const struct finding *finding, const char *instance_id, const char *boot_id, int64_t first_at,
                         struct verdict *ret_verdict)
{
    struct verdict v = {
        .severity = finding->severity, .first_at = first_at, .last_at = first_at, .count = finding->count};
    text_copy_cut(v.instance_id, sizeof(v.instance_id), instance_id);
    text_copy_cut(v.boot_id, sizeof(v.boot_id), boot_id);
    text_copy_cut(v.source, sizeof(v.source), finding->source);
    memcpy(v.code, finding->code, sizeof(v.code));
    memcpy(v.device, finding->device, sizeof(v.device));
    memcpy(v.raw_line, finding->raw_line, sizeof(v.raw_line));
    text_copy_cut(v.table_version, sizeof(v.table_version), fault_table_version());
    verdict_make_key(&v, &finding->place);
    *ret_verdict = v;
}

static void open_window(struct windows *windows, struct window *window, const struct finding *finding, int64_t now_ms)
{
    int64_t start = free_start(windows, finding);
    *window = (struct window){.action = finding->action, .used = true};
    window->reach = (struct reach){finding->place, finding->count, finding->mono_ms, now_ms};
    window_make_verdict(finding, windows->instance_id, windows->boot_id, start, &window->verdict);
}

static void grow(struct window *window, const struct finding *finding, int64_t count, int64_t now_ms)
{
    window->verdict.count += count;
    if (finding->at_ms > window->verdict.last_at)
        window->verdict.last_at = finding->at_ms;
    window->grew = true;
    window->reach.touched_at = now_ms;
}

/* A finding that is read again adds nothing, except that the last one may have a larger count by now. */
static void add_again(struct window *window, const struct finding *finding, int64_t now_ms)
{
    int64_t more = finding->count - window->reach.place_count;
    if (finding->place.offset < window->reach.place.offset || more <= 0)
        return;
    grow(window, finding, more, now_ms);
    window->reach.place_count = finding->count;
}

void windows_add(struct windows *windows, const struct finding *finding, int64_t now_ms, verdict_fn *on_verdict,
                 void *arg)
{
    struct window *window = find_counted(windows, finding);
    windows->changed = true;
    if (window != NULL) {
        add_again(window, finding, now_ms);
        return;
    }
    window = find(windows, finding);
    if (window == NULL) {
        window = take_slot(windows, now_ms, on_verdict, arg);
        open_window(windows, window, finding, now_ms);
        return;
    }
    grow(window, finding, finding->count, now_ms);
    if (finding->place.log != 0) {
        window->reach.place = finding->place;
        window->reach.place_count = finding->count;
    }
}

void windows_restore(struct windows *windows, const struct verdict *verdict, const struct reach *reach, bool grew,
                     int64_t now_ms)
{
    struct window *window = NULL;
    struct fault_judgement judgement;
    if (strcmp(verdict->instance_id, windows->instance_id) != 0)
        return; /* of what the machine was before */
    for (size_t i = 0; i < WINDOW_COUNT_MAX; i++) {
        struct window *slot = &windows->slots[i];
        if (slot->used && strcmp(slot->verdict.key, verdict->key) == 0)
            window = slot;
        else if (!slot->used && window == NULL)
            window = slot;
    }
    if (window == NULL || (window->used && window->verdict.count >= verdict->count))
        return;
    fault_judge(verdict->source, verdict->code, verdict->raw_line, &judgement);
    *window = (struct window){.verdict = *verdict,
                              .reach = *reach,
                              .action = judgement.action,
                              .used = true,
                              .reported = true,
                              .grew = grew,
                              .reported_at = now_ms};
    /* Kept long enough to recognize what is read again, and in the order of use: else the busiest could be evicted. */
    int64_t idle_ms = now_ms - reach->touched_at;
    window->reach.touched_at = now_ms - (idle_ms < 0 ? 0 : idle_ms > WINDOW_MS / 2 ? WINDOW_MS / 2 : idle_ms);
    windows->changed = true;
}

void windows_flush(struct windows *windows, int64_t now_ms, bool all, verdict_fn *on_verdict, void *arg)
{
    for (size_t i = 0; i < WINDOW_COUNT_MAX; i++) {
        struct window *window = &windows->slots[i];
        if (!window->used)
            continue;
        bool over = now_ms - window->reach.touched_at >= WINDOW_MS;
        bool due = all || over || now_ms - window->reported_at >= WINDOW_UPDATE_MS;
        if (!window->reported || (window->grew && due))
            report_one(windows, window, now_ms, on_verdict, arg);
        if (over)
            window->used = false;
        windows->changed |= over;
    }
}

int64_t windows_due_ms(const struct windows *windows)
{
    int64_t due = INT64_MAX;
    for (size_t i = 0; i < WINDOW_COUNT_MAX; i++) {
        const struct window *window = &windows->slots[i];
        if (!window->used)
            continue;
        int64_t at = !window->reported ? 0
                     : window->grew    ? window->reported_at + WINDOW_UPDATE_MS
                                       : window->reach.touched_at + WINDOW_MS;
        if (at < due)
            due = at;
    }
    return due;
}

bool windows_grew(const struct windows *windows)
{
    for (size_t i = 0; i < WINDOW_COUNT_MAX; i++)
        if (windows->slots[i].used && (windows->slots[i].grew || !windows->slots[i].reported))
            return true;
    return false;
}
