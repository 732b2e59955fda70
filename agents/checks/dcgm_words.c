/*
 * DCGM names an error by number only in the JSON of its newer diagnostics; everywhere else there is a sentence, whose
 * words are those of dcgm_errors.h [V]. Sentences are looked for from the gravest on, as one text may hold several.
 */
#include "agents/checks/dcgm_words.h"

#include "agents/checks/nvidia_smi.h"
#include "base/own.h"
#include "base/text.h"
#include "policy/faults/faults.h"

#include <stdio.h>
#include <string.h>

#define JSON_BYTES_MAX (8 << 20) /* a diagnosis of 16 GPUs with all its remarks has some 100 kB */

/* Not here: "NvLink link N is currently down". DCGM says so of PCIe cards that have no bridge, too (NVSentinel, pull
 * request 1481 [V]); it stays a word of the health watch, and nvidia.c knows what a board was like before. */
static const struct {
    const char *words;
    int number;
} sentences[] = {
    {"fallen off the bus", 120},
    {"uncontained error", 81},
    {"row remapping failed", 80},
    {"double-bit ECC error has", 57},
    {"volatile double-bit ECC", 4},
    {"row remappings are pending", 85},
    {"row remaps are pending", 85},
    {"together with a DBE", 83},
    {"retired pages due to DBEs", 8},
    {"retired pages have been detected", 7},
    {"corrupt InfoROM", 9},
    {"NvLink errors found occuring per second", 70},
    {"NVLink (should be 0)", 71},
    {"Detected fatal errors on NvSwitch", 15},
    {"faulty memory elements", 52},
    {"memory mismatch was detected", 58},
    {"miscompare failure in the L1", 79},
    {"unsuccessfully written to", 86},
    {"unsuccessfully wrote data", 87},
    {"desired stress level", 50},
    {"memory bandwidth of", 62},
    {"minimum required bandwidth", 30},
    {"exceeded maximum allowed latency", 31},
    {"running at PCI link generation", 45},
    {"running at PCI link width", 46},
    {"thermal violations totaling", 40},
    {"did not reach desired power", 63},
    {"pending retired page", 6},
    {"PCIe replays per minute", 3},
    {"single-bit ECC error", 5},
    {"which exceeds threshold of", 13},
    {"Detected nonfatal errors on NvSwitch", 16},
    {"due to thermal violation", 10},
    {"due to power violation", 12},
    {"read the power usage", 11},
    {"rows were remapped", 84},
    {"Persistence mode for GPU", 29},
    {"Cannot open library", 22},
    {"test is skipped for this GPU", 48},
    {"ECC is not enabled", 55},
    {"not currently active", 55},
    {"Detected XID ", 101}, /* the kernel log has it as what it is, an event; to DCGM it is a state that lasts */
};

int dcgm_error_of(const char *message)
{
    for (size_t i = 0; i < ARRAY_LEN(sentences); i++)
        if (strcasestr(message, sentences[i].words) != NULL)
            return sentences[i].number;
    return 0;
}

void dcgm_code(int number, const char *message, const char *otherwise, char code[CODE_MAX_BYTES])
{
    const struct fault_row *row = fault_find_number("dcgm", number > 0 ? number : dcgm_error_of(message));
    text_copy_cut(code, CODE_MAX_BYTES, row != NULL ? row->code : otherwise);
}

/* The cell behind a label in a row of a table, "|        | PCI Bus ID: 0000…  |"; NULL when the row has no such label. */
static const char *cell(const char *row, const char *label, size_t *ret_len)
{
    const char *at = strstr(row, label);
    if (at == NULL)
        return NULL;
    at += strlen(label);
    size_t len = strcspn(at, "|");
    while (len > 0 && at[len - 1] == ' ')
        len--;
    *ret_len = len;
    return at;
}

static void take_row(const char *row, struct dcgm_gpu *gpu)
{
    size_t len = 0;
    const char *text = cell(row, "PCI Bus ID: ", &len);
    if (text != NULL)
        nvidia_pci_name(text, len, gpu->name);
    text = cell(row, "Device UUID: ", &len);
    if (text != NULL)
        text_copy_bytes(gpu->uuid, sizeof(gpu->uuid), text, len);
}

size_t dcgm_discovery_parse(const char *data, size_t len, struct dcgm_gpu ret_gpus[DCGM_GPUS_MAX])
{
    struct dcgm_gpu *gpu = NULL;
    size_t count = 0, named = 0;
    while (len > 0) {
        char row[256];
        const char *end = memchr(data, '\n', len);
        size_t row_len = end != NULL ? (size_t)(end - data) : len;
        if (text_copy_bytes(row, sizeof(row), data, row_len) == 0) {
            int64_t id = 0;
            char digits[8] = "";
            size_t width = row[0] == '|' && row[1] == ' ' ? strspn(row + 2, "0123456789") : 0;
            if (row[0] == '+') /* a rule: the end of a GPU, and of the list */
                gpu = NULL;
            if (width > 0 && strstr(row, "Name: ") != NULL &&
                text_copy_bytes(digits, sizeof(digits), row + 2, width) == 0 &&
                text_parse_i64(digits, 0, 4095, &id) == 0 && count < DCGM_GPUS_MAX) {
                gpu = &ret_gpus[count++];
                *gpu = (struct dcgm_gpu){.id = (int)id};
            }
            if (gpu != NULL)
                take_row(row, gpu);
        }
        data += row_len + (end != NULL);
        len -= row_len + (end != NULL);
    }
    for (size_t i = 0; i < count; i++)
        if (ret_gpus[i].name[0] != '\0')
            ret_gpus[named++] = ret_gpus[i];
    return named;
}

void dcgm_entity_name(const struct dcgm_gpu *gpus, size_t count, const char *group, int id, char name[DEVICE_MAX_BYTES])
{
    for (size_t i = 0; i < count; i++)
        if (gpus[i].id == id && strcmp(group, "GPU") == 0) {
            memcpy(name, gpus[i].name, DEVICE_MAX_BYTES);
            return;
        }
    snprintf(name, DEVICE_MAX_BYTES, "%.32s:%d", group, id);
}

json_t *dcgm_json(const char *data, size_t len)
{
    char error[JSON_ERROR_MAX];
    json_t *json = NULL;
    const char *begin = len > 0 ? memchr(data, '{', len) : NULL;
    const char *end = len > 0 ? memrchr(data, '}', len) : NULL;
    if (begin == NULL || end == NULL || end < begin ||
        json_parse(begin, (size_t)(end - begin) + 1, JSON_BYTES_MAX, &json, error) != 0)
        return NULL;
    return json;
}

void dcgm_text(const json_t *value, char *dst, size_t size)
{
    text_copy_cut(dst, size, json_is_string(value) ? json_string_value(value) : "");
}
