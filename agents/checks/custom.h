/*
 * A site's own checks: programs in a directory, like Nagios plugins and mej/nhc.
 *
 * Exit codes: 0 good, 1 warning, 2 critical, 3 unknown. The first line of output is the text. Comments at the top of the program may
 * set more:
 *
 *     # holdfast: period=5m timeout=30s severity=warn reason=The rest of the line is what to do about it.
 *
 * severity: overrides exit codes 1 and 2.
 */
#ifndef HOLDFAST_AGENTS_CHECKS_CUSTOM_H
#define HOLDFAST_AGENTS_CHECKS_CUSTOM_H

#include "agents/checks/check.h"

#define CUSTOM_DIR_DEFAULT "/etc/holdfast/checks.d"
#define CUSTOM_PREFIX "custom." /* of what the settings say of one */
#define CUSTOM_MAX 64           /* programs in the directory */
#define CUSTOM_REASON_MAX_BYTES 160

enum custom_severity { CUSTOM_AS_SAID, CUSTOM_WARN, CUSTOM_CRITICAL };

struct custom_header {
    int64_t period_ms, timeout_ms;
    enum custom_severity severity;
    char reason[CUSTOM_REASON_MAX_BYTES];
};

/* The first lines of a program. INVALID for a word that is not known or a value that is out of bounds: *ret_header has the
 * defaults then, as it has where nothing is said. */
int custom_parse_header(const char *data, size_t len, struct custom_header *ret_header);
/* How long a run may take at most, by its head or by what the site says otherwise, and a moment to say so. */
int64_t custom_deadline_ms(const struct check *check, const struct agent_settings *settings);
/* A name for a check: letters, digits, "-", "_" and "."; a letter or a digit first; short enough for a verdict's source. */
bool custom_is_name(const char *name);

/* What the directory has, by name. The list is freed with custom_free. */
struct custom_list {
    struct check *checks[2 * CUSTOM_MAX]; /* what is there, and what the last merge found gone */
    bool is_there[2 * CUSTOM_MAX];        /* false: who ran it may still name it, until the next merge */
    size_t count;
    size_t passed_over; /* files whose names are too long or odd, or beyond the limit */
    bool is_missing;    /* there is no such directory */
    bool is_unread;     /* it could not be read now: what is in it is not known, and the list has nothing */
};
void custom_load(const char *dir, struct custom_list *ret_list);
void custom_free(struct custom_list *list);
/* Makes list say what found says, and takes its checks over. A check that list has already stays, with found's times. Of a
 * directory that could not be read list says what it said before. */
void custom_merge(struct custom_list *list, struct custom_list *found);

#endif
