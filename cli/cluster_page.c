/*
 * The page for 3 a.m.: how the cluster stands in one line, what waits for you with the command that answers it, what goes on by itself,
 * groups, incidents, nodes that are out of service or watched, and what happened last.
 *
 * What heals without a person is never under "Waiting for you". Nodes that are as they are for the same reason share a line.
 */
#include "cli/cli.h"
#include "cli/node_groups.h"
#include "cli/term.h"

#include "base/clock.h"
#include "base/json.h"

#include <string.h>

#define PAGE_EVENTS 12
#define PAGE_APPROVALS 5 /* each with its own command; more are counted */
#define PAGE_ROWS 12     /* of causes */
#define VALUE_MAX 600

struct page {
    struct cli *cli;
    FILE *f;
    const char *name;
    const json_t *view;
    const json_t *nodes; /* that are not in service, not healthy, or have a reason; all of them */
    const json_t *approvals, *incidents;
    json_t *asked; /* names of the nodes for which approval is asked */
    bool paused;
};

/* "ana" of "token:ana". */
static const char *person(const char *actor)
{
    const char *colon = strchr(actor, ':');
    return colon != NULL && (text_starts_with(actor, "token:") || text_starts_with(actor, "key:")) ? colon + 1 : actor;
}

/* --- the headline ------------------------------------------------------------------------------------ */

static void add_breakers(struct text *line, const json_t *groups)
{
    const char *before = " · breaker open in ";
    for (size_t i = 0; i < json_array_size(groups); i++) {
        const json_t *group = json_array_get(groups, i);
        if (!json_is_true(json_object_get(json_object_get(group, "breaker"), "open")))
            continue;
        text_printf(line, "%s%s", before, json_member_text(group, "name"));
        before = ", ";
    }
}

static void add_incidents(struct text *line, const json_t *incidents)
{
    for (size_t i = 0; i < json_array_size(incidents); i++) {
        const json_t *incident = json_array_get(incidents, i);
        const char *cause = json_member_text(incident, "cause");
        text_printf(line, " · %s %s %s", json_member_text(incident, "level"), json_member_text(incident, "domain"),
                    text_equal(cause, "network") ? "has network faults"
                    : text_equal(cause, "power") ? "has power faults"
                                                 : "down");
    }
}

static void add_pause(struct text *line, const json_t *view)
{
    const json_t *pause = json_object_get(view, "pause");
    const char *reason = json_member_text(pause, "reason");
    if (pause != NULL)
        text_printf(line, " · paused by %s%s%s", person(json_member_text(pause, "by")), *reason != '\0' ? ": " : "",
                    reason);
    if (text_equal(json_member_text(view, "nodeRecovery"), "None"))
        text_add(line, " · repairs are off (NodeRecovery None)");
}

static void print_headline(const struct page *page)
{
    struct text line AUTO(text) = {0};
    const json_t *view = page->view, *groups = json_object_get(view, "instanceGroups");
    const char *state = json_member_text(view, "state");
    int64_t ready = json_integer_value(json_object_get(json_object_get(view, "nodesByState"), "ready")), wanted = 0;
    size_t asked = json_array_size(page->approvals);
    for (size_t i = 0; i < json_array_size(groups); i++)
        wanted += json_integer_value(json_object_get(json_array_get(groups, i), "instanceCount"));
    text_printf(&line, "%s: ", page->name);
    if (*state != '\0' && !text_equal(state, "in-service"))
        text_printf(&line, "%s · ", state);
    if (ready > wanted)
        text_printf(&line, "%lld node%s in service, %lld wanted", (long long)ready, text_plural(ready),
                    (long long)wanted);
    else
        text_printf(&line, "%lld of %lld node%s in service", (long long)ready, (long long)wanted, text_plural(wanted));
    if (text_equal(json_member_text(json_object_get(view, "scheduler"), "state"), "down"))
        text_add(&line, " · scheduler down");
    if (asked > 0)
        text_printf(&line, " · %zu approval%s waiting", asked, text_plural((int64_t)asked));
    add_breakers(&line, groups);
    add_incidents(&line, page->incidents);
    add_pause(&line, view);
    autofree char *wrapped = cli_wrap(text_get(&line), 0);
    fputs(cli_paint(CLI_BOLD), page->f);
    cli_print_harmless(page->f, wrapped);
    fprintf(page->f, "%s\n", cli_paint(CLI_PLAIN));
}

