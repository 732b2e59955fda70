/*
 * PCIe links of important devices: errors that the kernel counts (Advanced Error Reporting), and links that are slower or narrower
 * than both ends support.
 *
 * An idle GPU lowers the speed of its link, so only its width is checked. Both ends are compared, because a slot may have fewer lanes
 * by design.
 */
#include "agents/checks/pcie.h"

#include "agents/checks/check.h"
#include "agents/checks/lines.h"
#include "agents/checks/recall.h"
#include "base/clock.h"
#include "base/own.h"
#include "base/text.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PCI_DIR "/sys/bus/pci/devices"
#define FILE_BYTES_MAX 8192
#define DEVICES_MAX 4096
#define WIDTH_NONE 255
#define LOOKED "looked" /* remembered: not the first run */

/* Judgement: a link that corrects now and then works; a hundred an hour cost bandwidth. What was not corrected is reported at
 * once. (A hundred, unless the settings say otherwise.) */
#define CORRECTED_WINDOW_MS MS_PER_HOUR

/* --- parse --------------------------------------------------------------------------------------------------- */

static struct word first_line(const char *data, size_t len)
{
    struct lines lines;
    struct word line = {data, 0};
    lines_start(&lines, data, len);
    (void)lines_next(&lines, &line);
    return line;
}

bool pcie_parse_total(const char *data, size_t len, int64_t *ret_total)
{
    struct lines lines;
    struct word line, words[2];
    lines_start(&lines, data, len);
    while (lines_next(&lines, &line))
        if (word_starts_with(line, "TOTAL_ERR_") && lines_words(line, words, 2) == 2)
            return word_i64(words[1], ret_total);
    return false;
}

bool pcie_parse_speed(const char *data, size_t len, int64_t *ret_milli)
{
    struct word words[2];
    return lines_words(first_line(data, len), words, 2) >= 2 && word_is(words[1], "GT/s") &&
           word_milli(words[0], ret_milli) && *ret_milli > 0;
}

bool pcie_parse_width(const char *data, size_t len, int64_t *ret_width)
{
    return word_i64(first_line(data, len), ret_width) && *ret_width > 0 && *ret_width < WIDTH_NONE;
}

enum pcie_kind pcie_parse_class(const char *data, size_t len)
{
    struct word line = first_line(data, len);
    if (word_starts_with(line, "0x03"))
        return PCIE_GPU;
    if (word_starts_with(line, "0x02"))
        return PCIE_NETWORK;
    if (word_starts_with(line, "0x0108"))
        return PCIE_DISK;
    return word_starts_with(line, "0x12") ? PCIE_ACCELERATOR : PCIE_OTHER;
}

/* --- look ---------------------------------------------------------------------------------------------------- */

typedef bool parse_fn(const char *data, size_t len, int64_t *ret_value);

static bool read_value(const struct check_context *context, const char *device, const char *file, parse_fn *parse,
                       int64_t *ret_value)
{
    autofree char *name = own_printf(PCI_DIR "/%s/%s", device, file), *data = NULL;
    size_t len;
    return check_read(context, name, FILE_BYTES_MAX, &data, &len) == 0 && parse(data, len, ret_value);
}

/* Counters that are 0, as most of hundreds are, are not remembered; whose first error comes after a look began with 0. */
static int64_t growth(struct recall *recall, const char *key, int64_t total, int64_t limit)
{
    if (recall_get(recall, key, -1) < 0 && recall_get(recall, LOOKED, 0) > 0 && total > 0)
        recall_set(recall, key, 0);
    return recall_get(recall, key, -1) < 0 && total == 0
               ? 0
               : recall_growth(recall, key, total, limit, CORRECTED_WINDOW_MS);
}

