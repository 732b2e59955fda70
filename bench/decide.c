/*
 * What a decision costs, without agents and APIs around it:
 *
 *   decide policy                              the pure function over a group in trouble: decisions a second of one core
 *   decide burst STATE_DIR NODES_FILE V N S W  hpd's own store and loop on a fleet of bench/seed: V verdicts of N nodes, each Sth of
 *                                              the fleet, are stored, all before the loop's first turn; how long until each of
 *                                              these nodes has its decision on disk, while a person writes W times a second
 *   decide storm STATE_DIR NODES_FILE V N S    the same while the loop turns on its own thread and four others store; ends when all is decided,
 *                                              by the store's word, and fails where the loop's own watch had to find a verdict
 *   decide writes STATE_DIR NODES_FILE COUNT   the same fleet at rest: the loop's time for each of COUNT writes about a node, and
 *                                              about the whole cluster
 *   decide managed STATE_DIR NODES_FILE COUNT  the same for writes about a node in a cluster of Slurm's whose configuration hpd writes:
 *                                              COUNT writes, WRITES_PER_S a second
 *   decide drain STATE_DIR NODES_FILE COUNT    the same in a cluster of Slurm's, with a scheduler that answers at once: from a
 *                                              critical verdict's arrival to the call that takes its node out of scheduling
 *   decide simulate N                          54 days of N nodes at Meta's rates, and the memory it took
 *
 * Prints one JSON line.
 */
#include "bench/decide.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"
#include "bench/message.h"
#include "db/verdict.h"
#include "server/reconcile/reconcile.h"
#include "server/service/agent/agent.h"
#include "server/service/cluster/pause.h"
#include "server/service/node/node.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define TIMES_MAX 1000000
#define US_PER_S INT64_C(1000000)
#define WAIT_MAX_S 300
#define SAY_EVERY_US (10 * US_PER_S)

_Noreturn void die(const char *what)
{
    fprintf(stderr, "decide: %s\n", what);
    exit(1);
}

