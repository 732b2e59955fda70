/*
 * What `dcgmi diag -r N -j` says, of DCGM 2 to 4. Pure; for checks that run a diagnosis on purpose.
 *
 * dcgmi ends with a status of its own (205, 226, …) beside valid JSON, so what it printed is looked at, not how it ended.
 */
#ifndef HOLDFAST_AGENTS_CHECKS_DCGM_DIAG_H
#define HOLDFAST_AGENTS_CHECKS_DCGM_DIAG_H

#include "agents/checks/dcgm_words.h"

#define DCGM_DIAG_RESULTS_MAX 256

#define DCGM_STATUS_LIST(X) \
    X(PASS, "Pass")         \
    X(FAIL, "Fail")         \
    X(WARN, "Warn")         \
    X(SKIP, "Skip")         \
    X(OTHER, "") /* "Not Run", or a word that nobody knows */
enum dcgm_status {
#define X(SYMBOL, text) DCGM_STATUS_##SYMBOL,
    DCGM_STATUS_LIST(X)
#undef X
        DCGM_STATUS_COUNT
};

/* Of one test on one entity; those that passed are only counted. */
struct dcgm_diag_result {
    enum dcgm_status status;
    char category[DCGM_TEXT_BYTES_MAX], test[DCGM_TEXT_BYTES_MAX]; /* "Hardware", "memory" */
    char group[DCGM_TEXT_BYTES_MAX];                               /* "GPU"; "": all of the node */
    int entity;
    int number;                           /* DCGM's error; 0: it names none */
    char message[DCGM_MESSAGE_BYTES_MAX]; /* the first warning; "" */
};

struct dcgm_diag {
    char version[DCGM_TEXT_BYTES_MAX], driver[DCGM_TEXT_BYTES_MAX]; /* "" where it does not say */
    char runtime_error[DCGM_MESSAGE_BYTES_MAX];                     /* why the diagnosis itself came to nothing; "" */
    int counts[DCGM_STATUS_COUNT];                                  /* of tests and entities */
    size_t result_count;                                            /* what is beyond the limit is only counted */
    struct dcgm_diag_result results[DCGM_DIAG_RESULTS_MAX];
};

/* INVALID, and *ret_diag untouched, when this is no diagnosis, or one without any test. len bytes, no zero needed. */
int dcgm_diag_parse(const char *data, size_t len, struct dcgm_diag *ret_diag);

/* The row of the fault table for a result that failed. */
void dcgm_diag_code(const struct dcgm_diag_result *result, char code[CODE_MAX_BYTES]);

#endif