/* --- what waits for a person ---------------------------------------------------------------------------- */

/* One thing, and the command that answers it: beside it where there is room, else below. */
static void print_waiting(const struct page *page, const char *what, const char *command)
{
    int width = cli_term()->width, left = 2 + cli_width(what), right = cli_width(command);
    autofree char *wrapped = cli_wrap(what, 2);
    fputs("  ", page->f);
    cli_print_harmless(page->f, wrapped);
    if (strchr(wrapped, '\n') == NULL && (width == 0 || left + 2 + right <= width))
        fputs("  ", page->f);
    else
        fputs("\n      ", page->f);
    fputs(cli_paint(CLI_BOLD), page->f);
    cli_print_harmless(page->f, command);
    fprintf(page->f, "%s\n", cli_paint(CLI_PLAIN));
}

static size_t wait_for_scheduler(const struct page *page)
{
    const json_t *scheduler = json_object_get(page->view, "scheduler");
    char age[CLOCK_TEXT_MAX];
    if (!text_equal(json_member_text(scheduler, "state"), "down"))
        return 0;
    bool timed = json_object_get(scheduler, "since") != NULL; /* one that is not configured was never up */
    const char *error = json_member_text(scheduler, "error");
    autofree char *what =
        own_printf("scheduler %s is down%s%s%s%s", json_member_text(scheduler, "name"), timed ? " for " : "",
                   timed ? cli_age(scheduler, "since", age, sizeof(age)) : "", *error != '\0' ? ": " : "", error);
    autofree char *command = own_printf("hpctl scheduler describe %s", json_member_text(scheduler, "name"));
    print_waiting(page, what, command);
    return 1;
}

static size_t wait_for_approvals(const struct page *page)
{
    size_t count = json_array_size(page->approvals), i;
    for (i = 0; i < count && i < PAGE_APPROVALS; i++) {
        const json_t *approval = json_array_get(page->approvals, i);
        const char *code = json_member_text(approval, "code"), *device = json_member_text(approval, "device");
        char id[64];
        autofree char *until = cli_clock_time(json_member_text(approval, "expiresAt"));
        autofree char *what =
            own_printf("%s of %s%s%s%s%s, asked until %s%s", json_member_text(approval, "action"),
                       json_member_text(approval, "node"), *code != '\0' ? " for " : "", code,
                       *device != '\0' ? " on " : "", device, until, page->paused ? "; begins after the pause" : "");
        autofree char *command =
            own_printf("hpctl operation approve %s", cli_short_id(json_member_text(approval, "id"), id, sizeof(id)));
        print_waiting(page, what, command);
    }
    if (count > i) {
        autofree char *more = own_printf("%zu more approval%s", count - i, text_plural((int64_t)(count - i)));
        print_waiting(page, more, "hpctl operation approvals --state asked");
    }
    return count;
}

static size_t wait_for_groups(const struct page *page)
{
    const json_t *groups = json_object_get(page->view, "instanceGroups");
    size_t count = 0;
    for (size_t i = 0; i < json_array_size(groups); i++) {
        const json_t *group = json_array_get(groups, i), *protection = json_object_get(group, "protection");
        if (!json_is_true(json_object_get(protection, "on")))
            continue;
        autofree char *since = cli_clock_time(json_member_text(protection, "since"));
        autofree char *what =
            own_printf("%s: replacing is stopped since %s, as %lld new machines in a row did not come up",
                       json_member_text(group, "name"), since,
                       (long long)json_integer_value(json_object_get(protection, "failedInARow")));
        autofree char *command = own_printf("hpctl group resume %s", json_member_text(group, "name"));
        print_waiting(page, what, command);
        count++;
    }
    return count;
}

