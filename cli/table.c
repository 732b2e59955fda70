/*
 * Tables for people: no borders, at least two blanks between columns. In a pipe columns are as wide as their widest value, so that they can be
 * cut and grepped. On a terminal a table fits: what is widest is cut first, and never what names a thing.
 */
#include "cli/cli.h"
#include "cli/term.h"

#include "model/limits.h"

#include <string.h>

#define CELL_BYTES_MAX RAW_LINE_MAX_BYTES /* the longest text there is: a kernel log line */
#define CELL_WIDTH_MAX 72                 /* in a pipe a wider cell pushes the rest of its line aside; nothing is cut */
#define CUT_WIDTH_MIN 6                   /* a cell that is cut keeps so much */
#define GAP 2
#define COLUMNS_MAX 16

struct table {
    const json_t *items;
    const struct cli_column *columns[COLUMNS_MAX];
    int widths[COLUMNS_MAX];
    size_t count;
    char *buffer; /* CELL_BYTES_MAX */
};

/* As it is shown. Caller frees. */
static char *cell(const struct table *table, size_t row, size_t column)
{
    const json_t *item = json_array_get(table->items, row);
    const char *path = table->columns[column]->path;
    const char *text = path[0] == '~' ? cli_age(item, path + 1, table->buffer, CELL_BYTES_MAX)
                                      : cli_value(item, path + strspn(path, "+"), table->buffer, CELL_BYTES_MAX);
    if (*text == 0)
        return own_strdup("-");
    if (!cli_term()->people)
        return own_strdup(text);
    char id[64];
    if (strlen(text) < sizeof(id) && !cli_table_options.wide)
        return cli_local_times(cli_short_id(text, id, sizeof(id)));
    return cli_local_times(text);
}

/* What a thing is called is of no use when it is cut. */
static bool is_name(const struct table *table, size_t column)
{
    const char *title = table->columns[column]->title;
    return column == 0 || text_equal(title, "ID") || text_equal(title, "NODE");
}

static int total_width(const struct table *table)
{
    int total = (int)(table->count - 1) * GAP;
    for (size_t c = 0; c < table->count; c++)
        total += table->widths[c];
    return total;
}

/* Takes from the widest column until the table fits. False when nothing more can be taken. */
static bool shrink(struct table *table, int by)
{
    size_t widest = table->count;
    int next = CUT_WIDTH_MIN;
    for (size_t c = 0; c < table->count; c++)
        if (!is_name(table, c) && table->widths[c] > CUT_WIDTH_MIN &&
            (widest == table->count || table->widths[c] >= table->widths[widest]))
            widest = c;
    if (widest == table->count)
        return false;
    for (size_t c = 0; c < table->count; c++)
        if (c != widest && table->widths[c] < table->widths[widest] && table->widths[c] > next && !is_name(table, c))
            next = table->widths[c];
    int take = table->widths[widest] - next;
    take = take < 1 ? 1 : take;
    table->widths[widest] -= take < by ? take : by;
    return true;
}

static void measure(struct table *table)
{
    int limit = cli_term()->width;
    for (size_t c = 0; c < table->count; c++) {
        table->widths[c] = cli_table_options.no_headers ? 0 : cli_width(table->columns[c]->title);
        for (size_t r = 0; r < json_array_size(table->items); r++) {
            autofree char *text = cell(table, r, c);
            int width = cli_width(text);
            table->widths[c] = width > table->widths[c] ? width : table->widths[c];
        }
        if (limit == 0 && table->widths[c] > CELL_WIDTH_MAX)
            table->widths[c] = CELL_WIDTH_MAX;
    }
    while (limit > 0 && total_width(table) > limit && shrink(table, total_width(table) - limit))
        ;
}

static void print_cell(FILE *f, const struct table *table, size_t c, const char *text, enum cli_colour colour)
{
    struct text shown AUTO(text) = {0};
    bool last = c + 1 == table->count;
    int width = cli_add_cut(&shown, text, cli_term()->width > 0 ? table->widths[c] : 0);
    int pad = last ? 0 : table->widths[c] - width + GAP;
    if (!last && pad < GAP)
        pad = GAP;
    fprintf(f, "%s%s%s%*s", colour != CLI_PLAIN ? cli_paint(colour) : "", text_get(&shown),
            colour != CLI_PLAIN ? cli_paint(CLI_PLAIN) : "", pad, "");
}

struct cli_table_options cli_table_options;

void cli_print_table(FILE *f, const json_t *items, const struct cli_column *columns, size_t count,
                     const char *empty_text)
{
    autofree char *buffer = own_calloc(1, CELL_BYTES_MAX);
    struct table table = {.items = items, .buffer = buffer};
    size_t rows = json_array_size(items);
    if (rows == 0) {
        fprintf(f, "%s\n", empty_text);
        return;
    }
    for (size_t c = 0; c < count && table.count < COLUMNS_MAX; c++)
        if (columns[c].path[0] != '+' || cli_table_options.wide)
            table.columns[table.count++] = &columns[c];
    measure(&table);
    for (size_t r = cli_table_options.no_headers ? 1 : 0; r <= rows; r++) {
        for (size_t c = 0; c < table.count; c++) {
            autofree char *text = r == 0 ? own_strdup(table.columns[c]->title) : cell(&table, r - 1, c);
            print_cell(f, &table, c, text, r == 0 ? CLI_DIM : cli_colour_of(text));
        }
        fputc('\n', f);
    }
}
