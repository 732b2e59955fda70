/*
 * All checks of this agent but the kernel log (kmsg.h), and when each is due.
 */
#ifndef HOLDFAST_AGENTS_CHECKS_CHECKS_H
#define HOLDFAST_AGENTS_CHECKS_CHECKS_H

#include "agents/checks/report.h"
#include "model/agent_settings.h"

#include <poll.h>

#define CHECKS_AT_ONCE_MAX 2 /* the node is there for its jobs */
#define CHECKS_FDS_MAX (2 * CHECKS_AT_ONCE_MAX)
#define CHECKS_FIRST_WITHIN_MS 30000 /* of the agent's start: a fleet that starts together does not look together */
#define CHECKS_ERROR_MAX 128

/* THE table: one row a check, in the order in which people read them; agents/checks/<name>.c defines check_<name>. */
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
    const char *instance_id; /* whose memories they are, and what a check's first turn depends on */
    const struct agent_settings
        *settings;   /* what is said otherwise; NULL: nothing. The caller's, until the next checks_tune */
    int64_t scan_ms; /* how often checks_scan looks; 0: every half minute */
    bool once;       /* each as soon as possible, and never again */
};

struct checks;

/* INVALID when a name is none of ours; ret_error says which. */
int checks_new(const struct checks_options *options, struct checks **ret_checks, char ret_error[CHECKS_ERROR_MAX]);
/* Ends what runs. */
void checks_free(struct checks *checks);

typedef void checks_report_fn(const struct check *check, const struct check_report *report, void *arg);
/* Takes what runs have said, tells what is over, starts what is due. Never waits. */
void checks_turn(struct checks *checks, checks_report_fn *fn, void *arg);
/* Writes down what runs left for the next ones. To be called when what they said is on disk: whoever dies before that is told
 * it again. */
void checks_keep(struct checks *checks);
/* Looks, every half minute, what has come to the site's directory and what has gone from it. True when a check did, and
 * when it can be read at last. */
bool checks_scan(struct checks *checks);
/* Other settings count from now on; what they take away or make unlike is ended. True when a check came or went. */
bool checks_tune(struct checks *checks, const struct agent_settings *settings);
/* What to wait on beside checks_due_ms; returns how many. */
size_t checks_fds(const struct checks *checks, struct pollfd ret_fds[CHECKS_FDS_MAX]);
/* Monotonic; INT64_MAX: nothing. */
int64_t checks_due_ms(const struct checks *checks);
/* The check of that name among those that are chosen, or NULL. */
const struct check *checks_find(const struct checks *checks, const char *name);
/* Whether one of that name is chosen, or may be: nobody knows that of a site's own while their directory cannot be read. */
bool checks_may_run(const struct checks *checks, const char *name);
/* The n-th of those that are chosen; NULL: there are no more. */
const struct check *checks_at(const struct checks *checks, size_t n);
/* Whether the names of struct checks_options hold it. */
bool checks_are_meant(const char *names, const char *name);
/* All of ours: *ret_count rows. Static. */
const struct check *const *checks_table(size_t *ret_count);

#endif
