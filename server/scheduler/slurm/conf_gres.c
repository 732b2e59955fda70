/*
 * gres.conf and topology.conf, whole: nothing in them is anybody else's. GPUs are counted as the instance type says, and are
 * devices by number (Slurm takes no GPU without one); the switches are a tree of one level below a root, so that jobs keep behind one switch if they can.
 * A topology that does not know all nodes is none: Slurm refuses jobs on nodes that its tree does not have.
 */
#include "server/scheduler/slurm/conf.h"

#include "base/map.h"
#include "base/own.h"
#include "base/text.h"
#include "server/scheduler/slurm/conf_private.h"

#include <stdlib.h>
#include <string.h>

#define ROOT_SWITCH "holdfast-root"
#define GPUS_MAX 1024
#define WRITTEN "# Written by Holdfast, whole; edits go.\n"

AUTO_DEFINE(struct map *, map, map_free)

/* Which nodes share a text: of switches, the switch; of hardware, the instance type. */
static char *list_of(const struct scheduler_desired *desired, const char *text, bool by_leaf)
{
    char **names = own_calloc(desired->count + 1, sizeof(*names));
    size_t count = 0;
    for (size_t i = 0; i < desired->count; i++)
        if (text_equal(by_leaf ? desired->nodes[i].leaf : desired->nodes[i].instance_type, text))
            names[count++] = desired->nodes[i].name;
    char *list = text_hostlist_compress(names, count);
    free(names);
    return list;
}

/* "Gres=gpu:h100:8" or "Gres=gpu:8" among the words; other devices are the site's own gres.conf's to say. */
static void add_gpus(struct text *text, const char *hardware, const char *nodes, const char *device)
{
    size_t len;
    for (const char *word = hardware; (word = slurm_conf_word(word, &len)) != NULL; word += len) {
        autofree char *value = own_printf("%.*s", (int)len, word);
        int64_t gpus;
        if (!slurm_conf_key_is(value, len, "Gres") || !text_starts_with(value + strlen("Gres="), "gpu:"))
            continue;
        char *type = value + strlen("Gres=gpu:"), *count = strchr(type, ':');
        if (text_parse_i64(count == NULL ? type : count + 1, 1, GPUS_MAX, &gpus) != 0)
            continue;
        text_printf(text, "NodeName=%s Name=gpu ", nodes);
        if (count != NULL)
            text_printf(text, "Type=%.*s ", (int)(count - type), type);
        if (gpus == 1)
            text_printf(text, "File=%s0\n", device);
        else
            text_printf(text, "File=%s[0-%lld]\n", device, (long long)gpus - 1);
    }
}

char *slurm_conf_gres(const struct scheduler_desired *desired, const struct slurm_conf_site *site)
{
    AUTO(text) struct text text = {0};
    for (size_t i = 0; i < site->type_count; i++) {
        autofree char *nodes = list_of(desired, site->types[i].name, false);
        if (nodes[0] != '\0')
            add_gpus(&text, site->types[i].hardware, nodes, site->gpu_device);
    }
    return text.len == 0 ? own_strdup("") : own_printf(WRITTEN "%s", text_get(&text));
}

static int by_text(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static bool has_others(const struct scheduler_desired *desired, const struct slurm_conf *present)
{
    AUTO(map) struct map *ours = map_new();
    for (size_t i = 0; i < desired->count; i++)
        map_set(ours, desired->nodes[i].name, &desired->nodes[i]);
    for (size_t i = 0; i < present->node_count; i++) /* or that were: they go */
        map_set(ours, present->nodes[i], ours);
    for (size_t i = 0; i < present->count; i++)
        for (size_t k = 0; present->lines[i].kind == SLURM_CONF_NODE && k < present->lines[i].name_count; k++)
            if (map_get(ours, present->lines[i].names[k]) == NULL &&
                !text_equal(present->lines[i].names[k], SLURM_CONF_NOBODY))
                return true;
    return false;
}

char *slurm_conf_topology(const struct scheduler_desired *desired, const struct slurm_conf *present)
{
    if (present != NULL && has_others(desired, present))
        return own_strdup("");
    AUTO(text) struct text text = {0};
    autofree const char **leaves = own_calloc(desired->count + 1, sizeof(*leaves));
    size_t count = 0;
    for (size_t i = 0; i < desired->count; i++) {
        if (!slurm_conf_is_partition(desired->nodes[i].leaf)) /* not known, or no word that Slurm takes */
            return own_strdup("");
        leaves[i] = desired->nodes[i].leaf;
    }
    qsort(leaves, desired->count, sizeof(*leaves), by_text);
    AUTO(text) struct text switches = {0};
    for (size_t i = 0; i < desired->count; i++) {
        if (i > 0 && text_equal(leaves[i - 1], leaves[i]))
            continue;
        autofree char *nodes = list_of(desired, leaves[i], true);
        text_printf(&text, "SwitchName=%s Nodes=%s\n", leaves[i], nodes);
        text_printf(&switches, "%s%s", count++ > 0 ? "," : "", leaves[i]);
    }
    if (count == 0)
        return own_strdup("");
    if (count > 1)
        text_printf(&text, "SwitchName=" ROOT_SWITCH " Switches=%s\n", text_get(&switches));
    return own_printf(WRITTEN "%s", text_get(&text));
}
