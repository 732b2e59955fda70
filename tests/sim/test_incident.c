/* Stories of what takes many nodes at once: found by where they sit, held, over, and remembered over a crash. */
#include "db/incident.h"
#include "server/service/node/node.h"
#include "tests/sim/sim_cluster.h"

#include <sqlite3.h>

#define NODES 10

/* gpu-1 to gpu-4 hang on leaf-0, gpu-5 to gpu-8 on leaf-1, the others on leaf-2. */
static void open_leaves(struct sim *sim, uint64_t seed)
{
    sim_open(sim, seed, true);
    sim_ask(sim, NODES, NODE_RECOVERY_AUTOMATIC);
    for (int i = 0; i < sim->scheduler.count; i++)
        snprintf(sim->scheduler.nodes[i].leaf, sizeof(sim->scheduler.nodes[i].leaf), "leaf-%d", i / 4);
    sim_until_all_ready(sim, 30 * MS_PER_MIN);
    sim_run(sim, MS_PER_MIN);
}

static void mute(struct sim *sim, int from, int to, bool muted)
{
    for (int i = from; i <= to; i++) {
        char name[16];
        snprintf(name, sizeof(name), "gpu-%d", i);
        fake_provider_of_node(&sim->provider, name)->muted = muted;
    }
}

static int take_incident(const void *row, void *arg)
{
    *(struct shared_incident *)arg = *(const struct shared_incident *)row;
    return 1;
}

/* The newest; id 0: none. */
static struct shared_incident newest(struct sim *sim)
{
    struct shared_incident incident = {.id = 0};
    struct db_tx *tx = NULL;
    const struct db_incident_filter all = {.limit = 1};
    assert_int_equal(db_read_begin(sim->service.db, &tx), 0);
    assert_true(db_incident_list(tx, &all, take_incident, &incident) >= 0);
    db_read_end(sim->service.db, tx);
    return incident;
}

static int touched(const struct sim *sim)
{
    return sim->provider.reboots + sim->provider.terminations;
}

static void slurm_says_where_nodes_are(void **state)
{
    struct sim sim;
    (void)state;
    open_leaves(&sim, 211);
    assert_string_equal(sim_read(&sim, "gpu-5").row.topology[TOPOLOGY_LEVEL_SWITCH], "leaf-1");
    sim_close(&sim);
}

static void a_dark_switch_is_one_incident_and_ends(void **state)
{
    struct sim sim;
    (void)state;
    open_leaves(&sim, 212);
    mute(&sim, 1, 4, true);
    sim_run(&sim, 20 * MS_PER_MIN);
    struct shared_incident incident = newest(&sim);
    assert_int_equal(incident.level, TOPOLOGY_LEVEL_SWITCH);
    assert_string_equal(incident.domain, "leaf-0");
    assert_int_equal(incident.cause, INCIDENT_CAUSE_UNREACHABLE);
    assert_int_equal(incident.affected, 4);
    assert_int_equal(sim_count_state(&sim, NODE_STATE_HELD), 4);
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_INCIDENT_OPENED, "gpu-1, gpu-2, gpu-3, gpu-4"), 1);
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_BREAKER_OPENED, NULL), 0);
    mute(&sim, 1, 4, false);
    sim_until_all_ready(&sim, 10 * MS_PER_MIN);
    sim_run(&sim, 10 * MS_PER_MIN);
    assert_true(newest(&sim).ended_at > 0);
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_INCIDENT_ENDED, NULL), 1);
    assert_int_equal(touched(&sim), 0);
    sim_close(&sim);
}

static void what_still_fails_when_the_place_is_back_is_repaired(void **state)
{
    struct sim sim;
    (void)state;
    open_leaves(&sim, 213);
    mute(&sim, 1, 4, true);
    sim_run(&sim, 20 * MS_PER_MIN);
    mute(&sim, 1, 3, false);
    sim_run(&sim, 4 * MS_PER_MIN);
    assert_int_equal(touched(&sim), 0); /* it may be on its way */
    sim_run(&sim, 30 * MS_PER_MIN);
    assert_true(newest(&sim).ended_at > 0);
    assert_true(touched(&sim) > 0);
    assert_int_equal(newest(&sim).id, 1); /* what is over makes no other one */
    sim_close(&sim);
}