double cpu_seconds(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

struct verdict off_the_bus(const char *instance, const char *boot, int64_t number, int64_t now)
{
    struct verdict verdict = {.id = number + 1,
                              .severity = SEVERITY_CRITICAL,
                              .state = VERDICT_STATE_OPEN,
                              .count = 1,
                              .first_at = now,
                              .last_at = now,
                              .received_at = now};
    snprintf(verdict.key, sizeof(verdict.key), "bench-%d-%" PRId64, (int)getpid(), number);
    snprintf(verdict.device, sizeof(verdict.device), "0000:b%d:00", (int)(number % 8));
    text_copy_cut(verdict.instance_id, sizeof(verdict.instance_id), instance);
    text_copy_cut(verdict.boot_id, sizeof(verdict.boot_id), boot);
    text_copy_cut(verdict.source, sizeof(verdict.source), "kmsg");
    text_copy_cut(verdict.code, sizeof(verdict.code), OFF_THE_BUS);
    text_copy_cut(verdict.table_version, sizeof(verdict.table_version), "bench");
    text_copy_cut(verdict.raw_line, sizeof(verdict.raw_line), "NVRM: Xid (PCI:0000:b9:00): 79, pid=1234, name=python");
    return verdict;
}

/* --- a burst ------------------------------------------------------------------------------------------------------ */

#define CLUSTER "bench" /* as bench/seed calls it */

static const struct actor person = {.name = "token:bench", .role = ROLE_ADMIN, .token_id = 1};

struct burst {
    struct service service;
    struct id_source ids;
    struct message_node *nodes;
    size_t node_count;
    int64_t verdicts, over, stride, writes_per_s, written;
    atomic_int_fast64_t stored;
    atomic_bool decided;
    struct reconcile *reconcile;
    struct executor *executor;
};

static void read_nodes(struct burst *burst, const char *path)
{
    FILE *f = fopen(path, "re");
    struct message_node node;
    size_t room = 0;
    if (f == NULL)
        die("no file of nodes; bench/seed makes it");
    while (fscanf(f, "%" SCNd64 " %63s %31s %47s", &node.row, node.secret, node.instance, node.boot) == 4) {
        if (burst->node_count == room) {
            room = room == 0 ? 1024 : room * 2;
            burst->nodes = own_realloc(burst->nodes, room, sizeof(*burst->nodes));
        }
        burst->nodes[burst->node_count++] = node;
    }
    fclose(f);
}

static void hear_all(struct burst *burst)
{
    struct problem problem;
    for (size_t i = 0; i < burst->node_count; i++) {
        struct fleet_heartbeat beat = {
            .seq = 1, .sent_at = clock_wall_ms(clock_system()), .checks = FLEET_CHECK_KMSG, .address = MESSAGE_ADDRESS};
        text_copy_cut(beat.instance_id, sizeof(beat.instance_id), burst->nodes[i].instance);
        text_copy_cut(beat.boot_id, sizeof(beat.boot_id), burst->nodes[i].boot);
        if (service_agent_heartbeat(&burst->service, burst->nodes[i].row, &beat, &problem) != 0)
            die(problem.detail);
    }
}

static void turn_until_settled(struct burst *burst)
{
    int64_t next;
    while (reconcile_run_once(burst->reconcile, &next))
        continue;
}

static void one_stored(int status, const struct problem *problem, void *arg)
{
    struct burst *burst = arg;
    (void)problem;
    if (status != 0)
        die("a verdict was not stored");
    atomic_fetch_add(&burst->stored, 1);
}

/* A node has its second one when all that are hit have their first. */
static void store_one(struct burst *burst, int64_t number)
{
    struct problem problem;
    const struct message_node *node = &burst->nodes[number % burst->over * burst->stride];
    int64_t now = clock_wall_ms(clock_system());
    struct verdict verdict = off_the_bus(node->instance, node->boot, number, now);
    int status;
    while ((status = service_agent_verdicts(&burst->service, node->row, &verdict, 1, now, one_stored, burst,
                                            &problem)) == STATUS_UNAVAILABLE)
        usleep(1000); /* as an agent would come again */
    if (status != 0)
        die(problem.detail);
}

static void store_all(struct burst *burst)
{
    for (int64_t i = 0; i < burst->verdicts; i++)
        store_one(burst, i);
    for (int64_t ms = 0; atomic_load(&burst->stored) < burst->verdicts; ms++) {
        if (ms == WAIT_MAX_S * MS_PER_S)
            die("the verdicts do not reach the disk");
        usleep(1000);
    }
}

static uint64_t decided(struct burst *burst)
{
    struct reconcile_stats stats;
    reconcile_stats(burst->reconcile, &stats);
    return stats.decisions;
}

static int count_undecided(const void *row, void *arg)
{
    int64_t *undecided = arg; /* how many, and the first of them */
    if (undecided[0]++ == 0)
        undecided[1] = *(const int64_t *)row;
    return 0;
}

static void read_undecided(struct burst *burst, int64_t undecided[2])
{
    struct db_tx *tx = NULL;
    undecided[0] = undecided[1] = 0;
    if (db_read_begin(burst->service.db, &tx) != 0 || db_verdict_undecided_nodes(tx, count_undecided, undecided) < 0)
        die("the store cannot be read");
    db_read_end(burst->service.db, tx);
}

/* What a burst that takes long waits for, so that a run that does not end leaves more than a time. */
static void say_wait(struct burst *burst, uint64_t before, int64_t seconds)
{
    struct reconcile_stats stats;
    int64_t undecided[2];
    reconcile_stats(burst->reconcile, &stats);
    read_undecided(burst, undecided);
    fprintf(stderr,
            "decide: waits for decisions on %" PRId64 " nodes since %" PRId64 " s: %" PRIu64
            " decisions stored, %" PRId64 " nodes undecided in the store (first: row %" PRId64 "), %" PRIu64
            " turns, %" PRId64 " operations active, %s\n",
            burst->over, seconds, stats.decisions - before, undecided[0], undecided[1], stats.turns,
            stats.active_operations, stats.unrecorded_since != 0 ? "a write is not recorded" : "all is recorded");
}

static void decide_all(struct burst *burst, uint64_t before, double ret_part[3], double *ret_longest)
{
    static const double parts[] = {0.5, 0.99, 1};
    int64_t from = clock_stopwatch_us(), last = from, say_at = from + SAY_EVERY_US, next;
    for (size_t part = 0; part < ARRAY_LEN(parts);) {
        reconcile_run_once(burst->reconcile, &next);
        int64_t now = clock_stopwatch_us();
        *ret_longest = now - last > (int64_t)(*ret_longest * 1e6) ? (double)(now - last) / 1e6 : *ret_longest;
        last = now;
        while (part < ARRAY_LEN(parts) && (double)(decided(burst) - before) >= parts[part] * (double)burst->over)
            ret_part[part++] = (double)(now - from) / 1e6;
        if (now > say_at) {
            say_wait(burst, before, (now - from) / US_PER_S);
            say_at = now + SAY_EVERY_US;
        }
        if (now - from > WAIT_MAX_S * US_PER_S)
            die("not every node was decided on");
    }
}

static void open_fleet(struct burst *burst, const char *state_dir, const struct scheduler_driver *scheduler,
                       bool managed)
{
    struct service *s = &burst->service;
    char error[DB_ERROR_MAX] = "";
    log_set_level(LOG_LEVEL_ERROR + 1); /* operations fail in the end: these machines have no provider */
    if (db_open(state_dir, clock_system(), 0, &s->db, error) != 0)
        die(error);
    s->fleet = fleet_new();
    s->clock = clock_system();
    s->ids = &burst->ids;
    s->memory = service_memory_new();
    s->heartbeat_interval_ms = 10 * MS_PER_S;
    struct reconcile_deps deps = {.service = s, .executor = executor_threads_new(2, 4096)};
    burst->executor = deps.executor;
    loop_settings_default(&deps.settings);
    deps.settings.policy.silent_after_ms = MS_PER_HOUR;
    if (scheduler != NULL) {
        deps.settings.policy.breaker_min = 1000000; /* each of them is repaired */
        deps.schedulers[deps.scheduler_count++] = (struct reconcile_scheduler){
            .name = "slurm", .driver = *scheduler, .managed = managed, .strategy = DESIRED_STRATEGY_OVERWRITE};
    }
    if (reconcile_new(&deps, &burst->reconcile) != 0)
        die("the loop does not begin");
    hear_all(burst);
    turn_until_settled(burst);
}

static void close_fleet(struct burst *burst)
{
    executor_free(burst->executor);
    reconcile_free(burst->reconcile);
    db_close(burst->service.db);
    service_memory_free(burst->service.memory);
    fleet_free(burst->service.fleet);
    free(burst->nodes);
}

/* A person who takes the care of a node over, or gives it back: from the end of the fleet, where no verdict of a burst is. */
static void write_about_node(struct burst *burst, int64_t number)
{
    const struct service_node_change change = {.says_out = true, .opted_out = number % 2 == 0};
    char name[NODE_NAME_MAX_BYTES];
    struct node row;
    struct problem problem = {0};
    size_t at = burst->node_count - 1 - (size_t)(number / 2 * 5 + 1) % burst->node_count;
    snprintf(name, sizeof(name), SERVICE_INSTANCE_PREFIX "%s", burst->nodes[at].instance);
    if (service_node_update(&burst->service, &person, CLUSTER, name, &change, 0, &row, &problem) != 0)
        die(problem.detail);
}

static void *write_on(void *arg)
{
    struct burst *burst = arg;
    const int64_t from = clock_stopwatch_us(), every = 1000000 / burst->writes_per_s;
    while (!atomic_load(&burst->decided)) {
        write_about_node(burst, burst->written++);
        int64_t early = from + burst->written * every - clock_stopwatch_us();
        if (early > 0)
            usleep((useconds_t)early);
    }
    return NULL;
}

static struct burst *burst_open(char **argv)
{
    struct burst *burst = own_calloc(1, sizeof(*burst));
    if (text_parse_i64(argv[2], 1, 1000000, &burst->verdicts) != 0 ||
        text_parse_i64(argv[3], 1, 1000000, &burst->over) != 0 || text_parse_i64(argv[4], 1, 1000, &burst->stride) != 0)
        die("verdicts, nodes and stride are numbers");
    read_nodes(burst, argv[1]);
    open_fleet(burst, argv[0], NULL, false);
    if ((size_t)(burst->over * burst->stride) > burst->node_count)
        die("the fleet has not so many nodes");
    return burst;
}

static void burst(char **argv)
{
    autofree struct burst *burst = burst_open(argv);
    double part[3] = {0}, longest = 0;
    pthread_t writer;
    if (text_parse_i64(argv[5], 0, 1000, &burst->writes_per_s) != 0)
        die("writes a second is a number");
    uint64_t before = decided(burst);
    int64_t from = clock_stopwatch_us();
    store_all(burst);
    double stored = (double)(clock_stopwatch_us() - from) / 1e6, cpu = cpu_seconds();
    if (burst->writes_per_s > 0 && pthread_create(&writer, NULL, write_on, burst) != 0)
        die("no thread");
    decide_all(burst, before, part, &longest);
    atomic_store(&burst->decided, true);
    if (burst->writes_per_s > 0)
        pthread_join(writer, NULL);
    printf("{\"nodes\":%zu,\"storedSeconds\":%.3f,\"p50Seconds\":%.3f,\"p99Seconds\":%.3f,\"seconds\":%.3f,"
           "\"cpuSeconds\":%.3f,\"longestTurnSeconds\":%.4f,\"writesPerSecond\":%.1f}\n",
           burst->node_count, stored, part[0], part[1], part[2], cpu_seconds() - cpu, longest,
           (double)burst->written / part[2]);
    close_fleet(burst);
}

/* --- a burst while the loop turns ---------------------------------------------------------------------------------- */

#define STORERS 4

struct storer {
    struct burst *burst;
    int64_t first;
    pthread_t thread;
};

static void *store_share(void *arg)
{
    const struct storer *storer = arg;
    for (int64_t i = storer->first; i < storer->burst->verdicts; i += STORERS)
        store_one(storer->burst, i);
    return NULL;
}

static void storm(char **argv)
{
    autofree struct burst *burst = burst_open(argv);
    struct storer storers[STORERS];
    struct reconcile_stats stats;
    int64_t from = clock_stopwatch_us(), say_at = from + SAY_EVERY_US, undecided[2];
    const uint64_t before = decided(burst);
    if (reconcile_start(burst->reconcile) != 0)
        die("no thread");
    for (int64_t i = 0; i < STORERS; i++) {
        storers[i] = (struct storer){.burst = burst, .first = i};
        if (pthread_create(&storers[i].thread, NULL, store_share, &storers[i]) != 0)
            die("no thread");
    }
    for (int i = 0; i < STORERS; i++)
        pthread_join(storers[i].thread, NULL);
    do {
        usleep(20000);
        reconcile_stats(burst->reconcile, &stats);
        read_undecided(burst, undecided);
        int64_t took = clock_stopwatch_us() - from;
        if (from + took > say_at) {
            say_wait(burst, before, took / US_PER_S);
            say_at += SAY_EVERY_US;
        }
        if (took > WAIT_MAX_S * US_PER_S)
            die("not every node was decided on");
    } while (atomic_load(&burst->stored) < burst->verdicts || undecided[0] > 0 || stats.undecided_since_us != 0 ||
             stats.decisions - before < (uint64_t)burst->over);
    if (stats.verdicts_forgotten > 0)
        die("the loop's own watch found a verdict that no decision had looked at");
    printf("{\"nodes\":%zu,\"seconds\":%.3f,\"decisions\":%" PRIu64 ",\"turns\":%" PRIu64 "}\n", burst->node_count,
           (double)(clock_stopwatch_us() - from) / 1e6, stats.decisions - before, stats.turns);
    reconcile_stop(burst->reconcile);
    close_fleet(burst);
}

/* --- what a write costs the loop ----------------------------------------------------------------------------------- */

static void write_about_cluster(struct burst *burst, int64_t number)
{
    struct cluster row;
    struct problem problem = {0};
    int status = number % 2 == 0 ? service_cluster_pause(&burst->service, &person, CLUSTER, "bench", &row, &problem)
                                 : service_cluster_resume(&burst->service, &person, CLUSTER, "bench", &row, &problem);
    if (status != 0)
        die(problem.detail);
}

static int compare_us(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* The turns that one write leads to, one write after another. */
static void time_writes(struct burst *burst, void (*write_one)(struct burst *burst, int64_t number), int64_t count,
                        const char *what)
{
    autofree int64_t *us = own_calloc((size_t)count, sizeof(*us));
    int64_t turns = 0, next;
    for (int64_t i = 0; i < count; i++) {
        write_one(burst, i);
        int64_t from = clock_stopwatch_us();
        do
            turns++;
        while (reconcile_run_once(burst->reconcile, &next));
        us[i] = clock_stopwatch_us() - from;
    }
    qsort(us, (size_t)count, sizeof(*us), compare_us);
    printf("\"%s\":{\"p50Us\":%" PRId64 ",\"p99Us\":%" PRId64 ",\"turns\":%.1f}", what, us[count / 2],
           us[count * 99 / 100], (double)turns / (double)count);
}

static void writes(char **argv)
{
    autofree struct burst *burst = own_calloc(1, sizeof(*burst));
    int64_t count;
    if (text_parse_i64(argv[2], 2, 100000, &count) != 0)
        die("how many writes is a number");
    read_nodes(burst, argv[1]);
    open_fleet(burst, argv[0], NULL, false);
    printf("{");
    time_writes(burst, write_about_node, count, "node");
    printf(",");
    time_writes(burst, write_about_cluster, count, "cluster");
    printf("}\n");
    close_fleet(burst);
}

/* --- from a verdict to the drain ------------------------------------------------------------------------------------ */

#define DRAIN_STRIDE 40     /* of a thousand nodes so few that no budget holds one back */
#define DRAIN_PAUSE_US 5000 /* between two of them, so that each finds the loop asleep */
#define DRAIN_WAIT_US 10000000

/* A scheduler that answers at once. */
static struct {
    size_t count;
    atomic_bool *marked;                   /* by the node's number */
    atomic_int_fast64_t number, marked_at; /* of the newest */
} lab;

static int64_t number_of(const char *node)
{
    int64_t number = -1;
    const char *dash = strrchr(node, '-');
    if (dash == NULL || text_parse_i64(dash + 1, 0, (int64_t)lab.count - 1, &number) != 0)
        die("a node that nobody made");
    return number;
}

static int lab_observe(struct scheduler *s, struct scheduler_observation *ret_observation, char *ret_error)
{
    (void)s;
    (void)ret_error;
    ret_observation->at_ms = clock_wall_ms(clock_system());
    ret_observation->count = lab.count;
    ret_observation->nodes = own_calloc(lab.count, sizeof(*ret_observation->nodes));
    for (size_t i = 0; i < lab.count; i++) {
        struct scheduler_node *node = &ret_observation->nodes[i];
        bool out = atomic_load(&lab.marked[i]);
        snprintf(node->name, sizeof(node->name), "bench-%06zu", i);
        snprintf(node->state, sizeof(node->state), "%s", out ? "IDLE+FAIL" : "IDLE");
        node->responding = true;
        node->drained = out;
        node->schedulable = !out;
    }
    return 0;
}

static int lab_mark(struct scheduler *s, const char *node, const struct scheduler_owner *owner, const char *seen,
                    char *ret_shown, char *ret_error)
{
    int64_t number = number_of(node);
    (void)s;
    (void)owner;
    (void)seen;
    ret_shown[0] = '\0';
    (void)ret_error;
    if (!atomic_exchange(&lab.marked[number], true)) {
        atomic_store(&lab.marked_at, clock_stopwatch_us());
        atomic_store(&lab.number, number);
    }
    return 0;
}

static int lab_jobs(struct scheduler *s, const char *node, struct scheduler_job **ret_jobs, size_t *ret_count,
                    char *ret_error)
{
    (void)s;
    (void)node;
    (void)ret_error;
    *ret_jobs = NULL;
    *ret_count = 0;
    return 0;
}

static int lab_evict(struct scheduler *s, const char *node, const struct scheduler_owner *owner, char *ret_error)
{
    (void)s;
    (void)node;
    (void)owner;
    (void)ret_error;
    return 0;
}

static const struct scheduler_ops lab_ops = {.name = "bench",
                                             .observe = lab_observe,
                                             .cordon = lab_mark,
                                             .workloads = lab_jobs,
                                             .evict = lab_evict,
                                             .uncordon = lab_evict};

static int64_t drain_one(struct burst *burst, size_t at)
{
    struct problem problem;
    const struct message_node *node = &burst->nodes[at];
    int64_t now = clock_wall_ms(clock_system()), from = clock_stopwatch_us();
    const struct verdict verdict = off_the_bus(node->instance, node->boot, (int64_t)at, now);
    if (service_agent_verdicts(&burst->service, node->row, &verdict, 1, now, one_stored, burst, &problem) != 0)
        die(problem.detail);
    while (atomic_load(&lab.number) != (int64_t)at) {
        usleep(50);
        if (clock_stopwatch_us() - from > DRAIN_WAIT_US)
            die("a node is not drained");
    }
    return atomic_load(&lab.marked_at) - from;
}

static void drain(char **argv)
{
    autofree struct burst *burst = own_calloc(1, sizeof(*burst));
    const struct scheduler_driver driver = {.ops = &lab_ops};
    int64_t count;
    if (text_parse_i64(argv[2], 2, 100000, &count) != 0)
        die("how many nodes is a number");
    read_nodes(burst, argv[1]);
    if ((size_t)count * DRAIN_STRIDE > burst->node_count)
        die("the fleet has not so many nodes");
    lab.count = burst->node_count;
    lab.marked = own_calloc(lab.count, sizeof(*lab.marked));
    atomic_store(&lab.number, -1);
    open_fleet(burst, argv[0], &driver, false);
    autofree int64_t *us = own_calloc((size_t)count, sizeof(*us));
    if (reconcile_start(burst->reconcile) != 0)
        die("no thread");
    sleep(1); /* it has seen the scheduler by then */
    for (int64_t i = 0; i < count; i++) {
        us[i] = drain_one(burst, (size_t)(i * DRAIN_STRIDE));
        usleep(DRAIN_PAUSE_US);
    }
    reconcile_stop(burst->reconcile);
    qsort(us, (size_t)count, sizeof(*us), compare_us);
    printf("{\"p50Us\":%" PRId64 ",\"p99Us\":%" PRId64 ",\"mostUs\":%" PRId64 "}\n", us[count / 2],
           us[count * 99 / 100], us[count - 1]);
    close_fleet(burst);
    free(lab.marked);
}

/* --- a scheduler whose configuration is ours ------------------------------------------------------------------------ */

#define WRITES_PER_S 20

static int lab_configure(struct scheduler *s, struct scheduler_desired *desired, char *ret_error)
{
    (void)s;
    (void)desired;
    (void)ret_error;
    return 0;
}

/* Over some seconds, so that a look at all nodes that follows from a write falls into them. */
static void managed(char **argv)
{
    static const struct scheduler_configuration_ops configuration = {.apply = lab_configure};
    autofree struct burst *burst = own_calloc(1, sizeof(*burst));
    struct scheduler_ops ops = lab_ops;
    const struct scheduler_driver driver = {.ops = &ops};
    int64_t count, most = 0;
    if (text_parse_i64(argv[2], 2, 100000, &count) != 0)
        die("how many writes is a number");
    ops.configuration = &configuration;
    read_nodes(burst, argv[1]);
    lab.count = burst->node_count;
    lab.marked = own_calloc(lab.count, sizeof(*lab.marked));
    open_fleet(burst, argv[0], &driver, true);
    double cpu = cpu_seconds();
    for (int64_t i = 0; i < count; i++) {
        write_about_node(burst, i);
        int64_t from = clock_stopwatch_us();
        turn_until_settled(burst);
        int64_t took = clock_stopwatch_us() - from;
        most = took > most ? took : most;
        if (took < US_PER_S / WRITES_PER_S)
            usleep((useconds_t)(US_PER_S / WRITES_PER_S - took));
    }
    printf("{\"cpuSeconds\":%.3f,\"mostUs\":%" PRId64 "}\n", cpu_seconds() - cpu, most);
    close_fleet(burst);
    free(lab.marked);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "policy") == 0)
        decide_policy();
    else if (argc == 8 && strcmp(argv[1], "burst") == 0)
        burst(argv + 2);
    else if (argc == 7 && strcmp(argv[1], "storm") == 0)
        storm(argv + 2);
    else if (argc == 5 && strcmp(argv[1], "writes") == 0)
        writes(argv + 2);
    else if (argc == 5 && strcmp(argv[1], "managed") == 0)
        managed(argv + 2);
    else if (argc == 5 && strcmp(argv[1], "drain") == 0)
        drain(argv + 2);
    else if (argc == 3 && strcmp(argv[1], "simulate") == 0)
        decide_simulate(argv[2]);
    else
        die("policy | burst STATE_DIR NODES_FILE VERDICTS NODES STRIDE WRITES_PER_S | "
            "storm STATE_DIR NODES_FILE VERDICTS NODES STRIDE | writes STATE_DIR NODES_FILE "
            "COUNT | managed STATE_DIR NODES_FILE COUNT | "
            "drain STATE_DIR NODES_FILE COUNT | simulate NODES");
    return 0;
}
