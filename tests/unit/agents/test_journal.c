/* The journal: its entries, whole and in pieces; a journalctl that is started again, that has cleared away where we stood, that
 * cannot read our cursor; and a real journald with a real journalctl, where that can be had. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agents/checks/journal.h"
#include "agents/checks/kmsg.h"
#include "agents/checks/kmsg_record.h"
#include "base/child.h"
#include "base/file.h"
#include "base/own.h"
#include "base/text.h"
#include "tests/unit/agents/place.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NOW_MS INT64_C(1795188470669)
#define PATIENCE_MS 60000
#define READ_MAX 65536
#define XID "NVRM: Xid (PCI:0000:b9:00): 79, GPU has fallen off the bus."

/* Of the kernel; of a program that wrote into the kernel log; with a message that is no text; of journald, twice. */
#define KERNEL(cursor, message)                                                      \
    "__CURSOR=" cursor "\n__MONOTONIC_TIMESTAMP=99\n_TRANSPORT=kernel\nPRIORITY=3\n" \
    "SYSLOG_IDENTIFIER=kernel\n_SOURCE_MONOTONIC_TIMESTAMP=7000000\nMESSAGE=" message "\n\n"
#define PROGRAM(cursor)                                                                   \
    "__CURSOR=" cursor "\n_TRANSPORT=kernel\nSYSLOG_FACILITY=1\nSYSLOG_IDENTIFIER=NVRM\n" \
    "MESSAGE=Xid (PCI:0000:b9:00): 79, x\n\n"
#define NAMED(cursor) \
    "__CURSOR=" cursor "\n_TRANSPORT=kernel\nSYSLOG_IDENTIFIER=train.py\nSYSLOG_PID=12\nMESSAGE=" XID "\n\n"
#define BINARY(cursor)                                                            \
    "__CURSOR=" cursor "\n_TRANSPORT=kernel\nMESSAGE\n\x05\0\0\0\0\0\0\0a\nb\xff" \
    "c\nSYSLOG_IDENTIFIER=kernel\n\n"
#define MISSED(cursor) \
    "__CURSOR=" cursor "\n_TRANSPORT=driver\nMESSAGE_ID=" JOURNAL_MISSED "\nMESSAGE=Missed 12 kernel messages\n\n"
#define FORGED(cursor) "__CURSOR=" cursor "\n_TRANSPORT=syslog\nMESSAGE_ID=" JOURNAL_MISSED "\nMESSAGE=" XID "\n\n"

struct seen {
    int count, kernels;
    int64_t lost, at_us;
    char text[1024]; /* all of them, with bars between */
};

static void collect(const struct journal_entry *entry, void *arg)
{
    struct seen *seen = arg;
    size_t used = strlen(seen->text), room = sizeof(seen->text) - used;
    assert_true(entry->len < room - 2);
    memcpy(seen->text + used, entry->text, entry->len);
    memcpy(seen->text + used + entry->len, "|", 2);
    seen->count++;
    seen->kernels += entry->is_kernels;
    seen->lost += entry->lost;
    seen->at_us = entry->at_us;
}

static void test_entries(void **state)
{
    static const char stream[] = KERNEL("c1", XID) PROGRAM("c2") NAMED("c3") BINARY("c4") MISSED("c5")
        FORGED("c6") "_TRANSPORT=kernel\nMESSAGE=no cursor\n\n\n\nonly words\n" KERNEL("c7", "the end");
    (void)state;
    for (size_t piece = 1; piece < sizeof(stream); piece += piece < 16 ? 1 : 37) {
        struct journal_reader *reader = journal_reader_new();
        struct seen seen = {0};
        for (size_t at = 0; at < sizeof(stream) - 1; at += piece) {
            size_t left = sizeof(stream) - 1 - at;
            journal_reader_feed(reader, stream + at, left < piece ? left : piece, collect, &seen);
        }
        /* "only words" announces data of an absurd length, which swallows all that follows */
        assert_string_equal(seen.text, XID "|NVRM: Xid (PCI:0000:b9:00): 79, x|train.py[12]: " XID "|a\nb\xff"
                                           "c||");
        assert_int_equal(seen.count, 5);
        assert_int_equal(seen.kernels, 2); /* no program's */
        assert_int_equal(seen.lost, 12);
        journal_reader_restart(reader);
        journal_reader_feed(reader, KERNEL("c7", "the end"), sizeof(KERNEL("c7", "the end")) - 1, collect, &seen);
        assert_int_equal(seen.count, 6);
        assert_int_equal(seen.at_us, 7000000);
        journal_reader_free(reader);
    }
}

