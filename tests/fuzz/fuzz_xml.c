/* XML: paths nest as elements do, limits hold, texts are UTF-8, and only a whole document is taken. */
// ROOMS: base
#include "tests/fuzz/fuzz.h"

#include "base/status.h"
#include "base/text.h"
#include "base/xml.h"

struct seen {
    int depth, elements;
};

static int depth_of(const char *path)
{
    int depth = 1;
    REQUIRE(strlen(path) < XML_PATH_BYTES_MAX && path[0] != '\0' && path[0] != '/');
    for (; *path != '\0'; path++)
        depth += *path == '/';
    return depth;
}

static void on_open(const char *path, const char *const attributes[], void *arg)
{
    struct seen *seen = arg;
    REQUIRE(depth_of(path) == ++seen->depth && seen->depth <= XML_DEPTH_MAX);
    for (; *attributes != NULL; attributes += 2)
        REQUIRE(attributes[1] != NULL && text_is_utf8(attributes[1], strlen(attributes[1])));
}

static void on_close(const char *path, const char *text, void *arg)
{
    struct seen *seen = arg;
    REQUIRE(depth_of(path) == seen->depth--);
    REQUIRE(strlen(text) < XML_TEXT_BYTES_MAX && text_is_utf8(text, strlen(text)));
    seen->elements++;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct xml_reader reader = {.open = on_open, .close = on_close};
    struct seen seen = {0};
    char error[XML_ERROR_MAX] = "";
    char *exact = fuzz_text(data, size);
    int r = xml_read(exact, size, 2048, &reader, &seen, error);
    free(exact);
    REQUIRE(r == 0 || r == STATUS_INVALID || r == STATUS_TOO_LARGE);
    REQUIRE(r != 0 ? error[0] != '\0' : seen.depth == 0 && seen.elements > 0);
    return 0;
}
