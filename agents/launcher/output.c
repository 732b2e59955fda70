/*
 * Consoles and streams. A console is written in pieces that a pipe takes whole when it says that it is ready (PIPE_BUF), so its
 * descriptor, which others share, need not be switched to not blocking.
 */
#include "agents/launcher/output.h"

#include "base/clock.h"
#include "base/own.h"
#include "base/status.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define READ_BYTES 65536
#define READS_AT_END 64 /* what a pipe can hold at most: 1 MiB */
#define LINE_BYTES_MAX 65536
#define RESUME_BYTES (CONSOLE_BYTES_MAX / 2)

/* --- console ------------------------------------------------------------------------------------------ */

static bool takes_more(const struct console *console, int64_t within_ms)
{
    struct pollfd poll_fd = {.fd = console->source.fd, .events = POLLOUT};
    return poll(&poll_fd, 1, (int)within_ms) == 1;
}

/* False when it takes nothing now. A console that is gone takes everything. */
static bool write_piece(struct console *console, int64_t within_ms)
{
    size_t left = console->waiting.len - console->sent;
    if (!takes_more(console, within_ms))
        return false;
    ssize_t n = write(console->source.fd, console->waiting.data + console->sent, left < PIPE_BUF ? left : PIPE_BUF);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return errno == EINTR;
    console->sent += n < 0 ? left : (size_t)n;
    return true;
}

static void read_again(struct console *console)
{
    while (console->streams != NULL) {
        struct stream *stream = console->streams;
        console->streams = stream->next_held;
        stream->held = false;
        loop_change(stream->loop, &stream->source, EPOLLIN);
    }
}

static void write_waiting(struct console *console)
{
    while (console->sent < console->waiting.len && write_piece(console, 0))
        ;
    if (console->waiting.len - console->sent <= RESUME_BYTES)
        read_again(console);
    if (console->sent == console->waiting.len) {
        text_clear(&console->waiting);
        console->sent = 0;
        if (console->waits)
            loop_remove(console->loop, &console->source);
        console->waits = false;
    } else if (!console->waits) {
        console->waits = loop_add(console->loop, &console->source, EPOLLOUT) == 0;
    }
}

static void on_console(void *arg, uint32_t events)
{
    (void)events;
    write_waiting(arg);
}

void console_init(struct console *console, struct loop *loop, int fd)
{
    *console = (struct console){.loop = loop, .source = {fd, on_console, console}};
}

void console_close(struct console *console, int64_t within_ms)
{
    int64_t end = clock_mono_ms(clock_system()) + within_ms, left = within_ms;
    while (console->sent < console->waiting.len && left > 0) {
        (void)write_piece(console, left);
        left = end - clock_mono_ms(clock_system());
    }
    if (console->waits)
        loop_remove(console->loop, &console->source);
    text_free(&console->waiting);
    *console = (struct console){.source = {.fd = -1}};
}

static bool is_full(const struct console *console)
{
    return console->waiting.len - console->sent >= CONSOLE_BYTES_MAX;
}

/* What was sent goes away before the rest would make the text grow. */
static struct text *room(struct console *console)
{
    if (console->sent >= RESUME_BYTES) {
        memmove(console->waiting.data, console->waiting.data + console->sent, console->waiting.len - console->sent);
        console->waiting.len -= console->sent;
        console->sent = 0;
    }
    return &console->waiting;
}

/* --- lines with a prefix ------------------------------------------------------------------------------ */

static void say_left_out(struct stream *stream)
{
    if (stream->lines_left_out > 0)
        text_printf(room(stream->console), "%s(%lld line%s left out here; the log file has them)\n", stream->prefix,
                    (long long)stream->lines_left_out, text_plural(stream->lines_left_out));
    stream->lines_left_out = 0;
}

