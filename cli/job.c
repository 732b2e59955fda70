/* hpctl job …: what the scheduler runs, and what happened to the nodes that it runs on. */
#include "cli/cli.h"

#include "base/own.h"

int cli_job_list(struct cli *cli)
{
    static const struct cli_column columns[] = {
        {"JOB", "id"},     {"NAME", "name"},   {"USER", "user"},         {"PARTITION", "partition"}, {"STATE", "state"},
        {"WHY", "reason"}, {"NODES", "nodes"}, {"RESTARTS", "restarts"}, {"RUNS", "~startedAt"}};
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
    if (rc == CLI_EXIT_OK && !cli_print_data(cli, items))
        cli_print_table(cli->out, items, columns, ARRAY_LEN(columns), "no jobs");
    return rc;
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
                  {"Tasks that wait", "tasks"},
                  {"Nodes", "nodes"},
                  {"CPUs", "cpus"},
                  {"GPUs", "gpus"},
                  {"Restarts", "restarts"},
                  {"Submitted", "submittedAt"},
                  {"Started", "startedAt"},
                  {"Ends by", "endsBy"},
                  {"Ended", "endedAt"},
                  {"Time limit (s)", "timeLimitSeconds"}};
    static const struct cli_column faults[] = {{"NODE", "node"},         {"CODE", "code"},   {"DEVICE", "device"},
                                               {"SEVERITY", "severity"}, {"COUNT", "count"}, {"FIRST", "firstAt"},
                                               {"LAST", "lastAt"}};
    static const struct cli_column attempts[] = {{"RESTART", "restart"}, {"ATTEMPT", "attempt"}, {"STATE", "state"},
                                                 {"NODES", "nodes"},     {"EXIT", "exitCode"},   {"BEGAN", "startedAt"},
                                                 {"ENDED", "endedAt"},   {"LOST MS", "lostMs"},  {"WHY", "reason"}};
    static const struct cli_column repairs[] = {{"NODE", "node"},  {"REPAIR", "kind"},     {"STATE", "state"},
                                                {"WHY", "reason"}, {"BEGAN", "createdAt"}, {"ENDED", "finishedAt"}};
    char buffer[600];
    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        cli_print_field(cli->out, fields[i].title, cli_value(job, fields[i].path, buffer, sizeof(buffer)));
    fputs("\nFaults of its nodes since it started\n", cli->out);
    cli_print_table(cli->out, json_object_get(job, "faults"), faults, ARRAY_LEN(faults), "none");
    fputs("\nRepairs of its nodes since it started\n", cli->out);
    cli_print_table(cli->out, json_object_get(job, "repairs"), repairs, ARRAY_LEN(repairs), "none");
    fputs("\nAttempts at its steps (srun --auto-resume)\n", cli->out);
    cli_print_table(cli->out, json_object_get(job, "attempts"), attempts, ARRAY_LEN(attempts), "none");
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
