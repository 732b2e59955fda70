/*
 * Random worlds: some dozens of nodes, and an hour in which everything goes wrong by chance and by hand: faults, silent
 * agents, dead machines, a scheduler and a provider that fail, hang, lose replies or go away, messages that are lost, late or come
 * twice, switches that go dark with all that hangs on them, people who drain, cancel, opt out, ask and answer, a disk that
 * fails, a clock that is set, and a process that is killed again and again. Half of the worlds have a policy that does not let
 * everything be done.
 *
 * The laws of sim_check hold after every turn. Then the weather clears, and in the end every node is in service, or held or
 * failed for a reason that it says, and whatever is left a person can bring back. A failure prints its seed: run the
 * program with that number to see it again, or make sim SEEDS=1 SEED=number.
 */
#include "tests/sim/sim_acts.h"
#include "tests/sim/sim_disk.h"
#include "tests/sim/sim_ending.h"
#include "tests/sim/sim_evidence.h"
#include "tests/sim/sim_memory.h"
#include "tests/sim/sim_modes.h"
#include "tests/sim/sim_other.h"
#include "tests/sim/sim_reboot.h"
#include "tests/sim/sim_steps.h"
#include "tests/sim/sim_world.h"

#include "db/event.h"
#include "db/verdict.h"
#include "server/service/cluster/pause.h"
#include "server/service/node/approval.h"
#include "server/service/node/node.h"
#include "tests/support/recovery.h"

#define WORLDS 64 /* make sim lives some thousand */
/* One in so many worlds is large, or has some dozens of nodes: what takes many. The others are small, so that they are many. */
#define LARGE_EVERY 256
#define MIDDLE_EVERY 64
#define METHODS_EVERY 4 /* worlds whose machines are rebooted by the methods of their group */
#define TWO_EVERY 4     /* worlds with a second scheduler */
#define STORM_MS (10 * MS_PER_MIN)
#define SHORT_STORM_MS (3 * MS_PER_MIN)
#define SETTLED_MS (6 * MS_PER_HOUR)
#define ACTION_EVERY_S 15
#define REST_MS (3 * MS_PER_MIN)
#define LEAF_NODES 3 /* so many as make an incident */
#define OFF_THE_BUS 79
#define FOR_A_PERSON 78 /* no machine knows the remedy */
#define PROGRAM_FAULT 31
#define DRIVER_ASKS_REPLACE 140
#define UNCONTAINED 95 /* a reset is enough, where the agent offers it */

static uint64_t first_seed = 1, seed_count = WORLDS;

static uint32_t draw(struct sim *sim, uint32_t below)
{
    return fake_outcome_draw(&sim->random, below);
}

static const char *any_node(struct sim *sim)
{
    static char name[NODE_NAME_MAX_BYTES];
    snprintf(name, sizeof(name), "gpu-%u", 1 + draw(sim, (uint32_t)sim->nodes));
    return name;
}

/* --- what can happen --------------------------------------------------------------------------- */

static void fault(struct sim *sim)
{
    static const int codes[] = {OFF_THE_BUS, OFF_THE_BUS, OFF_THE_BUS, PROGRAM_FAULT, DRIVER_ASKS_REPLACE,
                                UNCONTAINED, UNCONTAINED, 48,          FOR_A_PERSON,  FOR_A_PERSON};
    const char *node = any_node(sim);
    int code = codes[draw(sim, ARRAY_LEN(codes))];
    if (fake_provider_of_node(&sim->provider, node) != NULL)
        sim_verdict(sim, node, code, code == PROGRAM_FAULT ? SEVERITY_WARN : SEVERITY_CRITICAL);
}

static void machine(struct sim *sim)
{
    struct fake_instance *instance = fake_provider_of_node(&sim->provider, any_node(sim));
    if (instance == NULL)
        return;
    switch (draw(sim, 4)) {
    case 0:
        instance->muted = true;
        break;
    case 1:
        instance->muted = false;
        break;
    case 2:
        instance->hangs = true;
        break;
    default:
        if (fake_instance_is_up(&sim->provider, instance)) { /* it rebooted by itself */
            id_uuid(&sim->ids, instance->boot_id);
            instance->seq = 0;
        }
    }
}

