/*
 * The texts: nodes and partitions, gres.conf, topology.conf. The same request makes the same text, whatever the order it comes in.
 *
 * Login nodes and controllers are none of the desired configuration's, so no partition can have them and no job finds its way to one. "dev" has
 * every node and is the default partition, as on HyperPod; a group's own partition has its nodes besides.
 */
#include "server/scheduler/slurm/conf.h"

#include "base/id.h"
#include "base/map.h"
#include "base/own.h"
#include "base/text.h"
#include "server/scheduler/slurm/conf_private.h"
#include "server/scheduler/slurm/parse.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define PORT_MAX 65535

bool slurm_conf_is_partition(const char *name)
{
    return slurm_is_node_name(name) && strcasecmp(name, "DEFAULT") != 0;
}

bool slurm_conf_is_device(const char *text)
{
    return text[0] == '/' &&
           strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-") == strlen(text);
}

bool slurm_conf_is_hardware(const char *text)
{
    size_t len;
    if (!text_is_clean(text) || strpbrk(text, "#\\\"") != NULL)
        return false;
    for (const char *word = text; (word = slurm_conf_word(word, &len)) != NULL; word += len)
        if (memchr(word, '=', len) == NULL || slurm_conf_key_is(word, len, "NodeName") ||
            slurm_conf_key_is(word, len, "NodeAddr"))
            return false;
    return true;
}

static int by_text(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

const char **slurm_conf_partitions(const struct scheduler_desired *desired, size_t *ret_count)
{
    const char **names = own_calloc(desired->count + 1, sizeof(*names));
    size_t count = 0, kept = 0;
    for (size_t i = 0; i < desired->count; i++)
        if (desired->nodes[i].partition[0] != '\0' && !text_equal(desired->nodes[i].partition, SLURM_PARTITION_ALL))
            names[count++] = desired->nodes[i].partition;
    qsort(names, count, sizeof(*names), by_text);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || !text_equal(names[kept - 1], names[i]))
            names[kept++] = names[i];
    *ret_count = kept;
    return names;
}

/* --- nodes and partitions ----------------------------------------------------------------------- */

struct writer {
    const struct scheduler_desired *desired;
    const struct slurm_conf_site *site;
    const struct slurm_conf *present; /* NULL: nothing of it is kept */
    char **names;                     /* of the wanted, in order */
    struct map *wanted, *defined;     /* name → desired_node; name → anything: nodes that the text has */
    struct map *were;                 /* name → anything: nodes that were ours */
    struct text text;
};

static const char *hardware_of(const struct slurm_conf_site *site, const struct desired_node *node)
{
    for (size_t i = 0; i < site->type_count; i++)
        if (text_equal(site->types[i].name, node->instance_type))
            return site->types[i].hardware;
    return "";
}

static bool is_one_of(char **names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (text_equal(names[i], name))
            return true;
    return false;
}

static bool has_key(const char *words, const char *pair, size_t pair_len)
{
    size_t len, key_len = (size_t)((const char *)memchr(pair, '=', pair_len) - pair);
    for (const char *word = words; (word = slurm_conf_word(word, &len)) != NULL; word += len)
        if (len > key_len && word[key_len] == '=' && strncasecmp(word, pair, key_len) == 0)
            return true;
    return false;
}

/* The words of one list whose keys the other does not have. */
static void add_words(struct text *text, const char *words, const char *unless_in)
{
    size_t len;
    for (const char *word = words; (word = slurm_conf_word(word, &len)) != NULL; word += len)
        if (memchr(word, '=', len) != NULL && !has_key(unless_in, word, len))
            text_printf(text, " %.*s", (int)len, word);
}

