/*
 * Reading squeue. A job's name is anything its owner likes, line ends and other jobs' records included: so the columns end with a
 * separator that is made anew for each run, after the job got its name.
 */
#include "server/scheduler/slurm/job_snapshot.h"

#include "base/own.h"
#include "base/status.h"
#include "base/text.h"
#include "model/job_command.h"
#include "server/scheduler/slurm/parse.h"

#include <ctype.h>
#include <string.h>

#define JOBS_FIRST 64 /* capacity to begin with */
#define JOBS_MAX 500000
#define MS_OF_S 1000
#define COMMANDS \
    (JOB_COMMAND_BIT(RESTART) | JOB_COMMAND_BIT(SUSPEND) | JOB_COMMAND_BIT(RESUME) | JOB_COMMAND_BIT(SCALE))

char *slurm_queue_format(const char *separator)
{
    static const char *const names[] = {
#define X(symbol, name) name,
        SLURM_QUEUE_COLUMNS(X)
#undef X
    };
    AUTO(text) struct text format = {0};
    for (size_t i = 0; i < SLURM_QUEUE_COLUMN_COUNT; i++)
        text_printf(&format, "%s%s:%s", i == 0 ? "" : ",", names[i], separator);
    return text_take(&format);
}

int64_t slurm_queue_count(const char *text)
{
    size_t digits = strspn(text, "0123456789");
    char word[20];
    int64_t count;
    if (text_copy_bytes(word, sizeof(word), text, digits) != 0 || text_parse_i64(word, 0, INT32_MAX, &count) != 0)
        return 0;
    return text[digits] == 'K' ? count * 1000 : count;
}

/* "1795360033~stamp" */
static int64_t time_of(char *text)
{
    int64_t s;
    text[strcspn(text, "~")] = '\0';
    return text_parse_i64(text, 0, INT64_MAX / MS_OF_S, &s) == 0 ? s * MS_OF_S : 0;
}

/* "1-12:00:00", "30:00", "10"; 0 for "UNLIMITED" and what else is no limit. */
static int64_t limit_of(const char *text)
{
    int64_t days = 0, s = 0;
    const char *dash = strchr(text, '-'), *clock = dash == NULL ? text : dash + 1;
    if (dash != NULL)
        days = slurm_queue_count(text);
    if (clock[0] == '\0' || strspn(clock, "0123456789:") != strlen(clock))
        return 0;
    for (const char *at = clock; at != NULL; at = strchr(at, ':') == NULL ? NULL : strchr(at, ':') + 1)
        s = s > INT32_MAX ? 0 : 60 * s + slurm_queue_count(at);
    return days * 24 * 3600 + (dash != NULL && strchr(clock, ':') == NULL ? s * 3600 : s);
}

/* Of "cpu=4,mem=8G,gres/gpu=2,gres/gpu:a100=2": the sum that Slurm gives, or where there is none that of the types. */
static int64_t gpus_of(const char *tres)
{
    static const char any[] = "gres/gpu=", typed[] = "gres/gpu:";
    int64_t sum = 0;
    for (const char *at = tres; *at != '\0';) {
        size_t len = strcspn(at, ","), value = strcspn(at, "=");
        if (text_starts_with(at, any))
            return slurm_queue_count(at + strlen(any));
        if (text_starts_with(at, typed) && value < len)
            sum += slurm_queue_count(at + value + 1);
        at += len + (at[len] == ',');
    }
    return sum;
}

/* How many tasks "12_[2-200:2,7%4]" are; 1 for what is no array. */
static int64_t tasks_of(const char *id)
{
    const char *at = strchr(id, '[');
    int64_t sum = 0;
    if (at == NULL)
        return 1;
    for (at++; isdigit((unsigned char)*at); at += *at == ',') {
        int64_t first = slurm_queue_count(at), last = first, step = 1;
        at += strspn(at, "0123456789");
        if (*at == '-') {
            last = slurm_queue_count(++at);
            at += strspn(at, "0123456789");
        }
        if (*at == ':') {
            step = slurm_queue_count(++at);
            at += strspn(at, "0123456789");
        }
        sum += last < first || step == 0 ? 1 : (last - first) / step + 1;
    }
    return sum == 0 ? 1 : sum;
}

/* What waits of an array goes by the array's own number. */
static void cut_tasks(char *id)
{
    char *tasks = strstr(id, "_[");
    if (tasks != NULL)
        *tasks = '\0';
}

/* squeue's words that are others' by another name (slurm.h of 26.05, job_state_string()). A word that is in neither list is UNKNOWN. */
enum cluster_job_state slurm_queue_state(const char *word)
{
    static const struct {
        const char *word;
        enum cluster_job_state state;
    } others[] = {{"EXPEDITING", CLUSTER_JOB_PENDING},    {"RESV_DEL_HOLD", CLUSTER_JOB_PENDING},
                  {"REQUEUE_HOLD", CLUSTER_JOB_REQUEUED}, {"REQUEUE_FED", CLUSTER_JOB_REQUEUED},
                  {"SPECIAL_EXIT", CLUSTER_JOB_REQUEUED}, {"POWER_UP_NODE", CLUSTER_JOB_CONFIGURING},
                  {"SIGNALING", CLUSTER_JOB_RUNNING},     {"STOPPED", CLUSTER_JOB_SUSPENDED},
                  {"STAGE_OUT", CLUSTER_JOB_COMPLETING},  {"UPDATE_DB", CLUSTER_JOB_COMPLETING},
                  {"REVOKED", CLUSTER_JOB_CANCELLED},     {"LAUNCH_FAILED", CLUSTER_JOB_FAILED},
                  {"RECONFIG_FAIL", CLUSTER_JOB_FAILED}};
    enum cluster_job_state state;
    if (cluster_job_state_parse(word, &state) == 0)
        return state;
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        if (strcmp(others[i].word, word) == 0)
            return others[i].state;
    return CLUSTER_JOB_UNKNOWN;
}