static void backends(struct sim *sim)
{
    switch (draw(sim, 8)) {
    case 7:
        sim->resets = (enum sim_resets)draw(sim, SIM_RESETS_STALL + 1);
        break;
    case 6:
        sim->outcome.hang_percent = (int)draw(sim, 10);
        sim->outcome.hang_ms = (1 + draw(sim, 90)) * MS_PER_S;
        break;
    case 0:
        sim->scheduler.down = true;
        break;
    case 1:
    case 2:
        sim->scheduler.down = false;
        break;
    case 3:
        sim->provider.full = !sim->provider.full;
        break;
    case 4:
        sim->provider.failed_to_provision = !sim->provider.failed_to_provision && draw(sim, 3) == 0;
        break;
    default:
        sim->outcome.error_percent = (int)draw(sim, 30);
        sim->outcome.lost_percent = (int)draw(sim, 30);
    }
}

static void slurm_person(struct sim *sim)
{
    static const char *const reasons[] = {"swapping a fan", "Action:Reboot", "Action:Replace", "action:replace"};
    const char *node = any_node(sim);
    uint32_t what = draw(sim, 9);
    struct fake_scheduler_node *there = fake_scheduler_find(&sim->scheduler, node);
    if (what < 4)
        fake_scheduler_by_hand(&sim->scheduler, node, what != 0, reasons[what]);
    else if (what < 7) {
        fake_scheduler_resume_by_hand(&sim->scheduler, node);
        sim_person_released(sim, node);
    } else if (what == 8 && !there->out)
        fake_scheduler_give_up(&sim->scheduler, node, "Node unexpectedly rebooted");
    else
        there->jobs_are_stuck = !there->jobs_are_stuck;
    there->jobs = there->heard ? (int)draw(sim, 3) : 0;
}

static void opt_out(struct sim *sim, const char *node, bool opted_out)
{
    const struct service_node_change change = {.says_out = true, .opted_out = opted_out};
    struct node row;
    struct problem problem;
    (void)service_node_update(&sim->service, &sim_admin, SIM_CLUSTER, node, &change, 0, &row, &problem);
}

static void pause_cluster(struct sim *sim, bool pause)
{
    struct cluster cluster;
    struct problem problem;
    if (pause)
        (void)service_cluster_pause(&sim->service, &sim_admin, SIM_CLUSTER, "", &cluster, &problem);
    else
        (void)service_cluster_resume(&sim->service, &sim_admin, SIM_CLUSTER, "", &cluster, &problem);
}

static void api_person(struct sim *sim)
{
    static const enum operation_kind kinds[] = {OPERATION_KIND_REBOOT, OPERATION_KIND_REPLACE, OPERATION_KIND_RELEASE};
    const char *node = any_node(sim);
    struct operation op;
    struct cluster cluster;
    struct problem problem;
    uint32_t what = draw(sim, 12);
    clock_fake_advance(&sim->clock, 1); /* what comes after it is told from what came before */
    if (what < 3)
        (void)service_node_operate(&sim->service, &sim_admin, SIM_CLUSTER, node, kinds[what],
                                   draw(sim, 2) ? URGENCY_NOW : URGENCY_AFTER_JOBS, "", "", &op, &problem);
    else if (what < 6)
        (void)service_operation_cancel(&sim->service, &sim_admin, sim_read(sim, node).operation.uid, &op, &problem);
    else if (what < 9)
        opt_out(sim, node, draw(sim, 2) == 0);
    else if (what < 11)
        pause_cluster(sim, draw(sim, 2) == 0);
    else
        (void)change_recovery(&sim->service, &sim_admin, SIM_CLUSTER,
                              draw(sim, 3) ? NODE_RECOVERY_AUTOMATIC : NODE_RECOVERY_NONE, 0, &cluster, &problem);
    if (what < 3 && kinds[what] == OPERATION_KIND_RELEASE)
        sim_person_released(sim, node);
}

