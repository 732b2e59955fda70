/* What many nodes share: incident.h says the rule. */
#include "policy/incident.h"

#include "base/own.h"
#include "base/text.h"

/* --- signals ------------------------------------------------------------------------------------- */

bool policy_outage_signal_of(const struct policy_settings *settings, const struct verdict *verdict,
                             struct policy_outage_signal *ret_signal)
{
    bool power = fault_has_trait(verdict->code, FAULT_TRAIT_POWER_OUTAGE);
    if (!power && !fault_has_trait(verdict->code, FAULT_TRAIT_NETWORK_OUTAGE))
        return false;
    bool event = fault_has_trait(verdict->code, FAULT_TRAIT_EVENT);
    int64_t lasts = settings->incident_window_ms + settings->incident_settle_ms;
    *ret_signal = (struct policy_outage_signal){.at = verdict->received_at,
                                                .until = event ? verdict->received_at + lasts : INT64_MAX,
                                                .cause = power ? INCIDENT_CAUSE_POWER : INCIDENT_CAUSE_NETWORK};
    return true;
}

bool policy_incident_is_settled(const struct policy_settings *settings, int64_t nodes, int64_t affected)
{
    int64_t least = settings->incident_nodes < nodes ? settings->incident_nodes : nodes; /* a chassis may have two */
    return affected < least || affected * 2 < nodes;
}

/* --- one level --------------------------------------------------------------------------------- */

struct sharing {
    const struct policy_settings *settings;
    struct policy_outage_signal *signals;
    size_t count;
    size_t boots_least; /* so many boots at once are a sign at this level */
    bool *close;        /* of the places of a level: enough others are around it in time */
    struct policy_shared *shared;
    size_t shared_count, shared_capacity;
};

static int by_node(const void *left, const void *right)
{
    const struct policy_outage_signal *a = left, *b = right;
    if (a->node_id != b->node_id)
        return a->node_id < b->node_id ? -1 : 1;
    if (a->at != b->at)
        return a->at > b->at ? -1 : 1;
    return a->cause > b->cause ? -1 : a->cause < b->cause;
}

struct place {
    uint32_t domain;
    int64_t at;
    size_t signal;
    bool boot;   /* and not one of several at once */
    bool joined; /* a boot that is one of several at once */
};

static int by_place(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    if (a->domain != b->domain)
        return a->domain < b->domain ? -1 : 1;
    if (a->at != b->at)
        return a->at < b->at ? -1 : 1;
    return a->signal < b->signal ? -1 : a->signal > b->signal;
}

/* Machines that lose their power at once come up at about the same time; who restarts a rack by hand does it one after the other. */
#define BOOT_TOGETHER_MS 30000

/* Boots with enough others beside them are signs; the rest are none. */
static void join_boots(const struct sharing *s, struct place *places, size_t from, size_t to)
{
    size_t least = s->boots_least;
    autofree size_t *boots = own_calloc(to - from + 1, sizeof(*boots));
    size_t count = 0;
    for (size_t i = from; i < to; i++)
        if (places[i].boot)
            boots[count++] = i;
    for (size_t i = 0; least > 0 && i + least <= count; i++)
        if (places[boots[i + least - 1]].at - places[boots[i]].at <= BOOT_TOGETHER_MS)
            for (size_t k = i; k < i + least; k++)
                places[boots[k]].joined = true;
    for (size_t i = from; i < to; i++)
        places[i].boot = places[i].boot && !places[i].joined;
}

/* Without the boots that are no signs. */
static size_t drop_boots(const struct sharing *s, struct place *places, size_t count)
{
    size_t kept = 0;
    for (size_t from = 0, to; from < count; from = to) {
        for (to = from + 1; to < count && places[to].domain == places[from].domain;)
            to++;
        join_boots(s, places, from, to);
    }
    for (size_t i = 0; i < count; i++)
        if (!places[i].boot)
            places[kept++] = places[i];
    return kept;
}

/* The places of [from, to) with enough others within the window before or after them. */
static size_t mark_close(struct sharing *s, const struct place *places, size_t from, size_t to)
{
    size_t least = (size_t)s->settings->incident_nodes, marked = 0;
    for (size_t i = from; i < to; i++)
        s->close[i] = false;
    for (size_t i = from; least > 0 && i + least <= to; i++)
        if (places[i + least - 1].at - places[i].at <= s->settings->incident_window_ms)
            for (size_t k = i; k < i + least; k++) {
                marked += s->close[k] ? 0 : 1;
                s->close[k] = true;
            }
    for (size_t i = from; i < to; i++) {
        marked += places[i].joined && !s->close[i] ? 1 : 0;
        s->close[i] = s->close[i] || places[i].joined;
    }
    return marked;
}

/* Enough of the domain's own, or two narrower incidents in it? */
static bool is_to_blame(const struct sharing *s, const struct place *places, size_t from, size_t to)
{
    int64_t own = 0, own_boots = 0;
    int inner = -1, inner_count = 0;
    for (size_t i = from; i < to; i++) {
        int shared = s->signals[places[i].signal].shared;
        if (!s->close[i])
            continue;
        own += shared < 0;
        own_boots += shared < 0 && places[i].joined;
        if (shared >= 0 && shared != inner) {
            inner = shared;
            inner_count++;
        }
    }
    bool booted = own_boots > 0 && own_boots >= (int64_t)s->boots_least;
    return own >= s->settings->incident_nodes || booted || inner_count > 1;
}

