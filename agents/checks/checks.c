/*
 * The table of checks and their schedule: which one is due, how many run at once, and the data that a run leaves for the next one,
 * also across restarts of the agent. If a process does not die after SIGKILL, its check is not started again until it does: a second
 * process would hang as well.
 */
#include "agents/checks/checks.h"

#include "agents/checks/custom.h"
#include "agents/checks/run.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/id.h"
#include "base/log.h"
#include "base/status.h"
#include "base/text.h"
#include "policy/faults/faults.h"

#include <stdio.h>
#include <string.h>

#define SCAN_MS (30 * MS_PER_S)
#define LAUNCH_WITHIN_MS (3 * MS_PER_S) /* a new machine takes no work before they have looked */
#define KEEP_MS (10 * MS_PER_MIN)       /* data changes with every run, and losing some of it does little harm */

struct slot {
    const struct check *check;
    int64_t due_at;
    enum check_result result; /* of the run before */
    pid_t left;
    char *memory;
    size_t memory_len;
    int64_t base;    /* log id of the data on disk */
    int64_t keep_at; /* when the data may be written next; 0: it is on disk */
    bool keep_now;   /* a report depends on it */
};

struct checks {
    struct checks_options options;
    struct custom_list custom; /* those that are just gone included: who ran them may still name them */
    int64_t scan_at;
    struct slot *slots;
    size_t count;
    struct run runs[CHECKS_AT_ONCE_MAX];
};

static int64_t now_ms(void)
{
    return clock_mono_ms(clock_system());
}

/* --- the table ----------------------------------------------------------------------------------------------- */

#define X(name, period, deadline) &check_##name,
static const struct check *const table[] = {CHECKS_LIST(X)};
#undef X

/* A report of the machine has all of them, and the kernel log. */
_Static_assert(ARRAY_LEN(table) + CUSTOM_MAX + 1 <= CHECK_STATES_MAX, "a report has no room for all checks");

const struct check *const *checks_table(size_t *ret_count)
{
    *ret_count = ARRAY_LEN(table);
    return table;
}

static bool is_called(const struct check *check, const char *name, size_t len)
{
    return strlen(check->name) == len && memcmp(check->name, name, len) == 0;
}

/* Ours before the site's: a name is one check's. */
static const struct check *find_any(const struct checks *checks, const char *name, size_t len)
{
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        if (is_called(table[i], name, len))
            return table[i];
    for (size_t i = 0; i < checks->custom.count; i++)
        if (is_called(checks->custom.checks[i], name, len))
            return checks->custom.checks[i];
    return NULL;
}

const struct check *checks_find(const struct checks *checks, const char *name)
{
    for (size_t i = 0; i < checks->count; i++)
        if (strcmp(checks->slots[i].check->name, name) == 0)
            return checks->slots[i].check;
    return NULL;
}

bool checks_are_meant(const char *names, const char *name)
{
    size_t len = strlen(name);
    for (const char *at = names; *at != '\0'; at += strcspn(at, ","), at += *at == ',')
        if (strcspn(at, ",") == len && memcmp(at, name, len) == 0)
            return true;
    return strcmp(names, "all") == 0;
}

static bool is_wanted(const struct checks *checks, const char *name)
{
    return checks_are_meant(checks->options.names, name);
}

bool checks_may_run(const struct checks *checks, const char *name)
{
    bool unknown = checks->custom.is_unread && find_any(checks, name, strlen(name)) == NULL;
    return checks_find(checks, name) != NULL || (unknown && is_wanted(checks, name));
}

const struct check *checks_at(const struct checks *checks, size_t n)
{
    return n < checks->count ? checks->slots[n].check : NULL;
}

/* --- what the site says otherwise ------------------------------------------------------------------------------ */

static const char *prefix_of(const struct check *check)
{
    return check->own != NULL ? CUSTOM_PREFIX : "";
}

