/*
 * Only fields that begin with "_" are set by journald; the writer of a message sets the others. An entry is taken when _TRANSPORT
 * says that it comes from the kernel log or from journald itself.
 *
 * journald splits a message that a program wrote into the kernel log ("NVRM: Xid …") into identifier and message. They are joined
 * again, as in /dev/kmsg. Messages of the kernel have the identifier "kernel" and are complete.
 */
#include "agents/checks/journal_entry.h"

#include "base/own.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

#define FIELD_MAX_BYTES 64 /* of a journal's field name */
#define WORD_MAX_BYTES 64
#define LENGTH_BYTES 8

enum where { IN_LINE, IN_LENGTH, IN_DATA, AT_FEED };

struct journal_reader {
    enum where where;
    char line[FIELD_MAX_BYTES + 1 + JOURNAL_TEXT_MAX_BYTES]; /* "KEY=value", or the data of KEY */
    size_t len;
    char key[FIELD_MAX_BYTES]; /* whose data comes */
    uint64_t left;             /* of the data */
    unsigned length_bytes;
    /* the entry so far */
    char cursor[JOURNAL_CURSOR_MAX_BYTES], text[JOURNAL_TEXT_MAX_BYTES];
    size_t text_len;
    char transport[WORD_MAX_BYTES], identifier[WORD_MAX_BYTES], pid[WORD_MAX_BYTES], message_id[WORD_MAX_BYTES];
    int64_t facility; /* -1: not said */
    int64_t source_us, seen_us;
};

void journal_reader_restart(struct journal_reader *reader)
{
    *reader = (struct journal_reader){.facility = -1, .source_us = -1, .seen_us = -1};
}

struct journal_reader *journal_reader_new(void)
{
    struct journal_reader *reader = own_calloc(1, sizeof(*reader));
    journal_reader_restart(reader);
    return reader;
}

void journal_reader_free(struct journal_reader *reader)
{
    free(reader);
}

/* --- fields -------------------------------------------------------------------------------------------------- */

static void take_word(char *dst, size_t size, const char *value, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (value[i] <= ' ' || value[i] > '~')
            len = 0;
    if (text_copy_bytes(dst, size, value, len) != 0)
        dst[0] = '\0';
}

static void take_number(int64_t *number, const char *value, size_t len)
{
    char digits[24];
    if (text_copy_bytes(digits, sizeof(digits), value, len) != 0 || text_parse_i64(digits, 0, INT64_MAX, number) != 0)
        *number = -1;
}

static void take_field(struct journal_reader *reader, const char *key, const char *value, size_t len)
{
    if (strcmp(key, "MESSAGE") == 0) {
        reader->text_len = len < sizeof(reader->text) ? len : sizeof(reader->text);
        memcpy(reader->text, value, reader->text_len);
    } else if (strcmp(key, "__CURSOR") == 0) {
        take_word(reader->cursor, sizeof(reader->cursor), value, len);
    } else if (strcmp(key, "_TRANSPORT") == 0) {
        take_word(reader->transport, sizeof(reader->transport), value, len);
    } else if (strcmp(key, "SYSLOG_IDENTIFIER") == 0) {
        take_word(reader->identifier, sizeof(reader->identifier), value, len);
    } else if (strcmp(key, "SYSLOG_PID") == 0) {
        take_word(reader->pid, sizeof(reader->pid), value, len);
    } else if (strcmp(key, "SYSLOG_FACILITY") == 0) {
        take_number(&reader->facility, value, len);
    } else if (strcmp(key, "MESSAGE_ID") == 0) {
        take_word(reader->message_id, sizeof(reader->message_id), value, len);
    } else if (strcmp(key, "_SOURCE_MONOTONIC_TIMESTAMP") == 0) {
        take_number(&reader->source_us, value, len);
    } else if (strcmp(key, "__MONOTONIC_TIMESTAMP") == 0) {
        take_number(&reader->seen_us, value, len);
    }
}

/* --- entries ------------------------------------------------------------------------------------------------- */

static int64_t lost_messages(const struct journal_reader *reader)
{
    char text[WORD_MAX_BYTES];
    int64_t lost;
    size_t len = reader->text_len < sizeof(text) - 1 ? reader->text_len : sizeof(text) - 1;
    memcpy(text, reader->text, len);
    text[len] = '\0';
    char *digits = text + strcspn(text, "0123456789");
    digits[strspn(digits, "0123456789")] = '\0';
    return text_parse_i64(digits, 1, INT64_MAX, &lost) == 0 ? lost : 1;
}

