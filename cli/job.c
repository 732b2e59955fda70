/* hpctl job …: what the scheduler runs, and what happened to the nodes that it runs on. */
#include "cli/cli.h"

#include "base/clock.h"
#include "base/own.h"
#include "base/text.h"
#include "model/job_command.h"

#include <string.h>

static bool is_word(const json_t *json, const char *word)
{
    return json_is_string(json) && strcmp(json_string_value(json), word) == 0;
}

/* A cluster without a scheduler has none, and never will. */
static const char *why_none(struct cli *cli, const char *cluster, const json_t *items)
{
    auto_json json_t *json = NULL;
    autofree char *path = own_printf("/v1/clusters/%s", cluster);
    if (json_array_size(items) == 0)
        (void)cli_ask(cli, "GET", path, NULL, NULL, &json); /* what it did not say is not known */
    if (is_word(json_object_get(json, "orchestrator"), "none"))
        return "no jobs: the cluster has no scheduler (orchestrator: none)";
    return "no jobs on nodes of this cluster, and none that waits in a partition with one";
}

/* So long it runs, or ran; "": it waits. */
static void put_runs(json_t *job)
{
    char text[CLOCK_TEXT_MAX + 16], span[CLOCK_TEXT_MAX];
    int64_t from, to;
    if (clock_parse(cli_value(job, "startedAt", text, sizeof(text)), &from) != 0)
        return;
    if (clock_parse(cli_value(job, "endedAt", text, sizeof(text)), &to) != 0)
        to = clock_wall_ms(clock_system());
    json_put_text(job, "_runs", clock_format_duration(to > from ? (to - from) / 1000 * 1000 : 0, span));
}

int cli_job_list(struct cli *cli)
{
    static const struct cli_column columns[] = {{"JOB", "id"},      {"NAME", "name"},
                                                {"USER", "user"},   {"PARTITION", "partition"},
                                                {"STATE", "state"}, {"WHY", "reason"},
                                                {"NODES", "nodes"}, {"RESTARTS", "restarts"},
                                                {"RUNS", "_runs"},  {"GOODPUT", "goodput.share"}};
    int64_t limit;
    autofree char *cluster = NULL;
    int rc = cli_parse_limit(cli, CLI_LIMIT_DEFAULT, &limit);
    if (rc == CLI_EXIT_OK)
        rc = cli_cluster_name(cli, &cluster);
    if (rc != CLI_EXIT_OK)
        return rc;
    autofree char *name = cli_encode(cluster), *path = own_printf("/v1/clusters/%s/jobs", name);
    auto_json json_t *items = NULL;
    rc = cli_ask_list(cli, path, limit, &items);
    if (rc != CLI_EXIT_OK || cli_print_data(cli, items))
        return rc;
    json_t *job;
    size_t i;
    json_array_foreach(items, i, job) put_runs(job);
    cli_print_table(cli->out, items, columns, ARRAY_LEN(columns), why_none(cli, name, items));
    return rc;
}

/* A job that runs nothing, as it has lost a node and no other came yet. */
static void tell_wait(struct cli *cli, const json_t *attempts)
{
    const json_t *last = json_array_get(attempts, json_array_size(attempts) - 1);
    char buffer[600];
    if (is_word(json_object_get(last, "state"), "waiting"))
        cli_print_field(cli->out, "Waits for a replacement since",
                        cli_value(last, "waitsSince", buffer, sizeof(buffer)));
}

static void print_part(struct cli *cli, const json_t *job, const char *title, const char *list,
                       const struct cli_column *columns, size_t count)
{
    fprintf(cli->out, "\n%s\n", title);
    cli_print_table(cli->out, json_object_get(job, list), columns, count, "none");
}

