/*
 * What priority classes, fair share and quotas mean in Slurm, part by part:
 *
 *   PriorityClasses        a partition of the class's name has the weight as its PriorityTier; where accounting is kept, a QOS
 *                          holdfast-class-NAME has it as its Priority. A class that has neither a partition nor a QOS that
 *                          counts (PriorityWeightQOS) does not hold.
 *   FairShare              is slurm.conf's (PriorityType, PriorityWeightFairShare), which nobody can set from outside: it is
 *                          said whether it is as asked.
 *   IdleResourceSharing    a limit is a ceiling here, and nothing is kept free for anybody: what lies idle is never lent beyond
 *                          it. Disabled therefore holds where limits are enforced, Enabled never.
 *   ComputeQuotaResources  the sum of the amounts is GrpTRES of a QOS and an account holdfast-team-NAME, so that it holds
 *                          whichever QOS a job of the account asks for. Slurm knows no instance types: amounts of several are
 *                          one ceiling, and said not to be what was asked for.
 *   FairShareWeight        the account's Fairshare.
 *   ResourceSharingConfig  Lend is what happens anyway; that nothing is lent, or something borrowed, Slurm cannot say.
 *   PreemptTeamTasks       Never holds while PreemptType is preempt/none; Holdfast sets up no preemption.
 */
#include "server/scheduler/slurm/govern.h"

#include "base/own.h"
#include "base/status.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define CPU_MILLI 1000

static bool shares_fairly(const struct slurm_snapshot *snapshot)
{
    return snapshot->accounts_kept && strcmp(snapshot->settings.priority, "priority/multifactor") == 0 &&
           snapshot->settings.weight_fair_share > 0;
}

static bool qos_count(const struct slurm_snapshot *snapshot)
{
    return strcmp(snapshot->settings.priority, "priority/multifactor") == 0 && snapshot->settings.weight_qos > 0;
}

static bool enforces_limits(const struct slurm_snapshot *snapshot)
{
    const char *enforced = snapshot->settings.enforced;
    return snapshot->accounts_kept &&
           (slurm_list_has(enforced, "limits") || slurm_list_has(enforced, "safe") || slurm_list_has(enforced, "all"));
}

static void say_no_accounting(const struct slurm_snapshot *snapshot, struct scheduler_answer *answer)
{
    scheduler_say(answer, SCHEDULER_OUTCOME_FAILED, "Slurm keeps no accounting (AccountingStorageType=%s)",
                  snapshot->settings.accounting[0] == '\0' ? "none" : snapshot->settings.accounting);
}

/* False, with an answer, when QOS and accounts cannot be reached now or ever. */
static bool has_accounting(const struct slurm_snapshot *snapshot, struct scheduler_answer *answer)
{
    bool denied = snapshot->accounting == STATUS_DENIED;
    if (!snapshot->accounts_kept)
        say_no_accounting(snapshot, answer);
    else if (snapshot->accounting != 0)
        scheduler_say(answer, denied ? SCHEDULER_OUTCOME_FAILED : SCHEDULER_OUTCOME_LATER, "%s",
                      snapshot->accounting_error);
    return snapshot->accounts_kept && snapshot->accounting == 0;
}

/* --- scheduler configurations ------------------------------------------------------------------------------------- */

static struct scheduler_answer class_qos(struct slurm_governing *g, const struct scheduler_class *class,
                                         const char *mark)
{
    static const struct slurm_limits none;
    struct scheduler_answer answer = {.outcome = SCHEDULER_OUTCOME_UNASKED};
    if (!g->snapshot.accounts_kept || !has_accounting(&g->snapshot, &answer))
        return answer;
    autofree char *name = own_printf(SLURM_CLASS_PREFIX "%s", class->name);
    slurm_bring_qos(g, name, class->weight, &none, mark, &answer);
    if (slurm_qos_find(&g->snapshot, name) != NULL && answer.outcome != SCHEDULER_OUTCOME_FAILED)
        text_printf(&g->classes, "%s%s", text_get(&g->classes)[0] == '\0' ? "" : ",", name);
    return answer;
}

