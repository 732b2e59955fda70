/* Opening and closing: the file's mode, what is refused and left as it was, two processes, an unclean end. */
#include "db_world.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

static void test_a_new_store_is_for_its_owner_only(void **state)
{
    struct world *w = *state;
    static const char *const files[] = {"holdfast.db", "holdfast.db-wal", "holdfast.db-shm"};
    mode_t mask = umask(0);
    MUST(world_open(w, 0));
    MUST(db_write(w->db, "populate", world_populate, w));
    umask(mask);
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        char path[128];
        struct stat info;
        world_file(w, files[i], path, sizeof(path));
        MUST(stat(path, &info));
        assert_int_equal(info.st_mode & 0777, 0600);
    }
}

static void test_a_file_open_to_others_is_closed_to_them(void **state)
{
    struct world *w = *state;
    char path[128];
    struct stat info;
    MUST(world_open(w, DB_INLINE));
    world_close(w);
    world_file(w, DB_FILE, path, sizeof(path));
    MUST(chmod(path, 0644));
    MUST(world_open(w, DB_INLINE));
    MUST(stat(path, &info));
    assert_int_equal(info.st_mode & 0777, 0600);
}

static void test_what_was_written_is_there_after_a_clean_end(void **state)
{
    struct world *w = *state;
    char wal[128];
    world_file(w, "holdfast.db-wal", wal, sizeof(wal));
    static const unsigned flags[] = {0, DB_INLINE};
    for (size_t i = 0; i < ARRAY_LEN(flags); i++) {
        MUST(world_open(w, flags[i]));
        if (i == 0)
            MUST(db_write(w->db, "populate", world_populate, w));
        struct db_tx *tx = NULL;
        struct node out;
        MUST(db_read_begin(w->db, &tx));
        MUST(db_node_get(tx, w->cluster.id, "gpu-4", &out));
        db_read_end(w->db, tx);
        world_close(w);
        assert_false(file_exists(wal)); /* folded back */
    }
}

static void test_a_directory_is_made(void **state)
{
    struct world *w = *state;
    struct db *db = NULL;
    autofree char *deep = own_printf("%s/a/b", w->dir);
    MUST(db_open(deep, &w->clock, DB_INLINE, &db, w->error));
    db_close(db);
}

/* --- what is refused ----------------------------------------------------------------------------- */

static void fill_garbage(char *data, size_t len)
{
    for (size_t i = 0; i < len; i++)
        data[i] = (char)(i * 131 + 7);
}

/* Writes data as the database, tries to open it, and sees that it is refused in words and still the same. */
static void assert_refused(struct world *w, const char *data, size_t len, const char *words)
{
    char path[128];
    autofree char *after = NULL;
    size_t after_len = 0;
    world_file(w, DB_FILE, path, sizeof(path));
    MUST(file_write(path, data, len, 0600));
    for (unsigned flags = 0; flags <= DB_INLINE; flags++) {
        w->error[0] = '\0';
        assert_int_equal(world_open(w, flags), STATUS_IO);
        assert_null(w->db);
        if (strstr(w->error, words) == NULL)
            fail_msg("'%s' does not say '%s'", w->error, words);
        assert_non_null(strstr(w->error, path));
    }
    MUST(file_read(path, 1 << 24, &after, &after_len));
    assert_int_equal(after_len, len);
    assert_memory_equal(after, data, len);
}

static void test_garbage_is_refused_and_not_touched(void **state)
{
    static const size_t sizes[] = {1, 99, 100, 512, 4096, 65537};
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        autofree char *data = own_calloc(1, sizes[i]);
        fill_garbage(data, sizes[i]);
        assert_refused(*state, data, sizes[i], "not a database, or damaged");
    }
}

static void read_database(struct world *w, char **ret_data, size_t *ret_len)
{
    char path[128];
    MUST(world_open(w, DB_INLINE));
    MUST(db_write(w->db, "populate", world_populate, w));
    world_close(w);
    world_file(w, DB_FILE, path, sizeof(path));
    MUST(file_read(path, 1 << 24, ret_data, ret_len));
}

static void test_a_torn_file_is_refused_and_not_touched(void **state)
{
    autofree char *data = NULL;
    size_t len = 0;
    read_database(*state, &data, &len);
    const size_t cuts[] = {50, 100, 4096, len / 2, len - 4096, len - 1000, len - 1};
    for (size_t i = 0; i < ARRAY_LEN(cuts); i++)
        assert_refused(*state, data, cuts[i], "damaged");
}

static void test_a_damaged_page_is_found_after_an_unclean_end(void **state)
{
    struct world *w = *state;
    autofree char *data = NULL;
    size_t len = 0;
    char wal[128];
    read_database(w, &data, &len);
    /* What the first table's pages hold, overwritten; and a log left behind, as by a crash. */
    fill_garbage(data + 2 * DB_PAGE_BYTES, 2 * DB_PAGE_BYTES);
    world_file(w, "holdfast.db-wal", wal, sizeof(wal));
    MUST(file_write(wal, "x", 1, 0600));
    assert_refused(w, data, len, "damaged");
}

