/* hpctl cluster …: make, list, describe, switch recovery, delete. */
#include "cli/cli.h"

#include <string.h>
#include <unistd.h>

#define DESCRIBE_EVENTS 12

int cli_read_cluster_file(struct cli *cli, const char *verb, json_t **ret_spec)
{
    return cli_read_file(cli, verb, "a cluster", "name and instanceGroups", ret_spec);
}

int cli_cluster_create(struct cli *cli)
{
    auto_json json_t *spec = NULL;
    int64_t timeout_ms;
    int rc = cli_parse_timeout(cli, &timeout_ms);
    if (rc == CLI_EXIT_OK)
        rc = cli_read_cluster_file(cli, "cluster create", &spec);
    if (rc != CLI_EXIT_OK)
        return rc;
    autofree char *key =
        own_printf("Idempotency-Key: %s", cli->option[CLI_OPTION_KEY] != NULL ? cli->option[CLI_OPTION_KEY] : "");
    const char *headers[] = {cli->option[CLI_OPTION_KEY] != NULL ? key : NULL, NULL};
    auto_json json_t *cluster = NULL;
    rc = cli_ask(cli, "POST", "/v1/clusters", spec, headers, &cluster);
    if (rc != CLI_EXIT_OK)
        return rc;
    char name[80];
    autofree char *said = own_printf("cluster %s is being created", cli_value(cluster, "name", name, sizeof(name)));
    return cli_follow_change(cli, cluster, said, timeout_ms);
}

/* Adds "counts" texts to each item for the table. */
static void add_counts(json_t *item)
{
    struct text states AUTO(text) = {0};
    struct text health AUTO(text) = {0};
    cli_counts(json_object_get(item, "nodesByState"), &states);
    cli_counts(json_object_get(item, "nodesByHealth"), &health);
    json_object_set_new(item, "_recovery",
                        json_string(json_object_get(item, "pause") != NULL
                                        ? "paused"
                                        : json_string_value(json_object_get(item, "nodeRecovery"))));
    json_object_set_new(item, "_states", json_string(text_get(&states)));
    json_object_set_new(item, "_health", json_string(text_get(&health)));
}

int cli_cluster_list(struct cli *cli)
{
    static const struct cli_column columns[] = {
        {"NAME", "name"},        {"STATE", "state"},       {"RECOVERY", "_recovery"}, {"NODES", "nodeCount"},
        {"BY STATE", "_states"}, {"BY HEALTH", "_health"}, {"AGE", "~createdAt"}};
    auto_json json_t *items = NULL;
    int64_t limit;
    int rc = cli_parse_limit(cli, 0, &limit);
    if (rc == CLI_EXIT_OK)
        rc = cli_ask_list(cli, "/v1/clusters", limit, &items);
    if (rc != CLI_EXIT_OK || cli_print_data(cli, items))
        return rc;
    for (size_t i = 0; i < json_array_size(items); i++)
        add_counts(json_array_get(items, i));
    cli_print_table(cli->out, items, columns, ARRAY_LEN(columns),
                    "no clusters yet; make one with: hpctl cluster create -f FILE");
    return CLI_EXIT_OK;
}

static int change_pause(struct cli *cli, const char *verb, const char *said)
{
    autofree char *name = cli->argument_count > 0 ? own_strdup(cli->argument[0]) : NULL;
    auto_json json_t *body = json_object(), *cluster = NULL;
    int rc = name != NULL ? CLI_EXIT_OK : cli_cluster_name(cli, &name);
    if (rc != CLI_EXIT_OK)
        return rc;
    json_put_text(body, "reason", cli->option[CLI_OPTION_REASON]);
    autofree char *encoded = cli_encode(name), *path = own_printf("/v1/clusters/%s/%s", encoded, verb);
    rc = cli_ask(cli, "POST", path, body, NULL, &cluster);
    if (rc == CLI_EXIT_OK && !cli_print_data(cli, cluster))
        fprintf(cli->out, "%s: %s\n", name, said);
    return rc;
}

