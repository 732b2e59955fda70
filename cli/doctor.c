/*
 * hpctl doctor: what keeps Holdfast from doing its work, each with the command that fixes it. What is wrong now with nodes is cluster
 * describe's business; this is about what is misconfigured, or would be missed when it is needed.
 */
#include "cli/cli.h"
#include "cli/term.h"

#include "base/clock.h"
#include "base/json.h"

#include <string.h>

#define CERTIFICATE_WARN_MS (30 * MS_PER_DAY)
#define SKEW_SINCE_MS (7 * MS_PER_DAY)
#define BACKUP_WARN_MS (7 * MS_PER_DAY)
#define NAMES_WIDTH 60

struct doctor {
    struct cli *cli;
    json_t *findings; /* level, check, cluster, what, command */
    size_t errors;
};

__attribute__((format(printf, 6, 7))) static void find(struct doctor *d, const char *level, const char *check,
                                                       const char *cluster, const char *command, const char *fmt, ...)
{
    json_t *finding = json_object();
    va_list ap;
    va_start(ap, fmt);
    autofree char *what = own_vprintf(fmt, ap);
    va_end(ap);
    json_put_text(finding, "level", level);
    json_put_text(finding, "check", check);
    json_put_text(finding, "cluster", cluster);
    json_put_text(finding, "what", what);
    json_put_text(finding, "command", command);
    json_array_append_new(d->findings, finding);
    d->errors += text_equal(level, "error");
}

/* What a GET answers; NULL with an exit code when it does not. */
static int get(struct doctor *d, const char *path, json_t **ret_json)
{
    return cli_ask(d->cli, "GET", path, NULL, NULL, ret_json);
}

/* --- the server ---------------------------------------------------------------------------------------------- */

static int look_at_certificate(struct doctor *d)
{
    auto_json json_t *certificate = NULL;
    int64_t ends, now = clock_wall_ms(clock_system());
    char left[CLOCK_TEXT_MAX];
    int rc = get(d, "/v1/certificate", &certificate);
    if (rc != CLI_EXIT_OK || clock_parse(json_member_text(certificate, "expiresAt"), &ends) != 0)
        return rc;
    if (ends <= now)
        find(d, "error", "certificate", "", "systemctl restart hpd  (with a new tls.certificate)",
             "the server's certificate has ended");
    else if (ends - now < CERTIFICATE_WARN_MS)
        find(d, "warn", "certificate", "", "systemctl restart hpd  (with a new tls.certificate)",
             "the server's certificate ends in %s", clock_format_duration(ends - now, left));
    return rc;
}

static int look_at_schedulers(struct doctor *d)
{
    auto_json json_t *list = NULL;
    size_t i;
    json_t *item;
    int rc = get(d, "/v1/schedulers", &list);
    json_array_foreach(json_object_get(list, "items"), i, item)
    {
        const char *error = json_member_text(item, "error");
        autofree char *command = own_printf("hpctl scheduler describe %s", json_member_text(item, "name"));
        if (text_equal(json_member_text(item, "state"), "down"))
            find(d, "error", "scheduler", "", command, "scheduler %s is not reached%s%s",
                 json_member_text(item, "name"), *error != '\0' ? ": " : "", error);
        else if (text_equal(json_member_text(item, "state"), "unknown"))
            find(d, "warn", "scheduler", "", command, "scheduler %s was never reached", json_member_text(item, "name"));
    }
    return rc;
}

static int look_at_webhooks(struct doctor *d)
{
    auto_json json_t *list = NULL;
    size_t i;
    json_t *item;
    int rc = get(d, "/v1/webhooks", &list);
    if (rc == CLI_EXIT_OK && json_array_size(json_object_get(list, "items")) == 0)
        find(d, "warn", "webhook", "", "man hpd  (WEBHOOKS)", "no webhook is configured: nobody is notified");
    json_array_foreach(json_object_get(list, "items"), i, item)
    {
        if (!text_equal(json_member_text(item, "state"), "ok"))
            find(d, "error", "webhook", "", "hpctl webhook test", "webhook %s is %s: %s",
                 json_member_text(item, "name"), json_member_text(item, "state"), json_member_text(item, "error"));
    }
    return rc;
}

