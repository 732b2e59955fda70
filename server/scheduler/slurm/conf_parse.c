/*
 * The file of nodes and partitions, read back: Slurm's lines of "Key=Value" words, with its comments, quotes and continuations, as
 * far as it has to be known which nodes and partitions are in it. Its own words about other things stay as they are.
 */
#include "server/scheduler/slurm/conf.h"

#include "base/id.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"
#include "server/scheduler/slurm/conf_private.h"
#include "server/scheduler/slurm/parse.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define NAMES_MAX DESIRED_NODES_MAX

struct reader {
    struct slurm_conf *conf;
    size_t capacity, names; /* of all lines together */
    int line;
    char *error;
};

static int refuse(struct reader *r, const char *why, const char *what)
{
    snprintf(r->error, SLURM_CONF_ERROR_MAX, "line %d: %s: %.80s", r->line, why, what);
    return STATUS_INVALID;
}

void slurm_conf_free(struct slurm_conf *conf)
{
    for (size_t i = 0; i < conf->count; i++) {
        struct slurm_conf_line *line = &conf->lines[i];
        free(line->text);
        text_list_free(line->names, line->name_count);
        free(line->partition);
        free(line->rest);
    }
    free(conf->lines);
    text_list_free(conf->nodes, conf->node_count);
    text_list_free(conf->partitions, conf->partition_count);
    *conf = (struct slurm_conf){0};
}

/* The next line as Slurm sees it: a backslash at its end joins the one behind it, and a comment is none of it. Caller frees. */
static char *next_line(const char **rest, const char *end, int *line)
{
    AUTO(text) struct text joined = {0};
    const char *at = *rest;
    if (at >= end)
        return NULL;
    for (bool more = true; more && at < end;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t len = (size_t)((newline == NULL ? end : newline) - at), cut = 0;
        while (cut < len && !(at[cut] == '#' && (cut == 0 || at[cut - 1] != '\\')))
            cut++;
        size_t kept = cut < len ? cut : len;
        while (kept > 0 && isspace((unsigned char)at[kept - 1]))
            kept--;
        more = cut == len && kept > 0 && at[kept - 1] == '\\';
        text_add_bytes(&joined, at, more ? kept - 1 : kept);
        at += len + (newline == NULL ? 0 : 1);
        ++*line;
    }
    *rest = at;
    while (joined.len > 0 &&
           (isspace((unsigned char)joined.data[joined.len - 1]) || joined.data[joined.len - 1] == '\\'))
        joined.data[--joined.len] = '\0'; /* a continuation of nothing would take the next line in when it is written */
    return text_take(&joined);
}

const char *slurm_conf_word(const char *at, size_t *ret_len)
{
    bool quoted = false;
    while (isspace((unsigned char)*at))
        at++;
    size_t len = 0;
    for (; at[len] != '\0' && (quoted || !isspace((unsigned char)at[len])); len++)
        quoted = quoted != (at[len] == '"');
    *ret_len = len;
    return len > 0 ? at : NULL;
}

bool slurm_conf_key_is(const char *word, size_t len, const char *key)
{
    size_t key_len = strlen(key);
    return len > key_len && word[key_len] == '=' && strncasecmp(word, key, key_len) == 0;
}

/* Without a backslash at its end, which would take the next line in where the word comes to be the last one written. */
static void add_word(struct text *rest, const char *word, size_t len)
{
    while (len > 0 && word[len - 1] == '\\')
        len--;
    if (rest->len > 0 && len > 0)
        text_add_char(rest, ' ');
    text_add_bytes(rest, word, len);
}

static int expand(struct reader *r, const char *list, char ***ret_names, size_t *ret_count)
{
    size_t left = NAMES_MAX > r->names ? NAMES_MAX - r->names : 0;
    if (list[0] == '\0')
        return 0;
    if (text_hostlist_expand(list, left, ret_names, ret_count) != 0)
        return refuse(r, "not a list of nodes, or too many of them", list);
    r->names += *ret_count;
    for (size_t i = 0; i < *ret_count; i++)
        if (!slurm_is_node_name((*ret_names)[i]))
            return refuse(r, "not the name of a node", (*ret_names)[i]);
    return 0;
}

static int read_node(struct reader *r, struct slurm_conf_line *line, const char *value)
{
    if (strcasecmp(value, "DEFAULT") == 0)
        return 0; /* what it says of others is the site's */
    line->kind = SLURM_CONF_NODE;
    int status = expand(r, value, &line->names, &line->name_count);
    return status == 0 && line->name_count == 0 ? refuse(r, "a node without a name", line->text) : status;
}

static int read_partition(struct reader *r, struct slurm_conf_line *line, const char *name, char *nodes)
{
    if (strcasecmp(name, "DEFAULT") == 0)
        return 0;
    if (!slurm_conf_is_partition(name))
        return refuse(r, "not the name of a partition", name);
    line->kind = SLURM_CONF_PARTITION;
    line->partition = own_strdup(name);
    if (nodes == NULL || strcasecmp(nodes, "ALL") == 0)
        return 0;
    return expand(r, nodes, &line->names, &line->name_count);
}