int cli_cluster_pause(struct cli *cli)
{
    return change_pause(cli, "pause",
                        "paused; nothing new is done to its nodes by itself, and what is at work (hpctl operation list "
                        "--state running) goes on to its end");
}

int cli_cluster_resume(struct cli *cli)
{
    return change_pause(cli, "resume", "not paused; what is open is decided on now");
}

/* "by token:alice since …: why"; nothing where nobody holds it. */
static void print_pause(FILE *f, const json_t *view)
{
    char by[80], since[64], reason[600];
    if (json_object_get(view, "pause") == NULL)
        return;
    cli_value(view, "pause.reason", reason, sizeof(reason));
    fprintf(f, "%-16s by %s since %s%s%s  (nothing is done by itself; hpctl cluster resume ends it)\n", "PAUSED",
            cli_value(view, "pause.by", by, sizeof(by)), cli_value(view, "pause.since", since, sizeof(since)),
            reason[0] != '\0' ? ": " : "", reason);
}

/* First of all when it is down: then not much of what follows can change. */
static void print_scheduler(FILE *f, const json_t *view)
{
    char state[32], age[64], error[600];
    const json_t *scheduler = json_object_get(view, "scheduler");
    if (!text_equal(cli_value(scheduler, "state", state, sizeof(state)), "down"))
        return;
    const char *why = cli_value(scheduler, "error", error, sizeof(error));
    const bool timed = json_object_get(scheduler, "since") != NULL; /* one that is not configured was never up */
    fprintf(f, "%-16s down%s%s%s%s\n", "Scheduler", timed ? " for " : "",
            timed ? cli_age(scheduler, "since", age, sizeof(age)) : "", *why != 0 ? ": " : "", why);
}

/* Who writes the scheduler's nodes and partitions, where it is not the site alone, and what became of them. */
static void print_desired(FILE *f, const json_t *view)
{
    char way[32], strategy[64], drift[600];
    if (!text_equal(cli_value(view, "scheduler.configuration", way, sizeof(way)), "manage"))
        return;
    fprintf(f, "%-16s managed by Holdfast (%s)\n", "Its nodes",
            cli_value(view, "scheduler.strategy", strategy, sizeof(strategy)));
    if (*cli_value(view, "scheduler.drift", drift, sizeof(drift)) != 0)
        fprintf(f, "%-16s %s. %s\n", "Drift", drift,
                text_equal(strategy, "Managed") ? "Put the file back as it was (FILE.old has the last one), or take "
                                                  "SlurmConfigStrategy Merge or Overwrite."
                                                : "It is being seen to.");
}

static void print_head(FILE *f, json_t *view)
{
    char buffer[600], state[32], name[80];
    add_counts(view);
    print_scheduler(f, view);
    cli_print_field(f, "Cluster", cli_value(view, "name", buffer, sizeof(buffer)));
    cli_print_field(f, "State", cli_value(view, "state", buffer, sizeof(buffer)));
    print_pause(f, view);
    cli_print_field(f, "Failure", cli_value(view, "failureMessage", buffer, sizeof(buffer)));
    cli_print_field(f, "Provisioning", cli_value(view, "nodeProvisioningMode", buffer, sizeof(buffer)));
    const char *recovery = cli_value(view, "nodeRecovery", buffer, sizeof(buffer));
    fprintf(f, "%-16s %s%s\n", "NodeRecovery", recovery,
            text_equal(recovery, "None") ? "  (faults are marked, nothing is repaired)" : "");
    const char *orchestrator = cli_value(view, "orchestrator", buffer, sizeof(buffer));
    const char *scheduler = cli_value(view, "scheduler.state", state, sizeof(state));
    fprintf(f, "%-16s %s\n", "Orchestrator", orchestrator);
    if (*scheduler != 0)
        fprintf(f, "%-16s %s (%s)\n", "Scheduler", cli_value(view, "scheduler.name", name, sizeof(name)), scheduler);
    cli_print_field(f, "Spoken to by", cli_value(view, "scheduler.transport", buffer, sizeof(buffer)));
    print_desired(f, view);
    cli_print_field(f, "Nodes", cli_value(view, "nodeCount", buffer, sizeof(buffer)));
    cli_print_field(f, "By state", cli_value(view, "_states", buffer, sizeof(buffer)));
    cli_print_field(f, "By health", cli_value(view, "_health", buffer, sizeof(buffer)));
    cli_print_field(f, "Age", cli_age(view, "createdAt", buffer, sizeof(buffer)));
}