static void death(struct sim *sim)
{
    switch (draw(sim, 4)) {
    case 0:
        sim_crash(sim);
        break;
    case 1:
        sim->die_before_turn = sim->turns + 1 + draw(sim, 10);
        break;
    case 2:
        sim->outcome.die_before = sim->outcome.calls + 1 + draw(sim, 10);
        break;
    default:
        sim->outcome.die_after = sim->outcome.calls + 1 + draw(sim, 10);
    }
}

static void wire(struct sim *sim)
{
    sim->wire = (struct sim_wire){
        .lost_percent = (int)draw(sim, 40), .doubled_percent = (int)draw(sim, 40), .late_percent = (int)draw(sim, 40)};
}

static void bad_disk(struct sim *sim)
{
    static const int errors[] = {EIO, ENOSPC};
    sim_disk.good = (int)draw(sim, 30);
    sim_disk.bad = 1 + (int)draw(sim, 12);
    sim_disk.error = errors[draw(sim, ARRAY_LEN(errors))];
}

/* Somebody sets the clock, by some minutes forward or back; machines and agents go on by their own. */
static void clock_jump(struct sim *sim)
{
    int64_t by = ((int64_t)draw(sim, 2 * 300) - 300) * MS_PER_S;
    clock_fake_jump(&sim->clock, by);
    sim->beat_at += by;
    sim->storm_ends += by;
    for (int i = 0; i < sim->provider.count; i++)
        if (sim->provider.instances[i].up_at != INT64_MAX)
            sim->provider.instances[i].up_at += by;
}

/* All that hangs on one switch falls silent, or is heard again. */
static void dark_switch(struct sim *sim)
{
    const char *leaf = fake_scheduler_find(&sim->scheduler, any_node(sim))->leaf;
    bool dark = draw(sim, 3) != 0;
    for (int i = 0; i < sim->scheduler.count; i++) {
        struct fake_instance *instance = fake_provider_of_node(&sim->provider, sim->scheduler.nodes[i].name);
        if (instance != NULL && strcmp(sim->scheduler.nodes[i].leaf, leaf) == 0)
            instance->muted = dark;
    }
}

/* People begin to work on a machine, which may be off meanwhile, or are done. */
static void maintenance(struct sim *sim)
{
    struct fake_scheduler_node *node = fake_scheduler_find(&sim->scheduler, any_node(sim));
    struct fake_instance *instance = fake_provider_of_node(&sim->provider, node->name);
    node->maintenance = !node->maintenance;
    if (instance != NULL)
        instance->muted = node->maintenance && draw(sim, 2) == 0;
}

static int take_approval(const void *row, void *arg)
{
    *(struct approval *)arg = *(const struct approval *)row;
    return 1;
}

/* The newest question that waits is answered; one that waits no longer may be, too, and is refused. */
static void answer(struct sim *sim)
{
    struct approval asked = {0}, answered;
    struct problem problem;
    int state = draw(sim, 4) == 0 ? -1 : APPROVAL_STATE_ASKED;
    if (service_approval_list(&sim->service, state, 0, 1, take_approval, &asked, &problem) >= 0 && asked.id != 0)
        (void)service_approval_answer(&sim->service, &sim_admin, asked.uid, draw(sim, 3) != 0, "", &answered, &problem);
}

/* In the world of the second scheduler, whose nodes have the same names. */
static void elsewhere(struct sim *sim)
{
    static const int codes[] = {OFF_THE_BUS, DRIVER_ASKS_REPLACE, UNCONTAINED};
    if (sim->other_nodes == 0)
        return;
    struct fake_scheduler_node *node = &sim->other.nodes[draw(sim, (uint32_t)sim->other_nodes)];
    switch (draw(sim, 6)) {
    case 0:
        sim->other.down = draw(sim, 2) != 0;
        break;
    case 1:
        fake_scheduler_by_hand(&sim->other, node->name, false, "swapping a fan");
        break;
    case 2:
        fake_scheduler_resume_by_hand(&sim->other, node->name);
        break;
    default:
        sim_other_verdict(sim, node->name, codes[draw(sim, ARRAY_LEN(codes))], SEVERITY_CRITICAL);
    }
}

