/* Machines of a site's own: which spare is taken and for whom, the way to the bench and back, and that a kill takes and gives nothing twice. */
#include "tests/support/service_world.h"

#include "base/text.h"
#include "db/event.h"
#include "db/machine.h"
#include "db/verdict.h"
#include "server/live/machine_registry.h"
#include "server/provider/inventory/inventory.h"
#include "server/service/machine/machine.h"

#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- which, and for whom ------------------------------------------------------------------------------ */

static struct machine spare(int64_t id, const char *rack, const char *net_switch, int64_t since)
{
    struct machine machine = {.id = id,
                              .state = MACHINE_STATE_SPARE,
                              .changed_at = since,
                              .has_agent = true,
                              .checked = true,
                              .seen_at = WORLD_T0};
    text_copy_cut(machine.rack, sizeof(machine.rack), rack);
    text_copy_cut(machine.net_switch, sizeof(machine.net_switch), net_switch);
    return machine;
}

static void test_the_nearest_spare_that_is_ready_is_taken(void **state)
{
    (void)state;
    struct machine spares[] = {spare(1, "r1", "s1", 10), spare(2, "r2", "s3", 5), spare(3, "r2", "s2", 20)};
    struct machine_request request = {.now_ms = WORLD_T0, .node_id = 7};
    assert_int_equal(inventory_choose(&request, spares, 3), 1); /* nothing is near: a spare the longest */
    request.before = spare(9, "r2", "s2", 0);
    assert_int_equal(inventory_choose(&request, spares, 3), 2); /* its switch */
    spares[2].seen_at = WORLD_T0 - MACHINE_SILENT_MS - 1;
    assert_int_equal(inventory_choose(&request, spares, 3), 1); /* its rack */
    text_copy_cut(spares[1].trouble, sizeof(spares[1].trouble), "xid.79");
    assert_int_equal(inventory_choose(&request, spares, 3), 0);
    spares[0].checked = false;
    assert_int_equal(inventory_choose(&request, spares, 3), MACHINE_NONE);
    assert_int_equal(inventory_choose(&request, spares, 0), MACHINE_NONE);
}

/* No rack is not the same rack. */
static void test_a_place_that_nobody_named_is_near_to_nothing(void **state)
{
    (void)state;
    const struct machine spares[] = {spare(1, "", "", 10), spare(2, "r1", "", 20)};
    struct machine_request request = {.now_ms = WORLD_T0, .before = spare(9, "", "", 0)};
    assert_int_equal(inventory_choose(&request, spares, 2), 0);
    request.before = spare(9, "r1", "", 0);
    assert_int_equal(inventory_choose(&request, spares, 2), 1);
}

static void test_the_last_spare_goes_to_who_lacks_the_fewest(void **state)
{
    (void)state;
    const struct machine spares[] = {spare(1, "", "", 10), spare(2, "", "", 20)};
    const struct machine_demand demands[] = {
        {.node_id = 1, .group_id = 1, .since = 1, .missing = 2},
        {.node_id = 2, .group_id = 1, .since = 2, .missing = 2},
        {.node_id = 3, .group_id = 2, .since = 9, .missing = 1},
    };
    struct machine_request request = {.now_ms = WORLD_T0, .demands = demands, .demand_count = 3};
    const long last[] = {MACHINE_FOR_OTHERS, MACHINE_FOR_OTHERS, 0}, two[] = {0, MACHINE_FOR_OTHERS, 0};
    for (int i = 0; i < 3; i++) {
        request.node_id = i + 1;
        assert_int_equal(inventory_choose(&request, spares, 1), last[i]);
        assert_int_equal(inventory_choose(&request, spares, 2), two[i]);
    }
    request.node_id = 4; /* the store has not seen its launch: it is not kept from a spare */
    assert_int_equal(inventory_choose(&request, spares, 1), 0);
}

/* --- a world with an inventory -------------------------------------------------------------------------- */