/* What a line of the table has no room for: why a group failed, and how its software update goes. */
/* What people want on its nodes, and whether all of them carry it. */
static void print_group_labels(FILE *f, const char *name, const json_t *group)
{
    autofree char *wanted = cli_labels(json_object_get(group, "kubernetesConfig"));
    autofree char *carried = cli_labels(json_object_get(group, "currentKubernetesConfig"));
    if (wanted[0] == '\0' && carried[0] == '\0')
        return;
    if (text_equal(wanted, carried))
        fprintf(f, "%s: all nodes carry %s\n", name, wanted);
    else
        fprintf(f, "%s: nodes are to carry %s; all of them carry %s\n", name, wanted[0] != '\0' ? wanted : "nothing",
                carried[0] != '\0' ? carried : "nothing of it");
}

static void print_group_news(FILE *f, const json_t *groups)
{
    for (size_t i = 0; i < json_array_size(groups); i++) {
        char name[80], why[600], state[32], release[80], update[600], since[64], until[64], times[24];
        const json_t *group = json_array_get(groups, i);
        cli_value(group, "name", name, sizeof(name));
        if (json_is_true(json_object_get(json_object_get(group, "protection"), "on")))
            fprintf(f,
                    "%s: PROTECTED since %s, %s new machines in a row did not come up: nothing is replaced until one "
                    "does, or after hpctl group resume %s\n",
                    name, cli_value(group, "protection.since", since, sizeof(since)),
                    cli_value(group, "protection.failedInARow", times, sizeof(times)), name);
        if (json_is_true(json_object_get(json_object_get(group, "breaker"), "open")))
            fprintf(
                f,
                "%s: its breaker is open since %s: no repair begins until it closes, or after hpctl group resume %s\n",
                name, cli_value(group, "breaker.openedAt", since, sizeof(since)), name);
        if (json_is_true(json_object_get(json_object_get(group, "capacity"), "short")))
            fprintf(f, "%s: the provider had no machine at %s; it is asked again at %s\n", name,
                    cli_value(group, "capacity.since", since, sizeof(since)),
                    cli_value(group, "capacity.askedAgainAt", until, sizeof(until)));
        print_group_labels(f, name, group);
        cli_value(group, "softwareUpdate.failureMessage", update, sizeof(update));
        if (*cli_value(group, "failureMessage", why, sizeof(why)) != 0 && !text_equal(why, update))
            fprintf(f, "%s: %s\n", name, why);
        if (*cli_value(group, "softwareUpdate.state", state, sizeof(state)) == 0)
            continue;
        cli_value(group, "softwareUpdate.imageReleaseVersion", release, sizeof(release));
        fprintf(f, "%s: software update%s%s: %s%s%s\n", name, *release != 0 ? " to " : "", release, state,
                *update != 0 ? ": " : "", update);
    }
}