static void blame(struct sharing *s, enum topology_level level, const struct place *places, size_t from, size_t to)
{
    if (s->shared_count == s->shared_capacity) {
        s->shared_capacity = s->shared_capacity == 0 ? 8 : s->shared_capacity * 2;
        s->shared = own_realloc(s->shared, s->shared_capacity, sizeof(*s->shared));
    }
    s->shared[s->shared_count] = (struct policy_shared){.level = level, .domain = places[from].domain};
    for (size_t i = from; i < to; i++)
        if (s->close[i])
            s->signals[places[i].signal].shared = (int)s->shared_count;
    s->shared_count++;
}

/* A chassis may have no more than two machines, and nothing else restarts both of them in the same seconds. */
#define CHASSIS_BOOTS 2

static size_t boots_least(const struct policy_settings *settings, enum topology_level level)
{
    int64_t least = settings->incident_nodes;
    return (size_t)(level == TOPOLOGY_LEVEL_CHASSIS && least > CHASSIS_BOOTS ? CHASSIS_BOOTS : least);
}

static void share_level(struct sharing *s, enum topology_level level)
{
    s->boots_least = boots_least(s->settings, level);
    autofree struct place *places = own_calloc(s->count + 1, sizeof(*places));
    size_t count = 0;
    for (size_t i = 0; i < s->count; i++)
        if (s->signals[i].domain[level] != 0)
            places[count++] = (struct place){
                .domain = s->signals[i].domain[level], .at = s->signals[i].at, .signal = i, .boot = s->signals[i].boot};
    if (count > 1)
        qsort(places, count, sizeof(*places), by_place);
    count = drop_boots(s, places, count);
    for (size_t from = 0, to; from < count; from = to) {
        for (to = from + 1; to < count && places[to].domain == places[from].domain;)
            to++;
        if (mark_close(s, places, from, to) > 0 && is_to_blame(s, places, from, to))
            blame(s, level, places, from, to);
    }
}

/* --- what came of it --------------------------------------------------------------------------- */

/* Of a node one signal counts, the newest: what it showed last week hides nothing. Of what came together the cause is what says most, for
 * a dark switch shows in a link that is down, and then in silence. */
static size_t keep_one_each(const struct policy_settings *settings, struct policy_outage_signal *signals, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        struct policy_outage_signal *newest = kept > 0 ? &signals[kept - 1] : NULL;
        if (newest == NULL || newest->node_id != signals[i].node_id)
            signals[kept++] = signals[i];
        else if (newest->at - signals[i].at <= settings->incident_window_ms && signals[i].cause > newest->cause)
            newest->cause = signals[i].cause;
    }
    return kept;
}

static void note(struct policy_shared *shared, const struct policy_outage_signal *signal,
                 int64_t causes[INCIDENT_CAUSE_COUNT])
{
    if (shared->count == 0 || signal->at < shared->first_at)
        shared->first_at = signal->at;
    if (shared->count == 0 || signal->at > shared->last_at)
        shared->last_at = signal->at;
    shared->count++;
    causes[signal->cause]++;
}

/* A dark switch shows as links that are down, so of equals it is the power. */
static enum incident_cause explain(const int64_t causes[INCIDENT_CAUSE_COUNT])
{
    if (causes[INCIDENT_CAUSE_POWER] > 0 && causes[INCIDENT_CAUSE_POWER] >= causes[INCIDENT_CAUSE_NETWORK])
        return INCIDENT_CAUSE_POWER;
    return causes[INCIDENT_CAUSE_NETWORK] > 0 ? INCIDENT_CAUSE_NETWORK : INCIDENT_CAUSE_UNREACHABLE;
}

/* Incidents that a wider one has taken over are none. */
static void settle(struct sharing *s)
{
    autofree int *place = own_calloc(s->shared_count + 1, sizeof(*place));
    int64_t(*causes)[INCIDENT_CAUSE_COUNT] = own_calloc(s->shared_count + 1, sizeof(*causes));
    size_t kept = 0;
    for (size_t i = 0; i < s->count; i++)
        if (s->signals[i].shared >= 0)
            note(&s->shared[s->signals[i].shared], &s->signals[i], causes[s->signals[i].shared]);
    for (size_t i = 0; i < s->shared_count; i++) {
        place[i] = (int)kept;
        if (s->shared[i].count == 0)
            continue;
        s->shared[i].cause = explain(causes[i]);
        s->shared[kept++] = s->shared[i];
    }
    for (size_t i = 0; i < s->count; i++)
        if (s->signals[i].shared >= 0)
            s->signals[i].shared = place[s->signals[i].shared];
    s->shared_count = kept;
    free(causes);
}

size_t policy_share(const struct policy_settings *settings, struct policy_outage_signal *signals, size_t *count,
                    struct policy_shared **ret_shared)
{
    autofree bool *close = own_calloc(*count + 1, sizeof(*close));
    if (*count > 1)
        qsort(signals, *count, sizeof(*signals), by_node);
    *count = keep_one_each(settings, signals, *count);
    struct sharing s = {.settings = settings, .signals = signals, .count = *count, .close = close};
    for (size_t i = 0; i < s.count; i++)
        signals[i].shared = -1;
    for (int level = 0; level < TOPOLOGY_LEVEL_COUNT; level++)
        share_level(&s, (enum topology_level)level);
    settle(&s);
    *ret_shared = s.shared;
    return s.shared_count;
}