struct inventory_world {
    struct world world;
    struct service_backends backends;
    struct provider_driver provider;
    char credentials[8][SERVICE_TOKEN_TEXT_MAX];
};

static void on_open(struct inventory_world *w)
{
    const struct machine_store store = service_machine_store(&w->world.service);
    w->world.service.machines = machine_registry_new();
    w->backends = (struct service_backends){.providers = {"local", "rack"},
                                            .provider_count = 2,
                                            .inventories = {"rack"},
                                            .burn_in_ms = {MS_PER_MIN},
                                            .inventory_count = 1};
    w->world.service.backends = &w->backends;
    w->provider = inventory_new("rack", &store);
}

static void make_cluster(struct inventory_world *w)
{
    struct service_group_spec group = {.name = "gpu", .provider = "rack", .instance_count = 3};
    const struct service_cluster_spec spec = {
        .name = "ml", .orchestrator = ORCHESTRATOR_NONE, .groups = &group, .group_count = 1};
    struct cluster cluster;
    if (service_cluster_create(&w->world.service, &world_admin, &spec, &cluster, &w->world.problem) != 0)
        fail_msg("%s", w->world.problem.detail);
}

static void open_world(struct inventory_world *w, unsigned flags)
{
    world_open(&w->world, flags);
    make_cluster(w);
    on_open(w);
}

static void close_world(struct inventory_world *w)
{
    w->provider.ops->free(w->provider.self);
    machine_registry_free(w->world.service.machines);
    world_close(&w->world);
}

static struct machine get(struct inventory_world *w, const char *name)
{
    struct machine machine;
    assert_int_equal(service_machine_get(&w->world.service, name, &machine, &w->world.problem), 0);
    return machine;
}

static struct service_spare_answer report(struct inventory_world *w, const char *bearer, const char *name, bool checked,
                                          const char *trouble)
{
    struct service_spare_report said = {.boot_id = WORLD_BOOT, .checked = checked};
    struct service_spare_answer answer;
    text_copy_cut(said.machine, sizeof(said.machine), name);
    text_copy_cut(said.trouble, sizeof(said.trouble), trouble);
    if (service_spare_report(&w->world.service, bearer, &said, &answer, &w->world.problem) != 0)
        fail_msg("%s: %s", name, w->world.problem.detail);
    return answer;
}

/* Added, with an agent that found nothing wrong. */
static void add(struct inventory_world *w, int at, const char *name, const char *rack)
{
    struct service *s = &w->world.service;
    const struct service_machine_spec spec = {.name = name, .rack = rack};
    struct machine machine;
    struct token token;
    char text[SERVICE_TOKEN_TEXT_MAX];
    assert_int_equal(service_machine_add(s, &world_operator, &spec, &machine, &w->world.problem), 0);
    assert_int_equal(service_token_create_machines(s, &world_admin, 0, &token, text, &w->world.problem), 0);
    const struct service_spare_answer answer = report(w, text, name, true, "");
    memcpy(w->credentials[at], answer.secret, sizeof(answer.secret));
    assert_true(text_starts_with(answer.secret, "hfm_"));
}

static int launch(struct inventory_world *w, const char *instance_id, struct provider_instance *ret_instance,
                  char error[PROVIDER_ERROR_MAX])
{
    char key[KEY_MAX_BYTES];
    snprintf(key, sizeof(key), "launch/%s", instance_id);
    const struct provider_launch launch = {.key = key, .instance_id = instance_id, .instance_type = ""};
    return w->provider.ops->launch(w->provider.self, &launch, ret_instance, error);
}

static int give_back(struct inventory_world *w, const char *instance_id, bool broken, char error[PROVIDER_ERROR_MAX])
{
    const struct provider_target target = {
        .instance_id = instance_id, .broken = broken, .fault = broken, .why = "xid.79 on GPU 3"};
    return w->provider.ops->terminate(w->provider.self, &target, "", error);
}