static void an_incident_survives_a_crash(void **state)
{
    struct sim sim;
    (void)state;
    open_leaves(&sim, 214);
    mute(&sim, 1, 4, true);
    sim_run(&sim, 20 * MS_PER_MIN);
    sim_crash(&sim);
    sim_run(&sim, 2 * MS_PER_HOUR);
    assert_int_equal(newest(&sim).ended_at, 0);
    assert_int_equal(newest(&sim).affected, 4);
    assert_int_equal(touched(&sim), 0);
    mute(&sim, 1, 4, false);
    sim_until_all_ready(&sim, 10 * MS_PER_MIN);
    sim_run(&sim, 10 * MS_PER_MIN);
    assert_true(newest(&sim).ended_at > 0);
    assert_int_equal(newest(&sim).id, 1);
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_INCIDENT_OPENED, NULL), 1);
    sim_close(&sim);
}

static void meddle(const struct sim *sim, const char *sql)
{
    autofree char *path = own_printf("%s/holdfast.db", sim->dir);
    sqlite3 *store = NULL;
    assert_int_equal(sqlite3_open(path, &store), SQLITE_OK);
    assert_int_equal(sqlite3_exec(store, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(store);
}

static void nothing_is_decided_by_what_could_not_be_stored(void **state)
{
    struct sim sim;
    (void)state;
    open_leaves(&sim, 219);
    meddle(&sim, "CREATE TRIGGER no_incident BEFORE INSERT ON incident BEGIN SELECT RAISE(ABORT, 'no'); END");
    mute(&sim, 1, 4, true);
    sim_run(&sim, 20 * MS_PER_MIN);
    assert_int_equal(newest(&sim).id, 0);
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_DECISION, "incident-hold"), 0);
    meddle(&sim, "DROP TRIGGER no_incident");
    sim_run(&sim, 2 * MS_PER_MIN);
    assert_int_equal(newest(&sim).affected, 4);
    assert_int_equal(sim_count_state(&sim, NODE_STATE_HELD), 4);
    assert_int_equal(touched(&sim), 0);
    sim_close(&sim);
}

static void a_person_ends_it(void **state)
{
    struct sim sim;
    struct problem problem;
    struct shared_incident ended;
    (void)state;
    open_leaves(&sim, 215);
    mute(&sim, 1, 3, true); /* no more than the breaker allows */
    sim_run(&sim, 20 * MS_PER_MIN);
    assert_int_equal(service_incident_end(&sim.service, &sim_admin, newest(&sim).id, &ended, &problem), 0);
    sim_run(&sim, 30 * MS_PER_MIN);
    assert_true(touched(&sim) > 0);
    assert_int_equal(newest(&sim).id, ended.id);
    assert_int_equal(service_incident_end(&sim.service, &sim_admin, ended.id, &ended, &problem), STATUS_CONFLICT);
    sim_close(&sim);
}

static void link_says(struct sim *sim, const char *node, const char *code, enum severity severity)
{
    const struct fake_instance *instance = fake_provider_of_node(&sim->provider, node);
    struct sim_verdict said = {.acked = false};
    struct verdict *v = &said.verdict;
    snprintf(said.node, sizeof(said.node), "%s", node);
    snprintf(v->key, sizeof(v->key), "link-%" PRIu64, ++sim->verdict_number);
    snprintf(v->instance_id, sizeof(v->instance_id), "%s", instance->id);
    snprintf(v->boot_id, sizeof(v->boot_id), "%s", instance->boot_id);
    snprintf(v->device, sizeof(v->device), "eth0");
    snprintf(v->source, sizeof(v->source), "net");
    snprintf(v->code, sizeof(v->code), "%s", code);
    v->over = severity == SEVERITY_OK;
    snprintf(v->table_version, sizeof(v->table_version), "test");
    v->severity = severity;
    v->count = 1;
    v->first_at = v->last_at = clock_wall_ms(&sim->clock);
    sim_agent_report(sim, &said);
    assert_true(said.acked);
}

