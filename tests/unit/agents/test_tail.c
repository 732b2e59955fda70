/* Following a file: growth, partial and over-long lines, rotation, truncation, going on after a restart. */
#include "place.h"

#include "agents/checks/tail.h"
#include "base/file.h"
#include "base/own.h"
#include "base/text.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ALL ((size_t)1 << 20)

static void append_bytes(const char *path, const char *bytes, size_t len)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, len), len);
    close(fd);
}

static void append(const char *path, const char *s)
{
    append_bytes(path, s, strlen(s));
}

static void collect(const char *line, size_t len, const struct tail_position *at, void *arg)
{
    struct text *lines = arg;
    assert_true(at->file != 0);
    text_add_bytes(lines, line, len);
    text_add_char(lines, '|');
}

/* What tail gives now, lines ended by |. */
static void expect(struct tail *tail, const char *expected)
{
    struct text lines = {0};
    while (tail_read(tail, ALL, collect, &lines))
        ;
    assert_string_equal(text_get(&lines), expected);
    text_free(&lines);
}

static void test_growth(void **state)
{
    const struct place *place = *state;
    struct tail *tail = tail_new(place->path, NULL);
    assert_false(tail_is_open(tail));
    expect(tail, "");
    append(place->path, "one\ntwo\nthr");
    expect(tail, "one|two|");
    assert_true(tail_is_open(tail));
    assert_int_equal(tail_position(tail).offset, 8);
    expect(tail, "");
    append(place->path, "ee\n");
    expect(tail, "three|");
    append(place->path, "\n\r\ncr\r\n");
    expect(tail, "||cr|");
    tail_free(tail);
}

static void test_wakes_up(void **state)
{
    const struct place *place = *state;
    struct tail *tail = tail_new(place->path, NULL);
    struct pollfd p = {.fd = tail_fd(tail), .events = POLLIN};
    assert_true(p.fd >= 0);
    assert_int_equal(poll(&p, 1, 0), 0);
    append(place->path, "x\n"); /* made */
    assert_int_equal(poll(&p, 1, 20000), 1);
    expect(tail, "x|");
    assert_int_equal(poll(&p, 1, 0), 0);
    append(place->path, "y\n"); /* grown */
    assert_int_equal(poll(&p, 1, 20000), 1);
    expect(tail, "y|");
    autofree char *old = own_printf("%s.1", place->path);
    assert_int_equal(rename(place->path, old), 0);
    append(place->path, "z\n"); /* rotated */
    assert_int_equal(poll(&p, 1, 20000), 1);
    expect(tail, "z|");
    append(place->path, "after\n");
    assert_int_equal(poll(&p, 1, 20000), 1);
    expect(tail, "after|");
    tail_free(tail);
}

static void test_rotation_loses_nothing(void **state)
{
    const struct place *place = *state;
    autofree char *old = own_printf("%s.1", place->path);
    append(place->path, "one\n");
    struct tail *tail = tail_new(place->path, NULL);
    expect(tail, "one|");
    append(place->path, "two\nlast without end");
    assert_int_equal(rename(place->path, old), 0);
    append(place->path, "new\n");
    expect(tail, "two|last without end|new|");
    /* taken away altogether, still written to, then there again */
    append(place->path, "more\n");
    assert_int_equal(rename(place->path, old), 0);
    expect(tail, "more|");
    append(old, "late\n");
    expect(tail, "late|");
    append(place->path, "again\n");
    expect(tail, "again|");
    tail_free(tail);
}

static void test_truncation(void **state)
{
    const struct place *place = *state;
    append(place->path, "one\ntwo\npart");
    struct tail *tail = tail_new(place->path, NULL);
    expect(tail, "one|two|");
    assert_int_equal(truncate(place->path, 0), 0);
    expect(tail, "");
    append(place->path, "x\n");
    expect(tail, "x|");
    assert_int_equal(truncate(place->path, 0), 0);
    append(place->path, "y\n"); /* as long as before: only the next line tells */
    append(place->path, "z\n");
    expect(tail, "z|");
    tail_free(tail);
}

