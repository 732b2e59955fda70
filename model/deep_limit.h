/*
 * What a measure of a deep health check is judged by: "EFA MB/s >= 9000", "EFA latency us <= 40". The measure comes first, as the
 * results show it; a test may measure it once for each device.
 */
#ifndef HOLDFAST_MODEL_DEEP_LIMIT_H
#define HOLDFAST_MODEL_DEEP_LIMIT_H

#include <stdbool.h>
#include <stddef.h>

#define DEEP_LIMIT_MEASURE_MAX_BYTES 24
#define DEEP_LIMIT_TEXT_MAX_BYTES 40
#define DEEP_LIMITS_MAX 16 /* of one type of instance: there are fewer measures than that */

struct deep_limit {
    char measure[DEEP_LIMIT_MEASURE_MAX_BYTES];
    bool at_most; /* else at least */
    double value;
};

/* INVALID: no measure, no ">=" or "<=" between blanks, or no plain number of at most 15 digits. */
int deep_limit_parse(const char *text, struct deep_limit *ret_limit);
/* ">= 9000" */
void deep_limit_text(const struct deep_limit *limit, char ret_text[DEEP_LIMIT_TEXT_MAX_BYTES]);
bool deep_limit_holds(const struct deep_limit *limit, double value);
/* The one of that measure; NULL. */
const struct deep_limit *deep_limit_find(const struct deep_limit *limits, size_t count, const char *measure);

#endif
