/* hpctl scheduler …: the schedulers that hpd drives, what each has, and a file that makes a cluster of it. */
#include "cli/cli.h"

#include "base/map.h"
#include "base/own.h"

#include <ctype.h>
#include <string.h>

AUTO_DEFINE(struct map *, map, map_free)

/* Lists of words become texts, for tables. */
static void join_lists(json_t *items, const char *member)
{
    size_t i, k;
    json_t *item, *word;
    json_array_foreach(items, i, item)
    {
        struct text words AUTO(text) = {0};
        json_array_foreach(json_object_get(item, member), k, word)
            text_printf(&words, "%s%s", k > 0 ? "," : "", json_string_value(word));
        json_put_text(item, member, text_get(&words));
    }
}

static void print_parts(struct cli *cli, json_t *parts, const char *title, const char *others_title, const char *others,
                        const char *none)
{
    const struct cli_column columns[] = {{title, "name"},
                                         {"COUNT", "nodeCount"},
                                         {"NODES", "nodes"},
                                         {others_title, others},
                                         {"IN NO GROUP", "unassigned"}};
    join_lists(parts, others);
    fputc('\n', cli->out);
    cli_print_table(cli->out, parts, columns, ARRAY_LEN(columns), none);
}

char *cli_scheduler_path(const char *name, const char *below)
{
    if (name == NULL)
        return own_printf("/v1/scheduler%s", below);
    autofree char *encoded = cli_encode(name);
    return own_printf("/v1/schedulers/%s%s", encoded, below);
}

int cli_scheduler_list(struct cli *cli)
{
    static const struct cli_column columns[] = {
        {"NAME", "name"},       {"KIND", "kind"},         {"STATE", "state"},         {"SEEN", "_seen"},
        {"NODES", "nodeCount"}, {"CLUSTERS", "clusters"}, {"TRANSPORT", "transport"}, {"WHY", "error"}};
    auto_json json_t *view = NULL;
    size_t i;
    json_t *item;
    int rc = cli_ask(cli, "GET", "/v1/schedulers", NULL, NULL, &view);
    json_t *items = json_object_get(view, "items");
    if (rc != CLI_EXIT_OK || cli_print_data(cli, items))
        return rc;
    join_lists(items, "clusters");
    json_array_foreach(items, i, item)
    {
        char age[64];
        const bool seen = json_object_get(item, "seenAt") != NULL;
        autofree char *text =
            seen ? own_printf("%s ago", cli_age(item, "seenAt", age, sizeof(age))) : own_strdup("never");
        json_put_text(item, "_seen", text);
    }
    cli_print_table(cli->out, items, columns, ARRAY_LEN(columns), "hpd drives no scheduler");
    return rc;
}

int cli_scheduler_describe(struct cli *cli)
{
    static const struct {
        const char *title, *path;
    } fields[] = {{"Scheduler", "scheduler.name"},
                  {"Kind", "scheduler.kind"},
                  {"State", "scheduler.state"},
                  {"Since", "scheduler.since"},
                  {"Why", "scheduler.error"},
                  {"Transport", "scheduler.transport"},
                  {"Configuration", "scheduler.configuration"},
                  {"Strategy", "scheduler.strategy"},
                  {"Drift", "scheduler.drift"},
                  {"Seen", "seenAt"},
                  {"Nodes", "nodeCount"},
                  {"Nodes", "nodesUnknown"},
                  {"In no group", "unassignedCount"}};
    char buffer[600];
    auto_json json_t *view = NULL;
    const char *name = cli->argument_count > 0 ? cli->argument[0] : cli->option[CLI_OPTION_SCHEDULER];
    autofree char *path = cli_scheduler_path(name, "");
    int rc = cli_ask(cli, "GET", path, NULL, NULL, &view);
    if (rc != CLI_EXIT_OK || cli_print_data(cli, view))
        return rc;
    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        cli_print_field(cli->out, fields[i].title, cli_value(view, fields[i].path, buffer, sizeof(buffer)));
    if (json_object_get(view, "nodesUnknown") != NULL)
        return CLI_EXIT_OK;
    print_parts(cli, json_object_get(view, "partitions"), "PARTITION", "FEATURES", "features", "no partitions");
    print_parts(cli, json_object_get(view, "features"), "FEATURE", "PARTITIONS", "partitions", "no node has a feature");
    if (json_integer_value(json_object_get(view, "unassignedCount")) > 0)
        fputs("\nNobody looks after nodes that are in no group: hpctl scheduler discover makes a file of them for "
              "hpctl apply.\n",
              cli->out);
    return CLI_EXIT_OK;
}