static void link_down(struct sim *sim, const char *node, enum severity severity)
{
    link_says(sim, node, "net.link.down", severity);
}

static void links_that_are_down_are_an_incident_of_the_network(void **state)
{
    struct sim sim;
    (void)state;
    open_leaves(&sim, 216);
    link_down(&sim, "gpu-5", SEVERITY_WARN);
    link_down(&sim, "gpu-6", SEVERITY_WARN);
    sim_run(&sim, MS_PER_MIN);
    assert_int_equal(newest(&sim).id, 0); /* two may be chance */
    link_down(&sim, "gpu-7", SEVERITY_WARN);
    sim_run(&sim, MS_PER_MIN);
    assert_int_equal(newest(&sim).cause, INCIDENT_CAUSE_NETWORK);
    assert_string_equal(newest(&sim).domain, "leaf-1");
    assert_int_equal(sim_count_state(&sim, NODE_STATE_READY), NODES); /* one link that is down costs no node */
    link_down(&sim, "gpu-5", SEVERITY_OK);
    link_down(&sim, "gpu-6", SEVERITY_OK);
    link_down(&sim, "gpu-7", SEVERITY_OK);
    sim_run(&sim, 10 * MS_PER_MIN);
    assert_true(newest(&sim).ended_at > 0);
    sim_close(&sim);
}

/* What belonged to an incident that is over makes no other one after a restart, and its beginning counts on. */
static void a_restart_brings_no_incident_back(void **state)
{
    struct sim sim;
    struct problem problem;
    struct shared_incident ended;
    (void)state;
    open_leaves(&sim, 220);
    for (int i = 5; i <= 7; i++) {
        char name[16];
        snprintf(name, sizeof(name), "gpu-%d", i);
        link_down(&sim, name, SEVERITY_WARN);
    }
    sim_run(&sim, MS_PER_MIN);
    assert_int_equal(newest(&sim).affected, 3);
    assert_int_equal(service_incident_end(&sim.service, &sim_admin, newest(&sim).id, &ended, &problem), 0);
    sim_run(&sim, 20 * MS_PER_S);
    for (int i = 0; i < 2; i++) {
        sim_crash(&sim);
        sim_run(&sim, 3 * MS_PER_MIN);
        assert_int_equal(newest(&sim).id, ended.id);
        assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_INCIDENT_OPENED, NULL), 1);
        sim.settings.policy.breaker_window_ms = MS_PER_S; /* what the breaker forgets so soon is spent all the same */
    }
    sim_close(&sim);
}

/* A link that is up again has flapped, too, and nothing takes that back. */
static void what_has_flapped_is_no_sign_for_ever(void **state)
{
    static const char *const nodes[] = {"gpu-5", "gpu-6", "gpu-7"};
    struct sim sim;
    (void)state;
    open_leaves(&sim, 218);
    for (size_t i = 0; i < ARRAY_LEN(nodes); i++)
        link_down(&sim, nodes[i], SEVERITY_WARN);
    sim_run(&sim, 3 * MS_PER_MIN);
    for (size_t i = 0; i < ARRAY_LEN(nodes); i++) {
        link_down(&sim, nodes[i], SEVERITY_OK);
        link_says(&sim, nodes[i], "net.link.flapping", SEVERITY_WARN);
    }
    sim_run(&sim, 8 * MS_PER_MIN);
    assert_int_equal(newest(&sim).ended_at, 0);
    assert_int_equal(newest(&sim).affected, 3);
    sim_run(&sim, 10 * MS_PER_MIN);
    assert_true(newest(&sim).ended_at > 0);
    link_says(&sim, "gpu-8", "net.link.flapping", SEVERITY_WARN);
    sim_run(&sim, 2 * MS_PER_HOUR);
    assert_int_equal(newest(&sim).id, 1);
    assert_int_equal(newest(&sim).nodes, 3);
    sim_close(&sim);
}

