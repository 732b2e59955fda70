/*
 * Quarantining nodes while they are tested: in the reservation, the partition and with the feature that HyperPod uses
 * (its guide: "hyperpod-deep-health-check", "hyperpod-system-maintenance", "SageMakerDeepHealthCheck:InProgress").
 *
 * The drain of the operation's mark keeps work away; these say to people, and to scripts that were written for HyperPod, why. All
 * nodes are done in one call, since Slurm takes lists of nodes only as a whole (22.05 refuses "Nodes+=").
 *
 * Nothing that was there before is touched: not a reservation of that name which is not ours, not the other nodes of the
 * partition, not other features; and what somebody adds meanwhile stays. slurmctld forgets partitions and features that
 * were made by command when it starts anew, so this is asked for again from time to time.
 */
#include "server/scheduler/slurm/quarantine.h"

#include "base/own.h"
#include "base/status.h"
#include "base/text.h"
#include "server/scheduler/slurm/parse.h"

#include <string.h>

struct names {
    char **items;
    size_t count;
};

/* What is there. */
struct there {
    bool has_reservation, has_partition;
    char since[SCHEDULER_QUARANTINE_MARK_MAX]; /* the reservation's StartTime */
    struct names reservation, partition;
    struct slurm_features *nodes;
    size_t node_count;
};

struct setting {
    struct slurm_call *call;
    struct scheduler_quarantine *request;
    struct there *there;
    bool changed;
    char reservation_why[SCHEDULER_ERROR_MAX], partition_why[SCHEDULER_ERROR_MAX], feature_why[SCHEDULER_ERROR_MAX];
};

/* --- reading ------------------------------------------------------------------------------------------------------ */

static bool word_of(const char *line, const char *key, char *dst, size_t size)
{
    const char *at = strstr(line, key);
    if (at == NULL)
        return false;
    at += strlen(key);
    return text_copy_bytes(dst, size, at, strcspn(at, " \n")) == 0;
}

int slurm_parse_members(const char *line, char ***ret_names, size_t *ret_count)
{
    const char *at = strstr(line, " Nodes=");
    if (at == NULL)
        return STATUS_BACKEND;
    at += strlen(" Nodes=");
    size_t len = strcspn(at, " \n");
    *ret_names = NULL;
    *ret_count = 0;
    if (len == 0 || (len == 6 && memcmp(at, "(null)", len) == 0))
        return 0;
    autofree char *list = own_printf("%.*s", (int)len, at);
    int status = text_hostlist_expand(list, SLURM_QUARANTINE_NODES_MAX, ret_names, ret_count);
    if (status != 0)
        return STATUS_BACKEND;
    for (size_t i = 0; i < *ret_count; i++)
        if (!slurm_is_node_name((*ret_names)[i])) {
            text_list_free(TAKE(*ret_names), *ret_count);
            *ret_count = 0;
            return STATUS_BACKEND;
        }
    return 0;
}

/* Slurm keeps the characters of features to itself; what could be taken for more than a list is refused. */
static bool is_feature_list(const char *list)
{
    for (const char *c = list; *c != '\0'; c++)
        if (*c <= ' ' || *c == '"' || *c == '\'' || *c == '\\' || *c == '=' || (unsigned char)*c >= 0x7f)
            return false;
    return true;
}

int slurm_parse_features(const char *line, struct slurm_features *ret_features)
{
    struct slurm_features features = {0};
    if (!text_starts_with(line, "NodeName=") || !word_of(line, "NodeName=", features.name, sizeof(features.name)) ||
        !slurm_is_node_name(features.name) ||
        !word_of(line, " AvailableFeatures=", features.available, sizeof(features.available)) ||
        !word_of(line, " ActiveFeatures=", features.active, sizeof(features.active)))
        return STATUS_BACKEND;
    if (strcmp(features.available, "(null)") == 0)
        features.available[0] = '\0';
    if (strcmp(features.active, "(null)") == 0)
        features.active[0] = '\0';
    if (!is_feature_list(features.available) || !is_feature_list(features.active))
        return STATUS_BACKEND;
    *ret_features = features;
    return 0;
}

