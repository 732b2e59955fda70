/*
 * Metrics of nodes, partitions, CPUs and GPUs, out of the observation that the loop makes anyway: Slurm is not asked for them.
 *
 * Sums are as sinfo's: what a job has not of a node that is drained or down is "other", and so are the GPUs of nodes in any
 * state but idle, mixed and allocated. A node of several partitions counts in each, and once in what is of the whole cluster.
 */
#include "server/scheduler/slurm/metrics.h"

#include "base/status.h"
#include "server/scheduler/slurm/parse.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* --- states ------------------------------------------------------------------------------------------------------- */

static bool has(const char *state, const char *word)
{
    size_t len = strlen(word);
    for (const char *at = state; *at != '\0';) {
        size_t part = strcspn(at, "+*~#%!$@^-");
        if (part == len && strncasecmp(at, word, len) == 0)
            return true;
        at += part;
        at += strspn(at, "+*~#%!$@^-");
    }
    return false;
}

static bool has_any(const char *state, const char *const words[])
{
    for (; *words != NULL; words++)
        if (has(state, *words))
            return true;
    return false;
}

/* The one character that says most, in the order in which Slurm looks for them. */
static const char *suffix_of(const char *state)
{
    static const struct {
        const char *words[3], *suffix;
    } suffixes[] = {
        {{"MAINT", "MAINTENANCE", NULL}, "$"},
        {{"REBOOT_ISSUED", NULL}, "^"},
        {{"REBOOT_REQUESTED", "REBOOT", NULL}, "@"},
        {{"POWERING_UP", NULL}, "#"},
        {{"POWERING_DOWN", NULL}, "%"},
        {{"POWERED_DOWN", "POWER", NULL}, "~"},
        {{"POWER_DOWN", "POWER_DRAIN", NULL}, "!"},
        {{"NOT_RESPONDING", "NO_RESPOND", NULL}, "*"},
    };
    for (size_t i = 0; i < ARRAY_LEN(suffixes); i++)
        if (has_any(state, suffixes[i].words))
            return suffixes[i].suffix;
    return strchr(state, '*') != NULL ? "*" : "";
}

void slurm_state_label(const char *state, char ret_label[SCHEDULER_STATE_TEXT_MAX])
{
    static const char *const full[] = {"ALLOCATED", "COMPLETING", "DRAINING", "FAILING", NULL};
    static const char *const drain[] = {"DRAIN", "DRAINING", "DRAINED", NULL}, *const fail[] = {"FAIL", "FAILING",
                                                                                                NULL};
    static const char *const maint[] = {"MAINT", "MAINTENANCE", NULL}, *const inval[] = {"INVAL", "INVALID_REG", NULL};
    bool down = has(state, "DOWN"), busy = has_any(state, full), partly = has(state, "MIXED");
    char base[SCHEDULER_STATE_TEXT_MAX];
    text_copy_bytes(base, sizeof(base), state, strcspn(state, "+*~#%!$@^-"));
    const char *word = base, *suffix = suffix_of(state);
    if (has_any(state, drain))
        word = busy || partly ? "draining" : "drained";
    else if (has_any(state, fail))
        word = busy ? "failing" : "fail"; /* where work is on a part of it, Slurm says "fail" */
    else if (has_any(state, maint) && !busy && !partly && !down)
        word = "maint", suffix = has(state, "NOT_RESPONDING") ? "*" : "";
    else if (has_any(state, inval))
        word = "inval";
    else if (has(state, "COMPLETING") && !down)
        word = "completing";
    else if (strcmp(base, "IDLE") == 0 && has(state, "RESERVED") && suffix[0] == '\0')
        word = "reserved";
    else if (strcmp(base, "IDLE") == 0 && has(state, "PLANNED") && suffix[0] == '\0')
        word = "planned";
    snprintf(ret_label, SCHEDULER_STATE_TEXT_MAX, "%.80s%s", word, suffix);
    for (char *c = ret_label; *c != '\0'; c++)
        *c = (char)tolower((unsigned char)*c);
}

/* --- generic resources -------------------------------------------------------------------------------------------- */

/* "gpu:a100:4(S:0-1)": type "gpu:a100" and 4. A kind that is "(null)" is none. */
static bool read_gres(const char *token, size_t len, char ret_type[NAME_MAX_BYTES], int64_t *ret_count)
{
    char word[2 * NAME_MAX_BYTES];
    const char *suffix = memrchr(token, '(', len);
    if (suffix != NULL && len > 0 && token[len - 1] == ')')
        len = (size_t)(suffix - token);
    if (text_copy_bytes(word, sizeof(word), token, len) != 0)
        return false;
    char *colon = strrchr(word, ':');
    if (colon == NULL || colon == word || text_parse_i64(colon + 1, 0, INT32_MAX, ret_count) != 0)
        return false;
    *colon = '\0';
    if (text_ends_with(word, ":(null)"))
        word[strlen(word) - strlen(":(null)")] = '\0';
    return word[0] != '\0' && strpbrk(word, "()") == NULL && text_copy(ret_type, NAME_MAX_BYTES, word) == 0;
}

