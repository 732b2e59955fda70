/*
 * The loop of hp-agent, and what happens to a fault line on its way:
 *
 *     kernel log ─┬─finding──► window ──verdict──┬─► spool (fsync) ──report──► server (200) ──► gone from the spool
 *     checks ─────┴──state───► standing ─────────┘
 *
 * Only the lookup of the server's name blocks. A slow server delays no line.
 *
 * The position in the log is stored together with the open windows. It is stored after the verdicts of the lines before it are in the
 * spool, and before they are sent. After a crash some lines are read twice. A window knows which lines it has counted, and the
 * key of a verdict is made from the place of its first line, so the result is the same verdict with the same count.
 */
#include "agents/node/agent.h"

#include "agents/checks/checks.h"
#include "agents/checks/custom.h"
#include "agents/checks/kmsg.h"
#include "agents/deep/deep.h"
#include "agents/node/health_event.h"
#include "agents/node/inventory.h"
#include "agents/node/link.h"
#include "agents/node/metrics.h"
#include "agents/node/progress.h"
#include "agents/node/reset.h"
#include "agents/node/settings.h"
#include "agents/node/standing.h"
#include "agents/node/window.h"
#include "base/file.h"
#include "base/log.h"
#include "base/own.h"
#include "base/status.h"
#include "policy/faults/faults.h"

#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PROGRESS_SAVE_MS 30000 /* without faults: reading lines again is cheaper than writing a file */
#define UNWATCHED_READ_MS 1000 /* for a log that cannot be polled */
#define RETRY_DISK_MS 10000
#define STANDING_BYTES_MAX (STANDING_MAX * SPOOL_RECORD_BYTES_MAX)

struct agent {
    struct state state;
    struct spool *spool;
    struct wire *wire;
    struct kmsg *kmsg;
    struct windows windows;
    struct checks *checks;
    struct metrics *metrics; /* NULL: no listener is configured */
    struct standing standing;
    struct inventory inventory;
    struct settings settings;
    bool log_level_given, log_level_said;
    struct link link;
    struct runner_options runners;
    char *program;                          /* that is started as a runner */
    char event_trouble[SENTENCE_MAX_BYTES]; /* the newest critical event of this boot; "": none */
    bool was_reset;                         /* a reset is under way, or its end is not handled yet */
    char instance_id[ID_INSTANCE_MAX];
    bool allow_inject, health_events;
    bool is_known; /* progress of an earlier process was loaded */
    bool more_to_read, disk_complained, spooled_now;
    struct kmsg_position saved;
    int64_t save_at, read_at, disk_at;
    int64_t dropped_reported;
    struct text record;
    char boot_id[BOOT_ID_MAX_BYTES];
};

static int64_t now_ms(void)
{
    return clock_mono_ms(clock_system());
}

/* --- lines to spool ------------------------------------------------------------------------------------------ */

/* The first 64 bits of the key. */
static uint64_t short_id(const char *key)
{
    uint64_t id = 0;
    for (int i = 0; i < 16 && key[i] != '\0'; i++)
        id = id << 4 | (uint64_t)(key[i] <= '9' ? key[i] - '0' : key[i] - 'a' + 10);
    return id;
}

static void on_verdict(const struct verdict *verdict, const struct reach *reach, void *arg)
{
    struct agent *agent = arg;
    text_clear(&agent->record);
    message_write_record(&agent->record, verdict, reach);
    int status = spool_append(agent->spool, short_id(verdict->key), verdict->severity == SEVERITY_CRITICAL,
                              agent->record.data, agent->record.len);
    agent->spooled_now = true;
    log_info("seen code=%s device=%s severity=%s count=%" PRId64 " line=%s", verdict->code, verdict->device,
             severity_text(verdict->severity), verdict->count, verdict->raw_line);
    autofree char *event = agent->health_events ? health_event_line(verdict, clock_wall_ms(clock_system())) : NULL;
    if (event != NULL) {
        printf("%s\n", event);
        fflush(stdout);
    }
    if (status != 0 && !agent->disk_complained) {
        log_error("the spool takes no more; verdicts are kept in memory and sent from there: %s",
                  status_meaning(status));
        agent->disk_complained = true;
    }
    if (spool_dropped(agent->spool) > agent->dropped_reported)
        log_error("the spool is full; verdicts were dropped dropped=%" PRId64, spool_dropped(agent->spool));
    agent->dropped_reported = spool_dropped(agent->spool);
}