char *slurm_list_without(const char *list, const char *word)
{
    struct text rest AUTO(text) = {0};
    for (const char *at = list; *at != '\0'; at += *at == ',') {
        size_t len = strcspn(at, ",");
        if (len > 0 && (len != strlen(word) || memcmp(at, word, len) != 0)) {
            text_add(&rest, rest.len > 0 ? "," : "");
            text_add_bytes(&rest, at, len);
        }
        at += len;
    }
    return text_take(&rest);
}

static void there_free(struct there *there)
{
    text_list_free(TAKE(there->reservation.items), there->reservation.count);
    text_list_free(TAKE(there->partition.items), there->partition.count);
    free(TAKE(there->nodes));
    *there = (struct there){0};
}

/* One reservation or partition by its name; *ret_has: there is one. */
static int look_at(struct slurm_call *call, const char *what, const char *name, bool *ret_has, struct names *ret_names,
                   char ret_since[SCHEDULER_QUARANTINE_MARK_MAX])
{
    autofree char *out = NULL;
    ret_since[0] = '\0';
    int status = slurm_run(call, (const char *[]){call->s->scontrol, "-a", "-o", "show", what, name, NULL}, &out);
    *ret_has = status == 0;
    if (status == STATUS_NOT_FOUND)
        return 0;
    if (status != 0)
        return status;
    if (slurm_parse_members(out, &ret_names->items, &ret_names->count) != 0)
        return slurm_call_fail(call, STATUS_BACKEND, "scontrol printed a %s that cannot be read: %.100s", what, out);
    if (!word_of(out, " StartTime=", ret_since, SCHEDULER_QUARANTINE_MARK_MAX))
        ret_since[0] = '\0'; /* partitions have none */
    return 0;
}

static int look_at_nodes(struct slurm_call *call, struct there *there)
{
    autofree char *out = NULL;
    int status = slurm_run(call, (const char *[]){call->s->scontrol, "-a", "-o", "show", "node", NULL}, &out);
    if (status != 0)
        return status;
    size_t capacity = 0;
    char *rest = out;
    for (const char *line; (line = slurm_next_line(&rest)) != NULL;) {
        struct slurm_features features;
        if (slurm_parse_features(line, &features) != 0)
            continue; /* that node is not known here, and left alone */
        if (there->node_count == capacity) {
            capacity = capacity == 0 ? 64 : 2 * capacity;
            there->nodes = own_realloc(there->nodes, capacity, sizeof(*there->nodes));
        }
        there->nodes[there->node_count++] = features;
    }
    return 0;
}

static int look(struct slurm_call *call, struct there *there)
{
    there_free(there);
    char none[SCHEDULER_QUARANTINE_MARK_MAX];
    int status = look_at(call, "reservation", SLURM_QUARANTINE_RESERVATION, &there->has_reservation,
                         &there->reservation, there->since);
    if (status == 0)
        status = look_at(call, "partition", SLURM_QUARANTINE_PARTITION, &there->has_partition, &there->partition, none);
    return status != 0 ? status : look_at_nodes(call, there);
}

static bool has(const struct names *names, const char *name)
{
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->items[i], name) == 0)
            return true;
    return false;
}

static const struct slurm_features *find(const struct there *there, const char *name)
{
    for (size_t i = 0; i < there->node_count; i++)
        if (strcmp(there->nodes[i].name, name) == 0)
            return &there->nodes[i];
    return NULL;
}

static bool lists_feature(const char *list)
{
    autofree char *rest = slurm_list_without(list, SLURM_QUARANTINE_FEATURE);
    return strcmp(rest, list) != 0;
}

static bool has_feature(const struct slurm_features *features)
{
    return lists_feature(features->available) || lists_feature(features->active);
}

/* --- what may be touched ------------------------------------------------------------------------------------------ */

