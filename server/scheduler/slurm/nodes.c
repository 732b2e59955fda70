/* Nodes by scontrol, or by slurmrestd where that can do it. */
#include "server/scheduler/slurm/nodes.h"

#include "base/clock.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"
#include "server/scheduler/slurm/rest.h"
#include "server/scheduler/slurm/rest_read.h"

#include <string.h>

#define NODES_FIRST 64 /* capacity to begin with */

/* --- a snapshot on its way ------------------------------------------------------------------------------------------- */

struct snapshot {
    struct scheduler_node *nodes;
    size_t count, capacity;
    struct text words;
    size_t last[SLURM_WORDS_MAX];
};

/* The words of a node, each kept once for all neighbours that share it. */
static void keep_words(struct snapshot *snapshot, const struct slurm_has *has)
{
    for (int i = 0; i < SLURM_WORDS_MAX; i++) {
        const char *word = has->words[i];
        if (snapshot->words.len > 0 && strcmp(snapshot->words.data + snapshot->last[i], word) == 0)
            continue;
        snapshot->last[i] = snapshot->words.len;
        text_add_bytes(&snapshot->words, word, strlen(word) + 1);
    }
}

static void add_node(struct snapshot *snapshot, const struct slurm_node *node, const struct slurm_has *has)
{
    keep_words(snapshot, has);
    if (snapshot->count == snapshot->capacity) {
        snapshot->capacity = snapshot->capacity == 0 ? NODES_FIRST : 2 * snapshot->capacity;
        snapshot->nodes = own_realloc(snapshot->nodes, snapshot->capacity, sizeof(*snapshot->nodes));
    }
    struct scheduler_node *seen = &snapshot->nodes[snapshot->count++];
    *seen = node->seen;
    seen->cpus = has->cpus;
    seen->cpus_used = has->cpus_used;
    seen->memory_mib = has->memory_mib;
    seen->memory_used_mib = has->memory_used_mib;
    seen->partitions = snapshot->last[0];
    seen->features = snapshot->last[1];
    seen->gres = snapshot->last[2];
    seen->gres_used = snapshot->last[3];
    seen->address = snapshot->words.len;
    text_add_bytes(&snapshot->words, node->address, strlen(node->address) + 1);
    seen->host = snapshot->words.len;
    text_add_bytes(&snapshot->words, node->host, strlen(node->host) + 1);
}

/* --- by scontrol ------------------------------------------------------------------------------------------------------ */

static int see_by_program(struct slurm_call *call, struct snapshot *snapshot)
{
    autofree char *out = NULL;
    int status = slurm_run(call, (const char *[]){call->s->scontrol, "-a", "-d", "-o", "show", "node", NULL}, &out);
    if (status != 0)
        return status;
    char *rest = out;
    for (char *line; (line = slurm_next_line(&rest)) != NULL;) {
        struct slurm_node node;
        struct slurm_has has;
        if (line[0] == '\0' || strcmp(line, "No nodes in the system") == 0)
            continue;
        slurm_parse_has(line, &has);
        if (slurm_parse_node(line, call->s->stamp, &node) != 0)
            return slurm_call_fail(call, STATUS_BACKEND, "scontrol printed a node that cannot be read: %.100s", line);
        add_node(snapshot, &node, &has);
    }
    return 0;
}

static int look_by_program(struct slurm_call *call, const char *name, struct slurm_node *ret_node)
{
    autofree char *out = NULL;
    int status = slurm_run(call, (const char *[]){call->s->scontrol, "-a", "-o", "show", "node", name, NULL}, &out);
    if (status != 0)
        return status;
    char *rest = out, *line = slurm_next_line(&rest);
    if (line == NULL || slurm_parse_node(line, call->s->stamp, ret_node) != 0 || strcmp(ret_node->seen.name, name) != 0)
        return slurm_call_fail(call, STATUS_BACKEND, "scontrol did not show node %s but: %.100s", name,
                               line == NULL ? "nothing" : line);
    return 0;
}

/* "Key=value"; NULL for what stays. Caller frees. */
static char *argument(const char *key, const char *value)
{
    return value == NULL ? NULL : own_printf("%s=%s", key, value);
}