static void two_switches_become_one_rack(void **state)
{
    struct sim sim;
    struct problem problem;
    struct node row;
    const struct service_node_change rack = {.domain = {[TOPOLOGY_LEVEL_RACK] = "r1"}};
    (void)state;
    open_leaves(&sim, 217);
    for (int i = 1; i <= 8; i++) {
        char name[16];
        snprintf(name, sizeof(name), "gpu-%d", i);
        assert_int_equal(service_node_update(&sim.service, &sim_admin, SIM_CLUSTER, name, &rack, 0, &row, &problem), 0);
    }
    mute(&sim, 1, 4, true);
    sim_run(&sim, 2 * MS_PER_MIN);
    assert_string_equal(newest(&sim).domain, "leaf-0");
    mute(&sim, 5, 8, true);
    sim_run(&sim, 20 * MS_PER_MIN);
    assert_int_equal(newest(&sim).id, 1);
    assert_int_equal(newest(&sim).level, TOPOLOGY_LEVEL_RACK);
    assert_int_equal(newest(&sim).affected, 8);
    assert_int_equal(touched(&sim), 0);
    sim_close(&sim);
}

static void restart_machine(struct sim *sim, int number)
{
    char name[16];
    snprintf(name, sizeof(name), "gpu-%d", number);
    id_uuid(sim->provider.ids, fake_provider_of_node(&sim->provider, name)->boot_id);
}

/* They are back before anybody misses them, and it was one event all the same. */
static void machines_that_restart_together_are_one_event(void **state)
{
    struct sim sim;
    (void)state;
    open_leaves(&sim, 232);
    sim_run(&sim, MS_PER_HOUR);
    for (int i = 1; i <= 4; i++)
        restart_machine(&sim, i);
    sim_run(&sim, 5 * MS_PER_MIN);
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_INCIDENT_OPENED, NULL), 1);
    assert_int_equal(newest(&sim).cause, INCIDENT_CAUSE_POWER);
    assert_int_equal(newest(&sim).affected, 4);
    assert_int_equal(touched(&sim), 0);
    sim_run(&sim, MS_PER_HOUR);
    assert_true(newest(&sim).ended_at > 0);
    assert_int_equal(newest(&sim).id, 1);
    sim_close(&sim);
}

/* A person restarts one after the other, or hpd was away when it happened. */
static void machines_that_restart_one_by_one_are_no_event(void **state)
{
    struct sim sim;
    (void)state;
    open_leaves(&sim, 233);
    sim_run(&sim, MS_PER_HOUR);
    for (int i = 1; i <= 4; i++) {
        restart_machine(&sim, i);
        sim_run(&sim, MS_PER_MIN);
    }
    sim_run(&sim, 30 * MS_PER_MIN);
    for (int i = 1; i <= 4; i++)
        restart_machine(&sim, i);
    sim_crash(&sim);
    sim_run(&sim, 30 * MS_PER_MIN);
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_INCIDENT_OPENED, NULL), 0);
    sim_close(&sim);
}

static void place(struct sim *sim, int number, const char *chassis, const char *power)
{
    char name[16];
    struct problem problem;
    struct node row;
    struct service_node_change change = {.says_out = false};
    change.domain[TOPOLOGY_LEVEL_CHASSIS] = chassis;
    change.domain[TOPOLOGY_LEVEL_POWER_DOMAIN] = power;
    snprintf(name, sizeof(name), "gpu-%d", number);
    assert_int_equal(service_node_update(&sim->service, &sim_admin, SIM_CLUSTER, name, &change, 0, &row, &problem), 0);
    assert_string_equal(sim_read(sim, name).row.topology[TOPOLOGY_LEVEL_CHASSIS], chassis);
}