/* Ours: where it lives and what it is made of; what somebody wrote beside that stays, and goes before what it is made of. */
static void write_node(struct writer *w, const struct desired_node *node, const char *kept)
{
    AUTO(text) struct text ours = {0};
    int64_t number = text_name_number(node->name);
    const char *colon = strrchr(node->address, ':');
    bool port = colon != NULL && strchr(node->address, ':') == colon;
    if (node->address[0] != '\0')
        text_printf(&ours, " NodeAddr=%.*s", (int)(port ? colon - node->address : (long)strlen(node->address)),
                    node->address);
    if (w->site->port_base > 0 && number >= 0 && w->site->port_base + number <= PORT_MAX)
        text_printf(&ours, " Port=%lld", (long long)(w->site->port_base + number));
    text_printf(&w->text, "NodeName=%s%s", node->name, text_get(&ours));
    add_words(&w->text, kept, text_get(&ours));
    AUTO(text) struct text said = {0};
    text_printf(&said, "%s %s", text_get(&ours), kept);
    add_words(&w->text, hardware_of(w->site, node), text_get(&said));
    if (!has_key(text_get(&said), "State=", strlen("State=")) &&
        !has_key(hardware_of(w->site, node), "State=", strlen("State=")))
        text_add(&w->text, " State=UNKNOWN");
    text_add_char(&w->text, '\n');
}

static void write_ours(struct writer *w)
{
    const struct scheduler_desired *desired = w->desired;
    struct map *kept = map_new();
    for (size_t i = 0; w->present != NULL && i < w->present->count; i++) {
        const struct slurm_conf_line *line = &w->present->lines[i];
        for (size_t k = 0; line->kind == SLURM_CONF_NODE && k < line->name_count; k++)
            if (line->name_count == 1) /* what a line says of several, by lists, cannot be split */
                map_set(kept, line->names[k], line->rest);
    }
    for (size_t i = 0; i < desired->count; i++) {
        const char *rest = map_get(kept, w->names[i]);
        write_node(w, map_get(w->wanted, w->names[i]), rest == NULL ? "" : rest);
    }
    map_free(kept);
}

/* Nodes of others, line by line; of a line that has some of ours, or some that were, the others. */
static void keep_nodes(struct writer *w, const struct slurm_conf_line *line)
{
    char **names = own_calloc(line->name_count + 1, sizeof(*names));
    size_t count = 0;
    for (size_t i = 0; i < line->name_count; i++)
        if (map_get(w->defined, line->names[i]) == NULL && !text_equal(line->names[i], SLURM_CONF_NOBODY) &&
            map_get(w->were, line->names[i]) == NULL) {
            names[count++] = line->names[i];
            map_set(w->defined, line->names[i], line->names[i]);
        }
    if (count == line->name_count)
        text_printf(&w->text, "%s\n", line->text);
    else if (count > 0) {
        autofree char *list = text_hostlist_compress(names, count);
        text_printf(&w->text, "NodeName=%s%s%s\n", list, line->rest[0] == '\0' ? "" : " ", line->rest);
    }
    free(names);
}

static const struct slurm_conf_line *kept_partition(const struct writer *w, const char *name)
{
    for (size_t i = 0; w->present != NULL && i < w->present->count; i++)
        if (w->present->lines[i].kind == SLURM_CONF_PARTITION && text_equal(w->present->lines[i].partition, name))
            return &w->present->lines[i];
    return NULL;
}

/* A name that somebody put into a partition: it has to exist, and ours are in ours where they belong only. */
static bool may_stay(const struct writer *w, const char *name, bool in_ours)
{
    return map_get(w->defined, name) != NULL && !(in_ours && map_get(w->wanted, name) != NULL);
}

/* Its nodes: ours that belong there, and those that somebody put there. words: what a new one of ours says besides; NULL: it is
 * none of ours. */
static void write_partition(struct writer *w, const char *name, const struct slurm_conf_line *kept, const char *words)
{
    bool all = text_equal(name, SLURM_PARTITION_ALL), ours = words != NULL;
    char **names = own_calloc(w->desired->count + (kept == NULL ? 0 : kept->name_count) + 1, sizeof(*names));
    struct map *in = map_new();
    size_t count = 0;
    for (size_t i = 0; ours && i < w->desired->count; i++) {
        struct desired_node *node = &w->desired->nodes[i];
        if (all || text_equal(node->partition, name)) {
            names[count++] = node->name;
            map_set(in, node->name, node);
        }
    }
    for (size_t i = 0; kept != NULL && i < kept->name_count; i++)
        if (may_stay(w, kept->names[i], words != NULL) && map_get(in, kept->names[i]) == NULL) {
            names[count++] = kept->names[i];
            map_set(in, kept->names[i], names);
        }
    autofree char *list = text_hostlist_compress(names, count);
    text_printf(&w->text, "PartitionName=%s%s%s", name, count > 0 ? " Nodes=" : "", list);
    add_words(&w->text, kept == NULL ? words : kept->rest, "");
    text_add_char(&w->text, '\n');
    map_free(in);
    free(names);
}

