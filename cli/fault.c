/*
 * hpctl fault …: what Holdfast knows of a fault, what it does about it, and who says so. The tables are compiled in, so no
 * server is asked; it may be of another version, which `hpctl version` shows.
 */
#include "cli/cli.h"

#include "policy/faults/faults.h"

#include <inttypes.h>
#include <string.h>

#define HOUR_MS INT64_C(3600000)
#define RATE_TEXT_MAX 64

static const char *doing(enum action_class action)
{
    static const char *const words[] = {
        [ACTION_CLASS_IGNORE] = "nothing",
        [ACTION_CLASS_APP] = "nothing: a program's fault never costs a node",
        [ACTION_CLASS_WATCH] = "it is recorded and counted, and shown in the node's health",
        [ACTION_CLASS_RESET] = "the GPU is reset where its agent can do that, else the node is rebooted",
        [ACTION_CLASS_REBOOT] = "the node is rebooted and comes back through the return checks",
        [ACTION_CLASS_REPLACE] = "the node's instance is replaced",
        [ACTION_CLASS_SUPPORT] = "the node takes no new work until a person has looked",
    };
    return words[action];
}

static json_t *rate_json(const struct fault_row *row)
{
    if (row->rate_count == 0)
        return NULL;
    return json_pack("{s:i, s:I, s:s}", "count", row->rate_count, "withinHours",
                     (json_int_t)(row->rate_window_ms / HOUR_MS), "action", action_class_text(row->rate_action));
}

/* Each begins with its mark. */
static json_t *sources_json(const char *sources)
{
    json_t *list = json_array();
    while (*sources != '\0') {
        const char *end = strstr(sources, "; [");
        size_t len = end != NULL ? (size_t)(end - sources) : strlen(sources);
        json_array_append_new(list, json_stringn(sources, len));
        sources += len + (end != NULL ? 2 : 0);
    }
    return list;
}

static json_t *row_json(const struct fault_table *table, const struct fault_row *row)
{
    json_t *json = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:o}", "code", row->code, "table", table->name,
                             "class", fault_class_text(fault_class_of(row->code)), "meaning", row->meaning, "action",
                             action_class_text(row->action), "again", action_class_text(row->again), "urgency",
                             urgency_text(row->urgency), "severity", severity_text(row->severity), "sources",
                             sources_json(row->sources));
    if (row->number != 0)
        json_object_set_new(json, "number", json_integer(row->number));
    if (row->mnemonic[0] != '\0')
        json_put_text(json, "name", row->mnemonic);
    if (row->nvidia[0] != '\0')
        json_put_text(json, "nvidiaAsksFor", row->nvidia);
    if (row->rate_count != 0)
        json_object_set_new(json, "rate", rate_json(row));
    if (row->lasts_ms != 0)
        json_object_set_new(json, "lasts",
                            json_pack("{s:I, s:s}", "hours", (json_int_t)(row->lasts_ms / HOUR_MS), "action",
                                      action_class_text(row->lasts_action)));
    if (row->sympathetic)
        json_object_set_new(json, "sympathetic", json_true());
    if (row->driver_word)
        json_object_set_new(json, "driverWord", json_true());
    if (row->cancels[0] != '\0')
        json_put_text(json, "cancels", row->cancels);
    if (row->ends[0] != '\0')
        json_put_text(json, "ends", row->ends);
    return json;
}

static const char *rate_text(const struct fault_row *row, char buffer[RATE_TEXT_MAX])
{
    buffer[0] = '\0';
    if (row->rate_count != 0)
        snprintf(buffer, RATE_TEXT_MAX, "%d in %" PRId64 " h: %s", row->rate_count, row->rate_window_ms / HOUR_MS,
                 action_class_text(row->rate_action));
    return buffer;
}

int cli_fault_list(struct cli *cli)
{
    static const struct cli_column columns[] = {{"CODE", "code"},      {"CLASS", "class"},  {"FIRST", "action"},
                                                {"AGAIN", "again"},    {"JOBS", "urgency"}, {"RATE", "_rate"},
                                                {"MEANING", "meaning"}};
    const char *wanted = cli->option[CLI_OPTION_TABLE];
    size_t count = 0;
    const struct fault_table *tables = fault_tables(&count);
    if (wanted != NULL && fault_table_find(wanted) == NULL) {
        struct text names = {0};
        for (size_t i = 0; i < count; i++)
            text_printf(&names, "%s%s", i > 0 ? ", " : "", tables[i].name);
        autofree char *all = text_take(&names);
        return cli_usage(cli, "there is no table %s; there are %s", wanted, all);
    }
    auto_json json_t *items = json_array();
    char rate[RATE_TEXT_MAX];
    for (size_t t = 0; t < count; t++)
        for (size_t i = 0; i < tables[t].count && (wanted == NULL || strcmp(tables[t].name, wanted) == 0); i++) {
            json_t *item = row_json(&tables[t], &tables[t].rows[i]);
            if (cli->format == CLI_FORMAT_TABLE)
                json_put_text(item, "_rate", rate_text(&tables[t].rows[i], rate));
            json_array_append_new(items, item);
        }
    if (!cli_print_data(cli, items))
        cli_print_table(cli->out, items, columns, ARRAY_LEN(columns), "no codes");
    return CLI_EXIT_OK;
}