static int read_job(char *columns[SLURM_QUEUE_COLUMN_COUNT], struct cluster_job *ret_job)
{
    for (size_t i = 0; i < SLURM_QUEUE_COLUMN_COUNT; i++)
        slurm_make_printable(columns[i]);
    char *id = columns[SLURM_QUEUE_ID];
    int64_t tasks = tasks_of(id);
    bool many = strchr(id, '[') != NULL;
    cut_tasks(id);
    if (!isdigit((unsigned char)id[0]) || columns[SLURM_QUEUE_STATE][0] == '\0' || strlen(id) >= JOB_ID_MAX_BYTES ||
        id[strspn(id, "0123456789_+")] != '\0')
        return STATUS_BACKEND;
    bool none = strcmp(columns[SLURM_QUEUE_REASON], "None") == 0,
         no_nodes = strcmp(columns[SLURM_QUEUE_NODES], "(null)") == 0;
    /* A job that was merged into another has no nodes any more, and keeps for its end when it would have had to end. */
    bool merged =
        (no_nodes || columns[SLURM_QUEUE_NODES][0] == '\0') && strcmp(columns[SLURM_QUEUE_STATE], "COMPLETED") == 0;
    /* Slurm begins only these anew; the parts of a heterogeneous job and what waits of an array are more than one. */
    bool again = slurm_is_yes(columns[SLURM_QUEUE_BATCH]) && slurm_is_yes(columns[SLURM_QUEUE_REQUEUE]) && !many &&
                 strchr(id, '+') == NULL;
    *ret_job = (struct cluster_job){
        .id = id,
        .name = columns[SLURM_QUEUE_NAME],
        .user = columns[SLURM_QUEUE_USER],
        .account = strcmp(columns[SLURM_QUEUE_ACCOUNT], "(null)") == 0 ? "" : columns[SLURM_QUEUE_ACCOUNT],
        .partition = columns[SLURM_QUEUE_PARTITION],
        .state = slurm_queue_state(columns[SLURM_QUEUE_STATE]),
        .reason = none ? "" : columns[SLURM_QUEUE_REASON],
        .nodes = no_nodes ? "" : columns[SLURM_QUEUE_NODES],
        .tasks = tasks,
        .cpus = slurm_queue_count(columns[SLURM_QUEUE_CPUS]),
        .gpus = gpus_of(columns[SLURM_QUEUE_TRES]),
        .node_count = slurm_queue_count(columns[SLURM_QUEUE_NODE_COUNT]),
        .restarts = slurm_queue_count(columns[SLURM_QUEUE_RESTARTS]),
        .submitted_at = time_of(columns[SLURM_QUEUE_SUBMITTED]),
        .started_at = time_of(columns[SLURM_QUEUE_STARTED]),
        .ends_at = time_of(columns[merged ? SLURM_QUEUE_STARTED : SLURM_QUEUE_ENDS]),
        .time_limit_s = limit_of(columns[SLURM_QUEUE_LIMIT]),
        .commands = again ? COMMANDS : 0,
    };
    return 0;
}

/* Cuts one record off *at. */
static int take_record(char **at, const char *separator, char *ret_columns[SLURM_QUEUE_COLUMN_COUNT])
{
    for (size_t i = 0; i < SLURM_QUEUE_COLUMN_COUNT; i++) {
        char *end = strstr(*at, separator);
        if (end == NULL)
            return STATUS_BACKEND;
        *end = '\0';
        ret_columns[i] = *at;
        *at = end + strlen(separator);
    }
    if (**at == '\n')
        (*at)++;
    else if (**at != '\0')
        return STATUS_BACKEND;
    return 0;
}

int slurm_queue_parse(char *text, const char *separator, struct job_snapshot *snapshot)
{
    size_t capacity = 0;
    for (char *at = job_snapshot_keep(snapshot, text); *at != '\0';) {
        char *columns[SLURM_QUEUE_COLUMN_COUNT];
        struct cluster_job job;
        if (take_record(&at, separator, columns) != 0 || read_job(columns, &job) != 0)
            return STATUS_BACKEND;
        if (snapshot->count == JOBS_MAX)
            return STATUS_TOO_LARGE;
        if (snapshot->count == capacity) {
            capacity = capacity == 0 ? JOBS_FIRST : 2 * capacity;
            snapshot->jobs = own_realloc(snapshot->jobs, capacity, sizeof(*snapshot->jobs));
        }
        snapshot->jobs[snapshot->count++] = job;
    }
    return 0;
}
