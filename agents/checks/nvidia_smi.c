/*
 * nvidia-smi's XML by one table from paths to values, and its messages, which are plain lines before, behind or instead.
 *
 * A report counts only when its document is whole: half of a list of GPUs would be missing GPUs. A line that names a lost
 * GPU counts by itself.
 */
#include "agents/checks/nvidia_smi.h"

#include "base/own.h"
#include "base/text.h"
#include "base/xml.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char root_name[] = "nvidia_smi_log";

/* --- values ---------------------------------------------------------------------------------------------------- */

enum kind {
    SET,  /* a number, the last one counts */
    ADD,  /* a number, to be added to what is there */
    FLAG, /* Yes, Enabled, Active, True and their opposites; one Yes is enough */
};

/* Below <gpu>. Names changed: memory errors by single_bit and double_bit on boards before Turing, then by SRAM and DRAM, and
 * uncorrected ones of SRAM by parity and SEC-DED in captures of drivers 550 to 595 (of boards from Ampere on), as one number
 * in those up to 535 and of Turing; "throttle" became "event", and power_readings gpu_power_readings, between 525 and 535. */
static const struct {
    const char *path;
    enum kind kind;
    enum nvidia_value value;
} paths[] = {
    {"temperature/gpu_temp", SET, NVIDIA_TEMPERATURE},
    {"temperature/gpu_temp_slow_threshold", SET, NVIDIA_TEMPERATURE_SLOW},
    {"temperature/gpu_temp_tlimit", SET, NVIDIA_TEMPERATURE_LEFT},
    {"temperature/gpu_temp_slow_tlimit_threshold", SET, NVIDIA_TEMPERATURE_LEFT_SLOW},
    {"temperature/memory_temp", SET, NVIDIA_TEMPERATURE_MEMORY},
    {"temperature/gpu_temp_max_mem_threshold", SET, NVIDIA_TEMPERATURE_MEMORY_MAX},
    {"power_readings/power_draw", SET, NVIDIA_POWER},
    {"gpu_power_readings/power_draw", SET, NVIDIA_POWER},
    {"gpu_power_readings/average_power_draw", SET, NVIDIA_POWER},
    {"gpu_power_readings/instant_power_draw", SET, NVIDIA_POWER},
    {"power_readings/enforced_power_limit", SET, NVIDIA_POWER_LIMIT},
    {"gpu_power_readings/current_power_limit", SET, NVIDIA_POWER_LIMIT},
    {"utilization/gpu_util", SET, NVIDIA_UTILIZATION},
    {"fb_memory_usage/used", SET, NVIDIA_MEMORY_USED},
    {"fb_memory_usage/total", SET, NVIDIA_MEMORY_TOTAL},
    {"clocks/sm_clock", SET, NVIDIA_CLOCK_SM},
    {"ecc_mode/current_ecc", FLAG, NVIDIA_ECC_ON},
    {"ecc_errors/volatile/sram_correctable", ADD, NVIDIA_ECC_CORRECTED},
    {"ecc_errors/volatile/dram_correctable", ADD, NVIDIA_ECC_CORRECTED},
    {"ecc_errors/volatile/single_bit/total", ADD, NVIDIA_ECC_CORRECTED},
    {"ecc_errors/volatile/dram_uncorrectable", ADD, NVIDIA_ECC_DRAM},
    {"ecc_errors/volatile/double_bit/device_memory", ADD, NVIDIA_ECC_DRAM},
    {"ecc_errors/volatile/sram_uncorrectable", ADD, NVIDIA_ECC_SRAM},
    {"ecc_errors/volatile/sram_uncorrectable_parity", ADD, NVIDIA_ECC_SRAM},
    {"ecc_errors/volatile/sram_uncorrectable_secded", ADD, NVIDIA_ECC_SRAM},
    {"ecc_errors/volatile/double_bit/register_file", ADD, NVIDIA_ECC_SRAM},
    {"ecc_errors/volatile/double_bit/l1_cache", ADD, NVIDIA_ECC_SRAM},
    {"ecc_errors/volatile/double_bit/l2_cache", ADD, NVIDIA_ECC_SRAM},
    {"ecc_errors/volatile/double_bit/texture_memory", ADD, NVIDIA_ECC_SRAM},
    {"ecc_errors/volatile/double_bit/texture_shm", ADD, NVIDIA_ECC_SRAM},
    {"ecc_errors/volatile/double_bit/cbu", ADD, NVIDIA_ECC_SRAM},
    {"ecc_errors/aggregate/sram_correctable", ADD, NVIDIA_ECC_CORRECTED_EVER},
    {"ecc_errors/aggregate/dram_correctable", ADD, NVIDIA_ECC_CORRECTED_EVER},
    {"ecc_errors/aggregate/single_bit/total", ADD, NVIDIA_ECC_CORRECTED_EVER},
    {"ecc_errors/aggregate/dram_uncorrectable", ADD, NVIDIA_ECC_DRAM_EVER},
    {"ecc_errors/aggregate/double_bit/device_memory", ADD, NVIDIA_ECC_DRAM_EVER},
    {"ecc_errors/aggregate/sram_uncorrectable", ADD, NVIDIA_ECC_SRAM_EVER},
    {"ecc_errors/aggregate/sram_uncorrectable_parity", ADD, NVIDIA_ECC_SRAM_EVER},
    {"ecc_errors/aggregate/sram_uncorrectable_secded", ADD, NVIDIA_ECC_SRAM_EVER},
    {"ecc_errors/aggregate/double_bit/register_file", ADD, NVIDIA_ECC_SRAM_EVER},
    {"ecc_errors/aggregate/double_bit/l1_cache", ADD, NVIDIA_ECC_SRAM_EVER},
    {"ecc_errors/aggregate/double_bit/l2_cache", ADD, NVIDIA_ECC_SRAM_EVER},
    {"ecc_errors/aggregate/double_bit/texture_memory", ADD, NVIDIA_ECC_SRAM_EVER},
    {"ecc_errors/aggregate/double_bit/texture_shm", ADD, NVIDIA_ECC_SRAM_EVER},
    {"ecc_errors/aggregate/double_bit/cbu", ADD, NVIDIA_ECC_SRAM_EVER},
    {"ecc_errors/aggregate/sram_threshold_exceeded", FLAG, NVIDIA_SRAM_THRESHOLD},
    {"ecc_errors/channel_repair_pending", FLAG, NVIDIA_REPAIR_PENDING},
    {"ecc_errors/tpc_repair_pending", FLAG, NVIDIA_REPAIR_PENDING},
    {"ecc_errors/unrepairable_memory", FLAG, NVIDIA_UNREPAIRABLE},
    {"remapped_rows/remapped_row_corr", SET, NVIDIA_ROWS_CORRECTED},
    {"remapped_rows/remapped_row_unc", SET, NVIDIA_ROWS_UNCORRECTED},
    {"remapped_rows/remapped_row_pending", FLAG, NVIDIA_ROWS_PENDING},
    {"remapped_rows/remapped_row_failure", FLAG, NVIDIA_ROWS_FAILURE},
    {"remapped_rows/row_remapper_histogram/row_remapper_histogram_low", ADD, NVIDIA_ROWS_LOW},
    {"remapped_rows/row_remapper_histogram/row_remapper_histogram_none", ADD, NVIDIA_ROWS_LOW},
    {"retired_pages/multiple_single_bit_retirement/retired_count", ADD, NVIDIA_PAGES_RETIRED},
    {"retired_pages/double_bit_retirement/retired_count", ADD, NVIDIA_PAGES_RETIRED},
    {"retired_pages/pending_retirement", FLAG, NVIDIA_PAGES_PENDING},
    {"retired_pages/pending_blacklist", FLAG, NVIDIA_PAGES_PENDING},
    {"clocks_event_reasons/clocks_event_reason_hw_slowdown", FLAG, NVIDIA_SLOW_HW},
    {"clocks_event_reasons/clocks_event_reason_hw_thermal_slowdown", FLAG, NVIDIA_SLOW_HW_THERMAL},
    {"clocks_event_reasons/clocks_event_reason_hw_power_brake_slowdown", FLAG, NVIDIA_SLOW_HW_POWER},
    {"clocks_event_reasons/clocks_event_reason_sw_thermal_slowdown", FLAG, NVIDIA_SLOW_SW_THERMAL},
    {"clocks_throttle_reasons/clocks_throttle_reason_hw_slowdown", FLAG, NVIDIA_SLOW_HW},
    {"clocks_throttle_reasons/clocks_throttle_reason_hw_thermal_slowdown", FLAG, NVIDIA_SLOW_HW_THERMAL},
    {"clocks_throttle_reasons/clocks_throttle_reason_hw_power_brake_slowdown", FLAG, NVIDIA_SLOW_HW_POWER},
    {"clocks_throttle_reasons/clocks_throttle_reason_sw_thermal_slowdown", FLAG, NVIDIA_SLOW_SW_THERMAL},
    {"pci/pci_gpu_link_info/pcie_gen/current_link_gen", SET, NVIDIA_PCIE_GEN},
    {"pci/pci_gpu_link_info/link_widths/current_link_width", SET, NVIDIA_PCIE_WIDTH},
    {"pci/replay_counter", SET, NVIDIA_PCIE_REPLAYS},
    {"persistence_mode", FLAG, NVIDIA_PERSISTENCE},
    {"mig_mode/current_mig", FLAG, NVIDIA_MIG},
    {"mig_mode/pending_mig", FLAG, NVIDIA_MIG_PENDING},
    {"gpu_reset_status/reset_required", FLAG, NVIDIA_RESET_REQUIRED},
    {"gpu_reset_status/drain_and_reset_recommended", FLAG, NVIDIA_DRAIN_RECOMMENDED},
};