static bool is_enabled(const struct checks *checks, const struct check *check)
{
    bool asked_for = checks->options.once && strcmp(checks->options.names, "all") != 0; /* by hand, by its name */
    return asked_for || agent_settings_of(checks->options.settings, prefix_of(check), check->name, "enabled", 1) != 0;
}

static int64_t period_ms(const struct checks *checks, const struct check *check)
{
    return agent_settings_of(checks->options.settings, prefix_of(check), check->name, "period", check->period_ms);
}

/* A program's own timeout is custom.c's to keep, which wants a moment more to say that it was one. */
static int64_t deadline_ms(const struct checks *checks, const struct check *check)
{
    if (check->own != NULL)
        return custom_deadline_ms(check, checks->options.settings);
    return agent_settings_of(checks->options.settings, "", check->name, "deadline", check->deadline_ms);
}

/* --- made and freed ------------------------------------------------------------------------------------------ */

/* A node's own moment within the time given, by its name and the check's. */
static int64_t jitter(const char *seed, const char *name, int64_t within_ms)
{
    uint64_t hash = hash_text(hash_text(HASH_BASIS, seed), name);
    return within_ms > 0 ? (int64_t)(hash % (uint64_t)within_ms) : 0;
}

/* Caller frees; NULL: nothing is kept. */
static char *memory_path(const struct checks *checks, const struct slot *slot)
{
    const char *dir = checks->options.state_dir;
    return dir[0] == '\0' ? NULL : own_printf("%s/memory-%s", dir, slot->check->name);
}

/* The first line has machine and boot: a disk image may contain the data of the machine that it was made from. */
static char *memory_owner(const struct checks *checks)
{
    return own_printf("%s %s\n", checks->options.instance_id, checks->options.boot_id);
}

static void load_memory(const struct checks *checks, struct slot *slot)
{
    autofree char *path = memory_path(checks, slot), *data = NULL, *owner = memory_owner(checks);
    size_t len, machine = strlen(checks->options.instance_id) + 1;
    slot->base = log_id("", 0);
    if (path == NULL || file_read(path, CHECK_MEMORY_MAX_BYTES + ID_INSTANCE_MAX + BOOT_ID_MAX_BYTES, &data, &len) != 0)
        return;
    const char *feed = memchr(data, '\n', len);
    if (feed == NULL || strncmp(data, owner, slot->check->spans_boots ? machine : strlen(owner)) != 0)
        return;
    slot->memory_len = len - (size_t)(feed + 1 - data);
    slot->memory = own_calloc(slot->memory_len + 1, 1);
    memcpy(slot->memory, feed + 1, slot->memory_len);
    slot->base = log_id(slot->memory, slot->memory_len);
}

/* After a failed write a later run writes the data. The base changes anyway: reports so far depended on this data. */
static void keep_memory(const struct checks *checks, struct slot *slot)
{
    autofree char *path = memory_path(checks, slot), *owner = memory_owner(checks);
    AUTO(text) struct text text = {0};
    slot->keep_at = 0;
    slot->keep_now = false;
    slot->base = log_id(slot->memory, slot->memory_len);
    text_add(&text, owner);
    text_add_bytes(&text, slot->memory, slot->memory_len);
    if (path != NULL && file_write(path, text.data, text.len, 0600) != 0)
        log_debug("what a check remembers cannot be stored path=%s", path);
}

static void take_memory(struct slot *slot, struct check_report *report)
{
    if (report->memory == NULL)
        return;
    bool same = slot->memory != NULL && slot->memory_len == report->memory_len &&
                memcmp(slot->memory, report->memory, report->memory_len) == 0;
    report->base = same ? LOG_NONE : slot->base; /* without a change in the data, events do not depend on it */
    free(slot->memory);
    slot->memory_len = report->memory_len;
    slot->memory = TAKE(report->memory);
    if (!same && slot->keep_at == 0)
        slot->keep_at = now_ms() + KEEP_MS;
    slot->keep_now |= report->observation_count > 0;
}

