/* Writes the records of check.h into a pipe, and reads them at the other end. */
#include "agents/checks/report.h"

#include "base/status.h"
#include "model/fault_name.h"
#include "policy/faults/faults.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FIELDS_MAX 6

/* --- writing ------------------------------------------------------------------------------------------------- */

/* The reader is the agent; without it a report has no use. */
static void send(struct check_out *out)
{
    for (size_t done = 0; out->fd >= 0 && done < out->text.len;) {
        ssize_t n = write(out->fd, out->text.data + done, out->text.len - done);
        if (n < 0 && errno != EINTR)
            _exit(1);
        done += n > 0 ? (size_t)n : 0;
    }
    if (out->fd >= 0)
        text_clear(&out->text);
}

/* One word of the characters that codes, devices and metrics may have. */
static void add_word(struct check_out *out, const char *word, size_t size)
{
    text_add_char(&out->text, '\t');
    for (size_t i = 0; word[i] != '\0' && i + 1 < size; i++)
        text_add_char(&out->text, fault_name_has(word[i]) ? word[i] : '_');
}

static void add_device(struct check_out *out, const char *device)
{
    char name[DEVICE_MAX_BYTES];
    text_copy_cut(name, sizeof(name), device);
    fault_name_make_device(name);
    text_add_char(&out->text, '\t');
    text_add(&out->text, name);
}

static void add_clean(struct check_out *out, const char *text, size_t size)
{
    char clean[RAW_LINE_MAX_BYTES];
    text_copy_clean(clean, size < sizeof(clean) ? size : sizeof(clean), text, strlen(text));
    text_add_char(&out->text, '\t');
    text_add(&out->text, clean);
}

static void add_said(struct check_out *out, size_t size, const char *fmt, va_list ap)
{
    char text[RAW_LINE_MAX_BYTES];
    vsnprintf(text, sizeof(text), fmt, ap);
    add_clean(out, text, size);
    text_add_char(&out->text, '\n');
}

static void add_observation(struct check_out *out, char kind, const char *code, const char *device, int64_t count,
                            const char *fmt, va_list ap)
{
    if (out->observations++ >= CHECK_OBSERVATIONS_MAX)
        return;
    text_add_char(&out->text, kind);
    add_word(out, code, CODE_MAX_BYTES);
    add_device(out, device);
    text_printf(&out->text, "\t%" PRId64, count > 0 ? count : 1);
    add_said(out, RAW_LINE_MAX_BYTES, fmt, ap);
    send(out);
}

void check_found(struct check_out *out, const char *code, const char *device, int64_t count, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    add_observation(out, 'F', code, device, count, fmt, ap);
    va_end(ap);
}

void check_event(struct check_out *out, const char *code, const char *device, int64_t count, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    add_observation(out, 'E', code, device, count, fmt, ap);
    va_end(ap);
}

void check_value(struct check_out *out, const char *metric, const char *labels, double value)
{
    if (!isfinite(value) || out->values++ >= CHECK_VALUES_MAX)
        return;
    text_add_char(&out->text, 'V');
    add_word(out, metric, CHECK_METRIC_MAX_BYTES);
    add_clean(out, labels, CHECK_LABELS_MAX_BYTES);
    text_printf(&out->text, "\t%.17g\n", value);
    send(out);
}

void check_hardware(struct check_out *out, const struct hardware *hardware)
{
    if (out->hardware++ >= HARDWARE_MAX)
        return;
    text_add_char(&out->text, 'I');
    add_word(out, hardware_kind_text(hardware->kind), HARDWARE_IDENTITY_MAX_BYTES);
    add_clean(out, hardware_identifies(hardware->identity) ? hardware->identity : "", HARDWARE_IDENTITY_MAX_BYTES);
    add_clean(out, hardware_identifies(hardware->serial) ? hardware->serial : "", HARDWARE_IDENTITY_MAX_BYTES);
    add_device(out, hardware->location);
    add_clean(out, hardware->detail, HARDWARE_DETAIL_MAX_BYTES);
    text_add_char(&out->text, '\n');
    send(out);
}

void check_not_applicable(struct check_out *out, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    text_add_char(&out->text, 'N');
    add_said(out, REPORT_WHY_MAX_BYTES, fmt, ap);
    va_end(ap);
    send(out);
}

void check_unknown(struct check_out *out, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    text_add_char(&out->text, 'U');
    add_said(out, REPORT_WHY_MAX_BYTES, fmt, ap);
    va_end(ap);
    send(out);
}

