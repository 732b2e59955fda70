/*
 * Drift: how a file that somebody edited differs from what is wanted, in the messages that HyperPod has for it. The first that is
 * found is said, the worst kind first: a partition that nobody asked for; a node that is in another partition than its group's, or in
 * several; nodes that are missing, or too many. "dev" has every node and says nothing. What else a line says is compared with what was
 * written last.
 */
#include "server/scheduler/slurm/conf.h"

#include "base/map.h"
#include "base/own.h"
#include "base/text.h"
#include "server/scheduler/slurm/conf_private.h"

#include <stdio.h>
#include <string.h>

#define UNDEFINED "Partition configuration drift detected."
#define MISMATCH "Partition configuration mismatch detected."
#define OTHER "Configuration drift detected."

AUTO_DEFINE(struct map *, map, map_free)

__attribute__((format(printf, 2, 3))) static bool say(char *said, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    autofree char *sentence = own_vprintf(fmt, ap);
    va_end(ap);
    text_copy_cut(said, DESIRED_SAID_MAX, sentence);
    return true;
}

static bool is_wanted_partition(const struct scheduler_desired *desired, const char *name)
{
    if (text_equal(name, SLURM_PARTITION_ALL))
        return true;
    for (size_t i = 0; i < desired->count; i++)
        if (text_equal(desired->nodes[i].partition, name))
            return true;
    return false;
}

static bool undefined(const struct scheduler_desired *desired, const struct slurm_conf *present, char *said)
{
    for (size_t i = 0; i < present->count; i++) {
        const struct slurm_conf_line *line = &present->lines[i];
        if (line->kind == SLURM_CONF_PARTITION && !is_wanted_partition(desired, line->partition))
            return say(said, UNDEFINED " No group's SlurmConfig has the partition %s", line->partition);
    }
    return false;
}

static bool mismatch(struct map *wanted, const struct slurm_conf *present, char *said)
{
    AUTO(map) struct map *in = map_new();
    for (size_t i = 0; i < present->count; i++) {
        const struct slurm_conf_line *line = &present->lines[i];
        if (line->kind != SLURM_CONF_PARTITION || text_equal(line->partition, SLURM_PARTITION_ALL))
            continue;
        for (size_t k = 0; k < line->name_count; k++) {
            const struct desired_node *node = map_get(wanted, line->names[k]);
            const char *other = map_set(in, line->names[k], line->partition);
            if (node == NULL)
                continue;
            if (other != NULL && !text_equal(other, line->partition))
                return say(said, MISMATCH " The node %s is in the partitions %s and %s", node->name, other,
                           line->partition);
            if (!text_equal(node->partition, line->partition))
                return say(said, MISMATCH " The node %s is in the partition %s and belongs in %s", node->name,
                           line->partition, node->partition[0] == '\0' ? SLURM_PARTITION_ALL : node->partition);
        }
    }
    return false;
}

static bool nodes(const struct scheduler_desired *desired, struct map *wanted, const struct slurm_conf *present,
                  char *said)
{
    AUTO(map) struct map *there = map_new();
    for (size_t i = 0; i < present->count; i++) {
        const struct slurm_conf_line *line = &present->lines[i];
        for (size_t k = 0; line->kind == SLURM_CONF_NODE && k < line->name_count; k++) {
            if (text_equal(line->names[k], SLURM_CONF_NOBODY))
                continue;
            if (map_get(wanted, line->names[k]) == NULL)
                return say(said, OTHER " The node %s is none of Holdfast's", line->names[k]);
            map_set(there, line->names[k], line->names[k]);
        }
    }
    for (size_t i = 0; i < desired->count; i++)
        if (map_get(there, desired->nodes[i].name) == NULL)
            return say(said, OTHER " The node %s is missing", desired->nodes[i].name);
    return false;
}

bool slurm_conf_drift(const struct scheduler_desired *desired, const struct slurm_conf *present,
                      char ret_said[DESIRED_SAID_MAX])
{
    AUTO(map) struct map *wanted = map_new();
    for (size_t i = 0; i < desired->count; i++)
        map_set(wanted, desired->nodes[i].name, &desired->nodes[i]);
    return undefined(desired, present, ret_said) || mismatch(wanted, present, ret_said) ||
           nodes(desired, wanted, present, ret_said);
}

/* --- words -------------------------------------------------------------------------------------- */

/* The word of the same key; NULL: there is none. */
static const char *same_key(const char *words, const char *word, size_t len, size_t *ret_len)
{
    const char *equals = memchr(word, '=', len);
    autofree char *key = own_printf("%.*s", (int)(equals == NULL ? len : (size_t)(equals - word)), word);
    for (const char *at = words; (at = slurm_conf_word(at, ret_len)) != NULL; at += *ret_len)
        if (slurm_conf_key_is(at, *ret_len, key))
            return at;
    return NULL;
}

static bool edited_words(const char *what, const char *name, const char *was, const char *now, char *said)
{
    size_t len, other_len;
    for (const char *word = now; (word = slurm_conf_word(word, &len)) != NULL; word += len) {
        const char *other = same_key(was, word, len, &other_len);
        if (other == NULL)
            return say(said, "the %s %s has %.*s, which was not written", what, name, (int)len, word);
        if (other_len != len || memcmp(other, word, len) != 0)
            return say(said, "the %s %s has %.*s and was written with %.*s", what, name, (int)len, word, (int)other_len,
                       other);
    }
    for (const char *word = was; (word = slurm_conf_word(word, &len)) != NULL; word += len)
        if (same_key(now, word, len, &other_len) == NULL)
            return say(said, "the %s %s was written with %.*s and has it no more", what, name, (int)len, word);
    return false;
}

/* NULL: a line that is about several, or about none. */
static const char *subject(const struct slurm_conf_line *line)
{
    if (line->kind == SLURM_CONF_PARTITION)
        return line->partition;
    return line->kind == SLURM_CONF_NODE && line->name_count == 1 ? line->names[0] : NULL;
}

bool slurm_conf_edited(const struct slurm_conf *was, const struct slurm_conf *present, char ret_said[DESIRED_SAID_MAX])
{
    AUTO(map) struct map *nodes = map_new();
    AUTO(map) struct map *partitions = map_new();
    for (size_t i = 0; i < was->count; i++)
        if (subject(&was->lines[i]) != NULL)
            map_set(was->lines[i].kind == SLURM_CONF_NODE ? nodes : partitions, subject(&was->lines[i]),
                    was->lines[i].rest);
    for (size_t i = 0; i < present->count; i++) {
        const struct slurm_conf_line *line = &present->lines[i];
        bool node = line->kind == SLURM_CONF_NODE;
        const char *name = subject(line), *words = name == NULL ? NULL : map_get(node ? nodes : partitions, name);
        if (words != NULL && edited_words(node ? "node" : "partition", name, words, line->rest, ret_said))
            return true;
    }
    return false;
}
