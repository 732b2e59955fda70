/*
 * An order that is one command on this machine (a reset, a reboot): its state on disk, its reports, and the run of its command.
 *
 *     <state-dir>/<kind>/  state     agents/node/work.h
 *                          output    of the last command
 *
 * The start is stored before the command runs, and the result before its report. What a runner finds that was begun and not finished is
 * never run again: the kind says what that means.
 */
#ifndef HOLDFAST_AGENTS_NODE_SINGLE_H
#define HOLDFAST_AGENTS_NODE_SINGLE_H

#include "agents/node/attempt.h"
#include "agents/node/runner.h"
#include "agents/node/work.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SINGLE_OUTPUT_BYTES_MAX (64 * 1024)
#define SINGLE_LINE_MAX 200
enum { SINGLE_DONE = 1, SINGLE_FAILED = 2 }; /* work_state.over */

struct single {
    struct runner runner;
    const struct runner_options *options;
    struct work_state work;
    char *output_path;
};

/* Call single_close in any case. */
int single_open(struct single *single, const struct runner_kind *kind, const struct runner_options *options);
void single_close(struct single *single);
/* Logs errors. */
int single_save(struct single *single);
/* State of another order is dropped. end_left: a process that a runner left behind is ended, of this order or another. */
void single_load(struct single *single, const char *key, bool end_left);

/* 0: the order is the one that was begun, for this instance and this boot. TALK_WITHDRAWN: it is for another. */
int single_is_ours(const struct single *single, const char *key, const char *instance_id, const char *boot_id);
int single_say_started(struct single *single);
int single_say_last_word(struct single *single);
/* Stores how it ended, then reports it. */
int single_finish(struct single *single, int over, const char *detail);

struct single_output {
    struct attempt_end end;
    char line[SINGLE_LINE_MAX]; /* its last line with text */
    char *text;                 /* its end; caller frees */
};
/* The command, with what it writes in the output file. A status: it could not be run. */
int single_call(struct single *single, const char *const argv[], int64_t limit_ms, struct single_output *ret_output);
/* The last line with text, with '?' for what cannot be printed. */
void single_last_line(const char *output, size_t len, char *ret_line, size_t size);

#endif
