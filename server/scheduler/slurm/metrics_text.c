/* Metrics out of what sdiag, sshare and "scontrol -o show reservation" print; each text is refused as a whole. */
#include "server/scheduler/slurm/metrics.h"

#include "base/status.h"
#include "server/scheduler/slurm/parse.h"

#include <math.h>
#include <string.h>

/* A number and nothing behind it. */
static bool read_number(const char *text, double *ret_value)
{
    char *end;
    if (text[0] == '\0' || strspn(text, "0123456789.eE+-") != strlen(text))
        return false;
    double value = strtod(text, &end);
    if (*end != '\0' || !isfinite(value))
        return false;
    *ret_value = value;
    return true;
}

/* --- sdiag -------------------------------------------------------------------------------------------------------- */

enum section { SERVER, MAIN, BACKFILL, RPC, USER_RPC, OTHER };

static const struct {
    const char *begins;
    enum section section;
} sections[] = {
    {"Main schedule statistics", MAIN},
    {"Main scheduler exit", OTHER},
    {"Backfilling stats", BACKFILL},
    {"Backfill exit", OTHER},
    {"Latency for ", OTHER},
    {"Remote Procedure Call statistics by message type", RPC},
    {"Remote Procedure Call statistics by user", USER_RPC},
    {"Pending RPC statistics", OTHER},
};

static const struct {
    enum section section;
    const char *key;
    enum slurm_metric metric;
} diag_lines[] = {
    {SERVER, "Server thread count", SLURM_METRIC_SCHEDULER_THREADS},
    {SERVER, "Agent queue size", SLURM_METRIC_SCHEDULER_QUEUE},
    {SERVER, "DBD Agent queue size", SLURM_METRIC_SCHEDULER_DBD_QUEUE},
    {SERVER, "Jobs submitted", SLURM_METRIC_SCHEDULER_SUBMITTED},
    {SERVER, "Jobs started", SLURM_METRIC_SCHEDULER_STARTED},
    {SERVER, "Jobs completed", SLURM_METRIC_SCHEDULER_COMPLETED},
    {SERVER, "Jobs canceled", SLURM_METRIC_SCHEDULER_CANCELED},
    {SERVER, "Jobs failed", SLURM_METRIC_SCHEDULER_FAILED},
    {MAIN, "Last cycle", SLURM_METRIC_SCHEDULER_LAST_CYCLE},
    {MAIN, "Mean cycle", SLURM_METRIC_SCHEDULER_MEAN_CYCLE},
    {MAIN, "Cycles per minute", SLURM_METRIC_SCHEDULER_PER_MINUTE},
    {BACKFILL, "Total backfilled jobs (since last slurm start)", SLURM_METRIC_BACKFILLED_START},
    {BACKFILL, "Total backfilled jobs (since last stats cycle start)", SLURM_METRIC_BACKFILLED_CYCLE},
    {BACKFILL, "Total backfilled heterogeneous job components", SLURM_METRIC_BACKFILLED_HET},
    {BACKFILL, "Last cycle", SLURM_METRIC_BACKFILL_LAST_CYCLE},
    {BACKFILL, "Mean cycle", SLURM_METRIC_BACKFILL_MEAN_CYCLE},
    {BACKFILL, "Depth Mean", SLURM_METRIC_BACKFILL_DEPTH},
};

static void diag_line(struct slurm_metrics *metrics, enum section section, char *line)
{
    char *value = strchr(line, ':');
    double number;
    if (value == NULL)
        return;
    *value++ = '\0';
    line = text_trim(line);
    value = text_trim(value);
    for (size_t i = 0; i < ARRAY_LEN(diag_lines); i++)
        if (diag_lines[i].section == section && strcmp(diag_lines[i].key, line) == 0 && read_number(value, &number))
            slurm_metrics_set(metrics, diag_lines[i].metric, "", number);
}

