/*
 * The JSON reader: what is taken survives being written and read again; a body that is refused
 * leaves the target as it was; messages are short and hold nothing that could forge a log line.
 */
// ROOMS: base
#include "tests/fuzz/fuzz.h"

#include "base/json.h"
#include "base/text.h"

#define BODY_MAX 4000 /* below libFuzzer's longest input, so that it is passed */

struct target {
    char name[16], word[8];
    int64_t count;
    bool on, present;
    json_t *object, *array;
};

static int check_name(const char *text)
{
    return text_is_name(text) ? 0 : -1;
}

static void require_clean(const char error[JSON_ERROR_MAX])
{
    size_t len = strnlen(error, JSON_ERROR_MAX);

    REQUIRE(len > 0 && len < JSON_ERROR_MAX);
    for (size_t i = 0; i < len; i++)
        REQUIRE((unsigned char)error[i] >= 0x20 && error[i] != 0x7f);
}

static void read_by_spec(json_t *json)
{
    struct target t, before;
    const struct json_field fields[] = {
        {.name = "name",
         .type = JSON_FIELD_TEXT,
         .required = true,
         .target = t.name,
         .size = sizeof(t.name),
         .min = 1,
         .check = check_name,
         .rule = "a name"},
        {.name = "word", .type = JSON_FIELD_TEXT, .target = t.word, .size = sizeof(t.word), .ret_present = &t.present},
        {.name = "count", .type = JSON_FIELD_I64, .target = &t.count, .min = -3, .max = 1000},
        {.name = "on", .type = JSON_FIELD_BOOL, .target = &t.on},
        {.name = "object", .type = JSON_FIELD_OBJECT, .target = &t.object},
        {.name = "array", .type = JSON_FIELD_ARRAY, .target = &t.array, .min = 1, .max = 3},
    };
    char error[JSON_ERROR_MAX] = "";

    memset(&t, 0, sizeof(t));
    t.count = 7;
    memcpy(&before, &t, sizeof(t));
    if (json_read(json, fields, ARRAY_LEN(fields), error) < 0) {
        REQUIRE(memcmp(&t, &before, sizeof(t)) == 0);
        require_clean(error);
        return;
    }
    REQUIRE(text_is_name(t.name));
    REQUIRE(memchr(t.word, '\0', sizeof(t.word)) != NULL);
    REQUIRE(t.present == (json_object_get(json, "word") != NULL));
    REQUIRE(t.count >= -3 && t.count <= 1000);
    REQUIRE(t.array == NULL || (json_array_size(t.array) >= 1 && json_array_size(t.array) <= 3));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    autofree char *text = fuzz_text(data, size);
    char error[JSON_ERROR_MAX] = "";
    auto_json json_t *json = NULL;

    if (json_parse(text, size, BODY_MAX, &json, error) < 0) {
        REQUIRE(json == NULL);
        require_clean(error);
        return 0;
    }
    REQUIRE(size <= BODY_MAX);
    autofree char *written = json_dumps(json, JSON_COMPACT);
    REQUIRE(written != NULL);
    auto_json json_t *again = NULL;
    REQUIRE(json_parse(written, strlen(written), SIZE_MAX, &again, error) == 0);
    REQUIRE(json_equal(json, again));
    read_by_spec(json);
    return 0;
}
