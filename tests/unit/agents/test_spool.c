/* The spool: order, replays, a write cut short at every byte, damage in the middle, a bound that is too small, a
 * full disk. */
#include "place.h"

#include "agents/node/spool.h"
#include "base/file.h"
#include "base/own.h"
#include "base/status.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define LARGE ((size_t)1 << 20)

static struct spool *open_spool(const char *path, size_t bytes_max, size_t *ret_damaged)
{
    struct spool *spool = NULL;
    size_t damaged = 0;
    assert_int_equal(spool_open(path, bytes_max, &spool, &damaged), 0);
    if (ret_damaged != NULL)
        *ret_damaged = damaged;
    else
        assert_int_equal(damaged, 0);
    return spool;
}

static int append(struct spool *spool, uint64_t id, bool critical, const char *data)
{
    return spool_append(spool, id, critical, data, strlen(data));
}

/* All that waits, in order, ended by |. Caller frees. */
static char *content(struct spool *spool)
{
    struct text all = {0}, one = {0};
    size_t count = 0;
    for (uint64_t serial = 0; spool_next(spool, serial, &serial); count++) {
        assert_int_equal(spool_read(spool, serial, &one), 0);
        text_add(&all, text_get(&one));
        text_add_char(&all, '|');
    }
    assert_int_equal(count, spool_count(spool));
    text_free(&one);
    return text_take(&all);
}

static void expect(struct spool *spool, const char *expected)
{
    autofree char *found = content(spool);
    assert_string_equal(found, expected);
}

static void finish_first(struct spool *spool)
{
    uint64_t serial;
    assert_true(spool_next(spool, 0, &serial));
    spool_done(spool, serial);
}

static int64_t size_of(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? st.st_size : -1;
}

static void test_order_and_restart(void **state)
{
    const struct place *place = *state;
    struct spool *spool = open_spool(place->path, LARGE, NULL);
    expect(spool, "");
    assert_int_equal(append(spool, 1, true, "one"), 0);
    assert_int_equal(append(spool, 2, false, "two"), 0);
    assert_int_equal(append(spool, 3, false, ""), 0);
    expect(spool, "one|two||");
    spool_free(spool);
    spool = open_spool(place->path, LARGE, NULL);
    expect(spool, "one|two||");
    finish_first(spool);
    expect(spool, "two||");
    spool_trim(spool); /* something waits: nothing is cut */
    assert_int_equal(append(spool, 4, false, "four"), 0);
    spool_free(spool);
    /* what was done comes again after a restart, what was not is never lost */
    spool = open_spool(place->path, LARGE, NULL);
    expect(spool, "one|two||four|");
    for (int i = 0; i < 4; i++)
        finish_first(spool);
    spool_trim(spool);
    assert_int_equal(size_of(place->path), 0);
    expect(spool, "");
    assert_int_equal(append(spool, 5, false, "five"), 0);
    spool_free(spool);
    spool = open_spool(place->path, LARGE, NULL);
    expect(spool, "five|");
    spool_free(spool);
    spool_free(NULL);
}

static void test_a_later_telling_replaces(void **state)
{
    const struct place *place = *state;
    struct spool *spool = open_spool(place->path, LARGE, NULL);
    uint64_t serial;
    assert_int_equal(append(spool, 7, true, "count 1"), 0);
    assert_int_equal(append(spool, 8, true, "other"), 0);
    assert_true(spool_next(spool, 0, &serial)); /* under way to the server */
    assert_int_equal(append(spool, 7, true, "count 2"), 0);
    expect(spool, "other|count 2|");
    spool_done(spool, serial); /* the answer to the first telling does not finish the second */
    expect(spool, "other|count 2|");
    struct text gone = {0};
    assert_int_equal(spool_read(spool, serial, &gone), STATUS_NOT_FOUND);
    text_free(&gone);
    spool_free(spool);
    spool = open_spool(place->path, LARGE, NULL);
    expect(spool, "other|count 2|");
    spool_free(spool);
}

static void copy_cut(const char *from, const char *to, size_t len)
{
    autofree char *data = NULL;
    size_t full;
    assert_int_equal(file_read(from, LARGE, &data, &full), 0);
    assert_true(len <= full);
    assert_int_equal(file_write(to, data, len, 0600), 0);
}