/* Texts that are kept as they are. */
static const struct {
    const char *path;
    size_t offset;
} texts[] = {
#define TEXT(path, member)                        \
    {                                             \
        path, offsetof(struct nvidia_gpu, member) \
    }
    TEXT("uuid", uuid),
    TEXT("serial", serial),
    TEXT("vbios_version", vbios),
    TEXT("gpu_virtualization_mode/virtualization_mode", virtualization),
    TEXT("board_part_number", board_part),
    TEXT("product_name", product),
    TEXT("performance_state", performance_state),
    TEXT("gpu_recovery_action", recovery_action),
    TEXT("fabric/state", fabric_state),
    TEXT("fabric/status", fabric_status),
    TEXT("fabric/health/summary", fabric_health),
#undef TEXT
};

static bool has_word(const char *text, const char *word)
{
    return strcasestr(text, word) != NULL;
}

/* NVML's "not supported" and its kin: nothing can be said, and nothing is wrong. */
static bool is_absent(const char *text)
{
    static const char *const absent[] = {"", "N/A", "[N/A]", "Not Supported", "[Not Supported]", "None"};
    for (size_t i = 0; i < ARRAY_LEN(absent); i++)
        if (strcmp(text, absent[i]) == 0)
            return true;
    return has_word(text, "deprecated") || has_word(text, "Permission");
}

