/*
 * Bodies at the AWS API: "Operation\n" and a body. Whatever is taken can be turned into the REST API's spelling, is
 * valid there, and comes back the same; whatever is refused is refused in one clean sentence.
 */
// ROOMS: base api
#include "tests/fuzz/fuzz.h"

#include "api/aws/render.h"
#include "api/aws/validate.h"

#define MESSAGE_BYTES_MAX 16384 /* ten complaints, each with a value, a place and the longest pattern */

static void require_clean(const struct aws_issues *issues)
{
    autofree char *message = aws_issues_message(issues);
    size_t len = strlen(message);

    REQUIRE(issues->types + issues->rules > 0 && issues->types + issues->rules <= AWS_ISSUES_MAX);
    REQUIRE(len > 0 && len < MESSAGE_BYTES_MAX && text_is_utf8(message, len));
    for (size_t i = 0; i < len; i++)
        REQUIRE((unsigned char)message[i] >= 0x20 && message[i] != 0x7f);
}

/* A render drops what is null or unknown and writes 3.0 as 3, so it is its own second rendering that must be the same. */
static void require_there_and_back(const struct aws_shape *shape, const json_t *json)
{
    auto_json json_t *camel = NULL, *pascal = NULL, *again = NULL;
    AUTO(aws_issues) struct aws_issues issues = {0};
    const struct aws_rules rules = {.spelling = AWS_SPELLING_CAMEL, .unknown_refused = true};

    REQUIRE(aws_render(shape, json, AWS_SPELLING_PASCAL, &camel) == 0);
    REQUIRE(aws_validate(shape, camel, rules, &issues) == 0);
    REQUIRE(aws_render(shape, camel, AWS_SPELLING_CAMEL, &pascal) == 0);
    REQUIRE(aws_render(shape, pascal, AWS_SPELLING_PASCAL, &again) == 0);
    REQUIRE(json_equal(camel, again));
    autofree char *text = aws_dump(pascal);
    REQUIRE(text != NULL && text_is_utf8(text, strlen(text)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    autofree char *text = fuzz_text(data, size);
    AUTO(aws_issues) struct aws_issues issues = {0};
    auto_json json_t *json = NULL;
    char *body = memchr(text, '\n', size);

    if (body == NULL)
        return 0;
    *body++ = '\0';
    const struct aws_operation *operation = aws_operation_find(text);
    if (operation == NULL || operation->later)
        return 0;
    if (aws_body_read(operation, body, size - (size_t)(body - text), &json, &issues) < 0) {
        REQUIRE(json == NULL);
        require_clean(&issues);
        return 0;
    }
    require_there_and_back(aws_shape(operation->input), json);
    return 0;
}