static void say_trouble(const struct verdict *verdict, char ret_trouble[SENTENCE_MAX_BYTES])
{
    snprintf(ret_trouble, SENTENCE_MAX_BYTES, "%s %.64s: %.380s", verdict->code, verdict->device, verdict->raw_line);
}

static void on_event(const struct verdict *verdict, const struct reach *reach, void *arg)
{
    struct agent *agent = arg;
    if (verdict->severity == SEVERITY_CRITICAL)
        say_trouble(verdict, agent->event_trouble);
    on_verdict(verdict, reach, agent);
}

static void on_finding(const struct finding *finding, void *arg)
{
    struct agent *agent = arg;
    windows_add(&agent->windows, finding, now_ms(), on_event, agent);
}

static void save_progress(struct agent *agent)
{
    struct kmsg_position at = kmsg_position(agent->kmsg);
    agent->save_at = now_ms() + PROGRESS_SAVE_MS;
    bool same = at.file == agent->saved.file && at.offset == agent->saved.offset &&
                at.emptied == agent->saved.emptied && at.earlier_boot == agent->saved.earlier_boot &&
                strcmp(at.cursor, agent->saved.cursor) == 0;
    if (!spool_is_durable(agent->spool) || (same && !agent->windows.changed))
        return;
    if (progress_save(&agent->state, agent->boot_id, &at, &agent->windows) != 0) {
        log_debug("how far the kernel log was read cannot be stored");
        return;
    }
    agent->saved = at;
    agent->windows.changed = false;
}

static void read_log(struct agent *agent)
{
    bool was_open = kmsg_is_open(agent->kmsg);
    agent->more_to_read = kmsg_read(agent->kmsg, on_finding, agent);
    agent->read_at = now_ms() + UNWATCHED_READ_MS;
    agent->link.kmsg_covered = kmsg_is_open(agent->kmsg);
    agent->link.machine_changed |= was_open != agent->link.kmsg_covered;
    if (was_open != agent->link.kmsg_covered)
        log_info("kernel log %s", was_open ? "can no longer be read" : "is being read");
}

/* Reports what is due. Progress is stored after each report, and from time to time. */
static void flush(struct agent *agent, bool all)
{
    windows_flush(&agent->windows, now_ms(), all, on_event, agent);
    if (all || agent->spooled_now || now_ms() >= agent->save_at)
        save_progress(agent);
    agent->spooled_now = false;
    spool_trim(agent->spool);
}

static void save_standing(void *arg)
{
    const struct agent *agent = arg;
    autofree char *path = state_path(&agent->state, "standing");
    AUTO(text) struct text lines = {0};
    standing_write(&agent->standing, &lines);
    if (file_write(path, text_get(&lines), lines.len, 0600) != 0)
        log_debug("the states that last cannot be stored");
}

static void on_report(const struct check *check, const struct check_report *report, void *arg)
{
    struct agent *agent = arg;
    int64_t wall_ms = clock_wall_ms(clock_system());
    if (agent->metrics != NULL)
        metrics_note(agent->metrics, check, report);
    for (size_t i = 0; i < report->observation_count; i++) {
        struct finding finding = check_finding(check->name, &report->observations[i], wall_ms);
        finding.mono_ms = now_ms();
        finding.place = report_place(report, i);
        if (report->observations[i].is_event)
            on_finding(&finding, agent);
    }
    inventory_take(&agent->inventory, check->name, report);
    agent->link.machine_changed |= agent->inventory.changed;
    agent->inventory.changed = false;
    const struct standing_to to = {on_verdict, save_standing, agent};
    standing_take(&agent->standing, check->name, report, now_ms(), wall_ms, &to);
}