/* NVML's words for "the driver could not read it". */
static bool is_error(const char *text)
{
    return has_word(text, "ERR!") || has_word(text, "Unknown Error") || has_word(text, "GPU is lost") ||
           has_word(text, "requires reset") || has_word(text, "Timeout");
}

/* "29 C", "16x", "68.57 W", "-2 C", "0"; false for what does not begin with a number that a device may have. */
static bool number_of(const char *text, double *ret_number)
{
    const char *p = text + (*text == '-');
    size_t digits = strspn(p, "0123456789");
    if (digits == 0 || digits > 18)
        return false;
    double number = 0, unit = 1;
    for (; *p >= '0' && *p <= '9'; p++)
        number = number * 10 + (*p - '0');
    if (*p == '.')
        for (p++; *p >= '0' && *p <= '9' && unit > 1e-6; p++)
            number += (*p - '0') * (unit /= 10);
    if (*p == 'x')
        p++;
    if (*p != '\0' && *p != ' ')
        return false;
    *ret_number = *text == '-' ? -number : number;
    return true;
}

static bool flag_of(const char *text, double *ret_flag)
{
    static const char *const yes[] = {"Yes", "Enabled", "Active", "True"}, *const no[] = {"No", "Disabled",
                                                                                          "Not Active", "False"};
    for (size_t i = 0; i < ARRAY_LEN(yes); i++)
        if (strcmp(text, yes[i]) == 0 || strcmp(text, no[i]) == 0) {
            *ret_flag = strcmp(text, yes[i]) == 0;
            return true;
        }
    return false;
}