/* The provider plans something for a machine, moves its date, or announces it no longer. */
static void plan(struct sim *sim)
{
    struct fake_provider *provider = &sim->provider;
    const struct fake_instance *instance = fake_provider_of_node(provider, any_node(sim));
    int64_t due_at = clock_wall_ms(&sim->clock) + (int64_t)draw(sim, 20) * MS_PER_MIN;
    uint32_t what = draw(sim, 4);
    if (provider->notice_count > 0 && what == 0) {
        provider->notices[0] = provider->notices[--provider->notice_count];
    } else if (provider->notice_count > 0 && what == 1) {
        provider->notices[draw(sim, (uint32_t)provider->notice_count)].due_at = due_at;
    } else if (instance != NULL && provider->notice_count < (int)ARRAY_LEN(provider->notices)) {
        struct provider_notice *notice = &provider->notices[provider->notice_count++];
        *notice = (struct provider_notice){.kind = (enum provider_notice_kind)draw(sim, PROVIDER_NOTICE_DEGRADED + 1),
                                           .due_at = draw(sim, 4) == 0 ? 0 : due_at};
        snprintf(notice->id, sizeof(notice->id), "event-%" PRIu64, sim->turns);
        snprintf(notice->instance_id, sizeof(notice->instance_id), "%s", instance->id);
    }
}

static void something(struct sim *sim)
{
    if (sim->other_nodes > 0 && draw(sim, 3) == 0)
        elsewhere(sim);
    static void (*const happenings[])(struct sim *) = {fault,        fault,      fault, machine,     backends,
                                                       slurm_person, api_person, death, bad_disk,    clock_jump,
                                                       dark_switch,  answer,     wire,  maintenance, plan};
    happenings[draw(sim, ARRAY_LEN(happenings))](sim);
}

/* --- the end ----------------------------------------------------------------------------------- */

static void clear_up(struct sim *sim)
{
    struct cluster cluster;
    struct problem problem;
    sim_disk_fix();
    sim->wire = (struct sim_wire){0};
    sim->outcome = (struct fake_outcome){.calls = sim->outcome.calls, .dead = sim->outcome.dead, .clock = &sim->clock};
    sim->die_before_turn = 0;
    sim->resets = sim->resets == SIM_RESETS_NOT_OFFERED ? SIM_RESETS_NOT_OFFERED : SIM_RESETS_SUCCEED;
    sim->other.down = false;
    for (int i = 0; i < sim->other.count; i++)
        if (sim->other.nodes[i].out && strcmp(sim->other.nodes[i].user, "alice") == 0)
            fake_scheduler_resume_by_hand(&sim->other, sim->other.nodes[i].name);
    sim->scheduler.down = sim->provider.full = sim->provider.failed_to_provision = false;
    sim->provider.notice_count = 0;
    for (int i = 0; i < sim->provider.count; i++) {
        struct fake_instance *instance = &sim->provider.instances[i];
        instance->muted = instance->hangs = false;
        if (instance->up_at == INT64_MAX)
            instance->up_at = clock_wall_ms(&sim->clock);
    }
    for (int i = 0; i < sim->scheduler.count; i++) {
        struct fake_scheduler_node *node = &sim->scheduler.nodes[i];
        node->jobs = 0;
        node->maintenance = false;
        if (node->out && strcmp(node->user, "alice") == 0) {
            fake_scheduler_resume_by_hand(&sim->scheduler, node->name);
            sim_person_released(sim, node->name);
        }
        opt_out(sim, node->name, false);
    }
    pause_cluster(sim, false);
    (void)change_recovery(&sim->service, &sim_admin, SIM_CLUSTER, NODE_RECOVERY_AUTOMATIC, 0, &cluster, &problem);
}