void check_remember(struct check_out *out, const char *data, size_t len)
{
    if (len > CHECK_MEMORY_MAX_BYTES)
        return;
    text_printf(&out->text, "M\t%zu\n", len);
    text_add_bytes(&out->text, data, len);
    text_add_char(&out->text, '\n');
    send(out);
}

void report_end(struct check_out *out)
{
    text_add(&out->text, ".\n");
    send(out);
}

/* --- reading ------------------------------------------------------------------------------------------------- */

struct field {
    const char *at;
    size_t len;
};

struct reader {
    const char *at, *end;
    bool ended, unknown, not_applicable;
};

static bool copy_word(const struct field *field, char *dst, size_t size)
{
    for (size_t i = 0; i < field->len; i++)
        if (field->at[i] <= ' ' || field->at[i] > '~')
            return false;
    return text_copy_bytes(dst, size, field->at, field->len) == 0;
}

static bool copy_text(const struct field *field, char *dst, size_t size)
{
    for (size_t i = 0; i < field->len; i++)
        if ((unsigned char)field->at[i] < ' ' || field->at[i] == 0x7f)
            return false;
    return text_is_utf8(field->at, field->len) && text_copy_bytes(dst, size, field->at, field->len) == 0;
}

static bool copy_number(const struct field *field, int64_t min, int64_t max, int64_t *ret_number)
{
    char digits[24];
    return text_copy_bytes(digits, sizeof(digits), field->at, field->len) == 0 &&
           text_parse_i64(digits, min, max, ret_number) == 0;
}

static bool take_observation(struct check_report *report, const struct field *fields, bool is_event)
{
    struct check_observation observation = {.is_event = is_event};
    if (report->observation_count == CHECK_OBSERVATIONS_MAX || fields[1].len == 0 ||
        !copy_word(&fields[1], observation.code, sizeof(observation.code)) ||
        !copy_word(&fields[2], observation.device, sizeof(observation.device)) ||
        !copy_number(&fields[3], 1, INT64_MAX, &observation.count) ||
        !copy_text(&fields[4], observation.text, sizeof(observation.text)))
        return false;
    report->observations = own_realloc(report->observations, report->observation_count + 1, sizeof(observation));
    report->observations[report->observation_count++] = observation;
    return true;
}

static bool take_measure(struct check_report *report, const struct field *fields)
{
    struct check_measure measure = {.value = 0};
    char digits[40], *end = digits;
    if (report->measure_count == CHECK_VALUES_MAX || fields[1].len == 0 ||
        !copy_word(&fields[1], measure.metric, sizeof(measure.metric)) ||
        !copy_text(&fields[2], measure.labels, sizeof(measure.labels)) || fields[3].len == 0 ||
        text_copy_bytes(digits, sizeof(digits), fields[3].at, fields[3].len) != 0)
        return false;
    measure.value = strtod(digits, &end);
    if (*end != '\0' || !isfinite(measure.value))
        return false;
    if (report->measure_count % 64 == 0)
        report->measures = own_realloc(report->measures, report->measure_count + 64, sizeof(measure));
    report->measures[report->measure_count++] = measure;
    return true;
}

static bool take_hardware(struct check_report *report, const struct field *fields)
{
    struct hardware hardware = {.present = true};
    char kind[HARDWARE_IDENTITY_MAX_BYTES];
    if (report->hardware_count == HARDWARE_MAX || !copy_word(&fields[1], kind, sizeof(kind)) ||
        hardware_kind_parse(kind, &hardware.kind) != 0 ||
        !copy_text(&fields[2], hardware.identity, sizeof(hardware.identity)) ||
        !copy_text(&fields[3], hardware.serial, sizeof(hardware.serial)) ||
        !copy_word(&fields[4], hardware.location, sizeof(hardware.location)) ||
        !copy_text(&fields[5], hardware.detail, sizeof(hardware.detail)))
        return false;
    report->hardware = own_realloc(report->hardware, report->hardware_count + 1, sizeof(hardware));
    report->hardware[report->hardware_count++] = hardware;
    return true;
}

static bool take_memory(struct check_report *report, struct reader *reader, const struct field *fields)
{
    int64_t len;
    if (!copy_number(&fields[1], 0, CHECK_MEMORY_MAX_BYTES, &len) || reader->end - reader->at <= len ||
        reader->at[len] != '\n')
        return false;
    free(report->memory);
    report->memory = own_calloc((size_t)len + 1, 1);
    memcpy(report->memory, reader->at, (size_t)len);
    report->memory_len = (size_t)len;
    reader->at += len + 1;
    return true;
}