static int read_line(struct reader *r, struct slurm_conf_line *line)
{
    AUTO(text) struct text rest = {0};
    autofree char *nodes = NULL, *value = NULL;
    size_t len, first_len;
    const char *first = slurm_conf_word(line->text, &first_len);
    size_t quotes = 0;
    for (const char *c = line->text; *c != '\0'; c++)
        quotes += *c == '"';
    if (quotes % 2 != 0)
        return refuse(r, "a quote without its end", line->text);
    bool node = slurm_conf_key_is(first, first_len, "NodeName");
    if (!node && !slurm_conf_key_is(first, first_len, "PartitionName"))
        return 0;
    const char *equals = memchr(first, '=', first_len);
    value = own_printf("%.*s", (int)(first_len - (size_t)(equals + 1 - first)), equals + 1);
    for (const char *word = first + first_len; (word = slurm_conf_word(word, &len)) != NULL; word += len) {
        bool is_nodes = !node && slurm_conf_key_is(word, len, "Nodes");
        if (is_nodes && nodes == NULL)
            nodes = own_printf("%.*s", (int)(len - strlen("Nodes=")), word + strlen("Nodes="));
        else if (!is_nodes)
            add_word(&rest, word, len);
    }
    line->rest = text_take(&rest);
    return node ? read_node(r, line, value) : read_partition(r, line, value, nodes);
}

/* Our own word about what is ours, in a comment; whatever else stands in comments is nobody's. */
static void read_ours(const char *text, size_t len, const char *mark, char ***ret_names, size_t *ret_count)
{
    autofree char *line = own_printf("%.*s", (int)len, text);
    if (!text_starts_with(line, mark) || *ret_names != NULL)
        return;
    const char *list = line + strlen(mark);
    for (size_t word; (list = slurm_conf_word(list, &word)) != NULL; list += word) {
        *ret_names = own_realloc(*ret_names, *ret_count + 1, sizeof(**ret_names));
        (*ret_names)[(*ret_count)++] = own_printf("%.*s", (int)word, list);
    }
}

static void read_marks(struct slurm_conf *conf, const char *text, size_t len)
{
    const char *newline = memchr(text, '\n', len);
    char digest[ID_SHA256_HEX_MAX];
    if (newline != NULL && text_starts_with(text, SLURM_CONF_SIGNED)) {
        const char *body = newline + 1;
        id_sha256_hex(body, len - (size_t)(body - text), digest);
        size_t said = (size_t)(newline - text) - strlen(SLURM_CONF_SIGNED);
        conf->signed_by_us = said == strlen(digest) && memcmp(text + strlen(SLURM_CONF_SIGNED), digest, said) == 0;
    }
    for (const char *at = text, *end = text + len; at < end;) {
        newline = memchr(at, '\n', (size_t)(end - at));
        size_t line = (size_t)((newline == NULL ? end : newline) - at);
        read_ours(at, line, SLURM_CONF_OUR_NODES, &conf->nodes, &conf->node_count);
        read_ours(at, line, SLURM_CONF_OUR_PARTITIONS, &conf->partitions, &conf->partition_count);
        at += line + 1;
    }
}

static int add_line(struct reader *r, char *text)
{
    struct slurm_conf *conf = r->conf;
    if (conf->count == SLURM_CONF_LINES_MAX) {
        free(text);
        return refuse(r, "more lines than are read", "");
    }
    if (conf->count == r->capacity) {
        r->capacity = r->capacity == 0 ? 64 : 2 * r->capacity;
        conf->lines = own_realloc(conf->lines, r->capacity, sizeof(*conf->lines));
    }
    struct slurm_conf_line *line = &conf->lines[conf->count++];
    *line = (struct slurm_conf_line){.kind = SLURM_CONF_OTHER, .text = text};
    return read_line(r, line);
}

int slurm_conf_parse(const char *text, size_t len, struct slurm_conf *ret_conf, char ret_error[SLURM_CONF_ERROR_MAX])
{
    struct slurm_conf conf = {0};
    struct reader r = {.conf = &conf, .error = ret_error};
    int status = 0;
    if (len > SLURM_CONF_BYTES_MAX || memchr(text, '\0', len) != NULL || !text_is_utf8(text, len))
        status = refuse(&r, "not a text, or too long", "");
    else
        read_marks(&conf, text, len);
    const char *rest = text;
    for (char *line; status == 0 && (line = next_line(&rest, text + len, &r.line)) != NULL;) {
        size_t word;
        if (slurm_conf_word(line, &word) == NULL)
            free(line);
        else
            status = add_line(&r, line);
    }
    if (status != 0)
        slurm_conf_free(&conf);
    else
        *ret_conf = conf;
    return status;
}