static void slot(struct inventory_world *w, const char *node, const char *instance_id)
{
    char unused[SERVICE_TOKEN_TEXT_MAX];
    world_launch(&w->world, "ml", node, instance_id, unused);
}

static void test_a_launch_takes_a_spare_and_its_agent_becomes_the_nodes(void **state)
{
    (void)state;
    struct inventory_world w;
    struct provider_instance instance;
    char error[PROVIDER_ERROR_MAX] = "";
    open_world(&w, DB_INLINE);
    slot(&w, "gpu-1", "i-1");
    assert_int_equal(launch(&w, "i-1", &instance, error), STATUS_FULL);
    assert_string_equal(error, "the inventory has no spare of the type \"\"");
    add(&w, 0, "m1", "r1");
    assert_int_equal(launch(&w, "i-1", &instance, error), 0);
    assert_string_equal(instance.ref, "m1");
    assert_int_equal(instance.state, PROVIDER_INSTANCE_RUNNING);
    assert_int_equal(launch(&w, "i-1", &instance, error), 0); /* the same */
    assert_string_equal(instance.ref, "m1");
    assert_int_equal(get(&w, "m1").state, MACHINE_STATE_IN_USE);

    const struct service_spare_answer answer = report(&w, w.credentials[0], "m1", true, "");
    assert_string_equal(answer.node, "gpu-1");
    assert_string_equal(answer.instance_id, "i-1");
    int64_t node_id = 0;
    assert_int_equal(
        service_agent_authenticate(&w.world.service, answer.credential, strlen(answer.credential), &node_id), 0);
    assert_int_equal(node_id, world_node_get(&w.world, "ml", "gpu-1").id);
    assert_int_equal(world_instance(&w.world, "i-1").boot_at, WORLD_T0); /* since when it is known to be well */
    const struct node node = world_node_get(&w.world, "ml", "gpu-1");
    assert_string_equal(node.topology[TOPOLOGY_LEVEL_RACK], "r1"); /* where its machine stands */
    close_world(&w);
}

/* After a start of hpd no spare is ready before its agent is heard, and that wakes who waits. */
static void test_a_spare_that_is_heard_again_wakes_who_waits(void **state)
{
    (void)state;
    struct inventory_world w;
    struct provider_instance instance;
    char error[PROVIDER_ERROR_MAX] = "";
    open_world(&w, DB_INLINE);
    add(&w, 0, "m1", "r1");
    machine_registry_free(w.world.service.machines);
    w.world.service.machines = machine_registry_new();
    slot(&w, "gpu-1", "i-1");
    assert_int_equal(launch(&w, "i-1", &instance, error), STATUS_FULL);
    assert_string_equal(error, "none of 1 spares is ready: of m1 its agent is not seen");
    int wakes = atomic_load(&w.world.wakes);
    report(&w, w.credentials[0], "m1", true, "");
    assert_true(atomic_load(&w.world.wakes) > wakes);
    wakes = atomic_load(&w.world.wakes);
    report(&w, w.credentials[0], "m1", true, ""); /* nothing is new */
    assert_int_equal(atomic_load(&w.world.wakes), wakes);
    assert_int_equal(launch(&w, "i-1", &instance, error), 0);
    close_world(&w);
}