static void write_partitions(struct writer *w)
{
    size_t count;
    const char **names = slurm_conf_partitions(w->desired, &count);
    write_partition(w, SLURM_PARTITION_ALL, kept_partition(w, SLURM_PARTITION_ALL),
                    "Default=YES MaxTime=INFINITE State=UP");
    for (size_t i = 0; i < count; i++)
        write_partition(w, names[i], kept_partition(w, names[i]), "MaxTime=INFINITE State=UP");
    for (size_t i = 0; w->present != NULL && i < w->present->count; i++) {
        const struct slurm_conf_line *line = &w->present->lines[i];
        bool ours = line->kind != SLURM_CONF_PARTITION || text_equal(line->partition, SLURM_PARTITION_ALL) ||
                    is_one_of(w->present->partitions, w->present->partition_count, line->partition);
        for (size_t k = 0; !ours && k < count; k++)
            ours = text_equal(names[k], line->partition);
        if (!ours && line->name_count == 0)
            text_printf(&w->text, "%s\n", line->text);
        else if (!ours)
            write_partition(w, line->partition, line, NULL);
    }
    text_add(&w->text, SLURM_CONF_OUR_PARTITIONS SLURM_PARTITION_ALL);
    for (size_t i = 0; i < count; i++)
        text_printf(&w->text, " %s", names[i]);
    text_add(&w->text, "\n");
    free(names);
}

char *slurm_conf_text(const struct scheduler_desired *desired, const struct slurm_conf_site *site,
                      const struct slurm_conf *present)
{
    struct writer w = {.desired = desired, .site = site, .present = present};
    char digest[ID_SHA256_HEX_MAX];
    w.wanted = map_new();
    w.defined = map_new();
    w.were = map_new();
    for (size_t i = 0; present != NULL && i < present->node_count; i++)
        map_set(w.were, present->nodes[i], present->nodes[i]);
    w.names = own_calloc(desired->count + 1, sizeof(*w.names));
    for (size_t i = 0; i < desired->count; i++) {
        w.names[i] = desired->nodes[i].name;
        map_set(w.wanted, desired->nodes[i].name, &desired->nodes[i]);
        map_set(w.defined, desired->nodes[i].name, &desired->nodes[i]);
    }
    text_add(&w.text,
             "# Nodes and partitions, written by Holdfast; what becomes of edits is the strategy's: see hpd(8).\n");
    qsort(w.names, desired->count, sizeof(*w.names), text_by_name);
    text_add(&w.text, SLURM_CONF_OUR_NODES);
    for (size_t i = 0; i < desired->count; i++)
        text_printf(&w.text, "%s%s", i > 0 ? " " : "", w.names[i]);
    text_add(&w.text, "\n");
    for (size_t i = 0; present != NULL && i < present->count; i++)
        if (present->lines[i].kind == SLURM_CONF_OTHER)
            text_printf(&w.text, "%s\n", present->lines[i].text);
    write_ours(&w);
    for (size_t i = 0; present != NULL && i < present->count; i++)
        if (present->lines[i].kind == SLURM_CONF_NODE)
            keep_nodes(&w, &present->lines[i]);
    if (map_count(w.defined) == 0)
        text_add(&w.text, "NodeName=" SLURM_CONF_NOBODY " State=FUTURE\n");
    write_partitions(&w);
    id_sha256_hex(text_get(&w.text), w.text.len, digest);
    char *whole = own_printf(SLURM_CONF_SIGNED "%s\n%s", digest, text_get(&w.text));
    text_free(&w.text);
    free(w.names);
    map_free(w.wanted);
    map_free(w.defined);
    map_free(w.were);
    return whole;
}
