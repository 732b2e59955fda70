/*
 * The pull parser against jansson. Whatever the pull parser takes, jansson must take too and
 * read the same values; and what jansson writes of a tree that lies within the pull parser's
 * bounds, the pull parser must take.
 */
// ROOMS: base
#include "tests/fuzz/fuzz.h"

#include "base/json.h"
#include "base/pull.h"
#include "base/text.h"

#define TEXT_MAX 300 /* small enough that inputs reach it */

static json_t *walk(struct pull *p);

static json_t *walk_object(struct pull *p)
{
    json_t *object = json_object();
    struct pull_view name;

    pull_object(p);
    while (pull_member(p, &name)) {
        char key[TEXT_MAX];
        if (text_copy_bytes(key, sizeof(key), name.data, name.len) < 0) {
            pull_fail(p, "a name is too long");
            break;
        }
        json_put(object, key, walk(p));
    }
    return object;
}

static json_t *walk_array(struct pull *p)
{
    json_t *array = json_array();

    pull_array(p);
    while (pull_element(p)) {
        json_t *value = walk(p);
        if (value != NULL)
            json_array_append_new(array, value);
    }
    return array;
}

static json_t *walk_text(struct pull *p)
{
    char text[TEXT_MAX];

    pull_text(p, text, sizeof(text));
    if (p->error != 0)
        return NULL;
    json_t *value = json_string(text);
    REQUIRE(value != NULL); /* UTF-8 */
    return value;
}

static json_t *walk_i64(struct pull *p)
{
    int64_t value = 0;

    pull_i64(p, INT64_MIN, INT64_MAX, &value);
    return json_integer(value);
}

static json_t *walk_bool(struct pull *p)
{
    bool value = false;

    pull_bool(p, &value);
    return json_boolean(value);
}

/* One value of whatever kind the next byte promises. Recursion ends where the parser's depth does. */
static json_t *walk(struct pull *p)
{
    const char *at = p->at;

    while (at < p->end && strchr(" \n\r\t", *at) != NULL && *at != '\0')
        at++;
    if (p->error != 0 || at == p->end)
        return pull_fail(p, "a value is wanted"), NULL;
    if (*at == '{')
        return walk_object(p);
    if (*at == '[')
        return walk_array(p);
    if (*at == '"')
        return walk_text(p);
    if (*at == 't' || *at == 'f')
        return walk_bool(p);
    return walk_i64(p);
}

/* NULL when the pull parser refuses. */
static json_t *pull_tree(const char *data, size_t len)
{
    struct pull p;

    pull_start(&p, data, len);
    json_t *tree = walk(&p);
    int r = pull_end(&p);
    REQUIRE(p.at >= p.start && p.at <= p.end);
    REQUIRE((r == 0) == (p.why == NULL));
    REQUIRE(p.depth >= 0 && p.depth <= PULL_DEPTH_MAX);
    if (r == 0)
        return tree;
    json_decref(tree);
    return NULL;
}

static bool is_plain_name(const char *name)
{
    size_t len = strlen(name);

    for (size_t i = 0; i < len; i++)
        if (name[i] < 0x20 || name[i] > 0x7e || name[i] == '"' || name[i] == '\\')
            return false;
    return len < TEXT_MAX;
}

static bool within_bounds(json_t *tree, int depth)
{
    const char *name;
    json_t *value;
    size_t i;

    if ((json_is_object(tree) || json_is_array(tree)) && depth == PULL_DEPTH_MAX)
        return false;
    if (json_is_real(tree) || json_is_null(tree))
        return false;
    if (json_is_string(tree))
        return json_string_length(tree) < TEXT_MAX;
    json_object_foreach(tree, name, value)
    {
        if (!is_plain_name(name) || !within_bounds(value, depth + 1))
            return false;
    }
    json_array_foreach(tree, i, value)
    {
        if (!within_bounds(value, depth + 1))
            return false;
    }
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    autofree char *text = fuzz_text(data, size);
    auto_json json_t *pulled = pull_tree(text, size);
    auto_json json_t *loaded = json_loadb(text, size, JSON_DECODE_ANY, NULL);

    if (pulled != NULL) {
        REQUIRE(loaded != NULL);
        REQUIRE(json_equal(pulled, loaded));
    }
    if (loaded != NULL && within_bounds(loaded, 0)) {
        autofree char *written = json_dumps(loaded, JSON_ENCODE_ANY | JSON_COMPACT);
        REQUIRE(written != NULL);
        auto_json json_t *again = pull_tree(written, strlen(written));
        REQUIRE(again != NULL);
        REQUIRE(json_equal(again, loaded));
    }
    return 0;
}
