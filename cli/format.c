/*
 * -o name, hosts, jsonpath=… and custom-columns=…, and --sort-by: what scripts take out of a reply.
 *
 * A path is a member or several: "name", ".live.silent", "{.items[*].name}". A list that hpctl prints is the array itself, so that "items" in
 * front of it is understood and left out. An index is a number or "*".
 */
#include "cli/cli.h"

#include "base/nearest.h"

#include <string.h>

#define PART_MAX 64
#define DEPTH_MAX 16
#define COLUMNS_MAX 16

/* What is left of a path. */
struct walk {
    FILE *f; /* NULL: only the first is kept */
    json_t *first;
    size_t found;
};

static void walk(struct walk *w, json_t *json, const char *path, int depth);

static void each(struct walk *w, json_t *json, const char *path, int depth)
{
    const char *key;
    json_t *value;
    size_t i;
    if (json_is_array(json)) {
        json_array_foreach(json, i, value) walk(w, value, path, depth);
    } else {
        json_object_foreach(json, key, value) walk(w, value, path, depth);
    }
}

static void take(struct walk *w, json_t *json)
{
    if (json == NULL)
        return;
    w->found++;
    w->first = w->first != NULL ? w->first : json;
    if (w->f == NULL)
        return;
    if (json_is_string(json)) {
        cli_print_harmless(w->f, json_string_value(json));
    } else {
        autofree char *text = json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY);
        fputs(text != NULL ? text : "", w->f);
    }
    fputc('\n', w->f);
}

static void walk_index(struct walk *w, json_t *json, const char *path, int depth)
{
    const char *end = strchr(path, ']');
    char part[PART_MAX];
    int64_t index;
    if (end == NULL || text_copy_bytes(part, sizeof(part), path + 1, (size_t)(end - path - 1)) != 0)
        return;
    if (text_equal(part, "*"))
        each(w, json, end + 1, depth);
    else if (text_parse_i64(part, 0, INT32_MAX, &index) == 0)
        walk(w, json_array_get(json, (size_t)index), end + 1, depth);
}

static void walk(struct walk *w, json_t *json, const char *path, int depth)
{
    char part[PART_MAX];
    if (json == NULL || depth > DEPTH_MAX)
        return;
    path += *path == '.';
    if (*path == '\0') {
        take(w, json);
        return;
    }
    if (*path == '[') {
        walk_index(w, json, path, depth + 1);
        return;
    }
    size_t len = strcspn(path, ".[");
    if (text_copy_bytes(part, sizeof(part), path, len) != 0)
        return;
    if (json_is_array(json) && text_equal(part, "items") && depth == 0)
        walk(w, json, path + len, depth + 1);
    else
        walk(w, json_object_get(json, part), path + len, depth + 1);
}

/* Without the braces and the "$" of JSONPath. Caller frees. */
static char *bare(const char *path)
{
    size_t len = strlen(path);
    bool braces = len >= 2 && path[0] == '{' && path[len - 1] == '}';
    const char *from = braces ? path + 1 : path;
    len -= braces ? 2 : 0;
    if (len > 0 && *from == '$') {
        from++;
        len--;
    }
    return own_printf("%.*s", (int)len, from);
}

static void print_path(const struct cli *cli, json_t *json)
{
    autofree char *path = bare(cli->expression);
    struct walk w = {.f = cli->out};
    walk(&w, json, path, 0);
    if (w.found == 0)
        fprintf(cli->err, "hpctl: nothing is at %s\n", cli->expression);
}

/* --- columns ------------------------------------------------------------------------------------------------ */

static void print_columns(const struct cli *cli, json_t *json)
{
    struct cli_column columns[COLUMNS_MAX];
    char *parts[COLUMNS_MAX] = {0};
    size_t count = 0;
    auto_json json_t *one = json_is_array(json) ? json_incref(json) : json_pack("[O]", json);
    const char *at = cli->expression;
    while (*at != '\0' && count < COLUMNS_MAX) {
        size_t len = strcspn(at, ",");
        char *part = parts[count] = own_printf("%.*s", (int)len, at), *colon = strchr(part, ':');
        const char *path = colon != NULL ? colon + 1 : part;
        if (colon != NULL)
            *colon = '\0';
        columns[count++] = (struct cli_column){part, path + strspn(path, ".{$")};
        at += len + (at[len] == ',');
    }
    cli_print_table(cli->out, one, columns, count, "nothing");
    for (size_t i = 0; i < count; i++)
        free(parts[i]);
}

