/*
 * Partitions, QOS and accounts as they shall be. Nothing is touched that is not held in the store, and what is made carries a
 * mark, so that what somebody else made under the same name is left alone for ever.
 */
#include "server/scheduler/slurm/govern.h"

#include "base/own.h"
#include "base/status.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MADE_BY "holdfast " /* the description of what is made, before its mark */
#define ARGUMENTS_MAX 16
#define DEFAULT_SHARE 1 /* what sacctmgr gives an account of which nothing is said */

/* --- holding ------------------------------------------------------------------------------------------------------ */

/* What has to stand in the store before a tier may go from seen to value. A tier that we never set and that is not the one of
 * before was set by somebody: it is what the partition goes back to. */
static struct governance_held held_for(const struct governance_held *held, int64_t seen, int64_t value)
{
    struct governance_held next = *held;
    if (seen != held->former && seen != held->value && seen != held->previous)
        next.former = seen;
    if (held->value != value) {
        next.previous = seen;
        next.value = value;
    }
    return next;
}

/* NULL, with an answer: it may not be touched, or not yet. mark is for a thing that is not held yet. */
static const struct governance_held *claim(struct slurm_governing *g, enum governance_object object, const char *name,
                                           const char *mark, int64_t seen, int64_t value,
                                           struct scheduler_answer *answer)
{
    struct governing *pass = &g->pass;
    const struct governance_held *held = governing_held(pass, object, name);
    struct governance_held next = {.object = object};
    if (governing_is_taken(pass, object, name)) {
        scheduler_say(answer, SCHEDULER_OUTCOME_FAILED, "another cluster's %s claims Slurm's %s %s",
                      object == GOVERNANCE_OBJECT_PARTITION ? "scheduler configuration" : "configuration or quota",
                      governance_object_text(object), name);
        return NULL;
    }
    if (held != NULL) {
        governing_claim(pass, held);
        next = held_for(held, seen, value);
        if (next.former == held->former && next.value == held->value)
            return held;
    } else {
        text_copy_cut(next.name, sizeof(next.name), name);
        text_copy_cut(next.mark, sizeof(next.mark), mark);
        next.former = next.previous = seen;
        next.value = value;
    }
    governing_want(pass, &next);
    scheduler_say(answer, SCHEDULER_OUTCOME_LATER, "Slurm's %s %s is about to be set", governance_object_text(object),
                  name);
    return NULL;
}

/* True when what carries this description was made for what is held; else it is somebody else's, with an answer. */
static bool is_ours(const struct slurm_governing *g, enum governance_object object, const char *name,
                    const char *description, struct scheduler_answer *answer)
{
    const struct governance_held *held = governing_held(&g->pass, object, name);
    if (held != NULL && text_starts_with(description, MADE_BY) &&
        strcmp(description + strlen(MADE_BY), held->mark) == 0)
        return true;
    if (answer != NULL)
        scheduler_say(answer, SCHEDULER_OUTCOME_FAILED, "Slurm has %s named %s that this server did not make",
                      object == GOVERNANCE_OBJECT_QOS ? "a QOS" : "an account", name);
    return false;
}

/* --- changing ----------------------------------------------------------------------------------------------------- */

static bool is_away(int status)
{
    return status == STATUS_UNAVAILABLE || status == STATUS_TIMEOUT;
}

/* Runs the command (up to a NULL) that changes the named object, if there is time for it. True when Slurm took it. */
static bool change(struct slurm_governing *g, enum governance_object object, const char *name,
                   const char *const arguments[], struct scheduler_answer *answer)
{
    autofree char *out = NULL;
    if (!governing_may_change(&g->pass, object, name, answer))
        return false;
    int status = slurm_run(g->call, arguments, &out);
    if (status == 0) {
        g->pass.changes++;
        scheduler_say(answer, SCHEDULER_OUTCOME_LATER, "Slurm was updated; waiting until it shows it");
        return true;
    }
    scheduler_say(answer, is_away(status) ? SCHEDULER_OUTCOME_LATER : SCHEDULER_OUTCOME_FAILED, "%s", g->call->error);
    governing_refused(&g->pass, object, name, answer);
    return false;
}

/* --- partitions --------------------------------------------------------------------------------------------------- */