bool slurm_gres_next(const char **at, char ret_type[NAME_MAX_BYTES], int64_t *ret_count)
{
    while (**at != '\0') {
        const char *token = *at;
        int depth = 0; /* commas of "(IDX:0,3)" divide nothing */
        size_t len = 0;
        for (; token[len] != '\0' && (token[len] != ',' || depth > 0); len++)
            depth += token[len] == '(' ? 1 : token[len] == ')' && depth > 0 ? -1 : 0;
        *at = token + len + (token[len] == ',');
        if (read_gres(token, len, ret_type, ret_count))
            return true;
    }
    return false;
}

static double gpus_of(const char *gres)
{
    char type[NAME_MAX_BYTES];
    int64_t count;
    double sum = 0;
    while (slurm_gres_next(&gres, type, &count))
        if (strcmp(type, "gpu") == 0 || text_starts_with(type, "gpu:"))
            sum += (double)count;
    return sum;
}

/* --- one node ----------------------------------------------------------------------------------------------------- */

struct sums {
    double cpus[4]; /* allocated, idle, other, total */
    double gpus[4];
};

static struct sums sums_of(const struct scheduler_observation *seen, const struct scheduler_node *node)
{
    unsigned state = slurm_state_parse(node->state);
    char label[SCHEDULER_STATE_TEXT_MAX];
    slurm_state_label(node->state, label);
    bool out = (state & (SLURM_STATE_DRAIN | SLURM_STATE_DOWN)) != 0;
    bool takes =
        text_starts_with(label, "idle") || text_starts_with(label, "mixed") || text_starts_with(label, "allocated");
    double left = node->cpus > node->cpus_used ? (double)(node->cpus - node->cpus_used) : 0;
    double gpus = gpus_of(scheduler_word(seen, node->gres)), used = gpus_of(scheduler_word(seen, node->gres_used));
    return (struct sums){
        .cpus = {(double)node->cpus_used, out ? 0 : left, out ? left : 0, (double)node->cpus},
        .gpus = {takes ? used : 0, takes && gpus > used ? gpus - used : 0, takes ? 0 : gpus, gpus},
    };
}

static void add_four(struct slurm_metrics *metrics, enum slurm_metric first, const char *labels, const double values[4])
{
    for (int i = 0; i < 4; i++)
        slurm_metrics_add(metrics, first + (unsigned)i, labels, values[i]);
}

static void node_gres(struct slurm_metrics *metrics, enum slurm_metric metric, const char *labels, const char *gres)
{
    char type[NAME_MAX_BYTES];
    int64_t count;
    while (slurm_gres_next(&gres, type, &count)) {
        AUTO(text) struct text more = {0};
        text_add(&more, labels);
        slurm_label(&more, "gres_type", type);
        slurm_metrics_add(metrics, metric, text_get(&more), (double)count);
    }
}

static void one_node(struct slurm_metrics *metrics, const struct scheduler_observation *seen,
                     const struct scheduler_node *node, const char *partition, const struct sums *sums)
{
    AUTO(text) struct text labels = {0};
    char state[SCHEDULER_STATE_TEXT_MAX];
    slurm_state_label(node->state, state);
    slurm_label(&labels, "node", node->name);
    slurm_label(&labels, "status", state);
    slurm_label(&labels, "partition", partition);
    for (int i = 0; i < 4; i++)
        slurm_metrics_set(metrics, SLURM_METRIC_NODE_CPU_ALLOC + (unsigned)i, text_get(&labels), sums->cpus[i]);
    slurm_metrics_set(metrics, SLURM_METRIC_NODE_MEM_ALLOC, text_get(&labels), (double)node->memory_used_mib);
    slurm_metrics_set(metrics, SLURM_METRIC_NODE_MEM_TOTAL, text_get(&labels), (double)node->memory_mib);
    slurm_metrics_set(metrics, SLURM_METRIC_NODE_STATUS, text_get(&labels), 1);
    node_gres(metrics, SLURM_METRIC_NODE_GRES_TOTAL, text_get(&labels), scheduler_word(seen, node->gres));
    node_gres(metrics, SLURM_METRIC_NODE_GRES_USED, text_get(&labels), scheduler_word(seen, node->gres_used));
}

/* --- counts of nodes ---------------------------------------------------------------------------------------------- */

/* "b,a" is the same set as "a,b". */
static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void sort_features(const char *features, struct text *ret_sorted)
{
    autofree char *copy = own_strdup(features);
    size_t count = 0;
    autofree char **words = own_calloc(strlen(features) / 2 + 1, sizeof(*words)); /* one of each two bytes at most */
    for (char *save = NULL, *word = strtok_r(copy, ",", &save); word != NULL; word = strtok_r(NULL, ",", &save))
        words[count++] = word;
    qsort(words, count, sizeof(words[0]), by_text);
    for (size_t i = 0; i < count; i++)
        text_printf(ret_sorted, "%s%s", i == 0 ? "" : ",", words[i]);
    if (count == 0)
        text_add(ret_sorted, "null");
}