/* Its two machines, while the switch has four. */
static void a_chassis_of_two_that_restarts_is_one_event(void **state)
{
    struct sim sim;
    (void)state;
    open_leaves(&sim, 234);
    place(&sim, 1, "c1", NULL);
    place(&sim, 2, "c1", NULL);
    place(&sim, 3, "c2", NULL);
    sim_run(&sim, MS_PER_HOUR);
    restart_machine(&sim, 1);
    restart_machine(&sim, 3); /* of different ones: two that restart by chance */
    sim_run(&sim, MS_PER_HOUR);
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_INCIDENT_OPENED, NULL), 0);
    restart_machine(&sim, 1);
    restart_machine(&sim, 2);
    sim_run(&sim, 5 * MS_PER_MIN);
    assert_int_equal(newest(&sim).level, TOPOLOGY_LEVEL_CHASSIS);
    assert_string_equal(newest(&sim).domain, "c1");
    assert_int_equal(newest(&sim).cause, INCIDENT_CAUSE_POWER);
    assert_int_equal(newest(&sim).affected, 2);
    sim_run(&sim, MS_PER_HOUR);
    assert_true(newest(&sim).ended_at > 0);
    assert_int_equal(newest(&sim).id, 1);
    assert_int_equal(touched(&sim), 0);
    sim_close(&sim);
}

/* Machines of several switches hang on one line. */
static void a_line_of_power_is_one_event(void **state)
{
    struct sim sim;
    (void)state;
    open_leaves(&sim, 235);
    for (int i = 4; i <= 10; i += 2)
        place(&sim, i, "", "pdu-7");
    sim_run(&sim, MS_PER_HOUR);
    for (int i = 4; i <= 10; i += 2)
        restart_machine(&sim, i);
    sim_run(&sim, 5 * MS_PER_MIN);
    assert_int_equal(newest(&sim).level, TOPOLOGY_LEVEL_POWER_DOMAIN);
    assert_string_equal(newest(&sim).domain, "pdu-7");
    assert_int_equal(newest(&sim).affected, 4);
    assert_int_equal(touched(&sim), 0);
    sim_close(&sim);
}

static void restart_under_slurm(struct sim *sim, int from, int to)
{
    for (int i = from; i <= to; i++) {
        char name[16];
        snprintf(name, sizeof(name), "gpu-%d", i);
        restart_machine(sim, i);
        fake_scheduler_give_up(&sim->scheduler, name, "Node unexpectedly rebooted");
    }
}

/* Each machine would be a person's after the third restart in a day; these restarts are the rack's. */
static void restarts_of_a_place_do_not_count_against_its_machines(void **state)
{
    struct sim sim;
    (void)state;
    open_leaves(&sim, 236);
    for (int i = 0; i < 4; i++) {
        sim_run(&sim, 2 * MS_PER_HOUR);
        restart_under_slurm(&sim, 1, 4);
        sim_run(&sim, MS_PER_HOUR);
        sim_until_all_ready(&sim, MS_PER_HOUR);
        assert_false(fake_scheduler_find(&sim.scheduler, "gpu-1")->out);
        assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_INCIDENT_OPENED, NULL), i + 1);
    }
    for (int i = 0; i < 2; i++) { /* alone, twice: that counts, and is not the third */
        restart_under_slurm(&sim, 1, 1);
        sim_run(&sim, MS_PER_HOUR);
        assert_false(fake_scheduler_find(&sim.scheduler, "gpu-1")->out);
    }
    restart_under_slurm(&sim, 1, 4); /* the third, and not its own */
    sim_run(&sim, MS_PER_HOUR);
    assert_false(fake_scheduler_find(&sim.scheduler, "gpu-1")->out);
    restart_under_slurm(&sim, 1, 1);
    sim_run(&sim, MS_PER_HOUR);
    assert_true(fake_scheduler_find(&sim.scheduler, "gpu-1")->out); /* the third of its own */
    assert_int_equal(touched(&sim), 0);
    sim_close(&sim);
}