static void set_tier(struct slurm_governing *g, const char *name, int64_t tier, struct scheduler_answer *answer)
{
    autofree char *partition = own_printf("PartitionName=%s", name),
                  *priority = own_printf("PriorityTier=%" PRId64, tier);
    change(g, GOVERNANCE_OBJECT_PARTITION, name,
           (const char *[]){g->call->s->scontrol, "update", partition, priority, NULL}, answer);
}

void slurm_bring_partition(struct slurm_governing *g, const struct slurm_partition *there, int64_t tier,
                           const char *mark, struct scheduler_answer *answer)
{
    if (claim(g, GOVERNANCE_OBJECT_PARTITION, there->name, mark, there->tier, tier, answer) == NULL)
        return;
    if (there->tier == tier)
        answer->outcome = SCHEDULER_OUTCOME_HOLDS;
    else
        set_tier(g, there->name, tier, answer);
}

/* --- QOS ---------------------------------------------------------------------------------------------------------- */

struct arguments {
    const char *list[ARGUMENTS_MAX + 1];
    char *owned[ARGUMENTS_MAX];
    size_t count, owned_count;
};

static void add(struct arguments *a, const char *argument)
{
    a->list[a->count++] = argument;
}

static void add_owned(struct arguments *a, char *argument)
{
    a->owned[a->owned_count++] = argument;
    add(a, argument);
}

static void auto_arguments_cleanup(struct arguments *a)
{
    for (size_t i = 0; i < a->owned_count; i++)
        free(a->owned[i]);
}

/* A new command of sacctmgr; -i: it does not ask back. */
static void command(struct arguments *a, const struct slurm_governing *g, const char *verb, const char *noun)
{
    *a = (struct arguments){.count = 0};
    add(a, g->call->s->sacctmgr);
    add(a, "-i");
    add(a, verb);
    add(a, noun);
}

static void add_limits(struct arguments *a, const struct slurm_limits *from, const struct slurm_limits *to)
{
    autofree char *text = slurm_limits_change(from, to);
    if (text[0] != '\0')
        add_owned(a, own_printf("GrpTRES=%s", text));
}

static void make_qos(struct slurm_governing *g, const struct governance_held *held, int64_t priority,
                     const struct slurm_limits *limits, struct scheduler_answer *answer)
{
    static const struct slurm_limits none;
    AUTO(arguments) struct arguments a;
    command(&a, g, "add", "qos");
    add(&a, held->name);
    add_owned(&a, own_printf("Description=" MADE_BY "%s", held->mark));
    add_owned(&a, own_printf("Priority=%" PRId64, priority));
    add_limits(&a, &none, limits);
    if (!change(g, GOVERNANCE_OBJECT_QOS, held->name, a.list, answer))
        return;
    struct slurm_snapshot *snapshot = &g->snapshot;
    snapshot->qos = own_realloc(snapshot->qos, snapshot->qos_count + 1, sizeof(*snapshot->qos));
    struct slurm_qos *made = &snapshot->qos[snapshot->qos_count++];
    *made = (struct slurm_qos){.priority = priority};
    text_copy_cut(made->name, sizeof(made->name), held->name);
}

void slurm_bring_qos(struct slurm_governing *g, const char *name, int64_t priority, const struct slurm_limits *limits,
                     const char *mark, struct scheduler_answer *answer)
{
    const struct slurm_qos *there = slurm_qos_find(&g->snapshot, name);
    struct slurm_limits has = {.count = 0};
    if (there != NULL && !is_ours(g, GOVERNANCE_OBJECT_QOS, name, there->description, answer))
        return;
    const struct governance_held *held = claim(g, GOVERNANCE_OBJECT_QOS, name, mark, 0, 0, answer);
    if (held == NULL)
        return;
    bool same = there != NULL && slurm_limits_parse(there->limits, &has) == 0 && slurm_limits_equal(&has, limits) &&
                there->priority == priority;
    if (same) {
        answer->outcome = SCHEDULER_OUTCOME_HOLDS;
        return;
    }
    if (there == NULL) {
        make_qos(g, held, priority, limits, answer);
        return;
    }
    AUTO(arguments) struct arguments a;
    command(&a, g, "modify", "qos");
    add(&a, "where");
    add_owned(&a, own_printf("name=%s", name));
    add(&a, "set");
    add_owned(&a, own_printf("Priority=%" PRId64, priority));
    add_limits(&a, &has, limits);
    change(g, GOVERNANCE_OBJECT_QOS, name, a.list, answer);
}

