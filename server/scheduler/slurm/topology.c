/*
 * "scontrol -o show topology" prints a line for each switch of a tree and each block of blocks:
 *   SwitchName=s0 Level=0 LinkSpeed=1 Nodes=gpu-[1-3]
 *   SwitchName=s2 Level=1 LinkSpeed=1 Nodes=gpu-[1-5] Switches=s[0-1]
 *   BlockName=b1 BlockIndex=0 Nodes=gpu-[1-18] BlockSize=18
 * Only switches that nodes hang on are taken; those above them share more, but a node is behind each of them. HyperPod makes a
 * block of each UltraServer. A cluster without a topology (flat) is told so on stderr, which is no failure.
 */
#include "server/scheduler/slurm/topology.h"

#include "base/own.h"
#include "base/status.h"
#include "base/text.h"
#include "server/scheduler/slurm/command.h"
#include "server/scheduler/slurm/parse.h"

#include <string.h>

/* The word behind a key of the line; "" when it is not there, NULL when it is too long for size. */
static const char *word_of(const char *line, const char *key, char *dst, size_t size)
{
    const char *at = strstr(line, key);
    dst[0] = '\0';
    if (at == NULL)
        return dst;
    at += strlen(key);
    return text_copy_bytes(dst, size, at, strcspn(at, " ")) == 0 ? dst : NULL;
}

int slurm_parse_places(const char *line, struct scheduler_place **places, size_t *count)
{
    static const char tree[] = "SwitchName=", block[] = "BlockName=";
    char domain[TOPOLOGY_NAME_MAX_BYTES], level[16];
    bool is_switch = text_starts_with(line, tree);
    if (!is_switch && !text_starts_with(line, block))
        return text_starts_with(line, "AggregatedBlock=") || line[0] == '\0' ? 0 : STATUS_BACKEND;
    const char *name = word_of(line, is_switch ? tree : block, domain, sizeof(domain));
    if (name == NULL || !slurm_is_node_name(name) || word_of(line, " Level=", level, sizeof(level)) == NULL)
        return STATUS_BACKEND;
    if (is_switch && !text_equal(level, "0"))
        return 0;
    size_t list_max = strlen(line) + 1, node_count = 0;
    autofree char *list = own_calloc(list_max, 1);
    char **nodes = NULL;
    if (word_of(line, " Nodes=", list, list_max)[0] == '\0' || text_equal(list, "(null)"))
        return 0;
    if (text_hostlist_expand(list, SLURM_PLACES_MAX - *count, &nodes, &node_count) != 0)
        return STATUS_BACKEND;
    *places = own_realloc(*places, *count + node_count + 1, sizeof(**places));
    for (size_t i = 0; i < node_count; i++) {
        if (!slurm_is_node_name(nodes[i]))
            continue;
        struct scheduler_place *place = &(*places)[(*count)++];
        *place = (struct scheduler_place){.level = is_switch ? TOPOLOGY_LEVEL_SWITCH : TOPOLOGY_LEVEL_ULTRASERVER};
        text_copy_cut(place->node, sizeof(place->node), nodes[i]);
        text_copy_cut(place->domain, sizeof(place->domain), name);
    }
    text_list_free(nodes, node_count);
    return 0;
}

int slurm_places(struct scheduler *s, struct scheduler_place **ret_places, size_t *ret_count, char *ret_error)
{
    struct slurm_call call;
    slurm_call_start(&call, s, ret_error);
    autofree char *out = NULL;
    autofree struct scheduler_place *places = NULL;
    size_t count = 0;
    int status = slurm_run(&call, (const char *[]){s->scontrol, "-o", "show", "topology", NULL}, &out);
    if (status != 0 && strstr(ret_error, "No topology information") == NULL)
        return status;
    char *rest = out;
    for (char *line; (line = slurm_next_line(&rest)) != NULL;)
        if (slurm_parse_places(line, &places, &count) != 0)
            return slurm_call_fail(&call, STATUS_BACKEND, "scontrol printed a topology that cannot be read: %.100s",
                                   line);
    *ret_places = TAKE(places);
    *ret_count = count;
    return 0;
}