static void test_a_broken_machine_stays_at_the_bench_until_a_person_returns_it(void **state)
{
    (void)state;
    struct inventory_world w;
    struct provider_instance instance;
    struct machine machine;
    char error[PROVIDER_ERROR_MAX] = "";
    open_world(&w, DB_INLINE);
    add(&w, 0, "m1", "r1");
    slot(&w, "gpu-1", "i-1");
    assert_int_equal(launch(&w, "i-1", &instance, error), 0);
    assert_int_equal(give_back(&w, "i-1", true, error), 0);
    assert_int_equal(give_back(&w, "i-1", true, error), STATUS_NOT_FOUND); /* once */
    machine = get(&w, "m1");
    assert_int_equal(machine.state, MACHINE_STATE_BENCH);
    assert_string_equal(machine.reason, "xid.79 on GPU 3");
    assert_int_equal(launch(&w, "i-1", &instance, error), STATUS_CONFLICT); /* late: nobody waits for it */
    slot(&w, "gpu-2", "i-2");
    assert_int_equal(launch(&w, "i-2", &instance, error), STATUS_FULL);
    report(&w, w.credentials[0], "m1", true, "");
    assert_int_equal(get(&w, "m1").state, MACHINE_STATE_BENCH);

    assert_int_equal(service_machine_move(&w.world.service, &world_viewer, "m1", MACHINE_STATE_BURN_IN, "", &machine,
                                          &w.world.problem),
                     STATUS_DENIED);
    assert_int_equal(service_machine_move(&w.world.service, &world_operator, "m1", MACHINE_STATE_BURN_IN,
                                          "GPU 3 was changed", &machine, &w.world.problem),
                     0);
    report(&w, w.credentials[0], "m1", true, "");
    assert_int_equal(launch(&w, "i-2", &instance, error), STATUS_FULL);
    clock_fake_advance(&w.world.clock, MS_PER_MIN - 1);
    report(&w, w.credentials[0], "m1", true, "xid.48"); /* begins anew */
    report(&w, w.credentials[0], "m1", true, "");
    clock_fake_advance(&w.world.clock, MS_PER_MIN - 1);
    report(&w, w.credentials[0], "m1", true, "");
    assert_int_equal(get(&w, "m1").state, MACHINE_STATE_BURN_IN);
    clock_fake_advance(&w.world.clock, 1);
    report(&w, w.credentials[0], "m1", true, "");
    assert_int_equal(get(&w, "m1").state, MACHINE_STATE_SPARE);
    assert_int_equal(launch(&w, "i-2", &instance, error), 0);
    assert_int_equal(give_back(&w, "i-2", false, error), 0); /* well: a spare at once */
    assert_int_equal(get(&w, "m1").state, MACHINE_STATE_SPARE);
    close_world(&w);
}

static void test_a_lemon_becomes_no_spare(void **state)
{
    (void)state;
    struct inventory_world w;
    struct provider_instance instance;
    struct machine machine;
    char error[PROVIDER_ERROR_MAX] = "";
    open_world(&w, DB_INLINE);
    add(&w, 0, "m1", "r1");
    for (int i = 1; i <= MACHINE_LEMON_FAULTS; i++) {
        char id[ID_INSTANCE_MAX];
        snprintf(id, sizeof(id), "i-%d", i);
        report(&w, w.credentials[0], "m1", true, "");
        slot(&w, "gpu-1", id);
        assert_int_equal(launch(&w, id, &instance, error), 0);
        assert_int_equal(give_back(&w, id, true, error), 0);
        assert_int_equal(service_machine_move(&w.world.service, &world_operator, "m1", MACHINE_STATE_BURN_IN, "",
                                              &machine, &w.world.problem),
                         0);
        if (i < MACHINE_LEMON_FAULTS)
            assert_int_equal(service_machine_move(&w.world.service, &world_operator, "m1", MACHINE_STATE_SPARE, "",
                                                  &machine, &w.world.problem),
                             0);
    }
    assert_int_equal(service_machine_move(&w.world.service, &world_operator, "m1", MACHINE_STATE_SPARE, "", &machine,
                                          &w.world.problem),
                     STATUS_CONFLICT);
    assert_non_null(strstr(w.world.problem.detail, "lemon"));
    report(&w, w.credentials[0], "m1", true, "");
    clock_fake_advance(&w.world.clock, MS_PER_MIN);
    report(&w, w.credentials[0], "m1", true, "");
    assert_int_equal(get(&w, "m1").state, MACHINE_STATE_BENCH);
    close_world(&w);
}