static bool is_at_rest(struct sim *sim)
{
    static const enum node_state rest[] = {NODE_STATE_READY, NODE_STATE_HELD, NODE_STATE_FAILED};
    int resting = 0;
    for (size_t i = 0; i < ARRAY_LEN(rest); i++)
        resting += sim_count_state(sim, rest[i]);
    struct reconcile_stats stats;
    reconcile_stats(sim->reconcile, &stats);
    return resting == sim->nodes && stats.active_operations == 0;
}

/* Open breakers and budgets let the rest come one after another, so rest has to last. */
static void run_to_rest(struct sim *sim)
{
    int64_t until = clock_wall_ms(&sim->clock) + SETTLED_MS;
    for (int quiet = 0; quiet < 3;) {
        if (clock_wall_ms(&sim->clock) > until)
            sim_fail(sim, NULL, "no rest in %d hours", (int)(SETTLED_MS / MS_PER_HOUR));
        sim_run(sim, REST_MS);
        quiet = is_at_rest(sim) ? quiet + 1 : 0;
    }
}

static void bring_others_back(struct sim *sim)
{
    struct operation op;
    struct problem problem;
    for (int i = 0; i < sim->other.count; i++) {
        const char *name = sim->other.nodes[i].name;
        if (sim_other_state(sim, name) != NODE_STATE_READY &&
            service_node_operate(&sim->service, &sim_admin, SIM_OTHER, name, OPERATION_KIND_REPLACE, URGENCY_NOW, "",
                                 "", &op, &problem) != 0)
            sim_fail(sim, name, "in the other cluster: %s", problem.detail);
    }
    sim_run(sim, MS_PER_HOUR);
    if (!sim_other_is_ready(sim))
        sim_fail(sim, NULL, "a node of the second scheduler does not come back");
    for (int i = 0; i < sim->other.count; i++)
        if (sim->other.nodes[i].out)
            sim_fail(sim, sim->other.nodes[i].name, "in service, and out in the second scheduler");
}

/* Whatever is left, a person can bring back. */
static void bring_all_back(struct sim *sim)
{
    for (int i = 0; i < sim->scheduler.count; i++) {
        const char *name = sim->scheduler.nodes[i].name;
        struct operation op;
        struct problem problem;
        struct sim_reading reading = sim_read(sim, name);
        if (reading.row.state == NODE_STATE_READY)
            continue;
        const struct fake_instance *instance = fake_provider_of_node(&sim->provider, name);
        bool alive = instance != NULL && strcmp(instance->id, reading.instance.instance_id) == 0;
        sim_person_released(sim, name);
        if (service_node_operate(&sim->service, &sim_admin, SIM_CLUSTER, name,
                                 alive ? OPERATION_KIND_RELEASE : OPERATION_KIND_REPLACE, URGENCY_NOW, "", "", &op,
                                 &problem) != 0)
            sim_fail(sim, name, "%s", problem.detail);
    }
    sim_until_all_ready(sim, MS_PER_HOUR);
    bring_others_back(sim);
}

/* --- one world --------------------------------------------------------------------------------- */

/* What a site may have said of how much may be done at once. */
static void set_limits(struct sim *sim, uint64_t seed)
{
    struct policy_settings *policy = &sim->settings.policy;
    if (seed % 3 == 0)
        return;
    policy->budget_percent = 50;
    policy->budget_max = seed % 3 == 1 ? 0 : 3;
    policy->class_budget_max[FAULT_CLASS_GPU] = 1;
    policy->class_budget_percent[FAULT_CLASS_FABRIC] = 20;
    policy->min_healthy_count = seed % 3 == 1 ? 0 : sim->nodes / 2;
}