static void test_position_survives(void **state)
{
    const struct place *place = *state;
    append(place->path, "one\ntwo\nthr");
    struct tail *tail = tail_new(place->path, NULL);
    expect(tail, "one|two|");
    struct tail_position at = tail_position(tail);
    tail_free(tail);
    append(place->path, "ee\n");
    tail = tail_new(place->path, &at);
    expect(tail, "three|");
    tail_free(tail);
    /* another file under the name: from its start */
    autofree char *fresh = own_printf("%s.new", place->path);
    append(fresh, "a longer first line than before\n");
    assert_int_equal(rename(fresh, place->path), 0);
    tail = tail_new(place->path, &at);
    expect(tail, "a longer first line than before|");
    at = tail_position(tail);
    tail_free(tail);
    /* the same file, emptied meanwhile */
    assert_int_equal(truncate(place->path, 0), 0);
    append(place->path, "short\n");
    tail = tail_new(place->path, &at);
    expect(tail, "short|");
    tail_free(tail);
    /* not there at first: the position waits for it */
    at = (struct tail_position){.file = 1, .offset = 5};
    assert_int_equal(unlink(place->path), 0);
    tail = tail_new(place->path, &at);
    expect(tail, "");
    assert_int_equal(tail_position(tail).offset, 5);
    tail_free(tail);
}

/* What was added while nobody could say in which boot is passed over, with the line that it ends in; what is new is not, nor
 * is a file that was begun anew. */
static void test_passing_over(void **state)
{
    const struct place *place = *state;
    append(place->path, "one\n");
    struct tail *tail = tail_new(place->path, NULL);
    expect(tail, "one|");
    struct tail_position at = tail_position(tail);
    tail_free(tail);
    append(place->path, "before the boot\ncut by ");
    at.pass_over = true;
    tail = tail_new(place->path, &at);
    expect(tail, "");
    append(place->path, "it\nof this boot\n");
    expect(tail, "of this boot|");
    assert_false(tail_position(tail).pass_over);
    tail_free(tail);
    at.offset = 1000; /* emptied meanwhile: all that is there is new */
    tail = tail_new(place->path, &at);
    expect(tail, "one|before the boot|cut by it|of this boot|");
    tail_free(tail);
}

static void test_long_lines(void **state)
{
    const struct place *place = *state;
    static const size_t lengths[] = {TAIL_LINE_BYTES_MAX - 1, TAIL_LINE_BYTES_MAX, TAIL_LINE_BYTES_MAX + 1,
                                     3 * TAIL_LINE_BYTES_MAX + 17};
    struct tail *tail = tail_new(place->path, NULL);
    for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
        size_t kept = lengths[i] < TAIL_LINE_BYTES_MAX ? lengths[i] : TAIL_LINE_BYTES_MAX;
        autofree char *line = own_calloc(lengths[i] + 2, 1), *expected = own_calloc(TAIL_LINE_BYTES_MAX + 16, 1);
        memset(line, 'x', lengths[i]);
        line[lengths[i]] = '\n';
        append(place->path, line);
        append(place->path, "next\n");
        memset(expected, 'x', kept);
        memcpy(expected + kept, "|next|", sizeof("|next|"));
        expect(tail, expected);
    }
    tail_free(tail);
}

static void test_a_long_line_that_comes_in_pieces(void **state)
{
    const struct place *place = *state;
    struct tail *tail = tail_new(place->path, NULL);
    char piece[1000];
    size_t lines = 0;
    memset(piece, 'y', sizeof(piece));
    for (int i = 0; i < 10; i++) {
        struct text got = {0};
        append_bytes(place->path, piece, sizeof(piece));
        while (tail_read(tail, ALL, collect, &got))
            ;
        lines += got.len > 0;
        text_free(&got);
    }
    assert_int_equal(lines, 1); /* its beginning, once */
    append(place->path, "\nnext\n");
    expect(tail, "next|");
    tail_free(tail);
}