static void test_who_may_speak_for_a_machine(void **state)
{
    (void)state;
    struct inventory_world w;
    struct service_spare_report said = {.machine = "m1", .boot_id = WORLD_BOOT};
    struct service_spare_answer answer;
    struct token token;
    char text[SERVICE_TOKEN_TEXT_MAX], enrollment[SERVICE_TOKEN_TEXT_MAX], flipped[SERVICE_TOKEN_TEXT_MAX];
    open_world(&w, DB_INLINE);
    struct service *s = &w.world.service;
    add(&w, 0, "m1", "r1");
    assert_int_equal(service_token_create_machines(s, &world_admin, 0, &token, text, &w.world.problem), 0);
    /* A token takes no machine from an agent that is heard, and one for a cluster's nodes is none for machines. */
    assert_int_equal(service_spare_report(s, text, &said, &answer, &w.world.problem), STATUS_CONFLICT);
    assert_int_equal(
        service_token_create_enrollment(s, &world_admin, "ml", "", 0, &token, enrollment, &w.world.problem), 0);
    memcpy(flipped, w.credentials[0], sizeof(flipped));
    flipped[strlen(flipped) - 1] ^= 1;
    const char *const bad[] = {NULL, "", "hfm_", "hfm_1", "hfm_1.", "hfm_99.x", "hfm_x.y", enrollment, flipped};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_int_equal(service_spare_report(s, bad[i], &said, &answer, &w.world.problem), STATUS_UNAUTHENTICATED);
    text_copy_cut(said.machine, sizeof(said.machine), "m2");
    assert_int_equal(service_spare_report(s, w.credentials[0], &said, &answer, &w.world.problem), STATUS_DENIED);
    assert_int_equal(service_spare_report(s, text, &said, &answer, &w.world.problem), STATUS_NOT_FOUND);
    /* One that is not heard any more makes way. */
    text_copy_cut(said.machine, sizeof(said.machine), "m1");
    clock_fake_advance(&w.world.clock, MACHINE_SILENT_MS);
    assert_int_equal(service_spare_report(s, text, &said, &answer, &w.world.problem), 0);
    assert_int_equal(service_spare_report(s, w.credentials[0], &said, &answer, &w.world.problem),
                     STATUS_UNAUTHENTICATED);
    close_world(&w);
}

/* The agent of a machine in use reports as its node's, and a host that was installed with its name takes nothing from it. */
static void test_a_token_takes_no_machine_that_works(void **state)
{
    (void)state;
    struct inventory_world w;
    struct service_spare_report said = {.machine = "m1", .boot_id = WORLD_BOOT};
    struct service_spare_answer answer;
    struct provider_instance instance;
    struct token token;
    char text[SERVICE_TOKEN_TEXT_MAX], error[PROVIDER_ERROR_MAX] = "";
    open_world(&w, DB_INLINE);
    struct service *s = &w.world.service;
    add(&w, 0, "m1", "r1");
    slot(&w, "gpu-1", "i-1");
    assert_int_equal(launch(&w, "i-1", &instance, error), 0);
    report(&w, w.credentials[0], "m1", true, ""); /* it becomes the node's agent */
    int64_t node_id = world_node_get(&w.world, "ml", "gpu-1").id;
    clock_fake_advance(&w.world.clock, 2 * MACHINE_SILENT_MS);
    assert_int_equal(world_beat(&w.world, node_id, "i-1", WORLD_BOOT, 1), 0);
    assert_int_equal(service_token_create_machines(s, &world_admin, 0, &token, text, &w.world.problem), 0);
    assert_int_equal(service_spare_report(s, text, &said, &answer, &w.world.problem), STATUS_CONFLICT);
    close_world(&w);
}

/* --- killed ---------------------------------------------------------------------------------------------- */

struct tally {
    int64_t open, taken;
};

