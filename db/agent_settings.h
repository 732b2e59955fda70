/* What the agents of a group do otherwise, and what each tells that it goes by. */
#ifndef HOLDFAST_DB_AGENT_SETTINGS_H
#define HOLDFAST_DB_AGENT_SETTINGS_H

#include "db/db.h"
#include "model/agent_settings.h"

struct group_agent_settings {
    int64_t group_id, revision; /* revision 0: none */
    char text[AGENT_SETTINGS_TEXT_MAX_BYTES];
    char comment[REASON_MAX_BYTES];
    char author[NAME_MAX_BYTES];
    int64_t updated_at;
};

/* NOT_FOUND. */
int db_agent_settings_get(struct db_tx *tx, int64_t group_id, struct group_agent_settings *ret_settings);
int db_agent_settings_put(struct db_tx *tx, const struct group_agent_settings *settings);
/* Rows are struct group_agent_settings, of every group that has some. */
int db_agent_settings_list(struct db_tx *tx, db_row_fn fn, void *arg);

/* NOT_FOUND: the agent has told of none. */
int db_agent_report_get(struct db_tx *tx, int64_t instance_row, struct agent_settings_report *ret_report);
int db_agent_report_put(struct db_tx *tx, int64_t instance_row, const struct agent_settings_report *report);

#endif
