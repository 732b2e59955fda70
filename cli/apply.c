/*
 * hpctl apply and hpctl cluster export: a cluster as a file, and a file as a cluster.
 *
 * export takes what a person may ask for out of what the server shows. apply compares a file with that, says the
 * difference, and asks the server for it in one change that names the revision that was read: when somebody was faster
 * nothing happens. What the file leaves out of the cluster or of a group stays; a group that the file leaves out goes.
 */
#include "cli/cli.h"

#include "base/map.h"
#include "base/nearest.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

AUTO_DEFINE(struct map *, map, map_free)

#define SHOWN_GONE_MAX 8 /* of the names of nodes that go */

/* --- a cluster as a file --------------------------------------------------------------------------- */

/* What a person may ask for, as the server reads it (api/v1/spec_words.c); a test compares. */
const char *const cli_cluster_keys[] = {"name",
                                        "orchestrator",
                                        "scheduler",
                                        "nodeRecovery",
                                        "nodeProvisioningMode",
                                        "vpcConfig",
                                        "clusterRole",
                                        "slurmConfigStrategy",
                                        "tieredStorageConfig",
                                        "autoScaling",
                                        "instanceGroups",
                                        "clusterName",
                                        "tags",
                                        "restrictedInstanceGroups",
                                        "restrictedInstanceGroupsConfig",
                                        NULL};
const char *const cli_group_keys[] = {"name",
                                      "instanceCount",
                                      "minInstanceCount",
                                      "instanceType",
                                      "provider",
                                      "imageId",
                                      "imageReleaseVersion",
                                      "nodeNames",
                                      "nodesFrom",
                                      "lifeCycleConfig",
                                      "slurmConfig",
                                      "overrideVpcConfig",
                                      "onStartDeepHealthChecks",
                                      "instanceRequirements",
                                      "executionRole",
                                      "threadsPerCore",
                                      "instanceStorageConfigs",
                                      "networkInterface",
                                      "capacityRequirements",
                                      "rebootMethods",
                                      "autoResumeReplaces",
                                      "instanceGroupName",
                                      "trainingPlanArn",
                                      "scheduledUpdateConfig",
                                      "autoPatchConfig",
                                      "kubernetesConfig",
                                      NULL};

/* The first of object that is none of keys; NULL: there is none. */
static const char *unknown_in(json_t *object, const char *const *keys)
{
    const char *name;
    json_t *value;
    json_object_foreach(object, name, value)
    {
        size_t i = 0;
        while (keys[i] != NULL && !text_equal(keys[i], name))
            i++;
        if (keys[i] == NULL)
            return name;
    }
    return NULL;
}

/* What the server shows and nobody may ask for goes. */
static void keep(json_t *object, const char *const *keys)
{
    for (const char *name = unknown_in(object, keys); name != NULL; name = unknown_in(object, keys))
        json_object_del(object, name);
}

static int check_keys(struct cli *cli, json_t *object, const char *const *keys, const char *where)
{
    struct nearest nearest = {.word = unknown_in(object, keys)};
    if (nearest.word == NULL)
        return CLI_EXIT_OK;
    for (; *keys != NULL; keys++)
        nearest_see(&nearest, *keys);
    autofree char *unknown = nearest_say(&nearest);
    return cli_usage(cli, "%s: %s%s", cli->option[CLI_OPTION_FILE], where, unknown);
}

/* What the server would not know is said at once, and not shown as a difference. */
static int check_file(struct cli *cli, json_t *wanted)
{
    size_t i;
    json_t *group;
    int rc = check_keys(cli, wanted, cli_cluster_keys, "");
    json_array_foreach(json_object_get(wanted, "instanceGroups"), i, group)
    {
        autofree char *where = own_printf("instanceGroups[%zu]: ", i);
        if (rc == CLI_EXIT_OK && json_is_object(group))
            rc = check_keys(cli, group, cli_group_keys, where);
    }
    return rc;
}