static int count_use(const void *row, void *arg)
{
    struct tally *tally = arg;
    tally->taken++;
    tally->open += ((const struct machine_use *)row)->given_back_at == 0;
    return 0;
}

static int count_uses(struct db_tx *tx, void *arg)
{
    struct machine machine;
    for (int64_t id = 1; id <= 3; id++)
        if (db_machine_get_row(tx, id, &machine) == 0) {
            struct tally of_one = {0, 0}, *sum = arg;
            assert_int_equal(db_machine_use_list(tx, id, 0, count_use, &of_one), 0);
            assert_true(of_one.open <= 1);
            assert_int_equal(of_one.open, machine.state == MACHINE_STATE_IN_USE);
            sum->open += of_one.open;
            sum->taken += of_one.taken;
        }
    return 0;
}

static void reopen(struct inventory_world *w)
{
    char error[DB_ERROR_MAX];
    db_close(w->world.service.db);
    assert_int_equal(db_open(w->world.dir, &w->world.clock, DB_INLINE, &w->world.service.db, error), 0);
}

/* A child takes, and gives back at odd turns, and is ended at some moment of it. */
static void do_and_die(struct inventory_world *w, const char *instance_id, bool gives, long after_us)
{
    struct itimerval timer = {.it_value = {.tv_usec = after_us}};
    struct provider_instance instance;
    char error[PROVIDER_ERROR_MAX], db_error[DB_ERROR_MAX];
    db_close(w->world.service.db);
    pid_t pid = fork();
    if (pid == 0) {
        if (db_open(w->world.dir, &w->world.clock, DB_INLINE, &w->world.service.db, db_error) != 0)
            _exit(1);
        setitimer(ITIMER_REAL, &timer, NULL); /* SIGALRM ends it where it stands, as a kill would */
        (void)launch(w, instance_id, &instance, error);
        if (gives)
            (void)give_back(w, instance_id, true, error);
        for (;;)
            pause();
    }
    int wait_status;
    assert_int_equal(waitpid(pid, &wait_status, 0), pid);
    assert_true(WIFSIGNALED(wait_status));
    assert_int_equal(db_open(w->world.dir, &w->world.clock, DB_INLINE, &w->world.service.db, db_error), 0);
}

static void test_a_kill_takes_and_gives_back_nothing_twice(void **state)
{
    (void)state;
    struct inventory_world w;
    struct provider_instance instance;
    struct machine machine;
    char error[PROVIDER_ERROR_MAX], unused[SERVICE_TOKEN_TEXT_MAX];
    open_world(&w, DB_INLINE);
    add(&w, 0, "m1", "r1");
    add(&w, 1, "m2", "r1");
    add(&w, 2, "m3", "r2");
    for (int i = 1; i <= 60; i++) {
        char id[ID_INSTANCE_MAX], node[NODE_NAME_MAX_BYTES];
        struct tally tally = {0, 0};
        bool gives = i % 2 == 1;
        snprintf(id, sizeof(id), "i-%d", i);
        snprintf(node, sizeof(node), "gpu-%d", i % 3 + 1);
        world_launch(&w.world, "ml", node, id, unused);
        do_and_die(&w, id, gives, 1 + (i * 137) % 4000);
        /* It goes on as after any start. */
        int status = launch(&w, id, &instance, error);
        assert_true(status == 0 || (gives && status == STATUS_CONFLICT));
        if (status == 0)
            assert_int_equal(give_back(&w, id, true, error), 0);
        assert_int_equal(give_back(&w, id, true, error), STATUS_NOT_FOUND);
        world_write(&w.world, count_uses, &tally);
        assert_int_equal(tally.open, 0);
        assert_int_equal(tally.taken, i);
        /* People are quick here. */
        for (int m = 1; m <= 3; m++) {
            char name[8];
            snprintf(name, sizeof(name), "m%d", m);
            clock_fake_advance(&w.world.clock, MACHINE_LEMON_MS);
            if (get(&w, name).state != MACHINE_STATE_BENCH)
                continue;
            assert_int_equal(service_machine_move(&w.world.service, &world_operator, name, MACHINE_STATE_BURN_IN, "",
                                                  &machine, &w.world.problem),
                             0);
            assert_int_equal(service_machine_move(&w.world.service, &world_operator, name, MACHINE_STATE_SPARE, "",
                                                  &machine, &w.world.problem),
                             0);
        }
        for (int m = 0; m < 3; m++) {
            char name[8];
            snprintf(name, sizeof(name), "m%d", m + 1);
            report(&w, w.credentials[m], name, true, "");
        }
    }
    reopen(&w);
    close_world(&w);
}

