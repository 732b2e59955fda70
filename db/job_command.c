/* Commands: a row each, until it is carried out. */
#include "db/job_command.h"

#include "db/intern.h"

#define COMMAND_WORD_MAX_BYTES 16

static const char SQL_COUNT[] = "SELECT count(*) FROM job_command WHERE scheduler = ?";
static const char SQL_ADD[] =
    "INSERT INTO job_command (scheduler, job, command, actor, asked_at, size, cluster, restarts) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?)";
static const char SQL_LIST[] =
    "SELECT id, scheduler, job, command, actor, asked_at, size, cluster, restarts FROM job_command "
    "WHERE scheduler = ? ORDER BY id";
static const char SQL_DROP[] = "DELETE FROM job_command WHERE id = ?";

static void count_read(struct db_query *q, void *row)
{
    *(int64_t *)row = db_get_i64(q);
}

/* A word that is none of ours is the one that changes least. */
static void command_read(struct db_query *q, void *row)
{
    struct job_command *command = row;
    char word[COMMAND_WORD_MAX_BYTES];
    command->id = db_get_i64(q);
    DB_GET_TEXT(q, command->scheduler);
    DB_GET_TEXT(q, command->job);
    DB_GET_TEXT(q, word);
    DB_GET_TEXT(q, command->actor);
    command->asked_at = db_get_i64(q);
    command->size = db_get_i64(q);
    DB_GET_TEXT(q, command->cluster);
    command->restarts = db_get_i64(q);
    if (job_command_kind_parse(word, &command->kind) != 0)
        command->kind = JOB_COMMAND_RESUME;
}

int db_job_command_insert(struct db_tx *tx, struct job_command *command)
{
    int64_t count = 0;
    int status = db_take_text(tx, SQL_COUNT, command->scheduler, count_read, &count);
    if (status == 0 && count >= JOB_COMMANDS_MAX)
        status = STATUS_FULL;
    if (status != 0)
        return status;
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_ADD);
    db_bind_text(&q, command->scheduler);
    db_bind_text(&q, command->job);
    db_bind_text(&q, job_command_kind_text(command->kind));
    db_bind_text(&q, command->actor);
    db_bind_i64(&q, command->asked_at);
    db_bind_i64(&q, command->size);
    db_bind_text(&q, command->cluster);
    db_bind_i64(&q, command->restarts);
    return db_query_insert(&q, &command->id);
}

int db_job_command_list(struct db_tx *tx, const char *scheduler, db_row_fn fn, void *arg)
{
    struct job_command command;
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_LIST);
    db_bind_text(&q, scheduler);
    return db_query_walk(&q, command_read, &command, fn, arg);
}

int db_job_command_drop(struct db_tx *tx, int64_t id)
{
    return db_run_i64(tx, SQL_DROP, id, NULL);
}
