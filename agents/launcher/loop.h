/*
 * One thread waits for everything: ends of workers, their output, requests, messages, signals. Events are handed out one by one, so a
 * source may remove any other one.
 */
#ifndef HOLDFAST_AGENTS_LAUNCHER_LOOP_H
#define HOLDFAST_AGENTS_LAUNCHER_LOOP_H

#include <stdbool.h>
#include <stdint.h>

struct source {
    int fd; /* -1: not in the loop */
    void (*on_ready)(void *arg, uint32_t events);
    void *arg;
};

struct loop {
    int epoll_fd;
};

int loop_open(struct loop *loop);
void loop_close(struct loop *loop);
/* events as of epoll(7). source stays the caller's and must stay where it is. STATUS_UNSUPPORTED for a plain file, which is always ready. */
int loop_add(struct loop *loop, struct source *source, uint32_t events);
void loop_change(struct loop *loop, struct source *source, uint32_t events);
/* The descriptor is still open then. Nothing happens for one that is not in the loop. */
void loop_remove(struct loop *loop, struct source *source);
/* Waits for one event, for so long at most; -1: for ever. */
void loop_wait(struct loop *loop, int64_t timeout_ms);

#endif