/* --- accounts ----------------------------------------------------------------------------------------------------- */

static void add_missing(struct text *missing, const struct slurm_account *there, const char *name, size_t len)
{
    autofree char *qos = own_printf("%.*s", (int)len, name);
    if (there == NULL || !slurm_list_has(there->qos, qos))
        text_printf(missing, "%s%s", text_get(missing)[0] == '\0' ? "" : ",", qos);
}

/* The QOS that the team's jobs may ask for, and that the account (NULL: none yet) does not let them have. */
static char *missing_qos(const struct slurm_governing *g, const char *team, const struct slurm_account *there)
{
    AUTO(text) struct text missing = {0};
    add_missing(&missing, there, team, strlen(team));
    for (const char *at = text_get(&g->classes); *at != '\0';) {
        size_t len = strcspn(at, ",");
        add_missing(&missing, there, at, len);
        at += len + (at[len] == ',');
    }
    return text_take(&missing);
}

static void make_account(struct slurm_governing *g, const struct slurm_team *team, const struct governance_held *held,
                         const char *qos, struct scheduler_answer *answer)
{
    static const struct slurm_limits none;
    AUTO(arguments) struct arguments a;
    command(&a, g, "add", "account");
    add(&a, team->name);
    add_owned(&a, own_printf("cluster=%s", g->snapshot.settings.cluster));
    add_owned(&a, own_printf("Description=" MADE_BY "%s", held->mark));
    add(&a, "Organization=holdfast");
    add_owned(&a, own_printf("Fairshare=%" PRId64, team->share));
    add_limits(&a, &none, &team->limits);
    add_owned(&a, own_printf("QosLevel=%s", qos));
    add_owned(&a, own_printf("DefaultQOS=%s", team->name));
    change(g, GOVERNANCE_OBJECT_ACCOUNT, team->name, a.list, answer);
}

static void where_account(struct arguments *a, const struct slurm_governing *g, const char *name)
{
    command(a, g, "modify", "account");
    add(a, "where");
    add_owned(a, own_printf("name=%s", name));
    add_owned(a, own_printf("cluster=%s", g->snapshot.settings.cluster));
    add(a, "set");
}

static void alter_account(struct slurm_governing *g, const struct slurm_team *team, const struct slurm_limits *has,
                          const char *missing, struct scheduler_answer *answer)
{
    AUTO(arguments) struct arguments a;
    where_account(&a, g, team->name);
    add_owned(&a, own_printf("Fairshare=%" PRId64, team->share));
    add_limits(&a, has, &team->limits);
    if (missing[0] != '\0')
        add_owned(&a, own_printf("Qos+=%s", missing));
    add_owned(&a, own_printf("DefaultQOS=%s", team->name));
    change(g, GOVERNANCE_OBJECT_ACCOUNT, team->name, a.list, answer);
}

void slurm_bring_account(struct slurm_governing *g, const struct slurm_team *team, struct scheduler_answer *answer)
{
    const struct slurm_account *there = slurm_account_find(&g->snapshot, team->name);
    struct slurm_limits has = {.count = 0};
    if (there != NULL && !is_ours(g, GOVERNANCE_OBJECT_ACCOUNT, team->name, there->description, answer))
        return;
    const struct governance_held *held = claim(g, GOVERNANCE_OBJECT_ACCOUNT, team->name, team->mark, 0, 0, answer);
    if (held == NULL)
        return;
    bool here = there != NULL && there->here;
    autofree char *missing = missing_qos(g, team->name, here ? there : NULL);
    bool same = here && missing[0] == '\0' && there->share == team->share &&
                strcmp(there->qos_default, team->name) == 0 && slurm_limits_parse(there->limits, &has) == 0 &&
                slurm_limits_equal(&has, &team->limits);
    if (same)
        answer->outcome = SCHEDULER_OUTCOME_HOLDS;
    else if (here)
        alter_account(g, team, &has, missing, answer);
    else
        make_account(g, team, held, missing, answer);
}