static int update_by_program(struct slurm_call *call, const char *node, const struct slurm_node_change *change)
{
    const char *reason = change->reason;
    /* scontrol takes one pair of double quotes off a reason, so one that has them at its ends gets another */
    bool quoted = reason != NULL && (reason[0] == '"' || text_ends_with(reason, "\""));
    autofree char *in_quotes = quoted ? own_printf("\"%s\"", reason) : NULL;
    autofree char *name = argument("NodeName", node), *state = argument("State", change->state),
                  *address = argument("NodeAddr", change->address), *host = argument("NodeHostName", change->host),
                  *why = argument("Reason", quoted ? in_quotes : reason);
    const char *argv[9] = {call->s->scontrol, "update", name};
    size_t count = 3;
    if (state != NULL)
        argv[count++] = state;
    if (why != NULL)
        argv[count++] = why;
    if (address != NULL)
        argv[count++] = address;
    if (host != NULL)
        argv[count++] = host;
    autofree char *out = NULL;
    return slurm_run(call, argv, &out);
}

/* --- by slurmrestd ------------------------------------------------------------------------------------------------------ */

static int see_by_rest(struct slurm_call *call, struct snapshot *snapshot)
{
    auto_json json_t *reply = NULL;
    int status = slurm_rest_get(call, "nodes", &reply);
    if (status != 0)
        return status;
    const json_t *nodes = json_object_get(reply, "nodes");
    if (!json_is_array(nodes))
        return slurm_call_fail(call, STATUS_BACKEND, "slurmrestd answered without nodes");
    for (size_t i = 0; i < json_array_size(nodes); i++) {
        struct slurm_node node;
        struct slurm_has has;
        const json_t *one = json_array_get(nodes, i);
        if (slurm_json_node(one, &node, &has) != 0)
            return slurm_call_fail(call, STATUS_BACKEND, "slurmrestd shows a node that cannot be read: %.64s",
                                   slurm_json_text(one, "name"));
        add_node(snapshot, &node, &has);
    }
    return 0;
}

static int look_by_rest(struct slurm_call *call, const char *name, struct slurm_node *ret_node)
{
    auto_json json_t *reply = NULL;
    struct slurm_has has;
    autofree char *path = own_printf("node/%s", name);
    int status = slurm_rest_get(call, path, &reply);
    if (status != 0)
        return status;
    if (slurm_json_node(json_array_get(json_object_get(reply, "nodes"), 0), ret_node, &has) != 0 ||
        strcmp(ret_node->seen.name, name) != 0)
        return slurm_call_fail(call, STATUS_BACKEND, "slurmrestd did not show node %s", name);
    return 0;
}

static int update_by_rest(struct slurm_call *call, const char *node, const struct slurm_node_change *change)
{
    autofree char *path = own_printf("node/%s", node);
    auto_json json_t *body = json_object();
    if (change->state != NULL)
        json_put(body, "state", json_pack("[s]", change->state));
    json_put_text(body, "reason", change->reason);
    if (change->address != NULL)
        json_put(body, "address", json_pack("[s]", change->address));
    if (change->host != NULL)
        json_put(body, "hostname", json_pack("[s]", change->host));
    return slurm_rest_change(call, path, body);
}

/* --- either ---------------------------------------------------------------------------------------------------------------- */

int slurm_observe(struct scheduler *s, struct scheduler_observation *ret_observation, char *ret_error)
{
    struct slurm_call call;
    struct snapshot snapshot = {0};
    slurm_call_start(&call, s, ret_error);
    int64_t at_ms = clock_wall_ms(clock_system());
    text_add_bytes(&snapshot.words, "", 1);
    int status = s->rest != NULL ? see_by_rest(&call, &snapshot) : see_by_program(&call, &snapshot);
    if (status != 0) {
        free(snapshot.nodes);
        text_free(&snapshot.words);
        return status;
    }
    *ret_observation = (struct scheduler_observation){
        .at_ms = at_ms, .nodes = snapshot.nodes, .count = snapshot.count, .words = text_take(&snapshot.words)};
    return 0;
}

int slurm_look(struct slurm_call *call, const char *name, struct slurm_node *ret_node)
{
    if (!slurm_is_node_name(name))
        return slurm_call_fail(call, STATUS_INVALID, "not a node name: %.64s", name);
    return call->s->rest != NULL ? look_by_rest(call, name, ret_node) : look_by_program(call, name, ret_node);
}

int slurm_update_node(struct slurm_call *call, const char *node, const struct slurm_node_change *change)
{
    return slurm_rest_can(call, SLURM_REST_UPDATES_NODES) ? update_by_rest(call, node, change)
                                                          : update_by_program(call, node, change);
}
