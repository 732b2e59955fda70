/* Both by the row of whom they are about. The lines of a report are one text: nobody asks for a single one. */
#include "db/agent_settings.h"

#include "base/text.h"
#include "db/intern.h"

#define SETTINGS_SELECT "SELECT group_row, revision, document, comment, author, updated_at FROM agent_settings "

static const char SQL_GET[] = SETTINGS_SELECT "WHERE group_row = ?";
static const char SQL_LIST[] = SETTINGS_SELECT "ORDER BY group_row";
static const char SQL_PUT[] =
    "INSERT INTO agent_settings (group_row, revision, document, comment, author, updated_at) VALUES (?, ?, ?, ?, ?, ?) "
    "ON CONFLICT (group_row) DO UPDATE SET revision = excluded.revision, document = excluded.document, "
    "comment = excluded.comment, author = excluded.author, updated_at = excluded.updated_at";
static const char SQL_TOLD_GET[] =
    "SELECT revision, refused, file_refused, settings, at FROM agent_settings_report WHERE instance_row = ?";
static const char SQL_TOLD_PUT[] =
    "INSERT INTO agent_settings_report (instance_row, revision, refused, file_refused, settings, at) "
    "VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (instance_row) DO UPDATE SET revision = excluded.revision, "
    "refused = excluded.refused, file_refused = excluded.file_refused, settings = excluded.settings, at = excluded.at";

static void settings_read(struct db_query *q, void *row)
{
    struct group_agent_settings *settings = row;
    settings->group_id = db_get_i64(q);
    settings->revision = db_get_i64(q);
    DB_GET_TEXT(q, settings->text);
    DB_GET_TEXT(q, settings->comment);
    DB_GET_TEXT(q, settings->author);
    settings->updated_at = db_get_i64(q);
}

int db_agent_settings_get(struct db_tx *tx, int64_t group_id, struct group_agent_settings *ret_settings)
{
    return db_take_i64(tx, SQL_GET, group_id, settings_read, ret_settings);
}

int db_agent_settings_put(struct db_tx *tx, const struct group_agent_settings *settings)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_PUT);
    db_bind_i64(&q, settings->group_id);
    db_bind_i64(&q, settings->revision);
    db_bind_text(&q, settings->text);
    db_bind_text(&q, settings->comment);
    db_bind_text(&q, settings->author);
    db_bind_i64(&q, settings->updated_at);
    return db_query_run(&q, NULL);
}

int db_agent_settings_list(struct db_tx *tx, db_row_fn fn, void *arg)
{
    autofree struct group_agent_settings *settings = own_calloc(1, sizeof(*settings));
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_LIST);
    return db_query_walk(&q, settings_read, settings, fn, arg);
}

/* --- reported ------------------------------------------------------------------------------------ */

static void split(const char *text, struct agent_settings_report *report)
{
    for (report->count = 0; *text != '\0' && report->count < AGENT_SETTINGS_MAX; text += *text == '\n') {
        size_t len = strcspn(text, "\n");
        char *line = report->lines[report->count];
        report->count += text_copy_bytes(line, sizeof(report->lines[0]), text, len) == 0;
        text += len;
    }
}

static void report_read(struct db_query *q, void *row)
{
    struct agent_settings_report *report = row;
    autofree char *lines = own_calloc(1, sizeof(report->lines) + 1);
    report->revision = db_get_i64(q);
    DB_GET_TEXT(q, report->refused);
    DB_GET_TEXT(q, report->file_refused);
    db_get_text(q, lines, sizeof(report->lines) + 1);
    split(lines, report);
    report->at = db_get_i64(q);
}

int db_agent_report_get(struct db_tx *tx, int64_t instance_row, struct agent_settings_report *ret_report)
{
    return db_take_i64(tx, SQL_TOLD_GET, instance_row, report_read, ret_report);
}

int db_agent_report_put(struct db_tx *tx, int64_t instance_row, const struct agent_settings_report *report)
{
    AUTO(text) struct text lines = {0};
    auto_query struct db_query q;
    for (size_t i = 0; i < report->count; i++)
        text_printf(&lines, "%s%s", i > 0 ? "\n" : "", report->lines[i]);
    db_query_open(&q, tx, SQL_TOLD_PUT);
    db_bind_i64(&q, instance_row);
    db_bind_i64(&q, report->revision);
    db_bind_text(&q, report->refused);
    db_bind_text(&q, report->file_refused);
    db_bind_text(&q, text_get(&lines));
    db_bind_i64(&q, report->at);
    return db_query_run(&q, NULL);
}