static int by_group(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Names of the group's nodes that stay, sorted, borrowed from nodes. Caller frees the array. */
static const char **names_of(const json_t *nodes, const char *group, size_t *ret_count)
{
    size_t i, count = 0;
    const json_t *node;
    const char **names = own_calloc(json_array_size(nodes) + 1, sizeof(*names));
    json_array_foreach(nodes, i, node)
    {
        const char *state = json_string_value(json_object_get(node, "state"));
        if (text_equal(json_string_value(json_object_get(node, "group")), group) && !text_equal(state, "deleting") &&
            !text_equal(state, "deleted"))
            names[count++] = json_string_value(json_object_get(node, "name"));
    }
    qsort(names, count, sizeof(*names), by_group);
    *ret_count = count;
    return names;
}

/* "<group>-1" to "<group>-<count>" is what a group gets that names nothing. */
static bool are_plain(const char *const *names, size_t count, const char *group)
{
    size_t len = strlen(group);
    for (size_t i = 0; i < count; i++) {
        int64_t number;
        if (strncmp(names[i], group, len) != 0 || names[i][len] != '-' ||
            text_parse_i64(names[i] + len + 1, 1, (int64_t)count, &number) != 0)
            return false;
    }
    return true;
}

static void export_names(json_t *group, const json_t *nodes)
{
    size_t count;
    const char *name = json_string_value(json_object_get(group, "name"));
    autofree const char **names = names_of(nodes, name, &count);
    /* While it grows or shrinks the names of tomorrow are not known yet. */
    if (are_plain(names, count, name) || (int64_t)count != json_integer_value(json_object_get(group, "instanceCount")))
        return;
    struct text list AUTO(text) = {0};
    for (size_t i = 0; i < count; i++)
        text_printf(&list, "%s%s", i > 0 ? "," : "", names[i]);
    json_put_text(group, "nodeNames", text_get(&list));
}

static void export_group(json_t *group, const json_t *nodes)
{
    keep(group, cli_group_keys);
    if (text_equal(json_string_value(json_object_get(group, "instanceType")), ""))
        json_object_del(group, "instanceType");
    export_names(group, nodes);
}

/* Makes a view what a file holds. */
static void export_cluster(json_t *view, const json_t *nodes)
{
    size_t i;
    json_t *group, *scheduler = json_incref(json_object_get(json_object_get(view, "scheduler"), "name"));
    keep(view, cli_cluster_keys);
    json_object_del(view, "scheduler");
    if (json_string_length(scheduler) > 0)
        json_object_set(view, "scheduler", scheduler);
    json_decref(scheduler);
    json_array_foreach(json_object_get(view, "instanceGroups"), i, group) export_group(group, nodes);
}

/* The cluster as a file would describe it, and the revision it has. */
static int fetch(struct cli *cli, const char *name, json_t **ret_cluster, json_t **ret_nodes, int64_t *ret_revision)
{
    auto_json json_t *view = NULL, *nodes = NULL;
    autofree char *encoded = cli_encode(name), *path = own_printf("/v1/clusters/%s", encoded);
    int rc = cli_ask(cli, "GET", path, NULL, NULL, &view);
    if (rc != CLI_EXIT_OK)
        return rc;
    autofree char *nodes_path = own_printf("%s/nodes", path);
    rc = cli_ask_list(cli, nodes_path, 0, &nodes);
    if (rc != CLI_EXIT_OK)
        return rc;
    *ret_revision = json_integer_value(json_object_get(view, "revision"));
    export_cluster(view, nodes);
    *ret_cluster = TAKE(view);
    *ret_nodes = TAKE(nodes);
    return CLI_EXIT_OK;
}

/* Of a group that was made of nodes of the scheduler, that is what is said: which they are is found out anew. */
static void export_sources(json_t *cluster)
{
    size_t i;
    json_t *group;
    json_array_foreach(json_object_get(cluster, "instanceGroups"), i, group)
    {
        if (json_object_get(group, "nodesFrom") == NULL)
            continue;
        json_object_del(group, "instanceCount");
        json_object_del(group, "nodeNames");
    }
}

int cli_cluster_export(struct cli *cli)
{
    int64_t revision;
    auto_json json_t *cluster = NULL, *nodes = NULL;
    autofree char *name = cli->argument_count > 0 ? own_strdup(cli->argument[0]) : NULL;
    int rc = name != NULL ? CLI_EXIT_OK : cli_cluster_name(cli, &name);
    if (rc == CLI_EXIT_OK)
        rc = fetch(cli, name, &cluster, &nodes, &revision);
    if (rc != CLI_EXIT_OK)
        return rc;
    export_sources(cluster);
    if (cli->format == CLI_FORMAT_TABLE)
        cli->format = CLI_FORMAT_YAML; /* a file is meant */
    (void)cli_print_data(cli, cluster);
    return CLI_EXIT_OK;
}

/* --- the difference -------------------------------------------------------------------------------- */

struct apply {
    struct cli *cli;
    const char *name;
    const json_t *wanted;
    json_t *current; /* NULL: there is no such cluster */
    json_t *nodes;   /* its nodes */
    int64_t revision, timeout_ms;
    json_t *lines; /* what changes, for people */
    json_t *patch; /* the same for the server */
};

static void say(struct apply *apply, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void say(struct apply *apply, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    autofree char *line = own_vprintf(fmt, ap);
    va_end(ap);
    json_array_append_new(apply->lines, json_string(line));
}

static void say_new_group(struct apply *apply, const json_t *group, const char *name)
{
    json_int_t nodes = json_integer_value(json_object_get(group, "instanceCount"));
    say(apply, "+ group %s: %lld node%s", name, (long long)nodes, text_plural(nodes));
}

/* "nothing" for what is not there. */
static char *show(const json_t *value)
{
    if (value == NULL)
        return own_strdup("nothing");
    return json_is_string(value) ? own_strdup(json_string_value(value))
                                 : json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
}

static json_t *find_group(const json_t *cluster, const char *name)
{
    size_t i;
    json_t *group;
    json_array_foreach(json_object_get(cluster, "instanceGroups"), i,
                       group) if (text_equal(json_string_value(json_object_get(group, "name")), name)) return group;
    return NULL;
}

/* Two host lists that name the same nodes are equal. */
static bool same_names(const char *a, const char *b)
{
    char **names[2] = {NULL, NULL};
    size_t count[2] = {0, 0};
    bool same = text_hostlist_expand(a, CLI_NODES_MAX, &names[0], &count[0]) == 0 &&
                text_hostlist_expand(b, CLI_NODES_MAX, &names[1], &count[1]) == 0 && count[0] == count[1];
    for (int i = 0; same && i < 2; i++)
        qsort(names[i], count[i], sizeof(char *), by_group);
    for (size_t i = 0; same && i < count[0]; i++)
        same = text_equal(names[0][i], names[1][i]);
    for (int i = 0; i < 2; i++)
        if (names[i] != NULL)
            text_list_free(names[i], count[i]);
    return same;
}

static bool same_value(const char *member, const json_t *wanted, const json_t *current, const json_t *group)
{
    if (json_equal(wanted, current))
        return true;
    if (!text_equal(member, "nodeNames") || !json_is_string(wanted))
        return false;
    if (current != NULL)
        return same_names(json_string_value(wanted), json_string_value(current));
    /* The server's file leaves out names that are as they would be anyway. */
    autofree char *plain = own_printf("%s-[1-%lld]", json_string_value(json_object_get(group, "name")),
                                      (long long)json_integer_value(json_object_get(group, "instanceCount")));
    return same_names(json_string_value(wanted), plain);
}

/* Other names are other machines, which "nodeNames: a -> b" alone would not tell. */
static void say_gone(struct apply *apply, const char *group, const json_t *wanted)
{
    char **names = NULL;
    size_t i, k, count = 0, gone = 0;
    const json_t *node;
    struct text list AUTO(text) = {0};
    if (!json_is_string(wanted) || text_hostlist_expand(json_string_value(wanted), CLI_NODES_MAX, &names, &count) != 0)
        return;
    json_array_foreach(apply->nodes, i, node)
    {
        const char *state = json_string_value(json_object_get(node, "state"));
        const char *name = json_string_value(json_object_get(node, "name"));
        if (!text_equal(json_string_value(json_object_get(node, "group")), group) || text_equal(state, "deleting") ||
            text_equal(state, "deleted"))
            continue;
        for (k = 0; k < count && !text_equal(names[k], name); k++)
            ;
        if (k == count && gone++ < SHOWN_GONE_MAX)
            text_printf(&list, " %s", name);
    }
    if (gone > 0)
        say(apply, "- group %s: %zu of its nodes go%s:%s%s", group, gone, gone == 1 ? "es" : "", text_get(&list),
            gone > SHOWN_GONE_MAX ? " …" : "");
    text_list_free(names, count);
}

static bool differs(struct apply *apply, const json_t *wanted, const json_t *current)
{
    bool changed = false;
    const char *member, *name = json_string_value(json_object_get(wanted, "name"));
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)wanted, member, value)
    {
        const json_t *now = json_object_get(current, member);
        if (same_value(member, value, now, current))
            continue;
        autofree char *old = show(now), *new = show(value);
        say(apply, "~ group %s: %s: %s -> %s", name, member, old, new);
        if (text_equal(member, "nodeNames"))
            say_gone(apply, name, value);
        changed = true;
    }
    return changed;
}