static void say_no_partition(const struct slurm_snapshot *snapshot, const struct scheduler_class *class,
                             struct scheduler_answer *answer)
{
    struct scheduler_answer failed;
    if (!snapshot->accounts_kept)
        scheduler_say(
            &failed, SCHEDULER_OUTCOME_FAILED,
            "Slurm has no partition named %s, and keeps no accounting (AccountingStorageType=%s) that could have a "
            "QOS for it",
            class->name, snapshot->settings.accounting);
    else
        scheduler_say(
            &failed, SCHEDULER_OUTCOME_FAILED,
            "Slurm has no partition named %s, and gives its QOS no weight (PriorityType=%s, PriorityWeightQOS=%" PRId64
            ")",
            class->name, snapshot->settings.priority, snapshot->settings.weight_qos);
    scheduler_join(answer, &failed);
}

static void bring_classes(struct slurm_governing *g, struct scheduler_rule *rule, struct scheduler_answer *answer)
{
    answer->outcome = SCHEDULER_OUTCOME_HOLDS; /* of no class, all do */
    for (size_t i = 0; i < rule->class_count; i++) {
        const struct scheduler_class *class = &rule->classes[i];
        const struct slurm_partition *partition = slurm_partition_find(&g->snapshot, class->name);
        struct scheduler_answer tier = {.outcome = SCHEDULER_OUTCOME_UNASKED}, qos = class_qos(g, class, rule->uid);
        scheduler_join(answer, &qos);
        if (partition != NULL)
            slurm_bring_partition(g, partition, class->weight, rule->uid, &tier);
        else if (!g->snapshot.accounts_kept || !qos_count(&g->snapshot))
            say_no_partition(&g->snapshot, class, &tier);
        scheduler_join(answer, &tier);
    }
}

static void see_fair_share(const struct slurm_snapshot *snapshot, bool wanted, struct scheduler_answer *answer)
{
    answer->outcome = SCHEDULER_OUTCOME_HOLDS;
    if (shares_fairly(snapshot) == wanted)
        return;
    if (wanted && !snapshot->accounts_kept)
        say_no_accounting(snapshot, answer);
    else
        scheduler_say(answer, SCHEDULER_OUTCOME_FAILED,
                      "slurm.conf has PriorityType=%s and PriorityWeightFairShare=%" PRId64
                      ", which only Slurm's administrator can change",
                      snapshot->settings.priority, snapshot->settings.weight_fair_share);
}

static void see_idle_sharing(const struct slurm_snapshot *snapshot, bool wanted, struct scheduler_answer *answer)
{
    answer->outcome = SCHEDULER_OUTCOME_HOLDS;
    if (wanted)
        scheduler_say(answer, SCHEDULER_OUTCOME_FAILED,
                      "Slurm's limits are ceilings: what lies idle is not lent to a team beyond its quota");
    else if (!snapshot->accounts_kept)
        say_no_accounting(snapshot, answer);
    else if (!enforces_limits(snapshot))
        scheduler_say(answer, SCHEDULER_OUTCOME_FAILED, "Slurm enforces no limits (AccountingStorageEnforce=%s)",
                      snapshot->settings.enforced);
}

/* --- quotas ------------------------------------------------------------------------------------------------------- */

/* Adds an amount to a limit that Slurm can count; else says what is left out. */
static void add_limit(const struct slurm_snapshot *snapshot, struct slurm_limits *limits, const char *name,
                      int64_t value, struct scheduler_answer *answer)
{
    if (value < 0)
        return;
    for (size_t i = 0; i < limits->count; i++)
        if (strcmp(limits->limits[i].name, name) == 0) {
            limits->limits[i].value += value;
            return;
        }
    if (!slurm_list_has(snapshot->settings.counted, name)) {
        scheduler_say(answer, SCHEDULER_OUTCOME_FAILED, "Slurm does not count %s (AccountingStorageTRES=%s)", name,
                      snapshot->settings.counted);
        return;
    }
    struct slurm_limit *limit = &limits->limits[limits->count++];
    limit->value = value;
    text_copy_cut(limit->name, sizeof(limit->name), name);
}

