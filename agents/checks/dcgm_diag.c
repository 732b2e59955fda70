/*
 * The shapes: "DCGM GPU Diagnostic" with results by "gpu_ids" ("0,1,2") up to version 3, "DCGM Diagnostic" with results by
 * "entity_group" and "entity_id" from 4 on; warnings are a text, a list of texts, or a list of objects with a number
 * (dcgm_diag_schema.json of DCGM's tests for 4 [V]). A test of 4 may have failed only in its "test_summary".
 */
#include "agents/checks/dcgm_diag.h"

#include "base/own.h"
#include "base/status.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

static enum dcgm_status status_of(const json_t *value)
{
    static const char *const texts[] = {
#define X(SYMBOL, text) text,
        DCGM_STATUS_LIST(X)
#undef X
    };
    const char *status = json_string_value(value);
    for (size_t i = 0; status != NULL && i < DCGM_STATUS_OTHER; i++)
        if (strcasecmp(status, texts[i]) == 0)
            return (enum dcgm_status)i;
    return DCGM_STATUS_OTHER;
}

/* The first of the warnings, in whichever form. */
static void take_warning(json_t *warnings, struct dcgm_diag_result *result)
{
    json_t *first = json_is_array(warnings) ? json_array_get(warnings, 0) : warnings;
    json_t *number = json_object_get(first, "error_id");
    dcgm_text(json_is_object(first) ? json_object_get(first, "warning") : first, result->message,
              sizeof(result->message));
    if (json_is_integer(number) && json_integer_value(number) > 0 && json_integer_value(number) < 10000)
        result->number = (int)json_integer_value(number);
}

static void add_result(struct dcgm_diag *diag, const struct dcgm_diag_result *result)
{
    diag->counts[result->status]++;
    if (result->status != DCGM_STATUS_PASS && diag->result_count < DCGM_DIAG_RESULTS_MAX)
        diag->results[diag->result_count++] = *result;
}

/* "0,1,2": one result each; a text that is no list of numbers is the node as a whole. */
static void add_for_ids(struct dcgm_diag *diag, struct dcgm_diag_result *result, const char *ids)
{
    enum { IDS_MAX = 64 };
    size_t added = 0;
    while (*ids != '\0' && added < IDS_MAX) {
        char digits[8];
        int64_t id = 0;
        size_t len = strcspn(ids, ",");
        while (len > 0 && *ids == ' ') {
            ids++;
            len--;
        }
        if (text_copy_bytes(digits, sizeof(digits), ids, len) != 0 || text_parse_i64(digits, 0, 4095, &id) != 0)
            break;
        result->entity = (int)id;
        text_copy_cut(result->group, sizeof(result->group), "GPU");
        add_result(diag, result);
        added++;
        ids += len + (ids[len] == ',');
    }
    if (added == 0)
        add_result(diag, result);
}

static void take_result(struct dcgm_diag *diag, const struct dcgm_diag_result *of_test, json_t *json)
{
    struct dcgm_diag_result result = *of_test;
    json_t *entity = json_object_get(json, "entity_id");
    const char *ids = json_string_value(json_object_get(json, "gpu_ids"));
    result.status = status_of(json_object_get(json, "status"));
    take_warning(json_object_get(json, "warnings"), &result);
    if (ids != NULL) {
        add_for_ids(diag, &result, ids);
        return;
    }
    if (json_is_integer(entity) && json_integer_value(entity) >= 0 && json_integer_value(entity) < 1 << 20) {
        result.entity = (int)json_integer_value(entity);
        dcgm_text(json_object_get(json, "entity_group"), result.group, sizeof(result.group));
    }
    add_result(diag, &result);
}

static void take_test(struct dcgm_diag *diag, const json_t *category, json_t *test)
{
    struct dcgm_diag_result result = {.entity = -1};
    json_t *each, *summary = json_object_get(test, "test_summary");
    size_t i;
    dcgm_text(category, result.category, sizeof(result.category));
    dcgm_text(json_object_get(test, "name"), result.test, sizeof(result.test));
    int failed = diag->counts[DCGM_STATUS_FAIL];
    json_array_foreach(json_object_get(test, "results"), i, each)
    {
        take_result(diag, &result, each);
    }
    if (json_is_object(summary) && failed == diag->counts[DCGM_STATUS_FAIL] &&
        status_of(json_object_get(summary, "status")) == DCGM_STATUS_FAIL)
        take_result(diag, &result, summary);
}

int dcgm_diag_parse(const char *data, size_t len, struct dcgm_diag *ret_diag)
{
    auto_json json_t *json = dcgm_json(data, len);
    autofree struct dcgm_diag *diag = own_calloc(1, sizeof(*diag));
    json_t *metadata = json_object_get(json, "metadata"), *category, *test, *body = NULL;
    size_t i, j;
    int tests = 0;
    body = json_object_get(json, "DCGM Diagnostic");
    if (body == NULL)
        body = json_object_get(json, "DCGM GPU Diagnostic");
    json_array_foreach(json_object_get(body, "test_categories"), i, category)
    {
        json_array_foreach(json_object_get(category, "tests"), j, test)
        {
            take_test(diag, json_object_get(category, "category"), test);
        }
    }
    for (i = 0; i < DCGM_STATUS_COUNT; i++)
        tests += diag->counts[i];
    dcgm_text(json_object_get(body, "runtime_error"), diag->runtime_error, sizeof(diag->runtime_error));
    if (tests == 0 && diag->runtime_error[0] == '\0')
        return STATUS_INVALID;
    dcgm_text(json_object_get(metadata != NULL ? metadata : body, "version"), diag->version, sizeof(diag->version));
    dcgm_text(metadata != NULL ? json_object_get(metadata, "Driver Version Detected")
                               : json_object_get(body, "driver_version_detected"),
              diag->driver, sizeof(diag->driver));
    *ret_diag = *diag;
    return 0;
}

/* Tests of the set-up, which say nothing of the hardware; up to version 3 they may fail without a word. */
static int error_of_test(const char *test)
{
    static const struct {
        const char *name;
        int number;
    } tests[] = {
        {"Persistence Mode", 29}, {"Denylist", 23},           {"Blacklist", 23},
        {"NVML Library", 24},     {"CUDA Main Library", 22},  {"Permissions", 18},
        {"Environment", 28},      {"Graphics Processes", 25}, {"Inforom", 9},
    };
    for (size_t i = 0; i < ARRAY_LEN(tests); i++)
        if (strncasecmp(test, tests[i].name, strlen(tests[i].name)) == 0)
            return tests[i].number;
    return 0;
}

void dcgm_diag_code(const struct dcgm_diag_result *result, char code[CODE_MAX_BYTES])
{
    int number = result->number > 0 ? result->number : dcgm_error_of(result->message);
    dcgm_code(number > 0 ? number : error_of_test(result->test), result->message, "dcgm.diag.failed", code);
}