static void take_value(struct nvidia_gpu *gpu, enum kind kind, enum nvidia_value value, const char *path,
                       const char *text)
{
    double *kept = &gpu->values[value], number = 0;
    if (is_error(text)) {
        if (gpu->unreadable == 0)
            text_copy_cut(gpu->unreadable_first, sizeof(gpu->unreadable_first), path);
        gpu->unreadable |= UINT64_C(1) << value;
    } else if (is_absent(text) || !(kind == FLAG ? flag_of(text, &number) : number_of(text, &number))) {
        return;
    } else if (kind == SET || isnan(*kept)) {
        *kept = number;
    } else if (kind == ADD) {
        *kept += number;
    } else if (number > 0) {
        *kept = number;
    }
}

/* --- the document ------------------------------------------------------------------------------------------------ */

struct reading {
    struct nvidia_report *report;
    struct nvidia_gpu *gpu; /* NULL: between two of them, or one too many */
    size_t seen;            /* <gpu> of all kinds */
    bool is_ours;           /* the root is nvidia-smi's */
};

/* What follows the GPU's element in path; NULL outside of one. */
static const char *below_gpu(const char *path)
{
    static const char gpu[] = "nvidia_smi_log/gpu/";
    return text_starts_with(path, gpu) ? path + sizeof(gpu) - 1 : NULL;
}

static void on_open(const char *path, const char *const attributes[], void *arg)
{
    struct reading *reading = arg;
    if (strcmp(path, root_name) == 0)
        reading->is_ours = true;
    if (strcmp(path, "nvidia_smi_log/gpu") != 0)
        return;
    reading->seen++;
    reading->gpu = nvidia_add_gpu(reading->report);
    for (; reading->gpu != NULL && *attributes != NULL; attributes += 2)
        if (strcmp(attributes[0], "id") == 0)
            nvidia_pci_name(attributes[1], strlen(attributes[1]), reading->gpu->name);
}

static void take_element(struct nvidia_gpu *gpu, const char *path, const char *text)
{
    if (text_starts_with(path, "processes/") || text_starts_with(path, "accounted_processes/"))
        return; /* names that users choose: they say nothing of the GPU */
    if (has_word(text, "GPU is lost"))
        gpu->is_lost = true;
    if (has_word(text, "GPU requires reset"))
        gpu->requires_reset = true;
    if (has_word(text, "inforom") && has_word(text, "corrupt"))
        gpu->is_inforom_corrupt = true;
    if (strcmp(path, "pci/pci_bus_id") == 0 && gpu->name[0] == '\0')
        nvidia_pci_name(text, strlen(text), gpu->name);
    for (size_t i = 0; i < ARRAY_LEN(paths); i++)
        if (strcmp(paths[i].path, path) == 0)
            take_value(gpu, paths[i].kind, paths[i].value, path, text);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        if (strcmp(texts[i].path, path) == 0 && !is_error(text) && strcmp(text, "N/A") != 0)
            nvidia_copy_clean((char *)gpu + texts[i].offset, NVIDIA_TEXT_BYTES_MAX, text);
}

