/*
 * What only graphs and the list of jobs are made of: slurmrestd's JSON put into the texts that Slurm's programs print, so that each
 * has one reader.
 */
#include "server/scheduler/slurm/job_snapshot.h"
#include "server/scheduler/slurm/rest_read.h"

#include "base/own.h"
#include "base/status.h"
#include "base/text.h"

#include <inttypes.h>
#include <string.h>

/* --- the queue ---------------------------------------------------------------------------------------------------- */

/* In minutes; null for none in old versions. */
static char *limit_of(const json_t *job)
{
    const json_t *limit = json_object_get(job, "time_limit");
    if (json_is_null(limit) || json_is_true(json_object_get(limit, "infinite")))
        return own_strdup("UNLIMITED");
    return own_printf("%" PRId64 ":00", slurm_json_number(limit));
}

/* Where a column comes from: made of several members, or a member that is a text, a number or a flag. */
static const struct {
    char *(*make)(const json_t *job);
    const char *text, *none; /* and what squeue shows where it is empty */
    const char *number, *flag;
} columns[SLURM_QUEUE_COLUMN_COUNT] = {
    [SLURM_QUEUE_ID] = {.make = slurm_json_job_id},
    [SLURM_QUEUE_USER] = {.make = slurm_json_job_user},
    [SLURM_QUEUE_ACCOUNT] = {.text = "account", .none = "(null)"},
    [SLURM_QUEUE_PARTITION] = {.text = "partition", .none = ""},
    [SLURM_QUEUE_STATE] = {.make = slurm_json_job_state},
    [SLURM_QUEUE_REASON] = {.text = "state_reason", .none = "None"},
    [SLURM_QUEUE_NODES] = {.text = "nodes", .none = "(null)"},
    [SLURM_QUEUE_CPUS] = {.number = "cpus"},
    [SLURM_QUEUE_NODE_COUNT] = {.number = "node_count"},
    [SLURM_QUEUE_RESTARTS] = {.number = "restart_cnt"},
    [SLURM_QUEUE_LIMIT] = {.make = limit_of},
    [SLURM_QUEUE_SUBMITTED] = {.number = "submit_time"},
    [SLURM_QUEUE_STARTED] = {.number = "start_time"},
    [SLURM_QUEUE_ENDS] = {.number = "end_time"},
    [SLURM_QUEUE_TRES] = {.text = "tres_alloc_str", .none = ""},
    [SLURM_QUEUE_BATCH] = {.flag = "batch_flag"},
    [SLURM_QUEUE_REQUEUE] = {.flag = "requeue"},
    [SLURM_QUEUE_NAME] = {.text = "name", .none = ""},
};

static void add_column(struct text *text, const json_t *job, size_t column)
{
    if (columns[column].make != NULL) {
        autofree char *word = columns[column].make(job);
        text_add(text, word);
    } else if (columns[column].number != NULL) {
        text_printf(text, "%" PRId64, slurm_json_number(json_object_get(job, columns[column].number)));
    } else if (columns[column].flag != NULL) {
        text_add_char(text, json_is_true(json_object_get(job, columns[column].flag)) ? '1' : '0');
    } else {
        const char *word = slurm_json_text(job, columns[column].text);
        text_add(text, word[0] == '\0' ? columns[column].none : word);
    }
}

int slurm_json_queue(const json_t *jobs, const char *separator, char **ret_text)
{
    struct text text AUTO(text) = {0};
    if (!json_is_array(jobs))
        return STATUS_BACKEND;
    for (size_t i = 0; i < json_array_size(jobs); i++) {
        const json_t *job = json_array_get(jobs, i);
        if (!json_is_object(job))
            return STATUS_BACKEND;
        for (size_t column = 0; column < SLURM_QUEUE_COLUMN_COUNT; column++) {
            add_column(&text, job, column);
            text_add(&text, separator);
        }
        text_add(&text, "\n");
    }
    *ret_text = text_take(&text);
    return 0;
}

/* --- reservations --------------------------------------------------------------------------------------------------- */

/* A value is one word. */
static void add_value(struct text *text, const char *key, const char *value)
{
    text_add(text, key);
    if (value[0] == '\0')
        text_add(text, "(null)");
    for (const char *c = value; *c != '\0'; c++)
        text_add_bytes(text, (unsigned char)*c <= ' ' ? "?" : c, 1);
}