static void retry_disk(struct agent *agent)
{
    agent->disk_at = now_ms() + RETRY_DISK_MS;
    if (!agent->disk_complained || spool_retry(agent->spool) != 0)
        return;
    log_info("the spool can be written again");
    agent->disk_complained = false;
}

/* --- orders -------------------------------------------------------------------------------------------------- */

static bool on_inject(const char *line, void *arg)
{
    struct agent *agent = arg;
    if (!agent->allow_inject) {
        log_warn("the server asks to write into the kernel log; refused, because --allow-inject is not set line=%s",
                 line);
        return false;
    }
    int status = kmsg_inject(agent->kmsg, line);
    if (status != 0)
        log_error("the line cannot be written into the kernel log: %s line=%s", status_meaning(status), line);
    else
        log_warn("wrote into the kernel log as the server asked line=%s", line);
    return status == 0;
}

/* A device reset keeps the boot id. So states and hardware are reported again after it. */
static void look_anew(struct agent *agent)
{
    agent->was_reset = false;
    agent->event_trouble[0] = '\0';
    standing_renew(&agent->standing);
    inventory_renew(&agent->inventory);
    agent->link.machine_changed = true;
}

/* A running runner continues. One that ended before its final report is started again by the next heartbeat. */
static void on_order(enum runner_id id, const char *key, void *arg)
{
    struct agent *agent = arg;
    if (key[0] == '\0') {
        if (id == RUNNER_RESET && agent->was_reset)
            look_anew(agent);
        return;
    }
    agent->was_reset |= id == RUNNER_RESET;
    const struct runner_kind *kind = runner_kind(id);
    int status = runner_begin(kind, &agent->runners, agent->program, key);
    if (status == 0)
        log_info("asked for %s key=%s", kind->about, key);
    else if (status != STATUS_CONFLICT)
        log_error("%s cannot be begun: %s key=%s", kind->about, status_meaning(status), key);
}

static void on_machine(struct text *out, void *arg)
{
    struct agent *agent = arg;
    inventory_note(&agent->inventory, KMSG_SOURCE, agent->link.kmsg_covered);
    agent->inventory.changed = false;
    message_write_machine(out, &agent->inventory.report, clock_wall_ms(clock_system()));
}

/* --- a machine that waits to be used ---------------------------------------------------------------------------- */

static bool are_all_checked(const struct agent *agent)
{
    const struct machine_report *report = &agent->inventory.report;
    for (size_t i = 0; i < report->check_count; i++)
        if (!report->checks[i].has_run)
            return false;
    return true;
}

static void on_spare(struct text *out, void *arg)
{
    struct agent *agent = arg;
    char trouble[SENTENCE_MAX_BYTES];
    text_copy_cut(trouble, sizeof(trouble), agent->event_trouble);
    for (size_t i = 0; i < agent->standing.count && trouble[0] == '\0'; i++)
        if (agent->standing.states[i].verdict.severity == SEVERITY_CRITICAL)
            say_trouble(&agent->standing.states[i].verdict, trouble);
    inventory_note(&agent->inventory, KMSG_SOURCE, agent->link.kmsg_covered);
    message_write_spare(out, agent->link.options.machine, agent->boot_id, are_all_checked(agent), trouble);
}

bool agent_begins_anew(const struct agent *agent)
{
    return agent->link.becomes[0] != '\0';
}

/* --- settings ------------------------------------------------------------------------------------------------ */

static void take_checks(struct agent *agent);

_Static_assert(LOG_LEVEL_DEBUG == 0 && LOG_LEVEL_ERROR == 3, "levels of settings are these");