/* How far it may go: half of the worlds do all, the others less, for all faults or by class. */
static void set_modes(struct sim *sim, uint64_t seed)
{
    static const enum repair_mode modes[] = {REPAIR_MODE_APPROVE, REPAIR_MODE_APPROVE, REPAIR_MODE_OBSERVE,
                                             REPAIR_MODE_RECOMMEND};
    uint64_t which = seed / 3 % 10;
    for (int fault = 0; fault < FAULT_CLASS_COUNT && which >= 5; fault++)
        sim->settings.policy.modes[fault] =
            which < 5 + ARRAY_LEN(modes) ? modes[which - 5] : (enum repair_mode)((seed / 30 + (uint64_t)fault) % 4);
}

/* Two of three worlds have agents that reset GPUs, and nodes at work. */
static void set_work(struct sim *sim, uint64_t seed)
{
    sim->resets = seed % 3 == 0 ? SIM_RESETS_NOT_OFFERED : SIM_RESETS_SUCCEED;
    for (int i = 0; i < sim->scheduler.count; i++)
        sim->scheduler.nodes[i].jobs = seed % 3 == 1 ? 0 : (int)((seed + (uint64_t)i) % 3);
}

static void laws(struct sim *sim, struct db_tx *tx)
{
    sim_law_acts(sim, tx);
    sim_law_repairs(sim, tx);
    sim_law_steps(sim, tx);
}

/* Where the draws of a world begin: far from those of its neighbours, which else lived the same moments one draw later. */
static uint64_t stream_of(uint64_t seed)
{
    uint64_t high = fake_outcome_draw(&seed, UINT32_MAX);
    return high << 32 | fake_outcome_draw(&seed, UINT32_MAX);
}

static struct reboot_device device;

static void live(const struct sim *start, uint64_t seed)
{
    struct sim sim, wanted = *start;
    set_limits(&wanted, seed);
    set_modes(&wanted, seed);
    sim_fork(&wanted, &sim);
    sim.seed = seed;
    sim.random = stream_of(seed);
    sim.before_boot = sim_disk_fix;
    sim.more_laws = laws;
    set_work(&sim, seed);
    device = (struct reboot_device){.sim = &sim, .by_chance = true};
    sim.agents_reboot = seed % 8 < 4;
    id_source_seed(&sim.ids, 1000 + seed); /* other ids than the start had */
    sim.outcome.random = seed;
    sim.storm_ends = clock_wall_ms(&sim.clock) + (sim.nodes > 10 ? STORM_MS : SHORT_STORM_MS);
    while (clock_wall_ms(&sim.clock) < sim.storm_ends) {
        something(&sim);
        sim_run(&sim, (1 + draw(&sim, 2 * ACTION_EVERY_S)) * MS_PER_S);
        sim_check_evidence(&sim);
        if (seed % 2 == 0) /* reading all would cover up what a lost wake leads to later */
            sim_check_memory(&sim);
    }
    clear_up(&sim);
    run_to_rest(&sim);
    sim_check_memory(&sim);
    sim_check_evidence(&sim);
    sim_law_ending(&sim);
    bring_all_back(&sim);
    sim_close(&sim);
}

#define METHODS "{\"rebootMethods\":[\"agent\",\"ssh\",\"bmc\",\"provider\"]}"