static void on_close(const char *path, const char *text, void *arg)
{
    struct reading *reading = arg;
    int64_t attached = 0;
    if (strcmp(path, "nvidia_smi_log/gpu") == 0)
        reading->gpu = NULL;
    else if (reading->gpu != NULL && below_gpu(path) != NULL)
        take_element(reading->gpu, below_gpu(path), text);
    else if (strcmp(path, "nvidia_smi_log/attached_gpus") == 0 && text_parse_i64(text, 0, 4096, &attached) == 0)
        reading->report->attached = (int)attached;
}

/* Why a document that is whole is no report; NULL when it is one. */
static const char *why_not(const struct reading *reading)
{
    const struct nvidia_report *report = reading->report;
    if (!reading->is_ours)
        return "a document of another kind";
    if (reading->seen > NVIDIA_GPUS_MAX)
        return "more GPUs than a machine has";
    for (size_t i = 0; i < report->gpu_count; i++) {
        if (report->gpus[i].name[0] == '\0')
            return "a GPU without a PCI address";
        for (size_t j = 0; j < i; j++)
            if (strcmp(report->gpus[i].name, report->gpus[j].name) == 0)
                return "one PCI address twice";
    }
    return NULL;
}

static void read_document(const char *data, size_t len, struct nvidia_report *report)
{
    static const struct xml_reader reader = {.open = on_open, .close = on_close};
    struct reading reading = {.report = report};
    char error[XML_ERROR_MAX];
    const char *refusal = error;
    if (xml_read(data, len, NVIDIA_SMI_BYTES_MAX, &reader, &reading, error) == 0)
        refusal = why_not(&reading);
    if (refusal != NULL) {
        report->gpu_count = 0;
        report->attached = -1;
        snprintf(report->why, sizeof(report->why), "the report cannot be read: %s", refusal);
        return;
    }
    report->answer = report->gpu_count > 0 ? NVIDIA_ANSWER_REPORT : NVIDIA_ANSWER_NO_DEVICES;
    if (report->gpu_count == 0)
        text_copy_cut(report->why, sizeof(report->why), "a report without any GPU");
}

/* --- messages ---------------------------------------------------------------------------------------------------- */

/* The first PCI address in a line. */
static bool find_pci_name(const char *line, char name[DEVICE_MAX_BYTES])
{
    for (const char *p = line; (p = strchr(p, ':')) != NULL; p++) {
        const char *from = p, *to = p;
        while (from > line && text_hex_digit(from[-1]) >= 0)
            from--;
        while (*to == ':' || *to == '.' || text_hex_digit(*to) >= 0)
            to++;
        while (to > p && (to[-1] == ':' || to[-1] == '.')) /* punctuation of the sentence */
            to--;
        if (nvidia_pci_name(from, (size_t)(to - from), name))
            return true;
    }
    return false;
}

static struct nvidia_gpu *gpu_of_line(const char *line, struct nvidia_report *report)
{
    char name[DEVICE_MAX_BYTES];
    if (!find_pci_name(line, name))
        return NULL;
    for (size_t i = 0; i < report->gpu_count; i++)
        if (strcmp(report->gpus[i].name, name) == 0)
            return &report->gpus[i];
    struct nvidia_gpu *gpu = nvidia_add_gpu(report);
    if (gpu != NULL)
        memcpy(gpu->name, name, sizeof(name));
    return gpu;
}

