/*
 * Settings of this node's checks: built-in values, overridden by the server's settings for the node's group, overridden by a file
 * on the node. The administrator of a machine has the last word; the server gets a report and shows it.
 *
 * An invalid text is refused and changes nothing: the earlier one stays in force. The last valid text of the server is kept on
 * disk for a start without the server.
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
    struct agent_settings group, own, both; /* both: what is in force */
    int64_t revision;                       /* of the group's */
    uint64_t tag;
    uint64_t refused_tag; /* of the refused text of the group; 0: none */
    char refused[AGENT_SETTINGS_ERROR_MAX], own_refused[AGENT_SETTINGS_ERROR_MAX]; /* why; "" */
    struct timespec file_at;                                                       /* of the file that was read last */
    off_t file_bytes;
    bool file_known;
    int64_t look_at; /* monotonic */
};

/* file and kept may be NULL; file outlives the settings. Kept settings of another instance are ignored; instance_id NULL: any. */
void settings_open(struct settings *settings, const char *file, const char *state_dir, const char *instance_id);
/* Checks that the command line leaves out do not run, whatever the settings say. names outlives the settings. */
void settings_leave_out(struct settings *settings, const char *names);
void settings_close(struct settings *settings);

/* Whether the server announced a new tag. */
bool settings_is_news(const struct settings *settings, uint64_t tag);
/* Takes a reply to GET /v1/agent/settings: applied or refused. INVALID when it is not such a reply. */
int settings_take(struct settings *settings, const char *body, size_t len);
/* Whether there is or was anything to report. */
bool settings_are_said(const struct settings *settings);
/* Reads the node's own file when it has changed. True when the settings in force, or a refusal, changed. */
bool settings_scan(struct settings *settings, int64_t now_ms);

/* The report to the server; sent as POST /v1/agent/settings. */
void settings_write_report(const struct settings *settings, struct text *out);
/* Prints all settings with their values and sources, as a table or as JSON. */
void settings_print(const struct settings *settings, bool json);

#endif