static void compare_groups(struct apply *apply)
{
    size_t i;
    json_t *group;
    json_t *changed = json_array(), *gone = json_array();
    json_array_foreach(json_object_get(apply->wanted, "instanceGroups"), i, group)
    {
        const char *name = json_string_value(json_object_get(group, "name"));
        const json_t *current = name == NULL ? NULL : find_group(apply->current, name);
        if (current == NULL)
            say_new_group(apply, group, name != NULL ? name : "?");
        if (current == NULL || differs(apply, group, current))
            json_array_append(changed, group);
    }
    json_array_foreach(json_object_get(apply->current, "instanceGroups"), i, group)
    {
        const char *name = json_string_value(json_object_get(group, "name"));
        if (find_group(apply->wanted, name) != NULL)
            continue;
        int64_t nodes = json_integer_value(json_object_get(group, "instanceCount"));
        say(apply, "- group %s: its %" PRId64 " node%s go%s", name, nodes, text_plural(nodes), nodes == 1 ? "es" : "");
        json_array_append_new(gone, json_string(name));
    }
    if (json_array_size(changed) > 0)
        json_object_set(apply->patch, "instanceGroups", changed);
    if (json_array_size(gone) > 0)
        json_object_set(apply->patch, "instanceGroupsToDelete", gone);
    json_decref(changed);
    json_decref(gone);
}