/* Backups by hpctl or the REST API are in the audit log, which operators may read. A viewer gets no finding about them. */
static int look_at_backups(struct doctor *d)
{
    char ago[CLOCK_TEXT_MAX];
    int64_t at;
    auto_json json_t *version = NULL, *list = NULL;
    int rc = get(d, "/v1/version", &version);
    if (rc != CLI_EXIT_OK || text_equal(json_member_text(version, "role"), "viewer") ||
        text_equal(json_member_text(version, "role"), "job"))
        return rc;
    rc = get(d, "/v1/audit?operation=backup.create&outcome=succeeded&limit=1", &list);
    if (rc != CLI_EXIT_OK)
        return rc;
    const json_t *last = json_array_get(json_object_get(list, "items"), 0);
    int64_t now = clock_wall_ms(clock_system());
    if (last == NULL)
        find(d, "warn", "backup", "", "hpctl backup FILE", "no backup was ever made with hpctl or the REST API");
    else if (clock_parse(json_member_text(last, "at"), &at) == 0 && now - at > BACKUP_WARN_MS)
        find(d, "warn", "backup", "", "hpctl backup FILE", "the last backup was made %s ago",
             clock_format_duration(now - at, ago));
    return rc;
}

/* An inventory without a machine that may be taken: the next replacement waits. */
static int look_at_spares(struct doctor *d)
{
    auto_json json_t *machines = NULL;
    size_t i, ready = 0;
    json_t *machine;
    int rc = cli_ask_list(d->cli, "/v1/machines", 0, &machines);
    json_array_foreach(machines, i, machine) ready += json_is_true(json_object_get(machine, "ready"));
    if (rc == CLI_EXIT_OK && json_array_size(machines) > 0 && ready == 0)
        find(d, "warn", "spares", "", "hpctl machine list", "no machine of the inventory is a ready spare");
    return rc;
}

/* --- a cluster ------------------------------------------------------------------------------------------------ */

static int look_at_agents(struct doctor *d, const char *cluster, const char *path)
{
    auto_json json_t *nodes = NULL;
    char **names = NULL;
    size_t count = 0, i;
    json_t *node;
    int rc = cli_ask_list(d->cli, path, 0, &nodes);
    json_array_foreach(nodes, i, node)
    {
        if (!text_equal(json_member_text(node, "attention"), "unheard"))
            continue;
        names = own_realloc(names, count + 1, sizeof(*names));
        names[count++] = own_strdup(json_member_text(node, "name"));
    }
    if (count > 0) {
        autofree char *hosts = text_hostlist_compress(names, count);
        struct text shown AUTO(text) = {0};
        cli_add_cut(&shown, hosts, d->cli->format == CLI_FORMAT_TABLE ? NAMES_WIDTH : 0);
        find(d, "error", "agents", cluster, "systemctl status hp-agent  (on the node)",
             "the agent%s of %zu node%s %s not seen: %s", text_plural((int64_t)count), count,
             text_plural((int64_t)count), count == 1 ? "is" : "are", text_get(&shown));
    }
    text_list_free(names, count);
    return rc;
}

/* The newest word of each node counts. */
static int look_at_clocks(struct doctor *d, const char *cluster)
{
    char since[CLOCK_TEXT_MAX];
    AUTO(text) struct text path = {0};
    auto_json json_t *events = NULL, *seen = json_object();
    size_t i;
    json_t *event;
    text_add(&path, "/v1/events?kind=clock-skew");
    cli_add_query(&path, "cluster", cluster);
    cli_add_query(&path, "since", clock_format(clock_wall_ms(clock_system()) - SKEW_SINCE_MS, since));
    int rc = cli_ask_list(d->cli, text_get(&path), 1000, &events);
    json_array_foreach(events, i, event)
    {
        const char *node = json_member_text(event, "node");
        if (json_object_get(seen, node) != NULL)
            continue;
        json_put(seen, node, json_true());
        if (!text_equal(json_member_text(event, "level"), "info"))
            find(d, "warn", "clock", cluster, "timedatectl  (on the node)", "%s %s", node,
                 json_member_text(event, "message"));
    }
    return rc;
}

/* A policy under which nothing is ever done without a person, or at all. */
static int look_at_policy(struct doctor *d, const char *cluster, const char *path)
{
    auto_json json_t *policies = NULL;
    size_t i, k, act = 0, modes = 0;
    json_t *policy, *setting;
    int rc = get(d, path, &policies);
    json_array_foreach(json_object_get(policies, "items"), i, policy)
    {
        json_array_foreach(json_object_get(policy, "settings"), k, setting)
        {
            const char *name = json_member_text(setting, "name"), *value = json_member_text(setting, "value");
            if (!text_equal(name, "recovery.mode") && !text_ends_with(name, ".mode"))
                continue;
            modes++;
            act += text_equal(value, "act") || text_equal(value, "approve");
        }
    }
    if (modes > 0 && act == 0)
        find(d, "warn", "policy", cluster, "hpctl policy show",
             "the policy acts on nothing: no mode is act or "
             "approve");
    return rc;
}

