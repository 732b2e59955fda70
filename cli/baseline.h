/*
 * What a fleet measures of itself, and what may be asked of a machine of it. Pure: samples go in, a proposal comes out.
 *
 * The rule: at least five samples; the limit lies three standard deviations from the median, these estimated from the median
 * deviation (1.4826 of it), which a few bad machines cannot move, and at least 5 % away, so that a fleet that measures alike does
 * not call noise a fault. A count that all machines but a few have is asked for exactly.
 */
#ifndef HOLDFAST_CLI_BASELINE_H
#define HOLDFAST_CLI_BASELINE_H

#include <stdbool.h>
#include <stddef.h>

#define BASELINE_SAMPLES_MIN 5
#define BASELINE_NAME_MAX 64

struct baseline {
    double median, deviation, p5, p95; /* deviation: the median of those from the median */
    bool proposes;                     /* there are samples enough */
    bool at_most;                      /* less is better */
    double limit;                      /* rounded away from the median, to three digits */
};

/* "38211.20" or "58.59 Gbit/s", as far as the number goes; false for what is no such text. */
bool baseline_number(const char *text, double *ret_value);
/* The name that a limit goes by: each adapter's "rdmap0s29 MB/s" of the test EFA is an "EFA MB/s". */
void baseline_measure(const char *test, const char *name, char ret_measure[BASELINE_NAME_MAX]);
/* Times and errors are better when less. */
bool baseline_less_is_better(const char *measure);
/* Of at least one value; they are sorted in place. */
void baseline_recount(double *values, size_t count, bool at_most, struct baseline *ret_baseline);
bool baseline_is_outlier(const struct baseline *baseline, double value);

#endif