/* Takes effect without a restart. */
static void apply_settings(struct agent *agent)
{
    const struct settings *settings = &agent->settings;
    if (checks_tune(agent->checks, &settings->both))
        take_checks(agent);
    int64_t level = agent_settings_of(&settings->both, "", "log", "level", -1);
    if (!agent->log_level_given && (level >= 0 || agent->log_level_said))
        log_set_level(level >= 0 ? (enum log_level)level : LOG_LEVEL_INFO);
    agent->log_level_said = level >= 0;
    agent->link.settings_tag = settings->tag;
    agent->link.settings_said |= settings_are_said(settings);
    agent->link.settings_changed = agent->link.settings_said;
}

static bool is_settings_news(uint64_t tag, void *arg)
{
    const struct agent *agent = arg;
    return settings_is_news(&agent->settings, tag);
}

static void on_settings(const char *body, size_t len, void *arg)
{
    struct agent *agent = arg;
    if (settings_take(&agent->settings, body, len) != 0)
        log_warn("the server said something unknown of the settings; ignored bytes=%zu", len);
    else
        apply_settings(agent);
}

static void on_settings_said(struct text *out, void *arg)
{
    const struct agent *agent = arg;
    settings_write_report(&agent->settings, out);
}

/* --- made and freed ------------------------------------------------------------------------------------------ */

void agent_options_init(struct agent_options *options)
{
    *options = (struct agent_options){.boot_id_file = "/proc/sys/kernel/random/boot_id",
                                      .checks = "all",
                                      .checks_dir = CUSTOM_DIR_DEFAULT,
                                      .settings = SETTINGS_FILE_DEFAULT,
                                      .checks_root = "",
                                      .instance_type = "",
                                      .checks_first_ms = CHECKS_FIRST_WITHIN_MS,
                                      .heartbeat_interval_ms = AGENT_HEARTBEAT_DEFAULT_MS,
                                      .timeout_ms = AGENT_TIMEOUT_MS,
                                      .backoff_min_ms = AGENT_BACKOFF_MIN_MS,
                                      .backoff_max_ms = AGENT_BACKOFF_MAX_MS,
                                      .probe_ms = AGENT_PROBE_MS,
                                      .token_ms = AGENT_TOKEN_MS,
                                      .spool_bytes_max = SPOOL_BYTES_MAX};
}

static int fail(int status, char ret_error[AGENT_ERROR_MAX], const char *what, const char *why)
{
    snprintf(ret_error, AGENT_ERROR_MAX, "%.150s: %.100s", what, why);
    return status;
}

static int open_state(struct agent *agent, const struct agent_options *options, char instance_id[ID_INSTANCE_MAX],
                      char ret_error[AGENT_ERROR_MAX])
{
    int status = state_open(options->state_dir, &agent->state);
    if (status == STATUS_CONFLICT)
        return fail(status, ret_error, options->state_dir, "another agent uses this directory");
    if (status != 0)
        return fail(status, ret_error, options->state_dir, status_meaning(status));
    if (options->instance_id != NULL)
        status = text_copy(instance_id, ID_INSTANCE_MAX, options->instance_id);
    else
        status = state_own_instance_id(&agent->state, options->checks_root, instance_id);
    if (status == STATUS_CONFLICT)
        return fail(status, ret_error, options->state_dir,
                    "it was made on another machine; empty it, or give this one an --instance-id");
    if (status != 0)
        return fail(status, ret_error, "the instance id", status_meaning(status));
    status = state_read_line(options->boot_id_file, agent->boot_id, sizeof(agent->boot_id));
    if (status != 0)
        return fail(status, ret_error, options->boot_id_file, status_meaning(status));
    return 0;
}