int cli_scheduler_nodes(struct cli *cli)
{
    static const struct cli_column columns[] = {
        {"NODE", "name"},         {"STATE", "state"}, {"PARTITIONS", "partitions"},
        {"FEATURES", "features"}, {"GRES", "gres"},   {"CLUSTER", "cluster"},
        {"GROUP", "group"}};
    int64_t limit;
    auto_json json_t *items = NULL;
    struct text path AUTO(text) = {0};
    int rc = cli_parse_limit(cli, 0, &limit);
    if (rc != CLI_EXIT_OK)
        return rc;
    autofree char *nodes = cli_scheduler_path(cli->option[CLI_OPTION_SCHEDULER], "/nodes");
    text_add(&path, nodes);
    cli_add_query(&path, "partition", cli->option[CLI_OPTION_PARTITION]);
    cli_add_query(&path, "feature", cli->option[CLI_OPTION_FEATURE]);
    cli_add_query(&path, "unassigned", cli->option[CLI_OPTION_UNASSIGNED] == NULL ? NULL : "true");
    rc = cli_ask_list(cli, text_get(&path), limit, &items);
    if (rc != CLI_EXIT_OK || cli_print_data(cli, items))
        return rc;
    join_lists(items, "partitions");
    join_lists(items, "features");
    cli_print_table(cli->out, items, columns, ARRAY_LEN(columns), "the scheduler has no such node");
    return rc;
}

/* --- a file of it ------------------------------------------------------------------------------------ */

struct discover {
    struct cli *cli;
    const char *by;    /* "partition" or "feature" */
    struct map *taken; /* names of nodes that have their group → anything */
    struct map *names; /* of groups → anything */
    json_t *groups;
};

/* What is narrow comes before what has it all: its nodes are of a kind. */
static int narrow_first(const void *left, const void *right)
{
    const json_t *a = *(json_t *const *)left, *b = *(json_t *const *)right;
    json_int_t count_a = json_integer_value(json_object_get(a, "unassignedCount"));
    json_int_t count_b = json_integer_value(json_object_get(b, "unassignedCount"));
    return count_a != count_b
               ? (count_a < count_b ? -1 : 1)
               : strcmp(json_string_value(json_object_get(a, "name")), json_string_value(json_object_get(b, "name")));
}

/* Groups are called by letters, digits and inner hyphens. Caller frees. */
static char *group_name(const struct discover *discover, const char *part)
{
    enum { NAME_MAX = 60 };
    autofree char *name = own_printf("%.*s", NAME_MAX, part);
    for (char *c = name; *c != '\0'; c++)
        if (!isalnum((unsigned char)*c))
            *c = '-';
    const char *begin = name + strspn(name, "-");
    size_t len = strlen(begin);
    while (len > 0 && begin[len - 1] == '-')
        len--;
    char *whole = own_printf("%.*s", len > 0 ? (int)len : 5, len > 0 ? begin : "nodes");
    for (int n = 2; map_get(discover->names, whole) != NULL; n++) {
        free(whole);
        whole = own_printf("%.*s-%d", len > 0 ? (int)len : 5, len > 0 ? begin : "nodes", n);
    }
    map_set(discover->names, whole, discover->names);
    return whole;
}