static void show_line(struct stream *stream)
{
    struct console *console = stream->console;
    if (is_full(console) && stream->file >= 0) {
        stream->lines_left_out++;
    } else {
        say_left_out(stream);
        text_add(room(console), stream->prefix);
        text_add_bytes(&console->waiting, text_get(&stream->line), stream->line.len);
        text_add_char(&console->waiting, '\n');
    }
    text_clear(&stream->line);
}

/* Lines end as in Python's text files: \n, \r\n, \r. */
static void show_lines(struct stream *stream, const char *bytes, size_t len)
{
    for (size_t i = 0; i < len;) {
        size_t from = i;
        if (stream->after_return && bytes[i] == '\n')
            from = ++i;
        stream->after_return = false;
        while (i < len && bytes[i] != '\n' && bytes[i] != '\r')
            i++;
        text_add_bytes(&stream->line, bytes + from, i - from);
        if (i < len || stream->line.len >= LINE_BYTES_MAX) {
            stream->after_return = i < len && bytes[i] == '\r';
            if (i < len || stream->line.len > 0)
                show_line(stream);
            i++;
        }
    }
}

static void show(struct stream *stream, const char *bytes, size_t len)
{
    if (stream->console == NULL)
        return;
    if (*stream->prefix != '\0')
        show_lines(stream, bytes, len);
    else if (!is_full(stream->console) || stream->file < 0)
        text_add_bytes(room(stream->console), bytes, len);
    write_waiting(stream->console);
}

/* --- streams ------------------------------------------------------------------------------------------ */

static void keep(struct stream *stream, const char *bytes, size_t len)
{
    while (stream->file >= 0 && !stream->lost && len > 0) {
        ssize_t n = write(stream->file, bytes, len);
        if (n < 0 && errno == EINTR)
            continue;
        stream->lost = n <= 0; /* the disk is full: the console and the rules still have it */
        bytes += n > 0 ? n : 0;
        len -= n > 0 ? (size_t)n : 0;
    }
}

/* 1: bytes came. 0: none now. -1: never again. */
static int take(struct stream *stream)
{
    static char bytes[READ_BYTES];
    ssize_t n = read(stream->source.fd, bytes, sizeof(bytes));
    if (n <= 0)
        return n < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
    keep(stream, bytes, (size_t)n);
    stream->on_bytes(stream->arg, stream->rank, stream->number, bytes, (size_t)n);
    show(stream, bytes, (size_t)n);
    return 1;
}

static void hold(struct stream *stream)
{
    stream->held = true;
    stream->next_held = stream->console->streams;
    stream->console->streams = stream;
    loop_change(stream->loop, &stream->source, 0);
}

static void on_stream(void *arg, uint32_t events)
{
    struct stream *stream = arg;
    (void)events;
    if (stream->held)
        return;
    if (stream->console != NULL && stream->file < 0 && is_full(stream->console))
        hold(stream);
    else if (take(stream) < 0)
        stream_close(stream);
}

int stream_open(struct stream *stream, struct loop *loop, int fd)
{
    stream->loop = loop;
    stream->source = (struct source){fd, on_stream, stream};
    return loop_add(loop, &stream->source, EPOLLIN);
}

static void let_go(struct stream *stream)
{
    if (!stream->held)
        return;
    struct stream **at = &stream->console->streams;
    while (*at != NULL && *at != stream)
        at = &(*at)->next_held;
    if (*at == stream)
        *at = stream->next_held;
    stream->held = false;
}

void stream_close(struct stream *stream)
{
    if (stream->source.fd < 0)
        return;
    let_go(stream);
    for (int i = 0; i < READS_AT_END && take(stream) > 0; i++)
        ;
    loop_remove(stream->loop, &stream->source);
    close(stream->source.fd);
    stream->source.fd = -1;
    if (stream->console != NULL) {
        if (stream->line.len > 0)
            show_line(stream);
        say_left_out(stream);
        write_waiting(stream->console);
    }
    text_free(&stream->line);
    if (stream->file >= 0)
        close(stream->file);
    stream->file = -1;
    free(TAKE(stream->prefix));
    stream->on_end(stream->arg, stream->rank, stream->number);
}