static void test_a_database_of_another_program_is_refused(void **state)
{
    struct world *w = *state;
    char path[128];
    sqlite3 *sqlite = NULL;
    autofree char *data = NULL;
    size_t len = 0;
    world_file(w, DB_FILE, path, sizeof(path));
    assert_int_equal(sqlite3_open(path, &sqlite), SQLITE_OK);
    assert_int_equal(sqlite3_exec(sqlite, "CREATE TABLE photos (id)", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(sqlite);
    MUST(file_read(path, 1 << 20, &data, &len));
    assert_refused(w, data, len, "another program");
}

static void test_a_link_is_not_followed(void **state)
{
    struct world *w = *state;
    char path[128], target[128];
    world_file(w, DB_FILE, path, sizeof(path));
    world_file(w, "elsewhere", target, sizeof(target));
    MUST(symlink(target, path));
    assert_int_equal(world_open(w, DB_INLINE), STATUS_IO);
    assert_false(file_exists(target));
}

static void test_a_place_that_cannot_be_a_directory(void **state)
{
    struct world *w = *state;
    char path[128];
    struct db *db = NULL;
    world_file(w, "file", path, sizeof(path));
    MUST(file_write(path, "x", 1, 0600));
    w->error[0] = '\0';
    assert_true(db_open(path, &w->clock, DB_INLINE, &db, w->error) < 0);
    assert_null(db);
    assert_true(strlen(w->error) > 10);
}

/* --- two at once --------------------------------------------------------------------------------- */

static void test_a_second_opening_is_refused(void **state)
{
    struct world *w = *state;
    struct db *second = NULL;
    MUST(world_open(w, 0));
    assert_int_equal(db_open(w->dir, &w->clock, DB_INLINE, &second, w->error), STATUS_CONFLICT);
    assert_null(second);
    assert_non_null(strstr(w->error, w->dir));
    MUST(db_write(w->db, "populate", world_populate, w)); /* the first goes on undisturbed */
}

/* A child opens the directory, says so, and holds it until it is killed. */
static pid_t hold_in_child(struct world *w)
{
    int ready[2];
    MUST(pipe(ready));
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        char byte = world_open(w, 0) == 0 ? 'y' : 'n';
        (void)!write(ready[1], &byte, 1);
        for (;;)
            pause();
    }
    char byte = 0;
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    assert_int_equal(byte, 'y');
    return pid;
}

static void test_two_processes_do_not_share_a_directory(void **state)
{
    struct world *w = *state;
    pid_t pid = hold_in_child(w);
    assert_int_equal(world_open(w, 0), STATUS_CONFLICT);
    assert_non_null(strstr(w->error, "waited 5 s"));
    MUST(kill(pid, SIGKILL));
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    MUST(world_open(w, 0)); /* the lock dies with its holder */
}

/* Holds the lock as a child does that has not begun its program when its hpd is killed, and leaves it a moment after the word. */
static pid_t hold_until_told(const struct world *w, int *ret_word)
{
    int ready[2], word[2];
    char byte = 0, path[128];
    world_file(w, "lock", path, sizeof(path));
    MUST(pipe(ready));
    MUST(pipe(word));
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        int fd = -1;
        close(word[1]);
        bool holds = file_lock(path, &fd) == 0;
        bool told = holds && write(ready[1], "y", 1) == 1 && read(word[0], &byte, 1) == 1;
        usleep(300000);
        _exit(told ? 0 : 1);
    }
    close(ready[1]);
    close(word[0]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    *ret_word = word[1];
    return pid;
}

static void test_a_start_waits_for_the_child_of_a_killed_one(void **state)
{
    struct world *w = *state;
    struct db *db = NULL;
    int word = -1, status = -1;
    pid_t pid = hold_until_told(w, &word);
    assert_int_equal(db_open(w->dir, &w->clock, DB_INLINE, &db, w->error), STATUS_CONFLICT);
    assert_int_equal(write(word, "g", 1), 1);
    MUST(db_open(w->dir, &w->clock, 0, &db, w->error));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    MUST(status);
    close(word);
    db_close(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        EMPTY_TEST(test_a_new_store_is_for_its_owner_only),
        EMPTY_TEST(test_a_file_open_to_others_is_closed_to_them),
        EMPTY_TEST(test_what_was_written_is_there_after_a_clean_end),
        EMPTY_TEST(test_a_directory_is_made),
        EMPTY_TEST(test_garbage_is_refused_and_not_touched),
        EMPTY_TEST(test_a_torn_file_is_refused_and_not_touched),
        EMPTY_TEST(test_a_damaged_page_is_found_after_an_unclean_end),
        EMPTY_TEST(test_a_database_of_another_program_is_refused),
        EMPTY_TEST(test_a_link_is_not_followed),
        EMPTY_TEST(test_a_place_that_cannot_be_a_directory),
        EMPTY_TEST(test_a_second_opening_is_refused),
        EMPTY_TEST(test_two_processes_do_not_share_a_directory),
        EMPTY_TEST(test_a_start_waits_for_the_child_of_a_killed_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