static void look_at_errors(const struct check_context *context, struct check_out *out, struct recall *recall,
                           const char *device)
{
    const struct {
        const char *file, *code, *word;
        int64_t threshold;
    } kinds[] = {{"aer_dev_correctable", "node.pcie.aer-corrected", "that were corrected",
                  agent_settings_limit(context->settings, AGENT_LIMIT_PCIE_CORRECTED)},
                 {"aer_dev_nonfatal", "node.pcie.aer-nonfatal", "that left the link usable", 1},
                 {"aer_dev_fatal", "node.pcie.aer-fatal", "that were fatal", 1}};
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        char name[RECALL_KEY_MAX_BYTES];
        int64_t total;
        if (!read_value(context, device, kinds[i].file, pcie_parse_total, &total))
            continue;
        snprintf(name, sizeof(name), "%.32s.%s", device, kinds[i].file + strlen("aer_dev_"));
        int64_t over = growth(recall, name, total, kinds[i].threshold - 1);
        if (over > 0)
            check_event(out, kinds[i].code, device, over, "%" PRId64 " errors of PCIe %s %s", over, device,
                        kinds[i].word);
    }
}

/* The least of what both ends can; false when the device's own is not known. */
static bool read_most(const struct check_context *context, const char *device, const char *file, parse_fn *parse,
                      int64_t *ret_most)
{
    autofree char *upstream = own_printf("../%s", file);
    int64_t most;
    if (!read_value(context, device, file, parse, ret_most))
        return false;
    if (read_value(context, device, upstream, parse, &most) && most < *ret_most)
        *ret_most = most;
    return true;
}

static void look_at_link(const struct check_context *context, struct check_out *out, struct recall *recall,
                         const char *device, enum pcie_kind kind)
{
    int64_t width = 0, widest = 0, speed = 0, fastest = 0;
    char name[RECALL_KEY_MAX_BYTES];
    bool narrow = read_value(context, device, "current_link_width", pcie_parse_width, &width) &&
                  read_most(context, device, "max_link_width", pcie_parse_width, &widest) && width < widest;
    bool slow = kind != PCIE_GPU && read_value(context, device, "current_link_speed", pcie_parse_speed, &speed) &&
                read_most(context, device, "max_link_speed", pcie_parse_speed, &fastest) && speed < fastest;
    snprintf(name, sizeof(name), "%.32s.link", device);
    if (!recall_lasts(recall, name, narrow || slow, 1))
        return; /* it trains anew when a device is reset */
    if (narrow)
        check_found(out, "node.pcie.link-degraded", device, 1, "the link of %s has %" PRId64 " lanes of %" PRId64,
                    device, width, widest);
    else
        check_found(out, "node.pcie.link-degraded", device, 1, "the link of %s runs at %.1f GT/s of %.1f", device,
                    (double)speed / 1000, (double)fastest / 1000);
}

/* False when it cannot even be read what the device is. */
static bool look_at(const struct check_context *context, struct check_out *out, struct recall *recall,
                    const char *device)
{
    autofree char *name = own_printf(PCI_DIR "/%s/class", device), *data = NULL;
    size_t len;
    look_at_errors(context, out, recall, device);
    if (check_read(context, name, FILE_BYTES_MAX, &data, &len) != 0 || !word_starts_with(first_line(data, len), "0x"))
        return false;
    enum pcie_kind kind = pcie_parse_class(data, len);
    if (kind != PCIE_OTHER)
        look_at_link(context, out, recall, device, kind);
    return true;
}

static void run(const struct check_context *context, struct check_out *out)
{
    autofree char *path = check_path(context, PCI_DIR);
    DIR *dir = opendir(path);
    int seen = 0, told = 0;
    AUTO(recall) struct recall *recall = recall_new(context->memory, context->memory_len, context->uptime_ms);
    for (struct dirent *entry; dir != NULL && seen < DEVICES_MAX && (entry = readdir(dir)) != NULL;) {
        if (entry->d_name[0] == '.')
            continue;
        seen++;
        told += look_at(context, out, recall, entry->d_name);
    }
    if (dir != NULL)
        closedir(dir);
    recall_set(recall, LOOKED, 1);
    recall_keep(recall, out);
    if (seen == 0)
        check_not_applicable(out, "no PCI devices");
    else if (told == 0)
        check_unknown(out, "what the %d PCI devices are cannot be read", seen);
}

const struct check check_pcie = {.name = "pcie",
                                 .about = "PCIe errors by their rate, and links narrower or slower than they can be",
                                 CHECK_TIMES(pcie),
                                 .run = run};
