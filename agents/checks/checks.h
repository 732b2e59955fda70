/*
 * All checks of this agent but the kernel log (kmsg.h), and when each is due.
 */
#ifndef HOLDFAST_AGENTS_CHECKS_CHECKS_H
#define HOLDFAST_AGENTS_CHECKS_CHECKS_H

#include "agents/checks/report.h"
#include "model/agent_settings.h"

#include <poll.h>

#define CHECKS_AT_ONCE_MAX 2 /* jobs come first */
#define CHECKS_FDS_MAX (2 * CHECKS_AT_ONCE_MAX)
#define CHECKS_FIRST_WITHIN_MS 30000 /* after the agent's start, spread over a fleet that starts together */
#define CHECKS_ERROR_MAX 128

/* The table of checks, in display order; agents/checks/<name>.c defines check_<name>. */
#define CHECKS_LIST(X) AGENT_CHECKS_LIST(X)

#define X(name, period, deadline) extern const struct check check_##name;
CHECKS_LIST(X)
#undef X

struct checks_options {
    const char *names;                                   /* "all", "none", or names with commas between */
    const char *root, *path, *instance_type, *state_dir; /* of struct check_context; outlive the checks */
    const char *dir;                                     /* of a site's own checks (custom.h); NULL: none */
    const char *boot_id;                                 /* what is remembered is of it */
    int64_t first_within_ms;                             /* of a check's first turn */
    const char *instance_id;                             /* owner of the stored data; also spreads the first runs */
    const struct agent_settings *settings; /* NULL: none. Owned by the caller, until the next checks_tune */
    int64_t scan_ms;                       /* how often checks_scan looks; 0: every half minute */
    bool once;                             /* run each check once, as soon as possible */
};

struct checks;

/* INVALID for an unknown name; ret_error has it. */
int checks_new(const struct checks_options *options, struct checks **ret_checks, char ret_error[CHECKS_ERROR_MAX]);
/* Ends running checks. */
void checks_free(struct checks *checks);

typedef void checks_report_fn(const struct check *check, const struct check_report *report, void *arg);
/* Reads output, reports finished runs, starts due ones. Never waits. */
void checks_turn(struct checks *checks, checks_report_fn *fn, void *arg);
/* Stores the data of finished runs for the next ones. Call it after their reports are on disk: an agent that is killed before this
 * finds the same again. */
void checks_keep(struct checks *checks);
/* Every half minute: reads the site's directory. True when a check was added or removed, or the directory became readable. */
bool checks_scan(struct checks *checks);
/* Applies new settings. Running checks that they remove or change are ended. True when a check was added or removed. */
bool checks_tune(struct checks *checks, const struct agent_settings *settings);
/* Descriptors to poll beside checks_due_ms; returns their number. */
size_t checks_fds(const struct checks *checks, struct pollfd ret_fds[CHECKS_FDS_MAX]);
/* Monotonic; INT64_MAX: nothing. */
int64_t checks_due_ms(const struct checks *checks);
/* The selected check with this name, or NULL. */
const struct check *checks_find(const struct checks *checks, const char *name);
/* Whether a check with this name is selected. True, too, when that is unknown because the site's directory cannot be read. */
bool checks_may_run(const struct checks *checks, const char *name);
/* The n-th selected check; NULL: no more. */
const struct check *checks_at(const struct checks *checks, size_t n);
/* Whether checks_options.names contains it. */
bool checks_are_meant(const char *names, const char *name);
/* All built-in checks: *ret_count rows. Static. */
const struct check *const *checks_table(size_t *ret_count);

#endif
