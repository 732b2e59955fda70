/*
 * What a run of a check said: the records that go from its process to the agent, written and read.
 *
 * One record a line, fields apart by tabs, whose texts hold neither:
 *
 *     F code device count text     a state was found          V metric labels value     a measurement
 *     E code device count text     an event happened          N text                    not applicable
 *     M length ⏎ bytes ⏎           for the next run           U text                    (a part is) unknown
 *     I kind identity serial location detail                  a piece of hardware
 *     .                            the run came to its own end
 *
 * The reader takes no byte on trust: the other side may have been overwritten by what it looked at.
 */
#ifndef HOLDFAST_AGENTS_CHECKS_REPORT_H
#define HOLDFAST_AGENTS_CHECKS_REPORT_H

#include "agents/checks/check.h"
#include "agents/checks/finding.h"
#include "base/text.h"
#include "model/hardware.h"

#define REPORT_BYTES_MAX \
    (512 * 1024) /* more than the limits of its parts allow in practice; a run that says more is ended */
#define REPORT_WHY_MAX_BYTES CHECK_WHY_MAX_BYTES

struct check_observation {
    bool is_event;
    char code[CODE_MAX_BYTES];
    char device[DEVICE_MAX_BYTES];
    int64_t count;
    char text[RAW_LINE_MAX_BYTES];
};

struct check_measure {
    char metric[CHECK_METRIC_MAX_BYTES];
    char labels[CHECK_LABELS_MAX_BYTES];
    double value;
};

struct check_report {
    enum check_result result;
    bool whole;                     /* everything was looked at: what is not among the observations is not there */
    char why[REPORT_WHY_MAX_BYTES]; /* of unknown and not applicable */
    struct check_observation *observations;
    size_t observation_count;
    struct check_measure *measures;
    size_t measure_count;
    struct hardware *hardware;
    size_t hardware_count;
    char *memory; /* NULL: none was left */
    size_t memory_len;
    int64_t base; /* log id of the data that its events were counted from; 0: none */
};

/* The writing end. fd -1: into text alone. */
struct check_out {
    int fd;
    struct text text;
    size_t observations, values, hardware;
};

/* The last record of a run that came to its own end. */
void report_end(struct check_out *out);
/* Always fills *ret_report. Bytes that are no records make it unknown and say so; whole records before them count. */
void report_read(const char *data, size_t len, struct check_report *ret_report);
/* Nothing is known beside what was said already. */
void report_fail(struct check_report *report, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Runs a check in this very process. For tests: a check may hang. */
void report_of(const struct check *check, const struct check_context *context, struct check_report *ret_report);
void report_free(struct check_report *report);
/* An observation as a finding, with severity and action from the fault tables. source is static. */
struct finding check_finding(const char *source, const struct check_observation *observation, int64_t at_ms);
/* The place of event i: a later process that starts from the same data finds it at the same place. */
struct log_place report_place(const struct check_report *report, size_t i);

#endif