/* --- taking away -------------------------------------------------------------------------------------------------- */

/* True when it is as it was. A tier that is not of our setting any more is somebody's, and stays. */
static bool release_partition(struct slurm_governing *g, const struct governance_held *held)
{
    const struct slurm_partition *there = slurm_partition_find(&g->snapshot, held->name);
    struct scheduler_answer ignored;
    if (there == NULL || there->tier == held->former || (there->tier != held->value && there->tier != held->previous))
        return true;
    set_tier(g, held->name, held->former, &ignored);
    return false;
}

static bool release_qos(struct slurm_governing *g, const struct governance_held *held)
{
    const struct slurm_qos *there = slurm_qos_find(&g->snapshot, held->name);
    struct scheduler_answer ignored;
    if (there == NULL || !is_ours(g, held->object, held->name, there->description, NULL))
        return true;
    AUTO(arguments) struct arguments a;
    command(&a, g, "delete", "qos");
    add_owned(&a, own_printf("name=%s", held->name));
    change(g, GOVERNANCE_OBJECT_QOS, held->name, a.list, &ignored);
    return false;
}

/* People who were put into the account stay in it: it is freed of our limits only. */
static bool loosen_account(struct slurm_governing *g, const struct slurm_account *there)
{
    static const struct slurm_limits none;
    struct slurm_limits has = {.count = 0};
    struct scheduler_answer ignored;
    bool ours = slurm_list_has(there->qos, there->name);
    bool read = slurm_limits_parse(there->limits, &has) == 0;
    if (!there->here || (read && has.count == 0 && there->share == DEFAULT_SHARE && !ours))
        return true;
    AUTO(arguments) struct arguments a;
    where_account(&a, g, there->name);
    add_owned(&a, own_printf("Fairshare=%d", DEFAULT_SHARE));
    add_limits(&a, &has, &none);
    add(&a, "DefaultQOS=-1");
    if (ours)
        add_owned(&a, own_printf("Qos-=%s", there->name));
    change(g, GOVERNANCE_OBJECT_ACCOUNT, there->name, a.list, &ignored);
    return false;
}

static bool release_account(struct slurm_governing *g, const struct governance_held *held)
{
    const struct slurm_account *there = slurm_account_find(&g->snapshot, held->name);
    struct scheduler_answer ignored;
    if (there == NULL || !is_ours(g, held->object, held->name, there->description, NULL))
        return true;
    if (there->used)
        return loosen_account(g, there);
    AUTO(arguments) struct arguments a;
    command(&a, g, "delete", "account");
    add_owned(&a, own_printf("name=%s", held->name));
    change(g, GOVERNANCE_OBJECT_ACCOUNT, held->name, a.list, &ignored);
    return false;
}

static bool release(struct slurm_governing *g, const struct governance_held *held)
{
    if (held->object == GOVERNANCE_OBJECT_PARTITION)
        return release_partition(g, held);
    if (!g->snapshot.accounts_kept || g->snapshot.accounting != 0)
        return false; /* it lies where nobody can look now */
    return held->object == GOVERNANCE_OBJECT_QOS ? release_qos(g, held) : release_account(g, held);
}

void slurm_release(struct slurm_governing *g)
{
    /* An account goes before the QOS that it defaults to. */
    static const enum governance_object order[] = {GOVERNANCE_OBJECT_PARTITION, GOVERNANCE_OBJECT_ACCOUNT,
                                                   GOVERNANCE_OBJECT_QOS};
    for (size_t o = 0; o < ARRAY_LEN(order); o++)
        for (size_t i = 0; i < g->pass.request->held_count; i++)
            if (g->pass.request->held[i].object == order[o])
                g->pass.request->gone[i] =
                    governing_is_left(&g->pass, &g->pass.request->held[i]) && release(g, &g->pass.request->held[i]);
}

bool slurm_still_holds(const struct slurm_governing *g, const char *name)
{
    for (size_t i = 0; i < g->pass.request->held_count; i++)
        if (governing_is_left(&g->pass, &g->pass.request->held[i]) && !g->pass.request->gone[i] &&
            strcmp(g->pass.request->held[i].name, name) == 0)
            return true;
    return false;
}