/* Room for the four that every amount may have, and a slice each. */
_Static_assert(SLURM_LIMITS_MAX >= 4 + SCHEDULER_AMOUNTS_MAX, "a quota's limits fit");

static void limits_of(const struct slurm_snapshot *snapshot, const struct scheduler_rule *rule,
                      struct slurm_limits *limits, struct scheduler_answer *answer)
{
    int64_t cpu_milli = -1;
    for (size_t i = 0; i < rule->amount_count; i++) {
        const struct scheduler_amount *amount = &rule->amounts[i];
        add_limit(snapshot, limits, "node", amount->nodes, answer);
        add_limit(snapshot, limits, "gres/gpu", amount->accelerators, answer);
        add_limit(snapshot, limits, "mem", amount->memory_mib, answer);
        if (amount->cpu_milli >= 0)
            cpu_milli = (cpu_milli < 0 ? 0 : cpu_milli) + amount->cpu_milli;
        if (amount->slice[0] != '\0') {
            autofree char *name = own_printf("gres/gpu:%s", amount->slice);
            add_limit(snapshot, limits, name, amount->slices, answer);
        }
        if (strcmp(amount->instance_type, rule->amounts[0].instance_type) != 0)
            scheduler_say(answer, SCHEDULER_OUTCOME_FAILED,
                          "Slurm knows no instance types: the amounts of all that the quota names are one ceiling");
    }
    if (cpu_milli >= 0)
        add_limit(snapshot, limits, "cpu", cpu_milli / CPU_MILLI, answer);
    if (cpu_milli >= 0 && cpu_milli % CPU_MILLI != 0)
        scheduler_say(answer, SCHEDULER_OUTCOME_FAILED, "Slurm counts whole CPUs: the limit is %" PRId64,
                      cpu_milli / CPU_MILLI);
}

static void bring_quota(struct slurm_governing *g, struct scheduler_rule *rule, struct scheduler_answer *resources,
                        struct scheduler_answer *weight)
{
    struct slurm_team team = {.mark = rule->uid, .share = rule->weight};
    struct scheduler_answer part = {.outcome = SCHEDULER_OUTCOME_UNASKED};
    if (!has_accounting(&g->snapshot, resources)) {
        *weight = *resources;
        return;
    }
    snprintf(team.name, sizeof(team.name), SLURM_TEAM_PREFIX "%s", rule->team);
    limits_of(&g->snapshot, rule, &team.limits, resources);
    slurm_bring_qos(g, team.name, 0, &team.limits, rule->uid, &part);
    scheduler_join(resources, &part);
    /* Its QOS has to be there before an account can name it. */
    if (slurm_qos_find(&g->snapshot, team.name) != NULL && part.outcome != SCHEDULER_OUTCOME_FAILED)
        slurm_bring_account(g, &team, weight);
    else
        *weight = part;
    scheduler_join(resources, weight);
    if (rule->amount_count > 0 && !enforces_limits(&g->snapshot)) {
        scheduler_say(&part, SCHEDULER_OUTCOME_FAILED, "Slurm enforces no limits (AccountingStorageEnforce=%s)",
                      g->snapshot.settings.enforced);
        scheduler_join(resources, &part);
    }
    if (!shares_fairly(&g->snapshot)) {
        see_fair_share(&g->snapshot, true, &part);
        scheduler_join(weight, &part);
    }
}

static void see_lending(const struct scheduler_rule *rule, struct scheduler_answer *answer)
{
    answer->outcome = SCHEDULER_OUTCOME_HOLDS;
    if (!rule->lends)
        scheduler_say(answer, SCHEDULER_OUTCOME_FAILED,
                      "Slurm's limits are ceilings: what a team does not use is not kept free for it");
    else if (rule->borrows)
        scheduler_say(answer, SCHEDULER_OUTCOME_FAILED, "Slurm's limits are ceilings: nothing is borrowed beyond them");
}