/* Killed in the middle of a write: whole records before it survive, and writing goes on behind them. */
static void test_torn_at_every_byte(void **state)
{
    const struct place *place = *state;
    autofree char *torn = own_printf("%s/torn", place->dir);
    struct spool *spool = open_spool(place->path, LARGE, NULL);
    int64_t ends[4] = {0};
    static const char *const expected[] = {"", "one|", "one|the second|", "one|the second|three|"};
    static const char *const after[] = {"new|", "one|new|", "one|the second|new|", "one|the second|three|new|"};
    append(spool, 1, true, "one");
    ends[1] = size_of(place->path);
    append(spool, 2, false, "the second");
    ends[2] = size_of(place->path);
    append(spool, 3, false, "three");
    ends[3] = size_of(place->path);
    spool_free(spool);
    for (int64_t len = 0; len <= ends[3]; len++) {
        int whole = len >= ends[3] ? 3 : len >= ends[2] ? 2 : len >= ends[1] ? 1 : 0;
        size_t damaged;
        copy_cut(place->path, torn, (size_t)len);
        spool = open_spool(torn, LARGE, &damaged);
        assert_int_equal(damaged, len - ends[whole]);
        expect(spool, expected[whole]);
        assert_int_equal(append(spool, 9, true, "new"), 0);
        spool_free(spool);
        spool = open_spool(torn, LARGE, NULL);
        expect(spool, after[whole]);
        spool_free(spool);
    }
}

/* One wrong byte anywhere costs at most the record it is in. */
static void test_damage_at_every_byte(void **state)
{
    const struct place *place = *state;
    autofree char *bad = own_printf("%s/bad", place->dir), *data = NULL;
    struct spool *spool = open_spool(place->path, LARGE, NULL);
    size_t len, first, second;
    append(spool, 1, true, "one");
    first = (size_t)size_of(place->path);
    append(spool, 2, false, "two");
    second = (size_t)size_of(place->path);
    append(spool, 3, false, "three");
    spool_free(spool);
    assert_int_equal(file_read(place->path, LARGE, &data, &len), 0);
    for (size_t i = 0; i < len; i++) {
        size_t damaged;
        data[i] ^= 0x55;
        assert_int_equal(file_write(bad, data, len, 0600), 0);
        data[i] ^= 0x55;
        spool = open_spool(bad, LARGE, &damaged);
        expect(spool, i < first ? "two|three|" : i < second ? "one|three|" : "one|two|");
        assert_true(damaged > 0);
        spool_free(spool);
    }
}

static void test_bounded(void **state)
{
    const struct place *place = *state;
    const size_t bound = 1000;
    struct spool *spool = open_spool(place->path, bound, NULL);
    char data[101];
    memset(data, 'x', sizeof(data) - 1);
    data[100] = '\0';
    /* a critical one, then many that are not: the oldest of those go */
    assert_int_equal(append(spool, 1, true, "critical"), 0);
    for (uint64_t id = 2; id < 30; id++) {
        data[0] = (char)('a' + id);
        assert_int_equal(append(spool, id, false, data), 0);
        assert_true(size_of(place->path) <= (int64_t)bound);
    }
    autofree char *found = content(spool);
    assert_true(text_starts_with(found, "critical|"));
    assert_non_null(strrchr(found, (char)('a' + 29))); /* the newest is there */
    assert_true(spool_dropped(spool) > 15);
    assert_int_equal(spool_dropped(spool) + (int64_t)spool_count(spool), 29);
    /* critical ones push out all that is not, and then the oldest of their own kind */
    for (uint64_t id = 100; id < 130; id++) {
        data[0] = (char)('A' + (id - 100));
        assert_int_equal(append(spool, id, true, data), 0);
        assert_true(size_of(place->path) <= (int64_t)bound);
    }
    autofree char *critical = content(spool);
    assert_null(strstr(critical, "critical|"));
    assert_int_equal(spool_dropped(spool) + (int64_t)spool_count(spool), 59);
    /* full of what matters: what does not is dropped and said so */
    assert_int_equal(append(spool, 200, false, data), STATUS_FULL);
    assert_int_equal(spool_dropped(spool) + (int64_t)spool_count(spool), 60);
    expect(spool, critical);
    spool_free(spool);
    spool = open_spool(place->path, bound, NULL);
    expect(spool, critical);
    spool_free(spool);
}

static void test_a_bound_smaller_than_a_record(void **state)
{
    const struct place *place = *state;
    struct spool *spool = open_spool(place->path, 40, NULL);
    assert_int_equal(append(spool, 1, true, "does not fit in here at all"), STATUS_FULL);
    assert_int_equal(spool_count(spool), 0);
    assert_int_equal(spool_dropped(spool), 1);
    autofree char *huge = own_calloc(SPOOL_RECORD_BYTES_MAX + 2, 1);
    memset(huge, 'x', SPOOL_RECORD_BYTES_MAX + 1);
    assert_int_equal(append(spool, 1, true, huge), STATUS_TOO_LARGE);
    spool_free(spool);
}