/* A spooled verdict of this boot may be newer than the stored progress. Records of older versions have no reach. */
static void restore_windows(struct agent *agent)
{
    struct verdict verdict;
    struct reach reach;
    for (uint64_t serial = 0; spool_next(agent->spool, serial, &serial);) {
        if (spool_read(agent->spool, serial, &agent->record) != 0 ||
            message_read_record(agent->record.data, agent->record.len, &verdict, &reach) != 0 || verdict.over ||
            strcmp(verdict.boot_id, agent->boot_id) != 0)
            continue;
        if (verdict.severity == SEVERITY_CRITICAL && reach.place.log != LOG_STANDING)
            say_trouble(&verdict, agent->event_trouble);
        int64_t age_ms = clock_wall_ms(clock_system()) - verdict.first_at;
        if (reach.began_at == 0)
            reach.began_at = age_ms > 0 && age_ms < now_ms() ? now_ms() - age_ms : now_ms();
        windows_restore(&agent->windows, &verdict, &reach, false, now_ms());
    }
}

static int open_spool(struct agent *agent, const struct agent_options *options, char ret_error[AGENT_ERROR_MAX])
{
    autofree char *path = state_path(&agent->state, "spool");
    size_t damaged = 0;
    int status = spool_open(path, options->spool_bytes_max, &agent->spool, &damaged);
    if (status != 0)
        return fail(status, ret_error, path, status_meaning(status));
    if (damaged > 0)
        log_warn("the spool had bytes that are no whole record; passed over bytes=%zu", damaged);
    agent->is_known = progress_load(&agent->state, agent->boot_id, &agent->windows, now_ms(), &agent->saved) == 0;
    restore_windows(agent);
    return 0;
}

static bool is_run(const char *source, void *arg)
{
    const struct agent *agent = arg;
    return checks_find(agent->checks, source) != NULL;
}

static bool may_run(const char *source, void *arg)
{
    const struct agent *agent = arg;
    return checks_may_run(agent->checks, source);
}

/* Forgets checks that no longer run. A state ends only if its check surely does not run: its end is reported as a recovery. */
static void take_checks(struct agent *agent)
{
    inventory_forget(&agent->inventory, is_run, agent);
    if (agent->metrics != NULL)
        metrics_forget(agent->metrics, is_run, agent);
    inventory_expect(&agent->inventory, KMSG_SOURCE);
    for (size_t i = 0; checks_at(agent->checks, i) != NULL; i++)
        inventory_expect(&agent->inventory, checks_at(agent->checks, i)->name);
    if (standing_end_others(&agent->standing, may_run, now_ms(), clock_wall_ms(clock_system()), on_verdict, agent))
        save_standing(agent);
}

static int open_checks(struct agent *agent, const struct agent_options *options, char ret_error[AGENT_ERROR_MAX])
{
    autofree char *path = state_path(&agent->state, "standing"), *kept = NULL;
    size_t len = 0;
    char error[CHECKS_ERROR_MAX];
    const struct checks_options checks = {.names = options->checks,
                                          .root = options->checks_root,
                                          .instance_type = options->instance_type,
                                          .state_dir = agent->state.dir,
                                          .dir = options->checks_dir,
                                          .settings = &agent->settings.both,
                                          .boot_id = agent->boot_id,
                                          .first_within_ms = options->checks_first_ms,
                                          .instance_id = agent->instance_id};
    standing_init(&agent->standing, agent->instance_id, agent->boot_id);
    if (file_read(path, STANDING_BYTES_MAX, &kept, &len) == 0)
        standing_read(&agent->standing, kept, len, now_ms());
    int status = checks_new(&checks, &agent->checks, error);
    if (status != 0)
        return fail(status, ret_error, "--checks", error);
    inventory_init(&agent->inventory, agent->instance_id, agent->boot_id);
    take_checks(agent);
    status = options->metrics != NULL ? metrics_open(options->metrics, &agent->metrics) : 0;
    return status == 0 ? 0
                       : fail(status, ret_error, options->metrics,
                              status == STATUS_INVALID ? "no IP address and port, such as 127.0.0.1:9101"
                                                       : "cannot be listened at");
}