/* OK, or USAGE for what cannot be changed. */
static int compare(struct apply *apply)
{
    const char *member;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)apply->wanted, member, value)
    {
        const json_t *now = json_object_get(apply->current, member);
        if (text_equal(member, "instanceGroups") || json_equal(value, now))
            continue;
        if (text_equal(member, "orchestrator"))
            return cli_usage(apply->cli, "the orchestrator of a cluster cannot be changed; %s has \"%s\"", apply->name,
                             json_string_value(now));
        if (text_equal(member, "scheduler"))
            return cli_usage(apply->cli, "the scheduler of a cluster cannot be changed; %s has %s", apply->name,
                             now != NULL ? json_string_value(now) : "none");
        autofree char *old = show(now), *new = show(value);
        say(apply, "~ %s: %s -> %s", member, old, new);
        json_object_set(apply->patch, member, value);
    }
    compare_groups(apply);
    return CLI_EXIT_OK;
}

static void describe_new(struct apply *apply)
{
    size_t i;
    const json_t *group;
    say(apply, "+ cluster %s", apply->name);
    json_array_foreach(json_object_get(apply->wanted, "instanceGroups"), i, group)
    {
        char name[80];
        say_new_group(apply, group, cli_value(group, "name", name, sizeof(name)));
    }
}

/* --- nodes of a scheduler ------------------------------------------------------------------------------- */