static void print_groups(FILE *f, json_t *view)
{
    static const struct cli_column columns[] = {
        {"GROUP", "name"},        {"STATE", "state"},           {"TYPE", "instanceType"},
        {"PROVIDER", "provider"}, {"DESIRED", "instanceCount"}, {"BY STATE", "_states"},
        {"BY HEALTH", "_health"}, {"BREAKER", "_breaker"}};
    json_t *groups = json_object_get(view, "instanceGroups");
    for (size_t i = 0; i < json_array_size(groups); i++) {
        json_t *group = json_array_get(groups, i);
        add_counts(group);
        bool open = json_is_true(json_object_get(json_object_get(group, "breaker"), "open"));
        json_object_set_new(group, "_breaker", json_string(open ? "OPEN: repairs are held" : "closed"));
    }
    fputs("\nInstance groups\n", f);
    cli_print_table(f, groups, columns, ARRAY_LEN(columns), "none");
    print_group_news(f, groups);
}

static void print_going_on(FILE *f, json_t *view)
{
    static const struct cli_column operations[] = {{"OPERATION", "kind"}, {"NODE", "node"},      {"STEP", "_step"},
                                                   {"BY", "actor"},       {"AGE", "~createdAt"}, {"REASON", "reason"},
                                                   {"ID", "id"}};
    static const struct cli_column nodes[] = {
        {"NODE", "name"}, {"STATE", "state"}, {"HEALTH", "health"}, {"SINCE", "~stateSince"}, {"WHY", "reason"}};
    json_t *active = json_object_get(view, "activeOperations");
    for (size_t i = 0; i < json_array_size(active); i++) {
        char progress[200];
        json_t *steps = json_object_get(json_array_get(active, i), "steps");
        if (*cli_progress(json_array_get(active, i), progress, sizeof(progress)) != 0)
            json_put_text(json_array_get(active, i), "_step", progress);
        for (size_t k = 0; k < json_array_size(steps); k++)
            if (text_equal(json_string_value(json_object_get(json_array_get(steps, k), "state")), "running"))
                json_object_set(json_array_get(active, i), "_step", json_object_get(json_array_get(steps, k), "name"));
    }
    fputs("\nGoing on\n", f);
    cli_print_table(f, active, operations, ARRAY_LEN(operations), "nothing");
    fputs("\nNeeds attention\n", f);
    cli_print_table(f, json_object_get(view, "attention"), nodes, ARRAY_LEN(nodes), "nothing");
    int64_t total = json_integer_value(json_object_get(view, "attentionTotal"));
    if (total > (int64_t)json_array_size(json_object_get(view, "attention")))
        fprintf(f, "… and %lld more: hpctl node list --state held (or failed, repairing)\n",
                (long long)(total - (int64_t)json_array_size(json_object_get(view, "attention"))));
}

/* What took many nodes at once, and is not over: none of them is repaired by itself meanwhile. */
static int print_incidents(struct cli *cli, const char *cluster)
{
    static const struct cli_column columns[] = {{"INCIDENT", "id"},   {"WHERE", "level"}, {"NAME", "domain"},
                                                {"CAUSE", "cause"},   {"NODES", "nodes"}, {"DOWN", "affected"},
                                                {"AGE", "~startedAt"}};
    struct text path AUTO(text) = {0};
    text_add(&path, "/v1/incidents");
    cli_add_query(&path, "cluster", cluster);
    cli_add_query(&path, "state", "open");
    auto_json json_t *incidents = NULL;
    int rc = cli_ask_list(cli, text_get(&path), CLI_LIMIT_DEFAULT, &incidents);
    if (rc != CLI_EXIT_OK || json_array_size(incidents) == 0)
        return rc;
    fputs("\nIncidents of many nodes, whose repairs are held (hpctl incident describe, incident end)\n", cli->out);
    cli_print_table(cli->out, incidents, columns, ARRAY_LEN(columns), "none");
    return rc;
}