/* The path of this program, so that ps shows a known name. After an update has replaced the file: /proc/self/exe. */
static char *find_runner(const struct agent_options *options)
{
    char path[PATH_MAX];
    if (options->runner != NULL)
        return own_strdup(options->runner);
    ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);
    path[len < 0 ? 0 : len] = '\0';
    return own_strdup(len > 0 && access(path, X_OK) == 0 ? path : "/proc/self/exe");
}

static void set_up_runners(struct agent *agent, const struct agent_options *options)
{
    agent->program = find_runner(options);
    agent->runners = (struct runner_options){.url = options->url,
                                             .fingerprint = options->fingerprint,
                                             .state_dir = options->state_dir,
                                             .instance_id = agent->instance_id,
                                             .boot_id_file = options->boot_id_file,
                                             .address = options->address,
                                             .log = options->lifecycle_log,
                                             .ca_file = options->ca_file,
                                             .s3_config = options->s3_config,
                                             .config_dir = options->config_dir,
                                             .reboot_command = options->reboot_command,
                                             .allow_reboot = options->allow_reboot,
                                             .refused = options->no_lifecycle};
    agent->link.resets = reset_is_offered(NULL);
    agent->link.reboots = options->allow_reboot;
    agent->link.on_order = on_order;
    agent->link.is_settings_news = is_settings_news;
    agent->link.on_settings = on_settings;
    agent->link.write_settings = on_settings_said;
    agent->link.write_machine = on_machine;
    agent->link.machine_changed = true;
    agent->link.write_spare = on_spare;
    agent->link.deep_checks = deep_offers();
}

static int set_up(struct agent *agent, const struct agent_options *options, char ret_error[AGENT_ERROR_MAX])
{
    char *instance_id = agent->instance_id, wire_error[WIRE_ERROR_MAX];
    int status = open_state(agent, options, instance_id, ret_error);
    if (status != 0)
        return status;
    windows_init(&agent->windows, instance_id, agent->boot_id);
    settings_open(&agent->settings, options->settings, options->state_dir, instance_id);
    settings_leave_out(&agent->settings, options->checks);
    agent->log_level_given = options->log_level_given;
    if ((status = open_spool(agent, options, ret_error)) != 0 || (status = open_checks(agent, options, ret_error)) != 0)
        return status;
    const struct wire_options wire = {
        .url = options->url, .fingerprint = options->fingerprint, .timeout_ms = options->timeout_ms};
    if ((status = wire_new(&wire, &agent->wire, wire_error)) != 0)
        return fail(status, ret_error, "--server", wire_error);
    const struct link_options link = {.node = options->node,
                                      .machine = options->machine,
                                      .token_file = options->token_file,
                                      .address = options->address,
                                      .heartbeat_interval_ms = options->heartbeat_interval_ms,
                                      .backoff_min_ms = options->backoff_min_ms,
                                      .backoff_max_ms = options->backoff_max_ms,
                                      .probe_ms = options->probe_ms,
                                      .token_ms = options->token_ms};
    link_init(&agent->link, &link, clock_system(), agent->wire, agent->spool, &agent->state, instance_id,
              agent->boot_id);
    agent->link.on_inject = on_inject;
    set_up_runners(agent, options);
    apply_settings(agent);
    agent->link.arg = agent;
    agent->kmsg = kmsg_new(options->kmsg, agent->is_known ? &agent->saved : NULL, clock_system());
    kmsg_take_tests(agent->kmsg, options->allow_inject); /* injected test lines have facility user */
    agent->link.kmsg_covered = kmsg_is_open(agent->kmsg);
    if (!agent->link.kmsg_covered)
        log_warn("the kernel log cannot be read yet path=%s", options->kmsg != NULL ? options->kmsg : KMSG_DEVICE);
    else if (agent->saved.earlier_boot)
        save_progress(agent); /* what follows belongs to this boot: a crash must not skip it */
    return 0;
}