#define OTHERS 2100

struct writing {
    struct world *world;
    int64_t node_id;
};

/* One verdict of the machine, and then those of the next machine in its slot. */
static int write_verdicts(struct db_tx *tx, void *arg)
{
    const struct writing *writing = arg;
    enum db_verdict_change change;
    int status = 0;
    for (int i = 0; i <= OTHERS && status == 0; i++) {
        char key[16];
        snprintf(key, sizeof(key), "key-%d", i);
        struct verdict verdict = world_verdict(writing->world, i == 0 ? "i-1" : "i-2", key, "xid.79");
        verdict.node_id = writing->node_id;
        status = db_verdict_put(tx, &verdict, &change);
    }
    return status;
}

static void no_machine(const struct machine *machine, void *arg)
{
    (void)machine;
    (void)arg;
}
static void no_use(const struct machine_use *use, void *arg)
{
    (void)use;
    (void)arg;
}

static void count_verdict(const struct verdict *verdict, void *arg)
{
    assert_string_equal(verdict->instance_id, "i-1");
    ++*(int *)arg;
}

/* A vendor's ticket lacks nothing because the slot has had much to say since. */
static void test_evidence_is_found_behind_that_of_other_machines(void **state)
{
    (void)state;
    struct inventory_world w;
    struct provider_instance instance;
    char error[PROVIDER_ERROR_MAX] = "";
    int verdicts = 0;
    open_world(&w, DB_INLINE);
    add(&w, 0, "m1", "r1");
    slot(&w, "gpu-1", "i-1");
    assert_int_equal(launch(&w, "i-1", &instance, error), 0);
    assert_int_equal(give_back(&w, "i-1", true, error), 0);
    struct writing writing = {.world = &w.world, .node_id = world_node_get(&w.world, "ml", "gpu-1").id};
    world_write(&w.world, write_verdicts, &writing);
    const struct service_evidence_sink sink = {
        .machine = no_machine, .use = no_use, .verdict = count_verdict, .arg = &verdicts};
    assert_int_equal(service_machine_evidence(&w.world.service, "m1", &sink, &w.world.problem), 0);
    assert_int_equal(verdicts, 1);
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_nearest_spare_that_is_ready_is_taken),
        cmocka_unit_test(test_a_place_that_nobody_named_is_near_to_nothing),
        cmocka_unit_test(test_the_last_spare_goes_to_who_lacks_the_fewest),
        cmocka_unit_test(test_a_launch_takes_a_spare_and_its_agent_becomes_the_nodes),
        cmocka_unit_test(test_a_spare_that_is_heard_again_wakes_who_waits),
        cmocka_unit_test(test_a_broken_machine_stays_at_the_bench_until_a_person_returns_it),
        cmocka_unit_test(test_a_lemon_becomes_no_spare),
        cmocka_unit_test(test_who_may_speak_for_a_machine),
        cmocka_unit_test(test_a_token_takes_no_machine_that_works),
        cmocka_unit_test(test_evidence_is_found_behind_that_of_other_machines),
        cmocka_unit_test(test_a_kill_takes_and_gives_back_nothing_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