static void test_a_long_message_is_cut(void **state)
{
    struct journal_reader *reader = journal_reader_new();
    struct seen seen = {0};
    autofree char *longest = own_calloc(JOURNAL_TEXT_MAX_BYTES * 4, 1);
    (void)state;
    memset(longest, 'x', JOURNAL_TEXT_MAX_BYTES * 4 - 1);
    memcpy(longest, "MESSAGE=", 8);
    journal_reader_feed(reader, longest, strlen(longest), collect, &seen);
    journal_reader_restart(reader);
    static const char head[] = "__CURSOR=c\n_TRANSPORT=syslog\n", tail[] = "\n\n" KERNEL("d", "after");
    journal_reader_feed(reader, head, sizeof(head) - 1, collect, &seen);
    journal_reader_feed(reader, longest, strlen(longest), collect, &seen);
    journal_reader_feed(reader, tail, sizeof(tail) - 1, collect, &seen);
    assert_string_equal(seen.text, "after|");
    journal_reader_free(reader);
}

/* --- a journalctl of our own ----------------------------------------------------------------------------------- */

/* Says what is in the file "say" and stays, unless there is a file "end"; writes down how it was called. */
static char *make_tool(const struct place *place)
{
    autofree char *body = own_printf("#!/bin/sh\necho \"$@\" >>%s/calls\ncat %s/say 2>/dev/null\n"
                                     "[ -e %s/end ] && exit 1\necho $$ >%s/pid\nexec sleep 1000\n",
                                     place->dir, place->dir, place->dir, place->dir);
    char *path = own_printf("%s/journalctl", place->dir);
    assert_int_equal(file_write(path, body, strlen(body), 0700), 0);
    return path;
}

static void say(const struct place *place, const char *data, size_t len)
{
    autofree char *path = own_printf("%s/say", place->dir);
    assert_int_equal(file_write(path, data, len, 0600), 0);
}

static void read_until(struct journal *journal, struct seen *seen, int count)
{
    int64_t until = clock_mono_ms(clock_system()) + PATIENCE_MS;
    while (seen->count < count) {
        struct pollfd one = {.fd = journal_fd(journal), .events = POLLIN};
        assert_true(clock_mono_ms(clock_system()) < until);
        (void)poll(&one, 1, 100);
        while (journal_read(journal, READ_MAX, collect, seen))
            ;
    }
    assert_int_equal(seen->count, count);
}

static void read_until_over(struct journal *journal, struct seen *seen)
{
    int64_t until = clock_mono_ms(clock_system()) + PATIENCE_MS;
    while (journal_fd(journal) >= 0) {
        struct pollfd one = {.fd = journal_fd(journal), .events = POLLIN};
        assert_true(clock_mono_ms(clock_system()) < until);
        (void)poll(&one, 1, 100);
        (void)journal_read(journal, READ_MAX, collect, seen);
    }
}

static bool was_called_with(const struct place *place, const char *words)
{
    autofree char *path = own_printf("%s/calls", place->dir), *data = NULL;
    size_t len;
    return file_read(path, READ_MAX, &data, &len) == 0 && strstr(data, words) != NULL;
}

