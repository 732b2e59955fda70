/* Short ids: a beginning that only one id has stands for it. What no beginning fits is asked for as it is, and the server answers. */
#include "cli/cli.h"

#include <ctype.h>
#include <string.h>

#define UUID_LEN 36
#define PREFIX_MIN 4

static bool is_prefix(const char *text)
{
    size_t len = strlen(text), i = 0;
    while (isxdigit((unsigned char)text[i]) || text[i] == '-')
        i++;
    return len >= PREFIX_MIN && len < UUID_LEN && i == len;
}

struct match {
    char *id; /* the first */
    bool several;
};

static int look(struct cli *cli, const char *path, const char *prefix, struct match *match)
{
    auto_json json_t *items = NULL;
    size_t i;
    json_t *item;
    int rc = cli_ask_list(cli, path, 1000, &items);
    json_array_foreach(items, i, item)
    {
        const char *id = json_string_value(json_object_get(item, "id"));
        if (id == NULL || !text_starts_with(id, prefix) || text_equal(id, match->id))
            continue;
        match->several = match->several || match->id != NULL;
        if (match->id == NULL)
            match->id = own_strdup(id);
    }
    return rc;
}

int cli_full_id(struct cli *cli, const struct cli_verb *verb, const char *given, char **ret_id)
{
    struct match match = {0};
    *ret_id = NULL;
    bool operation = text_equal(verb->noun, "operation") || text_equal(verb->noun, "check");
    if (!operation || !is_prefix(given))
        return CLI_EXIT_OK;
    int rc = text_equal(verb->noun, "check") ? look(cli, "/v1/checks", given, &match)
                                             : look(cli, "/v1/approvals", given, &match);
    if (rc == CLI_EXIT_OK && !text_equal(verb->noun, "check"))
        rc = look(cli, "/v1/operations", given, &match);
    if (rc == CLI_EXIT_OK && match.several)
        rc = cli_usage(cli, "several ids begin with %s; give more of it", given);
    if (rc == CLI_EXIT_OK)
        *ret_id = TAKE(match.id);
    free(match.id);
    return rc;
}