static size_t wait_for_nodes(const struct page *page)
{
    struct node_groups waiting;
    size_t i;
    node_groups_make(page->nodes, true, page->asked, &waiting);
    for (i = 0; i < waiting.count && i < PAGE_ROWS; i++) {
        const struct node_group *group = &waiting.groups[i];
        bool unheard = text_equal(json_member_text(group->first, "attention"), "unheard");
        autofree char *names = node_group_names(group);
        struct text what AUTO(text) = {0};
        if (group->count == 1)
            text_printf(&what, "%s: %s", names, group->words);
        else {
            text_printf(&what, "%zu nodes: %s: ", group->count, group->words);
            cli_add_cut(&what, names, cli_term()->width > 0 ? 40 : 0);
        }
        autofree char *command = unheard ? own_strdup("systemctl status hp-agent  (on the node)")
                                         : own_printf("hpctl node explain %s", group->names[0]);
        print_waiting(page, text_get(&what), command);
    }
    if (waiting.count > i)
        print_waiting(page, "more nodes, for other reasons", "hpctl node list");
    size_t count = waiting.count;
    node_groups_free(&waiting);
    return count;
}

static size_t wait_for_pause(const struct page *page)
{
    const json_t *pause = json_object_get(page->view, "pause");
    const char *reason = json_member_text(pause, "reason");
    if (pause == NULL)
        return 0;
    autofree char *since = cli_clock_time(json_member_text(pause, "since"));
    autofree char *what = own_printf("paused by %s since %s%s%s; automatic actions are suspended",
                                     person(json_member_text(pause, "by")), since, *reason != '\0' ? ": " : "", reason);
    autofree char *command = own_printf("hpctl cluster resume %s", page->name);
    print_waiting(page, what, command);
    return 1;
}

static void print_waiting_all(const struct page *page)
{
    cli_print_heading(page->f, "Waiting for you");
    size_t count = wait_for_scheduler(page) + wait_for_approvals(page);
    count += wait_for_groups(page);
    count += wait_for_nodes(page);
    count += wait_for_pause(page);
    if (count == 0)
        fputs("  nothing\n", page->f);
}

/* --- what goes on by itself ------------------------------------------------------------------------------ */

static void print_going_on(const struct page *page)
{
    static const struct cli_column columns[] = {{"OPERATION", "kind"}, {"NODE", "node"},      {"STEP", "_step"},
                                                {"BY", "actor"},       {"AGE", "~createdAt"}, {"REASON", "reason"},
                                                {"ID", "id"}};
    json_t *active = json_object_get(page->view, "activeOperations");
    for (size_t i = 0; i < json_array_size(active); i++) {
        char progress[200];
        json_t *operation = json_array_get(active, i), *steps = json_object_get(operation, "steps");
        if (*cli_progress(operation, progress, sizeof(progress)) != 0)
            json_put_text(operation, "_step", progress);
        for (size_t k = 0; k < json_array_size(steps); k++)
            if (text_equal(json_member_text(json_array_get(steps, k), "state"), "running"))
                json_object_set(operation, "_step", json_object_get(json_array_get(steps, k), "name"));
    }
    cli_print_heading(page->f, "Going on");
    cli_print_table(page->f, active, columns, ARRAY_LEN(columns), "nothing");
}

/* --- groups ---------------------------------------------------------------------------------------------- */

static void put_group_columns(json_t *group)
{
    struct text rest AUTO(text) = {0}, health AUTO(text) = {0};
    auto_json json_t *states = json_copy(json_object_get(group, "nodesByState"));
    int64_t ready = json_integer_value(json_object_get(states, "ready"));
    bool open = json_is_true(json_object_get(json_object_get(group, "breaker"), "open"));
    autofree char *count = own_printf("%lld/%lld", (long long)ready,
                                      (long long)json_integer_value(json_object_get(group, "instanceCount")));
    json_object_del(states, "ready");
    cli_counts(states, &rest);
    cli_counts(json_object_get(group, "nodesByHealth"), &health);
    json_put_text(group, "_ready", count);
    json_put_text(group, "_rest", text_get(&rest));
    json_put_text(group, "_health", text_get(&health));
    json_put_text(group, "_breaker", open ? "OPEN" : "closed");
}

static void group_line(FILE *f, const char *group, const char *words)
{
    autofree char *line = own_printf("%s: %s", group, words), *local = cli_local_times(line);
    autofree char *wrapped = cli_wrap(local, 0);
    cli_print_harmless(f, wrapped);
    fputc('\n', f);
}

