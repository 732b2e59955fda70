/*
 * Command lines: a program's options are one table, from which its arguments are read into a struct and its help is printed.
 *
 * Understood are "--name value", "--name=value", "-n value", "-nvalue", "-n=value", and "--", behind which all are words. Options and
 * words may be mixed. A table may say otherwise: hprun's does, as it takes torchrun's arguments.
 */
#ifndef HOLDFAST_BASE_OPTION_H
#define HOLDFAST_BASE_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define OPTION_ERROR_MAX 256

enum option_kind {
    OPTION_TITLE,  /* no option: a heading in the help */
    OPTION_FLAG,   /* bool; takes no value */
    OPTION_GIVEN,  /* const char *: "" when given; takes no value */
    OPTION_TEXT,   /* const char *: the argument itself */
    OPTION_NUMBER, /* int64_t from 0 to max */
    OPTION_SET     /* set() reads the value; without a placeholder there is none, and it gets "" */
};

struct option_row {
    const char *name;
    char letter; /* 0: none */
    enum option_kind kind;
    size_t offset;           /* into the struct that is read */
    const char *placeholder; /* of the value, in the help */
    const char *help;        /* NULL: not shown */
    const char *fallback;    /* shown as the default, and what the caller sets before; NULL: none */
    int64_t max;
    int (*set)(void *target, const char *value); /* 0, or any status when the value is wrong */
    bool once; /* OPTION_TEXT: given twice, it is an error; else the last one counts */
};

/* Rows of a table that fills a struct of this type. */
#define OPTION_ROW_TEXT(type, NAME, member, PLACEHOLDER, HELP)                                               \
    {                                                                                                        \
        .name = (NAME), .kind = OPTION_TEXT, .offset = offsetof(type, member), .placeholder = (PLACEHOLDER), \
        .help = (HELP)                                                                                       \
    }
#define OPTION_ROW_FLAG(type, NAME, member, HELP)                                             \
    {                                                                                         \
        .name = (NAME), .kind = OPTION_FLAG, .offset = offsetof(type, member), .help = (HELP) \
    }
#define OPTION_ROW_SET(NAME, SET, PLACEHOLDER, HELP)                                                   \
    {                                                                                                  \
        .name = (NAME), .kind = OPTION_SET, .set = (SET), .placeholder = (PLACEHOLDER), .help = (HELP) \
    }

struct option_table {
    const struct option_row *rows;
    size_t count;
    bool abbreviated;    /* a beginning that only one name has stands for it */
    bool underscores;    /* "_" is "-" in names */
    bool ends_at_a_word; /* from the first word on, all are words */
};

/* Reads arguments from argv[1] on. ret_words gets the words and a NULL; it has room for argc. STATUS_INVALID with a message, a part of a
 * sentence. */
int option_read(const struct option_table *table, int argc, char *const argv[], void *ret_target,
                const char **ret_words, char ret_error[OPTION_ERROR_MAX]);
/* One value, as from the command line. */
int option_set(const struct option_row *row, void *target, const char *value, char ret_error[OPTION_ERROR_MAX]);
/* The line of the help. */
void option_print(const struct option_row *row, FILE *out);
/* The lines of all rows. */
void option_print_all(const struct option_table *table, FILE *out);

#endif