static void test_it_goes_on_where_it_stood(void **state)
{
    const struct place *place = *state;
    autofree char *tool = make_tool(place);
    static const char first[] = KERNEL("c1", "one") KERNEL("c2", "two"),
                      again[] = KERNEL("c2", "two") KERNEL("c3", "three"), later[] = KERNEL("c9", "nine");
    struct clock clock;
    struct seen seen = {0};
    clock_fake_init(&clock, NOW_MS);
    say(place, first, sizeof(first) - 1);
    struct journal *journal = journal_new(tool, "/var/log/elsewhere", "", &clock);
    assert_int_equal(journal_fd(journal), -1);
    read_until(journal, &seen, 2);
    assert_true(journal_is_open(journal));
    assert_true(was_called_with(place, "--directory=/var/log/elsewhere"));
    assert_false(was_called_with(place, "--cursor"));
    assert_string_equal(journal_cursor(journal), "c2");
    journal_free(journal);
    say(place, again, sizeof(again) - 1);
    journal = journal_new(tool, NULL, "c2", &clock);
    read_until(journal, &seen, 3);
    assert_true(was_called_with(place, "--cursor=c2"));
    assert_string_equal(seen.text, "one|two|three|");
    assert_int_equal(seen.lost, 0);
    journal_free(journal);
    /* what was behind the place was cleared away */
    say(place, later, sizeof(later) - 1);
    journal = journal_new(tool, NULL, "c3", &clock);
    read_until(journal, &seen, 5);
    assert_string_equal(seen.text, "one|two|three||nine|");
    assert_int_equal(seen.lost, 1);
    journal_free(journal);
}

static void test_it_is_started_again(void **state)
{
    const struct place *place = *state;
    autofree char *tool = make_tool(place), *end = own_printf("%s/end", place->dir);
    static const char first[] = KERNEL("c1", "one"), again[] = KERNEL("c1", "one") KERNEL("c2", "two");
    struct clock clock;
    struct seen seen = {0};
    clock_fake_init(&clock, NOW_MS);
    say(place, first, sizeof(first) - 1);
    assert_int_equal(file_write(end, "", 0, 0600), 0);
    struct journal *journal = journal_new(tool, NULL, "", &clock);
    read_until(journal, &seen, 1);
    read_until_over(journal, &seen);
    assert_false(journal_is_open(journal));
    (void)journal_read(journal, READ_MAX, collect, &seen); /* not at once: it may end each time */
    assert_int_equal(journal_fd(journal), -1);
    say(place, again, sizeof(again) - 1);
    assert_int_equal(unlink(end), 0);
    clock_fake_advance(&clock, 2000);
    read_until(journal, &seen, 2);
    assert_string_equal(seen.text, "one|two|");
    assert_int_equal(seen.lost, 0);
    journal_free(journal);
}

/* "Failed to seek to cursor": it ends without a word, however often it is asked. */
static void test_a_cursor_that_it_cannot_read(void **state)
{
    const struct place *place = *state;
    autofree char *tool = make_tool(place), *end = own_printf("%s/end", place->dir);
    static const char entry[] = KERNEL("c1", "one");
    struct clock clock;
    struct seen seen = {0};
    clock_fake_init(&clock, NOW_MS);
    assert_int_equal(file_write(end, "", 0, 0600), 0);
    struct journal *journal = journal_new(tool, NULL, "nonsense", &clock);
    for (int i = 0; i < 3; i++) {
        (void)journal_read(journal, READ_MAX, collect, &seen);
        read_until_over(journal, &seen);
        assert_int_equal(seen.count, 0);
        clock_fake_advance(&clock, 60000);
    }
    assert_int_equal(unlink(end), 0);
    say(place, entry, sizeof(entry) - 1);
    read_until(journal, &seen, 2);
    assert_string_equal(seen.text, "|one|");
    assert_int_equal(seen.lost, 1);
    journal_free(journal);
}