/* What a group is made of that names a source, written down as names: what is shown is what is asked for. */
static int look_up(struct apply *apply, const char *scheduler, json_t *group)
{
    size_t i;
    const json_t *node, *source = json_object_get(group, "nodesFrom");
    auto_json json_t *nodes = NULL;
    struct text path AUTO(text) = {0};
    if (!json_is_object(source) || json_object_get(group, "nodeNames") != NULL)
        return CLI_EXIT_OK;
    autofree char *all = cli_scheduler_path(scheduler, "/nodes");
    text_add(&path, all);
    cli_add_query(&path, "partition", json_string_value(json_object_get(source, "partition")));
    cli_add_query(&path, "feature", json_string_value(json_object_get(source, "feature")));
    int rc = cli_ask_list(apply->cli, text_get(&path), 0, &nodes);
    size_t count = json_array_size(nodes);
    if (rc != CLI_EXIT_OK || count == 0)
        return rc; /* the server says what is wrong with none */
    autofree char **names = own_calloc(count, sizeof(char *));
    json_array_foreach(nodes, i, node) names[i] = (char *)(uintptr_t)json_string_value(json_object_get(node, "name"));
    autofree char *list = text_hostlist_compress(names, count);
    json_put_text(group, "nodeNames", list);
    if (json_object_get(group, "instanceCount") == NULL)
        json_put_i64(group, "instanceCount", (int64_t)count);
    return rc;
}

static int look_up_all(struct apply *apply, json_t *wanted)
{
    size_t i;
    json_t *group;
    const char *scheduler = json_string_value(json_object_get(wanted, "scheduler"));
    if (scheduler == NULL)
        scheduler = json_string_value(json_object_get(apply->current, "scheduler"));
    json_array_foreach(json_object_get(wanted, "instanceGroups"), i, group)
    {
        int rc = look_up(apply, scheduler, group);
        if (rc != CLI_EXIT_OK)
            return rc;
    }
    return CLI_EXIT_OK;
}

/* --- a count that was edited ------------------------------------------------------------------------ */

static bool are_among(const char *const *names, size_t count, const struct map *others)
{
    for (size_t i = 0; i < count; i++)
        if (map_get(others, names[i]) == NULL)
            return false;
    return true;
}

/* An exported file has the names that nodes had, and somebody has edited the count beside them, now or before an earlier apply: then
 * the count holds, and the server chooses the names. Names that were edited, too, are the server's to refuse. */
static void settle_names(const struct apply *apply, json_t *group)
{
    char **names = NULL;
    size_t count = 0, now = 0;
    const char *list = json_string_value(json_object_get(group, "nodeNames"));
    const char *name = json_string_value(json_object_get(group, "name"));
    const json_t *wanted = json_object_get(group, "instanceCount");
    if (list == NULL || name == NULL || !json_is_integer(wanted) || find_group(apply->current, name) == NULL ||
        text_hostlist_expand(list, CLI_NODES_MAX, &names, &count) != 0)
        return;
    autofree const char **present = names_of(apply->nodes, name, &now);
    AUTO(map) struct map *in_file = map_new(), *there = map_new();
    for (size_t i = 0; i < count; i++)
        map_set(in_file, names[i], group);
    for (size_t i = 0; i < now; i++)
        map_set(there, present[i], group);
    bool is_older = are_among((const char *const *)names, count, there) || are_among(present, now, in_file);
    if ((json_int_t)count != json_integer_value(wanted) && is_older) {
        fprintf(apply->cli->err,
                "hpctl: group %s: nodeNames has %zu name%s and instanceCount is %lld; the count holds\n", name, count,
                text_plural((int64_t)count), (long long)json_integer_value(wanted));
        json_object_del(group, "nodeNames");
    }
    text_list_free(names, count);
}

static void settle_all_names(const struct apply *apply, json_t *wanted)
{
    size_t i;
    json_t *group;
    json_array_foreach(json_object_get(wanted, "instanceGroups"), i, group)
    {
        settle_names(apply, group);
    }
}

/* --- doing it -------------------------------------------------------------------------------------- */

/* Whether the cluster is there is no error here. */
static int read_current(struct apply *apply)
{
    auto_json json_t *clusters = NULL;
    size_t i;
    const json_t *cluster;
    int rc = cli_ask_list(apply->cli, "/v1/clusters", 0, &clusters);
    if (rc != CLI_EXIT_OK)
        return rc;
    json_array_foreach(clusters, i, cluster) if (text_equal(json_string_value(json_object_get(cluster, "name")),
                                                            apply->name)) return fetch(apply->cli, apply->name,
                                                                                       &apply->current, &apply->nodes,
                                                                                       &apply->revision);
    return CLI_EXIT_OK;
}