/* What it had was written down before this call. */
static bool may_touch(const struct scheduler_quarantine_node *node)
{
    return node->row.state != QUARANTINE_STATE_ASKED && !node->noted && !node->released;
}

/* A slurmctld that died before it had saved that a node was given back has its reservation again: the very one that was ours, by when
 * it began. What somebody else made under its name began at another time. */
static void find_what_reappeared(struct setting *s)
{
    bool ours =
        s->there->has_reservation && s->there->since[0] != '\0' && text_equal(s->there->since, s->request->mark);
    for (size_t i = 0; i < s->request->count; i++) {
        struct scheduler_quarantine_node *node = &s->request->nodes[i];
        node->released = node->released && !(ours && has(&s->there->reservation, node->row.name));
    }
}

/* The reservation is ours where it has a node that we put there, whatever became of the rest: also of one that is to go, and whose removal
 * may not be answered. */
static void remember_ours(const struct setting *s)
{
    for (size_t i = 0; i < s->request->count; i++) {
        const struct scheduler_quarantine_node *node = &s->request->nodes[i];
        if (may_touch(node) && (node->row.had & QUARANTINE_HAD_RESERVATION) == 0 &&
            has(&s->there->reservation, node->row.name))
            memcpy(s->request->mark, s->there->since, sizeof(s->request->mark));
    }
}

static int64_t shared_before(const struct setting *s)
{
    const struct scheduler_quarantine *request = s->request;
    for (size_t i = 0; i < request->count; i++)
        if (may_touch(&request->nodes[i]))
            return request->nodes[i].row.had & QUARANTINE_HAD_SHARED;
    return (s->there->has_partition ? QUARANTINE_HAD_PARTITION : 0) |
           (s->there->has_reservation ? QUARANTINE_HAD_RESERVATION : 0);
}

static void note(struct setting *s)
{
    int64_t shared = shared_before(s);
    for (size_t i = 0; i < s->request->count; i++) {
        struct scheduler_quarantine_node *node = &s->request->nodes[i];
        const struct slurm_features *features = find(s->there, node->row.name);
        if (node->row.state != QUARANTINE_STATE_ASKED)
            continue;
        node->gone = !node->row.wanted;
        if (node->gone)
            continue;
        node->noted = true;
        node->row.state = QUARANTINE_STATE_NOTED;
        node->row.had = shared | (features != NULL && has_feature(features) ? QUARANTINE_HAD_FEATURE : 0) |
                        (has(&s->there->partition, node->row.name) ? QUARANTINE_HAD_MEMBER : 0);
    }
}

static const struct scheduler_quarantine_node *touched(const struct setting *s, const char *name)
{
    for (size_t i = 0; i < s->request->count; i++)
        if (may_touch(&s->request->nodes[i]) && strcmp(s->request->nodes[i].row.name, name) == 0)
            return &s->request->nodes[i];
    return NULL;
}

/* The list as it shall be: what is there and not ours, and what is wanted. Caller frees; *ret_same: it is so already. */
static char *wanted_list(const struct setting *s, const struct names *now, int64_t stays, bool *ret_same)
{
    struct text list AUTO(text) = {0};
    *ret_same = true;
    for (size_t i = 0; i < now->count; i++) {
        const struct scheduler_quarantine_node *node = touched(s, now->items[i]);
        if (node == NULL || node->row.wanted || (node->row.had & stays) != 0)
            text_printf(&list, "%s%s", list.len > 0 ? "," : "", now->items[i]);
        else
            *ret_same = false;
    }
    for (size_t i = 0; i < s->request->count; i++) {
        const struct scheduler_quarantine_node *node = &s->request->nodes[i];
        if (!may_touch(node) || !node->row.wanted || has(now, node->row.name) || find(s->there, node->row.name) == NULL)
            continue;
        text_printf(&list, "%s%s", list.len > 0 ? "," : "", node->row.name);
        *ret_same = false;
    }
    return text_take(&list);
}

/* --- changing ----------------------------------------------------------------------------------------------------- */