static void test_it_ends_with_us(void **state)
{
    const struct place *place = *state;
    autofree char *tool = make_tool(place), *path = own_printf("%s/pid", place->dir), *data = NULL;
    static const char entry[] = KERNEL("c1", "one");
    struct clock clock;
    struct seen seen = {0};
    size_t len = 0;
    clock_fake_init(&clock, NOW_MS);
    say(place, entry, sizeof(entry) - 1);
    struct journal *journal = journal_new(tool, NULL, "", &clock);
    read_until(journal, &seen, 1);
    for (int64_t until = clock_mono_ms(clock_system()) + PATIENCE_MS; len == 0; (void)poll(NULL, 0, 10)) {
        assert_true(clock_mono_ms(clock_system()) < until);
        free(TAKE(data));
        (void)file_read(path, 64, &data, &len);
    }
    journal_free(journal);
    assert_int_equal(kill((pid_t)strtol(data, NULL, 10), 0), -1); /* killed and reaped */
    assert_false(journal_is_there("/no/such/journalctl"));
    assert_true(journal_is_there(tool));
    journal_free(NULL);
}

/* --- as the kernel log ------------------------------------------------------------------------------------------ */

struct findings {
    int count;
    struct finding first, second, last;
};

static void find(const struct finding *finding, void *arg)
{
    struct findings *findings = arg;
    if (findings->count == 0)
        findings->first = *finding;
    if (findings->count == 1)
        findings->second = *finding;
    findings->count++;
    findings->last = *finding;
}

static void find_until(struct kmsg *kmsg, struct findings *findings, int count)
{
    int64_t until = clock_mono_ms(clock_system()) + PATIENCE_MS;
    while (findings->count < count) {
        struct pollfd one = {.fd = kmsg_fd(kmsg), .events = POLLIN};
        assert_true(clock_mono_ms(clock_system()) < until);
        (void)poll(&one, 1, 100);
        while (kmsg_read(kmsg, find, findings))
            ;
    }
}

static void test_findings(void **state)
{
    const struct place *place = *state;
    autofree char *tool = make_tool(place);
    static const char stream[] = KERNEL("c1", XID) KERNEL("c2", "harmless") FORGED("c3") MISSED("c4");
    struct clock clock;
    struct findings findings = {0};
    autofree char *path = own_printf("%s:%s", place->dir, getenv("PATH"));
    setenv("PATH", path, 1);
    clock_fake_init(&clock, NOW_MS);
    say(place, stream, sizeof(stream) - 1);
    struct kmsg *kmsg = kmsg_new(KMSG_JOURNAL, NULL, &clock);
    assert_false(kmsg_is_open(kmsg));
    find_until(kmsg, &findings, 2);
    assert_true(kmsg_is_open(kmsg));
    assert_string_equal(findings.first.code, "xid.79");
    assert_int_equal(findings.first.at_ms, 7000); /* the fake clock stands at NOW_MS since boot as well */
    assert_string_equal(findings.last.code, KMSG_OVERRUN_CODE);
    assert_int_equal(findings.last.count, 12);
    assert_string_equal(kmsg_position(kmsg).cursor, "c4");
    assert_int_equal(kmsg_position(kmsg).file, 0);
    kmsg_free(kmsg);
}

/* What an entry is known by is its sequence and its number in it, however its clocks differ; of a cursor of another form, all of it. */
static void test_places(void **state)
{
    static const char stream[] =
        KERNEL("s=4c0e;i=1f;b=77;m=5;t=6;x=7", XID) KERNEL("s=4c0e;i=a0;b=77;m=9;t=9;x=8", XID) KERNEL("later", XID);
    const struct place *place = *state;
    autofree char *tool = make_tool(place);
    autofree char *path = own_printf("%s:%s", place->dir, getenv("PATH"));
    struct findings findings[2] = {{0}, {0}};
    struct clock clock;
    setenv("PATH", path, 1);
    say(place, stream, sizeof(stream) - 1);
    for (int life = 0; life < 2; life++) {
        clock_fake_init(&clock, NOW_MS + life * 1000);
        struct kmsg *kmsg = kmsg_new(KMSG_JOURNAL, NULL, &clock);
        find_until(kmsg, &findings[life], 3);
        kmsg_free(kmsg);
    }
    assert_int_equal(findings[0].first.place.offset, 0x1f);
    assert_int_equal(findings[0].second.place.offset, 0xa0);
    assert_true(findings[0].first.place.log == findings[0].second.place.log && findings[0].first.place.log > 0);
    assert_true(findings[0].last.place.log != findings[0].first.place.log);
    assert_memory_equal(&findings[0].first.place, &findings[1].first.place, sizeof(struct log_place));
    assert_memory_equal(&findings[0].last.place, &findings[1].last.place, sizeof(struct log_place));
}