/* "  REQUEST_PING   ( 1008) count:12     ave_time:117    total_time:1415" */
static void diag_rpc(struct slurm_metrics *metrics, enum slurm_metric first, const char *label, char *line)
{
    static const char *const keys[] = {"count", "ave_time", "total_time"};
    char *save = NULL, *name = strtok_r(line, " \t", &save);
    AUTO(text) struct text labels = {0};
    if (name == NULL)
        return;
    slurm_make_printable(name);
    slurm_label(&labels, label, name);
    for (char *word; (word = strtok_r(NULL, " \t", &save)) != NULL;)
        for (unsigned i = 0; i < ARRAY_LEN(keys); i++) {
            size_t len = strlen(keys[i]);
            double number;
            if (strncmp(word, keys[i], len) == 0 && word[len] == ':' && read_number(word + len + 1, &number))
                slurm_metrics_set(metrics, first + i, text_get(&labels), number);
        }
}

int slurm_metrics_diag(struct slurm_metrics *metrics, char *text)
{
    if (strstr(text, "Server thread count:") == NULL)
        return STATUS_BACKEND;
    enum section section = SERVER;
    for (char *line; (line = slurm_next_line(&text)) != NULL;) {
        enum section before = section;
        for (size_t i = 0; i < ARRAY_LEN(sections); i++)
            if (text_starts_with(line, sections[i].begins))
                section = sections[i].section;
        if (section != before)
            continue;
        if (section == RPC)
            diag_rpc(metrics, SLURM_METRIC_RPC_COUNT, "operation", line);
        else if (section == USER_RPC)
            diag_rpc(metrics, SLURM_METRIC_USER_RPC_COUNT, "user", line);
        else
            diag_line(metrics, section, line);
    }
    slurm_metrics_outcome(metrics, SLURM_COLLECTOR_SCHEDULER, true);
    return 0;
}

/* --- sshare ------------------------------------------------------------------------------------------------------- */

#define SHARE_NUMBERS 5 /* behind account and user: raw and normed shares, raw and normed usage, the factor */

/* Cuts one field off *at. */
static char *take_field(char **at)
{
    char *field = *at;
    size_t len = strcspn(field, "|");
    *at = field[len] == '\0' ? NULL : field + len + 1;
    field[len] = '\0';
    field = text_trim(field);
    return field;
}

static int share_line(struct slurm_metrics *metrics, char *line)
{
    char *fields[2 + SHARE_NUMBERS];
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        if (line == NULL)
            return STATUS_BACKEND;
        fields[i] = take_field(&line);
    }
    if (line != NULL || fields[0][0] == '\0')
        return STATUS_BACKEND;
    bool of_user = fields[1][0] != '\0';
    AUTO(text) struct text labels = {0};
    slurm_make_printable(fields[0]);
    slurm_make_printable(fields[1]);
    slurm_label(&labels, "account", fields[0]);
    if (of_user)
        slurm_label(&labels, "user", fields[1]);
    if (strcmp(fields[2], "parent") == 0) /* it has the account's, and no factor of its own */
        return 0;
    for (unsigned i = 0; i < SHARE_NUMBERS; i++) {
        double number;
        if (read_number(fields[2 + i], &number))
            slurm_metrics_set(metrics, (of_user ? SLURM_METRIC_USER_RAW_SHARES : SLURM_METRIC_ACCOUNT_RAW_SHARES) + i,
                              text_get(&labels), number);
    }
    return 0;
}

int slurm_metrics_shares(struct slurm_metrics *metrics, char *text)
{
    int status = 0;
    if (text[0] == '\0') /* there is no accounting, so that nothing is missing */
        return 0;
    for (char *line; status == 0 && (line = slurm_next_line(&text)) != NULL;)
        if (line[0] != '\0')
            status = share_line(metrics, line);
    slurm_metrics_outcome(metrics, SLURM_COLLECTOR_FAIRSHARE, status == 0);
    return status;
}

/* --- reservations ------------------------------------------------------------------------------------------------- */