/* --- names --------------------------------------------------------------------------------------------------- */

/* What a thing is called by in other commands. */
static const char *name_of(const json_t *item)
{
    static const char *const members[] = {"name", "id", "node", "code", "version", "accessKeyId"};
    for (size_t i = 0; i < ARRAY_LEN(members); i++)
        if (json_is_string(json_object_get(item, members[i])))
            return json_string_value(json_object_get(item, members[i]));
    return NULL;
}

static void print_names(const struct cli *cli, json_t *json, bool as_hosts)
{
    char **names = NULL;
    size_t count = 0, i;
    json_t *item;
    auto_json json_t *list = json_is_array(json) ? json_incref(json) : json_pack("[O]", json);
    json_array_foreach(list, i, item)
    {
        const char *node = json_string_value(json_object_get(item, "node"));
        const char *name = as_hosts && node != NULL ? node : name_of(item);
        if (name == NULL)
            continue;
        names = own_realloc(names, count + 1, sizeof(*names));
        names[count++] = own_strdup(name);
    }
    autofree char *hosts = as_hosts ? text_hostlist_compress(names, count) : NULL;
    if (as_hosts && count > 0) {
        cli_print_harmless(cli->out, hosts);
        fputc('\n', cli->out);
    }
    for (i = 0; !as_hosts && i < count; i++) {
        cli_print_harmless(cli->out, names[i]);
        fputc('\n', cli->out);
    }
    text_list_free(names, count);
}

bool cli_print_expression(const struct cli *cli, json_t *json)
{
    switch (cli->format) {
    case CLI_FORMAT_NAME:
    case CLI_FORMAT_HOSTS:
        print_names(cli, json, cli->format == CLI_FORMAT_HOSTS);
        return true;
    case CLI_FORMAT_JSONPATH:
        print_path(cli, json);
        return true;
    case CLI_FORMAT_COLUMNS:
        print_columns(cli, json);
        return true;
    default:
        return false;
    }
}

/* --- order --------------------------------------------------------------------------------------------------- */

struct keyed {
    json_t *item, *key;
    size_t place;
};

static int by_key(const void *left, const void *right)
{
    const struct keyed *a = left, *b = right;
    int order = 0;
    if (json_is_number(a->key) && json_is_number(b->key)) {
        double x = json_number_value(a->key), y = json_number_value(b->key);
        order = (x > y) - (x < y);
    } else if (json_is_string(a->key) && json_is_string(b->key)) {
        const char *x = json_string_value(a->key), *y = json_string_value(b->key);
        order = text_by_name(&x, &y);
    } else {
        order = (a->key == NULL) - (b->key == NULL); /* those without it come last */
    }
    return order != 0 ? order : (a->place > b->place) - (a->place < b->place);
}

static void say_unknown(const struct cli *cli, const json_t *first)
{
    const char *path = cli->option[CLI_OPTION_SORT_BY], *key;
    json_t *value;
    char hint[NEAREST_HINT_MAX];
    struct nearest nearest = {.word = path};
    json_object_foreach((json_t *)(uintptr_t)first, key, value) if (json_object_get(first, key) == value)
        nearest_see(&nearest, key);
    fprintf(cli->err, "hpctl: no item has \"%s\"%s, so they are not sorted\n", path, nearest_hint(&nearest, hint));
}

void cli_sort(const struct cli *cli, json_t *items)
{
    size_t count = json_array_size(items), found = 0;
    if (cli->option[CLI_OPTION_SORT_BY] == NULL || !json_is_array(items) || count == 0)
        return;
    autofree char *path = bare(cli->option[CLI_OPTION_SORT_BY]);
    autofree struct keyed *rows = own_calloc(count, sizeof(*rows));
    for (size_t i = 0; i < count; i++) {
        struct walk w = {0};
        json_t *item = json_array_get(items, i);
        walk(&w, item, path, 1);
        rows[i] = (struct keyed){.item = json_incref(item), .key = w.first, .place = i};
        found += w.first != NULL;
    }
    if (found == 0)
        say_unknown(cli, json_array_get(items, 0));
    qsort(rows, count, sizeof(*rows), by_key);
    json_array_clear(items);
    for (size_t i = 0; i < count; i++)
        json_array_append_new(items, rows[i].item);
}