static void look_at_holds(struct doctor *d, const json_t *view)
{
    const char *name = json_member_text(view, "name");
    const json_t *pause = json_object_get(view, "pause"), *groups = json_object_get(view, "instanceGroups");
    autofree char *resume = own_printf("hpctl cluster resume %s", name);
    autofree char *update = own_printf("hpctl cluster update %s --node-recovery Automatic", name);
    if (pause != NULL)
        find(d, "warn", "pause", name, resume, "%s paused the cluster at %s: automatic actions are suspended",
             json_member_text(pause, "by"), json_member_text(pause, "since"));
    if (text_equal(json_member_text(view, "nodeRecovery"), "None"))
        find(d, "warn", "recovery", name, update, "NodeRecovery is None: nothing is repaired");
    for (size_t i = 0; i < json_array_size(groups); i++) {
        const json_t *group = json_array_get(groups, i);
        autofree char *command = own_printf("hpctl group resume %s -c %s", json_member_text(group, "name"), name);
        if (json_is_true(json_object_get(json_object_get(group, "breaker"), "open")))
            find(d, "warn", "breaker", name, command, "the breaker of group %s is open: no repair begins",
                 json_member_text(group, "name"));
        if (json_is_true(json_object_get(json_object_get(group, "protection"), "on")))
            find(d, "error", "protection", name, command,
                 "replacing in group %s is stopped, as new machines do not come up", json_member_text(group, "name"));
    }
}

static int look_at_cluster(struct doctor *d, const char *name)
{
    autofree char *encoded = cli_encode(name), *path = own_printf("/v1/clusters/%s", encoded);
    autofree char *nodes = own_printf("%s/nodes", path), *policies = own_printf("%s/policies", path);
    auto_json json_t *view = NULL;
    int rc = get(d, path, &view);
    if (rc == CLI_EXIT_OK) {
        look_at_holds(d, view);
        rc = look_at_agents(d, name, nodes);
    }
    if (rc == CLI_EXIT_OK)
        rc = look_at_clocks(d, name);
    return rc == CLI_EXIT_OK ? look_at_policy(d, name, policies) : rc;
}

static int look_at_clusters(struct doctor *d)
{
    auto_json json_t *clusters = NULL;
    size_t i;
    json_t *cluster;
    int rc = cli_ask_list(d->cli, "/v1/clusters", 0, &clusters);
    if (rc == CLI_EXIT_OK && json_array_size(clusters) == 0)
        find(d, "warn", "clusters", "", "hpctl scheduler discover", "there is no cluster: no node is watched");
    json_array_foreach(clusters, i, cluster)
    {
        if (rc == CLI_EXIT_OK)
            rc = look_at_cluster(d, json_member_text(cluster, "name"));
    }
    return rc;
}

/* --------------------------------------------------------------------------------------------------------------- */

static void print_findings(const struct doctor *d)
{
    FILE *f = d->cli->out;
    size_t i;
    json_t *finding;
    json_array_foreach(d->findings, i, finding)
    {
        const char *cluster = json_member_text(finding, "cluster"), *level = json_member_text(finding, "level");
        autofree char *words =
            own_printf("%s%s%s", cluster, *cluster != '\0' ? ": " : "", json_member_text(finding, "what"));
        autofree char *local = cli_local_times(words), *wrapped = cli_wrap(local, 7);
        fprintf(f, "%s%-5s%s  ", cli_paint(cli_colour_of(level)), level, cli_paint(CLI_PLAIN));
        cli_print_harmless(f, wrapped);
        fprintf(f, "\n           %s\n", json_member_text(finding, "command"));
    }
    if (json_array_size(d->findings) == 0)
        fputs("nothing is wrong\n", f);
}

int cli_doctor(struct cli *cli)
{
    static int (*const looks[])(struct doctor * d) = {look_at_schedulers, look_at_certificate, look_at_webhooks,
                                                      look_at_backups,    look_at_spares,      look_at_clusters};
    auto_json json_t *findings = json_array();
    struct doctor d = {.cli = cli, .findings = findings};
    int rc = CLI_EXIT_OK;
    for (size_t i = 0; i < ARRAY_LEN(looks) && rc == CLI_EXIT_OK; i++)
        rc = looks[i](&d);
    if (rc != CLI_EXIT_OK)
        return rc;
    if (!cli_print_data(cli, findings))
        print_findings(&d);
    return d.errors > 0 ? CLI_EXIT_REFUSED : CLI_EXIT_OK;
}