/* The value of a key, in place; "" when it is not there or "(null)". Each is looked for in a copy of its own. */
static char *value_of(const char *line, const char *key)
{
    const char *at = strstr(line, key);
    if (at == NULL)
        return own_strdup("");
    at += strlen(key);
    char *value = own_printf("%.*s", (int)strcspn(at, " "), at);
    if (strcmp(value, "(null)") == 0)
        value[0] = '\0';
    slurm_make_printable(value);
    return value;
}

static void set_value(struct slurm_metrics *metrics, enum slurm_metric metric, const char *labels, const char *line,
                      const char *key)
{
    autofree char *value = value_of(line, key);
    double number;
    value[strcspn(value, "~")] = '\0'; /* a time has our stamp behind its seconds */
    if (read_number(value, &number))
        slurm_metrics_set(metrics, metric, labels, number);
}

static int reservation_line(struct slurm_metrics *metrics, const char *line)
{
    static const struct {
        const char *label, *key;
    } infos[] = {{"state", " State="},
                 {"users", " Users="},
                 {"nodes", " Nodes="},
                 {"partition", " PartitionName="},
                 {"flags", " Flags="}};
    if (!text_starts_with(line, "ReservationName="))
        return STATUS_BACKEND;
    autofree char *name = value_of(line, "ReservationName=");
    AUTO(text) struct text labels = {0}, more = {0};
    slurm_label(&labels, "reservation_name", name);
    text_add(&more, text_get(&labels));
    for (size_t i = 0; i < ARRAY_LEN(infos); i++) {
        autofree char *value = value_of(line, infos[i].key);
        slurm_label(&more, infos[i].label, value);
    }
    slurm_metrics_set(metrics, SLURM_METRIC_RESERVATION_INFO, text_get(&more), 1);
    set_value(metrics, SLURM_METRIC_RESERVATION_START, text_get(&labels), line, " StartTime=");
    set_value(metrics, SLURM_METRIC_RESERVATION_END, text_get(&labels), line, " EndTime=");
    set_value(metrics, SLURM_METRIC_RESERVATION_NODES, text_get(&labels), line, " NodeCnt=");
    set_value(metrics, SLURM_METRIC_RESERVATION_CORES, text_get(&labels), line, " CoreCnt=");
    return 0;
}

/* "LicenseName=ansys@flex Total=100 Used=20 Free=80 Reserved=0 Remote=yes …"; 20.11 has no Reserved */
int slurm_metrics_licenses(struct slurm_metrics *metrics, char *text)
{
    int status = 0;
    for (char *line; status == 0 && (line = slurm_next_line(&text)) != NULL;) {
        if (line[0] == '\0' || text_starts_with(line, "No licenses configured in Slurm"))
            continue;
        autofree char *name = value_of(line, "LicenseName=");
        if (!text_starts_with(line, "LicenseName=") || name[0] == '\0') {
            status = STATUS_BACKEND;
            continue;
        }
        AUTO(text) struct text labels = {0};
        slurm_label(&labels, "license", name);
        set_value(metrics, SLURM_METRIC_LICENSE_TOTAL, text_get(&labels), line, " Total=");
        set_value(metrics, SLURM_METRIC_LICENSE_USED, text_get(&labels), line, " Used=");
        set_value(metrics, SLURM_METRIC_LICENSE_FREE, text_get(&labels), line, " Free=");
        set_value(metrics, SLURM_METRIC_LICENSE_RESERVED, text_get(&labels), line, " Reserved=");
    }
    slurm_metrics_outcome(metrics, SLURM_COLLECTOR_LICENSES, status == 0);
    return status;
}

int slurm_metrics_reservations(struct slurm_metrics *metrics, char *text)
{
    int status = 0;
    for (char *line; status == 0 && (line = slurm_next_line(&text)) != NULL;)
        if (line[0] != '\0' && strcmp(line, "No reservations in the system") != 0)
            status = reservation_line(metrics, line);
    slurm_metrics_outcome(metrics, SLURM_COLLECTOR_RESERVATIONS, status == 0);
    return status;
}
