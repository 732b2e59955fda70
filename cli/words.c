/*
 * What options may be that take one word of a list: a wrong one is an error with the nearest right one, before any server is asked.
 */
#include "cli/cli.h"

#include "base/nearest.h"
#include "model/model.h"

#define WORDS_(SYMBOL, text, ...) text,
static const char *const node_states[] = {NODE_STATE_LIST(WORDS_) NULL};
static const char *const healths[] = {HEALTH_LIST(WORDS_) NULL};
static const char *const verdict_states[] = {VERDICT_STATE_LIST(WORDS_) NULL};
static const char *const operation_states[] = {OPERATION_STATE_LIST(WORDS_) NULL};
static const char *const operation_kinds[] = {OPERATION_KIND_LIST(WORDS_) NULL};
static const char *const approval_states[] = {APPROVAL_STATE_LIST(WORDS_) NULL};
static const char *const event_kinds[] = {EVENT_KIND_LIST(WORDS_) NULL};
static const char *const event_levels[] = {EVENT_LEVEL_LIST(WORDS_) NULL};
static const char *const outcomes[] = {AUDIT_OUTCOME_LIST(WORDS_) NULL};
static const char *const recoveries[] = {NODE_RECOVERY_LIST(WORDS_) NULL};

static const struct {
    const char *noun, *verb; /* verb NULL: any */
    enum cli_option option;
    const char *const *words;
} lists[] = {
    {"node", "list", CLI_OPTION_STATE, node_states},
    {"node", "list", CLI_OPTION_HEALTH, healths},
    {"node", "verdicts", CLI_OPTION_STATE, verdict_states},
    {"operation", "list", CLI_OPTION_STATE, operation_states},
    {"operation", "list", CLI_OPTION_KIND, operation_kinds},
    {"operation", "approvals", CLI_OPTION_STATE, approval_states},
    {"event", "list", CLI_OPTION_KIND, event_kinds},
    {"event", "list", CLI_OPTION_LEVEL, event_levels},
    {"audit", "list", CLI_OPTION_OUTCOME, outcomes},
    {"cluster", "update", CLI_OPTION_NODE_RECOVERY, recoveries},
};

const char *const *cli_words(const struct cli_verb *verb, enum cli_option option)
{
    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        if (lists[i].option == option && text_equal(lists[i].noun, verb->noun) &&
            (lists[i].verb == NULL || text_equal(lists[i].verb, verb->verb)))
            return lists[i].words;
    return NULL;
}

static bool is_one_of(const char *word, const char *const *words)
{
    while (*words != NULL && !text_equal(*words, word))
        words++;
    return *words != NULL;
}

int cli_check_words(struct cli *cli, const struct cli_verb *verb)
{
    for (int i = 0; i < CLI_OPTIONS; i++) {
        const char *given = cli->option[i], *const *words = cli_words(verb, (enum cli_option)i);
        char hint[NEAREST_HINT_MAX];
        if (given == NULL || words == NULL || is_one_of(given, words))
            continue;
        struct text all AUTO(text) = {0};
        for (size_t k = 0; words[k] != NULL; k++)
            text_printf(&all, "%s%s", k > 0 ? ", " : "", words[k]);
        return cli_usage(cli, "--%s cannot be \"%.80s\"%s; it is one of %s", cli_option_name((enum cli_option)i), given,
                         nearest_hint_of(given, words, hint), text_get(&all));
    }
    return CLI_EXIT_OK;
}