static int send_change(struct apply *apply, bool dry, json_t **ret_cluster)
{
    const char *query = dry ? "?dryRun=true" : "";
    autofree char *encoded = cli_encode(apply->name), *path = own_printf("/v1/clusters/%s%s", encoded, query);
    autofree char *all = own_printf("/v1/clusters%s", query);
    autofree char *match = own_printf("If-Match: \"%lld\"", (long long)apply->revision);
    const char *headers[] = {match, NULL};
    return apply->current == NULL ? cli_ask(apply->cli, "POST", all, apply->wanted, NULL, ret_cluster)
                                  : cli_ask(apply->cli, "PATCH", path, apply->patch, headers, ret_cluster);
}

/* operation: of the change that was asked for; NULL when it took none, or nothing was asked for. */
static int report(const struct apply *apply, bool done, json_t *operation)
{
    auto_json json_t *answer =
        json_pack("{s:s, s:O, s:b}", "cluster", apply->name, "changes", apply->lines, "applied", (int)done);
    if (operation != NULL)
        json_object_set(answer, "operation", operation);
    if (done)
        return cli_follow_change(apply->cli, answer, "asked for", apply->timeout_ms);
    (void)cli_print_data(apply->cli, answer);
    return CLI_EXIT_OK;
}

static int apply_changes(struct apply *apply)
{
    struct cli *cli = apply->cli;
    size_t i, count = json_array_size(apply->lines);
    bool dry = cli->option[CLI_OPTION_DRY_RUN] != NULL;
    for (i = 0; cli->format == CLI_FORMAT_TABLE && i < count; i++) {
        cli_print_harmless(cli->out, json_string_value(json_array_get(apply->lines, i)));
        fputc('\n', cli->out);
    }
    if (count == 0 && cli->format == CLI_FORMAT_TABLE)
        fprintf(cli->out, "cluster %s is what the file says\n", apply->name);
    if (count == 0)
        return report(apply, false, NULL);
    if (dry) {
        int rc = send_change(apply, true, NULL);
        return rc == CLI_EXIT_OK ? report(apply, false, NULL) : rc;
    }
    fflush(cli->out);
    if (cli->option[CLI_OPTION_YES] == NULL) {
        if (!isatty(STDIN_FILENO))
            return cli_usage(cli, "apply asks first; add --yes in scripts, or --dry-run to see the difference only");
        if (!cli_confirm(cli, "Type yes to ask for this: ", "yes"))
            return cli_usage(cli, "nothing was changed");
    }
    auto_json json_t *reply = NULL;
    int rc = send_change(apply, false, &reply);
    return rc == CLI_EXIT_OK ? report(apply, true, json_object_get(reply, "operation")) : rc;
}

int cli_apply(struct cli *cli)
{
    auto_json json_t *wanted = NULL;
    int64_t timeout_ms;
    int rc = cli_parse_timeout(cli, &timeout_ms);
    if (rc == CLI_EXIT_OK)
        rc = cli_read_cluster_file(cli, "apply", &wanted);
    if (rc != CLI_EXIT_OK)
        return rc;
    const char *name = json_string_value(json_object_get(wanted, "name"));
    if (name == NULL || !json_is_array(json_object_get(wanted, "instanceGroups")))
        return cli_usage(cli, "%s must have a name and a list instanceGroups", cli->option[CLI_OPTION_FILE]);
    struct apply apply = {.cli = cli,
                          .name = name,
                          .wanted = wanted,
                          .timeout_ms = timeout_ms,
                          .lines = json_array(),
                          .patch = json_object()};
    rc = check_file(cli, wanted);
    if (rc == CLI_EXIT_OK)
        rc = read_current(&apply);
    if (rc == CLI_EXIT_OK)
        rc = look_up_all(&apply, wanted);
    if (rc == CLI_EXIT_OK && apply.current == NULL)
        describe_new(&apply);
    else if (rc == CLI_EXIT_OK) {
        settle_all_names(&apply, wanted);
        rc = compare(&apply);
    }
    if (rc == CLI_EXIT_OK)
        rc = apply_changes(&apply);
    json_decref(apply.lines);
    json_decref(apply.patch);
    json_decref(apply.current);
    json_decref(apply.nodes);
    return rc;
}
