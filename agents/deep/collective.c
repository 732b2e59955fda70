/*
 * Rows of nccl-tests: size, count, type, and by version reduction and root, then twice (out of place, in place) time, algorithm's
 * bandwidth, bus bandwidth and how many values were wrong. Rows of nccom-test: size, count, type, time and the two bandwidths.
 * Rows of NetPIPE: size, how often, and megabits a second from one of two ranks to the other and back.
 *
 *     2147483648     536870912     float     sum      -1   9197.5  233.49  437.79      0   9195.2  233.54  437.89      0
 *     # Out of bounds values : 0 OK
 *     # Avg bus bandwidth    : 52.9753
 *        8388606         8388606    uint8           160.0          52.43          52.43
 *     Avg bus bandwidth: 50.6552 GB/s
 *       8: 1048576 bytes     20 times -->  16988.73 Mbps in     470.90 usec
 */
#include "agents/deep/collective.h"

#include "base/own.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

#define WORDS_MAX 14
#define LINE_MAX_BYTES 512
#define NCCL_TAIL 8 /* time, two bandwidths and wrong values, twice */
#define NCCL_HEAD_MIN 3
#define NCCOM_WORDS 6
#define NETPIPE_WORDS 11
#define MBPS_PER_GB_PER_S 8000.0
#define NUMBER_MAX 20

static bool parse_decimal(const char *word, double *ret_value)
{
    char *end = NULL;
    if (strlen(word) > NUMBER_MAX || word[0] < '0' || word[0] > '9' || word[strspn(word, "0123456789.")] != '\0')
        return false;
    *ret_value = strtod(word, &end);
    return *end == '\0';
}

static bool all_digits(const char *word)
{
    return word[0] != '\0' && word[strspn(word, "0123456789")] == '\0';
}

static void take_speed(const char *algbw, const char *busbw, struct collective_report *report)
{
    double alg, bus;
    if (!parse_decimal(algbw, &alg) || !parse_decimal(busbw, &bus))
        return;
    report->max_algbw = alg > report->max_algbw ? alg : report->max_algbw;
    report->max_busbw = bus > report->max_busbw ? bus : report->max_busbw;
}

static bool is_wrong(const char *word)
{
    return all_digits(word) && strspn(word, "0") != strlen(word);
}

/* Without the row's number, which may be gone with the writer's. */
static bool read_netpipe(char *words[], size_t count, struct collective_report *report)
{
    double mbps;
    if (count == NETPIPE_WORDS)
        words++;
    else if (count != NETPIPE_WORDS - 1)
        return false;
    if (!all_digits(words[0]) || strcmp(words[1], "bytes") != 0 || strcmp(words[4], "-->") != 0 ||
        strcmp(words[6], "Mbps") != 0 || !parse_decimal(words[5], &mbps))
        return false;
    mbps /= MBPS_PER_GB_PER_S;
    report->max_algbw = mbps > report->max_algbw ? mbps : report->max_algbw;
    report->max_busbw = mbps > report->max_busbw ? mbps : report->max_busbw;
    report->rows++;
    return true;
}

static void read_row(char *words[], size_t count, struct collective_report *report)
{
    double time;
    if (read_netpipe(words, count, report))
        return;
    if (count < NCCOM_WORDS || !all_digits(words[0]) || !all_digits(words[1]) || all_digits(words[2]))
        return;
    if (count == NCCOM_WORDS && parse_decimal(words[3], &time)) {
        take_speed(words[4], words[5], report);
        report->rows++;
    } else if (count >= NCCL_HEAD_MIN + NCCL_TAIL && parse_decimal(words[count - NCCL_TAIL], &time)) {
        char **tail = words + count - NCCL_TAIL;
        take_speed(tail[1], tail[2], report);
        take_speed(tail[5], tail[6], report);
        report->wrong = report->wrong || is_wrong(tail[3]) || is_wrong(tail[7]);
        report->rows++;
    }
}

/* The number behind the colon of "Avg bus bandwidth    : 52.9753" or "…: 50.6552 GB/s". */
static void read_average(const char *line, struct collective_report *report)
{
    char number[NUMBER_MAX + 1];
    const char *colon = strchr(line, ':');
    if (colon == NULL)
        return;
    colon += 1 + strspn(colon + 1, " \t");
    if (text_copy_bytes(number, sizeof(number), colon, strspn(colon, "0123456789.")) == 0)
        (void)parse_decimal(number, &report->avg_busbw);
}

static const char *without_writer(const char *line)
{
    const char *mark = strstr(line, "<stdout>:");
    if (line[0] == '[' && mark != NULL)
        return mark + sizeof("<stdout>:") - 1;
    size_t digits = strspn(line, "0123456789");
    return digits > 0 && line[digits] == ':' ? line + digits + 1 : line;
}

static void read_line(char *line, struct collective_report *report)
{
    char *words[WORDS_MAX + 1], *save = NULL;
    size_t count = 0;
    const char *average = strstr(line, "Avg bus bandwidth");
    if (average != NULL)
        read_average(average, report);
    if (strstr(line, "errors found") != NULL ||
        (strstr(line, "Out of bounds values") != NULL && strstr(line, "FAILED") != NULL))
        report->wrong = true;
    line += without_writer(line) - line;
    for (char *word = strtok_r(line, " \t", &save); word != NULL && count <= WORDS_MAX;
         word = strtok_r(NULL, " \t", &save))
        words[count++] = word;
    if (count <= WORDS_MAX)
        read_row(words, count, report);
}

void collective_read(const char *output, size_t len, struct collective_report *ret_report)
{
    struct collective_report report = {.rows = 0};
    while (len > 0) {
        char copy[LINE_MAX_BYTES];
        const char *end = memchr(output, '\n', len);
        size_t line = end == NULL ? len : (size_t)(end - output);
        if (memchr(output, '\0', line) == NULL && text_copy_bytes(copy, sizeof(copy), output, line) == 0)
            read_line(copy, &report);
        output += line + (end != NULL);
        len -= line + (end != NULL);
    }
    *ret_report = report;
}