static void see_preemption(const struct slurm_snapshot *snapshot, bool wanted, struct scheduler_answer *answer)
{
    answer->outcome = SCHEDULER_OUTCOME_HOLDS;
    if (wanted)
        scheduler_say(answer, SCHEDULER_OUTCOME_FAILED, "Holdfast sets up no preemption in Slurm (PreemptType=%s)",
                      snapshot->settings.preempt);
    else if (strcmp(snapshot->settings.preempt, "preempt/none") != 0)
        scheduler_say(answer, SCHEDULER_OUTCOME_FAILED, "slurm.conf has PreemptType=%s", snapshot->settings.preempt);
}

/* --- all of it ---------------------------------------------------------------------------------------------------- */

static void bring_rule(struct slurm_governing *g, struct scheduler_rule *rule)
{
    const struct slurm_snapshot *snapshot = &g->snapshot;
    struct scheduler_answer *answers = rule->answers;
    memset(rule->answers, 0, sizeof(rule->answers));
    if (rule->off)
        return;
    if (rule->kind == GOVERNANCE_KIND_SCHEDULER_CONFIG) {
        bring_classes(g, rule, &answers[SCHEDULER_PART_PRIORITY_CLASSES]);
        see_fair_share(snapshot, rule->fair_share, &answers[SCHEDULER_PART_FAIR_SHARE]);
        see_idle_sharing(snapshot, rule->idle_sharing, &answers[SCHEDULER_PART_IDLE_SHARING]);
    } else {
        bring_quota(g, rule, &answers[SCHEDULER_PART_RESOURCES], &answers[SCHEDULER_PART_WEIGHT]);
        see_lending(rule, &answers[SCHEDULER_PART_LENDING]);
        see_preemption(snapshot, rule->preempts, &answers[SCHEDULER_PART_PREEMPTION]);
    }
    scheduler_drop_unasked(rule);
}

/* A quota that is switched off is so when what was made for it has gone. */
static void see_off(const struct slurm_governing *g, struct scheduler_rule *rule)
{
    autofree char *name = own_printf(SLURM_TEAM_PREFIX "%s", rule->team);
    if (rule->off && g->snapshot.accounts_kept && slurm_still_holds(g, name))
        scheduler_say(&rule->answers[SCHEDULER_PART_RESOURCES], SCHEDULER_OUTCOME_LATER, "Slurm's account %s is to go",
                      name);
}

static void pass(struct slurm_governing *g)
{
    governing_begin_pass(&g->pass);
    text_clear(&g->classes);
    for (size_t i = 0; i < g->pass.request->count; i++)
        bring_rule(g, &g->pass.request->rules[i]);
    slurm_release(g);
    for (size_t i = 0; i < g->pass.request->count; i++)
        see_off(g, &g->pass.request->rules[i]);
}

static int look_again(struct slurm_governing *g)
{
    slurm_snapshot_free(&g->snapshot);
    g->pass.settled = !g->pass.request->more;
    return slurm_snapshot_take(g->call, &g->snapshot);
}

int slurm_govern(struct scheduler *s, struct scheduler_governance *governance, char *ret_error)
{
    struct slurm_call call;
    slurm_call_start(&call, s, ret_error);
    struct slurm_governing g = {.call = &call};
    governing_begin(&g.pass, governance, "Slurm", s->timeout_ms);
    int status = slurm_snapshot_take(&call, &g.snapshot);
    if (status == 0)
        pass(&g);
    if (status == 0 && g.pass.changes > 0 && (status = look_again(&g)) == 0)
        pass(&g);
    slurm_snapshot_free(&g.snapshot);
    text_free(&g.classes);
    governing_end(&g.pass);
    return status;
}
