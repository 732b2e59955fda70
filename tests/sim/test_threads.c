/*
 * The loop as it runs in hpd: a thread of its own, calls on the executor's threads, the store's writer thread, agents and
 * people on others, and the real clock. Nothing here is timed; it ends when what must come has come. Worth most under
 * the thread sanitizer.
 */
#include "server/service/cluster/cluster.h"
#include "tests/sim/sim_cluster.h"
#include "tests/sim/sim_other.h"

#include <pthread.h>
#include <stdatomic.h>

#define OFF_THE_BUS 79
#define NODES 12
#define PATIENCE_S 240
#define PAUSE_US 2000
#define SHARE 4 /* of the calls, of each of two schedulers */

/* Real time, and backends that one thread at a time may enter. */
struct live {
    struct sim sim;
    pthread_mutex_t backends;
    atomic_bool stop, hangs;       /* the latter: the second scheduler, in each cordon */
    atomic_int hanging, most_hung; /* calls of it, now and at most */
    atomic_int ends;               /* calls that end an instance */
    pthread_t agents;
};

static struct live live;

static int locked_observe(struct scheduler *s, struct scheduler_observation *ret_observation, char *error)
{
    pthread_mutex_lock(&live.backends);
    sim_daemons(&live.sim);
    int status = fake_scheduler_driver(&live.sim.scheduler).ops->observe(s, ret_observation, error);
    pthread_mutex_unlock(&live.backends);
    return status;
}

static int locked_cordon(struct scheduler *s, const char *node, const struct scheduler_owner *owner, const char *seen,
                         char *shown, char *error)
{
    pthread_mutex_lock(&live.backends);
    int status = fake_scheduler_driver(&live.sim.scheduler).ops->cordon(s, node, owner, seen, shown, error);
    pthread_mutex_unlock(&live.backends);
    return status;
}

static int hanging_cordon(struct scheduler *s, const char *node, const struct scheduler_owner *owner, const char *seen,
                          char *shown, char *error)
{
    int hanging = atomic_fetch_add(&live.hanging, 1) + 1;
    if (hanging > atomic_load(&live.most_hung))
        atomic_store(&live.most_hung, hanging);
    while (atomic_load(&live.hangs))
        usleep(PAUSE_US);
    atomic_fetch_sub(&live.hanging, 1);
    return locked_cordon(s, node, owner, seen, shown, error);
}

static int locked_jobs(struct scheduler *s, const char *node, struct scheduler_job **ret_jobs, size_t *ret_count,
                       char *error)
{
    pthread_mutex_lock(&live.backends);
    int status = fake_scheduler_driver(&live.sim.scheduler).ops->workloads(s, node, ret_jobs, ret_count, error);
    pthread_mutex_unlock(&live.backends);
    return status;
}

static int locked_uncordon(struct scheduler *s, const char *node, const struct scheduler_owner *owner, char *error)
{
    pthread_mutex_lock(&live.backends);
    int status = fake_scheduler_driver(&live.sim.scheduler).ops->uncordon(s, node, owner, error);
    pthread_mutex_unlock(&live.backends);
    return status;
}

static int locked_launch(struct provider *p, const struct provider_launch *launch,
                         struct provider_instance *ret_instance, char *error)
{
    pthread_mutex_lock(&live.backends);
    int status = fake_provider_driver(&live.sim.provider).ops->launch(p, launch, ret_instance, error);
    pthread_mutex_unlock(&live.backends);
    return status;
}

static int locked_describe(struct provider *p, const struct provider_target *target,
                           struct provider_instance *ret_instance, char *error)
{
    pthread_mutex_lock(&live.backends);
    int status = fake_provider_driver(&live.sim.provider).ops->describe(p, target, ret_instance, error);
    pthread_mutex_unlock(&live.backends);
    return status;
}

static int locked_reboot(struct provider *p, const struct provider_target *target, const char *key, char *error)
{
    pthread_mutex_lock(&live.backends);
    int status = fake_provider_driver(&live.sim.provider).ops->reboot(p, target, key, error);
    pthread_mutex_unlock(&live.backends);
    return status;
}

