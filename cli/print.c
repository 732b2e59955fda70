/*
 * Printing: values for people, the server's JSON or the same as YAML for scripts. Tables are cli/table.c.
 *
 * Control characters of values, and what turns the direction of text, are shown as '?', so that no log line can play with a terminal
 * or look like another one.
 */
#include "cli/cli.h"
#include "cli/term.h"

#include "base/clock.h"
#include "base/yaml.h"
#include <stdarg.h>
#include <string.h>

#define FIELD_INDENT 17

void cli_print_harmless(FILE *f, const char *text)
{
    autofree char *local = cli_local_times(text);
    text = local;
    while (*text != 0) {
        int control = *text == '\n' ? 0 : text_hidden_len(text);
        fputc(control > 0 ? '?' : *text, f);
        text += control > 0 ? control : 1;
    }
}

void cli_say(FILE *f, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    autofree char *text = own_vprintf(fmt, ap);
    va_end(ap);
    cli_print_harmless(f, text);
}

const char *cli_value(const json_t *object, const char *path, char *ret_buffer, size_t size)
{
    const char *dot = strchr(path, '.');
    if (size > 0)
        *ret_buffer = 0; /* callers may read the buffer instead of what is returned */
    if (dot != NULL) {
        char name[64];
        if (text_copy_bytes(name, sizeof(name), path, (size_t)(dot - path)) != 0)
            return "";
        return cli_value(json_object_get(object, name), dot + 1, ret_buffer, size);
    }
    const json_t *value = json_object_get(object, path);
    if (json_is_string(value)) {
        text_copy_cut(ret_buffer, size, json_string_value(value));
    } else if (json_is_integer(value)) {
        snprintf(ret_buffer, size, "%lld", (long long)json_integer_value(value));
    } else if (json_is_boolean(value)) {
        snprintf(ret_buffer, size, "%s", json_is_true(value) ? "yes" : "no");
    } else {
        return "";
    }
    for (char *s = ret_buffer; *s != 0; s++)
        for (int left = text_hidden_len(s); left > 0; left--)
            *(left > 1 ? s++ : s) = '?';
    return ret_buffer;
}

const char *cli_age(const json_t *object, const char *path, char *ret_buffer, size_t size)
{
    char at[CLOCK_TEXT_MAX + 16], age[CLOCK_TEXT_MAX];
    int64_t ms;
    if (clock_parse(cli_value(object, path, at, sizeof(at)), &ms) != 0)
        return "";
    int64_t since = clock_wall_ms(clock_system()) - ms;
    snprintf(ret_buffer, size, "%s", clock_format_duration(since > 0 ? since / 1000 * 1000 : 0, age));
    return ret_buffer;
}

bool cli_print_data(const struct cli *cli, const json_t *reply)
{
    json_t *json = (json_t *)(uintptr_t)reply; /* ours: the order of a list is changed, and nothing else */
    cli_sort(cli, json);
    if (cli->format == CLI_FORMAT_TABLE)
        return false;
    if (cli_print_expression(cli, json))
        return true;
    autofree char *text = cli->format == CLI_FORMAT_JSON ? json_dumps(json, JSON_INDENT(2)) : yaml_dump(json);
    fputs(text != NULL ? text : "", cli->out);
    if (text != NULL && !text_ends_with(text, "\n"))
        fputc('\n', cli->out);
    return true;
}

void cli_counts(const json_t *counts, struct text *ret_text)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)counts, name, value)
    {
        if (json_integer_value(value) > 0)
            text_printf(ret_text, "%s%lld %s", ret_text->len > 0 ? ", " : "", (long long)json_integer_value(value),
                        name);
    }
}

void cli_print_field(FILE *f, const char *name, const char *value)
{
    if (*value == 0)
        return;
    autofree char *local = cli_local_times(value), *wrapped = cli_wrap(local, FIELD_INDENT);
    fprintf(f, "%-*s %s\n", FIELD_INDENT - 1, name, wrapped);
}
