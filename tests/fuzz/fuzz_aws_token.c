/*
 * Page tokens of the AWS API, as a client could make them up: a list in the first line, a token behind it. What is taken
 * gives a key that makes the same token again, and is refused for any other list; what is not taken leaves no key.
 */
// ROOMS: base api
#include "tests/fuzz/fuzz.h"

#include "api/aws/token.h"
#include "base/own.h"
#include "base/text.h"

static void require_round_trip(const char *list, const char *key)
{
    char token[AWS_TOKEN_MAX], back[AWS_TOKEN_KEY_MAX];

    aws_token_encode(list, key, token);
    REQUIRE(strlen(token) < sizeof(token));
    REQUIRE(aws_token_decode(token, list, back) == 0 && strcmp(back, key) == 0);
    autofree char *other = own_printf("%s/", list);
    REQUIRE(aws_token_decode(token, other, back) != 0);
    token[strlen(token) - 1] = '\0';
    REQUIRE(aws_token_decode(token, list, back) != 0 || strcmp(back, key) != 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    autofree char *text = fuzz_text(data, size);
    size_t len = strcspn(text, "\n");
    const char *token = text + len + (text[len] == '\n');
    char key[AWS_TOKEN_KEY_MAX] = "untouched", again[AWS_TOKEN_MAX];

    text[len] = '\0';
    if (aws_token_decode(token, text, key) == 0) {
        REQUIRE(key[0] != '\0' && text_is_utf8(key, strlen(key)));
        aws_token_encode(text, key, again);
        REQUIRE(strcmp(again, token) == 0);
    } else {
        REQUIRE(strcmp(key, "untouched") == 0);
    }
    if (token[0] != '\0' && strlen(token) < AWS_TOKEN_KEY_MAX && text_is_utf8(token, strlen(token)))
        require_round_trip(text, token);
    return 0;
}