static int locked_terminate(struct provider *p, const struct provider_target *target, const char *key, char *error)
{
    atomic_fetch_add(&live.ends, 1);
    pthread_mutex_lock(&live.backends);
    int status = fake_provider_driver(&live.sim.provider).ops->terminate(p, target, key, error);
    pthread_mutex_unlock(&live.backends);
    return status;
}

static const struct scheduler_ops scheduler_ops = {
    .name = "slurm",
    .observe = locked_observe,
    .cordon = locked_cordon,
    .workloads = locked_jobs,
    .evict = NULL, /* no jobs here */
    .uncordon = locked_uncordon,
};

static const struct provider_ops provider_ops = {
    .name = "fake",
    .launch = locked_launch,
    .describe = locked_describe,
    .reboot = locked_reboot,
    .terminate = locked_terminate,
};

static void *agents(void *arg)
{
    (void)arg;
    while (!atomic_load(&live.stop)) {
        for (int i = 0; i < NODES * 2; i++) {
            pthread_mutex_lock(&live.backends);
            struct fake_instance copy = {0}, *instance = &live.sim.provider.instances[i];
            bool up = i < live.sim.provider.count && fake_instance_is_up(&live.sim.provider, instance);
            if (up)
                copy = *instance;
            pthread_mutex_unlock(&live.backends);
            if (!up)
                continue;
            sim_agent_beat(&live.sim, &copy);
            pthread_mutex_lock(&live.backends);
            if (strcmp(instance->boot_id, copy.boot_id) == 0) {
                instance->seq = copy.seq;
                instance->node_row = copy.node_row;
                memcpy(instance->credential, copy.credential, sizeof(copy.credential));
            }
            pthread_mutex_unlock(&live.backends);
        }
        usleep(PAUSE_US);
    }
    return NULL;
}

static void start_with(int others)
{
    struct sim *sim = &live.sim;
    static struct scheduler_ops other_ops;
    char error[DB_ERROR_MAX] = "";
    memset(&live, 0, sizeof(live));
    pthread_mutex_init(&live.backends, NULL);
    sim_make_dir(sim);
    sim->has_scheduler = true;
    fake_scheduler_init(&sim->scheduler, &sim->outcome);
    fake_scheduler_init(&sim->other, &sim->outcome);
    fake_provider_init(&sim->provider, NULL, NULL, &sim->outcome);
    sim->clock = *clock_system();
    sim->provider.clock = &sim->clock;
    sim->provider.boot_ms = 1;
    struct service *s = &sim->service;
    if (fresh_store_open(sim->dir, clock_system(), 0, &s->db, error) < 0)
        fail_msg("db_open: %s", error);
    s->fleet = fleet_new();
    s->clock = clock_system();
    s->memory = service_memory_new();
    loop_settings_default(&sim->settings);
    if (others > 0)
        sim->settings.steps_in_flight_max = 2 * SHARE;
    sim->executor = executor_threads_new(others > 0 ? reconcile_threads(&sim->settings, 2) : 4, 64);
    sim->settings.observe_interval_ms = 20;
    sim->settings.verify_quiet_ms = 1;
    sim->settings.retry_min_ms = 5;
    struct reconcile_deps deps = {.service = s, .executor = sim->executor, .settings = sim->settings};
    deps.schedulers[deps.scheduler_count++] = (struct reconcile_scheduler){
        .name = "slurm", .driver = {&scheduler_ops, fake_scheduler_driver(&sim->scheduler).self}};
    if (others > 0) {
        sim->other_nodes = others;
        other_ops = scheduler_ops;
        other_ops.name = "kubernetes";
        other_ops.cordon = hanging_cordon;
        deps.schedulers[deps.scheduler_count++] = (struct reconcile_scheduler){
            .name = SIM_OTHER, .driver = {&other_ops, fake_scheduler_plain_driver(&sim->other).self}};
    }
    deps.providers[deps.provider_count++] =
        (struct provider_driver){&provider_ops, fake_provider_driver(&sim->provider).self};
    assert_int_equal(reconcile_new(&deps, &sim->reconcile), 0);
    assert_int_equal(reconcile_start(sim->reconcile), 0);
    assert_int_equal(pthread_create(&live.agents, NULL, agents, NULL), 0);
}