int agent_new(const struct agent_options *options, struct agent **ret_agent, char ret_error[AGENT_ERROR_MAX])
{
    struct agent *agent = own_calloc(1, sizeof(*agent));
    agent->allow_inject = options->allow_inject;
    agent->health_events = options->health_events;
    agent->more_to_read = true;
    agent->save_at = now_ms() + PROGRESS_SAVE_MS;
    int status = set_up(agent, options, ret_error);
    if (status != 0) {
        agent_free(agent);
        return status;
    }
    *ret_agent = agent;
    return 0;
}

void agent_free(struct agent *agent)
{
    if (agent == NULL)
        return;
    if (agent->kmsg != NULL)
        flush(agent, true);
    link_clear(&agent->link);
    checks_free(agent->checks);
    settings_close(&agent->settings);
    metrics_free(agent->metrics);
    standing_clear(&agent->standing);
    kmsg_free(agent->kmsg);
    wire_free(agent->wire);
    spool_free(agent->spool);
    state_close(&agent->state);
    text_free(&agent->record);
    free(agent->program);
    free(agent);
}

struct agent_figures agent_figures(const struct agent *agent)
{
    return (struct agent_figures){.spooled = spool_count(agent->spool),
                                  .dropped = spool_dropped(agent->spool),
                                  .refused = agent->link.refused,
                                  .known = agent->link.standing == LINK_KNOWN};
}

/* --- the loop ------------------------------------------------------------------------------------------------ */

static int64_t earliest(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t due_ms(const struct agent *agent)
{
    int64_t due = earliest(link_due_ms(&agent->link), windows_due_ms(&agent->windows));
    if (agent->more_to_read)
        return 0;
    due = earliest(due, checks_due_ms(agent->checks));
    if (agent->metrics != NULL)
        due = earliest(due, metrics_due_ms(agent->metrics));
    if (kmsg_fd(agent->kmsg) < 0 || !agent->link.kmsg_covered)
        due = earliest(due, agent->read_at);
    if (agent->disk_complained)
        due = earliest(due, agent->disk_at);
    return due;
}

bool agent_turn(struct agent *agent, int stop_fd, int64_t wait_ms)
{
    int64_t wait = earliest(wait_ms, due_ms(agent) - now_ms());
    bool busy = wire_is_busy(agent->wire);
    struct pollfd fds[3 + CHECKS_FDS_MAX + METRICS_FDS_MAX] = {
        {.fd = stop_fd, .events = POLLIN},
        {.fd = kmsg_fd(agent->kmsg), .events = POLLIN},
        {.fd = busy ? wire_fd(agent->wire) : -1, .events = busy ? wire_events(agent->wire) : (short)0},
    };
    size_t count = 3 + checks_fds(agent->checks, fds + 3);
    if (agent->metrics != NULL)
        count += metrics_fds(agent->metrics, fds + count);
    if (poll(fds, count, wait < 0 ? 0 : (int)wait) < 0)
        fds[0].revents = fds[1].revents = fds[2].revents = 0;
    if (fds[0].revents != 0)
        return false;
    if (fds[1].revents != 0 || agent->more_to_read || now_ms() >= agent->read_at)
        read_log(agent);
    if (settings_scan(&agent->settings, now_ms()))
        apply_settings(agent);
    if (checks_scan(agent->checks))
        take_checks(agent);
    checks_turn(agent->checks, on_report, agent);
    if (agent->metrics != NULL)
        metrics_turn(agent->metrics);
    flush(agent, false);
    checks_keep(agent->checks);
    if (now_ms() >= agent->disk_at)
        retry_disk(agent);
    link_turn(&agent->link);
    return !agent_begins_anew(agent) || state_become(&agent->state, agent->link.becomes) != 0;
}