/* What people want on its nodes, and whether all of them carry it. */
static void print_group_labels(FILE *f, const char *name, const json_t *group)
{
    autofree char *wanted = cli_labels(json_object_get(group, "kubernetesConfig"));
    autofree char *carried = cli_labels(json_object_get(group, "currentKubernetesConfig"));
    if (wanted[0] == '\0' && carried[0] == '\0')
        return;
    autofree char *words = text_equal(wanted, carried) ? own_printf("all nodes carry %s", wanted)
                                                       : own_printf("nodes are to carry %s; all of them carry %s",
                                                                    wanted[0] != '\0' ? wanted : "nothing",
                                                                    carried[0] != '\0' ? carried : "nothing of it");
    group_line(f, name, words);
}

/* Of a group whose machines are the site's own. */
static void print_spares(FILE *f, const char *name, const json_t *spares)
{
    if (spares == NULL)
        return;
    long long ready = json_integer_value(json_object_get(spares, "ready"));
    long long total = json_integer_value(json_object_get(spares, "total"));
    autofree char *words = own_printf("%lld spare%s ready of %lld%s", ready, ready == 1 ? "" : "s", total,
                                      ready == 0 ? ": the next fault waits for one; see hpctl machine list" : "");
    group_line(f, name, words);
}

/* What a line of the table has no room for. */
static void print_group_news(FILE *f, const json_t *group)
{
    char why[VALUE_MAX], update[VALUE_MAX];
    const char *name = json_member_text(group, "name");
    const json_t *capacity = json_object_get(group, "capacity"), *rollout = json_object_get(group, "softwareUpdate");
    if (json_is_true(json_object_get(json_object_get(group, "breaker"), "open"))) {
        autofree char *since = cli_clock_time(json_member_text(json_object_get(group, "breaker"), "openedAt"));
        autofree char *words =
            own_printf("breaker OPEN since %s: no repair begins until it closes, or after hpctl group "
                       "resume %s",
                       since, name);
        group_line(f, name, words);
    }
    if (json_is_true(json_object_get(capacity, "short"))) {
        autofree char *words =
            own_printf("the provider had no machine at %s; it is asked again at %s",
                       json_member_text(capacity, "since"), json_member_text(capacity, "askedAgainAt"));
        group_line(f, name, words);
    }
    print_spares(f, name, json_object_get(group, "spares"));
    print_group_labels(f, name, group);
    cli_value(rollout, "failureMessage", update, sizeof(update));
    if (*cli_value(group, "failureMessage", why, sizeof(why)) != 0 && !text_equal(why, update))
        group_line(f, name, why);
    if (rollout == NULL)
        return;
    const char *release = json_member_text(rollout, "imageReleaseVersion");
    autofree char *words = own_printf("software update%s%s: %s%s%s", *release != 0 ? " to " : "", release,
                                      json_member_text(rollout, "state"), *update != 0 ? ": " : "", update);
    group_line(f, name, words);
}

static void print_groups(const struct page *page)
{
    static const struct cli_column columns[] = {
        {"GROUP", "name"},       {"STATE", "state"},       {"IN SERVICE", "_ready"},  {"NOT IN SERVICE", "_rest"},
        {"BREAKER", "_breaker"}, {"TYPE", "instanceType"}, {"PROVIDER", "+provider"}, {"BY HEALTH", "+_health"}};
    json_t *groups = json_object_get(page->view, "instanceGroups");
    for (size_t i = 0; i < json_array_size(groups); i++)
        put_group_columns(json_array_get(groups, i));
    cli_print_heading(page->f, "Instance groups");
    cli_print_table(page->f, groups, columns, ARRAY_LEN(columns), "none");
    for (size_t i = 0; i < json_array_size(groups); i++)
        print_group_news(page->f, json_array_get(groups, i));
}

/* --- incidents and nodes -------------------------------------------------------------------------------- */