static void print_job(struct cli *cli, const json_t *job)
{
    static const struct {
        const char *title, *path;
    } fields[] = {{"Job", "id"},
                  {"Name", "name"},
                  {"User", "user"},
                  {"Account", "account"},
                  {"Partition", "partition"},
                  {"State", "state"},
                  {"Why", "reason"},
                  {"Nodes", "nodes"},
                  {"CPUs", "cpus"},
                  {"GPUs", "gpus"},
                  {"Restarts", "restarts"},
                  {"Replicas", "elastic.replicas"},
                  {"Replicas at least", "elastic.minReplicas"},
                  {"Replicas at most", "elastic.maxReplicas"},
                  {"Replicas asked for", "elastic.askedReplicas"},
                  {"Submitted", "submittedAt"},
                  {"Started", "startedAt"},
                  {"Ends by", "endsBy"},
                  {"Ended", "endedAt"},
                  {"Time limit (s)", "timeLimitSeconds"},
                  {"Goodput", "goodput.share"},
                  {"Node-seconds allocated", "goodput.allocatedNodeSeconds"},
                  {"Node-seconds productive", "goodput.productiveNodeSeconds"},
                  {"Node-seconds lost", "goodput.lostNodeSeconds"},
                  {"Node-seconds lost at most", "goodput.lostNodeSecondsAtMost"},
                  {"Waited between starts (s)", "goodput.waitedSeconds"},
                  {"Starts not seen", "goodput.startsNotSeen"},
                  {"Method", "goodput.method"}};
    static const struct cli_column faults[] = {{"NODE", "node"},         {"CODE", "code"},   {"DEVICE", "device"},
                                               {"SEVERITY", "severity"}, {"COUNT", "count"}, {"FIRST", "firstAt"},
                                               {"LAST", "lastAt"}};
    static const struct cli_column attempts[] = {
        {"RESTART", "restart"}, {"STEP", "step"},     {"ATTEMPT", "attempt"},
        {"STATE", "state"},     {"NODES", "nodes"},   {"EXIT", "exitCode"},
        {"BEGAN", "startedAt"}, {"ENDED", "endedAt"}, {"WAITS SINCE", "waitsSince"},
        {"LOST MS", "lostMs"},  {"WHY", "reason"}};
    static const struct cli_column runs[] = {{"RESTART", "restart"}, {"NODES", "nodes"},
                                             {"BEGAN", "startedAt"}, {"ENDED", "endedAt"},
                                             {"STATE", "state"},     {"LOST AT MOST (S)", "lostSecondsAtMost"},
                                             {"WHY", "why"}};
    static const struct cli_column signals[] = {
        {"SIGNAL", "signal"}, {"AT", "at"}, {"OUTCOME", "outcome"}, {"FOR", "node"}, {"OPERATION", "operation"}};
    static const struct cli_column repairs[] = {{"NODE", "node"},  {"REPAIR", "kind"},     {"STATE", "state"},
                                                {"WHY", "reason"}, {"BEGAN", "createdAt"}, {"ENDED", "finishedAt"}};
    char buffer[600];
    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        cli_print_field(cli->out, fields[i].title, cli_value(job, fields[i].path, buffer, sizeof(buffer)));
    if (json_integer_value(json_object_get(job, "tasks")) > 1)
        cli_print_field(cli->out, "Tasks that wait", cli_value(job, "tasks", buffer, sizeof(buffer)));
    tell_wait(cli, json_object_get(job, "attempts"));
    print_part(cli, job, "Its starts", "runs", runs, ARRAY_LEN(runs));
    print_part(cli, job, "Signals that Holdfast sent", "signals", signals, ARRAY_LEN(signals));
    print_part(cli, job, "Faults of its nodes while it had them", "faults", faults, ARRAY_LEN(faults));
    print_part(cli, job, "Repairs of its nodes while it had them", "repairs", repairs, ARRAY_LEN(repairs));
    print_part(cli, job, "Attempts at its steps (srun --auto-resume)", "attempts", attempts, ARRAY_LEN(attempts));
}

int cli_job_describe(struct cli *cli)
{
    autofree char *cluster = NULL;
    auto_json json_t *job = NULL;
    int rc = cli_cluster_name(cli, &cluster);
    if (rc != CLI_EXIT_OK)
        return rc;
    autofree char *name = cli_encode(cluster), *id = cli_encode(cli->argument[0]);
    autofree char *path = own_printf("/v1/clusters/%s/jobs/%s", name, id);
    rc = cli_ask(cli, "GET", path, NULL, NULL, &job);
    if (rc == CLI_EXIT_OK && !cli_print_data(cli, job))
        print_job(cli, job);
    return rc;
}

/* It is stored when this answers, and carried out within seconds. */
static int ask_command(struct cli *cli, json_t *body, const char *said)
{
    autofree char *cluster = NULL;
    auto_json json_t *reply = NULL;
    int rc = cli_cluster_name(cli, &cluster);
    if (rc != CLI_EXIT_OK)
        return rc;
    autofree char *name = cli_encode(cluster), *id = cli_encode(cli->argument[0]);
    autofree char *path = own_printf("/v1/clusters/%s/jobs/%s/command", name, id);
    rc = cli_ask(cli, "POST", path, body, NULL, &reply);
    if (rc == CLI_EXIT_OK && !cli_print_data(cli, reply))
        fprintf(cli->out, "%s %s; see hpctl job describe %s\n", cli->argument[0], said, cli->argument[0]);
    return rc;
}

static int command(struct cli *cli, const char *word, const char *said)
{
    auto_json json_t *body = json_pack("{s:s}", "command", word);
    return ask_command(cli, body, said);
}

int cli_job_scale(struct cli *cli)
{
    int64_t size;
    if (text_parse_i64(cli->argument[1], 1, JOB_REPLICAS_MAX, &size) != 0)
        return cli_usage(cli, "SIZE: \"%s\" is not a number of 1 to %d", cli->argument[1], JOB_REPLICAS_MAX);
    autofree char *said = own_printf("gets another size: %lld", (long long)size);
    auto_json json_t *body = json_pack("{s:s, s:I}", "command", "scale", "size", (json_int_t)size);
    return ask_command(cli, body, said);
}

int cli_job_restart(struct cli *cli)
{
    return cli->option[CLI_OPTION_PODS] != NULL ? command(cli, "remake", "gets new pods")
                                                : command(cli, "restart", "begins anew");
}

int cli_job_suspend(struct cli *cli)
{
    return command(cli, "suspend", "is suspended: it gives its nodes back");
}

int cli_job_resume(struct cli *cli)
{
    return command(cli, "resume", "is resumed");
}