static bool is_away(int status)
{
    return status == STATUS_UNAVAILABLE || status == STATUS_TIMEOUT;
}

/* A change that Slurm refuses is told by the nodes it was for; 0 unless Slurm is away. */
static int change(struct setting *s, const char *const argv[], char why[SCHEDULER_ERROR_MAX])
{
    autofree char *out = NULL;
    int status = slurm_run(s->call, argv, &out);
    s->changed = true;
    if (status != 0 && !is_away(status))
        text_copy_cut(why, SCHEDULER_ERROR_MAX, s->call->error);
    return is_away(status) ? status : 0;
}

static bool any_touched(const struct setting *s)
{
    for (size_t i = 0; i < s->request->count; i++)
        if (may_touch(&s->request->nodes[i]))
            return true;
    return false;
}

static int bring_reservation(struct setting *s)
{
    const char *scontrol = s->call->s->scontrol, *name = "ReservationName=" SLURM_QUARANTINE_RESERVATION;
    bool same;
    if ((shared_before(s) & QUARANTINE_HAD_RESERVATION) != 0) {
        text_copy_cut(s->reservation_why, SCHEDULER_ERROR_MAX,
                      "Slurm has a reservation " SLURM_QUARANTINE_RESERVATION " that Holdfast did not make");
        return 0;
    }
    autofree char *list = wanted_list(s, &s->there->reservation, 0, &same), *nodes = own_printf("Nodes=%s", list);
    if (same)
        return 0;
    if (list[0] == '\0')
        return change(s, (const char *[]){scontrol, "delete", name, NULL}, s->reservation_why);
    if (s->there->has_reservation)
        return change(s, (const char *[]){scontrol, "update", name, nodes, NULL}, s->reservation_why);
    return change(s,
                  (const char *[]){scontrol, "create", "reservation", name, "Users=root", "StartTime=now",
                                   "Duration=UNLIMITED", "Flags=MAINT,IGNORE_JOBS", nodes, NULL},
                  s->reservation_why);
}

static int bring_partition(struct setting *s)
{
    const char *scontrol = s->call->s->scontrol, *name = "PartitionName=" SLURM_QUARANTINE_PARTITION;
    bool same, foreign = (shared_before(s) & QUARANTINE_HAD_PARTITION) != 0;
    autofree char *list = wanted_list(s, &s->there->partition, QUARANTINE_HAD_MEMBER, &same),
                  *nodes = own_printf("Nodes=%s", list);
    if (same)
        return 0;
    if (list[0] == '\0' && !foreign)
        return change(s, (const char *[]){scontrol, "delete", name, NULL}, s->partition_why);
    if (s->there->has_partition)
        return change(s, (const char *[]){scontrol, "update", name, nodes, NULL}, s->partition_why);
    if (!foreign)
        return change(s, (const char *[]){scontrol, "create", name, "State=UP", "RootOnly=YES", nodes, NULL},
                      s->partition_why);
    text_copy_cut(s->partition_why, SCHEDULER_ERROR_MAX,
                  "the partition " SLURM_QUARANTINE_PARTITION ", which somebody else made, is gone");
    return 0;
}

/* True when the node's features are to be changed. */
static bool differs(const struct setting *s, const struct scheduler_quarantine_node *node,
                    const struct slurm_features **ret_features)
{
    const struct slurm_features *features = find(s->there, node->row.name);
    *ret_features = features;
    if (!may_touch(node) || features == NULL)
        return false;
    bool both = lists_feature(features->available) && lists_feature(features->active);
    return node->row.wanted ? !both : has_feature(features) && (node->row.had & QUARANTINE_HAD_FEATURE) == 0;
}

static char *feature_argument(const char *key, const char *list, bool wanted)
{
    autofree char *rest = slurm_list_without(list, SLURM_QUARANTINE_FEATURE);
    if (!wanted)
        return own_printf("%s=%s", key, rest);
    return own_printf("%s=%s%s%s", key, rest, rest[0] != '\0' ? "," : "", SLURM_QUARANTINE_FEATURE);
}