/* What took many nodes at once, and is not over: none of them is repaired by itself meanwhile. */
static void print_incidents(const struct page *page)
{
    static const struct cli_column columns[] = {{"ID", "id"},         {"WHERE", "level"}, {"NAME", "domain"},
                                                {"CAUSE", "cause"},   {"NODES", "nodes"}, {"DOWN", "affected"},
                                                {"AGE", "~startedAt"}};
    if (json_array_size(page->incidents) == 0)
        return;
    cli_print_heading(page->f, "Incidents");
    cli_print_table(page->f, page->incidents, columns, ARRAY_LEN(columns), "none");
    autofree char *how =
        cli_wrap("Repairs of their nodes are held: hpctl incident describe ID, hpctl incident end ID", 0);
    fprintf(page->f, "%s\n", how);
}

static void print_other_nodes(const struct page *page)
{
    static const struct cli_column columns[] = {{"COUNT", "count"}, {"NODES", "nodes"}, {"WHY", "why"}};
    struct node_groups others;
    auto_json json_t *rows = json_array();
    node_groups_make(page->nodes, false, page->asked, &others); /* those wait for you, above */
    for (size_t i = 0; i < others.count && i < PAGE_ROWS; i++) {
        json_t *row = json_object();
        autofree char *names = node_group_names(&others.groups[i]);
        json_put_i64(row, "count", (int64_t)others.groups[i].count);
        json_put_text(row, "nodes", names);
        json_put_text(row, "why", others.groups[i].words);
        json_array_append_new(rows, row);
    }
    if (others.count > 0) {
        cli_print_heading(page->f, "Nodes that need nothing from you");
        cli_print_table(page->f, rows, columns, ARRAY_LEN(columns), "none");
    }
    if (others.count > PAGE_ROWS)
        fprintf(page->f, "… and for %zu more reasons: hpctl node list\n", others.count - PAGE_ROWS);
    node_groups_free(&others);
}

/* --- the rest -------------------------------------------------------------------------------------------- */

/* Who writes the scheduler's nodes and partitions, where it is not the site alone, and what became of them. */
static void print_desired(FILE *f, const json_t *view)
{
    char strategy[64], drift[VALUE_MAX];
    const json_t *scheduler = json_object_get(view, "scheduler");
    if (!text_equal(json_member_text(scheduler, "configuration"), "manage"))
        return;
    cli_value(scheduler, "strategy", strategy, sizeof(strategy));
    autofree char *who = own_printf("managed by Holdfast (%s)", strategy);
    cli_print_field(f, "Its nodes", who);
    if (*cli_value(scheduler, "drift", drift, sizeof(drift)) == 0)
        return;
    autofree char *words =
        own_printf("%s. %s", drift,
                   text_equal(strategy, "Managed")
                       ? "Restore the file (FILE.old has the last one), or take SlurmConfigStrategy Merge or Overwrite."
                       : "It is being corrected.");
    cli_print_field(f, "Drift", words);
}

static void print_about(const struct page *page)
{
    FILE *f = page->f;
    const json_t *view = page->view, *scheduler = json_object_get(view, "scheduler");
    char buffer[VALUE_MAX];
    cli_print_heading(f, "About the cluster");
    cli_print_field(f, "State", cli_value(view, "state", buffer, sizeof(buffer)));
    cli_print_field(f, "Failure", cli_value(view, "failureMessage", buffer, sizeof(buffer)));
    cli_print_field(f, "NodeRecovery", cli_value(view, "nodeRecovery", buffer, sizeof(buffer)));
    cli_print_field(f, "Provisioning", cli_value(view, "nodeProvisioningMode", buffer, sizeof(buffer)));
    cli_print_field(f, "Orchestrator", cli_value(view, "orchestrator", buffer, sizeof(buffer)));
    if (scheduler != NULL) {
        autofree char *words =
            own_printf("%s (%s)", json_member_text(scheduler, "name"), json_member_text(scheduler, "state"));
        cli_print_field(f, "Scheduler", words);
    }
    cli_print_field(f, "Reached by", cli_value(scheduler, "transport", buffer, sizeof(buffer)));
    print_desired(f, view);
    cli_print_field(f, "Age", cli_age(view, "createdAt", buffer, sizeof(buffer)));
}