static void take_message(const char *line, struct nvidia_report *report)
{
    static const struct {
        const char *words;
        enum nvidia_answer answer;
    } answers[] = {
        {"No devices were found", NVIDIA_ANSWER_NO_DEVICES},
        {"couldn't communicate with the NVIDIA driver", NVIDIA_ANSWER_NO_DRIVER},
        {"Driver Not Loaded", NVIDIA_ANSWER_NO_DRIVER},
        {"Driver/library version mismatch", NVIDIA_ANSWER_MISMATCH},
    };
    struct nvidia_gpu *gpu = NULL;
    if (has_word(line, "Unable to determine the device handle") && (gpu = gpu_of_line(line, report)) != NULL) {
        /* The words behind the address are NVML's. A GPU that may not be looked at is not a lost one. */
        gpu->requires_reset = has_word(line, "requires reset");
        gpu->is_lost = !gpu->requires_reset && !has_word(line, "Permission") && !has_word(line, "blocked");
    } else if (has_word(line, "infoROM is corrupted") && (gpu = gpu_of_line(line, report)) != NULL) {
        gpu->is_inforom_corrupt = true;
    }
    if (report->answer == NVIDIA_ANSWER_REPORT)
        return;
    for (size_t i = 0; i < ARRAY_LEN(answers); i++)
        if (has_word(line, answers[i].words))
            report->answer = answers[i].answer;
    if (report->why[0] == '\0')
        nvidia_copy_clean(report->why, sizeof(report->why), line);
}

/* Of a document that broke off, the lines between its elements. */
static void take_messages(const char *data, size_t len, struct nvidia_report *report)
{
    enum { LINES_MAX = 256 };
    char line[SENTENCE_MAX_BYTES];
    for (int lines = 0; len > 0 && lines < LINES_MAX;) {
        const char *end = memchr(data, '\n', len);
        size_t line_len = end != NULL ? (size_t)(end - data) : len, kept = 0;
        for (size_t i = 0; i < line_len && kept + 1 < sizeof(line); i++) {
            unsigned char c = (unsigned char)data[i];
            if (kept > 0 || c > ' ')
                line[kept++] = c >= 0x20 && c < 0x7f ? (char)c : '?';
        }
        while (kept > 0 && (line[kept - 1] == ' ' || line[kept - 1] == '?'))
            kept--;
        line[kept] = '\0';
        if (kept > 0 && line[0] != '<') {
            take_message(line, report);
            lines++;
        }
        data += line_len + (end != NULL);
        len -= line_len + (end != NULL);
    }
}

void nvidia_smi_parse(const char *data, size_t len, struct nvidia_report *ret_report)
{
    static const char close[] = "</nvidia_smi_log>";
    ret_report->answer = NVIDIA_ANSWER_BROKEN;
    ret_report->source = "nvidia-smi";
    ret_report->why[0] = '\0';
    ret_report->attached = -1;
    ret_report->gpu_count = 0;
    const char *begin = len > 0 ? memmem(data, len, "<?xml", 5) : NULL;
    if (begin == NULL && len > 0)
        begin = memmem(data, len, "<nvidia_smi_log", 15);
    size_t before = begin != NULL ? (size_t)(begin - data) : len;
    const char *end = begin != NULL ? memmem(begin, len - before, close, sizeof(close) - 1) : NULL;
    size_t behind = end != NULL ? (size_t)(end - data) + sizeof(close) - 1 : len;
    if (begin != NULL)
        read_document(begin, behind - before, ret_report);
    take_messages(data, before, ret_report);
    size_t rest = end != NULL ? behind : before;
    const char *users = end == NULL && begin != NULL ? memmem(begin, len - rest, "<processes", 10) : NULL;
    take_messages(data + rest, (users != NULL ? (size_t)(users - data) : len) - rest, ret_report);
    if (ret_report->answer == NVIDIA_ANSWER_BROKEN && ret_report->why[0] == '\0')
        snprintf(ret_report->why, sizeof(ret_report->why), "nvidia-smi printed nothing");
}