/* Nodes with the same features, and the same request, are told to Slurm at once. */
static int bring_features_like(struct setting *s, size_t first, bool *done)
{
    struct text names AUTO(text) = {0};
    const struct slurm_features *model, *features;
    const bool wanted = s->request->nodes[first].row.wanted;
    (void)differs(s, &s->request->nodes[first], &model);
    for (size_t i = first; i < s->request->count; i++) {
        const struct scheduler_quarantine_node *node = &s->request->nodes[i];
        if (done[i] || node->row.wanted != wanted || !differs(s, node, &features) ||
            strcmp(features->available, model->available) != 0 || strcmp(features->active, model->active) != 0)
            continue;
        text_printf(&names, "%s%s", names.len > 0 ? "," : "NodeName=", node->row.name);
        done[i] = true;
    }
    autofree char *available = feature_argument("AvailableFeatures", model->available, wanted),
                  *active = feature_argument("ActiveFeatures", model->active, wanted);
    return change(s, (const char *[]){s->call->s->scontrol, "update", text_get(&names), available, active, NULL},
                  s->feature_why);
}

static int bring_features(struct setting *s)
{
    const struct slurm_features *features;
    autofree bool *done = own_calloc(s->request->count + 1, sizeof(*done));
    int status = 0;
    for (size_t i = 0; i < s->request->count && status == 0; i++)
        if (!done[i] && differs(s, &s->request->nodes[i], &features))
            status = bring_features_like(s, i, done);
    return status;
}

/* --- what came of it ---------------------------------------------------------------------------------------------- */

static const char *first_of(const struct setting *s)
{
    return s->reservation_why[0] != '\0' ? s->reservation_why
           : s->partition_why[0] != '\0' ? s->partition_why
           : s->feature_why[0] != '\0'   ? s->feature_why
                                         : "Slurm took the change and does not show it";
}

static void judge(const struct setting *s, struct scheduler_quarantine_node *node)
{
    struct quarantine *row = &node->row;
    const struct slurm_features *features = find(s->there, row->name);
    bool feature = features != NULL && has_feature(features), member = has(&s->there->partition, row->name),
         reserved = has(&s->there->reservation, row->name);
    row->why[0] = '\0';
    if (row->wanted) {
        bool held = feature && member && reserved && s->reservation_why[0] == '\0';
        row->state = held ? QUARANTINE_STATE_HELD : QUARANTINE_STATE_REFUSED;
        if (!held)
            text_copy_cut(row->why, sizeof(row->why), features == NULL ? "Slurm does not know the node" : first_of(s));
        return;
    }
    bool stays = (row->had & QUARANTINE_HAD_RESERVATION) != 0;
    node->gone = !(reserved && !stays) && !(member && (row->had & QUARANTINE_HAD_MEMBER) == 0) &&
                 !(feature && (row->had & QUARANTINE_HAD_FEATURE) == 0);
    if (!node->gone)
        text_copy_cut(row->why, sizeof(row->why), first_of(s));
}

int slurm_quarantine(struct scheduler *s, struct scheduler_quarantine *quarantine, char *ret_error)
{
    struct slurm_call call;
    struct there there = {0};
    struct setting setting = {.call = &call, .request = quarantine, .there = &there};
    slurm_call_start(&call, s, ret_error);
    int status = look(&call, &there);
    if (status == 0) {
        find_what_reappeared(&setting);
        note(&setting);
        remember_ours(&setting);
    }
    if (status == 0 && any_touched(&setting)) {
        status = bring_reservation(&setting);
        if (status == 0)
            status = bring_partition(&setting);
        if (status == 0)
            status = bring_features(&setting);
        if (status == 0 && setting.changed)
            status = look(&call, &there);
    }
    for (size_t i = 0; status == 0 && i < quarantine->count; i++)
        if (may_touch(&quarantine->nodes[i]))
            judge(&setting, &quarantine->nodes[i]);
    if (status == 0)
        remember_ours(&setting);
    there_free(&there);
    return status;
}