static void add_flags(struct text *text, const json_t *flags)
{
    struct text list AUTO(text) = {0};
    for (size_t i = 0; i < json_array_size(flags); i++) {
        const char *flag = json_string_value(json_array_get(flags, i));
        text_printf(&list, "%s%s", i == 0 ? "" : ",", flag == NULL ? "" : flag);
    }
    add_value(text, " Flags=", text_get(&list));
}

char *slurm_json_reservations(const json_t *reservations, int64_t now_ms)
{
    struct text text AUTO(text) = {0};
    for (size_t i = 0; i < json_array_size(reservations); i++) {
        const json_t *one = json_array_get(reservations, i);
        int64_t start = slurm_json_number(json_object_get(one, "start_time"));
        int64_t end = slurm_json_number(json_object_get(one, "end_time"));
        bool active = start <= now_ms / 1000 && now_ms / 1000 < end;
        add_value(&text, "ReservationName=", slurm_json_text(one, "name"));
        text_printf(&text, " StartTime=%" PRId64 " EndTime=%" PRId64, start, end);
        add_value(&text, " Nodes=", slurm_json_text(one, "node_list"));
        text_printf(&text, " NodeCnt=%" PRId64 " CoreCnt=%" PRId64,
                    slurm_json_number(json_object_get(one, "node_count")),
                    slurm_json_number(json_object_get(one, "core_count")));
        add_value(&text, " PartitionName=", slurm_json_text(one, "partition"));
        add_flags(&text, json_object_get(one, "flags"));
        add_value(&text, " Users=", slurm_json_text(one, "users"));
        text_printf(&text, " State=%s\n", active ? "ACTIVE" : "INACTIVE");
    }
    return text_take(&text);
}

/* --- figures ------------------------------------------------------------------------------------------------------- */

static void add_calls(struct text *text, const json_t *calls, const char *name)
{
    for (size_t i = 0; i < json_array_size(calls); i++) {
        const json_t *one = json_array_get(calls, i);
        add_value(text, "\t", slurm_json_text(one, name));
        text_printf(text, " count:%" PRId64 " ave_time:%" PRId64 " total_time:%" PRId64 "\n",
                    slurm_json_number(json_object_get(one, "count")),
                    slurm_json_number(json_object_get(one, "average_time")),
                    slurm_json_number(json_object_get(one, "total_time")));
    }
}

char *slurm_json_diag(const json_t *statistics)
{
    static const struct {
        const char *member, *line; /* member NULL: a heading */
    } lines[] = {
        {"server_thread_count", "Server thread count"},
        {"agent_queue_size", "Agent queue size"},
        {"dbd_agent_queue_size", "DBD Agent queue size"},
        {"jobs_submitted", "Jobs submitted"},
        {"jobs_started", "Jobs started"},
        {"jobs_completed", "Jobs completed"},
        {"jobs_canceled", "Jobs canceled"},
        {"jobs_failed", "Jobs failed"},
        {NULL, "Main schedule statistics"},
        {"schedule_cycle_last", "Last cycle"},
        {"schedule_cycle_mean", "Mean cycle"},
        {"schedule_cycle_per_minute", "Cycles per minute"},
        {NULL, "Backfilling stats"},
        {"bf_backfilled_jobs", "Total backfilled jobs (since last slurm start)"},
        {"bf_last_backfilled_jobs", "Total backfilled jobs (since last stats cycle start)"},
        {"bf_backfilled_het_jobs", "Total backfilled heterogeneous job components"},
        {"bf_cycle_last", "Last cycle"},
        {"bf_cycle_mean", "Mean cycle"},
        {"bf_depth_mean", "Depth Mean"},
    };
    struct text text AUTO(text) = {0};
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        const json_t *value = lines[i].member == NULL ? NULL : json_object_get(statistics, lines[i].member);
        if (lines[i].member == NULL)
            text_printf(&text, "%s\n", lines[i].line);
        else if (value != NULL)
            text_printf(&text, "%s: %" PRId64 "\n", lines[i].line, slurm_json_number(value));
    }
    text_add(&text, "Remote Procedure Call statistics by message type\n");
    add_calls(&text, json_object_get(statistics, "rpcs_by_message_type"), "message_type");
    text_add(&text, "Remote Procedure Call statistics by user\n");
    add_calls(&text, json_object_get(statistics, "rpcs_by_user"), "user");
    return text_take(&text);
}