void checks_keep(struct checks *checks)
{
    for (size_t i = 0; i < checks->count; i++) {
        struct slot *slot = &checks->slots[i];
        if (slot->keep_at > 0 && (slot->keep_now || now_ms() >= slot->keep_at))
            keep_memory(checks, slot);
    }
}

static void add(struct checks *checks, const struct check *check)
{
    int64_t most = checks->options.first_within_ms, period = period_ms(checks, check);
    int64_t within = period < most ? period : most;
    if (text_has_word(fault_launch_checks(), check->name) && within > LAUNCH_WITHIN_MS)
        within = LAUNCH_WITHIN_MS;
    if (checks_find(checks, check->name) != NULL || !is_enabled(checks, check))
        return;
    checks->slots = own_realloc(checks->slots, checks->count + 1, sizeof(*checks->slots));
    checks->slots[checks->count++] = (struct slot){
        .check = check,
        .due_at = checks->options.once ? 0 : now_ms() + jitter(checks->options.instance_id, check->name, within)};
    load_memory(checks, &checks->slots[checks->count - 1]);
}

static void add_custom(struct checks *checks, const struct check *check)
{
    if (find_any(checks, check->name, strlen(check->name)) != check)
        log_warn("a file in the directory of checks has the name of one of ours and is not run name=%s", check->name);
    else
        add(checks, check);
}

static int choose(struct checks *checks, const char *names, char ret_error[CHECKS_ERROR_MAX])
{
    bool all = strcmp(names, "all") == 0;
    for (size_t i = 0; all && i < ARRAY_LEN(table); i++)
        add(checks, table[i]);
    for (size_t i = 0; all && i < checks->custom.count; i++)
        add_custom(checks, checks->custom.checks[i]);
    if (all || strcmp(names, "none") == 0)
        return 0;
    for (const char *at = names;; at++) {
        size_t len = strcspn(at, ",");
        const struct check *check = find_any(checks, at, len);
        if (check == NULL) {
            snprintf(ret_error, CHECKS_ERROR_MAX, "no check is called \"%.*s\"", len < 40 ? (int)len : 40, at);
            return STATUS_INVALID;
        }
        add(checks, check);
        at += len;
        if (*at == '\0')
            return 0;
    }
}

/* What is odd is said when there is more of it than before. */
static void read_directory(struct checks *checks)
{
    const char *dir = checks->options.dir;
    struct custom_list found, *known = &checks->custom;
    custom_load(dir, &found);
    if (found.is_missing && !known->is_missing && strcmp(dir, CUSTOM_DIR_DEFAULT) != 0)
        log_warn("the directory of checks is not there; it is looked for again and again path=%s", dir);
    if (found.is_unread && !known->is_unread)
        log_warn("the directory of checks cannot be read; what is known of it stays path=%s", dir);
    if (found.passed_over > known->passed_over)
        log_warn("files are not taken for checks: their names are too long or odd, or there are too many count=%zu "
                 "path=%s",
                 found.passed_over, dir);
    custom_merge(known, &found);
    checks->scan_at = now_ms() + (checks->options.scan_ms > 0 ? checks->options.scan_ms : SCAN_MS);
}

int checks_new(const struct checks_options *options, struct checks **ret_checks, char ret_error[CHECKS_ERROR_MAX])
{
    struct checks *checks = own_calloc(1, sizeof(*checks));
    checks->options = *options;
    if (options->dir != NULL)
        read_directory(checks);
    int status = choose(checks, options->names, ret_error);
    if (status != 0) {
        checks_free(checks);
        return status;
    }
    *ret_checks = checks;
    return 0;
}

void checks_free(struct checks *checks)
{
    if (checks == NULL)
        return;
    for (size_t i = 0; i < CHECKS_AT_ONCE_MAX; i++)
        run_cancel(&checks->runs[i]);
    for (size_t i = 0; i < checks->count; i++) {
        if (checks->slots[i].keep_at > 0)
            keep_memory(checks, &checks->slots[i]);
        free(checks->slots[i].memory);
    }
    custom_free(&checks->custom);
    free(checks->slots);
    free(checks);
}