/* "79", "xid.79", "node.disk.full", "DCGM_FR_FALLEN_OFF_BUS". */
static const struct fault_row *find_row(const char *word, const struct fault_table **ret_table)
{
    size_t count = 0;
    const struct fault_table *tables = fault_tables(&count);
    int64_t number = 0;
    const struct fault_row *row = fault_find(word);
    if (row == NULL && text_parse_i64(word, 1, 99999, &number) == 0)
        row = fault_find_number("xid", (int)number);
    for (size_t t = 0; t < count; t++)
        for (size_t i = 0; i < tables[t].count; i++)
            if (&tables[t].rows[i] == row ||
                (row == NULL && word[0] != '\0' && strcmp(tables[t].rows[i].mnemonic, word) == 0)) {
                *ret_table = &tables[t];
                return &tables[t].rows[i];
            }
    return NULL;
}

static void print_sources(FILE *f, const char *sources)
{
    auto_json json_t *list = sources_json(sources);
    size_t i;
    const json_t *source;
    json_array_foreach(list, i, source)
        fprintf(f, "%-16s %s\n", i == 0 ? "Who says so" : "", json_string_value(source));
    fputs("\n[V] verified in the source named, [O] observed from outside, [P] our own judgement\n", f);
}

static void print_row(FILE *f, const struct fault_table *table, const struct fault_row *row)
{
    char rate[RATE_TEXT_MAX];
    fprintf(f, "%s: %s\n\n", row->code, row->meaning);
    cli_print_field(f, "Name", row->mnemonic);
    fprintf(f, "%-16s %s: %s\n", "Table", table->name, table->about);
    cli_print_field(f, "Class", fault_class_text(fault_class_of(row->code)));
    cli_print_field(f, "NVIDIA asks", row->nvidia);
    cli_print_field(f, "Severity", severity_text(row->severity));
    fprintf(f, "%-16s %s: %s\n", "First time", action_class_text(row->action), doing(row->action));
    if (row->action >= ACTION_CLASS_RESET)
        cli_print_field(f, "Running jobs", row->urgency == URGENCY_NOW ? "give way now" : "may end, within a limit");
    if (row->again != row->action)
        fprintf(f, "%-16s %s: %s\n", "Again", action_class_text(row->again), doing(row->again));
    cli_print_field(f, "When often", rate_text(row, rate));
    if (row->lasts_ms != 0)
        fprintf(f, "%-16s after %" PRId64 " h: %s\n", "When it lasts", row->lasts_ms / HOUR_MS,
                action_class_text(row->lasts_action));
    if (row->sympathetic)
        cli_print_field(f, "Company", "goes with other codes of the device and is folded into them");
    if (row->driver_word)
        cli_print_field(f, "Rank", "the driver's own word: comes before other codes of the device");
    cli_print_field(f, "Takes back", row->cancels);
    if (row->ends[0] != '\0')
        fprintf(f, "%-16s codes that begin with %s and came within a minute before\n", "Ends", row->ends);
    print_sources(f, row->sources);
    fprintf(f, "Fault table %s. What a line of the kernel log adds to its code is decided when it comes.\n",
            fault_table_version());
}

int cli_fault_describe(struct cli *cli)
{
    const struct fault_table *table = NULL;
    const struct fault_row *row = find_row(cli->argument[0], &table);
    if (row == NULL) {
        fprintf(cli->err,
                "hpctl: no table has \"%s\". Codes nobody knows are recorded and watched; hpctl fault list shows those "
                "that are known.\n",
                cli->argument[0]);
        return CLI_EXIT_NOT_FOUND;
    }
    auto_json json_t *json = row_json(table, row);
    json_put_text(json, "tableVersion", fault_table_version());
    if (!cli_print_data(cli, json))
        print_row(cli->out, table, row);
    return CLI_EXIT_OK;
}
