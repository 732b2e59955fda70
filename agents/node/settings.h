/*
 * What this node's checks go by: what is built in, over it what the server says for the node's group, over that what stands in a
 * file of the node's own. Who looks after one machine has the last word on it; the server is told, and shows it.
 *
 * A text that is refused changes nothing: the one before goes on counting. What the server said last and was good is kept on disk,
 * for a start without it.
 */
#ifndef HOLDFAST_AGENTS_NODE_SETTINGS_H
#define HOLDFAST_AGENTS_NODE_SETTINGS_H

#include "model/agent_settings.h"

#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

#define SETTINGS_FILE_DEFAULT "/etc/holdfast/agent.yaml"
#define SETTINGS_KEPT "settings" /* in the state directory */

struct settings {
    const char *file;  /* the node's own; NULL: none */
    const char *names; /* of the checks that the agent was started with; NULL: all */
    char *kept;        /* where the group's is kept; NULL: nowhere */
    char instance_id[ID_INSTANCE_MAX];
    struct agent_settings group, own, both; /* both is what counts */
    int64_t revision;                       /* of the group's */
    uint64_t tag;
    uint64_t refused_tag; /* of the group's text that does not count; 0: none */
    char refused[AGENT_SETTINGS_ERROR_MAX], own_refused[AGENT_SETTINGS_ERROR_MAX]; /* why; "" */
    struct timespec file_at;                                                       /* of the file that was read last */
    off_t file_bytes;
    bool file_known;
    int64_t look_at; /* monotonic */
};

/* file and kept may be NULL; file outlives the settings. What was kept for another instance is another machine's;
 * instance_id NULL: whichever it was. */
void settings_open(struct settings *settings, const char *file, const char *state_dir, const char *instance_id);
/* What was left out on the command line is not run, whatever is said of it. names: of struct checks_options; outlive the settings. */
void settings_leave_out(struct settings *settings, const char *names);
void settings_close(struct settings *settings);

/* Whether the server's word of a tag is news. */
bool settings_is_news(const struct settings *settings, uint64_t tag);
/* The reply to GET /v1/agent/settings. INVALID when it is none; else what it says counts now, or is refused. */
int settings_take(struct settings *settings, const char *body, size_t len);
/* Whether there is or was anything to tell of. */
bool settings_are_said(const struct settings *settings);
/* Looks now and then whether the node's own file is another one. True when what counts, or why it does not, changed. */
bool settings_scan(struct settings *settings, int64_t now_ms);

/* What the server is told; sent as POST /v1/agent/settings. */
void settings_write_report(const struct settings *settings, struct text *out);
/* Everything that can be said, with what counts and whose word it is, as a table or as JSON. */
void settings_print(const struct settings *settings, bool json);

#endif
