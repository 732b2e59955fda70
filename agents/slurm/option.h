/*
 * The words of srun's --auto-resume=…: read by the plugin inside of srun, which refuses what it does not know, and again by the
 * program that it hands over to. Nothing but libc, as it is loaded into every srun.
 *
 *     0             the step runs once
 *     1             it runs again when a node was at fault
 *     crash:N       and up to N times when none was
 *     attempts:N    the step runs so many times at most
 *     progress:PATH an attempt that left this file or directory as it was made no progress
 */
#ifndef HOLDFAST_AGENTS_SLURM_OPTION_H
#define HOLDFAST_AGENTS_SLURM_OPTION_H

#include <stdbool.h>
#include <stddef.h>

#define RESUME_COUNT_MAX 100
#define RESUME_PATH_MAX 1024
#define RESUME_OPTION_ERROR_MAX 160

struct resume_option {
    bool on;
    int crash_max;                  /* runs after crashes of the program's own */
    int attempts_max;               /* 0: the site's */
    char progress[RESUME_PATH_MAX]; /* "": by how long an attempt ran */
};

/* False, with a sentence, when it is not understood; nothing is written then. */
bool resume_option_parse(const char *text, struct resume_option *ret_option, char ret_error[RESUME_OPTION_ERROR_MAX]);

#endif