/* others: of the cluster of a second scheduler; 0: there is none. */
static void make_with(struct sim *start, int nodes, int others, const char *spec)
{
    sim_open(start, 1, true);
    start->other_nodes = others;
    struct loop_settings *settings = &start->settings;
    settings->join_deadline_ms = settings->backend_deadline_ms = settings->verify_deadline_ms = 5 * MS_PER_MIN;
    for (int fault = 0; fault < FAULT_CLASS_COUNT; fault++) {
        settings->policy.drain_deadline_ms[fault] = 90 * MS_PER_S; /* within a storm, too */
        settings->policy.signal_deadline_ms[fault] = MS_PER_MIN;
        settings->policy.jobs[fault] = fault == FAULT_CLASS_GPU ? JOBS_RULE_SIGNAL : JOBS_RULE_TABLE;
    }
    settings->observe_interval_ms = 10 * MS_PER_S;
    settings->policy.breaker_window_ms = settings->policy.breaker_close_after_ms = REST_MS;
    settings->policy.unreachable_after_ms = 75 * MS_PER_S; /* within a short storm, too */
    settings->policy.notice_lead_ms = 2 * MS_PER_MIN;
    start->provider.says = true;
    start->beat_ms = 20 * MS_PER_S;
    settings->reboot_agent_ms = settings->reboot_ssh_ms = settings->reboot_bmc_ms = 2 * MS_PER_MIN;
    settings->reboot_provider_ms = 5 * MS_PER_MIN;
    settings->reboot_stuck_ms = MS_PER_MIN;
    start->spec = spec;
    sim_device_attach(&device, start);
    sim_crash(start); /* with these settings */
    if (others > 0)
        sim_ask_both(start, nodes);
    else
        sim_ask(start, nodes, NODE_RECOVERY_AUTOMATIC);
    for (int i = 0; i < start->scheduler.count; i++)
        snprintf(start->scheduler.nodes[i].leaf, sizeof(start->scheduler.nodes[i].leaf), "leaf-%d", i / LEAF_NODES);
    sim_until_all_ready(start, 30 * MS_PER_MIN);
    if (others > 0) {
        sim_run(start, 10 * MS_PER_MIN);
        assert_true(sim_other_is_ready(start));
    }
    sim_kill(start);
}

static void make(struct sim *start, int nodes)
{
    make_with(start, nodes, 0, SIM_SCRIPT);
}

/* The disk fails at the first write of each turn while a switch goes dark: nothing is decided by what is not stored. */
static void an_incident_is_stored_before_it_decides(void **state)
{
    static struct sim sim;
    (void)state;
    make(&sim, 6);
    sim_boot(&sim);
    sim_run(&sim, 2 * MS_PER_MIN); /* everybody is heard, and where they are is known */
    for (int i = 0; i < LEAF_NODES; i++)
        fake_provider_of_node(&sim.provider, sim.scheduler.nodes[i].name)->muted = true;
    for (int64_t until = clock_wall_ms(&sim.clock) + 4 * MS_PER_MIN; clock_wall_ms(&sim.clock) < until;) {
        sim_disk.bad = 1;
        sim_disk.error = EIO;
        sim_tick(&sim, until);
    }
    sim_disk_fix();
    sim_run(&sim, 5 * MS_PER_MIN);
    struct db_tx *tx = NULL;
    struct sim_reading reading = sim_read(&sim, sim.scheduler.nodes[0].name);
    assert_int_equal(reading.decision.rule, RULE_INCIDENT_HOLD);
    assert_int_equal(db_read_begin(sim.service.db, &tx), 0);
    assert_int_equal(db_decision_list(tx, reading.row.id, 1000, sim_law_incident_known, &sim), 0);
    db_read_end(sim.service.db, tx);
    sim_close(&sim);
}

static void worlds_end_well(void **state)
{
    static struct sim small, middle, large, two, methods;
    (void)state;
    make(&small, 5);
    make(&middle, 20);
    make(&large, 50);
    make_with(&two, 5, 3, SIM_SCRIPT);
    make_with(&methods, 5, 0, METHODS); /* the provider's, which can be relied on in the end, comes last */
    for (uint64_t seed = first_seed; seed < first_seed + seed_count; seed++)
        live(seed % LARGE_EVERY == 0     ? &large
             : seed % MIDDLE_EVERY == 0  ? &middle
             : seed % TWO_EVERY == 1     ? &two
             : seed % METHODS_EVERY == 3 ? &methods
                                         : &small,
             seed);
    assert_int_equal(file_remove_tree(two.dir), 0);
    assert_int_equal(file_remove_tree(methods.dir), 0);
    assert_int_equal(file_remove_tree(small.dir), 0);
    assert_int_equal(file_remove_tree(middle.dir), 0);
    assert_int_equal(file_remove_tree(large.dir), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_incident_is_stored_before_it_decides),
        cmocka_unit_test(worlds_end_well),
    };
    if (argc > 1)
        first_seed = strtoull(argv[1], NULL, 10);
    if (argc > 1)
        seed_count = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
