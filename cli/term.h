/*
 * What hpctl prints to: how wide it is, whether it has colours, and how people read its times and ids.
 *
 * On a terminal times are local with their zone, ids are short and tables fit. In a pipe or a file nothing is cut, coloured or
 * translated: scripts get what the server said.
 */
#ifndef HOLDFAST_CLI_TERM_H
#define HOLDFAST_CLI_TERM_H

#include "base/text.h"

#include <stdbool.h>
#include <stdio.h>

#define CLI_TERM_WIDTH_MIN 40
#define CLI_SHORT_ID 8 /* characters of an id that are shown on a terminal */

enum cli_colour { CLI_PLAIN, CLI_BOLD, CLI_DIM, CLI_RED, CLI_GREEN, CLI_YELLOW };

struct cli_term {
    bool people; /* a terminal, or HPCTL_COLUMNS says to print as for one */
    bool colour;
    int width; /* 0: without a limit */
};

/* Looks at what f is. One for the process: hpctl prints to one place. */
void cli_term_open(FILE *f);
const struct cli_term *cli_term(void);

/* The sequence that begins a colour, or ends it (PLAIN); "" without colours. */
const char *cli_paint(enum cli_colour colour);
/* The colour of a word such as "ready", "failed" or "error"; PLAIN for any other. */
enum cli_colour cli_colour_of(const char *word);
/* Heading in bold, after a blank line. */
void cli_print_heading(FILE *f, const char *text);

/* Columns that a UTF-8 text takes. */
int cli_width(const char *text);
/* Adds text, cut to width columns with an ellipsis; width 0: whole. Returns the columns it took. */
int cli_add_cut(struct text *out, const char *text, int width);
/* text, which begins after indent columns, with line feeds between its words, so that no line is longer than the terminal is wide; the
 * others begin with indent blanks. Where there is no limit as it is. Caller frees. */
char *cli_wrap(const char *text, int indent);

/* For people: RFC 3339 times within the text as local ones, "2026-11-20 15:02:11 CET"; else the text as it is. Caller frees. */
char *cli_local_times(const char *text);
/* "18:06", with the day where it is not today's, and the zone; RFC 3339 where people do not read it. Caller frees. */
char *cli_clock_time(const char *rfc3339);
/* The id as people read it: its first characters where it is a UUID. */
const char *cli_short_id(const char *id, char *ret_text, size_t size);

#endif