static void start(void)
{
    start_with(0);
}

static void stop_all(void)
{
    atomic_store(&live.stop, true);
    pthread_join(live.agents, NULL);
    reconcile_stop(live.sim.reconcile);
    sim_kill(&live.sim);
    pthread_mutex_destroy(&live.backends);
    assert_int_equal(file_remove_tree(live.sim.dir), 0);
}

/* Waits until so many nodes are in service and so many reboots were done. */
static void wait_for(int ready, int reboots)
{
    for (int i = 0; i < PATIENCE_S * (1000000 / PAUSE_US); i++) {
        pthread_mutex_lock(&live.backends);
        int done = live.sim.provider.reboots;
        pthread_mutex_unlock(&live.backends);
        if (done == reboots && sim_count_state(&live.sim, NODE_STATE_READY) == ready)
            return;
        usleep(PAUSE_US);
    }
    sim_fail(&live.sim, NULL, "it does not come to %d ready nodes after %d reboots", ready, reboots);
}

static void report_of(const char *cluster, const char *node)
{
    pthread_mutex_lock(&live.backends);
    struct fake_instance copy = *fake_provider_of(&live.sim.provider, cluster, node);
    pthread_mutex_unlock(&live.backends);
    static _Atomic bool acked;
    struct problem problem;
    struct verdict v = {.severity = SEVERITY_CRITICAL, .count = 1, .first_at = clock_wall_ms(clock_system())};
    v.last_at = v.first_at;
    snprintf(v.key, sizeof(v.key), "key-%s-%s", cluster, node);
    snprintf(v.instance_id, sizeof(v.instance_id), "%s", copy.id);
    snprintf(v.boot_id, sizeof(v.boot_id), "%s", copy.boot_id);
    snprintf(v.device, sizeof(v.device), "0000:b9:00");
    snprintf(v.source, sizeof(v.source), "kmsg");
    snprintf(v.code, sizeof(v.code), "xid.%d", OFF_THE_BUS);
    assert_int_equal(
        service_agent_verdicts(&live.sim.service, copy.node_row, &v, 1, v.last_at, sim_acked, &acked, &problem), 0);
}

static void report(const char *node)
{
    report_of(SIM_CLUSTER, node);
}

static bool is_out_there(const char *node)
{
    pthread_mutex_lock(&live.backends);
    bool out = fake_scheduler_find(&live.sim.other, node)->out;
    pthread_mutex_unlock(&live.backends);
    return out;
}

/* Every call of the second scheduler hangs: it takes its share of them and no more, and the first one's node is repaired meanwhile. */
static void one_that_hangs_takes_no_more_than_its_share(void **state)
{
    enum { OTHERS = 3 * SHARE };
    char name[NODE_NAME_MAX_BYTES];
    (void)state;
    start_with(OTHERS);
    pthread_mutex_lock(&live.backends);
    sim_ask_both(&live.sim, NODES);
    pthread_mutex_unlock(&live.backends);
    wait_for(NODES, 0);
    for (int i = 0; i < PATIENCE_S * (1000000 / PAUSE_US) && !sim_other_is_ready(&live.sim); i++)
        usleep(PAUSE_US);
    assert_true(sim_other_is_ready(&live.sim));
    atomic_store(&live.hangs, true);
    for (int i = 1; i <= OTHERS; i++) {
        snprintf(name, sizeof(name), "gpu-%d", i);
        report_of(SIM_OTHER, name);
    }
    for (int i = 0; i < PATIENCE_S * (1000000 / PAUSE_US) && atomic_load(&live.hanging) < SHARE; i++)
        usleep(PAUSE_US);
    assert_int_equal(atomic_load(&live.hanging), SHARE);
    report("gpu-1");
    wait_for(NODES, 1);
    assert_int_equal(atomic_load(&live.hanging), SHARE);
    atomic_store(&live.hangs, false);
    for (int i = 1; i <= OTHERS; i++) {
        snprintf(name, sizeof(name), "gpu-%d", i);
        for (int k = 0; k < PATIENCE_S * (1000000 / PAUSE_US) && !is_out_there(name); k++)
            usleep(PAUSE_US);
    }
    assert_int_equal(atomic_load(&live.most_hung), SHARE);
    stop_all();
}