/* Others of its place are still dark, and this one restarts again and again: that is its own. */
static void who_keeps_restarting_meanwhile_does_so_by_itself(void **state)
{
    struct sim sim;
    (void)state;
    open_leaves(&sim, 237);
    sim_run(&sim, MS_PER_HOUR);
    mute(&sim, 2, 4, true);
    restart_under_slurm(&sim, 1, 4);
    sim_run(&sim, 20 * MS_PER_MIN);
    assert_int_equal(newest(&sim).id, 1);
    assert_int_equal(newest(&sim).ended_at, 0);
    assert_false(fake_scheduler_find(&sim.scheduler, "gpu-1")->out); /* with the others, and given back */
    int returns = 0;
    for (; returns < 8 && !fake_scheduler_find(&sim.scheduler, "gpu-1")->out; returns++) {
        restart_under_slurm(&sim, 1, 1);
        sim_run(&sim, 20 * MS_PER_MIN);
    }
    assert_int_equal(newest(&sim).ended_at, 0);
    assert_int_equal(returns, 3); /* the third of its own is a person's */
    assert_int_equal(sim_read(&sim, "gpu-1").row.attention, ATTENTION_DOWNED);
    assert_int_equal(touched(&sim), 0);
    sim_close(&sim);
}

/* The power of a place comes and goes faster than an incident of it ends: each return is the place's. */
static void a_place_that_flaps_is_left_to_nobody(void **state)
{
    struct sim sim;
    (void)state;
    open_leaves(&sim, 238);
    sim_run(&sim, MS_PER_HOUR);
    for (int i = 0; i < 5; i++) {
        restart_under_slurm(&sim, 1, 4);
        sim_run(&sim, 8 * MS_PER_MIN);
        for (int n = 1; n <= 4; n++) {
            char name[16];
            snprintf(name, sizeof(name), "gpu-%d", n);
            assert_false(fake_scheduler_find(&sim.scheduler, name)->out);
            assert_int_equal(sim_read(&sim, name).row.attention, ATTENTION_NONE);
        }
    }
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_INCIDENT_OPENED, NULL), 1);
    sim_until_all_ready(&sim, MS_PER_HOUR);
    for (int i = 0; i < 3; i++) { /* one that goes on alone does so by itself */
        assert_false(fake_scheduler_find(&sim.scheduler, "gpu-1")->out);
        sim_run(&sim, 20 * MS_PER_MIN);
        restart_under_slurm(&sim, 1, 1);
        sim_run(&sim, 20 * MS_PER_MIN);
    }
    assert_true(fake_scheduler_find(&sim.scheduler, "gpu-1")->out);
    assert_int_equal(touched(&sim), 0);
    sim_close(&sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slurm_says_where_nodes_are),
        cmocka_unit_test(a_dark_switch_is_one_incident_and_ends),
        cmocka_unit_test(what_still_fails_when_the_place_is_back_is_repaired),
        cmocka_unit_test(an_incident_survives_a_crash),
        cmocka_unit_test(nothing_is_decided_by_what_could_not_be_stored),
        cmocka_unit_test(a_person_ends_it),
        cmocka_unit_test(links_that_are_down_are_an_incident_of_the_network),
        cmocka_unit_test(a_restart_brings_no_incident_back),
        cmocka_unit_test(what_has_flapped_is_no_sign_for_ever),
        cmocka_unit_test(two_switches_become_one_rack),
        cmocka_unit_test(machines_that_restart_together_are_one_event),
        cmocka_unit_test(machines_that_restart_one_by_one_are_no_event),
        cmocka_unit_test(a_chassis_of_two_that_restarts_is_one_event),
        cmocka_unit_test(a_line_of_power_is_one_event),
        cmocka_unit_test(restarts_of_a_place_do_not_count_against_its_machines),
        cmocka_unit_test(who_keeps_restarting_meanwhile_does_so_by_itself),
        cmocka_unit_test(a_place_that_flaps_is_left_to_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