static void test_any_bytes(void **state)
{
    const struct place *place = *state;
    struct tail *tail = tail_new(place->path, NULL);
    struct text got = {0};
    char bytes[512];
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (char)(i * 7);
    append_bytes(place->path, bytes, sizeof(bytes));
    append(place->path, "\nend\n");
    while (tail_read(tail, 10, collect, &got)) /* in small steps */
        ;
    assert_true(text_ends_with(got.data + got.len - 4, "end|"));
    text_free(&got);
    tail_free(tail);
}

/* What opens but cannot be read is not being watched. */
static void test_unreadable(void **state)
{
    (void)state;
    struct tail *tail = tail_new("/proc", NULL); /* reading a directory fails */
    assert_false(tail_read(tail, 4096, collect, NULL));
    assert_false(tail_is_open(tail));
    assert_false(tail_read(tail, 4096, collect, NULL)); /* tried again, and no worse */
    assert_false(tail_is_open(tail));
    tail_free(tail);
}

static void test_no_file(void **state)
{
    const struct place *place = *state;
    autofree char *deep = own_printf("%s/not/there/kmsg", place->dir), *dir = own_printf("%s/not/there", place->dir);
    struct tail *tail = tail_new(deep, NULL);
    expect(tail, "");
    assert_int_equal(file_make_dirs(dir, 0700), 0);
    append(deep, "here\n");
    expect(tail, "here|");
    tail_free(tail);
    tail_free(NULL);
}

/* The file was rotated while nobody read it: its rest is read first. */
static void test_rotated_while_away(void **state)
{
    const struct place *place = *state;
    autofree char *old = own_printf("%s.1", place->path), *older = own_printf("%s.2", place->path);
    append(place->path, "one\n");
    struct tail *tail = tail_new(place->path, NULL);
    expect(tail, "one|");
    struct tail_position at = tail_position(tail);
    tail_free(tail);
    append(place->path, "two\nthr");
    append(older, "not ours\n");
    assert_int_equal(rename(place->path, old), 0);
    append(place->path, "four\n");
    tail = tail_new(place->path, &at);
    expect(tail, "two|thr|four|");
    append(place->path, "five\n");
    expect(tail, "five|");
    tail_free(tail);
}

static void note_place(const char *line, size_t len, const struct tail_position *at, void *arg)
{
    (void)line;
    (void)len;
    *(struct tail_position *)arg = *at;
}

/* Offsets begin again in a file that is emptied in place, so what stands there is told apart by how often that happened. */
static void test_places_in_an_emptied_file(void **state)
{
    const struct place *place = *state;
    struct tail_position before = {0}, after = {0}, again = {0};
    append(place->path, "one\ntwo\n");
    struct tail *tail = tail_new(place->path, NULL);
    while (tail_read(tail, ALL, note_place, &before))
        ;
    assert_int_equal(before.offset, 4);
    assert_int_equal(truncate(place->path, 0), 0);
    assert_false(tail_read(tail, ALL, note_place, &after));
    append(place->path, "xxx\n");
    while (tail_read(tail, ALL, note_place, &after))
        ;
    assert_int_equal(after.offset, 0);
    assert_int_equal(after.file, before.file);
    assert_int_equal(after.emptied, before.emptied + 1);
    struct tail_position at = tail_position(tail);
    tail_free(tail);
    assert_int_equal(truncate(place->path, 0), 0); /* and while nobody looks */
    append(place->path, "y\n");
    tail = tail_new(place->path, &at);
    while (tail_read(tail, ALL, note_place, &again))
        ;
    assert_int_equal(again.emptied, after.emptied + 1);
    tail_free(tail);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLACE_TEST(test_growth),
        PLACE_TEST(test_wakes_up),
        PLACE_TEST(test_rotation_loses_nothing),
        PLACE_TEST(test_truncation),
        PLACE_TEST(test_rotated_while_away),
        PLACE_TEST(test_places_in_an_emptied_file),
        PLACE_TEST(test_position_survives),
        PLACE_TEST(test_passing_over),
        PLACE_TEST(test_long_lines),
        PLACE_TEST(test_a_long_line_that_comes_in_pieces),
        PLACE_TEST(test_any_bytes),
        PLACE_TEST(test_unreadable),
        PLACE_TEST(test_no_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