static int print_last_events(struct cli *cli, const char *cluster)
{
    static const struct cli_column columns[] = {
        {"AGO", "~at"}, {"LEVEL", "level"}, {"NODE", "node"}, {"WHAT", "_what"}};
    struct text path AUTO(text) = {0};
    text_add(&path, "/v1/events");
    cli_add_query(&path, "cluster", cluster);
    auto_json json_t *events = NULL;
    int rc = cli_ask_list(cli, text_get(&path), DESCRIBE_EVENTS, &events);
    if (rc != CLI_EXIT_OK)
        return rc;
    for (size_t i = 0; i < json_array_size(events); i++)
        cli_event_words(json_array_get(events, i));
    fputs("\nLast events (newest first)\n", cli->out);
    cli_print_table(cli->out, events, columns, ARRAY_LEN(columns), "none");
    return CLI_EXIT_OK;
}

int cli_cluster_describe(struct cli *cli)
{
    autofree char *name = cli->argument_count > 0 ? own_strdup(cli->argument[0]) : NULL;
    int rc = name != NULL ? CLI_EXIT_OK : cli_cluster_name(cli, &name);
    if (rc != CLI_EXIT_OK)
        return rc;
    autofree char *encoded = cli_encode(name), *path = own_printf("/v1/clusters/%s", encoded);
    auto_json json_t *view = NULL;
    rc = cli_ask(cli, "GET", path, NULL, NULL, &view);
    if (rc != CLI_EXIT_OK || cli_print_data(cli, view))
        return rc;
    print_head(cli->out, view);
    print_groups(cli->out, view);
    print_going_on(cli->out, view);
    rc = print_incidents(cli, name);
    return rc == CLI_EXIT_OK ? print_last_events(cli, name) : rc;
}

int cli_cluster_update(struct cli *cli)
{
    const char *recovery = cli->option[CLI_OPTION_NODE_RECOVERY];
    if (recovery == NULL)
        return cli_usage(cli, "cluster update needs --node-recovery Automatic or None");
    autofree char *name = cli->argument_count > 0 ? own_strdup(cli->argument[0]) : NULL;
    int rc = name != NULL ? CLI_EXIT_OK : cli_cluster_name(cli, &name);
    if (rc != CLI_EXIT_OK)
        return rc;
    autofree char *encoded = cli_encode(name), *path = own_printf("/v1/clusters/%s", encoded);
    auto_json json_t *body = json_pack("{s:s}", "nodeRecovery", recovery);
    auto_json json_t *cluster = NULL;
    rc = cli_ask(cli, "PATCH", path, body, NULL, &cluster);
    if (rc == CLI_EXIT_OK && !cli_print_data(cli, cluster))
        fprintf(cli->out, "NodeRecovery of %s is %s\n", name, recovery);
    return rc;
}

bool cli_confirm(struct cli *cli, const char *question, const char *expected)
{
    char answer[128] = "";
    fputs(question, cli->err);
    fflush(cli->err);
    if (fgets(answer, sizeof(answer), stdin) == NULL)
        return false;
    answer[strcspn(answer, "\n")] = 0;
    return text_equal(answer, expected);
}

int cli_cluster_delete(struct cli *cli)
{
    const char *name = cli->argument[0];
    int64_t timeout_ms;
    int rc = cli_parse_timeout(cli, &timeout_ms);
    if (rc != CLI_EXIT_OK)
        return rc;
    if (cli->option[CLI_OPTION_YES] == NULL) {
        if (!isatty(STDIN_FILENO))
            return cli_usage(cli, "cluster delete asks first; add --yes in scripts");
        autofree char *question =
            own_printf("This ends every instance of cluster %s and its jobs. Type its name to go on: ", name);
        if (!cli_confirm(cli, question, name))
            return cli_usage(cli, "nothing was deleted");
    }
    autofree char *encoded = cli_encode(name), *path = own_printf("/v1/clusters/%s", encoded);
    auto_json json_t *cluster = NULL;
    rc = cli_ask(cli, "DELETE", path, NULL, NULL, &cluster);
    autofree char *said = own_printf("cluster %s is being deleted", name);
    return rc != CLI_EXIT_OK ? rc : cli_follow_change(cli, cluster, said, timeout_ms);
}
