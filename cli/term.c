/* The one place that knows whether a person or a program reads. */
#include "cli/term.h"

#include "base/clock.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define UUID_LEN 36
#define TIME_LEN_MIN 20 /* "2026-11-20T15:02:11Z" */

static struct cli_term term;

static bool is_set(const char *name)
{
    const char *value = getenv(name);
    return value != NULL && *value != '\0' && !text_equal(value, "0");
}

/* NO_COLOR (no-color.org) is stronger than the terminal, CLICOLOR_FORCE stronger than a pipe. */
static bool wants_colour(bool terminal)
{
    const char *none = getenv("NO_COLOR");
    if (none != NULL && *none != '\0')
        return false;
    return is_set("CLICOLOR_FORCE") || (terminal && !text_equal(getenv("TERM"), "dumb"));
}

void cli_term_open(FILE *f)
{
    struct winsize size = {0};
    int fd = fileno(f);
    bool terminal = fd >= 0 && isatty(fd);
    int64_t width = 0;
    const char *given = getenv("HPCTL_COLUMNS");
    bool told = given != NULL && text_parse_i64(given, 1, 10000, &width) == 0;
    if (!told && terminal && ioctl(fd, TIOCGWINSZ, &size) == 0)
        width = size.ws_col;
    if (width > 0 && width < CLI_TERM_WIDTH_MIN)
        width = CLI_TERM_WIDTH_MIN;
    term = (struct cli_term){.people = terminal || told, .colour = wants_colour(terminal), .width = (int)width};
}

const struct cli_term *cli_term(void)
{
    return &term;
}

const char *cli_paint(enum cli_colour colour)
{
    static const char *const codes[] = {
        [CLI_PLAIN] = "\033[0m", [CLI_BOLD] = "\033[1m",   [CLI_DIM] = "\033[2m",
        [CLI_RED] = "\033[31m",  [CLI_GREEN] = "\033[32m", [CLI_YELLOW] = "\033[33m",
    };
    return term.colour ? codes[colour] : "";
}

enum cli_colour cli_colour_of(const char *word)
{
    static const struct {
        const char *word;
        enum cli_colour colour;
    } words[] = {{"ready", CLI_GREEN},     {"healthy", CLI_GREEN},  {"in-service", CLI_GREEN},
                 {"up", CLI_GREEN},        {"ok", CLI_GREEN},       {"succeeded", CLI_GREEN},
                 {"passed", CLI_GREEN},    {"failed", CLI_RED},     {"unhealthy", CLI_RED},
                 {"error", CLI_RED},       {"down", CLI_RED},       {"failing", CLI_RED},
                 {"stopped", CLI_RED},     {"OPEN", CLI_RED},       {"held", CLI_YELLOW},
                 {"degraded", CLI_YELLOW}, {"unknown", CLI_YELLOW}, {"warn", CLI_YELLOW},
                 {"asked", CLI_YELLOW},    {"paused", CLI_YELLOW},  {"repairing", CLI_YELLOW}};
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (text_equal(words[i].word, word))
            return words[i].colour;
    return CLI_PLAIN;
}

void cli_print_heading(FILE *f, const char *text)
{
    fprintf(f, "\n%s%s%s\n", cli_paint(CLI_BOLD), text, cli_paint(CLI_PLAIN));
}

static bool continues(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

int cli_width(const char *text)
{
    int width = 0;
    for (; *text != 0; text++)
        width += !continues(*text);
    return width;
}

int cli_add_cut(struct text *out, const char *text, int width)
{
    int whole = cli_width(text), left = width - 1;
    if (width <= 0 || whole <= width) {
        text_add(out, text);
        return whole;
    }
    for (; *text != '\0' && (continues(*text) || left > 0); text++) {
        left -= !continues(*text);
        text_add_char(out, *text);
    }
    text_add(out, "…");
    return width;
}

char *cli_wrap(const char *text, int indent)
{
    struct text out = {0};
    int column = indent;
    bool first = true;
    if (term.width == 0)
        return own_strdup(text);
    while (*text != '\0') {
        size_t len = strcspn(text, " \n");
        autofree char *word = own_printf("%.*s", (int)len, text);
        int width = cli_width(word);
        if (!first && column + 1 + width > term.width) {
            text_printf(&out, "\n%*s", indent, "");
            column = indent;
        } else if (!first) {
            text_add_char(&out, ' ');
            column++;
        }
        text_add(&out, word);
        column += width;
        first = false;
        text += len;
        while (*text == ' ' || *text == '\n')
            text++;
    }
    return text_take(&out);
}

/* The length of the RFC 3339 time at s; 0 for none. */
static size_t time_at(const char *s, int64_t *ret_ms)
{
    char at[CLOCK_TEXT_MAX + 16];
    size_t len = strspn(s, "0123456789-:.T");
    if (len < TIME_LEN_MIN - 1 || s[4] != '-' || s[10] != 'T' || s[len] != 'Z' ||
        text_copy_bytes(at, sizeof(at), s, len + 1) != 0 || clock_parse(at, ret_ms) != 0)
        return 0;
    return len + 1;
}

static void add_local(struct text *out, int64_t ms, const char *format)
{
    char text[64];
    struct tm local;
    time_t seconds = (time_t)(ms / MS_PER_S);
    if (localtime_r(&seconds, &local) != NULL && strftime(text, sizeof(text), format, &local) > 0)
        text_add(out, text);
}

char *cli_local_times(const char *text)
{
    struct text out = {0};
    char before = '\0';
    while (*text != '\0') {
        int64_t ms;
        bool begins = *text >= '0' && *text <= '9' && !(before >= '0' && before <= '9');
        size_t len = term.people && begins ? time_at(text, &ms) : 0;
        if (len > 0)
            add_local(&out, ms, "%Y-%m-%d %H:%M:%S %Z");
        else
            text_add_char(&out, *text);
        before = *text;
        text += len > 0 ? len : 1;
    }
    return text_take(&out);
}

char *cli_clock_time(const char *rfc3339)
{
    int64_t ms;
    struct text out = {0};
    struct tm then, today;
    if (!term.people || time_at(rfc3339, &ms) == 0)
        return own_strdup(rfc3339);
    time_t seconds = (time_t)(ms / MS_PER_S), now = (time_t)(clock_wall_ms(clock_system()) / MS_PER_S);
    bool same = localtime_r(&seconds, &then) != NULL && localtime_r(&now, &today) != NULL &&
                then.tm_yday == today.tm_yday && then.tm_year == today.tm_year;
    add_local(&out, ms, same ? "%H:%M %Z" : "%Y-%m-%d %H:%M %Z");
    return text_take(&out);
}

const char *cli_short_id(const char *id, char *ret_text, size_t size)
{
    bool uuid = strlen(id) == UUID_LEN && id[8] == '-' && id[13] == '-' && id[18] == '-' && id[23] == '-';
    if (term.people && uuid && size > CLI_SHORT_ID)
        snprintf(ret_text, size, "%.*s", CLI_SHORT_ID, id);
    else
        text_copy_cut(ret_text, size, id);
    return ret_text;
}