/* --- runs ---------------------------------------------------------------------------------------------------- */

static struct slot *slot_of(struct checks *checks, const struct check *check)
{
    for (size_t i = 0; i < checks->count; i++)
        if (checks->slots[i].check == check)
            return &checks->slots[i];
    return NULL;
}

static bool is_running(const struct checks *checks, const struct check *check)
{
    for (size_t i = 0; i < CHECKS_AT_ONCE_MAX; i++)
        if (checks->runs[i].check == check)
            return true;
    return false;
}

static void set_next(struct checks *checks, struct slot *slot)
{
    slot->due_at = checks->options.once ? INT64_MAX : now_ms() + period_ms(checks, slot->check);
}

static void hand_over(const struct checks *checks, struct slot *slot, const struct check_report *report,
                      checks_report_fn *fn, void *arg)
{
    if (report->result != slot->result && !checks->options.once)
        log_info("check=%s result=%s%s%s", slot->check->name, check_result_text(report->result),
                 report->why[0] != '\0' ? " why=" : "", report->why);
    slot->result = report->result;
    fn(slot->check, report, arg);
}

static void finish(struct checks *checks, struct run *run, checks_report_fn *fn, void *arg)
{
    struct slot *slot = slot_of(checks, run->check);
    struct check_report report;
    pid_t left;
    if (!run_turn(run, now_ms(), &report, &left))
        return;
    slot->left = left;
    take_memory(slot, &report);
    set_next(checks, slot);
    hand_over(checks, slot, &report, fn, arg);
    report_free(&report);
}

static void say_unknown(const struct checks *checks, struct slot *slot, const char *why, checks_report_fn *fn,
                        void *arg)
{
    struct check_report report = {.result = CHECK_RESULT_UNKNOWN};
    report_fail(&report, "%s", why);
    hand_over(checks, slot, &report, fn, arg);
}

static void start(struct checks *checks, struct slot *slot, struct run *run, checks_report_fn *fn, void *arg)
{
    const struct check_context context = {.root = checks->options.root,
                                          .path = checks->options.path,
                                          .instance_type = checks->options.instance_type,
                                          .state_dir = checks->options.state_dir,
                                          .own = slot->check->own,
                                          .uptime_ms = now_ms(),
                                          .memory = slot->memory != NULL ? slot->memory : "",
                                          .memory_len = slot->memory_len,
                                          .settings = checks->options.settings,
                                          .deadline_ms = deadline_ms(checks, slot->check)};
    if (slot->left > 0 && !run_is_gone(slot->left)) {
        say_unknown(checks, slot, "an earlier run hangs in the kernel and cannot be ended", fn, arg);
        set_next(checks, slot);
        return;
    }
    slot->left = 0;
    if (run_start(slot->check, &context, now_ms(), run) == 0)
        return;
    say_unknown(checks, slot, "no process can be made", fn, arg);
    set_next(checks, slot);
}

/* --- what comes and goes --------------------------------------------------------------------------------------- */

static void drop(struct checks *checks, size_t n)
{
    for (size_t i = 0; i < CHECKS_AT_ONCE_MAX; i++)
        if (checks->runs[i].check == checks->slots[n].check)
            run_cancel(&checks->runs[i]);
    free(checks->slots[n].memory);
    memmove(&checks->slots[n], &checks->slots[n + 1], (--checks->count - n) * sizeof(*checks->slots));
}