/* Keeps the first reason. */
static bool take_why(struct check_report *report, const struct field *field, bool *flag)
{
    char why[REPORT_WHY_MAX_BYTES];
    if (!copy_text(field, why, sizeof(why)))
        return false;
    if (!*flag && report->why[0] == '\0')
        memcpy(report->why, why, sizeof(why));
    *flag = true;
    return true;
}

static size_t split(const char *line, size_t len, struct field fields[FIELDS_MAX])
{
    size_t count = 0;
    for (const char *end = line + len; count < FIELDS_MAX;) {
        const char *tab = memchr(line, '\t', (size_t)(end - line));
        fields[count++] = (struct field){line, (size_t)((tab != NULL ? tab : end) - line)};
        if (tab == NULL)
            return count;
        line = tab + 1;
    }
    return FIELDS_MAX + 1;
}

static bool take_record(struct reader *reader, struct check_report *report)
{
    struct field fields[FIELDS_MAX];
    const char *feed = memchr(reader->at, '\n', (size_t)(reader->end - reader->at));
    if (feed == NULL)
        return false;
    size_t count = split(reader->at, (size_t)(feed - reader->at), fields);
    reader->at = feed + 1;
    if (fields[0].len != 1)
        return false;
    switch (fields[0].at[0]) {
    case 'F':
    case 'E':
        return count == 5 && take_observation(report, fields, fields[0].at[0] == 'E');
    case 'V':
        return count == 4 && take_measure(report, fields);
    case 'I':
        return count == 6 && take_hardware(report, fields);
    case 'M':
        return count == 2 && take_memory(report, reader, fields);
    case 'N':
        return count == 2 && take_why(report, &fields[1], &reader->not_applicable);
    case 'U':
        return count == 2 && take_why(report, &fields[1], &reader->unknown);
    case '.':
        reader->ended = reader->at == reader->end;
        return count == 1 && reader->ended;
    default:
        return false;
    }
}

void report_read(const char *data, size_t len, struct check_report *ret_report)
{
    struct check_report report = {.result = CHECK_RESULT_OK};
    struct reader reader = {.at = data, .end = len > 0 ? data + len : data};
    bool good = true;
    while (good && reader.at < reader.end)
        good = take_record(&reader, &report);
    report.whole = good && reader.ended && !reader.unknown && !reader.not_applicable;
    if (report.observation_count > 0)
        report.result = CHECK_RESULT_FOUND;
    else if (reader.unknown)
        report.result = CHECK_RESULT_UNKNOWN;
    else if (reader.not_applicable)
        report.result = CHECK_RESULT_NOT_APPLICABLE;
    if (!good)
        report_fail(&report, "what it said cannot be read");
    else if (!reader.ended)
        report_fail(&report, "it ended in the middle");
    *ret_report = report;
}

void report_fail(struct check_report *report, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(report->why, sizeof(report->why), fmt, ap);
    va_end(ap);
    report->whole = false;
    if (report->result != CHECK_RESULT_FOUND)
        report->result = CHECK_RESULT_UNKNOWN;
}

void report_of(const struct check *check, const struct check_context *context, struct check_report *ret_report)
{
    struct check_out out = {.fd = -1};
    struct check_context own = *context;
    own.own = check->own;
    check->run(&own, &out);
    report_end(&out);
    report_read(out.text.data, out.text.len, ret_report);
    text_free(&out.text);
}

void report_free(struct check_report *report)
{
    free(TAKE(report->observations));
    free(TAKE(report->measures));
    free(TAKE(report->hardware));
    free(TAKE(report->memory));
    *report = (struct check_report){0};
}

struct finding check_finding(const char *source, const struct check_observation *observation, int64_t at_ms)
{
    struct finding finding = {.source = source, .at_ms = at_ms, .count = observation->count};
    struct fault_judgement judgement;
    memcpy(finding.code, observation->code, sizeof(finding.code));
    memcpy(finding.device, observation->device, sizeof(finding.device));
    memcpy(finding.raw_line, observation->text, sizeof(finding.raw_line));
    fault_judge(source, finding.code, finding.raw_line, &judgement);
    finding.severity = judgement.severity;
    finding.action = judgement.action;
    return finding;
}

struct log_place report_place(const struct check_report *report, size_t i)
{
    const struct check_observation *event = &report->observations[i];
    struct log_place place = {.log = report->base};
    for (size_t k = 0; k < i; k++) {
        const struct check_observation *before = &report->observations[k];
        place.offset +=
            before->is_event && strcmp(before->code, event->code) == 0 && strcmp(before->device, event->device) == 0;
    }
    return place;
}
