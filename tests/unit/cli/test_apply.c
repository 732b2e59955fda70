/* The keys that a cluster file may have are those that the server reads: one that only one side knows fails here. */
#include "api/v1/spec_words.h"
#include "base/text.h"
#include "cli/cli.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static bool is_among(const char *key, const char *const *keys)
{
    for (; *keys != NULL; keys++)
        if (text_equal(*keys, key))
            return true;
    return false;
}

static const struct record_field *field_of(const struct record *record, const char *name)
{
    for (size_t i = 0; i < record->count; i++)
        if (text_equal(record->fields[i].name, name))
            return &record->fields[i];
    return NULL;
}

static void compare(const struct record *record, const char *const *keys)
{
    for (size_t i = 0; i < record->count; i++)
        if (!is_among(record->fields[i].name, keys))
            fail_msg("the server reads \"%s\", and hpctl apply refuses it", record->fields[i].name);
    for (; *keys != NULL; keys++)
        if (field_of(record, *keys) == NULL)
            fail_msg("hpctl apply takes \"%s\", and the server does not know it", *keys);
}

static void test_both_know_the_same_keys(void **state)
{
    (void)state;
    compare(&cluster_words_new, cli_cluster_keys);
    compare(field_of(&cluster_words_new, "instanceGroups")->record, cli_group_keys);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_both_know_the_same_keys)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