static enum slurm_metric count_of(const char *label)
{
    static const char *const beginnings[] = {"alloc", "comp",  "down",  "drain", "fail", "err",
                                             "idle",  "inval", "maint", "mix",   "res",  "planned"};
    for (size_t i = 0; i < ARRAY_LEN(beginnings); i++)
        if (text_starts_with(label, beginnings[i]))
            return SLURM_METRIC_NODES_ALLOC + (unsigned)i;
    return SLURM_METRIC_NODES_OTHER;
}

static void count_node(struct slurm_metrics *metrics, const char *features, const char *partition, const char *state)
{
    AUTO(text) struct text labels = {0};
    slurm_label(&labels, "partition", partition);
    slurm_label(&labels, "active_feature_set", features);
    for (unsigned i = SLURM_METRIC_NODES_ALLOC; i <= SLURM_METRIC_NODES_OTHER; i++)
        slurm_metrics_add(metrics, i, text_get(&labels), i == count_of(state));
}

static void in_partition(struct slurm_metrics *metrics, const char *partition, const struct sums *sums)
{
    AUTO(text) struct text labels = {0};
    slurm_label(&labels, "partition", partition);
    add_four(metrics, SLURM_METRIC_PARTITION_CPUS_ALLOCATED, text_get(&labels), sums->cpus);
    slurm_metrics_add(metrics, SLURM_METRIC_PARTITION_GPUS_ALLOCATED, text_get(&labels), sums->gpus[0]);
    slurm_metrics_add(metrics, SLURM_METRIC_PARTITION_GPUS_IDLE, text_get(&labels), sums->gpus[1]);
}

/* Whose text it is does not matter; a reason that a node in service still carries is over. */
static void drain_reason(struct slurm_metrics *metrics, const struct scheduler_node *node)
{
    if (node->reason[0] == '\0' || (slurm_state_parse(node->state) & SLURM_STATE_HELD) == 0)
        return;
    AUTO(text) struct text labels = {0};
    slurm_label(&labels, "node", node->name);
    slurm_label(&labels, "reason", node->reason);
    slurm_metrics_set(metrics, SLURM_METRIC_NODE_DRAIN_REASON, text_get(&labels), 1);
}

static void see(struct slurm_metrics *metrics, const struct scheduler_observation *seen,
                const struct scheduler_node *node)
{
    struct sums sums = sums_of(seen, node);
    char state[SCHEDULER_STATE_TEXT_MAX];
    AUTO(text) struct text features = {0};
    slurm_state_label(node->state, state);
    sort_features(scheduler_word(seen, node->features), &features);
    add_four(metrics, SLURM_METRIC_CPUS_ALLOC, "", sums.cpus);
    add_four(metrics, SLURM_METRIC_GPUS_ALLOC, "", sums.gpus);
    slurm_metrics_add(metrics, SLURM_METRIC_NODES_TOTAL, "", 1);
    autofree char *partitions = own_strdup(scheduler_word(seen, node->partitions));
    for (char *save = NULL, *partition = strtok_r(partitions, ",", &save); partition != NULL;
         partition = strtok_r(NULL, ",", &save)) {
        one_node(metrics, seen, node, partition, &sums);
        count_node(metrics, text_get(&features), partition, state);
        in_partition(metrics, partition, &sums);
    }
}

void slurm_metrics_nodes(struct slurm_metrics *metrics, const struct scheduler_observation *seen)
{
    static const enum slurm_collector collectors[] = {SLURM_COLLECTOR_CPUS,       SLURM_COLLECTOR_GPUS,
                                                      SLURM_COLLECTOR_NODE,       SLURM_COLLECTOR_NODES,
                                                      SLURM_COLLECTOR_PARTITIONS, SLURM_COLLECTOR_DRAIN_REASON};
    static const double none[4];
    double gpus = 0, used = 0;
    for (size_t i = 0; i < ARRAY_LEN(collectors); i++)
        slurm_metrics_outcome(metrics, collectors[i], true);
    add_four(metrics, SLURM_METRIC_CPUS_ALLOC, "", none);
    add_four(metrics, SLURM_METRIC_GPUS_ALLOC, "", none);
    slurm_metrics_add(metrics, SLURM_METRIC_NODES_TOTAL, "", 0);
    for (size_t i = 0; i < seen->count; i++) {
        struct sums sums = sums_of(seen, &seen->nodes[i]);
        gpus += sums.gpus[3];
        used += sums.gpus[0];
        see(metrics, seen, &seen->nodes[i]);
        drain_reason(metrics, &seen->nodes[i]);
    }
    slurm_metrics_set(metrics, SLURM_METRIC_GPUS_UTILIZATION, "", gpus > 0 ? used / gpus : 0);
}
