/*
 * kill -9 under load. A child writes verdicts and tells the parent, through a pipe, of each that was acknowledged; the
 * parent kills it after a number of them drawn from a seed, opens what is left, and looks for every one.
 *
 * The rounds go on in one directory, so that later ones begin with a log to recover and reach checkpoints.
 */
#include "db_world.h"

#include <signal.h>
#include <sys/wait.h>

#define ROUNDS 8
#define OUTSTANDING 64
#define ACKS_MAX 4000
#define SEED 20261120

/* --- the child ----------------------------------------------------------------------------------- */

/* One verdict on its way; when it is acknowledged, the next takes its place. Its number travels in first_at. */
struct flight {
    struct db *db;
    int pipe;
    struct verdict verdict;
};

static void key_of(int64_t number, char ret_key[VERDICT_KEY_MAX_BYTES])
{
    char hex[ID_SHA256_HEX_MAX];
    id_sha256_hex(&number, sizeof(number), hex);
    MUST(text_copy(ret_key, VERDICT_KEY_MAX_BYTES, hex));
}

static int flight_write(struct db_tx *tx, void *arg)
{
    struct flight *flight = arg;
    enum db_verdict_change change;
    return db_verdict_put(tx, &flight->verdict, &change);
}

static void flight_done(int status, void *arg);

/* Numbers of one flight lie OUTSTANDING apart, so that no two threads ever have to share a counter. */
static void flight_start(struct flight *flight, int64_t number)
{
    flight->verdict.first_at = flight->verdict.last_at = number;
    key_of(number, flight->verdict.key);
    if (db_write_async(flight->db, "flight", flight_write, flight_done, flight) != 0)
        _exit(4);
}

static void flight_done(int status, void *arg)
{
    struct flight *flight = arg;
    int64_t number = flight->verdict.first_at;
    if (status != 0 || write(flight->pipe, &number, sizeof(number)) != (ssize_t)sizeof(number))
        _exit(3);
    flight_start(flight, number + OUTSTANDING);
}

static _Noreturn void child(struct world *w, int64_t first, int pipe_out)
{
    static struct flight flights[OUTSTANDING];
    if (world_open(w, 0) != 0)
        _exit(2);
    for (int i = 0; i < OUTSTANDING; i++) {
        flights[i] = (struct flight){w->db, pipe_out, a_verdict(w->nodes[i % WORLD_NODES].id, "")};
        memset(flights[i].verdict.raw_line, 'x', 700);
    }
    for (int i = 0; i < OUTSTANDING; i++)
        flight_start(&flights[i], first + i);
    for (;;)
        pause();
}

/* --- the parent ---------------------------------------------------------------------------------- */

/* Reads acknowledgements until `wanted` came, kills, and reads what was still in the pipe. */
static int run_and_kill(struct world *w, int64_t first, int wanted, int64_t *ret_acked)
{
    int ends[2], count = 0;
    MUST(pipe(ends));
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        close(ends[0]);
        child(w, first, ends[1]);
    }
    close(ends[1]);
    while (read(ends[0], &ret_acked[count], sizeof(int64_t)) == (ssize_t)sizeof(int64_t))
        if (++count == wanted)
            MUST(kill(pid, SIGKILL));
        else if (count == 4 * ACKS_MAX)
            break;
    close(ends[0]);
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_true(count >= wanted);
    return count;
}

struct again {
    struct world *w;
    int64_t number;
    enum db_verdict_change change;
};

static int again_write(struct db_tx *tx, void *arg)
{
    struct again *again = arg;
    struct verdict verdict = a_verdict(again->w->nodes[again->number % OUTSTANDING % WORLD_NODES].id, "");
    key_of(again->number, verdict.key);
    verdict.last_at = 0;
    return db_verdict_put(tx, &verdict, &again->change);
}

/* A verdict that is there is told by delivering it again: nothing changes. */
static void assert_all_there(struct world *w, const int64_t *acked, int count)
{
    for (int i = 0; i < count; i++) {
        struct again again = {w, acked[i], DB_VERDICT_NEW};
        MUST(db_write(w->db, "again", again_write, &again));
        if (again.change != DB_VERDICT_SAME)
            fail_msg("acknowledged verdict %lld is lost", (long long)acked[i]);
    }
}

static void test_nothing_acknowledged_is_lost(void **state)
{
    (void)state;
    static int64_t acked[ROUNDS][4 * ACKS_MAX];
    static int counts[ROUNDS];
    static struct world w;
    struct id_source seed;
    world_dir(&w);
    MUST(world_open(&w, DB_INLINE));
    MUST(db_write(w.db, "populate", world_populate, &w));
    world_close(&w);
    id_source_seed(&seed, SEED);
    for (int round = 0; round < ROUNDS; round++) {
        uint32_t drawn = 0;
        id_bytes(&seed, &drawn, sizeof(drawn));
        int64_t first = (int64_t)round * 1000000 / OUTSTANDING * OUTSTANDING;
        counts[round] = run_and_kill(&w, first, 1 + (int)(drawn % ACKS_MAX), acked[round]);
        if (world_open(&w, DB_INLINE) != 0)
            fail_msg("round %d (seed %d): %s", round, SEED, w.error);
        assert_sound(&w);
        world_close(&w);
    }
    MUST(world_open(&w, 0));
    for (int round = 0; round < ROUNDS; round++)
        assert_all_there(&w, acked[round], counts[round]);
    world_end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_nothing_acknowledged_is_lost)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