static void end_entry(struct journal_reader *reader, journal_entry_fn *fn, void *arg)
{
    struct journal_entry entry = {.cursor = reader->cursor, .text = "", .at_us = reader->source_us};
    AUTO(text) struct text whole = {0};
    if (entry.at_us < 0)
        entry.at_us = reader->seen_us;
    if (reader->cursor[0] == '\0')
        return;
    if (strcmp(reader->transport, "driver") == 0 && strcmp(reader->message_id, JOURNAL_MISSED) == 0) {
        entry.lost = lost_messages(reader);
        fn(&entry, arg);
        return;
    }
    if (strcmp(reader->transport, "kernel") != 0)
        return;
    bool is_named = reader->identifier[0] != '\0' && strcmp(reader->identifier, "kernel") != 0;
    entry.is_kernels = reader->facility <= 0 && !is_named;
    if (is_named) {
        text_printf(&whole, "%s%s%s%s: ", reader->identifier, reader->pid[0] != '\0' ? "[" : "", reader->pid,
                    reader->pid[0] != '\0' ? "]" : "");
        text_add_bytes(&whole, reader->text, reader->text_len);
    }
    entry.text = whole.len > 0 ? whole.data : reader->text;
    entry.len = whole.len > 0 ? whole.len : reader->text_len;
    fn(&entry, arg);
}

/* --- the stream ---------------------------------------------------------------------------------------------- */

static void end_line(struct journal_reader *reader, journal_entry_fn *fn, void *arg)
{
    char *equals = memchr(reader->line, '=', reader->len);
    size_t key_len = equals != NULL ? (size_t)(equals - reader->line) : reader->len;
    if (reader->len == 0) {
        end_entry(reader, fn, arg);
        journal_reader_restart(reader);
        return;
    }
    if (text_copy_bytes(reader->key, sizeof(reader->key), reader->line, key_len) != 0)
        reader->key[0] = '\0'; /* no known field has such a long name */
    if (equals != NULL) {
        take_field(reader, reader->key, equals + 1, reader->len - key_len - 1);
    } else {
        reader->where = IN_LENGTH;
        reader->left = 0;
        reader->length_bytes = 0;
    }
    reader->len = 0;
}

/* Bytes beyond the buffer are dropped. */
static void keep(struct journal_reader *reader, const char *data, size_t len)
{
    size_t room = sizeof(reader->line) - reader->len;
    size_t kept = len < room ? len : room;
    memcpy(reader->line + reader->len, data, kept);
    reader->len += kept;
}

/* Each takes what it can of the data, at least a byte, and returns how much that was. */
static size_t feed_line(struct journal_reader *reader, const char *data, size_t len, journal_entry_fn *fn, void *arg)
{
    const char *feed = memchr(data, '\n', len);
    size_t part = feed != NULL ? (size_t)(feed - data) : len;
    keep(reader, data, part);
    if (feed != NULL)
        end_line(reader, fn, arg);
    return part + (feed != NULL);
}

static size_t feed_length(struct journal_reader *reader, const char *data)
{
    reader->left |= (uint64_t)(unsigned char)*data << (8 * reader->length_bytes);
    if (++reader->length_bytes == LENGTH_BYTES)
        reader->where = reader->left > 0 ? IN_DATA : AT_FEED;
    return 1;
}

static size_t feed_data(struct journal_reader *reader, const char *data, size_t len)
{
    size_t part = len < reader->left ? len : (size_t)reader->left;
    keep(reader, data, part);
    reader->left -= part;
    if (reader->left == 0)
        reader->where = AT_FEED;
    return part;
}

/* The line feed behind the data; without it nobody knows where the next field begins, so the next line is one. */
static size_t feed_end(struct journal_reader *reader)
{
    take_field(reader, reader->key, reader->line, reader->len);
    reader->len = 0;
    reader->where = IN_LINE;
    return 1;
}

void journal_reader_feed(struct journal_reader *reader, const char *data, size_t len, journal_entry_fn *fn, void *arg)
{
    for (size_t done = 0; done < len;) {
        const char *at = data + done;
        if (reader->where == IN_LINE)
            done += feed_line(reader, at, len - done, fn, arg);
        else if (reader->where == IN_LENGTH)
            done += feed_length(reader, at);
        else
            done += reader->where == IN_DATA ? feed_data(reader, at, len - done) : feed_end(reader);
    }
}