bool checks_scan(struct checks *checks)
{
    const struct custom_list *custom = &checks->custom;
    bool was_unread = custom->is_unread;
    if (checks->options.dir == NULL || checks->options.once || now_ms() < checks->scan_at)
        return false;
    read_directory(checks);
    bool changed = was_unread && !custom->is_unread; /* what is not in it is known now */
    for (size_t i = 0; i < custom->count; i++) {
        const struct check *check = custom->checks[i];
        struct slot *slot = slot_of(checks, check);
        bool wanted = custom->is_there[i] && is_wanted(checks, check->name) && is_enabled(checks, check) &&
                      find_any(checks, check->name, strlen(check->name)) == check;
        if (wanted == (slot != NULL))
            continue;
        log_info("%s name=%s", wanted ? "a check is new in its directory" : "a check is gone from its directory",
                 check->name);
        if (wanted)
            add(checks, check);
        else
            drop(checks, (size_t)(slot - checks->slots));
        changed = true;
    }
    return changed;
}

/* A period that is shorter now counts from now on. */
static void hurry(struct checks *checks)
{
    for (size_t i = 0; i < checks->count; i++) {
        struct slot *slot = &checks->slots[i];
        int64_t latest = now_ms() + period_ms(checks, slot->check);
        slot->due_at = slot->due_at < latest ? slot->due_at : latest;
    }
}

bool checks_tune(struct checks *checks, const struct agent_settings *settings)
{
    bool changed = false;
    checks->options.settings = settings;
    for (size_t i = checks->count; i-- > 0;) {
        if (is_enabled(checks, checks->slots[i].check))
            continue;
        log_info("a check is switched off by the settings name=%s", checks->slots[i].check->name);
        drop(checks, i);
        changed = true;
    }
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        if (!is_wanted(checks, table[i]->name) || slot_of(checks, table[i]) != NULL || !is_enabled(checks, table[i]))
            continue;
        log_info("a check is switched on by the settings name=%s", table[i]->name);
        add(checks, table[i]);
        changed = true;
    }
    hurry(checks);
    checks->scan_at = 0; /* programs of checks.d come back with the next look */
    return changed;
}

/* The one that is due for longest. */
static struct slot *next_due(struct checks *checks)
{
    struct slot *next = NULL;
    for (size_t i = 0; i < checks->count; i++) {
        struct slot *slot = &checks->slots[i];
        bool due = slot->due_at <= now_ms() && !is_running(checks, slot->check);
        if (due && (next == NULL || slot->due_at < next->due_at))
            next = slot;
    }
    return next;
}

void checks_turn(struct checks *checks, checks_report_fn *fn, void *arg)
{
    for (size_t i = 0; i < CHECKS_AT_ONCE_MAX; i++) {
        struct run *run = &checks->runs[i];
        if (run->check != NULL)
            finish(checks, run, fn, arg);
        for (struct slot *slot; run->check == NULL && (slot = next_due(checks)) != NULL;)
            start(checks, slot, run, fn, arg);
    }
}

size_t checks_fds(const struct checks *checks, struct pollfd ret_fds[CHECKS_FDS_MAX])
{
    size_t count = 0;
    for (size_t i = 0; i < CHECKS_AT_ONCE_MAX; i++) {
        const struct run *run = &checks->runs[i];
        if (run->check == NULL)
            continue;
        ret_fds[count++] = (struct pollfd){.fd = run->exit_fd, .events = POLLIN};
        ret_fds[count++] = (struct pollfd){.fd = run->fd, .events = POLLIN}; /* -1 once it is at its end: ignored */
    }
    return count;
}

int64_t checks_due_ms(const struct checks *checks)
{
    int64_t due = INT64_MAX;
    bool room = false;
    for (size_t i = 0; i < CHECKS_AT_ONCE_MAX; i++) {
        const struct run *run = &checks->runs[i];
        room |= run->check == NULL;
        if (run->check != NULL && run->deadline_at < due)
            due = run->deadline_at;
    }
    for (size_t i = 0; room && i < checks->count; i++)
        if (checks->slots[i].due_at < due && !is_running(checks, checks->slots[i].check))
            due = checks->slots[i].due_at;
    return due;
}