static void add_group(struct discover *discover, const json_t *part)
{
    char **names = NULL;
    size_t count = 0, free_count = 0;
    const char *name = json_string_value(json_object_get(part, "name"));
    const char *list = json_string_value(json_object_get(part, "unassigned"));
    if (name == NULL || list == NULL || text_hostlist_expand(list, CLI_NODES_MAX, &names, &count) != 0)
        return;
    for (size_t i = 0; i < count; i++)
        if (map_get(discover->taken, names[i]) == NULL) {
            char *node = names[i];
            names[i] = names[free_count];
            names[free_count++] = node;
            map_set(discover->taken, node, discover);
        }
    if (free_count > 0) {
        autofree char *group = group_name(discover, name), *nodes = text_hostlist_compress(names, free_count);
        json_t *json = json_pack("{s:s, s:s}", "name", group, "provider", "manual");
        if ((json_int_t)free_count == json_integer_value(json_object_get(part, "nodeCount"))) {
            json_object_set_new(json, "nodesFrom", json_pack("{s:s}", discover->by, name));
        } else {
            json_object_set_new(json, "instanceCount", json_integer((json_int_t)free_count));
            json_object_set_new(json, "nodeNames", json_string(nodes));
        }
        json_array_append_new(discover->groups, json);
    } else {
        fprintf(discover->cli->err, "hpctl: the %s %s gets no group: all of its nodes are in others\n", discover->by,
                name);
    }
    text_list_free(names, count);
}

static void add_groups(struct discover *discover, json_t *parts)
{
    size_t i, count = json_array_size(parts);
    autofree json_t **order = own_calloc(count + 1, sizeof(json_t *));
    for (i = 0; i < count; i++)
        order[i] = json_array_get(parts, i);
    qsort(order, count, sizeof(*order), narrow_first);
    for (i = 0; i < count; i++)
        if (json_integer_value(json_object_get(order[i], "unassignedCount")) > 0)
            add_group(discover, order[i]);
}

int cli_scheduler_discover(struct cli *cli)
{
    AUTO(map) struct map *taken = map_new(), *names = map_new();
    auto_json json_t *view = NULL, *file = NULL;
    const char *by = cli->option[CLI_OPTION_BY];
    struct discover discover = {.cli = cli, .by = by == NULL ? "partition" : by, .taken = taken, .names = names};
    if (!text_equal(discover.by, "partition") && !text_equal(discover.by, "feature"))
        return cli_usage(cli, "--by is partition or feature, not \"%s\"", by);
    autofree char *path = cli_scheduler_path(cli->option[CLI_OPTION_SCHEDULER], "");
    int rc = cli_ask(cli, "GET", path, NULL, NULL, &view);
    if (rc != CLI_EXIT_OK)
        return rc;
    const char *unknown = json_string_value(json_object_get(view, "nodesUnknown"));
    if (unknown != NULL) {
        fprintf(cli->err, "hpctl: %s\n", unknown);
        return CLI_EXIT_UNREACHABLE;
    }
    const json_t *scheduler = json_object_get(json_object_get(view, "scheduler"), "name");
    const json_t *kind = json_object_get(json_object_get(view, "scheduler"), "kind");
    const char *name = cli->argument_count > 0 ? cli->argument[0] : json_string_value(scheduler);
    discover.groups = json_array();
    file = json_pack("{s:s*, s:s, s:O*, s:o}", "name", name, "nodeRecovery", "Automatic", "orchestrator", kind,
                     "instanceGroups", discover.groups);
    if (cli->option[CLI_OPTION_SCHEDULER] != NULL && scheduler != NULL)
        json_object_set(file, "scheduler", (json_t *)(uintptr_t)scheduler);
    add_groups(&discover, json_object_get(view, text_equal(discover.by, "partition") ? "partitions" : "features"));
    json_int_t left = json_integer_value(json_object_get(view, "unassignedCount")) - (json_int_t)map_count(taken);
    if (json_array_size(discover.groups) == 0) {
        fprintf(cli->err, "hpctl: no node of the scheduler is left for a group%s\n",
                left > 0 ? ": those in no group have no such thing; try --by the other, or say nodeNames" : "");
        return CLI_EXIT_NOT_FOUND;
    }
    if (left > 0)
        fprintf(cli->err, "hpctl: %lld node%s without a %s: in no group\n", (long long)left, text_plural(left),
                discover.by);
    if (cli->format == CLI_FORMAT_TABLE)
        cli->format = CLI_FORMAT_YAML; /* a file is meant */
    (void)cli_print_data(cli, file);
    return CLI_EXIT_OK;
}