static int print_last_events(const struct page *page)
{
    static const struct cli_column columns[] = {
        {"AGO", "~at"}, {"LEVEL", "level"}, {"NODE", "node"}, {"WHAT", "_what"}};
    struct text path AUTO(text) = {0};
    text_add(&path, "/v1/events");
    cli_add_query(&path, "cluster", page->name);
    auto_json json_t *events = NULL;
    int rc = cli_ask_list(page->cli, text_get(&path), PAGE_EVENTS, &events);
    if (rc != CLI_EXIT_OK)
        return rc;
    for (size_t i = 0; i < json_array_size(events); i++)
        cli_event_words(json_array_get(events, i));
    cli_print_heading(page->f, "Last events (newest first)");
    cli_print_table(page->f, events, columns, ARRAY_LEN(columns), "none");
    return CLI_EXIT_OK;
}

/* --- what is asked for ------------------------------------------------------------------------------------ */

/* Those of this cluster that nobody has answered. */
static int ask_approvals(struct page *page, json_t **ret_approvals)
{
    auto_json json_t *all = NULL;
    size_t i;
    json_t *approval;
    int rc = cli_ask_list(page->cli, "/v1/approvals?state=asked", 0, &all);
    *ret_approvals = json_array();
    json_array_foreach(all, i, approval)
    {
        if (!text_equal(json_member_text(approval, "cluster"), page->name))
            continue;
        json_array_append(*ret_approvals, approval);
        json_array_append(page->asked, json_object_get(approval, "node"));
    }
    return rc;
}

static int ask_incidents(struct page *page, json_t **ret_incidents)
{
    struct text path AUTO(text) = {0};
    text_add(&path, "/v1/incidents");
    cli_add_query(&path, "cluster", page->name);
    cli_add_query(&path, "state", "open");
    return cli_ask_list(page->cli, text_get(&path), CLI_LIMIT_DEFAULT, ret_incidents);
}

/* The description has the first few; on a bad day all nodes are asked for, so that each cause is counted. */
static int ask_nodes(struct page *page, json_t **ret_nodes)
{
    json_t *attention = json_object_get(page->view, "attention"), *node;
    size_t i;
    if (json_integer_value(json_object_get(page->view, "attentionTotal")) <= (int64_t)json_array_size(attention)) {
        *ret_nodes = json_incref(attention);
        return CLI_EXIT_OK;
    }
    auto_json json_t *all = NULL;
    autofree char *encoded = cli_encode(page->name), *path = own_printf("/v1/clusters/%s/nodes", encoded);
    int rc = cli_ask_list(page->cli, path, 0, &all);
    *ret_nodes = json_array();
    json_array_foreach(all, i, node)
    {
        if (!text_equal(json_member_text(node, "state"), "ready") ||
            !text_equal(json_member_text(node, "health"), "healthy") || json_object_get(node, "reason") != NULL)
            json_array_append(*ret_nodes, node);
    }
    return rc;
}

/* All that the page needs beside the description. */
static int ask_rest(struct page *page, json_t **ret_nodes, json_t **ret_approvals, json_t **ret_incidents)
{
    int rc = ask_approvals(page, ret_approvals);
    if (rc == CLI_EXIT_OK)
        rc = ask_incidents(page, ret_incidents);
    if (rc == CLI_EXIT_OK)
        rc = ask_nodes(page, ret_nodes);
    page->approvals = *ret_approvals;
    page->incidents = *ret_incidents;
    page->nodes = *ret_nodes;
    return rc;
}

static int print_page(struct cli *cli, const char *name, json_t *view, bool whole)
{
    auto_json json_t *nodes = NULL, *approvals = NULL, *incidents = NULL, *asked = json_array();
    struct page page = {.cli = cli,
                        .f = cli->out,
                        .name = name,
                        .view = view,
                        .asked = asked,
                        .paused = json_object_get(view, "pause") != NULL};
    int rc = ask_rest(&page, &nodes, &approvals, &incidents);
    if (rc != CLI_EXIT_OK)
        return rc;
    print_headline(&page);
    print_waiting_all(&page);
    print_going_on(&page);
    if (!whole)
        return rc;
    print_groups(&page);
    print_incidents(&page);
    print_other_nodes(&page);
    rc = print_last_events(&page);
    print_about(&page);
    return rc;
}

int cli_cluster_short(struct cli *cli, const char *name, json_t *view)
{
    return print_page(cli, name, view, false);
}

int cli_cluster_page(struct cli *cli, const char *name, json_t *view)
{
    return print_page(cli, name, view, true);
}