static void count_only(const struct journal_entry *entry, void *arg)
{
    struct seen *seen = arg;
    seen->count++;
    seen->lost += entry->lost;
    seen->at_us = entry->at_us;
}

/* A journald in name spaces of its own, which takes what stands in the machine's kernel log; root alone may. */
static bool make_a_real_journal(const char *copy)
{
    static const char script[] =
        "mount -t tmpfs tmpfs /run && mount -t tmpfs tmpfs /var/log || exit 9\n"
        "mkdir -p /run/log/journal /run/systemd\n"
        "/lib/systemd/systemd-journald & daemon=$!\n"
        "for i in $(seq 300); do journalctl -b -n 1 -q _TRANSPORT=kernel | grep -q . && break; "
        "sleep 0.1; done\n"
        "cp -r /run/log/journal \"$0\"; kill $daemon; wait\n";
    const char *const argv[] = {"unshare", "--mount", "sh", "-c", script, copy, NULL};
    const struct child_options options = {.timeout_ms = PATIENCE_MS, .out_bytes_max = READ_MAX};
    struct child_result result;
    if (geteuid() != 0 || access("/lib/systemd/systemd-journald", X_OK) != 0 || access("/dev/kmsg", R_OK) != 0 ||
        child_run(argv, &options, &result) != 0)
        return false;
    bool made = result.exit_code != 9 && file_exists(copy);
    child_result_free(&result);
    return made;
}

/* The kernel has overwritten its first messages: a journald that begins now misses them, and reports that. */
static bool has_wrapped(void)
{
    char data[KMSG_RECORD_BYTES_MAX];
    struct kmsg_record record;
    int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, data, sizeof(data)) : -1;
    if (fd >= 0)
        close(fd);
    return n <= 0 || kmsg_record_parse(data, (size_t)n, &record) != 0 || record.seq > 0;
}

static void test_a_real_journal(void **state)
{
    const struct place *place = *state;
    char copy[sizeof(place->dir) + 16];
    struct clock clock;
    struct seen seen = {0};
    snprintf(copy, sizeof(copy), "%s/journal", place->dir);
    if (!make_a_real_journal(copy))
        skip(); /* leaves this function without freeing what it owns */
    clock_fake_init(&clock, NOW_MS);
    struct journal *journal = journal_new("/usr/bin/journalctl", copy, "", &clock);
    for (int64_t until = clock_mono_ms(clock_system()) + PATIENCE_MS; !journal_is_open(journal);) {
        struct pollfd one = {.fd = journal_fd(journal), .events = POLLIN};
        assert_true(clock_mono_ms(clock_system()) < until);
        (void)poll(&one, 1, 100);
        (void)journal_read(journal, 1, count_only, &seen);
    }
    assert_true(text_starts_with(journal_cursor(journal), "s="));
    assert_true(seen.count > 0 && seen.at_us >= 0);
    assert_true(seen.lost == 0 || has_wrapped());
    journal_free(journal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_entries),
        cmocka_unit_test(test_a_long_message_is_cut),
        cmocka_unit_test_setup_teardown(test_it_goes_on_where_it_stood, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_it_is_started_again, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_a_cursor_that_it_cannot_read, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_it_ends_with_us, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_findings, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_places, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_a_real_journal, make_place, remove_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
