/* Names first, then values, then the order of words. */
#include "base/option.h"

#include "base/nearest.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"

#include <ctype.h>
#include <string.h>

#define NAME_MAX_BYTES 64
#define LEFT_COLUMN 34

struct reader {
    const struct option_table *table;
    int argc, at; /* at: the next argument */
    char *const *argv;
    void *target;
    char *error;
};

__attribute__((format(printf, 2, 3))) static int refuse(char *error, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    vsnprintf(error, OPTION_ERROR_MAX, format, ap);
    va_end(ap);
    return STATUS_INVALID;
}

static bool takes_value(const struct option_row *row)
{
    return row->kind == OPTION_TEXT || row->kind == OPTION_NUMBER || (row->kind == OPTION_SET && row->placeholder);
}

/* --- names --------------------------------------------------------------------------------------------------- */

static const struct option_row *find_letter(const struct option_table *table, char letter)
{
    for (size_t i = 0; i < table->count; i++)
        if (table->rows[i].name != NULL && table->rows[i].letter == letter)
            return &table->rows[i];
    return NULL;
}

static int unknown(const struct reader *r, const char *name)
{
    struct nearest nearest = {.word = name};
    for (size_t i = 0; i < r->table->count; i++)
        if (r->table->rows[i].name != NULL && r->table->rows[i].help != NULL)
            nearest_see(&nearest, r->table->rows[i].name);
    if (nearest.found[0] == '\0')
        return refuse(r->error, "unknown option --%s", name);
    return refuse(r->error, "unknown option --%s (the nearest is \"--%s\")", name, nearest.found);
}

static int find_name(const struct reader *r, const char *word, size_t len, const struct option_row **ret_row)
{
    char name[NAME_MAX_BYTES];
    const struct option_row *found = NULL;
    if (text_copy_bytes(name, sizeof(name), word, len) != 0)
        return refuse(r->error, "unknown option --%.*s", NAME_MAX_BYTES, word);
    for (char *c = name; r->table->underscores && *c != '\0'; c++)
        *c = *c == '_' ? '-' : *c;
    for (size_t i = 0; i < r->table->count; i++) {
        const struct option_row *row = &r->table->rows[i];
        if (row->name == NULL || strncmp(row->name, name, len) != 0)
            continue;
        if (row->name[len] == '\0') {
            *ret_row = row;
            return 0;
        }
        if (!r->table->abbreviated || len == 0)
            continue;
        if (found != NULL)
            return refuse(r->error, "--%s may be --%s or --%s", name, found->name, row->name);
        found = row;
    }
    *ret_row = found;
    return found != NULL ? 0 : unknown(r, name);
}

/* --- values -------------------------------------------------------------------------------------------------- */

int option_set(const struct option_row *row, void *target, const char *value, char ret_error[OPTION_ERROR_MAX])
{
    void *at = (char *)target + row->offset;
    switch (row->kind) {
    case OPTION_TITLE:
        break;
    case OPTION_FLAG:
        *(bool *)at = true;
        break;
    case OPTION_GIVEN:
    case OPTION_TEXT:
        if (row->once && *(const char **)at != NULL)
            return refuse(ret_error, "--%s is given twice", row->name);
        *(const char **)at = value;
        break;
    case OPTION_NUMBER:
        if (text_parse_i64(value, 0, row->max, at) != 0)
            return refuse(ret_error, "--%s has to be a number from 0 to %lld, not \"%.80s\"", row->name,
                          (long long)row->max, value);
        break;
    case OPTION_SET:
        if (row->set(target, value) != 0)
            return refuse(ret_error, "--%s cannot be \"%.80s\"; it takes %s: %s", row->name, value, row->placeholder,
                          row->help);
        break;
    }
    return 0;
}

static int take_value(struct reader *r, const struct option_row *row, const char *attached)
{
    if (!takes_value(row))
        return attached == NULL ? option_set(row, r->target, "", r->error)
                                : refuse(r->error, "--%s takes no value", row->name);
    if (attached == NULL && r->at >= r->argc)
        return refuse(r->error, "--%s needs a value: %s", row->name, row->placeholder);
    return option_set(row, r->target, attached != NULL ? attached : r->argv[r->at++], r->error);
}

/* --- words --------------------------------------------------------------------------------------------------- */

static int read_long(struct reader *r, const char *word)
{
    const struct option_row *row = NULL;
    size_t len = strcspn(word, "=");
    int rc = find_name(r, word, len, &row);
    return rc != 0 ? rc : take_value(r, row, word[len] == '=' ? word + len + 1 : NULL);
}

static int read_short(struct reader *r, const char *word)
{
    const struct option_row *row = find_letter(r->table, word[1]);
    if (row == NULL)
        return refuse(r->error, "unknown option -%c", isprint((unsigned char)word[1]) ? word[1] : '?');
    const char *rest = word + 2;
    return take_value(r, row, *rest == '\0' ? NULL : *rest == '=' ? rest + 1 : rest);
}

int option_read(const struct option_table *table, int argc, char *const argv[], void *ret_target,
                const char **ret_words, char ret_error[OPTION_ERROR_MAX])
{
    struct reader r = {table, argc, 1, argv, ret_target, ret_error};
    bool only_words = false;
    int count = 0;
    while (r.at < argc) {
        const char *word = argv[r.at++];
        int rc = 0;
        if (only_words || word[0] != '-' || word[1] == '\0') {
            ret_words[count++] = word;
            only_words = only_words || table->ends_at_a_word;
        } else if (strcmp(word, "--") == 0) {
            only_words = true;
        } else {
            rc = word[1] == '-' ? read_long(&r, word + 2) : read_short(&r, word);
        }
        if (rc != 0)
            return rc;
    }
    ret_words[count] = NULL;
    return 0;
}

/* --- help ---------------------------------------------------------------------------------------------------- */

void option_print(const struct option_row *row, FILE *out)
{
    char letter[] = "    ";
    if (row->kind == OPTION_TITLE) {
        fprintf(out, "\n%s:\n", row->help);
        return;
    }
    if (row->help == NULL)
        return;
    if (row->letter != 0)
        snprintf(letter, sizeof(letter), "-%c, ", row->letter);
    autofree char *left = own_printf("%s--%s%s%s", letter, row->name, row->placeholder != NULL ? " " : "",
                                     text_or_empty(row->placeholder));
    fprintf(out, "  %-*s %s", LEFT_COLUMN, left, row->help);
    if (row->fallback != NULL && row->fallback[0] != '\0')
        fprintf(out, " (%s)", row->fallback);
    fputc('\n', out);
}

void option_print_all(const struct option_table *table, FILE *out)
{
    for (size_t i = 0; i < table->count; i++)
        option_print(&table->rows[i], out);
}