/* What is done makes room without anything being dropped. */
static void test_done_records_make_room(void **state)
{
    const struct place *place = *state;
    struct spool *spool = open_spool(place->path, 1000, NULL);
    for (uint64_t id = 1; id < 200; id++) {
        autofree char *data = own_printf("record %llu ..............................", (unsigned long long)id);
        assert_int_equal(append(spool, id, true, data), 0);
        if (id > 3)
            finish_first(spool);
        assert_true(size_of(place->path) <= 1000);
    }
    assert_int_equal(spool_dropped(spool), 0);
    expect(spool, "record 197 ..............................|record 198 ..............................|record 199 "
                  "..............................|");
    spool_free(spool);
}

/* A disk that takes nothing: records are kept in memory, bounded, and written when the disk is back. In a child, because
 * its limit on file sizes is the full disk. */
static int with_a_full_disk(const char *path)
{
    struct rlimit limit = {.rlim_cur = 60, .rlim_max = RLIM_INFINITY};
    struct spool *spool = open_spool(path, LARGE, NULL);
    signal(SIGXFSZ, SIG_IGN);
    if (append(spool, 1, true, "fits") != 0 || setrlimit(RLIMIT_FSIZE, &limit) != 0)
        return 1;
    if (append(spool, 2, true, "critical") == 0 || spool_is_durable(spool))
        return 2;
    for (uint64_t id = 3; id < 3 + 2 * SPOOL_MEMORY_RECORDS_MAX; id++)
        if (append(spool, id, false, "more") == 0)
            return 3;
    autofree char *found = content(spool);
    if (!text_starts_with(found, "fits|critical|more|") || spool_count(spool) != 1 + SPOOL_MEMORY_RECORDS_MAX)
        return 4;
    if (spool_retry(spool) == 0)
        return 5;
    limit.rlim_cur = RLIM_INFINITY;
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0 || spool_retry(spool) != 0 || !spool_is_durable(spool))
        return 6;
    autofree char *again = content(spool);
    spool_free(spool);
    return strcmp(found, again) == 0 ? 0 : 7;
}

static void test_a_full_disk(void **state)
{
    const struct place *place = *state;
    int status;
    pid_t pid = fork();
    if (pid == 0)
        _exit(with_a_full_disk(place->path));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    struct spool *spool = open_spool(place->path, LARGE, NULL);
    autofree char *found = content(spool);
    assert_true(text_starts_with(found, "fits|critical|more|"));
    spool_free(spool);
}

/* Killed at any moment while it writes as fast as it can: the reader finds what was acknowledged. */
static void test_kill_9(void **state)
{
    const struct place *place = *state;
    int acknowledged[2];
    assert_int_equal(pipe(acknowledged), 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct spool *spool = open_spool(place->path, LARGE, NULL);
        for (uint32_t id = 1;; id++) {
            autofree char *data = own_printf("%u", id);
            if (append(spool, id, true, data) != 0 || write(acknowledged[1], &id, sizeof(id)) != sizeof(id))
                _exit(1);
        }
    }
    uint32_t id = 0, last = 0;
    close(acknowledged[1]);
    while (last < 50 && read(acknowledged[0], &id, sizeof(id)) == sizeof(id))
        last = id;
    kill(pid, SIGKILL);
    while (read(acknowledged[0], &id, sizeof(id)) == sizeof(id))
        last = id;
    close(acknowledged[0]);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    size_t damaged;
    struct spool *spool = open_spool(place->path, LARGE, &damaged);
    assert_true(spool_count(spool) >= last && spool_count(spool) <= last + 1);
    spool_free(spool);
}

static void test_cannot_be_opened(void **state)
{
    const struct place *place = *state;
    struct spool *spool = NULL;
    size_t damaged;
    autofree char *path = own_printf("%s/no/such/dir/spool", place->dir);
    assert_int_equal(spool_open(path, LARGE, &spool, &damaged), STATUS_IO);
    assert_int_equal(spool_open(place->dir, LARGE, &spool, &damaged), STATUS_IO);
    assert_null(spool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLACE_TEST(test_order_and_restart),
        PLACE_TEST(test_a_later_telling_replaces),
        PLACE_TEST(test_torn_at_every_byte),
        PLACE_TEST(test_damage_at_every_byte),
        PLACE_TEST(test_bounded),
        PLACE_TEST(test_a_bound_smaller_than_a_record),
        PLACE_TEST(test_done_records_make_room),
        PLACE_TEST(test_a_full_disk),
        PLACE_TEST(test_kill_9),
        PLACE_TEST(test_cannot_be_opened),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