/* Of NODES nodes, under the first scheduler or under none. */
static struct cluster create_cluster(enum orchestrator orchestrator)
{
    struct service_group_spec group = {
        .name = "gpu", .instance_type = "test", .provider = "fake", .instance_count = NODES};
    const struct service_cluster_spec spec = {
        .name = SIM_CLUSTER, .orchestrator = orchestrator, .groups = &group, .group_count = 1};
    struct cluster cluster;
    struct problem problem = {0};
    if (service_cluster_create(&live.sim.service, &sim_admin, &spec, &cluster, &problem) != 0)
        fail_msg("%s", problem.detail);
    return cluster;
}

static void repairs_run_on_threads(void **state)
{
    (void)state;
    start();
    pthread_mutex_lock(&live.backends);
    for (int i = 1; i <= NODES; i++) {
        char name[NODE_NAME_MAX_BYTES];
        snprintf(name, sizeof(name), "gpu-%d", i);
        fake_scheduler_add(&live.sim.scheduler, name);
    }
    pthread_mutex_unlock(&live.backends);
    (void)create_cluster(ORCHESTRATOR_SLURM);
    wait_for(NODES, 0);
    report("gpu-1");
    report("gpu-2");
    report("gpu-3");
    wait_for(NODES, 3);
    struct reconcile_stats stats;
    reconcile_stats(live.sim.reconcile, &stats);
    assert_true(stats.decisions >= 3);
    stop_all();
}

/* A deletion is moved on and sends its call in one turn: while that call is under way, no second one is sent. */
static void an_operation_has_one_call_at_a_time(void **state)
{
    (void)state;
    start();
    struct problem problem = {0};
    struct reconcile_stats stats;
    struct cluster cluster = create_cluster(ORCHESTRATOR_NONE);
    wait_for(NODES, 0);
    pthread_mutex_lock(&live.backends); /* no call is answered before the loop has had turns for more of them */
    assert_int_equal(service_cluster_delete(&live.sim.service, &sim_admin, SIM_CLUSTER, &cluster, &problem), 0);
    for (int i = 0; i < PATIENCE_S * (1000000 / PAUSE_US) && atomic_load(&live.ends) == 0; i++)
        usleep(PAUSE_US);
    reconcile_stats(live.sim.reconcile, &stats);
    uint64_t turns = stats.turns + 3;
    for (int i = 0; i < PATIENCE_S * (1000000 / PAUSE_US) && stats.turns < turns; i++) {
        live.sim.service.wake(live.sim.service.wake_arg, SERVICE_WAKE_ALL, 0);
        usleep(PAUSE_US);
        reconcile_stats(live.sim.reconcile, &stats);
    }
    assert_true(stats.turns >= turns);
    pthread_mutex_unlock(&live.backends);
    for (int i = 0; i < PATIENCE_S * (1000000 / PAUSE_US) && sim_has_cluster(&live.sim, &cluster); i++)
        usleep(PAUSE_US);
    assert_false(sim_has_cluster(&live.sim, &cluster));
    assert_int_equal(atomic_load(&live.ends), NODES);
    stop_all();
}

/* Going down in the middle of everything neither hangs nor leaks. */
static void it_stops_in_the_middle(void **state)
{
    (void)state;
    start();
    (void)create_cluster(ORCHESTRATOR_NONE);
    stop_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(repairs_run_on_threads),
        cmocka_unit_test(one_that_hangs_takes_no_more_than_its_share),
        cmocka_unit_test(an_operation_has_one_call_at_a_time),
        cmocka_unit_test(it_stops_in_the_middle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
